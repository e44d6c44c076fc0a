// SPDX-License-Identifier: GPL-2.0-only
/*
 * Execution: take requests from send queues, move bytes by DMA address, add completions.
 */
#include <linux/bottom_half.h>
#include <linux/dma-direct.h>
#include <linux/etherdevice.h>
#include <linux/io.h>
#include <linux/jiffies.h>

#include "dma_rnic.h"

#define PACKET		4096
#define RNR_MS		1
#define RNR_FOREVER	7	/* value of rnr_retry */

/* see dma_rnic.h */
DEFINE_MUTEX(rnic_wire);
DEFINE_XARRAY_ALLOC1(rnic_qps);
DEFINE_XARRAY_ALLOC1(rnic_mrs);

static struct workqueue_struct *engine;
/* the packet in transfer; protected by rnic_wire */
static u8 packet[PACKET];

static struct rnic *qp_rnic(const struct rnic_qp *qp)
{
	return to_rnic(qp->ib.device);
}

/* ---- memory ---- */

/* The region of @key if it allows @access to [@addr, @addr + @len), otherwise NULL. */
static struct rnic_mr *qp_find_mr(const struct rnic_qp *qp, u32 key, u64 addr, u64 len, int access)
{
	struct rnic_mr *mr = xa_load(&rnic_mrs, key >> 8);

	if (!mr || mr->key != key || mr->pd != qp->ib.pd || mr->state != RNIC_MR_VALID ||
	    (access & mr->access) != access)
		return NULL;
	if (mr->all)
		return mr;
	if (addr < mr->iova || addr - mr->iova > mr->length || len > mr->length - (addr - mr->iova))
		return NULL;
	return mr;
}

/*
 * DMA by the device. The memory is found from the DMA address alone, as on a bus: with
 * bounce buffers this is not the memory that the CPU uses.
 */
static void dma_move(const struct rnic_mr *mr, u64 addr, u8 *bytes, u32 len, bool to_memory)
{
	struct device *dev = mr->pd->device->dma_device;
	u64 mask = BIT_ULL(mr->page_shift) - 1;
	dma_addr_t dma;
	u32 piece;
	u64 pos;
	u8 *mem;

	for (; len; len -= piece, addr += piece, bytes += piece) {
		piece = min_t(u64, len, mask + 1 - (addr & mask));
		dma = addr;
		if (!mr->all) {
			pos = addr - (mr->iova & ~mask);
			dma = mr->page[pos >> mr->page_shift] + (pos & mask);
		}
		mem = phys_to_virt(dma_to_phys(dev, dma));
		if (to_memory)
			memcpy(mem, bytes, piece);
		else
			memcpy(bytes, mem, piece);
	}
}

static bool sges_valid(const struct rnic_qp *qp, const struct ib_sge *sge, int num, int access)
{
	int i;

	for (i = 0; i < num; i++)
		if (sge[i].length &&
		    !qp_find_mr(qp, sge[i].lkey, sge[i].addr, sge[i].length, access))
			return false;
	return true;
}

/* Copy between the packet and a list that sges_valid() accepted, from byte @skip on. */
static void sges_move(const struct rnic_qp *qp, const struct ib_sge *sge, int num, u32 skip,
		      u32 len, bool to_memory)
{
	u8 *bytes = packet;
	u32 piece;
	int i;

	for (i = 0; i < num && len; i++) {
		if (skip >= sge[i].length) {
			skip -= sge[i].length;
			continue;
		}
		piece = min(len, sge[i].length - skip);
		dma_move(xa_load(&rnic_mrs, sge[i].lkey >> 8), sge[i].addr + skip, bytes, piece,
			 to_memory);
		bytes += piece;
		len -= piece;
		skip = 0;
	}
}

/* Copy one packet of the request's bytes to @packet. */
static void load_packet(const struct rnic_qp *qp, const struct rnic_send *send, u32 pos, u32 len)
{
	if (send->flags & IB_SEND_INLINE)
		memcpy(packet, send->data + pos, len);
	else
		sges_move(qp, send->sge, send->num_sge, pos, len, false);
	rnic_count(qp_rnic(qp), RNIC_SENT_PKTS, 1);
}

/* ---- the other end ---- */

/*
 * Return the queue pair that answers, or NULL: a wrong address, number or PSN gets no answer, as
 * on a real wire.
 */
