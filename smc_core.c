// SPDX-License-Identifier: GPL-2.0-only
/*
 * Link groups: their life, places for connections, the loss of links, termination.
 *
 * A group is born by smc_core_create() and dies by smc_core_terminate(), which
 * may be called anywhere and only marks the group and queues its term_work. All
 * that takes time happens there; the memory goes with the last reference.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/rdma/ib.h>
#include <uapi/linux/smc_own.h>
#include "lgr/internal.h"

#define ID_STEP		0x100
#define EXIT_WARN_TIME	(30 * HZ)	/* before a wait without limit says so */
#define BALANCE_DELAY	HZ		/* from a new link to the first move to it */
#define BALANCE_PAUSE	(HZ / 10)	/* between two walks over the connections */
#define BALANCE_WALKS	64		/* at most, for a new link */
#define LINGER_MS	200		/* between DELETE LINK and silence */

struct smc_core_registry smc_core_reg = {
	.lock = __MUTEX_INITIALIZER(smc_core_reg.lock),
	.groups = LIST_HEAD_INIT(smc_core_reg.groups),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(smc_core_reg.wait),
};

static atomic_t lgr_last_id;
static bool registry_closing;			/* under the registry's lock */
static struct workqueue_struct *lgr_wq;
static const struct smc_lgr_ctl_events *lgr_ctl_events;
static const struct smc_lgr_conn_events *lgr_conn_events;

static void lgr_queue_work(struct smc_lgr *lgr, struct work_struct *work)
{
	smc_core_get(lgr);
	if (!queue_work(lgr_wq, work))
		smc_core_put(lgr);
}

/* Marks the group dead; true for the first caller, who has to queue its end. */
static bool lgr_mark_dead(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	if (reason == SMC_LINK_OK)
		reason = SMC_LINK_ADMIN;
	if (cmpxchg(&lgr->reason, SMC_LINK_OK, reason) != SMC_LINK_OK)
		return false;
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_DEAD, reason);
	/* pairs with the reads under the lock of lgr->conns and under lgr->mutex */
	smp_store_release(&lgr->dead, true);
	return true;
}

/* ---- connection places and idleness ---- */

static void lgr_idle_cancel(struct smc_lgr *lgr)
{
	if (cancel_delayed_work(&lgr->idle_work))
		smc_core_put(lgr);
}

/**
 * smc_core_arm_idle() - a group without connections ends some time later
 * @lgr: group
 *
 * Any context.
 */
void smc_core_arm_idle(struct smc_lgr *lgr)
{
	struct smc_net *settings;
	int secs;

	if (smc_core_dead(lgr))
		return;
	settings = smc_policy_net(lgr->net);
	secs = lgr->role == SMC_SERVER ? READ_ONCE(settings->idle_server) :
					 READ_ONCE(settings->idle_client);
	if (READ_ONCE(lgr->retired))
		secs = 0;	/* nobody will use it again */
	smc_core_get(lgr);
	if (mod_delayed_work(lgr_wq, &lgr->idle_work, smc_policy_jiffies(secs)))
		smc_core_put(lgr);	/* the one that was queued had its own reference */
	/* the end may have cancelled it just before: it would hold the group for minutes */
	if (smc_core_dead(lgr))
		lgr_idle_cancel(lgr);
}

static u32 lgr_max_conns(const struct smc_lgr *lgr)
{
	/* a client follows its server, which counts */
	if (lgr->role == SMC_CLIENT || !lgr->peer.max_conns)
		return SMC_CORE_CONNS_MAX;
	return min_t(u32, lgr->peer.max_conns, SMC_CORE_CONNS_MAX);
}

/**
 * smc_core_reserve() - a place for a connection
 * @lgr: group, found under the registry's lock, which is still held
 *
 * Return: true if there was one; see smc_core_conn_add(), smc_core_unreserve().
 */
bool smc_core_reserve(struct smc_lgr *lgr)
{
	bool ok = false;

	xa_lock_bh(&lgr->conns);
	if (!smc_core_dead(lgr) && !lgr->retired &&
	    lgr->nconns + lgr->reserved < lgr_max_conns(lgr)) {
		lgr->reserved++;
		ok = true;
	}
	xa_unlock_bh(&lgr->conns);
	if (ok)
		lgr_idle_cancel(lgr);
	return ok;
}

