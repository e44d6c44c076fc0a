// SPDX-License-Identifier: GPL-2.0-only
/*
 * The administrator's rules of a namespace: which connections may be SMC.
 *
 * They are asked early, so that a connection that is to stay TCP costs nothing, and again when
 * both ends are known, because a client's own address and port mostly come with its SYN and a
 * listener knows its clients only from theirs. Early, a rule that wants what is not known
 * leaves the question open.
 */
#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/rules.h>

/* Between rules that were added without a number, so that others fit in. */
#define NUM_STEP	10U

/**
 * struct rules_entry - one rule
 * @node: in the list, in the order of numbers
 * @rule: the rule
 * @hits: connections that it decided
 * @rcu: readers hold no lock
 */
struct rules_entry {
	struct list_head node;
	struct smc_rules_rule rule;
	atomic64_t hits;
	struct rcu_head rcu;
};

/**
 * struct rules_net - those of one namespace
 * @mutex: one writer; leaf
 * @list: struct rules_entry; changed under @mutex, read under RCU
 * @count: their number, under @mutex
 */
struct rules_net {
	struct mutex mutex;	/* see above */
	struct list_head list;
	u32 count;
};

static unsigned int rules_net_id __read_mostly;

static struct rules_net *rules_of_net(const struct net *net)
{
	return net_generic(net, rules_net_id);
}

/* ---- matching ---------------------------------------------------------------- */

/* Does one end fit? OPEN: it depends on what is not known yet. */
enum rules_fit { FIT_NO, FIT_OPEN, FIT_YES };

static enum rules_fit rules_fit_addr(const struct smc_rules_end *want, const struct in6_addr *addr)
{
	if (!want->plen)
		return FIT_YES;
	if (ipv6_addr_any(addr))
		return FIT_OPEN;
	/* a short IPv6 prefix must not take IPv4 in by way of its mapped form */
	if (ipv6_addr_v4mapped(&want->addr) != ipv6_addr_v4mapped(addr))
		return FIT_NO;
	return ipv6_prefix_equal(&want->addr, addr, want->plen) ? FIT_YES : FIT_NO;
}

static enum rules_fit rules_fit_port(const struct smc_rules_end *want, u16 port)
{
	if (!want->port && want->last == U16_MAX)
		return FIT_YES;
	if (!port)
		return FIT_OPEN;
	return port >= want->port && port <= want->last ? FIT_YES : FIT_NO;
}

static enum rules_fit rules_fit_path(const struct smc_rules_rule *rule,
				     const struct smc_rules_path *path)
{
	enum rules_fit a = min(rules_fit_addr(&rule->local, &path->local.addr),
			       rules_fit_port(&rule->local, path->local.port));
	enum rules_fit b = min(rules_fit_addr(&rule->remote, &path->remote.addr),
			       rules_fit_port(&rule->remote, path->remote.port));

	return min(a, b);
}

/**
 * smc_rules_path() - both ends of a TCP socket, as far as it knows them
 * @sk: the socket; not locked
 * @path: result
 */
void smc_rules_path(const struct sock *sk, struct smc_rules_path *path)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(path, 0, sizeof(*path));
	path->local.port = READ_ONCE(inet->inet_num);
	path->remote.port = ntohs(READ_ONCE(inet->inet_dport));
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		path->local.addr = sk->sk_v6_rcv_saddr;
		path->remote.addr = sk->sk_v6_daddr;
		return;
	}
#endif
	if (inet->inet_saddr)
		ipv6_addr_set_v4mapped(inet->inet_saddr, &path->local.addr);
	if (inet->inet_daddr)
		ipv6_addr_set_v4mapped(inet->inet_daddr, &path->remote.addr);
}

/**
 * smc_rules_deny() - must a connection stay TCP
 * @net: namespace
 * @path: what is known of it
 * @count: the connection is decided with this: the rule counts it
 *
 * Any context.
 *
 * Return: true if so. False without a rule that says so, or if that is not known yet.
 */
bool smc_rules_deny(struct net *net, const struct smc_rules_path *path, bool count)
{
	struct rules_entry *e;
	bool deny = false;
	enum rules_fit fit;

	rcu_read_lock();
	list_for_each_entry_rcu(e, &rules_of_net(net)->list, node) {
		fit = rules_fit_path(&e->rule, path);
		if (fit == FIT_NO)
			continue;
		if (fit == FIT_YES) {
			deny = e->rule.deny;
			if (count)
				atomic64_inc(&e->hits);
		}
		break;
	}
	rcu_read_unlock();
	return deny;
}

/* ---- the administrator ------------------------------------------------------- */

static bool rules_end_is_valid(const struct smc_rules_end *end)
{
	return end->plen <= 128 && end->port <= end->last;
}

