// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: the requests of no bytes of rdma/tail_probe.c. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>

#include "suites.h"
#include "wr_env.h"

#define LATENCY_MS	50	/* of a path that is slow: a probe goes after twice as much */
#define SLOW_MS		250	/* for no path is it more than that */
#define STEP_MS		50
#define STEPS		12

static u64 wr_tail_probes(void)
{
	return smc_stats_get(&init_net, SMC_STAT_WR_PROBES);
}

/* The machine may be busy. */
static u64 wr_tail_wait_probes(u64 number)
{
	int i;

	for (i = 0; i < 500 && wr_tail_probes() < number; i++)
		msleep(20);
	return wr_tail_probes();
}

/* For longer than the first probe takes on any path. */
static void wr_tail_expect_none(struct kunit *test)
{
	u64 before = wr_tail_probes();

	msleep(SLOW_MS + 50);
	KUNIT_EXPECT_EQ(test, wr_tail_probes(), before);
}

static void wr_tail_probe(struct kunit *test)
{
	u64 done = smc_stats_get(&init_net, SMC_STAT_WR_DONE);
	struct wr_env *t = wr_env_connected(test);
	u64 before = wr_tail_probes();
	struct fake_ib_wr *wr;

	wr_env_post_one(test, 1, false);
	KUNIT_ASSERT_GE(test, wr_tail_wait_probes(before + 1), before + 1);
	wr = fake_ib_sent(t->fqp, 1);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 0);
	KUNIT_EXPECT_TRUE(test, wr->flags & IB_SEND_SIGNALED);
	/* it completes: and so has what was posted unsignaled before it */
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, t->out_of_order);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	/* no completion of a message, and how long messages take it does not tell */
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_WR_DONE), done);
	KUNIT_EXPECT_EQ(test, t->qp->latency, 0);
}

static void wr_tail_limit(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = wr_tail_probes();
	u32 i;

	wr_env_post_one(test, 1, true);
	KUNIT_EXPECT_EQ(test, wr_tail_wait_probes(before + WR_ENV_PROBES), before + WR_ENV_PROBES);
	/* what is posted meanwhile makes no difference */
	wr_env_post_one(test, 2, true);
	wr_tail_expect_none(test);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, WR_ENV_PROBES + 2);
	/* something finishes: the rest is looked after once more */
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	before += WR_ENV_PROBES;
	KUNIT_EXPECT_GE(test, wr_tail_wait_probes(before + 1), before + 1);
	fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	KUNIT_EXPECT_TRUE(test, smc_wr_qp_idle(t->qp));
	/* nothing is posted: nothing is done */
	wr_tail_expect_none(test);
	/* every slot is there again, and a message in a slot of theirs is a message */
	for (i = 0; i < WR_ENV_SLOTS; i++) {
		struct smc_wr_slot *slot = smc_wr_slot_get_ctl(t->qp, SMC_WR_MSG_LEN);

		KUNIT_ASSERT_NOT_NULL(test, slot);
		KUNIT_EXPECT_FALSE(test, slot->probe);
	}
}

