// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which group a handshake uses. A client finds the group that the server's Accept names. A server
 * finds a group that serves the client, or the handshake gets the right to create one: only one
 * first contact per peer runs at a time, the others wait for it.
 *
 * Look-ups by the address of the peer take no lock: which hosts have a group, and over which one a
 * TCP connection could continue.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/proto/link_pick.h>
#include "internal.h"

/*
 * A first contact of a server. Handshakes with the same peer wait for it instead of creating a
 * second group.
 */
struct smc_contact_entry {
	struct list_head entry;
	struct net *net;
	struct smc_peer peer;
};

static LIST_HEAD(contacts_pending);	/* under smc_registry.lock */

/* Wait until the registry has changed since @seq, at most until @deadline or the next poll. */
static void registry_sleep(int seq, unsigned long deadline)
{
	long left = deadline - jiffies;

	if (left <= 0)
		return;
	wait_event_timeout(smc_registry.wait, atomic_read(&smc_registry.seq) != seq,
			   min_t(long, left, SMC_LGR_POLL));
}

/* ---- clients ---- */

/*
 * Return true if @link has the queue pair, GID and MAC that an Accept or Confirm names. Over RoCE
 * v2 a link has the MAC of the next hop instead, which the peer does not know.
 */
static bool link_has_peer_end(const struct smc_link *link, u32 qpn, const struct smc_peer *peer)
{
	return link->peer_qpn == qpn && !memcmp(&link->peer_gid, &peer->gid, sizeof(peer->gid)) &&
	       (!link->path.gid.roce_v1 || !memcmp(link->peer_mac, peer->mac, SMC_MAC_LEN));
}

/**
 * smc_lgr_get_named_link() - find the link of a group that an Accept or Confirm names
 * @lgr: group
 * @qpn: queue pair number of the message
 * @peer: GID and MAC of the message
 *
 * The peer may choose any link (RFC 7609 section 3.5.2.3). Process context.
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_lgr_get_named_link(struct smc_lgr *lgr, u32 qpn, const struct smc_peer *peer)
{
	struct smc_link *link;

	smc_lgr_for_each_link(lgr, link)
		if (link_has_peer_end(link, qpn, peer) &&
		    atomic_read(&link->reason) == SMC_LINK_OK)
			break;
	return link;
}

/*
 * Return true if the connection is on the VLAN of the group (RFC 7609 section 3.5.1.3). Servers of
 * version 2 do not look at the VLAN: with a PNET ID one GID serves connections of several VLANs.
 */
static bool lgr_has_vlan(const struct smc_lgr *lgr, const struct smc_peer *peer)
{
	return peer->version > 1 || lgr->peer.vlan == peer->vlan;
}

/* Return true if the last link that left the slot had this end. */
static bool lgr_slot_had_end(struct smc_lgr *lgr, u32 slot, u32 qpn, const struct smc_peer *peer)
{
	const struct smc_lgr_peer_end *end = &lgr->prev_peer_ends[slot];

	/* pairs with smc_lgr_unlink() */
	if (smp_load_acquire(&end->qpn) != qpn)
		return false;
	/* if another link leaves the slot right now, none of the two is found */
	return !data_race(memcmp(&end->gid, &peer->gid, sizeof(peer->gid)));
}

/*
 * Return true if the end that an Accept names belonged to a link that failed. The server may not
 * have noticed yet. Queue pairs of two RNICs of the server may have the same number: the one named
 * may be of another group, which is gone.
 */
static bool lgr_had_link(struct smc_lgr *lgr, u32 qpn, const struct smc_peer *peer)
{
	struct smc_link *link;
	bool found = false;
	u32 slot;

	for (slot = 0; qpn && slot < SMC_LGR_LINKS && !found; slot++) {
		link = smc_lgr_get_link(lgr, slot);
		if (link) {
			/* failed, but still in the set */
			found = link_has_peer_end(link, qpn, peer) && !smc_link_usable(link);
			smc_link_put(link);
		}
		smp_rmb();	/* pairs with smc_lgr_unlink() */
		found |= lgr_slot_had_end(lgr, slot, qpn, peer);
	}
	return found;
}

