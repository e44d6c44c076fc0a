// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zero-copy sending: pages of the application in the stream (decision 0016).
 *
 * A run is a range of the stream whose bytes lie in pages outside the send ring (MSG_ZEROCOPY,
 * sendfile(), splice()). It uses room of the ring nevertheless, so that positions, windows and the
 * end of a WRITE mean the same as for copied bytes, and bytes that a device cannot read from their
 * pages can be copied to the ring at any time.
 *
 * Lifetime: a run holds references on its pages until all its bytes are completed, that is, not
 * written again by any failover, or until the connection sends nothing more and no request is in
 * flight. It is mapped for the device of the present link from its first post until no request of
 * the connection is in flight. A link is drained before a connection moves away and before it ends,
 * so no mapping outlives its device.
 */
#include <linux/bvec.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <compat/zcopy.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/link.h>
#include <smc/rdma/wr.h>
#include "timers.h"

#define ZEROCOPY_RUN_PAGES	64	/* pages of one run: keeps allocations small */
#define ZEROCOPY_BATCH		16

/**
 * struct smc_zerocopy_page - one piece of a run
 * @page: reference held
 * @dma: address for the device, while the run is mapped
 * @off: offset of the first byte in the page
 * @len: bytes
 */
struct smc_zerocopy_page {
	struct page *page;
	u64 dma;
	u32 off;
	u32 len;
};

/**
 * struct smc_zerocopy_run - range of the stream whose bytes lie in pages
 * @entry: in conn->tx.runs, ordered by position, or in conn->tx.runs_done
 * @pos: position in the stream
 * @len: bytes
 * @npages: number of pieces
 * @uarg: reference held; notified when the pages are free; may be NULL
 * @ibdev: device that the run is mapped for, or NULL
 * @copied: the bytes were copied to the ring
 * @page: the pieces
 */
struct smc_zerocopy_run {
	struct list_head entry;
	u64 pos;
	u32 len;
	u32 npages;
	struct ubuf_info *uarg;
	struct ib_device *ibdev;
	bool copied;
	struct smc_zerocopy_page page[];
};

/* Passed to zero-copy completions, which want the skb that was sent: here there is none. */
static struct sk_buff *zerocopy_no_skb;

/* ---- pages of the application ---- */

/* Check for pages without reference counts (slab) among those taken next. */
static bool zerocopy_pages_ok(const struct iov_iter *from)
{
	const struct bio_vec *bv = from->bvec;
	size_t at = bv->bv_offset + from->iov_offset;
	size_t end = at + min_t(size_t, bv->bv_len - from->iov_offset, ZEROCOPY_BATCH * PAGE_SIZE);
	size_t i;

	for (i = at / PAGE_SIZE; i < DIV_ROUND_UP(end, PAGE_SIZE); i++)
		if (!sendpage_ok(bv->bv_page + i))
			return false;
	return true;
}

/* Take further pages; returns bytes, 0 or -errno if there are none. */
static ssize_t zerocopy_take_pages(struct smc_zerocopy_run *run, struct iov_iter *from, u32 max)
{
	struct page *pages[ZEROCOPY_BATCH];
	struct smc_zerocopy_page *p;
	size_t start, left;
	ssize_t got;
	u32 i;

	if (iov_iter_is_bvec(from) && !zerocopy_pages_ok(from))
		return -EOPNOTSUPP;
	got = smc_fault_rc(ZC_PAGES, -EFAULT,
			   iov_iter_get_pages2(from, pages, iov_iter_count(from),
					       min_t(u32, max - run->npages, ZEROCOPY_BATCH),
					       &start));
	for (i = 0, left = max_t(ssize_t, got, 0); left; i++) {
		p = &run->page[run->npages++];
		p->page = pages[i];
		p->off = start;
		p->len = min_t(size_t, left, PAGE_SIZE - start);
		left -= p->len;
		start = 0;
	}
	return got;
}

static void zerocopy_put_pages(struct smc_zerocopy_run *run)
{
	while (run->npages)
		put_page(run->page[--run->npages].page);
}

/**
 * smc_zerocopy_take_pages() - Take the pages of the next bytes
 * @from: bytes of the application, or pages passed by the caller
 * @len: maximum number of bytes
 * @uarg: notified when the pages are free, or NULL; the run takes a reference
 *
 * May take less than @len.
 *
 * Context: Process, sleeps.
 * Return: the run with references on its pages, or ERR_PTR with @from unchanged if the bytes have
 * to be copied: -EOPNOTSUPP, -ENOMEM, -EFAULT.
 */
struct smc_zerocopy_run *smc_zerocopy_take_pages(struct iov_iter *from, u32 len,
						 struct ubuf_info *uarg)
{
	size_t rest = iov_iter_count(from) - len;
	struct smc_zerocopy_run *run;
	ssize_t rc = 0;
	u32 max;

