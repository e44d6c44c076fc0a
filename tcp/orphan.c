// SPDX-License-Identifier: GPL-2.0-only
/*
 * An orphan: a clcsock whose application has closed its socket. It stays open until the SMC
 * connection has ended, because only then the FIN may be sent (RFC 7609 3.5.4, 4.8.1), and because
 * a connection that ends badly is reset (4.8.2). The connection holds the orphan and says how it
 * ends; the work of the orphan then closes the TCP socket and frees both.
 *
 * The end that closes first has TIME_WAIT, as on TCP. For an SMC connection the second C comes from
 * the other end, which therefore waits for the FIN of the first.
 *
 * An orphan holds no reference on its namespace: a connection that waits for its peer must not
 * delay the end of a namespace. When the namespace ends, the groups end first
 * (smc_lgr_net_exit()), and with them the connections; orphan_net_exit() waits for the rest.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/tcp/clcsock.h>
#include <smc/tcp/orphan.h>

/* The peer gets our C and then sends its FIN; after this time ours goes first. */
#define PEER_FIN_TIME	(1 * HZ)

/**
 * struct smc_orphan - one clcsock without an application
 * @clcsock: owns the TCP socket; hooked while the peer's FIN is awaited
 * @net: namespace; no reference
 * @how: how to end; set once by smc_orphan_end(), before @work is queued
 * @deadline: jiffies until which the peer's FIN is awaited, 0: not awaited yet; private to @work
 * @hurry: do not await it; under orphans_lock
 * @closing: @work must not be queued any more; under orphans_lock
 * @work: ends and frees the orphan
 * @entry: in orphans
 */
struct smc_orphan {
	struct smc_clcsock clcsock;
	struct net *net;
	enum smc_tcp_end how;
	unsigned long deadline;
	bool hurry;
	bool closing;
	struct delayed_work work;
	struct list_head entry;
};

static struct workqueue_struct *orphan_wq;
static DEFINE_SPINLOCK(orphans_lock);	/* orphans; leaf */
static LIST_HEAD(orphans);
static DECLARE_WAIT_QUEUE_HEAD(orphans_gone);

/* smc_clcsock_events.changed: softirq or process context. */
static void orphan_changed(void *owner)
{
	struct smc_orphan *orphan = owner;

	mod_delayed_work(orphan_wq, &orphan->work, 0);
}

static const struct smc_clcsock_events orphan_events = {
	.changed = orphan_changed,
};

/* Return whether to wait for the peer's FIN: then the work is queued. */
static bool orphan_await_fin(struct smc_orphan *orphan)
{
	if (!orphan->deadline) {
		orphan->deadline = (jiffies + PEER_FIN_TIME) ?: 1;
		/* without our callbacks (a BPF psock has its own) no FIN would be noticed */
		if (!smc_clcsock_hook(&orphan->clcsock, &orphan_events, orphan))
			return false;
	}
	if (smc_clcsock_state(&orphan->clcsock) != TCP_ESTABLISHED || READ_ONCE(orphan->hurry) ||
	    time_after_eq(jiffies, orphan->deadline))
		return false;
	/* does nothing if the callback has queued the work meanwhile */
	queue_delayed_work(orphan_wq, &orphan->work, orphan->deadline - jiffies);
	return true;
}

static void orphan_work_fn(struct work_struct *work)
{
	struct smc_orphan *orphan = container_of(to_delayed_work(work), struct smc_orphan, work);
	bool reset = orphan->how == SMC_TCP_END_RST;

	if (orphan->how == SMC_TCP_END_FIN_SECOND && orphan_await_fin(orphan))
		return;
	smc_clcsock_unhook(&orphan->clcsock);
	spin_lock_bh(&orphans_lock);
	orphan->closing = true;
	spin_unlock_bh(&orphans_lock);
	/* the callback or orphan_hurry_all() may have queued it once more */
	cancel_delayed_work(&orphan->work);
	/* TCP's timers outlive a FIN and need the namespace: if it ends, send RST */
	if (!reset && !smc_clcsock_pin_net(&orphan->clcsock))
		reset = true;
	smc_clcsock_release(&orphan->clcsock, reset);
	spin_lock_bh(&orphans_lock);
	list_del(&orphan->entry);
	spin_unlock_bh(&orphans_lock);
	kfree(orphan);
	wake_up_all(&orphans_gone);
}

/**
 * smc_orphan_create() - take over the TCP socket of a closed socket
 * @c: clcsock with a TCP socket that nobody else uses; without one afterwards
 *
 * Process context. The caller ends the orphan by smc_orphan_end().
 *
 * Return: the orphan, or NULL without memory: @c is unchanged.
 */
struct smc_orphan *smc_orphan_create(struct smc_clcsock *c)
{
	struct smc_orphan *orphan;

	orphan = smc_fault_null(ORPHAN, kzalloc(sizeof(*orphan), GFP_KERNEL_ACCOUNT));
	if (!orphan)
		return NULL;
	orphan->net = sock_net(c->sock->sk);
	INIT_DELAYED_WORK(&orphan->work, orphan_work_fn);
	/* listed before it drops the namespace: orphan_net_exit() must find it */
	spin_lock_bh(&orphans_lock);
	list_add_tail(&orphan->entry, &orphans);
	spin_unlock_bh(&orphans_lock);
	smc_clcsock_hand_over(c, &orphan->clcsock);
	return orphan;
}

/**
 * smc_orphan_end() - end a clcsock
 * @orphan: orphan; the caller must not use it afterwards
 * @how: not SMC_TCP_END_NONE
 *
 * Any context: queues the work only.
 */
void smc_orphan_end(struct smc_orphan *orphan, enum smc_tcp_end how)
{
	orphan->how = how;
	queue_delayed_work(orphan_wq, &orphan->work, 0);
}

/* Close the orphans of @net (NULL: of every namespace) now. Return whether there are any left. */
static bool orphan_hurry_all(const struct net *net)
{
	struct smc_orphan *orphan;
	bool left = false;

	spin_lock_bh(&orphans_lock);
	list_for_each_entry(orphan, &orphans, entry) {
		if (net && orphan->net != net)
			continue;
		left = true;
		WRITE_ONCE(orphan->hurry, true);
		if (orphan->how && !orphan->closing)
			mod_delayed_work(orphan_wq, &orphan->work, 0);
	}
	spin_unlock_bh(&orphans_lock);
	return left;
}

/* All connections of the namespace have ended, so each orphan has its order how to end. */
static void __net_exit orphan_net_exit(struct net *net)
{
	wait_event(orphans_gone, !orphan_hurry_all(net));
}

static struct pernet_operations orphan_net_ops = {
	.exit = orphan_net_exit,
};

/**
 * smc_orphan_init() - set up the work queue and the end of namespaces
 *
 * Before link groups, whose end of a namespace has to come first.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_orphan_init(void)
{
	int rc;

	orphan_wq = smc_fault_null(ORPHAN_WQ, alloc_workqueue("smc_orphan", WQ_UNBOUND, 0));
	if (!orphan_wq)
		return -ENOMEM;
	rc = smc_fault_rc(ORPHAN_PERNET, -ENOMEM, register_pernet_subsys(&orphan_net_ops));
	if (rc)
		destroy_workqueue(orphan_wq);
	return rc;
}

/** smc_orphan_exit() - close all orphans, and undo smc_orphan_init(); no connection is left */
void smc_orphan_exit(void)
{
	orphan_net_exit(NULL);
	unregister_pernet_subsys(&orphan_net_ops);
	destroy_workqueue(orphan_wq);
	/* a softirq may still run a callback of a closed clcsock */
	synchronize_net();
}
