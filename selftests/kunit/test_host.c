// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: what one peer host may take: groups and memory. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>

#include "suites.h"

#define MAX_KB		(8 * 1024)
#define SHARE		(SZ_8M / 8)

/**
 * struct host_test - state of a case
 * @mem_max: setting of the machine, restored at the end
 * @groups: setting of the namespace, restored at the end
 */
struct host_test {
	unsigned int mem_max;
	unsigned int groups;
};

static int host_init(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct host_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->mem_max = smc_host_mem_max;
	t->groups = sn->host_groups;
	smc_host_mem_max = MAX_KB;
	test->priv = t;
	return 0;
}

static void host_exit(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct host_test *t = test->priv;

	if (!t)
		return;
	smc_host_mem_max = t->mem_max;
	sn->host_groups = t->groups;
	sn->host_mem = 0;
	KUNIT_EXPECT_EQ(test, sn->mem_bytes, 0);
}

static struct smc_host *host_get_ipv4(struct kunit *test, u32 n)
{
	struct smc_host *host;
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(htonl(0x0a000000 + n), &addr);
	host = smc_host_get(&init_net, &addr);
	KUNIT_ASSERT_NOT_NULL(test, host);
	return host;
}

static struct smc_host *host_get_ipv6(struct kunit *test, u8 net, u8 id)
{
	struct in6_addr addr = { .s6_addr = { 0xfd, [7] = net, [15] = id } };
	struct smc_host *host = smc_host_get(&init_net, &addr);

	KUNIT_ASSERT_NOT_NULL(test, host);
	return host;
}

/* An address is a host; the hosts of an IPv6 /64 have that in common. */
static void host_identity(struct kunit *test)
{
	struct smc_host *a = host_get_ipv4(test, 1), *b = host_get_ipv4(test, 1);
	struct smc_host *c = host_get_ipv4(test, 2), *d = host_get_ipv6(test, 1, 1);
	struct smc_host *e = host_get_ipv6(test, 1, 2), *f = host_get_ipv6(test, 2, 1);

	KUNIT_EXPECT_PTR_EQ(test, a, b);
	KUNIT_EXPECT_PTR_NE(test, a, c);
	KUNIT_EXPECT_PTR_NE(test, d, e);
	KUNIT_EXPECT_PTR_EQ(test, d->subnet, e->subnet);
	KUNIT_EXPECT_NOT_NULL(test, d->subnet);
	KUNIT_EXPECT_PTR_NE(test, d->subnet, f->subnet);
	KUNIT_EXPECT_NULL(test, a->subnet);
	smc_host_put(a);
	a = host_get_ipv4(test, 1);
	KUNIT_EXPECT_PTR_EQ(test, a, b);
	smc_host_put(a);
	smc_host_put(b);
	smc_host_put(c);
	smc_host_put(d);
	smc_host_put(e);
	smc_host_put(f);
}

static void host_groups(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct smc_host *host = host_get_ipv4(test, 1), *other = host_get_ipv4(test, 2);
	int i;

	sn->host_groups = 2;
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(host));
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(host));
	KUNIT_EXPECT_FALSE(test, smc_host_add_lgr(host));
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(other));
	/* a group that ends makes room at once */
	smc_host_end_lgr(host);
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(host));
	/* but a host cannot pile up groups that end, and none ends for a new one then */
	KUNIT_EXPECT_TRUE(test, smc_host_may_evict(host));
	smc_host_end_lgr(host);
	KUNIT_EXPECT_FALSE(test, smc_host_may_evict(host));
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(host));
	smc_host_end_lgr(host);
	KUNIT_EXPECT_FALSE(test, smc_host_add_lgr(host));
	smc_host_del_lgr(host);
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(host));
	sn->host_groups = 1;
	KUNIT_EXPECT_FALSE(test, smc_host_may_evict(host));
	sn->host_groups = 0;
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(host));
	for (i = 0; i < 3; i++)
		smc_host_end_lgr(host);
	for (i = 0; i < 5; i++)
		smc_host_del_lgr(host);
	smc_host_end_lgr(other);
	smc_host_del_lgr(other);
	smc_host_put(host);
	smc_host_put(other);
}

