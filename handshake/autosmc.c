// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUTOSMC: where connections are short, the next ones use TCP (decision 0023).
 *
 * A rendezvous costs more than the handshake of TCP, and a connection pays it back only if it
 * carries many bytes or lives long. Where SMC_AUTOSMC_RUN connections in a row did neither, new
 * ones use TCP for some time: 30 s at first, twice as long each time that the next attempt is
 * short again, 10 min at most. After that one connection uses SMC (the probe). If it is still
 * there when it has become too old to be short, or if any connection was not short, be it over
 * TCP, all is forgotten.
 *
 * The key is what a side knows before the rendezvous: a client, the address and the port of the
 * server, for each user; a server, its port, for each host of a client. So nobody decides for
 * others. The memory is a cache of fixed size, by hash; of four entries in a bucket the one that
 * was not used for the longest time makes room. /proc/net/smc_autosmc shows the entries; a write
 * to it forgets them.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/handshake/autosmc.h>

#define TCP_TIME_MIN	(30 * HZ)
#define TCP_TIME_MAX	(600 * HZ)

#define AUTOSMC_BUCKETS	256
#define AUTOSMC_WAYS	4

/**
 * struct autosmc_entry - experience with the connections of one key
 * @key: the key
 * @shorts: short connections in a row, SMC_AUTOSMC_RUN at most; 0: the entry is free
 * @probing: one connection uses SMC
 * @period: how long the others use TCP after the last attempt, in jiffies; 0: never so far
 * @until: end of that time, or when the probe becomes too old to be short
 * @used: autosmc.clock when it was last looked up; 0: the entry is free
 */
struct autosmc_entry {
	struct smc_autosmc_key key;
	u32 shorts;
	bool probing;
	unsigned long period;
	unsigned long until;
	u64 used;
};

/**
 * struct autosmc - the experience of one namespace
 * @lock: protects the members and the entries; innermost, BH disabled
 * @clock: counts the uses of entries
 * @buckets: AUTOSMC_BUCKETS; NULL until a connection was short
 */
struct autosmc {
	spinlock_t lock;	/* see above */
	u64 clock;
	struct autosmc_entry (*buckets)[AUTOSMC_WAYS];
};

static unsigned int autosmc_id __read_mostly;
/* Random: peers cannot choose addresses that fall into the bucket of another one. */
static siphash_key_t autosmc_hash_key __ro_after_init;

static struct autosmc *autosmc_of(const struct net *net)
{
	return net_generic(net, autosmc_id);
}

/**
 * smc_autosmc_set_key() - fill in the key of a connection
 * @key: result
 * @path: the connection; a client needs the server's end only
 * @server: our side is the server
 * @uid: owner of the socket
 */
void smc_autosmc_set_key(struct smc_autosmc_key *key, const struct smc_rules_path *path,
			 bool server, kuid_t uid)
{
	*key = (struct smc_autosmc_key){
		.peer = server ? smc_host_addr(&path->remote.addr) : path->remote.addr,
		.uid = server ? 0 : __kuid_val(uid),
		.port = server ? path->local.port : path->remote.port,
		.server = server,
	};
}

/**
 * smc_autosmc_is_on() - check whether the namespace wants short connections to be TCP
 * @net: namespace
 *
 * Return: net.smc.autosmc_bytes is set.
 */
bool smc_autosmc_is_on(struct net *net)
{
	return READ_ONCE(smc_settings_get(net)->autosmc_bytes);
}

/* Return the entry of a key; if there is none, @fresh: the oldest one, emptied, else NULL. */
static struct autosmc_entry *autosmc_find(struct autosmc *a, const struct smc_autosmc_key *key,
					  bool fresh)
{
	struct smc_autosmc_key aligned __aligned(SIPHASH_ALIGNMENT) = *key;
	u64 hash = siphash(&aligned, sizeof(aligned), &autosmc_hash_key);
	struct autosmc_entry *bucket, *e = NULL;
	int i, oldest = 0;

	lockdep_assert_held(&a->lock);
	if (!a->buckets)
		return NULL;
	bucket = a->buckets[hash % AUTOSMC_BUCKETS];
	for (i = 0; i < AUTOSMC_WAYS; i++) {
		if (bucket[i].shorts && !memcmp(&bucket[i].key, key, sizeof(*key)))
			e = &bucket[i];
		if (bucket[i].used < bucket[oldest].used)
			oldest = i;
	}
	if (!e && fresh) {
		e = &bucket[oldest];
		*e = (struct autosmc_entry){ .key = *key };
	}
	if (e)
		e->used = ++a->clock;
	return e;
}

/* Its time becomes 0, so that it is the first to make room. */
static void autosmc_forget(struct autosmc_entry *e)
{
	memset(e, 0, sizeof(*e));
}

/* Decide for a new connection, which may become the probe. */
static bool autosmc_decide(struct net *net, struct autosmc_entry *e)
{
	if (e->shorts < SMC_AUTOSMC_RUN)
		return false;
	if (time_before(jiffies, e->until))
		return true;
	if (e->probing) {
		/* it lives longer than a short connection */
		autosmc_forget(e);
		return false;
	}
	e->probing = true;
	e->until = jiffies + READ_ONCE(smc_settings_get(net)->autosmc_time) * HZ;
	return false;
}

/**
 * smc_autosmc_wants_tcp() - check whether a new connection shall use TCP
 * @net: namespace
 * @key: the connection
 *
 * When the time of an entry is over, the first caller gets false, and its connection is the probe.
 * Any context.
 *
 * Return: true if so, because connections with this key are short.
 */
