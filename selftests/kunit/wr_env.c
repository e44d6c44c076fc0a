// SPDX-License-Identifier: GPL-2.0-only
/* Test environment of the work request suites, see wr_env.h. */
#include <kunit/test.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "wr_env.h"

static void wr_env_on_received(void *ctx, const u8 *buf, u32 len)
{
	struct wr_env *t = ctx;

	t->bad_context |= !in_softirq();
	t->received++;
	t->len = len;
	memcpy(t->bytes, buf, min_t(u32, len, sizeof(t->bytes)));
}

static void wr_env_on_received_imm(void *ctx, u32 imm)
{
	struct wr_env *t = ctx;

	t->bad_context |= !in_softirq();
	t->imms++;
	t->imm = imm;
}

static void wr_env_on_broken(void *ctx, enum ib_wc_status status)
{
	struct wr_env *t = ctx;

	t->bad_context |= !in_softirq();
	t->under_poster |= current == t->poster;
	if (!t->broken++)
		t->status = status;
}

static void wr_env_on_slots_free(void *ctx)
{
	struct wr_env *t = ctx;

	t->bad_context |= !in_softirq();
	t->under_poster |= current == t->poster;
	t->slots_free++;
}

const struct smc_wr_events wr_env_events = {
	.received = wr_env_on_received,
	.received_imm = wr_env_on_received_imm,
	.broken = wr_env_on_broken,
	.slots_free = wr_env_on_slots_free,
};

/* smc_wr_slot.done of the suites: counts, and expects cookies in sequence. */
void wr_env_done(struct smc_wr_slot *slot, enum ib_wc_status status)
{
	struct wr_env *t = slot->owner;

	t->bad_context |= !in_softirq();
	t->out_of_order |= slot->cookie != t->last_cookie + 1;
	t->last_cookie = slot->cookie;
	t->last_status = status;
	t->done_failed += status != IB_WC_SUCCESS;
	t->done++;
}

/* Init function of a suite. */
int wr_env_init(struct kunit *test)
{
	struct wr_env *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->fake = fake_ib_create(test);
	return 0;
}

/* Drain and free the queue pair, if a case does so before its end. */
void wr_env_end_qp(struct wr_env *t)
{
	smc_qp_drain(t->qp);
	smc_qp_destroy(t->qp);
	smc_qp_free(t->qp);
	t->qp = NULL;
	t->fqp = NULL;
}

/* Exit function of a suite. */
void wr_env_exit(struct kunit *test)
{
	struct wr_env *t = test->priv;

	if (!t)
		return;
	if (t->qp)
		wr_env_end_qp(t);
	KUNIT_EXPECT_FALSE(test, t->bad_context);
	KUNIT_EXPECT_FALSE(test, t->out_of_order);
	fake_ib_destroy(test, t->fake);
}

/* Create the queue pair, in INIT. */
void wr_env_make_qp(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct smc_qp *qp = smc_qp_create(t->fake->sdev, 1, &init_net, &wr_env_events, t);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	t->qp = qp;
	t->fqp = fake_ib_qp(qp->qp);
}

/* Return valid parameters of a peer. */
struct smc_qp_attr wr_env_attr(void)
{
	struct smc_qp_attr attr = {
		.port = 1,
		.mtu = IB_MTU_1024,
		.hop_limit = 1,
		.peer_qpn = 7,
		.peer_psn = 0xffffff,
		.psn = 1,
	};

	fake_ib_gid(&attr.sgid);
	fake_ib_gid(&attr.dgid);
	return attr;
}

/* Create the queue pair and move it to RTS. */
struct wr_env *wr_env_connected(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct smc_qp_attr attr = wr_env_attr();

	wr_env_make_qp(test);
	KUNIT_ASSERT_EQ(test, smc_qp_connect(t->qp, &attr), 0);
	KUNIT_ASSERT_EQ(test, t->fqp->state, IB_QPS_RTS);
	return t;
}

/* Receive until all receives are posted, and the counts of the test begin at 0. */
void wr_env_warm_up(struct kunit *test)
{
	struct wr_env *t = test->priv;
	u8 buf[SMC_WR_MSG_LEN] = { };
	u32 i;

	for (i = 0; i < (WR_ENV_RECVS - WR_ENV_RECVS_FIRST) / SMC_WR_RECV_BATCH; i++)
		fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS);
	t->received = 0;
}

/* Take and post one CDC slot. Cookies count from 1. */
struct smc_wr_slot *wr_env_post_one(struct kunit *test, u64 cookie, bool signal)
{
	struct wr_env *t = test->priv;
	struct smc_wr_slot *slot = smc_wr_slot_get(t->qp);

	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->done = wr_env_done;
	slot->owner = t;
	slot->cookie = cookie;
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, signal), 0);
	return slot;
}
