// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages: apply a received one to its connection, build the next one.
 * Both run under conn->lock; every check of the wire is in proto/.
 */
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "conn/cdc.h"

/**
 * smc_cdc_token() - whose message is it
 * @buf: received message
 * @len: its length
 * @token: set to the alert token
 *
 * Return: false if it is no CDC message.
 */
bool smc_cdc_token(const u8 *buf, u32 len, u32 *token)
{
	return !smc_cdc_msg_token(buf, len, token);
}

/**
 * smc_cdc_parse() - read a message
 * @conn: its connection, conn->lock held
 * @buf: received message
 * @len: its length
 * @msg: filled in
 *
 * Return: false if it is malformed.
 */
bool smc_cdc_parse(const struct smc_conn *conn, const u8 *buf, u32 len, struct smc_cdc_msg *msg)
{
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
 * smc_cdc_trace() - a message came
 * @conn: its connection, conn->lock held
 * @link: over which
 * @buf: received message
 * @len: its length
 *
 * For the trace point, before anything is done about it.
 */
void smc_cdc_trace(const struct smc_conn *conn, const struct smc_link *link, const u8 *buf, u32 len)
{
	if (trace_smc_cdc_rx_enabled())
		cdc_trace_received(conn, link, buf, len);
}

/**
 * smc_cdc_validate() - judge a failover validation
 * @conn: its connection, conn->lock held; the link that the peer has left is fenced
 * @seq: sequence number in it
 *
 * What the peer takes for written is complete only if the CDC that told of it arrived
 * here (RFC 7609 section 4.6.1).
 *
 * Return: SMC_CDC_VALIDATE, with SMC_CDC_BAD if bytes are lost.
 */
unsigned int smc_cdc_validate(const struct smc_conn *conn, u16 seq)
{
	if ((s16)(seq - conn->rx.seq) > 0)
		return SMC_CDC_VALIDATE | SMC_CDC_BAD;
	return SMC_CDC_VALIDATE;
}

/**
 * smc_cdc_gap() - are bytes missing before the first message over another link
 * @conn: its connection, conn->lock held; the link that the peer has left is fenced
 * @first: the message's number
 * @prod: its producer cursor
 *
 * For a peer that sent no validation before.
 *
 * Return: true if messages are missing, and since the last one that came bytes were written.
 */
bool smc_cdc_gap(const struct smc_conn *conn, u16 first, const struct smc_cdc_cursor *prod)
{
	struct smc_ring_rx ring = conn->rx.ring;

	return smc_failover_gap(conn->rx.seq, first) &&
	       smc_ring_rx_peer(&ring, prod, false, false) == SMC_CURSOR_NEWER;
}

static unsigned int cdc_apply_consumer(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	int rc;

	if (!conn->tx.peer_size)	/* before the Confirm: nothing can have been read */
		return msg->cons.wrap || msg->cons.off ? SMC_CDC_BAD : 0;
	rc = smc_ring_tx_peer(&conn->tx.ring, &msg->cons);
	if (rc < 0)
		return SMC_CDC_BAD;
	smc_urgent_tx_consumed(&conn->tx.urg, conn->tx.ring.peer_consumed);
	smc_ring_tx_heard(&conn->tx.ring);
	return rc == SMC_CURSOR_NEWER ? SMC_CDC_WINDOW : 0;
}

static unsigned int cdc_apply_producer(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	struct smc_conn_rx *rx = &conn->rx;
	unsigned int bits = 0, urgent;
	int rc;

	/* bytes behind a gap must not reach the reader of those before it */
	if (smc_conn_state_over(conn->state))
		return 0;
	rc = smc_ring_rx_peer(&rx->ring, &msg->prod, msg->flags & SMC_CDC_F_BLOCKED,
			      msg->flags & SMC_CDC_F_UPDATE_REQ);
	if (rc < 0)
		return SMC_CDC_BAD;
	if (rc == SMC_CURSOR_NEWER) {
		if (rx->peer_state & SMC_CDC_S_ALL)	/* written after D, C or A */
			return SMC_CDC_BAD;
		bits |= SMC_CDC_DATA;
	}
	/* P and U are about the cursor beside them: a repetition says nothing new */
	urgent = rc == SMC_CURSOR_STALE ? 0 :
		 smc_urgent_rx_told(&rx->urg, msg->flags, rx->ring.produced, rx->ring.consumed);
	if (urgent & SMC_URGENT_SIGNAL)
		bits |= SMC_CDC_URGENT;
	if (urgent & SMC_URGENT_ARRIVED)
		bits |= SMC_CDC_URGENT_BYTE;
	if (smc_ring_rx_update(&rx->ring) != SMC_UPDATE_NONE)
		bits |= SMC_CDC_WANT_UPDATE;
	return bits;
}

/* What a peer of our kind says that wants to leave a link, or hears that we do. */
static unsigned int cdc_apply_native(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	unsigned int bits = 0;

	if (!conn->lgr->peer.marker)
		return 0;
	if (msg->more & SMC_CDC_M_ASK) {
		conn->rx.answer_due = true;
		bits |= SMC_CDC_ASKED;
	}
	if (msg->more & SMC_CDC_M_HEARD && msg->heard == conn->tx.seq)
		bits |= SMC_CDC_HEARD;
	return bits;
}

/**
 * smc_cdc_apply() - take a received CDC over
 * @conn: its connection, conn->lock held
 * @buf: message
 * @len: its length
 *
 * Return: SMC_CDC_* bits, 0 for a message without news.
 */
unsigned int smc_cdc_apply(struct smc_conn *conn, const u8 *buf, u32 len)
{
	struct smc_conn_rx *rx = &conn->rx;
	struct smc_cdc_msg msg;
	unsigned int bits;
	u8 fresh;

	lockdep_assert_held(&conn->lock);
	if (!smc_cdc_parse(conn, buf, len, &msg))
		return SMC_CDC_BAD;
	if (msg.flags & SMC_CDC_F_FAILOVER)
		return smc_cdc_validate(conn, msg.seq);
	if (rx->seen && (s16)(msg.seq - rx->seq) < 0)
		return 0;
	rx->seen = true;
	rx->seq = msg.seq;
	bits = cdc_apply_consumer(conn, &msg) | cdc_apply_producer(conn, &msg) |
	       cdc_apply_native(conn, &msg);
	fresh = msg.state & ~rx->peer_state;
	rx->peer_state |= msg.state;
	if (fresh & SMC_CDC_S_DONE)
		bits |= SMC_CDC_PEER_DONE;
	if (fresh & SMC_CDC_S_CLOSED)
		bits |= SMC_CDC_PEER_CLOSED;
	if (fresh & SMC_CDC_S_ABORT)
		bits |= SMC_CDC_PEER_ABORT;
	return bits;
}

/**
 * smc_cdc_build_validation() - what begins a connection's stay on another link
 * @conn: connection, conn->lock held
 * @buf: SMC_CDC_LEN bytes
 *
 * It has no number of its own (RFC 7609 section 4.6.1).
 */
void smc_cdc_build_validation(const struct smc_conn *conn, u8 *buf)
{
	struct smc_cdc_msg msg = {
		.token = conn->tx.claim.token,
		.seq = conn->tx.seq_done,
		.flags = SMC_CDC_F_FAILOVER,
		.left = conn->tx.left,
		.move = conn->tx.left ? conn->tx.moves : 0,
	};

	if (conn->tx.orderly)
		msg.more |= SMC_CDC_M_ORDERLY;
	/* links that may have been lost before the peer heard that we went there */
	memcpy(msg.past, conn->tx.past, sizeof(msg.past));
	msg.past_orderly = conn->tx.past_orderly;
	trace_smc_cdc_tx(conn->token, conn->link->uid, &msg);
	smc_cdc_msg_build(&msg, buf, SMC_CDC_LEN);
}

/* D says that nothing follows: not while bytes have to be written again. */
static u8 cdc_state_flags(const struct smc_conn_tx *tx)
{
	if (tx->state & (SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT) || !smc_ring_tx_unsent(&tx->ring))
		return tx->state;
	return tx->state & ~SMC_CDC_S_DONE;
}

/**
 * smc_cdc_build() - the next CDC of a connection
 * @conn: connection, conn->lock held
 * @buf: SMC_CDC_LEN bytes
 *
 * Says everything that is due: cursors, B, P, U, R, and the state flags, which stand in
 * every message once set.
 */
void smc_cdc_build(struct smc_conn *conn, u8 *buf)
{
	struct smc_conn_tx *tx = &conn->tx;
	struct smc_cdc_msg msg = { .token = tx->claim.token };

	lockdep_assert_held(&conn->lock);
	msg.seq = ++tx->seq;
	smc_ring_tx_cursor(&tx->ring, &msg.prod);
	smc_ring_rx_cursor(&conn->rx.ring, &msg.cons);
	tx->told_blocked = smc_ring_tx_blocked(&tx->ring);
	if (tx->told_blocked)
		msg.flags |= SMC_CDC_F_BLOCKED;
	if (tx->ring.ask)
		msg.flags |= SMC_CDC_F_UPDATE_REQ;
	msg.flags |= smc_urgent_tx_flags(&tx->urg, tx->ring.sent, conn->lgr->peer.marker);
	tx->state |= tx->state_due;
	msg.state = cdc_state_flags(tx);
	if (tx->state_due & msg.state) {
		tx->state_unacked = true;
		tx->state_seq = tx->seq;
	}
	tx->state_due &= ~msg.state;
	smc_ring_rx_told(&conn->rx.ring);
	tx->cons_due = false;
	if (tx->leave == SMC_LEAVE_ASK)
		msg.more |= SMC_CDC_M_ASK;
	if (conn->rx.answer_due) {
		msg.more |= SMC_CDC_M_HEARD;
		msg.heard = conn->rx.seq;
		conn->rx.answer_due = false;
	}
	trace_smc_cdc_tx(conn->token, conn->link->uid, &msg);
	smc_cdc_msg_build(&msg, buf, SMC_CDC_LEN);
}