static struct rnic_qp *qp_find_peer(const struct rnic_qp *qp)
{
	const struct rdma_ah_attr *ah = &qp->attr.ah_attr;
	struct rnic_qp *peer = xa_load(&rnic_qps, qp->attr.dest_qp_num);

	if (!peer || (peer->state != IB_QPS_RTR && peer->state != IB_QPS_RTS))
		return NULL;
	if (!rnic_port_up(qp_rnic(qp)) || !rnic_port_up(qp_rnic(peer)))
		return NULL;
	if (peer->attr.dest_qp_num != qp->ib.qp_num || peer->attr.rq_psn != qp->attr.sq_psn)
		return NULL;
	if (memcmp(&rdma_ah_read_grh(ah)->dgid, &peer->sgid, sizeof(peer->sgid)) ||
	    memcmp(&rdma_ah_read_grh(&peer->attr.ah_attr)->dgid, &qp->sgid, sizeof(qp->sgid)))
		return NULL;
	if (!ether_addr_equal_unaligned(ah->roce.dmac, qp_rnic(peer)->ndev->dev_addr))
		return NULL;
	return peer;
}

/**
 * rnic_wire_fail() - move a queue pair to the error state
 * @qp: queue pair
 * @type: event to report, or 0
 *
 * Context: rnic_wire held.
 */
void rnic_wire_fail(struct rnic_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = type,
	};
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->state = IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_count(qp_rnic(qp), RNIC_REFUSED, 1);
	if (type && qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
	rnic_wire_run(qp);
}

/* ---- execution ---- */

static struct rnic_send *qp_first_send(struct rnic_qp *qp)
{
	struct rnic_send *send = NULL;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->sq_next != qp->sq_head)
		send = &qp->sq[qp->sq_next & (qp->sq_size - 1)];
	spin_unlock_irqrestore(&qp->lock, flags);
	return send;
}

static struct rnic_recv *qp_first_recv(struct rnic_qp *qp)
{
	struct rnic_recv *recv = NULL;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->rq_next != qp->rq_head)
		recv = &qp->rq[qp->rq_next & (qp->rq_size - 1)];
	spin_unlock_irqrestore(&qp->lock, flags);
	return recv;
}

/* Complete the next receive; the caller has set what the kind of message decides. */
static void complete_recv_wc(struct rnic_qp *qp, struct ib_wc *wc, bool solicited)
{
	unsigned long flags;

	wc->wr_cqe = qp->rq[qp->rq_next & (qp->rq_size - 1)].cqe;
	wc->qp = &qp->ib;
	wc->src_qp = qp->attr.dest_qp_num;
	wc->port_num = 1;
	spin_lock_irqsave(&qp->lock, flags);
	qp->rq_next++;
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_verbs_complete(qp, qp->ib.recv_cq, wc, solicited, 0);
}

static void complete_recv(struct rnic_qp *qp, enum ib_wc_status status, u32 len, bool solicited)
{
	struct ib_wc wc = { .status = status, .opcode = IB_WC_RECV, .byte_len = len };

	complete_recv_wc(qp, &wc, solicited);
}

static void complete_send(struct rnic_qp *qp, const struct rnic_send *send,
			  enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_cqe = send->cqe,
		.status = status,
		.qp = &qp->ib,
		.port_num = 1,
	};
	bool signaled = status || send->flags & IB_SEND_SIGNALED ||
			qp->init.sq_sig_type == IB_SIGNAL_ALL_WR;
	unsigned long flags;
	u32 next;

	switch (send->opcode) {
	case IB_WR_SEND:
		wc.opcode = IB_WC_SEND;
		break;
	case IB_WR_REG_MR:
		wc.opcode = IB_WC_REG_MR;
		break;
	case IB_WR_LOCAL_INV:
		wc.opcode = IB_WC_LOCAL_INV;
		break;
	default:
		wc.opcode = IB_WC_RDMA_WRITE;
		break;
	}
	spin_lock_irqsave(&qp->lock, flags);
	next = ++qp->sq_next;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (signaled)
		rnic_verbs_complete(qp, qp->ib.send_cq, &wc, false, next);
}

