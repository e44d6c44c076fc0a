// SPDX-License-Identifier: GPL-2.0-only
/*
 * RoCE devices: the ib client, ports, GIDs, and the peer ID of this host.
 *
 * Entry point of rdma/, together with smc_wr.c. This file says which RNICs exist and what their
 * ports can do. rdma/path.c chooses the port for a TCP path, rdma/pnet_table.c keeps the
 * administrator's PNET IDs, smc_wr.c and rdma/qp.c run the queue pairs, and rdma/region.c the
 * memory that is registered on them. Nothing here refers to links or link groups; what happens
 * to a device is reported through struct smc_ib_events.
 *
 * Objects: struct smc_ib_device is made by the add callback of the ib client for each device that
 * has a RoCE port and fast registration (IB_DEVICE_MEM_MGT_EXTENSIONS). All of them are in the
 * list "devices". A port is a pair of device and port number. GIDs are not kept: each look-up
 * reads the GID table of the RDMA core.
 *
 * References: an smc_ib_device has two counts.
 *  - ref counts the users of the verbs device: the list, paths, and links until their shutdown.
 *    ib_client_remove() takes the device out of the list, reports device_gone, and waits until the
 *    last ref is put. So holders of a ref must put it without waiting for a peer; a path that
 *    has to wait for one drops its ref and pins the object for that time
 *    (smc_path_release_device()).
 *  - mem counts the users of the object alone. A link that was shut down may be kept by an open
 *    socket; its device can still be named (smc_ib_device_name()), but not used.
 *
 * Locks: devices_lock (mutex) protects the list, the setting of dev->dead and the peer ID. It is
 * held while smc_ib_walk_ports() calls back, so that the callback can take a ref. names_lock (leaf
 * spinlock) protects the names, which an administrator can change at any time.
 *
 * Contexts: device and port events come from work items of the RDMA core, removal from the thread
 * that removes the device, netdev notifications under RTNL. The upcalls must not wait for RTNL, and
 * functions of this file that upcalls use read the caches of the RDMA core instead of asking the
 * driver, which may take RTNL. A change of a netdev's MTU is therefore passed on by a work item.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/etherdevice.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <smc/base/fault.h>
#include <smc/rdma/ib.h>
#include <smc/rdma/lo.h>
#include <smc/rdma/pnet_table.h>

/* What one REG_MR of Soft-RoCE covers: 2 MiB. Larger regions gain nothing on other devices. */
#define REGION_PAGES_MAX	512
/* Enough for a small WRITE. Each send request of a queue pair takes this much more memory. */
#define INLINE_MAX		256

static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);
static unsigned long devices_made;	/* under devices_lock */
static DEFINE_SPINLOCK(names_lock);	/* smc_ib_device.name; leaf */
static const struct smc_ib_events *ib_events;

/* Two random bytes and a MAC, which is zero until a port was active; under devices_lock. */
static u8 peer_id[8];

static u8 ib_last_port(const struct smc_ib_device *dev)
{
	return min_t(u32, rdma_end_port(dev->ibdev), U8_MAX);
}

static u8 ib_first_port(const struct smc_ib_device *dev)
{
	return rdma_start_port(dev->ibdev);
}

static bool port_is_roce(const struct smc_ib_device *dev, u8 port)
{
	return rdma_is_port_valid(dev->ibdev, port) &&
	       rdma_protocol_roce(dev->ibdev, port);
}

/**
 * smc_ib_device_get() - Take a further reference on the verbs device
 * @dev: device on which the caller holds a reference
 *
 * Any context.
 */
void smc_ib_device_get(struct smc_ib_device *dev)
{
	kref_get(&dev->ref);
}

/**
 * smc_ib_device_get_unless_zero() - Take a reference on a verbs device that may be gone
 * @dev: device, pinned by the caller
 *
 * Any context.
 *
 * Return: false if the last reference is gone: the verbs device is being removed.
 */
bool smc_ib_device_get_unless_zero(struct smc_ib_device *dev)
{
	return kref_get_unless_zero(&dev->ref);
}

/**
 * smc_ib_device_pin() - Keep the object beyond the removal of the verbs device
 * @dev: device on which the caller holds a reference
 *
 * Any context.
 */
