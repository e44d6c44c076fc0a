// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUTOSMC: where connections are short, the next ones use TCP (decision 0023).
 *
 * A rendezvous costs more than the handshake of TCP, and a connection pays it back only if it
 * carries many bytes or lives long. Where SMC_AUTOSMC_RUN connections in a row did neither, new
 * ones use TCP for some time: 30 s at first, twice as long each time that the next attempt is
 * short again, 10 min at most. After that one connection uses SMC (the probe). If it is still
 * there when it has become too old to be short, or if any connection was not short, be it over
 * TCP, all is forgotten. A probe that becomes TCP for another reason says nothing: one comes again.
 *
 * The key is what a side knows before the rendezvous: a client, the address and the port of the
 * server, for each user; a server, its port, for each address of a client. The memory is a cache of
 * fixed size, by hash; of four entries in a bucket the one that was not looked up for the longest
 * time makes room. /proc/net/smc_autosmc shows the entries; a write to it forgets them.
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
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/handshake/autosmc.h>

#define TCP_TIME_MIN	(30 * HZ)
#define TCP_TIME_MAX	(600 * HZ)

#define AUTOSMC_BUCKETS	256
#define AUTOSMC_WAYS	4
/* The memory can be done without: at the limit of a cgroup nothing is killed for it. */
#define AUTOSMC_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct autosmc_entry - experience with the connections of one key
 * @key: the key
 * @shorts: short connections in a row, SMC_AUTOSMC_RUN at most; 0: the entry is free
 * @probing: one connection tries SMC
 * @alive: ... and uses it
 * @period: how long the others use TCP after the last attempt, in jiffies; 0: never so far
 * @until: 64-bit jiffies: end of that time; or when the probe, if it is @alive, becomes too old to
 *	be short, or else another one may try
 * @used: autosmc.clock when it was last looked up; 0: the entry is free
 */
