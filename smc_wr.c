// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue pair and the work requests on it.
 *
 * Sending: a slot is one SEND with the RDMA WRITEs chained before it. Requests
 * of an RC queue pair complete in posting order, so most slots are posted
 * unsignaled, and a completion retires all slots up to its own.
 *
 * Receiving: a message is 44 bytes, but a v2 LLC message may be long at any
 * time, and a receive that is too small for it kills the queue pair. So each
 * receive has a small buffer of its own and continues in one of a few spill
 * buffers. Those are shared: a long message is overwritten if SPILLS more long
 * ones arrive before it was looked at. An honest peer serialises its LLC
 * exchanges and never comes near that; a lying one garbles its own messages,
 * which are checked after they were copied out.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <rdma/ib_cache.h>
#include <smc/fault.h>
#include <smc/policy.h>
#include <smc/proto/link_pick.h>
#include <smc/stats.h>
#include <smc/wr.h>

/*
 * Where completions are handled. Everything here also works with
 * IB_POLL_WORKQUEUE: upcalls turn BHs off themselves.
 */
#define POLL_CONTEXT		IB_POLL_SOFTIRQ

#define BATCHES			4	/* a batch waits for its completion, others are filled */
#define CTL_SLOTS		4	/* the last of them is the big one */
#define SLOTS_MIN		(CTL_SLOTS + 8)
#define SLOT_WRS		(1 + SMC_WR_WRITES_MAX)
#define EXTRA_WRS		2	/* REG_MR, and the marker of the drain */
/* As long in a queue as the bytes that devices have room for inline */
#define GATHER_MAX		16

#define RECV_LEN		64
#define SPILLS			4
#define SPILL_LEN		(SMC_WR_LLC_MAX - RECV_LEN)

#define MSG_STRIDE		64	/* a message and its alignment */
#define PIECE_MSGS		64	/* messages in one piece of memory: no large pieces */

/*
 * 4.096 us << 18 for each of 6 retries is about 7.5 s. A retry count of 7 would
 * mean "for ever" to Soft-RoCE; for RNR that is wanted: it is the flow control of
 * CDC messages.
 */
#define ACK_TIMEOUT		18
#define ACK_RETRIES		6
#define RNR_RETRIES		7
#define RNR_TIMER		5

#define REG_TIMEOUT		(5 * HZ)

/* bits of smc_qp.kick */
#define KICK_BROKEN		0
#define KICK_SLOTS		1

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

/* ---- failure ---- */

/* No lock held. Only the first call tells, and none after a local fence. */
static void break_qp(struct smc_qp *qp, enum ib_wc_status status)
{
	bool first;

	spin_lock_bh(&qp->sq_lock);
	first = !qp->told;
	qp->broken = true;
	qp->told = true;
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
static void kick_work_fn(struct work_struct *work)
{
	struct smc_qp *qp = container_of(work, struct smc_qp, kick_work);

	if (test_and_clear_bit(KICK_BROKEN, &qp->kick))
		break_qp(qp, IB_WC_FATAL_ERR);
	if (test_and_clear_bit(KICK_SLOTS, &qp->kick)) {
		local_bh_disable();
		qp->events->slots_free(qp->ctx);
		local_bh_enable();
	}
}

/* Any context; @qp is not destroyed yet, which cancels the work. */
static void kick(struct smc_qp *qp, int what)
{
	set_bit(what, &qp->kick);
	schedule_work(&qp->kick_work);
}

/* Some drivers call this in hard interrupt. */
static void qp_event(struct ib_event *event, void *ctx)
{
	struct smc_qp *qp = ctx;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		kick(qp, KICK_BROKEN);
		break;
	default:
		break;
	}
}

/* ---- sending ---- */

/* sq_lock held */
static void slot_to_free(struct smc_wr_slot *slot)
{
	struct smc_qp *qp = slot->qp;

	lockdep_assert_held(&qp->sq_lock);
	if (slot->big)
		list_add_tail(&slot->entry, &qp->free_ctl);
	else
		list_add(&slot->entry, slot->ctl ? &qp->free_ctl : &qp->free);
}

