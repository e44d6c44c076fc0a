/* SPDX-License-Identifier: GPL-2.0-only */
/* Zero-copy sending: pages of the application in the stream, see conn/zerocopy.c. */
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

struct smc_zc_run *smc_zcopy_take(struct iov_iter *from, u32 len, struct ubuf_info *uarg);
u32 smc_zcopy_len(const struct smc_zc_run *run);
void smc_zcopy_free(struct smc_zc_run *run);

void smc_zcopy_add_locked(struct smc_conn *conn, struct smc_zc_run *run);
bool smc_zcopy_none(const struct smc_conn *conn);
bool smc_zcopy_piece_locked(struct smc_conn *conn, u64 pos, u32 *len, struct ib_sge *sge);
void smc_zcopy_settle_locked(struct smc_conn *conn);
void smc_zcopy_settle_later_locked(struct smc_conn *conn);

void smc_zcopy_flush(struct smc_conn *conn);
void smc_zcopy_end(struct smc_conn *conn);

#endif
