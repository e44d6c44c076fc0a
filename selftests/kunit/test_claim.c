// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: exclusive claims of RMBEs and alert tokens (lgr/rtoken.c). */
#include <kunit/test.h>
#include <smc/lgr/lgr.h>

#include "suites.h"

#define KIB	1024U

static int claim_init(struct kunit *test)
{
	struct smc_lgr *lgr = kunit_kzalloc(test, sizeof(*lgr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, lgr);
	/* the only member that the tested functions use */
	smc_claim_init_list(&lgr->rmbe_claims);
	test->priv = lgr;
	return 0;
}

static void claim_fill(struct smc_claim *claim, int rtoken, u64 off, u32 size, u32 token)
{
	*claim = (struct smc_claim){ .rtoken = rtoken, .off = off, .size = size, .token = token };
	INIT_LIST_HEAD(&claim->entry);
}

/* Against a claim of the second of four elements of 16 KiB in RMB 1. */
static void claim_memory(struct kunit *test)
{
	static const struct {
		int rtoken;
		u64 off;
		u32 size;
		int rc;
	} others[] = {
		{ 1, 16 * KIB, 16 * KIB, -EADDRINUSE },
		{ 1, 0, 16 * KIB, 0 },
		{ 1, 32 * KIB, 16 * KIB, 0 },
		{ 1, 0, 32 * KIB, -EADDRINUSE },	/* ends in it */
		{ 1, 0, 16 * KIB + 1, -EADDRINUSE },
		{ 1, 32 * KIB - 1, 16 * KIB, -EADDRINUSE },
		{ 1, 0, 64 * KIB, -EADDRINUSE },	/* contains it */
		{ 1, 20 * KIB, KIB, -EADDRINUSE },	/* inside it */
		{ 2, 16 * KIB, 16 * KIB, 0 },
		{ 0, 0, 64 * KIB, 0 },
	};
	struct smc_claim first, other;
	struct smc_lgr *lgr = test->priv;
	size_t i;

	claim_fill(&first, 1, 16 * KIB, 16 * KIB, 100);
	KUNIT_ASSERT_EQ(test, smc_claim_begin(lgr, &first), 0);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		claim_fill(&other, others[i].rtoken, others[i].off, others[i].size, i);
		KUNIT_EXPECT_EQ_MSG(test, smc_claim_begin(lgr, &other), others[i].rc, "%zu", i);
		KUNIT_EXPECT_EQ(test, list_empty(&other.entry), others[i].rc != 0);
		smc_claim_end(lgr, &other);
	}
	smc_claim_end(lgr, &first);
	KUNIT_EXPECT_TRUE(test, list_empty(&lgr->rmbe_claims.list));
}

/* A token belongs to one connection, whatever memory it writes. */
static void claim_token(struct kunit *test)
{
	struct smc_claim first, other;
	struct smc_lgr *lgr = test->priv;

	claim_fill(&first, 1, 0, 16 * KIB, 0);
	claim_fill(&other, 2, 0, 16 * KIB, 0);
	KUNIT_ASSERT_EQ(test, smc_claim_begin(lgr, &first), 0);
	KUNIT_EXPECT_EQ(test, smc_claim_begin(lgr, &other), -EADDRINUSE);
	other.token = U32_MAX;
	KUNIT_EXPECT_EQ(test, smc_claim_begin(lgr, &other), 0);
	smc_claim_end(lgr, &first);
	smc_claim_end(lgr, &other);
}

/* Ending a claim twice does not end the claim of another connection. */
static void claim_ends(struct kunit *test)
{
	struct smc_claim first, other;
	struct smc_lgr *lgr = test->priv;

	claim_fill(&first, 1, 0, 16 * KIB, 1);
	claim_fill(&other, 1, 0, 16 * KIB, 1);
	smc_claim_end(lgr, &first);
	KUNIT_ASSERT_EQ(test, smc_claim_begin(lgr, &first), 0);
	KUNIT_EXPECT_EQ(test, smc_claim_begin(lgr, &other), -EADDRINUSE);
	smc_claim_end(lgr, &other);
	KUNIT_EXPECT_EQ(test, smc_claim_begin(lgr, &other), -EADDRINUSE);
	smc_claim_end(lgr, &first);
	KUNIT_EXPECT_EQ(test, smc_claim_begin(lgr, &other), 0);
	smc_claim_end(lgr, &first);
	KUNIT_EXPECT_FALSE(test, list_empty(&lgr->rmbe_claims.list));
	smc_claim_end(lgr, &other);
	KUNIT_EXPECT_TRUE(test, list_empty(&lgr->rmbe_claims.list));
}

static struct kunit_case claim_cases[] = {
	KUNIT_CASE(claim_memory),
	KUNIT_CASE(claim_token),
	KUNIT_CASE(claim_ends),
	{ }
};

struct kunit_suite smc_claim_suite = {
	.name = "smc_claim",
	.init = claim_init,
	.test_cases = claim_cases,
};