/*
 * Retires the posted slots up to and with @last, or all (@last NULL). On an error
 * the unsignaled ones before it have most likely succeeded, but nobody said so:
 * they get the error too, and their owner must treat them as unknown.
 */
static void retire(struct smc_qp *qp, struct smc_wr_slot *last, enum ib_wc_status status)
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
	spin_unlock(&qp->sq_lock);

	list_for_each_entry(slot, &retired, entry)
		if (slot->done)
			slot->done(slot, status);

	spin_lock(&qp->sq_lock);
	list_for_each_entry_safe(slot, next, &retired, entry)
		slot_to_free(slot);
	starved = qp->starved && !qp->broken;
	qp->starved = false;
	spin_unlock(&qp->sq_lock);
	if (starved)
		qp->events->slots_free(qp->ctx);
	local_bh_enable();
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_wr_slot *slot = container_of(wc->wr_cqe, struct smc_wr_slot, cqe);
	enum ib_wc_status status = smc_fault_rc(WC_SEND, IB_WC_RETRY_EXC_ERR, wc->status);

	smc_stats_inc(slot->qp->net, SMC_STAT_WR_DONE);
	if (status != IB_WC_SUCCESS)
		break_qp(slot->qp, status);
	retire(slot->qp, slot, status);
}

/* WRITEs are never signaled: this is always a failure. Their slot's SEND is flushed. */
static void write_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_qp *qp = container_of(wc->wr_cqe, struct smc_qp, write_cqe);

	if (wc->status != IB_WC_SUCCESS)
		break_qp(qp, wc->status);
}

static struct smc_wr_slot *take_slot(struct smc_wr_slot *slot)
{
	list_del_init(&slot->entry);
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
			take_slot(slot);
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
		take_slot(slot);
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
	slot_to_free(slot);
	if (qp->starved && !qp->broken) {
		qp->starved = false;
		kick(qp, KICK_SLOTS);
	}
	spin_unlock_bh(&qp->sq_lock);
}

/*
 * A slot is signaled now and then even if nobody cares about it, else the slots
 * would never come back. The last free one always is: who is refused after it was
 * taken will be told.
 */
static bool must_signal(const struct smc_qp *qp, const struct smc_wr_slot *slot)
{
	return slot->ctl || qp->unsignaled + 1 >= qp->nslots / 4 || list_empty(&qp->free);
}

