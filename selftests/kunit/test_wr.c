// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: queue pairs and work requests: smc_wr.c, rdma/qp.c, rdma/drain.c. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/rdma/wr.h>

#include "../../rdma/internal.h"
#include "suites.h"
#include "wr_env.h"

#define SIGNAL_EVERY	(WR_ENV_SLOTS / 4)

/* ---- creating a queue pair ---- */

static void wr_create(struct kunit *test)
{
	struct wr_env *t = test->priv;

	wr_env_make_qp(test);
	KUNIT_EXPECT_EQ(test, t->fqp->state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, t->qp->nslots, WR_ENV_SLOTS);
	KUNIT_EXPECT_EQ(test, t->qp->nrecvs, WR_ENV_RECVS);
	KUNIT_EXPECT_EQ(test, t->qp->qpn, t->fqp->ib.qp_num);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
	/* no receives before the peer is known */
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, 0);
	/* room for the requests of CDC slots, the LLC slots, and the drain marker */
	KUNIT_EXPECT_EQ(test, t->fqp->cap.max_send_wr, WR_ENV_CDC_WRS + WR_ENV_LLC_SLOTS + 1);
	/* a power of two, and software RNICs clear twice the memory */
	KUNIT_EXPECT_LT(test, t->fqp->cap.max_send_wr, 128);
	KUNIT_EXPECT_GE(test, t->fqp->cap.max_recv_wr, WR_ENV_RECVS + 1);
}

static long wr_create_error(struct wr_env *t)
{
	return PTR_ERR(smc_qp_create(t->fake->sdev, 1, &init_net, &wr_env_events, t));
}

static void wr_create_fails(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct fake_ib *fake = t->fake;

	fake->fail_pd = true;
	KUNIT_EXPECT_EQ(test, wr_create_error(t), -ENOMEM);
	fake->fail_pd = false;
	fake->fail_cq = true;
	KUNIT_EXPECT_EQ(test, wr_create_error(t), -ENOMEM);
	fake->fail_cq = false;
	fake->wr_limit = 10;
	KUNIT_EXPECT_EQ(test, wr_create_error(t), -EINVAL);
	fake->wr_limit = U32_MAX;
	fake->fail_modify = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, wr_create_error(t), -EIO);
	fake->fail_modify = -1;
	fake->ib.attrs.max_qp_wr = WR_ENV_LLC_SLOTS + 6 * 2 + 5;
	KUNIT_EXPECT_EQ(test, wr_create_error(t), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->npd), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->ncq), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->nqp), 0);
}

/* Less inline data is requested if the device refuses; later queue pairs do not retry. */
static void wr_create_inline(struct kunit *test)
{
	struct wr_env *t = test->priv;

	t->fake->sdev->max_inline = 256;
	t->fake->inline_limit = 100;
	wr_env_make_qp(test);
	KUNIT_EXPECT_EQ(test, t->qp->max_inline, 64);
	KUNIT_EXPECT_EQ(test, t->qp->nslots, WR_ENV_SLOTS);
	KUNIT_EXPECT_EQ(test, t->fake->sdev->max_inline, 64);
	wr_env_end_qp(t);
	t->fake->tries = 0;
	wr_env_make_qp(test);
	KUNIT_EXPECT_EQ(test, t->fake->tries, 1);
}

/* If the queues of the device are short, the slots are reduced, not the inline data. */
static void wr_create_small(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct smc_wr_slot *slot;
	u32 n = 0;

	t->fake->sdev->max_inline = 256;
	t->fake->wr_limit = 100;
	wr_env_connected(test);
	KUNIT_EXPECT_EQ(test, t->qp->nslots, WR_ENV_SLOTS / 2);
	KUNIT_EXPECT_EQ(test, t->qp->max_inline, 256);
	KUNIT_EXPECT_EQ(test, t->fake->sdev->max_inline, 256);
	while ((slot = smc_wr_slot_get(t->qp))) {
		KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, false), 0);
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, WR_ENV_SLOTS / 2 - WR_ENV_LLC_SLOTS);
}

/* The queue lengths are those of the namespace, within the limits of the device. */
static void wr_create_depth(struct kunit *test)
{
	static const struct {
		u32 send, recv, max_cqe, nslots, nrecvs;
		bool one_sge;
	} cases[] = {
		{ 2, 2, 65536, 6 + WR_ENV_LLC_SLOTS, 8 },
		{ 2, 2, 65536, 6 + WR_ENV_LLC_SLOTS, 2, .one_sge = true },
		{ 50, 70, 65536, 150 + WR_ENV_LLC_SLOTS, 280 },
		{ 50, 70, 65536, 150 + WR_ENV_LLC_SLOTS, 70, .one_sge = true },
		/*
		 * 4096 requests: two for each slot, three more, and one of either kind for the
		 * drain
		 */
		{ 2048, 2048, 65536, WR_ENV_LLC_SLOTS + 2041, 4095 },
		/* all of them complete in one CQ, a quarter of which is for receives */
		{ 2048, 2048, 1000, WR_ENV_LLC_SLOTS + 367, 250 },
	};
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct wr_env *t = test->priv;
	struct smc_qp_attr attr = wr_env_attr();
	struct smc_wr_slot *slot;
	u32 i, n, first;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		sn->max_send_wr = cases[i].send;
		sn->max_recv_wr = cases[i].recv;
		t->fake->ib.attrs.max_cqe = cases[i].max_cqe;
		t->fake->sdev->max_recv_sge = 2 - cases[i].one_sge;
		wr_env_make_qp(test);
		KUNIT_EXPECT_EQ_MSG(test, t->qp->nslots, cases[i].nslots, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, t->qp->nrecvs, cases[i].nrecvs, "case %u", i);
		KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), 0);
		first = max_t(u32, cases[i].nrecvs / 3, WR_ENV_RECVS_FIRST);
		first = min(cases[i].nrecvs, first);
		KUNIT_EXPECT_EQ_MSG(test, t->fqp->nrecvs, first, "case %u", i);
		/* in chains, the last of which may be shorter */
		n = clamp(cases[i].nrecvs / 16, 1U, (u32)SMC_WR_RECV_BATCH);
		KUNIT_EXPECT_EQ_MSG(test, t->fqp->recv_posts, DIV_ROUND_UP(first, n),
				    "case %u", i);
		/* every slot can be filled, also at the end of a piece of memory */
		for (n = 0; (slot = smc_wr_slot_get(t->qp)); n++) {
			memset(slot->buf, n, SMC_WR_MSG_LEN);
			slot->owner = t;
			slot->done = wr_env_done;
			slot->cookie = t->last_cookie + n + 1;
			KUNIT_ASSERT_EQ(test, 0,
					smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, false));
		}
		KUNIT_EXPECT_EQ_MSG(test, n, cases[i].nslots - WR_ENV_LLC_SLOTS, "case %u", i);
		wr_env_end_qp(t);
	}
	sn->max_send_wr = SMC_SETTINGS_SEND_WR;
	sn->max_recv_wr = SMC_SETTINGS_RECV_WR;
}

