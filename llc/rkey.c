// SPDX-License-Identifier: GPL-2.0-only
/*
 * CONFIRM RKEY and DELETE RKEY: announces and withdraws RMBs, those of this host and those of
 * the peer (RFC 7609 sections 3.5.5.2.1 and 3.5.5.2.2). Requests of this host take the turn; the
 * caller waits for the response. Requests of the peer are processed by smc_llc.work.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/rdma/region.h>
#include <smc/rdma/wr.h>
#include "internal.h"

#define TURN_TIME	(7 * HZ)	/* DELETE RKEY: to get the turn from another exchange */
#define CONFIRM_RSP_MIN	(1 * HZ)	/* of the time for an announcement: kept for the response */
#define STUCK_TIME	(HZ / 2)	/* without a completion: the link carries nothing now */
#define RETRY_TIME	(HZ / 10)	/* before a refused CONFIRM RKEY is repeated */

/* ---- requests of this host ---- */

/*
 * Check whether the RNIC waits for an ACK of the peer's RNIC. A further request would not arrive
 * before the one that is waited for. On Soft-RoCE it does harm: each request posted restarts the
 * timer after which the lost one is sent again.
 */
static bool rkey_link_is_stuck(struct smc_link *link)
{
	unsigned long since;

	return smc_qp_owes_completion(link->qp, &since) &&
	       time_after(jiffies, since + STUCK_TIME);
}

/*
 * Wait for the turn of an RKEY exchange, until @end or until @cancel is set. Return 0,
 * -ECANCELED, -ECONNABORTED or -ETIMEDOUT.
 */
static int rkey_take_turn(struct smc_llc *llc, struct smc_link *link, const bool *cancel,
			  unsigned long end)
{
	bool mine = false, stuck;

	for (;;) {
		/* check only before the request: nothing would withdraw the RMB at the peer */
		if (READ_ONCE(*cancel))
			return -ECANCELED;
		stuck = rkey_link_is_stuck(link);
		spin_lock_bh(&llc->lock);
		if (!stuck && !llc->dead && !llc->rkey.busy && !llc_lost_link_waits(llc) &&
		    llc_verdict(llc, SMC_LLC_DO_RKEY) == SMC_LLC_RUN) {
			memset(&llc->rkey, 0, sizeof(llc->rkey));
			llc->rkey.busy = true;
			WRITE_ONCE(llc->running, SMC_LLC_X_RKEY);
			mine = true;
		}
		spin_unlock_bh(&llc->lock);
		if (mine)
			return 0;
		if (READ_ONCE(llc->dead) || llc_link_broken(link))
			return -ECONNABORTED;
		if (time_after_eq(jiffies, end))
			return -ETIMEDOUT;
		if (stuck)
			schedule_timeout_uninterruptible(SMC_LGR_POLL);
		else
			wait_event_timeout(llc->wait, READ_ONCE(llc->dead) ||
					   (READ_ONCE(llc->running) == SMC_LLC_X_IDLE &&
					    !llc_lost_link_waits(llc)),
					   SMC_LGR_POLL);
	}
}

/* Return true if an ADD LINK exchange has preempted the RKEY exchange and still runs. */
static bool rkey_end_turn(struct smc_llc *llc)
{
	bool adding;

	spin_lock_bh(&llc->lock);
	llc->rkey.busy = false;
	adding = llc->running == SMC_LLC_X_ADD_LINK;
	if (llc->running == SMC_LLC_X_RKEY)
		llc_turn_end(llc);
	else
		wake_up_all(&llc->wait);
	spin_unlock_bh(&llc->lock);
	return adding;
}

/* Check whether another exchange waits for the turn that an RKEY exchange has. */
static bool rkey_turn_is_wanted(struct smc_llc *llc)
{
	bool wanted;

	spin_lock_bh(&llc->lock);
	wanted = !list_empty(&llc->deferred) || llc_lost_link_waits(llc);
	spin_unlock_bh(&llc->lock);
	return wanted;
}

/*
 * Wait for the response, until @end. Return true if the request is to be sent again: the peer's
 * RNIC has acknowledged it, and the peer is silent. As long as the RNIC has not, the link repeats
 * the request by itself or breaks; a second one would wait behind it. After the usual time the wait
 * ends for other exchanges.
 */
