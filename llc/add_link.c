// SPDX-License-Identifier: GPL-2.0-only
/*
 * The exchange that adds a link to a group (RFC 7609 sections 3.5.1.6, 3.5.5.1.1 and
 * 3.5.5.2.3): what both sides do. Each side runs it in a work of its own, since the
 * other one makes it wait.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include <smc/rdma/region.h>
#include "internal.h"

#define INBOX_MAX	8		/* messages kept for the exchange */

/**
 * struct add_link_rtokens - rtokens on their way in ADD LINK CONTINUATION
 * @list: ours
 * @sent: how many of them were told
 * @peer: the peer's
 */
struct add_link_rtokens {
	struct smc_llc_list list;
	u16 sent;
	struct smc_llc_told peer;
};

static bool add_link_is_client(const struct smc_llc *llc)
{
	return llc_role(llc) == SMC_LLC_CLIENT;
}

/**
 * smc_add_link_begin() - start the exchange
 * @llc: LLC state; llc->lock held, no exchange runs, the group is not dead
 * @first: link that is to carry it
 */
void smc_add_link_begin(struct smc_llc *llc, struct smc_link *first)
{
	struct llc_add *add = &llc->add;

	lockdep_assert_held(&llc->lock);
	add->active = true;
	add->rejected = false;
	add->accepted = false;
	add->aborted = false;
	add->num = 0;
	smc_link_get(first);
	add->first = first;
	queue_work(smc_llc_wait_wq, &llc->add_work);
}

/* What the client says to the offer. llc->lock held. */
static void add_link_take_answer(struct smc_llc *llc, bool rejected)
{
	struct llc_add *add = &llc->add;

	lockdep_assert_held(&llc->lock);
	if (!rejected) {
		add->accepted = true;
	} else if (add->accepted) {
		/* add_work is in the midst of it, and has the turn until it is through */
		add->aborted = true;
	} else {
		/* nothing can follow: let the next exchange begin */
		add->rejected = true;
		llc_turn_end(llc);
	}
}

/**
 * smc_add_link_take_msg() - hand a message to the exchange, if it waits
 * @llc: LLC state
 * @ev: message
 * @msg: the same, parsed
 *
 * Return: true: @ev belongs to the exchange now.
 */
bool smc_add_link_take_msg(struct smc_llc *llc, struct llc_event *ev, const struct smc_llc_msg *msg)
{
	struct llc_add *add = &llc->add;
	bool taken = false;

	spin_lock_bh(&llc->lock);
	if (msg->type == SMC_LLC_ADD_LINK && llc->fc.link == ev->link)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	if (add->active && !add->rejected && add->ninbox < INBOX_MAX) {
		if (msg->type == SMC_LLC_ADD_LINK && ev->link == add->first)
			add_link_take_answer(llc, msg->add_link.rejected);
		list_add_tail(&ev->entry, &add->inbox);
		add->ninbox++;
		taken = true;
	}
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	return taken;
}

/**
 * smc_add_link_wait_msg() - wait for a message of the exchange
 * @llc: LLC state
 * @link: link on which it has to come
 * @type: which
 * @time: jiffies, within those that the exchange has
 * @msg: result: the message, parsed
 *
 * Others that come are thrown away.
 *
 * Return: the message, to be freed; NULL: none by then, or the exchange is over.
 */