static void wr_connect_refused(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct smc_qp_attr attr = wr_env_attr();

	wr_env_make_qp(test);
	attr.mtu = 0;
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -EINVAL);
	attr.mtu = IB_MTU_4096 + 1;
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -EINVAL);
	attr = wr_env_attr();
	attr.peer_qpn = 0x1000000;
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -EINVAL);
	attr = wr_env_attr();
	attr.peer_psn = 0x1000000;
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -EINVAL);
	KUNIT_EXPECT_EQ(test, t->fqp->state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, 0);
	/* Another GID is at our index since the peer got the first one. */
	attr = wr_env_attr();
	attr.sgid.raw[15] ^= 1;
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, t->fqp->state, IB_QPS_INIT);
	/* The queue pair can only be destroyed now. */
	attr = wr_env_attr();
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -ENOTCONN);
}

static void wr_connect_fails(struct kunit *test)
{
	static const enum ib_qp_state states[] = { IB_QPS_RTR, IB_QPS_RTS };
	struct wr_env *t = test->priv;
	struct smc_qp_attr attr = wr_env_attr();
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		wr_env_make_qp(test);
		t->fake->fail_modify = states[i];
		KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -EIO);
		t->fake->fail_modify = -1;
		wr_env_end_qp(t);
	}
	wr_env_make_qp(test);
	t->fake->fail_recv_after = WR_ENV_RECVS_FIRST / 2;
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -ENOMEM);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_FIRST / 2);
	KUNIT_EXPECT_EQ(test, t->fqp->state, IB_QPS_INIT);
	t->fake->fail_recv_after = -1;
	wr_env_end_qp(t);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

static void wr_connect(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_qp_attr attr = wr_env_attr();

	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_FIRST);
	KUNIT_EXPECT_EQ(test, smc_qp_connect(t->qp, &attr), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_FIRST);
}

/* ---- slots ---- */

static void wr_slots(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slots[WR_ENV_CDC_HELD];
	u32 i, j;

	for (i = 0; i < WR_ENV_CDC_HELD; i++) {
		slots[i] = smc_wr_slot_get(t->qp);
		KUNIT_ASSERT_NOT_NULL(test, slots[i]);
		KUNIT_EXPECT_FALSE(test, slots[i]->llc);
		KUNIT_EXPECT_NULL(test, slots[i]->done);
		KUNIT_EXPECT_NULL(test, slots[i]->owner);
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_GE(test, abs(slots[i]->buf - slots[j]->buf), SMC_WR_MSG_LEN);
	}
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->slots_free, 0);
	/* Only the first slot that becomes free is reported, and not from within put. */
	t->poster = current;
	smc_wr_slot_put(slots[0]);
	t->poster = NULL;
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_FALSE(test, t->under_poster);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
	smc_wr_slot_put(slots[1]);
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
	KUNIT_EXPECT_NOT_NULL(test, smc_wr_slot_get(t->qp));
	KUNIT_EXPECT_NOT_NULL(test, smc_wr_slot_get(t->qp));
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
}

/* Post what a slot can have at most; return whether it was signaled. */
static bool wr_post_longest(struct kunit *test, struct smc_wr_slot *slot, u64 cookie)
{
	struct wr_env *t = test->priv;
	struct smc_wr_write writes[SMC_WR_WRITES_MAX] = { };

	slot->done = wr_env_done;
	slot->owner = t;
	slot->cookie = cookie;
	KUNIT_ASSERT_EQ(test, 0,
			smc_wr_post(slot, SMC_WR_MSG_LEN, writes, SMC_WR_WRITES_MAX, false));
	return slot->signaled;
}

/*
 * Long slots take the requests of others: the send queue does not overflow, and nobody waits in
 * vain.
 */
static void wr_slots_long(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot;
	bool signaled = false;
	u32 n;

	for (n = 0; (slot = smc_wr_slot_get(t->qp)); n++)
		signaled = wr_post_longest(test, slot, n + 1);
	KUNIT_EXPECT_EQ(test, n, WR_ENV_CDC_HELD);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, n * (1 + SMC_WR_WRITES_MAX));
	KUNIT_EXPECT_TRUE(test, signaled);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	/* LLC has requests of its own, in whatever slot */
	for (n = 0; (slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN)); n++) {
		KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true), 0);
		KUNIT_EXPECT_EQ(test, t->qp->broken, false);
	}
	KUNIT_EXPECT_EQ(test, n, WR_ENV_LLC_SLOTS + WR_ENV_CDC_WRS % (1 + SMC_WR_WRITES_MAX));
	fake_ib_complete(t->fqp, t->fqp->nsends, IB_WC_SUCCESS);
	KUNIT_EXPECT_GE(test, t->slots_free, 1);
	KUNIT_EXPECT_EQ(test, t->qp->wrs, WR_ENV_CDC_WRS);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
}

/* Who got no slot while another one had more requests than it needed gets the upcall. */
static void wr_slots_returned(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slots[WR_ENV_CDC_HELD];
	u32 i;

	for (i = 0; i < WR_ENV_CDC_HELD; i++)
		slots[i] = smc_wr_slot_get(t->qp);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	for (i = 0; i < WR_ENV_CDC_HELD; i++)
		KUNIT_ASSERT_EQ(test, smc_wr_post(slots[i], SMC_WR_MSG_LEN, NULL, 0, false), 0);
	KUNIT_EXPECT_TRUE(test, slots[0]->signaled);
	KUNIT_EXPECT_EQ(test, t->slots_free, 0);
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
	KUNIT_EXPECT_NOT_NULL(test, smc_wr_slot_get(t->qp));
}

/* No WRITEs in slots that have no requests for them. */
static void wr_slots_llc_writes(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_write writes[1] = { };
	struct smc_wr_slot *slot;
	u32 i;

	for (i = 0; i < WR_ENV_SLOTS; i++) {
		slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);
		KUNIT_ASSERT_NOT_NULL(test, slot);
		KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, writes, 1, true), -EINVAL);
		if (slot->llc)
			KUNIT_EXPECT_EQ(test, smc_wr_post_imm(slot, 1, writes, 1, true), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 0);
}

