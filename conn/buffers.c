// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a connection: a send ring and an RMBE out of the pool of its group. If no element of
 * the size is free, the pool grows by a region, which is mapped and registered on every link and,
 * if it is an RMB, announced to the peer by CONFIRM RKEY (RFC 7609 section 3.5.5.2.1).
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

/* Attempts: another connection may take an element of the region that this one has added. */
#define TAKE_TRIES	8
/* A connection waits this long for memory, whichever connection adds it. */
#define TAKE_TIME	(10 * HZ)
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
 * @announce: new regions are registered and announced at once
 * @patient: the peer waits for our CLC message until shortly after @deadline
 * @cancel: set when the connection is not wanted any more
 * @deadline: jiffies
 */
struct conn_supply {
	bool announce;
	bool patient;
	const bool *cancel;
	unsigned long deadline;
};

/*
 * Map a region for one link of the group, and register it if it is announced at once. An error on
 * a link that is ending is ignored, unless the new connection uses this link.
 */
static int conn_region_to_link(struct smc_conn *conn, struct smc_region *region,
			       struct smc_link *link, bool announce)
{
	int rc;

	rc = smc_region_map(region, link->slot, link->qp);
	/* a link that is being set up registers all regions when it becomes usable */
	if (!rc && announce && smc_link_usable(link)) {
		rc = smc_region_register(region, link->slot);
		smc_stats_inc(conn->net, SMC_STAT_MR_REG);
	}
	if (link != conn->link && smc_link_is_ending(link))
		return 0;
	return rc;
}

/*
 * Add a region: map it on every link, register, announce, publish. Prefer one that was withdrawn
 * and that the peer did not release; if the peer refuses it now, it stays withdrawn.
 */
static int conn_pool_grow(struct smc_conn *conn, enum smc_region_kind kind, u32 size,
			  const struct conn_supply *supply)
{
	struct smc_link *link = conn->link;
	struct smc_lgr *lgr = conn->lgr;
	struct smc_region *region;
	struct smc_link *other;
	bool again;
	int rc = 0;

	mutex_lock(&lgr->mutex);
	region = smc_pool_take_withdrawn(&lgr->pool, kind, size, U8_MAX);
	again = region;
	if (!again)
		region = smc_region_alloc(&lgr->pool, kind, size, link->path.dev->max_pages);
	if (IS_ERR_OR_NULL(region)) {
		mutex_unlock(&lgr->mutex);
		return region ? PTR_ERR(region) : -ENOMEM;
	}
	smc_lgr_for_each_link(lgr, other) {
		rc = conn_region_to_link(conn, region, other, supply->announce);
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
	if (rc && again)
		smc_region_withdraw(region);
	else if (rc)
		smc_region_free(region);
	if (rc)
		return rc;
	region->announced = true;
	smc_region_publish(&lgr->pool, region);
	smc_llc_timer_region_added(lgr);
	return 0;
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
			rc = tries-- ? conn_pool_grow(conn, kind, size, supply) : -ENOMEM;
		if (rc && rc != -ENOENT)
			break;
		grown = grown || !rc;
	}
	if (grower)
		smc_pool_grow_end(pool, kind);
	if (!rc && kind == SMC_REGION_RMB)
		smc_stats_inc(conn->net, grown ? SMC_STAT_RX_BUF_ALLOC : SMC_STAT_RX_BUF_REUSE);
	else if (!rc)
		smc_stats_inc(conn->net, grown ? SMC_STAT_TX_BUF_ALLOC : SMC_STAT_TX_BUF_REUSE);
	if (!rc)
		smc_stats_add_size(conn->net,
				   kind == SMC_REGION_RMB ? SMC_HIST_RX_BUF : SMC_HIST_TX_BUF,
				   size);
	return rc;
}

/**
 * smc_conn_take_buffers() - Take a send ring and an RMBE for a new connection
 * @conn: connection that no other context knows
 * @sndbuf: wanted bytes of the send ring
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
		.announce = announce, .cancel = cancel,
		.patient = announce && smc_peer_can(&conn->lgr->peer, SMC_CAP_LATE_CLC),
	};
	int rc;

	supply.deadline = jiffies + (supply.patient ? CONFIRM_LONG : TAKE_TIME);
	rc = conn_elem_take(conn, SMC_REGION_SND, smc_elem_round_size(sndbuf), &supply,
			    &conn->tx.elem);
	if (!rc)
		rc = conn_elem_take(conn, SMC_REGION_RMB, smc_elem_round_size(rcvbuf), &supply,
				    &conn->rx.elem);
	return rc;
}

/**
 * smc_conn_give_buffers() - Give send ring and RMBE back to the pool
 * @conn: connection without references; may have none, one or both
 *
 * An RMBE whose close the peer did not confirm goes to quarantine.
 *
 * Context: Process.
 */
void smc_conn_give_buffers(struct smc_conn *conn)
{
	struct smc_pool *pool = &conn->lgr->pool;

	if (conn->tx.elem.region)
		smc_elem_free(pool, &conn->tx.elem, false);
	if (conn->rx.elem.region) {
		if (conn->quarantine)
			smc_stats_inc(conn->net, SMC_STAT_ELEM_QUARANTINE);
		smc_elem_give_back(pool, &conn->rx.elem, conn->quarantine);
	}
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
	int rc;

	mutex_lock(&conn->lgr->mutex);
	rc = smc_pool_register_link(&conn->lgr->pool, conn->link->slot);
	mutex_unlock(&conn->lgr->mutex);
	if (!rc)
		smc_stats_add(conn->net, SMC_STAT_MR_REG, SMC_REGION_KINDS);
	return rc;
}
