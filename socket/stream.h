/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SMC mode: the byte stream as a socket; blocking, signals, poll, close. Rank 12.
 * Documentation/decisions/0002-socket-identity-and-state.md has the errno table.
 */
#ifndef _SMC_SOCKET_STREAM_H
#define _SMC_SOCKET_STREAM_H

#include <linux/net.h>
#include <linux/poll.h>
#include <smc/socket/sock.h>

struct pipe_inode_info;

int smc_stream_init(void);
void smc_stream_exit(void);

/* The handshake ended well: takes over the caller's reference on @conn; mode SMC. */
void smc_stream_enter(struct smc_sock *smc, struct smc_conn *conn);
/* Derives sk_state, sk_shutdown and sk_err from the connection; any context. */
void smc_stream_sync(struct smc_sock *smc);

int smc_stream_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len);
int smc_stream_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags);
ssize_t smc_stream_splice_read(struct smc_sock *smc, struct pipe_inode_info *pipe, size_t len,
			       bool nonblock);
void smc_stream_flush(struct smc_sock *smc);
__poll_t smc_stream_poll(struct smc_sock *smc);
int smc_stream_shutdown(struct smc_sock *smc, int how);

/*
 * Closes the connection for release(): waits for SO_LINGER if @wait. The last user of
 * the socket. True if it was an abort: the carrier is to be reset.
 */
bool smc_stream_close(struct smc_sock *smc, bool abort, bool wait);
/* connect(AF_UNSPEC): aborts, back to undecided; socket lock held. */
void smc_stream_disconnect(struct smc_sock *smc);

#endif
