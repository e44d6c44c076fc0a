// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion queue of a queue pair. The RDMA core polls it in softirq.
 *
 * An RNIC reports completions by an interrupt, and the softirq runs when the interrupt ends. RNICs
 * in software (Soft-RoCE, siw) report them from process context. There the core's handler can only
 * wake ksoftirqd: two more switches of processes per completion. So such reports take the way of
 * hardware: an interrupt that this processor sends to itself.
 */
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <asm/irq_work.h>	/* needs linux/types.h before it */
#include <smc/base/fault.h>
#include "internal.h"

static void cq_raise(struct irq_work *work)
{
	struct smc_qp *qp = container_of(work, struct smc_qp, cq_irq_work);

	qp->cq_handler(qp->cq, qp);
}

/* There are completions. Called by the driver in any context. */
static void cq_handle(struct ib_cq *cq, void *ctx)
{
	struct smc_qp *qp = ctx;

	if (in_interrupt())
		qp->cq_handler(cq, ctx);
	else
		irq_work_queue(&qp->cq_irq_work);
}

/**
 * smc_cq_create() - create the completion queue of a queue pair
 * @qp: queue pair that is being created
 * @cqes: completions that it must hold
 *
 * Process context.
 *
 * Return: 0 or -errno of the device.
 */
int smc_cq_create(struct smc_qp *qp, int cqes)
{
	struct ib_cq *cq;

	cq = smc_fault_ptr(QP_CQ, -ENOMEM,
			   ib_alloc_cq_any(qp->dev->ibdev, qp, cqes, SMC_QP_POLL_CONTEXT));
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->cq = cq;
	init_irq_work(&qp->cq_irq_work, cq_raise);
	qp->cq_handler = cq->comp_handler;
	/* Nothing has completed yet. On machines without such an interrupt, a tick is too late. */
	if (arch_irq_work_has_interrupt())
		cq->comp_handler = cq_handle;
	return 0;
}

/**
 * smc_cq_free() - free the completion queue, if there is one
 * @qp: queue pair whose verbs object is destroyed
 *
 * Process context. Afterwards no completion is handled any more.
 */
void smc_cq_free(struct smc_qp *qp)
{
	if (!qp->cq)
		return;
	irq_work_sync(&qp->cq_irq_work);
	ib_free_cq(qp->cq);
	qp->cq = NULL;
}
