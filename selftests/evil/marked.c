// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by a peer that takes itself for one of the module's own kind (proto/marker.h), and
 * then breaks what only those may say: it gains nothing by that. Most of them in both roles.
 */
#include <errno.h>
#include <string.h>
#include <smc/proto/marker.h>

#include "link.h"

#define WAIT_MS		10000
#define NOBODY		0x77	/* a number that no link has */

/* A client gets its second link without asking. */
static int offer_second(struct el_env *e, struct el_second *s)
{
	if (!e->served)
		return 0;
	s->far.num = s->l.num + 1;
	return el_serve_add(e, &s->l, &s->far);
}

/*
 * A marked group with two links. The server gives the first connection to the first one, and
 * the second connection to the other one, which has fewer; and so do we as server.
 */
static bool begin(struct el_env *e, struct el_second *s)
{
	u64 before = el_stat(e->witness, "link_add");
	int err;

	if (!el_second_open(e, s))
		return false;
	s->l.marked = true;
	err = el_meet(e, &s->l, &s->c, 0);
	if (!err)
		err = offer_second(e, s);
	if (!err && !el_counted(e, &s->l, "link_add", NULL, before))
		return false;
	if (!err)
		err = el_meet(e, e->served ? &s->far : &s->l, &s->d, 1);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	if (!err && s->d.link != &s->far) {
		ktap_note("both connections are on one link");
		return false;
	}
	return !err;
}

static bool sent(struct el_link *l)
{
	if (!el_flush(l, WAIT_MS))
		return true;
	ktap_note("attack did not get out: %s", ibv_wc_status_str(l->status));
	return false;
}

/* The connection carries bytes over the link that it writes to. */
static bool lives(struct el_env *e, struct el_conn *c)
{
	struct el_env beside = *e;

	beside.l = c->link;
	return el_lives(&beside, c);
}

static bool dies(struct el_env *e, struct el_conn *c)
{
	static const struct el_case any = { .name = "" };
	struct el_env beside = *e;

	beside.l = c->link->near ?: c->link;
	return el_dead(&beside, c, &any);
}

/* What a move may say beside the truth. */
struct move {
	const char *what;
	u8 left;		/* 0: the right number, NOBODY, 1: the link it goes to, 2: none */
	u8 nr;			/* of the move; 1 is right */
	u8 past;		/* byte that fills the list; 1: both links in turn */
	u8 past_orderly;
	bool orderly;
	u16 ahead;		/* messages that were never sent */
	bool dies;		/* the connection, and nothing else */
	bool fails;		/* the link that it says it has left */
};

static u8 left_of(const struct move *m, const struct el_link *from, const struct el_link *to)
{
	switch (m->left) {
	case 0:
		return from->num;
	case 1:
		return to->num;
	case 2:
		return 0;
	default:
		return m->left;
	}
}

/* The validation with which a connection begins on another link. */
static int say_move(struct el_conn *c, const struct move *move, const struct el_link *from)
{
	struct smc_cdc_msg m = {
		.seq = c->seq + move->ahead,
		.token = c->peer_token,
		.flags = SMC_CDC_F_FAILOVER,
		.left = left_of(move, from, c->link),
		.move = move->nr,
		.more = move->orderly ? SMC_CDC_M_ORDERLY : 0,
		.past_orderly = move->past_orderly,
	};

	for (int i = 0; i < SMC_CDC_PAST; i++)
		m.past[i] = move->past != 1 ? move->past : i % 2 ? from->num : c->link->num;
	return el_cdc(c, &m);
}

static bool moves(struct el_conn *c, struct el_link *to, const struct move *move)
{
	struct el_link *from = c->link;

	/* what is said over the old link is heard before */
	if (!sent(from) || !el_go(c, to))
		return false;
	if (say_move(c, move, from)) {
		ktap_note("the move is not said");
		return false;
	}
	return true;
}

