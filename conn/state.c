// SPDX-License-Identifier: GPL-2.0-only
/*
 * States and closing of a connection (RFC 7609 section 4.8). The states are a table in
 * proto/conn_fsm.c, and this file is its only caller: it turns what the application, the peer and
 * the group do into events, and carries out the actions of each step.
 */
#define pr_fmt(fmt) "smc: " fmt

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
	conn->tx.urg = (struct smc_urgent_tx){};
	smc_zerocopy_settle_later_locked(conn);
	conn->shut_pending = false;
	conn->close_pending = false;
}

/*
 * Return the errno of a reset. As on TCP, a reset after the peer's FIN (here D or C) is EPIPE,
 * unless our side has shut down, too. D may come in the same message as A if no send slot was free
 * before.
 */
static int conn_reset_errno(const struct smc_conn *conn, enum smc_conn_state from)
{
	bool peer_ended = from == SMC_CONN_APPCLOSEWAIT1_D || from == SMC_CONN_APPCLOSEWAIT1_C ||
			  (from == SMC_CONN_ACTIVE &&
			   conn->rx.peer_state & (SMC_CDC_S_DONE | SMC_CDC_S_CLOSED));

	return peer_ended && !conn->shut_pending ? EPIPE : ECONNRESET;
}

/* Set the error that the application gets for the end that a step out of @from leads to. */
static void conn_report_end(struct smc_conn *conn, enum smc_conn_state from, u32 actions)
{
	if (actions & SMC_CONN_ACT_REPORT_RESET)
		conn_set_err(conn, conn_reset_errno(conn, from));
	if (actions & SMC_CONN_ACT_REPORT_ABORTED)
		conn_set_err(conn, conn->cause ?: ECONNABORTED);
}

/* Carry out the actions of a step, except reports. */
static void conn_do_actions(struct smc_conn *conn, u32 actions)
{
	u8 flags = 0;

	if (actions & SMC_CONN_ACT_PURGE)
		conn_purge_tx(conn);
	if (actions & SMC_CONN_ACT_DISCARD)
		conn->rx.ring.consumed = conn->rx.ring.produced;
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
	if (actions & SMC_CONN_ACT_RELEASE) {
		conn->releasing = true;
		smc_conn_timer_closed(conn);
	}
}

/**
 * smc_conn_step_locked() - Apply one event to the state of a connection
 * @conn: connection
 * @event: event
 *
 * A peer event that the state does not allow is a protocol violation and aborts.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner; 0 if the state stays, as it does for nearly every message
 * with data.
 */
unsigned int smc_conn_step_locked(struct smc_conn *conn, enum smc_conn_event event)
{
	enum smc_conn_state from = conn->state, state = from;
	unsigned int bits = 0;
	u32 actions;
	int rc;

	lockdep_assert_held(&conn->lock);
	rc = smc_conn_fsm_step(&state, event, &actions);
	if (rc == -EPROTO) {
		pr_info_ratelimited("connection %08x: peer event %s in state %s, aborted\n",
				    conn->token, smc_conn_event_str(event),
				    smc_conn_state_str(from));
		return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	}
	if (rc)
		return 0;
	if (state != from) {
		trace_smc_conn_state(conn->token, conn->link->uid, from, state, event);
		/* a time-out is no news for the application */
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
	return bits;
}

/**
 * smc_conn_advance_close_locked() - Let a local shutdown or close take effect if it can
 * @conn: connection
 *
 * D follows the last byte when it is sent, C when it is acknowledged. Aborts if that takes longer
 * than the application wanted to linger.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_advance_close_locked(struct smc_conn *conn)
{
	unsigned int bits = 0;

	lockdep_assert_held(&conn->lock);
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
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_apply_peer_state_locked(struct smc_conn *conn)
{
	u8 state = conn->rx.peer_state;
	enum smc_conn_event event;

	lockdep_assert_held(&conn->lock);
	event = smc_conn_fsm_event_of_cdc(state & SMC_CDC_S_DONE, state & SMC_CDC_S_CLOSED,
					  state & SMC_CDC_S_ABORT,
					  smc_ring_tx_unsent(&conn->tx.ring));
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
	pr_info_ratelimited("connection %08x: messages were lost with a link, aborted\n",
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
	conn->tx.stopped = true;
	conn->tx.state_due = 0;
	conn->tx.waiting = false;
	smc_conn_move_step_locked(conn, SMC_MOVE_EV_LOST);
	/* CLOSED already, and only a missing slot kept the last message */
	if (conn->releasing)
		smc_conn_queue_work(conn);
	return smc_conn_step_locked(conn, SMC_CONN_EV_GROUP_LOST);
}

