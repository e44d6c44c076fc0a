// SPDX-License-Identifier: GPL-2.0-only
/*
 * Server: the ADD LINK exchange, a second link for a group (RFC 7609 section
 * 3.5.1.2). Runs in a work of its own, since the client makes it wait.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <smc/buf.h>
#include <smc/core.h>
#include <smc/fault.h>
#include <smc/link.h>
#include <smc/llc_priv.h>
#include <smc/pnet.h>

#define INBOX_MAX	8		/* messages kept for the exchange */
#define CONFIRM_TIME	(5 * HZ)	/* CONFIRM LINK of the new link */
#define AGAIN_TIME	(3 * HZ)	/* ADD LINK unanswered after a repeated CONFIRM LINK */

/**
 * smc_llc_add_response() - hand a response to the exchange, if it waits
 * @llc: LLC state
 * @ev: message
 * @msg: the same, parsed
 *
 * Return: true: @ev belongs to the exchange now.
 */
bool smc_llc_add_response(struct smc_llc *llc, struct llc_event *ev, const struct smc_llc_msg *msg)
{
	bool taken = false;

	spin_lock_bh(&llc->lock);
	if (msg->type == SMC_LLC_ADD_LINK && llc->fc.link == ev->link)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	if (llc->add.active && !llc->add.rejected && llc->add.ninbox < INBOX_MAX) {
		/* nothing can follow: let the next exchange begin */
		if (msg->type == SMC_LLC_ADD_LINK && msg->add_link.rejected) {
			llc->add.rejected = true;
			llc_end_turn(llc);
		}
		list_add_tail(&ev->entry, &llc->add.inbox);
		llc->add.ninbox++;
		taken = true;
	}
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	return taken;
}

/* The next response of @type on @link, parsed; to be freed. NULL: none by then. */
static struct llc_event *wait_inbox(struct smc_llc *llc, struct smc_link *link, u8 type,
				    unsigned long time, struct smc_llc_msg *msg)
{
	unsigned long end = jiffies + time;
	struct llc_event *ev;
	long left;

	for (;;) {
		spin_lock_bh(&llc->lock);
		ev = list_first_entry_or_null(&llc->add.inbox, struct llc_event, entry);
		if (ev) {
			list_del(&ev->entry);
			llc->add.ninbox--;
		}
		spin_unlock_bh(&llc->lock);
		if (ev && ev->link == link && !smc_llc_parse(ev->buf, ev->len, msg) &&
		    msg->type == type)
			return ev;
		if (ev) {
			llc_free_event(ev);
			continue;
		}
		left = end - jiffies;
		if (READ_ONCE(llc->dead) || READ_ONCE(llc->add.aborted) || llc_link_broken(link) ||
		    left <= 0)
			return NULL;
		wait_event_timeout(llc->wait, READ_ONCE(llc->add.ninbox) ||
				   READ_ONCE(llc->dead) || READ_ONCE(llc->add.aborted) ||
				   llc_link_broken(link), left);
	}
}

/* Our RMBs as known on @ref and on the new link. To be freed; *n = 0 and NULL: none. */
static u8 *list_rtokens(struct smc_lgr *lgr, const struct smc_link *ref,
			const struct smc_link *link, u16 *n)
{
	struct smc_llc_rtoken rt;
	struct smc_region *region;
	u8 *raw;

	*n = 0;
	raw = smc_fault_null(LLC_RTOKENS,
			     kcalloc(SMC_LLC_MAX_RTOKENS, SMC_LLC_RTOKEN_LEN, GFP_KERNEL));
	if (!raw)
		return NULL;
	mutex_lock(&lgr->mutex);
	spin_lock_bh(&lgr->pool.lock);
	list_for_each_entry(region, &lgr->pool.regions[SMC_BUF_RMB], entry) {
		if (*n == SMC_LLC_MAX_RTOKENS)
			break;
		if (!rcu_access_pointer(region->maps[ref->slot].mapping) ||
		    !rcu_access_pointer(region->maps[link->slot].mapping))
			continue;
		rt.ref_rkey = smc_buf_rkey(region, ref->slot);
		rt.rkey = smc_buf_rkey(region, link->slot);
		rt.vaddr = smc_buf_iova(region, link->slot);
		smc_llc_put_rtoken(raw, (*n)++, &rt);
	}
	spin_unlock_bh(&lgr->pool.lock);
	mutex_unlock(&lgr->mutex);
	return raw;
}

