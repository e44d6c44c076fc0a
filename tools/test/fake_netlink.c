// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake SMC module for tests of smcctl, a library preloaded into it.
 *
 * sendto() on a netlink socket prepares the answer, recvmsg() returns it message by message.
 * FAKE_NL selects the kind of module:
 *   normal     groups, links, devices, statistics and sockets as Linux 6.12 sends them
 *   old        lacks the attributes that came after 6.1
 *   empty      all lists are empty
 *   nofamily   the module is not loaded
 *   unknown    the module supports no command
 *   denied     the caller has no privileges
 *   short      structures and numbers have wrong sizes, attributes are missing, strings lack
 *              the terminating zero
 *   doneerror  lists end with an error
 *   lonely     no port has the PNET ID of a netdev; ports are inactive
 *   growing    statistics of connections grow by 5000 with each request
 *   reloaded   statistics are reset after the first request
 *   tiny       sock_diag messages are shorter than their fixed part
 *   lossy      the first events are lost
 *   deaf       the family has no multicast groups
 *   long       a socket has long addresses
 *   wide       all addresses of IPv6 are of full length; ports, too
 *   deferred   one of the TCP sockets is a deferred connection
 *   autosmc    connections are TCP because earlier ones were short
 * FAKE_PORTS replaces the device: a list of NAME:PNETID:ACTIVE, each with one port on one netdev.
 *
 * Other parts: changes in fake_change.c, sockets in fake_socks.c, events in fake_events.c, TCP and
 * routes in fake_inet.c.
 */
#define _GNU_SOURCE
#include "fake_netlink.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uapi/linux/smc_own.h>

#define FAMILY_ID 0x22
#define FIRST_GROUP 33
#define NEW_LGR_SNDBUF 12
#define NEW_LGR_RMB 13
#define NEW_V2_MAX_CONNS 2
#define NEW_V2_MAX_LINKS 3
#define NEW_STATS_RX_USAGE 20
/* attributes of this module only */
#define OWN_LINK_AGE 128
#define OWN_LINK_MOVES 129

ssize_t fake_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
		    socklen_t tolen) __asm__("sendto") SMC_EXPORTED;
ssize_t fake_recvmsg(int fd, struct msghdr *msg, int flags) __asm__("recvmsg") SMC_EXPORTED;

int fake_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
	__asm__("setsockopt") SMC_EXPORTED;

static char answer[65536] __aligned(8);
static size_t answer_len, answer_pos;
static __u32 seq;
static int joined;	/* number of multicast groups */
static int wanted = 3;	/* of them before events come */
static int delivered;	/* events: 0: none, 1: the loss, 2: all */

/**
 * fake_is() - check the kind of module
 * @what: a value of FAKE_NL
 *
 * Return: true if FAKE_NL is @what.
 */
int fake_is(const char *what)
{
	const char *kind = getenv("FAKE_NL");

	return !strcmp(kind ? kind : "normal", what);
}

static int fd_is_netlink(int fd)
{
	socklen_t len = sizeof(int);
	int domain = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK;
}

static int fd_get_protocol(int fd)
{
	socklen_t len = sizeof(int);
	int protocol = -1;

	getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len);
	return protocol;
}

/**
 * fake_msg_start() - begin a message of the answer
 * @type: nlmsg_type
 * @flags: nlmsg_flags
 *
 * Return: the message; the caller adds its contents and calls fake_msg_finish().
 */
struct nlmsghdr *fake_msg_start(__u16 type, __u16 flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(answer + answer_len);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = seq;
	return nlh;
}

/**
 * fake_msg_finish() - end a message of the answer
 * @nlh: message, from fake_msg_start()
 */
void fake_msg_finish(const struct nlmsghdr *nlh)
{
	answer_len += MNL_ALIGN(nlh->nlmsg_len);
}

/**
 * fake_genl_start() - begin a message of SMC_GEN_NETLINK
 * @cmd: command
 *
 * Return: as fake_msg_start().
 */
