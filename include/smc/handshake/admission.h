/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many handshakes run at once, and that peer hosts share the places. Rank 2.
 * Documentation/decisions/0008-handshake-limits.md says why so.
 */
#ifndef _SMC_HANDSHAKE_ADMISSION_H
#define _SMC_HANDSHAKE_ADMISSION_H

#include <linux/types.h>
#include <smc/base/settings.h>

struct in6_addr;
struct net;

/* Handshakes of one side that may run at once, in all namespaces together. */
#define SMC_LIMIT_TOTAL		SMC_POLICY_HS_TOTAL

#define SMC_LIMIT_ROWS		2
#define SMC_LIMIT_BUCKETS	256

/**
 * struct smc_limit - places in use, altogether and by peer host
 * @used: number of them
 * @by_host: the same by hash of the host. A host has one counter in each row, and at
 *	most as many places as the smaller of them says
 *
 * Changes under a lock of its owner; fewer than 65536 places.
 */
struct smc_limit {
	u32 used;
	u16 by_host[SMC_LIMIT_ROWS][SMC_LIMIT_BUCKETS];
};

/* What counts as one host: an IPv4 address, a /64 of IPv6. The value says it for @host. */
u64 smc_limit_host(const struct in6_addr *peer);

void smc_limit_add(struct smc_limit *l, u64 host);
void smc_limit_del(struct smc_limit *l, u64 host);
u32 smc_limit_by_host(const struct smc_limit *l, u64 host);
bool smc_limit_any(const struct smc_limit *l, u32 n);

int smc_limit_init(void);
void smc_limit_exit(void);

/* A place for a handshake of this side with @host; false: there is none for it. */
bool smc_limit_begin(struct net *net, bool server, u64 host);
/* Gives it back. */
void smc_limit_end(struct net *net, bool server, u64 host);
/* Is there no place for anybody? Any context. */
bool smc_limit_full(struct net *net, bool server);

#endif
