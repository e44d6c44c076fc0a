// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set of links of a group: slots and link numbers (RFC 7609 section 2.2.4), look-up, the choice
 * of a link to send over, removal in two phases, and netlink events about groups and links.
 *
 * Each side chooses the links for its own direction; proto/link_pick has the policies. Why a link
 * is removed, and which layers are notified, is decided in smc_core.c.
 */
#include <linux/rcupdate.h>
#include <smc/base/events.h>
#include <smc/base/settings.h>
#include <smc/lgr/link.h>
#include <smc/proto/link_pick.h>
#include <uapi/linux/smc_own.h>
#include "internal.h"

/* ---- look-up ---- */

/**
 * smc_lgr_get_link() - look up the link of a slot
 * @lgr: group
 * @slot: slot
 *
 * Any context.
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_lgr_get_link(struct smc_lgr *lgr, u32 slot)
{
	struct smc_link *link;

	if (slot >= SMC_LGR_LINKS)
		return NULL;
	rcu_read_lock();
	link = rcu_dereference(lgr->links[slot]);
	if (link && !smc_link_get_unless_zero(link))
		link = NULL;
	rcu_read_unlock();
	return link;
}

/**
 * smc_link_iter_next() - take one step of smc_lgr_for_each_link()
 * @iter: position; the reference on its current link is dropped
 *
 * Any context.
 *
 * Return: the next link, with a reference, or NULL.
 */
struct smc_link *smc_link_iter_next(struct smc_link_iter *iter)
{
	if (iter->link)
		smc_link_put(iter->link);
	iter->link = NULL;
	while (iter->slot < SMC_LGR_LINKS && !iter->link)
		iter->link = smc_lgr_get_link(iter->lgr, iter->slot++);
	return iter->link;
}

/**
 * smc_lgr_get_link_by_num() - look up a link by its number on the wire
 * @lgr: group
 * @num: link number; 0 is never valid
 *
 * Any context.
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_lgr_get_link_by_num(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;

	if (!num)
		return NULL;
	smc_lgr_for_each_link(lgr, link)
		if (READ_ONCE(link->num) == num)
			break;
	return link;
}

/**
 * smc_lgr_find_open_slot() - find the slot from which messages of a link may still come
 * @lgr: group
 * @num: link number from the wire
 *
 * Unlike smc_lgr_get_link_by_num(), this also finds a link that was taken out of the set, until it
 * is fenced: connections are notified later. Any context.
 *
 * Return: slot, or -ENOENT.
 */
int smc_lgr_find_open_slot(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;
	int found = -ENOENT;
	u32 slot;

	rcu_read_lock();
	for (slot = 0; slot < SMC_LGR_LINKS && found < 0; slot++) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link) {
			smp_rmb();	/* pairs with smc_lgr_unlink() */
			link = rcu_dereference(lgr->unlinked[slot]);
		}
		if (link && READ_ONCE(link->num) == num && !smc_link_fenced(link))
			found = slot;
	}
	rcu_read_unlock();
	return found;
}

/* ---- choice ---- */

static struct smc_link *lgr_find_least_used_link(struct smc_lgr *lgr, const struct smc_link *not)
{
	struct smc_link *best = NULL, *link;

	rcu_read_lock();
	smc_lgr_for_each_link_rcu(lgr, link) {
		if (link == not || !smc_link_usable(link))
			continue;
		if (!best || atomic_read(&link->nconns) < atomic_read(&best->nconns))
			best = link;
	}
	if (best && !smc_link_get_unless_zero(best))
		best = NULL;
	rcu_read_unlock();
	return best;
}

/**
 * smc_lgr_pick_link() - pick a link for a message of the group
 * @lgr: group
 *
 * For connections, see smc_lgr_pick_conn_link(). Any context.
 *
 * Return: the usable link with the fewest connections, with a reference, or NULL.
 */
