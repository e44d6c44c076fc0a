// SPDX-License-Identifier: GPL-2.0-only
/*
 * The LLC tables with state: a group's turn and its deferred messages, its set of links, the state
 * of each link, and the orderly moves of one connection per link, driven together by any sequence
 * of messages of the peer and of local events.
 *
 * Invariants: no exchange begins while another one has the turn, except where the client yields;
 * nothing is deferred while nobody has it; no table leaves its states; a link is fenced and
 * released once, in that order, and never used after that; no two links join the same RNICs, and
 * there is at most one more than agreed; a connection changes its link only when its request was
 * acknowledged and its RNIC has nothing in flight.
 *
 * Input: a byte for role, quirks and number of links, then steps of two bytes.
 */
#include <smc/proto/link_fsm.h>
#include <smc/proto/link_set.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/move_fsm.h>
#include "fuzz.h"

#define LINKS		(SMC_LINKS_MAX + 1)	/* and an asymmetric one */
#define DEFERRED	64
#define LINK_ACT(name)	SMC_LINK_ACT_##name
#define MOVE_ACT(name)	SMC_MOVE_ACT_##name

struct move {
	enum smc_move_state state;
	bool sent, acked, drained;
};

struct link {
	enum smc_link_state state;
	struct smc_link_ends ends;
	unsigned int fences, releases, active, lost;
	bool timer;
	struct move move;
};

struct group {
	enum smc_llc_role role;
	u32 quirks, max;
	enum smc_llc_exchange running;
	enum smc_llc_input deferred[DEFERRED];
	unsigned int ndeferred;
	struct link link[LINKS];	/* the oldest first */
	u32 n;
	bool over;
};

/* ---- whose turn it is ---- */

static void decide(struct group *g, enum smc_llc_input input)
{
	enum smc_llc_verdict v = smc_llc_flow_decide(g->role, g->running, input, g->quirks);
	enum smc_llc_exchange begins = smc_llc_flow_exchange(input);
	bool received = smc_llc_input_is_received(input);

	FUZZ_ASSERT(v < SMC_LLC_VERDICTS && begins < SMC_LLC_EXCHANGES);
	switch (v) {
	case SMC_LLC_RUN:
		FUZZ_ASSERT(g->running == SMC_LLC_X_IDLE && begins != SMC_LLC_X_IDLE);
		g->running = begins;
		break;
	case SMC_LLC_PREEMPT:
		/* the server controls the links: a client's RKEY exchange waits in parallel */
		FUZZ_ASSERT(g->role == SMC_LLC_CLIENT && received);
		FUZZ_ASSERT(g->running == SMC_LLC_X_RKEY && begins != SMC_LLC_X_IDLE);
		g->running = begins;
		break;
	case SMC_LLC_QUEUE:
		FUZZ_ASSERT(g->running != SMC_LLC_X_IDLE);
		/* the module ends a group whose peer goes on */
		if (g->ndeferred == DEFERRED)
			g->over = true;
		else
			g->deferred[g->ndeferred++] = input;
		break;
	case SMC_LLC_REFUSE:
		FUZZ_ASSERT(input == SMC_LLC_IN_RKEY && !(g->quirks & SMC_LLC_QUIRK_NO_RETRY));
		FUZZ_ASSERT(g->role == SMC_LLC_SERVER && g->running != SMC_LLC_X_IDLE);
		break;
	case SMC_LLC_JOIN:
	case SMC_LLC_VIOLATION:
		FUZZ_ASSERT(received);
		g->over = v == SMC_LLC_VIOLATION;
		break;
	case SMC_LLC_TERMINATE:
		FUZZ_ASSERT(input == SMC_LLC_IN_DELETE_LINK_ALL ||
			    input == SMC_LLC_DO_DELETE_LINK_ALL);
		g->over = true;
		break;
	case SMC_LLC_PASS:
	case SMC_LLC_DROP:
	case SMC_LLC_VERDICTS:
		break;
	}
}

/* The exchange is over: decide again about what waits, until one of them takes the turn. */
static void turn_end(struct group *g)
{
	enum smc_llc_input waiting[DEFERRED];
	unsigned int i, n = g->ndeferred;

	g->running = SMC_LLC_X_IDLE;
	g->ndeferred = 0;
	for (i = 0; i < n; i++)
		waiting[i] = g->deferred[i];
	for (i = 0; i < n && !g->over; i++)
		decide(g, waiting[i]);
	FUZZ_ASSERT(!g->ndeferred || g->running != SMC_LLC_X_IDLE || g->over);
	FUZZ_ASSERT(g->ndeferred < n || !n);
}

