/* SPDX-License-Identifier: GPL-2.0-only */
/* What socket/stream.c has for socket/recvmsg.c. Nobody else includes this. */
#ifndef _SMC_SOCKET_STREAM_PRIV_H
#define _SMC_SOCKET_STREAM_PRIV_H

#include <linux/types.h>

struct smc_conn;
struct smc_sock;
struct sock;

void smc_stream_sync_if_changed(struct smc_sock *smc, const struct smc_conn *conn);
struct smc_conn *smc_stream_conn_get_locked(struct smc_sock *smc);
void smc_stream_trace(const struct sock *sk, struct smc_conn *conn, size_t len, bool tx);

#endif
