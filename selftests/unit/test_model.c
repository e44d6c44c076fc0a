// SPDX-License-Identifier: GPL-2.0-only
/*
 * Model: two ends of a connection, each with the rings of proto/cursor.c and
 * CDCs of proto/cdc_msg.c, joined by a fake fabric. Rings of different sizes
 * wrap, windows close, links die and lose unacknowledged WRITEs or deliver them
 * late; both byte streams have to arrive as they were sent, and neither end may
 * get stuck while there are bytes to move.
 *
 * Modelled of the fabric: requests of a queue pair are executed in order; the
 * memory of a WRITE is read when it is executed, at any time between posting
 * and completion; a dead link may have executed more than it acknowledged, and
 * may execute requests late until one of its ends is in ERR. A message that
 * arrived is acknowledged at once and handled later; the order is kept within
 * a link only. An end moves off a link some time after the link failed or the
 * other end has moved off it; until then each end sends over its own link.
 *
 * UNIT_SEED=<number of a failed scenario> runs that scenario first.
 */
#include "unit.h"

#include <smc/proto/cdc_imm.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include <smc/proto/failover.h>

#define SLOTS		6		/* requests in flight per end and link */
#define LINKS		4		/* generations that can exist at a time */
#define PATTERN		65521		/* prime: no ring is a multiple of it */
#define INBOX		64		/* messages not handled yet, per link */
#define TOKEN		0x1234u
#define ALL		0xffffffffu

/* Parameters of a scenario. */
struct config {
	bool failures;		/* links die */
	bool lossy;		/* ... and may have acknowledged what they lost */
	bool in_tree[2];	/* this end does not repeat lost consumer updates */
	bool half_closed;	/* ... nor sends validations, nor repeats WRITEs */
	bool one_way;		/* only end 0 sends */
	bool imm;		/* both ends use immediate values */
	u32 reserve;		/* kept from an in-tree end's ring */
	bool no_fence;		/* error on purpose: previous links stay open */
	bool no_rewind;		/* error on purpose: lost WRITEs are not repeated */
	bool no_gap;		/* error on purpose: gaps in the numbers are ignored */
	bool no_wait;		/* error on purpose: messages of a new link are taken at once */
	bool no_guard;		/* error on purpose: late WRITEs of repeated bytes are forgotten */
};

enum outcome { OK, LOST, LATE, CORRUPT, STUCK, BROKEN };

static const char * const outcome_names[] = {
	"ok", "loss detected", "late repeats", "corrupt", "stuck", "invariant broken"
};

/* A CDC message, or the immediate value of a WRITE. */
struct message {
	bool is_imm;
	u32 imm;
	u8 cdc[SMC_CDC_LEN];
};

struct request {
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	unsigned int pieces, executed;	/* of the WRITEs */
	u8 *copy;			/* data in the fabric once our end is in ERR */
	struct message msg;
	u16 seq;
	u32 epoch;
	u64 pos;
	bool delivered, validation;
};

struct queue {
	struct request req[SLOTS];
	unsigned int head, next, tail;	/* completed, executed, posted */
	bool broken;			/* the peer's RNIC does not reach its memory any more */
};

struct inbox {
	struct message msg[INBOX];
	unsigned int head, tail;
};

struct end {
	struct smc_ring_tx tx;
	struct smc_ring_rx rx;
	u8 *ring, *element;
	struct queue queue[LINKS];	/* posted by this end */
	struct inbox inbox[LINKS];	/* arrived at this end */
	struct smc_failover_rx path;
	bool doubt;			/* the other end has moved off our link */
	unsigned int gen;		/* link in use; all older ones are fenced */
	unsigned int open;		/* oldest link that still receives */
	u16 seq, seq_done, seq_seen;
	u16 seq_left;			/* last number before the move to the present link */
	bool seen;
	bool answer;			/* an acknowledgment of our progress is due */
	u32 lowat;			/* reader waits for so many bytes */
	bool flush;			/* SOON has become NOW */
	bool in_tree, update;		/* in-tree reader decided to update */
	bool whole_due;			/* no message was sent over the link in use */
	bool sent_blocked;		/* the last message had B */
};

struct model {
	struct config cfg;
	struct end end[2];
	u8 salt[2];
	bool dead[LINKS];
	unsigned int deaths;
	bool draining;
	enum outcome outcome;
	const char *what;
};

static u8 pattern[2 * PATTERN];

/* Coverage by the scenarios, to check the generator. */
static struct {
	unsigned long steps, bytes, wraps, closed, failovers, late, probes, losses, stale;
	unsigned long detected, kept, gaps, lent, guards, shut, acks, foreign, imms, stale_imms;
} seen;

static void set_outcome(struct model *m, enum outcome how, const char *what)
{
	if (m->outcome != OK)
		return;
	m->outcome = how;
	m->what = what;
}

#define INVARIANT(m, cond) do {						\
	if (!(cond))							\
		set_outcome(m, BROKEN, #cond);				\
} while (0)

static const u8 *stream_at(const struct model *m, unsigned int from, u64 pos)
{
	return pattern + (pos + m->salt[from] * 251) % PATTERN;
}

static unsigned int slot_of(unsigned int gen)
{
	return gen % LINKS;
}

static u32 small_or_big(u32 max)
{
	switch (unit_below(8)) {
	case 0:
		return unit_below(max) + 1;
	case 1:
		return max - unit_below(2) * unit_below(max / 8 + 1);
	default:
		return unit_below(max < 600 ? max : 600) + 1;
	}
}

/* ---- application ---- */

