// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink side of an SMC module, as a library below smcctl.
 *
 * sendto() on a netlink socket prepares the answer, recvmsg() hands it out message by message.
 * FAKE_NL selects what the module is like:
 *   normal     groups, links, devices, statistics, sockets as Linux 6.12 sends them
 *   old        without the attributes that came after 6.1
 *   empty      nothing but the end of each list
 *   nofamily   no module
 *   unknown    module that knows no command
 *   denied     no right
 *   short      structures and numbers of wrong sizes, attributes missing, strings without end
 *   doneerror  lists that end with an error
 *   lonely     no port with the PNET ID that a netdev has; ports are inactive
 *   growing    statistics of connections grow by 5000 each time they are asked for
 *   reloaded   they begin anew after the first time
 *   tiny       sock_diag messages shorter than their fixed part
 * FAKE_NL_UEIDS names the file that keeps the list of UEIDs, FAKE_NL_PNET one that gets a line
 * for each change of the PNET table. With FAKE_OWN_SOCK, "smc" or "REASON
 * PEER-REASON", the list of sockets has the process's own stream sockets as well.
 */
#define _GNU_SOURCE
#include "fake_netlink.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define FAMILY_ID 0x22
#define PNET_FAMILY_ID 0x23
#define DIAG_BY_FAMILY 20
#define MAX_UEIDS 4
#define NEW_LGR_SNDBUF 12
#define NEW_LGR_RMB 13
#define NEW_V2_MAX_CONNS 2
#define NEW_V2_MAX_LINKS 3
#define NEW_STATS_RX_USAGE 20
/* our own module */
#define OWN_LINK_AGE 128
#define OWN_LINK_MOVES 129
#define OWN_ADD_LINK 128
#define OWN_DEL_LINK 129
#define OWN_DEL_LGR 130
#define OWN_ATTRS 3

ssize_t fake_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
		    socklen_t tolen) __asm__("sendto") SMC_EXPORTED;
ssize_t fake_recvmsg(int fd, struct msghdr *msg, int flags) __asm__("recvmsg") SMC_EXPORTED;

static char answer[65536] __aligned(8);
static size_t answer_len, answer_pos;
static __u32 seq;

int fake_is(const char *what)
{
	const char *kind = getenv("FAKE_NL");

	return !strcmp(kind ? kind : "normal", what);
}

static int is_netlink(int fd)
{
	socklen_t len = sizeof(int);
	int domain = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK;
}

static int protocol_of(int fd)
{
	socklen_t len = sizeof(int);
	int protocol = -1;

	getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len);
	return protocol;
}

struct nlmsghdr *fake_start(__u16 type, __u16 flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(answer + answer_len);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = seq;
	return nlh;
}

void fake_finish(const struct nlmsghdr *nlh)
{
	answer_len += MNL_ALIGN(nlh->nlmsg_len);
}

static struct nlmsghdr *start_genl(__u8 cmd)
{
	struct nlmsghdr *nlh = fake_start(FAMILY_ID, NLM_F_MULTI);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

void fake_result(__u16 type, int err)
{
	struct nlmsghdr *nlh = fake_start(type, 0);
	struct nlmsgerr *body;

	if (type == NLMSG_DONE) {
		*(int *)mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = err;
	} else {
		body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));
		body->error = err;
	}
	fake_finish(nlh);
}

static void put_done(void)
{
	fake_result(NLMSG_DONE, fake_is("doneerror") ? -EMSGSIZE : 0);
}

static void put_family(const struct nlmsghdr *req)
{
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(req, sizeof(struct genlmsghdr));
	const char *name = mnl_attr_get_str(attr);
	struct nlmsghdr *nlh;
	struct genlmsghdr *genl;

	if (fake_is("nofamily")) {
		fake_result(NLMSG_ERROR, -ENOENT);
		return;
	}
	nlh = fake_start(GENL_ID_CTRL, 0);
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = CTRL_CMD_NEWFAMILY;
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID,
			 strcmp(name, SMCR_GENL_FAMILY_NAME) ? FAMILY_ID : PNET_FAMILY_ID);
	fake_finish(nlh);
	fake_result(NLMSG_ERROR, 0);
}

