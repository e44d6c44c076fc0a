/* SPDX-License-Identifier: GPL-2.0-only */
/* States and closing of a connection, see state.c. */
#ifndef _SMC_CONN_STATE_H
#define _SMC_CONN_STATE_H

#include <net/sock.h>
#include <smc/conn/conn.h>

unsigned int smc_conn_step_locked(struct smc_conn *conn, enum smc_conn_event event);
unsigned int smc_conn_end_clcsock_locked(struct smc_conn *conn);
bool smc_conn_try_leave_locked(struct smc_conn *conn, unsigned int *bits);
unsigned int smc_conn_advance_close_locked(struct smc_conn *conn);
unsigned int smc_conn_apply_peer_state_locked(struct smc_conn *conn);
unsigned int smc_conn_abort_gap_locked(struct smc_conn *conn);
unsigned int smc_conn_lose_group_locked(struct smc_conn *conn);
unsigned int smc_conn_fail_over_locked(struct smc_conn *conn);
unsigned int smc_conn_refuse_data_locked(struct smc_conn *conn, u32 had);
unsigned int smc_conn_establish_locked(struct smc_conn *conn);
unsigned int smc_conn_begin_shut_locked(struct smc_conn *conn);
unsigned int smc_conn_begin_close_locked(struct smc_conn *conn, unsigned long linger);
void smc_conn_give_up_init_locked(struct smc_conn *conn, bool reset, int err);

/* Return whether the application has shut down both directions, or closed. */
static inline bool smc_conn_is_shut(const struct smc_conn *conn)
{
	return conn->close_pending || conn->shut == SHUTDOWN_MASK;
}

#endif