void smc_ib_device_pin(struct smc_ib_device *dev)
{
	kref_get(&dev->mem);
}

static void ib_device_free(struct kref *ref)
{
	kfree(container_of(ref, struct smc_ib_device, mem));
}

/**
 * smc_ib_device_unpin() - Undo smc_ib_device_pin()
 * @dev: device; not valid afterwards unless a reference or another pin is held
 *
 * Any context.
 */
void smc_ib_device_unpin(struct smc_ib_device *dev)
{
	kref_put(&dev->mem, ib_device_free);
}

static void ib_device_release(struct kref *ref)
{
	struct smc_ib_device *dev = container_of(ref, struct smc_ib_device, ref);

	complete(&dev->released);	/* lets ib_client_remove() continue */
}

/**
 * smc_ib_device_put() - Drop a reference on the verbs device
 * @dev: device; the verbs device may go with the last reference
 *
 * Any context.
 */
void smc_ib_device_put(struct smc_ib_device *dev)
{
	kref_put(&dev->ref, ib_device_release);
}

/**
 * smc_ib_port_active() - Check whether a port can send and receive
 * @dev: device, with a reference or in the list
 * @port: port number; may be invalid
 *
 * Reads the cache of the RDMA core, because asking the driver may wait for RTNL.
 *
 * Return: true if the port is a RoCE port in state ACTIVE.
 */
bool smc_ib_port_active(struct smc_ib_device *dev, u8 port)
{
	enum ib_port_state state;

	if (!port_is_roce(dev, port) ||
	    smc_fault_rc(IB_PORT_STATE, -EIO,
			 ib_get_cached_port_state(dev->ibdev, port, &state)))
		return false;
	return state == IB_PORT_ACTIVE;
}

static int gid_fill(const struct smc_ib_device *dev, const struct ib_gid_attr *attr,
		    const struct net_device *ndev, struct smc_ib_gid *out)
{
	memset(out, 0, sizeof(*out));
	out->gid = attr->gid;
	out->index = attr->index;
	out->roce_v1 = attr->gid_type == IB_GID_TYPE_ROCE;
	out->ifindex = ndev->ifindex;
	out->mtu = min_t(u8, iboe_get_mtu(READ_ONCE(ndev->mtu)), dev->max_mtu);
	if (smc_fault_rc(IB_GID_MAC, -EINVAL, rdma_read_gid_l2_fields(attr, NULL, out->mac)))
		out->mtu = 0;
	return out->mtu ? 0 : -ENODEV;
}

static const struct ib_gid_attr *gid_find_attr(const struct smc_ib_device *dev, u8 port,
					       struct net_device *ndev, const union ib_gid *gid,
					       enum ib_gid_type type)
{
	return smc_fault_ptr(IB_GID, -ENOENT,
			     rdma_find_gid_by_port(dev->ibdev, gid, type, port, ndev));
}

static const struct ib_gid_attr *gid_get_attr(const struct smc_ib_device *dev, u8 port, int index)
{
	return smc_fault_ptr(IB_FIRST_GID, -ENODATA, rdma_get_gid_attr(dev->ibdev, port, index));
}

/**
 * smc_ib_find_gid() - Find the RoCE v2 GID of an address
 * @dev: device
 * @port: port number
 * @ndev: netdev that has the address
 * @gid: the address: IPv6, or IPv4-mapped
 * @out: result; @out->mtu is 0 if there is none
 *
 * Process context.
 *
 * Return: 0, or -ENODEV if the port has no such GID or its netdev no usable MTU or MAC.
 */
int smc_ib_find_gid(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		    const union ib_gid *gid, struct smc_ib_gid *out)
{
	const struct ib_gid_attr *attr;
	int rc;

	out->mtu = 0;
	if (!port_is_roce(dev, port))
		return -ENODEV;
	attr = gid_find_attr(dev, port, ndev, gid, IB_GID_TYPE_ROCE_UDP_ENCAP);
	if (IS_ERR(attr))
		return -ENODEV;
	rc = gid_fill(dev, attr, ndev, out);
	rdma_put_gid_attr(attr);
	return rc;
}

