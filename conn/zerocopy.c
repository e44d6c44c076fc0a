// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the application in the stream.
 *
 * A run of bytes of the stream may lie in pages of somebody else (MSG_ZEROCOPY, sendfile(),
 * splice()) instead of the send ring, of which it takes up room nevertheless: positions,
 * windows and the end of a WRITE mean the same for it. So bytes that could not be left where
 * they are find room in the ring at any time.
 *
 * Lifetime: a run holds references on its pages until all of it is completed, which is behind
 * the furthest point to which a link change can rewind, or until the connection will send
 * nothing any more and no request is unfinished. It is mapped for the device of the present
 * link as long as requests may read it: from its first post to the moment at which none is
 * unfinished. A link is drained before it is left or ends, so no mapping outlives its device.
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

#define ZEROCOPY_RUN_PAGES	64	/* in one run: no large pieces of memory */
#define ZEROCOPY_BATCH		16

/**
 * struct smc_zc_page - part of a run
 * @page: reference held
 * @dma: address for the device, while the run is mapped
 * @off: first byte in the page
 * @len: bytes
 */
struct smc_zc_page {
	struct page *page;
	u64 dma;
	u32 off;
	u32 len;
};

/**
 * struct smc_zc_run - bytes of the stream that lie in pages
 * @entry: in the connection's list, by position, or among those that are over
 * @pos: position in the stream
 * @len: bytes
 * @npages: parts
 * @uarg: reference held; told when the pages are free; NULL: nobody is
 * @ibdev: device it is mapped for; NULL: it is not
 * @copied: its bytes have moved to the ring
 * @page: the parts
 */
struct smc_zc_run {
	struct list_head entry;
	u64 pos;
	u32 len;
	u32 npages;
	struct ubuf_info *uarg;
	struct ib_device *ibdev;
	bool copied;
	struct smc_zc_page page[];
};

/* Where a completion wants the packet that has left: there is none. */
static struct sk_buff *zerocopy_no_skb;

/* ---- from the application ---- */

/* Pages of slabs have no references of their own. Those that are next, not all there are. */
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

