// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connection states as a table (RFC 7609 section 4.8); conn_fsm.h describes states and events.
 *
 * Where the RFC leaves a choice:
 *
 * - Each CDC message repeats the state flags, so a repeated peer event is not an error. The peer
 *   violates the protocol when it writes after D or takes C back.
 * - A foreign end that has sent C can no longer abort (figure 23). An end that aborts after the
 *   peer's C therefore does not wait for the peer's A but goes to PROCESSABORT. For the same reason
 *   C answers A when the two cross.
 * - An end that has sent C does not send A: it ends when the peer is done or when its timer fires.
 *   The application may still have its socket, after a shutdown of both directions. Native peers
 *   get A behind C if bytes have come that nobody will read (UNREAD), which our states after the
 *   peer's C take as they take any A.
 * - A write after the peer's C is the same event as C while some of our data is not yet written: it
 *   asks for the same reset.
 * - Our RMBE is free when the peer has sent C or A; otherwise it is quarantined (section 4.4.2),
 *   because the peer may still write to it.
 * - The peer's C is always answered, whatever the local application does: the application cannot
 *   send anything more, and the peer keeps its RMBE and its place in the link group until then. The
 *   application does not notice.
 */
#include <smc/proto/conn_fsm.h>

/**
 * struct conn_fsm_cell - Effect of an event in a state
 * @actions: SMC_CONN_ACT_*
 * @next: state afterwards
 * @legal: true in every cell that is filled in
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
#define RESET_TCP		SMC_CONN_ACT_RESET_CLCSOCK
#define ABORTED			SMC_CONN_ACT_REPORT_ABORTED
#define RESET			SMC_CONN_ACT_REPORT_RESET
#define FREE			(SMC_CONN_ACT_RELEASE | SMC_CONN_ACT_ELEMENT_FREE)
#define QUARANTINE		(SMC_CONN_ACT_RELEASE | SMC_CONN_ACT_ELEMENT_QUARANTINE)

/* Send A: write nothing more, and limit the wait for the peer. */
#define SEND_ABORT		(SMC_CONN_ACT_SEND_ABORT | PURGE | ARM)
/* The same after C, for bytes that nobody will read. */
#define REFUSE			(SEND_ABORT | RESET_TCP | ABORTED | DISCARD)
/* Both ends have closed in good order; we have ended first, or the peer has, by D or C. */
#define ORDERLY_FIRST		(SMC_CONN_ACT_CLOSE_CLCSOCK | FREE)
#define ORDERLY_SECOND		(SMC_CONN_ACT_CLOSE_CLCSOCK | SMC_CONN_ACT_AWAIT_FIN | FREE)

/* Answer the peer's C although the application still has to read: the peer need not wait for it. */
#define ANSWER_CLOSE		(SEND_CLOSE | FREE)
/* This end gives up; the peer never confirmed that it is done with our RMBE. */
#define GIVE_UP			(PURGE | RESET_TCP | QUARANTINE)

