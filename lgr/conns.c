// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of a group: places, the table of alert tokens (RFC 7609 section 4.4.1), and walks
 * over the table.
 *
 * smc_lgr_begin(), smc_lgr_find_client() and smc_contact_begin() give the caller one reference and
 * one reserved place. smc_lgr_add_conn() turns the place into a connection. If it
 * fails or is not called, the place is given back by smc_lgr_unreserve_conn().
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/trace.h>
#include "internal.h"

/* ---- places ---- */

static u32 lgr_max_conns(const struct smc_lgr *lgr)
{
	/* The server enforces the limit; the client accepts what the server assigns. */
	if (lgr->role == SMC_CLIENT || !lgr->peer.max_conns)
		return SMC_LGR_CONNS_MAX;
	return min_t(u32, lgr->peer.max_conns, SMC_LGR_CONNS_MAX);
}

static bool lgr_has_place_locked(const struct smc_lgr *lgr)
{
	return !smc_lgr_is_dead(lgr) && !lgr->phase_out_reason &&
	       lgr->nconns + lgr->reserved < min(lgr_max_conns(lgr),
						 SMC_LGR_CONNS_MAX - lgr->nkept);
}

/**
 * smc_lgr_has_place() - check whether a group could take another connection now
 * @lgr: group
 *
 * Any context; a leaf lock, for a moment.
 *
 * Return: true if it has a free place and takes connections.
 */
bool smc_lgr_has_place(struct smc_lgr *lgr)
{
	bool has;

	xa_lock_bh(&lgr->conns);
	has = lgr_has_place_locked(lgr);
	xa_unlock_bh(&lgr->conns);
	return has;
}

/**
 * smc_lgr_reserve_conn() - reserve a place for a connection
 * @lgr: group
 *
 * The caller found the group under the registry lock and still holds that lock.
 * The place is used up by smc_lgr_add_conn() or given back by smc_lgr_unreserve_conn().
 *
 * Return: true if the group had a free place and takes connections.
 */
bool smc_lgr_reserve_conn(struct smc_lgr *lgr)
{
	bool ok = false;

	lockdep_assert_held(&smc_registry.lock);
	xa_lock_bh(&lgr->conns);
	if (lgr_has_place_locked(lgr)) {
		lgr->reserved++;
		ok = true;
	}
	xa_unlock_bh(&lgr->conns);
	if (ok)
		smc_lgr_idle_cancel(lgr);
	return ok;
}

/**
 * smc_lgr_unreserve_conn() - give back a reserved place that was not used
 * @lgr: group
 *
 * Does not drop the handshake's reference on the group. Any context.
 */
void smc_lgr_unreserve_conn(struct smc_lgr *lgr)
{
	bool idle;

	xa_lock_bh(&lgr->conns);
	if (lgr->reserved)
		lgr->reserved--;
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	if (idle)
		smc_lgr_idle_arm(lgr);
}

/**
 * smc_lgr_phase_out() - phase out a group
 * @lgr: group
 * @reason: why the group will end; the first reason stays
 *
 * The group takes no more connections and ends with its last one, or at once if it has none.
 * Called when a Decline says that the peer does not know the group (such a Decline may be
 * forged, so existing connections stay), and by the operator. Any context.
 */
void smc_lgr_phase_out(struct smc_lgr *lgr, enum smc_link_reason reason)
{
	bool idle;

	xa_lock_bh(&lgr->conns);
	if (!lgr->phase_out_reason) {
		trace_smc_group_state(lgr->id, lgr->role, SMC_TRACE_GROUP_PHASED_OUT, reason);
		WRITE_ONCE(lgr->phase_out_reason, reason);
	}
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	if (idle)
		smc_lgr_idle_arm(lgr);
}

/**
 * smc_lgr_set_out_of_regions() - note that no region can be added to a group
 * @lgr: group of a server
 *
 * Further connections of this peer go to another group until smc_lgr_set_regions_available().
 */
void smc_lgr_set_out_of_regions(struct smc_lgr *lgr)
{
	WRITE_ONCE(lgr->out_of_regions, true);
}

/**
 * smc_lgr_set_regions_available() - note that an element of a group became free
 * @lgr: group
 */
void smc_lgr_set_regions_available(struct smc_lgr *lgr)
{
	if (READ_ONCE(lgr->out_of_regions))
		WRITE_ONCE(lgr->out_of_regions, false);
}

/* ---- token table ---- */

/**
 * smc_lgr_add_conn() - add a connection to the token table
 * @lgr: group
 * @conn: connection; must stay valid for an RCU grace period after smc_lgr_del_conn()
 * @token: out: its alert token, never 0
 *
 * Uses up a reserved place and takes a reference on the group. Process context.
 *
 * Return: 0, -ENOMEM, -ENOSPC (table full), -ECONNABORTED (group dead). After an error the place
 * stays reserved.
 */
