// SPDX-License-Identifier: GPL-2.0-only
/*
 * States and closing of a connection (RFC 7609 section 4.8). The states are a table in
 * proto/conn_fsm.c, and this file is its only caller: it turns what the application, the peer and
 * the group do into events, and carries out the actions of each step.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <smc/base/log.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "failover.h"
#include "move.h"
#include "state.h"
#include "timers.h"
#include "upgrade_locked.h"

static void conn_set_err(struct smc_conn *conn, int err)
{
	if (!conn->err)
		WRITE_ONCE(conn->err, err);
	smc_stats_inc(conn->net, SMC_STAT_CONN_ABORT);
}

/* As TCP after RST: drop what was not sent; received bytes stay readable. */
static void conn_purge_tx(struct smc_conn *conn)
{
	smc_ring_tx_purge(&conn->tx.ring);
	smc_conn_drop_done_locked(conn);
	conn->tx.urg = (struct smc_urgent_tx){};
	smc_zerocopy_settle_later_locked(conn);
	/* the time without room ends here */
	conn->tx.sent_blocked = false;
	smc_tx_count_window_locked(conn);
	conn->shut_pending = false;
	conn->close_pending = false;
}

/* Return whether a connection that ends badly loses bytes that TCP has not carried yet. */
static bool conn_loses_tail(const struct smc_conn *conn)
{
	return conn->upgrade && conn->upgrade->fsm.rx != SMC_UPGRADE_RX_RING;
}

/*
 * Return whether the peer's FIN (here D or C) came before a reset in state @from, and our side has
 * not sent D. D may come in the same message as A if no send slot was free before.
 */
static bool conn_peer_ended_first(const struct smc_conn *conn, enum smc_conn_state from)
{
	if (conn_loses_tail(conn))
		return false;
	return from == SMC_CONN_APPCLOSEWAIT1_D || from == SMC_CONN_APPCLOSEWAIT1_C ||
	       (from == SMC_CONN_ACTIVE &&
		conn->rx.peer_state & (SMC_CDC_S_DONE | SMC_CDC_S_CLOSED));
}

/*
 * Set what the application gets for the end that a step out of @from leads to. As on TCP, a reset
 * after the peer's FIN is EPIPE, unless our side has shut down, too.
 */
static void conn_report_end(struct smc_conn *conn, enum smc_conn_state from, u32 actions)
{
	bool reset = actions & SMC_CONN_ACT_REPORT_RESET;
	bool ended = reset && conn_peer_ended_first(conn, from);

	if (ended || actions & SMC_CONN_ACT_REPORT_EOF)
		/* pairs with recvmsg_read_state(): a reader of the end sees the bytes before it */
		smp_store_release(&conn->rx.ended, true);
	/* D or C may have come, but the reader will not get that far */
	if (actions & (SMC_CONN_ACT_REPORT_RESET | SMC_CONN_ACT_REPORT_ABORTED) &&
	    conn_loses_tail(conn))
		WRITE_ONCE(conn->rx.ended, false);
	if (conn->upgrade && conn->upgrade->quiet)
		return;
	if (reset)
		conn_set_err(conn, ended && !conn->shut_pending ? EPIPE : ECONNRESET);
	if (actions & SMC_CONN_ACT_REPORT_ABORTED)
		conn_set_err(conn, conn->cause ?: ECONNABORTED);
}

/* Note how the clcsock has to end; smc_conn_end_clcsock_locked() does it when it is time. */
static void conn_note_tcp_end(struct smc_conn *conn, u32 actions)
{
	if (actions & SMC_CONN_ACT_RESET_CLCSOCK) {
		WRITE_ONCE(conn->tcp_end, SMC_TCP_END_RST);
		smc_conn_timer_reset_due(conn);
	}
	if (actions & SMC_CONN_ACT_CLOSE_CLCSOCK)
		WRITE_ONCE(conn->tcp_end, actions & SMC_CONN_ACT_AWAIT_FIN ?
			   SMC_TCP_END_FIN_SECOND : SMC_TCP_END_FIN);
}

