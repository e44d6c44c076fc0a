// SPDX-License-Identifier: GPL-2.0-only
/*
 * One link: one RC queue pair to one peer RNIC.
 *
 * A link ends in two phases. smc_link_fail() only notes the reason and tells the
 * group, from any context. The group then unlinks it and calls
 * smc_link_shutdown() from a work. The memory goes with the last reference.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <smc/base/fault.h>
#include <smc/base/trace.h>
#include <smc/lgr/link.h>

#define HOP_LIMIT_DIRECT	1
#define HOP_LIMIT_ROUTED	64

/* The two bits that say what to do with an unknown LLC message, RFC 7609 appendix A.3 */
#define TYPE_CLASS		0xc0
#define TYPE_CLASS_LLC		0x00

/*
 * One step in the table. Our queue pair goes to RTS together with RTR, whatever
 * our role, so the server's way through the table is the one for both; who sends
 * and who answers CONFIRM LINK is the business of the LLC layer.
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
	/* before that it has no ID */
	if (state != (enum smc_link_state)old && event != SMC_LINK_EV_CREATED)
		trace_smc_link_state(link->uid, old, state);
	return 0;
}

/**
 * smc_link_reason_str() - a reason for people
 * @reason: reason
 *
 * Return: constant string.
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

/* ---- what the queue pair tells ---- */

/*
 * A failed link may have more to say until it is fenced: its peer counts on what our RNIC
 * has acknowledged when it goes on over another link. LLC has to do with the link itself.
 */
static bool link_may_recv(const struct smc_link *link, u8 type)
{
	enum smc_link_state state = atomic_read(&link->state);

	return smc_link_state_may_recv(state) ||
	       (type == SMC_CDC_TYPE && state == SMC_LINK_DRAINING);
}

/* data path 8: CDC or LLC, the first byte tells */
static void link_handle_recv(void *ctx, const u8 *buf, u32 len)
{
	struct smc_link *link = ctx;

	if (!len || !link_may_recv(link, buf[0]))
		return;
	if (smc_fault_hit(buf[0] == SMC_CDC_TYPE ? SMC_FAULT_LOSE_CDC : SMC_FAULT_LOSE_LLC))
		return;
	WRITE_ONCE(link->last_rx, jiffies);
	if (buf[0] == SMC_CDC_TYPE)
		WRITE_ONCE(link->last_cdc, jiffies);
	rcu_read_lock();
	if (buf[0] == SMC_CDC_TYPE)
		link->events->cdc(link, buf, len);
	else if ((buf[0] & TYPE_CLASS) == TYPE_CLASS_LLC)
		link->events->llc(link, buf, len);
	/* else an optional message of a later version: to be ignored */
	rcu_read_unlock();
}

static void link_handle_qp_error(void *ctx, enum ib_wc_status status)
{
	smc_link_fail(ctx, SMC_LINK_QP_ERROR);
}

static void link_notify_slots_free(void *ctx)
{
	struct smc_link *link = ctx;

	rcu_read_lock();
	link->events->slots_free(link);
	rcu_read_unlock();
}

static const struct smc_wr_events link_wr_events = {
	.received = link_handle_recv,
	.broken = link_handle_qp_error,
	.slots_free = link_notify_slots_free,
};

/* ---- life ---- */

/**
 * smc_link_create() - make a link
 * @lgr: its group, for the callee of @events; stays until smc_link_shutdown()
 * @net: namespace of the group
 * @slot: its slot in the group
 * @path: local end; taken over, also on error
 * @events: upward table; not called before smc_link_connect()
 *
 * Process context.
 *
 * Return: the link, in INIT, with one reference; or ERR_PTR.
 */
