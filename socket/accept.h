/* SPDX-License-Identifier: GPL-2.0-only */
/* Listening sockets and accept(). */
#ifndef _SMC_SOCKET_ACCEPT_H
#define _SMC_SOCKET_ACCEPT_H

#include <linux/net.h>
#include <linux/poll.h>
#include <smc/socket/sock.h>

int smc_accept_init(void);
void smc_accept_exit(void);

int smc_accept_start(struct smc_sock *smc, int backlog);
void smc_accept_stop(struct smc_sock *smc);
void smc_accept_make_idle(struct smc_sock *smc);
void smc_accept_sync_flags(struct smc_sock *smc);
void smc_accept_exclude_smc(struct smc_sock *smc);
int smc_accept_dequeue(struct smc_sock *smc, struct socket *newsock, int flags);
int smc_accept_tcp(struct smc_sock *smc, struct socket *newsock, int flags, bool kern);
__poll_t smc_accept_poll(struct smc_sock *smc);
void smc_accept_release_transport(struct smc_sock *smc, bool reset);

#endif
