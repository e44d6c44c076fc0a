/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connection states (RFC 7609 section 4.8, figures 22 and 23).
 *
 * The RFC's state names do not say whether PeerDoneWriting or PeerConnectionClosed was exchanged,
 * although the next step depends on it. These states are split here, _D (done writing) and _C
 * (closed), so that the table needs no conditions; smc_conn_state_rfc_str() and
 * smc_conn_state_diag() return the RFC's names.
 *
 * The caller raises a local event when it can take effect: SHUT_WR and CLOSE when all data is
 * written and completed (until then the caller keeps the RFC's "pending close" itself), CLOSE also
 * only when nothing is unread.
 */
#ifndef SMC_PROTO_CONN_FSM_H
#define SMC_PROTO_CONN_FSM_H

#include <smc/proto/types.h>

enum smc_conn_state {
	SMC_CONN_INIT,		/* CLC handshake under way */
	SMC_CONN_ACTIVE,
	SMC_CONN_PEERCLOSEWAIT1_D, /* we sent D, nothing from the peer */
	SMC_CONN_PEERCLOSEWAIT1_C, /* we sent C, nothing from the peer */
	SMC_CONN_PEERCLOSEWAIT2_D, /* we sent D first, then the peer sent D */
	SMC_CONN_PEERCLOSEWAIT2_C, /* we sent C, the peer sent D */
	SMC_CONN_APPFINCLOSEWAIT, /* we sent D, the peer sent C: only our C is missing */
	SMC_CONN_APPCLOSEWAIT1_D, /* the peer sent D, we sent nothing */
	SMC_CONN_APPCLOSEWAIT1_C, /* the peer sent C, we sent nothing */
	SMC_CONN_APPCLOSEWAIT2_D, /* the peer sent D first, then we sent D */
	SMC_CONN_APPCLOSEWAIT2_C, /* the peer sent C, we sent D */
	SMC_CONN_PEERFINCLOSEWAIT, /* the peer sent D, we sent C: only the peer's C is missing */
	SMC_CONN_PEERABORTWAIT,	/* we sent A and wait for the peer's A */
	SMC_CONN_PROCESSABORT,	/* the peer has aborted, our A is being sent */
	SMC_CONN_CLOSED,
	SMC_CONN_STATES		/* number of states */
};

enum smc_conn_event {
	SMC_CONN_EV_ESTABLISHED, /* CLC handshake complete */
	SMC_CONN_EV_SHUT_WR,	/* application has shut down writing, all data completed */
	SMC_CONN_EV_CLOSE,	/* closed, or both shut down; all data completed, nothing unread */
	SMC_CONN_EV_ABORT,	/* closed with unread data, drain time-out, protocol error */
	SMC_CONN_EV_ABORT_SENT,	/* our A completed, with or without success */
	SMC_CONN_EV_TIMEOUT,	/* the timer of a waiting state fired */
	SMC_CONN_EV_CLCSOCK_RST, /* TCP connection was reset */
	SMC_CONN_EV_GROUP_LOST,	/* link group without a usable link, or terminated */
	SMC_CONN_EV_UNREAD,	/* native peer: bytes have come behind our C */
	SMC_CONN_EV_PEER_DATA,	/* producer cursor advanced */
	SMC_CONN_EV_PEER_DONE,	/* D without C */
	SMC_CONN_EV_PEER_CLOSED, /* C while all our data is written */
	SMC_CONN_EV_PEER_CLOSED_EARLY, /* C before all our data is written, or a write after C */
	SMC_CONN_EV_PEER_ABORT,	/* A */
	SMC_CONN_EVENTS,	/* number of events */
	SMC_CONN_EV_NONE = SMC_CONN_EVENTS, /* no event */
};

/* Actions that the caller has to do after a step, in the order of the bits. */
#define SMC_CONN_ACT_HOLD		0x00001	/* repeat the event after ESTABLISHED */
#define SMC_CONN_ACT_PURGE		0x00002	/* drop unsent data, no more WRITEs */
#define SMC_CONN_ACT_DISCARD		0x00004	/* drop the new data, it will not be read */
#define SMC_CONN_ACT_SEND_DONE		0x00008	/* CDC with D; all later CDCs repeat D */
#define SMC_CONN_ACT_SEND_CLOSE		0x00010	/* CDC with C: the last CDC but for A, no WRITE */
#define SMC_CONN_ACT_SEND_ABORT		0x00020	/* CDC with A: the last CDC, no WRITE after it */
#define SMC_CONN_ACT_RESET_CLCSOCK	0x00040	/* RST on the TCP connection */
#define SMC_CONN_ACT_CLOSE_CLCSOCK	0x00080	/* FIN on the TCP connection */
#define SMC_CONN_ACT_REPORT_UP		0x00100	/* socket is connected */
#define SMC_CONN_ACT_REPORT_EOF		0x00200	/* end of file after the readable data */
#define SMC_CONN_ACT_REPORT_PEER_CLOSED	0x00400	/* peer reads no more: EPIPE for writers */
#define SMC_CONN_ACT_REPORT_RESET	0x00800	/* ECONNRESET: caused by the peer */
#define SMC_CONN_ACT_REPORT_ABORTED	0x01000	/* ECONNABORTED: caused by this end or the fabric */
#define SMC_CONN_ACT_ARM_TIMER		0x02000	/* limit the wait for the peer */
#define SMC_CONN_ACT_CANCEL_TIMER	0x04000
#define SMC_CONN_ACT_RELEASE		0x08000	/* release the token, remove it from the group */
#define SMC_CONN_ACT_ELEMENT_FREE	0x10000	/* peer confirmed: our RMBE may be reused */
#define SMC_CONN_ACT_ELEMENT_QUARANTINE	0x20000	/* peer never confirmed: it may still write */
#define SMC_CONN_ACT_AWAIT_FIN		0x40000	/* the peer ended first: its FIN goes before ours */
#define SMC_CONN_ACTIONS		19	/* number of action bits */

/**
 * struct smc_conn_row - One cell of the table, for tests and documentation
 * @legal: false: the event is a protocol violation (peer) or a bug (local)
 * @next: state after the event
 * @actions: SMC_CONN_ACT_*
 */
struct smc_conn_row {
	bool legal;
	enum smc_conn_state next;
	u32 actions;
};

int smc_conn_fsm_step(enum smc_conn_state *state, enum smc_conn_event event, u32 *actions);
void smc_conn_fsm_get_row(enum smc_conn_state state, enum smc_conn_event event,
			  struct smc_conn_row *row);
enum smc_conn_event smc_conn_fsm_event_of_cdc(bool done, bool closed, bool aborted, bool unsent);
enum smc_conn_event smc_conn_fsm_event_of_rst(enum smc_conn_state state, bool lossy);
enum smc_conn_event smc_conn_fsm_event_of_unread(enum smc_conn_state state);
bool smc_conn_event_is_from_peer(enum smc_conn_event event);

bool smc_conn_state_may_recv(enum smc_conn_state state);

const char *smc_conn_state_str(enum smc_conn_state state);
const char *smc_conn_state_rfc_str(enum smc_conn_state state);
u8 smc_conn_state_diag(enum smc_conn_state state);
const char *smc_conn_event_str(enum smc_conn_event event);
const char *smc_conn_action_str(u32 bit);

/* State numbers of sock_diag (smc_diag_msg.diag_state); a connection never has LISTEN. */
#define SMC_DIAG_STATE_ACTIVE		1
#define SMC_DIAG_STATE_INIT		2
#define SMC_DIAG_STATE_CLOSED		7
#define SMC_DIAG_STATE_LISTEN		10
#define SMC_DIAG_STATE_PEERCLOSEWAIT1	20
#define SMC_DIAG_STATE_PEERCLOSEWAIT2	21
#define SMC_DIAG_STATE_APPCLOSEWAIT1	22
#define SMC_DIAG_STATE_APPCLOSEWAIT2	23
#define SMC_DIAG_STATE_APPFINCLOSEWAIT	24
#define SMC_DIAG_STATE_PEERFINCLOSEWAIT	25
#define SMC_DIAG_STATE_PEERABORTWAIT	26
#define SMC_DIAG_STATE_PROCESSABORT	27

/**
 * smc_conn_state_may_send() - Check whether new user data may be written to the peer
 * @state: state
 *
 * Return: true if so.
 */
static inline bool smc_conn_state_may_send(enum smc_conn_state state)
{
	return state == SMC_CONN_ACTIVE || state == SMC_CONN_APPCLOSEWAIT1_D;
}

/**
 * smc_conn_state_may_cdc() - Check whether a CDC message may be sent without an action
 * @state: state
 *
 * Before the handshake is complete there is nothing to send, and the message with C or A is the
 * last one of an end, but for A behind C, which is an action.
 *
 * Return: true if so.
 */
static inline bool smc_conn_state_may_cdc(enum smc_conn_state state)
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
 * smc_conn_state_ignores_peer() - Check whether all activity of the peer is ignored
 * @state: state
 *
 * The application may still read what the peer wrote before; cursors of later messages are not
 * taken over (section 4.8.2).
 *
 * Return: true if so.
 */
static inline bool smc_conn_state_ignores_peer(enum smc_conn_state state)
{
	return state == SMC_CONN_PEERABORTWAIT || state == SMC_CONN_PROCESSABORT ||
	       state == SMC_CONN_CLOSED;
}

#endif /* SMC_PROTO_CONN_FSM_H */
