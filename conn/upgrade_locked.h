/* SPDX-License-Identifier: GPL-2.0-only */
/* Upgrade in place, for the other files of connections; see upgrade.c, upgrade_act.c. */
#ifndef _SMC_CONN_UPGRADE_LOCKED_H
#define _SMC_CONN_UPGRADE_LOCKED_H

#include <smc/conn/upgrade.h>

struct smc_cdc_msg;

/* upgrade.c */
int smc_conn_upgrade_feed_locked(struct smc_conn *conn, enum smc_upgrade_event event, u32 *actions);
int smc_conn_upgrade_look_at_tcp_locked(struct smc_conn *conn, u32 *actions);
bool smc_conn_upgrade_take_cdc_locked(struct smc_conn *conn, struct smc_cdc_msg *msg);
void smc_conn_upgrade_fill_cdc_locked(const struct smc_conn *conn, struct smc_cdc_msg *msg);
bool smc_conn_upgrade_delays_c_locked(struct smc_conn *conn);
bool smc_conn_upgrade_is_read_locked(struct smc_conn *conn);

/* upgrade_act.c */
unsigned int smc_conn_upgrade_act_locked(struct smc_conn *conn);
unsigned int smc_conn_upgrade_drain_locked(struct smc_conn *conn);

/* conn.c */
struct smc_conn *smc_conn_create_with(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
				      u32 rcvbuf, bool announce, const bool *cancel,
				      const struct smc_conn_upgrade *upgrade);

/* Return whether the connection still is beside TCP: its peer may not use it yet. */
static inline bool smc_conn_is_beside_tcp(const struct smc_conn *conn)
{
	return conn->upgrade && conn->upgrade->fsm.agree != SMC_UPGRADE_SMC;
}

/* Return whether GO waits for a send slot, or for a link. */
static inline bool smc_conn_upgrade_go_waits(const struct smc_conn *conn)
{
	return conn->upgrade && conn->upgrade->fsm.agree == SMC_UPGRADE_READY;
}

#endif
