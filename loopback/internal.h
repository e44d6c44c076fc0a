/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_lo: an RDMA device whose queue pairs are all on this host.
 *
 * Locks, in this order: lo_qp.sq_lock of the sender, lo_qp.rq_lock of the receiver or of the sender
 * itself, lo_cq.lock. The locks of the two XArrays are taken alone or inside of these. All are
 * taken with softirqs disabled only: requests come from processes and softirqs, never from hard
 * interrupts. The mutex of the devices (device.c) comes before all of them, and RTNL before that.
 */
#ifndef SMC_LOOPBACK_INTERNAL_H
#define SMC_LOOPBACK_INTERNAL_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

/* Parameters of verbs that this device does not use, as the kernel has them. */
#ifdef SMC_HAVE_CREATE_CQ_BUNDLE
#define SMC_CREATE_CQ_ARG	uverbs_attr_bundle
#else
#define SMC_CREATE_CQ_ARG	ib_udata
#endif
#ifdef SMC_HAVE_REG_MR_DMAH
#define SMC_REG_USER_MR_ARGS	struct ib_dmah *dmah, struct ib_udata *udata
#else
#define SMC_REG_USER_MR_ARGS	struct ib_udata *udata
#endif

#define LO_PORT		1
#define LO_SGES		16	/* elements of one send request */
#define LO_RECV_SGES	4
#define LO_MAX_WR	BIT(14)
#define LO_MAX_CQE	BIT(16)
#define LO_MAX_PAGES	512	/* of one region */
#define LO_KEY_SHIFT	8	/* the low byte of a key belongs to its user */
#define LO_DMA_LKEY	0xffffff00U	/* no region has this key */

/* What was executed, in hw_counters of the port. */
enum lo_stat {
	LO_STAT_REQUESTS,	/* SENDs and WRITEs that have succeeded */
	LO_STAT_BYTES,		/* their bytes */
	LO_STAT_WAITS,		/* how often a request has found that it must wait */
	LO_NSTATS,
};

struct lo_stats {
	u64 count[LO_NSTATS];
};

/**
 * struct lo_device - an RDMA device of one netdev
 * @ib: device of the RDMA core
 * @num: no other device has had it; from 1 on
 * @entry: in lo_devices
 * @ndev: its netdev, to be compared; with a reference unless it is @gone
 * @gone: there was NETDEV_UNREGISTER: the netdev goes, or changes its namespace; the port is down
 *	for ever
 * @outward: the netdev is no loopback device: the queue pairs reach those of other such devices,
 *	while both are @up
 * @mrs: regions by key without its low byte; an entry holds a reference
 * @next_key: for xa_alloc_cyclic()
 * @stats: per CPU; changed with softirqs disabled
 * @linked: its queue pairs with &lo_qp.linked
 * @up: the port can be used: the netdev is up, and with @outward its namespace consents; written
 *	under lo_devices_mutex
 * @shown: the state that the port shows: down as soon as it is not @up, active when that is
 *	reported, since smc.ko believes the report
 * @changed: @up has changed since it was reported, perhaps back: the RDMA core may have asked
 *	meanwhile; lo_devices_mutex
 * @reported_at: jiffies of the last report; likewise
 * @report: reports @up
 */
struct lo_device {
	struct ib_device ib;
	u64 num;
	struct list_head entry;
	struct net_device *ndev;
	bool gone;
	bool outward;
	struct xarray mrs;
	u32 next_key;
	struct lo_stats __percpu *stats;
	atomic_t linked;
	bool up;
	bool shown;
	bool changed;
	unsigned long reported_at;
	struct delayed_work report;
};

/**
 * struct lo_pd - protection domain
 * @ib: of the RDMA core
 */
struct lo_pd {
	struct ib_pd ib;
};

/**
 * struct lo_cq - completion queue
 * @ib: of the RDMA core
 * @lock: protects what follows
 * @ring: @size entries
 * @size: number of entries, a power of 2
 * @head: entries taken so far
 * @tail: entries added so far
 * @armed: the next completion is reported
 */
struct lo_cq {
	struct ib_cq ib;
	spinlock_t lock;	/* innermost */
	struct ib_wc *ring;
	u32 size;
	u32 head;
	u32 tail;
	bool armed;
};

/**
 * struct lo_mr - memory region
 * @ib: of the RDMA core
 * @ref: @lo_device.mrs, and spans
 * @gone: completed when @ref is 0
 * @valid: registered; a region is registered once
 * @access: IB_ACCESS_* of the registration, valid with @valid
 * @npages: pages that are mapped
 * @max_pages: size of @pages
 * @whole: all pages are one area of kernel memory
 * @pages: kernel address of each page
 */
struct lo_mr {
	struct ib_mr ib;
	refcount_t ref;
	struct completion gone;
	bool valid;
	int access;
	u32 npages;
	u32 max_pages;
	bool whole;
	void *pages[];
};

