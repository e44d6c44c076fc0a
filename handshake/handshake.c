// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rendezvous (RFC 7609 section 3.5, appendix C; SMC version 2): two ends that are connected
 * by TCP agree on SMC-R or fall back to TCP. Entry point of handshake/. This file runs a
 * handshake: work items, start, cancellation, release of what is left.
 *
 * Objects. struct smc_hs is one handshake, embedded in its socket. struct smc_hs_ctx exists
 * while the work runs, on its stack; it holds all references that the handshake has taken, and the
 * messages, once it is known that there will be any.
 *
 * Files. client.c and server.c have the steps of one side in their order. steps.c has the steps
 * that both sides share, wait.c the waits for CLC messages and for the LLC layer, result.c the
 * ways in which a handshake ends. admission.c limits how many handshakes run at once, negcache.c
 * remembers servers with which a handshake ran into a deadline.
 *
 * Steps. A step returns HS_GO or HS_END. At HS_END, smc_hs_ctx.res says what the connection
 * becomes: SMC, TCP, or dead with an errno. At the end hs_run() releases what the context still
 * owns (hs_undo()), and hs_work() calls smc_hs.done(), once.
 *
 * Queues. Each handshake is one work item on an unbound work queue, smc_hs_client or smc_hs
 * (servers): servers that do not answer our clients must not delay our own server. The work of a
 * client is queued when TCP's connect() has ended. If the server has not sent the SMC option, the
 * caller of a blocking connect() runs it instead, as there is nothing to wait for: a work would
 * cost two switches of processes. The work of a server is queued when the whole Proposal has
 * arrived, or its time is over; smc_hs.first_work, on a third work queue that never waits, checks
 * that when bytes have come. So a connect() without an answer and a silent client cost no worker.
 *
 * Waiting. The work sleeps only on smc_hs.wait, or in a lower layer, never on the clcsock's wait
 * queue. The clcsock's callbacks, the LLC layer and smc_hs_cancel() wake smc_hs.wait. Every wait
 * has a deadline (T_* in internal.h).
 *
 * Locks. The work holds no socket lock and no global lock. smc_hs.started changes under the lock
 * of smc_hs.wait, which may be taken under the clcsock's sk_callback_lock. The steps take the lock
 * of the clcsock. No program knows an accepted clcsock yet. That of a client is known, so the work
 * of a client runs only while no call of the program may sleep under this lock, and from its start
 * to done() such calls wait (smc_clcsock_begin_work()).
 *
 * References. The owner keeps smc_hs alive until done() has been called, or cancels it with
 * smc_hs_cancel_sync(). The clcsock is hooked from smc_hs_start() on. done() unhooks it, or hooks
 * it for what comes next: one round of locks for both.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>
#include <linux/workqueue.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/handshake/admission.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/rdma/path.h>
#include "internal.h"

/*
 * At most SMC_ADMISSION_TOTAL handshakes of one side sleep. The remaining workers only send
 * Declines. Some kernels limit max_active to 512.
 */
#define HS_WORKERS	512

static_assert(HS_WORKERS > SMC_ADMISSION_TOTAL);

/* Bits of smc_hs.started. */
#define HS_STARTED	0	/* the work was queued, or will never be */
#define HS_RUNS		1	/* the work has begun, and will call done() */
#define HS_ATTENDED	2	/* client: the caller of connect() waits, see smc_hs_attend() */
#define HS_DUE		3	/* started, but not queued: the caller runs the work */
#define HS_POLLED	4	/* server: first_work has queued the work, and does not run again */

/* One queue per side: servers that do not answer our clients must not delay our own server. */
static struct workqueue_struct *hs_wq;
static struct workqueue_struct *hs_client_wq;
/* For smc_hs.first_work, which never waits. */
static struct workqueue_struct *hs_poll_wq;

/* ---- the work ---------------------------------------------------------------- */

