// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RoCE port that serves a TCP path, the first hop to the GID of a peer, and the service level;
 * also the VLAN and the IP prefixes of the TCP path, which SMC-R version 1 compares. Ports are
 * chosen for a connection (smc_path_find()) and for a further link of a group
 * (smc_path_find_further()).
 * The rules of the choice are in Documentation/handshake.rst.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <smc/base/fault.h>
#include <smc/rdma/path.h>
#include <smc/rdma/pnet_table.h>

#define RESOLVE_MS	1000

/* ---- VLAN and subnets of a TCP path ---- */

static int path_read_vlan(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	if (!is_vlan_dev(ndev))
		return 0;
	*(u16 *)priv->data = vlan_dev_vlan_id(ndev);
	return 1;
}

/**
 * smc_path_vlan() - Return the VLAN of a TCP path
 * @ndev: netdev of the path
 *
 * The first VLAN device counts, from @ndev downwards. Any context but hard interrupt.
 *
 * Return: VLAN ID; 0: none.
 */
u16 smc_path_vlan(struct net_device *ndev)
{
	u16 vlan = 0;
	struct netdev_nested_priv priv = { .data = &vlan };

	rcu_read_lock();
	if (!path_read_vlan(ndev, &priv))
		netdev_walk_all_lower_dev_rcu(ndev, path_read_vlan, &priv);
	rcu_read_unlock();
	return vlan;
}

/**
 * struct path_prefix_walk - argument of walks over the addresses of a netdev
 * @p: Proposal that is written or checked
 * @addr: the client's address on the TCP path; IPv4 as 4 bytes
 * @other: another address, likewise, for path_prefix_has_both()
 */
struct path_prefix_walk {
	struct smc_clc_proposal *p;
	const u8 *addr;
	const u8 *other;
};

typedef bool (*path_prefix_fn)(const struct path_prefix_walk *w, const u8 *addr, u8 len);

/* Call @fn for each IPv4 address of @ndev until it returns true. Return true if it did. */
static bool path_walk_addrs4(struct net_device *ndev, path_prefix_fn fn,
			     const struct path_prefix_walk *w)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;
	bool found = false;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(ndev);
	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			found = fn(w, (const u8 *)&ifa->ifa_address, ifa->ifa_prefixlen);
			if (found)
				break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* Likewise for IPv6, but for link-local addresses, which are in no subnet. */
static bool path_walk_addrs6(struct net_device *ndev, path_prefix_fn fn,
			     const struct path_prefix_walk *w)
{
	const struct inet6_ifaddr *ifa;
	struct inet6_dev *in6_dev;
	bool found = false;

	rcu_read_lock();
	in6_dev = __in6_dev_get(ndev);
	if (in6_dev) {
		read_lock_bh(&in6_dev->lock);
		list_for_each_entry(ifa, &in6_dev->addr_list, if_list) {
			if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
				continue;
			found = fn(w, ifa->addr.s6_addr, ifa->prefix_len);
			if (found)
				break;
		}
		read_unlock_bh(&in6_dev->lock);
	}
	rcu_read_unlock();
	return found;
}

static bool path_prefix_has_both(const struct path_prefix_walk *w, const u8 *addr, u8 len)
{
	return smc_clc_prefix_equal(addr, w->addr, len) &&
	       smc_clc_prefix_equal(addr, w->other, len);
}

/* Return true if a subnet of @ndev has both @own and @addr. */
static bool path_same_subnet(struct net_device *ndev, const struct in6_addr *own,
			     const struct in6_addr *addr)
{
	bool v4 = ipv6_addr_v4mapped(own);
	struct path_prefix_walk w = {
		.addr = addr->s6_addr + (v4 ? 12 : 0),
		.other = own->s6_addr + (v4 ? 12 : 0),
	};

	return v4 ? path_walk_addrs4(ndev, path_prefix_has_both, &w) :
		    path_walk_addrs6(ndev, path_prefix_has_both, &w);
}

/**
 * smc_path_put() - Drop the device reference of a path
 * @path: path; may be empty, is empty afterwards
 *
 * Any context.
 */
void smc_path_put(struct smc_path *path)
{
	if (path->dev)
		smc_ib_device_put(path->dev);
	path->dev = NULL;
}

