/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DMA bugs that vm/cases/dma.sh must detect. In a build of its own (plant-dma.sh), this header is
 * included before one source file of smc.ko and removes one kind of DMA call from it: of
 * syncs, only those of at least PLANT_FROM bytes.
 */
#include <rdma/ib_verbs.h>

#if defined(PLANT_SYNC_FOR_DEVICE)
#define ib_dma_sync_single_for_device(dev, addr, size, dir) \
do { \
	size_t len_ = (size); \
	if (len_ < PLANT_FROM) \
		ib_dma_sync_single_for_device(dev, addr, len_, dir); \
} while (0)
#elif defined(PLANT_SYNC_FOR_CPU)
#define ib_dma_sync_single_for_cpu(dev, addr, size, dir) \
do { \
	size_t len_ = (size); \
	if (len_ < PLANT_FROM) \
		ib_dma_sync_single_for_cpu(dev, addr, len_, dir); \
} while (0)
#elif defined(PLANT_UNMAP)
#define ib_dma_unmap_sgtable_attrs(dev, sgt, dir, attrs) \
	((void)(dev), (void)(sgt), (void)(dir), (void)(attrs))
#define ib_dma_unmap_single(dev, addr, size, dir) \
	((void)(dev), (void)(addr), (void)(size), (void)(dir))
#else
#error "which fault?"
#endif

/* The source file defines its own. */
#undef pr_fmt