/**
 * struct client_miss - why a client found no group
 * @wait: a group matches, but has no place yet
 * @lost: a group matches and works, but not for this connection
 * @unproven: likewise; the address is not proven, and the group has too many such connections
 */
struct client_miss {
	bool wait;
	bool lost;
	bool unproven;
};

/* Reserve a place for a connection with a server that names @lgr. */
static bool lgr_reserve_client(struct smc_lgr *lgr, const struct smc_peer *peer,
			       struct client_miss *miss)
{
	if (!smc_proof_begin(lgr, &peer->tcp_addr)) {
		miss->unproven = true;
		return false;
	}
	if (smc_lgr_reserve_conn(lgr))
		return true;
	smc_proof_drop(lgr, &peer->tcp_addr);
	miss->wait = true;
	return false;
}

/*
 * An RNIC and smc_lo on one netdev have the same GIDs, and number their queue pairs independently:
 * so the kind of the path has to fit, too.
 */
static struct smc_lgr *registry_find_client(struct net *net, const struct smc_peer *peer, u32 qpn,
					    struct smc_link **link, struct client_miss *miss)
{
	struct smc_lgr *lgr, *found = NULL;
	struct smc_link *l;

	memset(miss, 0, sizeof(*miss));
	mutex_lock(&smc_registry.lock);
	list_for_each_entry(lgr, &smc_registry.groups, entry) {
		if (lgr->net != net || lgr->role != SMC_CLIENT || smc_lgr_is_dead(lgr) ||
		    lgr->peer.version != peer->version || lgr->peer.inner != peer->inner ||
		    memcmp(lgr->peer.id, peer->id, sizeof(lgr->peer.id)) ||
		    !kref_get_unless_zero(&lgr->ref))
			continue;
		l = smc_lgr_get_named_link(lgr, qpn, peer);
		if (l && !lgr_has_vlan(lgr, peer)) {
			/* the group works, so it is not out of sync */
			miss->lost = true;
			smc_link_put(l);
			smc_lgr_put(lgr);
			continue;
		}
		if (l && lgr->ready && smc_link_usable(l)) {
			if (lgr_reserve_client(lgr, peer, miss)) {
				*link = l;
				found = lgr;
				break;
			}
		} else if (l) {
			miss->wait = true;
		}
		/*
		 * The group is still in its first contact, or has no free place here yet. Keep
		 * looking: any host can begin a first contact under the ID of another host, so a
		 * further group may match.
		 */
		miss->lost |= !l && lgr_had_link(lgr, qpn, peer);
		if (l)
			smc_link_put(l);
		smc_lgr_put(lgr);
	}
	mutex_unlock(&smc_registry.lock);
	return found;
}

/**
 * smc_lgr_find_client() - find the group that a server names in a subsequent contact
 * @net: namespace
 * @peer: peer ID, GID, MAC and version of the Accept; VLAN, TCP address and kind of path (inner or
 *	not) of the connection
 * @peer_qpn: queue pair number of the Accept
 * @deadline: jiffies; how long to wait while the group is in its first contact or has no free
 *	place (the server counts a connection as closed before the client does)
 * @cancel: the wait ends when it is set; polled every SMC_LGR_POLL; may be NULL
 * @link: out: the usable link with this GID and queue pair number, with a reference
 *
 * RFC 7609 section 3.5.2. Process context, sleeps.
 *
 * Return: the group with a reference, a reserved place and an entry of smc_proof_begin(), or
 * ERR_PTR: -ENOENT (no such group: out of sync), -ENOLINK (the link has failed, its group has not;
 * or it is on another VLAN; or the server has another address than the group's first contact, and
 * too many such connections are unproven), -ETIMEDOUT, -ECANCELED.
 */
struct smc_lgr *smc_lgr_find_client(struct net *net, const struct smc_peer *peer, u32 peer_qpn,
				    unsigned long deadline, const bool *cancel,
				    struct smc_link **link)
{
	struct client_miss miss;
	struct smc_lgr *lgr;
	int seq;