/**
 * smc_core_unreserve() - give back a reserved connection place unused
 * @lgr: group
 *
 * The reference of the handshake stays.
 */
void smc_core_unreserve(struct smc_lgr *lgr)
{
	bool idle;

	xa_lock_bh(&lgr->conns);
	if (lgr->reserved)
		lgr->reserved--;
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	if (idle)
		smc_core_arm_idle(lgr);
}

/**
 * smc_core_retire() - nobody is to use a group any more
 * @lgr: group
 * @reason: why; the first one stays
 *
 * The peer does not know it, as it or somebody who pretends to be it says, or the operator
 * wants it to end: connections that the group has may be well. It takes no more of them and
 * ends with the last one, at once if it has none.
 */
void smc_core_retire(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	bool idle;

	xa_lock_bh(&lgr->conns);
	if (!lgr->retired) {
		trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_RETIRED, reason);
		WRITE_ONCE(lgr->retired, reason);
	}
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	if (idle)
		smc_core_arm_idle(lgr);
}

/**
 * smc_core_crowded() - no region can be added to a group
 * @lgr: server's group
 *
 * Further connections go to another group until smc_core_roomy().
 */
void smc_core_crowded(struct smc_lgr *lgr)
{
	WRITE_ONCE(lgr->crowded, true);
}

/**
 * smc_core_roomy() - an element of a group came back
 * @lgr: group
 */
void smc_core_roomy(struct smc_lgr *lgr)
{
	if (READ_ONCE(lgr->crowded))
		WRITE_ONCE(lgr->crowded, false);
}

static void lgr_idle_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(to_delayed_work(work), struct smc_lgr, idle_work);
	bool first = false;

	/* places are reserved under the registry lock, so none is while this decides */
	mutex_lock(&smc_core_reg.lock);
	xa_lock_bh(&lgr->conns);
	if (!lgr->nconns && !lgr->reserved)
		first = lgr_mark_dead(lgr, lgr->retired ?: SMC_LINK_IDLE);
	xa_unlock_bh(&lgr->conns);
	mutex_unlock(&smc_core_reg.lock);
	if (first)
		lgr_queue_work(lgr, &lgr->term_work);
	smc_core_put(lgr);
}

/* ---- upcalls of links ---- */

static void lgr_handle_llc(struct smc_link *link, const u8 *buf, u32 len)
{
	lgr_ctl_events->message(link, buf, len);
}

static void lgr_handle_cdc(struct smc_link *link, const u8 *buf, u32 len)
{
	rcu_read_lock();
	lgr_conn_events->message(link, buf, len);
	rcu_read_unlock();
}

static void lgr_handle_link_failed(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_lgr *lgr = link->lgr;

	/* taken out of use by somebody who does the rest: no failure */
	if (rcu_access_pointer(lgr->links[link->slot]) != link)
		return;
	if (!smc_core_dead(lgr) && reason != READ_ONCE(link->going)) {
		smc_stats_inc(lgr->net, SMC_STAT_LINK_FAIL);
		if (reason == SMC_LINK_STALLED)
			smc_stats_inc(lgr->net, SMC_STAT_LINK_STALL);
	}
	set_bit(link->slot, &lgr->lost);
	lgr_queue_work(lgr, &lgr->fail_work);
}

static void lgr_handle_slots_free(struct smc_link *link)
{
	rcu_read_lock();
	lgr_conn_events->slots_free(link);
	rcu_read_unlock();
}

static const struct smc_link_events lgr_link_events = {
	.llc = lgr_handle_llc,
	.cdc = lgr_handle_cdc,
	.lost = lgr_handle_link_failed,
	.slots_free = lgr_handle_slots_free,
};

/* ---- link set ---- */

/* Calls @fn for each connection, with a reference, in process context. */
static void lgr_notify_conns(struct smc_lgr *lgr, void (*fn)(void *conn, void *arg), void *arg)
{
	struct smc_core_entry *entry;
	unsigned long i;
	void *conn;

	rcu_read_lock();
	xa_for_each(&lgr->conns, i, entry) {
		conn = entry->conn;
		if (!lgr_conn_events->hold(conn))
			continue;
		rcu_read_unlock();
		fn(conn, arg);
		lgr_conn_events->put(conn);
		rcu_read_lock();
	}
	rcu_read_unlock();
}

static void lgr_notify_conn_lost(void *conn, void *arg)
{
	lgr_conn_events->link_lost(conn, arg);
}