static const struct conn_fsm_cell conn_fsm_table[SMC_CONN_STATES][SMC_CONN_EVENTS] = {
	/* CDC messages of the peer can overtake the CLC Confirm: hold their events. */
	[SMC_CONN_INIT] = {
		EV(ESTABLISHED)		= GO(ACTIVE, UP),
		EV(CLOSE)		= GO(CLOSED, GIVE_UP),
		EV(ABORT)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(CLCSOCK_RST)		= GO(CLOSED, PURGE | RESET | QUARANTINE),
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
		EV(CLCSOCK_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DATA)		= GO(ACTIVE, 0),
		EV(PEER_DONE)		= GO(APPCLOSEWAIT1_D, EOF_),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT1_C, EOF_ | GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	/* No timer: the application can still read, as after a half close in TCP. */
	[SMC_CONN_PEERCLOSEWAIT1_D] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT1_D, 0),
		EV(CLOSE)		= GO(PEERCLOSEWAIT1_C, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CLCSOCK_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
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
		EV(CLCSOCK_RST)		= GO(PEERCLOSEWAIT1_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(UNREAD)		= GO(PEERABORTWAIT, REFUSE),
		EV(PEER_DATA)		= GO(PEERCLOSEWAIT1_C, DISCARD),
		EV(PEER_DONE)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | ORDERLY_FIRST),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | ORDERLY_FIRST),
		EV(PEER_ABORT)		= GO(CLOSED, PURGE | CANCEL | RESET_TCP | RESET | FREE),
	},
	[SMC_CONN_PEERCLOSEWAIT2_D] = {
		EV(SHUT_WR)		= GO(PEERCLOSEWAIT2_D, 0),
		EV(CLOSE)		= GO(PEERCLOSEWAIT2_C, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CLCSOCK_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
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
		EV(CLCSOCK_RST)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(UNREAD)		= GO(PEERABORTWAIT, REFUSE),
		EV(PEER_DONE)		= GO(PEERCLOSEWAIT2_C, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | ORDERLY_FIRST),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | ORDERLY_FIRST),
		EV(PEER_ABORT)		= GO(CLOSED, PURGE | CANCEL | RESET_TCP | RESET | FREE),
	},
	/* Three states after the peer's C: a reset of TCP is only the rest of its close. */
	[SMC_CONN_APPFINCLOSEWAIT] = {
		EV(SHUT_WR)		= GO(APPFINCLOSEWAIT, 0),
		EV(CLOSE)		= GO(CLOSED, SEND_CLOSE | ORDERLY_FIRST | CANCEL),
		EV(ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(TIMEOUT)		= GO(CLOSED, ANSWER_CLOSE),
		EV(CLCSOCK_RST)		= GO(APPFINCLOSEWAIT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, PURGE | RESET_TCP | ABORTED | FREE | CANCEL),
		EV(PEER_CLOSED)		= GO(APPFINCLOSEWAIT, 0),
		EV(PEER_CLOSED_EARLY)	= GO(APPFINCLOSEWAIT, 0),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT1_D] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_D, SEND_DONE),
		EV(CLOSE)		= GO(PEERFINCLOSEWAIT, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CLCSOCK_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DONE)		= GO(APPCLOSEWAIT1_D, 0),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT1_C, GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT1_C] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_C, SEND_DONE),
		EV(CLOSE)		= GO(CLOSED, SEND_CLOSE | ORDERLY_SECOND | CANCEL),
		EV(ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(TIMEOUT)		= GO(CLOSED, ANSWER_CLOSE),
		EV(CLCSOCK_RST)		= GO(APPCLOSEWAIT1_C, 0),
		EV(GROUP_LOST)		= GO(CLOSED, PURGE | RESET_TCP | ABORTED | FREE | CANCEL),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT1_C, 0),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT2_D] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_D, 0),
		EV(CLOSE)		= GO(PEERFINCLOSEWAIT, SEND_CLOSE | ARM),
		EV(ABORT)		= GO(PEERABORTWAIT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(CLCSOCK_RST)		= GO(PEERABORTWAIT, SEND_ABORT | RESET),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | ABORTED),
		EV(PEER_DONE)		= GO(APPCLOSEWAIT2_D, 0),
		EV(PEER_CLOSED)		= GO(APPCLOSEWAIT2_C, GONE | ARM),
		EV(PEER_CLOSED_EARLY)	= GO(APPCLOSEWAIT2_C, GONE | ARM),
		EV(PEER_ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | RESET),
	},
	[SMC_CONN_APPCLOSEWAIT2_C] = {
		EV(SHUT_WR)		= GO(APPCLOSEWAIT2_C, 0),
		EV(CLOSE)		= GO(CLOSED, SEND_CLOSE | ORDERLY_SECOND | CANCEL),
		EV(ABORT)		= GO(PROCESSABORT, SEND_ABORT | RESET_TCP | ABORTED),
		EV(TIMEOUT)		= GO(CLOSED, ANSWER_CLOSE),
		EV(CLCSOCK_RST)		= GO(APPCLOSEWAIT2_C, 0),
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
		EV(CLCSOCK_RST)		= GO(PEERFINCLOSEWAIT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, GIVE_UP | CANCEL),
		EV(UNREAD)		= GO(PEERABORTWAIT, REFUSE),
		EV(PEER_DONE)		= GO(PEERFINCLOSEWAIT, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, CANCEL | ORDERLY_SECOND),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, CANCEL | ORDERLY_SECOND),
		EV(PEER_ABORT)		= GO(CLOSED, PURGE | CANCEL | RESET_TCP | RESET | FREE),
	},
	/* Section 4.8.2: ignore any activity except what ends the wait. */
	[SMC_CONN_PEERABORTWAIT] = {
		EV(SHUT_WR)		= GO(PEERABORTWAIT, 0),
		EV(CLOSE)		= GO(PEERABORTWAIT, 0),
		EV(ABORT)		= GO(PEERABORTWAIT, 0),
		EV(ABORT_SENT)		= GO(PEERABORTWAIT, 0),
		EV(TIMEOUT)		= GO(CLOSED, QUARANTINE),
		EV(CLCSOCK_RST)		= GO(PEERABORTWAIT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, CANCEL | QUARANTINE),
		EV(UNREAD)		= GO(PEERABORTWAIT, 0),
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
		EV(CLCSOCK_RST)		= GO(PROCESSABORT, 0),
		EV(GROUP_LOST)		= GO(CLOSED, CANCEL | FREE),
		EV(UNREAD)		= GO(PROCESSABORT, 0),
		EV(PEER_DATA)		= GO(PROCESSABORT, DISCARD),
		EV(PEER_DONE)		= GO(PROCESSABORT, 0),
		EV(PEER_CLOSED)		= GO(PROCESSABORT, 0),
		EV(PEER_CLOSED_EARLY)	= GO(PROCESSABORT, 0),
		EV(PEER_ABORT)		= GO(PROCESSABORT, 0),
	},
	/* Late events of a closed connection have no effect. */
	[SMC_CONN_CLOSED] = {
		EV(SHUT_WR)		= GO(CLOSED, 0),
		EV(CLOSE)		= GO(CLOSED, 0),
		EV(ABORT)		= GO(CLOSED, 0),
		EV(ABORT_SENT)		= GO(CLOSED, 0),
		EV(TIMEOUT)		= GO(CLOSED, 0),
		EV(CLCSOCK_RST)		= GO(CLOSED, 0),
		EV(GROUP_LOST)		= GO(CLOSED, 0),
		EV(UNREAD)		= GO(CLOSED, 0),
		EV(PEER_DATA)		= GO(CLOSED, DISCARD),
		EV(PEER_DONE)		= GO(CLOSED, 0),
		EV(PEER_CLOSED)		= GO(CLOSED, 0),
		EV(PEER_CLOSED_EARLY)	= GO(CLOSED, 0),
		EV(PEER_ABORT)		= GO(CLOSED, 0),
	},
};