static void put_info(void)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_GET_SYS_INFO);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_SYS_INFO);

	mnl_attr_put_u8(nlh, SMC_NLA_SYS_VER, 2);
	mnl_attr_put_u8(nlh, SMC_NLA_SYS_REL, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_SYS_IS_ISM_V2, 0);
	mnl_attr_put_u8(nlh, SMC_NLA_SYS_IS_SMCR_V2, 1);
	/* The kernel pads host names with blanks; control bytes must not reach a terminal. */
	mnl_attr_put_strz(nlh, SMC_NLA_SYS_LOCAL_HOST, "host\033a   ");
	mnl_attr_nest_end(nlh, nest);
	fake_finish(nlh);
}

static void put_hs_limitation(void)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_DUMP_HS_LIMITATION);

	mnl_attr_put_u8(nlh, SMC_NLA_HS_LIMITATION_ENABLED, 1);
	fake_finish(nlh);
}

static void put_group(__u32 id)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_GET_LGR_SMCR);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_LGR_SMCR), *inner;

	if (fake_is("short")) {
		mnl_attr_put(nlh, SMC_NLA_LGR_R_ID, 3, "abc");
		mnl_attr_put(nlh, SMC_NLA_LGR_R_PNETID, 5, "NOEND");
		mnl_attr_nest_end(nlh, nest);
		fake_finish(nlh);
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
	fake_finish(nlh);
}

static void put_link(__u8 id, __u32 state)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_GET_LINK_SMCR);
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
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_UID, 0x01020304);
	mnl_attr_put_u32(nlh, SMC_NLA_LINK_PEER_UID, 0x0a0b0c0d);
	mnl_attr_put_strz(nlh, SMC_NLA_LINK_GID, "0000:0000:0000:0000:0000:ffff:0a00:0001");
	mnl_attr_put_strz(nlh, SMC_NLA_LINK_PEER_GID, "0000:0000:0000:0000:0000:ffff:0a00:0002");
	mnl_attr_nest_end(nlh, nest);
	fake_finish(nlh);
}

static void put_device(void)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_GET_DEV_SMCR);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_DEV_SMCR), *port;

	mnl_attr_put_u8(nlh, SMC_NLA_DEV_IS_CRIT, 0);
	mnl_attr_put_strz(nlh, SMC_NLA_DEV_IB_NAME, "rxe0");
	port = mnl_attr_nest_start(nlh, SMC_NLA_DEV_PORT);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_PNET_USR, 1);
	mnl_attr_put_strz(nlh, SMC_NLA_DEV_PORT_PNETID, fake_is("lonely") ? "NET2" : "NET1");
	mnl_attr_put_u32(nlh, SMC_NLA_DEV_PORT_NETDEV, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_VALID, 1);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_STATE, !fake_is("lonely"));
	mnl_attr_put_u32(nlh, SMC_NLA_DEV_PORT_LNK_CNT, 3);
	mnl_attr_nest_end(nlh, port);
	port = mnl_attr_nest_start(nlh, SMC_NLA_DEV_PORT2);
	mnl_attr_put_u8(nlh, SMC_NLA_DEV_PORT_VALID, 0);
	mnl_attr_nest_end(nlh, port);
	mnl_attr_nest_end(nlh, nest);
	fake_finish(nlh);
}

static void put_stats(void)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_GET_STATS);
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
	mnl_attr_nest_end(nlh, nest);
	fake_finish(nlh);
}

static void put_fallback(__u8 side, __u32 reason, __u16 count, int first)
{
	struct nlmsghdr *nlh = start_genl(SMC_NETLINK_GET_FBACK_STATS);
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_GEN_FBACK_STATS);

	mnl_attr_put_u8(nlh, SMC_NLA_FBACK_STATS_TYPE, side);
	if (first) {
		mnl_attr_put_u64(nlh, SMC_NLA_FBACK_STATS_SRV_CNT, 3);
		mnl_attr_put_u64(nlh, SMC_NLA_FBACK_STATS_CLNT_CNT, 9);
	}
	mnl_attr_put_u32(nlh, SMC_NLA_FBACK_STATS_RSN_CODE, reason);
	mnl_attr_put_u16(nlh, SMC_NLA_FBACK_STATS_RSN_CNT, count);
	mnl_attr_nest_end(nlh, nest);
	fake_finish(nlh);
}

/* --- UEIDs, kept in a file as lines of 32 characters --- */