static const struct move right = { .nr = 1, .orderly = true };
static const struct move right_lost = { .nr = 1 };

/* ---- cases ---- */

static const struct move good_moves[] = {
	{ .what = "in order", .nr = 1, .orderly = true },
	{ .what = "a link that failed", .nr = 1, .fails = true },
};

static const struct move lies[] = {
	{ .what = "left a link that is none", .left = NOBODY, .nr = 1, .fails = true },
	{ .what = "left the link it goes to", .left = 1, .nr = 1, .fails = true },
	{ .what = "left none", .left = 2, .nr = 1, .fails = true },
	{ .what = "left it in order, with messages that were never sent", .nr = 1, .orderly = true,
	  .ahead = 100, .dies = true },
	{ .what = "the 100th move", .nr = 100, .dies = true },
	{ .what = "the 100th move, in order", .nr = 100, .orderly = true, .past_orderly = 0x7f,
	  .past = NOBODY, .dies = true },
	{ .what = "a move before the first one", .nr = 200 },
	{ .what = "a past on links that are none", .nr = 8, .past = NOBODY, .past_orderly = 0x7f,
	  .orderly = true },
	{ .what = "a past of seven moves", .nr = 8, .past = 1, .fails = true },
};

/*
 * The first connection goes to the link where the second one is. The second one carries bytes
 * afterwards in any case, and the first one unless the lie is about its own bytes.
 */
static bool goes(struct el_env *e, const struct move *move)
{
	u64 failed = el_stat(e->witness, "link_fail"), lost;
	struct el_second s;
	bool ok = begin(e, &s) && lives(e, &s.c) && lives(e, &s.d) && moves(&s.c, &s.far, move) &&
		  (move->dies ? dies(e, &s.c) : lives(e, &s.c)) && lives(e, &s.d);

	lost = el_stat(e->witness, "link_fail") - failed;
	if (ok && lost != move->fails) {
		ktap_note("%llu links have failed", (unsigned long long)lost);
		ok = false;
	}
	if (!ok)
		ktap_note("%s", move->what);
	el_second_end(&s);
	return ok;
}

static bool all_go(struct el_env *e, const struct move *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!goes(e, &all[i]))
			return false;
		el_poll(e->l);
	}
	return true;
}

/* One that means well: or nothing else here would prove anything. */
static bool works(struct el_env *e)
{
	return all_go(e, good_moves, TL_ARRAY_SIZE(good_moves));
}

static bool move_lies(struct el_env *e)
{
	return all_go(e, lies, TL_ARRAY_SIZE(lies));
}

/*
 * It has left the first link in order, and writes over it again. The link that it said it
 * writes to is given up, with all that comes over it; the bytes of both go over the first one.
 */
static bool comes_back(struct el_env *e)
{
	u64 failed = el_stat(e->witness, "link_fail");
	struct el_second s;
	bool ok = begin(e, &s) && lives(e, &s.c) && lives(e, &s.d) &&
		  moves(&s.c, &s.far, &right) && lives(e, &s.c);

	ok = ok && el_go(&s.c, &s.l) && lives(e, &s.c) &&
	     el_go(&s.d, &s.l) && !say_move(&s.d, &right_lost, &s.far) && lives(e, &s.d) &&
	     el_stat(e->witness, "link_fail") == failed + 1;
	el_second_end(&s);
	return ok;
}

/* From link to link and back, faster than anything can be fenced. */
static bool hops(struct el_env *e)
{
	u64 moved = el_stat(e->witness, "link_fail") + el_stat(e->witness, "conn_abort");
	struct el_second s;
	bool ok = begin(e, &s) && lives(e, &s.c) && lives(e, &s.d);

	for (int i = 1; ok && i < 300; i++) {
		struct move m = { .nr = (u8)i, .orderly = i % 3 == 0, .past = 1 };
		struct el_link *from = s.c.link;

		/* until the server makes an end of it */
		if (!el_go(&s.c, from == &s.l ? &s.far : &s.l) || say_move(&s.c, &m, from) ||
		    (i % 2 && el_claim(&s.c, 10)))
			break;
	}
	ok = ok && el_counted(e, &s.l, "link_fail", "conn_abort", moved);
	el_second_end(&s);
	return ok;
}

