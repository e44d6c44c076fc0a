// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink of the module, command by command: answers, refusals, and privileges. Changes the
 * user EIDs of this namespace and restores them.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/smc.h>

#include <uapi/linux/smc_own.h>

#include "lib/ktap.h"
#include "lib/testlib.h"

#ifndef SOL_SMC
#define SOL_SMC		286
#endif

#define EID_LEN		32
#define DEFAULT_EID	"SMCV2-DEFAULT-UEID"
#define PEER_NO_SMC	0x03010000
#define NOBODY		65534
#define ROUNDS		2
#define PNET_MAX	1024	/* maximum number of entries of a namespace */

static bool holds(bool ok, const char *what, int line)
{
	if (!ok)
		ktap_note("line %d: failed: %s", line, what);
	return ok;
}

#define HOLDS(expr)	holds((expr), #expr, __LINE__)

static u64 attr_num(const void *attrs, size_t len, u16 type, size_t want)
{
	size_t size;
	const void *value = tl_genl_attr(attrs, len, type, &size);
	u64 n = 0;

	if (!value || size != want)
		return ~0ULL;
	memcpy(&n, value, want);	/* hosts that run this are little-endian */
	return n;
}

static int nl_dump(u8 cmd, tl_genl_fn fn, void *arg)
{
	return tl_genl_smc(cmd, true, NULL, 0, fn, arg);
}

static int nl_send(u8 cmd)
{
	return tl_genl_smc(cmd, false, NULL, 0, NULL, NULL);
}

static int eid_order(u8 cmd, const char *eid)
{
	char padded[EID_LEN + 1];

	snprintf(padded, sizeof(padded), "%-*s", EID_LEN, eid);
	return tl_genl_smc(cmd, false, padded, sizeof(padded), NULL, NULL);
}

/* ---- system ---- */

/* The attribute is the text @want, which is not empty */
static bool attr_is_text(const void *attrs, size_t len, u16 type, const char *want)
{
	size_t size = 0;
	const char *text = tl_genl_attr(attrs, len, type, &size);

	if (!text || size < 2 || text[size - 1])
		return false;
	return !strcmp(text, want);
}

/* The module tells its version and sources as sysfs does. */
static bool info_is_own(const void *attrs, size_t len)
{
	static const char * const files[] = {
		"version", "srcversion", "parameters/name", "parameters/protocols",
		"parameters/tcp_option",
	};
	char path[64], text[5][64] = { "" };
	size_t i;
	FILE *f;

	for (i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/sys/module/smc/%s", files[i]);
		f = fopen(path, "r");
		if (!HOLDS(f && fgets(text[i], sizeof(text[i]), f)))
			return false;
		fclose(f);
		text[i][strcspn(text[i], "\n")] = '\0';
	}
	return HOLDS(!strcmp(text[2], "AF_SMC")) & HOLDS(!strcmp(text[3], "1 2.0 2.1")) &
	       HOLDS(attr_is_text(attrs, len, SMC_NETLINK_SYS_OWN_NAME, text[2])) &
	       HOLDS(attr_is_text(attrs, len, SMC_NETLINK_SYS_OWN_VERSION, text[0])) &
	       HOLDS(attr_is_text(attrs, len, SMC_NETLINK_SYS_OWN_SRCVERSION, text[1])) &
	       HOLDS(attr_is_text(attrs, len, SMC_NETLINK_SYS_OWN_PROTOCOLS, text[3])) &
	       HOLDS(attr_is_text(attrs, len, SMC_NETLINK_SYS_OWN_TCP_OPTION, text[4]));
}

static void take_info(const void *attrs, size_t len, void *arg)
{
	struct utsname uts;
	size_t size;
	const char *host;
	bool *ok = arg;

	attrs = tl_genl_attr(attrs, len, SMC_GEN_SYS_INFO, &len);
	if (!HOLDS(attrs) || !HOLDS(!uname(&uts)))
		return;
	host = tl_genl_attr(attrs, len, SMC_NLA_SYS_LOCAL_HOST, &size);
	*ok = info_is_own(attrs, len) & HOLDS(attr_num(attrs, len, SMC_NLA_SYS_VER, 1) == 2) &
	      HOLDS(attr_num(attrs, len, SMC_NLA_SYS_IS_SMCR_V2, 1) == 1) &
	      HOLDS(attr_num(attrs, len, SMC_NLA_SYS_IS_ISM_V2, 1) == 0) &
	      HOLDS(host && !strncmp(host, uts.nodename, SMC_MAX_HOSTNAME_LEN));
}

static bool sys_info(void)
{
	bool ok = false;

	return HOLDS(nl_dump(SMC_NETLINK_GET_SYS_INFO, take_info, &ok) == 1) && ok;
}

/* Without ISM there are no SMC-D objects, and the SEID cannot be switched. */
static void take_seid(const void *attrs, size_t len, void *arg)
{
	(void)attrs;
	*(bool *)arg = HOLDS(!len);
}

