// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions, their elements, and the pool of a link group (RFC 7609 sections 2.1, 4.4).
 *
 * A region is one allocation, cut into elements of equal size, and registered once per link
 * (rdma/region_map.c). A connection takes an element of a region that is already registered and
 * announced. Only if none is free, a region is added to the pool.
 *
 * States of a region: allocated (unpublished) -> published -> taken out of use when idle
 * (smc_pool_take_idle()) -> freed or published again. An RMB whose rkeys the peer has not forgotten
 * is withdrawn in between (smc_region_withdraw(), smc_pool_take_withdrawn()).
 *
 * States of an element: free -> taken -> zeroed as far as it was used, and free again. If the peer
 * may still write into it, it stays in quarantine until the region is freed. If a reader of the
 * stream still holds pages of it, it stays unavailable until they are back.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/rdma/region.h>

#define ELEM_SIZE_MAX	(512 * 1024)

/*
 * Charged to the cgroup of the connection for which a region is added, although others of the
 * group will use it, too. No OOM kill for it: without a region the connection falls back to TCP.
 */
#define REGION_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* At the limit of lent pages all of them are looked at, not more often than this. */
#define LENDING_PAUSE	(HZ / 10)

/* One physical piece only if it is available without reclaim or compaction. */
#define PIECE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * smc_pool_init() - Initialise an empty pool
 * @pool: pool
 * @host: the peer host, to which the memory is charged; the settings of its namespace apply;
 *	outlives the pool
 * @conns_max: connections of a full group, at least 1
 */
void smc_pool_init(struct smc_pool *pool, struct smc_host *host, u32 conns_max)
{
	struct net *net = host->key.net;
	int kind;

	memset(pool, 0, sizeof(*pool));
	pool->host = host;
	pool->net = net;
	pool->conns_max = conns_max;
	pool->buf_type = READ_ONCE(smc_settings_get(net)->region_type);
	mutex_init(&pool->mutex);
	spin_lock_init(&pool->lock);
	init_waitqueue_head(&pool->grow_wait);
	for (kind = 0; kind < SMC_REGION_KINDS; kind++)
		INIT_LIST_HEAD(&pool->regions[kind]);
}

/**
 * smc_elem_round_size() - Return the element size for a requested buffer size
 * @bytes: requested
 *
 * Return: the next power of two, at least 16 KiB and at most 512 KiB.
 */
u32 smc_elem_round_size(u32 bytes)
{
	return roundup_pow_of_two(clamp_t(u32, bytes, SMC_ELEM_SIZE_MIN, ELEM_SIZE_MAX));
}

/**
 * smc_elem_encode_size() - Return the compressed notation of an element size (RFC 7609 appendix
 * A.2.3)
 * @size: result of smc_elem_round_size()
 *
 * Return: n, where @size is 16 KiB << n.
 */
u8 smc_elem_encode_size(u32 size)
{
	return ilog2(size / SMC_ELEM_SIZE_MIN);
}

/* ---- regions ---- */

/* Return whether the region is added only while half of each limit is free. */
static bool region_wants_plenty(enum smc_region_need need)
{
	return need == SMC_REGION_EXTRA || need == SMC_REGION_AHEAD;
}

/* Return whether connections fail without the region. */
static bool region_is_needed(enum smc_region_need need)
{
	return need == SMC_REGION_NEEDED || need == SMC_REGION_FOUNDED;
}

/*
 * Number of elements of the next region: as many as the group has, up to one for each connection of
 * a full group; then few at a time, which replace those in quarantine. Memory is cleared and mapped
 * while a connection waits for it, and most groups have few connections; but for another RMB a
 * connection waits for the peer, too, which is short only with %SMC_REGION_FOUNDED: the first two
 * RMBEs come one by one there, the second one most often ahead of the connection that needs it. The
 * first send ring of full size goes to whoever writes, and few connections want one that they can
 * do without.
 */
static u32 pool_elems_wanted(struct smc_pool *pool, enum smc_region_kind kind, u32 size,
			     enum smc_region_need need)
{
	u32 max = pool->conns_max, have, few = 8;

	lockdep_assert_held(&pool->mutex);
	if (need == SMC_REGION_AGAIN)
		return 8;
	if (need == SMC_REGION_AHEAD || (need == SMC_REGION_FOUNDED && kind == SMC_REGION_RMB))
		return 1;
	have = smc_pool_count_elems(pool, kind, size);
	if (have >= max)
		return max / 8 + 1;
	if (kind == SMC_REGION_RMB && have && have < SMC_POOL_RMBES_KEPT)
		return 1;
	if (kind == SMC_REGION_SND && (!have || size != SMC_ELEM_SIZE_FIRST))
		few = need == SMC_REGION_EXTRA ? 2 : 1;
	return min3(max(have, few), max - have, need == SMC_REGION_EXTRA ? 32 : max);
}

