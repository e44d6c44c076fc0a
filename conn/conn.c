// SPDX-License-Identifier: GPL-2.0-only
/*
 * One SMC connection: creation, states and closing (the only caller of proto/conn_fsm.c), events of
 * the group, and release.
 *
 * Who may still use a connection when it is freed, and why not:
 *  - the socket or the handshake holds a reference until it puts it;
 *  - CDC receivers find the connection by token under RCU and take a reference;
 *    smc_core_conn_del() comes first, and the memory is freed after a grace period;
 *  - each request whose completion is of interest holds a reference; the queue pair completes or
 *    flushes every request;
 *  - the delayed work calls conn_unregister() itself, and is not queued again once @unregistered
 *    is set and the last reference is gone; free_work cancels it.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/slab.h>
#include <net/net_namespace.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "cdc.h"
#include "failover.h"

/* The peer does not answer our C or A: give up after this time (TCP: FIN_WAIT2). */
#define CLOSE_TIMEOUT	(60 * HZ)
#define ABORT_TIMEOUT	(5 * HZ)
/* The peer has closed and our application has not: answer C well before the peer gives up. */
#define ANSWER_TIMEOUT	(30 * HZ)
/* Time for the last message to be acknowledged: a link that fails before could lose it. */
#define LEAVE_TIMEOUT	(2 * HZ)

/* Bytes of a foreign peer's RMBE kept unused for a failover (proto/cursor.h). */
#define STRANGER_RESERVE	16

/* Charged to the owner's cgroup; at its limit the connection falls back to TCP without OOM kill. */
#define CONN_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static struct workqueue_struct *conn_wq;
static atomic_t conns_alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(conns_gone);

/* ---- state ------------------------------------------------------------------- */

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
	smc_zcopy_settle_later_locked(conn);
	conn->shut_pending = false;
	conn->close_pending = false;
}

/* Return how long the state that @actions lead to may last. */
static unsigned long conn_state_timeout(u32 actions)
{
	if (actions & SMC_CONN_ACT_SEND_ABORT)
		return ABORT_TIMEOUT;
	return actions & SMC_CONN_ACT_SEND_CLOSE ? CLOSE_TIMEOUT : ANSWER_TIMEOUT;
}

static void conn_arm_deadline(struct smc_conn *conn, unsigned long timeout)
{
	conn->deadline_armed = true;
	conn->deadline = jiffies + timeout;
	smc_conn_kick_by(conn, timeout);
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
		conn->deadline_armed = false;
	if (actions & SMC_CONN_ACT_ARM_TIMER)
		conn_arm_deadline(conn, conn_state_timeout(actions));
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
		conn->deadline = jiffies + LEAVE_TIMEOUT;
		smc_conn_kick(conn, 0);
	}
}

/*
 * Apply one event to the state; conn->lock held. A peer event that the state does not allow is a
 * protocol violation and aborts. Returns SMC_CONN_* bits for the owner, 0 if the state stays, as
 * it does for nearly every message with data.
 */
static unsigned int conn_step(struct smc_conn *conn, enum smc_conn_event event)
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
		return conn_step(conn, SMC_CONN_EV_ABORT);
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
	if (smc_conn_state_over(state))
		smc_core_claim_end(conn->lgr, &conn->tx.claim);
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
		bits |= conn_step(conn, SMC_CONN_EV_ABORT_SENT);
	return bits;
}

/* Let a local shutdown or close take effect when the send ring allows it. */
static unsigned int conn_advance_close(struct smc_conn *conn)
{
	unsigned int bits = 0;

	if (conn->shut_pending && !smc_ring_tx_unsent(&conn->tx.ring)) {
		conn->shut_pending = false;
		bits |= conn_step(conn, SMC_CONN_EV_SHUT_WR);
	}
	if (conn->close_pending) {
		if (smc_ring_tx_drained(&conn->tx.ring)) {
			conn->close_pending = false;
			bits |= conn_step(conn, SMC_CONN_EV_CLOSE);
		} else if (time_after_eq(jiffies, conn->deadline)) {
			conn->close_pending = false;
			bits |= conn_step(conn, SMC_CONN_EV_ABORT);
		} else {
			smc_conn_kick_by(conn, conn->deadline - jiffies);
		}
	}
	return bits;
}

