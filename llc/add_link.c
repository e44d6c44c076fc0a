// SPDX-License-Identifier: GPL-2.0-only
/*
 * ADD LINK, the exchange that adds a link to a group (RFC 7609 sections 3.5.1.6, 3.5.5.1.1 and
 * 3.5.5.2.3): the steps that server and client have in common. The sequence of each role is in
 * add_link_server.c and add_link_client.c; it runs in smc_llc.add_work, because it waits for
 * the peer.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/log.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include <smc/rdma/region.h>
#include "internal.h"

#define INBOX_MAX	8		/* messages queued for the exchange */

/**
 * struct add_link_rtokens - rtokens exchanged in ADD LINK CONTINUATION
 * @list: rtokens of this host
 * @sent: number of them that were sent
 * @peer: progress of the peer
 */
struct add_link_rtokens {
	struct smc_llc_list list;
	u16 sent;
	struct smc_llc_cont_state peer;
};

/**
 * struct add_link_ports - which ports of this host are eligible for a further link
 * @lgr: group
 * @any_port: ports that the group uses already are eligible, too
 * @wish: the ends of the link, as far as the operator named them
 */
struct add_link_ports {
	struct smc_lgr *lgr;
	bool any_port;
	const struct smc_link_wish *wish;
};

static const struct smc_link_wish no_wish;

static bool add_link_is_client(const struct smc_llc *llc)
{
	return llc_role(llc) == SMC_LLC_CLIENT;
}

/* ---- our end of a further link ---- */

/* Rate a port for a link to an RNIC of the peer that is not known yet, but for what is ordered. */
static unsigned int add_link_rate_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	static const u8 no_mac[SMC_MAC_LEN];	/* links have a peer's */
	const struct add_link_ports *ports = arg;
	const struct smc_link_wish *wish = ports->wish;
	struct smc_peer_rnic to = { .gid = wish->gid.raw, .mac = no_mac };

	if (!smc_link_wish_fits_port(wish, dev, port))
		return 0;
	if (!ports->any_port && smc_topology_uses_port(ports->lgr, dev, port))
		return 0;
	return smc_topology_rate_port(ports->lgr, dev, port,
				      smc_link_wish_names_peer(wish) ? &to : NULL);
}

/**
 * smc_add_link_find_path() - choose our end of a link to an RNIC of the peer not known yet
 * @llc: LLC state
 * @first: a link of the group
 * @any_port: a port that the group uses already is acceptable, if the peer has a second RNIC
 * @wish: what the operator ordered; NULL: nothing
 * @path: result
 *
 * Process context.
 *
 * Return: true if there is one; the caller must release @path with smc_path_put().
 */
bool smc_add_link_find_path(struct smc_llc *llc, const struct smc_link *first, bool any_port,
			    const struct smc_link_wish *wish, struct smc_path *path)
{
	struct smc_lgr *lgr = llc->lgr;
	struct add_link_ports ports = {
		.lgr = lgr, .any_port = any_port, .wish = wish ?: &no_wish,
	};
	struct smc_path_request want = {
		.net = lgr->net,
		.existing = &first->path,
		.tcp_peer = &lgr->peer.tcp_addr,
		.peer_gid = smc_link_wish_names_peer(ports.wish) ? &ports.wish->gid : NULL,
		.score = add_link_rate_port,
		.arg = &ports,
	};

	if (!smc_path_find_further(&want, path))
		return true;
	if (!smc_link_wish_fits_path(ports.wish, &first->path) ||
	    !add_link_rate_port(first->path.dev, first->path.port, &ports) ||
	    !smc_ib_device_get_unless_zero(first->path.dev))
		return false;
	*path = first->path;
	return true;
}

/**
 * smc_add_link_is_possible() - check whether this host has an end for a further link
 * @llc: LLC state
 * @first: a link of the group
 * @any_port: see smc_add_link_find_path()
 * @wish: see there
 *
 * Process context.
 *
 * Return: true if so.
 */
bool smc_add_link_is_possible(struct smc_llc *llc, const struct smc_link *first, bool any_port,
			      const struct smc_link_wish *wish)
{
	struct smc_path path;
	bool found = smc_add_link_find_path(llc, first, any_port, wish, &path);

	if (found)
		smc_path_put(&path);
	return found;
}

