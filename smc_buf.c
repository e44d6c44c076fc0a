// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions and the pool of a link group.
 *
 * One region is one piece of vmalloc memory, cut into equal elements, and one MR
 * per link. A connection takes an element that is registered and announced
 * already; only when none is free a region is added.
 *
 * Posting looks up keys and DMA addresses of a link slot at any time, so a mapping
 * is reached by RCU and freed after a grace period. Whatever changes mappings runs
 * in process context under pool->mutex.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <smc/buf.h>
#include <smc/fault.h>
#include <smc/policy.h>
#include <smc/stats.h>
#include <smc/wr.h>

#define ELEM_SIZE_MAX	(512 * 1024)

/*
 * Charged to the cgroup for whose connection a region is added; the others of the group
 * use it too. A limit is not worth a victim: without a region the connection is TCP.
 */
#define REGION_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * A region is mapped for several devices at once. What one of them holds must not be
 * taken for all of the region when it is unmapped: bytes cross over only where a sync
 * says so.
 */
#define MAP_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/**
 * struct smc_buf_dma - a region as mapped for one device
 * @ibdev: device
 * @users: links over it; pool->mutex held
 * @sgt: pages and their DMA addresses
 * @dir: direction they are mapped for
 * @addr: DMA address of each page; absent if the device needs no maintenance
 *
 * One for all links over a device: with a second one, what a page holds for the device
 * would depend on the link, and nobody could tell which of both a sync is for.
 */
struct smc_buf_dma {
	struct ib_device *ibdev;
	unsigned int users;
	struct sg_table sgt;
	enum dma_data_direction dir;
	dma_addr_t addr[];
};

/**
 * struct smc_buf_mapping - a region as mapped for one link
 * @entry: while it waits for the grace period
 * @qp: the link's queue pair
 * @mr: memory region; its keys name the region
 * @dma: mapping for the link's device
 */
struct smc_buf_mapping {
	struct list_head entry;
	struct smc_qp *qp;
	struct ib_mr *mr;
	struct smc_buf_dma *dma;
};

/**
 * smc_buf_pool_init() - make an empty pool
 * @pool: pool
 * @net: namespace that its RMBs are counted against; outlives the pool
 */
void smc_buf_pool_init(struct smc_pool *pool, struct net *net)
{
	int kind;

	memset(pool, 0, sizeof(*pool));
	pool->net = net;
	mutex_init(&pool->mutex);
	spin_lock_init(&pool->lock);
	init_waitqueue_head(&pool->grown);
	for (kind = 0; kind < SMC_BUF_KINDS; kind++)
		INIT_LIST_HEAD(&pool->regions[kind]);
}

/**
 * smc_buf_round() - element size for a wish
 * @bytes: wanted
 *
 * Return: the next power of two between 16 KiB and 512 KiB.
 */
u32 smc_buf_round(u32 bytes)
{
	return roundup_pow_of_two(clamp_t(u32, bytes, SMC_BUF_MIN_SIZE, ELEM_SIZE_MAX));
}

/**
 * smc_buf_size_code() - an element size as told on the wire
 * @size: result of smc_buf_round()
 *
 * Return: n, where 16 KiB << n is @size.
 */
u8 smc_buf_size_code(u32 size)
{
	return ilog2(size / SMC_BUF_MIN_SIZE);
}

/* ---- regions ---- */

/*
 * A small group stays small, a busy one gets bigger and bigger regions, a full one
 * has an element for each of its connections and no more.
 */
static u32 elems_wanted(const struct smc_pool *pool, enum smc_buf_kind kind, u32 size)
{
	const struct smc_region *region;
	u32 have = 0;

	lockdep_assert_held(&pool->mutex);
	list_for_each_entry(region, &pool->regions[kind], entry)
		if (region->elem_size == size)
			have += region->nelem;
	if (!have)
		return 8;
	if (have < 64)
		return 32;
	if (have < SMC_BUF_ELEMS_MAX)
		return min_t(u32, have, SMC_BUF_ELEMS_MAX - have);
	return 32;	/* in place of elements in quarantine */
}