struct smc_link *smc_lgr_pick_link(struct smc_lgr *lgr)
{
	return lgr_find_least_used_link(lgr, NULL);
}

/**
 * smc_lgr_pick_other_link() - pick a link other than a given one
 * @lgr: group
 * @not: link to exclude
 *
 * Any context.
 *
 * Return: the usable link with the fewest connections, with a reference, or NULL.
 */
struct smc_link *smc_lgr_pick_other_link(struct smc_lgr *lgr, const struct smc_link *not)
{
	return lgr_find_least_used_link(lgr, not);
}

/**
 * smc_lgr_has_link() - check whether a group has a usable link
 * @lgr: group
 *
 * Any context.
 *
 * Return: true if so.
 */
bool smc_lgr_has_link(struct smc_lgr *lgr)
{
	struct smc_link *link = smc_lgr_pick_link(lgr);

	if (link)
		smc_link_put(link);
	return link;
}

/* Fill in the load of a link. @own: do not count the connection that looks for a link. */
static void link_get_load(struct smc_link *link, bool own, struct smc_link_load *load)
{
	u32 conns = atomic_read(&link->nconns);

	load->usable = smc_link_usable(link);
	load->conns = own && conns ? conns - 1 : conns;
	load->first = link->path.gid.ifindex == link->lgr->first_ifindex;
	smc_qp_get_load(link->qp, &load->bytes, &load->latency);
}

/**
 * smc_lgr_get_link_loads() - collect the load of all links of a group
 * @lgr: group
 * @load: out: SMC_LGR_LINKS entries, indexed by slot
 *
 * Any context but hard interrupt.
 */
void smc_lgr_get_link_loads(struct smc_lgr *lgr, struct smc_link_load *load)
{
	struct smc_link *link;

	memset(load, 0, SMC_LGR_LINKS * sizeof(*load));
	rcu_read_lock();
	smc_lgr_for_each_link_rcu(lgr, link)
		link_get_load(link, false, &load[link->slot]);
	rcu_read_unlock();
}

/* Pick a link that is not held; if there is none, pick a held one. */
static int lgr_pick_slot(enum smc_link_policy policy, struct smc_link_load *load,
			 unsigned long quiesced, u32 last)
{
	u32 slot;
	int at;

	for_each_set_bit(slot, &quiesced, SMC_LGR_LINKS)
		load[slot].usable = false;
	at = smc_link_pick(policy, load, SMC_LGR_LINKS, last);
	if (at >= 0)
		return at;
	for_each_set_bit(slot, &quiesced, SMC_LGR_LINKS)
		load[slot].usable = true;
	return smc_link_pick(policy, load, SMC_LGR_LINKS, last);
}

/**
 * smc_lgr_pick_conn_link() - pick the link for a connection by a link policy
 * @lgr: group
 * @slots: bit per slot: candidate links
 * @own: link that already counts this connection, or NULL
 * @policy: enum smc_link_policy, or SMC_LINK_POLICY_NET
 *
 * Any context but hard interrupt.
 *
 * Return: a usable link with a reference, or NULL.
 */
struct smc_link *smc_lgr_pick_conn_link(struct smc_lgr *lgr, unsigned long slots,
					const struct smc_link *own, int policy)
{
	struct smc_link_load load[SMC_LGR_LINKS] = { };
	struct smc_link *link = NULL;
	unsigned long quiesced = 0;
	u32 slot;
	int at;

	if (policy < 0)
		policy = READ_ONCE(smc_settings_get(lgr->net)->link_policy);
	rcu_read_lock();
	for_each_set_bit(slot, &slots, SMC_LGR_LINKS) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link)
			continue;
		link_get_load(link, link == own, &load[slot]);
		if (load[slot].usable && smc_link_conns_held(link))
			__set_bit(slot, &quiesced);
	}
	at = lgr_pick_slot(policy, load, quiesced, READ_ONCE(lgr->last_pick));
	link = at < 0 ? NULL : rcu_dereference(lgr->links[at]);
	/* the last reference may be gone: no different from a failure a moment later */
	if (link && !smc_link_get_unless_zero(link))
		link = NULL;
	rcu_read_unlock();
	if (link)
		WRITE_ONCE(lgr->last_pick, at);
	return link;
}

