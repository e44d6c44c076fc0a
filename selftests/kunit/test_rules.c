// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: which rule of base/rules.c decides, and what stays open while one end is unknown. */
#include <kunit/test.h>
#include <linux/inet.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/rules.h>

#include "suites.h"

static struct in6_addr addr_in6(struct kunit *test, const char *text)
{
	struct in6_addr addr = {};
	__be32 v4;

	if (!*text)
		return addr;
	if (in4_pton(text, -1, (u8 *)&v4, -1, NULL))
		ipv6_addr_set_v4mapped(v4, &addr);
	else
		KUNIT_EXPECT_EQ(test, in6_pton(text, -1, addr.s6_addr, -1, NULL), 1);
	return addr;
}

/* @plen as administrators write it: of 32 bits for IPv4. */
static struct smc_rule_end end_of(struct kunit *test, const char *addr, u8 plen, u16 port,
				  u16 last)
{
	struct smc_rule_end e = { .addr = addr_in6(test, addr), .port = port, .last = last };

	if (*addr)
		e.plen = ipv6_addr_v4mapped(&e.addr) ? plen + 96 : plen;
	return e;
}

static struct smc_rule_end end_any(void)
{
	return (struct smc_rule_end){ .last = U16_MAX };
}

static int rule_add(u32 num, bool deny, struct smc_rule_end local, struct smc_rule_end remote)
{
	struct smc_rule rule = { .num = num, .deny = deny, .local = local, .remote = remote };

	return smc_rules_add(&init_net, &rule);
}

static bool path_denied(struct kunit *test, const char *laddr, u16 lport, const char *raddr,
			u16 rport)
{
	struct smc_rules_path path = {
		.local = { .addr = addr_in6(test, laddr), .port = lport },
		.remote = { .addr = addr_in6(test, raddr), .port = rport },
	};

	return smc_rules_check_deny(&init_net, &path, true);
}

static u64 rule_hits(u32 num)
{
	struct smc_rule rule;
	u64 n;

	return smc_rules_get(&init_net, num, &rule, &n) && rule.num == num ? n : U64_MAX;
}

static void rules_exit(struct kunit *test)
{
	smc_rules_flush(&init_net);
}

static void rules_prefix(struct kunit *test)
{
	/* One rule per prefix: the last significant bit counts, later ones do not. */
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(),
					  end_of(test, "10.1.0.0", 16, 0, U16_MAX)));
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(),
					  end_of(test, "fd00:8000::", 17, 0, U16_MAX)));
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_of(test, "10.9.9.9", 32, 0, U16_MAX),
					  end_any()));
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(),
					  end_of(test, "8000::", 1, 0, U16_MAX)));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.1", 1, "10.1.255.255", 2));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.0.0.1", 1, "10.2.0.0", 2));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.1.0.1", 1, "10.0.0.1", 2));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "fd01::1", 1, "fd00:8000::1", 2));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.9.9.9", 1, "10.0.0.1", 2));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.9.9.8", 1, "10.0.0.1", 2));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "::1", 1, "ffff::1", 2));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "::1", 1, "7fff::1", 2));
	KUNIT_EXPECT_EQ(test, rule_hits(10), 1);
	KUNIT_EXPECT_EQ(test, rule_hits(20), 1);
	KUNIT_EXPECT_EQ(test, rule_hits(30), 1);
	KUNIT_EXPECT_EQ(test, rule_hits(40), 1);
}

/* A short IPv6 prefix does not match IPv4 addresses, nor the other way round. */
static void rules_families(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(),
					  end_of(test, "0.0.0.0", 0, 0, U16_MAX)));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.1", 1, "10.0.0.2", 2));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "::1", 1, "::2", 2));
	smc_rules_flush(&init_net);
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(), end_of(test, "::", 1, 0, U16_MAX)));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.0.0.1", 1, "10.0.0.2", 2));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "::1", 1, "::2", 2));
}

static void rules_ports(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_of(test, "", 0, 80, 80), end_any()));
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(), end_of(test, "", 0, 8000, U16_MAX)));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "::1", 80, "::2", 1));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "::1", 79, "::2", 80));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "::1", 81, "::2", 7999));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "::1", 81, "::2", 8000));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "::1", 81, "::2", U16_MAX));
}

