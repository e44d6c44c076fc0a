// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs. A request is executed when it is posted, by the caller: its bytes are copied to
 * where the other end wants them, and both ends get their completions. A SEND waits if the other
 * end has posted no receive, and any request waits if the other end is not yet in RTR; what is
 * posted behind it waits, too. The other end then executes what waits (lo_qp_kick()).
 *
 * Nothing is lost on the way, so there are no retries: a queue pair whose other end is gone, or in
 * ERR, fails at once with IB_WC_RETRY_EXC_ERR.
 *
 * The other end belongs to the same device, or to another one that may be reached when RTR is
 * entered (lo_qp_may_reach()). From then on each request checks that both ends mean each other,
 * number and device; when one of the devices must not be reached any more, both ends fail
 * (lo_qp_cut_off_all()).
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include "internal.h"

/* What became of a request: the status of its completion, or this: it waits for the other end. */
#define WAITS	(-EAGAIN)

/* The queue pairs of all devices, by number; an entry holds a reference. */
static DEFINE_XARRAY_FLAGS(lo_qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
static u32 lo_next_qpn;	/* for xa_alloc_cyclic() */

static struct lo_qp *lo_qp_from_ib(struct ib_qp *ib)
{
	return container_of(ib, struct lo_qp, ib);
}

static struct lo_device *lo_qp_device(const struct lo_qp *qp)
{
	return lo_device_from_ib(qp->ib.device);
}

static struct lo_qp *lo_qp_get(u32 num)
{
	struct lo_qp *qp;

	xa_lock_bh(&lo_qps);
	qp = xa_load(&lo_qps, num);
	if (qp)
		refcount_inc(&qp->ref);
	xa_unlock_bh(&lo_qps);
	return qp;
}

static void lo_qp_put(struct lo_qp *qp)
{
	if (refcount_dec_and_test(&qp->ref))
		complete(&qp->gone);
}

/* ---- completions ---- */

static void lo_qp_complete_send(struct lo_qp *qp, const struct ib_send_wr *wr,
				enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_cqe = wr->wr_cqe,
		.status = status,
		.qp = &qp->ib,
		.port_num = LO_PORT,
	};

	if (!status && !qp->all_signaled && !(wr->send_flags & IB_SEND_SIGNALED))
		return;
	if (wr->opcode == IB_WR_REG_MR)
		wc.opcode = IB_WC_REG_MR;
	else
		wc.opcode = wr->opcode == IB_WR_SEND ? IB_WC_SEND : IB_WC_RDMA_WRITE;
	lo_cq_push(qp->ib.send_cq, &wc);
}

static struct lo_recv *lo_qp_first_recv(struct lo_qp *qp)
{
	if (qp->rq_head == qp->rq_tail)
		return NULL;
	return &qp->rq[qp->rq_head & qp->rq_mask];
}

/* The first receive is over. @wr: request of the other end; NULL: none */
static void lo_qp_complete_recv(struct lo_qp *qp, const struct ib_send_wr *wr, u32 len,
				enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_cqe = lo_qp_first_recv(qp)->cqe,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = len,
		.qp = &qp->ib,
		.src_qp = qp->dest,
		.port_num = LO_PORT,
	};

	if (wr && wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = wr->ex.imm_data;
	}
	qp->rq_head++;
	lo_cq_push(qp->ib.recv_cq, &wc);
}

/* ---- ERR ---- */

/* Complete all requests that wait, and all receives; in ERR. */
static void lo_qp_flush_locked(struct lo_qp *qp)
{
	lockdep_assert_held(&qp->sq_lock);
	lockdep_assert_held(&qp->rq_lock);
	while (qp->sq_head != qp->sq_tail)
		lo_qp_complete_send(qp, &qp->sq[qp->sq_head++ & qp->sq_mask].wr,
				    IB_WC_WR_FLUSH_ERR);
	while (lo_qp_first_recv(qp))
		lo_qp_complete_recv(qp, NULL, 0, IB_WC_WR_FLUSH_ERR);
}

/* Return who waits for this queue pair, now that something has happened; the caller kicks it. */
static u32 lo_qp_take_waiter_locked(struct lo_qp *qp)
{
	u32 waiter = qp->waiter;

	lockdep_assert_held(&qp->rq_lock);
	qp->waiter = 0;
	return waiter;
}