/* ---- removal ---- */

/**
 * smc_lgr_unlink() - take a link out of the set
 * @lgr: group
 * @link: link
 *
 * Process context, takes lgr->mutex.
 *
 * Return: true if the link was in the set: the caller must shut it down and then call
 * smc_lgr_shutdown_link().
 */
bool smc_lgr_unlink(struct smc_lgr *lgr, struct smc_link *link)
{
	struct smc_lgr_peer_end *end = &lgr->prev_peer_ends[link->slot];
	bool mine;

	mutex_lock(&lgr->mutex);
	mine = rcu_access_pointer(lgr->links[link->slot]) == link;
	if (mine) {
		/* lgr_slot_had_end() may read a part of it, and does not find the link then */
		data_race(memcpy(&end->gid, &link->peer_gid, sizeof(end->gid)));
		/* pairs with lgr_slot_had_end() */
		smp_store_release(&end->qpn, link->peer_qpn);
		rcu_assign_pointer(lgr->unlinked[link->slot], link);
		/*
		 * Pairs with smc_lgr_find_open_slot(): NULL in ->links implies that ->unlinked is
		 * visible.
		 */
		smp_wmb();
		RCU_INIT_POINTER(lgr->links[link->slot], NULL);
	}
	mutex_unlock(&lgr->mutex);
	return mine;
}

static void link_unmap_regions(struct smc_link *link)
{
	struct smc_lgr *lgr = link->lgr;

	mutex_lock(&lgr->mutex);
	smc_pool_unmap_link(&lgr->pool, link->slot);
	mutex_unlock(&lgr->mutex);
}

/**
 * smc_lgr_shutdown_link() - shut down a link that is out of the set, and free its slot
 * @lgr: group
 * @link: link for which smc_lgr_unlink() returned true
 *
 * Drops the reference of the link set. Process context, sleeps.
 *
 * May still be inside: callers with a reference on the link (they see its reason, or their posts
 * are refused); completions of the queue pair (they end with the drain).
 */
void smc_lgr_shutdown_link(struct smc_lgr *lgr, struct smc_link *link)
{
	u32 slot = link->slot;

	smc_link_shutdown(link, link_unmap_regions);
	RCU_INIT_POINTER(lgr->unlinked[slot], NULL);
	smc_rtoken_lose_slot(lgr, slot);
	smc_link_put(link);
	mutex_lock(&lgr->mutex);
	__clear_bit(slot, &lgr->slots);
	mutex_unlock(&lgr->mutex);
}

/**
 * smc_lgr_unlinked_link() - return the link that was taken out of a slot
 * @lgr: group
 * @slot: slot
 *
 * Only for the caller that has taken the link out of the set and not called
 * smc_lgr_shutdown_link() yet.
 *
 * Return: the link, without a further reference.
 */
struct smc_link *smc_lgr_unlinked_link(struct smc_lgr *lgr, u32 slot)
{
	return rcu_dereference_protected(lgr->unlinked[slot], true);
}

/* ---- link numbers ---- */

/* Server: return the next link number. Numbers count up, skipping 0 and those in use. */
static u8 lgr_next_link_num(struct smc_lgr *lgr)
{
	struct smc_link *link;
	u8 num;

	for (;;) {
		num = lgr->next_link_num++;
		if (!num)
			continue;
		link = smc_lgr_get_link_by_num(lgr, num);
		if (!link)
			return num;
		smc_link_put(link);
	}
}

