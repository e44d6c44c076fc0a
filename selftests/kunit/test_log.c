// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: how many lines a namespace may log: base/log.c. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/user_namespace.h>
#include <smc/base/log.h>

#include "suites.h"

#define BURST		16
#define CONTAINERS	64	/* lines of all containers */
#define INTERVAL	5000	/* ms */

/* Use up the lines of an interval. */
static void log_use_up(struct kunit *test, struct smc_log_limit *limit)
{
	for (int i = 0; i < BURST; i++)
		KUNIT_EXPECT_TRUE(test, smc_log_limit_allows(limit));
	KUNIT_EXPECT_FALSE(test, smc_log_limit_allows(limit));
}

/* A burst, then nothing until the interval is over; then all lines again. */
static void log_limit(struct kunit *test)
{
	struct smc_log_limit limit;

	smc_log_limit_init(&limit, 1);
	KUNIT_EXPECT_STREQ(test, limit.name, "smc: namespace 1");
	log_use_up(test, &limit);
	msleep(INTERVAL / 2);
	KUNIT_EXPECT_FALSE(test, smc_log_limit_allows(&limit));
	msleep(INTERVAL / 2 + 20);
	log_use_up(test, &limit);
}

/* What one namespace logs leaves the lines of another one alone. */
static void log_limits_apart(struct kunit *test)
{
	struct smc_log_limit noisy, quiet;

	smc_log_limit_init(&noisy, 1);
	smc_log_limit_init(&quiet, UINT_MAX);
	KUNIT_EXPECT_STREQ(test, quiet.name, "smc: namespace 4294967295");
	log_use_up(test, &noisy);
	log_use_up(test, &quiet);
}

/*
 * Who makes many namespaces has as many limits, but no more lines than the containers together, and
 * leaves those of the host alone.
 */
static void log_limit_containers(struct kunit *test)
{
	struct user_namespace *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct smc_log_limit host;
	int lines = 0;

	KUNIT_ASSERT_NOT_NULL(test, other);
	for (int n = 0; n <= CONTAINERS / BURST; n++) {
		struct smc_log_limit limit;

		smc_log_limit_init(&limit, n);
		for (int i = 0; i < BURST; i++)
			lines += smc_log_allows(&limit, other);
	}
	KUNIT_EXPECT_EQ(test, lines, CONTAINERS);
	smc_log_limit_init(&host, 1);
	for (int i = 0; i < BURST; i++)
		KUNIT_EXPECT_TRUE(test, smc_log_allows(&host, &init_user_ns));
	KUNIT_EXPECT_FALSE(test, smc_log_allows(&host, &init_user_ns));
}

static struct kunit_case log_cases[] = {
	KUNIT_CASE(log_limit),
	KUNIT_CASE(log_limits_apart),
	KUNIT_CASE(log_limit_containers),
	{}
};

struct kunit_suite smc_log_suite = {
	.name = "smc_log",
	.test_cases = log_cases,
};
