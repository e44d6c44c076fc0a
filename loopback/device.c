// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_lo: RDMA devices for connections within a host. Each has one port, which belongs to a netdev,
 * and its queue pairs reach those of this module alone: bytes are copied, and there are no packets.
 *
 *	rdma link add lo0 type smc_lo netdev lo
 *	rdma link add lo1 type smc_lo netdev eth0
 *
 * Connections of a network namespace to itself are routed over its lo. So smc.ko finds the device
 * of lo for them as it finds an RNIC for others, and its queue pairs reach each other only.
 *
 * The device of another netdev is for connections to other namespaces of this host, and reaches
 * those of other netdevs. Its port is active only while the administrator of the namespace allows
 * that (net.smc.lo_peers, consent.c): by the states of ports, which are verbs, smc.ko sees who
 * consents. It makes no difference what smc.ko believes: a queue pair is connected with one of
 * another device only if both ports are active and the GID is of that device (qp.c), and those
 * that are connected fail when one of the ports goes down.
 *
 * Objects and their end: the RDMA core frees a device when its last user is gone. It also disables
 * a device for a while, when that changes its RDMA namespace, and finds none by the netdev then. So
 * this module has a list of its own: what happens to the netdev or to the consent takes effect at
 * once, and lo_device_enable() reports it when the device is there again. The netdev is reported by
 * a verb, too. If the RDMA core knew it, it would find this device by the netdev, instead of that
 * of another driver, and would not tell the latter of link events.
 */
#define pr_fmt(fmt) "smc_lo: " fmt

#include <linux/atomic.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>
#include <smc/rdma/lo.h>
#include "internal.h"

#define LO_PKEY		0xffff	/* the default one, full member */
#define LO_GIDS		256
#define LO_MAX_MSG	BIT(31)
#define LO_REPORT_GAP	(HZ / 20)

/* All devices, from before their registration until they are freed. */
static LIST_HEAD(lo_devices);

/* Protects lo_devices and the states of ports. Taken under RTNL, which is not taken under it. */
static DEFINE_MUTEX(lo_devices_mutex);

/* Protects lo_device.gone: whether there still is a reference on the netdev. */
static DEFINE_SPINLOCK(lo_gone_lock);

static atomic64_t lo_devices_made;

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
	bool up = READ_ONCE(lo_device_from_ib(ib)->shown);

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

/* Return the netdev with a reference, or NULL. */
static struct net_device *lo_port_get_netdev(struct ib_device *ib, u32 port)
{
	struct lo_device *dev = lo_device_from_ib(ib);
	struct net_device *ndev = NULL;

