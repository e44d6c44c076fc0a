// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listening. The listening carrier keeps its own wait queue; an entry on it queues
 * the accept work. No callback of a listener is replaced: a child copies them, and
 * can be migrated to a listener that is not ours.
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
#include <smc/handshake/admission.h>
#include <smc/proto/clc_msg.h>
#include "accept.h"
#include "fallback.h"
#include "sockopt.h"
#include "stream.h"

/*
 * Children in their handshake, most of them silent: from here on new connections are TCP.
 * The backlog, but within these. With SMC_LIMIT_HS: so few.
 */
#define PENDING_MIN	1024
#define PENDING_MAX	16384
#define PENDING_LIMITED	32
/*
 * Silence after which a host with too many children loses this one. Who means to speak does
 * so at once, unless it is a busy host or a lost segment has to be sent again.
 */
#define EVICT_AGE	(3 * HZ)
/* Without memory for a child nobody else says that it is still there. */
#define ACCEPT_AGAIN	(HZ / 10)

/**
 * struct smc_listener - accept queue of one socket
 * @ref: the listening socket, each pending child
 * @smc: listening socket; NULL after the stop; under @lock
 * @work: takes children from the carrier
 * @end_work: ends listening when the carrier was ended by somebody else
 * @wait: entry on the carrier's own wait queue
 * @lock: guards the lists, counters and @smc; leaf, BH off
 * @pending: children in their handshake
 * @ready: children for accept()
 * @npending: length of @pending
 * @nleaving: how many of them are evicted, and on their way out
 * @nready: length of @ready
 * @backlog: of listen()
 * @by_host: @pending by peer host, without those that are evicted
 * @gate: whether new connections may begin a handshake
 * @net: namespace, as long as @gate is asked
 * @limited: SMC_LIMIT_HS
 * @excluded: SMC_SF_EXCLUDED
 * @cred: credentials of listen(): the children's inodes are this user's
 * @rcu: the gate is asked under RCU
 */
