// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving direction of a connection: RMBE -> user bytes.
 *
 * Path of a byte. The peer's RNIC writes it into the RMBE and then delivers a CDC message that
 * announces it; a reliable connection keeps this order. conn/lgr_events.c applies the message
 * (smc_cdc_apply() moves the producer cursor), calls smc_rx_sync_arrived_locked(), which makes the
 * bytes visible to the CPU, and notifies the socket. recvmsg() or splice() calls smc_rx_read(),
 * which copies the bytes out of the RMBE or lends their pages (conn/splice.c), and moves the
 * consumer cursor. smc_rx_update_peer_locked() decides whether the peer is sent the consumer cursor
 * at once, after about a millisecond, or with the next CDC (RFC 7609 section 4.5.1).
 *
 * Positions of the RMBE (proto/cursor.h): the application reads from consumed to produced; the peer
 * writes from produced to the end of its window, which is one ring beyond the consumer cursor that
 * it was last sent. The two never touch the same bytes, so copying needs no lock.
 *
 * Lent pages: a page in a pipe or socket buffer keeps the consumer cursor back until its last
 * reference is dropped. No callback reports this, so smc_rx_poll_lent_locked() polls: in each read,
 * with each CDC, and from the connection's work if the peer needs the room.
 *
 * Urgent data (RFC 7609 section 4.7.5, proto/urgent.c): the byte is saved when it arrives. When all
 * bytes before it are read it leaves the stream, unless SO_OOBINLINE is set, because the writer
 * sends nothing beyond it until it is consumed. If SO_OOBINLINE is set after that, the saved byte
 * is read in line: it is then "held" outside the ring.
 *
 * Locks: conn->lock protects all of struct smc_conn_rx. smc_rx_read() takes it twice, before and
 * after copying, unless there is nothing to read; one reader at a time (socket lock). Context: the
 * *_locked() functions run in softirq or process context, the others in process context. Nothing
 * here sleeps for data.
 */
#include <linux/ktime.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/conn/splice.h>
#include <smc/conn/tx.h>
#include "conn/timers.h"

/* Bytes of our RMBE that a peer may keep unused at most. */
#define RX_PEER_RESERVE	64

/**
 * smc_rx_sync_spans_locked() - Make bytes visible to the CPU that a CDC has announced
 * @conn: connection
 * @slot: slot of the link that the CDC and the bytes came over
 * @had: bytes that were readable before
 *
 * See smc_rx_sync_arrived_locked().
 *
 * Context: Caller holds conn->lock.
 */
void smc_rx_sync_spans_locked(struct smc_conn *conn, u32 slot, u32 had)
{
	struct smc_ring_span span[2];
	int i, n;

	lockdep_assert_held(&conn->lock);
	n = smc_ring_rx_get_spans(&conn->rx.ring, had, conn->rx.ring.size, span);
	for (i = 0; i < n; i++)
		smc_elem_sync_for_cpu(&conn->rx.elem, slot, span[i].off, span[i].len);
}

/* data path 12: copy out of the RMBE; without @to discard */
static ssize_t rx_copy_out(struct smc_conn *conn, const struct smc_ring_span *span, int n,
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
 * smc_rx_update_peer_locked() - Send the consumer cursor if RFC 7609 section 4.5.1 asks for it
 * @conn: connection
 *
 * Called after reading and after a CDC, since the peer may report only then that it is blocked. If
 * the room that the peer needs is lent, starts to poll the lent pages: no other event may follow.
 *
 * Context: Caller holds conn->lock.
 */
void smc_rx_update_peer_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	switch (smc_ring_rx_update_due(&conn->rx.ring)) {
	case SMC_CURSOR_UPDATE_NOW:
		smc_tx_send_update_locked(conn);
		break;
	case SMC_CURSOR_UPDATE_SOON:
		smc_conn_timer_update_delayed(conn);
		break;
	case SMC_CURSOR_UPDATE_NONE:
		break;
	}
	if (smc_ring_rx_has_lent(&conn->rx.ring) && smc_ring_rx_starved(&conn->rx.ring))
		smc_conn_timer_pages_needed(conn);
}

/**
 * smc_rx_poll_lent_locked() - Poll lent pages
 * @conn: connection
 * @timed: called by the connection's work: increase the interval if no page is back
 *
 * Moves the consumer cursor over pages that are back, and updates the peer.
 *
 * Context: Caller holds conn->lock.
 */
void smc_rx_poll_lent_locked(struct smc_conn *conn, bool timed)
{
	lockdep_assert_held(&conn->lock);
	if (smc_conn_state_may_cdc(conn->state) && smc_splice_poll_lent_locked(conn, timed))
		smc_rx_update_peer_locked(conn);
}