static void lgr_notify_conn_end(void *conn, void *arg)
{
	const struct smc_lgr *lgr = arg;

	lgr_conn_events->terminated(conn, lgr->reason);
}

/* For people. Two at once may mix up: each field is true of one of them. */
static void lgr_record_loss(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	WRITE_ONCE(lgr->loss.reason, reason);
	WRITE_ONCE(lgr->loss.at, ktime_get_boottime_seconds());
	atomic_inc(&lgr->loss.count);
}

/*
 * What its connections write again over another link must not be met by anything that is
 * still on its way over this one, nor be read once more by our RNIC.
 */
static void lgr_fence_link(struct smc_lgr *lgr, struct smc_link *link)
{
	enum smc_link_reason reason = atomic_read(&link->reason);

	if (smc_link_fence(link))
		smc_stats_inc(lgr->net, SMC_STAT_FENCE_LATE);
	if (reason == SMC_LINK_SETUP_FAILED)
		return;
	smc_stats_inc(lgr->net, SMC_STAT_LINK_LEFT);
	lgr_record_loss(lgr, reason);
	/* two may go at a time, each for the sake of the other */
	if (!smc_core_has_link(lgr))
		smc_core_terminate(lgr, reason);
}

/* Takes the link of @slot out of the set if it is lost, and others are left; true: it was. */
static bool lgr_unlink_failed(struct smc_lgr *lgr, u32 slot)
{
	enum smc_link_reason reason;
	struct smc_link *link;
	bool mine = false;

	link = test_and_clear_bit(slot, &lgr->lost) ? smc_core_link(lgr, slot) : NULL;
	if (!link)
		return false;
	reason = atomic_read(&link->reason);
	if (reason != SMC_LINK_OK)
		smc_core_tell_link_lost(link, reason);
	if (reason != SMC_LINK_OK && !smc_core_has_link(lgr))
		smc_core_terminate(lgr, reason);
	else if (reason != SMC_LINK_OK)
		mine = smc_core_unlink(lgr, link);
	if (mine)
		pr_info_ratelimited("group %08x: link %u lost: %s\n", lgr->id, link->num,
				    smc_link_reason_str(reason));
	smc_link_put(link);
	return mine;
}

/* Those that end a handshake at the same time are counted with the others. */
static void lgr_failover_conns(struct smc_lgr *lgr, struct smc_link *link)
{
	u32 moves = atomic_read(&lgr->moves);

	lgr_notify_conns(lgr, lgr_notify_conn_lost, link);
	/* else they end with the group */
	if (!smc_core_dead(lgr))
		smc_core_tell_failover(link, atomic_read(&lgr->moves) - moves);
}

/*
 * Connections leave the links of @slots, which the caller has taken out of the set, and all
 * that are lost: those too that are found to be so while others are fenced, as the peer has
 * gone on from them. No connection is told before, and none of the links goes before: of what
 * came over one, and is looked at after what came over another, the bytes must not be gone.
 * Returns the slots, each of which has to be retired.
 */
static unsigned long lgr_failover_links(struct smc_lgr *lgr, unsigned long slots)
{
	unsigned long todo = slots;
	u32 slot;

	lockdep_assert_held(&lgr->leave_mutex);
	for (;;) {
		for (slot = 0; slot < SMC_CORE_LINKS && !smc_core_dead(lgr); slot++)
			if (lgr_unlink_failed(lgr, slot))
				todo |= BIT(slot);
		if (!todo)
			break;
		slots |= todo;
		for_each_set_bit(slot, &todo, SMC_CORE_LINKS)
			lgr_fence_link(lgr, smc_core_leaving(lgr, slot));
		todo = 0;
	}
	for_each_set_bit(slot, &slots, SMC_CORE_LINKS)
		lgr_failover_conns(lgr, smc_core_leaving(lgr, slot));
	return slots;
}

/* LLC hears of it, which may wait for a send slot: other links may be lost meanwhile. */
static void lgr_queue_removal(struct smc_lgr *lgr, unsigned long slots)
{
	u32 slot;

	if (!slots)
		return;
	for_each_set_bit(slot, &slots, SMC_CORE_LINKS)
		set_bit(slot, &lgr->left);
	lgr_queue_work(lgr, &lgr->retire_work);
}

/**
 * smc_core_del_link() - take a link out of use
 * @link: link; the caller has a reference, which stays
 * @reason: why
 *
 * Its connections are told. Process context, sleeps.
 */
