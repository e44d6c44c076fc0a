/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One SMC connection: one byte stream over one link group. The structure is shared by smc_cdc.c,
 * smc_tx.c, smc_rx.c and the files in conn/; there is no struct sock in this layer.
 */
#ifndef _SMC_CONN_CONN_H
#define _SMC_CONN_CONN_H

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <smc/base/rules.h>
#include <smc/conn/tcp_info.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/conn_fsm.h>
#include <smc/proto/cursor.h>
#include <smc/proto/failover.h>
#include <smc/proto/move_fsm.h>
#include <smc/proto/urgent.h>
#include <smc/rdma/region.h>
#include <smc/tcp/orphan.h>

struct smc_link;
struct smc_lgr;
struct smc_conn;
struct smc_conn_upgrade;
struct smc_sock;	/* opaque to this layer */
struct net;
struct smc_stats;

/*
 * Average number of bytes per page below which bytes are copied, not sent from or lent in their
 * pages: ring and RLIMIT_MEMLOCK count bytes, but each page is pinned whole and costs memory of
 * the module.
 */
#define SMC_CONN_PAGE_BYTES	512

/* events for the owner, bits of one notification */
#define SMC_CONN_READABLE	0x01	/* bytes arrived */
#define SMC_CONN_WRITABLE	0x02	/* room in the send ring became free */
#define SMC_CONN_CHANGED	0x04	/* state changed: EOF, reset, closed; read it again */
#define SMC_CONN_URGENT		0x08	/* urgent data announced: SIGURG */
#define SMC_CONN_URGENT_BYTE	0x10	/* the urgent byte has arrived: smc_rx_skip_urgent() */
#define SMC_CONN_BROKEN		0x20	/* smc_conn_is_broken(): time to reset the clcsock */
#define SMC_CONN_TRY_GATE	0x40	/* smc_conn_upgrade_shut_gate(), if no call is inside TCP */

/**
 * struct smc_conn_events - how a connection notifies its owner, the socket
 * @get: return which of the bits @owner has a use for, and if there are any, take the reference
 *	that the next @notify drops; under conn->lock
 * @notify: SMC_CONN_* bits; any context including softirq, no lock of this layer held; only a hint:
 *	may come twice, late or in any order. Drops the reference on @owner
 */
struct smc_conn_events {
	unsigned int (*get)(struct smc_sock *owner, unsigned int bits);
	void (*notify)(struct smc_sock *owner, unsigned int bits);
};

/**
 * struct smc_conn_tx_move - changes of the link of our direction; under conn->lock
 * @validate: the link has changed: a failover validation goes before anything else
 * @prev: number of the previous link, for a native peer
 * @count: how often the link has changed, modulo 256
 * @left_seq: sequence number of the last message before the last failover
 * @resuming: nothing was written since the last failover
 * @orderly: the last change was an orderly move
 * @past: numbers of the links before @prev, the latest first, for a native peer
 * @past_orderly: a bit for each of @past: it was left by an orderly move
 * @state: state of an orderly move (proto/move_fsm.h); changes in conn/move.c only
 * @to: slot of the link to move to
 * @deadline: jiffies: stay if the peer has not acknowledged by then
 * @round: smc_balance.round of the last attempt
 */
struct smc_conn_tx_move {
	bool validate;
	u8 prev;
	u8 count;
	u16 left_seq;
	bool resuming;
	bool orderly;
	u8 past[SMC_CDC_OLDER_LINKS];
	u8 past_orderly;
	enum smc_move_state state;
	u8 to;
	unsigned long deadline;
	u32 round;
};

/* How far the send ring of a connection has grown, see smc_conn_grow_ring(). */
enum smc_growth_state {
	SMC_GROWTH_NONE,	/* the writer may ask for a bigger one */
	SMC_GROWTH_WANTED,	/* a work takes it */
	SMC_GROWTH_PAUSED,	/* there is no other one than the first: the work comes again */
	SMC_GROWTH_READY,	/* it is there, and the writer changes to it */
	SMC_GROWTH_COPYING,	/* the writer copies what the previous one holds */
	SMC_GROWTH_CHANGED,	/* in use, but the RNIC may still read the previous one */
	SMC_GROWTH_DONE,	/* in use, or there is none, or no memory for it */
};

