/* SPDX-License-Identifier: GPL-2.0-only */
/* A link: one RC queue pair to one RNIC of the peer. */
#ifndef _SMC_LGR_LINK_H
#define _SMC_LGR_LINK_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <smc/proto/link_fsm.h>
#include <smc/rdma/path.h>
#include <smc/rdma/wr.h>

struct smc_lgr;

/* Why a link or a group ended; texts: smc_link_reason_str(). The first reason stays. */
enum smc_link_reason {
	SMC_LINK_OK = 0,
	SMC_LINK_QP_ERROR,		/* queue pair or work request failed */
	SMC_LINK_PORT_DOWN,
	SMC_LINK_DEVICE_GONE,
	SMC_LINK_GID_CHANGED,
	SMC_LINK_MTU,			/* netdev's MTU became too small for the path MTU */
	SMC_LINK_TEST_TIMEOUT,		/* TEST LINK not answered */
	SMC_LINK_STALLED,		/* a work request does not complete */
	SMC_LINK_PEER_MOVED,		/* the peer moved a connection to another link */
	SMC_LINK_PEER_DELETED,		/* DELETE LINK from the peer */
	SMC_LINK_PROTOCOL,		/* protocol violation by the peer */
	SMC_LINK_SETUP_FAILED,		/* first contact or ADD LINK failed */
	SMC_LINK_IDLE,			/* group without connections */
	SMC_LINK_OUT_OF_SYNC,		/* the peer does not know the group */
	SMC_LINK_NET_EXIT,		/* end of the namespace or module */
	SMC_LINK_ADMIN,
};

const char *smc_link_reason_str(enum smc_link_reason reason);

/**
 * struct smc_link - a link of a group
 * @ref: reference count; held by the group's slot (RCU), connections, works, callers that post
 * @lgr: group; stays until the link is shut down
 * @net_cookie: number of its namespace shown to users
 * @slot: index in the group's link set and in smc_region.maps
 * @num: link number on the wire, assigned by the server
 * @uid: our link user ID, sent in CONFIRM LINK
 * @peer_uid: link user ID of the peer
 * @path: local device, port, GID; holds a device reference until the link is shut down;
 *	after that, the device object is only pinned (see struct smc_ib_device)
 * @peer_gid: GID of the peer
 * @peer_mac: MAC of the first hop towards the peer
 * @peer_qpn: queue pair number of the peer
 * @peer_psn: first PSN of the peer
 * @psn: our first PSN
 * @mtu: negotiated path MTU (enum ib_mtu)
 * @direct: no IP gateway between the hosts
 * @qp: queue pair
 * @state: state of proto/link_fsm; changed by cmpxchg in lgr/link.c only
 * @reason: first reason of failure
 * @removal_reason: reason for which both sides are about to remove the link; SMC_LINK_OK: none
 * @charged: bytes of the queue pair, charged to the host of the group until smc_link_shutdown();
 *	then only its slots stay, uncharged, until the last reference is gone
 * @fence_begun: smc_link_fence_begin() was called; for the caller that took the link out of the
 *	set; never cleared
 * @fenced: no message arrives any more, and all completions have been processed; never cleared
 * @flush_timed_out: @fenced, but the device did not flush in time: received messages may be lost
 * @nconns: number of connections that send over this link: smc_link_add_conn()
 * @conns_moved_in: number of connections that moved to it from other links
 * @usable_since: time at which it became usable, in seconds since boot; 0 = not yet
 * @last_rx: time of the last received message, in jiffies
 * @last_cdc: time of the last received CDC message, in jiffies
 * @conns_held: connections must not send over it for now
 * @rcu: deferred free
 */
struct smc_link {
	struct kref ref;
	struct smc_lgr *lgr;
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
	enum smc_link_reason removal_reason;
	u64 charged;
	bool fence_begun;
	bool fenced;
	bool flush_timed_out;
	atomic_t nconns;
	atomic_t conns_moved_in;
	time64_t usable_since;
	unsigned long last_rx;
	unsigned long last_cdc;
	bool conns_held;
	struct rcu_head rcu;
};

/* lgr/link.c */
void smc_link_add_conn(struct smc_link *link);
void smc_link_del_conn(struct smc_link *link);
void smc_link_count_move(struct smc_link *link, bool failover);
bool smc_link_is_ending(const struct smc_link *link);
void smc_link_get(struct smc_link *link);
bool smc_link_get_unless_zero(struct smc_link *link);
void smc_link_put(struct smc_link *link);

int smc_link_connect(struct smc_link *link);
void smc_link_activate(struct smc_link *link);
void smc_link_expect_removal(struct smc_link *link, enum smc_link_reason reason);

/**
 * smc_link_usable() - check whether connections may use a link
 * @link: link
 *
 * Return: true if so; the link may fail at any time.
 */
static inline bool smc_link_usable(const struct smc_link *link)
{
	return smc_link_state_is_usable(atomic_read_acquire(&link->state));
}

/* Return true if connections must not send; they are notified when they may, by slots_free. */
static inline bool smc_link_conns_held(const struct smc_link *link)
{
	return READ_ONCE(link->conns_held);
}

void smc_link_fence_begin(struct smc_link *link, wait_queue_head_t *wait);
unsigned long smc_link_fence_left(const struct smc_link *link);
int smc_link_fence(struct smc_link *link);
/* Return true if smc_link_fence() has finished. */
static inline bool smc_link_fenced(const struct smc_link *link)
{
	/* The reader also sees the effects of the last completions; smc_link_fence(). */
	return smp_load_acquire(&link->fenced);
}

void smc_link_shutdown(struct smc_link *link, void (*unmap)(struct smc_link *link));

/* smc_core.c */
void smc_link_notify_usable(struct smc_link *link);
void smc_link_hold_conns(struct smc_link *link, bool hold);
void smc_link_fail(struct smc_link *link, enum smc_link_reason reason);

#endif
