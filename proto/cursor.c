// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ring cursors and the write plan, see cursor.h.
 *
 * Every size is a power of two, so that no division is needed: 32-bit
 * kernels have none for 64-bit positions.
 */
#include <smc/proto/cursor.h>

static u32 ring_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static u64 ring_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u32 ring_offset(u64 pos, u32 size)
{
	return (u32)pos & (size - 1);
}

/* One run of the ring as at most two contiguous parts. */
static unsigned int ring_fill_spans(u64 pos, u32 len, u32 size, struct smc_span out[2])
{
	u32 off = ring_offset(pos, size);
	u32 first = ring_min(len, size - off);

	if (!len)
		return 0;
	out[0].off = off;
	out[0].len = first;
	if (first == len)
		return 1;
	out[1].off = 0;
	out[1].len = len - first;
	return 2;
}

/**
 * smc_ring_size_ok() - check a ring size
 * @size: bytes
 *
 * Return: true for a power of two that the protocol can announce.
 */
bool smc_ring_size_ok(u32 size)
{
	return size >= SMC_RMBE_SIZE_MIN && size <= SMC_RING_MAX && !(size & (size - 1));
}

/**
 * smc_cursor_from_pos() - wire form of a position
 * @pos: position in the stream
 * @size: size of the ring that the cursor points into
 * @cursor: set to the wire form
 */
void smc_cursor_from_pos(u64 pos, u32 size, struct smc_cdc_cursor *cursor)
{
	cursor->off = ring_offset(pos, size);
	cursor->wrap = (u16)(pos >> __builtin_ctz(size));
}

/**
 * smc_cursor_advance() - take a cursor of the peer over
 * @cur: position known so far
 * @limit: furthest position that the peer may have reached, at most @size away
 * @size: size of the ring that the cursor points into
 * @wire: the cursor
 * @pos: set to the new position, to @cur if there is nothing new
 *
 * The wire form names a position modulo 65536 rings. Of the positions it can
 * mean, one is at or after @cur; it counts if it does not pass @limit. Up to
 * one ring before @cur is what a failover repeats, and is ignored. Everything
 * else has never been valid.
 *
 * Return: enum smc_cursor_move, or -EPROTO with @pos untouched.
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
 * smc_ring_tx_init() - start of a connection, send side
 * @tx: to be set up
 * @size: bytes of the send ring
 * @peer_size: bytes of the peer's element
 * @reserve: bytes of it to leave unused, less than @peer_size
 *
 * Return: 0, or -EINVAL for sizes that no ring has.
 */
int smc_ring_tx_init(struct smc_ring_tx *tx, u32 size, u32 peer_size, u32 reserve)
{
	if (!smc_ring_size_ok(size) || !smc_ring_size_ok(peer_size) || reserve >= peer_size)
		return -EINVAL;
	memset(tx, 0, sizeof(*tx));
	tx->size = size;
	tx->peer_size = peer_size;
	tx->reserve = reserve;
	return 0;
}

/**
 * smc_ring_tx_free() - room for the user's bytes in the send ring
 * @tx: send side
 *
 * Return: bytes.
 */
u32 smc_ring_tx_free(const struct smc_ring_tx *tx)
{
	return tx->size - (u32)(tx->prepared - tx->completed);
}

/**
 * smc_ring_tx_spans() - where the user's next bytes go
 * @tx: send side
 * @want: bytes the user has
 * @out: filled with at most two parts, together min(@want, free) bytes
 *
 * Return: number of parts, 0 if the ring is full.
 */
unsigned int smc_ring_tx_spans(const struct smc_ring_tx *tx, u32 want, struct smc_span out[2])
{
	return ring_fill_spans(tx->prepared, ring_min(want, smc_ring_tx_free(tx)), tx->size, out);
}

/**
 * smc_ring_tx_prepare() - bytes were copied into the send ring
 * @tx: send side
 * @len: how many
 *
 * Return: 0, or -EINVAL if there was no room for so many.
 */
int smc_ring_tx_prepare(struct smc_ring_tx *tx, u32 len)
{
	if (len > smc_ring_tx_free(tx))
		return -EINVAL;
	tx->prepared += len;
	return 0;
}

/**
 * smc_ring_tx_purge() - what was not sent is not sent any more
 * @tx: send side
 *
 * After smc_ring_tx_rewind() that is also what was sent over the link before.
 */
