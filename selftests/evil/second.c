// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on the set-up of a further link that we have accepted. */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		30000	/* the server removes a link that is not confirmed */
#define MOMENTS		6	/* moments to delete a link at */

/* Group of the running case, for the functions that change an answer. */
static struct el_second *cur;

/**
 * el_second_open() - open our ends of both links, before the rendezvous
 * @e: case
 * @s: initialized here; el_second_end() is required also after an error
 *
 * Return: true on success.
 */
bool el_second_open(struct el_env *e, struct el_second *s)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->c.fd = -1;
	s->d.fd = -1;
	s->far_t = *e->t;
	s->far_t.local = e->other->from;
	err = el_open(&s->l, e->t);
	if (!err)
		err = el_open(&s->far, &s->far_t);
	s->l.v1 = e->l->v1;
	s->l.native = s->l.v1;
	s->l.far = &s->far;
	s->far.near = &s->l;
	if (err)
		ktap_note("no queue pairs: %s", tl_errno_name(-err));
	return !err;
}

static bool second_begin(struct el_env *e, struct el_second *s,
			 void (*spoil_add)(struct smc_llc_msg *),
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

/* All posted requests have completed without error. */
static bool link_drained(const struct el_link *l)
{
	return !l->in_flight && l->status == IBV_WC_SUCCESS;
}

/**
 * el_second_end() - end the group, in order if one of its links still works
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

	/* the first link may have been removed */
	if (s->far.num)
		el_llc(&s->far, &bye);
	if (s->l.established)
		el_llc(&s->l, &bye);
	while (s->l.established && !link_drained(&s->l) && !(s->far.num && link_drained(&s->far)) &&
	       tl_now_ns() < until) {
		el_poll(&s->l);
		tl_sleep_ms(2);
	}
	el_drop(&s->c);
	el_drop(&s->d);
	el_close(&s->far);
	el_close(&s->l);
}

/**
 * el_await_alone() - wait until all groups of earlier cases have ended
 * @e: case; its group has been made
 *
 * For a case that counts links: those of a group that did not end in order fail some time later.
 *
 * Return: true if there are only the groups of the good client and of the case.
 */
bool el_await_alone(struct el_env *e)
{
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;

	while (el_groups(e->witness) > EL_OTHERS) {
		if (tl_now_ns() >= until) {
			ktap_note("groups of earlier cases are left");
			return false;
		}
		el_poll(e->l);
		tl_sleep_ms(5);
	}
	return true;
}

/**
 * el_counted() - wait until a counter, or the sum of two, has grown
 * @e: case
 * @l: first link of a group to poll meanwhile, so that it answers requests
 * @a: a counter
 * @b: another one, or NULL
 * @before: previous value or sum
 *
 * Return: true if it has grown in time.
 */
bool el_counted(struct el_env *e, struct el_link *l, const char *a, const char *b, u64 before)
{
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;

	do {
		el_poll(l);
		if (el_counter(e->witness, a) + (b ? el_counter(e->witness, b) : 0) > before)
			return true;
		for (int i = 0; i < 20; i++) {
			el_poll(l);
			el_poll(e->l);	/* answers TEST LINK in the group of the case */
			tl_sleep_ms(5);
		}
	} while (tl_now_ns() < until);
	ktap_note("no growth of %s%s%s", a, b ? ", " : "", b ?: "");
	return false;
}

/* Check that the group still works over its first link. */
static bool second_check(struct el_env *e, struct el_second *s)
{
	struct el_env env = *e;

	env.l = &s->l;
	return el_alive(&env, &s->c);
}

static bool delete_link_await(struct el_second *s)
{
	if (el_await(&s->l, &s->l.seen[SMC_LLC_DELETE_LINK][0].count, 0, WAIT_MS))
		return true;
	ktap_note("no DELETE LINK came");
	return false;
}

/*
 * Check that the group is made and its second link given up. @deleted: for us the link exists,
 * so the server has to send DELETE LINK.
 */