/*
 * Return the elements of the pages that @nelem elements fill, but those of one page at least: what
 * is charged is what is allocated.
 */
static u32 pool_elems_in_pages(u32 nelem, u32 size)
{
	u32 page = max_t(u32, PAGE_SIZE / size, 1);

	return max(round_down(nelem, page), page);
}

/* Return the limit of one kind of regions in the namespace, in bytes; 0: none. */
static u64 pool_kind_max(const struct smc_pool *pool, enum smc_region_kind kind)
{
	const struct smc_settings *sn = smc_settings_get(pool->net);
	u64 kb = kind == SMC_REGION_RMB ? READ_ONCE(sn->rmb_max) : READ_ONCE(sn->snd_max);

	return kb << 10;
}

/* Return how many bytes of it are in use. */
static atomic64_t *pool_kind_bytes(const struct smc_pool *pool, enum smc_region_kind kind)
{
	struct smc_settings *sn = smc_settings_get(pool->net);

	return kind == SMC_REGION_RMB ? &sn->rmb_bytes : &sn->snd_bytes;
}

/* Charge @bytes to the limit of their kind if @times of what is in use then fit below it. */
static bool pool_charge_kind(const struct smc_pool *pool, enum smc_region_kind kind, u64 bytes,
			     u32 times)
{
	atomic64_t *taken = pool_kind_bytes(pool, kind);
	u64 max = pool_kind_max(pool, kind);
	s64 used = atomic64_read(taken);

	do {
		if (max && times * (used + bytes) > max)
			return false;
	} while (!atomic64_try_cmpxchg(taken, &used, used + bytes));
	if (kind == SMC_REGION_RMB)
		smc_stats_add(pool->net, SMC_STAT_RMB_BYTES, bytes);
	return true;
}

/*
 * Charge a region to all limits that apply. One that could be smaller leaves as much as it takes,
 * but at the limit of its kind: near a limit regions become small, and the second kind of region
 * gets something, too.
 * Return 0, -EDQUOT, or an error of smc_host_charge().
 */
static int pool_charge(struct smc_pool *pool, enum smc_region_kind kind, u32 nelem, u32 size,
		       enum smc_region_need need)
{
	bool extra = region_wants_plenty(need);
	u64 bytes = (u64)nelem * size;
	int rc;

	if (extra)
		rc = smc_host_charge_extra(pool->host, bytes);
	else
		rc = smc_host_charge(pool->host, bytes,
				     nelem > pool_elems_in_pages(1, size) ? bytes : 0);
	if (rc || pool_charge_kind(pool, kind, bytes, extra ? 2 : 1))
		return rc;
	smc_host_uncharge(pool->host, bytes);
	return -EDQUOT;
}

static void pool_uncharge(struct smc_pool *pool, enum smc_region_kind kind, u64 bytes)
{
	smc_host_uncharge(pool->host, bytes);
	atomic64_sub(bytes, pool_kind_bytes(pool, kind));
	if (kind == SMC_REGION_RMB)
		smc_stats_add(pool->net, SMC_STAT_RMB_FREED, bytes);
}

/**
 * smc_pool_has_plenty() - Check whether half of each limit of memory is free for send rings
 * @pool: pool
 *
 * Any context. A snapshot.
 *
 * Return: true if so: smc_region_alloc() may succeed with SMC_REGION_EXTRA.
 */
bool smc_pool_has_plenty(const struct smc_pool *pool)
{
	u64 max = pool_kind_max(pool, SMC_REGION_SND);

	if (max && 2 * (u64)atomic64_read(pool_kind_bytes(pool, SMC_REGION_SND)) > max)
		return false;
	return smc_host_has_plenty(pool->host);
}

/*
 * Return whether a piece of @bytes, which could not be had, is there for one who is not charged for
 * it: then the memory cgroup of the connection lacks the room.
 */
static bool region_is_over_cgroup(size_t bytes)
{
	void *piece = alloc_pages_exact(bytes, PIECE_GFP & ~__GFP_ACCOUNT);

	if (piece)
		free_pages_exact(piece, bytes);
	return piece;
}

/*
 * Allocate zeroed memory without compound pages, see smc_region_page_is_lent(). A search for memory
 * is not worth its cost for connections that can do without, nor again and again.
 *
 * A piece is charged to the cgroup at once or not at all. Single pages would fill the cgroup up
 * before the last of them is refused, and whatever its processes touch at that moment would have
 * one of them killed. So a cgroup without room for the piece is not asked for pages.
 */
