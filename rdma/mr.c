// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registration of memory regions (REG_MR). Each is waited for, under locks of the link group.
 *
 * So it must never wait for the peer, as it would on the queue pair of the link: behind requests
 * that the peer does not acknowledge. A link that is in use has a second queue pair in the same
 * protection domain, and nothing but REG_MRs is posted there. Only a queue pair in RTS executes
 * requests: therefore it is connected with the attributes of the first one, although no packet is
 * sent over it. The peer gets no rights there, and nothing to receive its messages is posted.
 *
 * Soft-RoCE needs this for another reason: when it retransmits, it executes again the local
 * requests behind the oldest one that is not acknowledged. A repeated REG_MR fails, since its
 * region is valid by then, and breaks the queue pair. Here nothing is retransmitted.
 *
 * Before the first message of a link none of this applies to its own queue pair: nothing is in
 * front of a REG_MR there. So the regions of a new link are registered there, and the second queue
 * pair is created for the first region that comes later: a first contact does not wait for that.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <smc/base/fault.h>
#include "internal.h"

/* The device only has to execute one local request. */
#define REG_TIMEOUT	(5 * HZ)

static void mr_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_mr_queue *q = container_of(wc->wr_cqe, struct smc_mr_queue, cqe);

	if (smc_fault_hit(SMC_FAULT_LOSE_REG))
		return;
	q->status = smc_fault_rc(WC_REG, IB_WC_MW_BIND_ERR, wc->status);
	complete(&q->done);
}

static void mr_destroy_queue(struct smc_mr_queue *q)
{
	lockdep_assert_held(&q->mutex);
	if (q->qp)
		ib_destroy_qp(q->qp);
	q->qp = NULL;
	if (q->cq)
		ib_free_cq(q->cq);
	q->cq = NULL;
}

