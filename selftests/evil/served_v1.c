// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks of a hostile server that only a group of version 1 permits: lies about the number of
 * links, which CONFIRM LINK has there, and in ADD LINK CONTINUATION, in which the rtokens of a
 * further link are sent. CONFIRM RKEY CONTINUATION is read by the same code in both roles: cont.c
 * has it.
 */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		10000
#define SHORT_MS	1000	/* limit for an answer that need not come */
#define MANY		255	/* rtokens; the count of one message has no room for more */
#define LINKS_MOST	2	/* net.smc.smcr_max_links_per_lgr of the client in a case */

/* Group of the running case, for the functions that change a message. */
static struct el_second *cur;

static u8 links_said;

static void spoil_links(struct smc_llc_msg *m)
{
	m->confirm_link.max_links = links_said;
}

/*
 * More links than a group can have, or 0: the client goes on with its own limit, which is the
 * same as that of a server that says nothing.
 */
static bool confirm_links(struct el_env *e)
{
	static const u8 values[] = { 0, LINKS_MOST + 1, 9, 255 };
	long old = el_order_set(e->witness, "smcr_max_links_per_lgr", LINKS_MOST);
	bool ok = old > LINKS_MOST;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(values); i++) {
		struct el_link third = { 0 };
		struct el_second s;

		cur = &s;
		links_said = values[i];
		ok = el_second_open(e, &s);
		s.far.num = 2;
		s.l.spoil = spoil_links;
		ok = ok && !el_serve_join(e, &s.l, &s.c, 0) &&
		     el_served_open_third(e, &s, &third) && !el_serve_add(e, &s.l, &s.far) &&
		     el_served_refuses(e, &s, &third);
		if (!ok)
			ktap_note("%u links", values[i]);
		s.far.far = NULL;
		el_second_end(&s);
		el_close(&third);
	}
	return el_order_set(e->witness, "smcr_max_links_per_lgr", old) == LINKS_MOST && ok;
}

/* ---- ADD LINK CONTINUATION ---- */

/* Check that the client gives the link up, says so, and that the group goes on. */
static bool given_up(struct el_env *e, bool (*spoil)(struct smc_llc_msg *))
{
	u64 before = el_counter(e->witness, "link_add_fail");
	u64 added = el_counter(e->witness, "link_add");
	struct el_second s;
	bool ok;

	cur = &s;
	ok = el_served_begin(e, &s, 0, true);
	s.l.spoil_cont = spoil;
	s.l.timeout_ms = SHORT_MS;
	ok = ok && el_serve_offer(e, &s.l, &s.far) &&
	     el_counted(e, &s.l, "link_add_fail", NULL, before) &&
	     el_await(&s.l, &s.l.seen[SMC_LLC_DELETE_LINK][0].count, 0, WAIT_MS) &&
	     el_served_alive(e, &s.c) && el_served_receives(e, &s.c, 0) &&
	     el_counter(e->witness, "link_add") == added;
	el_second_end(&s);
	return ok;
}

static bool spoil_num(struct smc_llc_msg *m)
{
	m->add_link_cont.link_num ^= 0x40;
	return true;
}

static bool cont_wrong_link(struct el_env *e)
{
	return given_up(e, spoil_num);
}

static unsigned int parts, left;

/* The count must shrink by what each message has. */
static bool spoil_grow(struct smc_llc_msg *m)
{
	m->add_link_cont.left = 5;
	parts++;
	return true;
}

static bool cont_grows(struct el_env *e)
{
	parts = 0;
	if (!given_up(e, spoil_grow))
		return false;
	/* the second message is the lie */
	if (parts == 2)
		return true;
	ktap_note("%u messages were taken", parts);
	return false;
}

static bool spoil_stop(struct smc_llc_msg *m)
{
	m->add_link_cont.left = MANY;
	return !parts++;
}

static bool cont_stops(struct el_env *e)
{
	parts = 0;
	return given_up(e, spoil_stop);
}

/* Nothing may come over a link before it is confirmed. */
static bool spoil_over_far(struct smc_llc_msg *m)
{
	el_llc(&cur->far, m);
	return false;
}

static bool cont_other_link(struct el_env *e)
{
	return given_up(e, spoil_over_far);
}

