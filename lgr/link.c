// SPDX-License-Identifier: GPL-2.0-only
/*
 * A link: one RC queue pair to one RNIC of the peer (RFC 7609 section 2.2).
 *
 * A link ends in two phases. smc_link_fail() (smc_core.c) records the reason and queues a work of
 * the group, in any context. The work takes the link out of the set and calls smc_link_shutdown().
 * The memory is freed with the last reference. What the queue pair of a link reports is handled in
 * smc_core.c, too, which knows the layers above.
 */
#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include "internal.h"

#define HOP_LIMIT_DIRECT	1
#define HOP_LIMIT_ROUTED	64

/*
 * Apply one event to the state of @link. Both roles use the server's column of the table: our
 * queue pair enters RTS together with RTR whatever our role is, and the LLC layer decides which
 * side sends and which answers CONFIRM LINK.
 */
static int link_change_state(struct smc_link *link, enum smc_link_event event)
{
	int old = atomic_read(&link->state);
	enum smc_link_state state;
	u32 actions;
	int rc;

	do {
		state = old;
		rc = smc_link_fsm_step(SMC_LINK_SERVER, &state, event, &actions);
		if (rc)
			return rc;
	} while (!atomic_try_cmpxchg(&link->state, &old, state));
	/* the link gets its ID after creation */
	if (state != (enum smc_link_state)old && event != SMC_LINK_EV_CREATED)
		trace_smc_link_state(link->uid, old, state);
	return 0;
}

/**
 * smc_link_reason_str() - return the text of a reason
 * @reason: reason
 *
 * Return: constant string, for logs and netlink.
 */
const char *smc_link_reason_str(enum smc_link_reason reason)
{
	switch (reason) {
	case SMC_LINK_OK:
		return "none";
	case SMC_LINK_QP_ERROR:
		return "queue pair error";
	case SMC_LINK_PORT_DOWN:
		return "port down";
	case SMC_LINK_DEVICE_GONE:
		return "device removed";
	case SMC_LINK_GID_CHANGED:
		return "GID changed";
	case SMC_LINK_MTU:
		return "netdev's MTU became too small";
	case SMC_LINK_TEST_TIMEOUT:
		return "TEST LINK not answered";
	case SMC_LINK_STALLED:
		return "a request does not finish";
	case SMC_LINK_PEER_MOVED:
		return "the peer went to another link";
	case SMC_LINK_PEER_DELETED:
		return "deleted by the peer";
	case SMC_LINK_PROTOCOL:
		return "protocol violation by the peer";
	case SMC_LINK_SETUP_FAILED:
		return "setup failed";
	case SMC_LINK_IDLE:
		return "idle";
	case SMC_LINK_OUT_OF_SYNC:
		return "out of sync with the peer";
	case SMC_LINK_NET_EXIT:
		return "namespace or module removed";
	case SMC_LINK_ADMIN:
		return "closed in order";
	}
	return "?";
}

/* ---- creation and references ---- */

/* Charge a queue pair to the host of the peer. Return 0 or an error of smc_host_charge(). */
static int link_charge(struct smc_link *link, const struct smc_qp *qp)
{
	u64 bytes = smc_qp_get_bytes(qp);
	int rc = smc_host_charge(link->lgr->host, bytes, 0);

	if (rc)
		smc_stats_inc(link->lgr->net, SMC_STAT_MEM_LIMITED);
	else
		link->charged = bytes;
	return rc;
}

static struct smc_qp *link_create_qp(struct smc_link *link, const struct smc_wr_events *events)
{
	struct smc_qp *qp;
	int rc;

	qp = smc_qp_create(link->path.dev, link->path.port, link->lgr->net, events, link);
	if (IS_ERR(qp))
		return qp;
	rc = link_charge(link, qp);
	if (!rc)
		return qp;
	smc_qp_destroy(qp);
	smc_qp_free(qp);
	return ERR_PTR(rc);
}