static enum ib_wc_status send_exec_write(struct rnic_qp *qp, struct rnic_qp *peer,
					 const struct rnic_send *send)
{
	const struct rnic_mr *mr = NULL;
	u32 pos, n;

	if (send->len) {
		if (peer->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE)
			mr = qp_find_mr(peer, send->rkey, send->raddr, send->len,
					IB_ACCESS_REMOTE_WRITE);
		if (!mr || mr->all) {
			rnic_wire_fail(peer, IB_EVENT_QP_ACCESS_ERR);
			return IB_WC_REM_ACCESS_ERR;
		}
	}
	for (pos = 0; pos < send->len; pos += n) {
		n = min_t(u32, send->len - pos, ib_mtu_enum_to_int(qp->attr.path_mtu));
		load_packet(qp, send, pos, n);
		dma_move(mr, send->raddr + pos, packet, n, true);
	}
	rnic_count(qp_rnic(qp), RNIC_WRITES, 1);
	rnic_count(qp_rnic(qp), RNIC_WRITE_BYTES, send->len);
	return IB_WC_SUCCESS;
}

/* The value comes with a completion of the peer's next receive, whose buffer is not used. */
static enum ib_wc_status send_exec_write_imm(struct rnic_qp *qp, struct rnic_qp *peer,
					     const struct rnic_send *send)
{
	struct ib_wc wc = {
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = send->len,
		.ex.imm_data = send->imm,
		.wc_flags = IB_WC_WITH_IMM,
	};
	enum ib_wc_status status;

	if (!qp_first_recv(peer)) {
		rnic_count(qp_rnic(qp), RNIC_RNR, 1);
		return IB_WC_RNR_RETRY_EXC_ERR;
	}
	status = send_exec_write(qp, peer, send);
	if (status == IB_WC_SUCCESS)
		complete_recv_wc(peer, &wc, send->flags & IB_SEND_SOLICITED);
	return status;
}

static enum ib_wc_status send_exec_send(struct rnic_qp *qp, struct rnic_qp *peer,
					const struct rnic_send *send)
{
	const struct rnic_recv *recv = qp_first_recv(peer);
	u32 pos, n, room = 0;
	int i;

	if (!recv) {
		rnic_count(qp_rnic(qp), RNIC_RNR, 1);
		return IB_WC_RNR_RETRY_EXC_ERR;
	}
	for (i = 0; i < recv->num_sge; i++)
		room += recv->sge[i].length;
	if (send->len > room) {
		complete_recv(peer, IB_WC_LOC_LEN_ERR, 0, true);
		rnic_wire_fail(peer, 0);
		return IB_WC_REM_INV_REQ_ERR;
	}
	if (!sges_valid(peer, recv->sge, recv->num_sge, IB_ACCESS_LOCAL_WRITE)) {
		complete_recv(peer, IB_WC_LOC_PROT_ERR, 0, true);
		rnic_wire_fail(peer, 0);
		return IB_WC_REM_OP_ERR;
	}
	for (pos = 0; pos < send->len; pos += n) {
		n = min_t(u32, send->len - pos, ib_mtu_enum_to_int(qp->attr.path_mtu));
		load_packet(qp, send, pos, n);
		sges_move(peer, recv->sge, recv->num_sge, pos, n, true);
	}
	complete_recv(peer, IB_WC_SUCCESS, send->len, send->flags & IB_SEND_SOLICITED);
	rnic_count(qp_rnic(qp), RNIC_SENDS, 1);
	return IB_WC_SUCCESS;
}

static enum ib_wc_status send_exec_reg(const struct rnic_qp *qp, const struct rnic_send *send)
{
	struct rnic_mr *mr = send->mr;

	if (mr->pd != qp->ib.pd || mr->state != RNIC_MR_FREE || mr->key >> 8 != send->rkey >> 8 ||
	    !mr->npages || !is_power_of_2(mr->ib.page_size))
		return IB_WC_MW_BIND_ERR;
	mr->key = send->rkey;
	mr->access = send->access;
	mr->iova = mr->ib.iova;
	mr->length = mr->ib.length;
	mr->page_shift = ilog2(mr->ib.page_size);
	mr->state = RNIC_MR_VALID;
	return IB_WC_SUCCESS;
}

static enum ib_wc_status send_exec_inv(const struct rnic_qp *qp, const struct rnic_send *send)
{
	struct rnic_mr *mr = xa_load(&rnic_mrs, send->rkey >> 8);