/* ---- events of the group ----------------------------------------------------- */

static enum smc_conn_event conn_peer_event(const struct smc_conn *conn)
{
	u8 state = conn->rx.peer_state;

	return smc_conn_fsm_event(state & SMC_CDC_S_DONE, state & SMC_CDC_S_CLOSED,
				  state & SMC_CDC_S_ABORT, smc_ring_tx_unsent(&conn->tx.ring));
}

/* Act on the result of checking a failover validation; conn->lock held. */
static unsigned int conn_check_validation(struct smc_conn *conn, unsigned int got)
{
	smc_stats_inc(conn->net, SMC_STAT_RX_VALIDATION);
	if (!(got & SMC_CDC_BAD)) {
		smc_tx_probe_locked(conn);
		smc_tx_push_locked(conn, false);
		return 0;
	}
	smc_stats_inc(conn->net, SMC_STAT_VALIDATION_BAD);
	pr_info_ratelimited("connection %08x: bytes were lost with a link, aborted\n",
			    conn->token);
	return conn_step(conn, SMC_CONN_EV_ABORT);
}

/* Abort: the peer moved to another link and messages before that are missing. */
static unsigned int conn_abort_gap(struct smc_conn *conn)
{
	smc_stats_inc(conn->net, SMC_STAT_MOVE_GAP);
	pr_info_ratelimited("connection %08x: messages were lost with a link, aborted\n",
			    conn->token);
	return conn_step(conn, SMC_CONN_EV_ABORT);
}

/*
 * Acknowledge the peer's last message before its orderly move. If both sides wait for each other's
 * acknowledgment, the client gives up its own move; a later walk may try again.
 */
static void conn_answer_move(struct smc_conn *conn)
{
	if (!smc_conn_state_may_cdc(conn->state))
		return;
	if (conn->role == SMC_CLIENT && conn->tx.leave && conn->tx.leave != SMC_LEAVE_GO) {
		conn->tx.leave = SMC_LEAVE_NO;
		conn->tx.leave_round--;
	}
	conn->tx.cons_due = true;
}

/* data path 9 to 11: apply one message and act on it; conn->lock held */
static unsigned int conn_handle_cdc(struct smc_conn *conn, u32 slot, const u8 *buf, u32 len)
{
	u32 had = smc_ring_rx_readable(&conn->rx.ring);
	u64 completed = conn->tx.ring.completed;
	unsigned int got = smc_cdc_apply(conn, buf, len);
	unsigned int bits = 0;

	if (got & SMC_CDC_VALIDATE)
		return conn_check_validation(conn, got);
	if (got & SMC_CDC_BAD) {
		smc_stats_inc(conn->net, SMC_STAT_RX_CDC_BAD);
		pr_info_ratelimited("connection %08x: impossible CDC message, aborted\n",
				    conn->token);
		return conn_step(conn, SMC_CONN_EV_ABORT);
	}
	if (got & SMC_CDC_DATA) {
		smc_meter_in(conn, true);
		smc_rx_arrived_locked(conn, slot, had);
		smc_stamp_arrived_locked(conn, had);
		bits |= conn_step(conn, SMC_CONN_EV_PEER_DATA) | SMC_CONN_READABLE;
	}
	if (got & SMC_CDC_URGENT)
		bits |= SMC_CONN_URGENT;
	if (got & SMC_CDC_URGENT_BYTE) {
		smc_rx_urgent_locked(conn);
		bits |= SMC_CONN_MARK | SMC_CONN_READABLE;
	}
	if (got & (SMC_CDC_PEER_DONE | SMC_CDC_PEER_CLOSED | SMC_CDC_PEER_ABORT))
		bits |= conn_step(conn, conn_peer_event(conn)) | SMC_CONN_READABLE;
	smc_rx_look_locked(conn, false);
	if (got & SMC_CDC_WANT_UPDATE && smc_conn_state_may_cdc(conn->state))
		smc_rx_update_locked(conn);
	if (got & SMC_CDC_ACKED)
		smc_tx_heard_locked(conn);
	if (got & SMC_CDC_ACK_REQUEST)
		conn_answer_move(conn);
	if (got & SMC_CDC_WINDOW || conn->tx.cons_due)
		smc_tx_push_locked(conn, false);
	if (conn->shut_pending || conn->close_pending)
		bits |= conn_advance_close(conn);
	/* only the peer can tell that bytes of a failed link have arrived */
	if (conn->tx.ring.completed != completed) {
		smc_zcopy_settle_later_locked(conn);
		bits |= SMC_CONN_WRITABLE;
	}
	return bits;
}

