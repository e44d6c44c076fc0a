// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that no program would send: each starts as a valid one and is then spoilt, by a
 * reproducible sequence of random numbers. The kernel must survive them, refuse those it must, and
 * answer the others by the contract; a refused request must change nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>

#include "contract.h"

#define NOBODY		65534
#define MSG_MAX		32768
#define STATE_MAX	65536

/* Variants of spoilt requests. */
enum spoilt {
	RIGHT, BITS, CUT, CUT_QUIETLY, ATTR_SHORT, ATTR_LONG, ATTR_TYPE, ATTR_SIZE, NESTS, NO_NUL,
	TWICE, CROWD, TAIL, COMMAND, VERSION, FLAGS, FAMILY, WAYS
};

static const char * const way_names[] = {
	"right", "bits", "cut", "cut_quietly", "attr_short", "attr_long", "attr_type", "attr_size",
	"nests", "no_nul", "twice", "crowd", "tail", "command", "version", "flags", "family",
};

/**
 * struct tally - results of the requests, by variant
 * @taken: requests that were taken
 * @refused: requests that were refused
 * @unanswered: requests without an answer
 */
struct tally {
	unsigned int taken[WAYS];
	unsigned int refused[WAYS];
	unsigned int unanswered[WAYS];
};

/* Over all runs, unprivileged and privileged; shared by the processes. */
static struct tally *tallies;

/**
 * struct fuzz - one run
 * @nl: a socket of each family
 * @state: state before the request
 * @rnd: state of the random numbers
 * @privileged: may change the state
 * @tally: results of this run
 */
struct fuzz {
	struct ct_nl nl[CT_FAMILIES];
	struct state {
		size_t len;
		char bytes[STATE_MAX];
	} state;
	u64 rnd;
	bool privileged;
	struct tally *tally;
};

static u64 rnd_any(struct fuzz *f)
{
	return tl_mix(f->rnd++);
}

static u64 rnd_below(struct fuzz *f, u64 n)
{
	return rnd_any(f) % n;
}

/* ---- state that requests can change ---- */

static void keep_answer(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;
	struct state *s = arg;

	mnl_attr_for_each(a, nlh, GENL_HDRLEN) {
		/* a rule's hits change without a request */
		if (mnl_attr_get_payload_len(a) == 8 || s->len + a->nla_len > sizeof(s->bytes))
			continue;
		memcpy(s->bytes + s->len, a, a->nla_len);
		s->len += a->nla_len;
	}
}

static bool state_read(struct fuzz *f, struct state *s)
{
	static const u8 cmds[] = {
		SMC_NETLINK_DUMP_UEID, SMC_NETLINK_DUMP_HS_LIMITATION, OWN_GET_RULES,
	};
	int err = 0;

	s->len = 0;
	for (size_t i = 0; i < TL_ARRAY_SIZE(cmds) && !err; i++)
		err = ct_dump(&f->nl[CT_GEN], cmds[i], keep_answer, s);
	if (!err)
		err = ct_dump(&f->nl[CT_PNET], SMC_PNETID_GET, keep_answer, s);
	if (err)
		ktap_note("the state cannot be read: %s", tl_errno_name(-err));
	return !err;
}