/**
 * smc_ib_find_gid_v1() - Find a RoCE v1 GID of a netdev
 * @dev: device
 * @port: port number
 * @ndev: netdev; a VLAN device for a GID with its tag
 * @out: the first such GID; @out->mtu is 0 if there is none
 *
 * RoCE v1 does not leave the Ethernet segment, so any GID of the netdev will do.
 * Process context.
 *
 * Return: 0 or -ENODEV.
 */
int smc_ib_find_gid_v1(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		       struct smc_ib_gid *out)
{
	const struct ib_gid_attr *attr;
	int rc = -ENODEV;
	int len, i;

	out->mtu = 0;
	if (!port_is_roce(dev, port) || !rdma_protocol_roce_eth_encap(dev->ibdev, port))
		return -ENODEV;
	len = dev->ibdev->port_data[port].immutable.gid_tbl_len;
	for (i = 0; i < len && rc; i++) {
		attr = gid_get_attr(dev, port, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE && rcu_access_pointer(attr->ndev) == ndev)
			rc = gid_fill(dev, attr, ndev, out);
		rdma_put_gid_attr(attr);
	}
	return rc;
}

/**
 * smc_ib_gid_unchanged() - Check whether a GID is still valid
 * @dev: device
 * @port: port number
 * @ndev: netdev of the GID
 * @gid: result of an earlier look-up
 *
 * The queue pair of the peer sends to the GID's MAC, and ours refers to its index.
 * Process context.
 *
 * Return: true if the GID has the same index as before and its netdev the same MAC.
 */
bool smc_ib_gid_unchanged(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
			  const struct smc_ib_gid *gid)
{
	enum ib_gid_type type = gid->roce_v1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
	const struct ib_gid_attr *attr;
	struct smc_ib_gid now;
	bool same;

	attr = gid_find_attr(dev, port, ndev, &gid->gid, type);
	if (IS_ERR(attr))
		return false;
	same = attr->index == gid->index && !gid_fill(dev, attr, ndev, &now) &&
	       ether_addr_equal(now.mac, gid->mac);
	rdma_put_gid_attr(attr);
	return same;
}

/**
 * smc_ib_walk_gids() - Call a function for each GID of a port that has a netdev
 * @dev: device
 * @port: port number
 * @net: namespace; GIDs with netdevs of other namespaces are skipped
 * @fn: called with a reference on @ndev held; may sleep; returns true to stop
 * @arg: for @fn
 *
 * Process context.
 *
 * Return: true if @fn did.
 */
bool smc_ib_walk_gids(struct smc_ib_device *dev, u8 port, struct net *net,
		      bool (*fn)(struct net_device *ndev, const struct smc_ib_gid *gid, void *arg),
		      void *arg)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	struct smc_ib_gid gid;
	bool stop = false;
	int len, i;

	if (!port_is_roce(dev, port))
		return false;
	len = dev->ibdev->port_data[port].immutable.gid_tbl_len;
	for (i = 0; i < len && !stop; i++) {
		attr = gid_get_attr(dev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rcu_dereference(attr->ndev);
		if (ndev && net_eq(dev_net(ndev), net))
			dev_hold(ndev);
		else
			ndev = NULL;
		rcu_read_unlock();
		if (ndev) {
			stop = !gid_fill(dev, attr, ndev, &gid) && fn(ndev, &gid, arg);
			dev_put(ndev);
		}
		rdma_put_gid_attr(attr);
	}
	return stop;
}

/**
 * smc_ib_walk_ports() - Call a function for each RoCE port that a namespace may use
 * @net: namespace
 * @fn: called for each port, active or not, in the order in which the devices were added, with
 *	devices_lock held; may sleep and take a reference on @dev; returns true to stop
 * @arg: for @fn
 *
 * Process context.
 */
void smc_ib_walk_ports(struct net *net,
		       bool (*fn)(struct smc_ib_device *dev, u8 port, void *arg), void *arg)
{
	struct smc_ib_device *dev;
	bool stop = false;
	unsigned int p;

	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		for (p = ib_first_port(dev); p <= ib_last_port(dev) && !stop; p++)
			stop = port_is_roce(dev, p) && fn(dev, p, arg);
		if (stop)
			break;
	}
	mutex_unlock(&devices_lock);
}

