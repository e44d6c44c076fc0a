// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a group gets back the links that it lost, and loses those that somebody wants gone
 * (RFC 7609 sections 3.5.5.1 and C.8).
 *
 * All of it is one work per group, which may wait for the peer. It is woken by ports that
 * come, by links that went, by the peer's word, and after a failure by time: see
 * llc/recovery.c. The server starts the exchanges; a client only says that it has a port.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include "internal.h"

#define TURN_AGAIN	(HZ / 5)	/* another exchange has the turn */
#define READY_AGAIN	(3 * HZ)	/* the first contact is not over */
#define QUIET_TIME	(HZ / 10)	/* no connection has said anything for so long */
#define QUIET_MAX	(1 * HZ)	/* ... and it has to go, whatever comes */
#define ACK_TIME	(HZ / 20)	/* the peer knows what our RNIC has acknowledged */

/* ---- DELETE LINK, server ---- */

/* llc->lock held */
static bool recovery_take_turn(struct smc_llc *llc, enum smc_llc_input wish)
{
	bool mine;

	lockdep_assert_held(&llc->lock);
	mine = !llc->dead && !llc->add.active &&
	       smc_llc_flow(llc_role(llc), llc->running, wish, 0) == SMC_LLC_RUN;
	if (mine)
		llc->running = smc_llc_flow_exchange(wish);
	else
		smc_recovery_arm(llc, TURN_AGAIN);
	return mine;
}

/* Is @link the asymmetric link that is no longer needed? */
static bool delete_link_is_redundant(struct smc_lgr *lgr, const struct smc_link *link)
{
	struct smc_link *surplus = smc_core_surplus(lgr);

	if (surplus)
		smc_link_put(surplus);
	return surplus == link;
}

/* Over @other. True: the client has answered. */
static bool delete_link_exchange(struct smc_llc *llc, struct smc_link *other, u8 num, u32 reason)
{
	bool deleted;

	spin_lock_bh(&llc->lock);
	llc->heal.deleting = num;
	llc->heal.deleted = false;
	spin_unlock_bh(&llc->lock);
	smc_llc_send_delete_link(other, num, reason, false);
	wait_event_timeout(llc->wait, READ_ONCE(llc->heal.deleted) || READ_ONCE(llc->dead) ||
			   llc_link_broken(other), LLC_RSP_TIME);
	spin_lock_bh(&llc->lock);
	llc->heal.deleting = 0;
	deleted = llc->heal.deleted;
	spin_unlock_bh(&llc->lock);
	return deleted;
}

/* Our end of it, at once. @cause: what its connections hear. */
static void delete_link_remove(struct smc_llc *llc, struct smc_link *victim, u32 reason,
		     enum smc_link_reason cause)
{
	smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_DEL);
	pr_info_ratelimited("group %08x: link %u deleted, reason %08x\n", llc->lgr->id, victim->num,
			    reason);
	smc_core_del_link(victim, cause);
}

static bool delete_link_is_quiet(const struct smc_link *link, unsigned long since)
{
	unsigned long last = READ_ONCE(link->last_cdc);

	if (time_before(last, since))
		last = since;
	return time_after_eq(jiffies, last + QUIET_TIME);
}

/* For @time, or less if there is nothing to wait for any more. */
static void delete_link_wait(struct smc_llc *llc, const struct smc_link *link, unsigned long time)
{
	wait_event_timeout(llc->wait, READ_ONCE(llc->dead) || llc_link_broken(link), time);
}

/*
 * The connections of @link say nothing over it, so their peers come to the end of what they may
 * write, or of what they have to say without an answer.
 */
static void delete_link_quiesce(struct smc_llc *llc, struct smc_link *link)
{
	unsigned long since = jiffies, end = since + QUIET_MAX;

	smc_link_hold(link, true);
	while (!delete_link_is_quiet(link, since) && time_before(jiffies, end) &&
	       !READ_ONCE(llc->dead) && !llc_link_broken(link))
		delete_link_wait(llc, link, QUIET_TIME / 4 ?: 1);
}