struct autosmc_entry {
	struct smc_autosmc_key key;
	u32 shorts;
	bool probing;
	bool alive;
	unsigned long period;
	u64 until;
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
 * smc_autosmc_is_on() - check whether the namespace wants short connections to be TCP
 * @net: namespace
 *
 * Return: net.smc.autosmc_bytes is set, and SMC is not disabled.
 */
bool smc_autosmc_is_on(struct net *net)
{
	const struct smc_settings *sn = smc_settings_get(net);

	return READ_ONCE(sn->autosmc_bytes) && READ_ONCE(sn->enabled);
}

static unsigned long autosmc_get_time(struct net *net)
{
	return READ_ONCE(smc_settings_get(net)->autosmc_time) * HZ;
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

/* Decide for a new connection. @probe: set to whether it is the probe */
static bool autosmc_decide(struct net *net, struct autosmc_entry *e, bool *probe)
{
	if (e->shorts < SMC_AUTOSMC_RUN)
		return false;
	if (time_before64(get_jiffies_64(), e->until))
		return true;
	if (e->alive) {
		/* the probe lives longer than a short connection */
		autosmc_forget(e);
		return false;
	}
	/* the first one, or the last one has not become SMC */
	e->probing = true;
	e->until = get_jiffies_64() + autosmc_get_time(net);
	*probe = true;
	return false;
}

/**
 * smc_autosmc_wants_tcp() - check whether a new connection shall use TCP
 * @net: namespace
 * @conn: the connection, filled in
 * @path: both ends as far as they are known; a client needs the server's
 * @server: our side is the server
 * @uid: owner of the socket
 *
 * When the time of an entry is over, the first caller gets false, and its connection is the probe.
 * Any context.
 *
 * Return: true if so, because connections with this key are short.
 */
bool smc_autosmc_wants_tcp(struct net *net, struct smc_autosmc_conn *conn,
			   const struct smc_rules_path *path, bool server, kuid_t uid)
{
	struct autosmc *a = autosmc_of(net);
	struct autosmc_entry *e;
	bool tcp;

	*conn = (struct smc_autosmc_conn){};
	if (!smc_autosmc_is_on(net))
		return false;
	conn->key = (struct smc_autosmc_key){
		.peer = path->remote.addr,
		.uid = server ? 0 : __kuid_val(uid),
		.port = server ? path->local.port : path->remote.port,
		.server = server,
	};
	spin_lock_bh(&a->lock);
	e = autosmc_find(a, &conn->key, false);
	tcp = e && autosmc_decide(net, e, &conn->probe);
	spin_unlock_bh(&a->lock);
	if (tcp)
		smc_stats_inc(net, SMC_STAT_AUTOSMC_TCP);
	else if (conn->probe)
		smc_stats_inc(net, SMC_STAT_AUTOSMC_PROBE);
	return tcp;
}

/**
 * smc_autosmc_begin() - report what a connection has become
 * @net: namespace
 * @conn: the connection
 * @smc: SMC; otherwise TCP
 *
 * Any context.
 */
void smc_autosmc_begin(struct net *net, const struct smc_autosmc_conn *conn, bool smc)
{
	struct autosmc *a = autosmc_of(net);
	struct autosmc_entry *e;

	if (!conn->probe)
		return;
	spin_lock_bh(&a->lock);
	e = autosmc_find(a, &conn->key, false);
	if (e && e->probing) {
		e->alive = smc;
		e->probing = smc;
		e->until = get_jiffies_64() + (smc ? autosmc_get_time(net) : e->period);
	}
	spin_unlock_bh(&a->lock);
}

/* Make sure that there is memory for entries. Without, nothing is remembered. */
static void autosmc_alloc(struct autosmc *a)
{
	struct autosmc_entry (*fresh)[AUTOSMC_WAYS];

	if (READ_ONCE(a->buckets))
		return;
	fresh = smc_fault_null(AUTOSMC_TABLE, kvcalloc(AUTOSMC_BUCKETS, sizeof(*fresh),
						       AUTOSMC_GFP));
	spin_lock_bh(&a->lock);
	if (!a->buckets) {
		WRITE_ONCE(a->buckets, fresh);
		fresh = NULL;
	}
	spin_unlock_bh(&a->lock);
	kvfree(fresh);
}

static void autosmc_count_short(struct autosmc_entry *e, bool probe)
{
	if (e->shorts < SMC_AUTOSMC_RUN && ++e->shorts < SMC_AUTOSMC_RUN)
		return;
	/* a connection that began before the others became TCP is no attempt */
	if (e->period && !probe)
		return;
	e->period = clamp_t(unsigned long, 2 * e->period, TCP_TIME_MIN, TCP_TIME_MAX);
	e->until = get_jiffies_64() + e->period;
	e->probing = false;
	e->alive = false;
}

/**
 * smc_autosmc_note() - learn from a connection that is closed
 * @net: namespace
 * @conn: the connection
 * @use: what it was used for; over TCP only because of smc_autosmc_wants_tcp()
 *
 * Process context.
 */
void smc_autosmc_note(struct net *net, const struct smc_autosmc_conn *conn,
		      const struct smc_autosmc_use *use)
{
	bool is_short = use->bytes < READ_ONCE(smc_settings_get(net)->autosmc_bytes) &&
			use->time < autosmc_get_time(net);
	struct autosmc *a = autosmc_of(net);
	struct autosmc_entry *e;

	if (!smc_autosmc_is_on(net) || !conn->key.port)
		return;
	if (is_short && use->smc)
		autosmc_alloc(a);
	spin_lock_bh(&a->lock);
	e = autosmc_find(a, &conn->key, is_short && use->smc);
	if (e && !is_short)
		autosmc_forget(e);
	else if (e && use->smc)
		autosmc_count_short(e, conn->probe);
	spin_unlock_bh(&a->lock);
}

/**
 * smc_autosmc_forget() - forget the connections with the key of one
 * @net: namespace
 * @conn: the connection; nothing is learned from it
 *
 * Any context.
 */
void smc_autosmc_forget(struct net *net, const struct smc_autosmc_conn *conn)
{
	struct autosmc *a = autosmc_of(net);
	struct autosmc_entry *e;

	if (!conn->key.port)
		return;
	spin_lock_bh(&a->lock);
	e = autosmc_find(a, &conn->key, false);
	if (e)
		autosmc_forget(e);
	spin_unlock_bh(&a->lock);
}

/**
 * smc_autosmc_flush() - forget all
 * @net: namespace
 */
void smc_autosmc_flush(struct net *net)
{
	struct autosmc *a = autosmc_of(net);

	spin_lock_bh(&a->lock);
	if (a->buckets)
		memset(a->buckets, 0, AUTOSMC_BUCKETS * sizeof(*a->buckets));
	spin_unlock_bh(&a->lock);
}

/* ---- /proc/net/smc_autosmc ----------------------------------------------------- */

static void autosmc_seq_show_entry(struct seq_file *seq, const struct autosmc_entry *e)
{
	u64 now = get_jiffies_64();
	u64 left = e->period && time_after64(e->until, now) ? e->until - now : 0;

	seq_printf(seq, "%pI6c %u %s %u %u %lu %lu %d\n", &e->key.peer, e->key.port,
		   e->key.server ? "server" : "client",
		   from_kuid_munged(seq_user_ns(seq), KUIDT_INIT(e->key.uid)), e->shorts,
		   (unsigned long)left / HZ, e->period / HZ, e->probing);
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
	smc_autosmc_flush(net);
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