/*
 * The other end will belong to another device, if both ports are up. Counted before that is looked
 * at: lo_qp_cut_off_all() looks at the number when a port has gone down.
 */
static bool lo_qp_link_locked(struct lo_qp *qp, const struct lo_device *to)
{
	struct lo_device *from = lo_qp_device(qp);

	lockdep_assert_held(&qp->sq_lock);
	atomic_inc(&from->linked);
	smp_mb__after_atomic();		/* pairs with lo_qp_cut_off_all() */
	qp->linked = READ_ONCE(from->up) && READ_ONCE(to->up);
	if (!qp->linked)
		atomic_dec(&from->linked);
	return qp->linked;
}

/* It has left RTR and RTS, under both locks: nothing is copied from it or to it any more. */
static void lo_qp_unlink_locked(struct lo_qp *qp)
{
	lockdep_assert_held(&qp->sq_lock);
	lockdep_assert_held(&qp->rq_lock);
	if (!qp->linked)
		return;
	qp->linked = false;
	smp_mb__before_atomic();	/* as the release of a lock */
	atomic_dec(&lo_qp_device(qp)->linked);
}

/* Return whom to kick when the locks are free. */
static u32 lo_qp_enter_err_locked(struct lo_qp *qp)
{
	u32 waiter;

	lockdep_assert_held(&qp->sq_lock);
	spin_lock(&qp->rq_lock);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	lo_qp_unlink_locked(qp);
	lo_qp_flush_locked(qp);
	waiter = lo_qp_take_waiter_locked(qp);
	spin_unlock(&qp->rq_lock);
	return waiter;
}

/* The other end has sent what this one refuses: both fail. Without locks. */
static void lo_qp_refuse_peer(struct lo_qp *qp)
{
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = IB_EVENT_QP_ACCESS_ERR,
	};

	spin_lock_bh(&qp->sq_lock);
	/* the other end, which would be kicked, has failed already */
	lo_qp_enter_err_locked(qp);
	spin_unlock_bh(&qp->sq_lock);
	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/* ---- execution ---- */

static u64 lo_wr_count_bytes(const struct ib_send_wr *wr)
{
	u64 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

/* Copy the bytes of a request to one place. False if it may not read them. */
static bool lo_wr_copy_out(struct lo_qp *qp, const struct ib_send_wr *wr, struct lo_span *to)
{
	struct lo_device *dev = lo_qp_device(qp);
	struct lo_span from;
	bool ok;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		ok = lo_span_begin(&from, dev, qp->ib.pd, wr->sg_list[i].lkey,
				   wr->sg_list[i].addr, wr->sg_list[i].length, 0);
		if (ok)
			lo_span_copy(to, &from, from.left);
		lo_span_end(&from);
		if (!ok)
			return false;
	}
	return true;
}

/* Copy the bytes of a SEND into a receive, element by element of both. */
static enum ib_wc_status lo_wr_fill_recv(struct lo_qp *qp, const struct ib_send_wr *wr,
					 struct lo_qp *peer, const struct lo_recv *recv)
{
	struct lo_span from = { .left = 0 }, to = { .left = 0 };
	enum ib_wc_status status = IB_WC_SUCCESS;
	u32 next = 0;
	u64 n;
	int i;

	for (i = 0; i < wr->num_sge && !status; i++) {
		if (!lo_span_begin(&from, lo_qp_device(qp), qp->ib.pd, wr->sg_list[i].lkey,
				   wr->sg_list[i].addr, wr->sg_list[i].length, 0))
			status = IB_WC_LOC_PROT_ERR;
		while (from.left && !status) {
			if (!to.left) {
				lo_span_end(&to);
				if (next == recv->nsge ||
				    !lo_span_begin(&to, lo_qp_device(peer), peer->ib.pd,
						   recv->sge[next].lkey, recv->sge[next].addr,
						   recv->sge[next].length,
						   IB_ACCESS_LOCAL_WRITE)) {
					status = IB_WC_REM_INV_REQ_ERR;
					break;
				}
				next++;
			}
			n = min(from.left, to.left);
			lo_span_copy(&to, &from, n);
		}
		lo_span_end(&from);
	}
	lo_span_end(&to);
	return status;
}

