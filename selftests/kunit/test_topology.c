// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: how a group distinguishes the RNICs of its links (lgr/topology.c). */
#include <linux/etherdevice.h>
#include <linux/string.h>
#include <smc/lgr/lgr.h>

#include "lgr_env.h"
#include "suites.h"

/**
 * struct topology_test - the environment of one case
 * @first: first link of the group, with a reference
 * @own: its device
 * @other: another local device
 * @gid: GID of the peer's RNIC
 * @mac: MAC of the peer's RNIC
 * @to: the peer's end of a further link
 */
struct topology_test {
	struct smc_link *first;
	struct smc_ib_device *own;
	struct smc_ib_device *other;
	u8 gid[SMC_GID_LEN];
	u8 mac[ETH_ALEN];
	struct smc_peer_rnic to;
};

static struct smc_lgr *topology_begin(struct kunit *test, struct topology_test *e, bool direct)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;

	env->second_fake = fake_ib_create(test);
	e->first = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, e->first);
	e->own = env->fake->sdev;
	e->other = env->second_fake->sdev;
	eth_random_addr(e->mac);
	memcpy(e->first->peer_mac, e->mac, sizeof(e->mac));
	e->first->direct = direct;
	memcpy(e->gid, e->first->peer_gid.raw, sizeof(e->gid));
	e->to.gid = e->gid;
	e->to.mac = e->mac;
	return lgr;
}

/* An RNIC of the peer under another GID is recognized by its MAC. */
static void topology_other_gid(struct kunit *test)
{
	struct topology_test e;
	struct smc_lgr *lgr = topology_begin(test, &e, true);

	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_PARALLEL);
	e.gid[15]++;
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_PARALLEL);
	KUNIT_EXPECT_EQ(test, smc_topology_rate_port(lgr, e.own, 1, &e.to), 0);
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.other, 1, &e.to), SMC_LINK_FIT_ASYM);
	KUNIT_EXPECT_EQ(test, smc_topology_rate_port(lgr, e.other, 1, &e.to), 1);
	/* another port of the same device is another RNIC */
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 2, &e.to), SMC_LINK_FIT_ASYM);
	/* so is another MAC of the peer */
	e.mac[5]++;
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_ASYM);
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.other, 1, &e.to), SMC_LINK_FIT_SYM);
	KUNIT_EXPECT_EQ(test, smc_topology_rate_port(lgr, e.other, 1, &e.to), 3);
	smc_link_put(e.first);
}

/* Behind a gateway the MAC is that of the gateway: RNICs differ by their GIDs alone. */
static void topology_gateway(struct kunit *test)
{
	struct topology_test e;
	struct smc_lgr *lgr = topology_begin(test, &e, false);

	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_PARALLEL);
	e.gid[15]++;
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_ASYM);
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.other, 1, &e.to), SMC_LINK_FIT_SYM);
	smc_link_put(e.first);
}

/* The type of a group follows the same rules; a failed link does not count. */
static void topology_asymmetric(struct kunit *test)
{
	struct topology_test e;
	struct smc_lgr *lgr = topology_begin(test, &e, true);
	struct smc_link *second = env_add_link(test, lgr);

	KUNIT_EXPECT_EQ(test, smc_topology_get_type(lgr), SMC_LINKS_SINGLE);
	env_bring_up(test, second);
	second->direct = true;
	memcpy(second->peer_mac, e.mac, sizeof(e.mac));
	second->peer_mac[5]++;
	second->peer_gid.raw[15]++;
	KUNIT_EXPECT_EQ(test, smc_topology_get_type(lgr), SMC_LINKS_ASYM_LOCAL);
	KUNIT_EXPECT_TRUE(test, smc_topology_uses_port(lgr, e.own, 1));
	KUNIT_EXPECT_FALSE(test, smc_topology_uses_port(lgr, e.other, 1));
	/* a further link over that port, to a third GID of either RNIC of the peer */
	e.gid[15] += 2;
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_PARALLEL);
	e.mac[5]++;
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.own, 1, &e.to), SMC_LINK_FIT_PARALLEL);
	KUNIT_EXPECT_EQ(test, smc_topology_check_fit(lgr, e.other, 1, &e.to), SMC_LINK_FIT_SYM);
	KUNIT_EXPECT_NULL(test, smc_topology_find_redundant(lgr));
	smc_lgr_del_link(second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, smc_topology_get_type(lgr), SMC_LINKS_SINGLE);
	smc_link_put(second);
	smc_link_put(e.first);
}

static struct kunit_case topology_cases[] = {
	KUNIT_CASE(topology_other_gid),
	KUNIT_CASE(topology_gateway),
	KUNIT_CASE(topology_asymmetric),
	{ }
};

struct kunit_suite smc_topology_suite = {
	.name = "smc_topology",
	.suite_init = env_suite_init,
	.suite_exit = env_suite_exit,
	.init = env_init,
	.exit = env_exit,
	.test_cases = topology_cases,
};
