// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs objects: completion queues, queue pairs, memory regions.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "dma_rnic.h"

/* ---- protection domains and memory regions ---- */

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return udata ? -EOPNOTSUPP : 0;
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static struct rnic_mr *mr_create(struct ib_pd *pd, u32 max_pages)
{
	struct rnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	u32 index;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pd = pd;
	mr->page_shift = PAGE_SHIFT;
	mr->max_pages = max_pages;
	if (max_pages) {
		mr->page = kvcalloc(max_pages, sizeof(*mr->page), GFP_KERNEL);
		if (!mr->page)
			goto nomem;
	}
	if (xa_alloc(&rnic_mrs, &index, mr, XA_LIMIT(1, 0xffffff), GFP_KERNEL))
		goto nomem;
	mr->key = index << 8;
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	return mr;
nomem:
	kvfree(mr->page);
	kfree(mr);
	return ERR_PTR(-ENOMEM);
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	struct rnic_mr *mr = mr_create(pd, 0);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mutex_lock(&rnic_wire);
	mr->all = true;
	mr->access = access;
	mr->state = RNIC_MR_VALID;
	mutex_unlock(&rnic_wire);
	return &mr->ib;
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct rnic_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG || !max_num_sg || max_num_sg > RNIC_FAST_REG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_create(pd, max_num_sg);
	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ib;
}

static int dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);

	mutex_lock(&rnic_wire);
	xa_erase(&rnic_mrs, mr->key >> 8);
	mutex_unlock(&rnic_wire);
	kvfree(mr->page);
	kfree(mr);
	return 0;
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);

	if (mr->npages >= mr->max_pages)
		return -ENOMEM;
	mr->page[mr->npages++] = addr;
	return 0;
}

static int map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *off)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);

	if (mr->state != RNIC_MR_FREE)
		return -EBUSY;
	mr->npages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, off, set_page);
}

/* Needed for the RDMA core to allow kernel verbs. Programs get no context and cannot call it. */
#ifdef RNIC_HAVE_DMAH
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				 int access, struct ib_dmah *dmah, struct ib_udata *udata)
#else
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				 int access, struct ib_udata *udata)
#endif
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* ---- completion queues ---- */

/* Call the handler with interrupts off, as drivers of real devices do in their interrupt. */
static void cq_interrupt(struct rnic_cq *cq)
{
	unsigned long flags;

	local_bh_disable();
	local_irq_save(flags);
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	local_irq_restore(flags);
	local_bh_enable();
}

static void cq_late_work(struct work_struct *work)
{
	cq_interrupt(container_of(to_delayed_work(work), struct rnic_cq, late));
}

#ifdef RNIC_HAVE_CQ_ATTRS
static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs)
#else
static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct ib_udata *attrs)
#endif
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);

	if (attrs)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RNIC_CQES)
		return -EINVAL;
	cq->size = roundup_pow_of_two(attr->cqe);
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	INIT_DELAYED_WORK(&cq->late, cq_late_work);
	ibcq->cqe = cq->size;
	return 0;
}

static int destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);

	cancel_delayed_work_sync(&cq->late);
	kvfree(cq->ring);
	return 0;
}

static int poll_cq(struct ib_cq *ibcq, int max, struct ib_wc *wc)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	struct rnic_cqe *cqe;
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < max && cq->tail != cq->head; cq->tail++) {
		cqe = &cq->ring[cq->tail & (cq->size - 1)];
		if (!cqe->qp)	/* destroyed meanwhile */
			continue;
		wc[n++] = cqe->wc;
		if (cqe->wc.opcode & IB_WC_RECV)
			continue;
		spin_lock(&cqe->qp->lock);
		cqe->qp->sq_tail = cqe->sq_tail;
		spin_unlock(&cqe->qp->lock);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static int req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags what)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&cq->lock, flags);
	/* keep "any completion" if it is set already, do not narrow it to "solicited" */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = what & IB_CQ_SOLICITED_MASK;
	missed = what & IB_CQ_REPORT_MISSED_EVENTS && cq->head != cq->tail;
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

/**
 * rnic_verbs_complete() - add a completion
 * @qp: queue pair
 * @ibcq: its completion queue
 * @wc: work completion
 * @solicited: the sender requested an interrupt, or the request failed
 * @sq_tail: see struct rnic_cqe
 *
 * Context: rnic_wire held.
 */
