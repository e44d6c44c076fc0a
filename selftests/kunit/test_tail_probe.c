// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: tail loss probes: rdma/tail_probe.c. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>

#include "suites.h"
#include "wr_env.h"

#define LATENCY_MS	50	/* of a slow path: probes are posted after twice as long */
#define SLOW_MS		250	/* longest time until the first probe */
#define STEP_MS		50
#define STEPS		12

static u64 tail_probe_count(void)
{
	return smc_stats_get(&init_net, SMC_STAT_WR_PROBES);
}

/* Wait generously, as the machine may be busy. */
static u64 tail_probe_wait(u64 number)
{
	int i;

	for (i = 0; i < 500 && tail_probe_count() < number; i++)
		msleep(20);
	return tail_probe_count();
}

/* Wait longer than until the first probe on any path. */
static void tail_probe_expect_none(struct kunit *test)
{
	u64 before = tail_probe_count();

	msleep(SLOW_MS + 50);
	KUNIT_EXPECT_EQ(test, tail_probe_count(), before);
}

static void tail_probe_first(struct kunit *test)
{
	u64 done = smc_stats_get(&init_net, SMC_STAT_WR_DONE);
	struct wr_env *t = wr_env_connected(test);
	u64 before = tail_probe_count();
	struct fake_ib_wr *wr;

	wr_env_post_one(test, 1, false);
	KUNIT_ASSERT_GE(test, tail_probe_wait(before + 1), before + 1);
	wr = fake_ib_sent(t->fqp, 1);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 0);
	KUNIT_EXPECT_TRUE(test, wr->flags & IB_SEND_SIGNALED);
	/* The completion of the probe completes the unsignaled slot before it. */
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, t->out_of_order);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	/* A probe does not count as message, nor in the latency. */
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_WR_DONE), done);
	KUNIT_EXPECT_EQ(test, t->qp->latency, 0);
}

static void tail_probe_limit(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = tail_probe_count();
	u32 i;

	wr_env_post_one(test, 1, true);
	KUNIT_EXPECT_EQ(test, tail_probe_wait(before + WR_ENV_PROBES), before + WR_ENV_PROBES);
	/* further posts do not restart the probes */
	wr_env_post_one(test, 2, true);
	tail_probe_expect_none(test);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, WR_ENV_PROBES + 2);
	/* progress does */
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	before += WR_ENV_PROBES;
	KUNIT_EXPECT_GE(test, tail_probe_wait(before + 1), before + 1);
	fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
	/* no probes while nothing is posted */
	tail_probe_expect_none(test);
	/* All slots are free again. A message in a slot that a probe used is no probe. */
	for (i = 0; i < WR_ENV_SLOTS; i++) {
		struct smc_wr_slot *slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);

		KUNIT_ASSERT_NOT_NULL(test, slot);
		KUNIT_EXPECT_FALSE(test, slot->probe);
	}
}

/* Who waits for completions has a probe at once, but all of them together only one at a time. */
static void tail_probe_asked(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = tail_probe_count();

	smc_qp_probe(t->qp);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 0);
	wr_env_post_one(test, 1, false);
	smc_qp_probe(t->qp);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 2);
	wr_env_post_one(test, 2, false);
	smc_qp_probe(t->qp);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 3);
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	/* the second one, which came too early, is served now */
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 2);
	smc_qp_probe(t->qp);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 2);
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	/* the path has lost nothing */
	KUNIT_EXPECT_EQ(test, tail_probe_count(), before);
}

/* Probes take free LLC slots only, and never the big one. */
static void tail_probe_slots(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *llc[WR_ENV_LLC_SLOTS];
	u64 before = tail_probe_count();
	u32 i;

	for (i = 0; i < WR_ENV_LLC_SLOTS - 1; i++) {
		llc[i] = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);
		KUNIT_ASSERT_NOT_NULL(test, llc[i]);
		KUNIT_ASSERT_TRUE(test, llc[i]->llc);
	}
	wr_env_post_one(test, 1, true);
	tail_probe_expect_none(test);
	llc[i] = smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX);
	KUNIT_EXPECT_NOT_NULL(test, llc[i]);
	/* one LLC slot is free: it is used for one probe */
	smc_wr_slot_put(llc[0]);
	wr_env_post_one(test, 2, true);
	KUNIT_EXPECT_EQ(test, tail_probe_wait(before + 1), before + 1);
	tail_probe_expect_none(test);
	fake_ib_complete(t->fqp, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	KUNIT_EXPECT_PTR_EQ(test, smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN), llc[0]);
}

