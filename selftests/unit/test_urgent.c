// SPDX-License-Identifier: GPL-2.0-only
/* Urgent data: writer alone, reader alone, both together: proto/urgent. */
#include "unit.h"
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include <smc/proto/urgent.h>

#define P	SMC_CDC_F_URG_PENDING
#define U	SMC_CDC_F_URG_PRESENT
#define ANY	(~(u32)0)

static void writer(void)
{
	struct smc_urgent_tx u = { 0 };

	CHECK_EQ(smc_urgent_tx_stop_pos(&u), SMC_PLAN_NO_STOP);
	CHECK_EQ(smc_urgent_tx_flags(&u, 0, true), 0);
	smc_urgent_tx_mark(&u, 500, 0);
	CHECK(u.flag_due);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 500);
	CHECK_EQ(smc_urgent_tx_flags(&u, 0, true), P);
	CHECK_EQ(smc_urgent_tx_flags(&u, 499, true), P);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, true), P | U);
	smc_urgent_tx_note_consumed(&u, 499);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 500);
	smc_urgent_tx_note_consumed(&u, 500);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), SMC_PLAN_NO_STOP);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, true), 0);
}

/* Of several urgent bytes only the last counts, except those announced to the peer. */
static void writer_again(void)
{
	struct smc_urgent_tx u = { 0 };

	smc_urgent_tx_mark(&u, 500, 0);
	smc_urgent_tx_mark(&u, 600, 499);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 600);
	smc_urgent_tx_mark(&u, 700, 600);
	smc_urgent_tx_mark(&u, 800, 600);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 600);
	CHECK_EQ(smc_urgent_tx_flags(&u, 600, true), P | U);
	smc_urgent_tx_note_consumed(&u, 600);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 800);
	CHECK_EQ(smc_urgent_tx_flags(&u, 600, true), P);
	CHECK_EQ(smc_urgent_tx_flags(&u, 800, true), P | U);
	smc_urgent_tx_note_consumed(&u, 800);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), SMC_PLAN_NO_STOP);
}

/* For readers that take P for a further byte: sent once, and again if it may be lost. */
static void writer_once(void)
{
	struct smc_urgent_tx u = { 0 };

	smc_urgent_tx_mark(&u, 500, 0);
	CHECK_EQ(smc_urgent_tx_flags(&u, 100, false), P);
	CHECK(!u.flag_due);
	CHECK_EQ(smc_urgent_tx_flags(&u, 200, false), P);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), P | U);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), 0);
	smc_urgent_tx_mark(&u, 600, 500);
	CHECK(!u.flag_due);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), 0);
	/* the peer has the byte, and must not take it for a further one */
	smc_urgent_tx_rewind(&u, 500);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), 0);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, true), P | U);
	smc_urgent_tx_rewind(&u, 499);
	CHECK_EQ(smc_urgent_tx_flags(&u, 400, false), P);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), P | U);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), 0);
	smc_urgent_tx_note_consumed(&u, 500);
	CHECK(u.flag_due);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, false), P);
	CHECK_EQ(smc_urgent_tx_flags(&u, 600, false), P | U);
}

/* A link change takes the cursor back: the byte is announced again. */
static void writer_rewound(void)
{
	struct smc_urgent_tx u = { 0 };

	smc_urgent_tx_mark(&u, 500, 0);
	CHECK_EQ(smc_urgent_tx_flags(&u, 500, true), P | U);
	CHECK_EQ(smc_urgent_tx_flags(&u, 100, true), P);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 500);
	smc_urgent_tx_mark(&u, 600, 500);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), 500);
	smc_urgent_tx_note_consumed(&u, 1000);
	CHECK_EQ(smc_urgent_tx_stop_pos(&u), SMC_PLAN_NO_STOP);
}

