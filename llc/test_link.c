// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the links of a group: TEST LINK (RFC 7609 sections 4.5.3 and A.3.8) of this host and
 * of the peer, and requests that do not complete.
 *
 * TEST LINK is sent over a link that has received nothing for net.smc.smcr_testlink_time; the
 * link fails if nothing arrives within net.smc.smcr_testlink_timeout.
 *
 * A queue pair gives up when the peer's RNIC is silent, but not while that RNIC answers
 * "receiver not ready": these retries are unlimited, since they are the flow control of
 * messages. A peer that posts no receive any more would block the sender forever, and TEST LINK
 * does not detect this if the peer keeps sending. So a link also fails if its oldest request
 * does not complete for net.smc.smcr_stall_time.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <smc/base/settings.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/wr.h>
#include "internal.h"

#define CHECKS		4	/* per net.smc.smcr_stall_time */
#define CHECKS_SAME	2	/* with the same result before the check that decides */

/* ---- checks by this host ---- */

/* Return the probe of @link, cleared if the link is new in its slot. test_work only. */
static struct llc_probe *test_link_get_probe(struct smc_llc *llc, const struct smc_link *link)
{
	struct llc_probe *probe = &llc->probes[link->slot];

	if (probe->link != link) {
		memset(probe, 0, sizeof(*probe));
		probe->link = link;
	}
	return probe;
}

/*
 * The clock alone proves nothing: a host that was suspended, or had no CPU for a long time, could
 * not process the completion. So several checks must find the same request, with time for
 * completions in between.
 */
static void test_link_count_check(struct llc_probe *probe, unsigned long since,
				  unsigned long limit)
{
	if (probe->stalled != since) {
		probe->stalled = since;
		probe->checks = 0;
	} else if (time_after_eq(jiffies, probe->checked + limit / (2 * CHECKS))) {
		probe->checks++;
	} else {
		return;
	}
	probe->checked = jiffies;
}

/*
 * Fail @link if its oldest request has been the next to complete for longer than
 * net.smc.smcr_stall_time. The time starts anew with each completion, so a long queue of a slow
 * link does no harm. Return the jiffies until the next check.
 */
static unsigned long test_link_check_stall(struct smc_llc *llc, struct llc_probe *probe,
					   struct smc_link *link)
{
	int secs = READ_ONCE(smc_settings_get(llc->lgr->net)->stall_time);
	unsigned long limit = secs * (unsigned long)HZ, since;

	if (!secs)
		return MAX_JIFFY_OFFSET;
	if (!smc_qp_owes_completion(link->qp, &since)) {
		probe->checks = 0;
		return limit / CHECKS;
	}
	test_link_count_check(probe, since, limit);
	if (time_before(jiffies, since + limit))
		return min(since + limit - jiffies, limit / CHECKS);
	if (probe->checks >= CHECKS_SAME)
		smc_link_fail(link, SMC_LINK_STALLED);
	return limit / CHECKS;
}

/*
 * Send TEST LINK if @link has received nothing for @silence jiffies; fail the link if nothing has
 * arrived in time. Return the jiffies until the next check.
 */
static unsigned long test_link_probe(struct smc_llc *llc, struct llc_probe *probe,
				     struct smc_link *link, unsigned long silence)
{
	int secs = READ_ONCE(smc_settings_get(llc->lgr->net)->testlink_timeout);
	unsigned long timeout = smc_settings_jiffies(secs);
	unsigned long last = READ_ONCE(link->last_rx), due;
	struct smc_llc_msg msg;

	if (probe->waiting && time_after_eq(last, probe->sent))
		probe->waiting = false;
	if (probe->waiting) {
		due = probe->sent + timeout;
		if (time_before(jiffies, due))
			return due - jiffies;
		smc_link_fail(link, SMC_LINK_TEST_TIMEOUT);
		return silence;
	}
	due = last + silence;
	if (time_before(jiffies, due))
		return due - jiffies;
	probe->sent = jiffies;
	probe->waiting = true;
	smc_llc_send_prepare(llc, &msg, SMC_LLC_TEST_LINK, false);
	smc_llc_send_msg(link, &msg);
	return timeout;
}

/**
 * smc_test_link_work() - check all usable links of a group
 * @work: smc_llc.test_work
 *
 * Runs again when the next check is due, at least every 30 s, so that a setting that was
 * switched on takes effect.
 */
