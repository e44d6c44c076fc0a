// SPDX-License-Identifier: GPL-2.0-only
/*
 * DELETE LINK for one link: lost links, redundant asymmetric links, and links that an operator
 * removes (RFC 7609 sections 3.5.5.1.3, 3.5.5.1.4 and C.8). Only the server starts the exchange. A
 * client's DELETE LINK is a request that the server answers with an exchange of its own.
 *
 * Deletions of this host are scheduled per link slot and run by the recovery work, which may
 * wait for the peer. A lost link has left the group before the exchange begins, which is run by
 * lost_work, by link number. Received messages are processed by smc_llc.work.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <smc/base/log.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "internal.h"

#define REQUEST_TIME	(40 * HZ)	/* for a foreign server to detect a lost link itself */
#define QUIET_TIME	(HZ / 10)	/* a link without CDC messages for this long is quiet */
#define QUIET_MAX	(1 * HZ)	/* then a link is removed even if it is not quiet */
#define ACK_TIME	(HZ / 20)	/* for the peer to process what our RNIC has acknowledged */
#define LOST_TIME	(30 * HZ)	/* for the turn; longer than any other exchange lasts */

/* ---- server: the exchange ---- */

/* Check whether @link is the asymmetric link that is no longer needed. */
static bool delete_link_is_redundant(struct smc_lgr *lgr, const struct smc_link *link)
{
	struct smc_link *redundant = smc_topology_find_redundant(lgr);

	if (redundant)
		smc_link_put(redundant);
	return redundant == link;
}

/**
 * smc_delete_link_exchange() - server: send DELETE LINK and wait for the response
 * @llc: LLC state; the caller has the turn
 * @other: link that carries the exchange
 * @num: number of the link to delete
 * @reason: enum smc_llc_del_reason
 *
 * Process context, see smc_llc_send_msg().
 *
 * Return: true if the client has answered in time.
 */
bool smc_delete_link_exchange(struct smc_llc *llc, struct smc_link *other, u8 num, u32 reason)
{
	bool answered;

	spin_lock_bh(&llc->lock);
	llc->delete.pending = num;
	WRITE_ONCE(llc->delete.answered, false);
	spin_unlock_bh(&llc->lock);
	smc_llc_send_delete_link(other, num, reason);
	wait_event_timeout(llc->wait, READ_ONCE(llc->delete.answered) || READ_ONCE(llc->dead) ||
			   llc_link_broken(other), LLC_RSP_TIME);
	spin_lock_bh(&llc->lock);
	llc->delete.pending = 0;
	answered = llc->delete.answered;
	if (answered)
		__clear_bit(num, llc->delete.lost);	/* it was lost meanwhile */
	spin_unlock_bh(&llc->lock);
	return answered;
}

/* Our end of @victim goes. */
static void delete_link_note_removal(struct smc_llc *llc, const struct smc_link *victim, u32 reason)
{
	smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_DEL);
	smc_log_write(llc->lgr->net, "group %08x: link %u deleted, reason %08x\n", llc->lgr->id,
		      victim->num, reason);
}

/* Remove our end of @victim now; its connections are given @cause. */
static void delete_link_remove(struct smc_llc *llc, struct smc_link *victim, u32 reason,
			       enum smc_link_reason cause)
{
	delete_link_note_removal(llc, victim, reason);
	smc_lgr_del_link(victim, cause);
}

static bool delete_link_is_quiet(const struct smc_link *link, unsigned long since)
{
	unsigned long last = READ_ONCE(link->last_cdc);

	if (time_before(last, since))
		last = since;
	return time_after_eq(jiffies, last + QUIET_TIME);
}

/* Wait for @time, or until the group is dead or the link broken. */
static void delete_link_wait(struct smc_llc *llc, const struct smc_link *link, unsigned long time)
{
	wait_event_timeout(llc->wait, READ_ONCE(llc->dead) || llc_link_broken(link), time);
}

/*
 * Hold the connections of @link, so that they send nothing over it. Their peers soon run out of
 * receive window, or of messages to send without an answer.
 */
static void delete_link_quiesce(struct smc_llc *llc, struct smc_link *link)
{
	unsigned long since = jiffies, end = since + QUIET_MAX;

	smc_link_hold_conns(link, true);
	while (!delete_link_is_quiet(link, since) && time_before(jiffies, end) &&
	       !READ_ONCE(llc->dead) && !llc_link_broken(link))
		delete_link_wait(llc, link, QUIET_TIME / 4 ?: 1);
}

