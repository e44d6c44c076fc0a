// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of a group's LLC layer. Each timer is a delayed work on the queue of its group:
 *
 *	recovery_work	deletes and adds links (llc_recovery_work() in smc_llc.c). Earliest of all
 *			deadlines; how far they are away is decided in llc/recovery.c and
 *			llc/delete_link.c.
 *	test_work	TEST LINK and stalled requests (llc/test_link.c). Runs as long as the
 *			group lives, from the end of the first contact on.
 *	withdraw_work	gives idle regions back (llc/rmb_withdraw.c). Runs while the group has
 *			a region that is not kept for its next connection.
 *	upgrade_work	messages of upgrades in place and their repetition (llc/upgrade.c).
 *
 * No timer is armed when the group is dead: smc_llc.dead is checked under the lock.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <smc/base/settings.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include "internal.h"

#define SUSPECT_GAP	(1 * HZ)	/* between two checks of a suspected peer */
#define WITHDRAW_OFF	(30 * HZ)	/* check whether giving regions back was enabled */

/**
 * smc_llc_timer_recovery_due() - run the recovery work soon
 * @llc: LLC state; llc->lock held
 * @delay: latest start, jiffies from now
 */
void smc_llc_timer_recovery_due(struct smc_llc *llc, unsigned long delay)
{
	struct llc_recovery *rec = &llc->recovery;
	unsigned long at = jiffies + delay;

	lockdep_assert_held(&llc->lock);
	if (llc->dead || (rec->armed && time_before_eq(rec->at, at)))
		return;
	rec->armed = true;
	rec->at = at;
	mod_delayed_work(llc->lgr->wq, &llc->recovery_work, delay);
}

/**
 * smc_llc_timer_test_due() - check the links after a while
 * @llc: LLC state
 * @delay: jiffies from now; without effect if the timer runs already
 *
 * Any context.
 */
void smc_llc_timer_test_due(struct smc_llc *llc, unsigned long delay)
{
	spin_lock_bh(&llc->lock);
	if (!llc->dead)
		queue_delayed_work(llc->lgr->wq, &llc->test_work, delay);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_timer_link_up() - a link became usable: start to check the links
 * @llc: LLC state
 *
 * Without effect if the checks run already. Any context.
 */
void smc_llc_timer_link_up(struct smc_llc *llc)
{
	smc_llc_timer_test_due(llc, 0);
}

/**
 * smc_llc_timer_peer_suspected() - the peer may be gone: send TEST LINK soon
 * @llc: LLC state
 *
 * At once, but not more often than once in SUSPECT_GAP: any host can make us suspect any other one,
 * as often as it likes. Any context.
 */
void smc_llc_timer_peer_suspected(struct smc_llc *llc)
{
	unsigned long gap;

	spin_lock_bh(&llc->lock);
	if (!llc->dead && !llc->suspect) {
		/* the last check may be very long ago */
		gap = llc->suspect_checked + SUSPECT_GAP - jiffies;
		llc->suspect = true;
		mod_delayed_work(llc->lgr->wq, &llc->test_work, gap <= SUSPECT_GAP ? gap : 0);
	}
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_timer_region_added() - a region was added: check later which regions are idle
 * @lgr: group
 *
 * Regions are checked twice in net.smc.smcr_buf_idle_time. Any context.
 */
void smc_llc_timer_region_added(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;
	int secs = READ_ONCE(smc_settings_get(lgr->net)->region_idle);
	unsigned long delay = WITHDRAW_OFF;

	if (secs)
		delay = max(secs * (unsigned long)HZ / 2, (unsigned long)HZ);
	spin_lock_bh(&llc->lock);
	if (!llc->dead)
		queue_delayed_work(llc->lgr->wq, &llc->withdraw_work, delay);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_timer_upgrade_due() - handle and send messages of upgrades in place now
 * @llc: LLC state; llc->lock held
 */
void smc_llc_timer_upgrade_due(struct smc_llc *llc)
{
	lockdep_assert_held(&llc->lock);
	if (!llc->dead)
		mod_delayed_work(llc->lgr->wq, &llc->upgrade_work, 0);
}

/**
 * smc_llc_timer_upgrade_later() - the same after a while
 * @llc: LLC state
 * @delay: jiffies from now; without effect if the work is due already
 *
 * Called by the work only, which is the last one to arm its timer.
 */
void smc_llc_timer_upgrade_later(struct smc_llc *llc, unsigned long delay)
{
	spin_lock_bh(&llc->lock);
	if (!llc->dead)
		queue_delayed_work(llc->lgr->wq, &llc->upgrade_work, delay);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_timer_stop() - stop all timers of a dead group and wait for their works
 * @llc: LLC state; dead
 *
 * Process context. recovery_work may have started add_work, so the caller cancels that afterwards.
 */
void smc_llc_timer_stop(struct smc_llc *llc)
{
	cancel_delayed_work_sync(&llc->recovery_work);
	cancel_delayed_work_sync(&llc->test_work);
	cancel_delayed_work_sync(&llc->withdraw_work);
	cancel_delayed_work_sync(&llc->upgrade_work);
}