/* The last byte of a message does not wait for room alone. */
static void writer_takes(void)
{
	CHECK_EQ(smc_urgent_tx_copy_len(1, 10), 1);
	CHECK_EQ(smc_urgent_tx_copy_len(10, 10), 10);
	CHECK_EQ(smc_urgent_tx_copy_len(11, 10), 9);
	CHECK_EQ(smc_urgent_tx_copy_len(12, 10), 10);
	CHECK_EQ(smc_urgent_tx_copy_len(3, 2), 1);
	CHECK_EQ(smc_urgent_tx_copy_len(3, 1), 1);
	CHECK_EQ(smc_urgent_tx_copy_len(2, 1), 0);
	CHECK_EQ(smc_urgent_tx_copy_len(1, 1), 1);
	CHECK_EQ(smc_urgent_tx_copy_len(1, 0), 0);
	CHECK_EQ(smc_urgent_tx_copy_len(2, 0), 0);
	CHECK_EQ(smc_urgent_tx_copy_len(0x100000001ull, ANY), 0xffffffff);
	CHECK_EQ(smc_urgent_tx_copy_len(0x100000000ull, ANY), 0xfffffffe);
}

static void reader(void)
{
	struct smc_urgent_rx u = { 0 };
	u8 byte = 0;

	CHECK_EQ(smc_urgent_rx_read_oob(&u, false, &byte), -EINVAL);
	CHECK(!smc_urgent_rx_is_at_mark(&u, 0));
	CHECK_EQ(smc_urgent_rx_read_len(&u, 0, false, true), ANY);
	/* RFC 7609 section 4.7.6: the byte is to follow */
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P, 100, 0), SMC_URGENT_SIGNAL);
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P, 200, 0), 0);
	CHECK_EQ(smc_urgent_rx_read_oob(&u, false, &byte), -EAGAIN);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 0, false, true), ANY);
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P | U, 500, 100), SMC_URGENT_ARRIVED);
	u.byte = 'x';
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P | U, 500, 100), 0);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 100, false, false), 399);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 100, true, true), 399);
	CHECK(!smc_urgent_rx_skip(&u, 498, false));
	CHECK(!smc_urgent_rx_is_at_mark(&u, 498));
	CHECK(smc_urgent_rx_is_at_mark(&u, 499));
	CHECK(smc_urgent_rx_skip(&u, 499, false));
	CHECK(!smc_urgent_rx_skip(&u, 499, false));
	CHECK(!smc_urgent_rx_note_consumed(&u, 500));
	CHECK(smc_urgent_rx_is_at_mark(&u, 500));
	CHECK_EQ(smc_urgent_rx_read_len(&u, 500, false, true), 0);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 500, false, false), ANY);
	CHECK_EQ(smc_urgent_rx_read_oob(&u, true, &byte), 0);
	CHECK_EQ(byte, 'x');
	CHECK_EQ(smc_urgent_rx_read_oob(&u, false, &byte), 0);
	CHECK_EQ(smc_urgent_rx_read_oob(&u, false, &byte), -EINVAL);
	CHECK(smc_urgent_rx_is_at_mark(&u, 500));
	/* repeated after a link change: nothing new */
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P | U, 500, 500), 0);
	CHECK(!smc_urgent_rx_note_consumed(&u, 501));
	CHECK(!smc_urgent_rx_is_at_mark(&u, 501));
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P | U, 500, 501), 0);
}

static void reader_in_line(void)
{
	struct smc_urgent_rx u = { 0 };

	CHECK_EQ(smc_urgent_rx_take_flags(&u, P | U, 10, 0),
		 SMC_URGENT_SIGNAL | SMC_URGENT_ARRIVED);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 0, true, false), 9);
	CHECK(!smc_urgent_rx_skip(&u, 9, true));
	CHECK_EQ(smc_urgent_rx_read_len(&u, 9, true, true), 0);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 9, true, false), ANY);
	CHECK(smc_urgent_rx_is_at_mark(&u, 9));
	CHECK(!smc_urgent_rx_note_consumed(&u, 9));
	CHECK(smc_urgent_rx_note_consumed(&u, 10));
	CHECK_EQ(u.state, SMC_URGENT_NONE);
}