/* ---- the port for a connection ---- */

/* How well a port suits a TCP path; larger is better. */
enum path_fit {
	FIT_NONE,
	FIT_V1,		/* a RoCE v1 GID only */
	FIT_ROUTED,	/* a GID of the same address family */
	FIT_SUBNET,	/* a GID in the subnet of the source address */
	FIT_ADDRESS,	/* the source address is a GID */
	FIT_INNER,	/* over smc_lo to a peer on this host; both consent */
};

/**
 * struct path_search - search for the port of one TCP path
 * @net: namespace
 * @ndev: netdev of the path
 * @real: its real device if it is a VLAN device, else @ndev
 * @saddr: source address: IPv6, or IPv4-mapped
 * @vlan: VLAN of the path; 0: none
 * @id: PNET ID of @ndev; empty: search by route
 * @named: some RoCE port itself was assigned @id: ports that match by a GID's netdev do not
 *	count
 * @path: result: device and port
 * @gids: result
 * @best: how well the result suits
 * @below: an RNIC is below @ndev, but its own netdev is another one
 * @loops: @ndev is a loopback device: smc_lo is an RNIC like others there
 * @peer_inner: the peer may be on this host, and consents
 * @has_inner: smc_lo has a port of @ndev, active or not
 * @own_inner: it is active, and has the own address
 */
struct path_search {
	struct net *net;
	struct net_device *ndev;
	struct net_device *real;
	const struct in6_addr *saddr;
	u16 vlan;
	char id[SMC_PNET_ID_LEN + 1];
	bool named;
	struct smc_path *path;
	struct smc_ib_gids *gids;
	enum path_fit best;
	bool below;
	bool loops;
	bool peer_inner;
	bool has_inner;
	bool own_inner;
};

/* Take a port if it is better than the best one so far. True: no port can be better. */
static bool path_offer_port(struct path_search *s, struct smc_ib_device *dev, u8 port,
			    const struct smc_ib_gids *gids, enum path_fit fit)
{
	if (fit <= s->best)
		return false;
	smc_path_put(s->path);
	smc_ib_device_get(dev);
	s->path->dev = dev;
	s->path->port = port;
	*s->gids = *gids;
	s->best = fit;
	return fit == FIT_INNER || (fit == FIT_ADDRESS && !s->peer_inner);
}

/*
 * Offer a port of smc_lo for a peer in another namespace. The client decides, and a flag of its
 * Proposal tells the server, which follows or declines (decision 0025). A PNET ID makes no
 * difference: it is about networks.
 */
static bool path_try_inner_port(struct path_search *s, struct smc_ib_device *dev, u8 port)
{
	struct smc_ib_gids gids = { };
	union ib_gid addr;

	if (!smc_ib_port_has_netdev(dev, port, s->ndev))
		return false;
	s->has_inner = true;
	memcpy(addr.raw, s->saddr, sizeof(addr.raw));
	if (!s->peer_inner || !smc_ib_port_active(dev, port) ||
	    smc_ib_find_gid(dev, port, s->ndev, &addr, &gids.v2))
		return false;
	return path_offer_port(s, dev, port, &gids, FIT_INNER);
}

/* Look for the own end, before all devices of the host are asked for the peer's address. */
static bool path_check_inner_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct path_search *s = arg;
	struct smc_ib_gid found;
	union ib_gid addr;

	if (!dev->inner || !smc_ib_port_has_netdev(dev, port, s->ndev))
		return false;
	memcpy(addr.raw, s->saddr, sizeof(addr.raw));
	s->own_inner = smc_ib_port_active(dev, port) &&
		       !smc_ib_find_gid(dev, port, s->ndev, &addr, &found);
	return true;
}

static bool path_addr_is_of_link(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return ipv4_is_linklocal_169(addr->s6_addr32[3]);
	return ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL;
}

/*
 * Check whether the peer may be on this host, and both namespaces consent. An address of a link
 * says nothing: other links of this host may have it, too.
 */
static bool path_peer_is_inner(struct path_search *s, const struct in6_addr *peer)
{
	if (!peer || s->loops || path_addr_is_of_link(peer))
		return false;
	smc_ib_walk_ports(s->net, path_check_inner_port, s);
	return s->own_inner && smc_ib_has_inner_gid(peer);
}

