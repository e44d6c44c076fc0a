/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A software RNIC that accesses memory as hardware does: by DMA address only.
 *
 * Soft-RoCE copies between CPU addresses, so it does not show a wrong DMA mapping,
 * direction or sync. Here each device has a DMA device of its own, and all memory
 * that it reads or writes is found from the DMA address alone. With swiotlb=force
 * the DMA address is that of a bounce buffer: bytes that were not synced are wrong.
 *
 * Implements RC queue pairs, SEND, RDMA WRITE, REG_MR, LOCAL_INV and RoCE v2 ports. The
 * wire is a function call: both ends are devices of this module, in any network namespace.
 */
#ifndef _DMA_RNIC_H
#define _DMA_RNIC_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#define RNIC_SGE		4	/* gather or scatter elements of a request */
#define RNIC_WRS		4096	/* requests of a queue */
#define RNIC_CQES		16384
#define RNIC_FAST_REG_PAGES	512
#define RNIC_MSG_MAX		BIT(30)
#define RNIC_INLINE_MAX		256

enum rnic_counter {
	RNIC_SENT_PKTS,
	RNIC_SENDS,
	RNIC_WRITES,
	RNIC_WRITE_BYTES,
	RNIC_REFUSED,
	RNIC_RNR,
	RNIC_BOUNCES,
	RNIC_COUNTERS,
};

/**
 * struct rnic - one device with one port
 * @ib: device of the RDMA core
 * @pdev: DMA device: memory is mapped for it
 * @ndev: network device of the port; the RDMA core holds a reference
 * @max_inline: inline bytes that a request may have
 * @up: state of the port in the latest event
 * @counter: see counter_desc in main.c
 */
struct rnic {
	struct ib_device ib;
	struct platform_device *pdev;
	struct net_device *ndev;
	u32 max_inline;
	bool up;
	atomic64_t counter[RNIC_COUNTERS];
};

struct rnic_pd {
	struct ib_pd ib;
};

enum rnic_mr_state { RNIC_MR_FREE, RNIC_MR_VALID };

/**
 * struct rnic_mr - a memory region
 * @ib: region of the RDMA core
 * @pd: protection domain
 * @key: lkey and rkey: index in rnic_mrs << 8, and a byte that the owner chooses
 * @state: FREE until a REG_MR was executed
 * @all: the region is all memory (pd->local_dma_lkey) and has no page list
 * @access: IB_ACCESS_*
 * @iova: address of the first byte
 * @length: number of bytes
 * @page_shift: log2 of the page size
 * @npages: used entries of @page
 * @max_pages: entries of @page
 * @page: DMA address of each page
 */
struct rnic_mr {
	struct ib_mr ib;
	struct ib_pd *pd;
	u32 key;
	enum rnic_mr_state state;
	bool all;
	int access;
	u64 iova;
	u64 length;
	u32 page_shift;
	u32 npages;
	u32 max_pages;
	dma_addr_t *page;
};

/**
 * struct rnic_send - a request of a send queue
 * @cqe: completion callback of the owner
 * @opcode: operation
 * @flags: IB_SEND_*
 * @num_sge: elements in @sge
 * @sge: gather list
 * @len: number of bytes
 * @data: the bytes, with IB_SEND_INLINE
 * @raddr: RDMA WRITE: remote address
 * @rkey: RDMA WRITE, LOCAL_INV: key
 * @imm: RDMA WRITE with an immediate value: the value
 * @mr: REG_MR: region
 * @access: REG_MR: IB_ACCESS_*
 */
struct rnic_send {
	struct ib_cqe *cqe;
	enum ib_wr_opcode opcode;
	int flags;
	int num_sge;
	struct ib_sge sge[RNIC_SGE];
	u32 len;
	u8 data[RNIC_INLINE_MAX];
	u64 raddr;
	u32 rkey;
	__be32 imm;
	struct rnic_mr *mr;
	int access;
};

struct rnic_recv {
	struct ib_cqe *cqe;
	int num_sge;
	struct ib_sge sge[RNIC_SGE];
};