static bool ib_count_two_ports(struct smc_ib_device *dev, u8 port, void *arg)
{
	unsigned int *n = arg;

	*n += !dev->inner && smc_ib_port_active(dev, port);
	return *n == 2;
}

/**
 * smc_ib_has_second_port() - Check whether a namespace may use more than one active RoCE port
 * @net: namespace
 *
 * Those of smc_lo do not count: nobody gets a second link over them. Process context. A snapshot.
 *
 * Return: true if so, on whatever networks they are.
 */
bool smc_ib_has_second_port(struct net *net)
{
	unsigned int n = 0;

	smc_ib_walk_ports(net, ib_count_two_ports, &n);
	return n == 2;
}

/*
 * Return the netdev of a port, with a reference. NULL: the port has none, or this kernel does not
 * report it.
 */
static struct net_device *port_get_netdev(struct smc_ib_device *dev, u8 port)
{
#ifdef SMC_HAVE_IB_DEVICE_GET_NETDEV
	return ib_device_get_netdev(dev->ibdev, port);
#else
	struct ib_device *ibdev = dev->ibdev;

	return ibdev->ops.get_netdev ? ibdev->ops.get_netdev(ibdev, port) : NULL;
#endif
}

/* An index means another netdev, or none, in other namespaces. */
static int ib_ifindex_in(const struct net_device *ndev, const struct net *net)
{
	return net_eq(dev_net(ndev), net) ? ndev->ifindex : 0;
}

/**
 * smc_ib_port_ifindex() - Return the ifindex of a port's netdev, for display
 * @dev: device
 * @port: port number
 * @net: namespace of the reader
 *
 * Process context.
 *
 * Return: the ifindex; 0: the port has no netdev, or one of another namespace.
 */
int smc_ib_port_ifindex(struct smc_ib_device *dev, u8 port, const struct net *net)
{
	struct net_device *own = port_get_netdev(dev, port);
	const struct ib_gid_attr *attr;
	int ifindex = 0;

	if (own) {
		ifindex = ib_ifindex_in(own, net);
		dev_put(own);
		return ifindex;
	}
	/* The GIDs belong to the port's netdev or to an upper device of it. */
	attr = gid_get_attr(dev, port, 0);
	if (IS_ERR(attr))
		return 0;
	rcu_read_lock();
	own = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(own))
		ifindex = ib_ifindex_in(own, net);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return ifindex;
}

/**
 * smc_ib_port_has_netdev() - Check whether a netdev is that of a port
 * @dev: device
 * @port: port number
 * @ndev: netdev, no VLAN device
 *
 * If so, the RNIC sends and receives on the network of @ndev. The GID table does not prove that,
 * because it also holds the addresses of bonds and bridges above the port's netdev. Where the
 * driver does not report the netdev, a device without lower devices is taken for it.
 * Process context.
 *
 * Return: true if @ndev is the netdev of the port.
 */
bool smc_ib_port_has_netdev(struct smc_ib_device *dev, u8 port, struct net_device *ndev)
{
	struct net_device *own = port_get_netdev(dev, port);
	bool same = own == ndev;

#ifndef SMC_HAVE_IB_DEVICE_GET_NETDEV
	if (!own && !dev->inner) {
		/* RDMA devices of other drivers may share the netdev. */
		struct ib_device *ibdev =
			ib_device_get_by_netdev(ndev, dev->ibdev->ops.driver_id);

		/* The driver may not report it: then take any netdev that is no upper device. */
		same = ibdev ? ibdev == dev->ibdev : list_empty(&ndev->adj_list.lower);
		if (ibdev)
			ib_device_put(ibdev);
	}
#endif
	dev_put(own);
	return same;
}

/*
 * Check whether a GID is that of the port's own netdev, and that is no loopback device. And whether
 * the namespace of the netdev may use the port: if not, the peer cannot choose it.
 */
