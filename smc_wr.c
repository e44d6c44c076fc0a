// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work requests on a queue pair; how one is made and ends is in rdma/qp.c.
 *
 * Sending: a slot is one SEND with the RDMA WRITEs chained before it. Requests
 * of an RC queue pair complete in posting order, so most slots are posted
 * unsignaled, and a completion retires all slots up to its own.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/timekeeping.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/proto/link_pick.h>
#include "rdma/internal.h"

#define REG_TIMEOUT		(5 * HZ)

/* ---- failure ---- */

/* No lock held. Only the first call tells, and none after a local fence. */
static void qp_break(struct smc_qp *qp, enum ib_wc_status status)
{
	bool first;

	spin_lock_bh(&qp->sq_lock);
	first = !qp->broken_reported;
	qp->broken = true;
	qp->broken_reported = true;
	spin_unlock_bh(&qp->sq_lock);
	if (!first)
		return;
	pr_info_ratelimited("%s: queue pair %u failed: %s\n", qp->dev->ibdev->name, qp->qpn,
			    ib_wc_status_msg(status));
	local_bh_disable();
	qp->events->broken(qp->ctx, status);
	local_bh_enable();
}

/* Upcalls for those who found something under a lock or in hard interrupt. */
static void qp_upcall_work_fn(struct work_struct *work)
{
	struct smc_qp *qp = container_of(work, struct smc_qp, kick_work);

	if (test_and_clear_bit(SMC_QP_UPCALL_BROKEN, &qp->kick))
		qp_break(qp, IB_WC_FATAL_ERR);
	if (test_and_clear_bit(SMC_QP_UPCALL_SLOTS, &qp->kick)) {
		local_bh_disable();
		qp->events->slots_free(qp->ctx);
		local_bh_enable();
	}
}

/**
 * smc_qp_event() - an asynchronous event of the queue pair
 * @event: event
 * @ctx: queue pair
 *
 * Some drivers call this in hard interrupt.
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

/* sq_lock held */
static void wr_slot_release(struct smc_wr_slot *slot)
{
	struct smc_qp *qp = slot->qp;

	lockdep_assert_held(&qp->sq_lock);
	if (slot->big)
		list_add_tail(&slot->entry, &qp->free_ctl);
	else
		list_add(&slot->entry, slot->ctl ? &qp->free_ctl : &qp->free);
}

/**
 * smc_wr_complete() - retire posted slots, in their order
 * @qp: queue pair
 * @last: the last of them; NULL: all
 * @status: what became of them
 *
 * On an error the unsignaled ones before it have most likely succeeded, but nobody said so:
 * they get the error too, and their owner must treat them as unknown.
 */
void smc_wr_complete(struct smc_qp *qp, struct smc_wr_slot *last, enum ib_wc_status status)
{
	struct smc_wr_slot *slot, *next;
	LIST_HEAD(retired);
	bool starved;

	local_bh_disable();
	spin_lock(&qp->sq_lock);
	if (last && !last->posted) {
		spin_unlock(&qp->sq_lock);
		local_bh_enable();
		return;
	}
	if (last && status == IB_WC_SUCCESS && last->started)
		qp->latency = smc_link_smooth(qp->latency, ktime_get_ns() - last->started);
	list_for_each_entry_safe(slot, next, &qp->posted, entry) {
		list_move_tail(&slot->entry, &retired);
		slot->posted = false;
		qp->bytes -= slot->bytes;
		if (slot == last)
			break;
	}
	qp->progress = jiffies;
	if (!list_empty(&qp->posted) && !qp->broken)
		smc_tail_arm(qp);
	spin_unlock(&qp->sq_lock);

	list_for_each_entry(slot, &retired, entry)
		if (slot->done)
			slot->done(slot, status);

	spin_lock(&qp->sq_lock);
	list_for_each_entry_safe(slot, next, &retired, entry)
		wr_slot_release(slot);
	starved = qp->starved && !qp->broken;
	qp->starved = false;
	spin_unlock(&qp->sq_lock);
	if (starved)
		qp->events->slots_free(qp->ctx);
	local_bh_enable();
}

