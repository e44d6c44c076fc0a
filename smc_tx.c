// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mover: user bytes -> send ring -> peer's RMBE.
 *
 * Who owns a byte of the send ring: from the copy (prepared) until the request that
 * carries it is retired with success (completed) it belongs to us; the connection
 * is held by each data carrying request in flight, so the ring outlives them. Between
 * sent and completed the RNIC may read it at any time.
 *
 * Coalescing: while earlier data is unfinished, less than half a ring waits for
 * the completion, which pushes again. Without it every small write would cost a
 * WRITE, a CDC and two interrupts.
 */
#include <linux/err.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "conn/cdc.h"

#define PROBE_MIN	(HZ / 10)	/* between the first two bytes out of the reserve */
#define PROBE_MAX	(10 * HZ)	/* ... and between later ones */

#define TX_SGES		32		/* gather elements of the WRITEs of one post */
/* For less room than this no pages are taken: soon there is more. */
#define TX_PAGES_MIN	4096

/**
 * struct tx_chain - WRITEs of one post
 * @write: the WRITEs
 * @n: their number
 * @sge: gather elements of those that have several
 * @nsge: their number
 */
struct tx_chain {
	struct smc_wr_write write[SMC_WR_WRITES_MAX];
	u32 n;
	struct ib_sge sge[TX_SGES];
	u32 nsge;
};

/**
 * smc_tx_space() - room in the send ring
 * @conn: connection
 *
 * Return: bytes, a snapshot without a lock.
 */
size_t smc_tx_space(const struct smc_conn *conn)
{
	u64 completed = READ_ONCE(conn->tx.ring.completed);
	u64 prepared = READ_ONCE(conn->tx.ring.prepared);
	u32 size = conn->tx.ring.size;

	return prepared - completed < size ? size - (prepared - completed) : 0;
}

/**
 * smc_tx_queued() - bytes that the peer's RNIC has not acknowledged (SIOCOUTQ)
 * @conn: connection
 *
 * Return: bytes, a snapshot without a lock.
 */
size_t smc_tx_queued(const struct smc_conn *conn)
{
	u64 completed = READ_ONCE(conn->tx.ring.completed);

	smp_rmb();	/* the one that is behind first: the other can only be further */
	return READ_ONCE(conn->tx.ring.prepared) - completed;
}

/**
 * smc_tx_unsent() - bytes not yet posted (SIOCOUTQNSD)
 * @conn: connection
 *
 * Return: bytes, a snapshot without a lock.
 */
size_t smc_tx_unsent(const struct smc_conn *conn)
{
	u64 sent = READ_ONCE(conn->tx.ring.sent);

	smp_rmb();	/* as in smc_tx_queued() */
	return READ_ONCE(conn->tx.ring.prepared) - sent;
}

/* Copied at a time, so that copying the next piece overlaps with sending this one. */
static u32 tx_copy_max(const struct smc_conn *conn)
{
	return max_t(u32, conn->tx.ring.size / 4, SMC_BUF_MIN_SIZE);
}

/* Posted at a time: each costs a CDC and a completion, one alone would stop the flow. */
static u32 tx_post_max(const struct smc_conn *conn)
{
	return max_t(u32, conn->tx.ring.size / 2, SMC_BUF_MIN_SIZE);
}

/* @len more bytes are there to be sent; conn->lock held. */
static void tx_prepare_locked(struct smc_conn *conn, u32 len, bool more, bool urgent)
{
	if (smc_ring_tx_drained(&conn->tx.ring))
		conn->meter.queued_at = jiffies;
	smc_ring_tx_prepare(&conn->tx.ring, len);
	if (urgent)
		smc_urgent_tx_mark(&conn->tx.urg, conn->tx.ring.prepared,
				   conn->tx.ring.sent_max);
	smc_tx_push_locked(conn, more);
}

/**
 * smc_tx_write() - copy user bytes into the send ring and post what may go
 * @conn: connection
 * @from: user bytes
 * @len: how many
 * @more: more will follow soon beyond @len: small amounts may wait
 * @urgent: the last of the bytes is (MSG_OOB)
 *
 * Takes at most a quarter ring a call: the caller calls again for the rest. One
 * caller at a time (socket lock).
 *
 * Return: bytes taken, -EAGAIN if the ring is full, -EFAULT, -EPIPE if the state
 * allows no more sending.
 */
