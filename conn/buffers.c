// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a connection: a send ring and an RMBE out of the pool of its group, which grows
 * when they are not there.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <smc/base/stats.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/rdma/region.h>

/* Others may take what we added. */
#define TAKE_TRIES	8
/* ... or add something: so long a connection waits for its memory, whoever brings it. */
#define TAKE_TIME	(10 * HZ)

/**
 * struct conn_supply - how a connection in the making gets memory
 * @announce: new regions are registered and announced at once
 * @cancel: set: the connection is not wanted any more
 * @deadline: jiffies
 */
struct conn_supply {
	bool announce;
	const bool *cancel;
	unsigned long deadline;
};

/*
 * A region on one of the links of the group. One that is on its way out does without, or its
 * end would be that of the connection that needs the region: unless that begins on it.
 */
static int conn_region_to_link(struct smc_conn *conn, struct smc_region *region,
			       struct smc_link *link, bool announce)
{
	int rc;

	rc = smc_buf_map(region, link->slot, link->qp);
	/* one that is still being set up registers when it becomes usable */
	if (!rc && announce && smc_link_usable(link)) {
		rc = smc_buf_register(region, link->slot);
		smc_stats_inc(conn->net, SMC_STAT_MR_REG);
	}
	if (link != conn->link && (READ_ONCE(link->qp->broken) ||
				   atomic_read(&link->reason) != SMC_LINK_OK))
		return 0;
	return rc;
}

/*
 * A further region: mapped on every link, registered, announced, then published. Rather one
 * that the peer did not let go when we did not need it: if it does not take it now, it stays.
 */
static int conn_pool_grow(struct smc_conn *conn, enum smc_buf_kind kind, u32 size,
			  const struct conn_supply *supply)
{
	struct smc_link *link = conn->link;
	struct smc_lgr *lgr = conn->lgr;
	struct smc_region *region;
	struct smc_link *other;
	bool again;
	u32 slot;
	int rc = 0;

	mutex_lock(&lgr->mutex);
	region = smc_buf_unshelve(&lgr->pool, kind, size, U8_MAX);
	again = region;
	if (!again)
		region = smc_buf_region_alloc(&lgr->pool, kind, size, link->path.dev->max_pages);
	if (IS_ERR_OR_NULL(region)) {
		mutex_unlock(&lgr->mutex);
		return region ? PTR_ERR(region) : -ENOMEM;
	}
	for (slot = 0; slot < SMC_CORE_LINKS && !rc; slot++) {
		other = smc_core_link(lgr, slot);
		if (!other)
			continue;
		rc = conn_region_to_link(conn, region, other, supply->announce);
		smc_link_put(other);
	}
	mutex_unlock(&lgr->mutex);
	if (rc == -ENOSPC)
		rc = -ENOMEM;	/* the device has no more; another group would not help */
	if (!rc && supply->announce && kind == SMC_BUF_RMB)
		rc = smc_llc_rkey_confirm(lgr, link, region, supply->cancel);
	if (rc && again)
		smc_buf_shelve(region);
	else if (rc)
		smc_buf_region_free(region);
	if (rc)
		return rc;
	region->announced = true;
	smc_buf_region_publish(&lgr->pool, region);
	smc_llc_give_later(lgr);
	return 0;
}

/*
 * One connection at a time adds regions of a kind: those that meet an empty pool at
 * the same moment wait for it instead of adding a region each.
 */
static int conn_elem_take(struct smc_conn *conn, enum smc_buf_kind kind, u32 size,
			  const struct conn_supply *supply, struct smc_elem *elem)
{
	struct smc_pool *pool = &conn->lgr->pool;
	bool grower = false, grown = false;
	int tries = TAKE_TRIES;
	int rc;

	while ((rc = smc_buf_take(pool, kind, size, elem)) == -ENOENT) {
		if (kind == SMC_BUF_RMB && smc_lend_reap(pool))
			continue;
		if (READ_ONCE(*supply->cancel))
			rc = -ECANCELED;
		else if (time_after_eq(jiffies, supply->deadline))
			rc = -ETIMEDOUT;
		else if (!grower)
			/* either way the pool may have changed: look again */
			grower = smc_buf_grow_begin(pool, kind, SMC_CORE_POLL);
		else
			rc = tries-- ? conn_pool_grow(conn, kind, size, supply) : -ENOMEM;
		if (rc && rc != -ENOENT)
			break;
		grown = grown || !rc;
	}
	if (grower)
		smc_buf_grow_end(pool, kind);
	if (!rc && kind == SMC_BUF_RMB)
		smc_stats_inc(conn->net, grown ? SMC_STAT_RX_BUF_ALLOC : SMC_STAT_RX_BUF_REUSE);
	else if (!rc)
		smc_stats_inc(conn->net, grown ? SMC_STAT_TX_BUF_ALLOC : SMC_STAT_TX_BUF_REUSE);
	if (!rc)
		smc_stats_size(conn->net, kind == SMC_BUF_RMB ? SMC_HIST_RX_BUF : SMC_HIST_TX_BUF,
			       size);
	return rc;
}

/**
 * smc_conn_mem_take() - a send ring and an RMBE for a new connection
 * @conn: connection that nobody else knows
 * @sndbuf: wanted send ring bytes
 * @rcvbuf: wanted RMBE bytes
 * @announce: subsequent contact: new regions are registered and announced at once
 * @cancel: set: give up
 *
 * Process context, sleeps. After an error it may have one of them.
 *
 * Return: 0 or -errno.
 */
int smc_conn_mem_take(struct smc_conn *conn, u32 sndbuf, u32 rcvbuf, bool announce,
		      const bool *cancel)
{
	struct conn_supply supply = { .announce = announce, .cancel = cancel,
				 .deadline = jiffies + TAKE_TIME };
	int rc;

	rc = conn_elem_take(conn, SMC_BUF_SND, smc_buf_round(sndbuf), &supply, &conn->tx.elem);
	if (!rc)
		rc = conn_elem_take(conn, SMC_BUF_RMB, smc_buf_round(rcvbuf), &supply,
				    &conn->rx.elem);
	return rc;
}

/**
 * smc_conn_mem_give() - undo smc_conn_mem_take()
 * @conn: connection that nobody has a reference on; may have none or one of them
 *
 * Process context.
 */
void smc_conn_mem_give(struct smc_conn *conn)
{
	struct smc_pool *pool = &conn->lgr->pool;

	if (conn->tx.elem.region)
		smc_buf_give(pool, &conn->tx.elem, false);
	if (conn->rx.elem.region) {
		if (conn->quarantine)
			smc_stats_inc(conn->net, SMC_STAT_ELEM_QUARANTINE);
		smc_lend_give(pool, &conn->rx.elem, conn->quarantine);
	}
}

/**
 * smc_conn_mem_register() - first contact: register the regions
 * @conn: connection
 *
 * Process context; the queue pair is in RTS.
 *
 * Return: 0 or -errno.
 */
int smc_conn_mem_register(struct smc_conn *conn)
{
	int rc;

	mutex_lock(&conn->lgr->mutex);
	rc = smc_buf_pool_register(&conn->lgr->pool, conn->link->slot);
	mutex_unlock(&conn->lgr->mutex);
	if (!rc)
		smc_stats_add(conn->net, SMC_STAT_MR_REG, SMC_BUF_KINDS);
	return rc;
}
