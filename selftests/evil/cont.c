// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lies in CONTINUATION messages, which only version 1 has: CONFIRM RKEY with more than two other
 * links is followed by CONFIRM RKEY CONTINUATION, and in ADD LINK both ends send their rtokens in
 * ADD LINK CONTINUATION. The group under attack is another one than that of the case.
 */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		10000
#define RETRIES		10	/* of a request that cannot be served when it comes ... */
#define RETRY_MS	20	/* ... after this time each */
#define REJECTED	0x20	/* flags of an answer */
#define RETRY_LATER	0x10
#define LINKS		8	/* agreed per group, so that CONFIRM RKEY has CONTINUATIONs */
#define KEY		0x50000	/* our RMBs that do not exist */
#define FAR_KEY		0x60000	/* their keys on the further link, plus the place in the list */
#define NO_LINK		0x70	/* numbers of links that do not exist, plus the place */
#define ADDR		0x660000000000ULL

/* Group of the running case, for the functions that change an answer. */
static struct el_second *cur;

static struct smc_llc_msg msg_request(u8 type)
{
	return (struct smc_llc_msg){ .type = type, .version = 1 };
}

/* ---- a group with two links ---- */

static bool group_open(struct el_env *e, struct el_second *s,
		       void (*spoil_add)(struct smc_llc_msg *),
		       bool (*spoil_cont)(struct smc_llc_msg *))
{
	long old;
	int err;

	cur = s;
	if (!el_second_open(e, s))
		return false;
	s->l.links = LINKS;
	s->l.spoil_add = spoil_add;
	s->l.spoil_cont = spoil_cont;
	old = el_order_set(e->witness, "smcr_max_links_per_lgr", LINKS);
	err = el_join(&s->l, &s->c, 0);
	if (el_order_set(e->witness, "smcr_max_links_per_lgr", old) != LINKS || old < 1)
		err = err ?: -EIO;
	if (err)
		ktap_note("no group: %s, queue pair: %s", tl_errno_name(-err),
			  ibv_wc_status_str(s->l.status));
	else if (s->l.agreed != LINKS)
		ktap_note("%u links were agreed", s->l.agreed);
	return !err && s->l.agreed == LINKS;
}

/* Check the connection over the link that we write to. */
static bool conn_works(struct el_env *e, struct el_conn *c)
{
	struct el_env env = *e;
	unsigned int before = c->ncdc;

	env.l = c->link;
	if (!el_alive(&env, c))
		return false;
	/* the module must still find our memory */
	if (el_order_send(e->witness, c->port, 1000) == 1000 &&
	    el_await(&cur->l, &c->ncdc, before, WAIT_MS))
		return true;
	ktap_note("the module does not send");
	return false;
}

/* Make the group with both links, and a connection over each. */
static bool group_begin(struct el_env *e, struct el_second *s,
			bool (*spoil_cont)(struct smc_llc_msg *))
{
	u64 before = el_counter(e->witness, "link_add");
	int err;

	if (!group_open(e, s, NULL, spoil_cont) ||
	    !el_counted(e, &s->l, "link_add", NULL, before))
		return false;
	err = el_join(&s->l, &s->d, 1);
	if (err || s->d.link != &s->far)
		ktap_note("no connection over the further link: %s", tl_errno_name(-err));
	return !err && s->d.link == &s->far;
}

static bool group_works(struct el_env *e, struct el_second *s)
{
	return conn_works(e, &s->c) && conn_works(e, &s->d);
}

/* Check that the further link is given up, while the group goes on. */
static bool given_up(struct el_env *e, void (*spoil_add)(struct smc_llc_msg *),
		     bool (*spoil_cont)(struct smc_llc_msg *))
{
	u64 before = el_counter(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = group_open(e, &s, spoil_add, spoil_cont) &&
		  el_counted(e, &s.l, "link_add_fail", NULL, before) && conn_works(e, &s.c);

	el_second_end(&s);
	return ok;
}

/* ---- CONFIRM RKEY CONTINUATION ---- */

/* Send a request and return the flags of the response, or -1. */
static int flags_of_answer(struct el_link *l, const struct smc_llc_msg *m)
{
	const struct el_seen *seen = &l->seen[m->type][1];
	unsigned int before = seen->count;

	if (!el_llc(l, m) && el_await(l->near ?: l, &seen->count, before, WAIT_MS))
		return seen->raw[3];
	ktap_note("%s is not answered", smc_llc_type_str(m->type));
	return -1;
}

static bool answered(struct el_link *l, const struct smc_llc_msg *m, bool negative)
{
	int flags = flags_of_answer(l, m);

	/*
	 * "Retry later" is right for a moment: while the module's ADD LINK exchange ends, or it
	 * looks for a further link, of which the group might have eight.
	 */
	for (int i = 0; i < RETRIES && flags >= 0 && flags & RETRY_LATER; i++) {
		el_poll(l->near ?: l);
		tl_sleep_ms(RETRY_MS);
		flags = flags_of_answer(l, m);
	}
	if (flags >= 0 && (flags & (REJECTED | RETRY_LATER)) == (negative ? REJECTED : 0))
		return true;
	if (flags >= 0)
		ktap_note("%s: flags %02x", smc_llc_type_str(m->type), flags);
	return false;
}

/* Announce an RMB that is on @others further links, two of which are in this message. */
static bool rkey_begin(struct el_link *l, u32 key, u8 others, bool negative)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_CONFIRM_RKEY);

	m.confirm_rkey.rkey = key;
	m.confirm_rkey.vaddr = ADDR;
	m.confirm_rkey.others = others;
	for (int i = 0; i < others; i++)
		m.confirm_rkey.other[i].link_num = NO_LINK + i;
	return answered(l, &m, negative);
}