/*
 * Orderly removal with a foreign client: remove our end before sending DELETE LINK.
 *
 * An in-tree client that receives DELETE LINK while the link still works goes back to the last
 * acknowledged byte at once, and counts the space of bytes acknowledged later twice: its
 * application overwrites bytes that have not been sent. If instead the link ends first, this
 * client repeats only the bytes of connections that are open in both directions. Therefore the
 * link is quiesced before, so that nothing is in flight.
 */
static void delete_link_remove_first(struct smc_llc *llc, struct smc_link *victim, u32 reason)
{
	bool redundant = reason == SMC_LLC_DEL_ASYMMETRIC;
	struct smc_link *other;

	delete_link_quiesce(llc, victim);
	other = smc_lgr_pick_other_link(llc->lgr, victim);
	/* another link may have been lost meanwhile: keep this one */
	if (!other || (redundant && !delete_link_is_redundant(llc->lgr, victim))) {
		smc_link_hold_conns(victim, false);
		if (other)
			smc_link_put(other);
		return;
	}
	delete_link_remove(llc, victim, reason, SMC_LINK_ADMIN);
	delete_link_wait(llc, other, ACK_TIME);
	smc_delete_link_exchange(llc, other, victim->num, reason);
	smc_link_put(other);
}

/*
 * Run the exchange for @victim. The client has to answer before the queue pair is destroyed; if
 * it does not answer, the link is removed anyway. The caller has the turn, so no link is added
 * meanwhile, but the link that makes @victim redundant may be lost at any time. @ordered: by an
 * operator.
 */
static void delete_link_run(struct smc_llc *llc, struct smc_link *victim, u32 reason, bool ordered)
{
	bool redundant = reason == SMC_LLC_DEL_ASYMMETRIC, orderly = redundant || ordered;
	bool keep_last = orderly;
	struct smc_link *other;

	if (redundant && !delete_link_is_redundant(llc->lgr, victim))
		return;
	if (orderly && !smc_peer_can(&llc->lgr->peer, SMC_CAP_DELETE_WORKING)) {
		delete_link_remove_first(llc, victim, reason);
		return;
	}
	other = smc_lgr_pick_other_link(llc->lgr, victim);
	if (other) {
		/* the client removes its end when it has answered: this is no failure */
		if (orderly)
			smc_link_expect_removal(victim, SMC_LINK_ADMIN);
		keep_last &= !smc_delete_link_exchange(llc, other, victim->num, reason);
		smc_link_put(other);
		other = smc_lgr_pick_other_link(llc->lgr, victim);
	}
	if (!other) {
		/* @victim is the last link: keep it, or end the group */
		smc_link_expect_removal(victim, SMC_LINK_OK);
		if (!keep_last)
			smc_lgr_terminate(llc->lgr, SMC_LINK_PEER_DELETED);
		return;
	}
	delete_link_remove(llc, victim, reason, orderly ? SMC_LINK_ADMIN : SMC_LINK_PEER_DELETED);
	smc_link_put(other);
}

/* ---- server: lost links; lost_work ---- */

/* DELETE LINK for a lost link is due: any context. */
static void delete_link_add_lost(struct smc_llc *llc, u8 num)
{
	spin_lock_bh(&llc->lock);
	if (!llc->dead) {
		__set_bit(num, llc->delete.lost);
		queue_work(llc->lgr->wq, &llc->lost_work);
	}
	spin_unlock_bh(&llc->lock);
}

/* Take the turn for the next lost link. Return its number; 0: there is none, or no turn in time. */
static u8 delete_link_begin_lost(struct smc_llc *llc)
{
	unsigned long end = jiffies + LOST_TIME;
	struct llc_delete *del = &llc->delete;
	bool taken, late;
	u32 num;

	for (;;) {
		spin_lock_bh(&llc->lock);
		late = llc->dead || time_after_eq(jiffies, end);
		num = find_first_bit(del->lost, LLC_LINK_NUMS);
		taken = num < LLC_LINK_NUMS && llc_turn_take(llc, SMC_LLC_DO_DELETE_LINK);
		if (taken)
			__clear_bit(num, del->lost);
		else if (late)
			/* the client detects the losses itself */
			bitmap_zero(del->lost, LLC_LINK_NUMS);
		spin_unlock_bh(&llc->lock);
		if (taken)
			return num;
		if (late || num >= LLC_LINK_NUMS)
			return 0;
		wait_event_timeout(llc->wait, READ_ONCE(llc->dead) ||
				   (READ_ONCE(llc->running) == SMC_LLC_X_IDLE &&
				    !READ_ONCE(llc->add.active)),
				   max_t(long, end - jiffies, 1));
	}
}

