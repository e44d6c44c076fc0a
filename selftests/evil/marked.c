// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by a peer that claims to be a native peer (proto/peer_caps.h) and misuses the messages
 * that only native peers may send. Most of them in both roles. The names of these cases begin
 * with "marked", because the native tag marks a native peer.
 */
#include <errno.h>
#include <string.h>
#include <smc/proto/cdc_imm.h>
#include <smc/proto/peer_caps.h>

#include "link.h"

#define WAIT_MS		10000
#define NO_LINK		0x77	/* a link number that is not in use */

/* Offer the second link as server; as client we get it from the module. */
static int offer_second(struct el_env *e, struct el_second *s)
{
	if (!e->served)
		return 0;
	s->far.num = s->l.num + 1;
	return el_serve_add(e, &s->l, &s->far);
}

/*
 * Make a group of a native peer with two links. The server assigns the first connection to the
 * first link, and the second connection to the other one, which has fewer; so do we as server.
 */
static bool native_begin(struct el_env *e, struct el_second *s)
{
	u64 before = el_counter(e->witness, "link_add");
	int err;

	if (!el_second_open(e, s))
		return false;
	s->l.native = true;
	err = el_connect(e, &s->l, &s->c, 0);
	if (!err)
		err = offer_second(e, s);
	if (!err && !el_counted(e, &s->l, "link_add", NULL, before))
		return false;
	if (!err)
		err = el_connect(e, e->served ? &s->far : &s->l, &s->d, 1);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	if (!err && s->d.link != &s->far) {
		ktap_note("both connections are on one link");
		return false;
	}
	return !err;
}

static bool all_sent(struct el_link *l)
{
	if (!el_flush(l, WAIT_MS))
		return true;
	ktap_note("attack was not sent: %s", ibv_wc_status_str(l->status));
	return false;
}

/* Check the connection over the link that we write to. */
static bool conn_alive(struct el_env *e, struct el_conn *c)
{
	struct el_env env = *e;

	env.l = c->link;
	return el_alive(&env, c);
}

static bool conn_fails(struct el_env *e, struct el_conn *c)
{
	static const struct el_case any = { .name = "" };
	struct el_env env = *e;

	env.l = c->link->near ?: c->link;
	return el_failed(&env, c, &any);
}

/* A failover validation message, correct or forged. */
struct move {
	const char *what;
	u8 prev;		/* previous link: 0: correct, NO_LINK, 1: the new link, 2: none */
	u8 nr;			/* number of the move; 1 is correct */
	u8 past;		/* byte that fills the list of moves; 1: both links in turn */
	u8 past_orderly;
	bool orderly;
	u16 ahead;		/* messages that are announced and were never sent */
	bool dies;		/* the connection must fail, and nothing else */
	bool fails;		/* exactly one link must fail, otherwise none */
};

static u8 move_prev_num(const struct move *m, const struct el_link *from, const struct el_link *to)
{
	switch (m->prev) {
	case 0:
		return from->num;
	case 1:
		return to->num;
	case 2:
		return 0;
	default:
		return m->prev;
	}
}

/* Send the failover validation with which a connection begins on another link. */
static int move_send(struct el_conn *c, const struct move *move, const struct el_link *from)
{
	struct smc_cdc_msg m = {
		.seq = c->seq + move->ahead,
		.token = c->peer_token,
		.flags = SMC_CDC_F_FAILOVER,
		.prev_link = move_prev_num(move, from, c->link),
		.move_count = move->nr,
		.ext = move->orderly ? SMC_CDC_EXT_ORDERLY : 0,
		.older_orderly = move->past_orderly,
	};

	for (int i = 0; i < SMC_CDC_OLDER_LINKS; i++)
		m.older_links[i] = move->past != 1 ? move->past : i % 2 ? from->num : c->link->num;
	return el_cdc(c, &m);
}

static bool move_conn(struct el_conn *c, struct el_link *to, const struct move *move)
{
	struct el_link *from = c->link;

	/* messages over the previous link must arrive before */
	if (!all_sent(from) || !el_move(c, to))
		return false;
	if (move_send(c, move, from)) {
		ktap_note("the validation message was not sent");
		return false;
	}
	return true;
}

static const struct move orderly_move = { .nr = 1, .orderly = true };
static const struct move failed_move = { .nr = 1 };

/* ---- cases ---- */

static const struct move good_moves[] = {
	{ .what = "orderly move", .nr = 1, .orderly = true },
	{ .what = "failover", .nr = 1, .fails = true },
};