static bool smcd(void)
{
	bool ok = false;

	return HOLDS(nl_dump(SMC_NETLINK_GET_LGR_SMCD, NULL, NULL) == 0) &
	       HOLDS(nl_dump(SMC_NETLINK_GET_DEV_SMCD, NULL, NULL) == 0) &
	       HOLDS(nl_dump(SMC_NETLINK_DUMP_SEID, take_seid, &ok) == 1) &
	       HOLDS(nl_send(SMC_NETLINK_ENABLE_SEID) == -EOPNOTSUPP) &
	       HOLDS(nl_send(SMC_NETLINK_DISABLE_SEID) == -EOPNOTSUPP) & ok;
}

/* ---- user EIDs ---- */

struct eids {
	int n;
	char last[EID_LEN + 1];
};

static void take_eid(const void *attrs, size_t len, void *arg)
{
	const char *text = tl_genl_attr(attrs, len, SMC_NLA_EID_TABLE_ENTRY, NULL);
	struct eids *e = arg;

	e->n++;
	snprintf(e->last, sizeof(e->last), "%.*s", (int)strcspn(text ? text : "?", " "),
		 text ? text : "?");
}

/* Check that there are @n EIDs, and that the last one is @last. */
static bool eids_are(int n, const char *last)
{
	struct eids e = { 0 };

	return HOLDS(nl_dump(SMC_NETLINK_DUMP_UEID, take_eid, &e) == n) &
	       HOLDS(e.n == n && (!n || !strcmp(e.last, last)));
}

static bool ueid(void)
{
	bool ok = eids_are(1, DEFAULT_EID);

	/* the first one replaces the default */
	ok &= HOLDS(!eid_order(SMC_NETLINK_ADD_UEID, "FIRST.1")) & eids_are(1, "FIRST.1");
	ok &= HOLDS(eid_order(SMC_NETLINK_ADD_UEID, "FIRST.1") == -EEXIST);
	ok &= HOLDS(!eid_order(SMC_NETLINK_ADD_UEID, "SECOND-2")) & eids_are(2, "SECOND-2");
	ok &= HOLDS(eid_order(SMC_NETLINK_ADD_UEID, "lower") == -EINVAL);
	ok &= HOLDS(nl_send(SMC_NETLINK_ADD_UEID) == -EINVAL);
	ok &= HOLDS(nl_send(SMC_NETLINK_REMOVE_UEID) == -EINVAL);
	ok &= HOLDS(tl_genl_smc(SMC_NETLINK_ADD_UEID, false, "SHORT", 6, NULL, NULL) == -EINVAL);
	ok &= HOLDS(!eid_order(SMC_NETLINK_REMOVE_UEID, "SECOND-2")) & eids_are(1, "FIRST.1");
	ok &= HOLDS(eid_order(SMC_NETLINK_REMOVE_UEID, "SECOND-2") == -ENOENT);
	ok &= HOLDS(!nl_send(SMC_NETLINK_FLUSH_UEID)) & eids_are(0, NULL);
	ok &= HOLDS(!eid_order(SMC_NETLINK_ADD_UEID, DEFAULT_EID)) & eids_are(1, DEFAULT_EID);
	return ok;
}

/* ---- handshake limitation ---- */

static void take_limit(const void *attrs, size_t len, void *arg)
{
	*(u64 *)arg = attr_num(attrs, len, SMC_NLA_HS_LIMITATION_ENABLED, 1);
}

/* Read the administrator's setting. */
static u64 limit_file(void)
{
	FILE *f = fopen("/proc/sys/net/smc/limit_smc_hs", "re");
	unsigned int value = ~0u;

	if (f && fscanf(f, "%u", &value) != 1)
		value = ~0u;
	if (f)
		fclose(f);
	return value;
}

static bool limit_file_set(u64 value)
{
	FILE *f = fopen("/proc/sys/net/smc/limit_smc_hs", "we");
	bool ok = f && fprintf(f, "%u", (unsigned int)value) > 0;

	return f && !fclose(f) && ok;
}

static u64 limit_of_socket(void)
{
	int fd = socket(AF_SMC, SOCK_STREAM, 0);
	socklen_t len = sizeof(int);
	int value = -1;

	if (fd >= 0) {
		getsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &value, &len);
		close(fd);
	}
	return value;
}

static bool limit_is(u64 want)
{
	u64 is = ~0ULL;

	return HOLDS(nl_dump(SMC_NETLINK_DUMP_HS_LIMITATION, take_limit, &is) == 1) &
	       HOLDS(is == want) & HOLDS(limit_file() == want) & HOLDS(limit_of_socket() == want);
}

static bool hs_limit(void)
{
	bool ok = limit_is(0);

	ok &= HOLDS(!nl_send(SMC_NETLINK_ENABLE_HS_LIMITATION)) & limit_is(1);
	ok &= HOLDS(!nl_send(SMC_NETLINK_DISABLE_HS_LIMITATION)) & limit_is(0);
	ok &= HOLDS(limit_file_set(1)) & limit_is(1);
	ok &= HOLDS(limit_file_set(0)) & limit_is(0);
	return ok;
}

/* ---- fallback reasons ---- */

struct fbacks {
	int sums;
	u64 clients;
	u64 count;
};