/* ---- links ---- */

static u32 list_ends(const struct group *g, struct smc_link_ends *set)
{
	u32 i;

	for (i = 0; i < g->n; i++)
		set[i] = g->link[i].ends;
	return g->n;
}

static void link_add(struct group *g, u8 ends)
{
	struct smc_link_ends set[LINKS], further = { ends & 15, ends >> 4 };
	u32 i, n = list_ends(g, set);
	enum smc_link_fit fit = smc_link_set_classify(set, n, &further, g->max);

	FUZZ_ASSERT(fit < SMC_LINK_FITS);
	if (fit != SMC_LINK_FIT_ASYM && fit != SMC_LINK_FIT_SYM)
		return;
	FUZZ_ASSERT(n <= g->max && n < LINKS);
	for (i = 0; i < n; i++)
		FUZZ_ASSERT(set[i].own != further.own || set[i].peer != further.peer);
	g->link[n] = (struct link){ .ends = further };
	g->n++;
}

static void link_drop(struct group *g, u32 at)
{
	for (g->n--; at < g->n; at++)
		g->link[at] = g->link[at + 1];
}

static void link_event(struct group *g, u32 at, enum smc_link_event ev)
{
	enum smc_link_role role = g->role == SMC_LLC_SERVER ? SMC_LINK_SERVER : SMC_LINK_CLIENT;
	struct link *l = &g->link[at];
	enum smc_link_state was = l->state;
	u32 act = ~0U;
	int rc = smc_link_fsm_step(role, &l->state, ev, &act);

	FUZZ_ASSERT(l->state < SMC_LINK_STATES && l->state >= was);
	if (rc) {
		FUZZ_ASSERT(l->state == was && !act);
		return;
	}
	FUZZ_ASSERT(!(act >> SMC_LINK_ACTIONS));
	l->active += !!(act & LINK_ACT(REPORT_ACTIVE));
	l->lost += !!(act & LINK_ACT(REPORT_LOST));
	l->fences += !!(act & LINK_ACT(FENCE));
	l->releases += !!(act & LINK_ACT(RELEASE));
	if (act & LINK_ACT(CANCEL_TIMER)) {
		FUZZ_ASSERT(l->timer);
		l->timer = false;
	}
	if (act & LINK_ACT(ARM_TIMER)) {
		FUZZ_ASSERT(!l->timer);
		l->timer = true;
	}
	if (ev == SMC_LINK_EV_TIMEOUT)
		l->timer = false;
	FUZZ_ASSERT(l->active <= 1 && l->lost <= 1 && l->fences <= 1 && l->releases <= 1);
	/* the end of each link is reported, whether it was usable or not */
	FUZZ_ASSERT(l->lost == (l->state >= SMC_LINK_DELETING));
	FUZZ_ASSERT(smc_link_state_is_usable(l->state) == (l->active && !l->lost));
	FUZZ_ASSERT(l->releases == (l->state == SMC_LINK_DEAD));
	/* memory is given up only behind the fence */
	FUZZ_ASSERT(l->state < SMC_LINK_DRAINING || l->fences || was == SMC_LINK_UNUSED);
	FUZZ_ASSERT(l->state < SMC_LINK_DRAINING || !l->timer);
	FUZZ_ASSERT(l->state < SMC_LINK_DRAINING || !smc_link_state_may_recv(l->state));
	if (l->state == SMC_LINK_DEAD)
		link_drop(g, at);
}

/* ---- orderly moves ---- */

