// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: how many GIDs a host may name that cannot be resolved. Places: cases/load.sh. */
#include <kunit/test.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/handshake/admission.h>

#include "suites.h"

#define UNRESOLVED	16
#define RESOLVING	64

static u64 host_id(u32 n)
{
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(htonl(0x0a000000 + n), &addr);
	return smc_admission_host(&addr);
}

/* GIDs that nobody answers for, as many as a host may name. */
static void admission_unresolved(struct kunit *test)
{
	u64 host = host_id(1), other = host_id(2);
	int i;

	/* any number of those that are resolved */
	for (i = 0; i < 2 * UNRESOLVED; i++) {
		KUNIT_ASSERT_TRUE(test, smc_admission_begin_resolve(&init_net, host));
		smc_admission_end_resolve(&init_net, host, true);
	}
	for (i = 0; i < UNRESOLVED; i++) {
		KUNIT_ASSERT_TRUE(test, smc_admission_begin_resolve(&init_net, host));
		smc_admission_end_resolve(&init_net, host, false);
	}
	KUNIT_EXPECT_FALSE(test, smc_admission_begin_resolve(&init_net, host));
	/* another host */
	KUNIT_EXPECT_TRUE(test, smc_admission_begin_resolve(&init_net, other));
	smc_admission_end_resolve(&init_net, other, true);
}

/* Look-ups at once; one that ends makes room for one. */
static void admission_resolving(struct kunit *test)
{
	u64 host = host_id(3), other = host_id(4);
	int i;

	for (i = 0; i < RESOLVING; i++)
		KUNIT_EXPECT_TRUE(test, smc_admission_begin_resolve(&init_net, host));
	KUNIT_EXPECT_FALSE(test, smc_admission_begin_resolve(&init_net, host));
	KUNIT_EXPECT_TRUE(test, smc_admission_begin_resolve(&init_net, other));
	smc_admission_end_resolve(&init_net, other, true);
	smc_admission_end_resolve(&init_net, host, true);
	KUNIT_EXPECT_TRUE(test, smc_admission_begin_resolve(&init_net, host));
	for (i = 0; i < RESOLVING; i++)
		smc_admission_end_resolve(&init_net, host, true);
}

static struct kunit_case admission_cases[] = {
	KUNIT_CASE(admission_unresolved),
	KUNIT_CASE(admission_resolving),
	{ }
};

struct kunit_suite smc_admission_suite = {
	.name = "smc_admission",
	.test_cases = admission_cases,
};
