// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages of a connection (RFC 7609 sections 4.5 to 4.8 and appendix A.4).
 *
 * A CDC message is a SEND of 44 bytes. It announces what its sender has written into the receiver's
 * RMBE (producer cursor), how far the sender has read its own RMBE (consumer cursor), and the state
 * of the connection (D, C, A). smc_cdc_build() makes one from the present state, smc_cdc_apply()
 * applies one that was received. Layout, range checks and cursor arithmetic are pure functions in
 * proto/cdc_msg.c, proto/cursor.c and proto/urgent.c; nothing here sends, wakes or aborts:
 * smc_cdc_apply() returns bits, and conn/lgr_events.c acts on them.
 *
 * Path of a message. Out: smc_tx.c takes a send slot of the link, calls smc_cdc_build() on the
 * buffer of that slot and posts the WRITEs and the SEND in one chain. In: smc_wr.c receives it in
 * softirq, lgr/link.c finds that it is a CDC, conn/lgr_events.c finds the connection by the alert
 * token (smc_cdc_read_token()), conn/failover.c decides whether the message may be applied now or
 * only when the previous link of the peer is fenced, then smc_cdc_apply() runs.
 *
 * Each message states everything anew: cursors and flags are absolute, so a lost or repeated
 * message needs no repair. Sequence numbers only serve to drop messages that are older than the
 * last one applied, and to detect losses after the peer has changed its link (RFC 7609 section
 * 4.6.1): the failover validation names the last message whose SEND completed, and a receiver that
 * has not got this message has lost bytes (smc_cdc_check_validation()). A foreign peer may change
 * its link without a validation; then smc_cdc_has_gap() looks for missing sequence numbers.
 *
 * Native peers need no message where only the producer cursor has moved: the last WRITE carries it
 * as an immediate value (proto/cdc_imm.h, decision 0020). smc_cdc_imm_suffices() decides,
 * smc_cdc_build_imm() and smc_cdc_apply_imm() do for it what the functions above do for a message.
 *
 * Two native peers use reserved bytes of the message: the validation lists the previous links of
 * the sender; an orderly move asks for, and gets, an acknowledgment of the last message (decision
 * 0014), and so does a sender whose ring is guarded after a failover (decision 0012). For a
 * connection that began as TCP conn/upgrade.c adds, checks and takes over GO, S and S_ACK.
 *
 * Locks: all functions but smc_cdc_read_token() need conn->lock. Context: softirq or process;
 * nothing sleeps.
 */
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/proto/cdc_imm.h>
#include "conn/cdc.h"
#include "conn/upgrade_locked.h"

/**
 * smc_cdc_read_token() - Read the alert token of a received message
 * @buf: received message
 * @len: its length in bytes
 * @token: set to the alert token
 *
 * Needs no lock: the connection is not known yet.
 *
 * Return: false if this is no CDC message.
 */
bool smc_cdc_read_token(const u8 *buf, u32 len, u32 *token)
{
	return !smc_cdc_msg_token(buf, len, token);
}

/**
 * smc_cdc_parse() - Parse a received message
 * @conn: connection that the message belongs to
 * @buf: received message
 * @len: its length in bytes
 * @msg: filled in on success
 *
 * Checks that the cursors lie inside the two rings. Before the peer's RMBE size is known the
 * smallest size is assumed. Whether the cursors fit the previous ones is left to smc_cdc_apply().
 *
 * Context: Caller holds conn->lock.
 * Return: false if the message is malformed.
 */
bool smc_cdc_parse(const struct smc_conn *conn, const u8 *buf, u32 len, struct smc_cdc_msg *msg)
{
	lockdep_assert_held(&conn->lock);
	return !smc_cdc_msg_parse(buf, len, conn->rx.ring.size,
				  conn->tx.peer_size ?: SMC_RMBE_SIZE_MIN, msg);
}