/* Execute a SEND. @peer: in RTR or RTS, rq_lock held */
static enum ib_wc_status lo_qp_execute_send(struct lo_qp *qp, struct lo_qp *peer,
					    const struct ib_send_wr *wr)
{
	enum ib_wc_status status = lo_wr_fill_recv(qp, wr, peer, lo_qp_first_recv(peer));
	u64 len = lo_wr_count_bytes(wr);

	if (status == IB_WC_REM_INV_REQ_ERR)
		lo_qp_complete_recv(peer, wr, 0, IB_WC_LOC_LEN_ERR);
	if (status)
		return status;
	lo_qp_complete_recv(peer, wr, len, IB_WC_SUCCESS);
	lo_stats_count_request(lo_qp_device(qp), len);
	return IB_WC_SUCCESS;
}

/* Execute a WRITE, perhaps with an immediate value. @peer: as for lo_qp_execute_send() */
static enum ib_wc_status lo_qp_execute_write(struct lo_qp *qp, struct lo_qp *peer,
					     const struct ib_send_wr *wr)
{
	u64 len = lo_wr_count_bytes(wr);
	struct lo_span to = { .mr = NULL };
	enum ib_wc_status status = IB_WC_SUCCESS;

	if (len && (!(peer->access & IB_ACCESS_REMOTE_WRITE) ||
		    !lo_span_begin(&to, lo_qp_device(peer), peer->ib.pd, rdma_wr(wr)->rkey,
				   rdma_wr(wr)->remote_addr, len, IB_ACCESS_REMOTE_WRITE)))
		status = IB_WC_REM_ACCESS_ERR;
	else if (!lo_wr_copy_out(qp, wr, &to))
		status = IB_WC_LOC_PROT_ERR;
	lo_span_end(&to);
	if (status)
		return status;
	if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		lo_qp_complete_recv(peer, wr, len, IB_WC_SUCCESS);
	lo_stats_count_request(lo_qp_device(qp), len);
	return IB_WC_SUCCESS;
}

/* The other end has refused a request, and fails, too: the caller calls lo_qp_refuse_peer(). */
static bool lo_wr_was_refused(int result)
{
	return result == IB_WC_REM_ACCESS_ERR || result == IB_WC_REM_INV_REQ_ERR;
}

static int lo_qp_execute_at(struct lo_qp *qp, struct lo_qp *peer, const struct ib_send_wr *wr)
{
	int result;

	/* the number may have been given to a queue pair of another device meanwhile */
	if (qp->dest_dev != lo_qp_device(peer)->num)
		return IB_WC_RETRY_EXC_ERR;
	spin_lock(&peer->rq_lock);
	if (peer->state == IB_QPS_INIT)
		result = WAITS;
	else if ((peer->state != IB_QPS_RTR && peer->state != IB_QPS_RTS) ||
		 peer->dest != qp->ib.qp_num || peer->dest_dev != lo_qp_device(qp)->num)
		result = IB_WC_RETRY_EXC_ERR;
	else if (wr->opcode != IB_WR_RDMA_WRITE && !lo_qp_first_recv(peer))
		result = WAITS;
	else if (wr->opcode == IB_WR_SEND)
		result = lo_qp_execute_send(qp, peer, wr);
	else
		result = lo_qp_execute_write(qp, peer, wr);
	if (result == WAITS)
		peer->waiter = qp->ib.qp_num;
	spin_unlock(&peer->rq_lock);
	return result;
}

/*
 * Execute a request of a queue pair in RTS, and complete it unless it waits. @kick: set to whom the
 * caller kicks when the locks are free, if this end has failed
 */
static int lo_qp_execute(struct lo_qp *qp, struct lo_qp *peer, const struct ib_send_wr *wr,
			 u32 *kick)
{
	int result = IB_WC_RETRY_EXC_ERR;

	lockdep_assert_held(&qp->sq_lock);
	if (wr->opcode == IB_WR_REG_MR)
		result = lo_mr_register(lo_qp_device(qp), qp->ib.pd, reg_wr(wr)) ?
			 IB_WC_SUCCESS : IB_WC_MW_BIND_ERR;
	else if (peer)
		result = lo_qp_execute_at(qp, peer, wr);
	if (result == WAITS)
		return result;
	lo_qp_complete_send(qp, wr, result);
	if (result != IB_WC_SUCCESS)
		*kick = lo_qp_enter_err_locked(qp);
	return result;
}