/*
 * Run the exchange for lost link @num; our end of it has failed. If the link that carries the
 * exchange is lost, too, another one carries it again.
 */
static void delete_link_run_lost(struct smc_llc *llc, u8 num)
{
	bool again = true;
	struct smc_link *other;

	while (again) {
		other = smc_lgr_pick_link(llc->lgr);
		if (!other)
			return;
		again = !smc_delete_link_exchange(llc, other, num, SMC_LLC_DEL_LOST_PATH) &&
			llc_link_broken(other) && !READ_ONCE(llc->dead);
		smc_link_put(other);
	}
}

/**
 * smc_delete_link_lost_work() - delete lost links, one after the other
 * @work: smc_llc.lost_work
 *
 * RFC 7609 section 3.5.5.3: the exchange starts when no other one runs. An in-tree client that is
 * adding a link takes any DELETE LINK for the end of that. Between two lost links the turn is
 * given back.
 */
void smc_delete_link_lost_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, lost_work);
	u8 num;

	while ((num = delete_link_begin_lost(llc))) {
		delete_link_run_lost(llc, num);
		spin_lock_bh(&llc->lock);
		if (llc->running == SMC_LLC_X_DELETE_LINK)
			llc_turn_end(llc);
		spin_unlock_bh(&llc->lock);
	}
}

/* ---- client: requests to the server ---- */

/*
 * If the server is foreign, let it detect the loss of @link itself, and request the deletion
 * only after 40 s.
 *
 * An in-tree server that receives DELETE LINK while its end still tries to send waits, with the
 * turn of all its exchanges, until the send has succeeded or failed. Soft-RoCE never fails it:
 * the server hangs. A server that detects the loss itself (retries of the QP, TEST LINK) ends
 * the queue pair first. Native servers do not have this problem.
 *
 * Return true if the request was postponed.
 */
static bool delete_link_postpone_request(struct smc_llc *llc, const struct smc_link *link)
{
	struct llc_delete *del = &llc->delete;

	if (llc->lgr->role != SMC_CLIENT || smc_peer_can(&llc->lgr->peer, SMC_CAP_DELETE_LOST))
		return false;
	spin_lock_bh(&llc->lock);
	del->requests[link->slot] = link->num;
	del->request_at[link->slot] = jiffies + REQUEST_TIME;
	smc_llc_timer_recovery_due(llc, REQUEST_TIME);
	spin_unlock_bh(&llc->lock);
	return true;
}

/* Take a postponed request that is due. Return the link number, 0 if none is due. */
static u8 delete_link_next_request(struct smc_llc *llc)
{
	struct llc_delete *del = &llc->delete;
	u8 num = 0;
	u32 slot;

	spin_lock_bh(&llc->lock);
	for (slot = 0; slot < SMC_LGR_LINKS && !num; slot++) {
		if (!del->requests[slot])
			continue;
		if (time_before(jiffies, del->request_at[slot])) {
			smc_llc_timer_recovery_due(llc, del->request_at[slot] - jiffies);
			continue;
		}
		num = del->requests[slot];
		del->requests[slot] = 0;
	}
	spin_unlock_bh(&llc->lock);
	return num;
}

