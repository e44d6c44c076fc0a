// SPDX-License-Identifier: GPL-2.0-only
/*
 * Idle regions are given back: send regions at once, RMBs when the peer has forgotten their
 * keys (DELETE RKEY, RFC 7609 section 3.5.5.2.2).
 *
 * A group grows with its connections, region by region. What nobody has used for
 * net.smc.smcr_buf_idle_time goes again, but for one region of each kind. As long as the peer
 * has not said that it does not know an RMB any more, it may write into it: so one that it
 * does not let go stays registered, out of use, and is the first to be announced again when
 * the group grows. It may be asked again later: a server that is in the midst of something
 * else puts us off.
 *
 * A peer that does not answer at all is not asked again. Which request an answer is about
 * cannot be told in version 2, so a late one might be taken for that to the next.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/rdma/region.h>
#include "internal.h"

#define GIVE_OFF	(30 * HZ)	/* a look at whether it was switched on */
#define GIVE_TRIES	3		/* how often a peer is asked about one RMB */

static int give_secs(const struct smc_llc *llc)
{
	return READ_ONCE(smc_policy_net(llc->lgr->net)->buf_idle);
}

/* Twice in that time is often enough. llc->lock held. */
static void arm(struct smc_llc *llc)
{
	unsigned long delay = max(give_secs(llc) * (unsigned long)HZ / 2, (unsigned long)HZ);

	lockdep_assert_held(&llc->lock);
	if (!give_secs(llc))
		delay = GIVE_OFF;
	if (!llc->dead)
		queue_delayed_work(smc_llc_wait_wq, &llc->give_work, delay);
}

static void give_region(struct smc_lgr *lgr, struct smc_region *region)
{
	smc_buf_region_free(region);
	smc_stats_inc(lgr->net, SMC_STAT_REGION_GIVE);
	smc_core_roomy(lgr);
}

/* True: the peer has forgotten it, and it is gone. */
static bool give_rmb(struct smc_llc *llc, struct smc_region *region, bool shelved)
{
	struct smc_lgr *lgr = llc->lgr;
	int rc = smc_llc_rkey_delete(lgr, region);

	if (!rc) {
		give_region(lgr, region);
		return true;
	}
	if (rc == -EAGAIN && !shelved) {
		smc_buf_region_publish(&lgr->pool, region);
		return false;
	}
	if (rc != -EAGAIN) {
		smc_stats_inc(lgr->net, SMC_STAT_RKEY_KEPT);
		region->asked++;
	}
	llc->give_mute |= rc == -ETIMEDOUT;
	smc_buf_shelve(region);
	return false;
}

static void give_idle(struct smc_llc *llc, unsigned long age)
{
	struct smc_pool *pool = &llc->lgr->pool;
	struct smc_region *region;

	if (smc_lend_reap(pool))
		smc_core_roomy(llc->lgr);
	while ((region = smc_buf_park(pool, SMC_BUF_SND, age)))
		give_region(llc->lgr, region);
	if (llc->give_mute)
		return;
	while ((region = smc_buf_park(pool, SMC_BUF_RMB, age)))
		if (!give_rmb(llc, region, false))
			return;
	region = smc_buf_unshelve(pool, SMC_BUF_RMB, 0, GIVE_TRIES);
	if (region)
		give_rmb(llc, region, true);
}

/* Is there anything that could be given back? */
static bool grown(struct smc_pool *pool)
{
	bool yes;

	spin_lock_bh(&pool->lock);
	yes = pool->nregions[SMC_BUF_RMB] > 1 || pool->nregions[SMC_BUF_SND] > 1;
	spin_unlock_bh(&pool->lock);
	return yes;
}

static void give_work_fn(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, give_work);
	struct smc_lgr *lgr = llc->lgr;
	int secs = give_secs(llc);

	if (secs && READ_ONCE(lgr->ready) && !READ_ONCE(llc->dead))
		give_idle(llc, secs * (unsigned long)HZ);
	/* who adds one later arms this work */
	if (grown(&lgr->pool))
		smc_llc_give_later(lgr);
}

/**
 * smc_llc_give_later() - a region was added
 * @lgr: group
 *
 * Any context.
 */
void smc_llc_give_later(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;

	spin_lock_bh(&llc->lock);
	arm(llc);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_give_init() - set up
 * @llc: LLC state
 */
void smc_llc_give_init(struct smc_llc *llc)
{
	INIT_DELAYED_WORK(&llc->give_work, give_work_fn);
}

/**
 * smc_llc_give_exit() - the group is dead
 * @llc: LLC state
 */
void smc_llc_give_exit(struct smc_llc *llc)
{
	cancel_delayed_work_sync(&llc->give_work);
}
