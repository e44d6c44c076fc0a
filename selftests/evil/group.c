// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on the choice of link groups for connections. */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		5000
#define GIVEN_UP_MS	10000	/* limit for a link that does not answer TEST LINK to fail */

/* A group besides that of the case. */
struct other {
	struct el_link l;
	struct el_conn c;
};

/*
 * Make the group with its first connection. Returns 0 only if the server treats it as a first
 * contact. The peer ID is that of the case's group, unless @spoil changes our CONFIRM LINK
 * response.
 */
static int other_open(struct el_env *e, struct other *o, void (*spoil)(struct smc_llc_msg *))
{
	int err = el_open(&o->l, e->t);

	memset(&o->c, 0, sizeof(o->c));
	o->c.fd = -1;
	if (err)
		return err;
	if (!spoil)
		memcpy(o->l.id, e->l->id, sizeof(o->l.id));
	o->l.spoil = spoil;
	err = el_join(&o->l, &o->c, 0);
	/* answer the server's TEST LINK in the old group */
	el_poll(e->l);
	return err;
}

static void other_close(struct other *o)
{
	struct smc_llc_msg bye = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .all = true, .orderly = true, .reason = SMC_LLC_DEL_PROGRAM },
	};

	if (o->l.established && !el_llc(&o->l, &bye))
		el_flush(&o->l, WAIT_MS);
	el_drop(&o->c);
	el_close(&o->l);
}

/* Check a second group of this peer, and the first one. */
static bool new_group_works(struct el_env *e)
{
	struct other o;
	struct el_env env = *e;
	int err = other_open(e, &o, NULL);
	bool ok = !err;

	if (err)
		ktap_note("no further group: %s", tl_errno_name(-err));
	env.l = &o.l;
	ok = ok && el_alive(&env, &o.c) && el_alive(e, e->a);
	other_close(&o);
	return ok;
}

/* Check that the group takes one more connection. */
static bool third_conn_works(struct el_env *e)
{
	struct el_conn c = { .fd = -1 };
	int err = el_join(e->l, &c, 2);
	bool ok = !err && el_alive(e, &c);

	if (err)
		ktap_note("a third connection: %s", tl_errno_name(-err));
	el_drop(&c);
	return ok;
}

/* ---- eye catchers ---- */

static void spoil_eyec(struct smc_llc_msg *m)
{
	m->confirm_link.no_eyec = false;
}

/* A peer that requires eye catchers in our RMBEs is declined with that diagnosis. */
static bool eye_catchers_declined(struct el_env *e)
{
	struct smc_clc_decline d = { .diag = 0 };
	struct evil_msg m;
	struct other o;
	int err = other_open(e, &o, spoil_eyec);
	bool ok = err == -ECONNREFUSED && evil_read(o.c.fd, WAIT_MS, &m) == EVIL_DECLINE &&
		  !smc_clc_parse_decline(m.buf, m.len, &d);

	other_close(&o);
	if (!ok || d.diag != SMC_CLC_DECL_RMBE_EYEC || d.out_of_sync) {
		ktap_note("not declined: %s, reason %08x", tl_errno_name(-err), d.diag);
		return false;
	}
	return true;
}

/* ---- many ---- */

/* Many RMBs that are announced and not used: all are accepted, and connections, too. */
static bool rmbs_many(struct el_env *e)
{
	const struct el_seen *seen = &e->l->seen[SMC_LLC_CONFIRM_RKEY][1];
	struct smc_llc_msg m = { .type = SMC_LLC_CONFIRM_RKEY, .version = 2 };

	m.confirm_rkey.vaddr = 0xffffffffffff0000ULL;
	for (unsigned int i = 1; i < 600; i++) {
		unsigned int before = seen->count;

		m.confirm_rkey.rkey = 0x10000 + i;
		if (el_llc(e->l, &m) || !el_await(e->l, &seen->count, before, WAIT_MS))
			return false;
		if (seen->raw[3] & 0x20) {
			ktap_note("RMB %u is refused", i);
			return false;
		}
	}
	return el_alive(e, e->a) && third_conn_works(e);
}

/* ---- out of sync ---- */

static void decline_instead(struct evil_msg *m)
{
	const struct smc_clc_decline d = {
		.version = 2,
		.out_of_sync = true,
		.diag = SMC_CLC_DECL_SYNC,
		.os = SMC_CLC_OS_LINUX,
	};

	m->len = smc_clc_build_decline(&d, m->buf, sizeof(m->buf));
}

/*
 * A Decline in the name of this peer says that the group is out of sync. Existing connections
 * must not fail; new connections use another group.
 */
static bool out_of_sync(struct el_env *e)
{
	struct el_conn c = { .fd = -1 };
	int err;

	if (!third_conn_works(e))
		return false;
	e->l->spoil_confirm = decline_instead;
	err = el_join(e->l, &c, 2);
	e->l->spoil_confirm = NULL;
	el_drop(&c);
	if (err) {
		ktap_note("no Accept to be declined: %s", tl_errno_name(-err));
		return false;
	}
	/* long enough for a link that does not answer to fail */
	for (u64 until = tl_now_ns() + GIVEN_UP_MS * TL_NSEC_PER_MSEC; tl_now_ns() < until;) {
		el_poll(e->l);
		tl_sleep_ms(5);
	}
	return new_group_works(e);
}

/*
 * A client with this peer's ID and GID, but with another address of its TCP connection: it gets
 * a group of its own, and its messages affect only that group.
 */
static bool other_address(struct el_env *e)
{
	struct el_env other = *e;
	struct el_conn c = { .fd = -1 };
	struct other o;
	int err;

	other.t = e->other;
	err = other_open(&other, &o, NULL);
	if (!err) {
		o.l.spoil_confirm = decline_instead;
		err = el_join(&o.l, &c, 1);
	}
	if (err)
		ktap_note("from another address: %s", tl_errno_name(-err));
	el_drop(&c);
	other_close(&o);
	return !err && el_alive(e, e->a) && third_conn_works(e);
}

const struct el_case el_group_cases[] = {
	{ "group_eye_catchers",	eye_catchers_declined,	EL_UNHARMED,	"lgr_term", 1, { 0 } },
	{ "group_rmbs_many",	rmbs_many,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "group_other_address", other_address,		EL_UNHARMED,	"first_contact", 1, { 0 } },
	{ "group_out_of_sync",	out_of_sync,		EL_UNHARMED,	"first_contact", 1, { 0 } },
};

const unsigned int el_nr_group_cases = TL_ARRAY_SIZE(el_group_cases);