/**
 * smc_add_link_order() - add a link by order of the operator
 * @lgr: group
 * @wish: its ends, as far as the operator names them
 *
 * A server offers a link, a client requests one from the server. Returns at once; the peer's
 * decision is not reported, except in the kernel log if @wish is not fulfilled. Process context.
 *
 * Return: 0; -EAGAIN: the first contact is not over; -ENOSPC: the group has as many links as
 * negotiated; -ENOENT: the group ends; -ENODEV: no port of this host is suitable, or there is no
 * such device as @wish names; -ENXIO: the device has no such port; -EEXIST: a link has these ends
 * already; -EHOSTUNREACH: the ends cannot be those of a further link.
 */
int smc_add_link_order(struct smc_lgr *lgr, const struct smc_link_wish *wish)
{
	struct smc_link *first;
	bool possible;
	int rc;

	if (!READ_ONCE(lgr->ready))
		return -EAGAIN;
	rc = smc_link_wish_find_port(wish, lgr->net);
	if (rc)
		return rc;
	if (lgr->peer.max_links < 2)
		return -ENOSPC;
	first = smc_lgr_pick_link(lgr);
	if (!first)
		return -ENOENT;
	possible = smc_add_link_is_possible(lgr->llc, first, true, wish);
	smc_link_put(first);
	if (!possible) {
		if (smc_link_wish_is_met(wish, lgr))
			return -EEXIST;
		if (smc_recovery_count_usable(lgr) >= lgr->peer.max_links)
			return -ENOSPC;
		return smc_link_wish_is_set(wish) ? -EHOSTUNREACH : -ENODEV;
	}
	smc_recovery_add_ordered(lgr->llc, wish);
	return 0;
}

/* ---- messages of the exchange ---- */

/**
 * smc_add_link_begin() - start the ADD LINK exchange
 * @llc: LLC state; llc->lock held, no ADD LINK exchange runs, the group is not dead
 * @first: link that carries the exchange; add_work holds a reference
 */
void smc_add_link_begin(struct smc_llc *llc, struct smc_link *first)
{
	struct llc_add *add = &llc->add;

	lockdep_assert_held(&llc->lock);
	WRITE_ONCE(add->active, true);
	add->rejected = false;
	add->accepted = false;
	WRITE_ONCE(add->aborted, false);
	WRITE_ONCE(add->num, 0);
	smc_link_get(first);
	add->first = first;
	queue_work(llc->lgr->wq, &llc->add_work);
}

/* Server: the client accepted or rejected the link. */
static void add_link_take_answer(struct smc_llc *llc, bool rejected)
{
	struct llc_add *add = &llc->add;

	lockdep_assert_held(&llc->lock);
	if (!rejected) {
		add->accepted = true;
	} else if (add->accepted) {
		/* add_work is setting the link up, and keeps the turn until it has finished */
		WRITE_ONCE(add->aborted, true);
	} else {
		/* nothing follows: the next exchange may begin */
		add->rejected = true;
		llc_turn_end(llc);
	}
}

/* Nothing else may fill the inbox of a server that waits for the answer to its offer. */
static bool add_link_expects(const struct smc_llc *llc, const struct llc_event *ev, u8 type)
{
	return llc->lgr->role == SMC_CLIENT || llc->add.accepted ||
	       (type == SMC_LLC_ADD_LINK && ev->link == llc->add.first);
}

/**
 * smc_add_link_take_msg() - hand a received message over to the exchange, if one runs
 * @llc: LLC state
 * @ev: message
 * @msg: the same message, parsed
 *
 * smc_llc.work.
 *
 * Return: true if the exchange owns @ev now.
 */
bool smc_add_link_take_msg(struct smc_llc *llc, struct llc_event *ev, const struct smc_llc_msg *msg)
{
	struct llc_add *add = &llc->add;
	bool taken = false;

	spin_lock_bh(&llc->lock);
	if (msg->type == SMC_LLC_ADD_LINK && llc->fc.link == ev->link)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	if (add->active && !add->rejected && add->ninbox < INBOX_MAX &&
	    add_link_expects(llc, ev, msg->type)) {
		if (msg->type == SMC_LLC_ADD_LINK && ev->link == add->first)
			add_link_take_answer(llc, msg->add_link.rejected);
		list_add_tail(&ev->entry, &add->inbox);
		WRITE_ONCE(add->ninbox, add->ninbox + 1);
		taken = true;
	}
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	return taken;
}

