/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of one link, from the creation of its queue pair to its last reference.
 *
 * A link carries user data in ACTIVE only, and may receive from READY on. A failing link is fenced
 * first (queue pair to ERR), so that no WRITE delayed in the fabric can land later, and released
 * when it has drained.
 */
#ifndef SMC_PROTO_LINK_FSM_H
#define SMC_PROTO_LINK_FSM_H

#include <smc/proto/types.h>

enum smc_link_state {
	SMC_LINK_UNUSED,	/* allocated, no queue pair */
	SMC_LINK_INIT,		/* queue pair in INIT */
	SMC_LINK_READY,		/* queue pair in RTR, receives posted */
	SMC_LINK_CONFIRMING,	/* queue pair in RTS, CONFIRM LINK under way */
	SMC_LINK_ACTIVE,	/* usable for connections */
	SMC_LINK_DELETING,	/* orderly removal: no new connections, others are moved */
	SMC_LINK_DRAINING,	/* queue pair in ERR, waiting for its last completion */
	SMC_LINK_DEAD,		/* waiting for its last reference */
	SMC_LINK_STATES
};

enum smc_link_event {
	SMC_LINK_EV_CREATED,	/* queue pair exists */
	SMC_LINK_EV_QP_RTR,	/* peer's attributes set, receives posted */
	SMC_LINK_EV_QP_RTS,	/* able to send; the server now sends CONFIRM LINK */
	SMC_LINK_EV_CONFIRM_REQ, /* CONFIRM LINK request received (client) */
	SMC_LINK_EV_CONFIRM_RSP, /* CONFIRM LINK response received (server) */
	SMC_LINK_EV_RSP_SENT,	/* our CONFIRM LINK response completed (client) */
	SMC_LINK_EV_TIMEOUT,	/* CONFIRM LINK or TEST LINK not answered */
	SMC_LINK_EV_FAIL,	/* completion error, port or device removed */
	SMC_LINK_EV_DELETE,	/* DELETE LINK exchange for this link */
	SMC_LINK_EV_MOVED,	/* the last connection has moved to another link */
	SMC_LINK_EV_DRAINED,	/* last completion polled */
	SMC_LINK_EVENTS
};

enum smc_link_role {
	SMC_LINK_SERVER,
	SMC_LINK_CLIENT,
	SMC_LINK_ROLES
};

/* Actions that the caller has to do after a step, in the order of the bits. */
#define SMC_LINK_ACT_MODIFY_RTS		0x001	/* bring the queue pair to RTS */
#define SMC_LINK_ACT_SEND_CONFIRM	0x002	/* CONFIRM LINK request */
#define SMC_LINK_ACT_SEND_CONFIRM_RSP	0x004	/* CONFIRM LINK response */
#define SMC_LINK_ACT_ARM_TIMER		0x008
#define SMC_LINK_ACT_CANCEL_TIMER	0x010
#define SMC_LINK_ACT_REPORT_ACTIVE	0x020	/* link usable */
#define SMC_LINK_ACT_REPORT_LOST	0x040	/* link unusable: move or abort connections */
#define SMC_LINK_ACT_FENCE		0x080	/* queue pair to ERR */
#define SMC_LINK_ACT_RELEASE		0x100	/* drop the creator's reference */
#define SMC_LINK_ACTIONS		9	/* number of action bits */

/**
 * struct smc_link_row - One cell of the table, for tests and documentation
 * @legal: false: protocol violation (CONFIRM LINK from the peer) or a bug
 * @next: state after the event
 * @actions: SMC_LINK_ACT_*
 */
struct smc_link_row {
	bool legal;
	enum smc_link_state next;
	u32 actions;
};

int smc_link_fsm_step(enum smc_link_role role, enum smc_link_state *state,
		      enum smc_link_event event, u32 *actions);
void smc_link_fsm_get_row(enum smc_link_role role, enum smc_link_state state,
			  enum smc_link_event event, struct smc_link_row *row);

/* Asked for every message. */

/**
 * smc_link_state_is_usable() - Check whether connections may use the link
 * @state: state
 *
 * Return: true if so.
 */
static inline bool smc_link_state_is_usable(enum smc_link_state state)
{
	return state == SMC_LINK_ACTIVE;
}

/**
 * smc_link_state_may_recv() - Check whether messages of the link are handled
 * @state: state
 *
 * False after the fence: messages received before it have been handled by then.
 *
 * Return: true if so.
 */
static inline bool smc_link_state_may_recv(enum smc_link_state state)
{
	return state >= SMC_LINK_READY && state <= SMC_LINK_DELETING;
}

/* Link states in the user interface: netlink, trace points. */
enum {
	SMC_LINK_UAPI_UNUSED,
	SMC_LINK_UAPI_INACTIVE,
	SMC_LINK_UAPI_ACTIVATING,
	SMC_LINK_UAPI_ACTIVE,
};

u32 smc_link_state_uapi(enum smc_link_state state);
const char *smc_link_state_str(enum smc_link_state state);
const char *smc_link_event_str(enum smc_link_event event);
const char *smc_link_action_str(u32 bit);

#endif /* SMC_PROTO_LINK_FSM_H */
