// SPDX-License-Identifier: GPL-2.0-only
/* The link that the peer writes over: order of links and messages, limits, invalid input. */
#include <smc/proto/cdc_imm.h>
#include <smc/proto/failover.h>
#include "unit.h"

#define NOWHERE SMC_FAILOVER_NO_SLOT
#define GONE 99		/* number of a link that was fenced */

static struct smc_failover_rx rx;
static u32 doubt;
/* Contents of the next validation; links by number, as @left. */
static u8 more, next_past[SMC_CDC_OLDER_LINKS], next_past_orderly;

/* Return the slot of link @num, or NOWHERE if it has none. */
static u8 slot_of(u8 num)
{
	return num && num != GONE ? num - 1 : NOWHERE;
}

/* Input message @seq over @slot; @f: a validation that names @left (0: none) as previous link. */
static int input(u8 slot, u16 seq, bool f, u8 left, u8 move)
{
	struct smc_cdc_msg msg = {
		.seq = seq, .token = 1, .flags = f ? SMC_CDC_F_FAILOVER : 0,
		.prev_link = left, .move_count = move, .ext = f ? more : 0,
		.older_orderly = f ? next_past_orderly : 0,
		.prod.off = f ? 0 : seq,
	};
	u8 past[SMC_FAILOVER_PREV_LINKS] = { slot_of(left) };
	u8 buf[SMC_CDC_LEN], i;

	for (i = 0; i < SMC_CDC_OLDER_LINKS; i++) {
		msg.older_links[i] = f ? next_past[i] : 0;
		past[i + 1] = slot_of(msg.older_links[i]);
	}
	CHECK_EQ(smc_cdc_msg_build(&msg, buf, sizeof(buf)), SMC_CDC_LEN);
	return smc_failover_rx_input(&rx, slot, past, buf, &msg, &doubt);
}

static void set_past(u8 last, u8 before, u8 before_that, u8 orderly)
{
	memset(next_past, 0, sizeof(next_past));
	next_past[0] = last;
	next_past[1] = before;
	next_past[2] = before_that;
	next_past_orderly = orderly;
}

/* The next message has number @seq, came over @slot and is a validation if @f. */
static void expect_next(u8 slot, u16 seq, bool f)
{
	struct smc_failover_msg msg;
	struct smc_cdc_msg parsed;

	memset(&msg, 0, sizeof(msg));
	CHECK(smc_failover_rx_next(&rx, &msg));
	CHECK_EQ(msg.slot, slot);
	CHECK_EQ(msg.validation, f);
	CHECK_EQ(msg.seq, seq);
	if (f)
		return;
	CHECK_EQ(smc_cdc_msg_parse(msg.msg, SMC_CDC_LEN, 16384, 16384, &parsed), 0);
	CHECK_EQ(parsed.seq, seq);
}

static void expect_none(void)
{
	struct smc_failover_msg msg;

	CHECK(!smc_failover_rx_next(&rx, &msg));
}

