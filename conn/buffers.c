// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a connection: a send ring and an RMBE out of the pool of its group. If no element of
 * the size is free, the pool grows by a region, which is mapped and registered on every link and,
 * if it is an RMB, announced to the peer by CONFIRM RKEY (RFC 7609 section 3.5.5.2.1).
 *
 * Where there is plenty of memory the first send ring is small: most of many connections are idle.
 * The first write that needs more takes a ring of full size. A connection that turns out to send a
 * stream gets a bigger one: its writer and the RNIC then wait for each other less often. Others do
 * not need the memory.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/rdma/ib.h>
#include <smc/rdma/region.h>
#include "timers.h"

/* Attempts: another connection may take an element of the region that this one has added. */
#define TAKE_TRIES	8
/* A connection waits this long for memory, whichever connection adds it. */
#define TAKE_TIME	(10 * HZ)
/* A send ring that is full grows if so many times its size was sent in this time: to a multiple. */
#define GROW_AFTER	8
#define GROW_WITHIN	HZ
#define GROW_TIMES	4
/*
 * A ring that another work or a lost link kept from growing tries again. So does a first ring for
 * which there was no memory: each pause is twice the one before, for so many attempts.
 */
#define GROW_AGAIN	(HZ / 10)
#define GROW_FAILED_MAX	5
/*
 * Who cannot leave the first ring because another work adds a region comes again about within this
 * time, to find an element of that region, or to add the next one.
 */
#define GROW_BUSY	(HZ / 100)
/* From the end of a first contact until the group gets memory for the next connections. */
#define STOCK_DELAY	(HZ / 50)
/*
 * To announce an RMB, all in all. A CLC message follows, and foreign peers wait 6 s for that before
 * they reset the connection.
 */
#define CONFIRM_TIME	(5 * HZ)
/*
 * The same, and the wait for memory, if the peer waits longer. Where packets are reordered or lost,
 * all that was sent before CONFIRM RKEY or its response may have to be repeated several times.
 */
#define CONFIRM_LONG	(22 * HZ)

/**
 * struct conn_supply - conditions under which a new connection gets memory
 * @link: link of the connection, which needs the memory
 * @announce: new regions are registered and announced at once
 * @patient: the peer waits for our CLC message until shortly after @deadline
 * @need: how much is done for new regions
 * @cancel: set when the connection is not wanted any more
 * @deadline: jiffies
 */
struct conn_supply {
	struct smc_link *link;
	bool announce;
	bool patient;
	enum smc_region_need need;
	const bool *cancel;
	unsigned long deadline;
};

/*
 * Map a region for one link of the group, and register it if it is announced at once. An error on
 * a link that is ending is ignored, unless the new connection uses this link.
 */
static int conn_region_to_link(struct smc_region *region, struct smc_link *link,
			       const struct conn_supply *supply)
{
	int rc;

	rc = smc_region_map(region, link->slot, link->qp);
	/* a link that is being set up registers all regions when it becomes usable */
	if (!rc && supply->announce && smc_link_usable(link)) {
		rc = smc_region_register(region, link->slot);
		smc_stats_inc(link->lgr->net, SMC_STAT_MR_REG);
	}
	if (link != supply->link && smc_link_is_ending(link))
		return 0;
	return rc;
}

/*
 * Add a region: map it on every link, register, announce, publish. Prefer one that was withdrawn
 * and that the peer did not release; if the peer refuses it now, it stays withdrawn. So is one that
 * the peer has accepted if this fails afterwards: the next connection takes it, or DELETE RKEY is
 * sent for it. None is needed if an element has become free while this waited for the mutex.
 * @added: set if there is one more.
 */
