// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on the set-up of a further link: what becomes of one that was accepted. */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		30000	/* the server gives a link up that is not confirmed */
#define LOTS		6	/* moments to delete a link at */

/* Of the case that runs: what spoils an answer is told nothing else. */
static struct el_second *cur;

/**
 * el_second_open() - both ends of ours, before the rendezvous
 * @e: case
 * @s: to be set up; el_second_end() is owed in any case
 *
 * Return: true if they are there.
 */
bool el_second_open(struct el_env *e, struct el_second *s)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->c.fd = -1;
	s->d.fd = -1;
	s->far_t = *e->t;
	s->far_t.local = e->stranger->from;
	err = el_open(&s->l, e->t);
	if (!err)
		err = el_open(&s->far, &s->far_t);
	s->l.far = &s->far;
	s->far.near = &s->l;
	if (err)
		ktap_note("no queue pairs: %s", tl_errno_name(-err));
	return !err;
}

static bool begin(struct el_env *e, struct el_second *s, void (*spoil_add)(struct smc_llc_msg *),
		  void (*spoil_confirm)(struct smc_llc_msg *))
{
	int err;

	cur = s;
	if (!el_second_open(e, s))
		return false;
	s->l.spoil_add = spoil_add;
	s->far.spoil = spoil_confirm;
	err = el_join(&s->l, &s->c, 0);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	return !err;
}

/* All that we have posted has arrived. */
static bool out(const struct el_link *l)
{
	return !l->in_flight && l->status == IBV_WC_SUCCESS;
}

/**
 * el_second_end() - the group goes, in order if one of its links still works
 * @s: from el_second_open()
 */
void el_second_end(struct el_second *s)
{
	struct smc_llc_msg bye = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .all = true, .orderly = true, .reason = SMC_LLC_DEL_PROGRAM },
	};
	u64 until = tl_now_ns() + 2000 * TL_NSEC_PER_MSEC;

	/* the first link may be gone by now */
	if (s->far.num)
		el_llc(&s->far, &bye);
	if (s->l.established)
		el_llc(&s->l, &bye);
	while (s->l.established && !out(&s->l) && !(s->far.num && out(&s->far)) &&
	       tl_now_ns() < until) {
		el_poll(&s->l);
		tl_sleep_ms(2);
	}
	el_leave(&s->c);
	el_leave(&s->d);
	el_close(&s->far);
	el_close(&s->l);
}

/**
 * el_counted() - have two counters gone beyond what they were in sum?
 * @e: case
 * @l: first link of the group that is to live meanwhile
 * @a: a counter
 * @b: another one, or NULL
 * @before: what they were
 *
 * Return: true if so, in time.
 */
bool el_counted(struct el_env *e, struct el_link *l, const char *a, const char *b, u64 before)
{
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;

	do {
		el_poll(l);
		if (el_stat(e->witness, a) + (b ? el_stat(e->witness, b) : 0) > before)
			return true;
		for (int i = 0; i < 20; i++) {
			el_poll(l);
			el_poll(e->l);	/* its other group has to answer TEST LINK */
			tl_sleep_ms(5);
		}
	} while (tl_now_ns() < until);
	ktap_note("nothing counts in %s%s%s", a, b ? ", " : "", b ?: "");
	return false;
}

/* The group that lost what was to be its second link goes on with its first one. */
static bool lives(struct el_env *e, struct el_second *s)
{
	struct el_env beside = *e;

	beside.l = &s->l;
	return el_lives(&beside, &s->c);
}

static bool told(struct el_second *s)
{
	if (el_await(&s->l, &s->l.seen[SMC_LLC_DELETE_LINK][0].count, 0, WAIT_MS))
		return true;
	ktap_note("no DELETE LINK came");
	return false;
}

/* The group is made, and its second link is not; we are told, since we take it for one. */
static bool given_up(struct el_env *e, void (*spoil_add)(struct smc_llc_msg *),
		     void (*spoil_confirm)(struct smc_llc_msg *), bool tell)
{
	u64 before = el_stat(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = begin(e, &s, spoil_add, spoil_confirm) &&
		  el_counted(e, &s.l, "link_add_fail", NULL, before) && (!tell || told(&s)) &&
		  lives(e, &s);

	el_second_end(&s);
	return ok;
}

/* ---- cases ---- */

/* A peer that means well gets its link: or nothing else here would prove anything. */
static bool works(struct el_env *e)
{
	u64 before = el_stat(e->witness, "link_add");
	struct el_second s;
	bool ok = begin(e, &s, NULL, NULL) && el_counted(e, &s.l, "link_add", NULL, before) &&
		  lives(e, &s);

	el_second_end(&s);
	return ok;
}

static void be_silent(struct smc_llc_msg *m)
{
	(void)m;
	cur->far.mute = true;
}

/* It accepts the link, and is not heard over it. */
static bool silent(struct el_env *e)
{
	return given_up(e, be_silent, NULL, true);
}

static void break_qp(struct smc_llc_msg *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)m;
	ibv_modify_qp(cur->far.qp, &attr, IBV_QP_STATE);
}

