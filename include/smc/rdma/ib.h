/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RoCE devices: the ib client, one object per ib_device, ports and GIDs.
 * Rank 2.
 */
#ifndef _SMC_RDMA_IB_H
#define _SMC_RDMA_IB_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <smc/rdma/pnet_table.h>

struct net;
struct net_device;

/**
 * struct smc_ib_device - one RoCE capable ib_device
 * @ref: users of @ibdev: one for the device list, one per path and per link that
 *	is not shut down yet
 * @mem: the memory of this object: all users as one, and every link, shut down or not
 * @released: completed by the last put; the remove callback waits for it
 * @ibdev: the verbs device; valid while a reference (@ref) is held
 * @name: its name, see smc_ib_name(); valid as long as this object
 * @entry: membership in the device list, under its lock
 * @num: who came later has a larger one, from 1 on; the list is in their order
 * @event_handler: asynchronous events (ports, GIDs)
 * @dead: set under the device list lock once removal has begun; never cleared
 * @max_mtu: largest path MTU of its ports, enum ib_mtu
 * @max_pages: pages one fast registration may cover
 * @max_inline: bytes of inline data a queue pair may ask for; goes down when the
 *	device turns out to refuse that much
 * @max_recv_sge: scatter elements per receive request
 *
 * Lifetime: an object lives from add to remove of the ib client. Remove marks
 * it dead, raises smc_ib_events.device_gone and waits for @released. A link that was
 * shut down may be kept by an open socket: it pins the object, not the device.
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
};

/**
 * struct smc_ib_gid - one usable GID of a port
 * @gid: the GID; of RoCE v2: an IPv6 address, or an IPv4-mapped one
 * @index: its index in the port's GID table
 * @mac: Ethernet address of the netdev behind it; at an even offset, as the kernel wants it
 * @roce_v1: of RoCE v1: straight on Ethernet, not routable
 * @mtu: path MTU that fits the netdev and the port, enum ib_mtu; 0 = there is no GID
 * @ifindex: netdev the entry belongs to
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
 * struct smc_ib_gids - what a port has for a TCP path
 * @v2: a RoCE v2 GID
 * @v1: a RoCE v1 GID
 */
struct smc_ib_gids {
	struct smc_ib_gid v2;
	struct smc_ib_gid v1;
};

/**
 * struct smc_ib_events - facts about devices, told to rank 6
 * @port_active: a port became usable
 * @port_inactive: a port stopped being usable; links on it must fail
 * @gid_changed: the GID table of a port changed; re-read it
 * @device_gone: the device is being removed; every reference must be put soon
 * @mtu_changed: that of some netdev did; links may not fit through it any more
 *
 * All are called in process context without locks held; they may sleep but
 * must not wait for RTNL.
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
/* The object without the verbs device. */
void smc_ib_device_pin(struct smc_ib_device *dev);
void smc_ib_device_unpin(struct smc_ib_device *dev);

/* Ports that a namespace may use, and the GIDs of a port; see the definitions. */
void smc_ib_walk_ports(struct net *net,
		       bool (*fn)(struct smc_ib_device *dev, u8 port, void *arg), void *arg);
bool smc_ib_walk_gids(struct smc_ib_device *dev, u8 port, struct net *net,
		      bool (*fn)(struct net_device *ndev, const struct smc_ib_gid *gid, void *arg),
		      void *arg);
/* Is @ndev the netdev of the port, or above that? */
bool smc_ib_port_on(struct smc_ib_device *dev, u8 port, struct net_device *ndev);
bool smc_ib_port_below(struct smc_ib_device *dev, u8 port, struct net_device *ndev);
int smc_ib_port_ifindex(struct smc_ib_device *dev, u8 port);
bool smc_ib_pnetid(struct smc_ib_device *dev, u8 port, struct net *net,
		   char id[SMC_PNET_ID_LEN + 1]);
void smc_ib_name(const struct smc_ib_device *dev, char name[IB_DEVICE_NAME_MAX]);
bool smc_ib_port_active(struct smc_ib_device *dev, u8 port);
/* The two kinds of GIDs of one port. */
int smc_ib_find_gid(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		    const union ib_gid *gid, struct smc_ib_gid *out);
int smc_ib_find_gid_v1(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		       struct smc_ib_gid *out);
bool smc_ib_gid_stands(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		       const struct smc_ib_gid *gid);
/* Our peer ID: two random bytes and the MAC of the first port that was up. */
void smc_ib_peer_id(u8 id[8]);

#endif
