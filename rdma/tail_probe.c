// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tail loss probes: recovery from packets that are lost with no packet behind them.
 *
 * A receiving RNIC reports a gap when a later packet arrives, and the sender repeats the lost
 * packet at once. Without a later packet, the sender waits for its timer, which is a second or
 * more (ACK_TIMEOUT in rdma/qp.c), and all connections of the link wait with it. A shorter
 * timer would end links that are silent only for a moment, because the number of retries is
 * limited.
 *
 * So up to three requests without data are posted behind requests that make no progress, like the
 * tail loss probes of TCP (RFC 8985, section 7). They are RDMA WRITEs of length zero: these
 * consume no receive of the peer, and neither their address nor their RKey is checked (IBA,
 * C9-88). The software of the peer does not notice them.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include "internal.h"

#define TAIL_MIN_MS	20	/* time without progress before a probe, at least */
#define TAIL_MAX_MS	250	/* ... at most, on slow paths */

/* Return twice the usual latency of a request, within limits, in jiffies. */
static unsigned long tail_probe_delay(const struct smc_qp *qp)
{
	u32 ms = clamp_t(u32, qp->latency / (NSEC_PER_MSEC / 2), TAIL_MIN_MS, TAIL_MAX_MS);

	/* Add one: the start of the interval may be the end of a jiffy. */
	return msecs_to_jiffies(ms) + 1;
}

static void tail_schedule(struct smc_qp *qp, unsigned long delay)
{
	lockdep_assert_held(&qp->sq_lock);
	qp->tail.armed = true;
	schedule_delayed_work(&qp->tail.work, delay);
}

/* Post a probe in a free LLC slot. NULL: no slot is free, or the queue pair broke. */
static struct smc_wr_slot *tail_post_probe(struct smc_qp *qp)
{
	struct smc_wr_slot *slot = list_first_entry_or_null(&qp->free_llc, struct smc_wr_slot,
							    entry);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	lockdep_assert_held(&qp->sq_lock);
	/* The big slot is kept for LLC messages that need it. */
	if (!slot || slot->big)
		return NULL;
	wr.wr.wr_cqe = &slot->cqe;
	if (smc_fault_rc(POST_PROBE, -ENOMEM, ib_post_send(qp->qp, &wr.wr, NULL))) {
		WRITE_ONCE(qp->broken, true);
		smc_qp_defer_upcall(qp, SMC_QP_UPCALL_BROKEN);
		return NULL;
	}
	list_del(&slot->entry);
	slot->done = NULL;
	slot->owner = NULL;
	slot->probe = true;
	smc_wr_slot_enter_posted(slot, 0, true, 0);
	return slot;
}

/* Return the jiffies of the last progress. At least one slot is posted. */
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
		smc_stats_count(qp->stats, SMC_STAT_WR_PROBES, 1);
		/* Back off, as the probe may be lost, too. */
		tail->due = jiffies + (tail_probe_delay(qp) << tail->probes);
		tail_schedule(qp, tail->due - jiffies);
	}
out:
	spin_unlock_bh(&qp->sq_lock);
}

/**
 * smc_tail_rearm() - Schedule the work, unless it is scheduled in time; see smc_tail_arm()
 * @qp: queue pair with posted slots, not broken; sq_lock held
 *
 * Any context but hard interrupt.
 */
void smc_tail_rearm(struct smc_qp *qp)
{
	struct smc_tail *tail = &qp->tail;

	lockdep_assert_held(&qp->sq_lock);
	if (tail->armed) {
		if (!tail->probes || tail_silent_since(qp) == tail->since)
			return;
		/*
		 * There was progress since the probes: the scheduled work, which backed off, would
		 * be too late for new requests.
		 */
		tail->probes = 0;
		cancel_delayed_work(&tail->work);
	}
	tail_schedule(qp, tail_probe_delay(qp));
}

/**
 * smc_tail_ask() - Post the probe that somebody asks for, or have it posted later
 * @qp: queue pair; sq_lock held
 *
 * One at a time: programs cause these, and the slots that the work item needs must not be among
 * theirs. Who comes while one is in flight, or while there is no slot, is served by the next
 * completion.
 *
 * Any context but hard interrupt.
 */
void smc_tail_ask(struct smc_qp *qp)
{
	struct smc_tail *tail = &qp->tail;
	bool busy = tail->asked && tail->asked->posted && tail->asked->probe;

	lockdep_assert_held(&qp->sq_lock);
	tail->again = false;
	if (qp->broken || !qp->unsignaled)
		return;
	if (!busy)
		tail->asked = tail_post_probe(qp);
	tail->again = busy || !tail->asked;
}

/**
 * smc_qp_probe() - Have all posted slots completed as soon as the device has executed them
 * @qp: queue pair; may be destroyed, but not freed
 *
 * Posts a probe, unless the last slot is signaled, or one is in flight: then another one follows.
 *
 * Any context but hard interrupt; conn->lock may be held.
 */
void smc_qp_probe(struct smc_qp *qp)
{
	spin_lock_bh(&qp->sq_lock);
	smc_tail_ask(qp);
	spin_unlock_bh(&qp->sq_lock);
}

/**
 * smc_tail_init() - Initialise probing for a queue pair
 * @qp: queue pair that is being created
 */
void smc_tail_init(struct smc_qp *qp)
{
	INIT_DELAYED_WORK(&qp->tail.work, tail_work_fn);
}

/**
 * smc_tail_stop() - Stop probing and wait for the work item
 * @qp: fenced queue pair
 *
 * Process context.
 */
void smc_tail_stop(struct smc_qp *qp)
{
	cancel_delayed_work_sync(&qp->tail.work);
}
