/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reliably connected queue pairs and the work requests on them. smc_wr.c explains slots,
 * completions and ownership.
 */
#ifndef _SMC_RDMA_WR_H
#define _SMC_RDMA_WR_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <smc/rdma/ib.h>

#define SMC_WR_MSG_LEN		44	/* a CDC or LLC v1 message */
#define SMC_WR_LLC_MAX		8192	/* longest LLC v2 message to accept or send */
#define SMC_WR_WRITES_MAX	4	/* RDMA WRITEs chained before one CDC message */

struct net;
struct smc_stats;
struct smc_qp;

/**
 * struct smc_wr_events - upcalls of a queue pair, implemented by smc_core.c
 * @received: a message of @len bytes arrived; @buf is valid during the call only
 * @received_imm: the peer has written into our memory, and its last WRITE carried the immediate
 *	value @imm
 * @broken: the queue pair or one of its requests failed; called at most once, and not for
 *	the failures that a fence causes
 * @slots_free: slots became free after a caller had got none
 *
 * Called with BHs off and no lock of smc_wr.c held: in softirq (completion queue), or in
 * process context from a work item. @broken may also be called in any other context but
 * hard interrupt.
 */
struct smc_wr_events {
	void (*received)(void *ctx, const u8 *buf, u32 len);
	void (*received_imm)(void *ctx, u32 imm);
	void (*broken)(void *ctx, enum ib_wc_status status);
	void (*slots_free)(void *ctx);
};

/**
 * struct smc_wr_slot - one message (CDC or LLC) with the RDMA WRITEs chained before it
 * @entry: in a free list, or in the posted list in posting order; under qp->sq_lock
 * @cqe: completion of the SEND
 * @qp: queue pair
 * @buf: the message, DMA-able: SMC_WR_MSG_LEN bytes, or SMC_WR_LLC_MAX if @big
 * @dma: DMA address of @buf
 * @big: the slot can carry a long LLC message
 * @llc: reserved for LLC messages and probes
 * @posted: in the posted list
 * @signaled: the device reports the completion of the SEND
 * @probe: posted as a tail probe, without a message (rdma/tail_probe.c)
 * @wrs: requests of qp->wrs that it has: as many as it may need, and from the post on those that it
 *	has posted; 0: free, or reserved for LLC
 * @since: jiffies at the post
 * @bytes: total length of the WRITEs; counted in qp->bytes while posted
 * @started: ns (ktime) at the post; 0 if the latency is not measured: unsignaled, or a probe
 * @done: called once when the posted slot completes. IB_WC_SUCCESS, or an error after the
 *	queue pair broke: then the peer may or may not have got the message. Softirq or
 *	process context, BHs off, no lock of smc_wr.c held. The slot is freed after the
 *	call. May be NULL, and is NULL after smc_wr_slot_get().
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
	bool llc;
	bool posted;
	bool signaled;
	bool probe;
	u8 wrs;
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
 * @laddr: local address: DMA/iova address for @lkey; not read if the post copies the bytes
 *	(smc_qp_copies_write()), or if they are in @sge
 * @vaddr: kernel virtual address of the same bytes, read if they are
 * @lkey: local key, as @laddr
 * @len: bytes
 * @raddr: remote address
 * @rkey: remote key
 * @sge: gather elements to use instead of @laddr and @lkey; then the data is never inline
 * @nsge: number of them, up to smc_qp.max_sge; 0: use @laddr and @lkey
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
 * struct smc_drain_marker - the last request of a send or receive queue, posted by the drain
 * @cqe: its completion
 * @done: it has completed, hence all requests before it, too; written in softirq, never cleared
 */
struct smc_drain_marker {
	struct ib_cqe cqe;
	bool done;
};

/**
 * struct smc_tail - tail loss probing of a queue pair, see rdma/tail_probe.c
 * @work: checks for progress and posts probes
 * @armed: @work is scheduled
 * @since: jiffies of the last progress, as @work saw it in its last run
 * @due: jiffies at which the next probe is posted if there is no progress
 * @probes: probes posted since @since
 * @asked: the slot of the last probe of smc_qp_probe(), or NULL; it may be in other use
 * @again: smc_qp_probe() was called while that was in flight, or without a slot for it
 */
struct smc_tail {
	struct delayed_work work;
	bool armed;
	unsigned long since;
	unsigned long due;
	u32 probes;
	const struct smc_wr_slot *asked;
	bool again;
};

/**
 * struct smc_qp_attr - parameters to bring a queue pair to RTS
 * @port: local port
 * @sgid_index: local GID index
 * @sgid: the GID expected at that index
 * @mtu: path MTU, enum ib_mtu, the minimum of both sides
 * @dgid: peer GID
 * @dmac: MAC of the next hop
 * @hop_limit: 1 if the peer is on the same segment, 64 across routers
 * @traffic_class: of our packets: DSCP, without ECN bits
 * @sl: service level of our packets
 * @peer_qpn: peer queue pair number
 * @peer_psn: first PSN of the peer (our rq_psn)
 * @psn: our first PSN (sq_psn)
 */
