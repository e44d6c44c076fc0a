/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ring cursors and the plan of RDMA WRITEs (RFC 7609 sections 4.3, 4.5.1, 4.6).
 *
 * On the wire a cursor is a ring offset and a 16-bit count of wraps. In the host every cursor is a
 * position in the byte stream: a u64 that starts at 0 and only grows (only the send position can
 * step back, in a failover). All invariants are plain comparisons:
 *
 *   send ring     completed <= sent <= prepared <= completed + size
 *   peer's ring   peer_consumed <= sent_max <= peer_consumed + peer_size
 *                 while guarded  sent <= guard + peer_size, beyond it only as far as peer_consumed
 *   receive ring  consumed <= produced <= announced + size, announced <= consumed
 *                 while bytes are lent  announced <= lent_start < lent_end <= consumed
 *
 * No locks here. The caller changes a ring under the lock of its connection and decides which
 * single positions may be read without it.
 */
#ifndef SMC_PROTO_CURSOR_H
#define SMC_PROTO_CURSOR_H

#include <smc/proto/cdc_msg.h>
#include <smc/proto/types.h>

#define SMC_RING_MAX		(SMC_RMBE_SIZE_MIN << 15)

/*
 * A plan is not longer than the smaller ring, and where the bigger ring wraps the smaller one
 * wraps, too: at most one cut.
 */
#define SMC_PLAN_PIECES		2

/* For smc_ring_tx_plan(): no position to stop at. */
#define SMC_PLAN_NO_STOP	(~(u64)0)

/* Outcomes of taking over a cursor; -EPROTO is the bad one. */
enum smc_cursor_change {
	SMC_CURSOR_SAME = 0,	/* nothing new */
	SMC_CURSOR_NEWER = 1,	/* position advanced */
	SMC_CURSOR_STALE = 2,	/* older than the known position: ignored */
};

/**
 * struct smc_ring_span - Contiguous part of a local ring
 * @off: offset in the ring
 * @len: bytes
 */
struct smc_ring_span {
	u32 off;
	u32 len;
};

/**
 * struct smc_ring_piece - One RDMA WRITE: contiguous in both rings
 * @src: offset in the send ring
 * @dst: offset in the peer's RMBE
 * @len: bytes
 */
struct smc_ring_piece {
	u32 src;
	u32 dst;
	u32 len;
};

/**
 * struct smc_ring_tx - Send side of a connection
 * @prepared: end of the bytes that the user has copied into the send ring
 * @sent: next byte to WRITE; the producer cursor in CDC messages
 * @sent_max: highest @sent ever; a rewind does not lower it, and the peer may confirm up to here
 * @posted: end of the last WRITE posted in this epoch
 * @completed: all bytes before it are acknowledged by the peer's RNIC; their space in the send ring
 *	is free
 * @peer_consumed: position that the peer's application has read up to, from its CDC messages
 * @repeat_end: @sent_max when the link changed last: bytes before it may be WRITEs repeated over
 *	the present link
 * @guard: valid if @guarded: a WRITE over a link that was left may still hit the peer's RMBE from
 *	this position on
 * @epoch: number of rewinds; completions of older epochs are ignored
 * @size: bytes of the send ring, a power of two
 * @peer_size: bytes of the peer's RMBE
 * @reserve: bytes of the peer's RMBE kept unused in normal operation, for peers that do not repeat
 *	a consumer cursor update that was lost with a link
 * @request_update: the link changed and no CDC message has arrived over the new one: every CDC
 *	message has flag R (update requested), and the reserve may be used
 * @guarded: the peer may not have fenced the links that were left, see smc_ring_tx_rewind():
 *	nothing is written from @guard + @peer_size on
 */
struct smc_ring_tx {
	u64 prepared;
	u64 sent;
	u64 sent_max;
	u64 posted;
	u64 completed;
	u64 peer_consumed;
	u64 repeat_end;
	u64 guard;
	u32 epoch;
	u32 size;
	u32 peer_size;
	u32 reserve;
	bool request_update;
	bool guarded;
};

/**
 * struct smc_ring_rx - Receive side of a connection
 * @produced: end of what the peer has written, from its CDC messages
 * @consumed: end of what the application has read; the consumer cursor, unless bytes are lent
 * @lent_start: while bytes are lent: the first lent byte, which is then the consumer cursor
 * @lent_end: end of the bytes lent in place; bytes are lent if it is beyond @lent_start
 * @announced: consumer cursor in the last CDC message that was posted
 * @force_pos: make an update due when the consumer cursor gets there; 0: unset
 * @size: bytes of our RMBE
 * @peer_blocked: flag B of the last CDC message: the peer has data and no window
 * @peer_requests: flag R of the last CDC message: the peer requests our cursor
 * @force: an update is due regardless of the window (link changed, urgent data read)
 */
