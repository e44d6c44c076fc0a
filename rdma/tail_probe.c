// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that are lost with nothing behind them. An RNIC says what it misses when a later packet
 * comes, and the sender repeats it at once; where none comes, the sender waits for its timer, a
 * second and more (ACK_TIMEOUT in rdma/qp.c), and all connections of the link with it. A shorter
 * timer would give up links that are silent for a moment, for the retries have an end.
 *
 * So a few requests of no bytes are posted behind what has not finished for a while, as TCP does
 * with its tail loss probes (RFC 8985, section 7). They are RDMA WRITEs: a receive of the peer's is
 * not taken, and without bytes neither address nor RKey is looked at (IBA, C9-88). The peer's
 * software hears nothing of it.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include "internal.h"

#define TAIL_MIN_MS	20	/* nothing has finished for so long: a probe */
#define TAIL_MAX_MS	250	/* the same on a path that is slow */

/* Twice what a request usually takes. */
static unsigned long tail_probe_delay(const struct smc_qp *qp)
{
	u32 ms = clamp_t(u32, qp->latency / (NSEC_PER_MSEC / 2), TAIL_MIN_MS, TAIL_MAX_MS);

	/* the moment from which it counts may be the end of a jiffy */
	return msecs_to_jiffies(ms) + 1;
}

/* sq_lock held */
static void tail_schedule(struct smc_qp *qp, unsigned long delay)
{
	qp->tail.armed = true;
	schedule_delayed_work(&qp->tail.work, delay);
}

/* sq_lock held. True: one more is under way. */
static bool tail_post_probe(struct smc_qp *qp)
{
	struct smc_wr_slot *slot = list_first_entry_or_null(&qp->free_ctl, struct smc_wr_slot,
							    entry);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	/* the big one is for LLC messages that need it */
	if (!slot || slot->big)
		return false;
	wr.wr.wr_cqe = &slot->cqe;
	if (smc_fault_rc(POST_PROBE, -ENOMEM, ib_post_send(qp->qp, &wr.wr, NULL))) {
		qp->broken = true;
		smc_qp_defer_upcall(qp, SMC_QP_UPCALL_BROKEN);
		return false;
	}
	smc_stats_inc(qp->net, SMC_STAT_WR_PROBES);
	list_move_tail(&slot->entry, &qp->posted);
	slot->done = NULL;
	slot->owner = NULL;
	slot->posted = true;
	slot->signaled = true;
	slot->probe = true;
	slot->since = jiffies;
	slot->started = 0;
	slot->bytes = 0;
	qp->unsignaled = 0;
	return true;
}

/* sq_lock held, something is posted. Jiffies since when nothing has finished. */
static unsigned long tail_silent_since(const struct smc_qp *qp)
{
	const struct smc_wr_slot *oldest = list_first_entry(&qp->posted, struct smc_wr_slot, entry);

	return time_after(oldest->since, qp->progress) ? oldest->since : qp->progress;
}

static void tail_work_fn(struct work_struct *work)
{
	struct smc_qp *qp = container_of(to_delayed_work(work), struct smc_qp, tail.work);
	struct smc_tail *tail = &qp->tail;
	unsigned long since;

	spin_lock_bh(&qp->sq_lock);
	tail->armed = false;
	if (qp->broken || list_empty(&qp->posted))
		goto out;
	since = tail_silent_since(qp);
	if (since != tail->since) {
		tail->since = since;
		tail->probes = 0;
		tail->due = since + tail_probe_delay(qp);
	}
	if (time_before(jiffies, tail->due)) {
		tail_schedule(qp, tail->due - jiffies);
	} else if (tail->probes < SMC_TAIL_PROBES && tail_post_probe(qp)) {
		tail->probes++;
		/* it may be lost as well */
		tail->due = jiffies + (tail_probe_delay(qp) << tail->probes);
		tail_schedule(qp, tail->due - jiffies);
	}
out:
	spin_unlock_bh(&qp->sq_lock);
}

/**
 * smc_tail_arm() - look after what was posted, should it not finish
 * @qp: queue pair with posted requests, not broken, sq_lock held
 *
 * Any context but hard interrupt.
 */
void smc_tail_arm(struct smc_qp *qp)
{
	struct smc_tail *tail = &qp->tail;

	lockdep_assert_held(&qp->sq_lock);
	if (tail->armed) {
		if (!tail->probes || tail_silent_since(qp) == tail->since)
			return;
		/* the look that is due waits for the answer to a probe, much longer, and has it */
		tail->probes = 0;
		cancel_delayed_work(&tail->work);
	}
	tail_schedule(qp, tail_probe_delay(qp));
}

/**
 * smc_tail_init() - a queue pair in the making
 * @qp: queue pair
 */
void smc_tail_init(struct smc_qp *qp)
{
	INIT_DELAYED_WORK(&qp->tail.work, tail_work_fn);
}

/**
 * smc_tail_stop() - nobody looks any more
 * @qp: fenced queue pair
 *
 * Process context.
 */
void smc_tail_stop(struct smc_qp *qp)
{
	cancel_delayed_work_sync(&qp->tail.work);
}