static bool app_write(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	struct smc_ring_span span[2] = { };
	unsigned int n, i;
	u64 pos = e->tx.prepared;
	u32 total = 0;

	if (m->draining || (m->cfg.one_way && me))
		return false;
	n = smc_ring_tx_get_spans(&e->tx, small_or_big(e->tx.size), span);
	for (i = 0; i < n; i++) {
		u32 done = 0;

		/* the pattern repeats: copy it in parts that do not pass its end */
		while (done < span[i].len) {
			u32 part = span[i].len - done;

			if (part > PATTERN)
				part = PATTERN;
			memcpy(e->ring + span[i].off + done, stream_at(m, me, pos), part);
			done += part;
			pos += part;
		}
		total += span[i].len;
	}
	INVARIANT(m, smc_ring_tx_prepare(&e->tx, total) == 0);
	return total > 0;
}

/* Decision of an in-tree reader, as observed; its updates are not repeated. */
static bool in_tree_update(const struct smc_ring_rx *rx)
{
	u32 gain = (u32)(rx->consumed - rx->announced);
	u32 window = rx->size - (u32)(rx->produced - rx->announced);
	u32 step = rx->size / 10 > 2304 ? rx->size / 10 : 2304;

	return rx->peer_requests || (gain > step && (window <= rx->size / 2 || rx->peer_blocked));
}

/* Return lent bytes; the peer's writes must not have changed them. */
static bool give_back(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	u32 off = 0, i, n = smc_ring_rx_get_lent(&e->rx, &off);

	if (!n)
		return false;
	n = small_or_big(n);
	for (i = 0; i < n; i++) {
		u32 at = (off + i) & (e->rx.size - 1);

		if (e->element[at] != *stream_at(m, 1 - me, e->rx.lent_start + i)) {
			set_outcome(m, CORRUPT, "lent bytes overwritten");
			break;
		}
	}
	INVARIANT(m, smc_ring_rx_return(&e->rx, n) == 0);
	return true;
}

static bool app_read(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	u32 readable = smc_ring_rx_readable(&e->rx);
	struct smc_ring_span span[2] = { };
	unsigned int n, i;
	u64 pos = e->rx.consumed;
	u32 len;

	if ((!readable || !unit_below(4)) && give_back(m, me))
		return true;
	if (!readable || (readable < e->lowat && !m->draining))
		return give_back(m, me);
	n = smc_ring_rx_get_spans(&e->rx, 0, small_or_big(readable), span);
	for (i = 0; i < n; i++) {
		u32 done = 0;

		while (done < span[i].len) {
			u32 part = span[i].len - done;

			if (part > PATTERN)
				part = PATTERN;
			if (memcmp(e->element + span[i].off + done, stream_at(m, 1 - me, pos),
				   part))
				set_outcome(m, CORRUPT, "wrong bytes");
			done += part;
			pos += part;
		}
		seen.bytes += span[i].len;
	}
	len = (u32)(pos - e->rx.consumed);
	if (!e->in_tree && !unit_below(3)) {
		INVARIANT(m, smc_ring_rx_lend(&e->rx, len) == 0);
		seen.lent += len;
	} else {
		INVARIANT(m, smc_ring_rx_consume(&e->rx, len) == 0);
	}
	e->lowat = e->in_tree || unit_below(4) ? 1 : small_or_big(e->rx.size);
	if (e->in_tree)
		e->update |= in_tree_update(&e->rx);
	return true;
}

/* ---- sending ---- */

static struct request *new_request(struct end *e)
{
	struct queue *q = &e->queue[slot_of(e->gen)];
	struct request *r;

	if (q->tail - q->head == SLOTS)
		return NULL;
	r = &q->req[q->tail++ % SLOTS];
	memset(r, 0, sizeof(*r));
	r->epoch = e->tx.epoch;
	return r;
}

static void fill_cdc(struct model *m, struct end *e, struct request *r)
{
	struct smc_cdc_msg msg = { .token = TOKEN };

	msg.seq = ++e->seq;
	smc_ring_tx_get_cursor(&e->tx, &msg.prod);
	smc_ring_rx_get_cursor(&e->rx, &msg.cons);
	e->sent_blocked = smc_ring_tx_blocked(&e->tx);
	if (e->sent_blocked)
		msg.flags |= SMC_CDC_F_BLOCKED;
	if (e->tx.request_update)
		msg.flags |= SMC_CDC_F_UPDATE_REQ;
	if (e->tx.guarded)
		msg.ext |= SMC_CDC_EXT_ACK_REQ;
	if (e->answer) {
		msg.ext |= SMC_CDC_EXT_ACK;
		msg.ack_seq = e->seq_seen;
	}
	e->answer = false;
	smc_ring_rx_note_announced(&e->rx);
	e->whole_due = false;
	r->seq = msg.seq;
	r->pos = e->tx.sent;
	INVARIANT(m, smc_cdc_msg_build(&msg, r->msg.cdc, sizeof(r->msg.cdc)) == SMC_CDC_LEN);
}

/* As smc_cdc_imm_suffices(). */
static bool imm_suffices(const struct model *m, const struct end *e)
{
	return m->cfg.imm && !e->whole_due && !e->tx.request_update && !e->tx.guarded &&
	       !e->answer && smc_ring_tx_blocked(&e->tx) == e->sent_blocked &&
	       smc_ring_rx_update_due(&e->rx) == SMC_CURSOR_UPDATE_NONE;
}

static void fill_imm(struct end *e, struct request *r)
{
	r->msg.is_imm = true;
	r->msg.imm = smc_cdc_imm_build(TOKEN, e->tx.sent);
	r->seq = ++e->seq;
	r->pos = e->tx.sent;
	seen.imms++;
}

static bool update_is_due(const struct end *e)
{
	enum smc_cursor_update update = smc_ring_rx_update_due(&e->rx);

	if (e->in_tree)
		return e->update;
	if (e->answer)
		return true;
	return update == SMC_CURSOR_UPDATE_NOW || (update == SMC_CURSOR_UPDATE_SOON && e->flush);
}