static void wr_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_wr_slot *slot = container_of(wc->wr_cqe, struct smc_wr_slot, cqe);
	enum ib_wc_status status = wc->status;

	if (!slot->probe) {
		status = smc_fault_rc(WC_SEND, IB_WC_RETRY_EXC_ERR, wc->status);
		smc_stats_inc(slot->qp->net, SMC_STAT_WR_DONE);
	}
	if (status != IB_WC_SUCCESS)
		qp_break(slot->qp, status);
	smc_wr_complete(slot->qp, slot, status);
}

/*
 * WRITEs are never signaled: this is always a failure. Their slot's SEND is flushed. Likewise for
 * the barrier before a REG_MR.
 */
static void wr_write_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_qp *qp = container_of(wc->wr_cqe, struct smc_qp, write_cqe);

	if (wc->status != IB_WC_SUCCESS)
		qp_break(qp, wc->status);
}

static struct smc_wr_slot *wr_slot_take(struct smc_wr_slot *slot)
{
	list_del_init(&slot->entry);
	slot->probe = false;
	slot->done = NULL;
	slot->owner = NULL;
	return slot;
}

/**
 * smc_wr_slot_get() - take a slot for a CDC message
 * @qp: queue pair; not destroyed, or destroyed and not yet freed
 *
 * Any context but hard interrupt.
 *
 * Return: the slot; to be posted or put. NULL: none is free (then
 * events->slots_free will be called), or the queue pair is broken.
 */
struct smc_wr_slot *smc_wr_slot_get(struct smc_qp *qp)
{
	struct smc_wr_slot *slot = NULL;

	spin_lock_bh(&qp->sq_lock);
	if (!qp->broken) {
		slot = list_first_entry_or_null(&qp->free, struct smc_wr_slot, entry);
		if (slot)
			wr_slot_take(slot);
		else
			qp->starved = true;
	}
	spin_unlock_bh(&qp->sq_lock);
	return slot;
}

/**
 * smc_wr_slot_get_ctl() - take a slot for an LLC message
 * @qp: as in smc_wr_slot_get()
 * @len: bytes of the message
 *
 * Short messages may also use a CDC slot; the big slot is their last resort.
 *
 * Return: as smc_wr_slot_get().
 */
struct smc_wr_slot *smc_wr_slot_get_ctl(struct smc_qp *qp, u32 len)
{
	struct smc_wr_slot *slot = NULL;

	if (len > SMC_WR_LLC_MAX)
		return NULL;
	spin_lock_bh(&qp->sq_lock);
	if (qp->broken)
		goto out;
	/* the big slot stands last */
	if (!list_empty(&qp->free_ctl) && len > SMC_WR_MSG_LEN)
		slot = list_last_entry(&qp->free_ctl, struct smc_wr_slot, entry);
	else if (!list_empty(&qp->free_ctl))
		slot = list_first_entry(&qp->free_ctl, struct smc_wr_slot, entry);
	if (slot && len > SMC_WR_MSG_LEN && !slot->big)
		slot = NULL;
	if (len <= SMC_WR_MSG_LEN && (!slot || slot->big) && !list_empty(&qp->free))
		slot = list_first_entry(&qp->free, struct smc_wr_slot, entry);
	if (slot)
		wr_slot_take(slot);
	else
		qp->starved = true;
out:
	spin_unlock_bh(&qp->sq_lock);
	return slot;
}

/**
 * smc_wr_slot_put() - give back a slot that was not posted
 * @slot: slot
 *
 * Any context but hard interrupt; the caller may hold a lock that
 * events->slots_free takes: it is called from a work.
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

/*
 * A slot is signaled now and then even if nobody cares about it, else the slots
 * would never come back. The last free one always is: who is refused after it was
 * taken will be told.
 */
static bool wr_slot_must_signal(const struct smc_qp *qp, const struct smc_wr_slot *slot)
{
	return slot->ctl || qp->unsignaled + 1 >= qp->nslots / 4 || list_empty(&qp->free);
}

static void wr_fill_write(struct smc_qp *qp, const struct smc_wr_write *write,
			  struct ib_rdma_wr *wr, struct ib_sge *sge)
{
	bool copy = !write->nsge && write->len <= qp->max_inline;