static void take_fback(const void *attrs, size_t len, void *arg)
{
	struct fbacks *f = arg;

	attrs = tl_genl_attr(attrs, len, SMC_GEN_FBACK_STATS, &len);
	if (!HOLDS(attrs))
		return;
	if (tl_genl_attr(attrs, len, SMC_NLA_FBACK_STATS_CLNT_CNT, NULL)) {
		f->sums++;
		f->clients = attr_num(attrs, len, SMC_NLA_FBACK_STATS_CLNT_CNT, 8);
	}
	if (attr_num(attrs, len, SMC_NLA_FBACK_STATS_TYPE, 1) == 0 &&
	    attr_num(attrs, len, SMC_NLA_FBACK_STATS_RSN_CODE, 4) == PEER_NO_SMC) {
		f->count = attr_num(attrs, len, SMC_NETLINK_FBACK_STATS_OWN_COUNT, 8);
		HOLDS(attr_num(attrs, len, SMC_NLA_FBACK_STATS_RSN_CNT, 2) ==
		      (f->count < 65535 ? f->count : 65535));
	}
}

/* Connect to a server on this host that does not use SMC. */
static bool fall_back(void)
{
	const struct tl_proto *tcp = tl_proto_find("inet"), *smc = tl_proto_find("smc");
	struct tl_addr at;
	int listener, fd;

	if (tl_addr_parse(&at, tcp, "127.0.0.1", 0))
		return false;
	listener = tl_listen(tcp, &at, 4);
	fd = listener < 0 ? -1 : tl_connect(smc, NULL, &at);
	if (fd >= 0)
		close(fd);
	if (listener >= 0)
		close(listener);
	return fd >= 0;
}

static bool fback(void)
{
	struct fbacks before = { 0 }, after = { 0 };
	int i;

	if (!HOLDS(nl_dump(SMC_NETLINK_GET_FBACK_STATS, take_fback, &before) >= 0))
		return false;
	for (i = 0; i < ROUNDS; i++)
		if (!HOLDS(fall_back()))
			return false;
	return HOLDS(nl_dump(SMC_NETLINK_GET_FBACK_STATS, take_fback, &after) >= 1) &
	       HOLDS(after.sums == 1) & HOLDS(after.clients == before.clients + ROUNDS) &
	       HOLDS(after.count == before.count + ROUNDS);
}

/* ---- events ---- */

struct fback_event {
	u64 role, own, peer, port;
};

static void take_event(const void *attrs, size_t len, void *arg)
{
	struct fback_event *e = arg;

	e->role = attr_num(attrs, len, SMC_NETLINK_EV_ROLE, 1);
	e->own = attr_num(attrs, len, SMC_NETLINK_EV_OWN_RSN, 4);
	e->peer = attr_num(attrs, len, SMC_NETLINK_EV_PEER_RSN, 4);
	e->port = attr_num(attrs, len, SMC_NETLINK_EV_LOCAL_PORT, 2);
}

