// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rendezvous over a connected carrier: its work, from the start to the result. The steps are
 * in handshake/steps.c, their order in handshake/client.c and handshake/server.c.
 *
 * One work item per handshake on an unbound queue, which a server's enters when the
 * Proposal has arrived. It sleeps only on its own wait queue, which the carrier, the
 * LLC layer and smc_hs_cancel() wake; every step has a deadline; no socket lock and no
 * global lock is held.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/handshake/admission.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/rdma/path.h>
#include "internal.h"

/*
 * At most SMC_LIMIT_TOTAL of one side sleep; the others are for those that only hear
 * that they may not. More than that is not to be had everywhere.
 */
#define HS_WORKERS	512

static_assert(HS_WORKERS > SMC_LIMIT_TOTAL);

/* One for each side: servers that do not answer our clients must not hold up our servers. */
static struct workqueue_struct *hs_wq;
static struct workqueue_struct *hs_client_wq;
/* For what never waits. */
static struct workqueue_struct *hs_poll_wq;

/* ---- the work ---------------------------------------------------------------- */

/* Gives back whatever a handshake that did not end on SMC still owns. */
static void hs_undo(struct smc_hs_ctx *ctx)
{
	if (ctx->llc_armed)
		smc_llc_fc_end(ctx->link);
	if (ctx->conn)
		smc_conn_discard(ctx->conn, ctx->rmbe_announced);
	if (ctx->res.outcome != SMC_HS_SMC && ctx->first && ctx->lgr)
		smc_core_terminate(ctx->lgr, SMC_LINK_SETUP_FAILED);
	if (ctx->creator)
		smc_core_contact_done(&ctx->contact, NULL);
	if (ctx->link)
		smc_link_put(ctx->link);
	if (ctx->lgr) {
		if (ctx->reserved)
			smc_core_unreserve(ctx->lgr);
		smc_core_put(ctx->lgr);
	}
	if (smc_hs_unpark_path(ctx))
		smc_pnet_path_put(&ctx->path);
	smc_hs_put_netdev(ctx);
	if (ctx->admitted)
		smc_limit_end(ctx->net, ctx->hs->server, ctx->hs->host);
}

static void hs_count_outcome(const struct smc_hs_ctx *ctx)
{
	bool server = ctx->hs->server;
	const struct smc_hs_result *res = &ctx->res;

	switch (res->outcome) {
	case SMC_HS_SMC:
		smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_SMC : SMC_STAT_CLNT_SMC);
		if (ctx->peer.version == 1)
			smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_V1 : SMC_STAT_CLNT_V1);
		smc_stats_handshake(ctx->net, server, ktime_get_ns() - ctx->began);
		break;
	case SMC_HS_TCP:
		smc_stats_fallback(ctx->net, server, res->own_reason);
		break;
	case SMC_HS_FAIL:
		if (!ctx->tcp_failed && res->err == ECONNRESET)
			smc_stats_inc(ctx->net, SMC_STAT_HS_RESET);
		if (!ctx->tcp_failed)
			smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_HS_ERR :
							    SMC_STAT_CLNT_HS_ERR);
		break;
	}
}

static void hs_trace_end(const struct smc_hs_ctx *ctx)
{
	const struct smc_hs_result *res = &ctx->res;
	bool smc = res->outcome == SMC_HS_SMC;

	trace_smc_hs_end(ctx->sk, ctx->hs->server, res->outcome, res->err, res->own_reason,
			 res->peer_reason, smc ? res->conn->token : 0,
			 smc ? ctx->link->uid : 0);
}

