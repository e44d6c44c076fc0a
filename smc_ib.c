// SPDX-License-Identifier: GPL-2.0-only
/*
 * RoCE devices: the ib client, one object per ib_device, ports and GIDs.
 *
 * Which of them a connection gets is decided in rdma/path.c.
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
#include <smc/rdma/pnet_table.h>

/* 2 MiB: what one REG_MR of Soft-RoCE takes; more gains nothing elsewhere */
#define REGION_PAGES_MAX	512
/* what a small write needs; each send request of a queue pair pays for it */
#define INLINE_MAX		256

static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);
static unsigned long devices_made;	/* under devices_lock */
static DEFINE_SPINLOCK(names_lock);	/* names of devices; leaf */
static const struct smc_ib_events *ib_events;

/* two random bytes, then a MAC; the MAC is zero until a port was up */
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

static void ib_device_free(struct kref *ref)
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
	kref_put(&dev->mem, ib_device_free);
}

static void ib_device_release(struct kref *ref)
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
	kref_put(&dev->ref, ib_device_release);
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
 * smc_ib_gid_stands() - is a GID still what it was
 * @dev: device
 * @port: port number
 * @ndev: netdev it was found for
 * @gid: from one of the look-ups above
 *
 * Process context.
 *
 * Return: true if it has the same place in the table, and its netdev the same MAC: the
 * peer's queue pair sends to that.
 */
bool smc_ib_gid_stands(struct smc_ib_device *dev, u8 port, struct net_device *ndev,
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
 * smc_ib_walk_gids() - look at the GIDs of a port that have a netdev
 * @dev: device
 * @port: port number
 * @net: namespace; netdevs of others are left out
 * @fn: called with a reference on @ndev; may sleep; true stops
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
 * smc_ib_walk_ports() - look at all ports that a namespace may use, device by device as they came
 * @net: namespace
 * @fn: called for each RoCE port, active or not, with the list of devices locked; may
 *	sleep, and take a reference of the device; true stops
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

/* The netdev of a port, with a reference; NULL: none, or this kernel does not say. */
static struct net_device *port_get_netdev(struct smc_ib_device *dev, u8 port)
{
#ifdef SMC_HAVE_IB_DEVICE_GET_NETDEV
	return ib_device_get_netdev(dev->ibdev, port);
#else
	struct ib_device *ibdev = dev->ibdev;

	return ibdev->ops.get_netdev ? ibdev->ops.get_netdev(ibdev, port) : NULL;
#endif
}

/**
 * smc_ib_port_ifindex() - the netdev of a port, for people
 * @dev: device
 * @port: port number
 *
 * Process context.
 *
 * Return: its index, 0: none.
 */
int smc_ib_port_ifindex(struct smc_ib_device *dev, u8 port)
{
	struct net_device *own = port_get_netdev(dev, port);
	const struct ib_gid_attr *attr;
	int ifindex = 0;

	if (own) {
		ifindex = own->ifindex;
		dev_put(own);
		return ifindex;
	}
	/* its GIDs belong to that one, or to what is above it */
	attr = gid_get_attr(dev, port, 0);
	if (IS_ERR(attr))
		return 0;
	rcu_read_lock();
	own = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(own))
		ifindex = own->ifindex;
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return ifindex;
}

/**
 * smc_ib_port_on() - is a netdev that of a port
 * @dev: device
 * @port: port number
 * @ndev: netdev, no VLAN device
 *
 * So what the RNIC sends and receives is what @ndev does. A GID table tells less: it
 * has the addresses of bonds and bridges, too.
 *
 * Return: true if so.
 */
bool smc_ib_port_on(struct smc_ib_device *dev, u8 port, struct net_device *ndev)
{
	struct net_device *own = port_get_netdev(dev, port);
	bool same = own == ndev;

#ifndef SMC_HAVE_IB_DEVICE_GET_NETDEV
	if (!own) {
		/* devices of other drivers may be over the same netdev */
		struct ib_device *ibdev =
			ib_device_get_by_netdev(ndev, dev->ibdev->ops.driver_id);

		/* drivers may be silent about it: a device with others below is an upper one */
		same = ibdev ? ibdev == dev->ibdev : list_empty(&ndev->adj_list.lower);
		if (ibdev)
			ib_device_put(ibdev);
	}
#endif
	dev_put(own);
	return same;
}

/**
 * smc_ib_port_below() - is the netdev of a port somewhere below another one
 * @dev: device
 * @port: port number
 * @ndev: bond, bridge, VLAN device ...
 *
 * Return: true if so; false also where this kernel does not say.
 */
bool smc_ib_port_below(struct smc_ib_device *dev, u8 port, struct net_device *ndev)
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
 * smc_ib_pnetid() - the PNET ID that a port itself was given
 * @dev: device
 * @port: port number
 * @net: namespace of the administrator
 * @id: result
 *
 * Return: false if it has none.
 */
bool smc_ib_pnetid(struct smc_ib_device *dev, u8 port, struct net *net,
		   char id[SMC_PNET_ID_LEN + 1])
{
	const struct device *parent = dev->ibdev->dev.parent;
	char name[IB_DEVICE_NAME_MAX];

	smc_ib_name(dev, name);
	return smc_pnet_table_port(net, name, parent ? dev_name(parent) : NULL, port, id);
}

/**
 * smc_ib_name() - what a device is called
 * @dev: device, pinned
 * @name: result
 *
 * Any context.
 */
void smc_ib_name(const struct smc_ib_device *dev, char name[IB_DEVICE_NAME_MAX])
{
	spin_lock_bh(&names_lock);
	memcpy(name, dev->name, IB_DEVICE_NAME_MAX);
	spin_unlock_bh(&names_lock);
}

/* MAC of the netdev behind the port's first GID; false if it has none. */
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
		return found;	/* tables are long and, behind this one, mostly empty */
	}
	return false;
}

static void ib_find_peer_mac(void)
{
	struct smc_ib_device *dev;
	u8 mac[ETH_ALEN];
	unsigned int p;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		for (p = ib_first_port(dev); p <= ib_last_port(dev); p++) {
			if (smc_ib_port_active(dev, p) && port_get_mac(dev, p, mac)) {
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
 * Runs in a work of the RDMA core, after its caches were updated. @dev stays: the
 * handler is unregistered, which waits for us, before remove drops its reference.
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

/* Largest path MTU that every port of use takes; 0 if there is no such port. */
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
 * The device must not go while verbs objects of ours are on it. Who may still hold
 * a reference: links (device_gone makes their groups fail them), and handshakes with
 * a path in hand, whose waits have deadlines. None of them needs this thread.
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

/* What the PNET table says of a device goes on to be said of it. */
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
			smc_pnet_table_rename_port(net, old, ibdev->name);
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

/* Under RTNL: groups are looked at from a work. */
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
 * smc_ib_init() - begin to use RoCE devices
 * @events: table of the group layer; called from here on, also before return
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
 * smc_ib_exit() - stop using RoCE devices
 *
 * Waits for the removal from every device, that is for the last link.
 */
void smc_ib_exit(void)
{
	unregister_netdevice_notifier(&ib_netdev_nb);
	cancel_work_sync(&ib_mtu_work);
	ib_unregister_client(&smc_client);
	/* links drop their device in an RCU callback, which may not have returned yet */
	rcu_barrier();
}