/* One fallback: a listener of its multicast group is notified, a listener of the other is not. */
static bool events(void)
{
	int nl = tl_genl_join("fallbacks"), other = tl_genl_join("events");
	struct fback_event e = { 0 };
	bool ok;
	char c;

	ok = HOLDS(nl >= 0 && other >= 0) && HOLDS(fall_back()) &&
	     HOLDS(tl_genl_event(nl, take_event, &e) == SMC_NETLINK_OWN_EV_FBACK) &&
	     HOLDS(!e.role && e.own == PEER_NO_SMC && !e.peer && e.port >= 1024) &&
	     HOLDS(recv(nl, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) &&
	     HOLDS(recv(other, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	if (nl >= 0)
		close(nl);
	if (other >= 0)
		close(other);
	return ok;
}

/* ---- the administrator's commands ---- */

#define NO_COMMAND	159	/* between our own commands and the events */

/* The group is the first attribute of all of them; the EID attribute has the same number. */
static int group_order(u8 cmd, u32 id, size_t size)
{
	return tl_genl_smc(cmd, false, (const char *)&id, size, NULL, NULL);
}

/* links.sh tests what needs a group with two links. */
static bool orders(void)
{
	return HOLDS(nl_send(SMC_NETLINK_OWN_ADD_LINK) == -EINVAL) &
	       HOLDS(nl_send(SMC_NETLINK_OWN_DEL_LINK) == -EINVAL) &
	       HOLDS(nl_send(SMC_NETLINK_OWN_DEL_LGR) == -EINVAL) &
	       HOLDS(group_order(SMC_NETLINK_OWN_ADD_LINK, 7, 4) == -ENOENT) &
	       HOLDS(group_order(SMC_NETLINK_OWN_DEL_LGR, 7, 4) == -ENOENT) &
	       HOLDS(group_order(SMC_NETLINK_OWN_DEL_LINK, 7, 4) == -EINVAL) &
	       HOLDS(group_order(SMC_NETLINK_OWN_ADD_LINK, 7, 2) < 0) &
	       HOLDS(nl_send(NO_COMMAND) == -EOPNOTSUPP);
}

/* ---- groups, links, devices ---- */

/* newer than the oldest headers */
#define NLA_LGR_R_SNDBUF_ALLOC		12
#define NLA_LGR_R_RMB_ALLOC		13
#define NLA_STATS_T_RX_RMB_USAGE	20
#define NLA_STATS_T_TX_RMB_USAGE	21

#define LINK_ACTIVE		3

static const char *own_address;

/**
 * struct links - groups and links with one open connection of this host with itself
 * @groups: groups of this connection: one as client, one as server
 * @links: their links
 * @in_group: the last group was one of them, its links follow
 * @uid: link user IDs of both links
 * @peer_uid: link user IDs of their peers
 * @ok: no check has failed so far
 */
struct links {
	int groups;
	int links;
	bool in_group;
	u64 uid[2];
	u64 peer_uid[2];
	bool ok;
};

static void take_group(struct links *l, const void *attrs, size_t len)
{
	l->in_group = attr_num(attrs, len, SMC_NLA_LGR_R_CONNS_NUM, 4) == 1;
	if (!l->in_group)
		return;
	l->groups++;
	l->ok &= HOLDS((attr_num(attrs, len, SMC_NLA_LGR_R_ID, 4) & 0xff) == 0) &
		 HOLDS(attr_num(attrs, len, SMC_NLA_LGR_R_ROLE, 1) <= 1) &
		 HOLDS(attr_num(attrs, len, SMC_NLA_LGR_R_TYPE, 1) == 1) &
		 HOLDS(attr_num(attrs, len, NLA_LGR_R_RMB_ALLOC, 4) >= 16384) &
		 HOLDS(attr_num(attrs, len, NLA_LGR_R_SNDBUF_ALLOC, 4) >= 16384);
}

/* Both ends of a link are on the same RNIC here. */
static void take_link(const void *attrs, size_t len, void *arg)
{
	const char *dev, *gid, *peer_gid;
	size_t nest_len, size;
	struct links *l = arg;
	const void *nest;

	nest = tl_genl_attr(attrs, len, SMC_GEN_LGR_SMCR, &nest_len);
	if (nest)
		take_group(l, nest, nest_len);
	nest = tl_genl_attr(attrs, len, SMC_GEN_LINK_SMCR, &nest_len);
	if (!nest || !l->in_group || !HOLDS(l->links < 2))
		return;
	dev = tl_genl_attr(nest, nest_len, SMC_NLA_LINK_IB_DEV, NULL);
	gid = tl_genl_attr(nest, nest_len, SMC_NLA_LINK_GID, &size);
	peer_gid = tl_genl_attr(nest, nest_len, SMC_NLA_LINK_PEER_GID, NULL);
	l->ok &= HOLDS(dev && !strcmp(dev, "rxe0")) &
		 HOLDS(gid && size == 40 && peer_gid && !strcmp(gid, peer_gid)) &
		 HOLDS(attr_num(nest, nest_len, SMC_NLA_LINK_ID, 1) == 1) &
		 HOLDS(attr_num(nest, nest_len, SMC_NLA_LINK_IB_PORT, 1) == 1) &
		 HOLDS(attr_num(nest, nest_len, SMC_NLA_LINK_CONN_CNT, 4) == 1) &
		 HOLDS(attr_num(nest, nest_len, SMC_NLA_LINK_NET_DEV, 4) == if_nametoindex("lo")) &
		 HOLDS(attr_num(nest, nest_len, SMC_NLA_LINK_STATE, 4) == LINK_ACTIVE);
	l->uid[l->links] = attr_num(nest, nest_len, SMC_NLA_LINK_UID, 4);
	l->peer_uid[l->links++] = attr_num(nest, nest_len, SMC_NLA_LINK_PEER_UID, 4);
}

static void take_device(const void *attrs, size_t len, void *arg)
{
	const char *name;
	bool *ok = arg;

	attrs = tl_genl_attr(attrs, len, SMC_GEN_DEV_SMCR, &len);
	name = tl_genl_attr(attrs, len, SMC_NLA_DEV_IB_NAME, NULL);
	if (!HOLDS(name && !strcmp(name, "rxe0")) ||
	    !HOLDS(attr_num(attrs, len, SMC_NLA_DEV_IS_CRIT, 1) == 1) ||
	    !HOLDS(!tl_genl_attr(attrs, len, SMC_NLA_DEV_PORT2, NULL)))
		return;
	attrs = tl_genl_attr(attrs, len, SMC_NLA_DEV_PORT, &len);
	*ok = HOLDS(attr_num(attrs, len, SMC_NLA_DEV_PORT_VALID, 1) == 1) &
	      HOLDS(attr_num(attrs, len, SMC_NLA_DEV_PORT_STATE, 1) == 1) &
	      HOLDS(attr_num(attrs, len, SMC_NLA_DEV_PORT_PNET_USR, 1) == 0) &
	      HOLDS(attr_num(attrs, len, SMC_NLA_DEV_PORT_NETDEV, 4) == if_nametoindex("lo")) &
	      HOLDS(attr_num(attrs, len, SMC_NLA_DEV_PORT_LNK_CNT, 4) >= 2);
}

/* Our own tables in SMC_GEN_STATS: u64 attributes from 1 on */
#define CLC_TYPES	4
#define LLC_TYPES	10
#define HS_TIMES	16
#define MEMS		4	/* send rings; RMBEs: in use, pooled, quarantined */

/**
 * struct stats - statistics that the case checks
 * @sent: bytes
 * @received: bytes
 * @calls: send calls of at most 8 KiB
 * @big: larger send calls, of at most 16 KiB
 * @conns: client and server handshakes of version 2
 * @sizes: RMBEs of new connections
 * @memory: bytes of RMBs
 * @send_memory: bytes of send rings
 * @clc: messages by type, sent and received
 * @llc: sums of messages, likewise
 * @times: handshakes, of clients and servers
 * @now: memory by kind
 * @peak: maximum, likewise
 */
struct stats {
	u64 clc[2][CLC_TYPES], llc[2], times[2], now[MEMS], peak[MEMS];
	u64 sent, received, calls, big, conns, sizes, memory, send_memory;
};

static u64 sum_of(const void *attrs, size_t len, u16 table)
{
	u64 sum = 0;
	int i;

	attrs = tl_genl_attr(attrs, len, table, &len);
	for (i = SMC_NLA_STATS_PLOAD_8K; attrs && i <= SMC_NLA_STATS_PLOAD_G_1024K; i++)
		sum += attr_num(attrs, len, i, 8);
	return attrs ? sum : ~0ULL;
}

static bool take_table(const void *attrs, size_t len, u16 table, int n, u64 *values)
{
	int i;

	attrs = tl_genl_attr(attrs, len, table, &len);
	for (i = 0; attrs && i < n; i++)
		values[i] = attr_num(attrs, len, i + 1, 8);
	return HOLDS(attrs) && HOLDS(values[n - 1] != ~0ULL) &&
	       HOLDS(!tl_genl_attr(attrs, len, n + 1, NULL));
}

static u64 sum_values(const u64 *values, int n)
{
	u64 sum = 0;

	while (n--)
		sum += values[n];
	return sum;
}

static bool take_own(const void *attrs, size_t len, struct stats *s)
{
	u64 llc[LLC_TYPES], times[HS_TIMES];
	bool ok = take_table(attrs, len, SMC_NETLINK_STATS_OWN_CLC_TX, CLC_TYPES, s->clc[0]) &
		  take_table(attrs, len, SMC_NETLINK_STATS_OWN_CLC_RX, CLC_TYPES, s->clc[1]) &
		  take_table(attrs, len, SMC_NETLINK_STATS_OWN_MEM_NOW, MEMS, s->now) &
		  take_table(attrs, len, SMC_NETLINK_STATS_OWN_MEM_PEAK, MEMS, s->peak);
	int i;

	for (i = 0; i < 2; i++) {
		ok &= take_table(attrs, len, SMC_NETLINK_STATS_OWN_LLC_TX + i, LLC_TYPES, llc);
		s->llc[i] = sum_values(llc, LLC_TYPES);
		ok &= take_table(attrs, len, SMC_NETLINK_STATS_OWN_HS_CLNT + i, HS_TIMES, times);
		s->times[i] = sum_values(times, HS_TIMES);
	}
	return ok;
}

static void take_stats(const void *attrs, size_t len, void *arg)
{
	struct stats *s = arg;
	const void *tx;
	size_t tx_len;

	attrs = tl_genl_attr(attrs, len, SMC_GEN_STATS, &len);
	if (!HOLDS(attrs && tl_genl_attr(attrs, len, SMC_NLA_STATS_SMCD_TECH, NULL)) ||
	    !HOLDS(attr_num(attrs, len, SMC_NLA_STATS_CLNT_HS_ERR_CNT, 8) == 0) ||
	    !take_own(attrs, len, s))
		return;
	attrs = tl_genl_attr(attrs, len, SMC_NLA_STATS_SMCR_TECH, &len);
	tx = tl_genl_attr(attrs, len, SMC_NLA_STATS_T_TXPLOAD_SIZE, &tx_len);
	if (!HOLDS(attrs && tx))
		return;
	s->sent = attr_num(attrs, len, SMC_NLA_STATS_T_TX_BYTES, 8);
	s->received = attr_num(attrs, len, SMC_NLA_STATS_T_RX_BYTES, 8);
	s->calls = attr_num(tx, tx_len, SMC_NLA_STATS_PLOAD_8K, 8);
	s->big = attr_num(tx, tx_len, SMC_NLA_STATS_PLOAD_16K, 8);
	s->conns = attr_num(attrs, len, SMC_NLA_STATS_T_CLNT_V2_SUCC, 8) +
		   attr_num(attrs, len, SMC_NLA_STATS_T_SRV_V2_SUCC, 8);
	s->sizes = sum_of(attrs, len, SMC_NLA_STATS_T_RX_RMB_SIZE);
	s->memory = attr_num(attrs, len, NLA_STATS_T_RX_RMB_USAGE, 4);
	s->send_memory = attr_num(attrs, len, NLA_STATS_T_TX_RMB_USAGE, 4);
}

/* Read a counter of /proc/net/smc_stat. */
static u64 counter_read(const char *want)
{
	FILE *f = fopen("/proc/net/smc_stat", "re");
	unsigned long long value, found = ~0ULL;
	char name[64];

	while (f && fscanf(f, "%63s %llu", name, &value) == 2)
		if (!strcmp(name, want))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* Idle links exchange TEST LINK in the meantime, so check only bounds. */
static bool llc_sums(void)
{
	u64 sent = counter_read("tx_llc"), received = counter_read("rx_llc");
	struct stats now = { 0 };

	return HOLDS(nl_dump(SMC_NETLINK_GET_STATS, take_stats, &now) == 1) &&
	       HOLDS(sent <= now.llc[0] && now.llc[0] <= counter_read("tx_llc")) &&
	       HOLDS(received <= now.llc[1] + counter_read("rx_llc_bad")) &&
	       HOLDS(now.llc[1] + counter_read("rx_llc_bad") <= counter_read("rx_llc"));
}

/* Wait until the connections of other cases are closed. */
static bool stats_settle(struct stats *s)
{
	int tries = 100;

	do {
		*s = (struct stats){ 0 };
		if (nl_dump(SMC_NETLINK_GET_STATS, take_stats, s) != 1)
			return false;
		usleep(50000);
	} while (s->now[1] && --tries);
	return !s->now[1];
}

/* One handshake with itself, in new or existing groups. */
static bool own_stats(const struct stats *before, const struct stats *after)
{
	bool ok = true;
	int way, type;

	for (way = 0; way < 2; way++) {
		for (type = 0; type < CLC_TYPES; type++)
			ok &= HOLDS(after->clc[way][type] - before->clc[way][type] ==
				    (type < CLC_TYPES - 1));
		ok &= HOLDS(after->times[way] - before->times[way] == 1);
	}
	ok &= HOLDS(after->llc[0] > 0 && after->llc[1] > 0) & llc_sums() &
	      HOLDS(after->times[0] == counter_read("clnt_smc")) &
	      HOLDS(after->times[1] == counter_read("srv_smc"));
	/* an RMBE at either end; the parts of RMBs add up to their memory */
	ok &= HOLDS(after->now[1] - before->now[1] == 2 * 65536) &
	      HOLDS(sum_values(after->now + 1, MEMS - 1) == after->memory) &
	      HOLDS(after->now[0] == after->send_memory) & HOLDS(after->now[3] == 0);
	for (type = 0; type < MEMS; type++)
		ok &= HOLDS(after->peak[type] >= after->now[type]) &
		      HOLDS(after->peak[type] >= before->peak[type]);
	return ok & HOLDS(counter_read("wr_posts") >= counter_read("wr_done")) &
	       HOLDS(counter_read("wr_done") > 0) & HOLDS(counter_read("wakeups") > 0) &
	       HOLDS(counter_read("hs_reset") == 0);
}

/* One connection with itself, three messages: every number changes accordingly. */
static bool stats(void)
{
	static char buf[10000], got[10000];
	static const size_t sizes[] = { 1, 8192, 10000 };
	const struct tl_proto *smc = tl_proto_find("smc");
	struct stats before = { 0 }, after = { 0 };
	int listener, fd, child;
	struct tl_addr at;
	bool ok;

	if (!HOLDS(!tl_addr_parse(&at, smc, own_address, 0)))
		return false;
	ok = HOLDS(stats_settle(&before));
	listener = tl_listen(smc, &at, 4);
	fd = listener < 0 ? -1 : tl_connect(smc, NULL, &at);
	child = fd < 0 ? -1 : accept(listener, NULL, NULL);
	ok &= HOLDS(child >= 0);
	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(sizes); i++)
		ok = HOLDS(send(fd, buf, sizes[i], 0) == (ssize_t)sizes[i]) &&
		     HOLDS(tl_recv_all(child, got, sizes[i]) == (ssize_t)sizes[i]);
	ok &= HOLDS(nl_dump(SMC_NETLINK_GET_STATS, take_stats, &after) == 1);
	ok &= HOLDS(after.sent - before.sent == 18193) &
	      HOLDS(after.received - before.received == 18193) &
	      HOLDS(after.calls - before.calls == 2) & HOLDS(after.big - before.big == 1) &
	      HOLDS(after.conns - before.conns == 2) & HOLDS(after.sizes - before.sizes == 2) &
	      HOLDS(after.memory >= 65536) & own_stats(&before, &after);
	if (child >= 0)
		close(child);
	if (fd >= 0)
		close(fd);
	if (listener >= 0)
		close(listener);
	return ok;
}

static bool with_connection(void)
{
	struct links groups = { .ok = true }, links = { .ok = true };
	bool dev_ok = false, ok;

	ok = HOLDS(nl_dump(SMC_NETLINK_GET_LGR_SMCR, take_link, &groups) >= 2) &
	     HOLDS(groups.groups == 2 && !groups.links) & groups.ok;
	ok &= HOLDS(nl_dump(SMC_NETLINK_GET_LINK_SMCR, take_link, &links) >= 4) &
	      HOLDS(links.groups == 2 && links.links == 2) & links.ok;
	ok &= HOLDS(links.uid[0] && links.uid[0] == links.peer_uid[1]) &
	      HOLDS(links.uid[1] && links.uid[1] == links.peer_uid[0]);
	ok &= HOLDS(nl_dump(SMC_NETLINK_GET_DEV_SMCR, take_device, &dev_ok) == 1) & dev_ok;
	return ok;
}

static bool objects(void)
{
	const struct tl_proto *smc = tl_proto_find("smc");
	int listener, fd, child;
	struct tl_addr at;
	bool ok = false;

	if (!HOLDS(!tl_addr_parse(&at, smc, own_address, 0)))
		return false;
	listener = tl_listen(smc, &at, 4);
	fd = listener < 0 ? -1 : tl_connect(smc, NULL, &at);
	child = fd < 0 ? -1 : accept(listener, NULL, NULL);
	if (HOLDS(child >= 0))
		ok = with_connection();
	if (child >= 0)
		close(child);
	if (fd >= 0)
		close(fd);
	if (listener >= 0)
		close(listener);
	return ok;
}

/* ---- PNET IDs ---- */

struct pnets {
	int n;
	bool ok;
	char last[64];	/* "ID eth ib port" */
};

/* Programs of the in-tree module rely on all four attributes. */
static void take_pnet(const void *attrs, size_t len, void *arg)
{
	const char *id = tl_genl_attr(attrs, len, SMC_PNETID_NAME, NULL);
	const char *eth = tl_genl_attr(attrs, len, SMC_PNETID_ETHNAME, NULL);
	const char *ib = tl_genl_attr(attrs, len, SMC_PNETID_IBNAME, NULL);
	struct pnets *p = arg;

	p->n++;
	p->ok &= HOLDS(id && eth && ib);
	if (p->ok)
		snprintf(p->last, sizeof(p->last), "%.16s %.15s %.15s %u", id, eth, ib,
			 (unsigned int)attr_num(attrs, len, SMC_PNETID_IBPORT, 1));
}

static int pnet_send(u8 cmd, const char *id, const char *eth, const char *ib, unsigned int port)
{
	const struct tl_pnet entry = { id, eth, ib, port };

	return tl_genl_pnet(cmd, NLM_F_ACK, &entry, NULL, NULL);
}

/* Check that there are @n entries (of @id, if not NULL), and that the last one is @last. */
static bool pnets_are(const char *id, int n, const char *last)
{
	const struct tl_pnet entry = { .id = id };
	struct pnets p = { .ok = true };

	return HOLDS(tl_genl_pnet(SMC_PNETID_GET, id ? 0 : NLM_F_DUMP, &entry, take_pnet,
				  &p) == n) &
	       HOLDS(p.ok) & HOLDS(p.n == n && (!n || !strcmp(p.last, last)));
}

static bool pnet_names(void)
{
	static const char * const bad[] = {
		"", " ", "ABCDEFGHIJKLMNOPQ", "A.B", "A B", "A-", "\303\244", "\344",
	};
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(bad); i++)
		ok &= HOLDS(pnet_send(SMC_PNETID_ADD, bad[i], "lo", NULL, 0) < 0);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, NULL, "lo", NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "A", "", NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "A", "a/b", NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "A", NULL, "", 0) == -EINVAL);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "A", "lo", "rxe9", 3) == -EINVAL);
	ok &= HOLDS(pnet_send(SMC_PNETID_GET, NULL, NULL, NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet_send(SMC_PNETID_GET, "A.B", NULL, NULL, 0) == -EINVAL);
	return ok & pnets_are(NULL, 0, NULL);
}

