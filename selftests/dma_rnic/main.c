// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices and ports, created with "rdma link add NAME type dma_rnic netdev NETDEV".
 */
#define pr_fmt(fmt) "dma_rnic: " fmt

#include <linux/dma-direct.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_netlink.h>

#include "dma_rnic.h"

#define PORT		1
#define GIDS		32

static unsigned int max_inline;
module_param(max_inline, uint, 0444);
MODULE_PARM_DESC(max_inline, "bytes a request may carry inline, without DMA (default 0)");

unsigned int rnic_moderation;
module_param_named(moderation, rnic_moderation, uint, 0644);
MODULE_PARM_DESC(moderation, "ms from a completion to its interrupt (default 0)");

static const struct rdma_stat_desc counter_desc[RNIC_COUNTERS] = {
	[RNIC_SENT_PKTS].name = "sent_pkts",
	[RNIC_SENDS].name = "sends",
	[RNIC_WRITES].name = "writes",
	[RNIC_WRITE_BYTES].name = "write_bytes",
	[RNIC_REFUSED].name = "refused",	/* requests, and queue pairs that a request broke */
	[RNIC_RNR].name = "rnr",		/* attempts without a receive at the peer */
	[RNIC_BOUNCES].name = "bounces",	/* 1: DMA goes through bounce buffers */
};

/**
 * rnic_port_up() - check whether the port can send and receive
 * @rnic: device
 *
 * Return: true if so.
 */
bool rnic_port_up(const struct rnic *rnic)
{
	return netif_running(rnic->ndev) && netif_carrier_ok(rnic->ndev);
}

static int query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = RNIC_MSG_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 4096;
	attr->max_qp_wr = RNIC_WRS;
	attr->max_send_sge = RNIC_SGE;
	attr->max_recv_sge = RNIC_SGE;
	attr->max_sge_rd = 1;
	attr->max_cq = 4096;
	attr->max_cqe = RNIC_CQES;
	attr->max_mr = 65536;
	attr->max_pd = 4096;
	attr->max_qp_rd_atom = 1;
	attr->max_qp_init_rd_atom = 1;
	attr->max_fast_reg_page_list_len = RNIC_FAST_REG_PAGES;
	attr->max_pkeys = 1;
	return 0;
}

static int query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct rnic *rnic = to_rnic(ib);

	attr->state = rnic_port_up(rnic) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = rnic_port_up(rnic) ? IB_PORT_PHYS_STATE_LINK_UP :
						IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(READ_ONCE(rnic->ndev->mtu));
	attr->gid_tbl_len = GIDS;
	attr->max_msg_sz = RNIC_MSG_MAX;
	attr->pkey_tbl_len = 1;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *imm)
{
	/* no MADs and no CM: these need datagram queue pairs */
	imm->core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP | RDMA_CORE_CAP_ETH_AH;
	imm->pkey_tbl_len = 1;
	imm->gid_tbl_len = GIDS;
	return 0;
}

static struct rdma_hw_stats *alloc_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(counter_desc, RNIC_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int get_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index)
{
	int i;

	if (!port)
		return -EINVAL;
	for (i = 0; i < RNIC_COUNTERS; i++)
		stats->value[i] = atomic64_read(&to_rnic(ib)->counter[i]);
	return RNIC_COUNTERS;
}

/* ---- life of a device ---- */

/* Also called to undo an incomplete device. */
static void dealloc_driver(struct ib_device *ib)
{
	platform_device_unregister(to_rnic(ib)->pdev);
}

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.alloc_hw_port_stats = alloc_stats,
	.dealloc_driver = dealloc_driver,
	.get_hw_stats = get_stats,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.query_device = query_device,
	.query_pkey = query_pkey,
	.query_port = query_port,
};

/* Set the counter "bounces" if the DMA address of a page is not that of the page itself. */
static int rnic_probe_bounces(struct rnic *rnic)
{
	struct device *dev = &rnic->pdev->dev;
	struct page *page = alloc_page(GFP_KERNEL);
	bool bounces;
	dma_addr_t dma;

	if (!page)
		return -ENOMEM;
	dma = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma)) {
		__free_page(page);
		return -ENOMEM;
	}
	bounces = dma_to_phys(dev, dma) != page_to_phys(page);
	dma_unmap_page(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	__free_page(page);
	rnic_count(rnic, RNIC_BOUNCES, bounces);
	return 0;
}

