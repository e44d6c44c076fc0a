// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of RMBEs lent to who reads the stream.
 *
 * A page that is lent has a reference more, and who reads it has nothing else of ours: no
 * callback, no memory of the connection, the group or the module. So it may stay out for as
 * long as it likes, go on to another pipe or socket, and outlive all of these. vfree() of its
 * region leaves it to who has the last reference.
 *
 * Until it is back the consumer cursor stays before its bytes (smc_ring_rx_lend()), and when the
 * connection ends before that, its element is nobody's. That a page is back nobody says: its
 * count is looked at by the next reading call or message, and where the peer needs the room, by
 * the connection's work.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/splice.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/splice.h>

/* A page that is out when its connection ends keeps an element: of a group no more than this. */
#define LENT_MAX	SZ_4M
#define LOOK_GAP_MIN	max_t(unsigned long, HZ / 1000, 1)
#define LOOK_GAP_MAX	(HZ / 10)

/*
 * Where pages are larger than elements a page is not one connection's alone. The writer of
 * urgent data waits until its byte is given back: nothing is lent that would keep it.
 */
static bool splice_may_lend(const struct smc_conn *conn, const struct smc_span *span, int n)
{
	u32 bytes = 0, pages = 0;
	int i;

	if (conn->rx.elem.size < PAGE_SIZE || conn->rx.urg.state != SMC_URGENT_NONE ||
	    READ_ONCE(conn->rx.elem.region->pool->lent) >= LENT_MAX)
		return false;
	for (i = 0; i < n; i++) {
		bytes += span[i].len;
		pages += DIV_ROUND_UP(offset_in_page(span[i].off) + span[i].len, PAGE_SIZE);
	}
	return bytes >= pages * SMC_CONN_PAGE_BYTES;
}

/* What of @span the descriptor has room for; bytes. */
static u32 splice_take_span(struct smc_conn *conn, const struct smc_span *span,
			    struct splice_pipe_desc *spd)
{
	struct partial_page *part;
	struct page *page;
	u32 done = 0;

	while (done < span->len && spd->nr_pages < spd->nr_pages_max) {
		page = smc_buf_page(conn->rx.elem.addr + span->off + done);
		get_page(page);
		part = &spd->partial[spd->nr_pages];
		part->offset = offset_in_page(span->off + done);
		part->len = min_t(u32, span->len - done, PAGE_SIZE - part->offset);
		done += part->len;
		spd->pages[spd->nr_pages++] = page;
	}
	return done;
}

/**
 * smc_lend_take_locked() - lend the next bytes of the stream
 * @conn: connection, conn->lock held
 * @span: where they are
 * @n: number of parts
 * @spd: gets the pages, behind those that it has
 *
 * Return: bytes, which are consumed; 0: @spd is full; -EOPNOTSUPP: they have to be copied.
 */
ssize_t smc_lend_take_locked(struct smc_conn *conn, const struct smc_span *span, int n,
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
	/* the spans are of what is readable, and the lock was not let go */
	if (done)
		WARN_ON_ONCE(smc_ring_rx_lend(&conn->rx.ring, done));
	WRITE_ONCE(conn->rx.elem.region->lends, true);
	conn->rx.poll_gap = LOOK_GAP_MIN;
	smc_stats_add(conn->net, SMC_STAT_RX_LEND_PAGES, spd->nr_pages - had);
	return done;
}

/**
 * smc_lend_look_locked() - is what was lent back?
 * @conn: connection, conn->lock held
 * @timed: it was time to look: next time later, if nothing is
 *
 * Return: true if the consumer cursor has moved.
 */
bool smc_lend_look_locked(struct smc_conn *conn, bool timed)
{
	struct smc_conn_rx *rx = &conn->rx;
	bool some = false;
	u32 off, n;

	lockdep_assert_held(&conn->lock);
	while ((n = smc_ring_rx_out(&rx->ring, &off))) {
		if (smc_buf_page_out(rx->elem.addr + off))
			break;
		smc_ring_rx_give_back(&rx->ring, min_t(u32, n, PAGE_SIZE - offset_in_page(off)));
		some = true;
	}
	if (some)
		smp_mb();	/* pairs with put_page(): who let go has read before */
	if (!smc_ring_rx_starved(&rx->ring))
		return some;
	if (some)
		rx->poll_gap = LOOK_GAP_MIN;
	else if (timed)
		rx->poll_gap = min(2 * rx->poll_gap, (unsigned long)LOOK_GAP_MAX);
	smc_conn_kick_by(conn, rx->poll_gap);
	return some;
}
