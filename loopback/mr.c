// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions, and copying between them. DMA addresses of this device are kernel addresses
 * (ib_uses_virt_dma()), so a page is copied to and from where it is.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "internal.h"

static void lo_mr_put(struct lo_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		complete(&mr->gone);
}

/**
 * lo_mr_alloc() - Verb: allocate a region
 * @pd: protection domain
 * @type: kind of region; IB_MR_TYPE_MEM_REG alone
 * @max_pages: pages that it can map
 *
 * Process context.
 *
 * Return: the region, not registered, or ERR_PTR.
 */
struct ib_mr *lo_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages)
{
	struct lo_device *dev = lo_device_from_ib(pd->device);
	struct lo_mr *mr;
	u32 index;
	int rc;

	if (type != IB_MR_TYPE_MEM_REG || max_pages > LO_MAX_PAGES)
		return ERR_PTR(-EINVAL);
	mr = kvzalloc(struct_size(mr, pages, max_pages), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mr->ref, 1);
	init_completion(&mr->gone);
	mr->max_pages = max_pages;
	/* lo_span_begin() compares it: the region must be complete before it can be found */
	mr->ib.pd = pd;
	rc = xa_alloc_cyclic_bh(&dev->mrs, &index, mr,
				XA_LIMIT(1, (LO_DMA_LKEY >> LO_KEY_SHIFT) - 1), &dev->next_key,
				GFP_KERNEL);
	if (rc < 0) {
		kvfree(mr);
		return ERR_PTR(rc);
	}
	mr->ib.lkey = index << LO_KEY_SHIFT;
	mr->ib.rkey = mr->ib.lkey;
	return &mr->ib;
}

static int lo_mr_add_page(struct ib_mr *ib, u64 addr)
{
	struct lo_mr *mr = container_of(ib, struct lo_mr, ib);
	void *page = (void *)(uintptr_t)addr;

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	if (mr->npages && page != mr->pages[mr->npages - 1] + ib->page_size)
		mr->whole = false;
	mr->pages[mr->npages++] = page;
	return 0;
}

/**
 * lo_mr_map_pages() - Verb: set the pages of a region
 * @ib: region that is not registered
 * @sg: pages, mapped for DMA
 * @nents: number of entries
 * @offset: of the first byte in @sg; may be NULL
 *
 * Return: number of entries mapped, or -errno.
 */
int lo_mr_map_pages(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct lo_mr *mr = container_of(ib, struct lo_mr, ib);

	mr->npages = 0;
	mr->whole = true;
	return ib_sg_to_pages(ib, sg, nents, offset, lo_mr_add_page);
}

/**
 * lo_mr_free() - Verb: free a region
 * @ib: region
 * @udata: unused
 *
 * On return nothing is written to it any more. Process context; waits for a copy at most.
 *
 * Return: 0.
 */
int lo_mr_free(struct ib_mr *ib, struct ib_udata *udata)
{
	struct lo_mr *mr = container_of(ib, struct lo_mr, ib);

	xa_erase_bh(&lo_device_from_ib(ib->device)->mrs, ib->lkey >> LO_KEY_SHIFT);
	lo_mr_put(mr);
	wait_for_completion(&mr->gone);
	kvfree(mr);
	return 0;
}

/* Find a region by the key that a request gives, with a reference. */
static struct lo_mr *lo_mr_find(struct lo_device *dev, struct ib_pd *pd, u32 key)
{
	struct lo_mr *mr;

	xa_lock_bh(&dev->mrs);
	mr = xa_load(&dev->mrs, key >> LO_KEY_SHIFT);
	if (mr && mr->ib.pd == pd)
		refcount_inc(&mr->ref);
	else
		mr = NULL;
	xa_unlock_bh(&dev->mrs);
	return mr;
}

/**
 * lo_mr_register() - Execute REG_MR
 * @dev: device
 * @pd: of the queue pair
 * @wr: request
 *
 * Return: false if it is wrong.
 */
