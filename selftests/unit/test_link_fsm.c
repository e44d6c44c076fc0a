// SPDX-License-Identifier: GPL-2.0-only
/* Link states: proto/link_fsm.c. */
#include "unit.h"

#include <smc/proto/link_fsm.h>

#define ACT(name)	SMC_LINK_ACT_##name

/* Find cell @n of the table; false: there is none. */
static bool table_cell(unsigned int n, unsigned int *r, unsigned int *s, unsigned int *e)
{
	*e = n % SMC_LINK_EVENTS;
	*s = n / SMC_LINK_EVENTS % SMC_LINK_STATES;
	*r = n / SMC_LINK_EVENTS / SMC_LINK_STATES;
	return *r < SMC_LINK_ROLES;
}

static struct smc_link_row row_of(unsigned int role, unsigned int state, unsigned int event)
{
	struct smc_link_row row;

	smc_link_fsm_get_row((enum smc_link_role)role, (enum smc_link_state)state,
			     (enum smc_link_event)event, &row);
	return row;
}

static void walk(void)
{
	unsigned int n, r, s, e, legal = 0;

	for (n = 0; table_cell(n, &r, &s, &e); n++) {
		struct smc_link_row row = row_of(r, s, e);
		enum smc_link_state now = (enum smc_link_state)s;
		u32 actions = 0xffffffff;
		int rc = smc_link_fsm_step((enum smc_link_role)r, &now, (enum smc_link_event)e,
					   &actions);
		bool peer = e == SMC_LINK_EV_CONFIRM_REQ || e == SMC_LINK_EV_CONFIRM_RSP;

		CHECK_EQ(now, row.next);
		CHECK_EQ(actions, row.actions);
		CHECK(!(row.actions >> SMC_LINK_ACTIONS));
		CHECK_EQ(rc, row.legal ? 0 : peer ? -EPROTO : -EINVAL);
		if (!row.legal)
			CHECK(now == s && !actions);
		legal += row.legal;
		/* states never go back */
		CHECK(row.next >= s);
	}
	CHECK(legal > 60);
	CHECK(!row_of(SMC_LINK_ROLES, 0, 0).legal);
	CHECK(!row_of(0, SMC_LINK_STATES, 0).legal);
	CHECK(!row_of(0, 0, SMC_LINK_EVENTS).legal);
}

static void run_events(enum smc_link_role role, const enum smc_link_event *events, size_t n,
		       const enum smc_link_state *states, const u32 *want)
{
	enum smc_link_state state = SMC_LINK_UNUSED;
	size_t i;

	for (i = 0; i < n; i++) {
		u32 actions;

		CHECK_EQ(smc_link_fsm_step(role, &state, events[i], &actions), 0);
		CHECK_EQ(state, states[i]);
		CHECK_EQ(actions, want[i]);
	}
}

static void server_life(void)
{
	static const enum smc_link_event events[] = {
		SMC_LINK_EV_CREATED, SMC_LINK_EV_QP_RTR, SMC_LINK_EV_QP_RTS,
		SMC_LINK_EV_CONFIRM_RSP, SMC_LINK_EV_CONFIRM_RSP, SMC_LINK_EV_DELETE,
		SMC_LINK_EV_MOVED, SMC_LINK_EV_DRAINED,
	};
	static const enum smc_link_state states[] = {
		SMC_LINK_INIT, SMC_LINK_READY, SMC_LINK_CONFIRMING, SMC_LINK_ACTIVE,
		SMC_LINK_ACTIVE, SMC_LINK_DELETING, SMC_LINK_DRAINING, SMC_LINK_DEAD,
	};
	static const u32 want[] = {
		0, ACT(ARM_TIMER), ACT(SEND_CONFIRM), ACT(REPORT_ACTIVE) | ACT(CANCEL_TIMER),
		0, ACT(REPORT_LOST), ACT(FENCE), ACT(RELEASE),
	};

	run_events(SMC_LINK_SERVER, events, ARRAY_SIZE(events), states, want);
}

/* The client goes to RTS and responds on the request, and to each repetition of it. */
static void client_life(void)
{
	static const enum smc_link_event events[] = {
		SMC_LINK_EV_CREATED, SMC_LINK_EV_QP_RTR, SMC_LINK_EV_CONFIRM_REQ,
		SMC_LINK_EV_QP_RTS, SMC_LINK_EV_CONFIRM_REQ, SMC_LINK_EV_RSP_SENT,
		SMC_LINK_EV_CONFIRM_REQ, SMC_LINK_EV_RSP_SENT, SMC_LINK_EV_FAIL,
		SMC_LINK_EV_FAIL, SMC_LINK_EV_DRAINED,
	};
	static const enum smc_link_state states[] = {
		SMC_LINK_INIT, SMC_LINK_READY, SMC_LINK_CONFIRMING, SMC_LINK_CONFIRMING,
		SMC_LINK_CONFIRMING, SMC_LINK_ACTIVE, SMC_LINK_ACTIVE, SMC_LINK_ACTIVE,
		SMC_LINK_DRAINING, SMC_LINK_DRAINING, SMC_LINK_DEAD,
	};
	static const u32 want[] = {
		0, ACT(ARM_TIMER), ACT(MODIFY_RTS) | ACT(SEND_CONFIRM_RSP), 0, 0,
		ACT(REPORT_ACTIVE) | ACT(CANCEL_TIMER), ACT(SEND_CONFIRM_RSP), 0,
		ACT(REPORT_LOST) | ACT(FENCE), 0, ACT(RELEASE),
	};

	run_events(SMC_LINK_CLIENT, events, ARRAY_SIZE(events), states, want);
}

