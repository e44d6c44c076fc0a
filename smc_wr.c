// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests on a queue pair: sending, receiving.
 *
 * Entry point of rdma/, together with smc_ib.c. rdma/qp.c creates, connects and destroys queue
 * pairs, rdma/cq.c creates their completion queues, rdma/drain.c empties them, rdma/tail_probe.c
 * posts probes for lost packets, rdma/mr.c registers memory. The owner of a queue pair is a link;
 * it learns what happens through struct smc_wr_events.
 *
 * Send queue: a slot (struct smc_wr_slot) is one SEND of a CDC or LLC message, with up to four RDMA
 * WRITEs chained before it, or these WRITEs alone, the last one with an immediate value
 * (smc_wr_post_imm()). smc_wr_slot_get() or smc_wr_slot_get_llc() takes a free slot, smc_wr_post()
 * posts it, smc_wr_slot_put() gives it back unposted. A few slots are reserved for LLC, so that CDC
 * messages cannot keep LLC from answering; one of those is big enough for a long LLC message.
 * Requests of an RC queue pair complete in posting order, so most slots are posted unsignaled, and
 * a signaled completion completes all slots up to its own (smc_wr_complete()). A slot is signaled
 * if the caller asks for it, if it is an LLC slot, or if too many unsignaled ones have piled up.
 * Other WRITEs are never signaled: their completion is a failure. The send queue has two requests
 * for each slot (qp->wrs), and most slots need no more: one that is taken has as many as it may
 * need, until it is posted.
 *
 * Ownership: a slot belongs to the caller from get to post or put. From a successful post to
 * completion it belongs to the queue pair, which calls slot->done exactly once and then frees the
 * slot. When the queue pair breaks, the slots that are still posted complete at the latest in
 * smc_qp_drain(). The memory of slots and buffers is freed in smc_qp_free() only: callers
 * that reach the queue pair through a link may call the slot functions until then, and get no
 * slots or -ENOTCONN.
 *
 * Receive queue: as many receives as a peer has send slots are posted before RTR, and each message
 * that arrives has some more posted, until all are: most are needed under load only, and each of
 * them costs the first contact. Receives are posted again, some at a time, after their messages
 * were delivered. A message is valid during events->received only.
 *
 * Failure: the first failed completion, refused post or asynchronous event sets qp->broken. Nothing
 * is posted afterwards, and events->broken is called once. The link then fences and drains.
 *
 * Contexts: completions are handled in softirq (rdma/cq.c). Slots are taken,
 * posted and put in any context but hard interrupt, also under conn->lock. Upcalls are made
 * with BHs off and without a lock of this file. Functions that are called under locks of the
 * caller, or in hard interrupt, leave the upcall to a work item (smc_qp_defer_upcall()).
 *
 * Locks: qp->sq_lock (spinlock, BHs off, inside conn->lock) protects posting, the slot lists
 * and qp->broken. qp->qp_mutex serialises state changes of the verbs object.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/proto/link_pick.h>
#include "rdma/internal.h"

/*
 * Receives of a new queue pair: a third of them, but so many at least. That is more than a peer of
 * either family has slots in its send queue, with the default settings: so many messages can arrive
 * before it needs an acknowledgment of our RNIC.
 */
#define RECVS_FIRST_MIN	64

/* ---- failure ---- */

/**
 * smc_qp_break() - Record a failure, after which nothing is posted any more
 * @qp: queue pair
 * @status: what happened
 *
 * Calls events->broken for the first failure, and not after a fence. No spinlock held; any context
 * but hard interrupt.
 */
void smc_qp_break(struct smc_qp *qp, enum ib_wc_status status)
{
	bool first;

	spin_lock_bh(&qp->sq_lock);
	first = !qp->broken_reported;
	WRITE_ONCE(qp->broken, true);
	qp->broken_reported = true;
	spin_unlock_bh(&qp->sq_lock);
	if (!first)
		return;
	local_bh_disable();
	qp->events->broken(qp->ctx, status);
	local_bh_enable();
}