/* Continue with @left links of which the first has number @num, the others do not exist. */
static bool rkey_go_on(struct el_link *l, u8 left, u8 num, bool negative)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_CONFIRM_RKEY_CONT);

	m.confirm_rkey_cont.left = left;
	for (int i = 0; i < left && i < SMC_LLC_CONFIRM_RKEY_CONT_LINKS; i++) {
		m.confirm_rkey_cont.other[i].link_num = i ? NO_LINK + i : num;
		m.confirm_rkey_cont.other[i].rkey = FAR_KEY + left;
		m.confirm_rkey_cont.other[i].vaddr = ADDR;
	}
	return answered(l, &m, negative);
}

static bool rkey_delete(struct el_link *l, u32 key, bool negative)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_DELETE_RKEY);
	u8 raw[SMC_LLC_RKEY_LEN];

	smc_llc_list_put_rkey(raw, 0, key);
	m.delete_rkey.count = 1;
	m.delete_rkey.rkeys.count = 1;
	m.delete_rkey.rkeys.raw = raw;
	return answered(l, &m, negative);
}

/* Run an attack in a group with two links, which must work afterwards. */
static bool rkey_run(struct el_env *e, bool (*attack)(struct el_second *))
{
	struct el_second s;
	bool ok = group_begin(e, &s, NULL) && attack(&s) && group_works(e, &s);

	el_second_end(&s);
	return ok;
}

/* A correct series is taken, or the other cases would test nothing. */
static bool series(struct el_second *s)
{
	return rkey_begin(&s->l, KEY, 8, false) && rkey_go_on(&s->l, 6, NO_LINK, false) &&
	       rkey_go_on(&s->l, 3, s->far.num, false) &&
	       rkey_delete(&s->far, FAR_KEY + 3, false) && rkey_delete(&s->l, KEY, true);
}

static bool rkey_works(struct el_env *e)
{
	return rkey_run(e, series);
}

static bool unbegun(struct el_second *s)
{
	return rkey_go_on(&s->l, 3, s->far.num, true) && rkey_go_on(&s->l, 0, 0, true) &&
	       rkey_begin(&s->l, KEY, 2, false) && rkey_go_on(&s->l, 3, s->far.num, true) &&
	       rkey_delete(&s->far, FAR_KEY + 3, true);
}

static bool rkey_unbegun(struct el_env *e)
{
	return rkey_run(e, unbegun);
}

static bool counts(struct el_second *s)
{
	static const u8 lies[] = { 0, 1, 3, 5, 7, 8 };	/* 6 is correct */

	if (!rkey_begin(&s->l, KEY, 8, false))
		return false;
	for (size_t i = 0; i < TL_ARRAY_SIZE(lies); i++) {
		if (!rkey_go_on(&s->l, lies[i], s->far.num, true) ||
		    !rkey_delete(&s->far, FAR_KEY + lies[i], true)) {
			ktap_note("%u links left", lies[i]);
			return false;
		}
	}
	return true;
}

static bool rkey_counts(struct el_env *e)
{
	return rkey_run(e, counts);
}

/* More links than a group can have are no message at all, more than agreed are refused. */
static bool rkey_too_many(struct el_env *e)
{
	u8 raw[SMC_LLC_V1_LEN] = { SMC_LLC_CONFIRM_RKEY, SMC_LLC_V1_LEN };

	for (int n = 9; n < 256; n += 41) {
		raw[4] = n;
		raw[0] = SMC_LLC_CONFIRM_RKEY;
		if (el_raw(e->l, raw, sizeof(raw)))
			return false;
		raw[0] = SMC_LLC_CONFIRM_RKEY_CONT;
		if (el_raw(e->l, raw, sizeof(raw)))
			return false;
	}
	for (u8 others = e->l->agreed + 1; others <= LINKS; others++) {
		if (!rkey_begin(e->l, KEY + others, others, true) ||
		    !rkey_go_on(e->l, others - 2, NO_LINK, true) ||
		    !rkey_delete(e->l, KEY + others, true))
			return false;
	}
	return true;
}