/**
 * struct path_pnetid_walk - search for the PNET ID of a netdev among its lower devices
 * @net: namespace
 * @id: result
 * @level: level of the device that has @id; 0: none found
 * @clash: devices of that level have different IDs
 */
struct path_pnetid_walk {
	struct net *net;
	char id[SMC_PNET_ID_LEN + 1];
	int level;
	bool clash;
};

static int path_lower_pnetid(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	struct path_pnetid_walk *w = (struct path_pnetid_walk *)priv->data;
	char id[SMC_PNET_ID_LEN + 1];

	if (ndev->lower_level < w->level || !smc_pnet_find_netdev(w->net, ndev, id))
		return 0;
	if (ndev->lower_level == w->level) {
		w->clash |= strcmp(w->id, id);
		return 0;
	}
	w->level = ndev->lower_level;
	w->clash = false;
	strscpy(w->id, id, sizeof(w->id));
	return 0;
}

/*
 * Get the PNET ID of a netdev: its own, or else that of the highest device below it, because a VLAN
 * device or a bond is on the network of its lower devices. Different IDs on one level are
 * ambiguous: then there is none.
 */
static bool path_netdev_pnetid(struct net *net, struct net_device *ndev,
			       char id[SMC_PNET_ID_LEN + 1])
{
	struct path_pnetid_walk w = { .net = net };
	struct netdev_nested_priv priv = { .data = &w };

	if (smc_pnet_find_netdev(net, ndev, id))
		return true;
	rcu_read_lock();
	netdev_walk_all_lower_dev_rcu(ndev, path_lower_pnetid, &priv);
	rcu_read_unlock();
	if (!w.level || w.clash)
		return false;
	strscpy(id, w.id, SMC_PNET_ID_LEN + 1);
	return true;
}

/**
 * struct path_gid_search - search for GIDs in one port
 * @s: search for the port
 * @all: the port itself has the PNET ID, so the netdevs of its GIDs need not have it
 * @gids: best GIDs of both kinds so far
 * @fit: how well @gids suit
 */
struct path_gid_search {
	const struct path_search *s;
	bool all;
	struct smc_ib_gids gids;
	enum path_fit fit;
};

static enum path_fit path_gid_fit_v2(const struct path_search *s, struct net_device *ndev,
				     const struct smc_ib_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->gid.raw;
	int scope = ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL;

	if (ipv6_addr_v4mapped(addr) != ipv6_addr_v4mapped(s->saddr))
		return FIT_NONE;
	if (ndev == s->ndev && ipv6_addr_equal(addr, s->saddr))
		return FIT_ADDRESS;
	if (scope)	/* reaches link-local addresses only */
		return ipv6_addr_type(s->saddr) & IPV6_ADDR_LINKLOCAL ? FIT_SUBNET : FIT_NONE;
	return path_same_subnet(ndev, addr, s->saddr) ? FIT_SUBNET : FIT_ROUTED;
}

static bool path_try_gid(struct net_device *ndev, const struct smc_ib_gid *gid, void *arg)
{
	struct path_gid_search *g = arg;
	const struct path_search *s = g->s;
	char id[SMC_PNET_ID_LEN + 1];
	enum path_fit fit;

	if (!s->id[0] && ndev != s->ndev)
		return false;
	if (s->id[0] && !g->all && (!path_netdev_pnetid(s->net, ndev, id) || strcmp(id, s->id)))
		return false;
	if (gid->roce_v1) {
		/* Version 1 requires both ends in one VLAN. */
		if ((!g->gids.v1.mtu || ndev == s->ndev) && smc_path_vlan(ndev) == s->vlan)
			g->gids.v1 = *gid;
		return false;
	}
	fit = path_gid_fit_v2(s, ndev, gid);
	if (fit > g->fit) {
		g->gids.v2 = *gid;
		g->fit = fit;
	}
	return false;
}

