// SPDX-License-Identifier: GPL-2.0-only
/*
 * An operator's order for a link that names the RoCE port of this host, the GID of the peer's RNIC,
 * or both. The order is tried once: a link with other ends is given up or rejected.
 *
 * A server offers a link over that port, and gives it up if the client's end is another one than
 * the order names. A client requests a link for that port, and until the order is too old it
 * accepts no offer that does not fit. ADD LINK cannot carry the wish: each host chooses its own
 * end.
 *
 * The order waits in llc_recovery.wish (llc/recovery.c) and is copied into the exchange,
 * llc_add.wish.
 */
#include <linux/string.h>
#include <net/ipv6.h>
#include <smc/base/log.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "internal.h"

/**
 * smc_link_wish_names_peer() - check whether a wish names the peer's end
 * @wish: wish
 *
 * Return: true if so.
 */
bool smc_link_wish_names_peer(const struct smc_link_wish *wish)
{
	return memchr_inv(wish->gid.raw, 0, sizeof(wish->gid.raw));
}

/**
 * smc_link_wish_is_set() - check whether a wish names any end
 * @wish: wish
 *
 * Return: true if so.
 */
bool smc_link_wish_is_set(const struct smc_link_wish *wish)
{
	return wish->device[0] || smc_link_wish_names_peer(wish);
}

/**
 * smc_link_wish_is_same() - compare two wishes
 * @a: wish
 * @b: wish
 *
 * Return: true if they name the same ends.
 */
bool smc_link_wish_is_same(const struct smc_link_wish *a, const struct smc_link_wish *b)
{
	return !strcmp(a->device, b->device) && a->port == b->port &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid));
}

static bool link_wish_names_device(const struct smc_link_wish *wish,
				   const struct smc_ib_device *dev)
{
	char name[IB_DEVICE_NAME_MAX];

	smc_ib_device_name(dev, name);
	return !strcmp(wish->device, name);
}

/**
 * smc_link_wish_fits_port() - check whether a port of this host may be the end of the link
 * @wish: wish
 * @dev: device, pinned
 * @port: port number
 *
 * Any context.
 *
 * Return: true if so.
 */
bool smc_link_wish_fits_port(const struct smc_link_wish *wish, const struct smc_ib_device *dev,
			     u8 port)
{
	return !wish->device[0] ||
	       ((!wish->port || wish->port == port) && link_wish_names_device(wish, dev));
}

/**
 * smc_link_wish_fits_path() - check whether a local end may be that of the link
 * @wish: wish
 * @path: local end
 *
 * Return: true if so, and if its GID is of the same family as the one that @wish names.
 */
bool smc_link_wish_fits_path(const struct smc_link_wish *wish, const struct smc_path *path)
{
	const struct in6_addr *own = (const struct in6_addr *)path->gid.gid.raw;
	const struct in6_addr *peer = (const struct in6_addr *)wish->gid.raw;

	if (smc_link_wish_names_peer(wish) && ipv6_addr_v4mapped(own) != ipv6_addr_v4mapped(peer))
		return false;
	return smc_link_wish_fits_port(wish, path->dev, path->port);
}

/**
 * smc_link_wish_fits_peer() - check whether an RNIC of the peer may be the end of the link
 * @wish: wish
 * @gid: GID of the RNIC
 *
 * Return: true if so.
 */
bool smc_link_wish_fits_peer(const struct smc_link_wish *wish, const u8 *gid)
{
	return !smc_link_wish_names_peer(wish) ||
	       !memcmp(wish->gid.raw, gid, sizeof(wish->gid.raw));
}

/**
 * smc_link_wish_is_met() - check whether a link of the group has the ends already
 * @wish: wish
 * @lgr: group
 *
 * Any context.
 *
 * Return: true if so; false if @wish does not name the peer's end.
 */
bool smc_link_wish_is_met(const struct smc_link_wish *wish, struct smc_lgr *lgr)
{
	struct smc_link *link;
	bool met = false;

	if (!smc_link_wish_names_peer(wish))
		return false;
	smc_lgr_for_each_link(lgr, link)
		met |= smc_link_usable(link) &&
		       smc_link_wish_fits_port(wish, link->path.dev, link->path.port) &&
		       smc_link_wish_fits_peer(wish, link->peer_gid.raw);
	return met;
}

/**
 * struct link_wish_search - search for the port of this host that a wish names
 * @wish: wish
 * @rc: -ENODEV until the device is found, then -ENXIO until its port is
 */
struct link_wish_search {
	const struct smc_link_wish *wish;
	int rc;
};

static bool link_wish_try_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct link_wish_search *s = arg;

	if (link_wish_names_device(s->wish, dev))
		s->rc = smc_link_wish_fits_port(s->wish, dev, port) ? 0 : -ENXIO;
	return !s->rc;
}

/**
 * smc_link_wish_find_port() - check whether there is the port that a wish names
 * @wish: wish
 * @net: namespace
 *
 * Process context.
 *
 * Return: 0, also if none is named; -ENODEV: @net has no such RoCE device; -ENXIO: the device has
 * no such RoCE port.
 */
int smc_link_wish_find_port(const struct smc_link_wish *wish, struct net *net)
{
	struct link_wish_search s = { .wish = wish, .rc = -ENODEV };

	if (!wish->device[0])
		return 0;
	smc_ib_walk_ports(net, link_wish_try_port, &s);
	return s.rc;
}

/**
 * smc_link_wish_report() - log why no link is added as an operator ordered
 * @wish: wish; without effect if it names no end
 * @llc: LLC state
 * @why: reason
 *
 * Process context.
 */
void smc_link_wish_report(const struct smc_link_wish *wish, const struct smc_llc *llc,
			  const char *why)
{
	if (smc_link_wish_is_set(wish))
		smc_log_write(llc->lgr->net, "group %08x: no link as ordered: %s\n", llc->lgr->id,
			      why);
}