static bool pnet_table(void)
{
	bool ok = HOLDS(!pnet_send(SMC_PNETID_ADD, " net1 ", "lo", "rxe9", 0));

	ok &= pnets_are(NULL, 2, "NET1 n/a rxe9 1") & pnets_are("net1", 2, "NET1 n/a rxe9 1");
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NET1", "lo", NULL, 0) == -EEXIST);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NET2", "lo", NULL, 0) == -EEXIST);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NET2", NULL, "rxe9", 1) == -EEXIST);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NET2", "later9", "rxe9", 1) == -EEXIST);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NET2", NULL, NULL, 0) == -EEXIST);
	ok &= pnets_are(NULL, 2, "NET1 n/a rxe9 1");
	/* known names together with a new one are no error */
	ok &= HOLDS(!pnet_send(SMC_PNETID_ADD, "NET1", "later9", "rxe9", 1));
	ok &= HOLDS(!pnet_send(SMC_PNETID_ADD, "NET2", NULL, "rxe9", 2));
	ok &= pnets_are(NULL, 4, "NET2 n/a rxe9 2") & pnets_are("NET1", 3, "NET1 later9 n/a 255");
	ok &= pnets_are("NET3", 0, NULL);
	ok &= HOLDS(!pnet_send(SMC_PNETID_DEL, "net1", NULL, NULL, 0));
	ok &= pnets_are(NULL, 1, "NET2 n/a rxe9 2");
	ok &= HOLDS(pnet_send(SMC_PNETID_DEL, "NET1", NULL, NULL, 0) == -ENOENT);
	ok &= HOLDS(pnet_send(SMC_PNETID_DEL, NULL, NULL, NULL, 0) == -EINVAL);
	ok &= HOLDS(!pnet_send(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0)) & pnets_are(NULL, 0, NULL);
	return ok & HOLDS(!pnet_send(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0));
}