/*
 * Offer the port whose own netdev is that of the route, with the best GID of that netdev. The
 * source address need not be a GID: it may be an address of lo, or one too many for the GID table.
 * A port that only has the address in its GID table does not count: the RDMA core also enters the
 * addresses of bonds, bridges etc. into the tables of RNICs below them, and the packets for such an
 * address may not reach that RNIC. The administrator can assert that they do with a PNET ID.
 */
static bool path_try_port_by_route(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct path_search *s = arg;
	struct path_gid_search g = { .s = s, .fit = FIT_ADDRESS };
	union ib_gid addr;
	int rc2, rc1;

	if (dev->inner && !s->loops)
		return path_try_inner_port(s, dev, port);
	memcpy(addr.raw, s->saddr, sizeof(addr.raw));
	rc2 = smc_ib_find_gid(dev, port, s->ndev, &addr, &g.gids.v2);
	rc1 = smc_ib_find_gid_v1(dev, port, s->ndev, &g.gids.v1);
	if (!smc_ib_port_has_netdev(dev, port, s->real)) {
		/* Even if the port is inactive: activating it would not help. */
		s->below |= !rc2 || !rc1 || smc_ib_port_is_below(dev, port, s->ndev);
		return false;
	}
	if (!smc_ib_port_active(dev, port))
		return false;
	if (rc2) {
		g.fit = !rc1 ? FIT_V1 : FIT_NONE;
		smc_ib_walk_gids(dev, port, s->net, path_try_gid, &g);
	}
	return path_offer_port(s, dev, port, &g.gids, g.fit);
}

static bool path_try_port_by_pnetid(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct path_search *s = arg;
	struct path_gid_search g = { .s = s };
	char id[SMC_PNET_ID_LEN + 1];

	if (dev->inner && !s->loops)
		return path_try_inner_port(s, dev, port);
	if (!smc_ib_port_active(dev, port))
		return false;
	g.all = smc_ib_port_pnetid(dev, port, s->net, id);
	if (g.all ? strcmp(id, s->id) : s->named)
		return false;
	smc_ib_walk_gids(dev, port, s->net, path_try_gid, &g);
	if (!g.fit && g.gids.v1.mtu)
		g.fit = FIT_V1;
	return path_offer_port(s, dev, port, &g.gids, g.fit);
}

/**
 * smc_path_find() - Choose the local port for a connection
 * @net: namespace
 * @ndev: netdev through which the TCP connection leaves
 * @saddr: its source address: IPv6, or IPv4-mapped
 * @inner: address of the peer, likewise, if it may be on this host; or NULL
 * @path: result. The caller owns the reference on @path->dev, and sets @path->gid to one of
 *	@gids as soon as the SMC version is known.
 * @gids: result
 *
 * If @ndev has a PNET ID, choose among the ports with that ID, else take the port whose netdev it
 * is. Before these: smc_lo on @ndev, for a peer on this host, if both namespaces consent. Process
 * context.
 *
 * Return: 0, or the reason code of the Decline; then @path->dev is NULL.
 */
u32 smc_path_find(struct net *net, struct net_device *ndev, const struct in6_addr *saddr,
		  const struct in6_addr *inner, struct smc_path *path, struct smc_ib_gids *gids)
{
	struct path_search s = {
		.net = net, .ndev = ndev, .saddr = saddr, .path = path, .gids = gids,
	};

	memset(path, 0, sizeof(*path));
	memset(gids, 0, sizeof(*gids));
	if (!netif_running(ndev) || !netif_carrier_ok(ndev) || !net_eq(dev_net(ndev), net))
		return SMC_CLC_DECL_NO_DEV;
	s.real = is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev) : ndev;
	s.vlan = smc_path_vlan(ndev);
	s.loops = ndev->flags & IFF_LOOPBACK;
	s.peer_inner = path_peer_is_inner(&s, inner);
	if (path_netdev_pnetid(net, ndev, s.id)) {
		s.named = smc_pnet_has_port(net, s.id);
		smc_ib_walk_ports(net, path_try_port_by_pnetid, &s);
	} else {
		smc_ib_walk_ports(net, path_try_port_by_route, &s);
	}
	strscpy(path->pnetid, s.id, sizeof(path->pnetid));
	path->inner = s.best == FIT_INNER;
	if (path->dev)
		return 0;
	if (s.id[0])
		return SMC_CLC_DECL_NO_DEV_PNETID;
	if (s.below)
		return SMC_CLC_DECL_DEV_BELOW;
	return s.has_inner ? SMC_CLC_DECL_NOT_INNER : SMC_CLC_DECL_NO_DEV;
}

