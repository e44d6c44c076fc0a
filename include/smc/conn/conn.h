/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One SMC connection: one byte stream over one link group. Rank 9; the struct is
 * shared with its movers smc_tx, smc_rx (8) and smc_cdc (7). No struct sock here.
 */
#ifndef _SMC_CONN_CONN_H
#define _SMC_CONN_CONN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/timestamp.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/conn_fsm.h>
#include <smc/proto/cursor.h>
#include <smc/proto/failover.h>
#include <smc/proto/urgent.h>
#include <smc/rdma/region.h>

struct smc_link;
struct smc_lgr;
struct smc_conn;
struct net;

/*
 * Pages that are sent from, or lent, have so many bytes each on average; fewer are copied. The ring
 * limits bytes, RLIMIT_MEMLOCK counts them, and each of them might hold a whole page, and memory of
 * ours for that.
 */
#define SMC_CONN_PAGE_BYTES	512

/* facts told upward, as bits of one call */
#define SMC_CONN_READABLE	0x01	/* bytes arrived */
#define SMC_CONN_WRITABLE	0x02	/* send ring space came back */
#define SMC_CONN_CHANGED	0x04	/* fsm state changed: EOF, reset, closed; re-read it */
#define SMC_CONN_URGENT		0x08	/* urgent data announced: SIGURG */
#define SMC_CONN_MARK		0x10	/* its byte has arrived: smc_rx_skip_urgent() */

/**
 * struct smc_conn_events - what a connection tells its socket (rank 12)
 * @hold: takes a reference on @owner; called under conn->lock; never fails
 * @put: drops it; no lock held
 * @notify: bits above; any context incl. softirq, no lock of ours held; a hint:
 *	may come twice, late or in any order
 */
struct smc_conn_events {
	void (*hold)(void *owner);
	void (*put)(void *owner);
	void (*notify)(void *owner, unsigned int bits);
};

/* How far our direction is with leaving a link that is well (conn/failover.c). */
enum smc_leave {
	SMC_LEAVE_NO,
	SMC_LEAVE_ASK,		/* a message that asks the peer how far it has come is due */
	SMC_LEAVE_WAIT,		/* it is under way: nothing else is posted */
	SMC_LEAVE_GO,		/* the peer has heard all: the work moves us */
};

/**
 * struct smc_conn_tx - sending direction; under conn->lock
 * @elem: send ring
 * @ring: cursors; valid once @peer_size is set, before that only @ring.size
 * @claim: the peer's RMBE and token; valid once @peer_size is set, but for @claim.rtoken
 * @peer_size: size of the peer's RMBE, 0 = not known yet
 * @seq: sequence number of the last CDC built
 * @seq_done: that of the last one known to have reached the peer's RNIC, of those whose
 *	completion is of interest; what a failover validation says
 * @inflight: requests with data or new flags, posted and not retired
 * @waiting: refused a slot; smc_tx_retry() pushes again
 * @told_blocked: the last CDC carried B
 * @blocked_at: ns since boot when the first one of these did; 0: none
 * @cons_due: a consumer update must be sent (kept over a missing slot)
 * @stopped: the group is gone: nothing is posted any more, ever
 * @state_due: SMC_CDC_S_* to be sent (kept over a missing slot)
 * @state: SMC_CDC_S_* already sent: repeated in every later CDC
 * @state_unacked: the last of @state has not reached the peer's RNIC for all we know
 * @state_seq: sequence number of the CDC that said it first
 * @validate: the link changed: before anything else a failover validation is due
 * @left: number of the link before, for a peer of our kind
 * @moves: how often the link changed
 * @resuming: nothing was written since then
 * @orderly: the last change was no failure: nothing was under way
 * @past: numbers of the links before @left, the last one first, for a peer of our kind
 * @past_orderly: a bit for each of them: @orderly of the move that left it
 * @leave: see there
 * @leave_to: slot of the link to go to
 * @leave_by: jiffies: if the peer has not answered by then, we stay
 * @leave_round: lgr->balance_round of the last attempt to leave
 * @heard: the peer has handled our last message
 * @urg: urgent data of ours
 * @runs: bytes that are not in @elem, by position, until they are completed
 * @runs_done: those to be given back once the lock is free
 * @probe_at: jiffies: not before that another byte goes out of the reserve
 * @probe_gap: jiffies from the next one to the one after it
 */
