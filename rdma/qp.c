// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creation, connection and destruction of a queue pair; see smc_wr.c for its work requests.
 *
 * Receive buffers: a message usually has 44 bytes, but a long LLC v2 message may arrive at any
 * time, and a receive that is too small for it breaks the queue pair. So each receive has a small
 * buffer of its own and continues in one of SMC_WR_SPILLS shared buffers, in turns.
 * A long message is overwritten if a further long one arrives in the same buffer before it is
 * handled. A correct peer serialises its LLC exchanges, and what it sends is copied as it arrives.
 * A misbehaving peer corrupts its own messages only, which are checked after they were copied out.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/settings.h>
#include "internal.h"

/* Sets of max_send_wr slots: one set waits for its completion, others can be filled. */
#define SEND_BATCHES		3
/* Sets of max_recv_wr receives with small buffers, for what the peer sends meanwhile. */
#define RECV_BATCHES		4
/* Including the big one, and one for smc_qp_probe(). */
#define LLC_SLOTS		(4 + SMC_TAIL_PROBES + 1)
#define SLOTS_MIN		(LLC_SLOTS + 2 * SEND_BATCHES)	/* net.smc.smcr_max_send_wr is 2 */
#define EXTRA_WRS		1	/* the drain marker */
/*
 * Requests that a CDC slot has on average: a WRITE and the message, or two WRITEs. Slots of more
 * are rare, and then there are fewer slots (qp->wrs). With three sets of the default length the
 * send queue has less than 128 requests: software RNICs clear twice the memory for one more, in
 * each first contact.
 */
#define SLOT_WRS_USUAL		2
/* Requests for CDC: the last slot can be of any length, too. */
#define CDC_WRS(nslots)		(((nslots) - LLC_SLOTS) * SLOT_WRS_USUAL + SMC_WR_SLOT_WRS)
/* Send requests with @nslots slots, the drain marker included; LLC messages have no WRITEs. */
#define SEND_WRS(nslots)	(CDC_WRS(nslots) + LLC_SLOTS + EXTRA_WRS)
/* As large in a send queue as the inline data that devices have room for. */
#define GATHER_MAX		16

#define RECV_LEN		64
#define SPILL_LEN		(SMC_WR_LLC_MAX - RECV_LEN)

/*
 * What a request, a gather element and a completion take in the queues of the device, which does
 * not tell. Common RNICs and devices in software are near these figures.
 */
#define WQE_LEN			64
#define SGE_LEN			16
#define CQE_LEN			64

#define MSG_STRIDE		64	/* a message, aligned */
#define PIECE_MSGS		64	/* messages per allocation, to avoid large ones */

/* ---- creation ---- */

/* Allocate memory that smc_qp_destroy() unmaps. It frees that of receives, smc_qp_free() others. */
static struct smc_wr_mem *qp_alloc_mem(struct smc_qp *qp, u32 len, enum dma_data_direction dir)
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

static int qp_create_slots(struct smc_qp *qp)
{
	struct smc_wr_mem *big, *small = NULL;
	struct smc_wr_slot *slot;
	u32 i;

	qp->slots = smc_fault_null(QP_SLOTS,
				   kvcalloc(qp->nslots, sizeof(*qp->slots), GFP_KERNEL));
	big = qp_alloc_mem(qp, SMC_WR_LLC_MAX, DMA_TO_DEVICE);
	if (!qp->slots || !big)
		return -ENOMEM;
	qp->wrs = CDC_WRS(qp->nslots);
	for (i = 0; i < qp->nslots; i++) {
		if (!(i % PIECE_MSGS))
			small = qp_alloc_mem(qp, PIECE_MSGS * MSG_STRIDE, DMA_TO_DEVICE);
		if (!small)
			return -ENOMEM;
		slot = &qp->slots[i];
		slot->qp = qp;
		smc_wr_init_slot(slot);
		slot->big = i == qp->nslots - 1;
		slot->llc = i >= qp->nslots - LLC_SLOTS;
		slot->buf = slot->big ? big->addr : small->addr + i % PIECE_MSGS * MSG_STRIDE;
		slot->dma = slot->big ? big->dma : small->dma + i % PIECE_MSGS * MSG_STRIDE;
		list_add_tail(&slot->entry, slot->llc ? &qp->free_llc : &qp->free);
	}
	return 0;
}

