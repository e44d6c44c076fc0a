// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which RNICs the links of a group connect, as numbers for proto/link_set.
 *
 * A local RNIC is a port. An RNIC of the peer is a MAC, or a GID if a gateway hides the MAC:
 * an RNIC may have many GIDs.
 */
#include <linux/string.h>
#include <smc/lgr/lgr.h>

/**
 * struct topology - the links of a group
 * @n: number of links
 * @link: the links, oldest first, each with a reference
 * @ends: the RNICs of each link, numbered
 */
struct topology {
	u32 n;
	struct smc_link *link[SMC_LGR_LINKS];
	struct smc_link_ends ends[SMC_LGR_LINKS];
};

static bool link_uses_port(const struct smc_link *link, const struct smc_ib_device *dev, u8 port)
{
	return link->path.dev == dev && link->path.port == port;
}

static bool link_leads_to(const struct smc_link *link, const struct smc_peer_rnic *end)
{
	return !memcmp(link->peer_gid.raw, end->gid, sizeof(link->peer_gid)) ||
	       (link->direct && !memcmp(link->peer_mac, end->mac, sizeof(link->peer_mac)));
}

/* Number an RNIC by the index of the first link that uses it; a new RNIC gets the next number. */
static void topology_number_ends(const struct topology *topo, const struct smc_ib_device *dev,
				 u8 port, const struct smc_peer_rnic *to,
				 struct smc_link_ends *ends)
{
	u32 i;

	for (i = 0; i < topo->n && !link_uses_port(topo->link[i], dev, port); i++)
		;
	ends->own = i;
	for (i = 0; i < topo->n && !(to && link_leads_to(topo->link[i], to)); i++)
		;
	ends->peer = i;
}

/* Return true for links that have not failed and whose peer is known. */
static bool link_in_topology(const struct smc_link *link)
{
	static const union ib_gid none;

	return atomic_read(&link->reason) == SMC_LINK_OK &&
	       memcmp(&link->peer_gid, &none, sizeof(none));
}

static void topology_get(struct smc_lgr *lgr, struct topology *topo)
{
	struct smc_peer_rnic to;
	struct smc_link *link;
	u32 i;

	topo->n = 0;
	smc_lgr_for_each_link(lgr, link) {
		if (!link_in_topology(link))
			continue;
		smc_link_get(link);
		/* Link numbers wrap, but not within the few that are in use at once. */
		for (i = topo->n++; i && (s8)(link->num - topo->link[i - 1]->num) < 0; i--)
			topo->link[i] = topo->link[i - 1];
		topo->link[i] = link;
	}
	for (i = 0; i < topo->n; i++) {
		to.gid = topo->link[i]->peer_gid.raw;
		to.mac = topo->link[i]->peer_mac;
		topology_number_ends(topo, topo->link[i]->path.dev, topo->link[i]->path.port, &to,
				     &topo->ends[i]);
	}
}

/* Get the usable links only: the setup of the others may fail. */
static void topology_get_usable(struct smc_lgr *lgr, struct topology *topo)
{
	u32 i, n = 0;

	topology_get(lgr, topo);
	for (i = 0; i < topo->n; i++) {
		if (smc_link_usable(topo->link[i])) {
			topo->link[n] = topo->link[i];
			topo->ends[n++] = topo->ends[i];
		} else {
			smc_link_put(topo->link[i]);
		}
	}
	topo->n = n;
}

static void topology_put(struct topology *topo)
{
	while (topo->n)
		smc_link_put(topo->link[--topo->n]);
}

/**
 * smc_topology_rate_port() - rate a local port as end of a further link
 * @lgr: group
 * @dev: local device
 * @port: port of @dev
 * @to: the peer's end; NULL: an RNIC of the peer that no link uses yet
 *
 * A link that replaces another one should not use the port of the oldest link, which has the most
 * connections. Where a symmetric link has no room, the peer may still choose an RNIC that is
 * in use, which gives an asymmetric link for an unused local port. Process context.
 * RFC 7609 section 3.5.5.1.1.
 *
 * Return: rating, higher is better; 0: no link should be made.
 */
