// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink of our module, command by command: what it answers, what it refuses, and
 * to whom. Changes the user EIDs of this namespace and ends with those it began with.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/smc.h>

#include "ktap.h"
#include "testlib.h"

#define EID_LEN		32
#define DEFAULT_EID	"SMCV2-DEFAULT-UEID"
#define PEER_NO_SMC	0x03010000
#define NOBODY		65534
#define ROUNDS		2
#define PNET_MAX	1024	/* entries in the table of a namespace */

static bool holds(bool ok, const char *what, int line)
{
	if (!ok)
		ktap_note("line %d: not so: %s", line, what);
	return ok;
}

#define HOLDS(expr)	holds((expr), #expr, __LINE__)

static u64 number(const void *attrs, size_t len, u16 type, size_t want)
{
	size_t size;
	const void *value = tl_genl_attr(attrs, len, type, &size);
	u64 n = 0;

	if (!value || size != want)
		return ~0ULL;
	memcpy(&n, value, want);	/* hosts that run this are little-endian */
	return n;
}

static int dump(u8 cmd, tl_genl_fn fn, void *arg)
{
	return tl_genl_smc(cmd, true, NULL, 0, fn, arg);
}

static int order(u8 cmd)
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
	*ok = HOLDS(number(attrs, len, SMC_NLA_SYS_VER, 1) == 2) &
	      HOLDS(number(attrs, len, SMC_NLA_SYS_IS_SMCR_V2, 1) == 1) &
	      HOLDS(number(attrs, len, SMC_NLA_SYS_IS_ISM_V2, 1) == 0) &
	      HOLDS(host && !strncmp(host, uts.nodename, SMC_MAX_HOSTNAME_LEN));
}

static bool sys_info(void)
{
	bool ok = false;

	return HOLDS(dump(SMC_NETLINK_GET_SYS_INFO, take_info, &ok) == 1) && ok;
}

/* Without ISM there are no SMC-D objects, and no SEID to be switched. */
static void take_seid(const void *attrs, size_t len, void *arg)
{
	(void)attrs;
	*(bool *)arg = HOLDS(!len);
}

static bool smcd(void)
{
	bool ok = false;

	return HOLDS(dump(SMC_NETLINK_GET_LGR_SMCD, NULL, NULL) == 0) &
	       HOLDS(dump(SMC_NETLINK_GET_DEV_SMCD, NULL, NULL) == 0) &
	       HOLDS(dump(SMC_NETLINK_DUMP_SEID, take_seid, &ok) == 1) &
	       HOLDS(order(SMC_NETLINK_ENABLE_SEID) == -EOPNOTSUPP) &
	       HOLDS(order(SMC_NETLINK_DISABLE_SEID) == -EOPNOTSUPP) & ok;
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

/* There are @n, the last one is @last. */
static bool eids_are(int n, const char *last)
{
	struct eids e = { 0 };

	return HOLDS(dump(SMC_NETLINK_DUMP_UEID, take_eid, &e) == n) &
	       HOLDS(e.n == n && (!n || !strcmp(e.last, last)));
}

static bool ueid(void)
{
	bool ok = eids_are(1, DEFAULT_EID);

	/* the first one takes the place of the default */
	ok &= HOLDS(!eid_order(SMC_NETLINK_ADD_UEID, "FIRST.1")) & eids_are(1, "FIRST.1");
	ok &= HOLDS(eid_order(SMC_NETLINK_ADD_UEID, "FIRST.1") == -EEXIST);
	ok &= HOLDS(!eid_order(SMC_NETLINK_ADD_UEID, "SECOND-2")) & eids_are(2, "SECOND-2");
	ok &= HOLDS(eid_order(SMC_NETLINK_ADD_UEID, "lower") == -EINVAL);
	ok &= HOLDS(order(SMC_NETLINK_ADD_UEID) == -EINVAL);
	ok &= HOLDS(order(SMC_NETLINK_REMOVE_UEID) == -EINVAL);
	ok &= HOLDS(tl_genl_smc(SMC_NETLINK_ADD_UEID, false, "SHORT", 6, NULL, NULL) == -EINVAL);
	ok &= HOLDS(!eid_order(SMC_NETLINK_REMOVE_UEID, "SECOND-2")) & eids_are(1, "FIRST.1");
	ok &= HOLDS(eid_order(SMC_NETLINK_REMOVE_UEID, "SECOND-2") == -ENOENT);
	ok &= HOLDS(!order(SMC_NETLINK_FLUSH_UEID)) & eids_are(0, NULL);
	ok &= HOLDS(!eid_order(SMC_NETLINK_ADD_UEID, DEFAULT_EID)) & eids_are(1, DEFAULT_EID);
	return ok;
}

/* ---- handshake limitation ---- */

static void take_limit(const void *attrs, size_t len, void *arg)
{
	*(u64 *)arg = number(attrs, len, SMC_NLA_HS_LIMITATION_ENABLED, 1);
}

static bool limit_is(u64 want)
{
	u64 is = ~0ULL;

	return HOLDS(dump(SMC_NETLINK_DUMP_HS_LIMITATION, take_limit, &is) == 1) &
	       HOLDS(is == want);
}

static bool hs_limit(void)
{
	bool ok = limit_is(0);

	ok &= HOLDS(!order(SMC_NETLINK_ENABLE_HS_LIMITATION)) & limit_is(1);
	ok &= HOLDS(!order(SMC_NETLINK_DISABLE_HS_LIMITATION)) & limit_is(0);
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
		f->clients = number(attrs, len, SMC_NLA_FBACK_STATS_CLNT_CNT, 8);
	}
	if (number(attrs, len, SMC_NLA_FBACK_STATS_TYPE, 1) == 0 &&
	    number(attrs, len, SMC_NLA_FBACK_STATS_RSN_CODE, 4) == PEER_NO_SMC)
		f->count = number(attrs, len, SMC_NLA_FBACK_STATS_RSN_CNT, 2);
}