static void *region_mem_alloc(const struct smc_pool *pool, size_t bytes, enum smc_region_need need)
{
	gfp_t gfp = region_is_needed(need) ? REGION_GFP : PIECE_GFP;
	void *mem;

	if (pool->buf_type != SMC_REGION_TYPE_VIRT && !smc_fault_hit(SMC_FAULT_REGION_PIECE)) {
		mem = alloc_pages_exact(bytes, PIECE_GFP | __GFP_ZERO);
		if (mem || region_is_over_cgroup(bytes))
			return mem;
	}
	return __vmalloc(bytes, gfp | __GFP_ZERO);
}

static void region_mem_free(void *mem, size_t bytes)
{
	if (is_vmalloc_addr(mem))
		vfree(mem);
	else
		free_pages_exact(mem, bytes);
}

/* Charge and allocate the memory of @nelem elements; pool->mutex held. */
static int region_fill(struct smc_region *region, u32 nelem, enum smc_region_need need)
{
	struct smc_pool *pool = region->pool;
	size_t bytes = (size_t)nelem * region->elem_size;
	int rc;

	lockdep_assert_held(&pool->mutex);
	rc = pool_charge(pool, region->kind, nelem, region->elem_size, need);
	if (rc)
		return rc;
	region->vaddr = smc_fault_null(REGION_MEM, region_mem_alloc(pool, bytes, need));
	if (region->vaddr)
		return 0;
	pool_uncharge(pool, region->kind, bytes);
	return -ENOMEM;
}

/**
 * smc_region_alloc() - Add an unpublished region to a pool
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, from smc_elem_round_size(), or SMC_ELEM_SIZE_FIRST
 * @max_pages: pages that one MR of the link's device can cover
 * @need: who needs it; for SMC_REGION_EXTRA and SMC_REGION_AHEAD half of each limit stays free.
 *	Refusals of SMC_REGION_NEEDED and SMC_REGION_FOUNDED count in SMC_STAT_MEM_LIMITED.
 *
 * The region has as many elements as @max_pages, @need and the size of the group allow, and fewer
 * if memory is short. It is not mapped, and smc_elem_take() does not see it; but it is in the pool,
 * so that links that come and go meanwhile map and unmap it. Process context.
 *
 * Return: the region, to be published or freed. ERR_PTR: -ENOMEM, -EINVAL (@size impossible
 * here), -ENOSPC (SMC_POOL_REGIONS_MAX), -EDQUOT (net.smc.smcr_max_rmb_kb, smcr_max_snd_kb),
 * -EUSERS or -ENOBUFS (smc_host_charge()).
 */
struct smc_region *smc_region_alloc(struct smc_pool *pool, enum smc_region_kind kind,
				    u32 size, u32 max_pages, enum smc_region_need need)
{
	u32 nelem = min_t(u64, ((u64)max_pages << PAGE_SHIFT) / size, SMC_REGION_ELEMS_MAX);
	u32 size_min = kind == SMC_REGION_RMB ? SMC_ELEM_SIZE_MIN : SMC_ELEM_SIZE_FIRST;
	struct smc_region *region;
	int rc = -ENOMEM;

	if (!nelem || size < size_min || !is_power_of_2(size))
		return ERR_PTR(-EINVAL);
	region = smc_fault_null(REGION, kzalloc(sizeof(*region), REGION_GFP));
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->pool = pool;
	region->kind = kind;
	region->elem_size = size;
	region->extra = need == SMC_REGION_EXTRA;

	mutex_lock(&pool->mutex);
	if (smc_fault_hit(SMC_FAULT_REGION_LIMIT) ||
	    pool->nregions[kind] >= SMC_POOL_REGIONS_MAX) {
		mutex_unlock(&pool->mutex);
		kfree(region);
		return ERR_PTR(-ENOSPC);
	}
	nelem = min(nelem, pool_elems_wanted(pool, kind, size, need));
	for (; nelem; nelem /= 2) {
		nelem = pool_elems_in_pages(nelem, size);
		rc = region_fill(region, nelem, need);
		if (!rc || (rc == -ENOMEM && region_wants_plenty(need)) ||
		    nelem == pool_elems_in_pages(1, size))
			break;
	}
	if (rc) {
		mutex_unlock(&pool->mutex);
		kfree(region);
		/* counted are refusals that a connection feels, once */
		if (rc != -ENOMEM && region_is_needed(need))
			smc_stats_inc(pool->net, SMC_STAT_MEM_LIMITED);
		return ERR_PTR(rc);
	}
	region->nelem = nelem;
	region->npages = PAGE_ALIGN((size_t)nelem * size) >> PAGE_SHIFT;
	spin_lock_bh(&pool->lock);
	list_add_tail(&region->entry, &pool->regions[kind]);
	pool->nregions[kind]++;
	WRITE_ONCE(pool->bytes[kind], pool->bytes[kind] + (u64)nelem * size);
	smc_stats_mem(pool->net, kind == SMC_REGION_RMB ? SMC_MEM_RMB_POOLED : SMC_MEM_SND,
		      (s64)nelem * size);
	spin_unlock_bh(&pool->lock);
	mutex_unlock(&pool->mutex);
	return region;
}

