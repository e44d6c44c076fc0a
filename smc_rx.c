// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mover: RMBE -> user bytes.
 *
 * The peer's RNIC writes between consumed and its window, we read between consumed
 * and produced: the two never touch the same bytes, so copying needs no lock.
 */
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/conn/splice.h>
#include <smc/conn/tx.h>

/* A consumer update that may wait for more reading is sent after this at the latest. */
#define UPDATE_DELAY	max_t(unsigned long, HZ / 1000, 1)
/* The peer may keep back so much of our RMBE. */
#define RX_PEER_RESERVE	64

/**
 * smc_rx_readable() - bytes that wait for the application
 * @conn: connection
 *
 * Return: a snapshot, without a lock. A 32-bit host may see a torn position for a
 * moment; the caller looks again when it reads.
 */
size_t smc_rx_readable(const struct smc_conn *conn)
{
	u64 consumed = READ_ONCE(conn->rx.ring.consumed);
	u64 produced = READ_ONCE(conn->rx.ring.produced);

	return produced > consumed ? min_t(u64, produced - consumed, conn->rx.ring.size) : 0;
}

/**
 * smc_rx_arrived_locked() - a CDC has announced bytes
 * @conn: connection, conn->lock held
 * @slot: slot of the link it came over, which is the one the bytes came over
 * @had: bytes that were readable before
 *
 * Now and not when they are read: by then the link may be gone, or another one's copy
 * of the element be older.
 */
void smc_rx_arrived_locked(struct smc_conn *conn, u32 slot, u32 had)
{
	struct smc_span span[2];
	int i, n;

	lockdep_assert_held(&conn->lock);
	n = smc_ring_rx_spans(&conn->rx.ring, had, conn->rx.ring.size, span);
	for (i = 0; i < n; i++)
		smc_buf_sync_for_cpu(&conn->rx.elem, slot, span[i].off, span[i].len);
	if (smc_ring_rx_readable(&conn->rx.ring) == conn->rx.ring.size)
		smc_stats_inc(conn->net, SMC_STAT_RX_FULL);
}

/* data path 12: copy out of the RMBE */
static ssize_t rx_copy_out(struct smc_conn *conn, const struct smc_span *span, int n,
			   struct iov_iter *to)
{
	ssize_t done = 0;
	int i;

	for (i = 0; i < n; i++) {
		size_t got = span[i].len;

		if (to)
			got = copy_to_iter(conn->rx.elem.addr + span[i].off, span[i].len, to);
		done += got;
		if (got < span[i].len)
			break;
	}
	return done ?: -EFAULT;
}

/**
 * smc_rx_update_locked() - tell the peer what was read if RFC 7609 section 4.5.1 asks for it
 * @conn: connection, conn->lock held
 *
 * After reading, and after a CDC: the peer may say only then that it is blocked. What it needs may
 * be lent: this may be the last that is heard of either end before it is back.
 */
void smc_rx_update_locked(struct smc_conn *conn)
{
	switch (smc_ring_rx_update(&conn->rx.ring)) {
	case SMC_UPDATE_NOW:
		smc_tx_consumer_update_locked(conn);
		break;
	case SMC_UPDATE_SOON:
		smc_conn_kick_by(conn, UPDATE_DELAY);
		break;
	case SMC_UPDATE_NONE:
		break;
	}
	if (smc_ring_rx_starved(&conn->rx.ring))
		smc_conn_kick_by(conn, conn->rx.poll_gap);
}

/**
 * smc_rx_look_locked() - is what was lent back?
 * @conn: connection, conn->lock held
 * @timed: it was time to look
 *
 * Nobody tells when it is. If the peer needs it the connection's work looks again.
 */
void smc_rx_look_locked(struct smc_conn *conn, bool timed)
{
	if (smc_conn_state_may_cdc(conn->state) && smc_lend_look_locked(conn, timed))
		smc_rx_update_locked(conn);
}

/* Bytes were read; conn->lock held. */
static void rx_consume(struct smc_conn *conn, size_t len)
{
	struct smc_conn_rx *rx = &conn->rx;

	/* a close may have discarded what came: then nobody cares */
	if (smc_ring_rx_consume(&rx->ring, len))
		return;
	/* the writer waits for this after an urgent byte (section 4.7.5) */
	if (smc_urgent_rx_consumed(&rx->urg, rx->ring.consumed))
		smc_ring_rx_force(&rx->ring);
	if (smc_conn_state_may_cdc(conn->state))
		smc_rx_update_locked(conn);
}

