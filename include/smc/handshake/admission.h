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
#define SMC_ADMISSION_TOTAL		SMC_SETTINGS_HS_TOTAL

#define SMC_ADMISSION_ROWS		2
#define SMC_ADMISSION_BUCKETS	256

/**
 * struct smc_admission - number of places in use, altogether and by peer host
 * @used: number of places in use
 * @by_host: the same by hash of the host. A host has one counter in each row, and uses at most
 *	as many places as the smaller one says
 *
 * The user's lock protects the counters. Fewer than 65536 places.
 */
struct smc_admission {
	u32 used;
	u16 by_host[SMC_ADMISSION_ROWS][SMC_ADMISSION_BUCKETS];
};

u64 smc_admission_host(const struct in6_addr *peer);
void smc_admission_add(struct smc_admission *l, u64 host);
void smc_admission_del(struct smc_admission *l, u64 host);
u32 smc_admission_count_host(const struct smc_admission *l, u64 host);
bool smc_admission_may_exceed(const struct smc_admission *l, u32 n);

int smc_admission_init(void);
void smc_admission_exit(void);
bool smc_admission_acquire(struct net *net, bool server, u64 host);
void smc_admission_release(struct net *net, bool server, u64 host);
bool smc_admission_is_full(struct net *net, bool server);
bool smc_admission_begin_resolve(struct net *net, u64 host);
void smc_admission_end_resolve(struct net *net, u64 host, bool resolved);

#endif