/**
 * smc_region_publish() - Let connections take elements of a region
 * @pool: pool
 * @region: unpublished region, mapped and registered on the links; an RMB also announced
 */
void smc_region_publish(struct smc_pool *pool, struct smc_region *region)
{
	spin_lock_bh(&pool->lock);
	region->published = true;
	region->delete_refused = 0;
	region->idle_since = jiffies;
	spin_unlock_bh(&pool->lock);
}

/* Subtract a region from the statistics, whatever its elements are used for. */
static void region_count_freed(const struct smc_region *region)
{
	u32 bad = bitmap_weight(region->quarantined, region->nelem);
	u32 used = bitmap_weight(region->used, region->nelem) - bad;
	struct net *net = region->pool->net;
	s64 size = region->elem_size;

	lockdep_assert_held(&region->pool->lock);
	if (region->kind == SMC_REGION_SND) {
		smc_stats_mem(net, SMC_MEM_SND, -size * region->nelem);
		return;
	}
	smc_stats_mem(net, SMC_MEM_RMB_QUARANTINE, -size * bad);
	smc_stats_mem(net, SMC_MEM_RMB_USED, -size * used);
	smc_stats_mem(net, SMC_MEM_RMB_POOLED, -size * (region->nelem - bad - used));
}

/* Move an RMBE between two kinds of the statistics; send rings have only one. */
static void elem_count_moved(const struct smc_region *region, enum smc_stats_mem from,
			     enum smc_stats_mem to)
{
	s64 size = region->elem_size;

	lockdep_assert_held(&region->pool->lock);
	if (region->kind != SMC_REGION_RMB)
		return;
	smc_stats_mem(region->pool->net, from, -size);
	smc_stats_mem(region->pool->net, to, size);
}

/* Zero element @i, but for pages that are lent and may still be read. */
static void elem_wipe(const struct smc_region *region, u32 i)
{
	u8 *addr = region->vaddr + (size_t)i * region->elem_size;
	u32 off, piece;

	for (off = 0; off < region->elem_size; off += piece) {
		piece = min_t(u32, region->elem_size - off, PAGE_SIZE);
		if (!region->maybe_lent || !smc_region_page_is_lent(addr + off))
			memset(addr + off, 0, piece);
	}
}

/* The region is unmapped, and no element is used any more. */
static void region_destroy(struct smc_region *region)
{
	struct smc_pool *pool = region->pool;
	u32 i;

	lockdep_assert_held(&pool->mutex);
	spin_lock_bh(&pool->lock);
	list_del(&region->entry);
	region_count_freed(region);
	pool->nregions[region->kind]--;
	WRITE_ONCE(pool->bytes[region->kind], pool->bytes[region->kind] -
		   (u64)region->nelem * region->elem_size);
	pool->quarantined -= (u64)bitmap_weight(region->quarantined, region->nelem) *
			     region->elem_size;
	WRITE_ONCE(pool->lent, pool->lent - (size_t)bitmap_weight(region->lent, region->nelem) *
				 region->elem_size);
	pool->lending -= (size_t)bitmap_weight(region->lending, region->nelem) * region->elem_size;
	spin_unlock_bh(&pool->lock);
	/* Free elements hold nothing of ours. Zero the others, too, before the pages leave. */
	for_each_set_bit(i, region->used, region->nelem)
		elem_wipe(region, i);
	region_mem_free(region->vaddr, (size_t)region->nelem * region->elem_size);
	pool_uncharge(pool, region->kind, (u64)region->nelem * region->elem_size);
	kfree(region);
}

/**
 * smc_region_free() - Unmap a region on all links and free it
 * @region: region, not published
 *
 * Waits for one RCU grace period if it was mapped. Process context.
 */
void smc_region_free(struct smc_region *region)
{
	struct smc_pool *pool = region->pool;

	mutex_lock(&pool->mutex);
	smc_region_unmap_all_locked(region);
	region_destroy(region);
	mutex_unlock(&pool->mutex);
}

/* ---- idle regions ---- */

