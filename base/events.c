// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events for who listens by netlink (<linux/smc_own.h>): built where they happen, also by
 * callers that may not sleep, and sent at once. Nobody waits for a listener; what one has no
 * room for, or we no memory, is lost to it, and its next receive says so.
 *
 * Of fallbacks there may be one per connection, and a peer can make groups come and go: who
 * listens hears of a number per second, and how many there were between them.
 */
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/events.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <uapi/linux/smc_own.h>

/* Bytes of attributes that no event exceeds: two names, two addresses, and numbers. */
#define EVENT_SIZE	384
/* Events that a namespace tells of in a second: a host that loses an RNIC has one per link */
static const int told_max[SMC_NOTIFY_GROUPS] = {
	[SMC_NOTIFY_EVENTS] = 128,
	[SMC_NOTIFY_FBACKS] = 64,
};

/**
 * struct told - what a namespace tells to one multicast group
 * @lock: guards the rest; leaf, BH off
 * @since: jiffies, begin of the present second
 * @n: events in it
 * @untold: events that were left out since the last one
 */
struct told {
	spinlock_t lock; /* since, n, untold */
	unsigned long since;
	int n;
	u32 untold;
};

/**
 * struct notify_net - what a namespace tells
 * @told: per multicast group
 */
struct notify_net {
	struct told told[SMC_NOTIFY_GROUPS];
};

static unsigned int notify_net_id __read_mostly;
static const struct genl_family __rcu *notify_family;

/**
 * smc_notify_wanted() - does anybody listen?
 * @group: to this
 *
 * Any context. Costs two loads when nobody does. Netlink counts the listeners of all
 * namespaces together.
 *
 * Return: true if so.
 */
bool smc_notify_wanted(enum smc_notify_group group)
{
	const struct genl_family *family;
	bool wanted;

	rcu_read_lock();
	family = rcu_dereference(notify_family);
	wanted = family && genl_has_listeners(family, &init_net, group);
	rcu_read_unlock();
	return wanted;
}

/* Under rcu_read_lock(). NULL: no memory. */
static struct sk_buff *begin(const struct genl_family *family, u8 cmd, void **hdr)
{
	struct sk_buff *skb;

	skb = smc_fault_null(NOTIFY_MSG, genlmsg_new(EVENT_SIZE, GFP_ATOMIC));
	*hdr = skb ? genlmsg_put(skb, 0, 0, family, 0, cmd) : NULL;
	if (*hdr)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/* Takes over @skb; NULL: there was no memory for it. */
static void finish(const struct genl_family *family, struct net *net, struct sk_buff *skb,
		   void *hdr, enum smc_notify_group group)
{
	if (!skb) {
		smc_stats_inc(net, SMC_STAT_EVENT_LOST);
		genl_set_err(family, net, 0, group, -ENOBUFS);
		return;
	}
	genlmsg_end(skb, hdr);
	/* that one of them, or all, had no room, they hear themselves */
	genlmsg_multicast_netns(family, net, skb, 0, group, GFP_ATOMIC);
}

/*
 * May @net tell of one more? Then *@untold is how many were not told before it, which it is to
 * say. What it does not tell by this is counted; the first of them is told as a loss, since
 * nobody knows when the next event comes.
 */
static bool may_tell(const struct genl_family *family, struct net *net,
		     enum smc_notify_group group, u32 *untold)
{
	struct told *told = &((struct notify_net *)net_generic(net, notify_net_id))->told[group];
	bool tell, first = false;

	spin_lock_bh(&told->lock);
	if (time_after_eq(jiffies, told->since + HZ)) {
		told->since = jiffies;
		told->n = 0;
	}
	tell = told->n < told_max[group];
	if (tell) {
		told->n++;
		*untold = told->untold;
		told->untold = 0;
	} else {
		first = !told->untold++;
	}
	spin_unlock_bh(&told->lock);
	if (tell)
		return true;
	smc_stats_inc(net, SMC_STAT_EVENT_UNTOLD);
	if (!first)
		return false;
	genl_set_err(family, net, 0, group, -ENOBUFS);
	/* the initial namespace hears of all groups */
	if (group == SMC_NOTIFY_EVENTS && !net_eq(net, &init_net))
		genl_set_err(family, &init_net, 0, group, -ENOBUFS);
	return false;
}

static int put_lgr(struct sk_buff *skb, const struct net *net, const struct smc_notify_lgr *ev,
		   u32 untold)
{
	if (nla_put_u64_64bit(skb, SMC_NETLINK_EV_NET_COOKIE, net->net_cookie,
			      SMC_NETLINK_EV_PAD) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_LGR_ID, ev->id) ||
	    nla_put_u8(skb, SMC_NETLINK_EV_ROLE, ev->role) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_PEER, &ev->peer) ||
	    (ev->reason && nla_put_string(skb, SMC_NETLINK_EV_REASON, ev->reason)) ||
	    (untold && nla_put_u32(skb, SMC_NETLINK_EV_UNTOLD, untold)))
		return -EMSGSIZE;
	if (!ev->ib_dev)
		return 0;
	if (nla_put_u8(skb, SMC_NETLINK_EV_LINK_ID, ev->link) ||
	    nla_put_string(skb, SMC_NETLINK_EV_IB_DEV, ev->ib_dev) ||
	    nla_put_u8(skb, SMC_NETLINK_EV_IB_PORT, ev->ib_port))
		return -EMSGSIZE;
	if (ev->cmd != SMC_NETLINK_OWN_EV_FAILOVER)
		return 0;
	return nla_put_u32(skb, SMC_NETLINK_EV_CONNS, ev->conns);
}

