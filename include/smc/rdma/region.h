/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory regions: RMBs with many RMBEs, send regions with many send rings,
 * the pools of a link group. Ranks 4 (smc_buf_map) and 4.1 (smc_buf).
 *
 * A region is memory cut into equal elements (power of two times 16 KiB),
 * registered once per link (one MR each). RFC 7609 sections 2.1, 4.4.
 */
#ifndef _SMC_RDMA_REGION_H
#define _SMC_RDMA_REGION_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <smc/proto/types.h>

struct net;
struct smc_qp;

#define SMC_BUF_LINKS		9	/* link slots of a group: 8 symmetric + 1 asymmetric */
#define SMC_BUF_ELEMS_MAX	255	/* RMBEs per RMB: the wire has 8 bits, from 1 on */
#define SMC_BUF_MIN_SIZE	SMC_RMBE_SIZE_MIN
#define SMC_BUF_REGIONS_MAX	255	/* RMBs per group and side */

enum smc_buf_kind { SMC_BUF_RMB, SMC_BUF_SND, SMC_BUF_KINDS };

struct smc_pool;
struct smc_mapping;

/**
 * struct smc_region_link - a region as seen by one link
 * @mapping: MR and DMA addresses; NULL when not mapped; RCU, because posting goes
 *	on while a failed link is taken down
 * @registered: REG_MR has completed
 */
struct smc_region_link {
	struct smc_mapping __rcu *mapping;
	bool registered;
};

/**
 * struct smc_region - one RMB or one send region
 * @entry: in its pool's list
 * @pool: pool it belongs to
 * @kind: RMB (peer writes) or SND (we gather from)
 * @elem_size: bytes of one element
 * @nelem: elements
 * @published: elements may be taken
 * @announced: RMB: the peer knows its rkeys (first contact or CONFIRM RKEY done)
 * @shelved: RMB: out of use; the peer may know its rkeys, or some of them
 * @asked: how often the peer was asked in vain to forget it; for who has it off the shelf
 * @since: jiffies when its last element came back
 * @vaddr: CPU address of element 0
 * @npages: pages
 * @used: bit per element: handed out, returned and not yet zeroed, lent or quarantined
 * @quarantined: bit per element: the peer may still write into it
 * @lent: bit per element: returned while pages of it were out; changed under pool->lock
 * @lends: pages of it have been lent, and may be out
 * @maps: per link slot; changed under pool->mutex
 */
struct smc_region {
	struct list_head entry;
	struct smc_pool *pool;
	enum smc_buf_kind kind;
	u32 elem_size;
	u32 nelem;
	bool published;
	bool announced;
	bool shelved;
	u8 asked;
	unsigned long since;
	void *vaddr;
	u32 npages;
	DECLARE_BITMAP(used, SMC_BUF_ELEMS_MAX);
	DECLARE_BITMAP(quarantined, SMC_BUF_ELEMS_MAX);
	DECLARE_BITMAP(lent, SMC_BUF_ELEMS_MAX);
	bool lends;
	struct smc_region_link maps[SMC_BUF_LINKS];
};

/**
 * struct smc_elem - one element handed out to a connection
 * @region: where it lies; NULL = none
 * @index: position + 1 (RMBE index on the wire)
 * @size: bytes
 * @addr: CPU address
 */
struct smc_elem {
	struct smc_region *region;
	u32 index;
	u32 size;
	void *addr;
};

/**
 * struct smc_pool - all regions of one link group
 * @net: its namespace, whose ceiling holds for the RMBs
 * @buf_type: of its regions, enum smc_buf_type; that of the namespace when the pool was made
 * @mutex: changes of the lists and of mappings, registration; held while the
 *	device works, never while waiting for the peer
 * @lock: guards the lists and bitmaps too; leaf, BH off
 * @regions: per kind, published or not
 * @nregions: per kind
 * @bytes: memory held, per kind
 * @quarantined: bytes in quarantine
 * @lent: bytes of elements that are out of use since pages of them are lent; changed under @lock
 * @growing: per kind: a connection is adding a region; set and cleared under @lock
 * @grown: where others wait for the end of that
 */
struct smc_pool {
	struct net *net;
	u8 buf_type;
	struct mutex mutex;		/* see above */
	spinlock_t lock;		/* see above */
	struct list_head regions[SMC_BUF_KINDS];
	u32 nregions[SMC_BUF_KINDS];
	u64 bytes[SMC_BUF_KINDS];
	u64 quarantined;
	size_t lent;
	bool growing[SMC_BUF_KINDS];
	wait_queue_head_t grown;
};

void smc_buf_pool_init(struct smc_pool *pool, struct net *net);
/* Frees all regions; nothing may be mapped or in use any more. Sleeps. */
void smc_buf_pool_destroy(struct smc_pool *pool);

