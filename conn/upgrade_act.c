// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upgrade in place: what the steps of upgrade.c lead to, and the events of the socket, of LLC and
 * of the link group.
 *
 * Until GO the state of the connection is INIT, and what would end it comes here, since the socket
 * is TCP: smc_conn_step_locked() diverts it.
 *
 * Actions are carried out at once, under conn->lock, but for these: the work of the connection
 * sends LLC messages and events; those for the socket become bits for its notification. CLAIM
 * needs nothing, since the connection has element and token from its creation. GO is the first
 * message, and waits in READY until it is posted, because until then every failure leaves TCP as it
 * was.
 */
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/proto/link_pick.h>
#include "failover.h"
#include "state.h"
#include "timers.h"
#include "upgrade_locked.h"

#define ACT(name)	SMC_UPGRADE_ACT_##name

/* ---- actions ----------------------------------------------------------------- */

static unsigned int upgrade_step(struct smc_conn *conn, enum smc_upgrade_event event);
static unsigned int upgrade_act(struct smc_conn *conn, u32 actions);

/* Do what TCP leads to, which may have got further. */
static unsigned int upgrade_look(struct smc_conn *conn)
{
	u32 actions = 0;

	if (smc_conn_upgrade_look_at_tcp_locked(conn, &actions))
		smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_VIOLATION, &actions);
	return upgrade_act(conn, actions);
}

/*
 * Apply an event after what TCP has done before it: FIN that a reader has seen has to be known to
 * an agreement, and bytes that TCP has delivered to an error.
 */
static unsigned int upgrade_look_and_step(struct smc_conn *conn, enum smc_upgrade_event event)
{
	unsigned int bits = upgrade_look(conn);

	return bits | upgrade_step(conn, event);
}

/*
 * Post GO, if the agreement waits for that. The link may have been lost meanwhile: a connection in
 * INIT does not move.
 */
static unsigned int upgrade_post_go(struct smc_conn *conn)
{
	int rc = 0;

	if (!smc_conn_upgrade_go_waits(conn) || conn->tx.stopped)
		return 0;
	if (smc_conn_link_is_lost(conn))
		rc = smc_conn_switch_link_locked(conn);
	else
		smc_conn_pick_first_link_locked(conn);
	if (rc == -ENOKEY)
		return upgrade_step(conn, SMC_UPGRADE_EV_WITHDRAW);
	if (rc || !smc_tx_send_first_locked(conn))
		return 0;
	return upgrade_look_and_step(conn, SMC_UPGRADE_EV_GO_POSTED);
}

static unsigned int upgrade_act_on_rst(struct smc_conn *conn)
{
	bool lossy = !smc_upgrade_tcp_is_empty(&conn->upgrade->fsm);

	return smc_conn_step_locked(conn, smc_conn_fsm_event_of_rst(conn->state, lossy));
}

/* What the connection itself has to do. */
static unsigned int upgrade_act_on_conn(struct smc_conn *conn, u32 actions)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	unsigned int bits = 0;

	if (actions & ACT(QUIET))
		up->quiet = true;
	if (actions & ACT(CONN_UP))
		bits |= smc_conn_establish_locked(conn) | SMC_CONN_CHANGED;
	if (actions & ACT(CONN_SHUT))
		bits |= smc_conn_begin_shut_locked(conn);
	if (actions & ACT(CONN_CLOSE))
		bits |= smc_conn_begin_close_locked(conn, up->linger);
	if (actions & ACT(CONN_ABORT))
		bits |= smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	if (actions & ACT(CONN_RST))
		bits |= upgrade_act_on_rst(conn);
	if (actions & ACT(CONN_LOST))
		bits |= smc_conn_lose_group_locked(conn);
	if (actions & ACT(CONN_TAKE_C) && up->c_waits)
		bits |= smc_conn_apply_peer_state_locked(conn);
	return bits;
}

/* The agreement has failed: the connection ends, and TCP stays, or is reset. */
static unsigned int upgrade_act_on_failure(struct smc_conn *conn, u32 actions)
{
	if (!(actions & (ACT(RELEASE) | ACT(QUARANTINE))))
		return 0;
	smc_conn_give_up_init_locked(conn, actions & ACT(RESET_TCP),
				     actions & ACT(REPORT_RESET) ? ECONNRESET : 0);
	return SMC_CONN_CHANGED;
}