static const struct move forged_moves[] = {
	{ .what = "previous link does not exist", .prev = NO_LINK, .nr = 1, .fails = true },
	{ .what = "previous link is the new link", .prev = 1, .nr = 1, .fails = true },
	{ .what = "no previous link", .prev = 2, .nr = 1, .fails = true },
	{ .what = "orderly, with messages that were never sent", .nr = 1, .orderly = true,
	  .ahead = 100, .dies = true },
	{ .what = "the 100th move", .nr = 100, .dies = true },
	{ .what = "the 100th move, orderly", .nr = 100, .orderly = true, .past_orderly = 0x7f,
	  .past = NO_LINK, .dies = true },
	{ .what = "a move before the first one", .nr = 200 },
	{ .what = "a history of links that do not exist", .nr = 8, .past = NO_LINK,
	  .past_orderly = 0x7f, .orderly = true },
	{ .what = "a history of seven moves", .nr = 8, .past = 1, .fails = true },
};

/* Check how many links have failed since the counter was @before. */
static bool check_failed(struct el_env *e, u64 before, u64 want)
{
	u64 lost = el_counter(e->witness, "link_fail") - before;

	if (lost != want)
		ktap_note("%llu links have failed, not %llu", (unsigned long long)lost,
			  (unsigned long long)want);
	return lost == want;
}

/*
 * Move the first connection to the link of the second one. The second one must work afterwards
 * in any case, and the first one unless the forged value concerns its own bytes.
 */
static bool check_move(struct el_env *e, const struct move *move)
{
	bool alone = el_await_alone(e);
	u64 failed = el_counter(e->witness, "link_fail");
	struct el_second s;
	bool ok = alone && native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d) &&
		  move_conn(&s.c, &s.far, move) &&
		  (move->dies ? conn_fails(e, &s.c) : conn_alive(e, &s.c)) &&
		  conn_alive(e, &s.d) && check_failed(e, failed, move->fails);

	if (!ok)
		ktap_note("%s", move->what);
	el_second_end(&s);
	return ok;
}

static bool check_moves(struct el_env *e, const struct move *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!check_move(e, &all[i]))
			return false;
		el_poll(e->l);
	}
	return true;
}

/* Correct moves; without these the other cases would test nothing. */
static bool good_moves_work(struct el_env *e)
{
	return check_moves(e, good_moves, TL_ARRAY_SIZE(good_moves));
}

static bool move_forged(struct el_env *e)
{
	return check_moves(e, forged_moves, TL_ARRAY_SIZE(forged_moves));
}

/*
 * After an orderly move from the first link to the second one, the peer writes over the first
 * one again. The module must fail the second link; both connections continue on the first one.
 */
static bool conn_comes_back(struct el_env *e)
{
	bool alone = el_await_alone(e);
	u64 failed = el_counter(e->witness, "link_fail");
	struct el_second s;
	bool ok = alone && native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d) &&
		  move_conn(&s.c, &s.far, &orderly_move) && conn_alive(e, &s.c);

	ok = ok && el_move(&s.c, &s.l) && conn_alive(e, &s.c) &&
	     el_move(&s.d, &s.l) && !move_send(&s.d, &failed_move, &s.far) && conn_alive(e, &s.d) &&
	     check_failed(e, failed, 1);
	el_second_end(&s);
	return ok;
}

/* Move to and fro, faster than the module can fence a link. */
static bool conn_hops(struct el_env *e)
{
	u64 moved = el_counter(e->witness, "link_fail") + el_counter(e->witness, "conn_abort");
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d);

	for (int i = 1; ok && i < 300; i++) {
		struct move m = { .nr = (u8)i, .orderly = i % 3 == 0, .past = 1 };
		struct el_link *from = s.c.link;

		/* until the server fails the link or the connection */
		if (!el_move(&s.c, from == &s.l ? &s.far : &s.l) || move_send(&s.c, &m, from) ||
		    (i % 2 && el_claim(&s.c, 10)))
			break;
	}
	ok = ok && el_counted(e, &s.l, "link_fail", "conn_abort", moved);
	el_second_end(&s);
	return ok;
}