/* Move the consumer cursor by @len bytes that were read; conn->lock held. */
static void rx_consume(struct smc_conn *conn, size_t len)
{
	struct smc_conn_rx *rx = &conn->rx;

	/* the bytes were discarded by a close meanwhile */
	if (smc_ring_rx_consume(&rx->ring, len))
		return;
	/* the writer waits for this cursor after an urgent byte (section 4.7.5) */
	if (smc_urgent_rx_note_consumed(&rx->urg, rx->ring.consumed))
		smc_ring_rx_force_update(&rx->ring);
	if (smc_conn_state_may_cdc(conn->state))
		smc_rx_update_peer_locked(conn);
}

static void rx_skip_urgent_locked(struct smc_conn *conn, bool in_line)
{
	struct smc_conn_rx *rx = &conn->rx;

	if (!smc_ring_rx_readable(&rx->ring) ||
	    !smc_urgent_rx_skip(&rx->urg, rx->ring.consumed, in_line))
		return;
	smc_ring_rx_force_update(&rx->ring);
	rx_consume(conn, 1);
}

/**
 * smc_rx_skip_urgent() - Take an urgent byte out of the stream
 * @conn: connection
 * @in_line: SO_OOBINLINE: leave it in the stream
 *
 * Only if all bytes before it are read. The byte stays available for recv() with MSG_OOB. The
 * writer can continue, even if the application never reads the byte.
 *
 * Context: Takes conn->lock.
 */