/*
 * Complete slots at regular intervals; @posted slots were posted before. False: the machine was too
 * busy for regular intervals.
 */
static bool tail_probe_finish_steadily(struct kunit *test, u64 posted)
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

/* No probe as long as other slots complete, even if the last one has waited for long. */
static void tail_probe_progress(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 posted = 0, before = tail_probe_count();

	while (!tail_probe_finish_steadily(test, posted)) {
		posted += STEPS + 1;
		KUNIT_ASSERT_LT(test, posted, 20 * (STEPS + 1));
		fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
		before = tail_probe_count();
	}
	KUNIT_EXPECT_EQ(test, tail_probe_count(), before);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 1);
	KUNIT_EXPECT_GE(test, tail_probe_wait(before + 1), before + 1);
}

/* The back-off after a probe does not apply to requests posted after its completion. */
static void tail_probe_anew(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = tail_probe_count();

	t->qp->latency = LATENCY_MS * NSEC_PER_MSEC;
	wr_env_post_one(test, 1, false);
	KUNIT_ASSERT_GE(test, tail_probe_wait(before + 2), before + 2);
	fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, smc_qp_is_idle(t->qp));
	wr_env_post_one(test, 2, false);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&t->qp->tail.work));
	KUNIT_EXPECT_TRUE(test, time_before_eq(t->qp->tail.work.timer.expires,
					       jiffies + msecs_to_jiffies(2 * LATENCY_MS) + 1));
}

static void tail_probe_fails(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = tail_probe_count();
	int i;

	wr_env_post_one(test, 1, false);
	t->fake->fail_post = -ENOMEM;
	for (i = 0; i < 500 && !READ_ONCE(t->broken); i++)
		msleep(20);
	t->fake->fail_post = 0;
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, tail_probe_count(), before);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_NE(test, t->last_status, IB_WC_SUCCESS);
}

/* No probe on a broken queue pair that is not fenced yet. */
static void tail_probe_broken(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);

	wr_env_post_one(test, 1, true);
	fake_ib_qp_event(t->fqp, IB_EVENT_QP_FATAL);
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_FALSE(test, smc_qp_is_idle(t->qp));
	tail_probe_expect_none(test);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&t->qp->tail.work));
}

/* No probe after a drain; a posted probe is flushed. */
static void tail_probe_fence(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 before = tail_probe_count();

	wr_env_post_one(test, 1, false);
	tail_probe_wait(before + 1);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	tail_probe_expect_none(test);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

/* Destruction cancels the work item. */
static void tail_probe_end(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);

	t->qp->latency = SLOW_MS * NSEC_PER_MSEC;
	wr_env_post_one(test, 1, true);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&t->qp->tail.work));
	smc_qp_drain(t->qp);
	smc_qp_destroy(t->qp);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&t->qp->tail.work));
}

static struct kunit_case tail_probe_cases[] = {
	KUNIT_CASE(tail_probe_first),
	KUNIT_CASE_SLOW(tail_probe_limit),
	KUNIT_CASE(tail_probe_asked),
	KUNIT_CASE(tail_probe_slots),
	KUNIT_CASE_SLOW(tail_probe_progress),
	KUNIT_CASE(tail_probe_anew),
	KUNIT_CASE(tail_probe_fails),
	KUNIT_CASE(tail_probe_broken),
	KUNIT_CASE(tail_probe_fence),
	KUNIT_CASE(tail_probe_end),
	{ }
};

struct kunit_suite smc_tail_probe_suite = {
	.name = "smc_tail_probe",
	.init = wr_env_init,
	.exit = wr_env_exit,
	.test_cases = tail_probe_cases,
};
