/* SPDX-License-Identifier: GPL-2.0-only */
/* Send ring and RMBE of a connection, see conn/buffers.c. */
#ifndef _SMC_CONN_BUFFERS_H
#define _SMC_CONN_BUFFERS_H

#include <linux/types.h>

struct smc_conn;

int smc_conn_take_buffers(struct smc_conn *conn, u32 sndbuf, u32 rcvbuf, bool announce,
			  const bool *cancel);
void smc_conn_give_buffers(struct smc_conn *conn);
int smc_conn_register_buffers(struct smc_conn *conn);

#endif
