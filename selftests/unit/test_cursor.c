// SPDX-License-Identifier: GPL-2.0-only
/* Ring cursors, write plan, consumer updates: proto/cursor.c. */
#include "unit.h"

#include <smc/proto/cursor.h>

#define K16	16384u
#define ALL	0xffffffffu

static u32 any_size(void)
{
	return K16 << unit_below(16);
}

static struct smc_cdc_cursor cursor_at(u64 pos, u32 size)
{
	/* by division, other than the code under test */
	struct smc_cdc_cursor c = {
		.wrap = (u16)((pos / size) % 65536),
		.off = (u32)(pos % size),
	};

	return c;
}

static void sizes(void)
{
	CHECK(smc_ring_size_is_valid(K16));
	CHECK(smc_ring_size_is_valid(K16 << 15));
	CHECK(!smc_ring_size_is_valid(0));
	CHECK(!smc_ring_size_is_valid(K16 / 2));
	CHECK(!smc_ring_size_is_valid(K16 + 1));
	CHECK(!smc_ring_size_is_valid(3 * K16));
	CHECK(!smc_ring_size_is_valid(1u << 30));
	CHECK(!smc_ring_size_is_valid(0xffffffffu));
}

static void wire_form(void)
{
	struct smc_cdc_cursor c;
	unsigned int i;

	smc_cursor_from_pos(13, K16, &c);
	CHECK_EQ(c.wrap, 0);
	CHECK_EQ(c.off, 13);
	/* a cursor equal to the size is never sent */
	smc_cursor_from_pos(K16, K16, &c);
	CHECK_EQ(c.wrap, 1);
	CHECK_EQ(c.off, 0);
	smc_cursor_from_pos((u64)K16 * 65536 + 5, K16, &c);
	CHECK_EQ(c.wrap, 0);
	CHECK_EQ(c.off, 5);
	for (i = 0; i < 20000; i++) {
		u32 size = any_size();
		u64 pos = unit_rand() >> unit_below(63);
		struct smc_cdc_cursor want = cursor_at(pos, size);

		smc_cursor_from_pos(pos, size, &c);
		CHECK_EQ(c.wrap, want.wrap);
		CHECK_EQ(c.off, want.off);
	}
}

/* Every position around the allowed range gets the result that the definition gives. */
static void advance_by_definition(void)
{
	unsigned int i;

	for (i = 0; i < 200000; i++) {
		u32 size = any_size();
		u64 cur = unit_below(4) ? unit_rand() >> (16 + unit_below(40)) : unit_below(3);
		u64 limit = cur + unit_below(size + 1);
		u64 target = cur + unit_below(3 * size) - (u64)(3 * size / 2);
		struct smc_cdc_cursor c = cursor_at(target, size);
		u64 pos = 0x5a5a;
		int rc;

		if (target > cur + 2ULL * size && cur < 2ULL * size)
			continue;	/* before the start of the stream */
		rc = smc_cursor_advance(cur, limit, size, &c, &pos);
		if (target == cur) {
			CHECK_EQ(rc, SMC_CURSOR_SAME);
			CHECK_EQ(pos, cur);
		} else if (target > cur && target <= limit) {
			CHECK_EQ(rc, SMC_CURSOR_NEWER);
			CHECK_EQ(pos, target);
		} else if (target < cur && cur - target <= size) {
			CHECK_EQ(rc, SMC_CURSOR_STALE);
			CHECK_EQ(pos, cur);
		} else {
			CHECK_EQ(rc, -EPROTO);
			CHECK_EQ(pos, 0x5a5a);
		}
	}
}

static void advance_edges(void)
{
	struct smc_cdc_cursor c;
	u64 pos = 7;

	/* off must be below the size, with any wrap */
	c = (struct smc_cdc_cursor){ .wrap = 0, .off = K16 };
	CHECK_EQ(smc_cursor_advance(0, K16, K16, &c, &pos), -EPROTO);
	c.off = 0xffffffff;
	CHECK_EQ(smc_cursor_advance(0, K16, K16, &c, &pos), -EPROTO);
	CHECK_EQ(pos, 7);
	/* a full ring: same offset, one wrap more */
	c = (struct smc_cdc_cursor){ .wrap = 1, .off = 0 };
	CHECK_EQ(smc_cursor_advance(0, K16, K16, &c, &pos), SMC_CURSOR_NEWER);
	CHECK_EQ(pos, K16);
	/* one byte more is an overrun */
	c.off = 1;
	CHECK_EQ(smc_cursor_advance(0, K16, K16, &c, &pos), -EPROTO);
	/* before the start of the stream there is nothing to repeat */
	c = (struct smc_cdc_cursor){ .wrap = 0xffff, .off = K16 - 1 };
	CHECK_EQ(smc_cursor_advance(0, K16, K16, &c, &pos), -EPROTO);
	CHECK_EQ(smc_cursor_advance(1, K16, K16, &c, &pos), -EPROTO);
	/* the wrap counter wraps */
	c = (struct smc_cdc_cursor){ .wrap = 0, .off = 2 };
	CHECK_EQ(smc_cursor_advance((u64)K16 * 65536 - 3, (u64)K16 * 65536 + 9, K16, &c, &pos),
		 SMC_CURSOR_NEWER);
	CHECK_EQ(pos, (u64)K16 * 65536 + 2);
}