	spin_lock(&lo_gone_lock);
	if (!dev->gone) {
		ndev = dev->ndev;
		dev_hold(ndev);
	}
	spin_unlock(&lo_gone_lock);
	return ndev;
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

/* The netdev goes, or the device: give up the reference. */
static void lo_device_drop_netdev(struct lo_device *dev)
{
	bool gone;

	spin_lock(&lo_gone_lock);
	gone = dev->gone;
	dev->gone = true;
	spin_unlock(&lo_gone_lock);
	if (!gone)
		dev_put(dev->ndev);
}

/* The last user of the device is gone, or it could not be registered. */
static void lo_device_release(struct ib_device *ib)
{
	struct lo_device *dev = lo_device_from_ib(ib);

	mutex_lock(&lo_devices_mutex);
	list_del_init(&dev->entry);
	mutex_unlock(&lo_devices_mutex);
	/* nobody finds the device, and schedules it again */
	cancel_delayed_work_sync(&dev->report);
	lo_device_drop_netdev(dev);
	free_percpu(dev->stats);
	xa_destroy(&dev->mrs);
}

/* ---- the state of the port ---- */

static bool lo_port_should_be_up(const struct lo_device *dev)
{
	const struct net_device *ndev = dev->ndev;

	return !dev->gone && netif_running(ndev) && netif_carrier_ok(ndev) &&
	       (!dev->outward || lo_consent_given(dev_net(ndev)));
}

/* Report what has changed. A device that is disabled has nobody to report to. */
static void lo_device_report(struct lo_device *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = LO_PORT,
		.event = dev->up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	lockdep_assert_held(&lo_devices_mutex);
	if (!ib_device_try_get(&dev->ib))
		return;
	WRITE_ONCE(dev->shown, dev->up);
	if (dev->changed)
		ib_dispatch_event(&event);
	dev->changed = false;
	dev->reported_at = jiffies;
	if (dev->gone)
		ib_unregister_device_queued(&dev->ib);
	ib_device_put(&dev->ib);
}

/*
 * Each report is work for all users of RDMA on the host, and a container can change its consent as
 * often as it wants: so there is LO_REPORT_GAP from one to the next. It loses nothing by that: the
 * device itself goes by the state that is true. Return how long to wait for the next one. The last
 * one may be so long ago that time_before() errs.
 */
static unsigned long lo_device_report_wait(const struct lo_device *dev)
{
	unsigned long since = jiffies - dev->reported_at;

	lockdep_assert_held(&lo_devices_mutex);
	return since < LO_REPORT_GAP ? LO_REPORT_GAP - since : 0;
}

/* The gap is looked at here: lo_port_check() may come when this has begun, and has not reported. */
static void lo_device_report_later(struct work_struct *work)
{
	struct lo_device *dev = container_of(to_delayed_work(work), struct lo_device, report);
	unsigned long wait;

	mutex_lock(&lo_devices_mutex);
	/* if it is gone, that was reported, or will be when the device is there again */
	if (!dev->gone && dev->changed) {
		wait = lo_device_report_wait(dev);
		if (wait)
			schedule_delayed_work(&dev->report, wait);
		else
			lo_device_report(dev);
	}
	mutex_unlock(&lo_devices_mutex);
}

/*
 * The netdev has gone up or down, or away, or its namespace has changed its mind. Of several calls
 * at a time the last one sees all changes. The namespace is not freed meanwhile: the netdev leaves
 * it only after NETDEV_UNREGISTER.
 */
static void lo_port_check(struct lo_device *dev)
{
	bool up = lo_port_should_be_up(dev);

	lockdep_assert_held(&lo_devices_mutex);
	if (up != dev->up) {
		WRITE_ONCE(dev->up, up);
		dev->changed = true;
		if (!up)
			WRITE_ONCE(dev->shown, false);
		if (!up && dev->outward)
			lo_qp_cut_off_all(dev);
	}
	if (dev->gone)
		lo_device_report(dev);
	else if (dev->changed)
		schedule_delayed_work(&dev->report, lo_device_report_wait(dev));
}

static void lo_netdev_check_port(const struct net_device *ndev, bool gone)
{
	struct lo_device *dev;

	mutex_lock(&lo_devices_mutex);
	list_for_each_entry(dev, &lo_devices, entry) {
		/* once it is gone, another one may have its address */
		if (dev->ndev != ndev || dev->gone)
			continue;
		if (gone)
			lo_device_drop_netdev(dev);
		lo_port_check(dev);
		break;
	}
	mutex_unlock(&lo_devices_mutex);
}

/*
 * The consent of a namespace has changed. If it was withdrawn: on return none of its bytes is
 * copied to another one, or from there.
 */
static void lo_net_check_ports(struct net *net)
{
	struct lo_device *dev;

	mutex_lock(&lo_devices_mutex);
	list_for_each_entry(dev, &lo_devices, entry) {
		if (!dev->gone && net_eq(dev_net(dev->ndev), net))
			lo_port_check(dev);
	}
	mutex_unlock(&lo_devices_mutex);
}

/* The device is there, for the first time or again: report what has changed before. */
static int lo_device_enable(struct ib_device *ib)
{
	mutex_lock(&lo_devices_mutex);
	lo_port_check(lo_device_from_ib(ib));
	mutex_unlock(&lo_devices_mutex);
	return 0;
}

static const struct ib_device_ops lo_ops = {
	.owner = THIS_MODULE,
	.driver_id = SMC_LO_DRIVER_ID,
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
	.enable_driver = lo_device_enable,
	.get_dma_mr = lo_mr_get_dma,
	.get_hw_stats = lo_stats_read,
	.get_link_layer = lo_port_get_link_layer,
	.get_netdev = lo_port_get_netdev,
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

/* ---- creation by "rdma link add" ---- */

static int lo_device_init(struct lo_device *dev, struct net_device *ndev)
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
	dev->num = atomic64_inc_return(&lo_devices_made);
	dev->ndev = ndev;
	dev_hold(ndev);
	dev->outward = !(ndev->flags & IFF_LOOPBACK);
	INIT_LIST_HEAD(&dev->entry);
	INIT_DELAYED_WORK(&dev->report, lo_device_report_later);
	dev->reported_at = jiffies - LO_REPORT_GAP;
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	strscpy(dev->ib.node_desc, "smc_lo", sizeof(dev->ib.node_desc));
	ib_set_device_ops(&dev->ib, &lo_ops);
	return 0;
}

/*
 * No netdev gets two devices. RTNL: NETDEV_UNREGISTER comes before this, then nobody enters, or
 * after it, then it finds the device. A netdev that changes its namespace has changed it, or not
 * begun to: otherwise the old namespace could be freed while lo_consent_given() looks at it.
 */
static int lo_device_enter(struct lo_device *dev)
{
	struct lo_device *other;
	int rc = 0;

	rtnl_lock();
	mutex_lock(&lo_devices_mutex);
	list_for_each_entry(other, &lo_devices, entry) {
		if (other->ndev == dev->ndev && !other->gone)
			rc = -EEXIST;
	}
	if (!rc && dev->ndev->reg_state != NETREG_REGISTERED)
		rc = -ENODEV;
	if (!rc)
		list_add_tail(&dev->entry, &lo_devices);
	mutex_unlock(&lo_devices_mutex);
	rtnl_unlock();
	return rc;
}

static int lo_device_register(const char *name, struct net_device *ndev)
{
	struct lo_device *dev = ib_alloc_device(lo_device, ib);
	int rc;

	if (!dev)
		return -ENOMEM;
	rc = lo_device_init(dev, ndev);
	if (!rc)
		rc = lo_device_enter(dev);
	if (rc == -EEXIST)
		pr_err("%s has a device already\n", ndev->name);
	/* if that succeeds, the device may be gone again */
	if (!rc)
		rc = ib_register_device(&dev->ib, name, NULL);
	if (rc)
		ib_dealloc_device(&dev->ib);
	return rc;
}

/* What smc.ko takes for the netdev of a route: the real one, if that is a VLAN device. */
static bool lo_netdev_is_suited(const struct net_device *ndev)
{
	return ndev->flags & IFF_LOOPBACK || (ndev->type == ARPHRD_ETHER && !is_vlan_dev(ndev));
}

/* Called by the RDMA core, with a reference on the netdev. */
static int lo_device_create(const char *name, struct net_device *ndev)
{
	if (!IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA)) {
		pr_err("this kernel has memory without kernel addresses\n");
		return -EOPNOTSUPP;
	}
	if (!lo_netdev_is_suited(ndev)) {
		pr_err("%s is neither a loopback nor an Ethernet device, or is a VLAN device\n",
		       ndev->name);
		return -EINVAL;
	}
	return lo_device_register(name, ndev);
}