struct nlmsghdr *fake_genl_start(__u8 cmd)
{
	struct nlmsghdr *nlh = fake_msg_start(FAMILY_ID, NLM_F_MULTI);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

/**
 * fake_result_put() - add the result of a request to the answer
 * @type: NLMSG_DONE or NLMSG_ERROR
 * @err: 0 or a negative errno
 */
void fake_result_put(__u16 type, int err)
{
	struct nlmsghdr *nlh = fake_msg_start(type, 0);
	struct nlmsgerr *body;

	if (type == NLMSG_DONE) {
		*(int *)mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = err;
	} else {
		body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));
		body->error = err;
	}
	fake_msg_finish(nlh);
}

/**
 * fake_done_put() - add the end of a list to the answer
 */
void fake_done_put(void)
{
	fake_result_put(NLMSG_DONE, fake_is("doneerror") ? -EMSGSIZE : 0);
}

static void mcast_groups_put(struct nlmsghdr *nlh)
{
	static const char * const names[] = { "events", "fallbacks", "connections", "later" };
	struct nlattr *all = mnl_attr_nest_start(nlh, CTRL_ATTR_MCAST_GROUPS), *nest;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		nest = mnl_attr_nest_start(nlh, i + 1);
		mnl_attr_put_u32(nlh, CTRL_ATTR_MCAST_GRP_ID, FIRST_GROUP + i);
		mnl_attr_put_strz(nlh, CTRL_ATTR_MCAST_GRP_NAME, names[i]);
		mnl_attr_nest_end(nlh, nest);
	}
	mnl_attr_nest_end(nlh, all);
}

static void family_put(const struct nlmsghdr *req)
{
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(req, sizeof(struct genlmsghdr));
	const char *name = mnl_attr_get_str(attr);
	struct nlmsghdr *nlh;
	struct genlmsghdr *genl;

	if (fake_is("nofamily")) {
		fake_result_put(NLMSG_ERROR, -ENOENT);
		return;
	}
	nlh = fake_msg_start(GENL_ID_CTRL, 0);
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = CTRL_CMD_NEWFAMILY;
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID,
			 strcmp(name, SMCR_GENL_FAMILY_NAME) ? FAMILY_ID : PNET_FAMILY_ID);
	if (!fake_is("deaf"))
		mcast_groups_put(nlh);
	fake_msg_finish(nlh);
	fake_result_put(NLMSG_ERROR, 0);
}

static void info_put(void)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_GET_SYS_INFO);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_SYS_INFO);

	mnl_attr_put_u8(nlh, SMC_NLA_SYS_VER, 2);
	mnl_attr_put_u8(nlh, SMC_NLA_SYS_REL, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_SYS_IS_ISM_V2, 0);
	mnl_attr_put_u8(nlh, SMC_NLA_SYS_IS_SMCR_V2, 1);
	/* the kernel pads host names with blanks; control bytes must not reach a terminal */
	mnl_attr_put_strz(nlh, SMC_NLA_SYS_LOCAL_HOST, "host\033a   ");
	if (!fake_is("old")) {
		mnl_attr_put_strz(nlh, SMC_NETLINK_SYS_OWN_NAME, "AF_SMC");
		mnl_attr_put_strz(nlh, SMC_NETLINK_SYS_OWN_VERSION, "1.2.3");
		mnl_attr_put_strz(nlh, SMC_NETLINK_SYS_OWN_SRCVERSION, "0123456789ABCDEF0123456");
		mnl_attr_put_strz(nlh, SMC_NETLINK_SYS_OWN_PROTOCOLS, "1 2.0 2.1");
		mnl_attr_put_strz(nlh, SMC_NETLINK_SYS_OWN_TCP_OPTION, "core");
	}
	mnl_attr_nest_end(nlh, nest);
	fake_msg_finish(nlh);
}

static void hs_limit_put(void)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_DUMP_HS_LIMITATION);

	mnl_attr_put_u8(nlh, SMC_NLA_HS_LIMITATION_ENABLED, 1);
	fake_msg_finish(nlh);
}

