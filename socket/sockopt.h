/* SPDX-License-Identifier: GPL-2.0-only */
/* Socket options and ioctls. */
#ifndef _SMC_SOCKET_SOCKOPT_H
#define _SMC_SOCKET_SOCKOPT_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/sockptr.h>
#include <smc/socket/sock.h>

#ifndef SOL_SMC
#define SOL_SMC	286
#endif

/* Bytes: the longest value that smc_sockopt_copy() copies; fits that of TCP_AO_ADD_KEY. */
#define SMC_SOCKOPT_COPY	320

bool smc_sockopt_copy(int level, int name, void *copy, sockptr_t *val, unsigned int len);
bool smc_sockopt_excludes_smc(int level, int name, sockptr_t val, unsigned int len);
bool smc_sockopt_has_excluded_smc(struct smc_sock *smc);
int smc_sockopt_set(struct smc_sock *smc, struct socket *sock, int level, int name,
		    sockptr_t val, unsigned int len, bool copied);
int smc_sockopt_get(struct smc_sock *smc, int level, int name, char __user *val,
		    int __user *len);
int smc_sockopt_set_rcvlowat(struct sock *sk, int val);
int smc_sockopt_set_peek_off(struct sock *sk, int val);

void smc_sockopt_mirror(struct smc_sock *smc);
void smc_sockopt_inherit(struct smc_sock *child, const struct smc_sock *listener);
int smc_sockopt_push(struct smc_sock *smc);

int smc_sockopt_ioctl(struct smc_sock *smc, unsigned int cmd, unsigned long arg);

#endif
