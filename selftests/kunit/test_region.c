// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: regions, elements, pools and mappings: rdma/region.c, rdma/region_map.c. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/rdma/region.h>
#include <smc/rdma/wr.h>

#include "fake_ib.h"
#include "suites.h"

#define PAGES		512	/* 2 MiB per MR */
#define QPS		2
#define CHURN_THREADS	4
#define CHURN_ROUNDS	2000

/**
 * struct region_test - state of one test case
 * @host: what the pool takes is charged to it
 * @mem_max: setting of the machine, restored at the end
 * @pool: pool under test
 * @fake: device
 * @qps: queue pairs on which regions are mapped; created on demand
 */
struct region_test {
	struct smc_host *host;
	unsigned int mem_max;
	struct smc_pool pool;
	struct fake_ib *fake;
	struct smc_qp *qps[QPS];
};

static void region_ignore_received(void *ctx, const u8 *buf, u32 len)
{
}

static void region_ignore_broken(void *ctx, enum ib_wc_status status)
{
}

static void region_ignore_slots(void *ctx)
{
}

static const struct smc_wr_events region_ignore_events = {
	.received = region_ignore_received,
	.broken = region_ignore_broken,
	.slots_free = region_ignore_slots,
};

static int region_init(struct kunit *test)
{
	struct region_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->host = smc_host_get(&init_net, &in6addr_loopback);
	KUNIT_ASSERT_NOT_NULL(test, t->host);
	t->mem_max = smc_host_mem_max;
	smc_host_mem_max = 0;
	smc_pool_init(&t->pool, t->host, SMC_REGION_ELEMS_MAX);
	test->priv = t;
	return 0;
}

static void region_end_qp(struct region_test *t, u32 slot)
{
	smc_qp_drain(t->qps[slot]);
	smc_pool_unmap_link(&t->pool, slot);
	smc_qp_destroy(t->qps[slot]);
	smc_qp_free(t->qps[slot]);
	t->qps[slot] = NULL;
}

static void region_exit(struct kunit *test)
{
	struct region_test *t = test->priv;
	int i;

	if (!t)
		return;
	for (i = 0; i < QPS; i++)
		if (t->qps[i])
			region_end_qp(t, i);
	smc_pool_destroy(&t->pool);
	for (i = 0; i < SMC_REGION_KINDS; i++) {
		KUNIT_EXPECT_EQ(test, t->pool.nregions[i], 0);
		KUNIT_EXPECT_EQ(test, t->pool.bytes[i], 0);
	}
	KUNIT_EXPECT_EQ(test, t->pool.quarantined, 0);
	/* the statistics are empty, too: there is no other pool */
	for (i = 0; i < SMC_MEMS; i++)
		KUNIT_EXPECT_EQ(test, smc_stats_get_mem(&init_net, i), 0);
	smc_settings_get(&init_net)->rmb_max = 0;
	smc_settings_get(&init_net)->snd_max = 0;
	KUNIT_EXPECT_EQ(test, atomic64_read(&smc_settings_get(&init_net)->rmb_bytes), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&smc_settings_get(&init_net)->snd_bytes), 0);
	KUNIT_EXPECT_EQ(test, t->host->bytes, 0);
	smc_host_put(t->host);
	smc_host_mem_max = t->mem_max;
	fake_ib_destroy(test, t->fake);
}

/* Return the queue pair of link slot @slot, in RTS. */
static struct smc_qp *region_link_qp(struct kunit *test, u32 slot)
{
	struct smc_qp_attr attr = { .port = 1, .mtu = IB_MTU_1024 };
	struct region_test *t = test->priv;
	struct smc_qp *qp;

	if (!t->fake)
		t->fake = fake_ib_create(test);
	if (t->qps[slot])
		return t->qps[slot];
	qp = smc_qp_create(t->fake->sdev, 1, &init_net, &region_ignore_events, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	t->qps[slot] = qp;
	fake_ib_gid(&attr.sgid);
	fake_ib_gid(&attr.dgid);
	KUNIT_ASSERT_EQ(test, smc_qp_connect(qp, &attr), 0);
	return qp;
}

static struct smc_region *region_try_alloc(struct smc_pool *pool, enum smc_region_kind kind,
					   u32 size, u32 max_pages)
{
	return smc_region_alloc(pool, kind, size, max_pages, SMC_REGION_NEEDED);
}

static struct smc_region *region_try_alloc_extra(struct smc_pool *pool, enum smc_region_kind kind,
						 u32 size, u32 max_pages)
{
	return smc_region_alloc(pool, kind, size, max_pages, SMC_REGION_EXTRA);
}

static struct smc_region *region_add(struct kunit *test, enum smc_region_kind kind, u32 size,
				     bool publish)
{
	struct region_test *t = test->priv;
	struct smc_region *region = region_try_alloc(&t->pool, kind, size, PAGES);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	if (publish)
		smc_region_publish(&t->pool, region);
	return region;
}

static bool region_is_zero(const void *p, size_t len)
{
	return !memchr_inv(p, 0, len);
}

/* ---- sizes ---- */

static void region_round(struct kunit *test)
{
	static const struct {
		u32 wish, size;
		u8 code;
	} rows[] = {
		{ 0, SZ_16K, 0 }, { 1, SZ_16K, 0 }, { SZ_16K, SZ_16K, 0 },
		{ SZ_16K + 1, SZ_32K, 1 }, { 65536, SZ_64K, 2 }, { SZ_256K + 1, SZ_512K, 5 },
		{ SZ_512K, SZ_512K, 5 }, { SZ_512K + 1, SZ_512K, 5 }, { U32_MAX, SZ_512K, 5 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, smc_elem_round_size(rows[i].wish), rows[i].size);
		KUNIT_EXPECT_EQ(test, smc_elem_encode_size(rows[i].size), rows[i].code);
	}
}

static void region_alloc_refused(struct kunit *test)
{
	struct region_test *t = test->priv;
	static const struct {
		u32 size, pages;
	} rows[] = {
		{ 0x2000, PAGES }, { SZ_16K + 1, PAGES }, { SZ_32K + SZ_16K, PAGES },
		{ SZ_16K, 3 }, { SZ_512K, 127 }, { SZ_16K, 0 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_RMB,
							       rows[i].size, rows[i].pages)),
				-EINVAL);
	KUNIT_EXPECT_EQ(test, t->pool.nregions[SMC_REGION_RMB], 0);
	KUNIT_EXPECT_EQ(test, t->pool.bytes[SMC_REGION_RMB], 0);
}