void smc_rx_skip_urgent(struct smc_conn *conn, bool in_line)
{
	spin_lock_bh(&conn->lock);
	rx_skip_urgent_locked(conn, in_line);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_rx_save_urgent_locked() - Save the urgent byte that has arrived
 * @conn: connection
 *
 * Called after smc_rx_sync_arrived_locked().
 *
 * Context: Caller holds conn->lock.
 */
void smc_rx_save_urgent_locked(struct smc_conn *conn)
{
	struct smc_conn_rx *rx = &conn->rx;
	const u8 *rmbe = rx->elem.addr;

	lockdep_assert_held(&conn->lock);
	rx->urg.byte = rmbe[(rx->urg.pos - 1) & (rx->ring.size - 1)];
}

/**
 * smc_rx_take_urgent() - Read the urgent byte out of band (recv() with MSG_OOB)
 * @conn: connection
 * @peek: leave it available
 * @byte: set to the byte
 *
 * Context: Takes conn->lock.
 * Return: 0, -EAGAIN if the byte is announced but has not arrived, -EINVAL if there is none.
 */
int smc_rx_take_urgent(struct smc_conn *conn, bool peek, u8 *byte)
{
	int rc;

	spin_lock_bh(&conn->lock);
	rc = smc_urgent_rx_read_oob(&conn->rx.urg, peek, byte);
	spin_unlock_bh(&conn->lock);
	return rc;
}

/**
 * smc_rx_has_urgent() - Return whether an urgent byte waits to be read out of band
 * @conn: connection
 *
 * Context: Any; a snapshot without a lock, for EPOLLPRI.
 * Return: true if so.
 */
bool smc_rx_has_urgent(const struct smc_conn *conn)
{
	return READ_ONCE(conn->rx.urg.state) == SMC_URGENT_VALID;
}

/**
 * smc_rx_is_at_mark() - Return whether the read position is at the urgent mark (SIOCATMARK)
 * @conn: connection
 *
 * Context: Takes conn->lock.
 * Return: true if the next byte is the first one behind urgent data.
 */
bool smc_rx_is_at_mark(struct smc_conn *conn)
{
	bool at;

	spin_lock_bh(&conn->lock);
	at = smc_urgent_rx_is_at_mark(&conn->rx.urg, conn->rx.ring.consumed);
	spin_unlock_bh(&conn->lock);
	return at;
}

/**
 * smc_rx_does_peer_wait() - Return whether the writer waits for urgent data to be read
 * @conn: connection
 *
 * Context: Takes conn->lock.
 * Return: true if nothing more arrives until all bytes in the RMBE are consumed, however few they
 * are.
 */
bool smc_rx_does_peer_wait(struct smc_conn *conn)
{
	bool waits;

	spin_lock_bh(&conn->lock);
	waits = smc_urgent_rx_blocks_writer(&conn->rx.urg, conn->rx.ring.produced);
	spin_unlock_bh(&conn->lock);
	return waits;
}

/* Get the held byte, see smc_rx_has_held_byte(). @pass: the reader has passed it. */
static bool rx_get_held_byte(struct smc_conn *conn, bool in_line, bool pass, u8 *byte)
{
	struct smc_urgent_rx *urg = &conn->rx.urg;
	bool held;

	if (!in_line)
		return false;
	spin_lock_bh(&conn->lock);
	held = smc_urgent_rx_is_held(urg, conn->rx.ring.consumed, true);
	*byte = urg->byte;
	if (held && pass)
		smc_urgent_rx_note_passed(urg);
	spin_unlock_bh(&conn->lock);
	return held;
}

/**
 * smc_rx_has_held_byte() - Return whether the next byte is held outside the ring
 * @conn: connection
 * @in_line: SO_OOBINLINE is set
 *
 * Context: Takes conn->lock.
 * Return: true if the next byte in line is an urgent one that has left the stream.
 */
bool smc_rx_has_held_byte(struct smc_conn *conn, bool in_line)
{
	u8 byte;

	return rx_get_held_byte(conn, in_line, false, &byte);
}

/* Read the held byte: it left the stream before the application set SO_OOBINLINE. */
static ssize_t rx_read_held_byte(struct smc_conn *conn, struct iov_iter *to,
				 struct smc_rx_call *call)
{
	u8 byte;

	if (!call->in_line || !rx_get_held_byte(conn, true, false, &byte))
		return 0;
	if (to && copy_to_iter(&byte, 1, to) != 1)
		return -EFAULT;
	/*
	 * Pass it only after the copy succeeded; if a new urgent byte has arrived, it is not
	 * passed.
	 */
	if (!call->peek)
		rx_get_held_byte(conn, true, true, &byte);
	call->got_some = true;
	return 1;
}

/**
 * smc_rx_get_inq() - Return the bytes that can be read (SIOCINQ)
 * @conn: connection
 * @in_line: SO_OOBINLINE is set: urgent bytes count
 *
 * Context: Takes conn->lock.
 * Return: bytes up to urgent data, if there is any.
 */
size_t smc_rx_get_inq(struct smc_conn *conn, bool in_line)
{
	const struct smc_conn_rx *rx = &conn->rx;
	u32 n, room;

	spin_lock_bh(&conn->lock);
	n = smc_ring_rx_readable(&rx->ring);
	room = in_line ? n : smc_urgent_rx_read_len(&rx->urg, rx->ring.consumed, false, true);
	if (smc_urgent_rx_is_held(&rx->urg, rx->ring.consumed, in_line)) {
		n++;
		room = n;
	}
	spin_unlock_bh(&conn->lock);
	return min(n, room);
}

/**
 * smc_rx_get_max_readable() - Return how many bytes can become readable without any being read
 * @conn: connection
 *
 * Excludes lent bytes and what the peer may keep unused: a reader that waits for more would wait
 * for ever.
 *
 * Context: Takes conn->lock; a snapshot.
 * Return: bytes.
 */
u32 smc_rx_get_max_readable(struct smc_conn *conn)
{
	u32 n;

	spin_lock_bh(&conn->lock);
	n = smc_ring_rx_withheld(&conn->rx.ring) + RX_PEER_RESERVE;
	spin_unlock_bh(&conn->lock);
	return conn->rx.ring.size - min(n, conn->rx.ring.size);
}

/* Lend the pages of the next bytes; conn->lock held. */
static ssize_t rx_lend_locked(struct smc_conn *conn, const struct smc_ring_span *span, int n,
			      struct smc_rx_call *call)
{
	ssize_t rc = smc_splice_lend_locked(conn, span, n, call->lend_to);

	if (rc <= 0)
		return rc;
	call->got_some = true;
	smc_stats_count(conn->stats, SMC_STAT_RX_BYTES, rc);
	if (smc_conn_state_may_cdc(conn->state))
		smc_rx_update_peer_locked(conn);
	return rc;
}

static bool rx_may_have_lent(const struct smc_conn_rx *rx)
{
	/* only this reader lends; what is given back meanwhile is noticed later */
	return data_race(smc_ring_rx_has_lent(&rx->ring));
}

/**
 * smc_rx_read() - Move bytes to the application
 * @conn: connection
 * @to: destination; NULL discards (MSG_TRUNC)
 * @len: maximum number of bytes
 * @call: state of the reading call
 *
 * The peer is sent the consumer cursor when RFC 7609 section 4.5.1 asks for it.
 *
 * Context: Process; takes conn->lock. One caller at a time (socket lock).
 * Return: bytes; 0 if the call ends here, at urgent data or because @call can lend no more; -EAGAIN
 * if there is nothing to read; -EFAULT; -EOPNOTSUPP if these bytes cannot be lent.
 */
ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len,
		    struct smc_rx_call *call)
{
	struct smc_conn_rx *rx = &conn->rx;
	struct smc_ring_span span[2];
	ssize_t rc;
	u32 room;
	int n;

