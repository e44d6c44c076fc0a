// SPDX-License-Identifier: GPL-2.0-only
/* Tables of states: any numbers, also such that no state or event has. */
#include <smc/proto/conn_fsm.h>
#include <smc/proto/failover.h>
#include <smc/proto/link_fsm.h>
#include <smc/proto/link_pick.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/move_fsm.h>
#include <smc/proto/upgrade.h>
#include "prove.h"

/* To CBMC an enum may be negative. */
#define BELOW(value, n)	((unsigned int)(value) < (n))

void fsm_conn(void)
{
	enum smc_conn_state state = (enum smc_conn_state)nondet_u32(), before = state;
	enum smc_conn_event event = (enum smc_conn_event)nondet_u32();
	u32 actions;
	int rc = smc_conn_fsm_step(&state, event, &actions);

	PROVE(!rc || rc == -EPROTO || rc == -EINVAL);
	PROVE(actions < 1U << SMC_CONN_ACTIONS);
	if (rc) {
		PROVE(state == before && !actions);
		PROVE((rc == -EPROTO) == smc_conn_event_is_from_peer(event));
		return;
	}
	PROVE(BELOW(before, SMC_CONN_STATES) && BELOW(event, SMC_CONN_EVENTS));
	PROVE(BELOW(state, SMC_CONN_STATES));
	PROVE(before != SMC_CONN_CLOSED || state == SMC_CONN_CLOSED);
	/* the element has one fate, and only at the end */
	PROVE(!(actions & SMC_CONN_ACT_RELEASE) == !(state == SMC_CONN_CLOSED && state != before));
	PROVE(!(actions & SMC_CONN_ACT_RELEASE) == !(actions & (SMC_CONN_ACT_ELEMENT_FREE |
								SMC_CONN_ACT_ELEMENT_QUARANTINE)));
	PROVE(!(actions & SMC_CONN_ACT_ELEMENT_FREE) ||
	      !(actions & SMC_CONN_ACT_ELEMENT_QUARANTINE));
}

void fsm_link(void)
{
	enum smc_link_state state = (enum smc_link_state)nondet_u32(), before = state;
	enum smc_link_event event = (enum smc_link_event)nondet_u32();
	enum smc_link_role role = any_bool() ? SMC_LINK_SERVER : SMC_LINK_CLIENT;
	u32 actions;
	int rc = smc_link_fsm_step(role, &state, event, &actions);

	PROVE(actions < 1U << SMC_LINK_ACTIONS);
	if (rc) {
		PROVE(state == before && !actions);
		return;
	}
	PROVE(BELOW(before, SMC_LINK_STATES) && BELOW(event, SMC_LINK_EVENTS));
	PROVE(BELOW(state, SMC_LINK_STATES));
	/* a link that is fenced is not used again, a dead one never */
	PROVE(before < SMC_LINK_DRAINING || state >= before);
}

void fsm_move(void)
{
	enum smc_move_state state = (enum smc_move_state)nondet_u32(), before = state;
	enum smc_move_event event = (enum smc_move_event)nondet_u32();
	u32 actions;
	int rc = smc_move_fsm_step(&state, event, &actions);

	PROVE(actions < 1U << SMC_MOVE_ACTIONS);
	if (rc) {
		PROVE(rc == -EINVAL && state == before && !actions);
		return;
	}
	PROVE(BELOW(before, SMC_MOVE_STATES) && BELOW(event, SMC_MOVE_EVENTS));
	PROVE(BELOW(state, SMC_MOVE_STATES));
	/* the link is left only when nothing of it can come late */
	PROVE(!(actions & SMC_MOVE_ACT_CHANGE_LINK) || before == SMC_MOVE_GO);
	PROVE(state != SMC_MOVE_GO || before == SMC_MOVE_GO || before == SMC_MOVE_ACKED ||
	      before == SMC_MOVE_DRAINED);
}

