/* SPDX-License-Identifier: GPL-2.0-only */
/* Peers with which a rendezvous failed: the next connections are TCP at once. Rank 2. */
#ifndef _SMC_HANDSHAKE_NEGCACHE_H
#define _SMC_HANDSHAKE_NEGCACHE_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;

/* Peers remembered per namespace; the one heard of longest ago makes room. */
#define SMC_NEGCACHE_MAX	1024

int smc_negcache_init(void);
void smc_negcache_exit(void);

/* Reason to stay TCP with this peer now, or 0. Any context. */
u32 smc_negcache_check(struct net *net, const struct in6_addr *peer);
/* A rendezvous with this peer failed for @reason: leave it alone for a while. */
void smc_negcache_add(struct net *net, const struct in6_addr *peer, u32 reason);
/* A rendezvous with this peer succeeded. */
void smc_negcache_del(struct net *net, const struct in6_addr *peer);

#endif
