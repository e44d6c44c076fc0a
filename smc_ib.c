// SPDX-License-Identifier: GPL-2.0-only
/*
 * RoCE devices: the ib client, one object per ib_device, ports and GIDs.
 *
 * SMC-R wants a port by the IP address of the TCP connection. The GID table
 * says directly which port carries an address and for which netdev, so no
 * driver has to tell the netdev of a port. Version 2 takes the RoCE v2 GID that is
 * the address itself, version 1 any RoCE v1 GID of the netdev.
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
#include <smc/fault.h>
#include <smc/ib.h>

/* 2 MiB: what one REG_MR of Soft-RoCE takes; more gains nothing elsewhere */
#define REGION_PAGES_MAX	512
/* what a small write needs; each send request of a queue pair pays for it */
#define INLINE_MAX		256

static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);
static const struct smc_ib_events *ib_events;

/* two random bytes, then a MAC; the MAC is zero until a port was up */
static u8 peer_id[8];

static u8 last_port(const struct smc_ib_device *dev)
{
	return min_t(u32, rdma_end_port(dev->ibdev), U8_MAX);
}

static u8 first_port(const struct smc_ib_device *dev)
{
	return rdma_start_port(dev->ibdev);
}

static bool port_suits(const struct smc_ib_device *dev, u8 port)
{
	return rdma_is_port_valid(dev->ibdev, port) &&
	       rdma_protocol_roce(dev->ibdev, port);
}

/**
 * smc_ib_device_get() - take a further reference
 * @dev: device, a reference of which is held
 */
void smc_ib_device_get(struct smc_ib_device *dev)
{
	kref_get(&dev->ref);
}

/**
 * smc_ib_device_get_unless_zero() - use a device again
 * @dev: device, pinned
 *
 * Return: false if the verbs device is going or gone.
 */
bool smc_ib_device_get_unless_zero(struct smc_ib_device *dev)
{
	return kref_get_unless_zero(&dev->ref);
}

/**
 * smc_ib_device_pin() - keep the object, whatever happens to the verbs device
 * @dev: device, a reference of which is held
 */
void smc_ib_device_pin(struct smc_ib_device *dev)
{
	kref_get(&dev->mem);
}

static void free_device(struct kref *ref)
{
	kfree(container_of(ref, struct smc_ib_device, mem));
}

/**
 * smc_ib_device_unpin() - undo smc_ib_device_pin()
 * @dev: device
 *
 * Any context.
 */
void smc_ib_device_unpin(struct smc_ib_device *dev)
{
	kref_put(&dev->mem, free_device);
}

static void release_device(struct kref *ref)
{
	struct smc_ib_device *dev = container_of(ref, struct smc_ib_device, ref);

	complete(&dev->released);	/* remove_device() goes on */
}

/**
 * smc_ib_device_put() - drop a reference
 * @dev: device
 *
 * Any context. After the last one the ib_device may go.
 */
void smc_ib_device_put(struct smc_ib_device *dev)
{
	kref_put(&dev->ref, release_device);
}

/**
 * smc_ib_port_active() - can a port send and receive
 * @dev: device
 * @port: port number
 *
 * Asks the cache of the RDMA core: asking the driver may wait for RTNL.
 *
 * Return: true if so.
 */
bool smc_ib_port_active(struct smc_ib_device *dev, u8 port)
{
	enum ib_port_state state;

	if (!port_suits(dev, port) ||
	    smc_fault_rc(IB_PORT_STATE, -EIO,
			 ib_get_cached_port_state(dev->ibdev, port, &state)))
		return false;
	return state == IB_PORT_ACTIVE;
}

