// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending direction of a connection: user bytes -> send ring -> the peer's RMBE.
 *
 * Path of a byte. sendmsg() (socket/stream.c) calls smc_tx_write(), which copies the byte into the
 * send ring without a lock, or smc_tx_write_pages(), which leaves it in a page of the application
 * (conn/zerocopy.c) and only reserves its room in the ring. Then smc_tx_push_locked() posts as
 * much as the peer's window allows: tx_push_one() takes a send slot of the link, turns the plan
 * of proto/cursor.c into at most SMC_WR_WRITES_MAX RDMA WRITEs, adds a CDC message (smc_cdc.c)
 * or, if that suffices, an immediate value, and posts the whole chain. tx_send_done() runs when
 * the RNIC of the peer has acknowledged it: ring space becomes free and the next bytes are
 * posted.
 *
 * Positions of the ring (proto/cursor.h): completed <= sent <= prepared. Bytes from prepared to
 * completed + size are free and belong to the one writer. From the copy until the completion the
 * bytes belong to this file, and between sent and completed the RNIC may read them at any time.
 * After a change of the link conn/failover.c rewinds sent, so bytes may be posted twice.
 *
 * What is posted, and when. Nothing is posted before the peer's RMBE is known, while the link is
 * not usable or held for an orderly removal, or after the group has ended (tx.stopped). On a new
 * link a failover validation goes first. While earlier data is in flight, less than half a ring
 * (net.smc.autocorking_size) waits for its completion, which pushes again: otherwise each small
 * write would cost a WRITE, a CDC and two interrupts. Messages without data (consumer update, B,
 * P, D, C, A) do not wait. If no send slot is free, tx.waiting is set and smc_tx_retry() continues
 * when the link has slots again.
 *
 * During an orderly move to another link (conn/failover.c, decision 0014) one last message is sent
 * over the old link, then nothing until the peer has acknowledged this message and all requests
 * have completed.
 *
 * Locks: conn->lock protects all of struct smc_conn_tx, and is held while posting; qp->sq_lock is
 * taken inside it. Copying user bytes needs no lock, but only one writer at a time (socket lock).
 * Context: smc_tx_write*() in process context; everything else also in softirq (completions,
 * received CDCs). Nothing here sleeps for space or for the peer.
 *
 * References: each request whose completion is of interest holds a reference on the connection, so
 * the send ring lives until the RNIC is done with it.
 */
#include <linux/err.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "conn/cdc.h"
#include "conn/move.h"
#include "conn/state.h"
#include "conn/timers.h"
#include "conn/upgrade_locked.h"

#define TX_SGES		32		/* gather elements of the WRITEs of one post */
/* With less room than this pages are not taken: more room comes soon. */
#define TX_PAGES_MIN	4096
/*
 * So many replies in a row, each so soon after the one before, are a conversation: a connection
 * with fewer may be about to close, and one with pauses would have a tail probe for each reply.
 */
#define TX_TURNS_MIN	4
#define TX_TURN_TIME	(HZ / 50)

/**
 * struct tx_chain - WRITEs of one post
 * @write: the WRITEs, room for SMC_WR_WRITES_MAX if some lie in pages, for SMC_PLAN_PIECES if not
 * @n: their number
 * @sge: TX_SGES gather elements of WRITEs that have several; NULL: all bytes are in the ring
 * @nsge: how many of them are used
 */
struct tx_chain {
	struct smc_wr_write *write;
	u32 n;
	struct ib_sge *sge;
	u32 nsge;
};

/**
 * smc_tx_get_space() - Return the free room in the send ring
 * @conn: connection
 *
 * Context: Any; a snapshot without a lock.
 * Return: bytes that smc_tx_write() would take now.
 */
size_t smc_tx_get_space(const struct smc_conn *conn)
{
	u64 completed = READ_ONCE(conn->tx.ring.completed);
	u64 prepared = READ_ONCE(conn->tx.ring.prepared);
	u32 size = READ_ONCE(conn->tx.ring.size);

	return prepared - completed < size ? size - (prepared - completed) : 0;
}

/**
 * smc_tx_has_room() - Check for enough free room in the send ring to wake a writer for
 * @conn: connection
 *
 * A third of the ring, as in sk_stream_is_writeable().
 *
 * Context: Any; a snapshot without a lock.
 * Return: true if there is enough.
 */