static void tx_init(void)
{
	struct smc_ring_tx tx;

	CHECK_EQ(smc_ring_tx_init(&tx, K16 + 1, K16, 0), -EINVAL);
	CHECK_EQ(smc_ring_tx_init(&tx, 0, K16, 0), -EINVAL);
	CHECK_EQ(smc_ring_tx_init(&tx, 2 * SMC_RING_MAX, K16, 0), -EINVAL);
	/* the peer's RMBE has at least 16 KiB, our ring need not */
	CHECK_EQ(smc_ring_tx_init(&tx, K16, K16 / 2, 0), -EINVAL);
	CHECK_EQ(smc_ring_tx_init(&tx, K16 / 8, K16, 0), 0);
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), K16 / 8);
	CHECK_EQ(smc_ring_tx_init(&tx, K16, 0, 0), -EINVAL);
	CHECK_EQ(smc_ring_tx_init(&tx, K16, K16, K16), -EINVAL);
	CHECK_EQ(smc_ring_tx_init(&tx, K16, 2 * K16, 16), 0);
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), K16);
	CHECK_EQ(smc_ring_tx_window(&tx), 2 * K16 - 16);
	CHECK(smc_ring_tx_drained(&tx));
	CHECK(!smc_ring_tx_blocked(&tx));
}

static void tx_spans(void)
{
	struct smc_ring_span span[2] = { };
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	CHECK_EQ(smc_ring_tx_get_spans(&tx, 100, span), 1);
	CHECK_EQ(span[0].off, 0);
	CHECK_EQ(span[0].len, 100);
	CHECK_EQ(smc_ring_tx_get_spans(&tx, 0, span), 0);
	tx.prepared = K16 + 100;
	tx.sent = K16;
	tx.sent_max = K16;
	tx.posted = K16;
	tx.completed = 200;
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), 100);
	CHECK_EQ(smc_ring_tx_get_spans(&tx, 1000, span), 1);
	CHECK_EQ(span[0].off, 100);
	CHECK_EQ(span[0].len, 100);
	CHECK_EQ(smc_ring_tx_prepare(&tx, 101), -EINVAL);
	CHECK_EQ(smc_ring_tx_prepare(&tx, 100), 0);
	CHECK_EQ(smc_ring_tx_get_spans(&tx, 1, span), 0);
	/* free space around the end of the ring: two parts */
	tx.prepared = K16 - 10;
	tx.completed = 500;
	CHECK_EQ(smc_ring_tx_get_spans(&tx, 60, span), 2);
	CHECK_EQ(span[0].off, K16 - 10);
	CHECK_EQ(span[0].len, 10);
	CHECK_EQ(span[1].off, 0);
	CHECK_EQ(span[1].len, 50);
}

/* Pieces are contiguous in the stream, inside both rings, and as long in total as allowed. */
static void plan_laws(void)
{
	unsigned int i, seen = 0;

	for (i = 0; i < 100000; i++) {
		struct smc_ring_piece piece[SMC_PLAN_PIECES];
		struct smc_ring_tx tx;
		u32 want, sum = 0, max = unit_below(4) ? unit_below(4 * K16) : 0xffffffff;
		u64 base = unit_rand() >> 20, stop = SMC_PLAN_NO_STOP;
		unsigned int n, j;

		CHECK_EQ(smc_ring_tx_init(&tx, K16 << unit_below(3), K16 << unit_below(3),
					  unit_below(2) * 16), 0);
		tx.peer_consumed = base;
		tx.completed = base;
		tx.sent = base + unit_below(K16 + 1);
		tx.sent_max = tx.sent;
		tx.posted = tx.sent;
		tx.prepared = tx.sent + unit_below(tx.size - (u32)(tx.sent - base) + 1);
		if (!unit_below(4))
			stop = tx.sent + unit_below(K16);
		want = smc_ring_tx_unsent(&tx);
		if (want > smc_ring_tx_window(&tx))
			want = smc_ring_tx_window(&tx);
		if (want > max)
			want = max;
		if (stop - tx.sent < want)
			want = (u32)(stop - tx.sent);
		/* the last byte before the stop is not planned alone */
		if (want > 1 && stop - tx.sent - want == 1)
			want--;
		else if (want == 1 && stop - tx.sent == 2 && max > 1)
			want = tx.reserve ? 2 : 0;
		n = smc_ring_tx_plan(&tx, stop, max, piece);
		REQUIRE(n <= SMC_PLAN_PIECES);
		seen |= 1u << n;
		for (j = 0; j < n; j++) {
			CHECK(piece[j].len > 0);
			CHECK_EQ(piece[j].src, (tx.sent + sum) % tx.size);
			CHECK_EQ(piece[j].dst, (tx.sent + sum) % tx.peer_size);
			CHECK(piece[j].src + piece[j].len <= tx.size);
			CHECK(piece[j].dst + piece[j].len <= tx.peer_size);
			sum += piece[j].len;
		}
		CHECK_EQ(sum, want);
		CHECK_EQ(smc_ring_tx_note_posted(&tx, sum), 0);
		CHECK(tx.sent <= tx.prepared);
		CHECK(tx.sent <= tx.peer_consumed + tx.peer_size);
	}
	/* the generator reached none, one and two pieces */
	CHECK_EQ(seen & 7, 7);
}