static void stays(void)
{
	smc_failover_rx_init(&rx, 4);
	CHECK_EQ(input(4, 1, false, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
	expect_none();
	/* a validation over the same link changes nothing */
	CHECK_EQ(input(4, 1, true, 0, 0), SMC_FAILOVER_TAKE);
	smc_failover_rx_note_fenced(&rx, 3);
	CHECK_EQ(input(4, 2, false, 0, 0), SMC_FAILOVER_TAKE);
}

/* The validation first, then the latest message; late messages of the previous link at once. */
static void one_move(void)
{
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(1, 7, true, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 1);
	CHECK_EQ(input(1, 8, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(input(1, 10, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(input(1, 9, false, 0, 0), SMC_FAILOVER_PARKED);
	expect_none();
	CHECK_EQ(input(0, 7, false, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_next(1, 7, true);
	expect_next(1, 10, false);
	expect_none();
	CHECK_EQ(rx.slot, 1);
	CHECK_EQ(input(1, 11, false, 0, 0), SMC_FAILOVER_TAKE);
}

/* Without a validation, the first message is reported as such, also after it was superseded. */
static void unproven(void)
{
	struct smc_failover_msg msg;

	smc_failover_rx_init(&rx, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	CHECK_EQ(input(1, 7, false, 0, 0), SMC_FAILOVER_FIRST);
	CHECK_EQ(input(1, 8, false, 0, 0), SMC_FAILOVER_TAKE);
	/* the same for parked messages */
	CHECK_EQ(input(2, 10, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(input(2, 11, false, 0, 0), SMC_FAILOVER_PARKED);
	smc_failover_rx_note_fenced(&rx, 1);
	CHECK(smc_failover_rx_next(&rx, &msg));
	CHECK(msg.unvalidated);
	CHECK_EQ(msg.seq, 11);
	CHECK_EQ(msg.first_seq, 10);
	CHECK_EQ(msg.first.off, 10);
	expect_none();
	CHECK_EQ(input(2, 12, false, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(input(2, 13, false, 0, 0), SMC_FAILOVER_TAKE);
	/* a validation, parked or not */
	input(3, 13, true, 0, 0);
	input(3, 14, false, 0, 0);
	smc_failover_rx_note_fenced(&rx, 2);
	expect_next(3, 13, true);
	CHECK(smc_failover_rx_next(&rx, &msg));
	CHECK(!msg.unvalidated);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 3);
	CHECK_EQ(input(4, 14, true, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(input(4, 15, false, 0, 0), SMC_FAILOVER_TAKE);
	input(5, 15, true, 0, 0);
	smc_failover_rx_note_fenced(&rx, 4);
	expect_next(5, 15, true);
	expect_none();
	CHECK_EQ(input(5, 16, false, 0, 0), SMC_FAILOVER_TAKE);
	CHECK(!smc_failover_seq_gap(0, 1));
	CHECK(smc_failover_seq_gap(0, 2));
	CHECK(!smc_failover_seq_gap(7, 7));
	CHECK(!smc_failover_seq_gap(7, 5));
	CHECK(!smc_failover_seq_gap(0xffff, 0));
	CHECK(smc_failover_seq_gap(0xffff, 1));
	CHECK(smc_failover_seq_gap(7, 9));
}

/* The previous link was fenced first: nothing has to wait. */
static void fenced_before(void)
{
	smc_failover_rx_init(&rx, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_none();
	CHECK_EQ(input(2, 1, true, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(input(2, 2, false, 0, 0), SMC_FAILOVER_TAKE);
	/* a new link in the old slot is another link */
	CHECK_EQ(input(0, 3, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 4);
}

/* The peer begins over any link, and may move before its first message is handled. */
static void any_start(void)
{
	smc_failover_rx_init_any(&rx);
	CHECK_EQ(input(2, 1, false, 0, 0), SMC_FAILOVER_FIRST);
	CHECK_EQ(doubt, 0);
	CHECK_EQ(rx.slot, 2);
	CHECK_EQ(rx.move, 0);
	/* from there it moves as usual */
	CHECK_EQ(input(0, 1, true, 3, 1), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 4);
	smc_failover_rx_note_fenced(&rx, 2);
	expect_next(0, 1, true);
	expect_none();
	CHECK_EQ(rx.move, 1);

	/* no message of the first link was handled, and it is open */
	smc_failover_rx_init_any(&rx);
	CHECK_EQ(input(0, 2, true, 3, 1), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 4);
	CHECK_EQ(input(0, 3, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(input(2, 2, false, 0, 0), SMC_FAILOVER_FIRST);
	smc_failover_rx_note_fenced(&rx, 2);
	expect_next(0, 2, true);
	expect_next(0, 3, false);
	expect_none();
	CHECK_EQ(rx.slot, 0);

	/* ... or fenced: all messages that came over it were handled */
	smc_failover_rx_init_any(&rx);
	smc_failover_rx_note_fenced(&rx, 2);
	CHECK_EQ(input(0, 2, true, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
}

/*
 * A foreign peer begins over another link than the one that the Accept names. Its first message
 * shows that nothing went over that one. Later, or with a validation, it is a move.
 */
static void starts_elsewhere(void)
{
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(1, 1, false, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
	CHECK_EQ(rx.slot, 1);
	CHECK_EQ(input(1, 2, false, 0, 0), SMC_FAILOVER_TAKE);
	/* numbers wrap */
	CHECK_EQ(input(0, 1, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 2);
	/* messages over the named link are missing */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(1, 2, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 1);
	/* its first message comes behind a validation */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(1, 0, true, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(input(1, 1, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 1);
	/* a native peer names the link that it has left */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(1, 1, true, 1, 1), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 1);
}

static void two_moves(void)
{
	smc_failover_rx_init(&rx, 0);
	input(1, 3, true, 0, 0);
	CHECK_EQ(input(2, 5, true, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 3);
	input(1, 5, false, 0, 0);
	input(2, 6, false, 0, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_next(1, 3, true);
	expect_next(1, 5, false);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(2, 5, true);
	expect_next(2, 6, false);
	expect_none();
	CHECK_EQ(rx.slot, 2);
	/* the link in the middle may be fenced first, and its slot reused */
	smc_failover_rx_init(&rx, 0);
	input(1, 3, true, 0, 0);
	input(2, 5, true, 0, 0);
	smc_failover_rx_note_fenced(&rx, 1);
	expect_none();
	CHECK_EQ(input(1, 9, false, 0, 0), SMC_FAILOVER_PARKED);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_next(1, 3, true);
	expect_next(2, 5, true);
	expect_none();
	CHECK_EQ(rx.slot, 2);
	smc_failover_rx_note_fenced(&rx, 2);
	expect_next(1, 9, false);
	CHECK(!smc_failover_rx_next(&rx, &(struct smc_failover_msg){ 0 }));
	CHECK_EQ(rx.slot, 1);
}

/* Messages of the second link are input after those of the third. */
static void out_of_order(void)
{
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(2, 5, true, 2, 2), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 3);
	CHECK_EQ(input(1, 3, true, 1, 1), SMC_FAILOVER_PARKED);
	input(1, 5, false, 0, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_next(1, 3, true);
	expect_next(1, 5, false);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(2, 5, true);
	expect_none();
	/* the first link is fenced before the first message after a move is input */
	smc_failover_rx_init(&rx, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	CHECK_EQ(input(2, 5, true, 2, 2), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 2);
	CHECK_EQ(input(1, 5, false, 0, 0), SMC_FAILOVER_FIRST);
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(2, 5, true);
	/* the link in the middle was not named before the next one */
	smc_failover_rx_init(&rx, 0);
	input(3, 5, true, 3, 3);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_none();
	CHECK_EQ(rx.slot, 2);
	{
		struct smc_cdc_msg msg = {
			.seq = 2,
			.token = 1,
			.flags = SMC_CDC_F_FAILOVER,
			.prev_link = 1,
			.move_count = 1,
		};
		u8 past[SMC_FAILOVER_PREV_LINKS];
		u8 buf[SMC_CDC_LEN];

		memset(past, NOWHERE, sizeof(past));
		smc_cdc_msg_build(&msg, buf, sizeof(buf));
		CHECK_EQ(smc_failover_rx_input(&rx, 1, past, buf, &msg, &doubt),
			 SMC_FAILOVER_TAKE);
	}
	CHECK_EQ(rx.slot, 1);
	smc_failover_rx_note_fenced(&rx, 1);
	expect_none();
	CHECK_EQ(rx.slot, 2);
}

/* Orderly moves: the previous link stays. */
static void orderly(void)
{
	smc_failover_rx_init(&rx, 0);
	more = SMC_CDC_EXT_ORDERLY;
	CHECK_EQ(input(1, 7, true, 1, 1), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
	CHECK_EQ(rx.slot, 1);
	CHECK_EQ(rx.move, 1);
	CHECK_EQ(input(1, 8, false, 0, 0), SMC_FAILOVER_TAKE);
	CHECK_EQ(input(0, 8, true, 2, 2), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
	CHECK_EQ(rx.slot, 0);
	/* then the link fails */
	more = 0;
	set_past(2, 1, 0, 3);
	CHECK_EQ(input(1, 8, true, 1, 3), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 1);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_next(1, 8, true);
	expect_none();
	CHECK_EQ(rx.slot, 1);
	CHECK_EQ(rx.move, 3);

	/* the link moved to fails before anything came over it: only that link is to be fenced */
	set_past(1, 0, 0, 1);
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(2, 7, true, 2, 2), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 2);
	CHECK_EQ(input(2, 8, false, 0, 0), SMC_FAILOVER_PARKED);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(2, 7, true);
	expect_next(2, 8, false);
	expect_none();
	CHECK_EQ(rx.slot, 2);
	/* ... or is fenced already */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(2, 7, true, GONE, 2), SMC_FAILOVER_TAKE);
	CHECK_EQ(doubt, 0);
	/* ... or the peer moves back to the first link */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(0, 7, true, 2, 2), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 2);
	CHECK_EQ(input(0, 8, false, 0, 0), SMC_FAILOVER_PARKED);
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(0, 7, true);
	expect_next(0, 8, false);
	expect_none();
	CHECK_EQ(rx.slot, 0);
	CHECK_EQ(input(0, 9, false, 0, 0), SMC_FAILOVER_TAKE);
	set_past(0, 0, 0, 0);
}

/* Links fail before anything came over them: writes over these are waited for, too. */
static void lost_in_a_row(void)
{
	/* two links */
	smc_failover_rx_init(&rx, 0);
	set_past(2, 1, 0, 0);
	CHECK_EQ(input(3, 5, true, 3, 3), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 7);
	CHECK_EQ(input(3, 6, false, 0, 0), SMC_FAILOVER_PARKED);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 2);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(3, 5, true);
	expect_next(3, 6, false);
	expect_none();
	/* the previous link is fenced already */
	smc_failover_rx_init(&rx, 0);
	smc_failover_rx_note_fenced(&rx, 0);
	set_past(2, GONE, 0, 0);
	CHECK_EQ(input(3, 5, true, GONE, 3), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 2);
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(3, 5, true);
	/* the first move was orderly: its link stays, the two links after it are fenced */
	smc_failover_rx_init(&rx, 0);
	set_past(2, 1, 0, 2);
	CHECK_EQ(input(3, 5, true, 3, 3), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 6);
	smc_failover_rx_note_fenced(&rx, 2);
	expect_none();
	smc_failover_rx_note_fenced(&rx, 1);
	expect_next(3, 5, true);
	expect_none();
	/* moves before the last one seen are ignored */
	CHECK_EQ(rx.move, 3);
	set_past(3, 2, 1, 0);
	CHECK_EQ(input(1, 7, true, 4, 4), SMC_FAILOVER_PARKED);
	CHECK_EQ(doubt, 8);
	/* more moves than a validation lists */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(input(3, 5, true, 3, SMC_FAILOVER_PREV_LINKS + 2), -ENOSPC);
	set_past(0, 0, 0, 0);
}

/*
 * Orderly moves and failing links at random. Messages are input in any order that keeps
 * those of one link in order.
 */
#define PLAY_LINKS 6
#define PLAY_STEPS 80
static struct {
	struct {
		u16 seq;
		u8 left, move, more, past[SMC_CDC_OLDER_LINKS], past_orderly;
		bool f;
	} queue[PLAY_LINKS][512];
	u32 head[PLAY_LINKS], tail[PLAY_LINKS];
	bool dead[PLAY_LINKS], fenced[PLAY_LINKS];
	u8 at, move, more, left, past[SMC_CDC_OLDER_LINKS], past_orderly;
	u16 seq, done, seen;
	struct {
		u8 slot;
		bool failed;	/* false: orderly move */
	} was[PLAY_STEPS + 1];	/* by number of the move */
	u8 move_of[PLAY_STEPS + 1];	/* by sequence number of the message */
} play;

static void play_send(bool f)
{
	u32 *tail = &play.tail[play.at];

	REQUIRE(*tail < ARRAY_SIZE(play.queue[0]));
	play.queue[play.at][*tail].f = f;
	play.queue[play.at][*tail].left = f ? play.left : 0;
	play.queue[play.at][*tail].move = f ? play.move : 0;
	play.queue[play.at][*tail].more = f ? play.more : 0;
	play.queue[play.at][*tail].past_orderly = play.past_orderly;
	memcpy(play.queue[play.at][*tail].past, play.past, sizeof(play.past));
	play.queue[play.at][*tail].seq = f ? play.done : ++play.seq;
	if (!f)
		play.move_of[play.seq] = play.move;
	++*tail;
}

static void play_handled(u16 seq, bool f)
{
	u8 m;

	/* no message is lost, none is handled before an earlier one */
	CHECK(f ? seq <= play.seen : seq >= play.seen);
	if (!f && seq > play.seen)
		play.seen = seq;
	/* no late WRITE can come: all links that had failed are fenced */
	for (m = 0; !f && m < play.move_of[seq]; m++)
		CHECK(!play.was[m].failed || play.fenced[play.was[m].slot]);
}

static void play_next(void)
{
	struct smc_failover_msg msg;

	while (smc_failover_rx_next(&rx, &msg))
		play_handled(msg.seq, msg.validation);
}

static void play_fence(u8 slot);

/* Return @num, or GONE if that link is fenced. */
static u8 play_link_num(u8 num)
{
	return num && play.fenced[num - 1] ? GONE : num;
}

static void play_receive(u8 slot)
{
	u32 at = play.head[slot];
	u32 bad;
	int rc;
	u8 s;

	if (at == play.tail[slot])
		return;
	play.head[slot]++;
	more = play.queue[slot][at].more;
	next_past_orderly = play.queue[slot][at].past_orderly;
	for (s = 0; s < SMC_CDC_OLDER_LINKS; s++)
		next_past[s] = play_link_num(play.queue[slot][at].past[s]);
	rc = input(slot, play.queue[slot][at].seq, play.queue[slot][at].f,
		   play_link_num(play.queue[slot][at].left), play.queue[slot][at].move);
	CHECK(rc >= 0);
	if (rc == SMC_FAILOVER_TAKE)
		play_handled(play.queue[slot][at].seq, play.queue[slot][at].f);
	more = 0;
	set_past(0, 0, 0, 0);
	for (bad = doubt, s = 0; s < PLAY_LINKS; s++) {
		if (!(bad & 1U << s))
			continue;
		/* only failed links are to be fenced */
		CHECK(play.dead[s]);
		play_fence(s);
	}
}

/* Input all messages that came over the link, then fence it. */
static void play_fence(u8 slot)
{
	if (play.fenced[slot])
		return;
	while (play.head[slot] != play.tail[slot])
		play_receive(slot);
	/* one of these messages had it fenced */
	if (play.fenced[slot])
		return;
	play.fenced[slot] = true;
	smc_failover_rx_note_fenced(&rx, slot);
	play_next();
}

static void play_move(u8 to, u8 how)
{
	memmove(play.past + 1, play.past, sizeof(play.past) - 1);
	play.past[0] = play.left;
	play.past_orderly =
		(u8)((play.past_orderly << 1 | play.more) & ((1U << SMC_CDC_OLDER_LINKS) - 1));
	play.left = play.at + 1;
	play.more = how;
	play.was[play.move].slot = play.at;
	play.was[play.move].failed = !how;
	play.at = to;
	play.move++;
	play_send(true);
}

static void play_step(void)
{
	u8 to = (u8)unit_below(PLAY_LINKS), s, alive = 0;

	for (s = 0; s < PLAY_LINKS; s++)
		alive += !play.dead[s];
	switch (unit_below(8)) {
	case 0:	/* orderly: all messages were handled, the last one over this link */
		if (to == play.at || play.dead[to] || play.seen != play.seq ||
		    play.head[play.at] != play.tail[play.at] || rx.slot != play.at)
			break;
		play.done = play.seq;
		play_move(to, SMC_CDC_EXT_ORDERLY);
		break;
	case 1:	/* the link fails; some last messages arrive, the sender knows of fewer */
		if (to == play.at || play.dead[to] || alive < 2 || unit_below(4))
			break;
		play.dead[play.at] = true;
		play.tail[play.at] -= unit_below(play.tail[play.at] - play.head[play.at] + 1);
		if (play.done < play.seen)
			play.done = play.seen - unit_below(play.seen - play.done + 1);
		play_move(to, 0);
		break;
	case 2:
	case 3:
		play_send(false);
		break;
	case 4:	/* the receiver notices the failure itself */
		if (play.dead[to])
			play_fence(to);
		break;
	default:
		play_receive(to);
		break;
	}
}

static void any_course(void)
{
	int round, i;
	u8 s;

	for (round = 0; round < 20000; round++) {
		memset(&play, 0, sizeof(play));
		smc_failover_rx_init(&rx, 0);
		for (i = 0; i < PLAY_STEPS; i++)
			play_step();
		for (i = 0; i < 400; i++)
			play_receive((u8)unit_below(PLAY_LINKS));
		for (s = 0; s < PLAY_LINKS; s++)
			if (play.dead[s])
				play_fence(s);
		/* nothing waits for the last link */
		CHECK_EQ(rx.nparked, 0);
		CHECK(rx.slot == play.at || rx.slot == NOWHERE || !play.tail[play.at]);
		CHECK(play.head[play.at] == play.tail[play.at]);
	}
}

static void too_many(void)
{
	u8 i;

	smc_failover_rx_init(&rx, 0);
	for (i = 1; i <= SMC_FAILOVER_PARKED_MAX; i++)
		CHECK_EQ(input(i, i, true, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(input(i, i, true, 0, 0), -ENOSPC);
	CHECK_EQ(input(i, i, true, 7, 1), -ENOSPC);
	/* links that are known still work */
	CHECK_EQ(input(1, 20, false, 0, 0), SMC_FAILOVER_PARKED);
}

/* An immediate value waits as a part of the message before it. */
static void immediate_values(void)
{
	struct smc_failover_msg msg;
	struct smc_cdc_msg parsed;

	/* over the link in use, after any message */
	smc_failover_rx_init(&rx, 0);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 0, 16384, 1), SMC_FAILOVER_TAKE);
	/* over another link: not before a message, also not after a validation alone */
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 1), -EPROTO);
	CHECK_EQ(input(1, 5, true, 1, 1), SMC_FAILOVER_PARKED);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 1), -EPROTO);
	/* message 6 has the cursor 6 */
	CHECK_EQ(input(1, 6, false, 0, 0), SMC_FAILOVER_PARKED);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 16384 + 7), -EPROTO);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 6), -EPROTO);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 5), -EPROTO);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 100), SMC_FAILOVER_PARKED);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 16384 + 50), SMC_FAILOVER_PARKED);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 0, 16384, 1), SMC_FAILOVER_TAKE);
	smc_failover_rx_note_fenced(&rx, 0);
	expect_next(1, 5, true);
	CHECK(smc_failover_rx_next(&rx, &msg));
	CHECK_EQ(msg.seq, 8);
	CHECK_EQ(smc_cdc_msg_parse(msg.msg, SMC_CDC_LEN, 16384, 16384, &parsed), 0);
	CHECK_EQ(parsed.seq, 8);
	CHECK_EQ(parsed.token, 1);
	CHECK_EQ(parsed.prod.wrap, 1);
	CHECK_EQ(parsed.prod.off, 50);
	expect_none();
	CHECK_EQ(rx.slot, 1);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 1), SMC_FAILOVER_TAKE);
	/* nor first over a link where the peer may begin */
	smc_failover_rx_init_any(&rx);
	CHECK_EQ(smc_failover_rx_input_imm(&rx, 1, 16384, 1), -EPROTO);
}

/* With any input the table stays in bounds, and it is empty once all links are fenced. */
static void invalid_input(void)
{
	struct smc_failover_msg msg;
	unsigned int n;
	u8 i;

	for (n = 0; n < 200000; n++) {
		if (!(n % 64))
			smc_failover_rx_init(&rx, (u8)unit_below(9));
		if (!unit_below(6))
			smc_failover_rx_note_fenced(&rx, (u8)unit_below(9));
		else if (!unit_below(4))
			smc_failover_rx_input_imm(&rx, (u8)unit_below(9), SMC_RMBE_SIZE_MIN,
						  (u32)unit_rand());
		else
			input((u8)unit_below(9), (u16)unit_rand(), true, (u8)unit_below(10),
			      (u8)unit_rand());
		CHECK(rx.nparked <= SMC_FAILOVER_PARKED_MAX);
		CHECK(rx.slot < 9 || rx.slot == NOWHERE);
		while (!unit_below(2) && smc_failover_rx_next(&rx, &msg))
			CHECK(msg.slot < 9);
	}
	for (i = 0; i < 9; i++)
		smc_failover_rx_note_fenced(&rx, i);
	while (smc_failover_rx_next(&rx, &msg))
		;
	CHECK_EQ(rx.nparked, 0);
	CHECK_EQ(rx.slot, NOWHERE);
}

/*
 * One side reads for a long time, sends an update per message, and hardly ever sends data.
 * Whenever its link fails, the validation does not name a message that is still to come.
 */
static void one_way_for_long(void)
{
	u16 seq = 0, done = 0, flight[64] = { 0 }, seen;
	bool noticed[64] = { false };
	unsigned int n, i;

	for (n = 1; n < 300000; n++) {
		i = n % ARRAY_SIZE(flight);
		/* the oldest message in flight arrives */
		if (noticed[i])
			done = flight[i];
		seen = n > ARRAY_SIZE(flight) ? flight[i] : 0;
		CHECK((s16)(done - seen) <= 0);
		seq++;
		flight[i] = seq;
		noticed[i] = smc_failover_seq_due(seq, done) || !unit_below(50000);
	}
	CHECK(done);
	CHECK(!smc_failover_seq_due(5, 5));
	CHECK(!smc_failover_seq_due(0, 0xffff));
	CHECK(smc_failover_seq_due(0x1fff, 0xffff));
}

/* The number of an acknowledgment comes from the wire: any value, also around the wrap. */
static void acked_over_link(void)
{
	u16 left = 0xfff0;
	u32 last, ack;

	for (last = 0; last < 40; last++) {
		for (ack = 0; ack < 0x10000; ack++) {
			bool after = (u16)(ack - left) >= 1 && (u16)(ack - left) <= last;

			if (smc_failover_ack_follows((u16)ack, left, (u16)(left + last)) != after)
				FAIL("left %u last %u ack %u", left, last, ack);
		}
	}
	/* more messages than half the numbers */
	CHECK(smc_failover_ack_follows(2, 1, 0xf000));
	CHECK(!smc_failover_ack_follows(1, 1, 0xf000));
	CHECK(!smc_failover_ack_follows(0xf001, 1, 0xf000));
}

static void names(void)
{
	CHECK(!strcmp(smc_failover_verdict_str(SMC_FAILOVER_TAKE), "take"));
	CHECK(!strcmp(smc_failover_verdict_str(SMC_FAILOVER_PARKED), "kept"));
	CHECK(!strcmp(smc_failover_verdict_str(SMC_FAILOVER_FIRST), "first"));
	CHECK(!strcmp(smc_failover_verdict_str((enum smc_failover_verdict)9), "?"));
}

static const struct unit_case cases[] = {
	UNIT_CASE(stays),
	UNIT_CASE(one_move),
	UNIT_CASE(unproven),
	UNIT_CASE(fenced_before),
	UNIT_CASE(any_start),
	UNIT_CASE(starts_elsewhere),
	UNIT_CASE(two_moves),
	UNIT_CASE(out_of_order),
	UNIT_CASE(orderly),
	UNIT_CASE(lost_in_a_row),
	UNIT_CASE(any_course),
	UNIT_CASE(too_many),
	UNIT_CASE(immediate_values),
	UNIT_CASE(invalid_input),
	UNIT_CASE(one_way_for_long),
	UNIT_CASE(acked_over_link),
	UNIT_CASE(names),
};

UNIT_MAIN("failover", cases)
