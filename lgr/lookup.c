// SPDX-License-Identifier: GPL-2.0-only
/*
 * The group that a connection goes to: the one that a server's Accept names, the one
 * that serves a client, or the right to make it.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <smc/base/fault.h>
#include <smc/base/trace.h>
#include "internal.h"

/*
 * A first contact that a server is having: others of the same peer wait for it
 * instead of making a second group.
 */
struct contact_pending_entry {
	struct list_head entry;
	struct net *net;
	struct smc_peer peer;
};

static LIST_HEAD(contacts_pending);	/* under the registry's lock */

/* Waits for a change since @seq was read, but no longer than @deadline or a poll. */
static void registry_sleep(int seq, unsigned long deadline)
{
	long left = deadline - jiffies;

	if (left <= 0)
		return;
	wait_event_timeout(smc_core_reg.wait, atomic_read(&smc_core_reg.seq) != seq,
			   min_t(long, left, SMC_CORE_POLL));
}

/* ---- clients ---- */

/* Is @link where a server's Accept says the connection has to go? */
static bool link_matches_accept(const struct smc_link *link, u32 qpn, const union ib_gid *gid)
{
	return link->peer_qpn == qpn && !memcmp(&link->peer_gid, gid, sizeof(*gid)) &&
	       atomic_read(&link->reason) == SMC_LINK_OK;
}

/* The link of a live group that leads to (@qpn, @gid); with a reference. */
static struct smc_link *lgr_get_accept_link(struct smc_lgr *lgr, u32 qpn, const union ib_gid *gid)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (link_matches_accept(link, qpn, gid))
			return link;
		smc_link_put(link);
	}
	return NULL;
}

/* Did @qpn lead over a link that is lost? The server need not know that yet. */
static bool lgr_had_link(struct smc_lgr *lgr, u32 qpn)
{
	struct smc_link *link;
	bool found = false;
	u32 slot;

	for (slot = 0; qpn && slot < SMC_CORE_LINKS && !found; slot++) {
		link = smc_core_link(lgr, slot);
		if (link) {
			/* failed, and still in the set */
			found = link->peer_qpn == qpn && !smc_link_usable(link);
			smc_link_put(link);
		}
		smp_rmb();	/* pairs with smc_core_unlink() */
		found |= READ_ONCE(lgr->gone[slot]) == qpn;
	}
	return found;
}

static struct smc_lgr *registry_find_client(struct net *net, const struct smc_peer *peer, u32 qpn,
				     struct smc_link **link, bool *wait, bool *lost)
{
	struct smc_lgr *lgr, *found = NULL;
	struct smc_link *l;

	*wait = false;
	*lost = false;
	mutex_lock(&smc_core_reg.lock);
	list_for_each_entry(lgr, &smc_core_reg.groups, entry) {
		if (lgr->net != net || lgr->role != SMC_CLIENT || smc_core_dead(lgr) ||
		    lgr->peer.version != peer->version ||
		    memcmp(lgr->peer.id, peer->id, sizeof(lgr->peer.id)) ||
		    !kref_get_unless_zero(&lgr->ref))
			continue;
		l = lgr_get_accept_link(lgr, qpn, &peer->gid);
		if (l && lgr->ready && smc_link_usable(l) && smc_core_reserve(lgr)) {
			*link = l;
			found = lgr;
			break;
		}
		/*
		 * Its first contact is not over, or our end of it has no place yet. Another one
		 * may have: anybody can begin a first contact in the name of a group of others.
		 */
		*wait = *wait || l;
		*lost |= !l && lgr_had_link(lgr, qpn);
		if (l)
			smc_link_put(l);
		smc_core_put(lgr);
	}
	mutex_unlock(&smc_core_reg.lock);
	return found;
}

/**
 * smc_core_find_client() - the group a server refers to in a subsequent contact
 * @net: namespace
 * @peer: ID, GID and version of the Accept
 * @peer_qpn: queue pair number in the Accept
 * @deadline: jiffies: how long to wait for a first contact that is under way, or for
 *	a place: the server counts a connection as gone before we do
 * @cancel: set: give up; may be NULL
 * @link: out: the link, with a reference
 *
 * Return: the group with a reference and a reserved place, or ERR_PTR: -ENOENT: out of
 * sync, -ENOLINK: the link is lost, but not its group, -ETIMEDOUT, -ECANCELED.
 */
struct smc_lgr *smc_core_find_client(struct net *net, const struct smc_peer *peer, u32 peer_qpn,
				     unsigned long deadline, const bool *cancel,
				     struct smc_link **link)
{
	struct smc_lgr *lgr;
	bool wait, lost;
	int seq;

	for (;;) {
		seq = atomic_read(&smc_core_reg.seq);
		lgr = registry_find_client(net, peer, peer_qpn, link, &wait, &lost);
		if (lgr)
			return lgr;
		if (!wait)
			return ERR_PTR(lost ? -ENOLINK : -ENOENT);
		if (cancel && READ_ONCE(*cancel))
			return ERR_PTR(-ECANCELED);
		if (time_after_eq(jiffies, deadline))
			return ERR_PTR(-ETIMEDOUT);
		registry_sleep(seq, deadline);
	}
}

/* ---- servers: first contacts, one at a time per peer ---- */

/*
 * Do both describe the same host, spoken to in the same way? Under another TCP address
 * it counts as another one: decision 0009.
 */
static bool peer_matches(const struct smc_peer *a, const struct smc_peer *b)
{
	return a->version == b->version && a->release == b->release && a->vlan == b->vlan &&
	       !memcmp(a->id, b->id, sizeof(a->id)) &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid)) &&
	       !memcmp(&a->carrier, &b->carrier, sizeof(a->carrier));
}

