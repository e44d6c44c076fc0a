// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connection states as a table, see conn_fsm.h.
 *
 * Where the RFC leaves a choice:
 *
 * - Flags stand in every CDC, so the same peer event again is no news. What a
 *   peer can never do is to write after D or to take C back.
 * - An end that has sent C may not abort any more (figure 23), so an end that
 *   aborts after the peer's C does not wait for the peer's A: it goes to
 *   PROCESSABORT. For the same reason C answers A when the two cross.
 * - Whoever has sent C does not send A: it leaves when the peer is done or
 *   when its timer fires.
 * - Our element is free when the peer has said C or A; else it is quarantined
 *   (section 4.4.2), because the peer may still write to it.
 * - The peer's C is answered in the end, whatever our application does: there is
 *   nothing that it could still send, and the peer keeps element and place for it.
 *   To the application nothing changes by that.
 */
#include <smc/proto/conn_fsm.h>

/**
 * struct conn_fsm_cell - what an event does in a state
 * @actions: SMC_CONN_ACT_*
 * @next: state afterwards
 * @legal: set in every cell that is filled in
 */
struct conn_fsm_cell {
	u32 actions;
	u8 next;
	bool legal;
};

#define EV(name)								\
	[SMC_CONN_EV_##name]
#define GO(state, act)		{ .actions = (act), .next = SMC_CONN_##state, .legal = true }

#define HOLD			SMC_CONN_ACT_HOLD
#define PURGE			SMC_CONN_ACT_PURGE
#define DISCARD			SMC_CONN_ACT_DISCARD
#define SEND_DONE		SMC_CONN_ACT_SEND_DONE
#define SEND_CLOSE		SMC_CONN_ACT_SEND_CLOSE
#define UP			SMC_CONN_ACT_REPORT_UP
#define EOF_			SMC_CONN_ACT_REPORT_EOF
#define GONE			SMC_CONN_ACT_REPORT_PEER_CLOSED
#define ARM			SMC_CONN_ACT_ARM_TIMER
#define CANCEL			SMC_CONN_ACT_CANCEL_TIMER
#define RESET_TCP		SMC_CONN_ACT_RESET_CARRIER
#define ABORTED			SMC_CONN_ACT_REPORT_ABORTED
#define RESET			SMC_CONN_ACT_REPORT_RESET
#define FREE			(SMC_CONN_ACT_RELEASE | SMC_CONN_ACT_ELEMENT_FREE)
#define QUARANTINE		(SMC_CONN_ACT_RELEASE | SMC_CONN_ACT_ELEMENT_QUARANTINE)

/* A goes out: nothing more is written, and this does not take for ever. */
#define SEND_ABORT		(SMC_CONN_ACT_SEND_ABORT | PURGE | ARM)
/* Both ends are done in good order. */
#define ORDERLY			(SMC_CONN_ACT_CLOSE_CARRIER | FREE)

/* Our application may take its time with what it has, the peer shall not wait for that. */
#define ANSWER_CLOSE		(SEND_CLOSE | FREE)
/* This end gives up, the peer never said that it is done with our element. */
#define GIVE_UP			(PURGE | RESET_TCP | QUARANTINE)

static const struct conn_fsm_cell conn_fsm_table[SMC_CONN_STATES][SMC_CONN_EVENTS] = {
	/* The peer may be ahead of us: its CDCs can overtake the CLC Confirm. */
	[SMC_CONN_INIT] = {
		EV(ESTABLISHED)		= GO(ACTIVE, UP),
		EV(CLOSE)		= GO(CLOSED, GIVE_UP),
		EV(ABORT)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(CARRIER_RST)		= GO(CLOSED, PURGE | RESET | QUARANTINE),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DATA)		= GO(INIT, 0),
		EV(PEER_DONE)		= GO(INIT, HOLD),
		EV(PEER_CLOSED)		= GO(INIT, HOLD),
		EV(PEER_CLOSED_EARLY)	= GO(INIT, HOLD),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_ACTIVE] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT1_D, SEND_DONE),
		EV(CLOSE)		= GO(PEERCLOSEWAIT1_C, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CARRIER_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DATA)		= GO(ACTIVE, 0),
		EV(PEER_DONE)		= GO(APPCLOSEWAIT1_D, EOF_),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT1_C, EOF_ | GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	/* No timer: the application still reads, as in TCP's half close. */
	[SMC_CONN_PEERCLOSEWAIT1_D] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT1_D, 0),
		EV(CLOSE)		= GO(PEERCLOSEWAIT1_C, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CARRIER_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DATA)		= GO(PEERCLOSEWAIT1_D, 0),
		EV(PEER_DONE)		= GO(PEERCLOSEWAIT2_D, EOF_),
		EV(PEER_CLOSED)		= GO(APPFINCLOSEWAIT, EOF_ | GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(APPFINCLOSEWAIT, EOF_ | GONE | ARM),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_PEERCLOSEWAIT1_C] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT1_C, 0),
		EV(CLOSE)		= GO(PEERCLOSEWAIT1_C, 0),
		EV(ABORT)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(TIMEOUT)		= GO(CLOSED, GIVE_UP),
		EV(CARRIER_RST)		= GO(PEERCLOSEWAIT1_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(PEER_DATA)		= GO(PEERCLOSEWAIT1_C, DISCARD),
		EV(PEER_DONE)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | ORDERLY),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | ORDERLY),
		EV(PEER_ABORT)		= GO(CLOSED, PURGE | CANCEL | RESET_TCP | FREE),
	},
	[SMC_CONN_PEERCLOSEWAIT2_D] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT2_D, 0),
		EV(CLOSE)		= GO(PEERCLOSEWAIT2_C, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CARRIER_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DONE)		= GO(PEERCLOSEWAIT2_D, 0),
		EV(PEER_CLOSED)		= GO(APPFINCLOSEWAIT, GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(APPFINCLOSEWAIT, GONE | ARM),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_PEERCLOSEWAIT2_C] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(CLOSE)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(ABORT)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(TIMEOUT)		= GO(CLOSED, GIVE_UP),
		EV(CARRIER_RST)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(PEER_DONE)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | ORDERLY),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | ORDERLY),
		EV(PEER_ABORT)		= GO(CLOSED, PURGE | CANCEL | RESET_TCP | FREE),
	},
	/*
	 * The peer is done and gone from here on, in the three states with its
	 * C: a reset of its TCP connection is only the rest of its close.
	 */
	[SMC_CONN_APPFINCLOSEWAIT] = {
		EV(SHUT_WR)		= GO(APPFINCLOSEWAIT, 0),
		EV(CLOSE)		= GO(CLOSED, SEND_CLOSE | ORDERLY | CANCEL),
		EV(ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(TIMEOUT)		= GO(CLOSED, ANSWER_CLOSE),
		EV(CARRIER_RST)		= GO(APPFINCLOSEWAIT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, PURGE | RESET_TCP | ABORTED | FREE | CANCEL),
		EV(PEER_CLOSED)		= GO(APPFINCLOSEWAIT, 0),
		EV(PEER_CLOSED_EARLY)	= GO(APPFINCLOSEWAIT, 0),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT1_D] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_D, SEND_DONE),
		EV(CLOSE)		= GO(PEERFINCLOSEWAIT, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CARRIER_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DONE)		= GO(APPCLOSEWAIT1_D, 0),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT1_C, GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT1_C] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_C, SEND_DONE),
		EV(CLOSE)		= GO(CLOSED, SEND_CLOSE | ORDERLY | CANCEL),
		EV(ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(TIMEOUT)		= GO(CLOSED, ANSWER_CLOSE),
		EV(CARRIER_RST)		= GO(APPCLOSEWAIT1_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, PURGE | RESET_TCP | ABORTED | FREE | CANCEL),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT1_C, 0),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT2_D] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_D, 0),
		EV(CLOSE)		= GO(PEERFINCLOSEWAIT, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CARRIER_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DONE)		= GO(APPCLOSEWAIT2_D, 0),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT2_C, GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(APPCLOSEWAIT2_C, GONE | ARM),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT2_C] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_C, 0),
		EV(CLOSE)		= GO(CLOSED, SEND_CLOSE | ORDERLY | CANCEL),
		EV(ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(TIMEOUT)		= GO(CLOSED, ANSWER_CLOSE),
		EV(CARRIER_RST)		= GO(APPCLOSEWAIT2_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, PURGE | RESET_TCP | ABORTED | FREE | CANCEL),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT2_C, 0),
		EV(PEER_CLOSED_EARLY)	= GO(APPCLOSEWAIT2_C, 0),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_PEERFINCLOSEWAIT] = {
		EV(SHUT_WR)		= GO(PEERFINCLOSEWAIT, 0),
		EV(CLOSE)		= GO(PEERFINCLOSEWAIT, 0),
		EV(ABORT)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(TIMEOUT)		= GO(CLOSED, GIVE_UP),
		EV(CARRIER_RST)		= GO(PEERFINCLOSEWAIT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(PEER_DONE)		= GO(PEERFINCLOSEWAIT, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | ORDERLY),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | ORDERLY),
		EV(PEER_ABORT)		= GO(CLOSED, PURGE | CANCEL | RESET_TCP | FREE),
	},
	/* "will ignore any other activity" (4.8.2), except what ends the wait. */
	[SMC_CONN_PEERABORTWAIT] = {
		EV(SHUT_WR)		= GO(PEERABORTWAIT, 0),
		EV(CLOSE)		= GO(PEERABORTWAIT, 0),
		EV(ABORT)		= GO(PEERABORTWAIT, 0),
		EV(ABORT_SENT)		= GO(PEERABORTWAIT, 0),
		EV(TIMEOUT)		= GO(CLOSED, QUARANTINE),
		EV(CARRIER_RST)		= GO(PEERABORTWAIT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, CANCEL | QUARANTINE),
		EV(PEER_DATA)		= GO(PEERABORTWAIT, DISCARD),
		EV(PEER_DONE)		= GO(PEERABORTWAIT, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | FREE),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | FREE),
		EV(PEER_ABORT)		= GO(CLOSED, CANCEL | FREE),
	},
	[SMC_CONN_PROCESSABORT] = {
		EV(SHUT_WR)		= GO(PROCESSABORT, 0),
		EV(CLOSE)		= GO(PROCESSABORT, 0),
		EV(ABORT)		= GO(PROCESSABORT, 0),
		EV(ABORT_SENT)		= GO(CLOSED, CANCEL | FREE),
		EV(TIMEOUT)		= GO(CLOSED, FREE),
		EV(CARRIER_RST)		= GO(PROCESSABORT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, CANCEL | FREE),
		EV(PEER_DATA)		= GO(PROCESSABORT, DISCARD),
		EV(PEER_DONE)		= GO(PROCESSABORT, 0),
		EV(PEER_CLOSED)		= GO(PROCESSABORT, 0),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, 0),
		EV(PEER_ABORT)		= GO(PROCESSABORT, 0),
	},
	/* Whatever was on its way when the connection ended comes to nothing. */
	[SMC_CONN_CLOSED] = {
		EV(SHUT_WR)		= GO(CLOSED, 0),
		EV(CLOSE)		= GO(CLOSED, 0),
		EV(ABORT)		= GO(CLOSED, 0),
		EV(ABORT_SENT)		= GO(CLOSED, 0),
		EV(TIMEOUT)		= GO(CLOSED, 0),
		EV(CARRIER_RST)		= GO(CLOSED, 0),
		EV(GROUP_LOST)		= GO(CLOSED, 0),
		EV(PEER_DATA)		= GO(CLOSED, DISCARD),
		EV(PEER_DONE)		= GO(CLOSED, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, 0),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, 0),
		EV(PEER_ABORT)		= GO(CLOSED, 0),
	},
};