struct smc_link *smc_link_create(void *lgr, struct net *net, u32 slot, struct smc_path *path,
				 const struct smc_link_events *events)
{
	struct smc_link *link;
	struct smc_qp *qp;

	link = smc_fault_null(LINK, kzalloc(sizeof(*link), GFP_KERNEL));
	if (!link) {
		smc_pnet_path_put(path);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&link->ref);
	link->lgr = lgr;
	link->events = events;
	link->net_cookie = net->net_cookie;
	link->slot = slot;
	link->path = *path;
	path->dev = NULL;
	link->psn = get_random_u32() & 0xffffff;
	link->mtu = link->path.gid.mtu;
	link->last_rx = jiffies;
	qp = smc_wr_qp_create(link->path.dev, link->path.port, net, &link_wr_events, link);
	if (IS_ERR(qp)) {
		smc_pnet_path_put(&link->path);
		kfree(link);
		return ERR_CAST(qp);
	}
	smc_ib_device_pin(link->path.dev);
	link->qp = qp;
	link_change_state(link, SMC_LINK_EV_CREATED);
	return link;
}

/**
 * smc_link_get() - take a further reference
 * @link: link, a reference of which is held
 */
void smc_link_get(struct smc_link *link)
{
	kref_get(&link->ref);
}

/**
 * smc_link_get_unless_zero() - take a reference of a link found under RCU
 * @link: link
 *
 * Return: false if it is on its way out.
 */
bool smc_link_get_unless_zero(struct smc_link *link)
{
	return kref_get_unless_zero(&link->ref);
}

static void link_free(struct rcu_head *rcu)
{
	struct smc_link *link = container_of(rcu, struct smc_link, rcu);

	smc_wr_qp_free(link->qp);
	smc_ib_device_unpin(link->path.dev);
	kfree(link);
}

static void link_release(struct kref *ref)
{
	struct smc_link *link = container_of(ref, struct smc_link, ref);

	/* never freed rather than freed under the device */
	if (WARN_ON_ONCE(atomic_read(&link->state) != SMC_LINK_DEAD))
		return;
	call_rcu(&link->rcu, link_free);
}

/**
 * smc_link_put() - drop a reference
 * @link: link; shut down, if this is the last reference
 *
 * Any context.
 */
void smc_link_put(struct smc_link *link)
{
	kref_put(&link->ref, link_release);
}

/**
 * smc_link_connect() - bring the queue pair up
 * @link: link in INIT, with peer_gid, peer_mac, peer_qpn, peer_psn, mtu and direct set
 *
 * Process context.
 *
 * Return: 0 or -errno; then the link must be failed.
 */
int smc_link_connect(struct smc_link *link)
{
	struct smc_wr_attr attr = {
		.port = link->path.port,
		.sgid_index = link->path.gid.index,
		.sgid = link->path.gid.gid,
		.mtu = min(link->mtu, link->path.gid.mtu),
		.dgid = link->peer_gid,
		.hop_limit = link->direct ? HOP_LIMIT_DIRECT : HOP_LIMIT_ROUTED,
		.peer_qpn = link->peer_qpn,
		.peer_psn = link->peer_psn,
		.psn = link->psn,
	};
	int rc;

	ether_addr_copy(attr.dmac, link->peer_mac);
	/* first of all: the peer's first message may be faster than our return from RTR */
	rc = link_change_state(link, SMC_LINK_EV_QP_RTR);
	if (rc)
		return rc;
	rc = smc_wr_qp_connect(link->qp, &attr);
	if (rc)
		return rc;
	return link_change_state(link, SMC_LINK_EV_QP_RTS);
}

/**
 * smc_link_activate() - CONFIRM LINK is done
 * @link: connected link
 *
 * From here on connections may use it, unless it has failed meanwhile.
 */
void smc_link_activate(struct smc_link *link)
{
	/* 0 says that it never was: what a host has in its first second is of the next one */
	WRITE_ONCE(link->since, max_t(time64_t, ktime_get_boottime_seconds(), 1));
	link_change_state(link, SMC_LINK_EV_CONFIRM_RSP);
}

/**
 * smc_link_usable() - may connections use the link
 * @link: link
 *
 * Return: true if so; it may end at any time.
 */
bool smc_link_usable(const struct smc_link *link)
{
	return smc_link_state_usable(atomic_read_acquire(&link->state));
}

/**
 * smc_link_hold() - connections say nothing over a link for a while
 * @link: link
 * @hold: false: they may again
 *
 * Messages of the link itself go on. Not from within a completion.
 */