bool smc_tx_has_room(const struct smc_conn *conn)
{
	return smc_tx_get_space(conn) >= READ_ONCE(conn->tx.ring.size) / 3;
}

/**
 * smc_tx_get_queued() - Return the bytes that the peer's RNIC has not acknowledged (SIOCOUTQ)
 * @conn: connection
 *
 * Who asks once will ask again, until there are none: the acknowledgment shall not be late.
 *
 * Context: Any but hard interrupt; may take conn->lock. A snapshot.
 * Return: bytes.
 */
size_t smc_tx_get_queued(struct smc_conn *conn)
{
	u64 completed = READ_ONCE(conn->tx.ring.completed), prepared;

	smc_tx_fence(conn);
	smp_rmb();	/* completed is read first: prepared can only be further ahead */
	prepared = READ_ONCE(conn->tx.ring.prepared);
	/* less if a cursor of the peer is raising both after an abort: the stores have no order */
	return prepared > completed ? prepared - completed : 0;
}

/**
 * smc_tx_get_unsent() - Return the bytes that are not posted yet (SIOCOUTQNSD)
 * @conn: connection
 *
 * Context: Any; a snapshot without a lock.
 * Return: bytes.
 */
size_t smc_tx_get_unsent(const struct smc_conn *conn)
{
	u64 sent = READ_ONCE(conn->tx.ring.sent), prepared;

	smp_rmb();	/* as in smc_tx_get_queued() */
	prepared = READ_ONCE(conn->tx.ring.prepared);
	/* less if an abort has just given up what was sent */
	return prepared > sent ? prepared - sent : 0;
}

/* Bytes copied per call: copying the next piece overlaps with sending this one. */
static u32 tx_copy_max(const struct smc_conn *conn)
{
	return max_t(u32, conn->tx.ring.size / 2, SMC_ELEM_SIZE_MIN);
}

/* Bytes per post: each costs a CDC and a completion, but a single post would stall the flow. */
static u32 tx_post_max(const struct smc_conn *conn)
{
	return max_t(u32, conn->tx.ring.size / 2, SMC_ELEM_SIZE_MIN);
}

/*
 * The writer may write up to @len bytes into the ring, also if it takes fewer in the end. They are
 * zeroed before another connection gets the ring.
 */
static void tx_note_reach(struct smc_conn *conn, u32 len)
{
	conn->tx.reach = max(conn->tx.reach, conn->tx.ring.prepared + len);
}

/* Account for @len new bytes of the stream and post what may go; conn->lock held. */
static void tx_prepare_locked(struct smc_conn *conn, u32 len, bool more, bool urgent)
{
	if (smc_ring_tx_drained(&conn->tx.ring))
		conn->tcpinfo.queued_at = jiffies;
	smc_ring_tx_prepare(&conn->tx.ring, len);
	if (urgent)
		smc_urgent_tx_mark(&conn->tx.urg, conn->tx.ring.prepared,
				   conn->tx.ring.sent_max);
	smc_tx_push_locked(conn, more);
}

/**
 * smc_tx_write() - Copy user bytes into the send ring and post what may go
 * @conn: connection
 * @from: user bytes
 * @len: number of bytes
 * @more: more bytes beyond @len follow soon: small amounts may wait
 * @urgent: the last of the @len bytes is urgent (MSG_OOB), if it is taken
 *
 * Takes at most half of the ring, or 16 KiB if that is more; the caller calls again for the rest.
 *
 * Context: Process; takes conn->lock. One caller at a time (socket lock). Never sleeps for space.
 * Return: bytes taken, -EAGAIN if the ring is full, or has room for one byte and would leave an
 * urgent one alone, -EFAULT, -EPIPE if the state allows no more sending.
 */
