// SPDX-License-Identifier: GPL-2.0-only
/* Verbs of the hostile peer: one RC queue pair from user space. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

#define PORT		1
#define RECVS		128
#define RECV_LEN	SMC_LLC_V2_MAX_LEN
#define STAGES		16
#define STAGE_OFF	((size_t)RECVS * RECV_LEN)
#define RMB_OFF		(STAGE_OFF + (size_t)STAGES * EL_MSG_MAX)
#define MEM_LEN		(RMB_OFF + (size_t)EL_CONNS * EL_ELEM_LEN)
#define SEND_ID		0x10000

u8 *el_rmb(const struct el_link *l)
{
	return l->mem + RMB_OFF;
}

static int recv_post(struct el_link *l, unsigned int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(l->mem + (size_t)i * RECV_LEN),
		.length = RECV_LEN,
		.lkey = l->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(l->qp, &wr, &bad);
}

/* Find the GID table entry of our IPv4 address (v4-mapped) on the opened device. */
static int gid_find(struct el_link *l)
{
	u8 want[16] = { 0 };

	memset(want + 10, 0xff, 2);
	memcpy(want + 12, &l->t->local.in.sin_addr, 4);
	for (int i = 0; i < 16; i++) {
		if (!ibv_query_gid(l->ctx, PORT, i, &l->gid) &&
		    !memcmp(l->gid.raw, want, sizeof(want))) {
			l->gid_index = i;
			return 0;
		}
	}
	return -ENODEV;
}

static int qp_make(struct el_link *l)
{
	struct ibv_qp_init_attr init = {
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 2 * STAGES,
			.max_recv_wr = RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};

	l->qp = ibv_create_qp(l->pd, &init);
	if (!l->qp)
		return -errno;
	return -ibv_modify_qp(l->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					    IBV_QP_ACCESS_FLAGS);
}

static int device_open(struct el_link *l)
{
	int nr = 0, err = -ENODEV;
	struct ibv_device **list = ibv_get_device_list(&nr);

	for (int i = 0; list && i < nr && err; i++) {
		l->ctx = ibv_open_device(list[i]);
		if (l->ctx)
			err = gid_find(l);
		if (l->ctx && err) {
			ibv_close_device(l->ctx);
			l->ctx = NULL;
		}
	}
	if (list)
		ibv_free_device_list(list);
	return err;
}

/* A new peer ID each time, so that the module's negative cache does not connect the cases. */
static void identity_make(struct el_link *l)
{
	static u32 nr;

	nr++;
	l->id[0] = 0x66;
	l->id[1] = 0x6c;
	smc_wire_put_be32(l->id + 4, nr ^ 0x5a000000);
	l->mac[0] = 0x52;
	l->mac[1] = 0x6c;
	smc_wire_put_be32(l->mac + 2, nr);
	l->psn = (0x666000 + nr) & 0xffffff;
}

/**
 * el_open() - open the verbs objects of a new link group
 * @l: initialized here; el_close() is required also after an error
 * @t: the server
 *
 * Return: 0 or a negative errno.
 */
int el_open(struct el_link *l, const struct evil_target *t)
{
	int err;

	memset(l, 0, sizeof(*l));
	l->t = t;
	identity_make(l);
	err = device_open(l);
	if (err)
		return err;
	l->pd = ibv_alloc_pd(l->ctx);
	l->cq = ibv_create_cq(l->ctx, 2 * (RECVS + 2 * STAGES), NULL, NULL, 0);
	l->mem = aligned_alloc(4096, MEM_LEN);
	if (!l->pd || !l->cq || !l->mem)
		return -ENOMEM;
	memset(l->mem, 0, MEM_LEN);
	l->mr = ibv_reg_mr(l->pd, l->mem, MEM_LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!l->mr)
		return -errno;
	err = qp_make(l);
	for (unsigned int i = 0; !err && i < RECVS; i++)
		err = recv_post(l, i);
	return err;
}

/**
 * el_close() - close the verbs objects, without a message to the server
 * @l: from el_open(), complete or not
 */
void el_close(struct el_link *l)
{
	if (l->qp)
		ibv_destroy_qp(l->qp);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	if (l->cq)
		ibv_destroy_cq(l->cq);
	if (l->pd)
		ibv_dealloc_pd(l->pd);
	if (l->ctx)
		ibv_close_device(l->ctx);
	free(l->mem);
	l->qp = NULL;
	l->mr = NULL;
	l->cq = NULL;
	l->pd = NULL;
	l->ctx = NULL;
	l->mem = NULL;
}