/* Regions of one size grow; regions of other sizes and the other kind do not count. */
static void region_growth(struct kunit *test)
{
	struct region_test *t = test->priv;
	u64 bytes = 0;
	static const struct {
		enum smc_region_kind kind;
		u32 size, nelem;
	} rows[] = {
		{ SMC_REGION_RMB, SZ_16K, 8 }, { SMC_REGION_SND, SZ_16K, 1 },
		{ SMC_REGION_RMB, SZ_32K, 8 }, { SMC_REGION_RMB, SZ_16K, 8 },
		{ SMC_REGION_RMB, SZ_16K, 16 }, { SMC_REGION_RMB, SZ_16K, 32 },
		{ SMC_REGION_RMB, SZ_16K, 64 },
		/* up to one element for each connection of a full group, then few at a time */
		{ SMC_REGION_RMB, SZ_16K, 127 }, { SMC_REGION_RMB, SZ_16K, 32 },
		/* limited by the pages of one MR */
		{ SMC_REGION_RMB, SZ_512K, 4 },
	};
	struct smc_region *region;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		region = region_add(test, rows[i].kind, rows[i].size, false);
		KUNIT_EXPECT_EQ(test, region->nelem, rows[i].nelem);
		KUNIT_EXPECT_EQ(test, (u64)region->npages << PAGE_SHIFT,
				(u64)rows[i].nelem * rows[i].size);
		if (rows[i].kind == SMC_REGION_RMB)
			bytes += (u64)rows[i].nelem * rows[i].size;
	}
	KUNIT_EXPECT_EQ(test, t->pool.nregions[SMC_REGION_RMB], 9);
	KUNIT_EXPECT_EQ(test, t->pool.nregions[SMC_REGION_SND], 1);
	KUNIT_EXPECT_EQ(test, t->pool.bytes[SMC_REGION_RMB], bytes);
}

/*
 * A new group gets what its first connection needs, then as much ahead of the next one. Then its
 * RMBs are as large as those of others.
 */
static void region_growth_founded(struct kunit *test)
{
	static const u32 rmb[] = { 1, 1, 8, 10 }, snd[] = { 1, 1, 2, 4 };
	enum smc_region_need need = SMC_REGION_FOUNDED;
	struct region_test *t = test->priv;
	struct smc_region *region;
	int i;

	for (i = 0; i < ARRAY_SIZE(rmb); i++) {
		region = smc_region_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES, need);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, rmb[i]);
		region = smc_region_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES, need);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, snd[i]);
		KUNIT_EXPECT_FALSE(test, region->extra);
		need = i ? SMC_REGION_NEEDED : SMC_REGION_AHEAD;
	}
	KUNIT_EXPECT_EQ(test, smc_pool_count_elems(&t->pool, SMC_REGION_RMB, SZ_16K), 20);
	KUNIT_EXPECT_EQ(test, smc_pool_count_elems(&t->pool, SMC_REGION_SND, SZ_16K), 8);
	KUNIT_EXPECT_EQ(test, smc_pool_count_elems(&t->pool, SMC_REGION_SND, SZ_32K), 0);
	region = smc_region_alloc(&t->pool, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, PAGES,
				  SMC_REGION_FOUNDED);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	/* no less than is charged and mapped anyway */
	KUNIT_EXPECT_EQ(test, region->nelem, PAGE_SIZE / SMC_ELEM_SIZE_FIRST);
}

/* Rings that connections can do without come in twos at first, those that they need one by one. */
static void region_growth_extra(struct kunit *test)
{
	static const u32 extra[] = { 2, 2, 4, 8, 16, 32, 32 }, first[] = { 1, 1, 2 };
	struct region_test *t = test->priv;
	struct smc_region *region;
	int i;

	for (i = 0; i < ARRAY_SIZE(extra); i++) {
		region = region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_32K, 4 * PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, extra[i]);
	}
	for (i = 0; i < ARRAY_SIZE(first); i++) {
		region = region_try_alloc(&t->pool, SMC_REGION_SND, SZ_128K, 16 * PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, first[i]);
	}
}

/* A group that takes few connections has as many RMBEs and rings, and few more. */
static void region_growth_few_conns(struct kunit *test)
{
	static const u32 rmb[] = { 1, 1, 8, 6, 3 }, snd[] = { 1, 2, 3, 6, 4, 3 };
	enum smc_region_need need = SMC_REGION_FOUNDED;
	struct region_test *t = test->priv;
	struct smc_region *region;
	int i;

	t->pool.conns_max = 16;
	for (i = 0; i < ARRAY_SIZE(rmb); i++) {
		region = smc_region_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES, need);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, rmb[i]);
		need = SMC_REGION_NEEDED;
	}
	need = SMC_REGION_FOUNDED;
	for (i = 0; i < ARRAY_SIZE(snd); i++) {
		region = smc_region_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES, need);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, snd[i]);
		need = SMC_REGION_EXTRA;
	}
}

/* The index of an RMBE has 8 bits on the wire. */
static void region_index_fits(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *region;
	struct smc_elem elem;
	u32 have = 0, n = 0;
	int i;

	for (i = 0; i < 8; i++) {
		region = region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, 4 * PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		smc_region_publish(&t->pool, region);
		have += region->nelem;
	}
	KUNIT_EXPECT_GT(test, have, 255);
	while (!smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem)) {
		KUNIT_EXPECT_GE(test, elem.index, 1);
		KUNIT_EXPECT_LE(test, elem.index, elem.region->nelem);
		KUNIT_EXPECT_LE(test, elem.index, 255);
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, have);
}

struct region_grower {
	struct smc_pool *pool;
	struct completion done;
	bool mine;
};

static int region_grow_fn(void *arg)
{
	struct region_grower *g = arg;

	g->mine = smc_pool_grow_begin(g->pool, SMC_REGION_RMB, 10 * HZ);
	complete(&g->done);
	return 0;
}

/* One caller adds a region; others wait for it instead of adding their own. */
static void region_grow(struct kunit *test)
{
	struct region_test *t = test->priv;
	static struct region_grower g;
	struct task_struct *task;
	bool woken;

	KUNIT_ASSERT_TRUE(test, smc_pool_grow_begin(&t->pool, SMC_REGION_RMB, 0));
	/* independent of the other kind */
	KUNIT_EXPECT_TRUE(test, smc_pool_grow_begin(&t->pool, SMC_REGION_SND, 0));
	smc_pool_grow_end(&t->pool, SMC_REGION_SND);
	memset(&g, 0, sizeof(g));
	g.pool = &t->pool;
	g.mine = true;
	init_completion(&g.done);
	task = kthread_run(region_grow_fn, &g, "smc_grower");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&g.done, HZ / 10));
	smc_pool_grow_end(&t->pool, SMC_REGION_RMB);
	/* Woken long before its timeout. The thread must not outlive the pool. */
	woken = wait_for_completion_timeout(&g.done, 5 * HZ);
	KUNIT_EXPECT_TRUE(test, woken);
	if (!woken)
		wait_for_completion_timeout(&g.done, 20 * HZ);
	KUNIT_EXPECT_FALSE(test, g.mine);
	KUNIT_EXPECT_TRUE(test, smc_pool_grow_begin(&t->pool, SMC_REGION_RMB, 0));
	smc_pool_grow_end(&t->pool, SMC_REGION_RMB);
}

static void region_count_max(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *last = NULL;
	int i;

	for (i = 0; i < SMC_POOL_REGIONS_MAX; i++) {
		last = region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, 4);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, last);
		KUNIT_EXPECT_EQ(test, last->nelem, 1);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, 4)),
			-ENOSPC);
	/* the other kind has a count of its own */
	region_add(test, SMC_REGION_RMB, SZ_16K, false);
	smc_region_free(last);
	KUNIT_EXPECT_EQ(test, t->pool.nregions[SMC_REGION_SND], SMC_POOL_REGIONS_MAX - 1);
	region_add(test, SMC_REGION_SND, SZ_16K, false);
}

