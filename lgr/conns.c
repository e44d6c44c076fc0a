// SPDX-License-Identifier: GPL-2.0-only
/* Connections of a group: by alert token, and one after the other. */
#include <linux/random.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include "internal.h"

/**
 * smc_core_conn_add() - enter a connection into the token table
 * @lgr: group
 * @conn: connection
 * @token: out: its alert token
 *
 * Uses up a reserved place and takes a group reference. Process context.
 *
 * Return: 0, -ENOMEM, -ENOSPC, -ECONNABORTED; then the place stays reserved.
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
	/* the index first: walks must not see a connection that is then refused */
	rc = smc_fault_rc(CONN_INDEX, -ENOMEM,
			  __xa_alloc(&lgr->conns, &index, NULL, XA_LIMIT(1, SMC_CORE_CONNS_MAX),
				     GFP_KERNEL));
	if (!rc && smc_core_dead(lgr)) {
		__xa_erase(&lgr->conns, index);
		rc = -ECONNABORTED;
	}
	if (!rc) {
		/* the generation tells a late message for the last owner of the index */
		*token = get_random_u32() << 8 | index;
		entry->token = *token;
		/* in place of the index's mark: needs no memory */
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
 * smc_core_conn_del() - take a connection out of the token table
 * @lgr: group
 * @token: its alert token
 *
 * Puts the group reference; look-ups may still run for an RCU grace period.
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
 * smc_core_conn_find() - the connection of an alert token
 * @lgr: group
 * @token: from the wire
 *
 * Under rcu_read_lock().
 *
 * Return: connection, or NULL.
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
 * @fn: called under rcu_read_lock(); may not sleep; false ends the walk
 * @arg: for @fn
 *
 * Begins with the connection at which the last walk was ended, so that those with
 * a low index do not always come first.
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