/*
 * The peer reads in steps of any size, so that the window often has room for all but the urgent
 * byte. The urgent byte is written alone only if the application sent it alone.
 */
static void urgent_company(void)
{
	u32 reserve, unread, alone = 0, many = 0, i, len;
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	struct smc_ring_tx tx;
	u64 stop;

	for (i = 0; i < 20000; i++) {
		reserve = unit_below(2) * 16;
		/* by chance, one of two runs would have none of 1 byte */
		len = i % 1000 ? 1 + unit_below(3 * K16) : 1;
		smc_ring_tx_init(&tx, 4 * K16, K16, reserve);
		smc_ring_tx_prepare(&tx, len);
		stop = tx.prepared;
		while (tx.sent < stop) {
			unsigned int n = smc_ring_tx_plan(&tx, stop, 2 * K16, piece);
			u32 sum = n ? piece[0].len + (n > 1 ? piece[1].len : 0) : 0;

			CHECK(len == 1 || sum != 1 || stop - tx.sent != 1);
			alone += len == 1 && sum == 1;
			many += len > 1 && sum > 1 && tx.sent + sum == stop;
			CHECK_EQ(smc_ring_tx_note_posted(&tx, sum), 0);
			smc_ring_tx_complete(&tx, 0, tx.sent);
			/* no write: because of B the peer reads on and sends an update */
			unread = (u32)(tx.sent - tx.peer_consumed);
			REQUIRE(sum || (unread && smc_ring_tx_blocked(&tx)));
			tx.peer_consumed += unread ? 1 + unit_below(unread) : 0;
		}
	}
	CHECK(alone >= 20);
	CHECK(many > 19000);
}

static struct smc_ring_tx tx_at(u32 size, u32 peer_size, u64 sent, u64 prepared)
{
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, size, peer_size, 0);
	tx.completed = sent;
	tx.peer_consumed = sent;
	tx.sent = sent;
	tx.sent_max = sent;
	tx.posted = sent;
	tx.prepared = prepared;
	return tx;
}

static void plan_two_pieces(void)
{
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	/* the peer's ring is the smaller one: only it wraps at 3 x 32 KiB */
	struct smc_ring_tx tx = tx_at(4 * K16, 2 * K16, 5 * K16, 9 * K16);

	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 2);
	CHECK_EQ(piece[0].src, K16);
	CHECK_EQ(piece[0].dst, K16);
	CHECK_EQ(piece[0].len, K16);
	CHECK_EQ(piece[1].src, 2 * K16);
	CHECK_EQ(piece[1].dst, 0);
	CHECK_EQ(piece[1].len, K16);
	/* the send ring is the smaller one */
	tx = tx_at(K16, 2 * K16, K16 / 2, K16 + K16 / 2);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 2);
	CHECK_EQ(piece[1].src, 0);
	CHECK_EQ(piece[1].dst, K16);
	/* both wrap at the same byte */
	tx = tx_at(2 * K16, 4 * K16, 4 * K16 - 1, 4 * K16 + 1);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 2);
	CHECK_EQ(piece[1].src, 0);
	CHECK_EQ(piece[1].dst, 0);
}

static void sent_is_bounded(void)
{
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, 2 * K16, K16, 0);
	CHECK_EQ(smc_ring_tx_prepare(&tx, 2 * K16), 0);
	CHECK_EQ(smc_ring_tx_note_posted(&tx, K16 + 1), -EINVAL);
	CHECK_EQ(tx.sent, 0);
	CHECK_EQ(smc_ring_tx_note_posted(&tx, K16), 0);
	CHECK_EQ(smc_ring_tx_window(&tx), 0);
	CHECK(smc_ring_tx_blocked(&tx));
	CHECK_EQ(smc_ring_tx_note_posted(&tx, 1), -EINVAL);
}

static void peer_cursor(void)
{
	struct smc_cdc_cursor c;
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 1000);
	smc_ring_tx_note_posted(&tx, 600);
	c = cursor_at(601, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), -EPROTO);
	CHECK_EQ(tx.peer_consumed, 0);
	c = cursor_at(600, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_SAME);
	CHECK_EQ(smc_ring_tx_window(&tx), K16);
	c = cursor_at(599, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_STALE);
	CHECK_EQ(tx.peer_consumed, 600);
	/* confirmed, but the WRITE has not completed: its memory is still in use */
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), K16 - 1000);
	CHECK(smc_ring_tx_complete(&tx, 0, 600));
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), K16 - 400);
	CHECK(!smc_ring_tx_drained(&tx));
}