/* Upcalls on behalf of contexts that cannot make them, see smc_qp_defer_upcall(). */
static void qp_upcall_work_fn(struct work_struct *work)
{
	struct smc_qp *qp = container_of(work, struct smc_qp, upcall_work);

	if (test_and_clear_bit(SMC_QP_UPCALL_BROKEN, &qp->upcalls))
		smc_qp_break(qp, IB_WC_FATAL_ERR);
	if (test_and_clear_bit(SMC_QP_UPCALL_SLOTS, &qp->upcalls)) {
		local_bh_disable();
		qp->events->slots_free(qp->ctx);
		local_bh_enable();
	}
}

/**
 * smc_qp_event() - Handle an asynchronous event of a queue pair
 * @event: event
 * @ctx: queue pair
 *
 * Any context; some drivers call this in hard interrupt.
 */
void smc_qp_event(struct ib_event *event, void *ctx)
{
	struct smc_qp *qp = ctx;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		smc_qp_defer_upcall(qp, SMC_QP_UPCALL_BROKEN);
		break;
	default:
		break;
	}
}

/* ---- sending ---- */

/*
 * Completions come in softirq, or in a process with BHs off: to enable them once more takes long.
 */
static bool wr_bh_disable(void)
{
	if (softirq_count())
		return false;
	local_bh_disable();
	return true;
}

static void wr_bh_enable(bool disabled)
{
	if (disabled)
		local_bh_enable();
}

/* Put a slot into its free list, the big one at the end. */
static void wr_slot_release(struct smc_wr_slot *slot)
{
	struct smc_qp *qp = slot->qp;

	lockdep_assert_held(&qp->sq_lock);
	qp->wrs += slot->wrs;
	slot->wrs = 0;
	if (slot->big)
		list_add_tail(&slot->entry, &qp->free_llc);
	else
		list_add(&slot->entry, slot->llc ? &qp->free_llc : &qp->free);
}

/**
 * smc_wr_complete() - Complete posted slots in posting order
 * @qp: queue pair
 * @last: last slot to complete; NULL: all. Nothing happens if it is not posted.
 * @status: result
 *
 * Calls done of each slot and frees the slots. On an error, unsignaled slots before @last have most
 * likely succeeded, but there is no proof: they complete with the error, too, and their owners must
 * treat the result as unknown. Softirq or process context, no lock of this file held.
 */
void smc_wr_complete(struct smc_qp *qp, struct smc_wr_slot *last, enum ib_wc_status status)
{
	struct smc_wr_slot *slot, *next;
	LIST_HEAD(completed);
	bool starved, bh;

	bh = wr_bh_disable();
	spin_lock(&qp->sq_lock);
	if (last && !last->posted) {
		spin_unlock(&qp->sq_lock);
		wr_bh_enable(bh);
		return;
	}
	if (last && status == IB_WC_SUCCESS && last->started)
		qp->latency = smc_link_latency_smooth(qp->latency, ktime_get_ns() - last->started);
	list_for_each_entry_safe(slot, next, &qp->posted, entry) {
		list_move_tail(&slot->entry, &completed);
		slot->posted = false;
		qp->bytes -= slot->bytes;
		if (slot == last)
			break;
	}
	qp->progress = jiffies;
	if (!list_empty(&qp->posted) && !qp->broken)
		smc_tail_arm(qp);
	spin_unlock(&qp->sq_lock);

	list_for_each_entry(slot, &completed, entry)
		if (slot->done)
			slot->done(slot, status);

	spin_lock(&qp->sq_lock);
	list_for_each_entry_safe(slot, next, &completed, entry)
		wr_slot_release(slot);
	if (unlikely(qp->tail.again))
		smc_tail_ask(qp);
	starved = qp->starved && !qp->broken;
	qp->starved = false;
	spin_unlock(&qp->sq_lock);
	if (starved)
		qp->events->slots_free(qp->ctx);
	wr_bh_enable(bh);
}