static void upgrade_act_on_timers(struct smc_conn *conn, u32 actions)
{
	const struct smc_conn_upgrade *up = conn->upgrade;

	if (actions & ACT(CANCEL_TIMER))
		smc_conn_timer_peer_spoke(conn);
	/* the peer has spoken, but not about S, although its direction has ended on TCP */
	if (actions & ACT(ARM_TIMER) ||
	    (actions & ACT(CANCEL_TIMER) && up->fin && up->fsm.agree == SMC_UPGRADE_SMC &&
	     !up->rx_s.known))
		smc_conn_timer_peer_must_speak(conn);
}

static void upgrade_set_s(struct smc_conn *conn, u64 s)
{
	conn->upgrade->tx_s = s;
	conn->upgrade->tx_known = true;
	smc_stats_add(conn->net, SMC_STAT_UPGRADE_TCP_BYTES, s);
}

/* Fix S where the application has closed on TCP; an open socket does it itself. */
static unsigned int upgrade_try_gate(struct smc_conn *conn)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	u32 actions = 0;

	if (!up->end_known)
		return SMC_CONN_TRY_GATE;
	upgrade_set_s(conn, up->end_s);
	smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_GATE_SHUT, &actions);
	return upgrade_act(conn, actions);
}

/* Carry out @actions in their order. Returns SMC_CONN_* bits. */
static unsigned int upgrade_act(struct smc_conn *conn, u32 actions)
{
	unsigned int bits = upgrade_act_on_conn(conn, actions);
	u32 llc = actions & SMC_CONN_UPGRADE_LLC;

	upgrade_act_on_timers(conn, actions);
	if (llc) {
		conn->upgrade->llc_due |= llc;
		smc_conn_queue_work(conn);
	}
	if (actions & ACT(POST_GO))
		bits |= upgrade_post_go(conn);
	if (actions & ACT(SEND_CDC) && smc_conn_state_may_cdc(conn->state))
		smc_tx_send_update_locked(conn);
	if (actions & ACT(TRY_GATE))
		bits |= upgrade_try_gate(conn);
	bits |= upgrade_act_on_failure(conn, actions);
	if (actions & (ACT(REPORT_EOF) | ACT(WAKE_READERS)))
		bits |= SMC_CONN_READABLE;
	if (actions & ACT(WAKE_WRITERS))
		bits |= SMC_CONN_WRITABLE;
	return bits;
}

/*
 * smc_conn_upgrade.step: an impossible event has no effect, one by which the peer breaks the
 * protocol ends the connection.
 */
static unsigned int upgrade_step(struct smc_conn *conn, enum smc_upgrade_event event)
{
	u32 actions = 0;

	lockdep_assert_held(&conn->lock);
	if (smc_conn_upgrade_feed_locked(conn, event, &actions) == -EPROTO)
		smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_VIOLATION, &actions);
	return upgrade_act(conn, actions);
}

/* Return whether the peer has sent bytes over TCP that the application has not waited for. */
static bool upgrade_tcp_is_unread(const struct smc_conn_upgrade *up)
{
	return up->reader_left && up->rx_s.known && up->rx_s.s > up->read_end;
}

/**
 * smc_conn_upgrade_act_locked() - Do what the last CDC message leads to
 * @conn: connection, after smc_conn_upgrade_take_cdc_locked()
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_upgrade_act_locked(struct smc_conn *conn)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	u32 actions = up->actions;
	unsigned int bits;

	lockdep_assert_held(&conn->lock);
	up->actions = 0;
	bits = upgrade_act(conn, actions);
	/* TCP acknowledges them, so the peer would never learn that they are lost */
	if (upgrade_tcp_is_unread(up) && !smc_conn_is_beside_tcp(conn)) {
		conn->cause = ECONNRESET;
		bits |= smc_conn_step_locked(conn, smc_conn_fsm_event_of_unread(conn->state));
	}
	return bits;
}

/* ---- the link group and the work of the connection ---------------------------- */

/**
 * smc_conn_upgrade_drain_locked() - The group has ended, and all that the peer has sent is handled
 * @conn: connection with an upgrade
 *
 * Context: Process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_upgrade_drain_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return upgrade_step(conn, SMC_UPGRADE_EV_GROUP_ENDED);
}

/* Return whether the peer could have said something: a link of the group works. */
static bool upgrade_peer_can_speak(const struct smc_conn *conn)
{
	struct smc_link *link = smc_lgr_pick_conn_link(conn->lgr, ~0UL, NULL, SMC_LINK_POLICY_NET);

	if (!link)
		return false;
	smc_link_put(link);
	return !conn->tx.stopped;
}

