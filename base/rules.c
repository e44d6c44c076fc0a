// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules of the administrator, per namespace: which connections may use SMC.
 *
 * A connection is checked twice. Early, so that a connection that stays TCP costs nothing; and
 * again when both ends are known, because a client usually gets its own address and port with its
 * SYN, and a listener learns its clients only from their SYNs. In the early check a rule that needs
 * an unknown value leaves the decision open.
 */
#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/lockdep.h>
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
#include <smc/base/settings.h>

/* Gap between rules added without a number, so that others fit in. */
#define NUM_STEP	10U

/**
 * struct rules_entry - One rule
 * @node: in the list, ordered by number
 * @rule: the rule
 * @hits: number of connections that it decided
 * @rcu: for freeing; readers use RCU
 */
struct rules_entry {
	struct list_head node;
	struct smc_rule rule;
	atomic64_t hits;
	struct rcu_head rcu;
};

/**
 * struct rules_net - Rules of one namespace
 * @mutex: serialises writers; leaf
 * @list: struct rules_entry; changed under @mutex, read under RCU
 * @count: number of rules, under @mutex
 */
struct rules_net {
	struct mutex mutex;	/* writers of list and count */
	struct list_head list;
	u32 count;
};

static unsigned int rules_net_id __read_mostly;

static struct rules_net *rules_of_net(const struct net *net)
{
	return net_generic(net, rules_net_id);
}

/* ---- matching ---------------------------------------------------------------- */

/*
 * Result of matching a rule; OPEN: it depends on values that are not known yet. The minimum of two
 * results is their conjunction.
 */
enum rules_fit { FIT_NO, FIT_OPEN, FIT_YES };

static enum rules_fit rules_fit_addr(const struct smc_rule_end *want, const struct in6_addr *addr)
{
	if (!want->plen)
		return FIT_YES;
	if (ipv6_addr_any(addr))
		return FIT_OPEN;
	/* A short IPv6 prefix must not match IPv4 addresses in mapped form. */
	if (ipv6_addr_v4mapped(&want->addr) != ipv6_addr_v4mapped(addr))
		return FIT_NO;
	return ipv6_prefix_equal(&want->addr, addr, want->plen) ? FIT_YES : FIT_NO;
}

static enum rules_fit rules_fit_port(const struct smc_rule_end *want, u16 port)
{
	if (!want->port && want->last == U16_MAX)
		return FIT_YES;
	if (!port)
		return FIT_OPEN;
	return port >= want->port && port <= want->last ? FIT_YES : FIT_NO;
}

static enum rules_fit rules_fit_path(const struct smc_rule *rule,
				     const struct smc_rules_path *path)
{
	enum rules_fit a = min(rules_fit_addr(&rule->local, &path->local.addr),
			       rules_fit_port(&rule->local, path->local.port));
	enum rules_fit b = min(rules_fit_addr(&rule->remote, &path->remote.addr),
			       rules_fit_port(&rule->remote, path->remote.port));

	return min(a, b);
}

/**
 * smc_rules_path() - Get both ends of a TCP socket, as far as they are known
 * @sk: socket, bound, listening or connected; not locked
 * @path: result; unknown values are zero
 *
 * Any context.
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
 * smc_rules_check_deny() - Check whether a connection must stay TCP
 * @net: namespace
 * @path: known part of the connection's path
 * @count: final decision, with the whole path: the rule that matches counts it. Set once per
 *	connection
 *
 * Any context.
 *
 * Return: true if a rule denies SMC, whatever the unknown values are. False if no rule does, or if
 * that is not known yet.
 */
bool smc_rules_check_deny(struct net *net, const struct smc_rules_path *path, bool count)
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

/* ---- configuration ----------------------------------------------------------- */

static bool rules_end_is_valid(const struct smc_rule_end *end)
{
	return end->plen <= 128 && end->port <= end->last;
}

/* Set *@pos to the list entry to insert @rule before, and number @rule if it has no number. */
static int rules_find_place(struct rules_net *r, struct smc_rule *rule,
			    struct list_head **pos)
{
	struct rules_entry *e;
	u32 last = 0;

	lockdep_assert_held(&r->mutex);
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

/* Return a new entry that is in no list, or NULL. */
static struct rules_entry *rules_entry_create(const struct smc_rule *rule)
{
	struct rules_entry *e = smc_fault_null(RULE, kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT));

