// SPDX-License-Identifier: GPL-2.0-only
/* Zero-copy sending: which pages are taken, how runs are posted, when they are freed. */
#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "../../conn/failover.h"

#include "lgr_env.h"
#include "suites.h"

#define PAGES	64
#define RING	SZ_64K

/**
 * struct zerocopy_env - a connection with only its sending direction
 * @conn: connection
 * @page: page whose bytes are sent
 * @vec: pieces of it
 * @seen: references of @page before the case
 */
struct zerocopy_env {
	struct smc_conn conn;
	struct page *page;
	struct bio_vec vec[PAGES];
	int seen;
};

/* Return an iterator of @n pieces of @len bytes each; each piece counts as a page. */
static struct iov_iter zerocopy_env_iter(struct zerocopy_env *s, u32 n, u32 len)
{
	struct iov_iter iter;
	u32 i;

	for (i = 0; i < n; i++)
		s->vec[i] = (struct bio_vec){ .bv_page = s->page, .bv_len = len };
	iov_iter_bvec(&iter, ITER_SOURCE, s->vec, n, (size_t)n * len);
	return iter;
}

/* Not freed by a failed case, which may still use it. */
static struct zerocopy_env *zerocopy_env_alloc(struct kunit *test)
{
	struct zerocopy_env *s = kzalloc(sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, s->page);
	s->seen = page_count(s->page);
	return s;
}

static void zerocopy_env_free(struct kunit *test, struct zerocopy_env *s)
{
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen);
	__free_page(s->page);
	kfree(s);
}

/* Pages with few bytes are not taken: the bytes are to be copied. */
static void zerocopy_sparse(struct kunit *test)
{
	struct zerocopy_env *s = zerocopy_env_alloc(test);
	struct iov_iter iter = zerocopy_env_iter(s, PAGES, 511);
	struct smc_zerocopy_run *run;

	run = smc_zerocopy_take_pages(&iter, iov_iter_count(&iter), NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(run), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), PAGES * 511);
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen);
	if (!IS_ERR(run))
		smc_zerocopy_free(run);
	/* part of sparse pieces, then dense ones */
	iter = zerocopy_env_iter(s, PAGES, 16);
	run = smc_zerocopy_take_pages(&iter, 100, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(run), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), PAGES * 16);
	if (!IS_ERR(run))
		smc_zerocopy_free(run);
	iter = zerocopy_env_iter(s, PAGES, 512);
	run = smc_zerocopy_take_pages(&iter, iov_iter_count(&iter), NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, run);
	KUNIT_EXPECT_EQ(test, smc_zerocopy_get_len(run), PAGES * 512);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), 0);
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen + PAGES);
	smc_zerocopy_free(run);
	zerocopy_env_free(test, s);
}

static void zerocopy_env_work_fn(struct work_struct *work)
{
}

/* Set up a connection over the first link of its own group, with whole rings free. */
static struct zerocopy_env *zerocopy_env_begin(struct kunit *test, struct smc_lgr *lgr)
{
	struct smc_link *link = smc_lgr_get_link(lgr, 0);
	struct zerocopy_env *s = zerocopy_env_alloc(test);
	struct smc_conn *conn = &s->conn;
	struct smc_region *region;

	KUNIT_ASSERT_NOT_NULL(test, link);
	kref_init(&conn->ref);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->tx.runs);
	INIT_LIST_HEAD(&conn->tx.runs_done);
	INIT_DELAYED_WORK(&conn->work, zerocopy_env_work_fn);
	conn->wq = alloc_workqueue("smc_kunit", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, conn->wq);
	conn->net = &init_net;
	conn->stats = smc_stats_of(&init_net);
	conn->lgr = lgr;
	conn->link = link;
	smc_link_add_conn(link);
	conn->state = SMC_CONN_ACTIVE;
	smc_tcpinfo_init(conn);

	mutex_lock(&lgr->mutex);
	region = smc_region_alloc(&lgr->pool, SMC_REGION_SND, RING, 512, SMC_REGION_NEEDED);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	KUNIT_ASSERT_EQ(test, smc_region_map(region, link->slot, link->qp), 0);
	mutex_unlock(&lgr->mutex);
	smc_region_publish(&lgr->pool, region);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&lgr->pool, SMC_REGION_SND, RING, &conn->tx.elem), 0);
	KUNIT_ASSERT_EQ(test, smc_ring_tx_init(&conn->tx.ring, RING, RING, 0), 0);
	conn->tx.peer_size = RING;
	return s;
}