static void cdc_trace_received(const struct smc_conn *conn, const struct smc_link *link,
			       const u8 *buf, u32 len)
{
	struct smc_cdc_msg msg;

	if (smc_cdc_parse(conn, buf, len, &msg))
		trace_smc_cdc_rx(conn->token, link->uid, &msg);
}

/**
 * smc_cdc_trace() - Pass a received message to its trace point
 * @conn: connection that the message belongs to
 * @link: link that it came over
 * @buf: received message
 * @len: its length in bytes
 *
 * Called before the message has any effect. Malformed messages are not traced.
 *
 * Context: Caller holds conn->lock.
 */
void smc_cdc_trace(const struct smc_conn *conn, const struct smc_link *link, const u8 *buf, u32 len)
{
	if (trace_smc_cdc_rx_enabled())
		cdc_trace_received(conn, link, buf, len);
}

/**
 * smc_cdc_check_validation() - Check a failover validation of the peer
 * @conn: connection; the previous link of the peer is fenced
 * @seq: sequence number in the validation
 *
 * The peer counts all messages up to @seq as received, as their SENDs completed, and does not
 * write their bytes again. If one of them did not arrive here, its bytes are lost (RFC 7609
 * section 4.6.1).
 *
 * Context: Caller holds conn->lock.
 * Return: SMC_CDC_VALIDATE, with SMC_CDC_BAD if bytes are lost.
 */
unsigned int smc_cdc_check_validation(const struct smc_conn *conn, u16 seq)
{
	lockdep_assert_held(&conn->lock);
	if ((s16)(seq - conn->rx.seq) > 0)
		return SMC_CDC_VALIDATE | SMC_CDC_BAD;
	return SMC_CDC_VALIDATE;
}

/**
 * smc_cdc_has_gap() - Check for lost bytes before the first message over another link
 * @conn: connection; the previous link of the peer is fenced
 * @first: sequence number of that message
 * @prod: its producer cursor
 *
 * For a foreign peer that changed its link and sent no validation.
 *
 * Context: Caller holds conn->lock.
 * Return: true if messages are missing and @prod announces bytes beyond the last message applied.
 */
bool smc_cdc_has_gap(const struct smc_conn *conn, u16 first, const struct smc_cdc_cursor *prod)
{
	struct smc_ring_rx ring = conn->rx.ring;

	lockdep_assert_held(&conn->lock);
	return smc_failover_seq_gap(conn->rx.seq, first) &&
	       smc_ring_rx_take_cursor(&ring, prod, false, false) == SMC_CURSOR_NEWER;
}

static unsigned int cdc_apply_consumer(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	int rc;

	if (!conn->tx.peer_size)	/* before the Confirm: the peer cannot have read anything */
		return msg->cons.wrap || msg->cons.off ? SMC_CDC_BAD : 0;
	rc = smc_ring_tx_take_cursor(&conn->tx.ring, &msg->cons);
	if (rc < 0)
		return SMC_CDC_BAD;
	smc_urgent_tx_note_consumed(&conn->tx.urg, conn->tx.ring.peer_consumed);
	smc_ring_tx_note_cdc(&conn->tx.ring);
	return rc == SMC_CURSOR_NEWER ? SMC_CDC_WINDOW : 0;
}

/* @rc: what taking over the producer cursor has found; @flags: those of the message */
static unsigned int cdc_note_producer(struct smc_conn *conn, int rc, u8 flags)
{
	struct smc_conn_rx *rx = &conn->rx;
	unsigned int bits = 0, urgent;

	if (rc < 0)
		return SMC_CDC_BAD;
	if (rc == SMC_CURSOR_NEWER) {
		if (rx->peer_state & SMC_CDC_S_ALL)	/* written after D, C or A */
			return SMC_CDC_BAD;
		bits |= SMC_CDC_DATA;
	}
	/* P and U refer to the cursor in the same message: ignore them in a repeated one */
	urgent = rc == SMC_CURSOR_STALE
			 ? 0
			 : smc_urgent_rx_take_flags(&rx->urg, flags, rx->ring.produced,
						    rx->ring.consumed);
	if (urgent & SMC_URGENT_SIGNAL)
		bits |= SMC_CDC_URGENT;
	if (urgent & SMC_URGENT_ARRIVED)
		bits |= SMC_CDC_URGENT_BYTE;
	if (smc_ring_rx_update_due(&rx->ring) != SMC_CURSOR_UPDATE_NONE)
		bits |= SMC_CDC_WANT_UPDATE;
	return bits;
}

