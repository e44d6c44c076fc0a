// SPDX-License-Identifier: GPL-2.0-only
/*
 * Negative cache: servers with which a handshake ran into a deadline.
 *
 * A server that supports SMC but cannot be reached over its RNIC, for example because UDP port
 * 4791 is filtered, delays every new connection by a deadline. So our connections to it use TCP
 * without a handshake for some time: 30 s at first, twice as long after each further failure in a
 * row, 10 min at most. After that one connection tries again (the probe); from the moment at which
 * it sends its Proposal all others use TCP until its result is known. A success removes the server
 * from the cache. A probe that ends for another reason says nothing: another one may follow at
 * once, unless its program has given up after a wait: then the time of the probe is waited for. A
 * connection that does not come so far, because the port is closed or the peer sends no SMC option,
 * is no probe.
 *
 * The key is what is known of a server before anything is sent: its IP address on the TCP path,
 * and its port. An entry without a port is a host: its RNIC cannot be reached. An entry with a
 * port is one program: it does not speak SMC, or does not answer. So no program can take SMC away
 * from the other programs of its host. /proc/net/smc_negcache shows the entries; a write to it,
 * which needs CAP_NET_ADMIN in the namespace, empties the cache.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/proc_fs.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/handshake/negcache.h>

#define PERIOD_MIN	(30 * HZ)
#define PERIOD_MAX	(600 * HZ)
/* A probe is over by then: longer than the deadlines of a handshake together. */
#define PROBE_TIME	(60 * HZ)

/**
 * struct negcache_key - whom an entry is about
 * @addr: IP address, IPv4 as v4-mapped
 * @port: TCP port, 0 = the host
 */
struct negcache_key {
	struct in6_addr addr;
	u32 port;
};

/**
 * struct negcache_entry - one server
 * @node: entry in negcache.table
 * @age: entry in negcache.age
 * @key: the server
 * @reason: diagnosis code of the last failure
 * @period: how long the server is avoided after the last failure, in jiffies
 * @until: end of that time, or of the probe
 * @probing: a probe runs, and no result is known
 * @nprobes: connections that are probes: more than one if the time of the one before is over while
 *	it still runs
 * @rcu: the table is read under RCU
 */
struct negcache_entry {
	struct rhash_head node;
	struct list_head age;
	struct negcache_key key;
	u32 reason;
	unsigned long period;
	unsigned long until;
	bool probing;
	u32 nprobes;
	struct rcu_head rcu;
};

/**
 * struct negcache - the negative cache of one namespace
 * @table: entries by address and port; changed under @lock, read under RCU
 * @lock: protects @age, @count and the members of entries; innermost, BH disabled
 * @age: all entries, the least recently failed first
 * @count: number of entries
 */
struct negcache {
	struct rhashtable table;
	spinlock_t lock;	/* see above */
	struct list_head age;
	u32 count;
};

static unsigned int negcache_id __read_mostly;

static const struct rhashtable_params negcache_params = {
	.key_len = sizeof(struct negcache_key),
	.key_offset = offsetof(struct negcache_entry, key),
	.head_offset = offsetof(struct negcache_entry, node),
	.automatic_shrinking = true,
};

static struct negcache *negcache_of(const struct net *net)
{
	return net_generic(net, negcache_id);
}

static void negcache_remove(struct negcache *nc, struct negcache_entry *e)
{
	lockdep_assert_held(&nc->lock);
	rhashtable_remove_fast(&nc->table, &e->node, negcache_params);
	list_del(&e->age);
	WRITE_ONCE(nc->count, nc->count - 1);
	kfree_rcu(e, rcu);
}

static struct negcache_entry *negcache_find(struct negcache *nc, const struct in6_addr *addr,
					    u16 port)
{
	struct negcache_key key = { .addr = *addr, .port = port };

	return rhashtable_lookup_fast(&nc->table, &key, negcache_params);
}

/* Return the reason not to try now, or 0. */
static u32 negcache_entry_reason(const struct negcache_entry *e)
{
	return e && time_before(jiffies, e->until) ? e->reason : 0;
}

static void negcache_entry_begin(struct negcache_entry *e)
{
	if (!e)
		return;
	e->until = jiffies + PROBE_TIME;
	e->probing = true;
	e->nprobes++;
}

static void negcache_entry_end(struct negcache_entry *e, bool again)
{
	/* an entry that was added meanwhile has no probe */
	if (!e || !e->nprobes || --e->nprobes || !e->probing)
		return;
	e->probing = false;
	if (again)
		e->until = jiffies;
}