/**
 * smc_add_link_wait_msg() - wait for a message of the exchange
 * @llc: LLC state
 * @link: link that must receive the message
 * @type: enum smc_llc_type of the message
 * @time: jiffies to wait, limited by the deadline of the exchange (llc_add.until)
 * @msg: result: the message, parsed; lists in it point into the returned event
 *
 * Other messages that arrive meanwhile are dropped. add_work.
 *
 * Return: the message, to be freed with llc_event_free(). NULL: timeout, or the exchange was
 * aborted, the link broken or the group terminated.
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
			WRITE_ONCE(llc->add.ninbox, llc->add.ninbox - 1);
		}
		spin_unlock_bh(&llc->lock);
		if (ev && ev->link == link && !smc_llc_msg_parse(ev->buf, ev->len, msg) &&
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

/* ---- rtokens ---- */

/*
 * List our RMBs with their rkeys on the new @link and, as reference, on @ref, which carries the
 * exchange. Return the memory that @list points into, to be freed; may be NULL.
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
	list_for_each_entry(region, &lgr->pool.regions[SMC_REGION_RMB], entry) {
		if (list->count == SMC_LLC_MAX_RTOKENS)
			break;
		/* withdrawn: DELETE RKEY was sent for it */
		if (region->withdrawn)
			continue;
		if (!rcu_access_pointer(region->maps[ref->slot].mapping) ||
		    !rcu_access_pointer(region->maps[link->slot].mapping))
			continue;
		rt.ref_rkey = smc_region_rkey(region, ref->slot);
		rt.rkey = smc_region_rkey(region, link->slot);
		rt.vaddr = smc_region_iova(region, link->slot);
		smc_llc_list_put_rtoken(raw, list->count++, &rt);
		/* the peer drops the key of an RMB that it does not know */
		if (smc_region_is_known(region, ref->slot))
			smc_region_note_known(region, link->slot);
	}
	spin_unlock_bh(&lgr->pool.lock);
	mutex_unlock(&lgr->mutex);
	list->raw = list->count ? raw : NULL;
	return raw;
}

/* An unknown RMB is not an error: the peer may be deleting it. */
static void add_link_store_rtoken(struct smc_lgr *lgr, const struct smc_link *ref,
				  const struct smc_link *link, const struct smc_llc_rtoken *rt)
{
	smc_rtoken_set_link(lgr, ref->slot, rt->ref_rkey, link->slot, rt->rkey, rt->vaddr);
}

/*
 * If @ref broke meanwhile, its rkeys no longer identify the peer's RMBs, and the new link would
 * have no rtokens. If @link broke, rtokens may have been stored after its rtokens were removed.
 */
static bool add_link_rtokens_stale(const struct smc_link *ref, const struct smc_link *link)
{
	return llc_link_broken(ref) || llc_link_broken(link);
}

/**
 * smc_add_link_store_rtokens() - store the peer's rtokens for the new link
 * @lgr: group
 * @ref: link that carries the exchange
 * @link: new link
 * @list: rtokens in the message
 *
 * RFC 7609 section 3.5.5.2.3. Any context.
 *
 * Return: 0; -ECONNABORTED: @ref or @link is broken.
 */
int smc_add_link_store_rtokens(struct smc_lgr *lgr, const struct smc_link *ref,
			       const struct smc_link *link, const struct smc_llc_list *list)
{
	struct smc_llc_rtoken rt;
	u16 i;

	for (i = 0; i < list->count; i++) {
		smc_llc_list_get_rtoken(list, i, &rt);
		add_link_store_rtoken(lgr, ref, link, &rt);
	}
	return add_link_rtokens_stale(ref, link) ? -ECONNABORTED : 0;
}

/* Version 1: send the next rtokens. */
static int add_link_send_cont(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link,
			      struct add_link_rtokens *rtokens)
{
	struct smc_llc_add_link_cont *cont;
	struct smc_llc_msg msg;
	int i;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_ADD_LINK_CONT, add_link_is_client(llc));
	cont = &msg.add_link_cont;
	cont->link_num = link->num;
	cont->left = rtokens->list.count - rtokens->sent;
	for (i = 0; i < SMC_LLC_CONT_PAIRS && rtokens->sent < rtokens->list.count; i++)
		smc_llc_list_get_rtoken(&rtokens->list, rtokens->sent++, &cont->pairs[i]);
	return smc_llc_send_msg(ref, &msg);
}

