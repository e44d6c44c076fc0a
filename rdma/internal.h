/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of smc_wr share. Nobody else includes this. */
#ifndef _SMC_RDMA_INTERNAL_H
#define _SMC_RDMA_INTERNAL_H

#include <linux/dma-mapping.h>
#include <smc/rdma/wr.h>

#define SMC_WR_SLOT_WRS		(1 + SMC_WR_WRITES_MAX)
#define SMC_TAIL_PROBES		3	/* in a row, behind requests that do not finish */

/* bits of smc_qp.kick */
#define SMC_QP_UPCALL_BROKEN	0
#define SMC_QP_UPCALL_SLOTS	1

/**
 * struct smc_wr_mem - a piece of DMA-able memory
 * @addr: CPU address
 * @dma: DMA address
 * @len: bytes
 * @dir: direction it is mapped for
 * @mapped: it is
 */
struct smc_wr_mem {
	void *addr;
	u64 dma;
	u32 len;
	enum dma_data_direction dir;
	bool mapped;
};

/**
 * struct smc_wr_recv - one receive request
 * @cqe: its completion
 * @qp: owner
 * @buf: first bytes of the message, or all of it
 * @dma: DMA address of @buf
 * @len: bytes at @buf
 * @spill: where longer messages continue; NULL if @buf takes all
 */
struct smc_wr_recv {
	struct ib_cqe cqe;
	struct smc_qp *qp;
	u8 *buf;
	u64 dma;
	u32 len;
	struct smc_wr_mem *spill;
};

/* Any context; @qp is not destroyed yet, which cancels the work. */
static inline void smc_qp_defer_upcall(struct smc_qp *qp, int what)
{
	set_bit(what, &qp->kick);
	schedule_work(&qp->kick_work);
}

void smc_qp_event(struct ib_event *event, void *ctx);
void smc_wr_complete(struct smc_qp *qp, struct smc_wr_slot *last, enum ib_wc_status status);
int smc_wr_post_recv(struct smc_wr_recv *recv);
void smc_wr_init_qp(struct smc_qp *qp);
void smc_wr_init_slot(struct smc_wr_slot *slot);
void smc_wr_init_recv(struct smc_wr_recv *recv);

/* rdma/tail_probe.c */
void smc_tail_arm(struct smc_qp *qp);
void smc_tail_init(struct smc_qp *qp);
void smc_tail_stop(struct smc_qp *qp);

#endif