static int fill_gid(const struct smc_ib_device *dev, const struct ib_gid_attr *attr,
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

static const struct ib_gid_attr *find_attr(const struct smc_ib_device *dev, u8 port,
					   struct net_device *ndev, const union ib_gid *gid,
					   enum ib_gid_type type)
{
	return smc_fault_ptr(IB_GID, -ENOENT,
			     rdma_find_gid_by_port(dev->ibdev, gid, type, port, ndev));
}

static const struct ib_gid_attr *attr_at(const struct smc_ib_device *dev, u8 port, int index)
{
	return smc_fault_ptr(IB_FIRST_GID, -ENODATA, rdma_get_gid_attr(dev->ibdev, port, index));
}

/**
 * smc_ib_find_gid() - the RoCE v2 GID of an address
 * @dev: device
 * @port: port number
 * @ndev: netdev that has the address
 * @gid: the address: IPv6, or IPv4-mapped
 * @out: result; @out->mtu is 0 if there is none
 *
 * Process context.
 *
 * Return: 0, or -ENODEV if the port has no such GID.
 */
int smc_ib_find_gid(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		    const union ib_gid *gid, struct smc_ib_gid *out)
{
	const struct ib_gid_attr *attr;
	int rc;

	out->mtu = 0;
	if (!port_suits(dev, port))
		return -ENODEV;
	attr = find_attr(dev, port, ndev, gid, IB_GID_TYPE_ROCE_UDP_ENCAP);
	if (IS_ERR(attr))
		return -ENODEV;
	rc = fill_gid(dev, attr, ndev, out);
	rdma_put_gid_attr(attr);
	return rc;
}

/**
 * smc_ib_find_gid_v1() - a RoCE v1 GID of a netdev
 * @dev: device
 * @port: port number
 * @ndev: netdev, a VLAN device for a GID with its tag
 * @out: the first one; @out->mtu is 0 if there is none
 *
 * RoCE v1 does not leave the Ethernet segment, so any GID of the netdev will do.
 * Process context.
 *
 * Return: 0, or -ENODEV.
 */
int smc_ib_find_gid_v1(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		       struct smc_ib_gid *out)
{
	const struct ib_gid_attr *attr;
	int rc = -ENODEV;
	int len, i;

	out->mtu = 0;
	if (!port_suits(dev, port) || !rdma_protocol_roce_eth_encap(dev->ibdev, port))
		return -ENODEV;
	len = dev->ibdev->port_data[port].immutable.gid_tbl_len;
	for (i = 0; i < len && rc; i++) {
		attr = attr_at(dev, port, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE && rcu_access_pointer(attr->ndev) == ndev)
			rc = fill_gid(dev, attr, ndev, out);
		rdma_put_gid_attr(attr);
	}
	return rc;
}

/**
 * smc_ib_gid_stands() - is a GID still what it was
 * @dev: device
 * @port: port number
 * @ndev: netdev it was found for
 * @gid: from one of the look-ups above
 *
 * Process context.
 *
 * Return: true if it has the same place in the table.
 */
bool smc_ib_gid_stands(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		       const struct smc_ib_gid *gid)
{
	enum ib_gid_type type = gid->roce_v1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
	const struct ib_gid_attr *attr;
	bool same;

	attr = find_attr(dev, port, ndev, &gid->gid, type);
	if (IS_ERR(attr))
		return false;
	same = attr->index == gid->index;
	rdma_put_gid_attr(attr);
	return same;
}

/* The GIDs of one port for both versions; false without any of the kind asked for. */
static bool port_gids(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
		      const union ib_gid *addr, bool v2, struct smc_ib_gids *gids)
{
	int rc2, rc1;

	if (!smc_ib_port_active(dev, port))
		return false;
	rc2 = smc_ib_find_gid(dev, port, ndev, addr, &gids->v2);
	rc1 = smc_ib_find_gid_v1(dev, port, ndev, &gids->v1);
	return v2 ? !rc2 : !rc1;
}

/**
 * smc_ib_find() - the port behind a netdev with a given address
 * @net: namespace of the connection
 * @ndev: netdev through which it leaves
 * @addr: its source address: IPv6, or IPv4-mapped
 * @port: set to the port number
 * @gids: set to the GIDs for version 2 and version 1
 *
 * A port with a GID for version 2 comes first. Process context, sleeps for the list
 * lock only.
 *
 * Return: the device with a reference, or NULL.
 */
struct smc_ib_device *smc_ib_find(struct net *net, struct net_device *ndev,
				  const union ib_gid *addr, u8 *port, struct smc_ib_gids *gids)
{
	struct smc_ib_device *dev;
	unsigned int p;
	int pass;

	if (!net_eq(dev_net(ndev), net))
		return NULL;
	mutex_lock(&devices_lock);
	for (pass = 0; pass < 2; pass++) {
		list_for_each_entry(dev, &devices, entry) {
			if (!rdma_dev_access_netns(dev->ibdev, net))
				continue;
			for (p = first_port(dev); p <= last_port(dev); p++) {
				if (!port_gids(dev, p, ndev, addr, !pass, gids))
					continue;
				*port = p;
				smc_ib_device_get(dev);
				mutex_unlock(&devices_lock);
				return dev;
			}
		}
	}
	mutex_unlock(&devices_lock);
	return NULL;
}

/* MAC of the netdev behind the port's first GID; false if it has none. */
static bool port_mac(struct smc_ib_device *dev, u8 port, u8 mac[ETH_ALEN])
{
	int len = dev->ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	bool found;
	int i;

	for (i = 0; i < len; i++) {
		attr = attr_at(dev, port, i);
		if (IS_ERR(attr))
			continue;
		found = !smc_fault_rc(IB_FIRST_MAC, -EINVAL,
				      rdma_read_gid_l2_fields(attr, NULL, mac)) &&
			!is_zero_ether_addr(mac);
		rdma_put_gid_attr(attr);
		return found;	/* tables are long and, behind this one, mostly empty */
	}
	return false;
}

static void find_peer_mac(void)
{
	struct smc_ib_device *dev;
	u8 mac[ETH_ALEN];
	unsigned int p;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		for (p = first_port(dev); p <= last_port(dev); p++) {
			if (smc_ib_port_active(dev, p) && port_mac(dev, p, mac)) {
				memcpy(peer_id + 2, mac, ETH_ALEN);
				return;
			}
		}
	}
}

