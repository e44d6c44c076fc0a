// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peer hosts, and what each may cost us: link groups, and memory of regions.
 *
 * Any host that reaches a listener can begin first contacts, each of which gets a group with a
 * queue pair, an RMB and a send region; connections that it aborts leave RMBEs in quarantine.
 * Three limits keep that from taking the memory of all others
 * (Documentation/decisions/0019-limits-per-host.md):
 * - a host has at most net.smc.smcr_max_host_groups groups;
 * - a host takes at most net.smc.smcr_max_host_kb of memory, by default an eighth of the next;
 * - all groups, queue pairs and regions of the machine together take at most
 *   net.smc.smcr_max_mem_kb, by default a sixteenth of its memory, and a namespace at most three
 *   times of what the others have left.
 * The hosts of an IPv6 /64 together get what four hosts get. Memory that connections can do without
 * is taken only up to half of each limit.
 * At a limit, new connections are TCP. Connections that stand go on; one that still has its first
 * send ring may have to wait for a larger one.
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>

/* Default of smc_host_mem_max: this part of the memory of the machine. */
#define HOST_MEM_PART		16
/* Default of net.smc.smcr_max_host_kb: this part of smc_host_mem_max. */
#define HOST_SHARE_PART		8
/* All hosts of an IPv6 /64, whose addresses one host may use, together: so many times as much. */
#define HOST_SUBNET_TIMES	4
/* Charged to the cgroup of the connection that needs it, where no process is killed at a limit. */
#define HOST_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
/* A namespace may have this many times the memory that is left for all. */
#define HOST_NET_SHARE		3

/* KiB that the regions of all namespaces may take, 0: no limit (sysctl smcr_max_mem_kb). */
unsigned int smc_host_mem_max __read_mostly;

static struct rhashtable hosts;		/* under hosts_mutex */
static DEFINE_MUTEX(hosts_mutex);
/* Protects counters: of all hosts, smc_settings.mem_bytes, the next one. Leaf, any context. */
static DEFINE_SPINLOCK(hosts_lock);
static u64 hosts_bytes;			/* of all hosts */

static const struct rhashtable_params hosts_params = {
	.key_len = sizeof(struct smc_host_key),
	.key_offset = offsetof(struct smc_host, key),
	.head_offset = offsetof(struct smc_host, node),
	.automatic_shrinking = true,
};

/**
 * smc_host_addr() - Return what a host may use of addresses
 * @peer: an address of the host, IPv4 as v4-mapped
 *
 * A host with one IPv6 address can use all 2^64 addresses of its /64.
 *
 * Return: the IPv4 address, or the prefix of 64 bits.
 */
struct in6_addr smc_host_addr(const struct in6_addr *peer)
{
	struct in6_addr addr = *peer;

	if (!ipv6_addr_v4mapped(peer))
		memset(&addr.s6_addr[8], 0, 8);
	return addr;
}

/*
 * Allocate a host that may turn out to be known. Not under the mutex: a cgroup that is short of
 * memory would delay all others.
 */
static struct smc_host *host_alloc(void)
{
	return smc_fault_null(HOST, kzalloc(sizeof(struct smc_host), HOST_GFP));
}

/*
 * Return the host or the /64 with a reference, or NULL: no memory. @fresh: from host_alloc(), taken
 * and set to NULL if the host was not known.
 */
static struct smc_host *host_find_or_add(const struct smc_host_key *key, struct smc_host **fresh)
{
	struct smc_host *host;

	lockdep_assert_held(&hosts_mutex);
	host = rhashtable_lookup_fast(&hosts, key, hosts_params);
	if (host) {
		refcount_inc(&host->ref);
		return host;
	}
	host = *fresh;
	if (!host)
		return NULL;
	host->key = *key;
	refcount_set(&host->ref, 1);
	if (smc_fault_rc(HOST_INSERT, -ENOMEM,
			 rhashtable_insert_fast(&hosts, &host->node, hosts_params)))
		return NULL;
	*fresh = NULL;
	return host;
}

static void host_put_locked(struct smc_host *host)
{
	lockdep_assert_held(&hosts_mutex);
	if (!refcount_dec_and_test(&host->ref))
		return;
	/* All users of the table hold the mutex. */
	rhashtable_remove_fast(&hosts, &host->node, hosts_params);
	WARN_ON_ONCE(host->lgrs || host->lgrs_ending || host->bytes);
	if (host->subnet)
		host_put_locked(host->subnet);
	kfree(host);
}

/**
 * smc_host_get() - Return the host with an address, with a reference
 * @net: our namespace; outlives the host
 * @peer: address, IPv4 as v4-mapped
 *
 * Process context, sleeps.
 *
 * Return: the host, to be returned with smc_host_put(); NULL: no memory.
 */