	for (;;) {
		seq = atomic_read(&smc_registry.seq);
		lgr = registry_find_client(net, peer, peer_qpn, link, &miss);
		if (lgr)
			return lgr;
		if (!miss.wait && miss.unproven)
			smc_stats_inc(net, SMC_STAT_JOIN_LIMITED);
		if (!miss.wait)
			return ERR_PTR(miss.lost || miss.unproven ? -ENOLINK : -ENOENT);
		if (cancel && READ_ONCE(*cancel))
			return ERR_PTR(-ECANCELED);
		if (time_after_eq(jiffies, deadline))
			return ERR_PTR(-ETIMEDOUT);
		registry_sleep(seq, deadline);
	}
}

/* ---- servers: first contacts, one at a time per peer ---- */

/*
 * Return true if both describe the same host and the same protocol version. Another TCP address
 * counts as another host (decision 0009).
 */
static bool peer_matches(const struct smc_peer *a, const struct smc_peer *b)
{
	return a->version == b->version && a->release == b->release && a->vlan == b->vlan &&
	       !memcmp(a->id, b->id, sizeof(a->id)) &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid)) &&
	       !memcmp(&a->tcp_addr, &b->tcp_addr, sizeof(a->tcp_addr));
}

/*
 * Return true if @lgr has a usable link over the port of the connection's path. Groups over other
 * ports may be on separate networks, or an administrator may be moving connections off these ports.
 */
static bool lgr_has_port_link(struct smc_lgr *lgr, const struct smc_path *own)
{
	struct smc_link *link;

	if (!own)
		return true;
	rcu_read_lock();
	smc_lgr_for_each_link_rcu(lgr, link)
		if (link->path.dev == own->dev && link->path.port == own->port &&
		    smc_link_usable(link))
			break;
	rcu_read_unlock();
	return link;
}

static struct smc_lgr *registry_find_server(struct net *net, const struct smc_peer *peer,
					    const struct smc_path *own, struct smc_link **link)
{
	struct smc_lgr *lgr;

	lockdep_assert_held(&smc_registry.lock);
	list_for_each_entry(lgr, &smc_registry.groups, entry) {
		if (lgr->net != net || lgr->role != SMC_SERVER || !lgr->ready ||
		    smc_lgr_is_dead(lgr) || READ_ONCE(lgr->out_of_regions) ||
		    !peer_matches(&lgr->peer, peer) || !smc_rtoken_has_room(lgr) ||
		    !kref_get_unless_zero(&lgr->ref))
			continue;
		*link = lgr_has_port_link(lgr, own) ?
			smc_lgr_pick_conn_link(lgr, ~0UL, NULL, SMC_LINK_POLICY_NET) : NULL;
		if (*link && smc_lgr_reserve_conn(lgr))
			return lgr;
		if (*link)
			smc_link_put(*link);
		smc_lgr_put(lgr);
	}
	*link = NULL;
	return NULL;
}

static bool contact_is_pending(struct net *net, const struct smc_peer *peer)
{
	struct smc_contact_entry *p;

	lockdep_assert_held(&smc_registry.lock);
	list_for_each_entry(p, &contacts_pending, entry)
		if (p->net == net && peer_matches(&p->peer, peer))
			return true;
	return false;
}

/**
 * smc_contact_begin() - find the group that serves a client, or reserve the right to create it
 * @net: namespace
 * @peer: the client; compared are ID, GID, TCP address, version, release and VLAN
 * @own: device and port of the connection's path; the group must have a usable link over
 *	them; NULL: any link will do
 * @deadline: jiffies; how long to wait for the first contact of another handshake
 * @cancel: the wait ends when it is set; polled every SMC_LGR_POLL; may be NULL
 * @contact: out: the group, or the right to create one, see struct smc_contact
 *
 * Process context, sleeps.
 *
 * Return: 0, -ENOMEM, -ETIMEDOUT or -ECANCELED.
 */