static unsigned int cdc_apply_producer(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	/* aborted over a gap: bytes behind the gap must not reach the reader */
	if (smc_conn_state_ignores_peer(conn->state))
		return 0;
	return cdc_note_producer(conn,
				 smc_ring_rx_take_cursor(&conn->rx.ring, &msg->prod,
							 msg->flags & SMC_CDC_F_BLOCKED,
							 msg->flags & SMC_CDC_F_UPDATE_REQ),
				 msg->flags);
}

/*
 * Apply request and acknowledgment of the progress, for an orderly move or to end the guard of the
 * send ring; from other peers these bytes are ignored.
 */
static unsigned int cdc_apply_ack(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	unsigned int bits = 0;

	if (!smc_peer_can(&conn->lgr->peer, SMC_CAP_ORDERLY_MOVE))
		return 0;
	if (msg->ext & SMC_CDC_EXT_ACK_REQ) {
		conn->rx.answer_due = true;
		bits |= SMC_CDC_ACK_REQUEST;
	}
	if (!(msg->ext & SMC_CDC_EXT_ACK))
		return bits;
	if (msg->ack_seq == conn->tx.seq)
		bits |= SMC_CDC_ACKED;
	if (smc_failover_ack_follows(msg->ack_seq, conn->tx.move.left_seq, conn->tx.seq) &&
	    smc_ring_tx_end_guard(&conn->tx.ring))
		bits |= SMC_CDC_WINDOW;
	return bits;
}

/**
 * smc_cdc_apply() - Apply a received message to its connection
 * @conn: connection
 * @buf: received message
 * @len: its length in bytes
 *
 * Takes over cursors, flags and state bits. Messages older than the last one have no effect,
 * except that a failover validation is always checked.
 *
 * Context: Caller holds conn->lock.
 * Return: SMC_CDC_* bits, 0 if nothing changed; SMC_CDC_BAD if the message is malformed or its
 * cursors are impossible: the caller aborts the connection.
 */
unsigned int smc_cdc_apply(struct smc_conn *conn, const u8 *buf, u32 len)
{
	struct smc_conn_rx *rx = &conn->rx;
	unsigned int bits = 0;
	struct smc_cdc_msg msg;
	u8 fresh;

	lockdep_assert_held(&conn->lock);
	if (!smc_cdc_parse(conn, buf, len, &msg))
		return SMC_CDC_BAD;
	if (msg.flags & SMC_CDC_F_FAILOVER)
		return smc_cdc_check_validation(conn, msg.seq);
	if (rx->seen && (s16)(msg.seq - rx->seq) < 0)
		return 0;
	if (unlikely(conn->upgrade)) {
		bits = SMC_CDC_UPGRADE;
		if (!smc_conn_upgrade_take_cdc_locked(conn, &msg))
			return bits | SMC_CDC_BAD;
	}
	rx->seen = true;
	rx->seq = msg.seq;
	bits |= cdc_apply_consumer(conn, &msg) | cdc_apply_producer(conn, &msg) |
		cdc_apply_ack(conn, &msg);
	fresh = msg.state & ~rx->peer_state;
	WRITE_ONCE(rx->peer_state, rx->peer_state | msg.state);
	if (fresh & SMC_CDC_S_DONE)
		bits |= SMC_CDC_PEER_DONE;
	if (fresh & SMC_CDC_S_CLOSED)
		bits |= SMC_CDC_PEER_CLOSED;
	if (fresh & SMC_CDC_S_ABORT)
		bits |= SMC_CDC_PEER_ABORT;
	return bits;
}