/* Rounds a byte count up to a valid element size (16 KiB << n, at most 512 KiB). */
u32 smc_buf_round(u32 bytes);
u8 smc_buf_size_code(u32 size);		/* 16 KiB << code == size */

/* Takes a free clean element of exactly @size; -ENOENT if there is none. */
int smc_buf_take(struct smc_pool *pool, enum smc_buf_kind kind, u32 size, struct smc_elem *out);
/* One grower per kind: false after having waited for another one. Sleeps. */
bool smc_buf_grow_begin(struct smc_pool *pool, enum smc_buf_kind kind, unsigned long timeout);
void smc_buf_grow_end(struct smc_pool *pool, enum smc_buf_kind kind);
/*
 * Allocates a region for elements of @size (as many as @max_pages allow, small
 * groups start small), not yet mapped nor visible to smc_buf_take(). It is in the
 * pool already, so that links that come and go meanwhile map and unmap it. ERR_PTR:
 * -ENOMEM, -EINVAL (@size), -ENOSPC (SMC_BUF_REGIONS_MAX). Sleeps.
 */
struct smc_region *smc_buf_region_alloc(struct smc_pool *pool, enum smc_buf_kind kind,
					u32 size, u32 max_pages);
/* Makes a fully mapped (and, for RMBs, announced) region available. */
void smc_buf_region_publish(struct smc_pool *pool, struct smc_region *region);
/*
 * Give-back. park: takes a region out of use that has been idle for @age; the caller has to
 * free, publish or shelve it. unshelve: takes one off the shelf, likewise, of @size (0: any
 * that was not @asked about so often).
 */
struct smc_region *smc_buf_park(struct smc_pool *pool, enum smc_buf_kind kind, unsigned long age);
void smc_buf_shelve(struct smc_region *region);
struct smc_region *smc_buf_unshelve(struct smc_pool *pool, enum smc_buf_kind kind, u32 size,
				    u8 asked);
/* Frees a region that was not published (unmaps first). Sleeps. */
void smc_buf_region_free(struct smc_region *region);

/* DMA-maps and creates the MR: keys are known afterwards. Sleeps. */
int smc_buf_map(struct smc_region *region, u32 slot, struct smc_qp *qp);
/* Posts REG_MR and waits; QP in RTS. Idempotent. Sleeps. */
int smc_buf_register(struct smc_region *region, u32 slot);
/* Destroys MR and mapping of one link; its QP must be drained. Sleeps. */
void smc_buf_unmap(struct smc_region *region, u32 slot);
/* Those of all links, pool->mutex held; true if there was one. Sleeps. */
bool smc_buf_unmap_all_locked(struct smc_region *region);
/* The same for every region of the pool, when a link goes or comes. */
int smc_buf_pool_map(struct smc_pool *pool, u32 slot, struct smc_qp *qp);
int smc_buf_pool_register(struct smc_pool *pool, u32 slot);
void smc_buf_pool_unmap(struct smc_pool *pool, u32 slot);

u32 smc_buf_rkey(const struct smc_region *region, u32 slot);
u32 smc_buf_lkey(const struct smc_region *region, u32 slot);
u64 smc_buf_iova(const struct smc_region *region, u32 slot);	/* address of element 0 */
/* iova of byte @off of an element */
u64 smc_buf_elem_iova(const struct smc_elem *elem, u32 slot, u32 off);

/* Cache maintenance for real RNICs behind an IOMMU or swiotlb. Any context. */
void smc_buf_sync_for_device(const struct smc_elem *elem, u32 slot, u32 off, u32 len);
void smc_buf_sync_for_cpu(const struct smc_elem *elem, u32 slot, u32 off, u32 len);

/*
 * Gives an element back. It is zeroed here (process context, may take a while)
 * and then free for reuse. @quarantine: the peer never confirmed the close; the
 * element stays out of use until the region goes.
 */
void smc_buf_give(struct smc_pool *pool, struct smc_elem *elem, bool quarantine);

void smc_lend_give(struct smc_pool *pool, struct smc_elem *elem, bool quarantine);
bool smc_lend_reap(struct smc_pool *pool);

/* The page at an address in a region. */
static inline struct page *smc_buf_page(const void *addr)
{
	return is_vmalloc_addr(addr) ? vmalloc_to_page(addr) : virt_to_page(addr);
}

/*
 * Has somebody else a reference on the page at an address in an element? Pages of regions are
 * counted one by one, and who frees a region only drops its references.
 */
static inline bool smc_buf_page_out(const void *addr)
{
	return page_ref_count(smc_buf_page(addr)) > 1;
}

#endif
