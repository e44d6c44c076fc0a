// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages of a misbehaving peer over several links, as a reader takes them: parser, failover,
 * receive ring and urgent data together. Between the messages the application reads in place or
 * out of band, borrows bytes and returns them, and links are fenced. fuzz_cdc_seq has the writer's
 * side and the state of the connection.
 *
 * Whatever the peer sends: what is read was announced, once and in order; lent bytes stay out of
 * the peer's reach; cursors stay inside the ring and never go back; messages are not parked without
 * end, and while one is, the links that the peer has left are named, to be fenced.
 *
 * Input: a byte for the ring size, then steps.
 */
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include <smc/proto/failover.h>
#include <smc/proto/urgent.h>
#include "fuzz.h"

#define LINKS	(SMC_FAILOVER_PARKED_MAX + 1)

struct reader {
	struct smc_ring_rx ring;
	struct smc_urgent_rx urg;
	struct smc_failover_rx path;
	u16 seq;
	bool seen, in_line, ended;
	u64 announced, consumed;	/* furthest so far */
};

static void check_reader(struct reader *r)
{
	struct smc_cdc_cursor cursor;
	u32 off = 0, lent = smc_ring_rx_get_lent(&r->ring, &off);

	FUZZ_ASSERT(r->ring.consumed <= r->ring.produced && r->ring.consumed >= r->consumed);
	FUZZ_ASSERT(r->ring.announced <= r->ring.consumed && r->ring.announced >= r->announced);
	/* the peer may write what is not announced as free: never what is lent or unread */
	FUZZ_ASSERT(r->ring.produced - r->ring.announced <= r->ring.size);
	FUZZ_ASSERT(!lent || r->ring.announced <= r->ring.lent_start);
	FUZZ_ASSERT(lent <= r->ring.size && off < r->ring.size);
	FUZZ_ASSERT(smc_ring_rx_withheld(&r->ring) <= r->ring.size);
	smc_ring_rx_get_cursor(&r->ring, &cursor);
	FUZZ_ASSERT(cursor.off < r->ring.size);
	r->announced = r->ring.announced;
	r->consumed = r->ring.consumed;
	FUZZ_ASSERT(r->urg.state <= SMC_URGENT_READ);
	if (r->urg.state == SMC_URGENT_VALID || r->urg.state == SMC_URGENT_READ)
		FUZZ_ASSERT(r->urg.pos && r->urg.pos <= r->ring.produced);
	FUZZ_ASSERT(r->path.nparked <= SMC_FAILOVER_PARKED_MAX);
	FUZZ_ASSERT(r->path.slot < LINKS || r->path.slot == SMC_FAILOVER_NO_SLOT);
}

/* ---- messages ---- */

static void apply(struct reader *r, const u8 *buf)
{
	struct smc_cdc_msg msg;
	unsigned int urgent;
	int rc;

	if (smc_cdc_msg_parse(buf, SMC_CDC_LEN, r->ring.size, r->ring.size, &msg)) {
		r->ended = true;
		return;
	}
	if (r->seen && (s16)(msg.seq - r->seq) <= 0)
		return;
	r->seen = true;
	r->seq = msg.seq;
	rc = smc_ring_rx_take_cursor(&r->ring, &msg.prod, msg.flags & SMC_CDC_F_BLOCKED,
				     msg.flags & SMC_CDC_F_UPDATE_REQ);
	r->ended = rc < 0;
	if (rc < 0 || rc == SMC_CURSOR_STALE)
		return;
	urgent = smc_urgent_rx_take_flags(&r->urg, msg.flags, r->ring.produced, r->ring.consumed);
	/* the byte is fetched from the ring now: it must be there */
	if (urgent & SMC_URGENT_ARRIVED)
		FUZZ_ASSERT(r->urg.pos == r->ring.produced && smc_ring_rx_readable(&r->ring));
}

static void apply_parked(struct reader *r)
{
	struct smc_failover_msg parked;
	unsigned int n = 0;

	while (!r->ended && smc_failover_rx_next(&r->path, &parked)) {
		FUZZ_ASSERT(++n <= 2 * SMC_FAILOVER_PARKED_MAX);
		/* a validation of messages that never came: bytes are lost */
		if (parked.validation)
			r->ended = r->seen && (s16)(parked.seq - r->seq) > 0;
		else
			apply(r, parked.msg);
	}
}

