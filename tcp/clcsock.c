// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clcsock: the in-kernel TCP socket of every SMC socket. It carries the CLC messages, stays
 * open without data while the connection uses RDMA, and carries the data after a fallback.
 * This file creates, accepts and closes clcsocks, hooks their callbacks, and shares the wait
 * queue and the file of the application's socket with them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <linux/wait_bit.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/base/fault.h>
#include <smc/tcp/clcsock.h>

#include <compat/ehash.h>
#include <compat/tcp_ack.h>

static struct smc_clcsock_callbacks clcsock_tcp_callbacks;

/* ---- callbacks --------------------------------------------------------------- */

/*
 * Return the clcsock that has hooked @sk, under sk_callback_lock. NULL: the hook was removed, or
 * @sk is an accepted child that copied the callbacks of its listener, or sk_user_data belongs to
 * another user (a BPF psock, which sets a flag of its own).
 */
static struct smc_clcsock *clcsock_of_sk(const struct sock *sk)
{
	uintptr_t data = (uintptr_t)READ_ONCE(sk->sk_user_data);

	if ((data & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return NULL;
	return (struct smc_clcsock *)(data & SK_USER_DATA_PTRMASK);
}

/*
 * Return false if the caller has to run TCP's own callback. @received: bytes or FIN have come, or
 * the state has changed: then the TCP socket is locked.
 */
static bool clcsock_notify_owner(struct sock *sk, bool received)
{
	const struct smc_clcsock_events *events = NULL;
	struct smc_clcsock *c;
	bool passes = false;

	read_lock_bh(&sk->sk_callback_lock);
	c = clcsock_of_sk(sk);
	if (c)
		events = c->events;
	if (events) {
		passes = events->received;
		if (passes && received)
			events->received(c->owner);
		events->changed(c->owner);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	return c && !passes;
}

/*
 * A hooked clcsock that does not carry the stream does not run TCP's own callbacks: they would wake
 * the application for CLC messages.
 */
static void clcsock_state_change(struct sock *sk)
{
	if (!clcsock_notify_owner(sk, true))
		clcsock_tcp_callbacks.state_change(sk);
}

static void clcsock_data_ready(struct sock *sk)
{
	if (!clcsock_notify_owner(sk, true))
		clcsock_tcp_callbacks.data_ready(sk);
}

static void clcsock_write_space(struct sock *sk)
{
	if (!clcsock_notify_owner(sk, false))
		clcsock_tcp_callbacks.write_space(sk);
}

/* The socket may not be locked: notifications of MSG_ZEROCOPY report by this one. */
static void clcsock_error_report(struct sock *sk)
{
	if (!clcsock_notify_owner(sk, false))
		clcsock_tcp_callbacks.error_report(sk);
}

static void clcsock_save_callbacks(const struct sock *sk, struct smc_clcsock_callbacks *cb)
{
	cb->state_change = sk->sk_state_change;
	cb->data_ready = sk->sk_data_ready;
	cb->write_space = sk->sk_write_space;
	cb->error_report = sk->sk_error_report;
}

/* Restore only callbacks that are still ours: kTLS and others replace them with their own. */
static void clcsock_restore_callbacks(struct sock *sk, const struct smc_clcsock_callbacks *cb)
{
	if (sk->sk_state_change == clcsock_state_change)
		sk->sk_state_change = cb->state_change;
	if (sk->sk_data_ready == clcsock_data_ready)
		sk->sk_data_ready = cb->data_ready;
	if (sk->sk_write_space == clcsock_write_space)
		sk->sk_write_space = cb->write_space;
	if (sk->sk_error_report == clcsock_error_report)
		sk->sk_error_report = cb->error_report;
}

/* TCP calls sk_data_ready only from SO_RCVLOWAT bytes on, and CLC messages are short. */
static void clcsock_park_rcvlowat(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;

	c->rcvlowat = READ_ONCE(sk->sk_rcvlowat);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
}

/* Suspend the application's TCP_CORK, or apply it again. The socket lock is held. */
static void clcsock_suspend_cork(struct smc_clcsock *c, bool suspend)
{
	struct tcp_sock *tp = tcp_sk(c->sock->sk);

	if (suspend == c->uncorked)
		return;
	WRITE_ONCE(c->uncorked, suspend);
	if (suspend)
		tp->nonagle &= ~TCP_NAGLE_CORK;
	else if (c->cork)
		tp->nonagle |= TCP_NAGLE_CORK;
}

/**
 * smc_clcsock_hook() - replace the callbacks of the TCP socket
 * @c: clcsock, hooked or not
 * @events: table to call when the TCP socket changes
 * @owner: argument for @events
 *
 * Sets SO_RCVLOWAT to 1 until smc_clcsock_unhook(). Suspends TCP_CORK if @events says so, also when
 * it returns false: then nothing of the application was sent yet. If the callbacks are hooked
 * already, only @events and @owner change. Earlier changes are not reported: the caller checks the
 * state of the socket once after this call. Process context, takes the socket lock.
 *
 * Return: true, or false if another user (a BPF psock) owns the socket's sk_user_data.
 */
bool smc_clcsock_hook(struct smc_clcsock *c, const struct smc_clcsock_events *events,
		      void *owner)
{
	struct sock *sk = c->sock->sk;
	bool ok = true;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (!c->hooked) {
		if (sk->sk_user_data) {
			ok = false;
			goto out;
		}
		clcsock_save_callbacks(sk, &c->saved);
		sk->sk_state_change = clcsock_state_change;
		sk->sk_data_ready = clcsock_data_ready;
		sk->sk_write_space = clcsock_write_space;
		sk->sk_error_report = clcsock_error_report;
		/* NOCOPY: a socket cloned from this one must not inherit the pointer */
		__rcu_assign_sk_user_data_with_flags(sk, c, SK_USER_DATA_NOCOPY);
		clcsock_park_rcvlowat(c);
		WRITE_ONCE(c->hooked, true);
	}
	c->events = events;
	c->owner = owner;
out:
	clcsock_suspend_cork(c, events->uncork);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	return ok;
}

/* The socket lock and sk_callback_lock are held. */
static void clcsock_unhook_locked(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;

	sock_owned_by_me(sk);
	lockdep_assert_held_write(&sk->sk_callback_lock);
	if (c->hooked) {
		clcsock_restore_callbacks(sk, &c->saved);
		rcu_assign_sk_user_data(sk, NULL);
		WRITE_ONCE(sk->sk_rcvlowat, c->rcvlowat);
		WRITE_ONCE(c->hooked, false);
	}
	clcsock_suspend_cork(c, false);
	c->events = NULL;
	c->owner = NULL;
}

/**
 * smc_clcsock_unhook() - restore the callbacks of the TCP socket
 * @c: clcsock, hooked or not
 *
 * Also restores SO_RCVLOWAT and TCP_CORK. After return no smc_clcsock_events.changed() runs, and
 * none will. Process context, takes the socket lock if the clcsock is hooked or uncorked: whoever
 * may hook it does not call this at the same time.
 */
void smc_clcsock_unhook(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;

	if (!READ_ONCE(c->hooked) && !READ_ONCE(c->uncorked))
		return;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_unhook_locked(c);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * smc_clcsock_tcp_callbacks() - return the callbacks of an unmodified TCP socket
 *
 * Return: constant table, filled in by smc_clcsock_init().
 */
const struct smc_clcsock_callbacks *smc_clcsock_tcp_callbacks(void)
{
	return &clcsock_tcp_callbacks;
}

/**
 * smc_clcsock_set_rcvlowat() - set SO_RCVLOWAT of the application's data
 * @c: clcsock, hooked or not
 * @val: bytes
 *
 * Does not apply to CLC messages: on a hooked clcsock the value takes effect in
 * smc_clcsock_unhook(). Process context, takes the socket lock.
 *
 * Return: the resulting value, or -errno of setsockopt().
 */
int smc_clcsock_set_rcvlowat(struct smc_clcsock *c, int val)
{
	int (*set)(struct sock *sk, int val) = READ_ONCE(c->sock->ops)->set_rcvlowat;
	struct sock *sk = c->sock->sk;
	int rc = 0;

	lock_sock_nested(sk, SINGLE_DEPTH_NESTING);
	if (set)
		rc = set(sk, val);
	else
		WRITE_ONCE(sk->sk_rcvlowat, val ?: 1);
	if (!rc)
		rc = sk->sk_rcvlowat;
	if (rc > 0 && c->hooked)
		clcsock_park_rcvlowat(c);
	release_sock(sk);
	return rc;
}

/**
 * smc_clcsock_set_cork() - set TCP_CORK of the application's data
 * @c: clcsock
 * @on: value of the option
 *
 * Does not apply to CLC messages: during a handshake the value takes effect at its end. The caller
 * serialises calls. Process context, takes the socket lock.
 */
void smc_clcsock_set_cork(struct smc_clcsock *c, bool on)
{
	struct sock *sk = c->sock->sk;

	lock_sock_nested(sk, SINGLE_DEPTH_NESTING);
	WRITE_ONCE(c->cork, on);
	if (on && !c->uncorked)
		tcp_sk(sk)->nonagle |= TCP_NAGLE_CORK;
	release_sock(sk);
	/* last: the end of a handshake must not cork it again. Sends what was held back */
	if (!on)
		tcp_sock_set_cork(sk, false);
}

/**
 * smc_clcsock_try_send_ack() - send a TCP ACK without data, unless the socket is in use
 * @c: clcsock
 *
 * No data flows over TCP while the connection uses RDMA, so a periodic ACK keeps the connection's
 * state alive in firewalls and NATs. The peer does not answer it. Process context. As TCP's own
 * timers do, tries the socket lock only: its holder may sleep on memory of the program.
 *
 * Return: false if the socket was locked, and no ACK was sent.
 */
bool smc_clcsock_try_send_ack(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;
	bool owned;

	spin_lock_bh(&sk->sk_lock.slock);
	owned = sock_owned_by_user(sk);
	if (!owned && sk->sk_state == TCP_ESTABLISHED)
		smc_compat_tcp_send_ack(sk);
	spin_unlock_bh(&sk->sk_lock.slock);
	return !owned;
}

/* ---- calls of the program, and works ----------------------------------------- */

/*
 * A call may sleep as long as the program likes while it holds the lock of the TCP socket: it reads
 * or writes memory of the program, and a page of it may never arrive (userfaultfd, FUSE). A work
 * that waited for this lock would keep a thread of a work queue that serves all users. So a work
 * begins only while no such call is in progress; otherwise the end of the call queues it again. A
 * call that comes while the work is at it waits.
 *
 * Whoever else takes the lock holds it for a moment. In TCP mode, which is final, no work takes it,
 * and calls need not be counted.
 */

/**
 * smc_clcsock_init_users() - initialise the counts of a new clcsock
 * @c: clcsock, zeroed
 */
void smc_clcsock_init_users(struct smc_clcsock *c)
{
	spin_lock_init(&c->users.lock);
}

/* Count a call, unless a work is at it. */
static bool clcsock_try_call(struct smc_clcsock_users *u)
{
	bool free;

	spin_lock_bh(&u->lock);
	free = !u->working;
	u->calls += free;
	spin_unlock_bh(&u->lock);
	return free;
}

/**
 * smc_clcsock_begin_call() - begin a call that may sleep with the TCP socket locked
 * @c: clcsock of a socket in any mode but TCP
 *
 * Process context, before any socket lock. Waits for the end of a work: at a listener a moment,
 * during connect() until the handshake has ended, which has deadlines.
 *
 * Return: 0, the caller calls smc_clcsock_end_call(); or -ERESTARTSYS for a fatal signal.
 */
int smc_clcsock_begin_call(struct smc_clcsock *c)
{
	return wait_var_event_killable(&c->users.working, clcsock_try_call(&c->users));
}

/* Queue a refused work, now that the last call or the other work has ended. */
static void clcsock_retry_work(struct smc_clcsock_users *u)
{
	lockdep_assert_held(&u->lock);
	if (!u->wanted)
		return;
	u->wanted = false;
	if (u->retry)
		u->retry(u->arg);
}

/**
 * smc_clcsock_end_call() - end a call after smc_clcsock_begin_call()
 * @c: clcsock
 *
 * Queues the work that it has kept from running.
 */
void smc_clcsock_end_call(struct smc_clcsock *c)
{
	struct smc_clcsock_users *u = &c->users;

	spin_lock_bh(&u->lock);
	if (!--u->calls)
		clcsock_retry_work(u);
	spin_unlock_bh(&u->lock);
}

/**
 * smc_clcsock_allow_work() - let works begin
 * @c: clcsock
 * @retry: queues the work again after it was refused; any context, under a spinlock
 * @arg: for @retry
 */
void smc_clcsock_allow_work(struct smc_clcsock *c, void (*retry)(void *arg), void *arg)
{
	spin_lock_bh(&c->users.lock);
	c->users.retry = retry;
	c->users.arg = arg;
	spin_unlock_bh(&c->users.lock);
}

/**
 * smc_clcsock_forbid_work() - let no further work begin
 * @c: clcsock
 *
 * After return @retry of smc_clcsock_allow_work() does not run and will not. A work that has begun
 * continues.
 */
void smc_clcsock_forbid_work(struct smc_clcsock *c)
{
	spin_lock_bh(&c->users.lock);
	c->users.retry = NULL;
	c->users.wanted = false;
	spin_unlock_bh(&c->users.lock);
}

/**
 * smc_clcsock_begin_work() - begin a work that takes the lock of the TCP socket
 * @c: clcsock
 *
 * Any context. Does not wait.
 *
 * Return: true, the caller calls smc_clcsock_end_work(); false: a call of the program or another
 * work is at it, and its end queues the work again, or works are forbidden.
 */
bool smc_clcsock_begin_work(struct smc_clcsock *c)
{
	struct smc_clcsock_users *u = &c->users;
	bool begun;

	spin_lock_bh(&u->lock);
	begun = u->retry && !u->calls && !u->working;
	u->working |= begun;
	u->wanted = u->retry && !begun;
	spin_unlock_bh(&u->lock);
	return begun;
}

/**
 * smc_clcsock_end_work() - end a work after smc_clcsock_begin_work()
 * @c: clcsock
 */
void smc_clcsock_end_work(struct smc_clcsock *c)
{
	spin_lock_bh(&c->users.lock);
	c->users.working = false;
	clcsock_retry_work(&c->users);
	spin_unlock_bh(&c->users.lock);
	/* a caller enters the wait queue, then reads @working */
	smp_mb();
	wake_up_var(&c->users.working);
}

/**
 * smc_clcsock_end_last_work() - smc_clcsock_end_work() and smc_clcsock_forbid_work()
 * @c: clcsock
 */
void smc_clcsock_end_last_work(struct smc_clcsock *c)
{
	struct smc_clcsock_users *u = &c->users;

	spin_lock_bh(&u->lock);
	u->working = false;
	u->wanted = false;
	u->retry = NULL;
	spin_unlock_bh(&u->lock);
	/* a caller enters the wait queue, then reads @working */
	smp_mb();
	wake_up_var(&u->working);
}

/* ---- creation and release ---------------------------------------------------- */

/* TCP timers outlive close(), so a kernel socket has to hold a reference on its namespace too. */
static void clcsock_pin_net(struct sock *sk, struct net *net)
{
#ifdef SMC_HAVE_SK_NET_REFCNT_UPGRADE
	sk_net_refcnt_upgrade(sk);
#else
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
#endif
}

/**
 * smc_clcsock_pin_net() - let the TCP socket hold its namespace again
 * @c: clcsock after smc_clcsock_hand_over(), in a namespace that is not freed yet
 *
 * Process context.
 *
 * Return: false if the namespace is ending.
 */
bool smc_clcsock_pin_net(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;
	struct net *net = maybe_get_net(sock_net(sk));

	if (!net)
		return false;
	clcsock_pin_net(sk, net);
	put_net(net);
	return true;
}

/* Undo clcsock_pin_net(): the TCP socket has to be reset before its namespace ends. */
static void clcsock_unpin_net(struct sock *sk)
{
	struct net *net = sock_net(sk);

#ifdef SMC_HAVE_SK_NET_REFCNT_UPGRADE
	net_passive_inc(net);
#endif
	sock_inuse_add(net, -1);
	sk->sk_net_refcnt = 0;
	put_net_track(net, &sk->ns_tracker);
#ifdef SMC_HAVE_SK_NET_REFCNT_UPGRADE
	__netns_tracker_alloc(net, &sk->ns_tracker, false, GFP_KERNEL);
#endif
}

/**
 * smc_clcsock_create() - create the TCP socket
 * @c: clcsock without a TCP socket
 * @net: namespace
 * @family: AF_INET or AF_INET6
 * @kern: nonzero for a kernel socket; as passed to the create() of the SMC socket
 *
 * The TCP socket gets the cgroup, the credentials and the LSM label of the calling process.
 * Process context. The caller closes it by smc_clcsock_release().
 *
 * Return: 0, or -errno as socket(2).
 */
int smc_clcsock_create(struct smc_clcsock *c, struct net *net, int family, int kern)
{
	int rc;

	rc = smc_fault_rc(CLCSOCK, -ENOBUFS,
			  __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &c->sock, kern));
	if (rc) {
		c->sock = NULL;
		return rc;
	}
	if (kern)
		clcsock_pin_net(c->sock->sk, net);
	return 0;
}

/**
 * smc_clcsock_create_child() - create an empty socket for ops->accept() of a listener
 * @child: clcsock without a TCP socket
 * @listener: listening clcsock
 *
 * The new socket has no struct sock yet; it holds a reference on the module that owns the
 * listener's proto_ops. Process context, in the context (cgroup, LSM) of the accepting process.
 *
 * Return: 0 or -ENOMEM.
 */
int smc_clcsock_create_child(struct smc_clcsock *child, const struct smc_clcsock *listener)
{
	int rc;

	rc = smc_fault_rc(CLCSOCK_CHILD, -ENOMEM,
			  sock_create_lite(listener->sock->sk->sk_family, SOCK_STREAM, IPPROTO_TCP,
					   &child->sock));
	if (rc) {
		child->sock = NULL;
		return rc;
	}
	child->sock->ops = READ_ONCE(listener->sock->ops);
	__module_get(child->sock->ops->owner);
	return 0;
}

/*
 * TCP charges the memory of an accepted child to the cgroup of the task that calls accept(). If a
 * worker does that here, which is in no cgroup, the child is charged to the cgroup of its listener.
 * For what the child has received already, __sk_mem_schedule() charges TCP's account and the
 * cgroup, then __sk_mem_reclaim() without a cgroup takes it from TCP's account, which had it
 * before. With BH disabled the charge may exceed the limit, as TCP's own charge does, and does
 * not start the OOM killer.
 */
static void clcsock_charge_child(struct sock *sk, const struct sock *parent)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg = parent->sk_memcg;
	int amount;

	if (!mem_cgroup_sockets_enabled || !memcg || sk->sk_memcg)
		return;
	lock_sock(sk);
	local_bh_disable();
	amount = sk_mem_pages(sk->sk_forward_alloc + atomic_read(&sk->sk_rmem_alloc)) << PAGE_SHIFT;
	sk->sk_memcg = memcg;
	if (amount && !__sk_mem_schedule(sk, amount, SK_MEM_RECV)) {
		sk->sk_memcg = NULL;
	} else {
		if (amount) {
			sk->sk_memcg = NULL;
			__sk_mem_reclaim(sk, amount);
			sk->sk_memcg = memcg;
		}
		css_get(&memcg->css);
	}
	local_bh_enable();
	release_sock(sk);
#endif
}

/**
 * smc_clcsock_has_child() - check whether a listening clcsock has a child to accept
 * @c: listening clcsock, or one that has ended: then there is none
 *
 * Any context, lockless.
 *
 * Return: true if so.
 */
bool smc_clcsock_has_child(const struct smc_clcsock *c)
{
	return !reqsk_queue_empty(&inet_csk(c->sock->sk)->icsk_accept_queue);
}

/**
 * smc_clcsock_accept() - accept one child of a listening clcsock
 * @c: listening clcsock; the caller is the work of smc_clcsock_allow_work(), or does its part
 * @child: clcsock without a TCP socket; receives the child
 *
 * The child is not hooked, and charged to the cgroup of the caller, or of the listener if the
 * caller is in none. Process context, does not block. The caller closes the child by
 * smc_clcsock_release().
 *
 * Return: 0; -EAGAIN when no child is queued; -EBUSY after which the work will be queued again, see
 * smc_clcsock_begin_work(); or another -errno.
 */
int smc_clcsock_accept(struct smc_clcsock *c, struct smc_clcsock *child)
{
	struct sock *sk;
	int rc;

	if (!smc_clcsock_begin_work(c))
		return -EBUSY;
	rc = smc_fault_rc(CLCSOCK_ACCEPT, -ENOMEM,
			  kernel_accept(c->sock, &child->sock, O_NONBLOCK));
	smc_clcsock_end_work(c);
	if (rc) {
		child->sock = NULL;
		return rc;
	}
	/* the child copied the callbacks that its listener had when the SYN arrived */
	sk = child->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_restore_callbacks(sk, &clcsock_tcp_callbacks);
	write_unlock_bh(&sk->sk_callback_lock);
	child->cork = tcp_sk(sk)->nonagle & TCP_NAGLE_CORK;
	clcsock_charge_child(sk, c->sock->sk);
	smc_option_inherit(&child->option, sk, &c->option);
	return 0;
}

/* The socket lock and sk_callback_lock are held. */
static void clcsock_unshare_wq_locked(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;

	sock_owned_by_me(sk);
	lockdep_assert_held_write(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &c->sock->wq);
	/* the sender of SIGURG reads the file under one of the two locks */
	WRITE_ONCE(c->sock->file, NULL);
}

/* Only the owner of a clcsock hooks it, or shares its wait queue and file. */
static bool clcsock_is_on_its_own(const struct smc_clcsock *c)
{
	return !READ_ONCE(c->hooked) && !READ_ONCE(c->sock->file) &&
	       rcu_access_pointer(c->sock->sk->sk_wq) == &c->sock->wq;
}

/**
 * smc_clcsock_separate() - let the TCP socket refer to nothing of the application
 * @c: clcsock that is about to be released
 * @also: called with the socket lock and sk_callback_lock held, to restore callbacks; or NULL
 *
 * Unhooks it, and restores wait queue and file. Process context, takes the socket lock if there is
 * anything to do.
 */
void smc_clcsock_separate(struct smc_clcsock *c, void (*also)(struct sock *sk))
{
	struct sock *sk = c->sock->sk;

	if (!also && clcsock_is_on_its_own(c))
		return;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_unhook_locked(c);
	clcsock_unshare_wq_locked(c);
	if (also)
		also(sk);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/* Let the TCP socket refer to nothing of the application or of this module. */
static void clcsock_free_sk(struct smc_clcsock *c)
{
	smc_clcsock_separate(c, NULL);
	smc_option_withdraw(&c->option, c->sock->sk);
}

/**
 * smc_clcsock_release() - close the TCP socket
 * @c: clcsock, with or without a TCP socket
 * @reset: send RST instead of FIN
 *
 * Restores callbacks, wait queue and file first: the TCP socket, which may live on in TCP
 * states such as FIN_WAIT, refers to nothing of the application or of this module. Process
 * context, may sleep for SO_LINGER.
 */
void smc_clcsock_release(struct smc_clcsock *c, bool reset)
{
	struct socket *sock = c->sock;

	if (!sock)
		return;
	if (sock->sk) {
		clcsock_free_sk(c);
		if (reset)
			sock_no_linger(sock->sk);
	}
	c->sock = NULL;
	sock_release(sock);
}

/**
 * smc_clcsock_hand_over() - move the TCP socket of a closed socket to another owner
 * @from: clcsock with a TCP socket; without one afterwards
 * @to: zeroed; receives the TCP socket
 *
 * Callbacks, wait queue and file become TCP's own; SO_LINGER is off, since the application does not
 * wait any more. The TCP socket does not hold its namespace: the caller ends it by
 * smc_clcsock_release() with RST before the namespace ends, or calls smc_clcsock_pin_net(). Process
 * context.
 */
void smc_clcsock_hand_over(struct smc_clcsock *from, struct smc_clcsock *to)
{
	struct sock *sk = from->sock->sk;

	clcsock_free_sk(from);
	sock_reset_flag(sk, SOCK_LINGER);
	to->sock = from->sock;
	from->sock = NULL;
	clcsock_unpin_net(sk);
}

/**
 * smc_clcsock_reset() - send RST and close the TCP connection, if its lock is free
 * @c: clcsock in use
 *
 * Leaves the TCP socket as a RST of the peer would: closed, with its addresses and its options.
 * Does not wait for the socket lock: a program that holds it in a call would stop a work queue that
 * is shared by all. Any context.
 *
 * Return: false if the socket lock is taken: try again later.
 */
bool smc_clcsock_reset(struct smc_clcsock *c)
{
	if (!smc_clcsock_try_lock(c))
		return false;
	smc_clcsock_reset_locked(c);
	smc_clcsock_unlock(c);
	return true;
}

/**
 * smc_clcsock_reset_locked() - the same with the lock of the TCP socket
 * @c: clcsock in use, locked by smc_clcsock_try_lock()
 *
 * Bytes that were not read are destroyed, and count as read.
 */
void smc_clcsock_reset_locked(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;
	struct inet_sock *inet = inet_sk(sk);
	unsigned int locks;
	__be16 dport;

	if (sk->sk_state == TCP_CLOSE)
		return;
	/* tcp_abort() takes the lock; disconnect() does not, but forgets the addresses */
	locks = sk->sk_userlocks;
	dport = inet->inet_dport;
	sk->sk_userlocks |= SOCK_BINDADDR_LOCK;
	sk->sk_prot->disconnect(sk, 0);
	sk->sk_userlocks = locks;
	inet->inet_dport = dport;
}

/**
 * smc_clcsock_abort() - end the TCP connection as if the peer had reset it
 * @c: clcsock
 * @err: positive errno for the socket to report, unless TCP has reported an error itself
 *
 * Received bytes are dropped, because they may be CLC messages. Process context.
 */
void smc_clcsock_abort(struct smc_clcsock *c, int err)
{
	char junk[256];

	if (smc_clcsock_state(c) != TCP_CLOSE)
		tcp_abort(c->sock->sk, err);
	for (;;) {
		struct kvec vec = { .iov_base = junk, .iov_len = sizeof(junk) };
		struct msghdr msg = {};

		if (kernel_recvmsg(c->sock, &msg, &vec, 1, sizeof(junk), MSG_DONTWAIT) <= 0)
			break;
	}
	/* kernel_recvmsg() may have consumed the error */
	if (!READ_ONCE(c->sock->sk->sk_err))
		WRITE_ONCE(c->sock->sk->sk_err, err);
}

/* Fill in the peer's address, also after the connection has ended. Return: its length. */
static int clcsock_peer_sockaddr(const struct sock *sk, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = sk->sk_family;
	if (!IS_ENABLED(CONFIG_IPV6) || sk->sk_family != AF_INET6) {
		sin->sin_port = inet_sk(sk)->inet_dport;
		sin->sin_addr.s_addr = sk->sk_daddr;
		return sizeof(*sin);
	}
	sin6->sin6_port = inet_sk(sk)->inet_dport;
	sin6->sin6_addr = sk->sk_v6_daddr;
	sin6->sin6_flowinfo = inet6_sk(sk)->flow_label;
	sin6->sin6_scope_id = ipv6_iface_scope_id(&sin6->sin6_addr, sk->sk_bound_dev_if);
	return sizeof(*sin6);
}

/**
 * smc_clcsock_disconnect() - give the connection up, by connect(AF_UNSPEC)
 * @c: clcsock, in any state
 * @flags: file flags
 *
 * Whoever names this connection must not find the next one. Process context, takes the socket lock.
 *
 * Return: as connect().
 */
int smc_clcsock_disconnect(struct smc_clcsock *c, int flags)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };

	c->first_known = false;
	return READ_ONCE(c->sock->ops)->connect(c->sock, (void *)&none, sizeof(struct sockaddr),
						flags);
}

/**
 * smc_clcsock_reconnect() - connect again to the same peer, without the SMC option
 * @c: clcsock, used by the caller only
 *
 * Resets the current connection; what it has received is lost. Socket options and a bound
 * address are kept. Process context.
 *
 * Return: -EINPROGRESS, or another result of a non-blocking connect().
 */
int smc_clcsock_reconnect(struct smc_clcsock *c)
{
	struct sockaddr_storage to;
	struct socket *sock = c->sock;
	int len, rc;

	smc_clcsock_withdraw_option(c);
	len = clcsock_peer_sockaddr(sock->sk, &to);
	rc = smc_clcsock_disconnect(c, O_NONBLOCK);
	if (rc)
		return rc;
	return READ_ONCE(sock->ops)->connect(sock, (void *)&to, len, O_NONBLOCK);
}

/* ---- shared with the application's socket ------------------------------------ */

/*
 * Tools find the process of a connection by the inode number that the kernel shows for its TCP
 * socket. Socket inodes are not hashed, so two may have the same number.
 */
static void clcsock_share_ino(struct socket *sock, struct socket *app)
{
	SOCK_INODE(sock)->i_ino = SOCK_INODE(app)->i_ino;
#ifdef SMC_HAVE_SK_INO
	/* the kernel's copy of the number, set when the inode was attached */
	WRITE_ONCE(sock->sk->sk_ino, SOCK_INODE(app)->i_ino);
#endif
}

static void clcsock_share_wq_locked(struct smc_clcsock *c, struct socket *app,
				    void (*also)(struct sock *sk))
{
	struct sock *sk = c->sock->sk;

	sock_owned_by_me(sk);
	lockdep_assert_held_write(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &app->wq);
	if (also)
		also(sk);
}

static void clcsock_share_file(struct smc_clcsock *c, struct socket *app)
{
	clcsock_share_ino(c->sock, app);
	if (app->file)
		smc_clcsock_set_file(c, app->file);
}

/**
 * smc_clcsock_share_first() - smc_clcsock_share_wq() for a new socket
 * @c: clcsock that no other context knows yet: without locks
 * @app: the application's socket
 */
void smc_clcsock_share_first(struct smc_clcsock *c, struct socket *app)
{
	rcu_assign_pointer(c->sock->sk->sk_wq, &app->wq);
	clcsock_share_file(c, app);
}

/**
 * smc_clcsock_share_wq() - let the clcsock use the application's wait queue, inode number and file
 * @c: clcsock; no task may sleep on its wait queue
 * @app: the application's socket; must stay alive until smc_clcsock_unshare_wq()
 * @also: called with the socket lock and sk_callback_lock held, to change the callbacks; or NULL
 *
 * Process context, takes the socket lock.
 */
void smc_clcsock_share_wq(struct smc_clcsock *c, struct socket *app, void (*also)(struct sock *sk))
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_share_wq_locked(c, app, also);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	clcsock_share_file(c, app);
}

