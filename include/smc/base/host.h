/* SPDX-License-Identifier: GPL-2.0-only */
/* Peer hosts: how many link groups and how much memory each one may cost us. */
#ifndef _SMC_BASE_HOST_H
#define _SMC_BASE_HOST_H

#include <linux/in6.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

struct net;

/**
 * struct smc_host_key - what makes two hosts different
 * @net: our namespace
 * @addr: address, IPv4 as v4-mapped, or IPv6 /64
 * @subnet: it is a /64
 */
struct smc_host_key {
	struct net *net;
	struct in6_addr addr;
	u32 subnet;
};

/**
 * struct smc_host - a peer host that has link groups with us, or an IPv6 /64 of such hosts
 * @node: in the table of hosts
 * @key: which host; constant
 * @ref: one for each group; of a /64, one for each host
 * @subnet: the /64 of the host, which all counts concern, too; holds a reference; NULL: IPv4, or
 *	this is a /64
 * @lgrs: groups that live
 * @lgrs_ending: groups that are dead, but not freed yet
 * @bytes: memory of these groups, their queue pairs and their regions
 *
 * The counters are protected by one lock of base/host.c.
 */
struct smc_host {
	struct rhash_head node;
	struct smc_host_key key;
	refcount_t ref;
	struct smc_host *subnet;
	u32 lgrs;
	u32 lgrs_ending;
	u64 bytes;
};

extern unsigned int smc_host_mem_max;

int smc_host_init(void);
void smc_host_exit(void);

struct in6_addr smc_host_addr(const struct in6_addr *peer);
struct smc_host *smc_host_get(struct net *net, const struct in6_addr *peer);
void smc_host_put(struct smc_host *host);

bool smc_host_add_lgr(struct smc_host *host);
bool smc_host_may_evict(struct smc_host *host);
void smc_host_end_lgr(struct smc_host *host);
void smc_host_del_lgr(struct smc_host *host);

int smc_host_charge(struct smc_host *host, u64 bytes, u64 spare);
int smc_host_charge_extra(struct smc_host *host, u64 bytes);
bool smc_host_has_plenty(const struct smc_host *host);
void smc_host_uncharge(struct smc_host *host, u64 bytes);

#endif
