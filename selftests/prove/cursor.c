// SPDX-License-Identifier: GPL-2.0-only
/*
 * Laws of ring cursors: for every ring size, every position and every cursor that a peer may send.
 *
 * The rings are proved by induction: what a new ring fulfils, each operation here keeps. So it
 * holds after any number of them, in any order, with a peer that sends any cursors.
 */
#include <smc/proto/cursor.h>
#include "prove.h"

/* Positions begin at 0: no connection gets here within a thousand years at 100 Gbit/s. */
#define POS_MAX		(~0ULL >> 2)

static u32 any_rmbe_size(void)
{
	return smc_wire_bsize_to_len(nondet_u8());
}

static u64 any_pos(void)
{
	u64 pos = nondet_u64();

	GIVEN(pos <= POS_MAX);
	return pos;
}

/* A position that a sender may have reached is understood, and one that it had before is known. */
void cursor_roundtrip(void)
{
	u32 size = any_rmbe_size();
	u64 cur = any_pos(), limit = any_pos(), pos = any_pos(), got = nondet_u64();
	struct smc_cdc_cursor wire;
	int rc;

	GIVEN(limit >= cur && limit - cur <= size);
	GIVEN(pos <= limit && (pos >= cur || cur - pos <= size));
	smc_cursor_from_pos(pos, size, &wire);
	PROVE(wire.off < size);
	rc = smc_cursor_advance(cur, limit, size, &wire, &got);
	PROVE(rc == (pos > cur ? SMC_CURSOR_NEWER : pos == cur ? SMC_CURSOR_SAME :
							      SMC_CURSOR_STALE));
	PROVE(got == (pos > cur ? pos : cur));
}

/* No cursor leads back, or beyond what is allowed; one that is refused changes nothing. */
void cursor_accept(void)
{
	u32 size = any_rmbe_size();
	u64 cur = any_pos(), limit = any_pos(), before = nondet_u64(), pos = before;
	struct smc_cdc_cursor wire, again;
	int rc;

	GIVEN(limit >= cur && limit - cur <= size);
	rc = smc_cursor_advance(cur, limit, size, &wire, &pos);
	switch (rc) {
	case SMC_CURSOR_NEWER:
		PROVE(pos > cur && pos <= limit);
		smc_cursor_from_pos(pos, size, &again);
		PROVE(again.wrap == wire.wrap && again.off == wire.off);
		break;
	case SMC_CURSOR_SAME:
	case SMC_CURSOR_STALE:
		PROVE(pos == cur && wire.off < size);
		break;
	default:
		PROVE(rc == -EPROTO && pos == before);
	}
}

/* The parts are in the ring, together as long as the whole, and no byte is in both. */
void cursor_spans(void)
{
	u32 size = nondet_u32(), len = nondet_u32();
	struct smc_ring_span s[2] = { { 0, 0 }, { 0, 0 } };
	u64 pos = nondet_u64();
	unsigned int n;

	GIVEN(size && size <= SMC_RING_MAX && !(size & (size - 1)) && len <= size);
	n = smc_ring_fill_spans(pos, len, size, s);
	PROVE(n <= 2 && s[0].len + s[1].len == len);
	PROVE(s[0].off < size && s[0].len <= size - s[0].off);
	PROVE(n < 2 || (s[0].off + s[0].len == size && s[1].off == 0));
	PROVE(n < 2 || (s[0].len && s[1].len <= s[0].off));
	PROVE(!n || s[0].off == smc_ring_offset(pos, size));
}

/* What cursor.h says of the send side, and what that needs. */
static bool tx_is_sound(const struct smc_ring_tx *tx)
{
	return tx->size && tx->size <= SMC_RING_MAX && !(tx->size & (tx->size - 1)) &&
	       smc_ring_size_is_valid(tx->peer_size) && tx->reserve < tx->peer_size &&
	       tx->prepared <= POS_MAX && tx->guard <= POS_MAX &&
	       tx->completed <= tx->posted && tx->posted <= tx->sent &&
	       tx->sent <= tx->prepared && tx->prepared - tx->completed <= tx->size &&
	       tx->peer_consumed <= tx->sent && tx->sent <= tx->sent_max &&
	       tx->sent_max - tx->peer_consumed <= tx->peer_size &&
	       tx->sent_max - tx->completed <= tx->size && tx->repeat_end <= tx->sent_max &&
	       (!tx->guarded || tx->sent <= smc_ring_max(tx->guard + tx->peer_size,
							 tx->peer_consumed));
}

static struct smc_ring_tx any_tx(void)
{
	struct smc_ring_tx tx;

	tx.request_update = any_bool();
	tx.guarded = any_bool();
	GIVEN(tx_is_sound(&tx));
	return tx;
}

void tx_init(void)
{
	struct smc_ring_tx tx;

	if (!smc_ring_tx_init(&tx, nondet_u32(), nondet_u32(), nondet_u32()))
		PROVE(tx_is_sound(&tx));
}

void tx_plan(void)
{
	struct smc_ring_piece p[SMC_PLAN_PIECES] = { { 0, 0, 0 }, { 0, 0, 0 } };
	u32 max = nondet_u32(), sum;
	u64 stop = nondet_u64();
	struct smc_ring_tx tx = any_tx();
	unsigned int n;

	/* a byte is urgent only if it is in the ring */
	GIVEN(stop <= tx.prepared || stop == SMC_PLAN_NO_STOP);
	n = smc_ring_tx_plan(&tx, stop, max, p);
	PROVE(n <= SMC_PLAN_PIECES);
	PROVE(p[0].src < tx.size && p[0].len <= tx.size - p[0].src);
	PROVE(p[1].src < tx.size && p[1].len <= tx.size - p[1].src);
	/* the peer's RMBE is its memory: nothing beside it is written */
	PROVE(p[0].dst < tx.peer_size && p[0].len <= tx.peer_size - p[0].dst);
	PROVE(p[1].dst < tx.peer_size && p[1].len <= tx.peer_size - p[1].dst);
	sum = p[0].len + p[1].len;
	PROVE(sum <= max && (!sum || tx.sent + sum <= stop || stop < tx.sent));
	PROVE(sum <= tx.prepared - tx.sent);
	PROVE(tx.sent + sum <= tx.peer_consumed + tx.peer_size);
	PROVE(!tx.guarded || !sum || tx.sent + sum <= tx.guard + tx.peer_size);
	PROVE(!smc_ring_tx_note_posted(&tx, sum));
	PROVE(tx_is_sound(&tx));
}