/**
 * struct rnic_qp - a queue pair
 * @ib: queue pair of the RDMA core
 * @lock: protects posting and all positions; taken in any context
 * @state: changed with rnic_wire and @lock held
 * @attr: attributes, as modified
 * @init: attributes at creation
 * @sgid: own GID, from the address vector
 * @sq: ring of @sq_size requests
 * @sq_size: power of two
 * @sq_head: position after the last posted request
 * @sq_next: position after the last executed request
 * @sq_tail: requests before this position leave room for new ones: their completion, or that of
 *	a later request, was polled
 * @rq: ring of @rq_size receives
 * @rq_size: power of two
 * @rq_head: position after the last posted receive
 * @rq_next: position after the last used receive
 * @retries: attempts that are left before the request fails because the peer does not answer
 * @work: executes requests
 */
struct rnic_qp {
	struct ib_qp ib;
	spinlock_t lock;		/* see above */
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;
	union ib_gid sgid;
	struct rnic_send *sq;
	u32 sq_size;
	u32 sq_head;
	u32 sq_next;
	u32 sq_tail;
	struct rnic_recv *rq;
	u32 rq_size;
	u32 rq_head;
	u32 rq_next;
	u32 retries;
	struct delayed_work work;
};

/**
 * struct rnic_cqe - one completion
 * @wc: work completion, copied by poll_cq()
 * @qp: queue pair of the request; NULL: destroyed
 * @sq_tail: new sq_tail of the queue pair; unused for a receive
 */
struct rnic_cqe {
	struct ib_wc wc;
	struct rnic_qp *qp;
	u32 sq_tail;
};

/**
 * struct rnic_cq - a completion queue
 * @ib: completion queue of the RDMA core
 * @lock: protects all members; taken before the lock of a queue pair
 * @ring: ring of @size completions
 * @size: power of two
 * @head: position after the last added completion
 * @tail: position after the last polled completion
 * @armed: the next completion raises an interrupt; IB_CQ_SOLICITED or IB_CQ_NEXT_COMP
 * @late: delayed interrupt, see rnic_moderation
 */
struct rnic_cq {
	struct ib_cq ib;
	spinlock_t lock;		/* see above */
	struct rnic_cqe *ring;
	u32 size;
	u32 head;
	u32 tail;
	enum ib_cq_notify_flags armed;
	struct delayed_work late;
};

/* wire.c: held while a request is executed, so one at a time on all devices */
extern struct mutex rnic_wire;
/* queue pairs by number, regions by key >> 8, of all devices; protected by rnic_wire */
extern struct xarray rnic_qps;
extern struct xarray rnic_mrs;

int rnic_wire_init(void);
void rnic_wire_exit(void);
void rnic_wire_work(struct work_struct *work);
void rnic_wire_run(struct rnic_qp *qp);
void rnic_wire_posted(struct rnic_qp *qp);
void rnic_wire_fail(struct rnic_qp *qp, enum ib_event_type type);

/* verbs.c */
extern const struct ib_device_ops rnic_verbs_ops;
void rnic_verbs_complete(struct rnic_qp *qp, struct ib_cq *ibcq, const struct ib_wc *wc,
			 bool solicited, u32 sq_tail);

/* main.c */
extern unsigned int rnic_moderation;
bool rnic_port_up(const struct rnic *rnic);

static inline struct rnic *to_rnic(struct ib_device *ib)
{
	return container_of(ib, struct rnic, ib);
}

static inline struct rnic_qp *to_rnic_qp(struct ib_qp *ib)
{
	return container_of(ib, struct rnic_qp, ib);
}

static inline struct rnic_cq *to_rnic_cq(struct ib_cq *ib)
{
	return container_of(ib, struct rnic_cq, ib);
}

static inline struct rnic_mr *to_rnic_mr(struct ib_mr *ib)
{
	return container_of(ib, struct rnic_mr, ib);
}

static inline void rnic_count(struct rnic *rnic, enum rnic_counter counter, u64 n)
{
	atomic64_add(n, &rnic->counter[counter]);
}

#endif
