// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages: apply a received one to its connection, build the next one.
 * Both run under conn->lock; every check of the wire is in proto/.
 */
#include <smc/cdc.h>
#include <smc/conn.h>

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

/*
 * Data written over the old link before the peer switched is complete only if its
 * last CDC arrived here (RFC 7609 section 4.6.1).
 */
static unsigned int validate(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	if ((s16)(msg->seq - conn->rx.seq) > 0)
		return SMC_CDC_VALIDATE | SMC_CDC_BAD;
	return SMC_CDC_VALIDATE;
}

static unsigned int take_consumer(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	int rc;

	if (!conn->tx.peer_size)	/* before the Confirm: nothing can have been read */
		return msg->cons.wrap || msg->cons.off ? SMC_CDC_BAD : 0;
	rc = smc_ring_tx_peer(&conn->tx.ring, &msg->cons);
	if (rc < 0)
		return SMC_CDC_BAD;
	smc_ring_tx_heard(&conn->tx.ring);
	return rc == SMC_CURSOR_NEWER ? SMC_CDC_WINDOW : 0;
}

static unsigned int take_producer(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	struct smc_conn_rx *rx = &conn->rx;
	unsigned int bits = 0;
	int rc;

	rc = smc_ring_rx_peer(&rx->ring, &msg->prod, msg->flags & SMC_CDC_F_BLOCKED,
			      msg->flags & SMC_CDC_F_UPDATE_REQ);
	if (rc < 0)
		return SMC_CDC_BAD;
	if (rc == SMC_CURSOR_NEWER) {
		if (rx->peer_state & SMC_CDC_S_ALL)	/* written after D, C or A */
			return SMC_CDC_BAD;
		bits |= SMC_CDC_DATA;
	}
	if (msg->flags & SMC_CDC_F_URG_PRESENT && rx->ring.produced &&
	    (!rx->urg || rx->urg_pos != rx->ring.produced)) {
		rx->urg = true;
		rx->urg_pos = rx->ring.produced;
		bits |= SMC_CDC_URGENT;
	}
	if (smc_ring_rx_update(&rx->ring) != SMC_UPDATE_NONE)
		bits |= SMC_CDC_WANT_UPDATE;
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
	if (smc_cdc_msg_parse(buf, len, rx->ring.size, conn->tx.peer_size ?: SMC_RMBE_SIZE_MIN,
			      &msg))
		return SMC_CDC_BAD;
	if (msg.flags & SMC_CDC_F_FAILOVER)
		return validate(conn, &msg);
	if (rx->seen && (s16)(msg.seq - rx->seq) < 0)
		return 0;
	rx->seen = true;
	rx->seq = msg.seq;
	bits = take_consumer(conn, &msg) | take_producer(conn, &msg);
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
 * smc_cdc_build() - the next CDC of a connection
 * @conn: connection, conn->lock held
 * @buf: SMC_CDC_LEN bytes
 *
 * Says everything that is due: cursors, B, R, and the state flags, which stand in
 * every message once set.
 */
void smc_cdc_build(struct smc_conn *conn, u8 *buf)
{
	struct smc_conn_tx *tx = &conn->tx;
	struct smc_cdc_msg msg = { .token = tx->peer_token };

	lockdep_assert_held(&conn->lock);
	msg.seq = ++tx->seq;
	smc_ring_tx_cursor(&tx->ring, &msg.prod);
	smc_ring_rx_cursor(&conn->rx.ring, &msg.cons);
	tx->told_blocked = smc_ring_tx_blocked(&tx->ring);
	if (tx->told_blocked)
		msg.flags |= SMC_CDC_F_BLOCKED;
	if (tx->ring.ask)
		msg.flags |= SMC_CDC_F_UPDATE_REQ;
	tx->state |= tx->state_due;
	tx->state_due = 0;
	msg.state = tx->state;
	smc_ring_rx_told(&conn->rx.ring);
	tx->cons_due = false;
	smc_cdc_msg_build(&msg, buf, SMC_CDC_LEN);
}