struct smc_listener {
	refcount_t ref;
	struct smc_sock *smc;
	struct delayed_work work;
	struct work_struct end_work;
	wait_queue_entry_t wait;
	spinlock_t lock; /* lists, counters, smc */
	struct list_head pending;
	struct list_head ready;
	unsigned int npending;
	unsigned int nleaving;
	unsigned int nready;
	unsigned int backlog;
	struct smc_limit by_host;
	struct smc_option_gate gate;
	struct net *net;
	bool limited;
	bool excluded;
	const struct cred *cred;
	struct rcu_head rcu;
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

/* Children that may be in their handshake. */
static unsigned int listener_max_pending(const struct smc_listener *l)
{
	if (READ_ONCE(l->limited))
		return PENDING_LIMITED;
	return clamp_t(unsigned int, READ_ONCE(l->backlog), PENDING_MIN, PENDING_MAX);
}

/*
 * A connection that is on its way to us takes a place too, or a burst would fill more
 * than there are before the first is counted.
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
	if (smc_rules_deny(l->net, &path, false))
		return true;
	if (n < listener_max_pending(l) && !smc_limit_full(l->net, true))
		return false;
	smc_stats_inc(l->net, SMC_STAT_HS_CONGESTED);
	return true;
}

/* l->lock held. */
static void listener_add_pending(struct smc_listener *l, struct smc_sock *child)
{
	list_add_tail(&child->entry, &l->pending);
	WRITE_ONCE(l->npending, l->npending + 1);
	smc_limit_add(&l->by_host, child->hs.host);
}

/* l->lock held; it may have left already. */
static void listener_del_pending(struct smc_listener *l, struct smc_sock *child)
{
	if (list_empty(&child->entry))
		return;
	list_del_init(&child->entry);
	WRITE_ONCE(l->npending, l->npending - 1);
	if (child->hs.evicted)
		l->nleaving--;
	else
		smc_limit_del(&l->by_host, child->hs.host);
}

/* l->lock held; false: its handshake has begun or ended. */
static bool listener_evict_child(struct smc_listener *l, struct smc_sock *child)
{
	if (child->hs.evicted || !smc_hs_evict(&child->hs))
		return false;
	/* at once: until it is gone the host would lose more than its share */
	smc_limit_del(&l->by_host, child->hs.host);
	child->hs.evicted = true;
	l->nleaving++;
	smc_stats_inc(l->net, SMC_STAT_HS_EVICTED);
	return true;
}

/*
 * When half of the places are taken, a host with a quarter of them or more loses those
 * clients that have been silent longest: two for each that comes, until it is over. They
 * hear a reset: that they are TCP can only be told as the answer to a Proposal.
 */
static void listener_evict(struct smc_listener *l)
{
	unsigned int max = listener_max_pending(l);
	struct smc_sock *child;
	int n = 0;

	if (READ_ONCE(l->npending) <= max / 2)
		return;
	spin_lock_bh(&l->lock);
	if (!smc_limit_any(&l->by_host, max / 4))
		goto out;
	list_for_each_entry(child, &l->pending, entry) {
		/* those behind it came later */
		if (n == 2 || l->npending - l->nleaving <= max / 2 ||
		    !smc_hs_older(&child->hs, EVICT_AGE))
			break;
		if (smc_limit_by_host(&l->by_host, child->hs.host) >= max / 4)
			n += listener_evict_child(l, child);
	}
out:
	spin_unlock_bh(&l->lock);
}

/* ---- children ---------------------------------------------------------------- */

/**
 * smc_accept_child_free() - give back what a socket owns below it
 * @smc: socket without users, no handshake running
 * @reset: RST on the carrier
 *
 * Process context, no lock held. The caller drops its reference afterwards.
 */
void smc_accept_child_free(struct smc_sock *smc, bool reset)
{
	struct sock *sk = smc_sock_sk(smc);

	smc_sock_unhash(smc);
	reset = smc_stream_close(smc, reset, sk->sk_socket);
	if (smc->carrier.sock && smc->carrier.sock->sk)
		smc_fback_detach(smc);
	smc_carrier_release(&smc->carrier, reset);
	sock_orphan(sk);
}

/* A child that nobody will accept. */
static void accept_child_drop(struct smc_sock *child)
{
	smc_accept_child_free(child, true);
	sock_put(smc_sock_sk(child));
}

/*
 * Room for another child? As TCP's own queue: one more than the backlog. The gate keeps
 * the number of handshakes far below the other bound.
 */
static bool listener_has_room(const struct smc_listener *l)
{
	return READ_ONCE(l->nready) <= READ_ONCE(l->backlog) &&
	       READ_ONCE(l->npending) < 2 * PENDING_MAX;
}

/* A later look becomes one at once; one that is queued already keeps its place. */
static void listener_queue_work(struct smc_listener *l)
{
	if (!queue_delayed_work(accept_wq, &l->work, 0) && timer_pending(&l->work.timer))
		mod_delayed_work(accept_wq, &l->work, 0);
}

static void listener_kick(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	if (l->smc)
		listener_queue_work(l);
	spin_unlock_bh(&l->lock);
}

/* To the accept queue; false: the listener is gone. */
static bool accept_child_ready(struct smc_listener *l, struct smc_sock *child)
{
	struct sock *lsk = NULL;

	spin_lock_bh(&l->lock);
	listener_del_pending(l, child);
	if (l->smc) {
		list_add_tail(&child->entry, &l->ready);
		l->nready++;
		lsk = smc_sock_sk(l->smc);
		sock_hold(lsk);
	}
	spin_unlock_bh(&l->lock);
	if (!lsk)
		return false;
	lsk->sk_data_ready(lsk);
	sock_put(lsk);
	return true;
}

/*
 * Ends a child's handshake exactly once: by done(), or by the stop when done() will
 * never come.
 */
static void accept_child_finish(struct smc_sock *child, const struct smc_hs_result *res)
{
	struct smc_listener *l = child->parent;
	bool keep = res->outcome != SMC_HS_FAIL;

	switch (res->outcome) {
	case SMC_HS_SMC:
		smc_stream_enter(child, res->conn);
		break;
	case SMC_HS_TCP:
		smc_fback_enter(child, res->own_reason, res->peer_reason, false);
		smc_sock_set_state(child, TCP_ESTABLISHED, 0, 0);
		break;
	case SMC_HS_FAIL:
		break;
	}
	child->parent = NULL;
	if (keep)
		keep = accept_child_ready(l, child);
	if (!keep) {
		spin_lock_bh(&l->lock);
		listener_del_pending(l, child);
		spin_unlock_bh(&l->lock);
		accept_child_drop(child);
	}
	/* a place came free */
	listener_kick(l);
	listener_put(l);
}

static void accept_child_done(struct smc_hs *hs, const struct smc_hs_result *res)
{
	struct smc_sock *child = hs->owner;

	if (test_and_clear_bit(SMC_SF_HS, &child->flags))
		accept_child_finish(child, res);
	/* the reference of the handshake */
	sock_put(smc_sock_sk(child));
}

/* Why the listener's owner or the administrator wants a child to be TCP, 0: it may be SMC. */
static u32 accept_child_refused(const struct smc_listener *l, const struct smc_sock *child)
{
	struct smc_rules_path path;

	if (READ_ONCE(l->excluded))
		return SMC_CLC_DECL_SOCKOPT;
	smc_rules_path(child->carrier.sock->sk, &path);
	return smc_rules_deny(l->net, &path, true) ? SMC_CLC_DECL_RULE : 0;
}

/* The peer sent the option: a handshake, in the pending list. */
static void accept_child_start(struct smc_listener *l, struct smc_sock *child, u32 refused)
{
	struct smc_hs *hs = &child->hs;

	hs->carrier = &child->carrier;
	hs->net = sock_net(smc_sock_sk(child));
	hs->force_tcp = refused ?: smc_hs_refused(hs->net, NULL);
	hs->done = accept_child_done;
	hs->owner = child;
	hs->memcg = smc_sock_memcg(smc_sock_sk(child));
	smc_sockopt_rings(child, &hs->sndbuf, &hs->rcvbuf);
	smc_hs_server_setup(hs);
	refcount_inc(&l->ref);
	child->parent = l;
	sock_hold(smc_sock_sk(child));
	set_bit(SMC_SF_HS, &child->flags);
	spin_lock_bh(&l->lock);
	listener_add_pending(l, child);
	spin_unlock_bh(&l->lock);
	/*
	 * The stop may cancel from here on; it waits for this work first. A reset may end
	 * the handshake, and the child with it, before the start returns.
	 */
	sock_hold(smc_sock_sk(child));
	smc_hs_start(hs);
	sock_put(smc_sock_sk(child));
}

/*
 * Charged to the listener's owner. At its limit nobody is to be killed, or wait, for a
 * connection that can be TCP: the socket then is nobody's, and will find no ring.
 */
static struct sock *accept_child_alloc_sk(struct sock *lsk, int kern)
{
	struct mem_cgroup *memcg = smc_sock_memcg(lsk), *old;
	struct sock *sk = NULL;