static void wr_slots_llc(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *llc[WR_ENV_LLC_SLOTS], *slot;
	u32 i;

	/* Short messages take LLC slots first, then CDC slots, then the big one. */
	for (i = 0; i < WR_ENV_LLC_SLOTS - 1; i++) {
		llc[i] = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);
		KUNIT_ASSERT_NOT_NULL(test, llc[i]);
		KUNIT_EXPECT_TRUE(test, llc[i]->llc);
		KUNIT_EXPECT_FALSE(test, llc[i]->big);
	}
	for (i = 0; i < WR_ENV_CDC_SLOTS; i++) {
		slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);
		KUNIT_ASSERT_NOT_NULL(test, slot);
		KUNIT_EXPECT_FALSE(test, slot->llc);
	}
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_TRUE(test, slot->big);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN));
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX));
	/* Each slot returns to its own list. */
	smc_wr_slot_put(slot);
	smc_wr_slot_put(llc[0]);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	KUNIT_EXPECT_PTR_EQ(test, smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN), llc[0]);
	KUNIT_EXPECT_PTR_EQ(test, smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN + 1), slot);
	smc_wr_slot_put(slot);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX + 1));
	KUNIT_EXPECT_PTR_EQ(test, smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX), slot);
}

/* LLC callers are notified of free slots, too. A slot comes without values of its last owner. */
static void wr_slots_llc_starved(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot, *big = smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX);

	KUNIT_ASSERT_NOT_NULL(test, big);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX));
	slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	smc_wr_slot_put(slot);
	smc_wr_slot_put(big);
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
	/* The big slot still is the last to be taken. */
	KUNIT_EXPECT_PTR_EQ(test, smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN), slot);
	smc_wr_slot_put(slot);
	slot = wr_env_post_one(test, 1, true);
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
	KUNIT_ASSERT_PTR_EQ(test, smc_wr_slot_get(t->qp), slot);
	KUNIT_EXPECT_NULL(test, slot->done);
	KUNIT_EXPECT_NULL(test, slot->owner);
	smc_wr_slot_put(slot);
}

/* ---- posting ---- */

static void wr_post_sizes(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot = smc_wr_slot_get(t->qp);
	struct smc_wr_write writes[SMC_WR_WRITES_MAX + 1] = { };

	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN + 1, NULL, 0, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, writes, SMC_WR_WRITES_MAX + 1,
					  true), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, writes, -1, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 0);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
	smc_wr_slot_put(slot);

	slot = smc_wr_slot_get_llc(t->qp, SMC_WR_LLC_MAX);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_LLC_MAX + 1, NULL, 0, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_LLC_MAX, NULL, 0, true), 0);
	KUNIT_EXPECT_EQ(test, fake_ib_sent(t->fqp, 0)->sge[0].length, SMC_WR_LLC_MAX);
}

/* The WRITEs are posted first, in order; only the message is signaled. */
static void wr_post_chain(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot = smc_wr_slot_get(t->qp);
	struct smc_wr_write writes[SMC_WR_WRITES_MAX];
	struct fake_ib_wr *wr;
	u32 i;

	for (i = 0; i < SMC_WR_WRITES_MAX; i++)
		writes[i] = (struct smc_wr_write) {
			.laddr = 0x1000 * i, .lkey = i, .len = 100 + i,
			.raddr = 0x7000000000ULL + i, .rkey = 0x80 + i,
		};
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, writes, SMC_WR_WRITES_MAX, true),
			0);
	KUNIT_ASSERT_EQ(test, t->fqp->nsends, SMC_WR_WRITES_MAX + 1);
	for (i = 0; i < SMC_WR_WRITES_MAX; i++) {
		wr = fake_ib_sent(t->fqp, i);
		KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
		KUNIT_EXPECT_EQ(test, wr->flags, 0);
		KUNIT_EXPECT_EQ(test, wr->sge[0].addr, writes[i].laddr);
		KUNIT_EXPECT_EQ(test, wr->sge[0].length, writes[i].len);
		KUNIT_EXPECT_EQ(test, wr->sge[0].lkey, writes[i].lkey);
		KUNIT_EXPECT_EQ(test, wr->raddr, writes[i].raddr);
		KUNIT_EXPECT_EQ(test, wr->rkey, writes[i].rkey);
	}
	wr = fake_ib_sent(t->fqp, i);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_SEND);
	KUNIT_EXPECT_EQ(test, wr->flags, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, slot->dma);
	KUNIT_EXPECT_EQ(test, wr->sge[0].length, SMC_WR_MSG_LEN);
	KUNIT_EXPECT_EQ(test, wr->sge[0].lkey, t->qp->pd->local_dma_lkey);
}

/* Take a slot whose completion is the @no-th of the case. */
static struct smc_wr_slot *wr_take_slot(struct kunit *test, u64 no)
{
	struct wr_env *t = test->priv;
	struct smc_wr_slot *slot = smc_wr_slot_get(t->qp);

	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->owner = t;
	slot->done = wr_env_done;
	slot->cookie = no;
	return slot;
}

/* Without a message the last WRITE has the value, and completes the slot. */
static void wr_post_imm(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_write writes[2] = {
		{ .laddr = 0x1000, .lkey = 1, .len = 10, .raddr = 0x5000, .rkey = 7 },
		{ .laddr = 0x2000, .lkey = 1, .len = 20, .raddr = 0x6000, .rkey = 7 },
	};
	struct smc_wr_slot *slot;
	struct fake_ib_wr *wr;

	slot = wr_take_slot(test, 1);
	KUNIT_ASSERT_EQ(test, smc_wr_post_imm(slot, 0xab123456, writes, 2, true), 0);
	KUNIT_ASSERT_EQ(test, t->fqp->nsends, 2);
	wr = fake_ib_sent(t->fqp, 0);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr->flags, 0);
	KUNIT_EXPECT_EQ(test, wr->raddr, 0x5000);
	wr = fake_ib_sent(t->fqp, 1);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wr->flags, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	KUNIT_EXPECT_EQ(test, wr->raddr, 0x6000);
	KUNIT_EXPECT_EQ(test, wr->imm, 0xab123456);
	KUNIT_EXPECT_EQ(test, slot->bytes, 30);
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->done_failed, 0);

	/* the next WRITEs are plain again, and complete nothing */
	slot = wr_take_slot(test, 2);
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, writes, 2, true), 0);
	wr = fake_ib_sent(t->fqp, 1);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_PTR_EQ(test, wr->cqe, &t->qp->write_cqe);
	KUNIT_EXPECT_EQ(test, fake_ib_sent(t->fqp, 2)->opcode, IB_WR_SEND);
	fake_ib_complete(t->fqp, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 2);

	slot = wr_take_slot(test, 3);
	KUNIT_EXPECT_EQ(test, smc_wr_post_imm(slot, 1, writes, 0, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_wr_post_imm(slot, 1, writes, SMC_WR_WRITES_MAX + 1, true),
			-EINVAL);
	/* a value that does not arrive breaks the queue pair, as a message would */
	KUNIT_ASSERT_EQ(test, smc_wr_post_imm(slot, 1, writes, 1, true), 0);
	fake_ib_complete(t->fqp, 1, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, t->done_failed, 1);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	slot = smc_wr_slot_get(t->qp);
	KUNIT_EXPECT_NULL(test, slot);
}