/* Expect or not that the device reads a send region with the local key. */
static void region_expect_local_key(struct kunit *test, struct smc_region *region, bool local)
{
	struct region_test *t = test->priv;
	struct smc_elem elem;
	struct ib_sge sge;

	KUNIT_ASSERT_EQ(test, smc_region_map(region, 0, t->qps[0]), 0);
	KUNIT_ASSERT_EQ(test, smc_region_register(region, 0), 0);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, region->elem_size, &elem), 0);
	smc_elem_prepare_sge(&elem, 0, 100, 1, &sge);
	KUNIT_EXPECT_EQ(test, sge.lkey == t->qps[0]->pd->local_dma_lkey, local);
	KUNIT_EXPECT_EQ(test, sge.lkey == smc_region_lkey(region, 0), !local);
	if (!local)
		KUNIT_EXPECT_EQ(test, sge.addr, smc_region_iova(region, 0) + 100);
	smc_elem_free(&t->pool, &elem, false);
}

/* With the local key nothing looks up pages: only if they follow each other. */
static void region_local_key(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *region;
	struct page **page;
	void *vaddr;
	u32 i;

	region_link_qp(test, 0);
	t->pool.buf_type = SMC_REGION_TYPE_PHYS;
	region = region_add(test, SMC_REGION_SND, SZ_16K, true);
	region_expect_local_key(test, region, true);
	/* the pages of another one in reverse order */
	region = region_add(test, SMC_REGION_SND, SZ_32K, true);
	page = kunit_kzalloc(test, region->npages * sizeof(*page), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	vaddr = region->vaddr;
	for (i = 0; i < region->npages; i++)
		page[region->npages - 1 - i] = smc_region_page(vaddr + i * PAGE_SIZE);
	region->vaddr = vmap(page, region->npages, VM_MAP, PAGE_KERNEL);
	KUNIT_EXPECT_NOT_NULL(test, region->vaddr);
	if (region->vaddr) {
		region_expect_local_key(test, region, false);
		vunmap(region->vaddr);
	}
	region->vaddr = vaddr;
}

/* ---- elements ---- */

static void region_take(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_32K, false);
	struct smc_elem elems[8], extra = { };
	int i;

	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_32K, &extra), -ENOENT);
	smc_region_publish(&t->pool, region);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &extra), -ENOENT);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &extra), -ENOENT);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_32K, &extra), -ENOENT);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_32K, &elems[i]),
				0);
		KUNIT_EXPECT_PTR_EQ(test, elems[i].region, region);
		KUNIT_EXPECT_EQ(test, elems[i].index, i + 1);
		KUNIT_EXPECT_EQ(test, elems[i].size, SZ_32K);
		KUNIT_EXPECT_PTR_EQ(test, elems[i].addr, region->vaddr + i * SZ_32K);
		KUNIT_EXPECT_TRUE(test, region_is_zero(elems[i].addr, SZ_32K));
		memset(elems[i].addr, i + 1, SZ_32K);
	}
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_32K, &extra), -ENOENT);
	/* neighbouring elements are not touched */
	smc_elem_free(&t->pool, &elems[3], false);
	KUNIT_EXPECT_NULL(test, elems[3].region);
	KUNIT_EXPECT_NULL(test, elems[3].addr);
	KUNIT_EXPECT_FALSE(test, memchr_inv(elems[2].addr, 3, SZ_32K));
	KUNIT_EXPECT_FALSE(test, memchr_inv(elems[4].addr, 5, SZ_32K));
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_32K, &extra), 0);
	KUNIT_EXPECT_EQ(test, extra.index, 4);
	KUNIT_EXPECT_TRUE(test, region_is_zero(extra.addr, SZ_32K));
}

/* Giving back an empty element does nothing. */
static void region_give_twice(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_elem elem = { }, other;

	smc_elem_free(&t->pool, &elem, false);
	smc_elem_free(&t->pool, &elem, true);
	region_add(test, SMC_REGION_RMB, SZ_16K, true);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	smc_elem_free(&t->pool, &elem, false);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &other), 0);
	memset(other.addr, 1, SZ_16K);
	smc_elem_free(&t->pool, &elem, false);
	KUNIT_EXPECT_FALSE(test, memchr_inv(other.addr, 1, SZ_16K));
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	KUNIT_EXPECT_NE(test, elem.index, other.index);
}

/* An element that the peer may still write into is neither zeroed nor handed out. */
static void region_quarantine(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_64K, true);
	struct smc_elem elem;
	void *addr;
	u32 i;

	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), 0);
		KUNIT_EXPECT_EQ(test, elem.index, i + 1);
		addr = elem.addr;
		memset(addr, 0x55, SZ_64K);
		smc_elem_free(&t->pool, &elem, true);
		KUNIT_EXPECT_NULL(test, elem.region);
		KUNIT_EXPECT_EQ(test, t->pool.quarantined, (i + 1) * (u64)SZ_64K);
		KUNIT_EXPECT_EQ(test, smc_stats_get_mem(&init_net, SMC_MEM_RMB_QUARANTINE),
				(i + 1) * (u64)SZ_64K);
		/* not written either */
		KUNIT_EXPECT_FALSE(test, memchr_inv(addr, 0x55, SZ_64K));
	}
	for (i = 3; i < region->nelem; i++)
		KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), 0);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), -ENOENT);
	/* only the end of the region frees the bytes */
	smc_region_free(region);
	KUNIT_EXPECT_EQ(test, t->pool.quarantined, 0);
	KUNIT_EXPECT_EQ(test, t->pool.bytes[SMC_REGION_RMB], 0);
}

/* The data of elements that were not given back is zeroed when the region is freed. */
static void region_free_cleans(struct kunit *test)
{
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	struct region_test *t = test->priv;
	struct smc_elem elems[2];
	struct page *pages[2];
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elems[i]),
				0);
		memset(elems[i].addr, 0x77, SZ_16K);
		pages[i] = smc_region_page(elems[i].addr);
		get_page(pages[i]);
	}
	smc_elem_free(&t->pool, &elems[1], true);
	smc_region_free(region);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, region_is_zero(page_address(pages[i]), PAGE_SIZE));
		put_page(pages[i]);
	}
}

/* Only what was used of an element is zeroed; an owner that says nothing has used all of it. */
static void region_zeroes_used(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_elem elem;

	region_add(test, SMC_REGION_SND, SZ_16K, true);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_16K, &elem), 0);
	KUNIT_EXPECT_EQ(test, elem.used, SZ_16K);
	memset(elem.addr, 0x55, SZ_16K);
	elem.used = 100;
	smc_elem_free(&t->pool, &elem, false);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_16K, &elem), 0);
	KUNIT_EXPECT_TRUE(test, region_is_zero(elem.addr, 100));
	KUNIT_EXPECT_FALSE(test, memchr_inv(elem.addr + 100, 0x55, SZ_16K - 100));
	smc_elem_free(&t->pool, &elem, false);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_16K, &elem), 0);
	KUNIT_EXPECT_TRUE(test, region_is_zero(elem.addr, SZ_16K));
	smc_elem_free(&t->pool, &elem, false);
}