static void wr_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_wr_slot *slot = container_of(wc->wr_cqe, struct smc_wr_slot, cqe);
	enum ib_wc_status status = wc->status;

	if (!slot->probe) {
		status = smc_fault_rc(WC_SEND, IB_WC_RETRY_EXC_ERR, wc->status);
		smc_stats_count(slot->qp->stats, SMC_STAT_WR_DONE, 1);
	}
	if (status != IB_WC_SUCCESS)
		smc_qp_break(slot->qp, status);
	smc_wr_complete(slot->qp, slot, status);
}

/*
 * Only called on failure, as WRITEs are unsignaled. The slot of a failed WRITE completes when its
 * SEND, or its last WRITE, is flushed.
 */
static void wr_write_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_qp *qp = container_of(wc->wr_cqe, struct smc_qp, write_cqe);

	if (wc->status != IB_WC_SUCCESS)
		smc_qp_break(qp, wc->status);
}

static struct smc_wr_slot *wr_slot_take(struct smc_wr_slot *slot)
{
	list_del_init(&slot->entry);
	slot->probe = false;
	slot->done = NULL;
	slot->owner = NULL;
	return slot;
}

/* Take a slot that is not reserved for LLC, with @wrs requests, which it may need; NULL: none. */
static __always_inline struct smc_wr_slot *wr_slot_take_cdc(struct smc_qp *qp, u32 wrs)
{
	struct smc_wr_slot *slot;

	lockdep_assert_held(&qp->sq_lock);
	slot = list_first_entry_or_null(&qp->free, struct smc_wr_slot, entry);
	if (!slot || qp->wrs < wrs)
		return NULL;
	qp->wrs -= wrs;
	slot->wrs = wrs;
	return wr_slot_take(slot);
}

/**
 * smc_wr_slot_get() - Take a free slot for a CDC message
 * @qp: queue pair; may be destroyed, but not freed
 *
 * Any context but hard interrupt.
 *
 * Return: the slot, to be posted or put. NULL: no slot is free (then events->slots_free is called
 * when one is), or the queue pair is broken.
 */
struct smc_wr_slot *smc_wr_slot_get(struct smc_qp *qp)
{
	struct smc_wr_slot *slot = NULL;

	spin_lock_bh(&qp->sq_lock);
	if (!qp->broken) {
		slot = wr_slot_take_cdc(qp, SMC_WR_SLOT_WRS);
		if (!slot)
			qp->starved = true;
	}
	spin_unlock_bh(&qp->sq_lock);
	return slot;
}

/**
 * smc_wr_slot_get_llc() - Take a free slot for an LLC message
 * @qp: queue pair; may be destroyed, but not freed
 * @len: bytes of the message
 *
 * A short message may take a CDC slot if no short LLC slot is free, and the big slot if no other
 * slot is. Any context but hard interrupt.
 *
 * Return: the slot, to be posted or put. NULL: no slot is free (then events->slots_free is called
 * when one is), the queue pair is broken, or @len is too large.
 */
struct smc_wr_slot *smc_wr_slot_get_llc(struct smc_qp *qp, u32 len)
{
	struct smc_wr_slot *slot = NULL, *cdc = NULL;

	if (len > SMC_WR_LLC_MAX)
		return NULL;
	spin_lock_bh(&qp->sq_lock);
	if (qp->broken)
		goto out;
	/* The big slot is the last in the list. */
	if (!list_empty(&qp->free_llc) && len > SMC_WR_MSG_LEN)
		slot = list_last_entry(&qp->free_llc, struct smc_wr_slot, entry);
	else if (!list_empty(&qp->free_llc))
		slot = list_first_entry(&qp->free_llc, struct smc_wr_slot, entry);
	if (slot && len > SMC_WR_MSG_LEN && !slot->big)
		slot = NULL;
	if (len <= SMC_WR_MSG_LEN && (!slot || slot->big))
		cdc = wr_slot_take_cdc(qp, 1);
	if (cdc)
		slot = cdc;
	else if (slot)
		wr_slot_take(slot);
	else
		qp->starved = true;
out:
	spin_unlock_bh(&qp->sq_lock);
	return slot;
}

