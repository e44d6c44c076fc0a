// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits the number of concurrent handshakes: SMC_ADMISSION_TOTAL places per side for the module
 * (its workers), net.smc.hs_max places per side for a network namespace. A namespace may use at
 * most three times the module's free places, and a peer host at most three times the namespace's
 * free places. So a single host gets 75 %, and a place is always left for the next host.
 * Documentation/decisions/0008-handshake-limits.md has the reasons. Also limits how many GIDs that
 * cannot be resolved a peer host may name.
 */
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>
#include <smc/handshake/admission.h>

/* A user of places may have this many times the number of free places. */
#define ADMISSION_SHARE	3

/*
 * Any client can send any GID, and each costs us a neighbour entry and broadcasts until the look-up
 * gives up. A host may have named so many that nobody answered for, and another one each time that
 * UNRESOLVED_GAP has passed: the kernel keeps a failed neighbour entry for about a minute. Look-ups
 * that run are limited apart, so that many clients behind one address may begin at once.
 */
#define UNRESOLVED_MAX	16
#define UNRESOLVED_GAP	(4 * HZ)
#define RESOLVING_MAX	64

/**
 * struct admission_unresolved - GIDs of the hosts of one bucket
 * @resolving: number of those that are looked up now
 * @failed: number of those that nobody answered for, without those that are forgotten
 * @since: low half of jiffies when the last one was forgotten, or when the first one failed
 */
struct admission_unresolved {
	u32 resolving;
	u32 failed;
	u32 since;
};

/**
 * struct admission_net - the places of one namespace
 * @lock: protects @side and @unresolved; innermost, BH disabled
 * @side: [0] client, [1] server
 * @unresolved: by hash of the host, as smc_admission.by_host
 */
struct admission_net {
	spinlock_t lock;	/* see above */
	struct smc_admission side[2];
	struct admission_unresolved unresolved[SMC_ADMISSION_ROWS][SMC_ADMISSION_BUCKETS];
};

static unsigned int admission_net_id __read_mostly;
/* Random key: peers cannot choose addresses that share a counter with another host. */
static siphash_key_t admission_host_key __ro_after_init;
/* Places in use in all namespaces; [0] client, [1] server. */
static atomic_t admission_total[2];

/**
 * smc_admission_host() - return the ID of a peer host
 * @peer: its address, IPv4 as v4-mapped
 *
 * A host is an IPv4 address or an IPv6 /64: see smc_host_addr(). Any context.
 *
 * Return: keyed hash of the host.
 */
u64 smc_admission_host(const struct in6_addr *peer)
{
	struct in6_addr host __aligned(SIPHASH_ALIGNMENT) = smc_host_addr(peer);

	return siphash(&host, sizeof(host), &admission_host_key);
}

static unsigned int admission_bucket(u64 host, int row)
{
	return (host >> (32 * row)) % SMC_ADMISSION_BUCKETS;
}

/**
 * smc_admission_add() - count one more place in use
 * @l: counters; the caller holds the lock that protects them
 * @host: host that uses the place, see smc_admission_host()
 */
void smc_admission_add(struct smc_admission *l, u64 host)
{
	int i;

	WRITE_ONCE(l->used, l->used + 1);
	for (i = 0; i < SMC_ADMISSION_ROWS; i++)
		l->by_host[i][admission_bucket(host, i)]++;
}

/**
 * smc_admission_del() - undo smc_admission_add()
 * @l: counters; the caller holds the lock that protects them
 * @host: same as in smc_admission_add()
 */
void smc_admission_del(struct smc_admission *l, u64 host)
{
	int i;

	WRITE_ONCE(l->used, l->used - 1);
	for (i = 0; i < SMC_ADMISSION_ROWS; i++)
		l->by_host[i][admission_bucket(host, i)]--;
}

/**
 * smc_admission_count_host() - return the number of places that a host uses
 * @l: counters; the caller holds the lock that protects them
 * @host: see smc_admission_host()
 *
 * Return: the number, or more if other hosts share both counters of @host.
 */
u32 smc_admission_count_host(const struct smc_admission *l, u64 host)
{
	return min(l->by_host[0][admission_bucket(host, 0)],
		   l->by_host[1][admission_bucket(host, 1)]);
}

/**
 * smc_admission_may_exceed() - check whether a host may use a number of places
 * @l: counters; the caller holds the lock that protects them
 * @n: number of places
 *
 * Return: false if no host uses @n places or more, true if one may.
 */
bool smc_admission_may_exceed(const struct smc_admission *l, u32 n)
{
	int i;

	for (i = 0; i < SMC_ADMISSION_BUCKETS; i++)
		if (l->by_host[0][i] >= n)
			return true;
	return false;
}

/* Whether a user of @mine of the @used places may take one more: at most 3x the free ones. */
static bool admission_is_fair(u32 mine, u32 used, u32 max)
{
	return used < max && mine < ADMISSION_SHARE * (max - used);
}

static struct admission_net *admission_net_of(const struct net *net)
{
	return net_generic(net, admission_net_id);
}