static void completions(void)
{
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 3000);
	smc_ring_tx_note_posted(&tx, 1000);
	smc_ring_tx_note_posted(&tx, 1000);
	CHECK(!smc_ring_tx_complete(&tx, 0, 2001));	/* never posted */
	CHECK(smc_ring_tx_complete(&tx, 0, 1000));
	CHECK(!smc_ring_tx_complete(&tx, 0, 1000));
	smc_ring_tx_rewind(&tx, true);
	CHECK_EQ(tx.epoch, 1);
	CHECK_EQ(tx.sent, 1000);
	CHECK_EQ(tx.sent_max, 2000);
	smc_ring_tx_note_posted(&tx, 1500);
	/* a late completion of the previous link, while the same bytes are in flight again */
	CHECK(!smc_ring_tx_complete(&tx, 0, 2000));
	CHECK_EQ(tx.completed, 1000);
	CHECK(smc_ring_tx_complete(&tx, 1, 2500));
	CHECK_EQ(tx.completed, 2500);
	smc_ring_tx_note_posted(&tx, 500);
	CHECK(smc_ring_tx_complete(&tx, 1, 3000));
	CHECK(smc_ring_tx_drained(&tx));
}

/* After a rewind the peer may confirm bytes that it received over the previous link. */
static void confirmed_before_rewritten(void)
{
	struct smc_cdc_cursor c;
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, K16);
	smc_ring_tx_note_posted(&tx, K16);
	smc_ring_tx_complete(&tx, 0, 100);
	smc_ring_tx_rewind(&tx, true);
	CHECK_EQ(tx.sent, 100);
	/* nothing in flight, everything confirmed: no completion follows, the space is free */
	c = cursor_at(K16, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	CHECK_EQ(tx.sent, K16);
	CHECK(smc_ring_tx_drained(&tx));
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), K16);

	/* the same with a rewritten part in flight: its completion covers the rest */
	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, K16);
	smc_ring_tx_note_posted(&tx, K16);
	smc_ring_tx_rewind(&tx, true);
	smc_ring_tx_note_posted(&tx, 300);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), 0);
	CHECK(smc_ring_tx_complete(&tx, 1, 300));
	CHECK(smc_ring_tx_drained(&tx));

	/* the peer had read more than was acknowledged: no rewind before that */
	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 1000);
	smc_ring_tx_note_posted(&tx, 1000);
	c = cursor_at(700, K16);
	smc_ring_tx_take_cursor(&tx, &c);
	smc_ring_tx_complete(&tx, 0, 400);
	smc_ring_tx_rewind(&tx, true);
	CHECK_EQ(tx.sent, 700);
}

/* A purge in between: the peer confirms a position beyond everything left to send. */
static void confirmed_after_purge(void)
{
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	struct smc_cdc_cursor c;
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 1000);
	smc_ring_tx_note_posted(&tx, 1000);
	smc_ring_tx_complete(&tx, 0, 100);
	smc_ring_tx_rewind(&tx, true);
	smc_ring_tx_purge(&tx);
	CHECK_EQ(smc_ring_tx_unsent(&tx), 0);
	CHECK_EQ(tx.prepared, 100);
	c = cursor_at(700, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	CHECK_EQ(tx.sent, 700);
	CHECK_EQ(smc_ring_tx_unsent(&tx), 0);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 0);
	CHECK(!smc_ring_tx_blocked(&tx));
	CHECK_EQ(smc_ring_tx_free_bytes(&tx), K16);
	CHECK(smc_ring_tx_drained(&tx));
}

/* After an abort only acknowledged bytes are announced, or those that the peer has consumed. */
static void given_up_in_flight(void)
{
	struct smc_cdc_cursor c = cursor_at(100, K16);
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 1000);
	smc_ring_tx_note_posted(&tx, 900);
	smc_ring_tx_complete(&tx, 0, 300);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	smc_ring_tx_purge(&tx);
	smc_ring_tx_give_up(&tx);
	CHECK_EQ(tx.sent, 300);
	CHECK(smc_ring_tx_drained(&tx));
	/* a late completion of the previous link */
	smc_ring_tx_complete(&tx, 0, 900);
	CHECK_EQ(tx.completed, 300);
	/* the peer had received more */
	c = cursor_at(700, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	CHECK_EQ(tx.sent, 700);
	CHECK(smc_ring_tx_drained(&tx));
}

/* Two failovers: the WRITEs over the link in between repeat bytes that the peer has. */
static void guard_begin(struct smc_ring_tx *tx, bool fences)
{
	struct smc_cdc_cursor c = cursor_at(1000, K16);

	smc_ring_tx_init(tx, 2 * K16, K16, 0);
	smc_ring_tx_prepare(tx, 2 * K16);
	smc_ring_tx_note_posted(tx, 1000);
	smc_ring_tx_rewind(tx, fences);
	/* in the order of one link no late WRITE does harm */
	CHECK(!tx->guarded);
	smc_ring_tx_note_posted(tx, 1000);
	smc_ring_tx_complete(tx, 1, 300);
	CHECK_EQ(smc_ring_tx_take_cursor(tx, &c), SMC_CURSOR_NEWER);
	smc_ring_tx_rewind(tx, fences);
	CHECK_EQ(tx->sent, 1000);
}

