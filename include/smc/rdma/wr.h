/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue pair and the work requests on it. Rank 3.
 *
 * Requests of one smc_qp complete in posting order (RC), so only some are
 * signaled: a signaled completion retires every slot posted before it.
 */
#ifndef _SMC_RDMA_WR_H
#define _SMC_RDMA_WR_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <smc/rdma/ib.h>

#define SMC_WR_MSG_LEN		44	/* CDC and short LLC messages */
#define SMC_WR_LLC_MAX		8192	/* longest LLC v2 message we accept or send */
#define SMC_WR_WRITES_MAX	4	/* RDMA WRITEs chained before one CDC */

struct net;
struct smc_qp;

/**
 * struct smc_wr_events - what a queue pair tells its link (rank 5)
 * @received: one message arrived; @buf is valid during the call only
 * @broken: the queue pair failed or a request did; may be repeated
 * @slots_free: requests were retired while somebody had been refused a slot
 *
 * All run in softirq (CQ) context, BHs off, no lock of smc_wr held.
 * @broken may also run in any other context.
 */
struct smc_wr_events {
	void (*received)(void *ctx, const u8 *buf, u32 len);
	void (*broken)(void *ctx, enum ib_wc_status status);
	void (*slots_free)(void *ctx);
};

/**
 * struct smc_wr_slot - one message (CDC or LLC) with the WRITEs chained before it
 * @entry: free list, or posted list in posting order; under qp->sq_lock
 * @cqe: completion of the SEND
 * @qp: owner
 * @buf: message bytes, DMA-able, SMC_WR_MSG_LEN (SMC_WR_LLC_MAX if @big)
 * @dma: DMA address of @buf
 * @big: the slot can carry a long LLC message
 * @ctl: reserved for LLC
 * @posted: on the posted list
 * @signaled: its completion will be told, if it is posted
 * @probe: posted without a message, see rdma/tail_probe.c
 * @since: jiffies of its post
 * @bytes: of the WRITEs before the message, while it is posted
 * @started: when it was posted, in ns; 0: its own completion was not asked for
 * @done: called once when the request is retired, with the final status
 *	(IB_WC_SUCCESS, or an error when the queue pair broke: then the peer may
 *	have got it or not); softirq or process context, BHs off, no smc_wr lock
 *	held. May be NULL; NULL after smc_wr_slot_get().
 * @owner: for @done
 * @cookie: for @done (for example the stream position that the WRITEs reach)
 * @epoch: for @done
 * @seq: for @done
 */
struct smc_wr_slot {
	struct list_head entry;
	struct ib_cqe cqe;
	struct smc_qp *qp;
	u8 *buf;
	u64 dma;
	bool big;
	bool ctl;
	bool posted;
	bool signaled;
	bool probe;
	unsigned long since;
	u32 bytes;
	u64 started;
	void (*done)(struct smc_wr_slot *slot, enum ib_wc_status status);
	void *owner;
	u64 cookie;
	u32 epoch;
	u16 seq;
};

/**
 * struct smc_wr_write - one RDMA WRITE of a chain
 * @laddr: local address: DMA/iova address for @lkey
 * @vaddr: kernel virtual address of the same bytes (used when sent inline)
 * @lkey: local key
 * @len: bytes
 * @raddr: remote address
 * @rkey: remote key
 * @sge: gather elements, in place of @laddr and @lkey; then nothing goes inline
 * @nsge: their number, up to &smc_qp.max_sge; 0: there is but the one
 */
struct smc_wr_write {
	u64 laddr;
	void *vaddr;
	u32 lkey;
	u32 len;
	u64 raddr;
	u32 rkey;
	struct ib_sge *sge;
	u32 nsge;
};

struct smc_wr_recv;
struct smc_wr_mem;

/**
 * struct smc_drain_marker - the last request of a queue
 * @cqe: its completion
 * @done: it came, and so did those before it
 */
