// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives idle regions back: send regions at once, RMBs after the peer has confirmed DELETE RKEY
 * (RFC 7609 section 3.5.5.2.2).
 *
 * A group grows with its connections, region by region. A region that was not used for
 * net.smc.smcr_buf_idle_time is freed, except for one RMB, one region of first send rings, and one
 * of larger ones. Until the peer has confirmed that an rkey is deleted, it may write into the RMB.
 * So an RMB whose deletion fails stays registered but is not handed out (withdrawn); it is the
 * first to be announced again when the group grows. The deletion may be repeated later, because a
 * server that runs another exchange refuses it.
 *
 * A peer that does not respond at all is sent no further DELETE RKEY: the response of version 2
 * does not name the rkey, so a late response could be taken for that to the next request.
 */
#include <linux/jiffies.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/rdma/region.h>
#include "internal.h"

#define WITHDRAW_TRIES	3		/* DELETE RKEY requests for one RMB */

static void llc_withdraw_region(struct smc_lgr *lgr, struct smc_region *region)
{
	smc_region_free(region);
	smc_stats_inc(lgr->net, SMC_STAT_REGION_GIVE);
	smc_lgr_set_regions_available(lgr);
}

/* Return true if the peer has confirmed the deletion; the RMB is freed then. */
static bool llc_withdraw_rmb(struct smc_llc *llc, struct smc_region *region, bool withdrawn)
{
	struct smc_lgr *lgr = llc->lgr;
	int rc = smc_rkey_delete(lgr, region);

	if (!rc) {
		llc_withdraw_region(lgr, region);
		return true;
	}
	if (rc == -EAGAIN && !withdrawn) {
		smc_region_publish(&lgr->pool, region);
		return false;
	}
	if (rc != -EAGAIN) {
		smc_stats_inc(lgr->net, SMC_STAT_RKEY_KEPT);
		region->delete_refused++;
	}
	llc->withdraw_mute |= rc == -ETIMEDOUT;
	smc_region_withdraw(region);
	return false;
}

/* @age: jiffies without use. */
static void llc_withdraw_idle(struct smc_llc *llc, unsigned long age)
{
	struct smc_pool *pool = &llc->lgr->pool;
	struct smc_region *region;

	if (smc_pool_reap_lent(pool))
		smc_lgr_set_regions_available(llc->lgr);
	while ((region = smc_pool_take_idle(pool, SMC_REGION_SND, age)))
		llc_withdraw_region(llc->lgr, region);
	if (llc->withdraw_mute)
		return;
	while ((region = smc_pool_take_idle(pool, SMC_REGION_RMB, age)))
		if (!llc_withdraw_rmb(llc, region, false))
			return;
	region = smc_pool_take_withdrawn(pool, SMC_REGION_RMB, 0, WITHDRAW_TRIES);
	if (region)
		llc_withdraw_rmb(llc, region, true);
}

/**
 * smc_llc_withdraw_work() - give the idle regions of a group back
 * @work: smc_llc.withdraw_work
 *
 * Waits for the peer. Runs again later if there are regions that could become idle; otherwise
 * the timer is armed when the next region is added.
 */
void smc_llc_withdraw_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, withdraw_work);
	struct smc_lgr *lgr = llc->lgr;
	int secs = READ_ONCE(smc_settings_get(lgr->net)->region_idle);

	if (secs && READ_ONCE(lgr->ready) && !READ_ONCE(llc->dead))
		llc_withdraw_idle(llc, secs * (unsigned long)HZ);
	if (smc_pool_has_spare(&lgr->pool))
		smc_llc_timer_region_added(lgr);
}
