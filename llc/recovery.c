// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the links of a group are looked after: who wants it, and how soon. What is then
 * done is in llc/delete_link.c.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/string.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "internal.h"

#define RECOVERY_MIN	(3 * HZ)	/* before a link is tried again for the first time */
#define RECOVERY_MAX	(300 * HZ)	/* ... and after many in vain */
#define RECOVERY_FORGET	(600 * HZ)	/* no attempt for so long: what was before is forgotten */
#define RECOVERY_SOON	(HZ / 4)	/* what belongs together has come by then */
#define RECOVERY_GAP	(1 * HZ)	/* between two attempts, whoever asks */
#define REQUEST_TIME	(40 * HZ)	/* for a server to find out by itself that a link is lost */

/**
 * smc_recovery_arm() - look after the links soon
 * @llc: LLC state; llc->lock held
 * @delay: not later than after so many jiffies
 */
void smc_recovery_arm(struct smc_llc *llc, unsigned long delay)
{
	struct llc_heal *heal = &llc->heal;
	unsigned long at = jiffies + delay;

	lockdep_assert_held(&llc->lock);
	if (llc->dead || (heal->armed && time_before_eq(heal->at, at)))
		return;
	heal->armed = true;
	heal->at = at;
	mod_delayed_work(smc_llc_wait_wq, &heal->work, delay);
}

/* Many groups lose a link at once: they need not come back at once. */
static unsigned long recovery_spread_delay(unsigned long delay)
{
	return delay + get_random_u32() % (delay / 4 + 1);
}

/**
 * smc_recovery_count_usable() - links of a group that can be used
 * @lgr: group
 *
 * Return: how many.
 */
unsigned int smc_recovery_count_usable(struct smc_lgr *lgr)
{
	struct smc_link *link;
	unsigned int n = 0;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		n += smc_link_usable(link);
		smc_link_put(link);
	}
	return n;
}

/**
 * smc_recovery_is_capped() - has the group as many links as the operators have left it
 * @llc: LLC state
 *
 * What changes on either host does not bring back a link that was removed by an operator's
 * word; one that was lost besides comes back.
 *
 * Return: true if there is to be no further one but by such a word.
 */
bool smc_recovery_is_capped(struct smc_llc *llc)
{
	u8 cap = READ_ONCE(llc->heal.cap);

	return cap && smc_recovery_count_usable(llc->lgr) >= cap;
}

/* An operator, here or there, wants link @num to go; both hosts may say so. llc->lock held. */
static void recovery_cap_lower(struct llc_heal *heal, u8 num, enum smc_llc_word word)
{
	u8 now = heal->cap ?: heal->most;

	if (word == LLC_DELETE_BY_OPERATOR)
		heal->held = true;
	if (memchr(heal->unwanted, num, sizeof(heal->unwanted)))
		return;
	heal->unwanted[heal->nunwanted++ % SMC_CORE_LINKS] = num;
	WRITE_ONCE(heal->cap, now > 2 ? now - 1 : 1);
}

/* As many as the two hosts can have. llc->lock held. */
static void recovery_cap_lift(struct llc_heal *heal)
{
	WRITE_ONCE(heal->cap, 0);
	heal->held = false;
}

/* Link @num is another one now. llc->lock held. */
static void recovery_cap_forget_num(struct llc_heal *heal, u8 num)
{
	u8 *was = memchr(heal->unwanted, num, sizeof(heal->unwanted));

	if (was)
		*was = 0;
}

/**
 * smc_recovery_ports_changed() - our ports or GIDs have changed
 * @llc: LLC state
 *
 * Any context.
 */