/* A byte taken out of the stream is delivered if the application sets in-line reading later. */
static void reader_decides_late(void)
{
	struct smc_urgent_rx u = { 0 };

	smc_urgent_rx_take_flags(&u, P | U, 10, 0);
	CHECK(smc_urgent_rx_blocks_writer(&u, 10));
	CHECK(!smc_urgent_rx_blocks_writer(&u, 11));
	CHECK(!smc_urgent_rx_is_held(&u, 9, true));
	CHECK(smc_urgent_rx_skip(&u, 9, false));
	CHECK(!smc_urgent_rx_blocks_writer(&u, 10));
	CHECK(!smc_urgent_rx_is_held(&u, 10, false));
	CHECK(smc_urgent_rx_is_held(&u, 10, true));
	CHECK(!smc_urgent_rx_is_held(&u, 11, true));
	smc_urgent_rx_note_passed(&u);
	CHECK(!smc_urgent_rx_is_held(&u, 10, true));
	CHECK(!smc_urgent_rx_is_at_mark(&u, 10));
}

/* A peek skips the urgent byte if it begins there, and ends before it otherwise. */
static void reader_peeks(void)
{
	struct smc_urgent_rx u = { 0 };

	smc_urgent_rx_take_flags(&u, P | U, 10, 0);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 4, false, true), 5);
	CHECK(!smc_urgent_rx_is_next(&u, 8, false));
	CHECK(smc_urgent_rx_is_next(&u, 9, false));
	CHECK(!smc_urgent_rx_is_next(&u, 9, true));
	CHECK_EQ(smc_urgent_rx_read_len(&u, 9, false, true), 0);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 10, false, false), ANY);
}

/* The next urgent byte follows when the last one is consumed; P repeated before is no news. */
static void reader_next(void)
{
	struct smc_urgent_rx u = { 0 };
	u8 byte;

	smc_urgent_rx_take_flags(&u, P | U, 10, 0);
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P, 10, 3), 0);
	CHECK_EQ(u.state, SMC_URGENT_VALID);
	CHECK(smc_urgent_rx_skip(&u, 9, false));
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P, 10, 10), SMC_URGENT_SIGNAL);
	CHECK_EQ(smc_urgent_rx_read_oob(&u, false, &byte), -EAGAIN);
	/* the peer withdraws P */
	CHECK_EQ(smc_urgent_rx_take_flags(&u, 0, 10, 10), 0);
	CHECK_EQ(smc_urgent_rx_read_oob(&u, false, &byte), -EINVAL);
	CHECK_EQ(smc_urgent_rx_take_flags(&u, P | U, 20, 10),
		 SMC_URGENT_SIGNAL | SMC_URGENT_ARRIVED);
	/* the next byte of a peer that does not wait replaces it */
	CHECK_EQ(smc_urgent_rx_take_flags(&u, U, 30, 10), SMC_URGENT_SIGNAL | SMC_URGENT_ARRIVED);
	CHECK_EQ(smc_urgent_rx_read_len(&u, 10, false, false), 19);
}

/* ---- both ends, with link changes ---- */

#define ROUNDS	200000
#define RING	256

struct ends {
	struct smc_urgent_tx w;
	struct smc_urgent_rx r;
	u64 prepared, sent, sent_max, produced, consumed, known;
	unsigned int signals, taken, arrived;
	bool again;
};

static u8 byte_at(u64 pos)
{
	return (u8)(pos * 167 + (pos >> 8));
}

static void send_flags(struct ends *e)
{
	u8 flags = smc_urgent_tx_flags(&e->w, e->sent, e->again);
	unsigned int found;

	if (e->sent > e->produced)
		e->produced = e->sent;
	/* a message from before a link change has no new bytes, but its flags count */
	found = smc_urgent_rx_take_flags(&e->r, flags, e->produced, e->consumed);
	if (found & SMC_URGENT_ARRIVED) {
		CHECK_EQ(e->produced, e->w.pos);
		e->r.byte = byte_at(e->produced - 1);
		e->arrived++;
	}
	e->signals += !!(found & SMC_URGENT_SIGNAL);
	if (smc_urgent_rx_skip(&e->r, e->consumed, false)) {
		e->consumed++;
		CHECK(!smc_urgent_rx_note_consumed(&e->r, e->consumed));
	}
}