static void group_put(__u32 id)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_GET_LGR_SMCR);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_LGR_SMCR), *inner;

	if (fake_is("short")) {
		mnl_attr_put(nlh, SMC_NLA_LGR_R_ID, 3, "abc");
		mnl_attr_put(nlh, SMC_NLA_LGR_R_PNETID, 5, "NOEND");
		mnl_attr_nest_end(nlh, nest);
		fake_msg_finish(nlh);
		return;
	}
	mnl_attr_put_u32(nlh, SMC_NLA_LGR_R_ID, id);
	mnl_attr_put_u32(nlh, SMC_NLA_LGR_R_CONNS_NUM, 7);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_R_ROLE, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_R_TYPE, 2);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_R_BUF_TYPE, 0);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_R_VLAN_ID, 0);
	mnl_attr_put_u64(nlh, SMC_NLA_LGR_R_NET_COOKIE, 1);
	mnl_attr_put_strz(nlh, SMC_NLA_LGR_R_PNETID, "");
	if (!fake_is("old")) {
		/* "uint": 4 bytes when the value fits, else 8 */
		mnl_attr_put_u32(nlh, NEW_LGR_SNDBUF, 458752);
		mnl_attr_put_u64(nlh, NEW_LGR_RMB, 5000000000ULL);
	}
	inner = mnl_attr_nest_start(nlh, SMC_NLA_LGR_R_V2_COMMON);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_V2_VER, 2);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_V2_REL, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_V2_OS, 2);
	mnl_attr_put_strz(nlh, SMC_NLA_LGR_V2_PEER_HOST, "peer1");
	mnl_attr_put_strz(nlh, SMC_NLA_LGR_V2_NEG_EID, "SMCV2-DEFAULT-UEID              ");
	mnl_attr_nest_end(nlh, inner);
	inner = mnl_attr_nest_start(nlh, SMC_NLA_LGR_R_V2);
	mnl_attr_put_u8(nlh, SMC_NLA_LGR_R_V2_DIRECT, 1);
	if (!fake_is("old")) {
		mnl_attr_put_u8(nlh, NEW_V2_MAX_CONNS, 255);
		mnl_attr_put_u8(nlh, NEW_V2_MAX_LINKS, 2);
	}
	mnl_attr_nest_end(nlh, inner);
	mnl_attr_nest_end(nlh, nest);
	fake_msg_finish(nlh);
}

static void link_put(__u8 id, __u32 state)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_GET_LINK_SMCR);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_LINK_SMCR);

	mnl_attr_put_u8(nlh, SMC_NLA_LINK_ID, id);
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_STATE, state);
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_CONN_CNT, 4);
	if (id == 1) {
		mnl_attr_put_u32(nlh, OWN_LINK_MOVES, 5);
		mnl_attr_put_u32(nlh, OWN_LINK_AGE, 3600);
	}
	mnl_attr_put_u8(nlh, SMC_NLA_LINK_IB_PORT, 1);
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_NET_DEV, 1);
	mnl_attr_put_strz(nlh, SMC_NLA_LINK_IB_DEV, "rxe0");
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_UID, htonl(0x01020304));
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_PEER_UID, htonl(0x0a0b0c0d));
	mnl_attr_put_strz(nlh, SMC_NLA_LINK_GID, fake_is("wide") ? WIDE_LOCAL :
			  "0000:0000:0000:0000:0000:ffff:0a00:0001");
	mnl_attr_put_strz(nlh, SMC_NLA_LINK_PEER_GID, fake_is("wide") ? WIDE_PEER :
			  "0000:0000:0000:0000:0000:ffff:0a00:0002");
	mnl_attr_nest_end(nlh, nest);
	fake_msg_finish(nlh);
}

