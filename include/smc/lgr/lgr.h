/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Link groups: registry, link set, rtokens, connection table, termination. The prose is in
 * smc_core.c.
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
#include <smc/proto/peer_caps.h>
#include <smc/rdma/region.h>

#define SMC_LGR_LINKS		SMC_REGION_LINKS
static_assert(SMC_LGR_LINKS - 1 == SMC_LINKS_MAX);	/* plus the asymmetric one */
#define SMC_LGR_CONNS_MAX	255
#define SMC_LGR_RTOKENS	255
#define SMC_LGR_RTOKEN_PIECE	16	/* entries that are allocated together */
#define SMC_LGR_RTOKEN_PIECES	DIV_ROUND_UP(SMC_LGR_RTOKENS, SMC_LGR_RTOKEN_PIECE)
/* interval at which waits of a handshake poll for its cancellation */
#define SMC_LGR_POLL		(HZ / 10)

enum smc_role { SMC_CLIENT = 0, SMC_SERVER = 1 };	/* values of the netlink ABI */

/**
 * struct smc_rtoken - an RMB of the peer, with its keys on all links
 * @used: entry is valid
 * @delete_pending: deleted by the peer while connections write to it; freed with the last of them
 * @links: bit per link slot: @addr and @rkey of that slot are known
 * @refs: number of connections that write to it
 * @announced: value of smc_lgr.rtoken_announcements at the last announcement; the oldest entry
 *	without @refs is replaced when the table is full
 * @added: the same at the announcement that added the RMB, or revived it while @delete_pending
 * @addr: peer's address of element 0, per link slot
 * @rkey: peer's key, per link slot
 */
struct smc_rtoken {
	bool used;
	bool delete_pending;
	u16 links;
	u32 refs;
	u32 announced;
	u32 added;
	u64 addr[SMC_LGR_LINKS];
	u32 rkey[SMC_LGR_LINKS];
};

/**
 * struct smc_claim - what a connection has to itself at the peer
 * @entry: in smc_claims.list, under its lock; empty: no claim
 * @rtoken: index of the peer's RMB; -1: not known yet
 * @off: offset of the peer's RMBE in the RMB, in bytes
 * @size: size of the RMBE in bytes
 * @token: peer's alert token of the connection
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
 * @wait: woken when a claim ends
 */
struct smc_claims {
	spinlock_t lock;
	struct list_head list;
	wait_queue_head_t wait;
};

#define SMC_PROOF_ADDRS		8
#define SMC_PROOF_OPEN		16
#define SMC_PROOF_OPEN_HOST	8

/**
 * struct smc_proofs - connections of a client's group that its peer may know nothing of
 * @lock: guards all of this; leaf, BH off
 * @nproven: number of @proven
 * @proven: TCP addresses that are known to lead to the peer, besides that of the first contact;
 *	the latest first
 * @nopen: number of @open
 * @open: TCP addresses of unproven connections, one entry for each, in no order; at most
 *	SMC_PROOF_OPEN_HOST of a host
 */
struct smc_proofs {
	spinlock_t lock;
	u8 nproven;
	struct in6_addr proven[SMC_PROOF_ADDRS];
	u8 nopen;
	struct in6_addr open[SMC_PROOF_OPEN];
};

