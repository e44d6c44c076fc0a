// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a connection: creation, the peer's end, its owner, its work, release.
 *
 * Who may still use a connection when it is freed, and why not:
 *  - the socket or the handshake holds a reference until it puts it;
 *  - CDC receivers find the connection by token under RCU and take a reference;
 *    smc_lgr_del_conn() comes first, and the memory is freed after a grace period;
 *  - each request whose completion is of interest holds a reference; the queue pair completes or
 *    flushes every request;
 *  - the work that takes a bigger send ring holds a reference, and so does the writer;
 *  - the delayed work is not queued again once @unregistered is set and the last reference is gone;
 *    free_work cancels it.
 */
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/proto/link_pick.h>
#include "failover.h"
#include "state.h"
#include "timers.h"
#include "upgrade_locked.h"

/* Bytes of a foreign peer's RMBE kept unused for a failover (proto/cursor.h). */
#define FOREIGN_RESERVE	16

/* Charged to the owner's cgroup; at its limit the connection falls back to TCP without OOM kill. */
#define CONN_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct workqueue_struct *smc_conn_wq;
static atomic_t conns_alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(conns_gone);

/* ---- release ----------------------------------------------------------------- */

/* Free a connection after its last reference is dropped; process context. */
static void conn_free_work_fn(struct work_struct *work)
{
	struct smc_conn *conn = container_of(work, struct smc_conn, free_work);
	struct smc_lgr *lgr = conn->lgr;
	/* elements of a failed creation do not count as free regions */
	bool room = conn->tx.elem.region && conn->rx.elem.region && !conn->quarantine;

	cancel_delayed_work_sync(&conn->work);
	smc_tcpinfo_report_end(conn);
	smc_zerocopy_free_all(conn);
	/* if the group ended before the peer's RMBE was claimed, the state did not end the claim */
	smc_claim_end(lgr, &conn->tx.claim);
	if (conn->tx.claim.rtoken >= 0)
		smc_rtoken_put(lgr, conn->tx.claim.rtoken);
	smc_conn_give_buffers(conn);
	if (conn->rx.unproven && !conn->quarantine)
		smc_proof_drop(lgr, &conn->path.remote.addr);
	if (room)
		smc_lgr_set_regions_available(lgr);
	smc_link_del_conn(conn->link);
	smc_lgr_put(lgr);
	kfree_rcu(conn, rcu);
	if (atomic_dec_and_test(&conns_alive))
		wake_up(&conns_gone);
}

/* Remove from the token table and drop the table's reference; once. With or without conn->lock. */
static void conn_unregister(struct smc_conn *conn)
{
	smc_lgr_del_conn(conn->lgr, conn->token,
			 conn->quarantine && smc_lgr_takes_imm(conn->lgr));
	smc_conn_put(conn);
}

/* smc_conn.completed: what a closing connection can do after a completion, without its work. */
static unsigned int conn_advance_end(struct smc_conn *conn)
{
	unsigned int bits = 0;

	lockdep_assert_held(&conn->lock);
	if (conn->shut_pending || smc_conn_is_shut(conn))
		bits |= smc_conn_advance_close_locked(conn);
	if ((conn->releasing || conn->tcp_end) && !conn->tx.state_due && !conn->tx.state_unacked &&
	    smc_conn_try_leave_locked(conn, &bits))
		conn_unregister(conn);
	return bits;
}