static int conn_pool_grow(struct smc_lgr *lgr, enum smc_region_kind kind, u32 size,
			  const struct conn_supply *supply, bool *added)
{
	struct smc_link *link = supply->link;
	struct smc_region *region;
	struct smc_link *other;
	bool again;
	int rc = 0;

	mutex_lock(&lgr->mutex);
	if (smc_pool_has_free(&lgr->pool, kind, size)) {
		mutex_unlock(&lgr->mutex);
		return 0;
	}
	region = smc_pool_take_withdrawn(&lgr->pool, kind, size, U8_MAX);
	again = region;
	if (again)
		smc_region_forget_known(region);
	else
		region = smc_region_alloc(&lgr->pool, kind, size, link->path.dev->max_pages,
					  supply->need);
	if (IS_ERR_OR_NULL(region)) {
		mutex_unlock(&lgr->mutex);
		return region ? PTR_ERR(region) : -ENOMEM;
	}
	smc_lgr_for_each_link(lgr, other) {
		rc = conn_region_to_link(region, other, supply);
		if (rc) {
			smc_link_put(other);
			break;
		}
	}
	mutex_unlock(&lgr->mutex);
	if (rc == -ENOSPC)
		rc = -ENOMEM;	/* the device has no more; another group would not help */
	if (!rc && supply->announce && kind == SMC_REGION_RMB)
		rc = smc_rkey_confirm(lgr, link, region,
				      supply->patient ? supply->deadline : jiffies + CONFIRM_TIME,
				      supply->cancel);
	if (!rc) {
		region->announced = true;
		smc_region_publish(&lgr->pool, region);
		*added = true;
	} else if (again || smc_region_is_known_at_all(region)) {
		smc_region_withdraw(region);
	} else {
		smc_region_free(region);
		return rc;
	}
	smc_llc_timer_region_added(lgr);
	return rc;
}

/* @grown: the element is of a new region. */
static void conn_count_elem(const struct smc_conn *conn, enum smc_region_kind kind, u32 size,
			    bool grown)
{
	if (kind == SMC_REGION_RMB)
		smc_stats_inc(conn->net, grown ? SMC_STAT_RX_BUF_ALLOC : SMC_STAT_RX_BUF_REUSE);
	else
		smc_stats_inc(conn->net, grown ? SMC_STAT_TX_BUF_ALLOC : SMC_STAT_TX_BUF_REUSE);
	smc_stats_add_size(conn->net, kind == SMC_REGION_RMB ? SMC_HIST_RX_BUF : SMC_HIST_TX_BUF,
			   size);
}

/*
 * Take an element. Only one connection at a time adds regions of a kind: others that find the pool
 * empty at the same moment wait for it instead of adding a region each.
 */
static int conn_elem_take(struct smc_conn *conn, enum smc_region_kind kind, u32 size,
			  const struct conn_supply *supply, struct smc_elem *elem)
{
	struct smc_pool *pool = &conn->lgr->pool;
	bool grower = false, grown = false;
	int tries = TAKE_TRIES;
	int rc;

	while ((rc = smc_elem_take(pool, kind, size, elem)) == -ENOENT) {
		if (kind == SMC_REGION_RMB && smc_pool_reap_lent(pool))
			continue;
		if (READ_ONCE(*supply->cancel))
			rc = -ECANCELED;
		else if (time_after_eq(jiffies, supply->deadline))
			rc = -ETIMEDOUT;
		else if (!grower)
			/* whether this waited or not, the pool may have changed: try again */
			grower = smc_pool_grow_begin(pool, kind, SMC_LGR_POLL);
		else
			rc = tries-- ? conn_pool_grow(conn->lgr, kind, size, supply, &grown) :
				       -ENOMEM;
		if (rc && rc != -ENOENT)
			break;
	}
	if (grower)
		smc_pool_grow_end(pool, kind);
	/* with a first ring goes one of full size, which is counted */
	if (!rc && size != SMC_ELEM_SIZE_FIRST)
		conn_count_elem(conn, kind, size, grown);
	return rc;
}

/*
 * Take a send ring of full size: without one the connection had better be TCP. It keeps that where
 * memory is short, as others may have taken the rest when it needs one. Where there is plenty, it
 * gets a small one, and the ring is left to whoever writes first. In a new group that has plenty
 * the ring is added when the connection stands (smc_conn_stock_pool()), and counted here.
 */
static int conn_take_ring(struct smc_conn *conn, const struct conn_supply *supply)
{
	struct smc_elem *elem = &conn->tx.elem, first = {};
	struct smc_pool *pool = &conn->lgr->pool;
	int rc;

	if (!supply->announce && smc_pool_has_plenty(pool) &&
	    !smc_pool_count_elems(pool, SMC_REGION_SND, conn->tx.want)) {
		rc = conn_elem_take(conn, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, supply, elem);
		if (!rc)
			conn_count_elem(conn, SMC_REGION_SND, conn->tx.want, true);
		if (!rc || rc == -ECANCELED)
			return rc;
	}
	rc = conn_elem_take(conn, SMC_REGION_SND, conn->tx.want, supply, elem);
	if (rc || !smc_pool_has_plenty(pool))
		return rc;
	rc = conn_elem_take(conn, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, supply, &first);
	/* no small one is to be had, whatever the limits say: it has what it needs */
	if (rc)
		return rc == -ECANCELED ? rc : 0;
	elem->used = 0;
	smc_elem_free(pool, elem, false);
	*elem = first;
	return 0;
}

