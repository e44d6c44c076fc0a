/* SPDX-License-Identifier: GPL-2.0-only */
/* SO_KEEPALIVE and TCP_USER_TIMEOUT of a connection in SMC mode. */
#ifndef _SMC_SOCKET_KEEPALIVE_H
#define _SMC_SOCKET_KEEPALIVE_H

#include <net/inet_connection_sock.h>
#include <smc/socket/sock.h>

void smc_keepalive_init(struct smc_sock *smc);
void smc_keepalive_options_changed(struct smc_sock *smc);
void smc_keepalive_start_user_timeout(struct smc_sock *smc);
void smc_keepalive_stop(struct smc_sock *smc);

/**
 * smc_keepalive_data_queued() - start the clock of TCP_USER_TIMEOUT for bytes that were written
 * @smc: socket in SMC mode with a connection, locked
 */
static inline void smc_keepalive_data_queued(struct smc_sock *smc)
{
	/* few programs set it */
	if (unlikely(READ_ONCE(inet_csk(smc->clcsock.sock->sk)->icsk_user_timeout)))
		smc_keepalive_start_user_timeout(smc);
}

#endif
