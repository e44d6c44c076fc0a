// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of regions: DMA mapping per device, MR per link, keys, cache maintenance.
 *
 * Posting reads the keys and addresses of a link slot at any time, so a mapping is reached by
 * RCU and freed after a grace period. Mappings change in process context under pool->mutex.
 */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/rdma/region.h>
#include <smc/rdma/wr.h>

/*
 * A region is mapped for several devices at once. Without this, unmapping it for one device
 * could copy the bounce buffer of that device over the whole region. Bytes are copied only by
 * explicit syncs.
 */
#define MAP_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/*
 * Addresses under which the keys of an MR are used: IOVA_BASE plus random bits. Multiples of 2 MiB,
 * so an address and its memory have the same offset in a page of any size that a device uses.
 */
#define IOVA_BASE	BIT_ULL(46)
#define IOVA_RANDOM	(IOVA_BASE - SZ_2M)

/**
 * struct smc_mapping_dma - DMA mapping of a region for one device
 * @ibdev: device
 * @users: mappings (links) that share it; under pool->mutex
 * @sgt: pages and their DMA addresses
 * @dir: DMA direction
 * @base: DMA address of a send region that is contiguous for the device; 0: it is not
 * @addr: DMA address of each page; absent if the device needs no cache maintenance
 *
 * All links over a device share one DMA mapping: with two, a bounce buffer of each would hold
 * other data, and a sync would need to know which one to use.
 */
struct smc_mapping_dma {
	struct ib_device *ibdev;
	unsigned int users;
	struct sg_table sgt;
	enum dma_data_direction dir;
	dma_addr_t base;
	dma_addr_t addr[];
};

/**
 * struct smc_mapping - a region mapped for one link
 * @entry: in the list of mappings that wait for the grace period
 * @qp: queue pair of the link
 * @mr: memory region with the keys
 * @dma: DMA mapping for the device of the link
 */
struct smc_mapping {
	struct list_head entry;
	struct smc_qp *qp;
	struct ib_mr *mr;
	struct smc_mapping_dma *dma;
};

/* ---- cache maintenance ---- */

/* Only for devices that need cache maintenance (!ib_uses_virt_dma()). */
static void mapping_dma_sync(const struct smc_mapping_dma *d, size_t pos, size_t len,
			     bool for_device)
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

static void region_sync(const struct smc_region *region, u32 slot, size_t pos, size_t len,
			bool for_device)
{
	const struct smc_mapping *m;

	rcu_read_lock();
	m = rcu_dereference(region->maps[slot].mapping);
	if (m && !ib_uses_virt_dma(m->dma->ibdev))
		mapping_dma_sync(m->dma, pos, len, for_device);
	rcu_read_unlock();
}

/* ---- mappings ---- */

static struct smc_mapping *mapping_get(const struct smc_region *region, u32 slot)
{
	return rcu_dereference_protected(region->maps[slot].mapping,
					 lockdep_is_held(&region->pool->mutex));
}

/*
 * Return the DMA address of a send region if all of it is contiguous for the device, else 0. Our
 * device then reads it with the local key of the protection domain: nothing is looked up per page.
 */
static dma_addr_t mapping_dma_base(const struct smc_region *region, const struct smc_mapping_dma *d)
{
	dma_addr_t base = sg_dma_address(d->sgt.sgl), next = base;
	struct scatterlist *sg;
	u32 i;

	if (region->kind != SMC_REGION_SND)
		return 0;
	for_each_sgtable_dma_sg(&d->sgt, sg, i) {
		if (sg_dma_address(sg) != next)
			return 0;
		next += sg_dma_len(sg);
	}
	return base;
}

static int mapping_dma_map(const struct smc_region *region, struct smc_mapping_dma *d)
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
		sg_set_page(sg, smc_region_page(region->vaddr + ((size_t)i << PAGE_SHIFT)),
			    PAGE_SIZE, 0);
	rc = smc_fault_rc(DMA_MAP, -EIO,
			  ib_dma_map_sgtable_attrs(d->ibdev, &d->sgt, d->dir, MAP_ATTRS));
	if (rc) {
		sg_free_table(&d->sgt);
		return rc;
	}
	d->base = mapping_dma_base(region, d);
	if (ib_uses_virt_dma(d->ibdev))
		return 0;
	i = 0;
	for_each_sgtable_dma_page(&d->sgt, &iter, 0)
		if (i < region->npages)
			d->addr[i++] = sg_page_iter_dma_address(&iter);
	/* Elements may hold data already, if the link was added to the group later. */
	mapping_dma_sync(d, 0, (size_t)region->npages << PAGE_SHIFT, true);
	return 0;
}