/* Execute what waits, up to the first request that waits on or fails: its result is returned. */
static int lo_qp_run_locked(struct lo_qp *qp, struct lo_qp *peer, u32 *kick)
{
	int result = IB_WC_SUCCESS;

	while (qp->sq_head != qp->sq_tail && result == IB_WC_SUCCESS && qp->state == IB_QPS_RTS) {
		struct lo_send *send = &qp->sq[qp->sq_head++ & qp->sq_mask];

		result = lo_qp_execute(qp, peer, &send->wr, kick);
		if (result == WAITS)
			qp->sq_head--;
	}
	return result;
}

/* Run queue pair @num, which waits for something that has happened. Return whom to kick then. */
static u32 lo_qp_kick_one(u32 num)
{
	struct lo_qp *qp = lo_qp_get(num);
	struct lo_qp *peer;
	u32 next = 0;
	int result;

	if (!qp)
		return 0;
	peer = lo_qp_get(READ_ONCE(qp->dest));
	spin_lock_bh(&qp->sq_lock);
	result = lo_qp_run_locked(qp, peer, &next);
	spin_unlock_bh(&qp->sq_lock);
	if (lo_wr_was_refused(result))
		lo_qp_refuse_peer(peer);
	if (peer)
		lo_qp_put(peer);
	lo_qp_put(qp);
	return next;
}

/*
 * Queue pair @num (0: none) waits for something that has happened now; if it fails, so does the one
 * that waits for it. Without locks.
 */
static void lo_qp_kick(u32 num)
{
	while (num)
		num = lo_qp_kick_one(num);
}

/* ---- posting ---- */

static bool lo_wr_is_valid(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return wr->num_sge >= 0 && wr->num_sge <= LO_SGES &&
		       !(wr->send_flags & IB_SEND_INLINE);
	case IB_WR_REG_MR:
		return true;
	default:
		return false;
	}
}