static int mr_create_queue(struct smc_qp *qp)
{
	struct ib_qp_init_attr init = {
		.event_handler = smc_qp_event,
		.qp_context = qp,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct smc_mr_queue *q = &qp->mr_queue;
	struct ib_cq *cq;
	struct ib_qp *ibqp;

	cq = smc_fault_ptr(MR_CQ, -ENOMEM,
			   ib_alloc_cq_any(qp->dev->ibdev, qp, 2, SMC_QP_POLL_CONTEXT));
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	q->cq = cq;
	init.send_cq = cq;
	init.recv_cq = cq;
	ibqp = smc_fault_ptr(MR_QP, -ENOMEM, ib_create_qp(qp->pd, &init));
	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	q->qp = ibqp;
	return 0;
}

/**
 * smc_mr_init_queue() - Initialise the registration queue of a queue pair
 * @qp: queue pair that is being created
 */
void smc_mr_init_queue(struct smc_qp *qp)
{
	mutex_init(&qp->mr_queue.mutex);
	qp->mr_queue.cqe.done = mr_reg_done;
}

/**
 * smc_mr_open_queue() - Make registrations possible
 * @qp: queue pair in RTS
 * @attr: the attributes with which it was connected
 *
 * Any context that may sleep.
 */
void smc_mr_open_queue(struct smc_qp *qp, const struct smc_qp_attr *attr)
{
	struct smc_mr_queue *q = &qp->mr_queue;

	mutex_lock(&q->mutex);
	q->attr = *attr;
	q->open = true;
	mutex_unlock(&q->mutex);
}

/*
 * Create the queue pair for REG_MRs and connect it. Return 0, -ENOMEM, or the error of the device.
 */
static int mr_connect_queue(struct smc_qp *qp)
{
	struct smc_mr_queue *q = &qp->mr_queue;
	int rc;

	lockdep_assert_held(&q->mutex);
	rc = mr_create_queue(qp);
	if (!rc)
		rc = smc_qp_modify_to_init(q->qp, q->attr.port, 0);
	if (!rc)
		rc = smc_qp_modify_to_rtr(qp->dev->ibdev, q->qp, &q->attr);
	if (!rc)
		rc = smc_qp_modify_to_rts(q->qp, &q->attr);
	if (rc)
		mr_destroy_queue(q);
	return rc;
}

/**
 * smc_mr_close_queue() - End registrations
 * @qp: queue pair; registrations may never have been possible
 *
 * Later registrations are refused. Idempotent. Process context.
 */
void smc_mr_close_queue(struct smc_qp *qp)
{
	mutex_lock(&qp->mr_queue.mutex);
	qp->mr_queue.open = false;
	mr_destroy_queue(&qp->mr_queue);
	mutex_unlock(&qp->mr_queue.mutex);
}

/*
 * Post a REG_MR to the queue pair of the link, if nothing was sent over it. Return 0, -EAGAIN if
 * something was, -ENOTCONN, or the error of the post.
 */
static int mr_post_first(struct smc_qp *qp, const struct ib_send_wr *wr)
{
	int rc = -ENOTCONN;

	spin_lock_bh(&qp->sq_lock);
	if (!qp->broken)
		rc = qp->sent ? -EAGAIN :
		     smc_fault_rc(POST_REG_FIRST, -ENOMEM, ib_post_send(qp->qp, wr, NULL));
	spin_unlock_bh(&qp->sq_lock);
	return rc;
}

/* Return 0, -ENOTCONN, or the error of the post or of the creation of the second queue pair. */
static int mr_post_reg(struct smc_qp *qp, struct ib_mr *mr, int access)
{
	struct smc_mr_queue *q = &qp->mr_queue;
	struct ib_reg_wr wr = {
		.wr = {
			.wr_cqe = &q->cqe,
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = mr,
		.key = access & IB_ACCESS_REMOTE_WRITE ? mr->rkey : mr->lkey,
		.access = access,
	};
	int rc = q->qp ? -EAGAIN : mr_post_first(qp, &wr.wr);

	lockdep_assert_held(&q->mutex);
	if (rc != -EAGAIN)
		return rc;
	rc = q->qp ? 0 : mr_connect_queue(qp);
	return rc ?: smc_fault_rc(POST_REG, -ENOMEM, ib_post_send(q->qp, &wr.wr, NULL));
}

/**
 * smc_mr_register() - Register a memory region and wait for the result
 * @qp: queue pair in RTS
 * @mr: region of the same PD, mapped and not registered
 * @access: IB_ACCESS_*
 *
 * Creates the queue pair for registrations if something was sent over @qp and there is none yet.
 * Process context; waits for the device, never for the peer, for up to 5 s, and 10 s more to drain
 * @qp if the device did not execute a REG_MR there. On return the device does not use @mr for the
 * registration any more. Takes qp->mr_queue.mutex, and after it qp->qp_mutex to drain.
 *
 * Return: 0, -ENOTCONN (queue pair broken), -EIO (failed: broken now), -ETIMEDOUT (broken now),
 * or the error of the post or of the creation.
 */
int smc_mr_register(struct smc_qp *qp, struct ib_mr *mr, int access)
{
	struct smc_mr_queue *q = &qp->mr_queue;
	int rc = -ENOTCONN;
	bool drain = false;

	mutex_lock(&q->mutex);
	if (!q->open || READ_ONCE(qp->broken))
		goto out;
	init_completion(&q->done);
	rc = mr_post_reg(qp, mr, access);
	if (rc)
		goto out;
	if (!wait_for_completion_timeout(&q->done, REG_TIMEOUT)) {
		/* a late REG_MR must not meet an MR that the caller has freed */
		drain = !q->qp;
		mr_destroy_queue(q);
		smc_qp_break(qp, IB_WC_RESP_TIMEOUT_ERR);
		rc = -ETIMEDOUT;
	} else if (q->status != IB_WC_SUCCESS) {
		smc_qp_break(qp, q->status);
		rc = -EIO;
	}
out:
	mutex_unlock(&q->mutex);
	if (drain)
		smc_qp_drain(qp);
	return rc;
}