/**
 * smc_ib_peer_id() - our peer ID, RFC 7609 appendix A.1.1
 * @id: result
 *
 * Once it contains a MAC it never changes. Process context.
 */
void smc_ib_peer_id(u8 id[8])
{
	mutex_lock(&devices_lock);
	if (is_zero_ether_addr(peer_id + 2))
		find_peer_mac();
	memcpy(id, peer_id, sizeof(peer_id));
	mutex_unlock(&devices_lock);
}

/* ---- the ib client ---- */

static void all_ports_inactive(struct smc_ib_device *dev)
{
	unsigned int p;

	for (p = first_port(dev); p <= last_port(dev); p++)
		if (port_suits(dev, p))
			ib_events->port_inactive(dev, p);
}

/*
 * Runs in a work of the RDMA core, after its caches were updated. @dev stays: the
 * handler is unregistered, which waits for us, before remove drops its reference.
 */
static void device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct smc_ib_device *dev = container_of(handler, struct smc_ib_device, event_handler);
	u32 port = event->element.port_num;

	if (event->event == IB_EVENT_DEVICE_FATAL) {
		all_ports_inactive(dev);
		return;
	}
	if (event->event != IB_EVENT_PORT_ACTIVE && event->event != IB_EVENT_PORT_ERR &&
	    event->event != IB_EVENT_GID_CHANGE)
		return;
	if (port > U8_MAX || !port_suits(dev, port))
		return;
	if (event->event == IB_EVENT_PORT_ACTIVE)
		ib_events->port_active(dev, port);
	else if (event->event == IB_EVENT_PORT_ERR)
		ib_events->port_inactive(dev, port);
	else
		ib_events->gid_changed(dev, port);
}

/* Largest path MTU that every port of use takes; 0 if there is no such port. */
static u8 ports_max_mtu(struct ib_device *ibdev)
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

static int add_device(struct ib_device *ibdev)
{
	struct smc_ib_device *dev;
	unsigned int p;
	u8 max_mtu;

	if (ibdev->node_type != RDMA_NODE_IB_CA ||
	    !(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ibdev->attrs.max_fast_reg_page_list_len)
		return -EOPNOTSUPP;
	max_mtu = ports_max_mtu(ibdev);
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
	ib_set_client_data(ibdev, &smc_client, dev);

	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, device_event);
	ib_register_event_handler(&dev->event_handler);
	mutex_lock(&devices_lock);
	list_add_tail(&dev->entry, &devices);
	mutex_unlock(&devices_lock);
	for (p = first_port(dev); p <= last_port(dev); p++)
		if (smc_ib_port_active(dev, p))
			ib_events->port_active(dev, p);
	return 0;
}

/*
 * The device must not go while verbs objects of ours are on it. Who may still hold
 * a reference: links (device_gone makes their groups fail them), and handshakes with
 * a path in hand, whose waits have deadlines. None of them needs this thread.
 */
static void remove_device(struct ib_device *ibdev, void *client_data)
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

static struct ib_client smc_client = {
	.name = "smc",
	.add = add_device,
	.remove = remove_device,
};

/**
 * smc_ib_init() - begin to use RoCE devices
 * @events: table of the group layer; called from here on, also before return
 *
 * Return: 0 or -errno.
 */
int smc_ib_init(const struct smc_ib_events *events)
{
	ib_events = events;
	get_random_bytes(peer_id, 2);
	return smc_fault_rc(IB_CLIENT, -ENOMEM, ib_register_client(&smc_client));
}

/**
 * smc_ib_exit() - stop using RoCE devices
 *
 * Waits for the removal from every device, that is for the last link.
 */
void smc_ib_exit(void)
{
	ib_unregister_client(&smc_client);
	/* links drop their device in an RCU callback, which may not have returned yet */
	rcu_barrier();
}