/* Memory of RMBs, under the ceiling of the namespace; whatever they are used for. */
static bool charge(struct smc_pool *pool, enum smc_buf_kind kind, u64 bytes)
{
	struct smc_net *sn = smc_policy_net(pool->net);
	u64 max = (u64)READ_ONCE(sn->rmb_max) << 10;
	s64 used = atomic64_read(&sn->rmb_bytes);

	if (kind != SMC_BUF_RMB)
		return true;
	do {
		if (max && used + bytes > max)
			return false;
	} while (!atomic64_try_cmpxchg(&sn->rmb_bytes, &used, used + bytes));
	smc_stats_add(pool->net, SMC_STAT_RMB_BYTES, bytes);
	return true;
}

static void uncharge(struct smc_pool *pool, enum smc_buf_kind kind, u64 bytes)
{
	if (kind != SMC_BUF_RMB)
		return;
	atomic64_sub(bytes, &smc_policy_net(pool->net)->rmb_bytes);
	smc_stats_add(pool->net, SMC_STAT_RMB_FREED, bytes);
}

/**
 * smc_buf_region_alloc() - add an unpublished region to a pool
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, from smc_buf_round()
 * @max_pages: pages that one MR of the link's device can cover
 *
 * Process context.
 *
 * Return: the region; to be published or freed. ERR_PTR: -ENOMEM, -EINVAL (@size
 * impossible here), -ENOSPC (too many regions), -EDQUOT (net.smc.smcr_max_rmb_kb).
 */
struct smc_region *smc_buf_region_alloc(struct smc_pool *pool, enum smc_buf_kind kind,
					u32 size, u32 max_pages)
{
	u32 nelem = min_t(u64, ((u64)max_pages << PAGE_SHIFT) / size, SMC_BUF_ELEMS_MAX);
	struct smc_region *region;
	int rc = -ENOMEM;

	if (!nelem || size < SMC_BUF_MIN_SIZE || !is_power_of_2(size))
		return ERR_PTR(-EINVAL);
	region = smc_fault_null(REGION, kzalloc(sizeof(*region), REGION_GFP));
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->pool = pool;
	region->kind = kind;
	region->elem_size = size;

	mutex_lock(&pool->mutex);
	if (smc_fault_hit(SMC_FAULT_REGION_LIMIT) ||
	    pool->nregions[kind] >= SMC_BUF_REGIONS_MAX) {
		mutex_unlock(&pool->mutex);
		kfree(region);
		return ERR_PTR(-ENOSPC);
	}
	nelem = min(nelem, elems_wanted(pool, kind, size));
	for (; nelem; nelem /= 2) {
		rc = -EDQUOT;
		if (!charge(pool, kind, (u64)nelem * size))
			continue;
		rc = -ENOMEM;
		region->vaddr = smc_fault_null(REGION_MEM,
					       __vmalloc((size_t)nelem * size,
							 REGION_GFP | __GFP_ZERO));
		if (region->vaddr)
			break;
		uncharge(pool, kind, (u64)nelem * size);
	}
	if (!region->vaddr) {
		mutex_unlock(&pool->mutex);
		kfree(region);
		return ERR_PTR(rc);
	}
	region->nelem = nelem;
	region->npages = PAGE_ALIGN((size_t)nelem * size) >> PAGE_SHIFT;
	spin_lock_bh(&pool->lock);
	list_add_tail(&region->entry, &pool->regions[kind]);
	pool->nregions[kind]++;
	pool->bytes[kind] += (u64)nelem * size;
	smc_stats_mem(pool->net, kind == SMC_BUF_RMB ? SMC_MEM_RMB_POOLED : SMC_MEM_SND,
		      (s64)nelem * size);
	spin_unlock_bh(&pool->lock);
	mutex_unlock(&pool->mutex);
	return region;
}

/**
 * smc_buf_region_publish() - let connections take elements
 * @pool: pool
 * @region: region, mapped on the links, announced if it is an RMB
 */
