// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sequence of CDC messages of a misbehaving peer for one connection: parser,
 * rings and state table together, as the module uses them. Between the messages
 * the local end reads, writes, sends, changes its link and closes.
 *
 * With any input the invariants of the rings hold, a plan stays inside both
 * rings, nothing is sent after the last message, and an element is freed or
 * quarantined exactly once.
 *
 * Input: a byte for the ring sizes, then steps. A step is an operation and its
 * operand; for a message these are the bytes that a peer may choose.
 */
#include <smc/proto/cdc_msg.h>
#include <smc/proto/conn_fsm.h>
#include <smc/proto/cursor.h>
#include "fuzz.h"

#define ACT(name)	SMC_CONN_ACT_##name

struct conn {
	struct smc_ring_tx tx;
	struct smc_ring_rx rx;
	enum smc_conn_state state;
	u16 seq_seen;
	bool seen, ended, silent, aborted;
	unsigned int released;
};

static void check_invariants(const struct conn *c)
{
	FUZZ_ASSERT(c->tx.completed <= c->tx.posted && c->tx.posted <= c->tx.sent);
	FUZZ_ASSERT(c->tx.sent <= c->tx.sent_max && c->tx.sent_max <= c->tx.prepared);
	FUZZ_ASSERT(c->tx.prepared - c->tx.completed <= c->tx.size);
	FUZZ_ASSERT(c->tx.peer_consumed <= c->tx.sent);
	FUZZ_ASSERT(c->tx.sent_max - c->tx.peer_consumed <= c->tx.peer_size);
	FUZZ_ASSERT(!c->tx.guarded || c->tx.sent <= c->tx.guard + c->tx.peer_size ||
		    c->tx.sent == c->tx.peer_consumed);
	FUZZ_ASSERT(c->rx.announced <= c->rx.consumed && c->rx.consumed <= c->rx.produced);
	FUZZ_ASSERT(c->rx.produced - c->rx.announced <= c->rx.size);
	FUZZ_ASSERT(c->state < SMC_CONN_STATES);
	FUZZ_ASSERT(c->released == (c->state == SMC_CONN_CLOSED));
}

/* A local event that is illegal in this state, which the module never raises, has no effect. */
static int conn_event(struct conn *c, enum smc_conn_event ev)
{
	u32 act;
	int rc = smc_conn_fsm_step(&c->state, ev, &act);

	FUZZ_ASSERT(!rc || !act);
	FUZZ_ASSERT(rc != -EPROTO || smc_conn_event_is_from_peer(ev));
	if (act & (ACT(SEND_DONE) | ACT(SEND_CLOSE) | ACT(SEND_ABORT)))
		/* nothing but A, once, behind C */
		FUZZ_ASSERT(!c->silent || (ev == SMC_CONN_EV_UNREAD && !c->aborted));
	if (act & (ACT(SEND_CLOSE) | ACT(SEND_ABORT)))
		c->silent = true;
	if (act & ACT(SEND_ABORT))
		c->aborted = true;
	if (act & ACT(RELEASE)) {
		FUZZ_ASSERT(!(act & ACT(ELEMENT_FREE)) != !(act & ACT(ELEMENT_QUARANTINE)));
		c->released++;
	}
	return rc;
}

/* Protocol error: abort. */
static void conn_abort(struct conn *c)
{
	conn_event(c, SMC_CONN_EV_ABORT);
	FUZZ_ASSERT(!smc_conn_state_may_cdc(c->state));
	c->ended = true;
}

static void conn_message(struct conn *c, struct fuzz_input *in)
{
	u64 produced = c->rx.produced;
	u8 buf[SMC_CDC_LEN] = { SMC_CDC_TYPE, SMC_CDC_LEN };
	struct smc_cdc_msg msg;
	enum smc_conn_event ev;
	u32 form = fuzz_take(in, 1);

	smc_wire_put_be16(buf + 2, (u16)(c->seq_seen + (form & 0x80 ? fuzz_take(in, 2) : 1)));
	/* cursors near the valid ones, or any */
	if (form & 1) {
		struct smc_cdc_cursor near;

		smc_cursor_from_pos(c->rx.produced + fuzz_take(in, 2) - 0x4000, c->rx.size, &near);
		smc_wire_put_be16(buf + 10, near.wrap);
		smc_wire_put_be32(buf + 12, near.off);
		smc_cursor_from_pos(c->tx.peer_consumed + fuzz_take(in, 2) - 0x4000,
				    c->tx.peer_size, &near);
		smc_wire_put_be16(buf + 18, near.wrap);
		smc_wire_put_be32(buf + 20, near.off);
	} else {
		smc_wire_put_be16(buf + 10, (u16)fuzz_take(in, 2));
		smc_wire_put_be32(buf + 12, fuzz_take(in, 4));
		smc_wire_put_be16(buf + 18, (u16)fuzz_take(in, 2));
		smc_wire_put_be32(buf + 20, fuzz_take(in, 4));
	}
	buf[24] = (u8)fuzz_take(in, 1);
	buf[25] = (u8)fuzz_take(in, 1);
	if (smc_cdc_msg_parse(buf, sizeof(buf), c->rx.size, c->tx.peer_size, &msg)) {
		conn_abort(c);
		return;
	}
	if (msg.flags & SMC_CDC_F_FAILOVER) {
		if ((s16)(msg.seq - c->seq_seen) > 0)
			conn_abort(c);
		return;
	}
	if (c->seen && (s16)(msg.seq - c->seq_seen) <= 0)
		return;
	c->seen = true;
	c->seq_seen = msg.seq;
	smc_ring_tx_note_cdc(&c->tx);
	if (smc_ring_tx_take_cursor(&c->tx, &msg.cons) < 0 ||
	    smc_ring_rx_take_cursor(&c->rx, &msg.prod, msg.flags & SMC_CDC_F_BLOCKED,
				    msg.flags & SMC_CDC_F_UPDATE_REQ) < 0) {
		conn_abort(c);
		return;
	}
	FUZZ_ASSERT(c->rx.produced >= produced);
	if (c->rx.produced != produced && conn_event(c, SMC_CONN_EV_PEER_DATA)) {
		conn_abort(c);
		return;
	}
	ev = smc_conn_fsm_event_of_cdc(msg.state & SMC_CDC_S_DONE, msg.state & SMC_CDC_S_CLOSED,
				       msg.state & SMC_CDC_S_ABORT,
				       smc_conn_state_may_send(c->state) &&
				       !smc_ring_tx_drained(&c->tx));
	if (ev != SMC_CONN_EV_NONE && conn_event(c, ev))
		conn_abort(c);
}