/* Return the DMA mapping that another link over the same device has, or NULL. */
static struct smc_mapping_dma *mapping_dma_find(const struct smc_region *region,
						const struct ib_device *ibdev)
{
	const struct smc_mapping *m;
	u32 slot;

	for (slot = 0; slot < SMC_REGION_LINKS; slot++) {
		m = mapping_get(region, slot);
		if (m && m->dma->ibdev == ibdev)
			return m->dma;
	}
	return NULL;
}

/* Return the DMA mapping for a device with a further user; ERR_PTR on error. */
static struct smc_mapping_dma *mapping_dma_get(const struct smc_region *region,
					       struct ib_device *ibdev)
{
	u32 naddr = ib_uses_virt_dma(ibdev) ? 0 : region->npages;
	struct smc_mapping_dma *d = mapping_dma_find(region, ibdev);
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
	/* The CPU writes into RMBEs, too: it zeroes them between two connections. */
	d->dir = region->kind == SMC_REGION_RMB ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	rc = mapping_dma_map(region, d);
	if (rc) {
		kvfree(d);
		return ERR_PTR(rc);
	}
	return d;
}

/* Under pool->mutex. A grace period has passed since the mapping was hidden. */
static void mapping_dma_put(struct smc_mapping_dma *d)
{
	if (--d->users)
		return;
	ib_dma_unmap_sgtable_attrs(d->ibdev, &d->sgt, d->dir, MAP_ATTRS);
	sg_free_table(&d->sgt);
	kvfree(d);
}

static int mapping_create_mr(const struct smc_region *region, struct smc_mapping *m)
{
	int n;

	m->mr = smc_fault_ptr(MR, -ENOSPC,
			      ib_alloc_mr(m->qp->pd, IB_MR_TYPE_MEM_REG, region->npages));
	if (IS_ERR(m->mr))
		return PTR_ERR(m->mr);
	n = smc_fault_rc(MR_MAP, 0,
			 ib_map_mr_sg(m->mr, m->dma->sgt.sgl, m->dma->sgt.nents, NULL,
				      PAGE_SIZE));
	if (n != m->dma->sgt.nents) {
		/* the device cannot cover the region with one MR */
		ib_dereg_mr(m->mr);
		return n < 0 ? n : -EINVAL;
	}
	/*
	 * REG_MR takes the address from here. So far it is the DMA address, which the peer must
	 * not learn: with Soft-RoCE it is a kernel address.
	 */
	m->mr->iova = IOVA_BASE | (get_random_u64() & IOVA_RANDOM);
	return 0;
}

static int region_map_locked(struct smc_region *region, u32 slot, struct smc_qp *qp)
{
	struct smc_mapping *m = mapping_get(region, slot);
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
	m->dma = mapping_dma_get(region, qp->dev->ibdev);
	if (IS_ERR(m->dma)) {
		rc = PTR_ERR(m->dma);
		goto free;
	}
	rc = mapping_create_mr(region, m);
	if (rc)
		goto put;
	if (!ib_uses_virt_dma(m->dma->ibdev))
		WRITE_ONCE(region->needs_sync, true);
	WRITE_ONCE(region->maps[slot].registered, false);
	WRITE_ONCE(region->maps[slot].known, false);
	rcu_assign_pointer(region->maps[slot].mapping, m);
	return 0;
put:
	mapping_dma_put(m->dma);
free:
	kfree(m);
	return rc;
}

static int region_register_locked(struct smc_region *region, u32 slot)
{
	struct smc_mapping *m = mapping_get(region, slot);
	int access = IB_ACCESS_LOCAL_WRITE;
	int rc;

	lockdep_assert_held(&region->pool->mutex);
	if (!m)
		return -ENOTCONN;
	if (region->maps[slot].registered)
		return 0;
	if (region->kind == SMC_REGION_RMB)
		access |= IB_ACCESS_REMOTE_WRITE;
	rc = smc_mr_register(m->qp, m->mr, access);
	if (!rc)
		WRITE_ONCE(region->maps[slot].registered, true);
	return rc;
}

/* Begin unmapping: no new reader finds the mapping, which is moved to @hidden. */
static void mapping_hide(struct smc_region *region, u32 slot, struct list_head *hidden)
{
	struct smc_mapping *m = mapping_get(region, slot);

	if (!m)
		return;
	WRITE_ONCE(region->maps[slot].registered, false);
	WRITE_ONCE(region->maps[slot].known, false);
	RCU_INIT_POINTER(region->maps[slot].mapping, NULL);
	list_add_tail(&m->entry, hidden);
}