static bool end_push(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	u32 max = m->draining ? ALL : small_or_big(SMC_RING_MAX), len = 0;
	unsigned int n = smc_ring_tx_plan(&e->tx, SMC_PLAN_NO_STOP, max, piece), i;
	struct request *r;

	INVARIANT(m, !n == !(smc_ring_tx_unsent(&e->tx) && smc_ring_tx_has_room(&e->tx)));
	INVARIANT(m, smc_ring_rx_update_due(&e->rx) == smc_ring_rx_weigh_update(&e->rx));
	if (!n && !update_is_due(e))
		return false;
	r = new_request(e);
	if (!r)
		return false;
	for (i = 0; i < n; i++) {
		r->piece[i] = piece[i];
		len += piece[i].len;
	}
	r->pieces = n;
	seen.probes += n && !smc_ring_tx_window(&e->tx);
	seen.shut += e->tx.guarded && !smc_ring_tx_window(&e->tx);
	INVARIANT(m, smc_ring_tx_note_posted(&e->tx, len) == 0);
	seen.closed += smc_ring_tx_blocked(&e->tx);
	/* only space that was announced to this end as free may be written */
	INVARIANT(m, e->tx.sent <= m->end[1 - me].rx.announced + e->tx.peer_size);
	e->flush = false;
	e->update = false;
	if (n && imm_suffices(m, e))
		fill_imm(e, r);
	else
		fill_cdc(m, e, r);
	return true;
}

/* The millisecond after SOON is over. */
static bool end_tick(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];

	if (e->flush || e->in_tree || smc_ring_rx_update_due(&e->rx) != SMC_CURSOR_UPDATE_SOON)
		return false;
	e->flush = true;
	return true;
}

/* ---- links ---- */

/* Our end of the link goes to ERR: the data in the fabric does not change any more. */
static void freeze_queue(struct end *e, unsigned int gen)
{
	struct queue *q = &e->queue[slot_of(gen)];
	unsigned int i, p;

	for (i = q->next; i != q->tail; i++) {
		struct request *r = &q->req[i % SLOTS];
		u32 len = 0, done = 0;

		for (p = 0; p < r->pieces; p++)
			len += r->piece[p].len;
		r->copy = malloc(len + 1);
		for (p = 0; p < r->pieces; p++) {
			memcpy(r->copy + done, e->ring + r->piece[p].src, r->piece[p].len);
			done += r->piece[p].len;
		}
	}
}

static void clear_queue(struct queue *q)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		free(q->req[i].copy);
		q->req[i].copy = NULL;
	}
	memset(q, 0, sizeof(*q));
}

static void fence_links(struct model *m, unsigned int me, unsigned int below)
{
	struct end *e = &m->end[me];

	for (; e->open < below; e->open++)
		clear_queue(&m->end[1 - me].queue[slot_of(e->open)]);
}

static void send_validation(struct model *m, struct end *e)
{
	struct smc_cdc_msg msg = {
		.seq = e->seq_done, .token = TOKEN, .flags = SMC_CDC_F_FAILOVER,
		.prev_link = e->in_tree ? 0 : (u8)slot_of(e->gen - 1) + 1,
		.move_count = e->in_tree ? 0 : (u8)e->gen,
	};
	struct request *r = new_request(e);

	r->validation = true;
	INVARIANT(m, smc_cdc_msg_build(&msg, r->msg.cdc, sizeof(r->msg.cdc)) == SMC_CDC_LEN);
}

static void move_to(struct model *m, unsigned int me, unsigned int gen)
{
	struct end *e = &m->end[me];

	if (e->gen < m->end[1 - me].open)
		clear_queue(&e->queue[slot_of(e->gen)]); /* the peer's end is in ERR already */
	else
		freeze_queue(e, e->gen);
	e->gen = gen;
	e->whole_due = true;
	if (!m->cfg.no_fence)
		fence_links(m, me, gen);
	if (m->cfg.no_rewind || (e->in_tree && m->cfg.half_closed))
		e->tx.epoch++;
	else
		smc_ring_tx_rewind(&e->tx, !e->in_tree && !m->cfg.no_guard &&
				   !m->end[1 - me].in_tree);
	seen.guards += e->tx.guarded;
	e->seq_left = e->seq;
	if (!e->in_tree || !m->cfg.half_closed)
		send_validation(m, e);
	if (!e->in_tree)
		smc_ring_rx_force_update(&e->rx);
	e->update = false;
	seen.failovers++;
}

static void kill_link(struct model *m)
{
	unsigned int a = m->end[0].gen, b = m->end[1].gen;
	unsigned int top = a > b ? a : b, low = m->end[0].open;

	if (m->end[1].open < low)
		low = m->end[1].open;
	/* one dead link at a time for the end in front, and no reuse of the slot of an open link */
	if (m->dead[slot_of(top)] || top + 2 - low > LINKS)
		return;
	m->dead[slot_of(top)] = true;
	m->dead[slot_of(top + 1)] = false;
	m->deaths++;
}

/* ---- receiving ---- */

/* Request and acknowledgment of the progress; in-tree ends have neither. */
static void take_ack(struct end *e, const struct smc_cdc_msg *msg)
{
	e->answer |= (msg->ext & SMC_CDC_EXT_ACK_REQ) != 0;
	if (msg->ext & SMC_CDC_EXT_ACK &&
	    smc_failover_ack_follows(msg->ack_seq, e->seq_left, e->seq))
		seen.acks += smc_ring_tx_end_guard(&e->tx);
}