struct smc_ring_rx {
	u64 produced;
	u64 consumed;
	u64 lent_start;
	u64 lent_end;
	u64 announced;
	u64 force_pos;
	u32 size;
	bool peer_blocked;
	bool peer_requests;
	bool force;
};

/* Urgency of a CDC message for the consumer cursor alone. */
enum smc_cursor_update {
	SMC_CURSOR_UPDATE_NONE = 0,	/* the next CDC message for another reason is enough */
	SMC_CURSOR_UPDATE_SOON = 1,	/* send unless more is read within about a millisecond */
	SMC_CURSOR_UPDATE_NOW = 2,	/* send at once */
};

bool smc_ring_size_is_valid(u32 size);
int smc_cursor_advance(u64 cur, u64 limit, u32 size, const struct smc_cdc_cursor *wire, u64 *pos);

int smc_ring_tx_init(struct smc_ring_tx *tx, u32 size, u32 peer_size, u32 reserve);
void smc_ring_tx_purge(struct smc_ring_tx *tx);
unsigned int smc_ring_tx_plan(const struct smc_ring_tx *tx, u64 stop, u32 max_bytes,
			      struct smc_ring_piece out[SMC_PLAN_PIECES]);
bool smc_ring_tx_complete(struct smc_ring_tx *tx, u32 epoch, u64 pos);
int smc_ring_tx_take_cursor(struct smc_ring_tx *tx, const struct smc_cdc_cursor *wire);
void smc_ring_tx_rewind(struct smc_ring_tx *tx, bool fences);
void smc_ring_tx_give_up(struct smc_ring_tx *tx);
bool smc_ring_tx_end_guard(struct smc_ring_tx *tx);

int smc_ring_rx_init(struct smc_ring_rx *rx, u32 size);
int smc_ring_rx_lend(struct smc_ring_rx *rx, u32 len);
int smc_ring_rx_return(struct smc_ring_rx *rx, u32 len);
u32 smc_ring_rx_withheld(const struct smc_ring_rx *rx);
bool smc_ring_rx_starved(const struct smc_ring_rx *rx);
int smc_ring_rx_take_cursor(struct smc_ring_rx *rx, const struct smc_cdc_cursor *wire, bool blocked,
			    bool asks);
enum smc_cursor_update smc_ring_rx_weigh_update(const struct smc_ring_rx *rx);
void smc_ring_rx_force_update(struct smc_ring_rx *rx);

/*
 * The steps of every message and every call are inline: as calls they would cost more than what
 * they do.
 */

static inline u32 smc_ring_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u64 smc_ring_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u32 smc_ring_offset(u64 pos, u32 size)
{
	return (u32)pos & (size - 1);
}