void smc_buf_region_publish(struct smc_pool *pool, struct smc_region *region)
{
	spin_lock_bh(&pool->lock);
	region->published = true;
	region->asked = 0;
	region->since = jiffies;
	spin_unlock_bh(&pool->lock);
}

/* A region goes, whatever its elements are; pool->lock held. */
static void count_freed(const struct smc_region *region)
{
	u32 bad = bitmap_weight(region->quarantined, region->nelem);
	u32 used = bitmap_weight(region->used, region->nelem) - bad;
	struct net *net = region->pool->net;
	s64 size = region->elem_size;

	if (region->kind == SMC_BUF_SND) {
		smc_stats_mem(net, SMC_MEM_SND, -size * region->nelem);
		return;
	}
	smc_stats_mem(net, SMC_MEM_RMB_QUARANTINE, -size * bad);
	smc_stats_mem(net, SMC_MEM_RMB_USED, -size * used);
	smc_stats_mem(net, SMC_MEM_RMB_POOLED, -size * (region->nelem - bad - used));
}

/* From one kind to another; that of send rings is one. */
static void count_moved(const struct smc_region *region, enum smc_stats_mem from,
			enum smc_stats_mem to)
{
	s64 size = region->elem_size;

	if (region->kind != SMC_BUF_RMB)
		return;
	smc_stats_mem(region->pool->net, from, -size);
	smc_stats_mem(region->pool->net, to, size);
}

/* An element, but not what of it is lent and goes on being read. */
static void wipe(const struct smc_region *region, u32 i)
{
	u8 *addr = region->vaddr + (size_t)i * region->elem_size;
	u32 off, piece;

	for (off = 0; off < region->elem_size; off += piece) {
		piece = min_t(u32, region->elem_size - off, PAGE_SIZE);
		if (!region->lends || !smc_buf_page_out(addr + off))
			memset(addr + off, 0, piece);
	}
}

/* pool->mutex held, or nobody else is left. Not mapped any more. */
static void free_region(struct smc_region *region)
{
	struct smc_pool *pool = region->pool;
	u32 i;

	spin_lock_bh(&pool->lock);
	list_del(&region->entry);
	count_freed(region);
	pool->nregions[region->kind]--;
	pool->bytes[region->kind] -= (u64)region->nelem * region->elem_size;
	pool->quarantined -= (u64)bitmap_weight(region->quarantined, region->nelem) *
			     region->elem_size;
	WRITE_ONCE(pool->lent, pool->lent - (size_t)bitmap_weight(region->lent, region->nelem) *
				 region->elem_size);
	spin_unlock_bh(&pool->lock);
	/* elements returned are zero already: the rest must not leave either */
	for_each_set_bit(i, region->used, region->nelem)
		wipe(region, i);
	vfree(region->vaddr);
	uncharge(pool, region->kind, (u64)region->nelem * region->elem_size);
	kfree(region);
}

/* ---- cache maintenance ---- */

/* Of a device that needs it. */
static void sync_dma(const struct smc_buf_dma *d, size_t pos, size_t len, bool for_device)
{
	dma_addr_t addr;
	size_t piece;

	for (; len; len -= piece, pos += piece) {
		piece = min_t(size_t, len, PAGE_SIZE - offset_in_page(pos));
		addr = d->addr[pos >> PAGE_SHIFT] + offset_in_page(pos);
		if (for_device)
			ib_dma_sync_single_for_device(d->ibdev, addr, piece, d->dir);
		else
			ib_dma_sync_single_for_cpu(d->ibdev, addr, piece, d->dir);
	}
}

static void sync_pages(const struct smc_region *region, u32 slot, size_t pos, size_t len,
		       bool for_device)
{
	const struct smc_buf_mapping *m;

	rcu_read_lock();
	m = rcu_dereference(region->maps[slot].mapping);
	if (m && !ib_uses_virt_dma(m->dma->ibdev))
		sync_dma(m->dma, pos, len, for_device);
	rcu_read_unlock();
}

/* ---- mappings ---- */