/* A server in this host that does not know SMC. */
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

	if (!HOLDS(dump(SMC_NETLINK_GET_FBACK_STATS, take_fback, &before) >= 0))
		return false;
	for (i = 0; i < ROUNDS; i++)
		if (!HOLDS(fall_back()))
			return false;
	return HOLDS(dump(SMC_NETLINK_GET_FBACK_STATS, take_fback, &after) >= 1) &
	       HOLDS(after.sums == 1) & HOLDS(after.clients == before.clients + ROUNDS) &
	       HOLDS(after.count == before.count + ROUNDS);
}

/* ---- PNET IDs ---- */

struct pnets {
	int n;
	bool ok;
	char last[64];	/* "ID eth ib port" */
};

/* Programs of the in-tree module take all four for granted. */
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
			 (unsigned int)number(attrs, len, SMC_PNETID_IBPORT, 1));
}

static int pnet(u8 cmd, const char *id, const char *eth, const char *ib, unsigned int port)
{
	const struct tl_pnet entry = { id, eth, ib, port };

	return tl_genl_pnet(cmd, NLM_F_ACK, &entry, NULL, NULL);
}

/* There are @n entries (of @id, if not NULL), the last one is @last. */
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
		ok &= HOLDS(pnet(SMC_PNETID_ADD, bad[i], "lo", NULL, 0) < 0);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, NULL, "lo", NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "A", "", NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "A", "a/b", NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "A", NULL, "", 0) == -EINVAL);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "A", "lo", "rxe9", 3) == -EINVAL);
	ok &= HOLDS(pnet(SMC_PNETID_GET, NULL, NULL, NULL, 0) == -EINVAL);
	ok &= HOLDS(pnet(SMC_PNETID_GET, "A.B", NULL, NULL, 0) == -EINVAL);
	return ok & pnets_are(NULL, 0, NULL);
}

