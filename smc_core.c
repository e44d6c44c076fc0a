// SPDX-License-Identifier: GPL-2.0-only
/*
 * Link groups: registry, link set, rtokens, connection table, termination.
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
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <smc/core.h>
#include <smc/fault.h>
#include <smc/ib.h>
#include <smc/policy.h>
#include <smc/stats.h>

#define ID_STEP		0x100
#define COMPLAIN_TIME	(30 * HZ)	/* before a wait without limit says so */
#define BALANCE_DELAY	HZ		/* from a new link to the first move to it */
#define BALANCE_PAUSE	(HZ / 10)	/* between two walks over the connections */
#define BALANCE_WALKS	64		/* at most, for a new link */
#define PARTING_MS	200		/* between DELETE LINK and silence */

/*
 * A first contact that a server is having: others of the same peer wait for it
 * instead of making a second group.
 */
struct pending_contact {
	struct list_head entry;
	struct net *net;
	struct smc_peer peer;
};

static DEFINE_MUTEX(registry_lock);	/* sleeps, never held while waiting for a peer */
static LIST_HEAD(groups);
static LIST_HEAD(pending_contacts);
static DECLARE_WAIT_QUEUE_HEAD(registry_wait);
static atomic_t registry_seq;		/* moves when waiters should look again */
static atomic_t last_id;
static bool closing;			/* under registry_lock */
static struct workqueue_struct *core_wq;
static const struct smc_lgr_ctl_events *ctl_events;
static const struct smc_lgr_conn_events *conn_events;

static void registry_changed(void)
{
	atomic_inc(&registry_seq);
	wake_up_all(&registry_wait);
}

/* Waits for a change since @seq was read, but no longer than @deadline or a poll. */
static void registry_sleep(int seq, unsigned long deadline)
{
	long left = deadline - jiffies;

	if (left <= 0)
		return;
	wait_event_timeout(registry_wait, atomic_read(&registry_seq) != seq,
			   min_t(long, left, SMC_CORE_POLL));
}

static void queue_with_ref(struct smc_lgr *lgr, struct work_struct *work)
{
	smc_core_get(lgr);
	if (!queue_work(core_wq, work))
		smc_core_put(lgr);
}

static bool lgr_dead(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->dead);
}

/* Marks the group dead; true for the first caller, who has to queue its end. */
static bool mark_dead(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	if (reason == SMC_LINK_OK)
		reason = SMC_LINK_ADMIN;
	if (cmpxchg(&lgr->reason, SMC_LINK_OK, reason) != SMC_LINK_OK)
		return false;
	/* pairs with the reads under the lock of lgr->conns and under lgr->mutex */
	smp_store_release(&lgr->dead, true);
	return true;
}

/* ---- connection places and idleness ---- */

static void cancel_idle(struct smc_lgr *lgr)
{
	if (cancel_delayed_work(&lgr->idle_work))
		smc_core_put(lgr);
}

static void arm_idle(struct smc_lgr *lgr)
{
	struct smc_net *policy;
	int secs;

	if (lgr_dead(lgr))
		return;
	policy = smc_policy_net(lgr->net);
	secs = lgr->role == SMC_SERVER ? READ_ONCE(policy->idle_server) :
					 READ_ONCE(policy->idle_client);
	if (READ_ONCE(lgr->retired))
		secs = 0;	/* nobody will use it again */
	smc_core_get(lgr);
	if (mod_delayed_work(core_wq, &lgr->idle_work, max(secs, 0) * (unsigned long)HZ))
		smc_core_put(lgr);	/* the one that was queued had its own reference */
	/* the end may have cancelled it just before: it would hold the group for minutes */
	if (lgr_dead(lgr))
		cancel_idle(lgr);
}

static u32 max_places(const struct smc_lgr *lgr)
{
	/* a client follows its server, which counts */
	if (lgr->role == SMC_CLIENT || !lgr->peer.max_conns)
		return SMC_CORE_CONNS_MAX;
	return min_t(u32, lgr->peer.max_conns, SMC_CORE_CONNS_MAX);
}

static bool reserve_place(struct smc_lgr *lgr)
{
	bool ok = false;

	xa_lock_bh(&lgr->conns);
	if (!lgr_dead(lgr) && !lgr->retired &&
	    lgr->nconns + lgr->reserved < max_places(lgr)) {
		lgr->reserved++;
		ok = true;
	}
	xa_unlock_bh(&lgr->conns);
	if (ok)
		cancel_idle(lgr);
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
		arm_idle(lgr);
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
	if (!lgr->retired)
		WRITE_ONCE(lgr->retired, reason);
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	if (idle)
		arm_idle(lgr);
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

static void idle_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(to_delayed_work(work), struct smc_lgr, idle_work);
	bool first = false;

	/* places are reserved under the registry lock, so none is while this decides */
	mutex_lock(&registry_lock);
	xa_lock_bh(&lgr->conns);
	if (!lgr->nconns && !lgr->reserved)
		first = mark_dead(lgr, lgr->retired ?: SMC_LINK_IDLE);
	xa_unlock_bh(&lgr->conns);
	mutex_unlock(&registry_lock);
	if (first)
		queue_with_ref(lgr, &lgr->term_work);
	smc_core_put(lgr);
}