static void device_put(const char *name, const char *pnetid, bool active)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_GET_DEV_SMCR);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_DEV_SMCR), *port;

	mnl_attr_put_u8(nlh, SMC_NLA_DEV_IS_CRIT, 0);
	mnl_attr_put_strz(nlh, SMC_NLA_DEV_IB_NAME, name);
	port = mnl_attr_nest_start(nlh, SMC_NLA_DEV_PORT);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_PNET_USR, 1);
	mnl_attr_put_strz(nlh, SMC_NLA_DEV_PORT_PNETID, pnetid);
	mnl_attr_put_u32(nlh, SMC_NLA_DEV_PORT_NETDEV, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_VALID, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_STATE, active);
	mnl_attr_put_u32(nlh, SMC_NLA_DEV_PORT_LNK_CNT, 3);
	mnl_attr_nest_end(nlh, port);
	port = mnl_attr_nest_start(nlh, SMC_NLA_DEV_PORT2);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_VALID, 0);
	mnl_attr_nest_end(nlh, port);
	mnl_attr_nest_end(nlh, nest);
	fake_msg_finish(nlh);
}

/* The devices of FAKE_PORTS, each as NAME:PNETID:ACTIVE, or one. */
static void devices_put(void)
{
	const char *ports = getenv("FAKE_PORTS");
	char name[16], pnetid[17];
	int active, n;

	if (!ports) {
		device_put("rxe0", fake_is("lonely") ? "NET2" : "NET1", !fake_is("lonely"));
		return;
	}
	for (; sscanf(ports, " %15[^:]:%16[^:]:%d%n", name, pnetid, &active, &n) == 3; ports += n)
		device_put(name, pnetid, active);
}

/* Each value is the number of the table and of the attribute: 1280001, 1280002, ... */
static void own_stats_put(struct nlmsghdr *nlh)
{
	static const int sizes[] = { 4, 4, 9, 9, 16, 16, 4, 4 };
	struct nlattr *nest;
	size_t t;
	int i;

	for (t = 0; t < ARRAY_SIZE(sizes); t++) {
		nest = mnl_attr_nest_start(nlh, SMC_NETLINK_STATS_OWN_CLC_TX + t);
		for (i = 1; i <= sizes[t]; i++)
			mnl_attr_put_u64(nlh, i, (SMC_NETLINK_STATS_OWN_CLC_TX + t) * 10000 + i);
		mnl_attr_nest_end(nlh, nest);
	}
}

static void stats_put(void)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_GET_STATS);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_STATS), *tech, *inner;
	static __u64 grown;
	int i;

	if (fake_is("growing"))
		grown += 5000;
	if (fake_is("reloaded"))
		grown = grown ? 0 : 5000;

	tech = mnl_attr_nest_start(nlh, SMC_NLA_STATS_SMCR_TECH);
	if (!fake_is("short")) {
		inner = mnl_attr_nest_start(nlh, SMC_NLA_STATS_T_TX_RMB_STATS);
		for (i = 1; i <= SMC_NLA_STATS_RMB_MAX; i++)
			mnl_attr_put_u64(nlh, i, 100 + i);
		mnl_attr_nest_end(nlh, inner);
		inner = mnl_attr_nest_start(nlh, SMC_NLA_STATS_T_RXPLOAD_SIZE);
		for (i = 1; i <= SMC_NLA_STATS_PLOAD_MAX; i++)
			mnl_attr_put_u64(nlh, i, 200 + i);
		mnl_attr_nest_end(nlh, inner);
		for (i = SMC_NLA_STATS_T_CLNT_V1_SUCC; i <= SMC_NLA_STATS_T_TX_CNT; i++)
			mnl_attr_put_u64(nlh, i, 300 + i + grown);
	}
	if (fake_is("normal"))
		mnl_attr_put_u32(nlh, NEW_STATS_RX_USAGE, 65536);
	mnl_attr_nest_end(nlh, tech);
	tech = mnl_attr_nest_start(nlh, SMC_NLA_STATS_SMCD_TECH);
	mnl_attr_put_u64(nlh, SMC_NLA_STATS_T_RX_BYTES, fake_is("old") ? 9 : 0);
	mnl_attr_nest_end(nlh, tech);
	mnl_attr_put_u64(nlh, SMC_NLA_STATS_CLNT_HS_ERR_CNT, 5);
	mnl_attr_put_u64(nlh, SMC_NLA_STATS_SRV_HS_ERR_CNT, 6);
	if (fake_is("normal"))
		own_stats_put(nlh);
	mnl_attr_nest_end(nlh, nest);
	fake_msg_finish(nlh);
}