/**
 * smc_cdc_apply_imm() - Apply a received immediate value to its connection
 * @conn: connection
 * @imm: the value
 *
 * Context: Caller holds conn->lock.
 * Return: SMC_CDC_* bits; SMC_CDC_BAD if the value is impossible: the caller aborts the connection.
 */
unsigned int smc_cdc_apply_imm(struct smc_conn *conn, u32 imm)
{
	struct smc_conn_rx *rx = &conn->rx;
	s32 advance = smc_cdc_imm_get_advance(imm, rx->ring.produced);

	lockdep_assert_held(&conn->lock);
	/* the value refers to the message before it, and the rings decide whether the bytes fit */
	if (!rx->seen || rx->ring.size > SMC_CDC_IMM_RMBE_MAX ||
	    abs(advance) > (s32)rx->ring.size)
		return SMC_CDC_BAD;
	/* the first bytes of the ring come behind S, which only a message announces */
	if (unlikely(conn->upgrade) && !conn->upgrade->rx_s.known)
		return SMC_CDC_BAD;
	rx->seq++;
	/* as in cdc_apply_producer() */
	if (smc_conn_state_ignores_peer(conn->state))
		return 0;
	/* a stale position goes the same way: after a failover the peer writes bytes again */
	return cdc_note_producer(conn, smc_ring_rx_advance(&rx->ring, advance), 0);
}

/**
 * smc_cdc_build_validation() - Build a failover validation
 * @conn: connection whose link has changed
 * @buf: SMC_CDC_LEN bytes, filled in
 *
 * The first message over the new link (RFC 7609 section 4.6.1). It has no sequence number of its
 * own but names the last message whose SEND completed. For a native peer it also names the
 * previous links of this direction, because validations themselves may be lost with a link.
 *
 * Context: Caller holds conn->lock.
 */
void smc_cdc_build_validation(const struct smc_conn *conn, u8 *buf)
{
	struct smc_cdc_msg msg = {
		.token = conn->tx.claim.token,
		.seq = conn->tx.seq_done,
		.flags = SMC_CDC_F_FAILOVER,
		.prev_link = conn->tx.move.prev,
		.move_count = conn->tx.move.prev ? conn->tx.move.count : 0,
	};

	lockdep_assert_held(&conn->lock);
	if (conn->tx.move.orderly)
		msg.ext |= SMC_CDC_EXT_ORDERLY;
	/* validations over these links may have been lost with them */
	memcpy(msg.older_links, conn->tx.move.past, sizeof(msg.older_links));
	msg.older_orderly = conn->tx.move.past_orderly;
	trace_smc_cdc_tx(conn->token, conn->link->uid, &msg);
	smc_cdc_msg_build(&msg, buf, SMC_CDC_LEN);
}

/* D ends the byte stream: hold it back while bytes have to be written again. */
static u8 cdc_state_flags(const struct smc_conn_tx *tx)
{
	if (tx->state & (SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT) || !smc_ring_tx_unsent(&tx->ring))
		return tx->state;
	return tx->state & ~SMC_CDC_S_DONE;
}

/**
 * smc_cdc_build() - Build the next CDC message
 * @conn: connection
 * @buf: SMC_CDC_LEN bytes, filled in
 *
 * Takes the next sequence number and includes everything that is due: both cursors, the flags B,
 * P, U and R, the state bits, which stay set in every later message, and towards a native peer
 * request and acknowledgment of the progress. The caller posts the message; if that fails the
 * link is broken, and a failover repeats all of it.
 *
 * Context: Caller holds conn->lock.
 */
