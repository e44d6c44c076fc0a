// SPDX-License-Identifier: GPL-2.0-only
/*
 * Model: the two ends of a link group with proto/llc_flow.c between them. Links are
 * added and deleted, RMBs announced and withdrawn, queue pairs die, messages get lost, and
 * both ends start random exchanges at random times. Afterwards, with a fabric that works
 * again, neither end waits for anything, both have the same links, each announced RMB is known
 * on every link, and further exchanges succeed.
 *
 * Modelled of the module: one queue of messages and one of deferred messages per end, one
 * turn, exchanges with deadlines, and the actions of smc_llc*.c on a verdict. Modelled of the
 * fabric: a link keeps the order of messages, a dead link loses the messages in flight, each
 * end notices that after a time of its own.
 *
 * UNIT_SEED=<number of a failed scenario> runs that scenario first.
 */
#include "unit.h"

#include <smc/proto/llc_flow.h>

#define LINKS_FEW	3
#define LINKS_MANY	9
#define NUMS		256
#define KEYS		24		/* RMBs that an end may announce in a scenario */
#define WIRE_MAX	64
#define QUEUE_MAX	128

/* Ticks. */
#define RSP_TIME	40
#define CONFIRM_TIME	100
#define RETRY_TIME	5
#define RETRIES		((RSP_TIME + CONFIRM_TIME) / RETRY_TIME + 2)
#define NOTICE_TIME	150		/* TEST LINK at the latest */

enum type {
	ADD, ADD_RSP, CONFIRM, CONFIRM_RSP, DEL, DEL_ALL, DEL_RSP, RKEY, RKEY_RSP,
	UNKEY, UNKEY_RSP, REQ_ADD, REQ_ADD_RSP, TEST, TEST_RSP, TYPES
};

/* Errors that the model must find, see expect_mutant(). */
enum mutant {
	SOUND,
	NO_DEADLINE,	/* an exchange waits for ever */
	NO_REPEAT,	/* an RMB whose announcement crossed a new link is not announced again */
	NO_PATIENCE,	/* an RMB is freed although the peer did not confirm its deletion */
	NO_REFUSAL,	/* a server takes RMBs while it adds a link; they are not named again */
};

struct config {
	bool deaths;		/* queue pairs die */
	bool loss;		/* single messages get lost */
	bool many;		/* up to eight links and the asymmetric one */
	enum mutant mutant;
};

struct msg {
	enum type type;
	u8 num;			/* subject: link */
	u8 key;			/* subject: RMB */
	bool negative;		/* rejected, refused */
	bool retry;
	bool keys[KEYS];	/* ADD: RMBs named for the new link */
	bool links[NUMS];	/* RKEY: links that the RMB is named for */
};

struct wire {
	bool up;
	unsigned int notice[2];	/* ticks until this end notices that the link is down */
	struct msg msg[2][WIRE_MAX];
	unsigned int head[2], len[2];
};

struct event {
	struct msg msg;
	u8 on;			/* link that the message came over */
};

enum link_state { NO_LINK, SETUP, ACTIVE };
enum phase { NO_ADD, OFFERED, CONFIRMING };

struct end {
	enum smc_llc_role role;
	enum smc_llc_exchange running;
	struct event queue[QUEUE_MAX], deferred[QUEUE_MAX];
	unsigned int nqueue, ndeferred;
	enum link_state link[NUMS];
	u8 next_num;
	enum phase phase;	/* of the exchange that adds a link */
	u8 add_num, add_first;
	bool aborted;
	unsigned int add_left;
	bool rkey_busy, rkey_sent, rkey_withdraw;	/* withdraw: DELETE RKEY */
	unsigned int rkey_left, rkey_tries, rkey_pause;
	u8 rkey, rkey_on;
	bool rkey_named[NUMS];
	bool made[KEYS], announced[KEYS];
	bool known[KEYS][NUMS];	/* the peer's RMBs */
	unsigned int nkeys;
	bool wants_rkey, wants_add;
	bool dead;
	unsigned int added, deleted, confirmed, freed, kept;
};

struct model {
	struct config cfg;
	struct end end[2];
	struct wire wire[NUMS];
	bool calm;		/* nothing new is started, no message gets lost */
};

enum outcome { OK, STUCK, DIFFERENT, UNKNOWN_KEY, TOO_EARLY, NO_PROGRESS, VIOLATION };

