// SPDX-License-Identifier: GPL-2.0-only
/*
 * Link groups (RFC 7609 section 2.2): creation, failover between links, termination.
 * The entry point of lgr/.
 *
 * Objects. A link group (struct smc_lgr) is what this host shares with one peer: up to
 * SMC_LGR_LINKS links, the pool of registered regions that the peer writes into, the table of the
 * peer's RMBs (rtokens), and the connections, which are found by their alert tokens. A link
 * (struct smc_link) is one RC queue pair. The registry lists all groups of the host, terminating
 * ones included. The files: lgr/link.c one link; lgr/links.c the set of links; lgr/conns.c
 * connections and places; lgr/rtoken.c the peer's memory; lgr/lookup.c which group a handshake
 * gets; lgr/topology.c which RNICs the links connect; lgr/device_events.c device events.
 *
 * Upward calls. The LLC layer and the connection layer register one table each
 * (smc_lgr_set_ctl_events(), smc_lgr_set_conn_events()). What the queue pair of a link reports is
 * handled here: messages and free slots go straight to these tables.
 *
 * Work. A group has an unbound queue of its own (smc_lgr.wq) for works that may wait for its peer,
 * those of LLC included: a peer that lets them wait delays no other group. Works that never wait
 * for a peer, idle_work and free_work, run on a queue that all groups share. Each queued work but
 * free_work holds a reference on its group:
 * - failover_work: moves connections away from failed links;
 * - removal_work: reports the failed links to LLC, then destroys them;
 * - idle_work: terminates a group some time after its last connection ended;
 * - term_work: terminates the group, once;
 * - free_work: frees the group after the last reference, which may be dropped in softirq.
 *
 * Lock order (Documentation/locking.rst): registry lock, lgr->failover_mutex, lgr->mutex, then one
 * of the leaf spinlocks: the lock of lgr->conns, lgr->rtoken_lock or lgr->rmbe_claims.lock. The
 * first three are mutexes and are never held while waiting for the peer. The link set is read under
 * RCU; a reader that sleeps takes a reference on the link. Reserving a place needs the registry
 * lock, so idle_work cannot terminate a group that a handshake is joining.
 *
 * References. A group has one reference for its life, which term_work drops, one for each
 * connection in the table, each connection object, each handshake and each queued work.
 * A link has one reference for its slot and one for each connection, work or caller that uses it.
 *
 * End of a link, in two phases. smc_link_fail() records the reason in any context and queues
 * failover_work. failover_work takes all failed links out of the set, fences them at the same time
 * and notifies the connections, which continue on other links. Then removal_work reports them to
 * LLC, unmaps the regions and destroys the queue pairs. Without another usable link, the group is
 * terminated instead.
 *
 * End of a group, in two phases. smc_lgr_terminate() marks the group dead in any context: no
 * look-up returns it any more. term_work then aborts the connections, lets LLC announce the end,
 * and destroys the links. The memory is freed with the last reference.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/log.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/rdma/ib.h>
#include <uapi/linux/smc_own.h>
#include "lgr/internal.h"

/* The two bits that tell how to treat an unknown LLC message, RFC 7609 appendix A.3 */
#define TYPE_CLASS	0xc0
#define TYPE_CLASS_LLC	0x00
#define TYPE_CLASS_OPTIONAL	0x80

#define ID_STEP		0x100
/* What a group takes without its links and regions, should the peer have many RMBs. */
#define LGR_BYTES	(sizeof(struct smc_lgr) + SMC_LGR_RTOKENS * sizeof(struct smc_rtoken))
#define EXIT_WARN_TIME	(30 * HZ)	/* interval of warnings during an unlimited wait */
#define LINGER_MS	200		/* from DELETE LINK to destroying the queue pairs */
/* A dead group is freed within this time, unless a program keeps a socket of it open. */
#define END_TIME	(20 * HZ)

struct smc_lgr_registry smc_registry = {
	.lock = __MUTEX_INITIALIZER(smc_registry.lock),
	.groups = LIST_HEAD_INIT(smc_registry.groups),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(smc_registry.wait),
};

static atomic_t lgr_last_id;
static bool registry_closing;		/* under smc_registry.lock */
static struct workqueue_struct *lgr_wq;	/* of all groups; its works never wait for a peer */
static const struct smc_lgr_ctl_events *lgr_ctl_events;
static const struct smc_lgr_conn_events *lgr_conn_events;

static void lgr_queue_work(struct smc_lgr *lgr, struct work_struct *work)
{
	smc_lgr_get(lgr);
	if (!queue_work(lgr->wq, work))
		smc_lgr_put(lgr);
}

/* Mark the group dead. True for the first caller, which must then queue term_work. */
static bool lgr_mark_dead(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	if (reason == SMC_LINK_OK)
		reason = SMC_LINK_ADMIN;
	if (cmpxchg(&lgr->reason, SMC_LINK_OK, reason) != SMC_LINK_OK)
		return false;
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_DEAD, reason);
	smc_host_end_lgr(lgr->host);
	lgr->dead_at = jiffies;
	/* Pairs with the reads under the lock of lgr->conns, lgr->mutex and the registry lock. */
	smp_store_release(&lgr->dead, true);
	return true;
}

/* ---- idle groups ---- */

/**
 * smc_lgr_idle_cancel() - stop the idle timer of a group
 * @lgr: group
 *
 * Any context.
 */
