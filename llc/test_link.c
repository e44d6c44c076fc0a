// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that do not finish. A queue pair gives up when the peer's RNIC is silent, but not
 * while that answers "receiver not ready", for which the retries have no end: they are the
 * flow control of messages. A peer that never posts a receive again would hold up whatever
 * is sent to it for ever, and if it goes on sending, TEST LINK sees nothing of that.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <smc/base/settings.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/wr.h>
#include "internal.h"

#define CHECKS		4	/* per deadline */
#define CHECKS_SAME	2	/* before the one that decides */

/**
 * smc_test_link_get_probe() - what is known of a link
 * @llc: LLC state
 * @link: usable link
 *
 * For test_work.
 *
 * Return: its place; empty for a link that is new in its slot.
 */
struct llc_probe *smc_test_link_get_probe(struct smc_llc *llc, const struct smc_link *link)
{
	struct llc_probe *probe = &llc->probes[link->slot];

	if (probe->link != link) {
		memset(probe, 0, sizeof(*probe));
		probe->link = link;
	}
	return probe;
}

/*
 * The clock alone does not tell: a host that was suspended, or got no processor for a long
 * time, has had no chance to see the completion. So the same request has to be found in
 * several looks, with time for completions between them.
 */
static void test_link_count_check(struct llc_probe *probe, unsigned long since, unsigned long limit)
{
	if (probe->stuck != since) {
		probe->stuck = since;
		probe->looks = 0;
	} else if (time_after_eq(jiffies, probe->looked + limit / (2 * CHECKS))) {
		probe->looks++;
	} else {
		return;
	}
	probe->looked = jiffies;
}

/**
 * smc_test_link_check_stall() - does a link finish its requests
 * @llc: LLC state
 * @probe: what is known of it
 * @link: usable link
 *
 * For test_work. Fails a link whose oldest request has been the next to finish for longer
 * than net.smc.smcr_stall_time: with each completion that counts anew, so a long queue of a
 * slow link does no harm.
 *
 * Return: in how many jiffies it wants to look again.
 */
unsigned long smc_test_link_check_stall(struct smc_llc *llc, struct llc_probe *probe, struct smc_link *link)
{
	int secs = READ_ONCE(smc_policy_net(llc->lgr->net)->stall_time);
	unsigned long limit = secs * (unsigned long)HZ, since;

	if (!secs)
		return MAX_JIFFY_OFFSET;
	if (!smc_wr_qp_waiting(link->qp, &since)) {
		probe->looks = 0;
		return limit / CHECKS;
	}
	test_link_count_check(probe, since, limit);
	if (time_before(jiffies, since + limit))
		return min(since + limit - jiffies, limit / CHECKS);
	if (probe->looks >= CHECKS_SAME)
		smc_link_fail(link, SMC_LINK_STALLED);
	return limit / CHECKS;
}