/* How far has it come, and so far, without end and with any number. */
static bool asks(struct el_env *e)
{
	struct el_second s;
	bool ok = begin(e, &s) && lives(e, &s.c) && lives(e, &s.d);

	for (int i = 0; ok && i < 1000; i++) {
		struct smc_cdc_msg m;

		el_next_cdc(&s.c, &m);
		m.more = SMC_CDC_M_ASK | SMC_CDC_M_HEARD;
		m.heard = (u16)(i * 4711);
		ok = !el_cdc(&s.c, &m);
	}
	ok = ok && sent(s.c.link);
	/* only its own kind is answered; what it hears is how far the server has come */
	for (int i = 0; ok && i < 1000 && s.c.heard.heard != s.c.seq; i++) {
		el_poll(&s.l);
		tl_sleep_ms(5);
	}
	if (ok && s.c.heard.heard != s.c.seq) {
		ktap_note("said %u, heard of %u", s.c.seq, s.c.heard.heard);
		ok = false;
	}
	ok = ok && lives(e, &s.c) && lives(e, &s.d);
	el_second_end(&s);
	return ok;
}

/* ---- what the server wants to move ---- */

static void heard_right(struct el_conn *c)
{
	struct smc_cdc_msg m;

	el_next_cdc(c, &m);
	m.more = SMC_CDC_M_HEARD;
	m.heard = c->heard.seq;
	el_cdc(c, &m);
}

static void heard_wrong(struct el_conn *c)
{
	struct smc_cdc_msg m;

	el_next_cdc(c, &m);
	m.more = SMC_CDC_M_HEARD;
	m.heard = c->heard.seq + 1;
	el_cdc(c, &m);
}

/*
 * Both connections are on the first link, as the second one comes late, and the server
 * (net.smc.smcr_balance) wants to send to one of them over that. It asks first.
 */
static bool balanced(struct el_env *e, void (*asked)(struct el_conn *c), const char *counter)
{
	u64 before = el_stat(e->witness, counter);
	struct el_second s;
	bool ok = el_second_open(e, &s);

	s.l.marked = true;
	s.l.no_add = true;
	s.l.asked = asked;
	ok = ok && !el_meet(e, &s.l, &s.c, 0) && !el_meet(e, &s.l, &s.d, 1) && lives(e, &s.c) &&
	     lives(e, &s.d);
	s.l.no_add = false;
	ok = ok && !offer_second(e, &s) && el_counted(e, &s.l, counter, NULL, before) &&
	     lives(e, &s.c) && lives(e, &s.d) &&
	     el_tell_send(e->witness, s.c.port, 1000) == 1000 &&
	     el_tell_send(e->witness, s.d.port, 1000) == 1000 &&
	     el_await(&s.l, &s.c.heard.prod.off, 999, WAIT_MS) &&
	     el_await(&s.l, &s.d.heard.prod.off, 999, WAIT_MS);
	el_second_end(&s);
	return ok;
}

static bool balance_works(struct el_env *e)
{
	return balanced(e, heard_right, "conn_balance");
}

/* Not a word, or another number: the connection stays, and goes on. */
static bool balance_deaf(struct el_env *e)
{
	return balanced(e, NULL, "conn_stay");
}

static bool balance_lies(struct el_env *e)
{
	return balanced(e, heard_wrong, "conn_stay");
}

/* ---- links, keys ---- */

static void eight_links(struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.fce.max_links = 8;
	smc_marker_set_fce(&a.fce);
	m->len = smc_clc_build_accept(&a, m->buf, sizeof(m->buf));
}