/**
 * smc_clcsock_unhook_to() - smc_clcsock_unhook() and smc_clcsock_share_wq(), in one round of locks
 * @c: clcsock, hooked or not; no task may sleep on its wait queue
 * @app: the application's socket, see smc_clcsock_share_wq()
 * @also: likewise
 */
void smc_clcsock_unhook_to(struct smc_clcsock *c, struct socket *app,
			   void (*also)(struct sock *sk))
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_unhook_locked(c);
	clcsock_share_wq_locked(c, app, also);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	clcsock_share_file(c, app);
}

/**
 * smc_clcsock_unshare_wq() - give the clcsock its own wait queue, and no file
 * @c: clcsock; no task may sleep on its wait queue
 *
 * Process context, takes the socket lock.
 */
void smc_clcsock_unshare_wq(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_unshare_wq_locked(c);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * smc_clcsock_set_file() - set the file of the clcsock
 * @c: clcsock
 * @file: file of the application's socket, or NULL if it has none yet
 *
 * Takes no reference: the caller calls smc_clcsock_unshare_wq() before the file is released.
 */
void smc_clcsock_set_file(struct smc_clcsock *c, struct file *file)
{
	if (READ_ONCE(c->sock->file) != file)
		WRITE_ONCE(c->sock->file, file);
}

/* ---- state ------------------------------------------------------------------- */

/**
 * smc_clcsock_has_ipsec() - check whether IPsec policies apply to what we send on the connection
 * @c: clcsock
 * @dst: route of the connection, reference held by the caller
 *
 * Data sent by the RNIC bypasses IPsec, so such a connection has to stay TCP (RFC 7609 section
 * 5.5). Only our direction is checked here; the peer checks the other one.
 *
 * Return: true if a policy of the socket or of the route applies.
 */
bool smc_clcsock_has_ipsec(const struct smc_clcsock *c, const struct dst_entry *dst)
{
#ifdef CONFIG_XFRM
	const struct sock *sk = c->sock->sk;

	for (unsigned int dir = 0; dir < ARRAY_SIZE(sk->sk_policy); dir++)
		if (rcu_access_pointer(sk->sk_policy[dir]))
			return true;
#endif
	return dst_xfrm(dst);
}

/* ---- look-up ------------------------------------------------------------------ */

/**
 * smc_clcsock_note_first() - note the sequence numbers of the first bytes of both directions
 * @c: connected clcsock that is not hooked; at any time of the connection
 * @server: it was accepted
 *
 * Not for connections with TCP Fast Open. Process context, takes the socket lock.
 */
void smc_clcsock_note_first(struct smc_clcsock *c, bool server)
{
	struct sock *sk = c->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);

	lock_sock(sk);
	/* the counters move with these positions; a client's bytes_acked includes its SYN */
	c->first_tx = tp->snd_una - (u32)tp->bytes_acked + !server;
	c->first_rx = tp->rcv_nxt - (u32)tp->bytes_received;
	c->first_known = true;
	c->fin_taken = false;
	smc_clcsock_note_fin(c);
	release_sock(sk);
}