	if (memcg) {
		old = set_active_memcg(memcg);
		sk = smc_sock_alloc_child(lsk, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN,
					  kern);
		set_active_memcg(old);
	}
	return sk ?: smc_sock_alloc_child(lsk, GFP_KERNEL, kern);
}

static struct smc_sock *accept_child_alloc(const struct smc_sock *parent, int kern)
{
	struct sock *lsk = smc_sock_sk((struct smc_sock *)parent);
	struct smc_sock *child;
	struct sock *sk;

	sk = accept_child_alloc_sk(lsk, kern);
	if (!sk)
		return NULL;
	smc_sock_inherit(sk, lsk);
	child = smc_sk(sk);
	set_bit(SMC_SF_SERVER, &child->flags);
	smc_sockopt_inherit(child, parent);
	return child;
}

/* One child of the carrier; -EAGAIN: none. */
static int listener_take_child(struct smc_listener *l, struct smc_sock *smc)
{
	struct smc_sock *child;
	u32 refused;
	int rc;

	child = accept_child_alloc(smc, 0);
	if (!child)
		return -ENOMEM;
	rc = smc_carrier_accept(&smc->carrier, &child->carrier);
	if (rc) {
		sock_put(smc_sock_sk(child));
		/* ECONNABORTED and its like concern one child only */
		return rc == -ECONNABORTED || rc == -EINTR ? 0 : rc;
	}
	smc_sockopt_mirror(child);
	smc_sock_hash(child);
	listener_evict(l);
	refused = accept_child_refused(l, child);
	if (smc_carrier_peer_option(&child->carrier)) {
		accept_child_start(l, child, refused);
		return 0;
	}
	smc_fback_enter(child, refused ?: SMC_CLC_DECL_PEER_NO_SMC, 0, true);
	smc_sock_set_state(child, TCP_ESTABLISHED, 0, 0);
	if (!accept_child_ready(l, child))
		accept_child_drop(child);
	return 0;
}

/* SOCK_DESTROY, or a BPF program: TCP's accept() and poll() tell of it, and so must ours. */
static bool listener_clcsock_ended(struct smc_listener *l, struct smc_sock *smc)
{
	if (!test_bit(SMC_SF_LISTEN, &smc->flags) ||
	    smc_carrier_state(&smc->carrier) != TCP_CLOSE)
		return false;
	refcount_inc(&l->ref);
	if (!queue_work(accept_wq, &l->end_work))
		listener_put(l);
	return true;
}

static void listener_work(struct work_struct *work)
{
	struct smc_listener *l = container_of(to_delayed_work(work), struct smc_listener, work);
	const struct cred *old = override_creds(l->cred);
	struct smc_sock *smc = READ_ONCE(l->smc);
	int rc = 0;

	if (smc && listener_clcsock_ended(l, smc))
		smc = NULL;
	/* the stop waits for this work before the socket goes */
	while (smc && listener_has_room(l) && test_bit(SMC_SF_LISTEN, &smc->flags) && !rc) {
		rc = listener_take_child(l, smc);
		cond_resched();
	}
	revert_creds(old);
	if (rc == -ENOMEM)
		queue_delayed_work(accept_wq, &l->work, ACCEPT_AGAIN);
}

/* The carrier's wait queue: a child is there, or the state changed. */
static int listener_wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct smc_listener *l = container_of(wait, struct smc_listener, wait);

