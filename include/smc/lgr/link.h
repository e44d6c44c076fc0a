/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One link: one RC queue pair to one peer RNIC. Rank 5.
 */
#ifndef _SMC_LGR_LINK_H
#define _SMC_LGR_LINK_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <smc/proto/link_fsm.h>
#include <smc/rdma/path.h>
#include <smc/rdma/wr.h>

struct smc_link;

/* Why a link (or a group) ended; strings in lgr/link.c. First reason wins. */
enum smc_link_reason {
	SMC_LINK_OK = 0,
	SMC_LINK_QP_ERROR,		/* queue pair or request failed */
	SMC_LINK_PORT_DOWN,
	SMC_LINK_DEVICE_GONE,
	SMC_LINK_GID_CHANGED,
	SMC_LINK_MTU,			/* the netdev's is too small for the path MTU now */
	SMC_LINK_TEST_TIMEOUT,		/* TEST LINK unanswered */
	SMC_LINK_STALLED,		/* a request does not finish */
	SMC_LINK_PEER_MOVED,		/* the peer moved a connection to another link */
	SMC_LINK_PEER_DELETED,		/* DELETE LINK from the peer */
	SMC_LINK_PROTOCOL,		/* the peer broke the protocol */
	SMC_LINK_SETUP_FAILED,		/* first contact did not finish */
	SMC_LINK_IDLE,			/* idle group released */
	SMC_LINK_OUT_OF_SYNC,		/* the peer does not know the group any more */
	SMC_LINK_NET_EXIT,		/* namespace or module goes */
	SMC_LINK_ADMIN,
};

const char *smc_link_reason_str(enum smc_link_reason reason);

/**
 * struct smc_link_events - what links tell the group layer (rank 6)
 * @llc: LLC message received; @buf valid during the call; softirq
 * @cdc: CDC message received; @buf valid during the call; softirq
 * @lost: the link failed for @reason (once per link); any context, may not sleep
 * @slots_free: send slots became free after somebody was refused, or the link is held no
 *	longer; softirq or process context
 */
struct smc_link_events {
	void (*llc)(struct smc_link *link, const u8 *buf, u32 len);
	void (*cdc)(struct smc_link *link, const u8 *buf, u32 len);
	void (*lost)(struct smc_link *link, enum smc_link_reason reason);
	void (*slots_free)(struct smc_link *link);
};

/**
 * struct smc_link - one link of a group
 * @ref: group slot (RCU), works, posting callers
 * @lgr: owner, opaque here (rank 6)
 * @events: upward table
 * @net_cookie: number of its namespace shown to users
 * @slot: index in the group's link set and in smc_region.maps
 * @num: link number on the wire, assigned by the server
 * @uid: our link user ID, sent in CONFIRM LINK
 * @peer_uid: the peer's
 * @path: local device, port, GID; the device's reference is held until the link is
 *	shut down, later its object is only pinned (see struct smc_ib_device)
 * @peer_gid: peer's GID
 * @peer_mac: first hop MAC towards the peer
 * @peer_qpn: peer's queue pair number
 * @peer_psn: peer's first PSN
 * @psn: our first PSN
 * @mtu: negotiated path MTU (enum ib_mtu)
 * @direct: no IP gateway on the way
 * @qp: queue pair
 * @state: proto/link_fsm state; changes by cmpxchg in lgr/link.c only
 * @reason: first reason of failure
 * @going: why it is about to go, as the peer knows; SMC_LINK_OK: it is not
 * @fenced: nothing comes over it any more, and every completion has been told; never
 *	cleared
 * @late: ... but the device did not say so: messages that came may be lost
 * @nconns: connections that send over this link (conn->lock of each)
 * @moves: connections that came to it from other links
 * @since: seconds since boot, when it became usable; 0 = not yet
 * @last_rx: jiffies of the last message received
 * @last_cdc: jiffies of the last one of a connection
 * @held: connections are to say nothing over it for now
 * @rcu: deferred free
 */
struct smc_link {
	struct kref ref;
	void *lgr;
	const struct smc_link_events *events;
	u64 net_cookie;
	u32 slot;
	u8 num;
	u32 uid;
	u32 peer_uid;
	struct smc_path path;
	union ib_gid peer_gid;
	u8 peer_mac[6];
	u32 peer_qpn;
	u32 peer_psn;
	u32 psn;
	u8 mtu;
	bool direct;
	struct smc_qp *qp;
	atomic_t state;
	atomic_t reason;
	enum smc_link_reason going;
	bool fenced;
	bool late;
	atomic_t nconns;
	atomic_t moves;
	time64_t since;
	unsigned long last_rx;
	unsigned long last_cdc;
	bool held;
	struct rcu_head rcu;
};

/*
 * Creates a link with its QP in INIT and a random PSN. Takes over @path (the device
 * reference) in success and failure, and empties it. ERR_PTR on error.
 */
struct smc_link *smc_link_create(void *lgr, struct net *net, u32 slot, struct smc_path *path,
				 const struct smc_link_events *events);
void smc_link_get(struct smc_link *link);
bool smc_link_get_unless_zero(struct smc_link *link);
/* Any context; frees by RCU. smc_link_shutdown() must come before the last put. */
void smc_link_put(struct smc_link *link);

/* RTR + RTS with the peer values stored in the link. Sleeps. After an error: smc_link_fail(). */
int smc_link_connect(struct smc_link *link);
/* CONFIRM LINK done: usable for connections. */
void smc_link_activate(struct smc_link *link);
bool smc_link_usable(const struct smc_link *link);
void smc_link_going(struct smc_link *link, enum smc_link_reason reason);
void smc_link_hold(struct smc_link *link, bool hold);
/* Are connections to be silent? Who is asks again when events->slots_free is raised. */
static inline bool smc_link_held(const struct smc_link *link)
{
	return READ_ONCE(link->held);
}

/*
 * The one entrance to failure: any context, first reason wins, never sleeps;
 * raises events->lost once.
 */
void smc_link_fail(struct smc_link *link, enum smc_link_reason reason);
/*
 * First half of the second phase, after unlinking: fence and drain. On return no message
 * comes any more, all that came was handed up, and done was called for every slot. 0, or
 * -ETIMEDOUT: the device did not flush, and what it kept back is lost.
 */
int smc_link_fence(struct smc_link *link);
/* Has it been? */
static inline bool smc_link_fenced(const struct smc_link *link)
{
	/* who sees it sees what the last completions led to; smc_link_fence() */
	return smp_load_acquire(&link->fenced);
}

/*
 * Second phase, called by the group's work after unlinking: fence, drain,
 * destroy the QP. Regions of the slot must be unmapped between drain and PD
 * destruction: @unmap is called at that moment (may be NULL). Sleeps.
 */
void smc_link_shutdown(struct smc_link *link, void (*unmap)(struct smc_link *link));

#endif
