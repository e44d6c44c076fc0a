// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events for netlink listeners (<linux/smc_own.h>): built and sent where they happen, also by
 * callers that may not sleep.
 *
 * Nothing waits for a listener. If its queue is full, or memory is short, the event is lost and its
 * next receive fails with ENOBUFS.
 *
 * A host may have one fallback per connection, and a peer can create and end link groups at will,
 * so the rate of events per namespace is limited; suppressed events are counted and their number is
 * reported.
 */
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/events.h>
#include <smc/base/fault.h>
#include <smc/base/rules.h>
#include <smc/base/stats.h>
#include <uapi/linux/smc_own.h>

/* Upper limit of the attributes of an event: two names, two addresses, and numbers. */
#define EVENT_SIZE	384
/*
 * What has a limit of its own: the events of each multicast group, but for the requests that were
 * refused or withdrawn. A peer may cause one of these with each message, and they would suppress
 * the events of its and other connections.
 */
enum event_kind {
	EVENT_GROUP,
	EVENT_FALLBACK,
	EVENT_CONN,
	EVENT_REFUSAL,
	EVENT_KINDS
};

/*
 * Events per namespace and second; a host that loses an RNIC has one event per link. Each costs a
 * look at every listener of the machine, and any user may make many of them.
 */
static const int event_rate_max[EVENT_KINDS] = {
	[EVENT_GROUP] = 128,
	[EVENT_FALLBACK] = 64,
	[EVENT_CONN] = 256,
	[EVENT_REFUSAL] = 64,
};

/**
 * struct event_rate - Rate limit of one kind of events in a namespace
 * @lock: protects the other members; leaf, BH off
 * @since: jiffies, start of the present second
 * @n: events in it
 * @suppressed: events suppressed since the last one that was sent
 */
struct event_rate {
	spinlock_t lock; /* since, n, suppressed */
	unsigned long since;
	int n;
	u32 suppressed;
};

/**
 * struct event_net - Events of one namespace
 * @rates: per kind
 */
struct event_net {
	struct event_rate rates[EVENT_KINDS];
};

/**
 * struct event - An event that is to be sent
 * @group: for the listeners of this multicast group
 * @kind: which limit it has
 * @cmd: command of the message
 * @put: write the attributes; @suppressed: number of events suppressed before; 0 or -EMSGSIZE
 * @arg: what @put writes; its type belongs to @put
 */
struct event {
	enum smc_event_group group;
	enum event_kind kind;
	u8 cmd;
	int (*put)(struct sk_buff *skb, const struct net *net, const void *arg, u32 suppressed);
	const void *arg;
};

static unsigned int event_net_id __read_mostly;
static const struct genl_family __rcu *event_family;

/**
 * smc_event_has_listeners() - Check whether a multicast group has listeners
 * @group: multicast group
 *
 * Saves callers the work of collecting an event. Any context; costs two loads without listeners.
 * Netlink counts the listeners of all namespaces together.
 *
 * Return: true if so.
 */
bool smc_event_has_listeners(enum smc_event_group group)
{
	const struct genl_family *family;
	bool wanted;

	rcu_read_lock();
	family = rcu_dereference(event_family);
	wanted = family && genl_has_listeners(family, &init_net, group);
	rcu_read_unlock();
	return wanted;
}

/* The initial namespace receives the events of the link groups of all namespaces. */
static bool event_for_all(const struct net *net, enum smc_event_group group)
{
	return group == SMC_EVENT_GROUP_EVENTS && !net_eq(net, &init_net);
}

/*
 * Return whether @net may send @e, one more of its kind. If so, set *@suppressed to the number of
 * events suppressed before it, which it has to report; if not, count the event. The first
 * suppressed event is reported as a loss at once, because the next event may take long.
 */
