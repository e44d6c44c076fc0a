// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connection states: proto/conn_fsm.c against the arcs of RFC 7609 figures 22
 * and 23, against invariants, and two state machines against each other.
 *
 * "test_conn_fsm --rst" writes Documentation/states.rst to standard output.
 */
#include "unit.h"

#include <smc/proto/conn_fsm.h>

#include "rfc_arcs.h"
#include "states_rst.h"

#define ACT(name)	SMC_CONN_ACT_##name

/* Messages exchanged before a state is reached, by the definition of the states. */
static const struct {
	char we;
	char peer;
} exchanged[SMC_CONN_STATES] = {
	[SMC_CONN_INIT] = { '-', '-' },
	[SMC_CONN_ACTIVE] = { '-', '-' },
	[SMC_CONN_PEERCLOSEWAIT1_D] = { 'D', '-' },
	[SMC_CONN_PEERCLOSEWAIT1_C] = { 'C', '-' },
	[SMC_CONN_PEERCLOSEWAIT2_D] = { 'D', 'D' },
	[SMC_CONN_PEERCLOSEWAIT2_C] = { 'C', 'D' },
	[SMC_CONN_APPFINCLOSEWAIT] = { 'D', 'C' },
	[SMC_CONN_APPCLOSEWAIT1_D] = { '-', 'D' },
	[SMC_CONN_APPCLOSEWAIT1_C] = { '-', 'C' },
	[SMC_CONN_APPCLOSEWAIT2_D] = { 'D', 'D' },
	[SMC_CONN_APPCLOSEWAIT2_C] = { 'D', 'C' },
	[SMC_CONN_PEERFINCLOSEWAIT] = { 'C', 'D' },
	[SMC_CONN_PEERABORTWAIT] = { 'A', '?' },
	[SMC_CONN_PROCESSABORT] = { 'A', 'A' },
	[SMC_CONN_CLOSED] = { '?', '?' },
};

static void walk(void)
{
	enum smc_conn_state s, after;
	enum smc_conn_event e;
	unsigned int legal = 0;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		for (e = 0; e < SMC_CONN_EVENTS; e++) {
			struct smc_conn_row row;
			u32 actions = 0xffffffff;
			int rc;

			smc_conn_fsm_get_row(s, e, &row);
			after = s;
			rc = smc_conn_fsm_step(&after, e, &actions);
			CHECK_EQ(after, row.next);
			CHECK_EQ(actions, row.actions);
			CHECK(row.next < SMC_CONN_STATES);
			CHECK(!(row.actions >> SMC_CONN_ACTIONS));
			if (row.legal) {
				legal++;
				CHECK_EQ(rc, 0);
			} else {
				CHECK_EQ(rc, smc_conn_event_is_from_peer(e) ? -EPROTO : -EINVAL);
				CHECK_EQ(after, s);
				CHECK_EQ(actions, 0);
			}
		}
	}
	CHECK(legal > 100);
	after = SMC_CONN_STATES;
	CHECK_EQ(smc_conn_fsm_step(&after, SMC_CONN_EV_CLOSE, &(u32){ 0 }), -EINVAL);
	after = SMC_CONN_ACTIVE;
	CHECK_EQ(smc_conn_fsm_step(&after, SMC_CONN_EV_NONE, &(u32){ 0 }), -EINVAL);
}

static bool arc_fits(const struct rfc_arc *arc, enum smc_conn_state s, enum smc_conn_event e)
{
	return !strcmp(arc->from, smc_conn_state_rfc_str(s)) &&
	       !strcmp(arc->event, smc_conn_event_str(e)) &&
	       (arc->we == '*' || arc->we == exchanged[s].we) &&
	       (arc->peer == '*' || arc->peer == exchanged[s].peer);
}

