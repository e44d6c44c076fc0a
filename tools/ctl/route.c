// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: route to a peer.
 */
#include "path.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

static int route_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;
	struct ctl_route *route = data;
	struct rtmsg rtm;
	__u64 oif;

	if (nlh->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(nlh) < sizeof(rtm)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(&rtm, mnl_nlmsg_get_payload(nlh), sizeof(rtm));
	route->local = rtm.rtm_type == RTN_LOCAL;
	mnl_attr_for_each(attr, nlh, sizeof(rtm)) {
		if (mnl_attr_get_type(attr) == RTA_OIF && ctl_nla_get_uint(attr, &oif))
			route->ifindex = (unsigned int)oif;
		if (mnl_attr_get_type(attr) == RTA_GATEWAY || mnl_attr_get_type(attr) == RTA_VIA)
			route->gateway = true;
	}
	return MNL_CB_STOP;
}

/**
 * ctl_route_find() - find the route to an address
 * @family: AF_INET or AF_INET6
 * @addr: 4 or 16 bytes
 * @route: result
 *
 * Return: 0 or an errno number, such as ENETUNREACH.
 */
int ctl_route_find(int family, const void *addr, struct ctl_route *route)
{
	size_t len = family == AF_INET ? 4 : 16;
	char buf[256] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	int err;

	memset(route, 0, sizeof(*route));
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm->rtm_family = (unsigned char)family;
	rtm->rtm_dst_len = (unsigned char)(len * 8);
	mnl_attr_put(nlh, RTA_DST, len, addr);
	err = ctl_nl_run(NETLINK_ROUTE, nlh, route_cb, route);
	if (!err && (!route->ifindex || !if_indextoname(route->ifindex, route->netdev)))
		err = ENODEV;
	return err;
}