static bool event_rate_check(const struct genl_family *family, struct net *net,
			     const struct event *e, u32 *suppressed)
{
	struct event_net *en = net_generic(net, event_net_id);
	struct event_rate *rate = &en->rates[e->kind];
	bool allowed, first = false;

	spin_lock_bh(&rate->lock);
	if (time_after_eq(jiffies, rate->since + HZ)) {
		rate->since = jiffies;
		rate->n = 0;
	}
	allowed = rate->n < event_rate_max[e->kind];
	if (allowed) {
		rate->n++;
		*suppressed = rate->suppressed;
		rate->suppressed = 0;
	} else {
		first = !rate->suppressed++;
	}
	spin_unlock_bh(&rate->lock);
	if (allowed)
		return true;
	smc_stats_inc(net, SMC_STAT_EVENT_SUPPRESSED);
	if (!first)
		return false;
	genl_set_err(family, net, 0, e->group, -ENOBUFS);
	if (event_for_all(net, e->group))
		genl_set_err(family, &init_net, 0, e->group, -ENOBUFS);
	return false;
}

/* Return the message of an event in @net, or NULL if there is no memory for it. */
static struct sk_buff *event_build(const struct genl_family *family, const struct net *net,
				   const struct event *e, u32 suppressed)
{
	struct sk_buff *skb = smc_fault_null(NOTIFY_MSG, genlmsg_new(EVENT_SIZE, GFP_ATOMIC));
	void *hdr = skb ? genlmsg_put(skb, 0, 0, family, 0, e->cmd) : NULL;

	if (!hdr || WARN_ON_ONCE(e->put(skb, net, e->arg, suppressed))) {
		nlmsg_free(skb);
		return NULL;
	}
	genlmsg_end(skb, hdr);
	return skb;
}

/* Send an event in @net to the listeners in @to. */
static void event_send_to(const struct genl_family *family, struct net *to, const struct net *net,
			  const struct event *e, u32 suppressed)
{
	struct sk_buff *skb = event_build(family, net, e, suppressed);

	if (!skb) {
		smc_stats_inc(to, SMC_STAT_EVENT_LOST);
		genl_set_err(family, to, 0, e->group, -ENOBUFS);
		return;
	}
	/* Ignore errors: listeners without room get ENOBUFS themselves. */
	genlmsg_multicast_netns(family, to, skb, 0, e->group, GFP_ATOMIC);
}

static void event_send(struct net *net, const struct event *e)
{
	const struct genl_family *family;
	u32 suppressed;

	rcu_read_lock();
	family = rcu_dereference(event_family);
	if (family && genl_has_listeners(family, net, e->group) &&
	    event_rate_check(family, net, e, &suppressed)) {
		event_send_to(family, net, net, e, suppressed);
		if (event_for_all(net, e->group))
			event_send_to(family, &init_net, net, e, suppressed);
	}
	rcu_read_unlock();
}

static int event_put_u64(struct sk_buff *skb, int attr, u64 val)
{
	return nla_put_u64_64bit(skb, attr, val, SMC_NETLINK_EV_PAD);
}

static int event_put_lgr(struct sk_buff *skb, const struct net *net, const void *arg,
			 u32 suppressed)
{
	const struct smc_event_lgr *ev = arg;

	if (event_put_u64(skb, SMC_NETLINK_EV_NET_COOKIE, net->net_cookie) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_LGR_ID, ev->id) ||
	    nla_put_u8(skb, SMC_NETLINK_EV_ROLE, ev->role) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_PEER, &ev->peer) ||
	    (ev->reason && nla_put_string(skb, SMC_NETLINK_EV_REASON, ev->reason)) ||
	    (suppressed && nla_put_u32(skb, SMC_NETLINK_EV_UNTOLD, suppressed)))
		return -EMSGSIZE;
	if (ev->cmd == SMC_NETLINK_OWN_EV_LGR_END &&
	    (nla_put_u32(skb, SMC_NETLINK_EV_CONNS, ev->conns) ||
	     event_put_u64(skb, SMC_NETLINK_EV_MSECS, ev->msecs) ||
	     event_put_u64(skb, SMC_NETLINK_EV_TX_BYTES, ev->tx_bytes) ||
	     event_put_u64(skb, SMC_NETLINK_EV_RX_BYTES, ev->rx_bytes)))
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