static bool rkey_await_response(struct smc_llc *llc, struct smc_link *link, const bool *cancel,
				unsigned long end)
{
	unsigned long usual = jiffies + LLC_RSP_TIME;

	/* wait at least once: if the peer responds, other connections can use the region */
	for (;;) {
		wait_event_timeout(llc->wait, READ_ONCE(llc->rkey.done) || READ_ONCE(llc->dead) ||
				   llc_link_broken(link), SMC_LGR_POLL);
		if (READ_ONCE(llc->rkey.done) || READ_ONCE(llc->dead) || llc_link_broken(link) ||
		    READ_ONCE(*cancel) || time_after_eq(jiffies, end))
			return false;
		if (time_before(jiffies, usual))
			continue;
		if (rkey_turn_is_wanted(llc))
			return false;
		if (!rkey_link_is_stuck(link))
			return true;
	}
}

/* Return the rkey by which a response is matched with its request. */
static u32 rkey_of_msg(const struct smc_llc_msg *msg)
{
	switch ((enum smc_llc_type)msg->type) {
	case SMC_LLC_CONFIRM_RKEY:
		return msg->confirm_rkey.rkey;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		return msg->confirm_rkey_cont.other[0].rkey;
	case SMC_LLC_DELETE_RKEY:
		/* in version 2 the response may come without the list */
		return msg->version > 1 ? 0 : smc_llc_list_get_rkey(&msg->delete_rkey.rkeys, 0);
	default:
		return 0;
	}
}

/*
 * Send a request and wait for the response until @end; repeat it if the peer is silent. The caller
 * has the turn. -EAGAIN: retry later.
 */
static int rkey_request(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *msg,
			const bool *cancel, unsigned long end)
{
	struct llc_rkey *x = &llc->rkey;
	int rc;

	spin_lock_bh(&llc->lock);
	x->type = msg->type;
	x->rkey = rkey_of_msg(msg);
	x->link = link;
	WRITE_ONCE(x->done, false);
	spin_unlock_bh(&llc->lock);
	do {
		rc = smc_llc_send_msg(link, msg);
		if (rc)
			return rc;
	} while (rkey_await_response(llc, link, cancel, end));
	spin_lock_bh(&llc->lock);
	if (x->done && x->negative)
		rc = x->retry ? -EAGAIN : -EPERM;
	else if (!x->done && (llc->dead || llc_link_broken(link)))
		rc = -ECONNABORTED;
	else if (!x->done && READ_ONCE(*cancel))
		rc = -ECANCELED;
	else if (!x->done)
		rc = time_before(jiffies, end) ? -EAGAIN : -ETIMEDOUT;
	spin_unlock_bh(&llc->lock);
	return rc;
}

/* Version 1: send the @left links from @other on, which CONFIRM RKEY had no room for. */
static int rkey_request_cont(struct smc_llc *llc, struct smc_link *link,
			     const struct smc_llc_rkey *other, u8 left, const bool *cancel,
			     unsigned long end)
{
	struct smc_llc_confirm_rkey_cont *cc;
	struct smc_llc_msg msg;
	int rc;
	u8 n;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_CONFIRM_RKEY_CONT, false);
	cc = &msg.confirm_rkey_cont;
	for (; left; left -= n, other += n) {
		n = min_t(u8, left, SMC_LLC_CONFIRM_RKEY_CONT_LINKS);
		cc->left = left;
		memcpy(cc->other, other, n * sizeof(*other));
		rc = rkey_request(llc, link, &msg, cancel, end);
		if (rc)
			return rc;
	}
	return 0;
}

/* Return true if the RMB was announced with this key; @others: links that the peer has got. */
static bool rkey_is_announced(const struct smc_llc_confirm_rkey *cr, u8 others, u32 rkey, u64 vaddr)
{
	int i;

	for (i = 0; i < others; i++)
		if (cr->other[i].rkey == rkey && cr->other[i].vaddr == vaddr)
			return true;
	return cr->rkey == rkey && cr->vaddr == vaddr;
}