/**
 * smc_link_create() - create a link
 * @lgr: its group; stays until smc_link_shutdown()
 * @slot: its slot in the group
 * @path: local end; taken over and emptied, on error too
 * @events: upcalls of the queue pair, for which the link is the context; not called before
 *	smc_link_connect()
 *
 * The link has a queue pair in INIT and a random first PSN. Process context.
 *
 * Return: the link with one reference. ERR_PTR: -EUSERS, -ENOBUFS: a limit of memory, see
 * smc_host_charge(); -ENOMEM and errors of the device.
 */
struct smc_link *smc_link_create(struct smc_lgr *lgr, u32 slot, struct smc_path *path,
				 const struct smc_wr_events *events)
{
	struct smc_link *link;
	struct smc_qp *qp;

	link = smc_fault_null(LINK, kzalloc(sizeof(*link), GFP_KERNEL));
	if (!link) {
		smc_path_put(path);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&link->ref);
	link->lgr = lgr;
	link->net_cookie = lgr->net_cookie;
	link->slot = slot;
	link->path = *path;
	path->dev = NULL;
	link->psn = get_random_u32() & 0xffffff;
	link->mtu = link->path.gid.mtu;
	link->last_rx = jiffies;
	qp = link_create_qp(link, events);
	if (IS_ERR(qp)) {
		smc_path_put(&link->path);
		kfree(link);
		return ERR_CAST(qp);
	}
	smc_ib_device_pin(link->path.dev);
	link->qp = qp;
	link_change_state(link, SMC_LINK_EV_CREATED);
	return link;
}

/**
 * smc_link_get() - take a reference on a link
 * @link: link; the caller has a reference already
 */
void smc_link_get(struct smc_link *link)
{
	kref_get(&link->ref);
}

/**
 * smc_link_get_unless_zero() - take a reference on a link found under RCU
 * @link: link
 *
 * Return: false if the last reference is gone.
 */
bool smc_link_get_unless_zero(struct smc_link *link)
{
	return kref_get_unless_zero(&link->ref);
}

/**
 * smc_link_add_conn() - count a connection that sends over a link from now on
 * @link: link; the connection takes over a reference of the caller
 *
 * Any context.
 */
void smc_link_add_conn(struct smc_link *link)
{
	atomic_inc(&link->nconns);
}

/**
 * smc_link_del_conn() - undo smc_link_add_conn() and drop the connection's reference
 * @link: link
 *
 * Any context.
 */
void smc_link_del_conn(struct smc_link *link)
{
	atomic_dec(&link->nconns);
	smc_link_put(link);
}

/**
 * smc_link_count_move() - count a connection that has moved to a link, for netlink
 * @link: its new link
 * @failover: the previous link was lost
 *
 * Any context.
 */
void smc_link_count_move(struct smc_link *link, bool failover)
{
	atomic_inc(&link->conns_moved_in);
	if (failover)
		atomic_inc(&link->lgr->conn_moves);
}

static void link_free(struct rcu_head *rcu)
{
	struct smc_link *link = container_of(rcu, struct smc_link, rcu);

	smc_qp_free(link->qp);
	smc_ib_device_unpin(link->path.dev);
	kfree(link);
}

static void link_release(struct kref *ref)
{
	struct smc_link *link = container_of(ref, struct smc_link, ref);

	/* Not shut down: leak the link rather than free it while the device uses it. */
	if (WARN_ON_ONCE(atomic_read(&link->state) != SMC_LINK_DEAD))
		return;
	call_rcu(&link->rcu, link_free);
}

/**
 * smc_link_put() - drop a reference on a link
 * @link: link
 *
 * Any context. smc_link_shutdown() must come before the last put. Frees by RCU.
 */
void smc_link_put(struct smc_link *link)
{
	kref_put(&link->ref, link_release);
}

/**
 * smc_link_connect() - bring the queue pair to RTR and RTS
 * @link: link in INIT, with peer_gid, peer_mac, peer_qpn, peer_psn, mtu and direct set
 *
 * Process context, sleeps. After an error the caller must call smc_link_fail().
 *
 * Return: 0 or -errno.
 */