struct llc_event *smc_add_link_wait_msg(struct smc_llc *llc, struct smc_link *link, u8 type,
				   unsigned long time, struct smc_llc_msg *msg)
{
	unsigned long end = jiffies + time;
	struct llc_event *ev;
	long left;

	if (time_after(end, llc->add.until))
		end = llc->add.until;
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
			llc_event_free(ev);
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

/*
 * Our RMBs as known on the new link; @ref carries the exchange: how the peer knows them.
 * Returns memory that @list lies in, to be freed; may be NULL.
 */
static u8 *add_link_list_rtokens(struct smc_lgr *lgr, const struct smc_link *ref,
			const struct smc_link *link, struct smc_llc_list *list)
{
	struct smc_llc_rtoken rt;
	struct smc_region *region;
	u8 *raw;

	memset(list, 0, sizeof(*list));
	raw = smc_fault_null(LLC_RTOKENS,
			     kcalloc(SMC_LLC_MAX_RTOKENS, SMC_LLC_RTOKEN_LEN, GFP_KERNEL));
	if (!raw)
		return NULL;
	mutex_lock(&lgr->mutex);
	spin_lock_bh(&lgr->pool.lock);
	list_for_each_entry(region, &lgr->pool.regions[SMC_BUF_RMB], entry) {
		if (list->count == SMC_LLC_MAX_RTOKENS)
			break;
		/* the peer has been asked to forget it */
		if (region->shelved)
			continue;
		if (!rcu_access_pointer(region->maps[ref->slot].mapping) ||
		    !rcu_access_pointer(region->maps[link->slot].mapping))
			continue;
		rt.ref_rkey = smc_buf_rkey(region, ref->slot);
		rt.rkey = smc_buf_rkey(region, link->slot);
		rt.vaddr = smc_buf_iova(region, link->slot);
		smc_llc_put_rtoken(raw, list->count++, &rt);
	}
	spin_unlock_bh(&lgr->pool.lock);
	mutex_unlock(&lgr->mutex);
	list->raw = list->count ? raw : NULL;
	return raw;
}

/* An unknown RMB is no reason to give the link up: it may be on its way out. */
static void add_link_store_rtoken(struct smc_lgr *lgr, const struct smc_link *ref,
			 const struct smc_link *link, const struct smc_llc_rtoken *rt)
{
	smc_core_rtoken_set_link(lgr, ref->slot, rt->ref_rkey, link->slot, rt->rkey, rt->vaddr);
}

/*
 * What an RMB is called on @ref says nothing any more when that has gone meanwhile: the new
 * link would be one without a way to the peer's memory. And when @link itself has gone, what
 * was stored came after its keys had been forgotten.
 */
static bool add_link_rtokens_stale(const struct smc_link *ref, const struct smc_link *link)
{
	return llc_link_broken(ref) || llc_link_broken(link);
}

/**
 * smc_add_link_store_rtokens() - the peer's RMBs as known on the new link
 * @lgr: group
 * @ref: link that carries the exchange
 * @link: new link
 * @list: from the message
 *
 * Return: 0, -ECONNABORTED.
 */
int smc_add_link_store_rtokens(struct smc_lgr *lgr, const struct smc_link *ref,
		      const struct smc_link *link, const struct smc_llc_list *list)
{
	struct smc_llc_rtoken rt;
	u16 i;

	for (i = 0; i < list->count; i++) {
		smc_llc_get_rtoken(list, i, &rt);
		add_link_store_rtoken(lgr, ref, link, &rt);
	}
	return add_link_rtokens_stale(ref, link) ? -ECONNABORTED : 0;
}

/* Version 1: tells the next of our rtokens. */
static int add_link_send_cont(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link,
		     struct add_link_rtokens *told)
{
	struct smc_llc_add_link_cont *cont;
	struct smc_llc_msg msg;
	int i;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_ADD_LINK_CONT, add_link_is_client(llc));
	cont = &msg.add_link_cont;
	cont->link_num = link->num;
	cont->left = told->list.count - told->sent;
	for (i = 0; i < SMC_LLC_CONT_PAIRS && told->sent < told->list.count; i++)
		smc_llc_get_rtoken(&told->list, told->sent++, &cont->pairs[i]);
	return smc_llc_send_msg(ref, &msg);
}

/* Version 1: takes the next of the peer's. */
static int add_link_take_cont(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link,
		     struct add_link_rtokens *told, const struct smc_llc_add_link_cont *cont)
{
	int i, n = smc_llc_told_more(&told->peer, cont, link->num);

	if (n < 0)
		return n;
	for (i = 0; i < n; i++)
		add_link_store_rtoken(llc->lgr, ref, link, &cont->pairs[i]);
	return add_link_rtokens_stale(ref, link) ? -ECONNABORTED : 0;
}

/**
 * smc_add_link_exchange_rtokens() - version 1: both sides tell their rtokens
 * @llc: LLC state
 * @ref: link that carries the exchange
 * @link: new link
 *
 * In turns, until both have told all. The server begins.
 *
 * Return: 0, -EPROTO, -ETIMEDOUT, -ECONNABORTED.
 */
