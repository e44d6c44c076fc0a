/* SPDX-License-Identifier: GPL-2.0-only */
/* Links of a connection (RFC 7609 section 4.6), see failover.c. */
#ifndef _SMC_CONN_FAILOVER_H
#define _SMC_CONN_FAILOVER_H

#include <linux/types.h>
#include <smc/conn/conn.h>
#include <smc/lgr/link.h>
#include "timers.h"

unsigned long smc_conn_reachable_slots(const struct smc_conn *conn);
bool smc_conn_link_is_lost(const struct smc_conn *conn);
int smc_conn_switch_link_locked(struct smc_conn *conn);
void smc_conn_drop_done_locked(struct smc_conn *conn);
void smc_conn_finish_move_locked(struct smc_conn *conn);
void smc_conn_fence_path_locked(struct smc_conn *conn, const struct smc_link *link);

void smc_conn_finish_path_locked(struct smc_conn *conn);
bool smc_conn_peer_went_silent_locked(struct smc_conn *conn);
void smc_conn_pick_first_link_locked(struct smc_conn *conn);
int smc_conn_check_path_locked(struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
			       u32 len);

/**
 * smc_conn_check_path_imm_locked() - Decide whether an immediate value is applied now
 * @conn: connection
 * @link: link that the value came over
 * @imm: the value
 *
 * Context: Caller holds conn->lock.
 * Return: SMC_FAILOVER_TAKE; SMC_FAILOVER_PARKED: it waits, as part of the message before it;
 * -EPROTO if it is impossible.
 */
static inline int smc_conn_check_path_imm_locked(struct smc_conn *conn,
						 const struct smc_link *link, u32 imm)
{
	lockdep_assert_held(&conn->lock);
	smc_conn_timer_peer_seen(conn);
	return smc_failover_rx_input_imm(&conn->rx.path, link->slot, conn->rx.ring.size, imm);
}

#endif