/*
 * Return whether a new group can add an RMB at any time, so that its first one may be small. Else
 * the third connection waits for a foreign peer, which may take its time to answer CONFIRM RKEY,
 * and for the exchange that adds a second link, which takes seconds over a path that does not work.
 * A client does not know whether the server has a second port, and takes it that it has none.
 */
static bool conn_may_begin_small(const struct smc_conn *conn)
{
	const struct smc_peer *peer = &conn->lgr->peer;

	return peer->caps && peer->one_port && !smc_ib_has_second_port(conn->net);
}

/**
 * smc_conn_take_buffers() - Take a send ring and an RMBE for a new connection
 * @conn: connection that no other context knows
 * @sndbuf: wanted bytes of the send ring; a first one may precede it
 * @rcvbuf: wanted bytes of the RMBE
 * @announce: subsequent contact: register new regions and announce them to the peer at once
 * @cancel: give up when set by another context
 *
 * After an error the connection may have one of the two; smc_conn_give_buffers() returns it.
 *
 * Context: Process, sleeps; takes lgr->mutex.
 * Return: 0; -ENOMEM, -ETIMEDOUT, -ECANCELED, -EDQUOT, -EUSERS, -ENOBUFS (limits of memory, see
 * smc_region_alloc()), or an error of the registration or of CONFIRM RKEY.
 */
int smc_conn_take_buffers(struct smc_conn *conn, u32 sndbuf, u32 rcvbuf, bool announce,
			  const bool *cancel)
{
	struct conn_supply supply = {
		.link = conn->link, .announce = announce, .cancel = cancel,
		.patient = announce && smc_peer_can(&conn->lgr->peer, SMC_CAP_LATE_CLC),
	};
	int rc;

	if (!announce && conn_may_begin_small(conn))
		supply.need = SMC_REGION_FOUNDED;
	supply.deadline = jiffies + (supply.patient ? CONFIRM_LONG : TAKE_TIME);
	conn->tx.want = smc_elem_round_size(sndbuf);
	rc = conn_take_ring(conn, &supply);
	if (!rc)
		rc = conn_elem_take(conn, SMC_REGION_RMB, smc_elem_round_size(rcvbuf), &supply,
				    &conn->rx.elem);
	return rc;
}

/*
 * Return how much of the RMBE the next owner must not see. After the peer's C all that it wrote was
 * announced. A hostile peer may have written elsewhere, too. It cannot read that back, and an
 * application would get it only if this peer announced it, which could as well write it then. A
 * connection that was aborted may have bytes that an honest peer did not announce, before C or A.
 */
static u32 conn_rmbe_used(const struct smc_conn *conn)
{
	const struct smc_conn_rx *rx = &conn->rx;
	u8 own = conn->tx.state | conn->tx.state_due;

	if (!(rx->peer_state & SMC_CDC_S_CLOSED) || conn->tx.stopped ||
	    (rx->peer_state | own) & SMC_CDC_S_ABORT)
		return rx->elem.size;
	return min_t(u64, rx->ring.produced, rx->elem.size);
}

/**
 * smc_conn_give_buffers() - Give send ring and RMBE back to the pool
 * @conn: connection without references; may have none, one or both
 *
 * They are zeroed as far as they were used: short connections use little of them. An RMBE whose
 * close the peer did not confirm goes to quarantine.
 *
 * Context: Process.
 */
void smc_conn_give_buffers(struct smc_conn *conn)
{
	struct smc_pool *pool = &conn->lgr->pool;

	if (conn->tx.elem.region) {
		conn->tx.elem.used = min_t(u64, conn->tx.reach, conn->tx.elem.size);
		smc_elem_free(pool, &conn->tx.elem, false);
	}
	smc_elem_free(pool, &conn->tx.growth.elem, false);
	mem_cgroup_put(conn->tx.growth.memcg);
	if (conn->rx.elem.region) {
		conn->rx.elem.used = conn_rmbe_used(conn);
		if (conn->quarantine)
			smc_stats_inc(conn->net, SMC_STAT_ELEM_QUARANTINE);
		smc_elem_give_back(pool, &conn->rx.elem, conn->quarantine);
	}
}

