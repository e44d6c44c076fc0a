// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists that come in many pieces: into a receive buffer for one piece, and while the entries change
 * between two pieces. An entry that exists all the time must be listed once. And what a user
 * without rights gets of connections.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/smc_diag.h>

#include "contract.h"

#define ENTRIES		600	/* of each kind; every second entry is removed */
#define SOCKETS		800
#define DEVICES		72
#define GROUPS		40
#define PIECE		4096
#define RULE_DENY	2
#define LINK_ACTIVE	3	/* as the in-tree module numbers it */
#define NOBODY		65534
#define STAT_TX_BYTES	2

/**
 * struct list - one kind of entries
 * @name: name in reports
 * @family: its netlink family
 * @cmd: its command
 * @entries: number of entries
 * @pieces: minimum number of pieces
 * @fill: make entries 0 to @entries - 1
 * @thin: remove some of the entries already listed and some not yet listed, at most half of all,
 *	and make others
 * @number: return the number of an answer's entry, -1: any other entry
 * @clear: remove all
 */
struct list {
	const char *name;
	enum ct_family family;
	u8 cmd;
	int entries;
	unsigned int pieces;
	bool (*fill)(void);
	void (*thin)(void);
	int (*number)(const struct nlmsghdr *nlh);
	void (*clear)(void);
};

static struct ct_nl gen, pnet;
static const struct tl_proto *proto;

/* ---- PNET IDs ---- */

static bool pnet_change(u8 cmd, const char *id, const char *eth)
{
	u64 buf[32];
	struct nlmsghdr *nlh = ct_head(&pnet, buf, cmd, NLM_F_ACK);

	if (id)
		mnl_attr_put_strz(nlh, SMC_PNETID_NAME, id);
	if (eth)
		mnl_attr_put_strz(nlh, SMC_PNETID_ETHNAME, eth);
	return !ct_order(&pnet, nlh);
}

static bool pnet_fill(void)
{
	char eth[16];
	bool ok = true;

	for (int i = 0; i < ENTRIES && ok; i++) {
		snprintf(eth, sizeof(eth), "later%d", i);
		ok = pnet_change(SMC_PNETID_ADD, i % 2 ? "STAYS" : "GOES", eth);
	}
	return ok;
}

static void pnet_thin(void)
{
	pnet_change(SMC_PNETID_DEL, "GOES", NULL);
	pnet_change(SMC_PNETID_ADD, "COMES", "new1");
}

static int pnet_number(const struct nlmsghdr *nlh)
{
	const struct nlattr *a;
	int i;

	mnl_attr_for_each(a, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(a) == SMC_PNETID_ETHNAME &&
		    sscanf(mnl_attr_get_str(a), "later%d", &i) == 1)
			return i;
	return -1;
}

static void pnet_clear(void)
{
	pnet_change(SMC_PNETID_FLUSH, NULL, NULL);
}

/* ---- rules ---- */

static bool rule_change(u8 cmd, int num)
{
	u64 buf[32];
	struct nlmsghdr *nlh = ct_head(&gen, buf, cmd, NLM_F_ACK);

	if (num)
		mnl_attr_put_u32(nlh, RULE_NUM, num);
	if (cmd == OWN_ADD_RULE)
		mnl_attr_put_u8(nlh, RULE_DENY, 0);
	return !ct_order(&gen, nlh);
}

static bool rule_fill(void)
{
	bool ok = true;

	for (int i = 0; i < ENTRIES && ok; i++)
		ok = rule_change(OWN_ADD_RULE, i + 1);
	return ok;
}

static void rule_thin(void)
{
	for (int i = 0; i < ENTRIES; i += 2)
		rule_change(OWN_DEL_RULE, i + 1);
}

static int rule_number(const struct nlmsghdr *nlh)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(a) == RULE_NUM)
			return (int)mnl_attr_get_u32(a) - 1;
	return -1;
}

static void rule_clear(void)
{
	rule_change(OWN_FLUSH_RULES, 0);
}

/* ---- sockets ---- */

static int fds[SOCKETS];
static u64 inodes[SOCKETS];