void smc_ring_tx_purge(struct smc_ring_tx *tx)
{
	tx->prepared = tx->sent;
}

/**
 * smc_ring_tx_unsent() - bytes that wait for a WRITE
 * @tx: send side
 *
 * Return: bytes.
 */
u32 smc_ring_tx_unsent(const struct smc_ring_tx *tx)
{
	return (u32)(tx->prepared - tx->sent);
}

/* What is free in the peer's element, reserve included. */
static u32 ring_tx_peer_room(const struct smc_ring_tx *tx)
{
	return tx->peer_size - (u32)(tx->sent - tx->peer_consumed);
}

/**
 * smc_ring_tx_window() - bytes that may be written to the peer in normal operation
 * @tx: send side
 *
 * Return: bytes, 0 if the window is closed.
 */
u32 smc_ring_tx_window(const struct smc_ring_tx *tx)
{
	u32 room = ring_tx_peer_room(tx);

	return room > tx->reserve ? room - tx->reserve : 0;
}

/**
 * smc_ring_tx_blocked() - is the writer blocked (flag B)
 * @tx: send side
 *
 * To be asked after smc_ring_tx_sent(), for the CDC that goes with the WRITEs.
 *
 * Return: true if more is queued than the window takes.
 */
bool smc_ring_tx_blocked(const struct smc_ring_tx *tx)
{
	return smc_ring_tx_unsent(tx) > smc_ring_tx_window(tx);
}

/**
 * smc_ring_tx_drained() - has the peer's RNIC acknowledged everything
 * @tx: send side
 *
 * Return: true if nothing is queued or in flight.
 */
bool smc_ring_tx_drained(const struct smc_ring_tx *tx)
{
	return tx->completed == tx->prepared;
}

/*
 * After a link change the window may be open in truth and closed only because
 * the update that said so was lost. A peer that does not repeat it speaks when
 * its reader gets something to read, so one byte at a time comes out of the
 * reserve. A reader asleep is not woken by an urgent byte, so this one is not
 * left behind for a probe of its own if it can be avoided.
 */
static u32 ring_tx_probe_len(const struct smc_ring_tx *tx, u64 stop)
{
	u32 room = ring_tx_peer_room(tx);

	if (!tx->ask || !room)
		return 0;
	return stop - tx->sent == 2 && room > 1 ? 2 : 1;
}

/*
 * An urgent byte that comes alone can be missed for ever: in-tree readers pass it on the way to
 * the next byte, which does not come before that. So the byte before it waits for it; if that
 * is the only one that the window takes, for more window (flag B stands), or for none where
 * there is a reserve.
 */
static u32 ring_tx_pair_urgent(const struct smc_ring_tx *tx, u32 len, u32 max_bytes)
{
	if (len > 1)
		return len - 1;
	if (!smc_ring_tx_window(tx) || max_bytes < 2)
		return len;
	return ring_tx_peer_room(tx) > 1 ? 2 : 0;
}

/**
 * smc_ring_tx_plan() - which WRITEs to post next
 * @tx: send side
 * @stop: position not to pass: one past an urgent byte, or SMC_PLAN_NO_STOP
 * @max_bytes: no more than this
 * @out: filled with at most SMC_PLAN_PIECES pieces in stream order
 *
 * The byte before @stop is not left alone if there is another before it. Changes nothing:
 * smc_ring_tx_sent() takes the sum of the pieces over.
 *
 * Return: number of pieces, 0 if there is nothing to write or no window.
 */
unsigned int smc_ring_tx_plan(const struct smc_ring_tx *tx, u64 stop, u32 max_bytes,
			      struct smc_write_piece out[SMC_PLAN_PIECES])
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
	left = ring_min(left, ring_min(limit, max_bytes));
	if (left && stop - tx->sent - left == 1)
		left = ring_tx_pair_urgent(tx, left, max_bytes);
	while (left) {
		struct smc_write_piece *piece = &out[n++];

		piece->src = ring_offset(pos, tx->size);
		piece->dst = ring_offset(pos, tx->peer_size);
		piece->len = ring_min(left, ring_min(tx->size - piece->src,
						     tx->peer_size - piece->dst));
		pos += piece->len;
		left -= piece->len;
	}
	return n;
}

/**
 * smc_ring_tx_sent() - WRITEs were posted
 * @tx: send side
 * @len: bytes, as planned
 *
 * Return: 0, or -EINVAL if no plan can have covered so many.
 */
