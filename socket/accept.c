// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listening sockets and accept(). The accept work takes children from the listening clcsock and
 * starts their handshakes; a child whose handshake is over waits in the ready list for accept().
 *
 * An entry on the clcsock's own wait queue queues the work, or wakes a caller of accept(), who does
 * what the work would do: a connection that stays TCP costs no switch to a worker. The callbacks of
 * a listening clcsock are never replaced: its children copy them, and TCP can migrate a child to a
 * foreign listener.
 *
 * The works here serve the listeners of all users, so they never wait for a lock that a program can
 * hold (smc_clcsock_begin_work(), sock_try_lock()). No program knows a child before accept(), so
 * its locks are free.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/rules.h>
#include <smc/base/stats.h>
#include <smc/conn/tcp_info.h>
#include <smc/handshake/admission.h>
#include <smc/handshake/autosmc.h>
#include <smc/proto/clc_msg.h>
#include "accept.h"
#include "deferred.h"
#include "fallback.h"
#include "sockopt.h"
#include "stream.h"

/*
 * Limit of the children in their handshake; while it is reached, new connections are TCP. It is the
 * backlog within PENDING_MIN and PENDING_MAX, or PENDING_LIMITED with SMC_LIMIT_HS.
 */
#define PENDING_MIN	1024
#define PENDING_MAX	16384
#define PENDING_LIMITED	32
/*
 * A child without a Proposal is evicted after this time if its host has too many children. A client
 * sends its Proposal at once; the time allows for a busy host and a retransmission.
 */
#define EVICT_AGE	(3 * HZ)
/* Retry after an allocation failure: the clcsock does not wake us again for the same child. */
#define ACCEPT_AGAIN	(HZ / 10)
/* Between two tries of the end work to lock a socket. */
#define END_AGAIN_MIN	1
#define END_AGAIN_MAX	(1 * HZ)

/**
 * struct smc_listener - accept queue of one listening socket
 * @ref: the listening socket, each pending child, a queued @end_work
 * @smc: listening socket; NULL after smc_accept_stop(); under @lock
 * @work: takes children from the clcsock
 * @stopped: @work has ended although children may be queued: for want of room, or after an error
 * @end_work: ends listening after another part of the kernel closed the clcsock
 * @end_gap: jiffies until @end_work tries again; private to it
 * @clcsock_wait: entry on the clcsock's own wait queue
 * @waiters_lock: protects @waiters; taken in wake-ups of the clcsock; leaf, interrupts off
 * @waiters: callers of accept() that sleep and were not asked to take a child, the first to come
 *	first
 * @taking: the work, or a caller of accept(), takes children from the clcsock; under @lock
 * @again: somebody else was to take one meanwhile: the work is queued afterwards; under @lock
 * @lock: protects the lists, the counters, @stopped and @smc; leaf, BH off
 * @pending: children in their handshake, the oldest first
 * @ready: children for accept()
 * @npending: length of @pending
 * @nevicted: number of evicted children in @pending
 * @nready: length of @ready
 * @backlog: backlog of listen()
 * @by_host: number of children in @pending by peer host, evicted ones not counted
 * @gate: decides whether a SYN-ACK has the SMC option
 * @net: namespace; valid as long as @gate is in use
 * @limited: SMC_SF_LIMIT_HS of the socket
 * @excluded: SMC_SF_TCP_ONLY of the socket
 * @cred: credentials of listen(), used for the inodes of the children
 * @rcu: deferred free, since @gate is used under RCU
 */
struct smc_listener {
	refcount_t ref;
	struct smc_sock *smc;
	struct delayed_work work;
	bool stopped;
	struct delayed_work end_work;
	unsigned long end_gap;
	wait_queue_entry_t clcsock_wait;
	spinlock_t waiters_lock; /* waiters */
	struct list_head waiters;
	bool taking;
	bool again;
	spinlock_t lock; /* lists, counters, stopped, smc */
	struct list_head pending;
	struct list_head ready;
	unsigned int npending;
	unsigned int nevicted;
	unsigned int nready;
	unsigned int backlog;
	struct smc_admission by_host;
	struct smc_option_gate gate;
	struct net *net;
	bool limited;
	bool excluded;
	const struct cred *cred;
	struct rcu_head rcu;
};

/**
 * struct accept_waiter - a caller of accept() that sleeps
 * @entry: in &smc_listener.waiters; empty: asked to take a child from the clcsock
 * @task: its task
 */
struct accept_waiter {
	struct list_head entry;
	struct task_struct *task;
};

static struct workqueue_struct *accept_wq;

static void listener_end_work(struct work_struct *work);

static void listener_put(struct smc_listener *l)
{
	if (!refcount_dec_and_test(&l->ref))
		return;
	put_cred(l->cred);
	kfree_rcu(l, rcu);
}

/* ---- limits ------------------------------------------------------------------ */

/* Return the limit of children in their handshake. */
static unsigned int listener_max_pending(const struct smc_listener *l)
{
	if (READ_ONCE(l->limited))
		return PENDING_LIMITED;
	return clamp_t(unsigned int, READ_ONCE(l->backlog), PENDING_MIN, PENDING_MAX);
}

/*
 * smc_option_gate.shut: true if the SYN-ACK must not have the SMC option. Softirq, RCU. Counts
 * connections in TCP's queues too, else a burst of SYNs exceeds the limit before the first child is
 * counted.
 */