ssize_t smc_tx_write(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
		     bool urgent)
{
	struct smc_ring_span span[2];
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
		take = smc_urgent_tx_copy_len(len, min_t(u32, take,
							 smc_ring_tx_free_bytes(&conn->tx.ring)));
	n = smc_ring_tx_get_spans(&conn->tx.ring, take, span);
	if (n)
		tx_note_reach(conn, min_t(u32, take, smc_ring_tx_free_bytes(&conn->tx.ring)));
	spin_unlock_bh(&conn->lock);
	if (!n)
		return -EAGAIN;

	/* data path 2: only this writer uses the free part of the ring, so copy without a lock */
	for (i = 0; i < n; i++) {
		size_t got = copy_from_iter(conn->tx.elem.addr + span[i].off, span[i].len, from);

		done += got;
		if (got < span[i].len)
			break;
	}
	if (!done)
		return -EFAULT;

	spin_lock_bh(&conn->lock);
	if (unlikely(!smc_conn_state_may_send(conn->state))) {
		/* aborted, or closed by the peer, while this copied: as if it had begun now */
		spin_unlock_bh(&conn->lock);
		iov_iter_revert(from, done);
		return -EPIPE;
	}
	tx_prepare_locked(conn, done, more || done < len, urgent && done == len);
	spin_unlock_bh(&conn->lock);
	smc_stats_count(conn->stats, SMC_STAT_TX_BYTES, done);
	return done;
}

/**
 * smc_tx_write_pages() - Send user bytes from the pages that they lie in
 * @conn: connection
 * @from: user bytes
 * @len: number of bytes
 * @more: as in smc_tx_write()
 * @uarg: notified when the pages are free, or NULL
 *
 * The bytes use room of the ring nevertheless. None of them is urgent.
 *
 * Context: As smc_tx_write().
 * Return: as smc_tx_write(); -EOPNOTSUPP, -ENOMEM or -EFAULT if the bytes have to be copied
 * instead; the first ring has no room for pages.
 */
ssize_t smc_tx_write_pages(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
			   struct ubuf_info *uarg)
{
	struct smc_zerocopy_run *run;
	ssize_t done;
	u32 room;

	if (smc_conn_ring_is_first(conn))
		return -EOPNOTSUPP;
	spin_lock_bh(&conn->lock);
	if (!smc_conn_state_may_send(conn->state) || conn->shut_pending) {
		spin_unlock_bh(&conn->lock);
		return -EPIPE;
	}
	room = min(smc_ring_tx_free_bytes(&conn->tx.ring), tx_copy_max(conn));
	/* pages that the device cannot map are copied there */
	tx_note_reach(conn, room);
	spin_unlock_bh(&conn->lock);
	if (room < min_t(size_t, len, TX_PAGES_MIN))
		return -EAGAIN;

	/* data path 2: only this writer takes room */
	run = smc_zerocopy_take_pages(from, min_t(size_t, len, room), uarg);
	if (IS_ERR(run))
		return PTR_ERR(run);
	done = smc_zerocopy_get_len(run);

	spin_lock_bh(&conn->lock);
	if (smc_conn_state_may_send(conn->state)) {
		smc_zerocopy_add_locked(conn, run);
		run = NULL;
		tx_prepare_locked(conn, done, more || done < len, false);
	}
	spin_unlock_bh(&conn->lock);
	if (run) {
		/* as in smc_tx_write() */
		smc_zerocopy_free(run);
		iov_iter_revert(from, done);
		return -EPIPE;
	}
	smc_stats_count(conn->stats, SMC_STAT_TX_BYTES, done);
	return done;
}

static void tx_end_watch(struct smc_conn_tx *tx)
{
	if (!--tx->inflight)
		WRITE_ONCE(tx->quiet, false);
}

/* data path 13: acknowledged by the peer's RNIC, or flushed because the queue pair broke */
static void tx_send_done(struct smc_wr_slot *slot, enum ib_wc_status status)
{
	struct smc_conn *conn = slot->owner;
	struct smc_conn_notification note;
	unsigned int bits = 0;
	u64 completed;

	spin_lock_bh(&conn->lock);
	tx_end_watch(&conn->tx);
	if (status == IB_WC_SUCCESS) {
		completed = conn->tx.ring.completed;
		conn->tx.seq_done = slot->seq;
		if ((s16)(slot->seq - conn->tx.state_seq) >= 0)
			conn->tx.state_unacked = false;
		if (smc_ring_tx_complete(&conn->tx.ring, slot->epoch, slot->cookie))
			bits = SMC_CONN_WRITABLE;
		smc_tcpinfo_count_acked(conn, slot->started, completed);
		smc_conn_move_check_drained_locked(conn);
	}
	if (!smc_zerocopy_is_empty(conn))
		smc_zerocopy_settle_locked(conn);
	smc_tx_push_locked(conn, false);
	if (conn->shut_pending || smc_conn_is_shut(conn) || conn->releasing || conn->tcp_end)
		bits |= conn->completed(conn);
	if (smc_conn_growth_over_locked(conn))
		smc_conn_queue_work(conn);
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
	if (!list_empty_careful(&conn->tx.runs_done))
		smc_zerocopy_flush(conn);
	smc_conn_put(conn);
}

