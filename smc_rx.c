// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mover: RMBE -> user bytes.
 *
 * The peer's RNIC writes between consumed and its window, we read between consumed
 * and produced: the two never touch the same bytes, so copying needs no lock.
 */
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <smc/conn.h>
#include <smc/rx.h>
#include <smc/stats.h>
#include <smc/tx.h>

/* A consumer update that may wait for more reading is sent after this at the latest. */
#define UPDATE_DELAY	max_t(unsigned long, HZ / 1000, 1)

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
}

/* data path 12: copy out of the RMBE */
static ssize_t copy_out(struct smc_conn *conn, const struct smc_span *span, int n,
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
 * After reading, and after a CDC: the peer may say only then that it is blocked.
 */
void smc_rx_update_locked(struct smc_conn *conn)
{
	switch (smc_ring_rx_update(&conn->rx.ring)) {
	case SMC_UPDATE_NOW:
		smc_tx_consumer_update_locked(conn);
		break;
	case SMC_UPDATE_SOON:
		if (!delayed_work_pending(&conn->work))
			smc_conn_kick(conn, UPDATE_DELAY);
		break;
	case SMC_UPDATE_NONE:
		break;
	}
}

/* Bytes were read. */
static void consumed(struct smc_conn *conn, size_t len)
{
	struct smc_conn_rx *rx = &conn->rx;

	spin_lock_bh(&conn->lock);
	/* an abort may have purged the ring meanwhile: then nobody cares */
	if (!smc_ring_rx_consume(&rx->ring, len)) {
		if (rx->urg && rx->ring.consumed >= rx->urg_pos) {
			/* the writer waits for this after an urgent byte (section 4.7.5) */
			rx->urg = false;
			smc_ring_rx_force(&rx->ring);
		}
		if (smc_conn_state_may_cdc(conn->state))
			smc_rx_update_locked(conn);
	}
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_rx_read() - move bytes to the application
 * @conn: connection
 * @to: where to; NULL discards
 * @len: at most
 * @skip: leave out so many first (peek with offset)
 * @peek: do not consume
 *
 * One caller at a time (socket lock).
 *
 * Return: bytes, -EAGAIN if there is nothing, -EFAULT.
 */
ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len, size_t skip, bool peek)
{
	struct smc_span span[2];
	ssize_t rc;
	int n;

	if (skip > conn->rx.ring.size)
		return -EAGAIN;
	spin_lock_bh(&conn->lock);
	n = smc_ring_rx_spans(&conn->rx.ring, skip, min_t(size_t, len, conn->rx.ring.size), span);
	spin_unlock_bh(&conn->lock);
	if (!n)
		return -EAGAIN;
	rc = copy_out(conn, span, n, to);
	if (rc > 0 && !peek) {
		consumed(conn, rc);
		smc_stats_add(conn->net, SMC_STAT_RX_BYTES, rc);
	}
	return rc;
}