int smc_add_link_exchange_rtokens(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link)
{
	const bool client = add_link_is_client(llc);
	struct smc_llc_msg msg;
	struct add_link_rtokens told = {};
	struct llc_event *ev;
	int rc = 0;
	u8 *raw;

	raw = add_link_list_rtokens(llc->lgr, ref, link, &told.list);
	do {
		if (!client)
			rc = add_link_send_cont(llc, ref, link, &told);
		if (rc)
			break;
		ev = smc_add_link_wait_msg(llc, ref, SMC_LLC_ADD_LINK_CONT, LLC_RSP_TIME, &msg);
		if (!ev) {
			rc = -ETIMEDOUT;
			break;
		}
		rc = add_link_take_cont(llc, ref, link, &told, &msg.add_link_cont);
		llc_event_free(ev);
		if (!rc && client)
			rc = add_link_send_cont(llc, ref, link, &told);
	} while (!rc && (told.sent < told.list.count || told.peer.left));
	kfree(raw);
	return rc;
}

/* ADD LINK about a new link, without rtokens: the server's offer, the client's acceptance. */
static void add_link_fill(struct smc_llc *llc, struct smc_llc_msg *msg, const struct smc_path *path,
		 const struct smc_link *link)
{
	struct smc_llc_add_link *al = &msg->add_link;
	const bool client = add_link_is_client(llc);

	smc_llc_send_prepare(llc, msg, SMC_LLC_ADD_LINK, client);
	memcpy(al->mac, path->gid.mac, sizeof(al->mac));
	memcpy(al->gid, path->gid.gid.raw, sizeof(al->gid));
	if (link) {
		/* without one the MTU stays 0, which everybody refuses */
		al->mtu = client ? link->mtu : path->gid.mtu;
		al->qpn = link->qp->qpn;
		al->link_num = link->num;
		al->psn = link->psn;
	}
	if (msg->version == 1)
		return;
	al->has_ext = true;
	al->direct = link && link->direct;
	memcpy(al->target_gid, al->gid, sizeof(al->target_gid));
}

/**
 * smc_add_link_send() - the server offers a link, the client accepts it
 * @llc: LLC state
 * @ref: link that carries the exchange
 * @link: new link; NULL: server: there is none, but the client has to hear something
 *
 * Return: as smc_llc_send_msg().
 */
int smc_add_link_send(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link)
{
	struct smc_llc_msg msg;
	u8 *raw = NULL;
	int rc;

	add_link_fill(llc, &msg, link ? &link->path : &ref->path, link);
	if (link && msg.version > 1)
		raw = add_link_list_rtokens(llc->lgr, ref, link, &msg.add_link.rtokens);
	rc = smc_llc_send_msg(ref, &msg);
	kfree(raw);
	return rc;
}

/*
 * Regions made while the link is set up are mapped on it, but registered only on links that
 * are usable. Both change under the mutex, so none is forgotten. @then_activate: connections
 * may use it from then on.
 */
static int add_link_register_memory(struct smc_lgr *lgr, struct smc_link *link, bool then_activate)
{
	int rc;

	mutex_lock(&lgr->mutex);
	rc = smc_buf_pool_register(&lgr->pool, link->slot);
	if (!rc && then_activate)
		smc_link_activate(link);
	mutex_unlock(&lgr->mutex);
	if (!rc && then_activate)
		smc_core_tell_link_up(link);
	return rc;
}

/**
 * smc_add_link_connect() - bring the new link up to the peer's end
 * @link: new link
 * @al: what the peer says of its end, judged
 *
 * Return: 0 or -errno.
 */
int smc_add_link_connect(struct smc_link *link, const struct smc_llc_add_link *al)
{
	struct smc_lgr *lgr = link->lgr;
	int rc;

	memcpy(link->peer_gid.raw, al->gid, sizeof(al->gid));
	memcpy(link->peer_mac, al->mac, sizeof(al->mac));
	link->peer_qpn = al->qpn;
	link->peer_psn = al->psn;
	link->mtu = min_t(u8, link->path.gid.mtu, al->mtu);
	/* a link that fails meanwhile lets its device go, and this waits for a neighbour */
	if (!smc_ib_device_get_unless_zero(link->path.dev))
		return -ENODEV;
	rc = smc_pnet_resolve(&link->path, &link->peer_gid, link->peer_mac, &link->direct);
	smc_ib_device_put(link->path.dev);
	/* version 1 knows no gateway */
	if (!rc && lgr->peer.version == 1 && !link->direct)
		rc = -EHOSTUNREACH;
	if (!rc)
		rc = smc_link_connect(link);
	return rc ?: add_link_register_memory(lgr, link, false);
}

