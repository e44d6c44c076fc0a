// SPDX-License-Identifier: GPL-2.0-only
/*
 * RNICs of the links of a group, and the use of one more link; link_set.h describes the types.
 *
 * An asymmetric link is made while it is the only way to get a second link. Which of the two links
 * that share an RNIC is the asymmetric one cannot be decided and need not be: a link that shares an
 * RNIC with just one of them is as good as symmetric, since either of the two can be removed for
 * it.
 *
 * Groups with a limit of more than two symmetric links also get an asymmetric one for an RNIC
 * without a counterpart, and keep it until each of its RNICs has another link.
 */
#include <smc/proto/link_set.h>

#define NO_LINK	(~(u32)0)

static bool link_ends_share_rnic(const struct smc_link_ends *a, const struct smc_link_ends *b)
{
	return a->own == b->own || a->peer == b->peer;
}

/* Number of links, except link @but, that share an RNIC with @one. */
static u32 link_set_count_partners(const struct smc_link_ends *set, u32 n,
				   const struct smc_link_ends *one, u32 but)
{
	u32 i, found = 0;

	for (i = 0; i < n; i++)
		found += i != but && &set[i] != one && link_ends_share_rnic(&set[i], one);
	return found;
}

/* Check whether each link, except link @but, has RNICs of its own. */
static bool link_set_is_disjoint(const struct smc_link_ends *set, u32 n, u32 but)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (i != but && link_set_count_partners(set, n, &set[i], but))
			return false;
	return true;
}

/**
 * smc_link_set_type() - Return the kind of redundancy that the links of a group give
 * @set: its links
 * @n: number of links
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

/* The only link of @set that shares an RNIC with @further; NO_LINK if there are none or several. */
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

/* Check whether one end of @further is at an RNIC that no link uses. */
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
 * smc_link_set_classify() - Classify one more link
 * @set: existing links of the group
 * @n: number of links
 * @further: RNICs of the new link
 * @max: negotiated number of symmetric links; an asymmetric one does not count
 *
 * Return: see enum smc_link_fit.
 */
enum smc_link_fit smc_link_set_classify(const struct smc_link_ends *set, u32 n,
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

/* Check whether each of the two RNICs of @set[@at] has another link. */
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
 * smc_link_set_redundant() - Find a redundant asymmetric link
 * @set: links of the group, the oldest first
 * @n: number of links
 * @max: negotiated number of symmetric links
 *
 * Return: its index, negative if there is none.
 */
int smc_link_set_redundant(const struct smc_link_ends *set, u32 n, u32 max)
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
 * smc_link_set_type_str() - Return the name of a type
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
