/* SPDX-License-Identifier: GPL-2.0-only */
/* Zero-copy sending: pages of the application in the stream, see conn/zerocopy.c. */
#ifndef _SMC_CONN_ZEROCOPY_H
#define _SMC_CONN_ZEROCOPY_H

#include <smc/conn/conn.h>

struct ib_sge;
struct iov_iter;
struct smc_zerocopy_run;
struct ubuf_info;

int smc_zerocopy_init(void);
void smc_zerocopy_exit(void);

struct smc_zerocopy_run *smc_zerocopy_take_pages(struct iov_iter *from, u32 len,
						 struct ubuf_info *uarg);
u32 smc_zerocopy_get_len(const struct smc_zerocopy_run *run);
void smc_zerocopy_free(struct smc_zerocopy_run *run);

void smc_zerocopy_add_locked(struct smc_conn *conn, struct smc_zerocopy_run *run);
bool smc_zerocopy_get_piece_locked(struct smc_conn *conn, u64 pos, u32 *len, struct ib_sge *sge);
void smc_zerocopy_settle_locked(struct smc_conn *conn);
void smc_zerocopy_settle_later_locked(struct smc_conn *conn);

void smc_zerocopy_flush(struct smc_conn *conn);
void smc_zerocopy_free_all(struct smc_conn *conn);

/**
 * smc_zerocopy_is_empty() - Return whether all bytes of the stream lie in the send ring
 * @conn: connection
 *
 * Context: Caller holds conn->lock.
 * Return: true if there is no run.
 */
static inline bool smc_zerocopy_is_empty(const struct smc_conn *conn)
{
	return list_empty(&conn->tx.runs);
}

#endif