	if (call->skip > rx->ring.size)
		return -EAGAIN;
	if (!call->got_some && !call->skip && !call->lend_to) {
		rc = rx_read_held_byte(conn, to, call);
		if (rc)
			return rc;
	}
	/* the held byte is in no page of the ring */
	if (call->lend_to && !call->got_some && smc_rx_has_held_byte(conn, call->in_line))
		return -EOPNOTSUPP;
	/*
	 * With nothing readable and nothing lent, what follows can only find that out, too, and a
	 * call that waits looks again when it is in the wait queue. Where a position may be torn,
	 * the lock decides.
	 */
	if (IS_ENABLED(CONFIG_64BIT) && !call->got_some && !smc_rx_get_readable(conn) &&
	    !rx_may_have_lent(rx))
		return -EAGAIN;
	spin_lock_bh(&conn->lock);
	if (smc_ring_rx_has_lent(&rx->ring))
		smc_rx_poll_lent_locked(conn, false);
	if (!call->peek || !call->got_some)
		rx_skip_urgent_locked(conn, call->in_line);
	if (call->peek && !call->got_some &&
	    smc_urgent_rx_is_next(&rx->urg, rx->ring.consumed + call->skip, call->in_line))
		call->skip++;
	room = smc_urgent_rx_read_len(&rx->urg, rx->ring.consumed + call->skip, call->in_line,
				      call->got_some);
	n = smc_ring_rx_get_spans(&rx->ring, call->skip,
				  min3(len, (size_t)rx->ring.size, (size_t)room), span);
	rc = n && call->lend_to ? rx_lend_locked(conn, span, n, call) : 0;
	spin_unlock_bh(&conn->lock);
	if (n && call->lend_to)
		return rc;
	if (!room)
		return 0;
	if (!n)
		return -EAGAIN;
	rc = rx_copy_out(conn, span, n, to);
	if (rc <= 0)
		return rc;
	call->got_some = true;
	if (call->peek) {
		call->skip += rc;
		return rc;
	}
	spin_lock_bh(&conn->lock);
	rx_consume(conn, rc);
	/* the application may stop reading here: let the writer continue */
	rx_skip_urgent_locked(conn, call->in_line);
	spin_unlock_bh(&conn->lock);
	smc_stats_count(conn->stats, SMC_STAT_RX_BYTES, rc);
	return rc;
}

/*
 * Receive time stamps: bytes get the time at which the CDC message arrived that announced them,
 * since the host does not see the WRITEs before it. Recorded only for sockets that asked for time
 * stamps.
 */

/**
 * smc_timestamp_start() - Record arrival times from now on
 * @conn: connection
 *
 * Context: Takes conn->lock.
 */
void smc_timestamp_start(struct smc_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->rx.timestamps.on = true;
	spin_unlock_bh(&conn->lock);
}

/* Drop arrivals of bytes that were read, but for the last one: a reader may ask for it later. */
static void timestamp_drop_read(struct smc_timestamps *s, u64 consumed)
{
	u8 gone = 0;

	while (gone < s->n && s->log[gone].end < consumed)
		s->from = s->log[gone++].end;
	s->n -= gone;
	memmove(s->log, s->log + gone, s->n * sizeof(s->log[0]));
}

/**
 * smc_timestamp_record_locked() - Record that a CDC has announced bytes
 * @conn: connection whose arrivals are recorded
 * @had: bytes that were readable before
 *
 * Context: Caller holds conn->lock.
 */
void smc_timestamp_record_locked(struct smc_conn *conn, u32 had)
{
	const struct smc_ring_rx *ring = &conn->rx.ring;
	struct smc_timestamps *s = &conn->rx.timestamps;

	lockdep_assert_held(&conn->lock);
	timestamp_drop_read(s, ring->consumed);
	if (!s->n)
		s->from = ring->consumed + had;
	/*
	 * if the log is full, the last entry takes the newest time, as with coalesced segments on
	 * TCP
	 */
	if (s->n < SMC_TIMESTAMPS)
		s->n++;
	s->log[s->n - 1] = (struct smc_timestamp){ ring->produced, ktime_get_real() };
}

/**
 * smc_timestamp_get() - Return the arrival time of a byte
 * @conn: connection
 * @ahead: the byte is number @ahead, counted from 1, from the read position
 *
 * Context: Takes conn->lock.
 * Return: time of day, 0 if the byte arrived before recording was started.
 */
ktime_t smc_timestamp_get(struct smc_conn *conn, size_t ahead)
{
	const struct smc_timestamps *s = &conn->rx.timestamps;
	ktime_t at = 0;
	u64 end;
	u8 i;

	spin_lock_bh(&conn->lock);
	end = conn->rx.ring.consumed + ahead;
	for (i = 0; i < s->n && s->log[i].end < end; i++)
		;
	if (i < s->n && end > s->from)
		at = s->log[i].at;
	spin_unlock_bh(&conn->lock);
	return at;
}