/* Late WRITEs may hit the peer's RMBE from 300 on: nothing is written from 300 + K16 on. */
static void guarded_window(void)
{
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	struct smc_ring_tx tx;

	guard_begin(&tx, true);
	CHECK(tx.guarded);
	CHECK_EQ(tx.guard, 300);
	CHECK_EQ(smc_ring_tx_window(&tx), K16 - 700);
	CHECK_EQ(smc_ring_tx_note_posted(&tx, K16 - 699), -EINVAL);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 2);
	CHECK_EQ(piece[0].len + piece[1].len, K16 - 700);
	CHECK_EQ(smc_ring_tx_note_posted(&tx, K16 - 700), 0);
	CHECK_EQ(smc_ring_tx_window(&tx), 0);
	/* R is set, but the guard holds for the reserve, too */
	CHECK(tx.request_update);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 0);
	CHECK(smc_ring_tx_blocked(&tx));
	CHECK(smc_ring_tx_end_guard(&tx));
	CHECK(!smc_ring_tx_end_guard(&tx));
	CHECK_EQ(smc_ring_tx_window(&tx), 700);

	/* a peer that does not fence would never end the guard */
	guard_begin(&tx, false);
	CHECK(!tx.guarded);
	CHECK_EQ(smc_ring_tx_window(&tx), K16);
}

/* Another failover keeps the first guard; the cursor ends it beyond the bytes sent before. */
static void guard_ends_by_cursor(void)
{
	struct smc_cdc_cursor c;
	struct smc_ring_tx tx;

	guard_begin(&tx, true);
	smc_ring_tx_note_posted(&tx, 500);
	smc_ring_tx_rewind(&tx, true);
	CHECK(tx.guarded);
	CHECK_EQ(tx.guard, 300);
	smc_ring_tx_note_posted(&tx, 600);
	c = cursor_at(1500, K16);
	smc_ring_tx_take_cursor(&tx, &c);
	CHECK(tx.guarded);
	c = cursor_at(1501, K16);
	smc_ring_tx_take_cursor(&tx, &c);
	CHECK(!tx.guarded);
	CHECK_EQ(smc_ring_tx_window(&tx), K16 - 99);
}

/* No guard where nothing can be late, or nothing that is late does harm. */
static void guard_not_needed(void)
{
	struct smc_cdc_cursor c = cursor_at(1001, K16);
	struct smc_ring_tx tx;

	/* all repeated bytes are completed */
	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 3000);
	smc_ring_tx_note_posted(&tx, 1000);
	smc_ring_tx_rewind(&tx, true);
	smc_ring_tx_note_posted(&tx, 2000);
	smc_ring_tx_complete(&tx, 1, 1000);
	smc_ring_tx_rewind(&tx, true);
	CHECK(!tx.guarded);
	/* nothing is in flight */
	smc_ring_tx_rewind(&tx, true);
	CHECK(!tx.guarded);

	/* the peer has consumed a byte behind them */
	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 3000);
	smc_ring_tx_note_posted(&tx, 1000);
	smc_ring_tx_rewind(&tx, true);
	smc_ring_tx_note_posted(&tx, 2000);
	smc_ring_tx_take_cursor(&tx, &c);
	smc_ring_tx_rewind(&tx, true);
	CHECK(!tx.guarded);
}

/* What the peer has consumed over the left link may be beyond the guard: no room, nothing wraps. */
static void guard_overtaken(void)
{
	struct smc_cdc_cursor c = cursor_at(1000, K16);
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, 2 * K16, K16, 0);
	smc_ring_tx_prepare(&tx, 2 * K16);
	smc_ring_tx_note_posted(&tx, 1000);
	smc_ring_tx_rewind(&tx, true);
	smc_ring_tx_note_posted(&tx, 1000);
	smc_ring_tx_take_cursor(&tx, &c);
	smc_ring_tx_note_posted(&tx, K16);
	smc_ring_tx_rewind(&tx, true);
	CHECK(tx.guarded);
	CHECK_EQ(tx.guard, 0);
	CHECK_EQ(tx.sent, 1000);
	c = cursor_at(1000 + K16, K16);
	CHECK_EQ(smc_ring_tx_take_cursor(&tx, &c), SMC_CURSOR_NEWER);
	CHECK_EQ(tx.sent, 1000 + K16);
	CHECK(tx.guarded);
	CHECK_EQ(smc_ring_tx_window(&tx), 0);
	smc_ring_tx_end_guard(&tx);
	CHECK_EQ(smc_ring_tx_window(&tx), K16);
}

/* While the window is closed, a link change opens the reserve byte by byte. */
static void reserve(void)
{
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	struct smc_ring_tx tx;
	unsigned int i;

	smc_ring_tx_init(&tx, 2 * K16, K16, 16);
	smc_ring_tx_prepare(&tx, 2 * K16);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 1);
	CHECK_EQ(piece[0].len, K16 - 16);
	smc_ring_tx_note_posted(&tx, piece[0].len);
	smc_ring_tx_complete(&tx, 0, tx.sent);
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 0);
	smc_ring_tx_rewind(&tx, true);
	for (i = 0; i < 14; i++) {
		CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 1);
		CHECK_EQ(piece[0].len, 1);
		CHECK_EQ(smc_ring_tx_note_posted(&tx, 1), 0);
		CHECK(smc_ring_tx_blocked(&tx));
	}
	/* the byte before an urgent byte is planned together with it */
	CHECK_EQ(smc_ring_tx_plan(&tx, tx.sent + 2, ALL, piece), 1);
	CHECK_EQ(piece[0].len, 2);
	CHECK_EQ(smc_ring_tx_note_posted(&tx, 2), 0);
	/* the ring is really full */
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 0);
	/* a CDC of the peer closes the reserve again */
	smc_ring_tx_note_cdc(&tx);
	tx.peer_consumed = 10;
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 0);
	tx.peer_consumed = 17;
	CHECK_EQ(smc_ring_tx_plan(&tx, SMC_PLAN_NO_STOP, ALL, piece), 1);
	CHECK_EQ(piece[0].len, 1);
}