ssize_t smc_tx_write(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
		     bool urgent)
{
	struct smc_span span[2];
	ssize_t done = 0;
	size_t take;
	int i, n;

	spin_lock_bh(&conn->lock);
	if (!smc_conn_state_may_send(conn->state) || conn->shut_pending) {
		spin_unlock_bh(&conn->lock);
		return -EPIPE;
	}
	take = min_t(size_t, len, tx_copy_max(conn));
	if (urgent)
		take = smc_urgent_tx_take(len, min_t(u32, take, smc_ring_tx_free(&conn->tx.ring)));
	n = smc_ring_tx_spans(&conn->tx.ring, take, span);
	spin_unlock_bh(&conn->lock);
	if (!n)
		return -EAGAIN;

	/* data path 2: the free part of the ring is ours alone, no lock while copying */
	for (i = 0; i < n; i++) {
		size_t got = copy_from_iter(conn->tx.elem.addr + span[i].off, span[i].len, from);

		done += got;
		if (got < span[i].len)
			break;
	}
	if (!done)
		return -EFAULT;

	spin_lock_bh(&conn->lock);
	/* an abort in between has purged the ring: the next call reports it */
	if (smc_conn_state_may_send(conn->state))
		tx_prepare_locked(conn, done, more || done < len, urgent && done == len);
	spin_unlock_bh(&conn->lock);
	smc_stats_add(conn->net, SMC_STAT_TX_BYTES, done);
	return done;
}

/**
 * smc_tx_write_pages() - take user bytes into the stream where they lie, and post what may go
 * @conn: connection
 * @from: user bytes
 * @len: how many
 * @more: as in smc_tx_write()
 * @uarg: to be told when the pages are free, or NULL
 *
 * They take up room in the ring nevertheless. One caller at a time (socket lock).
 *
 * Return: as smc_tx_write(), or another -errno: the bytes have to be copied.
 */
ssize_t smc_tx_write_pages(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
			   struct ubuf_info *uarg)
{
	struct smc_zc_run *run;
	ssize_t done;
	u32 room;

	spin_lock_bh(&conn->lock);
	if (!smc_conn_state_may_send(conn->state) || conn->shut_pending) {
		spin_unlock_bh(&conn->lock);
		return -EPIPE;
	}
	room = min(smc_ring_tx_free(&conn->tx.ring), tx_copy_max(conn));
	spin_unlock_bh(&conn->lock);
	if (room < min_t(size_t, len, TX_PAGES_MIN))
		return -EAGAIN;

	/* data path 2: nobody else takes room */
	run = smc_zcopy_take(from, min_t(size_t, len, room), uarg);
	if (IS_ERR(run))
		return PTR_ERR(run);
	done = smc_zcopy_len(run);

	spin_lock_bh(&conn->lock);
	if (smc_conn_state_may_send(conn->state)) {
		smc_zcopy_add_locked(conn, run);
		run = NULL;
		tx_prepare_locked(conn, done, more || done < len, false);
	}
	spin_unlock_bh(&conn->lock);
	if (run)
		smc_zcopy_free(run);
	smc_stats_add(conn->net, SMC_STAT_TX_BYTES, done);
	return done;
}

/*
 * Is all that we said over this link heard by the peer, and is nothing under way? Our RNIC
 * knows of the WRITEs, which it might do again, the peer of the messages.
 */
static void tx_check_move(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;

	if (tx->leave != SMC_LEAVE_WAIT || !tx->heard || tx->inflight || tx->seq_done != tx->seq)
		return;
	tx->leave = SMC_LEAVE_GO;
	smc_conn_kick(conn, 0);
}

/**
 * smc_tx_heard_locked() - the peer has handled our last message
 * @conn: connection, conn->lock held
 */
void smc_tx_heard_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->tx.heard = true;
	tx_check_move(conn);
}