/**
 * smc_conn_fail_over_locked() - Move our direction away from its failed link
 * @conn: connection; conn->link is fenced
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
		pr_info_ratelimited("connection %08x: no link to the peer's RMBE is left, aborted\n",
				    conn->token);
		return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	case -ENETDOWN:
		return 0;	/* the last link goes, too: the group ends next */
	default:
		return 0;
	}
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
	bits = smc_conn_step_locked(conn, SMC_CONN_EV_ESTABLISHED);
	if (conn->rx.peer_state && conn->state == SMC_CONN_ACTIVE)
		bits |= smc_conn_apply_peer_state_locked(conn);
	/*
	 * the group may have ended meanwhile, or the link be lost: conn_on_link_lost() skipped us
	 */
	if (conn->tx.stopped)
		bits |= smc_conn_lose_group_locked(conn);
	else if (smc_link_fenced(conn->link))
		bits |= smc_conn_fail_over_locked(conn);
	else
		smc_conn_pick_first_link_locked(conn);
	smc_conn_prepare_notification(conn, bits | SMC_CONN_READABLE | SMC_CONN_WRITABLE, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
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
	if (conn->state == SMC_CONN_INIT)
		smc_conn_step_locked(conn, SMC_CONN_EV_CLOSE);
	conn->tx.stopped = true;
	conn->quarantine = quarantine;
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
}

/**
 * smc_conn_shutdown() - Shut the sending direction down (shutdown(SHUT_WR))
 * @conn: connection
 *
 * D follows the last byte.
 *
 * Context: Takes conn->lock, calls the owner without it.
 */
void smc_conn_shutdown(struct smc_conn *conn)
{
	struct smc_conn_notification note;

	spin_lock_bh(&conn->lock);
	conn->shut_pending = true;
	smc_tx_push_locked(conn, false);
	smc_conn_prepare_notification(conn, smc_conn_advance_close_locked(conn), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/**
 * smc_conn_close() - Close a connection
 * @conn: connection, detached
 * @abort: send A at once (unread data, SO_LINGER 0) instead of C after the last byte
 * @linger: jiffies that queued bytes have to be sent
 *
 * Returns at once; the caller may put its reference right after.
 *
 * Context: Takes conn->lock.
 */
void smc_conn_close(struct smc_conn *conn, bool abort, unsigned long linger)
{
	spin_lock_bh(&conn->lock);
	if (abort) {
		conn->shut_pending = false;
		smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	} else if (conn->state == SMC_CONN_INIT || smc_conn_state_may_cdc(conn->state)) {
		conn->close_pending = true;
		smc_conn_timer_close_begun(conn, linger);
		smc_tx_push_locked(conn, false);
		smc_conn_advance_close_locked(conn);
	}
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
	enum smc_conn_event event = err == ECONNRESET ? SMC_CONN_EV_CLCSOCK_RST :
							SMC_CONN_EV_ABORT;
	struct smc_conn_notification note;

	spin_lock_bh(&conn->lock);
	if (err != ECONNRESET)
		conn->cause = err;
	smc_conn_prepare_notification(conn, smc_conn_step_locked(conn, event), &note);
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