static bool region_is_of_first_rings(const struct smc_region *region)
{
	return region->elem_size == SMC_ELEM_SIZE_FIRST;
}

/*
 * Return whether enough is left without the region. The next connection needs an RMBE, a first ring
 * and a ring of full size, whatever that is. A group keeps the RMBE that it got ahead, too: to give
 * it back and to add it again, both ends ask each other.
 */
static bool region_is_spare(const struct smc_region *region)
{
	u32 kept = region->kind == SMC_REGION_RMB ? SMC_POOL_RMBES_KEPT : 1, left = 0;
	const struct smc_region *other;

	lockdep_assert_held(&region->pool->lock);
	if (region->extra)
		return true;
	kept = min(kept, region->pool->conns_max);
	list_for_each_entry(other, &region->pool->regions[region->kind], entry)
		if (other != region && other->published && !other->extra &&
		    region_is_of_first_rings(other) == region_is_of_first_rings(region))
			left += other->nelem;
	return left >= kept;
}

/**
 * smc_pool_take_idle() - Take an idle region out of use
 * @pool: pool
 * @kind: RMB or send region
 * @age: jiffies for which all its elements must have been free
 *
 * Takes the youngest such region. %SMC_POOL_RMBES_KEPT RMBEs stay for the next connections, as do
 * the last region of first rings and the last one of others, but for those of SMC_REGION_EXTRA.
 * Elements in quarantine count as used. Any context but hard interrupt.
 *
 * Return: the region, to be freed, published again or withdrawn by the caller; NULL: none.
 */
struct smc_region *smc_pool_take_idle(struct smc_pool *pool, enum smc_region_kind kind,
				      unsigned long age)
{
	struct smc_region *region, *found = NULL;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry)
		if (region->published && bitmap_empty(region->used, region->nelem) &&
		    time_after_eq(jiffies, region->idle_since + age) && region_is_spare(region))
			found = region;
	if (found)
		found->published = false;
	spin_unlock_bh(&pool->lock);
	return found;
}

/**
 * smc_region_withdraw() - Withdraw an RMB whose rkeys the peer may still know
 * @region: region that is not published: from smc_pool_take_idle() or smc_pool_take_withdrawn(), or
 *	one that the peer has accepted in vain
 *
 * The region stays registered, and no element of it is handed out. It can be used again after it
 * was announced again. Any context but hard interrupt.
 */
void smc_region_withdraw(struct smc_region *region)
{
	struct smc_pool *pool = region->pool;

	spin_lock_bh(&pool->lock);
	region->announced = false;
	region->withdrawn = true;
	spin_unlock_bh(&pool->lock);
}

/**
 * smc_region_is_known_at_all() - Check whether the peer knows an RMB
 * @region: region
 *
 * Any context.
 *
 * Return: true if the peer knows its key on any link.
 */
bool smc_region_is_known_at_all(const struct smc_region *region)
{
	u32 slot;

	for (slot = 0; slot < SMC_REGION_LINKS; slot++)
		if (smc_region_is_known(region, slot))
			return true;
	return false;
}

/**
 * smc_region_forget_known() - Do not rely on the keys that were announced before
 * @region: region from smc_pool_take_withdrawn(), to be announced again
 *
 * The peer may have deleted it. Any context.
 */
void smc_region_forget_known(struct smc_region *region)
{
	u32 slot;

	for (slot = 0; slot < SMC_REGION_LINKS; slot++)
		WRITE_ONCE(region->maps[slot].known, false);
}

/**
 * smc_pool_take_withdrawn() - Take over a withdrawn region
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size; 0: any
 * @asked: take only a region with fewer refused DELETE RKEY requests (&smc_region.delete_refused)
 *
 * Any context but hard interrupt.
 *
 * Return: the region, to be freed, published or withdrawn again by the caller; NULL: none.
 */
struct smc_region *smc_pool_take_withdrawn(struct smc_pool *pool, enum smc_region_kind kind,
					   u32 size, u8 asked)
{
	struct smc_region *region, *found = NULL;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry) {
		if (!region->withdrawn || region->delete_refused >= asked ||
		    (size && region->elem_size != size))
			continue;
		found = region;
		found->withdrawn = false;
		break;
	}
	spin_unlock_bh(&pool->lock);
	return found;
}

/* ---- elements ---- */

/* Return a region with a free element, and its index in @index; NULL: none. */
static struct smc_region *pool_find_free(struct smc_pool *pool, enum smc_region_kind kind,
					 u32 size, u32 *index)
{
	struct smc_region *region;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry) {
		if (!region->published || region->elem_size != size)
			continue;
		*index = find_first_zero_bit(region->used, region->nelem);
		if (*index < region->nelem)
			return region;
	}
	return NULL;
}

