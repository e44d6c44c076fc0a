// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: which connections an entry of handshake/negcache.c concerns. Times: cases/negcache.sh. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/handshake/negcache.h>

#include "suites.h"

#define WHY_HOST	1
#define WHY_PORT	2
#define PERIOD_MIN	30000	/* ms */

static struct in6_addr host_addr(u32 n)
{
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(htonl(0x0a000000 + n), &addr);
	return addr;
}

static u32 check(const struct in6_addr *addr, u16 port)
{
	return smc_negcache_check(&init_net, addr, port);
}

static void negcache_port(struct kunit *test)
{
	struct in6_addr a = host_addr(1), b = host_addr(2);

	smc_negcache_add(&init_net, &a, 80, WHY_PORT);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	KUNIT_EXPECT_EQ(test, check(&a, 81), 0);
	KUNIT_EXPECT_EQ(test, check(&b, 80), 0);
	/* a success of another program of that host says nothing about this one */
	smc_negcache_del(&init_net, &a, 81);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	smc_negcache_del(&init_net, &a, 80);
	KUNIT_EXPECT_EQ(test, check(&a, 80), 0);
}

static void negcache_host(struct kunit *test)
{
	struct in6_addr a = host_addr(1), b = host_addr(2);

	smc_negcache_add(&init_net, &a, 0, WHY_HOST);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_HOST);
	KUNIT_EXPECT_EQ(test, check(&a, 81), WHY_HOST);
	KUNIT_EXPECT_EQ(test, check(&b, 80), 0);
	smc_negcache_add(&init_net, &a, 80, WHY_PORT);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	KUNIT_EXPECT_EQ(test, check(&a, 81), WHY_HOST);
	/* a success over any port proves that the host can be reached */
	smc_negcache_del(&init_net, &a, 81);
	KUNIT_EXPECT_EQ(test, check(&a, 81), 0);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	smc_negcache_del(&init_net, &a, 80);
	KUNIT_EXPECT_EQ(test, check(&a, 80), 0);
}

/* Nobody is the probe of a server that is unknown, or whose time is not over. */
static void negcache_no_probe(struct kunit *test)
{
	struct in6_addr a = host_addr(1);

	KUNIT_EXPECT_FALSE(test, smc_negcache_begin(&init_net, &a, 80));
	smc_negcache_add(&init_net, &a, 80, WHY_PORT);
	KUNIT_EXPECT_FALSE(test, smc_negcache_begin(&init_net, &a, 80));
	/* the probe of an entry that was removed, and added by another connection */
	smc_negcache_end(&init_net, &a, 80, true);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	smc_negcache_del(&init_net, &a, 80);
	smc_negcache_end(&init_net, &a, 80, true);
	KUNIT_EXPECT_EQ(test, check(&a, 80), 0);
}

/*
 * A probe without a result: another one may follow at once, or all wait for the time of a probe.
 * The host and the port have an entry each.
 */
static void negcache_probe_again(struct kunit *test)
{
	struct in6_addr a = host_addr(1);

	smc_negcache_add(&init_net, &a, 0, WHY_HOST);
	smc_negcache_add(&init_net, &a, 80, WHY_PORT);
	msleep(PERIOD_MIN + 100);
	KUNIT_EXPECT_EQ(test, check(&a, 80), 0);
	KUNIT_EXPECT_TRUE(test, smc_negcache_begin(&init_net, &a, 80));
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	smc_negcache_end(&init_net, &a, 80, true);
	KUNIT_EXPECT_EQ(test, check(&a, 80), 0);
	KUNIT_EXPECT_TRUE(test, smc_negcache_begin(&init_net, &a, 80));
	smc_negcache_end(&init_net, &a, 80, false);
	KUNIT_EXPECT_EQ(test, check(&a, 80), WHY_PORT);
	KUNIT_EXPECT_EQ(test, check(&a, 81), WHY_HOST);
	KUNIT_EXPECT_FALSE(test, smc_negcache_begin(&init_net, &a, 80));
	smc_negcache_del(&init_net, &a, 80);
	KUNIT_EXPECT_EQ(test, check(&a, 81), 0);
}

static void negcache_full(struct kunit *test)
{
	struct in6_addr first = host_addr(1), last = host_addr(SMC_NEGCACHE_MAX + 1), addr;
	u32 n;

	for (n = 1; n <= SMC_NEGCACHE_MAX + 1; n++) {
		addr = host_addr(n);
		smc_negcache_add(&init_net, &addr, 0, WHY_HOST);
	}
	KUNIT_EXPECT_EQ(test, check(&first, 80), 0);
	KUNIT_EXPECT_EQ(test, check(&last, 80), WHY_HOST);
	for (n = 1; n <= SMC_NEGCACHE_MAX + 1; n++) {
		addr = host_addr(n);
		smc_negcache_del(&init_net, &addr, 80);
	}
	KUNIT_EXPECT_EQ(test, check(&last, 80), 0);
}

static struct kunit_case negcache_cases[] = {
	KUNIT_CASE(negcache_port),
	KUNIT_CASE(negcache_host),
	KUNIT_CASE(negcache_no_probe),
	KUNIT_CASE_SLOW(negcache_probe_again),
	KUNIT_CASE(negcache_full),
	{ }
};

struct kunit_suite smc_negcache_suite = {
	.name = "smc_negcache",
	.test_cases = negcache_cases,
};
