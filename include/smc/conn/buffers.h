/* SPDX-License-Identifier: GPL-2.0-only */
/* Send ring and RMBE of a connection, see conn/buffers.c. */
#ifndef _SMC_CONN_BUFFERS_H
#define _SMC_CONN_BUFFERS_H

#include <linux/types.h>
#include <smc/conn/conn.h>

struct mem_cgroup;
struct smc_lgr;

int smc_conn_take_buffers(struct smc_conn *conn, u32 sndbuf, u32 rcvbuf, bool announce,
			  const bool *cancel);
void smc_conn_init_growth(struct smc_conn *conn);
bool smc_conn_take_ring(struct smc_conn *conn, struct mem_cgroup *memcg);
unsigned int smc_conn_end_shortage_locked(struct smc_conn *conn);
void smc_conn_reclaim_rings(struct smc_lgr *lgr);
bool smc_conn_grow_ring(struct smc_conn *conn, struct mem_cgroup *memcg);
void smc_conn_take_unused_ring_locked(struct smc_conn *conn, struct smc_elem *unused);
void smc_conn_give_buffers(struct smc_conn *conn);
int smc_conn_register_buffers(struct smc_conn *conn);

/* Return true if the RNIC does not read the previous send ring any more; conn->lock held. */
static inline bool smc_conn_growth_over_locked(const struct smc_conn *conn)
{
	const struct smc_conn_growth *growth = &conn->tx.growth;

	return growth->state == SMC_GROWTH_CHANGED && conn->tx.ring.completed >= growth->until;
}

/**
 * smc_conn_get_sndbuf() - Return the size of the send ring, whether there is one now or not
 * @conn: connection
 *
 * Context: Any; a snapshot without a lock.
 * Return: bytes.
 */
static inline u32 smc_conn_get_sndbuf(const struct smc_conn *conn)
{
	return READ_ONCE(conn->tx.ring.size) ?: conn->tx.want;
}

/**
 * smc_conn_has_ring() - Return whether there is a send ring
 * @conn: connection
 *
 * Only the writer (socket lock) takes one.
 *
 * Context: Any; a snapshot without a lock.
 * Return: true if so.
 */
static inline bool smc_conn_has_ring(const struct smc_conn *conn)
{
	return READ_ONCE(conn->tx.ring.size);
}

/**
 * smc_conn_may_take_ring() - Return whether a writer without a send ring may try to take one
 * @conn: connection without a send ring
 *
 * Context: Any; a snapshot without a lock. True also for the states that a ring has, should the
 * caller not see its size yet, or no longer.
 * Return: false while it has to wait for memory.
 */
static inline bool smc_conn_may_take_ring(const struct smc_conn *conn)
{
	return READ_ONCE(conn->tx.growth.state) != SMC_GROWTH_SHORT;
}

#endif