/* Handle a message that came over @link, now or when its turn comes; conn->lock held. */
static unsigned int conn_input_cdc(struct smc_conn *conn, struct smc_link *link, const u8 *buf,
				   u32 len)
{
	smc_meter_in(conn, false);
	smc_cdc_trace(conn, link, buf, len);
	switch (smc_move_input_locked(conn, link, buf, len)) {
	case SMC_FAILOVER_TAKE:
		return conn_handle_cdc(conn, link->slot, buf, len);
	case SMC_FAILOVER_KEPT:
		return 0;	/* until conn_on_link_lost() */
	case -ENODATA:
		return conn_abort_gap(conn);
	default:
		pr_info_ratelimited("connection %08x: the peer changes links too often, aborted\n",
				    conn->token);
		return conn_step(conn, SMC_CONN_EV_ABORT);
	}
}

/* Upcall: a CDC message; softirq, under rcu_read_lock(). */
static void conn_on_message(struct smc_link *link, const u8 *buf, u32 len)
{
	struct smc_lgr *lgr = link->lgr;
	struct smc_conn_note note;
	struct smc_conn *conn;
	u32 token;

	smc_stats_inc(lgr->net, SMC_STAT_RX_CDC);
	if (!smc_cdc_token(buf, len, &token))
		goto bad;
	rcu_read_lock();
	conn = smc_core_conn_find(lgr, token);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	if (!conn)
		goto bad;	/* Connection gone or bogus token: drop. */
	spin_lock_bh(&conn->lock);
	smc_conn_note_take(conn, conn_input_cdc(conn, link, buf, len), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
	smc_conn_put(conn);
	return;
bad:
	smc_stats_inc(lgr->net, SMC_STAT_RX_CDC_BAD);
}

static bool conn_try_get(void *conn)
{
	return kref_get_unless_zero(&((struct smc_conn *)conn)->ref);
}

/*
 * Push one connection that waits for slots of @link. The walk may meet a connection that is being
 * freed, whose work must not be queued again. False ends the walk: this connection took the last
 * slot, and is the first next time.
 */
static bool conn_retry_tx(void *arg, void *link)
{
	struct smc_conn *conn = arg;
	bool served;

	if (READ_ONCE(conn->link) != link || !READ_ONCE(conn->tx.waiting) || !conn_try_get(conn))
		return true;
	served = smc_tx_retry(conn);
	smc_conn_put(conn);
	return served;
}

static void conn_on_slots_free(struct smc_link *link)
{
	smc_core_walk_conns(link->lgr, conn_retry_tx, link);
}

static void conn_on_put(void *conn)
{
	smc_conn_put(conn);
}

/* Stop sending for good: the group has ended; conn->lock held. */
static unsigned int conn_lose_group(struct smc_conn *conn)
{
	conn->tx.stopped = true;
	conn->tx.state_due = 0;
	conn->tx.waiting = false;
	conn->tx.leave = SMC_LEAVE_NO;
	/* CLOSED already, and only a missing slot kept the last message */
	if (conn->releasing)
		smc_conn_kick(conn, 0);
	return conn_step(conn, SMC_CONN_EV_GROUP_LOST);
}

/* Return whether a link ended because the peer did not answer. */
static bool conn_reason_unanswered(enum smc_link_reason reason)
{
	return reason == SMC_LINK_QP_ERROR || reason == SMC_LINK_TEST_TIMEOUT ||
	       reason == SMC_LINK_STALLED;
}

static void conn_terminate(struct smc_conn *conn, enum smc_link_reason reason)
{
	struct smc_conn_note note;

	spin_lock_bh(&conn->lock);
	if (conn->asked && conn_reason_unanswered(reason))
		conn->cause = ETIMEDOUT;
	smc_conn_note_take(conn, conn_lose_group(conn), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
}

/* Move our direction away from its fenced link; conn->lock held. */
static unsigned int conn_failover(struct smc_conn *conn)
{
	switch (smc_move_locked(conn)) {
	case -ENOKEY:
		pr_info_ratelimited("connection %08x: no link to the peer's RMBE is left, aborted\n",
				    conn->token);
		return conn_step(conn, SMC_CONN_EV_ABORT);
	case -ENETDOWN:
		return 0;	/* the last link goes, too: the group ends next */
	default:
		return 0;
	}
}

/* Handle the messages kept until the previous link of the peer was fenced; conn->lock held. */
static unsigned int conn_replay_kept(struct smc_conn *conn)
{
	struct smc_failover_msg msg;
	unsigned int bits = 0;

	while (smc_failover_next(&conn->rx.path, &msg)) {
		if (msg.validation)
			bits |= conn_check_validation(conn, smc_cdc_validate(conn, msg.seq));
		else if (msg.unproven && smc_cdc_gap(conn, msg.first_seq, &msg.first))
			bits |= conn_abort_gap(conn);
		else
			bits |= conn_handle_cdc(conn, msg.slot, msg.msg, SMC_CDC_LEN);
	}
	return bits;
}

/*
 * Upcall, for every connection of the group, because the peer may write over a link that this
 * direction does not use. A connection in its handshake moves in smc_conn_activate().
 */
static void conn_on_link_lost(void *arg, struct smc_link *link)
{
	struct smc_conn *conn = arg;
	struct smc_conn_note note;
	unsigned int bits = 0;

	spin_lock_bh(&conn->lock);
	smc_move_fenced_locked(conn, link);
	/*
	 * Check our link, which need not be @link: no other one may have been usable when ours was
	 * lost. Without the peer's RMBE the handshake still relies on the link.
	 */
	if (conn->state != SMC_CONN_INIT && conn->tx.peer_size && !conn->tx.stopped &&
	    smc_link_fenced(conn->link))
		bits |= conn_failover(conn) | SMC_CONN_WRITABLE;
	bits |= conn_replay_kept(conn);
	smc_move_caught_up_locked(conn);
	smc_conn_note_take(conn, bits, &note);
	/* an end of the connection may have waited for the link */
	smc_conn_kick(conn, 0);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
}

static void conn_on_terminated(void *conn, enum smc_link_reason reason)
{
	conn_terminate(conn, reason);
}

const struct smc_lgr_conn_events smc_conn_lgr_events = {
	.message = conn_on_message,
	.slots_free = conn_on_slots_free,
	.hold = conn_try_get,
	.put = conn_on_put,
	.link_lost = conn_on_link_lost,
	.balance = smc_move_balance,
	.terminated = conn_on_terminated,
};

/* ---- release ----------------------------------------------------------------- */

/* Free a connection after its last reference is dropped; process context. */
static void conn_free_work_fn(struct work_struct *work)
{
	struct smc_conn *conn = container_of(work, struct smc_conn, free_work);
	struct smc_lgr *lgr = conn->lgr;
	/* elements of a failed creation do not count as free regions */
	bool room = conn->tx.elem.region && conn->rx.elem.region && !conn->quarantine;

	cancel_delayed_work_sync(&conn->work);
	smc_zcopy_end(conn);
	/* if the group ended before the peer's RMBE was claimed, the state did not end the claim */
	smc_core_claim_end(lgr, &conn->tx.claim);
	if (conn->tx.claim.rtoken >= 0)
		smc_core_rtoken_release(lgr, conn->tx.claim.rtoken);
	smc_conn_mem_give(conn);
	if (room)
		smc_core_roomy(lgr);
	atomic_dec(&conn->link->nconns);
	smc_link_put(conn->link);
	smc_core_put(lgr);
	kfree_rcu(conn, rcu);
	if (atomic_dec_and_test(&conns_alive))
		wake_up(&conns_gone);
}

/* Remove from the token table and drop the table's reference; once. */
static void conn_unregister(struct smc_conn *conn)
{
	smc_core_conn_del(conn->lgr, conn->token);
	smc_conn_put(conn);
}

/*
 * Return whether the connection may be removed: its last message is acknowledged, or its time is
 * over. A lost message has to be repeated, because the peer waits for it.
 */
static bool conn_may_unregister(struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;
	/* if it could not even be posted wait longer: the link itself will end by then */
	unsigned long end = conn->deadline + (tx->state_due ? CLOSE_TIMEOUT : 0);

	if (tx->stopped || (!tx->state_due && !tx->state_unacked) || time_after_eq(jiffies, end))
		return true;
	smc_conn_kick(conn, end - jiffies);
	return false;
}

static void conn_work_fn(struct work_struct *work)
{
	struct smc_conn *conn = container_of(to_delayed_work(work), struct smc_conn, work);
	struct smc_conn_note note;
	unsigned int bits = 0;
	bool gone = false;

	spin_lock_bh(&conn->lock);
	if (conn->deadline_armed && time_after_eq(jiffies, conn->deadline)) {
		conn->deadline_armed = false;
		conn->tx.state_due = 0;
		bits |= conn_step(conn, SMC_CONN_EV_TIMEOUT);
	} else if (conn->deadline_armed) {
		smc_conn_kick(conn, conn->deadline - jiffies);
	}
	if (smc_move_unheard_locked(conn))
		bits |= conn_abort_gap(conn);
	bits |= conn_advance_close(conn);
	smc_move_leave_locked(conn);
	smc_rx_look_locked(conn, true);
	if (smc_conn_state_may_cdc(conn->state) &&
	    smc_ring_rx_update(&conn->rx.ring) != SMC_UPDATE_NONE)
		conn->tx.cons_due = true;
	smc_tx_push_locked(conn, false);
	/* an A that had waited for a slot is posted now */
	if (conn->state == SMC_CONN_PROCESSABORT && !conn->tx.state_due)
		bits |= conn_step(conn, SMC_CONN_EV_ABORT_SENT);
	gone = conn->releasing && !conn->unregistered && conn_may_unregister(conn);
	conn->unregistered |= gone;
	smc_conn_note_take(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
	smc_zcopy_flush(conn);
	if (gone)
		conn_unregister(conn);
}

/* ---- creation ---------------------------------------------------------------- */

static struct smc_conn *conn_alloc(struct smc_lgr *lgr, struct smc_link *link)
{
	struct smc_conn *conn;

	conn = smc_fault_null(CONN, kzalloc(sizeof(*conn), CONN_GFP));
	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	spin_lock_init(&conn->lock);
	smc_core_get(lgr);
	conn->lgr = lgr;
	smc_link_get(link);
	atomic_inc(&link->nconns);
	conn->link = link;
	/* a native client chooses the link of its own direction, see smc_move_first_locked() */
	if (lgr->role == SMC_SERVER && lgr->peer.marker)
		smc_failover_init_any(&conn->rx.path);
	else
		smc_failover_init(&conn->rx.path, link->slot);
	conn->net = lgr->net;
	conn->role = lgr->role;
	INIT_LIST_HEAD(&conn->tx.claim.entry);
	conn->tx.claim.rtoken = -1;
	INIT_LIST_HEAD(&conn->tx.runs);
	INIT_LIST_HEAD(&conn->tx.runs_done);
	conn->state = SMC_CONN_INIT;
	smc_meter_init(conn);
	conn->wq = conn_wq;
	INIT_DELAYED_WORK(&conn->work, conn_work_fn);
	INIT_WORK(&conn->free_work, conn_free_work_fn);
	atomic_inc(&conns_alive);
	return conn;
}

/* The link may have been lost before the connection was in the table and got the upcall. */
static void conn_check_fenced(struct smc_conn *conn)
{
	smp_mb();	/* pairs with smc_link_fence() */
	if (!smc_link_fenced(conn->link))
		return;
	spin_lock_bh(&conn->lock);
	smc_failover_fenced(&conn->rx.path, conn->link->slot);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_create() - Create a connection in a group
 * @lgr: group with a place reserved for this connection
 * @link: link to use; the connection takes a reference of its own
 * @sndbuf: wanted bytes of the send ring; rounded
 * @rcvbuf: wanted bytes of the RMBE; rounded
 * @announce: subsequent contact: register new regions and announce them by CONFIRM RKEY at once; on
 *	first contact smc_conn_mem_register() registers them later
 * @cancel: give up when set by another context
 *
 * Takes a send ring and an RMBE from the pool of the group, which grows if none is free, and enters
 * the connection into the token table. The reserved place is used up on success only.
 *
 * Context: Process, sleeps.
 * Return: the connection with one reference for the caller, or ERR_PTR: -ENOMEM, -ENOSPC,
 * -ETIMEDOUT, -EPERM, -ECONNABORTED, -ECANCELED.
 */
struct smc_conn *smc_conn_create(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
				 u32 rcvbuf, bool announce, const bool *cancel)
{
	struct smc_conn *conn = conn_alloc(lgr, link);
	int rc;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	rc = smc_conn_mem_take(conn, sndbuf, rcvbuf, announce, cancel);
	if (!rc)
		rc = smc_ring_rx_init(&conn->rx.ring, conn->rx.elem.size);
	if (!rc) {
		smc_conn_get(conn);	/* for the token table */
		rc = smc_core_conn_add(lgr, conn, &conn->token);
		if (!rc) {
			conn_check_fenced(conn);
			return conn;
		}
		smc_conn_put(conn);
	}
	smc_conn_put(conn);
	return ERR_PTR(rc);
}

/**
 * smc_conn_set_peer() - Set the peer's end of a connection
 * @conn: connection in its handshake
 * @end: RMBE and token from the peer's Accept or Confirm
 *
 * May be tried again after -EADDRINUSE.
 *
 * Context: Process, does not sleep; takes conn->lock.
 * Return: 0; -EPROTO for impossible values; -ENOSPC if the group's connections write to as many
 * RMBs as it can hold; -EBUSY, see smc_core_rtoken_add(); -ENOKEY if the peer has not announced
 * this RMB to the group; -EADDRINUSE if RMBE or token belong to another connection, whose end the
 * peer may have seen before us; -ECONNABORTED if the link is lost, and with it the meaning of the
 * key.
 */
int smc_conn_set_peer(struct smc_conn *conn, const struct smc_conn_end *end)
{
	struct smc_claim *claim = &conn->tx.claim;
	struct smc_link *link;
	int idx, rc;
	u64 last;

	if (!end->index || !smc_ring_size_ok(end->size) ||
	    check_add_overflow(end->addr, (u64)end->size * end->index, &last))
		return -EPROTO;
	/* The link changes only after the handshake, see conn_on_link_lost(). */
	link = conn->link;
	idx = end->first ? smc_core_rtoken_take(conn->lgr, link->slot, end->rkey, end->addr) :
			   smc_core_rtoken_take_known(conn->lgr, link->slot, end->rkey, end->addr);
	rc = idx < 0 ? idx : 0;
	/*
	 * Keys of a link are dropped after its fence, so an unknown key is no violation then. Only
	 * the reference goes: other connections may write to that RMB over other links.
	 */
	if (smc_link_fenced(link))
		rc = -ECONNABORTED;
	if (!rc) {
		claim->rtoken = idx;
		claim->off = (u64)end->size * (end->index - 1);
		claim->size = end->size;
		claim->token = end->token;
		rc = smc_core_claim(conn->lgr, claim);
	}
	if (rc) {
		claim->rtoken = -1;
		smc_core_rtoken_release(conn->lgr, idx);
		return rc;
	}
	spin_lock_bh(&conn->lock);
	rc = smc_ring_tx_init(&conn->tx.ring, conn->tx.elem.size, end->size,
			      conn->lgr->peer.marker ? 0 : STRANGER_RESERVE);
	if (!rc)
		conn->tx.peer_size = end->size;
	spin_unlock_bh(&conn->lock);
	return rc;
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
	struct smc_conn_note note;
	unsigned int bits;

	spin_lock_bh(&conn->lock);
	bits = conn_step(conn, SMC_CONN_EV_ESTABLISHED);
	if (conn->rx.peer_state && conn->state == SMC_CONN_ACTIVE)
		bits |= conn_step(conn, conn_peer_event(conn));
	/*
	 * the group may have ended meanwhile, or the link be lost: conn_on_link_lost() skipped us
	 */
	if (conn->tx.stopped)
		bits |= conn_lose_group(conn);
	else if (smc_link_fenced(conn->link))
		bits |= conn_failover(conn);
	else
		smc_move_first_locked(conn);
	smc_conn_note_take(conn, bits | SMC_CONN_READABLE | SMC_CONN_WRITABLE, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
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
		conn_step(conn, SMC_CONN_EV_CLOSE);
	conn->tx.stopped = true;
	conn->quarantine = quarantine;
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
}

/* ---- the owner --------------------------------------------------------------- */

/**
 * smc_conn_attach() - Set the owner that is notified of events
 * @conn: connection
 * @events: table
 * @owner: passed to @events
 *
 * Events may have happened before: the caller checks the state itself afterwards.
 *
 * Context: Takes conn->lock.
 */
void smc_conn_attach(struct smc_conn *conn, const struct smc_conn_events *events, void *owner)
{
	spin_lock_bh(&conn->lock);
	conn->events = events;
	conn->owner = owner;
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_detach() - Stop notifying the owner
 * @conn: connection
 *
 * A notification that runs already holds its own reference on the owner.
 *
 * Context: Takes conn->lock.
 */
void smc_conn_detach(struct smc_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->events = NULL;
	conn->owner = NULL;
	spin_unlock_bh(&conn->lock);
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
	struct smc_conn_note note;

	spin_lock_bh(&conn->lock);
	conn->shut_pending = true;
	smc_tx_push_locked(conn, false);
	smc_conn_note_take(conn, conn_advance_close(conn), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
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
		conn_step(conn, SMC_CONN_EV_ABORT);
	} else if (conn->state == SMC_CONN_INIT || smc_conn_state_may_cdc(conn->state)) {
		/* the time to linger replaces ANSWER_TIMEOUT */
		conn->deadline_armed = false;
		conn->close_pending = true;
		conn->deadline = jiffies + linger;
		smc_tx_push_locked(conn, false);
		conn_advance_close(conn);
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
	struct smc_conn_note note;

	spin_lock_bh(&conn->lock);
	if (err != ECONNRESET)
		conn->cause = err;
	smc_conn_note_take(conn, conn_step(conn, err == ECONNRESET ? SMC_CONN_EV_CARRIER_RST :
								SMC_CONN_EV_ABORT), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
}

/**
 * smc_conn_drained() - Return whether the peer's RNIC has acknowledged all bytes
 * @conn: connection
 *
 * For SO_LINGER.
 *
 * Context: Any; a snapshot without a lock.
 * Return: true if so, or if nothing can be sent any more.
 */
bool smc_conn_drained(const struct smc_conn *conn)
{
	return READ_ONCE(conn->tx.ring.completed) == READ_ONCE(conn->tx.ring.prepared) ||
	       READ_ONCE(conn->tx.stopped);
}

/**
 * smc_conn_init() - Set up connections
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_conn_init(void)
{
	conn_wq = smc_fault_null(CONN_WQ, alloc_workqueue("smc_conn", WQ_UNBOUND | WQ_HIGHPRI, 0));
	return conn_wq ? 0 : -ENOMEM;
}

/**
 * smc_conn_exit() - Wait for the last connection to be freed, and undo smc_conn_init()
 *
 * All sockets are gone and all groups terminated before, so each connection is ending.
 *
 * Context: Process, sleeps.
 */
void smc_conn_exit(void)
{
	wait_event(conns_gone, !atomic_read(&conns_alive));
	destroy_workqueue(conn_wq);
}