/*
 * The peer has accepted the RMB, with its keys on @others further links: note on which links it
 * knows it now. Whatever fails later, the RMB has to be withdrawn.
 */
static void rkey_note_known(struct smc_lgr *lgr, struct smc_region *region,
			    const struct smc_llc_confirm_rkey *cr, u8 others)
{
	u32 slot;
	u64 vaddr;

	mutex_lock(&lgr->mutex);
	for (slot = 0; slot < SMC_LGR_LINKS; slot++) {
		vaddr = smc_region_iova(region, slot);
		if (vaddr && rkey_is_announced(cr, others, smc_region_rkey(region, slot), vaddr))
			smc_region_note_known(region, slot);
	}
	mutex_unlock(&lgr->mutex);
}

/*
 * The server's ADD LINK has preempted the exchange: it may have got our rtokens for the new link
 * before it knew the RMB. Wait until the link is usable, or is not added. Return 0, -ECANCELED,
 * -ECONNABORTED or -ETIMEDOUT.
 */
static int rkey_await_new_link(struct smc_llc *llc, const bool *cancel, unsigned long end)
{
	while (READ_ONCE(llc->add.active)) {
		if (READ_ONCE(llc->dead))
			return -ECONNABORTED;
		if (READ_ONCE(*cancel))
			return -ECANCELED;
		if (time_after_eq(jiffies, end))
			return -ETIMEDOUT;
		wait_event_idle_timeout(llc->wait, !READ_ONCE(llc->add.active) ||
					READ_ONCE(llc->dead), SMC_LGR_POLL);
	}
	return 0;
}

/* Announce an RMB, in one turn, until @end. */
static int rkey_confirm_exchange(struct smc_llc *llc, struct smc_link *link,
				 struct smc_region *region, const struct smc_llc_msg *msg,
				 const bool *cancel, unsigned long end)
{
	const struct smc_llc_confirm_rkey *cr = &msg->confirm_rkey;
	u8 here = smc_llc_confirm_rkey_inline(msg->version, cr->others);
	bool adding;
	int rc;

	rc = rkey_take_turn(llc, link, cancel, end - CONFIRM_RSP_MIN);
	if (rc)
		return rc;
	rc = rkey_request(llc, link, msg, cancel, end);
	/* before the next exchange: ADD LINK lists what is known */
	if (!rc) {
		rkey_note_known(llc->lgr, region, cr, here);
		rc = rkey_request_cont(llc, link, cr->other + here, cr->others - here, cancel,
				       end);
	}
	if (!rc && here < cr->others)
		rkey_note_known(llc->lgr, region, cr, cr->others);
	adding = rkey_end_turn(llc);
	return !rc && adding ? rkey_await_new_link(llc, cancel, end) : rc;
}

/* List the rkeys of @region on the other usable links of the group. */
static void rkey_list_other_links(struct smc_lgr *lgr, const struct smc_link *link,
				  const struct smc_region *region, struct smc_llc_confirm_rkey *cr)
{
	struct smc_llc_rkey *other;
	struct smc_link *l;

	/* room for all; if another link has the slot of @link now, the exchange fails anyway */
	static_assert(SMC_LGR_LINKS - 1 <= SMC_LLC_MAX_OTHER);
	smc_lgr_for_each_link(lgr, l) {
		if (l == link || !smc_link_usable(l) || !region->maps[l->slot].registered ||
		    cr->others >= SMC_LLC_MAX_OTHER)
			continue;
		other = &cr->other[cr->others++];
		other->link_num = l->num;
		other->rkey = smc_region_rkey(region, l->slot);
		other->vaddr = smc_region_iova(region, l->slot);
	}
}

/*
 * Check whether a link became usable during the exchange. The peer did not know the RMB yet when
 * it received our rtokens in that link's ADD LINK exchange, so it dropped the one of this RMB.
 */
static bool rkey_missed_link(struct smc_lgr *lgr, const struct smc_region *region)
{
	struct smc_link *l;
	bool missed = false;

	smc_lgr_for_each_link(lgr, l)
		missed |= smc_link_usable(l) && !smc_region_is_known(region, l->slot);
	return missed;
}