static bool listener_gate_shut(const struct smc_option_gate *gate, const struct sock *sk)
{
	const struct smc_listener *l = container_of(gate, struct smc_listener, gate);
	unsigned int n = READ_ONCE(l->npending) + READ_ONCE(sk->sk_ack_backlog) +
			 inet_csk_reqsk_queue_len(sk);
	struct smc_rules_path path;

	if (READ_ONCE(l->excluded))
		return true;
	smc_rules_path(sk, &path);
	if (smc_rules_check_deny(l->net, &path, false))
		return true;
	if (n < listener_max_pending(l) && !smc_admission_is_full(l->net, true))
		return false;
	smc_stats_inc(l->net, SMC_STAT_HS_CONGESTED);
	return true;
}

static void listener_add_pending(struct smc_listener *l, struct smc_sock *child)
{
	lockdep_assert_held(&l->lock);
	list_add_tail(&child->entry, &l->pending);
	WRITE_ONCE(l->npending, l->npending + 1);
	smc_admission_add(&l->by_host, child->hs.host);
}

/* Remove @child from the pending list if it is still there. */
static void listener_del_pending(struct smc_listener *l, struct smc_sock *child)
{
	lockdep_assert_held(&l->lock);
	if (list_empty(&child->entry))
		return;
	list_del_init(&child->entry);
	WRITE_ONCE(l->npending, l->npending - 1);
	if (child->hs.evicted)
		l->nevicted--;
	else
		smc_admission_del(&l->by_host, child->hs.host);
}

/* Evict one child; false: its handshake already runs or is over. */
static bool listener_evict_child(struct smc_listener *l, struct smc_sock *child)
{
	lockdep_assert_held(&l->lock);
	if (child->hs.evicted || !smc_hs_evict(&child->hs))
		return false;
	/* not when the child is gone: the next call would evict too many of this host */
	smc_admission_del(&l->by_host, child->hs.host);
	child->hs.evicted = true;
	l->nevicted++;
	smc_stats_inc(l->net, SMC_STAT_HS_EVICTED);
	return true;
}

/*
 * Evict idle children of hosts with too many of them, see decision 0008. If more than half of the
 * places are in use, hosts with at least a quarter of all places lose their oldest children without
 * a Proposal, two for each new child. An evicted client gets a reset, since a Decline is possible
 * only as the answer to a Proposal.
 */
static void listener_evict(struct smc_listener *l)
{
	unsigned int max = listener_max_pending(l);
	struct smc_sock *child;
	int n = 0;

	if (READ_ONCE(l->npending) <= max / 2)
		return;
	spin_lock_bh(&l->lock);
	if (!smc_admission_may_exceed(&l->by_host, max / 4))
		goto out;
	list_for_each_entry(child, &l->pending, entry) {
		/* the list is sorted by age */
		if (n == 2 || l->npending - l->nevicted <= max / 2 ||
		    !smc_hs_is_older(&child->hs, EVICT_AGE))
			break;
		if (smc_admission_count_host(&l->by_host, child->hs.host) >= max / 4)
			n += listener_evict_child(l, child);
	}
out:
	spin_unlock_bh(&l->lock);
}

/* ---- children ---------------------------------------------------------------- */

/* Return the bytes of both directions. */
static u64 accept_count_bytes(struct smc_sock *smc)
{
	struct smc_conn *conn = smc->conn;
	struct smc_conn_stats stats;

	if (!conn)
		/* less if the peer has not acknowledged a Decline */
		return max(smc_fallback_count_bytes(smc), smc->began_bytes) - smc->began_bytes;
	spin_lock_bh(&conn->lock);
	smc_tcpinfo_get_stats(conn, &stats);
	spin_unlock_bh(&conn->lock);
	return stats.tx_bytes + stats.rx_bytes;
}

/*
 * Let AUTOSMC learn from a connection that a program closes, over SMC or for its sake over TCP. It
 * has no say where the next one may begin as TCP, and change over if that pays (decision 0023).
 */
static void accept_note_use(struct smc_sock *smc)
{
	struct net *net = sock_net(smc_sock_sk(smc));
	struct smc_autosmc_use use = { .smc = smc->conn };

	if (!smc_autosmc_is_on(net) || (!use.smc && smc->own_reason != SMC_CLC_DECL_SHORT))
		return;
	/* its time would be that of a connect() in vain */
	if (!use.smc && !test_bit(SMC_SF_SERVER, &smc->flags) && !smc_fallback_has_connected(smc))
		return;
	if (use.smc && smc_deferred_may_replace(smc)) {
		smc_autosmc_forget(net, &smc->autosmc);
		return;
	}
	use.bytes = accept_count_bytes(smc);
	use.time = jiffies - smc->began_at;
	smc_autosmc_note(net, &smc->autosmc, &use);
}

/**
 * smc_accept_release_transport() - release the connection and the clcsock of a socket
 * @smc: socket without users and without a running handshake; accepted or not
 * @reset: abort the connection and reset the clcsock
 *
 * Used by release() too. Process context, no lock held; sleeps, up to the time of SO_LINGER if the
 * socket has a struct socket. The caller drops its reference afterwards.
 */