/* net.smc.smcr_buf_type applies to pools created afterwards; all types work. */
static void region_types(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	unsigned int before = READ_ONCE(sn->region_type);
	struct region_test *t = test->priv;
	struct smc_region *region;
	struct smc_elem elem;
	unsigned int type;
	u32 i;

	for (type = 0; type < SMC_REGION_TYPES; type++) {
		WRITE_ONCE(sn->region_type, type);
		region = region_add(test, SMC_REGION_RMB, SZ_16K, true);
		/* an existing pool keeps its type */
		KUNIT_EXPECT_EQ(test, t->pool.buf_type, type ? type - 1 : before);
		smc_region_free(region);
		smc_pool_destroy(&t->pool);
		smc_pool_init(&t->pool, t->host, SMC_REGION_ELEMS_MAX);
		KUNIT_EXPECT_EQ(test, t->pool.buf_type, type);
		region = region_add(test, SMC_REGION_RMB, SZ_16K, true);
		KUNIT_EXPECT_EQ(test, is_vmalloc_addr(region->vaddr), type == SMC_REGION_TYPE_VIRT);
		KUNIT_EXPECT_TRUE(test, region_is_zero(region->vaddr, region->nelem * SZ_16K));
		for (i = 0; i < region->npages; i++)
			KUNIT_EXPECT_FALSE(test,
					   smc_region_page_is_lent(region->vaddr + i * PAGE_SIZE));
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
		get_page(smc_region_page(elem.addr + PAGE_SIZE));
		KUNIT_EXPECT_FALSE(test, smc_region_page_is_lent(elem.addr));
		KUNIT_EXPECT_TRUE(test, smc_region_page_is_lent(elem.addr + PAGE_SIZE));
		put_page(smc_region_page(elem.addr + PAGE_SIZE));
		smc_elem_free(&t->pool, &elem, false);
		smc_region_free(region);
	}
	WRITE_ONCE(sn->region_type, before);
}

/* An element with a lent page is unavailable, and its data stays for the reader. */
static void region_lent(struct kunit *test)
{
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_64K, true);
	struct region_test *t = test->priv;
	struct smc_elem elem, other;
	struct page *page, *behind;
	u8 *addr;
	u32 i;

	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), 0);
	addr = elem.addr;
	memset(addr, 0x66, SZ_64K);
	page = smc_region_page(addr + SZ_64K - 1);
	get_page(page);
	region->maybe_lent = true;
	smc_elem_give_back(&t->pool, &elem, false);
	KUNIT_EXPECT_NULL(test, elem.region);
	KUNIT_EXPECT_EQ(test, t->pool.lent, SZ_64K);
	KUNIT_EXPECT_FALSE(test, smc_pool_reap_lent(&t->pool));
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	for (i = 1; i < region->nelem; i++) {
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &other), 0);
		KUNIT_EXPECT_PTR_NE(test, (u8 *)other.addr, addr);
	}
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &other), -ENOENT);
	KUNIT_EXPECT_FALSE(test, memchr_inv(addr, 0x66, SZ_64K));
	KUNIT_EXPECT_EQ(test, smc_stats_get_mem(&init_net, SMC_MEM_RMB_USED),
			region->nelem * (u64)SZ_64K);
	put_page(page);
	KUNIT_EXPECT_TRUE(test, smc_pool_reap_lent(&t->pool));
	KUNIT_EXPECT_EQ(test, t->pool.lent, 0);
	KUNIT_EXPECT_FALSE(test, smc_pool_reap_lent(&t->pool));
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), 0);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)elem.addr, addr);
	KUNIT_EXPECT_TRUE(test, region_is_zero(addr, SZ_64K));
	/* no page is lent */
	smc_elem_give_back(&t->pool, &elem, false);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(region->lent, region->nelem));
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), 0);
	/* The region is freed before the page is back; quarantine applies to lent elements, too. */
	behind = smc_region_page(other.addr);
	get_page(behind);
	smc_elem_give_back(&t->pool, &other, false);
	KUNIT_EXPECT_EQ(test, t->pool.lent, SZ_64K);
	memset(addr, 0x66, SZ_64K);
	get_page(page);
	smc_elem_give_back(&t->pool, &elem, true);
	KUNIT_EXPECT_EQ(test, t->pool.quarantined, (u64)SZ_64K);
	smc_region_free(region);
	KUNIT_EXPECT_EQ(test, t->pool.lent, 0);
	KUNIT_EXPECT_FALSE(test, memchr_inv(page_address(page), 0x66, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	put_page(page);
	put_page(behind);
}

#define LENDERS	(SMC_POOL_LENDING_MAX / SZ_512K)

/* One page each of so many elements, in use or given back; each way back makes room for others. */
static void region_lending_limit(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_elem elem[LENDERS + 1], *other = &elem[LENDERS];
	struct page *page[LENDERS + 1];
	u32 i;

	for (i = 0; i <= LENDERS; i++) {
		if (!smc_pool_has_free(&t->pool, SMC_REGION_RMB, SZ_512K))
			region_add(test, SMC_REGION_RMB, SZ_512K, true);
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_512K, &elem[i]),
				0);
		page[i] = smc_region_page(elem[i].addr);
		get_page(page[i]);
	}
	for (i = 0; i < LENDERS; i++)
		KUNIT_EXPECT_TRUE(test, smc_elem_note_lent(&elem[i]));
	KUNIT_EXPECT_EQ(test, t->pool.lending, SMC_POOL_LENDING_MAX);
	KUNIT_EXPECT_FALSE(test, smc_elem_note_lent(other));
	/* further pages of an element that counts */
	KUNIT_EXPECT_TRUE(test, smc_elem_note_lent(&elem[0]));
	KUNIT_EXPECT_EQ(test, t->pool.lending, SMC_POOL_LENDING_MAX);
	/* the owner sees that the pages are back */
	smc_elem_note_returned(&elem[0]);
	KUNIT_EXPECT_TRUE(test, smc_elem_note_lent(other));
	KUNIT_EXPECT_FALSE(test, smc_elem_note_lent(&elem[0]));
	smc_elem_note_returned(other);
	KUNIT_EXPECT_TRUE(test, smc_elem_note_lent(&elem[0]));
	/* given back with a lent page */
	smc_elem_give_back(&t->pool, &elem[1], false);
	KUNIT_EXPECT_EQ(test, t->pool.lent, SZ_512K);
	KUNIT_EXPECT_FALSE(test, smc_elem_note_lent(other));
	/* nobody notices that its page, and one in use, is back: that is found, not each time */
	put_page(page[1]);
	put_page(page[2]);
	t->pool.lending_checked = jiffies;
	KUNIT_EXPECT_FALSE(test, smc_elem_note_lent(other));
	msleep(150);
	KUNIT_EXPECT_TRUE(test, smc_elem_note_lent(other));
	KUNIT_EXPECT_EQ(test, t->pool.lending, SMC_POOL_LENDING_MAX - SZ_512K);
	/* given back with its page, found back later; in quarantine; with a region that ends */
	smc_elem_give_back(&t->pool, &elem[3], false);
	put_page(page[3]);
	KUNIT_EXPECT_TRUE(test, smc_pool_reap_lent(&t->pool));
	KUNIT_EXPECT_EQ(test, t->pool.lent, 0);
	KUNIT_EXPECT_EQ(test, t->pool.lending, SMC_POOL_LENDING_MAX - 2 * SZ_512K);
	smc_elem_give_back(&t->pool, &elem[4], true);
	KUNIT_EXPECT_EQ(test, t->pool.lending, SMC_POOL_LENDING_MAX - 3 * SZ_512K);
	smc_elem_give_back(&t->pool, &elem[5], false);
	smc_pool_destroy(&t->pool);
	KUNIT_EXPECT_EQ(test, t->pool.lending, 0);
	put_page(page[0]);
	for (i = 4; i <= LENDERS; i++)
		put_page(page[i]);
}

