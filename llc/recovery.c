// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of lost links: decides whether and when a group tries to add a link (RFC 7609
 * sections 3.5.5.1 and C.8). Attempts are triggered by changed ports, by lost links, by the
 * peer, by the operator, and after a failure by a back-off timer. Operators who remove links
 * set a limit that recovery respects.
 *
 * The attempts are made by llc_recovery_work() in smc_llc.c.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/string.h>
#include <smc/base/log.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "internal.h"

#define RECOVERY_MIN	(3 * HZ)	/* back-off after the first failure */
#define RECOVERY_MAX	(300 * HZ)	/* back-off after many failures */
#define RECOVERY_FORGET	(600 * HZ)	/* no attempt for so long resets the back-off */
#define RECOVERY_SOON	(HZ / 4)	/* collects events that belong together */
#define RECOVERY_GAP	(1 * HZ)	/* between attempts requested by the client */
#define READY_AGAIN	(3 * HZ)	/* check whether the first contact is over */
#define TURN_AGAIN	(HZ / 5)	/* check whether the other exchange is over */

/* Add up to a quarter: many groups lose a link at once, and should not recover at once. */
static unsigned long recovery_spread_delay(unsigned long delay)
{
	return delay + get_random_u32() % (delay / 4 + 1);
}

/* ---- limit on the number of links ---- */

/**
 * smc_recovery_count_usable() - count the usable links of a group
 * @lgr: group
 *
 * Any context.
 *
 * Return: number of links.
 */
unsigned int smc_recovery_count_usable(struct smc_lgr *lgr)
{
	struct smc_link *link;
	unsigned int n = 0;

	smc_lgr_for_each_link(lgr, link)
		n += smc_link_usable(link);
	return n;
}

/**
 * smc_recovery_is_capped() - check the limit that operators have set by removing links
 * @llc: LLC state
 *
 * Recovery does not bring back a link that an operator removed, but does bring back a link
 * that was lost besides. Any context, without llc->lock.
 *
 * Return: true if a further link needs an operator's order.
 */
bool smc_recovery_is_capped(struct smc_llc *llc)
{
	u8 max = READ_ONCE(llc->cap.max);

	return max && smc_recovery_count_usable(llc->lgr) >= max;
}

/* An operator ordered the removal of link @num. Both hosts may report the same order. */
static void recovery_cap_lower(struct llc_link_cap *cap, u8 num, enum llc_delete_order order)
{
	u8 now = cap->max ?: cap->most;

	if (order == LLC_DELETE_BY_OPERATOR)
		cap->held = true;
	if (memchr(cap->removed, num, sizeof(cap->removed)))
		return;
	cap->removed[cap->nremoved++ % SMC_LGR_LINKS] = num;
	WRITE_ONCE(cap->max, now > 2 ? now - 1 : 1);
}

static void recovery_cap_lift(struct llc_link_cap *cap)
{
	WRITE_ONCE(cap->max, 0);
	cap->held = false;
}

/* Link number @num is in use again: its next removal lowers the limit again. */
static void recovery_cap_forget_num(struct llc_link_cap *cap, u8 num)
{
	u8 *was = memchr(cap->removed, num, sizeof(cap->removed));

	if (was)
		*was = 0;
}

/* ---- attempts ---- */

/**
 * smc_recovery_begin() - start a run of the recovery work
 * @llc: LLC state
 * @any_port: result: a link over a port that the group uses already is acceptable
 * @ports: result: ports of this host have changed
 *
 * While the first contact runs, the work is postponed by 3 s. Whatever event causes this run, a
 * lost or failed link waits for its own time.
 *
 * Return: false if there is nothing to do now.
 */
