/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registered memory of a link group: regions and their elements. An RMB is a region of RMBEs,
 * which the peer writes into; a send region is one of send rings, which our device reads. All
 * elements of a region have the same size, 16 KiB << n, or that of a first send ring. A region has
 * one MR per link.
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

#define SMC_REGION_LINKS     9	 /* link slots of a group: 8 symmetric + 1 asymmetric */
#define SMC_REGION_ELEMS_MAX 255 /* RMBEs per RMB: an 8-bit index on the wire, from 1 on */
#define SMC_ELEM_SIZE_MIN    SMC_RMBE_SIZE_MIN
#define SMC_ELEM_SIZE_FIRST  2048 /* of a first send ring: nothing on the wire names it */
#define SMC_POOL_REGIONS_MAX 255 /* regions per group and kind */
/*
 * One lent page keeps a whole element out of use when its connection ends: so many bytes of the
 * elements of a group may have lent pages (decision 0016).
 */
#define SMC_POOL_LENDING_MAX (4 << 20)

/* RMBEs that a group keeps, whether they are used or not. */
#define SMC_POOL_RMBES_KEPT  2

enum smc_region_kind { SMC_REGION_RMB, SMC_REGION_SND, SMC_REGION_KINDS };

/* How much is done for a region. */
enum smc_region_need {
	SMC_REGION_NEEDED,	/* connections need it: as many elements as the pool has */
	SMC_REGION_AGAIN,	/* the same, after an attempt in vain: few elements, at low cost */
	SMC_REGION_EXTRA,	/* they can do without: only while much is left */
	SMC_REGION_FOUNDED,	/* a new group needs it: for its first connection only */
	SMC_REGION_AHEAD,	/* for the next connection, nobody waits: while much is left */
};

struct smc_host;
struct smc_pool;
struct smc_mapping;

/**
 * struct smc_region_link - a region on one link
 * @mapping: MR and DMA addresses; NULL: not mapped. RCU: posting goes on while a failed
 *	link is taken down.
 * @registered: REG_MR has completed: the keys are valid
 * @known: RMB: the key was announced, by the first contact, CONFIRM RKEY or ADD LINK: the peer
 *	finds the RMB by it that a CLC message means
 */
struct smc_region_link {
	struct smc_mapping __rcu *mapping;
	bool registered;
	bool known;
};

/**
 * struct smc_region - one RMB or one send region
 * @entry: in the list of its pool
 * @pool: pool
 * @kind: RMB (the peer writes) or send region (our device reads)
 * @elem_size: bytes of one element
 * @nelem: number of elements
 * @extra: SMC_REGION_EXTRA: new connections do not need it
 * @published: connections may take elements
 * @announced: RMB: the peer knows its rkeys (by the first contact or CONFIRM RKEY)
 * @withdrawn: RMB: withdrawn: not handed out, but registered, as the peer may still know some
 *	of its rkeys
 * @delete_refused: DELETE RKEY requests about it that the peer did not grant; owned by the caller
 *	of smc_pool_take_idle() or smc_pool_take_withdrawn() until it publishes, withdraws or frees
 *	the region
 * @idle_since: jiffies when the last element came back
 * @vaddr: CPU address of element 0
 * @npages: pages
 * @used: bit per element: not available: handed out, being zeroed, lent or in quarantine
 * @quarantined: bit per element: the peer may still write into it
 * @lent: bit per element: given back while pages of it were lent; under pool->lock
 * @lending: bit per element, in use or given back: pages of it were lent, and not all of them have
 *	been found back: it counts in pool->lending; under pool->lock
 * @maybe_lent: pages have been lent, and some may still be; never cleared
 * @needs_sync: it has been mapped for a device that may need cache maintenance; never cleared
 * @maps: per link slot; changed under pool->mutex
 */
struct smc_region {
	struct list_head entry;
	struct smc_pool *pool;
	enum smc_region_kind kind;
	u32 elem_size;
	u32 nelem;
	bool extra;
	bool published;
	bool announced;
	bool withdrawn;
	u8 delete_refused;
	unsigned long idle_since;
	void *vaddr;
	u32 npages;
	DECLARE_BITMAP(used, SMC_REGION_ELEMS_MAX);
	DECLARE_BITMAP(quarantined, SMC_REGION_ELEMS_MAX);
	DECLARE_BITMAP(lent, SMC_REGION_ELEMS_MAX);
	DECLARE_BITMAP(lending, SMC_REGION_ELEMS_MAX);
	bool maybe_lent;
	bool needs_sync;
	struct smc_region_link maps[SMC_REGION_LINKS];
};

/**
 * struct smc_elem - one element handed out to a connection
 * @region: its region; NULL: no element
 * @index: position + 1 (for RMBEs: the index on the wire)
 * @size: bytes
 * @used: bytes at its start that may not be zero when it is freed: all, or what its owner knows
 * @addr: CPU address
 */
struct smc_elem {
	struct smc_region *region;
	u32 index;
	u32 size;
	u32 used;
	void *addr;
};

/**
 * struct smc_pool - all regions of one link group
 * @host: peer host of the group, to which the memory is charged
 * @net: namespace of the group, whose limits (net.smc.smcr_max_rmb_kb, smcr_max_snd_kb) apply
 * @buf_type: kind of memory for its regions, enum smc_region_type; that of the namespace at
 *	the creation of the pool
 * @conns_max: connections of a full group, which limits how the pool grows
 * @mutex: protects the lists, mappings and registrations; held while a device registers
 *	memory, never while waiting for the peer
 * @lock: protects the lists and bitmaps, too; leaf, BHs off
 * @regions: per kind, published or not
 * @nregions: per kind
 * @bytes: memory of all regions, per kind
 * @quarantined: bytes in quarantine
 * @lent: bytes of elements that are unavailable because pages of them are lent; changed
 *	under @lock
 * @lending: bytes of elements with lent pages, see &smc_region.lending; under @lock
 * @lending_checked: jiffies when the pages of all of these were last looked at; under @lock
 * @growing: per kind: a connection is adding a region; under @lock
 * @grow_wait: woken when @growing is cleared
 * @growing_extra: a region is being added for connections that stand; under @lock
 */