/* Handle a message in its turn; @gen: the link that it came over, 0 if not known. */
static void take_msg(struct model *m, unsigned int me, const struct smc_cdc_msg *msg,
		     unsigned int gen)
{
	struct end *e = &m->end[me];
	int rc;

	if (e->seen && (s16)(msg->seq - e->seq_seen) <= 0) {
		INVARIANT(m, gen < e->gen);
		return;
	}
	e->seen = true;
	e->seq_seen = msg->seq;
	smc_ring_tx_note_cdc(&e->tx);
	rc = smc_ring_tx_take_cursor(&e->tx, &msg->cons);
	INVARIANT(m, rc >= 0);
	rc = smc_ring_rx_take_cursor(&e->rx, &msg->prod, msg->flags & SMC_CDC_F_BLOCKED,
				     msg->flags & SMC_CDC_F_UPDATE_REQ);
	INVARIANT(m, rc >= 0);
	seen.stale += rc == SMC_CURSOR_STALE;
	take_ack(e, msg);
}

static void check_validation(struct model *m, unsigned int me, u16 seq)
{
	if ((s16)(seq - m->end[me].seq_seen) > 0)
		set_outcome(m, LOST, "validation");
}

/* The first message over a link, where no validation came before. */
static void check_first_msg(struct model *m, unsigned int me, u16 seq,
			    const struct smc_cdc_cursor *prod)
{
	const struct end *e = &m->end[me];
	struct smc_ring_rx ring = e->rx;

	if (!smc_failover_seq_gap(e->seq_seen, seq))
		return;
	/* a native peer omits the validation only if it has sent nothing, which leaves no gap */
	INVARIANT(m, m->end[1 - me].in_tree);
	if (m->cfg.no_gap)
		return;
	seen.gaps++;
	if (smc_ring_rx_take_cursor(&ring, prod, false, false) == SMC_CURSOR_NEWER)
		set_outcome(m, LOST, "gap");
}

/* An in-tree end follows at once, and fences at once in this model. */
static void receive_in_tree(struct model *m, unsigned int me, const struct smc_cdc_msg *msg,
			    unsigned int gen)
{
	if (msg->flags & SMC_CDC_F_FAILOVER) {
		check_validation(m, me, msg->seq);
		if (gen > m->end[me].gen)
			move_to(m, me, gen);
		return;
	}
	take_msg(m, me, msg, gen);
}

static void receive_msg(struct model *m, unsigned int me, const u8 *buf, unsigned int gen)
{
	struct end *e = &m->end[me];
	struct smc_cdc_msg msg;
	u8 past[SMC_FAILOVER_PREV_LINKS];
	u32 doubt;
	int rc;

	INVARIANT(m, smc_cdc_msg_parse(buf, SMC_CDC_LEN, e->rx.size, e->tx.peer_size, &msg) == 0);
	INVARIANT(m, msg.token == TOKEN);
	if (e->in_tree) {
		receive_in_tree(m, me, &msg, gen);
		return;
	}
	memset(past, SMC_FAILOVER_NO_SLOT, sizeof(past));
	if (msg.prev_link && gen > e->gen)
		past[0] = msg.prev_link - 1;
	rc = smc_failover_rx_input(&e->path, (u8)slot_of(gen), past, buf, &msg, &doubt);
	INVARIANT(m, rc >= 0);
	INVARIANT(m, !doubt || gen > e->gen);
	e->doubt |= doubt != 0;
	if (rc == SMC_FAILOVER_FIRST) {
		check_first_msg(m, me, msg.seq, &msg.prod);
		rc = SMC_FAILOVER_TAKE;
	}
	if (m->cfg.no_wait)
		rc = SMC_FAILOVER_TAKE;
	seen.kept += rc == SMC_FAILOVER_PARKED;
	if (rc == SMC_FAILOVER_TAKE && msg.flags & SMC_CDC_F_FAILOVER)
		check_validation(m, me, msg.seq);
	else if (rc == SMC_FAILOVER_TAKE)
		take_msg(m, me, &msg, gen);
}

/* As smc_cdc_apply_imm(). */
static void take_imm(struct model *m, unsigned int me, u32 imm)
{
	struct end *e = &m->end[me];
	s32 advance = smc_cdc_imm_get_advance(imm, e->rx.produced);
	struct smc_cdc_cursor prod;
	int rc;

	INVARIANT(m, e->seen);
	INVARIANT(m, advance <= (s32)e->rx.size && advance >= -(s32)e->rx.size);
	e->seq_seen++;
	smc_cursor_from_pos(e->rx.produced + advance, e->rx.size, &prod);
	rc = smc_ring_rx_take_cursor(&e->rx, &prod, e->rx.peer_blocked, false);
	INVARIANT(m, rc >= 0);
	seen.stale_imms += rc == SMC_CURSOR_STALE;
}

static void receive_imm(struct model *m, unsigned int me, u32 imm, unsigned int gen)
{
	struct end *e = &m->end[me];
	int rc = smc_failover_rx_input_imm(&e->path, (u8)slot_of(gen), e->rx.size, imm);

	INVARIANT(m, smc_cdc_imm_get_index(imm) == (TOKEN & 0xff));
	INVARIANT(m, rc >= 0);
	if (rc == SMC_FAILOVER_TAKE)
		take_imm(m, me, imm);
}

static bool check_inbox(struct model *m, unsigned int me, unsigned int gen)
{
	struct inbox *in = &m->end[me].inbox[slot_of(gen)];
	const struct message *msg;

	if (in->head == in->tail)
		return false;
	msg = &in->msg[in->head++ % INBOX];
	if (msg->is_imm)
		receive_imm(m, me, msg->imm, gen);
	else
		receive_msg(m, me, msg->cdc, gen);
	return true;
}