static bool sock_fill(void)
{
	struct stat st;
	bool ok = true;

	for (int i = 0; i < SOCKETS && ok; i++) {
		fds[i] = socket(proto->domain, SOCK_STREAM, proto->protocol);
		ok = fds[i] >= 0 && !fstat(fds[i], &st);
		inodes[i] = ok ? st.st_ino : 0;
	}
	return ok;
}

static void sock_thin(void)
{
	for (int i = 0; i < SOCKETS; i += 2) {
		if (fds[i] >= 0)
			close(fds[i]);
		/* new sockets come first in their hash chains */
		fds[i] = socket(proto->domain, SOCK_STREAM, proto->protocol);
	}
}

static int sock_number(const struct nlmsghdr *nlh)
{
	const struct smc_diag_msg *m = mnl_nlmsg_get_payload(nlh);

	for (int i = 0; i < SOCKETS; i++)
		if (inodes[i] == m->diag_inode)
			return i;
	return -1;
}

static void sock_clear(void)
{
	for (int i = 0; i < SOCKETS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- devices ---- */

#define RXE_NAME	"rxe_whose_name_is_as_long_as_names_may_be_number_%d"

static bool command_run(const char *command, int i)
{
	char line[256];

	snprintf(line, sizeof(line), command, i, i);
	return !system(line);
}

static bool dev_add(int i)
{
	return command_run("ip link add contract%d type dummy", i) &&
	       command_run("/usr/sbin/rdma link add " RXE_NAME " type rxe netdev contract%d", i);
}

static bool dev_fill(void)
{
	bool ok = true;

	for (int i = 0; i < DEVICES && ok; i++)
		ok = dev_add(i);
	return ok;
}

static void dev_thin(void)
{
	for (int i = 0; i < DEVICES; i += 2)
		command_run("/usr/sbin/rdma link delete " RXE_NAME, i);
	dev_add(DEVICES);
}

static int dev_number(const struct nlmsghdr *nlh)
{
	const struct nlattr *dev, *a;
	int i;

	mnl_attr_for_each(dev, nlh, GENL_HDRLEN)
		mnl_attr_for_each_nested(a, dev)
			if (mnl_attr_get_type(a) == SMC_NLA_DEV_IB_NAME &&
			    sscanf(mnl_attr_get_str(a), RXE_NAME, &i) == 1 && i < DEVICES)
				return i;
	return -1;
}

/* The RNIC disappears with its netdev. */
static void dev_clear(void)
{
	for (int i = 0; i <= DEVICES; i++)
		command_run("ip link del contract%d", i);
}

/* ---- groups and their links ---- */

static const char *here;

static bool lgr_fill(void)
{
	return ct_groups_make(proto, here, GROUPS);
}

/* The end of a group ends the peer's group, too, which is also on this host. */
static void lgr_thin(void)
{
	ct_groups_end(2);
}

static int lgr_number(const struct nlmsghdr *nlh)
{
	return ct_groups_number(ct_groups_id(nlh, NULL));
}

static bool link_active(const struct nlattr *link)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, link)
		if (mnl_attr_get_type(a) == SMC_NLA_LINK_STATE)
			return mnl_attr_get_u32(a) == LINK_ACTIVE;
	return false;
}

/*
 * Links follow their group. Each group has one active link and, for a moment, a second one that is
 * not active: the server offers it when the group is new, and the client, which has the same single
 * RNIC, rejects it.
 */
static int link_number(const struct nlmsghdr *nlh)
{
	static int group = -1;
	const struct nlattr *a;
	int n = lgr_number(nlh);

	mnl_attr_for_each(a, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(a) == SMC_GEN_LINK_SMCR)
			return link_active(a) ? group : -1;
	group = n;
	return -1;
}

static void lgr_clear(void)
{
	ct_groups_close();
}