/**
 * smc_pool_has_free() - Check whether smc_elem_take() would find an element
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, exactly
 *
 * Any context but hard interrupt. A snapshot.
 *
 * Return: true if so.
 */
bool smc_pool_has_free(struct smc_pool *pool, enum smc_region_kind kind, u32 size)
{
	bool found;
	u32 i;

	spin_lock_bh(&pool->lock);
	found = pool_find_free(pool, kind, size, &i);
	spin_unlock_bh(&pool->lock);
	return found;
}

/**
 * smc_pool_count_elems() - Count the elements of a size, in use or free
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, exactly
 *
 * Any context but hard interrupt. A snapshot.
 *
 * Return: their number, those of regions included that are not published.
 */
u32 smc_pool_count_elems(struct smc_pool *pool, enum smc_region_kind kind, u32 size)
{
	struct smc_region *region;
	u32 n = 0;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry)
		if (region->elem_size == size)
			n += region->nelem;
	spin_unlock_bh(&pool->lock);
	return n;
}

/**
 * smc_elem_take() - Take a free element
 * @pool: pool
 * @kind: RMB or send region
 * @size: element size, exactly
 * @out: result; all bytes are zero, but for those that the peer has written into an RMBE and never
 *	announced, see smc_conn_give_buffers(). To be returned with smc_elem_give_back() (RMBEs) or
 *	smc_elem_free().
 *
 * Any context but hard interrupt.
 *
 * Return: 0, or -ENOENT if no element is free.
 */
int smc_elem_take(struct smc_pool *pool, enum smc_region_kind kind, u32 size, struct smc_elem *out)
{
	struct smc_region *region;
	u32 i;

	spin_lock_bh(&pool->lock);
	region = pool_find_free(pool, kind, size, &i);
	if (region) {
		__set_bit(i, region->used);
		elem_count_moved(region, SMC_MEM_RMB_POOLED, SMC_MEM_RMB_USED);
		out->region = region;
		out->index = i + 1;
		out->size = size;
		out->used = size;
		out->addr = region->vaddr + (size_t)i * size;
	}
	spin_unlock_bh(&pool->lock);
	return region ? 0 : -ENOENT;
}

/**
 * smc_pool_grow_begin() - Become the only caller that adds regions of a kind to a pool
 * @pool: pool
 * @kind: RMB or send region
 * @timeout: jiffies to wait if another caller is adding a region
 *
 * Process context.
 *
 * Return: true if the caller may add regions, until smc_pool_grow_end(). False: another caller
 * succeeded or failed meanwhile, or has not finished after @timeout.
 */
bool smc_pool_grow_begin(struct smc_pool *pool, enum smc_region_kind kind, unsigned long timeout)
{
	bool mine;

	spin_lock_bh(&pool->lock);
	mine = !pool->growing[kind];
	WRITE_ONCE(pool->growing[kind], true);
	spin_unlock_bh(&pool->lock);
	if (!mine)
		wait_event_timeout(pool->grow_wait, !READ_ONCE(pool->growing[kind]), timeout);
	return mine;
}

/**
 * smc_pool_grow_end() - Undo smc_pool_grow_begin() and wake the callers that wait there
 * @pool: pool
 * @kind: as for smc_pool_grow_begin()
 */
void smc_pool_grow_end(struct smc_pool *pool, enum smc_region_kind kind)
{
	spin_lock_bh(&pool->lock);
	WRITE_ONCE(pool->growing[kind], false);
	spin_unlock_bh(&pool->lock);
	wake_up_all(&pool->grow_wait);
}

/**
 * smc_pool_grow_extra_begin() - Become the only caller that adds send rings for connections that
 * stand
 * @pool: pool
 *
 * Apart from smc_pool_grow_begin(): new connections do not wait for this, nor does this for them.
 *
 * Context: Process.
 * Return: true if the caller may add a region, until smc_pool_grow_extra_end().
 */
bool smc_pool_grow_extra_begin(struct smc_pool *pool)
{
	bool mine;

	spin_lock_bh(&pool->lock);
	mine = !pool->growing_extra;
	pool->growing_extra = true;
	spin_unlock_bh(&pool->lock);
	return mine;
}

/**
 * smc_pool_grow_extra_end() - Undo smc_pool_grow_extra_begin()
 * @pool: pool
 */
void smc_pool_grow_extra_end(struct smc_pool *pool)
{
	spin_lock_bh(&pool->lock);
	pool->growing_extra = false;
	spin_unlock_bh(&pool->lock);
}

