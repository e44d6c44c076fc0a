// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an Accept or Confirm says of the sender's end, where it joins a group: memory that the
 * group was not told of, and memory and tokens of others. It need not come from the host
 * that the group leads to, so it must not harm anybody there.
 */
#include <errno.h>
#include <string.h>

#include "link.h"

#define MINE		2	/* element of the connection that lies */

/* Of the case that runs: the connection that somebody else has. */
static const struct el_conn *victim;

static void other_address(struct evil_msg *m)
{
	smc_put_be64(m->buf + OFF_VADDR, smc_get_be64(m->buf + OFF_VADDR) + 4096);
}

static void taken_element(struct evil_msg *m)
{
	m->buf[OFF_INDEX] = 1;
}

/* The first element of twice the size: two of the others. */
static void wide_element(struct evil_msg *m)
{
	m->buf[OFF_INDEX] = 1;
	m->buf[OFF_SIZES] |= 0x10;
}

static void taken_token(struct evil_msg *m)
{
	smc_put_be32(m->buf + OFF_TOKEN, victim->token);
}

static const struct lie {
	const char *name;
	void (*tell)(struct evil_msg *m);
} lies[] = {
	/* one WRITE with it would end the link */
	{ "a key that was not told", el_spoil_rkey },
	{ "another address", other_address },
	{ "another's element", taken_element },
	{ "more than its element", wide_element },
	{ "another's token", taken_token },
};

/* As server we get a Decline, which leaves the client TCP; as client a reset. */
static bool refused(struct el_env *e, const struct lie *lie)
{
	u64 before = el_stat(e->witness, "peer_end_bad");
	struct el_conn c = { .fd = -1 };
	enum evil_end end = EVIL_OPEN;
	struct evil_msg m;
	bool ok;
	int err;

	victim = e->a;
	e->l->declined = 0;
	e->l->spoil_confirm = lie->tell;
	err = el_meet(e, e->l, &c, MINE);
	e->l->spoil_confirm = NULL;
	if (!err && !e->served)
		end = el_await_clc(e->l, c.fd, &m);
	el_leave(&c);
	ok = e->served ? err == -ECONNREFUSED && e->l->declined == SMC_CLC_DECL_RTOKEN :
			 end == EVIL_CLOSED;
	ok = ok && el_stat(e->witness, "peer_end_bad") == before + 1;
	if (!ok)
		ktap_note("%s: %s, %s, Decline %08x", lie->name, tl_errno_name(-err),
			  evil_end_name(end), e->l->declined);
	return ok;
}

/* The group's other connections do not notice any of that. */
static bool foreign(struct el_env *e)
{
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(lies); i++)
		ok &= refused(e, &lies[i]) && el_lives(e, e->a) && el_lives(e, e->b);
	return ok;
}

/* One after the other may have an element: the next one when the last one is over. */
static bool used_again(struct el_env *e)
{
	static const struct el_case told = { .may_err = { ECONNRESET } };
	u64 before = el_stat(e->witness, "peer_end_bad");
	bool ok = true;

	for (int i = 0; ok && i < 3; i++) {
		struct el_conn c = { .fd = -1 };
		struct smc_cdc_msg m;

		ok = !el_meet(e, e->l, &c, MINE) && el_lives(e, &c);
		el_next_cdc(&c, &m);
		m.state |= SMC_CDC_S_ABORT;
		ok = ok && !el_cdc(&c, &m) && el_dead(e, &c, &told);
		el_tell_close(e->witness, c.port);
		el_leave(&c);
	}
	return ok && el_stat(e->witness, "peer_end_bad") == before;
}

const struct el_case el_ends_cases[] = {
	{ "ends_foreign",	foreign,	EL_UNHARMED,	"peer_end_bad", 5, { 0 } },
	{ "ends_used_again",	used_again,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const struct el_case el_ends_served_cases[] = {
	{ "served_ends_foreign", foreign,	EL_UNHARMED,	"peer_end_bad", 5, { 0 } },
	{ "served_ends_used_again", used_again,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_ends_cases = TL_ARRAY_SIZE(el_ends_cases);
const unsigned int el_nr_ends_served_cases = TL_ARRAY_SIZE(el_ends_served_cases);