void rnic_verbs_complete(struct rnic_qp *qp, struct ib_cq *ibcq, const struct ib_wc *wc,
			 bool solicited, u32 sq_tail)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	struct rnic_cqe *cqe;
	unsigned int delay;
	unsigned long flags;
	bool full, notify;

	lockdep_assert_held(&rnic_wire);
	spin_lock_irqsave(&cq->lock, flags);
	full = cq->head - cq->tail == cq->size;
	if (!full) {
		cqe = &cq->ring[cq->head++ & (cq->size - 1)];
		cqe->wc = *wc;
		cqe->qp = qp;
		cqe->sq_tail = sq_tail;
	}
	notify = cq->armed == IB_CQ_NEXT_COMP ||
	       (cq->armed == IB_CQ_SOLICITED && (solicited || wc->status));
	if (notify)
		cq->armed = 0;
	spin_unlock_irqrestore(&cq->lock, flags);
	/* the owner made the queue too small */
	if (WARN_ONCE(full, "dma_rnic: completion queue overrun\n"))
		rnic_count(to_rnic(ibcq->device), RNIC_REFUSED, 1);
	if (!notify)
		return;
	/* one interrupt for all completions until then */
	delay = READ_ONCE(rnic_moderation);
	if (delay)
		schedule_delayed_work(&cq->late, msecs_to_jiffies(delay));
	else
		cq_interrupt(cq);
}

/* Drop the completions of a queue pair that is being destroyed. */
static void cq_purge(struct ib_cq *ibcq, const struct rnic_qp *qp)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = cq->tail; i != cq->head; i++)
		if (cq->ring[i & (cq->size - 1)].qp == qp)
			cq->ring[i & (cq->size - 1)].qp = NULL;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* ---- queue pairs ---- */

static bool qp_caps_fit(const struct rnic *rnic, const struct ib_qp_cap *cap)
{
	return cap->max_send_wr <= RNIC_WRS && cap->max_recv_wr <= RNIC_WRS &&
	       cap->max_send_sge <= RNIC_SGE && cap->max_recv_sge <= RNIC_SGE &&
	       cap->max_inline_data <= rnic->max_inline;
}

static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	int rc = -ENOMEM;
	u32 qpn;

	if (udata || init->qp_type != IB_QPT_RC || init->srq || init->create_flags)
		return -EOPNOTSUPP;
	if (!qp_caps_fit(to_rnic(ibqp->device), &init->cap))
		return -EINVAL;
	spin_lock_init(&qp->lock);
	INIT_DELAYED_WORK(&qp->work, rnic_wire_work);
	qp->sq_size = roundup_pow_of_two(max(init->cap.max_send_wr, 1U));
	qp->rq_size = roundup_pow_of_two(max(init->cap.max_recv_wr, 1U));
	qp->sq = kvcalloc(qp->sq_size, sizeof(*qp->sq), GFP_KERNEL);
	qp->rq = kvcalloc(qp->rq_size, sizeof(*qp->rq), GFP_KERNEL);
	if (!qp->sq || !qp->rq)
		goto fail;
	qp->init = *init;
	rc = xa_alloc(&rnic_qps, &qpn, qp, XA_LIMIT(16, 0xffffff), GFP_KERNEL);
	if (rc)
		goto fail;
	ibqp->qp_num = qpn;
	return 0;
fail:
	kvfree(qp->sq);
	kvfree(qp->rq);
	return rc;
}

static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);

	mutex_lock(&rnic_wire);
	xa_erase(&rnic_qps, ibqp->qp_num);
	qp->state = IB_QPS_RESET;
	mutex_unlock(&rnic_wire);
	cancel_delayed_work_sync(&qp->work);
	cq_purge(ibqp->send_cq, qp);
	cq_purge(ibqp->recv_cq, qp);
	kvfree(qp->sq);
	kvfree(qp->rq);
	return 0;
}

static void qp_copy_attr(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
}

/* Copy the GID: the caller's sgid_attr is valid only during the call. */
static void qp_copy_address(struct rnic_qp *qp, const struct ib_qp_attr *attr)
{
	qp->sgid = attr->ah_attr.grh.sgid_attr->gid;
	qp->attr.ah_attr = attr->ah_attr;
	qp->attr.ah_attr.grh.sgid_attr = NULL;
}

