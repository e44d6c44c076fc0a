/* SPDX-License-Identifier: GPL-2.0-only */
/* Servers whose connections may begin as TCP, and whether one may continue over RDMA. */
#ifndef _SMC_HANDSHAKE_UPGRADABLE_H
#define _SMC_HANDSHAKE_UPGRADABLE_H

#include <linux/types.h>

struct in6_addr;
struct net;
struct smc_clcsock;
struct smc_path;

int smc_upgradable_init(void);
void smc_upgradable_exit(void);
void smc_upgradable_add(struct net *net, const struct in6_addr *addr, u16 port);
bool smc_upgradable_knows(struct net *net, const struct in6_addr *addr, u16 port);
void smc_upgradable_forget(struct net *net, const struct in6_addr *addr, u16 port);
void smc_upgradable_answered(struct net *net, const struct in6_addr *addr, u16 port, bool unknown);

/* handshake/eligible.c */
u32 smc_hs_check_eligible(struct net *net, const struct smc_clcsock *clcsock, bool inner,
			  struct smc_path *path, u16 *vlan, bool count);

#endif
