// SPDX-License-Identifier: GPL-2.0-only
/*
 * Link states as a table; link_fsm.h describes states and events.
 *
 * The server brings its queue pair to RTS on its own, the client when CONFIRM LINK has arrived (RFC
 * 7609 section 3.5.1); on an added link that request also tells the client that the server is
 * ready.
 *
 * CONFIRM LINK may arrive twice: a server repeats it, because some clients drop one that arrives
 * before they accept it. A second request is answered again, a second response is ignored.
 */
#include <smc/proto/link_fsm.h>

/**
 * struct link_fsm_cell - Effect of an event in a state
 * @actions: SMC_LINK_ACT_*
 * @next: state afterwards
 * @roles: bit mask of the roles in which the event can happen
 */
struct link_fsm_cell {
	u16 actions;
	u8 next;
	u8 roles;
};

/* Bits of &link_fsm_cell.roles; the bit number is enum smc_link_role. */
#define SERVER		0x1
#define CLIENT		0x2

#define EV(name)							\
	[SMC_LINK_EV_##name]
#define ROLE(role, state, act)						\
	{ .actions = (act), .next = SMC_LINK_##state, .roles = (role) }
#define GO(state, act)	ROLE(SERVER | CLIENT, state, act)

#define ARM		SMC_LINK_ACT_ARM_TIMER
#define CANCEL		SMC_LINK_ACT_CANCEL_TIMER
#define FENCE		SMC_LINK_ACT_FENCE
#define LOST		SMC_LINK_ACT_REPORT_LOST
#define ANSWER		SMC_LINK_ACT_SEND_CONFIRM_RSP
#define UP		(SMC_LINK_ACT_REPORT_ACTIVE | CANCEL)

static const struct link_fsm_cell link_fsm_table[SMC_LINK_STATES][SMC_LINK_EVENTS] = {
	[SMC_LINK_UNUSED] = {
		EV(CREATED)	= GO(INIT, 0),
		EV(FAIL)	= GO(DEAD, LOST | SMC_LINK_ACT_RELEASE),
		EV(DELETE)	= GO(DEAD, LOST | SMC_LINK_ACT_RELEASE),
	},
	/* No receive is posted yet; drain anyway, so that there is only one way to take it down. */
	[SMC_LINK_INIT] = {
		EV(QP_RTR)	= GO(READY, ARM),
		EV(FAIL)	= GO(DRAINING, LOST | FENCE),
		EV(DELETE)	= GO(DRAINING, LOST | FENCE),
	},
	/* The server goes to RTS once the client is known to be in RTR. */
	[SMC_LINK_READY] = {
		EV(QP_RTS)	= ROLE(SERVER, CONFIRMING, SMC_LINK_ACT_SEND_CONFIRM),
		EV(CONFIRM_REQ)	= ROLE(CLIENT, CONFIRMING, SMC_LINK_ACT_MODIFY_RTS | ANSWER),
		EV(TIMEOUT)	= GO(DRAINING, LOST | FENCE),
		EV(FAIL)	= GO(DRAINING, CANCEL | LOST | FENCE),
		EV(DELETE)	= GO(DRAINING, CANCEL | LOST | FENCE),
	},
	[SMC_LINK_CONFIRMING] = {
		EV(QP_RTS)	= ROLE(CLIENT, CONFIRMING, 0),
		EV(CONFIRM_REQ)	= ROLE(CLIENT, CONFIRMING, 0),
		EV(CONFIRM_RSP)	= ROLE(SERVER, ACTIVE, UP),
		EV(RSP_SENT)	= ROLE(CLIENT, ACTIVE, UP),
		EV(TIMEOUT)	= GO(DRAINING, LOST | FENCE),
		EV(FAIL)	= GO(DRAINING, CANCEL | LOST | FENCE),
		EV(DELETE)	= GO(DRAINING, CANCEL | LOST | FENCE),
	},
	[SMC_LINK_ACTIVE] = {
		EV(CONFIRM_REQ)	= ROLE(CLIENT, ACTIVE, ANSWER),
		EV(CONFIRM_RSP)	= ROLE(SERVER, ACTIVE, 0),
		EV(RSP_SENT)	= ROLE(CLIENT, ACTIVE, 0),
		EV(TIMEOUT)	= GO(DRAINING, LOST | FENCE),
		EV(FAIL)	= GO(DRAINING, LOST | FENCE),
		EV(DELETE)	= GO(DELETING, LOST),
		EV(MOVED)	= GO(ACTIVE, 0),
	},
	[SMC_LINK_DELETING] = {
		EV(CONFIRM_REQ)	= ROLE(CLIENT, DELETING, 0),
		EV(CONFIRM_RSP)	= ROLE(SERVER, DELETING, 0),
		EV(RSP_SENT)	= ROLE(CLIENT, DELETING, 0),
		EV(TIMEOUT)	= GO(DRAINING, FENCE),
		EV(FAIL)	= GO(DRAINING, FENCE),
		EV(DELETE)	= GO(DELETING, 0),
		EV(MOVED)	= GO(DRAINING, FENCE),
	},
	/* Late completions may still raise any event. */
	[SMC_LINK_DRAINING] = {
		EV(QP_RTR)	= GO(DRAINING, 0),
		EV(QP_RTS)	= GO(DRAINING, 0),
		EV(CONFIRM_REQ)	= ROLE(CLIENT, DRAINING, 0),
		EV(CONFIRM_RSP)	= ROLE(SERVER, DRAINING, 0),
		EV(RSP_SENT)	= ROLE(CLIENT, DRAINING, 0),
		EV(TIMEOUT)	= GO(DRAINING, 0),
		EV(FAIL)	= GO(DRAINING, 0),
		EV(DELETE)	= GO(DRAINING, 0),
		EV(MOVED)	= GO(DRAINING, 0),
		EV(DRAINED)	= GO(DEAD, SMC_LINK_ACT_RELEASE),
	},
	[SMC_LINK_DEAD] = {
		EV(TIMEOUT)	= GO(DEAD, 0),
		EV(FAIL)	= GO(DEAD, 0),
		EV(DELETE)	= GO(DEAD, 0),
		EV(MOVED)	= GO(DEAD, 0),
	},
};

/**
 * smc_link_fsm_get_row() - Read one cell of the table
 * @role: our role in the link group
 * @state: state
 * @event: event
 * @row: set to the effect of @event; an illegal event does not change the state
 */
void smc_link_fsm_get_row(enum smc_link_role role, enum smc_link_state state,
			  enum smc_link_event event, struct smc_link_row *row)
{
	const struct link_fsm_cell *cell;

	row->legal = false;
	row->next = state;
	row->actions = 0;
	if ((unsigned int)role >= SMC_LINK_ROLES || (unsigned int)state >= SMC_LINK_STATES ||
	    (unsigned int)event >= SMC_LINK_EVENTS)
		return;
	cell = &link_fsm_table[state][event];
	if (!(cell->roles & (1 << role)))
		return;
	row->legal = true;
	row->next = (enum smc_link_state)cell->next;
	row->actions = cell->actions;
}

/**
 * smc_link_fsm_step() - Apply an event to a state
 * @role: our role in the link group
 * @state: state, changed on success
 * @event: event
 * @actions: set to the actions that the caller has to do now (SMC_LINK_ACT_*), 0 on error
 *
 * The caller serialises steps of one link.
 *
 * Return: 0; -EPROTO for a CONFIRM LINK that the peer must not send (now, or in its role); -EINVAL
 * for an impossible local event.
 */
int smc_link_fsm_step(enum smc_link_role role, enum smc_link_state *state,
		      enum smc_link_event event, u32 *actions)
{
	struct smc_link_row row;

	smc_link_fsm_get_row(role, *state, event, &row);
	*actions = row.actions;
	if (!row.legal)
		return event == SMC_LINK_EV_CONFIRM_REQ || event == SMC_LINK_EV_CONFIRM_RSP ?
		       -EPROTO : -EINVAL;
	*state = row.next;
	return 0;
}

/**
 * smc_link_state_uapi() - Return the number of a state in the user interface
 * @state: state
 *
 * Return: SMC_LINK_SHOWN_*.
 */
u32 smc_link_state_uapi(enum smc_link_state state)
{
	switch (state) {
	case SMC_LINK_INIT:
	case SMC_LINK_READY:
	case SMC_LINK_CONFIRMING:
		return SMC_LINK_UAPI_ACTIVATING;
	case SMC_LINK_ACTIVE:
		return SMC_LINK_UAPI_ACTIVE;
	case SMC_LINK_DELETING:
	case SMC_LINK_DRAINING:
		return SMC_LINK_UAPI_INACTIVE;
	case SMC_LINK_UNUSED:
	case SMC_LINK_DEAD:
	case SMC_LINK_STATES:
		break;
	}
	return SMC_LINK_UAPI_UNUSED;
}

/**
 * smc_link_state_str() - Return the name of a state
 * @state: state
 *
 * Return: constant string.
 */
const char *smc_link_state_str(enum smc_link_state state)
{
	switch (state) {
	case SMC_LINK_UNUSED:
		return "UNUSED";
	case SMC_LINK_INIT:
		return "INIT";
	case SMC_LINK_READY:
		return "READY";
	case SMC_LINK_CONFIRMING:
		return "CONFIRMING";
	case SMC_LINK_ACTIVE:
		return "ACTIVE";
	case SMC_LINK_DELETING:
		return "DELETING";
	case SMC_LINK_DRAINING:
		return "DRAINING";
	case SMC_LINK_DEAD:
		return "DEAD";
	case SMC_LINK_STATES:
		break;
	}
	return "?";
}

/**
 * smc_link_event_str() - Return the name of an event
 * @event: event
 *
 * Return: constant string.
 */
const char *smc_link_event_str(enum smc_link_event event)
{
	switch (event) {
	case SMC_LINK_EV_CREATED:
		return "CREATED";
	case SMC_LINK_EV_QP_RTR:
		return "QP_RTR";
	case SMC_LINK_EV_QP_RTS:
		return "QP_RTS";
	case SMC_LINK_EV_CONFIRM_REQ:
		return "CONFIRM_REQ";
	case SMC_LINK_EV_CONFIRM_RSP:
		return "CONFIRM_RSP";
	case SMC_LINK_EV_RSP_SENT:
		return "RSP_SENT";
	case SMC_LINK_EV_TIMEOUT:
		return "TIMEOUT";
	case SMC_LINK_EV_FAIL:
		return "FAIL";
	case SMC_LINK_EV_DELETE:
		return "DELETE";
	case SMC_LINK_EV_MOVED:
		return "MOVED";
	case SMC_LINK_EV_DRAINED:
		return "DRAINED";
	case SMC_LINK_EVENTS:
		break;
	}
	return "?";
}

static const char * const link_action_names[SMC_LINK_ACTIONS] = {
	"MODIFY_RTS", "SEND_CONFIRM", "SEND_CONFIRM_RSP", "ARM_TIMER", "CANCEL_TIMER",
	"REPORT_ACTIVE", "REPORT_LOST", "FENCE", "RELEASE",
};

/**
 * smc_link_action_str() - Return the name of an action
 * @bit: exactly one of SMC_LINK_ACT_*
 *
 * Return: constant string.
 */
const char *smc_link_action_str(u32 bit)
{
	unsigned int i;

	for (i = 0; i < SMC_LINK_ACTIONS; i++)
		if (bit == 1u << i)
			return link_action_names[i];
	return "?";
}