static bool other_link(struct el_second *s)
{
	return rkey_begin(&s->l, KEY, 8, false) && rkey_go_on(&s->far, 6, NO_LINK, true) &&
	       rkey_go_on(&s->far, 6, s->l.num, true) &&
	       rkey_delete(&s->l, FAR_KEY + 6, true) && rkey_delete(&s->l, KEY, false);
}

static bool rkey_other_link(struct el_env *e)
{
	return rkey_run(e, other_link);
}

/* A later part first; a part of a series that another one has replaced. */
static bool order(struct el_second *s)
{
	return rkey_begin(&s->l, KEY, 8, false) && rkey_go_on(&s->l, 3, s->far.num, true) &&
	       rkey_begin(&s->l, KEY + 1, 5, false) && rkey_go_on(&s->l, 6, s->far.num, true) &&
	       rkey_go_on(&s->l, 3, s->far.num, false) &&
	       rkey_delete(&s->l, KEY + 1, false) &&	/* the far key is that of this RMB */
	       rkey_delete(&s->far, FAR_KEY + 3, true) && rkey_delete(&s->l, KEY, false);
}

static bool rkey_order(struct el_env *e)
{
	return rkey_run(e, order);
}

static bool after_end(struct el_second *s)
{
	return rkey_begin(&s->l, KEY, 8, false) && rkey_go_on(&s->l, 6, NO_LINK, false) &&
	       rkey_go_on(&s->l, 3, NO_LINK, false) && rkey_go_on(&s->l, 3, s->far.num, true) &&
	       rkey_go_on(&s->l, 0, 0, true) && rkey_go_on(&s->l, 6, s->far.num, true) &&
	       rkey_delete(&s->far, FAR_KEY + 3, true);
}

static bool rkey_after_end(struct el_env *e)
{
	return rkey_run(e, after_end);
}

/* The link of the message itself has a key already. A refusal ends the series. */
static bool own_link(struct el_second *s)
{
	return rkey_begin(&s->l, KEY, 8, false) && rkey_go_on(&s->l, 6, s->l.num, true) &&
	       rkey_go_on(&s->l, 6, NO_LINK, true) && rkey_go_on(&s->l, 3, NO_LINK, true);
}

static bool rkey_own_link(struct el_env *e)
{
	return rkey_run(e, own_link);
}

/* The RMB that both connections receive in, with another key on the further link. */
static bool redirect(struct el_second *s)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_CONFIRM_RKEY);

	m.confirm_rkey.rkey = s->l.mr->rkey;
	m.confirm_rkey.vaddr = (uintptr_t)el_rmb(&s->l);
	m.confirm_rkey.others = 5;
	m.confirm_rkey.other[0].link_num = NO_LINK;
	m.confirm_rkey.other[1].link_num = NO_LINK + 1;
	return answered(&s->l, &m, false) && rkey_go_on(&s->l, 3, s->far.num, true);
}

static bool rkey_redirect(struct el_env *e)
{
	return rkey_run(e, redirect);
}

static bool deleted(struct el_second *s)
{
	return rkey_begin(&s->l, KEY, 8, false) && rkey_delete(&s->l, KEY, false) &&
	       rkey_go_on(&s->l, 6, s->far.num, true) &&
	       rkey_delete(&s->far, FAR_KEY + 6, true);
}

static bool rkey_deleted(struct el_env *e)
{
	return rkey_run(e, deleted);
}

/* ---- ADD LINK CONTINUATION ---- */

static bool add_works(struct el_env *e)
{
	struct el_second s;
	bool ok = group_begin(e, &s, NULL) && group_works(e, &s);

	el_second_end(&s);
	return ok;
}

static unsigned int parts, left;

/* As many rtokens as can be counted, of RMBs that do not exist. */
static bool spoil_many(struct smc_llc_msg *m)
{
	u8 n = left < SMC_LLC_CONT_PAIRS ? left : SMC_LLC_CONT_PAIRS;

	m->add_link_cont.left = left;
	for (u8 i = parts ? 0 : 1; i < n; i++) {
		m->add_link_cont.pairs[i].ref_rkey = KEY + left - i;
		m->add_link_cont.pairs[i].rkey = FAR_KEY + left - i;
		m->add_link_cont.pairs[i].vaddr = ADDR;
	}
	parts++;
	left -= n;
	return true;
}