/* Every arc of the list is in the table, those of kind RFC_LEFT_OUT are not. */
static void rfc_arcs_are_ours(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rfc_arcs); i++) {
		const struct rfc_arc *arc = &rfc_arcs[i];
		unsigned int found = 0;
		enum smc_conn_state s;
		enum smc_conn_event e;

		CHECK_EQ(arc->kind == RFC_ARC, !arc->why);
		for (s = 0; s < SMC_CONN_STATES; s++) {
			for (e = 0; e < SMC_CONN_EVENTS; e++) {
				struct smc_conn_row row;
				bool same, left_out;

				if (!arc_fits(arc, s, e))
					continue;
				found++;
				smc_conn_fsm_get_row(s, e, &row);
				same = row.legal &&
				       !strcmp(arc->to, smc_conn_state_rfc_str(row.next));
				left_out = arc->kind == RFC_LEFT_OUT;
				if (same == left_out)
					FAIL("%s: %s + %s -> %s, expected %s%s", arc->para,
					     smc_conn_state_str(s), arc->event,
					     row.legal ? smc_conn_state_str(row.next) : "illegal",
					     left_out ? "not " : "", arc->to);
			}
		}
		if (!found)
			FAIL("%s: no state for %s %c%c + %s", arc->para, arc->from, arc->we,
			     arc->peer, arc->event);
	}
}

/* Every change of state in the table is an arc of the list. */
static void our_arcs_are_in_the_rfc(void)
{
	enum smc_conn_state s;
	enum smc_conn_event e;
	size_t i;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		for (e = 0; e < SMC_CONN_EVENTS; e++) {
			struct smc_conn_row row;
			bool found = false;

			smc_conn_fsm_get_row(s, e, &row);
			if (!row.legal ||
			    !strcmp(smc_conn_state_rfc_str(s), smc_conn_state_rfc_str(row.next)))
				continue;
			for (i = 0; i < ARRAY_SIZE(rfc_arcs); i++)
				found |= rfc_arcs[i].kind != RFC_LEFT_OUT &&
					 arc_fits(&rfc_arcs[i], s, e) &&
					 !strcmp(rfc_arcs[i].to, smc_conn_state_rfc_str(row.next));
			if (!found)
				FAIL("%s + %s -> %s is in no figure", smc_conn_state_str(s),
				     smc_conn_event_str(e), smc_conn_state_str(row.next));
		}
	}
}

/* Split states: the state after an event matches the messages exchanged. */
static void split_states_match(void)
{
	enum smc_conn_state s;
	enum smc_conn_event e;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		for (e = 0; e < SMC_CONN_EVENTS; e++) {
			struct smc_conn_row row;
			char we = exchanged[s].we, peer = exchanged[s].peer;

			smc_conn_fsm_get_row(s, e, &row);
			if (!row.legal || exchanged[row.next].we == '?' || we == 'A')
				continue;
			if (row.actions & ACT(HOLD))
				continue;
			if (row.actions & ACT(SEND_DONE))
				we = 'D';
			if (row.actions & ACT(SEND_CLOSE))
				we = 'C';
			if (row.actions & ACT(SEND_ABORT))
				we = 'A';
			if (e == SMC_CONN_EV_PEER_DONE)
				peer = 'D';
			if (e == SMC_CONN_EV_PEER_CLOSED || e == SMC_CONN_EV_PEER_CLOSED_EARLY)
				peer = 'C';
			if (we != exchanged[row.next].we)
				FAIL("%s + %s -> %s: we have sent %c", smc_conn_state_str(s),
				     smc_conn_event_str(e), smc_conn_state_str(row.next), we);
			if (we != 'A' && peer != exchanged[row.next].peer)
				FAIL("%s + %s -> %s: peer has sent %c", smc_conn_state_str(s),
				     smc_conn_event_str(e), smc_conn_state_str(row.next), peer);
		}
	}
}

/* The peer has closed, only our application has not. */
static bool only_app_open(enum smc_conn_state s)
{
	return exchanged[s].peer == 'C';
}

static bool timer_runs(enum smc_conn_state s)
{
	return s == SMC_CONN_PEERCLOSEWAIT1_C || s == SMC_CONN_PEERCLOSEWAIT2_C ||
	       s == SMC_CONN_PEERFINCLOSEWAIT || s == SMC_CONN_PEERABORTWAIT ||
	       s == SMC_CONN_PROCESSABORT || only_app_open(s);
}