/* A WRITE with several gather elements is posted as given, and never inline. */
static void wr_post_gather(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct ib_sge sge[2] = {
		{ .addr = 0x1000, .length = 10, .lkey = 1 },
		{ .addr = 0x9000, .length = 20, .lkey = 2 },
	};
	struct smc_wr_write write = { .len = 30, .rkey = 7, .sge = sge, .nsge = 2 };
	struct smc_wr_slot *slot;
	struct fake_ib_wr *wr;

	t->fake->sdev->max_inline = 128;
	wr_env_connected(test);
	/* limit of the device */
	KUNIT_EXPECT_EQ(test, t->qp->max_sge, 1);
	slot = smc_wr_slot_get(t->qp);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, &write, 1, true), 0);
	wr = fake_ib_sent(t->fqp, 0);
	KUNIT_EXPECT_EQ(test, wr->flags, 0);
	KUNIT_ASSERT_EQ(test, wr->num_sge, 2);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, 0x1000);
	KUNIT_EXPECT_EQ(test, wr->sge[1].addr, 0x9000);
	KUNIT_EXPECT_EQ(test, wr->sge[1].length, 20);
	KUNIT_EXPECT_EQ(test, wr->sge[1].lkey, 2);
	KUNIT_EXPECT_EQ(test, slot->bytes, 30);
}

/* Short data is sent inline, with CPU addresses. */
static void wr_post_inline(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct smc_wr_write writes[2] = {
		{ .laddr = 1, .vaddr = writes, .len = 128 },
		{ .laddr = 1, .vaddr = writes, .len = 129 },
	};
	struct smc_wr_slot *slot;
	struct fake_ib_wr *wr;

	t->fake->sdev->max_inline = 128;
	wr_env_connected(test);
	KUNIT_ASSERT_EQ(test, t->qp->max_inline, 128);
	slot = smc_wr_slot_get(t->qp);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, writes, 2, true), 0);
	wr = fake_ib_sent(t->fqp, 0);
	KUNIT_EXPECT_EQ(test, wr->flags, IB_SEND_INLINE);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, (uintptr_t)writes);
	wr = fake_ib_sent(t->fqp, 1);
	KUNIT_EXPECT_EQ(test, wr->flags, 0);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, 1);
	wr = fake_ib_sent(t->fqp, 2);
	KUNIT_EXPECT_EQ(test, wr->flags, IB_SEND_INLINE | IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, (uintptr_t)slot->buf);
}

/* ---- completions ---- */

/* A signaled completion completes all slots posted before it, in order. */
static void wr_complete_batch(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u32 i;

	for (i = 1; i <= 5; i++)
		wr_env_post_one(test, i, i == 5);
	KUNIT_EXPECT_FALSE(test, smc_qp_is_idle(t->qp));
	fake_ib_complete(t->fqp, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 0);
	KUNIT_EXPECT_FALSE(test, smc_qp_is_idle(t->qp));
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 5);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
	/* No caller was refused a slot, so no upcall. */
	KUNIT_EXPECT_EQ(test, t->slots_free, 0);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

/* Some slots are signaled even if no caller asks for it, so that unsignaled slots become free. */
static void wr_signal_cadence(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u32 i, signaled = 0;

	for (i = 1; i <= WR_ENV_CDC_SLOTS; i++) {
		wr_env_post_one(test, i, false);
		if (fake_ib_sent(t->fqp, i - 1)->flags & IB_SEND_SIGNALED)
			signaled++;
		KUNIT_EXPECT_EQ(test, !!(fake_ib_sent(t->fqp, i - 1)->flags & IB_SEND_SIGNALED),
				!(i % SIGNAL_EVERY) || i == WR_ENV_CDC_SLOTS);
	}
	KUNIT_EXPECT_EQ(test, signaled, WR_ENV_CDC_SLOTS / SIGNAL_EVERY + 1);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	fake_ib_complete(t->fqp, WR_ENV_CDC_SLOTS, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, WR_ENV_CDC_SLOTS);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
	/* The count restarts after each signal. */
	for (i = 1; i <= SIGNAL_EVERY; i++)
		wr_env_post_one(test, WR_ENV_CDC_SLOTS + i, i == 3);
	KUNIT_EXPECT_EQ(test, t->qp->unsignaled, SIGNAL_EVERY - 3);
}

/* LLC messages are always signaled. */
static void wr_signal_llc(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot = smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN);

	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, false), 0);
	KUNIT_EXPECT_TRUE(test, fake_ib_sent(t->fqp, 0)->flags & IB_SEND_SIGNALED);
}

/* A request that the device completes twice does not complete slots posted in between. */
static void wr_complete_twice(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot = wr_env_post_one(test, 1, true);
	struct ib_wc wc = { .wr_cqe = &slot->cqe, .status = IB_WC_SUCCESS };

	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	/* Take the same slot; another one is posted before it. */
	KUNIT_ASSERT_PTR_EQ(test, smc_wr_slot_get(t->qp), slot);
	wr_env_post_one(test, 2, false);
	slot->cqe.done(t->qp->cq, &wc);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_FALSE(test, smc_qp_is_idle(t->qp));
	smc_wr_slot_put(slot);
}