/* ---- the port for a further link ---- */

/**
 * struct path_add_search - search for the local end of a further link
 * @want: requirements
 * @path: best path so far
 * @score: score of @path
 * @equals: number of ports with that score, including the one of @path
 * @dev: device that is being checked
 * @port: port that is being checked
 * @worth: its value
 * @all: the port itself has the PNET ID, so the netdevs of its GIDs need not have it
 * @vlan: VLAN of the group's links; may differ from that of the TCP path
 * @vrf: their VRF (ifindex of the master); likewise
 */
struct path_add_search {
	const struct smc_path_request *want;
	struct smc_path *path;
	unsigned int score;
	u32 equals;
	struct smc_ib_device *dev;
	u8 port;
	unsigned int worth;
	bool all;
	u16 vlan;
	int vrf;
};

/* Read the VLAN and VRF of the group's links. False: the netdev of the existing link is gone. */
static bool path_read_network(struct path_add_search *f)
{
	const struct smc_path_request *want = f->want;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(want->net, want->existing->gid.ifindex);
	if (ndev) {
		f->vlan = smc_path_vlan(ndev);
		f->vrf = l3mdev_master_ifindex_rcu(ndev);
	}
	rcu_read_unlock();
	return ndev;
}

/* Check whether a netdev is on the network of the group's links. */
static bool path_same_network(const struct path_add_search *f, struct net_device *ndev,
			      const struct smc_ib_gid *gid)
{
	const struct smc_path_request *want = f->want;
	const struct in6_addr *like = (const struct in6_addr *)want->existing->gid.gid.raw;
	char id[SMC_PNET_ID_LEN + 1];

	if (smc_path_vlan(ndev) != f->vlan)
		return false;
	if (want->existing->pnetid[0])
		return f->all || (path_netdev_pnetid(want->net, ndev, id) &&
				  !strcmp(id, want->existing->pnetid));
	/*
	 * Without a PNET ID: a netdev that has one is on another network, and so is the same subnet
	 * in another VRF.
	 */
	if (path_netdev_pnetid(want->net, ndev, id) || l3mdev_master_ifindex(ndev) != f->vrf ||
	    !smc_ib_port_has_netdev(f->dev, f->port,
				    is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev) : ndev))
		return false;
	if (gid->roce_v1)
		return path_same_subnet(ndev, want->tcp_peer, want->tcp_peer);
	return path_same_subnet(ndev, (const struct in6_addr *)gid->gid.raw, like);
}

/*
 * Choose among equal ports at random: a fixed choice could hit a port with an undetected network
 * failure each time, and keep the other ports from being tried.
 */
static bool path_is_better(struct path_add_search *f, unsigned int score)
{
	if (score > f->score)
		f->equals = 1;
	else if (score == f->score && (f->path->dev != f->dev || f->path->port != f->port))
		f->equals++;
	else
		return false;
	return f->equals == 1 || !(get_random_u32() % f->equals);
}

static bool path_try_add_gid(struct net_device *ndev, const struct smc_ib_gid *gid, void *arg)
{
	struct path_add_search *f = arg;
	const struct smc_path *like = f->want->existing;
	const union ib_gid *to = f->want->peer_gid ?: &like->gid.gid;
	const struct in6_addr *addr = (const struct in6_addr *)gid->gid.raw;
	const struct in6_addr *other = (const struct in6_addr *)to->raw;
	const int local = IPV6_ADDR_LINKLOCAL;
	bool near, same = f->dev == like->dev && f->port == like->port;
	unsigned int score;

	if (gid->roce_v1 != like->gid.roce_v1)
		return false;
	if (!gid->roce_v1 &&
	    (ipv6_addr_v4mapped(addr) != ipv6_addr_v4mapped(other) ||
	     (ipv6_addr_type(addr) & local) != (ipv6_addr_type(other) & local)))
		return false;
	/* Keep the GID of an RNIC: by another GID the peer could take it for another RNIC. */
	if (same && memcmp(&gid->gid, &like->gid.gid, sizeof(gid->gid)))
		return false;
	if (!same && !path_same_network(f, ndev, gid))
		return false;
	near = gid->roce_v1 || ipv6_addr_type(addr) & local || path_same_subnet(ndev, addr, other);
	score = 2 * f->worth + near;
	if (!path_is_better(f, score))
		return false;
	smc_path_put(f->path);
	smc_ib_device_get(f->dev);
	f->path->dev = f->dev;
	f->path->port = f->port;
	f->path->gid = *gid;
	f->score = score;
	return false;
}