struct smc_pool {
	struct smc_host *host;
	struct net *net;
	u8 buf_type;
	u32 conns_max;
	struct mutex mutex;
	spinlock_t lock;
	struct list_head regions[SMC_REGION_KINDS];
	u32 nregions[SMC_REGION_KINDS];
	u64 bytes[SMC_REGION_KINDS];
	u64 quarantined;
	size_t lent;
	size_t lending;
	unsigned long lending_checked;
	bool growing[SMC_REGION_KINDS];
	bool growing_extra;
	wait_queue_head_t grow_wait;
};

void smc_pool_init(struct smc_pool *pool, struct smc_host *host, u32 conns_max);
void smc_pool_destroy(struct smc_pool *pool);
int smc_pool_map_link(struct smc_pool *pool, u32 slot, struct smc_qp *qp);
int smc_pool_register_link(struct smc_pool *pool, u32 slot);
void smc_pool_unmap_link(struct smc_pool *pool, u32 slot);
bool smc_pool_grow_begin(struct smc_pool *pool, enum smc_region_kind kind, unsigned long timeout);
void smc_pool_grow_end(struct smc_pool *pool, enum smc_region_kind kind);
bool smc_pool_grow_extra_begin(struct smc_pool *pool);
void smc_pool_grow_extra_end(struct smc_pool *pool);

struct smc_region *smc_region_alloc(struct smc_pool *pool, enum smc_region_kind kind,
				    u32 size, u32 max_pages, enum smc_region_need need);
void smc_region_publish(struct smc_pool *pool, struct smc_region *region);
void smc_region_free(struct smc_region *region);
struct smc_region *smc_pool_take_idle(struct smc_pool *pool, enum smc_region_kind kind,
				      unsigned long age);
void smc_region_withdraw(struct smc_region *region);
bool smc_region_is_known_at_all(const struct smc_region *region);
void smc_region_forget_known(struct smc_region *region);
struct smc_region *smc_pool_take_withdrawn(struct smc_pool *pool, enum smc_region_kind kind,
					   u32 size, u8 asked);
int smc_region_map(struct smc_region *region, u32 slot, struct smc_qp *qp);
int smc_region_register(struct smc_region *region, u32 slot);
void smc_region_unmap(struct smc_region *region, u32 slot);
bool smc_region_unmap_all_locked(struct smc_region *region);
u32 smc_region_rkey(const struct smc_region *region, u32 slot);
u32 smc_region_lkey(const struct smc_region *region, u32 slot);
u64 smc_region_iova(const struct smc_region *region, u32 slot);

/* Note that the peer knows an RMB by its key on the link of a slot. */
static inline void smc_region_note_known(struct smc_region *region, u32 slot)
{
	WRITE_ONCE(region->maps[slot].known, true);
}

/* Return true if the peer knows an RMB by its key on the link of a slot. */
static inline bool smc_region_is_known(const struct smc_region *region, u32 slot)
{
	return READ_ONCE(region->maps[slot].known);
}

u32 smc_elem_round_size(u32 bytes);
u8 smc_elem_encode_size(u32 size);
bool smc_pool_has_free(struct smc_pool *pool, enum smc_region_kind kind, u32 size);
u32 smc_pool_count_elems(struct smc_pool *pool, enum smc_region_kind kind, u32 size);
int smc_elem_take(struct smc_pool *pool, enum smc_region_kind kind, u32 size, struct smc_elem *out);
void smc_elem_free(struct smc_pool *pool, struct smc_elem *elem, bool quarantine);
void smc_elem_give_back(struct smc_pool *pool, struct smc_elem *elem, bool quarantine);
bool smc_pool_reap_lent(struct smc_pool *pool);
bool smc_elem_note_lent(const struct smc_elem *elem);
void smc_elem_note_returned(const struct smc_elem *elem);
bool smc_pool_has_spare(struct smc_pool *pool);
bool smc_pool_has_plenty(const struct smc_pool *pool);

void smc_elem_sync_for_device(const struct smc_elem *elem, u32 slot, u32 off, u32 len);
void smc_elem_prepare_sge(const struct smc_elem *elem, u32 slot, u32 off, u32 len,
			  struct ib_sge *sge);
void smc_elem_sync_for_cpu(const struct smc_elem *elem, u32 slot, u32 off, u32 len);

/*
 * Return false if smc_elem_sync_for_cpu() and smc_elem_sync_for_device() have nothing to do on any
 * link. Any context; true from before a device can access the region.
 */
static inline bool smc_elem_needs_sync(const struct smc_elem *elem)
{
	return READ_ONCE(elem->region->needs_sync);
}

/* Return the page at an address in a region. */
static inline struct page *smc_region_page(const void *addr)
{
	return is_vmalloc_addr(addr) ? vmalloc_to_page(addr) : virt_to_page(addr);
}

/*
 * Return true if the page at an address in a region is lent: it has another reference than
 * that of the region. The pages of a region are never compound, so each has its own count, and
 * freeing the region only drops the region's references.
 */
static inline bool smc_region_page_is_lent(const void *addr)
{
	return page_ref_count(smc_region_page(addr)) > 1;
}

#endif