static struct smc_buf_mapping *get_mapping(const struct smc_region *region, u32 slot)
{
	return rcu_dereference_protected(region->maps[slot].mapping,
					 lockdep_is_held(&region->pool->mutex));
}

static int map_pages(const struct smc_region *region, struct smc_buf_dma *d)
{
	struct sg_dma_page_iter iter;
	struct scatterlist *sg;
	u32 i;
	int rc;

	rc = smc_fault_rc(SG_TABLE, -ENOMEM,
			  sg_alloc_table(&d->sgt, region->npages, GFP_KERNEL));
	if (rc)
		return rc;
	for_each_sgtable_sg(&d->sgt, sg, i)
		sg_set_page(sg, vmalloc_to_page(region->vaddr + ((size_t)i << PAGE_SHIFT)),
			    PAGE_SIZE, 0);
	rc = smc_fault_rc(DMA_MAP, -EIO,
			  ib_dma_map_sgtable_attrs(d->ibdev, &d->sgt, d->dir, MAP_ATTRS));
	if (rc) {
		sg_free_table(&d->sgt);
		return rc;
	}
	if (ib_uses_virt_dma(d->ibdev))
		return 0;
	i = 0;
	for_each_sgtable_dma_page(&d->sgt, &iter, 0)
		if (i < region->npages)
			d->addr[i++] = sg_page_iter_dma_address(&iter);
	/* an element may hold bytes already: a link was added */
	sync_dma(d, 0, (size_t)region->npages << PAGE_SHIFT, true);
	return 0;
}

/* Of another link over the same device, or NULL. */
static struct smc_buf_dma *find_dma(const struct smc_region *region,
				    const struct ib_device *ibdev)
{
	const struct smc_buf_mapping *m;
	u32 slot;

	for (slot = 0; slot < SMC_BUF_LINKS; slot++) {
		m = get_mapping(region, slot);
		if (m && m->dma->ibdev == ibdev)
			return m->dma;
	}
	return NULL;
}

/* The region as @ibdev sees it, for one link more. */
static struct smc_buf_dma *get_dma(const struct smc_region *region, struct ib_device *ibdev)
{
	u32 naddr = ib_uses_virt_dma(ibdev) ? 0 : region->npages;
	struct smc_buf_dma *d = find_dma(region, ibdev);
	int rc;

	if (d) {
		d->users++;
		return d;
	}
	d = smc_fault_null(MAPPING_DMA, kvzalloc(struct_size(d, addr, naddr), GFP_KERNEL));
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->ibdev = ibdev;
	d->users = 1;
	/* we write into RMBs too: zeroes between two connections */
	d->dir = region->kind == SMC_BUF_RMB ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	rc = map_pages(region, d);
	if (rc) {
		kvfree(d);
		return ERR_PTR(rc);
	}
	return d;
}

/* No reader is left: pool->mutex held, a grace period after the mapping was hidden. */
static void put_dma(struct smc_buf_dma *d)
{
	if (--d->users)
		return;
	ib_dma_unmap_sgtable_attrs(d->ibdev, &d->sgt, d->dir, MAP_ATTRS);
	sg_free_table(&d->sgt);
	kvfree(d);
}

static int make_mr(const struct smc_region *region, struct smc_buf_mapping *m)
{
	int n;

	m->mr = smc_fault_ptr(MR, -ENOSPC,
			      ib_alloc_mr(m->qp->pd, IB_MR_TYPE_MEM_REG, region->npages));
	if (IS_ERR(m->mr))
		return PTR_ERR(m->mr);
	n = smc_fault_rc(MR_MAP, 0,
			 ib_map_mr_sg(m->mr, m->dma->sgt.sgl, m->dma->sgt.nents, NULL,
				      PAGE_SIZE));
	if (n == m->dma->sgt.nents)
		return 0;
	/* fewer: the device cannot have all of it as one region */
	ib_dereg_mr(m->mr);
	return n < 0 ? n : -EINVAL;
}

