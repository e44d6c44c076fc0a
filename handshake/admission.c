// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places for handshakes: so many for the module (its workers), so many for a namespace,
 * and within each nobody may hold more than three times what is free. So whoever comes
 * alone gets three quarters, and there is always something left for the next one.
 */
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/in6.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/handshake/admission.h>

#define ADMISSION_SHARE	3

/**
 * struct limit_net - the places of one namespace
 * @lock: guards @side; leaf, BH off
 * @side: [0] client, [1] server
 */
struct admission_net {
	spinlock_t lock;	/* see above */
	struct smc_limit side[2];
};

static unsigned int admission_net_id __read_mostly;
/* the key keeps peers from choosing addresses that share a counter with somebody else's */
static siphash_key_t admission_host_key __ro_after_init;
/* places in use, all namespaces; [0] client, [1] server */
static atomic_t admission_total[2];

/**
 * smc_limit_host() - name of a peer host
 * @peer: its address, IPv4 as v4-mapped
 *
 * Return: the name.
 */
u64 smc_limit_host(const struct in6_addr *peer)
{
	/* who has one IPv6 address has the other 2^64 of the subnet as well */
	size_t len = ipv6_addr_v4mapped(peer) ? sizeof(*peer) : sizeof(*peer) / 2;
	struct in6_addr host __aligned(SIPHASH_ALIGNMENT) = {};

	memcpy(&host, peer, len);
	return siphash(&host, sizeof(host), &admission_host_key);
}

static unsigned int admission_bucket(u64 host, int row)
{
	return (host >> (32 * row)) % SMC_LIMIT_BUCKETS;
}

/**
 * smc_limit_add() - one place more in use
 * @l: limit
 * @host: by whom
 */
void smc_limit_add(struct smc_limit *l, u64 host)
{
	int i;

	WRITE_ONCE(l->used, l->used + 1);
	for (i = 0; i < SMC_LIMIT_ROWS; i++)
		l->by_host[i][admission_bucket(host, i)]++;
}

/**
 * smc_limit_del() - undo smc_limit_add()
 * @l: limit
 * @host: the same
 */
void smc_limit_del(struct smc_limit *l, u64 host)
{
	int i;

	WRITE_ONCE(l->used, l->used - 1);
	for (i = 0; i < SMC_LIMIT_ROWS; i++)
		l->by_host[i][admission_bucket(host, i)]--;
}

/**
 * smc_limit_by_host() - how many places has this host
 * @l: limit
 * @host: see smc_limit_host()
 *
 * Return: never too few; too many if others share both of its counters.
 */
u32 smc_limit_by_host(const struct smc_limit *l, u64 host)
{
	return min(l->by_host[0][admission_bucket(host, 0)], l->by_host[1][admission_bucket(host, 1)]);
}

/**
 * smc_limit_any() - may there be a host with so many places
 * @l: limit
 * @n: how many
 *
 * Return: false: there is none. True: perhaps.
 */
bool smc_limit_any(const struct smc_limit *l, u32 n)
{
	int i;

	for (i = 0; i < SMC_LIMIT_BUCKETS; i++)
		if (l->by_host[0][i] >= n)
			return true;
	return false;
}

static bool admission_is_fair(u32 mine, u32 used, u32 max)
{
	return used < max && mine < ADMISSION_SHARE * (max - used);
}

static struct admission_net *admission_net_of(const struct net *net)
{
	return net_generic(net, admission_net_id);
}

/* May the namespace have one more? Its own limit, and its share of the module's. */
static bool admission_net_has_room(struct net *net, const struct smc_limit *l, bool server)
{
	u32 used = READ_ONCE(l->used);

	return used < READ_ONCE(smc_policy_net(net)->hs_max) &&
	       admission_is_fair(used, atomic_read(&admission_total[server]), SMC_LIMIT_TOTAL);
}

/**
 * smc_limit_begin() - a place for a handshake
 * @net: namespace
 * @server: side
 * @host: the peer's
 *
 * Return: true: it is taken, and smc_limit_end() is owed.
 */
bool smc_limit_begin(struct net *net, bool server, u64 host)
{
	struct admission_net *ln = admission_net_of(net);
	struct smc_limit *l = &ln->side[server];
	bool ok;

	spin_lock_bh(&ln->lock);
	ok = admission_net_has_room(net, l, server) &&
	     admission_is_fair(smc_limit_by_host(l, host), l->used, READ_ONCE(smc_policy_net(net)->hs_max)) &&
	     atomic_add_unless(&admission_total[server], 1, SMC_LIMIT_TOTAL);
	if (ok)
		smc_limit_add(l, host);
	spin_unlock_bh(&ln->lock);
	return ok;
}

/**
 * smc_limit_end() - give a place back
 * @net: as at smc_limit_begin()
 * @server: the same
 * @host: the same
 */
void smc_limit_end(struct net *net, bool server, u64 host)
{
	struct admission_net *ln = admission_net_of(net);

	spin_lock_bh(&ln->lock);
	smc_limit_del(&ln->side[server], host);
	spin_unlock_bh(&ln->lock);
	atomic_dec(&admission_total[server]);
}

/**
 * smc_limit_full() - is there no place even for a host that has none
 * @net: namespace
 * @server: side
 *
 * Any context; a snapshot.
 *
 * Return: true if so.
 */
bool smc_limit_full(struct net *net, bool server)
{
	return !admission_net_has_room(net, &admission_net_of(net)->side[server], server);
}

static int __net_init admission_net_init(struct net *net)
{
	spin_lock_init(&admission_net_of(net)->lock);
	return 0;
}

static struct pernet_operations admission_net_ops = {
	.init = admission_net_init,
	.id = &admission_net_id,
	.size = sizeof(struct admission_net),
};

/**
 * smc_limit_init() - be ready to count in all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_limit_init(void)
{
	get_random_bytes(&admission_host_key, sizeof(admission_host_key));
	return smc_fault_rc(LIMIT_PERNET, -ENOMEM, register_pernet_subsys(&admission_net_ops));
}

/**
 * smc_limit_exit() - undo smc_limit_init(); no handshake is left
 */
void smc_limit_exit(void)
{
	unregister_pernet_subsys(&admission_net_ops);
}
