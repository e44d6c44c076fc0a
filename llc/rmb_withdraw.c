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

#define WITHDRAW_OFF	(30 * HZ)	/* a look at whether it was switched on */
#define WITHDRAW_TRIES	3		/* how often a peer is asked about one RMB */

static int llc_withdraw_secs(const struct smc_llc *llc)
{
	return READ_ONCE(smc_policy_net(llc->lgr->net)->buf_idle);
}

/* Twice in that time is often enough. llc->lock held. */
static void llc_withdraw_arm(struct smc_llc *llc)
{
	unsigned long delay = max(llc_withdraw_secs(llc) * (unsigned long)HZ / 2, (unsigned long)HZ);

	lockdep_assert_held(&llc->lock);
	if (!llc_withdraw_secs(llc))
		delay = WITHDRAW_OFF;
	if (!llc->dead)
		queue_delayed_work(smc_llc_wait_wq, &llc->withdraw_work, delay);
}

static void llc_withdraw_region(struct smc_lgr *lgr, struct smc_region *region)
{
	smc_buf_region_free(region);
	smc_stats_inc(lgr->net, SMC_STAT_REGION_GIVE);
	smc_core_roomy(lgr);
}

/* True: the peer has forgotten it, and it is gone. */
static bool llc_withdraw_rmb(struct smc_llc *llc, struct smc_region *region, bool shelved)
{
	struct smc_lgr *lgr = llc->lgr;
	int rc = smc_rkey_delete(lgr, region);

	if (!rc) {
		llc_withdraw_region(lgr, region);
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
	llc->withdraw_mute |= rc == -ETIMEDOUT;
	smc_buf_shelve(region);
	return false;
}

static void llc_withdraw_idle(struct smc_llc *llc, unsigned long age)
{
	struct smc_pool *pool = &llc->lgr->pool;
	struct smc_region *region;

	if (smc_lend_reap(pool))
		smc_core_roomy(llc->lgr);
	while ((region = smc_buf_park(pool, SMC_BUF_SND, age)))
		llc_withdraw_region(llc->lgr, region);
	if (llc->withdraw_mute)
		return;
	while ((region = smc_buf_park(pool, SMC_BUF_RMB, age)))
		if (!llc_withdraw_rmb(llc, region, false))
			return;
	region = smc_buf_unshelve(pool, SMC_BUF_RMB, 0, WITHDRAW_TRIES);
	if (region)
		llc_withdraw_rmb(llc, region, true);
}

/* Is there anything that could be given back? */
static bool llc_withdraw_possible(struct smc_pool *pool)
{
	bool yes;

	spin_lock_bh(&pool->lock);
	yes = pool->nregions[SMC_BUF_RMB] > 1 || pool->nregions[SMC_BUF_SND] > 1;
	spin_unlock_bh(&pool->lock);
	return yes;
}

static void llc_withdraw_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, withdraw_work);
	struct smc_lgr *lgr = llc->lgr;
	int secs = llc_withdraw_secs(llc);

	if (secs && READ_ONCE(lgr->ready) && !READ_ONCE(llc->dead))
		llc_withdraw_idle(llc, secs * (unsigned long)HZ);
	/* who adds one later arms this work */
	if (llc_withdraw_possible(&lgr->pool))
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
	llc_withdraw_arm(llc);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_give_init() - set up
 * @llc: LLC state
 */
void smc_llc_give_init(struct smc_llc *llc)
{
	INIT_DELAYED_WORK(&llc->withdraw_work, llc_withdraw_work);
}

/**
 * smc_llc_give_exit() - the group is dead
 * @llc: LLC state
 */
void smc_llc_give_exit(struct smc_llc *llc)
{
	cancel_delayed_work_sync(&llc->withdraw_work);
}
