/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registered memory of a link group: regions and their elements. An RMB is a region of RMBEs,
 * which the peer writes into; a send region is one of send rings, which our device reads. All
 * elements of a region have the same size, 16 KiB << n. A region has one MR per link.
 * RFC 7609 sections 2.1, 4.4.
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
#define SMC_BUF_ELEMS_MAX	255	/* RMBEs per RMB: an 8-bit index on the wire, from 1 on */
#define SMC_BUF_MIN_SIZE	SMC_RMBE_SIZE_MIN
#define SMC_BUF_REGIONS_MAX	255	/* regions per group and kind */

enum smc_buf_kind { SMC_BUF_RMB, SMC_BUF_SND, SMC_BUF_KINDS };

struct smc_pool;
struct smc_mapping;

/**
 * struct smc_region_link - a region on one link
 * @mapping: MR and DMA addresses; NULL: not mapped. RCU: posting goes on while a failed
 *	link is taken down.
 * @registered: REG_MR has completed: the keys are valid
 */
struct smc_region_link {
	struct smc_mapping __rcu *mapping;
	bool registered;
};

/**
 * struct smc_region - one RMB or one send region
 * @entry: in the list of its pool
 * @pool: pool
 * @kind: RMB (the peer writes) or send region (our device reads)
 * @elem_size: bytes of one element
 * @nelem: number of elements
 * @published: connections may take elements
 * @announced: RMB: the peer knows its rkeys (by the first contact or CONFIRM RKEY)
 * @shelved: RMB: withdrawn: not handed out, but registered, as the peer may still know some
 *	of its rkeys
 * @asked: DELETE RKEY requests about it that the peer did not grant; owned by the caller of
 *	smc_buf_park() or smc_buf_unshelve() until it publishes, withdraws or frees the region
 * @since: jiffies when the last element came back
 * @vaddr: CPU address of element 0
 * @npages: pages
 * @used: bit per element: not available: handed out, being zeroed, lent or in quarantine
 * @quarantined: bit per element: the peer may still write into it
 * @lent: bit per element: given back while pages of it were lent; under pool->lock
 * @lends: pages have been lent, and some may still be; never cleared
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
 * @region: its region; NULL: no element
 * @index: position + 1 (for RMBEs: the index on the wire)
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
 * @net: namespace of the group, whose limit (net.smc.smcr_max_rmb_kb) applies to the RMBs
 * @buf_type: kind of memory for its regions, enum smc_buf_type; that of the namespace at
 *	the creation of the pool
 * @mutex: protects the lists, mappings and registrations; held while a device registers
 *	memory, never while waiting for the peer
 * @lock: protects the lists and bitmaps, too; leaf, BHs off
 * @regions: per kind, published or not
 * @nregions: per kind
 * @bytes: memory of all regions, per kind
 * @quarantined: bytes in quarantine
 * @lent: bytes of elements that are unavailable because pages of them are lent; changed
 *	under @lock
 * @growing: per kind: a connection is adding a region; under @lock
 * @grown: woken when @growing is cleared
 */
struct smc_pool {
	struct net *net;
	u8 buf_type;
	struct mutex mutex;
	spinlock_t lock;
	struct list_head regions[SMC_BUF_KINDS];
	u32 nregions[SMC_BUF_KINDS];
	u64 bytes[SMC_BUF_KINDS];
	u64 quarantined;
	size_t lent;
	bool growing[SMC_BUF_KINDS];
	wait_queue_head_t grown;
};

void smc_buf_pool_init(struct smc_pool *pool, struct net *net);
void smc_buf_pool_destroy(struct smc_pool *pool);
int smc_buf_pool_map(struct smc_pool *pool, u32 slot, struct smc_qp *qp);
int smc_buf_pool_register(struct smc_pool *pool, u32 slot);
void smc_buf_pool_unmap(struct smc_pool *pool, u32 slot);
bool smc_buf_grow_begin(struct smc_pool *pool, enum smc_buf_kind kind, unsigned long timeout);
void smc_buf_grow_end(struct smc_pool *pool, enum smc_buf_kind kind);

struct smc_region *smc_buf_region_alloc(struct smc_pool *pool, enum smc_buf_kind kind,
					u32 size, u32 max_pages);
void smc_buf_region_publish(struct smc_pool *pool, struct smc_region *region);
void smc_buf_region_free(struct smc_region *region);
struct smc_region *smc_buf_park(struct smc_pool *pool, enum smc_buf_kind kind, unsigned long age);
void smc_buf_shelve(struct smc_region *region);
struct smc_region *smc_buf_unshelve(struct smc_pool *pool, enum smc_buf_kind kind, u32 size,
				    u8 asked);
int smc_buf_map(struct smc_region *region, u32 slot, struct smc_qp *qp);
int smc_buf_register(struct smc_region *region, u32 slot);
void smc_buf_unmap(struct smc_region *region, u32 slot);
bool smc_buf_unmap_all_locked(struct smc_region *region);
u32 smc_buf_rkey(const struct smc_region *region, u32 slot);
u32 smc_buf_lkey(const struct smc_region *region, u32 slot);
u64 smc_buf_iova(const struct smc_region *region, u32 slot);

u32 smc_buf_round(u32 bytes);
u8 smc_buf_size_code(u32 size);
int smc_buf_take(struct smc_pool *pool, enum smc_buf_kind kind, u32 size, struct smc_elem *out);
void smc_buf_give(struct smc_pool *pool, struct smc_elem *elem, bool quarantine);
void smc_lend_give(struct smc_pool *pool, struct smc_elem *elem, bool quarantine);
bool smc_lend_reap(struct smc_pool *pool);
u64 smc_buf_elem_iova(const struct smc_elem *elem, u32 slot, u32 off);
void smc_buf_sync_for_device(const struct smc_elem *elem, u32 slot, u32 off, u32 len);
void smc_buf_sync_for_cpu(const struct smc_elem *elem, u32 slot, u32 off, u32 len);

/* Return the page at an address in a region. */
static inline struct page *smc_buf_page(const void *addr)
{
	return is_vmalloc_addr(addr) ? vmalloc_to_page(addr) : virt_to_page(addr);
}

/*
 * Return true if the page at an address in a region is lent: it has another reference than
 * that of the region. The pages of a region are never compound, so each has its own count, and
 * freeing the region only drops the region's references.
 */
static inline bool smc_buf_page_out(const void *addr)
{
	return page_ref_count(smc_buf_page(addr)) > 1;
}

#endif