static void region_two_regions(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *first = region_add(test, SMC_REGION_SND, SZ_16K, true);
	struct smc_region *second = region_add(test, SMC_REGION_SND, SZ_16K, true);
	struct smc_elem elem, keep;
	u32 i;

	for (i = 0; i < first->nelem; i++) {
		KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_16K, &elem), 0);
		KUNIT_EXPECT_PTR_EQ(test, elem.region, first);
	}
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_16K, &keep), 0);
	KUNIT_EXPECT_PTR_EQ(test, keep.region, second);
	/* Elements of old regions are taken first, so that new regions become idle. */
	smc_elem_free(&t->pool, &elem, false);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_SND, SZ_16K, &elem), 0);
	KUNIT_EXPECT_PTR_EQ(test, elem.region, first);
}

struct region_churn_worker {
	struct smc_pool *pool;
	struct completion done;
	u8 mark;
	bool shared;
	bool dirty;
	u32 refused;
};

static int region_churn_fn(void *arg)
{
	struct region_churn_worker *c = arg;
	struct smc_elem elem;
	int i;

	for (i = 0; i < CHURN_ROUNDS; i++) {
		if (smc_elem_take(c->pool, SMC_REGION_RMB, SZ_16K, &elem)) {
			c->refused++;
			continue;
		}
		c->dirty |= !region_is_zero(elem.addr, 512);
		memset(elem.addr, c->mark, 512);
		cond_resched();
		c->shared |= !!memchr_inv(elem.addr, c->mark, 512);
		smc_elem_free(c->pool, &elem, false);
	}
	complete(&c->done);
	return 0;
}

/* With several concurrent callers, an element has one owner and is zero when taken. */
static void region_churn(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct region_churn_worker *c = kunit_kcalloc(test, CHURN_THREADS, sizeof(*c), GFP_KERNEL);
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	struct task_struct *task;
	int i, started = 0;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < CHURN_THREADS; i++) {
		c[i].pool = &t->pool;
		c[i].mark = i + 1;
		init_completion(&c[i].done);
		task = kthread_run(region_churn_fn, &c[i], "smc_churn%d", i);
		KUNIT_EXPECT_FALSE(test, IS_ERR(task));
		if (IS_ERR(task))
			break;
		started++;
	}
	for (i = 0; i < started; i++) {
		wait_for_completion(&c[i].done);
		KUNIT_EXPECT_FALSE(test, c[i].shared);
		KUNIT_EXPECT_FALSE(test, c[i].dirty);
		/* there are more elements than callers */
		KUNIT_EXPECT_EQ(test, c[i].refused, 0);
	}
	KUNIT_EXPECT_TRUE(test, bitmap_empty(region->used, region->nelem));
}

/* ---- mappings ---- */

static void region_map(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0), *other = region_link_qp(test, 1);
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	struct smc_elem elem;
	struct ib_sge sge;

	KUNIT_EXPECT_EQ(test, smc_region_rkey(region, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_region_lkey(region, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_region_iova(region, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_region_register(region, 0), -ENOTCONN);
	KUNIT_ASSERT_EQ(test, smc_region_map(region, 0, qp), 0);
	KUNIT_EXPECT_EQ(test, smc_region_map(region, 0, qp), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 1);
	/* the slot of a link that is not gone yet */
	KUNIT_EXPECT_EQ(test, smc_region_map(region, 0, other), -EBUSY);
	KUNIT_ASSERT_EQ(test, smc_region_map(region, 1, other), 0);
	KUNIT_EXPECT_NE(test, smc_region_rkey(region, 0), smc_region_rkey(region, 1));
	KUNIT_EXPECT_EQ(test, smc_region_rkey(region, 0), smc_region_lkey(region, 0) | 0x80000000);
	KUNIT_EXPECT_NE(test, smc_region_iova(region, 0), 0);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	smc_elem_prepare_sge(&elem, 0, 5, 10, &sge);
	KUNIT_EXPECT_EQ(test, sge.addr, smc_region_iova(region, 0) + SZ_16K + 5);
	KUNIT_EXPECT_EQ(test, sge.lkey, smc_region_lkey(region, 0));
	KUNIT_EXPECT_EQ(test, sge.length, 10);
	smc_region_unmap(region, 0);
	smc_region_unmap(region, 0);
	smc_elem_prepare_sge(&elem, 0, 5, 10, &sge);
	KUNIT_EXPECT_EQ(test, sge.addr, 0);
	KUNIT_EXPECT_EQ(test, sge.lkey, 0);
	KUNIT_EXPECT_EQ(test, smc_region_rkey(region, 0), 0);
	KUNIT_EXPECT_NE(test, smc_region_rkey(region, 1), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 1);
}

/* The peer may write into RMBs only. */
static void region_register(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *rmb = region_add(test, SMC_REGION_RMB, SZ_16K, false);
	struct smc_region *snd = region_add(test, SMC_REGION_SND, SZ_16K, false);

	KUNIT_ASSERT_EQ(test, smc_pool_map_link(&t->pool, 0, qp), 0);
	KUNIT_EXPECT_EQ(test, smc_region_register(rmb, 0), 0);
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_key, smc_region_rkey(rmb, 0));
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_access,
			IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, smc_region_register(snd, 0), 0);
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_key, smc_region_lkey(snd, 0));
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_access, IB_ACCESS_LOCAL_WRITE);
	/* a second registration does nothing */
	KUNIT_EXPECT_EQ(test, smc_region_register(rmb, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_pool_register_link(&t->pool, 0), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nreg), 2);
	/* mapped again: the new key must be registered */
	smc_region_unmap(rmb, 0);
	KUNIT_ASSERT_EQ(test, smc_region_map(rmb, 0, qp), 0);
	KUNIT_EXPECT_EQ(test, smc_region_register(rmb, 0), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nreg), 3);
}

/* Register @region on link @slot. Return its address, which must say nothing about its memory. */
static u64 region_opaque_iova(struct kunit *test, struct smc_region *region, u32 slot)
{
	struct region_test *t = test->priv;
	u64 iova = smc_region_iova(region, slot);

	KUNIT_EXPECT_EQ(test, smc_region_register(region, slot), 0);
	KUNIT_EXPECT_EQ(test, t->fake->last_reg_iova, iova);
	/* neither a kernel nor a physical address; the fake device has no other DMA addresses */
	KUNIT_EXPECT_GE(test, iova, BIT_ULL(46));
	KUNIT_EXPECT_LE(test, iova + ((u64)region->npages << PAGE_SHIFT), BIT_ULL(47));
	KUNIT_EXPECT_EQ(test, iova % SZ_2M, 0);
	return iova;
}