/**
 * smc_rkey_confirm() - announce an RMB by CONFIRM RKEY and wait for the response
 * @lgr: group
 * @link: link that carries the request
 * @region: RMB, mapped and registered on @link
 * @end: jiffies until which to try; CONFIRM_RSP_MIN before it the turn is not waited for any more
 * @cancel: give up when this becomes true; polled every 100 ms
 *
 * Until @end the request is repeated if the peer has not responded for LLC_RSP_TIME, asks for a
 * retry, or if a link was added meanwhile (one message; up to three in version 1 with many links).
 * No request is sent while the peer's RNIC acknowledges nothing. Not limited by @end is the wait
 * for a send slot, see smc_llc_send_msg(). Process context, lgr->mutex not held; RFC 7609 section
 * 3.5.5.2.1.
 *
 * Return: 0: the peer knows the RMB on all usable links; -ETIMEDOUT: no turn, no response, or not
 * on all of them; -EPERM: negative response; -ECONNABORTED: link or group failed; -ECANCELED:
 * @cancel was set. After an error the peer may know the RMB nevertheless
 * (smc_region_is_known_at_all()): it has accepted it, and what had to follow failed.
 */
int smc_rkey_confirm(struct smc_lgr *lgr, struct smc_link *link, struct smc_region *region,
		     unsigned long end, const bool *cancel)
{
	struct smc_llc *llc = lgr->llc;
	struct smc_llc_msg msg;
	bool mapped;
	int rc;

	for (;;) {
		smc_llc_send_prepare(llc, &msg, SMC_LLC_CONFIRM_RKEY, false);
		mutex_lock(&lgr->mutex);
		mapped = rcu_access_pointer(region->maps[link->slot].mapping);
		if (mapped) {
			msg.confirm_rkey.rkey = smc_region_rkey(region, link->slot);
			msg.confirm_rkey.vaddr = smc_region_iova(region, link->slot);
			rkey_list_other_links(lgr, link, region, &msg.confirm_rkey);
		}
		mutex_unlock(&lgr->mutex);
		if (!mapped)
			return -ECONNABORTED;	/* the link is gone */
		smc_stats_inc(lgr->net, SMC_STAT_RKEY_CONFIRM);
		rc = rkey_confirm_exchange(llc, link, region, &msg, cancel, end);
		if (rc == -EAGAIN)
			schedule_timeout_uninterruptible(RETRY_TIME);
		else if (rc || !rkey_missed_link(lgr, region))
			return rc;
		if (time_after_eq(jiffies, end))
			return rc ? -EPERM : -ETIMEDOUT;
	}
}

/*
 * Return a link with a reference, or NULL: one where the peer knows the key of the RMB to delete.
 * Any link if it seems to know none: a refused or unanswered request says nothing.
 */
static struct smc_link *rkey_pick_link(struct smc_lgr *lgr, const struct smc_region *region)
{
	struct smc_link *link;

	smc_lgr_for_each_link(lgr, link)
		if (smc_link_usable(link) && smc_region_is_known(region, link->slot))
			return link;
	return smc_lgr_pick_link(lgr);
}

/**
 * smc_rkey_delete() - withdraw an RMB by DELETE RKEY and wait for the response
 * @lgr: group
 * @region: RMB without elements in use, not handed out any more
 *
 * Each message names one RMB, as in-tree peers do. Process context; RFC 7609 section 3.5.5.2.2.
 *
 * Return: 0: the peer has deleted the rkey; -EAGAIN: no request was sent; -EPERM: negative
 * response; -ETIMEDOUT, -ECONNABORTED: unknown.
 */
