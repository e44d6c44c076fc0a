// SPDX-License-Identifier: GPL-2.0-only
/* Attacks with CDC messages, and over the TCP connection (clcsock) of an SMC connection. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "link.h"

#define WAIT_MS		10000

/* ---- tokens and form ---- */

static bool all_sent(struct el_env *e)
{
	if (!el_flush(e->l, WAIT_MS))
		return true;
	ktap_note("attack was not sent: %s", ibv_wc_status_str(e->l->status));
	return false;
}

/* Send a message with @token that ends the connection of that token. */
static bool send_with_token(struct el_env *e, u32 token)
{
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	e->a->seq--;
	m.token = token;
	m.state = SMC_CDC_S_ABORT;
	return !el_cdc(e->a, &m);
}

static bool unknown_token(struct el_env *e)
{
	u32 t = e->a->peer_token;

	/* the same index in the table with another generation, no index, random tokens */
	return send_with_token(e, t ^ 0x100) && send_with_token(e, t ^ 0x80000000) &&
	       send_with_token(e, 0) && send_with_token(e, 0xffffffff) &&
	       send_with_token(e, 0x12345678) && all_sent(e);
}

/* The token of a working connection in another group. */
static bool foreign_token(struct el_env *e)
{
	struct el_link other;
	struct el_conn c = { .fd = -1 };
	struct el_env oe = { .t = e->t, .witness = e->witness, .l = &other, .a = &c };
	bool ok = !el_open(&other, e->t) && !el_join(&other, &c, 0) && el_alive(&oe, &c) &&
		  send_with_token(e, c.peer_token) && all_sent(e) && el_alive(&oe, &c);

	el_order_close(e->witness, c.port);
	el_drop(&c);
	el_close(&other);
	return ok;
}

static bool bad_length(struct el_env *e)
{
	static const u16 lengths[] = { 1, 2, 43, 45, 64, 65, 1000, 8192 };
	static u8 buf[SMC_LLC_V2_MAX_LEN];
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	e->a->seq--;
	m.state = SMC_CDC_S_ABORT;
	smc_cdc_msg_build(&m, buf, sizeof(buf));
	for (size_t i = 0; i < TL_ARRAY_SIZE(lengths); i++) {
		if (el_raw(e->l, buf, lengths[i]))
			return false;
	}
	for (int len = 0; len < 256; len += 43) {	/* 43 is not 44 */
		buf[1] = len;
		if (el_raw(e->l, buf, SMC_CDC_LEN))
			return false;
	}
	return el_raw(e->l, buf, 0) == 0 && all_sent(e);
}

/* Reserved bits and bytes must be ignored. */
static bool reserved_bits(struct el_env *e)
{
	u8 buf[SMC_CDC_LEN];
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	smc_cdc_msg_build(&m, buf, sizeof(buf));
	buf[24] |= 0x07;
	buf[25] |= 0x1f;
	memset(buf + 26, 0xff, sizeof(buf) - 26);
	memset(buf + 8, 0xff, 2);
	memset(buf + 16, 0xff, 2);
	return !el_raw(e->l, buf, sizeof(buf)) && all_sent(e);
}

/* ---- cursors ---- */

/* Send the next message with other cursors; NULL: the correct one. */
static bool send_with_cursors(struct el_env *e, const struct smc_cdc_cursor *prod,
			      const struct smc_cdc_cursor *cons)
{
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	if (prod)
		m.prod = *prod;
	if (cons)
		m.cons = *cons;
	return !el_cdc(e->a, &m) && all_sent(e);
}

static bool prod_beyond_ring(struct el_env *e)
{
	struct smc_cdc_cursor prod = { 0, e->a->peer_len };

	return send_with_cursors(e, &prod, NULL);
}

static bool prod_huge(struct el_env *e)
{
	struct smc_cdc_cursor prod = { 0xffff, 0xffffffff };

	return send_with_cursors(e, &prod, NULL);
}

/* One byte more than the free space of the ring. */
static bool prod_too_far(struct el_env *e)
{
	struct smc_cdc_cursor prod = { 1, (u32)e->a->prod + 1 };

	return send_with_cursors(e, &prod, NULL);
}

static bool prod_wrap_forged(struct el_env *e)
{
	struct smc_cdc_cursor prod = { 5, (u32)e->a->prod };

	return send_with_cursors(e, &prod, NULL);
}

/* A position before the first byte. */
static bool prod_before_start(struct el_env *e)
{
	struct smc_cdc_cursor prod = { 0xffff, e->a->peer_len - 1 };

	return send_with_cursors(e, &prod, NULL);
}