static bool state_same(const struct state *a, const struct state *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* ---- valid requests, of few values, so that they concern the same objects ---- */

static void put_ueid(struct fuzz *f, struct nlmsghdr *nlh)
{
	char text[SMC_MAX_EID_LEN + 1], name[8];

	snprintf(name, sizeof(name), "FUZZ.%u", (unsigned int)rnd_below(f, 6));
	snprintf(text, sizeof(text), "%-*s", SMC_MAX_EID_LEN, name);
	mnl_attr_put_strz(nlh, SMC_NLA_EID_TABLE_ENTRY, text);
}

static void put_pnet(struct fuzz *f, struct nlmsghdr *nlh, bool all)
{
	char text[16];

	snprintf(text, sizeof(text), "FUZZ%u", (unsigned int)rnd_below(f, 3));
	mnl_attr_put_strz(nlh, SMC_PNETID_NAME, text);
	if (!all)
		return;
	snprintf(text, sizeof(text), "later%u", (unsigned int)rnd_below(f, 9));
	if (rnd_below(f, 2))
		mnl_attr_put_strz(nlh, SMC_PNETID_ETHNAME, text);
	snprintf(text, sizeof(text), "rnic%u", (unsigned int)rnd_below(f, 9));
	if (rnd_below(f, 2))
		mnl_attr_put_strz(nlh, SMC_PNETID_IBNAME, text);
	if (rnd_below(f, 2))
		mnl_attr_put_u8(nlh, SMC_PNETID_IBPORT, rnd_below(f, 4));
}

static void put_rule(struct fuzz *f, struct nlmsghdr *nlh)
{
	u8 addr[16];

	mnl_attr_put_u32(nlh, RULE_NUM, 1 + rnd_below(f, 20));
	mnl_attr_put_u8(nlh, 2, 0);
	for (u16 end = 3; end <= 7; end += 4) {
		if (rnd_below(f, 2))
			continue;
		tl_fill(rnd_any(f), 0, addr, sizeof(addr));
		mnl_attr_put(nlh, end, sizeof(addr), addr);
		mnl_attr_put_u8(nlh, end + 1, 1 + rnd_below(f, 128));
		mnl_attr_put_u32(nlh, end + 2, 1 + rnd_below(f, 1000));
		mnl_attr_put_u32(nlh, end + 3, 1000 + rnd_below(f, 1000));
	}
}

static void put_attrs(struct fuzz *f, struct nlmsghdr *nlh, enum ct_family family, u8 cmd)
{
	if (family == CT_PNET) {
		if (cmd != SMC_PNETID_FLUSH)
			put_pnet(f, nlh, cmd == SMC_PNETID_ADD);
		return;
	}
	switch (cmd) {
	case SMC_NETLINK_ADD_UEID:
	case SMC_NETLINK_REMOVE_UEID:
		put_ueid(f, nlh);
		break;
	case OWN_ADD_LINK:
	case OWN_DEL_LINK:
	case OWN_DEL_LGR:
		/* as a program numbers them: existing groups have small numbers */
		mnl_attr_put_u32(nlh, 1, rnd_below(f, 8) << 8);
		if (cmd == OWN_DEL_LINK)
			mnl_attr_put_u8(nlh, 2, rnd_below(f, 4));
		break;
	case OWN_ADD_RULE:
	case OWN_DEL_RULE:
		put_rule(f, nlh);
		break;
	}
}

static struct nlmsghdr *request_make(struct fuzz *f, void *buf, enum ct_family *family, u8 *cmd,
				     bool *dumps)
{
	struct nlmsghdr *nlh;
	unsigned int i = 0;

	while (ct_command_at(i, family, cmd))
		i++;
	ct_command_at(rnd_below(f, i), family, cmd);
	ct_command(*family, *cmd, dumps);
	nlh = ct_head(&f->nl[*family], buf, *cmd, *dumps ? NLM_F_DUMP : NLM_F_ACK);
	if (*family != CT_DIAG)
		put_attrs(f, nlh, *family, *cmd);
	/* a request for one ID, which is answered by a list, too */
	if (*family == CT_PNET && *cmd == SMC_PNETID_GET && rnd_below(f, 2))
		nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	return nlh;
}

/* ---- spoiling ---- */

static size_t head_of(enum ct_family family)
{
	return family == CT_DIAG ? sizeof(struct smc_diag_req) : GENL_HDRLEN;
}

static struct nlattr *any_attr(struct fuzz *f, struct nlmsghdr *nlh, enum ct_family family)
{
	struct nlattr *a, *found = NULL;
	unsigned int n = 0;

	mnl_attr_for_each(a, nlh, head_of(family))
		if (!rnd_below(f, ++n))
			found = a;
	return found;
}

static void put_any(struct fuzz *f, struct nlmsghdr *nlh, u16 type, size_t size)
{
	char value[512];

	tl_fill(rnd_any(f), 0, value, sizeof(value));
	mnl_attr_put(nlh, type, size, value);
}

static void put_nests(struct fuzz *f, struct nlmsghdr *nlh)
{
	struct nlattr *nest[16];
	unsigned int depth = 1 + rnd_below(f, TL_ARRAY_SIZE(nest));

	for (unsigned int i = 0; i < depth; i++)
		nest[i] = mnl_attr_nest_start(nlh, 1 + rnd_below(f, 12));
	put_any(f, nlh, rnd_below(f, 20), rnd_below(f, 64));
	while (depth--)
		mnl_attr_nest_end(nlh, nest[depth]);
}

static void spoil_bits(struct fuzz *f, struct nlmsghdr *nlh)
{
	u8 *p = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh);

	for (u64 n = 1 + rnd_below(f, 8); n && len; n--)
		p[rnd_below(f, len)] ^= 1 << rnd_below(f, 8);
}