static bool port_owns_gid(struct smc_ib_device *dev, u8 port, const union ib_gid *gid)
{
	struct net_device *own = port_get_netdev(dev, port);
	const struct ib_gid_attr *attr;
	bool found = false;

	if (!own)
		return false;
	if (!(own->flags & IFF_LOOPBACK) && rdma_dev_access_netns(dev->ibdev, dev_net(own))) {
		attr = gid_find_attr(dev, port, own, gid, IB_GID_TYPE_ROCE_UDP_ENCAP);
		found = !IS_ERR(attr);
		if (found)
			rdma_put_gid_attr(attr);
	}
	dev_put(own);
	return found;
}

/**
 * smc_ib_has_inner_gid() - Check whether an address is that of a namespace of this host
 * @addr: address: IPv6, or IPv4-mapped
 *
 * And whether its administrator allows connections from other namespaces that bypass the network:
 * only then the port of smc_lo on the netdev with this address is active. Process context. A
 * snapshot.
 *
 * Return: true if so. Hosts elsewhere may have the same address.
 */
bool smc_ib_has_inner_gid(const struct in6_addr *addr)
{
	struct smc_ib_device *dev;
	bool found = false;
	union ib_gid gid;
	unsigned int p;

	memcpy(gid.raw, addr, sizeof(gid.raw));
	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		if (!dev->inner)
			continue;
		for (p = ib_first_port(dev); p <= ib_last_port(dev) && !found; p++)
			found = smc_ib_port_active(dev, p) && port_owns_gid(dev, p, &gid);
		if (found)
			break;
	}
	mutex_unlock(&devices_lock);
	return found;
}

/**
 * smc_ib_port_is_below() - Check whether the netdev of a port is below another netdev
 * @dev: device
 * @port: port number
 * @ndev: bond, bridge, VLAN device ...
 *
 * Process context.
 *
 * Return: true if so; false also if this kernel does not report the port's netdev.
 */
bool smc_ib_port_is_below(struct smc_ib_device *dev, u8 port, struct net_device *ndev)
{
	struct net_device *own = port_get_netdev(dev, port);
	bool below = false;

	rcu_read_lock();
	if (own)
		below = netdev_has_upper_dev_all_rcu(own, ndev);
	rcu_read_unlock();
	dev_put(own);
	return below;
}

/**
 * smc_ib_port_pnetid() - Return the PNET ID that was assigned to a port itself
 * @dev: device
 * @port: port number
 * @net: namespace whose PNET table applies
 * @id: result
 *
 * The entry names the device or its parent (PCI ID). Any context but hard interrupt.
 *
 * Return: false if the port has no PNET ID.
 */
bool smc_ib_port_pnetid(struct smc_ib_device *dev, u8 port, struct net *net,
			char id[SMC_PNET_ID_LEN + 1])
{
	const struct device *parent = dev->ibdev->dev.parent;
	char name[IB_DEVICE_NAME_MAX];

	smc_ib_device_name(dev, name);
	return smc_pnet_find_port(net, name, parent ? dev_name(parent) : NULL, port, id);
}

/**
 * smc_ib_device_name() - Copy the name of a device
 * @dev: device, pinned
 * @name: result
 *
 * Any context.
 */
void smc_ib_device_name(const struct smc_ib_device *dev, char name[IB_DEVICE_NAME_MAX])
{
	spin_lock_bh(&names_lock);
	memcpy(name, dev->name, IB_DEVICE_NAME_MAX);
	spin_unlock_bh(&names_lock);
}

/* Get the MAC of the netdev behind the port's first GID; false if there is none. */
static bool port_get_mac(struct smc_ib_device *dev, u8 port, u8 mac[ETH_ALEN])
{
	int len = dev->ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	bool found;
	int i;

	for (i = 0; i < len; i++) {
		attr = gid_get_attr(dev, port, i);
		if (IS_ERR(attr))
			continue;
		found = !smc_fault_rc(IB_FIRST_MAC, -EINVAL,
				      rdma_read_gid_l2_fields(attr, NULL, mac)) &&
			!is_zero_ether_addr(mac);
		rdma_put_gid_attr(attr);
		return found;	/* tables are long, and further entries are mostly empty */
	}
	return false;
}

/*
 * A host with smc_lo alone gets a random MAC, and keeps it when an RNIC comes: groups know it by
 * this ID.
 */
