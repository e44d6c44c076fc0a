// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ring cursors and the plan of RDMA WRITEs (RFC 7609 sections 4.3, 4.5.1, 4.6); cursor.h describes
 * the positions.
 *
 * Every ring size is a power of two, so that no 64-bit division is needed, which 32-bit kernels do
 * not have.
 */
#include <smc/proto/cursor.h>

/**
 * smc_ring_size_is_valid() - Check a ring size
 * @size: bytes
 *
 * Return: true for a power of two that the protocol can announce.
 */
bool smc_ring_size_is_valid(u32 size)
{
	return size >= SMC_RMBE_SIZE_MIN && size <= SMC_RING_MAX && !(size & (size - 1));
}

/**
 * smc_cursor_advance() - Convert a cursor of the peer to a position and check it
 * @cur: position known so far
 * @limit: furthest position that the peer may have reached, at most @size after @cur
 * @size: size of the ring that the cursor points into
 * @wire: the cursor
 * @pos: set to the new position, to @cur if the cursor is not newer
 *
 * The wire form names a position modulo 65536 rings. The candidate at or after @cur counts if it is
 * not beyond @limit. A failover can repeat cursors up to one ring before @cur; these are ignored.
 * No other cursor can be valid.
 *
 * Return: enum smc_cursor_change, or -EPROTO with @pos unchanged.
 */
int smc_cursor_advance(u64 cur, u64 limit, u32 size, const struct smc_cdc_cursor *wire, u64 *pos)
{
	u64 modulus = (u64)size << 16;
	u64 ahead, behind;

	if (wire->off >= size)
		return -EPROTO;
	ahead = (((u64)wire->wrap << __builtin_ctz(size)) + wire->off - cur) & (modulus - 1);
	if (!ahead) {
		*pos = cur;
		return SMC_CURSOR_SAME;
	}
	if (ahead <= limit - cur) {
		*pos = cur + ahead;
		return SMC_CURSOR_NEWER;
	}
	behind = modulus - ahead;
	if (behind <= size && behind <= cur) {
		*pos = cur;
		return SMC_CURSOR_STALE;
	}
	return -EPROTO;
}

/**
 * smc_ring_tx_init() - Set up the send side of a connection
 * @tx: send side
 * @size: bytes of the send ring
 * @peer_size: bytes of the peer's RMBE
 * @reserve: bytes of the peer's RMBE to leave unused, less than @peer_size
 *
 * Return: 0, or -EINVAL for invalid ring sizes.
 */
int smc_ring_tx_init(struct smc_ring_tx *tx, u32 size, u32 peer_size, u32 reserve)
{
	/* no message names the send ring: it may be smaller than what can be announced */
	if (!size || size > SMC_RING_MAX || size & (size - 1) ||
	    !smc_ring_size_is_valid(peer_size) || reserve >= peer_size)
		return -EINVAL;
	memset(tx, 0, sizeof(*tx));
	tx->size = size;
	tx->peer_size = peer_size;
	tx->reserve = reserve;
	return 0;
}

/**
 * smc_ring_tx_purge() - Drop all bytes that are not sent
 * @tx: send side
 *
 * After smc_ring_tx_rewind() these include the bytes that were sent over the previous link.
 */
void smc_ring_tx_purge(struct smc_ring_tx *tx)
{
	WRITE_ONCE(tx->prepared, tx->sent);
}

/*
 * After a link change the window may be closed only because the update that opened it was lost. A
 * peer that does not repeat the update sends its cursor when its reader gets data, so write one
 * byte at a time from the reserve. An urgent byte does not wake a sleeping reader: send it together
 * with the byte before it, if possible.
 */
static u32 ring_tx_probe_len(const struct smc_ring_tx *tx, u64 stop)
{
	u32 room = smc_ring_tx_peer_room(tx);

	if (!tx->request_update || !room)
		return 0;
	return stop - tx->sent == 2 && room > 1 ? 2 : 1;
}

/*
 * In-tree readers miss an urgent byte that arrives alone: they skip it on the way to the next byte,
 * which does not follow before the urgent byte is consumed. So hold back the byte before the urgent
 * one, to send both together. If the window takes only that byte, wait for more window (flag B is
 * set) or use the reserve.
 */
static u32 ring_tx_pair_urgent(const struct smc_ring_tx *tx, u32 len, u32 max_bytes)
{
	if (len > 1)
		return len - 1;
	if (!smc_ring_tx_window(tx) || max_bytes < 2)
		return len;
	return smc_ring_tx_peer_room(tx) > 1 ? 2 : 0;
}