/* ---- upcalls of links ---- */

static void link_llc(struct smc_link *link, const u8 *buf, u32 len)
{
	ctl_events->message(link, buf, len);
}

static void link_cdc(struct smc_link *link, const u8 *buf, u32 len)
{
	rcu_read_lock();
	conn_events->message(link, buf, len);
	rcu_read_unlock();
}

static void link_lost(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_lgr *lgr = link->lgr;

	/* taken out of use by somebody who does the rest: no failure */
	if (rcu_access_pointer(lgr->links[link->slot]) != link)
		return;
	if (!lgr_dead(lgr)) {
		smc_stats_inc(lgr->net, SMC_STAT_LINK_FAIL);
		if (reason == SMC_LINK_STALLED)
			smc_stats_inc(lgr->net, SMC_STAT_LINK_STALL);
	}
	set_bit(link->slot, &lgr->lost);
	queue_with_ref(lgr, &lgr->fail_work);
}

static void link_slots_free(struct smc_link *link)
{
	rcu_read_lock();
	conn_events->slots_free(link);
	rcu_read_unlock();
}

static const struct smc_link_events link_events = {
	.llc = link_llc,
	.cdc = link_cdc,
	.lost = link_lost,
	.slots_free = link_slots_free,
};

/* ---- link set ---- */

/**
 * smc_core_link() - the link of a slot
 * @lgr: group
 * @slot: slot
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_core_link(struct smc_lgr *lgr, u32 slot)
{
	struct smc_link *link;

	if (slot >= SMC_CORE_LINKS)
		return NULL;
	rcu_read_lock();
	link = rcu_dereference(lgr->links[slot]);
	if (link && !smc_link_get_unless_zero(link))
		link = NULL;
	rcu_read_unlock();
	return link;
}

/**
 * smc_core_link_by_num() - the link of a number on the wire
 * @lgr: group
 * @num: link number; 0 never names a link
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_core_link_by_num(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; num && slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (READ_ONCE(link->num) == num)
			return link;
		smc_link_put(link);
	}
	return NULL;
}

/**
 * smc_core_open_slot() - where may messages of a link still come from
 * @lgr: group
 * @num: link number from the wire
 *
 * Other than smc_core_link_by_num() it finds a link that is being shut down, until that is
 * fenced: connections are told later.
 *
 * Return: slot, or -ENOENT.
 */
int smc_core_open_slot(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;
	int found = -ENOENT;
	u32 slot;

	rcu_read_lock();
	for (slot = 0; slot < SMC_CORE_LINKS && found < 0; slot++) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link) {
			smp_rmb();	/* pairs with unlink_link() */
			link = rcu_dereference(lgr->leaving[slot]);
		}
		if (link && READ_ONCE(link->num) == num && !smc_link_fenced(link))
			found = slot;
	}
	rcu_read_unlock();
	return found;
}

static struct smc_link *best_link(struct smc_lgr *lgr, const struct smc_link *not)
{
	struct smc_link *best = NULL, *link;
	u32 slot;

	rcu_read_lock();
	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link || link == not || !smc_link_usable(link))
			continue;
		if (!best || atomic_read(&link->nconns) < atomic_read(&best->nconns))
			best = link;
	}
	if (best && !smc_link_get_unless_zero(best))
		best = NULL;
	rcu_read_unlock();
	return best;
}

/**
 * smc_core_pick_link() - a link that can be used
 * @lgr: group
 *
 * For what is no connection; see smc_core_pick_for().
 *
 * Return: the usable link with the fewest connections, with a reference, or NULL.
 */
struct smc_link *smc_core_pick_link(struct smc_lgr *lgr)
{
	return best_link(lgr, NULL);
}

/**
 * smc_core_other_link() - a second way to the peer
 * @lgr: group
 * @not: the link not wanted
 *
 * Return: a usable link with a reference, or NULL.
 */
struct smc_link *smc_core_other_link(struct smc_lgr *lgr, const struct smc_link *not)
{
	return best_link(lgr, not);
}

static bool has_usable_link(struct smc_lgr *lgr)
{
	struct smc_link *link = smc_core_pick_link(lgr);

	if (link)
		smc_link_put(link);
	return link;
}

/* Takes @link out of the set. True: the caller is the one to shut it down. */
static bool unlink_link(struct smc_lgr *lgr, struct smc_link *link)
{
	bool mine;

	mutex_lock(&lgr->mutex);
	mine = rcu_access_pointer(lgr->links[link->slot]) == link;
	if (mine) {
		WRITE_ONCE(lgr->gone[link->slot], link->peer_qpn);
		rcu_assign_pointer(lgr->leaving[link->slot], link);
		/* who does not see it here any more sees it there: smc_core_open_slot() */
		smp_wmb();
		RCU_INIT_POINTER(lgr->links[link->slot], NULL);
	}
	mutex_unlock(&lgr->mutex);
	return mine;
}