/**
 * smc_wr_slot_put() - Give back a slot that was not posted
 * @slot: slot
 *
 * Any context but hard interrupt. The caller may hold a lock that events->slots_free takes: that
 * upcall is made from a work item.
 */
void smc_wr_slot_put(struct smc_wr_slot *slot)
{
	struct smc_qp *qp = slot->qp;

	spin_lock_bh(&qp->sq_lock);
	wr_slot_release(slot);
	if (qp->starved && !qp->broken) {
		qp->starved = false;
		smc_qp_defer_upcall(qp, SMC_QP_UPCALL_SLOTS);
	}
	spin_unlock_bh(&qp->sq_lock);
}

/* Keep @wrs of the requests that the CDC slot has; those that are left are for other slots. */
static __always_inline void wr_slot_keep_wrs(struct smc_wr_slot *slot, u32 wrs)
{
	struct smc_qp *qp = slot->qp;

	lockdep_assert_held(&qp->sq_lock);
	qp->wrs += slot->wrs - wrs;
	slot->wrs = wrs;
}

/*
 * Signal some slots even if no caller asks for it, or the others would never be freed. The last one
 * that can be had always is: its completion lets events->slots_free reach a caller that gets no
 * slot after it, or has got none while this one had more requests than it needed.
 */
static bool wr_slot_must_signal(const struct smc_qp *qp, const struct smc_wr_slot *slot)
{
	return slot->llc || qp->unsignaled + 1 >= qp->nslots / 4 || list_empty(&qp->free) ||
	       qp->wrs < SMC_WR_SLOT_WRS || qp->starved;
}

static void wr_fill_write(struct smc_qp *qp, const struct smc_wr_write *write,
			  struct ib_rdma_wr *wr, struct ib_sge *sge)
{
	bool copy = !write->nsge && smc_qp_copies_write(qp, write->len);

	if (!write->nsge) {
		sge->addr = copy ? (uintptr_t)write->vaddr : write->laddr;
		sge->length = write->len;
		sge->lkey = copy ? 0 : write->lkey;
	}
	wr->wr.sg_list = write->nsge ? write->sge : sge;
	wr->wr.num_sge = write->nsge ?: 1;
	wr->wr.wr_cqe = &qp->write_cqe;
	wr->wr.opcode = IB_WR_RDMA_WRITE;
	wr->wr.send_flags = copy ? IB_SEND_INLINE : 0;
	wr->remote_addr = write->raddr;
	wr->rkey = write->rkey;
}

static void wr_fill_send(struct smc_wr_slot *slot, u32 len, struct ib_send_wr *wr,
			 struct ib_sge *sge)
{
	struct smc_qp *qp = slot->qp;
	bool copy = len <= qp->max_inline;

	sge->addr = copy ? (uintptr_t)slot->buf : slot->dma;
	sge->length = len;
	sge->lkey = copy ? 0 : qp->pd->local_dma_lkey;
	wr->wr_cqe = &slot->cqe;
	wr->sg_list = sge;
	wr->send_flags = IB_SEND_SOLICITED | (copy ? IB_SEND_INLINE : 0);
	if (!copy)
		ib_dma_sync_single_for_device(qp->dev->ibdev, slot->dma, len, DMA_TO_DEVICE);
}

static void wr_chain_init(struct smc_qp *qp)
{
	qp->chain.send.opcode = IB_WR_SEND;
	qp->chain.send.num_sge = 1;
}

/*
 * Link the WRITEs in their order, followed by @next; with NULL the last of them ends the chain.
 * Return the first request.
 */
static struct ib_send_wr *wr_chain_link_writes(struct smc_qp *qp, const struct smc_wr_write *writes,
					       int nwrites, struct ib_send_wr *next)
{
	struct smc_wr_chain *chain = &qp->chain;
	int i;

	lockdep_assert_held(&qp->sq_lock);
	for (i = nwrites - 1; i >= 0; i--) {
		wr_fill_write(qp, &writes[i], &chain->writes[i], &chain->sge[i]);
		chain->writes[i].wr.next = next;
		next = &chain->writes[i].wr;
	}
	return next;
}