/**
 * struct lo_span - bytes that a request may read or write
 * @mr: their region, with a reference; NULL: kernel memory
 * @addr: address of the next byte, as the request gives it
 * @left: bytes that are left
 */
struct lo_span {
	struct lo_mr *mr;
	u64 addr;
	u64 left;
};

/**
 * struct lo_send - a send request that waits
 * @wr: request; its list of elements is @sge
 * @rdma: a WRITE
 * @reg: REG_MR
 * @sge: elements
 */
struct lo_send {
	union {
		struct ib_send_wr wr;
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
	};
	struct ib_sge sge[LO_SGES];
};

/**
 * struct lo_recv - a receive request
 * @cqe: of its user
 * @nsge: number of elements
 * @sge: elements
 */
struct lo_recv {
	struct ib_cqe *cqe;
	u32 nsge;
	struct ib_sge sge[LO_RECV_SGES];
};

/**
 * struct lo_qp - queue pair
 * @ib: of the RDMA core
 * @ref: the table of queue pairs, requests of the other end that are being executed, and kicks
 * @gone: completed when @ref is 0
 * @dest: number of the other end, from RTR on
 * @dest_dev: &lo_device.num of the device that the other end has to belong to, from RTR on
 * @linked: in RTR or RTS, and the other end belongs to another device; @sq_lock
 * @access: IB_ACCESS_* that the other end has
 * @cap: sizes of the queues
 * @all_signaled: every send request gets a completion
 * @sq_lock: protects @state (with @rq_lock, for writing) and the send queue; held while requests
 *	are executed, so that they are executed in order
 * @rq_lock: protects the receive queue; held while a request of the other end is executed here, so
 *	that there is none when the queue pair has left RTR and RTS
 * @state: state
 * @sq: ring of requests that wait for the other end
 * @sq_mask: number of its places - 1; a power of 2 - 1, at least @cap.max_send_wr - 1
 * @sq_head: requests taken from @sq so far
 * @sq_tail: requests added so far
 * @rq: ring of receives
 * @rq_mask: likewise
 * @rq_head: receives taken so far
 * @rq_tail: receives added so far
 * @waiter: number of a queue pair with requests that wait for a receive or for RTR; 0: none;
 *	@rq_lock
 */
struct lo_qp {
	struct ib_qp ib;
	refcount_t ref;
	struct completion gone;
	u32 dest;
	u64 dest_dev;
	bool linked;
	int access;
	struct ib_qp_cap cap;
	bool all_signaled;
	spinlock_t sq_lock;	/* outermost */
	spinlock_t rq_lock;	/* inside of the sq_lock of either end */
	enum ib_qp_state state;
	struct lo_send *sq;
	u32 sq_mask;
	u32 sq_head;
	u32 sq_tail;
	struct lo_recv *rq;
	u32 rq_mask;
	u32 rq_head;
	u32 rq_tail;
	u32 waiter;
};

static inline void lo_stats_add(struct lo_device *dev, enum lo_stat stat, u64 n)
{
	this_cpu_add(dev->stats->count[stat], n);
}

static inline void lo_stats_count_request(struct lo_device *dev, u64 len)
{
	lo_stats_add(dev, LO_STAT_REQUESTS, 1);
	lo_stats_add(dev, LO_STAT_BYTES, len);
}

static inline struct lo_device *lo_device_from_ib(struct ib_device *ib)
{
	return container_of(ib, struct lo_device, ib);
}

/* consent.c */
int lo_consent_init(void (*changed)(struct net *net));
void lo_consent_exit(void);
bool lo_consent_given(const struct net *net);

/* cq.c */
int lo_cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		 struct SMC_CREATE_CQ_ARG *arg);
int lo_cq_destroy(struct ib_cq *ib, struct ib_udata *udata);
int lo_cq_poll(struct ib_cq *ib, int n, struct ib_wc *wc);
int lo_cq_arm(struct ib_cq *ib, enum ib_cq_notify_flags flags);
void lo_cq_push(struct ib_cq *ib, const struct ib_wc *wc);

/* mr.c */
struct ib_mr *lo_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages);
int lo_mr_map_pages(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset);
int lo_mr_free(struct ib_mr *ib, struct ib_udata *udata);
bool lo_mr_register(struct lo_device *dev, struct ib_pd *pd, const struct ib_reg_wr *wr);
bool lo_span_begin(struct lo_span *span, struct lo_device *dev, struct ib_pd *pd, u32 key, u64 addr,
		   u64 len, int access);
void lo_span_copy(struct lo_span *to, struct lo_span *from, u64 len);
void lo_span_end(struct lo_span *span);

/* qp.c */
int lo_qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata);
int lo_qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int lo_qp_query(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init);
int lo_qp_destroy(struct ib_qp *ib, struct ib_udata *udata);
int lo_qp_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int lo_qp_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
void lo_qp_cut_off_all(const struct lo_device *dev);

#endif
