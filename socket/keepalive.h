/* SPDX-License-Identifier: GPL-2.0-only */
/* SO_KEEPALIVE and TCP_USER_TIMEOUT over RDMA. Rank 10.1. */
#ifndef _SMC_SOCKET_KEEPALIVE_H
#define _SMC_SOCKET_KEEPALIVE_H

struct smc_sock;

/* SMC mode begins: nobody else has seen it yet. */
void smc_keep_init(struct smc_sock *smc);
/* An option has changed, or SMC mode has begun. */
void smc_keep_changed(struct smc_sock *smc);
/* Bytes were queued. Socket lock held. */
void smc_keep_queued(struct smc_sock *smc);
/* SMC mode ends; nobody calls the two above any more. Sleeps. */
void smc_keep_end(struct smc_sock *smc);

#endif