/*
 * Build the chain of a message: the WRITEs, then the SEND. Return the first request. Caller holds
 * sq_lock until they are posted.
 */
static struct ib_send_wr *wr_chain_build(struct smc_wr_slot *slot, u32 len,
					 const struct smc_wr_write *writes, int nwrites)
{
	struct smc_wr_chain *chain = &slot->qp->chain;

	wr_fill_send(slot, len, &chain->send, &chain->sge[nwrites]);
	return wr_chain_link_writes(slot->qp, writes, nwrites, &chain->send);
}

/* The same without a SEND: the last WRITE carries @imm, and its completion is that of the slot. */
static struct ib_send_wr *wr_chain_build_imm(struct smc_wr_slot *slot, u32 imm,
					     const struct smc_wr_write *writes, int nwrites)
{
	struct ib_send_wr *first = wr_chain_link_writes(slot->qp, writes, nwrites, NULL);
	struct ib_send_wr *last = &slot->qp->chain.writes[nwrites - 1].wr;

	last->wr_cqe = &slot->cqe;
	last->opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	last->ex.imm_data = cpu_to_be32(imm);
	last->send_flags |= IB_SEND_SOLICITED;
	return first;
}

/*
 * Post the chain from @first to @last, whose completion is that of the slot, and enter the slot
 * into the posted list. @bytes is the total length of the WRITEs. Return 0, or the error of the
 * device: then the slot is not posted.
 */
static int wr_chain_post(const struct ib_send_wr *first, struct ib_send_wr *last,
			 struct smc_wr_slot *slot, u32 bytes, bool signal)
{
	struct smc_qp *qp = slot->qp;
	u64 started;
	int rc;

	lockdep_assert_held(&qp->sq_lock);
	if (signal)
		last->send_flags |= IB_SEND_SIGNALED;
	/* Read the clock before the post: the request may complete at once. */
	started = signal ? ktime_get_ns() : 0;
	rc = smc_fault_rc(POST_SEND, -ENOMEM, ib_post_send(qp->qp, first, NULL));
	if (!rc) {
		smc_stats_count(qp->stats, SMC_STAT_WR_POSTS, 1);
		smc_wr_slot_enter_posted(slot, bytes, signal, started);
		smc_tail_arm(qp);
		return 0;
	}
	/* The device may have taken part of the chain: post nothing after it. */
	WRITE_ONCE(qp->broken, true);
	smc_qp_defer_upcall(qp, SMC_QP_UPCALL_BROKEN);
	if (first == &qp->chain.send)
		return rc;
	/* Until the fence, the device may also read the memory of the WRITEs. */
	smc_wr_slot_enter_posted(slot, bytes, false, 0);
	return 0;
}

static u32 wr_writes_len(const struct smc_wr_write *writes, int nwrites)
{
	u32 bytes = 0;
	int i;

	for (i = 0; i < nwrites; i++)
		bytes += writes[i].len;
	return bytes;
}

/**
 * smc_wr_post() - Post RDMA WRITEs and the message that announces them
 * @slot: slot, with the message in its buffer
 * @len: bytes of the message
 * @writes: RDMA WRITEs, executed before the message is delivered
 * @nwrites: number of them, up to SMC_WR_WRITES_MAX; none in a slot for LLC
 * @signal: request a completion of this slot; otherwise the slot completes with a later one
 *
 * All requests go with one ib_post_send(). Any context but hard interrupt; conn->lock may be held.
 *
 * Return: 0, -EINVAL (sizes), -ENOTCONN (queue pair broken), or the error of the device. After an
 * error the caller still owns the slot. If the device refuses the post, the queue pair breaks and
 * events->broken is called from a work item. A refused post with WRITEs returns 0, because the
 * device may have begun with them: the slot counts as posted, and slot->done is called by the
 * drain.
 */