int smc_link_connect(struct smc_link *link)
{
	struct smc_qp_attr attr = {
		.port = link->path.port,
		.sgid_index = link->path.gid.index,
		.sgid = link->path.gid.gid,
		.mtu = min(link->mtu, link->path.gid.mtu),
		.dgid = link->peer_gid,
		.hop_limit = link->direct ? HOP_LIMIT_DIRECT : HOP_LIMIT_ROUTED,
		.traffic_class = link->lgr->traffic_class,
		.sl = smc_path_service_level(link->lgr->net, &link->path, link->lgr->priority),
		.peer_qpn = link->peer_qpn,
		.peer_psn = link->peer_psn,
		.psn = link->psn,
	};
	int rc;

	ether_addr_copy(attr.dmac, link->peer_mac);
	/* Before the verbs call: the peer's first message may arrive before we return from RTR. */
	rc = link_change_state(link, SMC_LINK_EV_QP_RTR);
	if (rc)
		return rc;
	rc = smc_qp_connect(link->qp, &attr);
	if (rc)
		return rc;
	return link_change_state(link, SMC_LINK_EV_QP_RTS);
}

/**
 * smc_link_activate() - make a link usable after CONFIRM LINK
 * @link: connected link
 *
 * Connections may use it from now on, unless it failed meanwhile. RFC 7609 section 3.5.1.5.
 */
void smc_link_activate(struct smc_link *link)
{
	/* Clamp to 1: 0 means that the link never was usable. */
	WRITE_ONCE(link->usable_since, max_t(time64_t, ktime_get_boottime_seconds(), 1));
	link_change_state(link, SMC_LINK_EV_CONFIRM_RSP);
}

/**
 * smc_link_is_ending() - check whether a link has failed or its queue pair is broken
 * @link: link
 *
 * The queue pair breaks a moment before smc_link_fail() is called for it. Any context.
 *
 * Return: true if so; the link may fail at any time.
 */
bool smc_link_is_ending(const struct smc_link *link)
{
	return smc_qp_is_broken(link->qp) || atomic_read(&link->reason) != SMC_LINK_OK;
}

/**
 * smc_link_expect_removal() - note that both sides are about to remove a link
 * @link: link
 * @reason: reason of the removal; SMC_LINK_OK: the link stays after all
 *
 * Called before the peer is asked. The peer may destroy its queue pair, or move its
 * connections, before we remove ours; smc_link_fail() then uses @reason, and it is no failure.
 */
void smc_link_expect_removal(struct smc_link *link, enum smc_link_reason reason)
{
	WRITE_ONCE(link->removal_reason, reason);
}

/* True if the link ends in an orderly way, not by a failure. */
static bool link_reason_orderly(enum smc_link_reason reason)
{
	return reason == SMC_LINK_IDLE || reason == SMC_LINK_NET_EXIT || reason == SMC_LINK_ADMIN;
}

/**
 * smc_link_record_failure() - first part of smc_link_fail(): the state of the link itself
 * @link: link
 * @reason: why; the first reason stays
 * @caller: address for the trace point
 *
 * Any context, never sleeps.
 *
 * Return: true if this is the first reason; it may differ from @reason, see
 * smc_link_expect_removal().
 */
bool smc_link_record_failure(struct smc_link *link, enum smc_link_reason reason, void *caller)
{
	enum smc_link_reason going = READ_ONCE(link->removal_reason);
	bool used = smc_link_usable(link);

	if (going != SMC_LINK_OK && (reason == SMC_LINK_QP_ERROR || reason == SMC_LINK_PEER_MOVED))
		reason = going;
	if (atomic_cmpxchg(&link->reason, SMC_LINK_OK, reason) != SMC_LINK_OK)
		return false;
	trace_smc_link_fail(link->uid, smc_qp_get_qpn(link->qp), reason);
	link_change_state(link, SMC_LINK_EV_FAIL);
	if (used && !link_reason_orderly(reason))
		trace_smcr_link_down(link, link->lgr, link->net_cookie,
				     smc_link_state_uapi(atomic_read(&link->state)),
				     link->path.dev->name, caller, link->uid);
	return true;
}