/* ... and its queue pair breaks when it is to confirm. */
static bool breaks(struct el_env *e)
{
	return given_up(e, NULL, break_qp, true);
}

static void reject_after_all(struct smc_llc_msg *m)
{
	struct smc_llc_msg no = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.response = true,
		.add_link = { .rejected = true, .reason = SMC_LLC_REJ_NO_ALT_PATH },
	};

	no.add_link.link_num = cur->far.num;
	el_llc(&cur->l, &no);
	/* and does not confirm what it has accepted */
	m->confirm_link.qpn ^= 1;
}

/* It accepts the link, and then it does not. */
static bool rejected_later(struct el_env *e)
{
	return given_up(e, NULL, reject_after_all, false);
}

static void say_delete(void)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .link_num = cur->far.num, .reason = SMC_LLC_DEL_LOST_PATH },
	};

	el_llc(&cur->l, &m);
}

static void delete_first(struct smc_llc_msg *m)
{
	(void)m;
	say_delete();
}

static void delete_later(struct smc_llc_msg *m)
{
	(void)m;
}

/*
 * It deletes the link at the moment when it becomes usable: a bit before its confirmation gets
 * out, or a bit after. The link is not made, or it is and goes; the group stays.
 */
static bool deleted(struct el_env *e)
{
	for (int i = 0; i < LOTS; i++) {
		u64 before = el_stat(e->witness, "link_add_fail") + el_stat(e->witness, "link_del");
		struct el_second s;
		bool ok = begin(e, &s, NULL, i % 2 ? delete_first : delete_later);

		ok = ok && el_await(&s.l, &s.far.seen[SMC_LLC_CONFIRM_LINK][0].count, 0, WAIT_MS);
		if (ok && !(i % 2)) {
			tl_sleep_ms(i);
			say_delete();
		}
		ok = ok && el_counted(e, &s.l, "link_add_fail", "link_del", before) && lives(e, &s);
		el_second_end(&s);
		if (!ok) {
			ktap_note("time %d", i);
			return false;
		}
	}
	return true;
}

static void same_end(struct smc_llc_msg *m)
{
	memcpy(m->add_link.gid, cur->l.gid.raw, SMC_GID_LEN);
	memcpy(m->add_link.mac, cur->l.mac, SMC_MAC_LEN);
}

/* It accepts it with the RNIC that the first link has: a parallel link. */
static bool parallel(struct el_env *e)
{
	return given_up(e, same_end, NULL, true);
}

static void other_num(struct smc_llc_msg *m)
{
	m->add_link.link_num ^= 0x40;
}

static void no_mtu(struct smc_llc_msg *m)
{
	m->add_link.mtu = 0xf;
}

static void no_qp(struct smc_llc_msg *m)
{
	m->add_link.qpn = 0;
}

/* What it says of its end is wrong. */
static bool accept_lies(struct el_env *e)
{
	void (*const lies[])(struct smc_llc_msg *) = { other_num, no_mtu, no_qp };

	for (size_t i = 0; i < TL_ARRAY_SIZE(lies); i++) {
		if (!given_up(e, lies[i], NULL, true)) {
			ktap_note("lie %zu", i);
			return false;
		}
	}
	return true;
}

static void confirm_num(struct smc_llc_msg *m)
{
	m->confirm_link.link_num ^= 0x40;
}

static void confirm_qpn(struct smc_llc_msg *m)
{
	m->confirm_link.qpn ^= 1;
}

static void confirm_gid(struct smc_llc_msg *m)
{
	m->confirm_link.gid[SMC_GID_LEN - 1] ^= 1;
}

static void confirm_eyec(struct smc_llc_msg *m)
{
	m->confirm_link.no_eyec = false;
}

/* ... or not what it says over the link. */
static bool confirm_lies(struct el_env *e)
{
	void (*const lies[])(struct smc_llc_msg *) = {
		confirm_num, confirm_qpn, confirm_gid, confirm_eyec,
	};

	for (size_t i = 0; i < TL_ARRAY_SIZE(lies); i++) {
		if (!given_up(e, NULL, lies[i], true)) {
			ktap_note("lie %zu", i);
			return false;
		}
	}
	return true;
}

const struct el_case el_second_cases[] = {
	{ "second_works",	works,		EL_UNHARMED,	"link_asym", 1, { 0 } },
	{ "second_silent",	silent,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_breaks",	breaks,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_rejected_later", rejected_later, EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_deleted",	deleted,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "second_parallel",	parallel,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_accept_lies",	accept_lies,	EL_UNHARMED,	"link_add_fail", 3, { 0 } },
	{ "second_confirm_lies", confirm_lies,	EL_UNHARMED,	"link_add_fail", 4, { 0 } },
};

const unsigned int el_nr_second_cases = TL_ARRAY_SIZE(el_second_cases);