static struct rnic *rnic_create(void)
{
	struct platform_device_info info = {
		.name = "dma_rnic",
		.id = PLATFORM_DEVID_AUTO,
		.dma_mask = DMA_BIT_MASK(64),
	};
	struct platform_device *pdev = platform_device_register_full(&info);
	struct rnic *rnic;

	if (IS_ERR(pdev))
		return ERR_CAST(pdev);
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	rnic = ib_alloc_device(rnic, ib);
	if (!rnic) {
		platform_device_unregister(pdev);
		return ERR_PTR(-ENOMEM);
	}
	rnic->pdev = pdev;
	rnic->max_inline = min_t(u32, max_inline, RNIC_INLINE_MAX);
	rnic->ib.node_type = RDMA_NODE_IB_CA;
	rnic->ib.phys_port_cnt = PORT;
	rnic->ib.num_comp_vectors = num_possible_cpus();
	rnic->ib.dev.parent = &pdev->dev;
	ib_set_device_ops(&rnic->ib, &device_ops);
	ib_set_device_ops(&rnic->ib, &rnic_verbs_ops);
	return rnic;
}

static int rnic_newlink(const char *name, struct net_device *ndev)
{
	struct ib_device *other = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	struct rnic *rnic;
	int rc;

	if (other) {
		ib_device_put(other);
		return -EEXIST;
	}
	rnic = rnic_create();
	if (IS_ERR(rnic))
		return PTR_ERR(rnic);
	rnic->ndev = ndev;
	rnic->up = rnic_port_up(rnic);
	addrconf_addr_eui48((u8 *)&rnic->ib.node_guid, ndev->dev_addr);
	rc = rnic_probe_bounces(rnic);
	if (!rc)
		rc = ib_device_set_netdev(&rnic->ib, ndev, PORT);
	if (!rc)
		rc = ib_register_device(&rnic->ib, name, &rnic->pdev->dev);
	if (rc) {
		ib_dealloc_device(&rnic->ib);
		return rc;
	}
	pr_info("%s over %s: DMA as %s, bounce buffers %lld\n", rnic->ib.name, ndev->name,
		dev_name(&rnic->pdev->dev), atomic64_read(&rnic->counter[RNIC_BOUNCES]));
	return 0;
}

static struct rdma_link_ops link_ops = {
	.type = "dma_rnic",
	.newlink = rnic_newlink,
};

static void rnic_report_port(struct rnic *rnic)
{
	struct ib_event event = {
		.device = &rnic->ib,
		.element.port_num = PORT,
	};
	bool up = rnic_port_up(rnic);

	if (xchg(&rnic->up, up) == up)
		return;
	event.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}

static int netdev_event(struct notifier_block *nb, unsigned long what, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct ib_device *ib = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);

	if (!ib)
		return NOTIFY_DONE;
	if (ib->ops.owner == THIS_MODULE) {
		if (what == NETDEV_UNREGISTER)
			ib_unregister_device_queued(ib);
		else if (what == NETDEV_UP || what == NETDEV_DOWN || what == NETDEV_CHANGE)
			rnic_report_port(to_rnic(ib));
	}
	ib_device_put(ib);
	return NOTIFY_OK;
}

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

static int __init dma_rnic_init(void)
{
	int rc = rnic_wire_init();

	if (rc)
		return rc;
	rc = register_netdevice_notifier(&netdev_nb);
	if (rc) {
		rnic_wire_exit();
		return rc;
	}
	rdma_link_register(&link_ops);
	return 0;
}

static void __exit dma_rnic_exit(void)
{
	rdma_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_nb);
	/* no other driver has this number, so only our devices go */
	ib_unregister_driver(RDMA_DRIVER_UNKNOWN);
	rnic_wire_exit();
}

module_init(dma_rnic_init);
module_exit(dma_rnic_exit);
MODULE_DESCRIPTION("Software RNIC that accesses memory by DMA address only");
MODULE_ALIAS_RDMA_LINK("dma_rnic");
MODULE_LICENSE("GPL");
