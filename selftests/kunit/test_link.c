// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: messages, failures and the end of a link (lgr/link.c). */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <smc/lgr/link.h>

#include "fake_ib.h"
#include "suites.h"

/**
 * struct link_test - the environment of one case
 * @fake: device
 * @link: link under test, with the creator's reference
 * @qp: its queue pair in the fake device
 * @cdc: number of CDC messages received
 * @llc: number of LLC messages received
 * @len: length of the last message
 * @lost: number of lost upcalls
 * @reason: reason of the last one
 * @slots_free: number of slots_free upcalls
 * @unmapped: number of link_test_unmap callbacks
 * @unmapped_late: the queue pair was already destroyed at one of them
 */
struct link_test {
	struct fake_ib *fake;
	struct smc_link *link;
	struct fake_ib_qp *qp;
	u32 cdc;
	u32 llc;
	u32 len;
	u32 lost;
	enum smc_link_reason reason;
	u32 slots_free;
	u32 unmapped;
	bool unmapped_late;
};

static void link_count_llc(struct smc_link *link, const u8 *buf, u32 len)
{
	struct link_test *t = link->lgr;

	t->llc++;
	t->len = len;
}

static void link_count_cdc(struct smc_link *link, const u8 *buf, u32 len)
{
	struct link_test *t = link->lgr;

	t->cdc++;
	t->len = len;
}

static void link_count_lost(struct smc_link *link, enum smc_link_reason reason)
{
	struct link_test *t = link->lgr;

	t->lost++;
	t->reason = reason;
}

static void link_count_slots_free(struct smc_link *link)
{
	struct link_test *t = link->lgr;

	t->slots_free++;
}

static const struct smc_link_events link_test_events = {
	.llc = link_count_llc,
	.cdc = link_count_cdc,
	.failed = link_count_lost,
	.slots_free = link_count_slots_free,
};

static void link_test_unmap(struct smc_link *link)
{
	struct link_test *t = link->lgr;

	t->unmapped++;
	t->unmapped_late |= !link->qp->pd || !smc_qp_is_idle(link->qp);
}

static int link_init(struct kunit *test)
{
	struct link_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct smc_path path;

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->fake = fake_ib_create(test);
	fake_ib_path(t->fake, &path);
	t->link = smc_link_create(t, &init_net, 0, &path, &link_test_events);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->link);
	KUNIT_EXPECT_NULL(test, path.dev);
	t->qp = fake_ib_qp(t->link->qp->qp);
	t->link->peer_gid = t->link->path.gid.gid;
	t->link->peer_qpn = 7;
	t->link->peer_psn = 8;
	return 0;
}

static void link_exit(struct kunit *test)
{
	struct link_test *t = test->priv;

	if (!t)
		return;
	if (!IS_ERR_OR_NULL(t->link)) {
		smc_link_shutdown(t->link, link_test_unmap);
		KUNIT_EXPECT_EQ(test, t->unmapped, 1);
		KUNIT_EXPECT_FALSE(test, t->unmapped_late);
		smc_link_put(t->link);
	}
	fake_ib_destroy(test, t->fake);
}

static void link_bring_up(struct kunit *test)
{
	struct link_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, smc_link_connect(t->link), 0);
	smc_link_activate(t->link);
	KUNIT_ASSERT_TRUE(test, smc_link_usable(t->link));
}

static void link_deliver(struct link_test *t, u8 type, u32 len)
{
	u8 buf[64] = { type };

	fake_ib_receive(t->qp, buf, sizeof(buf), len, IB_WC_SUCCESS);
}

/* The first byte tells the type; its upper two bits tell whether an unknown type may be ignored. */
static void link_dispatch(struct kunit *test)
{
	struct link_test *t = test->priv;
	u32 cdc = 0, llc = 0;
	int type;

	link_bring_up(test);
	for (type = 0; type < 256; type++) {
		link_deliver(t, type, 44);
		if (type == 0xfe)
			cdc++;
		else if (type < 0x40)
			llc++;
		KUNIT_EXPECT_EQ(test, t->cdc, cdc);
		KUNIT_EXPECT_EQ(test, t->llc, llc);
	}
	KUNIT_EXPECT_EQ(test, t->cdc, 1);
	link_deliver(t, 0xfe, 0);
	KUNIT_EXPECT_EQ(test, t->cdc, 1);
	/* lengths are checked by the upper layers */
	link_deliver(t, 0xfe, 1);
	KUNIT_EXPECT_EQ(test, t->cdc, 2);
	KUNIT_EXPECT_EQ(test, t->len, 1);
	KUNIT_EXPECT_EQ(test, t->lost, 0);
}