static const char * const outcome_names[] = {
	"ok", "stuck", "different links", "RMB unknown on a link",
	"RMB freed that the peer knows", "no exchange succeeds any more", "violation"
};

static bool violated, early;
/* What all scenarios reached, checked by happened(). */
static unsigned long verdicts[SMC_LLC_VERDICTS];
static unsigned int peak;
static unsigned long steps, adds, deletes, confirms, dead_groups, frees, keeps;

static struct end *other_end(struct model *m, struct end *e)
{
	return &m->end[e == &m->end[0]];
}

/* Return the limit of links. */
static unsigned int max_links(const struct model *m)
{
	return m->cfg.many ? LINKS_MANY : LINKS_FEW;
}

static unsigned int index_of(const struct model *m, const struct end *e)
{
	return e != &m->end[0];
}

/* ---- fabric ---- */

static void wire_down(struct model *m, u8 num)
{
	struct wire *w = &m->wire[num];
	int i;

	if (!w->up)
		return;
	w->up = false;
	for (i = 0; i < 2; i++) {
		w->len[i] = 0;
		w->notice[i] = 1 + unit_below(NOTICE_TIME);
	}
}

static bool post_msg(struct model *m, struct end *e, u8 on, const struct msg *msg)
{
	struct wire *w = &m->wire[on];
	unsigned int i = index_of(m, e);

	if (e->link[on] == NO_LINK || !w->up)
		return false;
	if (!m->calm && m->cfg.loss && !unit_below(20))
		return true;
	REQUIRE(w->len[i] < WIRE_MAX);
	w->msg[i][(w->head[i] + w->len[i]++) % WIRE_MAX] = *msg;
	return true;
}

static bool post_type(struct model *m, struct end *e, u8 on, enum type type, u8 num)
{
	struct msg msg = { .type = type, .num = num };

	return post_msg(m, e, on, &msg);
}

/* ---- links of an end ---- */

static unsigned int count_links(const struct end *e, enum link_state least)
{
	unsigned int i, n = 0;

	for (i = 1; i < NUMS; i++)
		n += e->link[i] >= least;
	return n;
}

/* Return a random active link other than @not; 0: there is none. */
static u8 pick_link(const struct end *e, u8 not)
{
	unsigned int i, n = 0;
	u8 found = 0;

	for (i = 1; i < NUMS; i++)
		if (e->link[i] == ACTIVE && i != not && !unit_below(++n))
			found = i;
	return found;
}

static void drop_link(struct model *m, struct end *e, u8 num)
{
	unsigned int k;

	e->link[num] = NO_LINK;
	e->deleted++;
	for (k = 0; k < KEYS; k++)
		e->known[k][num] = false;
	wire_down(m, num);
}

static void terminate_group(struct model *m, struct end *e)
{
	unsigned int i;

	if (e->dead)
		return;
	i = pick_link(e, 0);
	if (i)
		post_type(m, e, (u8)i, DEL_ALL, 0);
	e->dead = true;
	for (i = 1; i < NUMS; i++) {
		if (e->link[i] == NO_LINK)
			continue;
		/* messages in flight are delivered before the queue pair goes down */
		e->link[i] = NO_LINK;
		if (m->wire[i].len[index_of(m, e)] == 0)
			wire_down(m, (u8)i);
	}
}

/* ---- turns ---- */

static void end_turn(struct end *e)
{
	struct event all[QUEUE_MAX];
	unsigned int n = e->ndeferred;

	e->running = e->rkey_busy ? SMC_LLC_X_RKEY : SMC_LLC_X_IDLE;
	REQUIRE(n + e->nqueue <= QUEUE_MAX);
	memcpy(all, e->deferred, n * sizeof(all[0]));
	memcpy(all + n, e->queue, e->nqueue * sizeof(all[0]));
	e->nqueue += n;
	memcpy(e->queue, all, e->nqueue * sizeof(all[0]));
	e->ndeferred = 0;
}

/* Give the turn to @request of this end if it may begin. */
static bool take_turn(struct end *e, enum smc_llc_input request)
{
	enum smc_llc_verdict v = smc_llc_flow_decide(e->role, e->running, request, 0);

	verdicts[v]++;
	if (v != SMC_LLC_RUN)
		return false;
	e->running = smc_llc_flow_exchange(request);
	return true;
}

/* ---- adding a link ---- */

static void name_keys(const struct end *e, struct msg *msg)
{
	memcpy(msg->keys, e->made, sizeof(msg->keys));
}