/**
 * smc_link_fence_begin() - begin to stop all traffic of a link
 * @link: link that is out of the group's set; the caller has a reference
 * @wait: woken when smc_link_fence_left() may have become 0; exists until smc_link_shutdown(). May
 *	be NULL
 *
 * Brings the queue pair to ERR, so that the device flushes it. Links that are lost together flush
 * at the same time if the caller begins the fences of all before smc_link_fence() waits for the
 * first. Nothing is done if the fence has begun already. Process context; only the caller that
 * took the link out of the set.
 */
void smc_link_fence_begin(struct smc_link *link, wait_queue_head_t *wait)
{
	if (link->fence_begun)
		return;
	link->fence_begun = true;
	/* Set a reason first, so that flushed requests do not count as a failure. */
	atomic_cmpxchg(&link->reason, SMC_LINK_OK, SMC_LINK_ADMIN);
	link_change_state(link, SMC_LINK_EV_FAIL);
	trace_smc_fence_begin(link->uid);
	smc_qp_drain_begin(link->qp, wait);
}

/**
 * smc_link_fence_left() - return for how long smc_link_fence() may still wait
 * @link: link whose fence has begun
 *
 * Return: jiffies; 0: it does not wait.
 */
unsigned long smc_link_fence_left(const struct smc_link *link)
{
	return smc_qp_drain_left(link->qp);
}

/**
 * smc_link_fence() - stop all traffic of a link
 * @link: link that is out of the group's set; the caller has a reference
 *
 * First half of the second phase: brings the queue pair to ERR, unless that is done already, and
 * drains it. On return no message arrives any more, all received messages have been delivered, and
 * the done callback of every posted slot has run. Process context; waits for the device, not for
 * the peer, up to 10 s from the beginning of the fence. As smc_link_fence_begin(), only for the
 * caller that took the link out of the set.
 *
 * Return: 0, or -ETIMEDOUT if the device did not flush in time: the queue pair was destroyed, and
 * messages that the device held are lost.
 */
int smc_link_fence(struct smc_link *link)
{
	int rc;

	smc_link_fence_begin(link, NULL);
	rc = smc_qp_drain(link->qp);
	if (!link->fenced)
		trace_smc_fence_end(link->uid, rc);
	if (rc)
		link->flush_timed_out = true;	/* read after smc_link_fenced() */
	smp_store_release(&link->fenced, true);	/* pairs with smc_link_fenced() */
	/* A new connection is notified by the group's walk, or sees ->fenced. */
	smp_mb();
	return rc;
}

/**
 * smc_link_shutdown() - shut down a link
 * @link: link that is out of the group's set; the caller has a reference
 * @unmap: called after the drain and before the PD is destroyed, to unmap the regions of the
 *	slot; may be NULL
 *
 * Second phase of the end: fence, unmap, destroy the queue pair, put the device. Process
 * context, sleeps; called once.
 *
 * May still be inside: completions, which end with the drain; callers that have taken a slot and
 * not posted it, whose post is refused. Not another fence: whoever took the link out of the set
 * fences it, and then shuts it down. The slots' memory stays until the last reference on the link
 * is gone.
 */
void smc_link_shutdown(struct smc_link *link, void (*unmap)(struct smc_link *link))
{
	smc_link_fence(link);
	if (unmap)
		unmap(link);
	smc_qp_destroy(link->qp);
	smc_host_uncharge(link->lgr->host, link->charged);
	/* Connections may keep the link, but not the device: its removal waits for this put. */
	smc_ib_device_put(link->path.dev);
	link_change_state(link, SMC_LINK_EV_DRAINED);
}