/* "many": more clients than the count of <linux/smc.h> can hold. */
static void fallback_put(__u8 side, __u32 reason, __u64 count, int first)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_NETLINK_GET_FBACK_STATS);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_FBACK_STATS);

	mnl_attr_put_u8(nlh, SMC_NLA_FBACK_STATS_TYPE, side);
	if (first) {
		mnl_attr_put_u64(nlh, SMC_NLA_FBACK_STATS_SRV_CNT, 3);
		mnl_attr_put_u64(nlh, SMC_NLA_FBACK_STATS_CLNT_CNT, fake_is("many") ? 70000 : 9);
	}
	mnl_attr_put_u32(nlh, SMC_NLA_FBACK_STATS_RSN_CODE, reason);
	mnl_attr_put_u16(nlh, SMC_NLA_FBACK_STATS_RSN_CNT, count < 65535 ? count : 65535);
	if (!fake_is("old"))
		mnl_attr_put_u64(nlh, SMC_NETLINK_FBACK_STATS_OWN_COUNT, count);
	mnl_attr_nest_end(nlh, nest);
	fake_msg_finish(nlh);
}

/* Counters from the file smc_stat in FAKE_PROC; without it, act as the in-tree module. */
static int counters_put(void)
{
	const char *dir = getenv("FAKE_PROC");
	unsigned long long val;
	char path[256], name[64];
	struct nlmsghdr *nlh;
	FILE *f;

	snprintf(path, sizeof(path), "%s/smc_stat", dir ? dir : "");
	f = fopen(path, "r");
	if (!f)
		return -EOPNOTSUPP;
	while (fscanf(f, "%63[a-z0-9_] %llu ", name, &val) == 2) {
		nlh = fake_genl_start(OWN_GET_COUNTERS);
		mnl_attr_put_strz(nlh, 1, name);
		mnl_attr_put_u64(nlh, 2, val);
		fake_msg_finish(nlh);
	}
	fclose(f);
	return 0;
}

static void answer_put(const struct nlmsghdr *req)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);
	int cmd = genl->cmd;

	if (req->nlmsg_type == GENL_ID_CTRL) {
		family_put(req);
		return;
	}
	if (req->nlmsg_type == DIAG_BY_FAMILY) {
		fake_socks_answer(req);
		return;
	}
	if (req->nlmsg_type == DIAG_DESTROY) {
		fake_sock_kill(req);
		return;
	}
	if ((cmd == SMC_NETLINK_DUMP_HS_LIMITATION || cmd == OWN_GET_RULES) && fake_is("old")) {
		fake_result_put(NLMSG_ERROR, -EOPNOTSUPP);
		return;
	}
	if (fake_is("unknown") || fake_is("denied")) {
		fake_result_put(NLMSG_ERROR, fake_is("denied") ? -EPERM : -EOPNOTSUPP);
		return;
	}
	if (cmd == OWN_GET_COUNTERS && req->nlmsg_type != PNET_FAMILY_ID && counters_put()) {
		fake_result_put(NLMSG_ERROR, -EOPNOTSUPP);
		return;
	}
	if (req->nlmsg_type == PNET_FAMILY_ID) {
		fake_pnet_answer(req, cmd);
		return;
	}
	if (cmd >= SMC_NETLINK_ADD_UEID && cmd <= SMC_NETLINK_FLUSH_UEID) {
		fake_result_put(NLMSG_ERROR, fake_ueids_change(req, cmd));
		return;
	}
	if (cmd >= OWN_ADD_LINK && cmd <= OWN_DEL_LGR) {
		fake_link_modify(req, cmd);
		return;
	}
	if (cmd >= OWN_ADD_RULE && cmd <= OWN_FLUSH_RULES) {
		fake_rules_change(req, cmd);
		return;
	}
	if (cmd == SMC_NETLINK_DUMP_UEID) {
		fake_ueids_dump();
		return;
	}
	if (!fake_is("empty")) {
		if (cmd == SMC_NETLINK_GET_SYS_INFO)
			info_put();
		if (cmd == SMC_NETLINK_DUMP_HS_LIMITATION)
			hs_limit_put();
		if (cmd == SMC_NETLINK_GET_LGR_SMCR || cmd == SMC_NETLINK_GET_LINK_SMCR)
			group_put(0x00000100);
		if (cmd == SMC_NETLINK_GET_LINK_SMCR) {
			link_put(1, 3);
			link_put(2, 77);
		}
		if (cmd == SMC_NETLINK_GET_DEV_SMCR)
			devices_put();
		if (cmd == OWN_GET_RULES)
			fake_rules_dump();
		if (cmd == SMC_NETLINK_GET_STATS)
			stats_put();
		if (cmd == SMC_NETLINK_GET_FBACK_STATS) {
			fallback_put(1, 0x03030000, 3, 1);
			fallback_put(0, 0x12345678, fake_is("many") ? 70000 : 9, 0);
		}
	}
	fake_done_put();
}