/* Spoil the request. Return the bytes to send; *@refuse: the kernel must refuse it. */
static size_t spoil_request(struct fuzz *f, enum spoilt way, struct nlmsghdr *nlh,
			    enum ct_family family, bool *refuse)
{
	struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	struct nlattr *a = any_attr(f, nlh, family);
	size_t len;

	*refuse = false;
	switch (way) {
	case BITS:
		spoil_bits(f, nlh);
		break;
	case CUT:
		len = mnl_nlmsg_get_payload_len(nlh);
		*refuse = true;
		nlh->nlmsg_len = MNL_NLMSG_HDRLEN + rnd_below(f, head_of(family));
		break;
	case CUT_QUIETLY:	/* less data than nlmsg_len */
		*refuse = true;
		len = MNL_NLMSG_HDRLEN + rnd_below(f, mnl_nlmsg_get_payload_len(nlh));
		return len;
	case ATTR_SHORT:
		if (a)
			a->nla_len = rnd_below(f, NLA_HDRLEN);
		break;
	case ATTR_LONG:
		if (a)
			a->nla_len = rnd_below(f, 2) ? 0xffff : a->nla_len + 5 + rnd_below(f, 300);
		break;
	case ATTR_TYPE:
		if (a)
			a->nla_type = rnd_any(f);
		break;
	case ATTR_SIZE:
		put_any(f, nlh, rnd_below(f, 14), rnd_below(f, 300));
		break;
	case NESTS:
		put_nests(f, nlh);
		break;
	case NO_NUL:
		put_any(f, nlh, 1 + rnd_below(f, 3), 1 + rnd_below(f, 80));
		break;
	case TWICE:
		put_attrs(f, nlh, family, genl->cmd);
		break;
	case CROWD:
		while (nlh->nlmsg_len < MSG_MAX - 1024)
			put_any(f, nlh, rnd_below(f, 300), rnd_below(f, 40));
		break;
	case TAIL:
		len = 1 + rnd_below(f, 15);
		tl_fill(rnd_any(f), 0, mnl_nlmsg_get_payload_tail(nlh), len);
		nlh->nlmsg_len += len;
		break;
	case COMMAND:
		genl->cmd = rnd_any(f);
		break;
	case VERSION:
		genl->version = rnd_any(f);
		break;
	case FLAGS:
		nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (rnd_any(f) & ~NLM_F_DUMP);
		break;
	case FAMILY:
		nlh->nlmsg_type = family == CT_DIAG ? SOCK_DESTROY : nlh->nlmsg_type;
		genl->reserved = rnd_any(f);
		break;
	case RIGHT:
	case WAYS:
		break;
	}
	return nlh->nlmsg_len;
}

/* ---- one request after the other ---- */

static bool result_check(struct fuzz *f, enum spoilt way, int got, bool refuse, bool may_change,
			 const struct ct_verdict *v)
{
	struct state now;

	if (got == -ETIMEDOUT || got == -EBADMSG) {
		ktap_note("the answers do not end: %s", tl_errno_name(-got));
		return false;
	}
	f->tally->taken[way] += !got;
	f->tally->unanswered[way] += got == -ENOMSG;
	f->tally->refused[way] += got && got != -ENOMSG;
	if (v->wrong)
		return false;
	if (!got && refuse) {
		ktap_note("an invalid request was taken");
		return false;
	}
	if (!state_read(f, &now))
		return false;
	if (!state_same(&f->state, &now) && (got || !may_change || !f->privileged)) {
		ktap_note("the state has changed, and the answer was %s", tl_errno_name(-got));
		return false;
	}
	f->state = now;
	return true;
}