/* Version 1: store the next rtokens of the peer. */
static int add_link_take_cont(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link,
			      struct add_link_rtokens *rtokens,
			      const struct smc_llc_add_link_cont *cont)
{
	int i, n = smc_llc_cont_take(&rtokens->peer, cont, link->num);

	if (n < 0)
		return n;
	for (i = 0; i < n; i++)
		add_link_store_rtoken(llc->lgr, ref, link, &cont->pairs[i]);
	return add_link_rtokens_stale(ref, link) ? -ECONNABORTED : 0;
}

/**
 * smc_add_link_exchange_rtokens() - version 1: exchange rtokens by ADD LINK CONTINUATION
 * @llc: LLC state
 * @ref: link that carries the exchange
 * @link: new link
 *
 * Server and client send in turns, until both have sent all their rtokens. The server begins.
 * add_work.
 *
 * Return: 0; -EPROTO: invalid message; -ETIMEDOUT: no message in time; -ECONNABORTED: @ref or
 * @link is broken.
 */
int smc_add_link_exchange_rtokens(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link)
{
	const bool client = add_link_is_client(llc);
	struct smc_llc_msg msg;
	struct add_link_rtokens rtokens = {};
	struct llc_event *ev;
	int rc = 0;
	u8 *raw;

	raw = add_link_list_rtokens(llc->lgr, ref, link, &rtokens.list);
	do {
		if (!client)
			rc = add_link_send_cont(llc, ref, link, &rtokens);
		if (rc)
			break;
		ev = smc_add_link_wait_msg(llc, ref, SMC_LLC_ADD_LINK_CONT, LLC_RSP_TIME, &msg);
		if (!ev) {
			rc = -ETIMEDOUT;
			break;
		}
		rc = add_link_take_cont(llc, ref, link, &rtokens, &msg.add_link_cont);
		llc_event_free(ev);
		if (!rc && client)
			rc = add_link_send_cont(llc, ref, link, &rtokens);
	} while (!rc && (rtokens.sent < rtokens.list.count || rtokens.peer.left));
	kfree(raw);
	return rc;
}

/* ---- steps ---- */