int smc_ring_tx_sent(struct smc_ring_tx *tx, u32 len)
{
	if (len > smc_ring_tx_unsent(tx) || len > ring_tx_peer_room(tx))
		return -EINVAL;
	tx->sent += len;
	tx->posted = tx->sent;
	tx->sent_max = ring_max(tx->sent_max, tx->sent);
	return 0;
}

/*
 * With no WRITE in flight all before the send position is done with. That
 * includes bytes which the peer confirmed before they were written again, for
 * which no completion will ever come.
 */
static void ring_tx_settle(struct smc_ring_tx *tx)
{
	if (tx->completed != tx->posted)
		return;
	tx->completed = tx->sent;
	tx->posted = tx->sent;
}

/**
 * smc_ring_tx_complete() - WRITEs were acknowledged by the peer's RNIC
 * @tx: send side
 * @epoch: &smc_ring_tx.epoch when they were posted
 * @pos: &smc_ring_tx.sent after they were posted
 *
 * A success that is reported after the connection was moved to another link
 * is ignored: the same bytes are on their way again, and their memory is in
 * use again.
 *
 * Return: true if space became free in the send ring.
 */
bool smc_ring_tx_complete(struct smc_ring_tx *tx, u32 epoch, u64 pos)
{
	if (epoch != tx->epoch || pos <= tx->completed || pos > tx->posted)
		return false;
	tx->completed = pos;
	ring_tx_settle(tx);
	return true;
}

/**
 * smc_ring_tx_peer() - take the consumer cursor of a CDC over
 * @tx: send side
 * @wire: the cursor
 *
 * Return: enum smc_cursor_move, or -EPROTO with nothing changed if the peer
 * claims to have consumed what was never written.
 */
int smc_ring_tx_peer(struct smc_ring_tx *tx, const struct smc_cdc_cursor *wire)
{
	u64 pos;
	int rc = smc_cursor_advance(tx->peer_consumed, tx->sent_max, tx->peer_size, wire, &pos);

	if (rc != SMC_CURSOR_NEWER)
		return rc;
	tx->peer_consumed = pos;
	if (pos > tx->sent) {
		/* rewound, but the peer had got it and has even read it */
		tx->sent = pos;
		/* purged since: nothing is behind that */
		tx->prepared = ring_max(tx->prepared, pos);
		ring_tx_settle(tx);
	}
	return rc;
}

/**
 * smc_ring_tx_heard() - a CDC other than a validation came over the present link
 * @tx: send side
 *
 * Such a CDC carries the peer's cursor: nothing is lost any more.
 */
void smc_ring_tx_heard(struct smc_ring_tx *tx)
{
	tx->ask = false;
}

/**
 * smc_ring_tx_rewind() - the connection moved to another link
 * @tx: send side
 *
 * What was posted and not acknowledged has to be written again (RFC 7609
 * section 4.6.2), except what the peer has read. The queue pair of the old
 * link has to be in ERR before; its completions belong to the old epoch.
 */
void smc_ring_tx_rewind(struct smc_ring_tx *tx)
{
	tx->sent = ring_max(tx->completed, tx->peer_consumed);
	tx->posted = tx->sent;
	tx->completed = tx->sent;
	tx->epoch++;
	tx->ask = true;
}

/**
 * smc_ring_tx_cursor() - producer cursor for a CDC
 * @tx: send side
 * @cursor: set to the wire form
 */
void smc_ring_tx_cursor(const struct smc_ring_tx *tx, struct smc_cdc_cursor *cursor)
{
	smc_cursor_from_pos(tx->sent, tx->peer_size, cursor);
}

/**
 * smc_ring_rx_init() - start of a connection, receive side
 * @rx: to be set up
 * @size: bytes of our element
 *
 * Return: 0, or -EINVAL for a size that no ring has.
 */
int smc_ring_rx_init(struct smc_ring_rx *rx, u32 size)
{
	if (!smc_ring_size_ok(size))
		return -EINVAL;
	memset(rx, 0, sizeof(*rx));
	rx->size = size;
	return 0;
}

/**
 * smc_ring_rx_readable() - bytes that wait for the application
 * @rx: receive side
 *
 * Return: bytes.
 */
u32 smc_ring_rx_readable(const struct smc_ring_rx *rx)
{
	return (u32)(rx->produced - rx->consumed);
}