/**
 * smc_ring_tx_plan() - Plan the next WRITEs
 * @tx: send side
 * @stop: position not to pass: one past an urgent byte, or SMC_PLAN_NO_STOP
 * @max_bytes: upper limit of the sum
 * @out: filled with at most SMC_PLAN_PIECES pieces in stream order
 *
 * Does not separate the byte before @stop from the one before it. Changes nothing; the caller
 * reports posted WRITEs to smc_ring_tx_note_posted().
 *
 * Return: number of pieces, 0 if there is nothing to write or no window.
 */
unsigned int smc_ring_tx_plan(const struct smc_ring_tx *tx, u64 stop, u32 max_bytes,
			      struct smc_ring_piece out[SMC_PLAN_PIECES])
{
	u32 left = smc_ring_tx_unsent(tx);
	u32 limit = smc_ring_tx_window(tx);
	unsigned int n = 0;
	u64 pos = tx->sent;

	if (stop <= tx->sent)
		return 0;
	if (stop < tx->prepared)
		left = (u32)(stop - tx->sent);
	if (!limit)
		limit = ring_tx_probe_len(tx, stop);
	left = smc_ring_min(left, smc_ring_min(limit, max_bytes));
	if (left && stop - tx->sent - left == 1)
		left = ring_tx_pair_urgent(tx, left, max_bytes);
	while (left) {
		struct smc_ring_piece *piece = &out[n++];

		piece->src = smc_ring_offset(pos, tx->size);
		piece->dst = smc_ring_offset(pos, tx->peer_size);
		piece->len = smc_ring_min(left, smc_ring_min(tx->size - piece->src,
							     tx->peer_size - piece->dst));
		pos += piece->len;
		left -= piece->len;
	}
	return n;
}

/*
 * With no WRITE in flight, all bytes before the send position are completed. These include bytes
 * that the peer consumed before they were written again, for which no completion will ever arrive.
 */
static void ring_tx_settle(struct smc_ring_tx *tx)
{
	if (tx->completed != tx->posted)
		return;
	WRITE_ONCE(tx->completed, tx->sent);
	tx->posted = tx->sent;
}

/**
 * smc_ring_tx_complete() - Account for WRITEs acknowledged by the peer's RNIC
 * @tx: send side
 * @epoch: &smc_ring_tx.epoch when they were posted
 * @pos: &smc_ring_tx.sent after they were posted
 *
 * A completion that arrives after the connection moved to another link is ignored: the same bytes
 * are queued again, and their memory is in use again.
 *
 * Return: true if space became free in the send ring.
 */
bool smc_ring_tx_complete(struct smc_ring_tx *tx, u32 epoch, u64 pos)
{
	if (epoch != tx->epoch || pos <= tx->completed || pos > tx->posted)
		return false;
	WRITE_ONCE(tx->completed, pos);
	ring_tx_settle(tx);
	return true;
}

/**
 * smc_ring_tx_take_cursor() - Take over the consumer cursor of a CDC message
 * @tx: send side
 * @wire: the cursor
 *
 * Return: enum smc_cursor_change, or -EPROTO with nothing changed if the peer claims to have
 * consumed bytes that were never written.
 */
int smc_ring_tx_take_cursor(struct smc_ring_tx *tx, const struct smc_cdc_cursor *wire)
{
	u64 pos;
	int rc = smc_cursor_advance(tx->peer_consumed, tx->sent_max, tx->peer_size, wire, &pos);

	if (rc != SMC_CURSOR_NEWER)
		return rc;
	tx->peer_consumed = pos;
	/* these bytes were new on the present link: the peer has followed to it */
	if (tx->guarded && pos > tx->repeat_end)
		tx->guarded = false;
	if (pos > tx->sent) {
		/* Rewound, but the peer had received and consumed these bytes. */
		WRITE_ONCE(tx->sent, pos);
		/* Purged since: nothing follows. */
		WRITE_ONCE(tx->prepared, smc_ring_max(tx->prepared, pos));
		ring_tx_settle(tx);
	}
	return rc;
}

/*
 * Check whether WRITEs of the link that is left may arrive late where newer bytes are. In the order
 * of one link that cannot be: the peer learns of bytes only after they were written. But it may
 * know repeated bytes from an earlier link, and make their place free while they are in flight
 * again. If it has consumed bytes that were new on this link, the repeated ones before them have
 * arrived.
 */
static bool ring_tx_has_late_repeats(const struct smc_ring_tx *tx)
{
	return tx->completed != tx->posted && tx->completed < tx->repeat_end &&
	       tx->peer_consumed <= tx->repeat_end;
}