void smc_core_del_link(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_lgr *lgr = link->lgr;
	unsigned long slots = 0;

	mutex_lock(&lgr->leave_mutex);
	/* else the group's failure or end came first and does the rest */
	if (smc_core_unlink(lgr, link)) {
		smc_link_fail(link, reason);
		smc_core_tell_link_lost(link, atomic_read(&link->reason));
		slots = lgr_failover_links(lgr, BIT(link->slot));
	}
	mutex_unlock(&lgr->leave_mutex);
	if (!slots)
		return;
	lgr_queue_removal(lgr, slots & ~BIT(link->slot));
	smc_core_retire_link(lgr, link);
}

static void lgr_failover_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, fail_work);
	unsigned long slots;

	mutex_lock(&lgr->leave_mutex);
	slots = lgr_failover_links(lgr, 0);
	mutex_unlock(&lgr->leave_mutex);
	lgr_queue_removal(lgr, slots);
	smc_core_put(lgr);
}

/* Links that were lost and that connections have left. */
static void lgr_remove_failed(struct smc_lgr *lgr)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		if (!test_and_clear_bit(slot, &lgr->left))
			continue;
		link = smc_core_leaving(lgr, slot);
		if (!smc_core_dead(lgr))
			lgr_ctl_events->link_lost(lgr, link);
		smc_core_retire_link(lgr, link);
	}
}

static void lgr_removal_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, retire_work);

	lgr_remove_failed(lgr);
	smc_core_put(lgr);
}

/* ---- connections go to a link that came ---- */

static void lgr_balance_cancel(struct smc_lgr *lgr)
{
	if (cancel_delayed_work(&lgr->balance_work))
		smc_core_put(lgr);
}

static void lgr_balance_arm(struct smc_lgr *lgr, unsigned long delay)
{
	smc_core_get(lgr);
	if (mod_delayed_work(lgr_wq, &lgr->balance_work, delay))
		smc_core_put(lgr);
	/* as in smc_core_arm_idle() */
	if (smc_core_dead(lgr))
		lgr_balance_cancel(lgr);
}

static void lgr_balance_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(to_delayed_work(work), struct smc_lgr, balance_work);

	if (!smc_core_dead(lgr) && lgr->balance_left && lgr_conn_events->balance(lgr)) {
		lgr->balance_left--;
		lgr_balance_arm(lgr, BALANCE_PAUSE);
	}
	smc_core_put(lgr);
}

/**
 * smc_core_link_came() - a further link can be used
 * @lgr: group
 *
 * A moment later connections may go to it: by then the peer can use it, too, and a link that
 * flaps has gone again.
 */
void smc_core_link_came(struct smc_lgr *lgr)
{
	if (!READ_ONCE(smc_policy_net(lgr->net)->balance))
		return;
	WRITE_ONCE(lgr->balance_round, lgr->balance_round + 1);
	WRITE_ONCE(lgr->balance_left, BALANCE_WALKS);
	lgr_balance_arm(lgr, BALANCE_DELAY);
}

/**
 * smc_core_add_link() - one more link for a group
 * @lgr: group
 * @path: local end; taken over
 * @num: client: its number, as the server says; server: 0
 *
 * Queue pair in INIT, all regions mapped. Process context, sleeps.
 *
 * Return: the link with a reference for the caller, or ERR_PTR.
 */
struct smc_link *smc_core_add_link(struct smc_lgr *lgr, struct smc_path *path, u8 num)
{
	struct smc_link *link;
	u32 slot;
	int rc;

	mutex_lock(&lgr->mutex);
	slot = find_first_zero_bit(&lgr->slots, SMC_CORE_LINKS);
	if (smc_core_dead(lgr)) {
		rc = -ECONNABORTED;
	} else if (slot >= SMC_CORE_LINKS) {
		rc = -ENOSPC;
	} else {
		num = smc_core_take_num(lgr, num);
		rc = num ? 0 : -EEXIST;
	}
	if (rc) {
		mutex_unlock(&lgr->mutex);
		smc_pnet_path_put(path);
		return ERR_PTR(rc);
	}
	link = smc_link_create(lgr, lgr->net, slot, path, &lgr_link_events);
	if (IS_ERR(link)) {
		mutex_unlock(&lgr->mutex);
		return link;
	}
	link->num = num;
	link->uid = lgr->id + num;
	__set_bit(slot, &lgr->slots);
	smc_link_get(link);	/* the caller's */
	/* keys that were told for the slot's last link, but too late */
	smc_core_rtoken_forget_slot(lgr, slot);
	rcu_assign_pointer(lgr->links[slot], link);
	rc = smc_buf_pool_map(&lgr->pool, slot, link->qp);
	mutex_unlock(&lgr->mutex);
	if (READ_ONCE(link->path.dev->dead))
		rc = -ENODEV;	/* the device went by before the link could be found */
	if (rc) {
		smc_core_del_link(link, SMC_LINK_SETUP_FAILED);
		smc_link_put(link);
		return ERR_PTR(rc);
	}
	return link;
}