static void unmap_link(struct smc_link *link)
{
	struct smc_lgr *lgr = link->lgr;

	mutex_lock(&lgr->mutex);
	smc_buf_pool_unmap(&lgr->pool, link->slot);
	mutex_unlock(&lgr->mutex);
}

/*
 * Second phase of removing a link; only for who unlinked it. Still inside may be:
 * readers of the link set with a reference (see the reason, or their posts are
 * refused), completions of the queue pair (end with the drain). Puts the reference
 * of the link set.
 */
static void retire_link(struct smc_lgr *lgr, struct smc_link *link)
{
	u32 slot = link->slot;

	smc_link_shutdown(link, unmap_link);
	RCU_INIT_POINTER(lgr->leaving[slot], NULL);
	smc_core_rtoken_forget_slot(lgr, slot);
	smc_link_put(link);
	mutex_lock(&lgr->mutex);
	__clear_bit(slot, &lgr->slots);
	mutex_unlock(&lgr->mutex);
}

/* Calls @fn for each connection, with a reference, in process context. */
static void tell_conns(struct smc_lgr *lgr, void (*fn)(void *conn, void *arg), void *arg)
{
	struct smc_core_entry *entry;
	unsigned long i;
	void *conn;

	rcu_read_lock();
	xa_for_each(&lgr->conns, i, entry) {
		conn = entry->conn;
		if (!conn_events->hold(conn))
			continue;
		rcu_read_unlock();
		fn(conn, arg);
		conn_events->put(conn);
		rcu_read_lock();
	}
	rcu_read_unlock();
}

static void tell_link_lost(void *conn, void *arg)
{
	conn_events->link_lost(conn, arg);
}

static void tell_terminated(void *conn, void *arg)
{
	const struct smc_lgr *lgr = arg;

	conn_events->terminated(conn, lgr->reason);
}

/* For people. Two at once may mix up: each field is true of one of them. */
static void note_loss(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	WRITE_ONCE(lgr->loss.reason, reason);
	WRITE_ONCE(lgr->loss.at, ktime_get_boottime_seconds());
	atomic_inc(&lgr->loss.count);
}

/* The link that left slot @slot, for who took it out of the set and has not retired it yet. */
static struct smc_link *leaving_link(struct smc_lgr *lgr, u32 slot)
{
	return rcu_dereference_protected(lgr->leaving[slot], true);
}

/*
 * What its connections write again over another link must not be met by anything that is
 * still on its way over this one, nor be read once more by our RNIC.
 */
static void fence_link(struct smc_lgr *lgr, struct smc_link *link)
{
	enum smc_link_reason reason = atomic_read(&link->reason);

	if (smc_link_fence(link))
		smc_stats_inc(lgr->net, SMC_STAT_FENCE_LATE);
	if (reason == SMC_LINK_SETUP_FAILED)
		return;
	smc_stats_inc(lgr->net, SMC_STAT_LINK_LEFT);
	note_loss(lgr, reason);
	/* two may go at a time, each for the sake of the other */
	if (!has_usable_link(lgr))
		smc_core_terminate(lgr, reason);
}

/* Takes the link of @slot out of the set if it is lost, and others are left; true: it was. */
static bool unlink_lost(struct smc_lgr *lgr, u32 slot)
{
	enum smc_link_reason reason;
	struct smc_link *link;
	bool mine = false;

	link = test_and_clear_bit(slot, &lgr->lost) ? smc_core_link(lgr, slot) : NULL;
	if (!link)
		return false;
	reason = atomic_read(&link->reason);
	if (reason != SMC_LINK_OK && !has_usable_link(lgr))
		smc_core_terminate(lgr, reason);
	else if (reason != SMC_LINK_OK)
		mine = unlink_link(lgr, link);
	if (mine)
		pr_info_ratelimited("group %08x: link %u lost: %s\n", lgr->id, link->num,
				    smc_link_reason_str(reason));
	smc_link_put(link);
	return mine;
}

/*
 * Connections leave the links of @slots, which the caller has taken out of the set, and all
 * that are lost: those too that are found to be so while others are fenced, as the peer has
 * gone on from them. No connection is told before, and none of the links goes before: of what
 * came over one, and is looked at after what came over another, the bytes must not be gone.
 * Returns the slots, each of which has to be retired.
 */
static unsigned long leave_links(struct smc_lgr *lgr, unsigned long slots)
{
	unsigned long todo = slots;
	u32 slot;

	lockdep_assert_held(&lgr->leave_mutex);
	for (;;) {
		for (slot = 0; slot < SMC_CORE_LINKS && !lgr_dead(lgr); slot++)
			if (unlink_lost(lgr, slot))
				todo |= BIT(slot);
		if (!todo)
			break;
		slots |= todo;
		for_each_set_bit(slot, &todo, SMC_CORE_LINKS)
			fence_link(lgr, leaving_link(lgr, slot));
		todo = 0;
	}
	for_each_set_bit(slot, &slots, SMC_CORE_LINKS)
		tell_conns(lgr, tell_link_lost, leaving_link(lgr, slot));
	return slots;
}

