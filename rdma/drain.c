// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fence and drain of a queue pair: afterwards the device touches no memory of the queue pair, and
 * every request has completed.
 *
 * A queue pair in ERR flushes what is posted. A marker at the end of each queue shows when that is
 * done. ib_drain_qp() does the same, but waits without limit, and connections wait for the drain
 * before they continue over another link. If a device does not flush in time, the queue pair is
 * destroyed: after ib_destroy_qp() the device touches no memory either.
 *
 * The drain has two halves, so that queue pairs that are lost together cost the time of one.
 * smc_qp_drain_begin() starts the flush and its time limit. smc_qp_drain() waits for the rest of
 * that time and destroys a queue pair that is not flushed. No lock is held in between: whoever
 * drains the same queue pair meanwhile joins the wait, and the first one that takes qp_mutex
 * afterwards ends the drain for all.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <smc/base/fault.h>
#include "internal.h"

#define FENCE_TIME	(10 * HZ)

static void drain_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_drain_marker *marker = container_of(wc->wr_cqe, struct smc_drain_marker, cqe);
	struct smc_qp *qp = cq->cq_context;

	/* Publishes what the completions before it have done. */
	smp_store_release(&marker->done, true);
	wake_up(&qp->wait);
	if (qp->drain_wait)
		wake_up(qp->drain_wait);
}

/**
 * smc_qp_fence_locked() - Stop posting, and move a queue pair to ERR
 * @qp: queue pair; may be destroyed, but not freed; qp_mutex held
 *
 * events->broken is not called for failures that the fence causes. Process context.
 */
void smc_qp_fence_locked(struct smc_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&qp->qp_mutex);
	spin_lock_bh(&qp->sq_lock);
	WRITE_ONCE(qp->broken, true);
	qp->broken_reported = true;
	spin_unlock_bh(&qp->sq_lock);
	/* Errors are ignored: the drain tries again. */
	if (qp->qp && !smc_fault_hit(SMC_FAULT_QP_ERR))
		ib_modify_qp(qp->qp, &attr, IB_QP_STATE);
}

static int drain_post_markers(struct smc_qp *qp)
{
	struct ib_rdma_wr send = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr recv = { };
	int rc, i;

	for (i = 0; i < ARRAY_SIZE(qp->markers); i++)
		qp->markers[i].cqe.done = drain_marker_done;
	send.wr.wr_cqe = &qp->markers[0].cqe;
	recv.wr_cqe = &qp->markers[1].cqe;
	rc = smc_fault_rc(QP_ERR_AGAIN, -EIO, ib_modify_qp(qp->qp, &attr, IB_QP_STATE));
	if (!rc)
		rc = smc_fault_rc(QP_MARK_SEND, -EIO, ib_post_send(qp->qp, &send.wr, NULL));
	if (!rc)
		rc = smc_fault_rc(QP_MARK_RECV, -EIO, ib_post_recv(qp->qp, &recv, NULL));
	return rc;
}

/**
 * smc_qp_drain_begin() - First half of the drain: fence a queue pair and let it flush
 * @qp: queue pair; may be destroyed, but not freed
 * @wait: woken when the device may have flushed; exists until smc_qp_destroy(). May be NULL;
 *	ignored if the drain has begun already
 *
 * Moves the queue pair to ERR, which rejects the peer's requests, and starts the time limit of the
 * drain. Waits for nothing but the verbs. Idempotent. Process context.
 */
void smc_qp_drain_begin(struct smc_qp *qp, wait_queue_head_t *wait)
{
	mutex_lock(&qp->qp_mutex);
	if (!qp->draining)
		smc_qp_fence_locked(qp);
	if (qp->qp && qp->receiving && !qp->draining) {
		qp->drain_wait = wait;
		qp->drain_rc = drain_post_markers(qp);
		qp->drain_deadline = jiffies + FENCE_TIME;
		WRITE_ONCE(qp->draining, true);
	}
	mutex_unlock(&qp->qp_mutex);
}

static bool drain_markers_done(const struct smc_qp *qp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(qp->markers); i++) {
		/* Pairs with drain_marker_done(). */
		if (!smp_load_acquire(&qp->markers[i].done))
			return false;
	}
	return true;
}

/**
 * smc_qp_drain_left() - Return for how long smc_qp_drain() may still wait
 * @qp: queue pair; the caller has called smc_qp_drain_begin()
 *
 * Any context.
 *
 * Return: jiffies; 0: the device has flushed or refused to, or its time is over.
 */
unsigned long smc_qp_drain_left(const struct smc_qp *qp)
{
	long left = qp->drain_deadline - jiffies;

	if (!READ_ONCE(qp->draining) || qp->drain_rc || drain_markers_done(qp))
		return 0;
	return max(left, 0L);
}

/*
 * The CQ is freed, too: its completion handlers must not run later. Messages that are still in it
 * are lost although the peer's RNIC has got an acknowledgment. If so, the failover
 * validation of the peer (RFC 7609 section 4.6.1) detects the loss.
 */
static void drain_destroy_qp(struct smc_qp *qp)
{
	ib_destroy_qp(qp->qp);
	qp->qp = NULL;
	smc_cq_free(qp);
}

/* End a drain whose wait is over. */
static int drain_end_locked(struct smc_qp *qp)
{
	const struct ib_device_ops *ops = &qp->dev->ibdev->ops;

	lockdep_assert_held(&qp->qp_mutex);
	if (!qp->drain_rc && drain_markers_done(qp))
		return 0;
	/*
	 * Drivers with drain operations can flush even if the device is out of order and refuses
	 * the markers, but they do not report whether that succeeded.
	 */
	if (qp->drain_rc && ops->drain_sq && ops->drain_rq)
		ib_drain_qp(qp->qp);
	else
		pr_warn_ratelimited("%s: queue pair %u is not flushed\n", qp->dev->ibdev->name,
				    qp->qpn);
	drain_destroy_qp(qp);
	return -ETIMEDOUT;
}

/**
 * smc_qp_drain() - Fence a queue pair and wait until all requests have completed
 * @qp: queue pair; may be destroyed, but not freed
 *
 * Begins the drain if smc_qp_drain_begin() has not, and waits for the device for up to 10 s from
 * that beginning. On return the device accesses no memory of the queue pair, done was called for
 * every slot posted, and no upcall runs or will run, but for one from the work item that
 * smc_qp_destroy() cancels. Idempotent; of callers at the same time each waits, and one of them
 * gets the error. Process context.
 *
 * Return: 0, or -ETIMEDOUT if the verbs queue pair had to be destroyed for that.
 */
int smc_qp_drain(struct smc_qp *qp)
{
	int rc = 0;

	smc_qp_drain_begin(qp, NULL);
	wait_event_timeout(qp->wait, !smc_qp_drain_left(qp), smc_qp_drain_left(qp));
	mutex_lock(&qp->qp_mutex);
	if (qp->draining)
		rc = drain_end_locked(qp);
	WRITE_ONCE(qp->draining, false);
	qp->receiving = false;
	mutex_unlock(&qp->qp_mutex);
	/* Slots that were posted unsignaled and succeeded, with no signaled one behind them. */
	smc_wr_complete(qp, NULL, IB_WC_WR_FLUSH_ERR);
	return rc;
}
