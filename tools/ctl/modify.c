// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: add and remove links, end link groups.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

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
 * ctl_link_modify() - smcctl link add GROUP, del GROUP LINK
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int ctl_link_modify(int argc, char **argv)
{
	struct ctl_attr attrs[2];
	struct ctl_genl_req req = { .attrs = attrs, .num_attrs = 1 };
	__u32 id, num;

	if (argc == 2 && !strcmp(argv[0], "add")) {
		req.cmd = SMC_NETLINK_OWN_ADD_LINK;
		req.what = "adding a link";
	} else if (argc == 3 && !strcmp(argv[0], "del")) {
		req.cmd = SMC_NETLINK_OWN_DEL_LINK;
		req.what = "removing a link";
	} else {
		ctl_error("link is followed by: show, add GROUP or del GROUP LINK");
		return CTL_USAGE;
	}
	if (!ctl_num_parse(argv[1], 0, 0, 0xffffffff, &id)) {
		ctl_error("'%s' is no identifier of a link group", argv[1]);
		return CTL_USAGE;
	}
	if (argc == 3 && !ctl_num_parse(argv[2], 0, 1, 255, &num)) {
		ctl_error("'%s' is no link number", argv[2]);
		return CTL_USAGE;
	}
	attrs[0] = group_attr(id);
	if (argc == 3)
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_NETLINK_OWN_LINK_ID,
							    .num = num };
	return ctl_genl_request(&req, NULL, NULL);
}