static int load_ueids(char names[][SMC_MAX_EID_LEN + 2])
{
	FILE *f = fopen(getenv("FAKE_NL_UEIDS"), "r");
	int num = 0;

	while (f && num < MAX_UEIDS && fgets(names[num], SMC_MAX_EID_LEN + 2, f))
		num++;
	if (f)
		fclose(f);
	return num;
}

static void save_ueids(char names[][SMC_MAX_EID_LEN + 2], int num)
{
	FILE *f = fopen(getenv("FAKE_NL_UEIDS"), "w");
	int i;

	if (!f)
		abort();
	for (i = 0; i < num; i++)
		fputs(names[i], f);
	fclose(f);
}

static void put_ueids(void)
{
	char names[MAX_UEIDS][SMC_MAX_EID_LEN + 2];
	int i, num = load_ueids(names);
	struct nlmsghdr *nlh;

	for (i = 0; i < num; i++) {
		names[i][SMC_MAX_EID_LEN] = '\0';
		nlh = start_genl(SMC_NETLINK_DUMP_UEID);
		mnl_attr_put_strz(nlh, SMC_NLA_EID_TABLE_ENTRY, names[i]);
		fake_finish(nlh);
	}
	put_done();
}

static int change_ueids(const struct nlmsghdr *req, int cmd)
{
	char names[MAX_UEIDS + 1][SMC_MAX_EID_LEN + 2];
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(req, sizeof(struct genlmsghdr));
	int i, num = load_ueids(names);

	if (cmd == SMC_NETLINK_FLUSH_UEID) {
		save_ueids(names, 0);
		return 0;
	}
	/* The in-tree module wants all 32 characters and the zero. */
	if (!mnl_attr_ok(attr, (int)(mnl_nlmsg_get_payload_len(req) - sizeof(struct genlmsghdr))) ||
	    mnl_attr_get_type(attr) != SMC_NLA_EID_TABLE_ENTRY ||
	    mnl_attr_get_payload_len(attr) != SMC_MAX_EID_LEN + 1 ||
	    strlen(mnl_attr_get_str(attr)) != SMC_MAX_EID_LEN)
		return -EINVAL;
	for (i = 0; i < num; i++) {
		if (!memcmp(names[i], mnl_attr_get_str(attr), SMC_MAX_EID_LEN))
			break;
	}
	if (cmd == SMC_NETLINK_ADD_UEID) {
		if (i < num)
			return -EEXIST;
		if (num == MAX_UEIDS)
			return -ERANGE;
		snprintf(names[num], sizeof(names[num]), "%s\n", mnl_attr_get_str(attr));
		save_ueids(names, num + 1);
		return 0;
	}
	if (i == num)
		return -ENOENT;
	memmove(names[i], names[i + 1], (size_t)(num - i) * sizeof(names[0]));
	save_ueids(names, num - 1);
	return 0;
}

/* --- PNET IDs: a fixed table; changes are judged by what they ask for --- */

static void put_pnet(const char *id, const char *eth, const char *ib, __u8 port)
{
	struct nlmsghdr *nlh = start_genl(SMC_PNETID_GET);

	nlh->nlmsg_type = PNET_FAMILY_ID;
	mnl_attr_put_strz(nlh, SMC_PNETID_NAME, id);
	mnl_attr_put_strz(nlh, SMC_PNETID_ETHNAME, eth);
	mnl_attr_put_strz(nlh, SMC_PNETID_IBNAME, ib);
	mnl_attr_put_u8(nlh, SMC_PNETID_IBPORT, port);
	fake_finish(nlh);
}

/* What was sent, as text: "ID eth ib port", "-" for what is absent. */
static void describe_pnet(const struct nlmsghdr *req, char *text, size_t size)
{
	const char *part[SMC_PNETID_MAX + 1] = { "", "-", "-", "-", "-" };
	const struct nlattr *attr;
	char port[8];

	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr)) {
		int type = mnl_attr_get_type(attr);

		if (type == SMC_PNETID_IBPORT)
			snprintf(port, sizeof(port), "%d", mnl_attr_get_u8(attr));
		if (type <= SMC_PNETID_MAX)
			part[type] = type == SMC_PNETID_IBPORT ? port : mnl_attr_get_str(attr);
	}
	snprintf(text, size, "%s %s %s %s", part[1], part[2], part[3], part[4]);
}