	/* the CPU must be able to copy the bytes later, in any context */
	if (IS_ENABLED(CONFIG_HIGHMEM) || !(user_backed_iter(from) || iov_iter_is_bvec(from)))
		return ERR_PTR(-EOPNOTSUPP);
	iov_iter_truncate(from, len);
	max = iov_iter_npages(from, ZEROCOPY_RUN_PAGES);
	run = smc_fault_null(ZC_RUN, kzalloc(struct_size(run, page, max), GFP_KERNEL_ACCOUNT));
	if (!run)
		rc = -ENOMEM;
	while (run && run->npages < max && iov_iter_count(from)) {
		rc = zerocopy_take_pages(run, from, max);
		if (rc <= 0)
			break;
		run->len += rc;
	}
	iov_iter_reexpand(from, iov_iter_count(from) + rest);
	if (run && run->len < run->npages * SMC_CONN_PAGE_BYTES) {
		iov_iter_revert(from, run->len);
		zerocopy_put_pages(run);
		run->len = 0;
		rc = -EOPNOTSUPP;
	}
	if (run && run->len) {
		run->uarg = uarg;
		if (uarg)
			net_zcopy_get(uarg);
		return run;
	}
	kfree(run);
	return ERR_PTR(rc ?: -EFAULT);
}

/**
 * smc_zerocopy_get_len() - Return the length of a run
 * @run: run
 *
 * Return: bytes.
 */
u32 smc_zerocopy_get_len(const struct smc_zerocopy_run *run)
{
	return run->len;
}

/**
 * smc_zerocopy_free() - Free a run
 * @run: run that is in no list and not mapped
 *
 * Drops its pages and notifies the application.
 *
 * Context: Any but hard interrupt; no lock held.
 */
void smc_zerocopy_free(struct smc_zerocopy_run *run)
{
	zerocopy_put_pages(run);
	if (run->uarg)
		smc_compat_zerocopy_put(zerocopy_no_skb, run->uarg, !run->copied);
	kfree(run);
}

/* ---- runs in the stream ---- */

/**
 * smc_zerocopy_add_locked() - Append a run to the stream
 * @conn: connection
 * @run: run; the ring has room for its bytes, which the caller takes next
 *
 * Context: Caller holds conn->lock.
 */
void smc_zerocopy_add_locked(struct smc_conn *conn, struct smc_zerocopy_run *run)
{
	lockdep_assert_held(&conn->lock);
	run->pos = conn->tx.ring.prepared;
	list_add_tail(&run->entry, &conn->tx.runs);
}

static void zerocopy_unmap_pages(struct smc_zerocopy_run *run, struct ib_device *ibdev, u32 n)
{
	while (n--)
		ib_dma_unmap_page(ibdev, run->page[n].dma, run->page[n].len, DMA_TO_DEVICE);
}

static void zerocopy_unmap_run(struct smc_zerocopy_run *run)
{
	if (run->ibdev)
		zerocopy_unmap_pages(run, run->ibdev, run->npages);
	run->ibdev = NULL;
}

static bool zerocopy_map_run(struct smc_zerocopy_run *run, struct ib_device *ibdev)
{
	struct smc_zerocopy_page *p;
	u32 i;

	for (i = 0; i < run->npages; i++) {
		p = &run->page[i];
		if (smc_fault_hit(SMC_FAULT_ZC_MAP))
			break;
		p->dma = ib_dma_map_page(ibdev, p->page, p->off, p->len, DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ibdev, p->dma))
			break;
	}
	if (i < run->npages) {
		zerocopy_unmap_pages(run, ibdev, i);
		return false;
	}
	run->ibdev = ibdev;
	return true;
}

static void zerocopy_end_run(struct smc_conn *conn, struct smc_zerocopy_run *run)
{
	zerocopy_unmap_run(run);
	list_move_tail(&run->entry, &conn->tx.runs_done);
}

/* Copy @len bytes at @from to stream position @pos of the ring. */
static void zerocopy_copy_to_ring(struct smc_conn *conn, u64 pos, const u8 *from, u32 len)
{
	u32 size = conn->tx.ring.size;
	u32 at = (u32)pos & (size - 1);
	u32 first = min(len, size - at);

	memcpy(conn->tx.elem.addr + at, from, first);
	memcpy(conn->tx.elem.addr, from + first, len - first);
}

/*
 * Copy a run to the ring because the device cannot map its pages. Bytes that are completed are
 * skipped: their room in the ring holds later bytes by now.
 */
static void zerocopy_run_to_ring(struct smc_conn *conn, struct smc_zerocopy_run *run)
{
	u64 pos = run->pos;
	u32 i, skip;

	for (i = 0; i < run->npages; i++) {
		const struct smc_zerocopy_page *p = &run->page[i];

		skip = pos < conn->tx.ring.completed ?
		       min_t(u64, conn->tx.ring.completed - pos, p->len) : 0;
		zerocopy_copy_to_ring(conn, pos + skip, page_address(p->page) + p->off + skip,
				      p->len - skip);
		pos += p->len;
	}
	run->copied = true;
	smc_stats_add(conn->net, SMC_STAT_TX_ZC_COPIED, run->len);
	zerocopy_end_run(conn, run);
	smc_conn_queue_work(conn);
}

