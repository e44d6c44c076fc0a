// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: messages, failures and the end of a link (lgr/link.c, smc_core.c). */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include "../../lgr/internal.h"

#include "lgr_env.h"
#include "suites.h"

/**
 * struct link_test - the environment of one case
 * @env: group layer
 * @lgr: group, whose first link is usable
 * @link: link under test, the second of the group; reference
 * @qp: its queue pair in the fake device
 * @failed: counter link_fail when the case began
 */
struct link_test {
	struct lgr_env *env;
	struct smc_lgr *lgr;
	struct smc_link *link;
	struct fake_ib_qp *qp;
	u64 failed;
};

/* The callback of smc_link_shutdown() carries no pointer to the case; one case runs at a time. */
static u32 unmapped;
static bool unmapped_late;

static void link_test_unmap(struct smc_link *link)
{
	unmapped++;
	unmapped_late |= !link->qp->pd || !smc_qp_is_idle(link->qp);
}

static struct link_test link_begin(struct kunit *test)
{
	struct link_test t = { .env = test->priv };

	t.lgr = env_create_group_up(test, SMC_SERVER, 1);
	t.link = env_add_link(test, t.lgr);
	t.qp = fake_ib_qp(t.link->qp->qp);
	t.link->peer_gid = t.link->path.gid.gid;
	t.link->peer_qpn = 7;
	t.link->peer_psn = 8;
	t.failed = smc_stats_get(&init_net, SMC_STAT_LINK_FAIL);
	return t;
}

static u64 link_count_failed(const struct link_test *t)
{
	return smc_stats_get(&init_net, SMC_STAT_LINK_FAIL) - t->failed;
}

/* Do as smc_lgr_shutdown_link(), with link_test_unmap(). The reference of the case stays. */
static void link_shut_down(struct kunit *test, struct link_test *t)
{
	unmapped = 0;
	unmapped_late = false;
	KUNIT_ASSERT_TRUE(test, smc_lgr_unlink(t->lgr, t->link));
	smc_link_shutdown(t->link, link_test_unmap);
	KUNIT_EXPECT_EQ(test, unmapped, 1);
	KUNIT_EXPECT_FALSE(test, unmapped_late);
	RCU_INIT_POINTER(t->lgr->unlinked[t->link->slot], NULL);
	smc_link_put(t->link);
}

static void link_end(struct kunit *test, struct link_test *t)
{
	link_shut_down(test, t);
	smc_link_put(t->link);
}

/* Wait until the group has removed the failed link, which is reported to LLC once. */
static void link_end_failed(struct kunit *test, struct link_test *t)
{
	KUNIT_EXPECT_TRUE(test, env_wait_qps(t->env, 1));
	KUNIT_EXPECT_EQ(test, t->env->link_lost, 1);
	KUNIT_EXPECT_EQ(test, link_count_failed(t), 1);
	KUNIT_EXPECT_FALSE(test, t->lgr->dead);
	smc_link_put(t->link);
}

static void link_bring_up(struct kunit *test, struct link_test *t)
{
	KUNIT_ASSERT_EQ(test, smc_link_connect(t->link), 0);
	smc_link_activate(t->link);
	KUNIT_ASSERT_TRUE(test, smc_link_usable(t->link));
}

static void link_deliver(struct link_test *t, u8 type, u32 len)
{
	u8 buf[64] = { type };

	fake_ib_receive(t->qp, buf, sizeof(buf), len, IB_WC_SUCCESS);
}

/*
 * The first byte tells the type; its upper two bits tell whether an unknown type may be ignored.
 * LLC decides which of these types are unknown.
 */
static void link_dispatch(struct kunit *test)
{
	struct link_test t = link_begin(test);
	u32 cdc = 0, llc = 0;
	int type;

	link_bring_up(test, &t);
	for (type = 0; type < 256; type++) {
		link_deliver(&t, type, 44);
		if (type == 0xfe)
			cdc++;
		else if (!(type & 0x40))
			llc++;
		KUNIT_EXPECT_EQ(test, t.env->cdc, cdc);
		KUNIT_EXPECT_EQ(test, t.env->messages, llc);
	}
	KUNIT_EXPECT_EQ(test, t.env->cdc, 1);
	link_deliver(&t, 0xfe, 0);
	KUNIT_EXPECT_EQ(test, t.env->cdc, 1);
	/* lengths are checked by the upper layers */
	link_deliver(&t, 0xfe, 1);
	KUNIT_EXPECT_EQ(test, t.env->cdc, 2);
	KUNIT_EXPECT_EQ(test, t.env->len, 1);
	KUNIT_EXPECT_EQ(test, link_count_failed(&t), 0);
	link_end(test, &t);
}