	if (e)
		e->rule = *rule;
	return e;
}

/**
 * smc_rules_add() - Add a rule
 * @net: namespace
 * @rule: rule; number 0 appends it after the last one
 *
 * Existing SMC connections are not affected. Process context, sleeps.
 *
 * Return: 0, -EINVAL, -EEXIST (the number is used), -ENOSPC (SMC_RULES_MAX rules, or no number
 * after the last one), -ENOMEM.
 */
int smc_rules_add(struct net *net, const struct smc_rule *rule)
{
	struct rules_net *r = rules_of_net(net);
	struct list_head *pos;
	struct rules_entry *new;
	int rc;

	if (!rules_end_is_valid(&rule->local) || !rules_end_is_valid(&rule->remote))
		return -EINVAL;
	new = rules_entry_create(rule);
	if (!new)
		return -ENOMEM;
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

static void rules_entry_remove(struct rules_net *r, struct rules_entry *e)
{
	lockdep_assert_held(&r->mutex);
	list_del_rcu(&e->node);
	r->count--;
	kfree_rcu(e, rcu);
}

/**
 * smc_rules_del() - Delete a rule
 * @net: namespace
 * @num: its number
 *
 * Process context, sleeps.
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
 * smc_rules_flush() - Delete all rules
 * @net: namespace
 *
 * Process context, sleeps.
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
 * smc_rules_get() - Read the first rule with a number of at least @from
 * @net: namespace
 * @from: lowest number
 * @rule: result
 * @hits: number of connections that it decided
 *
 * Any context.
 *
 * Return: false if there is none.
 */
bool smc_rules_get(struct net *net, u32 from, struct smc_rule *rule, u64 *hits)
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

/*
 * Copy the rules of the initial namespace into @copy, which has @room for that many. Return their
 * number, which may be more than @room.
 */
static u32 rules_copy_first(struct smc_rule *copy, u32 room)
{
	struct rules_net *first = rules_of_net(&init_net);
	struct rules_entry *e;
	u32 n = 0, count;

	mutex_lock(&first->mutex);
	count = first->count;
	if (count <= room)
		list_for_each_entry(e, &first->list, node)
			copy[n++] = e->rule;
	mutex_unlock(&first->mutex);
	return count;
}

static int rules_insert_copies(struct rules_net *r, const struct smc_rule *copy, u32 n)
{
	struct rules_entry *new;
	u32 i;

	for (i = 0; i < n; i++) {
		new = rules_entry_create(&copy[i]);
		if (!new)
			return -ENOMEM;
		list_add_tail(&new->node, &r->list);
		r->count++;
	}
	return 0;
}

/*
 * Give the rules of the initial namespace to one that nobody knows yet. No memory is allocated
 * under their mutex: a user who makes namespaces in a cgroup that is short of memory would delay
 * the administrator. Return 0 or -ENOMEM.
 */
static int rules_inherit(struct rules_net *r)
{
	struct smc_rule *copy = NULL;
	u32 room = 0, n;
	int rc;

	for (;;) {
		n = rules_copy_first(copy, room);
		if (n <= room)
			break;
		kvfree(copy);
		room = n;
		copy = smc_fault_null(RULES_COPY, kvcalloc(room, sizeof(*copy),
							   GFP_KERNEL_ACCOUNT));
		if (!copy)
			return -ENOMEM;
	}
	rc = rules_insert_copies(r, copy, n);
	kvfree(copy);
	return rc;
}

static int __net_init rules_net_init(struct net *net)
{
	struct rules_net *r = rules_of_net(net);
	int rc;

	mutex_init(&r->mutex);
	INIT_LIST_HEAD(&r->list);
	if (!smc_settings_is_heir(net))
		return 0;
	rc = rules_inherit(r);
	if (rc)
		smc_rules_flush(net);
	return rc;
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
 * smc_rules_init() - Set up the rules of all namespaces: none
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_rules_init(void)
{
	return smc_fault_rc(RULES_PERNET, -ENOMEM, register_pernet_subsys(&rules_net_ops));
}

/**
 * smc_rules_exit() - Undo smc_rules_init()
 */
void smc_rules_exit(void)
{
	unregister_pernet_subsys(&rules_net_ops);
}
