/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A verbs device for KUnit suites. It keeps the requests that are posted, and completes or refuses
 * them on command.
 *
 * It moves no data between queue pairs. Clients of the RDMA core do not see it, because it
 * lacks the verbs for user space; the suites make all objects on it.
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
#define FAKE_IB_STEPS	16

/* How a REG_MR completes. */
enum fake_ib_reg {
	FAKE_IB_REG_OK,
	FAKE_IB_REG_ERROR,	/* completes with an error */
	FAKE_IB_REG_HOLD,	/* does not complete */
};

/* What happened to a queue pair. */
enum fake_ib_change {
	FAKE_IB_QP_ERR,		/* it entered ERR */
	FAKE_IB_QP_DESTROYED,
};

/**
 * struct fake_ib_step - one change of a queue pair
 * @change: what happened
 * @qpn: number of the queue pair
 * @at: when, in jiffies
 */
struct fake_ib_step {
	enum fake_ib_change change;
	u32 qpn;
	unsigned long at;
};

/**
 * struct fake_ib - the device
 * @ib: device of the RDMA core; the first member, allocated with it
 * @sdev: device of our module
 * @lock: protects the lists of all queue pairs and completion queues
 * @npd: existing protection domains
 * @ncq: existing completion queues
 * @nqp: existing queue pairs of links
 * @nqp_reg: existing queue pairs for registrations
 * @nmr: existing memory regions
 * @nreg: REG_MRs posted so far
 * @last_reg_key: key of the last one
 * @last_reg_access: its access flags
 * @last_reg_iova: its address
 * @last_qp: queue pair created last
 * @fail_pd: alloc_pd fails
 * @fail_cq: create_cq fails
 * @fail_modify: modify_qp to this state fails; -1: to none
 * @fail_mr_after: alloc_mr fails after so many more successes; -1: never
 * @fail_post: result of post_send
 * @fail_recv_after: post_recv fails after so many more successes; -1: never
 * @no_flush: queue pairs in ERR do not complete what is posted
 * @inline_limit: create_qp fails with more inline data
 * @wr_limit: create_qp fails with more send requests
 * @mr_pages: pages that one MR can cover
 * @reg: how REG_MRs complete
 * @next_key: lkey of the next MR
 * @next_qpn: number of the next queue pair
 * @tries: create_qp calls so far
 * @steps: the first changes of the queue pairs of links, in their order
 * @nsteps: number of changes, also of those that @steps has no room for; a case may reset it
 */
struct fake_ib {
	struct ib_device ib;
	struct smc_ib_device *sdev;
	spinlock_t lock;
	atomic_t npd;
	atomic_t ncq;
	atomic_t nqp;
	atomic_t nqp_reg;
	atomic_t nmr;
	atomic_t nreg;
	u32 last_reg_key;
	int last_reg_access;
	u64 last_reg_iova;
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
	u32 next_qpn;
	u32 tries;
	struct fake_ib_step steps[FAKE_IB_STEPS];
	u32 nsteps;
};

/**
 * struct fake_ib_wr - a posted request
 * @entry: in the list of the queue pair, in posting order
 * @cqe: its completion
 * @opcode: of a send request
 * @flags: IB_SEND_* of a send request
 * @raddr: remote address of a WRITE
 * @rkey: remote key of a WRITE
 * @imm: immediate value of a WRITE that has one
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
	u32 imm;
	int num_sge;
	struct ib_sge sge[FAKE_IB_SGES];
};

/**
 * struct fake_ib_qp - a queue pair
 * @ib: queue pair of the RDMA core
 * @state: its state
 * @access: IB_ACCESS_* of the peer
 * @cap: capabilities that were requested
 * @traffic_class: of its address vector
 * @sl: service level, likewise
 * @sends: send requests that have not completed
 * @recvs: receive requests that have not completed
 * @nsends: length of @sends
 * @nrecvs: length of @recvs
 * @recv_posts: post_recv calls so far
 */
struct fake_ib_qp {
	struct ib_qp ib;
	enum ib_qp_state state;
	int access;
	struct ib_qp_cap cap;
	u8 traffic_class;
	u8 sl;
	struct list_head sends;
	struct list_head recvs;
	u32 nsends;
	u32 nrecvs;
	u32 recv_posts;
};

struct fake_ib *fake_ib_create(struct kunit *test);
void fake_ib_destroy(struct kunit *test, struct fake_ib *fake);
void fake_ib_path(struct fake_ib *fake, struct smc_path *path);
void fake_ib_gid(union ib_gid *gid);

static inline struct fake_ib_qp *fake_ib_qp(struct ib_qp *qp)
{
	return container_of(qp, struct fake_ib_qp, ib);
}

void fake_ib_complete(struct fake_ib_qp *qp, u32 n, enum ib_wc_status status);
void fake_ib_flush(struct fake_ib_qp *qp);
void fake_ib_receive(struct fake_ib_qp *qp, const u8 *buf, u32 bytes, u32 len,
		     enum ib_wc_status status);
void fake_ib_write_with_imm(struct fake_ib_qp *qp, u32 len, u32 imm);
void fake_ib_qp_event(struct fake_ib_qp *qp, enum ib_event_type type);
struct fake_ib_wr *fake_ib_sent(struct fake_ib_qp *qp, u32 i);

#endif