/* Many SMC_CDC_EXT_ACK_REQ requests, and acknowledgements with any number. */
static bool ask_flood(struct el_env *e)
{
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d);

	for (int i = 0; ok && i < 1000; i++) {
		struct smc_cdc_msg m;

		el_next_cdc(&s.c, &m);
		m.ext = SMC_CDC_EXT_ACK_REQ | SMC_CDC_EXT_ACK;
		m.ack_seq = (u16)(i * 4711);
		ok = !el_cdc(&s.c, &m);
	}
	ok = ok && all_sent(s.c.link);
	/* only native peers are answered; the answer has the number of the last CDC received */
	for (int i = 0; ok && i < 1000 && s.c.cdc.ack_seq != s.c.seq; i++) {
		el_poll(&s.l);
		tl_sleep_ms(5);
	}
	if (ok && s.c.cdc.ack_seq != s.c.seq) {
		ktap_note("sent CDC %u, acknowledged %u", s.c.seq, s.c.cdc.ack_seq);
		ok = false;
	}
	ok = ok && conn_alive(e, &s.c) && conn_alive(e, &s.d);
	el_second_end(&s);
	return ok;
}

/* ---- moves by the server ---- */

static void answer_right(struct el_conn *c)
{
	struct smc_cdc_msg m;

	el_next_cdc(c, &m);
	m.ext = SMC_CDC_EXT_ACK;
	m.ack_seq = c->cdc.seq;
	el_cdc(c, &m);
}

static void answer_wrong(struct el_conn *c)
{
	struct smc_cdc_msg m;

	el_next_cdc(c, &m);
	m.ext = SMC_CDC_EXT_ACK;
	m.ack_seq = c->cdc.seq + 1;
	el_cdc(c, &m);
}

/*
 * Both connections are on the first link, because the second link is added later. The server
 * (net.smc.smcr_balance) then moves one of them, after it has asked for the last CDC received.
 */
static bool check_balance(struct el_env *e, void (*on_ask)(struct el_conn *c), const char *counter)
{
	u64 before = el_counter(e->witness, counter);
	struct el_second s;
	bool ok = el_second_open(e, &s);

	s.l.native = true;
	s.l.no_add = true;
	s.l.on_ask = on_ask;
	ok = ok && !el_connect(e, &s.l, &s.c, 0) && !el_connect(e, &s.l, &s.d, 1) &&
	     conn_alive(e, &s.c) && conn_alive(e, &s.d);
	s.l.no_add = false;
	ok = ok && !offer_second(e, &s) && el_counted(e, &s.l, counter, NULL, before) &&
	     conn_alive(e, &s.c) && conn_alive(e, &s.d) &&
	     el_order_send(e->witness, s.c.port, 1000) == 1000 &&
	     el_order_send(e->witness, s.d.port, 1000) == 1000 &&
	     el_await(&s.l, &s.c.cdc.prod.off, 999, WAIT_MS) &&
	     el_await(&s.l, &s.d.cdc.prod.off, 999, WAIT_MS);
	el_second_end(&s);
	return ok;
}

static bool balance_works(struct el_env *e)
{
	return check_balance(e, answer_right, "conn_balance");
}

/* No answer, or one with another number: the connection stays on its link and works. */
static bool balance_deaf(struct el_env *e)
{
	return check_balance(e, NULL, "conn_stay");
}

static bool balance_forged(struct el_env *e)
{
	return check_balance(e, answer_wrong, "conn_stay");
}

/* ---- links, keys ---- */

static void spoil_eight_links(struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.fce.max_links = 8;
	smc_native_tag_set_fce(&a.fce);
	m->len = smc_clc_build_accept(&a, m->buf, sizeof(m->buf));
}

/* The number of links is the server's setting, whatever number the peer announces. */
static bool many_links(struct el_env *e)
{
	static const u8 announced[] = { 0, 2, 8, 9, 255 };
	struct el_second s;
	bool ok = true;
	int err;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(announced); i++) {
		ok = el_second_open(e, &s);
		s.l.native = true;
		s.l.links = announced[i];
		ok = ok && !el_join(&s.l, &s.c, 0) && s.l.agreed == 2 && conn_alive(e, &s.c);
		if (!ok)
			ktap_note("announced %u links, agreed on %u", announced[i], s.l.agreed);
		el_second_end(&s);
		el_poll(e->l);
	}
	/* a Confirm with more links than agreed is refused */
	ok = ok && el_second_open(e, &s);
	if (!ok)
		return false;
	s.l.native = true;
	s.l.links = 8;
	s.l.spoil_confirm = spoil_eight_links;
	err = el_join(&s.l, &s.c, 0);
	if (err != -ECONNREFUSED) {
		ktap_note("a Confirm of eight links: %s", tl_errno_name(-err));
		ok = false;
	}
	el_second_end(&s);
	return ok;
}

#define NEGATIVE	0x20