	sge->addr = copy ? (uintptr_t)write->vaddr : write->laddr;
	sge->length = write->len;
	sge->lkey = write->lkey;
	memset(wr, 0, sizeof(*wr));
	wr->wr.wr_cqe = &qp->write_cqe;
	wr->wr.sg_list = write->nsge ? write->sge : sge;
	wr->wr.num_sge = write->nsge ?: 1;
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
	memset(wr, 0, sizeof(*wr));
	wr->wr_cqe = &slot->cqe;
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = IB_WR_SEND;
	wr->send_flags = IB_SEND_SOLICITED | (copy ? IB_SEND_INLINE : 0);
	if (!copy)
		ib_dma_sync_single_for_device(qp->dev->ibdev, slot->dma, len, DMA_TO_DEVICE);
}

/**
 * smc_wr_post() - post WRITEs and the message that tells of them
 * @slot: slot, with the message in its buffer
 * @len: bytes of the message
 * @writes: RDMA WRITEs to be done before the message is delivered
 * @nwrites: number of them, up to SMC_WR_WRITES_MAX
 * @signal: the caller wants slot->done soon; otherwise it comes with a later slot's
 *
 * Any context but hard interrupt, conn->lock may be held.
 *
 * Return: 0, or -errno: then the slot is still the caller's. If the queue pair
 * refused the request, events->broken is called from a work; with WRITEs it counts as
 * posted, and slot->done comes with the fence.
 */
int smc_wr_post(struct smc_wr_slot *slot, u32 len, const struct smc_wr_write *writes,
		int nwrites, bool signal)
{
	struct ib_rdma_wr write_wr[SMC_WR_WRITES_MAX];
	struct ib_sge sge[SMC_WR_SLOT_WRS];
	struct smc_qp *qp = slot->qp;
	struct ib_send_wr send_wr;
	struct ib_send_wr *first;
	u64 started;
	int rc, i;

	if (nwrites < 0 || nwrites > SMC_WR_WRITES_MAX ||
	    len > (slot->big ? SMC_WR_LLC_MAX : SMC_WR_MSG_LEN))
		return -EINVAL;

	spin_lock_bh(&qp->sq_lock);
	if (qp->broken) {
		rc = -ENOTCONN;
		goto out;
	}
	wr_fill_send(slot, len, &send_wr, &sge[nwrites]);
	first = &send_wr;
	for (i = nwrites - 1; i >= 0; i--) {
		wr_fill_write(qp, &writes[i], &write_wr[i], &sge[i]);
		write_wr[i].wr.next = first;
		first = &write_wr[i].wr;
	}
	signal = signal || wr_slot_must_signal(qp, slot);
	if (signal)
		send_wr.send_flags |= IB_SEND_SIGNALED;
	/* before it can be completed; nobody asks for the others' */
	started = signal ? ktime_get_ns() : 0;
	rc = smc_fault_rc(POST_SEND, -ENOMEM, ib_post_send(qp->qp, first, NULL));
	if (rc) {
		/* part of it may be under way: nothing may follow */
		qp->broken = true;
		smc_qp_defer_upcall(qp, SMC_QP_UPCALL_BROKEN);
		/* ... and the device may read what the WRITEs are of, until it is fenced */
		if (!nwrites)
			goto out;
		signal = false;
		started = 0;
		rc = 0;
	} else {
		smc_stats_inc(qp->net, SMC_STAT_WR_POSTS);
	}
	qp->unsignaled = signal ? 0 : qp->unsignaled + 1;
	slot->posted = true;
	slot->signaled = signal;
	slot->since = jiffies;
	slot->started = started;
	for (i = 0, slot->bytes = 0; i < nwrites; i++)
		slot->bytes += writes[i].len;
	qp->bytes += slot->bytes;
	list_add_tail(&slot->entry, &qp->posted);
	if (!qp->broken)
		smc_tail_arm(qp);
out:
	spin_unlock_bh(&qp->sq_lock);
	return rc;
}

/**
 * smc_wr_qp_idle() - has everything completed
 * @qp: queue pair
 *
 * Return: true if no request is unfinished. A slot posted without a signal counts
 * as unfinished until a later one completes.
 */
bool smc_wr_qp_idle(struct smc_qp *qp)
{
	bool idle;

	spin_lock_bh(&qp->sq_lock);
	idle = list_empty(&qp->posted) && !READ_ONCE(qp->reg_pending);
	spin_unlock_bh(&qp->sq_lock);
	return idle;
}