static void move_event(struct move *m, enum smc_move_event ev)
{
	enum smc_move_state was = m->state;
	u32 act = ~0U;
	int rc = smc_move_fsm_step(&m->state, ev, &act);

	FUZZ_ASSERT(m->state < SMC_MOVE_STATES);
	if (rc) {
		FUZZ_ASSERT(m->state == was && !act);
		return;
	}
	FUZZ_ASSERT(!(act >> SMC_MOVE_ACTIONS));
	if (act & MOVE_ACT(CHANGE_LINK))
		FUZZ_ASSERT(m->sent && m->acked && m->drained && ev == SMC_MOVE_EV_WORK);
	if (act & MOVE_ACT(SEND_REQUEST))
		FUZZ_ASSERT(was == SMC_MOVE_IDLE && ev == SMC_MOVE_EV_BEGIN);
	if (ev == SMC_MOVE_EV_LOST || ev == SMC_MOVE_EV_END)
		FUZZ_ASSERT(m->state == SMC_MOVE_IDLE);
	/* only what follows the request counts */
	if (m->state == SMC_MOVE_IDLE)
		*m = (struct move){ .state = SMC_MOVE_IDLE };
	else if (ev == SMC_MOVE_EV_SENT)
		m->sent = true;
	m->acked |= m->sent && ev == SMC_MOVE_EV_ACKED;
	m->drained |= m->sent && ev == SMC_MOVE_EV_DRAINED;
}

/* ---- the whole group ---- */

/* Mostly events that are legal now, so that short inputs get far. */
static enum smc_link_event pick_link_event(const struct group *g, u32 at, u8 arg)
{
	enum smc_link_role role = g->role == SMC_LLC_SERVER ? SMC_LINK_SERVER : SMC_LINK_CLIENT;
	struct smc_link_row row = { .legal = false };
	unsigned int ev = arg % SMC_LINK_EVENTS, i;

	for (i = 0; i < SMC_LINK_EVENTS && arg < 0xe0; i++) {
		smc_link_fsm_get_row(role, g->link[at].state, (enum smc_link_event)ev, &row);
		if (row.legal)
			break;
		ev = (ev + 1) % SMC_LINK_EVENTS;
	}
	return (enum smc_link_event)ev;
}

static enum smc_move_event pick_move_event(const struct group *g, u32 at, u8 arg)
{
	struct smc_move_row row = { .legal = false };
	unsigned int ev = arg % SMC_MOVE_EVENTS, i;

	for (i = 0; i < SMC_MOVE_EVENTS && arg < 0xe0; i++) {
		smc_move_fsm_get_row(g->link[at].move.state, (enum smc_move_event)ev, &row);
		if (row.legal)
			break;
		ev = (ev + 1) % SMC_MOVE_EVENTS;
	}
	return (enum smc_move_event)ev;
}

static void check_group(const struct group *g)
{
	struct smc_link_ends set[LINKS];
	u32 n = list_ends(g, set);
	int old = smc_link_set_redundant(set, n, g->max);

	FUZZ_ASSERT(g->running < SMC_LLC_EXCHANGES);
	FUZZ_ASSERT(n <= g->max + 1);
	FUZZ_ASSERT(smc_link_set_type(set, n) < SMC_LINKS_TYPES);
	FUZZ_ASSERT((smc_link_set_type(set, n) == SMC_LINKS_NONE) == !n);
	FUZZ_ASSERT(old < (int)n && (old < 0 || n >= 3));
}

static void step(struct group *g, u8 op, u8 arg)
{
	struct smc_link_ends set[LINKS];
	u32 at = g->n ? (op >> 4) % g->n : 0;
	int old;

	switch (op % 8) {
	case 0:
	case 1:
	case 2:
		decide(g, (enum smc_llc_input)(arg % SMC_LLC_INPUTS));
		break;
	case 3:
		turn_end(g);
		break;
	case 4:
		link_add(g, arg);
		break;
	case 5:
		if (g->n)
			link_event(g, at, pick_link_event(g, at, arg));
		break;
	case 6:
		if (g->n)
			move_event(&g->link[at].move, pick_move_event(g, at, arg));
		break;
	default:
		old = smc_link_set_redundant(set, list_ends(g, set), g->max);
		if (old >= 0)
			link_drop(g, (u32)old);
	}
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct group g = { .running = SMC_LLC_X_FIRST };

	if (!size)
		return 0;
	g.role = data[0] & 1 ? SMC_LLC_CLIENT : SMC_LLC_SERVER;
	g.quirks = data[0] & 2 ? SMC_LLC_QUIRK_NO_RETRY : 0;
	g.max = 1 + (data[0] >> 2) % SMC_LINKS_MAX;
	link_add(&g, 0);
	for (data++, size--; size >= 2 && !g.over; data += 2, size -= 2) {
		step(&g, data[0], data[1]);
		check_group(&g);
	}
	return 0;
}