/* However many links it says it can have, it gets those of the server's setting. */
static bool many_links(struct el_env *e)
{
	static const u8 said[] = { 0, 2, 8, 9, 255 };
	struct el_second s;
	bool ok = true;
	int err;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(said); i++) {
		ok = el_second_open(e, &s);
		s.l.marked = true;
		s.l.links = said[i];
		ok = ok && !el_join(&s.l, &s.c, 0) && s.l.agreed == 2 && lives(e, &s.c);
		if (!ok)
			ktap_note("said %u links, agreed on %u", said[i], s.l.agreed);
		el_second_end(&s);
		el_poll(e->l);
	}
	/* and who answers with more than was agreed upon has no connection */
	ok = ok && el_second_open(e, &s);
	if (!ok)
		return false;
	s.l.marked = true;
	s.l.links = 8;
	s.l.spoil_confirm = eight_links;
	err = el_join(&s.l, &s.c, 0);
	if (err != -ECONNREFUSED) {
		ktap_note("a Confirm of eight links: %s", tl_errno_name(-err));
		ok = false;
	}
	el_second_end(&s);
	return ok;
}

#define NEGATIVE	0x20

/* The answer to CONFIRM RKEY, which has to be as wanted. */
static bool answered(struct el_second *s, const void *buf, size_t len, bool negative)
{
	const struct el_seen *seen = &s->l.seen[SMC_LLC_CONFIRM_RKEY][1];
	unsigned int before = seen->count;

	if (el_raw(&s->l, buf, len) || !el_await(&s->l, &seen->count, before, WAIT_MS))
		return false;
	return !!(seen->raw[3] & NEGATIVE) == negative;
}

/* CONFIRM RKEY in the long form: @n other links, the first of them @num with @key. */
static size_t long_rkey(u8 *buf, u32 rkey, u8 n, u8 num, u32 key)
{
	struct smc_llc_msg m = { .type = SMC_LLC_CONFIRM_RKEY, .version = 2 };
	int len;

	m.confirm_rkey.rkey = rkey;
	m.confirm_rkey.vaddr = 0x660000000000ULL;
	m.confirm_rkey.others = n;
	for (int i = 0; i < n; i++) {
		m.confirm_rkey.other[i].link_num = i ? NOBODY + i : num;
		m.confirm_rkey.other[i].rkey = key + i;
		m.confirm_rkey.other[i].vaddr = 0x660000000000ULL;
	}
	len = smc_llc_build(&m, buf, SMC_LLC_V2_MAX_LEN);
	return len < 0 ? 0 : len;
}

static bool long_rkeys(struct el_env *e)
{
	u64 bad = el_stat(e->witness, "rx_llc_bad");
	u8 buf[SMC_LLC_V2_MAX_LEN] = { 0 };
	struct el_second s;
	bool ok = begin(e, &s) && lives(e, &s.c) && lives(e, &s.d);
	size_t len = long_rkey(buf, 0x40000, 8, s.far.num, 0x50000);

	/* more links than were agreed upon, and the last one is cut off, or is not there */
	ok = ok && len == 17 + 8 * 13 && answered(&s, buf, len, true) &&
	     !el_raw(&s.l, buf, len - 1) && !el_raw(&s.l, buf, SMC_LLC_V1_LEN);
	buf[4] = 9;
	ok = ok && !el_raw(&s.l, buf, len + 13) && sent(&s.l);
	/* links that are none are passed over, so many as there may be */
	len = long_rkey(buf, 0x40001, 2, NOBODY, 0x50010);
	ok = ok && answered(&s, buf, len, false);
	/* the link that carries it, as another one */
	len = long_rkey(buf, 0x40002, 2, s.l.num, 0x50020);
	ok = ok && answered(&s, buf, len, true);
	/* the key in use, on the link in use */
	len = long_rkey(buf, s.l.mr->rkey, 1, s.far.num, 0x50030);
	smc_put_be64(buf + 9, (uintptr_t)el_rmb(&s.l));
	ok = ok && answered(&s, buf, len, true);
	if (!ok)
		ktap_note("another answer to CONFIRM RKEY");
	ok = ok && el_stat(e->witness, "rx_llc_bad") == bad + 3 && lives(e, &s.c) &&
	     lives(e, &s.d) && el_tell_send(e->witness, s.d.port, 1000) == 1000 &&
	     el_await(&s.l, &s.d.heard.prod.off, 999, WAIT_MS);
	el_second_end(&s);
	return ok;
}