/* RFC 7609 section 4.4.2: free an element only if the peer has sent C or A, else quarantine it. */
static void check_element_actions(enum smc_conn_state s, enum smc_conn_event e,
				  const struct smc_conn_row *row)
{
	bool ends = s != SMC_CONN_CLOSED && row->next == SMC_CONN_CLOSED;
	bool confirmed = exchanged[s].peer == 'C' || exchanged[s].peer == 'A' ||
			 e == SMC_CONN_EV_PEER_CLOSED || e == SMC_CONN_EV_PEER_CLOSED_EARLY ||
			 e == SMC_CONN_EV_PEER_ABORT;

	CHECK_EQ(!!(row->actions & ACT(RELEASE)), ends);
	CHECK_EQ(!!(row->actions & ACT(ELEMENT_FREE)), ends && confirmed);
	CHECK_EQ(!!(row->actions & ACT(ELEMENT_QUARANTINE)), ends && !confirmed);
}

/* An end that may still send announces its close, shutdown or abort. */
static void check_send_actions(enum smc_conn_state s, enum smc_conn_event e,
			       const struct smc_conn_row *row)
{
	bool may = smc_conn_state_may_cdc(s);

	CHECK_EQ(!!(row->actions & ACT(SEND_CLOSE)),
		 may && (e == SMC_CONN_EV_CLOSE || (e == SMC_CONN_EV_TIMEOUT && only_app_open(s))));
	CHECK_EQ(!!(row->actions & ACT(SEND_DONE)),
		 may && e == SMC_CONN_EV_SHUT_WR && exchanged[s].we == '-');
	if (may && (e == SMC_CONN_EV_ABORT || e == SMC_CONN_EV_PEER_ABORT))
		CHECK(row->actions & ACT(SEND_ABORT));
	if (may && e == SMC_CONN_EV_PEER_ABORT)
		CHECK(row->actions & ACT(REPORT_RESET));
	if (may && (e == SMC_CONN_EV_ABORT || e == SMC_CONN_EV_GROUP_LOST))
		CHECK(row->actions & ACT(REPORT_ABORTED));
}

/* Which end was the first to send D or C, by the definition of the states. */
static bool peer_ended_first(enum smc_conn_state s)
{
	return s == SMC_CONN_APPCLOSEWAIT1_C || s == SMC_CONN_APPCLOSEWAIT2_C ||
	       s == SMC_CONN_PEERFINCLOSEWAIT;
}

/*
 * RFC 7609 sections 4.8.1 to 4.8.3: FIN once both ends have sent C, with TIME_WAIT at the end that
 * has ended first. RST with every bad end, unless a RST of the peer is its cause, or this end has
 * chosen one before.
 */
static void check_clcsock_actions(enum smc_conn_state s, enum smc_conn_event e,
				  const struct smc_conn_row *row)
{
	bool peer_closes = e == SMC_CONN_EV_PEER_CLOSED || e == SMC_CONN_EV_PEER_CLOSED_EARLY;
	bool fin = row->next == SMC_CONN_CLOSED &&
		   ((exchanged[s].peer == 'C' && e == SMC_CONN_EV_CLOSE) ||
		    (exchanged[s].we == 'C' && peer_closes));
	bool ending = s == SMC_CONN_PEERABORTWAIT || s == SMC_CONN_PROCESSABORT ||
		      s == SMC_CONN_CLOSED;
	bool ends = row->next == SMC_CONN_PEERABORTWAIT || row->next == SMC_CONN_PROCESSABORT ||
		    row->next == SMC_CONN_CLOSED;
	bool answers = e == SMC_CONN_EV_TIMEOUT && only_app_open(s);
	bool rst = !ending && ends && !fin && !answers && e != SMC_CONN_EV_CLCSOCK_RST;

	CHECK_EQ(!!(row->actions & ACT(CLOSE_CLCSOCK)), fin);
	CHECK_EQ(!!(row->actions & ACT(AWAIT_FIN)), fin && peer_ended_first(s));
	CHECK_EQ(!!(row->actions & ACT(RESET_CLCSOCK)), rst);
}