/**
 * smc_clcsock_try_lock() - lock the TCP socket, unless a call of the program has it locked
 * @c: clcsock
 *
 * As TCP's timers do, does not wait, and does not let others sleep: the caller does not sleep
 * either. Any context but hard interrupt.
 *
 * Return: true, the caller calls smc_clcsock_unlock().
 */
bool smc_clcsock_try_lock(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;

	local_bh_disable();
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk)) {
		/* for sparse, which has no word for a lock that is taken or not */
		__release(&sk->sk_lock.slock);
		return true;
	}
	bh_unlock_sock(sk);
	local_bh_enable();
	return false;
}

/**
 * smc_clcsock_unlock() - undo smc_clcsock_try_lock()
 * @c: clcsock
 */
void smc_clcsock_unlock(struct smc_clcsock *c)
{
	__acquire(&c->sock->sk->sk_lock.slock);	/* see smc_clcsock_try_lock() */
	bh_unlock_sock(c->sock->sk);
	local_bh_enable();
}

/* Find the socket that would get a packet from the peer, which may be bound to netdev or VRF. */
static struct sock *clcsock_find_sk(struct net *net, const struct smc_clcsock_ends *ends)
{
	int vrf = l3mdev_master_ifindex_by_index(net, ends->ifindex);
	int dif = vrf ?: ends->ifindex, sdif = vrf ? ends->ifindex : 0;
	__be16 port = htons(ends->peer_port);