bool lo_mr_register(struct lo_device *dev, struct ib_pd *pd, const struct ib_reg_wr *wr)
{
	struct lo_mr *mr = lo_mr_find(dev, pd, wr->key);
	bool ok = mr && &mr->ib == wr->mr && !mr->valid && mr->npages;

	if (ok) {
		mr->ib.lkey = wr->key;
		mr->ib.rkey = wr->key;
		mr->access = wr->access;
		smp_store_release(&mr->valid, true);	/* pairs with lo_span_begin() */
	}
	if (mr)
		lo_mr_put(mr);
	return ok;
}

/**
 * lo_span_begin() - Check that a request may use memory
 * @span: set up
 * @dev: device
 * @pd: of the queue pair that executes the request
 * @key: key of a region, or LO_DMA_LKEY for what is not remote
 * @addr: address of the first byte
 * @len: number of bytes
 * @access: IB_ACCESS_* that the registration must give
 *
 * Return: false if not; lo_span_end() is allowed then, too.
 */
bool lo_span_begin(struct lo_span *span, struct lo_device *dev, struct ib_pd *pd, u32 key, u64 addr,
		   u64 len, int access)
{
	struct lo_mr *mr;

	span->mr = NULL;
	span->addr = addr;
	span->left = len;
	if (key == LO_DMA_LKEY && !(access & IB_ACCESS_REMOTE_WRITE))
		return true;
	mr = lo_mr_find(dev, pd, key);
	span->mr = mr;
	/* pairs with lo_mr_register() */
	return mr && smp_load_acquire(&mr->valid) && mr->ib.rkey == key &&
	       (mr->access & access) == access && len <= mr->ib.length &&
	       /* wraps to a large number for an address before the region */
	       addr - mr->ib.iova <= mr->ib.length - len;
}

/* Return where the next bytes are. @len: reduced to what follows there at most. */
static void *lo_span_next(const struct lo_span *span, u64 *len)
{
	const struct lo_mr *mr = span->mr;
	u32 at, off;	/* no region has more than 2^32 bytes */

	if (!mr)
		return (void *)(uintptr_t)span->addr;
	at = span->addr - mr->ib.iova + (mr->ib.iova & (mr->ib.page_size - 1));
	if (mr->whole)
		return mr->pages[0] + at;
	off = at & (mr->ib.page_size - 1);
	*len = min_t(u64, *len, mr->ib.page_size - off);
	return mr->pages[at / mr->ib.page_size] + off;
}

/*
 * Copy bytes that are in one piece at both ends. A ring and an RMBE have their page borders at the
 * same bytes: copy_page() copies a page as this processor does best, while memcpy() on x86 is a
 * loop of moves of eight bytes unless the processor has FSRM.
 */
static void lo_mr_copy_piece(void *dst, const void *src, u64 len)
{
	u64 head = -(uintptr_t)dst & ~PAGE_MASK;

	if (((uintptr_t)dst ^ (uintptr_t)src) & ~PAGE_MASK || len < head + PAGE_SIZE) {
		memcpy(dst, src, len);
		return;
	}
	memcpy(dst, src, head);
	for (; len - head >= PAGE_SIZE; head += PAGE_SIZE)
		copy_page(dst + head, (void *)src + head);
	memcpy(dst + head, src + head, len - head);
}

/**
 * lo_span_copy() - Copy bytes
 * @to: advanced by @len
 * @from: likewise
 * @len: at most what is left of both
 */
void lo_span_copy(struct lo_span *to, struct lo_span *from, u64 len)
{
	while (len) {
		u64 n = len;
		void *src = lo_span_next(from, &n);
		void *dst = lo_span_next(to, &n);

		lo_mr_copy_piece(dst, src, n);
		to->addr += n;
		to->left -= n;
		from->addr += n;
		from->left -= n;
		len -= n;
	}
}

/**
 * lo_span_end() - Drop the reference of a span
 * @span: from lo_span_begin()
 */
void lo_span_end(struct lo_span *span)
{
	if (span->mr)
		lo_mr_put(span->mr);
	span->mr = NULL;
}