/**
 * smc_event_lgr() - Send an event of a link group
 * @net: namespace of the group
 * @ev: the event
 *
 * Listeners in @net and in the initial namespace receive it. Softirq or process context. Errors are
 * counted, see event_lost and event_untold in /proc/net/smc_stat.
 */
void smc_event_lgr(struct net *net, const struct smc_event_lgr *ev)
{
	const struct event e = {
		.group = SMC_EVENT_GROUP_EVENTS,
		.kind = EVENT_GROUP,
		.cmd = ev->cmd,
		.put = event_put_lgr,
		.arg = ev,
	};

	event_send(net, &e);
}

static int event_put_fallback(struct sk_buff *skb, const struct net *net, const void *arg,
			      u32 suppressed)
{
	const struct smc_event_fallback *ev = arg;

	if (event_put_u64(skb, SMC_NETLINK_EV_NET_COOKIE, net->net_cookie) ||
	    nla_put_u8(skb, SMC_NETLINK_EV_ROLE, ev->server) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_OWN_RSN, ev->own_rsn) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_PEER_RSN, ev->peer_rsn) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_LOCAL, &ev->local) ||
	    nla_put_u16(skb, SMC_NETLINK_EV_LOCAL_PORT, ev->local_port) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_PEER, &ev->peer) ||
	    nla_put_u16(skb, SMC_NETLINK_EV_PEER_PORT, ev->peer_port) ||
	    (suppressed && nla_put_u32(skb, SMC_NETLINK_EV_UNTOLD, suppressed)))
		return -EMSGSIZE;
	return 0;
}

/**
 * smc_event_fallback() - Send an event about a fallback to TCP
 * @net: namespace of the socket
 * @ev: the event
 *
 * Softirq or process context.
 */
void smc_event_fallback(struct net *net, const struct smc_event_fallback *ev)
{
	const struct event e = {
		.group = SMC_EVENT_GROUP_FALLBACKS,
		.kind = EVENT_FALLBACK,
		.cmd = SMC_NETLINK_OWN_EV_FBACK,
		.put = event_put_fallback,
		.arg = ev,
	};

	event_send(net, &e);
}

/* What names a connection over RDMA, or one that a group may carry on. */
static int event_put_conn_ends(struct sk_buff *skb, const struct net *net, u32 lgr_id, bool server,
			       const struct smc_rules_path *path)
{
	if (event_put_u64(skb, SMC_NETLINK_EV_NET_COOKIE, net->net_cookie) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_LGR_ID, lgr_id) ||
	    nla_put_u8(skb, SMC_NETLINK_EV_ROLE, server) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_LOCAL, &path->local.addr) ||
	    nla_put_u16(skb, SMC_NETLINK_EV_LOCAL_PORT, path->local.port) ||
	    nla_put_in6_addr(skb, SMC_NETLINK_EV_PEER, &path->remote.addr) ||
	    nla_put_u16(skb, SMC_NETLINK_EV_PEER_PORT, path->remote.port))
		return -EMSGSIZE;
	return 0;
}

static int event_put_conn(struct sk_buff *skb, const struct net *net, const void *arg,
			  u32 suppressed)
{
	const struct smc_event_conn *ev = arg;

	if (event_put_conn_ends(skb, net, ev->lgr_id, ev->server, ev->path) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_ERROR, ev->err) ||
	    event_put_u64(skb, SMC_NETLINK_EV_MSECS, ev->msecs) ||
	    event_put_u64(skb, SMC_NETLINK_EV_TX_BYTES, ev->tx_bytes) ||
	    event_put_u64(skb, SMC_NETLINK_EV_RX_BYTES, ev->rx_bytes) ||
	    event_put_u64(skb, SMC_NETLINK_EV_TX_AGAIN, ev->tx_again) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_TX_MSGS, ev->tx_msgs) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_RX_MSGS, ev->rx_msgs) ||
	    event_put_u64(skb, SMC_NETLINK_EV_CLOSED_USECS, ev->closed_usecs) ||
	    nla_put_u32(skb, SMC_NETLINK_EV_MOVES, ev->moves) ||
	    (suppressed && nla_put_u32(skb, SMC_NETLINK_EV_UNTOLD, suppressed)))
		return -EMSGSIZE;
	if (ev->rtt && (nla_put_u32(skb, SMC_NETLINK_EV_RTT, ev->rtt) ||
			nla_put_u32(skb, SMC_NETLINK_EV_RTT_MIN, ev->rtt_min)))
		return -EMSGSIZE;
	return 0;
}