static int change_pnet(const struct nlmsghdr *req, int cmd)
{
	static const struct {
		int cmd;
		const char *text;
		int err;
	} known[] = {
		{ SMC_PNETID_ADD, "net1 eth0 - -", 0 },
		{ SMC_PNETID_ADD, "NET1 - rxe0 1", 0 },
		{ SMC_PNETID_ADD, "NET1 eth0 0000:01:00.0 2", 0 },
		{ SMC_PNETID_ADD, "NET2 eth0 - -", -EEXIST },
		{ SMC_PNETID_ADD, "FULL eth0 - -", -ENOSPC },
		{ SMC_PNETID_DEL, "NET1 - - -", 0 },
		{ SMC_PNETID_DEL, "NET2 - - -", -ENOENT },
		{ SMC_PNETID_FLUSH, "- - - -", 0 },
	};
	char text[256];
	size_t i;

	describe_pnet(req, text, sizeof(text));
	if (getenv("FAKE_NL_PNET")) {
		FILE *f = fopen(getenv("FAKE_NL_PNET"), "a");

		if (!f)
			abort();
		fprintf(f, "%s %s\n", cmd == SMC_PNETID_ADD ? "add" :
			cmd == SMC_PNETID_DEL ? "del" : "flush", text);
		fclose(f);
	}
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].cmd == cmd && !strcmp(known[i].text, text))
			return known[i].err;
	return -EINVAL;
}

static void put_pnet_answer(const struct nlmsghdr *req, int cmd)
{
	if (cmd != SMC_PNETID_GET) {
		fake_result(NLMSG_ERROR, change_pnet(req, cmd));
		return;
	}
	if (!fake_is("empty")) {
		put_pnet("NET1", "eth0", "n/a", 255);
		put_pnet(fake_is("lonely") ? "NET2" : "NET1", "n/a", "rxe0", 1);
	}
	put_done();
}

/* --- orders about groups and links, judged by what they ask for --- */

/* An error in words; an old kernel repeats the whole request before them. */
static void put_words(const struct nlmsghdr *req, int err, const char *words)
{
	size_t more = fake_is("old") ? req->nlmsg_len - sizeof(*req) : 0;
	struct nlmsghdr *nlh = fake_start(NLMSG_ERROR, NLM_F_ACK_TLVS | (more ? 0 : NLM_F_CAPPED));
	struct nlmsgerr *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body) + more);

	body->error = err;
	memcpy(&body->msg, req, sizeof(*req) + more);
	mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, words);
	fake_finish(nlh);
}

static void put_order(const struct nlmsghdr *req, int cmd)
{
	static const struct {
		int cmd;
		const char *text;
	} known[] = {
		{ OWN_ADD_LINK, "256 0 0" }, { OWN_DEL_LINK, "256 2 0" },
		{ OWN_DEL_LGR, "256 0 0" }, { OWN_DEL_LGR, "512 0 1" },
	};
	unsigned int part[OWN_ATTRS + 1] = { 0 };
	const struct nlattr *attr;
	char text[64];
	size_t i;

	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr)) {
		int type = mnl_attr_get_type(attr);

		if (type == 1)
			part[type] = mnl_attr_get_u32(attr);
		else if (type == 2)
			part[type] = mnl_attr_get_u8(attr);
		else if (type == 3)
			part[type] = !mnl_attr_get_payload_len(attr);
	}
	snprintf(text, sizeof(text), "%u %u %u", part[1], part[2], part[3]);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].cmd != cmd || strcmp(known[i].text, text))
			continue;
		fake_result(NLMSG_ERROR, 0);
		return;
	}
	put_words(req, -ENOENT, text);
}

/* --- sock_diag --- */

static struct nlmsghdr *start_sock(__u8 state, __u8 mode, const char *src, int sport,
				   const char *dst, int dport)
{
	struct nlmsghdr *nlh = fake_start(DIAG_BY_FAMILY, NLM_F_MULTI);
	struct smc_diag_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	int family = strchr(src, ':') ? AF_INET6 : AF_INET;

	msg->diag_family = 43;
	msg->diag_state = state;
	msg->diag_mode = mode;
	inet_pton(family, src, msg->id.idiag_src);
	inet_pton(family, dst, msg->id.idiag_dst);
	msg->id.idiag_sport = htons(sport);
	msg->id.idiag_dport = htons(dport);
	msg->diag_uid = 1000;
	msg->diag_inode = 4711;
	return nlh;
}