/* Split one run of the ring into at most two contiguous parts. */
static inline unsigned int smc_ring_fill_spans(u64 pos, u32 len, u32 size,
					       struct smc_ring_span out[2])
{
	u32 off = smc_ring_offset(pos, size);
	u32 first = smc_ring_min(len, size - off);

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
 * smc_cursor_from_pos() - Convert a position to wire form
 * @pos: position in the stream
 * @size: size of the ring that the cursor points into
 * @cursor: set to the wire form
 */
static inline void smc_cursor_from_pos(u64 pos, u32 size, struct smc_cdc_cursor *cursor)
{
	cursor->off = smc_ring_offset(pos, size);
	cursor->wrap = (u16)(pos >> __builtin_ctz(size));
}

/**
 * smc_ring_tx_free_bytes() - Return the free space of the send ring
 * @tx: send side
 *
 * Return: bytes.
 */
static inline u32 smc_ring_tx_free_bytes(const struct smc_ring_tx *tx)
{
	return tx->size - (u32)(tx->prepared - tx->completed);
}

/**
 * smc_ring_tx_get_spans() - Find the place of the user's next bytes in the send ring
 * @tx: send side
 * @want: bytes that the user has
 * @out: filled with at most two parts, together min(@want, free) bytes
 *
 * Return: number of parts, 0 if the ring is full.
 */
static inline unsigned int smc_ring_tx_get_spans(const struct smc_ring_tx *tx, u32 want,
						 struct smc_ring_span out[2])
{
	return smc_ring_fill_spans(tx->prepared, smc_ring_min(want, smc_ring_tx_free_bytes(tx)),
				   tx->size, out);
}

/**
 * smc_ring_tx_prepare() - Account for bytes that were copied into the send ring
 * @tx: send side
 * @len: number of bytes
 *
 * Return: 0, or -EINVAL if they exceed the free space.
 */
static inline int smc_ring_tx_prepare(struct smc_ring_tx *tx, u32 len)
{
	if (len > smc_ring_tx_free_bytes(tx))
		return -EINVAL;
	WRITE_ONCE(tx->prepared, tx->prepared + len);
	return 0;
}

/**
 * smc_ring_tx_unsent() - Return how much waits for a WRITE
 * @tx: send side
 *
 * Return: bytes.
 */
static inline u32 smc_ring_tx_unsent(const struct smc_ring_tx *tx)
{
	return (u32)(tx->prepared - tx->sent);
}

/* Bytes of the peer's RMBE that may be written now, reserve included. */
static inline u32 smc_ring_tx_peer_room(const struct smc_ring_tx *tx)
{
	u32 room = tx->peer_size - (u32)(tx->sent - tx->peer_consumed);

	if (!tx->guarded)
		return room;
	/* not beyond the guard; the peer may have consumed bytes that are already there */
	if (tx->sent >= tx->guard + tx->peer_size)
		return 0;
	return smc_ring_min(room, (u32)(tx->guard + tx->peer_size - tx->sent));
}

/**
 * smc_ring_tx_window() - Return how much may be written to the peer in normal operation
 * @tx: send side
 *
 * Return: bytes, 0 if the window is closed.
 */
static inline u32 smc_ring_tx_window(const struct smc_ring_tx *tx)
{
	u32 room = smc_ring_tx_peer_room(tx);

	return room > tx->reserve ? room - tx->reserve : 0;
}

/**
 * smc_ring_tx_has_room() - Check whether the peer's RMBE takes a byte at all
 * @tx: send side
 *
 * Return: false if smc_ring_tx_plan() finds no room, neither in the window nor in the reserve.
 */
static inline bool smc_ring_tx_has_room(const struct smc_ring_tx *tx)
{
	u32 room = smc_ring_tx_peer_room(tx);

	return room > (tx->request_update ? 0 : tx->reserve);
}

/**
 * smc_ring_tx_blocked() - Check whether the writer is blocked (flag B)
 * @tx: send side
 *
 * Call it after smc_ring_tx_note_posted(), for the CDC message that follows the WRITEs.
 *
 * Return: true if more is queued than the window takes.
 */
static inline bool smc_ring_tx_blocked(const struct smc_ring_tx *tx)
{
	return smc_ring_tx_unsent(tx) > smc_ring_tx_window(tx);
}

/**
 * smc_ring_tx_drained() - Check whether the peer's RNIC has acknowledged everything
 * @tx: send side
 *
 * Return: true if nothing is queued or in flight.
 */
static inline bool smc_ring_tx_drained(const struct smc_ring_tx *tx)
{
	return tx->completed == tx->prepared;
}

/**
 * smc_ring_tx_note_posted() - Account for posted WRITEs
 * @tx: send side
 * @len: sum of the planned pieces
 *
 * Return: 0, or -EINVAL if no plan can have covered so many bytes.
 */
static inline int smc_ring_tx_note_posted(struct smc_ring_tx *tx, u32 len)
{
	if (len > smc_ring_tx_unsent(tx) || len > smc_ring_tx_peer_room(tx))
		return -EINVAL;
	WRITE_ONCE(tx->sent, tx->sent + len);
	tx->posted = tx->sent;
	tx->sent_max = smc_ring_max(tx->sent_max, tx->sent);
	return 0;
}

/**
 * smc_ring_tx_note_cdc() - Note that a CDC message arrived over the present link
 * @tx: send side
 *
 * Not for a failover validation: only other messages carry the peer's consumer cursor, so that no
 * update can be missing any more.
 */
static inline void smc_ring_tx_note_cdc(struct smc_ring_tx *tx)
{
	tx->request_update = false;
}

/**
 * smc_ring_tx_get_cursor() - Return the producer cursor for a CDC message
 * @tx: send side
 * @cursor: set to the wire form
 */
static inline void smc_ring_tx_get_cursor(const struct smc_ring_tx *tx,
					  struct smc_cdc_cursor *cursor)
{
	smc_cursor_from_pos(tx->sent, tx->peer_size, cursor);
}

/**
 * smc_ring_rx_readable() - Return how much waits for the application
 * @rx: receive side
 *
 * Return: bytes.
 */
static inline u32 smc_ring_rx_readable(const struct smc_ring_rx *rx)
{
	return (u32)(rx->produced - rx->consumed);
}

/**
 * smc_ring_rx_advance() - Take over a producer cursor that is known by its distance
 * @rx: receive side
 * @advance: from the position known so far; 0 or less if the cursor is not new
 *
 * For an immediate value, which says nothing of the peer's window: flag B stays, R is not set.
 *
 * Return: as smc_ring_rx_take_cursor() for a cursor at that position.
 */
static inline int smc_ring_rx_advance(struct smc_ring_rx *rx, s32 advance)
{
	if (advance > 0) {
		/* at most one ring beyond the last consumer cursor that was posted */
		if ((u32)advance > (u32)(rx->announced + rx->size - rx->produced))
			return -EPROTO;
		WRITE_ONCE(rx->produced, rx->produced + (u32)advance);
	} else if (advance < 0 && (-(u32)advance > rx->size || -(u32)advance > rx->produced)) {
		return -EPROTO;
	}
	rx->peer_requests = false;
	if (advance > 0)
		return SMC_CURSOR_NEWER;
	return advance ? SMC_CURSOR_STALE : SMC_CURSOR_SAME;
}

/**
 * smc_ring_rx_get_spans() - Find the application's next bytes in the RMBE
 * @rx: receive side
 * @skip: bytes to skip first (for MSG_PEEK)
 * @want: bytes that the application has room for
 * @out: filled with at most two parts
 *
 * Return: number of parts, 0 if there is nothing to read.
 */
static inline unsigned int smc_ring_rx_get_spans(const struct smc_ring_rx *rx, u32 skip, u32 want,
						 struct smc_ring_span out[2])
{
	u32 readable = smc_ring_rx_readable(rx);

