// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: dump of the RoCE devices that a namespace may use, with their ports. Devices
 * come in the order of their numbers; the position of the dump is the number of the last one.
 */
#include <linux/pci.h>
#include <linux/smc.h>
#include <net/net_namespace.h>
#include <smc/lgr/lgr.h>
#include "internal.h"

/**
 * struct nl_dev_pick - search for the next device of a dump
 * @after: number of the previous device
 * @dev: result: the next device, with a reference; NULL: there is none
 * @ports: result: bitmap of its RoCE port numbers
 */
struct nl_dev_pick {
	unsigned long after;
	struct smc_ib_device *dev;
	unsigned long ports;
};

/**
 * struct nl_dev_use - use of a device by link groups
 * @dev: device
 * @net: count the links of this namespace; NULL: of all
 * @links: number of links by port
 * @critical: there is a group whose usable links all use this device
 */
struct nl_dev_use {
	const struct smc_ib_device *dev;
	const struct net *net;
	u32 links[SMC_PNET_PORTS_MAX + 1];
	bool critical;
};

static bool nl_dev_pick_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct nl_dev_pick *pick = arg;

	if (dev->num <= pick->after)
		return false;
	if (!pick->dev) {
		smc_ib_device_get(dev);
		pick->dev = dev;
	}
	if (dev != pick->dev)
		return true;
	if (port <= SMC_PNET_PORTS_MAX)
		__set_bit(port, &pick->ports);
	return false;
}

static int nl_dev_count_links(struct smc_lgr *lgr, void *arg)
{
	struct nl_dev_use *use = arg;
	u32 usable = 0, here = 0;
	struct smc_link *link;

	if (use->net && !net_eq(lgr->net, use->net))
		return 0;
	smc_lgr_for_each_link(lgr, link) {
		usable += smc_link_usable(link);
		if (link->path.dev == use->dev && link->path.port <= SMC_PNET_PORTS_MAX) {
			use->links[link->path.port]++;
			here += smc_link_usable(link);
		}
	}
	use->critical |= usable && usable == here;
	return 0;
}

static int nl_dev_put_port(struct sk_buff *skb, struct smc_ib_device *dev, u8 port, u32 links)
{
	struct net *net = sock_net(skb->sk);
	char id[SMC_PNET_ID_LEN + 1] = "";
	bool by_user = smc_ib_port_pnetid(dev, port, net, id);
	struct nlattr *nest;

	nest = nla_nest_start(skb, port == 1 ? SMC_NLA_DEV_PORT : SMC_NLA_DEV_PORT2);
	if (!nest || nla_put_u8(skb, SMC_NLA_DEV_PORT_PNET_USR, by_user) ||
	    nla_put_string(skb, SMC_NLA_DEV_PORT_PNETID, id) ||
	    nla_put_u32(skb, SMC_NLA_DEV_PORT_NETDEV, smc_ib_port_ifindex(dev, port, net)) ||
	    nla_put_u8(skb, SMC_NLA_DEV_PORT_STATE, smc_ib_port_active(dev, port)) ||
	    nla_put_u8(skb, SMC_NLA_DEV_PORT_VALID, 1) ||
	    nla_put_u32(skb, SMC_NLA_DEV_PORT_LNK_CNT, links))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Put the PCI attributes, if it is a PCI device. FID and CHID exist on IBM Z only and are 0. */
static int nl_dev_put_pci(struct sk_buff *skb, const struct device *parent)
{
	const struct pci_dev *pci;

	if (!parent || !dev_is_pci(parent))
		return 0;
	pci = to_pci_dev(parent);
	if (nla_put_u32(skb, SMC_NLA_DEV_PCI_FID, 0) ||
	    nla_put_u16(skb, SMC_NLA_DEV_PCI_CHID, 0) ||
	    nla_put_u16(skb, SMC_NLA_DEV_PCI_VENDOR, pci->vendor) ||
	    nla_put_u16(skb, SMC_NLA_DEV_PCI_DEVICE, pci->device) ||
	    nla_put_string(skb, SMC_NLA_DEV_PCI_ID, pci_name(pci)))
		return -EMSGSIZE;
	return 0;
}

static int nl_dev_put(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family, const struct nl_dev_pick *pick)
{
	struct nl_dev_use use = {
		.dev = pick->dev,
		.net = smc_nl_shows_all(skb, cb) ? NULL : sock_net(skb->sk),
	};
	char name[IB_DEVICE_NAME_MAX];
	struct nlattr *nest;
	unsigned long port;
	void *hdr;

	hdr = smc_nl_put_header(skb, cb, family, SMC_NETLINK_GET_DEV_SMCR);
	if (!hdr)
		return -EMSGSIZE;
	smc_lgr_for_each(nl_dev_count_links, &use);
	smc_ib_device_name(pick->dev, name);
	nest = nla_nest_start(skb, SMC_GEN_DEV_SMCR);
	if (!nest || nla_put_u8(skb, SMC_NLA_DEV_IS_CRIT, use.critical) ||
	    nla_put_string(skb, SMC_NLA_DEV_IB_NAME, name) ||
	    nl_dev_put_pci(skb, pick->dev->ibdev->dev.parent))
		goto cancel;
	for_each_set_bit(port, &pick->ports, SMC_PNET_PORTS_MAX + 1)
		if (nl_dev_put_port(skb, pick->dev, port, use.links[port]))
			goto cancel;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
cancel:
	genlmsg_cancel(skb, hdr);
	return -EMSGSIZE;
}

/**
 * smc_nl_dump_devs() - dumpit of SMC_NETLINK_GET_DEV_SMCR
 * @skb: answer
 * @cb: state of the dump: args[0] = number of the last device
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_devs(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct genl_family *family)
{
	int rc;

	for (;;) {
		struct nl_dev_pick pick = { .after = cb->args[0] };
		unsigned long num;

		/* pick first, then count: the locks of devices and groups are not held together */
		smc_ib_walk_ports(sock_net(skb->sk), nl_dev_pick_port, &pick);
		if (!pick.dev)
			return skb->len;
		rc = nl_dev_put(skb, cb, family, &pick);
		num = pick.dev->num;
		smc_ib_device_put(pick.dev);
		if (rc)
			return skb->len ?: rc;
		cb->args[0] = num;
	}
}