static bool add_many(struct el_env *e)
{
	struct el_second s;
	bool ok;

	parts = 0;
	left = 255;
	ok = group_begin(e, &s, spoil_many) && group_works(e, &s);
	el_second_end(&s);
	if (ok && !left && parts >= 128)
		return true;
	ktap_note("%u parts were sent, %u rtokens are left", parts, left);
	return false;
}

static bool spoil_num(struct smc_llc_msg *m)
{
	m->add_link_cont.link_num ^= 0x40;
	return true;
}

static bool add_wrong_link(struct el_env *e)
{
	return given_up(e, NULL, spoil_num);
}

/* The count must shrink by what each message has. */
static bool spoil_grow(struct smc_llc_msg *m)
{
	m->add_link_cont.left = 5;
	parts++;
	return true;
}

static bool add_grows(struct el_env *e)
{
	parts = 0;
	if (!given_up(e, NULL, spoil_grow))
		return false;
	/* the second message is the lie; there must be no third one */
	if (parts == 2)
		return true;
	ktap_note("%u messages were taken", parts);
	return false;
}

static bool spoil_stop(struct smc_llc_msg *m)
{
	m->add_link_cont.left = 255;
	return !parts++;
}

static bool add_stops(struct el_env *e)
{
	parts = 0;
	return given_up(e, NULL, spoil_stop);
}

static bool spoil_over_far(struct smc_llc_msg *m)
{
	el_llc(&cur->far, m);
	return false;
}

static bool add_other_link(struct el_env *e)
{
	return given_up(e, NULL, spoil_over_far);
}

static void spoil_add_early(struct smc_llc_msg *add)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_ADD_LINK_CONT);

	m.response = true;
	m.add_link_cont.link_num = add->add_link.link_num;
	for (int i = 0; i < 20; i++)
		el_llc(&cur->l, &m);
}

static bool spoil_nothing_sent(struct smc_llc_msg *m)
{
	(void)m;
	return false;
}

/* CONTINUATIONs before the answer that they continue, and none when it is their turn. */
static bool add_early(struct el_env *e)
{
	return given_up(e, spoil_add_early, spoil_nothing_sent);
}

/* Send an ADD LINK CONTINUATION for link @num with one pair, the last one. */
bool el_cont_send(struct el_link *l, bool response, u8 num)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_ADD_LINK_CONT);

	m.response = response;
	m.add_link_cont.link_num = num;
	m.add_link_cont.left = 1;
	m.add_link_cont.pairs[0].ref_rkey = l->mr->rkey;
	m.add_link_cont.pairs[0].rkey = FAR_KEY;
	m.add_link_cont.pairs[0].vaddr = ADDR;
	return !el_llc(l, &m) && !el_flush(l, WAIT_MS);
}

static bool add_unbegun(struct el_env *e)
{
	return el_cont_send(e->l, true, e->l->num) && el_cont_send(e->l, true, e->l->num + 1);
}

/* Only a server may send this request. */
static bool add_request(struct el_env *e)
{
	return el_cont_send(e->l, false, e->l->num + 1);
}

/* Other keys for memory in use, when the link is complete. */
static bool add_after_end(struct el_env *e)
{
	struct el_second s;
	bool ok = group_begin(e, &s, NULL) && el_cont_send(&s.l, true, s.far.num) &&
		  group_works(e, &s);

	el_second_end(&s);
	return ok;
}

const struct el_case el_cont_cases[] = {
	{ "cont_rkey_works",	rkey_works,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_unbegun",	rkey_unbegun,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_counts",	rkey_counts,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_too_many",	rkey_too_many,		EL_UNHARMED,	"rx_llc_bad", 14, { 0 } },
	{ "cont_rkey_other_link", rkey_other_link,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_order",	rkey_order,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_after_end", rkey_after_end,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_own_link",	rkey_own_link,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_redirect",	rkey_redirect,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_rkey_deleted",	rkey_deleted,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_add_works",	add_works,		EL_UNHARMED,	"link_add", 1, { 0 } },
	{ "cont_add_many",	add_many,		EL_UNHARMED,	"link_add", 1, { 0 } },
	{ "cont_add_wrong_link", add_wrong_link,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "cont_add_grows",	add_grows,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "cont_add_stops",	add_stops,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "cont_add_other_link", add_other_link,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "cont_add_early",	add_early,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "cont_add_unbegun",	add_unbegun,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "cont_add_request",	add_request,		EL_LINK_DIES,	"rx_llc_bad", 1, { 0 } },
	{ "cont_add_after_end",	add_after_end,		EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_cont_cases = TL_ARRAY_SIZE(el_cont_cases);
