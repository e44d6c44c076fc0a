/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by smc_wr.c and the files of queue pairs in rdma/: qp, drain, tail_probe. */
#ifndef _SMC_RDMA_INTERNAL_H
#define _SMC_RDMA_INTERNAL_H

#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <smc/rdma/wr.h>

/* Send requests that one slot may post: its WRITEs and the SEND. */
#define SMC_WR_SLOT_WRS		(1 + SMC_WR_WRITES_MAX)

/*
 * Where completions are handled. The code also works with IB_POLL_WORKQUEUE: it turns BHs off
 * around upcalls.
 */
#define SMC_QP_POLL_CONTEXT	IB_POLL_SOFTIRQ

/* Probes posted in a row without progress, see rdma/tail_probe.c. */
#define SMC_TAIL_PROBES		3

/* Bits of smc_qp.upcalls: upcalls that are due from upcall_work. */
#define SMC_QP_UPCALL_BROKEN	0
#define SMC_QP_UPCALL_SLOTS	1

/**
 * struct smc_wr_mem - a piece of DMA-able memory
 * @addr: CPU address; NULL: freed
 * @dma: DMA address
 * @len: bytes
 * @dir: direction of the mapping
 * @mapped: @dma is valid
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
 * @qp: queue pair
 * @buf: the first qp->recv_len bytes of a message
 * @dma: DMA address of @buf
 * @spill: memory for the rest of longer messages, one of qp->spills, since it was posted last
 */
struct smc_wr_recv {
	struct ib_cqe cqe;
	struct smc_qp *qp;
	u8 *buf;
	u64 dma;
	struct smc_wr_mem *spill;
};

/*
 * Make an upcall from a work item: for callers under a lock or in hard interrupt. @upcall is
 * SMC_QP_UPCALL_*. Any context, until smc_qp_destroy(), which cancels the work.
 */
static inline void smc_qp_defer_upcall(struct smc_qp *qp, int upcall)
{
	set_bit(upcall, &qp->upcalls);
	schedule_work(&qp->upcall_work);
}

/*
 * Enter a slot that was just posted into the posted list. @bytes is the total length of its WRITEs,
 * @started the ktime of the post in ns, 0 if its latency is not to be measured.
 */
static inline void smc_wr_slot_enter_posted(struct smc_wr_slot *slot, u32 bytes, bool signaled,
					    u64 started)
{
	struct smc_qp *qp = slot->qp;

	lockdep_assert_held(&qp->sq_lock);
	qp->sent = true;
	slot->posted = true;
	slot->signaled = signaled;
	slot->since = jiffies;
	slot->started = started;
	slot->bytes = bytes;
	qp->bytes += bytes;
	qp->unsignaled = signaled ? 0 : qp->unsignaled + 1;
	list_add_tail(&slot->entry, &qp->posted);
}

/* smc_wr.c */
int smc_cq_create(struct smc_qp *qp, int cqes);
void smc_cq_free(struct smc_qp *qp);
void smc_qp_break(struct smc_qp *qp, enum ib_wc_status status);
void smc_qp_event(struct ib_event *event, void *ctx);
void smc_wr_complete(struct smc_qp *qp, struct smc_wr_slot *last, enum ib_wc_status status);
int smc_wr_post_recvs(struct smc_qp *qp);
void smc_wr_init_qp(struct smc_qp *qp);
void smc_wr_init_slot(struct smc_wr_slot *slot);
void smc_wr_init_recv(struct smc_wr_recv *recv);

/* rdma/qp_state.c */
int smc_qp_modify_to_init(struct ib_qp *qp, u8 port, int access);
int smc_qp_modify_to_rtr(struct ib_device *ibdev, struct ib_qp *qp, const struct smc_qp_attr *attr);
int smc_qp_modify_to_rts(struct ib_qp *qp, const struct smc_qp_attr *attr);

/* rdma/mr.c */
void smc_mr_init_queue(struct smc_qp *qp);
void smc_mr_open_queue(struct smc_qp *qp, const struct smc_qp_attr *attr);
void smc_mr_close_queue(struct smc_qp *qp);

/* rdma/drain.c */
void smc_qp_fence_locked(struct smc_qp *qp);

/* rdma/tail_probe.c */
void smc_tail_rearm(struct smc_qp *qp);
void smc_tail_ask(struct smc_qp *qp);
void smc_tail_init(struct smc_qp *qp);
void smc_tail_stop(struct smc_qp *qp);

/**
 * smc_tail_arm() - Have probes posted if what is posted makes no progress
 * @qp: queue pair with posted slots, not broken; sq_lock held
 *
 * Any context but hard interrupt.
 */
static inline void smc_tail_arm(struct smc_qp *qp)
{
	/* most often the work is scheduled, and has posted none */
	if (!qp->tail.armed || qp->tail.probes)
		smc_tail_rearm(qp);
}

#endif
