/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SMC mode: the byte stream of a connection as a socket. socket/stream.c has state, poll and close,
 * socket/sendmsg.c and socket/recvmsg.c the data.
 */
#ifndef _SMC_SOCKET_STREAM_H
#define _SMC_SOCKET_STREAM_H

#include <linux/net.h>
#include <linux/poll.h>
#include <smc/conn/conn.h>
#include <smc/socket/sock.h>

struct pipe_inode_info;

int smc_stream_init(void);
void smc_stream_exit(void);

void smc_stream_start(struct smc_sock *smc, struct smc_conn *conn);
void smc_stream_sync(struct smc_sock *smc);
void smc_stream_flush(struct smc_sock *smc);
__poll_t smc_stream_poll(struct smc_sock *smc);
int smc_stream_shutdown(struct smc_sock *smc, int how);
bool smc_stream_close(struct smc_sock *smc, bool abort, bool wait);
void smc_stream_disconnect(struct smc_sock *smc);

/* for deferred sockets */
void smc_stream_prepare(struct smc_sock *smc);
void smc_stream_set_conn_locked(struct smc_sock *smc, struct smc_conn *conn);
unsigned int smc_stream_get(struct smc_sock *smc, unsigned int bits);
void smc_stream_notify(struct smc_sock *smc, unsigned int bits);
void smc_stream_linger(struct sock *sk, struct smc_conn *conn);
struct smc_conn *smc_stream_detach_conn(struct smc_sock *smc);
void smc_stream_end_conn(struct smc_sock *smc, struct smc_conn *conn, bool abort);

/* socket/sendmsg.c */
int smc_stream_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len);

/* socket/recvmsg.c */
int smc_stream_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags);
ssize_t smc_stream_splice_read(struct smc_sock *smc, struct pipe_inode_info *pipe, size_t len,
			       bool nonblock);

/* for socket/sendmsg.c and socket/recvmsg.c */
bool smc_stream_writable(const struct smc_conn *conn);
void smc_stream_flush_later(struct smc_sock *smc);
void smc_stream_trace(const struct sock *sk, struct smc_conn *conn, size_t len, bool tx);

/**
 * smc_stream_conn_get_locked() - smc_sock_conn_get() under the socket lock
 * @smc: socket, locked, so that its connection does not change; state_lock is not needed
 *
 * Return: the connection with a reference, or NULL.
 */
static inline struct smc_conn *smc_stream_conn_get_locked(struct smc_sock *smc)
{
	struct smc_conn *conn = smc->conn;

	sock_owned_by_me(smc_sock_sk(smc));
	if (conn)
		smc_conn_get(conn);
	return conn;
}

/**
 * smc_stream_sync_if_changed() - call smc_stream_sync() if the connection changed its state
 * @smc: socket
 * @conn: connection of the socket, held by the caller
 *
 * For calls of the application: an upcall may come late. Any context.
 */
static inline void smc_stream_sync_if_changed(struct smc_sock *smc, const struct smc_conn *conn)
{
	if (READ_ONCE(smc->synced_state) != (int)smc_conn_state(conn))
		smc_stream_sync(smc);
}

#endif
