// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the RMBE lent to the reader (splice() with SMC_OWN_SPLICE_LEND, decision 0016).
 *
 * Each lent page holds one extra reference; the reader pins nothing else: no callback, no memory of
 * the connection, the group or the module. So a page may be kept for as long as the reader likes,
 * go on to another pipe or socket, and outlive all of these: vfree() of the region leaves it to the
 * holder of the last reference.
 *
 * Until the page is returned the consumer cursor stays before its bytes (smc_ring_rx_lend()). If
 * the connection ends before that, its element stays out of use. No event reports that a page is
 * returned: its reference count is polled by the next read or message and, where the peer needs the
 * room, by the connection's work.
 */
#include <linux/mm.h>
#include <linux/splice.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/splice.h>
#include "timers.h"

/*
 * Return whether bytes may be lent. Where pages are larger than elements, a page belongs to several
 * connections. While urgent data is pending the writer waits for its byte to be consumed, so
 * nothing is lent that would delay that. Pages must hold enough bytes each, see
 * SMC_CONN_PAGE_BYTES.
 */
static bool splice_may_lend(const struct smc_conn *conn, const struct smc_ring_span *span, int n)
{
	u32 bytes = 0, pages = 0;
	int i;

	if (conn->rx.elem.size < PAGE_SIZE || conn->rx.urg.state != SMC_URGENT_NONE)
		return false;
	for (i = 0; i < n; i++) {
		bytes += span[i].len;
		pages += DIV_ROUND_UP(offset_in_page(span[i].off) + span[i].len, PAGE_SIZE);
	}
	return bytes >= pages * SMC_CONN_PAGE_BYTES;
}

/* Add pages of @span to @spd as long as it has room; returns bytes. */
static u32 splice_take_span(struct smc_conn *conn, const struct smc_ring_span *span,
			    struct splice_pipe_desc *spd)
{
	struct partial_page *part;
	struct page *page;
	u32 done = 0;

	while (done < span->len && spd->nr_pages < spd->nr_pages_max) {
		page = smc_region_page(conn->rx.elem.addr + span->off + done);
		get_page(page);
		part = &spd->partial[spd->nr_pages];
		part->offset = offset_in_page(span->off + done);
		part->len = min_t(u32, span->len - done, PAGE_SIZE - part->offset);
		done += part->len;
		spd->pages[spd->nr_pages++] = page;
	}
	return done;
}

/* Take back the pages of @spd behind the first @had ones. */
static void splice_take_back(struct splice_pipe_desc *spd, unsigned int had)
{
	while (spd->nr_pages > had)
		put_page(spd->pages[--spd->nr_pages]);
}

/**
 * smc_splice_lend_locked() - Lend the next bytes of the stream
 * @conn: connection
 * @span: parts of the RMBE that hold the bytes
 * @n: number of parts
 * @spd: gets the pages, after those that it has; each with a reference for the reader
 *
 * The bytes count as consumed by the application.
 *
 * Context: Caller holds conn->lock.
 * Return: bytes; 0 if @spd is full; -EOPNOTSUPP if the bytes have to be copied.
 */
ssize_t smc_splice_lend_locked(struct smc_conn *conn, const struct smc_ring_span *span, int n,
			       struct splice_pipe_desc *spd)
{
	unsigned int had = spd->nr_pages;
	u32 done = 0;
	int i;

	lockdep_assert_held(&conn->lock);
	if (!splice_may_lend(conn, span, n))
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++)
		done += splice_take_span(conn, &span[i], spd);
	if (!done)
		return 0;
	/* after the references, which the pool may look at from then on */
	if (!smc_elem_note_lent(&conn->rx.elem)) {
		splice_take_back(spd, had);
		return -EOPNOTSUPP;
	}
	/* the spans are readable bytes, and the lock was not dropped */
	WARN_ON_ONCE(smc_ring_rx_lend(&conn->rx.ring, done));
	smc_conn_timer_pages_lent(conn);
	smc_stats_add(conn->net, SMC_STAT_RX_LEND_PAGES, spd->nr_pages - had);
	return done;
}

/**
 * smc_splice_poll_lent_locked() - Poll lent pages
 * @conn: connection
 * @timed: called by the connection's work: increase the interval if no page is returned
 *
 * If the peer needs the room, queues the connection's work to poll again.
 *
 * Context: Caller holds conn->lock.
 * Return: true if the consumer cursor has moved.
 */
bool smc_splice_poll_lent_locked(struct smc_conn *conn, bool timed)
{
	struct smc_conn_rx *rx = &conn->rx;
	bool some = false;
	u32 off, n;

	lockdep_assert_held(&conn->lock);
	while ((n = smc_ring_rx_get_lent(&rx->ring, &off))) {
		if (smc_region_page_is_lent(rx->elem.addr + off))
			break;
		smc_ring_rx_return(&rx->ring, min_t(u32, n, PAGE_SIZE - offset_in_page(off)));
		some = true;
	}
	if (some)
		smp_mb();	/* pairs with put_page(): all reads come before a WRITE */
	if (some && !n)
		smc_elem_note_returned(&rx->elem);
	if (smc_ring_rx_starved(&rx->ring))
		smc_conn_timer_pages_polled(conn, some, timed);
	return some;
}
