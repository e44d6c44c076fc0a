/* SPDX-License-Identifier: GPL-2.0-only */
/* Links of a connection (RFC 7609 section 4.6), see failover.c. */
#ifndef _SMC_CONN_FAILOVER_H
#define _SMC_CONN_FAILOVER_H

#include <linux/types.h>

struct smc_conn;
struct smc_lgr;
struct smc_link;

int smc_move_locked(struct smc_conn *conn);
void smc_move_leave_locked(struct smc_conn *conn);
void smc_move_fenced_locked(struct smc_conn *conn, const struct smc_link *link);

void smc_move_caught_up_locked(struct smc_conn *conn);
bool smc_move_unheard_locked(struct smc_conn *conn);
bool smc_move_balance(struct smc_lgr *lgr);
void smc_move_first_locked(struct smc_conn *conn);
int smc_move_input_locked(struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
			  u32 len);

#endif