/* Take the RMBs that the peer names for the new link if they are known on link @on. */
static void take_keys(struct end *e, const struct msg *msg, u8 on)
{
	unsigned int k;

	for (k = 0; k < KEYS; k++)
		if (msg->keys[k] && e->known[k][on])
			e->known[k][msg->num] = true;
}

static void finish_add(struct model *m, struct end *e, bool ok)
{
	u8 num = e->add_num;

	if (ok) {
		e->link[num] = ACTIVE;
		e->added++;
	} else if (num && e->link[num] != NO_LINK) {
		if (!e->aborted)
			post_type(m, e, e->add_first, DEL, num);
		drop_link(m, e, num);
	}
	e->phase = NO_ADD;
	e->add_num = 0;
	end_turn(e);
}

static void offer_link(struct model *m, struct end *e)
{
	struct msg msg = { .type = ADD };

	if (count_links(e, SETUP) >= max_links(m) || !pick_link(e, 0) ||
	    !take_turn(e, SMC_LLC_DO_ADD_LINK))
		return;
	e->wants_add = false;
	while (!e->next_num || e->link[e->next_num] != NO_LINK)
		e->next_num++;
	e->add_num = e->next_num++;
	e->add_first = pick_link(e, 0);
	e->aborted = false;
	e->link[e->add_num] = SETUP;
	memset(&m->wire[e->add_num], 0, sizeof(m->wire[0]));
	m->wire[e->add_num].up = true;
	msg.num = e->add_num;
	name_keys(e, &msg);
	e->phase = OFFERED;
	e->add_left = RSP_TIME;
	if (!post_msg(m, e, e->add_first, &msg))
		finish_add(m, e, false);
}

/* The client answers an offer. Return false if it rejects the link. */
static bool join_link(struct model *m, struct end *e, const struct event *ev)
{
	struct msg rsp = { .type = ADD_RSP, .num = ev->msg.num };

	if (e->phase != NO_ADD || e->link[rsp.num] != NO_LINK || !m->wire[rsp.num].up ||
	    count_links(e, SETUP) >= max_links(m) || (!m->calm && !unit_below(8))) {
		rsp.negative = true;
		post_msg(m, e, ev->on, &rsp);
		return false;
	}
	e->add_num = rsp.num;
	e->add_first = ev->on;
	e->aborted = false;
	e->link[rsp.num] = SETUP;
	take_keys(e, &ev->msg, ev->on);
	name_keys(e, &rsp);
	e->phase = CONFIRMING;
	e->add_left = CONFIRM_TIME;
	if (!post_msg(m, e, ev->on, &rsp))
		finish_add(m, e, false);
	return true;
}

static void on_add_rsp(struct model *m, struct end *e, const struct event *ev)
{
	if (e->phase != OFFERED || ev->on != e->add_first || ev->msg.num != e->add_num)
		return;
	if (ev->msg.negative) {
		e->aborted = true;	/* no DELETE LINK to send */
		finish_add(m, e, false);
		return;
	}
	/* the RMBs are named by their rkeys on the link of the message: useless without it */
	if (e->link[ev->on] == NO_LINK) {
		finish_add(m, e, false);
		return;
	}
	take_keys(e, &ev->msg, ev->on);
	e->phase = CONFIRMING;
	e->add_left = CONFIRM_TIME;
	if (!post_type(m, e, e->add_num, CONFIRM, e->add_num))
		finish_add(m, e, false);
}

static void on_confirm(struct model *m, struct end *e, const struct event *ev)
{
	if (e->phase != CONFIRMING || ev->on != e->add_num)
		return;
	if (ev->msg.type == CONFIRM && !post_type(m, e, ev->on, CONFIRM_RSP, e->add_num)) {
		finish_add(m, e, false);
		return;
	}
	finish_add(m, e, true);
}

/* Give up after the deadline, or when the link is gone. */
static void tick_add(struct model *m, struct end *e)
{
	u8 on = e->phase == OFFERED ? e->add_first : e->add_num;

	if (e->phase == NO_ADD)
		return;
	if (e->aborted || e->link[on] == NO_LINK)
		finish_add(m, e, false);
	else if (m->cfg.mutant != NO_DEADLINE && !e->add_left--)
		finish_add(m, e, false);
}

/* ---- deleting a link ---- */