/* Deferred progress: all timers (timers.c), closing, updates; queued for any of them. */
static void conn_work_fn(struct work_struct *work)
{
	struct smc_conn *conn = container_of(to_delayed_work(work), struct smc_conn, work);
	struct smc_conn_notification note;
	struct smc_elem unused = {};
	unsigned int bits = 0;
	u32 llc = 0;
	bool gone;

	spin_lock_bh(&conn->lock);
	if (smc_conn_timer_state_expired(conn)) {
		conn->tx.state_due = 0;
		bits |= smc_conn_step_locked(conn, SMC_CONN_EV_TIMEOUT);
	}
	if (smc_conn_peer_went_silent_locked(conn))
		bits |= smc_conn_abort_gap_locked(conn);
	if (conn->upgrade)
		bits |= conn->upgrade->progress(conn, &llc);
	bits |= smc_conn_advance_close_locked(conn);
	smc_conn_finish_move_locked(conn);
	smc_rx_poll_lent_locked(conn, true);
	bits |= smc_conn_end_growth_pause_locked(conn);
	smc_conn_take_unused_ring_locked(conn, &unused);
	if (smc_conn_state_may_cdc(conn->state) &&
	    smc_ring_rx_update_due(&conn->rx.ring) != SMC_CURSOR_UPDATE_NONE)
		conn->tx.cons_due = true;
	smc_tx_push_locked(conn, false);
	gone = smc_conn_try_leave_locked(conn, &bits);
	smc_conn_prepare_notification(conn, bits, &note);
	spin_unlock_bh(&conn->lock);
	smc_conn_send_notification(&note);
	smc_zerocopy_flush(conn);
	smc_elem_free(&conn->lgr->pool, &unused, false);
	if (llc)
		conn->upgrade->init.ops->llc(conn, llc);
	if (gone)
		conn_unregister(conn);
}

/* ---- creation ---------------------------------------------------------------- */

/* A connection that begins as TCP. The first member is freed, and all of it with that. */
struct conn_with_upgrade {
	struct smc_conn conn;
	struct smc_conn_upgrade upgrade;
};

static struct smc_conn *conn_alloc(struct smc_lgr *lgr, struct smc_link *link,
				   const struct smc_conn_upgrade *upgrade)
{
	size_t size = upgrade ? sizeof(struct conn_with_upgrade) : sizeof(struct smc_conn);
	struct smc_conn *conn;

	conn = smc_fault_null(CONN, kzalloc(size, CONN_GFP));
	if (!conn)
		return NULL;
	if (upgrade) {
		conn->upgrade = &container_of(conn, struct conn_with_upgrade, conn)->upgrade;
		*conn->upgrade = *upgrade;
		conn->upgrade->conn = conn;
	}
	kref_init(&conn->ref);
	spin_lock_init(&conn->lock);
	smc_lgr_get(lgr);
	conn->lgr = lgr;
	smc_link_get(link);
	smc_link_add_conn(link);
	conn->link = link;
	/* a native client chooses its own link: smc_conn_pick_first_link_locked() */
	if (lgr->role == SMC_SERVER && smc_peer_can(&lgr->peer, SMC_CAP_FIRST_LINK))
		smc_failover_rx_init_any(&conn->rx.path);
	else
		smc_failover_rx_init(&conn->rx.path, link->slot);
	conn->net = lgr->net;
	conn->stats = lgr->stats;
	conn->role = lgr->role;
	conn->link_policy = SMC_LINK_POLICY_NET;
	conn->balance = SMC_BALANCE_NET;
	conn->tx.whole_due = true;
	INIT_LIST_HEAD(&conn->tx.claim.entry);
	conn->tx.claim.rtoken = -1;
	INIT_LIST_HEAD(&conn->tx.runs);
	INIT_LIST_HEAD(&conn->tx.runs_done);
	conn->state = SMC_CONN_INIT;
	smc_tcpinfo_init(conn);
	conn->wq = smc_conn_wq;
	conn->completed = conn_advance_end;
	INIT_DELAYED_WORK(&conn->work, conn_work_fn);
	INIT_WORK(&conn->free_work, conn_free_work_fn);
	atomic_inc(&conns_alive);
	return conn;
}