static int lo_qp_enqueue_locked(struct lo_qp *qp, const struct ib_send_wr *wr)
{
	struct lo_send *send;

	lockdep_assert_held(&qp->sq_lock);
	if (qp->sq_tail - qp->sq_head == qp->cap.max_send_wr)
		return -ENOMEM;
	send = &qp->sq[qp->sq_tail++ & qp->sq_mask];
	if (wr->opcode == IB_WR_REG_MR)
		send->reg = *reg_wr(wr);
	else if (wr->opcode == IB_WR_SEND)
		send->wr = *wr;
	else
		send->rdma = *rdma_wr(wr);
	if (wr->opcode != IB_WR_REG_MR) {
		memcpy(send->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
		send->wr.sg_list = send->sge;
	}
	return 0;
}

/* Post one request. @result, @kick: as of lo_qp_execute(). Return 0 or -errno. */
static int lo_qp_post_locked(struct lo_qp *qp, struct lo_qp *peer, const struct ib_send_wr *wr,
			     int *result, u32 *kick)
{
	lockdep_assert_held(&qp->sq_lock);
	if (!lo_wr_is_valid(wr))
		return -EINVAL;
	if (qp->state == IB_QPS_ERR) {
		lo_qp_complete_send(qp, wr, IB_WC_WR_FLUSH_ERR);
		return 0;
	}
	if (qp->state != IB_QPS_RTS)
		return -EINVAL;
	if (qp->sq_head != qp->sq_tail)
		return lo_qp_enqueue_locked(qp, wr);
	*result = lo_qp_execute(qp, peer, wr, kick);
	if (*result != WAITS)
		return 0;
	lo_stats_add(lo_qp_device(qp), LO_STAT_WAITS, 1);
	return lo_qp_enqueue_locked(qp, wr);
}

/**
 * lo_qp_post_send() - Verb: execute requests, or queue them
 * @ib: queue pair
 * @wr: list of requests
 * @bad: set after an error to the request that was not accepted
 *
 * Process context or softirq.
 *
 * Return: 0, -EINVAL (the request, or the state of the queue pair), or -ENOMEM (queue full).
 */
int lo_qp_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct lo_qp *qp = lo_qp_from_ib(ib), *peer;
	bool refused = false;
	u32 kick = 0;
	int rc = 0;

	peer = lo_qp_get(READ_ONCE(qp->dest));
	spin_lock_bh(&qp->sq_lock);
	for (; wr; wr = wr->next) {
		int result = IB_WC_SUCCESS;

		rc = lo_qp_post_locked(qp, peer, wr, &result, &kick);
		refused |= lo_wr_was_refused(result);
		if (rc) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_bh(&qp->sq_lock);
	if (refused)
		lo_qp_refuse_peer(peer);
	if (peer)
		lo_qp_put(peer);
	lo_qp_kick(kick);
	return rc;
}

static int lo_qp_add_recv_locked(struct lo_qp *qp, const struct ib_recv_wr *wr)
{
	struct lo_recv *recv;

	lockdep_assert_held(&qp->rq_lock);
	if (wr->num_sge < 0 || wr->num_sge > LO_RECV_SGES || qp->state == IB_QPS_RESET)
		return -EINVAL;
	if (qp->rq_tail - qp->rq_head == qp->cap.max_recv_wr)
		return -ENOMEM;
	recv = &qp->rq[qp->rq_tail++ & qp->rq_mask];
	recv->cqe = wr->wr_cqe;
	recv->nsge = wr->num_sge;
	memcpy(recv->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	if (qp->state == IB_QPS_ERR)
		lo_qp_complete_recv(qp, NULL, 0, IB_WC_WR_FLUSH_ERR);
	return 0;
}

/**
 * lo_qp_post_recv() - Verb: post receives
 * @ib: queue pair
 * @wr: list of receives
 * @bad: set after an error to the one that was not accepted
 *
 * Executes what has waited for it. Process context or softirq.
 *
 * Return: 0, -EINVAL (the receive, or the state of the queue pair), or -ENOMEM (queue full).
 */
int lo_qp_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct lo_qp *qp = lo_qp_from_ib(ib);
	u32 waiter;
	int rc = 0;

	spin_lock_bh(&qp->rq_lock);
	for (; wr; wr = wr->next) {
		rc = lo_qp_add_recv_locked(qp, wr);
		if (rc) {
			*bad = wr;
			break;
		}
	}
	waiter = lo_qp_take_waiter_locked(qp);
	spin_unlock_bh(&qp->rq_lock);
	lo_qp_kick(waiter);
	return rc;
}

/* ---- creation and states ---- */

static void lo_qp_free_queues(struct lo_qp *qp)
{
	kvfree(qp->sq);
	kvfree(qp->rq);
}

/**
 * lo_qp_create() - Verb: create a queue pair
 * @ib: allocated by the RDMA core
 * @init: kind and sizes; RC alone. Inline data would gain nothing: none is granted
 * @udata: unused
 *
 * Process context.
 *
 * Return: 0, -EOPNOTSUPP, -EINVAL or -ENOMEM.
 */
int lo_qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct lo_qp *qp = lo_qp_from_ib(ib);
	int rc;

	if (init->qp_type != IB_QPT_RC || init->srq)
		return -EOPNOTSUPP;
	if (!init->cap.max_send_wr || init->cap.max_send_wr > LO_MAX_WR ||
	    !init->cap.max_recv_wr || init->cap.max_recv_wr > LO_MAX_WR ||
	    init->cap.max_send_sge > LO_SGES || init->cap.max_recv_sge > LO_RECV_SGES)
		return -EINVAL;
	init->cap.max_inline_data = 0;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->gone);
	spin_lock_init(&qp->sq_lock);
	spin_lock_init(&qp->rq_lock);
	qp->cap = init->cap;
	qp->all_signaled = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = IB_QPS_RESET;
	qp->sq_mask = roundup_pow_of_two(qp->cap.max_send_wr) - 1;
	qp->rq_mask = roundup_pow_of_two(qp->cap.max_recv_wr) - 1;
	qp->sq = kvcalloc(qp->sq_mask + 1, sizeof(*qp->sq), GFP_KERNEL);
	qp->rq = kvcalloc(qp->rq_mask + 1, sizeof(*qp->rq), GFP_KERNEL);
	rc = qp->sq && qp->rq ? 0 : -ENOMEM;
	if (!rc)
		rc = xa_alloc_cyclic_bh(&lo_qps, &ib->qp_num, qp, XA_LIMIT(2, 0xffffff),
					&lo_next_qpn, GFP_KERNEL);
	if (rc >= 0)
		return 0;
	lo_qp_free_queues(qp);
	return rc;
}