static bool check_given_up(struct el_env *e, void (*spoil_add)(struct smc_llc_msg *),
			   void (*spoil_confirm)(struct smc_llc_msg *), bool deleted)
{
	u64 before = el_counter(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = second_begin(e, &s, spoil_add, spoil_confirm) &&
		  el_counted(e, &s.l, "link_add_fail", NULL, before) &&
		  (!deleted || delete_link_await(&s)) &&
		  second_check(e, &s);

	el_second_end(&s);
	return ok;
}

/* ---- cases ---- */

/* A correct peer gets its link; without this the other cases would test nothing. */
static bool second_works(struct el_env *e)
{
	u64 before = el_counter(e->witness, "link_add");
	struct el_second s;
	bool ok = second_begin(e, &s, NULL, NULL) &&
		  el_counted(e, &s.l, "link_add", NULL, before) &&
		  second_check(e, &s);

	el_second_end(&s);
	return ok;
}

static void spoil_mute(struct smc_llc_msg *m)
{
	(void)m;
	cur->far.mute = true;
}

/* Accept the link, and send nothing over it. */
static bool second_silent(struct el_env *e)
{
	return check_given_up(e, spoil_mute, NULL, true);
}

static void spoil_break_qp(struct smc_llc_msg *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)m;
	ibv_modify_qp(cur->far.qp, &attr, IBV_QP_STATE);
}

/* Accept the link, and break its queue pair when CONFIRM LINK comes. */
static bool second_breaks(struct el_env *e)
{
	return check_given_up(e, NULL, spoil_break_qp, true);
}

static void spoil_reject(struct smc_llc_msg *m)
{
	struct smc_llc_msg no = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.response = true,
		.add_link = { .rejected = true, .reason = SMC_LLC_REJ_NO_ALT_PATH },
	};

	no.add_link.link_num = cur->far.num;
	el_llc(&cur->l, &no);
	/* and answer CONFIRM LINK wrongly */
	m->confirm_link.qpn ^= 1;
}

/* Accept the link, and then reject it. */
static bool rejected_later(struct el_env *e)
{
	return check_given_up(e, NULL, spoil_reject, false);
}

static void send_delete_link(void)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .link_num = cur->far.num, .reason = SMC_LLC_DEL_LOST_PATH },
	};

	el_llc(&cur->l, &m);
}

static void spoil_delete(struct smc_llc_msg *m)
{
	(void)m;
	send_delete_link();
}

static void spoil_nothing(struct smc_llc_msg *m)
{
	(void)m;
}

/*
 * Delete the link when it becomes usable: shortly before the CONFIRM LINK response is sent, or
 * shortly after. Either the link is not made, or it is removed again; the group stays.
 */
static bool second_deleted(struct el_env *e)
{
	for (int i = 0; i < MOMENTS; i++) {
		u64 before = el_counter(e->witness, "link_add_fail") +
			     el_counter(e->witness, "link_del");
		struct el_second s;
		bool ok = second_begin(e, &s, NULL, i % 2 ? spoil_delete : spoil_nothing);

		ok = ok && el_await(&s.l, &s.far.seen[SMC_LLC_CONFIRM_LINK][0].count, 0, WAIT_MS);
		if (ok && !(i % 2)) {
			tl_sleep_ms(i);
			send_delete_link();
		}
		ok = ok && el_counted(e, &s.l, "link_add_fail", "link_del", before) &&
		     second_check(e, &s);
		el_second_end(&s);
		if (!ok) {
			ktap_note("moment %d", i);
			return false;
		}
	}
	return true;
}

static void spoil_same_end(struct smc_llc_msg *m)
{
	memcpy(m->add_link.gid, cur->l.gid.raw, SMC_GID_LEN);
	memcpy(m->add_link.mac, cur->l.mac, SMC_MAC_LEN);
}

/* Accept the link with the RNIC of the first one: a parallel link. */
static bool second_parallel(struct el_env *e)
{
	return check_given_up(e, spoil_same_end, NULL, true);
}

static void spoil_add_num(struct smc_llc_msg *m)
{
	m->add_link.link_num ^= 0x40;
}

static void spoil_add_mtu(struct smc_llc_msg *m)
{
	m->add_link.mtu = 0xf;
}

static void spoil_add_qpn(struct smc_llc_msg *m)
{
	m->add_link.qpn = 0;
}

/* ADD LINK responses with wrong values. */
static bool accept_forged(struct el_env *e)
{
	void (*const spoils[])(struct smc_llc_msg *) = {
		spoil_add_num, spoil_add_mtu, spoil_add_qpn,
	};

	for (size_t i = 0; i < TL_ARRAY_SIZE(spoils); i++) {
		if (!check_given_up(e, spoils[i], NULL, true)) {
			ktap_note("forged message %zu", i);
			return false;
		}
	}
	return true;
}