static __always_inline struct smc_wr_write *
tx_chain_add_write(const struct smc_conn *conn, struct tx_chain *chain, u32 dst)
{
	const struct smc_rtoken *rtoken = smc_rtoken_of(conn->lgr, conn->tx.claim.rtoken);
	struct smc_wr_write *write = &chain->write[chain->n++];
	u32 slot = conn->link->slot;

	/* what the caller may leave as it is; zeroing the rest would cost as much as the WRITE */
	write->len = 0;
	write->raddr = rtoken->addr[slot] + conn->tx.claim.off + dst;
	write->rkey = rtoken->rkey[slot];
	write->nsge = 0;
	return write;
}

/* data path 4: turn the pieces of the plan into WRITEs over this link; all bytes are in the ring */
static u32 tx_fill_writes(struct smc_conn *conn, const struct smc_ring_piece *piece, int n,
			  struct tx_chain *chain)
{
	const struct smc_elem *elem = &conn->tx.elem;
	u32 slot = conn->link->slot;
	struct smc_wr_write *out;
	struct ib_sge sge;
	u32 sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		out = tx_chain_add_write(conn, chain, piece[i].dst);
		out->vaddr = elem->addr + piece[i].src;
		/* the device does not read what is copied */
		if (!smc_qp_copies_write(conn->link->qp, piece[i].len)) {
			smc_elem_prepare_sge(elem, slot, piece[i].src, piece[i].len, &sge);
			out->laddr = sge.addr;
			out->lkey = sge.lkey;
		}
		out->len = piece[i].len;
		sum += piece[i].len;
	}
	return sum;
}

/*
 * Fill one gather element with bytes from position @pos, offset @src of the ring. Returns the
 * number of bytes, at most @len: they lie in a page or in the ring.
 */
static u32 tx_fill_sge(struct smc_conn *conn, u64 pos, u32 src, u32 len, struct ib_sge *sge)
{
	if (smc_zerocopy_get_piece_locked(conn, pos, &len, sge)) {
		smc_stats_count(conn->stats, SMC_STAT_TX_ZC_BYTES, len);
		return len;
	}
	smc_elem_prepare_sge(&conn->tx.elem, conn->link->slot, src, len, sge);
	return len;
}

/*
 * The plan never leaves an urgent byte alone, because an in-tree reader can miss it. Keep that when
 * the chain ends before the plan does: shorten it by one byte, which then goes with the urgent one.
 */