static const struct list lists[] = {
	{ "pnet", CT_PNET, SMC_PNETID_GET, ENTRIES, 6, pnet_fill, pnet_thin, pnet_number,
	  pnet_clear },
	{ "rules", CT_GEN, OWN_GET_RULES, ENTRIES, 6, rule_fill, rule_thin, rule_number,
	  rule_clear },
	{ "sockets", CT_DIAG, 0, SOCKETS, 6, sock_fill, sock_thin, sock_number, sock_clear },
	{ "devices", CT_GEN, SMC_NETLINK_GET_DEV_SMCR, DEVICES, 3, dev_fill, dev_thin, dev_number,
	  dev_clear },
	{ "groups", CT_GEN, SMC_NETLINK_GET_LGR_SMCR, GROUPS, 3, lgr_fill, lgr_thin, lgr_number,
	  lgr_clear },
	{ "links", CT_GEN, SMC_NETLINK_GET_LINK_SMCR, GROUPS, 3, lgr_fill, lgr_thin, link_number,
	  lgr_clear },
};

/* ---- lists ---- */

static const struct list *listed;
static unsigned int pieces;
static u8 seen[SOCKETS], left[SOCKETS];

static void count_piece(void)
{
	pieces++;
}

/* In the middle of the list: remove entries that were listed and entries that were not. */
static void change_once(void)
{
	if (++pieces == (listed->pieces > 5 ? 5 : 1))
		listed->thin();
}

static void answer_count(const struct nlmsghdr *nlh, void *arg)
{
	int n = listed->number(nlh);

	ct_check(nlh, arg);
	if (n >= 0 && n < SOCKETS)
		seen[n]++;
}

static void mark_left(const struct nlmsghdr *nlh, void *arg)
{
	int n = listed->number(nlh);

	(void)arg;
	if (n >= 0 && n < SOCKETS)
		left[n] = 1;
}

/* Entries that existed all the time must be listed once; @some: others have been removed. */
static bool check_once(const char *what, bool some)
{
	int missing = 0, twice = 0, stayed = 0;
	struct ct_nl nl;
	bool ok;

	memset(left, 0, sizeof(left));
	ok = !ct_open(&nl, listed->family, CT_BUF) && !ct_dump(&nl, listed->cmd, mark_left, NULL);
	ct_close(&nl);
	for (int i = 0; i < listed->entries; i++) {
		stayed += left[i];
		missing += left[i] && !seen[i];
		twice += left[i] && seen[i] > 1;
		if (left[i] && seen[i] != 1 && missing + twice < 4)
			ktap_note("%s, %s: %d listed %d times", listed->name, what, i, seen[i]);
	}
	ktap_note("%s, %s: %u pieces, %d stayed, %d missing, %d listed twice", listed->name, what,
		  pieces, stayed, missing, twice);
	return ok && !missing && !twice && pieces >= listed->pieces &&
	       stayed >= listed->entries / 2 && (stayed < listed->entries) == some;
}

static bool list_in_pieces(void (*between)(void), int size)
{
	struct ct_verdict v = { .family = listed->family, .cmd = listed->cmd };
	struct ct_nl nl;
	int err;

	memset(seen, 0, sizeof(seen));
	pieces = 0;
	if (ct_open(&nl, listed->family, PIECE))
		return false;
	nl.plain = true;
	nl.between = between;
	setsockopt(mnl_socket_get_fd(nl.mnl), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	err = ct_dump(&nl, listed->cmd, answer_count, &v);
	ct_close(&nl);
	if (err)
		ktap_note("%s: the list ends with %s", listed->name, tl_errno_name(-err));
	return !err && !v.wrong;
}

/**
 * ct_dumps() - check lists that come in pieces
 * @smc: protocol of the sockets
 * @address: an address of this host
 *
 * Return: false if one of them is wrong.
 */
bool ct_dumps(const struct tl_proto *smc, const char *address)
{
	struct rlimit files = { SOCKETS + 100, SOCKETS + 100 };
	bool ok = true;

	proto = smc;
	here = address;
	if (setrlimit(RLIMIT_NOFILE, &files) || ct_open(&gen, CT_GEN, CT_BUF) ||
	    ct_open(&pnet, CT_PNET, CT_BUF))
		return false;
	for (size_t i = 0; i < TL_ARRAY_SIZE(lists); i++) {
		listed = &lists[i];
		if (!listed->fill()) {
			ktap_note("%s cannot be made", listed->name);
			ok = false;
		} else {
			ok &= list_in_pieces(count_piece, 1) && check_once("small buffer", false);
			ok &= list_in_pieces(change_once, CT_BUF) && check_once("changing", true);
		}
		listed->clear();
	}
	ct_close(&gen);
	ct_close(&pnet);
	return ok;
}

/* ---- rights ---- */

/**
 * struct shown - what a reader has got of the connections over RDMA
 * @conns: connections
 * @tokens: of these with an alert token
 * @stats: of these with our own statistics
 * @own: attributes that the in-tree family does not have, also of other sockets
 * @tx_bytes: bytes that their programs have written
 */
struct shown {
	unsigned int conns;
	unsigned int tokens;
	unsigned int stats;
	unsigned int own;
	u64 tx_bytes;
};

static u64 stats_tx_bytes(const struct nlattr *stats)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, stats)
		if (mnl_attr_get_type(a) == STAT_TX_BYTES)
			return mnl_attr_get_u64(a);
	return 0;
}