void smc_accept_release_transport(struct smc_sock *smc, bool reset)
{
	struct sock *sk = smc_sock_sk(smc);

	smc_sock_table_del(smc);
	if (sk->sk_socket)
		accept_note_use(smc);
	if (smc->deferred)
		reset = smc_deferred_close(smc, reset, sk->sk_socket);
	else
		reset = smc_stream_close(smc, reset, sk->sk_socket);
	if (smc->clcsock.sock && smc->clcsock.sock->sk)
		smc_fallback_leave(smc);
	smc_clcsock_release(&smc->clcsock, reset);
	sock_orphan(sk);
}

/* Free a child that will not be accepted. Consumes the reference. */
static void accept_child_drop(struct smc_sock *child)
{
	smc_accept_release_transport(child, true);
	sock_put(smc_sock_sk(child));
}

/*
 * True if the listener takes another child. As in TCP's own queue, one more than the backlog may be
 * ready. The gate keeps the number of handshakes far below the second limit.
 */
static bool listener_has_room(struct smc_listener *l)
{
	bool room;

	spin_lock_bh(&l->lock);
	room = l->nready <= READ_ONCE(l->backlog) && l->npending < 2 * PENDING_MAX;
	/* under the lock: whoever makes room after this sees it */
	if (!room)
		l->stopped = true;
	spin_unlock_bh(&l->lock);
	return room;
}

/* Queue the accept work now, also if it waits for its retry. Any context. */
static void listener_queue_work(struct smc_listener *l)
{
	if (!queue_delayed_work(accept_wq, &l->work, 0) && timer_pending(&l->work.timer))
		mod_delayed_work(accept_wq, &l->work, 0);
}

/* The work has to look for children although the clcsock may not wake it. Any context. */
static void listener_kick(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	if (l->smc)
		listener_queue_work(l);
	spin_unlock_bh(&l->lock);
}

/* There may be room for another child now: continue if the work has ended before its time. */
static void listener_continue_locked(struct smc_listener *l)
{
	lockdep_assert_held(&l->lock);
	if (!l->smc || !l->stopped)
		return;
	l->stopped = false;
	listener_queue_work(l);
}

/*
 * Move a child to the ready list and wake the application; false: listening has ended. @taker: the
 * caller is in accept() and takes the first ready child itself.
 */
static bool accept_child_ready(struct smc_listener *l, struct smc_sock *child, bool taker)
{
	struct sock *lsk = NULL;
	bool listens;

	spin_lock_bh(&l->lock);
	listener_del_pending(l, child);
	listens = l->smc;
	if (listens)
		lsk = smc_sock_sk(l->smc);
	/* SIGIO is for each connection */
	if (taker && lsk && list_empty(&l->ready) && !sock_flag(lsk, SOCK_FASYNC))
		lsk = NULL;
	if (lsk)
		sock_hold(lsk);
	if (listens) {
		list_add_tail(&child->entry, &l->ready);
		WRITE_ONCE(l->nready, l->nready + 1);
	}
	spin_unlock_bh(&l->lock);
	if (lsk) {
		lsk->sk_data_ready(lsk);
		sock_put(lsk);
	}
	return listens;
}

/*
 * Handle the result of a child's handshake. Called once, by the context that cleared SMC_SF_HS:
 * smc_hs.done, or smc_accept_stop() if the handshake work never ran.
 */
static void accept_child_finish(struct smc_sock *child, const struct smc_hs_result *res)
{
	struct smc_listener *l = child->parent;
	bool keep = res->outcome != SMC_HS_FAIL;

	switch (res->outcome) {
	case SMC_HS_SMC:
		smc_stream_start(child, res->conn);
		break;
	case SMC_HS_TCP:
		smc_fallback_start(child, res->own_reason, res->peer_reason, false);
		smc_sock_set_state(child, TCP_ESTABLISHED, 0, 0);
		break;
	case SMC_HS_FAIL:
		break;
	}
	child->parent = NULL;
	if (keep)
		keep = accept_child_ready(l, child, false);
	if (!keep) {
		spin_lock_bh(&l->lock);
		listener_del_pending(l, child);
		spin_unlock_bh(&l->lock);
		accept_child_drop(child);
	}
	spin_lock_bh(&l->lock);
	listener_continue_locked(l);
	spin_unlock_bh(&l->lock);
	listener_put(l);
}

/* smc_hs.done of a child. Work context. */
static void accept_child_done(struct smc_hs *hs, const struct smc_hs_result *res)
{
	struct smc_sock *child = hs->owner;

	if (test_and_clear_bit(SMC_SF_HS, &child->flags))
		accept_child_finish(child, res);
	/* the reference of the handshake */
	sock_put(smc_sock_sk(child));
}

/* Return the reason why an option or a rule excludes SMC for a child with this path, or 0. */
static u32 accept_child_refused(const struct smc_listener *l, const struct smc_rules_path *path)
{
	if (READ_ONCE(l->excluded))
		return SMC_CLC_DECL_SOCKOPT;
	return smc_rules_check_deny(l->net, path, true) ? SMC_CLC_DECL_RULE : 0;
}

/* Return the reason why a child whose SYN had the SMC option uses TCP, or 0. */
static u32 accept_child_declined(struct smc_sock *child, const struct smc_rules_path *path)
{
	struct net *net = sock_net(smc_sock_sk(child));

	/* a client that could have begun as TCP has a reason for its rendezvous */
	if (!(smc_deferred_is_on_for(child) && smc_deferred_may_be_asked(child)) &&
	    smc_autosmc_wants_tcp(net, &child->autosmc, path, true, GLOBAL_ROOT_UID))
		return SMC_CLC_DECL_SHORT;
	return smc_hs_check_allowed(net, NULL, 0);
}

