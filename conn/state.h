/* SPDX-License-Identifier: GPL-2.0-only */
/* States and closing of a connection, see state.c. */
#ifndef _SMC_CONN_STATE_H
#define _SMC_CONN_STATE_H

#include <smc/proto/conn_fsm.h>

struct smc_conn;

unsigned int smc_conn_step_locked(struct smc_conn *conn, enum smc_conn_event event);
unsigned int smc_conn_advance_close_locked(struct smc_conn *conn);
unsigned int smc_conn_apply_peer_state_locked(struct smc_conn *conn);
unsigned int smc_conn_abort_gap_locked(struct smc_conn *conn);
unsigned int smc_conn_lose_group_locked(struct smc_conn *conn);
unsigned int smc_conn_fail_over_locked(struct smc_conn *conn);

#endif
