// SPDX-License-Identifier: GPL-2.0-only
/* Pages in the stream: which are taken, how they are posted, when they are given back. */
#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <smc/conn.h>
#include <smc/core.h>
#include <smc/link.h>
#include <smc/move.h>
#include <smc/tx.h>
#include <smc/zcopy.h>

#include "core_env.h"
#include "suites.h"

#define PAGES	64
#define RING	SZ_64K

/**
 * struct stream - a connection that only has what its sending direction needs
 * @conn: it
 * @page: lies in the stream
 * @vec: pieces of it
 * @seen: its references before
 */
struct stream {
	struct smc_conn conn;
	struct page *page;
	struct bio_vec vec[PAGES];
	int seen;
};

/* @n pieces of @len bytes each, as many pages for who takes them. */
static struct iov_iter pieces(struct stream *s, u32 n, u32 len)
{
	struct iov_iter iter;
	u32 i;

	for (i = 0; i < n; i++)
		s->vec[i] = (struct bio_vec){ .bv_page = s->page, .bv_len = len };
	iov_iter_bvec(&iter, ITER_SOURCE, s->vec, n, (size_t)n * len);
	return iter;
}

/* What a failed case leaves may still be in use: it stays. */
static struct stream *stream(struct kunit *test)
{
	struct stream *s = kzalloc(sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, s->page);
	s->seen = page_count(s->page);
	return s;
}

static void stream_free(struct kunit *test, struct stream *s)
{
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen);
	__free_page(s->page);
	kfree(s);
}

/* A run is worth its pages, or the bytes are to be copied: nothing was taken. */
static void zcopy_sparse(struct kunit *test)
{
	struct stream *s = stream(test);
	struct iov_iter iter = pieces(s, PAGES, 511);
	struct smc_zc_run *run;

	run = smc_zcopy_take(&iter, iov_iter_count(&iter), NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(run), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), PAGES * 511);
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen);
	if (!IS_ERR(run))
		smc_zcopy_free(run);
	/* part of it, and all of what is worth it */
	iter = pieces(s, PAGES, 16);
	run = smc_zcopy_take(&iter, 100, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(run), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), PAGES * 16);
	if (!IS_ERR(run))
		smc_zcopy_free(run);
	iter = pieces(s, PAGES, 512);
	run = smc_zcopy_take(&iter, iov_iter_count(&iter), NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, run);
	KUNIT_EXPECT_EQ(test, smc_zcopy_len(run), PAGES * 512);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), 0);
	KUNIT_EXPECT_EQ(test, page_count(s->page), s->seen + PAGES);
	smc_zcopy_free(run);
	stream_free(test, s);
}

static struct kunit_case zcopy_cases[] = {
	KUNIT_CASE(zcopy_sparse),
	{ }
};

struct kunit_suite smc_zcopy_suite = {
	.name = "smc_zcopy",
	.suite_init = env_begin,
	.suite_exit = env_end,
	.init = env_init,
	.exit = env_exit,
	.test_cases = zcopy_cases,
};
