// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which RNICs the links of a group join, see link_set.h.
 *
 * An asymmetric link is made while it is the only way to a second link; whether it is
 * the first or the second of the two that share an RNIC cannot be told, and need not be:
 * a link that shares an RNIC with just one of them is as good as symmetric, since either
 * can go for it.
 *
 * Groups that may have more than two symmetric links also get an asymmetric one for an RNIC
 * that has no counterpart, and keep it until each of its RNICs has another link.
 */
#include <smc/proto/link_set.h>

#define NO_LINK	(~(u32)0)

static bool link_ends_share_rnic(const struct smc_link_ends *a, const struct smc_link_ends *b)
{
	return a->own == b->own || a->peer == b->peer;
}

/* With how many others, but for @but, does one share an RNIC? */
static u32 link_set_count_partners(const struct smc_link_ends *set, u32 n,
				   const struct smc_link_ends *one, u32 but)
{
	u32 i, found = 0;

	for (i = 0; i < n; i++)
		found += i != but && &set[i] != one && link_ends_share_rnic(&set[i], one);
	return found;
}

/* Has each link, but for @but, RNICs of its own? */
static bool link_set_is_disjoint(const struct smc_link_ends *set, u32 n, u32 but)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (i != but && link_set_count_partners(set, n, &set[i], but))
			return false;
	return true;
}

/**
 * smc_link_set_type() - what kind of redundancy a group has
 * @set: its links
 * @n: how many
 *
 * Return: the type.
 */
enum smc_link_set_type smc_link_set_type(const struct smc_link_ends *set, u32 n)
{
	u32 i, j;

	if (n < 2)
		return n ? SMC_LINKS_SINGLE : SMC_LINKS_NONE;
	if (link_set_is_disjoint(set, n, NO_LINK))
		return SMC_LINKS_SYMMETRIC;
	for (i = 0; i < n; i++)
		for (j = 0; j < i; j++)
			if (set[i].own == set[j].own)
				return SMC_LINKS_ASYM_LOCAL;
	return SMC_LINKS_ASYM_PEER;
}

/* The one link of @set that shares an RNIC with @further; NOBODY if there is not just one. */
static u32 link_set_single_partner(const struct smc_link_ends *set, u32 n,
				   const struct smc_link_ends *further)
{
	u32 i, found = NO_LINK;

	for (i = 0; i < n; i++) {
		if (!link_ends_share_rnic(&set[i], further))
			continue;
		if (found != NO_LINK)
			return NO_LINK;
		found = i;
	}
	return found;
}

/* Is one end of @further at an RNIC that no link uses? */
static bool link_set_adds_rnic(const struct smc_link_ends *set, u32 n,
			       const struct smc_link_ends *further)
{
	bool own = false, peer = false;
	u32 i;

	for (i = 0; i < n; i++) {
		own |= set[i].own == further->own;
		peer |= set[i].peer == further->peer;
	}
	return !own || !peer;
}

/**
 * smc_link_set_fit() - what a further link would be
 * @set: the links that are there
 * @n: how many
 * @further: its RNICs
 * @max: symmetric links that were negotiated; an asymmetric one does not count
 *
 * Return: see the enum.
 */
enum smc_link_fit smc_link_set_fit(const struct smc_link_ends *set, u32 n,
				   const struct smc_link_ends *further, u32 max)
{
	bool asym = !link_set_is_disjoint(set, n, NO_LINK);
	u32 sym = asym ? n - 1 : n, i, other;

	for (i = 0; i < n; i++)
		if (set[i].own == further->own && set[i].peer == further->peer)
			return SMC_LINK_FIT_PARALLEL;
	if (!asym && link_set_count_partners(set, n, further, NO_LINK)) {
		if (max > 1 && n == 1)
			return SMC_LINK_FIT_ASYM;
		if (max > SMC_LINKS_REDUNDANT && link_set_adds_rnic(set, n, further))
			return SMC_LINK_FIT_ASYM;
	}
	if (sym >= max)
		return SMC_LINK_FIT_FULL;
	if (!link_set_count_partners(set, n, further, NO_LINK))
		return SMC_LINK_FIT_SYM;
	other = link_set_single_partner(set, n, further);
	if (other != NO_LINK && asym && link_set_is_disjoint(set, n, other))
		return SMC_LINK_FIT_SYM;
	return SMC_LINK_FIT_USELESS;
}

/* Has each of the two RNICs of @set[@at] another link? */
static bool link_set_is_replaced(const struct smc_link_ends *set, u32 n, u32 at)
{
	bool own = false, peer = false;
	u32 i;

	for (i = 0; i < n; i++) {
		own |= i != at && set[i].own == set[at].own;
		peer |= i != at && set[i].peer == set[at].peer;
	}
	return own && peer;
}

/**
 * smc_link_set_surplus() - the asymmetric link that is no longer needed
 * @set: the links, the oldest first
 * @n: how many
 * @max: symmetric links that were negotiated
 *
 * Return: its index, negative: there is none.
 */
int smc_link_set_surplus(const struct smc_link_ends *set, u32 n, u32 max)
{
	u32 i, p, most = 0;
	int found = -1;

	if (n < 3)
		return -1;
	for (i = 0; i < n; i++) {
		p = link_set_count_partners(set, n, &set[i], NO_LINK);
		if (max > SMC_LINKS_REDUNDANT && !link_set_is_replaced(set, n, i))
			p = 0;
		if (p && p >= most) {
			most = p;
			found = (int)i;
		}
	}
	return found;
}

/**
 * smc_link_set_type_str() - name of a type
 * @type: type
 *
 * Return: constant string.
 */
const char *smc_link_set_type_str(enum smc_link_set_type type)
{
	switch (type) {
	case SMC_LINKS_NONE:
		return "none";
	case SMC_LINKS_SINGLE:
		return "single";
	case SMC_LINKS_SYMMETRIC:
		return "symmetric";
	case SMC_LINKS_ASYM_PEER:
		return "asymmetric, peer";
	case SMC_LINKS_ASYM_LOCAL:
		return "asymmetric, local";
	case SMC_LINKS_TYPES:
		break;
	}
	return "?";
}
