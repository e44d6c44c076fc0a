// SPDX-License-Identifier: GPL-2.0-only
/*
 * RMBs that are announced and taken back: our own ones and the peer's (RFC 7609 sections
 * 3.5.5.2.1 and 3.5.5.2.2).
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/rdma/region.h>
#include "internal.h"

#define TURN_TIME	(7 * HZ)	/* start of an exchange that has to wait for another */
#define RETRY_TIME	(HZ / 10)	/* between CONFIRM RKEYs the peer put off */

/* ---- our own requests about RMBs ---- */

/* Waits for the turn of an RKEY exchange. */
static int rkey_take_turn(struct smc_llc *llc, struct smc_link *link, const bool *cancel,
			 unsigned long end)
{
	bool mine = false;

	for (;;) {
		/* in time: the peer keeps what it is told, and nobody would take it back */
		if (READ_ONCE(*cancel))
			return -ECANCELED;
		spin_lock_bh(&llc->lock);
		if (!llc->dead && !llc->rkey.busy &&
		    llc_verdict(llc, SMC_LLC_DO_RKEY) == SMC_LLC_RUN) {
			memset(&llc->rkey, 0, sizeof(llc->rkey));
			llc->rkey.busy = true;
			llc->running = SMC_LLC_X_RKEY;
			mine = true;
		}
		spin_unlock_bh(&llc->lock);
		if (mine)
			return 0;
		if (READ_ONCE(llc->dead) || llc_link_broken(link))
			return -ECONNABORTED;
		if (time_after_eq(jiffies, end))
			return -ETIMEDOUT;
		wait_event_timeout(llc->wait, READ_ONCE(llc->dead) ||
				   READ_ONCE(llc->running) == SMC_LLC_X_IDLE, SMC_CORE_POLL);
	}
}

static void rkey_end_turn(struct smc_llc *llc)
{
	spin_lock_bh(&llc->lock);
	llc->rkey.busy = false;
	if (llc->running == SMC_LLC_X_RKEY)
		llc_turn_end(llc);
	else
		wake_up_all(&llc->wait);
	spin_unlock_bh(&llc->lock);
}

static void rkey_await_response(struct smc_llc *llc, struct smc_link *link, const bool *cancel)
{
	unsigned long end = jiffies + LLC_RSP_TIME;

	/* once in any case: a peer that lives answers, and others can use the region then */
	do {
		wait_event_timeout(llc->wait, READ_ONCE(llc->rkey.done) || READ_ONCE(llc->dead) ||
				   llc_link_broken(link), SMC_CORE_POLL);
	} while (!READ_ONCE(llc->rkey.done) && !READ_ONCE(llc->dead) && !llc_link_broken(link) &&
		 !READ_ONCE(*cancel) && time_before(jiffies, end));
}

/* The key by which an answer is known to be that to this request. */
static u32 rkey_of_msg(const struct smc_llc_msg *msg)
{
	switch ((enum smc_llc_type)msg->type) {
	case SMC_LLC_CONFIRM_RKEY:
		return msg->confirm_rkey.rkey;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		return msg->confirm_rkey_cont.other[0].rkey;
	case SMC_LLC_DELETE_RKEY:
		/* the answer of version 2 may come without the list */
		return msg->version > 1 ? 0 : smc_llc_get_rkey(&msg->delete_rkey.rkeys, 0);
	default:
		return 0;
	}
}

/* One request and its answer, with the turn. -EAGAIN: the peer asks to be asked later. */
static int rkey_request(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *msg,
	       const bool *cancel)
{
	struct llc_rkey *x = &llc->rkey;
	int rc;

	spin_lock_bh(&llc->lock);
	x->type = msg->type;
	x->rkey = rkey_of_msg(msg);
	x->link = link;
	x->done = false;
	spin_unlock_bh(&llc->lock);
	rc = smc_llc_send_msg(link, msg);
	if (rc)
		return rc;
	rkey_await_response(llc, link, cancel);
	spin_lock_bh(&llc->lock);
	if (x->done && x->negative)
		rc = x->retry ? -EAGAIN : -EPERM;
	else if (!x->done && (llc->dead || llc_link_broken(link)))
		rc = -ECONNABORTED;
	else if (!x->done)
		rc = READ_ONCE(*cancel) ? -ECANCELED : -ETIMEDOUT;
	spin_unlock_bh(&llc->lock);
	return rc;
}