static void ib_find_peer_mac(void)
{
	struct smc_ib_device *dev;
	bool has_inner = false;
	u8 mac[ETH_ALEN];
	unsigned int p;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		/* the MAC may be that of a container, which chooses it */
		has_inner |= dev->inner;
		if (dev->inner)
			continue;
		for (p = ib_first_port(dev); p <= ib_last_port(dev); p++) {
			if (smc_ib_port_active(dev, p) && port_get_mac(dev, p, mac)) {
				memcpy(peer_id + 2, mac, ETH_ALEN);
				return;
			}
		}
	}
	if (has_inner)
		eth_random_addr(peer_id + 2);
}

/**
 * smc_ib_get_peer_id() - Return our peer ID, RFC 7609 appendix A.2.1
 * @id: result
 *
 * Two random bytes and the MAC of the first port that was active; a random one if the first devices
 * are those of smc_lo. As soon as the ID contains a MAC it never changes. Process context.
 */
void smc_ib_get_peer_id(u8 id[8])
{
	mutex_lock(&devices_lock);
	if (is_zero_ether_addr(peer_id + 2))
		ib_find_peer_mac();
	memcpy(id, peer_id, sizeof(peer_id));
	mutex_unlock(&devices_lock);
}

/* ---- the ib client ---- */

static void ib_ports_set_inactive(struct smc_ib_device *dev)
{
	unsigned int p;

	for (p = ib_first_port(dev); p <= ib_last_port(dev); p++)
		if (port_is_roce(dev, p))
			ib_events->port_inactive(dev, p);
}

/*
 * Runs in a work item of the RDMA core, after the core updated its caches. @dev is valid:
 * ib_client_remove() unregisters this handler, which waits for it, before it drops its reference.
 */
static void ib_device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct smc_ib_device *dev = container_of(handler, struct smc_ib_device, event_handler);
	u32 port = event->element.port_num;

	if (event->event == IB_EVENT_DEVICE_FATAL) {
		ib_ports_set_inactive(dev);
		return;
	}
	if (event->event != IB_EVENT_PORT_ACTIVE && event->event != IB_EVENT_PORT_ERR &&
	    event->event != IB_EVENT_GID_CHANGE)
		return;
	if (port > U8_MAX || !port_is_roce(dev, port))
		return;
	if (event->event == IB_EVENT_PORT_ACTIVE)
		ib_events->port_active(dev, port);
	else if (event->event == IB_EVENT_PORT_ERR)
		ib_events->port_inactive(dev, port);
	else
		ib_events->gid_changed(dev, port);
}

/* Return the largest path MTU that all RoCE ports support; 0: there is no such port. */
static u8 ib_ports_max_mtu(struct ib_device *ibdev)
{
	struct ib_port_attr attr;
	u8 mtu = 0;
	u32 p;

	rdma_for_each_port(ibdev, p) {
		if (!rdma_protocol_roce(ibdev, p) ||
		    smc_fault_rc(IB_PORT, -EIO, ib_query_port(ibdev, p, &attr)))
			continue;
		mtu = mtu ? min_t(u8, mtu, attr.max_mtu) : attr.max_mtu;
	}
	return mtu;
}

static struct ib_client smc_client;

static int ib_client_add(struct ib_device *ibdev)
{
	struct smc_ib_device *dev;
	unsigned int p;
	u8 max_mtu;

	if (ibdev->node_type != RDMA_NODE_IB_CA ||
	    !(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ibdev->attrs.max_fast_reg_page_list_len)
		return -EOPNOTSUPP;
	max_mtu = ib_ports_max_mtu(ibdev);
	if (!max_mtu)
		return -EOPNOTSUPP;

	dev = smc_fault_null(IB_DEVICE, kzalloc(sizeof(*dev), GFP_KERNEL));
	if (!dev)
		return -ENOMEM;
	kref_init(&dev->ref);
	kref_init(&dev->mem);
	init_completion(&dev->released);
	dev->ibdev = ibdev;
	strscpy(dev->name, ibdev->name, sizeof(dev->name));
	dev->max_mtu = max_mtu;
	dev->max_pages = min_t(u32, ibdev->attrs.max_fast_reg_page_list_len, REGION_PAGES_MAX);
	dev->max_inline = INLINE_MAX;
	dev->max_recv_sge = ibdev->attrs.max_recv_sge;
	dev->inner = ibdev->ops.driver_id == SMC_LO_DRIVER_ID;
	ib_set_client_data(ibdev, &smc_client, dev);

	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, ib_device_event);
	ib_register_event_handler(&dev->event_handler);
	mutex_lock(&devices_lock);
	dev->num = ++devices_made;
	list_add_tail(&dev->entry, &devices);
	mutex_unlock(&devices_lock);
	for (p = ib_first_port(dev); p <= ib_last_port(dev); p++)
		if (smc_ib_port_active(dev, p))
			ib_events->port_active(dev, p);
	return 0;
}