/* End the group and with it all requests. */
static void zerocopy_env_end(struct kunit *test, struct zerocopy_env *s)
{
	struct smc_conn *conn = &s->conn;

	smc_lgr_terminate(conn->lgr, SMC_LINK_ADMIN);
	KUNIT_ASSERT_TRUE(test, env_wait_no_qp(test->priv));
	cancel_delayed_work_sync(&conn->work);
	destroy_workqueue(conn->wq);
	smc_zerocopy_free_all(conn);
	KUNIT_EXPECT_EQ(test, conn->tx.inflight, 0);
	KUNIT_EXPECT_EQ(test, kref_read(&conn->ref), 1);
	smc_elem_free(&conn->lgr->pool, &conn->tx.elem, false);
	smc_link_del_conn(conn->link);
	zerocopy_env_free(test, s);
}

/* The link fails when the peer has read all bytes but no completion has arrived. */
static void zerocopy_read_at_failover(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_link *second = env_add_link(test, lgr);
	struct zerocopy_env *s = zerocopy_env_begin(test, lgr);
	struct smc_conn *conn = &s->conn;
	struct iov_iter iter = zerocopy_env_iter(s, 2, PAGE_SIZE);
	struct smc_link *first = conn->link;

	env_bring_up(test, second);
	smc_link_get(first);
	KUNIT_ASSERT_EQ(test, smc_tx_write_pages(conn, &iter, 2 * PAGE_SIZE, false, NULL),
			2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, conn->tx.inflight, 1);
	conn->tx.ring.peer_consumed = conn->tx.ring.sent;
	smc_lgr_del_link(first, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, conn->tx.inflight, 0);
	smc_zerocopy_flush(conn);
	/* the bytes may still have to be written again */
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen + 2);
	/* the peer's keys are not known over the other link, which does not matter here */
	spin_lock_bh(&conn->lock);
	KUNIT_EXPECT_EQ(test, smc_conn_switch_link_locked(conn), -ENOKEY);
	spin_unlock_bh(&conn->lock);
	smc_zerocopy_flush(conn);
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen);
	smc_link_put(first);
	smc_link_put(second);
	zerocopy_env_end(test, s);
}

/* Return the bytes of the WRITEs before the next message; moves @i behind it. */
static u32 zerocopy_next_post(struct fake_ib_qp *qp, u32 *i)
{
	struct fake_ib_wr *wr;
	u32 sum = 0;
	int n;

	for (;;) {
		wr = fake_ib_sent(qp, (*i)++);
		if (!wr || wr->opcode != IB_WR_RDMA_WRITE)
			return sum;
		for (n = 0; n < wr->num_sge; n++)
			sum += wr->sge[n].length;
	}
}

/* A chain that is full does not leave an urgent byte alone either. */
static void zerocopy_urgent_not_alone(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct zerocopy_env *s = zerocopy_env_begin(test, lgr);
	struct smc_conn *conn = &s->conn;
	struct fake_ib_qp *qp = fake_ib_qp(conn->link->qp->qp);
	struct iov_iter iter = zerocopy_env_iter(s, SMC_WR_WRITES_MAX, 4096);
	struct kvec byte = { .iov_base = "!", .iov_len = 1 };
	u32 i = 0;

	/* the device has one gather element per WRITE */
	KUNIT_ASSERT_EQ(test, conn->link->qp->max_sge, 1);
	conn->tx.move.state = SMC_MOVE_WAIT;
	KUNIT_ASSERT_EQ(test, smc_tx_write_pages(conn, &iter, 4 * 4096, false, NULL), 4 * 4096);
	iov_iter_kvec(&iter, ITER_SOURCE, &byte, 1, 1);
	KUNIT_ASSERT_EQ(test, smc_tx_write(conn, &iter, 1, false, true), 1);
	KUNIT_ASSERT_EQ(test, conn->tx.inflight, 0);
	conn->tx.move.state = SMC_MOVE_IDLE;
	smc_tx_push(conn, false);
	KUNIT_EXPECT_EQ(test, zerocopy_next_post(qp, &i), 4 * 4096 - 1);
	KUNIT_EXPECT_EQ(test, zerocopy_next_post(qp, &i), 2);
	KUNIT_EXPECT_EQ(test, conn->tx.inflight, 2);
	zerocopy_env_end(test, s);
}

static struct kunit_case zerocopy_cases[] = {
	KUNIT_CASE(zerocopy_sparse),
	KUNIT_CASE(zerocopy_urgent_not_alone),
	KUNIT_CASE(zerocopy_read_at_failover),
	{ }
};

struct kunit_suite smc_zerocopy_suite = {
	.name = "smc_zerocopy",
	.suite_init = env_suite_init,
	.suite_exit = env_suite_exit,
	.init = env_init,
	.exit = env_exit,
	.test_cases = zerocopy_cases,
};