void smc_lgr_idle_cancel(struct smc_lgr *lgr)
{
	if (cancel_delayed_work(&lgr->idle_work))
		smc_lgr_put(lgr);
}

/**
 * smc_lgr_idle_arm() - start the idle timer of a group without connections
 * @lgr: group
 *
 * The timer runs for the idle_server or idle_client setting of the namespace; for a group
 * that is being phased out, it expires at once. Any context.
 */
void smc_lgr_idle_arm(struct smc_lgr *lgr)
{
	struct smc_settings *settings;
	int secs;

	if (smc_lgr_is_dead(lgr))
		return;
	settings = smc_settings_get(lgr->net);
	secs = lgr->role == SMC_SERVER ? READ_ONCE(settings->idle_server) :
					 READ_ONCE(settings->idle_client);
	if (READ_ONCE(lgr->phase_out_reason))
		secs = 0;	/* no connection can join */
	smc_lgr_get(lgr);
	if (mod_delayed_work(lgr_wq, &lgr->idle_work, smc_settings_jiffies(secs)))
		smc_lgr_put(lgr);	/* the queued work had its own reference */
	/* Termination may just have cancelled the timer, which would pin the group for minutes. */
	if (smc_lgr_is_dead(lgr))
		smc_lgr_idle_cancel(lgr);
}

/* Terminate a group if it has no connection. Return true if so. */
static bool lgr_end_idle(struct smc_lgr *lgr)
{
	bool first = false;

	/* Places are reserved under the registry lock, so none is added during this check. */
	lockdep_assert_held(&smc_registry.lock);
	xa_lock_bh(&lgr->conns);
	if (!lgr->nconns && !lgr->reserved)
		first = lgr_mark_dead(lgr, lgr->phase_out_reason ?: SMC_LINK_IDLE);
	xa_unlock_bh(&lgr->conns);
	if (first)
		lgr_queue_work(lgr, &lgr->term_work);
	return first;
}

static void lgr_idle_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(to_delayed_work(work), struct smc_lgr, idle_work);

	mutex_lock(&smc_registry.lock);
	lgr_end_idle(lgr);
	mutex_unlock(&smc_registry.lock);
	smc_lgr_put(lgr);
}

/*
 * Terminate the oldest group without a connection of a host that is at a limit. Return true if
 * there was one.
 */
static bool lgr_evict_idle(const struct smc_host *host)
{
	struct smc_lgr *lgr;
	bool found = false;

	mutex_lock(&smc_registry.lock);
	list_for_each_entry_reverse(lgr, &smc_registry.groups, entry) {
		if (lgr->host != host || !lgr->ready || smc_lgr_is_dead(lgr) ||
		    !kref_get_unless_zero(&lgr->ref))
			continue;
		found = lgr_end_idle(lgr);
		if (found)
			smc_stats_inc(lgr->net, SMC_STAT_LGR_EVICTED);
		smc_lgr_put(lgr);
		if (found)
			break;
	}
	mutex_unlock(&smc_registry.lock);
	return found;
}

/* Return true if memory of the host becomes free soon: a group of it is ending. */
static bool lgr_host_has_ending(const struct smc_host *host)
{
	struct smc_lgr *lgr;
	bool found = false;

	mutex_lock(&smc_registry.lock);
	list_for_each_entry(lgr, &smc_registry.groups, entry) {
		/* pairs with lgr_mark_dead(), which sets dead_at before */
		found = lgr->host == host && smp_load_acquire(&lgr->dead) &&
			time_before(jiffies, lgr->dead_at + END_TIME);
		if (found)
			break;
	}
	mutex_unlock(&smc_registry.lock);
	return found;
}

/**
 * smc_lgr_evict_for_memory() - at a limit of memory, terminate an idle group of the host
 * @host: peer host
 * @rc: result of an attempt to get memory; nothing is done unless it is such a limit
 *
 * The memory serves a later attempt. A group that is ending already suffices, but not one that a
 * program keeps from being freed. Process context.
 */
void smc_lgr_evict_for_memory(const struct smc_host *host, int rc)
{
	if ((rc == -EDQUOT || rc == -EUSERS || rc == -ENOBUFS) && !lgr_host_has_ending(host))
		lgr_evict_idle(host);
}

/* ---- events of links ---- */

/* Note that something has arrived. Return whether to deliver it. */
static bool link_note_received(struct smc_link *link, bool cdc)
{
	if (!smc_link_may_recv(link, cdc) ||
	    smc_fault_hit(cdc ? SMC_FAULT_LOSE_CDC : SMC_FAULT_LOSE_LLC))
		return false;
	WRITE_ONCE(link->last_rx, jiffies);
	if (cdc)
		WRITE_ONCE(link->last_cdc, jiffies);
	return true;
}

/* data path 8: the first byte distinguishes CDC and LLC */
static void link_on_received(void *ctx, const u8 *buf, u32 len)
{
	struct smc_link *link = ctx;
	bool cdc = len && buf[0] == SMC_CDC_TYPE;

	if (!len || !link_note_received(link, cdc))
		return;
	if (cdc) {
		lgr_conn_events->message(link, buf, len);
	} else if ((buf[0] & TYPE_CLASS) == TYPE_CLASS_LLC ||
		   (buf[0] & TYPE_CLASS) == TYPE_CLASS_OPTIONAL) {
		lgr_ctl_events->message(link, buf, len);
	}
	/* else a message of a later version, whose effect is unknown */
}

