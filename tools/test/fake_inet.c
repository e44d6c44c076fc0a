// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake host: TCP sockets and routes, from netlink.
 *
 *   127.0.0.0/8    this host, lo
 *   10.0.0.0/16    lo, directly: the netdev of the RoCE port in fake_netlink.c
 *   10.1.0.0/16    eth7, through a gateway
 *   10.2.0.0/16    eth0, which has a PNET ID in fake_netlink.c
 *   fd00::/16      lo, directly
 *   others         no route
 * fake_host.c has the names of the devices.
 */
#define _GNU_SOURCE
#include "fake_netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
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
	{ { 0xfd, 0 }, RTN_UNICAST, 1, 0 },
};

/**
 * fake_route_answer() - answer a request for a route
 * @req: request
 */
void fake_route_answer(const struct nlmsghdr *req)
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
		fake_result_put(NLMSG_ERROR, -ENETUNREACH);
		return;
	}
	nlh = fake_msg_start(RTM_NEWROUTE, 0);
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_type = routes[i].type;
	mnl_attr_put_u32(nlh, RTA_OIF, routes[i].oif);
	if (routes[i].gateway)
		mnl_attr_put(nlh, RTA_GATEWAY, 4, dst);
	fake_msg_finish(nlh);
}

#define LISTEN 10

static const struct {
	int family;
	const char *local;
	int local_port;
	const char *peer;
	int peer_port;
	int state;
	__u64 sent;
	__u64 received;
} sockets[] = {
	{ AF_INET, "0.0.0.0", 6379, "0.0.0.0", 0, LISTEN, 0, 0 },
	{ AF_INET, "0.0.0.0", 22, "0.0.0.0", 0, LISTEN, 0, 0 },
	/* fake_socks.c has the first three as AF_SMC sockets */
	{ AF_INET, "10.0.0.1", 6379, "10.0.0.2", 40001, 1, 300, 700 },
	{ AF_INET6, "fd00::1", 443, "fd00::2", 50000, 1, 1000, 1000 },
	{ AF_INET6, "::ffff:10.0.0.1", 80, "::ffff:10.0.0.3", 50001, 8, 1, 2 },
	{ AF_INET, "10.0.0.1", 50100, "10.0.0.5", 5432, 1, 2000, 3000 },
	{ AF_INET, "10.0.0.1", 50101, "10.0.0.6", 5432, 1, 500, 500 },
	{ AF_INET6, "::ffff:10.0.0.1", 6379, "::ffff:10.0.0.6", 5433, 1, 7, 8 },
	{ AF_INET, "10.0.0.1", 22, "10.1.0.9", 5555, 1, 100, 200 },
	{ AF_INET, "127.0.0.1", 50102, "127.0.0.1", 6379, 1, 50, 60 },
	{ AF_INET, "10.0.0.1", 50103, "10.9.0.1", 80, 1, 1, 1 },
	/* of the kind "wide" alone */
	{ AF_INET6, WIDE_LOCAL, 65535, WIDE_PEER, 65534, 1, 1, 1 },
};

/**
 * fake_tcp_dump() - answer with the list of TCP sockets, without its end
 * @family: AF_INET or AF_INET6
 */
void fake_tcp_dump(int family)
{
	static __u64 grown;
	struct inet_diag_msg *msg;
	struct nlmsghdr *nlh;
	size_t i;

	if (fake_is("growing") && family == AF_INET)
		grown += 100;
	for (i = 0; i < ARRAY_SIZE(sockets); i++) {
		struct tcp_info info = {
			.tcpi_bytes_acked = sockets[i].sent + grown + 1,
			.tcpi_bytes_sent = sockets[i].sent + grown + 5000,
			.tcpi_bytes_retrans = 5000,
			.tcpi_bytes_received = sockets[i].received,
		};

		if (sockets[i].family != family || fake_is("empty") ||
		    (!strcmp(sockets[i].local, WIDE_LOCAL) && !fake_is("wide")))
			continue;
		nlh = fake_msg_start(20, NLM_F_MULTI);
		msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
		msg->idiag_family = (__u8)family;
		msg->idiag_state = (__u8)sockets[i].state;
		inet_pton(family, sockets[i].local, msg->id.idiag_src);
		inet_pton(family, sockets[i].peer, msg->id.idiag_dst);
		msg->id.idiag_sport = htons(sockets[i].local_port);
		msg->id.idiag_dport = htons(sockets[i].peer_port);
		/* listeners have no tcp_info, an old kernel has a shorter one */
		if (sockets[i].state != LISTEN)
			mnl_attr_put(nlh, INET_DIAG_INFO, fake_is("old") ? 100 : sizeof(info),
				     &info);
		fake_msg_finish(nlh);
	}
}
