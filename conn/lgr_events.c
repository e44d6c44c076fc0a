// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that a group passes to its connections (struct smc_lgr_conn_events): a CDC message has
 * come, send slots are free, a link became usable or is lost, the group has ended.
 *
 * Each handler takes conn->lock, changes the connection, collects the bits for the owner together
 * with a reference on it, drops the lock and then notifies the owner.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <net/net_namespace.h>
#include <smc/base/log.h>
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
#include <smc/proto/cdc_imm.h>
#include "balance.h"
#include "cdc.h"
#include "failover.h"
#include "move.h"
#include "state.h"
#include "timers.h"
#include "upgrade_locked.h"

/* Act on the result of checking a failover validation; conn->lock held. */
static unsigned int conn_check_validation(struct smc_conn *conn, unsigned int got)
{
	smc_stats_inc(conn->net, SMC_STAT_RX_VALIDATION);
	if (!(got & SMC_CDC_BAD)) {
		smc_conn_timer_probe_allowed(conn);
		/* an acknowledgment may be lost with the peer's previous link: request it again */
		if (conn->tx.ring.guarded && smc_conn_state_may_cdc(conn->state))
			conn->tx.cons_due = true;
		smc_tx_push_locked(conn, false);
		return 0;
	}
	smc_stats_inc(conn->net, SMC_STAT_VALIDATION_BAD);
	smc_log_write(conn->net, "connection %08x: bytes were lost with a link, aborted\n",
		      conn->token);
	return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
}

/*
 * Acknowledge the peer's messages, before its orderly move or after its failover. If both sides may
 * wait for each other's acknowledgment, the client gives up its own move; a later walk may try
 * again.
 */
static void conn_answer_move(struct smc_conn *conn)
{
	if (!smc_conn_state_may_cdc(conn->state))
		return;
	if (conn->role == SMC_CLIENT)
		smc_conn_move_step_locked(conn, SMC_MOVE_EV_YIELD);
	conn->tx.cons_due = true;
}

/* Only the group's peer can send over the group, so the TCP address leads to it (lgr/proof.c). */
static void conn_complete_proof(struct smc_conn *conn)
{
	conn->rx.unproven = false;
	smc_proof_complete(conn->lgr, &conn->path.remote.addr);
}

/* A message or an immediate value is impossible; conn->lock held. */
static unsigned int conn_refuse_cdc(struct smc_conn *conn)
{
	smc_stats_inc(conn->net, SMC_STAT_RX_CDC_BAD);
	smc_log_write(conn->net, "connection %08x: impossible CDC message, aborted\n",
		      conn->token);
	return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
}

/*
 * data path 11: act on @got, what smc_cdc_apply() or smc_cdc_apply_imm() has found; it came over
 * the link in @slot. @had: bytes that were readable before, @completed: ring position before.
 * conn->lock held.
 */
