// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive time stamps: bytes get the time at which the CDC message arrived that announced them,
 * since the host does not see the WRITEs before it. Recorded only for sockets that asked for time
 * stamps.
 */
#include <linux/string.h>
#include <linux/ktime.h>
#include <smc/conn/conn.h>
#include <smc/conn/timestamp.h>

/**
 * smc_stamp_start() - Record arrival times from now on
 * @conn: connection
 *
 * Context: Takes conn->lock.
 */
void smc_stamp_start(struct smc_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->rx.stamps.on = true;
	spin_unlock_bh(&conn->lock);
}

/* Drop arrivals of bytes that were read, but for the last one: a reader may ask for it later. */
static void timestamp_drop_read(struct smc_stamps *s, u64 consumed)
{
	u8 gone = 0;

	while (gone < s->n && s->log[gone].end < consumed)
		s->from = s->log[gone++].end;
	s->n -= gone;
	memmove(s->log, s->log + gone, s->n * sizeof(s->log[0]));
}

/**
 * smc_stamp_arrived_locked() - Record that a CDC has announced bytes
 * @conn: connection
 * @had: bytes that were readable before
 *
 * Context: Caller holds conn->lock.
 */
void smc_stamp_arrived_locked(struct smc_conn *conn, u32 had)
{
	const struct smc_ring_rx *ring = &conn->rx.ring;
	struct smc_stamps *s = &conn->rx.stamps;

	lockdep_assert_held(&conn->lock);
	if (!s->on)
		return;
	timestamp_drop_read(s, ring->consumed);
	if (!s->n)
		s->from = ring->consumed + had;
	/*
	 * if the log is full, the last entry takes the newest time, as with coalesced segments on
	 * TCP
	 */
	if (s->n < SMC_STAMPS)
		s->n++;
	s->log[s->n - 1] = (struct smc_stamp){ ring->produced, ktime_get_real() };
}

/**
 * smc_stamp_of() - Return the arrival time of a byte
 * @conn: connection
 * @ahead: the byte is number @ahead, counted from 1, from the read position
 *
 * Context: Takes conn->lock.
 * Return: time of day, 0 if the byte arrived before recording was started.
 */
ktime_t smc_stamp_of(struct smc_conn *conn, size_t ahead)
{
	const struct smc_stamps *s = &conn->rx.stamps;
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