/* LLC hears of it, which may wait for a send slot: other links may be lost meanwhile. */
static void retire_later(struct smc_lgr *lgr, unsigned long slots)
{
	u32 slot;

	if (!slots)
		return;
	for_each_set_bit(slot, &slots, SMC_CORE_LINKS)
		set_bit(slot, &lgr->left);
	queue_with_ref(lgr, &lgr->retire_work);
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
	if (unlink_link(lgr, link)) {
		smc_link_fail(link, reason);
		slots = leave_links(lgr, BIT(link->slot));
	}
	mutex_unlock(&lgr->leave_mutex);
	if (!slots)
		return;
	retire_later(lgr, slots & ~BIT(link->slot));
	retire_link(lgr, link);
}

static void fail_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, fail_work);
	unsigned long slots;

	mutex_lock(&lgr->leave_mutex);
	slots = leave_links(lgr, 0);
	mutex_unlock(&lgr->leave_mutex);
	retire_later(lgr, slots);
	smc_core_put(lgr);
}

/* Links that were lost and that connections have left. */
static void retire_lost(struct smc_lgr *lgr)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		if (!test_and_clear_bit(slot, &lgr->left))
			continue;
		link = leaving_link(lgr, slot);
		if (!lgr_dead(lgr))
			ctl_events->link_lost(lgr, link);
		retire_link(lgr, link);
	}
}

static void retire_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, retire_work);

	retire_lost(lgr);
	smc_core_put(lgr);
}

/* ---- connections go to a link that came ---- */

static void cancel_balance(struct smc_lgr *lgr)
{
	if (cancel_delayed_work(&lgr->balance_work))
		smc_core_put(lgr);
}

static void arm_balance(struct smc_lgr *lgr, unsigned long delay)
{
	smc_core_get(lgr);
	if (mod_delayed_work(core_wq, &lgr->balance_work, delay))
		smc_core_put(lgr);
	/* as in arm_idle() */
	if (lgr_dead(lgr))
		cancel_balance(lgr);
}

static void balance_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(to_delayed_work(work), struct smc_lgr, balance_work);

	if (!lgr_dead(lgr) && lgr->balance_left && conn_events->balance(lgr)) {
		lgr->balance_left--;
		arm_balance(lgr, BALANCE_PAUSE);
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
	arm_balance(lgr, BALANCE_DELAY);
}

/* Server: numbers count up, 0 and those in use are left out. lgr->mutex held. */
static u8 next_link_num(struct smc_lgr *lgr)
{
	struct smc_link *link;
	u8 num;

	lockdep_assert_held(&lgr->mutex);
	for (;;) {
		num = lgr->next_link_num++;
		if (!num)
			continue;
		link = smc_core_link_by_num(lgr, num);
		if (!link)
			return num;
		smc_link_put(link);
	}
}

