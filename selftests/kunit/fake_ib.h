/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A verbs device for KUnit: it keeps what is posted and completes what it is told to,
 * when it is told to, and refuses what it is told to refuse.
 *
 * It moves no data between queue pairs and is never seen by clients of the RDMA core
 * (verbs for user space are missing): objects are made by the suites only.
 */
#ifndef _SMC_FAKE_IB_H
#define _SMC_FAKE_IB_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <smc/rdma/ib.h>
#include <smc/rdma/path.h>

struct kunit;

#define FAKE_IB_SGES	2

/* What becomes of a REG_MR. */
enum fake_ib_reg {
	FAKE_IB_REG_OK,
	FAKE_IB_REG_ERROR,	/* completes with an error */
	FAKE_IB_REG_HOLD,	/* stays posted */
};

/**
 * struct fake_ib - the device
 * @ib: as the RDMA core knows it; first, allocated with it
 * @sdev: as our module knows it
 * @lock: guards the lists of all queue pairs and completion queues
 * @npd: protection domains that exist
 * @ncq: completion queues that exist
 * @nqp: queue pairs that exist
 * @nmr: memory regions that exist
 * @nreg: REG_MRs seen
 * @last_reg_key: key of the last one
 * @last_reg_access: and its access flags
 * @last_qp: queue pair made last
 * @fail_pd: alloc_pd fails
 * @fail_cq: create_cq fails
 * @fail_modify: state to which no queue pair can be brought, -1 = none
 * @fail_mr_after: so many more MRs can be made; -1 = any number
 * @fail_post: result of post_send
 * @fail_recv_after: so many more receives are taken; -1 = any number
 * @no_flush: queue pairs in ERR keep what is posted
 * @inline_limit: queue pairs with more inline data are refused
 * @wr_limit: queue pairs with more send requests are refused
 * @mr_pages: pages that one MR takes
 * @reg: what becomes of REG_MRs
 * @next_key: key of the next MR
 * @tries: create_qp calls seen
 */
struct fake_ib {
	struct ib_device ib;
	struct smc_ib_device *sdev;
	spinlock_t lock;		/* see above */
	atomic_t npd;
	atomic_t ncq;
	atomic_t nqp;
	atomic_t nmr;
	atomic_t nreg;
	u32 last_reg_key;
	int last_reg_access;
	struct fake_ib_qp *last_qp;
	bool fail_pd;
	bool fail_cq;
	int fail_modify;
	int fail_mr_after;
	int fail_post;
	int fail_recv_after;
	bool no_flush;
	u32 inline_limit;
	u32 wr_limit;
	u32 mr_pages;
	enum fake_ib_reg reg;
	u32 next_key;
	u32 tries;
};

/**
 * struct fake_ib_wr - a request that was posted
 * @entry: in the queue pair's list, in posting order
 * @cqe: whom to tell
 * @opcode: of a send request
 * @flags: IB_SEND_* of a send request
 * @raddr: remote address of a WRITE
 * @rkey: remote key of a WRITE
 * @num_sge: elements of @sge
 * @sge: local memory
 */
struct fake_ib_wr {
	struct list_head entry;
	struct ib_cqe *cqe;
	enum ib_wr_opcode opcode;
	int flags;
	u64 raddr;
	u32 rkey;
	int num_sge;
	struct ib_sge sge[FAKE_IB_SGES];
};

/**
 * struct fake_ib_qp - a queue pair
 * @ib: as the RDMA core knows it
 * @state: its state
 * @cap: what was asked for
 * @sends: requests posted and not completed
 * @recvs: receives posted and not completed
 * @nsends: length of @sends
 * @nrecvs: length of @recvs
 */
struct fake_ib_qp {
	struct ib_qp ib;
	enum ib_qp_state state;
	struct ib_qp_cap cap;
	struct list_head sends;
	struct list_head recvs;
	u32 nsends;
	u32 nrecvs;
};

/* Makes the device; it is gone with fake_ib_destroy(), which wants no object left. */
struct fake_ib *fake_ib_create(struct kunit *test);
void fake_ib_destroy(struct kunit *test, struct fake_ib *fake);

/* A path over the device, with a reference on it. */
void fake_ib_path(struct fake_ib *fake, struct smc_path *path);
/* The GID in its table. */
void fake_ib_gid(union ib_gid *gid);

static inline struct fake_ib_qp *fake_ib_qp(struct ib_qp *qp)
{
	return container_of(qp, struct fake_ib_qp, ib);
}

/*
 * Completes the oldest @n send requests. Those before the last one succeed: they tell
 * only if they are signaled; the last one has @status and tells if it is signaled or
 * failed. Completions were handled on return.
 */
void fake_ib_complete(struct fake_ib_qp *qp, u32 n, enum ib_wc_status status);
/* Delivers a message into the oldest receive, as @len bytes, which may be a lie. */
void fake_ib_receive(struct fake_ib_qp *qp, const u8 *buf, u32 bytes, u32 len,
		     enum ib_wc_status status);
/* The peer's WRITE of @len bytes with immediate data uses up the oldest receive. */
void fake_ib_write_with_imm(struct fake_ib_qp *qp, u32 len);
/* An asynchronous event of the queue pair. */
void fake_ib_qp_event(struct fake_ib_qp *qp, enum ib_event_type type);
/* The @i-th request posted and not completed, oldest first; NULL if there is none. */
struct fake_ib_wr *fake_ib_sent(struct fake_ib_qp *qp, u32 i);

#endif