int smc_rkey_delete(struct smc_lgr *lgr, const struct smc_region *region)
{
	struct smc_link *link = rkey_pick_link(lgr, region);
	struct smc_llc *llc = lgr->llc;
	u8 raw[SMC_LLC_RKEY_LEN];
	struct smc_llc_msg msg;
	bool never = false;
	int rc = -EAGAIN;

	if (!link)
		return rc;
	if (READ_ONCE(region->maps[link->slot].registered) &&
	    !rkey_take_turn(llc, link, &never, jiffies + TURN_TIME)) {
		smc_llc_send_prepare(llc, &msg, SMC_LLC_DELETE_RKEY, false);
		smc_llc_list_put_rkey(raw, 0, smc_region_rkey(region, link->slot));
		msg.delete_rkey.count = 1;
		msg.delete_rkey.rkeys.raw = raw;
		msg.delete_rkey.rkeys.count = 1;
		smc_stats_inc(lgr->net, SMC_STAT_RKEY_DELETE);
		rc = rkey_request(llc, link, &msg, &never, jiffies + LLC_RSP_TIME);
		rkey_end_turn(llc);
	}
	smc_link_put(link);
	return rc;
}

/* ---- requests of the peer; smc_llc.work, in order of arrival ---- */

static int rkey_store_other_links(struct smc_llc *llc, u32 slot, u32 rkey,
				  const struct smc_llc_rkey *others, u32 n)
{
	struct smc_lgr *lgr = llc->lgr;
	struct smc_link *l;
	int rc = 0;
	u32 i;

	for (i = 0; i < n && !rc; i++) {
		bool lost = true;

		l = smc_lgr_get_link_by_num(lgr, others[i].link_num);
		if (l) {
			rc = smc_rtoken_set_link(lgr, slot, rkey, l->slot, others[i].rkey,
						 others[i].vaddr);
			lost = llc_link_broken(l);
			/* another link may have the slot by now */
			if (!rc && lost)
				smc_rtoken_unset_link(lgr, l->slot, others[i].rkey);
			smc_link_put(l);
		}
		/* the peer may still name the RMB by this key */
		if (!rc && lost)
			smc_rtoken_name_lost(lgr, slot, rkey, others[i].link_num, others[i].rkey,
					     others[i].vaddr);
	}
	return rc;
}

static void rkey_confirm_receive(struct smc_llc *llc, struct smc_link *link,
				 const struct smc_llc_msg *req)
{
	const struct smc_llc_confirm_rkey *cr = &req->confirm_rkey;
	u8 here = smc_llc_confirm_rkey_inline(req->version, cr->others);
	struct smc_llc_msg msg = *req;
	int idx = -EPROTO, rc;
	u32 added = 0;

	/* all links but @link: the negotiated symmetric links and an asymmetric one */
	if (cr->others <= READ_ONCE(llc->lgr->peer.max_links))
		idx = smc_rtoken_add(llc->lgr, link->slot, cr->rkey, cr->vaddr, &added);
	rc = idx < 0 ? idx :
		       rkey_store_other_links(llc, link->slot, cr->rkey, cr->other, here);
	/*
	 * The link broke, maybe after its rtokens were removed: another link may have the slot. An
	 * RMB that was known stays: the peer was slow to get our response, and has it now.
	 */
	if (llc_link_broken(link)) {
		smc_rtoken_undo_add(llc->lgr, idx, added);
		return;
	}
	llc->cont.left = rc ? 0 : cr->others - here;
	llc->cont.slot = link->slot;
	llc->cont.rkey = cr->rkey;
	msg.response = true;
	msg.confirm_rkey.negative = rc < 0;
	msg.confirm_rkey.retry = false;
	smc_llc_send_msg(link, &msg);
}

static void rkey_confirm_cont_receive(struct smc_llc *llc, struct smc_link *link,
				      const struct smc_llc_msg *req)
{
	const struct smc_llc_confirm_rkey_cont *cc = &req->confirm_rkey_cont;
	struct smc_llc_msg msg = *req;
	u32 n = min_t(u32, cc->left, SMC_LLC_CONFIRM_RKEY_CONT_LINKS);
	int rc = -EPROTO;

	if (llc->cont.left && llc->cont.left == cc->left && llc->cont.slot == link->slot) {
		rc = rkey_store_other_links(llc, llc->cont.slot, llc->cont.rkey, cc->other, n);
		llc->cont.left = rc ? 0 : llc->cont.left - n;
	}
	msg.response = true;
	msg.confirm_rkey_cont.negative = rc < 0;
	msg.confirm_rkey_cont.retry = false;
	smc_llc_send_msg(link, &msg);
}