static bool round_run(struct fuzz *f)
{
	static u64 buf[(MSG_MAX + 1024) / sizeof(u64)];
	enum spoilt way = rnd_below(f, WAYS);
	struct nlmsghdr *nlh;
	enum ct_family family;
	bool dumps, refuse;
	struct ct_verdict v;
	size_t len;
	u8 cmd;
	int got;

	memset(buf, 0, 1024);
	nlh = request_make(f, buf, &family, &cmd, &dumps);
	len = spoil_request(f, way, nlh, family, &refuse);
	/* the command after spoiling, if there still is one */
	if (family != CT_DIAG && mnl_nlmsg_get_payload_len(nlh) >= GENL_HDRLEN)
		cmd = ((struct genlmsghdr *)mnl_nlmsg_get_payload(nlh))->cmd;
	v = (struct ct_verdict){ .family = family, .cmd = cmd };
	ct_command(family, cmd, &dumps);
	got = ct_ask(&f->nl[family], nlh, len, ct_check, &v);
	if (result_check(f, way, got, refuse, !dumps, &v))
		return true;
	ktap_note("family %d, command %u, %s, %zu bytes, the answer was %s", family, cmd,
		  way_names[way], len, got ? tl_errno_name(-got) : "0");
	return false;
}

static bool rounds_run(u64 seed, unsigned int rounds, bool privileged)
{
	static struct fuzz f;
	bool ok = true;
	unsigned int i;

	memset(&f, 0, sizeof(f));
	f.privileged = privileged;
	f.tally = &tallies[privileged];
	for (i = 0; i < CT_FAMILIES; i++)
		if (ct_open(&f.nl[i], i, CT_BUF))
			return false;
	if (!state_read(&f, &f.state))
		return false;
	for (i = 0; i < rounds && ok; i++) {
		/* own random numbers for each round: it does not depend on the rounds before */
		f.rnd = tl_mix(seed + i) << 20;
		ok = round_run(&f);
		if (!ok)
			ktap_note("seed %llu, round %u%s", seed, i,
				  privileged ? "" : ", unprivileged");
	}
	for (i = 0; i < CT_FAMILIES; i++)
		ct_close(&f.nl[i]);
	return ok;
}

static bool run_unprivileged(u64 seed, unsigned int rounds)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = !setgid(NOBODY) && !setuid(NOBODY) &&
			 rounds_run(seed, rounds, false) ? 0 : 1;
		fflush(stdout);
		_exit(status);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/**
 * ct_fuzz() - send spoilt requests, privileged and unprivileged
 * @seed: seed of all random numbers
 * @rounds: privileged requests; the unprivileged run sends a third as many
 *
 * Return: false if the kernel behaved wrongly.
 */
bool ct_fuzz(u64 seed, unsigned int rounds)
{
	if (!tallies)
		tallies = mmap(NULL, 2 * sizeof(*tallies), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tallies == MAP_FAILED) {
		tallies = NULL;
		return false;
	}
	return rounds_run(seed, rounds, true) & run_unprivileged(seed, rounds / 3);
}

static bool tally_check(const struct tally *t, const char *who)
{
	for (unsigned int i = 0; i < WAYS; i++)
		ktap_note("%s%s: %u taken, %u refused, %u unanswered", who, way_names[i],
			  t->taken[i], t->refused[i], t->unanswered[i]);
	return t->taken[RIGHT] && t->refused[ATTR_LONG] && t->unanswered[CUT_QUIETLY] &&
	       t->refused[COMMAND];
}

/**
 * ct_fuzz_covered() - check that the runs covered all outcomes
 * @rounds: number of privileged requests in all
 *
 * If all requests are refused, or all taken, the checks have shown nothing.
 *
 * Return: false if an outcome that must occur never did.
 */
bool ct_fuzz_covered(unsigned int rounds)
{
	bool ok = tallies && tally_check(&tallies[1], "") &
			     tally_check(&tallies[0], "unprivileged, ");

	if (!ok)
		ktap_note("%u rounds are too few: some outcomes never occurred", rounds);
	return ok;
}