/* The user writes, WRITEs are posted and complete. */
void tx_write(void)
{
	struct smc_ring_tx tx = any_tx(), before = tx;
	u32 len = nondet_u32();

	switch (nondet_u8()) {
	case 0:
		smc_ring_tx_prepare(&tx, len);
		break;
	case 1:
		smc_ring_tx_note_posted(&tx, len);
		break;
	case 2:
		smc_ring_tx_complete(&tx, nondet_u32(), nondet_u64());
		PROVE(tx.completed >= before.completed);
		break;
	case 3:
		smc_ring_tx_purge(&tx);
		break;
	case 4:
		smc_ring_tx_end_guard(&tx);
		break;
	}
	GIVEN(tx.prepared <= POS_MAX);
	PROVE(tx_is_sound(&tx));
}

/* The peer says how far it has read; it may lie. */
void tx_cursor(void)
{
	struct smc_ring_tx tx = any_tx(), before = tx;
	struct smc_cdc_cursor wire;
	int rc;

	GIVEN(tx.sent_max <= POS_MAX);
	rc = smc_ring_tx_take_cursor(&tx, &wire);

	PROVE(tx.peer_consumed >= before.peer_consumed);
	PROVE(tx.peer_consumed <= before.sent_max);
	PROVE(rc == SMC_CURSOR_NEWER || tx.peer_consumed == before.peer_consumed);
	PROVE(tx.prepared >= before.prepared);
	PROVE(tx_is_sound(&tx));
}

/* The connection moves to another link, any number of times. */
void tx_move(void)
{
	struct smc_ring_tx tx = any_tx(), before = tx;

	if (any_bool()) {
		smc_ring_tx_rewind(&tx, any_bool());
		PROVE(tx.prepared == before.prepared && tx.sent_max == before.sent_max);
	} else {
		smc_ring_tx_give_up(&tx);
	}
	PROVE(tx.epoch == before.epoch + 1 && tx.sent >= before.completed);
	PROVE(tx_is_sound(&tx));
}

static bool rx_is_sound(const struct smc_ring_rx *rx)
{
	u64 cursor = smc_ring_rx_cursor_pos(rx);

	return smc_ring_size_is_valid(rx->size) && rx->produced <= POS_MAX &&
	       rx->announced <= cursor && cursor <= rx->consumed && rx->consumed <= rx->produced &&
	       rx->produced - rx->announced <= rx->size &&
	       rx->lent_start <= rx->lent_end && rx->lent_end <= rx->consumed;
}

static struct smc_ring_rx any_rx(void)
{
	struct smc_ring_rx rx;

	rx.peer_blocked = any_bool();
	rx.peer_requests = any_bool();
	rx.force = any_bool();
	GIVEN(rx_is_sound(&rx));
	return rx;
}

void rx_init(void)
{
	struct smc_ring_rx rx;

	if (!smc_ring_rx_init(&rx, nondet_u32()))
		PROVE(rx_is_sound(&rx));
}

/* Unread and lent bytes are not overwritten: the peer never gets beyond one ring after them. */
void rx_steps(void)
{
	struct smc_ring_rx rx = any_rx(), before = rx;
	struct smc_ring_span span[2] = { { 0, 0 }, { 0, 0 } };
	u32 len = nondet_u32(), skip = nondet_u32();
	struct smc_cdc_cursor wire;

	switch (nondet_u8()) {
	case 0:
		smc_ring_rx_take_cursor(&rx, &wire, any_bool(), any_bool());
		PROVE(rx.produced >= before.produced);
		PROVE(rx.produced <= before.announced + before.size);
		break;
	case 1:
		smc_ring_rx_consume(&rx, len);
		break;
	case 2:
		smc_ring_rx_lend(&rx, len);
		break;
	case 3:
		smc_ring_rx_return(&rx, len);
		break;
	case 4:
		/* as smc_cdc.c does when a message is posted */
		rx.announced = smc_ring_rx_cursor_pos(&rx);
		break;
	case 5:
		smc_ring_rx_get_spans(&rx, skip, len, span);
		PROVE(span[0].len + span[1].len <= rx.produced - rx.consumed);
		PROVE(span[0].off < rx.size && span[0].len <= rx.size - span[0].off);
		PROVE(span[1].len <= rx.size);
		break;
	case 6:
		smc_ring_rx_advance(&rx, (s32)nondet_u32());
		PROVE(rx.produced >= before.produced);
		PROVE(rx.produced <= before.announced + before.size);
		break;
	case 7:
		/* a peer that waits gets an update: else both would wait */
		if (rx.peer_blocked && smc_ring_rx_cursor_pos(&rx) > rx.announced)
			PROVE(smc_ring_rx_weigh_update(&rx) != SMC_CURSOR_UPDATE_NONE);
		break;
	}
	GIVEN(rx.produced <= POS_MAX);
	PROVE(rx_is_sound(&rx));
	PROVE(rx.consumed >= before.consumed && rx.announced >= before.announced);
}