/*
 * Check whether the other end may belong to another device: both are for other namespaces, and the
 * GIDs that the user names are those of the two netdevs, not of devices above them, which may be in
 * namespaces that do not consent. Whether these two do is checked by lo_qp_change().
 */
static bool lo_qp_may_reach(const struct lo_device *from, struct lo_device *to,
			    const struct ib_qp_attr *attr, int mask)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);
	const struct ib_gid_attr *gid;

	if (!from->outward || !to->outward || !(mask & IB_QP_AV) || !grh->sgid_attr ||
	    rcu_access_pointer(grh->sgid_attr->ndev) != from->ndev)
		return false;
	gid = rdma_find_gid_by_port(&to->ib, &grh->dgid, IB_GID_TYPE_ROCE_UDP_ENCAP, LO_PORT,
				    to->ndev);
	if (IS_ERR(gid))
		return false;
	rdma_put_gid_attr(gid);
	return true;
}

/*
 * Change state and attributes, unless the present state forbids it: it may be ERR meanwhile.
 * @to: device of the other end, with %IB_QP_DEST_QPN
 */
static int lo_qp_change(struct lo_qp *qp, const struct lo_device *to, const struct ib_qp_attr *attr,
			int mask)
{
	const struct lo_device *from = lo_qp_device(qp);
	enum ib_qp_state state;
	u32 waiter = 0;
	int rc = 0;

	spin_lock_bh(&qp->sq_lock);
	spin_lock(&qp->rq_lock);
	state = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	if (!ib_modify_qp_is_ok(qp->state, state, qp->ib.qp_type, mask)) {
		rc = -EINVAL;
		goto out;
	}
	/* under the locks: lo_qp_cut_off_all() comes after a port has gone down */
	if (mask & IB_QP_DEST_QPN && to != from && !lo_qp_link_locked(qp, to)) {
		rc = -EACCES;
		goto out;
	}
	if (mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(qp->access, attr->qp_access_flags);
	if (mask & IB_QP_DEST_QPN) {
		WRITE_ONCE(qp->dest, attr->dest_qp_num);
		qp->dest_dev = to->num;
	}
	WRITE_ONCE(qp->state, state);
	if (state == IB_QPS_ERR || state == IB_QPS_RESET)
		lo_qp_unlink_locked(qp);
	if (state == IB_QPS_ERR)
		lo_qp_flush_locked(qp);
	if (state == IB_QPS_RESET) {
		qp->sq_head = qp->sq_tail;
		qp->rq_head = qp->rq_tail;
	}
	waiter = lo_qp_take_waiter_locked(qp);
out:
	spin_unlock(&qp->rq_lock);
	spin_unlock_bh(&qp->sq_lock);
	lo_qp_kick(waiter);
	/* in INIT any queue pair could wait; it may have displaced the other end */
	if (!rc && state == IB_QPS_RTR)
		lo_qp_kick(attr->dest_qp_num);
	return rc;
}

/**
 * lo_qp_modify() - Verb: change the state of a queue pair, or its attributes
 * @ib: queue pair
 * @attr: what changes
 * @mask: IB_QP_*
 * @udata: unused
 *
 * Process context; the RDMA core serialises calls for one queue pair.
 *
 * Return: 0, -EINVAL, or -EACCES: that queue pair must not be reached.
 */
int lo_qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct lo_qp *qp = lo_qp_from_ib(ib), *peer = NULL;
	struct lo_device *from = lo_qp_device(qp), *to = from;
	int rc = 0;

	if (mask & IB_QP_STATE && (attr->qp_state == IB_QPS_SQD || attr->qp_state == IB_QPS_SQE))
		return -EINVAL;
	if (mask & IB_QP_DEST_QPN)
		peer = lo_qp_get(attr->dest_qp_num);
	/* within a namespace, one that does not exist is found to be gone by the first request */
	if (peer)
		to = lo_qp_device(peer);
	/* to other namespaces, it is found here, so that no deadline has to be waited for */
	if (mask & IB_QP_DEST_QPN && (to != from || from->outward) &&
	    (to == from || !lo_qp_may_reach(from, to, attr, mask)))
		rc = -EACCES;
	if (!rc)
		rc = lo_qp_change(qp, to, attr, mask);
	if (peer)
		lo_qp_put(peer);
	return rc;
}