static struct rdma_link_ops lo_link_ops = {
	.type = "smc_lo",
	.newlink = lo_device_create,
};

/* ---- netdev ---- */

static int lo_device_netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);

	if (event == NETDEV_UP || event == NETDEV_DOWN || event == NETDEV_CHANGE ||
	    event == NETDEV_UNREGISTER)
		lo_netdev_check_port(ndev, event == NETDEV_UNREGISTER);
	return NOTIFY_DONE;
}

static struct notifier_block lo_notifier = {
	.notifier_call = lo_device_netdev_event,
};

static int __init lo_module_init(void)
{
	int rc = lo_consent_init(lo_net_check_ports);

	if (rc)
		return rc;
	rc = register_netdevice_notifier(&lo_notifier);
	if (rc)
		lo_consent_exit();
	else
		rdma_link_register(&lo_link_ops);
	return rc;
}

static void __exit lo_module_exit(void)
{
	rdma_link_unregister(&lo_link_ops);
	ib_unregister_driver(SMC_LO_DRIVER_ID);
	unregister_netdevice_notifier(&lo_notifier);
	lo_consent_exit();
}

module_init(lo_module_init);
module_exit(lo_module_exit);
MODULE_DESCRIPTION("RDMA device for SMC connections within a host");
MODULE_LICENSE("GPL");
MODULE_VERSION(SMC_VERSION);
MODULE_ALIAS_RDMA_LINK("smc_lo");