/**
 * struct smc_peer - the peer of a group, and the negotiated parameters; constant after creation
 *	unless noted
 * @id: peer ID (8 opaque bytes; zero from v2-only in-tree clients)
 * @gid: peer GID of the first link
 * @tcp_addr: address of the TCP peer, IPv4 as v4-mapped; all other members may be forged by
 *	another host
 * @own_addr: our address in the first contact, likewise; where a server looks up what an UPGRADE
 *	request names
 * @own_ifindex: netdev of that TCP connection, for the same look-up
 * @mac: peer MAC of the first link
 * @version: 1 or 2
 * @release: 0 or 1 (v2.1)
 * @vlan: VLAN of the TCP path, 0 = none
 * @max_conns: negotiated connections per group
 * @max_links: negotiated symmetric links per group; version 1: set by CONFIRM LINK
 * @os: peer's operating system nibble; server: set by the Confirm, as is @host
 * @eid: negotiated EID, blank padded (v2)
 * @host: peer's host name, blank padded
 * @caps: peer capabilities, mask of enum smc_peer_cap; 0: foreign peer. Unauthenticated. Read by
 *	smc_peer_can(). CAPABILITIES adds some, of those that this host has, too.
 * @one_port: of the two hosts, the client had no second port when it proposed the group; to the
 *	server as unauthenticated as the rest
 * @inner: in another namespace of this host, over smc_lo: all links of the group are (one)
 */
struct smc_peer {
	u8 id[8];
	union ib_gid gid;
	struct in6_addr tcp_addr;
	struct in6_addr own_addr;
	int own_ifindex;
	u8 mac[6];
	u8 version;
	u8 release;
	u16 vlan;
	u8 max_conns;
	u8 max_links;
	u8 os;
	u8 eid[32];
	u8 host[32];
	u32 caps;
	bool one_port;
	bool inner;
};

/**
 * smc_peer_can() - Check whether a peer has a capability
 * @peer: peer of a group or handshake
 * @cap: capability
 *
 * Context: Any.
 * Return: true if so.
 */
static inline bool smc_peer_can(const struct smc_peer *peer, enum smc_peer_cap cap)
{
	return READ_ONCE(peer->caps) & cap;
}

/**
 * struct smc_link_loss - links that a group has lost, for netlink
 * @count: number of lost links
 * @reason: reason of the last loss
 * @at: time of the last loss, in seconds since boot
 */
struct smc_link_loss {
	atomic_t count;
	enum smc_link_reason reason;
	time64_t at;
};

/**
 * struct smc_lgr_totals - what the connections of a group have done that have ended, for netlink
 * @conns: how many
 * @tx_bytes: bytes that they sent
 * @rx_bytes: bytes that they received
 */
struct smc_lgr_totals {
	atomic_t conns;
	atomic64_t tx_bytes;
	atomic64_t rx_bytes;
};

struct smc_conn;	/* opaque to this layer, as is the next one */
struct smc_llc;
struct smc_lgr;
struct smc_link_load;
struct smc_stats;

/**
 * struct smc_lgr_ctl_events - events of groups and links for the LLC layer
 * @message: LLC message received on @link; softirq; @buf is valid during the call
 * @slots_free: @link has send slots again; softirq; before connections may take them
 * @link_lost: @link failed, others still work; it is out of the link set and fenced, and the
 *	connections have left it; process context (group work)
 * @ports_changed: ports or GIDs of this host appeared or changed; process context, registry
 *	lock held
 * @terminated: the group is dead for lgr->reason, the connections were aborted, the queue
 *	pairs still exist; no other upcall but @released follows; process context, once
 * @released: nobody uses the group any more, and it is about to be freed; process context, once
 */
struct smc_lgr_ctl_events {
	void (*message)(struct smc_link *link, const u8 *buf, u32 len);
	void (*slots_free)(struct smc_link *link);
	void (*link_lost)(struct smc_lgr *lgr, struct smc_link *link);
	void (*ports_changed)(struct smc_lgr *lgr);
	void (*terminated)(struct smc_lgr *lgr);
	void (*released)(struct smc_lgr *lgr);
};