bool smc_recovery_begin(struct smc_llc *llc, bool *any_port, bool *ports)
{
	struct llc_recovery *rec = &llc->recovery;
	struct smc_lgr *lgr = llc->lgr;
	unsigned long left;

	spin_lock_bh(&llc->lock);
	rec->armed = false;
	/* a time that is over may be very long ago */
	left = rec->retry_at - jiffies;
	if (left > RECOVERY_MAX + RECOVERY_MAX / 4)
		left = 0;
	if (rec->retry && left)
		smc_llc_timer_recovery_due(llc, left);
	*any_port = rec->any_port || (rec->retry && !left);
	*ports = rec->ports;
	if (!READ_ONCE(lgr->ready))
		smc_llc_timer_recovery_due(llc, READY_AGAIN);
	spin_unlock_bh(&llc->lock);
	return !READ_ONCE(llc->dead) && READ_ONCE(lgr->ready);
}

/**
 * smc_recovery_take_turn() - take the turn for an exchange, or run the recovery work again
 * @llc: LLC state; llc->lock held
 * @input: SMC_LLC_DO_* that starts the exchange
 *
 * Return: true if the caller has the turn, to be given back with llc_turn_end(). False if
 * another exchange has it; the recovery work runs again after 200 ms.
 */
bool smc_recovery_take_turn(struct smc_llc *llc, enum smc_llc_input input)
{
	bool taken;

	lockdep_assert_held(&llc->lock);
	taken = !llc_lost_link_waits(llc) && llc_turn_take(llc, input);
	if (!taken)
		smc_llc_timer_recovery_due(llc, TURN_AGAIN);
	return taken;
}

/**
 * smc_recovery_note_attempt() - record an attempt to add a link
 * @llc: LLC state; llc->lock held
 */
void smc_recovery_note_attempt(struct smc_llc *llc)
{
	lockdep_assert_held(&llc->lock);
	llc->recovery.last = jiffies ?: 1;
	llc->recovery.tried = true;
}

/* ---- orders that name the ends of the link ---- */

static void recovery_wish_forget(struct llc_recovery *rec)
{
	memset(&rec->wish, 0, sizeof(rec->wish));
	WRITE_ONCE(rec->wish_due, false);
}

/**
 * smc_recovery_has_wish() - check whether an order waits that names the ends of the link
 * @llc: LLC state
 *
 * Any context.
 *
 * Return: true if so.
 */
bool smc_recovery_has_wish(struct smc_llc *llc)
{
	return READ_ONCE(llc->recovery.wish_due);
}

/**
 * smc_recovery_get_wish() - begin the attempt for such an order
 * @llc: LLC state
 * @wish: result; empty if the order was taken back meanwhile
 *
 * A client that has sent its request is done; a server has to take the order when it has the turn.
 * Other reasons for a link have an attempt of their own, a little later. Any context.
 */