/**
 * smc_ring_tx_rewind() - Prepare retransmission after a move to another link
 * @tx: send side
 * @fences: the peer fences the links that were left before it handles a message over the next one,
 *	and acknowledges that message
 *
 * Bytes that were posted but not acknowledged are written again (RFC 7609 section 4.6.2), except
 * those that the peer has consumed. The caller has brought the queue pair of the previous link to
 * ERR; completions of it belong to the old epoch.
 *
 * WRITEs in flight may still be executed late, until the peer has fenced its end. If that could
 * harm newer bytes, the ring is guarded from now on: nothing is written into their place until the
 * peer is known to have handled a message over the new link. That is shown by its consumer cursor,
 * or by an acknowledgment, see smc_ring_tx_end_guard(). Without @fences nothing would ever show it.
 */
void smc_ring_tx_rewind(struct smc_ring_tx *tx, bool fences)
{
	if (fences && !tx->guarded && ring_tx_has_late_repeats(tx)) {
		tx->guard = tx->completed;
		tx->guarded = true;
	}
	tx->repeat_end = tx->sent_max;
	WRITE_ONCE(tx->sent, smc_ring_max(tx->completed, tx->peer_consumed));
	tx->posted = tx->sent;
	WRITE_ONCE(tx->completed, tx->sent);
	tx->epoch++;
	tx->request_update = true;
}

/**
 * smc_ring_tx_give_up() - Give up bytes in flight after a move to another link
 * @tx: send side, aborted
 *
 * As smc_ring_tx_rewind(), but nothing is written again. What was in flight may be lost with the
 * previous link, so no message over the next one may announce it.
 */
void smc_ring_tx_give_up(struct smc_ring_tx *tx)
{
	WRITE_ONCE(tx->sent, smc_ring_max(tx->completed, tx->peer_consumed));
	tx->posted = tx->sent;
	WRITE_ONCE(tx->completed, tx->sent);
	WRITE_ONCE(tx->prepared, tx->sent);
	tx->epoch++;
}

/**
 * smc_ring_tx_end_guard() - The peer has acknowledged a message over the present link
 * @tx: send side
 *
 * It has fenced all links that were left.
 *
 * Return: true if the ring was guarded: the window may have opened.
 */
bool smc_ring_tx_end_guard(struct smc_ring_tx *tx)
{
	bool guarded = tx->guarded;

	tx->guarded = false;
	return guarded;
}

/**
 * smc_ring_rx_init() - Set up the receive side of a connection
 * @rx: receive side
 * @size: bytes of our RMBE
 *
 * Return: 0, or -EINVAL for an invalid ring size.
 */
int smc_ring_rx_init(struct smc_ring_rx *rx, u32 size)
{
	if (!smc_ring_size_is_valid(size))
		return -EINVAL;
	memset(rx, 0, sizeof(*rx));
	rx->size = size;
	return 0;
}

/**
 * smc_ring_rx_lend() - Lend the next bytes to the application in place
 * @rx: receive side
 * @len: number of bytes
 *
 * The bytes are consumed, but the peer must not overwrite them, nor bytes consumed after them,
 * until smc_ring_rx_return().
 *
 * Return: 0, or -EINVAL if fewer are readable.
 */
int smc_ring_rx_lend(struct smc_ring_rx *rx, u32 len)
{
	if (!len || len > smc_ring_rx_readable(rx))
		return -EINVAL;
	rx->lent_start = smc_ring_rx_cursor_pos(rx);
	WRITE_ONCE(rx->consumed, rx->consumed + len);
	rx->lent_end = rx->consumed;
	return 0;
}

/**
 * smc_ring_rx_return() - Account for returned bytes, the first ones of those lent
 * @rx: receive side
 * @len: number of bytes
 *
 * Return: 0, or -EINVAL if fewer were lent.
 */
int smc_ring_rx_return(struct smc_ring_rx *rx, u32 len)
{
	if (rx->lent_start >= rx->lent_end || len > rx->lent_end - rx->lent_start)
		return -EINVAL;
	rx->lent_start += len;
	return 0;
}

/**
 * smc_ring_rx_withheld() - Return how much of the ring lent bytes withhold from the peer
 * @rx: receive side
 *
 * Return: consumed bytes that are not behind the consumer cursor.
 */
u32 smc_ring_rx_withheld(const struct smc_ring_rx *rx)
{
	return (u32)(rx->consumed - smc_ring_rx_cursor_pos(rx));
}

/**
 * smc_ring_rx_take_cursor() - Take over the producer cursor and the flags of a CDC message
 * @rx: receive side
 * @wire: the cursor
 * @blocked: flag B
 * @asks: flag R
 *
 * Call it only if the sequence number of the message is not old: its flags replace the known ones,
 * even if the cursor is repeated.
 *
 * Return: enum smc_cursor_change, or -EPROTO with nothing changed if the peer claims to have
 * overwritten unread bytes.
 */
