/* SPDX-License-Identifier: GPL-2.0-only */
/* Send ring and RMBE of a connection, see conn/buffers.c. */
#ifndef _SMC_CONN_BUFFERS_H
#define _SMC_CONN_BUFFERS_H

#include <linux/types.h>
#include <smc/conn/conn.h>

struct mem_cgroup;

int smc_conn_take_buffers(struct smc_conn *conn, u32 sndbuf, u32 rcvbuf, bool announce,
			  const bool *cancel);
void smc_conn_init_growth(struct smc_conn *conn);
bool smc_conn_grow_ring(struct smc_conn *conn, struct mem_cgroup *memcg);
unsigned int smc_conn_end_growth_pause_locked(struct smc_conn *conn);
void smc_conn_take_unused_ring_locked(struct smc_conn *conn, struct smc_elem *unused);
void smc_conn_give_buffers(struct smc_conn *conn);
int smc_conn_register_buffers(struct smc_conn *conn);
void smc_conn_stock_pool(struct smc_conn *conn, struct mem_cgroup *memcg);

/*
 * Return true as long as the connection has its first ring, which is small. Without the lock: the
 * writer changes it.
 */
static inline bool smc_conn_ring_is_first(const struct smc_conn *conn)
{
	return READ_ONCE(conn->tx.ring.size) < READ_ONCE(conn->tx.want);
}

/*
 * Return true if a writer whose first ring is full waits for one of full size that is being made,
 * not for the peer or for memory. Without the lock.
 */
static inline bool smc_conn_awaits_ring(const struct smc_conn *conn)
{
	return smc_conn_ring_is_first(conn) && !READ_ONCE(conn->tx.growth.failed);
}

/*
 * Return true if a write leaves the first ring, or finds out that there is no other one. Only then
 * somebody asks for one: whoever polls must not wait until there is room in the first ring.
 */
static inline bool smc_conn_ring_may_be_left(const struct smc_conn *conn)
{
	enum smc_growth_state state = READ_ONCE(conn->tx.growth.state);

	return smc_conn_ring_is_first(conn) && state != SMC_GROWTH_WANTED &&
	       state != SMC_GROWTH_PAUSED;
}

/* Return true if the RNIC does not read the previous send ring any more; conn->lock held. */
static inline bool smc_conn_growth_over_locked(const struct smc_conn *conn)
{
	const struct smc_conn_growth *growth = &conn->tx.growth;

	return growth->state == SMC_GROWTH_CHANGED && conn->tx.ring.completed >= growth->until;
}

#endif