/* data path 8, between native peers: what CDC would say is in the last WRITE */
static void link_on_received_imm(void *ctx, u32 imm)
{
	struct smc_link *link = ctx;

	if (link_note_received(link, true))
		lgr_conn_events->imm(link, imm);
}

static void link_on_broken(void *ctx, enum ib_wc_status status)
{
	const struct smc_link *link = ctx;

	smc_log_write(link->lgr->net, "group %08x: link %u: queue pair %u failed: %s\n",
		      link->lgr->id, link->num, link->qp->qpn, ib_wc_status_msg(status));
	smc_link_fail(ctx, SMC_LINK_QP_ERROR);
}

/* LLC first: it has at most one message to send, and a peer waits for that. */
static void link_on_slots_free(void *ctx)
{
	lgr_ctl_events->slots_free(ctx);
	lgr_conn_events->slots_free(ctx);
}

static const struct smc_wr_events link_qp_events = {
	.received = link_on_received,
	.received_imm = link_on_received_imm,
	.broken = link_on_broken,
	.slots_free = link_on_slots_free,
};

/**
 * smc_link_fail() - fail a link
 * @link: link
 * @reason: why; the first reason stays
 *
 * The only way to fail a link. Queues failover_work for the first reason, unless the link is out of
 * the set already: then another path handles it, and it is no failure. Any context, never sleeps.
 */
void smc_link_fail(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_lgr *lgr = link->lgr;

	if (!smc_link_record_failure(link, reason, __builtin_return_address(0)))
		return;
	if (rcu_access_pointer(lgr->links[link->slot]) != link)
		return;
	reason = atomic_read(&link->reason);
	if (!smc_lgr_is_dead(lgr) && reason != READ_ONCE(link->removal_reason)) {
		smc_stats_inc(lgr->net, SMC_STAT_LINK_FAIL);
		if (reason == SMC_LINK_STALLED)
			smc_stats_inc(lgr->net, SMC_STAT_LINK_STALL);
	}
	set_bit(link->slot, &lgr->failed_slots);
	/* If the work waits for the fences of other links, it begins this one beside them. */
	wake_up(&lgr->fence_wait);
	lgr_queue_work(lgr, &lgr->failover_work);
}

/**
 * smc_link_notify_usable() - notify the connections that a further link became usable
 * @link: link
 *
 * Process context; not concurrently for a group.
 */
void smc_link_notify_usable(struct smc_link *link)
{
	lgr_conn_events->link_usable(link);
}

/**
 * smc_link_hold_conns() - stop or resume sending of connections over a link
 * @link: link
 * @hold: true: connections must not send; false: they may again
 *
 * LLC messages are not affected. After resuming, connections that were refused try again. Not from
 * within a completion.
 */
void smc_link_hold_conns(struct smc_link *link, bool hold)
{
	WRITE_ONCE(link->conns_held, hold);
	if (hold)
		return;
	smp_mb();	/* pairs with smc_tx.c: the sender sees this, or we see it wait */
	lgr_conn_events->slots_free(link);
}

/* ---- failover: connections leave failed links ---- */

/* Informational. Concurrent losses may mix their fields. */
static void lgr_record_loss(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	WRITE_ONCE(lgr->link_loss.reason, reason);
	WRITE_ONCE(lgr->link_loss.at, ktime_get_boottime_seconds());
	atomic_inc(&lgr->link_loss.count);
}

/*
 * Begin to fence a link: its connections may not retransmit over another one before that is done.
 * Late WRITEs of the peer must not overwrite retransmitted data, and our RNIC must not read a send
 * ring again.
 */
static void lgr_begin_fence(struct smc_lgr *lgr, struct smc_link *link)
{
	enum smc_link_reason reason = atomic_read(&link->reason);

	smc_link_fence_begin(link, &lgr->fence_wait);
	if (reason == SMC_LINK_SETUP_FAILED)
		return;
	smc_stats_inc(lgr->net, SMC_STAT_LINK_LEFT);
	lgr_record_loss(lgr, reason);
	/* Two links may fail at once, each because the other was still usable. */
	if (!smc_lgr_has_link(lgr))
		smc_lgr_terminate(lgr, reason);
}

/* Return how many jiffies may pass before the first fence of @slots ends; 0: one can be ended. */
static unsigned long lgr_fence_left(struct smc_lgr *lgr, unsigned long slots)
{
	unsigned long left = MAX_SCHEDULE_TIMEOUT;
	u32 slot;

	for_each_set_bit(slot, &slots, SMC_LGR_LINKS)
		left = min(left, smc_link_fence_left(smc_lgr_unlinked_link(lgr, slot)));
	return left;
}

/* True if lgr_unlink_failed() has something to do. */
static bool lgr_has_failed_link(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->failed_slots) && !smc_lgr_is_dead(lgr);
}

/*
 * Wait until the device of a link of @slots has flushed, the time of one is over, or one more link
 * has failed. Their fences have begun. Returns the slots whose fences have not ended.
 */
static unsigned long lgr_wait_fences(struct smc_lgr *lgr, unsigned long slots)
{
	unsigned long todo = slots;
	struct smc_link *link;
	u32 slot;

	wait_event_timeout(lgr->fence_wait,
			   !lgr_fence_left(lgr, slots) || lgr_has_failed_link(lgr),
			   lgr_fence_left(lgr, slots));
	for_each_set_bit(slot, &slots, SMC_LGR_LINKS) {
		link = smc_lgr_unlinked_link(lgr, slot);
		if (smc_link_fence_left(link))
			continue;
		if (smc_link_fence(link))
			smc_stats_inc(lgr->net, SMC_STAT_FENCE_LATE);
		todo &= ~BIT(slot);
	}
	return todo;
}

