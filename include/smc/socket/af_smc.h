/* SPDX-License-Identifier: GPL-2.0-only */
/* The socket family AF_SMC: operations, set-up of a new socket, registration. */
#ifndef _SMC_SOCKET_AF_SMC_H
#define _SMC_SOCKET_AF_SMC_H

#include <linux/net.h>

struct smc_sock;

extern const struct proto_ops smc_sock_ops;

int smc_sock_create_clcsock(struct smc_sock *smc, int kern);
int smc_family_init(void);
void smc_family_exit(void);

#endif