/**
 * smc_wr_qp_waiting() - is the device to tell of a request
 * @qp: queue pair
 * @since: out: jiffies since when none has finished, while one was unfinished
 *
 * However long the queue, the count begins anew with each completion: a queue pair that is
 * slow does not look like one that is stuck. What was posted unsignaled, and nothing
 * signaled behind it, may be long done.
 *
 * Return: false if no completion is due.
 */
bool smc_wr_qp_waiting(struct smc_qp *qp, unsigned long *since)
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
 * smc_wr_qp_load() - how busy is a queue pair
 * @qp: queue pair
 * @bytes: out: of WRITEs that have not completed
 * @latency: out: ns from a post to its completion, smoothed; 0: none has completed
 *
 * Any context but hard interrupt.
 */
void smc_wr_qp_load(struct smc_qp *qp, u64 *bytes, u32 *latency)
{
	spin_lock_bh(&qp->sq_lock);
	*bytes = qp->bytes;
	*latency = qp->latency;
	spin_unlock_bh(&qp->sq_lock);
}

/* ---- memory registration ---- */

static void mr_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	enum ib_wc_status status = smc_fault_rc(WC_REG, IB_WC_MW_BIND_ERR, wc->status);
	struct smc_qp *qp = container_of(wc->wr_cqe, struct smc_qp, reg_cqe);

	if (smc_fault_hit(SMC_FAULT_LOSE_REG))
		return;
	qp->reg_status = status;
	smp_store_release(&qp->reg_pending, false);	/* the result is valid */
	wake_up(&qp->wait);
	if (status != IB_WC_SUCCESS)
		qp_break(qp, status);
}

/*
 * A retry takes Soft-RoCE back to the oldest request that is not acknowledged, and what it did
 * on its own behind that one it does again. A REG_MR fails then, for the region is valid, and the
 * queue pair breaks.
 */
static bool qp_replays_local(const struct smc_qp *qp)
{
	return qp->dev->ibdev->ops.driver_id == RDMA_DRIVER_RXE;
}