/* Start the handshake of a child whose SYN had the SMC option; @force_tcp: reason for TCP, or 0. */
static void accept_child_start(struct smc_listener *l, struct smc_sock *child, u32 force_tcp)
{
	struct smc_hs *hs = &child->hs;

	hs->clcsock = &child->clcsock;
	hs->net = sock_net(smc_sock_sk(child));
	hs->force_tcp = force_tcp;
	hs->done = accept_child_done;
	hs->owner = child;
	hs->memcg = smc_sock_memcg(smc_sock_sk(child));
	smc_sock_get_ring_sizes(child, &hs->sndbuf, &hs->rcvbuf);
	hs->link_policy = READ_ONCE(child->link_policy);
	hs->balance = READ_ONCE(child->balance);
	smc_hs_server_setup(hs);
	refcount_inc(&l->ref);
	child->parent = l;
	sock_hold(smc_sock_sk(child));
	set_bit(SMC_SF_HS, &child->flags);
	spin_lock_bh(&l->lock);
	listener_add_pending(l, child);
	spin_unlock_bh(&l->lock);
	/* a reset may end the handshake, and free the child, before smc_hs_start() returns */
	sock_hold(smc_sock_sk(child));
	smc_hs_start(hs);
	sock_put(smc_sock_sk(child));
}

/*
 * Allocate a child, charged to the listener's memory cgroup. At the cgroup's limit do not wait or
 * invoke the OOM killer for a connection that can be TCP: allocate it uncharged, and the handshake
 * falls back for want of rings.
 */
static struct sock *accept_child_alloc_sk(struct sock *lsk, int kern, bool taker)
{
	struct mem_cgroup *memcg = smc_sock_memcg(lsk), *old;
	struct sock *sk = NULL;

	if (memcg) {
		old = set_active_memcg(memcg);
		sk = smc_sock_alloc_child(lsk, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN,
					  kern);
		set_active_memcg(old);
	}
	/* only a worker's memory is uncharged */
	if (sk || (memcg && taker))
		return sk;
	return smc_sock_alloc_child(lsk, GFP_KERNEL, kern);
}

static struct smc_sock *accept_child_alloc(const struct smc_sock *parent, int kern, bool taker)
{
	struct sock *lsk = smc_sock_sk((struct smc_sock *)parent);
	struct smc_sock *child;
	struct sock *sk;

	sk = accept_child_alloc_sk(lsk, kern, taker);
	if (!sk)
		return NULL;
	smc_sock_inherit_owner(sk, lsk);
	child = smc_sk(sk);
	set_bit(SMC_SF_SERVER, &child->flags);
	smc_sockopt_inherit(child, parent);
	memcpy(child->hs.nodename, parent->hs.nodename, sizeof(child->hs.nodename));
	return child;
}

/* A child whose SYN had no SMC option: TCP, which a client with a group may want to upgrade. */
static void accept_child_start_tcp(struct smc_sock *child, u32 refused)
{
	if (refused || !smc_deferred_may_be_asked(child) || smc_deferred_start(child))
		smc_fallback_start(child, refused ?: SMC_CLC_DECL_PEER_NO_SMC, 0, true);
	smc_sock_set_state(child, TCP_ESTABLISHED, 0, 0);
}

/* Take one child from the clcsock. Return 0, -EAGAIN: there is none, or another error. */
static int listener_take_child(struct smc_listener *l, struct smc_sock *smc, bool taker)
{
	struct smc_rules_path path;
	struct smc_sock *child;
	u32 refused;
	int rc;

	/* a child that comes after this wakes the work again */
	if (!smc_clcsock_has_child(&smc->clcsock))
		return -EAGAIN;
	child = accept_child_alloc(smc, 0, taker);
	if (!child)
		return -ENOMEM;
	rc = smc_clcsock_accept(&smc->clcsock, &child->clcsock);
	if (rc) {
		sock_put(smc_sock_sk(child));
		/* these errors concern this child only */
		return rc == -ECONNABORTED || rc == -EINTR ? 0 : rc;
	}
	smc_sockopt_mirror(child);
	smc_sock_table_add(child);
	listener_evict(l);
	smc_rules_path(child->clcsock.sock->sk, &path);
	refused = accept_child_refused(l, &path);
	if (smc_clcsock_option_agreed(&child->clcsock)) {
		accept_child_start(l, child, refused ?: accept_child_declined(child, &path));
		return 0;
	}
	accept_child_start_tcp(child, refused);
	if (!accept_child_ready(l, child, taker))
		accept_child_drop(child);
	return 0;
}

/* Queue end_work if the clcsock was closed (SOCK_DESTROY, BPF): accept() and poll() must fail. */
static bool listener_clcsock_ended(struct smc_listener *l, struct smc_sock *smc)
{
	if (!test_bit(SMC_SF_LISTEN, &smc->flags) ||
	    smc_clcsock_state(&smc->clcsock) != TCP_CLOSE)
		return false;
	refcount_inc(&l->ref);
	if (!queue_delayed_work(accept_wq, &l->end_work, 0))
		listener_put(l);
	return true;
}