static void shown_take(const struct nlmsghdr *nlh, void *arg)
{
	const struct smc_diag_conninfo *conn;
	struct shown *s = arg;
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(struct smc_diag_msg)) {
		s->own += mnl_attr_get_type(a) >= OWN_ATTRS;
		if (mnl_attr_get_type(a) == SMC_DIAG_CONNINFO) {
			conn = mnl_attr_get_payload(a);
			s->conns++;
			s->tokens += conn->token != 0;
		} else if (mnl_attr_get_type(a) == OWN_DIAG_STATS) {
			s->stats++;
			s->tx_bytes += stats_tx_bytes(a);
		}
	}
}

static bool become_nobody(void)
{
	return !setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY);
}

/* Read as root, or as a user who opens the netlink socket, or gets one that root has opened. */
static bool rights_read(const char *who, bool nobody, bool opened)
{
	struct shown s = { 0 };
	struct ct_nl nl;
	bool ok = true;

	if (nobody && !opened)
		ok = become_nobody();
	ok = ok && !ct_open(&nl, CT_DIAG, CT_BUF);
	if (nobody && opened)
		ok = ok && become_nobody();
	ok = ok && !ct_dump(&nl, 0, shown_take, &s);
	ktap_note("%s: %u connections, %u tokens, %u with statistics, %llu bytes", who, s.conns,
		  s.tokens, s.stats, (unsigned long long)s.tx_bytes);
	return ok && s.conns >= 2 && s.stats == s.conns && s.tx_bytes &&
	       s.tokens == (nobody ? 0 : s.conns);
}

/* Read as programs of the in-tree family do: they do not ask for what that one does not have. */
static bool foreign_read(void)
{
	struct shown s = { 0 };
	struct ct_nl nl;
	bool ok = !ct_open(&nl, CT_DIAG, CT_BUF);

	nl.diag_ext = 0xff & ~OWN_DIAG_EXT;
	ok = ok && !ct_dump(&nl, 0, shown_take, &s);
	ct_close(&nl);
	ktap_note("not asked: %u connections, %u with statistics, %u own attributes", s.conns,
		  s.stats, s.own);
	return ok && s.conns >= 2 && !s.own;
}

static bool rights_in_child(const char *who, bool nobody, bool opened)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		bool ok = rights_read(who, nobody, opened);

		fflush(stdout);
		_exit(!ok);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/**
 * ct_dump_rights() - check who is shown alert tokens: as root, with connections over RDMA
 *
 * Statistics are for every user who asks for them, as inet_diag shows those of TCP.
 *
 * Return: false if somebody gets too much or too little.
 */
bool ct_dump_rights(void)
{
	bool root = rights_in_child("root", false, false);
	bool user = rights_in_child("a user", true, false);
	bool foreign = foreign_read();

	return rights_in_child("a user, socket of root", true, true) && root && user && foreign;
}
