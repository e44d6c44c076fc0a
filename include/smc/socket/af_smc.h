/* SPDX-License-Identifier: GPL-2.0-only */
/* The socket family AF_SMC: operations, set-up of a new socket, registration. */
#ifndef _SMC_SOCKET_AF_SMC_H
#define _SMC_SOCKET_AF_SMC_H

#include <linux/net.h>

struct smc_sock;

extern const struct proto_ops smc_af_ops;

int smc_af_setup(struct smc_sock *smc, int kern);
int smc_af_init(void);
void smc_af_exit(void);

#endif