/* ---- life of a group ---- */

/**
 * smc_core_get() - take a reference
 * @lgr: group
 */
void smc_core_get(struct smc_lgr *lgr)
{
	kref_get(&lgr->ref);
}

static void lgr_release(struct kref *ref)
{
	struct smc_lgr *lgr = container_of(ref, struct smc_lgr, ref);

	/* the last reference may go in softirq, the memory cannot */
	queue_work(lgr_wq, &lgr->free_work);
}

/**
 * smc_core_put() - drop a reference; any context
 * @lgr: group
 */
void smc_core_put(struct smc_lgr *lgr)
{
	kref_put(&lgr->ref, lgr_release);
}

static void lgr_free(struct smc_lgr *lgr)
{
	xa_destroy(&lgr->conns);
	kvfree(lgr->rtokens);
	mutex_destroy(&lgr->mutex);
	mutex_destroy(&lgr->leave_mutex);
	kfree(lgr);
}

static void lgr_free_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, free_work);

	lgr_ctl_events->release(lgr);
	smc_buf_pool_destroy(&lgr->pool);
	/* last, since smc_core_net_exit() takes its absence as the end */
	mutex_lock(&smc_core_reg.lock);
	list_del(&lgr->entry);
	mutex_unlock(&smc_core_reg.lock);
	trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_GONE, lgr->reason);
	lgr_free(lgr);
	smc_core_reg_changed();
}

/**
 * smc_core_terminate() - end a group
 * @lgr: group
 * @reason: why; the first one wins
 *
 * The one entrance to teardown. Any context; only marks and schedules. The caller
 * has a reference.
 */
void smc_core_terminate(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	if (lgr_mark_dead(lgr, reason))
		lgr_queue_work(lgr, &lgr->term_work);
}

/*
 * The end of a group. Who may still be inside, and why each comes out:
 * - look-ups: they see dead and pass by;
 * - handshakes and connections with a reference: their waits in the LLC layer end
 *   with its terminated upcall, their posts with the queue pairs, and what they
 *   use stays until they put the reference;
 * - fail_work and retire_work: waited for; they never wait for this one;
 * - works of the LLC layer: waited for inside the upcall;
 * - completions: end with the drain of the queue pairs.
 */
static void lgr_term_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, term_work);
	struct smc_link *link;
	u32 slot;

	pr_info_ratelimited("group %08x: ends: %s\n", lgr->id, smc_link_reason_str(lgr->reason));
	smc_stats_inc(lgr->net, SMC_STAT_LGR_TERM);
	smc_core_tell_group(lgr, SMC_NETLINK_OWN_EV_LGR_END, lgr->reason);
	smc_core_reg_changed();
	lgr_idle_cancel(lgr);
	lgr_balance_cancel(lgr);

	/* whoever adds a connection or a link after this point sees lgr->dead */
	xa_lock_bh(&lgr->conns);
	xa_unlock_bh(&lgr->conns);
	lgr_notify_conns(lgr, lgr_notify_conn_end, lgr);
	lgr_ctl_events->terminated(lgr);
	if (cancel_work_sync(&lgr->fail_work))
		smc_core_put(lgr);
	if (cancel_work_sync(&lgr->retire_work))
		smc_core_put(lgr);
	lgr_remove_failed(lgr);
	/*
	 * The peer has been told. A peer with infinite retries would otherwise wait
	 * for ever for our RNIC's answer to what it has in flight (in-tree: a worker
	 * stuck in D state).
	 */
	if (smc_core_has_link(lgr))
		msleep(LINGER_MS);

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (smc_core_unlink(lgr, link)) {
			smc_link_fail(link, lgr->reason);
			smc_core_retire_link(lgr, link);
		}
		smc_link_put(link);
	}
	smc_core_put(lgr);	/* its life */
	smc_core_put(lgr);	/* this work's */
}

