// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PNET table: the netdevs and RoCE ports that, according to the administrator, are on the same
 * physical network. One table per namespace. Entries are made by name, also for devices that do not
 * exist yet. An entry follows its device when the device is renamed, as the cable stays the same.
 * When the device goes, the entry waits for the next device of that name. The table holds no
 * references on devices.
 */
#include <linux/ctype.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/rdma/pnet_table.h>

/**
 * struct pnet_slot - an entry in the table
 * @node: in the list of the table, in order of creation
 * @num: sequence number, from 1 on
 * @e: the entry
 */
struct pnet_slot {
	struct list_head node;
	unsigned long num;
	struct smc_pnet_entry e;
};

/**
 * struct pnet_table - entries of one namespace
 * @lock: protects all members; leaf, BHs off
 * @slots: at most one per netdev, and one per RoCE device name and port
 * @count: number of them
 * @made: last &pnet_slot.num that was assigned
 */
struct pnet_table {
	spinlock_t lock;
	struct list_head slots;
	u32 count;
	unsigned long made;
};

static unsigned int pnet_table_id __read_mostly;

static struct pnet_table *pnet_table_get(const struct net *net)
{
	return net_generic(net, pnet_table_id);
}

/**
 * smc_pnet_parse_id() - Convert a PNET ID into the form that is stored and compared
 * @text: input; blanks before and after the ID are ignored
 * @id: result: 1 to 16 digits and capital letters
 *
 * Any context.
 *
 * Return: 0 or -EINVAL.
 */
int smc_pnet_parse_id(const char *text, char id[SMC_PNET_ID_LEN + 1])
{
	size_t n = 0;

	while (*text == ' ')
		text++;
	for (; *text && *text != ' '; text++) {
		/* isalnum() alone accepts letters beyond ASCII. */
		if (n == SMC_PNET_ID_LEN || !isascii(*text) || !isalnum(*text))
			return -EINVAL;
		id[n++] = toupper(*text);
	}
	while (*text == ' ')
		text++;
	if (!n || *text)
		return -EINVAL;
	id[n] = '\0';
	return 0;
}

/* ---- look-ups ---- */

static struct pnet_slot *pnet_slot_by_port(struct pnet_table *t, const char *name, u8 port)
{
	struct pnet_slot *s;

	lockdep_assert_held(&t->lock);
	list_for_each_entry(s, &t->slots, node)
		if (s->e.port == port && !strcmp(s->e.name, name))
			return s;
	return NULL;
}

static struct pnet_slot *pnet_slot_by_ifindex(struct pnet_table *t, int ifindex)
{
	struct pnet_slot *s;

	lockdep_assert_held(&t->lock);
	list_for_each_entry(s, &t->slots, node)
		if (!s->e.port && s->e.ifindex == ifindex)
			return s;
	return NULL;
}

/* Find the unbound entry for a netdev name. */
static struct pnet_slot *pnet_slot_waiting(struct pnet_table *t, const char *name)
{
	struct pnet_slot *s;

	lockdep_assert_held(&t->lock);
	list_for_each_entry(s, &t->slots, node)
		if (!s->e.port && !s->e.ifindex && !strcmp(s->e.name, name))
			return s;
	return NULL;
}

static void pnet_slot_drop(struct pnet_table *t, struct pnet_slot *s)
{
	lockdep_assert_held(&t->lock);
	list_del(&s->node);
	WRITE_ONCE(t->count, t->count - 1);
	kfree(s);
}

/* ---- the administrator ---- */

static struct pnet_slot *pnet_slot_alloc(const char *id, const char *name, u8 port)
{
	struct pnet_slot *s = smc_fault_null(PNETID_ENTRY, kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT));

	if (!s)
		return NULL;
	strscpy(s->e.id, id, sizeof(s->e.id));
	strscpy(s->e.name, name, sizeof(s->e.name));
	s->e.port = port;
	return s;
}

/*
 * Bind an entry that is being made to the netdev of its name, if that exists. Return the entry that
 * the netdev, or the name, has already.
 */
