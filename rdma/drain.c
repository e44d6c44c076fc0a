// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fence of a queue pair: nothing goes over it any more, and all that went has been told.
 *
 * A queue pair in ERR flushes what is posted. A marker behind it in each queue says when that
 * is over; ib_drain_qp() does the same, but waits without limit, and connections wait with it
 * before they go on over another link. A device that does not flush in time loses the queue
 * pair: behind ib_destroy_qp() it touches no memory either.
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
 * smc_wr_fence_begin() - nobody posts any more, and flushed requests tell no one
 * @qp: queue pair, qp_mutex held
 */
void smc_wr_fence_begin(struct smc_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&qp->qp_mutex);
	spin_lock_bh(&qp->sq_lock);
	qp->broken = true;
	qp->broken_reported = true;
	spin_unlock_bh(&qp->sq_lock);
	/* who refuses is asked again: by the drain */
	if (qp->qp && !smc_fault_hit(SMC_FAULT_QP_ERR))
		ib_modify_qp(qp->qp, &attr, IB_QP_STATE);
}

/**
 * smc_wr_qp_fence() - stop the peer's WRITEs
 * @qp: queue pair
 *
 * Moves it to ERR. Process context; may be repeated, also during and after the end.
 */
void smc_wr_qp_fence(struct smc_qp *qp)
{
	mutex_lock(&qp->qp_mutex);
	smc_wr_fence_begin(qp);
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
 * The completion queue goes as well: handlers of what it still holds must not run later. A
 * message among that is lost, as if the peer's RNIC had never been told of it; if the peer
 * was, its validation finds out.
 */
static void drain_destroy_qp(struct smc_qp *qp)
{
	ib_destroy_qp(qp->qp);
	qp->qp = NULL;
	ib_free_cq(qp->cq);
	qp->cq = NULL;
}

/**
 * smc_wr_fence_flush() - wait until the device is silent
 * @qp: fenced queue pair, qp_mutex held, with receives posted
 *
 * Process context. Waits for the device, at most 10 s.
 *
 * Return: 0, or -ETIMEDOUT if the device had to be silenced by the end of the queue pair.
 */
int smc_wr_fence_flush(struct smc_qp *qp)
{
	const struct ib_device_ops *ops = &qp->dev->ibdev->ops;
	int rc;

	lockdep_assert_held(&qp->qp_mutex);
	rc = drain_post_markers(qp);
	if (!rc && drain_wait_markers(qp))
		return 0;
	/* a driver may know how to flush for a device that is out of order, not say if it did */
	if (rc && ops->drain_sq && ops->drain_rq)
		ib_drain_qp(qp->qp);
	else
		pr_warn_ratelimited("%s: queue pair %u is not flushed\n", qp->dev->ibdev->name,
				    qp->qpn);
	drain_destroy_qp(qp);
	return -ETIMEDOUT;
}