static void action_laws(void)
{
	const u32 last = ACT(SEND_CLOSE) | ACT(SEND_ABORT);
	enum smc_conn_state s;
	enum smc_conn_event e;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		for (e = 0; e < SMC_CONN_EVENTS; e++) {
			struct smc_conn_row row;
			bool enters, refused;

			refused = exchanged[s].we == 'C' && e == SMC_CONN_EV_UNREAD;
			smc_conn_fsm_get_row(s, e, &row);
			if (!row.legal)
				continue;
			check_element_actions(s, e, &row);
			check_send_actions(s, e, &row);
			check_clcsock_actions(s, e, &row);
			/* nothing but A is sent after C, nothing after A, and never both at once */
			if (row.actions & (last | ACT(SEND_DONE)))
				CHECK(smc_conn_state_may_cdc(s) || s == SMC_CONN_INIT || refused);
			CHECK((row.actions & last) != last);
			if (row.actions & last)
				CHECK(!smc_conn_state_may_cdc(row.next));
			/* an abort drops what was not sent */
			if (row.actions & ACT(SEND_ABORT))
				CHECK(row.actions & ACT(PURGE));
			/*
			 * The timer runs in the states that wait for one end alone. It is armed
			 * once, and again when the connection waits for the other end instead, or
			 * for the answer to A instead of that to C.
			 */
			enters = timer_runs(row.next) &&
				 (!timer_runs(s) || refused ||
				  (only_app_open(s) && !only_app_open(row.next)));
			CHECK_EQ(!!(row.actions & ACT(ARM_TIMER)), enters);
			CHECK_EQ(!!(row.actions & ACT(CANCEL_TIMER)),
				 timer_runs(s) && !timer_runs(row.next) &&
				 e != SMC_CONN_EV_TIMEOUT);
			if (timer_runs(s))
				CHECK(!row.legal || e != SMC_CONN_EV_TIMEOUT ||
				      row.next == SMC_CONN_CLOSED);
			/* an end that may write has sent neither D nor C */
			if (smc_conn_state_may_send(row.next))
				CHECK(exchanged[row.next].we == '-');
			/* the end of input is reported to the application exactly once */
			if (row.actions & ACT(REPORT_EOF))
				CHECK(smc_conn_state_may_recv(s) &&
				      !smc_conn_state_may_recv(row.next));
		}
	}
}

/* Every state ends with GROUP_LOST, and after CLOSE with the timer at the latest. */
static void every_state_ends(void)
{
	enum smc_conn_state s;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		enum smc_conn_state now = s;
		u32 actions;

		if (s == SMC_CONN_CLOSED)
			continue;
		CHECK_EQ(smc_conn_fsm_step(&now, SMC_CONN_EV_GROUP_LOST, &actions), 0);
		CHECK_EQ(now, SMC_CONN_CLOSED);
		now = s;
		CHECK_EQ(smc_conn_fsm_step(&now, SMC_CONN_EV_CLOSE, &actions), 0);
		if (now != SMC_CONN_CLOSED) {
			CHECK(timer_runs(now));
			CHECK_EQ(smc_conn_fsm_step(&now, SMC_CONN_EV_TIMEOUT, &actions), 0);
			CHECK_EQ(now, SMC_CONN_CLOSED);
		}
	}
}

static void peer_violations(void)
{
	enum smc_conn_state s;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		struct smc_conn_row row;
		char peer = exchanged[s].peer;

		/* data after D or C */
		smc_conn_fsm_get_row(s, SMC_CONN_EV_PEER_DATA, &row);
		CHECK_EQ(row.legal, peer != 'D' && peer != 'C');
		/* conn_handle_cdc() does not step for this */
		if (s == SMC_CONN_ACTIVE)
			CHECK(row.next == SMC_CONN_ACTIVE && !row.actions);
		/* D without C, after C */
		smc_conn_fsm_get_row(s, SMC_CONN_EV_PEER_DONE, &row);
		CHECK_EQ(row.legal, peer != 'C');
		/* closing and aborting are never wrong */
		smc_conn_fsm_get_row(s, SMC_CONN_EV_PEER_CLOSED, &row);
		CHECK(row.legal);
		smc_conn_fsm_get_row(s, SMC_CONN_EV_PEER_ABORT, &row);
		CHECK(row.legal);
	}
}