/* The server deletes link @num: drop the postponed request for it. */
static void delete_link_cancel_request(struct smc_llc *llc, u8 num)
{
	u32 slot;

	spin_lock_bh(&llc->lock);
	for (slot = 0; slot < SMC_LGR_LINKS; slot++)
		if (llc->delete.requests[slot] == num)
			llc->delete.requests[slot] = 0;
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_delete_link_send_requests() - client: send the postponed requests that are due
 * @llc: LLC state
 *
 * These are about lost links that the server has not deleted by itself in time. Process
 * context, see smc_llc_send_msg().
 */
void smc_delete_link_send_requests(struct smc_llc *llc)
{
	struct smc_link *link = smc_lgr_pick_link(llc->lgr);
	u8 num;

	if (!link)
		return;
	for (num = delete_link_next_request(llc); num; num = delete_link_next_request(llc))
		smc_llc_send_delete_link(link, num, SMC_LLC_DEL_LOST_PATH);
	smc_link_put(link);
}

/*
 * Request the deletion of @victim from the server, which answers with its own DELETE LINK. With
 * a foreign server remove our end instead; the server detects this like a loss.
 */
static void delete_link_ask_server(struct smc_llc *llc, struct smc_link *victim, u32 reason)
{
	struct smc_link *other = smc_lgr_pick_other_link(llc->lgr, victim);

	if (!other)
		return;
	if (delete_link_postpone_request(llc, victim)) {
		smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_DEL);
		smc_lgr_del_link(victim, SMC_LINK_ADMIN);
	} else {
		smc_llc_send_delete_link(other, victim->num, reason);
	}
	smc_link_put(other);
}

/* ---- deletions of this host; recovery work ---- */

/**
 * smc_delete_link_schedule() - have a link deleted by the recovery work
 * @llc: LLC state
 * @link: link
 * @reason: enum smc_llc_del_reason
 * @order: whose order; a client deletes links only if its operator orders it
 *
 * Any context.
 */
void smc_delete_link_schedule(struct smc_llc *llc, const struct smc_link *link, u32 reason,
			      enum llc_delete_order order)
{
	bool ordered = order != LLC_DELETE_UNORDERED;
	struct llc_delete *del = &llc->delete;
	u32 slot = link->slot;

	spin_lock_bh(&llc->lock);
	if (ordered)
		smc_recovery_delete_ordered(llc, link->num, order);
	else if (reason == SMC_LLC_DEL_ASYMMETRIC && !test_bit(slot, &del->scheduled))
		smc_recovery_redundant_removed(llc);
	__set_bit(slot, &del->scheduled);
	__assign_bit(slot, &del->ordered, ordered);
	del->nums[slot] = link->num;
	del->reasons[slot] = reason;
	smc_llc_timer_recovery_due(llc, 0);
	spin_unlock_bh(&llc->lock);
}

/* A client's request needs no turn. */
static bool delete_link_take_turn(struct smc_llc *llc)
{
	lockdep_assert_held(&llc->lock);
	return llc->lgr->role == SMC_CLIENT || smc_recovery_take_turn(llc, SMC_LLC_DO_DELETE_LINK);
}

static void delete_link_start(struct smc_llc *llc, struct smc_link *victim, u32 reason,
			      bool ordered)
{
	if (llc->lgr->role == SMC_CLIENT)
		delete_link_ask_server(llc, victim, reason);
	else
		delete_link_run(llc, victim, reason, ordered);
}

/**
 * smc_delete_link_run_scheduled() - delete the scheduled links, one after the other
 * @llc: LLC state
 *
 * Recovery work; waits for the peer.
 *
 * Return: true if all are done. False if another exchange has the turn: the recovery work
 * runs again.
 */
bool smc_delete_link_run_scheduled(struct smc_llc *llc)
{
	struct llc_delete *del = &llc->delete;
	struct smc_link *victim;
	bool taken, ordered;
	u32 slot, reason;
	u8 num;

	for (slot = 0; slot < SMC_LGR_LINKS; slot++) {
		if (!test_bit(slot, &del->scheduled))
			continue;
		spin_lock_bh(&llc->lock);
		taken = delete_link_take_turn(llc);
		if (taken)
			__clear_bit(slot, &del->scheduled);
		ordered = test_bit(slot, &del->ordered);
		reason = del->reasons[slot];
		num = del->nums[slot];
		spin_unlock_bh(&llc->lock);
		if (!taken)
			return false;
		victim = smc_lgr_get_link(llc->lgr, slot);
		/* another link may have the slot by now */
		if (victim && victim->num == num)
			delete_link_start(llc, victim, reason, ordered);
		if (victim)
			smc_link_put(victim);
		spin_lock_bh(&llc->lock);
		if (llc->lgr->role == SMC_SERVER && llc->running == SMC_LLC_X_DELETE_LINK)
			llc_turn_end(llc);
		spin_unlock_bh(&llc->lock);
	}
	return true;
}