static bool path_try_add_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct path_add_search *f = arg;
	const struct smc_path_request *want = f->want;
	char id[SMC_PNET_ID_LEN + 1];

	/* within a host a second link would save nothing, and one over an RNIC is no way inside */
	if (dev->inner || want->existing->dev->inner || !smc_ib_port_active(dev, port))
		return false;
	f->worth = want->score(dev, port, want->arg);
	if (!f->worth)
		return false;
	f->all = smc_ib_port_pnetid(dev, port, want->net, id);
	if (f->all && strcmp(id, want->existing->pnetid))
		return false;
	f->dev = dev;
	f->port = port;
	smc_ib_walk_gids(dev, port, want->net, path_try_add_gid, f);
	return false;
}

/**
 * smc_path_find_further() - Choose the local port for a further link of a group
 * @want: requirements
 * @path: result; the caller owns its device reference
 *
 * Candidates are the ports on the network of the group's links: those with their PNET ID, or
 * without one those in the same IP subnet. A GID in the subnet of the peer's GID is preferred.
 * Process context.
 *
 * Return: 0, or -ENODEV; then @path is empty.
 */
int smc_path_find_further(const struct smc_path_request *want, struct smc_path *path)
{
	struct path_add_search f = { .want = want, .path = path };

	memset(path, 0, sizeof(*path));
	if (path_read_network(&f))
		smc_ib_walk_ports(want->net, path_try_add_port, &f);
	if (!path->dev)
		return -ENODEV;
	strscpy(path->pnetid, want->existing->pnetid, sizeof(path->pnetid));
	return 0;
}

/* ---- waiting for the peer; the first hop ---- */

/**
 * smc_path_release_device() - Exchange the device reference of a path for a pin
 * @path: path
 *
 * For the time of a wait for the peer: the removal of a device waits for all references, and
 * must not wait for a peer. smc_path_reacquire_device() must follow. Any context.
 */
void smc_path_release_device(struct smc_path *path)
{
	smc_ib_device_pin(path->dev);
	smc_ib_device_put(path->dev);
}

/**
 * smc_path_reacquire_device() - Undo smc_path_release_device()
 * @path: path; empty afterwards if its device is gone
 *
 * Any context.
 *
 * Return: false if the device is gone.
 */
bool smc_path_reacquire_device(struct smc_path *path)
{
	struct smc_ib_device *dev = path->dev;
	bool there = smc_ib_device_get_unless_zero(dev);

	if (!there)
		path->dev = NULL;
	smc_ib_device_unpin(dev);
	return there;
}

/**
 * struct path_resolution - one address resolution in progress
 * @done: completed by its callback
 * @addr: result
 * @status: 0 or -errno
 */
struct path_resolution {
	struct completion done;
	struct rdma_dev_addr addr;
	int status;
};

static void path_resolve_done(int status, struct sockaddr *src, struct rdma_dev_addr *addr,
			      void *context)
{
	struct path_resolution *r = context;

	r->status = status;
	complete(&r->done);
}

/* The RDMA core ends each resolution after RESOLVE_MS, so the wait needs no timeout. */
static int path_resolve_gid(const struct ib_gid_attr *sgid_attr, const union ib_gid *dgid,
			    struct path_resolution *r)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in6 in6;
	} src, dst;
	int rc;

	/* pointers to the whole, which FORTIFY_SOURCE of some kernels wants for IPv6 */
	rdma_gid2ip((struct sockaddr *)&src, &sgid_attr->gid);
	rdma_gid2ip((struct sockaddr *)&dst, dgid);
	memset(r, 0, sizeof(*r));
	r->addr.sgid_attr = sgid_attr;
	/* Must not be NULL; the core replaces it by the namespace of the GID's netdev. */
	r->addr.net = &init_net;
	init_completion(&r->done);
	rc = smc_fault_rc(PNET_RESOLVE, -ENOMEM,
			  rdma_resolve_ip(&src.sa, &dst.sa, &r->addr, RESOLVE_MS,
					  path_resolve_done, true, r));
	if (rc)
		return rc;
	wait_for_completion(&r->done);
	return r->status;
}