static void lose_link(struct model *m, struct end *e, u8 num)
{
	u8 on;

	if (num == e->add_num) {
		/* the exchange that adds the link gives up and deletes it */
		drop_link(m, e, num);
		return;
	}
	on = pick_link(e, num);
	if (!on) {
		drop_link(m, e, num);
		terminate_group(m, e);
		return;
	}
	drop_link(m, e, num);
	post_type(m, e, on, DEL, num);
}

static void on_delete(struct model *m, struct end *e, const struct event *ev)
{
	u8 num = ev->msg.num, on;

	if (num && num == e->add_num) {
		e->aborted = true;
		post_type(m, e, ev->on, DEL_RSP, num);
		return;
	}
	if (e->link[num] == NO_LINK) {
		post_type(m, e, ev->on, DEL_RSP, num);
		return;
	}
	if (e->role == SMC_LLC_CLIENT)
		post_type(m, e, ev->on, DEL_RSP, num);
	on = pick_link(e, num);
	if (!on) {
		terminate_group(m, e);
		return;
	}
	if (e->role == SMC_LLC_SERVER)
		post_type(m, e, on, DEL, num);
	drop_link(m, e, num);
}

/* ---- RMBs ---- */

static void announce_rmb(struct model *m, struct end *e)
{
	struct msg msg = { .type = e->rkey_withdraw ? UNKEY : RKEY, .key = e->rkey };
	unsigned int i;

	if (e->rkey_pause) {
		e->rkey_pause--;
		return;
	}
	if (!take_turn(e, SMC_LLC_DO_RKEY))
		return;
	e->rkey_on = pick_link(e, 0);
	for (i = 1; i < NUMS; i++)
		msg.links[i] = e->link[i] == ACTIVE;
	memcpy(e->rkey_named, msg.links, sizeof(e->rkey_named));
	e->rkey_busy = true;
	e->rkey_sent = post_msg(m, e, e->rkey_on, &msg);
	e->rkey_left = RSP_TIME;
}

static void end_rkey(struct end *e)
{
	e->rkey_busy = false;
	if (e->running == SMC_LLC_X_RKEY)
		end_turn(e);
}

/* Free the region. The peer may still write to a region that connections have used. */
static void free_rmb(struct model *m, struct end *e)
{
	const struct end *peer = other_end(m, e);
	unsigned int i;

	e->made[e->rkey] = false;
	if (!e->rkey_withdraw)
		return;
	e->freed++;
	for (i = 1; i < NUMS; i++)
		early |= !peer->dead && peer->known[e->rkey][i];
}

/*
 * A region whose announcement failed is freed: no connection has used it, so the peer's entry
 * does no harm. A region whose withdrawal failed stays, unused.
 */
static void give_up_rkey(struct model *m, struct end *e)
{
	e->wants_rkey = false;
	if (!e->rkey_withdraw || m->cfg.mutant == NO_PATIENCE)
		free_rmb(m, e);
	else
		e->kept++;
	end_rkey(e);
}

static void tick_rkey(struct model *m, struct end *e)
{
	if (e->wants_rkey && !e->rkey_busy)
		announce_rmb(m, e);
	else if (e->rkey_busy && (!e->rkey_sent || e->link[e->rkey_on] == NO_LINK))
		give_up_rkey(m, e);
	else if (e->rkey_busy && m->cfg.mutant != NO_DEADLINE && !e->rkey_left--)
		give_up_rkey(m, e);
}

static void on_rkey(struct model *m, struct end *e, const struct event *ev, bool refuse)
{
	struct msg rsp = { .type = RKEY_RSP, .key = ev->msg.key };
	unsigned int i;

	if (e->link[ev->on] == NO_LINK)
		return;
	if (refuse && m->cfg.mutant != NO_REFUSAL) {
		rsp.negative = true;
		rsp.retry = true;
	} else {
		memset(e->known[rsp.key], 0, sizeof(e->known[rsp.key]));
		e->known[rsp.key][ev->on] = true;
		for (i = 1; i < NUMS; i++)
			if (ev->msg.links[i] && e->link[i] != NO_LINK)
				e->known[rsp.key][i] = true;
	}
	post_msg(m, e, ev->on, &rsp);
}

/* Check whether a link became usable after the request was sent. */
static bool named_all(const struct end *e)
{
	unsigned int i;

	for (i = 1; i < NUMS; i++)
		if (e->link[i] == ACTIVE && !e->rkey_named[i])
			return false;
	return true;
}