/*
 * In order, with a client of another kind. An in-tree one that hears of the deletion goes back to
 * the last byte acknowledged at once, while the link still works, and counts the room of what is
 * acknowledged after that twice: its application overwrites bytes that have not gone out. So our
 * end goes before it hears of it. But of a link that ends so it repeats nothing but the bytes of
 * connections open in both directions: so before that nothing is to be under way.
 */
static void delete_link_remove_first(struct smc_llc *llc, struct smc_link *victim, u32 reason)
{
	bool surplus = reason == SMC_LLC_DEL_ASYMMETRIC;
	struct smc_link *other;

	delete_link_quiesce(llc, victim);
	other = smc_core_other_link(llc->lgr, victim);
	/* another one may have gone meanwhile */
	if (!other || (surplus && !delete_link_is_redundant(llc->lgr, victim))) {
		smc_link_hold(victim, false);
		if (other)
			smc_link_put(other);
		return;
	}
	delete_link_remove(llc, victim, reason, SMC_LINK_ADMIN);
	delete_link_wait(llc, other, ACK_TIME);
	delete_link_exchange(llc, other, victim->num, reason);
	smc_link_put(other);
}

/*
 * The client has to answer before the queue pair goes; one that does not loses it anyway.
 * We have the turn, so no link comes; but one that the victim is to go for may be lost at
 * any time. @ordered: not by the client's wish.
 */
static void delete_link_run(struct smc_llc *llc, struct smc_link *victim, u32 reason, bool ordered)
{
	bool surplus = reason == SMC_LLC_DEL_ASYMMETRIC, spare = surplus || ordered;
	struct smc_link *other;

	if (surplus && !delete_link_is_redundant(llc->lgr, victim))
		return;
	if (spare && !llc->lgr->peer.marker) {
		delete_link_remove_first(llc, victim, reason);
		return;
	}
	other = smc_core_other_link(llc->lgr, victim);
	if (other) {
		/* the client's end goes when it has answered */
		if (spare)
			smc_link_going(victim, SMC_LINK_ADMIN);
		spare &= !delete_link_exchange(llc, other, victim->num, reason);
		smc_link_put(other);
		other = smc_core_other_link(llc->lgr, victim);
	}
	if (!other) {
		/* the last one: what this means is for the group to decide */
		smc_link_going(victim, SMC_LINK_OK);
		if (!spare)
			smc_core_terminate(llc->lgr, SMC_LINK_PEER_DELETED);
		return;
	}
	delete_link_remove(llc, victim, reason,
		 surplus || ordered ? SMC_LINK_ADMIN : SMC_LINK_PEER_DELETED);
	smc_link_put(other);
}

/*
 * Client: the server has the last word, and says it by a DELETE LINK of its own. One of
 * another kind is to find out by itself, as with a link that was lost.
 */
static void delete_link_ask_server(struct smc_llc *llc, struct smc_link *victim, u32 reason)
{
	struct smc_link *other = smc_core_other_link(llc->lgr, victim);

	if (!other)
		return;
	if (smc_delete_link_request_later(llc, victim)) {
		smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_DEL);
		smc_core_del_link(victim, SMC_LINK_ADMIN);
	} else {
		smc_llc_send_delete_link(other, victim->num, reason, false);
	}
	smc_link_put(other);
}

/* llc->lock held; a client's wish is for any time. */
static bool delete_link_take_turn(struct smc_llc *llc)
{
	return llc->lgr->role == SMC_CLIENT || recovery_take_turn(llc, SMC_LLC_DO_DELETE_LINK);
}

static void delete_link_start(struct smc_llc *llc, struct smc_link *victim, u32 reason, bool ordered)
{
	if (llc->lgr->role == SMC_CLIENT)
		delete_link_ask_server(llc, victim, reason);
	else
		delete_link_run(llc, victim, reason, ordered);
}