static void fill_write(struct smc_qp *qp, const struct smc_wr_write *write,
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

static void fill_send(struct smc_wr_slot *slot, u32 len, struct ib_send_wr *wr,
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
	struct ib_sge sge[SLOT_WRS];
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
	fill_send(slot, len, &send_wr, &sge[nwrites]);
	first = &send_wr;
	for (i = nwrites - 1; i >= 0; i--) {
		fill_write(qp, &writes[i], &write_wr[i], &sge[i]);
		write_wr[i].wr.next = first;
		first = &write_wr[i].wr;
	}
	signal = signal || must_signal(qp, slot);
	if (signal)
		send_wr.send_flags |= IB_SEND_SIGNALED;
	/* before it can be completed; nobody asks for the others' */
	started = signal ? ktime_get_ns() : 0;
	rc = smc_fault_rc(POST_SEND, -ENOMEM, ib_post_send(qp->qp, first, NULL));
	if (rc) {
		/* part of it may be under way: nothing may follow */
		qp->broken = true;
		kick(qp, KICK_BROKEN);
		/* ... and the device may read what the WRITEs are of, until it is fenced */
		if (!nwrites)
			goto out;
		signal = false;
		started = 0;
		rc = 0;
	}
	smc_stats_inc(qp->net, SMC_STAT_WR_POSTS);
	qp->unsignaled = signal ? 0 : qp->unsignaled + 1;
	slot->posted = true;
	slot->signaled = signal;
	slot->since = jiffies;
	slot->started = started;
	for (i = 0, slot->bytes = 0; i < nwrites; i++)
		slot->bytes += writes[i].len;
	qp->bytes += slot->bytes;
	list_add_tail(&slot->entry, &qp->posted);
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

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	enum ib_wc_status status = smc_fault_rc(WC_REG, IB_WC_MW_BIND_ERR, wc->status);
	struct smc_qp *qp = container_of(wc->wr_cqe, struct smc_qp, reg_cqe);

	if (smc_fault_hit(SMC_FAULT_LOSE_REG))
		return;
	qp->reg_status = status;
	smp_store_release(&qp->reg_pending, false);	/* the result is valid */
	wake_up(&qp->wait);
	if (status != IB_WC_SUCCESS)
		break_qp(qp, status);
}

static int post_reg(struct smc_qp *qp, struct ib_mr *mr, int access)
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
	int rc = -ENOTCONN;

	spin_lock_bh(&qp->sq_lock);
	if (!qp->broken) {
		WRITE_ONCE(qp->reg_pending, true);
		rc = smc_fault_rc(POST_REG, -ENOMEM, ib_post_send(qp->qp, &wr.wr, NULL));
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
	rc = post_reg(qp, mr, access);
	if (rc)
		goto out;
	/* acquire: the result is read after it */
	if (!wait_event_timeout(qp->wait, !smp_load_acquire(&qp->reg_pending), REG_TIMEOUT)) {
		rc = -ETIMEDOUT;	/* still pending: no other may be posted */
		break_qp(qp, IB_WC_RESP_TIMEOUT_ERR);
	} else if (qp->reg_status != IB_WC_SUCCESS) {
		rc = -EIO;
	}
out:
	mutex_unlock(&qp->reg_mutex);
	return rc;
}

/* ---- receiving ---- */

static int post_recv(struct smc_wr_recv *recv)
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
static const u8 *gather(const struct smc_wr_recv *recv, u32 len)
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
static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_wr_recv *recv = container_of(wc->wr_cqe, struct smc_wr_recv, cqe);
	enum ib_wc_status status = smc_fault_rc(WC_RECV, IB_WC_LOC_PROT_ERR, wc->status);
	struct smc_qp *qp = recv->qp;
	u32 max = recv->len + (recv->spill ? recv->spill->len : 0);
	int rc = 0;

	if (status != IB_WC_SUCCESS) {
		break_qp(qp, status);
		return;
	}
	local_bh_disable();
	/* a WRITE with immediate data uses up a receive, too, whose buffer holds an old message */
	if (wc->opcode == IB_WC_RECV && wc->byte_len <= max)
		qp->events->received(qp->ctx, gather(recv, wc->byte_len), wc->byte_len);

	/* not after the fence: a receive behind the marker of the drain would outlive it */
	spin_lock(&qp->sq_lock);
	if (!qp->broken && !smc_fault_hit(SMC_FAULT_LOSE_RECV))
		rc = post_recv(recv);
	spin_unlock(&qp->sq_lock);
	local_bh_enable();
	if (rc)
		break_qp(qp, IB_WC_GENERAL_ERR);
}

/* ---- creation ---- */

/* Memory that smc_wr_qp_destroy() unmaps and smc_wr_qp_free() frees. */
static struct smc_wr_mem *get_mem(struct smc_qp *qp, u32 len, enum dma_data_direction dir)
{
	struct smc_wr_mem *mem = &qp->mem[qp->nmem];

	mem->addr = smc_fault_null(MEM, kzalloc(len, GFP_KERNEL));
	if (!mem->addr)
		return NULL;
	mem->len = len;
	mem->dir = dir;
	qp->nmem++;
	if (smc_fault_hit(SMC_FAULT_MEM_MAP))
		return NULL;
	mem->dma = ib_dma_map_single(qp->dev->ibdev, mem->addr, len, dir);
	mem->mapped = !ib_dma_mapping_error(qp->dev->ibdev, mem->dma);
	return mem->mapped ? mem : NULL;
}