/* More entries than one message holds, listed in the order of their creation; then no more. */
static bool pnet_many(void)
{
	char name[16], last[64];
	bool ok = true;
	int i;

	for (i = 0; i < PNET_MAX && ok; i++) {
		snprintf(name, sizeof(name), "later%d", i);
		ok = HOLDS(!pnet_send(SMC_PNETID_ADD, "NET1", name, NULL, 0));
	}
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NET1", "onemore", NULL, 0) == -ENOSPC);
	snprintf(last, sizeof(last), "NET1 later%d n/a 255", PNET_MAX - 1);
	ok &= pnets_are(NULL, PNET_MAX, last);
	return HOLDS(!pnet_send(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0)) & ok;
}

/* ---- rules: requests that smcctl does not send ---- */

static bool rules(void)
{
	return HOLDS(nl_send(SMC_NETLINK_OWN_ADD_RULE) == -EINVAL) &
	       HOLDS(nl_send(SMC_NETLINK_OWN_DEL_RULE) == -EINVAL) &
	       HOLDS(group_order(SMC_NETLINK_OWN_ADD_RULE, 7, 4) == -EINVAL) &
	       HOLDS(group_order(SMC_NETLINK_OWN_DEL_RULE, 7, 4) == -ENOENT) &
	       HOLDS(group_order(SMC_NETLINK_OWN_DEL_RULE, 0, 4) == -ERANGE) &
	       HOLDS(group_order(SMC_NETLINK_OWN_DEL_RULE, 7, 2) < 0) &
	       HOLDS(nl_dump(SMC_NETLINK_OWN_GET_RULES, NULL, NULL) == 0) &
	       HOLDS(!nl_send(SMC_NETLINK_OWN_FLUSH_RULES));
}