struct smc_drain_marker {
	struct ib_cqe cqe;
	struct completion done;
};

/**
 * struct smc_tail - requests that may have been lost with nothing behind them
 * @work: looks whether requests finish
 * @armed: it is due
 * @since: jiffies since when none has finished, as of the last look
 * @due: jiffies when the next probe goes, if none has finished then
 * @probes: those posted since @since
 */
struct smc_tail {
	struct delayed_work work;
	bool armed;
	unsigned long since;
	unsigned long due;
	u32 probes;
};

/**
 * struct smc_qp - a queue pair with its PD, CQ, slots and buffers
 * @dev: device
 * @net: namespace of the group, which ends before that
 * @pd: protection domain, the queue pair's own; NULL after smc_wr_qp_destroy()
 * @qpn: our queue pair number
 * @max_inline: bytes a request may carry inline
 * @max_sge: gather elements a request may have
 * @events: upward table
 * @ctx: for @events
 * @qp: verbs object; changed under @qp_mutex, used for posting under @sq_lock
 *	while not @broken
 * @cq: completions of both directions
 * @qp_mutex: state changes of the queue pair and its end
 * @sq_lock: posting, slot lists, @broken; BHs off
 * @free: slots for CDC
 * @free_ctl: slots reserved for LLC
 * @posted: in posting order
 * @unsignaled: slots posted since the last signaled one
 * @progress: jiffies when a slot was last retired
 * @nslots: slots, of both kinds
 * @bytes: of WRITEs that have not completed
 * @latency: ns from a post to its completion, smoothed; 0: none has completed
 * @starved: somebody was refused a slot
 * @broken: first failure seen, or fenced: nothing is posted any more
 * @broken_reported: events->broken was called, or the failure is wanted (fence)
 * @receiving: receives were posted: the end needs a drain
 * @slots: all slots
 * @recvs: receive requests
 * @nrecvs: number of them
 * @long_buf: a long message put together; used by the completion handler only
 * @mem: DMA-able pieces of memory, see rdma/qp.c
 * @nmem: number of them
 * @write_cqe: completion of every WRITE
 * @reg_cqe: completion of a REG_MR
 * @reg_mutex: one REG_MR at a time
 * @reg_pending: it has not completed
 * @reg_status: its result
 * @wait: for the end of a REG_MR
 * @markers: of the send and the receive queue, for the fence
 * @tail: see there; but for its work under @sq_lock
 * @kick: bits of what @kick_work has to tell
 * @kick_work: tells what was found where no upcall is possible
 *
 * Everything after @ctx is private to the files of smc_wr. The struct, its slots and their
 * buffers stay until smc_wr_qp_free(): who found the queue pair through a link
 * may call the slot functions at any time.
 */
struct smc_qp {
	struct smc_ib_device *dev;
	struct net *net;
	struct ib_pd *pd;
	u32 qpn;
	u32 max_inline;
	u32 max_sge;
	const struct smc_wr_events *events;
	void *ctx;

	struct ib_qp *qp;
	struct ib_cq *cq;
	struct mutex qp_mutex;		/* see above */
	spinlock_t sq_lock;		/* see above */
	struct list_head free;
	struct list_head free_ctl;
	struct list_head posted;
	u32 unsignaled;
	unsigned long progress;
	u32 nslots;
	u64 bytes;
	u32 latency;
	bool starved;
	bool broken;
	bool broken_reported;
	bool receiving;
	struct smc_wr_slot *slots;
	struct smc_wr_recv *recvs;
	u32 nrecvs;
	u8 *long_buf;
	struct smc_wr_mem *mem;
	u32 nmem;
	struct ib_cqe write_cqe;
	struct ib_cqe reg_cqe;
	struct mutex reg_mutex;		/* see above */
	bool reg_pending;
	enum ib_wc_status reg_status;
	wait_queue_head_t wait;
	struct smc_drain_marker markers[2];
	struct smc_tail tail;
	unsigned long kick;
	struct work_struct kick_work;
};