static void urgent_stop(void)
{
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	struct smc_ring_tx tx;

	smc_ring_tx_init(&tx, K16, K16, 0);
	smc_ring_tx_prepare(&tx, 100);
	CHECK_EQ(smc_ring_tx_plan(&tx, 40, ALL, piece), 1);
	CHECK_EQ(piece[0].len, 40);
	smc_ring_tx_note_posted(&tx, 40);
	CHECK_EQ(smc_ring_tx_plan(&tx, 40, ALL, piece), 0);
	CHECK_EQ(smc_ring_tx_plan(&tx, 39, ALL, piece), 0);
}

static void rx_basics(void)
{
	struct smc_ring_span span[2] = { };
	struct smc_cdc_cursor c;
	struct smc_ring_rx rx;

	CHECK_EQ(smc_ring_rx_init(&rx, 100), -EINVAL);
	CHECK_EQ(smc_ring_rx_init(&rx, K16), 0);
	c = cursor_at(K16, K16);
	CHECK_EQ(smc_ring_rx_take_cursor(&rx, &c, true, true), SMC_CURSOR_NEWER);
	CHECK(rx.peer_blocked && rx.peer_requests);
	CHECK_EQ(smc_ring_rx_readable(&rx), K16);
	CHECK_EQ(smc_ring_rx_consume(&rx, K16 + 1), -EINVAL);
	CHECK_EQ(smc_ring_rx_consume(&rx, 1000), 0);
	CHECK_EQ(smc_ring_rx_get_spans(&rx, 0, 100, span), 1);
	CHECK_EQ(span[0].off, 1000);
	/* 1000 bytes are read, but not announced: the peer may not use the space yet */
	c = cursor_at(K16 + 1, K16);
	CHECK_EQ(smc_ring_rx_take_cursor(&rx, &c, false, false), -EPROTO);
	CHECK(rx.peer_blocked && rx.peer_requests);
	CHECK_EQ(rx.produced, K16);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(smc_ring_rx_take_cursor(&rx, &c, false, false), SMC_CURSOR_NEWER);
	CHECK(!rx.peer_blocked && !rx.peer_requests);
	CHECK_EQ(smc_ring_rx_get_spans(&rx, 0, ALL, span), 2);
	CHECK_EQ(span[0].len, K16 - 1000);
	CHECK_EQ(span[1].off, 0);
	CHECK_EQ(span[1].len, 1);
	/* a peek at a later position */
	CHECK_EQ(smc_ring_rx_get_spans(&rx, K16 - 1000, 5, span), 1);
	CHECK_EQ(span[0].off, 0);
	CHECK_EQ(span[0].len, 1);
	CHECK_EQ(smc_ring_rx_get_spans(&rx, K16 - 999, 5, span), 0);
	/* a repeated cursor updates the flags, not the data */
	c = cursor_at(K16 - 5, K16);
	CHECK_EQ(smc_ring_rx_take_cursor(&rx, &c, true, false), SMC_CURSOR_STALE);
	CHECK(rx.peer_blocked);
	CHECK_EQ(rx.produced, K16 + 1);
}

/* A cursor by its distance does what the same cursor of a message does. */
static void rx_by_distance(void)
{
	unsigned int i;

	for (i = 0; i < 200000; i++) {
		u32 size = any_size();
		u64 begin = unit_below(2) ? 0 : unit_rand() >> unit_below(60);
		struct smc_ring_rx rx = { .size = size }, ry;
		s32 advance = (s32)unit_below(2 * size + 7) - (s32)size - 3;
		struct smc_cdc_cursor c;
		int rc;

		rx.announced = begin & ~(1ULL << 63);
		rx.produced = rx.announced + unit_below(size + 1);
		rx.consumed = rx.announced + unit_below((u32)(rx.produced - rx.announced) + 1);
		rx.peer_blocked = unit_below(2);
		rx.peer_requests = unit_below(2);
		if (!unit_below(4))
			advance = (s32)(rx.announced + size - rx.produced) + (s32)unit_below(3) - 1;
		ry = rx;
		c = cursor_at(rx.produced + advance, size);
		rc = smc_ring_rx_take_cursor(&rx, &c, rx.peer_blocked, false);
		CHECK_EQ(smc_ring_rx_advance(&ry, advance), rc);
		CHECK_EQ(ry.produced, rx.produced);
		CHECK_EQ(ry.peer_blocked, rx.peer_blocked);
		CHECK_EQ(ry.peer_requests, rx.peer_requests);
	}
}