/* In long use no slot is lost or handed out twice. */
static void wr_slots_churn(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u32 i, n = 0;
	u64 cookie = 0;

	for (i = 0; i < 20000; i++) {
		if (i % 7 < 5 && t->fqp->nsends < WR_ENV_CDC_SLOTS)
			wr_env_post_one(test, ++cookie, !(i % 11));
		else
			fake_ib_complete(t->fqp, 1 + i % 9, IB_WC_SUCCESS);
		if (cookie - t->done == WR_ENV_CDC_SLOTS)
			fake_ib_complete(t->fqp, WR_ENV_CDC_SLOTS, IB_WC_SUCCESS);
	}
	wr_env_post_one(test, ++cookie, true);
	fake_ib_complete(t->fqp, WR_ENV_SLOTS, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, cookie);
	KUNIT_EXPECT_EQ(test, t->qp->wrs, WR_ENV_CDC_WRS);
	while (smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN))
		n++;
	KUNIT_EXPECT_EQ(test, n, WR_ENV_SLOTS);
}

/* ---- failure ---- */

static void wr_completion_error(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *held = smc_wr_slot_get(t->qp);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, held);
	for (i = 1; i <= 5; i++)
		wr_env_post_one(test, i, false);
	/* The third fails; the result of the two before it is unknown. */
	fake_ib_complete(t->fqp, 3, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->status, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, t->done, 3);
	KUNIT_EXPECT_EQ(test, t->done_failed, 3);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get_llc(t->qp, SMC_WR_MSG_LEN));
	KUNIT_EXPECT_EQ(test, smc_wr_post(held, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_wr_slot_put(held);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 5);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	/* no upcall, as no slot can be taken */
	KUNIT_EXPECT_EQ(test, t->slots_free, 0);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
}

/* A caller that was refused a slot before the failure gets no slots_free. */
static void wr_starved_and_broken(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u32 i;

	for (i = 1; i <= WR_ENV_CDC_SLOTS; i++)
		wr_env_post_one(test, i, false);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	fake_ib_complete(t->fqp, 1, IB_WC_REM_ACCESS_ERR);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, WR_ENV_CDC_SLOTS);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->slots_free, 0);
}

static void wr_write_error(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_write write = { .len = 5000, .rkey = 1 };
	struct smc_wr_slot *slot = smc_wr_slot_get(t->qp);

	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->done = wr_env_done;
	slot->owner = t;
	slot->cookie = 1;
	KUNIT_ASSERT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, &write, 1, false), 0);
	fake_ib_complete(t->fqp, 1, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->status, IB_WC_REM_ACCESS_ERR);
	/* the message of the WRITE is still posted */
	KUNIT_EXPECT_EQ(test, t->done, 0);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_WR_FLUSH_ERR);
}

/* Refused WRITEs count as posted until the fence, as the device may have begun with them. */
static void wr_writes_refused(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_write write = { .len = 5000, .rkey = 1 };
	struct smc_wr_slot *slot = smc_wr_slot_get(t->qp);
	u64 posts = smc_stats_get(&init_net, SMC_STAT_WR_POSTS);

	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->done = wr_env_done;
	slot->owner = t;
	slot->cookie = 1;
	t->fake->fail_post = -ENOMEM;
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, &write, 1, true), 0);
	t->fake->fail_post = 0;
	/* ... but not in the statistics, as there is no completion */
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_WR_POSTS), posts);
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->done, 0);
	KUNIT_EXPECT_FALSE(test, smc_qp_is_idle(t->qp));
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_NE(test, t->last_status, IB_WC_SUCCESS);
}

static void wr_post_refused(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *slot;
	int refused, after;

	wr_env_post_one(test, 1, false);
	slot = smc_wr_slot_get(t->qp);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->done = wr_env_done;
	slot->owner = t;
	t->fake->fail_post = -ENOMEM;
	/* The caller may hold a lock that the upcall takes. */
	t->poster = current;
	/* No further post succeeds, even before the upcall. */
	preempt_disable();
	refused = smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true);
	t->fake->fail_post = 0;
	after = smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, refused, -ENOMEM);
	KUNIT_EXPECT_EQ(test, after, -ENOTCONN);
	t->poster = NULL;
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_FALSE(test, t->under_poster);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->status, IB_WC_FATAL_ERR);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_wr_slot_put(slot);
	smc_qp_drain(t->qp);
	/* done is called for posted slots only */
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
}

/* The failures that a fence causes are not reported. */
static void wr_fence(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct smc_wr_slot *held = smc_wr_slot_get(t->qp);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, held);
	wr_env_post_one(test, 1, true);
	smc_qp_drain_begin(t->qp, NULL);
	smc_qp_drain_begin(t->qp, NULL);
	KUNIT_EXPECT_EQ(test, t->fqp->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	KUNIT_EXPECT_EQ(test, smc_wr_post(held, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_qp_drain(t->qp);
	fake_ib_qp_event(t->fqp, IB_EVENT_QP_FATAL);
	smc_qp_destroy(t->qp);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	/* The memory of slots stays, that of receives is of no use. */
	KUNIT_EXPECT_NULL(test, t->qp->recvs);
	for (i = 0; i < t->qp->nmem; i++)
		KUNIT_EXPECT_EQ(test, !t->qp->mem[i].addr, t->qp->mem[i].dir == DMA_FROM_DEVICE);
	/* A link that is shut down can still be found for a moment. */
	smc_qp_drain_begin(t->qp, NULL);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	KUNIT_EXPECT_EQ(test, smc_wr_post(held, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_wr_slot_put(held);
	smc_qp_free(t->qp);
	t->qp = NULL;
}

/* Unsignaled slots with no signaled one behind them complete in the drain. */
static void wr_drain_unsignaled(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);

	wr_env_post_one(test, 1, false);
	wr_env_post_one(test, 2, false);
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->done, 0);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, t->done, 2);
}

/* If the device does not flush, the queue pair is destroyed, and all slots complete. */
static void wr_drain_stuck(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	unsigned long begin = jiffies;

	wr_env_post_one(test, 1, true);
	wr_env_post_one(test, 2, false);
	t->fake->no_flush = true;
	KUNIT_EXPECT_EQ(test, smc_qp_drain(t->qp), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + 10 * HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->ncq), 0);
	KUNIT_EXPECT_EQ(test, t->done, 2);
	KUNIT_EXPECT_EQ(test, t->last_status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	/* A second drain does nothing. */
	KUNIT_EXPECT_EQ(test, smc_qp_drain(t->qp), 0);
	smc_qp_drain_begin(t->qp, NULL);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
}

/* The time of the drain counts from its first half. */
static void wr_drain_halves(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	unsigned long begin = jiffies;

	wr_env_post_one(test, 1, true);
	t->fake->no_flush = true;
	smc_qp_drain_begin(t->qp, NULL);
	KUNIT_EXPECT_EQ(test, t->fqp->state, IB_QPS_ERR);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
	msleep(4000);
	KUNIT_EXPECT_LE(test, smc_qp_drain_left(t->qp), 6 * HZ);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 1);
	KUNIT_EXPECT_EQ(test, t->done, 0);
	/* beginning again does not extend it */
	smc_qp_drain_begin(t->qp, NULL);
	KUNIT_EXPECT_EQ(test, smc_qp_drain(t->qp), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + 10 * HZ));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + 14 * HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, smc_qp_drain_left(t->qp), 0);
}