static unsigned int conn_act_on_cdc(struct smc_conn *conn, u32 slot, unsigned int got, u32 had,
				    u64 completed)
{
	unsigned int bits = 0;

	if (unlikely(got & SMC_CDC_RARE)) {
		if (got & SMC_CDC_VALIDATE)
			return conn_check_validation(conn, got);
		if (got & SMC_CDC_UPGRADE)
			bits = smc_conn_upgrade_act_locked(conn);
		if (got & SMC_CDC_BAD)
			return bits | conn_refuse_cdc(conn);
	}
	if (unlikely(conn->rx.unproven))
		conn_complete_proof(conn);
	if (got & SMC_CDC_DATA) {
		smc_tcpinfo_count_received_bytes(&conn->tcpinfo);
		smc_rx_sync_arrived_locked(conn, slot, had);
		if (unlikely(conn->rx.timestamps.on))
			smc_timestamp_record_locked(conn, had);
		bits |= SMC_CONN_READABLE;
		/* ACTIVE stays ACTIVE, and nothing is to be done */
		if (conn->state != SMC_CONN_ACTIVE)
			bits |= smc_conn_step_locked(conn, SMC_CONN_EV_PEER_DATA);
		if (unlikely(smc_conn_is_shut(conn) || conn->state == SMC_CONN_PEERCLOSEWAIT1_C))
			bits |= smc_conn_refuse_data_locked(conn, had);
	}
	if (got & SMC_CDC_URGENT)
		bits |= SMC_CONN_URGENT;
	if (got & SMC_CDC_URGENT_BYTE) {
		smc_rx_save_urgent_locked(conn);
		bits |= SMC_CONN_URGENT_BYTE | SMC_CONN_READABLE;
	}
	if (got & (SMC_CDC_PEER_DONE | SMC_CDC_PEER_CLOSED | SMC_CDC_PEER_ABORT))
		bits |= smc_conn_apply_peer_state_locked(conn) | SMC_CONN_READABLE;
	if (smc_ring_rx_has_lent(&conn->rx.ring))
		smc_rx_poll_lent_locked(conn, false);
	if (got & SMC_CDC_WANT_UPDATE && smc_conn_state_may_cdc(conn->state))
		smc_rx_update_peer_locked(conn);
	if (got & SMC_CDC_ACKED)
		smc_conn_move_step_locked(conn, SMC_MOVE_EV_ACKED);
	if (got & SMC_CDC_ACK_REQUEST)
		conn_answer_move(conn);
	if (got & SMC_CDC_WINDOW || conn->tx.cons_due)
		smc_tx_push_locked(conn, false);
	if (conn->shut_pending || smc_conn_is_shut(conn))
		bits |= smc_conn_advance_close_locked(conn);
	/* after a failover the cursor completes bytes whose completion was lost with the link */
	if (conn->tx.ring.completed != completed) {
		smc_zerocopy_settle_later_locked(conn);
		if (smc_conn_growth_over_locked(conn))
			smc_conn_queue_work(conn);
		bits |= SMC_CONN_WRITABLE;
	}
	return bits;
}

/* data path 9 to 10: apply one message, and act on it; conn->lock held */
static unsigned int conn_handle_cdc(struct smc_conn *conn, u32 slot, const u8 *buf, u32 len)
{
	u32 had = smc_ring_rx_readable(&conn->rx.ring);
	u64 completed = conn->tx.ring.completed;

	return conn_act_on_cdc(conn, slot, smc_cdc_apply(conn, buf, len), had, completed);
}

/* The same for an immediate value. */
static unsigned int conn_handle_imm(struct smc_conn *conn, u32 slot, u32 imm)
{
	u32 had = smc_ring_rx_readable(&conn->rx.ring);
	u64 completed = conn->tx.ring.completed;

	return conn_act_on_cdc(conn, slot, smc_cdc_apply_imm(conn, imm), had, completed);
}

/* Handle a message that came over @link, now or when its turn comes; conn->lock held. */
static unsigned int conn_input_cdc(struct smc_conn *conn, struct smc_link *link, const u8 *buf,
				   u32 len)
{
	smc_tcpinfo_count_received(&conn->tcpinfo);
	smc_cdc_trace(conn, link, buf, len);
	switch (smc_conn_check_path_locked(conn, link, buf, len)) {
	case SMC_FAILOVER_TAKE:
		return conn_handle_cdc(conn, link->slot, buf, len);
	case SMC_FAILOVER_PARKED:
		return 0;	/* until conn_lose_link() */
	case -ENODATA:
		return smc_conn_abort_gap_locked(conn);
	default:
		smc_log_write(conn->net,
			      "connection %08x: the peer changes links too often, aborted\n",
			      conn->token);
		return smc_conn_step_locked(conn, SMC_CONN_EV_ABORT);
	}
}

static unsigned int conn_input_imm(struct smc_conn *conn, struct smc_link *link, u32 imm)
{
	smc_tcpinfo_count_received(&conn->tcpinfo);
	trace_smc_imm_rx(conn->token, link->uid, imm);
	switch (smc_conn_check_path_imm_locked(conn, link, imm)) {
	case SMC_FAILOVER_TAKE:
		return conn_handle_imm(conn, link->slot, imm);
	case SMC_FAILOVER_PARKED:
		return 0;	/* until conn_lose_link() */
	default:
		return conn_refuse_cdc(conn);
	}
}

