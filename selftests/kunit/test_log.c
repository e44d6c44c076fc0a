// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: how many lines a namespace may log: base/log.c. */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <smc/base/log.h>

#include "suites.h"

#define BURST		16
#define INTERVAL	(5 * HZ)

/* Use up the lines of an interval that begins @now. */
static void log_use_up(struct kunit *test, struct smc_log_rate *rate, unsigned long now)
{
	unsigned int left_out = -1;

	for (int i = 0; i < BURST; i++) {
		KUNIT_EXPECT_TRUE(test, smc_log_rate_allows(rate, now + i, &left_out));
		if (i)
			KUNIT_EXPECT_EQ(test, left_out, 0);
	}
}

/* A burst, then nothing until the interval is over; then the number of lines that are missing. */
static void log_rate(struct kunit *test)
{
	/* also where jiffies wrap */
	unsigned long now = -INTERVAL / 2;
	struct smc_log_rate rate = {};
	unsigned int left_out = -1;

	log_use_up(test, &rate, now);
	KUNIT_EXPECT_FALSE(test, smc_log_rate_allows(&rate, now + BURST, &left_out));
	KUNIT_EXPECT_FALSE(test, smc_log_rate_allows(&rate, now + INTERVAL - 1, &left_out));
	now += INTERVAL;
	KUNIT_EXPECT_TRUE(test, smc_log_rate_allows(&rate, now, &left_out));
	KUNIT_EXPECT_EQ(test, left_out, 2);
	KUNIT_EXPECT_TRUE(test, smc_log_rate_allows(&rate, now, &left_out));
	KUNIT_EXPECT_EQ(test, left_out, 0);
}

/* What one namespace logs leaves the lines of another one alone. */
static void log_rates_apart(struct kunit *test)
{
	struct smc_log_rate noisy = {}, quiet = {};
	unsigned int left_out = -1;

	log_use_up(test, &noisy, 0);
	KUNIT_EXPECT_FALSE(test, smc_log_rate_allows(&noisy, BURST, &left_out));
	log_use_up(test, &quiet, BURST);
}

/* A namespace that was quiet for any time has all its lines, wherever jiffies are. */
static void log_rate_late(struct kunit *test)
{
	struct smc_log_rate rate = {};

	log_use_up(test, &rate, 0);
	log_use_up(test, &rate, LONG_MAX);
	log_use_up(test, &rate, ULONG_MAX - 2 * BURST);
}

static struct kunit_case log_cases[] = {
	KUNIT_CASE(log_rate),
	KUNIT_CASE(log_rates_apart),
	KUNIT_CASE(log_rate_late),
	{}
};

struct kunit_suite smc_log_suite = {
	.name = "smc_log",
	.test_cases = log_cases,
};