/*
 * Take the link of @slot out of the set if it failed and another link is usable. Without another
 * one, terminate the group. Return true if the link was taken out.
 */
static bool lgr_unlink_failed(struct smc_lgr *lgr, u32 slot)
{
	enum smc_link_reason reason;
	struct smc_link *link;
	bool mine = false;

	link = test_and_clear_bit(slot, &lgr->failed_slots) ? smc_lgr_get_link(lgr, slot) : NULL;
	if (!link)
		return false;
	reason = atomic_read(&link->reason);
	if (reason != SMC_LINK_OK)
		smc_link_report_lost(link, reason);
	if (reason != SMC_LINK_OK && !smc_lgr_has_link(lgr))
		smc_lgr_terminate(lgr, reason);
	else if (reason != SMC_LINK_OK)
		mine = smc_lgr_unlink(lgr, link);
	if (mine)
		smc_log_write(lgr->net, "group %08x: link %u lost: %s\n", lgr->id, link->num,
			      smc_link_reason_str(reason));
	smc_link_put(link);
	return mine;
}

/*
 * Move the connections of @link to other links. The reported number includes connections that
 * moved for another reason meanwhile.
 */
static void lgr_failover_conns(struct smc_lgr *lgr, struct smc_link *link)
{
	u32 moves = atomic_read(&lgr->conn_moves);

	lgr_conn_events->link_lost(link);
	/* else they were aborted with the group */
	if (!smc_lgr_is_dead(lgr))
		smc_link_report_failover(link, atomic_read(&lgr->conn_moves) - moves);
}

/*
 * Fence the links of @slots, which the caller has taken out of the set, and all failed links, then
 * move their connections. The fences run side by side, also that of a link that fails while others
 * wait, so a device that does not flush costs its time limit once for all links that it loses at
 * the same time. All links are fenced before the first connection is notified, and none is shut
 * down before the last one is: a CDC message of one link may be processed after messages of another
 * link, and its data must still be in the RMB.
 * Returns the slots of all these links; the caller must remove them.
 */
static unsigned long lgr_failover_links(struct smc_lgr *lgr, unsigned long slots)
{
	unsigned long lost = slots, todo = 0;
	u32 slot;

	lockdep_assert_held(&lgr->failover_mutex);
	for (;;) {
		for (slot = 0; slot < SMC_LGR_LINKS && !smc_lgr_is_dead(lgr); slot++)
			if (lgr_unlink_failed(lgr, slot))
				lost |= BIT(slot);
		for_each_set_bit(slot, &lost, SMC_LGR_LINKS)
			lgr_begin_fence(lgr, smc_lgr_unlinked_link(lgr, slot));
		slots |= lost;
		todo |= lost;
		lost = 0;
		if (!todo)
			break;
		todo = lgr_wait_fences(lgr, todo);
	}
	for_each_set_bit(slot, &slots, SMC_LGR_LINKS)
		lgr_failover_conns(lgr, smc_lgr_unlinked_link(lgr, slot));
	return slots;
}

/*
 * Remove the links of @slots in a work: LLC may wait for a send slot, and further links may fail
 * meanwhile.
 */
static void lgr_queue_removal(struct smc_lgr *lgr, unsigned long slots)
{
	u32 slot;

	if (!slots)
		return;
	for_each_set_bit(slot, &slots, SMC_LGR_LINKS)
		set_bit(slot, &lgr->removal_slots);
	lgr_queue_work(lgr, &lgr->removal_work);
}

/**
 * smc_lgr_del_link() - take a link out of the set and destroy it
 * @link: link; the caller has a reference, which stays
 * @reason: why
 *
 * The connections are notified (link_lost). The LLC layer is not: LLC is the caller, after
 * DELETE LINK or when the setup of @link failed. Does nothing if the link is already being
 * removed. Process context, sleeps.
 */
void smc_lgr_del_link(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_lgr *lgr = link->lgr;
	unsigned long slots = 0;

	mutex_lock(&lgr->failover_mutex);
	/* If false, failure handling or termination came first and does the rest. */
	if (smc_lgr_unlink(lgr, link)) {
		smc_link_fail(link, reason);
		smc_link_report_lost(link, atomic_read(&link->reason));
		slots = lgr_failover_links(lgr, BIT(link->slot));
	}
	mutex_unlock(&lgr->failover_mutex);
	if (!slots)
		return;
	lgr_queue_removal(lgr, slots & ~BIT(link->slot));
	smc_lgr_shutdown_link(lgr, link);
}

static void lgr_failover_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, failover_work);
	unsigned long slots;

	mutex_lock(&lgr->failover_mutex);
	slots = lgr_failover_links(lgr, 0);
	mutex_unlock(&lgr->failover_mutex);
	lgr_queue_removal(lgr, slots);
	smc_lgr_put(lgr);
}