	if (ipv6_addr_v4mapped(&ends->own) && ipv6_addr_v4mapped(&ends->peer))
		return smc_compat_find_tcp4(net, ends->peer.s6_addr32[3], port,
					    ends->own.s6_addr32[3], ends->own_port, dif, sdif);
	return smc_compat_find_tcp6(net, &ends->peer, port, &ends->own, ends->own_port, dif, sdif);
}

/**
 * smc_clcsock_find() - find a hooked clcsock by the ends of its connection
 * @net: namespace
 * @ends: its addresses and ports, and the netdev
 * @get: takes a reference on the owner, or returns false; under sk_callback_lock, BH off
 *
 * Asks TCP's table of connections, which needs no lock. Sockets that are bound to another device
 * are not found. Process context.
 *
 * Return: the clcsock, valid as long as that reference, or NULL.
 */
struct smc_clcsock *smc_clcsock_find(struct net *net, const struct smc_clcsock_ends *ends,
				     bool (*get)(struct smc_clcsock *c))
{
	struct smc_clcsock *c = NULL;
	struct sock *sk;

	rcu_read_lock();
	sk = clcsock_find_sk(net, ends);
	rcu_read_unlock();
	if (!sk)
		return NULL;
	if (sk_fullsock(sk)) {
		read_lock_bh(&sk->sk_callback_lock);
		/* the peer names any socket of the namespace: others use sk_user_data as we do */
		c = sk->sk_state_change == clcsock_state_change ? clcsock_of_sk(sk) : NULL;
		if (c && !get(c))
			c = NULL;
		read_unlock_bh(&sk->sk_callback_lock);
	}
	sock_gen_put(sk);
	return c;
}