/* Addresses that peers learn reveal neither where our memory is nor how far apart regions are. */
static void region_opaque(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0), *other = region_link_qp(test, 1);
	struct smc_region *a, *b, *c;
	u64 ia, ib, ic;

	a = region_add(test, SMC_REGION_RMB, SZ_16K, false);
	b = region_add(test, SMC_REGION_SND, SZ_16K, false);
	t->pool.buf_type = SMC_REGION_TYPE_VIRT;
	c = region_add(test, SMC_REGION_RMB, SZ_16K, false);
	KUNIT_ASSERT_TRUE(test, is_vmalloc_addr(c->vaddr));
	KUNIT_ASSERT_EQ(test, smc_pool_map_link(&t->pool, 0, qp), 0);
	KUNIT_ASSERT_EQ(test, smc_pool_map_link(&t->pool, 1, other), 0);
	ia = region_opaque_iova(test, a, 0);
	ib = region_opaque_iova(test, b, 0);
	ic = region_opaque_iova(test, c, 0);
	KUNIT_EXPECT_NE(test, region_opaque_iova(test, a, 1), ia);
	KUNIT_EXPECT_NE(test, ia - ib, (u64)(a->vaddr - b->vaddr));
	KUNIT_EXPECT_NE(test, ia - ic, (u64)(a->vaddr - c->vaddr));
}

static void region_register_fails(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *a = region_add(test, SMC_REGION_RMB, SZ_16K, false);
	struct smc_region *b = region_add(test, SMC_REGION_SND, SZ_16K, false);

	KUNIT_ASSERT_EQ(test, smc_pool_map_link(&t->pool, 0, qp), 0);
	t->fake->reg = FAKE_IB_REG_ERROR;
	KUNIT_EXPECT_EQ(test, smc_pool_register_link(&t->pool, 0), -EIO);
	KUNIT_EXPECT_FALSE(test, a->maps[0].registered);
	KUNIT_EXPECT_FALSE(test, b->maps[0].registered);
	t->fake->reg = FAKE_IB_REG_OK;
	/* the queue pair is broken now */
	KUNIT_EXPECT_EQ(test, smc_region_register(a, 0), -ENOTCONN);
	smc_region_unmap(a, 0);
	KUNIT_EXPECT_EQ(test, smc_region_map(a, 0, qp), -ENOTCONN);
}

/* Each step of mapping fails in turn; nothing is left over. */
static void region_map_fails(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_16K, false);

	t->fake->fail_mr_after = 0;
	KUNIT_EXPECT_EQ(test, smc_region_map(region, 0, qp), -ENOMEM);
	t->fake->fail_mr_after = -1;
	t->fake->mr_pages = region->npages - 1;
	KUNIT_EXPECT_EQ(test, smc_region_map(region, 0, qp), -EINVAL);
	t->fake->mr_pages = 0;
	KUNIT_EXPECT_LT(test, smc_region_map(region, 0, qp), 0);
	t->fake->mr_pages = U32_MAX;
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 0);
	KUNIT_EXPECT_EQ(test, smc_region_rkey(region, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_region_map(region, 0, qp), 0);
}

/* A new link gets all regions, published or not. */
static void region_map_pool(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *regions[4];
	int i;

	regions[0] = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	regions[1] = region_add(test, SMC_REGION_RMB, SZ_32K, false);
	regions[2] = region_add(test, SMC_REGION_SND, SZ_16K, true);
	regions[3] = region_add(test, SMC_REGION_SND, SZ_16K, false);
	t->fake->fail_mr_after = 2;
	KUNIT_EXPECT_EQ(test, smc_pool_map_link(&t->pool, 0, qp), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 2);
	smc_pool_unmap_link(&t->pool, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 0);
	t->fake->fail_mr_after = -1;
	KUNIT_EXPECT_EQ(test, smc_pool_map_link(&t->pool, 0, qp), 0);
	KUNIT_EXPECT_EQ(test, smc_pool_register_link(&t->pool, 0), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, regions[i]->maps[0].registered);
	/* freeing an unpublished region frees its MRs */
	smc_region_free(regions[3]);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 3);
	region_end_qp(t, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, regions[i]->maps[0].registered);
		KUNIT_EXPECT_EQ(test, smc_region_rkey(regions[i], 0), 0);
	}
}

/* Syncs are allowed where the region is not mapped or the device needs none. */
static void region_sync(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	struct smc_elem elem;

	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	smc_elem_sync_for_cpu(&elem, 0, 0, elem.size);
	KUNIT_EXPECT_FALSE(test, smc_elem_needs_sync(&elem));
	KUNIT_ASSERT_EQ(test, smc_region_map(region, 0, qp), 0);
	KUNIT_EXPECT_EQ(test, smc_elem_needs_sync(&elem), !ib_uses_virt_dma(qp->dev->ibdev));
	memset(elem.addr, 9, elem.size);
	smc_elem_sync_for_device(&elem, 0, 100, elem.size - 100);
	smc_elem_sync_for_cpu(&elem, 0, 0, elem.size);
	KUNIT_EXPECT_FALSE(test, memchr_inv(elem.addr, 9, elem.size));
}

/* ---- idle regions ---- */

/* The youngest idle region is taken out of use, but never the last published one of its kind. */
static void region_take_idle(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *a, *b, *c;
	struct smc_elem ea, eb;

	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	a = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	KUNIT_EXPECT_FALSE(test, smc_pool_has_spare(&t->pool));
	b = region_add(test, SMC_REGION_RMB, SZ_64K, true);
	c = region_add(test, SMC_REGION_RMB, SZ_32K, false);
	/* not of the other kind, not an unpublished one, none before its time */
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, 0));
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, HZ * 1000));
	smc_region_free(c);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &ea), 0);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &eb), 0);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	smc_elem_free(&t->pool, &ea, false);
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0), a);
	/* no element of it is handed out */
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &ea), -ENOENT);
	smc_region_publish(&t->pool, a);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &ea), 0);
	smc_elem_free(&t->pool, &ea, false);
	/* in quarantine: not idle */
	smc_elem_free(&t->pool, &eb, true);
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0), a);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	smc_region_free(a);
	KUNIT_EXPECT_EQ(test, t->pool.nregions[SMC_REGION_RMB], 1);
	KUNIT_EXPECT_TRUE(test, b->published);
	KUNIT_EXPECT_FALSE(test, smc_pool_has_spare(&t->pool));
}

/* The RMBE that a new group got ahead stays, too, but not beside more. */
static void region_take_idle_ahead(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *region[3];
	int i;

	for (i = 0; i < ARRAY_SIZE(region); i++) {
		region[i] = smc_region_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES,
					     i == 1 ? SMC_REGION_AHEAD : SMC_REGION_FOUNDED);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region[i]);
		smc_region_publish(&t->pool, region[i]);
		KUNIT_EXPECT_EQ(test, smc_pool_has_spare(&t->pool), i == 2);
	}
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0), region[2]);
	smc_region_free(region[2]);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	/* a group of one connection keeps one */
	t->pool.conns_max = 1;
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0), region[1]);
	smc_region_free(region[1]);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
}

