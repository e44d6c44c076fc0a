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
#include <linux/smc.h>

#include "ktap.h"
#include "testlib.h"

#define EID_LEN		32
#define DEFAULT_EID	"SMCV2-DEFAULT-UEID"
#define PEER_NO_SMC	0x03010000
#define NOBODY		65534
#define ROUNDS		2

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
	return ok & eids_are(1, DEFAULT_EID) & limit_is(0);
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
		{ "hs_limit", hs_limit }, { "fback", fback }, { "rights", rights },
	};
	struct ktap ktap = { 0 };

	ktap_plan(TL_ARRAY_SIZE(rows));
	for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++)
		ktap_result(&ktap, rows[i].fn(), rows[i].name);
	return ktap.failed ? KTAP_FAIL : KTAP_PASS;
}