static void conn_push(struct conn *c, u32 max)
{
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	unsigned int n, i;
	u32 len = 0;

	if (!smc_conn_state_may_cdc(c->state))
		return;
	n = smc_ring_tx_plan(&c->tx, SMC_PLAN_NO_STOP, max, piece);
	FUZZ_ASSERT(n <= SMC_PLAN_PIECES);
	for (i = 0; i < n; i++) {
		FUZZ_ASSERT(piece[i].len && piece[i].len <= c->tx.size &&
			    piece[i].len <= c->tx.peer_size);
		FUZZ_ASSERT(piece[i].src <= c->tx.size - piece[i].len);
		FUZZ_ASSERT(piece[i].dst <= c->tx.peer_size - piece[i].len);
		len += piece[i].len;
	}
	FUZZ_ASSERT(!smc_ring_tx_note_posted(&c->tx, len));
	smc_ring_rx_note_announced(&c->rx);
}

static void conn_local_step(struct conn *c, u32 op, u32 arg)
{
	struct smc_ring_span span[2] = { };
	unsigned int n;
	u32 len = 0;

	switch (op) {
	case 0:
		n = smc_ring_tx_get_spans(&c->tx, arg, span);
		while (n--)
			len += span[n].len;
		FUZZ_ASSERT(!smc_ring_tx_prepare(&c->tx, len));
		break;
	case 1:
		conn_push(c, arg);
		break;
	case 2:
		n = smc_ring_rx_get_spans(&c->rx, 0, arg, span);
		while (n--) {
			FUZZ_ASSERT(span[n].len <= c->rx.size);
			FUZZ_ASSERT(span[n].off <= c->rx.size - span[n].len);
			len += span[n].len;
		}
		FUZZ_ASSERT(!smc_ring_rx_consume(&c->rx, len));
		break;
	case 3:
		smc_ring_tx_complete(&c->tx, c->tx.epoch - (arg & 1), c->tx.completed + arg);
		break;
	case 4:
		smc_ring_tx_rewind(&c->tx, arg & 1);
		smc_ring_rx_force_update(&c->rx);
		break;
	default:
		/* local events only: those of the peer come in messages */
		if (arg % SMC_CONN_EVENTS < SMC_CONN_EV_PEER_DATA)
			conn_event(c, (enum smc_conn_event)(arg % SMC_CONN_EVENTS));
	}
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct conn c = { .state = SMC_CONN_INIT };
	u32 sizes = fuzz_take(&in, 1), base = fuzz_take(&in, 4);

	if (smc_ring_tx_init(&c.tx, SMC_RMBE_SIZE_MIN << (sizes & 3),
			     SMC_RMBE_SIZE_MIN << (sizes >> 2 & 3), sizes & 0x40 ? 16 : 0) ||
	    smc_ring_rx_init(&c.rx, SMC_RMBE_SIZE_MIN << (sizes >> 4 & 3)))
		__builtin_trap();
	c.tx.prepared = base;
	c.tx.sent = base;
	c.tx.sent_max = base;
	c.tx.posted = base;
	c.tx.completed = base;
	c.tx.peer_consumed = base;
	c.tx.repeat_end = base;
	c.rx.produced = base;
	c.rx.consumed = base;
	c.rx.announced = base;
	if (sizes & 0x80)
		conn_event(&c, SMC_CONN_EV_ESTABLISHED);
	while (in.left && !c.ended) {
		u32 op = fuzz_take(&in, 1) % 10;

		if (op >= 6)
			conn_message(&c, &in);
		else
			conn_local_step(&c, op, fuzz_take(&in, 2));
		check_invariants(&c);
	}
	check_invariants(&c);
	return 0;
}
