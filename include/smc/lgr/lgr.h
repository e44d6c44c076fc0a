/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Link groups: registry, link set, rtokens, connection table, termination.
 * Rank 6.
 */
#ifndef _SMC_LGR_LGR_H
#define _SMC_LGR_LGR_H

#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <smc/lgr/link.h>
#include <smc/proto/link_set.h>
#include <smc/rdma/region.h>

#define SMC_CORE_LINKS		SMC_BUF_LINKS
static_assert(SMC_CORE_LINKS - 1 == SMC_LINKS_MAX);	/* and the asymmetric one */
#define SMC_CORE_CONNS_MAX	255
#define SMC_CORE_RTOKENS	255
/* How often waits below a handshake look at whether it is cancelled. */
#define SMC_CORE_POLL		(HZ / 10)

enum smc_role { SMC_CLIENT = 0, SMC_SERVER = 1 };	/* numbers of the netlink ABI */

/**
 * struct smc_rtoken - one RMB of the peer as known on every link
 * @used: entry is valid
 * @doomed: the peer deleted it while a connection writes through it: goes with
 *	the last of them
 * @links: bit per link slot: @addr and @rkey of that slot are known
 * @refs: connections writing through it
 * @named: when the peer named it last: the oldest without @refs makes room
 * @addr: peer's address of element 0, per link slot
 * @rkey: peer's key, per link slot
 */
struct smc_rtoken {
	bool used;
	bool doomed;
	u16 links;
	u32 refs;
	u32 named;
	u64 addr[SMC_CORE_LINKS];
	u32 rkey[SMC_CORE_LINKS];
};

/**
 * struct smc_claim - what of the peer a connection has to itself
 * @entry: in the group's list, under its lock; empty: nothing is claimed
 * @rtoken: index of the peer's RMB, -1 = not known yet
 * @off: where the peer's RMBE begins in it, bytes
 * @size: bytes of the RMBE
 * @token: alert token the peer knows the connection by
 */
struct smc_claim {
	struct list_head entry;
	int rtoken;
	u64 off;
	u32 size;
	u32 token;
};

/**
 * struct smc_claims - the claims of a group
 * @lock: guards @list; leaf, BH off
 * @list: struct smc_claim, at most one per connection
 * @wait: for the end of one
 */
struct smc_claims {
	spinlock_t lock;
	struct list_head list;
	wait_queue_head_t wait;
};

/**
 * struct smc_peer - who a group leads to, and how; constant after creation, but for what says
 * otherwise
 * @id: peer ID (8 opaque bytes; zero from v2-only in-tree clients)
 * @gid: peer GID of the first link
 * @carrier: address of the TCP peer, IPv4 as v4-mapped: all else a stranger can say too
 * @mac: peer MAC of the first link
 * @version: 1 or 2
 * @release: 0 or 1 (v2.1)
 * @vlan: VLAN of the TCP path, 0 = none
 * @max_conns: negotiated connections per group
 * @max_links: negotiated symmetric links per group; version 1: constant after CONFIRM LINK
 * @os: peer's operating system nibble; server: known from the Confirm on, as is @host
 * @eid: negotiated EID, blank padded (v2)
 * @host: peer's host name, blank padded
 * @marker: version byte of our marker, 0 = the peer is no kin (never trusted)
 */
struct smc_peer {
	u8 id[8];
	union ib_gid gid;
	struct in6_addr carrier;
	u8 mac[6];
	u8 version;
	u8 release;
	u16 vlan;
	u8 max_conns;
	u8 max_links;
	u8 os;
	u8 eid[32];
	u8 host[32];
	u8 marker;
};

/**
 * struct smc_loss - links that a group has lost
 * @count: how many
 * @reason: of the last one
 * @at: seconds since boot, of the last one
 */
struct smc_loss {
	atomic_t count;
	enum smc_link_reason reason;
	time64_t at;
};

struct smc_lgr;
struct smc_link_load;