static void hs_work(struct work_struct *work)
{
	struct smc_hs *hs = container_of(work, struct smc_hs, work);
	struct smc_hs_result none = { .outcome = SMC_HS_FAIL, .err = ENOMEM };
	struct mem_cgroup *old;
	struct smc_hs_result res;
	struct smc_hs_ctx *ctx;

	/* before anything that can end in done(): the timer would outlive the owner */
	cancel_delayed_work_sync(&hs->first_work);
	ctx = smc_fault_null(HS_CTX, kzalloc(sizeof(*ctx), GFP_KERNEL));
	if (!ctx) {
		smc_carrier_unhook(hs->carrier);
		hs->done(hs, &none);
		return;
	}
	ctx->hs = hs;
	ctx->net = hs->net;
	ctx->began = ktime_get_ns();
	ctx->sk = hs->carrier->sock->sk;
	ctx->version = 1;
	old = set_active_memcg(hs->memcg);
	hs->run(ctx);
	set_active_memcg(old);
	hs_count_outcome(ctx);
	if (trace_smc_hs_end_enabled())
		hs_trace_end(ctx);
	hs_undo(ctx);
	res = ctx->res;
	kfree(ctx);
	smc_carrier_unhook(hs->carrier);
	/* the owner may free hs as soon as done() has dropped its reference */
	hs->done(hs, &res);
}

/*
 * Once: true for the first caller. Under the lock, so that who comes second finds the
 * work queued and can flush it.
 */
static bool hs_claim_start(struct smc_hs *hs, bool queue)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&hs->wait.lock, flags);
	first = !test_and_set_bit(0, &hs->started);
	if (first && queue)
		queue_work(hs->server ? hs_wq : hs_client_wq, &hs->work);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	return first;
}

static void hs_queue_work(struct smc_hs *hs)
{
	hs_claim_start(hs, true);
}

/* Have first_work look, unless the work is queued: then nobody may queue that any more. */
static void hs_poll_proposal(struct smc_hs *hs)
{
	unsigned long flags;

	spin_lock_irqsave(&hs->wait.lock, flags);
	if (!test_bit(0, &hs->started))
		mod_delayed_work(hs_poll_wq, &hs->first_work, 0);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
}

/* Carrier callback; softirq or process context: only wakes or queues. */
static void hs_clcsock_changed(void *owner)
{
	struct smc_hs *hs = owner;
	int state;

	if (test_bit(0, &hs->started)) {
		wake_up(&hs->wait);
		return;
	}
	if (hs->server) {
		if (smc_carrier_readable(hs->carrier))
			hs_poll_proposal(hs);
		return;
	}
	state = smc_carrier_state(hs->carrier);
	if (state != TCP_SYN_SENT && state != TCP_SYN_RECV)
		hs_queue_work(hs);
}

static const struct smc_carrier_events hs_clcsock_events = {
	.changed = hs_clcsock_changed,
};

/*
 * So a client that says nothing, or drips, costs no worker that waits for it. When its
 * time is over the work finds that.
 */
static void hs_proposal_work(struct work_struct *work)
{
	struct smc_hs *hs = container_of(to_delayed_work(work), struct smc_hs, first_work);
	long left = hs->deadline - jiffies;

	if (left <= 0 || smc_clc_whole(hs->carrier->sock->sk))
		hs_queue_work(hs);
	else
		queue_delayed_work(hs_poll_wq, &hs->first_work, left);
}

/**
 * smc_hs_setup() - initialise the private members
 * @hs: handshake, zeroed
 * @run: the steps of its side
 *
 * For handshake/client.c and handshake/server.c.
 */
void smc_hs_setup(struct smc_hs *hs, void (*run)(struct smc_hs_ctx *ctx))
{
	hs->run = run;
	init_waitqueue_head(&hs->wait);
	INIT_WORK(&hs->work, hs_work);
	INIT_DELAYED_WORK(&hs->first_work, hs_proposal_work);
	hs->cancelled = false;
	hs->started = 0;
}

/**
 * smc_hs_start() - begin a handshake
 * @hs: set up, carrier connecting or connected (client), or accepted (server)
 *
 * Process context. The work of a client is queued once TCP has decided, so a
 * connect() into the void costs no worker. That of a server is queued when the Proposal
 * has arrived: a silent client costs no worker either, and ends at the deadline.
 */