/* ---- events ---- */

/**
 * smc_delete_link_report_lost() - a usable link has failed: report it to the peer
 * @llc: LLC state
 * @link: failed link
 *
 * Schedules recovery. A server has lost_work run the exchange. A client sends the server its
 * request at once, over another link, and does not wait for the exchange that follows; a foreign
 * server is given time to detect the loss itself. Process context, see smc_llc_send_msg().
 */
void smc_delete_link_report_lost(struct smc_llc *llc, const struct smc_link *link)
{
	struct smc_link *other = smc_lgr_pick_other_link(llc->lgr, link);

	if (!other)
		return;
	smc_recovery_retry_later(llc);
	if (llc->lgr->role == SMC_SERVER)
		delete_link_add_lost(llc, link->num);
	else if (!delete_link_postpone_request(llc, link))
		smc_llc_send_delete_link(other, link->num, SMC_LLC_DEL_LOST_PATH);
	smc_link_put(other);
}

/**
 * smc_delete_link_order() - delete a link by order of the operator
 * @lgr: group
 * @num: link number
 *
 * The server deletes the link, a client requests this from the server. The link's connections
 * move to another link. The link is added again only by order of an operator. Returns at
 * once. Process context.
 *
 * Return: 0; -EAGAIN: the first contact is not over; -ENODEV: no such link, or it is not
 * usable; -EBUSY: it is the only usable link.
 */
int smc_delete_link_order(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link, *other = NULL;
	int rc = 0;

	if (!READ_ONCE(lgr->ready))
		return -EAGAIN;
	link = smc_lgr_get_link_by_num(lgr, num);
	if (!link)
		return -ENODEV;
	if (smc_link_usable(link))
		other = smc_lgr_pick_other_link(lgr, link);
	else
		rc = -ENODEV;
	if (other)
		smc_delete_link_schedule(lgr->llc, link, SMC_LLC_DEL_OPERATOR,
					 LLC_DELETE_BY_OPERATOR);
	else if (!rc)
		rc = -EBUSY;
	if (other)
		smc_link_put(other);
	smc_link_put(link);
	return rc;
}

/* ---- received messages; smc_llc.work ---- */

/* Abort the ADD LINK exchange if @num is the link that it adds: add_work removes the link. */
static bool delete_link_abort_add(struct smc_llc *llc, u8 num)
{
	bool adding;

	spin_lock_bh(&llc->lock);
	adding = num && num == llc->add.num;
	if (adding)
		WRITE_ONCE(llc->add.aborted, true);
	spin_unlock_bh(&llc->lock);
	return adding;
}

/* The operator of the peer removed link @num: do not re-add it. */
static void delete_link_note_order(struct smc_llc *llc, u8 num)
{
	spin_lock_bh(&llc->lock);
	smc_recovery_delete_ordered(llc, num, LLC_DELETE_BY_PEER);
	spin_unlock_bh(&llc->lock);
}

/* Client: the server deletes @victim. */
static void delete_link_receive_order(struct smc_llc *llc, struct smc_link *link,
				      struct smc_link *victim,
				      const struct smc_llc_delete_link *dl)
{
	struct smc_link *other;

	/* the server removes its end when it receives the answer: this is no failure */
	smc_link_expect_removal(victim, SMC_LINK_PEER_DELETED);
	smc_llc_send_delete_response(link, dl, 0);
	other = smc_lgr_pick_other_link(llc->lgr, victim);
	if (!other) {
		smc_lgr_terminate(llc->lgr, SMC_LINK_PEER_DELETED);
		return;
	}
	/*
	 * Lower the limit before the removal. Otherwise a change of ports in between could request
	 * a link, and the server would take that request for an order of our operator.
	 */
	if (dl->reason == SMC_LLC_DEL_OPERATOR) {
		delete_link_note_order(llc, dl->link_num);
	} else if (dl->reason == SMC_LLC_DEL_ASYMMETRIC) {
		spin_lock_bh(&llc->lock);
		smc_recovery_redundant_removed(llc);
		spin_unlock_bh(&llc->lock);
	}
	smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_DEL);
	smc_lgr_del_link(victim, SMC_LINK_PEER_DELETED);
	if (dl->reason == SMC_LLC_DEL_LOST_PATH)
		smc_recovery_retry_later(llc);
	smc_link_put(other);
}