/* ---- a bigger send ring ------------------------------------------------------ */

/* Return the size of the ring that follows the present one; the same one if it is the largest. */
static u32 conn_next_size(const struct smc_conn *conn)
{
	if (smc_conn_ring_is_first(conn))
		return conn->tx.want;
	return smc_elem_round_size(conn->tx.ring.size * GROW_TIMES);
}

/* The writer may look at the state without the lock, see smc_conn_grow_ring(). */
static void conn_growth_enter(struct smc_conn_growth *growth, enum smc_growth_state state)
{
	WRITE_ONCE(growth->state, state);
}

/* Measure the stream from here on, or after a pause. */
static void conn_growth_restart(struct smc_conn *conn, unsigned long pause)
{
	conn->tx.growth.from = conn->tx.ring.completed;
	conn->tx.growth.since = jiffies + pause;
}

/*
 * Take an element for the bigger ring. Not by conn_elem_take(): new connections do not wait for
 * this, nor does this wait for them. -EBUSY: another work adds one. The ring of full size that
 * follows the first one is counted since the handshake.
 */
static int conn_growth_take(struct smc_conn *conn, u32 size, const struct conn_supply *supply,
			    struct smc_elem *elem)
{
	struct smc_pool *pool = &conn->lgr->pool;
	bool grown = false;
	int rc;

	rc = smc_elem_take(pool, SMC_REGION_SND, size, elem);
	if (rc) {
		if (!smc_pool_grow_extra_begin(pool))
			return -EBUSY;
		rc = conn_pool_grow(conn->lgr, SMC_REGION_SND, size, supply, &grown);
		smc_pool_grow_extra_end(pool);
		if (!rc && smc_elem_take(pool, SMC_REGION_SND, size, elem))
			rc = -EBUSY;
	}
	if (!rc && supply->need == SMC_REGION_EXTRA)
		conn_count_elem(conn, SMC_REGION_SND, size, grown);
	return rc;
}

/* Hand the bigger ring to the writer, who notes what there is to zero when it copies into it. */
static void conn_offer_ring(struct smc_conn *conn, const struct smc_elem *elem)
{
	conn->tx.growth.elem = *elem;
	conn->tx.growth.elem.used = 0;
	WRITE_ONCE(conn->tx.growth.failed, 0);
	conn_growth_enter(&conn->tx.growth, SMC_GROWTH_READY);
}

/* Return whether the application may write. */
static bool conn_has_writer(const struct smc_conn *conn)
{
	return smc_conn_state_may_send(conn->state) && !conn->tx.stopped &&
	       !(conn->shut & SEND_SHUTDOWN) && !conn->shut_pending && !conn->close_pending;
}

/* Return whether there is no ring for lack of memory: attempts become cheap, and rare. */
static bool conn_memory_is_short(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EDQUOT || rc == -EUSERS || rc == -ENOBUFS;
}

/* The first ring cannot be left yet. The work of the connection comes back to it. */
static void conn_growth_pause(struct smc_conn *conn, int rc)
{
	struct smc_conn_growth *growth = &conn->tx.growth;
	unsigned long pause = GROW_AGAIN;

	if (rc == -EBUSY) {
		/* not all at once: one of them will add the next region */
		pause = 1 + get_random_u32() % (GROW_BUSY + 1);
	} else if (conn_memory_is_short(rc)) {
		pause <<= growth->failed;
		WRITE_ONCE(growth->failed, min(growth->failed + 1, GROW_FAILED_MAX));
	}
	conn_growth_enter(growth, SMC_GROWTH_PAUSED);
	smc_conn_timer_ring_missing(conn, pause);
}

/* Take note of what the work has got; @link: that of the connection when it began. */
static void conn_growth_tried(struct smc_conn *conn, const struct smc_elem *elem, int rc,
			      const struct smc_link *link)
{
	struct smc_conn_growth *growth = &conn->tx.growth;

	lockdep_assert_held(&conn->lock);
	/* what failed for a link that is gone, or about to go, is no news of memory */
	if (rc && (conn->link != link || smc_link_is_ending(link)))
		rc = -EBUSY;
	if (!rc) {
		conn_offer_ring(conn, elem);
		smc_conn_timer_ring_offered(conn);
	} else if (smc_conn_ring_is_first(conn)) {
		conn_growth_pause(conn, rc);
	} else if (rc == -EBUSY) {
		/* a fast stream would queue thousands of works in a second until it succeeds */
		conn_growth_enter(growth, SMC_GROWTH_NONE);
		conn_growth_restart(conn, GROW_AGAIN);
	} else {
		conn_growth_enter(growth, SMC_GROWTH_DONE);
	}
}

