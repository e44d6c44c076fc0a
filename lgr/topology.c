// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which RNICs the links of a group join, as numbers for proto/link_set. One rank above
 * smc_core.c.
 *
 * An RNIC of ours is a port. One of the peer's is a GID, or a MAC where no gateway hides
 * it: an RNIC may have many GIDs.
 */
#include <linux/string.h>
#include <smc/lgr/lgr.h>

/**
 * struct set - the links of a group
 * @n: how many
 * @link: each with a reference, the oldest first
 * @ends: RNICs of each
 */
struct set {
	u32 n;
	struct smc_link *link[SMC_CORE_LINKS];
	struct smc_link_ends ends[SMC_CORE_LINKS];
};

static bool is_port(const struct smc_link *link, const struct smc_ib_device *dev, u8 port)
{
	return link->path.dev == dev && link->path.port == port;
}

static bool is_peer(const struct smc_link *link, const struct smc_core_end *end)
{
	return !memcmp(link->peer_gid.raw, end->gid, sizeof(link->peer_gid)) ||
	       (link->direct && !memcmp(link->peer_mac, end->mac, sizeof(link->peer_mac)));
}

/* The number of an RNIC is the place of the first link that has it; else a new one. */
static void number_ends(const struct set *set, const struct smc_ib_device *dev, u8 port,
			const struct smc_core_end *to, struct smc_link_ends *ends)
{
	u32 i;

	for (i = 0; i < set->n && !is_port(set->link[i], dev, port); i++)
		;
	ends->own = i;
	for (i = 0; i < set->n && !(to && is_peer(set->link[i], to)); i++)
		;
	ends->peer = i;
}

/* Links whose peer is known and that have not failed. */
static bool counts(const struct smc_link *link)
{
	static const union ib_gid none;

	return atomic_read(&link->reason) == SMC_LINK_OK &&
	       memcmp(&link->peer_gid, &none, sizeof(none));
}

static void get_set(struct smc_lgr *lgr, struct set *set)
{
	struct smc_core_end to;
	struct smc_link *link;
	u32 slot, i;

	set->n = 0;
	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (!counts(link)) {
			smc_link_put(link);
			continue;
		}
		/* numbers wrap, but not within the few that are in use at once */
		for (i = set->n++; i && (s8)(link->num - set->link[i - 1]->num) < 0; i--)
			set->link[i] = set->link[i - 1];
		set->link[i] = link;
	}
	for (i = 0; i < set->n; i++) {
		to.gid = set->link[i]->peer_gid.raw;
		to.mac = set->link[i]->peer_mac;
		number_ends(set, set->link[i]->path.dev, set->link[i]->path.port, &to,
			    &set->ends[i]);
	}
}

/* Without those that are being set up: they may never come. */
static void get_usable(struct smc_lgr *lgr, struct set *set)
{
	u32 i, n = 0;

	get_set(lgr, set);
	for (i = 0; i < set->n; i++) {
		if (smc_link_usable(set->link[i])) {
			set->link[n] = set->link[i];
			set->ends[n++] = set->ends[i];
		} else {
			smc_link_put(set->link[i]);
		}
	}
	set->n = n;
}

static void put_set(struct set *set)
{
	while (set->n)
		smc_link_put(set->link[--set->n]);
}

/**
 * smc_core_worth() - what a port of ours is worth as end of a further link
 * @lgr: group
 * @dev: our device
 * @port: port of it
 * @to: the peer's end; NULL: an RNIC that no link leads to
 *
 * A link that takes the place of another one had better not take that of the oldest, which
 * has the most connections. Where a symmetric link has no room, the peer may still choose an
 * RNIC that has one already: for a port of ours that has none. Process context.
 *
 * Return: the more the better, 0 = nothing.
 */
unsigned int smc_core_worth(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port,
			    const struct smc_core_end *to)
{
	struct smc_link_ends further;
	enum smc_link_fit fit, spare = SMC_LINK_FIT_FULL;
	unsigned int worth = 0;
	struct set set;

	get_set(lgr, &set);
	number_ends(&set, dev, port, to, &further);
	fit = smc_link_set_fit(set.ends, set.n, &further, lgr->peer.max_links);
	if (fit == SMC_LINK_FIT_FULL && !to && set.n) {
		further.peer = set.ends[0].peer;
		spare = smc_link_set_fit(set.ends, set.n, &further, lgr->peer.max_links);
	}
	switch (spare == SMC_LINK_FIT_ASYM ? spare : fit) {
	case SMC_LINK_FIT_SYM:
		worth = set.n && further.own == set.ends[0].own ? 2 : 3;
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
	put_set(&set);
	return worth;
}

/**
 * smc_core_fit() - what a further link would be
 * @lgr: group
 * @dev: our device
 * @port: port of it
 * @to: the peer's end
 *
 * Process context.
 *
 * Return: see the enum.
 */
enum smc_link_fit smc_core_fit(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port,
			       const struct smc_core_end *to)
{
	struct smc_link_ends further;
	enum smc_link_fit fit;
	struct set set;

	get_set(lgr, &set);
	number_ends(&set, dev, port, to, &further);
	fit = smc_link_set_fit(set.ends, set.n, &further, lgr->peer.max_links);
	put_set(&set);
	return fit;
}

/**
 * smc_core_uses_port() - has a group a link over a port of ours
 * @lgr: group
 * @dev: our device
 * @port: port of it
 *
 * Process context.
 *
 * Return: true if so; links that are being set up count if their other end is known.
 */
bool smc_core_uses_port(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port)
{
	bool found = false;
	struct set set;
	u32 i;

	get_set(lgr, &set);
	for (i = 0; i < set.n; i++)
		found |= is_port(set.link[i], dev, port);
	put_set(&set);
	return found;
}

/**
 * smc_core_type() - what kind of redundancy a group has
 * @lgr: group
 *
 * Links that are being set up do not count. Process context.
 *
 * Return: see the enum.
 */
enum smc_link_set_type smc_core_type(struct smc_lgr *lgr)
{
	enum smc_link_set_type type;
	struct set set;

	get_usable(lgr, &set);
	type = smc_link_set_type(set.ends, set.n);
	put_set(&set);
	return type;
}

/**
 * smc_core_surplus() - the asymmetric link that is no longer needed
 * @lgr: group
 *
 * Links that are being set up do not count. Process context.
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_core_surplus(struct smc_lgr *lgr)
{
	struct smc_link *link = NULL;
	struct set set;
	int at;

	get_usable(lgr, &set);
	at = smc_link_set_surplus(set.ends, set.n, lgr->peer.max_links);
	if (at >= 0) {
		link = set.link[at];
		smc_link_get(link);
	}
	put_set(&set);
	return link;
}