/* True: none is left. */
static bool delete_link_run_scheduled(struct smc_llc *llc)
{
	struct smc_link *victim;
	bool mine, ordered;
	u32 slot, reason;
	u8 num;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		if (!test_bit(slot, &llc->heal.doomed))
			continue;
		spin_lock_bh(&llc->lock);
		mine = delete_link_take_turn(llc);
		if (mine)
			__clear_bit(slot, &llc->heal.doomed);
		ordered = test_bit(slot, &llc->heal.ordered);
		reason = llc->heal.reason[slot];
		num = llc->heal.nums[slot];
		spin_unlock_bh(&llc->lock);
		if (!mine)
			return false;
		victim = smc_core_link(llc->lgr, slot);
		/* the slot may have another one by now */
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

/* ---- a further link ---- */

/* Version 2 wants to hear that the client's port is of no use. */
static void add_link_refuse_request(struct smc_llc *llc, struct smc_link *link)
{
	struct smc_llc_msg msg;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_REQ_ADD_LINK, true);
	smc_llc_send_msg(link, &msg);
}

/* The server has decided. @any: over a port that the group uses, too. */
static void add_link_try_offer(struct smc_llc *llc, struct smc_link *first, bool any)
{
	bool possible, asked;

	spin_lock_bh(&llc->lock);
	llc->heal.last = jiffies ?: 1;
	llc->heal.tried = true;
	asked = llc->heal.asked;
	llc->heal.asked = false;
	spin_unlock_bh(&llc->lock);
	possible = llc->lgr->peer.max_links > 1 && !smc_recovery_is_capped(llc) &&
		   smc_add_link_is_possible(llc, first, any);
	if (!possible) {
		if (asked)
			add_link_refuse_request(llc, first);
		return;
	}
	spin_lock_bh(&llc->lock);
	/* nobody is to come between, the end of the group least of all */
	if (recovery_take_turn(llc, SMC_LLC_DO_ADD_LINK)) {
		llc->heal.any = false;
		llc->heal.ports = false;
		smc_add_link_server_begin(llc, first, 1);
	}
	spin_unlock_bh(&llc->lock);
}

/* The client has a port that the group does not use: the server hears of it. */
static void add_link_request(struct smc_llc *llc, struct smc_link *first)
{
	struct smc_llc_msg msg;
	u8 gids[SMC_GID_LEN];
	struct smc_path path;
	bool asked, wanted;

	asked = llc->heal.again;
	spin_lock_bh(&llc->lock);
	llc->heal.last = jiffies ?: 1;
	llc->heal.tried = true;
	llc->heal.any = false;
	llc->heal.ports = false;
	wanted = llc->heal.wanted;
	llc->heal.wanted = false;
	spin_unlock_bh(&llc->lock);
	if (!smc_add_link_find_path(llc, first, wanted, &path))
		return;
	smc_llc_send_prepare(llc, &msg, SMC_LLC_ADD_LINK, false);
	if (msg.version > 1) {
		msg.type = SMC_LLC_REQ_ADD_LINK;
		smc_llc_put_gid(gids, 0, path.gid.gid.raw);
		msg.req_add_link.gids.raw = gids;
		msg.req_add_link.gids.count = 1;
	} else {
		memcpy(msg.add_link.gid, path.gid.gid.raw, sizeof(msg.add_link.gid));
		memcpy(msg.add_link.mac, path.gid.mac, sizeof(msg.add_link.mac));
	}
	smc_pnet_path_put(&path);
	smc_llc_send_msg(first, &msg);
	if (asked)
		smc_recovery_retry_later(llc);
}