/*
 * Return the socket if children may be taken now, until listener_end_taking(); or NULL. One at a
 * time: listener_evict() must not see a child whose handshake has not been started. The socket
 * stays valid, as smc_accept_stop() waits for the end. @taker: the caller is in accept(). If the
 * clcsock was closed, the work has to find that: listener_end_work() must not wait for a program.
 */
static struct smc_sock *listener_begin_taking(struct smc_listener *l, bool taker)
{
	struct smc_sock *smc;

	spin_lock_bh(&l->lock);
	smc = l->smc;
	if (smc && taker && smc_clcsock_state(&smc->clcsock) != TCP_LISTEN) {
		listener_queue_work(l);
		smc = NULL;
	} else if (smc && l->taking) {
		l->again = true;
		smc = NULL;
	} else if (smc) {
		WRITE_ONCE(l->taking, true);
	}
	spin_unlock_bh(&l->lock);
	return smc;
}

static void listener_end_taking(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	WRITE_ONCE(l->taking, false);
	if (l->again && l->smc)
		listener_queue_work(l);
	l->again = false;
	spin_unlock_bh(&l->lock);
	/* smc_accept_stop() enters the wait queue, then reads @taking */
	smp_mb();
	wake_up_var(&l->taking);
}

/*
 * Take children from the clcsock: as many as there is room for. A caller of accept() takes one at
 * most, and leaves the others to the work, also if there is no memory: that charges it to nobody.
 */
static void listener_take_children(struct smc_listener *l, struct smc_sock *smc, bool taker)
{
	const struct cred *old = override_creds(l->cred);
	bool alone = false;
	int rc = 0;

	if (listener_clcsock_ended(l, smc))
		smc = NULL;
	while (smc && listener_has_room(l) && test_bit(SMC_SF_LISTEN, &smc->flags) && !rc) {
		rc = listener_take_child(l, smc, taker);
		if (taker)
			break;
		cond_resched();
	}
	revert_creds(old);
	if (taker && smc && (rc == -ENOMEM || (!rc && smc_clcsock_has_child(&smc->clcsock)))) {
		listener_kick(l);
		return;
	}
	if (rc && rc != -EAGAIN) {
		spin_lock_bh(&l->lock);
		l->stopped = true;
		/* the next child that ends or is accepted continues, if there is one */
		alone = list_empty(&l->pending) && list_empty(&l->ready);
		spin_unlock_bh(&l->lock);
	}
	if (rc == -ENOMEM || (alone && rc != -EBUSY))
		queue_delayed_work(accept_wq, &l->work, ACCEPT_AGAIN);
}

static void listener_work(struct work_struct *work)
{
	struct smc_listener *l = container_of(to_delayed_work(work), struct smc_listener, work);
	struct smc_sock *smc = listener_begin_taking(l, false);

	if (!smc)
		return;
	listener_take_children(l, smc, false);
	listener_end_taking(l);
}

/* Ask a caller of accept() that sleeps to take a child; false: there is none. Any context. */
static bool listener_ask_waiter(struct smc_listener *l)
{
	struct accept_waiter *w;
	unsigned long flags;

	spin_lock_irqsave(&l->waiters_lock, flags);
	w = list_first_entry_or_null(&l->waiters, struct accept_waiter, entry);
	if (w) {
		list_del_init(&w->entry);
		wake_up_process(w->task);
	}
	spin_unlock_irqrestore(&l->waiters_lock, flags);
	return w;
}

/* Wake-up of the clcsock: a child is there, or the TCP state changed. Any context. */
static int listener_wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct smc_listener *l = container_of(wait, struct smc_listener, clcsock_wait);

	if (!listener_ask_waiter(l))
		listener_queue_work(l);
	return 0;
}

/* The call of the program that kept the accept work from running has ended. Any context. */
static void listener_retry(void *arg)
{
	listener_queue_work(arg);
}

/* ---- listen, stop ------------------------------------------------------------ */

/* Copy the socket's flags for future connections. */
static void listener_copy_flags(struct smc_listener *l, const struct smc_sock *smc)
{
	WRITE_ONCE(l->limited, test_bit(SMC_SF_LIMIT_HS, &smc->flags));
	WRITE_ONCE(l->excluded, test_bit(SMC_SF_TCP_ONLY, &smc->flags));
}

static struct smc_listener *listener_alloc(struct smc_sock *smc)
{
	struct smc_listener *l;

	l = smc_fault_null(LISTENER, kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT));
	if (!l)
		return NULL;
	refcount_set(&l->ref, 1);
	l->smc = smc;
	l->net = sock_net(smc_sock_sk(smc));
	l->gate.is_shut = listener_gate_shut;
	listener_copy_flags(l, smc);
	INIT_DELAYED_WORK(&l->work, listener_work);
	INIT_DELAYED_WORK(&l->end_work, listener_end_work);
	l->end_gap = END_AGAIN_MIN;
	init_waitqueue_func_entry(&l->clcsock_wait, listener_wake);
	spin_lock_init(&l->waiters_lock);
	INIT_LIST_HEAD(&l->waiters);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->pending);
	INIT_LIST_HEAD(&l->ready);
	l->cred = get_current_cred();
	return l;
}

/**
 * smc_accept_start() - listen() on an undecided socket
 * @smc: socket, locked; idle, or listening already: then only the backlog changes
 * @backlog: as given to listen()
 *
 * Process context.
 *
 * Return: as listen().
 */