static int mr_post_reg(struct smc_qp *qp, struct ib_mr *mr, int access)
{
	struct ib_reg_wr wr = {
		.wr = {
			.wr_cqe = &qp->reg_cqe,
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = mr,
		.key = access & IB_ACCESS_REMOTE_WRITE ? mr->rkey : mr->lkey,
		.access = access,
	};
	/* it waits there until all before it is acknowledged; to free what is free does nothing */
	struct ib_send_wr barrier = {
		.next = &wr.wr,
		.wr_cqe = &qp->write_cqe,
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = wr.key,
	};
	struct ib_send_wr *first = qp_replays_local(qp) ? &barrier : &wr.wr;
	int rc = -ENOTCONN;

	spin_lock_bh(&qp->sq_lock);
	if (!qp->broken) {
		WRITE_ONCE(qp->reg_pending, true);
		rc = smc_fault_rc(POST_REG, -ENOMEM, ib_post_send(qp->qp, first, NULL));
		if (rc)
			WRITE_ONCE(qp->reg_pending, false);
	}
	spin_unlock_bh(&qp->sq_lock);
	return rc;
}

/**
 * smc_wr_reg_mr() - register a memory region
 * @qp: queue pair in RTS
 * @mr: region, mapped, of the same PD, not registered
 * @access: IB_ACCESS_*
 *
 * Process context; waits for the device, at most 5 s. The caller sees to it that
 * @mr stays until return.
 *
 * Return: 0, -ENOTCONN (queue pair broken), -EIO, -ETIMEDOUT (broken now).
 */
int smc_wr_reg_mr(struct smc_qp *qp, struct ib_mr *mr, int access)
{
	int rc;

	mutex_lock(&qp->reg_mutex);
	rc = mr_post_reg(qp, mr, access);
	if (rc)
		goto out;
	/* acquire: the result is read after it */
	if (!wait_event_timeout(qp->wait, !smp_load_acquire(&qp->reg_pending), REG_TIMEOUT)) {
		rc = -ETIMEDOUT;	/* still pending: no other may be posted */
		qp_break(qp, IB_WC_RESP_TIMEOUT_ERR);
	} else if (qp->reg_status != IB_WC_SUCCESS) {
		rc = -EIO;
	}
out:
	mutex_unlock(&qp->reg_mutex);
	return rc;
}

/* ---- receiving ---- */

/**
 * smc_wr_post_recv() - post a receive
 * @recv: receive request
 *
 * Return: 0 or -errno.
 */
int smc_wr_post_recv(struct smc_wr_recv *recv)
{
	struct smc_qp *qp = recv->qp;
	struct ib_sge sge[2] = {
		{ .addr = recv->dma, .length = recv->len, .lkey = qp->pd->local_dma_lkey },
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &recv->cqe,
		.sg_list = sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(qp->dev->ibdev, recv->dma, recv->len, DMA_FROM_DEVICE);
	if (recv->spill) {
		sge[1].addr = recv->spill->dma;
		sge[1].length = recv->spill->len;
		sge[1].lkey = qp->pd->local_dma_lkey;
		wr.num_sge = 2;
		ib_dma_sync_single_for_device(qp->dev->ibdev, recv->spill->dma,
					      recv->spill->len, DMA_FROM_DEVICE);
	}
	return smc_fault_rc(POST_RECV, -ENOMEM, ib_post_recv(qp->qp, &wr, NULL));
}

/* The message in one piece. @len was checked. */
static const u8 *wr_recv_gather(const struct smc_wr_recv *recv, u32 len)
{
	struct smc_qp *qp = recv->qp;

	ib_dma_sync_single_for_cpu(qp->dev->ibdev, recv->dma, min(len, recv->len),
				   DMA_FROM_DEVICE);
	if (len <= recv->len)
		return recv->buf;
	ib_dma_sync_single_for_cpu(qp->dev->ibdev, recv->spill->dma, len - recv->len,
				   DMA_FROM_DEVICE);
	memcpy(qp->long_buf, recv->buf, recv->len);
	memcpy(qp->long_buf + recv->len, recv->spill->addr, len - recv->len);
	return qp->long_buf;
}

/* data path 7: hand the message up, then post the receive again */
static void wr_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_wr_recv *recv = container_of(wc->wr_cqe, struct smc_wr_recv, cqe);
	enum ib_wc_status status = smc_fault_rc(WC_RECV, IB_WC_LOC_PROT_ERR, wc->status);
	struct smc_qp *qp = recv->qp;
	u32 max = recv->len + (recv->spill ? recv->spill->len : 0);
	int rc = 0;

	if (status != IB_WC_SUCCESS) {
		qp_break(qp, status);
		return;
	}
	local_bh_disable();
	/* a WRITE with immediate data uses up a receive, too, whose buffer holds an old message */
	if (wc->opcode == IB_WC_RECV && wc->byte_len <= max)
		qp->events->received(qp->ctx, wr_recv_gather(recv, wc->byte_len), wc->byte_len);

	/* not after the fence: a receive behind the marker of the drain would outlive it */
	spin_lock(&qp->sq_lock);
	if (!qp->broken && !smc_fault_hit(SMC_FAULT_LOSE_RECV))
		rc = smc_wr_post_recv(recv);
	spin_unlock(&qp->sq_lock);
	local_bh_enable();
	if (rc)
		qp_break(qp, IB_WC_GENERAL_ERR);
}

/* ---- for rdma/qp.c ---- */

/**
 * smc_wr_init_qp() - who is told of what a queue pair does
 * @qp: queue pair in the making
 */
void smc_wr_init_qp(struct smc_qp *qp)
{
	INIT_WORK(&qp->kick_work, qp_upcall_work_fn);
	smc_tail_init(qp);
	qp->write_cqe.done = wr_write_done;
	qp->reg_cqe.done = mr_reg_done;
}

/**
 * smc_wr_init_slot() - and of the end of its messages
 * @slot: slot in the making
 */
void smc_wr_init_slot(struct smc_wr_slot *slot)
{
	slot->cqe.done = wr_send_done;
}

/**
 * smc_wr_init_recv() - and of messages that come
 * @recv: receive request in the making
 */
void smc_wr_init_recv(struct smc_wr_recv *recv)
{
	recv->cqe.done = wr_recv_done;
}