/* The number of a link to be, 0: @num is in use. lgr->mutex held. */
static u8 take_link_num(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;

	if (!num)
		return next_link_num(lgr);
	link = smc_core_link_by_num(lgr, num);
	if (!link)
		return num;
	smc_link_put(link);
	return 0;
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
	if (lgr_dead(lgr)) {
		rc = -ECONNABORTED;
	} else if (slot >= SMC_CORE_LINKS) {
		rc = -ENOSPC;
	} else {
		num = take_link_num(lgr, num);
		rc = num ? 0 : -EEXIST;
	}
	if (rc) {
		mutex_unlock(&lgr->mutex);
		smc_pnet_path_put(path);
		return ERR_PTR(rc);
	}
	link = smc_link_create(lgr, lgr->net, slot, path, &link_events);
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

static void lgr_released(struct kref *ref)
{
	struct smc_lgr *lgr = container_of(ref, struct smc_lgr, ref);

	/* the last reference may go in softirq, the memory cannot */
	queue_work(core_wq, &lgr->free_work);
}

/**
 * smc_core_put() - drop a reference; any context
 * @lgr: group
 */
void smc_core_put(struct smc_lgr *lgr)
{
	kref_put(&lgr->ref, lgr_released);
}

static void lgr_free(struct smc_lgr *lgr)
{
	xa_destroy(&lgr->conns);
	kvfree(lgr->rtokens);
	mutex_destroy(&lgr->mutex);
	mutex_destroy(&lgr->leave_mutex);
	kfree(lgr);
}

static void free_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, free_work);

	ctl_events->release(lgr);
	smc_buf_pool_destroy(&lgr->pool);
	/* last, since smc_core_net_exit() takes its absence as the end */
	mutex_lock(&registry_lock);
	list_del(&lgr->entry);
	mutex_unlock(&registry_lock);
	lgr_free(lgr);
	registry_changed();
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
	if (mark_dead(lgr, reason))
		queue_with_ref(lgr, &lgr->term_work);
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
static void term_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, term_work);
	struct smc_link *link;
	u32 slot;

	pr_info_ratelimited("group %08x: ends: %s\n", lgr->id, smc_link_reason_str(lgr->reason));
	smc_stats_inc(lgr->net, SMC_STAT_LGR_TERM);
	registry_changed();
	cancel_idle(lgr);
	cancel_balance(lgr);

	/* whoever adds a connection or a link after this point sees lgr->dead */
	xa_lock_bh(&lgr->conns);
	xa_unlock_bh(&lgr->conns);
	tell_conns(lgr, tell_terminated, lgr);
	ctl_events->terminated(lgr);
	if (cancel_work_sync(&lgr->fail_work))
		smc_core_put(lgr);
	if (cancel_work_sync(&lgr->retire_work))
		smc_core_put(lgr);
	retire_lost(lgr);
	/*
	 * The peer has been told. A peer with infinite retries would otherwise wait
	 * for ever for our RNIC's answer to what it has in flight (in-tree: a worker
	 * stuck in D state).
	 */
	if (has_usable_link(lgr))
		msleep(PARTING_MS);

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (unlink_link(lgr, link)) {
			smc_link_fail(link, lgr->reason);
			retire_link(lgr, link);
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
	lgr->id = (u32)atomic_add_return(ID_STEP, &last_id);
	lgr->role = role;
	lgr->peer = *peer;
	mutex_init(&lgr->leave_mutex);
	mutex_init(&lgr->mutex);
	lgr->next_link_num = 1;
	xa_init_flags(&lgr->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	spin_lock_init(&lgr->rtoken_lock);
	smc_buf_pool_init(&lgr->pool);
	INIT_DELAYED_WORK(&lgr->idle_work, idle_work_fn);
	INIT_DELAYED_WORK(&lgr->balance_work, balance_work_fn);
	INIT_WORK(&lgr->term_work, term_work_fn);
	INIT_WORK(&lgr->fail_work, fail_work_fn);
	INIT_WORK(&lgr->retire_work, retire_work_fn);
	INIT_WORK(&lgr->free_work, free_work_fn);
	return lgr;
}

/* The first link, in slot 0. Takes over @path. Nobody else knows the group yet. */
static int first_link(struct smc_lgr *lgr, struct smc_path *path)
{
	struct smc_link *link;

	link = smc_link_create(lgr, lgr->net, 0, path, &link_events);
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
static void enlist(struct smc_lgr *lgr)
{
	struct smc_lgr *older;

	list_for_each_entry(older, &groups, entry)
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
	rc = ctl_events->init(lgr);
	if (rc)
		goto err_lgr;
	smc_ib_device_get(dev);	/* to look at it after the path was given away */
	rc = first_link(lgr, path);
	if (rc) {
		smc_ib_device_put(dev);
		ctl_events->release(lgr);
		lgr_free(lgr);
		return ERR_PTR(rc);
	}
	smc_core_get(lgr);	/* the caller's; the first one ends with term_work */
	lgr->reserved = 1;
	mutex_lock(&registry_lock);
	enlist(lgr);
	if (closing)
		smc_core_terminate(lgr, SMC_LINK_NET_EXIT);
	mutex_unlock(&registry_lock);
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

/* ---- look-ups ---- */

/* Is @link where a server's Accept says the connection has to go? */
static bool link_leads_to(const struct smc_link *link, u32 qpn, const union ib_gid *gid)
{
	return link->peer_qpn == qpn && !memcmp(&link->peer_gid, gid, sizeof(*gid)) &&
	       atomic_read(&link->reason) == SMC_LINK_OK;
}

/* The link of a live group that leads to (@qpn, @gid); with a reference. */
static struct smc_link *client_link(struct smc_lgr *lgr, u32 qpn, const union ib_gid *gid)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (link_leads_to(link, qpn, gid))
			return link;
		smc_link_put(link);
	}
	return NULL;
}

/* Did @qpn lead over a link that is lost? The server need not know that yet. */
static bool has_lost(struct smc_lgr *lgr, u32 qpn)
{
	struct smc_link *link;
	bool found = false;
	u32 slot;

	for (slot = 0; qpn && slot < SMC_CORE_LINKS && !found; slot++) {
		link = smc_core_link(lgr, slot);
		if (link) {
			/* failed, and still in the set */
			found = link->peer_qpn == qpn && !smc_link_usable(link);
			smc_link_put(link);
		}
		smp_rmb();	/* pairs with unlink_link() */
		found |= READ_ONCE(lgr->gone[slot]) == qpn;
	}
	return found;
}

static struct smc_lgr *lookup_client(struct net *net, const struct smc_peer *peer, u32 qpn,
				     struct smc_link **link, bool *wait, bool *lost)
{
	struct smc_lgr *lgr, *found = NULL;
	struct smc_link *l;

	*wait = false;
	*lost = false;
	mutex_lock(&registry_lock);
	list_for_each_entry(lgr, &groups, entry) {
		if (lgr->net != net || lgr->role != SMC_CLIENT || lgr_dead(lgr) ||
		    lgr->peer.version != peer->version ||
		    memcmp(lgr->peer.id, peer->id, sizeof(lgr->peer.id)) ||
		    !kref_get_unless_zero(&lgr->ref))
			continue;
		l = client_link(lgr, qpn, &peer->gid);
		if (l && lgr->ready && smc_link_usable(l) && reserve_place(lgr)) {
			*link = l;
			found = lgr;
			break;
		}
		/* its first contact is not over, or our end of it has no place yet */
		*wait = l;
		*lost |= !l && has_lost(lgr, qpn);
		if (l)
			smc_link_put(l);
		smc_core_put(lgr);
		if (*wait)
			break;
	}
	mutex_unlock(&registry_lock);
	return found;
}

/**
 * smc_core_find_client() - the group a server refers to in a subsequent contact
 * @net: namespace
 * @peer: ID, GID and version of the Accept
 * @peer_qpn: queue pair number in the Accept
 * @deadline: jiffies: how long to wait for a first contact that is under way, or for
 *	a place: the server counts a connection as gone before we do
 * @cancel: set: give up; may be NULL
 * @link: out: the link, with a reference
 *
 * Return: the group with a reference and a reserved place, or ERR_PTR: -ENOENT: out of
 * sync, -ENOLINK: the link is lost, but not its group, -ETIMEDOUT, -ECANCELED.
 */
struct smc_lgr *smc_core_find_client(struct net *net, const struct smc_peer *peer, u32 peer_qpn,
				     unsigned long deadline, const bool *cancel,
				     struct smc_link **link)
{
	struct smc_lgr *lgr;
	bool wait, lost;
	int seq;

	for (;;) {
		seq = atomic_read(&registry_seq);
		lgr = lookup_client(net, peer, peer_qpn, link, &wait, &lost);
		if (lgr)
			return lgr;
		if (!wait)
			return ERR_PTR(lost ? -ENOLINK : -ENOENT);
		if (cancel && READ_ONCE(*cancel))
			return ERR_PTR(-ECANCELED);
		if (time_after_eq(jiffies, deadline))
			return ERR_PTR(-ETIMEDOUT);
		registry_sleep(seq, deadline);
	}
}

/*
 * Do both describe the same host, spoken to in the same way? Under another TCP address
 * it counts as another one: decision 0009.
 */
static bool same_peer(const struct smc_peer *a, const struct smc_peer *b)
{
	return a->version == b->version && a->release == b->release && a->vlan == b->vlan &&
	       !memcmp(a->id, b->id, sizeof(a->id)) &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid)) &&
	       !memcmp(&a->carrier, &b->carrier, sizeof(a->carrier));
}