/* Version 1: the links that CONFIRM RKEY had no room for, @left of them from @other on. */
static int rkey_request_cont(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_rkey *other,
		    u8 left, const bool *cancel)
{
	struct smc_llc_confirm_rkey_cont *cc;
	struct smc_llc_msg msg;
	int rc;
	u8 n;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_CONFIRM_RKEY_CONT, false);
	cc = &msg.confirm_rkey_cont;
	for (; left; left -= n, other += n) {
		n = min_t(u8, left, SMC_LLC_CRKEY_CONT_PAIRS);
		cc->left = left;
		memcpy(cc->other, other, n * sizeof(*other));
		rc = rkey_request(llc, link, &msg, cancel);
		if (rc)
			return rc;
	}
	return 0;
}

/* All that the peer has to hear of an RMB, in one turn. */
static int rkey_confirm_exchange(struct smc_llc *llc, struct smc_link *link,
			 const struct smc_llc_msg *msg, const bool *cancel)
{
	const struct smc_llc_confirm_rkey *cr = &msg->confirm_rkey;
	u8 here = smc_llc_crkey_here(msg->version, cr->others);
	int rc;

	rc = rkey_take_turn(llc, link, cancel, jiffies + TURN_TIME);
	if (rc)
		return rc;
	rc = rkey_request(llc, link, msg, cancel);
	if (!rc)
		rc = rkey_request_cont(llc, link, cr->other + here, cr->others - here, cancel);
	rkey_end_turn(llc);
	return rc;
}

/* The keys of @region on the other links of the group. */
static void rkey_list_other_links(struct smc_lgr *lgr, const struct smc_link *link,
			     const struct smc_region *region,
			     struct smc_llc_confirm_rkey *cr)
{
	struct smc_llc_rkey *other;
	struct smc_link *l;
	u32 slot;

	/* all there may be; if @link has gone and another one has its slot, this ends in nothing */
	static_assert(SMC_CORE_LINKS - 1 <= SMC_LLC_MAX_OTHER);
	for (slot = 0; slot < SMC_CORE_LINKS && cr->others < SMC_LLC_MAX_OTHER; slot++) {
		l = smc_core_link(lgr, slot);
		if (!l)
			continue;
		if (l != link && smc_link_usable(l) && region->maps[slot].registered) {
			other = &cr->other[cr->others++];
			other->link_num = l->num;
			other->rkey = smc_buf_rkey(region, slot);
			other->vaddr = smc_buf_iova(region, slot);
		}
		smc_link_put(l);
	}
}

/* Is @num one of the links that an RMB was named for? */
static bool rkey_is_announced(const struct smc_llc_confirm_rkey *cr, const struct smc_link *link, u8 num)
{
	int i;

	for (i = 0; i < cr->others; i++)
		if (cr->other[i].link_num == num)
			return true;
	return link->num == num;
}

/*
 * Has a link become usable meanwhile? It was added while the request was under way, so what
 * the peer heard of our RMBs in that exchange meant nothing to it in this case.
 */
static bool rkey_missed_link(struct smc_lgr *lgr, const struct smc_link *link,
			const struct smc_llc_confirm_rkey *cr)
{
	struct smc_link *l;
	bool missed = false;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		l = smc_core_link(lgr, slot);
		if (!l)
			continue;
		missed |= smc_link_usable(l) && !rkey_is_announced(cr, link, l->num);
		smc_link_put(l);
	}
	return missed;
}

/**
 * smc_llc_rkey_confirm() - announce an RMB and wait for the answer
 * @lgr: group
 * @link: link to say it on
 * @region: RMB, mapped and registered on @link
 * @cancel: set: give up
 *
 * Return: 0, -ETIMEDOUT, -EPERM, -ECONNABORTED, -ECANCELED.
 */
int smc_llc_rkey_confirm(struct smc_lgr *lgr, struct smc_link *link, struct smc_region *region,
			 const bool *cancel)
{
	unsigned long end = jiffies + TURN_TIME;
	struct smc_llc *llc = lgr->llc;
	struct smc_llc_msg msg;
	bool mapped;
	int rc;

	for (;;) {
		smc_llc_send_prepare(llc, &msg, SMC_LLC_CONFIRM_RKEY, false);
		mutex_lock(&lgr->mutex);
		mapped = rcu_access_pointer(region->maps[link->slot].mapping);
		if (mapped) {
			msg.confirm_rkey.rkey = smc_buf_rkey(region, link->slot);
			msg.confirm_rkey.vaddr = smc_buf_iova(region, link->slot);
			rkey_list_other_links(lgr, link, region, &msg.confirm_rkey);
		}
		mutex_unlock(&lgr->mutex);
		if (!mapped)
			return -ECONNABORTED;	/* the link went meanwhile */
		smc_stats_inc(lgr->net, SMC_STAT_RKEY_CONFIRM);
		rc = rkey_confirm_exchange(llc, link, &msg, cancel);
		if (rc == -EAGAIN)
			schedule_timeout_uninterruptible(RETRY_TIME);
		else if (rc || !rkey_missed_link(lgr, link, &msg.confirm_rkey))
			return rc;
		if (time_after_eq(jiffies, end))
			return rc ? -EPERM : 0;
	}
}

