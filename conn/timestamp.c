// SPDX-License-Identifier: GPL-2.0-only
/*
 * When received bytes arrived: when the message came that announced them, since nobody sees
 * the WRITEs before it. Only noted for a socket that has asked for time stamps.
 */
#include <linux/string.h>
#include <linux/ktime.h>
#include <smc/conn/conn.h>
#include <smc/conn/timestamp.h>

/**
 * smc_stamp_start() - note arrivals from now on
 * @conn: connection
 */
void smc_stamp_start(struct smc_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->rx.stamps.on = true;
	spin_unlock_bh(&conn->lock);
}

/* Who reads may still ask for the time of its last byte, so that one's arrival stays. */
static void timestamp_drop_read(struct smc_stamps *s, u64 consumed)
{
	u8 gone = 0;

	while (gone < s->n && s->log[gone].end < consumed)
		s->from = s->log[gone++].end;
	s->n -= gone;
	memmove(s->log, s->log + gone, s->n * sizeof(s->log[0]));
}

/**
 * smc_stamp_arrived_locked() - a CDC has announced bytes
 * @conn: connection, conn->lock held
 * @had: bytes that were readable before
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
	/* as in TCP's queue what comes last gives its time to what it is put together with */
	if (s->n < SMC_STAMPS)
		s->n++;
	s->log[s->n - 1] = (struct smc_stamp){ ring->produced, ktime_get_real() };
}

/**
 * smc_stamp_of() - when did a byte arrive
 * @conn: connection
 * @ahead: the byte is the last one before the one that is so far ahead of the read position
 *
 * Return: time of day, 0 if it came before arrivals were noted.
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