/* Look up a server. Return false if nothing is known of it. RCU, and for changes nc->lock. */
static bool negcache_find_both(struct negcache *nc, const struct in6_addr *addr, u16 port,
			       struct negcache_entry **e, struct negcache_entry **host)
{
	*e = negcache_find(nc, addr, port);
	*host = negcache_find(nc, addr, 0);
	return *e || *host;
}

/**
 * smc_negcache_check() - check whether a handshake with a server may be tried
 * @net: namespace
 * @addr: IP address of the server, IPv4 as v4-mapped
 * @port: TCP port of the server
 *
 * Any context.
 *
 * Return: 0 to try, or the diagnosis code of the last failure: use TCP.
 */
u32 smc_negcache_check(struct net *net, const struct in6_addr *addr, u16 port)
{
	struct negcache *nc = negcache_of(net);
	struct negcache_entry *e, *host;
	u32 reason = 0;

	if (!READ_ONCE(nc->count))
		return 0;
	rcu_read_lock();
	if (!negcache_find_both(nc, addr, port, &e, &host)) {
		rcu_read_unlock();
		return 0;
	}
	spin_lock_bh(&nc->lock);
	if (negcache_find_both(nc, addr, port, &e, &host))
		reason = negcache_entry_reason(e) ?: negcache_entry_reason(host);
	spin_unlock_bh(&nc->lock);
	rcu_read_unlock();
	return reason;
}

/**
 * smc_negcache_begin() - a Proposal is about to be sent to a server
 * @net: namespace
 * @addr: IP address of the server, IPv4 as v4-mapped
 * @port: TCP port of the server
 *
 * If the time of an entry is over, the caller is the probe: smc_negcache_check() returns the reason
 * to all others until smc_negcache_add() or smc_negcache_del() reports the result,
 * smc_negcache_end() says that there is none, or PROBE_TIME is over. Any context.
 *
 * Return: true if the caller is the probe, and has to call smc_negcache_end().
 */
bool smc_negcache_begin(struct net *net, const struct in6_addr *addr, u16 port)
{
	struct negcache *nc = negcache_of(net);
	struct negcache_entry *e, *host;
	bool probe;

	if (!READ_ONCE(nc->count))
		return false;
	spin_lock_bh(&nc->lock);
	/* a connection that one entry would stop by now is no probe of the other one */
	probe = negcache_find_both(nc, addr, port, &e, &host) && !negcache_entry_reason(e) &&
		!negcache_entry_reason(host);
	if (probe) {
		negcache_entry_begin(e);
		negcache_entry_begin(host);
	}
	spin_unlock_bh(&nc->lock);
	return probe;
}

/**
 * smc_negcache_end() - a probe is over
 * @net: namespace
 * @addr: IP address of the server, IPv4 as v4-mapped
 * @port: TCP port of the server
 * @again: if there was no result, another probe may follow at once; otherwise all use TCP until
 *	PROBE_TIME is over
 *
 * After smc_negcache_add() or smc_negcache_del() if there was a result. Any context.
 */
void smc_negcache_end(struct net *net, const struct in6_addr *addr, u16 port, bool again)
{
	struct negcache *nc = negcache_of(net);
	struct negcache_entry *e, *host;

	spin_lock_bh(&nc->lock);
	if (negcache_find_both(nc, addr, port, &e, &host)) {
		negcache_entry_end(e, again);
		negcache_entry_end(host, again);
	}
	spin_unlock_bh(&nc->lock);
}

/* Insert a new entry; a full cache drops the entry whose last failure is the oldest. */
static bool negcache_insert(struct negcache *nc, struct negcache_entry *e)
{
	lockdep_assert_held(&nc->lock);
	if (smc_fault_rc(NEGCACHE_INSERT, -ENOMEM,
			 rhashtable_insert_fast(&nc->table, &e->node, negcache_params)))
		return false;
	if (nc->count >= SMC_NEGCACHE_MAX)
		negcache_remove(nc, list_first_entry(&nc->age, struct negcache_entry, age));
	list_add_tail(&e->age, &nc->age);
	WRITE_ONCE(nc->count, nc->count + 1);
	return true;
}

/**
 * smc_negcache_add() - record that a handshake with a server failed
 * @net: namespace
 * @addr: IP address of the server, IPv4 as v4-mapped
 * @port: TCP port of the server; 0: the failure concerns the whole host
 * @reason: diagnosis code, returned by smc_negcache_check() from now on
 *
 * Without memory the server is not remembered. Process context.
 */