/*
 * A region of first rings stays, and one of others. Those for streams alone do not, nor do others
 * go because of them.
 */
static void region_take_idle_rings(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *first, *ring, *bigger;

	region_add(test, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, true);
	ring = region_add(test, SMC_REGION_SND, SZ_64K, true);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, 0));
	KUNIT_EXPECT_FALSE(test, smc_pool_has_spare(&t->pool));
	first = region_add(test, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, true);
	KUNIT_EXPECT_TRUE(test, smc_pool_has_spare(&t->pool));
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, 0), first);
	smc_region_free(first);
	/* of another size, but not for new connections */
	bigger = region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_128K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bigger);
	smc_region_publish(&t->pool, bigger);
	KUNIT_EXPECT_TRUE(test, smc_pool_has_spare(&t->pool));
	ring->idle_since = jiffies - HZ;
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, HZ));
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, 0), bigger);
	smc_region_free(bigger);
	/* of another size */
	bigger = region_add(test, SMC_REGION_SND, SZ_128K, true);
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, HZ), ring);
	smc_region_free(ring);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_SND, 0));
	KUNIT_EXPECT_FALSE(test, smc_pool_has_spare(&t->pool));
}

/* The peer knows an RMB until it is to be announced anew, and no longer than there are its keys. */
static void region_known(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *region = region_add(test, SMC_REGION_RMB, SZ_16K, false);

	KUNIT_ASSERT_EQ(test, smc_region_map(region, 0, qp), 0);
	KUNIT_ASSERT_EQ(test, smc_region_map(region, 8, qp), 0);
	KUNIT_EXPECT_FALSE(test, smc_region_is_known_at_all(region));
	smc_region_note_known(region, 8);
	KUNIT_EXPECT_FALSE(test, smc_region_is_known(region, 0));
	KUNIT_EXPECT_TRUE(test, smc_region_is_known_at_all(region));
	smc_region_withdraw(region);
	KUNIT_EXPECT_TRUE(test, smc_region_is_known(region, 8));
	KUNIT_ASSERT_PTR_EQ(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, 0, 1), region);
	smc_region_forget_known(region);
	KUNIT_EXPECT_FALSE(test, smc_region_is_known_at_all(region));
	smc_region_note_known(region, 0);
	smc_region_note_known(region, 8);
	smc_region_unmap(region, 0);
	KUNIT_EXPECT_FALSE(test, smc_region_is_known(region, 0));
	smc_pool_unmap_link(&t->pool, 8);
	KUNIT_EXPECT_FALSE(test, smc_region_is_known_at_all(region));
	smc_region_free(region);
}

/* A region whose rkeys the peer did not forget stays registered, and can be published again. */
static void region_withdraw(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_qp *qp = region_link_qp(test, 0);
	struct smc_region *a, *b;
	struct smc_elem elem;
	u32 mrs;

	region_add(test, SMC_REGION_RMB, SZ_16K, true);
	a = region_add(test, SMC_REGION_RMB, SZ_16K, true);
	b = region_add(test, SMC_REGION_RMB, SZ_64K, true);
	KUNIT_ASSERT_EQ(test, smc_pool_map_link(&t->pool, 0, qp), 0);
	KUNIT_ASSERT_EQ(test, smc_pool_register_link(&t->pool, 0), 0);
	mrs = atomic_read(&t->fake->nmr);
	KUNIT_EXPECT_NULL(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, 0, U8_MAX));
	KUNIT_ASSERT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0), b);
	KUNIT_EXPECT_NULL(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, 0, U8_MAX));
	b->delete_refused++;
	smc_region_withdraw(b);
	KUNIT_ASSERT_PTR_EQ(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0), a);
	smc_region_withdraw(a);
	/* registered, but out of use */
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), mrs);
	KUNIT_EXPECT_TRUE(test, b->maps[0].registered);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), -ENOENT);
	KUNIT_EXPECT_NULL(test, smc_pool_take_idle(&t->pool, SMC_REGION_RMB, 0));
	/* selected by kind, size and number of requests; returned once */
	KUNIT_EXPECT_NULL(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_SND, SZ_64K, U8_MAX));
	KUNIT_EXPECT_NULL(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, SZ_32K, U8_MAX));
	KUNIT_EXPECT_NULL(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, SZ_64K, 1));
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, SZ_64K, 2), b);
	KUNIT_EXPECT_NULL(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, SZ_64K, 2));
	KUNIT_EXPECT_PTR_EQ(test, smc_pool_take_withdrawn(&t->pool, SMC_REGION_RMB, 0, 1), a);
	smc_region_publish(&t->pool, b);
	KUNIT_EXPECT_EQ(test, b->delete_refused, 0);
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_64K, &elem), 0);
	smc_elem_free(&t->pool, &elem, false);
	smc_region_free(a);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->fake->nmr), mrs - 1);
}

/* The RMBs of a namespace stay below its limit, including quarantine; send regions do not count. */
static void region_rmb_limit(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct region_test *t = test->priv;
	struct smc_region *region, *snd;
	struct smc_elem elem;

	sn->rmb_max = 5 * 16;
	/* eight elements are wanted, and halved until they fit */
	region = region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	KUNIT_EXPECT_EQ(test, region->nelem, 4);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->rmb_bytes), 4 * SZ_16K);
	KUNIT_EXPECT_EQ(test, -EDQUOT,
			PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_32K, PAGES)));
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->rmb_bytes), 4 * SZ_16K);
	snd = region_try_alloc(&t->pool, SMC_REGION_SND, SZ_32K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, snd);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->rmb_bytes), 4 * SZ_16K);
	smc_region_free(snd);
	/* quarantined elements still count */
	smc_region_publish(&t->pool, region);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	smc_elem_free(&t->pool, &elem, true);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->rmb_bytes), 4 * SZ_16K);
	/* A limit below the current use prevents new regions only. */
	sn->rmb_max = 16;
	KUNIT_EXPECT_EQ(test, -EDQUOT,
			PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES)));
	KUNIT_EXPECT_EQ(test, smc_elem_take(&t->pool, SMC_REGION_RMB, SZ_16K, &elem), 0);
	smc_elem_free(&t->pool, &elem, false);
}

/*
 * So do the send rings of a namespace below theirs, first rings as well; RMBs do not count. Memory
 * that connections can do without leaves half of it free.
 */
static void region_snd_limit(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct region_test *t = test->priv;
	struct smc_region *region, *first, *rmb;
	u64 limited;
	int i;

	sn->snd_max = 6 * 16;
	for (i = 1; i <= 2; i++) {
		region = region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, 1);
		KUNIT_EXPECT_EQ(test, atomic64_read(&sn->snd_bytes), i * SZ_16K);
	}
	KUNIT_EXPECT_TRUE(test, smc_pool_has_plenty(&t->pool));
	rmb = region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_32K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rmb);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->snd_bytes), 2 * SZ_16K);
	smc_region_free(rmb);
	/* with one element more half of the limit is in use */
	first = region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_16K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	KUNIT_EXPECT_EQ(test, first->nelem, 1);
	KUNIT_EXPECT_TRUE(test, smc_pool_has_plenty(&t->pool));
	limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	KUNIT_EXPECT_EQ(test, -EDQUOT,
			PTR_ERR(region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_16K, PAGES)));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited);
	smc_region_free(first);
	first = region_try_alloc(&t->pool, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->snd_bytes),
			2 * SZ_16K + first->nelem * SMC_ELEM_SIZE_FIRST);
	sn->snd_max = 2 * 16;
	KUNIT_EXPECT_FALSE(test, smc_pool_has_plenty(&t->pool));
	KUNIT_EXPECT_EQ(test, -EDQUOT,
			PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES)));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited + 1);
	/* what was refused is charged to nobody */
	KUNIT_EXPECT_EQ(test, t->host->bytes, atomic64_read(&sn->snd_bytes));
}