/* Return true if RoCE v2 packets can be sent to @gid. */
static bool gid_is_unicast(const struct in6_addr *gid)
{
	__be32 v4 = gid->s6_addr32[3];

	if (ipv6_addr_v4mapped(gid))
		return !ipv4_is_zeronet(v4) && !ipv4_is_multicast(v4) && !ipv4_is_lbcast(v4);
	return !ipv6_addr_any(gid) && !ipv6_addr_loopback(gid) && !ipv6_addr_is_multicast(gid);
}

/**
 * smc_path_resolve() - Get the MAC of the first hop to the GID of a peer
 * @path: local end
 * @peer_gid: GID that the peer sent
 * @mac: in: MAC that the peer sent; out: result
 * @direct: out: true if no IP gateway is in between
 *
 * A RoCE v1 path has neither gateways nor a neighbour table: the MAC from the peer is used.
 * Process context; sleeps for up to about a second.
 *
 * Return: 0, -EHOSTUNREACH (other address family, no unicast address, or no route), -ETIMEDOUT.
 */
int smc_path_resolve(const struct smc_path *path, const union ib_gid *peer_gid,
		     u8 mac[6], bool *direct)
{
	const struct in6_addr *peer = (const struct in6_addr *)peer_gid->raw;
	const struct in6_addr *own = (const struct in6_addr *)path->gid.gid.raw;
	const struct ib_gid_attr *sgid_attr;
	struct path_resolution r;
	int rc;

	if (path->gid.roce_v1) {
		*direct = true;
		return is_valid_ether_addr(mac) ? 0 : -EHOSTUNREACH;
	}
	if (ipv6_addr_equal(peer, own)) {
		/* The peer is this host: there is no neighbour entry. */
		ether_addr_copy(mac, path->gid.mac);
		*direct = true;
		return 0;
	}
	if (!gid_is_unicast(peer) || ipv6_addr_v4mapped(peer) != ipv6_addr_v4mapped(own))
		return -EHOSTUNREACH;

	sgid_attr = smc_fault_ptr(PNET_GID, -ENODATA,
				  rdma_get_gid_attr(path->dev->ibdev, path->port,
						    path->gid.index));
	if (IS_ERR(sgid_attr))
		return -EHOSTUNREACH;
	if (memcmp(sgid_attr->gid.raw, path->gid.gid.raw, sizeof(sgid_attr->gid.raw)))
		rc = -EHOSTUNREACH;	/* the GID changed meanwhile */
	else
		rc = path_resolve_gid(sgid_attr, peer_gid, &r);
	rdma_put_gid_attr(sgid_attr);
	if (rc)
		return rc == -ETIMEDOUT ? rc : -EHOSTUNREACH;

	ether_addr_copy(mac, r.addr.dst_dev_addr);
	/* The core sets an IP network type only if the route has a gateway. */
	*direct = r.addr.network != RDMA_NETWORK_IPV4 && r.addr.network != RDMA_NETWORK_IPV6;
	return 0;
}

/* ---- the service level ---- */

/**
 * struct path_sl_walk - service level of a netdev
 * @priority: priority of packets
 * @sl: result
 */
struct path_sl_walk {
	u32 priority;
	u8 sl;
};

static int path_read_sl(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	struct path_sl_walk *w = (struct path_sl_walk *)priv->data;
	struct net_device *real = is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev) : ndev;

	if (netdev_get_num_tc(real))
		w->sl = netdev_get_prio_tc_map(real, w->priority);
	else if (is_vlan_dev(ndev))
		w->sl = (vlan_dev_get_egress_qos_mask(ndev, w->priority) & VLAN_PRIO_MASK) >>
			VLAN_PRIO_SHIFT;
	else
		return 0;
	return 1;
}