/* As many rtokens as can be counted, of RMBs that do not exist; and ours. */
static bool spoil_many(struct smc_llc_msg *m)
{
	u8 n = left < SMC_LLC_CONT_PAIRS ? left : SMC_LLC_CONT_PAIRS;

	m->add_link_cont.left = left;
	for (u8 i = parts ? 0 : 1; i < n; i++) {
		m->add_link_cont.pairs[i].ref_rkey = 0x50000 + left - i;
		m->add_link_cont.pairs[i].rkey = 0x60000 + left - i;
		m->add_link_cont.pairs[i].vaddr = 0x1000;
	}
	parts++;
	left -= n;
	return true;
}

static bool cont_many(struct el_env *e)
{
	struct el_second s;
	bool ok;

	cur = &s;
	parts = 0;
	left = MANY;
	ok = el_served_begin(e, &s, 0, true);
	s.l.spoil_cont = spoil_many;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && !el_serve_join(e, &s.far, &s.d, 1) &&
	     el_served_alive(e, &s.d) && el_served_receives(e, &s.d, 1) &&
	     el_served_alive(e, &s.c);
	el_second_end(&s);
	if (ok && !left)
		return true;
	ktap_note("%u parts were sent, %u rtokens are left", parts, left);
	return false;
}

/* Without ADD LINK: for the only link, and for one that does not exist. */
static bool cont_unbegun(struct el_env *e)
{
	return el_cont_send(e->l, false, e->l->num) && el_cont_send(e->l, false, e->l->num + 1);
}

/* Only a client answers. */
static bool cont_answer(struct el_env *e)
{
	return el_cont_send(e->l, true, e->l->num + 1);
}

/* Other keys for memory in use, when the link is complete. */
static bool cont_after_end(struct el_env *e)
{
	struct el_second s;
	bool ok;

	cur = &s;
	ok = el_served_begin(e, &s, 0, true) && !el_serve_add(e, &s.l, &s.far) &&
	     !el_serve_join(e, &s.far, &s.d, 1) && el_cont_send(&s.l, false, s.far.num) &&
	     el_served_alive(e, &s.d) && el_served_receives(e, &s.d, 1) &&
	     el_served_alive(e, &s.c);
	el_second_end(&s);
	return ok;
}

/* ---- the Accept ---- */

static void spoil_to_v2(struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.version = 2;
	memset(a.reserved, 0, sizeof(a.reserved));
	memset(a.eid, ' ', sizeof(a.eid));
	memcpy(a.eid, "SMCV2-DEFAULT-UEID", strlen("SMCV2-DEFAULT-UEID"));
	m->len = smc_clc_build_accept(&a, m->buf, sizeof(m->buf));
}

/* The Accept of a subsequent contact is of the other version: the client has no such group. */
static bool other_version(struct el_env *e)
{
	struct el_conn c;
	bool ok;
	int err;

	e->l->spoil_confirm = spoil_to_v2;
	err = el_serve_join(e, e->l, &c, 2);
	e->l->spoil_confirm = NULL;
	ok = err == -ECONNREFUSED && e->l->declined == SMC_CLC_DECL_SYNC;
	if (!ok)
		ktap_note("%s, Decline %08x", tl_errno_name(-err), e->l->declined);
	el_order_close(e->witness, c.port);
	el_drop(&c);
	return ok;
}

const struct el_case el_served_v1_cases[] = {
	{ "served_confirm_links", confirm_links,	EL_UNHARMED,	"link_reject", 4, { 0 } },
	{ "served_cont_wrong_link", cont_wrong_link,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "served_cont_grows",	cont_grows,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "served_cont_stops",	cont_stops,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "served_cont_other_link", cont_other_link,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "served_cont_many",	cont_many,		EL_UNHARMED,	"link_add", 1, { 0 } },
	{ "served_cont_unbegun", cont_unbegun,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_cont_answer",	cont_answer,		EL_LINK_DIES,	"rx_llc_bad", 1, { 0 } },
	{ "served_cont_after_end", cont_after_end,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_other_version", other_version,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_served_v1_cases = TL_ARRAY_SIZE(el_served_v1_cases);