/* ---- rights ---- */

/* Every user may query, only the administrator may change. */
static bool check_unprivileged(void)
{
	static const u8 cmds[] = {
		SMC_NETLINK_FLUSH_UEID, SMC_NETLINK_ENABLE_SEID, SMC_NETLINK_DISABLE_SEID,
		SMC_NETLINK_ENABLE_HS_LIMITATION, SMC_NETLINK_DISABLE_HS_LIMITATION,
		SMC_NETLINK_OWN_ADD_LINK, SMC_NETLINK_OWN_DEL_LINK, SMC_NETLINK_OWN_DEL_LGR,
		SMC_NETLINK_OWN_ADD_RULE, SMC_NETLINK_OWN_DEL_RULE, SMC_NETLINK_OWN_FLUSH_RULES,
	};
	bool ok = HOLDS(!setuid(NOBODY));

	for (size_t i = 0; i < TL_ARRAY_SIZE(cmds); i++)
		ok &= HOLDS(nl_send(cmds[i]) == -EPERM);
	ok &= HOLDS(eid_order(SMC_NETLINK_ADD_UEID, "NOBODY") == -EPERM);
	ok &= HOLDS(eid_order(SMC_NETLINK_REMOVE_UEID, DEFAULT_EID) == -EPERM);
	ok &= HOLDS(pnet_send(SMC_PNETID_ADD, "NOBODY", "lo", NULL, 0) == -EPERM);
	ok &= HOLDS(pnet_send(SMC_PNETID_DEL, "NOBODY", NULL, NULL, 0) == -EPERM);
	ok &= HOLDS(pnet_send(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0) == -EPERM);
	return ok & eids_are(1, DEFAULT_EID) & limit_is(0) & pnets_are(NULL, 0, NULL) & events();
}