static void on_unkey(struct model *m, struct end *e, const struct event *ev, bool refuse)
{
	struct msg rsp = { .type = UNKEY_RSP, .key = ev->msg.key };

	if (e->link[ev->on] == NO_LINK)
		return;
	rsp.negative = refuse || !e->known[rsp.key][ev->on];
	if (!rsp.negative)
		memset(e->known[rsp.key], 0, sizeof(e->known[rsp.key]));
	post_msg(m, e, ev->on, &rsp);
}

static void on_unkey_rsp(struct model *m, struct end *e, const struct event *ev)
{
	if (!e->rkey_busy || !e->rkey_withdraw || ev->msg.key != e->rkey || ev->on != e->rkey_on)
		return;
	if (ev->msg.negative) {
		give_up_rkey(m, e);
		return;
	}
	e->wants_rkey = false;
	free_rmb(m, e);
	end_rkey(e);
}

static void on_rkey_rsp(struct model *m, struct end *e, const struct event *ev)
{
	if (!e->rkey_busy || e->rkey_withdraw || ev->msg.key != e->rkey)
		return;
	if (!ev->msg.negative && !named_all(e) && m->cfg.mutant != NO_REPEAT) {
		end_rkey(e);
	} else if (!ev->msg.negative) {
		e->announced[e->rkey] = true;
		e->wants_rkey = false;
		e->confirmed++;
		end_rkey(e);
	} else if (ev->msg.retry && e->rkey_tries++ < RETRIES) {
		e->rkey_pause = RETRY_TIME;
		end_rkey(e);
	} else {
		give_up_rkey(m, e);
	}
}

static void want_rkey(struct end *e)
{
	if (e->wants_rkey || e->nkeys == KEYS)
		return;
	e->wants_rkey = true;
	e->rkey_withdraw = false;
	e->rkey = (u8)e->nkeys++;
	e->rkey_tries = 0;
	e->rkey_pause = 0;
	e->made[e->rkey] = true;
}

/* Withdraw an idle RMB. One whose withdrawal failed may be announced again instead. */
static void want_unkey(struct end *e)
{
	u8 key = (u8)unit_below(KEYS);

	if (e->wants_rkey || !e->made[key])
		return;
	e->wants_rkey = true;
	e->rkey_withdraw = e->announced[key] || unit_below(2);
	e->rkey = key;
	e->rkey_tries = 0;
	e->rkey_pause = 0;
	e->announced[key] = false;
}

/* ---- messages ---- */

static enum smc_llc_input input_of(const struct end *e, const struct msg *msg)
{
	static const enum smc_llc_input inputs[TYPES] = {
		[ADD] = SMC_LLC_IN_ADD_LINK, [ADD_RSP] = SMC_LLC_IN_ADD_LINK_RSP,
		[CONFIRM] = SMC_LLC_IN_CONFIRM_LINK, [CONFIRM_RSP] = SMC_LLC_IN_CONFIRM_LINK_RSP,
		[DEL] = SMC_LLC_IN_DELETE_LINK, [DEL_ALL] = SMC_LLC_IN_DELETE_LINK_ALL,
		[DEL_RSP] = SMC_LLC_IN_DELETE_LINK_RSP, [RKEY] = SMC_LLC_IN_RKEY,
		[RKEY_RSP] = SMC_LLC_IN_RKEY_RSP, [UNKEY] = SMC_LLC_IN_RKEY,
		[UNKEY_RSP] = SMC_LLC_IN_RKEY_RSP, [REQ_ADD] = SMC_LLC_IN_REQ_ADD_LINK,
		[REQ_ADD_RSP] = SMC_LLC_IN_REQ_ADD_LINK_RSP, [TEST] = SMC_LLC_IN_TEST_LINK,
		[TEST_RSP] = SMC_LLC_IN_TEST_LINK_RSP,
	};

	if (msg->type == DEL && msg->num && msg->num == e->add_num)
		return SMC_LLC_IN_DELETE_LINK_NEW;
	return inputs[msg->type];
}

