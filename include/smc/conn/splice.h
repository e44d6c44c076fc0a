/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of RMBEs lent to who reads the stream. Rank 7.
 * Documentation/decisions/0016-pages-in-the-stream.md
 */
#ifndef _SMC_CONN_SPLICE_H
#define _SMC_CONN_SPLICE_H

#include <linux/types.h>

struct smc_conn;
struct smc_span;
struct splice_pipe_desc;

/* Lends what lies in @span, as far as @spd has room. -EOPNOTSUPP: it has to be copied. */
ssize_t smc_lend_take_locked(struct smc_conn *conn, const struct smc_span *span, int n,
			     struct splice_pipe_desc *spd);
/* True: something is back. Has the connection's work look again if the peer needs more. */
bool smc_lend_look_locked(struct smc_conn *conn, bool timed);

#endif
