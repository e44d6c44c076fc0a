/* SPDX-License-Identifier: GPL-2.0-only */
/* Negative cache: servers with which a handshake failed; the next connections use TCP. */
#ifndef _SMC_HANDSHAKE_NEGCACHE_H
#define _SMC_HANDSHAKE_NEGCACHE_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;

/* Entries per namespace; the one whose last failure is the oldest makes room. */
#define SMC_NEGCACHE_MAX	1024

int smc_negcache_init(void);
void smc_negcache_exit(void);

u32 smc_negcache_check(struct net *net, const struct in6_addr *addr, u16 port);
bool smc_negcache_begin(struct net *net, const struct in6_addr *addr, u16 port);
void smc_negcache_end(struct net *net, const struct in6_addr *addr, u16 port, bool again);
void smc_negcache_add(struct net *net, const struct in6_addr *addr, u16 port, u32 reason);
void smc_negcache_del(struct net *net, const struct in6_addr *addr, u16 port);

#endif
