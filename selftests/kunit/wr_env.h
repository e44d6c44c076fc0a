/* SPDX-License-Identifier: GPL-2.0-only */
/* Test environment of the work request suites: a queue pair on a fake device, and its upcalls. */
#ifndef _SMC_WR_ENV_H
#define _SMC_WR_ENV_H

#include <kunit/test.h>
#include <smc/rdma/wr.h>

#include "fake_ib.h"

/* Queue lengths with the default settings of a namespace; the LLC slots include the probes'. */
#define WR_ENV_PROBES		3
#define WR_ENV_CDC_SLOTS	48
/* Requests for them: two each, and one slot of any length; so many can be held and not posted. */
#define WR_ENV_CDC_WRS		(2 * WR_ENV_CDC_SLOTS + 1 + SMC_WR_WRITES_MAX)
#define WR_ENV_CDC_HELD		(WR_ENV_CDC_WRS / (1 + SMC_WR_WRITES_MAX))
#define WR_ENV_LLC_SLOTS	(4 + WR_ENV_PROBES + 1)
#define WR_ENV_SLOTS		(WR_ENV_CDC_SLOTS + WR_ENV_LLC_SLOTS)
#define WR_ENV_RECVS		192
/*
 * Those that are posted before the first message; it and the following ones have the others posted.
 */
#define WR_ENV_RECVS_FIRST	64
/* One scatter element: fewer receives, each with a long buffer. */
#define WR_ENV_RECVS_LONG	48

/**
 * struct wr_env - state of one test case
 * @fake: device
 * @qp: queue pair under test
 * @fqp: the same queue pair in the fake device
 * @received: received upcalls
 * @len: bytes of the last message
 * @bytes: the last message
 * @imms: received_imm upcalls
 * @imm: value of the last one
 * @broken: broken upcalls
 * @status: status of the first one
 * @slots_free: slots_free upcalls
 * @bad_context: an upcall or done call came with BHs on
 * @poster: task that may hold locks which upcalls take
 * @under_poster: an upcall came from within a call of that task
 * @done: done calls
 * @done_failed: done calls with an error
 * @last_cookie: cookie of the last slot that was done
 * @last_status: its status
 * @out_of_order: done calls did not follow the posting order
 */
struct wr_env {
	struct fake_ib *fake;
	struct smc_qp *qp;
	struct fake_ib_qp *fqp;
	u32 received;
	u32 len;
	u8 bytes[SMC_WR_LLC_MAX];
	u32 imms;
	u32 imm;
	u32 broken;
	enum ib_wc_status status;
	u32 slots_free;
	bool bad_context;
	struct task_struct *poster;
	bool under_poster;
	u32 done;
	u32 done_failed;
	u64 last_cookie;
	enum ib_wc_status last_status;
	bool out_of_order;
};

extern const struct smc_wr_events wr_env_events;

int wr_env_init(struct kunit *test);
void wr_env_exit(struct kunit *test);
void wr_env_done(struct smc_wr_slot *slot, enum ib_wc_status status);
void wr_env_make_qp(struct kunit *test);
void wr_env_end_qp(struct wr_env *t);
struct smc_qp_attr wr_env_attr(void);
struct wr_env *wr_env_connected(struct kunit *test);
void wr_env_warm_up(struct kunit *test);
struct smc_wr_slot *wr_env_post_one(struct kunit *test, u64 cookie, bool signal);

#endif