static int qp_create_recvs(struct smc_qp *qp)
{
	bool two = qp->dev->max_recv_sge >= 2;
	struct smc_wr_mem *mem = NULL;
	struct smc_wr_recv *recv;
	u32 i;

	qp->recvs = smc_fault_null(QP_RECVS,
				   kvcalloc(qp->nrecvs, sizeof(*qp->recvs), GFP_KERNEL));
	if (!qp->recvs)
		return -ENOMEM;
	qp->recv_len = two ? RECV_LEN : SMC_WR_LLC_MAX;
	for (i = 0; two && i < SMC_WR_SPILLS; i++) {
		qp->spills[i] = qp_alloc_mem(qp, SPILL_LEN, DMA_FROM_DEVICE);
		if (!qp->spills[i])
			return -ENOMEM;
	}
	for (i = 0; i < qp->nrecvs; i++) {
		recv = &qp->recvs[i];
		smc_wr_init_recv(recv);
		recv->qp = qp;
		if (!two || !(i % PIECE_MSGS))
			mem = qp_alloc_mem(qp, two ? PIECE_MSGS * RECV_LEN : SMC_WR_LLC_MAX,
					   DMA_FROM_DEVICE);
		if (!mem)
			return -ENOMEM;
		recv->buf = two ? mem->addr + i % PIECE_MSGS * RECV_LEN : mem->addr;
		recv->dma = two ? mem->dma + i % PIECE_MSGS * RECV_LEN : mem->dma;
	}
	return 0;
}

/*
 * Reduce the request until the device accepts it: first to one gather element, then to less
 * inline data, then to fewer slots.
 */