/* Carry out the actions of a step, except reports. */
static void conn_do_actions(struct smc_conn *conn, u32 actions)
{
	u8 flags = 0;

	if (actions & SMC_CONN_ACT_PURGE)
		conn_purge_tx(conn);
	if (actions & SMC_CONN_ACT_DISCARD)
		WRITE_ONCE(conn->rx.ring.consumed, conn->rx.ring.produced);
	if (actions & SMC_CONN_ACT_CANCEL_TIMER)
		smc_conn_timer_state_left(conn);
	if (actions & SMC_CONN_ACT_ARM_TIMER)
		smc_conn_timer_state_entered(conn, actions);
	if (actions & SMC_CONN_ACT_SEND_DONE)
		flags |= SMC_CDC_S_DONE;
	if (actions & SMC_CONN_ACT_SEND_CLOSE)
		flags |= SMC_CDC_S_CLOSED;
	if (actions & SMC_CONN_ACT_SEND_ABORT)
		flags |= SMC_CDC_S_ABORT;
	if (actions & SMC_CONN_ACT_ELEMENT_QUARANTINE)
		conn->quarantine = true;
	if (flags)
		smc_tx_send_flags_locked(conn, flags);
	conn_note_tcp_end(conn, actions);
	if (actions & SMC_CONN_ACT_RELEASE) {
		WRITE_ONCE(conn->releasing, true);
		smc_conn_timer_closed(conn);
	}
}

/*
 * The socket is TCP, so an event does not reach the state of the connection. The end of the group
 * is judged in conn_drain(): GO may be under way. An abort that is not because of the peer comes by
 * conn_abort_here().
 */
static unsigned int conn_divert_event(struct smc_conn *conn, enum smc_conn_event event)
{
	switch (event) {
	case SMC_CONN_EV_ABORT:
		/* because of the peer, to which a client owes nothing but a withdrawal */
		return conn->upgrade->step(conn, conn->role == SMC_SERVER ?
					   SMC_UPGRADE_EV_VIOLATION : SMC_UPGRADE_EV_WITHDRAW);
	case SMC_CONN_EV_CLCSOCK_RST:
		return conn->upgrade->step(conn, SMC_UPGRADE_EV_TCP_RST);
	default:
		return 0;
	}
}

/**
 * smc_conn_step_locked() - Apply one event to the state of a connection
 * @conn: connection
 * @event: event
 *
 * A peer event that the state does not allow is a protocol violation and aborts. While the
 * connection is beside TCP, its state stays INIT.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner; 0 if the state stays.
 */
unsigned int smc_conn_step_locked(struct smc_conn *conn, enum smc_conn_event event)
{
	enum smc_conn_state from = conn->state, state = from;
	unsigned int bits = 0;
	u32 actions;
	int rc;

	lockdep_assert_held(&conn->lock);
	if (unlikely(smc_conn_is_beside_tcp(conn)))
		return conn_divert_event(conn, event);
	rc = smc_conn_fsm_step(&state, event, &actions);
	if (rc == -EPROTO) {
		smc_log_write(conn->net, "connection %08x: peer event %s in state %s, aborted\n",
			      conn->token, smc_conn_event_str(event), smc_conn_state_str(from));
		return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	}
	if (rc)
		return 0;
	if (state != from) {
		trace_smc_conn_state(conn->token, conn->link->uid, from, state, event);
		/* a time-out changes nothing for the application */
		if (event != SMC_CONN_EV_TIMEOUT)
			bits |= SMC_CONN_CHANGED;
	}
	conn_report_end(conn, from, actions);
	/* Nothing is written to the peer's RMBE any more: the peer may assign it anew. */
	if (smc_conn_state_ignores_peer(state))
		smc_claim_end(conn->lgr, &conn->tx.claim);
	/*
	 * Pairs with smc_conn_state(): a reader without the lock that sees the state must also see
	 * the error, or it would take it for the end of the stream.
	 */
	smp_store_release(&conn->state, state);
	conn_do_actions(conn, actions);
	/*
	 * The A that ends the connection is posted or waits for a slot. In either case only the
	 * timer can do more, so A counts as sent.
	 */
	if (actions & SMC_CONN_ACT_SEND_ABORT && !conn->tx.state_due)
		bits |= smc_conn_step_locked(conn, SMC_CONN_EV_ABORT_SENT);
	/* our direction has ended */
	if (conn->upgrade && conn->upgrade->c_waits && !smc_conn_state_may_send(conn->state))
		bits |= smc_conn_apply_peer_state_locked(conn);
	return bits;
}