static struct smc_lgr *lgr_alloc(struct net *net, enum smc_role role,
				 const struct smc_peer *peer)
{
	struct smc_lgr *lgr;

	lgr = smc_fault_null(LGR, kzalloc(sizeof(*lgr), GFP_KERNEL));
	if (!lgr)
		return NULL;
	lgr->rtokens = smc_fault_null(LGR_RTOKENS, kvcalloc(SMC_CORE_RTOKENS,
							    sizeof(*lgr->rtokens), GFP_KERNEL));
	if (!lgr->rtokens) {
		kfree(lgr);
		return NULL;
	}
	kref_init(&lgr->ref);
	INIT_LIST_HEAD(&lgr->entry);
	lgr->net = net;
	lgr->net_cookie = net->net_cookie;
	lgr->id = (u32)atomic_add_return(ID_STEP, &lgr_last_id);
	lgr->role = role;
	lgr->peer = *peer;
	mutex_init(&lgr->leave_mutex);
	mutex_init(&lgr->mutex);
	lgr->next_link_num = 1;
	xa_init_flags(&lgr->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	spin_lock_init(&lgr->rtoken_lock);
	smc_core_claims_init(&lgr->claims);
	smc_buf_pool_init(&lgr->pool, net);
	INIT_DELAYED_WORK(&lgr->idle_work, lgr_idle_work_fn);
	INIT_DELAYED_WORK(&lgr->balance_work, lgr_balance_work_fn);
	INIT_WORK(&lgr->term_work, lgr_term_work_fn);
	INIT_WORK(&lgr->fail_work, lgr_failover_work_fn);
	INIT_WORK(&lgr->retire_work, lgr_removal_work_fn);
	INIT_WORK(&lgr->free_work, lgr_free_work_fn);
	return lgr;
}

/* The first link, in slot 0. Takes over @path. Nobody else knows the group yet. */
static int lgr_add_first_link(struct smc_lgr *lgr, struct smc_path *path)
{
	struct smc_link *link;

	link = smc_link_create(lgr, lgr->net, 0, path, &lgr_link_events);
	if (IS_ERR(link))
		return PTR_ERR(link);
	if (lgr->role == SMC_SERVER)
		link->num = lgr->next_link_num++;
	link->uid = lgr->id + 1;
	__set_bit(0, &lgr->slots);
	RCU_INIT_POINTER(lgr->links[0], link);
	return 0;
}

/* The newest first: whoever walks the list in parts goes by the ID. Registry lock held. */
static void registry_insert(struct smc_lgr *lgr)
{
	struct smc_lgr *older;

	list_for_each_entry(older, &smc_core_reg.groups, entry)
		if ((s32)(older->id - lgr->id) < 0)
			break;
	list_add_tail(&lgr->entry, &older->entry);
}

/**
 * smc_core_create() - a group for a first contact
 * @net: namespace
 * @role: client or server
 * @peer: who, and how; copied
 * @path: local end of the first link; taken over
 *
 * Process context, sleeps.
 *
 * Return: the group with one reference and one reserved place, or ERR_PTR.
 */
struct smc_lgr *smc_core_create(struct net *net, enum smc_role role,
				const struct smc_peer *peer, struct smc_path *path)
{
	struct smc_ib_device *dev = path->dev;
	struct smc_lgr *lgr;
	int rc = -ENOMEM;

	lgr = lgr_alloc(net, role, peer);
	if (!lgr)
		goto err_path;
	rc = lgr_ctl_events->init(lgr);
	if (rc)
		goto err_lgr;
	smc_ib_device_get(dev);	/* to look at it after the path was given away */
	rc = lgr_add_first_link(lgr, path);
	if (rc) {
		smc_ib_device_put(dev);
		lgr_ctl_events->release(lgr);
		lgr_free(lgr);
		return ERR_PTR(rc);
	}
	smc_core_get(lgr);	/* the caller's; the first one ends with term_work */
	lgr->reserved = 1;
	trace_smc_group_state(lgr->id, role, SMC_TRACE_GROUP_CREATED, SMC_LINK_OK);
	smc_core_tell_group(lgr, SMC_NETLINK_OWN_EV_LGR_BEGIN, SMC_LINK_OK);
	mutex_lock(&smc_core_reg.lock);
	registry_insert(lgr);
	if (registry_closing)
		smc_core_terminate(lgr, SMC_LINK_NET_EXIT);
	mutex_unlock(&smc_core_reg.lock);
	/* device_gone may have walked the list before the group was on it */
	if (READ_ONCE(dev->dead))
		smc_core_terminate(lgr, SMC_LINK_DEVICE_GONE);
	smc_ib_device_put(dev);
	return lgr;

err_lgr:
	lgr_free(lgr);
err_path:
	smc_pnet_path_put(path);
	return ERR_PTR(rc);
}

/**
 * smc_core_for_each() - walk all groups, dying ones included
 * @fn: called under the registry lock; may sleep; non-zero stops
 * @arg: for @fn
 *
 * Return: what @fn returned last.
 */
int smc_core_for_each(int (*fn)(struct smc_lgr *lgr, void *arg), void *arg)
{
	struct smc_lgr *lgr;
	int rc = 0;

	mutex_lock(&smc_core_reg.lock);
	list_for_each_entry(lgr, &smc_core_reg.groups, entry) {
		if (!kref_get_unless_zero(&lgr->ref))
			continue;
		rc = fn(lgr, arg);
		smc_core_put(lgr);
		if (rc)
			break;
	}
	mutex_unlock(&smc_core_reg.lock);
	return rc;
}

static int lgr_notify_ports(struct smc_lgr *lgr, void *arg)
{
	if (!smc_core_dead(lgr))
		lgr_ctl_events->ports_changed(lgr);
	return 0;
}

/**
 * smc_core_ports_changed() - ports or GIDs of this host came
 *
 * Process context.
 */
void smc_core_ports_changed(void)
{
	smc_core_for_each(lgr_notify_ports, NULL);
}

/* ---- begin and end ---- */

/**
 * smc_core_set_ctl_events() - who hears of groups and links
 * @events: table; before the first group
 */
void smc_core_set_ctl_events(const struct smc_lgr_ctl_events *events)
{
	lgr_ctl_events = events;
}

/**
 * smc_core_set_conn_events() - who hears for connections
 * @events: table; before the first group
 */
void smc_core_set_conn_events(const struct smc_lgr_conn_events *events)
{
	lgr_conn_events = events;
}

/* Terminates the groups of @net (NULL: all); false when none is left. */
static bool registry_terminate(const struct net *net)
{
	struct smc_lgr *lgr;
	bool any = false;

	mutex_lock(&smc_core_reg.lock);
	list_for_each_entry(lgr, &smc_core_reg.groups, entry) {
		if (net && lgr->net != net)
			continue;
		any = true;
		if (!kref_get_unless_zero(&lgr->ref))
			continue;
		smc_core_terminate(lgr, SMC_LINK_NET_EXIT);
		smc_core_put(lgr);
	}
	mutex_unlock(&smc_core_reg.lock);
	return any;
}

/**
 * smc_core_net_exit() - end the groups of a namespace and wait for it
 * @net: namespace, NULL: all
 *
 * Returns when the last of them is freed, its connections included.
 */
void smc_core_net_exit(struct net *net)
{
	unsigned long warn_at = jiffies + EXIT_WARN_TIME;
	int seq;

	/* without limit: groups and their connections point to the namespace */
	for (;;) {
		seq = atomic_read(&smc_core_reg.seq);
		if (!registry_terminate(net))
			return;
		if (time_after(jiffies, warn_at)) {
			pr_warn("still waiting for link groups to end\n");
			warn_at = jiffies + EXIT_WARN_TIME;
		}
		wait_event_timeout(smc_core_reg.wait, atomic_read(&smc_core_reg.seq) != seq, HZ);
	}
}

static struct pernet_operations lgr_net_ops = {
	.exit = smc_core_net_exit,
};

/**
 * smc_core_init() - set up
 *
 * Return: 0 or -errno.
 */
int smc_core_init(void)
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
 * smc_core_exit() - end whatever is left and undo smc_core_init()
 */
void smc_core_exit(void)
{
	mutex_lock(&smc_core_reg.lock);
	registry_closing = true;
	mutex_unlock(&smc_core_reg.lock);
	smc_core_net_exit(NULL);
	unregister_pernet_subsys(&lgr_net_ops);
	destroy_workqueue(lgr_wq);
	rcu_barrier();		/* entries of the token tables */
}