/* data path 13: the peer's RNIC has it (or the queue pair broke) */
static void tx_send_done(struct smc_wr_slot *slot, enum ib_wc_status status)
{
	struct smc_conn *conn = slot->owner;
	struct smc_conn_note note;
	unsigned int bits = 0;
	u64 completed;

	spin_lock_bh(&conn->lock);
	conn->tx.inflight--;
	if (status == IB_WC_SUCCESS) {
		completed = conn->tx.ring.completed;
		conn->tx.seq_done = slot->seq;
		if ((s16)(slot->seq - conn->tx.state_seq) >= 0)
			conn->tx.state_unacked = false;
		if (smc_ring_tx_complete(&conn->tx.ring, slot->epoch, slot->cookie))
			bits = SMC_CONN_WRITABLE;
		smc_meter_done(conn, slot->started, completed);
		tx_check_move(conn);
	}
	smc_zcopy_settle_locked(conn);
	smc_tx_push_locked(conn, false);
	if (conn->shut_pending || conn->close_pending || conn->releasing)
		smc_conn_kick(conn, 0);
	smc_conn_note_take(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_note_send(&note);
	smc_zcopy_flush(conn);
	smc_conn_put(conn);
}

static struct smc_wr_write *tx_chain_add_write(const struct smc_conn *conn,
					       struct tx_chain *chain, u32 dst)
{
	const struct smc_rtoken *rtoken = &conn->lgr->rtokens[conn->tx.claim.rtoken];
	struct smc_wr_write *write = &chain->write[chain->n++];
	u32 slot = conn->link->slot;

	memset(write, 0, sizeof(*write));
	write->raddr = rtoken->addr[slot] + conn->tx.claim.off + dst;
	write->rkey = rtoken->rkey[slot];
	return write;
}

/* data path 4: pieces of the plan as WRITEs of this link */
static u32 tx_fill_writes(struct smc_conn *conn, const struct smc_write_piece *piece, int n,
			  struct tx_chain *chain)
{
	const struct smc_elem *elem = &conn->tx.elem;
	u32 slot = conn->link->slot;
	struct smc_wr_write *out;
	u32 sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		out = tx_chain_add_write(conn, chain, piece[i].dst);
		out->laddr = smc_buf_elem_iova(elem, slot, piece[i].src);
		out->vaddr = elem->addr + piece[i].src;
		out->lkey = smc_buf_lkey(elem->region, slot);
		out->len = piece[i].len;
		smc_buf_sync_for_device(elem, slot, piece[i].src, piece[i].len);
		sum += piece[i].len;
	}
	return sum;
}

/* A gather element for what lies at @pos, which would be at @src in the ring. */
static u32 tx_fill_sge(struct smc_conn *conn, u64 pos, u32 src, u32 len, struct ib_sge *sge)
{
	const struct smc_elem *elem = &conn->tx.elem;
	u32 slot = conn->link->slot;

	if (smc_zcopy_piece_locked(conn, pos, &len, sge)) {
		smc_stats_add(conn->net, SMC_STAT_TX_ZC_BYTES, len);
		return len;
	}
	sge->addr = smc_buf_elem_iova(elem, slot, src);
	sge->length = len;
	sge->lkey = smc_buf_lkey(elem->region, slot);
	smc_buf_sync_for_device(elem, slot, src, len);
	return len;
}

/*
 * The plan does not leave an urgent byte alone, which an in-tree reader can miss; a chain that
 * ends before the plan does must not either.
 */
static u32 tx_pair_urgent(const struct smc_conn *conn, struct tx_chain *chain, u32 sum)
{
	struct smc_wr_write *last;

	if (sum < 2 || smc_urgent_tx_stop(&conn->tx.urg) != conn->tx.ring.sent + sum + 1)
		return sum;
	last = &chain->write[chain->n - 1];
	last->len--;
	last->sge[last->nsge - 1].length--;
	if (!last->sge[last->nsge - 1].length)
		last->nsge--;
	if (!last->nsge)
		chain->n--;
	return sum - 1;
}