static void put_fallback_reasons(struct nlmsghdr *nlh, __u32 own, __u32 peer)
{
	struct smc_diag_fallback fb = { .reason = own, .peer_diagnosis = peer };

	mnl_attr_put(nlh, SMC_DIAG_FALLBACK, sizeof(fb), &fb);
}

static void put_smcr_sock(__u8 ext)
{
	struct nlmsghdr *nlh = start_sock(1, SMC_DIAG_MODE_SMCR, "10.0.0.1", 6379, "10.0.0.2",
					  40001);
	struct smc_diag_conninfo conn = {
		.token = 0xbeef0001, .sndbuf_size = 65536, .rmbe_size = 131072,
		.peer_rmbe_size = 262144, .rx_prod = { .wrap = 1, .count = 11 },
		.rx_cons = { .wrap = 2, .count = 12 }, .tx_prod = { .wrap = 3, .count = 13 },
		.tx_cons = { .wrap = 4, .count = 14 }, .tx_prep = { .wrap = 5, .count = 15 },
		.tx_sent = { .wrap = 6, .count = 16 }, .tx_fin = { .wrap = 7, .count = 17 },
		.rx_prod_flags = 0x80,
	};
	struct smc_diag_lgrinfo lgr = { .role = 1 };

	lgr.lnk[0].link_id = 3;
	lgr.lnk[0].ibport = 1;
	/* Without room for a zero at the end */
	memset(lgr.lnk[0].ibname, 'x', sizeof(lgr.lnk[0].ibname));
	if (!fake_is("short"))
		memcpy(lgr.lnk[0].ibname, "rxe0", 5);
	memcpy(lgr.lnk[0].gid, "fe80:0000:0000:0000:0000:0000:0000:0001", 40);
	memcpy(lgr.lnk[0].peer_gid, "fe80:0000:0000:0000:0000:0000:0000:0002", 40);
	mnl_attr_put_u8(nlh, SMC_DIAG_SHUTDOWN, 2);
	put_fallback_reasons(nlh, 0, 0);
	if (ext & 1)
		mnl_attr_put(nlh, SMC_DIAG_CONNINFO, fake_is("short") ? 12 : sizeof(conn), &conn);
	if (ext & 2)
		mnl_attr_put(nlh, SMC_DIAG_LGRINFO, sizeof(lgr), &lgr);
	fake_finish(nlh);
}

/* The stream sockets of this process, as a connection to 10.0.0.77 */
static void put_own_socks(void)
{
	const char *what = getenv("FAKE_OWN_SOCK");
	int smc = what && !strcmp(what, "smc"), fd, type;
	unsigned int own = 0, peer = 0;
	struct nlmsghdr *nlh;
	struct stat st;

	if (what && !smc && sscanf(what, "%x %x", &own, &peer) != 2)
		abort();
	for (fd = 3; what && fd < 32; fd++) {
		socklen_t len = sizeof(type);

		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM ||
		    fstat(fd, &st))
			continue;
		nlh = start_sock(1, smc ? SMC_DIAG_MODE_SMCR : SMC_DIAG_MODE_FALLBACK_TCP,
				 "10.0.0.1", 40000 + fd, "10.0.0.77", 7);
		((struct smc_diag_msg *)mnl_nlmsg_get_payload(nlh))->diag_inode = st.st_ino;
		put_fallback_reasons(nlh, own, peer);
		fake_finish(nlh);
	}
}