/*
 * Return whether the peer still owes what ends the request: a server its answer to GO, a client GO
 * or a withdrawal. Once the connection is not registered any more, nobody would notice it.
 */
static bool conn_upgrade_is_owed(const struct smc_conn *conn)
{
	const struct smc_conn_upgrade *up = conn->upgrade;

	if (conn->role == SMC_SERVER)
		return up->fsm.agree == SMC_UPGRADE_DEAD;
	return up->fsm.agree == SMC_UPGRADE_SMC && !up->answered;
}

/*
 * Return whether LLC knows that a connection with an upgrade, which has ended otherwise, is about
 * to go; else its work is queued. LLC holds a reference for the request. Only that work passes
 * things on to LLC, and it may not run later.
 */
static bool conn_upgrade_may_leave(struct smc_conn *conn)
{
	struct smc_conn_upgrade *up = conn->upgrade;

	lockdep_assert_held(&conn->lock);
	if (conn_upgrade_is_owed(conn) && !up->abandoned) {
		up->abandoned = true;
		up->llc_due |= SMC_CONN_UPGRADE_ABANDON;
		/* the peer may have got GO, and write */
		conn->quarantine = true;
		smc_conn_queue_work(conn);
	}
	return !up->llc_due;
}

/*
 * Return whether the connection may be removed: its last message is acknowledged, or its time is
 * over. A lost message has to be repeated, because the peer waits for it. What LLC has to do for an
 * upgrade comes first.
 */
static bool conn_may_leave(struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;

	if (!tx->stopped && (tx->state_due || tx->state_unacked) &&
	    !smc_conn_timer_last_msg_expired(conn))
		return false;
	return !conn->upgrade || conn_upgrade_may_leave(conn);
}

/*
 * Return whether it is time for the clcsock to end. FIN: both ends have closed (RFC 7609 4.8.1),
 * and the peer's RNIC has our C. RST: the peer's RNIC has our A, behind the bytes that were written
 * before, or it will not get it soon, or there is none to send. An orphan of a client beside TCP:
 * nothing that comes before GO resets it, and its peer may take any time to answer the withdrawal.
 */
static bool conn_may_end_clcsock(struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;

	if (conn->unregistered)
		return true;
	if (conn->orphan && conn->role == SMC_CLIENT && smc_conn_is_beside_tcp(conn))
		return true;
	if (conn->tcp_end != SMC_TCP_END_RST)
		return false;
	return tx->stopped || (!tx->state_due && !tx->state_unacked) ||
	       smc_conn_timer_reset_expired(conn);
}

/**
 * smc_conn_end_clcsock_locked() - End the clcsock if it is time
 * @conn: connection
 *
 * The clcsock of an open socket belongs to the socket, which is only notified.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_end_clcsock_locked(struct smc_conn *conn)
{
	bool reset = conn->tcp_end == SMC_TCP_END_RST;

	lockdep_assert_held(&conn->lock);
	if (conn->broken_reported && !conn->orphan)
		return 0;
	if (!(reset || conn->orphan) || !conn_may_end_clcsock(conn))
		return 0;
	WRITE_ONCE(conn->broken_reported, reset);
	if (!conn->orphan)
		return SMC_CONN_BROKEN;
	smc_orphan_end(conn->orphan, conn->tcp_end ?: SMC_TCP_END_FIN_SECOND);
	conn->orphan = NULL;
	return 0;
}

/**
 * smc_conn_try_leave_locked() - End connection and clcsock if their last message has arrived
 * @conn: connection; what could be sent was sent
 * @bits: SMC_CONN_* bits for the owner are added
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: true, once, if the caller has to remove the connection from the token table.
 */