/* As tx_fill_writes(), as far as the chain goes, where not all of the bytes are in the ring. */
static u32 tx_gather_writes(struct smc_conn *conn, const struct smc_write_piece *piece, int n,
			    struct tx_chain *chain)
{
	u32 max = conn->link->qp->max_sge, sum = 0, done, len;
	struct smc_wr_write *out;
	int i;

	for (i = 0; i < n; i++) {
		for (done = 0; done < piece[i].len; done += out->len) {
			if (chain->n == SMC_WR_WRITES_MAX || chain->nsge == TX_SGES)
				return tx_pair_urgent(conn, chain, sum);
			out = tx_chain_add_write(conn, chain, piece[i].dst + done);
			out->sge = &chain->sge[chain->nsge];
			while (done + out->len < piece[i].len && out->nsge < max &&
			       chain->nsge < TX_SGES) {
				len = tx_fill_sge(conn, conn->tx.ring.sent + sum,
						  piece[i].src + done + out->len,
					     piece[i].len - done - out->len,
					     &chain->sge[chain->nsge++]);
				out->nsge++;
				out->len += len;
				sum += len;
			}
		}
	}
	return sum;
}

/* Less than this waits for the completion of what is in flight. */
static u32 tx_cork_limit(const struct smc_conn *conn)
{
	u32 limit = READ_ONCE(smc_policy_net(conn->net)->autocorking);

	return min_t(u32, limit, conn->tx.ring.size / 2);
}

/* May queued bytes go now, or do they wait for company? */
static bool tx_data_ready(const struct smc_conn *conn, bool more)
{
	const struct smc_conn_tx *tx = &conn->tx;
	u32 unsent = smc_ring_tx_unsent(&tx->ring);

	if (!unsent)
		return false;
	if (tx->urg.pos)
		return true;
	if (tx->inflight && unsent < tx_cork_limit(conn))
		return false;
	if (more && unsent < tx->ring.size / 4 &&
	    !conn->shut_pending && !conn->close_pending)
		return false;
	return true;
}

static bool tx_cdc_due(const struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;
	u32 unsent = smc_ring_tx_unsent(&tx->ring);
	u8 flags = tx->state_due;

	/* what has to be written again comes before the D, which goes with the last of it */
	if (unsent && !(tx->state & (SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT)))
		flags &= ~SMC_CDC_S_DONE;
	return tx->cons_due || flags || tx->urg.due ||
	       (!tx->told_blocked && unsent && !smc_ring_tx_window(&tx->ring));
}

/* A slot of our link; none: smc_tx_retry() goes on. */
static struct smc_wr_slot *tx_get_slot(struct smc_conn *conn)
{
	struct smc_wr_slot *slot;

	/* first: who frees one right behind the refusal looks for us */
	WRITE_ONCE(conn->tx.waiting, true);
	slot = smc_wr_slot_get(conn->link->qp);
	if (slot)
		conn->tx.waiting = false;
	else
		smc_stats_inc(conn->net, SMC_STAT_TX_NOSLOT);
	return slot;
}

/* The first message on a link the connection has moved to. False: not yet. */
static bool tx_send_validation(struct smc_conn *conn)
{
	struct smc_wr_slot *slot;

	if (!conn->tx.validate)
		return true;
	slot = tx_get_slot(conn);
	if (!slot)
		return false;
	smc_cdc_build_validation(conn, slot->buf);
	if (smc_wr_post(slot, SMC_CDC_LEN, NULL, 0, false)) {
		smc_wr_slot_put(slot);
		return false;
	}
	conn->tx.validate = false;
	smc_meter_out(conn, 0);
	smc_stats_inc(conn->net, SMC_STAT_TX_VALIDATION);
	return true;
}

/*
 * Is the completion of the message just built of interest? Of data, of flags that are new,
 * and now and then of any: the number of the last one is what a validation says.
 */
static bool tx_needs_completion(const struct smc_conn_tx *tx, bool data)
{
	return data || (tx->state_unacked && tx->state_seq == tx->seq) ||
	       smc_failover_seq_due(tx->seq, tx->seq_done);
}

static void tx_watch_completion(struct smc_conn *conn, struct smc_wr_slot *slot)
{
	slot->done = tx_send_done;
	slot->owner = conn;
	slot->cookie = conn->tx.ring.sent;
	slot->epoch = conn->tx.ring.epoch;
	slot->seq = conn->tx.seq;
	smc_conn_get(conn);
	conn->tx.inflight++;
}

