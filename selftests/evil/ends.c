// SPDX-License-Identifier: GPL-2.0-only
/*
 * An Accept or Confirm of a subsequent contact with a forged end of the sender: an RMB that was
 * not announced to the group, or the RMBE or token of another connection. The message need not
 * come from the peer of the group, so it must not harm the group's connections.
 */
#include <errno.h>
#include <string.h>

#include "link.h"

#define CONN_NR		2	/* index of the connection with the forged end */

/* The running case's connection whose token is forged. */
static const struct el_conn *victim;

static void spoil_address(struct evil_msg *m)
{
	smc_wire_put_be64(m->buf + OFF_VADDR, smc_wire_get_be64(m->buf + OFF_VADDR) + 4096);
}

static void spoil_element(struct evil_msg *m)
{
	m->buf[OFF_INDEX] = 1;
}

/* The first RMBE with twice the size: covers two of the others. */
static void spoil_size(struct evil_msg *m)
{
	m->buf[OFF_INDEX] = 1;
	m->buf[OFF_SIZES] |= 0x10;
}

static void spoil_token(struct evil_msg *m)
{
	smc_wire_put_be32(m->buf + OFF_TOKEN, victim->token);
}

static const struct forgery {
	const char *name;
	void (*spoil)(struct evil_msg *m);
} forged[] = {
	/* one WRITE with it would break the link */
	{ "an rkey that was not announced", el_spoil_rkey },
	{ "another address", spoil_address },
	{ "RMBE of another connection", spoil_element },
	{ "more than its RMBE", spoil_size },
	{ "token of another connection", spoil_token },
};

/* As server we get a Decline, and the client becomes TCP; as client we get a reset. */
static bool check_refused(struct el_env *e, const struct forgery *forgery)
{
	u64 before = el_counter(e->witness, "peer_end_bad");
	struct el_conn c = { .fd = -1 };
	enum evil_end end = EVIL_OPEN;
	struct evil_msg m;
	bool ok;
	int err;

	victim = e->a;
	e->l->declined = 0;
	e->l->spoil_confirm = forgery->spoil;
	err = el_connect(e, e->l, &c, CONN_NR);
	e->l->spoil_confirm = NULL;
	if (!err && !e->served)
		end = el_await_clc(e->l, c.fd, &m);
	el_drop(&c);
	ok = e->served ? err == -ECONNREFUSED && e->l->declined == SMC_CLC_DECL_RTOKEN :
			 end == EVIL_CLOSED;
	ok = ok && el_counter(e->witness, "peer_end_bad") == before + 1;
	if (!ok)
		ktap_note("%s: %s, %s, Decline %08x", forgery->name, tl_errno_name(-err),
			  evil_end_name(end), e->l->declined);
	return ok;
}

/* The other connections of the group keep working. */
static bool ends_foreign(struct el_env *e)
{
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(forged); i++)
		ok &= check_refused(e, &forged[i]) && el_alive(e, e->a) && el_alive(e, e->b);
	return ok;
}

/* An RMBE may be used by one connection after the other, once the last one has ended. */
static bool ends_used_again(struct el_env *e)
{
	static const struct el_case want = { .may_err = { ECONNRESET } };
	u64 before = el_counter(e->witness, "peer_end_bad");
	bool ok = true;

	for (int i = 0; ok && i < 3; i++) {
		struct el_conn c = { .fd = -1 };
		struct smc_cdc_msg m;

		ok = !el_connect(e, e->l, &c, CONN_NR) && el_alive(e, &c);
		el_next_cdc(&c, &m);
		m.state |= SMC_CDC_S_ABORT;
		ok = ok && !el_cdc(&c, &m) && el_failed(e, &c, &want);
		el_order_close(e->witness, c.port);
		el_drop(&c);
	}
	return ok && el_counter(e->witness, "peer_end_bad") == before;
}

const struct el_case el_ends_cases[] = {
	{ "ends_foreign",	ends_foreign,		EL_UNHARMED,	"peer_end_bad", 5, { 0 } },
	{ "ends_used_again",	ends_used_again,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const struct el_case el_ends_served_cases[] = {
	{ "served_ends_foreign", ends_foreign,		EL_UNHARMED,	"peer_end_bad", 5, { 0 } },
	{ "served_ends_used_again", ends_used_again,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_ends_cases = TL_ARRAY_SIZE(el_ends_cases);
const unsigned int el_nr_ends_served_cases = TL_ARRAY_SIZE(el_ends_served_cases);