/**
 * smc_lgr_take_link_num() - assign the number of a new link
 * @lgr: group
 * @num: client: number that the server assigned; server: 0 for the next number
 *
 * Return: the number, or 0 if @num is in use.
 */
u8 smc_lgr_take_link_num(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;

	lockdep_assert_held(&lgr->mutex);
	if (!num)
		return lgr_next_link_num(lgr);
	link = smc_lgr_get_link_by_num(lgr, num);
	if (!link)
		return num;
	smc_link_put(link);
	return 0;
}

/* ---- netlink events ---- */

static const char *link_reason_text(enum smc_link_reason reason)
{
	return reason == SMC_LINK_OK ? NULL : smc_link_reason_str(reason);
}

static void lgr_send_event(struct smc_lgr *lgr, struct smc_event_lgr *ev)
{
	ev->id = lgr->id;
	ev->role = lgr->role;
	ev->peer = lgr->peer.tcp_addr;
	smc_event_lgr(lgr->net, ev);
}

/**
 * smc_lgr_report() - report that a group begins or ends
 * @lgr: group
 * @cmd: SMC_NETLINK_OWN_EV_LGR_*
 * @reason: why it ends; SMC_LINK_OK: no reason is reported
 *
 * Process context.
 */
void smc_lgr_report(struct smc_lgr *lgr, u8 cmd, enum smc_link_reason reason)
{
	struct smc_event_lgr ev = { .cmd = cmd, .reason = link_reason_text(reason) };

	if (!smc_event_has_listeners(SMC_EVENT_GROUP_EVENTS))
		return;
	ev.conns = atomic_read(&lgr->totals.conns);
	ev.tx_bytes = atomic64_read(&lgr->totals.tx_bytes);
	ev.rx_bytes = atomic64_read(&lgr->totals.rx_bytes);
	ev.msecs = jiffies64_to_msecs(get_jiffies_64() - lgr->began_at);
	lgr_send_event(lgr, &ev);
}

static void link_send_event(struct smc_link *link, struct smc_event_lgr *ev)
{
	char name[IB_DEVICE_NAME_MAX];

	smc_ib_device_name(link->path.dev, name);
	ev->ib_dev = name;
	ev->ib_port = link->path.port;
	ev->link = READ_ONCE(link->num);
	lgr_send_event(link->lgr, ev);
}

/**
 * smc_link_report_up() - report that connections may use a link
 * @link: link
 *
 * Process context.
 */
void smc_link_report_up(struct smc_link *link)
{
	struct smc_event_lgr ev = { .cmd = SMC_NETLINK_OWN_EV_LINK_UP };

	/* not if it failed meanwhile: the loss has been reported */
	if (smc_event_has_listeners(SMC_EVENT_GROUP_EVENTS) && smc_link_usable(link))
		link_send_event(link, &ev);
}

/**
 * smc_link_report_lost() - report that connections may no longer use a link
 * @link: link
 * @reason: why
 *
 * Process context.
 */
void smc_link_report_lost(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_event_lgr ev = {
		.cmd = SMC_NETLINK_OWN_EV_LINK_LOST, .reason = link_reason_text(reason),
	};

	/* not if it never was usable */
	if (smc_event_has_listeners(SMC_EVENT_GROUP_EVENTS) && READ_ONCE(link->usable_since))
		link_send_event(link, &ev);
}

/**
 * smc_link_report_failover() - report that connections moved from a link to others
 * @link: link, fenced
 * @conns: number of connections that moved
 *
 * Process context.
 */
void smc_link_report_failover(struct smc_link *link, u32 conns)
{
	struct smc_event_lgr ev = {
		.cmd = SMC_NETLINK_OWN_EV_FAILOVER, .conns = conns,
		.reason = link_reason_text(atomic_read(&link->reason)),
	};

	if (smc_event_has_listeners(SMC_EVENT_GROUP_EVENTS) && READ_ONCE(link->usable_since))
		link_send_event(link, &ev);
}