/*
 * Has the group a usable link over the port that the connection's path leads to? Groups
 * over other ports may be on networks of their own, and may be what an administrator
 * wants new connections to leave.
 */
static bool uses_port(struct smc_lgr *lgr, const struct smc_path *own)
{
	struct smc_link *link;
	bool found = !own;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS && !found; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		found = link->path.dev == own->dev && link->path.port == own->port &&
			smc_link_usable(link);
		smc_link_put(link);
	}
	return found;
}

/* Registry lock held. */
static struct smc_lgr *lookup_server(struct net *net, const struct smc_peer *peer,
				     const struct smc_path *own, struct smc_link **link)
{
	struct smc_lgr *lgr;

	list_for_each_entry(lgr, &groups, entry) {
		if (lgr->net != net || lgr->role != SMC_SERVER || !lgr->ready || lgr_dead(lgr) ||
		    READ_ONCE(lgr->crowded) || !same_peer(&lgr->peer, peer) ||
		    !smc_core_rtoken_room(lgr) || !kref_get_unless_zero(&lgr->ref))
			continue;
		*link = uses_port(lgr, own) ? smc_core_pick_for(lgr, ~0UL, NULL) : NULL;
		if (*link && reserve_place(lgr))
			return lgr;
		if (*link)
			smc_link_put(*link);
		smc_core_put(lgr);
	}
	*link = NULL;
	return NULL;
}

/* Registry lock held. */
static bool contact_pending(struct net *net, const struct smc_peer *peer)
{
	struct pending_contact *p;

	list_for_each_entry(p, &pending_contacts, entry)
		if (p->net == net && same_peer(&p->peer, peer))
			return true;
	return false;
}

/**
 * smc_core_contact_begin() - the group that serves a client, or the right to make it
 * @net: namespace
 * @peer: the client
 * @own: device and port of the connection's path; NULL: any will do
 * @deadline: jiffies: how long to wait for the first contact of another handshake
 * @cancel: set: give up; may be NULL
 * @contact: out
 *
 * Return: 0, -ENOMEM, -ETIMEDOUT or -ECANCELED.
 */
