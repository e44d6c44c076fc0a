/* SPDX-License-Identifier: GPL-2.0-only */
/* Socket options and ioctls: carrier first, then our fields. Rank 11. */
#ifndef _SMC_SOCKET_SOCKOPT_H
#define _SMC_SOCKET_SOCKOPT_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/sockptr.h>
#include <smc/socket/sock.h>

#ifndef SOL_SMC
#define SOL_SMC	286
#endif

/* The option makes SMC impossible: the caller acts on that before it is set. */
bool smc_sockopt_excludes(int level, int name, sockptr_t val, unsigned int len);
/* The same of options that core has set by itself, asked when a call enters. */
bool smc_sockopt_excluded(struct smc_sock *smc);
int smc_sockopt_set(struct smc_sock *smc, struct socket *sock, int level, int name,
		    sockptr_t val, unsigned int len);
int smc_sockopt_get(struct smc_sock *smc, int level, int name, char __user *val,
		    int __user *len);
int smc_sockopt_set_rcvlowat(struct sock *sk, int val);
int smc_sockopt_set_peek_off(struct sock *sk, int val);

/* Carrier's fields into ours: after create and accept. */
void smc_sockopt_mirror(struct smc_sock *smc);
/* A listener's answers to its child, before smc_sockopt_mirror() is of use. */
void smc_sockopt_inherit(struct smc_sock *child, const struct smc_sock *listener);
/*
 * Kernels that do not bring SOL_SOCKET sets to us (before 6.7): our fields to the
 * carrier. Elsewhere nothing. When a call enters, and before release. -ENOMEM: a filter that
 * it may not have.
 */
int smc_sockopt_push(struct smc_sock *smc);

/* Bytes of send ring and RMBE that the application asked for, or the defaults. */
void smc_sockopt_rings(const struct smc_sock *smc, u32 *sndbuf, u32 *rcvbuf);

int smc_sockopt_ioctl(struct smc_sock *smc, unsigned int cmd, unsigned long arg);

#endif