static struct pnet_slot *pnet_slot_bind(struct net *net, struct pnet_table *t, struct pnet_slot *s)
{
	const struct net_device *ndev;
	struct pnet_slot *old;

	rcu_read_lock();
	ndev = dev_get_by_name_rcu(net, s->e.name);
	if (ndev) {
		s->e.ifindex = ndev->ifindex;
		/* The administrator may have used an alternative name. */
		strscpy(s->e.name, ndev->name, sizeof(s->e.name));
		old = pnet_slot_by_ifindex(t, ndev->ifindex);
	} else {
		old = pnet_slot_waiting(t, s->e.name);
	}
	rcu_read_unlock();
	return old;
}

/* Enter *@fresh and clear it, unless @old exists. Return 1, 0 (same ID), -EEXIST (another ID). */
static int pnet_slot_enter(struct pnet_table *t, struct pnet_slot **fresh,
			   const struct pnet_slot *old)
{
	if (old)
		return strcmp(old->e.id, (*fresh)->e.id) ? -EEXIST : 0;
	(*fresh)->num = ++t->made;
	list_add_tail(&(*fresh)->node, &t->slots);
	WRITE_ONCE(t->count, t->count + 1);
	*fresh = NULL;
	return 1;
}

static int pnet_table_enter(struct net *net, struct pnet_slot **eth, struct pnet_slot **ib)
{
	struct pnet_table *t = pnet_table_get(net);
	struct pnet_slot *old_eth = NULL, *old_ib = NULL;
	int done = 0;

	lockdep_assert_held(&t->lock);
	if (t->count + !!*eth + !!*ib > SMC_PNET_TABLE_MAX)
		return -ENOSPC;
	if (*eth)
		old_eth = pnet_slot_bind(net, t, *eth);
	if (*ib)
		old_ib = pnet_slot_by_port(t, (*ib)->e.name, (*ib)->e.port);
	/* Enter both or none. */
	if ((old_eth && strcmp(old_eth->e.id, (*eth)->e.id)) ||
	    (old_ib && strcmp(old_ib->e.id, (*ib)->e.id)))
		return -EEXIST;
	if (*eth)
		done |= pnet_slot_enter(t, eth, old_eth);
	if (*ib)
		done |= pnet_slot_enter(t, ib, old_ib);
	return done ? 0 : -EEXIST;
}

/**
 * smc_pnet_add() - Assign a PNET ID to a netdev, a RoCE port, or both
 * @net: namespace
 * @id: from smc_pnet_parse_id()
 * @eth: name of a netdev, which need not exist; may be NULL
 * @ib: name of a RoCE device, which need not exist, or its PCI ID; may be NULL
 * @port: port of @ib, from 1
 *
 * Process context.
 *
 * Return: 0, -EINVAL (name or port), -EEXIST (one of the two has another ID, or both have this
 * one), -ENOSPC (table full), -ENOMEM.
 */
int smc_pnet_add(struct net *net, const char *id, const char *eth, const char *ib, u8 port)
{
	struct pnet_slot *eth_slot = NULL, *ib_slot = NULL;
	struct pnet_table *t = pnet_table_get(net);
	int rc = -ENOMEM;

	if ((eth && !dev_valid_name(eth)) ||
	    (ib && (!*ib || strlen(ib) >= IB_DEVICE_NAME_MAX || !port ||
		    port > SMC_PNET_PORTS_MAX)))
		return -EINVAL;
	if (eth)
		eth_slot = pnet_slot_alloc(id, eth, 0);
	if (ib)
		ib_slot = pnet_slot_alloc(id, ib, port);
	if ((!eth || eth_slot) && (!ib || ib_slot)) {
		spin_lock_bh(&t->lock);
		rc = pnet_table_enter(net, &eth_slot, &ib_slot);
		spin_unlock_bh(&t->lock);
	}
	kfree(eth_slot);
	kfree(ib_slot);
	return rc;
}

