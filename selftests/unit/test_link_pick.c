// SPDX-License-Identifier: GPL-2.0-only
/* Choice of the link that a connection sends over: proto/link_pick. */
#include "unit.h"
#include <smc/proto/link_pick.h>

#define LINKS 9

static void none(void)
{
	struct smc_link_load load[LINKS] = { { .usable = false } };
	int p;

	for (p = 0; p < SMC_LINK_POLICIES; p++) {
		CHECK_EQ(smc_link_pick(p, load, 0, 0), -1);
		CHECK_EQ(smc_link_pick(p, load, LINKS, 3), -1);
	}
}

/* Every policy picks the only usable link. */
static void single(void)
{
	struct smc_link_load load[LINKS] = { { .usable = false } };
	int p;

	load[4] = (struct smc_link_load){ true, 200, 1 << 20, 4000, false };
	for (p = 0; p < SMC_LINK_POLICIES; p++)
		CHECK_EQ(smc_link_pick(p, load, LINKS, 4), 4);
}

static void by_conns(void)
{
	struct smc_link_load load[3] = { { true, 3, 0, 1, false }, { true, 2, 9, 9, false },
					 { true, 2, 8, 8, false } };

	CHECK_EQ(smc_link_pick(SMC_LINK_BY_CONNS, load, 3, 0), 1);
	load[1].usable = false;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_CONNS, load, 3, 0), 2);
	load[2].conns = 4;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_CONNS, load, 3, 0), 0);
}

static void by_turn(void)
{
	struct smc_link_load load[4] = { { .usable = true, .conns = 9 }, { .conns = 0 },
					 { .usable = true }, { .usable = true, .conns = 5 } };

	CHECK_EQ(smc_link_pick(SMC_LINK_ROUND_ROBIN, load, 4, 0), 2);
	CHECK_EQ(smc_link_pick(SMC_LINK_ROUND_ROBIN, load, 4, 1), 2);
	CHECK_EQ(smc_link_pick(SMC_LINK_ROUND_ROBIN, load, 4, 2), 3);
	CHECK_EQ(smc_link_pick(SMC_LINK_ROUND_ROBIN, load, 4, 3), 0);
	CHECK_EQ(smc_link_pick(SMC_LINK_ROUND_ROBIN, load, 4, ~0U), 0);
}

static void by_bytes(void)
{
	struct smc_link_load load[3] = { { true, 0, 100, 0, false }, { true, 7, 99, 0, false },
					 { false, 0, 0, 0, false } };

	CHECK_EQ(smc_link_pick(SMC_LINK_BY_BYTES, load, 3, 0), 1);
	/* idle links: by connections */
	load[0].bytes = 0;
	load[1].bytes = 0;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_BYTES, load, 3, 0), 0);
	load[0].bytes = 1ULL << 33;
	load[1].bytes = (1ULL << 33) - 1;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_BYTES, load, 3, 0), 1);
}

static void by_latency(void)
{
	struct smc_link_load load[3] = { { true, 0, 0, 4000, false }, { true, 7, 0, 3000, false },
					 { false, 0, 0, 1, false } };

	CHECK_EQ(smc_link_pick(SMC_LINK_BY_LATENCY, load, 3, 0), 1);
	/* an eighth more counts as the same */
	load[0].latency = 3375;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_LATENCY, load, 3, 0), 0);
	load[0].latency = 3376;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_LATENCY, load, 3, 0), 1);
	/* a link that was not measured is tried */
	load[0].latency = 0;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_LATENCY, load, 3, 0), 0);
	load[1].latency = 0;
	load[0].conns = 8;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_LATENCY, load, 3, 0), 1);
	load[0].latency = ~0U;
	load[1].latency = ~0U;
	CHECK_EQ(smc_link_pick(SMC_LINK_BY_LATENCY, load, 3, 0), 1);
}

/* Spare links are picked while the first RNIC has none; of several the one with the fewest. */
static void first_rnic(void)
{
	struct smc_link_load load[4] = { { true, 0, 0, 1, false }, { true, 9, 9, 9, true },
					 { true, 8, 9, 9, true }, { true, 1, 0, 1, false } };

	CHECK_EQ(smc_link_pick(SMC_LINK_FIRST_RNIC, load, 4, 0), 2);
	load[2].usable = false;
	CHECK_EQ(smc_link_pick(SMC_LINK_FIRST_RNIC, load, 4, 0), 1);
	/* each connection moves back, and none away */
	CHECK_EQ(smc_link_pick_better(SMC_LINK_FIRST_RNIC, load, 4, 3), 1);
	CHECK_EQ(smc_link_pick_better(SMC_LINK_FIRST_RNIC, load, 4, 1), -1);
	CHECK_EQ(smc_link_pick_better(SMC_LINK_FIRST_RNIC, load, 4, 0), -1);
	load[1].usable = false;
	CHECK_EQ(smc_link_pick(SMC_LINK_FIRST_RNIC, load, 4, 0), 0);
	load[0].usable = false;
	CHECK_EQ(smc_link_pick(SMC_LINK_FIRST_RNIC, load, 4, 0), 3);
}