void smc_cdc_build(struct smc_conn *conn, u8 *buf)
{
	struct smc_conn_tx *tx = &conn->tx;
	struct smc_cdc_msg msg = { .token = tx->claim.token };

	lockdep_assert_held(&conn->lock);
	msg.seq = ++tx->seq;
	smc_ring_tx_get_cursor(&tx->ring, &msg.prod);
	smc_ring_rx_get_cursor(&conn->rx.ring, &msg.cons);
	tx->sent_blocked = smc_ring_tx_blocked(&tx->ring);
	if (tx->sent_blocked)
		msg.flags |= SMC_CDC_F_BLOCKED;
	if (tx->ring.request_update)
		msg.flags |= SMC_CDC_F_UPDATE_REQ;
	msg.flags |= smc_urgent_tx_flags(&tx->urg, tx->ring.sent,
					 smc_peer_can(&conn->lgr->peer, SMC_CAP_URGENT_REPEAT));
	tx->state |= tx->state_due;
	msg.state = cdc_state_flags(tx);
	if (tx->state_due & msg.state) {
		tx->state_unacked = true;
		tx->state_seq = tx->seq;
	}
	tx->state_due &= ~msg.state;
	smc_ring_rx_note_announced(&conn->rx.ring);
	tx->whole_due = false;
	tx->cons_due = false;
	if (tx->move.state == SMC_MOVE_ASK || tx->ring.guarded)
		msg.ext |= SMC_CDC_EXT_ACK_REQ;
	if (conn->rx.answer_due) {
		msg.ext |= SMC_CDC_EXT_ACK;
		msg.ack_seq = conn->rx.seq;
		conn->rx.answer_due = false;
	}
	if (unlikely(conn->upgrade))
		smc_conn_upgrade_fill_cdc_locked(conn, &msg);
	trace_smc_cdc_tx(conn->token, conn->link->uid, &msg);
	smc_cdc_msg_build(&msg, buf, SMC_CDC_LEN);
}

/**
 * smc_cdc_imm_suffices() - Return whether an immediate value can replace the next message
 * @conn: connection whose next bytes are about to be posted; they count as sent already
 *
 * Only between native peers that both take such values, and if a message would say nothing else:
 * nothing but the producer cursor has changed since the last one over this link, and no update of
 * the consumer cursor is due. After an upgrade not before the peer has acknowledged S.
 *
 * Context: Caller holds conn->lock.
 * Return: true if so.
 */
bool smc_cdc_imm_suffices(const struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;

	lockdep_assert_held(&conn->lock);
	return smc_peer_can(&conn->lgr->peer, SMC_CAP_WRITE_IMM) && !tx->whole_due &&
	       (likely(!conn->upgrade) || conn->upgrade->s_acked) &&
	       !tx->cons_due && !tx->state && !tx->state_due && !conn->rx.answer_due &&
	       tx->move.state == SMC_MOVE_IDLE && tx->peer_size <= SMC_CDC_IMM_RMBE_MAX &&
	       !tx->ring.request_update && !tx->ring.guarded &&
	       smc_ring_tx_blocked(&tx->ring) == tx->sent_blocked && !tx->urg.pos &&
	       !tx->urg.flag_due &&
	       smc_ring_rx_update_due(&conn->rx.ring) == SMC_CURSOR_UPDATE_NONE;
}

/**
 * smc_cdc_build_imm() - Build the immediate value that replaces the next message
 * @conn: connection, see smc_cdc_imm_suffices()
 *
 * Takes the next sequence number. The caller posts it, as in smc_cdc_build().
 *
 * Context: Caller holds conn->lock.
 * Return: the value.
 */
u32 smc_cdc_build_imm(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;
	u32 imm = smc_cdc_imm_build(tx->claim.token, tx->ring.sent);

	lockdep_assert_held(&conn->lock);
	tx->seq++;
	trace_smc_imm_tx(conn->token, conn->link->uid, imm);
	return imm;
}