/**
 * smc_ring_rx_spans() - where the application's next bytes are
 * @rx: receive side
 * @skip: leave out so many first (for a peek)
 * @want: bytes the application has room for
 * @out: filled with at most two parts
 *
 * Return: number of parts, 0 if there is nothing to read.
 */
unsigned int smc_ring_rx_spans(const struct smc_ring_rx *rx, u32 skip, u32 want,
			       struct smc_span out[2])
{
	u32 readable = smc_ring_rx_readable(rx);

	if (skip >= readable)
		return 0;
	return ring_fill_spans(rx->consumed + skip, ring_min(want, readable - skip), rx->size, out);
}

/**
 * smc_ring_rx_consume() - bytes were copied to the application
 * @rx: receive side
 * @len: how many
 *
 * Return: 0, or -EINVAL if there are not so many.
 */
int smc_ring_rx_consume(struct smc_ring_rx *rx, u32 len)
{
	if (len > smc_ring_rx_readable(rx))
		return -EINVAL;
	rx->consumed += len;
	return 0;
}

/* What the peer may be told to write over: the consumer cursor. */
static u64 ring_rx_cursor_pos(const struct smc_ring_rx *rx)
{
	return rx->given < rx->lent ? rx->given : rx->consumed;
}

/**
 * smc_ring_rx_lend() - bytes were handed to the application where they lie
 * @rx: receive side
 * @len: how many, the next ones
 *
 * They are consumed, but the peer must not write over them, nor over what is consumed
 * behind them, before they were given back.
 *
 * Return: 0, or -EINVAL if there are not so many.
 */
int smc_ring_rx_lend(struct smc_ring_rx *rx, u32 len)
{
	if (!len || len > smc_ring_rx_readable(rx))
		return -EINVAL;
	rx->given = ring_rx_cursor_pos(rx);
	rx->consumed += len;
	rx->lent = rx->consumed;
	return 0;
}

/**
 * smc_ring_rx_out() - what has to come back next
 * @rx: receive side
 * @off: set to where in the ring the first byte is that is out
 *
 * Return: bytes up to the last one that is out, copied ones between them included; 0: none
 * is.
 */
u32 smc_ring_rx_out(const struct smc_ring_rx *rx, u32 *off)
{
	if (rx->given >= rx->lent)
		return 0;
	*off = ring_offset(rx->given, rx->size);
	return (u32)(rx->lent - rx->given);
}

/**
 * smc_ring_rx_give_back() - the first of the bytes that were out are back
 * @rx: receive side
 * @len: how many
 *
 * Return: 0, or -EINVAL if not so many were out.
 */
int smc_ring_rx_give_back(struct smc_ring_rx *rx, u32 len)
{
	if (rx->given >= rx->lent || len > rx->lent - rx->given)
		return -EINVAL;
	rx->given += len;
	return 0;
}

/**
 * smc_ring_rx_held() - how much of the ring the peer cannot have because bytes are out
 * @rx: receive side
 *
 * Return: bytes that are consumed and not behind the consumer cursor.
 */
u32 smc_ring_rx_held(const struct smc_ring_rx *rx)
{
	return (u32)(rx->consumed - ring_rx_cursor_pos(rx));
}

/**
 * smc_ring_rx_peer() - take the producer cursor and the flags of a CDC over
 * @rx: receive side
 * @wire: the cursor
 * @blocked: flag B
 * @asks: flag R
 *
 * Only to be called for a CDC whose sequence number is not old: its flags
 * replace those known, even where the cursor is a repetition.
 *
 * Return: enum smc_cursor_move, or -EPROTO with nothing changed if the peer
 * claims to have written over what is not read yet.
 */
int smc_ring_rx_peer(struct smc_ring_rx *rx, const struct smc_cdc_cursor *wire, bool blocked,
		     bool asks)
{
	/*
	 * The peer may write up to a ring after what it was told, and no
	 * further. @told can be ahead of what reached it, never behind.
	 */
	u64 limit = rx->told + rx->size;
	int rc = smc_cursor_advance(rx->produced, limit, rx->size, wire, &rx->produced);

	if (rc < 0)
		return rc;
	rx->peer_blocked = blocked;
	rx->peer_asks = asks;
	return rc;
}