/**
 * struct wr_late - what happens to a queue pair a second later
 * @work: does it
 * @t: the environment
 * @rc: what smc_qp_drain() returned
 */
struct wr_late {
	struct delayed_work work;
	struct wr_env *t;
	int rc;
};

static void wr_late_flush(struct work_struct *work)
{
	struct wr_late *late = container_of(to_delayed_work(work), struct wr_late, work);

	fake_ib_flush(late->t->fqp);
}

static void wr_late_drain(struct work_struct *work)
{
	struct wr_late *late = container_of(to_delayed_work(work), struct wr_late, work);

	late->rc = smc_qp_drain(late->t->qp);
}

static void wr_late_run(struct wr_late *late, struct wr_env *t, work_func_t fn)
{
	late->t = t;
	INIT_DELAYED_WORK_ONSTACK(&late->work, fn);
	schedule_delayed_work(&late->work, HZ);
}

static void wr_late_end(struct wr_late *late)
{
	flush_delayed_work(&late->work);
	destroy_delayed_work_on_stack(&late->work);
}

/* The caller of the first half is woken when the device has flushed. */
static void wr_drain_wakes(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(wait);
	struct wr_late late;

	wr_env_post_one(test, 1, true);
	t->fake->no_flush = true;
	smc_qp_drain_begin(t->qp, &wait);
	wr_late_run(&late, t, wr_late_flush);
	KUNIT_EXPECT_GT(test, wait_event_timeout(wait, !smc_qp_drain_left(t->qp), 8 * HZ), 4 * HZ);
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, smc_qp_drain(t->qp), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 1);
	wr_late_end(&late);
	wr_env_end_qp(t);
}

/* Two drains at once: both wait until the end, which one of them brings about. */
static void wr_drain_twice(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	unsigned long begin = jiffies;
	struct wr_late late;
	int rc;

	wr_env_post_one(test, 1, true);
	t->fake->no_flush = true;
	wr_late_run(&late, t, wr_late_drain);
	rc = smc_qp_drain(t->qp);
	wr_late_end(&late);
	KUNIT_EXPECT_EQ(test, rc + late.rc, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + 10 * HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->ncq), 0);
	KUNIT_EXPECT_EQ(test, t->done, 1);
}

/* A device that refuses the drain marker. */
static void wr_drain_refused(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	unsigned long begin = jiffies;

	wr_env_post_one(test, 1, true);
	t->fake->no_flush = true;
	t->fake->fail_recv_after = 0;
	KUNIT_EXPECT_EQ(test, smc_qp_drain(t->qp), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + 5 * HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, t->done, 1);
}

/* The time counts from the last completion, not from the post of a request in the queue. */
static void wr_waiting(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	unsigned long since = 0, posted;

	t->qp->tail.armed = true;	/* prevent probes */
	KUNIT_EXPECT_FALSE(test, smc_qp_owes_completion(t->qp, &since));
	wr_env_post_one(test, 1, false);
	KUNIT_EXPECT_FALSE(test, smc_qp_owes_completion(t->qp, &since));
	msleep(50);
	posted = jiffies;
	wr_env_post_one(test, 2, true);
	wr_env_post_one(test, 3, true);
	KUNIT_EXPECT_TRUE(test, smc_qp_owes_completion(t->qp, &since));
	KUNIT_EXPECT_TRUE(test, time_after_eq(since, posted));
	msleep(50);
	posted = jiffies;
	fake_ib_complete(t->fqp, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, smc_qp_owes_completion(t->qp, &since));
	KUNIT_EXPECT_TRUE(test, time_after_eq(since, posted));
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, smc_qp_owes_completion(t->qp, &since));
}

static void wr_async_event(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);

	fake_ib_qp_event(t->fqp, IB_EVENT_COMM_EST);
	fake_ib_qp_event(t->fqp, IB_EVENT_SQ_DRAINED);
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	fake_ib_qp_event(t->fqp, IB_EVENT_QP_ACCESS_ERR);
	fake_ib_qp_event(t->fqp, IB_EVENT_QP_REQ_ERR);
	flush_work(&t->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->qp));
}

/* ---- registration ---- */

static struct ib_mr *wr_make_mr(struct kunit *test)
{
	struct wr_env *t = test->priv;
	struct ib_mr *mr = ib_alloc_mr(t->qp->pd, IB_MR_TYPE_MEM_REG, 4);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	return mr;
}

/* The MR must be freed after the drain and before the PD. */
static void wr_end_qp_with_mr(struct kunit *test, struct ib_mr *mr)
{
	struct wr_env *t = test->priv;

	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, ib_dereg_mr(mr), 0);
	smc_qp_destroy(t->qp);
	smc_qp_free(t->qp);
	t->qp = NULL;
}

static void wr_reg(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct ib_mr *mr = wr_make_mr(test);

	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_key, mr->lkey);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_REMOTE_WRITE), 0);
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_key, mr->rkey);
	KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
	t->fake->reg = FAKE_IB_REG_ERROR;
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -EIO);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nreg), 3);
	wr_end_qp_with_mr(test, mr);
}

/* A registration does not wait for the peer: not behind requests that it does not acknowledge. */
static void wr_reg_deaf_peer(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct ib_mr *mr = wr_make_mr(test);
	unsigned long begin = jiffies;

	wr_env_post_one(test, 1, true);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_REMOTE_WRITE), 0);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + HZ));
	KUNIT_EXPECT_EQ(test, t->done, 0);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends, 1);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	wr_end_qp_with_mr(test, mr);
}

/*
 * Regions of a new link are registered over its own queue pair, later ones over another one, on
 * which the peer has no rights.
 */
static void wr_reg_queue(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct ib_mr *mr = wr_make_mr(test);
	struct fake_ib_qp *reg;

	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp_reg), 0);
	/* also if what was sent is acknowledged: it may be sent again */
	wr_env_post_one(test, 1, true);
	fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_ASSERT_EQ(test, atomic_read(&t->fake->nqp_reg), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nreg), 4);
	reg = fake_ib_qp(t->qp->mr_queue.qp);
	KUNIT_EXPECT_EQ(test, reg->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, reg->access, 0);
	KUNIT_EXPECT_EQ(test, reg->nrecvs, 0);
	KUNIT_EXPECT_EQ(test, t->fqp->access, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	wr_end_qp_with_mr(test, mr);
}

