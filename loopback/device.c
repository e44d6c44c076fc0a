// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_lo: an RDMA device for connections within a host. It has one port, which belongs to a
 * loopback netdev, and its queue pairs reach each other alone: bytes are copied, and there are no
 * packets.
 *
 *	rdma link add lo0 type smc_lo netdev lo
 *
 * Connections of a network namespace to itself are routed over its lo. So smc.ko finds this device
 * for them as it finds an RNIC for others, and connections between namespaces never use it.
 *
 * Objects and their end: the RDMA core frees a device when its last user is gone. Netdev
 * notifications come under RTNL.
 */
#define pr_fmt(fmt) "smc_lo: " fmt

#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>
#include "internal.h"

/* For ib_device_get_by_netdev(); no driver of the kernel has this number. */
#define LO_DRIVER_ID	((enum rdma_driver_id)0x6c6f)
#define LO_PKEY		0xffff	/* the default one, full member */
#define LO_GIDS		256
#define LO_MAX_MSG	BIT(31)

/* One device is made at a time, so that no netdev gets two. */
static DEFINE_MUTEX(lo_create_mutex);

/* ---- device and port ---- */

static int lo_device_query(struct ib_device *ib, struct ib_device_attr *attr,
			   struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = (u64)LO_MAX_PAGES << PAGE_SHIFT;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 0xffffff;
	attr->max_qp_wr = LO_MAX_WR;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->max_send_sge = LO_SGES;
	attr->max_recv_sge = LO_RECV_SGES;
	attr->max_cq = 0xffffff;
	attr->max_cqe = LO_MAX_CQE;
	attr->max_mr = 0xffffff;
	attr->max_pd = 0xffffff;
	attr->max_fast_reg_page_list_len = LO_MAX_PAGES;
	attr->max_pkeys = 1;
	return 0;
}

static int lo_port_query(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	bool up = READ_ONCE(lo_device_from_ib(ib)->up);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = LO_GIDS;
	attr->max_msg_sz = LO_MAX_MSG;
	attr->pkey_tbl_len = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int lo_port_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = LO_PKEY;
	return 0;
}

static enum rdma_link_layer lo_port_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* No MAD, no CM: nothing but RC queue pairs. */
static int lo_port_get_immutable(struct ib_device *ib, u32 port,
				 struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP | RDMA_CORE_CAP_ETH_AH;
	immutable->gid_tbl_len = LO_GIDS;
	immutable->pkey_tbl_len = 1;
	return 0;
}

/* The table of GIDs is that of the RDMA core. */
static int lo_port_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int lo_port_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int lo_pd_alloc(struct ib_pd *ib, struct ib_udata *udata)
{
	return 0;
}

static int lo_pd_free(struct ib_pd *ib, struct ib_udata *udata)
{
	return 0;
}