void smc_recovery_ports_changed(struct smc_llc *llc)
{
	spin_lock_bh(&llc->lock);
	llc->heal.period = 0;
	llc->heal.ports = true;
	smc_recovery_arm(llc, recovery_spread_delay(RECOVERY_SOON));
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_peer_request() - the client says that it has a port
 * @llc: LLC state
 * @asked: it wants to hear if we have none
 *
 * However often it says so, there is no more than one look per second.
 */
void smc_recovery_peer_request(struct smc_llc *llc, bool asked)
{
	/* one of our kind would not say so unless its operator wants it */
	bool ordered = llc->lgr->peer.marker && smc_recovery_is_capped(llc);
	unsigned long gap;
	bool held;

	spin_lock_bh(&llc->lock);
	/* any peer can say that it is of our kind: no such word undoes what our operator said */
	held = ordered && llc->heal.held;
	if (ordered && !held)
		recovery_cap_lift(&llc->heal);
	llc->heal.any = true;
	llc->heal.asked |= asked;
	gap = llc->heal.last + RECOVERY_GAP - jiffies;
	smc_recovery_arm(llc, llc->heal.last && gap <= RECOVERY_GAP ? gap : 0);
	spin_unlock_bh(&llc->lock);
	if (held)
		pr_info_ratelimited("group %08x: the peer wants one more link, but a link was removed here: 'smcctl link add' lets it in\n",
				    llc->lgr->id);
}

/**
 * smc_recovery_retry_later() - a link was lost, or could not be made
 * @llc: LLC state
 *
 * Again after a while, longer after each attempt: links that are lost together are one reason.
 * A link that is lost after a long time in which all was well is like the first one.
 */
void smc_recovery_retry_later(struct smc_llc *llc)
{
	struct llc_heal *heal = &llc->heal;

	spin_lock_bh(&llc->lock);
	heal->any = true;
	heal->again = true;
	/* well beyond RECOVERY_MAX: it is not that attempts fail, there was no need for one */
	if (heal->last && time_after(jiffies, heal->last + RECOVERY_FORGET))
		heal->period = 0;
	if (heal->tried || !heal->period)
		heal->period = clamp_t(unsigned long, 2 * heal->period, RECOVERY_MIN, RECOVERY_MAX);
	heal->tried = false;
	smc_recovery_arm(llc, recovery_spread_delay(heal->period));
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_delete_link_request_later() - client: leave it to the server to discover that a link is gone
 * @llc: LLC state
 * @link: the link
 *
 * An in-tree server that hears of a lost link while its end of it still tries to send waits,
 * with the turn of all its exchanges, until that has succeeded or failed. Soft-RoCE never
 * fails: the server hangs. One that finds out by itself (its retries, TEST LINK) ends the
 * queue pair first. Ours are not like that.
 *
 * Return: true if it has to be so; the server hears of it later.
 */
bool smc_delete_link_request_later(struct smc_llc *llc, const struct smc_link *link)
{
	struct llc_heal *heal = &llc->heal;

	if (llc->lgr->role != SMC_CLIENT || llc->lgr->peer.marker)
		return false;
	spin_lock_bh(&llc->lock);
	heal->wishes[link->slot] = link->num;
	heal->wish_at[link->slot] = jiffies + REQUEST_TIME;
	smc_recovery_arm(llc, REQUEST_TIME);
	spin_unlock_bh(&llc->lock);
	return true;
}

/* One of them whose time has come; 0: none, or not yet. */
static u8 delete_link_next_request(struct smc_llc *llc)
{
	struct llc_heal *heal = &llc->heal;
	u8 num = 0;
	u32 slot;

	spin_lock_bh(&llc->lock);
	for (slot = 0; slot < SMC_CORE_LINKS && !num; slot++) {
		if (!heal->wishes[slot])
			continue;
		if (time_before(jiffies, heal->wish_at[slot])) {
			smc_recovery_arm(llc, heal->wish_at[slot] - jiffies);
			continue;
		}
		num = heal->wishes[slot];
		heal->wishes[slot] = 0;
	}
	spin_unlock_bh(&llc->lock);
	return num;
}

/**
 * smc_delete_link_send_requests() - client: name the lost links that the server has not deleted by now
 * @llc: LLC state
 *
 * Process context, as smc_llc_send_msg().
 */
void smc_delete_link_send_requests(struct smc_llc *llc)
{
	struct smc_link *link = smc_core_pick_link(llc->lgr);
	u8 num;

	if (!link)
		return;
	for (num = delete_link_next_request(llc); num; num = delete_link_next_request(llc))
		smc_llc_send_delete_link(link, num, SMC_LLC_DEL_LOST_PATH, false);
	smc_link_put(link);
}

/**
 * smc_delete_link_cancel_request() - client: the server deletes a link
 * @llc: LLC state
 * @num: number of the link
 */
void smc_delete_link_cancel_request(struct smc_llc *llc, u8 num)
{
	u32 slot;

	spin_lock_bh(&llc->lock);
	for (slot = 0; slot < SMC_CORE_LINKS; slot++)
		if (llc->heal.wishes[slot] == num)
			llc->heal.wishes[slot] = 0;
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_delete_link_report_lost() - a link that could be used has failed
 * @llc: LLC state
 * @link: the link
 *
 * The peer hears of it over another one, a server of another kind later. Process context, as
 * smc_llc_send_msg().
 */
void smc_delete_link_report_lost(struct smc_llc *llc, const struct smc_link *link)
{
	struct smc_link *other = smc_core_other_link(llc->lgr, link);

	if (!other)
		return;
	smc_recovery_retry_later(llc);
	/* server: the deletion; client: the wish; the answer changes nothing */
	if (!smc_delete_link_request_later(llc, link))
		smc_llc_send_delete_link(other, link->num, SMC_LLC_DEL_LOST_PATH, false);
	smc_link_put(other);
}

/**
 * smc_recovery_link_added() - a link was made
 * @llc: LLC state
 * @num: its number, which may have been that of one that an operator removed
 *
 * There may be one more to make, or one that is no longer needed. The period stays: a link
 * that is lost over and over again is not made over and over again.
 */
void smc_recovery_link_added(struct smc_llc *llc, u8 num)
{
	unsigned int usable = smc_recovery_count_usable(llc->lgr);

	spin_lock_bh(&llc->lock);
	recovery_cap_forget_num(&llc->heal, num);
	llc->heal.most = max_t(unsigned int, llc->heal.most, usable);
	/* the server's operator wanted it; here it may have been under way when one was removed */
	if (llc->lgr->role == SMC_CLIENT && usable > llc->heal.cap)
		recovery_cap_lift(&llc->heal);
	llc->heal.again = false;
	llc->heal.ports = true;
	smc_recovery_arm(llc, RECOVERY_SOON);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_link_rejected() - the client refused a link
 * @llc: LLC state
 * @further: it was to be over a port that the group does not use
 *
 * It will say when that changes; unless it is the way between the ports that fails.
 */
void smc_recovery_link_rejected(struct smc_llc *llc, bool further)
{
	if (further || READ_ONCE(llc->heal.again))
		smc_recovery_retry_later(llc);
}

/**
 * smc_recovery_add_ordered() - the operator wants one more link
 * @llc: LLC state
 *
 * At once, however often it has failed.
 */
void smc_recovery_add_ordered(struct smc_llc *llc)
{
	spin_lock_bh(&llc->lock);
	recovery_cap_lift(&llc->heal);
	llc->heal.period = 0;
	llc->heal.any = true;
	llc->heal.wanted = true;
	smc_recovery_arm(llc, 0);
	spin_unlock_bh(&llc->lock);
}

static void recovery_forget_reasons(struct llc_heal *heal)
{
	heal->any = false;
	heal->ports = false;
	heal->again = false;
	heal->wanted = false;
}

/* The group never had so many links but for a moment. llc->lock held. */
static void recovery_most_decrement(struct llc_heal *heal)
{
	if (heal->most > 1)
		heal->most--;
}

/**
 * smc_recovery_redundant_removed() - client: an asymmetric link goes, since a symmetric one has come
 * @llc: LLC state
 */
void smc_recovery_redundant_removed(struct smc_llc *llc)
{
	spin_lock_bh(&llc->lock);
	recovery_most_decrement(&llc->heal);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_delete_ordered() - the operator of the peer has removed a link
 * @llc: LLC state
 * @num: its number; our end may have failed by then
 *
 * It is not to be back, be it for the sake of what was to be done before.
 */
void smc_recovery_delete_ordered(struct smc_llc *llc, u8 num)
{
	spin_lock_bh(&llc->lock);
	recovery_forget_reasons(&llc->heal);
	recovery_cap_lower(&llc->heal, num, LLC_DELETE_BY_PEER);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_delete_link_schedule() - a link has to go
 * @llc: LLC state
 * @link: the link
 * @reason: enum smc_llc_del_reason
 * @word: whose word it goes by; a client can go by nothing but its operator's
 */
void smc_delete_link_schedule(struct smc_llc *llc, const struct smc_link *link, u32 reason,
		       enum smc_llc_word word)
{
	u32 slot = link->slot;

	spin_lock_bh(&llc->lock);
	if (word != LLC_DELETE_UNORDERED) {
		recovery_forget_reasons(&llc->heal);
		recovery_cap_lower(&llc->heal, link->num, word);
	} else if (reason == SMC_LLC_DEL_ASYMMETRIC && !test_bit(slot, &llc->heal.doomed)) {
		recovery_most_decrement(&llc->heal);
	}
	__set_bit(slot, &llc->heal.doomed);
	__assign_bit(slot, &llc->heal.ordered, word != LLC_DELETE_UNORDERED);
	llc->heal.nums[slot] = link->num;
	llc->heal.reason[slot] = reason;
	smc_recovery_arm(llc, 0);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_delete_link_take_response() - the client answers our DELETE LINK
 * @llc: LLC state
 * @num: number of the link
 */
void smc_delete_link_take_response(struct smc_llc *llc, u8 num)
{
	spin_lock_bh(&llc->lock);
	if (num && num == llc->heal.deleting)
		llc->heal.deleted = true;
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
}