/**
 * struct smc_lgr_ctl_events - group and link facts for the LLC layer (rank 7)
 * @init: a group was created: set up lgr->llc (may fail)
 * @message: LLC message on @link; softirq; copy what is needed
 * @link_lost: @link failed, others still work; it is out of the link set and fenced, the
 *	connections have left it; process context (group work)
 * @ports_changed: ports or GIDs of this host came or went; process context, registry
 *	lock held
 * @terminated: the group is dead for lgr->reason, connections were told, queue
 *	pairs still stand: announce the end to the peer, cancel waits and works;
 *	process context, once
 * @release: free lgr->llc; last call; process context
 */
struct smc_lgr_ctl_events {
	int (*init)(struct smc_lgr *lgr);
	void (*message)(struct smc_link *link, const u8 *buf, u32 len);
	void (*link_lost)(struct smc_lgr *lgr, struct smc_link *link);
	void (*ports_changed)(struct smc_lgr *lgr);
	void (*terminated)(struct smc_lgr *lgr);
	void (*release)(struct smc_lgr *lgr);
};

/**
 * struct smc_lgr_conn_events - facts for connections (rank 9)
 * @message: CDC message on @link; softirq, RCU read side; @token was looked up
 *	by the callee through smc_core_conn_find()
 * @slots_free: @link has send slots again, or is held no longer; softirq or process
 *	context
 * @hold: takes a reference on @conn unless its count is zero already (false);
 *	under rcu_read_lock()
 * @put: drops it; process context
 * @link_lost: @link has left the link set (reason: smc_link.reason) and is fenced, while
 *	the group lives on over other links: whoever uses it goes on over another one, or
 *	is aborted; told to every connection of the group; process context, no locks
 * @balance: a link came: connections may go to it; true: to be asked again a moment
 *	later; process context, no locks
 * @terminated: the group of @conn died for @reason: abort; process context, no
 *	locks; called with a reference from @hold. Not called for connections whose
 *	smc_core_conn_add() failed with -ECONNABORTED
 */
struct smc_lgr_conn_events {
	void (*message)(struct smc_link *link, const u8 *buf, u32 len);
	void (*slots_free)(struct smc_link *link);
	bool (*hold)(void *conn);
	void (*put)(void *conn);
	void (*link_lost)(void *conn, struct smc_link *link);
	bool (*balance)(struct smc_lgr *lgr);
	void (*terminated)(void *conn, enum smc_link_reason reason);
};

/**
 * struct smc_lgr - link group
 * @ref: life of the group until its termination, each connection, each
 *	handshake, each queued work
 * @entry: list of all groups, dying ones included, until the final release;
 *	under the registry lock
 * @net: namespace (not pinned: net exit terminates its groups and waits)
 * @net_cookie: number of @net shown to users
 * @id: number shown to users, steps by 0x100
 * @role: client or server
 * @peer: see there
 * @leave_mutex: from the removal of links that are lost until their connections have been
 *	told; sleeps; held while the device is fenced, never while waiting for the peer
 * @mutex: changes of the link set and of regions; sleeps; never held while
 *	waiting for the peer
 * @links: RCU pointers, index = slot; written under @mutex
 * @leaving: likewise, links that were taken out of @links and are being shut down
 * @gone: peer's queue pair number of the last link that left the slot; read without lock
 * @slots: bit per slot: taken, or its last link is still being shut down; under @mutex
 * @next_link_num: server: next link number to assign; under @mutex
 * @conns: token index -> struct smc_core_entry; RCU readers; XA_FLAGS_LOCK_BH
 * @walk_from: where smc_core_walk_conns() begins next; a hint, no lock
 * @nconns: connections; under the lock of @conns
 * @reserved: handshakes that joined and have not registered yet; under the lock of
 *	@conns
 * @retired: not SMC_LINK_OK: takes no connection any more and ends for this reason with
 *	the last one it has; set once, under the lock of @conns
 * @crowded: no region could be added: not handed out until an element came back; a
 *	hint, no lock
 * @rtoken_lock: guards @rtokens and @rtoken_names; leaf, BH off. A holder of a
 *	reference (smc_core_rtoken_take()) may read its entry's known links without it
 * @rtoken_names: how often the peer has named an RMB
 * @rtokens: the peer's RMBs
 * @claims: who writes where in them
 * @pool: our memory
 * @ready: first contact finished: usable for others; under registry lock
 * @dead: no look-up finds it any more; never cleared
 * @reason: why it died; first one wins
 * @idle_work: releases the group some time after the last connection
 * @term_work: termination
 * @fail_work: connections leave lost links
 * @retire_work: the peer hears of that, and the links go
 * @free_work: final release in process context
 * @lost: bit per slot: link lost, to be handled by @fail_work
 * @left: bit per slot: link lost and left, to be handled by @retire_work
 * @loss: see there
 * @moves: connections that went on over another link
 * @balance_work: connections go to a link that came
 * @balance_round: how often a link came; each connection tries once in each round
 * @balance_left: walks that are left of this round
 * @last_pick: slot of the link that was last chosen for a connection; a hint, no lock
 * @llc: private to smc_llc.c
 */