/**
 * struct smc_conn_growth - growth of the send ring; under conn->lock
 * @state: changed by the writer, by @work, and by the work of the connection
 * @failed: attempts to leave the first ring in vain, up to a limit
 * @from: SMC_GROWTH_NONE: the stream is measured from this position on
 * @since: jiffies: and from this time on, which may be in the future
 * @elem: SMC_GROWTH_READY: the bigger ring; SMC_GROWTH_CHANGED: the previous one.
 *	SMC_GROWTH_COPYING: the bigger ring, which is the writer's, without the lock
 * @deadline: SMC_GROWTH_READY: jiffies: the writer does not want it; SMC_GROWTH_PAUSED: jiffies:
 *	the end of the pause
 * @until: SMC_GROWTH_CHANGED: the previous ring has no use once the stream is completed up to here
 * @memcg: cgroup to charge, with a reference, from the first request on; NULL: none
 * @work: takes the bigger ring; holds a reference on the connection
 */
struct smc_conn_growth {
	enum smc_growth_state state;
	u8 failed;
	u64 from;
	unsigned long since;
	struct smc_elem elem;
	unsigned long deadline;
	u64 until;
	struct mem_cgroup *memcg;
	struct work_struct work;
};

/**
 * struct smc_conn_tx - sending direction; under conn->lock
 * @elem: send ring
 * @want: its size, for the application; @ring.size is less until the first ring is left
 * @ring: cursors; valid once @peer_size is set
 * @reach: stream position up to which a writer may have written into @elem; never goes back
 * @claim: the peer's RMBE and token; valid once @peer_size is set, @claim.rtoken always
 * @peer_size: bytes of the peer's RMBE, 0: not known yet
 * @seq: sequence number of the last CDC built
 * @seq_done: sequence number of the last CDC known to have reached the peer's RNIC, of those whose
 *	completion is of interest; named by a failover validation
 * @inflight: posted requests whose completion is awaited
 * @quiet: all of these complete only with a later request, see tx_may_be_quiet()
 * @turns: replies in a row, as far as they are counted
 * @answered: bytes that the peer had sent when bytes were posted last
 * @waiting: no send slot was free, or the link is held: smc_tx_retry() pushes again
 * @sent_blocked: the last CDC carried B
 * @blocked_at: ns since boot of the first CDC of these; 0: none
 * @whole_due: no CDC message was sent over the present link: an immediate value would refer to none
 * @cons_due: a consumer update must be sent (kept while no slot is free)
 * @stopped: the group has ended: nothing is posted any more
 * @state_due: SMC_CDC_S_* to be sent (kept while no slot is free)
 * @state: SMC_CDC_S_* sent: repeated in every later CDC
 * @state_unacked: the last bit of @state may not have reached the peer's RNIC
 * @state_seq: sequence number of the first CDC with that bit
 * @move: changes of the link of this direction
 * @urg: our urgent data
 * @runs: bytes that are not in @elem, by position, until they are completed
 * @runs_done: finished runs, freed once the lock is dropped
 * @probe_at: jiffies before which no byte goes out of the reserve
 * @probe_gap: jiffies between the next such byte and the one after it
 * @growth: a bigger ring instead of @elem
 */
struct smc_conn_tx {
	struct smc_elem elem;
	u32 want;
	struct smc_ring_tx ring;
	u64 reach;
	struct smc_claim claim;
	u32 peer_size;
	u16 seq;
	u16 seq_done;
	u32 inflight;
	bool quiet;
	u8 turns;
	u64 answered;
	bool waiting;
	bool sent_blocked;
	u64 blocked_at;
	bool whole_due;
	bool cons_due;
	bool stopped;
	u8 state_due;
	u8 state;
	bool state_unacked;
	u16 state_seq;
	struct smc_conn_tx_move move;
	struct smc_urgent_tx urg;
	struct list_head runs;
	struct list_head runs_done;
	unsigned long probe_at;
	unsigned long probe_gap;
	struct smc_conn_growth growth;
};

/* Arrivals recorded separately; further ones are merged into the last. */
#define SMC_TIMESTAMPS	16

/**
 * struct smc_timestamp - one arrival
 * @end: stream position behind its last byte
 * @at: time of day
 */
struct smc_timestamp {
	u64 end;
	ktime_t at;
};

/**
 * struct smc_timestamps - arrivals of unread bytes, and of the last byte read; under conn->lock
 * @on: arrivals are recorded
 * @n: number of entries
 * @from: stream position of the first byte of the first entry
 * @log: entries in order of the stream
 */
struct smc_timestamps {
	bool on;
	u8 n;
	u64 from;
	struct smc_timestamp log[SMC_TIMESTAMPS];
};