/* Return true if an exchange continues and keeps the turn. */
static bool do_event(struct model *m, struct end *e, const struct event *ev)
{
	switch (ev->msg.type) {
	case ADD:
		return join_link(m, e, ev) && e->phase != NO_ADD;
	case ADD_RSP:
		on_add_rsp(m, e, ev);
		break;
	case CONFIRM:
	case CONFIRM_RSP:
		on_confirm(m, e, ev);
		break;
	case DEL:
		on_delete(m, e, ev);
		break;
	case RKEY:
		on_rkey(m, e, ev, false);
		break;
	case RKEY_RSP:
		on_rkey_rsp(m, e, ev);
		break;
	case UNKEY:
		on_unkey(m, e, ev, false);
		break;
	case UNKEY_RSP:
		on_unkey_rsp(m, e, ev);
		break;
	case REQ_ADD:
		post_type(m, e, ev->on, REQ_ADD_RSP, 0);
		e->wants_add = true;
		break;
	case TEST:
		post_type(m, e, ev->on, TEST_RSP, 0);
		break;
	default:
		break;
	}
	return false;
}

static void handle_event(struct model *m, struct end *e, const struct event *ev)
{
	enum smc_llc_input input = input_of(e, &ev->msg);
	enum smc_llc_verdict v = smc_llc_flow_decide(e->role, e->running, input, 0);

	verdicts[v]++;
	switch (v) {
	case SMC_LLC_RUN:
	case SMC_LLC_PREEMPT:
		e->running = smc_llc_flow_exchange(input);
		if (!do_event(m, e, ev) && e->phase == NO_ADD)
			end_turn(e);
		break;
	case SMC_LLC_JOIN:
	case SMC_LLC_PASS:
		do_event(m, e, ev);
		break;
	case SMC_LLC_QUEUE:
		REQUIRE(e->ndeferred < QUEUE_MAX);
		e->deferred[e->ndeferred++] = *ev;
		break;
	case SMC_LLC_REFUSE:
		if (ev->msg.type == UNKEY)
			on_unkey(m, e, ev, true);
		else
			on_rkey(m, e, ev, true);
		break;
	case SMC_LLC_TERMINATE:
		terminate_group(m, e);
		break;
	case SMC_LLC_VIOLATION:
		violated = true;
		break;
	case SMC_LLC_DROP:
	case SMC_LLC_VERDICTS:
		break;
	}
}

/* Return a random link with messages in flight from end @from; 0: there is none. */
static u8 pick_wire(const struct model *m, unsigned int from)
{
	unsigned int i, n = 0;
	u8 found = 0;

	for (i = 1; i < NUMS; i++)
		if (m->wire[i].len[from] && !unit_below(++n))
			found = (u8)i;
	return found;
}

/* The fabric delivers a message. */
static void receive_msg(struct model *m, struct end *e)
{
	unsigned int from = index_of(m, other_end(m, e));
	u8 on = pick_wire(m, from);
	struct wire *w = &m->wire[on];

	if (!on)
		return;
	if (!e->dead && e->link[on] != NO_LINK) {
		REQUIRE(e->nqueue < QUEUE_MAX);
		e->queue[e->nqueue].msg = w->msg[from][w->head[from]];
		e->queue[e->nqueue++].on = on;
	}
	w->head[from] = (w->head[from] + 1) % WIRE_MAX;
	w->len[from]--;
	/* the peer is gone, and this was its last message */
	if (!w->len[from] && m->end[from].dead)
		wire_down(m, on);
}

static void work_queue(struct model *m, struct end *e)
{
	struct event ev;

	if (!e->nqueue || e->dead)
		return;
	ev = e->queue[0];
	memmove(e->queue, e->queue + 1, --e->nqueue * sizeof(ev));
	handle_event(m, e, &ev);
}

static void tick_model(struct model *m)
{
	unsigned int i, num;

	for (i = 0; i < 2; i++) {
		struct end *e = &m->end[i];

		if (e->dead)
			continue;
		for (num = 1; num < NUMS && !e->dead; num++)
			if (e->link[num] != NO_LINK && !m->wire[num].up &&
			    !m->wire[num].notice[i]--)
				lose_link(m, e, (u8)num);
		if (e->dead)
			continue;
		tick_add(m, e);
		tick_rkey(m, e);
		if (e->wants_add && e->role == SMC_LLC_SERVER)
			offer_link(m, e);
	}
}

/* ---- scenarios ---- */