/* C of the peer waits for TCP, which tells nobody what it was acknowledged. */
static unsigned int upgrade_poll_tcp(struct smc_conn *conn)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	unsigned int bits = upgrade_look(conn);

	if (!up->c_waits || !smc_conn_timer_c_expired(conn))
		return bits;
	up->c_waited = true;
	return bits | smc_conn_apply_peer_state_locked(conn);
}

/* smc_conn_upgrade.progress */
static unsigned int upgrade_make_progress(struct smc_conn *conn, u32 *llc)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	unsigned int bits;

	lockdep_assert_held(&conn->lock);
	bits = upgrade_post_go(conn);
	if (up->c_waits)
		bits |= upgrade_poll_tcp(conn);
	if (smc_conn_timer_speech_expired(conn)) {
		if (upgrade_peer_can_speak(conn))
			bits |= upgrade_step(conn, SMC_UPGRADE_EV_TIMEOUT);
		else
			smc_conn_timer_peer_must_speak(conn);
	}
	*llc = up->llc_due;
	up->llc_due = 0;
	return bits;
}

/* ---- the socket and LLC ------------------------------------------------------ */

/**
 * smc_conn_create_upgrade() - Create a connection beside a socket in TCP mode
 * @lgr: group with a place reserved for this connection
 * @link: link to use, as in smc_conn_create()
 * @sndbuf: wanted bytes of the send ring; rounded
 * @rcvbuf: wanted bytes of the RMBE; rounded
 * @announce: as in smc_conn_create()
 * @cancel: give up when set by another context
 * @init: the upgrade; copied
 *
 * The peer may use neither RMBE nor token before the two ends have agreed.
 *
 * Context: Process, sleeps.
 * Return: as smc_conn_create().
 */
struct smc_conn *smc_conn_create_upgrade(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
					 u32 rcvbuf, bool announce, const bool *cancel,
					 const struct smc_conn_upgrade_init *init)
{
	struct smc_conn_upgrade upgrade = {
		.init = *init, .step = upgrade_step, .progress = upgrade_make_progress,
	};

	return smc_conn_create_with(lgr, link, sndbuf, rcvbuf, announce, cancel, &upgrade);
}

/**
 * smc_conn_upgrade_begin() - Ask for an upgrade, or say yes
 * @conn: new connection with an upgrade; on a server its peer is set
 *
 * From now on the connection belongs to the request.
 *
 * Context: Takes conn->lock, calls the owner without it.
 * Return: 0; -ECONNABORTED: the group has ended, and the caller drops the connection.
 */
int smc_conn_upgrade_begin(struct smc_conn *conn)
{
	enum smc_upgrade_event event = conn->role == SMC_CLIENT ? SMC_UPGRADE_EV_ASK :
								  SMC_UPGRADE_EV_ACCEPT;
	struct smc_conn_notification note;
	unsigned int bits = 0;
	int rc = -ECONNABORTED;

	spin_lock_bh(&conn->lock);
	/* else nobody would report the end of the group */
	if (!conn->tx.stopped) {
		bits = upgrade_look_and_step(conn, event);
		rc = 0;
	}
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
	return rc;
}

/**
 * smc_conn_upgrade_step() - Apply an event of the socket or of an LLC message to an upgrade
 * @conn: connection with an upgrade
 * @event: event; an impossible one has no effect
 *
 * Context: Takes conn->lock, calls the owner without it.
 */