/**
 * smc_conn_fsm_row() - read one cell of the table
 * @state: state
 * @event: event
 * @row: set to what the event does there; an illegal one leaves the state
 */
void smc_conn_fsm_row(enum smc_conn_state state, enum smc_conn_event event,
		      struct smc_conn_row *row)
{
	row->legal = false;
	row->next = state;
	row->actions = 0;
	if ((unsigned int)state >= SMC_CONN_STATES || (unsigned int)event >= SMC_CONN_EVENTS ||
	    !conn_fsm_table[state][event].legal)
		return;
	row->legal = true;
	row->next = (enum smc_conn_state)conn_fsm_table[state][event].next;
	row->actions = conn_fsm_table[state][event].actions;
}

/**
 * smc_conn_fsm_step() - an event happened
 * @state: state, changed on success
 * @event: event
 * @actions: set to what has to be done now, 0 on error
 *
 * Return: 0; -EPROTO if the peer did what it must not (the caller steps with
 * ABORT then); -EINVAL for an impossible local event.
 */
int smc_conn_fsm_step(enum smc_conn_state *state, enum smc_conn_event event, u32 *actions)
{
	struct smc_conn_row row;

	smc_conn_fsm_row(*state, event, &row);
	*actions = row.actions;
	if (!row.legal)
		return smc_conn_event_from_peer(event) ? -EPROTO : -EINVAL;
	*state = row.next;
	return 0;
}