/**
 * struct smc_lgr_conn_events - events for the connection layer
 * @message: CDC message received on @link; softirq; @buf is valid during the call; the callee
 *	looks up the connection of its token with smc_lgr_find_conn()
 * @imm: immediate value received on @link (proto/cdc_imm.h); likewise, with
 *	smc_lgr_find_conn_by_index()
 * @slots_free: @link has send slots again, or is no longer held; softirq or process context
 * @link_usable: @link became usable, and the group has others; process context, not concurrently
 *	for a group
 * @link_lost: @link was taken out of the link set (reason: smc_link.reason) and is fenced, while
 *	the group has other links; process context, no locks but lgr->failover_mutex
 * @terminated: the group is dead for lgr->reason, and no connection is added any more; process
 *	context, no locks, once
 * @drained: all links of the dead group are fenced: nothing is received any more; process context,
 *	no locks, once
 * @released: nobody uses the group any more, and it is about to be freed; process context, once
 */
struct smc_lgr_conn_events {
	void (*message)(struct smc_link *link, const u8 *buf, u32 len);
	void (*imm)(struct smc_link *link, u32 imm);
	void (*slots_free)(struct smc_link *link);
	void (*link_usable)(struct smc_link *link);
	void (*link_lost)(struct smc_link *link);
	void (*terminated)(struct smc_lgr *lgr);
	void (*drained)(struct smc_lgr *lgr);
	void (*released)(struct smc_lgr *lgr);
};

/**
 * struct smc_balance - how connections move to a link that became usable; it lies in the group
 *	because there is one for each, and is used by conn/balance.c alone
 * @work: begins moves; initialised when @round is not 0
 * @round: number of links that became usable; a connection tries once per round
 * @walks: remaining walks over the connections in this round
 * @wanted: a connection of the group has wanted it, whatever the namespace does; set once
 */
struct smc_balance {
	struct delayed_work work;
	u32 round;
	u32 walks;
	bool wanted;
};

/**
 * struct smc_lgr_peer_end - the peer's end of a link
 * @qpn: number of its queue pair
 * @gid: its GID
 */
struct smc_lgr_peer_end {
	u32 qpn;
	union ib_gid gid;
};