struct smc_host *smc_host_get(struct net *net, const struct in6_addr *peer)
{
	bool has_subnet = !ipv6_addr_v4mapped(peer);
	struct smc_host *fresh, *fresh_subnet;
	struct smc_host_key key;
	struct smc_host *host;

	fresh = host_alloc();
	fresh_subnet = has_subnet ? host_alloc() : NULL;
	memset(&key, 0, sizeof(key));
	key.net = net;
	key.addr = *peer;
	mutex_lock(&hosts_mutex);
	host = host_find_or_add(&key, &fresh);
	if (host && !host->subnet && has_subnet) {
		key.addr = smc_host_addr(peer);
		key.subnet = true;
		host->subnet = host_find_or_add(&key, &fresh_subnet);
		if (!host->subnet) {
			host_put_locked(host);
			host = NULL;
		}
	}
	mutex_unlock(&hosts_mutex);
	kfree(fresh);
	kfree(fresh_subnet);
	return host;
}

/**
 * smc_host_put() - Drop a reference on a host
 * @host: host
 *
 * Process context, sleeps.
 */
void smc_host_put(struct smc_host *host)
{
	mutex_lock(&hosts_mutex);
	host_put_locked(host);
	mutex_unlock(&hosts_mutex);
}

/* ---- groups ---- */

/* Return how many groups a host, or a /64, may have; U32_MAX: any number. */
static u32 host_max_lgrs(const struct smc_host *host)
{
	u64 max = READ_ONCE(smc_settings_get(host->key.net)->host_groups);

	if (host->key.subnet)
		max *= HOST_SUBNET_TIMES;
	return max ? min_t(u64, max, U32_MAX) : U32_MAX;
}

/* Return true if a host, or a /64, may have one more group. One may end for it besides. */
static bool host_fits_lgr(const struct smc_host *host)
{
	u32 max = host_max_lgrs(host);

	lockdep_assert_held(&hosts_lock);
	return host->lgrs < max && host->lgrs_ending <= max;
}

/**
 * smc_host_add_lgr() - Count one more group, unless the host has too many
 * @host: host
 *
 * Groups that end do not take the places of new ones. No group is added while more than the limit
 * are ending. Any context.
 *
 * Return: true if the group was counted: smc_host_end_lgr() and smc_host_del_lgr() follow. False at
 * net.smc.smcr_max_host_groups.
 */
bool smc_host_add_lgr(struct smc_host *host)
{
	unsigned long flags;
	struct smc_host *h;
	bool ok = true;

	spin_lock_irqsave(&hosts_lock, flags);
	for (h = host; h && ok; h = h->subnet)
		ok = host_fits_lgr(h);
	for (h = host; h && ok; h = h->subnet)
		h->lgrs++;
	spin_unlock_irqrestore(&hosts_lock, flags);
	return ok;
}

/**
 * smc_host_may_evict() - Check whether a group of the host may end early, for a new one
 * @host: host that has as many groups as it may have
 *
 * Any context.
 *
 * Return: false if so many groups of the host, or of its /64, live or end that the new one would be
 * refused all the same.
 */
bool smc_host_may_evict(struct smc_host *host)
{
	unsigned long flags;
	bool may = true;

	spin_lock_irqsave(&hosts_lock, flags);
	for (; host && may; host = host->subnet)
		may = host->lgrs <= host_max_lgrs(host) &&
		      host->lgrs_ending < host_max_lgrs(host);
	spin_unlock_irqrestore(&hosts_lock, flags);
	return may;
}

/**
 * smc_host_end_lgr() - A group of the host is dead
 * @host: host
 *
 * Any context.
 */
void smc_host_end_lgr(struct smc_host *host)
{
	unsigned long flags;

	spin_lock_irqsave(&hosts_lock, flags);
	for (; host; host = host->subnet) {
		host->lgrs--;
		host->lgrs_ending++;
	}
	spin_unlock_irqrestore(&hosts_lock, flags);
}

/**
 * smc_host_del_lgr() - A dead group of the host is freed
 * @host: host
 */
void smc_host_del_lgr(struct smc_host *host)
{
	unsigned long flags;

	spin_lock_irqsave(&hosts_lock, flags);
	for (; host; host = host->subnet)
		host->lgrs_ending--;
	spin_unlock_irqrestore(&hosts_lock, flags);
}

/* ---- memory ---- */

/*
 * Return true if @times of all fits into @max when a namespace that has @mine bytes takes @bytes.
 * As for handshakes (handshake/admission.c), its share depends on what it leaves to others.
 */
static bool host_sum_fits(u64 mine, u64 bytes, u32 times, u64 max)
{
	lockdep_assert_held(&hosts_lock);
	return times * (hosts_bytes + bytes) <= max &&
	       times * (mine + bytes) <= HOST_NET_SHARE * (max - hosts_bytes - bytes);
}