/* Report failed links, which the connections have left, to LLC and destroy them. */
static void lgr_remove_failed(struct smc_lgr *lgr)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_LGR_LINKS; slot++) {
		if (!test_and_clear_bit(slot, &lgr->removal_slots))
			continue;
		link = smc_lgr_unlinked_link(lgr, slot);
		if (!smc_lgr_is_dead(lgr))
			lgr_ctl_events->link_lost(lgr, link);
		smc_lgr_shutdown_link(lgr, link);
	}
}

static void lgr_removal_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, removal_work);

	lgr_remove_failed(lgr);
	smc_lgr_put(lgr);
}

/* ---- adding links ---- */

/**
 * smc_lgr_add_link() - add a link to a group, for ADD LINK
 * @lgr: group
 * @path: local end; taken over, on error too
 * @num: client: link number that the server assigned; server: 0 for the next number
 *
 * Enters the link into a free slot of the set, with its queue pair in INIT, and maps all
 * regions for it. Process context, sleeps. RFC 7609 section 3.5.5.1.1.
 *
 * Return: the link with a reference for the caller, or ERR_PTR: -ENOSPC (no free slot), -EEXIST
 * (@num is in use), -ECONNABORTED (group is dead), -ENODEV (device removed), -EUSERS, -ENOBUFS (a
 * limit of memory, see smc_host_charge()), -ENOMEM and errors of the device.
 */
struct smc_link *smc_lgr_add_link(struct smc_lgr *lgr, struct smc_path *path, u8 num)
{
	struct smc_link *link;
	u32 slot;
	int rc;

	mutex_lock(&lgr->mutex);
	slot = find_first_zero_bit(&lgr->slots, SMC_LGR_LINKS);
	if (smc_lgr_is_dead(lgr)) {
		rc = -ECONNABORTED;
	} else if (slot >= SMC_LGR_LINKS) {
		rc = -ENOSPC;
	} else {
		num = smc_lgr_take_link_num(lgr, num);
		rc = num ? 0 : -EEXIST;
	}
	if (rc) {
		mutex_unlock(&lgr->mutex);
		smc_path_put(path);
		return ERR_PTR(rc);
	}
	link = smc_link_create(lgr, slot, path, &link_qp_events);
	if (IS_ERR(link)) {
		mutex_unlock(&lgr->mutex);
		return link;
	}
	link->num = num;
	link->uid = lgr->id + num;
	__set_bit(slot, &lgr->slots);
	smc_link_get(link);	/* for the caller */
	WRITE_ONCE(lgr->slot_uids[slot], link->uid);
	smp_wmb();	/* pairs with smc_lgr_slot_is_of() */
	/* Forget the keys of the previous link of this slot, and those announced too late. */
	smc_rtoken_clear_slot(lgr, slot);
	rcu_assign_pointer(lgr->links[slot], link);
	rc = smc_pool_map_link(&lgr->pool, slot, link->qp);
	mutex_unlock(&lgr->mutex);
	if (READ_ONCE(link->path.dev->dead))
		rc = -ENODEV;	/* device removal ran before the link was in the set */
	if (rc) {
		smc_lgr_del_link(link, SMC_LINK_SETUP_FAILED);
		smc_link_put(link);
		return ERR_PTR(rc);
	}
	return link;
}

/* ---- references, creation and end of a group ---- */

/**
 * smc_lgr_get() - take a reference on a group
 * @lgr: group
 */
void smc_lgr_get(struct smc_lgr *lgr)
{
	kref_get(&lgr->ref);
}

static void lgr_release(struct kref *ref)
{
	struct smc_lgr *lgr = container_of(ref, struct smc_lgr, ref);

	/* The last reference may be dropped in softirq, but freeing sleeps. */
	queue_work(lgr_wq, &lgr->free_work);
}

/**
 * smc_lgr_put() - drop a reference on a group
 * @lgr: group
 *
 * Any context; freeing is done by a work.
 */
void smc_lgr_put(struct smc_lgr *lgr)
{
	kref_put(&lgr->ref, lgr_release);
}

/*
 * Not in a work of @lgr->wq, which is waited for: a work that has dropped the last reference may
 * not have returned yet. No other one is left: each held a reference, or LLC has cancelled it.
 */
static void lgr_free(struct smc_lgr *lgr)
{
	destroy_workqueue(lgr->wq);
	xa_destroy(&lgr->conns);
	smc_rtoken_free_table(lgr);
	mutex_destroy(&lgr->mutex);
	mutex_destroy(&lgr->failover_mutex);
	kfree_rcu(lgr, rcu);	/* look-ups by address */
}

/* The group holds nothing any more that is charged to its host. */
static void lgr_leave_host(struct smc_lgr *lgr)
{
	smc_host_uncharge(lgr->host, LGR_BYTES);
	smc_host_del_lgr(lgr->host);
	smc_host_put(lgr->host);
}

static void lgr_free_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, free_work);

	lgr_ctl_events->released(lgr);
	lgr_conn_events->released(lgr);
	smc_pool_destroy(&lgr->pool);
	lgr_leave_host(lgr);
	/* Last: smc_lgr_net_exit() waits until no group is listed. */
	mutex_lock(&smc_registry.lock);
	list_del(&lgr->entry);
	hlist_del_rcu(&lgr->addr_entry);
	mutex_unlock(&smc_registry.lock);
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_FREED, lgr->reason);
	lgr_free(lgr);
	smc_registry_wake();
}

/**
 * smc_lgr_terminate() - terminate a group
 * @lgr: group; the caller has a reference
 * @reason: why; the first reason stays
 *
 * The only way to end a group. Marks the group dead and queues term_work. Any context.
 */