/**
 * struct smc_lgr - link group
 * @ref: reference count; held by the group's life until its termination, each connection, each
 *	handshake, each queued work
 * @entry: in the list of all groups until the final release; under the registry lock
 * @addr_entry: in the table of groups by the address of their peer, likewise; RCU readers
 * @net: namespace (not pinned: its exit terminates the groups and waits)
 * @stats: counters of @net
 * @net_cookie: number of @net shown to users
 * @id: number shown to users, in steps of 0x100
 * @role: client or server
 * @peer: the peer and the negotiated parameters
 * @caps: capabilities that this host announces to a native peer (llc/caps.c); constant
 * @host: what groups with this host may take; holds a reference
 * @traffic_class: of the packets that this host sends over the links: DSCP, without ECN bits;
 *	constant from smc_lgr_begin() on
 * @priority: sk_priority that gives these packets their service level; likewise
 * @failover_mutex: held from taking failed links out of the set until their connections are
 *	notified; sleeps; held while the device fences, never while waiting for the peer
 * @mutex: guards changes of the link set and of regions; sleeps; never held while waiting for
 *	the peer
 * @links: link set, RCU pointers indexed by slot; written under @mutex
 * @unlinked: likewise, links that are out of @links and being shut down
 * @prev_peer_ends: peer's end of the last link that left the slot; read without lock
 * @slot_uids: @uid of the latest link of each slot; written under @mutex, before keys of that link
 *	are known
 * @slots: bit per slot: in use, or its last link is still being shut down; under @mutex
 * @first_ifindex: netdev of the RNIC over which the group began; constant
 * @next_link_num: server: next link number to assign; under @mutex
 * @conns: token index -> struct smc_lgr_conn_entry; RCU readers; XA_FLAGS_LOCK_BH
 * @walk_start: index at which smc_lgr_walk_conns() starts next; a hint, no lock
 * @nconns: number of connections; under the lock of @conns
 * @nkept: indices of @conns that are not used again, see smc_lgr_del_conn(); likewise
 * @reserved: places of handshakes that have not added their connection yet; under the lock of
 *	@conns
 * @phase_out_reason: not SMC_LINK_OK: the group is being phased out for this reason; set once,
 *	under the lock of @conns
 * @out_of_regions: out of regions: handshakes use another group until an element is free again; a
 *	hint, no lock
 * @rtoken_lock: guards @rtokens and @rtoken_announcements; leaf, BH off. The holder of a reference
 *	on an entry (smc_rtoken_get()) may read the entry's known links without it
 * @rtoken_announcements: number of RMB announcements by the peer
 * @rtokens: the peer's RMBs, up to SMC_LGR_RTOKENS: pieces of SMC_LGR_RTOKEN_PIECE entries, which
 *	are added in their order and stay; NULL: not needed so far
 * @rmbe_claims: RMBEs and alert tokens of the peer that connections use
 * @proofs: client: which TCP addresses may name the group in an Accept
 * @pool: memory regions of this host
 * @ready: first contact finished: handshakes may join; under the registry lock
 * @dead: the group terminates and no look-up returns it; never cleared
 * @dead_at: jiffies when that began; constant afterwards
 * @reason: reason of the end; the first one stays
 * @wq: runs the works that may wait for the peer: those of LLC and, of this layer, @term_work,
 *	@failover_work and @removal_work; destroyed with the group
 * @idle_work: terminates the group some time after the last connection ended
 * @term_work: termination
 * @failover_work: takes failed links out of the set and notifies the connections
 * @removal_work: reports these links to LLC and destroys them
 * @free_work: final release, in process context
 * @failed_slots: bit per slot: link failed, to be handled by @failover_work
 * @fence_wait: the holder of @failover_mutex waits here until a lost link is fenced or one more
 *	link has failed
 * @removal_slots: bit per slot: failed link without connections, to be handled by @removal_work
 * @link_loss: lost links, for netlink
 * @conn_moves: number of connections that moved to another link
 * @began_at: 64-bit jiffies of its creation
 * @totals: of its connections that have ended
 * @balance: see above
 * @last_pick: slot of the link picked last for a connection; a hint, no lock
 * @llc: state of the LLC layer, from smc_llc_create(); constant from smc_lgr_begin() on
 * @rcu: deferred free
 */
struct smc_lgr {
	struct kref ref;
	struct list_head entry;
	struct hlist_node addr_entry;
	struct net *net;
	struct smc_stats __percpu *stats;
	u64 net_cookie;
	u32 id;
	enum smc_role role;
	struct smc_peer peer;
	u32 caps;
	struct smc_host *host;
	u8 traffic_class;
	u32 priority;
	struct mutex failover_mutex;	/* failover */
	struct mutex mutex;		/* link set, regions */
	struct smc_link __rcu *links[SMC_LGR_LINKS];
	struct smc_link __rcu *unlinked[SMC_LGR_LINKS];
	struct smc_lgr_peer_end prev_peer_ends[SMC_LGR_LINKS];
	u32 slot_uids[SMC_LGR_LINKS];
	unsigned long slots;
	int first_ifindex;
	u8 next_link_num;
	struct xarray conns;
	unsigned long walk_start;
	u32 nconns;
	u32 nkept;
	u32 reserved;
	enum smc_link_reason phase_out_reason;
	bool out_of_regions;
	spinlock_t rtoken_lock;		/* the next two */
	u32 rtoken_announcements;
	struct smc_rtoken *rtokens[SMC_LGR_RTOKEN_PIECES];
	struct smc_claims rmbe_claims;
	struct smc_proofs proofs;
	struct smc_pool pool;
	bool ready;
	bool dead;
	unsigned long dead_at;
	enum smc_link_reason reason;
	struct workqueue_struct *wq;
	struct delayed_work idle_work;
	struct work_struct term_work;
	struct work_struct failover_work;
	struct work_struct removal_work;
	struct work_struct free_work;
	unsigned long failed_slots;
	wait_queue_head_t fence_wait;
	unsigned long removal_slots;
	struct smc_link_loss link_loss;
	atomic_t conn_moves;
	u64 began_at;
	struct smc_lgr_totals totals;
	struct smc_balance balance;
	u32 last_pick;
	struct smc_llc *llc;
	struct rcu_head rcu;
};