/**
 * smc_rkey_delete() - take an RMB back and wait for the answer
 * @lgr: group
 * @region: RMB, no element of which is in use, nor will be
 *
 * One per message, as in-tree peers have it.
 *
 * Return: 0: the peer does not know it any more; -EAGAIN: it was not asked; -EPERM: it says
 * no; -ETIMEDOUT, -ECONNABORTED: it may have forgotten it.
 */
int smc_rkey_delete(struct smc_lgr *lgr, const struct smc_region *region)
{
	struct smc_link *link = smc_core_pick_link(lgr);
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
		smc_llc_put_rkey(raw, 0, smc_buf_rkey(region, link->slot));
		msg.delete_rkey.count = 1;
		msg.delete_rkey.rkeys.raw = raw;
		msg.delete_rkey.rkeys.count = 1;
		smc_stats_inc(lgr->net, SMC_STAT_RKEY_DELETE);
		rc = rkey_request(llc, link, &msg, &never);
		rkey_end_turn(llc);
	}
	smc_link_put(link);
	return rc;
}

/* ---- the peer's; llc->work, in order of arrival ---- */

static int rkey_store_other_links(struct smc_llc *llc, u32 slot, u32 rkey,
			     const struct smc_llc_rkey *others, u32 n)
{
	struct smc_link *l;
	int rc = 0;
	u32 i;

	for (i = 0; i < n && !rc; i++) {
		/* a link that has just gone needs no key */
		l = smc_core_link_by_num(llc->lgr, others[i].link_num);
		if (!l)
			continue;
		rc = smc_core_rtoken_set_link(llc->lgr, slot, rkey, l->slot, others[i].rkey,
					      others[i].vaddr);
		/* gone meanwhile: the slot may be another link's by now */
		if (!rc && llc_link_broken(l))
			smc_core_rtoken_unset_link(llc->lgr, l->slot, others[i].rkey);
		smc_link_put(l);
	}
	return rc;
}

static void rkey_confirm_receive(struct smc_llc *llc, struct smc_link *link,
			    const struct smc_llc_msg *req)
{
	const struct smc_llc_confirm_rkey *cr = &req->confirm_rkey;
	u8 here = smc_llc_crkey_here(req->version, cr->others);
	struct smc_llc_msg msg = *req;
	int rc = -EPROTO;

	/* the symmetric links that were agreed upon, and one more: all but the one it came over */
	if (cr->others <= READ_ONCE(llc->lgr->peer.max_links))
		rc = smc_core_rtoken_add(llc->lgr, link->slot, cr->rkey, cr->vaddr);
	if (rc >= 0)
		rc = rkey_store_other_links(llc, link->slot, cr->rkey, cr->other, here);
	/* gone before its keys were forgotten, or after: the slot may be another link's by now */
	if (llc_link_broken(link)) {
		smc_core_rtoken_del(llc->lgr, link->slot, cr->rkey);
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
	u32 n = min_t(u32, cc->left, SMC_LLC_CRKEY_CONT_PAIRS);
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
		if (!refuse && !smc_core_rtoken_del(llc->lgr, link->slot,
						    smc_llc_get_rkey(rkeys, i)))
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
 * smc_rkey_receive() - the peer announces an RMB, or takes some back
 * @llc: LLC state
 * @link: link that carried the request
 * @msg: request
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
 * smc_rkey_refuse() - the peer has to ask again later
 * @llc: LLC state
 * @link: link that carried the request
 * @req: request, also one that needs no answer
 */
void smc_rkey_refuse(struct smc_llc *llc, struct smc_link *link,
			 const struct smc_llc_msg *req)
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
 * smc_rkey_take_response() - the peer answers a request about an RMB
 * @llc: LLC state
 * @link: link that carried it
 * @msg: answer
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
	 * A late answer to a request that was given up names another key; that to a DELETE RKEY
	 * need not, but after such a one there is none any more over the same link.
	 */
	if (x->busy && x->type == msg->type && x->rkey == rkey_of_msg(msg) &&
	    (x->link == link || msg->type != SMC_LLC_DELETE_RKEY)) {
		x->negative = negative;
		x->retry = retry;
		x->done = true;
	}
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
}