/* Drop the entries with this ID; NULL: all. */
static int pnet_table_drop(struct net *net, const char *id)
{
	struct pnet_table *t = pnet_table_get(net);
	struct pnet_slot *s, *next;
	int rc = -ENOENT;

	spin_lock_bh(&t->lock);
	list_for_each_entry_safe(s, next, &t->slots, node) {
		if (id && strcmp(s->e.id, id))
			continue;
		pnet_slot_drop(t, s);
		rc = 0;
	}
	spin_unlock_bh(&t->lock);
	return rc;
}

/**
 * smc_pnet_del() - Drop all entries with a PNET ID
 * @net: namespace
 * @id: from smc_pnet_parse_id()
 *
 * Any context but hard interrupt.
 *
 * Return: 0 or -ENOENT.
 */
int smc_pnet_del(struct net *net, const char *id)
{
	return pnet_table_drop(net, id);
}

/**
 * smc_pnet_flush() - Drop all entries of a namespace
 * @net: namespace
 *
 * Any context but hard interrupt.
 */
void smc_pnet_flush(struct net *net)
{
	pnet_table_drop(net, NULL);
}

/**
 * smc_pnet_get_next() - Get the next entry of a namespace
 * @net: namespace
 * @pos: position: 0 for the first call; set to that of the entry found
 * @id: only entries with this ID; NULL: all
 * @out: the entry
 *
 * If entries are made or dropped between two calls, the others are still found exactly once.
 * Any context but hard interrupt.
 *
 * Return: false if there is none.
 */
bool smc_pnet_get_next(struct net *net, unsigned long *pos, const char *id,
		       struct smc_pnet_entry *out)
{
	struct pnet_table *t = pnet_table_get(net);
	bool found = false;
	struct pnet_slot *s;

	spin_lock_bh(&t->lock);
	list_for_each_entry(s, &t->slots, node) {
		if (s->num <= *pos || (id && strcmp(s->e.id, id)))
			continue;
		*pos = s->num;
		*out = s->e;
		found = true;
		break;
	}
	spin_unlock_bh(&t->lock);
	return found;
}

/* ---- look-ups by device ---- */

/**
 * smc_pnet_find_netdev() - Get the PNET ID that was assigned to a netdev itself
 * @net: namespace; a netdev of another one has no PNET ID here
 * @ndev: netdev
 * @id: result
 *
 * Any context but hard interrupt.
 *
 * Return: false if it has none.
 */
bool smc_pnet_find_netdev(struct net *net, const struct net_device *ndev,
			  char id[SMC_PNET_ID_LEN + 1])
{
	struct pnet_table *t = pnet_table_get(net);
	const struct pnet_slot *s;

	if (!READ_ONCE(t->count) || !net_eq(dev_net(ndev), net))
		return false;
	spin_lock_bh(&t->lock);
	s = pnet_slot_by_ifindex(t, ndev->ifindex);
	if (s)
		strscpy(id, s->e.id, SMC_PNET_ID_LEN + 1);
	spin_unlock_bh(&t->lock);
	return s;
}

/**
 * smc_pnet_find_port() - Get the PNET ID that was assigned to a RoCE port itself
 * @net: namespace
 * @name: name of its device
 * @parent: name of the parent device (PCI ID), NULL if there is none
 * @port: port number
 * @id: result
 *
 * Any context but hard interrupt.
 *
 * Return: false if it has none.
 */
bool smc_pnet_find_port(struct net *net, const char *name, const char *parent, u8 port,
			char id[SMC_PNET_ID_LEN + 1])
{
	struct pnet_table *t = pnet_table_get(net);
	const struct pnet_slot *s;

	if (!READ_ONCE(t->count) || !port)
		return false;
	spin_lock_bh(&t->lock);
	s = pnet_slot_by_port(t, name, port);
	if (!s && parent)
		s = pnet_slot_by_port(t, parent, port);
	if (s)
		strscpy(id, s->e.id, SMC_PNET_ID_LEN + 1);
	spin_unlock_bh(&t->lock);
	return s;
}

/**
 * smc_pnet_has_port() - Check whether any RoCE port has a PNET ID
 * @net: namespace
 * @id: PNET ID
 *
 * Any context but hard interrupt.
 *
 * Return: true if there is an entry for a RoCE port with @id.
 */