/**
 * smc_clcsock_peer_addr() - return the peer's IP address
 * @c: connecting or connected clcsock
 * @peer: out: the address, IPv4 as v4-mapped
 */
void smc_clcsock_peer_addr(const struct smc_clcsock *c, struct in6_addr *peer)
{
	const struct sock *sk = c->sock->sk;

	if (IS_ENABLED(CONFIG_IPV6) && sk->sk_family == AF_INET6)
		*peer = sk->sk_v6_daddr;
	else
		ipv6_addr_set_v4mapped(sk->sk_daddr, peer);
}

/**
 * smc_clcsock_peer_port() - return the peer's TCP port
 * @c: connecting or connected clcsock
 *
 * Return: the port in host byte order.
 */
u16 smc_clcsock_peer_port(const struct smc_clcsock *c)
{
	return ntohs(inet_sk(c->sock->sk)->inet_dport);
}

/**
 * smc_clcsock_sk_is_readable() - check whether a read would return without waiting
 * @sk: TCP socket of a clcsock
 *
 * Any context, lockless.
 *
 * Return: true for queued bytes, FIN, an error or a closed connection.
 */
bool smc_clcsock_sk_is_readable(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
	       !skb_queue_empty_lockless(&sk->sk_receive_queue) ||
	       inet_sk_state_load(sk) == TCP_CLOSE;
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_clcsock_init() - read the callbacks of an unmodified TCP socket
 *
 * Called once, when the module starts, before the first clcsock is created.
 *
 * Return: 0 or -errno.
 */
int __init smc_clcsock_init(void)
{
	struct socket *sock;
	int rc;

	rc = smc_fault_rc(CLCSOCK_LEARN, -ENOBUFS,
			  sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &sock));
	if (rc)
		return rc;
	clcsock_save_callbacks(sock->sk, &clcsock_tcp_callbacks);
	sock_release(sock);
	return 0;
}