/*
 * Take the bigger ring; in a work, since it may wait for the RNIC. On the queue of the group: that
 * of all connections runs their closes and timers. The connection keeps the group; should its last
 * reference be dropped here, another queue releases it, and the group after it.
 */
static void conn_growth_work_fn(struct work_struct *work)
{
	struct smc_conn *conn = container_of(work, struct smc_conn, tx.growth.work);
	struct smc_conn_growth *growth = &conn->tx.growth;
	struct conn_supply supply = { .announce = true, .need = SMC_REGION_EXTRA };
	struct smc_conn_notification note;
	struct smc_elem elem = {};
	struct mem_cgroup *old;
	int rc = -ECANCELED;
	bool wanted;
	u32 size;

	spin_lock_bh(&conn->lock);
	wanted = conn_has_writer(conn);
	supply.link = conn->link;
	smc_link_get(supply.link);
	if (smc_conn_ring_is_first(conn))
		supply.need = growth->failed ? SMC_REGION_AGAIN : SMC_REGION_NEEDED;
	size = conn_next_size(conn);
	spin_unlock_bh(&conn->lock);

	if (wanted) {
		old = set_active_memcg(growth->memcg);
		rc = conn_growth_take(conn, size, &supply, &elem);
		set_active_memcg(old);
		/* for the next attempt */
		if (supply.need != SMC_REGION_EXTRA)
			smc_lgr_evict_for_memory(conn->lgr->host, rc);
	}
	spin_lock_bh(&conn->lock);
	conn_growth_tried(conn, &elem, rc, supply.link);
	smc_conn_prepare_notification(conn, rc || supply.need == SMC_REGION_EXTRA ?
						    0 : SMC_CONN_WRITABLE, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
	smc_link_put(supply.link);
	smc_conn_put(conn);
}

/**
 * smc_conn_init_growth() - Set up the growth of the send ring
 * @conn: connection that is being created and has its send ring
 */
void smc_conn_init_growth(struct smc_conn *conn)
{
	struct smc_conn_growth *growth = &conn->tx.growth;

	INIT_WORK(&growth->work, conn_growth_work_fn);
	growth->since = jiffies;
	/* no larger elements: the writer need not ask whenever its ring is full */
	if (smc_elem_round_size(conn->tx.elem.size * GROW_TIMES) == conn->tx.elem.size)
		conn_growth_enter(growth, SMC_GROWTH_DONE);
}

/* Return whether much was sent in short time: this is a stream, to a peer that reads. */
static bool conn_is_streaming(struct smc_conn *conn)
{
	struct smc_conn_growth *growth = &conn->tx.growth;
	struct smc_ring_tx *ring = &conn->tx.ring;
	unsigned long left = growth->since - jiffies;

	/* in a pause: a comparison of times would take one that was idle for weeks for that */
	if (left && left <= GROW_AGAIN)
		growth->from = ring->completed;
	else if (time_after(jiffies, growth->since + GROW_WITHIN))
		conn_growth_restart(conn, 0);
	return ring->completed - growth->from >= (u64)GROW_AFTER * ring->size;
}

/* Return whether the connection's device can read the bigger ring. */
static bool conn_bigger_is_mapped(const struct smc_conn *conn)
{
	return smc_region_lkey(conn->tx.growth.elem.region, conn->link->slot);
}

/* In place of the first ring, offer one that is free. */
static bool conn_offer_free_ring(struct smc_conn *conn)
{
	struct smc_pool *pool = &conn->lgr->pool;
	struct smc_elem elem;

	if (smc_elem_take(pool, SMC_REGION_SND, conn->tx.want, &elem))
		return false;
	elem.used = 0;
	if (!smc_region_lkey(elem.region, conn->link->slot)) {
		/* a link that is ending may not know it, as in conn_decline_ring() */
		smc_elem_free(pool, &elem, false);
		return false;
	}
	conn_offer_ring(conn, &elem);
	return true;
}

/* Ask for a bigger ring. In place of the first one there may be one at once. */
static void conn_growth_ask(struct smc_conn *conn)
{
	struct smc_conn_growth *growth = &conn->tx.growth;

	lockdep_assert_held(&conn->lock);
	if (smc_conn_ring_is_first(conn) && conn_offer_free_ring(conn))
		return;
	if (growth->state == SMC_GROWTH_PAUSED)
		return;
	conn_growth_enter(growth, SMC_GROWTH_WANTED);
	smc_conn_get(conn);
	queue_work(conn->lgr->wq, &growth->work);
}

/**
 * smc_conn_end_growth_pause_locked() - Ask again for a ring in place of the first, if it is time
 * @conn: connection
 *
 * Only for a writer that may sleep because the first ring has no room: it cannot ask again, and
 * while the peer's window is closed no completion wakes it.
 *
 * Context: Caller holds conn->lock.
 * Return: SMC_CONN_* bits for the owner.
 */
unsigned int smc_conn_end_growth_pause_locked(struct smc_conn *conn)
{
	struct smc_conn_growth *growth = &conn->tx.growth;

	lockdep_assert_held(&conn->lock);
	if (growth->state != SMC_GROWTH_PAUSED || !smc_conn_timer_ring_due(conn))
		return 0;
	conn_growth_enter(growth, SMC_GROWTH_NONE);
	if (conn_has_writer(conn) && !smc_tx_has_room(conn))
		conn_growth_ask(conn);
	if (growth->state != SMC_GROWTH_READY)
		return 0;
	smc_conn_timer_ring_offered(conn);
	return SMC_CONN_WRITABLE;
}

/*
 * Copy the bytes from position @pos to @end into the bigger ring. Those that are posted belong to
 * them: a failover posts them again, from there. Where the bigger ring wraps the smaller one does,
 * so a part that is contiguous in the smaller one is so in the bigger one.
 */
static void conn_copy_ring(const struct smc_conn *conn, u64 pos, u64 end)
{
	const struct smc_elem *bigger = &conn->tx.growth.elem;
	const struct smc_elem *elem = &conn->tx.elem;
	struct smc_ring_span span[2];
	unsigned int i, n;

	n = smc_ring_fill_spans(pos, end - pos, elem->size, span);
	for (i = 0; i < n; i++) {
		memcpy(bigger->addr + smc_ring_offset(pos, bigger->size),
		       elem->addr + span[i].off, span[i].len);
		pos += span[i].len;
	}
}

/*
 * Copy all that is not completed before @end into the bigger ring. Drops the lock meanwhile, since
 * there may be many bytes: only the writer adds any, and none changes until it is completed. But
 * pages that the device cannot map are copied to the ring at any time, so not if there are any.
 */
static void conn_fill_bigger_locked(struct smc_conn *conn, u64 end) __must_hold(&conn->lock)
{
	u64 pos = conn->tx.ring.completed;

	lockdep_assert_held(&conn->lock);
	if (!smc_zerocopy_is_empty(conn)) {
		conn_copy_ring(conn, pos, end);
		return;
	}
	conn_growth_enter(&conn->tx.growth, SMC_GROWTH_COPYING);
	spin_unlock_bh(&conn->lock);
	conn_copy_ring(conn, pos, end);
	spin_lock_bh(&conn->lock);
}

/*
 * Change to the bigger ring, into which all bytes before @end are copied. False: an abort has
 * discarded bytes meanwhile, or the connection has moved to a link that does not know the ring.
 */
static bool conn_change_ring(struct smc_conn *conn, u64 end)
{
	struct smc_conn_growth *growth = &conn->tx.growth;
	struct smc_ring_tx *ring = &conn->tx.ring;

	if (ring->prepared != end || !conn_bigger_is_mapped(conn)) {
		conn_growth_enter(growth, SMC_GROWTH_READY);
		smc_conn_timer_ring_offered(conn);
		return false;
	}
	swap(conn->tx.elem, growth->elem);
	/* smc_tx_get_space() and smc_stream_writable() read it without the lock: either will do */
	WRITE_ONCE(ring->size, conn->tx.elem.size);
	WRITE_ONCE(conn->tx.want, conn->tx.elem.size);
	/* until then the RNIC may read the previous ring */
	growth->until = ring->sent;
	conn_growth_enter(growth, SMC_GROWTH_CHANGED);
	return true;
}

/* Take the offered ring back, as the connection's device cannot read it, and ask again later. */
static void conn_decline_ring(struct smc_conn *conn, struct smc_elem *unused)
{
	struct smc_conn_growth *growth = &conn->tx.growth;

	*unused = growth->elem;
	growth->elem.region = NULL;
	if (smc_conn_ring_is_first(conn)) {
		conn_growth_pause(conn, -ENOTCONN);
		return;
	}
	conn_growth_enter(growth, SMC_GROWTH_NONE);
	conn_growth_restart(conn, GROW_AGAIN);
}

/* Return whether the writer may ask for a bigger ring now. */
static bool conn_may_ask(struct smc_conn *conn)
{
	enum smc_growth_state state = conn->tx.growth.state;

	if (!conn_has_writer(conn))
		return false;
	if (smc_conn_ring_is_first(conn))
		return state == SMC_GROWTH_NONE || state == SMC_GROWTH_PAUSED;
	return state == SMC_GROWTH_NONE && conn_is_streaming(conn);
}

/* Return @memcg, which the caller holds, with a reference more; NULL: none. */
static struct mem_cgroup *conn_get_memcg(struct mem_cgroup *memcg)
{
#ifdef CONFIG_MEMCG
	if (memcg)
		css_get(&memcg->css);
#endif
	return memcg;
}

/* Keep the cgroup of the socket, which may be gone before the work runs. */
static void conn_keep_memcg(struct smc_conn *conn, struct mem_cgroup *memcg)
{
	if (!conn->tx.growth.memcg)
		conn->tx.growth.memcg = conn_get_memcg(memcg);
}

/**
 * smc_conn_grow_ring() - Take a step towards a bigger send ring
 * @conn: connection whose ring is full, or will be
 * @memcg: cgroup to charge it to, which the caller holds; NULL: none
 *
 * Called by the writer, again and again: first asks for a bigger ring, then changes to it.
 * smc_conn_take_unused_ring_locked() ends the growth. Beyond the first ring not to be called if the
 * application has set the size.
 *
 * Context: Process; takes conn->lock. The one writer (socket lock).
 * Return: true if the ring has grown.
 */
bool smc_conn_grow_ring(struct smc_conn *conn, struct mem_cgroup *memcg)
{
	struct smc_conn_growth *growth = &conn->tx.growth;
	struct smc_elem unused = {};
	bool ready, grown = false;
	u64 end;

	/* Most often so, and final: the lock is not needed to find out. */
	if (READ_ONCE(growth->state) == SMC_GROWTH_DONE)
		return false;
	spin_lock_bh(&conn->lock);
	if (conn_may_ask(conn)) {
		conn_keep_memcg(conn, memcg);
		conn_growth_ask(conn);
	}
	ready = growth->state == SMC_GROWTH_READY && conn_has_writer(conn);
	if (ready && !conn_bigger_is_mapped(conn)) {
		conn_decline_ring(conn, &unused);
		ready = false;
	}
	if (ready) {
		growth->elem.used = growth->elem.size;
		end = conn->tx.ring.prepared;
		conn_fill_bigger_locked(conn, end);
		grown = conn_change_ring(conn, end);
		smc_conn_take_unused_ring_locked(conn, &unused);
	}
	spin_unlock_bh(&conn->lock);
	smc_elem_free(&conn->lgr->pool, &unused, false);
	return grown;
}

/**
 * smc_conn_take_unused_ring_locked() - Take the ring that the growth has left over
 * @conn: connection
 * @unused: the previous ring, which is not read any more, or a bigger one that the writer did not
 *	take; to be freed after the lock is dropped. Not changed if there is none.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_take_unused_ring_locked(struct smc_conn *conn, struct smc_elem *unused)
{
	struct smc_conn_growth *growth = &conn->tx.growth;

	lockdep_assert_held(&conn->lock);
	if (smc_conn_growth_over_locked(conn) && growth->elem.size == SMC_ELEM_SIZE_FIRST &&
	    conn_next_size(conn) > conn->tx.ring.size) {
		conn_growth_enter(growth, SMC_GROWTH_NONE);
		conn_growth_restart(conn, 0);
	} else if (smc_conn_growth_over_locked(conn)) {
		/* or there are no larger elements: the writer need not ask when its ring is full */
		conn_growth_enter(growth, SMC_GROWTH_DONE);
	} else if (growth->state == SMC_GROWTH_READY && smc_conn_timer_ring_expired(conn)) {
		conn_growth_enter(growth, SMC_GROWTH_NONE);
		conn_growth_restart(conn, 0);
	} else {
		return;
	}
	*unused = growth->elem;
	growth->elem.region = NULL;
}