/* The hosts of a /64 get what four hosts get, whoever of them asks first. */
static void host_subnet(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct smc_host *hosts[6];
	int i;

	sn->host_groups = 1;
	for (i = 0; i < 6; i++) {
		hosts[i] = host_get_ipv6(test, i < 5 ? 1 : 2, i);
		KUNIT_EXPECT_EQ(test, smc_host_add_lgr(hosts[i]), i != 4);
		KUNIT_EXPECT_EQ(test, smc_host_charge(hosts[i], SHARE, 0), i != 4 ? 0 : -EUSERS);
	}
	/* no group ends for a new one while as many of the /64 are ending as it may have */
	KUNIT_EXPECT_TRUE(test, smc_host_may_evict(hosts[0]));
	for (i = 1; i < 4; i++)
		smc_host_end_lgr(hosts[i]);
	KUNIT_EXPECT_TRUE(test, smc_host_add_lgr(hosts[4]));
	smc_host_end_lgr(hosts[4]);
	KUNIT_EXPECT_FALSE(test, smc_host_may_evict(hosts[0]));
	for (i = 0; i < 6; i++) {
		if (i == 4) {
			smc_host_del_lgr(hosts[i]);
		} else if (i && i < 4) {
			smc_host_del_lgr(hosts[i]);
			smc_host_uncharge(hosts[i], SHARE);
		} else {
			smc_host_end_lgr(hosts[i]);
			smc_host_del_lgr(hosts[i]);
			smc_host_uncharge(hosts[i], SHARE);
		}
		smc_host_put(hosts[i]);
	}
}

/* A host gets an eighth of the limit, or what the administrator grants. */
static void host_share(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct smc_host *host = host_get_ipv4(test, 1), *other = host_get_ipv4(test, 2);

	KUNIT_EXPECT_EQ(test, smc_host_charge(host, SHARE, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, 1, 0), -EUSERS);
	KUNIT_EXPECT_EQ(test, smc_host_charge(other, SHARE, 0), 0);
	sn->host_mem = 2 * SHARE / 1024;
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, SHARE, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, 1, 0), -EUSERS);
	/* below what the host has: nothing more, and nothing is taken away */
	sn->host_mem = 16;
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, 1, 0), -EUSERS);
	sn->host_mem = 0;
	smc_host_uncharge(host, SHARE + 1);
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, 1, 0), -EUSERS);
	smc_host_uncharge(host, SHARE / 2);
	/* as much as is taken must be left */
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, SHARE / 4 + 1, SHARE / 4), -EUSERS);
	KUNIT_EXPECT_EQ(test, smc_host_charge(host, SHARE / 4, SHARE / 4), 0);
	smc_host_uncharge(host, SHARE - SHARE / 4);
	smc_host_uncharge(other, SHARE);
	smc_host_put(host);
	smc_host_put(other);
}

/* Memory that connections can do without: half of each limit stays free. */
static void host_extra(struct kunit *test)
{
	struct smc_host *hosts[8];
	int i;

	for (i = 0; i < 8; i++) {
		hosts[i] = host_get_ipv4(test, i);
		KUNIT_EXPECT_EQ(test, smc_host_charge_extra(hosts[i], SHARE / 2 + 1), -EUSERS);
		/* the hosts of one namespace: half of what it may have beside what it leaves */
		KUNIT_EXPECT_EQ(test, smc_host_charge_extra(hosts[i], SHARE / 2), 0);
		KUNIT_EXPECT_EQ(test, smc_host_charge_extra(hosts[i], 1), -EUSERS);
	}
	smc_host_uncharge(hosts[0], SHARE / 2);
	KUNIT_EXPECT_EQ(test, smc_host_charge(hosts[1], SHARE / 2, 0), 0);
	/* the host has nothing, but the machine has given half of what it may */
	KUNIT_EXPECT_EQ(test, smc_host_charge_extra(hosts[0], 1), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, smc_host_charge(hosts[0], SHARE / 2, 0), 0);
	smc_host_uncharge(hosts[1], SHARE / 2);
	for (i = 0; i < 8; i++) {
		smc_host_uncharge(hosts[i], SHARE / 2);
		smc_host_put(hosts[i]);
	}
}

/* All hosts of a namespace: three quarters of the limit; without a limit as much as they want. */
static void host_sum(struct kunit *test)
{
	struct smc_host *hosts[8];
	int i;

	for (i = 0; i < 8; i++) {
		hosts[i] = host_get_ipv4(test, i);
		KUNIT_EXPECT_EQ(test, smc_host_charge(hosts[i], SHARE, 0), i < 6 ? 0 : -ENOBUFS);
	}
	smc_host_mem_max = 0;
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, smc_host_charge(hosts[i], SZ_1G, 0), 0);
		smc_host_uncharge(hosts[i], i < 6 ? SZ_1G + SHARE : SZ_1G);
		smc_host_put(hosts[i]);
	}
}

static struct kunit_case host_cases[] = {
	KUNIT_CASE(host_identity),
	KUNIT_CASE(host_groups),
	KUNIT_CASE(host_subnet),
	KUNIT_CASE(host_share),
	KUNIT_CASE(host_extra),
	KUNIT_CASE(host_sum),
	{ }
};

struct kunit_suite smc_host_suite = {
	.name = "smc_host",
	.init = host_init,
	.exit = host_exit,
	.test_cases = host_cases,
};