static void link_states(struct kunit *test)
{
	struct link_test t = link_begin(test);

	KUNIT_EXPECT_EQ(test, atomic_read(&t.link->state), SMC_LINK_INIT);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t.link));
	/* too early, without effect */
	smc_link_activate(t.link);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t.link));
	KUNIT_ASSERT_EQ(test, smc_link_connect(t.link), 0);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t.link));
	/* the peer's CONFIRM LINK may arrive before our own state change */
	link_deliver(&t, 1, 44);
	KUNIT_EXPECT_EQ(test, t.env->messages, 1);
	KUNIT_EXPECT_NE(test, smc_link_connect(t.link), 0);
	smc_link_activate(t.link);
	KUNIT_EXPECT_TRUE(test, smc_link_usable(t.link));
	link_end(test, &t);
}

static void link_psn(struct kunit *test)
{
	struct link_test t = link_begin(test);

	KUNIT_EXPECT_LE(test, t.link->psn, 0xffffff);
	KUNIT_EXPECT_EQ(test, t.link->mtu, IB_MTU_1024);
	link_end(test, &t);
}

/* The first reason stays and is counted once. */
static void link_fail(struct kunit *test)
{
	struct link_test t = link_begin(test);

	link_bring_up(test, &t);
	/* the group does not take the link out of the set meanwhile */
	mutex_lock(&t.lgr->failover_mutex);
	local_bh_disable();
	smc_link_fail(t.link, SMC_LINK_TEST_TIMEOUT);
	smc_link_fail(t.link, SMC_LINK_PORT_DOWN);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, link_count_failed(&t), 1);
	KUNIT_EXPECT_EQ(test, t.lgr->failed_slots, BIT(t.link->slot));
	KUNIT_EXPECT_EQ(test, atomic_read(&t.link->reason), SMC_LINK_TEST_TIMEOUT);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t.link));
	/* until the fence, CDC is accepted and LLC is not */
	link_deliver(&t, 0xfe, 44);
	KUNIT_EXPECT_EQ(test, t.env->cdc, 1);
	link_deliver(&t, 1, 44);
	KUNIT_EXPECT_EQ(test, t.env->messages, 0);
	smc_link_activate(t.link);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t.link));
	KUNIT_EXPECT_FALSE(test, smc_link_fenced(t.link));
	smc_link_fence(t.link);
	KUNIT_EXPECT_TRUE(test, smc_link_fenced(t.link));
	KUNIT_EXPECT_NE(test, atomic_read(&t.link->state), SMC_LINK_DEAD);
	mutex_unlock(&t.lgr->failover_mutex);
	link_end_failed(test, &t);
}

static void link_qp_breaks(struct kunit *test)
{
	struct link_test t = link_begin(test);

	link_bring_up(test, &t);
	fake_ib_receive(t.qp, NULL, 0, 0, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, atomic_read(&t.link->reason), SMC_LINK_QP_ERROR);
	link_end_failed(test, &t);
}

/* An orderly end is not counted as a failure. */
static void link_shutdown(struct kunit *test)
{
	struct link_test t = link_begin(test);
	struct smc_wr_slot *slot;

	link_bring_up(test, &t);
	slot = smc_wr_slot_get(t.link->qp);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	smc_link_get(t.link);
	link_shut_down(test, &t);
	KUNIT_EXPECT_EQ(test, link_count_failed(&t), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t.link->reason), SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, atomic_read(&t.link->state), SMC_LINK_DEAD);
	KUNIT_EXPECT_EQ(test, atomic_read(&t.env->fake->nqp), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t.env->fake->npd), 1);
	smc_link_put(t.link);
	/* with a reference the link can be read, but posts fail */
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_wr_slot_put(slot);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t.link->qp));
	smc_link_fail(t.link, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_EQ(test, link_count_failed(&t), 0);
	KUNIT_EXPECT_EQ(test, t.lgr->failed_slots, 0);
	smc_link_put(t.link);
}

/* A link that cannot be created puts its path. */
static void link_create_fails(struct kunit *test)
{
	static const struct smc_wr_events unused;
	struct link_test t = link_begin(test);
	u32 refs = kref_read(&t.env->fake->sdev->ref);
	struct smc_path path;

	fake_ib_path(t.env->fake, &path);
	t.env->fake->fail_cq = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_link_create(t.lgr, 2, &path, &unused)), -ENOMEM);
	t.env->fake->fail_cq = false;
	KUNIT_EXPECT_NULL(test, path.dev);
	KUNIT_EXPECT_EQ(test, kref_read(&t.env->fake->sdev->ref), refs);
	link_end(test, &t);
}

