/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of the RMBE lent to the reader, see conn/splice.c and decision 0016. */
#ifndef _SMC_CONN_SPLICE_H
#define _SMC_CONN_SPLICE_H

#include <linux/types.h>

struct smc_conn;
struct smc_ring_span;
struct splice_pipe_desc;

ssize_t smc_splice_lend_locked(struct smc_conn *conn, const struct smc_ring_span *span, int n,
			       struct splice_pipe_desc *spd);
bool smc_splice_poll_lent_locked(struct smc_conn *conn, bool timed);

#endif
