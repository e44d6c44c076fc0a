/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of the application in the stream, sent where they lie. Rank 7.
 * Documentation/decisions/0016-pages-in-the-stream.md
 */
#ifndef _SMC_CONN_ZEROCOPY_H
#define _SMC_CONN_ZEROCOPY_H

#include <linux/types.h>

struct ib_sge;
struct iov_iter;
struct smc_conn;
struct smc_zc_run;
struct ubuf_info;

int smc_zcopy_init(void);
void smc_zcopy_exit(void);

/*
 * References on the pages of the next bytes of @from, at most @len, and one on @uarg (may be
 * NULL). ERR_PTR: -EOPNOTSUPP, -ENOMEM, -EFAULT: these bytes have to be copied. Sleeps.
 */
struct smc_zc_run *smc_zcopy_take(struct iov_iter *from, u32 len, struct ubuf_info *uarg);
u32 smc_zcopy_len(const struct smc_zc_run *run);
/* A run that did not get into the stream. No lock held. */
void smc_zcopy_free(struct smc_zc_run *run);

/* conn->lock held: the run is what comes next; the caller prepares its length. */
void smc_zcopy_add_locked(struct smc_conn *conn, struct smc_zc_run *run);
bool smc_zcopy_none(const struct smc_conn *conn);
/* What lies at @pos; *@len: at most, then how much. False: the ring has it. */
bool smc_zcopy_piece_locked(struct smc_conn *conn, u64 pos, u32 *len, struct ib_sge *sge);
/* What nobody will read any more is put aside; what the RNIC does not read is unmapped. */
void smc_zcopy_settle_locked(struct smc_conn *conn);
/* The same where nobody can flush: the connection's work does. */
void smc_zcopy_settle_later_locked(struct smc_conn *conn);

/* Gives back what was put aside. No lock held, any context but hard interrupt. */
void smc_zcopy_flush(struct smc_conn *conn);
/* The same for all, when nobody has the connection any more. */
void smc_zcopy_end(struct smc_conn *conn);

#endif