void smc_link_hold(struct smc_link *link, bool hold)
{
	WRITE_ONCE(link->held, hold);
	if (hold)
		return;
	smp_mb();	/* pairs with held() in smc_tx.c: it sees this, or we see that it waits */
	link_notify_slots_free(link);
}

/**
 * smc_link_going() - both ends are about to be taken out of use
 * @link: link
 * @reason: why; SMC_LINK_OK: it stays after all
 *
 * Before the peer hears of it: its end may go first, and ours breaks if something is under way.
 * Or its connections do, to another link.
 */
void smc_link_going(struct smc_link *link, enum smc_link_reason reason)
{
	WRITE_ONCE(link->going, reason);
}

/* Nothing has happened to the link itself. */
static bool link_reason_orderly(enum smc_link_reason reason)
{
	return reason == SMC_LINK_IDLE || reason == SMC_LINK_NET_EXIT || reason == SMC_LINK_ADMIN;
}

/**
 * smc_link_fail() - the one entrance to failure
 * @link: link
 * @reason: why; the first one stays
 *
 * Any context. Raises events->lost once, unless the link is shut down in order.
 */
void smc_link_fail(struct smc_link *link, enum smc_link_reason reason)
{
	enum smc_link_reason going = READ_ONCE(link->going);
	bool used = smc_link_usable(link);

	if (going != SMC_LINK_OK && (reason == SMC_LINK_QP_ERROR || reason == SMC_LINK_PEER_MOVED))
		reason = going;
	if (atomic_cmpxchg(&link->reason, SMC_LINK_OK, reason) != SMC_LINK_OK)
		return;
	trace_smc_link_fail(link->uid, link->qp->qpn, reason);
	link_change_state(link, SMC_LINK_EV_FAIL);
	if (used && !link_reason_orderly(reason))
		trace_smcr_link_down(link, link->lgr, link->net_cookie,
				     smc_link_state_shown(atomic_read(&link->state)),
				     link->path.dev->name, __builtin_return_address(0),
				     link->uid);
	link->events->lost(link, reason);
}

/**
 * smc_link_fence() - nothing goes over a link any more
 * @link: link, not found by look-ups of the group any more; a reference is held
 *
 * Process context; waits for the device, not for the peer.
 *
 * Return: 0, or -ETIMEDOUT if the device did not do its part and lost the queue pair.
 */
int smc_link_fence(struct smc_link *link)
{
	int rc;

	/* without a failure: the flush that follows is none */
	atomic_cmpxchg(&link->reason, SMC_LINK_OK, SMC_LINK_ADMIN);
	link_change_state(link, SMC_LINK_EV_FAIL);
	if (!link->fenced)
		trace_smc_fence_begin(link->uid);
	rc = smc_wr_qp_drain(link->qp);
	if (!link->fenced)
		trace_smc_fence_end(link->uid, rc);
	if (rc)
		link->late = true;	/* for who sees it fenced */
	smp_store_release(&link->fenced, true);	/* pairs with smc_link_fenced() */
	/* who enters the group's tables is told of it, or sees it: one of the two */
	smp_mb();
	return rc;
}

/**
 * smc_link_shutdown() - the end of a link
 * @link: link, not found by look-ups of the group any more; a reference is held
 * @unmap: called when the device is silent and regions can be unmapped; or NULL
 *
 * Process context; once.
 *
 * Still inside may be: completions, which end with the drain; callers with a
 * reference between taking and posting a slot, whose post is refused; another
 * fence, which waits for us or finds no queue pair. The slots' memory stays until
 * their references are gone.
 */
void smc_link_shutdown(struct smc_link *link, void (*unmap)(struct smc_link *link))
{
	smc_link_fence(link);
	if (unmap)
		unmap(link);
	smc_wr_qp_destroy(link->qp);
	/* sockets may keep the link, but not the device: its removal waits for this */
	smc_ib_device_put(link->path.dev);
	link_change_state(link, SMC_LINK_EV_DRAINED);
}