static void roles(void)
{
	unsigned int n, r, s, e;

	for (n = 0; table_cell(n, &r, &s, &e); n++) {
		if (e == SMC_LINK_EV_CONFIRM_REQ || e == SMC_LINK_EV_RSP_SENT)
			CHECK(r == SMC_LINK_CLIENT || !row_of(r, s, e).legal);
		if (e == SMC_LINK_EV_CONFIRM_RSP)
			CHECK(r == SMC_LINK_SERVER || !row_of(r, s, e).legal);
	}
}

/* On every path through the states each fact is reported once, and no path skips the fence. */
static void random_lives(void)
{
	unsigned int life;

	for (life = 0; life < 20000; life++) {
		enum smc_link_role role = (enum smc_link_role)unit_below(2);
		enum smc_link_state state = SMC_LINK_UNUSED;
		unsigned int up = 0, lost = 0, fence = 0, release = 0, created = 0, armed = 0, n;

		for (n = 0; n < 2000 && state != SMC_LINK_DEAD; n++) {
			enum smc_link_state before = state;
			enum smc_link_event event =
				(enum smc_link_event)unit_below(SMC_LINK_EVENTS);
			u32 act;

			if (smc_link_fsm_step(role, &state, event, &act))
				continue;
			created += event == SMC_LINK_EV_CREATED;
			armed += !!(act & ACT(ARM_TIMER));
			armed -= !!(act & ACT(CANCEL_TIMER));
			if (event == SMC_LINK_EV_TIMEOUT &&
			    (before == SMC_LINK_READY || before == SMC_LINK_CONFIRMING))
				armed--;
			up += !!(act & ACT(REPORT_ACTIVE));
			lost += !!(act & ACT(REPORT_LOST));
			fence += !!(act & ACT(FENCE));
			release += !!(act & ACT(RELEASE));
			CHECK_EQ(armed, state == SMC_LINK_READY || state == SMC_LINK_CONFIRMING);
		}
		CHECK_EQ(state, SMC_LINK_DEAD);
		CHECK(up <= 1);
		CHECK_EQ(lost, 1);
		CHECK_EQ(fence, created);
		CHECK_EQ(release, 1);
	}
}

static void usable(void)
{
	unsigned int s;

	for (s = 0; s < SMC_LINK_STATES; s++) {
		enum smc_link_state state = (enum smc_link_state)s;

		CHECK_EQ(smc_link_state_is_usable(state), s == SMC_LINK_ACTIVE);
		CHECK_EQ(smc_link_state_may_recv(state),
			 s == SMC_LINK_READY || s == SMC_LINK_CONFIRMING ||
			 s == SMC_LINK_ACTIVE || s == SMC_LINK_DELETING);
	}
}

/* States shown to users: active only if the link carries connections. */
static void shown(void)
{
	u32 s;

	CHECK(SMC_LINK_UAPI_ACTIVE == 3);
	for (s = 0; s < SMC_LINK_STATES; s++)
		CHECK((smc_link_state_uapi((enum smc_link_state)s) == SMC_LINK_UAPI_ACTIVE) ==
		      smc_link_state_is_usable((enum smc_link_state)s));
	CHECK_EQ(smc_link_state_uapi(SMC_LINK_CONFIRMING), SMC_LINK_UAPI_ACTIVATING);
	CHECK_EQ(smc_link_state_uapi(SMC_LINK_DRAINING), SMC_LINK_UAPI_INACTIVE);
	CHECK_EQ(smc_link_state_uapi(SMC_LINK_DEAD), SMC_LINK_UAPI_UNUSED);
}

static void names(void)
{
	unsigned int i;

	for (i = 0; i < SMC_LINK_STATES; i++)
		CHECK(strcmp(smc_link_state_str((enum smc_link_state)i), "?"));
	for (i = 0; i < SMC_LINK_EVENTS; i++)
		CHECK(strcmp(smc_link_event_str((enum smc_link_event)i), "?"));
	for (i = 0; i < SMC_LINK_ACTIONS; i++)
		CHECK(strcmp(smc_link_action_str(1u << i), "?"));
	CHECK(!strcmp(smc_link_state_str(SMC_LINK_STATES), "?"));
	CHECK(!strcmp(smc_link_action_str(1u << SMC_LINK_ACTIONS), "?"));
}

static const struct unit_case cases[] = {
	UNIT_CASE(walk),
	UNIT_CASE(server_life),
	UNIT_CASE(client_life),
	UNIT_CASE(roles),
	UNIT_CASE(random_lives),
	UNIT_CASE(usable),
	UNIT_CASE(shown),
	UNIT_CASE(names),
};

UNIT_MAIN("link_fsm", cases)