/* Release what the context still owns. After SMC_HS_SMC the connection belongs to res.conn. */
static void hs_undo(struct smc_hs_ctx *ctx)
{
	smc_hs_end_probe(ctx);
	if (ctx->llc_armed)
		smc_llc_fc_end(ctx->link);
	if (ctx->conn)
		smc_conn_discard(ctx->conn, ctx->rmbe_announced);
	if (ctx->res.outcome != SMC_HS_SMC && ctx->first && ctx->lgr)
		smc_lgr_terminate(ctx->lgr, SMC_LINK_SETUP_FAILED);
	if (ctx->creator)
		smc_contact_finish(&ctx->contact, NULL);
	if (ctx->link)
		smc_link_put(ctx->link);
	if (ctx->lgr) {
		if (ctx->reserved) {
			smc_proof_drop(ctx->lgr, &ctx->peer.tcp_addr);
			smc_lgr_unreserve_conn(ctx->lgr);
		}
		smc_lgr_put(ctx->lgr);
	}
	if (smc_hs_unpark_path(ctx))
		smc_path_put(&ctx->path);
	smc_hs_put_netdev(ctx);
	if (ctx->admitted)
		smc_admission_release(ctx->net, ctx->hs->server, ctx->hs->host);
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
		smc_stats_add_handshake(ctx->net, server, ktime_get_ns() - ctx->began);
		break;
	case SMC_HS_TCP:
		smc_stats_add_fallback(ctx->net, server, res->own_reason);
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

/*
 * Server: let first_work come to its end; its timer must not outlive the owner. After HS_POLLED it
 * only has to drop the lock: waiting for its return would cost two switches of processes.
 */
static void hs_stop_polling(struct smc_hs *hs)
{
	bool polled;

	spin_lock_irq(&hs->wait.lock);
	polled = test_bit(HS_POLLED, &hs->started);
	spin_unlock_irq(&hs->wait.lock);
	if (!polled)
		cancel_delayed_work_sync(&hs->first_work);
}

/* All but done(), which calls deep into TCP: not while the context is on the stack. */
static noinline_for_stack void hs_run(struct smc_hs *hs, struct smc_hs_result *res)
{
	struct smc_hs_ctx ctx = { .hs = hs, .net = hs->net, .version = 1 };
	struct mem_cgroup *old;

	ctx.began = ktime_get_ns();
	ctx.sk = hs->clcsock->sock->sk;
	old = set_active_memcg(hs->memcg);
	hs->run(&ctx);
	set_active_memcg(old);
	hs_count_outcome(&ctx);
	if (trace_smc_hs_end_enabled())
		hs_trace_end(&ctx);
	if (ctx.res.outcome == SMC_HS_SMC && ctx.first)
		smc_conn_stock_pool(ctx.res.conn, hs->memcg);
	hs_undo(&ctx);
	kfree(ctx.msgs);
	*res = ctx.res;
}

static void hs_work(struct work_struct *work)
{
	struct smc_hs *hs = container_of(work, struct smc_hs, work);
	struct smc_hs_result res;

	/* if refused, the end of the call of the program queues the work again */
	if (!hs->server && !smc_clcsock_begin_work(hs->clcsock))
		return;
	set_bit(HS_RUNS, &hs->started);
	if (hs->server)
		hs_stop_polling(hs);
	hs_run(hs, &res);
	/* the owner may free hs inside done() */
	hs->done(hs, &res);
}

/*
 * Mark the handshake as started and optionally queue its work. Return true for the first caller.
 * Both happen under the lock, so that the second caller finds the work queued and can flush it.
 */
static bool hs_claim_start(struct smc_hs *hs, bool queue)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&hs->wait.lock, flags);
	first = !test_and_set_bit(HS_STARTED, &hs->started);
	if (first && queue)
		queue_work(hs->server ? hs_wq : hs_client_wq, &hs->work);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	return first;
}

static void hs_queue_work(struct smc_hs *hs)
{
	hs_claim_start(hs, true);
}