/**
 * smc_event_conn() - Send an event about the end of a connection over RDMA
 * @net: namespace of the connection
 * @ev: the event
 *
 * Process context.
 */
void smc_event_conn(struct net *net, const struct smc_event_conn *ev)
{
	const struct event e = {
		.group = SMC_EVENT_GROUP_CONNS,
		.kind = EVENT_CONN,
		.cmd = SMC_NETLINK_OWN_EV_CONN_END,
		.put = event_put_conn,
		.arg = ev,
	};

	event_send(net, &e);
}

static int event_put_upgrade(struct sk_buff *skb, const struct net *net, const void *arg,
			     u32 suppressed)
{
	const struct smc_event_upgrade *ev = arg;

	if (event_put_conn_ends(skb, net, ev->lgr_id, ev->server, ev->path) ||
	    (ev->reason && nla_put_string(skb, SMC_NETLINK_EV_REASON, ev->reason)) ||
	    (!ev->reason && event_put_u64(skb, SMC_NETLINK_EV_MSECS, ev->msecs)) ||
	    (suppressed && nla_put_u32(skb, SMC_NETLINK_EV_UNTOLD, suppressed)))
		return -EMSGSIZE;
	return 0;
}

/**
 * smc_event_upgrade() - Send an event about a request to upgrade a connection
 * @net: namespace of the connection
 * @ev: the event
 *
 * Process context.
 */
void smc_event_upgrade(struct net *net, const struct smc_event_upgrade *ev)
{
	const struct event e = {
		.group = SMC_EVENT_GROUP_CONNS,
		.kind = ev->reason ? EVENT_REFUSAL : EVENT_CONN,
		.cmd = ev->reason ? SMC_NETLINK_OWN_EV_UPGRADE_REFUSED :
				    SMC_NETLINK_OWN_EV_CONN_UPGRADED,
		.put = event_put_upgrade,
		.arg = ev,
	};

	event_send(net, &e);
}

/**
 * smc_event_enable() - Enable events
 * @family: generic netlink family, registered with its multicast groups
 *
 * The caller calls smc_event_disable() before it unregisters @family.
 */
void smc_event_enable(const struct genl_family *family)
{
	rcu_assign_pointer(event_family, family);
}

/**
 * smc_event_disable() - Disable events
 *
 * Process context, sleeps. No event uses the family afterwards.
 */
void smc_event_disable(void)
{
	RCU_INIT_POINTER(event_family, NULL);
	synchronize_rcu();
}

static int __net_init event_net_init(struct net *net)
{
	struct event_net *en = net_generic(net, event_net_id);
	int i;

	for (i = 0; i < EVENT_KINDS; i++) {
		spin_lock_init(&en->rates[i].lock);
		en->rates[i].since = jiffies;
	}
	return 0;
}

static struct pernet_operations event_net_ops = {
	.init = event_net_init,
	.id = &event_net_id,
	.size = sizeof(struct event_net),
};

/**
 * smc_event_init() - Set up the rate limits of all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_event_init(void)
{
	return smc_fault_rc(NOTIFY_PERNET, -ENOMEM, register_pernet_subsys(&event_net_ops));
}

/**
 * smc_event_exit() - Undo smc_event_init()
 */
void smc_event_exit(void)
{
	unregister_pernet_subsys(&event_net_ops);
}