void smc_lgr_terminate(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	if (lgr_mark_dead(lgr, reason))
		lgr_queue_work(lgr, &lgr->term_work);
}

/*
 * Terminate a group. Users that may still be inside, and why each one leaves:
 * - look-ups skip a dead group;
 * - handshakes and connections with a reference: their waits in the LLC layer end with its
 *   terminated upcall, their posts fail once the queue pairs are gone, and the objects they use
 *   stay until they drop the reference;
 * - failover_work and removal_work are waited for, after all fences have begun; they never wait for
 *   term_work;
 * - works of the LLC layer are waited for inside the upcall;
 * - completions end when the queue pairs are drained.
 */
static void lgr_term_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, term_work);
	unsigned long slots = 0;
	struct smc_link *link;
	u32 slot;

	smc_log_write(lgr->net, "group %08x: ends: %s\n", lgr->id,
		      smc_link_reason_str(lgr->reason));
	smc_stats_inc(lgr->net, SMC_STAT_LGR_TERM);
	smc_lgr_report(lgr, SMC_NETLINK_OWN_EV_LGR_END, lgr->reason);
	smc_registry_wake();
	smc_lgr_idle_cancel(lgr);

	/* A connection or link added after this point sees lgr->dead. */
	xa_lock_bh(&lgr->conns);
	xa_unlock_bh(&lgr->conns);
	lgr_conn_events->terminated(lgr);
	lgr_ctl_events->terminated(lgr);
	/*
	 * DELETE LINK has been sent. Keep the queue pairs for a moment, so that our RNIC
	 * acknowledges what the peer has in flight. A peer with infinite retries would otherwise
	 * wait for ever (the in-tree implementation: with a worker in D state).
	 */
	if (smc_lgr_has_link(lgr))
		msleep(LINGER_MS);

	/* Begin all fences before waiting for one; failover_work may be waiting for others. */
	smc_lgr_for_each_link(lgr, link) {
		if (smc_lgr_unlink(lgr, link)) {
			smc_link_fail(link, lgr->reason);
			smc_link_fence_begin(link, NULL);
			slots |= BIT(link->slot);
		}
	}
	if (cancel_work_sync(&lgr->failover_work))
		smc_lgr_put(lgr);
	if (cancel_work_sync(&lgr->removal_work))
		smc_lgr_put(lgr);
	lgr_remove_failed(lgr);
	for_each_set_bit(slot, &slots, SMC_LGR_LINKS)
		smc_lgr_shutdown_link(lgr, smc_lgr_unlinked_link(lgr, slot));
	lgr_conn_events->drained(lgr);
	smc_lgr_put(lgr);	/* of its life */
	smc_lgr_put(lgr);	/* of this work */
}

/*
 * Count the group for its host. If the host has too many, the oldest one without a connection ends.
 * Return false if there is none, or if too many are ending.
 */
static bool lgr_join_host(struct smc_lgr *lgr)
{
	if (smc_host_add_lgr(lgr->host))
		return true;
	if (smc_host_may_evict(lgr->host) && lgr_evict_idle(lgr->host) &&
	    smc_host_add_lgr(lgr->host))
		return true;
	smc_stats_inc(lgr->host->key.net, SMC_STAT_LGR_LIMITED);
	return false;
}

/**
 * smc_lgr_alloc() - allocate a group for a first contact
 * @net: namespace
 * @role: client or server
 * @peer: the peer, copied
 *
 * Only the caller knows the group. It sets up the LLC state (smc_llc_create()) and then calls
 * smc_lgr_begin(), or smc_lgr_discard() if one of both fails. At a limit of memory an idle group of
 * the host ends, for the next first contact. Process context.
 *
 * Return: the group. ERR_PTR: -ENOMEM; -EMLINK: the host of the peer has too many groups, and none
 * can end for this one (net.smc.smcr_max_host_groups); -EUSERS, -ENOBUFS: a limit of memory, see
 * smc_host_charge().
 */
struct smc_lgr *smc_lgr_alloc(struct net *net, enum smc_role role, const struct smc_peer *peer)
{
	struct smc_lgr *lgr;
	int rc = -ENOMEM;