/* The same for a host, or a /64; @share: bytes for a host, 0: no limit. */
static bool host_share_fits(const struct smc_host *host, u64 bytes, u32 times, u64 share)
{
	lockdep_assert_held(&hosts_lock);
	if (host->key.subnet)
		share *= HOST_SUBNET_TIMES;
	return !share || times * (host->bytes + bytes) <= share;
}

/* Return 0 if @times of what is in use and @bytes fit below each limit, or -EUSERS or -ENOBUFS. */
static int host_check_limits(const struct smc_host *host, u64 bytes, u32 times)
{
	struct smc_settings *sn = smc_settings_get(host->key.net);
	u64 max = (u64)READ_ONCE(smc_host_mem_max) << 10;
	u64 share = (u64)READ_ONCE(sn->host_mem) << 10 ?: max / HOST_SHARE_PART;

	lockdep_assert_held(&hosts_lock);
	for (; host; host = host->subnet)
		if (!host_share_fits(host, bytes, times, share))
			return -EUSERS;
	return max && !host_sum_fits(sn->mem_bytes, bytes, times, max) ? -ENOBUFS : 0;
}

/* Charge @bytes if @spare more, and @times of all that, fit below each limit. */
static int host_charge(struct smc_host *host, u64 bytes, u64 spare, u32 times)
{
	struct smc_settings *sn = smc_settings_get(host->key.net);
	unsigned long flags;
	struct smc_host *h;
	int rc;

	spin_lock_irqsave(&hosts_lock, flags);
	rc = host_check_limits(host, bytes + spare, times);
	if (!rc) {
		for (h = host; h; h = h->subnet)
			h->bytes += bytes;
		sn->mem_bytes += bytes;
		hosts_bytes += bytes;
	}
	spin_unlock_irqrestore(&hosts_lock, flags);
	return rc;
}

/**
 * smc_host_charge() - Charge memory to a host, its namespace and the machine
 * @host: host
 * @bytes: of a region, a group or a queue pair
 * @spare: bytes that must be left at each limit
 *
 * Any context.
 *
 * Return: 0: to be returned with smc_host_uncharge(). -EUSERS: the host, or its /64, has its share
 * (net.smc.smcr_max_host_kb). -ENOBUFS: the limit of the machine (net.smc.smcr_max_mem_kb), or the
 * part of it that this namespace may have.
 */
int smc_host_charge(struct smc_host *host, u64 bytes, u64 spare)
{
	return host_charge(host, bytes, spare, 1);
}

/**
 * smc_host_charge_extra() - Charge memory that connections can do without
 * @host: host
 * @bytes: of a region
 *
 * Only while half of each limit stays free, for connections that come. Any context.
 *
 * Return: as smc_host_charge().
 */
int smc_host_charge_extra(struct smc_host *host, u64 bytes)
{
	return host_charge(host, bytes, 0, 2);
}

/**
 * smc_host_has_plenty() - Check whether half of each limit of memory is free
 * @host: host
 *
 * Any context. A snapshot.
 *
 * Return: true if so: smc_host_charge_extra() may succeed.
 */
bool smc_host_has_plenty(const struct smc_host *host)
{
	unsigned long flags;
	bool plenty;

	spin_lock_irqsave(&hosts_lock, flags);
	plenty = !host_check_limits(host, 0, 2);
	spin_unlock_irqrestore(&hosts_lock, flags);
	return plenty;
}

/**
 * smc_host_uncharge() - Undo smc_host_charge()
 * @host: host
 * @bytes: as charged
 *
 * Any context.
 */
void smc_host_uncharge(struct smc_host *host, u64 bytes)
{
	unsigned long flags;

	spin_lock_irqsave(&hosts_lock, flags);
	smc_settings_get(host->key.net)->mem_bytes -= bytes;
	hosts_bytes -= bytes;
	for (; host; host = host->subnet)
		host->bytes -= bytes;
	spin_unlock_irqrestore(&hosts_lock, flags);
}

/* ---- start and stop ---- */

/**
 * smc_host_init() - Create the table of hosts, and set the limit of memory
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_host_init(void)
{
	u64 kb = (u64)totalram_pages() << (PAGE_SHIFT - 10);

	smc_host_mem_max = min_t(u64, kb / HOST_MEM_PART, UINT_MAX);
	return smc_fault_rc(HOST_TABLE, -ENOMEM, rhashtable_init(&hosts, &hosts_params));
}

/**
 * smc_host_exit() - Undo smc_host_init(); no group may be left
 */
void smc_host_exit(void)
{
	rhashtable_destroy(&hosts);
}