static void rkey_delete_receive(struct smc_llc *llc, struct smc_link *link,
				const struct smc_llc_msg *req, bool refuse)
{
	const struct smc_llc_list *rkeys = &req->delete_rkey.rkeys;
	struct smc_llc_msg msg = *req;
	u8 mask = 0, bad = 0;
	u16 i;

	for (i = 0; i < rkeys->count; i++) {
		if (!refuse && !smc_rtoken_del(llc->lgr, link->slot,
					       smc_llc_list_get_rkey(rkeys, i)))
			continue;
		bad++;
		if (i < SMC_LLC_MAX_RKEYS_V1)
			mask |= 0x80 >> i;
	}
	msg.response = true;
	msg.delete_rkey.negative = bad;
	msg.delete_rkey.err = msg.version == 1 ? mask : bad;
	if (msg.version > 1)
		memset(&msg.delete_rkey.rkeys, 0, sizeof(msg.delete_rkey.rkeys));
	smc_llc_send_msg(link, &msg);
}

/**
 * smc_rkey_receive() - process CONFIRM RKEY (CONT) or DELETE RKEY of the peer
 * @llc: LLC state
 * @link: link that received the request
 * @msg: request
 *
 * smc_llc.work; see smc_llc_send_msg().
 */
void smc_rkey_receive(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *msg)
{
	if (msg->type == SMC_LLC_CONFIRM_RKEY)
		rkey_confirm_receive(llc, link, msg);
	else if (msg->type == SMC_LLC_CONFIRM_RKEY_CONT)
		rkey_confirm_cont_receive(llc, link, msg);
	else if (msg->type == SMC_LLC_DELETE_RKEY)
		rkey_delete_receive(llc, link, msg, false);
}

/**
 * smc_rkey_refuse() - refuse a request of the peer, which has to repeat it later
 * @llc: LLC state
 * @link: link that received the request
 * @req: request; requests other than CONFIRM RKEY (CONT) and DELETE RKEY get no response
 *
 * smc_llc.work; see smc_llc_send_msg().
 */
void smc_rkey_refuse(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *req)
{
	struct smc_llc_msg msg = *req;

	msg.response = true;
	switch ((enum smc_llc_type)req->type) {
	case SMC_LLC_CONFIRM_RKEY:
		msg.confirm_rkey.negative = true;
		msg.confirm_rkey.retry = true;
		smc_llc_send_msg(link, &msg);
		break;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		msg.confirm_rkey_cont.negative = true;
		msg.confirm_rkey_cont.retry = true;
		smc_llc_send_msg(link, &msg);
		break;
	case SMC_LLC_DELETE_RKEY:
		rkey_delete_receive(llc, link, req, true);
		break;
	default:
		break;
	}
}

/**
 * smc_rkey_take_response() - process the peer's response to an RKEY request
 * @llc: LLC state
 * @link: link that received the response
 * @msg: response
 *
 * Wakes the waiting caller of smc_rkey_confirm() or smc_rkey_delete(). smc_llc.work.
 */
void smc_rkey_take_response(struct smc_llc *llc, const struct smc_link *link,
			    const struct smc_llc_msg *msg)
{
	struct llc_rkey *x = &llc->rkey;
	bool negative, retry = false;

	if (msg->type == SMC_LLC_CONFIRM_RKEY) {
		negative = msg->confirm_rkey.negative;
		retry = msg->confirm_rkey.retry;
	} else if (msg->type == SMC_LLC_CONFIRM_RKEY_CONT) {
		negative = msg->confirm_rkey_cont.negative;
		retry = msg->confirm_rkey_cont.retry;
	} else {
		negative = msg->delete_rkey.negative;
	}
	spin_lock_bh(&llc->lock);
	/*
	 * A late response to an abandoned request names another rkey. The response to DELETE RKEY
	 * may name none, but after an abandoned DELETE RKEY no other is sent over the same link.
	 */
	if (x->busy && x->type == msg->type && x->rkey == rkey_of_msg(msg) &&
	    (x->link == link || msg->type != SMC_LLC_DELETE_RKEY)) {
		x->negative = negative;
		x->retry = retry;
		WRITE_ONCE(x->done, true);
	}
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
}