static int map_region(struct smc_region *region, u32 slot, struct smc_qp *qp)
{
	struct smc_buf_mapping *m = get_mapping(region, slot);
	int rc;

	lockdep_assert_held(&region->pool->mutex);
	if (m)
		return m->qp == qp ? 0 : -EBUSY;
	if (READ_ONCE(qp->broken))
		return -ENOTCONN;
	m = smc_fault_null(MAPPING, kzalloc(sizeof(*m), GFP_KERNEL));
	if (!m)
		return -ENOMEM;
	m->qp = qp;
	m->dma = get_dma(region, qp->dev->ibdev);
	if (IS_ERR(m->dma)) {
		rc = PTR_ERR(m->dma);
		goto free;
	}
	rc = make_mr(region, m);
	if (rc)
		goto put;
	WRITE_ONCE(region->maps[slot].registered, false);
	rcu_assign_pointer(region->maps[slot].mapping, m);
	return 0;
put:
	put_dma(m->dma);
free:
	kfree(m);
	return rc;
}

static int register_region(struct smc_region *region, u32 slot)
{
	struct smc_buf_mapping *m = get_mapping(region, slot);
	int access = IB_ACCESS_LOCAL_WRITE;
	int rc;

	lockdep_assert_held(&region->pool->mutex);
	if (!m)
		return -ENOTCONN;
	if (region->maps[slot].registered)
		return 0;
	if (region->kind == SMC_BUF_RMB)
		access |= IB_ACCESS_REMOTE_WRITE;
	rc = smc_wr_reg_mr(m->qp, m->mr, access);
	if (!rc)
		WRITE_ONCE(region->maps[slot].registered, true);
	return rc;
}

/* First half of unmapping, collected in @hidden: no new user finds the mapping. */
static void hide_mapping(struct smc_region *region, u32 slot, struct list_head *hidden)
{
	struct smc_buf_mapping *m = get_mapping(region, slot);

	if (!m)
		return;
	WRITE_ONCE(region->maps[slot].registered, false);
	RCU_INIT_POINTER(region->maps[slot].mapping, NULL);
	list_add_tail(&m->entry, hidden);
}

/* Second half: one grace period for all of them. */
static void free_hidden(struct list_head *hidden)
{
	struct smc_buf_mapping *m, *next;

	if (!list_empty(hidden))
		synchronize_rcu();
	list_for_each_entry_safe(m, next, hidden, entry) {
		ib_dereg_mr(m->mr);
		put_dma(m->dma);
		kfree(m);
	}
}

static void unmap_everywhere(struct smc_region *region)
{
	LIST_HEAD(hidden);
	u32 slot;

	for (slot = 0; slot < SMC_BUF_LINKS; slot++)
		hide_mapping(region, slot, &hidden);
	free_hidden(&hidden);
}

static void unmap_region(struct smc_region *region, u32 slot)
{
	LIST_HEAD(hidden);

	hide_mapping(region, slot, &hidden);
	free_hidden(&hidden);
}

/**
 * smc_buf_map() - make a region known to a link's device
 * @region: region
 * @slot: the link's slot
 * @qp: the link's queue pair; the caller sees to it that it is not destroyed meanwhile
 *
 * The keys are known afterwards, and valid after smc_buf_register(). Nothing
 * happens if it was mapped. Process context.
 *
 * Return: 0 or -errno.
 */
int smc_buf_map(struct smc_region *region, u32 slot, struct smc_qp *qp)
{
	int rc;

	mutex_lock(&region->pool->mutex);
	rc = map_region(region, slot, qp);
	mutex_unlock(&region->pool->mutex);
	return rc;
}

/**
 * smc_buf_register() - make the keys of a mapped region valid
 * @region: region
 * @slot: slot of a link in RTS
 *
 * Nothing happens if they are. Process context, waits for the device up to 5 s.
 *
 * Return: 0, -ENOTCONN (not mapped or queue pair broken), or as smc_wr_reg_mr().
 */
int smc_buf_register(struct smc_region *region, u32 slot)
{
	int rc;

	mutex_lock(&region->pool->mutex);
	rc = register_region(region, slot);
	mutex_unlock(&region->pool->mutex);
	return rc;
}