/* Send CONFIRM RKEY and check that its answer is negative or not. */
static bool rkey_answered(struct el_second *s, const void *buf, size_t len, bool negative)
{
	const struct el_seen *seen = &s->l.seen[SMC_LLC_CONFIRM_RKEY][1];
	unsigned int before = seen->count;

	if (el_raw(&s->l, buf, len) || !el_await(&s->l, &seen->count, before, WAIT_MS))
		return false;
	return !!(seen->raw[3] & NEGATIVE) == negative;
}

/* Build a long CONFIRM RKEY: @n other links, the first of them @num with @key. */
static size_t build_long_rkey(u8 *buf, u32 rkey, u8 n, u8 num, u32 key)
{
	struct smc_llc_msg m = { .type = SMC_LLC_CONFIRM_RKEY, .version = 2 };
	int len;

	m.confirm_rkey.rkey = rkey;
	m.confirm_rkey.vaddr = 0x660000000000ULL;
	m.confirm_rkey.others = n;
	for (int i = 0; i < n; i++) {
		m.confirm_rkey.other[i].link_num = i ? NO_LINK + i : num;
		m.confirm_rkey.other[i].rkey = key + i;
		m.confirm_rkey.other[i].vaddr = 0x660000000000ULL;
	}
	len = smc_llc_msg_build(&m, buf, SMC_LLC_V2_MAX_LEN);
	return len < 0 ? 0 : len;
}

static bool long_rkeys(struct el_env *e)
{
	u64 bad = el_counter(e->witness, "rx_llc_bad");
	u8 buf[SMC_LLC_V2_MAX_LEN] = { 0 };
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d);
	size_t len = build_long_rkey(buf, 0x40000, 8, s.far.num, 0x50000);

	/* more links than agreed; the last one truncated, or missing */
	ok = ok && len == 17 + 8 * 13 && rkey_answered(&s, buf, len, true) &&
	     !el_raw(&s.l, buf, len - 1) && !el_raw(&s.l, buf, SMC_LLC_V1_LEN);
	buf[4] = 9;
	ok = ok && !el_raw(&s.l, buf, len + 13) && all_sent(&s.l);
	/* links that do not exist are ignored, up to the allowed number */
	len = build_long_rkey(buf, 0x40001, 2, NO_LINK, 0x50010);
	ok = ok && rkey_answered(&s, buf, len, false);
	/* the link of the message as another link */
	len = build_long_rkey(buf, 0x40002, 2, s.l.num, 0x50020);
	ok = ok && rkey_answered(&s, buf, len, true);
	/* the key in use, on the link in use */
	len = build_long_rkey(buf, s.l.mr->rkey, 1, s.far.num, 0x50030);
	smc_wire_put_be64(buf + 9, (uintptr_t)el_rmb(&s.l));
	ok = ok && rkey_answered(&s, buf, len, true);
	if (!ok)
		ktap_note("wrong answer to CONFIRM RKEY");
	ok = ok && el_counter(e->witness, "rx_llc_bad") == bad + 3 && conn_alive(e, &s.c) &&
	     conn_alive(e, &s.d) && el_order_send(e->witness, s.d.port, 1000) == 1000 &&
	     el_await(&s.l, &s.d.cdc.prod.off, 999, WAIT_MS);
	el_second_end(&s);
	return ok;
}

/* Many REQUEST ADD LINKs: the server checks its ports once per second at most. */
static bool request_flood(struct el_env *e)
{
	struct smc_llc_msg m = { .type = SMC_LLC_REQ_ADD_LINK, .version = 2 };
	const struct el_seen *seen;
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d);
	u64 secs, from = tl_now_ns();

	/* no further link is possible */
	seen = &s.l.seen[SMC_LLC_REQ_ADD_LINK][1];
	for (int i = 0; ok && i < 300; i++) {
		ok = !el_llc(&s.l, &m);
		if (i % 10 == 0)
			tl_sleep_ms(50);
	}
	ok = ok && all_sent(&s.l) && el_await(&s.l, &seen->count, 0, WAIT_MS) &&
	     conn_alive(e, &s.c) && conn_alive(e, &s.d);
	secs = (tl_now_ns() - from) / TL_NSEC_PER_SEC;
	if (ok && seen->count > secs + 2) {
		ktap_note("%u answers in %llu s", seen->count, (unsigned long long)secs);
		ok = false;
	}
	el_second_end(&s);
	return ok;
}