/**
 * smc_conn_fsm_event() - event that the state flags of a CDC stand for
 * @done: D
 * @closed: C
 * @aborted: A
 * @unsent: data of ours is not yet written to the peer
 *
 * New data in the same CDC comes first, as SMC_CONN_EV_PEER_DATA.
 *
 * Return: the strongest event, or SMC_CONN_EV_NONE if no flag is set.
 */
enum smc_conn_event smc_conn_fsm_event(bool done, bool closed, bool aborted, bool unsent)
{
	if (aborted)
		return SMC_CONN_EV_PEER_ABORT;
	if (closed)
		return unsent ? SMC_CONN_EV_PEER_CLOSED_EARLY : SMC_CONN_EV_PEER_CLOSED;
	return done ? SMC_CONN_EV_PEER_DONE : SMC_CONN_EV_NONE;
}

/**
 * smc_conn_event_from_peer() - who is responsible for an event
 * @event: event
 *
 * Return: true if it comes out of a CDC message.
 */
bool smc_conn_event_from_peer(enum smc_conn_event event)
{
	return event >= SMC_CONN_EV_PEER_DATA && event <= SMC_CONN_EV_PEER_ABORT;
}

/**
 * smc_conn_state_may_send() - may new user data be written to the peer
 * @state: state
 *
 * Return: true if so.
 */