static void rx_skip_urgent_locked(struct smc_conn *conn, bool in_line)
{
	struct smc_conn_rx *rx = &conn->rx;

	if (!smc_ring_rx_readable(&rx->ring) ||
	    !smc_urgent_rx_skip(&rx->urg, rx->ring.consumed, in_line))
		return;
	smc_ring_rx_force(&rx->ring);
	rx_consume(conn, 1);
}

/**
 * smc_rx_skip_urgent() - take an urgent byte out of the stream
 * @conn: connection
 * @in_line: it is to stay
 *
 * If all before it was read: it is kept for recv() with MSG_OOB, and the writer goes on,
 * which it must even if the application never asks for the byte.
 */
void smc_rx_skip_urgent(struct smc_conn *conn, bool in_line)
{
	spin_lock_bh(&conn->lock);
	rx_skip_urgent_locked(conn, in_line);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_rx_urgent_locked() - an urgent byte has arrived
 * @conn: connection, conn->lock held; behind smc_rx_arrived_locked()
 */
void smc_rx_urgent_locked(struct smc_conn *conn)
{
	struct smc_conn_rx *rx = &conn->rx;
	const u8 *rmbe = rx->elem.addr;

	lockdep_assert_held(&conn->lock);
	rx->urg.byte = rmbe[(rx->urg.pos - 1) & (rx->ring.size - 1)];
}

/**
 * smc_rx_take_urgent() - the urgent byte, out of band
 * @conn: connection
 * @peek: it stays
 * @byte: set to it
 *
 * Return: 0, -EAGAIN if it is on its way, -EINVAL if there is none.
 */
int smc_rx_take_urgent(struct smc_conn *conn, bool peek, u8 *byte)
{
	int rc;

	spin_lock_bh(&conn->lock);
	rc = smc_urgent_rx_take(&conn->rx.urg, peek, byte);
	spin_unlock_bh(&conn->lock);
	return rc;
}

/**
 * smc_rx_urgent() - is an urgent byte there that was not read out of band?
 * @conn: connection
 *
 * Return: a snapshot without a lock, for EPOLLPRI.
 */
bool smc_rx_urgent(const struct smc_conn *conn)
{
	return READ_ONCE(conn->rx.urg.state) == SMC_URGENT_VALID;
}

/**
 * smc_rx_at_mark() - SIOCATMARK
 * @conn: connection
 *
 * Return: true if the next byte is the first one behind urgent data.
 */
bool smc_rx_at_mark(struct smc_conn *conn)
{
	bool at;

	spin_lock_bh(&conn->lock);
	at = smc_urgent_rx_at_mark(&conn->rx.urg, conn->rx.ring.consumed);
	spin_unlock_bh(&conn->lock);
	return at;
}

/**
 * smc_rx_peer_waits() - does the writer wait for the reader to come to urgent data?
 * @conn: connection
 *
 * Return: true if nothing more comes before what is here was consumed, however little.
 */
bool smc_rx_peer_waits(struct smc_conn *conn)
{
	bool waits;

	spin_lock_bh(&conn->lock);
	waits = smc_urgent_rx_stops(&conn->rx.urg, conn->rx.ring.produced);
	spin_unlock_bh(&conn->lock);
	return waits;
}

/* The next byte, if smc_rx_held(); @pass: the stream goes past it. */
static bool rx_get_held_byte(struct smc_conn *conn, bool in_line, bool pass, u8 *byte)
{
	struct smc_urgent_rx *urg = &conn->rx.urg;
	bool held;

	if (!in_line)
		return false;
	spin_lock_bh(&conn->lock);
	held = smc_urgent_rx_held(urg, conn->rx.ring.consumed, true);
	*byte = urg->byte;
	if (held && pass)
		smc_urgent_rx_passed(urg);
	spin_unlock_bh(&conn->lock);
	return held;
}

/**
 * smc_rx_held() - is there a byte that is not in the ring?
 * @conn: connection
 * @in_line: urgent bytes are wanted in the stream
 *
 * Return: true if the next byte is an urgent one that had left the stream.
 */
bool smc_rx_held(struct smc_conn *conn, bool in_line)
{
	u8 byte;

	return rx_get_held_byte(conn, in_line, false, &byte);
}

/* It left the stream before the application said that it wants it there. */
static ssize_t rx_read_held_byte(struct smc_conn *conn, struct iov_iter *to,
				 struct smc_rx_call *call)
{
	u8 byte;

	if (!rx_get_held_byte(conn, call->in_line, false, &byte))
		return 0;
	if (to && copy_to_iter(&byte, 1, to) != 1)
		return -EFAULT;
	/* what could not be copied stays; another one may have come since, and is not this one */
	if (!call->peek)
		rx_get_held_byte(conn, call->in_line, true, &byte);
	call->some = true;
	return 1;
}

/**
 * smc_rx_inq() - SIOCINQ
 * @conn: connection
 * @in_line: urgent bytes count
 *
 * Return: bytes that can be read, up to urgent data if there is any.
 */
size_t smc_rx_inq(struct smc_conn *conn, bool in_line)
{
	const struct smc_conn_rx *rx = &conn->rx;
	u32 n, room;

	spin_lock_bh(&conn->lock);
	n = smc_ring_rx_readable(&rx->ring);
	room = in_line ? n : smc_urgent_rx_room(&rx->urg, rx->ring.consumed, false, true);
	if (smc_urgent_rx_held(&rx->urg, rx->ring.consumed, in_line)) {
		n++;
		room = n;
	}
	spin_unlock_bh(&conn->lock);
	return min(n, room);
}

/**
 * smc_rx_reach() - how much can wait to be read at most
 * @conn: connection
 *
 * Not what is lent, and not what the peer keeps back: who waits for more waits for ever.
 *
 * Return: bytes; a snapshot.
 */
u32 smc_rx_reach(struct smc_conn *conn)
{
	u32 n;

	spin_lock_bh(&conn->lock);
	n = smc_ring_rx_held(&conn->rx.ring) + RX_PEER_RESERVE;
	spin_unlock_bh(&conn->lock);
	return conn->rx.ring.size - min(n, conn->rx.ring.size);
}

/* Hands bytes out where they lie; conn->lock held. */
static ssize_t rx_lend_locked(struct smc_conn *conn, const struct smc_span *span, int n,
			      struct smc_rx_call *call)
{
	ssize_t rc = smc_lend_take_locked(conn, span, n, call->lend);

	if (rc <= 0)
		return rc;
	call->some = true;
	smc_stats_add(conn->net, SMC_STAT_RX_BYTES, rc);
	if (smc_conn_state_may_cdc(conn->state))
		smc_rx_update_locked(conn);
	return rc;
}

/**
 * smc_rx_read() - move bytes to the application
 * @conn: connection
 * @to: where to; NULL discards
 * @len: at most
 * @call: what the call goes by
 *
 * One caller at a time (socket lock).
 *
 * Return: bytes, 0 if @call has come to urgent data or can lend no more, and ends there,
 * -EAGAIN if there is nothing, -EFAULT, -EOPNOTSUPP if these bytes are not to be lent.
 */
ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len,
		    struct smc_rx_call *call)
{
	struct smc_conn_rx *rx = &conn->rx;
	struct smc_span span[2];
	ssize_t rc;
	u32 room;
	int n;