/* Server: the client requests the deletion of @victim. */
static void delete_link_receive_request(struct smc_llc *llc, struct smc_link *victim,
					const struct smc_llc_delete_link *dl)
{
	bool ordered = dl->reason == SMC_LLC_DEL_OPERATOR;
	struct smc_link *other = smc_lgr_pick_other_link(llc->lgr, victim);

	if (!other) {
		/* an operator's order is about one link, never about the group */
		if (!ordered)
			smc_lgr_terminate(llc->lgr, SMC_LINK_PEER_DELETED);
		return;
	}
	smc_delete_link_schedule(llc, victim, dl->reason,
				 ordered ? LLC_DELETE_BY_PEER : LLC_DELETE_UNORDERED);
	smc_link_put(other);
}

/* The link does not exist here, or is being added. */
static void delete_link_answer_unknown(struct smc_llc *llc, struct smc_link *link,
				       const struct smc_llc_delete_link *dl, bool adding)
{
	/* our end of the link may have failed because the server removed its end */
	if (!adding && llc->lgr->role == SMC_CLIENT && dl->reason == SMC_LLC_DEL_OPERATOR)
		delete_link_note_order(llc, dl->link_num);
	smc_llc_send_delete_response(link, dl, adding ? 0 : SMC_LLC_DEL_NO_LINK);
	wake_up_all(&llc->wait);
}

/**
 * smc_delete_link_take_loss() - server: the client reports the loss of a link
 * @llc: LLC state
 * @dl: request, not for the link that is being added
 *
 * Our end goes at once, whatever exchange runs, as if it were lost here: new connections must not
 * be given a link that the client does not have, and the exchange may wait for an answer over this
 * very link. DELETE LINK follows in its turn. Any context.
 *
 * Return: true if so. False: it is no such report, or the link is unknown or the last one.
 */
bool smc_delete_link_take_loss(struct smc_llc *llc, const struct smc_llc_delete_link *dl)
{
	struct smc_link *victim, *other;

	if (llc->lgr->role != SMC_SERVER || dl->reason != SMC_LLC_DEL_LOST_PATH)
		return false;
	victim = smc_lgr_get_link_by_num(llc->lgr, dl->link_num);
	if (!victim)
		return false;
	other = smc_lgr_pick_other_link(llc->lgr, victim);
	/* a link that has failed here, too, is reported by llc_lgr_link_lost() */
	if (other && smc_link_usable(victim)) {
		delete_link_note_removal(llc, victim, dl->reason);
		smc_link_expect_removal(victim, SMC_LINK_PEER_DELETED);
		smc_link_fail(victim, SMC_LINK_PEER_DELETED);
		smc_recovery_retry_later(llc);
		delete_link_add_lost(llc, dl->link_num);
	}
	if (other)
		smc_link_put(other);
	smc_link_put(victim);
	return other;
}

/**
 * smc_delete_link_receive() - process DELETE LINK for one link
 * @llc: LLC state
 * @link: link that received the message
 * @msg: request
 *
 * Process context, see smc_llc_send_msg(); RFC 7609 sections
 * 3.5.5.1.3 and 3.5.5.1.4.
 */
void smc_delete_link_receive(struct smc_llc *llc, struct smc_link *link,
			     const struct smc_llc_msg *msg)
{
	const struct smc_llc_delete_link *dl = &msg->delete_link;
	bool adding = delete_link_abort_add(llc, dl->link_num);
	struct smc_link *victim;

	delete_link_cancel_request(llc, dl->link_num);
	victim = adding ? NULL : smc_lgr_get_link_by_num(llc->lgr, dl->link_num);
	if (!victim) {
		delete_link_answer_unknown(llc, link, dl, adding);
		return;
	}
	if (llc->lgr->role == SMC_CLIENT)
		delete_link_receive_order(llc, link, victim, dl);
	else
		delete_link_receive_request(llc, victim, dl);
	smc_link_put(victim);
}

/**
 * smc_delete_link_take_response() - server: the client answered DELETE LINK
 * @llc: LLC state
 * @num: link number in the response
 */
void smc_delete_link_take_response(struct smc_llc *llc, u8 num)
{
	spin_lock_bh(&llc->lock);
	if (num && num == llc->delete.pending)
		WRITE_ONCE(llc->delete.answered, true);
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
}
