/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which RoCE port serves a given TCP path, and the path's subnet and VLAN. Rank 3.
 */
#ifndef _SMC_RDMA_PATH_H
#define _SMC_RDMA_PATH_H

#include <linux/types.h>
#include <smc/proto/clc_msg.h>
#include <smc/rdma/ib.h>

struct in6_addr;
struct net;
struct net_device;

/**
 * struct smc_path - the local end of a link to be
 * @dev: device; the path holds a reference
 * @port: port number on it
 * @gid: GID, its index, MAC, MTU and netdev
 * @pnetid: PNET ID by which it was chosen, empty = by route
 */
struct smc_path {
	struct smc_ib_device *dev;
	u8 port;
	struct smc_ib_gid gid;
	char pnetid[SMC_PNET_ID_LEN + 1];
};

/*
 * Chooses the local port for a connection that leaves through @ndev with source
 * address @saddr (IPv4-mapped or IPv6). 0, or the reason to decline. On success the
 * caller owns @path->dev's reference and sets @path->gid to one of @gids.
 */
u32 smc_pnet_find_path(struct net *net, struct net_device *ndev, const struct in6_addr *saddr,
		       struct smc_path *path, struct smc_ib_gids *gids);

/**
 * struct smc_pnet_further - what the local end of a further link of a group has to be
 * @net: namespace
 * @like: local end of a link of the group
 * @carrier: address of the TCP peer: IPv6, or IPv4-mapped
 * @to: the peer's end of the new link, NULL: not known yet
 * @worth: what a port is worth, 0 = nothing; must not wait for the list of devices
 * @arg: for @worth
 */
struct smc_pnet_further {
	struct net *net;
	const struct smc_path *like;
	const struct in6_addr *carrier;
	const union ib_gid *to;
	unsigned int (*worth)(struct smc_ib_device *dev, u8 port, void *arg);
	void *arg;
};

/* The best port of the same network for that. 0: the caller owns @path; -ENODEV. */
int smc_pnet_find_further(const struct smc_pnet_further *want, struct smc_path *path);
void smc_pnet_path_put(struct smc_path *path);
void smc_pnet_path_park(struct smc_path *path);
bool smc_pnet_path_unpark(struct smc_path *path);

/*
 * Resolves the peer GID to the destination MAC of the first hop. Sleeps (neighbour
 * look-up), bounded by a second or so. @direct tells whether no IP gateway lies
 * between. Over RoCE v1 the MAC that the peer told, in @mac, stays. 0, -EHOSTUNREACH,
 * -ETIMEDOUT.
 */
int smc_pnet_resolve(const struct smc_path *path, const union ib_gid *peer_gid,
		     u8 mac[6], bool *direct);

/* Version 1 demands that both ends are in one VLAN and one IP subnet. */
u16 smc_pnet_vlan(struct net_device *ndev);
bool smc_pnet_put_prefixes(struct net_device *ndev, const struct in6_addr *saddr,
			   struct smc_clc_proposal *p);
bool smc_pnet_match_prefixes(struct net_device *ndev, const struct in6_addr *daddr,
			     struct smc_clc_proposal *p);

#endif