/* Count element @i as one with lent pages, or no more. */
static void elem_set_lending(struct smc_region *region, u32 i, bool lending)
{
	struct smc_pool *pool = region->pool;

	lockdep_assert_held(&pool->lock);
	if (test_bit(i, region->lending) == lending)
		return;
	__assign_bit(i, region->lending, lending);
	if (lending)
		pool->lending += region->elem_size;
	else
		pool->lending -= region->elem_size;
}

/**
 * smc_elem_free() - Zero an element and make it available again
 * @pool: pool
 * @elem: element, no page of which is lent; may be empty, is empty afterwards
 * @quarantine: the peer did not confirm the close and may still write into the element: do not
 *	zero it, and keep it out of use until its region is freed
 *
 * RFC 7609 section 4.4.1. Zeroes what was used of the element (&smc_elem.used). Process context:
 * that may take a while.
 */
void smc_elem_free(struct smc_pool *pool, struct smc_elem *elem, bool quarantine)
{
	struct smc_region *region = elem->region;
	u32 slot;

	if (!region)
		return;
	if (quarantine) {
		spin_lock_bh(&pool->lock);
		__set_bit(elem->index - 1, region->quarantined);
		pool->quarantined += elem->size;
		elem_set_lending(region, elem->index - 1, false);
		elem_count_moved(region, SMC_MEM_RMB_USED, SMC_MEM_RMB_QUARANTINE);
		spin_unlock_bh(&pool->lock);
	} else {
		memset(elem->addr, 0, elem->used);
		for (slot = 0; slot < SMC_REGION_LINKS && smc_elem_needs_sync(elem); slot++)
			smc_elem_sync_for_device(elem, slot, 0, elem->used);
		spin_lock_bh(&pool->lock);
		__clear_bit(elem->index - 1, region->used);
		elem_set_lending(region, elem->index - 1, false);
		elem_count_moved(region, SMC_MEM_RMB_USED, SMC_MEM_RMB_POOLED);
		region->idle_since = jiffies;
		spin_unlock_bh(&pool->lock);
	}
	elem->region = NULL;
	elem->addr = NULL;
}

/* ---- elements with lent pages ---- */

/* Return element @i of a region, as that of a connection. */
static struct smc_elem region_get_elem(struct smc_region *region, u32 i)
{
	return (struct smc_elem){
		.region = region,
		.index = i + 1,
		.size = region->elem_size,
		.used = region->elem_size,
		.addr = region->vaddr + (size_t)i * region->elem_size,
	};
}

/* Return true if a reader still holds a page of the element. */
static bool elem_is_lent(const struct smc_elem *elem)
{
	bool lent = false;
	u32 off;

	if (!READ_ONCE(elem->region->maybe_lent))
		return false;
	for (off = 0; off < elem->size && !lent; off += PAGE_SIZE)
		lent = smc_region_page_is_lent(elem->addr + off);
	smp_mb();	/* pairs with put_page(): the reader of a returned page has read it */
	return lent;
}

/* Count elements no more whose pages are all back, though nobody has noticed that. */
static void pool_recount_lending(struct smc_pool *pool)
{
	struct smc_region *region;
	struct smc_elem elem;
	u32 i;

	lockdep_assert_held(&pool->lock);
	if (jiffies - pool->lending_checked < LENDING_PAUSE)
		return;
	pool->lending_checked = jiffies;
	list_for_each_entry(region, &pool->regions[SMC_REGION_RMB], entry) {
		for_each_set_bit(i, region->lending, region->nelem) {
			elem = region_get_elem(region, i);
			if (!elem_is_lent(&elem))
				elem_set_lending(region, i, false);
		}
	}
}

/**
 * smc_elem_note_lent() - Count an element, pages of which have been lent
 * @elem: RMBE in use; each of these pages has a reference of its reader
 *
 * Any context but hard interrupt.
 *
 * Return: true until smc_elem_note_returned() or the end of the element. False: it would exceed
 * %SMC_POOL_LENDING_MAX, and the caller takes the pages back at once. Elements whose pages are back
 * unnoticed do not count for longer than a moment.
 */
bool smc_elem_note_lent(const struct smc_elem *elem)
{
	struct smc_region *region = elem->region;
	struct smc_pool *pool = region->pool;
	bool counted;

	spin_lock_bh(&pool->lock);
	counted = test_bit(elem->index - 1, region->lending);
	if (!counted) {
		if (pool->lending + elem->size > SMC_POOL_LENDING_MAX)
			pool_recount_lending(pool);
		counted = pool->lending + elem->size <= SMC_POOL_LENDING_MAX;
		if (counted)
			elem_set_lending(region, elem->index - 1, true);
	}
	if (counted)
		WRITE_ONCE(region->maybe_lent, true);
	spin_unlock_bh(&pool->lock);
	return counted;
}