/* Fill in ADD LINK without rtokens: the server's offer, or the client's acceptance. */
static void add_link_fill(struct smc_llc *llc, struct smc_llc_msg *msg, const struct smc_path *path,
			  const struct smc_link *link)
{
	struct smc_llc_add_link *al = &msg->add_link;
	const bool client = add_link_is_client(llc);

	smc_llc_send_prepare(llc, msg, SMC_LLC_ADD_LINK, client);
	memcpy(al->mac, path->gid.mac, sizeof(al->mac));
	memcpy(al->gid, path->gid.gid.raw, sizeof(al->gid));
	if (link) {
		/* without a link the MTU stays 0, which all clients reject */
		al->mtu = client ? link->mtu : path->gid.mtu;
		al->qpn = smc_qp_get_qpn(link->qp);
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
 * smc_add_link_send() - send ADD LINK: the server's offer, or the client's acceptance
 * @llc: LLC state
 * @ref: link that carries the exchange
 * @link: new link; NULL: server: there is none, but the first contact of the client waits for
 *	ADD LINK
 *
 * Process context, see smc_llc_send_msg().
 *
 * Return: see smc_llc_send_msg().
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
 * Register all regions on @link. A region that is added while the link is set up is mapped on
 * the link, but registered only on usable links. Both change under the mutex, so no region is
 * missed. @then_activate: also make the link usable for connections.
 */
static int add_link_register_memory(struct smc_lgr *lgr, struct smc_link *link, bool then_activate)
{
	int rc;

	mutex_lock(&lgr->mutex);
	rc = smc_pool_register_link(&lgr->pool, link->slot);
	if (!rc && then_activate)
		smc_link_activate(link);
	mutex_unlock(&lgr->mutex);
	if (!rc && then_activate) {
		smc_link_report_up(link);
		smc_llc_announce_caps(link);
	}
	return rc;
}

/**
 * smc_add_link_connect() - connect the new link to the peer's end and register our memory
 * @link: new link
 * @al: the peer's ADD LINK, checked by the caller
 *
 * Process context; waits for neighbour resolution and for the device.
 *
 * Return: 0 or -errno; -ENODEV: the device is gone; -EHOSTUNREACH: version 1, and the peer is
 * not on the same subnet.
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
	/* a link that fails during the wait releases its device reference */
	if (!smc_ib_device_get_unless_zero(link->path.dev))
		return -ENODEV;
	rc = smc_path_resolve(&link->path, &link->peer_gid, link->peer_mac, &link->direct);
	smc_ib_device_put(link->path.dev);
	/* version 1 cannot use a gateway */
	if (!rc && lgr->peer.version == 1 && !link->direct)
		rc = -EHOSTUNREACH;
	if (!rc)
		rc = smc_link_connect(link);
	return rc ?: add_link_register_memory(lgr, link, false);
}

/**
 * smc_add_link_await_confirm() - wait for CONFIRM LINK, or its response, over the new link
 * @llc: LLC state
 * @link: new link
 *
 * add_work.
 *
 * Return: 0; -ETIMEDOUT; -EPROTO: the message does not match the peer's end as named in ADD
 * LINK, or the peer requires eye catchers.
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
	if (cl->no_eyec &&
	    smc_llc_confirm_link_matches(cl, link->num, link->peer_qpn, link->peer_gid.raw))
		WRITE_ONCE(link->peer_uid, smc_wire_get_be32(cl->link_uid));
	else
		rc = -EPROTO;
	llc_event_free(ev);
	return rc;
}

/**
 * smc_add_link_commit() - activate the new link; add_work is no longer responsible for it
 * @llc: LLC state
 * @link: new link
 *
 * Before this call, add_work removes the link if the peer deletes it, and reports its loss.
 *
 * Return: 0; -ECANCELED: the peer has deleted the link; another -errno: memory registration
 * failed.
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
		WRITE_ONCE(llc->add.num, 0);
	spin_unlock_bh(&llc->lock);
	if (!rc) {
		smc_llc_timer_link_up(llc);
		smc_link_notify_usable(link);
	}
	return rc;
}

/**
 * smc_add_link_report_result() - count and log the result of an accepted offer
 * @llc: LLC state
 * @link: new link; NULL: there is none
 * @rc: 0 or -errno
 *
 * Informs recovery. Process context, see smc_llc_send_msg().
 */
void smc_add_link_report_result(struct smc_llc *llc, const struct smc_link *link, int rc)
{
	enum smc_link_set_type type = smc_topology_get_type(llc->lgr);
	struct net *net = llc->lgr->net;

	smc_stats_inc(net, rc ? SMC_STAT_LINK_ADD_FAIL : SMC_STAT_LINK_ADD);
	if (rc)
		smc_recovery_attempt_failed(llc);
	else
		smc_recovery_link_added(llc, link->num);
	if (!rc && (type == SMC_LINKS_ASYM_LOCAL || type == SMC_LINKS_ASYM_PEER))
		smc_stats_inc(net, SMC_STAT_LINK_ASYM);
	smc_log_write(net, "group %08x: link %u: %s (%d)\n", llc->lgr->id, link ? link->num : 0,
		      !rc ? smc_link_set_type_str(type) :
		      rc == -EADDRNOTAVAIL ? "not added, the peer's end is not the ordered one" :
		      "not added", rc);
	/* a loss before smc_add_link_commit() was not reported yet */
	if (!rc && llc_link_broken(link))
		smc_delete_link_report_lost(llc, link);
}

/**
 * smc_add_link_end() - end the ADD LINK exchange and give the turn back
 * @llc: LLC state
 *
 * Last call of add_work.
 */
void smc_add_link_end(struct smc_llc *llc)
{
	struct smc_link *first;

	spin_lock_bh(&llc->lock);
	first = llc->add.first;
	llc_events_free(&llc->add.inbox);
	WRITE_ONCE(llc->add.ninbox, 0);
	WRITE_ONCE(llc->add.num, 0);
	WRITE_ONCE(llc->add.active, false);
	llc->add.first = NULL;
	memset(&llc->add.wish, 0, sizeof(llc->add.wish));
	if (llc->running == SMC_LLC_X_ADD_LINK && !llc->add.rejected)
		llc_turn_end(llc);
	else
		wake_up_all(&llc->wait);	/* for the end of add.active */
	spin_unlock_bh(&llc->lock);
	smc_link_put(first);
}
