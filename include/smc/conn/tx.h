/* SPDX-License-Identifier: GPL-2.0-only */
/* Mover: user bytes -> send ring -> peer's RMBE. Rank 8. Never sleeps for space. */
#ifndef _SMC_CONN_TX_H
#define _SMC_CONN_TX_H

#include <linux/types.h>

struct iov_iter;
struct smc_conn;
struct smc_link;
struct ubuf_info;

/*
 * Copies from @from into the send ring and pushes. Returns bytes copied (maybe fewer
 * than asked), -EAGAIN (ring full), -EFAULT, -EPIPE (no longer writable). One caller
 * at a time (socket lock). @urgent: the last of @len bytes is, if it is taken.
 */
ssize_t smc_tx_write(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
		     bool urgent);
/*
 * The same without a copy: the bytes are sent from the pages in which they lie; @uarg, if there
 * is one, is told when they are free. None of them is urgent. Also -EOPNOTSUPP, -ENOMEM, -EFAULT:
 * to be copied instead.
 */
ssize_t smc_tx_write_pages(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
			   struct ubuf_info *uarg);
/* Bytes that smc_tx_write() would take now; lock free. */
size_t smc_tx_space(const struct smc_conn *conn);
/* Bytes queued and not yet acknowledged by completion (SIOCOUTQ); not yet sent (SIOCOUTQNSD). */
size_t smc_tx_queued(const struct smc_conn *conn);
size_t smc_tx_unsent(const struct smc_conn *conn);
/*
 * Posts as much of sent..prepared as the peer's window allows, with whatever
 * flags and consumer update are due. @more: the caller will push again soon, may
 * be coalesced while earlier posts are unfinished. Takes conn->lock. Any context.
 */
void smc_tx_push(struct smc_conn *conn, bool more);
/* conn->lock held by the caller. */
void smc_tx_probe_locked(struct smc_conn *conn);
/* conn->tx.told_blocked may have changed. */
void smc_tx_window_locked(struct smc_conn *conn);
void smc_tx_push_locked(struct smc_conn *conn, bool more);
/* Sends a CDC with the current consumer cursor (reader side); conn->lock held. */
void smc_tx_consumer_update_locked(struct smc_conn *conn);
/* Sends D, C or A (SMC_CDC_F_* bits of byte 25) as soon as possible; conn->lock held. */
void smc_tx_send_flags_locked(struct smc_conn *conn, u8 flags);
/* The peer has handled our last message; conn->lock held. */
void smc_tx_heard_locked(struct smc_conn *conn);
/* A link has slots again: pushes its connections that wait (called by smc_conn). */
bool smc_tx_retry(struct smc_conn *conn);

#endif