ssize_t fake_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
		    socklen_t tolen)
{
	ssize_t (*real)(int fd, const void *buf, size_t len, int flags,
			const struct sockaddr *to, socklen_t tolen);
	const struct nlmsghdr *req = buf;

	*(void **)&real = dlsym(RTLD_NEXT, "sendto");
	if (!fd_is_netlink(fd))
		return real(fd, buf, len, flags, to, tolen);
	answer_len = 0;
	answer_pos = 0;
	seq = req->nlmsg_seq;
	if (fd_get_protocol(fd) == NETLINK_ROUTE)
		fake_route_answer(req);
	else
		answer_put(req);
	return (ssize_t)len;
}

/* Accept the two multicast groups, and the one that reports changes of families. */
int fake_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	int (*real)(int fd, int level, int name, const void *val, socklen_t len);
	__u32 group;

	*(void **)&real = dlsym(RTLD_NEXT, "setsockopt");
	if (!fd_is_netlink(fd) || level != SOL_NETLINK || name != NETLINK_ADD_MEMBERSHIP)
		return real(fd, level, name, val, len);
	memcpy(&group, val, sizeof(group));
	if (group == FIRST_GROUP + 2)
		wanted = 2;
	else if (group != FIRST_GROUP && group != FIRST_GROUP + 1 && group != GENL_ID_CTRL)
		abort();
	joined++;
	return 0;
}

/* Prepare the events for a listener of all its groups. Return true if events are lost. */
static int events_fetch(void)
{
	int lost = fake_is("lossy") && !delivered;

	answer_len = 0;
	answer_pos = 0;
	if (!lost && delivered < 2) {
		fake_events_put(FAMILY_ID, wanted == 2);
		delivered = 2;
	}
	if (lost)
		delivered = 1;
	return lost;
}

/* Return one message per call: the tool must handle lists in many pieces. */
ssize_t fake_recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int fd, struct msghdr *msg, int flags);
	const struct nlmsghdr *nlh;
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	size_t len;

	*(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
	if (!fd_is_netlink(fd))
		return real(fd, msg, flags);
	if (answer_pos >= answer_len && joined == wanted && events_fetch()) {
		errno = ENOBUFS;
		return -1;
	}
	if (answer_pos >= answer_len) {
		errno = EAGAIN;
		return -1;
	}
	nlh = (const void *)(answer + answer_pos);
	len = MNL_ALIGN(nlh->nlmsg_len);
	if (len > msg->msg_iov[0].iov_len)
		abort();
	memcpy(msg->msg_iov[0].iov_base, nlh, len);
	answer_pos += len;
	memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	msg->msg_flags = 0;
	return (ssize_t)len;
}