int smc_ring_rx_take_cursor(struct smc_ring_rx *rx, const struct smc_cdc_cursor *wire, bool blocked,
			    bool asks)
{
	/*
	 * The peer may write at most one ring beyond the last consumer cursor that it received,
	 * which is never beyond the last one that was posted.
	 */
	u64 limit = rx->announced + rx->size;
	u64 pos;
	int rc = smc_cursor_advance(rx->produced, limit, rx->size, wire, &pos);

	if (rc < 0)
		return rc;
	WRITE_ONCE(rx->produced, pos);
	rx->peer_blocked = blocked;
	rx->peer_requests = asks;
	return rc;
}

/* Same as smc_ring_rx_weigh_update() without forced updates, for a consumer cursor at @cursor. */
static enum smc_cursor_update ring_rx_update_at(const struct smc_ring_rx *rx, u64 cursor)
{
	u32 gain = (u32)(cursor - rx->announced);
	u32 seen = rx->size - (u32)(rx->produced - rx->announced);
	u32 step = rx->size / 8;

	if (!gain)
		return SMC_CURSOR_UPDATE_NONE;
	if (rx->peer_requests)
		return SMC_CURSOR_UPDATE_NOW;
	if (rx->peer_blocked || seen < step)
		return gain >= step || !smc_ring_rx_readable(rx) ? SMC_CURSOR_UPDATE_NOW
								 : SMC_CURSOR_UPDATE_SOON;
	return seen < rx->size / 2 && gain >= step ? SMC_CURSOR_UPDATE_NOW : SMC_CURSOR_UPDATE_NONE;
}

/**
 * smc_ring_rx_weigh_update() - Decide how urgent a CDC message for the consumer cursor is
 * @rx: receive side
 *
 * RFC 7609 section 4.5.1, refined. While the peer can write, an update pays when the peer sees less
 * than half of the ring free and gains a part of it (an eighth here, a tenth in the RFC). With flag
 * B the RFC wants an update for each read: a reader of small records would send a message per
 * record, and the peer would answer with an equally small WRITE. Here, with B, an update is due at
 * once when an eighth is gained or nothing is left to read: then both ends are idle, and waiting
 * for any share of the ring would make the stream stutter. In between an update is due soon,
 * because the reader is likely to read on. A peer that sees almost no window counts as blocked: it
 * may have filled the ring exactly and got more to send when it had no CDC message left for B.
 *
 * So whenever the peer is blocked and anything was consumed, an update is due now or soon. A caller
 * without a timer has to treat SOON as NOW.
 *
 * Return: enum smc_cursor_update.
 */
enum smc_cursor_update smc_ring_rx_weigh_update(const struct smc_ring_rx *rx)
{
	u64 cursor = smc_ring_rx_cursor_pos(rx);

	if (rx->force || (rx->force_pos && cursor >= rx->force_pos))
		return SMC_CURSOR_UPDATE_NOW;
	return ring_rx_update_at(rx, cursor);
}

/**
 * smc_ring_rx_starved() - Check whether the peer needs the bytes that are lent
 * @rx: receive side
 *
 * Return: true if returning all lent bytes would make an update due.
 */
bool smc_ring_rx_starved(const struct smc_ring_rx *rx)
{
	return rx->lent_start < rx->lent_end &&
	       (rx->force || rx->force_pos ||
		ring_rx_update_at(rx, rx->consumed) != SMC_CURSOR_UPDATE_NONE);
}

/**
 * smc_ring_rx_force_update() - Make an update due regardless of the window
 * @rx: receive side
 *
 * After a link change, because the last update may be lost; and after urgent data was read, because
 * the peer waits for that (RFC 7609 section 4.7.5).
 */
void smc_ring_rx_force_update(struct smc_ring_rx *rx)
{
	rx->force = true;
}

/**
 * smc_cursor_change_str() - Return the name of an outcome, for logs and tests
 * @move: outcome of taking over a cursor
 *
 * Return: constant string.
 */
const char *smc_cursor_change_str(enum smc_cursor_change move)
{
	switch (move) {
	case SMC_CURSOR_SAME:
		return "same";
	case SMC_CURSOR_NEWER:
		return "newer";
	case SMC_CURSOR_STALE:
		return "stale";
	}
	return "?";
}

/**
 * smc_cursor_update_str() - Return the name of an urgency, for logs and tests
 * @update: urgency of a consumer cursor update
 *
 * Return: constant string.
 */
const char *smc_cursor_update_str(enum smc_cursor_update update)
{
	switch (update) {
	case SMC_CURSOR_UPDATE_NONE:
		return "none";
	case SMC_CURSOR_UPDATE_SOON:
		return "soon";
	case SMC_CURSOR_UPDATE_NOW:
		return "now";
	}
	return "?";
}