int smc_wr_post(struct smc_wr_slot *slot, u32 len, const struct smc_wr_write *writes,
		int nwrites, bool signal)
{
	struct smc_qp *qp = slot->qp;
	int rc = -ENOTCONN;

	/* those for the WRITEs and the message: a slot for LLC has none for WRITEs */
	if (nwrites < 0 || (nwrites && nwrites >= slot->wrs) ||
	    len > (slot->big ? SMC_WR_LLC_MAX : SMC_WR_MSG_LEN))
		return -EINVAL;
	spin_lock_bh(&qp->sq_lock);
	if (!slot->llc)
		wr_slot_keep_wrs(slot, nwrites + 1);
	if (!qp->broken)
		rc = wr_chain_post(wr_chain_build(slot, len, writes, nwrites), &qp->chain.send,
				   slot, wr_writes_len(writes, nwrites),
				   signal || wr_slot_must_signal(qp, slot));
	spin_unlock_bh(&qp->sq_lock);
	return rc;
}

/**
 * smc_wr_post_imm() - Post RDMA WRITEs of which the last announces them by an immediate value
 * @slot: slot, whose buffer is not used
 * @imm: the value, which events->received_imm of the peer gets
 * @writes: RDMA WRITEs
 * @nwrites: number of them, from 1 to SMC_WR_WRITES_MAX; the slot is none for LLC
 * @signal: as in smc_wr_post()
 *
 * Any context but hard interrupt; conn->lock may be held.
 *
 * Return: as smc_wr_post() with WRITEs.
 */
int smc_wr_post_imm(struct smc_wr_slot *slot, u32 imm, const struct smc_wr_write *writes,
		    int nwrites, bool signal)
{
	struct smc_qp *qp = slot->qp;
	int rc = -ENOTCONN;

	if (nwrites < 1 || nwrites >= slot->wrs)
		return -EINVAL;
	spin_lock_bh(&qp->sq_lock);
	wr_slot_keep_wrs(slot, nwrites);
	if (!qp->broken)
		rc = wr_chain_post(wr_chain_build_imm(slot, imm, writes, nwrites),
				   &qp->chain.writes[nwrites - 1].wr, slot,
				   wr_writes_len(writes, nwrites),
				   signal || wr_slot_must_signal(qp, slot));
	spin_unlock_bh(&qp->sq_lock);
	return rc;
}

/**
 * smc_qp_is_idle() - Check whether all requests have completed
 * @qp: queue pair
 *
 * Any context but hard interrupt.
 *
 * Return: true if no slot is posted. A slot that was posted unsignaled counts as posted until a
 * later one completes.
 */
bool smc_qp_is_idle(struct smc_qp *qp)
{
	bool idle;

	spin_lock_bh(&qp->sq_lock);
	idle = list_empty(&qp->posted);
	spin_unlock_bh(&qp->sq_lock);
	return idle;
}

/**
 * smc_qp_owes_completion() - Check whether the device owes a completion, and for how long
 * @qp: queue pair
 * @since: out, if true: jiffies of the last completion, or of the post of the oldest signaled slot
 *	if that is later
 *
 * Each completion restarts the time, so a slow queue pair with a long queue does not look stuck.
 * Unsignaled slots with no signaled one behind them do not count: they may have been executed long
 * ago. Any context but hard interrupt.
 *
 * Return: true if a signaled slot is posted.
 */
bool smc_qp_owes_completion(struct smc_qp *qp, unsigned long *since)
{
	struct smc_wr_slot *slot;
	bool due = false;

	spin_lock_bh(&qp->sq_lock);
	list_for_each_entry(slot, &qp->posted, entry) {
		due = slot->signaled;
		if (due)
			break;
	}
	if (due)
		*since = time_after(slot->since, qp->progress) ? slot->since : qp->progress;
	spin_unlock_bh(&qp->sq_lock);
	return due;
}

/**
 * smc_qp_get_load() - Report how busy a queue pair is
 * @qp: queue pair
 * @bytes: out: total length of the WRITEs that have not completed
 * @latency: out: ns from post to completion, smoothed; 0: nothing measured yet
 *
 * Any context but hard interrupt.
 */
void smc_qp_get_load(struct smc_qp *qp, u64 *bytes, u32 *latency)
{
	spin_lock_bh(&qp->sq_lock);
	*bytes = qp->bytes;
	*latency = qp->latency;
	spin_unlock_bh(&qp->sq_lock);
}