	lgr = smc_fault_null(LGR, kzalloc(sizeof(*lgr), GFP_KERNEL));
	if (!lgr)
		return ERR_PTR(rc);
	lgr->host = smc_host_get(net, &peer->tcp_addr);
	if (!lgr->host)
		goto free_lgr;
	if (!lgr_join_host(lgr)) {
		rc = -EMLINK;
		goto put_host;
	}
	rc = smc_host_charge(lgr->host, LGR_BYTES, 0);
	if (rc) {
		smc_stats_inc(net, SMC_STAT_MEM_LIMITED);
		smc_lgr_evict_for_memory(lgr->host, rc);	/* for the next first contact */
		goto leave_host;
	}
	rc = -ENOMEM;
	if (smc_rtoken_init_table(lgr))
		goto uncharge;
	lgr->began_at = get_jiffies_64();
	lgr->id = (u32)atomic_add_return(ID_STEP, &lgr_last_id);
	/* not WQ_MEM_RECLAIM: a thread per group, and freeing memory never waits for a group */
	lgr->wq = smc_fault_null(LGR_WQ, alloc_workqueue("smc_lgr_%08x", WQ_UNBOUND, 0, lgr->id));
	if (!lgr->wq)
		goto free_rtokens;
	kref_init(&lgr->ref);
	INIT_LIST_HEAD(&lgr->entry);
	lgr->net = net;
	lgr->stats = smc_stats_of(net);
	lgr->net_cookie = net->net_cookie;
	lgr->role = role;
	lgr->peer = *peer;
	lgr->caps = SMC_PEER_CAPS_OWN;
	if (!READ_ONCE(smc_settings_get(net)->write_imm))
		lgr->caps &= ~SMC_CAP_WRITE_IMM;
	if (READ_ONCE(smc_settings_get(net)->upgrade_bytes))
		lgr->caps |= SMC_CAP_UPGRADE;
	mutex_init(&lgr->failover_mutex);
	mutex_init(&lgr->mutex);
	init_waitqueue_head(&lgr->fence_wait);
	lgr->next_link_num = 1;
	xa_init_flags(&lgr->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	smc_claim_init_list(&lgr->rmbe_claims);
	smc_proof_init(&lgr->proofs);
	smc_pool_init(&lgr->pool, lgr->host, lgr->peer.max_conns ?: SMC_LGR_CONNS_MAX);
	INIT_DELAYED_WORK(&lgr->idle_work, lgr_idle_work_fn);
	INIT_WORK(&lgr->term_work, lgr_term_work_fn);
	INIT_WORK(&lgr->failover_work, lgr_failover_work_fn);
	INIT_WORK(&lgr->removal_work, lgr_removal_work_fn);
	INIT_WORK(&lgr->free_work, lgr_free_work_fn);
	return lgr;

free_rtokens:
	smc_rtoken_free_table(lgr);
uncharge:
	smc_host_uncharge(lgr->host, LGR_BYTES);
leave_host:
	smc_host_end_lgr(lgr->host);
	smc_host_del_lgr(lgr->host);
put_host:
	smc_host_put(lgr->host);
free_lgr:
	kfree(lgr);
	return ERR_PTR(rc);
}

/**
 * smc_lgr_discard() - free a group that was not begun
 * @lgr: group from smc_lgr_alloc(), with or without LLC state
 *
 * Process context.
 */
void smc_lgr_discard(struct smc_lgr *lgr)
{
	lgr_ctl_events->released(lgr);
	if (!smc_lgr_is_dead(lgr))
		smc_host_end_lgr(lgr->host);
	lgr_leave_host(lgr);
	lgr_free(lgr);
}

/* Create the first link, in slot 0. Takes over @path. The group is not in the registry yet. */
static int lgr_add_first_link(struct smc_lgr *lgr, struct smc_path *path)
{
	struct smc_link *link;

	link = smc_link_create(lgr, 0, path, &link_qp_events);
	if (IS_ERR(link))
		return PTR_ERR(link);
	if (lgr->role == SMC_SERVER)
		link->num = lgr->next_link_num++;
	link->uid = lgr->id + 1;
	lgr->slot_uids[0] = link->uid;
	lgr->first_ifindex = link->path.gid.ifindex;
	__set_bit(0, &lgr->slots);
	RCU_INIT_POINTER(lgr->links[0], link);
	return 0;
}

/* Insert the group, newest first: readers that walk the list in parts continue by ID. */
static void registry_insert(struct smc_lgr *lgr)
{
	struct smc_lgr *older;

	lockdep_assert_held(&smc_registry.lock);
	list_for_each_entry(older, &smc_registry.groups, entry)
		if ((s32)(older->id - lgr->id) < 0)
			break;
	list_add_tail(&lgr->entry, &older->entry);
	hlist_add_head_rcu(&lgr->addr_entry, smc_registry_by_addr(lgr->net, &lgr->peer.tcp_addr));
}

/**
 * smc_lgr_begin() - create the first link of a group and list the group
 * @lgr: group from smc_lgr_alloc(), with LLC state
 * @path: local end of the first link; taken over, on error too
 *
 * The group has one link in slot 0, with its queue pair in INIT; a server's link has its number
 * already. The group is not ready: look-ups do not return it before smc_contact_finish() or
 * smc_lgr_set_ready(). If the first contact fails, the caller terminates the group with
 * SMC_LINK_SETUP_FAILED and drops its reference. At a limit of memory an idle group of the host
 * ends, as in smc_lgr_alloc(). Process context, sleeps.
 *
 * Return: 0: the caller has one reference and one reserved place. -EUSERS, -ENOBUFS: a limit of
 * memory, see smc_host_charge(); or an error of the device: the caller calls smc_lgr_discard().
 */
int smc_lgr_begin(struct smc_lgr *lgr, struct smc_path *path)
{
	struct smc_ib_device *dev = path->dev;
	int rc;

	smc_ib_device_get(dev);	/* the path is given away, and dev->dead is read below */
	rc = lgr_add_first_link(lgr, path);
	if (rc) {
		smc_lgr_evict_for_memory(lgr->host, rc);	/* for the next first contact */
		goto out;
	}
	smc_lgr_get(lgr);	/* for the caller; term_work drops the first one */
	lgr->reserved = 1;
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_CREATED, SMC_LINK_OK);
	smc_lgr_report(lgr, SMC_NETLINK_OWN_EV_LGR_BEGIN, SMC_LINK_OK);
	mutex_lock(&smc_registry.lock);
	registry_insert(lgr);
	if (registry_closing)
		smc_lgr_terminate(lgr, SMC_LINK_NET_EXIT);
	mutex_unlock(&smc_registry.lock);
	/* The device may have been removed before the group was listed. */
	if (READ_ONCE(dev->dead))
		smc_lgr_terminate(lgr, SMC_LINK_DEVICE_GONE);
out:
	smc_ib_device_put(dev);
	return rc;
}