static struct smc_ring_rx rx_at(u32 size, u32 announced, u32 consumed, u32 produced)
{
	struct smc_ring_rx rx;

	smc_ring_rx_init(&rx, size);
	rx.announced = announced;
	rx.consumed = consumed;
	rx.produced = produced;
	return rx;
}

/* The examples of RFC 7609 section 4.5.1: 64K ring, window 50K; 30K to 31K; 30K to 64K. */
static void update_rfc_examples(void)
{
	u32 k = 1024, size = 64 * k;
	struct smc_ring_rx rx = rx_at(size, 0, 14 * k, 14 * k);

	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	rx = rx_at(size, 0, 1 * k, 34 * k);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	rx = rx_at(size, 0, 34 * k, 34 * k);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
}

static void update_flags(void)
{
	struct smc_ring_rx rx = rx_at(K16, 0, 0, 100);

	rx.peer_blocked = true;
	rx.peer_requests = true;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);	/* nothing to announce */
	rx.consumed = 1;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);	/* R */
	rx.peer_requests = false;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_SOON);	/* B, but more to read */
	rx.consumed = 100;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW); /* B, nothing left to read */
	rx.peer_blocked = false;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	rx.produced = K16;
	CHECK_EQ(smc_ring_rx_update_due(&rx),
		 SMC_CURSOR_UPDATE_SOON); /* no B, but no window either */
	rx.produced = K16 - K16 / 8;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	rx.produced = 10000;
	rx.peer_blocked = true;
	rx.consumed = K16 / 8;
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW); /* B, an eighth of the ring */
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	smc_ring_rx_force_update(&rx);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
}

/* A writer that has set B gets an update once anything was read. */
static void update_never_strands(void)
{
	unsigned int i;

	for (i = 0; i < 100000; i++) {
		u32 size = K16 << unit_below(4), produced = unit_below(size + 1);
		u32 consumed = unit_below(produced + 1), announced = unit_below(consumed + 1);
		struct smc_ring_rx rx = rx_at(size, announced, consumed, produced);

		rx.peer_blocked = true;
		CHECK_EQ(smc_ring_rx_update_due(&rx) != SMC_CURSOR_UPDATE_NONE,
			 consumed > announced);
		/* so does a writer with a closed window once the reader has read everything */
		rx.peer_blocked = false;
		rx.produced = (u64)announced + size;
		rx.consumed = rx.produced;
		CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
	}
}

/* Lent bytes are consumed, but not announced until they and all bytes before are back. */
static void lending(void)
{
	struct smc_ring_rx rx = rx_at(K16, 0, 1000, 10000);
	struct smc_cdc_cursor c;
	u32 off = 0;

	CHECK_EQ(smc_ring_rx_get_lent(&rx, &off), 0);
	CHECK_EQ(smc_ring_rx_return(&rx, 1), -EINVAL);
	CHECK_EQ(smc_ring_rx_lend(&rx, 0), -EINVAL);
	CHECK_EQ(smc_ring_rx_lend(&rx, 9001), -EINVAL);
	CHECK_EQ(rx.consumed, 1000);
	CHECK_EQ(smc_ring_rx_lend(&rx, 2000), 0);
	CHECK_EQ(smc_ring_rx_readable(&rx), 7000);
	CHECK_EQ(smc_ring_rx_withheld(&rx), 2000);
	/* bytes copied or lent behind them wait, too */
	CHECK_EQ(smc_ring_rx_consume(&rx, 500), 0);
	CHECK_EQ(smc_ring_rx_lend(&rx, 100), 0);
	CHECK_EQ(smc_ring_rx_consume(&rx, 50), 0);
	CHECK_EQ(smc_ring_rx_withheld(&rx), 2650);
	smc_ring_rx_get_cursor(&rx, &c);
	CHECK_EQ(c.off, 1000);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(rx.announced, 1000);
	c = cursor_at(1000 + K16 + 1, K16);
	CHECK_EQ(smc_ring_rx_take_cursor(&rx, &c, false, false), -EPROTO);
	CHECK_EQ(smc_ring_rx_get_lent(&rx, &off), 2600);
	CHECK_EQ(off, 1000);
	CHECK_EQ(smc_ring_rx_return(&rx, 2601), -EINVAL);
	CHECK_EQ(smc_ring_rx_return(&rx, 2100), 0);
	CHECK_EQ(smc_ring_rx_get_lent(&rx, &off), 500);
	CHECK_EQ(off, 3100);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(rx.announced, 3100);
	/* the last return includes the bytes copied behind it */
	CHECK_EQ(smc_ring_rx_return(&rx, 500), 0);
	CHECK_EQ(smc_ring_rx_get_lent(&rx, &off), 0);
	CHECK_EQ(smc_ring_rx_withheld(&rx), 0);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(rx.announced, 3650);
	CHECK_EQ(smc_ring_rx_consume(&rx, 50), 0);
	smc_ring_rx_get_cursor(&rx, &c);
	CHECK_EQ(c.off, 3700);
}

