// SPDX-License-Identifier: GPL-2.0-only
/* States of an orderly move: proto/move_fsm.c. */
#include "unit.h"

#include <smc/proto/move_fsm.h>

#define ACT(name)	SMC_MOVE_ACT_##name
#define EV(name)	SMC_MOVE_EV_##name

static struct smc_move_row row_of(unsigned int state, unsigned int event)
{
	struct smc_move_row row;

	smc_move_fsm_get_row((enum smc_move_state)state, (enum smc_move_event)event, &row);
	return row;
}

static bool waits(unsigned int state)
{
	return state == SMC_MOVE_WAIT || state == SMC_MOVE_ACKED || state == SMC_MOVE_DRAINED;
}

/* A step does what the row says, and an illegal one nothing. */
static void walk(void)
{
	unsigned int s, e, legal = 0;

	for (s = 0; s < SMC_MOVE_STATES; s++) {
		for (e = 0; e < SMC_MOVE_EVENTS; e++) {
			struct smc_move_row row = row_of(s, e);
			enum smc_move_state now = (enum smc_move_state)s;
			u32 actions = 0xffffffff;
			int rc = smc_move_fsm_step(&now, (enum smc_move_event)e, &actions);

			CHECK_EQ(rc, row.legal ? 0 : -EINVAL);
			CHECK_EQ(now, row.next);
			CHECK_EQ(actions, row.actions);
			CHECK(!(row.actions >> SMC_MOVE_ACTIONS));
			CHECK(row.next < SMC_MOVE_STATES);
			if (!row.legal)
				CHECK(now == s && !actions);
			legal += row.legal;
		}
	}
	CHECK_EQ(legal, 42);
	CHECK(!row_of(SMC_MOVE_STATES, 0).legal);
	CHECK(!row_of(0, SMC_MOVE_EVENTS).legal);
}

static void run(const enum smc_move_event *events, size_t n, const enum smc_move_state *states,
		const u32 *want)
{
	enum smc_move_state state = SMC_MOVE_IDLE;
	size_t i;

	for (i = 0; i < n; i++) {
		u32 actions;

		CHECK_EQ(smc_move_fsm_step(&state, events[i], &actions), 0);
		CHECK_EQ(state, states[i]);
		CHECK_EQ(actions, want[i]);
	}
}

static void acked_first(void)
{
	static const enum smc_move_event events[] = {
		EV(BEGIN), EV(ACKED), EV(DRAINED), EV(SENT), EV(WORK), EV(ACKED), EV(WORK),
		EV(DRAINED), EV(WORK),
	};
	static const enum smc_move_state states[] = {
		SMC_MOVE_ASK, SMC_MOVE_ASK, SMC_MOVE_ASK, SMC_MOVE_WAIT, SMC_MOVE_WAIT,
		SMC_MOVE_ACKED, SMC_MOVE_ACKED, SMC_MOVE_GO, SMC_MOVE_IDLE,
	};
	static const u32 want[] = {
		ACT(ARM_TIMER) | ACT(SEND_REQUEST), 0, 0, 0, 0, 0, 0, ACT(QUEUE_WORK),
		ACT(CHANGE_LINK),
	};

	run(events, ARRAY_SIZE(events), states, want);
}

static void drained_first(void)
{
	static const enum smc_move_event events[] = {
		EV(BEGIN), EV(SENT), EV(DRAINED), EV(DRAINED), EV(ACKED), EV(YIELD), EV(WORK),
	};
	static const enum smc_move_state states[] = {
		SMC_MOVE_ASK, SMC_MOVE_WAIT, SMC_MOVE_DRAINED, SMC_MOVE_DRAINED, SMC_MOVE_GO,
		SMC_MOVE_GO, SMC_MOVE_IDLE,
	};
	static const u32 want[] = {
		ACT(ARM_TIMER) | ACT(SEND_REQUEST), 0, 0, 0, ACT(QUEUE_WORK), 0, ACT(CHANGE_LINK),
	};

	run(events, ARRAY_SIZE(events), states, want);
}