int smc_accept_start(struct smc_sock *smc, int backlog)
{
	struct socket *csock = smc->clcsock.sock;
	struct sock *sk = smc_sock_sk(smc);
	struct smc_listener *l = smc->listener;
	bool again = l;
	int rc;

	sock_owned_by_me(sk);
	if (!again) {
		l = listener_alloc(smc);
		if (!l)
			return -ENOMEM;
		smc_hs_set_nodename(&smc->hs);
		/* the clcsock's own wait queue: only a ready child wakes the application */
		smc_clcsock_unshare_wq(&smc->clcsock);
		smc_clcsock_answer_option(&smc->clcsock, &l->gate);
		smc_clcsock_allow_work(&smc->clcsock, listener_retry, l);
		add_wait_queue(&csock->wq.wait, &l->clcsock_wait);
	}
	rc = READ_ONCE(csock->ops)->listen(csock, backlog);
	if (rc) {
		if (!again) {
			remove_wait_queue(&csock->wq.wait, &l->clcsock_wait);
			smc_clcsock_withdraw_option(&smc->clcsock);
			smc_fallback_attach(smc, sk->sk_socket);
			smc_clcsock_forbid_work(&smc->clcsock);
			cancel_delayed_work_sync(&l->work);
			listener_put(l);
		}
		return rc;
	}
	/* the core has limited it to somaxconn */
	WRITE_ONCE(l->backlog, READ_ONCE(csock->sk->sk_max_ack_backlog));
	WRITE_ONCE(sk->sk_max_ack_backlog, l->backlog);
	smc_clcsock_set_file(&smc->clcsock, sk->sk_socket->file);
	if (!again) {
		spin_lock_bh(&smc->state_lock);
		smc->listener = l;
		/* again: flags may have changed since listener_alloc() */
		listener_copy_flags(l, smc);
		spin_unlock_bh(&smc->state_lock);
		smc_sock_set_state(smc, TCP_LISTEN, 0, 0);
		set_bit(SMC_SF_LISTEN, &smc->flags);
	}
	/* children that came before the flag was set */
	listener_kick(l);
	return 0;
}

/**
 * smc_accept_sync_flags() - apply a change of SMC_SF_LIMIT_HS or SMC_SF_TCP_ONLY to the listener
 * @smc: socket, listening or not
 *
 * Any context; takes state_lock.
 */
void smc_accept_sync_flags(struct smc_sock *smc)
{
	spin_lock_bh(&smc->state_lock);
	if (smc->listener)
		listener_copy_flags(smc->listener, smc);
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_accept_exclude_smc() - make new connections of a listener TCP
 * @smc: listening socket, locked
 *
 * For an option that SMC cannot honour, see smc_sockopt_excludes_smc(). Children in their handshake
 * and ready children are not affected.
 */
void smc_accept_exclude_smc(struct smc_sock *smc)
{
	set_bit(SMC_SF_TCP_ONLY, &smc->flags);
	smc_accept_sync_flags(smc);
}

/* Remove and return the first pending child, with a reference of its own; NULL: there is none. */
static struct smc_sock *listener_pop_pending(struct smc_listener *l)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	child = list_first_entry_or_null(&l->pending, struct smc_sock, entry);
	if (child) {
		listener_del_pending(l, child);
		sock_hold(smc_sock_sk(child));
	}
	spin_unlock_bh(&l->lock);
	return child;
}

/* Remove and return the first ready child, with the list's reference; NULL: there is none. */
static struct smc_sock *listener_pop_ready(struct smc_listener *l)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	child = list_first_entry_or_null(&l->ready, struct smc_sock, entry);
	if (child) {
		list_del_init(&child->entry);
		WRITE_ONCE(l->nready, l->nready - 1);
		listener_continue_locked(l);
	}
	spin_unlock_bh(&l->lock);
	return child;
}

/* Cancel all handshakes before smc_accept_stop() waits for each, so that they end in parallel. */
static void listener_cancel_pending(struct smc_listener *l)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	list_for_each_entry(child, &l->pending, entry)
		smc_hs_cancel(&child->hs);
	spin_unlock_bh(&l->lock);
}

/**
 * smc_accept_stop() - stop listening, cancel handshakes, abort children that were not accepted
 * @smc: socket, locked; nothing happens if it does not listen
 *
 * Waits for the accept work and the handshakes under the socket lock, which neither of them takes.
 * The clcsock does not listen afterwards; see smc_accept_make_idle() for the rest.
 */