void smc_test_link_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, test_work);
	int secs = READ_ONCE(smc_settings_get(llc->lgr->net)->testlink_time);
	unsigned long silence = MAX_JIFFY_OFFSET, next, t;
	struct llc_probe *probe;
	struct smc_link *link;

	if (secs > 0)
		silence = smc_settings_jiffies(secs);
	next = min(silence, 30UL * HZ);
	spin_lock_bh(&llc->lock);
	if (llc->suspect) {
		silence = 0;
		llc->suspect = false;
		llc->suspect_checked = jiffies;
	}
	spin_unlock_bh(&llc->lock);
	smc_lgr_for_each_link(llc->lgr, link) {
		if (!smc_link_usable(link))
			continue;
		probe = test_link_get_probe(llc, link);
		t = test_link_check_stall(llc, probe, link);
		next = min(next, t);
		t = test_link_probe(llc, probe, link, silence);
		next = min(next, t);
	}
	smc_llc_timer_test_due(llc, max(next, 1UL));
}

/* ---- requests of the peer ---- */

/* Take the answer that @link owes. Return false if it owes none. */
static bool test_link_take_answer(struct smc_llc *llc, const struct smc_link *link,
				  struct smc_llc_msg *msg)
{
	struct llc_test_answer *answer = &llc->test_answers[link->slot];
	bool taken;

	spin_lock_bh(&llc->lock);
	/* the previous link of the slot may have left one */
	taken = answer->owed && answer->uid == link->uid && !llc->dead;
	if (taken)
		memcpy(msg->test_link.data, answer->data, sizeof(answer->data));
	WRITE_ONCE(answer->owed, false);
	spin_unlock_bh(&llc->lock);
	return taken;
}

/**
 * smc_test_link_send_answer() - send the answer to TEST LINK that a link owes, if it has a slot
 * @link: link
 *
 * Softirq: after a request, and when a slot is free again.
 */
void smc_test_link_send_answer(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);
	struct smc_wr_slot *slot;
	struct smc_llc_msg msg;

	if (!READ_ONCE(llc->test_answers[link->slot].owed))
		return;
	smc_llc_send_prepare(llc, &msg, SMC_LLC_TEST_LINK, true);
	/* the slot first: if there is none, the answer must be owed when the next one is free */
	slot = smc_llc_slot_try(link, &msg);
	if (!slot)
		return;
	if (test_link_take_answer(llc, link, &msg))
		smc_llc_slot_post(link, slot, &msg);
	else
		smc_wr_slot_put(slot);
}

/**
 * smc_test_link_receive() - answer TEST LINK
 * @llc: LLC state
 * @link: link that received the request
 * @req: request; the response repeats its user data
 *
 * At once, whatever the works of the group wait for: a peer that gets no answer in time gives the
 * link up. If no slot is free, the answer to the last request is sent when one is; a peer that
 * sends more requests than that has its answer then, too. Softirq.
 */
void smc_test_link_receive(struct smc_llc *llc, struct smc_link *link,
			   const struct smc_llc_msg *req)
{
	struct llc_test_answer *answer = &llc->test_answers[link->slot];

	spin_lock_bh(&llc->lock);
	memcpy(answer->data, req->test_link.data, sizeof(answer->data));
	answer->uid = link->uid;
	WRITE_ONCE(answer->owed, true);
	spin_unlock_bh(&llc->lock);
	smc_test_link_send_answer(link);
}

/* ---- checks on order ---- */

/**
 * smc_test_link_probe_lgr() - send TEST LINK over each link of a group now
 * @lgr: group
 *
 * A link that receives nothing within net.smc.smcr_testlink_timeout fails. Any context.
 */
void smc_test_link_probe_lgr(struct smc_lgr *lgr)
{
	smc_llc_timer_peer_suspected(lgr->llc);
}

/**
 * struct test_link_target - argument of the walks over groups
 * @net: namespace
 * @gid: peer GID
 * @except: group to leave out, or NULL
 * @eldest: result of test_link_find_eldest(), with a reference
 */
struct test_link_target {
	struct net *net;
	const union ib_gid *gid;
	const struct smc_lgr *except;
	struct smc_lgr *eldest;
};

/* Groups in their first contact are new and need no check. */
static bool test_link_matches(const struct smc_lgr *lgr, const struct test_link_target *t)
{
	return lgr != t->except && lgr->net == t->net && lgr->ready && !READ_ONCE(lgr->dead) &&
	       !memcmp(&lgr->peer.gid, t->gid, sizeof(*t->gid));
}