bool smc_conn_try_leave_locked(struct smc_conn *conn, unsigned int *bits)
{
	bool gone;

	lockdep_assert_held(&conn->lock);
	/* an A that had waited for a slot is posted now */
	if (conn->state == SMC_CONN_PROCESSABORT && !conn->tx.state_due)
		*bits |= smc_conn_step_locked(conn, SMC_CONN_EV_ABORT_SENT);
	gone = conn->releasing && !conn->unregistered && conn_may_leave(conn);
	conn->unregistered |= gone;
	if (gone)
		smc_tcpinfo_note_end(conn);
	*bits |= smc_conn_end_clcsock_locked(conn);
	return gone;
}

/**
 * smc_conn_advance_close_locked() - Let a local shutdown or close take effect if it can
 * @conn: connection
 *
 * D follows the last byte when it is sent, C when it is acknowledged. Aborts if that takes longer
 * than the application wanted to linger. A shutdown of both directions is a close (RFC 7609 4.8.1),
 * but while bytes are unread only D is sent: the application may still read them, as on TCP.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_advance_close_locked(struct smc_conn *conn)
{
	unsigned int bits = 0;

	lockdep_assert_held(&conn->lock);
	if (conn->close_pending || conn->shut == SHUTDOWN_MASK)
		smc_tx_fence_locked(conn);
	if (conn->shut == SHUTDOWN_MASK && smc_conn_state_may_cdc(conn->state) &&
	    smc_ring_tx_drained(&conn->tx.ring) && !smc_ring_rx_readable(&conn->rx.ring) &&
	    (!conn->upgrade || smc_conn_upgrade_is_read_locked(conn))) {
		conn->shut_pending = false;
		conn->close_pending = false;
		bits |= smc_conn_step_locked(conn, SMC_CONN_EV_CLOSE);
	}
	if (conn->shut_pending && !smc_ring_tx_unsent(&conn->tx.ring)) {
		conn->shut_pending = false;
		bits |= smc_conn_step_locked(conn, SMC_CONN_EV_SHUT_WR);
	}
	if (conn->close_pending) {
		if (smc_ring_tx_drained(&conn->tx.ring)) {
			conn->close_pending = false;
			bits |= smc_conn_step_locked(conn, SMC_CONN_EV_CLOSE);
		} else if (smc_conn_timer_linger_expired(conn)) {
			conn->close_pending = false;
			bits |= smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
		}
	}
	return bits;
}

/**
 * smc_conn_apply_peer_state_locked() - Apply the state bits received from the peer
 * @conn: connection
 *
 * When they come, and once more if C had to wait (smc_conn_upgrade_delays_c_locked()).
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_apply_peer_state_locked(struct smc_conn *conn)
{
	bool unsent = smc_ring_tx_unsent(&conn->tx.ring);
	u8 state = conn->rx.peer_state;
	enum smc_conn_event event;

	lockdep_assert_held(&conn->lock);
	if (conn->upgrade && state & SMC_CDC_S_CLOSED) {
		unsent |= !smc_upgrade_is_acked(&conn->upgrade->fsm);
		if (smc_conn_upgrade_delays_c_locked(conn))
			state = (state & ~SMC_CDC_S_CLOSED) | SMC_CDC_S_DONE;
	}
	event = smc_conn_fsm_event_of_cdc(state & SMC_CDC_S_DONE, state & SMC_CDC_S_CLOSED,
					  state & SMC_CDC_S_ABORT, unsent);
	return smc_conn_step_locked(conn, event);
}

/**
 * smc_conn_abort_gap_locked() - Abort: messages of the peer were lost with a link
 * @conn: connection
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_abort_gap_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	smc_stats_inc(conn->net, SMC_STAT_MOVE_GAP);
	smc_log_write(conn->net, "connection %08x: messages were lost with a link, aborted\n",
		      conn->token);
	return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
}

/**
 * smc_conn_lose_group_locked() - The group has ended: nothing can be sent any more
 * @conn: connection
 *
 * Context: Process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_lose_group_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(conn->tx.stopped, true);
	conn->tx.state_due = 0;
	WRITE_ONCE(conn->tx.waiting, false);
	smc_conn_move_step_locked(conn, SMC_MOVE_EV_LOST);
	/* already CLOSED: the last message waited for a slot, which it will not get */
	if (conn->releasing)
		smc_conn_queue_work(conn);
	return smc_conn_step_locked(conn, SMC_CONN_EV_GROUP_LOST);
}

