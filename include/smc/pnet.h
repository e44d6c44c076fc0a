/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which RoCE port serves a given TCP path. Rank 3.
 */
#ifndef _SMC_PNET_H
#define _SMC_PNET_H

#include <linux/types.h>
#include <smc/ib.h>

struct net;
struct net_device;

/**
 * struct smc_path - the local end of a link to be
 * @dev: device; the path holds a reference
 * @port: port number on it
 * @gid: GID, its index, MAC, MTU and netdev
 */
struct smc_path {
	struct smc_ib_device *dev;
	u8 port;
	struct smc_ib_gid gid;
};

/*
 * Chooses the local port for a connection that leaves through @ndev with source
 * address @saddr. 0, or -ENODEV (no RoCE port behind the netdev, port down or no
 * matching GID). On success the caller owns @path->dev's reference.
 */
int smc_pnet_find_path(struct net *net, struct net_device *ndev, __be32 saddr,
		       struct smc_path *path);
void smc_pnet_path_put(struct smc_path *path);

/*
 * Resolves the peer GID (IPv4-mapped) to the destination MAC of the first hop.
 * Sleeps (neighbour look-up), bounded by a second or so. @direct tells whether no
 * IP gateway lies between. 0, -EHOSTUNREACH, -ETIMEDOUT.
 */
int smc_pnet_resolve(const struct smc_path *path, const union ib_gid *peer_gid,
		     u8 mac[6], bool *direct);

#endif
