/* SPDX-License-Identifier: GPL-2.0-only */
/* SO_KEEPALIVE and TCP_USER_TIMEOUT of a connection in SMC mode. */
#ifndef _SMC_SOCKET_KEEPALIVE_H
#define _SMC_SOCKET_KEEPALIVE_H

struct smc_sock;

void smc_keepalive_init(struct smc_sock *smc);
void smc_keepalive_options_changed(struct smc_sock *smc);
void smc_keepalive_data_queued(struct smc_sock *smc);
void smc_keepalive_stop(struct smc_sock *smc);

#endif
