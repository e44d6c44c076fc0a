// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: orders about link groups and links.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

static struct ctl_attr group_attr(__u32 id)
{
	return (struct ctl_attr){ .type = SMC_NETLINK_OWN_LGR_ID, .num = id, .size = 4 };
}

static int run(struct ctl_genl_req *req)
{
	int err = ctl_genl_run(req, NULL, NULL);

	if (err)
		ctl_genl_failed(req, err);
	return err ? CTL_FAILURE : CTL_OK;
}

/**
 * ctl_linkgroup_order() - smcctl linkgroup del GROUP [now]
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status.
 */
int ctl_linkgroup_order(int argc, char **argv)
{
	struct ctl_attr attrs[2];
	struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_OWN_DEL_LGR, .what = "removing a link group", .attrs = attrs,
		.num_attrs = 1,
	};
	__u32 id;

	if (argc < 2 || argc > 3 || strcmp(argv[0], "del") ||
	    (argc == 3 && strcmp(argv[2], "now"))) {
		ctl_fail("linkgroup is followed by: show or del GROUP [now]");
		return CTL_USAGE;
	}
	if (!ctl_parse_num(argv[1], 0, 0, 0xffffffff, &id)) {
		ctl_fail("'%s' is no identifier of a link group", argv[1]);
		return CTL_USAGE;
	}
	attrs[0] = group_attr(id);
	if (argc == 3)
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_NETLINK_OWN_NOW,
							    .flag = true };
	return run(&req);
}

/**
 * ctl_link_order() - smcctl link add GROUP, del GROUP LINK
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status.
 */
int ctl_link_order(int argc, char **argv)
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
		ctl_fail("link is followed by: show, add GROUP or del GROUP LINK");
		return CTL_USAGE;
	}
	if (!ctl_parse_num(argv[1], 0, 0, 0xffffffff, &id)) {
		ctl_fail("'%s' is no identifier of a link group", argv[1]);
		return CTL_USAGE;
	}
	if (argc == 3 && !ctl_parse_num(argv[2], 0, 1, 255, &num)) {
		ctl_fail("'%s' is no link number", argv[2]);
		return CTL_USAGE;
	}
	attrs[0] = group_attr(id);
	if (argc == 3)
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_NETLINK_OWN_LINK_ID,
							    .num = num };
	return run(&req);
}