/* Post an immediate value for @c that leads @ahead bytes beyond what was announced. */
static bool send_imm(struct el_conn *c, u32 token, u32 ahead)
{
	static const u8 byte;

	return !el_post_imm(c->link, &byte, 0, c->peer_addr, c->peer_rkey,
			    smc_cdc_imm_build(token, c->prod + ahead)) && all_sent(c->link);
}

/*
 * The module has not announced that it takes values, so it has counted and dropped the last @n: the
 * application has read @good bytes as before, and gets the others with the next message.
 */
static bool imms_dropped(struct el_env *e, struct el_conn *c, u64 bad, unsigned int n, u64 good)
{
	struct el_report r;

	if (!el_counted(e, c->link, "rx_cdc_bad", NULL, bad + n - 1) ||
	    !el_ask(e->witness, c->port, 0, 0, &r))
		return false;
	if (r.state != EL_LIVE || r.good != good || r.zero || r.alien) {
		ktap_note("a dropped value had an effect: state %d, %llu bytes instead of %llu",
			  r.state, (unsigned long long)r.good, (unsigned long long)good);
		return false;
	}
	return conn_alive(e, c);
}

/* Immediate values in place of CDC messages: correct ones, and some without a connection. */
static bool imms_work(struct el_env *e)
{
	u64 good, bad = el_counter(e->witness, "rx_cdc_bad");
	unsigned int dropped = e->imms ? 0 : 40;
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d);

	good = s.c.good;
	for (int i = 0; ok && i < 40; i++)
		ok = !el_write_imm(&s.c, 100) && (i % 8 || !el_write(&s.d, 10));
	ok = ok && all_sent(s.c.link) && all_sent(s.d.link) &&
	     (e->imms ? conn_alive(e, &s.c) : imms_dropped(e, &s.c, bad, dropped, good));
	/* no connection has this index */
	ok = ok && send_imm(&s.c, s.c.peer_token ^ 0x80, 1) && conn_alive(e, &s.c) &&
	     conn_alive(e, &s.d) && el_counter(e->witness, "rx_cdc_bad") == bad + dropped + 1;
	el_second_end(&s);
	return ok;
}

/* Values that no message precedes, or that lead beyond the RMBE. */
static bool imms_forged(struct el_env *e)
{
	struct el_second s;
	bool ok = true;

	for (int i = 0; ok && i < 3; i++) {
		u64 bad = el_counter(e->witness, "rx_cdc_bad");

		ok = native_begin(e, &s) && conn_alive(e, &s.d);
		/* before any message; one ring and a byte ahead; as far as 24 bits go */
		ok = ok && (!i || conn_alive(e, &s.c));
		ok = ok && send_imm(&s.c, s.c.peer_token, !i ? 10 : i == 1 ? s.c.peer_len + 1 :
				    0x800000);
		ok = ok && (e->imms ? conn_fails(e, &s.c) :
				      imms_dropped(e, &s.c, bad, 1, s.c.good)) &&
		     conn_alive(e, &s.d);
		if (!ok)
			ktap_note("value %d", i);
		el_second_end(&s);
		el_poll(e->l);
	}
	return ok;
}

/* The first thing over another link is a value: it refers to no message there. */
static bool imm_moved(struct el_env *e)
{
	u64 bad = el_counter(e->witness, "rx_cdc_bad");
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c) && conn_alive(e, &s.d);
	u64 good = s.c.good;

	ok = ok && el_move(&s.c, &s.far) && !el_write_imm(&s.c, 100) && all_sent(&s.far);
	if (e->imms)
		ok = ok && conn_fails(e, &s.c);
	else	/* it was no move either */
		ok = ok && el_move(&s.c, &s.l) && imms_dropped(e, &s.c, bad, 1, good);
	ok = ok && conn_alive(e, &s.d);
	el_second_end(&s);
	return ok;
}

/* CAPABILITIES: bits that nobody knows, lengths, repetitions; nothing of it has an effect. */
static bool caps_forged(struct el_env *e)
{
	struct smc_llc_msg m = { .type = SMC_LLC_CAPS, .version = 1, .caps.bits = 0xfffffffe };
	u64 bad = el_counter(e->witness, "rx_llc_bad");
	u8 buf[SMC_LLC_V1_LEN];
	struct el_second s;
	bool ok = native_begin(e, &s) && conn_alive(e, &s.c);

	for (int i = 0; ok && i < 100; i++)
		ok = !el_llc(&s.l, &m);
	smc_llc_msg_build(&m, buf, sizeof(buf));
	/* of wrong length: malformed; with another OUI: somebody else's, ignored */
	ok = ok && !el_raw(&s.l, buf, sizeof(buf) - 1) && !el_raw(&s.l, buf, sizeof(buf) + 1);
	buf[4] ^= 1;
	ok = ok && !el_raw(&s.l, buf, sizeof(buf)) && all_sent(&s.l) && conn_alive(e, &s.c) &&
	     conn_alive(e, &s.d);
	if (ok && el_counter(e->witness, "rx_llc_bad") != bad + 2) {
		ktap_note("%llu bad messages",
			  (unsigned long long)(el_counter(e->witness, "rx_llc_bad") - bad));
		ok = false;
	}
	el_second_end(&s);
	return ok;
}