/*
 * Client: TCP has connected or failed. Queue the work, or leave it to the caller of connect() if
 * the caller waits and the work will not: without the option the connection is TCP.
 */
static void hs_start_client(struct smc_hs *hs, int tcp_state)
{
	bool due = false;
	unsigned long flags;

	spin_lock_irqsave(&hs->wait.lock, flags);
	if (!test_and_set_bit(HS_STARTED, &hs->started)) {
		due = tcp_state == TCP_ESTABLISHED && test_bit(HS_ATTENDED, &hs->started) &&
		      !smc_clcsock_option_seems_agreed(hs->clcsock);
		if (due)
			set_bit(HS_DUE, &hs->started);
		else
			queue_work(hs_client_wq, &hs->work);
	}
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	if (due)
		hs->due(hs);
}

/* Client: queue the work that was refused, see smc_clcsock_allow_work(). */
static void hs_retry_work(void *arg)
{
	struct smc_hs *hs = arg;

	queue_work(hs_client_wq, &hs->work);
}

/* Queue first_work at once. Not after the work was queued: hs_work() has then stopped it. */
static void hs_poll_proposal(struct smc_hs *hs)
{
	unsigned long flags;

	spin_lock_irqsave(&hs->wait.lock, flags);
	if (!test_bit(HS_STARTED, &hs->started))
		mod_delayed_work(hs_poll_wq, &hs->first_work, 0);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
}

/* Queue first_work for the end of T_CLC, unless bytes have come and it was queued already. */
static void hs_await_proposal(struct smc_hs *hs, unsigned long timeout)
{
	unsigned long flags;

	spin_lock_irqsave(&hs->wait.lock, flags);
	if (!test_bit(HS_STARTED, &hs->started))
		queue_delayed_work(hs_poll_wq, &hs->first_work, timeout);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
}

/*
 * first_work queues the work, its last act: under the lock it removes what hs_poll_proposal() has
 * queued meanwhile, and it uses the handshake no more once the lock is free.
 */
static void hs_end_polling(struct smc_hs *hs)
{
	unsigned long flags;

	spin_lock_irqsave(&hs->wait.lock, flags);
	if (!test_and_set_bit(HS_STARTED, &hs->started)) {
		cancel_delayed_work(&hs->first_work);
		set_bit(HS_POLLED, &hs->started);
		queue_work(hs_wq, &hs->work);
	}
	spin_unlock_irqrestore(&hs->wait.lock, flags);
}

/* Upcall of the clcsock in softirq or process context: only wakes the work or queues it. */
static void hs_clcsock_changed(void *owner)
{
	struct smc_hs *hs = owner;
	int state;

	if (test_bit(HS_STARTED, &hs->started)) {
		wake_up(&hs->wait);
		return;
	}
	if (hs->server) {
		if (smc_clcsock_is_readable(hs->clcsock))
			hs_poll_proposal(hs);
		return;
	}
	state = smc_clcsock_state(hs->clcsock);
	if (state != TCP_SYN_SENT && state != TCP_SYN_RECV)
		hs_start_client(hs, state);
}

static const struct smc_clcsock_events hs_clcsock_events = {
	.changed = hs_clcsock_changed,
	.uncork = true,
};

/*
 * Server: queue the work when the first message is complete, so that a silent or slow client costs
 * no worker. After the deadline the work is queued too, and finds the time-out.
 */
static void hs_proposal_work(struct work_struct *work)
{
	struct smc_hs *hs = container_of(to_delayed_work(work), struct smc_hs, first_work);
	long left = hs->deadline - jiffies;

	if (left <= 0 || smc_clc_rx_is_ready(hs->clcsock->sock->sk))
		hs_end_polling(hs);
	else
		hs_await_proposal(hs, left);
}

/**
 * smc_hs_release_clcsock() - let calls of the program use the clcsock again
 * @hs: handshake, inside done()
 *
 * Called by done() after it has used the clcsock. Process context.
 */
