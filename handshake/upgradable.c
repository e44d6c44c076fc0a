// SPDX-License-Identifier: GPL-2.0-only
/*
 * Servers whose connections may begin as TCP and change over to RDMA (decision 0021): a rendezvous
 * with such a peer has succeeded there. A program that does not use SMC may have another port of
 * the same host, and a load balancer another host behind the same address; so the key is address
 * and port, and a server that does not know three connections in a row is forgotten. So is, at
 * once, one for which no group had a place, or that refuses: the next rendezvous makes a group, or
 * says why not.
 *
 * The memory is a cache of fixed size, by hash; a new server replaces the one that has its place.
 */
#include <linux/in6.h>
#include <linux/lockdep.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/handshake/upgradable.h>

#define UPGRADABLE_SERVERS	1024
/* The memory can be done without: at the limit of a cgroup nothing is killed for it. */
#define UPGRADABLE_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
/* Connections in a row that a server does not know, after which it is forgotten. */
#define UNKNOWN_MAX		3

/**
 * struct upgradable_server - one server
 * @addr: its address, IPv4 as v4-mapped
 * @port: its TCP port; 0: the place is free
 * @unknown: connections in a row that it did not know
 */
struct upgradable_server {
	struct in6_addr addr;
	u16 port;
	u16 unknown;
};

/**
 * struct upgradable - the servers that one namespace knows
 * @lock: protects the members and the servers; innermost, BH disabled
 * @servers: UPGRADABLE_SERVERS; NULL until there is one
 */
struct upgradable {
	spinlock_t lock;	/* see above */
	struct upgradable_server *servers;
};

static unsigned int upgradable_id __read_mostly;
/* Random: servers cannot choose addresses that take the places of others. */
static siphash_key_t upgradable_key __ro_after_init;

static struct upgradable *upgradable_of(const struct net *net)
{
	return net_generic(net, upgradable_id);
}

static struct upgradable_server *upgradable_place(struct upgradable *u,
						  const struct in6_addr *addr, u16 port)
{
	struct {
		struct in6_addr addr;
		u64 port;
	} key __aligned(SIPHASH_ALIGNMENT) = { *addr, port };

	lockdep_assert_held(&u->lock);
	if (!u->servers)
		return NULL;
	return &u->servers[siphash(&key, sizeof(key), &upgradable_key) % UPGRADABLE_SERVERS];
}

static bool upgradable_is(const struct upgradable_server *s, const struct in6_addr *addr, u16 port)
{
	return s && port && s->port == port && ipv6_addr_equal(&s->addr, addr);
}

/**
 * smc_upgradable_add() - remember a server
 * @net: namespace
 * @addr: its address, IPv4 as v4-mapped
 * @port: its TCP port
 *
 * Process context.
 */
void smc_upgradable_add(struct net *net, const struct in6_addr *addr, u16 port)
{
	struct upgradable *u = upgradable_of(net);
	struct upgradable_server *fresh = NULL, *s;

	if (!READ_ONCE(u->servers))
		fresh = kvcalloc(UPGRADABLE_SERVERS, sizeof(*fresh), UPGRADABLE_GFP);
	spin_lock_bh(&u->lock);
	if (!u->servers && fresh) {
		WRITE_ONCE(u->servers, fresh);
		fresh = NULL;
	}
	s = upgradable_place(u, addr, port);
	if (s)
		*s = (struct upgradable_server){ .addr = *addr, .port = port };
	spin_unlock_bh(&u->lock);
	kvfree(fresh);
}

/**
 * smc_upgradable_knows() - check whether a server is remembered
 * @net: namespace
 * @addr: its address, IPv4 as v4-mapped
 * @port: its TCP port
 *
 * Any context.
 *
 * Return: true if so.
 */
bool smc_upgradable_knows(struct net *net, const struct in6_addr *addr, u16 port)
{
	struct upgradable *u = upgradable_of(net);
	bool known;

	if (!READ_ONCE(u->servers))
		return false;
	spin_lock_bh(&u->lock);
	known = upgradable_is(upgradable_place(u, addr, port), addr, port);
	spin_unlock_bh(&u->lock);
	return known;
}

/**
 * smc_upgradable_answered() - note what a server has said to a request
 * @net: namespace
 * @addr: its address, IPv4 as v4-mapped
 * @port: its TCP port
 * @unknown: that it does not know the connection; once for a connection
 *
 * Any context.
 */
void smc_upgradable_answered(struct net *net, const struct in6_addr *addr, u16 port, bool unknown)
{
	struct upgradable *u = upgradable_of(net);
	struct upgradable_server *s;

	spin_lock_bh(&u->lock);
	s = upgradable_place(u, addr, port);
	if (upgradable_is(s, addr, port)) {
		s->unknown = unknown ? s->unknown + 1 : 0;
		if (s->unknown == UNKNOWN_MAX)
			memset(s, 0, sizeof(*s));
	}
	spin_unlock_bh(&u->lock);
}

/**
 * smc_upgradable_forget() - forget a server: the next connection does a rendezvous
 * @net: namespace
 * @addr: its address, IPv4 as v4-mapped
 * @port: its TCP port
 *
 * Any context.
 */
void smc_upgradable_forget(struct net *net, const struct in6_addr *addr, u16 port)
{
	struct upgradable *u = upgradable_of(net);
	struct upgradable_server *s;

	spin_lock_bh(&u->lock);
	s = upgradable_place(u, addr, port);
	if (upgradable_is(s, addr, port))
		memset(s, 0, sizeof(*s));
	spin_unlock_bh(&u->lock);
}

static int __net_init upgradable_net_init(struct net *net)
{
	spin_lock_init(&upgradable_of(net)->lock);
	return 0;
}

static void __net_exit upgradable_net_exit(struct net *net)
{
	kvfree(upgradable_of(net)->servers);
}

static struct pernet_operations upgradable_net_ops = {
	.init = upgradable_net_init,
	.exit = upgradable_net_exit,
	.id = &upgradable_id,
	.size = sizeof(struct upgradable),
};

/**
 * smc_upgradable_init() - set up the memory of all namespaces
 *
 * Called when the module starts.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_upgradable_init(void)
{
	get_random_bytes(&upgradable_key, sizeof(upgradable_key));
	return smc_fault_rc(UPGRADABLE_PERNET, -ENOMEM,
			    register_pernet_subsys(&upgradable_net_ops));
}

/** smc_upgradable_exit() - undo smc_upgradable_init() */
void smc_upgradable_exit(void)
{
	unregister_pernet_subsys(&upgradable_net_ops);
}