struct smc_lgr {
	struct kref ref;
	struct list_head entry;
	struct net *net;
	u64 net_cookie;
	u32 id;
	enum smc_role role;
	struct smc_peer peer;
	struct mutex leave_mutex;	/* see above */
	struct mutex mutex;		/* see above */
	struct smc_link __rcu *links[SMC_CORE_LINKS];
	struct smc_link __rcu *leaving[SMC_CORE_LINKS];
	u32 gone[SMC_CORE_LINKS];
	unsigned long slots;
	u8 next_link_num;
	struct xarray conns;
	unsigned long walk_from;
	u32 nconns;
	u32 reserved;
	enum smc_link_reason retired;
	bool crowded;
	spinlock_t rtoken_lock;		/* see above */
	u32 rtoken_names;
	struct smc_rtoken *rtokens;
	struct smc_claims claims;
	struct smc_pool pool;
	bool ready;
	bool dead;
	enum smc_link_reason reason;
	struct delayed_work idle_work;
	struct work_struct term_work;
	struct work_struct fail_work;
	struct work_struct retire_work;
	struct work_struct free_work;
	unsigned long lost;
	unsigned long left;
	struct smc_loss loss;
	atomic_t moves;
	struct delayed_work balance_work;
	u32 balance_round;
	u32 balance_left;
	u32 last_pick;
	void *llc;
};

/*
 * References and places. smc_core_create(), smc_core_find_client() and
 * smc_core_contact_begin() hand out a group with one reference for the caller
 * (smc_core_put()) and one reserved connection place. smc_core_conn_add() turns
 * the place into a connection; when it is not reached or fails, the place is
 * still there and goes back by smc_core_unreserve().
 */
/* Facts about devices, for smc_ib_init(). */
extern const struct smc_ib_events smc_core_ib_events;

int smc_core_init(void);
void smc_core_exit(void);	/* terminates all groups and waits until none is left */
void smc_core_set_ctl_events(const struct smc_lgr_ctl_events *events);
void smc_core_set_conn_events(const struct smc_lgr_conn_events *events);
/*
 * Kills and waits for the groups of one namespace (NULL: of all, to be done before
 * the layers above exit).
 */
void smc_core_net_exit(struct net *net);

/*
 * Creates a group for a first contact: one link in slot 0 on @path (taken over in
 * success and failure), not ready. A server's link has its number already. If the
 * first contact fails: smc_core_terminate(SMC_LINK_SETUP_FAILED), then
 * smc_core_put(). ERR_PTR: -ENOMEM, -ENODEV, ...
 */
struct smc_lgr *smc_core_create(struct net *net, enum smc_role role,
				const struct smc_peer *peer, struct smc_path *path);
/*
 * Client, subsequent contact: the group of @peer's ID and version whose usable link
 * has its GID and the QP number, with a connection place reserved and a reference on
 * *@link. Waits (bounded by @deadline, in jiffies) while that group is still in its
 * first contact or has no place. ERR_PTR: -ENOENT (out of sync), -ETIMEDOUT, -ECANCELED.
 */
struct smc_lgr *smc_core_find_client(struct net *net, const struct smc_peer *peer, u32 peer_qpn,
				     unsigned long deadline, const bool *cancel,
				     struct smc_link **link);
/**
 * struct smc_contact - a server's answer to "which group serves this peer?"
 * @lgr: existing group with a place reserved and a reference, or NULL: the caller
 *	is the creator of a first contact and must call smc_core_contact_done()
 * @link: link to use (reference), when @lgr
 * @entry: private: pending entry of the creator
 */