static void put_socks(const struct nlmsghdr *req)
{
	const struct smc_diag_req *diag = mnl_nlmsg_get_payload(req);
	struct nlmsghdr *nlh;

	if (diag->diag_family == AF_INET || diag->diag_family == AF_INET6) {
		fake_tcp(diag->diag_family);
		put_done();
		return;
	}
	if (fake_is("nofamily") || diag->diag_family != 43) {
		fake_result(NLMSG_ERROR, -ENOENT);
		return;
	}
	put_own_socks();
	if (fake_is("tiny")) {
		nlh = fake_start(DIAG_BY_FAMILY, NLM_F_MULTI);
		memset(mnl_nlmsg_put_extra_header(nlh, 8), 0, 8);
		fake_finish(nlh);
	} else if (!fake_is("empty")) {
		put_smcr_sock(diag->diag_ext);
		nlh = start_sock(1, SMC_DIAG_MODE_FALLBACK_TCP, "fd00::1", 443, "fd00::2", 50000);
		put_fallback_reasons(nlh, 0x05000000, 0x03030000);
		fake_finish(nlh);
		nlh = start_sock(7, SMC_DIAG_MODE_FALLBACK_TCP, "::ffff:10.0.0.1", 80,
				 "::ffff:10.0.0.3", 50001);
		put_fallback_reasons(nlh, 0x03010000, 0);
		fake_finish(nlh);
		nlh = start_sock(10, SMC_DIAG_MODE_SMCR, "0.0.0.0", 6379, "0.0.0.0", 0);
		fake_finish(nlh);
		nlh = start_sock(99, 9, "10.0.0.1", 81, "10.0.0.2", 82);
		fake_finish(nlh);
	}
	put_done();
}

static void put_answer(const struct nlmsghdr *req)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);
	int cmd = genl->cmd;

	if (req->nlmsg_type == GENL_ID_CTRL) {
		put_family(req);
		return;
	}
	if (req->nlmsg_type == DIAG_BY_FAMILY) {
		put_socks(req);
		return;
	}
	if (cmd == SMC_NETLINK_DUMP_HS_LIMITATION && fake_is("old")) {
		fake_result(NLMSG_ERROR, -EOPNOTSUPP);
		return;
	}
	if (fake_is("unknown") || fake_is("denied")) {
		fake_result(NLMSG_ERROR, fake_is("denied") ? -EPERM : -EOPNOTSUPP);
		return;
	}
	if (req->nlmsg_type == PNET_FAMILY_ID) {
		put_pnet_answer(req, cmd);
		return;
	}
	if (cmd >= SMC_NETLINK_ADD_UEID && cmd <= SMC_NETLINK_FLUSH_UEID) {
		fake_result(NLMSG_ERROR, change_ueids(req, cmd));
		return;
	}
	if (cmd >= OWN_ADD_LINK && cmd <= OWN_DEL_LGR) {
		put_order(req, cmd);
		return;
	}
	if (cmd == SMC_NETLINK_DUMP_UEID) {
		put_ueids();
		return;
	}
	if (!fake_is("empty")) {
		if (cmd == SMC_NETLINK_GET_SYS_INFO)
			put_info();
		if (cmd == SMC_NETLINK_DUMP_HS_LIMITATION)
			put_hs_limitation();
		if (cmd == SMC_NETLINK_GET_LGR_SMCR || cmd == SMC_NETLINK_GET_LINK_SMCR)
			put_group(0x00000100);
		if (cmd == SMC_NETLINK_GET_LINK_SMCR) {
			put_link(1, 3);
			put_link(2, 77);
		}
		if (cmd == SMC_NETLINK_GET_DEV_SMCR)
			put_device();
		if (cmd == SMC_NETLINK_GET_STATS)
			put_stats();
		if (cmd == SMC_NETLINK_GET_FBACK_STATS) {
			put_fallback(1, 0x03030000, 3, 1);
			put_fallback(0, 0x12345678, 9, 0);
		}
	}
	put_done();
}

ssize_t fake_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
		    socklen_t tolen)
{
	ssize_t (*real)(int fd, const void *buf, size_t len, int flags,
			const struct sockaddr *to, socklen_t tolen);
	const struct nlmsghdr *req = buf;

	*(void **)&real = dlsym(RTLD_NEXT, "sendto");
	if (!is_netlink(fd))
		return real(fd, buf, len, flags, to, tolen);
	answer_len = 0;
	answer_pos = 0;
	seq = req->nlmsg_seq;
	if (protocol_of(fd) == NETLINK_ROUTE)
		fake_route(req);
	else
		put_answer(req);
	return (ssize_t)len;
}

/* One message per call: the tool must cope with lists in many pieces. */
ssize_t fake_recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int fd, struct msghdr *msg, int flags);
	const struct nlmsghdr *nlh = (const void *)(answer + answer_pos);
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	size_t len;

	*(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
	if (!is_netlink(fd))
		return real(fd, msg, flags);
	if (answer_pos >= answer_len) {
		errno = EAGAIN;
		return -1;
	}
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