/* ---- receiving ---- */

/* Fill in a receive request, but for its place in a chain. */
static void wr_recv_fill(struct smc_wr_recv *recv, struct ib_recv_wr *wr, struct ib_sge *sge)
{
	struct smc_qp *qp = recv->qp;

	wr->wr_cqe = &recv->cqe;
	wr->sg_list = sge;
	wr->num_sge = 1;
	sge[0].addr = recv->dma;
	sge[0].length = qp->recv_len;
	sge[0].lkey = qp->pd->local_dma_lkey;
	if (!recv->spill)
		return;
	wr->num_sge = 2;
	sge[1].addr = recv->spill->dma;
	sge[1].length = recv->spill->len;
	sge[1].lkey = qp->pd->local_dma_lkey;
}

/* Post the receives that wait in the batch. Return 0, or the error of the device. */
static int wr_recv_post_batch(struct smc_qp *qp)
{
	struct smc_wr_recv_batch *batch = &qp->recv_batch;

	lockdep_assert_held(&qp->sq_lock);
	batch->wr[batch->n - 1].next = NULL;
	batch->n = 0;
	return smc_fault_rc(POST_RECV, -ENOMEM, ib_post_recv(qp->qp, batch->wr, NULL));
}

/*
 * Post a receive, together with those before it: a call of the device for each would cost more than
 * the rest of it. Return 0, or the error of the device.
 */
static int wr_recv_post(struct smc_wr_recv *recv)
{
	struct smc_qp *qp = recv->qp;
	struct smc_wr_recv_batch *batch = &qp->recv_batch;
	struct ib_recv_wr *wr = &batch->wr[batch->n];

	lockdep_assert_held(&qp->sq_lock);
	/* messages arrive in the order of the posts: the rest of one and of the next do not meet */
	recv->spill = qp->spills[qp->spill_turn++ % SMC_WR_SPILLS];
	wr_recv_fill(recv, wr, batch->sge[batch->n]);
	if (++batch->n == batch->size)
		return wr_recv_post_batch(qp);
	wr->next = wr + 1;
	return 0;
}

/* Post up to @n receives that were not posted so far. Return 0, or the error of the device. */
static noinline int wr_recv_post_new(struct smc_qp *qp, u32 n)
{
	int rc = 0;

	lockdep_assert_held(&qp->sq_lock);
	for (; n && qp->nposted < qp->nrecvs && !rc; n--)
		rc = wr_recv_post(&qp->recvs[qp->nposted++]);
	return rc;
}

/**
 * smc_wr_post_recvs() - Post the first receive requests
 * @qp: queue pair in INIT, none of whose receives was posted
 *
 * The others follow as messages arrive: wr_recv_done(). Any context but hard interrupt.
 *
 * Return: 0, or the error of the device.
 */
int smc_wr_post_recvs(struct smc_qp *qp)
{
	int rc;

	spin_lock_bh(&qp->sq_lock);
	rc = wr_recv_post_new(qp, max_t(u32, qp->nrecvs / 3, RECVS_FIRST_MIN));
	if (!rc && qp->recv_batch.n)
		rc = wr_recv_post_batch(qp);
	spin_unlock_bh(&qp->sq_lock);
	return rc;
}

/* The device gets the memory back from wr_recv_gather(). */
static void wr_recv_release(const struct smc_wr_recv *recv)
{
	struct ib_device *ibdev = recv->qp->dev->ibdev;

	ib_dma_sync_single_for_device(ibdev, recv->dma, recv->qp->recv_len, DMA_FROM_DEVICE);
	if (recv->spill)
		ib_dma_sync_single_for_device(ibdev, recv->spill->dma, recv->spill->len,
					      DMA_FROM_DEVICE);
}

/*
 * Return memory for a long message; most queue pairs never get one. NULL: the message is lost, as
 * it is if LLC gets no memory for it.
 */