/* @link NULL: no queue pair could be made; the client still has to hear something. */
static int send_add_link(struct smc_llc *llc, struct smc_link *first, struct smc_link *link)
{
	struct smc_llc_add_link *al;
	struct smc_llc_msg msg;
	u8 *raw = NULL;
	int rc;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_ADD_LINK, false);
	al = &msg.add_link;
	memcpy(al->mac, first->path.gid.mac, sizeof(al->mac));
	memcpy(al->gid, first->path.gid.gid.raw, sizeof(al->gid));
	al->mtu = first->path.gid.mtu;
	if (link) {
		al->qpn = link->qp->qpn;
		al->link_num = link->num;
		al->psn = link->psn;
	}
	if (msg.version > 1) {
		al->has_ext = true;
		al->direct = first->direct;
		memcpy(al->target_gid, first->path.gid.gid.raw, sizeof(al->target_gid));
		if (link)
			raw = list_rtokens(llc->lgr, first, link, &al->rtokens.count);
		al->rtokens.raw = al->rtokens.count ? raw : NULL;
	}
	rc = smc_llc_send_msg(first, &msg);
	kfree(raw);
	return rc;
}

/* An unknown RMB is no reason to give the link up: it may be on its way out. */
static void store_rtokens(struct smc_lgr *lgr, const struct smc_link *first,
			  const struct smc_link *link, const struct smc_llc_rtoken *rt)
{
	smc_core_rtoken_set_link(lgr, first->slot, rt->ref_rkey, link->slot, rt->rkey, rt->vaddr);
}

/* Version 1: both sides tell their rtokens in turns, until both have told all. */
static int exchange_rtokens(struct smc_llc *llc, struct smc_link *first, struct smc_link *link)
{
	u16 n, told = 0, left = 0;
	struct smc_llc_list list = {};
	struct smc_llc_msg msg;
	struct llc_event *ev;
	int rc = 0, i;
	u8 *raw;

	raw = list_rtokens(llc->lgr, first, link, &n);
	list.raw = raw;
	list.count = n;
	do {
		smc_llc_send_prepare(llc, &msg, SMC_LLC_ADD_LINK_CONT, false);
		msg.add_link_cont.link_num = link->num;
		msg.add_link_cont.left = n - told;
		for (i = 0; i < SMC_LLC_CONT_PAIRS && told < n; i++)
			smc_llc_get_rtoken(&list, told++, &msg.add_link_cont.pairs[i]);
		rc = smc_llc_send_msg(first, &msg);
		if (rc)
			break;
		ev = wait_inbox(llc, first, SMC_LLC_ADD_LINK_CONT, LLC_RSP_TIME, &msg);
		if (!ev) {
			rc = -ETIMEDOUT;
			break;
		}
		for (i = 0; i < min_t(int, msg.add_link_cont.left, SMC_LLC_CONT_PAIRS); i++)
			store_rtokens(llc->lgr, first, link, &msg.add_link_cont.pairs[i]);
		/* counts down, or the peer could keep us here for ever */
		if (left && msg.add_link_cont.left >= left)
			rc = -EPROTO;
		left = msg.add_link_cont.left > i ? msg.add_link_cont.left : 0;
		llc_free_event(ev);
	} while (!rc && (told < n || left));
	kfree(raw);
	return rc;
}

/* What the client says about its end of the new link. */
static int take_peer_end(const struct smc_llc_add_link *al, const struct smc_link *first,
			 struct smc_link *link)
{
	if (al->link_num != link->num || !al->qpn || !al->mtu || al->mtu > IB_MTU_4096)
		return -EPROTO;
	/* our end is the first link's: the same peer end would make them parallel */
	if (!memcmp(al->gid, first->peer_gid.raw, sizeof(al->gid)))
		return -EEXIST;
	memcpy(link->peer_gid.raw, al->gid, sizeof(al->gid));
	memcpy(link->peer_mac, al->mac, sizeof(al->mac));
	link->peer_qpn = al->qpn;
	link->peer_psn = al->psn;
	link->mtu = min_t(u8, link->path.gid.mtu, al->mtu);
	return smc_pnet_resolve(&link->path, &link->peer_gid, link->peer_mac, &link->direct);
}

/*
 * Regions made while the link was set up are mapped on it, but registered only on
 * links that are usable. Both change under the mutex, so none is forgotten.
 */
static int register_regions(struct smc_lgr *lgr, struct smc_link *link, bool then_activate)
{
	int rc;

	mutex_lock(&lgr->mutex);
	rc = smc_buf_pool_register(&lgr->pool, link->slot);
	if (!rc && then_activate)
		smc_link_activate(link);
	mutex_unlock(&lgr->mutex);
	return rc;
}