static void link_connect_fails(struct kunit *test)
{
	struct link_test t = link_begin(test);

	t.env->fake->fail_modify = IB_QPS_RTR;
	KUNIT_EXPECT_EQ(test, smc_link_connect(t.link), -EIO);
	t.env->fake->fail_modify = -1;
	smc_link_activate(t.link);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t.link));
	smc_link_fail(t.link, SMC_LINK_SETUP_FAILED);
	link_end_failed(test, &t);
}

static void link_expect_class(struct kunit *test, const struct link_test *t, u8 class, u8 sl)
{
	/* with which the queue pair for registrations will be connected */
	const struct smc_qp_attr *reg = &t->link->qp->mr_queue.attr;

	KUNIT_EXPECT_EQ(test, t->qp->traffic_class, class);
	KUNIT_EXPECT_EQ(test, t->qp->sl, sl);
	KUNIT_EXPECT_EQ(test, reg->traffic_class, class);
	KUNIT_EXPECT_EQ(test, reg->sl, sl);
}

/*
 * The links of a group have its traffic class, and the service level of its priority on their
 * netdev. 0 without a mapping, without the netdev, or for the default priority.
 */
static void link_class(struct kunit *test)
{
	static const struct {
		u8 class;
		u32 priority;
		bool mapped;
		bool netdev;
		u8 sl;
	} rows[] = {
		{ 0x00, 0, true, true, 0 },
		{ 0x28, 5, true, true, 3 },
		{ 0xfc, 6, true, true, 1 },
		{ 0x28, 5, false, true, 0 },
		{ 0x28, 5, true, false, 0 },
	};
	struct net_device *lo = init_net.loopback_dev;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct link_test t = link_begin(test);

		t.lgr->traffic_class = rows[i].class;
		t.lgr->priority = rows[i].priority;
		t.link->path.gid.ifindex = rows[i].netdev ? lo->ifindex : 0;
		rtnl_lock();
		if (rows[i].mapped) {
			KUNIT_EXPECT_EQ(test, netdev_set_num_tc(lo, 4), 0);
			netdev_set_prio_tc_map(lo, 0, 2);
			netdev_set_prio_tc_map(lo, 5, 3);
			netdev_set_prio_tc_map(lo, 6, 1);
		}
		link_bring_up(test, &t);
		netdev_reset_tc(lo);
		rtnl_unlock();
		link_expect_class(test, &t, rows[i].class, rows[i].sl);
		link_end(test, &t);
	}
}

static void link_slots_free(struct kunit *test)
{
	struct link_test t = link_begin(test);
	struct smc_wr_slot *slot, *last = NULL;

	link_bring_up(test, &t);
	while ((slot = smc_wr_slot_get(t.link->qp)))
		last = slot;
	KUNIT_ASSERT_NOT_NULL(test, last);
	smc_wr_slot_put(last);
	flush_work(&t.link->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t.env->slots_free, 1);
	/* connections that a held link has refused try again, too */
	smc_link_hold_conns(t.link, true);
	KUNIT_EXPECT_TRUE(test, smc_link_conns_held(t.link));
	KUNIT_EXPECT_EQ(test, t.env->slots_free, 1);
	smc_link_hold_conns(t.link, false);
	KUNIT_EXPECT_FALSE(test, smc_link_conns_held(t.link));
	KUNIT_EXPECT_EQ(test, t.env->slots_free, 2);
	link_end(test, &t);
}

static void link_reasons(struct kunit *test)
{
	int i, j;

	for (i = SMC_LINK_OK; i <= SMC_LINK_ADMIN; i++)
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, strcmp(smc_link_reason_str(i),
						     smc_link_reason_str(j)), 0);
	KUNIT_EXPECT_STREQ(test, smc_link_reason_str(SMC_LINK_ADMIN + 1), "?");
}

static struct kunit_case link_cases[] = {
	KUNIT_CASE(link_dispatch),
	KUNIT_CASE(link_states),
	KUNIT_CASE(link_psn),
	KUNIT_CASE(link_fail),
	KUNIT_CASE(link_qp_breaks),
	KUNIT_CASE(link_shutdown),
	KUNIT_CASE(link_create_fails),
	KUNIT_CASE(link_connect_fails),
	KUNIT_CASE(link_class),
	KUNIT_CASE(link_slots_free),
	KUNIT_CASE(link_reasons),
	{ }
};

struct kunit_suite smc_link_suite = {
	.name = "smc_link",
	.suite_init = env_suite_init,
	.suite_exit = env_suite_exit,
	.init = env_init,
	.exit = env_exit,
	.test_cases = link_cases,
};