static u32 tx_pair_urgent(const struct smc_conn *conn, struct tx_chain *chain, u32 sum)
{
	struct smc_wr_write *last;

	if (sum < 2 || smc_urgent_tx_stop_pos(&conn->tx.urg) != conn->tx.ring.sent + sum + 1)
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

/* As tx_fill_writes() where bytes also lie in pages; ends early when the chain is full. */
static u32 tx_gather_writes(struct smc_conn *conn, const struct smc_ring_piece *piece, int n,
			    struct tx_chain *chain)
{
	u32 max = smc_qp_get_max_sge(conn->link->qp), sum = 0, done, len;
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

/* Fewer bytes than this, and than half a ring, wait for the completion of what is in flight. */
static u32 tx_cork_limit(const struct smc_conn *conn)
{
	return READ_ONCE(smc_settings_get(conn->net)->autocorking);
}

/*
 * Return whether the unsent bytes are fewer than a part of the ring that the application knows. The
 * first ring is smaller: bytes wait there only as long as it has room for those they wait for.
 */
static bool tx_unsent_is_below(const struct smc_conn *conn, u32 part)
{
	return smc_ring_tx_unsent(&conn->tx.ring) < conn->tx.want / part &&
	       (!smc_conn_ring_is_first(conn) || smc_tx_has_room(conn));
}

/* Return whether queued bytes are posted now; otherwise they wait for more bytes. */
static bool tx_data_ready(const struct smc_conn *conn, bool more)
{
	const struct smc_conn_tx *tx = &conn->tx;
	u32 unsent = smc_ring_tx_unsent(&tx->ring);

	if (!unsent)
		return false;
	if (tx->urg.pos)
		return true;
	/* no completion is near for quiet requests alone */
	if (tx->inflight && !tx->quiet && tx_unsent_is_below(conn, 2) &&
	    unsent < tx_cork_limit(conn))
		return false;
	if (more && tx_unsent_is_below(conn, 4) &&
	    !conn->shut_pending && !conn->close_pending)
		return false;
	return true;
}

static bool tx_cdc_due(const struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;
	u32 unsent = smc_ring_tx_unsent(&tx->ring);
	u8 flags = tx->state_due;

	/* bytes to be written again go first; D goes with the last of them */
	if (unsent && !(tx->state & (SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT)))
		flags &= ~SMC_CDC_S_DONE;
	return tx->cons_due || flags || tx->urg.flag_due ||
	       (!tx->sent_blocked && unsent && !smc_ring_tx_window(&tx->ring));
}

/* Take a send slot of the link. Without one, tx.waiting stays set and smc_tx_retry() continues. */
static struct smc_wr_slot *tx_get_slot(struct smc_conn *conn)
{
	struct smc_wr_slot *slot;

	/* Set before trying, so that a slot freed right after a failure triggers a retry. */
	WRITE_ONCE(conn->tx.waiting, true);
	slot = smc_wr_slot_get(conn->link->qp);
	if (slot)
		WRITE_ONCE(conn->tx.waiting, false);
	else
		smc_stats_count(conn->stats, SMC_STAT_TX_NOSLOT, 1);
	return slot;
}

/* Send the failover validation if one is due. Returns false if it has to wait. */
static bool tx_send_validation(struct smc_conn *conn)
{
	struct smc_wr_slot *slot;

	if (!conn->tx.move.validate)
		return true;
	slot = tx_get_slot(conn);
	if (!slot)
		return false;
	smc_cdc_build_validation(conn, slot->buf);
	if (smc_wr_post(slot, SMC_CDC_LEN, NULL, 0, false)) {
		smc_wr_slot_put(slot);
		return false;
	}
	conn->tx.move.validate = false;
	smc_tcpinfo_count_sent(&conn->tcpinfo, 0);
	smc_stats_count(conn->stats, SMC_STAT_TX_VALIDATION, 1);
	return true;
}

/*
 * Return whether the completion of the message just built is needed: for data, for state bits not
 * acknowledged yet, and now and then for any message, since a failover validation names the last
 * message that completed.
 */
static bool tx_needs_completion(const struct smc_conn_tx *tx, bool data)
{
	return data || (tx->state_unacked && tx->state_seq == tx->seq) ||
	       smc_failover_seq_due(tx->seq, tx->seq_done);
}

/*
 * Count how often the application has read all that came before it sent more, and return whether
 * the bytes just posted, announced by an immediate value, may be quiet: they complete together with
 * a later request, which saves an interrupt. That is a request that is no reply, one that the send
 * queue has signaled anyway, the probe of smc_tx_fence_locked(), or a tail probe. Nothing waits for
 * the room of so few bytes: a first ring, of which they may fill half, is left for more.
 */
static bool tx_may_be_quiet(struct smc_conn *conn)
{
	const struct smc_ring_rx *rx = &conn->rx.ring;
	struct smc_conn_tx *tx = &conn->tx;
	bool reply = rx->produced != tx->answered && !smc_ring_rx_readable(rx) &&
		     time_before(jiffies, conn->tcpinfo.sent_at + TX_TURN_TIME);

	tx->answered = rx->produced;
	tx->turns = reply ? min(tx->turns + 1, TX_TURNS_MIN) : 0;
	return tx->turns == TX_TURNS_MIN && (!tx->inflight || tx->quiet) &&
	       !smc_ring_tx_unsent(&tx->ring) &&
	       tx->ring.sent - tx->ring.completed <=
			max_t(u32, tx->ring.size / 8, SMC_ELEM_SIZE_FIRST / 2) &&
	       smc_zerocopy_is_empty(conn) && !conn->shut && !conn->close_pending;
}

/* Have tx_send_done() called. @quiet: not before a later request completes. */
static void tx_watch_completion(struct smc_conn *conn, struct smc_wr_slot *slot, bool quiet)
{
	slot->done = tx_send_done;
	slot->owner = conn;
	slot->cookie = conn->tx.ring.sent;
	slot->epoch = conn->tx.ring.epoch;
	slot->seq = conn->tx.seq;
	smc_conn_get(conn);
	conn->tx.inflight++;
	WRITE_ONCE(conn->tx.quiet, quiet);
}

/* The request of tx_watch_completion() was not posted. */
static void tx_forget_completion(struct smc_conn *conn)
{
	tx_end_watch(&conn->tx);
	smc_zerocopy_settle_later_locked(conn);
	smc_conn_put(conn);
}

/*
 * Plan the next WRITEs. While the window is closed, the reserve in the peer's RMBE is used byte by
 * byte with growing pauses, see PROBE_MAX in conn/timers.c.
 */
static int tx_plan_writes(struct smc_conn *conn, struct smc_ring_piece *piece)
{
	struct smc_conn_tx *tx = &conn->tx;
	int n = smc_ring_tx_plan(&tx->ring, smc_urgent_tx_stop_pos(&tx->urg), tx_post_max(conn),
				 piece);

	if (!n || smc_ring_tx_window(&tx->ring) || smc_conn_timer_probe_due(conn))
		return n;
	return 0;
}

static void tx_advance_sent(struct smc_conn *conn, u32 len)
{
	if (!smc_ring_tx_window(&conn->tx.ring))
		smc_conn_timer_probe_sent(conn);
	smc_ring_tx_note_posted(&conn->tx.ring, len);
}

/**
 * smc_tx_count_window_locked() - Account for how long the peer's window is closed
 * @conn: connection
 *
 * Called when tx.sent_blocked may have changed.
 *
 * Context: Caller holds conn->lock.
 */
void smc_tx_count_window_locked(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;

	lockdep_assert_held(&conn->lock);
	if (tx->sent_blocked && !tx->blocked_at) {
		tx->blocked_at = ktime_get_ns();
		smc_stats_count(conn->stats, SMC_STAT_TX_WINDOW_CLOSED, 1);
		smc_tcpinfo_count_closed(conn);
	} else if (!tx->sent_blocked && tx->blocked_at) {
		u64 usecs = div_u64(ktime_get_ns() - tx->blocked_at, NSEC_PER_USEC);

		smc_stats_count(conn->stats, SMC_STAT_WINDOW_USECS, usecs);
		smc_tcpinfo_count_opened(conn, usecs);
		tx->blocked_at = 0;
	}
}

/* Most messages change nothing; an immediate value never does. */
static void tx_count_window(struct smc_conn *conn)
{
	if (conn->tx.sent_blocked != !!conn->tx.blocked_at)
		smc_tx_count_window_locked(conn);
}

/* data path 5: post the WRITEs of @chain and a message. Returns false to stop pushing. */
static bool tx_post(struct smc_conn *conn, struct smc_wr_slot *slot, const struct tx_chain *chain,
		    u32 len)
{
	struct smc_conn_tx *tx = &conn->tx;
	bool signal, quiet = false, imm = false;
	u32 value;

	if (chain->n) {
		tx_advance_sent(conn, len);
		imm = smc_cdc_imm_suffices(conn);
		quiet = tx_may_be_quiet(conn) && imm;
	}
	if (imm)
		value = smc_cdc_build_imm(conn);
	else
		smc_cdc_build(conn, slot->buf);
	signal = tx_needs_completion(tx, chain->n);
	if (signal)
		tx_watch_completion(conn, slot, quiet);
	if (imm ? smc_wr_post_imm(slot, value, chain->write, chain->n, signal && !quiet) :
		  smc_wr_post(slot, SMC_CDC_LEN, chain->write, chain->n, signal)) {
		/* The link is broken and reports that itself; failover repeats everything. */
		smc_wr_slot_put(slot);
		if (signal)
			tx_forget_completion(conn);
		return false;
	}
	smc_tcpinfo_count_sent(&conn->tcpinfo, len);
	smc_stats_count(conn->stats, imm ? SMC_STAT_TX_IMM : SMC_STAT_TX_CDC, 1);
	tx_count_window(conn);
	if (chain->n) {
		if (tx->move.resuming)
			trace_smc_conn_resume(conn->token, conn->link->uid, len);
		tx->move.resuming = false;
		smc_stats_count(conn->stats, SMC_STAT_TX_WRITE_BYTES, len);
		smc_stats_count(conn->stats, SMC_STAT_TX_WRITES, chain->n);
	}
	return true;
}

/* Its stack is big, and hardened kernels clear that for each call: only if bytes lie in pages. */
static noinline bool tx_post_gathered(struct smc_conn *conn, struct smc_wr_slot *slot,
				      const struct smc_ring_piece *piece, int n)
{
	struct smc_wr_write write[SMC_WR_WRITES_MAX];
	struct ib_sge sge[TX_SGES];
	struct tx_chain chain = { .write = write, .sge = sge };

	return tx_post(conn, slot, &chain, tx_gather_writes(conn, piece, n, &chain));
}

/* Return whether queued bytes may be posted now. */
static bool tx_write_due(const struct smc_conn *conn, bool more)
{
	return !(conn->tx.state & (SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT)) &&
	       smc_ring_tx_has_room(&conn->tx.ring) && tx_data_ready(conn, more);
}

/*
 * data path 3: one slot, one chain, one post, with queued bytes if @write_due. Returns false to
 * stop pushing. Not inlined: most pushes find nothing to do, and need not clear its stack.
 */
static noinline bool tx_push_one(struct smc_conn *conn, bool write_due)
{
	struct smc_wr_write write[SMC_PLAN_PIECES];
	struct smc_ring_piece piece[SMC_PLAN_PIECES];
	struct tx_chain chain = { .write = write };
	struct smc_wr_slot *slot;
	int n = 0;

	if (write_due)
		n = tx_plan_writes(conn, piece);
	if (!n && !tx_cdc_due(conn))
		return false;
	if (!tx_send_validation(conn))
		return false;
	slot = tx_get_slot(conn);
	if (!slot)
		return false;
	if (n && !smc_zerocopy_is_empty(conn))
		return tx_post_gathered(conn, slot, piece, n);
	return tx_post(conn, slot, &chain, tx_fill_writes(conn, piece, n, &chain));
}

/* Post a message alone, and watch its completion. Returns false if it was not posted. */
static bool tx_post_bare(struct smc_conn *conn, struct smc_wr_slot *slot)
{
	smc_cdc_build(conn, slot->buf);
	tx_watch_completion(conn, slot, false);
	if (smc_wr_post(slot, SMC_CDC_LEN, NULL, 0, true)) {
		/* as in tx_push_one() */
		smc_wr_slot_put(slot);
		tx_forget_completion(conn);
		return false;
	}
	smc_tcpinfo_count_sent(&conn->tcpinfo, 0);
	smc_stats_count(conn->stats, SMC_STAT_TX_CDC, 1);
	smc_tx_count_window_locked(conn);
	return true;
}

/*
 * Send the last message before an orderly move, with everything else that is due. The peer is to
 * acknowledge it, and our RNIC is to complete it.
 */
static void tx_ask_move(struct smc_conn *conn)
{
	struct smc_wr_slot *slot = tx_get_slot(conn);

	if (slot && tx_post_bare(conn, slot))
		smc_conn_move_step_locked(conn, SMC_MOVE_EV_SENT);
}

/*
 * Return whether the link is held: before an orderly removal of a link (llc/delete_link.c) both
 * sides stop sending over it.
 */
static bool tx_link_held(struct smc_conn *conn)
{
	if (!smc_link_conns_held(conn->link))
		return false;
	WRITE_ONCE(conn->tx.waiting, true);
	smp_mb();	/* pairs with smc_link_hold_conns(), which retries waiting connections */
	if (smc_link_conns_held(conn->link))
		return true;
	WRITE_ONCE(conn->tx.waiting, false);
	return false;
}

/* Return whether there is anything to post: most pushes come just in case. */
static bool tx_has_work(const struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;

	return smc_ring_tx_unsent(&tx->ring) || tx->cons_due || tx->state_due || tx->urg.flag_due ||
	       tx->move.state == SMC_MOVE_ASK;
}

/**
 * smc_tx_push_locked() - Post what may go
 * @conn: connection
 * @more: the caller will push again soon: small amounts may wait
 *
 * Posts from sent to prepared as far as the peer's window allows, with all flags and consumer
 * updates that are due.
 *
 * Context: Any; caller holds conn->lock.
 */
void smc_tx_push_locked(struct smc_conn *conn, bool more)
{
	bool write_due;

	lockdep_assert_held(&conn->lock);
	if (!tx_has_work(conn) || conn->tx.stopped || !conn->tx.peer_size ||
	    !smc_link_usable(conn->link) || conn->state == SMC_CONN_INIT || tx_link_held(conn))
		return;
	if (conn->tx.move.state == SMC_MOVE_ASK)
		tx_ask_move(conn);
	/* during an orderly move nothing else is sent */
	while (conn->tx.move.state == SMC_MOVE_IDLE) {
		write_due = tx_write_due(conn, more);
		if (!(write_due || tx_cdc_due(conn)) || !tx_push_one(conn, write_due) ||
		    !tx_has_work(conn))
			break;
	}
}

/**
 * smc_tx_send_first_locked() - Send the first message of a connection that is beside TCP
 * @conn: connection in INIT whose peer is set
 *
 * Without a slot, or while the link is held, the work of the connection runs when that has changed.
 *
 * Context: Any; caller holds conn->lock.
 * Return: false if it was not posted.
 */
bool smc_tx_send_first_locked(struct smc_conn *conn)
{
	struct smc_wr_slot *slot;

	lockdep_assert_held(&conn->lock);
	if (!smc_link_usable(conn->link) || tx_link_held(conn) || !tx_send_validation(conn))
		return false;
	slot = tx_get_slot(conn);
	return slot && tx_post_bare(conn, slot);
}

/**
 * smc_tx_push() - Post what may go
 * @conn: connection
 * @more: the caller will push again soon: small amounts may wait
 *
 * Context: Any; takes conn->lock.
 */
void smc_tx_push(struct smc_conn *conn, bool more)
{
	spin_lock_bh(&conn->lock);
	smc_tx_push_locked(conn, more);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_tx_fence_locked() - Have all requests completed as soon as the RNIC has executed them
 * @conn: connection
 *
 * For callers that wait until the peer's RNIC has acknowledged all bytes: the wait begins here, as
 * nobody has requested the acknowledgment before.
 *
 * Context: Any; caller holds conn->lock.
 */
void smc_tx_fence_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->tx.quiet)
		return;
	WRITE_ONCE(conn->tx.quiet, false);
	conn->tcpinfo.queued_at = jiffies;
	smc_qp_probe(conn->link->qp);
}

/**
 * smc_tx_fence() - As smc_tx_fence_locked()
 * @conn: connection
 *
 * Context: Any but hard interrupt; may take conn->lock.
 */
void smc_tx_fence(struct smc_conn *conn)
{
	if (!READ_ONCE(conn->tx.quiet))
		return;
	spin_lock_bh(&conn->lock);
	smc_tx_fence_locked(conn);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_tx_send_update_locked() - Send the consumer cursor to the peer
 * @conn: connection
 *
 * Context: Caller holds conn->lock.
 */
void smc_tx_send_update_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->tx.cons_due = true;
	smc_tx_push_locked(conn, false);
}

/**
 * smc_tx_send_flags_locked() - Send D, C or A as soon as possible
 * @conn: connection
 * @flags: SMC_CDC_S_*
 *
 * Ends an orderly move that has not happened yet.
 *
 * Context: Caller holds conn->lock.
 */
void smc_tx_send_flags_locked(struct smc_conn *conn, u8 flags)
{
	lockdep_assert_held(&conn->lock);
	conn->tx.state_due |= flags;
	/* an end does not wait for the move: stay on this link */
	smc_conn_move_step_locked(conn, SMC_MOVE_EV_END);
	smc_tx_push_locked(conn, false);
}

/**
 * smc_tx_retry() - Push again when the link has send slots
 * @conn: connection
 *
 * Context: Softirq or process; takes conn->lock.
 * Return: false if the connection has to wait again.
 */
bool smc_tx_retry(struct smc_conn *conn)
{
	bool served;

	if (!READ_ONCE(conn->tx.waiting))
		return true;
	spin_lock_bh(&conn->lock);
	if (conn->tx.waiting) {
		WRITE_ONCE(conn->tx.waiting, false);
		smc_tx_push_locked(conn, false);
		/* this may have been the last message: let the worker end the connection */
		if (conn->releasing || conn->state == SMC_CONN_PROCESSABORT ||
		    smc_conn_upgrade_go_waits(conn))
			smc_conn_queue_work(conn);
	}
	served = !conn->tx.waiting;
	spin_unlock_bh(&conn->lock);
	return served;
}
