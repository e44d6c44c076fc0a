// SPDX-License-Identifier: GPL-2.0-only
/* Connections of a group: the table of alert tokens (RFC 7609 section 4.4.1), and walks over it. */
#include <linux/random.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include "internal.h"

/**
 * smc_core_conn_add() - add a connection to the token table
 * @lgr: group
 * @conn: connection; must stay valid for an RCU grace period after smc_core_conn_del()
 * @token: out: its alert token, never 0
 *
 * Uses up a reserved place and takes a reference on the group. Process context.
 *
 * Return: 0, -ENOMEM, -ENOSPC (table full), -ECONNABORTED (group dead). After an error the place
 * stays reserved.
 */
int smc_core_conn_add(struct smc_lgr *lgr, void *conn, u32 *token)
{
	struct smc_core_entry *entry;
	u32 index;
	int rc;

	entry = smc_fault_null(CONN_ENTRY, kzalloc(sizeof(*entry), GFP_KERNEL));
	if (!entry)
		return -ENOMEM;
	entry->conn = conn;
	xa_lock_bh(&lgr->conns);
	/* Reserve the index first: walks must not see a connection that is then refused. */
	rc = smc_fault_rc(CONN_INDEX, -ENOMEM,
			  __xa_alloc(&lgr->conns, &index, NULL, XA_LIMIT(1, SMC_CORE_CONNS_MAX),
				     GFP_KERNEL));
	if (!rc && smc_core_dead(lgr)) {
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
		lgr->nconns++;
		if (lgr->reserved)
			lgr->reserved--;
	}
	xa_unlock_bh(&lgr->conns);
	if (rc) {
		kfree_rcu(entry, rcu);
		return rc == -EBUSY ? -ENOSPC : rc;
	}
	smc_core_get(lgr);
	return 0;
}

/**
 * smc_core_conn_del() - remove a connection from the token table
 * @lgr: group
 * @token: its alert token
 *
 * Drops the reference of the table on the group. Look-ups may still return the connection for an
 * RCU grace period. Any context.
 */
void smc_core_conn_del(struct smc_lgr *lgr, u32 token)
{
	struct smc_core_entry *entry;
	bool idle;

	xa_lock_bh(&lgr->conns);
	entry = xa_load(&lgr->conns, token & 0xff);
	if (!entry || entry->token != token) {
		xa_unlock_bh(&lgr->conns);
		return;
	}
	__xa_erase(&lgr->conns, token & 0xff);
	lgr->nconns--;
	idle = !lgr->nconns && !lgr->reserved;
	xa_unlock_bh(&lgr->conns);
	kfree_rcu(entry, rcu);
	if (idle)
		smc_core_arm_idle(lgr);
	smc_core_put(lgr);
}

/**
 * smc_core_conn_find() - look up the connection of an alert token
 * @lgr: group
 * @token: token from the wire
 *
 * Context: under rcu_read_lock().
 *
 * Return: connection, or NULL if none has exactly this token.
 */
void *smc_core_conn_find(struct smc_lgr *lgr, u32 token)
{
	struct smc_core_entry *entry = xa_load(&lgr->conns, token & 0xff);

	if (!entry || entry->token != token)
		return NULL;
	return entry->conn;
}

/**
 * smc_core_walk_conns() - walk the connections of a group
 * @lgr: group
 * @fn: called under rcu_read_lock(); must not sleep; false ends the walk
 * @arg: for @fn
 *
 * Starts with the connection at which the previous walk was ended, so that low indices do not
 * always come first. Any context.
 */
void smc_core_walk_conns(struct smc_lgr *lgr, bool (*fn)(void *conn, void *arg), void *arg)
{
	unsigned long start = READ_ONCE(lgr->walk_from);
	struct smc_core_entry *entry;
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
	WRITE_ONCE(lgr->walk_from, i);
	rcu_read_unlock();
}