bool smc_pnet_has_port(struct net *net, const char *id)
{
	struct pnet_table *t = pnet_table_get(net);
	bool found = false;
	struct pnet_slot *s;

	spin_lock_bh(&t->lock);
	list_for_each_entry(s, &t->slots, node)
		found |= s->e.port && !strcmp(s->e.id, id);
	spin_unlock_bh(&t->lock);
	return found;
}

/* ---- devices that appear, disappear or are renamed ---- */

/**
 * smc_pnet_rename_port() - Follow a RoCE device to its new name
 * @net: namespace that sees the device
 * @from: old name
 * @to: new name
 *
 * An entry of the device replaces one that waited for a device of the new name. Any context but
 * hard interrupt.
 */
void smc_pnet_rename_port(struct net *net, const char *from, const char *to)
{
	struct pnet_table *t = pnet_table_get(net);
	struct pnet_slot *s, *waiting;
	u8 port;

	spin_lock_bh(&t->lock);
	for (port = 1; port <= SMC_PNET_PORTS_MAX; port++) {
		s = pnet_slot_by_port(t, from, port);
		if (!s)
			continue;
		waiting = pnet_slot_by_port(t, to, port);
		if (waiting)
			pnet_slot_drop(t, waiting);
		strscpy(s->e.name, to, sizeof(s->e.name));
	}
	spin_unlock_bh(&t->lock);
}

static void pnet_netdev_named(struct pnet_table *t, const struct net_device *ndev)
{
	struct pnet_slot *s, *waiting;

	spin_lock_bh(&t->lock);
	s = pnet_slot_by_ifindex(t, ndev->ifindex);
	waiting = pnet_slot_waiting(t, ndev->name);
	if (s) {
		strscpy(s->e.name, ndev->name, sizeof(s->e.name));
		if (waiting)
			pnet_slot_drop(t, waiting);
	} else if (waiting) {
		waiting->e.ifindex = ndev->ifindex;
	}
	spin_unlock_bh(&t->lock);
}

static void pnet_netdev_gone(struct pnet_table *t, const struct net_device *ndev)
{
	struct pnet_slot *s;

	spin_lock_bh(&t->lock);
	s = pnet_slot_by_ifindex(t, ndev->ifindex);
	if (s)
		s->e.ifindex = 0;
	spin_unlock_bh(&t->lock);
}

/* Called under RTNL. */
static int pnet_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct pnet_table *t = pnet_table_get(dev_net(ndev));

	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_CHANGENAME:
		pnet_netdev_named(t, ndev);
		break;
	case NETDEV_UNREGISTER:
		pnet_netdev_gone(t, ndev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block pnet_netdev_nb = {
	.notifier_call = pnet_netdev_event,
};

static int __net_init pnet_table_net_init(struct net *net)
{
	struct pnet_table *t = pnet_table_get(net);

	spin_lock_init(&t->lock);
	INIT_LIST_HEAD(&t->slots);
	return 0;
}

static void __net_exit pnet_table_net_exit(struct net *net)
{
	smc_pnet_flush(net);
}

static struct pernet_operations pnet_table_net_ops = {
	.init = pnet_table_net_init,
	.exit = pnet_table_net_exit,
	.id = &pnet_table_id,
	.size = sizeof(struct pnet_table),
};

/**
 * smc_pnet_init() - Create an empty table for each namespace
 *
 * Process context.
 *
 * Return: 0 or -errno.
 */
int __init smc_pnet_init(void)
{
	int rc;

	rc = smc_fault_rc(PNETID_PERNET, -ENOMEM, register_pernet_subsys(&pnet_table_net_ops));
	if (rc)
		return rc;
	rc = smc_fault_rc(PNETID_NOTIFIER, -ENOMEM, register_netdevice_notifier(&pnet_netdev_nb));
	if (rc)
		unregister_pernet_subsys(&pnet_table_net_ops);
	return rc;
}

/**
 * smc_pnet_exit() - Undo smc_pnet_init()
 *
 * Process context.
 */
void smc_pnet_exit(void)
{
	unregister_netdevice_notifier(&pnet_netdev_nb);
	unregister_pernet_subsys(&pnet_table_net_ops);
}
