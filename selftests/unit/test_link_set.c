// SPDX-License-Identifier: GPL-2.0-only
/* Types of link groups, and which further links fit: proto/link_set. */
#include "unit.h"
#include <smc/proto/link_set.h>

#define LINKS 9

struct group {
	u32 n;
	struct smc_link_ends set[LINKS];
};

static enum smc_link_fit group_fit(const struct group *g, u32 own, u32 peer, u32 max)
{
	struct smc_link_ends e = { own, peer };

	return smc_link_set_classify(g->set, g->n, &e, max);
}

/* RFC 7609 section 2.2.1, figures 2 and 5 to 7 */
static void types(void)
{
	struct smc_link_ends set[3] = { { 1, 1 } };

	CHECK_EQ(smc_link_set_type(set, 0), SMC_LINKS_NONE);
	CHECK_EQ(smc_link_set_type(set, 1), SMC_LINKS_SINGLE);
	set[1] = (struct smc_link_ends){ 2, 2 };
	CHECK_EQ(smc_link_set_type(set, 2), SMC_LINKS_SYMMETRIC);
	set[1] = (struct smc_link_ends){ 2, 1 };
	CHECK_EQ(smc_link_set_type(set, 2), SMC_LINKS_ASYM_PEER);
	set[1] = (struct smc_link_ends){ 1, 2 };
	CHECK_EQ(smc_link_set_type(set, 2), SMC_LINKS_ASYM_LOCAL);
	set[2] = (struct smc_link_ends){ 3, 3 };
	CHECK_EQ(smc_link_set_type(set, 3), SMC_LINKS_ASYM_LOCAL);
}

static void second(void)
{
	struct group g = { 1, { { 1, 1 } } };

	CHECK_EQ(group_fit(&g, 1, 1, 2), SMC_LINK_FIT_PARALLEL);
	CHECK_EQ(group_fit(&g, 2, 1, 2), SMC_LINK_FIT_ASYM);
	CHECK_EQ(group_fit(&g, 1, 2, 2), SMC_LINK_FIT_ASYM);
	CHECK_EQ(group_fit(&g, 2, 2, 2), SMC_LINK_FIT_SYM);
	CHECK_EQ(group_fit(&g, 2, 2, 1), SMC_LINK_FIT_FULL);
	CHECK_EQ(group_fit(&g, 1, 2, 1), SMC_LINK_FIT_FULL);
	g.n = 0;
	CHECK_EQ(group_fit(&g, 1, 1, 1), SMC_LINK_FIT_SYM);
}

static void symmetric(void)
{
	struct group g = { 2, { { 1, 1 }, { 2, 2 } } };

	CHECK_EQ(group_fit(&g, 3, 3, 2), SMC_LINK_FIT_FULL);
	CHECK_EQ(group_fit(&g, 3, 3, 8), SMC_LINK_FIT_SYM);
	CHECK_EQ(group_fit(&g, 3, 1, 2), SMC_LINK_FIT_FULL);
	CHECK_EQ(group_fit(&g, 1, 2, 2), SMC_LINK_FIT_FULL);
	/* it adds no RNIC */
	CHECK_EQ(group_fit(&g, 1, 2, 8), SMC_LINK_FIT_USELESS);
	CHECK_EQ(group_fit(&g, 2, 2, 8), SMC_LINK_FIT_PARALLEL);
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 2), -1);
}

/* A symmetric link makes the asymmetric one redundant. */
static void replaced(void)
{
	struct group g = { 2, { { 1, 1 }, { 1, 2 } } };

	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 2), -1);
	CHECK_EQ(group_fit(&g, 1, 1, 2), SMC_LINK_FIT_PARALLEL);
	CHECK_EQ(group_fit(&g, 1, 3, 2), SMC_LINK_FIT_USELESS);
	CHECK_EQ(group_fit(&g, 3, 3, 2), SMC_LINK_FIT_SYM);
	CHECK_EQ(group_fit(&g, 2, 1, 2), SMC_LINK_FIT_SYM);
	CHECK_EQ(group_fit(&g, 2, 2, 2), SMC_LINK_FIT_SYM);
	g.set[g.n++] = (struct smc_link_ends){ 2, 2 };
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 2), 1);
	CHECK_EQ(group_fit(&g, 3, 3, 2), SMC_LINK_FIT_FULL);
	g.set[2] = (struct smc_link_ends){ 2, 1 };
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 2), 0);
	/* the new link shares no RNIC with either: the younger one is redundant */
	g.set[2] = (struct smc_link_ends){ 3, 3 };
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 2), 1);
}