/* The picked link is usable, and no usable link is better. */
static void any(void)
{
	struct smc_link_load load[LINKS];
	int i, j, p, at;

	for (i = 0; i < 20000; i++) {
		for (j = 0; j < LINKS; j++)
			load[j] = (struct smc_link_load){ unit_below(2), unit_below(4),
							  unit_below(4), unit_below(40),
							  unit_below(2) };
		for (p = 0; p < SMC_LINK_POLICIES; p++) {
			at = smc_link_pick(p, load, LINKS, unit_below(20));
			for (j = 0; j < LINKS; j++) {
				if (!load[j].usable)
					continue;
				CHECK(at >= 0 && load[at].usable);
				CHECK(p != SMC_LINK_BY_CONNS || load[at].conns <= load[j].conns);
				CHECK(p != SMC_LINK_BY_BYTES || load[at].bytes <= load[j].bytes);
				CHECK(p != SMC_LINK_FIRST_RNIC || load[at].first >= load[j].first);
				CHECK(p != SMC_LINK_BY_LATENCY || !load[j].latency ||
				      load[at].latency <= load[j].latency + load[j].latency / 8);
			}
		}
	}
}

static void better(void)
{
	struct smc_link_load load[3] = { { true, 4, 0, 4000, false }, { true, 2, 0, 4000, false },
					 { false, 0, 0, 1, false } };
	int p;

	for (p = 0; p < SMC_LINK_POLICIES; p++) {
		CHECK_EQ(smc_link_pick_better(p, load, 3, 0), 1);
		CHECK_EQ(smc_link_pick_better(p, load, 3, 1), -1);
	}
	/* a difference of one connection causes no move */
	load[1].conns = 3;
	for (p = 0; p < SMC_LINK_POLICIES; p++)
		CHECK_EQ(smc_link_pick_better(p, load, 3, 0), -1);
	/* every connection moves off a slow link, whatever the other one carries, and none to it */
	load[1].conns = 90;
	load[0].latency = 9000;
	CHECK_EQ(smc_link_pick_better(SMC_LINK_BY_LATENCY, load, 3, 0), 1);
	CHECK_EQ(smc_link_pick_better(SMC_LINK_BY_LATENCY, load, 3, 1), -1);
	/* no connection to move, no link to move to */
	load[0].conns = 0;
	CHECK_EQ(smc_link_pick_better(SMC_LINK_BY_LATENCY, load, 3, 0), -1);
	CHECK_EQ(smc_link_pick_better(SMC_LINK_BY_CONNS, load, 0, 0), -1);
}

/* Repeated moves end, after at most as many as there are connections. */
static void better_ends(void)
{
	struct smc_link_load load[LINKS];
	u32 total, moves, from;
	int i, j, p, to;

	for (i = 0; i < 4000; i++) {
		p = unit_below(SMC_LINK_POLICIES);
		for (total = 0, j = 0; j < LINKS; j++) {
			load[j] = (struct smc_link_load){ unit_below(2), unit_below(30),
							  unit_below(3), unit_below(40),
							  unit_below(2) };
			total += load[j].conns;
		}
		for (moves = 0, from = 0; from < LINKS; from++) {
			while ((to = smc_link_pick_better(p, load, LINKS, from)) >= 0) {
				CHECK(load[to].usable && (u32)to != from);
				load[from].conns--;
				load[to].conns++;
				REQUIRE(++moves <= total);
			}
		}
	}
}

static void smooth(void)
{
	u32 l = smc_link_latency_smooth(0, 0);
	int i;

	CHECK_EQ(l, 1);
	CHECK_EQ(smc_link_latency_smooth(0, 1000), 1000);
	CHECK_EQ(smc_link_latency_smooth(1000, 1800), 1100);
	CHECK_EQ(smc_link_latency_smooth(1000, 200), 900);
	CHECK_EQ(smc_link_latency_smooth(0, 1ULL << 40), ~0U);
	CHECK_EQ(smc_link_latency_smooth(~0U, ~0ULL), ~0U);
	for (l = 1000000, i = 0; i < 200; i++)
		l = smc_link_latency_smooth(l, 100);
	CHECK(l >= 100 && l < 120);
}

static const struct unit_case cases[] = {
	UNIT_CASE(none),
	UNIT_CASE(single),
	UNIT_CASE(by_conns),
	UNIT_CASE(by_turn),
	UNIT_CASE(by_bytes),
	UNIT_CASE(by_latency),
	UNIT_CASE(first_rnic),
	UNIT_CASE(any),
	UNIT_CASE(better),
	UNIT_CASE(better_ends),
	UNIT_CASE(smooth),
};

UNIT_MAIN("link_pick", cases)