void smc_recovery_get_wish(struct smc_llc *llc, struct smc_link_wish *wish)
{
	struct llc_recovery *rec = &llc->recovery;

	spin_lock_bh(&llc->lock);
	smc_recovery_note_attempt(llc);
	*wish = rec->wish;
	if (llc->lgr->role == SMC_CLIENT)
		WRITE_ONCE(rec->wish_due, false);
	smc_llc_timer_recovery_due(llc, TURN_AGAIN);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_server_take_wish() - server: take the turn for such an order
 * @llc: LLC state; llc->lock held
 *
 * The last order counts, should there be another one meanwhile.
 *
 * Return: true if the order is that of the exchange now, which the caller begins.
 */
bool smc_recovery_server_take_wish(struct smc_llc *llc)
{
	struct llc_recovery *rec = &llc->recovery;

	lockdep_assert_held(&llc->lock);
	if (!rec->wish_due || !smc_recovery_take_turn(llc, SMC_LLC_DO_ADD_LINK))
		return false;
	llc->add.wish = rec->wish;
	recovery_wish_forget(rec);
	return true;
}

/**
 * smc_recovery_client_copy_wish() - client: the server's offer has to fit the order, if any
 * @llc: LLC state; llc->lock held, the exchange is about to begin
 *
 * Not before the request was sent: until then the server's reason is another one.
 */
void smc_recovery_client_copy_wish(struct smc_llc *llc)
{
	struct llc_recovery *rec = &llc->recovery;

	lockdep_assert_held(&llc->lock);
	if (!rec->wish_due && time_before(jiffies, rec->wish_until))
		llc->add.wish = rec->wish;
}

/**
 * smc_recovery_drop_wish() - such an order cannot be fulfilled
 * @llc: LLC state
 * @wish: the order; another one stays
 * @why: reason, for the kernel log
 *
 * Process context, without llc->lock.
 */
void smc_recovery_drop_wish(struct smc_llc *llc, const struct smc_link_wish *wish, const char *why)
{
	struct llc_recovery *rec = &llc->recovery;

	spin_lock_bh(&llc->lock);
	if (smc_link_wish_is_same(&rec->wish, wish))
		recovery_wish_forget(rec);
	spin_unlock_bh(&llc->lock);
	smc_link_wish_report(wish, llc, why);
}

/**
 * smc_recovery_refuse_wish() - client: the server refuses a request for a link
 * @llc: LLC state
 *
 * Process context, without llc->lock.
 */
void smc_recovery_refuse_wish(struct smc_llc *llc)
{
	struct smc_link_wish wish = {};

	spin_lock_bh(&llc->lock);
	if (!llc->recovery.wish_due)
		wish = llc->recovery.wish;
	spin_unlock_bh(&llc->lock);
	smc_recovery_drop_wish(llc, &wish, "the server offers none");
}

/**
 * smc_recovery_expire_wish() - drop an order that was not fulfilled in time
 * @llc: LLC state
 *
 * An exchange that runs may fulfil it. Recovery work.
 */
void smc_recovery_expire_wish(struct smc_llc *llc)
{
	struct llc_recovery *rec = &llc->recovery;
	struct smc_link_wish wish = {};
	long left;

	spin_lock_bh(&llc->lock);
	if (smc_link_wish_is_set(&rec->wish)) {
		left = rec->wish_until - jiffies;
		if (left <= 0 && !llc->add.active)
			wish = rec->wish;
		else
			smc_llc_timer_recovery_due(llc, max_t(long, left, TURN_AGAIN));
	}
	spin_unlock_bh(&llc->lock);
	if (smc_link_wish_is_set(&wish))
		smc_recovery_drop_wish(llc, &wish, "none was offered in time");
}

/* ---- events that trigger attempts ---- */

/**
 * smc_recovery_ports_changed() - ports or GIDs of this host have changed
 * @llc: LLC state
 *
 * Any context.
 */
void smc_recovery_ports_changed(struct smc_llc *llc)
{
	spin_lock_bh(&llc->lock);
	llc->recovery.period = 0;
	llc->recovery.ports = true;
	llc->recovery.retry_at = jiffies;
	smc_llc_timer_recovery_due(llc, recovery_spread_delay(RECOVERY_SOON));
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_peer_request() - server: the client requests a link
 * @llc: LLC state
 * @asker: link that received REQUEST ADD LINK, which is to be answered in any case; NULL: the
 *	request of version 1, which has no answer but an offer
 *
 * There is at most one attempt per second, however often the client requests. A request lifts
 * the limit on the number of links only if the client sends it on behalf of its operator alone
 * (SMC_CAP_LINK_ORDERS), and if the limit was not set by the operator of this host: any peer can
 * claim to be native.
 */
void smc_recovery_peer_request(struct smc_llc *llc, const struct smc_link *asker)
{
	bool ordered = smc_peer_can(&llc->lgr->peer, SMC_CAP_LINK_ORDERS) &&
		       smc_recovery_is_capped(llc);
	struct llc_recovery *rec = &llc->recovery;
	unsigned long gap;
	bool held;

	spin_lock_bh(&llc->lock);
	held = ordered && llc->cap.held;
	if (ordered && !held)
		recovery_cap_lift(&llc->cap);
	rec->any_port = true;
	if (asker)
		rec->asked[asker->slot] = asker->num;
	gap = rec->last + RECOVERY_GAP - jiffies;
	smc_llc_timer_recovery_due(llc, rec->last && gap <= RECOVERY_GAP ? gap : 0);
	spin_unlock_bh(&llc->lock);
	if (held)
		smc_log_write(llc->lgr->net,
			      "group %08x: the peer wants one more link, but a link was removed here: 'smcctl link add' lets it in\n",
			      llc->lgr->id);
}

/**
 * smc_recovery_has_requests() - check whether a REQUEST ADD LINK is to be answered
 * @llc: LLC state
 *
 * Any context, without llc->lock.
 *
 * Return: true if so.
 */
bool smc_recovery_has_requests(struct smc_llc *llc)
{
	bool found;

	spin_lock_bh(&llc->lock);
	found = memchr_inv(llc->recovery.asked, 0, sizeof(llc->recovery.asked));
	spin_unlock_bh(&llc->lock);
	return found;
}

/**
 * smc_recovery_take_requests() - server: take the requests of the client, to answer them now
 * @llc: LLC state
 * @nums: result: per slot: number of the link over which a request came, 0 = none
 *
 * Any context, without llc->lock.
 *
 * Return: true if there is one.
 */
bool smc_recovery_take_requests(struct smc_llc *llc, u8 *nums)
{
	struct llc_recovery *rec = &llc->recovery;

	spin_lock_bh(&llc->lock);
	memcpy(nums, rec->asked, sizeof(rec->asked));
	memset(rec->asked, 0, sizeof(rec->asked));
	spin_unlock_bh(&llc->lock);
	return memchr_inv(nums, 0, sizeof(rec->asked));
}

/**
 * smc_recovery_return_requests() - server: the answer was not sent
 * @llc: LLC state
 * @nums: from smc_recovery_take_requests()
 *
 * Any context, without llc->lock.
 */
void smc_recovery_return_requests(struct smc_llc *llc, const u8 *nums)
{
	struct llc_recovery *rec = &llc->recovery;
	u32 slot;

	spin_lock_bh(&llc->lock);
	for (slot = 0; slot < SMC_LGR_LINKS; slot++)
		if (!rec->asked[slot])
			rec->asked[slot] = nums[slot];
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_answer_later() - server: an exchange ends that has not answered all requests
 * @llc: LLC state
 *
 * Any context, without llc->lock.
 */
void smc_recovery_answer_later(struct smc_llc *llc)
{
	if (!smc_recovery_has_requests(llc))
		return;
	spin_lock_bh(&llc->lock);
	smc_llc_timer_recovery_due(llc, TURN_AGAIN);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_retry_later() - a link was lost or could not be added: try again after a while
 * @llc: LLC state
 *
 * The delay doubles with each attempt, from 3 s to 300 s; links that are lost together count
 * once. It starts anew if the last attempt was more than 600 s ago. Any context.
 */
void smc_recovery_retry_later(struct smc_llc *llc)
{
	struct llc_recovery *rec = &llc->recovery;
	unsigned long delay;

	spin_lock_bh(&llc->lock);
	WRITE_ONCE(rec->retry, true);
	/* RECOVERY_FORGET is well beyond RECOVERY_MAX: no attempt was needed for a long time */
	if (rec->last && time_after(jiffies, rec->last + RECOVERY_FORGET))
		rec->period = 0;
	if (rec->tried || !rec->period)
		rec->period = clamp_t(unsigned long, 2 * rec->period, RECOVERY_MIN,
				      RECOVERY_MAX);
	rec->tried = false;
	delay = recovery_spread_delay(rec->period);
	rec->retry_at = jiffies + delay;
	smc_llc_timer_recovery_due(llc, delay);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_attempt_failed() - an ADD LINK exchange did not add a link
 * @llc: LLC state
 *
 * Try again later. An operator's order that names the ends of the link is not repeated, so only
 * what was tried before is. add_work.
 */
void smc_recovery_attempt_failed(struct smc_llc *llc)
{
	if (!smc_link_wish_is_set(&llc->add.wish) || READ_ONCE(llc->recovery.retry))
		smc_recovery_retry_later(llc);
}

/**
 * smc_recovery_link_added() - a link was added
 * @llc: LLC state
 * @num: link number, possibly that of a link which an operator removed
 *
 * Runs the recovery work: a further link may be possible, or a link may be redundant now. The
 * back-off stays, so that a link that is lost again and again is added less and less often.
 * Process context.
 */
void smc_recovery_link_added(struct smc_llc *llc, u8 num)
{
	unsigned int usable = smc_recovery_count_usable(llc->lgr);
	struct llc_link_cap *cap = &llc->cap;

	spin_lock_bh(&llc->lock);
	recovery_cap_forget_num(cap, num);
	cap->most = max_t(unsigned int, cap->most, usable);
	/*
	 * The server's operator ordered this link. On a server the exchange may have begun before
	 * a link was removed, so a new link does not lift the limit, unless this one was ordered.
	 */
	if ((llc->lgr->role == SMC_CLIENT || smc_link_wish_is_set(&llc->add.wish)) &&
	    usable > cap->max)
		recovery_cap_lift(cap);
	if (smc_link_wish_is_same(&llc->recovery.wish, &llc->add.wish))
		recovery_wish_forget(&llc->recovery);
	WRITE_ONCE(llc->recovery.retry, false);
	llc->recovery.ports = true;
	smc_llc_timer_recovery_due(llc, RECOVERY_SOON);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_link_rejected() - server: the client rejected a link
 * @llc: LLC state
 * @new_port: the link was offered over a port that the group does not use
 *
 * Try again only if the path between the ports may be at fault, or if a link was lost before;
 * otherwise the client requests a link when it has a port.
 */
void smc_recovery_link_rejected(struct smc_llc *llc, bool new_port)
{
	if (new_port || READ_ONCE(llc->recovery.retry))
		smc_recovery_attempt_failed(llc);
}

/**
 * smc_recovery_add_ordered() - the operator of this host orders a link: try at once
 * @llc: LLC state
 * @wish: ends of the link, as far as they are named; replaces those of an earlier order
 *
 * Resets the back-off. Lifts the limit on the number of links; if the ends are named, that is
 * lifted when the link is added: otherwise an order that is not fulfilled would bring other links.
 * Any context.
 */
void smc_recovery_add_ordered(struct smc_llc *llc, const struct smc_link_wish *wish)
{
	struct llc_recovery *rec = &llc->recovery;
	bool named = smc_link_wish_is_set(wish);

	spin_lock_bh(&llc->lock);
	if (!named)
		recovery_cap_lift(&llc->cap);
	rec->period = 0;
	rec->any_port |= !named;
	rec->ordered |= !named;
	rec->wish = *wish;
	WRITE_ONCE(rec->wish_due, named);
	rec->wish_until = jiffies + LLC_WISH_TIME;
	smc_llc_timer_recovery_due(llc, 0);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_recovery_delete_ordered() - an operator orders the removal of a link
 * @llc: LLC state; llc->lock held
 * @num: link number; the link may have failed already
 * @order: whose order
 *
 * Do not re-add the link: cancel pending attempts and lower the limit on the number of links.
 */
void smc_recovery_delete_ordered(struct smc_llc *llc, u8 num, enum llc_delete_order order)
{
	struct llc_recovery *rec = &llc->recovery;

	lockdep_assert_held(&llc->lock);
	rec->any_port = false;
	rec->ports = false;
	WRITE_ONCE(rec->retry, false);
	rec->ordered = false;
	recovery_wish_forget(rec);
	recovery_cap_lower(&llc->cap, num, order);
}

/**
 * smc_recovery_redundant_removed() - a redundant asymmetric link is removed
 * @llc: LLC state; llc->lock held
 *
 * The limit on the number of links is computed without this link, which existed only until
 * a symmetric link was added.
 */
void smc_recovery_redundant_removed(struct smc_llc *llc)
{
	lockdep_assert_held(&llc->lock);
	if (llc->cap.most > 1)
		llc->cap.most--;
}