/**
 * smc_conn_fail_over_locked() - Move our direction away from its failed link
 * @conn: connection; conn->link is fenced, or nothing was sent over it
 *
 * Aborts if the peer's RMBE cannot be written over any other link.
 *
 * Context: Process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_fail_over_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	switch (smc_conn_switch_link_locked(conn)) {
	case -ENOKEY:
		smc_log_write(conn->net,
			      "connection %08x: no link to the peer's RMBE is left, aborted\n",
			      conn->token);
		return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	case -ENETDOWN:
		return 0;	/* the last link goes, too: the group ends next */
	default:
		return 0;
	}
}

/*
 * The handshake is complete. The group may have ended meanwhile, or the link be lost:
 * conn_lose_link() skipped us.
 */
static unsigned int conn_choose_link(struct smc_conn *conn)
{
	if (conn->tx.stopped)
		return smc_conn_lose_group_locked(conn);
	if (smc_conn_link_is_lost(conn))
		return smc_conn_fail_over_locked(conn);
	smc_conn_pick_first_link_locked(conn);
	return 0;
}

/**
 * smc_conn_establish_locked() - Both ends have agreed to upgrade
 * @conn: connection with an upgrade, whose peer is set; GO was posted or received
 *
 * INIT to ACTIVE. What the first message says takes effect after that.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_establish_locked(struct smc_conn *conn)
{
	unsigned int bits;

	lockdep_assert_held(&conn->lock);
	conn->tcpinfo.began_at = get_jiffies_64();
	bits = smc_conn_step_locked(conn, SMC_CONN_EV_ESTABLISHED);
	return bits | conn_choose_link(conn);
}

/**
 * smc_conn_activate() - Complete the handshake of a connection
 * @conn: connection whose peer is set
 *
 * INIT to ACTIVE. What the peer has sent early (RFC 7609 section 3.5.2.4) takes effect now.
 *
 * Context: Process; takes conn->lock, calls the owner without it.
 */
void smc_conn_activate(struct smc_conn *conn)
{
	struct smc_conn_notification note;
	unsigned int bits;

	spin_lock_bh(&conn->lock);
	conn->tcpinfo.began_at = get_jiffies_64();
	bits = smc_conn_step_locked(conn, SMC_CONN_EV_ESTABLISHED);
	if (conn->rx.peer_state && conn->state == SMC_CONN_ACTIVE)
		bits |= smc_conn_apply_peer_state_locked(conn);
	bits |= conn_choose_link(conn);
	smc_conn_prepare_notification(conn, bits | SMC_CONN_READABLE | SMC_CONN_WRITABLE, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_give_up_init_locked() - End a connection that stays beside TCP
 * @conn: connection with an upgrade, in INIT
 * @reset: reset the clcsock, and keep the RMBE out of use: the peer may write into it
 * @err: errno for the application, 0: none
 *
 * Once. The work of the connection removes it from the token table.
 *
 * Context: Softirq or process; caller holds conn->lock.
 */
void smc_conn_give_up_init_locked(struct smc_conn *conn, bool reset, int err)
{
	lockdep_assert_held(&conn->lock);
	if (err)
		conn_set_err(conn, err);
	if (reset)
		conn_note_tcp_end(conn, SMC_CONN_ACT_RESET_CLCSOCK);
	/* another request of the peer may be for the same element and token */
	smc_claim_end(conn->lgr, &conn->tx.claim);
	WRITE_ONCE(conn->tx.stopped, true);
	conn->quarantine = reset;
	WRITE_ONCE(conn->releasing, true);
	smc_conn_timer_closed(conn);
}

/**
 * smc_conn_discard() - Drop a connection whose handshake failed before activation
 * @conn: connection; the caller's reference is dropped
 * @quarantine: the peer knows our RMBE: keep it out of use until the group ends
 *
 * Context: Any; takes conn->lock.
 */
void smc_conn_discard(struct smc_conn *conn, bool quarantine)
{
	spin_lock_bh(&conn->lock);
	if (smc_conn_is_beside_tcp(conn))
		smc_conn_give_up_init_locked(conn, false, 0);
	else if (conn->state == SMC_CONN_INIT)
		smc_conn_step_locked(conn, SMC_CONN_EV_CLOSE);
	WRITE_ONCE(conn->tx.stopped, true);
	conn->quarantine = quarantine;
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
}

/**
 * smc_conn_begin_shut_locked() - Let D follow the last byte
 * @conn: connection
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_begin_shut_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->shut |= SEND_SHUTDOWN;
	conn->shut_pending = true;
	/* else there is nothing before D, which must not be late: S goes with it */
	if (smc_ring_tx_unsent(&conn->tx.ring))
		smc_tx_push_locked(conn, false);
	return smc_conn_advance_close_locked(conn);
}

/**
 * smc_conn_begin_close_locked() - Let C follow the last byte, or abort: bytes are unread
 * @conn: connection
 * @linger: jiffies that queued bytes have to be sent
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_begin_close_locked(struct smc_conn *conn, unsigned long linger)
{
	lockdep_assert_held(&conn->lock);
	/* the caller may have looked before the last ones came */
	if (smc_ring_rx_readable(&conn->rx.ring)) {
		conn->shut_pending = false;
		return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	}
	if (conn->state != SMC_CONN_INIT && !smc_conn_state_may_cdc(conn->state))
		return 0;
	conn->close_pending = true;
	smc_conn_timer_close_begun(conn, linger);
	if (smc_ring_tx_unsent(&conn->tx.ring))
		smc_tx_push_locked(conn, false);
	return smc_conn_advance_close_locked(conn);
}