	if (!mr || mr->all || mr->key != send->rkey || mr->pd != qp->ib.pd)
		return IB_WC_MW_BIND_ERR;
	mr->state = RNIC_MR_FREE;
	return IB_WC_SUCCESS;
}

/* The peer does not answer. Returns -EAGAIN after scheduling the next attempt, or a status. */
static int send_retry(struct rnic_qp *qp)
{
	/* 4.096 us << timeout */
	u64 us = qp->attr.timeout ? (4096ULL << qp->attr.timeout) / 1000 : USEC_PER_SEC;

	if (!qp->retries)
		return IB_WC_RETRY_EXC_ERR;
	qp->retries--;
	queue_delayed_work(engine, &qp->work, usecs_to_jiffies(min_t(u64, us, U32_MAX)));
	return -EAGAIN;
}

/* Returns the status of the request, or -EAGAIN if it must be tried again later. */
static int send_execute(struct rnic_qp *qp, const struct rnic_send *send)
{
	struct rnic_qp *peer;
	int status;

	if (qp->state == IB_QPS_ERR)
		return IB_WC_WR_FLUSH_ERR;
	if (send->opcode == IB_WR_REG_MR)
		return send_exec_reg(qp, send);
	if (send->opcode == IB_WR_LOCAL_INV)
		return send_exec_inv(qp, send);
	if (!(send->flags & IB_SEND_INLINE) && !sges_valid(qp, send->sge, send->num_sge, 0))
		return IB_WC_LOC_PROT_ERR;
	peer = qp_find_peer(qp);
	if (!peer)
		return send_retry(qp);
	if (send->opcode == IB_WR_RDMA_WRITE)
		return send_exec_write(qp, peer, send);
	status = send->opcode == IB_WR_RDMA_WRITE_WITH_IMM ? send_exec_write_imm(qp, peer, send) :
							      send_exec_send(qp, peer, send);
	if (status == IB_WC_RNR_RETRY_EXC_ERR && qp->attr.rnr_retry == RNR_FOREVER) {
		queue_delayed_work(engine, &qp->work, msecs_to_jiffies(RNR_MS));
		return -EAGAIN;
	}
	return status;
}

static void qp_flush(struct rnic_qp *qp)
{
	while (qp_first_recv(qp))
		complete_recv(qp, IB_WC_WR_FLUSH_ERR, 0, true);
}

/* Execute one request. Returns false if there is none, or none that can be executed now. */
static bool qp_step(struct rnic_qp *qp)
{
	const struct rnic_send *send;
	int status;

	if (qp->state == IB_QPS_ERR)
		qp_flush(qp);
	send = qp_first_send(qp);
	if (!send)
		return false;
	status = send_execute(qp, send);
	if (status < 0)
		return false;
	if (status == IB_WC_SUCCESS)
		qp->retries = qp->attr.retry_cnt;
	complete_send(qp, send, status);
	if (status != IB_WC_SUCCESS && status != IB_WC_WR_FLUSH_ERR)
		rnic_wire_fail(qp, 0);
	return true;
}

/**
 * rnic_wire_work() - execute the posted requests
 * @work: work of a queue pair
 */
void rnic_wire_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(to_delayed_work(work), struct rnic_qp, work);
	bool more;

	do {
		mutex_lock(&rnic_wire);
		more = qp->state >= IB_QPS_RTS && qp_step(qp);
		if (!more && qp->state == IB_QPS_ERR)
			qp_flush(qp);
		mutex_unlock(&rnic_wire);
		cond_resched();
	} while (more);
}

/**
 * rnic_wire_run() - run the work now, because the state has changed
 * @qp: queue pair
 *
 * Context: any.
 */
void rnic_wire_run(struct rnic_qp *qp)
{
	mod_delayed_work(engine, &qp->work, 0);
}

/**
 * rnic_wire_posted() - run the work for a new request, or when its pending delay is over
 * @qp: queue pair
 *
 * Context: any.
 */
void rnic_wire_posted(struct rnic_qp *qp)
{
	queue_delayed_work(engine, &qp->work, 0);
}

int rnic_wire_init(void)
{
	engine = alloc_workqueue("dma_rnic", WQ_UNBOUND, 0);
	return engine ? 0 : -ENOMEM;
}

void rnic_wire_exit(void)
{
	destroy_workqueue(engine);
	WARN_ON_ONCE(!xa_empty(&rnic_qps) || !xa_empty(&rnic_mrs));
}