/* Find the run with the byte at @pos, or the first one behind it. */
static struct smc_zerocopy_run *zerocopy_find_run(const struct smc_conn *conn, u64 pos)
{
	struct smc_zerocopy_run *run;

	list_for_each_entry(run, &conn->tx.runs, entry)
		if (run->pos + run->len > pos)
			return run;
	return NULL;
}

/**
 * smc_zerocopy_get_piece_locked() - Find out where the bytes at a position lie
 * @conn: connection with a usable link; a request for the bytes follows at once
 * @pos: position, not posted yet or rewound
 * @len: maximum number of bytes; set to the number that lies there in one piece
 * @sge: filled in if the bytes lie in a page
 *
 * Maps the run for the device of the link. If that fails the run is copied to the ring.
 *
 * Context: Caller holds conn->lock.
 * Return: false if the bytes lie in the send ring.
 */
bool smc_zerocopy_get_piece_locked(struct smc_conn *conn, u64 pos, u32 *len, struct ib_sge *sge)
{
	const struct smc_qp *qp = conn->link->qp;
	const struct smc_zerocopy_page *p;
	struct smc_zerocopy_run *run;
	u32 skip;

	lockdep_assert_held(&conn->lock);
	for (;;) {
		run = zerocopy_find_run(conn, pos);
		if (!run)
			return false;
		if (pos < run->pos) {
			*len = min_t(u64, *len, run->pos - pos);
			return false;
		}
		if (run->ibdev || zerocopy_map_run(run, qp->dev->ibdev))
			break;
		zerocopy_run_to_ring(conn, run);
	}
	skip = pos - run->pos;
	for (p = run->page; skip >= p->len; p++)
		skip -= p->len;
	*len = min(*len, p->len - skip);
	sge->addr = p->dma + skip;
	sge->length = *len;
	sge->lkey = qp->pd->local_dma_lkey;
	return true;
}

/*
 * Return whether no request will read the run again: its bytes are completed, or discarded and
 * never sent (purge), or the connection has ended, so that a failover writes nothing again.
 */
static bool zerocopy_run_over(const struct smc_conn *conn, const struct smc_zerocopy_run *run)
{
	const struct smc_ring_tx *ring = &conn->tx.ring;

	return run->pos + run->len <= ring->completed ||
	       run->pos >= max(ring->prepared, ring->sent_max) ||
	       (!conn->tx.inflight && !smc_conn_state_may_cdc(conn->state));
}

/**
 * smc_zerocopy_settle_locked() - Set finished runs aside and unmap what no request reads
 * @conn: connection
 *
 * Called when positions have moved or a request has completed. The caller calls
 * smc_zerocopy_flush() after dropping the lock.
 *
 * Context: Caller holds conn->lock.
 */
void smc_zerocopy_settle_locked(struct smc_conn *conn)
{
	struct smc_zerocopy_run *run, *next;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry_safe(run, next, &conn->tx.runs, entry) {
		if (zerocopy_run_over(conn, run))
			zerocopy_end_run(conn, run);
		else if (!conn->tx.inflight)
			zerocopy_unmap_run(run);
	}
}

/**
 * smc_zerocopy_settle_later_locked() - As smc_zerocopy_settle_locked(), flushed by the connection's
 * work
 * @conn: connection
 *
 * For callers that cannot flush.
 *
 * Context: Caller holds conn->lock.
 */
void smc_zerocopy_settle_later_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	smc_zerocopy_settle_locked(conn);
	if (!list_empty(&conn->tx.runs_done))
		smc_conn_queue_work(conn);
}

/* ---- end of runs ---- */

/**
 * smc_zerocopy_flush() - Free the runs that were set aside
 * @conn: connection
 *
 * Context: Any but hard interrupt; no lock held; takes conn->lock.
 */
void smc_zerocopy_flush(struct smc_conn *conn)
{
	struct smc_zerocopy_run *run, *next;
	LIST_HEAD(list);

	if (list_empty_careful(&conn->tx.runs_done))
		return;
	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->tx.runs_done, &list);
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(run, next, &list, entry)
		smc_zerocopy_free(run);
}

/**
 * smc_zerocopy_free_all() - Free all runs
 * @conn: connection without references, so without requests: no run is mapped
 *
 * Context: Process.
 */
void smc_zerocopy_free_all(struct smc_conn *conn)
{
	struct smc_zerocopy_run *run, *next;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(run, next, &conn->tx.runs, entry) {
		WARN_ON_ONCE(run->ibdev);
		zerocopy_end_run(conn, run);
	}
	spin_unlock_bh(&conn->lock);
	smc_zerocopy_flush(conn);
}

/**
 * smc_zerocopy_init() - Set up zero-copy sending
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_zerocopy_init(void)
{
	zerocopy_no_skb = smc_fault_null(ZC_PACKET, alloc_skb(0, GFP_KERNEL));
	return zerocopy_no_skb ? 0 : -ENOMEM;
}

/** smc_zerocopy_exit() - Undo smc_zerocopy_init(); no connection exists any more */
void smc_zerocopy_exit(void)
{
	kfree_skb(zerocopy_no_skb);
}