static int create_slots(struct smc_qp *qp)
{
	struct smc_wr_mem *big, *small = NULL;
	struct smc_wr_slot *slot;
	u32 i;

	qp->slots = smc_fault_null(QP_SLOTS,
				   kvcalloc(qp->nslots, sizeof(*qp->slots), GFP_KERNEL));
	big = get_mem(qp, SMC_WR_LLC_MAX, DMA_TO_DEVICE);
	if (!qp->slots || !big)
		return -ENOMEM;
	for (i = 0; i < qp->nslots; i++) {
		if (!(i % PIECE_MSGS))
			small = get_mem(qp, PIECE_MSGS * MSG_STRIDE, DMA_TO_DEVICE);
		if (!small)
			return -ENOMEM;
		slot = &qp->slots[i];
		slot->qp = qp;
		slot->cqe.done = send_done;
		slot->big = i == qp->nslots - 1;
		slot->ctl = i >= qp->nslots - CTL_SLOTS;
		slot->buf = slot->big ? big->addr : small->addr + i % PIECE_MSGS * MSG_STRIDE;
		slot->dma = slot->big ? big->dma : small->dma + i % PIECE_MSGS * MSG_STRIDE;
		list_add_tail(&slot->entry, slot->ctl ? &qp->free_ctl : &qp->free);
	}
	return 0;
}

static int create_recvs(struct smc_qp *qp)
{
	bool two = qp->dev->max_recv_sge >= 2;
	struct smc_wr_mem *spill[SPILLS] = { NULL };
	struct smc_wr_mem *mem = NULL;
	struct smc_wr_recv *recv;
	u32 i;

	qp->recvs = smc_fault_null(QP_RECVS,
				   kvcalloc(qp->nrecvs, sizeof(*qp->recvs), GFP_KERNEL));
	qp->long_buf = smc_fault_null(QP_LONG_BUF, kmalloc(SMC_WR_LLC_MAX, GFP_KERNEL));
	if (!qp->recvs || !qp->long_buf)
		return -ENOMEM;
	for (i = 0; two && i < SPILLS; i++) {
		spill[i] = get_mem(qp, SPILL_LEN, DMA_FROM_DEVICE);
		if (!spill[i])
			return -ENOMEM;
	}
	for (i = 0; i < qp->nrecvs; i++) {
		recv = &qp->recvs[i];
		recv->cqe.done = recv_done;
		recv->qp = qp;
		recv->len = two ? RECV_LEN : SMC_WR_LLC_MAX;
		if (!two || !(i % PIECE_MSGS))
			mem = get_mem(qp, two ? PIECE_MSGS * RECV_LEN : SMC_WR_LLC_MAX,
				      DMA_FROM_DEVICE);
		if (!mem)
			return -ENOMEM;
		recv->buf = two ? mem->addr + i % PIECE_MSGS * RECV_LEN : mem->addr;
		recv->dma = two ? mem->dma + i % PIECE_MSGS * RECV_LEN : mem->dma;
		/* consecutive receives spill into different buffers */
		recv->spill = spill[i % SPILLS];
	}
	return 0;
}