bool smc_conn_state_may_send(enum smc_conn_state state)
{
	return state == SMC_CONN_ACTIVE || state == SMC_CONN_APPCLOSEWAIT1_D;
}

/**
 * smc_conn_state_may_recv() - may new data of the peer reach the application
 * @state: state
 *
 * Return: true if so.
 */
bool smc_conn_state_may_recv(enum smc_conn_state state)
{
	return state == SMC_CONN_INIT || state == SMC_CONN_ACTIVE ||
	       state == SMC_CONN_PEERCLOSEWAIT1_D;
}

/**
 * smc_conn_state_may_cdc() - may a CDC be sent that no action asks for
 * @state: state
 *
 * C and A are the last message of an end; before the rendezvous is complete
 * there is nothing to say.
 *
 * Return: true if so.
 */
bool smc_conn_state_may_cdc(enum smc_conn_state state)
{
	switch (state) {
	case SMC_CONN_ACTIVE:
	case SMC_CONN_PEERCLOSEWAIT1_D:
	case SMC_CONN_PEERCLOSEWAIT2_D:
	case SMC_CONN_APPFINCLOSEWAIT:
	case SMC_CONN_APPCLOSEWAIT1_D:
	case SMC_CONN_APPCLOSEWAIT1_C:
	case SMC_CONN_APPCLOSEWAIT2_D:
	case SMC_CONN_APPCLOSEWAIT2_C:
		return true;
	case SMC_CONN_INIT:
	case SMC_CONN_PEERCLOSEWAIT1_C:
	case SMC_CONN_PEERCLOSEWAIT2_C:
	case SMC_CONN_PEERFINCLOSEWAIT:
	case SMC_CONN_PEERABORTWAIT:
	case SMC_CONN_PROCESSABORT:
	case SMC_CONN_CLOSED:
	case SMC_CONN_STATES:
		break;
	}
	return false;
}

/**
 * smc_conn_state_over() - is all activity of the peer to be ignored
 * @state: state
 *
 * What it wrote before may still be read; whatever it says of later bytes is not taken over
 * (section 4.8.2).
 *
 * Return: true if so.
 */
bool smc_conn_state_over(enum smc_conn_state state)
{
	return state == SMC_CONN_PEERABORTWAIT || state == SMC_CONN_PROCESSABORT ||
	       state == SMC_CONN_CLOSED;
}

/**
 * struct conn_state_name - the names of a state
 * @own: as in this table
 * @rfc: as in RFC 7609 figures 22 and 23; in capitals as sock_diag users know it
 * @diag: number in sock_diag
 */
struct conn_state_name {
	const char *own;
	const char *rfc;
	u8 diag;
};