struct smc_conn_tx {
	struct smc_elem elem;
	struct smc_ring_tx ring;
	struct smc_claim claim;
	u32 peer_size;
	u16 seq;
	u16 seq_done;
	u32 inflight;
	bool waiting;
	bool told_blocked;
	u64 blocked_at;
	bool cons_due;
	bool stopped;
	u8 state_due;
	u8 state;
	bool state_unacked;
	u16 state_seq;
	bool validate;
	u8 left;
	u8 moves;
	bool resuming;
	bool orderly;
	u8 past[SMC_CDC_PAST];
	u8 past_orderly;
	enum smc_leave leave;
	u8 leave_to;
	unsigned long leave_by;
	u32 leave_round;
	bool heard;
	struct smc_urgent_tx urg;
	struct list_head runs;
	struct list_head runs_done;
	unsigned long probe_at;
	unsigned long probe_gap;
};

/**
 * struct smc_conn_rx - receiving direction; under conn->lock
 * @elem: our RMBE
 * @ring: cursors
 * @path: over which link the peer writes
 * @seq: last sequence number seen
 * @seen: at least one CDC was received
 * @peer_state: SMC_CDC_S_* of the peer, accumulated
 * @answer_due: the next message is to say how far we have come
 * @silence_deadline: jiffies: the peer is to be heard until then, or its last words are lost; 0: no doubt
 * @msgs_lost: a link lost messages that the peer may have gone to without being heard of
 * @urg: urgent data of the peer
 * @stamps: when it arrived, if that is wanted
 * @poll_gap: jiffies until a look at whether what is lent is back, if the peer needs it
 */
struct smc_conn_rx {
	struct smc_elem elem;
	struct smc_ring_rx ring;
	struct smc_failover_rx path;
	u16 seq;
	bool seen;
	u8 peer_state;
	bool answer_due;
	unsigned long silence_deadline;
	bool msgs_lost;
	struct smc_urgent_rx urg;
	struct smc_stamps stamps;
	unsigned long poll_gap;
};

/**
 * struct smc_conn - one connection
 * @ref: owner (handshake, then socket), token table, each data carrying request
 *	in flight, queued work
 * @lock: everything below unless said otherwise; BH off; taken in softirq
 * @lgr: group; reference held from creation to the final release
 * @link: link our direction uses; reference held; changes under @lock, behind the
 *	handshake only
 * @token: our alert token; constant
 * @net: namespace for statistics; lives as long as the group
 * @role: enum smc_role
 * @tx: see there
 * @rx: see there
 * @meter: under @lock
 * @state: state of proto/conn_fsm; written under @lock, read with smp_load_acquire()
 * @err: errno of the abort (ECONNRESET, ECONNABORTED, @cause), 0 = none; first one wins
 * @cause: errno of an abort from here, 0 = ECONNABORTED
 * @asked: the peer was asked whether it lives, and has not answered
 * @events: upward table, NULL when detached
 * @owner: for @events
 * @wq: queue of @work and @free_work
 * @shut_pending: local shutdown waits for the send ring to be written
 * @close_pending: local close waits for the send ring to be completed
 * @deadline_armed: a waiting state is bounded by @deadline
 * @releasing: CLOSED was reached: out of the token table as soon as all is sent
 * @unregistered: taken out
 * @quarantine: the peer may still write into our RMBE
 * @deadline: jiffies: end of a waiting state, of lingering or of @releasing
 * @work: deferred progress: closing, timers, late consumer updates
 * @free_work: final release in process context
 * @rcu: look-ups by token may still see the object
 */
struct smc_conn {
	struct kref ref;
	spinlock_t lock;
	struct smc_lgr *lgr;
	struct smc_link *link;
	u32 token;
	struct net *net;
	u8 role;
	struct smc_conn_tx tx;
	struct smc_conn_rx rx;
	struct smc_meter meter;
	enum smc_conn_state state;
	int err;
	int cause;
	bool asked;
	const struct smc_conn_events *events;
	void *owner;
	struct workqueue_struct *wq;
	bool shut_pending;
	bool close_pending;
	bool deadline_armed;
	bool releasing;
	bool unregistered;
	bool quarantine;
	unsigned long deadline;
	struct delayed_work work;
	struct work_struct free_work;
	struct rcu_head rcu;
};

/**
 * struct smc_conn_note - facts collected under conn->lock, told after it
 * @events: upward table, NULL = nothing to tell
 * @owner: reference held
 * @bits: SMC_CONN_* bits
 */
struct smc_conn_note {
	const struct smc_conn_events *events;
	void *owner;
	unsigned int bits;
};