/*
 * All verbs objects must be gone when this function returns. Other holders of a reference are
 * links, whose groups fail them on device_gone, and handshakes with a path, whose waits have
 * deadlines. None of them needs this thread to go on.
 */
static void ib_client_remove(struct ib_device *ibdev, void *client_data)
{
	struct smc_ib_device *dev = client_data;

	mutex_lock(&devices_lock);
	WRITE_ONCE(dev->dead, true);
	list_del(&dev->entry);
	mutex_unlock(&devices_lock);
	ib_unregister_event_handler(&dev->event_handler);
	ib_events->device_gone(dev);
	smc_ib_device_put(dev);
	wait_for_completion(&dev->released);
	smc_ib_device_unpin(dev);
}

/* The entries of the PNET table follow the device to its new name. */
static void ib_client_rename(struct ib_device *ibdev, void *client_data)
{
	struct smc_ib_device *dev = client_data;
	char old[IB_DEVICE_NAME_MAX];
	struct net *net;

	spin_lock_bh(&names_lock);
	memcpy(old, dev->name, sizeof(old));
	strscpy(dev->name, ibdev->name, sizeof(dev->name));
	spin_unlock_bh(&names_lock);
	rcu_read_lock();
	for_each_net_rcu(net)
		if (rdma_dev_access_netns(ibdev, net))
			smc_pnet_rename_port(net, old, ibdev->name);
	rcu_read_unlock();
}

static struct ib_client smc_client = {
	.name = "smc",
	.add = ib_client_add,
	.remove = ib_client_remove,
	.rename = ib_client_rename,
};

/* ---- the MTU of netdevs ---- */

static void ib_mtu_work_fn(struct work_struct *work)
{
	ib_events->mtu_changed();
}

static DECLARE_WORK(ib_mtu_work, ib_mtu_work_fn);

/* Called under RTNL, for which the upcall must not wait: hence the work item. */
static int ib_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (event == NETDEV_CHANGEMTU)
		schedule_work(&ib_mtu_work);
	return NOTIFY_DONE;
}

static struct notifier_block ib_netdev_nb = {
	.notifier_call = ib_netdev_event,
};

/**
 * smc_ib_init() - Begin to use RoCE devices
 * @events: upcalls; called from here on, also before this function returns
 *
 * Process context.
 *
 * Return: 0 or -errno.
 */
int smc_ib_init(const struct smc_ib_events *events)
{
	int rc;

	ib_events = events;
	get_random_bytes(peer_id, 2);
	rc = smc_fault_rc(IB_NOTIFIER, -ENOMEM, register_netdevice_notifier(&ib_netdev_nb));
	if (rc)
		return rc;
	rc = smc_fault_rc(IB_CLIENT, -ENOMEM, ib_register_client(&smc_client));
	if (rc) {
		unregister_netdevice_notifier(&ib_netdev_nb);
		cancel_work_sync(&ib_mtu_work);
	}
	return rc;
}

/**
 * smc_ib_exit() - Stop using RoCE devices
 *
 * Waits for the removal from every device, that is until the last link is shut down.
 * Process context.
 */
void smc_ib_exit(void)
{
	unregister_netdevice_notifier(&ib_netdev_nb);
	cancel_work_sync(&ib_mtu_work);
	ib_unregister_client(&smc_client);
	/* Links unpin their device in an RCU callback. */
	rcu_barrier();
}
