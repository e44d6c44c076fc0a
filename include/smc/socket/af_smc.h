/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The socket family AF_SMC: create and proto_ops. Rank 12.2. What observers need is in
 * smc/sock.h (smc_sock_walk()).
 */
#ifndef _SMC_SOCKET_AF_SMC_H
#define _SMC_SOCKET_AF_SMC_H

#include <linux/net.h>

struct smc_sock;

/* Who answers which call. Nobody asks for the family in it, so IPPROTO_SMC has the same. */
extern const struct proto_ops smc_af_ops;
/* A socket that core or the family has made gets its carrier. */
int smc_af_setup(struct smc_sock *smc, int kern);

/*
 * Brings up the socket table, the work queues and the family, in this order; exit
 * undoes it. -EEXIST: another module serves the family.
 */
int smc_af_init(void);
void smc_af_exit(void);

#endif