/* Memory that connections can do without leaves half of the share, and no connection feels that. */
static void region_host_limit_extra(struct kunit *test)
{
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	struct region_test *t = test->priv;
	struct smc_region *region;

	smc_host_mem_max = 8 * 6 * 16;
	region = region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_16K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	KUNIT_EXPECT_EQ(test, region->nelem, 2);
	region = region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_16K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	KUNIT_EXPECT_EQ(test, region->nelem, 1);
	KUNIT_EXPECT_EQ(test, -EUSERS,
			PTR_ERR(region_try_alloc_extra(&t->pool, SMC_REGION_SND, SZ_16K, PAGES)));
	KUNIT_EXPECT_EQ(test, t->host->bytes, 3 * SZ_16K);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_16K,
							    PAGES));
}

/*
 * A repeated attempt takes few elements, and counts no refusal again. But it may take all that is
 * left.
 */
static void region_host_limit_again(struct kunit *test)
{
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	struct region_test *t = test->priv;
	struct smc_region *region;
	int i;

	region = smc_region_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES, SMC_REGION_AGAIN);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	KUNIT_EXPECT_EQ(test, region->nelem, 8);
	smc_region_free(region);
	smc_host_mem_max = 8 * 2 * 16;
	for (i = 0; i < 2; i++) {
		region = smc_region_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES,
					  SMC_REGION_AGAIN);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, 1);
	}
	KUNIT_EXPECT_EQ(test, -EUSERS, PTR_ERR(smc_region_alloc(&t->pool, SMC_REGION_SND, SZ_16K,
								PAGES, SMC_REGION_AGAIN)));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited);
}

/* All regions of a host stay below its share, RMBs and send regions together. */
static void region_host_limit(struct kunit *test)
{
	struct region_test *t = test->priv;
	struct smc_region *rmb, *snd, *more[2];
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	int i;

	smc_host_mem_max = 8 * 5 * 16;
	rmb = region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rmb);
	KUNIT_EXPECT_EQ(test, rmb->nelem, 2);
	snd = region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, snd);
	KUNIT_EXPECT_EQ(test, snd->nelem, 1);
	/* what is left is less than twice the smallest region */
	KUNIT_EXPECT_EQ(test, t->host->bytes, 3 * SZ_16K);
	for (i = 0; i < 2; i++) {
		more[i] = region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, more[i]);
		KUNIT_EXPECT_EQ(test, more[i]->nelem, 1);
	}
	KUNIT_EXPECT_EQ(test, t->host->bytes, 5 * SZ_16K);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited);
	KUNIT_EXPECT_EQ(test, -EUSERS,
			PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_SND, SZ_16K, PAGES)));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited + 1);
	smc_region_free(rmb);
	smc_region_free(more[0]);
	smc_region_free(more[1]);
	KUNIT_EXPECT_EQ(test, t->host->bytes, SZ_16K);
	/* the limit of RMBs applies as well; what it refuses is charged to nobody */
	smc_settings_get(&init_net)->rmb_max = 15;
	KUNIT_EXPECT_EQ(test, -EDQUOT,
			PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_RMB, SZ_16K, PAGES)));
	KUNIT_EXPECT_EQ(test, t->host->bytes, SZ_16K);
	smc_region_free(snd);
}

/* Elements smaller than a page come in whole pages: the limits count what is allocated. */
static void region_host_limit_pages(struct kunit *test)
{
	struct region_test *t = test->priv;
	const u32 page = PAGE_SIZE / SMC_ELEM_SIZE_FIRST;
	struct smc_region *region;
	u32 i, n;

	/* the share is that of three pages */
	smc_host_mem_max = 8 * 3 * PAGE_SIZE >> 10;
	for (i = 0; i < 3; i++) {
		region = region_try_alloc(&t->pool, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, region->nelem, page);
	}
	KUNIT_EXPECT_EQ(test, -EUSERS,
			PTR_ERR(region_try_alloc(&t->pool, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST,
						 PAGES)));
	smc_host_mem_max = 0;
	/* also where the number of elements is halved, or what is left up to 255 */
	for (n = 3 * page; n < 255; n += region->nelem) {
		region = region_try_alloc(&t->pool, SMC_REGION_SND, SMC_ELEM_SIZE_FIRST, PAGES);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		KUNIT_EXPECT_EQ(test, (u64)region->npages << PAGE_SHIFT,
				(u64)region->nelem * SMC_ELEM_SIZE_FIRST);
	}
}

static struct kunit_case region_cases[] = {
	KUNIT_CASE(region_round),
	KUNIT_CASE(region_alloc_refused),
	KUNIT_CASE(region_growth),
	KUNIT_CASE(region_growth_founded),
	KUNIT_CASE(region_growth_extra),
	KUNIT_CASE(region_growth_few_conns),
	KUNIT_CASE(region_index_fits),
	KUNIT_CASE(region_grow),
	KUNIT_CASE(region_count_max),
	KUNIT_CASE(region_local_key),
	KUNIT_CASE(region_take),
	KUNIT_CASE(region_give_twice),
	KUNIT_CASE(region_quarantine),
	KUNIT_CASE(region_free_cleans),
	KUNIT_CASE(region_zeroes_used),
	KUNIT_CASE(region_types),
	KUNIT_CASE(region_lent),
	KUNIT_CASE(region_lending_limit),
	KUNIT_CASE(region_two_regions),
	KUNIT_CASE(region_churn),
	KUNIT_CASE(region_map),
	KUNIT_CASE(region_register),
	KUNIT_CASE(region_opaque),
	KUNIT_CASE(region_register_fails),
	KUNIT_CASE(region_map_fails),
	KUNIT_CASE(region_map_pool),
	KUNIT_CASE(region_take_idle),
	KUNIT_CASE(region_take_idle_ahead),
	KUNIT_CASE(region_take_idle_rings),
	KUNIT_CASE(region_known),
	KUNIT_CASE(region_withdraw),
	KUNIT_CASE(region_rmb_limit),
	KUNIT_CASE(region_snd_limit),
	KUNIT_CASE(region_host_limit),
	KUNIT_CASE(region_host_limit_extra),
	KUNIT_CASE(region_host_limit_again),
	KUNIT_CASE(region_host_limit_pages),
	KUNIT_CASE(region_sync),
	{ }
};

struct kunit_suite smc_region_suite = {
	.name = "smc_region",
	.init = region_init,
	.exit = region_exit,
	.test_cases = region_cases,
};
