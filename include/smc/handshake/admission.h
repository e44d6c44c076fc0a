/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limit of concurrent handshakes, shared fairly among peer hosts
 * (Documentation/decisions/0008-handshake-limits.md).
 */
#ifndef _SMC_HANDSHAKE_ADMISSION_H
#define _SMC_HANDSHAKE_ADMISSION_H

#include <linux/types.h>
#include <smc/base/settings.h>

struct in6_addr;
struct net;

/* Concurrent handshakes of one side, in all namespaces together. */
#define SMC_LIMIT_TOTAL		SMC_POLICY_HS_TOTAL

#define SMC_LIMIT_ROWS		2
#define SMC_LIMIT_BUCKETS	256

/**
 * struct smc_limit - number of places in use, altogether and by peer host
 * @used: number of places in use
 * @by_host: the same by hash of the host. A host has one counter in each row, and uses at most
 *	as many places as the smaller one says
 *
 * The user's lock protects the counters. Fewer than 65536 places.
 */
struct smc_limit {
	u32 used;
	u16 by_host[SMC_LIMIT_ROWS][SMC_LIMIT_BUCKETS];
};

u64 smc_limit_host(const struct in6_addr *peer);
void smc_limit_add(struct smc_limit *l, u64 host);
void smc_limit_del(struct smc_limit *l, u64 host);
u32 smc_limit_by_host(const struct smc_limit *l, u64 host);
bool smc_limit_any(const struct smc_limit *l, u32 n);

int smc_limit_init(void);
void smc_limit_exit(void);
bool smc_limit_begin(struct net *net, bool server, u64 host);
void smc_limit_end(struct net *net, bool server, u64 host);
bool smc_limit_full(struct net *net, bool server);

#endif