/**
 * smc_elem_note_returned() - Undo smc_elem_note_lent(): all pages are back
 * @elem: RMBE in use
 *
 * Any context but hard interrupt.
 */
void smc_elem_note_returned(const struct smc_elem *elem)
{
	struct smc_pool *pool = elem->region->pool;

	spin_lock_bh(&pool->lock);
	elem_set_lending(elem->region, elem->index - 1, false);
	spin_unlock_bh(&pool->lock);
}

/* Free the elements of a region whose pages are all back; true if there was one. */
static bool region_reap_lent(struct smc_region *region)
{
	struct smc_elem elem;
	bool some = false;
	u32 i;

	lockdep_assert_held(&region->pool->mutex);	/* the region stays */
	for_each_set_bit(i, region->lent, region->nelem) {
		elem = region_get_elem(region, i);
		if (elem_is_lent(&elem))
			continue;
		spin_lock_bh(&region->pool->lock);
		__clear_bit(i, region->lent);
		WRITE_ONCE(region->pool->lent, region->pool->lent - elem.size);
		spin_unlock_bh(&region->pool->lock);
		smc_elem_free(region->pool, &elem, false);
		some = true;
	}
	return some;
}

static bool pool_reap_lent_locked(struct smc_pool *pool)
{
	struct smc_region *region;
	bool some = false;

	lockdep_assert_held(&pool->mutex);
	list_for_each_entry(region, &pool->regions[SMC_REGION_RMB], entry)
		some |= region_reap_lent(region);
	return some;
}

/**
 * smc_elem_give_back() - Give back an RMBE, pages of which may be lent
 * @pool: pool
 * @elem: element, not empty; empty afterwards
 * @quarantine: as for smc_elem_free()
 *
 * An element with lent pages stays out of use and counts in pool->lent. The next call of this
 * function or of smc_pool_reap_lent() makes it available if its pages are back by then. Process
 * context.
 */
void smc_elem_give_back(struct smc_pool *pool, struct smc_elem *elem, bool quarantine)
{
	/* Only try: the mutex may be held for seconds while a device registers memory. */
	if (READ_ONCE(pool->lent) && mutex_trylock(&pool->mutex)) {
		pool_reap_lent_locked(pool);
		mutex_unlock(&pool->mutex);
	}
	if (quarantine || !elem_is_lent(elem)) {
		smc_elem_free(pool, elem, quarantine);
		return;
	}
	spin_lock_bh(&pool->lock);
	__set_bit(elem->index - 1, elem->region->lent);
	elem_set_lending(elem->region, elem->index - 1, true);
	WRITE_ONCE(pool->lent, pool->lent + elem->size);
	spin_unlock_bh(&pool->lock);
	elem->region = NULL;
	elem->addr = NULL;
}

/**
 * smc_pool_reap_lent() - Make lent elements available again whose pages are back
 * @pool: pool
 *
 * Takes pool->mutex, which may be held while a device registers memory. Process context.
 *
 * Return: true if there was such an element.
 */
bool smc_pool_reap_lent(struct smc_pool *pool)
{
	bool some;

	/* Avoid the mutex in the common case. */
	if (!READ_ONCE(pool->lent))
		return false;
	mutex_lock(&pool->mutex);
	some = pool_reap_lent_locked(pool);
	mutex_unlock(&pool->mutex);
	return some;
}

/**
 * smc_pool_has_spare() - Check whether a pool has a region that may be given back when it is idle
 * @pool: pool
 *
 * One that is in use, or withdrawn, may become idle, or be released by the peer. Process context.
 *
 * Return: true if there is a region that is not kept for the next connection.
 */
bool smc_pool_has_spare(struct smc_pool *pool)
{
	struct smc_region *region;
	bool spare = false;
	int kind;

	spin_lock_bh(&pool->lock);
	for (kind = 0; kind < SMC_REGION_KINDS; kind++)
		list_for_each_entry(region, &pool->regions[kind], entry)
			spare |= !region->published || region_is_spare(region);
	spin_unlock_bh(&pool->lock);
	return spare;
}

/**
 * smc_pool_destroy() - Free all regions
 * @pool: pool of a group without links (no region is mapped) and connections
 *
 * Process context.
 */
void smc_pool_destroy(struct smc_pool *pool)
{
	struct smc_region *region, *next;
	int kind;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_REGION_KINDS; kind++) {
		list_for_each_entry_safe(region, next, &pool->regions[kind], entry) {
			WARN_ON_ONCE(smc_region_unmap_all_locked(region));
			region_destroy(region);
		}
	}
	mutex_unlock(&pool->mutex);
}