/* The link may have been lost before the connection was in the table and got the upcall. */
static void conn_check_fenced(struct smc_conn *conn)
{
	smp_mb();	/* pairs with smc_link_fence() */
	if (!smc_link_fenced(conn->link))
		return;
	spin_lock_bh(&conn->lock);
	smc_failover_rx_note_fenced(&conn->rx.path, conn->link->slot);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_create_with() - Create a connection, for a rendezvous or beside TCP
 * @lgr: as in smc_conn_create(), and so are the others
 * @link: see there
 * @sndbuf: see there
 * @rcvbuf: see there
 * @announce: see there
 * @cancel: see there
 * @upgrade: state of an upgrade; copied; NULL: for a rendezvous
 *
 * Context: Process, sleeps.
 * Return: as smc_conn_create().
 */
struct smc_conn *smc_conn_create_with(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
				      u32 rcvbuf, bool announce, const bool *cancel,
				      const struct smc_conn_upgrade *upgrade)
{
	struct smc_conn *conn = conn_alloc(lgr, link, upgrade);
	int rc;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	rc = smc_conn_take_buffers(conn, sndbuf, rcvbuf, announce, cancel);
	if (!rc)
		rc = smc_ring_rx_init(&conn->rx.ring, conn->rx.elem.size);
	if (!rc) {
		smc_conn_init_growth(conn);
		smc_conn_get(conn);	/* for the token table */
		rc = smc_lgr_add_conn(lgr, conn, &conn->token);
		if (!rc) {
			conn_check_fenced(conn);
			return conn;
		}
		smc_conn_put(conn);
	}
	smc_conn_put(conn);
	return ERR_PTR(rc);
}

/**
 * smc_conn_create() - Create a connection in a group
 * @lgr: group with a place reserved for this connection
 * @link: link to use; the connection takes a reference of its own
 * @sndbuf: wanted bytes of the send ring; rounded
 * @rcvbuf: wanted bytes of the RMBE; rounded
 * @announce: subsequent contact: register new regions and announce them by CONFIRM RKEY at once; on
 *	first contact smc_conn_register_buffers() registers them later
 * @cancel: give up when set by another context
 *
 * Takes a send ring and an RMBE from the pool of the group, which grows if none is free, and enters
 * the connection into the token table. The reserved place is used up on success only.
 *
 * Context: Process, sleeps.
 * Return: the connection with one reference for the caller, or ERR_PTR: -ENOMEM, -ENOSPC,
 * -ETIMEDOUT, -EPERM, -ECONNABORTED, -ECANCELED.
 */
struct smc_conn *smc_conn_create(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
				 u32 rcvbuf, bool announce, const bool *cancel)
{
	return smc_conn_create_with(lgr, link, sndbuf, rcvbuf, announce, cancel, NULL);
}

/**
 * smc_conn_set_peer() - Set the peer's end of a connection
 * @conn: connection in its handshake
 * @end: RMBE and token from the peer's Accept or Confirm
 *
 * May be tried again after -EADDRINUSE.
 *
 * Context: Process, does not sleep; takes conn->lock.
 * Return: 0; -EPROTO for impossible values; -ENOSPC if the group's connections write to as many
 * RMBs as it can hold; -EBUSY, see smc_rtoken_add(); -ENOKEY if the peer has not announced
 * this RMB to the group; -EADDRINUSE if RMBE or token belong to another connection, whose end the
 * peer may have seen before us; -ECONNABORTED if the link is lost, and with it the meaning of the
 * key, the first contact, or the way to the RMB.
 */
int smc_conn_set_peer(struct smc_conn *conn, const struct smc_conn_peer_end *end)
{
	bool repeats_cursor = smc_peer_can(&conn->lgr->peer, SMC_CAP_CURSOR_REPEAT);
	struct smc_claim *claim = &conn->tx.claim;
	struct smc_link *link, *named;
	int idx, rc;
	u64 last;

	if (!end->index || !smc_ring_size_is_valid(end->size) ||
	    check_add_overflow(end->addr, (u64)end->size * end->index, &last))
		return -EPROTO;
	/* The link changes after the handshake: conn_lose_link(), smc_conn_activate(). */
	link = conn->link;
	named = end->link ?: link;
	/* a first contact has no other link */
	if (end->first && smc_link_fenced(named))
		return -ECONNABORTED;
	idx = end->first ? smc_rtoken_get(conn->lgr, named->slot, end->rkey, end->addr) :
			   smc_rtoken_get_known(conn->lgr, named->slot, end->rkey, end->addr);
	rc = idx < 0 ? idx : 0;
	/* a link that got the slot of our lost one may have the same key for another RMB */
	if (!rc && !smc_lgr_slot_is_of(named))
		rc = -ENOKEY;
	/* over another link than ours only if it works; then the connection begins there */
	if (!rc && named != link && !smc_rtoken_has_link(conn->lgr, idx, link->slot) &&
	    !smc_link_usable(named))
		rc = -ENOKEY;
	/*
	 * Our link may be lost since the Accept: the connection begins over another one. Its keys
	 * are known until another link has its slot, so an unknown one is no violation then.
	 */
	if (rc == -ENOKEY && smc_link_fenced(named))
		rc = -ECONNABORTED;
	if (!rc) {
		claim->rtoken = idx;
		claim->off = (u64)end->size * (end->index - 1);
		claim->size = end->size;
		claim->token = end->token;
		if (smc_link_fenced(named) && !smc_conn_reachable_slots(conn))
			rc = -ECONNABORTED;
		else
			rc = smc_claim_begin(conn->lgr, claim);
	}
	if (rc) {
		claim->rtoken = -1;
		smc_rtoken_put(conn->lgr, idx);
		return rc;
	}
	spin_lock_bh(&conn->lock);
	rc = smc_ring_tx_init(&conn->tx.ring, conn->tx.elem.size, end->size,
			      repeats_cursor ? 0 : FOREIGN_RESERVE);
	if (!rc)
		conn->tx.peer_size = end->size;
	spin_unlock_bh(&conn->lock);
	return rc;
}

/**
 * smc_conn_set_path() - Set the addresses and ports of the TCP connection
 * @conn: connection whose RMBE is not announced yet; takes over the entry of smc_proof_begin()
 * @path: all of them
 *
 * Context: Takes conn->lock.
 */
void smc_conn_set_path(struct smc_conn *conn, const struct smc_rules_path *path)
{
	spin_lock_bh(&conn->lock);
	conn->path = *path;
	conn->rx.unproven = smc_proof_needed(conn->lgr, &path->remote.addr);
	spin_unlock_bh(&conn->lock);
}

/* ---- owner ------------------------------------------------------------------- */

/**
 * smc_conn_attach() - Set the owner that is notified of events
 * @conn: connection
 * @events: table
 * @owner: passed to @events
 *
 * Events may have happened before: the caller checks the state itself afterwards.
 *
 * Context: Takes conn->lock.
 */
void smc_conn_attach(struct smc_conn *conn, const struct smc_conn_events *events,
		     struct smc_sock *owner)
{
	spin_lock_bh(&conn->lock);
	conn->events = events;
	conn->owner = owner;
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_conn_detach() - Stop notifying the owner
 * @conn: connection
 *
 * A notification that runs already holds its own reference on the owner.
 *
 * Context: Takes conn->lock.
 */
void smc_conn_detach(struct smc_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->events = NULL;
	conn->owner = NULL;
	spin_unlock_bh(&conn->lock);
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_conn_init() - Set up connections
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_conn_init(void)
{
	smc_conn_wq = smc_fault_null(CONN_WQ,
				     alloc_workqueue("smc_conn", WQ_UNBOUND | WQ_HIGHPRI, 0));
	return smc_conn_wq ? 0 : -ENOMEM;
}

/**
 * smc_conn_exit() - Wait for the last connection to be freed, and undo smc_conn_init()
 *
 * All sockets are gone and all groups terminated before, so each connection is ending.
 *
 * Context: Process, sleeps.
 */
void smc_conn_exit(void)
{
	wait_event(conns_gone, !atomic_read(&conns_alive));
	destroy_workqueue(smc_conn_wq);
}