/* Gives it a number if it has none; *@pos is what it goes before. r->mutex held. */
static int rules_find_place(struct rules_net *r, struct smc_rules_rule *rule,
			    struct list_head **pos)
{
	struct rules_entry *e;
	u32 last = 0;

	if (!rule->num) {
		if (!list_empty(&r->list))
			last = list_last_entry(&r->list, struct rules_entry, node)->rule.num;
		if (check_add_overflow(last, NUM_STEP, &rule->num))
			return -ENOSPC;
	}
	*pos = &r->list;
	list_for_each_entry(e, &r->list, node) {
		if (e->rule.num == rule->num)
			return -EEXIST;
		if (e->rule.num > rule->num) {
			*pos = &e->node;
			break;
		}
	}
	return r->count < SMC_RULES_MAX ? 0 : -ENOSPC;
}

/**
 * smc_rules_add() - a new rule
 * @net: namespace
 * @rule: the rule; its number may be 0: behind all others
 *
 * Connections that are SMC already stay so.
 *
 * Return: 0, -EINVAL, -EEXIST (the number is taken), -ENOSPC (too many, or no number behind
 * the last one), -ENOMEM.
 */
int smc_rules_add(struct net *net, const struct smc_rules_rule *rule)
{
	struct rules_net *r = rules_of_net(net);
	struct list_head *pos;
	struct rules_entry *new;
	int rc;

	if (!rules_end_is_valid(&rule->local) || !rules_end_is_valid(&rule->remote))
		return -EINVAL;
	new = smc_fault_null(RULE, kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT));
	if (!new)
		return -ENOMEM;
	new->rule = *rule;
	mutex_lock(&r->mutex);
	rc = rules_find_place(r, &new->rule, &pos);
	if (!rc) {
		list_add_tail_rcu(&new->node, pos);
		r->count++;
	}
	mutex_unlock(&r->mutex);
	if (rc)
		kfree(new);
	return rc;
}

/* r->mutex held, or nobody else is left. */
static void rules_entry_remove(struct rules_net *r, struct rules_entry *e)
{
	list_del_rcu(&e->node);
	r->count--;
	kfree_rcu(e, rcu);
}

/**
 * smc_rules_del() - a rule goes
 * @net: namespace
 * @num: its number
 *
 * Return: 0 or -ENOENT.
 */
int smc_rules_del(struct net *net, u32 num)
{
	struct rules_net *r = rules_of_net(net);
	struct rules_entry *e;
	int rc = -ENOENT;

	mutex_lock(&r->mutex);
	list_for_each_entry(e, &r->list, node) {
		if (e->rule.num != num)
			continue;
		rules_entry_remove(r, e);
		rc = 0;
		break;
	}
	mutex_unlock(&r->mutex);
	return rc;
}

/**
 * smc_rules_flush() - all of them go
 * @net: namespace
 */
void smc_rules_flush(struct net *net)
{
	struct rules_net *r = rules_of_net(net);
	struct rules_entry *e, *next;

	mutex_lock(&r->mutex);
	list_for_each_entry_safe(e, next, &r->list, node)
		rules_entry_remove(r, e);
	mutex_unlock(&r->mutex);
}

/**
 * smc_rules_get() - one rule, to be shown
 * @net: namespace
 * @from: its number, or a lower one
 * @rule: result
 * @hits: connections that it decided
 *
 * Return: false if there is none with @from or above.
 */
bool smc_rules_get(struct net *net, u32 from, struct smc_rules_rule *rule, u64 *hits)
{
	struct rules_entry *e;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(e, &rules_of_net(net)->list, node) {
		if (e->rule.num < from)
			continue;
		*rule = e->rule;
		*hits = atomic64_read(&e->hits);
		found = true;
		break;
	}
	rcu_read_unlock();
	return found;
}

/* ---- namespaces -------------------------------------------------------------- */

static int __net_init rules_net_init(struct net *net)
{
	struct rules_net *r = rules_of_net(net);

	mutex_init(&r->mutex);
	INIT_LIST_HEAD(&r->list);
	return 0;
}

static void __net_exit rules_net_exit(struct net *net)
{
	smc_rules_flush(net);
}

static struct pernet_operations rules_net_ops = {
	.init = rules_net_init,
	.exit = rules_net_exit,
	.id = &rules_net_id,
	.size = sizeof(struct rules_net),
};

/**
 * smc_rules_init() - every namespace begins without a rule
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_rules_init(void)
{
	return smc_fault_rc(RULES_PERNET, -ENOMEM, register_pernet_subsys(&rules_net_ops));
}

/**
 * smc_rules_exit() - undo smc_rules_init()
 */
void smc_rules_exit(void)
{
	unregister_pernet_subsys(&rules_net_ops);
}