/* The client wants the link. */
static int finish_add(struct smc_llc *llc, struct smc_link *first, struct smc_link *link,
		      const struct smc_llc_msg *rsp)
{
	struct smc_llc_rtoken rt;
	struct smc_llc_msg msg;
	struct llc_event *ev;
	int rc;
	u16 i;

	rc = take_peer_end(&rsp->add_link, first, link);
	if (!rc)
		rc = smc_link_connect(link);
	if (!rc)
		rc = register_regions(llc->lgr, link, false);
	if (rc)
		return rc;
	for (i = 0; i < rsp->add_link.rtokens.count; i++) {
		smc_llc_get_rtoken(&rsp->add_link.rtokens, i, &rt);
		store_rtokens(llc->lgr, first, link, &rt);
	}
	if (rsp->version == 1)
		rc = exchange_rtokens(llc, first, link);
	if (!rc)
		rc = smc_llc_send_confirm_link(link, false);
	if (rc)
		return rc;
	ev = wait_inbox(llc, link, SMC_LLC_CONFIRM_LINK, CONFIRM_TIME, &msg);
	if (!ev)
		return -ETIMEDOUT;
	if (!msg.confirm_link.no_eyec || msg.confirm_link.link_num != link->num ||
	    msg.confirm_link.qpn != link->peer_qpn)
		rc = -EPROTO;
	else
		link->peer_uid = smc_get_be32(msg.confirm_link.link_uid);
	llc_free_event(ev);
	if (!rc)
		rc = register_regions(llc->lgr, link, true);
	if (!rc)
		llc_arm_test(llc, 0);
	return rc;
}

static bool hopeless(const struct smc_llc *llc, const struct smc_link *first)
{
	return READ_ONCE(llc->dead) || llc_link_broken(first);
}

/* Sends ADD LINK and waits for what the client says; NULL: nothing, or no. */
static struct llc_event *offer_link(struct smc_llc *llc, struct smc_link *first,
				    struct smc_link *link, struct smc_llc_msg *rsp)
{
	struct llc_event *ev;
	unsigned int i;

	for (i = 0; i < llc->add.tries; i++) {
		if (i)
			wait_event_timeout(llc->wait, hopeless(llc, first), AGAIN_TIME);
		if (hopeless(llc, first) || send_add_link(llc, first, link))
			return NULL;
		ev = wait_inbox(llc, first, SMC_LLC_ADD_LINK, LLC_RSP_TIME, rsp);
		if (ev && rsp->add_link.rejected) {
			llc_free_event(ev);
			return NULL;
		}
		if (ev)
			return ev;
	}
	return NULL;
}

/**
 * smc_llc_add_work() - the exchange
 * @work: llc->add_work
 */
void smc_llc_add_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, add_work);
	struct smc_link *first = llc->add.first;
	struct smc_path path = first->path;
	struct smc_llc_msg rsp;
	struct smc_link *link = NULL;
	struct llc_event *ev;
	int rc = -ENODEV;

	/*
	 * The request names the queue pair, so it exists before the client has a say.
	 * The path is that of the first link: a client with a second RNIC accepts, one
	 * without refuses, and then the queue pair goes again.
	 */
	if (smc_ib_device_get_unless_zero(path.dev))
		link = smc_core_add_link(llc->lgr, &path);
	if (IS_ERR(link))
		link = NULL;
	spin_lock_bh(&llc->lock);
	llc->add.num = link ? link->num : 0;
	spin_unlock_bh(&llc->lock);

	ev = offer_link(llc, first, link, &rsp);
	if (ev && link)
		rc = finish_add(llc, first, link, &rsp);
	if (ev) {
		pr_info_ratelimited("group %08x: second link: %d\n", llc->lgr->id, rc);
		llc_free_event(ev);
	}
	if (ev && link && rc && !READ_ONCE(llc->dead) && !READ_ONCE(llc->add.aborted))
		smc_llc_send_delete_link(first, link->num, SMC_LLC_DEL_LOST_PATH, false);
	if (link && rc)
		smc_core_del_link(link, SMC_LINK_SETUP_FAILED);
	if (link)
		smc_link_put(link);

	spin_lock_bh(&llc->lock);
	llc_free_events(&llc->add.inbox);
	llc->add.ninbox = 0;
	llc->add.num = 0;
	llc->add.active = false;
	llc->add.first = NULL;
	if (llc->running == SMC_LLC_X_ADD_LINK && !llc->add.rejected)
		llc_end_turn(llc);
	spin_unlock_bh(&llc->lock);
	smc_link_put(first);
}