static void rules_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rule_add(30, true, end_any(), end_any()));
	KUNIT_EXPECT_EQ(test, 0, rule_add(10, true, end_any(), end_of(test, "10.0.0.0", 8, 1, 9)));
	KUNIT_EXPECT_EQ(test, 0, rule_add(20, false, end_any(),
					  end_of(test, "10.0.0.0", 8, 0, U16_MAX)));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.1", 1, "10.0.0.2", 9));
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.0.0.1", 1, "10.0.0.2", 10));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.1", 1, "11.0.0.2", 10));
	KUNIT_EXPECT_EQ(test, rule_hits(10), 1);
	KUNIT_EXPECT_EQ(test, rule_hits(20), 1);
	KUNIT_EXPECT_EQ(test, rule_hits(30), 1);
	KUNIT_EXPECT_EQ(test, smc_rules_del(&init_net, 20), 0);
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.1", 1, "10.0.0.2", 10));
	KUNIT_EXPECT_EQ(test, smc_rules_del(&init_net, 20), -ENOENT);
}

/* A rule that needs an unknown value leaves the decision open, whatever rules follow. */
static void rules_open(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, false, end_of(test, "10.0.0.1", 32, 0, U16_MAX),
					  end_of(test, "", 0, 443, 443)));
	KUNIT_EXPECT_EQ(test, 0, rule_add(0, true, end_any(), end_any()));
	/* An unknown value matters. */
	KUNIT_EXPECT_FALSE(test, path_denied(test, "", 0, "10.0.0.2", 443));
	KUNIT_EXPECT_EQ(test, rule_hits(10), 0);
	KUNIT_EXPECT_EQ(test, rule_hits(20), 0);
	/* An unknown value does not matter. */
	KUNIT_EXPECT_TRUE(test, path_denied(test, "", 0, "10.0.0.2", 444));
	KUNIT_EXPECT_EQ(test, rule_hits(20), 1);
	/* Listener: the peer is unknown. */
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.0.0.1", 80, "", 0));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.3", 80, "", 0));
	/* All values are known. */
	KUNIT_EXPECT_FALSE(test, path_denied(test, "10.0.0.1", 80, "10.0.0.2", 443));
	KUNIT_EXPECT_TRUE(test, path_denied(test, "10.0.0.3", 80, "10.0.0.2", 443));
	KUNIT_EXPECT_EQ(test, rule_hits(10), 1);
}

static void rules_limits(struct kunit *test)
{
	struct smc_rule rule;
	u64 n;
	u32 i;

	KUNIT_EXPECT_EQ(test, -EINVAL, rule_add(0, true, end_any(), end_of(test, "", 0, 9, 8)));
	KUNIT_EXPECT_EQ(test, -EINVAL, rule_add(0, true, end_of(test, "::", 129, 0, U16_MAX),
						end_any()));
	KUNIT_EXPECT_FALSE(test, smc_rules_get(&init_net, 0, &rule, &n));
	for (i = 0; i < SMC_RULES_MAX; i++)
		KUNIT_ASSERT_EQ(test, 0, rule_add(0, true, end_any(), end_any()));
	KUNIT_EXPECT_EQ(test, -ENOSPC, rule_add(0, true, end_any(), end_any()));
	KUNIT_EXPECT_EQ(test, -EEXIST, rule_add(10, true, end_any(), end_any()));
	KUNIT_EXPECT_EQ(test, 0, smc_rules_del(&init_net, 10));
	KUNIT_EXPECT_EQ(test, 0, rule_add(U32_MAX, true, end_any(), end_any()));
	KUNIT_EXPECT_EQ(test, 0, smc_rules_del(&init_net, 20));
	/* No number is left after the last one. */
	KUNIT_EXPECT_EQ(test, -ENOSPC, rule_add(0, true, end_any(), end_any()));
	/* Same if a rule has the number that an overflow would produce. */
	KUNIT_EXPECT_EQ(test, 0, rule_add(9, true, end_any(), end_any()));
	KUNIT_EXPECT_EQ(test, 0, smc_rules_del(&init_net, 30));
	KUNIT_EXPECT_EQ(test, -ENOSPC, rule_add(0, true, end_any(), end_any()));
	KUNIT_EXPECT_TRUE(test, smc_rules_get(&init_net, 31, &rule, &n));
	KUNIT_EXPECT_EQ(test, rule.num, 40);
}

static struct kunit_case rules_cases[] = {
	KUNIT_CASE(rules_prefix),
	KUNIT_CASE(rules_families),
	KUNIT_CASE(rules_ports),
	KUNIT_CASE(rules_first),
	KUNIT_CASE(rules_open),
	KUNIT_CASE(rules_limits),
	{ }
};

struct kunit_suite smc_rules_suite = {
	.name = "smc_rules",
	.exit = rules_exit,
	.test_cases = rules_cases,
};