	listener_queue_work(l);
	return 0;
}

/* ---- listen, stop ------------------------------------------------------------ */

/* What the socket was told about its connections to come. */
static void listener_copy_flags(struct smc_listener *l, const struct smc_sock *smc)
{
	WRITE_ONCE(l->limited, test_bit(SMC_SF_LIMIT_HS, &smc->flags));
	WRITE_ONCE(l->excluded, test_bit(SMC_SF_EXCLUDED, &smc->flags));
}

static struct smc_listener *listener_alloc(struct smc_sock *smc)
{
	struct smc_listener *l;

	l = smc_fault_null(LISTENER, kzalloc(sizeof(*l), GFP_KERNEL));
	if (!l)
		return NULL;
	refcount_set(&l->ref, 1);
	l->smc = smc;
	l->net = sock_net(smc_sock_sk(smc));
	l->gate.shut = listener_gate_shut;
	listener_copy_flags(l, smc);
	INIT_DELAYED_WORK(&l->work, listener_work);
	INIT_WORK(&l->end_work, listener_end_work);
	init_waitqueue_func_entry(&l->wait, listener_wake);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->pending);
	INIT_LIST_HEAD(&l->ready);
	l->cred = get_current_cred();
	return l;
}

/**
 * smc_accept_listen() - listen() on an undecided socket
 * @smc: socket, locked
 * @backlog: as given
 *
 * Return: as listen().
 */