/*
 * WRITEs to post next. The reserve in the peer's memory is spent byte by byte with growing
 * pauses: until the peer has left the lost link, too, what the byte makes it say goes there.
 */
static int tx_plan_writes(struct smc_conn *conn, struct smc_write_piece *piece)
{
	struct smc_conn_tx *tx = &conn->tx;
	int n = smc_ring_tx_plan(&tx->ring, smc_urgent_tx_stop(&tx->urg), tx_post_max(conn), piece);

	if (!n || smc_ring_tx_window(&tx->ring) || time_after_eq(jiffies, tx->probe_at))
		return n;
	smc_conn_kick_by(conn, tx->probe_at - jiffies);
	return 0;
}

static void tx_advance_sent(struct smc_conn_tx *tx, u32 len)
{
	if (!smc_ring_tx_window(&tx->ring)) {
		tx->probe_at = jiffies + tx->probe_gap;
		tx->probe_gap = min_t(unsigned long, 2 * tx->probe_gap, PROBE_MAX);
	}
	smc_ring_tx_sent(&tx->ring, len);
}

/**
 * smc_tx_window_locked() - how long is the peer's window closed
 * @conn: connection, conn->lock held; the peer was told that it is, or is not, or will be
 */
void smc_tx_window_locked(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;

	if (tx->told_blocked && !tx->blocked_at) {
		tx->blocked_at = ktime_get_ns();
		smc_stats_inc(conn->net, SMC_STAT_TX_WINDOW_CLOSED);
	} else if (!tx->told_blocked && tx->blocked_at) {
		smc_stats_add(conn->net, SMC_STAT_WINDOW_USECS,
			      div_u64(ktime_get_ns() - tx->blocked_at, NSEC_PER_USEC));
		tx->blocked_at = 0;
	}
}

/* data path 3 to 5: one slot, one chain, one post. False: stop pushing. */
static bool tx_push_one(struct smc_conn *conn, bool more)
{
	struct smc_write_piece piece[SMC_PLAN_PIECES];
	struct smc_conn_tx *tx = &conn->tx;
	struct smc_wr_slot *slot;
	struct tx_chain chain;
	bool signal;
	u32 len = 0;
	int n = 0;

	if (!(tx->state & (SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT)) && tx_data_ready(conn, more))
		n = tx_plan_writes(conn, piece);
	if (!n && !tx_cdc_due(conn))
		return false;
	if (!tx_send_validation(conn))
		return false;
	slot = tx_get_slot(conn);
	if (!slot)
		return false;
	chain.n = 0;
	chain.nsge = 0;
	if (n && smc_zcopy_none(conn))
		len = tx_fill_writes(conn, piece, n, &chain);
	else if (n)
		len = tx_gather_writes(conn, piece, n, &chain);
	if (n)
		tx_advance_sent(tx, len);
	smc_cdc_build(conn, slot->buf);
	signal = tx_needs_completion(tx, n);
	if (signal)
		tx_watch_completion(conn, slot);
	if (smc_wr_post(slot, SMC_CDC_LEN, chain.write, chain.n, signal)) {
		/* the link is broken and says so on its own: all is said again on another one */
		smc_wr_slot_put(slot);
		if (signal) {
			tx->inflight--;
			smc_zcopy_settle_later_locked(conn);
			smc_conn_put(conn);
		}
		return false;
	}
	smc_meter_out(conn, len);
	smc_stats_inc(conn->net, SMC_STAT_TX_CDC);
	smc_tx_window_locked(conn);
	if (n) {
		if (tx->resuming)
			trace_smc_conn_resume(conn->token, conn->link->uid, len);
		tx->resuming = false;
		smc_stats_add(conn->net, SMC_STAT_TX_WRITE_BYTES, len);
		smc_stats_add(conn->net, SMC_STAT_TX_WRITES, chain.n);
	}
	return true;
}

/*
 * The last message over a link that is to be left; it says whatever else is due. The peer
 * is to answer, and our RNIC to tell.
 */