	if (skip >= readable)
		return 0;
	return smc_ring_fill_spans(rx->consumed + skip, smc_ring_min(want, readable - skip),
				   rx->size, out);
}

/**
 * smc_ring_rx_consume() - Account for bytes copied to the application
 * @rx: receive side
 * @len: number of bytes
 *
 * Return: 0, or -EINVAL if fewer are readable.
 */
static inline int smc_ring_rx_consume(struct smc_ring_rx *rx, u32 len)
{
	if (len > smc_ring_rx_readable(rx))
		return -EINVAL;
	WRITE_ONCE(rx->consumed, rx->consumed + len);
	return 0;
}

/* Position of the consumer cursor: the peer may overwrite all before it. */
static inline u64 smc_ring_rx_cursor_pos(const struct smc_ring_rx *rx)
{
	return rx->lent_start < rx->lent_end ? rx->lent_start : rx->consumed;
}

/**
 * smc_ring_rx_get_lent() - Return the span of lent bytes
 * @rx: receive side
 * @off: set to the ring offset of the first lent byte, unchanged if none is lent
 *
 * Return: bytes up to the last lent byte, copied bytes in between included; 0 if none is lent.
 */
static inline u32 smc_ring_rx_get_lent(const struct smc_ring_rx *rx, u32 *off)
{
	if (rx->lent_start >= rx->lent_end)
		return 0;
	*off = smc_ring_offset(rx->lent_start, rx->size);
	return (u32)(rx->lent_end - rx->lent_start);
}

/**
 * smc_ring_rx_has_lent() - Check whether bytes are lent
 * @rx: receive side
 *
 * Return: true if so.
 */
static inline bool smc_ring_rx_has_lent(const struct smc_ring_rx *rx)
{
	return rx->lent_start < rx->lent_end;
}

/**
 * smc_ring_rx_update_due() - Check whether the consumer cursor needs a CDC message of its own
 * @rx: receive side
 *
 * Return: enum smc_cursor_update, as smc_ring_rx_weigh_update().
 */
static inline enum smc_cursor_update smc_ring_rx_update_due(const struct smc_ring_rx *rx)
{
	/* nothing was asked for, and the peer sees at least half of the ring free */
	if (!rx->force && !rx->force_pos && !rx->peer_requests && !rx->peer_blocked &&
	    (u32)(rx->produced - rx->announced) <= rx->size / 2)
		return SMC_CURSOR_UPDATE_NONE;
	return smc_ring_rx_weigh_update(rx);
}

/**
 * smc_ring_rx_note_announced() - Note that a CDC message with the present consumer cursor was
 * posted
 * @rx: receive side
 */
static inline void smc_ring_rx_note_announced(struct smc_ring_rx *rx)
{
	rx->announced = smc_ring_rx_cursor_pos(rx);
	/*
	 * A forced update has to cover all bytes consumed so far. Lent bytes keep the cursor
	 * behind: another update is due when they are back.
	 */
	if (rx->force && rx->announced < rx->consumed)
		rx->force_pos = rx->consumed;
	else if (rx->announced >= rx->force_pos)
		rx->force_pos = 0;
	rx->force = false;
}

/**
 * smc_ring_rx_get_cursor() - Return the consumer cursor for a CDC message
 * @rx: receive side
 * @cursor: set to the wire form
 */
static inline void smc_ring_rx_get_cursor(const struct smc_ring_rx *rx,
					  struct smc_cdc_cursor *cursor)
{
	smc_cursor_from_pos(smc_ring_rx_cursor_pos(rx), rx->size, cursor);
}

const char *smc_cursor_change_str(enum smc_cursor_change move);
const char *smc_cursor_update_str(enum smc_cursor_update update);

#endif /* SMC_PROTO_CURSOR_H */