/* Finish unmapping: free all of @hidden after one grace period. */
static void mapping_free_hidden(struct list_head *hidden)
{
	struct smc_mapping *m, *next;

	if (!list_empty(hidden))
		synchronize_rcu();
	list_for_each_entry_safe(m, next, hidden, entry) {
		ib_dereg_mr(m->mr);
		mapping_dma_put(m->dma);
		kfree(m);
	}
}

static void region_unmap_locked(struct smc_region *region, u32 slot)
{
	LIST_HEAD(hidden);

	mapping_hide(region, slot, &hidden);
	mapping_free_hidden(&hidden);
}

/**
 * smc_region_map() - Map a region for a link: DMA-map it and create the MR
 * @region: region
 * @slot: link slot
 * @qp: queue pair of the link; must not be destroyed during the call
 *
 * The keys are known afterwards, and valid after smc_region_register(). Nothing happens if the
 * region is mapped there already. Process context.
 *
 * Return: 0, -EBUSY (mapped for another queue pair), -ENOTCONN (queue pair broken), or another
 * -errno.
 */
int smc_region_map(struct smc_region *region, u32 slot, struct smc_qp *qp)
{
	int rc;

	mutex_lock(&region->pool->mutex);
	rc = region_map_locked(region, slot, qp);
	mutex_unlock(&region->pool->mutex);
	return rc;
}

/**
 * smc_region_register() - Make the keys of a mapped region valid (REG_MR)
 * @region: region
 * @slot: slot of a link in RTS
 *
 * Nothing happens if they are valid. The peer may write into RMBs only. Process context; waits
 * for the device for up to 5 s.
 *
 * Return: 0, -ENOTCONN (not mapped, or queue pair broken), or as smc_mr_register().
 */
int smc_region_register(struct smc_region *region, u32 slot)
{
	int rc;

	mutex_lock(&region->pool->mutex);
	rc = region_register_locked(region, slot);
	mutex_unlock(&region->pool->mutex);
	return rc;
}

/**
 * smc_region_unmap() - Undo smc_region_map()
 * @region: region
 * @slot: slot of a link that is drained, or over which the region was not used yet
 *
 * Nothing happens if the region is not mapped there. Waits for one RCU grace period. Process
 * context.
 */
void smc_region_unmap(struct smc_region *region, u32 slot)
{
	mutex_lock(&region->pool->mutex);
	region_unmap_locked(region, slot);
	mutex_unlock(&region->pool->mutex);
}

/**
 * smc_region_unmap_all_locked() - Undo smc_region_map() on every link
 * @region: region; pool->mutex held
 *
 * Waits for one RCU grace period. Process context.
 *
 * Return: true if it was mapped on any link.
 */
bool smc_region_unmap_all_locked(struct smc_region *region)
{
	LIST_HEAD(hidden);
	bool some;
	u32 slot;

	lockdep_assert_held(&region->pool->mutex);
	for (slot = 0; slot < SMC_REGION_LINKS; slot++)
		mapping_hide(region, slot, &hidden);
	some = !list_empty(&hidden);
	mapping_free_hidden(&hidden);
	return some;
}

/* ---- all regions ---- */

/**
 * smc_pool_map_link() - Map all regions for a new link
 * @pool: pool
 * @slot: slot of the link
 * @qp: its queue pair
 *
 * After an error some regions are mapped: the caller gives the link up and calls
 * smc_pool_unmap_link(). Process context.
 *
 * Return: 0 or -errno, see smc_region_map().
 */
int smc_pool_map_link(struct smc_pool *pool, u32 slot, struct smc_qp *qp)
{
	struct smc_region *region;
	int kind, rc = 0;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_REGION_KINDS && !rc; kind++) {
		list_for_each_entry(region, &pool->regions[kind], entry) {
			rc = region_map_locked(region, slot, qp);
			if (rc)
				break;
		}
	}
	mutex_unlock(&pool->mutex);
	return rc;
}

/**
 * smc_pool_register_link() - Register all regions on a new link
 * @pool: pool
 * @slot: slot of a link in RTS, for which all regions are mapped
 *
 * Process context; waits for the device.
 *
 * Return: 0 or the first -errno, see smc_region_register().
 */
int smc_pool_register_link(struct smc_pool *pool, u32 slot)
{
	struct smc_region *region;
	int kind, rc = 0;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_REGION_KINDS && !rc; kind++) {
		list_for_each_entry(region, &pool->regions[kind], entry) {
			rc = region_register_locked(region, slot);
			if (rc)
				break;
		}
	}
	mutex_unlock(&pool->mutex);
	return rc;
}

/**
 * smc_pool_unmap_link() - Unmap all regions for a link that goes down
 * @pool: pool
 * @slot: slot of the link; its queue pair is drained, and not destroyed yet
 *
 * Waits for one RCU grace period. Process context.
 */