#define NAME(state, suffix)						\
	{ .own = #state suffix, .rfc = #state, .diag = SMC_DIAG_STATE_##state }

static const struct conn_state_name conn_state_names[SMC_CONN_STATES] = {
	[SMC_CONN_INIT]			= NAME(INIT, ""),
	[SMC_CONN_ACTIVE]		= NAME(ACTIVE, ""),
	[SMC_CONN_PEERCLOSEWAIT1_D]	= NAME(PEERCLOSEWAIT1, "_D"),
	[SMC_CONN_PEERCLOSEWAIT1_C]	= NAME(PEERCLOSEWAIT1, "_C"),
	[SMC_CONN_PEERCLOSEWAIT2_D]	= NAME(PEERCLOSEWAIT2, "_D"),
	[SMC_CONN_PEERCLOSEWAIT2_C]	= NAME(PEERCLOSEWAIT2, "_C"),
	[SMC_CONN_APPFINCLOSEWAIT]	= NAME(APPFINCLOSEWAIT, ""),
	[SMC_CONN_APPCLOSEWAIT1_D]	= NAME(APPCLOSEWAIT1, "_D"),
	[SMC_CONN_APPCLOSEWAIT1_C]	= NAME(APPCLOSEWAIT1, "_C"),
	[SMC_CONN_APPCLOSEWAIT2_D]	= NAME(APPCLOSEWAIT2, "_D"),
	[SMC_CONN_APPCLOSEWAIT2_C]	= NAME(APPCLOSEWAIT2, "_C"),
	[SMC_CONN_PEERFINCLOSEWAIT]	= NAME(PEERFINCLOSEWAIT, ""),
	[SMC_CONN_PEERABORTWAIT]	= NAME(PEERABORTWAIT, ""),
	[SMC_CONN_PROCESSABORT]		= NAME(PROCESSABORT, ""),
	[SMC_CONN_CLOSED]		= NAME(CLOSED, ""),
};

/**
 * smc_conn_state_str() - name in this table
 * @state: state
 *
 * Return: constant string.
 */
const char *smc_conn_state_str(enum smc_conn_state state)
{
	return (unsigned int)state < SMC_CONN_STATES ? conn_state_names[state].own : "?";
}

/**
 * smc_conn_state_rfc_str() - name of the RFC
 * @state: state
 *
 * Return: constant string.
 */
const char *smc_conn_state_rfc_str(enum smc_conn_state state)
{
	return (unsigned int)state < SMC_CONN_STATES ? conn_state_names[state].rfc : "?";
}

/**
 * smc_conn_state_diag() - number of the state in sock_diag
 * @state: state
 *
 * Return: SMC_DIAG_STATE_*.
 */
u8 smc_conn_state_diag(enum smc_conn_state state)
{
	return (unsigned int)state < SMC_CONN_STATES ? conn_state_names[state].diag :
						       SMC_DIAG_STATE_CLOSED;
}

/**
 * smc_conn_event_str() - name of an event
 * @event: event
 *
 * Return: constant string.
 */
const char *smc_conn_event_str(enum smc_conn_event event)
{
	switch (event) {
	case SMC_CONN_EV_ESTABLISHED:
		return "ESTABLISHED";
	case SMC_CONN_EV_SHUT_WR:
		return "SHUT_WR";
	case SMC_CONN_EV_CLOSE:
		return "CLOSE";
	case SMC_CONN_EV_ABORT:
		return "ABORT";
	case SMC_CONN_EV_ABORT_SENT:
		return "ABORT_SENT";
	case SMC_CONN_EV_TIMEOUT:
		return "TIMEOUT";
	case SMC_CONN_EV_CARRIER_RST:
		return "CARRIER_RST";
	case SMC_CONN_EV_GROUP_LOST:
		return "GROUP_LOST";
	case SMC_CONN_EV_PEER_DATA:
		return "PEER_DATA";
	case SMC_CONN_EV_PEER_DONE:
		return "PEER_DONE";
	case SMC_CONN_EV_PEER_CLOSED:
		return "PEER_CLOSED";
	case SMC_CONN_EV_PEER_CLOSED_EARLY:
		return "PEER_CLOSED_EARLY";
	case SMC_CONN_EV_PEER_ABORT:
		return "PEER_ABORT";
	case SMC_CONN_EV_NONE:
		return "NONE";
	}
	return "?";
}

static const char * const conn_action_names[SMC_CONN_ACTIONS] = {
	"HOLD", "PURGE", "DISCARD", "SEND_DONE", "SEND_CLOSE", "SEND_ABORT",
	"RESET_CARRIER", "CLOSE_CARRIER", "REPORT_UP", "REPORT_EOF", "REPORT_PEER_CLOSED",
	"REPORT_RESET", "REPORT_ABORTED", "ARM_TIMER", "CANCEL_TIMER", "RELEASE",
	"ELEMENT_FREE", "ELEMENT_QUARANTINE",
};

/**
 * smc_conn_action_str() - name of an action
 * @bit: exactly one of SMC_CONN_ACT_*
 *
 * Return: constant string.
 */
const char *smc_conn_action_str(u32 bit)
{
	unsigned int i;

	for (i = 0; i < SMC_CONN_ACTIONS; i++)
		if (bit == 1u << i)
			return conn_action_names[i];
	return "?";
}