static void message(struct reader *r, struct fuzz_input *in)
{
	u8 buf[SMC_CDC_LEN] = { SMC_CDC_TYPE, SMC_CDC_LEN }, past[SMC_FAILOVER_PREV_LINKS];
	u8 slot = fuzz_take(in, 1), form = fuzz_take(in, 1);
	struct smc_cdc_cursor near;
	struct smc_cdc_msg msg;
	u32 doubt = 0;
	int rc;

	smc_wire_put_be16(buf + 2, (u16)(r->seq + (form & 1 ? fuzz_take(in, 2) : 1)));
	smc_cursor_from_pos(r->ring.produced + (form & 2 ? fuzz_take(in, 3) : form), r->ring.size,
			    &near);
	smc_wire_put_be16(buf + 10, near.wrap);
	smc_wire_put_be32(buf + 12, near.off);
	buf[24] = (u8)fuzz_take(in, 1);
	buf[25] = 0;
	for (unsigned int i = 26; form & 4 && i < SMC_CDC_LEN; i++)
		buf[i] = (u8)fuzz_take(in, 1);
	for (unsigned int i = 0; i < SMC_FAILOVER_PREV_LINKS; i++)
		past[i] = form & 8 ? fuzz_take(in, 1) % (LINKS + 1) : SMC_FAILOVER_NO_SLOT;
	for (unsigned int i = 0; i < SMC_FAILOVER_PREV_LINKS; i++)
		past[i] = past[i] < LINKS ? past[i] : SMC_FAILOVER_NO_SLOT;
	if (smc_cdc_msg_parse(buf, sizeof(buf), r->ring.size, r->ring.size, &msg)) {
		r->ended = true;
		return;
	}
	rc = smc_failover_rx_input(&r->path, slot % LINKS, past, buf, &msg, &doubt);
	if (rc == SMC_FAILOVER_TAKE || rc == SMC_FAILOVER_FIRST) {
		FUZZ_ASSERT(r->path.slot == slot % LINKS);
		if (!(msg.flags & SMC_CDC_F_FAILOVER))
			apply(r, buf);
		else if (r->seen && (s16)(msg.seq - r->seq) > 0)
			r->ended = true;
	} else if (rc == SMC_FAILOVER_PARKED) {
		FUZZ_ASSERT(r->path.slot != slot % LINKS && r->path.nparked);
		FUZZ_ASSERT(doubt && doubt < 1U << LINKS);
	} else {
		FUZZ_ASSERT(rc == -ENOSPC);
		r->ended = true;
	}
	if (!r->ended)
		apply_parked(r);
}

/* ---- the application ---- */

static void consume(struct reader *r, u32 len)
{
	FUZZ_ASSERT(!smc_ring_rx_consume(&r->ring, len));
	if (smc_urgent_rx_note_consumed(&r->urg, r->ring.consumed))
		smc_ring_rx_force_update(&r->ring);
}

static void read_some(struct reader *r, u32 want, bool lend)
{
	struct smc_ring_span span[2];
	u32 len = 0, room;
	unsigned int n;

	if (smc_ring_rx_readable(&r->ring) &&
	    smc_urgent_rx_skip(&r->urg, r->ring.consumed, r->in_line))
		consume(r, 1);
	room = smc_urgent_rx_read_len(&r->urg, r->ring.consumed, r->in_line, false);
	n = smc_ring_rx_get_spans(&r->ring, 0, want < room ? want : room, span);
	while (n--) {
		FUZZ_ASSERT(span[n].off < r->ring.size);
		FUZZ_ASSERT(span[n].len && span[n].len <= r->ring.size - span[n].off);
		len += span[n].len;
	}
	FUZZ_ASSERT(len <= r->ring.produced - r->ring.consumed);
	if (!len)
		return;
	if (!lend) {
		consume(r, len);
		return;
	}
	FUZZ_ASSERT(!smc_ring_rx_lend(&r->ring, len));
	if (smc_urgent_rx_note_consumed(&r->urg, r->ring.consumed))
		smc_ring_rx_force_update(&r->ring);
}

static void step(struct reader *r, struct fuzz_input *in)
{
	u32 op = fuzz_take(in, 1), arg, off, lent;
	u8 byte;

	if (op % 10 < 4) {
		message(r, in);
		return;
	}
	arg = fuzz_take(in, 2);
	switch (op % 10) {
	case 4:
	case 5:
		read_some(r, arg, op % 10 == 5);
		break;
	case 6:
		lent = smc_ring_rx_get_lent(&r->ring, &off);
		if (lent)
			FUZZ_ASSERT(!smc_ring_rx_return(&r->ring, 1 + arg % lent));
		break;
	case 7:
		if (smc_ring_rx_update_due(&r->ring) != SMC_CURSOR_UPDATE_NONE)
			smc_ring_rx_note_announced(&r->ring);
		break;
	case 8:
		smc_failover_rx_note_fenced(&r->path, arg % LINKS);
		apply_parked(r);
		break;
	default:
		r->in_line = arg & 1;
		smc_urgent_rx_read_oob(&r->urg, arg & 2, &byte);
	}
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct reader r = { .in_line = false };
	u32 form = fuzz_take(&in, 1);

	if (smc_ring_rx_init(&r.ring, SMC_RMBE_SIZE_MIN << (form & 3)))
		__builtin_trap();
	if (form & 4)
		smc_failover_rx_init_any(&r.path);
	else
		smc_failover_rx_init(&r.path, form >> 3 & 7);
	while (in.left && !r.ended) {
		step(&r, &in);
		if (!r.ended)
			check_reader(&r);
	}
	return 0;
}
