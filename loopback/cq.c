// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues. */
#include <linux/log2.h>
#include <linux/slab.h>
#include "internal.h"

/**
 * lo_cq_create() - Verb: create a completion queue
 * @ib: allocated by the RDMA core
 * @attr: its size
 * @arg: unused
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int lo_cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		 struct SMC_CREATE_CQ_ARG *arg)
{
	struct lo_cq *cq = container_of(ib, struct lo_cq, ib);

	if (!attr->cqe || attr->cqe > LO_MAX_CQE)
		return -EINVAL;
	cq->size = roundup_pow_of_two(attr->cqe);
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	ib->cqe = cq->size;
	return 0;
}

/**
 * lo_cq_destroy() - Verb: destroy a completion queue
 * @ib: queue of no queue pair any more
 * @udata: unused
 *
 * Return: 0.
 */
int lo_cq_destroy(struct ib_cq *ib, struct ib_udata *udata)
{
	kvfree(container_of(ib, struct lo_cq, ib)->ring);
	return 0;
}

/**
 * lo_cq_poll() - Verb: take completions
 * @ib: queue
 * @n: size of @wc
 * @wc: receives them
 *
 * Return: number of completions.
 */
int lo_cq_poll(struct ib_cq *ib, int n, struct ib_wc *wc)
{
	struct lo_cq *cq = container_of(ib, struct lo_cq, ib);
	int i;

	spin_lock_bh(&cq->lock);
	for (i = 0; i < n && cq->head != cq->tail; i++)
		wc[i] = cq->ring[cq->head++ & (cq->size - 1)];
	spin_unlock_bh(&cq->lock);
	return i;
}

/**
 * lo_cq_arm() - Verb: have the next completion reported
 * @ib: queue
 * @flags: IB_CQ_*
 *
 * Return: 1 if there are completions and the caller wants to know, else 0.
 */
int lo_cq_arm(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct lo_cq *cq = container_of(ib, struct lo_cq, ib);
	int missed;

	spin_lock_bh(&cq->lock);
	cq->armed = true;
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && cq->head != cq->tail;
	spin_unlock_bh(&cq->lock);
	return missed;
}

/**
 * lo_cq_push() - Add a completion, and report it if the queue is armed
 * @ib: queue
 * @wc: completion
 *
 * The user of a queue pair gives it a queue with room for all of its requests. If there is none
 * the completion is lost, as with any device, and the user is notified of that. Called with locks
 * of queue pairs held: both handlers defer what they have to do, as those of ib_alloc_cq() do.
 */
void lo_cq_push(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct lo_cq *cq = container_of(ib, struct lo_cq, ib);
	bool report = false, full;

	spin_lock_bh(&cq->lock);
	full = cq->tail - cq->head == cq->size;
	if (!full) {
		cq->ring[cq->tail++ & (cq->size - 1)] = *wc;
		report = cq->armed;
		cq->armed = false;
	}
	spin_unlock_bh(&cq->lock);
	if (report)
		ib->comp_handler(ib, ib->cq_context);
	if (full && ib->event_handler) {
		struct ib_event event = {
			.device = ib->device,
			.element.cq = ib,
			.event = IB_EVENT_CQ_ERR,
		};

		ib->event_handler(&event, ib->cq_context);
	}
}