static void spoil_confirm_num(struct smc_llc_msg *m)
{
	m->confirm_link.link_num ^= 0x40;
}

static void spoil_confirm_qpn(struct smc_llc_msg *m)
{
	m->confirm_link.qpn ^= 1;
}

static void spoil_confirm_gid(struct smc_llc_msg *m)
{
	m->confirm_link.gid[SMC_GID_LEN - 1] ^= 1;
}

static void spoil_confirm_eyec(struct smc_llc_msg *m)
{
	m->confirm_link.no_eyec = false;
}

/* CONFIRM LINK responses with wrong values. */
static bool confirm_forged(struct el_env *e)
{
	void (*const spoils[])(struct smc_llc_msg *) = {
		spoil_confirm_num, spoil_confirm_qpn, spoil_confirm_gid, spoil_confirm_eyec,
	};

	for (size_t i = 0; i < TL_ARRAY_SIZE(spoils); i++) {
		if (!check_given_up(e, NULL, spoils[i], true)) {
			ktap_note("forged message %zu", i);
			return false;
		}
	}
	return true;
}

static void spoil_qpn(struct evil_msg *m)
{
	smc_wire_put_be24(m->buf + OFF_QPN, smc_wire_get_be24(m->buf + OFF_QPN) ^ 0x800000);
}

/*
 * The Confirm of a subsequent contact names the link that the Accept does not name (RFC 7609
 * section 3.5.2.3): the server finds our RMBE by its key on that link. Then one names no link.
 */
static bool second_named(struct el_env *e)
{
	u64 before = el_counter(e->witness, "link_add");
	u64 bad = el_counter(e->witness, "peer_end_bad");
	struct el_conn none = { .fd = -1 };
	struct el_env env = *e;
	struct el_second s;
	struct evil_msg m;
	bool ok = second_begin(e, &s, NULL, NULL) &&
		  el_counted(e, &s.l, "link_add", NULL, before);

	s.l.crossed = true;
	ok = ok && !el_join(&s.l, &s.d, 1);
	s.l.crossed = false;
	env.l = s.d.link;
	ok = ok && el_alive(&env, &s.d) &&
	     el_order_send(e->witness, s.d.port, 1000) == 1000 &&
	     el_await(&s.l, &s.d.cdc.prod.off, 999, WAIT_MS);
	if (ok && el_counter(e->witness, "peer_end_bad") != bad) {
		ktap_note("our end was refused");
		ok = false;
	}
	s.l.spoil_confirm = spoil_qpn;
	ok = ok && !el_join(&s.l, &none, 2) && el_await_clc(&s.l, none.fd, &m) == EVIL_CLOSED &&
	     el_alive(&env, &s.d) && second_check(e, &s);
	el_drop(&none);
	el_second_end(&s);
	return ok;
}

/* The first ADD LINK has no answer, which is no failure: the connection works (RFC 7609 C.3). */
static bool second_unanswered(struct el_env *e)
{
	struct el_env env = *e;
	struct el_second s;
	bool ok = el_second_open(e, &s);

	s.l.no_add = true;
	env.l = &s.l;
	ok = ok && !el_join(&s.l, &s.c, 0) && el_alive(&env, &s.c) &&
	     el_order_send(e->witness, s.c.port, 1000) == 1000 &&
	     el_await(&s.l, &s.c.cdc.prod.off, 999, WAIT_MS);
	el_second_end(&s);
	return ok;
}

const struct el_case el_second_cases[] = {
	{ "second_works",	second_works,		EL_UNHARMED,	"link_asym", 1, { 0 } },
	{ "second_named",	second_named,		EL_UNHARMED,	"peer_end_bad", 1, { 0 } },
	{ "second_silent",	second_silent,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_unanswered",	second_unanswered,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "second_breaks",	second_breaks,		EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_rejected_later", rejected_later,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_deleted",	second_deleted,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "second_parallel",	second_parallel,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "second_accept_forged", accept_forged,	EL_UNHARMED,	"link_add_fail", 3, { 0 } },
	{ "second_confirm_forged", confirm_forged,	EL_UNHARMED,	"link_add_fail", 4, { 0 } },
};

const unsigned int el_nr_second_cases = TL_ARRAY_SIZE(el_second_cases);
