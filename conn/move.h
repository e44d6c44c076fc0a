/* SPDX-License-Identifier: GPL-2.0-only */
/* Orderly move of a connection to another link, see move.c. */
#ifndef _SMC_CONN_MOVE_H
#define _SMC_CONN_MOVE_H

#include <smc/conn/conn.h>

u32 smc_conn_move_step_locked(struct smc_conn *conn, enum smc_move_event event);
void smc_conn_move_record_locked(struct smc_conn *conn, u8 prev);

/**
 * smc_conn_move_check_drained_locked() - A request has completed: check whether it was the last one
 * @conn: connection
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_conn_move_check_drained_locked(struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;

	if (tx->move.state != SMC_MOVE_IDLE && !tx->inflight && tx->seq_done == tx->seq)
		smc_conn_move_step_locked(conn, SMC_MOVE_EV_DRAINED);
}

#endif