static bool rights(void)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = check_unprivileged() ? 0 : 1;
		fflush(stdout);
		_exit(status);
	}
	return HOLDS(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}

/* For fault sites: print the number of entries of an ID, or the error of the query. */
static int pnet_print(const char *id)
{
	const struct tl_pnet entry = { .id = id };
	struct pnets p = { .ok = true };
	int n = tl_genl_pnet(SMC_PNETID_GET, 0, &entry, take_pnet, &p);

	if (n < 0)
		printf("%s\n", tl_errno_name(-n));
	else
		printf("%d\n", n);
	return n < 0 || !p.ok;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*fn)(void);
	} rows[] = {
		{ "sys_info", sys_info }, { "smcd", smcd }, { "ueid", ueid },
		{ "hs_limit", hs_limit }, { "fback", fback }, { "events", events },
		{ "objects", objects }, { "orders", orders }, { "stats", stats },
		{ "pnet_names", pnet_names }, { "pnet_table", pnet_table },
		{ "pnet_many", pnet_many }, { "rules", rules }, { "rights", rights },
	};
	struct ktap ktap = { 0 };

	if (argc == 2 && !strcmp(argv[1], "fallback"))
		return !fall_back();
	if (argc == 3 && !strcmp(argv[1], "pnet"))
		return pnet_print(argv[2]);
	if (argc != 2) {
		fprintf(stderr, "usage: smc_netlink ADDRESS (of this host, with RDMA to itself)\n"
			"       smc_netlink fallback\n"
			"       smc_netlink pnet ID\n");
		return KTAP_FAIL;
	}
	own_address = argv[1];
	ktap_plan(TL_ARRAY_SIZE(rows));
	for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++)
		ktap_result(&ktap, rows[i].fn(), rows[i].name);
	return ktap.failed ? KTAP_FAIL : KTAP_PASS;
}