	if (call->skip > rx->ring.size)
		return -EAGAIN;
	if (!call->some && !call->skip && !call->lend) {
		rc = rx_read_held_byte(conn, to, call);
		if (rc)
			return rc;
	}
	/* that byte is in no page of the ring */
	if (call->lend && !call->some && smc_rx_held(conn, call->in_line))
		return -EOPNOTSUPP;
	spin_lock_bh(&conn->lock);
	smc_rx_look_locked(conn, false);
	if (!call->peek || !call->some)
		rx_skip_urgent_locked(conn, call->in_line);
	if (call->peek && !call->some &&
	    smc_urgent_rx_in_way(&rx->urg, rx->ring.consumed + call->skip, call->in_line))
		call->skip++;
	room = smc_urgent_rx_room(&rx->urg, rx->ring.consumed + call->skip, call->in_line,
				  call->some);
	n = smc_ring_rx_spans(&rx->ring, call->skip, min3(len, (size_t)rx->ring.size, (size_t)room),
			      span);
	rc = n && call->lend ? rx_lend_locked(conn, span, n, call) : 0;
	spin_unlock_bh(&conn->lock);
	if (n && call->lend)
		return rc;
	if (!room)
		return 0;
	if (!n)
		return -EAGAIN;
	rc = rx_copy_out(conn, span, n, to);
	if (rc <= 0)
		return rc;
	call->some = true;
	if (call->peek) {
		call->skip += rc;
		return rc;
	}
	spin_lock_bh(&conn->lock);
	rx_consume(conn, rc);
	/* the application may read no more for now: the writer goes on */
	rx_skip_urgent_locked(conn, call->in_line);
	spin_unlock_bh(&conn->lock);
	smc_stats_add(conn->net, SMC_STAT_RX_BYTES, rc);
	return rc;
}