void smc_hs_start(struct smc_hs *hs)
{
	if (!hs->server) {
		smc_carrier_hook(hs->carrier, &hs_clcsock_events, hs);
		hs_clcsock_changed(hs);
		return;
	}
	hs->deadline = jiffies + T_CLC;
	smc_carrier_hook(hs->carrier, &hs_clcsock_events, hs);
	/* a reset may have ended it already, and the carrier is then gone: look at @hs alone */
	hs_poll_proposal(hs);
}

/**
 * smc_hs_cancel() - ask a handshake to end
 * @hs: started handshake
 *
 * Any context; done() follows, unless it has run already.
 */
void smc_hs_cancel(struct smc_hs *hs)
{
	WRITE_ONCE(hs->cancelled, true);
	hs_queue_work(hs);
	wake_up(&hs->wait);
}

/**
 * smc_hs_cancel_sync() - end a handshake and wait
 * @hs: set up, started or not
 *
 * Process context, not from done(). On return done() has returned or never runs.
 */
void smc_hs_cancel_sync(struct smc_hs *hs)
{
	WRITE_ONCE(hs->cancelled, true);
	if (!hs_claim_start(hs, false)) {
		wake_up(&hs->wait);
		flush_work(&hs->work);
		return;
	}
	/* nobody queues it any more */
	cancel_delayed_work_sync(&hs->first_work);
	if (hs->carrier && hs->carrier->sock)
		smc_carrier_unhook(hs->carrier);
}

/**
 * smc_hs_older() - how long has a server been waiting for the Proposal
 * @hs: started handshake of a server
 * @age: jiffies
 *
 * Return: true if for @age or longer.
 */
bool smc_hs_older(const struct smc_hs *hs, unsigned long age)
{
	return time_after_eq(jiffies, READ_ONCE(hs->deadline) - T_CLC + age);
}

/**
 * smc_hs_evict() - end a handshake whose Proposal is overdue
 * @hs: started handshake of a server
 *
 * Any context. One that has just begun goes on.
 *
 * Return: true if it ends for that.
 */
bool smc_hs_evict(struct smc_hs *hs)
{
	unsigned long flags;
	bool evict;

	spin_lock_irqsave(&hs->wait.lock, flags);
	evict = !test_and_set_bit(0, &hs->started);
	if (evict) {
		WRITE_ONCE(hs->cancelled, true);
		queue_work(hs_wq, &hs->work);
	}
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	return evict;
}

static void hs_destroy_queues(void)
{
	if (hs_poll_wq)
		destroy_workqueue(hs_poll_wq);
	if (hs_client_wq)
		destroy_workqueue(hs_client_wq);
	if (hs_wq)
		destroy_workqueue(hs_wq);
}

/**
 * smc_hs_init() - create the work queues
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_hs_init(void)
{
	const unsigned int flags = WQ_UNBOUND | WQ_HIGHPRI;
	/* some kernels divide them among the nodes */
	int n = min_t(int, HS_WORKERS * num_possible_nodes(), WQ_MAX_ACTIVE);

	hs_wq = smc_fault_null(HS_WQ, alloc_workqueue("smc_hs", flags, n));
	hs_client_wq = smc_fault_null(HS_CLIENT_WQ, alloc_workqueue("smc_hs_client", flags, n));
	hs_poll_wq = smc_fault_null(HS_LOOK_WQ, alloc_workqueue("smc_hs_look", flags, 0));
	if (hs_wq && hs_client_wq && hs_poll_wq)
		return 0;
	hs_destroy_queues();
	return -ENOMEM;
}

/**
 * smc_hs_exit() - undo smc_hs_init(); no handshake is left
 */
void smc_hs_exit(void)
{
	hs_destroy_queues();
}