static void deliver_msg(struct model *m, unsigned int me, const struct message *msg,
			unsigned int gen)
{
	struct inbox *in = &m->end[me].inbox[slot_of(gen)];

	if (in->tail - in->head == INBOX)
		check_inbox(m, me, gen);
	in->msg[in->tail++ % INBOX] = *msg;
	if (m->end[me].in_tree)
		check_inbox(m, me, gen);
}

/* Check the inbox of any open link, up to the latest one of either end. */
static bool check_any_inbox(struct model *m, unsigned int me)
{
	unsigned int gen = m->end[me].open;
	unsigned int top = m->end[0].gen > m->end[1].gen ? m->end[0].gen : m->end[1].gen;

	if (top > gen)
		gen += unit_below(top - gen + 1);
	return check_inbox(m, me, gen);
}

/* An end moves off its link: it handles all arrived messages, no further ones arrive. */
static bool change_link(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	unsigned int gen = e->gen;
	struct smc_failover_msg late;
	struct smc_cdc_msg msg;

	if (!m->dead[slot_of(gen)] && !e->doubt)
		return false;
	/*
	 * There are two links at a time. Both ends set up a third one over the second one, so
	 * the other end knows of the move to the second one, or has moved off it as well.
	 */
	if (e->in_tree && m->end[1 - me].open <= gen &&
	    m->end[1 - me].path.slot != slot_of(gen))
		return false;
	while (check_inbox(m, me, gen))
		;
	if (m->outcome != OK)
		return true;
	move_to(m, me, gen + 1);
	if (e->in_tree)
		return true;
	smc_failover_rx_note_fenced(&e->path, (u8)slot_of(gen));
	while (!m->cfg.no_wait && m->outcome == OK && smc_failover_rx_next(&e->path, &late)) {
		if (late.validation) {
			check_validation(m, me, late.seq);
			continue;
		}
		INVARIANT(m, smc_cdc_msg_parse(late.msg, SMC_CDC_LEN, e->rx.size, e->tx.peer_size,
					       &msg) == 0);
		if (late.unvalidated)
			check_first_msg(m, me, late.first_seq, &late.first);
		take_msg(m, me, &msg, late.slot == slot_of(e->gen) ? e->gen : 0);
	}
	e->doubt = e->path.nparked && e->path.slot == slot_of(e->gen);
	if (m->cfg.no_wait)
		e->doubt = false;
	return true;
}

/*
 * In-tree senders have no guard: a late WRITE of repeated bytes may hit newer ones. The scenario
 * ends before they are read.
 */
static void check_late_repeats(struct model *m, unsigned int me, const struct request *r)
{
	const struct end *e = &m->end[me];
	u64 pos = r->pos;
	unsigned int i;

	for (i = r->executed; i < r->pieces; i++)
		pos -= r->piece[i].len;
	if (e->in_tree && r->epoch != e->tx.epoch && pos + e->tx.peer_size < e->tx.sent)
		set_outcome(m, LATE, "in-tree sender");
}

static void write_piece(struct model *m, unsigned int me, struct request *r)
{
	const struct smc_ring_piece *p = &r->piece[r->executed];
	struct end *peer = &m->end[1 - me];
	const u8 *src = m->end[me].ring + p->src;
	u32 before = 0;
	unsigned int i;

	for (i = 0; i < r->executed; i++)
		before += r->piece[i].len;
	if (r->copy)
		src = r->copy + before;
	INVARIANT(m, p->dst + p->len <= peer->rx.size);
	memcpy(peer->element + p->dst, src, p->len);
	check_late_repeats(m, me, r);
	r->executed++;
}

/* One WRITE or one CDC of @me arrives. */
static bool execute_request(struct model *m, unsigned int me, unsigned int gen)
{
	struct end *e = &m->end[me];
	struct queue *q = &e->queue[slot_of(gen)];
	struct request *r = &q->req[q->next % SLOTS];
	bool dead = m->dead[slot_of(gen)] || gen < e->gen;

	if (q->next == q->tail || q->broken || gen < m->end[1 - me].open)
		return false;
	if (dead) {
		/* late or never */
		if (m->draining || unit_below(3))
			return false;
		seen.late++;
	}
	if (r->executed < r->pieces) {
		write_piece(m, me, r);
		return true;
	}
	q->next++;
	r->delivered = true;
	deliver_msg(m, 1 - me, &r->msg, gen);
	return true;
}

/* A dying link may have acknowledged a request that never reached the memory. */
static void lose_request(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	struct queue *q = &e->queue[slot_of(e->gen)];

	if (q->next == q->tail || m->dead[slot_of(e->gen)])
		return;
	kill_link(m);
	if (!m->dead[slot_of(e->gen)])
		return;
	q->req[q->next++ % SLOTS].delivered = true;
	q->broken = true;
	seen.losses++;
}

static bool complete_request(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me];
	unsigned int gen = e->gen;
	struct queue *q;
	struct request *r;

	/* a success of the previous link may be reported late */
	if (gen && !unit_below(4))
		gen--;
	q = &e->queue[slot_of(gen)];
	r = &q->req[q->head % SLOTS];
	if (q->head == q->tail || !r->delivered)
		return false;
	if (gen == e->gen && m->dead[slot_of(gen)] && unit_below(3))
		return false;
	q->head++;
	free(r->copy);
	r->copy = NULL;
	smc_ring_tx_complete(&e->tx, r->epoch, r->pos);
	/* as in the module: the arrival of most messages without data is not noticed */
	if (gen == e->gen && !r->validation &&
	    (r->pieces || smc_failover_seq_due(r->seq, e->seq_done)))
		e->seq_done = r->seq;
	return true;
}

/* ---- invariants and steps ---- */