static u8 *wr_recv_long_buf(struct smc_qp *qp)
{
	if (!qp->long_buf)
		WRITE_ONCE(qp->long_buf,
			   smc_fault_null(QP_LONG_BUF,
					  kmalloc(SMC_WR_LLC_MAX, GFP_ATOMIC | __GFP_NOWARN)));
	return qp->long_buf;
}

/* Return the message in one piece, or NULL. @len was checked against the memory of @recv. */
static const u8 *wr_recv_gather(const struct smc_wr_recv *recv, u32 len)
{
	struct smc_qp *qp = recv->qp;
	u32 own = qp->recv_len;
	u8 *buf;

	ib_dma_sync_single_for_cpu(qp->dev->ibdev, recv->dma, min(len, own), DMA_FROM_DEVICE);
	if (len <= own)
		return recv->buf;
	buf = wr_recv_long_buf(qp);
	if (!buf)
		return NULL;
	ib_dma_sync_single_for_cpu(qp->dev->ibdev, recv->spill->dma, len - own, DMA_FROM_DEVICE);
	memcpy(buf, recv->buf, own);
	memcpy(buf + own, recv->spill->addr, len - own);
	return buf;
}

/* A message, or what is too long for one. */
static void wr_recv_deliver(struct smc_wr_recv *recv, u32 len)
{
	struct smc_qp *qp = recv->qp;
	const u8 *buf;

	if (len <= qp->recv_len + (recv->spill ? recv->spill->len : 0)) {
		buf = wr_recv_gather(recv, len);
		if (buf)
			qp->events->received(qp->ctx, buf, len);
		else
			smc_stats_count(qp->stats, SMC_STAT_RX_LLC_BAD, 1);
	}
	wr_recv_release(recv);
}

/* data path 7: deliver the message, then post the receive again */
static void wr_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_wr_recv *recv = container_of(wc->wr_cqe, struct smc_wr_recv, cqe);
	enum ib_wc_status status = smc_fault_rc(WC_RECV, IB_WC_LOC_PROT_ERR, wc->status);
	struct smc_qp *qp = recv->qp;
	int rc = 0;
	bool bh;

	if (status != IB_WC_SUCCESS) {
		smc_qp_break(qp, status);
		return;
	}
	bh = wr_bh_disable();
	/* A WRITE with immediate value consumes a receive, whose buffer holds an old message. */
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		qp->events->received_imm(qp->ctx, be32_to_cpu(wc->ex.imm_data));
	else if (wc->opcode == IB_WC_RECV)
		wr_recv_deliver(recv, wc->byte_len);

	/* Not after a fence: the receive would be behind the drain marker and outlive the drain. */
	spin_lock(&qp->sq_lock);
	if (!qp->broken && !smc_fault_hit(SMC_FAULT_LOSE_RECV))
		rc = wr_recv_post(recv);
	if (unlikely(qp->nposted < qp->nrecvs) && !qp->broken && !rc)
		rc = wr_recv_post_new(qp, qp->recv_batch.size);
	spin_unlock(&qp->sq_lock);
	wr_bh_enable(bh);
	if (rc)
		smc_qp_break(qp, IB_WC_GENERAL_ERR);
}

/* ---- set-up, for rdma/qp.c ---- */

/**
 * smc_wr_init_qp() - Set the completion handlers and work items of a queue pair
 * @qp: queue pair that is being created
 */
void smc_wr_init_qp(struct smc_qp *qp)
{
	INIT_WORK(&qp->upcall_work, qp_upcall_work_fn);
	smc_tail_init(qp);
	qp->write_cqe.done = wr_write_done;
	wr_chain_init(qp);
}

/**
 * smc_wr_init_slot() - Set the completion handler of a slot
 * @slot: slot of a queue pair that is being created
 */
void smc_wr_init_slot(struct smc_wr_slot *slot)
{
	slot->cqe.done = wr_send_done;
}

/**
 * smc_wr_init_recv() - Set the completion handler of a receive request
 * @recv: receive request of a queue pair that is being created
 */
void smc_wr_init_recv(struct smc_wr_recv *recv)
{
	recv->cqe.done = wr_recv_done;
}
