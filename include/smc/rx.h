/* SPDX-License-Identifier: GPL-2.0-only */
/* Mover: RMBE -> user bytes. Rank 8. Never sleeps for data. */
#ifndef _SMC_RX_H
#define _SMC_RX_H

#include <linux/types.h>

struct iov_iter;
struct smc_conn;

/* Readable bytes now; lock free. */
size_t smc_rx_readable(const struct smc_conn *conn);
/*
 * Copies up to @len bytes, starting @skip bytes after the read position
 * (MSG_PEEK with offset), into @to. @to NULL: discards (MSG_TRUNC). Without @peek the
 * bytes are consumed and, when RFC 4.5.1 asks for it, the peer is told. Returns
 * bytes, -EAGAIN (nothing), -EFAULT. One caller at a time (socket lock).
 */
ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len, size_t skip, bool peek);
/* Makes bytes visible that a CDC has just announced; conn->lock held. */
void smc_rx_arrived_locked(struct smc_conn *conn, u32 slot, u32 had);
/* Tells the peer what was read, now or soon, if there is need; conn->lock held. */
void smc_rx_update_locked(struct smc_conn *conn);

#endif