unsigned int smc_topology_rate_port(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port,
				    const struct smc_peer_rnic *to)
{
	struct smc_link_ends further;
	enum smc_link_fit fit, spare = SMC_LINK_FIT_FULL;
	unsigned int worth = 0;
	struct topology topo;

	topology_get(lgr, &topo);
	topology_number_ends(&topo, dev, port, to, &further);
	fit = smc_link_set_classify(topo.ends, topo.n, &further, lgr->peer.max_links);
	if (fit == SMC_LINK_FIT_FULL && !to && topo.n) {
		further.peer = topo.ends[0].peer;
		spare = smc_link_set_classify(topo.ends, topo.n, &further, lgr->peer.max_links);
	}
	switch (spare == SMC_LINK_FIT_ASYM ? spare : fit) {
	case SMC_LINK_FIT_SYM:
		worth = topo.n && further.own == topo.ends[0].own ? 2 : 3;
		break;
	case SMC_LINK_FIT_ASYM:
		worth = spare == SMC_LINK_FIT_ASYM ? 2 : 1;
		break;
	case SMC_LINK_FIT_PARALLEL:
	case SMC_LINK_FIT_USELESS:
	case SMC_LINK_FIT_FULL:
	case SMC_LINK_FITS:
		break;
	}
	topology_put(&topo);
	return worth;
}

/**
 * smc_topology_check_fit() - classify a further link
 * @lgr: group
 * @dev: local device
 * @port: port of @dev
 * @to: the peer's end
 *
 * Process context.
 *
 * Return: symmetric, asymmetric, parallel, ..., see enum smc_link_fit.
 */
enum smc_link_fit smc_topology_check_fit(struct smc_lgr *lgr, const struct smc_ib_device *dev,
					 u8 port, const struct smc_peer_rnic *to)
{
	struct smc_link_ends further;
	enum smc_link_fit fit;
	struct topology topo;

	topology_get(lgr, &topo);
	topology_number_ends(&topo, dev, port, to, &further);
	fit = smc_link_set_classify(topo.ends, topo.n, &further, lgr->peer.max_links);
	topology_put(&topo);
	return fit;
}

/**
 * smc_topology_uses_port() - check whether a link of a group uses a local port
 * @lgr: group
 * @dev: local device
 * @port: port of @dev
 *
 * Links in setup count once their peer is known. Process context.
 *
 * Return: true if so.
 */
bool smc_topology_uses_port(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port)
{
	bool found = false;
	struct topology topo;
	u32 i;

	topology_get(lgr, &topo);
	for (i = 0; i < topo.n; i++)
		found |= link_uses_port(topo.link[i], dev, port);
	topology_put(&topo);
	return found;
}

/**
 * smc_topology_get_type() - return the kind of redundancy that a group has
 * @lgr: group
 *
 * Only usable links count. Process context.
 *
 * Return: see enum smc_link_set_type.
 */
enum smc_link_set_type smc_topology_get_type(struct smc_lgr *lgr)
{
	enum smc_link_set_type type;
	struct topology topo;

	topology_get_usable(lgr, &topo);
	type = smc_link_set_type(topo.ends, topo.n);
	topology_put(&topo);
	return type;
}

/**
 * smc_topology_find_redundant() - find the redundant asymmetric link of a group
 * @lgr: group
 *
 * Only usable links count. Process context.
 *
 * Return: the link that symmetric ones have made redundant, with a reference, or NULL.
 */
struct smc_link *smc_topology_find_redundant(struct smc_lgr *lgr)
{
	struct smc_link *link = NULL;
	struct topology topo;
	int at;

	topology_get_usable(lgr, &topo);
	at = smc_link_set_redundant(topo.ends, topo.n, lgr->peer.max_links);
	if (at >= 0) {
		link = topo.link[at];
		smc_link_get(link);
	}
	topology_put(&topo);
	return link;
}