/* Without a queue pair for it a later registration fails, and the next one tries again. */
static void wr_reg_queue_fails(struct kunit *test)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct wr_env *t = test->priv;
	struct ib_mr *mr;
	int i;

	wr_env_make_qp(test);
	mr = wr_make_mr(test);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ENOTCONN);
	wr_end_qp_with_mr(test, mr);
	wr_env_connected(test);
	mr = wr_make_mr(test);
	wr_env_post_one(test, 1, true);
	t->fake->fail_cq = true;
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ENOMEM);
	t->fake->fail_cq = false;
	t->fake->wr_limit = 0;
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -EINVAL);
	t->fake->wr_limit = U32_MAX;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		t->fake->fail_modify = states[i];
		KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -EIO);
	}
	t->fake->fail_modify = -1;
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp_reg), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->ncq), 1);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp_reg), 1);
	smc_qp_drain(t->qp);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ENOTCONN);
	wr_end_qp_with_mr(test, mr);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp_reg), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->ncq), 0);
}

static void wr_reg_refused(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	struct ib_mr *mr = wr_make_mr(test);
	int i;

	for (i = 0; i < 2; i++) {
		t->fake->fail_post = -ENOMEM;
		KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ENOMEM);
		t->fake->fail_post = 0;
		KUNIT_EXPECT_TRUE(test, smc_qp_is_idle(t->qp));
		KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp_reg), i);
		wr_env_post_one(test, 1 + i, true);
		fake_ib_complete(t->fqp, 1, IB_WC_SUCCESS);
	}
	wr_end_qp_with_mr(test, mr);
}

/* If the device does not complete a REG_MR, the wait ends and the queue pair is broken. */
static void wr_reg_times_out(struct kunit *test, bool sent)
{
	struct wr_env *t = wr_env_connected(test);
	struct ib_mr *mr = wr_make_mr(test);
	unsigned long begin = jiffies;

	if (sent)
		wr_env_post_one(test, 1, true);
	t->fake->reg = FAKE_IB_REG_HOLD;
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + 5 * HZ));
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	/* It must not complete later, when the MR may be gone. */
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp_reg), 0);
	KUNIT_EXPECT_EQ(test, t->fqp->nsends > 0, sent);
	KUNIT_EXPECT_EQ(test, smc_mr_register(t->qp, mr, IB_ACCESS_LOCAL_WRITE), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	wr_end_qp_with_mr(test, mr);
}

static void wr_reg_timeout(struct kunit *test)
{
	wr_reg_times_out(test, true);
}

static void wr_reg_timeout_first(struct kunit *test)
{
	wr_reg_times_out(test, false);
}

/* ---- receiving ---- */

static void wr_fill_pattern(u8 *buf, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		buf[i] = i * 7 + len;
}

/* @batch: receives that are posted again together */
static void wr_receive_sizes(struct kunit *test, const u32 *sizes, u32 n, u32 batch)
{
	struct wr_env *t = test->priv;
	u32 recvs = t->fqp->nrecvs;
	u8 *buf = kunit_kzalloc(test, SMC_WR_LLC_MAX, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < n; i++) {
		wr_fill_pattern(buf, sizes[i]);
		memset(t->bytes, 0, sizeof(t->bytes));
		fake_ib_receive(t->fqp, buf, sizes[i], sizes[i], IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, t->received, i + 1);
		KUNIT_EXPECT_EQ(test, t->len, sizes[i]);
		KUNIT_EXPECT_MEMEQ(test, t->bytes, buf, sizes[i]);
		/* the last ones of each batch were posted again */
		KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, recvs - (i + 1) % batch);
	}
}

static const u32 sizes[] = { 44, 1, 63, 64, 65, 0, 255, 4096, 8191, 8192, 8192, 8192, 8192, 44 };

static void wr_receive(struct kunit *test)
{
	wr_env_connected(test);
	wr_env_warm_up(test);
	wr_receive_sizes(test, sizes, ARRAY_SIZE(sizes), SMC_WR_RECV_BATCH);
}

/* Devices with one scatter element get fewer receives, each with a long buffer. */
static void wr_receive_one_sge(struct kunit *test)
{
	struct wr_env *t = test->priv;

	t->fake->sdev->max_recv_sge = 1;
	wr_env_connected(test);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_LONG);
	KUNIT_EXPECT_EQ(test, t->fqp->cap.max_recv_sge, 1);
	wr_receive_sizes(test, sizes, ARRAY_SIZE(sizes), WR_ENV_RECVS_LONG / 16);
}

/* Return whether two of the posted receives have the same memory. */
static bool wr_receives_twice(const struct fake_ib_qp *fqp)
{
	const struct fake_ib_wr *a, *b;

	list_for_each_entry(a, &fqp->recvs, entry) {
		b = a;
		list_for_each_entry_continue(b, &fqp->recvs, entry)
			if (a->sge[0].addr == b->sge[0].addr)
				return true;
	}
	return false;
}

/*
 * A new queue pair has few receives; each message has a batch more posted, until all are, and none
 * of them twice.
 */
static void wr_receive_more(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	const u32 batches = (WR_ENV_RECVS - WR_ENV_RECVS_FIRST) / SMC_WR_RECV_BATCH;
	u8 buf[SMC_WR_MSG_LEN] = { };
	u32 i, out;

	for (i = 1; i <= 3 * WR_ENV_RECVS; i++) {
		fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
		out = t->fqp->nrecvs + t->qp->recv_batch.n;
		KUNIT_ASSERT_EQ(test, out,
				WR_ENV_RECVS_FIRST + min(i, batches) * SMC_WR_RECV_BATCH);
	}
	KUNIT_EXPECT_FALSE(test, wr_receives_twice(t->fqp));
	KUNIT_EXPECT_EQ(test, t->received, 3 * WR_ENV_RECVS);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

/*
 * If the device refuses further receives, the queue pair breaks, as for one that is posted again.
 */
static void wr_receive_more_fails(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u8 buf[SMC_WR_MSG_LEN] = { };

	t->fake->fail_recv_after = 0;
	fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->received, 1);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	t->fake->fail_recv_after = -1;
	/* nothing is posted afterwards */
	fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_FIRST - 2);
}