static void make_request(struct model *m)
{
	struct end *e = &m->end[unit_below(2)];
	u8 on = pick_link(e, 0);

	if (e->dead || !on)
		return;
	switch (unit_below(14)) {
	case 0:
	case 1:
		e->wants_add = e->role == SMC_LLC_SERVER;
		break;
	case 2:
		if (e->role == SMC_LLC_CLIENT)
			post_type(m, e, on, REQ_ADD, 0);
		break;
	case 3:
		/* an orderly deletion, or the request for it */
		if (count_links(e, ACTIVE) > 1 && !unit_below(3))
			lose_link(m, e, on);
		break;
	case 4:
		post_type(m, e, on, TEST, 0);
		break;
	case 5:
		if (m->cfg.deaths && !unit_below(4))
			wire_down(m, on);
		break;
	case 6:
		if (!unit_below(100))
			terminate_group(m, e);
		break;
	case 7:
	case 8:
		want_unkey(e);
		break;
	default:
		want_rkey(e);
		break;
	}
}

static void step_model(struct model *m)
{
	struct end *e = &m->end[unit_below(2)];

	steps++;
	switch (unit_below(5)) {
	case 0:
		tick_model(m);
		break;
	case 1:
	case 2:
		work_queue(m, e);
		break;
	default:
		receive_msg(m, e);
		break;
	}
	if (!m->calm && !unit_below(12))
		make_request(m);
}

static bool is_idle(const struct model *m)
{
	unsigned int i, num;

	for (i = 0; i < 2; i++) {
		const struct end *e = &m->end[i];

		if (e->dead)
			continue;
		if (e->running != SMC_LLC_X_IDLE || e->nqueue || e->ndeferred ||
		    e->phase != NO_ADD || e->rkey_busy || e->wants_rkey || e->wants_add)
			return false;
		for (num = 1; num < NUMS; num++)
			if (e->link[num] != NO_LINK && !m->wire[num].up)
				return false;
	}
	for (num = 1; num < NUMS; num++)
		if (m->wire[num].up && (m->wire[num].len[0] || m->wire[num].len[1]))
			return false;
	return m->end[0].dead == m->end[1].dead;
}

static bool settle_model(struct model *m)
{
	unsigned int i;

	m->calm = true;
	for (i = 0; i < 100000 && !is_idle(m); i++) {
		/* at the limit of links, no further link is added */
		if (count_links(&m->end[0], SETUP) >= max_links(m))
			m->end[0].wants_add = false;
		step_model(m);
	}
	return is_idle(m);
}

static bool knows_all(const struct end *e, const struct end *peer)
{
	unsigned int k, num;

	for (k = 0; k < KEYS; k++)
		for (num = 1; num < NUMS && peer->announced[k] && peer->made[k]; num++)
			if (e->link[num] == ACTIVE && !e->known[k][num])
				return false;
	return true;
}

static enum outcome check_outcome(struct model *m)
{
	struct end *a = &m->end[0], *b = &m->end[1];

	if (violated)
		return VIOLATION;
	if (!settle_model(m))
		return STUCK;
	if (early)
		return TOO_EARLY;
	if (a->dead)
		return OK;
	if (memcmp(a->link, b->link, sizeof(a->link)))
		return DIFFERENT;
	if (!knows_all(a, b) || !knows_all(b, a))
		return UNKNOWN_KEY;
	return OK;
}

/* Both ends start exchanges at once, on a fabric that works: all of them have to succeed. */
static enum outcome check_progress(struct model *m)
{
	struct end *a = &m->end[0], *b = &m->end[1];
	unsigned int had = count_links(a, ACTIVE), keys = a->confirmed + b->confirmed, want = 0, i;
	enum outcome out;

	for (i = 0; i < 2; i++) {
		want += m->end[i].nkeys < KEYS;
		want_rkey(&m->end[i]);
	}
	a->wants_add = had < max_links(m);
	out = check_outcome(m);
	if (out != OK)
		return out;
	if (a->confirmed + b->confirmed != keys + want)
		return NO_PROGRESS;
	return count_links(a, ACTIVE) == (had < max_links(m) ? had + 1 : had) ? OK : NO_PROGRESS;
}

static enum outcome run_scenario(const struct config *cfg, u64 seed)
{
	static struct model m;
	enum outcome out;
	unsigned int i;