static void flags_to_event(void)
{
	CHECK_EQ(smc_conn_fsm_event_of_cdc(false, false, false, true), SMC_CONN_EV_NONE);
	CHECK_EQ(smc_conn_fsm_event_of_cdc(true, false, false, true), SMC_CONN_EV_PEER_DONE);
	CHECK_EQ(smc_conn_fsm_event_of_cdc(false, true, false, false), SMC_CONN_EV_PEER_CLOSED);
	CHECK_EQ(smc_conn_fsm_event_of_cdc(true, true, false, false), SMC_CONN_EV_PEER_CLOSED);
	CHECK_EQ(smc_conn_fsm_event_of_cdc(true, true, false, true), SMC_CONN_EV_PEER_CLOSED_EARLY);
	CHECK_EQ(smc_conn_fsm_event_of_cdc(true, true, true, true), SMC_CONN_EV_PEER_ABORT);
}

/* A reset of TCP counts behind the peer's C only if it has destroyed bytes. */
static void rst_to_event(void)
{
	int s;

	for (s = 0; s < SMC_CONN_STATES; s++) {
		enum smc_conn_event lossy = smc_conn_fsm_event_of_rst((enum smc_conn_state)s, true);
		struct smc_conn_row row;

		CHECK_EQ(smc_conn_fsm_event_of_rst((enum smc_conn_state)s, false),
			 SMC_CONN_EV_CLCSOCK_RST);
		smc_conn_fsm_get_row((enum smc_conn_state)s, lossy, &row);
		CHECK(row.legal);
		/* whoever may still read or write learns of it */
		if (!smc_conn_state_ignores_peer((enum smc_conn_state)s) &&
		    s != SMC_CONN_PEERCLOSEWAIT1_C && s != SMC_CONN_PEERCLOSEWAIT2_C &&
		    s != SMC_CONN_PEERFINCLOSEWAIT)
			CHECK(row.actions & SMC_CONN_ACT_REPORT_RESET);
	}
}

static void diag_numbers(void)
{
	static const u8 want[SMC_CONN_STATES] = {
		2, 1, 20, 20, 21, 21, 24, 22, 22, 23, 23, 25, 26, 27, 7
	};
	enum smc_conn_state s;

	for (s = 0; s < SMC_CONN_STATES; s++)
		CHECK_EQ(smc_conn_state_diag(s), want[s]);
	CHECK_EQ(smc_conn_state_diag(SMC_CONN_STATES), 7);
}

static void names(void)
{
	unsigned int a, b;

	for (a = 0; a < SMC_CONN_STATES; a++) {
		CHECK(strcmp(smc_conn_state_str((enum smc_conn_state)a), "?"));
		for (b = 0; b < a; b++)
			CHECK(strcmp(smc_conn_state_str((enum smc_conn_state)a),
				     smc_conn_state_str((enum smc_conn_state)b)));
	}
	for (a = 0; a <= SMC_CONN_EVENTS; a++)
		CHECK(strcmp(smc_conn_event_str((enum smc_conn_event)a), "?"));
	for (a = 0; a < SMC_CONN_ACTIONS; a++)
		CHECK(strcmp(smc_conn_action_str(1u << a), "?"));
	CHECK(!strcmp(smc_conn_action_str(1u << SMC_CONN_ACTIONS), "?"));
	CHECK(!strcmp(smc_conn_action_str(3), "?"));
}

/*
 * Two ends joined by a queue of CDCs in each direction, with random actions of
 * their users. Both follow the rules: no event may be a violation, both ends
 * must reach CLOSED, and neither may free an element that the other end still
 * writes to.
 */
struct cdc {
	bool data, done, closed, aborted;
};

#define QUEUE	64