/* Check the namespace's own limit and its share of the module's places. */
static bool admission_net_has_room(struct net *net, const struct smc_admission *l, bool server)
{
	u32 used = READ_ONCE(l->used);

	return used < READ_ONCE(smc_settings_get(net)->hs_max) &&
	       admission_is_fair(used, atomic_read(&admission_total[server]), SMC_ADMISSION_TOTAL);
}

/**
 * smc_admission_acquire() - take a place for a handshake
 * @net: namespace
 * @server: our side is the server
 * @host: peer host, see smc_admission_host()
 *
 * Any context but hard interrupts.
 *
 * Return: true if the place was taken; the caller calls smc_admission_release(). False if no place
 * is free for this host.
 */
bool smc_admission_acquire(struct net *net, bool server, u64 host)
{
	struct admission_net *ln = admission_net_of(net);
	struct smc_admission *l = &ln->side[server];
	bool ok;

	spin_lock_bh(&ln->lock);
	ok = admission_net_has_room(net, l, server) &&
	     admission_is_fair(smc_admission_count_host(l, host), l->used,
			       READ_ONCE(smc_settings_get(net)->hs_max)) &&
	     atomic_add_unless(&admission_total[server], 1, SMC_ADMISSION_TOTAL);
	if (ok)
		smc_admission_add(l, host);
	spin_unlock_bh(&ln->lock);
	return ok;
}

/**
 * smc_admission_release() - give back the place of a handshake
 * @net: namespace
 * @server: same as in smc_admission_acquire()
 * @host: same as in smc_admission_acquire()
 */
void smc_admission_release(struct net *net, bool server, u64 host)
{
	struct admission_net *ln = admission_net_of(net);

	spin_lock_bh(&ln->lock);
	smc_admission_del(&ln->side[server], host);
	spin_unlock_bh(&ln->lock);
	atomic_dec(&admission_total[server]);
}

/**
 * smc_admission_is_full() - check whether no place is free for any host
 * @net: namespace
 * @server: our side is the server
 *
 * Any context, lockless; the result may be outdated.
 *
 * Return: true if not even a host without a place would get one.
 */
bool smc_admission_is_full(struct net *net, bool server)
{
	return !admission_net_has_room(net, &admission_net_of(net)->side[server], server);
}

/* Forget one GID each time that UNRESOLVED_GAP has passed. */
static void admission_age_unresolved(struct admission_unresolved *u)
{
	u32 now = jiffies, n = (now - u->since) / UNRESOLVED_GAP;

	u->failed -= min(n, u->failed);
	u->since = u->failed ? u->since + n * UNRESOLVED_GAP : now;
}

/**
 * smc_admission_begin_resolve() - check whether a GID may be resolved for a host
 * @net: namespace
 * @host: peer host that has sent the GID, see smc_admission_host()
 *
 * Any context but hard interrupts.
 *
 * Return: true if so; the caller calls smc_admission_end_resolve(). False if too many GIDs of this
 * host are being resolved, or could not be resolved.
 */
bool smc_admission_begin_resolve(struct net *net, u64 host)
{
	struct admission_net *ln = admission_net_of(net);
	struct admission_unresolved *u;
	bool ok = false;
	int i;

	spin_lock_bh(&ln->lock);
	for (i = 0; i < SMC_ADMISSION_ROWS; i++) {
		u = &ln->unresolved[i][admission_bucket(host, i)];
		admission_age_unresolved(u);
		ok |= u->failed < UNRESOLVED_MAX && u->resolving < RESOLVING_MAX;
	}
	for (i = 0; ok && i < SMC_ADMISSION_ROWS; i++)
		ln->unresolved[i][admission_bucket(host, i)].resolving++;
	spin_unlock_bh(&ln->lock);
	return ok;
}

/**
 * smc_admission_end_resolve() - report the result of resolving a GID
 * @net: namespace
 * @host: same as in smc_admission_begin_resolve()
 * @resolved: true unless a neighbour was asked in vain
 */
void smc_admission_end_resolve(struct net *net, u64 host, bool resolved)
{
	struct admission_net *ln = admission_net_of(net);
	struct admission_unresolved *u;
	int i;

	spin_lock_bh(&ln->lock);
	for (i = 0; i < SMC_ADMISSION_ROWS; i++) {
		u = &ln->unresolved[i][admission_bucket(host, i)];
		u->resolving--;
		if (resolved)
			continue;
		admission_age_unresolved(u);
		u->failed++;
	}
	spin_unlock_bh(&ln->lock);
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
 * smc_admission_init() - create the counters of all namespaces
 *
 * Called when the module starts.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_admission_init(void)
{
	get_random_bytes(&admission_host_key, sizeof(admission_host_key));
	return smc_fault_rc(LIMIT_PERNET, -ENOMEM, register_pernet_subsys(&admission_net_ops));
}

/**
 * smc_admission_exit() - undo smc_admission_init(); no handshake may be left
 */
void smc_admission_exit(void)
{
	unregister_pernet_subsys(&admission_net_ops);
}