/**
 * smc_buf_unmap() - undo smc_buf_map()
 * @region: region
 * @slot: slot of a link, drained, or on which the region was not yet used
 *
 * Process context.
 */
void smc_buf_unmap(struct smc_region *region, u32 slot)
{
	mutex_lock(&region->pool->mutex);
	unmap_region(region, slot);
	mutex_unlock(&region->pool->mutex);
}

/**
 * smc_buf_region_free() - take back smc_buf_region_alloc()
 * @region: region, not published
 *
 * Process context.
 */
void smc_buf_region_free(struct smc_region *region)
{
	struct smc_pool *pool = region->pool;

	mutex_lock(&pool->mutex);
	unmap_everywhere(region);
	free_region(region);
	mutex_unlock(&pool->mutex);
}

/* ---- give-back ---- */

/**
 * smc_buf_park() - take an idle region out of use
 * @pool: pool
 * @kind: RMB or send region
 * @age: jiffies for which it has had no element in use
 *
 * The youngest of them; one region stays for the next connection. Elements in quarantine
 * are in use.
 *
 * Return: the region, to be freed, published again or shelved; NULL: there is none.
 */
struct smc_region *smc_buf_park(struct smc_pool *pool, enum smc_buf_kind kind, unsigned long age)
{
	struct smc_region *region, *found = NULL;
	u32 n = 0;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry) {
		if (!region->published)
			continue;
		n++;
		if (bitmap_empty(region->used, region->nelem) &&
		    time_after_eq(jiffies, region->since + age))
			found = region;
	}
	if (n < 2)
		found = NULL;
	if (found)
		found->published = false;
	spin_unlock_bh(&pool->lock);
	return found;
}

/**
 * smc_buf_shelve() - keep an RMB that the peer may still know
 * @region: region, parked or taken off the shelf
 *
 * It stays registered, and serves again once it was announced again.
 */
void smc_buf_shelve(struct smc_region *region)
{
	struct smc_pool *pool = region->pool;

	spin_lock_bh(&pool->lock);
	region->announced = false;
	region->shelved = true;
	spin_unlock_bh(&pool->lock);
}

/**
 * smc_buf_unshelve() - take an RMB off the shelf
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, 0: any
 * @asked: only one about which the peer was asked less often
 *
 * Return: the region, to be freed, published again or shelved; NULL: there is none.
 */
struct smc_region *smc_buf_unshelve(struct smc_pool *pool, enum smc_buf_kind kind, u32 size,
				    u8 asked)
{
	struct smc_region *region, *found = NULL;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry) {
		if (!region->shelved || region->asked >= asked ||
		    (size && region->elem_size != size))
			continue;
		found = region;
		found->shelved = false;
		break;
	}
	spin_unlock_bh(&pool->lock);
	return found;
}

/**
 * smc_buf_pool_map() - make all regions known to a new link's device
 * @pool: pool
 * @slot: the link's slot
 * @qp: its queue pair
 *
 * After an error some are mapped: the link has to go, with smc_buf_pool_unmap().
 *
 * Return: 0 or -errno.
 */
int smc_buf_pool_map(struct smc_pool *pool, u32 slot, struct smc_qp *qp)
{
	struct smc_region *region;
	int kind, rc = 0;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_BUF_KINDS && !rc; kind++) {
		list_for_each_entry(region, &pool->regions[kind], entry) {
			rc = map_region(region, slot, qp);
			if (rc)
				break;
		}
	}
	mutex_unlock(&pool->mutex);
	return rc;
}

/**
 * smc_buf_pool_register() - register what is mapped on a link
 * @pool: pool
 * @slot: slot of a link in RTS
 *
 * Return: 0 or the first -errno.
 */
int smc_buf_pool_register(struct smc_pool *pool, u32 slot)
{
	struct smc_region *region;
	int kind, rc = 0;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_BUF_KINDS && !rc; kind++) {
		list_for_each_entry(region, &pool->regions[kind], entry) {
			rc = register_region(region, slot);
			if (rc)
				break;
		}
	}
	mutex_unlock(&pool->mutex);
	return rc;
}