void smc_accept_stop(struct smc_sock *smc)
{
	static const struct smc_hs_result gone = {
		.outcome = SMC_HS_FAIL,
		.err = ECONNABORTED,
	};
	struct smc_listener *l = smc->listener;
	struct smc_sock *child;

	sock_owned_by_me(smc_sock_sk(smc));
	if (!l)
		return;
	clear_bit(SMC_SF_LISTEN, &smc->flags);
	spin_lock_bh(&smc->state_lock);
	smc->listener = NULL;
	spin_unlock_bh(&smc->state_lock);
	remove_wait_queue(&smc->clcsock.sock->wq.wait, &l->clcsock_wait);
	spin_lock_bh(&l->lock);
	WRITE_ONCE(l->smc, NULL);
	spin_unlock_bh(&l->lock);
	smc_clcsock_forbid_work(&smc->clcsock);
	/* nobody begins anew; who takes children waits for no peer, nor for a lock held here */
	wait_var_event(&l->taking, !READ_ONCE(l->taking));
	/* not queued again: who does checks l->smc, and the wait entry is removed */
	cancel_delayed_work_sync(&l->work);
	/* after the work, which compares a child with the option that the listener sent */
	smc_clcsock_withdraw_option(&smc->clcsock);
	/*
	 * Before the children are reset: their clients connect again without the option, and must
	 * not get a connection that is reset at once.
	 */
	if (smc_clcsock_state(&smc->clcsock) == TCP_LISTEN)
		kernel_sock_shutdown(smc->clcsock.sock, SHUT_RD);

	listener_cancel_pending(l);
	while ((child = listener_pop_pending(l))) {
		smc_hs_cancel_sync(&child->hs);
		/* done() will not run: do its part, and drop its reference */
		if (test_and_clear_bit(SMC_SF_HS, &child->flags)) {
			accept_child_finish(child, &gone);
			sock_put(smc_sock_sk(child));
		}
		sock_put(smc_sock_sk(child));
	}
	while ((child = listener_pop_ready(l)))
		accept_child_drop(child);
	listener_put(l);
}

/**
 * smc_accept_make_idle() - make a socket idle again after smc_accept_stop()
 * @smc: socket, locked, without a listener; has a struct socket
 *
 * Calls go to the clcsock from now on. Takes over the clcsock's error and wakes all sleepers.
 */
void smc_accept_make_idle(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);

	sock_owned_by_me(sk);
	smc_fallback_attach(smc, sk->sk_socket);
	smc_sock_set_state(smc, TCP_CLOSE, 0, 0);
	smc_fallback_pull_error(smc);
	sk->sk_socket->state = SS_UNCONNECTED;
	sk->sk_state_change(sk);
}

/* Return the socket of a listener with a reference, or NULL after the end of listening. */
static struct smc_sock *listener_get_sock(struct smc_listener *l)
{
	struct smc_sock *smc;

	spin_lock_bh(&l->lock);
	smc = l->smc;
	if (smc)
		sock_hold(smc_sock_sk(smc));
	spin_unlock_bh(&l->lock);
	return smc;
}

/* Lock a socket unless it is locked; release_sock() unlocks it. As TCP's timers, does not wait. */
static bool sock_try_lock(struct sock *sk)
{
	bool owned;

	spin_lock_bh(&sk->sk_lock.slock);
	owned = sock_owned_by_user(sk);
	if (!owned)
		sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	if (owned)
		return false;
	/* for lockdep the lock of a socket is a mutex */
	mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return true;
}

/* Stop listening if the clcsock was closed; false: a call of the program is in the way. */
static bool listener_try_end(struct smc_listener *l, struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);

	bool taking;

	/* a caller of accept(), perhaps; no further one begins: see listener_begin_taking() */
	spin_lock_bh(&l->lock);
	taking = l->taking;
	spin_unlock_bh(&l->lock);
	if (taking || !sock_try_lock(sk))
		return false;
	/* the application may have closed the socket, or called listen() again */
	if (smc->listener == l && smc_clcsock_state(&smc->clcsock) == TCP_CLOSE) {
		smc_accept_stop(smc);
		smc_accept_make_idle(smc);
	}
	release_sock(sk);
	return true;
}

/* Not part of the accept work, which smc_accept_stop() waits for under the socket lock. */
static void listener_end_work(struct work_struct *work)
{
	struct smc_listener *l = container_of(to_delayed_work(work), struct smc_listener, end_work);
	struct smc_sock *smc = listener_get_sock(l);
	bool ended = true;

	/* if refused, the accept work runs again, and queues this one */
	if (smc && smc_clcsock_begin_work(&smc->clcsock)) {
		ended = listener_try_end(l, smc);
		smc_clcsock_end_work(&smc->clcsock);
	}
	if (smc)
		sock_put(smc_sock_sk(smc));
	if (!ended) {
		l->end_gap = min_t(unsigned long, 2 * l->end_gap, END_AGAIN_MAX);
		/* the accept work may have queued it again, with a reference of its own */
		ended = !queue_delayed_work(accept_wq, &l->end_work, l->end_gap);
	}
	if (ended)
		listener_put(l);
}

/* ---- accept ------------------------------------------------------------------ */

static void listener_add_waiter(struct smc_listener *l, struct accept_waiter *w)
{
	spin_lock_irq(&l->waiters_lock);
	list_add_tail(&w->entry, &l->waiters);
	spin_unlock_irq(&l->waiters_lock);
}

/* Return whether the waiter was asked to take a child. */
static bool listener_del_waiter(struct smc_listener *l, struct accept_waiter *w)
{
	bool asked;

	spin_lock_irq(&l->waiters_lock);
	asked = list_empty(&w->entry);
	list_del_init(&w->entry);
	spin_unlock_irq(&l->waiters_lock);
	return asked;
}

/* Take a child as the work would. No lock held: its handshake may end at once, and lock it. */
static void listener_serve(struct smc_listener *l)
{
	struct smc_sock *smc = listener_begin_taking(l, true);

	if (!smc)
		return;
	listener_take_children(l, smc, true);
	listener_end_taking(l);
}