static int modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	enum ib_qp_state next;
	unsigned long flags;
	int rc = -EINVAL;

	mutex_lock(&rnic_wire);
	next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	if (!ib_modify_qp_is_ok(qp->state, next, IB_QPT_RC, mask) || next == IB_QPS_RESET)
		goto out;
	if (mask & IB_QP_AV && !attr->ah_attr.grh.sgid_attr)
		goto out;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096))
		goto out;
	qp_copy_attr(&qp->attr, attr, mask);
	if (mask & IB_QP_AV)
		qp_copy_address(qp, attr);
	qp->retries = qp->attr.retry_cnt;
	spin_lock_irqsave(&qp->lock, flags);
	qp->state = next;
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_wire_run(qp);
	rc = 0;
out:
	mutex_unlock(&rnic_wire);
	return rc;
}

static int query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);

	mutex_lock(&rnic_wire);
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	mutex_unlock(&rnic_wire);
	return 0;
}

/* ---- posting ---- */

static int send_fill(const struct rnic_qp *qp, struct rnic_send *send,
		     const struct ib_send_wr *wr)
{
	int i;

	if (wr->num_sge > qp->init.cap.max_send_sge)
		return -EINVAL;
	send->cqe = wr->wr_cqe;
	send->opcode = wr->opcode;
	send->flags = wr->send_flags;
	send->num_sge = wr->num_sge;
	send->len = 0;
	for (i = 0; i < wr->num_sge; i++) {
		send->sge[i] = wr->sg_list[i];
		if (check_add_overflow(send->len, wr->sg_list[i].length, &send->len) ||
		    send->len > RNIC_MSG_MAX)
			return -EINVAL;
		if (!(wr->send_flags & IB_SEND_INLINE))
			continue;
		if (send->len > qp->init.cap.max_inline_data)
			return -EINVAL;
		memcpy(send->data + send->len - wr->sg_list[i].length,
		       (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
	}
	switch (wr->opcode) {
	case IB_WR_SEND:
		return 0;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		send->imm = wr->ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_WRITE:
		send->raddr = rdma_wr(wr)->remote_addr;
		send->rkey = rdma_wr(wr)->rkey;
		return 0;
	case IB_WR_REG_MR:
		send->mr = to_rnic_mr(reg_wr(wr)->mr);
		send->rkey = reg_wr(wr)->key;
		send->access = reg_wr(wr)->access;
		return 0;
	case IB_WR_LOCAL_INV:
		send->rkey = wr->ex.invalidate_rkey;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_ERR)
			rc = -EINVAL;
		else if (qp->sq_head - qp->sq_tail >= qp->init.cap.max_send_wr)
			rc = -ENOMEM;
		else
			rc = send_fill(qp, &qp->sq[qp->sq_head & (qp->sq_size - 1)], wr);
		if (rc)
			break;
		qp->sq_head++;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	*bad = wr;
	if (rc)
		rnic_count(to_rnic(ibqp->device), RNIC_REFUSED, 1);
	rnic_wire_posted(qp);
	return rc;
}

static int recv_fill(const struct rnic_qp *qp, struct rnic_recv *recv,
		     const struct ib_recv_wr *wr)
{
	if (wr->num_sge > qp->init.cap.max_recv_sge)
		return -EINVAL;
	recv->cqe = wr->wr_cqe;
	recv->num_sge = wr->num_sge;
	memcpy(recv->sge, wr->sg_list, wr->num_sge * sizeof(recv->sge[0]));
	return 0;
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		if (qp->state == IB_QPS_RESET)
			rc = -EINVAL;
		else if (qp->rq_head - qp->rq_next >= qp->init.cap.max_recv_wr)
			rc = -ENOMEM;
		else
			rc = recv_fill(qp, &qp->rq[qp->rq_head & (qp->rq_size - 1)], wr);
		if (rc)
			break;
		qp->rq_head++;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	*bad = wr;
	if (rc)
		rnic_count(to_rnic(ibqp->device), RNIC_REFUSED, 1);
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		rnic_wire_posted(qp);
	return rc;
}

const struct ib_device_ops rnic_verbs_ops = {
	.alloc_mr = alloc_mr,
	.alloc_pd = alloc_pd,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.dealloc_pd = dealloc_pd,
	.dereg_mr = dereg_mr,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.get_dma_mr = get_dma_mr,
	.map_mr_sg = map_mr_sg,
	.modify_qp = modify_qp,
	.poll_cq = poll_cq,
	.post_recv = post_recv,
	.post_send = post_send,
	.query_qp = query_qp,
	.reg_user_mr = reg_user_mr,
	.req_notify_cq = req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ib),
};