static void link_states(struct kunit *test)
{
	struct link_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, atomic_read(&t->link->state), SMC_LINK_INIT);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t->link));
	/* too early, without effect */
	smc_link_activate(t->link);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t->link));
	KUNIT_ASSERT_EQ(test, smc_link_connect(t->link), 0);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t->link));
	/* the peer's CONFIRM LINK may arrive before our own state change */
	link_deliver(t, 1, 44);
	KUNIT_EXPECT_EQ(test, t->llc, 1);
	KUNIT_EXPECT_NE(test, smc_link_connect(t->link), 0);
	smc_link_activate(t->link);
	KUNIT_EXPECT_TRUE(test, smc_link_usable(t->link));
}

static void link_psn(struct kunit *test)
{
	struct link_test *t = test->priv;

	KUNIT_EXPECT_LE(test, t->link->psn, 0xffffff);
	KUNIT_EXPECT_EQ(test, t->link->mtu, IB_MTU_1024);
}

/* The first reason stays and is reported once. */
static void link_fail(struct kunit *test)
{
	struct link_test *t = test->priv;

	link_bring_up(test);
	local_bh_disable();
	smc_link_fail(t->link, SMC_LINK_TEST_TIMEOUT);
	smc_link_fail(t->link, SMC_LINK_PORT_DOWN);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, t->lost, 1);
	KUNIT_EXPECT_EQ(test, t->reason, SMC_LINK_TEST_TIMEOUT);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->link->reason), SMC_LINK_TEST_TIMEOUT);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t->link));
	/* until the fence, CDC is accepted and LLC is not */
	link_deliver(t, 0xfe, 44);
	KUNIT_EXPECT_EQ(test, t->cdc, 1);
	link_deliver(t, 1, 44);
	KUNIT_EXPECT_EQ(test, t->llc, 0);
	smc_link_activate(t->link);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t->link));
	KUNIT_EXPECT_FALSE(test, smc_link_fenced(t->link));
	smc_link_fence(t->link);
	KUNIT_EXPECT_TRUE(test, smc_link_fenced(t->link));
	KUNIT_EXPECT_NE(test, atomic_read(&t->link->state), SMC_LINK_DEAD);
}

static void link_qp_breaks(struct kunit *test)
{
	struct link_test *t = test->priv;

	link_bring_up(test);
	fake_ib_receive(t->qp, NULL, 0, 0, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, t->lost, 1);
	KUNIT_EXPECT_EQ(test, t->reason, SMC_LINK_QP_ERROR);
}

/* An orderly end is not reported as a loss. */
static void link_shutdown(struct kunit *test)
{
	struct link_test *t = test->priv;
	struct smc_wr_slot *slot;

	link_bring_up(test);
	slot = smc_wr_slot_get(t->link->qp);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	smc_link_get(t->link);
	smc_link_shutdown(t->link, link_test_unmap);
	KUNIT_EXPECT_EQ(test, t->unmapped, 1);
	KUNIT_EXPECT_EQ(test, t->lost, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->link->reason), SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->link->state), SMC_LINK_DEAD);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->npd), 0);
	smc_link_put(t->link);
	/* with a reference the link can be read, but posts fail */
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_wr_slot_put(slot);
	KUNIT_EXPECT_NULL(test, smc_wr_slot_get(t->link->qp));
	smc_link_fail(t->link, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_EQ(test, t->lost, 0);
	smc_link_put(t->link);
	t->link = NULL;
}

/* A link that cannot be created puts its path. */
static void link_create_fails(struct kunit *test)
{
	struct link_test *t = test->priv;
	u32 refs = kref_read(&t->fake->sdev->ref);
	struct smc_path path;

	fake_ib_path(t->fake, &path);
	t->fake->fail_cq = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_link_create(t, &init_net, 1, &path, &link_test_events)),
			-ENOMEM);
	t->fake->fail_cq = false;
	KUNIT_EXPECT_NULL(test, path.dev);
	KUNIT_EXPECT_EQ(test, kref_read(&t->fake->sdev->ref), refs);
}

static void link_connect_fails(struct kunit *test)
{
	struct link_test *t = test->priv;

	t->fake->fail_modify = IB_QPS_RTR;
	KUNIT_EXPECT_EQ(test, smc_link_connect(t->link), -EIO);
	t->fake->fail_modify = -1;
	smc_link_activate(t->link);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(t->link));
	smc_link_fail(t->link, SMC_LINK_SETUP_FAILED);
	KUNIT_EXPECT_EQ(test, t->lost, 1);
}

static void link_slots_free(struct kunit *test)
{
	struct link_test *t = test->priv;
	struct smc_wr_slot *slot, *last = NULL;

	link_bring_up(test);
	while ((slot = smc_wr_slot_get(t->link->qp)))
		last = slot;
	KUNIT_ASSERT_NOT_NULL(test, last);
	smc_wr_slot_put(last);
	flush_work(&t->link->qp->upcall_work);
	KUNIT_EXPECT_EQ(test, t->slots_free, 1);
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
	KUNIT_CASE(link_slots_free),
	KUNIT_CASE(link_reasons),
	{ }
};

struct kunit_suite smc_link_suite = {
	.name = "smc_link",
	.init = link_init,
	.exit = link_exit,
	.test_cases = link_cases,
};