/* One gather element first, then less inline data, then fewer slots, until the device accepts. */
static int create_verbs_qp(struct smc_qp *qp)
{
	u32 sges = clamp_t(int, qp->dev->ibdev->attrs.max_send_sge, 1, GATHER_MAX);
	u32 wanted = qp->nslots;
	u32 max_inline = READ_ONCE(qp->dev->max_inline);
	struct ib_qp_init_attr init;

	for (;;) {
		memset(&init, 0, sizeof(init));
		init.event_handler = qp_event;
		init.qp_context = qp;
		init.send_cq = qp->cq;
		init.recv_cq = qp->cq;
		init.cap.max_send_wr = qp->nslots * SLOT_WRS + EXTRA_WRS;
		init.cap.max_recv_wr = qp->nrecvs + 1;	/* the marker of the drain */
		init.cap.max_send_sge = sges;
		init.cap.max_recv_sge = min_t(u32, qp->dev->max_recv_sge, 2);
		init.cap.max_inline_data = max_inline;
		init.sq_sig_type = IB_SIGNAL_REQ_WR;
		init.qp_type = IB_QPT_RC;
		qp->qp = smc_fault_ptr(QP_CREATE, -ENOMEM, ib_create_qp(qp->pd, &init));
		if (!IS_ERR(qp->qp))
			break;
		if (sges > 1) {
			sges = 1;
		} else if (max_inline) {
			max_inline = max_inline > MSG_STRIDE ? max_inline / 2 : 0;
		} else if (qp->nslots / 2 >= SLOTS_MIN) {
			qp->nslots /= 2;
			max_inline = READ_ONCE(qp->dev->max_inline);
		} else {
			int rc = PTR_ERR(qp->qp);

			qp->qp = NULL;
			return rc;
		}
	}
	if (qp->nslots == wanted)
		WRITE_ONCE(qp->dev->max_inline, max_inline);	/* tried once per device */
	qp->max_inline = min(max_inline, init.cap.max_inline_data);
	qp->max_sge = clamp_t(u32, init.cap.max_send_sge, 1, sges);
	qp->qpn = qp->qp->qp_num;
	return 0;
}

/*
 * The depth of the queues: what the namespace wants, as far as the device goes. Requests are
 * told of in batches, so there is room for several of them; and likewise for what the peer
 * sends meanwhile, where that is cheap.
 */
static int set_depth(struct smc_qp *qp, const struct smc_net *sn)
{
	const struct ib_device_attr *attrs = &qp->dev->ibdev->attrs;
	u32 max_wr = max_t(int, attrs->max_qp_wr, EXTRA_WRS);
	u32 max_cqe = max_t(int, attrs->max_cqe, 2 * EXTRA_WRS);
	u32 recvs = READ_ONCE(sn->max_recv_wr);

	if (qp->dev->max_recv_sge >= 2)
		recvs *= BATCHES;
	/* every request fits in the completion queue: a flush completes unsignaled ones too */
	qp->nrecvs = min3(recvs, max_wr - 1, max_cqe / 4);
	qp->nslots = min3(READ_ONCE(sn->max_send_wr) * BATCHES + CTL_SLOTS,
			  (max_wr - EXTRA_WRS) / SLOT_WRS,
			  (max_cqe - EXTRA_WRS - qp->nrecvs - 1) / SLOT_WRS);
	return qp->nslots < SLOTS_MIN ? -EOPNOTSUPP : 0;
}

static int create_verbs(struct smc_qp *qp, u8 port)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = 0,
		.port_num = port,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	struct ib_pd *pd;
	struct ib_cq *cq;
	int rc;

	pd = smc_fault_ptr(QP_PD, -ENOMEM, ib_alloc_pd(qp->dev->ibdev, 0));
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	qp->pd = pd;
	cq = smc_fault_ptr(QP_CQ, -ENOMEM,
			   ib_alloc_cq_any(qp->dev->ibdev, qp, qp->nslots * SLOT_WRS + EXTRA_WRS +
					   qp->nrecvs + 1, POLL_CONTEXT));
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->cq = cq;
	rc = create_verbs_qp(qp);
	if (rc)
		return rc;
	return smc_fault_rc(QP_INIT, -EINVAL,
			    ib_modify_qp(qp->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
					 IB_QP_PORT | IB_QP_ACCESS_FLAGS));
}

/**
 * smc_wr_qp_create() - make a queue pair
 * @dev: device; the caller keeps a reference until smc_wr_qp_destroy()
 * @port: port number
 * @net: namespace whose settings say how long its queues are
 * @events: upward table; not called before smc_wr_qp_connect()
 * @ctx: for @events
 *
 * Process context.
 *
 * Return: the queue pair, in INIT, or ERR_PTR.
 */
