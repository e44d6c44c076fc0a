/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a connection, from the pool of its group. Rank 8.2. */
#ifndef _SMC_CONN_BUFFERS_H
#define _SMC_CONN_BUFFERS_H

#include <linux/types.h>

struct smc_conn;

/* Send ring and RMBE. Adds regions if none is free; @announce: and tells the peer. Sleeps. */
int smc_conn_mem_take(struct smc_conn *conn, u32 sndbuf, u32 rcvbuf, bool announce,
		      const bool *cancel);
void smc_conn_mem_give(struct smc_conn *conn);
/* First contact: REG_MR of the regions once the QP is in RTS. Sleeps. */
int smc_conn_mem_register(struct smc_conn *conn);

#endif