/**
 * smc_buf_pool_unmap() - a link goes
 * @pool: pool
 * @slot: its slot; its queue pair is drained and not yet destroyed
 *
 * Process context. Waits for one RCU grace period.
 */
void smc_buf_pool_unmap(struct smc_pool *pool, u32 slot)
{
	struct smc_region *region;
	LIST_HEAD(hidden);
	int kind;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_BUF_KINDS; kind++) {
		list_for_each_entry(region, &pool->regions[kind], entry)
			hide_mapping(region, slot, &hidden);
	}
	free_hidden(&hidden);
	mutex_unlock(&pool->mutex);
}

/* ---- keys ---- */

/**
 * smc_buf_rkey() - key by which the peer writes into a region
 * @region: region
 * @slot: link slot
 *
 * Return: the key, 0 if the region is not mapped there.
 */
u32 smc_buf_rkey(const struct smc_region *region, u32 slot)
{
	const struct smc_buf_mapping *m;
	u32 key;

	rcu_read_lock();
	m = rcu_dereference(region->maps[slot].mapping);
	key = m ? m->mr->rkey : 0;
	rcu_read_unlock();
	return key;
}

/**
 * smc_buf_lkey() - key by which our device reads a region
 * @region: region
 * @slot: link slot
 *
 * Return: the key, 0 if the region is not mapped there.
 */
u32 smc_buf_lkey(const struct smc_region *region, u32 slot)
{
	const struct smc_buf_mapping *m;
	u32 key;

	rcu_read_lock();
	m = rcu_dereference(region->maps[slot].mapping);
	key = m ? m->mr->lkey : 0;
	rcu_read_unlock();
	return key;
}

/**
 * smc_buf_iova() - address of the first element, under either key
 * @region: region
 * @slot: link slot
 *
 * Return: the address, 0 if the region is not mapped there.
 */
u64 smc_buf_iova(const struct smc_region *region, u32 slot)
{
	const struct smc_buf_mapping *m;
	u64 iova;

	rcu_read_lock();
	m = rcu_dereference(region->maps[slot].mapping);
	iova = m ? m->mr->iova : 0;
	rcu_read_unlock();
	return iova;
}

static size_t elem_offset(const struct smc_elem *elem)
{
	return (size_t)(elem->index - 1) * elem->region->elem_size;
}

/**
 * smc_buf_elem_iova() - address of a byte of an element
 * @elem: element
 * @slot: link slot
 * @off: offset in the element
 *
 * Return: the address; without meaning if the region is not mapped there.
 */
u64 smc_buf_elem_iova(const struct smc_elem *elem, u32 slot, u32 off)
{
	return smc_buf_iova(elem->region, slot) + elem_offset(elem) + off;
}

/**
 * smc_buf_sync_for_device() - the CPU has written, the device will read
 * @elem: element
 * @slot: link slot
 * @off: offset in the element
 * @len: bytes, not beyond the element
 *
 * Any context.
 */
void smc_buf_sync_for_device(const struct smc_elem *elem, u32 slot, u32 off, u32 len)
{
	sync_pages(elem->region, slot, elem_offset(elem) + off, len, true);
}

/**
 * smc_buf_sync_for_cpu() - the device has written, the CPU will read
 * @elem: element
 * @slot: slot of the link over which it came
 * @off: offset in the element
 * @len: bytes, not beyond the element
 *
 * Any context.
 */
void smc_buf_sync_for_cpu(const struct smc_elem *elem, u32 slot, u32 off, u32 len)
{
	sync_pages(elem->region, slot, elem_offset(elem) + off, len, false);
}

/* ---- elements ---- */

/**
 * smc_buf_take() - take a free element
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, exactly
 * @out: result; all bytes are zero
 *
 * Any context.
 *
 * Return: 0, or -ENOENT if a region must be added.
 */