struct smc_contact {
	struct smc_lgr *lgr;
	struct smc_link *link;
	void *entry;
};

/*
 * Server: finds a ready group for (@net, peer->id, peer->gid, peer->carrier, version,
 * vlan) with a free connection place and a link over @own's port (NULL: any), or makes the
 * caller the creator. If another handshake is
 * in first contact with the same peer, waits for it until @deadline (-ETIMEDOUT).
 * @cancel (may be NULL) ends the wait early when set (-ECANCELED); it is polled at
 * least every 100 ms. 0 or -errno.
 */
int smc_core_contact_begin(struct net *net, const struct smc_peer *peer,
			   const struct smc_path *own, unsigned long deadline,
			   const bool *cancel, struct smc_contact *contact);
/*
 * The creator is finished; @lgr (NULL on failure) becomes ready and visible. Wakes
 * waiters. The creator's reference stays with it.
 */
void smc_core_contact_done(struct smc_contact *contact, struct smc_lgr *lgr);
/* Client's counterpart: the first contact of @lgr has finished well. */
void smc_core_ready(struct smc_lgr *lgr);
/* Gives back a reserved place without using it; not the reference. */
void smc_core_unreserve(struct smc_lgr *lgr);
/* No region can be added: further connections of this peer need another group. */
void smc_core_crowded(struct smc_lgr *lgr);
/* An element came back: there may be room again. */
void smc_core_roomy(struct smc_lgr *lgr);
/* The group takes no more connections, and ends for @reason when those it has have ended. */
void smc_core_retire(struct smc_lgr *lgr, enum smc_link_reason reason);

void smc_core_get(struct smc_lgr *lgr);
void smc_core_put(struct smc_lgr *lgr);
/* The one entrance to teardown: any context, first reason wins, only schedules. */
void smc_core_terminate(struct smc_lgr *lgr, enum smc_link_reason reason);

/* RCU or reference safe accessors. The returned link carries a reference. */
struct smc_link *smc_core_link(struct smc_lgr *lgr, u32 slot);
struct smc_link *smc_core_link_by_num(struct smc_lgr *lgr, u8 num);
/* Slot of the link of number @num that may still bring something, or -ENOENT. Any context. */
int smc_core_open_slot(struct smc_lgr *lgr, u8 num);
struct smc_link *smc_core_pick_link(struct smc_lgr *lgr);	/* usable, fewest connections */
/* lgr/link_select.c: for a connection, out of the links in @slots; @own counts it already. */
struct smc_link *smc_core_pick_for(struct smc_lgr *lgr, unsigned long slots,
				   const struct smc_link *own);
/* What is known of all links, for proto/link_pick. */
void smc_core_link_loads(struct smc_lgr *lgr, struct smc_link_load *load);
/* A further link can be used: connections may go to it. Process context. */
void smc_core_link_came(struct smc_lgr *lgr);
/* Listeners hear that connections may use @link; lgr/events.c. */
void smc_core_tell_link_up(struct smc_link *link);
/* Another usable link than @not, or NULL. */
struct smc_link *smc_core_other_link(struct smc_lgr *lgr, const struct smc_link *not);

/**
 * struct smc_core_entry - one connection in the token table
 * @token: alert token: index in the low 8 bits, random generation above
 * @conn: the connection (rank 9)
 * @rcu: deferred free
 */
struct smc_core_entry {
	u32 token;
	void *conn;
	struct rcu_head rcu;
};

/*
 * Registers a connection and assigns its alert token (never 0). Uses up a
 * reservation in success. Takes a group reference for the connection. -ENOSPC,
 * -ECONNABORTED (group dead), -ENOMEM. The connection must stay valid for an RCU
 * grace period after smc_core_conn_del().
 */
int smc_core_conn_add(struct smc_lgr *lgr, void *conn, u32 *token);
/* Unregisters; after an RCU grace period nobody finds it. Puts the group reference. */
void smc_core_conn_del(struct smc_lgr *lgr, u32 token);
/* Under rcu_read_lock(): the connection of exactly this token, or NULL. */
void *smc_core_conn_find(struct smc_lgr *lgr, u32 token);
/* Walk under RCU; @fn may not sleep. */
void smc_core_walk_conns(struct smc_lgr *lgr, bool (*fn)(void *conn, void *arg), void *arg);