/* Upcall: an immediate value in place of a CDC message; softirq. */
static void conn_on_imm(struct smc_link *link, u32 imm)
{
	struct smc_lgr *lgr = link->lgr;
	struct smc_conn_notification note;
	struct smc_conn *conn;

	smc_stats_count(lgr->stats, SMC_STAT_RX_IMM, 1);
	/* not announced, so a lie, and without effect: only a message announces the bytes */
	if (unlikely(!smc_lgr_takes_imm(lgr)))
		goto bad;
	rcu_read_lock();
	conn = smc_lgr_find_conn_by_index(lgr, smc_cdc_imm_get_index(imm));
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	if (!conn)
		goto bad;	/* the connection is gone, or never was */
	spin_lock_bh(&conn->lock);
	smc_conn_prepare_notification(conn, conn_input_imm(conn, link, imm), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
	smc_conn_put(conn);
	return;
bad:
	smc_stats_inc(lgr->net, SMC_STAT_RX_CDC_BAD);
}

/* Upcall: a CDC message; softirq. */
static void conn_on_message(struct smc_link *link, const u8 *buf, u32 len)
{
	struct smc_lgr *lgr = link->lgr;
	struct smc_conn_notification note;
	struct smc_conn *conn;
	u32 token;

	smc_stats_count(lgr->stats, SMC_STAT_RX_CDC, 1);
	if (!smc_cdc_read_token(buf, len, &token))
		goto bad;
	rcu_read_lock();
	conn = smc_lgr_find_conn(lgr, token);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	if (!conn)
		goto bad;	/* Connection gone or bogus token: drop. */
	spin_lock_bh(&conn->lock);
	smc_conn_prepare_notification(conn, conn_input_cdc(conn, link, buf, len), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
	smc_conn_put(conn);
	return;
bad:
	smc_stats_inc(lgr->net, SMC_STAT_RX_CDC_BAD);
}

/*
 * Push one connection that waits for slots of @link. The walk may meet a connection that is being
 * freed, whose work must not be queued again. False ends the walk: this connection took the last
 * slot, and is the first next time.
 */
static bool conn_retry_tx(struct smc_conn *conn, void *link)
{
	bool served;

	if (READ_ONCE(conn->link) != link || !READ_ONCE(conn->tx.waiting) ||
	    !kref_get_unless_zero(&conn->ref))
		return true;
	served = smc_tx_retry(conn);
	smc_conn_put(conn);
	return served;
}

static void conn_on_slots_free(struct smc_link *link)
{
	smc_lgr_walk_conns(link->lgr, conn_retry_tx, link);
}

/*
 * Handle the last of the messages that were kept for a link. It is newer than all that were handled
 * before, as links are replayed in the order of the peer's moves. Its number does not show that if
 * the peer has sent more than half the number space meanwhile.
 */
static unsigned int conn_handle_kept(struct smc_conn *conn, const struct smc_failover_msg *msg)
{
	if ((s16)(msg->seq - conn->rx.seq) < 0)
		conn->rx.seq = msg->seq - 1;
	return conn_handle_cdc(conn, msg->slot, msg->msg, SMC_CDC_LEN);
}

/* Handle the messages kept until the previous link of the peer was fenced; conn->lock held. */
static unsigned int conn_replay_kept(struct smc_conn *conn)
{
	struct smc_failover_msg msg;
	unsigned int bits = 0;

	while (smc_failover_rx_next(&conn->rx.path, &msg)) {
		if (msg.validation)
			bits |= conn_check_validation(conn,
						      smc_cdc_check_validation(conn, msg.seq));
		else if (msg.unvalidated && smc_cdc_has_gap(conn, msg.first_seq, &msg.first))
			bits |= smc_conn_abort_gap_locked(conn);
		else
			bits |= conn_handle_kept(conn, &msg);
	}
	return bits;
}

/* The next connection of a group, with a reference; NULL after the last one. Process context. */
static struct smc_conn *conn_get_next(struct smc_lgr *lgr, unsigned long *index)
{
	struct smc_conn *conn;

	rcu_read_lock();
	do {
		conn = smc_lgr_next_conn(lgr, index);
	} while (conn && !kref_get_unless_zero(&conn->ref));
	rcu_read_unlock();
	return conn;
}

/*
 * @link is fenced. The peer may have written over it even if our direction does not use it. A
 * connection in its handshake moves in smc_conn_activate(), one beside TCP when it posts GO.
 */
static void conn_lose_link(struct smc_conn *conn, struct smc_link *link)
{
	struct smc_conn_notification note;
	unsigned int bits = 0;

	spin_lock_bh(&conn->lock);
	smc_conn_fence_path_locked(conn, link);
	/*
	 * Check our link, which need not be @link: no other one may have been usable when ours was
	 * lost. Without the peer's RMBE the handshake still relies on the link.
	 */
	if (conn->state != SMC_CONN_INIT && conn->tx.peer_size && !conn->tx.stopped &&
	    smc_link_fenced(conn->link))
		bits |= smc_conn_fail_over_locked(conn) | SMC_CONN_WRITABLE;
	bits |= conn_replay_kept(conn);
	smc_conn_finish_path_locked(conn);
	smc_conn_prepare_notification(conn, bits, &note);
	/* an end of the connection may have waited for the link */
	smc_conn_queue_work(conn);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/* Upcall: a link is lost; process context. */
static void conn_on_link_lost(struct smc_link *link)
{
	unsigned long index = 0;
	struct smc_conn *conn;

	while ((conn = conn_get_next(link->lgr, &index))) {
		conn_lose_link(conn, link);
		smc_conn_put(conn);
	}
}

/* Return whether a link ended because the peer did not answer. */
static bool conn_reason_unanswered(enum smc_link_reason reason)
{
	return reason == SMC_LINK_QP_ERROR || reason == SMC_LINK_TEST_TIMEOUT ||
	       reason == SMC_LINK_STALLED;
}

static void conn_lose_group(struct smc_conn *conn, enum smc_link_reason reason)
{
	struct smc_conn_notification note;

	spin_lock_bh(&conn->lock);
	if (conn->keepalive_pending && conn_reason_unanswered(reason))
		conn->cause = ETIMEDOUT;
	smc_conn_prepare_notification(conn, smc_conn_lose_group_locked(conn), &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/* Upcall: the group has ended; process context. */
static void conn_on_terminated(struct smc_lgr *lgr)
{
	unsigned long index = 0;
	struct smc_conn *conn;

	while ((conn = conn_get_next(lgr, &index))) {
		conn_lose_group(conn, lgr->reason);
		smc_conn_put(conn);
	}
}

/*
 * All links are fenced: what the peer has sent is here, and its last message may be among those
 * kept. Until now a connection beside TCP could not know whether the peer has agreed.
 */
static void conn_drain(struct smc_conn *conn)
{
	struct smc_conn_notification note;
	unsigned int bits;
	u8 slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < SMC_LGR_LINKS; slot++)
		smc_failover_rx_note_fenced(&conn->rx.path, slot);
	bits = conn_replay_kept(conn);
	bits |= smc_conn_upgrade_drain_locked(conn);
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
}

/* Upcall: all links of an ended group are fenced; process context. */
static void conn_on_drained(struct smc_lgr *lgr)
{
	unsigned long index = 0;
	struct smc_conn *conn;

	while ((conn = conn_get_next(lgr, &index))) {
		if (conn->upgrade)
			conn_drain(conn);
		smc_conn_put(conn);
	}
}

const struct smc_lgr_conn_events smc_conn_lgr_events = {
	.message = conn_on_message,
	.imm = conn_on_imm,
	.slots_free = conn_on_slots_free,
	.link_usable = smc_balance_start,
	.link_lost = conn_on_link_lost,
	.terminated = conn_on_terminated,
	.drained = conn_on_drained,
	.released = smc_balance_stop,
};