/**
 * smc_path_map_priority() - Return the service level that a netdev maps a priority to
 * @ndev: netdev
 * @priority: sk_priority
 *
 * That is the traffic class of the real device, if it has any, or else the priority in the tag of
 * a VLAN device; of the first such device, from @ndev downwards. RNICs take it for either.
 * The default priority has no service level, whatever it is mapped to. Any context but hard
 * interrupt.
 *
 * Return: service level, 0 to 15.
 */
u8 smc_path_map_priority(struct net_device *ndev, u32 priority)
{
	struct path_sl_walk w = { .priority = priority };
	struct netdev_nested_priv priv = { .data = &w };

	if (!priority)
		return 0;
	rcu_read_lock();
	if (!path_read_sl(ndev, &priv))
		netdev_walk_all_lower_dev_rcu(ndev, path_read_sl, &priv);
	rcu_read_unlock();
	return w.sl;
}

/**
 * smc_path_service_level() - Return the service level of a link
 * @net: namespace
 * @path: local end of the link, with its GID
 * @priority: sk_priority
 *
 * Any context but hard interrupt.
 *
 * Return: service level, 0 to 15; 0 if the netdev of the GID is gone.
 */
u8 smc_path_service_level(struct net *net, const struct smc_path *path, u32 priority)
{
	struct net_device *ndev;
	u8 sl = 0;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, path->gid.ifindex);
	if (ndev)
		sl = smc_path_map_priority(ndev, priority);
	rcu_read_unlock();
	return sl;
}

/* ---- IP prefixes of the TCP path, for version 1 ---- */

static bool path_put_prefix4(const struct path_prefix_walk *w, const u8 *addr, u8 len)
{
	if (!smc_clc_prefix_equal(addr, w->addr, len))
		return false;
	smc_clc_proposal_set_prefix4(w->p, addr, len);
	return true;
}

/* Add all prefixes: the server looks for one in common. */
static bool path_put_prefix6(const struct path_prefix_walk *w, const u8 *addr, u8 len)
{
	return !smc_clc_proposal_add_prefix6(w->p, addr, len);
}

/**
 * smc_path_write_prefixes() - Write the IP prefixes of the TCP path into a Proposal
 * @ndev: netdev of the path
 * @saddr: address of the client on it: IPv6, or IPv4-mapped
 * @p: Proposal; its prefix members are set
 *
 * Process context.
 *
 * Return: false if there is no prefix, so that version 1 cannot be offered.
 */
bool smc_path_write_prefixes(struct net_device *ndev, const struct in6_addr *saddr,
			     struct smc_clc_proposal *p)
{
	struct path_prefix_walk w = { .p = p, .addr = saddr->s6_addr + 12 };

	if (ipv6_addr_v4mapped(saddr))
		return path_walk_addrs4(ndev, path_put_prefix4, &w);
	path_walk_addrs6(ndev, path_put_prefix6, &w);
	return p->v6_count;
}

static bool path_match_prefix4(const struct path_prefix_walk *w, const u8 *addr, u8 len)
{
	return smc_clc_proposal_match_prefix4(w->p, addr, len, w->addr);
}

static bool path_match_prefix6(const struct path_prefix_walk *w, const u8 *addr, u8 len)
{
	return smc_clc_proposal_match_prefix6(w->p, addr, len);
}

/**
 * smc_path_match_prefixes() - Check whether the client is in a subnet of the TCP path
 * @ndev: netdev of the path
 * @daddr: address of the client: IPv6, or IPv4-mapped
 * @p: Proposal of the client
 *
 * Process context.
 *
 * Return: true if a prefix of the Proposal is one of @ndev and has the client's address.
 */
bool smc_path_match_prefixes(struct net_device *ndev, const struct in6_addr *daddr,
			     struct smc_clc_proposal *p)
{
	struct path_prefix_walk w = { .p = p, .addr = daddr->s6_addr + 12 };

	return ipv6_addr_v4mapped(daddr) ? path_walk_addrs4(ndev, path_match_prefix4, &w) :
					   path_walk_addrs6(ndev, path_match_prefix6, &w);
}