static void tx_ask_move(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;
	struct smc_wr_slot *slot = tx_get_slot(conn);

	if (!slot)
		return;
	smc_cdc_build(conn, slot->buf);
	tx_watch_completion(conn, slot);
	if (smc_wr_post(slot, SMC_CDC_LEN, NULL, 0, true)) {
		/* as in tx_push_one() */
		smc_wr_slot_put(slot);
		tx->inflight--;
		smc_zcopy_settle_later_locked(conn);
		smc_conn_put(conn);
		return;
	}
	smc_meter_out(conn, 0);
	smc_stats_inc(conn->net, SMC_STAT_TX_CDC);
	smc_tx_window_locked(conn);
	tx->heard = false;
	tx->leave = SMC_LEAVE_WAIT;
}

/**
 * smc_tx_probe_locked() - the next byte out of the reserve may go at once
 * @conn: connection, conn->lock held
 *
 * We have gone to another link, or the peer says that it has.
 */
void smc_tx_probe_locked(struct smc_conn *conn)
{
	conn->tx.probe_at = jiffies;
	conn->tx.probe_gap = PROBE_MIN;
}

/* The link is to go, in order, and both sides are silent before: llc/delete_link.c. */
static bool tx_link_held(struct smc_conn *conn)
{
	if (!smc_link_held(conn->link))
		return false;
	WRITE_ONCE(conn->tx.waiting, true);
	smp_mb();	/* pairs with smc_link_hold(), which looks for who waits */
	if (smc_link_held(conn->link))
		return true;
	conn->tx.waiting = false;
	return false;
}

/**
 * smc_tx_push_locked() - post what may go
 * @conn: connection, conn->lock held
 * @more: the caller will push again soon
 */
void smc_tx_push_locked(struct smc_conn *conn, bool more)
{
	lockdep_assert_held(&conn->lock);
	if (conn->tx.stopped || !conn->tx.peer_size || !smc_link_usable(conn->link) ||
	    conn->state == SMC_CONN_INIT || tx_link_held(conn))
		return;
	if (conn->tx.leave == SMC_LEAVE_ASK)
		tx_ask_move(conn);
	/* who leaves is silent until it has gone, or stays */
	while (!conn->tx.leave && tx_push_one(conn, more))
		;
}

/**
 * smc_tx_push() - post what may go
 * @conn: connection
 * @more: the caller will push again soon: small amounts may wait
 *
 * Any context.
 */
void smc_tx_push(struct smc_conn *conn, bool more)
{
	spin_lock_bh(&conn->lock);
	smc_tx_push_locked(conn, more);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_tx_consumer_update_locked() - tell the peer what was read
 * @conn: connection, conn->lock held
 */
void smc_tx_consumer_update_locked(struct smc_conn *conn)
{
	conn->tx.cons_due = true;
	smc_tx_push_locked(conn, false);
}

/**
 * smc_tx_send_flags_locked() - send D, C or A as soon as possible
 * @conn: connection, conn->lock held
 * @flags: SMC_CDC_S_*
 */
void smc_tx_send_flags_locked(struct smc_conn *conn, u8 flags)
{
	conn->tx.state_due |= flags;
	/* these do not wait until we have gone to another link: we stay */
	conn->tx.leave = SMC_LEAVE_NO;
	smc_tx_push_locked(conn, false);
}

/**
 * smc_tx_retry() - the link has slots again
 * @conn: connection
 *
 * Softirq.
 *
 * Return: false if it has to wait again.
 */
bool smc_tx_retry(struct smc_conn *conn)
{
	bool served;

	if (!READ_ONCE(conn->tx.waiting))
		return true;
	spin_lock_bh(&conn->lock);
	if (conn->tx.waiting) {
		conn->tx.waiting = false;
		smc_tx_push_locked(conn, false);
		/* the last message of these ends something: the work sees to it */
		if (conn->releasing || conn->state == SMC_CONN_PROCESSABORT)
			smc_conn_kick(conn, 0);
	}
	served = !conn->tx.waiting;
	spin_unlock_bh(&conn->lock);
	return served;
}