/* More than two links: an RNIC without a counterpart gets a link too, one at a time. */
static void spare(void)
{
	struct group g = { 3, { { 1, 1 }, { 2, 2 }, { 3, 1 } } };

	g.n = 2;
	CHECK_EQ(group_fit(&g, 3, 1, 3), SMC_LINK_FIT_ASYM);
	CHECK_EQ(group_fit(&g, 1, 3, 8), SMC_LINK_FIT_ASYM);
	g.n = 3;
	CHECK_EQ(group_fit(&g, 4, 2, 8), SMC_LINK_FIT_USELESS);
	CHECK_EQ(group_fit(&g, 2, 1, 8), SMC_LINK_FIT_USELESS);
	CHECK_EQ(group_fit(&g, 1, 3, 8), SMC_LINK_FIT_SYM);	/* and 1, 1 is redundant */
	CHECK_EQ(group_fit(&g, 4, 4, 8), SMC_LINK_FIT_SYM);
	CHECK_EQ(group_fit(&g, 3, 3, 8), SMC_LINK_FIT_SYM);
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 8), -1);
	/* with a symmetric link elsewhere, its RNIC still has no other link */
	g.set[g.n++] = (struct smc_link_ends){ 4, 4 };
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 8), -1);
	CHECK_EQ(smc_link_set_type(g.set, g.n), SMC_LINKS_ASYM_PEER);
	g.set[3] = (struct smc_link_ends){ 3, 3 };
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, 8), 2);
}

/* RFC 7609 section 2.2.2: eight links, and an asymmetric one that does not count. */
static void eight_and_one(void)
{
	struct group g = { 0 };
	u32 i;

	for (i = 0; i < SMC_LINKS_MAX; i++) {
		CHECK_EQ(group_fit(&g, i, i, SMC_LINKS_MAX), SMC_LINK_FIT_SYM);
		g.set[g.n++] = (struct smc_link_ends){ i, i };
	}
	CHECK_EQ(group_fit(&g, 8, 8, SMC_LINKS_MAX), SMC_LINK_FIT_FULL);
	CHECK_EQ(group_fit(&g, 3, 4, SMC_LINKS_MAX), SMC_LINK_FIT_FULL);
	CHECK_EQ(group_fit(&g, 8, 5, SMC_LINKS_MAX), SMC_LINK_FIT_ASYM);
	CHECK_EQ(group_fit(&g, 5, 8, SMC_LINKS_MAX), SMC_LINK_FIT_ASYM);
	g.set[g.n++] = (struct smc_link_ends){ 8, 5 };
	CHECK_EQ(g.n, LINKS);
	CHECK_EQ(smc_link_set_redundant(g.set, g.n, SMC_LINKS_MAX), -1);
	for (i = 0; i < LINKS + 1; i++) {
		CHECK(group_fit(&g, i, 8, SMC_LINKS_MAX) < SMC_LINK_FIT_ASYM);
		CHECK(group_fit(&g, 8, i, SMC_LINKS_MAX) < SMC_LINK_FIT_ASYM);
	}
}

static bool same_ends(const struct smc_link_ends *a, const struct smc_link_ends *b)
{
	return a->own == b->own && a->peer == b->peer;
}

/* RFC 7609 section 2.2.2: at most @max symmetric links, one asymmetric, none parallel. */
static void check_group(const struct group *g, u32 max)
{
	struct group core = { 0 };
	u32 i, j;
	bool clash;

	for (i = 0; i < g->n; i++) {
		clash = false;
		for (j = 0; j < core.n; j++)
			clash |= g->set[i].own == core.set[j].own ||
				 g->set[i].peer == core.set[j].peer;
		for (j = 0; j < i; j++)
			CHECK(!same_ends(&g->set[i], &g->set[j]));
		if (!clash)
			core.set[core.n++] = g->set[i];
	}
	CHECK(core.n <= max);
	CHECK(g->n - core.n <= 1);
}

static void group_drop(struct group *g, u32 at)
{
	g->n--;
	for (; at < g->n; at++)
		g->set[at] = g->set[at + 1];
}

/* Groups that add links that fit, lose links and remove redundant ones, at random. */
static void random_groups(void)
{
	u32 round, step, max;

	for (round = 0; round < 2000; round++) {
		struct group g = { 0 };

		max = 1 + unit_below(8);
		for (step = 0; step < 60; step++) {
			struct smc_link_ends e = { unit_below(9), unit_below(9) };
			enum smc_link_fit f = group_fit(&g, e.own, e.peer, max);
			int redundant;

			if (g.n && !unit_below(4)) {
				group_drop(&g, unit_below(g.n));
			} else if (f == SMC_LINK_FIT_SYM || f == SMC_LINK_FIT_ASYM) {
				CHECK(g.n < LINKS);
				g.set[g.n++] = e;
			}
			redundant = smc_link_set_redundant(g.set, g.n, max);
			if (redundant >= 0) {
				CHECK((u32)redundant + 1 < g.n || f != SMC_LINK_FIT_SYM);
				CHECK(max > 1);
				group_drop(&g, redundant);
				CHECK_EQ(smc_link_set_type(g.set, g.n), SMC_LINKS_SYMMETRIC);
			}
			check_group(&g, max);
		}
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(types),
	UNIT_CASE(second),
	UNIT_CASE(symmetric),
	UNIT_CASE(replaced),
	UNIT_CASE(spare),
	UNIT_CASE(eight_and_one),
	UNIT_CASE(random_groups),
};

UNIT_MAIN("link_set", cases)