static void receive_update(struct ends *e)
{
	e->known = e->consumed;
	smc_urgent_tx_note_consumed(&e->w, e->known);
	if (e->sent < e->known)
		e->sent = e->known;
}

static void write_some(struct ends *e)
{
	u64 stop = smc_urgent_tx_stop_pos(&e->w), end = e->known + RING;
	u64 to = e->sent + 1 + unit_below(40);

	if (to > e->prepared)
		to = e->prepared;
	if (to > stop)
		to = stop;
	if (to > end)
		to = end;
	if (to > e->sent)
		e->sent = to;
	if (e->sent > e->sent_max)
		e->sent_max = e->sent;
	send_flags(e);
}

static void read_some(struct ends *e)
{
	u32 room = smc_urgent_rx_read_len(&e->r, e->consumed, false, false);
	u64 n = 1 + unit_below(30);

	if (n > room)
		n = room;
	if (n > e->produced - e->consumed)
		n = e->produced - e->consumed;
	e->consumed += n;
	CHECK(!n || !smc_urgent_rx_note_consumed(&e->r, e->consumed));
	if (smc_urgent_rx_skip(&e->r, e->consumed, false))
		e->consumed++;
}

static void take_urgent(struct ends *e)
{
	u64 pos = e->r.pos;
	u8 byte;

	if (smc_urgent_rx_read_oob(&e->r, false, &byte))
		return;
	CHECK_EQ(byte, byte_at(pos - 1));
	e->taken++;
}

/*
 * In any order of steps: no byte of the writer is held back for ever, the urgent byte is the
 * right one, and the application is signalled for each urgent byte that arrived.
 */
static void run_ends(bool again)
{
	struct ends e = { .again = again };
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		switch (unit_below(16)) {
		case 0:
			if (e.prepared - e.known < RING) {
				e.prepared += 1 + unit_below(20);
				smc_urgent_tx_mark(&e.w, e.prepared, e.sent_max);
			}
			break;
		case 1: case 2: case 3:
			if (e.prepared - e.known < RING)
				e.prepared += unit_below(50);
			break;
		case 4:	/* a link change */
			e.sent = e.known;
			smc_urgent_tx_rewind(&e.w, e.sent);
			send_flags(&e);
			break;
		case 5: case 6: case 7: case 8:
			write_some(&e);
			break;
		case 9: case 10: case 11:
			read_some(&e);
			break;
		case 12:
			take_urgent(&e);
			break;
		default:
			receive_update(&e);
			break;
		}
		CHECK(e.produced >= e.consumed);
		CHECK(e.signals >= e.arrived);
	}
	CHECK(e.arrived > ROUNDS / 200);
	CHECK(e.taken > ROUNDS / 1000);
	/* everything gets through */
	for (i = 0; i < 1000 && e.consumed < e.prepared; i++) {
		write_some(&e);
		read_some(&e);
		receive_update(&e);
	}
	CHECK_EQ(e.consumed, e.prepared);
	CHECK_EQ(smc_urgent_tx_stop_pos(&e.w), SMC_PLAN_NO_STOP);
}

static void together(void)
{
	run_ends(true);
}

static void together_once(void)
{
	run_ends(false);
}

static const struct unit_case cases[] = {
	UNIT_CASE(writer),
	UNIT_CASE(writer_again),
	UNIT_CASE(writer_once),
	UNIT_CASE(writer_takes),
	UNIT_CASE(writer_rewound),
	UNIT_CASE(reader),
	UNIT_CASE(reader_in_line),
	UNIT_CASE(reader_decides_late),
	UNIT_CASE(reader_peeks),
	UNIT_CASE(reader_next),
	UNIT_CASE(together),
	UNIT_CASE(together_once),
};

UNIT_MAIN("urgent", cases)
