/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCE devices, their ports and GIDs, and our peer ID. */
#ifndef _SMC_RDMA_IB_H
#define _SMC_RDMA_IB_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <smc/rdma/pnet_table.h>

struct in6_addr;
struct net;
struct net_device;

/**
 * struct smc_ib_device - one ib_device with at least one RoCE port
 * @ref: users of @ibdev: the device list, each path, and each link until its shutdown
 * @mem: users of this object: all holders of @ref together, and each link until it is freed
 * @released: completed by the last put of @ref; ib_client_remove() waits for it
 * @ibdev: the verbs device; valid while a @ref is held
 * @name: device name, under names_lock; read it with smc_ib_device_name()
 * @entry: membership in the device list, under devices_lock
 * @num: sequence number, from 1 on; the list is in this order
 * @event_handler: asynchronous events of the device (ports, GIDs)
 * @dead: removal has begun; set under devices_lock, read without, never cleared
 * @max_mtu: largest path MTU that all its RoCE ports support, enum ib_mtu
 * @max_pages: pages that one fast registration may cover
 * @max_inline: bytes of inline data to request for a queue pair; lowered when the
 *	device refuses that much
 * @max_recv_sge: scatter elements per receive request
 * @inner: a device of smc_lo: its ports reach nothing but this host
 *
 * The object lives from add to remove of the ib client. Remove sets @dead, calls
 * smc_ib_events.device_gone and waits for @released. A link that was shut down, and which
 * an open socket keeps, pins the object (@mem) but not the verbs device.
 */
struct smc_ib_device {
	struct kref ref;
	struct kref mem;
	struct completion released;
	struct ib_device *ibdev;
	char name[IB_DEVICE_NAME_MAX];
	struct list_head entry;
	unsigned long num;
	struct ib_event_handler event_handler;
	bool dead;
	u8 max_mtu;
	u32 max_pages;
	u32 max_inline;
	u32 max_recv_sge;
	bool inner;
};

/**
 * struct smc_ib_gid - one usable GID of a port
 * @gid: the GID; RoCE v2: an IPv6 or IPv4-mapped address
 * @index: index in the GID table of the port
 * @mac: Ethernet address of its netdev; at an even offset, as ether_addr_*() require
 * @roce_v1: RoCE v1: plain Ethernet, not routable
 * @mtu: path MTU that fits the netdev and the port, enum ib_mtu; 0: no GID
 * @ifindex: its netdev
 */
struct smc_ib_gid {
	union ib_gid gid;
	u16 index;
	u8 mac[6];
	bool roce_v1;
	u8 mtu;
	int ifindex;
};

/**
 * struct smc_ib_gids - the GIDs of a port that can serve one TCP path
 * @v2: RoCE v2 GID
 * @v1: RoCE v1 GID
 */
struct smc_ib_gids {
	struct smc_ib_gid v2;
	struct smc_ib_gid v1;
};

/**
 * struct smc_ib_events - upcalls about devices, implemented by lgr/device_events.c
 * @port_active: a port became usable
 * @port_inactive: a port stopped being usable
 * @gid_changed: the GID table of a port changed
 * @device_gone: the device is being removed; the removal waits for all references on it
 * @mtu_changed: the MTU of some netdev changed: paths of links may no longer carry their MTU
 *
 * Called in process context without locks held. An implementation may sleep, but must
 * not wait for RTNL.
 */
struct smc_ib_events {
	void (*port_active)(struct smc_ib_device *dev, u8 port);
	void (*port_inactive)(struct smc_ib_device *dev, u8 port);
	void (*gid_changed)(struct smc_ib_device *dev, u8 port);
	void (*device_gone)(struct smc_ib_device *dev);
	void (*mtu_changed)(void);
};

int smc_ib_init(const struct smc_ib_events *events);
void smc_ib_exit(void);

void smc_ib_device_put(struct smc_ib_device *dev);
void smc_ib_device_get(struct smc_ib_device *dev);
bool smc_ib_device_get_unless_zero(struct smc_ib_device *dev);
void smc_ib_device_pin(struct smc_ib_device *dev);
void smc_ib_device_unpin(struct smc_ib_device *dev);
void smc_ib_device_name(const struct smc_ib_device *dev, char name[IB_DEVICE_NAME_MAX]);

void smc_ib_walk_ports(struct net *net,
		       bool (*fn)(struct smc_ib_device *dev, u8 port, void *arg), void *arg);
bool smc_ib_port_active(struct smc_ib_device *dev, u8 port);
bool smc_ib_port_has_netdev(struct smc_ib_device *dev, u8 port, struct net_device *ndev);
bool smc_ib_port_is_below(struct smc_ib_device *dev, u8 port, struct net_device *ndev);
int smc_ib_port_ifindex(struct smc_ib_device *dev, u8 port, const struct net *net);
bool smc_ib_port_pnetid(struct smc_ib_device *dev, u8 port, struct net *net,
			char id[SMC_PNET_ID_LEN + 1]);

bool smc_ib_has_second_port(struct net *net);
bool smc_ib_walk_gids(struct smc_ib_device *dev, u8 port, struct net *net,
		      bool (*fn)(struct net_device *ndev, const struct smc_ib_gid *gid, void *arg),
		      void *arg);
int smc_ib_find_gid(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		    const union ib_gid *gid, struct smc_ib_gid *out);
int smc_ib_find_gid_v1(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		       struct smc_ib_gid *out);
bool smc_ib_has_inner_gid(const struct in6_addr *addr);
bool smc_ib_gid_unchanged(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
			  const struct smc_ib_gid *gid);

void smc_ib_get_peer_id(u8 id[8]);

#endif