bool smc_autosmc_wants_tcp(struct net *net, const struct smc_autosmc_key *key)
{
	struct autosmc *a = autosmc_of(net);
	struct autosmc_entry *e;
	bool tcp;

	if (!smc_autosmc_is_on(net))
		return false;
	spin_lock_bh(&a->lock);
	e = autosmc_find(a, key, false);
	tcp = e && autosmc_decide(net, e);
	spin_unlock_bh(&a->lock);
	return tcp;
}

/* Make sure that there is memory for entries. Without, nothing is remembered. */
static void autosmc_alloc(struct autosmc *a)
{
	struct autosmc_entry (*fresh)[AUTOSMC_WAYS];

	if (READ_ONCE(a->buckets))
		return;
	fresh = smc_fault_null(AUTOSMC_TABLE, kvcalloc(AUTOSMC_BUCKETS, sizeof(*fresh),
						       GFP_KERNEL_ACCOUNT));
	spin_lock_bh(&a->lock);
	if (!a->buckets) {
		WRITE_ONCE(a->buckets, fresh);
		fresh = NULL;
	}
	spin_unlock_bh(&a->lock);
	kvfree(fresh);
}

static void autosmc_count_short(struct autosmc_entry *e)
{
	if (e->shorts < SMC_AUTOSMC_RUN)
		e->shorts++;
	if (e->shorts < SMC_AUTOSMC_RUN)
		return;
	/* a connection that began before the others became TCP is no attempt */
	if (e->period && !e->probing)
		return;
	e->period = clamp_t(unsigned long, 2 * e->period, TCP_TIME_MIN, TCP_TIME_MAX);
	e->until = jiffies + e->period;
	e->probing = false;
}

/**
 * smc_autosmc_note() - learn from a connection that is closed
 * @net: namespace
 * @key: the connection
 * @use: what it was used for; over TCP only because of smc_autosmc_wants_tcp()
 *
 * Process context.
 */
void smc_autosmc_note(struct net *net, const struct smc_autosmc_key *key,
		      const struct smc_autosmc_use *use)
{
	struct smc_settings *sn = smc_settings_get(net);
	bool is_short = use->bytes < READ_ONCE(sn->autosmc_bytes) &&
			use->time < READ_ONCE(sn->autosmc_time) * HZ;
	struct autosmc *a = autosmc_of(net);
	struct autosmc_entry *e;

	if (!smc_autosmc_is_on(net))
		return;
	if (is_short && use->smc)
		autosmc_alloc(a);
	spin_lock_bh(&a->lock);
	e = autosmc_find(a, key, is_short && use->smc);
	if (e && !is_short)
		autosmc_forget(e);
	else if (e && use->smc)
		autosmc_count_short(e);
	spin_unlock_bh(&a->lock);
}

/* ---- /proc/net/smc_autosmc ----------------------------------------------------- */

static void autosmc_flush(struct autosmc *a)
{
	spin_lock_bh(&a->lock);
	if (a->buckets)
		memset(a->buckets, 0, AUTOSMC_BUCKETS * sizeof(*a->buckets));
	spin_unlock_bh(&a->lock);
}

static void autosmc_seq_show_entry(struct seq_file *seq, const struct autosmc_entry *e)
{
	long left = e->period ? max_t(long, e->until - jiffies, 0) : 0;

	seq_printf(seq, "%pI6c %u %s %u %u %ld %lu %d\n", &e->key.peer, e->key.port,
		   e->key.server ? "server" : "client",
		   from_kuid_munged(seq_user_ns(seq), KUIDT_INIT(e->key.uid)), e->shorts,
		   left / HZ, e->period / HZ, e->probing);
}

static int autosmc_seq_show(struct seq_file *seq, void *v)
{
	struct autosmc *a = autosmc_of(seq_file_single_net(seq));
	int i, j;

	seq_puts(seq, "peer port side uid shorts seconds_left period probing\n");
	for (i = 0; i < AUTOSMC_BUCKETS; i++) {
		spin_lock_bh(&a->lock);
		for (j = 0; a->buckets && j < AUTOSMC_WAYS; j++)
			if (a->buckets[i][j].shorts)
				autosmc_seq_show_entry(seq, &a->buckets[i][j]);
		spin_unlock_bh(&a->lock);
	}
	return 0;
}

static int autosmc_seq_write(struct file *file, char *buf, size_t len)
{
	struct net *net = seq_file_single_net(file->private_data);

	if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	autosmc_flush(autosmc_of(net));
	return 0;
}

static int __net_init autosmc_net_init(struct net *net)
{
	spin_lock_init(&autosmc_of(net)->lock);
	/* not for everybody: whom a user connects to */
	if (!smc_fault_null(AUTOSMC_PROC,
			    proc_create_net_single_write("smc_autosmc", 0600, net->proc_net,
							 autosmc_seq_show, autosmc_seq_write,
							 NULL)) &&
	    IS_ENABLED(CONFIG_PROC_FS))
		return -ENOMEM;
	return 0;
}

static void __net_exit autosmc_net_exit(struct net *net)
{
	remove_proc_entry("smc_autosmc", net->proc_net);
	kvfree(autosmc_of(net)->buckets);
}

static struct pernet_operations autosmc_net_ops = {
	.init = autosmc_net_init,
	.exit = autosmc_net_exit,
	.id = &autosmc_id,
	.size = sizeof(struct autosmc),
};

/**
 * smc_autosmc_init() - set up the experience of all namespaces
 *
 * Called when the module starts.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_autosmc_init(void)
{
	get_random_bytes(&autosmc_hash_key, sizeof(autosmc_hash_key));
	return smc_fault_rc(AUTOSMC_PERNET, -ENOMEM, register_pernet_subsys(&autosmc_net_ops));
}

/** smc_autosmc_exit() - undo smc_autosmc_init() */
void smc_autosmc_exit(void)
{
	unregister_pernet_subsys(&autosmc_net_ops);
}