/**
 * el_qp_up() - move the queue pair from INIT to RTR and RTS
 * @l: group
 * @a: Accept of the server
 *
 * Return: 0 or a negative errno.
 */
int el_qp_up(struct el_link *l, const struct smc_clc_accept *a)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = a->mtu < SMC_MTU_1024 ? a->mtu : SMC_MTU_1024,
		.dest_qp_num = a->qpn,
		.rq_psn = a->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 5,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .sgid_index = l->gid_index, .hop_limit = 64 },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 16,
		.retry_cnt = 6,
		.rnr_retry = 7,
		.sq_psn = l->psn,
		.max_rd_atomic = 1,
	};
	int err;

	l->peer_qpn = a->qpn;
	memcpy(rtr.ah_attr.grh.dgid.raw, a->gid, sizeof(a->gid));
	err = ibv_modify_qp(l->qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER);
	if (!err)
		err = ibv_modify_qp(l->qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC);
	return -err;
}

static void wc_handle(struct el_link *l, const struct ibv_wc *wc)
{
	bool sent = wc->wr_id >= SEND_ID;

	if (sent && l->in_flight)
		l->in_flight--;
	if (wc->status != IBV_WC_SUCCESS) {
		if (l->status == IBV_WC_SUCCESS)
			l->status = wc->status;
		return;
	}
	if (sent)
		return;
	el_received(l, l->mem + wc->wr_id * RECV_LEN, wc->byte_len);
	if (!l->mute)
		recv_post(l, wc->wr_id);
}

/**
 * el_poll() - handle completions, and with them received messages
 * @l: group
 */
void el_poll(struct el_link *l)
{
	struct ibv_wc wc;

	while (l->cq && ibv_poll_cq(l->cq, 1, &wc) > 0)
		wc_handle(l, &wc);
	if (l->far)
		el_poll(l->far);
}

/**
 * el_flush() - wait for all completions
 * @l: group
 * @timeout_ms: how long to wait
 *
 * Return: 0, -EIO if a completion was bad (see @l->status), or -ETIMEDOUT.
 */
int el_flush(struct el_link *l, unsigned int timeout_ms)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;

	for (;;) {
		el_poll(l);
		if (l->status != IBV_WC_SUCCESS)
			return -EIO;
		if (!l->in_flight)
			return 0;
		if (tl_now_ns() >= until)
			return -ETIMEDOUT;
		tl_sleep_ms(1);
	}
}

static int post(struct el_link *l, enum ibv_wr_opcode op, const void *buf, size_t len, u64 addr,
		u32 key, u32 imm)
{
	u8 *stage = l->mem + STAGE_OFF + (size_t)(l->next_stage++ % STAGES) * EL_MSG_MAX;
	struct ibv_sge sge = { .addr = (uintptr_t)stage, .length = len, .lkey = l->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SEND_ID,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (len > EL_MSG_MAX)
		return -EMSGSIZE;
	/* limit the requests in flight, so that no staging area is used twice at a time */
	if (l->in_flight >= STAGES / 2 && el_flush(l, 20000))
		return -EIO;
	if (buf)
		memcpy(stage, buf, len);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 0x6666;
	} else if (op == IBV_WR_SEND_WITH_INV) {
		wr.invalidate_rkey = key;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = key;
		if (op == IBV_WR_RDMA_WRITE_WITH_IMM || op == IBV_WR_SEND_WITH_IMM)
			wr.imm_data = htonl(imm);
	}
	if (ibv_post_send(l->qp, &wr, &bad))
		return -EIO;
	l->in_flight++;
	return 0;
}

/**
 * el_post() - post one request
 * @l: group
 * @op: operation
 * @buf: bytes, copied; NULL for READ and atomic operations
 * @len: number of bytes
 * @addr: remote address, unused for SEND
 * @key: rkey, or key to invalidate; unused for other SENDs
 *
 * Return: 0 or a negative errno.
 */
int el_post(struct el_link *l, enum ibv_wr_opcode op, const void *buf, size_t len, u64 addr,
	    u32 key)
{
	return post(l, op, buf, len, addr, key, 0x66666666);
}

/* Post a WRITE of @len bytes with the immediate value @imm, as el_post(). */
int el_post_imm(struct el_link *l, const void *buf, size_t len, u64 addr, u32 key, u32 imm)
{
	return post(l, IBV_WR_RDMA_WRITE_WITH_IMM, buf, len, addr, key, imm);
}