/**
 * smc_conn_shutdown() - Shut directions down (shutdown())
 * @conn: connection
 * @directions: SEND_SHUTDOWN: D follows the last byte; RCV_SHUTDOWN has no effect alone; after both
 *	the connection is closed when nothing is unread
 *
 * Context: Takes conn->lock, calls the owner without it.
 */
void smc_conn_shutdown(struct smc_conn *conn, u8 directions)
{
	struct smc_conn_notification note;
	unsigned int bits;

	spin_lock_bh(&conn->lock);
	conn->shut |= directions & RCV_SHUTDOWN;
	if (!(directions & SEND_SHUTDOWN))
		bits = smc_conn_advance_close_locked(conn);
	else if (conn->upgrade)
		/* when S is fixed */
		bits = conn->upgrade->step(conn, SMC_UPGRADE_EV_SHUT);
	else
		bits = smc_conn_begin_shut_locked(conn);
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/* Abort for a reason at this end, which beside TCP has ended TCP, too. */
static unsigned int conn_abort_here(struct smc_conn *conn)
{
	if (smc_conn_is_beside_tcp(conn))
		return conn->upgrade->step(conn, SMC_UPGRADE_EV_TCP_ERROR);
	return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
}

/**
 * smc_conn_close() - Close a connection
 * @conn: connection, detached
 * @abort: send A at once (SO_LINGER 0, or bytes of TCP are unread) instead of C after the last
 *	byte; unread bytes of the RMBE do the same
 * @linger: jiffies that queued bytes have to be sent
 * @clcsock: the clcsock, which the connection ends when it has ended itself; NULL: the caller does
 *
 * Returns at once; the caller may put its reference right after.
 *
 * Context: Process; takes conn->lock.
 */
void smc_conn_close(struct smc_conn *conn, bool abort, unsigned long linger,
		    struct smc_orphan *clcsock)
{
	spin_lock_bh(&conn->lock);
	conn->orphan = clcsock;
	if (abort) {
		conn->shut_pending = false;
		conn_abort_here(conn);
	} else if (conn->upgrade) {
		/* when S is fixed */
		conn->upgrade->linger = linger;
		conn->upgrade->step(conn, SMC_UPGRADE_EV_CLOSE);
	} else {
		smc_conn_begin_close_locked(conn, linger);
	}
	/* the connection may have ended before; else its work ends the clcsock */
	smc_conn_end_clcsock_locked(conn);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_abort() - Abort a connection: the clcsock was reset, or a local failure
 * @conn: connection
 * @err: errno for the application; ECONNRESET if the peer reset the clcsock
 *
 * Context: Takes conn->lock, calls the owner without it.
 */
void smc_conn_abort(struct smc_conn *conn, int err)
{
	struct smc_conn_notification note;
	unsigned int bits;

	spin_lock_bh(&conn->lock);
	if (err == ECONNRESET) {
		bits = smc_conn_step_locked(conn, SMC_CONN_EV_CLCSOCK_RST);
	} else {
		conn->cause = err;
		bits = conn_abort_here(conn);
	}
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_refuse_data_locked() - Refuse bytes that arrive after a close or shutdown of both
 * @conn: connection that is shut (smc_conn_is_shut()), or has sent C; new bytes have arrived
 * @had: bytes that were readable before; these stay
 *
 * Nobody will read them: a reset, as by TCP, tells the writer so. What is queued in the other
 * direction is lost, as with TCP: a peer that waits for room here would never read it. A foreign
 * peer gets nothing behind our C.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_refuse_data_locked(struct smc_conn *conn, u32 had)
{
	lockdep_assert_held(&conn->lock);
	if (!smc_conn_state_may_cdc(conn->state) &&
	    (conn->state != SMC_CONN_PEERCLOSEWAIT1_C || !READ_ONCE(conn->lgr->peer.caps)))
		return 0;
	WRITE_ONCE(conn->rx.ring.produced, conn->rx.ring.consumed + had);
	conn->cause = ECONNRESET;
	return smc_conn_step_locked(conn, smc_conn_fsm_event_of_unread(conn->state));
}

/**
 * smc_conn_peer_has_closed() - Return whether a write would come too late: the peer has closed
 * @conn: connection without an error, whose sending direction is not shut down
 *
 * Context: Any; a snapshot without a lock.
 * Return: true after C of the peer.
 */
bool smc_conn_peer_has_closed(const struct smc_conn *conn)
{
	enum smc_conn_state state = smc_conn_state(conn);

	/* CLOSED: its C was answered because the application had not closed for long */
	return state == SMC_CONN_APPCLOSEWAIT1_C || state == SMC_CONN_CLOSED;
}

/**
 * smc_conn_lose_write() - Reset the connection: the application has written after the peer's C
 * @conn: connection for which smc_conn_peer_has_closed() was true
 *
 * The bytes cannot be sent any more. As on TCP the write succeeds, then comes the reset: EPIPE.
 *
 * Context: Takes conn->lock, calls the owner without it.
 */
void smc_conn_lose_write(struct smc_conn *conn)
{
	struct smc_conn_notification note;
	unsigned int bits;

	spin_lock_bh(&conn->lock);
	bits = smc_conn_step_locked(conn, SMC_CONN_EV_PEER_CLOSED_EARLY);
	if (!conn->err) {
		/* CLOSED before */
		conn_set_err(conn, EPIPE);
		bits |= SMC_CONN_CHANGED;
	}
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_is_drained() - Return whether the peer's RNIC has acknowledged all bytes
 * @conn: connection
 *
 * For SO_LINGER.
 *
 * Context: Any; a snapshot without a lock.
 * Return: true if so, or if nothing can be sent any more.
 */
bool smc_conn_is_drained(const struct smc_conn *conn)
{
	return READ_ONCE(conn->tx.ring.completed) == READ_ONCE(conn->tx.ring.prepared) ||
	       READ_ONCE(conn->tx.stopped);
}

/**
 * smc_conn_is_broken() - Return whether the connection has ended badly and the clcsock must show it
 * @conn: connection
 *
 * The peer may not get to know it over RDMA: its link may be lost, its group gone. RST on the
 * clcsock tells it (RFC 7609 4.8.2, 4.8.3).
 *
 * Context: Any; a snapshot without a lock.
 * Return: true if the clcsock is to be reset now; stays true.
 */
bool smc_conn_is_broken(const struct smc_conn *conn)
{
	return READ_ONCE(conn->broken_reported);
}