static void recovery_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, heal.work);
	struct smc_lgr *lgr = llc->lgr;
	struct smc_link *link;
	bool any, ports;

	spin_lock_bh(&llc->lock);
	llc->heal.armed = false;
	any = llc->heal.any;
	ports = llc->heal.ports;
	if (!READ_ONCE(lgr->ready))
		smc_recovery_arm(llc, READY_AGAIN);
	spin_unlock_bh(&llc->lock);
	if (READ_ONCE(llc->dead) || !READ_ONCE(lgr->ready))
		return;
	link = lgr->role == SMC_SERVER ? smc_core_surplus(lgr) : NULL;
	if (link) {
		smc_delete_link_schedule(llc, link, SMC_LLC_DEL_ASYMMETRIC, LLC_DELETE_UNORDERED);
		smc_link_put(link);
	}
	if (lgr->role == SMC_CLIENT)
		smc_delete_link_send_requests(llc);
	if (!delete_link_run_scheduled(llc))
		return;
	link = any || ports ? smc_core_pick_link(lgr) : NULL;
	if (!link)
		return;
	if (lgr->role == SMC_SERVER)
		add_link_try_offer(llc, link, any);
	else if (lgr->peer.max_links > 1 && !smc_recovery_is_capped(llc))
		add_link_request(llc, link);
	smc_link_put(link);
}

/* ---- the operator's word ---- */

/**
 * smc_llc_tend_add() - the operator wants one more link
 * @lgr: group
 *
 * A server offers it, a client tells the server that it has a port. Returns at once: what the
 * peer says to it cannot be known here. Process context.
 *
 * Return: 0, -EAGAIN: the first contact is not over; -ENOSPC: as many links as were agreed
 * upon; -ENODEV: no port of ours leads to a further one; -ENOENT: the group ends.
 */
int smc_llc_tend_add(struct smc_lgr *lgr)
{
	struct smc_link *first;
	bool possible;

	if (!READ_ONCE(lgr->ready))
		return -EAGAIN;
	if (lgr->peer.max_links < 2)
		return -ENOSPC;
	first = smc_core_pick_link(lgr);
	if (!first)
		return -ENOENT;
	possible = smc_add_link_is_possible(lgr->llc, first, true);
	smc_link_put(first);
	if (!possible)
		return smc_recovery_count_usable(lgr) < lgr->peer.max_links ? -ENODEV : -ENOSPC;
	smc_recovery_add_ordered(lgr->llc);
	return 0;
}

/**
 * smc_llc_tend_delete() - the operator wants a link to go
 * @lgr: group
 * @num: its number
 *
 * The server deletes it, a client asks for that; the link's connections go on over another
 * one. It does not come back but by an operator's word. Returns at once. Process context.
 *
 * Return: 0, -EAGAIN: the first contact is not over; -ENODEV: no such link, or it cannot be
 * used; -EBUSY: it is the only one that can be used.
 */
int smc_llc_tend_delete(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link, *other = NULL;
	int rc = 0;

	if (!READ_ONCE(lgr->ready))
		return -EAGAIN;
	link = smc_core_link_by_num(lgr, num);
	if (!link)
		return -ENODEV;
	if (smc_link_usable(link))
		other = smc_core_other_link(lgr, link);
	else
		rc = -ENODEV;
	if (other)
		smc_delete_link_schedule(lgr->llc, link, SMC_LLC_DEL_OPERATOR, LLC_DELETE_BY_OPERATOR);
	else if (!rc)
		rc = -EBUSY;
	if (other)
		smc_link_put(other);
	smc_link_put(link);
	return rc;
}

/**
 * smc_llc_tend_init() - set up
 * @llc: LLC state
 */
void smc_llc_tend_init(struct smc_llc *llc)
{
	INIT_DELAYED_WORK(&llc->heal.work, recovery_work);
}

/**
 * smc_llc_tend_exit() - the group is dead
 * @llc: LLC state
 */
void smc_llc_tend_exit(struct smc_llc *llc)
{
	cancel_delayed_work_sync(&llc->heal.work);
}