void smc_negcache_add(struct net *net, const struct in6_addr *addr, u16 port, u32 reason)
{
	struct negcache *nc = negcache_of(net);
	struct negcache_entry *fresh, *e;

	fresh = smc_fault_null(NEGCACHE_ENTRY, kzalloc(sizeof(*fresh), GFP_KERNEL));
	spin_lock_bh(&nc->lock);
	e = negcache_find(nc, addr, port);
	if (!e && fresh) {
		fresh->key.addr = *addr;
		fresh->key.port = port;
		if (negcache_insert(nc, fresh)) {
			e = fresh;
			fresh = NULL;
		}
	}
	/* a handshake that began before the server was cached is no further failure */
	if (e && (!e->period || e->probing)) {
		e->period = clamp_t(unsigned long, 2 * e->period, PERIOD_MIN, PERIOD_MAX);
		e->until = jiffies + e->period;
		e->reason = reason;
		e->probing = false;
		list_move_tail(&e->age, &nc->age);
	}
	spin_unlock_bh(&nc->lock);
	kfree(fresh);
}

/**
 * smc_negcache_del() - record that a handshake with a server succeeded
 * @net: namespace
 * @addr: IP address of the server, IPv4 as v4-mapped
 * @port: TCP port of the server
 *
 * Removes the entry of the port and that of the host. Any context.
 */
void smc_negcache_del(struct net *net, const struct in6_addr *addr, u16 port)
{
	struct negcache *nc = negcache_of(net);
	struct negcache_entry *e, *host;

	if (!READ_ONCE(nc->count))
		return;
	spin_lock_bh(&nc->lock);
	e = negcache_find(nc, addr, port);
	if (e)
		negcache_remove(nc, e);
	host = negcache_find(nc, addr, 0);
	if (host)
		negcache_remove(nc, host);
	spin_unlock_bh(&nc->lock);
}

/* ---- /proc/net/smc_negcache -------------------------------------------------- */

static void negcache_flush(struct negcache *nc)
{
	struct negcache_entry *e, *next;

	spin_lock_bh(&nc->lock);
	list_for_each_entry_safe(e, next, &nc->age, age)
		negcache_remove(nc, e);
	spin_unlock_bh(&nc->lock);
}

static int negcache_seq_show(struct seq_file *seq, void *v)
{
	struct negcache *nc = negcache_of(seq_file_single_net(seq));
	struct negcache_entry *e;

	seq_puts(seq, "peer reason seconds_left period probing port\n");
	spin_lock_bh(&nc->lock);
	list_for_each_entry(e, &nc->age, age) {
		long left = max_t(long, e->until - jiffies, 0);

		seq_printf(seq, "%pI6c 0x%08x %ld %lu %d %u\n", &e->key.addr, e->reason,
			   left / HZ, e->period / HZ, e->probing, e->key.port);
	}
	spin_unlock_bh(&nc->lock);
	return 0;
}

static int negcache_seq_write(struct file *file, char *buf, size_t len)
{
	struct net *net = seq_file_single_net(file->private_data);

	if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	negcache_flush(negcache_of(net));
	return 0;
}

static int __net_init negcache_net_init(struct net *net)
{
	struct negcache *nc = negcache_of(net);
	int rc;

	spin_lock_init(&nc->lock);
	INIT_LIST_HEAD(&nc->age);
	rc = smc_fault_rc(NEGCACHE_TABLE, -ENOMEM, rhashtable_init(&nc->table, &negcache_params));
	if (rc)
		return rc;
	if (!smc_fault_null(NEGCACHE_PROC,
			    proc_create_net_single_write("smc_negcache", 0644, net->proc_net,
							 negcache_seq_show, negcache_seq_write,
							 NULL)) &&
	    IS_ENABLED(CONFIG_PROC_FS)) {
		rhashtable_destroy(&nc->table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit negcache_net_exit(struct net *net)
{
	struct negcache *nc = negcache_of(net);

	remove_proc_entry("smc_negcache", net->proc_net);
	negcache_flush(nc);
	rhashtable_destroy(&nc->table);
}

static struct pernet_operations negcache_net_ops = {
	.init = negcache_net_init,
	.exit = negcache_net_exit,
	.id = &negcache_id,
	.size = sizeof(struct negcache),
};

/**
 * smc_negcache_init() - create the negative cache of all namespaces
 *
 * Called when the module starts.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_negcache_init(void)
{
	return smc_fault_rc(NEGCACHE_PERNET, -ENOMEM, register_pernet_subsys(&negcache_net_ops));
}

/**
 * smc_negcache_exit() - destroy the negative cache of all namespaces
 */
void smc_negcache_exit(void)
{
	unregister_pernet_subsys(&negcache_net_ops);
}