/**
 * struct smc_conn_rx - receiving direction; under conn->lock
 * @elem: our RMBE
 * @ring: cursors
 * @path: link over which the peer writes
 * @seq: last sequence number received
 * @seen: at least one CDC was received
 * @unproven: the group's peer may know nothing of this connection (smc_conn.path); cleared by
 *	its first message
 * @peer_state: SMC_CDC_S_* received so far
 * @ended: the peer has sent D or C while we received: no byte follows those in @ring
 * @answer_due: the next CDC acknowledges the peer's last message (orderly move)
 * @silence_deadline: jiffies until which the peer must send something, because its last
 *	messages may be lost; 0: none
 * @msgs_lost: a link lost messages, and the peer may have moved to it unnoticed
 * @urg: urgent data of the peer
 * @timestamps: arrival times, if the socket wants them
 * @poll_gap: jiffies until lent pages are polled, if the peer needs the room
 */
struct smc_conn_rx {
	struct smc_elem elem;
	struct smc_ring_rx ring;
	struct smc_failover_rx path;
	u16 seq;
	bool seen;
	bool unproven;
	u8 peer_state;
	bool ended;
	bool answer_due;
	unsigned long silence_deadline;
	bool msgs_lost;
	struct smc_urgent_rx urg;
	struct smc_timestamps timestamps;
	unsigned long poll_gap;
};

/**
 * struct smc_conn - one connection
 * @ref: owner (handshake, then socket), token table, requests whose completion is awaited
 * @lock: protects everything below unless said otherwise; BH off; taken in softirq
 * @lgr: group; reference held from creation to the final release
 * @link: link of our direction; reference held; changes under @lock, only after the handshake
 * @token: our alert token; constant
 * @net: namespace; lives as long as the group
 * @stats: its counters
 * @role: enum smc_role
 * @link_policy: enum smc_link_policy, or SMC_LINK_POLICY_NET; changes at any time
 * @balance: see smc_conn_set_balance(); changes at any time
 * @upgrade: the connection began as TCP (conn/upgrade.h); NULL: by a rendezvous. Constant
 * @tx: sending direction
 * @rx: receiving direction
 * @tcpinfo: counters and times
 * @state: state of proto/conn_fsm.c; written under @lock, read by smc_conn_state()
 * @err: errno of the abort (ECONNRESET, EPIPE, ECONNABORTED or @cause), 0: none; set once
 * @cause: errno of a local abort, 0: ECONNABORTED
 * @keepalive_pending: a keepalive probe is not answered yet
 * @events: table of the owner, NULL when detached
 * @owner: passed to @events
 * @completed: called after a completion while the connection closes or ends; under @lock; returns
 *	SMC_CONN_* bits for the owner
 * @wq: queue of @work and @free_work
 * @shut: directions that the application has shut down: SEND_SHUTDOWN, RCV_SHUTDOWN
 * @shut_pending: local shutdown waits until all bytes are sent
 * @close_pending: local close waits until all bytes are acknowledged
 * @deadline_armed: @deadline bounds the present state
 * @releasing: CLOSED was reached: unregister as soon as the last message is sent
 * @unregistered: removed from the token table
 * @quarantine: the peer may still write into our RMBE
 * @path: addresses and ports of the TCP connection
 * @deadline: jiffies: end of a waiting state, of lingering or of @releasing
 * @tcp_end: how the clcsock has to end; SMC_TCP_END_NONE: not yet, or @releasing without an order:
 *	the peer has closed first
 * @tcp_end_deadline: jiffies: SMC_TCP_END_RST does not wait any longer for our last message
 * @broken_reported: SMC_CONN_BROKEN was reported, or @orphan was reset
 * @orphan: the clcsock after the application has closed; before that the owner has it
 * @work: deferred progress: closing, timers, late consumer updates
 * @free_work: final release in process context
 * @rcu: readers of the token table may still see the object
 */
struct smc_conn {
	struct kref ref;
	spinlock_t lock;
	struct smc_lgr *lgr;
	struct smc_link *link;
	u32 token;
	struct net *net;
	struct smc_stats __percpu *stats;
	u8 role;
	s8 link_policy;
	s8 balance;
	struct smc_conn_upgrade *upgrade;
	struct smc_conn_tx tx;
	struct smc_conn_rx rx;
	struct smc_tcpinfo tcpinfo;
	enum smc_conn_state state;
	int err;
	int cause;
	bool keepalive_pending;
	const struct smc_conn_events *events;
	struct smc_sock *owner;
	unsigned int (*completed)(struct smc_conn *conn);
	struct workqueue_struct *wq;
	u8 shut;
	bool shut_pending;
	bool close_pending;
	bool deadline_armed;
	bool releasing;
	bool unregistered;
	bool quarantine;
	struct smc_rules_path path;
	unsigned long deadline;
	enum smc_tcp_end tcp_end;
	unsigned long tcp_end_deadline;
	bool broken_reported;
	struct smc_orphan *orphan;
	struct delayed_work work;
	struct work_struct free_work;
	struct rcu_head rcu;
};

