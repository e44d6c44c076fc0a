/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving direction of a connection, see smc_rx.c. */
#ifndef _SMC_CONN_RX_H
#define _SMC_CONN_RX_H

#include <linux/ktime.h>
#include <linux/types.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>

struct iov_iter;
struct splice_pipe_desc;

/**
 * smc_rx_get_readable() - Return the bytes that wait for the application
 * @conn: connection
 *
 * Context: Any; a snapshot without a lock. On 32-bit hosts a position may be torn for a moment; the
 * caller checks again when it reads.
 * Return: bytes.
 */
static inline size_t smc_rx_get_readable(const struct smc_conn *conn)
{
	u64 consumed = READ_ONCE(conn->rx.ring.consumed);
	u64 produced = READ_ONCE(conn->rx.ring.produced);

	return produced > consumed ? min_t(u64, produced - consumed, conn->rx.ring.size) : 0;
}

/**
 * struct smc_rx_call - state of one reading call
 * @skip: bytes ahead of the read position to start at; advances if @peek
 * @peek: do not consume (MSG_PEEK)
 * @in_line: urgent bytes are read like others (SO_OOBINLINE)
 * @got_some: the call has read something: it ends before urgent data
 * @polled: the call has looked for data instead of sleeping, as SO_BUSY_POLL allows once
 * @lend_to: pages are lent to this pipe descriptor instead of being copied, or NULL
 */
struct smc_rx_call {
	size_t skip;
	bool peek;
	bool in_line;
	bool got_some;
	bool polled;
	struct splice_pipe_desc *lend_to;
};

ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len,
		    struct smc_rx_call *call);
u32 smc_rx_get_max_readable(struct smc_conn *conn);
void smc_rx_poll_lent_locked(struct smc_conn *conn, bool timed);
void smc_rx_skip_urgent(struct smc_conn *conn, bool in_line);
int smc_rx_take_urgent(struct smc_conn *conn, bool peek, u8 *byte);
bool smc_rx_does_peer_wait(struct smc_conn *conn);
bool smc_rx_has_held_byte(struct smc_conn *conn, bool in_line);
bool smc_rx_is_at_mark(struct smc_conn *conn);
size_t smc_rx_get_inq(struct smc_conn *conn, bool in_line);
bool smc_rx_has_urgent(const struct smc_conn *conn);
void smc_rx_save_urgent_locked(struct smc_conn *conn);
void smc_rx_sync_spans_locked(struct smc_conn *conn, u32 slot, u32 had);
void smc_rx_update_peer_locked(struct smc_conn *conn);

/**
 * smc_rx_sync_arrived_locked() - Make bytes visible that a CDC has announced
 * @conn: connection
 * @slot: slot of the link that the CDC and the bytes came over
 * @had: bytes that were readable before
 *
 * Syncs the bytes for the CPU on arrival, not when they are read: by then the link and its mapping
 * may be gone, or a bounce buffer of another link may hold older contents.
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_rx_sync_arrived_locked(struct smc_conn *conn, u32 slot, u32 had)
{
	if (smc_elem_needs_sync(&conn->rx.elem))
		smc_rx_sync_spans_locked(conn, slot, had);
	if (smc_ring_rx_readable(&conn->rx.ring) == conn->rx.ring.size)
		smc_stats_count(conn->stats, SMC_STAT_RX_FULL, 1);
}

void smc_timestamp_start(struct smc_conn *conn);
void smc_timestamp_record_locked(struct smc_conn *conn, u32 had);
ktime_t smc_timestamp_get(struct smc_conn *conn, size_t ahead);

#endif