void fsm_llc_flow(void)
{
	enum smc_llc_exchange running = (enum smc_llc_exchange)nondet_u32();
	enum smc_llc_input input = (enum smc_llc_input)nondet_u32();
	enum smc_llc_role role = any_bool() ? SMC_LLC_SERVER : SMC_LLC_CLIENT;
	enum smc_llc_verdict v = smc_llc_flow_decide(role, running, input, nondet_u32());

	PROVE(BELOW(v, SMC_LLC_VERDICTS));
	PROVE(BELOW(smc_llc_flow_exchange(input), SMC_LLC_EXCHANGES));
	/* the slot is free for what starts, or what runs can wait beside it */
	PROVE(v != SMC_LLC_RUN || running == SMC_LLC_X_IDLE);
	PROVE(v != SMC_LLC_PREEMPT || running == SMC_LLC_X_RKEY);
	PROVE((v != SMC_LLC_RUN && v != SMC_LLC_PREEMPT) ||
	      smc_llc_flow_exchange(input) != SMC_LLC_X_IDLE);
}

static bool up_is_sound(const struct smc_upgrade *up)
{
	return BELOW(up->agree, SMC_UPGRADE_AGREES) && BELOW(up->tx, SMC_UPGRADE_TXS) &&
	       BELOW(up->rx, SMC_UPGRADE_RXS);
}

void fsm_upgrade(void)
{
	enum smc_upgrade_event event = (enum smc_upgrade_event)nondet_u32();
	struct smc_upgrade up, before;
	u32 actions;
	int rc;

	GIVEN(up_is_sound(&up));
	before = up;
	rc = smc_upgrade_step(&up, event, &actions);
	PROVE(!rc || rc == -EPROTO || rc == -EINVAL);
	PROVE(actions < 1U << SMC_UPGRADE_ACTIONS);
	PROVE(up_is_sound(&up));
	if (rc) {
		PROVE(up.agree == before.agree && up.tx == before.tx && up.rx == before.rx);
		PROVE(!actions);
		PROVE((rc == -EPROTO) == smc_upgrade_event_is_from_peer(event));
		return;
	}
	PROVE(BELOW(event, SMC_UPGRADE_EVENTS));
	/* what was agreed stays so */
	PROVE(before.agree != SMC_UPGRADE_SMC || up.agree == SMC_UPGRADE_SMC);
	PROVE(!(actions & SMC_UPGRADE_ACT_RELEASE) || !(actions & SMC_UPGRADE_ACT_QUARANTINE));
}

#define LINKS	4	/* the loops do the same for each */

void link_pick(void)
{
	enum smc_link_policy policy = (enum smc_link_policy)nondet_u32();
	u32 n = nondet_u32(), last = nondet_u32(), from = nondet_u32();
	struct smc_link_load load[LINKS];
	int at;

	GIVEN(n <= LINKS);
	at = smc_link_pick(policy, load, n, last);
	PROVE(at < (int)n && (at < 0 || load[at].usable));
	GIVEN(from < n);
	at = smc_link_pick_better(policy, load, n, from);
	PROVE(at < (int)n && (at < 0 || (at != (int)from && load[at].usable)));
}

#define SLOTS	9	/* SMC_LINKS_MAX, and the one that an orderly removal replaces */

static bool path_is_sound(const struct smc_failover_rx *rx)
{
	return rx->nparked <= SMC_FAILOVER_PARKED_MAX;
}

/* Any state of a path, any message, over any link, with any history: the list is never overrun. */
void failover_path(void)
{
	u8 past[SMC_FAILOVER_PREV_LINKS], buf[SMC_CDC_LEN], i;
	struct smc_failover_rx rx;
	struct smc_cdc_msg msg;
	u8 slot = nondet_u8();
	u32 doubt;
	int rc;

	GIVEN(path_is_sound(&rx) && slot < SLOTS);
	GIVEN(rx.slot < SLOTS || rx.slot == SMC_FAILOVER_NO_SLOT);
	for (i = 0; i < SMC_FAILOVER_PARKED_MAX; i++)
		GIVEN(rx.parked[i].slot < SLOTS);
	for (i = 0; i < SMC_FAILOVER_PREV_LINKS; i++)
		GIVEN(past[i] < SLOTS || past[i] == SMC_FAILOVER_NO_SLOT);
	rc = smc_failover_rx_input(&rx, slot, past, buf, &msg, &doubt);
	PROVE(rc == SMC_FAILOVER_TAKE || rc == SMC_FAILOVER_PARKED || rc == SMC_FAILOVER_FIRST ||
	      rc == -ENOSPC);
	PROVE(path_is_sound(&rx) && !(doubt >> SLOTS));
	PROVE(rc < 0 || rx.slot != SMC_FAILOVER_NO_SLOT);
}