/*
 * Peer RMBs. add: finds or makes the entry for (@slot, @rkey, @addr) and returns
 * its index; one without connections goes when 255 are known; -ENOSPC when all have
 * some, -EBUSY when @rkey names other memory that a connection still writes to. take:
 * the same for a connection that will write to it until release. take_known: likewise, if the
 * peer has announced it over the group; -ENOKEY. del: DELETE RKEY from the peer; -ENOENT
 * unknown, -EBUSY in use by a connection (goes with the last one, unless announced again
 * before).
 */
int smc_core_rtoken_add(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr);
int smc_core_rtoken_del(struct smc_lgr *lgr, u32 slot, u32 rkey);
int smc_core_rtoken_take(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr);
int smc_core_rtoken_take_known(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr);
void smc_core_rtoken_release(struct smc_lgr *lgr, int idx);
/* Is there an entry for one more RMB of the peer? */
bool smc_core_rtoken_room(struct smc_lgr *lgr);
/* Adds the keys of a further link to a known RMB (ADD LINK, CONFIRM RKEY). */
int smc_core_rtoken_set_link(struct smc_lgr *lgr, u32 ref_slot, u32 ref_rkey, u32 slot,
			     u32 rkey, u64 addr);
void smc_core_rtoken_unset_link(struct smc_lgr *lgr, u32 slot, u32 rkey);

/* Is the RMB of @idx, of which a reference is held, known on @slot? */
bool smc_core_rtoken_known(struct smc_lgr *lgr, int idx, u32 slot);
/* The link of @slot is gone, and with it all its keys. */
void smc_core_rtoken_forget_slot(struct smc_lgr *lgr, u32 slot);

/* An RMBE and a token of the peer for one connection alone; -EADDRINUSE. */
void smc_core_claims_init(struct smc_claims *claims);
int smc_core_claim(struct smc_lgr *lgr, struct smc_claim *claim);
void smc_core_claim_end(struct smc_lgr *lgr, struct smc_claim *claim);

/*
 * Brings a further queue pair into an empty slot, for ADD LINK. Takes over @path. Adds
 * it to the link set with number @num (server: 0 = the next one) and maps all regions;
 * state INIT. The link carries a reference for the caller. ERR_PTR: -ENOSPC, -EEXIST...
 */
struct smc_link *smc_core_add_link(struct smc_lgr *lgr, struct smc_path *path, u8 num);

/* lgr/topology.c: which RNICs the links of a group join */

/**
 * struct smc_core_end - the peer's end of a link to be
 * @gid: its GID
 * @mac: its MAC as the peer says
 */
struct smc_core_end {
	const u8 *gid;
	const u8 *mac;
};

/* Whether to make one from a port of ours to @to (NULL: a new RNIC of the peer), 0 = no. */
unsigned int smc_core_worth(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port,
			    const struct smc_core_end *to);
/* What a link from a port of ours to @to would be. */
enum smc_link_fit smc_core_fit(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port,
			       const struct smc_core_end *to);
/* Has the group a link over a port of ours? */
bool smc_core_uses_port(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port);
/* What the usable links make of the group. */
enum smc_link_set_type smc_core_type(struct smc_lgr *lgr);
/* The asymmetric link that a symmetric one has made needless, with a reference, or NULL. */
struct smc_link *smc_core_surplus(struct smc_lgr *lgr);
/*
 * Takes a link out of the set for @reason and shuts it down; its connections are
 * told (link_lost), the LLC layer is not: it is the caller (setup of it failed,
 * DELETE LINK). The caller has a reference, which stays. Sleeps.
 */
void smc_core_del_link(struct smc_link *link, enum smc_link_reason reason);

/*
 * Walk all groups, the newest first, dying ones (lgr->dead) included, under the
 * registry lock (mutex: may sleep); non-zero stops.
 */
/* Ports or GIDs came: groups may get further links. */
void smc_core_ports_changed(void);
int smc_core_for_each(int (*fn)(struct smc_lgr *lgr, void *arg), void *arg);
bool smc_core_knows(struct net *net, const struct in6_addr *carrier);

#endif
