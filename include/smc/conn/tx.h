/* SPDX-License-Identifier: GPL-2.0-only */
/* Sending direction of a connection, see smc_tx.c. */
#ifndef _SMC_CONN_TX_H
#define _SMC_CONN_TX_H

#include <linux/types.h>

struct iov_iter;
struct smc_conn;
struct smc_link;
struct ubuf_info;

ssize_t smc_tx_write(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
		     bool urgent);
ssize_t smc_tx_write_pages(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
			   struct ubuf_info *uarg);
size_t smc_tx_get_space(const struct smc_conn *conn);
bool smc_tx_has_room(const struct smc_conn *conn);
size_t smc_tx_get_queued(struct smc_conn *conn);
size_t smc_tx_get_unsent(const struct smc_conn *conn);
bool smc_tx_send_first_locked(struct smc_conn *conn);
void smc_tx_push(struct smc_conn *conn, bool more);
void smc_tx_count_window_locked(struct smc_conn *conn);
void smc_tx_push_locked(struct smc_conn *conn, bool more);
void smc_tx_fence(struct smc_conn *conn);
void smc_tx_fence_locked(struct smc_conn *conn);
void smc_tx_send_update_locked(struct smc_conn *conn);
void smc_tx_send_flags_locked(struct smc_conn *conn, u8 flags);
bool smc_tx_retry(struct smc_conn *conn);

#endif
