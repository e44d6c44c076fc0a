// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which RoCE port serves a given TCP path, and what lies towards the peer's GID.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <smc/fault.h>
#include <smc/pnet.h>

#define RESOLVE_MS	1000

/**
 * smc_pnet_find_path() - the local port for a connection
 * @net: namespace
 * @ndev: netdev through which the TCP connection leaves
 * @saddr: its source address
 * @path: result; its device reference then belongs to the caller
 *
 * Process context.
 *
 * Return: 0, or -ENODEV: no port, port down, or no GID for the address.
 */
int smc_pnet_find_path(struct net *net, struct net_device *ndev, __be32 saddr,
		       struct smc_path *path)
{
	memset(path, 0, sizeof(*path));
	if (!netif_running(ndev) || !netif_carrier_ok(ndev))
		return -ENODEV;
	path->dev = smc_ib_find4(net, ndev, saddr, &path->port, &path->gid);
	return path->dev ? 0 : -ENODEV;
}

/**
 * smc_pnet_path_put() - give a path back
 * @path: path; may be empty, is empty afterwards
 */
void smc_pnet_path_put(struct smc_path *path)
{
	if (path->dev)
		smc_ib_device_put(path->dev);
	path->dev = NULL;
}

/**
 * struct resolution - one address resolution under way
 * @done: completed by its callback
 * @addr: result
 * @status: result code, 0 or -errno
 */
struct resolution {
	struct completion done;
	struct rdma_dev_addr addr;
	int status;
};

static void resolved(int status, struct sockaddr *src, struct rdma_dev_addr *addr,
		     void *context)
{
	struct resolution *r = context;

	r->status = status;
	complete(&r->done);
}

/* The RDMA core ends every resolution after RESOLVE_MS: the wait needs no limit. */
static int resolve_gid(const struct ib_gid_attr *sgid_attr, const union ib_gid *dgid,
		       struct resolution *r)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in6 in6;
	} src, dst;
	int rc;

	rdma_gid2ip(&src.sa, &sgid_attr->gid);
	rdma_gid2ip(&dst.sa, dgid);
	memset(r, 0, sizeof(*r));
	r->addr.sgid_attr = sgid_attr;
	/* not NULL; replaced by the namespace of the GID's netdev */
	r->addr.net = &init_net;
	init_completion(&r->done);
	rc = smc_fault_rc(PNET_RESOLVE, -ENOMEM,
			  rdma_resolve_ip(&src.sa, &dst.sa, &r->addr, RESOLVE_MS, resolved, true,
					  r));
	if (rc)
		return rc;
	wait_for_completion(&r->done);
	return r->status;
}

/**
 * smc_pnet_resolve() - MAC of the first hop towards a peer GID
 * @path: local end
 * @peer_gid: peer's GID, as the peer told it
 * @mac: result
 * @direct: set to whether no IP gateway lies between
 *
 * Process context, sleeps up to about a second.
 *
 * Return: 0, -EHOSTUNREACH (not IPv4, no unicast address, or no route), -ETIMEDOUT.
 */
int smc_pnet_resolve(const struct smc_path *path, const union ib_gid *peer_gid,
		     u8 mac[6], bool *direct)
{
	const struct ib_gid_attr *sgid_attr;
	struct resolution r;
	__be32 daddr;
	int rc;

	if (!ipv6_addr_v4mapped((const struct in6_addr *)peer_gid->raw))
		return -EHOSTUNREACH;
	memcpy(&daddr, peer_gid->raw + 12, sizeof(daddr));
	if (ipv4_is_zeronet(daddr) || ipv4_is_multicast(daddr) || ipv4_is_lbcast(daddr))
		return -EHOSTUNREACH;

	if (!memcmp(peer_gid->raw, path->gid.gid.raw, sizeof(peer_gid->raw))) {
		/* to ourselves: there is no neighbour to ask */
		ether_addr_copy(mac, path->gid.mac);
		*direct = true;
		return 0;
	}

	sgid_attr = smc_fault_ptr(PNET_GID, -ENODATA,
				  rdma_get_gid_attr(path->dev->ibdev, path->port,
						    path->gid.index));
	if (IS_ERR(sgid_attr))
		return -EHOSTUNREACH;
	if (memcmp(sgid_attr->gid.raw, path->gid.gid.raw, sizeof(sgid_attr->gid.raw)))
		rc = -EHOSTUNREACH;	/* the address went meanwhile */
	else
		rc = resolve_gid(sgid_attr, peer_gid, &r);
	rdma_put_gid_attr(sgid_attr);
	if (rc)
		return rc == -ETIMEDOUT ? rc : -EHOSTUNREACH;

	ether_addr_copy(mac, r.addr.dst_dev_addr);
	/* the core notes the network type only where the route has a gateway */
	*direct = r.addr.network != RDMA_NETWORK_IPV4;
	return 0;
}