/* Wait for a ready child. Exclusive, so that one child wakes one caller. */
static int accept_wait_child(struct smc_sock *smc, long timeo)
{
	struct sock *sk = smc_sock_sk(smc);
	struct accept_waiter waiter = { .task = current };
	struct smc_listener *l = smc->listener;
	DEFINE_WAIT(wait);
	int err;

	sock_owned_by_me(sk);
	/* another thread may stop the listener while this one sleeps */
	refcount_inc(&l->ref);
	for (;;) {
		prepare_to_wait_exclusive(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
		listener_add_waiter(l, &waiter);
		release_sock(sk);
		if (list_empty_careful(&l->ready))
			timeo = schedule_timeout(timeo);
		__set_current_state(TASK_RUNNING);
		if (listener_del_waiter(l, &waiter))
			listener_serve(l);
		lock_sock(sk);
		err = 0;
		if (smc->listener != l) {
			err = -EINVAL;
			break;
		}
		if (!list_empty_careful(&l->ready))
			break;
		err = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		err = -EAGAIN;
		if (!timeo)
			break;
	}
	finish_wait(sk_sleep(sk), &wait);
	listener_put(l);
	return err;
}

/* Attach the child to its struct socket. */
static void accept_graft_child(struct smc_sock *child, struct socket *newsock)
{
	struct sock *sk = smc_sock_sk(child);

	lock_sock(sk);
	sock_graft(sk, newsock);
	newsock->state = SS_CONNECTED;
#ifdef SMC_HAVE_CUSTOM_SOCKOPT
	set_bit(SOCK_CUSTOM_SOCKOPT, &newsock->flags);
#endif
	smc_fallback_attach(child, newsock);
	/* zero copy sends of io_uring */
	set_bit(SOCK_SUPPORT_ZC, &newsock->flags);
	release_sock(sk);
}

/**
 * smc_accept_dequeue() - accept() of a listener
 * @smc: socket, not in TCP mode
 * @newsock: socket for the child
 * @flags: O_NONBLOCK
 *
 * Takes the socket lock. Waits for SO_RCVTIMEO at most.
 *
 * Return: as accept().
 */
int smc_accept_dequeue(struct smc_sock *smc, struct socket *newsock, int flags)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_sock *child = NULL;
	struct smc_listener *l;
	long timeo;
	int err = 0;

	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
	while (!child) {
		err = -EINVAL;
		if (!test_bit(SMC_SF_LISTEN, &smc->flags))
			break;
		l = smc->listener;
		child = listener_pop_ready(l);
		if (child)
			break;
		err = -EAGAIN;
		if (!timeo)
			break;
		err = accept_wait_child(smc, timeo);
		if (err)
			break;
	}
	release_sock(sk);
	if (!child)
		return err;
	accept_graft_child(child, newsock);
	return 0;
}

/**
 * smc_accept_tcp() - accept() of a listener in TCP mode
 * @smc: socket in TCP mode
 * @newsock: socket for the child
 * @flags: O_NONBLOCK
 * @kern: as given to accept()
 *
 * Accepts from the clcsock in the caller's context, so that TCP's memory is charged to the caller.
 *
 * Return: as accept().
 */
int smc_accept_tcp(struct smc_sock *smc, struct socket *newsock, int flags, bool kern)
{
	struct socket *csock = smc->clcsock.sock;
	struct smc_sock *child;
	int rc;

	child = accept_child_alloc(smc, kern, false);
	if (!child)
		return -ENOMEM;
	rc = smc_clcsock_create_child(&child->clcsock, &smc->clcsock);
	if (rc)
		goto free;
#ifdef SMC_HAVE_PROTO_ACCEPT_ARG
	{
		struct proto_accept_arg arg = { .flags = flags, .kern = kern };

		rc = READ_ONCE(csock->ops)->accept(csock, child->clcsock.sock, &arg);
	}
#else
	rc = READ_ONCE(csock->ops)->accept(csock, child->clcsock.sock, flags, kern);
#endif
	if (rc)
		goto free;
	smc_sockopt_mirror(child);
	smc_sock_table_add(child);
	smc_fallback_start(child, smc->own_reason, 0, true);
	smc_sock_set_state(child, TCP_ESTABLISHED, 0, 0);
	accept_graft_child(child, newsock);
	return 0;
free:
	smc_clcsock_release(&child->clcsock, false);
	sock_put(smc_sock_sk(child));
	return rc;
}

/**
 * smc_accept_poll() - poll() of a listener
 * @smc: listening socket; the caller is on its wait queue
 *
 * Any context; takes state_lock.
 *
 * Return: EPOLL* bits.
 */
__poll_t smc_accept_poll(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	__poll_t mask = 0;

	/* smc_accept_stop() clears smc->listener under this lock */
	spin_lock_bh(&smc->state_lock);
	if (smc->listener && READ_ONCE(smc->listener->nready))
		mask = EPOLLIN | EPOLLRDNORM;
	spin_unlock_bh(&smc->state_lock);
	if (READ_ONCE(sk->sk_err))
		mask |= EPOLLERR;
	return mask;
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_accept_init() - create the work queue
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_accept_init(void)
{
	accept_wq = smc_fault_null(ACCEPT_WQ,
				   alloc_workqueue("smc_accept", WQ_UNBOUND | WQ_HIGHPRI, 0));
	return accept_wq ? 0 : -ENOMEM;
}

/** smc_accept_exit() - destroy the work queue; no listener is left */
void smc_accept_exit(void)
{
	destroy_workqueue(accept_wq);
}