/**
 * smc_conn_fsm_get_row() - Read one cell of the table
 * @state: state
 * @event: event
 * @row: set to the effect of @event; an illegal event does not change the state
 */
void smc_conn_fsm_get_row(enum smc_conn_state state, enum smc_conn_event event,
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
 * smc_conn_fsm_step() - Apply an event to a state
 * @state: state, changed on success
 * @event: event
 * @actions: set to the actions that the caller has to do now (SMC_CONN_ACT_*), 0 on error
 *
 * The caller serialises steps of one connection.
 *
 * Return: 0; -EPROTO if the peer violates the protocol (the caller then steps with
 * SMC_CONN_EV_ABORT); -EINVAL for an impossible local event.
 */
int smc_conn_fsm_step(enum smc_conn_state *state, enum smc_conn_event event, u32 *actions)
{
	struct smc_conn_row row;

	smc_conn_fsm_get_row(*state, event, &row);
	*actions = row.actions;
	if (!row.legal)
		return smc_conn_event_is_from_peer(event) ? -EPROTO : -EINVAL;
	*state = row.next;
	return 0;
}

/**
 * smc_conn_fsm_event_of_cdc() - Return the event that the state flags of a CDC message stand for
 * @done: flag D
 * @closed: flag C
 * @aborted: flag A
 * @unsent: this end has data that is not yet written to the peer
 *
 * If the same message announces new data, the caller steps with SMC_CONN_EV_PEER_DATA before,
 * unless the state is ACTIVE.
 *
 * Return: the strongest event, or SMC_CONN_EV_NONE if no flag is set.
 */
enum smc_conn_event smc_conn_fsm_event_of_cdc(bool done, bool closed, bool aborted, bool unsent)
{
	if (aborted)
		return SMC_CONN_EV_PEER_ABORT;
	if (closed)
		return unsent ? SMC_CONN_EV_PEER_CLOSED_EARLY : SMC_CONN_EV_PEER_CLOSED;
	return done ? SMC_CONN_EV_PEER_DONE : SMC_CONN_EV_NONE;
}

/**
 * smc_conn_fsm_event_of_rst() - Return the event that a reset of the TCP connection stands for
 * @state: state of the connection
 * @lossy: TCP still had bytes of the stream, of either direction (only after an upgrade)
 *
 * After the peer's C a reset is only the rest of its close, unless it has destroyed bytes: then the
 * peer has ended without reading them, or the application here cannot read all. That is reported as
 * the peer's A is.
 *
 * Return: SMC_CONN_EV_CLCSOCK_RST or SMC_CONN_EV_PEER_ABORT.
 */
enum smc_conn_event smc_conn_fsm_event_of_rst(enum smc_conn_state state, bool lossy)
{
	switch (state) {
	case SMC_CONN_APPFINCLOSEWAIT:
	case SMC_CONN_APPCLOSEWAIT1_C:
	case SMC_CONN_APPCLOSEWAIT2_C:
		return lossy ? SMC_CONN_EV_PEER_ABORT : SMC_CONN_EV_CLCSOCK_RST;
	default:
		return SMC_CONN_EV_CLCSOCK_RST;
	}
}

/**
 * smc_conn_fsm_event_of_unread() - Map bytes that nobody will read to an event
 * @state: state of a connection with a native peer, that the application has closed
 *
 * Once C is sent only A can tell the writer, to whom RNIC or TCP has acknowledged them. A foreign
 * peer expects nothing after C.
 *
 * Return: SMC_CONN_EV_ABORT or SMC_CONN_EV_UNREAD.
 */
enum smc_conn_event smc_conn_fsm_event_of_unread(enum smc_conn_state state)
{
	return smc_conn_state_may_cdc(state) ? SMC_CONN_EV_ABORT : SMC_CONN_EV_UNREAD;
}

/**
 * smc_conn_event_is_from_peer() - Check whether an event comes from the peer
 * @event: event
 *
 * Return: true for an event of a CDC message, false for a local one.
 */
bool smc_conn_event_is_from_peer(enum smc_conn_event event)
{
	return event >= SMC_CONN_EV_PEER_DATA && event <= SMC_CONN_EV_PEER_ABORT;
}

/**
 * smc_conn_state_may_recv() - Check whether new data of the peer is for the application
 * @state: state
 *
 * Return: true if so; otherwise new data is discarded or a protocol violation.
 */
bool smc_conn_state_may_recv(enum smc_conn_state state)
{
	return state == SMC_CONN_INIT || state == SMC_CONN_ACTIVE ||
	       state == SMC_CONN_PEERCLOSEWAIT1_D;
}

/**
 * struct conn_state_name - Names of a state
 * @own: name in this table
 * @rfc: name in RFC 7609 figures 22 and 23, in capitals as in sock_diag
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
 * smc_conn_state_str() - Return the name of a state
 * @state: state
 *
 * Return: constant string, with the suffix _D or _C of a split state.
 */
const char *smc_conn_state_str(enum smc_conn_state state)
{
	return (unsigned int)state < SMC_CONN_STATES ? conn_state_names[state].own : "?";
}

/**
 * smc_conn_state_rfc_str() - Return the RFC's name of a state
 * @state: state
 *
 * Return: constant string.
 */
const char *smc_conn_state_rfc_str(enum smc_conn_state state)
{
	return (unsigned int)state < SMC_CONN_STATES ? conn_state_names[state].rfc : "?";
}

/**
 * smc_conn_state_diag() - Return the number of a state in sock_diag
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
 * smc_conn_event_str() - Return the name of an event
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
	case SMC_CONN_EV_CLCSOCK_RST:
		return "CLCSOCK_RST";
	case SMC_CONN_EV_GROUP_LOST:
		return "GROUP_LOST";
	case SMC_CONN_EV_UNREAD:
		return "UNREAD";
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
	"RESET_CLCSOCK", "CLOSE_CLCSOCK", "REPORT_UP", "REPORT_EOF", "REPORT_PEER_CLOSED",
	"REPORT_RESET", "REPORT_ABORTED", "ARM_TIMER", "CANCEL_TIMER", "RELEASE",
	"ELEMENT_FREE", "ELEMENT_QUARANTINE", "AWAIT_FIN",
};

/**
 * smc_conn_action_str() - Return the name of an action
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