/**
 * struct smc_wr_attr - parameters to bring a queue pair to RTS
 * @port: local port
 * @sgid_index: local GID index
 * @sgid: the GID expected there
 * @mtu: path MTU, enum ib_mtu, already the minimum of both sides
 * @dgid: peer GID
 * @dmac: next hop MAC
 * @hop_limit: 1 when direct, 64 across routers
 * @peer_qpn: peer queue pair number
 * @peer_psn: peer's first PSN (our rq_psn)
 * @psn: our first PSN (sq_psn)
 */
struct smc_wr_attr {
	u8 port;
	u16 sgid_index;
	union ib_gid sgid;
	u8 mtu;
	union ib_gid dgid;
	u8 dmac[6];
	u8 hop_limit;
	u32 peer_qpn;
	u32 peer_psn;
	u32 psn;
};

/* Creates PD, CQ and QP on @dev and moves the QP to INIT. Sleeps. ERR_PTR on error. */
struct smc_qp *smc_wr_qp_create(struct smc_ib_device *dev, u8 port, struct net *net,
				const struct smc_wr_events *events, void *ctx);
/* INIT -> RTR with all receives posted -> RTS. Sleeps. */
int smc_wr_qp_connect(struct smc_qp *qp, const struct smc_wr_attr *attr);
/*
 * Fences and drains: every slot's done has run on return, the HCA is silent. Sleeps.
 * 0, or -ETIMEDOUT if the verbs object had to go for that.
 */
int smc_wr_qp_drain(struct smc_qp *qp);
/* Ends QP, CQ, DMA mappings and PD; drained before, no MR of the PD left. Sleeps. */
void smc_wr_qp_destroy(struct smc_qp *qp);
/* Frees the memory of a destroyed queue pair, when nobody can find it any more. Any context. */
void smc_wr_qp_free(struct smc_qp *qp);

/*
 * rdma/drain.c. Moves the QP to ERR: the peer's WRITEs end here. Process context;
 * idempotent. The others are for rdma/qp.c, with qp_mutex held.
 */
void smc_wr_qp_fence(struct smc_qp *qp);
void smc_wr_fence_begin(struct smc_qp *qp);
int smc_wr_fence_flush(struct smc_qp *qp);

/* Any context. NULL when no slot is free (then slots_free follows) or the QP is broken. */
struct smc_wr_slot *smc_wr_slot_get(struct smc_qp *qp);
/* LLC slots: @len decides the size class. */
struct smc_wr_slot *smc_wr_slot_get_ctl(struct smc_qp *qp, u32 len);
void smc_wr_slot_put(struct smc_wr_slot *slot);	/* gives back a slot that was not posted */
/*
 * Posts @nwrites WRITEs and then the SEND of @len bytes of slot->buf with one
 * ib_post_send(). @signal forces a completion for this slot; without it the slot
 * is retired with a later one. 0, or -errno: then nothing was posted, the caller
 * still owns the slot and the events->broken call follows on its own. WRITEs that the
 * device refused count as posted: it may have begun with them.
 * Callable with BHs off and a spinlock (conn->lock) held.
 */
int smc_wr_post(struct smc_wr_slot *slot, u32 len, const struct smc_wr_write *writes,
		int nwrites, bool signal);
/* Registers @mr on the QP (REG_MR) and waits for it, at most 5 s. Sleeps. */
int smc_wr_reg_mr(struct smc_qp *qp, struct ib_mr *mr, int access);
bool smc_wr_qp_idle(struct smc_qp *qp);	/* no request is unfinished */
/* Is the completion of a request due; since when is the oldest one the next to finish. */
bool smc_wr_qp_waiting(struct smc_qp *qp, unsigned long *since);
/* How busy it is: bytes of unfinished WRITEs, and the usual time of a request in ns. */
void smc_wr_qp_load(struct smc_qp *qp, u64 *bytes, u32 *latency);

#endif