void smc_hs_release_clcsock(struct smc_hs *hs)
{
	if (hs->server)
		return;
	smc_clcsock_end_last_work(hs->clcsock);
}

/**
 * smc_hs_setup() - initialise the private members of a handshake
 * @hs: handshake, zeroed
 * @run: runs the steps of one side
 *
 * Called by smc_hs_client_setup() and smc_hs_server_setup().
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
 * smc_hs_set_nodename() - store the host name of the calling task
 * @hs: handshake that has not started, of a client or of a listening socket
 *
 * The name is that of the UTS namespace: a container must not tell the name of its host. Process
 * context of connect() or listen().
 */
void smc_hs_set_nodename(struct smc_hs *hs)
{
	const char *name = utsname()->nodename;

	memset(hs->nodename, ' ', sizeof(hs->nodename));
	/* may race with sethostname(): a torn name is acceptable */
	data_race(memcpy(hs->nodename, name, strnlen(name, sizeof(hs->nodename))));
}

/**
 * smc_hs_start() - start a handshake
 * @hs: handshake, set up by smc_hs_client_setup() or smc_hs_server_setup()
 *
 * Client: connect() of the clcsock was called, and may still be in progress; the work is queued
 * when TCP has connected or failed. Server: the clcsock is an accepted child whose SYN carried
 * the SMC option; the work is queued when the Proposal is complete, or T_CLC is over.
 *
 * Process context. smc_hs.done() may be called before this function returns.
 */
void smc_hs_start(struct smc_hs *hs)
{
	struct sock *sk = hs->clcsock->sock->sk;

	if (!hs->server) {
		smc_clcsock_allow_work(hs->clcsock, hs_retry_work, hs);
		smc_clcsock_hook(hs->clcsock, &hs_clcsock_events, hs);
		hs_clcsock_changed(hs);
		return;
	}
	WRITE_ONCE(hs->deadline, jiffies + T_CLC);
	/* once it is hooked a reset may end the handshake and release the clcsock */
	sock_hold(sk);
	smc_clcsock_hook(hs->clcsock, &hs_clcsock_events, hs);
	if (smc_clcsock_sk_is_readable(sk))
		hs_poll_proposal(hs);
	else
		hs_await_proposal(hs, T_CLC);
	sock_put(sk);
}

/**
 * smc_hs_attend() - announce that the caller of connect() waits
 * @hs: handshake of a client that is set up, but not started
 *
 * The caller calls smc_hs_run_due() when smc_hs_is_due() is true, and smc_hs_leave() when it waits
 * no longer. Process context.
 */
void smc_hs_attend(struct smc_hs *hs)
{
	set_bit(HS_ATTENDED, &hs->started);
}

/**
 * smc_hs_is_due() - check whether the caller of connect() has to run the work
 * @hs: started handshake of a client
 *
 * Any context; smc_hs.due is called when this becomes true.
 *
 * Return: true if so.
 */
bool smc_hs_is_due(const struct smc_hs *hs)
{
	return test_bit(HS_DUE, &hs->started);
}

/**
 * smc_hs_run_due() - run the work of a handshake that is due
 * @hs: started handshake of a client
 *
 * The work does not wait for the peer. If a call of the program uses the clcsock, the end of that
 * call queues the work. Process context; the caller holds the socket lock, which serialises this
 * with smc_hs_leave() and smc_hs_cancel_sync().
 *
 * Return: true if it was due.
 */
bool smc_hs_run_due(struct smc_hs *hs)
{
	bool due = test_and_clear_bit(HS_DUE, &hs->started);

	if (due && smc_clcsock_option_agreed(hs->clcsock))
		/* it was too early to say: the handshake waits for the peer */
		queue_work(hs_client_wq, &hs->work);
	else if (due)
		hs_work(&hs->work);
	return due;
}