/**
 * smc_lgr_for_each() - walk all groups, newest first, terminating ones included
 * @fn: called under the registry lock; may sleep; non-zero ends the walk
 * @arg: for @fn
 *
 * Process context. A group that terminates has lgr->dead set.
 *
 * Return: the last return value of @fn.
 */
int smc_lgr_for_each(int (*fn)(struct smc_lgr *lgr, void *arg), void *arg)
{
	struct smc_lgr *lgr;
	int rc = 0;

	mutex_lock(&smc_registry.lock);
	list_for_each_entry(lgr, &smc_registry.groups, entry) {
		if (!kref_get_unless_zero(&lgr->ref))
			continue;
		rc = fn(lgr, arg);
		smc_lgr_put(lgr);
		if (rc)
			break;
	}
	mutex_unlock(&smc_registry.lock);
	return rc;
}

static int lgr_notify_ports(struct smc_lgr *lgr, void *arg)
{
	if (!smc_lgr_is_dead(lgr))
		lgr_ctl_events->ports_changed(lgr);
	return 0;
}

/**
 * smc_lgr_notify_ports() - report new ports or GIDs of this host to all groups
 *
 * The LLC layer may then add links. Process context.
 */
void smc_lgr_notify_ports(void)
{
	smc_lgr_for_each(lgr_notify_ports, NULL);
}

/* ---- module and namespace ---- */

/**
 * smc_lgr_set_ctl_events() - register the table of the LLC layer
 * @events: table; must be set before the first group exists
 */
void smc_lgr_set_ctl_events(const struct smc_lgr_ctl_events *events)
{
	lgr_ctl_events = events;
}

/**
 * smc_lgr_set_conn_events() - register the table of the connection layer
 * @events: table; must be set before the first group exists
 */
void smc_lgr_set_conn_events(const struct smc_lgr_conn_events *events)
{
	lgr_conn_events = events;
}

/* Terminate the groups of @net (NULL: all groups). Return false if there is none. */
static bool registry_terminate(const struct net *net)
{
	struct smc_lgr *lgr;
	bool any = false;

	mutex_lock(&smc_registry.lock);
	list_for_each_entry(lgr, &smc_registry.groups, entry) {
		if (net && lgr->net != net)
			continue;
		any = true;
		if (!kref_get_unless_zero(&lgr->ref))
			continue;
		smc_lgr_terminate(lgr, SMC_LINK_NET_EXIT);
		smc_lgr_put(lgr);
	}
	mutex_unlock(&smc_registry.lock);
	return any;
}

/**
 * smc_lgr_net_exit() - terminate the groups of a namespace and wait for them
 * @net: namespace; NULL: all, which must be done before the layers above exit
 *
 * Returns when the last group, its connections included, is freed. Process context, sleeps.
 */
void smc_lgr_net_exit(struct net *net)
{
	unsigned long warn_at = jiffies + EXIT_WARN_TIME;
	int seq;

	/* No time limit: groups and their connections point to the namespace. */
	for (;;) {
		seq = atomic_read(&smc_registry.seq);
		if (!registry_terminate(net))
			return;
		if (time_after(jiffies, warn_at)) {
			pr_warn("namespace %u: still waiting for its link groups to end\n",
				net ? net->ns.inum : 0);
			warn_at = jiffies + EXIT_WARN_TIME;
		}
		wait_event_timeout(smc_registry.wait, atomic_read(&smc_registry.seq) != seq, HZ);
	}
}

/**
 * smc_lgr_net_begin_exit() - terminate the groups of a namespace, without waiting for them
 * @net: namespace that ends
 *
 * Called for each namespace that ends with others before smc_lgr_net_exit() waits for the groups of
 * the first one: all groups end in parallel. Process context, takes a mutex.
 */
void smc_lgr_net_begin_exit(struct net *net)
{
	registry_terminate(net);
}

static struct pernet_operations lgr_net_ops = {
	.pre_exit = smc_lgr_net_begin_exit,
	.exit = smc_lgr_net_exit,
};

/**
 * smc_lgr_init() - initialize the link group layer
 *
 * Return: 0 or -errno.
 */
int smc_lgr_init(void)
{
	int rc;

	lgr_wq = smc_fault_null(CORE_WQ, alloc_workqueue("smc_core", WQ_UNBOUND, 0));
	if (!lgr_wq)
		return -ENOMEM;
	rc = smc_fault_rc(CORE_PERNET, -ENOMEM, register_pernet_subsys(&lgr_net_ops));
	if (rc)
		destroy_workqueue(lgr_wq);
	return rc;
}

/**
 * smc_lgr_exit() - terminate all groups, wait for them, and undo smc_lgr_init()
 */
void smc_lgr_exit(void)
{
	mutex_lock(&smc_registry.lock);
	registry_closing = true;
	mutex_unlock(&smc_registry.lock);
	smc_lgr_net_exit(NULL);
	unregister_pernet_subsys(&lgr_net_ops);
	destroy_workqueue(lgr_wq);
	rcu_barrier();		/* of kfree_rcu() in the token tables */
}