/* LLC messages come first, those that need the big slot above all. */
static void wr_tail_slots(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *ctl[WR_ENV_CTL_SLOTS];
	u64 before = wr_tail_probes();
	u32 i;

	for (i = 0; i < WR_ENV_CTL_SLOTS - 1; i++) {
		ctl[i] = smc_wr_slot_get_ctl(t->qp, SMC_WR_MSG_LEN);
		KUNIT_ASSERT_NOT_NULL(test, ctl[i]);
		KUNIT_ASSERT_TRUE(test, ctl[i]->ctl);
	}
	wr_env_post_one(test, 1, true);
	wr_tail_expect_none(test);
	ctl[i] = smc_wr_slot_get_ctl(t->qp, SMC_WR_LLC_MAX);
	KUNIT_EXPECT_NOT_NULL(test, ctl[i]);
	/* one is back: it is used, once */
	smc_wr_slot_put(ctl[0]);
	wr_env_post_one(test, 2, true);
	KUNIT_EXPECT_EQ(test, wr_tail_wait_probes(before + 1), before + 1);
	wr_tail_expect_none(test);
	fake_ib_complete(t->fqp, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	KUNIT_EXPECT_PTR_EQ(test, smc_wr_slot_get_ctl(t->qp, SMC_WR_MSG_LEN), ctl[0]);
}

/* False: the machine was busy, and it was not so steady. @posted: before. */
static bool wr_tail_finish_steadily(struct kunit *test, u64 posted)
{
	struct wr_env *t = test->priv;
	unsigned long last = jiffies;
	bool steady = true;
	int i;

	t->qp->latency = SLOW_MS / 2 * NSEC_PER_MSEC;
	for (i = 1; i <= STEPS + 1; i++)
		wr_env_post_one(test, posted + i, true);
	for (i = 0; i < STEPS; i++) {
		msleep(STEP_MS);
		fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
		steady &= time_before(jiffies, last + msecs_to_jiffies(3 * STEP_MS));
		last = jiffies;
	}
	return steady;
}

/* The last one has waited for long, but others have finished. */
static void wr_tail_progress(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 posted = 0, before = wr_tail_probes();

	while (!wr_tail_finish_steadily(test, posted)) {
		posted += STEPS + 1;
		KUNIT_ASSERT_LT(test, posted, 20 * (STEPS + 1));
		fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
		before = wr_tail_probes();
	}
	KUNIT_EXPECT_EQ(test, wr_tail_probes(), before);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 1);
	KUNIT_EXPECT_GE(test, wr_tail_wait_probes(before + 1), before + 1);
}

/* A probe's answer is waited for longer than another request; what comes later is not. */
static void wr_tail_anew(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = wr_tail_probes();

	t->qp->latency = LATENCY_MS * NSEC_PER_MSEC;
	wr_env_post_one(test, 1, false);
	KUNIT_ASSERT_GE(test, wr_tail_wait_probes(before + 2), before + 2);
	fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, smc_wr_qp_idle(t->qp));
	wr_env_post_one(test, 2, false);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&t->qp->tail.work));
	KUNIT_EXPECT_TRUE(test, time_before_eq(t->qp->tail.work.timer.expires,
					       jiffies + msecs_to_jiffies(2 * LATENCY_MS) + 1));
}

static void wr_tail_fails(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = wr_tail_probes();
	int i;

	wr_env_post_one(test, 1, false);
	t->fake->fail_post = -ENOMEM;
	for (i = 0; i < 500 && !READ_ONCE(t->broken); i++)
		msleep(20);
	t->fake->fail_post = 0;
	flush_work(&t->qp->kick_work);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, wr_tail_probes(), before);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	smc_wr_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_NE(test, t->last_status, IB_WC_SUCCESS);
}

/* It has failed, and is not fenced yet. */
static void wr_tail_broken(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);

	wr_env_post_one(test, 1, true);
	fake_ib_qp_event(t->fqp, IB_EVENT_QP_FATAL);
	flush_work(&t->qp->kick_work);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_FALSE(test, smc_wr_qp_idle(t->qp));
	wr_tail_expect_none(test);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&t->qp->tail.work));
}

/* Behind the fence none goes; one that is under way is flushed. */
static void wr_tail_fence(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = wr_tail_probes();

	wr_env_post_one(test, 1, false);
	wr_tail_wait_probes(before + 1);
	smc_wr_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	wr_tail_expect_none(test);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

/* The end does not wait until somebody looks. */
static void wr_tail_end(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);

	t->qp->latency = SLOW_MS * NSEC_PER_MSEC;
	wr_env_post_one(test, 1, true);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&t->qp->tail.work));
	smc_wr_qp_drain(t->qp);
	smc_wr_qp_destroy(t->qp);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&t->qp->tail.work));
}

static struct kunit_case wr_tail_cases[] = {
	KUNIT_CASE(wr_tail_probe),
	KUNIT_CASE_SLOW(wr_tail_limit),
	KUNIT_CASE(wr_tail_slots),
	KUNIT_CASE_SLOW(wr_tail_progress),
	KUNIT_CASE(wr_tail_anew),
	KUNIT_CASE(wr_tail_fails),
	KUNIT_CASE(wr_tail_broken),
	KUNIT_CASE(wr_tail_fence),
	KUNIT_CASE(wr_tail_end),
	{ }
};

struct kunit_suite smc_wr_tail_suite = {
	.name = "smc_wr_tail",
	.init = wr_env_init,
	.exit = wr_env_exit,
	.test_cases = wr_tail_cases,
};