/**
 * smc_hs_leave() - announce that the caller of connect() waits no longer
 * @hs: handshake of a client, ended or not
 *
 * If the work is due, it is queued. Process context; the caller holds the socket lock.
 */
void smc_hs_leave(struct smc_hs *hs)
{
	unsigned long flags;

	if (!test_bit(HS_ATTENDED, &hs->started))
		return;
	spin_lock_irqsave(&hs->wait.lock, flags);
	clear_bit(HS_ATTENDED, &hs->started);
	if (test_and_clear_bit(HS_DUE, &hs->started))
		queue_work(hs_client_wq, &hs->work);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
}

/**
 * smc_hs_cancel() - cancel a handshake without waiting for its end
 * @hs: started handshake
 *
 * The handshake ends with SMC_HS_FAIL and ECONNABORTED, unless another result comes first. done()
 * is called in any case. Any context.
 */
void smc_hs_cancel(struct smc_hs *hs)
{
	WRITE_ONCE(hs->cancelled, true);
	hs_queue_work(hs);
	wake_up(&hs->wait);
}

/**
 * smc_hs_cancel_sync() - cancel a handshake and wait for its end
 * @hs: handshake that was set up, started or not
 *
 * On return done() has returned, or will never be called because the work had not begun. Process
 * context, not from done().
 */
void smc_hs_cancel_sync(struct smc_hs *hs)
{
	WRITE_ONCE(hs->cancelled, true);
	/* a work that was refused must not be queued again */
	if (!hs->server)
		smc_clcsock_forbid_work(hs->clcsock);
	if (!hs_claim_start(hs, false) && !test_and_clear_bit(HS_DUE, &hs->started)) {
		wake_up(&hs->wait);
		flush_work(&hs->work);
		if (test_bit(HS_RUNS, &hs->started))
			return;
	}
	/* the work has not run, and neither it nor first_work can be queued again */
	cancel_delayed_work_sync(&hs->first_work);
	if (hs->clcsock && hs->clcsock->sock)
		smc_clcsock_unhook(hs->clcsock);
}

/**
 * smc_hs_is_older() - check how long ago a server's handshake was started
 * @hs: started handshake of a server
 * @age: jiffies
 *
 * Any context.
 *
 * Return: true if it was started @age jiffies ago or earlier.
 */
bool smc_hs_is_older(const struct smc_hs *hs, unsigned long age)
{
	return time_after_eq(jiffies, READ_ONCE(hs->deadline) - T_CLC + age);
}

/**
 * smc_hs_evict() - cancel a server's handshake that still waits for the Proposal
 * @hs: started handshake of a server
 *
 * A handshake whose work is queued already continues. Any context.
 *
 * Return: true if the handshake was cancelled.
 */
bool smc_hs_evict(struct smc_hs *hs)
{
	unsigned long flags;
	bool evict;

	spin_lock_irqsave(&hs->wait.lock, flags);
	evict = !test_and_set_bit(HS_STARTED, &hs->started);
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
 * Called when the module starts.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_hs_init(void)
{
	const unsigned int flags = WQ_UNBOUND | WQ_HIGHPRI;
	/* some kernels divide max_active among the NUMA nodes */
	int n = min_t(int, HS_WORKERS * num_possible_nodes(), WQ_MAX_ACTIVE);

	hs_wq = smc_fault_null(HS_WQ, alloc_workqueue("smc_hs", flags, n));
	hs_client_wq = smc_fault_null(HS_CLIENT_WQ, alloc_workqueue("smc_hs_client", flags, n));
	hs_poll_wq = smc_fault_null(HS_LOOK_WQ, alloc_workqueue("smc_hs_poll", flags, 0));
	if (hs_wq && hs_client_wq && hs_poll_wq)
		return 0;
	hs_destroy_queues();
	return -ENOMEM;
}

/**
 * smc_hs_exit() - destroy the work queues; no handshake may be left
 */
void smc_hs_exit(void)
{
	hs_destroy_queues();
}