int smc_lgr_add_conn(struct smc_lgr *lgr, struct smc_conn *conn, u32 *token)
{
	struct smc_lgr_conn_entry *entry;
	u32 index;
	int rc;

	entry = smc_fault_null(CONN_ENTRY, kzalloc(sizeof(*entry), GFP_KERNEL));
	if (!entry)
		return -ENOMEM;
	entry->conn = conn;
	xa_lock_bh(&lgr->conns);
	/* Reserve the index first: walks must not see a connection that is then refused. */
	rc = smc_fault_rc(CONN_INDEX, -ENOMEM,
			  __xa_alloc(&lgr->conns, &index, NULL, XA_LIMIT(1, SMC_LGR_CONNS_MAX),
				     GFP_KERNEL));
	if (!rc && smc_lgr_is_dead(lgr)) {
		__xa_erase(&lgr->conns, index);
		rc = -ECONNABORTED;
	}
	if (!rc) {
		/*
		 * The random generation exposes late messages to the previous owner of the index.
		 */
		*token = get_random_u32() << 8 | index;
		entry->token = *token;
		/* Replaces the reserved entry, so it needs no memory. */
		__xa_store(&lgr->conns, index, entry, GFP_ATOMIC);
		WRITE_ONCE(lgr->nconns, lgr->nconns + 1);
		if (lgr->reserved)
			lgr->reserved--;
	}
	xa_unlock_bh(&lgr->conns);
	if (rc) {
		kfree_rcu(entry, rcu);
		return rc == -EBUSY ? -ENOSPC : rc;
	}
	smc_lgr_get(lgr);
	return 0;
}

/**
 * smc_lgr_del_conn() - remove a connection from the token table
 * @lgr: group
 * @token: its alert token
 * @keep_index: give the index of the token to no other connection of this group
 *
 * Drops the reference of the table on the group. Look-ups may still return the connection for an
 * RCU grace period. Any context.
 *
 * CDC messages have the whole token, immediate values have the index alone. So an index is kept
 * under the same condition as the RMBE: while the peer may still write for the old connection. The
 * peer does not know that, so a group with few indices left is phased out: a server would go on
 * naming it, and its client could not follow.
 */
void smc_lgr_del_conn(struct smc_lgr *lgr, u32 token, bool keep_index)
{
	struct smc_lgr_conn_entry *entry;
	bool idle, used_up;

	xa_lock_bh(&lgr->conns);
	entry = xa_load(&lgr->conns, token & 0xff);
	if (!entry || entry->token != token) {
		xa_unlock_bh(&lgr->conns);
		return;
	}
	if (keep_index) {
		/* NULL reserves an index; it replaces an entry, so it needs no memory */
		__xa_store(&lgr->conns, token & 0xff, NULL, GFP_ATOMIC);
		lgr->nkept++;
	} else {
		__xa_erase(&lgr->conns, token & 0xff);
	}
	WRITE_ONCE(lgr->nconns, lgr->nconns - 1);
	idle = !lgr->nconns && !lgr->reserved;
	used_up = lgr->nkept > SMC_LGR_CONNS_MAX / 2;
	xa_unlock_bh(&lgr->conns);
	kfree_rcu(entry, rcu);
	if (used_up)
		smc_lgr_phase_out(lgr, SMC_LINK_IDLE);
	if (idle)
		smc_lgr_idle_arm(lgr);
	smc_lgr_put(lgr);
}

/**
 * smc_lgr_find_conn() - look up the connection of an alert token
 * @lgr: group
 * @token: token from the wire
 *
 * Context: under rcu_read_lock().
 *
 * Return: connection, or NULL if none has exactly this token.
 */
struct smc_conn *smc_lgr_find_conn(struct smc_lgr *lgr, u32 token)
{
	struct smc_lgr_conn_entry *entry = xa_load(&lgr->conns, token & 0xff);

	if (!entry || entry->token != token)
		return NULL;
	return entry->conn;
}

/**
 * smc_lgr_find_conn_by_index() - look up the connection of an immediate value
 * @lgr: group
 * @index: low 8 bits of its alert token, from the wire
 *
 * Context: under rcu_read_lock().
 *
 * Return: connection, or NULL if there is none.
 */
struct smc_conn *smc_lgr_find_conn_by_index(struct smc_lgr *lgr, u8 index)
{
	struct smc_lgr_conn_entry *entry = xa_load(&lgr->conns, index);

	return entry ? entry->conn : NULL;
}

/**
 * smc_lgr_next_conn() - take one step of a walk over the connections of a group
 * @lgr: group
 * @index: position; 0 before the first step
 *
 * In order of the tokens' indices. The caller may leave the RCU section between two steps. Each
 * connection that is in the table from the first step to the last is met once.
 *
 * Context: under rcu_read_lock().
 *
 * Return: connection, or NULL after the last one.
 */
struct smc_conn *smc_lgr_next_conn(struct smc_lgr *lgr, unsigned long *index)
{
	struct smc_lgr_conn_entry *entry;

	entry = xa_find_after(&lgr->conns, index, SMC_LGR_CONNS_MAX, XA_PRESENT);
	return entry ? entry->conn : NULL;
}

/**
 * smc_lgr_walk_conns() - walk the connections of a group
 * @lgr: group
 * @fn: called under rcu_read_lock(); must not sleep; false ends the walk
 * @arg: for @fn
 *
 * Starts with the connection at which the previous walk was ended, so that low indices do not
 * always come first. Any context.
 */
void smc_lgr_walk_conns(struct smc_lgr *lgr, bool (*fn)(struct smc_conn *conn, void *arg),
			void *arg)
{
	unsigned long start = READ_ONCE(lgr->walk_start);
	struct smc_lgr_conn_entry *entry;
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
	WRITE_ONCE(lgr->walk_start, i);
	rcu_read_unlock();
}