static void check_invariants(struct model *m, unsigned int me)
{
	struct end *e = &m->end[me], *peer = &m->end[1 - me];
	const struct smc_ring_tx *tx = &e->tx;
	const struct smc_ring_rx *rx = &peer->rx;

	INVARIANT(m, tx->completed <= tx->posted && tx->posted <= tx->sent);
	INVARIANT(m, tx->sent <= tx->prepared && tx->sent <= tx->sent_max);
	INVARIANT(m, tx->prepared - tx->completed <= tx->size);
	INVARIANT(m, tx->peer_consumed <= tx->sent);
	INVARIANT(m, tx->sent_max - tx->peer_consumed <= tx->peer_size);
	INVARIANT(m, tx->sent_max <= tx->prepared);
	INVARIANT(m, !tx->guarded || tx->sent == tx->peer_consumed ||
		  tx->sent <= tx->guard + tx->peer_size);
	INVARIANT(m, rx->consumed <= rx->produced && rx->announced <= rx->consumed);
	INVARIANT(m, rx->produced - rx->consumed <= rx->size);
	INVARIANT(m, rx->lent_start >= rx->lent_end || rx->announced <= rx->lent_start);
	INVARIANT(m, rx->lent_start >= rx->lent_end || rx->lent_end <= rx->consumed);
	INVARIANT(m, rx->produced <= tx->sent_max);
	INVARIANT(m, tx->peer_consumed <= rx->announced);
}

static bool is_finished(const struct model *m)
{
	return m->end[0].tx.prepared == m->end[1].rx.consumed &&
	       m->end[1].tx.prepared == m->end[0].rx.consumed;
}

static bool execute_any(struct model *m, unsigned int me)
{
	unsigned int gen = m->end[me].gen;

	/* mostly the current link, sometimes an earlier one */
	if (m->end[me].gen > m->end[1 - me].open && !unit_below(6))
		gen = m->end[1 - me].open + unit_below(gen - m->end[1 - me].open);
	return execute_request(m, me, gen);
}

static bool do_action(struct model *m, unsigned int me, unsigned int what)
{
	switch (what) {
	case 0:
		return app_write(m, me);
	case 1:
		return app_read(m, me);
	case 2:
		return end_push(m, me);
	case 3:
		return execute_any(m, me);
	case 4:
		return complete_request(m, me);
	case 5:
		return end_tick(m, me);
	case 6:
		return check_any_inbox(m, me);
	default:
		return change_link(m, me);
	}
}

#define ACTS	8

/* Try every action. False: neither end can go on. */
static bool do_anything(struct model *m)
{
	unsigned int what, me;

	for (what = 0; what < ACTS; what++)
		for (me = 0; me < 2; me++)
			if (what == 3 ? execute_request(m, me, m->end[me].gen) :
					do_action(m, me, what))
				return true;
	/* these choose the link at random: try repeatedly */
	for (me = 0; me < 2; me++)
		for (what = 0; what < 32; what++)
			if (complete_request(m, me) || check_any_inbox(m, me))
				return true;
	return false;
}

static void model_step(struct model *m)
{
	unsigned int me = unit_below(2);

	seen.steps++;
	if (m->cfg.failures && !m->draining && !unit_below(150)) {
		if (m->cfg.lossy && !unit_below(3))
			lose_request(m, me);
		else
			kill_link(m);
	} else if (!do_action(m, me, unit_below(ACTS)) && !unit_below(8)) {
		if (!do_anything(m) && !m->dead[slot_of(m->end[0].gen)] && !is_finished(m))
			set_outcome(m, STUCK, "nothing can move");
	}
	check_invariants(m, 0);
	check_invariants(m, 1);
}

static void model_setup(struct model *m, const struct config *cfg)
{
	unsigned int i;
	u32 size[2];

	memset(m, 0, sizeof(*m));
	m->cfg = *cfg;
	for (i = 0; i < 2; i++) {
		m->salt[i] = (u8)unit_rand();
		size[i] = SMC_RMBE_SIZE_MIN << unit_below(3);
	}
	for (i = 0; i < 2; i++) {
		struct end *e = &m->end[i];
		/* our own may be smaller than what can be announced */
		u32 ring = SMC_RMBE_SIZE_MIN >> 3 << unit_below(6);
		/* near the overflow of the 16 bit wrap count */
		u64 base = unit_below(2) ? 0 : ((u64)size[1 - i] << 16) - unit_below(4 * ring);

		smc_ring_tx_init(&e->tx, ring, size[1 - i], cfg->in_tree[1 - i] ? cfg->reserve : 0);
		e->tx.prepared = base;
		e->tx.sent = base;
		e->tx.sent_max = base;
		e->tx.posted = base;
		e->tx.completed = base;
		e->tx.peer_consumed = base;
		e->tx.repeat_end = base;
		smc_ring_rx_init(&m->end[1 - i].rx, size[1 - i]);
		m->end[1 - i].rx.produced = base;
		m->end[1 - i].rx.consumed = base;
		m->end[1 - i].rx.announced = base;
		e->in_tree = cfg->in_tree[i];
		smc_failover_rx_init(&e->path, 0);
		/* numbers do not start at 1: a message 1 is not the first one */
		e->path.begun = true;
		e->ring = malloc(ring);
		e->element = calloc(1, size[i]);
		e->seq = (u16)(65536 - unit_below(100));
		e->seq_done = e->seq;
		m->end[1 - i].seq_seen = e->seq;
		e->lowat = 1;
		e->whole_due = true;
	}
}

static void model_free(struct model *m)
{
	unsigned int i, j;

	for (i = 0; i < 2; i++) {
		free(m->end[i].ring);
		free(m->end[i].element);
		for (j = 0; j < LINKS; j++)
			clear_queue(&m->end[i].queue[j]);
	}
}