/* END and LOST stop a move at once; else only EXPIRED, YIELD and WORK in GO end it. */
static void ways_back(void)
{
	unsigned int s, e;

	for (s = 0; s < SMC_MOVE_STATES; s++) {
		CHECK(row_of(s, EV(END)).legal && row_of(s, EV(END)).next == SMC_MOVE_IDLE);
		CHECK(row_of(s, EV(LOST)).legal && row_of(s, EV(LOST)).next == SMC_MOVE_IDLE);
		CHECK(!row_of(s, EV(END)).actions && !row_of(s, EV(LOST)).actions);
		for (e = 0; s != SMC_MOVE_IDLE && e < SMC_MOVE_EVENTS; e++) {
			struct smc_move_row row = row_of(s, e);

			if (row.next != SMC_MOVE_IDLE || e == EV(END) || e == EV(LOST))
				continue;
			if (s == SMC_MOVE_GO) {
				CHECK_EQ(e, EV(WORK));
				CHECK_EQ(row.actions, ACT(CHANGE_LINK));
			} else if (e == EV(EXPIRED)) {
				CHECK_EQ(row.actions, ACT(COUNT_STAY));
			} else {
				CHECK_EQ(e, EV(YIELD));
				CHECK_EQ(row.actions, ACT(ALLOW_RETRY));
			}
		}
	}
}

/* The link changes only behind both an acknowledgment and a completion of the request. */
static void random_lives(void)
{
	enum smc_move_state state = SMC_MOVE_IDLE;
	unsigned int n, changes = 0, stays = 0, begun = 0, armed = 0;
	bool acked = false, drained = false;

	for (n = 0; n < 200000; n++) {
		enum smc_move_event event = (enum smc_move_event)unit_below(SMC_MOVE_EVENTS);
		enum smc_move_state before = state;
		u32 act;

		/* ends are rare */
		if ((event == EV(END) || event == EV(LOST) || event == EV(EXPIRED)) &&
		    unit_below(8))
			continue;
		if (smc_move_fsm_step(&state, event, &act)) {
			CHECK(event == EV(BEGIN) || event == EV(SENT) || event == EV(EXPIRED));
			continue;
		}
		begun += event == EV(BEGIN);
		armed += !!(act & ACT(ARM_TIMER));
		if (event == EV(SENT)) {
			acked = false;
			drained = false;
		}
		acked |= event == EV(ACKED);
		drained |= event == EV(DRAINED);
		if (waits(state))
			CHECK(acked == (state == SMC_MOVE_ACKED) &&
			      drained == (state == SMC_MOVE_DRAINED));
		if (act & ACT(QUEUE_WORK))
			CHECK(state == SMC_MOVE_GO && before != SMC_MOVE_GO);
		if (act & ACT(CHANGE_LINK)) {
			CHECK(acked && drained && before == SMC_MOVE_GO);
			changes++;
		}
		stays += !!(act & ACT(COUNT_STAY));
	}
	CHECK_EQ(begun, armed);
	CHECK(changes > 1000);
	CHECK(stays > 100);
	CHECK(begun > changes + stays);
}

static void names(void)
{
	unsigned int a, b;

	for (a = 0; a < SMC_MOVE_STATES; a++) {
		CHECK(strcmp(smc_move_state_str((enum smc_move_state)a), "?"));
		for (b = 0; b < a; b++)
			CHECK(strcmp(smc_move_state_str((enum smc_move_state)a),
				     smc_move_state_str((enum smc_move_state)b)));
	}
	for (a = 0; a < SMC_MOVE_EVENTS; a++)
		CHECK(strcmp(smc_move_event_str((enum smc_move_event)a), "?"));
	for (a = 0; a < SMC_MOVE_ACTIONS; a++)
		CHECK(strcmp(smc_move_action_str(1u << a), "?"));
	CHECK(!strcmp(smc_move_state_str(SMC_MOVE_STATES), "?"));
	CHECK(!strcmp(smc_move_event_str(SMC_MOVE_EVENTS), "?"));
	CHECK(!strcmp(smc_move_action_str(1u << SMC_MOVE_ACTIONS), "?"));
	CHECK(!strcmp(smc_move_action_str(3), "?"));
}

static const struct unit_case cases[] = {
	UNIT_CASE(walk),
	UNIT_CASE(acked_first),
	UNIT_CASE(drained_first),
	UNIT_CASE(ways_back),
	UNIT_CASE(random_lives),
	UNIT_CASE(names),
};

UNIT_MAIN("move_fsm", cases)
