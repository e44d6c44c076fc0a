// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: add and remove links, end link groups.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

#define DEVICE_NAME_SIZE	64	/* of the RDMA core */

static struct ctl_attr group_attr(__u32 id)
{
	return (struct ctl_attr){ .type = SMC_NETLINK_OWN_LGR_ID, .num = id, .size = 4 };
}

/**
 * ctl_linkgroup_modify() - smcctl linkgroup del GROUP [now]
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int ctl_linkgroup_modify(int argc, char **argv)
{
	struct ctl_attr attrs[2];
	struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_OWN_DEL_LGR, .what = "removing a link group", .attrs = attrs,
		.num_attrs = 1,
	};
	__u32 id;

	if (argc < 2 || argc > 3 || strcmp(argv[0], "del") ||
	    (argc == 3 && strcmp(argv[2], "now"))) {
		ctl_error("linkgroup is followed by: show or del GROUP [now]");
		return CTL_USAGE;
	}
	if (!ctl_num_parse(argv[1], 0, 0, 0xffffffff, &id)) {
		ctl_error("'%s' is no identifier of a link group", argv[1]);
		return CTL_USAGE;
	}
	attrs[0] = group_attr(id);
	if (argc == 3)
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_NETLINK_OWN_NOW,
							    .flag = true };
	return ctl_genl_request(&req, NULL, NULL);
}

/**
 * struct link_order - request to change the links of a group
 * @attrs: attributes
 * @num: number of @attrs
 * @peer: address that @attrs refers to
 */
struct link_order {
	struct ctl_attr attrs[4];
	size_t num;
	struct ctl_prefix peer;
};

static void order_add(struct link_order *order, struct ctl_attr attr)
{
	order->attrs[order->num++] = attr;
}

static bool order_has(const struct link_order *order, __u16 type)
{
	size_t i;

	for (i = 0; i < order->num; i++)
		if (order->attrs[i].type == type)
			return true;
	return false;
}

/* Parse "device DEV", "port N" behind a device, or "peer GID". */
static bool end_parse(const char *what, const char *value, struct link_order *order)
{
	struct ctl_attr attr = { 0 };

	if (!strcmp(what, "device") && *value && strlen(value) < DEVICE_NAME_SIZE) {
		attr.type = SMC_NETLINK_OWN_IB_DEV;
		attr.str = value;
	} else if (!strcmp(what, "port") && order_has(order, SMC_NETLINK_OWN_IB_DEV) &&
		   ctl_num_parse(value, 10, 1, 255, &attr.num)) {
		attr.type = SMC_NETLINK_OWN_IB_PORT;
	} else if (!strcmp(what, "peer") && !strchr(value, '/') &&
		   ctl_prefix_parse(value, &order->peer)) {
		attr.type = SMC_NETLINK_OWN_PEER_GID;
		attr.bin = &order->peer.addr;
		attr.size = sizeof(order->peer.addr);
	}
	if (!attr.type || order_has(order, attr.type))
		return false;
	order_add(order, attr);
	return true;
}

/* Parse the ends of a link to add. Print what is wrong. */
static bool ends_parse(int argc, char **argv, struct link_order *order)
{
	int i;

	for (i = 0; i + 1 < argc; i += 2) {
		if (end_parse(argv[i], argv[i + 1], order))
			continue;
		ctl_error("'%s %s' is no end of a link, or there are two of them", argv[i],
			  argv[i + 1]);
		return false;
	}
	if (i < argc)
		ctl_error("'%s' lacks its value", argv[i]);
	return i == argc;
}

/**
 * ctl_link_modify() - smcctl link add GROUP [device DEV [port N]] [peer GID], del GROUP LINK
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int ctl_link_modify(int argc, char **argv)
{
	struct ctl_genl_req req = { 0 };
	struct link_order order = { 0 };
	__u32 id, num;

	if (argc >= 2 && !strcmp(argv[0], "add")) {
		req.cmd = SMC_NETLINK_OWN_ADD_LINK;
		req.what = "adding a link";
	} else if (argc == 3 && !strcmp(argv[0], "del")) {
		req.cmd = SMC_NETLINK_OWN_DEL_LINK;
		req.what = "removing a link";
	} else {
		ctl_error("link is followed by: show, add GROUP [END...] or del GROUP LINK");
		return CTL_USAGE;
	}
	if (!ctl_num_parse(argv[1], 0, 0, 0xffffffff, &id)) {
		ctl_error("'%s' is no identifier of a link group", argv[1]);
		return CTL_USAGE;
	}
	order_add(&order, group_attr(id));
	if (req.cmd == SMC_NETLINK_OWN_ADD_LINK) {
		if (!ends_parse(argc - 2, argv + 2, &order))
			return CTL_USAGE;
	} else {
		if (!ctl_num_parse(argv[2], 0, 1, 255, &num)) {
			ctl_error("'%s' is no link number", argv[2]);
			return CTL_USAGE;
		}
		order_add(&order,
			  (struct ctl_attr){ .type = SMC_NETLINK_OWN_LINK_ID, .num = num });
	}
	req.attrs = order.attrs;
	req.num_attrs = order.num;
	return ctl_genl_request(&req, NULL, NULL);
}