/* conn->lock held; the note then holds a reference on the owner. */
static inline void smc_conn_note_take(struct smc_conn *conn, unsigned int bits,
				      struct smc_conn_note *note)
{
	note->events = bits ? conn->events : NULL;
	note->bits = bits;
	if (!note->events)
		return;
	note->owner = conn->owner;
	note->events->hold(note->owner);
}

/* No lock held. */
static inline void smc_conn_note_send(const struct smc_conn_note *note)
{
	if (!note->events)
		return;
	note->events->notify(note->owner, note->bits);
	note->events->put(note->owner);
}

/* Has the work look again; any context. */
static inline void smc_conn_kick(struct smc_conn *conn, unsigned long delay)
{
	mod_delayed_work(conn->wq, &conn->work, delay);
}

/* The same, but a look that is due earlier stays. */
static inline void smc_conn_kick_by(struct smc_conn *conn, unsigned long delay)
{
	const struct timer_list *timer = &conn->work.timer;

	if (!delayed_work_pending(&conn->work) ||
	    (timer_pending(timer) && time_after(READ_ONCE(timer->expires), jiffies + delay)))
		smc_conn_kick(conn, delay);
}

extern const struct smc_lgr_conn_events smc_conn_lgr_events;

int smc_conn_init(void);
void smc_conn_exit(void);	/* waits until every connection is gone */

/*
 * Creates a connection in @lgr on @link (an own reference is taken), takes send
 * ring and RMBE (sizes are rounded) and registers the token. If no clean element
 * is free a new region is allocated, mapped and, when @announce (subsequent
 * contact), registered and announced by CONFIRM RKEY; on first contact
 * registration is done later by smc_conn_mem_register(). Uses up the reserved place of
 * the group in success only. Sleeps, until @cancel is set. ERR_PTR: -ENOMEM, -ENOSPC,
 * -ETIMEDOUT, -EPERM, -ECONNABORTED, -ECANCELED.
 */
struct smc_conn *smc_conn_create(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
				 u32 rcvbuf, bool announce, const bool *cancel);
/**
 * struct smc_conn_end - the peer's end of a connection, as its Accept or Confirm says
 * @token: its alert token
 * @size: bytes of its RMBE
 * @index: index of its RMBE, 1-based
 * @rkey: key of its RMB on the connection's link
 * @addr: address of its RMB
 * @first: the group's first connection: nothing has been announced yet
 */
struct smc_conn_end {
	u32 token;
	u32 size;
	u8 index;
	u32 rkey;
	u64 addr;
	bool first;
};

int smc_conn_set_peer(struct smc_conn *conn, const struct smc_conn_end *end);
/* Handshake done: INIT -> ACTIVE; what arrived early becomes readable. */
void smc_conn_activate(struct smc_conn *conn);
/* Handshake failed before activation: everything is given back, the RMBE to quarantine if asked. */
void smc_conn_discard(struct smc_conn *conn, bool quarantine);

void smc_conn_attach(struct smc_conn *conn, const struct smc_conn_events *events, void *owner);
/* No notify runs after return with @owner newly; those running hold a reference of owner. */
void smc_conn_detach(struct smc_conn *conn);
static inline void smc_conn_get(struct smc_conn *conn)
{
	kref_get(&conn->ref);
}

/* Any context, conn->lock held or not: the last put only queues the release. */
static inline void smc_conn_put(struct smc_conn *conn)
{
	if (refcount_dec_and_test(&conn->ref.refcount))
		queue_work(conn->wq, &conn->free_work);
}

/* Local shutdown(SHUT_WR): D follows the last byte. */
void smc_conn_shutdown(struct smc_conn *conn);
/*
 * Local close. @abort: A instead of C (unread data, SO_LINGER 0). Otherwise
 * queued bytes are still sent, for at most @linger jiffies. Returns at once;
 * detach first. The caller's reference may be put right after.
 */
void smc_conn_close(struct smc_conn *conn, bool abort, unsigned long linger);
/* Carrier reset or local failure: abort, @err becomes conn->err. */
void smc_conn_abort(struct smc_conn *conn, int err);
/* All bytes written have been sent and completed (for SO_LINGER waits). */
bool smc_conn_drained(const struct smc_conn *conn);

static inline enum smc_conn_state smc_conn_state(const struct smc_conn *conn)
{
	/* pairs with the release in conn/conn.c's step() */
	return smp_load_acquire(&conn->state);
}

#endif
