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
static bool may_lend(const struct smc_conn *conn, const struct smc_span *span, int n)
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
static u32 take_span(struct smc_conn *conn, const struct smc_span *span,
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
	if (!may_lend(conn, span, n))
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++)
		done += take_span(conn, &span[i], spd);
	/* the spans are of what is readable, and the lock was not let go */
	if (done)
		WARN_ON_ONCE(smc_ring_rx_lend(&conn->rx.ring, done));
	WRITE_ONCE(conn->rx.elem.region->lends, true);
	conn->rx.look_gap = LOOK_GAP_MIN;
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
		rx->look_gap = LOOK_GAP_MIN;
	else if (timed)
		rx->look_gap = min(2 * rx->look_gap, (unsigned long)LOOK_GAP_MAX);
	smc_conn_kick_by(conn, rx->look_gap);
	return some;
}

/* ---- elements that come back before their pages ---- */

static bool elem_out(const struct smc_elem *elem)
{
	bool out = false;
	u32 off;

	if (!READ_ONCE(elem->region->lends))
		return false;
	for (off = 0; off < elem->size && !out; off += PAGE_SIZE)
		out = smc_buf_page_out(elem->addr + off);
	smp_mb();	/* as in smc_lend_look_locked() */
	return out;
}

/* pool->mutex held: the region stays. */
static bool reap_region(struct smc_region *region)
{
	struct smc_elem elem;
	bool some = false;
	u32 i;

	for_each_set_bit(i, region->lent, region->nelem) {
		elem.region = region;
		elem.index = i + 1;
		elem.size = region->elem_size;
		elem.addr = region->vaddr + (size_t)i * elem.size;
		if (elem_out(&elem))
			continue;
		spin_lock_bh(&region->pool->lock);
		__clear_bit(i, region->lent);
		WRITE_ONCE(region->pool->lent, region->pool->lent - elem.size);
		spin_unlock_bh(&region->pool->lock);
		smc_buf_give(region->pool, &elem, false);
		some = true;
	}
	return some;
}

/* pool->mutex held. */
static bool reap(struct smc_pool *pool)
{
	struct smc_region *region;
	bool some = false;

	list_for_each_entry(region, &pool->regions[SMC_BUF_RMB], entry)
		some |= reap_region(region);
	return some;
}

/**
 * smc_lend_give() - give an element back, pages of which may be lent
 * @pool: pool
 * @elem: element that is not empty; empty afterwards
 * @quarantine: the peer may still write into it
 *
 * If they are the element stays out of use until smc_lend_reap(), or until the next one that is
 * given back. Process context.
 */
void smc_lend_give(struct smc_pool *pool, struct smc_elem *elem, bool quarantine)
{
	/* not worth waiting for: a device may be registering memory */
	if (READ_ONCE(pool->lent) && mutex_trylock(&pool->mutex)) {
		reap(pool);
		mutex_unlock(&pool->mutex);
	}
	if (quarantine || !elem_out(elem)) {
		smc_buf_give(pool, elem, quarantine);
		return;
	}
	spin_lock_bh(&pool->lock);
	__set_bit(elem->index - 1, elem->region->lent);
	WRITE_ONCE(pool->lent, pool->lent + elem->size);
	spin_unlock_bh(&pool->lock);
	elem->region = NULL;
	elem->addr = NULL;
}

/**
 * smc_lend_reap() - take elements back all pages of which have come back
 * @pool: pool
 *
 * Process context.
 *
 * Return: true if there was one.
 */
bool smc_lend_reap(struct smc_pool *pool)
{
	bool some;

	/* that mutex is held while a device registers memory */
	if (!READ_ONCE(pool->lent))
		return false;
	mutex_lock(&pool->mutex);
	some = reap(pool);
	mutex_unlock(&pool->mutex);
	return some;
}