/* No more bytes and failures: all bytes arrive, in enough steps even for 64 KiB byte by byte. */
static void model_drain(struct model *m)
{
	unsigned int i;

	m->draining = true;
	for (i = 0; i < 400000 && m->outcome == OK && !is_finished(m); i++)
		model_step(m);
	if (m->outcome == OK && !is_finished(m))
		set_outcome(m, STUCK, "does not drain");
}

static enum outcome run_scenario(const struct config *cfg, unsigned int steps, const char **what)
{
	static struct model m;
	unsigned int i;
	u64 start[2];

	model_setup(&m, cfg);
	for (i = 0; i < 2; i++)
		start[i] = m.end[i].rx.consumed;
	for (i = 0; i < steps && m.outcome == OK; i++)
		model_step(&m);
	model_drain(&m);
	for (i = 0; i < 2; i++)
		seen.wraps += (m.end[i].rx.consumed - start[i]) / m.end[i].rx.size;
	model_free(&m);
	*what = m.what;
	return m.outcome;
}

static void fill_pattern(void)
{
	unsigned int i;
	u32 x = 1;

	for (i = 0; i < PATTERN; i++) {
		x = x * 1664525 + 1013904223;
		pattern[i] = (u8)(x >> 24);
		pattern[i + PATTERN] = pattern[i];
	}
}

/* How many of @rounds scenarios end with @want; with OK all others are failures. */
static unsigned int run_scenarios(const struct config *cfg, unsigned int rounds, unsigned int steps,
				  enum outcome want)
{
	unsigned int round, hits = 0;

	fill_pattern();
	for (round = 0; round < rounds; round++) {
		const char *what = NULL;
		u64 seed = round ? unit_rand() : unit_state;
		enum outcome result;

		unit_state = seed;
		result = run_scenario(cfg, steps, &what);
		hits += result == want;
		seen.detected += result == LOST;
		seen.foreign += result == LATE;
		if (result != want && want == OK && result != LATE &&
		    !(cfg->lossy && result == LOST)) {
			FAIL("scenario with UNIT_SEED=0x%llx: %s (%s)", (unsigned long long)seed,
			     outcome_names[result], what);
			return hits;
		}
		unit_state = seed ^ (round * 0x9e3779b97f4a7c15ULL + 1);
	}
	return hits;
}

/* Whether a scenario ends with @want, of @rounds at most. */
static bool find_outcome(const struct config *cfg, unsigned int rounds, enum outcome want)
{
	while (rounds--) {
		if (run_scenarios(cfg, 1, 20000, want))
			return true;
		unit_state = unit_rand();
	}
	return false;
}

static void reset_seen(void)
{
	memset(&seen, 0, sizeof(seen));
}

static void print_seen(void)
{
	printf("# %lu steps, %lu bytes, %lu wraps, %lu closed windows, %lu link changes,\n",
	       seen.steps, seen.bytes, seen.wraps, seen.closed, seen.failovers);
	printf("# %lu late executions, %lu probes, %lu stale cursors, %lu losses, %lu detected,\n",
	       seen.late, seen.probes, seen.stale, seen.losses, seen.detected);
	printf("# %lu messages parked, %lu bytes lent,\n", seen.kept, seen.lent);
	printf("# %lu guards, %lu acknowledged, %lu messages with the window closed\n",
	       seen.guards, seen.acks, seen.shut);
	printf("# %lu immediate values, %lu of them stale\n", seen.imms, seen.stale_imms);
}

static void one_link(void)
{
	const struct config cfg = { 0 };

	reset_seen();
	run_scenarios(&cfg, 60, 20000, OK);
	print_seen();
	CHECK(seen.wraps > 1000);
	CHECK(seen.closed > 100);
	CHECK(seen.lent > 1000000);
	CHECK_EQ(seen.failovers, 0);
}

/* No data flows back that could carry a cursor by chance. */
static void one_way(void)
{
	const struct config cfg = { .one_way = true };

	reset_seen();
	run_scenarios(&cfg, 100, 10000, OK);
	print_seen();
	CHECK(seen.closed > 1000);
}

static void dying_links(void)
{
	const struct config cfg = { .failures = true };

	reset_seen();
	run_scenarios(&cfg, 60, 20000, OK);
	print_seen();
	CHECK(seen.wraps > 1000);
	CHECK(seen.failovers > 1000);
	CHECK(seen.late > 1000);
	CHECK(seen.stale > 100);
	CHECK(seen.kept > 1000);
	CHECK(seen.guards > 1000);
	CHECK(seen.acks > 1000);
	CHECK(seen.shut > 1000);
}

/* End 0 sends a full ring of the peer in one request; @late is a link whose WRITEs follow then. */
static void send_ring(struct model *m, unsigned int late)
{
	unsigned int gen = m->end[0].gen, i;

	m->draining = false;
	while (app_write(m, 0))
		;
	m->draining = true;
	end_push(m, 0);
	if (gen == late)
		return;
	while (execute_request(m, 0, gen))
		;
	m->draining = false;
	for (i = 0; i < 1000 && late < gen; i++)
		execute_request(m, 0, late);
	m->draining = true;
}

static void kill_links(struct model *m, bool both)
{
	kill_link(m);
	change_link(m, 0);
	if (both)
		change_link(m, 1);
}

/*
 * A course that random scenarios rarely take. The other end has a full ring of bytes from link 0
 * and reads them, while they are in flight again over link 1. Link 1 fails, new bytes arrive over
 * link 2, and then the WRITEs of link 1, which the other end has not fenced.
 */
static enum outcome run_late_repeats(bool no_guard)
{
	const struct config cfg = { .failures = true, .one_way = true, .no_guard = no_guard };
	static struct model m;