/*
 * Has the group a usable link over the port that the connection's path leads to? Groups
 * over other ports may be on networks of their own, and may be what an administrator
 * wants new connections to leave.
 */
static bool lgr_has_port_link(struct smc_lgr *lgr, const struct smc_path *own)
{
	struct smc_link *link;
	bool found = !own;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS && !found; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		found = link->path.dev == own->dev && link->path.port == own->port &&
			smc_link_usable(link);
		smc_link_put(link);
	}
	return found;
}

/* Registry lock held. */
static struct smc_lgr *registry_find_server(struct net *net, const struct smc_peer *peer,
				     const struct smc_path *own, struct smc_link **link)
{
	struct smc_lgr *lgr;

	list_for_each_entry(lgr, &smc_core_reg.groups, entry) {
		if (lgr->net != net || lgr->role != SMC_SERVER || !lgr->ready ||
		    smc_core_dead(lgr) || READ_ONCE(lgr->crowded) ||
		    !peer_matches(&lgr->peer, peer) || !smc_core_rtoken_room(lgr) || !kref_get_unless_zero(&lgr->ref))
			continue;
		*link = lgr_has_port_link(lgr, own) ? smc_core_pick_for(lgr, ~0UL, NULL) : NULL;
		if (*link && smc_core_reserve(lgr))
			return lgr;
		if (*link)
			smc_link_put(*link);
		smc_core_put(lgr);
	}
	*link = NULL;
	return NULL;
}

/* Registry lock held. */
static bool contact_is_pending(struct net *net, const struct smc_peer *peer)
{
	struct contact_pending_entry *p;

	list_for_each_entry(p, &contacts_pending, entry)
		if (p->net == net && peer_matches(&p->peer, peer))
			return true;
	return false;
}

/**
 * smc_core_contact_begin() - the group that serves a client, or the right to make it
 * @net: namespace
 * @peer: the client
 * @own: device and port of the connection's path; NULL: any will do
 * @deadline: jiffies: how long to wait for the first contact of another handshake
 * @cancel: set: give up; may be NULL
 * @contact: out
 *
 * Return: 0, -ENOMEM, -ETIMEDOUT or -ECANCELED.
 */
int smc_core_contact_begin(struct net *net, const struct smc_peer *peer,
			   const struct smc_path *own, unsigned long deadline,
			   const bool *cancel, struct smc_contact *contact)
{
	struct contact_pending_entry *p;
	int seq;

	memset(contact, 0, sizeof(*contact));
	p = smc_fault_null(CONTACT, kzalloc(sizeof(*p), GFP_KERNEL));
	if (!p)
		return -ENOMEM;
	p->net = net;
	p->peer = *peer;
	for (;;) {
		seq = atomic_read(&smc_core_reg.seq);
		mutex_lock(&smc_core_reg.lock);
		contact->lgr = registry_find_server(net, peer, own, &contact->link);
		if (!contact->lgr && !contact_is_pending(net, peer)) {
			list_add(&p->entry, &contacts_pending);
			contact->entry = p;
		}
		mutex_unlock(&smc_core_reg.lock);
		if (contact->entry)
			return 0;
		if (contact->lgr) {
			kfree(p);
			return 0;
		}
		if ((cancel && READ_ONCE(*cancel)) || time_after_eq(jiffies, deadline)) {
			kfree(p);
			return time_after_eq(jiffies, deadline) ? -ETIMEDOUT : -ECANCELED;
		}
		registry_sleep(seq, deadline);
	}
}

/* Others may join; the registry's lock is held. */
static void lgr_mark_ready(struct smc_lgr *lgr)
{
	lgr->ready = true;
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_READY, SMC_LINK_OK);
}

/**
 * smc_core_contact_done() - the creator has finished
 * @contact: from smc_core_contact_begin()
 * @lgr: group that is ready, NULL: it failed
 */
void smc_core_contact_done(struct smc_contact *contact, struct smc_lgr *lgr)
{
	struct contact_pending_entry *p = contact->entry;

	mutex_lock(&smc_core_reg.lock);
	if (p)
		list_del(&p->entry);
	if (lgr)
		lgr_mark_ready(lgr);
	mutex_unlock(&smc_core_reg.lock);
	contact->entry = NULL;
	kfree(p);
	smc_core_reg_changed();
}

/**
 * smc_core_ready() - client: the first contact has finished well
 * @lgr: group
 */
void smc_core_ready(struct smc_lgr *lgr)
{
	mutex_lock(&smc_core_reg.lock);
	lgr_mark_ready(lgr);
	mutex_unlock(&smc_core_reg.lock);
	smc_core_reg_changed();
}

/**
 * smc_core_knows() - does a group lead to this host?
 * @net: namespace
 * @carrier: the host's address on the TCP path, IPv4 in its mapped form
 *
 * One in its first contact will do. Process context.
 *
 * Return: true if so: the host speaks SMC.
 */
bool smc_core_knows(struct net *net, const struct in6_addr *carrier)
{
	struct smc_lgr *lgr;
	bool found = false;

	mutex_lock(&smc_core_reg.lock);
	list_for_each_entry(lgr, &smc_core_reg.groups, entry) {
		found = lgr->net == net && !smc_core_dead(lgr) &&
			ipv6_addr_equal(&lgr->peer.carrier, carrier);
		if (found)
			break;
	}
	mutex_unlock(&smc_core_reg.lock);
	return found;
}
