// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of an orderly move as a table, see move_fsm.h.
 *
 * Events that do not concern a state leave it: acknowledgments and completions also arrive while
 * no move is under way, and the connection's work runs for many reasons.
 */
#include <smc/proto/move_fsm.h>

/**
 * struct move_cell - what an event does in a state
 * @actions: SMC_MOVE_ACT_*
 * @next: state afterwards
 * @legal: the event can happen
 */
struct move_cell {
	u8 actions;
	u8 next;
	bool legal;
};

#define EV(name)							\
	[SMC_MOVE_EV_##name]
#define GO(state, act)							\
	{ .actions = (act), .next = SMC_MOVE_##state, .legal = true }

#define QUEUE		SMC_MOVE_ACT_QUEUE_WORK
#define STAY		SMC_MOVE_ACT_COUNT_STAY
#define RETRY		SMC_MOVE_ACT_ALLOW_RETRY

static const struct move_cell move_table[SMC_MOVE_STATES][SMC_MOVE_EVENTS] = {
	[SMC_MOVE_IDLE] = {
		EV(BEGIN)	= GO(ASK, SMC_MOVE_ACT_ARM_TIMER | SMC_MOVE_ACT_SEND_REQUEST),
		EV(ACKED)	= GO(IDLE, 0),
		EV(DRAINED)	= GO(IDLE, 0),
		EV(WORK)	= GO(IDLE, 0),
		EV(YIELD)	= GO(IDLE, 0),
		EV(END)		= GO(IDLE, 0),
		EV(LOST)	= GO(IDLE, 0),
	},
	/* An acknowledgment or completion now belongs to an earlier message. */
	[SMC_MOVE_ASK] = {
		EV(SENT)	= GO(WAIT, 0),
		EV(ACKED)	= GO(ASK, 0),
		EV(DRAINED)	= GO(ASK, 0),
		EV(WORK)	= GO(ASK, 0),
		EV(EXPIRED)	= GO(IDLE, STAY),
		EV(YIELD)	= GO(IDLE, RETRY),
		EV(END)		= GO(IDLE, 0),
		EV(LOST)	= GO(IDLE, 0),
	},
	[SMC_MOVE_WAIT] = {
		EV(ACKED)	= GO(ACKED, 0),
		EV(DRAINED)	= GO(DRAINED, 0),
		EV(WORK)	= GO(WAIT, 0),
		EV(EXPIRED)	= GO(IDLE, STAY),
		EV(YIELD)	= GO(IDLE, RETRY),
		EV(END)		= GO(IDLE, 0),
		EV(LOST)	= GO(IDLE, 0),
	},
	[SMC_MOVE_ACKED] = {
		EV(ACKED)	= GO(ACKED, 0),
		EV(DRAINED)	= GO(GO, QUEUE),
		EV(WORK)	= GO(ACKED, 0),
		EV(EXPIRED)	= GO(IDLE, STAY),
		EV(YIELD)	= GO(IDLE, RETRY),
		EV(END)		= GO(IDLE, 0),
		EV(LOST)	= GO(IDLE, 0),
	},
	[SMC_MOVE_DRAINED] = {
		EV(ACKED)	= GO(GO, QUEUE),
		EV(DRAINED)	= GO(DRAINED, 0),
		EV(WORK)	= GO(DRAINED, 0),
		EV(EXPIRED)	= GO(IDLE, STAY),
		EV(YIELD)	= GO(IDLE, RETRY),
		EV(END)		= GO(IDLE, 0),
		EV(LOST)	= GO(IDLE, 0),
	},
	/* The work is queued: it does not look at the time any more. */
	[SMC_MOVE_GO] = {
		EV(ACKED)	= GO(GO, 0),
		EV(DRAINED)	= GO(GO, 0),
		EV(WORK)	= GO(IDLE, SMC_MOVE_ACT_CHANGE_LINK),
		EV(YIELD)	= GO(GO, 0),
		EV(END)		= GO(IDLE, 0),
		EV(LOST)	= GO(IDLE, 0),
	},
};

/**
 * smc_move_fsm_get_row() - Read one cell of the table
 * @state: state
 * @event: event
 * @row: set to what the event does there; an illegal one leaves the state
 */
void smc_move_fsm_get_row(enum smc_move_state state, enum smc_move_event event,
			  struct smc_move_row *row)
{
	const struct move_cell *cell;

	row->legal = false;
	row->next = state;
	row->actions = 0;
	if ((unsigned int)state >= SMC_MOVE_STATES || (unsigned int)event >= SMC_MOVE_EVENTS)
		return;
	cell = &move_table[state][event];
	if (!cell->legal)
		return;
	row->legal = true;
	row->next = (enum smc_move_state)cell->next;
	row->actions = cell->actions;
}

/**
 * smc_move_fsm_step() - Apply an event to a state
 * @state: state, changed on success
 * @event: event
 * @actions: set to what has to be done now, 0 on error
 *
 * Return: 0, or -EINVAL for an event that is impossible in this state: a bug of the caller.
 */
int smc_move_fsm_step(enum smc_move_state *state, enum smc_move_event event, u32 *actions)
{
	struct smc_move_row row;

	smc_move_fsm_get_row(*state, event, &row);
	*actions = row.actions;
	if (!row.legal)
		return -EINVAL;
	*state = row.next;
	return 0;
}

/**
 * smc_move_state_str() - Return the name of a state
 * @state: state
 *
 * Return: constant string.
 */
const char *smc_move_state_str(enum smc_move_state state)
{
	switch (state) {
	case SMC_MOVE_IDLE:
		return "IDLE";
	case SMC_MOVE_ASK:
		return "ASK";
	case SMC_MOVE_WAIT:
		return "WAIT";
	case SMC_MOVE_ACKED:
		return "ACKED";
	case SMC_MOVE_DRAINED:
		return "DRAINED";
	case SMC_MOVE_GO:
		return "GO";
	case SMC_MOVE_STATES:
		break;
	}
	return "?";
}

/**
 * smc_move_event_str() - Return the name of an event
 * @event: event
 *
 * Return: constant string.
 */
const char *smc_move_event_str(enum smc_move_event event)
{
	switch (event) {
	case SMC_MOVE_EV_BEGIN:
		return "BEGIN";
	case SMC_MOVE_EV_SENT:
		return "SENT";
	case SMC_MOVE_EV_ACKED:
		return "ACKED";
	case SMC_MOVE_EV_DRAINED:
		return "DRAINED";
	case SMC_MOVE_EV_WORK:
		return "WORK";
	case SMC_MOVE_EV_EXPIRED:
		return "EXPIRED";
	case SMC_MOVE_EV_YIELD:
		return "YIELD";
	case SMC_MOVE_EV_END:
		return "END";
	case SMC_MOVE_EV_LOST:
		return "LOST";
	case SMC_MOVE_EVENTS:
		break;
	}
	return "?";
}

static const char * const move_action_names[SMC_MOVE_ACTIONS] = {
	"ARM_TIMER", "SEND_REQUEST", "QUEUE_WORK", "CHANGE_LINK", "COUNT_STAY", "ALLOW_RETRY",
};

/**
 * smc_move_action_str() - Return the name of an action
 * @bit: exactly one of SMC_MOVE_ACT_*
 *
 * Return: constant string.
 */
const char *smc_move_action_str(u32 bit)
{
	unsigned int i;

	for (i = 0; i < SMC_MOVE_ACTIONS; i++)
		if (bit == 1u << i)
			return move_action_names[i];
	return "?";
}