	model_setup(&m, &cfg);
	while (m.end[0].tx.size < m.end[0].tx.peer_size) {
		model_free(&m);
		model_setup(&m, &cfg);
	}
	send_ring(&m, ALL);
	while (check_inbox(&m, 1, 0))
		;
	kill_links(&m, true);
	send_ring(&m, 1);
	while (app_read(&m, 1))
		;
	end_push(&m, 1);
	while (execute_request(&m, 1, 1))
		;
	while (check_inbox(&m, 0, 1))
		;
	CHECK_EQ(m.end[0].tx.peer_consumed, m.end[0].tx.sent);
	kill_links(&m, false);
	CHECK_EQ(m.end[0].tx.guarded, !no_guard);
	send_ring(&m, 1);
	model_drain(&m);
	model_free(&m);
	return m.outcome;
}

static void late_repeats(void)
{
	unsigned int round;

	fill_pattern();
	reset_seen();
	for (round = 0; round < 200; round++)
		CHECK_EQ(run_late_repeats(false), OK);
	print_seen();
	CHECK_EQ(seen.acks, 200);
	/* check that the model finds the error */
	for (round = 0; round < 200; round++)
		CHECK_EQ(run_late_repeats(true), CORRUPT);
}

static void immediate_values(void)
{
	struct config cfg = { .imm = true };

	reset_seen();
	run_scenarios(&cfg, 60, 20000, OK);
	CHECK(seen.imms > 10000);
	cfg.one_way = true;
	run_scenarios(&cfg, 60, 10000, OK);
	print_seen();
	CHECK(seen.closed > 1000);
	CHECK_EQ(seen.stale_imms, 0);
}

static void immediate_values_dying_links(void)
{
	struct config cfg = { .imm = true, .failures = true };

	reset_seen();
	run_scenarios(&cfg, 100, 20000, OK);
	print_seen();
	CHECK(seen.imms > 10000);
	CHECK(seen.failovers > 1000);
	CHECK(seen.stale_imms > 50);
	cfg.lossy = true;
	run_scenarios(&cfg, 200, 4000, OK);
	CHECK(seen.detected > 10);
}

/* In-tree receiver: one reserve byte at a time makes it send an update. */
static void in_tree_receiver(void)
{
	const struct config cfg = {
		.failures = true, .in_tree = { false, true }, .one_way = true, .reserve = 16,
	};

	reset_seen();
	run_scenarios(&cfg, 60, 20000, OK);
	print_seen();
	CHECK(seen.failovers > 1000);
	CHECK(seen.probes > 100);
}

static void in_tree_both_ways(void)
{
	const struct config cfg = {
		.failures = true, .in_tree = { false, true }, .reserve = 16,
	};

	reset_seen();
	run_scenarios(&cfg, 30, 20000, OK);
	CHECK(seen.failovers > 1000);
	/* rare */
	CHECK(seen.foreign < 5);
}

/* Bytes acknowledged and lost: the validation detects the loss, the stream is never wrong. */
static void lossy_links(void)
{
	const struct config cfg = { .failures = true, .lossy = true };

	reset_seen();
	run_scenarios(&cfg, 200, 4000, OK);
	print_seen();
	CHECK(seen.losses > 100);
	CHECK(seen.detected > 10);
}

/*
 * In-tree ends move half-closed connections without a validation, and repeat no WRITE: the gap
 * detects the loss, the stream is never wrong. Complete delivery and further messages are not
 * expected.
 */
static void in_tree_half_closed(void)
{
	struct config cfg = {
		.failures = true, .in_tree = { false, true }, .reserve = 16, .half_closed = true,
	};
	unsigned int i;

	reset_seen();
	CHECK_EQ(run_scenarios(&cfg, 200, 4000, CORRUPT), 0);
	CHECK_EQ(run_scenarios(&cfg, 200, 4000, BROKEN), 0);
	print_seen();
	/* rarely there is a gap without a loss: a message that announced nothing new */
	for (i = 0; i < 1000 && seen.gaps == seen.detected; i++) {
		unit_state = unit_rand();
		CHECK_EQ(run_scenarios(&cfg, 1, 4000, CORRUPT), 0);
	}
	CHECK(seen.gaps > seen.detected);
	CHECK(seen.detected > 10);
	cfg.no_gap = true;
	CHECK(run_scenarios(&cfg, 100, 4000, CORRUPT) > 0);
}

/* Checks that the model finds errors: late WRITEs over a link that is not fenced. */
static void finds_missing_fence(void)
{
	const struct config cfg = { .failures = true, .no_fence = true };

	CHECK(find_outcome(&cfg, 1000, CORRUPT));
}

/* A false report of loss, or loss that is not detected. */
static void finds_missing_wait(void)
{
	const struct config cfg = { .failures = true, .no_wait = true };

	CHECK(find_outcome(&cfg, 1000, LOST) || find_outcome(&cfg, 1000, CORRUPT));
}

static void finds_missing_rewind(void)
{
	const struct config cfg = { .failures = true, .no_rewind = true };

	CHECK(find_outcome(&cfg, 1000, CORRUPT));
}

static void finds_missing_reserve(void)
{
	const struct config cfg = {
		.failures = true, .in_tree = { false, true }, .one_way = true,
	};

	CHECK(find_outcome(&cfg, 1000, STUCK));
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_link),
	UNIT_CASE(one_way),
	UNIT_CASE(dying_links),
	UNIT_CASE(late_repeats),
	UNIT_CASE(immediate_values),
	UNIT_CASE(immediate_values_dying_links),
	UNIT_CASE(in_tree_receiver),
	UNIT_CASE(in_tree_both_ways),
	UNIT_CASE(lossy_links),
	UNIT_CASE(in_tree_half_closed),
	UNIT_CASE(finds_missing_fence),
	UNIT_CASE(finds_missing_wait),
	UNIT_CASE(finds_missing_rewind),
	UNIT_CASE(finds_missing_reserve),
};

UNIT_MAIN("model", cases)