/* See smc_ring_rx_update(), if the consumer cursor were at @cursor. */
static enum smc_update ring_rx_update_at(const struct smc_ring_rx *rx, u64 cursor)
{
	u32 gain = (u32)(cursor - rx->told);
	u32 seen = rx->size - (u32)(rx->produced - rx->told);
	u32 step = rx->size / 8;

	if (!gain)
		return SMC_UPDATE_NONE;
	if (rx->peer_asks)
		return SMC_UPDATE_NOW;
	if (rx->peer_blocked || seen < step)
		return gain >= step || !smc_ring_rx_readable(rx) ? SMC_UPDATE_NOW : SMC_UPDATE_SOON;
	return seen < rx->size / 2 && gain >= step ? SMC_UPDATE_NOW : SMC_UPDATE_NONE;
}

/**
 * smc_ring_rx_update() - does the consumer cursor need a CDC of its own
 * @rx: receive side
 *
 * RFC 7609 section 4.5.1, refined. While the peer can write, an update pays
 * when it sees less than half the ring and gains a part of it (here an eighth;
 * the RFC has a tenth). When the peer says B the RFC wants one for every read,
 * which makes a reader of small records pay a message per record and the peer
 * answer with as small a WRITE. Here B asks at once when an eighth is gained,
 * or when nothing is left to read: both ends are then idle, and waiting for any
 * share of the ring is what makes streams stutter. In between it asks soon,
 * since the reader may read on, but may as well wait for what the peer cannot
 * send. A peer that sees next to no window counts as blocked: it may have
 * filled the ring to the byte, and got more to send when it had no CDC left to
 * say B in.
 *
 * So whenever the peer cannot go on and anything was consumed, an update is
 * due now or soon. A caller without a timer has to treat SOON as NOW.
 *
 * Return: enum smc_update.
 */
enum smc_update smc_ring_rx_update(const struct smc_ring_rx *rx)
{
	u64 cursor = ring_rx_cursor_pos(rx);

	if (rx->force || (rx->force_at && cursor >= rx->force_at))
		return SMC_UPDATE_NOW;
	return ring_rx_update_at(rx, cursor);
}

/**
 * smc_ring_rx_starved() - does the peer need what is out?
 * @rx: receive side
 *
 * Return: true if it would be told of the bytes that are out, were they back.
 */
bool smc_ring_rx_starved(const struct smc_ring_rx *rx)
{
	return rx->given < rx->lent && (rx->force || rx->force_at ||
					ring_rx_update_at(rx, rx->consumed) != SMC_UPDATE_NONE);
}

/**
 * smc_ring_rx_told() - a CDC with the present consumer cursor was posted
 * @rx: receive side
 */
void smc_ring_rx_told(struct smc_ring_rx *rx)
{
	rx->told = ring_rx_cursor_pos(rx);
	/*
	 * An update was wanted whatever the window, and some of what was consumed is out: this one
	 * does not say all that it was wanted for. The one that does is due when that is back.
	 */
	if (rx->force && rx->told < rx->consumed)
		rx->force_at = rx->consumed;
	else if (rx->told >= rx->force_at)
		rx->force_at = 0;
	rx->force = false;
}

/**
 * smc_ring_rx_force() - tell the cursor again whatever the peer knows
 * @rx: receive side
 *
 * After a link change, because the last update may be lost; and after urgent
 * data was read, because the peer waits for that (RFC 7609 section 4.7.5).
 */
void smc_ring_rx_force(struct smc_ring_rx *rx)
{
	rx->force = true;
}

/**
 * smc_ring_rx_cursor() - consumer cursor for a CDC
 * @rx: receive side
 * @cursor: set to the wire form
 */
void smc_ring_rx_cursor(const struct smc_ring_rx *rx, struct smc_cdc_cursor *cursor)
{
	smc_cursor_from_pos(ring_rx_cursor_pos(rx), rx->size, cursor);
}

/**
 * smc_cursor_move_str() - name for logs and tests
 * @move: outcome of taking a cursor over
 *
 * Return: constant string.
 */
const char *smc_cursor_move_str(enum smc_cursor_move move)
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
 * smc_update_str() - name for logs and tests
 * @update: whether an update is due
 *
 * Return: constant string.
 */
const char *smc_update_str(enum smc_update update)
{
	switch (update) {
	case SMC_UPDATE_NONE:
		return "none";
	case SMC_UPDATE_SOON:
		return "soon";
	case SMC_UPDATE_NOW:
		return "now";
	}
	return "?";
}
