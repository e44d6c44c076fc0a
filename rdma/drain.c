// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fence and drain of a queue pair: afterwards the device touches no memory of the queue pair, and
 * every request has completed.
 *
 * A queue pair in ERR flushes what is posted. A marker at the end of each queue shows when that is
 * done. ib_drain_qp() does the same, but waits without limit, and connections wait for the drain
 * before they continue over another link. If a device does not flush in time, the queue pair is
 * destroyed: after ib_destroy_qp() the device touches no memory either.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <smc/base/fault.h>
#include "internal.h"

#define FENCE_TIME	(10 * HZ)

static void drain_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_drain_marker *marker = container_of(wc->wr_cqe, struct smc_drain_marker, cqe);

	complete(&marker->done);
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
	qp->broken = true;
	qp->broken_reported = true;
	spin_unlock_bh(&qp->sq_lock);
	/* Errors are ignored: the drain tries again. */
	if (qp->qp && !smc_fault_hit(SMC_FAULT_QP_ERR))
		ib_modify_qp(qp->qp, &attr, IB_QP_STATE);
}

/**
 * smc_qp_fence() - Stop the peer's WRITEs
 * @qp: queue pair; may be destroyed, but not freed
 *
 * Moves the queue pair to ERR, which rejects the peer's requests. Idempotent. Process context.
 */
void smc_qp_fence(struct smc_qp *qp)
{
	mutex_lock(&qp->qp_mutex);
	smc_qp_fence_locked(qp);
	mutex_unlock(&qp->qp_mutex);
}

static int drain_post_markers(struct smc_qp *qp)
{
	struct ib_rdma_wr send = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr recv = { };
	int rc, i;

	for (i = 0; i < ARRAY_SIZE(qp->markers); i++) {
		qp->markers[i].cqe.done = drain_marker_done;
		init_completion(&qp->markers[i].done);
	}
	send.wr.wr_cqe = &qp->markers[0].cqe;
	recv.wr_cqe = &qp->markers[1].cqe;
	rc = smc_fault_rc(QP_ERR_AGAIN, -EIO, ib_modify_qp(qp->qp, &attr, IB_QP_STATE));
	if (!rc)
		rc = smc_fault_rc(QP_MARK_SEND, -EIO, ib_post_send(qp->qp, &send.wr, NULL));
	if (!rc)
		rc = smc_fault_rc(QP_MARK_RECV, -EIO, ib_post_recv(qp->qp, &recv, NULL));
	return rc;
}

static bool drain_wait_markers(struct smc_qp *qp)
{
	long left = FENCE_TIME;
	int i;

	for (i = 0; i < ARRAY_SIZE(qp->markers) && left; i++)
		left = wait_for_completion_timeout(&qp->markers[i].done, left);
	return left;
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
	ib_free_cq(qp->cq);
	qp->cq = NULL;
}

/**
 * smc_qp_flush_locked() - Wait until the device has completed everything
 * @qp: fenced queue pair with receives posted; qp_mutex held
 *
 * Process context; waits for the device for up to 10 s.
 *
 * Return: 0, or -ETIMEDOUT if the queue pair and its CQ had to be destroyed instead.
 */
int smc_qp_flush_locked(struct smc_qp *qp)
{
	const struct ib_device_ops *ops = &qp->dev->ibdev->ops;
	int rc;

	lockdep_assert_held(&qp->qp_mutex);
	rc = drain_post_markers(qp);
	if (!rc && drain_wait_markers(qp))
		return 0;
	/*
	 * Drivers with drain operations can flush even if the device is out of order and refuses
	 * the markers, but they do not report whether that succeeded.
	 */
	if (rc && ops->drain_sq && ops->drain_rq)
		ib_drain_qp(qp->qp);
	else
		pr_warn_ratelimited("%s: queue pair %u is not flushed\n", qp->dev->ibdev->name,
				    qp->qpn);
	drain_destroy_qp(qp);
	return -ETIMEDOUT;
}