/* A repeated position, as after failover: no effect, and no byte is read twice. */
static bool prod_backwards(struct el_env *e)
{
	struct smc_cdc_cursor prod = { 0, 50 };

	return send_with_cursors(e, &prod, NULL) && send_with_cursors(e, NULL, NULL);
}

static bool cons_beyond_ring(struct el_env *e)
{
	struct smc_cdc_cursor cons = { 0, EL_ELEM_LEN };

	return send_with_cursors(e, NULL, &cons);
}

static bool cons_ahead(struct el_env *e)
{
	struct smc_cdc_cursor cons = { 0, 1 };

	return send_with_cursors(e, NULL, &cons);	/* the application has sent nothing */
}

static bool cons_ahead_of_data(struct el_env *e)
{
	struct smc_cdc_cursor cons = { 0, 5001 };

	if (el_order_send(e->witness, e->a->port, 5000) != 5000 ||
	    !el_await(e->l, &e->a->ncdc, e->a->ncdc, WAIT_MS))
		return false;
	return send_with_cursors(e, NULL, &cons);
}

static bool cons_wrap_forged(struct el_env *e)
{
	struct smc_cdc_cursor cons = { 7, 0 };

	return send_with_cursors(e, NULL, &cons);
}

/* ---- sequence numbers ---- */

/* A large gap, less than half the number space, is allowed. Older numbers then are ignored. */
static bool seq_jump(struct el_env *e)
{
	struct smc_cdc_msg m;
	bool ok;

	e->a->seq += 0x7000;
	ok = el_write(e->a, 100) == 0;
	el_next_cdc(e->a, &m);
	m.seq = e->a->seq - 0x6000;
	m.state = SMC_CDC_S_ABORT;
	m.prod.off = e->a->peer_len - 1;
	return ok && !el_cdc(e->a, &m) && all_sent(e);
}

/* The same message a hundred times, and an old sequence number with other content. */
static bool seq_replay(struct el_env *e)
{
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	for (int i = 0; i < 100; i++) {
		if (el_cdc(e->a, &m))
			return false;
	}
	m.seq -= 2;
	m.state = SMC_CDC_S_CLOSED;
	return !el_cdc(e->a, &m) && all_sent(e);
}

/* Failover validation although there is no other link and no message was lost. */
static bool failover_forged(struct el_env *e)
{
	struct smc_cdc_msg m = {
		.seq = e->a->seq + 100,
		.token = e->a->peer_token,
		.flags = SMC_CDC_F_FAILOVER,
	};

	return !el_cdc(e->a, &m) && all_sent(e);
}

/* ---- state flags ---- */

static bool send_with_state(struct el_env *e, u8 state)
{
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	m.state = state;
	return !el_cdc(e->a, &m) && all_sent(e);
}

static bool data_after_done(struct el_env *e)
{
	return send_with_state(e, SMC_CDC_S_DONE) && !el_write(e->a, 100) && all_sent(e);
}

static bool data_after_closed(struct el_env *e)
{
	return send_with_state(e, SMC_CDC_S_CLOSED) && !el_write(e->a, 100) && all_sent(e);
}

static bool all_after_abort(struct el_env *e)
{
	return send_with_state(e, SMC_CDC_S_ABORT) && send_with_state(e, SMC_CDC_S_ALL) &&
	       !el_write(e->a, 100) && send_with_state(e, 0) && all_sent(e);
}

static bool all_flags_at_once(struct el_env *e)
{
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	m.flags = SMC_CDC_F_ALL & ~SMC_CDC_F_FAILOVER;
	m.state = SMC_CDC_S_ALL;
	return !el_cdc(e->a, &m) && all_sent(e);
}

static bool urgent_nonsense(struct el_env *e)
{
	for (int i = 0; i < 50; i++) {
		struct smc_cdc_msg m;

		el_next_cdc(e->a, &m);
		m.flags = SMC_CDC_F_URG_PENDING | (i & 1 ? SMC_CDC_F_URG_PRESENT : 0) |
			  SMC_CDC_F_BLOCKED | SMC_CDC_F_UPDATE_REQ;
		if (el_cdc(e->a, &m))
			return false;
	}
	return all_sent(e);
}

/* ---- many ---- */

/* As fast as the RNIC sends: empty messages, update requests, unknown tokens. */
static bool cdc_flood(struct el_env *e)
{
	for (int i = 0; i < 3000; i++) {
		struct smc_cdc_msg m;

		el_next_cdc(e->a, &m);
		if (i % 3 == 1)
			m.flags = SMC_CDC_F_UPDATE_REQ;
		if (i % 3 == 2)
			m.token ^= 0x5500;
		if (el_cdc(e->a, &m))
			return false;
	}
	return all_sent(e);
}