/**
 * smc_conn_register_buffers() - Register the regions of a first contact
 * @conn: connection whose queue pair is in RTS
 *
 * Context: Process, sleeps; takes lgr->mutex.
 * Return: 0 or -errno.
 */
int smc_conn_register_buffers(struct smc_conn *conn)
{
	struct smc_pool *pool = &conn->lgr->pool;
	u32 n;
	int rc;

	mutex_lock(&conn->lgr->mutex);
	rc = smc_pool_register_link(pool, conn->link->slot);
	n = pool->nregions[SMC_REGION_RMB] + pool->nregions[SMC_REGION_SND];
	mutex_unlock(&conn->lgr->mutex);
	if (!rc)
		smc_stats_add(conn->net, SMC_STAT_MR_REG, n);
	return rc;
}

/* ---- what a new group gets after its first connection -------------------------------------- */

/**
 * struct conn_stock - memory that a new group gets when its first connection stands
 * @work: adds it
 * @lgr: group, with a reference
 * @memcg: cgroup of the first connection, to charge it to; with a reference; NULL: none
 * @ring: size of send rings
 * @rmbe: size of RMBEs
 */
struct conn_stock {
	struct delayed_work work;
	struct smc_lgr *lgr;
	struct mem_cgroup *memcg;
	u32 ring;
	u32 rmbe;
};