int smc_core_contact_begin(struct net *net, const struct smc_peer *peer,
			   const struct smc_path *own, unsigned long deadline,
			   const bool *cancel, struct smc_contact *contact)
{
	struct pending_contact *p;
	int seq;

	memset(contact, 0, sizeof(*contact));
	p = smc_fault_null(CONTACT, kzalloc(sizeof(*p), GFP_KERNEL));
	if (!p)
		return -ENOMEM;
	p->net = net;
	p->peer = *peer;
	for (;;) {
		seq = atomic_read(&registry_seq);
		mutex_lock(&registry_lock);
		contact->lgr = lookup_server(net, peer, own, &contact->link);
		if (!contact->lgr && !contact_pending(net, peer)) {
			list_add(&p->entry, &pending_contacts);
			contact->entry = p;
		}
		mutex_unlock(&registry_lock);
		if (contact->entry)
			return 0;
		if (contact->lgr) {
			kfree(p);
			return 0;
		}
		if ((cancel && READ_ONCE(*cancel)) || time_after_eq(jiffies, deadline)) {
			kfree(p);
			return time_after_eq(jiffies, deadline) ? -ETIMEDOUT : -ECANCELED;
		}
		registry_sleep(seq, deadline);
	}
}

/**
 * smc_core_contact_done() - the creator has finished
 * @contact: from smc_core_contact_begin()
 * @lgr: group that is ready, NULL: it failed
 */
void smc_core_contact_done(struct smc_contact *contact, struct smc_lgr *lgr)
{
	struct pending_contact *p = contact->entry;

	mutex_lock(&registry_lock);
	if (p)
		list_del(&p->entry);
	if (lgr)
		lgr->ready = true;
	mutex_unlock(&registry_lock);
	contact->entry = NULL;
	kfree(p);
	registry_changed();
}

/**
 * smc_core_ready() - client: the first contact has finished well
 * @lgr: group
 */
void smc_core_ready(struct smc_lgr *lgr)
{
	mutex_lock(&registry_lock);
	lgr->ready = true;
	mutex_unlock(&registry_lock);
	registry_changed();
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

	mutex_lock(&registry_lock);
	list_for_each_entry(lgr, &groups, entry) {
		if (!kref_get_unless_zero(&lgr->ref))
			continue;
		rc = fn(lgr, arg);
		smc_core_put(lgr);
		if (rc)
			break;
	}
	mutex_unlock(&registry_lock);
	return rc;
}

/**
 * smc_core_knows() - does a group lead to this host?
 * @net: namespace
 * @carrier: the host's address on the TCP path, IPv4 in its mapped form
 *
 * One in its first contact will do. Process context.
 *
 * Return: true if so: the host speaks SMC.
 */
bool smc_core_knows(struct net *net, const struct in6_addr *carrier)
{
	struct smc_lgr *lgr;
	bool found = false;

	mutex_lock(&registry_lock);
	list_for_each_entry(lgr, &groups, entry) {
		found = lgr->net == net && !lgr_dead(lgr) &&
			ipv6_addr_equal(&lgr->peer.carrier, carrier);
		if (found)
			break;
	}
	mutex_unlock(&registry_lock);
	return found;
}

static int tell_ports(struct smc_lgr *lgr, void *arg)
{
	if (!lgr_dead(lgr))
		ctl_events->ports_changed(lgr);
	return 0;
}

/**
 * smc_core_ports_changed() - ports or GIDs of this host came
 *
 * Process context.
 */
void smc_core_ports_changed(void)
{
	smc_core_for_each(tell_ports, NULL);
}

/* ---- connection table ---- */

/**
 * smc_core_conn_add() - enter a connection into the token table
 * @lgr: group
 * @conn: connection
 * @token: out: its alert token
 *
 * Uses up a reserved place and takes a group reference. Process context.
 *
 * Return: 0, -ENOMEM, -ENOSPC, -ECONNABORTED; then the place stays reserved.
 */
int smc_core_conn_add(struct smc_lgr *lgr, void *conn, u32 *token)
{
	struct smc_core_entry *entry;
	u32 index;
	int rc;

	entry = smc_fault_null(CONN_ENTRY, kzalloc(sizeof(*entry), GFP_KERNEL));
	if (!entry)
		return -ENOMEM;
	entry->conn = conn;
	xa_lock_bh(&lgr->conns);
	/* the index first: walks must not see a connection that is then refused */
	rc = smc_fault_rc(CONN_INDEX, -ENOMEM,
			  __xa_alloc(&lgr->conns, &index, NULL, XA_LIMIT(1, SMC_CORE_CONNS_MAX),
				     GFP_KERNEL));
	if (!rc && lgr_dead(lgr)) {
		__xa_erase(&lgr->conns, index);
		rc = -ECONNABORTED;
	}
	if (!rc) {
		/* the generation tells a late message for the last owner of the index */
		*token = get_random_u32() << 8 | index;
		entry->token = *token;
		/* in place of the index's mark: needs no memory */
		__xa_store(&lgr->conns, index, entry, GFP_ATOMIC);
		lgr->nconns++;
		if (lgr->reserved)
			lgr->reserved--;
	}
	xa_unlock_bh(&lgr->conns);
	if (rc) {
		kfree_rcu(entry, rcu);
		return rc == -EBUSY ? -ENOSPC : rc;
	}
	smc_core_get(lgr);
	return 0;
}