/*
 * Announce bytes that were never written: the application reads the content of the RMBE, which
 * must not have bytes of another connection. Therefore the RMBE is one that was used before.
 */
static bool claimed_not_written(struct el_env *e)
{
	struct el_report r;
	u64 addr = e->b->peer_addr;
	bool again = false;

	for (int i = 0; i < 20 && !again; i++) {
		struct smc_cdc_msg m;

		/* close b in order, so that the next connection may get its RMBE */
		if (el_write(e->b, 20000) || el_flush(e->l, WAIT_MS) ||
		    !el_ask(e->witness, e->b->port, e->b->prod, WAIT_MS, &r))
			return false;
		el_next_cdc(e->b, &m);
		m.state = SMC_CDC_S_DONE | SMC_CDC_S_CLOSED;
		if (el_cdc(e->b, &m) || !all_sent(e))
			return false;
		el_order_close(e->witness, e->b->port);
		el_drop(e->b);
		if (el_join(e->l, e->b, 1))
			return false;
		again = e->b->peer_addr == addr;
		addr = e->b->peer_addr;
	}
	if (!again) {
		ktap_note("no RMBE was used again");
		return false;
	}
	if (el_claim(e->b, 20000) || !all_sent(e) ||
	    !el_ask(e->witness, e->b->port, 20000, WAIT_MS, &r))
		return false;
	/* the pattern of el_write() has zero bytes, too */
	if (r.alien || r.zero + r.good != 20000 || r.good > 500) {
		ktap_note("%llu bytes of another connection",
			  (unsigned long long)(r.alien + r.good));
		return false;
	}
	return true;
}

/* ---- the clcsock of an SMC connection ---- */

static bool clcsock_bytes(struct el_env *e)
{
	struct evil_msg m;

	evil_proposal(&m, &e->t->local);
	if (tl_send_all(e->a->fd, m.buf, m.len) < 0)
		return false;
	evil_garbage(&m, 0x66, sizeof(m.buf));
	return tl_send_all(e->a->fd, m.buf, m.len) > 0;
}

static bool clcsock_reset(struct el_env *e)
{
	evil_reset(e->a->fd);
	e->a->fd = -1;
	return true;
}

const struct el_case el_cdc_cases[] = {
	{ "cdc_unknown_token",	unknown_token,		EL_UNHARMED,	"rx_cdc_bad", 5, { 0 } },
	{ "cdc_foreign_token",	foreign_token,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_bad_length",	bad_length,		EL_UNHARMED,	"rx_cdc_bad", 14, { 0 } },
	{ "cdc_reserved_bits",	reserved_bits,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cdc_prod_beyond_ring", prod_beyond_ring,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_prod_huge",	prod_huge,		EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_prod_too_far",	prod_too_far,		EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_prod_wrap_forged", prod_wrap_forged,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_prod_before_start", prod_before_start,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_prod_backwards",	prod_backwards,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cdc_cons_beyond_ring", cons_beyond_ring,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_cons_ahead",	cons_ahead,		EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_cons_ahead_of_data", cons_ahead_of_data,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_cons_wrap_forged", cons_wrap_forged,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_seq_jump",	seq_jump,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cdc_seq_replay",	seq_replay,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cdc_failover_forged", failover_forged,	EL_CONN_DIES,	"conn_abort", 1, { 0 } },
	{ "cdc_data_after_done", data_after_done,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_data_after_closed", data_after_closed,	EL_CONN_DIES,	"rx_cdc_bad", 1, { 0 } },
	{ "cdc_all_after_abort", all_after_abort,	EL_CONN_DIES,	"conn_abort", 1,
	  { ECONNRESET } },
	/* SMC_CDC_S_DONE is set, so the reset comes after the peer's shutdown */
	{ "cdc_all_flags",	all_flags_at_once,	EL_CONN_DIES,	"conn_abort", 1,
	  { EPIPE } },
	{ "cdc_urgent_nonsense", urgent_nonsense,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cdc_flood",		cdc_flood,		EL_UNHARMED,	"rx_cdc", 3000, { 0 } },
	{ "cdc_claimed_not_written", claimed_not_written, EL_CHECKED,	NULL, 0, { 0 } },
	{ "clcsock_bytes",	clcsock_bytes,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "clcsock_reset",	clcsock_reset,		EL_CONN_DIES,	"conn_abort", 1,
	  { ECONNRESET } },
};

const unsigned int el_nr_cdc_cases = TL_ARRAY_SIZE(el_cdc_cases);