static bool pnet_table(void)
{
	bool ok = HOLDS(!pnet(SMC_PNETID_ADD, " net1 ", "lo", "rxe9", 0));

	ok &= pnets_are(NULL, 2, "NET1 n/a rxe9 1") & pnets_are("net1", 2, "NET1 n/a rxe9 1");
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NET1", "lo", NULL, 0) == -EEXIST);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NET2", "lo", NULL, 0) == -EEXIST);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NET2", NULL, "rxe9", 1) == -EEXIST);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NET2", "later9", "rxe9", 1) == -EEXIST);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NET2", NULL, NULL, 0) == -EEXIST);
	ok &= pnets_are(NULL, 2, "NET1 n/a rxe9 1");
	/* known ones beside a new one are no error */
	ok &= HOLDS(!pnet(SMC_PNETID_ADD, "NET1", "later9", "rxe9", 1));
	ok &= HOLDS(!pnet(SMC_PNETID_ADD, "NET2", NULL, "rxe9", 2));
	ok &= pnets_are(NULL, 4, "NET2 n/a rxe9 2") & pnets_are("NET1", 3, "NET1 later9 n/a 255");
	ok &= pnets_are("NET3", 0, NULL);
	ok &= HOLDS(!pnet(SMC_PNETID_DEL, "net1", NULL, NULL, 0));
	ok &= pnets_are(NULL, 1, "NET2 n/a rxe9 2");
	ok &= HOLDS(pnet(SMC_PNETID_DEL, "NET1", NULL, NULL, 0) == -ENOENT);
	ok &= HOLDS(pnet(SMC_PNETID_DEL, NULL, NULL, NULL, 0) == -EINVAL);
	ok &= HOLDS(!pnet(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0)) & pnets_are(NULL, 0, NULL);
	return ok & HOLDS(!pnet(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0));
}

/* More entries than one message holds, in the order in which they were made; then no more. */
static bool pnet_many(void)
{
	char name[16], last[64];
	bool ok = true;
	int i;

	for (i = 0; i < PNET_MAX && ok; i++) {
		snprintf(name, sizeof(name), "later%d", i);
		ok = HOLDS(!pnet(SMC_PNETID_ADD, "NET1", name, NULL, 0));
	}
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NET1", "onemore", NULL, 0) == -ENOSPC);
	snprintf(last, sizeof(last), "NET1 later%d n/a 255", PNET_MAX - 1);
	ok &= pnets_are(NULL, PNET_MAX, last);
	return HOLDS(!pnet(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0)) & ok;
}

/* ---- rights ---- */

/* Everybody may ask, the administrator may change. */
static bool as_nobody(void)
{
	static const u8 cmds[] = {
		SMC_NETLINK_FLUSH_UEID, SMC_NETLINK_ENABLE_SEID, SMC_NETLINK_DISABLE_SEID,
		SMC_NETLINK_ENABLE_HS_LIMITATION, SMC_NETLINK_DISABLE_HS_LIMITATION,
	};
	bool ok = HOLDS(!setuid(NOBODY));

	for (size_t i = 0; i < TL_ARRAY_SIZE(cmds); i++)
		ok &= HOLDS(order(cmds[i]) == -EPERM);
	ok &= HOLDS(eid_order(SMC_NETLINK_ADD_UEID, "NOBODY") == -EPERM);
	ok &= HOLDS(eid_order(SMC_NETLINK_REMOVE_UEID, DEFAULT_EID) == -EPERM);
	ok &= HOLDS(pnet(SMC_PNETID_ADD, "NOBODY", "lo", NULL, 0) == -EPERM);
	ok &= HOLDS(pnet(SMC_PNETID_DEL, "NOBODY", NULL, NULL, 0) == -EPERM);
	ok &= HOLDS(pnet(SMC_PNETID_FLUSH, NULL, NULL, NULL, 0) == -EPERM);
	return ok & eids_are(1, DEFAULT_EID) & limit_is(0) & pnets_are(NULL, 0, NULL);
}

static bool rights(void)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = as_nobody() ? 0 : 1;
		fflush(stdout);
		_exit(status);
	}
	return HOLDS(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*fn)(void);
	} rows[] = {
		{ "sys_info", sys_info }, { "smcd", smcd }, { "ueid", ueid },
		{ "hs_limit", hs_limit }, { "fback", fback }, { "pnet_names", pnet_names },
		{ "pnet_table", pnet_table }, { "pnet_many", pnet_many }, { "rights", rights },
	};
	struct ktap ktap = { 0 };

	ktap_plan(TL_ARRAY_SIZE(rows));
	for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++)
		ktap_result(&ktap, rows[i].fn(), rows[i].name);
	return ktap.failed ? KTAP_FAIL : KTAP_PASS;
}