/**
 * smc_lgr_takes_imm() - Check whether the peer may send immediate values over a group
 * @lgr: group
 *
 * It may as soon as it knows our announcement, which only a native peer gets (llc/caps.c).
 *
 * Context: Any.
 * Return: true if so.
 */
static inline bool smc_lgr_takes_imm(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->peer.caps) && lgr->caps & SMC_CAP_WRITE_IMM;
}

/* smc_core.c */
int smc_lgr_init(void);
void smc_lgr_exit(void);
void smc_lgr_net_begin_exit(struct net *net);
void smc_lgr_net_exit(struct net *net);
void smc_lgr_set_ctl_events(const struct smc_lgr_ctl_events *events);
void smc_lgr_set_conn_events(const struct smc_lgr_conn_events *events);
struct smc_lgr *smc_lgr_alloc(struct net *net, enum smc_role role, const struct smc_peer *peer);
int smc_lgr_begin(struct smc_lgr *lgr, struct smc_path *path);
void smc_lgr_evict_for_memory(const struct smc_host *host, int rc);
void smc_lgr_discard(struct smc_lgr *lgr);
void smc_lgr_get(struct smc_lgr *lgr);
void smc_lgr_put(struct smc_lgr *lgr);
void smc_lgr_terminate(struct smc_lgr *lgr, enum smc_link_reason reason);
int smc_lgr_for_each(int (*fn)(struct smc_lgr *lgr, void *arg), void *arg);
void smc_lgr_notify_ports(void);
struct smc_link *smc_lgr_add_link(struct smc_lgr *lgr, struct smc_path *path, u8 num);
void smc_lgr_del_link(struct smc_link *link, enum smc_link_reason reason);

/* lgr/links.c */

/**
 * struct smc_link_iter - position of a walk over the links of a group
 * @lgr: group
 * @slot: next slot
 * @link: current link, if the walk has a reference on it
 */
struct smc_link_iter {
	struct smc_lgr *lgr;
	u32 slot;
	struct smc_link *link;
};

struct smc_link *smc_link_iter_next(struct smc_link_iter *iter);

static inline struct smc_link *smc_link_iter_next_rcu(struct smc_link_iter *iter)
{
	struct smc_link *link = NULL;

	while (iter->slot < SMC_LGR_LINKS && !link)
		link = rcu_dereference(iter->lgr->links[iter->slot++]);
	return link;
}

/**
 * smc_lgr_for_each_link() - walk the links of a group, with a reference on each
 * @group: struct smc_lgr *
 * @pos: struct smc_link *, loop variable; NULL after the last link
 *
 * In slot order. The walk drops its reference on @pos before the next step; the body may sleep.
 * After break or return, the reference belongs to the caller.
 */
#define smc_lgr_for_each_link(group, pos)				\
	for (struct smc_link_iter iter_ = { .lgr = (group) };		\
	     ((pos) = smc_link_iter_next(&iter_));)

/**
 * smc_lgr_for_each_link_rcu() - walk the links of a group, without references
 * @group: struct smc_lgr *
 * @pos: struct smc_link *, loop variable; NULL after the last link
 *
 * In slot order. Under rcu_read_lock(); the body must not sleep.
 */
#define smc_lgr_for_each_link_rcu(group, pos)				\
	for (struct smc_link_iter iter_ = { .lgr = (group) };		\
	     ((pos) = smc_link_iter_next_rcu(&iter_));)

/*
 * Return true if no other link has had the slot of @link since. To be called after keys of the slot
 * were read: if so, they are keys of @link.
 */