struct end {
	enum smc_conn_state state;
	struct cdc sent;		/* flags so far; each CDC repeats them */
	struct cdc queue[QUEUE];	/* towards this end */
	unsigned int head, tail;
	struct cdc held;
	bool have_held;
	bool rst;			/* the peer reset our TCP connection */
	bool abort_in_flight;
	bool freed, quarantined;
	bool last_sent;			/* C or A sent */
	bool fin, awaits_fin;		/* orderly end; the peer's FIN goes first */
};

static void cdc_send(struct end *me, struct end *peer, bool data)
{
	CHECK(!me->last_sent);
	CHECK(!data || !peer->freed);
	me->sent.data = data;
	me->last_sent = me->sent.closed || me->sent.aborted;
	if (peer->tail - peer->head < QUEUE)
		peer->queue[peer->tail++ % QUEUE] = me->sent;
	else
		FAIL("queue of the test is too short");
}

static void end_step(struct end *me, struct end *peer, enum smc_conn_event event)
{
	enum smc_conn_state before = me->state;
	u32 act;
	int rc = smc_conn_fsm_step(&me->state, event, &act);

	if (rc)
		FAIL("%s + %s: %d", smc_conn_state_str(before), smc_conn_event_str(event), rc);
	if (act & ACT(HOLD))
		me->have_held = true;
	if (act & (ACT(SEND_DONE) | ACT(SEND_CLOSE) | ACT(SEND_ABORT))) {
		me->sent.done |= !!(act & ACT(SEND_DONE));
		me->sent.closed |= !!(act & ACT(SEND_CLOSE));
		me->sent.aborted |= !!(act & ACT(SEND_ABORT));
		me->abort_in_flight = me->sent.aborted;
		cdc_send(me, peer, false);
	}
	if (act & ACT(RESET_CLCSOCK))
		peer->rst = true;
	if (act & ACT(ELEMENT_FREE)) {
		CHECK(peer->last_sent);
		me->freed = true;
	}
	if (act & ACT(ELEMENT_QUARANTINE))
		me->quarantined = true;
	me->fin |= !!(act & ACT(CLOSE_CLCSOCK));
	me->awaits_fin |= !!(act & ACT(AWAIT_FIN));
}

static void end_receive(struct end *me, struct end *peer, const struct cdc *cdc)
{
	bool unsent = smc_conn_state_may_send(me->state) && !unit_below(3);
	enum smc_conn_event event = smc_conn_fsm_event_of_cdc(cdc->done, cdc->closed, cdc->aborted,
							      unsent);

	if (cdc->data)
		end_step(me, peer, SMC_CONN_EV_PEER_DATA);
	if (event != SMC_CONN_EV_NONE)
		end_step(me, peer, event);
	if (me->have_held)
		me->held = *cdc;
}

static bool pair_network(struct end *me, struct end *peer)
{
	if (me->head == me->tail)
		return false;
	end_receive(me, peer, &me->queue[me->head++ % QUEUE]);
	return true;
}

static bool pair_clcsock(struct end *me, struct end *peer)
{
	if (me->abort_in_flight) {
		me->abort_in_flight = false;
		end_step(me, peer, SMC_CONN_EV_ABORT_SENT);
		return true;
	}
	if (me->rst) {
		me->rst = false;
		end_step(me, peer, SMC_CONN_EV_CLCSOCK_RST);
		return true;
	}
	return false;
}

static void end_establish(struct end *me, struct end *peer)
{
	end_step(me, peer, SMC_CONN_EV_ESTABLISHED);
	if (me->have_held) {
		me->have_held = false;
		me->held.data = false;
		end_receive(me, peer, &me->held);
	}
}

static void pair_user(struct end *me, struct end *peer)
{
	if (me->state == SMC_CONN_INIT) {
		if (unit_below(4))
			end_establish(me, peer);
		return;
	}
	switch (unit_below(12)) {
	case 0:
		end_step(me, peer, SMC_CONN_EV_SHUT_WR);
		break;
	case 1:
		end_step(me, peer, SMC_CONN_EV_CLOSE);
		break;
	case 2:
		if (!unit_below(4))
			end_step(me, peer, SMC_CONN_EV_ABORT);
		break;
	case 3:
		if (smc_conn_state_may_cdc(me->state) && me->head == me->tail)
			cdc_send(me, peer, false);	/* consumer update */
		break;
	default:
		if (smc_conn_state_may_send(me->state) && !me->sent.done &&
		    peer->tail - peer->head < QUEUE / 2)
			cdc_send(me, peer, true);
	}
}