/**
 * smc_add_link_await_confirm() - wait for CONFIRM LINK, or its answer, over the new link
 * @llc: LLC state
 * @link: new link
 *
 * Return: 0, -ETIMEDOUT, -EPROTO: another end than the one that ADD LINK named, or one that
 * wants eye catchers.
 */
int smc_add_link_await_confirm(struct smc_llc *llc, struct smc_link *link)
{
	const struct smc_llc_confirm_link *cl;
	struct smc_llc_msg msg;
	struct llc_event *ev;
	int rc = 0;

	ev = smc_add_link_wait_msg(llc, link, SMC_LLC_CONFIRM_LINK, LLC_CONFIRM_TIME, &msg);
	if (!ev)
		return -ETIMEDOUT;
	cl = &msg.confirm_link;
	if (cl->no_eyec && smc_llc_confirms(cl, link->num, link->peer_qpn, link->peer_gid.raw))
		link->peer_uid = smc_get_be32(cl->link_uid);
	else
		rc = -EPROTO;
	llc_event_free(ev);
	return rc;
}

/**
 * smc_add_link_commit() - the new link becomes one like the others
 * @llc: LLC state
 * @link: new link
 *
 * Until then add_work takes it away if the peer deletes it, and announces that it was lost.
 *
 * Return: 0; -ECANCELED: the peer has deleted it; another -errno.
 */
int smc_add_link_commit(struct smc_llc *llc, struct smc_link *link)
{
	int rc;

	rc = add_link_register_memory(llc->lgr, link, true);
	if (rc)
		return rc;
	spin_lock_bh(&llc->lock);
	if (llc->add.aborted)
		rc = -ECANCELED;
	else
		llc->add.num = 0;
	spin_unlock_bh(&llc->lock);
	if (!rc) {
		llc_test_link_arm(llc, 0);
		smc_core_link_came(llc->lgr);
	}
	return rc;
}

/**
 * smc_add_link_report_result() - count and tell what became of a link that both sides wanted
 * @llc: LLC state
 * @link: new link; NULL: there is none
 * @rc: 0 or -errno
 */
void smc_add_link_report_result(struct smc_llc *llc, const struct smc_link *link, int rc)
{
	enum smc_link_set_type type = smc_core_type(llc->lgr);
	struct net *net = llc->lgr->net;

	smc_stats_inc(net, rc ? SMC_STAT_LINK_ADD_FAIL : SMC_STAT_LINK_ADD);
	if (rc)
		smc_recovery_retry_later(llc);
	else
		smc_recovery_link_added(llc, link->num);
	if (!rc && (type == SMC_LINKS_ASYM_LOCAL || type == SMC_LINKS_ASYM_PEER))
		smc_stats_inc(net, SMC_STAT_LINK_ASYM);
	pr_info_ratelimited("group %08x: link %u: %s (%d)\n", llc->lgr->id, link ? link->num : 0,
			    rc ? "not added" : smc_link_set_type_str(type), rc);
	/* its loss may have been noticed while it was ours alone */
	if (!rc && llc_link_broken(link))
		smc_delete_link_report_lost(llc, link);
}

/**
 * smc_add_link_end() - the exchange is over
 * @llc: LLC state
 *
 * Last thing that add_work does.
 */
void smc_add_link_end(struct smc_llc *llc)
{
	struct smc_link *first;

	spin_lock_bh(&llc->lock);
	first = llc->add.first;
	llc_events_free(&llc->add.inbox);
	llc->add.ninbox = 0;
	llc->add.num = 0;
	llc->add.active = false;
	llc->add.first = NULL;
	if (llc->running == SMC_LLC_X_ADD_LINK && !llc->add.rejected)
		llc_turn_end(llc);
	spin_unlock_bh(&llc->lock);
	smc_link_put(first);
}