/**
 * smc_core_conn_del() - take a connection out of the token table
 * @lgr: group
 * @token: its alert token
 *
 * Puts the group reference; look-ups may still run for an RCU grace period.
 */
void smc_core_conn_del(struct smc_lgr *lgr, u32 token)
{
	struct smc_core_entry *entry;
	bool idle;

	xa_lock_bh(&lgr->conns);
	entry = xa_load(&lgr->conns, token & 0xff);
	if (!entry || entry->token != token) {
		xa_unlock_bh(&lgr->conns);
		return;
	}
	__xa_erase(&lgr->conns, token & 0xff);
	lgr->nconns--;
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	kfree_rcu(entry, rcu);
	if (idle)
		arm_idle(lgr);
	smc_core_put(lgr);
}

/**
 * smc_core_conn_find() - the connection of an alert token
 * @lgr: group
 * @token: from the wire
 *
 * Under rcu_read_lock().
 *
 * Return: connection, or NULL.
 */
void *smc_core_conn_find(struct smc_lgr *lgr, u32 token)
{
	struct smc_core_entry *entry = xa_load(&lgr->conns, token & 0xff);

	if (!entry || entry->token != token)
		return NULL;
	return entry->conn;
}

/**
 * smc_core_walk_conns() - walk the connections of a group
 * @lgr: group
 * @fn: called under rcu_read_lock(); may not sleep; false ends the walk
 * @arg: for @fn
 *
 * Begins with the connection at which the last walk was ended, so that those with
 * a low index do not always come first.
 */
void smc_core_walk_conns(struct smc_lgr *lgr, bool (*fn)(void *conn, void *arg), void *arg)
{
	unsigned long start = READ_ONCE(lgr->walk_from);
	struct smc_core_entry *entry;
	unsigned long i;

	rcu_read_lock();
	xa_for_each_start(&lgr->conns, i, entry, start)
		if (!fn(entry->conn, arg))
			goto ended;
	if (start) {
		xa_for_each_range(&lgr->conns, i, entry, 0, start - 1)
			if (!fn(entry->conn, arg))
				goto ended;
	}
	rcu_read_unlock();
	return;
ended:
	WRITE_ONCE(lgr->walk_from, i);
	rcu_read_unlock();
}

/* ---- begin and end ---- */

/**
 * smc_core_set_ctl_events() - who hears of groups and links
 * @events: table; before the first group
 */
void smc_core_set_ctl_events(const struct smc_lgr_ctl_events *events)
{
	ctl_events = events;
}

/**
 * smc_core_set_conn_events() - who hears for connections
 * @events: table; before the first group
 */
void smc_core_set_conn_events(const struct smc_lgr_conn_events *events)
{
	conn_events = events;
}

/* Terminates the groups of @net (NULL: all); false when none is left. */
static bool terminate_groups(const struct net *net)
{
	struct smc_lgr *lgr;
	bool any = false;

	mutex_lock(&registry_lock);
	list_for_each_entry(lgr, &groups, entry) {
		if (net && lgr->net != net)
			continue;
		any = true;
		if (!kref_get_unless_zero(&lgr->ref))
			continue;
		smc_core_terminate(lgr, SMC_LINK_NET_EXIT);
		smc_core_put(lgr);
	}
	mutex_unlock(&registry_lock);
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
	unsigned long complain = jiffies + COMPLAIN_TIME;
	int seq;

	/* without limit: groups and their connections point to the namespace */
	for (;;) {
		seq = atomic_read(&registry_seq);
		if (!terminate_groups(net))
			return;
		if (time_after(jiffies, complain)) {
			pr_warn("still waiting for link groups to end\n");
			complain = jiffies + COMPLAIN_TIME;
		}
		wait_event_timeout(registry_wait, atomic_read(&registry_seq) != seq, HZ);
	}
}

static struct pernet_operations core_net_ops = {
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

	core_wq = smc_fault_null(CORE_WQ, alloc_workqueue("smc_core", WQ_UNBOUND, 0));
	if (!core_wq)
		return -ENOMEM;
	rc = smc_fault_rc(CORE_PERNET, -ENOMEM, register_pernet_subsys(&core_net_ops));
	if (rc)
		destroy_workqueue(core_wq);
	return rc;
}

/**
 * smc_core_exit() - end whatever is left and undo smc_core_init()
 */
void smc_core_exit(void)
{
	mutex_lock(&registry_lock);
	closing = true;
	mutex_unlock(&registry_lock);
	smc_core_net_exit(NULL);
	unregister_pernet_subsys(&core_net_ops);
	destroy_workqueue(core_wq);
	rcu_barrier();		/* entries of the token tables */
}