/* Close both ends, deliver everything; timers fire when nothing else can happen. */
static void pair_end(struct end e[2])
{
	unsigned int guard, i;

	for (i = 0; i < 2; i++) {
		if (e[i].state == SMC_CONN_INIT && unit_below(2))
			end_establish(&e[i], &e[1 - i]);
		end_step(&e[i], &e[1 - i], SMC_CONN_EV_CLOSE);
	}
	for (guard = 0; guard < 1000; guard++) {
		bool moved = false;

		for (i = 0; i < 2; i++)
			moved |= pair_network(&e[i], &e[1 - i]) ||
				 pair_clcsock(&e[i], &e[1 - i]);
		for (i = 0; !moved && i < 2; i++) {
			if (!timer_runs(e[i].state))
				continue;
			end_step(&e[i], &e[1 - i], SMC_CONN_EV_TIMEOUT);
			moved = true;
		}
		if (!moved)
			break;
	}
}

static void pairs(void)
{
	unsigned int round, i, freed = 0, quarantined = 0, second = 0;

	for (round = 0; round < 20000 && !unit_failed; round++) {
		struct end e[2] = {
			{ .state = unit_below(4) ? SMC_CONN_ACTIVE : SMC_CONN_INIT },
			{ .state = SMC_CONN_ACTIVE },
		};
		unsigned int steps = unit_below(100);

		while (steps--) {
			i = unit_below(2);
			switch (unit_below(3)) {
			case 0:
				pair_network(&e[i], &e[1 - i]);
				break;
			case 1:
				pair_clcsock(&e[i], &e[1 - i]);
				break;
			default:
				pair_user(&e[i], &e[1 - i]);
			}
		}
		pair_end(e);
		CHECK(!(e[0].awaits_fin && e[1].awaits_fin));
		second += (e[0].fin && e[1].awaits_fin) || (e[0].awaits_fin && e[1].fin);
		for (i = 0; i < 2; i++) {
			CHECK_EQ(e[i].state, SMC_CONN_CLOSED);
			CHECK(e[i].freed != e[i].quarantined);
			freed += e[i].freed;
			quarantined += e[i].quarantined;
		}
		if (unit_failed)
			FAIL("round %u", round);
	}
	/* quarantine is the exception: the peer did not confirm */
	CHECK(freed > 10 * quarantined);
	CHECK(quarantined > 0);
	CHECK(second > 0);
}

static void documentation(void)
{
	const char *path = "../../Documentation/states.rst";
	char *want = NULL, *got;
	size_t want_len, got_len;
	FILE *f = open_memstream(&want, &want_len);

	REQUIRE(f);
	states_rst(f);
	fclose(f);
	f = fopen(path, "r");
	if (!f) {
		FAIL("%s: not found (run in selftests/unit)", path);
		free(want);
		return;
	}
	got = malloc(want_len + 1);
	got_len = got ? fread(got, 1, want_len + 1, f) : 0;
	fclose(f);
	if (got_len != want_len || memcmp(got, want, want_len))
		FAIL("%s differs from the tables: write it again with --rst", path);
	free(got);
	free(want);
}

static const struct unit_case cases[] = {
	UNIT_CASE(walk),
	UNIT_CASE(rfc_arcs_are_ours),
	UNIT_CASE(our_arcs_are_in_the_rfc),
	UNIT_CASE(split_states_match),
	UNIT_CASE(action_laws),
	UNIT_CASE(every_state_ends),
	UNIT_CASE(peer_violations),
	UNIT_CASE(flags_to_event),
	UNIT_CASE(rst_to_event),
	UNIT_CASE(diag_numbers),
	UNIT_CASE(names),
	UNIT_CASE(pairs),
	UNIT_CASE(documentation),
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--rst")) {
		states_rst(stdout);
		return 0;
	}
	return unit_run("conn_fsm", cases, ARRAY_SIZE(cases));
}