struct smc_qp_attr {
	u8 port;
	u16 sgid_index;
	union ib_gid sgid;
	u8 mtu;
	union ib_gid dgid;
	u8 dmac[6];
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	u32 peer_qpn;
	u32 peer_psn;
	u32 psn;
};

/**
 * struct smc_mr_queue - how memory regions of a queue pair are registered, see rdma/mr.c
 * @mutex: one REG_MR at a time; protects the other members
 * @open: registrations are possible: the queue pair of the link is connected, and not destroyed
 * @attr: attributes with which it was connected
 * @qp: queue pair for REG_MRs only; NULL: not needed yet, or closed
 * @cq: its completion queue
 * @cqe: completion of a REG_MR
 * @done: it has completed
 * @status: its result
 */
struct smc_mr_queue {
	struct mutex mutex;
	bool open;
	struct smc_qp_attr attr;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

/**
 * struct smc_wr_chain - the requests of one slot, linked for ib_post_send()
 * @writes: WRITEs
 * @send: the message
 * @sge: their gather elements
 *
 * What is the same in every message is set once. Memory of the queue pair and not of the stack,
 * which hardened kernels clear for each call.
 */
struct smc_wr_chain {
	struct ib_rdma_wr writes[SMC_WR_WRITES_MAX];
	struct ib_send_wr send;
	struct ib_sge sge[SMC_WR_WRITES_MAX + 1];
};

/* Receives that are posted together. */
#define SMC_WR_RECV_BATCH	8
#define SMC_WR_SPILLS		2	/* buffers for the rest of long messages, see rdma/qp.c */

/**
 * struct smc_wr_recv_batch - receives that are to be posted; under sq_lock
 * @size: so many are posted together
 * @n: so many wait, fewer than @size
 * @wr: the requests
 * @sge: their scatter elements
 *
 * Those that wait when the queue pair breaks are not posted.
 */
struct smc_wr_recv_batch {
	u32 size;
	u32 n;
	struct ib_recv_wr wr[SMC_WR_RECV_BATCH];
	struct ib_sge sge[SMC_WR_RECV_BATCH][2];
};

/**
 * struct smc_qp - a queue pair with its PD, CQ, slots and buffers
 * @dev: device
 * @stats: counters of the namespace of the link group, which outlives the queue pair
 * @pd: protection domain of this queue pair alone; NULL after smc_qp_destroy()
 * @qpn: our queue pair number
 * @max_inline: bytes that a request may carry inline
 * @max_sge: gather elements that a request may have
 * @events: upcalls
 * @ctx: for @events
 * @qp: verbs object; changed under @qp_mutex, used for posting under @sq_lock
 *	while not @broken
 * @cq: completion queue of both directions
 * @cq_handler: what the RDMA core does when @cq has completions
 * @cq_irq_work: calls it, see rdma/cq.c
 * @qp_mutex: serialises state changes and destruction of @qp
 * @sq_lock: protects posting, the slot lists and @broken; BHs off
 * @free: free slots for CDC
 * @wrs: send requests that these may take; most slots need few of them, so it may end first
 * @free_llc: free slots reserved for LLC; the big one is the last
 * @posted: posted slots, in posting order
 * @chain: what is being posted; under @sq_lock
 * @unsignaled: slots posted since the last signaled one
 * @progress: jiffies when slots last completed
 * @nslots: slots, of both kinds
 * @bytes: total length of the WRITEs that have not completed
 * @latency: ns from post to completion, smoothed; 0: nothing measured yet
 * @starved: a caller got no slot; @events->slots_free is due when one becomes free
 * @broken: failed or fenced: nothing is posted any more
 * @broken_reported: @events->broken was called, or must not be (fenced)
 * @receiving: receives were posted: the end needs a drain
 * @sent: a request was posted that waits for the peer; under @sq_lock
 * @slots: all slots
 * @recvs: all receive requests; NULL after smc_qp_destroy()
 * @nrecvs: number of them
 * @nposted: receives that were ever posted, see wr_recv_done(); under @sq_lock
 * @recv_batch: those that are not posted at present
 * @recv_len: bytes of a message that each of them has in a buffer of its own
 * @spills: memory for the rest of longer messages; NULL if a receive takes the longest one
 * @spill_turn: which one the next receive gets; under @sq_lock
 * @long_buf: reassembled long message; used by the receive completion handler only, which allocates
 *	it for the first one; likewise
 * @mem: DMA-able memory of slots and receives, see rdma/qp.c
 * @nmem: pieces of it
 * @write_cqe: completion of every WRITE
 * @mr_queue: registration of memory regions
 * @wait: woken when a drain marker completes
 * @markers: drain markers of the send and the receive queue
 * @draining: the drain has begun and not ended; the next three are set before it and do not change
 *	meanwhile; written under @qp_mutex
 * @drain_rc: 0, or why the device did not take the markers
 * @drain_deadline: when the drain stops waiting for the markers, in jiffies
 * @drain_wait: woken together with @wait; may be NULL; see smc_qp_drain_begin()
 * @tail: tail loss probing; all but its work item is under @sq_lock
 * @upcalls: upcalls that @upcall_work has to make, SMC_QP_UPCALL_*
 * @upcall_work: makes upcalls on behalf of contexts that cannot
 *
 * Other layers may read @dev and @pd; all else is private to smc_wr.c and rdma/, with functions
 * below. The struct, its slots and their buffers stay until smc_qp_free(): callers that reach the
 * queue pair through a link may use the slot functions until then.
 */
struct smc_qp {
	struct smc_ib_device *dev;
	struct smc_stats __percpu *stats;
	struct ib_pd *pd;
	u32 qpn;
	u32 max_inline;
	u32 max_sge;
	const struct smc_wr_events *events;
	void *ctx;