struct smc_qp *smc_wr_qp_create(struct smc_ib_device *dev, u8 port, struct net *net,
				const struct smc_wr_events *events, void *ctx)
{
	struct smc_qp *qp;
	int rc;
	u32 n;

	qp = smc_fault_null(QP, kzalloc(sizeof(*qp), GFP_KERNEL));
	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->dev = dev;
	qp->events = events;
	qp->ctx = ctx;
	mutex_init(&qp->qp_mutex);
	qp->net = net;
	spin_lock_init(&qp->sq_lock);
	INIT_LIST_HEAD(&qp->free);
	INIT_LIST_HEAD(&qp->free_ctl);
	INIT_LIST_HEAD(&qp->posted);
	mutex_init(&qp->reg_mutex);
	init_waitqueue_head(&qp->wait);
	INIT_WORK(&qp->kick_work, kick_work_fn);
	qp->progress = jiffies;
	qp->write_cqe.done = write_done;
	qp->reg_cqe.done = reg_done;

	rc = set_depth(qp, smc_policy_net(net));
	if (!rc)
		rc = create_verbs(qp, port);
	if (rc)
		goto fail;
	/* for the slots and the big one; then spills and the receives, or one per receive */
	n = DIV_ROUND_UP(qp->nslots, PIECE_MSGS) + 1;
	n += dev->max_recv_sge >= 2 ? SPILLS + DIV_ROUND_UP(qp->nrecvs, PIECE_MSGS) : qp->nrecvs;
	qp->mem = smc_fault_null(QP_MEM, kvcalloc(n, sizeof(*qp->mem), GFP_KERNEL));
	rc = qp->mem ? create_slots(qp) : -ENOMEM;
	if (!rc)
		rc = create_recvs(qp);
	if (rc)
		goto fail;
	return qp;
fail:
	smc_wr_qp_destroy(qp);
	smc_wr_qp_free(qp);
	return ERR_PTR(rc);
}

/* ---- states ---- */

static int modify_to_rtr(struct smc_qp *qp, const struct smc_wr_attr *attr)
{
	struct ib_qp_attr qpa = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = attr->mtu,
		.dest_qp_num = attr->peer_qpn,
		.rq_psn = attr->peer_psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = RNR_TIMER,
	};
	const struct ib_gid_attr *sgid_attr;
	union ib_gid dgid = attr->dgid;
	int rc = -EADDRNOTAVAIL;

	sgid_attr = smc_fault_ptr(QP_GID, -ENODATA,
				  rdma_get_gid_attr(qp->dev->ibdev, attr->port, attr->sgid_index));
	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	qpa.ah_attr.type = rdma_ah_find_type(qp->dev->ibdev, attr->port);
	rdma_ah_set_port_num(&qpa.ah_attr, attr->port);
	rdma_ah_set_sl(&qpa.ah_attr, 0);
	memcpy(qpa.ah_attr.roce.dmac, attr->dmac, sizeof(attr->dmac));
	/* from here on the address handle owns sgid_attr */
	rdma_move_grh_sgid_attr(&qpa.ah_attr, &dgid, 0, attr->hop_limit, 0, sgid_attr);
	if (!memcmp(sgid_attr->gid.raw, attr->sgid.raw, sizeof(attr->sgid.raw)))
		rc = smc_fault_rc(QP_RTR, -EINVAL,
				  ib_modify_qp(qp->qp, &qpa, IB_QP_STATE | IB_QP_AV |
					       IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
					       IB_QP_MAX_DEST_RD_ATOMIC |
					       IB_QP_MIN_RNR_TIMER));
	rdma_destroy_ah_attr(&qpa.ah_attr);
	return rc;
}

static int modify_to_rts(struct smc_qp *qp, const struct smc_wr_attr *attr)
{
	struct ib_qp_attr qpa = {
		.qp_state = IB_QPS_RTS,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = ACK_RETRIES,
		.rnr_retry = RNR_RETRIES,
		.sq_psn = attr->psn,
		.max_rd_atomic = 1,
	};

	return smc_fault_rc(QP_RTS, -EINVAL,
			    ib_modify_qp(qp->qp, &qpa, IB_QP_STATE | IB_QP_TIMEOUT |
					 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
					 IB_QP_MAX_QP_RD_ATOMIC));
}