static inline bool smc_lgr_slot_is_of(const struct smc_link *link)
{
	smp_rmb();	/* pairs with smc_lgr_add_link() */
	return READ_ONCE(link->lgr->slot_uids[link->slot]) == link->uid;
}

struct smc_link *smc_lgr_get_link(struct smc_lgr *lgr, u32 slot);
struct smc_link *smc_lgr_get_link_by_num(struct smc_lgr *lgr, u8 num);
int smc_lgr_find_open_slot(struct smc_lgr *lgr, u8 num);
struct smc_link *smc_lgr_pick_link(struct smc_lgr *lgr);
struct smc_link *smc_lgr_pick_other_link(struct smc_lgr *lgr, const struct smc_link *not);
struct smc_link *smc_lgr_pick_conn_link(struct smc_lgr *lgr, unsigned long slots,
					const struct smc_link *own, int policy);
void smc_lgr_get_link_loads(struct smc_lgr *lgr, struct smc_link_load *load);
void smc_link_report_up(struct smc_link *link);

/* lgr/conns.c */

/**
 * struct smc_lgr_conn_entry - a connection in the token table
 * @token: alert token: index in the low 8 bits, random generation above
 * @conn: the connection
 * @rcu: deferred free
 */
struct smc_lgr_conn_entry {
	u32 token;
	struct smc_conn *conn;
	struct rcu_head rcu;
};

void smc_lgr_unreserve_conn(struct smc_lgr *lgr);
void smc_lgr_phase_out(struct smc_lgr *lgr, enum smc_link_reason reason);
void smc_lgr_set_out_of_regions(struct smc_lgr *lgr);
void smc_lgr_set_regions_available(struct smc_lgr *lgr);
int smc_lgr_add_conn(struct smc_lgr *lgr, struct smc_conn *conn, u32 *token);
void smc_lgr_del_conn(struct smc_lgr *lgr, u32 token, bool keep_index);
struct smc_conn *smc_lgr_find_conn(struct smc_lgr *lgr, u32 token);
struct smc_conn *smc_lgr_find_conn_by_index(struct smc_lgr *lgr, u8 index);
struct smc_conn *smc_lgr_next_conn(struct smc_lgr *lgr, unsigned long *index);
void smc_lgr_walk_conns(struct smc_lgr *lgr, bool (*fn)(struct smc_conn *conn, void *arg),
			void *arg);

/* lgr/rtoken.c */
/* Return an entry that there is: the caller holds rtoken_lock, or a reference on the entry. */
static inline struct smc_rtoken *smc_rtoken_of(const struct smc_lgr *lgr, u32 idx)
{
	return lgr->rtokens[idx / SMC_LGR_RTOKEN_PIECE] + idx % SMC_LGR_RTOKEN_PIECE;
}

int smc_rtoken_init_table(struct smc_lgr *lgr);
void smc_rtoken_free_table(struct smc_lgr *lgr);
int smc_rtoken_add(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr, u32 *added);
void smc_rtoken_undo_add(struct smc_lgr *lgr, int idx, u32 added);
int smc_rtoken_del(struct smc_lgr *lgr, u32 slot, u32 rkey);
int smc_rtoken_get(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr);
int smc_rtoken_get_known(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr);
void smc_rtoken_put(struct smc_lgr *lgr, int idx);
bool smc_rtoken_has_room(struct smc_lgr *lgr);
bool smc_rtoken_has_link(struct smc_lgr *lgr, int idx, u32 slot);
int smc_rtoken_set_link(struct smc_lgr *lgr, u32 ref_slot, u32 ref_rkey, u32 slot,
			u32 rkey, u64 addr);
void smc_rtoken_unset_link(struct smc_lgr *lgr, u32 slot, u32 rkey);
void smc_rtoken_name_lost(struct smc_lgr *lgr, u32 ref_slot, u32 ref_rkey, u8 num,
			  u32 rkey, u64 addr);