	struct ib_qp *qp;
	struct ib_cq *cq;
	ib_comp_handler cq_handler;
	struct irq_work cq_irq_work;
	struct mutex qp_mutex;
	spinlock_t sq_lock;
	struct list_head free;
	u32 wrs;
	struct list_head free_llc;
	struct list_head posted;
	struct smc_wr_chain chain;
	u32 unsignaled;
	unsigned long progress;
	u32 nslots;
	u64 bytes;
	u32 latency;
	bool starved;
	bool broken;
	bool broken_reported;
	bool receiving;
	bool sent;
	struct smc_wr_slot *slots;
	struct smc_wr_recv *recvs;
	u32 nrecvs;
	u32 nposted;
	u32 recv_len;
	struct smc_wr_recv_batch recv_batch;
	struct smc_wr_mem *spills[SMC_WR_SPILLS];
	u32 spill_turn;
	u8 *long_buf;
	struct smc_wr_mem *mem;
	u32 nmem;
	struct ib_cqe write_cqe;
	struct smc_mr_queue mr_queue;
	wait_queue_head_t wait;
	struct smc_drain_marker markers[2];
	bool draining;
	int drain_rc;
	unsigned long drain_deadline;
	wait_queue_head_t *drain_wait;
	struct smc_tail tail;
	unsigned long upcalls;
	struct work_struct upcall_work;
};

struct smc_qp *smc_qp_create(struct smc_ib_device *dev, u8 port, struct net *net,
			     const struct smc_wr_events *events, void *ctx);
u64 smc_qp_get_bytes(const struct smc_qp *qp);
int smc_qp_connect(struct smc_qp *qp, const struct smc_qp_attr *attr);
void smc_qp_drain_begin(struct smc_qp *qp, wait_queue_head_t *wait);
unsigned long smc_qp_drain_left(const struct smc_qp *qp);
int smc_qp_drain(struct smc_qp *qp);
void smc_qp_destroy(struct smc_qp *qp);
void smc_qp_free(struct smc_qp *qp);

struct smc_wr_slot *smc_wr_slot_get(struct smc_qp *qp);
struct smc_wr_slot *smc_wr_slot_get_llc(struct smc_qp *qp, u32 len);
void smc_wr_slot_put(struct smc_wr_slot *slot);
int smc_wr_post(struct smc_wr_slot *slot, u32 len, const struct smc_wr_write *writes,
		int nwrites, bool signal);
int smc_wr_post_imm(struct smc_wr_slot *slot, u32 imm, const struct smc_wr_write *writes,
		    int nwrites, bool signal);
int smc_mr_register(struct smc_qp *qp, struct ib_mr *mr, int access);

/* Return our queue pair number. */
static inline u32 smc_qp_get_qpn(const struct smc_qp *qp)
{
	return qp->qpn;
}

/* Return the number of gather elements that a request may have. */
static inline u32 smc_qp_get_max_sge(const struct smc_qp *qp)
{
	return qp->max_sge;
}

/* Return whether a WRITE of so many contiguous bytes is copied when it is posted. */
static inline bool smc_qp_copies_write(const struct smc_qp *qp, u32 len)
{
	return len <= qp->max_inline;
}

/* Return the number of send slots, of both kinds. */
static inline u32 smc_qp_get_nslots(const struct smc_qp *qp)
{
	return qp->nslots;
}

/* Return the number of receive requests. */
static inline u32 smc_qp_get_nrecvs(const struct smc_qp *qp)
{
	return qp->nrecvs;
}

/* Return whether the queue pair has failed or is fenced; that may happen at any time. */
static inline bool smc_qp_is_broken(const struct smc_qp *qp)
{
	return READ_ONCE(qp->broken);
}

bool smc_qp_is_idle(struct smc_qp *qp);
bool smc_qp_owes_completion(struct smc_qp *qp, unsigned long *since);
void smc_qp_probe(struct smc_qp *qp);
void smc_qp_get_load(struct smc_qp *qp, u64 *bytes, u32 *latency);

#endif