/* The newest group comes first. */
static int test_link_find_eldest(struct smc_lgr *lgr, void *arg)
{
	struct test_link_target *t = arg;

	if (!test_link_matches(lgr, t))
		return 0;
	if (t->eldest)
		smc_lgr_put(t->eldest);
	smc_lgr_get(lgr);
	t->eldest = lgr;
	return 0;
}

static int test_link_probe_matching(struct smc_lgr *lgr, void *arg)
{
	if (test_link_matches(lgr, arg))
		smc_test_link_probe_lgr(lgr);
	return 0;
}

/**
 * smc_test_link_probe_gid() - the peer at a GID has lost a group: check its other groups
 * @net: namespace
 * @gid: peer GID
 *
 * It has not lost all of them for certain, nor the oldest one, so each is checked (RFC 7609 section
 * A.2.5). Process context.
 */
void smc_test_link_probe_gid(struct net *net, const union ib_gid *gid)
{
	struct test_link_target t = { .net = net, .gid = gid };

	smc_lgr_for_each(test_link_probe_matching, &t);
}

/* Let a group stand for all others of its peer, unless it has ended. */
static bool test_link_choose(struct smc_llc *llc)
{
	bool alive;

	/* smc_test_link_lgr_ended() comes later, and sees it */
	spin_lock_bh(&llc->lock);
	alive = !llc->dead;
	if (alive)
		llc->eldest = true;
	spin_unlock_bh(&llc->lock);
	return alive;
}

/**
 * smc_test_link_probe_eldest() - the peer at a GID starts a first contact: check its oldest group
 * @net: namespace
 * @gid: peer GID
 *
 * A peer that lost power, or its module, returns with another peer ID, or with the same one,
 * which is zero for some peers. Any host can forge such a first contact, so the groups are not
 * ended: TEST LINK is sent over the links of the oldest one at once, whatever
 * net.smc.smcr_testlink_time says. No restart of the peer can have left that one alive and ended a
 * younger one. If a link of it does not answer, the others are checked. Process context.
 */
void smc_test_link_probe_eldest(struct net *net, const union ib_gid *gid)
{
	struct test_link_target t = { .net = net, .gid = gid };
	bool alive;

	do {
		t.eldest = NULL;
		smc_lgr_for_each(test_link_find_eldest, &t);
		if (!t.eldest)
			return;
		alive = test_link_choose(t.eldest->llc);
		smc_test_link_probe_lgr(t.eldest);
		smc_lgr_put(t.eldest);
		/* if it has ended since, the next walk passes over it */
	} while (!alive);
}

/* Return whether a peer that is gone looks like that. */
static bool test_link_is_loss(enum smc_link_reason reason)
{
	return reason == SMC_LINK_QP_ERROR || reason == SMC_LINK_TEST_TIMEOUT ||
	       reason == SMC_LINK_STALLED;
}

static void test_link_check_others(struct smc_lgr *lgr)
{
	struct test_link_target t = { .net = lgr->net, .gid = &lgr->peer.gid, .except = lgr };

	smc_lgr_for_each(test_link_probe_matching, &t);
}

/**
 * smc_test_link_link_lost() - a link was lost: check the groups that its group stood for
 * @lgr: group
 * @link: its link
 *
 * All at once: their links fail after the same time. The group may live on over other RNICs, when
 * only one of the peer was reset. Process context, no lock.
 */
void smc_test_link_link_lost(struct smc_lgr *lgr, const struct smc_link *link)
{
	if (READ_ONCE(lgr->llc->eldest) && test_link_is_loss(atomic_read(&link->reason)) &&
	    !memcmp(&link->peer_gid, &lgr->peer.gid, sizeof(link->peer_gid)))
		test_link_check_others(lgr);
}

/**
 * smc_test_link_lgr_ended() - a group has ended: check those that it stood for
 * @lgr: dead group; its LLC state is marked dead, too
 *
 * If it did not end because the peer is gone, it has left no answer, and the oldest of the others
 * has to give one. Process context, no lock.
 */
void smc_test_link_lgr_ended(struct smc_lgr *lgr)
{
	if (!READ_ONCE(lgr->llc->eldest) || lgr->reason == SMC_LINK_NET_EXIT)
		return;
	if (test_link_is_loss(lgr->reason))
		test_link_check_others(lgr);
	else
		smc_test_link_probe_eldest(lgr->net, &lgr->peer.gid);
}
