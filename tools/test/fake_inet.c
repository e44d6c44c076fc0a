// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink side of a host, as far as it is not SMC: routes.
 *
 *   127.0.0.0/8    this host, lo
 *   10.0.0.0/16    lo, directly: the netdev of the RoCE port that fake_netlink.c has
 *   10.1.0.0/16    eth7, through a gateway
 *   10.2.0.0/16    eth0, which has a PNET ID in fake_netlink.c
 *   all else       none
 * Names of devices are in fake_host.c.
 */
#define _GNU_SOURCE
#include "fake_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

static const struct {
	unsigned char prefix[2];
	unsigned char type;
	__u32 oif;
	int gateway;
} routes[] = {
	{ { 10, 0 }, RTN_UNICAST, 1, 0 },
	{ { 10, 1 }, RTN_UNICAST, 7, 1 },
	{ { 10, 2 }, RTN_UNICAST, 8, 0 },
	{ { 127, 0 }, RTN_LOCAL, 1, 0 },
};

void fake_route(const struct nlmsghdr *req)
{
	const struct nlattr *attr;
	unsigned char dst[16] = { 0 };
	struct nlmsghdr *nlh;
	struct rtmsg *rtm;
	size_t i;

	mnl_attr_for_each(attr, req, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(attr) == RTA_DST)
			memcpy(dst, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
	}
	for (i = 0; i < ARRAY_SIZE(routes); i++)
		if (!memcmp(routes[i].prefix, dst, sizeof(routes[i].prefix)))
			break;
	if (i == ARRAY_SIZE(routes)) {
		fake_result(NLMSG_ERROR, -ENETUNREACH);
		return;
	}
	nlh = fake_start(RTM_NEWROUTE, 0);
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_type = routes[i].type;
	mnl_attr_put_u32(nlh, RTA_OIF, routes[i].oif);
	if (routes[i].gateway)
		mnl_attr_put(nlh, RTA_GATEWAY, 4, dst);
	fake_finish(nlh);
}