static int qp_create_ib_qp(struct smc_qp *qp)
{
	u32 sges = clamp_t(int, qp->dev->ibdev->attrs.max_send_sge, 1, GATHER_MAX);
	u32 wanted = qp->nslots;
	u32 max_inline = READ_ONCE(qp->dev->max_inline);
	struct ib_qp_init_attr init;

	for (;;) {
		memset(&init, 0, sizeof(init));
		init.event_handler = smc_qp_event;
		init.qp_context = qp;
		init.send_cq = qp->cq;
		init.recv_cq = qp->cq;
		init.cap.max_send_wr = SEND_WRS(qp->nslots);
		init.cap.max_recv_wr = qp->nrecvs + 1;	/* the drain marker */
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
		/* Later queue pairs of the device start here. */
		WRITE_ONCE(qp->dev->max_inline, max_inline);
	qp->max_inline = min(max_inline, init.cap.max_inline_data);
	qp->max_sge = clamp_t(u32, init.cap.max_send_sge, 1, sges);
	qp->qpn = qp->qp->qp_num;
	return 0;
}

/* Return how many slots so many send requests are for; 0: not even those for LLC. */
static u32 qp_slots_of_wrs(u32 wrs)
{
	u32 least = SEND_WRS(LLC_SLOTS);

	return wrs < least ? 0 : LLC_SLOTS + (wrs - least) / SLOT_WRS_USUAL;
}

/*
 * Set the queue lengths: those of the namespace (net.smc.*), within the limits of the device.
 * Slots complete in batches, so there are several times as many, and receives, if their buffers are
 * small.
 */
static int qp_set_depth(struct smc_qp *qp, const struct smc_settings *sn)
{
	const struct ib_device_attr *attrs = &qp->dev->ibdev->attrs;
	u32 max_wr = max_t(int, attrs->max_qp_wr, EXTRA_WRS);
	u32 max_cqe = max_t(int, attrs->max_cqe, 2 * EXTRA_WRS);
	u32 recvs = READ_ONCE(sn->max_recv_wr);

	if (qp->dev->max_recv_sge >= 2)
		recvs *= RECV_BATCHES;
	/* A flush completes unsignaled requests, too: every request needs a place in the CQ. */
	qp->nrecvs = min3(recvs, max_wr - 1, max_cqe / 4);
	/* so few that the peer does not miss them */
	qp->recv_batch.size = clamp_t(u32, qp->nrecvs / 16, 1, SMC_WR_RECV_BATCH);
	qp->nslots = min3(READ_ONCE(sn->max_send_wr) * SEND_BATCHES + LLC_SLOTS,
			  qp_slots_of_wrs(max_wr), qp_slots_of_wrs(max_cqe - qp->nrecvs - 1));
	return qp->nslots < SLOTS_MIN ? -EOPNOTSUPP : 0;
}

static int qp_create_verbs(struct smc_qp *qp, u8 port)
{
	struct ib_pd *pd;
	int rc;

	pd = smc_fault_ptr(QP_PD, -ENOMEM, ib_alloc_pd(qp->dev->ibdev, 0));
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	qp->pd = pd;
	rc = smc_cq_create(qp, SEND_WRS(qp->nslots) + qp->nrecvs + 1);
	if (rc)
		return rc;
	rc = qp_create_ib_qp(qp);
	return rc ?: smc_qp_modify_to_init(qp->qp, port, IB_ACCESS_LOCAL_WRITE |
							 IB_ACCESS_REMOTE_WRITE);
}

/**
 * smc_qp_get_bytes() - Return what a queue pair takes of our memory
 * @qp: queue pair from smc_qp_create(), not destroyed
 *
 * Its buffers and slots, and an estimate of the device's queues. Any context.
 *
 * Return: bytes.
 */
u64 smc_qp_get_bytes(const struct smc_qp *qp)
{
	u64 nsends = SEND_WRS(qp->nslots), nrecvs = qp->nrecvs, bytes;
	u32 i;

	bytes = nsends * (WQE_LEN + qp->max_sge * SGE_LEN) + nrecvs * (WQE_LEN + 2 * SGE_LEN) +
		(nsends + nrecvs) * CQE_LEN;
	for (i = 0; i < qp->nmem; i++)
		bytes += qp->mem[i].len;
	return bytes + (u64)qp->nslots * sizeof(*qp->slots) + nrecvs * sizeof(*qp->recvs) +
	       (READ_ONCE(qp->long_buf) ? SMC_WR_LLC_MAX : 0);
}

/**
 * smc_qp_create() - Create a queue pair with its PD, CQ, slots and buffers
 * @dev: device; the caller keeps a reference until smc_qp_destroy()
 * @port: port number
 * @net: namespace whose settings give the queue lengths; outlives the queue pair
 * @events: upcalls; none is made before smc_qp_connect()
 * @ctx: for @events
 *
 * Process context.
 *
 * Return: the queue pair in INIT, to be ended with smc_qp_drain(), smc_qp_destroy() and
 * smc_qp_free(); or ERR_PTR, -EOPNOTSUPP if the queues of the device are too short.
 */
struct smc_qp *smc_qp_create(struct smc_ib_device *dev, u8 port, struct net *net,
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
	qp->stats = smc_stats_of(net);
	spin_lock_init(&qp->sq_lock);
	INIT_LIST_HEAD(&qp->free);
	INIT_LIST_HEAD(&qp->free_llc);
	INIT_LIST_HEAD(&qp->posted);
	init_waitqueue_head(&qp->wait);
	qp->progress = jiffies;
	smc_wr_init_qp(qp);
	smc_mr_init_queue(qp);

	rc = qp_set_depth(qp, smc_settings_get(net));
	if (!rc)
		rc = qp_create_verbs(qp, port);
	if (rc)
		goto fail;
	/* Slots and the big one; then spills and small receives, or one long buffer per receive. */
	n = DIV_ROUND_UP(qp->nslots, PIECE_MSGS) + 1;
	n += dev->max_recv_sge >= 2 ? SMC_WR_SPILLS + DIV_ROUND_UP(qp->nrecvs, PIECE_MSGS) :
				      qp->nrecvs;
	qp->mem = smc_fault_null(QP_MEM, kvcalloc(n, sizeof(*qp->mem), GFP_KERNEL));
	rc = qp->mem ? qp_create_slots(qp) : -ENOMEM;
	if (!rc)
		rc = qp_create_recvs(qp);
	if (rc)
		goto fail;
	return qp;
fail:
	smc_qp_destroy(qp);
	smc_qp_free(qp);
	return ERR_PTR(rc);
}

/* ---- states ---- */

/**
 * smc_qp_connect() - Move a queue pair from INIT over RTR to RTS
 * @qp: queue pair in INIT
 * @attr: both ends; values from the peer are checked here as far as verbs require
 *
 * Posts all receives before RTR, so that the peer's first message finds one. Both ends may go on to
 * RTS at once, as RTS only allows to send. Memory can be registered afterwards. Process context.
 *
 * Return: 0, -EINVAL (values of the peer), -ENOTCONN (connected already, broken or destroyed),
 * -EADDRNOTAVAIL (another GID is at our index), or the error of the device. After any error but
 * -EINVAL the queue pair can only be drained and destroyed.
 */
int smc_qp_connect(struct smc_qp *qp, const struct smc_qp_attr *attr)
{
	int rc;

	if (attr->mtu < IB_MTU_256 || attr->mtu > IB_MTU_4096 || attr->peer_qpn > 0xffffff ||
	    attr->peer_psn > 0xffffff)
		return -EINVAL;
	mutex_lock(&qp->qp_mutex);
	if (!qp->qp || qp->receiving || READ_ONCE(qp->broken)) {
		mutex_unlock(&qp->qp_mutex);
		return -ENOTCONN;
	}
	qp->receiving = true;
	rc = smc_wr_post_recvs(qp);
	if (!rc)
		rc = smc_qp_modify_to_rtr(qp->dev->ibdev, qp->qp, attr);
	if (!rc)
		rc = smc_qp_modify_to_rts(qp->qp, attr);
	if (!rc)
		smc_mr_open_queue(qp, attr);
	mutex_unlock(&qp->qp_mutex);
	return rc;
}

/* Free what the slot functions do not use: an open socket keeps the queue pair of its dead link. */
static void qp_free_recvs(struct smc_qp *qp)
{
	u32 i;

	for (i = 0; i < qp->nmem; i++) {
		if (qp->mem[i].dir != DMA_FROM_DEVICE)
			continue;
		kfree(qp->mem[i].addr);
		qp->mem[i].addr = NULL;
	}
	kfree(qp->long_buf);
	qp->long_buf = NULL;
	kvfree(qp->recvs);
	qp->recvs = NULL;
}

/**
 * smc_qp_destroy() - Destroy the verbs objects, unmap the buffers and free the receives
 * @qp: drained queue pair; no MR of its PD is left
 *
 * The slot functions may still be called: smc_wr_slot_get() gets none, smc_wr_post() is refused,
 * and slots can be put. Process context.
 */
void smc_qp_destroy(struct smc_qp *qp)
{
	struct smc_wr_mem *mem;
	u32 i;

	/*
	 * First the queue pair that never sends. Soft-RoCE keeps the other one for as long as a
	 * packet of it waits in a queue of the network, which is long if the peer is unreachable.
	 */
	smc_mr_close_queue(qp);
	mutex_lock(&qp->qp_mutex);
	smc_qp_fence_locked(qp);
	if (qp->qp)
		ib_destroy_qp(qp->qp);
	qp->qp = NULL;
	mutex_unlock(&qp->qp_mutex);
	smc_cq_free(qp);
	smc_tail_stop(qp);
	cancel_work_sync(&qp->upcall_work);
	for (i = 0; i < qp->nmem; i++) {
		mem = &qp->mem[i];
		if (mem->mapped)
			ib_dma_unmap_single(qp->dev->ibdev, mem->dma, mem->len, mem->dir);
		mem->mapped = false;
	}
	qp_free_recvs(qp);
	if (qp->pd)
		ib_dealloc_pd(qp->pd);
	qp->pd = NULL;
}

/**
 * smc_qp_free() - Free the memory of a destroyed queue pair
 * @qp: queue pair that no caller can reach, and no slot of which is held
 *
 * Any context.
 */
void smc_qp_free(struct smc_qp *qp)
{
	u32 i;

	for (i = 0; i < qp->nmem; i++)
		kfree(qp->mem[i].addr);
	kvfree(qp->mem);
	kvfree(qp->slots);
	kfree(qp);
}