/* @to: namespace of the listeners, @net: that of the group; under rcu_read_lock(). */
static void tell_lgr(const struct genl_family *family, struct net *to, const struct net *net,
		     const struct smc_notify_lgr *ev, u32 untold)
{
	struct sk_buff *skb;
	void *hdr;

	skb = begin(family, ev->cmd, &hdr);
	if (skb && WARN_ON_ONCE(put_lgr(skb, net, ev, untold))) {
		nlmsg_free(skb);
		skb = NULL;
	}
	finish(family, to, skb, hdr, SMC_NOTIFY_EVENTS);
}

/**
 * smc_notify_lgr() - something has happened to a group
 * @net: namespace of the group
 * @ev: what
 *
 * Softirq or process context.
 */
void smc_notify_lgr(struct net *net, const struct smc_notify_lgr *ev)
{
	const struct genl_family *family;
	u32 untold;

	rcu_read_lock();
	family = rcu_dereference(notify_family);
	if (family && genl_has_listeners(family, net, SMC_NOTIFY_EVENTS) &&
	    may_tell(family, net, SMC_NOTIFY_EVENTS, &untold)) {
		tell_lgr(family, net, net, ev, untold);
		if (!net_eq(net, &init_net))
			tell_lgr(family, &init_net, net, ev, untold);
	}
	rcu_read_unlock();
}

static int put_fback(struct sk_buff *skb, const struct net *net,
		     const struct smc_notify_fback *ev, u32 untold)
{
	if (nla_put_u64_64bit(skb, SMC_NETLINK_EV_NET_COOKIE, net->net_cookie,
			      SMC_NETLINK_EV_PAD) ||
	    nla_put_u8(skb, SMC_NETLINK_EV_ROLE, ev->server) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_OWN_RSN, ev->own_rsn) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_PEER_RSN, ev->peer_rsn) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_LOCAL, &ev->local) ||
	    nla_put_u16(skb, SMC_NETLINK_EV_LOCAL_PORT, ev->local_port) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_PEER, &ev->peer) ||
	    nla_put_u16(skb, SMC_NETLINK_EV_PEER_PORT, ev->peer_port) ||
	    (untold && nla_put_u32(skb, SMC_NETLINK_EV_UNTOLD, untold)))
		return -EMSGSIZE;
	return 0;
}

static void tell_fback(const struct genl_family *family, struct net *net,
		       const struct smc_notify_fback *ev)
{
	struct sk_buff *skb;
	u32 untold;
	void *hdr;

	if (!may_tell(family, net, SMC_NOTIFY_FBACKS, &untold))
		return;
	skb = begin(family, SMC_NETLINK_OWN_EV_FBACK, &hdr);
	if (skb && WARN_ON_ONCE(put_fback(skb, net, ev, untold))) {
		nlmsg_free(skb);
		skb = NULL;
	}
	finish(family, net, skb, hdr, SMC_NOTIFY_FBACKS);
}

/**
 * smc_notify_fback() - a socket is TCP for life
 * @net: its namespace
 * @ev: why
 *
 * Softirq or process context.
 */
void smc_notify_fback(struct net *net, const struct smc_notify_fback *ev)
{
	const struct genl_family *family;

	rcu_read_lock();
	family = rcu_dereference(notify_family);
	if (family && genl_has_listeners(family, net, SMC_NOTIFY_FBACKS))
		tell_fback(family, net, ev);
	rcu_read_unlock();
}

/**
 * smc_notify_open() - events can be sent
 * @family: registered, with its multicast groups
 */
void smc_notify_open(const struct genl_family *family)
{
	rcu_assign_pointer(notify_family, family);
}

/**
 * smc_notify_close() - no event is sent any more
 *
 * Process context, sleeps. The family may be unregistered afterwards.
 */
void smc_notify_close(void)
{
	RCU_INIT_POINTER(notify_family, NULL);
	synchronize_rcu();
}

static int __net_init notify_net_init(struct net *net)
{
	struct notify_net *nn = net_generic(net, notify_net_id);
	int i;

	for (i = 0; i < SMC_NOTIFY_GROUPS; i++) {
		spin_lock_init(&nn->told[i].lock);
		nn->told[i].since = jiffies;
	}
	return 0;
}

static struct pernet_operations notify_net_ops = {
	.init = notify_net_init,
	.id = &notify_net_id,
	.size = sizeof(struct notify_net),
};

/**
 * smc_notify_init() - set up the limits of all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_notify_init(void)
{
	return smc_fault_rc(NOTIFY_PERNET, -ENOMEM, register_pernet_subsys(&notify_net_ops));
}

/**
 * smc_notify_exit() - undo smc_notify_init()
 */
void smc_notify_exit(void)
{
	unregister_pernet_subsys(&notify_net_ops);
}