/**
 * struct smc_conn_notification - notification collected under conn->lock, sent after it
 * @events: table of the owner, NULL: nothing to send
 * @owner: reference held, unless there is nothing to send
 * @bits: SMC_CONN_* bits
 */
struct smc_conn_notification {
	const struct smc_conn_events *events;
	struct smc_sock *owner;
	unsigned int bits;
};

/**
 * smc_conn_prepare_notification() - Prepare a notification of the owner
 * @conn: connection
 * @bits: SMC_CONN_*; 0: nothing to send
 * @note: filled in; holds a reference on the owner until smc_conn_send_notification()
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_conn_prepare_notification(struct smc_conn *conn, unsigned int bits,
						 struct smc_conn_notification *note)
{
	const struct smc_conn_events *events = bits ? conn->events : NULL;

	note->bits = events ? events->get(conn->owner, bits) : 0;
	note->events = note->bits ? events : NULL;
	note->owner = conn->owner;
}

/**
 * smc_conn_send_notification() - Send a notification to the owner
 * @note: from smc_conn_prepare_notification()
 *
 * Context: No lock held.
 */
static inline void smc_conn_send_notification(const struct smc_conn_notification *note)
{
	if (note->events)
		note->events->notify(note->owner, note->bits);
}

extern const struct smc_lgr_conn_events smc_conn_lgr_events;

int smc_conn_init(void);
void smc_conn_exit(void);

struct smc_conn *smc_conn_create(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
				 u32 rcvbuf, bool announce, const bool *cancel);
/**
 * struct smc_conn_peer_end - the peer's end of a connection, from its Accept or Confirm
 * @token: its alert token
 * @size: bytes of its RMBE
 * @index: index of its RMBE in the RMB, 1-based
 * @link: link that the message names, over which @rkey and @addr count; NULL: the connection's
 * @rkey: key of its RMB on that link
 * @addr: address of its RMB
 * @first: first connection of the group: no RMB has been announced yet
 */
struct smc_conn_peer_end {
	u32 token;
	u32 size;
	u8 index;
	struct smc_link *link;
	u32 rkey;
	u64 addr;
	bool first;
};

int smc_conn_set_peer(struct smc_conn *conn, const struct smc_conn_peer_end *end);
void smc_conn_set_path(struct smc_conn *conn, const struct smc_rules_path *path);
void smc_conn_activate(struct smc_conn *conn);

#define SMC_BALANCE_NET		(-1)	/* of a connection: as its namespace */

void smc_conn_set_balance(struct smc_conn *conn, int balance);
void smc_conn_discard(struct smc_conn *conn, bool quarantine);

void smc_conn_attach(struct smc_conn *conn, const struct smc_conn_events *events,
		     struct smc_sock *owner);
void smc_conn_detach(struct smc_conn *conn);
static inline void smc_conn_get(struct smc_conn *conn)
{
	kref_get(&conn->ref);
}

/**
 * smc_conn_put() - Drop a reference
 * @conn: connection
 *
 * The last one only queues the release.
 *
 * Context: Any, with or without conn->lock.
 */
static inline void smc_conn_put(struct smc_conn *conn)
{
	if (refcount_dec_and_test(&conn->ref.refcount))
		queue_work(conn->wq, &conn->free_work);
}

void smc_conn_shutdown(struct smc_conn *conn, u8 directions);
void smc_conn_lose_write(struct smc_conn *conn);
void smc_conn_close(struct smc_conn *conn, bool abort, unsigned long linger,
		    struct smc_orphan *clcsock);
void smc_conn_abort(struct smc_conn *conn, int err);
bool smc_conn_is_drained(const struct smc_conn *conn);
bool smc_conn_is_broken(const struct smc_conn *conn);
bool smc_conn_peer_has_closed(const struct smc_conn *conn);

static inline enum smc_conn_state smc_conn_state(const struct smc_conn *conn)
{
	/* pairs with the release in smc_conn_step_locked() */
	return smp_load_acquire(&conn->state);
}

#endif