/* The RDMA core shows a device to kernel users only if it has these two verbs. */
static struct ib_mr *lo_mr_get_dma(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *lo_mr_register_user(struct ib_pd *pd, u64 start, u64 len, u64 addr, int access,
					 SMC_REG_USER_MR_ARGS)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static const struct rdma_stat_desc lo_stat_descs[LO_NSTATS] = {
	[LO_STAT_REQUESTS] = { .name = "requests" },
	[LO_STAT_BYTES] = { .name = "bytes" },
	[LO_STAT_WAITS] = { .name = "waits" },
};

static struct rdma_hw_stats *lo_stats_alloc(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(lo_stat_descs, LO_NSTATS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int lo_stats_read(struct ib_device *ib, struct rdma_hw_stats *out, u32 port, int index)
{
	const struct lo_device *dev = lo_device_from_ib(ib);
	int cpu, i;

	if (!port)
		return -EINVAL;
	for (i = 0; i < LO_NSTATS; i++) {
		out->value[i] = 0;
		for_each_possible_cpu(cpu)
			out->value[i] += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->count[i]);
	}
	return LO_NSTATS;
}

/* No program has a context: the RDMA core asks whether a device can change its namespace. */
static void lo_device_disassociate(struct ib_ucontext *ctx)
{
}

/* The last user of the device is gone. */
static void lo_device_release(struct ib_device *ib)
{
	free_percpu(lo_device_from_ib(ib)->stats);
	xa_destroy(&lo_device_from_ib(ib)->qps);
	xa_destroy(&lo_device_from_ib(ib)->mrs);
}

static const struct ib_device_ops lo_ops = {
	.owner = THIS_MODULE,
	.driver_id = LO_DRIVER_ID,
	.uverbs_abi_ver = 1,

	.add_gid = lo_port_add_gid,
	.alloc_hw_port_stats = lo_stats_alloc,
	.alloc_mr = lo_mr_alloc,
	.alloc_pd = lo_pd_alloc,
	.create_cq = lo_cq_create,
	.create_qp = lo_qp_create,
	.dealloc_driver = lo_device_release,
	.dealloc_pd = lo_pd_free,
	.del_gid = lo_port_del_gid,
	.dereg_mr = lo_mr_free,
	.destroy_cq = lo_cq_destroy,
	.destroy_qp = lo_qp_destroy,
	.disassociate_ucontext = lo_device_disassociate,
	.get_dma_mr = lo_mr_get_dma,
	.get_hw_stats = lo_stats_read,
	.get_link_layer = lo_port_get_link_layer,
	.get_port_immutable = lo_port_get_immutable,
	.map_mr_sg = lo_mr_map_pages,
	.modify_qp = lo_qp_modify,
	.poll_cq = lo_cq_poll,
	.post_recv = lo_qp_post_recv,
	.post_send = lo_qp_post_send,
	.query_device = lo_device_query,
	.query_pkey = lo_port_query_pkey,
	.query_port = lo_port_query,
	.query_qp = lo_qp_query,
	.reg_user_mr = lo_mr_register_user,
	.req_notify_cq = lo_cq_arm,

	INIT_RDMA_OBJ_SIZE(ib_cq, lo_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, lo_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, lo_qp, ib),
};

static void lo_port_set_up(struct ib_device *ib, bool up)
{
	struct ib_event event = {
		.device = ib,
		.element.port_num = LO_PORT,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	WRITE_ONCE(lo_device_from_ib(ib)->up, up);
	ib_dispatch_event(&event);
}

/* ---- creation by "rdma link add" ---- */

static int lo_device_init(struct lo_device *dev, const struct net_device *ndev)
{
	u8 mac[ETH_ALEN];

	dev->stats = alloc_percpu(struct lo_stats);
	if (!dev->stats)
		return -ENOMEM;
	eth_random_addr(mac);
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, mac);
	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.local_dma_lkey = LO_DMA_LKEY;
	dev->up = netif_running(ndev) && netif_carrier_ok(ndev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	strscpy(dev->ib.node_desc, "smc_lo", sizeof(dev->ib.node_desc));
	ib_set_device_ops(&dev->ib, &lo_ops);
	return 0;
}

static int lo_device_register(const char *name, struct net_device *ndev)
{
	struct lo_device *dev = ib_alloc_device(lo_device, ib);
	int rc;

	if (!dev)
		return -ENOMEM;
	rc = lo_device_init(dev, ndev);
	if (!rc)
		rc = ib_device_set_netdev(&dev->ib, ndev, LO_PORT);
	if (!rc)
		rc = ib_register_device(&dev->ib, name, NULL);
	if (rc)
		ib_dealloc_device(&dev->ib);
	return rc;
}

/* The netdev may have gone up or down before its notifications could find the device. */
static void lo_device_check_netdev(struct net_device *ndev)
{
	struct ib_device *ib;
	bool up;

	rtnl_lock();
	up = netif_running(ndev) && netif_carrier_ok(ndev);
	ib = ib_device_get_by_netdev(ndev, LO_DRIVER_ID);
	if (ib && lo_device_from_ib(ib)->up != up)
		lo_port_set_up(ib, up);
	if (ib)
		ib_device_put(ib);
	rtnl_unlock();
}

/* Called by the RDMA core, with a reference on the netdev. */
static int lo_device_create(const char *name, struct net_device *ndev)
{
	struct ib_device *other;
	int rc;

	if (!IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA)) {
		pr_err("this kernel has memory without kernel addresses\n");
		return -EOPNOTSUPP;
	}
	if (!(ndev->flags & IFF_LOOPBACK)) {
		pr_err("%s is no loopback device: peers on other hosts could not be reached\n",
		       ndev->name);
		return -EINVAL;
	}
	mutex_lock(&lo_create_mutex);
	other = ib_device_get_by_netdev(ndev, LO_DRIVER_ID);
	if (other) {
		pr_err("%s has a device already: %s\n", ndev->name, dev_name(&other->dev));
		ib_device_put(other);
		rc = -EEXIST;
	} else {
		rc = lo_device_register(name, ndev);
	}
	mutex_unlock(&lo_create_mutex);
	if (!rc)
		lo_device_check_netdev(ndev);
	return rc;
}

static struct rdma_link_ops lo_link_ops = {
	.type = "smc_lo",
	.newlink = lo_device_create,
};

/* ---- netdev ---- */

static int lo_device_netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct ib_device *ib;

	if (!(ndev->flags & IFF_LOOPBACK))
		return NOTIFY_DONE;
	ib = ib_device_get_by_netdev(ndev, LO_DRIVER_ID);
	if (!ib)
		return NOTIFY_DONE;
	if (event == NETDEV_UNREGISTER)
		ib_unregister_device_queued(ib);
	else if (event == NETDEV_UP || event == NETDEV_DOWN)
		lo_port_set_up(ib, event == NETDEV_UP);
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static struct notifier_block lo_notifier = {
	.notifier_call = lo_device_netdev_event,
};

static int __init lo_module_init(void)
{
	int rc = register_netdevice_notifier(&lo_notifier);

	if (!rc)
		rdma_link_register(&lo_link_ops);
	return rc;
}

static void __exit lo_module_exit(void)
{
	rdma_link_unregister(&lo_link_ops);
	ib_unregister_driver(LO_DRIVER_ID);
	unregister_netdevice_notifier(&lo_notifier);
}

module_init(lo_module_init);
module_exit(lo_module_exit);
MODULE_DESCRIPTION("RDMA device for SMC connections within a host");
MODULE_LICENSE("GPL");
MODULE_VERSION(SMC_VERSION);
MODULE_ALIAS_RDMA_LINK("smc_lo");