/* Some more pages; bytes, 0 or -errno if there are none. */
static ssize_t zerocopy_take_pages(struct smc_zc_run *run, struct iov_iter *from, u32 max)
{
	struct page *pages[ZEROCOPY_BATCH];
	struct smc_zc_page *p;
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

static void zerocopy_put_pages(struct smc_zc_run *run)
{
	while (run->npages)
		put_page(run->page[--run->npages].page);
}

/**
 * smc_zcopy_take() - get hold of the pages of the next bytes
 * @from: bytes of the application, or pages that were given to us
 * @len: at most so many
 * @uarg: to be told when the pages are free, or NULL
 *
 * Process context. May take less than @len.
 *
 * Return: the run, or ERR_PTR(), @from where it was: the bytes are to be copied.
 */
struct smc_zc_run *smc_zcopy_take(struct iov_iter *from, u32 len, struct ubuf_info *uarg)
{
	size_t rest = iov_iter_count(from) - len;
	struct smc_zc_run *run;
	ssize_t rc = 0;
	u32 max;

	/* the CPU must be able to copy them later, in any context */
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
 * smc_zcopy_len() - length of a run
 * @run: run
 *
 * Return: bytes.
 */
u32 smc_zcopy_len(const struct smc_zc_run *run)
{
	return run->len;
}

/**
 * smc_zcopy_free() - let go of a run
 * @run: run that is not in a list, and not mapped
 *
 * Any context but hard interrupt, no lock held: the application may be told.
 */
void smc_zcopy_free(struct smc_zc_run *run)
{
	zerocopy_put_pages(run);
	if (run->uarg)
		compat_zerocopy_put(zerocopy_no_skb, run->uarg, !run->copied);
	kfree(run);
}

/* ---- in the stream ---- */

/**
 * smc_zcopy_add_locked() - a run is what follows in the stream
 * @conn: connection, conn->lock held
 * @run: run; for its bytes there is room in the ring, which the caller takes next
 */
void smc_zcopy_add_locked(struct smc_conn *conn, struct smc_zc_run *run)
{
	lockdep_assert_held(&conn->lock);
	run->pos = conn->tx.ring.prepared;
	list_add_tail(&run->entry, &conn->tx.runs);
}

/**
 * smc_zcopy_none() - is all of the stream in the ring?
 * @conn: connection, conn->lock held
 *
 * Return: true if so.
 */
bool smc_zcopy_none(const struct smc_conn *conn)
{
	return list_empty(&conn->tx.runs);
}

static void zerocopy_unmap_pages(struct smc_zc_run *run, struct ib_device *ibdev, u32 n)
{
	while (n--)
		ib_dma_unmap_page(ibdev, run->page[n].dma, run->page[n].len, DMA_TO_DEVICE);
}

static void zerocopy_unmap_run(struct smc_zc_run *run)
{
	if (run->ibdev)
		zerocopy_unmap_pages(run, run->ibdev, run->npages);
	run->ibdev = NULL;
}

static bool zerocopy_map_run(struct smc_zc_run *run, struct ib_device *ibdev)
{
	struct smc_zc_page *p;
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

static void zerocopy_end_run(struct smc_conn *conn, struct smc_zc_run *run)
{
	zerocopy_unmap_run(run);
	list_move_tail(&run->entry, &conn->tx.runs_done);
}

/* Bytes @off .. @off + @len of a page to position @pos of the ring. */
static void zerocopy_copy_to_ring(struct smc_conn *conn, u64 pos, const u8 *from, u32 len)
{
	u32 size = conn->tx.ring.size;
	u32 at = (u32)pos & (size - 1);
	u32 first = min(len, size - at);

	memcpy(conn->tx.elem.addr + at, from, first);
	memcpy(conn->tx.elem.addr, from + first, len - first);
}

/*
 * The device cannot have the pages. What of the run is completed already has no room in the
 * ring any more: there is something else by now.
 */
static void zerocopy_run_to_ring(struct smc_conn *conn, struct smc_zc_run *run)
{
	u64 pos = run->pos;
	u32 i, skip;

	for (i = 0; i < run->npages; i++) {
		const struct smc_zc_page *p = &run->page[i];

		skip = pos < conn->tx.ring.completed ?
		       min_t(u64, conn->tx.ring.completed - pos, p->len) : 0;
		zerocopy_copy_to_ring(conn, pos + skip, page_address(p->page) + p->off + skip,
				      p->len - skip);
		pos += p->len;
	}
	run->copied = true;
	smc_stats_add(conn->net, SMC_STAT_TX_ZC_COPIED, run->len);
	zerocopy_end_run(conn, run);
	smc_conn_kick(conn, 0);
}

/* The run that has the byte at @pos, or the first one behind it. */
static struct smc_zc_run *zerocopy_find_run(const struct smc_conn *conn, u64 pos)
{
	struct smc_zc_run *run;

	list_for_each_entry(run, &conn->tx.runs, entry)
		if (run->pos + run->len > pos)
			return run;
	return NULL;
}

/**
 * smc_zcopy_piece_locked() - where the bytes at a position are
 * @conn: connection with a usable link, conn->lock held; a request follows at once
 * @pos: position, not yet posted, or rewound
 * @len: at most so many bytes; set to how many lie there in one piece
 * @sge: filled if they lie in a page
 *
 * Return: false if they are in the send ring.
 */
bool smc_zcopy_piece_locked(struct smc_conn *conn, u64 pos, u32 *len, struct ib_sge *sge)
{
	const struct smc_qp *qp = conn->link->qp;
	const struct smc_zc_page *p;
	struct smc_zc_run *run;
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
 * Will nobody read it again? Not if it is completed, or thrown away unsent (purge), or if
 * an end has made sending pointless: repeat() in conn/failover.c writes nothing again then.
 */
static bool zerocopy_run_over(const struct smc_conn *conn, const struct smc_zc_run *run)
{
	const struct smc_ring_tx *ring = &conn->tx.ring;

	return run->pos + run->len <= ring->completed || run->pos >= ring->prepared ||
	       (!conn->tx.inflight && !smc_conn_state_may_cdc(conn->state));
}

/**
 * smc_zcopy_settle_locked() - positions have moved, or a request has ended
 * @conn: connection, conn->lock held
 *
 * smc_zcopy_flush() has to follow.
 */
void smc_zcopy_settle_locked(struct smc_conn *conn)
{
	struct smc_zc_run *run, *next;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry_safe(run, next, &conn->tx.runs, entry) {
		if (zerocopy_run_over(conn, run))
			zerocopy_end_run(conn, run);
		else if (!conn->tx.inflight)
			zerocopy_unmap_run(run);
	}
}

/**
 * smc_zcopy_settle_later_locked() - the same where nobody can flush
 * @conn: connection, conn->lock held
 *
 * The connection's work flushes, if there is anything to be given back.
 */
void smc_zcopy_settle_later_locked(struct smc_conn *conn)
{
	smc_zcopy_settle_locked(conn);
	if (!list_empty(&conn->tx.runs_done))
		smc_conn_kick(conn, 0);
}

/* ---- and out of it ---- */

/**
 * smc_zcopy_flush() - give back what was put aside
 * @conn: connection, conn->lock not held
 *
 * Any context but hard interrupt.
 */
void smc_zcopy_flush(struct smc_conn *conn)
{
	struct smc_zc_run *run, *next;
	LIST_HEAD(list);

	if (list_empty_careful(&conn->tx.runs_done))
		return;
	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->tx.runs_done, &list);
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(run, next, &list, entry)
		smc_zcopy_free(run);
}

/**
 * smc_zcopy_end() - give back all
 * @conn: connection that nobody has a reference on, so no request either: nothing is mapped
 */
void smc_zcopy_end(struct smc_conn *conn)
{
	struct smc_zc_run *run, *next;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(run, next, &conn->tx.runs, entry) {
		WARN_ON_ONCE(run->ibdev);
		zerocopy_end_run(conn, run);
	}
	spin_unlock_bh(&conn->lock);
	smc_zcopy_flush(conn);
}

/**
 * smc_zcopy_init() - set up
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_zcopy_init(void)
{
	zerocopy_no_skb = smc_fault_null(ZC_PACKET, alloc_skb(0, GFP_KERNEL));
	return zerocopy_no_skb ? 0 : -ENOMEM;
}

/** smc_zcopy_exit() - undo smc_zcopy_init(); no connection is left */
void smc_zcopy_exit(void)
{
	kfree_skb(zerocopy_no_skb);
}
