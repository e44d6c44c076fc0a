/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of an orderly move: a connection changes the link of its sending direction although the
 * present link works (decision 0014; between native peers only).
 *
 * The sender posts one last message over the old link, which requests an acknowledgment, and then
 * posts nothing more. It changes the link when the peer has acknowledged this message, so that no
 * older message is unread there, and when its own RNIC has completed it, so that no WRITE over the
 * old link can be repeated. The two may happen in either order. If the peer takes too long the
 * connection stays.
 */
#ifndef SMC_PROTO_MOVE_FSM_H
#define SMC_PROTO_MOVE_FSM_H

#include <smc/proto/types.h>

/* Legal sequences: IDLE ASK WAIT (ACKED | DRAINED) GO IDLE, or back to IDLE at any point. */
enum smc_move_state {
	SMC_MOVE_IDLE,		/* no orderly move */
	SMC_MOVE_ASK,		/* the request for an acknowledgment is due */
	SMC_MOVE_WAIT,		/* it is posted: nothing else is until the move is over */
	SMC_MOVE_ACKED,		/* the peer has acknowledged, our RNIC has not completed */
	SMC_MOVE_DRAINED,	/* our RNIC has completed, the peer has not acknowledged */
	SMC_MOVE_GO,		/* both: the connection's work changes the link */
	SMC_MOVE_STATES
};

enum smc_move_event {
	SMC_MOVE_EV_BEGIN,	/* a better link was chosen */
	SMC_MOVE_EV_SENT,	/* the request was posted */
	SMC_MOVE_EV_ACKED,	/* the peer has acknowledged our last message */
	SMC_MOVE_EV_DRAINED,	/* no request is in flight, the last one succeeded */
	SMC_MOVE_EV_WORK,	/* the connection's work runs */
	SMC_MOVE_EV_EXPIRED,	/* the time for the acknowledgment is over */
	SMC_MOVE_EV_YIELD,	/* client: the peer requests an acknowledgment, too */
	SMC_MOVE_EV_END,	/* D, C or A is due, which must not wait */
	SMC_MOVE_EV_LOST,	/* the link has failed, or the group has ended */
	SMC_MOVE_EVENTS
};

/* In the order in which they are to be done. */
#define SMC_MOVE_ACT_ARM_TIMER		0x01	/* limit the time for the acknowledgment */
#define SMC_MOVE_ACT_SEND_REQUEST	0x02	/* push: the request goes out */
#define SMC_MOVE_ACT_QUEUE_WORK		0x04	/* run the connection's work */
#define SMC_MOVE_ACT_CHANGE_LINK	0x08	/* continue over the other link */
#define SMC_MOVE_ACT_COUNT_STAY		0x10	/* count that the connection stays */
#define SMC_MOVE_ACT_ALLOW_RETRY	0x20	/* the connection may try again in this round */
#define SMC_MOVE_ACTIONS		6	/* number of action bits */

/**
 * struct smc_move_row - one cell of the table, for tests and documentation
 * @legal: false: a bug of the caller
 * @next: state after the event
 * @actions: SMC_MOVE_ACT_*
 */
struct smc_move_row {
	bool legal;
	enum smc_move_state next;
	u32 actions;
};

int smc_move_fsm_step(enum smc_move_state *state, enum smc_move_event event, u32 *actions);
void smc_move_fsm_get_row(enum smc_move_state state, enum smc_move_event event,
			  struct smc_move_row *row);

const char *smc_move_state_str(enum smc_move_state state);
const char *smc_move_event_str(enum smc_move_event event);
const char *smc_move_action_str(u32 bit);

#endif /* SMC_PROTO_MOVE_FSM_H */