/* Return a queue pair from this number on, with a reference; NULL: there is none. */
static struct lo_qp *lo_qp_get_next(unsigned long num)
{
	struct lo_qp *qp;

	xa_lock_bh(&lo_qps);
	qp = xa_find(&lo_qps, &num, ULONG_MAX, XA_PRESENT);
	if (qp)
		refcount_inc(&qp->ref);
	xa_unlock_bh(&lo_qps);
	return qp;
}

/* @dev must not be reached any more, and reaches nobody. */
static void lo_qp_cut_off(struct lo_qp *qp, const struct lo_device *dev)
{
	const struct lo_device *own = lo_qp_device(qp);
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = IB_EVENT_QP_FATAL,
	};
	bool cut = false;
	u32 kick = 0;

	spin_lock_bh(&qp->sq_lock);
	if (qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS)
		cut = qp->dest_dev != own->num && (own == dev || qp->dest_dev == dev->num);
	if (cut)
		kick = lo_qp_enter_err_locked(qp);
	spin_unlock_bh(&qp->sq_lock);
	lo_qp_kick(kick);
	if (cut && qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/**
 * lo_qp_cut_off_all() - The port of a device has gone down: break its connections to other devices
 * @dev: device, with &lo_device.up false
 *
 * On return nothing is copied between it and another device. If none of its own queue pairs is
 * connected with another device, that is so already: those of others that name one of these reach
 * it only when it is in RTR, too, and now it is not. So a port that flaps costs a walk only if
 * there was a connection to break. Process context.
 */
void lo_qp_cut_off_all(const struct lo_device *dev)
{
	unsigned long num = 0;
	struct lo_qp *qp;

	/* pairs with lo_qp_link_locked(), which sees that the port is down, or has counted */
	smp_mb();
	if (!atomic_read(&dev->linked))
		return;
	while ((qp = lo_qp_get_next(num))) {
		num = qp->ib.qp_num + 1;
		lo_qp_cut_off(qp, dev);
		lo_qp_put(qp);
	}
}

/**
 * lo_qp_query() - Verb: report a queue pair
 * @ib: queue pair
 * @attr: receives its state
 * @mask: unused
 * @init: receives its sizes
 *
 * Return: 0.
 */
int lo_qp_query(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	struct lo_qp *qp = lo_qp_from_ib(ib);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = IB_MTU_4096;
	attr->dest_qp_num = READ_ONCE(qp->dest);
	attr->qp_access_flags = READ_ONCE(qp->access);
	attr->port_num = LO_PORT;
	attr->cap = qp->cap;
	init->cap = qp->cap;
	init->sq_sig_type = qp->all_signaled ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ib->qp_type;
	return 0;
}

/**
 * lo_qp_destroy() - Verb: destroy a queue pair
 * @ib: queue pair
 * @udata: unused
 *
 * On return nothing of it is accessed any more, and no completion is added. Process context; waits
 * for the other end's copy at most.
 *
 * Return: 0.
 */
int lo_qp_destroy(struct ib_qp *ib, struct ib_udata *udata)
{
	struct lo_qp *qp = lo_qp_from_ib(ib);
	u32 waiter;

	xa_erase_bh(&lo_qps, ib->qp_num);
	spin_lock_bh(&qp->sq_lock);
	spin_lock(&qp->rq_lock);
	/* a request of the other end that has found us fails: it must not wait */
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	lo_qp_unlink_locked(qp);
	waiter = lo_qp_take_waiter_locked(qp);
	spin_unlock(&qp->rq_lock);
	spin_unlock_bh(&qp->sq_lock);
	lo_qp_kick(waiter);
	lo_qp_put(qp);
	wait_for_completion(&qp->gone);
	lo_qp_free_queues(qp);
	return 0;
}