int smc_accept_listen(struct smc_sock *smc, int backlog)
{
	struct socket *csock = smc->carrier.sock;
	struct sock *sk = smc_sock_sk(smc);
	struct smc_listener *l = smc->listener;
	bool again = l;
	int rc;

	if (!again) {
		l = listener_alloc(smc);
		if (!l)
			return -ENOMEM;
		/* its own queue: children wake the worker, ready ones wake the application */
		smc_carrier_unshare(&smc->carrier);
		smc_carrier_answer_option(&smc->carrier, &l->gate);
		add_wait_queue(&csock->wq.wait, &l->wait);
	}
	rc = READ_ONCE(csock->ops)->listen(csock, backlog);
	if (rc) {
		if (!again) {
			remove_wait_queue(&csock->wq.wait, &l->wait);
			smc_carrier_withdraw_option(&smc->carrier);
			smc_fback_attach(smc, sk->sk_socket);
			cancel_delayed_work_sync(&l->work);
			listener_put(l);
		}
		return rc;
	}
	/* TCP has limited it to somaxconn */
	WRITE_ONCE(l->backlog, READ_ONCE(csock->sk->sk_max_ack_backlog));
	WRITE_ONCE(sk->sk_max_ack_backlog, l->backlog);
	smc_carrier_lend_file(&smc->carrier, sk->sk_socket->file);
	if (!again) {
		spin_lock_bh(&smc->state_lock);
		smc->listener = l;
		/* one may have been set since the allocation */
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
 * smc_accept_flags() - SMC_SF_LIMIT_HS or SMC_SF_EXCLUDED has been set
 * @smc: socket, listening or not
 */
void smc_accept_flags(struct smc_sock *smc)
{
	spin_lock_bh(&smc->state_lock);
	if (smc->listener)
		listener_copy_flags(smc->listener, smc);
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_accept_exclude() - an option was set that SMC cannot honour
 * @smc: listening socket, locked
 *
 * From now on connections are TCP. Those in their handshake, or ready to be accepted, came
 * before.
 */
void smc_accept_exclude(struct smc_sock *smc)
{
	set_bit(SMC_SF_EXCLUDED, &smc->flags);
	smc_accept_flags(smc);
}

/* A pending child with a reference, or NULL when there is none left. */
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

static struct smc_sock *listener_pop_ready(struct smc_listener *l)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	child = list_first_entry_or_null(&l->ready, struct smc_sock, entry);
	if (child) {
		list_del_init(&child->entry);
		l->nready--;
	}
	spin_unlock_bh(&l->lock);
	return child;
}

/* Wakes them all first, so that they end side by side. */
static void listener_cancel_pending(struct smc_listener *l)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	list_for_each_entry(child, &l->pending, entry)
		smc_hs_cancel(&child->hs);
	spin_unlock_bh(&l->lock);
}

/**
 * smc_accept_stop() - end listening
 * @smc: listening socket, locked
 *
 * Handshakes and the accept work never take the listener's socket lock, so they can
 * be waited for under it.
 */
void smc_accept_stop(struct smc_sock *smc)
{
	static const struct smc_hs_result gone = {
		.outcome = SMC_HS_FAIL,
		.err = ECONNABORTED,
	};
	struct smc_listener *l = smc->listener;
	struct smc_sock *child;

	if (!l)
		return;
	clear_bit(SMC_SF_LISTEN, &smc->flags);
	spin_lock_bh(&smc->state_lock);
	smc->listener = NULL;
	spin_unlock_bh(&smc->state_lock);
	remove_wait_queue(&smc->carrier.sock->wq.wait, &l->wait);
	spin_lock_bh(&l->lock);
	l->smc = NULL;
	spin_unlock_bh(&l->lock);
	/* nobody queues it any more: kick looks at l->smc, the entry is off */
	cancel_delayed_work_sync(&l->work);
	/* only now: the work compares children with what the listener showed */
	smc_carrier_withdraw_option(&smc->carrier);

	listener_cancel_pending(l);
	while ((child = listener_pop_pending(l))) {
		smc_hs_cancel_sync(&child->hs);
		/* done() never came: its part and its reference are ours */
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
 * smc_accept_end() - the socket listens no more
 * @smc: socket, locked, without a listener
 *
 * Its application asks the carrier from now on, and its sleepers look.
 */
void smc_accept_end(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);

	smc_fback_attach(smc, sk->sk_socket);
	smc_sock_set_state(smc, TCP_CLOSE, 0, 0);
	smc_fback_pull(smc);
	sk->sk_socket->state = SS_UNCONNECTED;
	sk->sk_state_change(sk);
}

/* Apart from the accept work, which the stop waits for under the socket lock. */
static void listener_end_work(struct work_struct *work)
{
	struct smc_listener *l = container_of(work, struct smc_listener, end_work);
	struct smc_sock *smc;
	struct sock *sk;

	spin_lock_bh(&l->lock);
	smc = l->smc;
	sk = smc ? smc_sock_sk(smc) : NULL;
	if (sk)
		sock_hold(sk);
	spin_unlock_bh(&l->lock);
	if (sk) {
		lock_sock(sk);
		/* it may have been closed, or told to listen again */
		if (smc->listener == l && smc_carrier_state(&smc->carrier) == TCP_CLOSE) {
			smc_accept_stop(smc);
			smc_accept_end(smc);
		}
		release_sock(sk);
		sock_put(sk);
	}
	listener_put(l);
}

/* ---- accept ------------------------------------------------------------------ */

/* As inet_csk_wait_for_connect(): exclusive, one child wakes one caller. */
static int accept_wait_child(struct smc_sock *smc, long timeo)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_listener *l = smc->listener;
	DEFINE_WAIT(wait);
	int err;

	/* a shutdown by another thread ends it while we sleep */
	refcount_inc(&l->ref);
	for (;;) {
		prepare_to_wait_exclusive(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
		release_sock(sk);
		if (list_empty_careful(&l->ready))
			timeo = schedule_timeout(timeo);
		sched_annotate_sleep();
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

/* The child meets its struct socket. */
static void accept_graft_child(struct smc_sock *child, struct socket *newsock)
{
	struct sock *sk = smc_sock_sk(child);

	lock_sock(sk);
	sock_graft(sk, newsock);
	newsock->state = SS_CONNECTED;
#ifdef SMC_HAVE_CUSTOM_SOCKOPT
	set_bit(SOCK_CUSTOM_SOCKOPT, &newsock->flags);
#endif
	smc_fback_attach(child, newsock);
	/* io_uring's zero copy sends */
	set_bit(SOCK_SUPPORT_ZC, &newsock->flags);
	release_sock(sk);
}

/**
 * smc_accept_dequeue() - accept()
 * @smc: listening socket
 * @newsock: socket for the child
 * @flags: O_NONBLOCK
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
		if (child) {
			/* a place came free */
			listener_kick(l);
			break;
		}
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
 * smc_accept_tcp() - accept() on a listener in TCP mode
 * @smc: socket in TCP mode
 * @newsock: socket for the child
 * @flags: O_NONBLOCK
 * @kern: as given
 *
 * In the caller's context: TCP's memory is charged as always.
 *
 * Return: as accept().
 */
int smc_accept_tcp(struct smc_sock *smc, struct socket *newsock, int flags, bool kern)
{
	struct socket *csock = smc->carrier.sock;
	struct smc_sock *child;
	int rc;

	child = accept_child_alloc(smc, kern);
	if (!child)
		return -ENOMEM;
	rc = smc_carrier_create_child(&child->carrier, &smc->carrier);
	if (rc)
		goto free;
#ifdef SMC_HAVE_PROTO_ACCEPT_ARG
	{
		struct proto_accept_arg arg = { .flags = flags, .kern = kern };

		rc = READ_ONCE(csock->ops)->accept(csock, child->carrier.sock, &arg);
	}
#else
	rc = READ_ONCE(csock->ops)->accept(csock, child->carrier.sock, flags, kern);
#endif
	if (rc)
		goto free;
	smc_sockopt_mirror(child);
	smc_sock_hash(child);
	smc_fback_enter(child, smc->own_reason, 0, true);
	smc_sock_set_state(child, TCP_ESTABLISHED, 0, 0);
	accept_graft_child(child, newsock);
	return 0;
free:
	smc_carrier_release(&child->carrier, false);
	sock_put(smc_sock_sk(child));
	return rc;
}

/**
 * smc_accept_poll() - event mask of a listener
 * @smc: listening socket
 *
 * Return: EPOLL* bits.
 */
__poll_t smc_accept_poll(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	__poll_t mask = 0;

	/* a shutdown by another thread takes the queue away under this lock */
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