/* Memory to put a long message together is there from the first one on. */
static void wr_receive_first_long(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u64 bytes = smc_qp_get_bytes(t->qp);
	u8 buf[65] = { };

	fake_ib_receive(t->fqp, buf, sizeof(buf) - 1, sizeof(buf) - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_NULL(test, t->qp->long_buf);
	fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
	KUNIT_EXPECT_NOT_NULL(test, t->qp->long_buf);
	KUNIT_EXPECT_EQ(test, smc_qp_get_bytes(t->qp), bytes + SMC_WR_LLC_MAX);
}

/* Use every receive, to check the buffer of each. */
static void wr_receive_all(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u8 buf[200];
	u32 i;

	for (i = 0; i < 2 * WR_ENV_RECVS; i++) {
		wr_fill_pattern(buf, sizeof(buf));
		buf[0] = i;
		fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
		KUNIT_EXPECT_MEMEQ(test, t->bytes, buf, sizeof(buf));
	}
	KUNIT_EXPECT_EQ(test, t->received, 2 * WR_ENV_RECVS);
}

/* A message with an invalid length from the device is dropped. */
static void wr_receive_bad_length(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u8 buf[64] = { };

	wr_env_warm_up(test);
	fake_ib_receive(t->fqp, buf, sizeof(buf), SMC_WR_LLC_MAX + 1, IB_WC_SUCCESS);
	fake_ib_receive(t->fqp, buf, sizeof(buf), U32_MAX, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->received, 0);
	KUNIT_EXPECT_EQ(test, t->qp->recv_batch.n, 2);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS - 2);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

/* The receive that such a WRITE consumes holds an old message, which is not delivered again. */
static void wr_receive_imm(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u8 buf[SMC_WR_MSG_LEN] = { 0xfe };
	u32 i;

	for (i = 0; i < WR_ENV_RECVS; i++)
		fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
	for (i = 0; i < WR_ENV_RECVS; i++) {
		fake_ib_write_with_imm(t->fqp, SMC_WR_MSG_LEN, 0x12345600 + i);
		KUNIT_EXPECT_EQ(test, t->imm, 0x12345600 + i);
	}
	KUNIT_EXPECT_EQ(test, t->imms, WR_ENV_RECVS);
	KUNIT_EXPECT_EQ(test, t->received, WR_ENV_RECVS);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS);
	KUNIT_EXPECT_EQ(test, t->broken, 0);
}

static void wr_receive_error(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u8 buf[64] = { };

	fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->status, IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, t->received, 0);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_FIRST - 1);
	/* The message is delivered, but the receive is not posted again. */
	fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->fqp->nrecvs, WR_ENV_RECVS_FIRST - 2);
}

static void wr_receive_no_repost(struct kunit *test)
{
	struct wr_env *t = wr_env_connected(test);
	u8 buf[64] = { };
	u32 i;

	wr_env_warm_up(test);
	t->fake->fail_recv_after = SMC_WR_RECV_BATCH / 2;
	for (i = 1; i <= SMC_WR_RECV_BATCH; i++) {
		KUNIT_EXPECT_EQ(test, t->broken, 0);
		fake_ib_receive(t->fqp, buf, sizeof(buf), sizeof(buf), IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, t->received, i);
	}
	KUNIT_EXPECT_EQ(test, t->broken, 1);
	KUNIT_EXPECT_EQ(test, t->status, IB_WC_GENERAL_ERR);
}

static struct kunit_case wr_cases[] = {
	KUNIT_CASE(wr_create),
	KUNIT_CASE(wr_create_fails),
	KUNIT_CASE(wr_create_inline),
	KUNIT_CASE(wr_create_small),
	KUNIT_CASE(wr_create_depth),
	KUNIT_CASE(wr_connect_refused),
	KUNIT_CASE(wr_connect_fails),
	KUNIT_CASE(wr_connect),
	KUNIT_CASE(wr_slots),
	KUNIT_CASE(wr_slots_long),
	KUNIT_CASE(wr_slots_returned),
	KUNIT_CASE(wr_slots_llc_writes),
	KUNIT_CASE(wr_slots_llc),
	KUNIT_CASE(wr_slots_llc_starved),
	KUNIT_CASE(wr_post_sizes),
	KUNIT_CASE(wr_post_chain),
	KUNIT_CASE(wr_post_inline),
	KUNIT_CASE(wr_post_imm),
	KUNIT_CASE(wr_post_gather),
	KUNIT_CASE(wr_complete_batch),
	KUNIT_CASE(wr_signal_cadence),
	KUNIT_CASE(wr_signal_llc),
	KUNIT_CASE(wr_complete_twice),
	KUNIT_CASE(wr_slots_churn),
	KUNIT_CASE(wr_completion_error),
	KUNIT_CASE(wr_starved_and_broken),
	KUNIT_CASE(wr_write_error),
	KUNIT_CASE(wr_post_refused),
	KUNIT_CASE(wr_writes_refused),
	KUNIT_CASE(wr_fence),
	KUNIT_CASE(wr_drain_unsignaled),
	KUNIT_CASE_SLOW(wr_drain_stuck),
	KUNIT_CASE_SLOW(wr_drain_halves),
	KUNIT_CASE_SLOW(wr_drain_wakes),
	KUNIT_CASE_SLOW(wr_drain_twice),
	KUNIT_CASE(wr_drain_refused),
	KUNIT_CASE(wr_waiting),
	KUNIT_CASE(wr_async_event),
	KUNIT_CASE(wr_reg),
	KUNIT_CASE(wr_reg_deaf_peer),
	KUNIT_CASE(wr_reg_queue),
	KUNIT_CASE(wr_reg_queue_fails),
	KUNIT_CASE(wr_reg_refused),
	KUNIT_CASE_SLOW(wr_reg_timeout),
	KUNIT_CASE_SLOW(wr_reg_timeout_first),
	KUNIT_CASE(wr_receive),
	KUNIT_CASE(wr_receive_one_sge),
	KUNIT_CASE(wr_receive_more),
	KUNIT_CASE(wr_receive_more_fails),
	KUNIT_CASE(wr_receive_first_long),
	KUNIT_CASE(wr_receive_all),
	KUNIT_CASE(wr_receive_bad_length),
	KUNIT_CASE(wr_receive_imm),
	KUNIT_CASE(wr_receive_error),
	KUNIT_CASE(wr_receive_no_repost),
	{ }
};

struct kunit_suite smc_wr_suite = {
	.name = "smc_wr",
	.init = wr_env_init,
	.exit = wr_env_exit,
	.test_cases = wr_cases,
};
