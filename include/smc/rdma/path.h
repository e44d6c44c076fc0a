/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RoCE port that serves a TCP path, the first hop to a peer GID, the service level, and the
 * VLAN and IP prefixes of the path for SMC-R version 1.
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
 * struct smc_path - the local end of a link to be created
 * @dev: device; the path holds a reference
 * @port: port number
 * @gid: GID of the port, with its index, MAC, MTU and netdev
 * @pnetid: PNET ID by which the port was chosen; empty: chosen by route
 * @inner: leads to another namespace of this host, over smc_lo; the GID is the address of the TCP
 *	connection
 */
struct smc_path {
	struct smc_ib_device *dev;
	u8 port;
	struct smc_ib_gid gid;
	char pnetid[SMC_PNET_ID_LEN + 1];
	bool inner;
};

/**
 * struct smc_path_request - requirements on the local end of a further link of a group
 * @net: namespace
 * @existing: local end of an existing link of the group
 * @tcp_peer: address of the TCP peer: IPv6, or IPv4-mapped
 * @peer_gid: GID of the peer's end of the new link; NULL: not known yet
 * @score: returns the value of a port, larger is better, 0: unusable. Called with the list of
 *	devices locked: it must not wait for that lock.
 * @arg: for @score
 */
struct smc_path_request {
	struct net *net;
	const struct smc_path *existing;
	const struct in6_addr *tcp_peer;
	const union ib_gid *peer_gid;
	unsigned int (*score)(struct smc_ib_device *dev, u8 port, void *arg);
	void *arg;
};

u32 smc_path_find(struct net *net, struct net_device *ndev, const struct in6_addr *saddr,
		  const struct in6_addr *inner, struct smc_path *path, struct smc_ib_gids *gids);
int smc_path_find_further(const struct smc_path_request *want, struct smc_path *path);
void smc_path_put(struct smc_path *path);
void smc_path_release_device(struct smc_path *path);
bool smc_path_reacquire_device(struct smc_path *path);
int smc_path_resolve(const struct smc_path *path, const union ib_gid *peer_gid,
		     u8 mac[6], bool *direct);

u16 smc_path_vlan(struct net_device *ndev);
u8 smc_path_map_priority(struct net_device *ndev, u32 priority);
u8 smc_path_service_level(struct net *net, const struct smc_path *path, u32 priority);
bool smc_path_write_prefixes(struct net_device *ndev, const struct in6_addr *saddr,
			     struct smc_clc_proposal *p);
bool smc_path_match_prefixes(struct net_device *ndev, const struct in6_addr *daddr,
			     struct smc_clc_proposal *p);

#endif