void smc_conn_upgrade_step(struct smc_conn *conn, enum smc_upgrade_event event)
{
	struct smc_conn_notification note;

	spin_lock_bh(&conn->lock);
	smc_conn_prepare_notification(conn, upgrade_look_and_step(conn, event), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_upgrade_take_accept() - Client: take over a response that says yes
 * @conn: connection with an upgrade
 * @end: RMBE and token of the server
 *
 * Posts GO if possible. A yes that comes after a withdrawal has no effect. One that does not fit,
 * because the RMBE still belongs to another connection or the link of the response is lost, may
 * fit when the connection asks anew.
 *
 * Context: Process, does not sleep; takes conn->lock, calls the owner without it. Once for a
 * request, as smc_upgrade_events.accepted comes.
 * Return: 0; an error of smc_conn_set_peer(): the request is withdrawn.
 */
int smc_conn_upgrade_take_accept(struct smc_conn *conn, const struct smc_conn_peer_end *end)
{
	struct smc_upgrade states;
	int rc;

	smc_conn_upgrade_get_states(conn, &states);
	if (states.agree != SMC_UPGRADE_ASKED)
		return 0;
	rc = smc_conn_set_peer(conn, end);
	smc_conn_upgrade_step(conn, rc ? SMC_UPGRADE_EV_WITHDRAW : SMC_UPGRADE_EV_PEER_ACCEPTED);
	return rc;
}

/**
 * smc_conn_upgrade_look() - Look at TCP, which has got further
 * @conn: connection with an upgrade
 *
 * To be called when TCP has received bytes or FIN.
 *
 * Context: Takes conn->lock, calls the owner without it.
 */
void smc_conn_upgrade_look(struct smc_conn *conn)
{
	struct smc_conn_notification note;

	spin_lock_bh(&conn->lock);
	smc_conn_prepare_notification(conn, upgrade_look(conn), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_upgrade_shut_gate() - Our S is fixed: nothing enters TCP any more
 * @conn: connection with an upgrade; no effect if the gate is not to be shut, or was shut before
 * @s: bytes that TCP has taken (smc_upgrade_tx_s())
 *
 * Context: Process, with the lock of the clcsock; takes conn->lock, calls the owner without it.
 */
void smc_conn_upgrade_shut_gate(struct smc_conn *conn, u64 s)
{
	struct smc_conn_notification note;
	u32 actions = 0;

	spin_lock_bh(&conn->lock);
	/* first the state: a message that is sent for it has S */
	if (!smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_GATE_SHUT, &actions)) {
		upgrade_set_s(conn, s);
		if (smc_conn_upgrade_look_at_tcp_locked(conn, &actions))
			smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_VIOLATION, &actions);
	}
	smc_conn_prepare_notification(conn, upgrade_act(conn, actions), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_upgrade_leave_reader() - The application is about to close its socket: it reads no more
 * @conn: connection with an upgrade
 * @read: bytes of TCP that it has read
 *
 * If the peer says later that it has sent more over TCP, the connection is aborted, as TCP resets
 * one that brings bytes after close().
 *
 * Context: Process; takes conn->lock.
 * Return: true: the peer has said so already; the caller aborts.
 */
bool smc_conn_upgrade_leave_reader(struct smc_conn *conn, u64 read)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	bool unread;

	spin_lock_bh(&conn->lock);
	up->reader_left = true;
	up->read_end = read;
	unread = upgrade_tcp_is_unread(up);
	spin_unlock_bh(&conn->lock);
	return unread;
}

/**
 * smc_conn_upgrade_close_tcp() - The application closes a socket whose gate is open
 * @conn: connection with an upgrade; its owner is detached
 * @s: bytes that TCP has taken, without FIN
 * @clcsock: the clcsock, which has sent FIN; the connection ends it
 *
 * A client withdraws, and the clcsock ends at once. A server has to wait for GO, and then announces
 * the end; its clcsock may have to be reset until the request is decided. If the two ends have
 * agreed just now, the end is announced at once.
 *
 * Context: Takes conn->lock.
 */
void smc_conn_upgrade_close_tcp(struct smc_conn *conn, u64 s, struct smc_orphan *clcsock)
{
	struct smc_conn_upgrade *up = conn->upgrade;

	spin_lock_bh(&conn->lock);
	conn->events = NULL;
	conn->owner = NULL;
	up->end_s = s;
	up->end_known = true;
	conn->orphan = clcsock;
	if (conn->role == SMC_CLIENT)
		upgrade_step(conn, SMC_UPGRADE_EV_WITHDRAW);
	upgrade_step(conn, SMC_UPGRADE_EV_CLOSE);
	if (up->fsm.tx == SMC_UPGRADE_TX_GATE_C)
		upgrade_try_gate(conn);
	/* as in smc_conn_close() */
	smc_conn_end_clcsock_locked(conn);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_upgrade_get_states() - Read the states of an upgrade
 * @conn: connection with an upgrade
 * @states: filled in
 *
 * Context: Takes conn->lock.
 */
void smc_conn_upgrade_get_states(struct smc_conn *conn, struct smc_upgrade *states)
{
	spin_lock_bh(&conn->lock);
	*states = conn->upgrade->fsm;
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_upgrade_get_view() - Read what a reader has to know, at one moment
 * @conn: connection with an upgrade
 * @view: filled in
 *
 * Context: Takes conn->lock.
 */
void smc_conn_upgrade_get_view(struct smc_conn *conn, struct smc_conn_upgrade_view *view)
{
	spin_lock_bh(&conn->lock);
	view->states = conn->upgrade->fsm;
	view->rx_s = conn->upgrade->rx_s;
	view->ended = conn->rx.ended;
	spin_unlock_bh(&conn->lock);
}