/* The ring is starved only if the peer could go on once lent bytes are back. */
static void lending_starves(void)
{
	struct smc_ring_rx rx = rx_at(K16, 0, 0, K16);
	u32 off = 0;

	CHECK(!smc_ring_rx_starved(&rx));
	CHECK_EQ(smc_ring_rx_lend(&rx, K16), 0);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	CHECK(smc_ring_rx_starved(&rx));
	CHECK_EQ(smc_ring_rx_return(&rx, 1), 0);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
	CHECK_EQ(smc_ring_rx_return(&rx, K16 - 1), 0);
	CHECK(!smc_ring_rx_starved(&rx));
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
	rx = rx_at(K16, 0, 0, 1000);
	CHECK_EQ(smc_ring_rx_lend(&rx, 600), 0);
	CHECK(!smc_ring_rx_starved(&rx));
	rx.peer_requests = true;
	CHECK(smc_ring_rx_starved(&rx));
	/* a forced update of a byte behind lent ones is due as soon as these are back */
	rx.peer_requests = false;
	CHECK_EQ(smc_ring_rx_consume(&rx, 1), 0);
	CHECK(!smc_ring_rx_starved(&rx));
	smc_ring_rx_force_update(&rx);
	/* also before a slot is free to send it */
	CHECK(smc_ring_rx_starved(&rx));
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(rx.announced, 0);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	CHECK(smc_ring_rx_starved(&rx));
	CHECK_EQ(smc_ring_rx_return(&rx, 599), 0);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	CHECK_EQ(smc_ring_rx_return(&rx, 1), 0);
	CHECK_EQ(smc_ring_rx_get_lent(&rx, &off), 0);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NOW);
	smc_ring_rx_note_announced(&rx);
	CHECK_EQ(rx.announced, 601);
	CHECK_EQ(smc_ring_rx_update_due(&rx), SMC_CURSOR_UPDATE_NONE);
	/* only once */
	CHECK_EQ(smc_ring_rx_lend(&rx, 10), 0);
	CHECK(!smc_ring_rx_starved(&rx));
}

/* After any sequence of calls, the peer may not write to a byte that is lent. */
static void lending_laws(void)
{
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		struct smc_ring_rx rx = rx_at(K16, 0, 0, 0);
		u64 back = 0, lent = 0;		/* the application's view */
		unsigned int k;

		for (k = 0; k < 200; k++) {
			u32 n = unit_below(K16), off = 0, out;

			switch (unit_below(5)) {
			case 0:
				rx.produced +=
					unit_below((u32)(rx.announced + K16 - rx.produced) + 1);
				break;
			case 1:
				if (!smc_ring_rx_lend(&rx, n)) {
					back = back < lent ? back : rx.consumed - n;
					lent = rx.consumed;
				}
				break;
			case 2:
				smc_ring_rx_consume(&rx, n);
				break;
			case 3:
				out = smc_ring_rx_get_lent(&rx, &off);
				CHECK_EQ(out, back < lent ? lent - back : 0);
				if (!smc_ring_rx_return(&rx, n))
					back += n;
				break;
			default:
				smc_ring_rx_note_announced(&rx);
				break;
			}
			CHECK(rx.announced <= rx.consumed && rx.consumed <= rx.produced);
			CHECK(back >= lent || rx.announced <= back);
			CHECK(rx.produced <= rx.announced + K16);
			CHECK(smc_ring_rx_withheld(&rx) <= K16);
		}
		smc_ring_rx_return(&rx, (u32)(lent - back));
		smc_ring_rx_note_announced(&rx);
		CHECK_EQ(rx.announced, rx.consumed);
	}
}

static void names(void)
{
	CHECK(!strcmp(smc_cursor_change_str(SMC_CURSOR_STALE), "stale"));
	CHECK(!strcmp(smc_cursor_update_str(SMC_CURSOR_UPDATE_SOON), "soon"));
	CHECK(!strcmp(smc_cursor_update_str((enum smc_cursor_update)99), "?"));
}

static const struct unit_case cases[] = {
	UNIT_CASE(sizes),
	UNIT_CASE(wire_form),
	UNIT_CASE(advance_by_definition),
	UNIT_CASE(advance_edges),
	UNIT_CASE(tx_init),
	UNIT_CASE(tx_spans),
	UNIT_CASE(plan_laws),
	UNIT_CASE(plan_two_pieces),
	UNIT_CASE(sent_is_bounded),
	UNIT_CASE(peer_cursor),
	UNIT_CASE(completions),
	UNIT_CASE(confirmed_before_rewritten),
	UNIT_CASE(confirmed_after_purge),
	UNIT_CASE(given_up_in_flight),
	UNIT_CASE(guarded_window),
	UNIT_CASE(guard_ends_by_cursor),
	UNIT_CASE(guard_not_needed),
	UNIT_CASE(guard_overtaken),
	UNIT_CASE(reserve),
	UNIT_CASE(urgent_stop),
	UNIT_CASE(urgent_company),
	UNIT_CASE(rx_basics),
	UNIT_CASE(rx_by_distance),
	UNIT_CASE(update_rfc_examples),
	UNIT_CASE(update_flags),
	UNIT_CASE(update_never_strands),
	UNIT_CASE(lending),
	UNIT_CASE(lending_starves),
	UNIT_CASE(lending_laws),
	UNIT_CASE(names),
};

UNIT_MAIN("cursor", cases)