/* It has a port, it has a port: there is one look per second at most, as the answers show. */
static bool hints(struct el_env *e)
{
	struct smc_llc_msg m = { .type = SMC_LLC_REQ_ADD_LINK, .version = 2 };
	const struct el_seen *seen;
	struct el_second s;
	bool ok = begin(e, &s) && lives(e, &s.c) && lives(e, &s.d);
	u64 secs, from = tl_now_ns();

	/* no further link is possible */
	seen = &s.l.seen[SMC_LLC_REQ_ADD_LINK][1];
	for (int i = 0; ok && i < 300; i++) {
		ok = !el_llc(&s.l, &m);
		if (i % 10 == 0)
			tl_sleep_ms(50);
	}
	ok = ok && sent(&s.l) && el_await(&s.l, &seen->count, 0, WAIT_MS) && lives(e, &s.c) &&
	     lives(e, &s.d);
	secs = (tl_now_ns() - from) / TL_NSEC_PER_SEC;
	if (ok && seen->count > secs + 2) {
		ktap_note("%u answers in %llu s", seen->count, (unsigned long long)secs);
		ok = false;
	}
	el_second_end(&s);
	return ok;
}

const struct el_case el_marked_cases[] = {
	{ "marked_works",	works,		EL_UNHARMED,	"rx_validation", 2, { 0 } },
	{ "marked_move_lies",	move_lies,	EL_UNHARMED,	"rx_validation", 7, { 0 } },
	{ "marked_comes_back",	comes_back,	EL_UNHARMED,	"link_fail", 1, { 0 } },
	{ "marked_hops",	hops,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_asks",	asks,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_balance_works", balance_works, EL_UNHARMED,	"conn_balance", 1, { 0 } },
	{ "marked_balance_deaf", balance_deaf,	EL_UNHARMED,	"conn_stay", 1, { 0 } },
	{ "marked_balance_lies", balance_lies,	EL_UNHARMED,	"conn_stay", 1, { 0 } },
	{ "marked_many_links",	many_links,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_long_rkeys",	long_rkeys,	EL_UNHARMED,	"rx_llc_bad", 3, { 0 } },
	{ "marked_hints",	hints,		EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_marked_cases = TL_ARRAY_SIZE(el_marked_cases);

const struct el_case el_marked_served_cases[] = {
	{ "served_marked_works", works,		EL_UNHARMED,	"rx_validation", 2, { 0 } },
	{ "served_marked_move_lies", move_lies,	EL_UNHARMED,	"rx_validation", 7, { 0 } },
	{ "served_marked_comes_back", comes_back, EL_UNHARMED,	"link_fail", 1, { 0 } },
	{ "served_marked_hops",	hops,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_marked_asks",	asks,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_marked_balance_works", balance_works, EL_UNHARMED, "conn_balance", 1, { 0 } },
	{ "served_marked_balance_deaf", balance_deaf, EL_UNHARMED, "conn_stay", 1, { 0 } },
	{ "served_marked_balance_lies", balance_lies, EL_UNHARMED, "conn_stay", 1, { 0 } },
	{ "served_marked_long_rkeys", long_rkeys, EL_UNHARMED,	"rx_llc_bad", 3, { 0 } },
};

const unsigned int el_nr_marked_served_cases = TL_ARRAY_SIZE(el_marked_served_cases);