	unit_state = seed;
	violated = false;
	early = false;
	memset(&m, 0, sizeof(m));
	m.cfg = *cfg;
	m.end[0].role = SMC_LLC_SERVER;
	m.end[1].role = SMC_LLC_CLIENT;
	for (i = 0; i < 2; i++) {
		m.end[i].next_num = 2;
		m.end[i].link[1] = ACTIVE;
	}
	m.wire[1].up = true;
	/* stop before link numbers are reused: other tests cover that */
	for (i = 0; i < 1500 && m.end[0].next_num < NUMS - LINKS_MANY; i++)
		step_model(&m);
	i = count_links(&m.end[0], ACTIVE);
	peak = i > peak ? i : peak;
	out = check_outcome(&m);
	dead_groups += m.end[0].dead;
	if (out == OK && !m.end[0].dead)
		out = check_progress(&m);
	for (i = 0; i < 2; i++) {
		adds += m.end[i].added;
		deletes += m.end[i].deleted;
		confirms += m.end[i].confirmed;
		frees += m.end[i].freed;
		keeps += m.end[i].kept;
	}
	return out;
}

static void run_scenarios(const struct config *cfg, unsigned int n)
{
	u64 seed = unit_seed();
	unsigned int i;

	for (i = 0; i < n; i++, seed++) {
		enum outcome out = run_scenario(cfg, seed);

		if (out != OK) {
			FAIL("scenario %llu: %s", (unsigned long long)seed, outcome_names[out]);
			return;
		}
	}
}

/* Check that the model finds @mutant, with outcome @wrong. */
static void expect_mutant(enum mutant mutant, enum outcome wrong, unsigned int n)
{
	const struct config cfg = { .loss = mutant == NO_DEADLINE || mutant == NO_PATIENCE,
				    .mutant = mutant };
	u64 seed = unit_seed();
	unsigned int i;

	for (i = 0; i < n; i++)
		if (run_scenario(&cfg, seed + i) == wrong)
			return;
	FAIL("mutant not found in %u scenarios", n);
}

static void calm(void)
{
	run_scenarios(&(struct config){}, 250);
}

static void deaths(void)
{
	run_scenarios(&(struct config){ .deaths = true }, 500);
}

static void loss(void)
{
	run_scenarios(&(struct config){ .loss = true }, 250);
}

static void deaths_and_loss(void)
{
	run_scenarios(&(struct config){ .deaths = true, .loss = true }, 500);
}

static void many_links(void)
{
	run_scenarios(&(struct config){ .deaths = true, .many = true }, 250);
	run_scenarios(&(struct config){ .deaths = true, .loss = true, .many = true }, 250);
}

/* Check that the scenarios reached every verdict and event, and often. */
static void happened(void)
{
	static const enum smc_llc_verdict want[] = {
		SMC_LLC_RUN, SMC_LLC_PREEMPT, SMC_LLC_JOIN, SMC_LLC_PASS, SMC_LLC_QUEUE,
		SMC_LLC_REFUSE, SMC_LLC_DROP, SMC_LLC_TERMINATE,
	};
	unsigned int i;

	printf("# %lu steps, %lu links added, %lu deleted, %lu RMBs announced, %lu groups died,\n",
	       steps, adds, deletes, confirms, dead_groups);
	printf("# %lu RMBs withdrawn, %lu kept\n", frees, keeps);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		printf("# %s: %lu\n", smc_llc_verdict_str(want[i]), verdicts[want[i]]);
		CHECK(verdicts[want[i]] > 20);
	}
	CHECK(steps > 2000000);
	CHECK(adds > 2000 && deletes > 2000 && confirms > 2000);
	CHECK(frees > 1000 && keeps > 200);
	CHECK(dead_groups > 20);
	CHECK_EQ(peak, LINKS_MANY);
}

static void mutant_deadline(void)
{
	expect_mutant(NO_DEADLINE, STUCK, 50);
}

static void mutant_refusal(void)
{
	expect_mutant(NO_REFUSAL, UNKNOWN_KEY, 1000);
}

static void mutant_patience(void)
{
	expect_mutant(NO_PATIENCE, TOO_EARLY, 500);
}

static void mutant_repeat(void)
{
	expect_mutant(NO_REPEAT, UNKNOWN_KEY, 4000);
}

static const struct unit_case cases[] = {
	UNIT_CASE(calm), UNIT_CASE(deaths), UNIT_CASE(loss), UNIT_CASE(deaths_and_loss),
	UNIT_CASE(many_links), UNIT_CASE(happened), UNIT_CASE(mutant_deadline),
	UNIT_CASE(mutant_refusal),
	UNIT_CASE(mutant_patience), UNIT_CASE(mutant_repeat),
};

UNIT_MAIN("llc_model", cases)