int smc_contact_begin(struct net *net, const struct smc_peer *peer,
		      const struct smc_path *own, unsigned long deadline,
		      const bool *cancel, struct smc_contact *contact)
{
	struct smc_contact_entry *p;
	int seq;

	memset(contact, 0, sizeof(*contact));
	p = smc_fault_null(CONTACT, kzalloc(sizeof(*p), GFP_KERNEL));
	if (!p)
		return -ENOMEM;
	p->net = net;
	p->peer = *peer;
	for (;;) {
		seq = atomic_read(&smc_registry.seq);
		mutex_lock(&smc_registry.lock);
		contact->lgr = registry_find_server(net, peer, own, &contact->link);
		if (!contact->lgr && !contact_is_pending(net, peer)) {
			list_add(&p->entry, &contacts_pending);
			contact->entry = p;
		}
		mutex_unlock(&smc_registry.lock);
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

/* Let further handshakes join @lgr. */
static void lgr_mark_ready(struct smc_lgr *lgr)
{
	lockdep_assert_held(&smc_registry.lock);
	WRITE_ONCE(lgr->ready, true);
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_READY, SMC_LINK_OK);
}

/**
 * smc_contact_finish() - finish the first contact of a server
 * @contact: from smc_contact_begin(), which made the caller the creator
 * @lgr: the group, which becomes ready; NULL: the first contact failed
 *
 * Wakes waiting handshakes. The caller keeps its reference on @lgr. Process context.
 */
void smc_contact_finish(struct smc_contact *contact, struct smc_lgr *lgr)
{
	struct smc_contact_entry *p = contact->entry;

	mutex_lock(&smc_registry.lock);
	if (p)
		list_del(&p->entry);
	if (lgr)
		lgr_mark_ready(lgr);
	mutex_unlock(&smc_registry.lock);
	contact->entry = NULL;
	kfree(p);
	smc_registry_wake();
}

/**
 * smc_lgr_set_ready() - finish the first contact of a client
 * @lgr: group, which becomes ready
 *
 * Wakes waiting handshakes. Process context.
 */
void smc_lgr_set_ready(struct smc_lgr *lgr)
{
	mutex_lock(&smc_registry.lock);
	lgr_mark_ready(lgr);
	mutex_unlock(&smc_registry.lock);
	smc_registry_wake();
}

/* ---- look-ups by address, without a lock ---- */

static bool lgr_leads_to_host(const struct smc_lgr *lgr, const struct net *net,
			      const struct in6_addr *tcp_addr, bool ready)
{
	return lgr->net == net && !smc_lgr_is_dead(lgr) && (!ready || READ_ONCE(lgr->ready)) &&
	       ipv6_addr_equal(&lgr->peer.tcp_addr, tcp_addr);
}

/* Check whether a message has arrived over a link of the group after @since. */
static bool lgr_has_received(struct smc_lgr *lgr, unsigned long since)
{
	struct smc_link *link;
	bool received = false;

	rcu_read_lock();
	smc_lgr_for_each_link_rcu(lgr, link)
		received |= time_after(READ_ONCE(link->last_rx), since);
	rcu_read_unlock();
	return received;
}

/**
 * smc_registry_has_host() - check whether a group leads to a host
 * @net: namespace
 * @tcp_addr: the host's address, IPv4 as v4-mapped
 * @ready: a group in its first contact does not count
 *
 * Any context.
 *
 * Return: true if so, which means that the host supports SMC.
 */
bool smc_registry_has_host(struct net *net, const struct in6_addr *tcp_addr, bool ready)
{
	struct smc_lgr *lgr;

	rcu_read_lock();
	hlist_for_each_entry_rcu(lgr, smc_registry_by_addr(net, tcp_addr), addr_entry)
		if (lgr_leads_to_host(lgr, net, tcp_addr, ready))
			break;
	rcu_read_unlock();
	return lgr;
}

/**
 * smc_registry_host_is_busy() - check whether messages arrive over a group that leads to a host
 * @net: namespace
 * @tcp_addr: the host's address, IPv4 as v4-mapped
 * @cap: capability that the peer must have
 * @since: jiffies after which a message must have arrived
 *
 * A group in its first contact does not count. Any context.
 *
 * Return: true if so.
 */
bool smc_registry_host_is_busy(struct net *net, const struct in6_addr *tcp_addr,
			       enum smc_peer_cap cap, unsigned long since)
{
	struct smc_lgr *lgr;

	rcu_read_lock();
	hlist_for_each_entry_rcu(lgr, smc_registry_by_addr(net, tcp_addr), addr_entry)
		if (lgr_leads_to_host(lgr, net, tcp_addr, true) &&
		    smc_peer_can(&lgr->peer, cap) && lgr_has_received(lgr, since))
			break;
	rcu_read_unlock();
	return lgr;
}

/**
 * smc_registry_has_client() - check whether a client could continue a TCP connection over a group
 * @net: namespace
 * @own_addr: our address in the connection, IPv4 as v4-mapped
 * @addr: address of the client, likewise
 * @cap: capability that the client must have
 *
 * A group in its first contact counts: the client may be further. Any context.
 *
 * Return: true if a group of this server lives between these addresses.
 */
bool smc_registry_has_client(struct net *net, const struct in6_addr *own_addr,
			     const struct in6_addr *addr, enum smc_peer_cap cap)
{
	struct smc_lgr *lgr;

	rcu_read_lock();
	hlist_for_each_entry_rcu(lgr, smc_registry_by_addr(net, addr), addr_entry)
		if (lgr->role == SMC_SERVER && lgr_leads_to_host(lgr, net, addr, false) &&
		    smc_peer_can(&lgr->peer, cap) &&
		    ipv6_addr_equal(&lgr->peer.own_addr, own_addr))
			break;
	rcu_read_unlock();
	return lgr;
}

/**
 * smc_lgr_serves_path() - check whether a group serves a connection with this path
 * @lgr: group
 * @own: device and port of the connection's path; NULL: any link will do
 * @vlan: VLAN of the connection
 *
 * Any context.
 *
 * Return: true if so: VLAN and a usable link fit.
 */
bool smc_lgr_serves_path(struct smc_lgr *lgr, const struct smc_path *own, u16 vlan)
{
	return (lgr->peer.version > 1 || lgr->peer.vlan == vlan) && lgr_has_port_link(lgr, own);
}

/**
 * smc_lgr_find_by_addr() - find a client's group over which a TCP connection could continue
 * @net: namespace
 * @addr: address of the server, IPv4 as v4-mapped: that of the group's first contact
 * @own_addr: our address, likewise; NULL: not known yet
 * @vlan: VLAN of the connection
 * @own: device and port of the connection's path; the group must have a usable link over them;
 *	NULL: any link will do
 * @cap: capability that the server must have
 *
 * Takes no lock but a leaf, and reserves no place. Any context.
 *
 * Return: a group that is ready, lives and has a place, with a reference, or NULL.
 */
struct smc_lgr *smc_lgr_find_by_addr(struct net *net, const struct in6_addr *addr,
				     const struct in6_addr *own_addr, u16 vlan,
				     const struct smc_path *own, enum smc_peer_cap cap)
{
	struct smc_lgr *lgr;

	rcu_read_lock();
	hlist_for_each_entry_rcu(lgr, smc_registry_by_addr(net, addr), addr_entry)
		if (lgr->role == SMC_CLIENT && lgr_leads_to_host(lgr, net, addr, true) &&
		    smc_peer_can(&lgr->peer, cap) &&
		    (!own_addr || ipv6_addr_equal(&lgr->peer.own_addr, own_addr)) &&
		    smc_lgr_serves_path(lgr, own, vlan) && smc_lgr_has_place(lgr) &&
		    kref_get_unless_zero(&lgr->ref))
			break;
	rcu_read_unlock();
	return lgr;
}

/**
 * smc_lgr_reserve_place() - reserve a place for a connection in a group that was found by address
 * @lgr: group
 *
 * Used up or given back as that of smc_lgr_reserve_conn(). Process context, sleeps.
 *
 * Return: true if the group had a free place and takes connections.
 */
bool smc_lgr_reserve_place(struct smc_lgr *lgr)
{
	bool ok;

	mutex_lock(&smc_registry.lock);
	ok = smc_lgr_reserve_conn(lgr);
	mutex_unlock(&smc_registry.lock);
	return ok;
}