/**
 * smc_wr_qp_connect() - INIT -> RTR -> RTS
 * @qp: queue pair in INIT
 * @attr: both ends; what the peer told is checked here as far as verbs need it
 *
 * Receives are posted before RTR, so the first message of the peer finds one. Both
 * ends go on to RTS at once: that only enables sending. Process context.
 *
 * Return: 0 or -errno; after an error the queue pair is only good for the end.
 */
int smc_wr_qp_connect(struct smc_qp *qp, const struct smc_wr_attr *attr)
{
	int rc = 0;
	u32 i;

	if (attr->mtu < IB_MTU_256 || attr->mtu > IB_MTU_4096 || attr->peer_qpn > 0xffffff ||
	    attr->peer_psn > 0xffffff)
		return -EINVAL;
	mutex_lock(&qp->qp_mutex);
	if (!qp->qp || qp->receiving || READ_ONCE(qp->broken)) {
		mutex_unlock(&qp->qp_mutex);
		return -ENOTCONN;
	}
	qp->receiving = true;
	for (i = 0; i < qp->nrecvs && !rc; i++)
		rc = post_recv(&qp->recvs[i]);
	if (!rc)
		rc = modify_to_rtr(qp, attr);
	if (!rc)
		rc = modify_to_rts(qp, attr);
	mutex_unlock(&qp->qp_mutex);
	return rc;
}

/**
 * smc_wr_qp_drain() - fence, and wait for the last completion
 * @qp: queue pair
 *
 * On return the device is silent, no upcall runs or will run but that of a work
 * which smc_wr_qp_destroy() cancels, and done was called for every slot posted.
 * Process context. Waits for the device, which flushes a queue pair in ERR, at most 10 s.
 *
 * Return: 0, or -ETIMEDOUT: it did not, and the queue pair is destroyed.
 */
int smc_wr_qp_drain(struct smc_qp *qp)
{
	int rc = 0;

	mutex_lock(&qp->qp_mutex);
	smc_wr_fence_begin(qp);
	if (qp->qp && qp->receiving)
		rc = smc_wr_fence_flush(qp);
	qp->receiving = false;
	mutex_unlock(&qp->qp_mutex);
	/* what succeeded unsignaled and was not followed by a signaled one */
	retire(qp, NULL, IB_WC_WR_FLUSH_ERR);
	return rc;
}

/**
 * smc_wr_qp_destroy() - end the verbs objects
 * @qp: drained queue pair, no MR of its PD is left
 *
 * Slots may still be taken (none is given), held, posted (refused) and put.
 * Process context.
 */
void smc_wr_qp_destroy(struct smc_qp *qp)
{
	struct smc_wr_mem *mem;
	u32 i;

	mutex_lock(&qp->qp_mutex);
	smc_wr_fence_begin(qp);
	if (qp->qp)
		ib_destroy_qp(qp->qp);
	qp->qp = NULL;
	mutex_unlock(&qp->qp_mutex);
	if (qp->cq)
		ib_free_cq(qp->cq);
	qp->cq = NULL;
	cancel_work_sync(&qp->kick_work);
	for (i = 0; i < qp->nmem; i++) {
		mem = &qp->mem[i];
		if (mem->mapped)
			ib_dma_unmap_single(qp->dev->ibdev, mem->dma, mem->len, mem->dir);
		mem->mapped = false;
	}
	if (qp->pd)
		ib_dealloc_pd(qp->pd);
	qp->pd = NULL;
}

/**
 * smc_wr_qp_free() - free the memory of a destroyed queue pair
 * @qp: queue pair; nobody can find it or holds a slot any more
 *
 * Any context.
 */
void smc_wr_qp_free(struct smc_qp *qp)
{
	u32 i;

	for (i = 0; i < qp->nmem; i++)
		kfree(qp->mem[i].addr);
	kvfree(qp->mem);
	kfree(qp->long_buf);
	kvfree(qp->recvs);
	kvfree(qp->slots);
	kfree(qp);
}