/* Add a region unless the pool has @enough elements, or a connection is adding one. */
static void conn_stock_add(struct smc_lgr *lgr, enum smc_region_kind kind, u32 size, u32 enough)
{
	struct conn_supply supply = {
		.announce = true, .need = SMC_REGION_AHEAD, .cancel = &lgr->dead,
	};
	bool added;

	if (smc_pool_count_elems(&lgr->pool, kind, size) >= enough ||
	    !smc_pool_grow_begin(&lgr->pool, kind, 0))
		return;
	supply.link = smc_lgr_pick_link(lgr);
	if (supply.link) {
		conn_pool_grow(lgr, kind, size, &supply, &added);
		smc_link_put(supply.link);
	}
	smc_pool_grow_end(&lgr->pool, kind);
}

static void conn_stock_work_fn(struct work_struct *work)
{
	struct conn_stock *stock = container_of(to_delayed_work(work), struct conn_stock, work);
	struct smc_lgr *lgr = stock->lgr;
	struct mem_cgroup *old;

	old = set_active_memcg(stock->memcg);
	if (!READ_ONCE(lgr->dead)) {
		conn_stock_add(lgr, SMC_REGION_SND, stock->ring, 1);
		conn_stock_add(lgr, SMC_REGION_RMB, stock->rmbe,
			       min(lgr->pool.conns_max, (u32)SMC_POOL_RMBES_KEPT));
	}
	set_active_memcg(old);
	mem_cgroup_put(stock->memcg);
	kfree(stock);
	smc_lgr_put(lgr);	/* freed by a work of another queue, if this is the last one */
}

/**
 * smc_conn_stock_pool() - Have memory added that the first connection of a group did not wait for
 * @conn: first connection of its group, which stands
 * @memcg: cgroup to charge, which the caller holds; NULL: none
 *
 * A send ring of full size, for whoever writes first, and an RMBE for the next connection: adding
 * an RMB takes a message to the peer and its response. If memory is short nothing is added, and
 * whoever needs it adds it. Both ends do this after the first bytes had their chance to go.
 *
 * Context: Process, sleeps.
 */
void smc_conn_stock_pool(struct smc_conn *conn, struct mem_cgroup *memcg)
{
	struct smc_lgr *lgr = conn->lgr;
	struct conn_stock *stock;

	stock = smc_fault_null(CONN_STOCK, kzalloc(sizeof(*stock), GFP_KERNEL | __GFP_NOWARN));
	if (!stock)
		return;
	INIT_DELAYED_WORK(&stock->work, conn_stock_work_fn);
	smc_lgr_get(lgr);
	stock->lgr = lgr;
	stock->memcg = conn_get_memcg(memcg);
	stock->ring = conn->tx.want;
	stock->rmbe = conn->rx.elem.size;
	queue_delayed_work(lgr->wq, &stock->work, STOCK_DELAY);
}