/*
 * UPGRADE of a native peer that claims all capabilities. A module that has not announced this one
 * ignores it; one that has says no.
 */
static bool upgrade_claimed(struct el_env *e)
{
	bool (*flood)(struct el_env *e, struct el_link *l) =
		e->upgrade ? el_upgrade_refused : el_upgrade_ignored;
	struct smc_llc_msg m = { .type = SMC_LLC_CAPS, .version = 1, .caps.bits = 0xffffffff };
	struct el_second s;
	bool ok = native_begin(e, &s) && !el_llc(&s.l, &m) && all_sent(&s.l) &&
		  flood(e, &s.l) && conn_alive(e, &s.c) && flood(e, &s.far) &&
		  conn_alive(e, &s.c) && conn_alive(e, &s.d);

	el_second_end(&s);
	return ok;
}

const struct el_case el_marked_cases[] = {
	{ "marked_works",	good_moves_work,	EL_UNHARMED,	"rx_validation", 2, { 0 } },
	{ "marked_move_forged",	move_forged,		EL_UNHARMED,	"rx_validation", 7, { 0 } },
	{ "marked_comes_back",	conn_comes_back,	EL_UNHARMED,	"link_fail", 1, { 0 } },
	{ "marked_hops",	conn_hops,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_asks",	ask_flood,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_balance_works", balance_works,	EL_UNHARMED,	"conn_balance", 1, { 0 } },
	{ "marked_balance_deaf", balance_deaf,		EL_UNHARMED,	"conn_stay", 1, { 0 } },
	{ "marked_balance_forged", balance_forged,	EL_UNHARMED,	"conn_stay", 1, { 0 } },
	{ "marked_many_links",	many_links,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_long_rkeys",	long_rkeys,		EL_UNHARMED,	"rx_llc_bad", 3, { 0 } },
	{ "marked_hints",	request_flood,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "marked_imms",	imms_work,		EL_UNHARMED,	"rx_imm", 40, { 0 } },
	{ "marked_imms_forged",	imms_forged,		EL_UNHARMED,	"rx_cdc_bad", 3, { 0 } },
	{ "marked_imm_moved",	imm_moved,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "marked_caps_forged",	caps_forged,		EL_UNHARMED,	"rx_llc_bad", 2, { 0 } },
	{ "marked_upgrade",	upgrade_claimed,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_marked_cases = TL_ARRAY_SIZE(el_marked_cases);

const struct el_case el_marked_served_cases[] = {
	{ "served_marked_works", good_moves_work,	EL_UNHARMED,	"rx_validation", 2, { 0 } },
	{ "served_marked_move_forged", move_forged,	EL_UNHARMED,	"rx_validation", 7, { 0 } },
	{ "served_marked_comes_back", conn_comes_back,	EL_UNHARMED,	"link_fail", 1, { 0 } },
	{ "served_marked_hops",	conn_hops,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_marked_asks",	ask_flood,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_marked_balance_works", balance_works,	EL_UNHARMED,	"conn_balance", 1, { 0 } },
	{ "served_marked_balance_deaf", balance_deaf,	EL_UNHARMED,	"conn_stay", 1, { 0 } },
	{ "served_marked_balance_forged", balance_forged, EL_UNHARMED,	"conn_stay", 1, { 0 } },
	{ "served_marked_long_rkeys", long_rkeys,	EL_UNHARMED,	"rx_llc_bad", 3, { 0 } },
	{ "served_marked_imms",	imms_work,		EL_UNHARMED,	"rx_imm", 40, { 0 } },
	{ "served_marked_imms_forged", imms_forged,	EL_UNHARMED,	"rx_cdc_bad", 3, { 0 } },
	{ "served_marked_imm_moved", imm_moved,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "served_marked_upgrade", upgrade_claimed,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_marked_served_cases = TL_ARRAY_SIZE(el_marked_served_cases);