void smc_rtoken_lose_slot(struct smc_lgr *lgr, u32 slot);
void smc_rtoken_clear_slot(struct smc_lgr *lgr, u32 slot);
void smc_claim_init_list(struct smc_claims *claims);
int smc_claim_begin(struct smc_lgr *lgr, struct smc_claim *claim);
void smc_claim_end(struct smc_lgr *lgr, struct smc_claim *claim);

/* lgr/proof.c */
void smc_proof_init(struct smc_proofs *proofs);
bool smc_proof_needed(const struct smc_lgr *lgr, const struct in6_addr *addr);
bool smc_proof_is_given(struct smc_lgr *lgr, const struct in6_addr *addr);
bool smc_proof_begin(struct smc_lgr *lgr, const struct in6_addr *addr);
void smc_proof_drop(struct smc_lgr *lgr, const struct in6_addr *addr);
void smc_proof_complete(struct smc_lgr *lgr, const struct in6_addr *addr);

/* lgr/lookup.c */
struct smc_contact_entry;

/**
 * struct smc_contact - which group serves a client, from smc_contact_begin()
 * @lgr: existing group with a reserved place and a reference; NULL: the caller creates the
 *	group and must call smc_contact_finish()
 * @link: usable link of @lgr, with a reference; NULL without @lgr
 * @entry: private: entry of the creator
 */
struct smc_contact {
	struct smc_lgr *lgr;
	struct smc_link *link;
	struct smc_contact_entry *entry;
};

struct smc_lgr *smc_lgr_find_client(struct net *net, const struct smc_peer *peer, u32 peer_qpn,
				    unsigned long deadline, const bool *cancel,
				    struct smc_link **link);
struct smc_link *smc_lgr_get_named_link(struct smc_lgr *lgr, u32 qpn, const struct smc_peer *peer);
int smc_contact_begin(struct net *net, const struct smc_peer *peer,
		      const struct smc_path *own, unsigned long deadline,
		      const bool *cancel, struct smc_contact *contact);
void smc_contact_finish(struct smc_contact *contact, struct smc_lgr *lgr);
void smc_lgr_set_ready(struct smc_lgr *lgr);
bool smc_registry_has_client(struct net *net, const struct in6_addr *own_addr,
			     const struct in6_addr *addr, enum smc_peer_cap cap);
bool smc_lgr_serves_path(struct smc_lgr *lgr, const struct smc_path *own, u16 vlan);
bool smc_lgr_reserve_place(struct smc_lgr *lgr);
struct smc_lgr *smc_lgr_find_by_addr(struct net *net, const struct in6_addr *addr,
				     const struct in6_addr *own_addr, u16 vlan,
				     const struct smc_path *own, enum smc_peer_cap cap);
bool smc_registry_has_host(struct net *net, const struct in6_addr *tcp_addr, bool ready);
bool smc_registry_host_is_busy(struct net *net, const struct in6_addr *tcp_addr,
			       enum smc_peer_cap cap, unsigned long since);

/* lgr/topology.c */

/**
 * struct smc_peer_rnic - RNIC of the peer, as end of a further link
 * @gid: its GID
 * @mac: its MAC, as the peer reports it
 */
struct smc_peer_rnic {
	const u8 *gid;
	const u8 *mac;
};

unsigned int smc_topology_rate_port(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port,
				    const struct smc_peer_rnic *to);
enum smc_link_fit smc_topology_check_fit(struct smc_lgr *lgr, const struct smc_ib_device *dev,
					 u8 port, const struct smc_peer_rnic *to);
bool smc_topology_uses_port(struct smc_lgr *lgr, const struct smc_ib_device *dev, u8 port);
enum smc_link_set_type smc_topology_get_type(struct smc_lgr *lgr);
struct smc_link *smc_topology_find_redundant(struct smc_lgr *lgr);

/* lgr/device_events.c */
extern const struct smc_ib_events smc_lgr_ib_events;

#endif