int smc_buf_take(struct smc_pool *pool, enum smc_buf_kind kind, u32 size, struct smc_elem *out)
{
	struct smc_region *region;
	int rc = -ENOENT;
	u32 i;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry) {
		if (!region->published || region->elem_size != size)
			continue;
		i = find_first_zero_bit(region->used, region->nelem);
		if (i >= region->nelem)
			continue;
		__set_bit(i, region->used);
		count_moved(region, SMC_MEM_RMB_POOLED, SMC_MEM_RMB_USED);
		out->region = region;
		out->index = i + 1;
		out->size = size;
		out->addr = region->vaddr + (size_t)i * size;
		rc = 0;
		break;
	}
	spin_unlock_bh(&pool->lock);
	return rc;
}

/**
 * smc_buf_grow_begin() - become the one who adds regions of a kind
 * @pool: pool
 * @kind: RMB or send region
 * @timeout: jiffies to wait for somebody else who is at it
 *
 * Process context.
 *
 * Return: true if the caller may add regions, until smc_buf_grow_end(). False:
 * another one did, or tried to, or is still at it.
 */
bool smc_buf_grow_begin(struct smc_pool *pool, enum smc_buf_kind kind, unsigned long timeout)
{
	bool mine;

	spin_lock_bh(&pool->lock);
	mine = !pool->growing[kind];
	pool->growing[kind] = true;
	spin_unlock_bh(&pool->lock);
	if (!mine)
		wait_event_timeout(pool->grown, !READ_ONCE(pool->growing[kind]), timeout);
	return mine;
}

/**
 * smc_buf_grow_end() - whoever waits for a region may look again
 * @pool: pool
 * @kind: as given to smc_buf_grow_begin()
 */
void smc_buf_grow_end(struct smc_pool *pool, enum smc_buf_kind kind)
{
	spin_lock_bh(&pool->lock);
	WRITE_ONCE(pool->growing[kind], false);
	spin_unlock_bh(&pool->lock);
	wake_up_all(&pool->grown);
}

/**
 * smc_buf_give() - give an element back
 * @pool: pool
 * @elem: element; empty afterwards; may be empty
 * @quarantine: the peer may still write into it: it stays out of use
 *
 * Zeroes it (RFC 7609 section 4.4.1), so: process context.
 */
void smc_buf_give(struct smc_pool *pool, struct smc_elem *elem, bool quarantine)
{
	struct smc_region *region = elem->region;
	u32 slot;

	if (!region)
		return;
	if (quarantine) {
		spin_lock_bh(&pool->lock);
		__set_bit(elem->index - 1, region->quarantined);
		pool->quarantined += elem->size;
		count_moved(region, SMC_MEM_RMB_USED, SMC_MEM_RMB_QUARANTINE);
		spin_unlock_bh(&pool->lock);
	} else {
		memset(elem->addr, 0, elem->size);
		for (slot = 0; slot < SMC_BUF_LINKS; slot++)
			sync_pages(region, slot, elem_offset(elem), elem->size, true);
		spin_lock_bh(&pool->lock);
		__clear_bit(elem->index - 1, region->used);
		count_moved(region, SMC_MEM_RMB_USED, SMC_MEM_RMB_POOLED);
		region->since = jiffies;
		spin_unlock_bh(&pool->lock);
	}
	elem->region = NULL;
	elem->addr = NULL;
}

/**
 * smc_buf_pool_destroy() - free all regions
 * @pool: pool of a group without links and connections
 *
 * Process context.
 */
void smc_buf_pool_destroy(struct smc_pool *pool)
{
	struct smc_region *region, *next;
	int kind;
	u32 slot;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_BUF_KINDS; kind++) {
		list_for_each_entry_safe(region, next, &pool->regions[kind], entry) {
			for (slot = 0; slot < SMC_BUF_LINKS; slot++)
				if (WARN_ON_ONCE(get_mapping(region, slot)))
					unmap_region(region, slot);
			free_region(region);
		}
	}
	mutex_unlock(&pool->mutex);
}