void smc_pool_unmap_link(struct smc_pool *pool, u32 slot)
{
	struct smc_region *region;
	LIST_HEAD(hidden);
	int kind;

	mutex_lock(&pool->mutex);
	for (kind = 0; kind < SMC_REGION_KINDS; kind++) {
		list_for_each_entry(region, &pool->regions[kind], entry)
			mapping_hide(region, slot, &hidden);
	}
	mapping_free_hidden(&hidden);
	mutex_unlock(&pool->mutex);
}

/* ---- keys ---- */

struct mapping_keys {
	u32 lkey;
	u32 rkey;
	u64 iova;
};

/* Return the keys of a region on the link of a slot, and their address; 0 if it is not mapped. */
static struct mapping_keys mapping_get_keys(const struct smc_region *region, u32 slot)
{
	struct mapping_keys keys = {};
	const struct smc_mapping *m;

	rcu_read_lock();
	m = rcu_dereference(region->maps[slot].mapping);
	if (m) {
		keys.lkey = m->mr->lkey;
		keys.rkey = m->mr->rkey;
		keys.iova = m->mr->iova;
	}
	rcu_read_unlock();
	return keys;
}

/**
 * smc_region_rkey() - Return the key with which the peer writes into a region
 * @region: region
 * @slot: link slot
 *
 * Any context.
 *
 * Return: the key; 0: the region is not mapped there.
 */
u32 smc_region_rkey(const struct smc_region *region, u32 slot)
{
	return mapping_get_keys(region, slot).rkey;
}

/**
 * smc_region_lkey() - Return the key with which our device reads a region
 * @region: region
 * @slot: link slot
 *
 * Any context.
 *
 * Return: the key; 0: the region is not mapped there.
 */
u32 smc_region_lkey(const struct smc_region *region, u32 slot)
{
	return mapping_get_keys(region, slot).lkey;
}

/**
 * smc_region_iova() - Return the address of the first element for both keys
 * @region: region
 * @slot: link slot
 *
 * Any context.
 *
 * Return: the address; 0: the region is not mapped there.
 */
u64 smc_region_iova(const struct smc_region *region, u32 slot)
{
	return mapping_get_keys(region, slot).iova;
}

static size_t elem_offset(const struct smc_elem *elem)
{
	return (size_t)(elem->index - 1) * elem->region->elem_size;
}

/**
 * smc_elem_sync_for_device() - Make bytes that the CPU wrote visible to the device
 * @elem: element
 * @slot: slot of the link whose device will read them
 * @off: offset in the element
 * @len: bytes, not beyond the end of the element
 *
 * Does nothing where the region is not mapped, or for devices that need no cache maintenance. RNICs
 * behind an IOMMU or swiotlb do. Any context.
 */
void smc_elem_sync_for_device(const struct smc_elem *elem, u32 slot, u32 off, u32 len)
{
	region_sync(elem->region, slot, elem_offset(elem) + off, len, true);
}

/**
 * smc_elem_sync_for_cpu() - Make bytes that the device wrote visible to the CPU
 * @elem: element
 * @slot: slot of the link over which they came
 * @off: offset in the element
 * @len: bytes, not beyond the end of the element
 *
 * See smc_elem_sync_for_device(). Any context.
 */
void smc_elem_sync_for_cpu(const struct smc_elem *elem, u32 slot, u32 off, u32 len)
{
	region_sync(elem->region, slot, elem_offset(elem) + off, len, false);
}

/**
 * smc_elem_prepare_sge() - Make bytes that the CPU wrote visible to the device, and address them
 * @elem: element
 * @slot: slot of the link whose device will read them
 * @off: offset in the element
 * @len: bytes, not beyond the end of the element
 * @sge: filled in; all 0 but the length where the region is not mapped
 *
 * See smc_elem_sync_for_device(). Any context.
 */
void smc_elem_prepare_sge(const struct smc_elem *elem, u32 slot, u32 off, u32 len,
			  struct ib_sge *sge)
{
	size_t pos = elem_offset(elem) + off;
	const struct smc_mapping *m;

	sge->addr = 0;
	sge->lkey = 0;
	sge->length = len;
	rcu_read_lock();
	m = rcu_dereference(elem->region->maps[slot].mapping);
	if (m) {
		sge->addr = (m->dma->base ?: m->mr->iova) + pos;
		sge->lkey = m->dma->base ? m->qp->pd->local_dma_lkey : m->mr->lkey;
		if (!ib_uses_virt_dma(m->dma->ibdev))
			mapping_dma_sync(m->dma, pos, len, true);
	}
	rcu_read_unlock();
}
