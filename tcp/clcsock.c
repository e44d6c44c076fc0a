// SPDX-License-Identifier: GPL-2.0-only
/* The carrier: the in-kernel TCP socket under every SMC socket. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/base/fault.h>
#include <smc/tcp/clcsock.h>

#include <compat/tcp_ack.h>

static struct smc_carrier_callbacks clcsock_tcp_callbacks;

/* ---- callbacks --------------------------------------------------------------- */

/*
 * False: the hook is gone (or was never ours, on a child that copied it), or the
 * word belongs to somebody else by now: a psock marks it with a flag of its own.
 */
static bool clcsock_notify_owner(struct sock *sk)
{
	struct smc_carrier *c = NULL;
	uintptr_t data;

	read_lock_bh(&sk->sk_callback_lock);
	data = (uintptr_t)READ_ONCE(sk->sk_user_data);
	if ((data & ~SK_USER_DATA_PTRMASK) == SK_USER_DATA_NOCOPY)
		c = (struct smc_carrier *)(data & SK_USER_DATA_PTRMASK);
	if (c && c->events)
		c->events->changed(c->owner);
	read_unlock_bh(&sk->sk_callback_lock);
	return c;
}

/*
 * While hooked, the socket's own callbacks are left out: they would announce
 * handshake messages to sleepers of the application's wait queue.
 */
static void clcsock_state_change(struct sock *sk)
{
	if (!clcsock_notify_owner(sk))
		clcsock_tcp_callbacks.state_change(sk);
}

static void clcsock_data_ready(struct sock *sk)
{
	if (!clcsock_notify_owner(sk))
		clcsock_tcp_callbacks.data_ready(sk);
}

static void clcsock_write_space(struct sock *sk)
{
	if (!clcsock_notify_owner(sk))
		clcsock_tcp_callbacks.write_space(sk);
}

static void clcsock_error_report(struct sock *sk)
{
	if (!clcsock_notify_owner(sk))
		clcsock_tcp_callbacks.error_report(sk);
}

static void clcsock_save_callbacks(const struct sock *sk, struct smc_carrier_callbacks *cb)
{
	cb->state_change = sk->sk_state_change;
	cb->data_ready = sk->sk_data_ready;
	cb->write_space = sk->sk_write_space;
	cb->error_report = sk->sk_error_report;
}

/* Only what is still ours: kTLS and others stack their own on top. */
static void clcsock_restore_callbacks(struct sock *sk, const struct smc_carrier_callbacks *cb)
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

/* TCP tells of data only from SO_RCVLOWAT on, and a message of ours is short. */
static void clcsock_park_rcvlowat(struct smc_carrier *c)
{
	struct sock *sk = c->sock->sk;

	c->rcvlowat = READ_ONCE(sk->sk_rcvlowat);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
}

/**
 * smc_carrier_hook() - be told about changes of the carrier
 * @c: carrier
 * @events: upward table
 * @owner: for @events
 *
 * Process context. Changes that came before are not told: look once after.
 *
 * Return: false if somebody else (a BPF psock) owns the socket's sk_user_data.
 */
bool smc_carrier_hook(struct smc_carrier *c, const struct smc_carrier_events *events,
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
		/* a socket cloned from this one must not find us */
		__rcu_assign_sk_user_data_with_flags(sk, c, SK_USER_DATA_NOCOPY);
		clcsock_park_rcvlowat(c);
		c->hooked = true;
	}
	c->events = events;
	c->owner = owner;
out:
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	return ok;
}

/**
 * smc_carrier_unhook() - stop being told
 * @c: carrier, hooked or not
 *
 * Process context. After return no changed() runs and none will.
 */
void smc_carrier_unhook(struct smc_carrier *c)
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (c->hooked) {
		clcsock_restore_callbacks(sk, &c->saved);
		rcu_assign_sk_user_data(sk, NULL);
		WRITE_ONCE(sk->sk_rcvlowat, c->rcvlowat);
		c->hooked = false;
	}
	c->events = NULL;
	c->owner = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * smc_carrier_defaults() - callbacks of an untouched TCP socket
 *
 * Return: constant table.
 */
const struct smc_carrier_callbacks *smc_carrier_defaults(void)
{
	return &clcsock_tcp_callbacks;
}

/**
 * smc_carrier_set_rcvlowat() - SO_RCVLOWAT for the application's bytes
 * @c: carrier, hooked or not
 * @val: bytes
 *
 * While hooked it is only kept, until smc_carrier_unhook(). Process context.
 *
 * Return: what it became, or as setsockopt().
 */
int smc_carrier_set_rcvlowat(struct smc_carrier *c, int val)
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
 * smc_carrier_ack() - let whoever watches the TCP path see that the connection lives
 * @c: carrier
 *
 * A bare ACK, which the peer does not answer. Process context.
 */
void smc_carrier_ack(struct smc_carrier *c)
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	if (sk->sk_state == TCP_ESTABLISHED)
		smc_compat_tcp_ack(sk);
	release_sock(sk);
}

/* ---- creation and release ---------------------------------------------------- */

/* TCP's timers outlive close(): a socket made for the kernel must pin its namespace too. */
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
 * smc_carrier_create() - create a TCP socket in the caller's context
 * @c: carrier without a socket
 * @net: namespace
 * @family: AF_INET or AF_INET6
 * @kern: as given to our own create: cgroup, credentials and LSM as the caller's
 *
 * Return: 0 or the errno of socket(2).
 */
int smc_carrier_create(struct smc_carrier *c, struct net *net, int family, int kern)
{
	int rc;

	rc = smc_fault_rc(CARRIER, -ENOBUFS,
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
 * smc_carrier_create_child() - an unconnected shell for the listener's ops->accept()
 * @child: carrier without a socket
 * @listener: listening carrier
 *
 * Return: 0 or -ENOMEM.
 */
int smc_carrier_create_child(struct smc_carrier *child, const struct smc_carrier *listener)
{
	int rc;

	rc = smc_fault_rc(CARRIER_CHILD, -ENOMEM,
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
 * TCP charges whoever calls accept() for the child's memory; here that is a worker, which is in
 * no cgroup. So the listener's is charged: what the child has received already as well, by
 * raising all accounts and giving back the one that had it before. With bottom halves off it
 * counts beyond the limit, as TCP's does, and nobody is killed for it.
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
 * smc_carrier_accept() - take one child of a listening carrier
 * @c: listening carrier
 * @child: carrier without a socket
 *
 * Process context, does not block.
 *
 * Return: 0, -EAGAIN when there is none, or another errno.
 */
int smc_carrier_accept(struct smc_carrier *c, struct smc_carrier *child)
{
	struct sock *sk;
	int rc;

	rc = smc_fault_rc(CARRIER_ACCEPT, -ENOMEM,
			  kernel_accept(c->sock, &child->sock, O_NONBLOCK));
	if (rc) {
		child->sock = NULL;
		return rc;
	}
	/* a child copies what its parent had when the SYN came */
	sk = child->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	clcsock_restore_callbacks(sk, &clcsock_tcp_callbacks);
	write_unlock_bh(&sk->sk_callback_lock);
	clcsock_charge_child(sk, c->sock->sk);
	smc_option_accepted(&child->option, sk, &c->option);
	return 0;
}

/**
 * smc_carrier_release() - close the carrier
 * @c: carrier, with or without a socket
 * @reset: RST instead of FIN
 *
 * Process context, sleeps (SO_LINGER of the carrier). Nothing of the application is
 * referred to by the TCP socket afterwards, however long it lingers.
 */
void smc_carrier_release(struct smc_carrier *c, bool reset)
{
	struct socket *sock = c->sock;

	if (!sock)
		return;
	if (sock->sk) {
		smc_carrier_unhook(c);
		smc_carrier_unshare(c);
		smc_option_withdraw(&c->option, sock->sk);
		if (reset)
			sock_no_linger(sock->sk);
	}
	c->sock = NULL;
	sock_release(sock);
}

/**
 * smc_carrier_abort() - end the TCP connection as a reset would
 * @c: carrier
 * @err: positive errno that the socket reports, if it has not failed by itself
 *
 * Process context. What was received is dropped: it may be handshake messages.
 */
void smc_carrier_abort(struct smc_carrier *c, int err)
{
	char junk[256];

	if (smc_carrier_state(c) != TCP_CLOSE)
		tcp_abort(c->sock->sk, err);
	for (;;) {
		struct kvec vec = { .iov_base = junk, .iov_len = sizeof(junk) };
		struct msghdr msg = {};

		if (kernel_recvmsg(c->sock, &msg, &vec, 1, sizeof(junk), MSG_DONTWAIT) <= 0)
			break;
	}
	/* the read above may have taken the error */
	if (!READ_ONCE(c->sock->sk->sk_err))
		WRITE_ONCE(c->sock->sk->sk_err, err);
}

/* The peer's address, also when the connection has ended. */
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
 * smc_carrier_again() - a new TCP connection with the same peer, without the option
 * @c: carrier; nobody else uses it
 *
 * The one before ends with a reset; what it has received is gone. Options and a bound
 * address stay. Process context.
 *
 * Return: -EINPROGRESS, or another result of a connect() that does not wait.
 */
int smc_carrier_again(struct smc_carrier *c)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC }, to;
	struct socket *sock = c->sock;
	int len, rc;

	smc_carrier_withdraw_option(c);
	len = clcsock_peer_sockaddr(sock->sk, &to);
	rc = READ_ONCE(sock->ops)->connect(sock, (void *)&none, sizeof(struct sockaddr),
					   O_NONBLOCK);
	if (rc)
		return rc;
	return READ_ONCE(sock->ops)->connect(sock, (void *)&to, len, O_NONBLOCK);
}

/* ---- shared with the application's socket ------------------------------------ */

/**
 * smc_carrier_share() - let the carrier wake the application's sleepers
 * @c: carrier
 * @app: application's socket; outlives this until smc_carrier_unshare()
 *
 * Nobody may be asleep in the carrier. Process context.
 */
void smc_carrier_share(struct smc_carrier *c, struct socket *app)
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &app->wq);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	/* socket inodes are not hashed; tools find the process by this number */
	SOCK_INODE(c->sock)->i_ino = SOCK_INODE(app)->i_ino;
	if (app->file)
		smc_carrier_lend_file(c, app->file);
}

/**
 * smc_carrier_unshare() - give the carrier its own wait queue, and the file back
 * @c: carrier
 *
 * Nobody may be asleep in the carrier. Process context.
 */
void smc_carrier_unshare(struct smc_carrier *c)
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &c->sock->wq);
	/* SIGURG reads the file under this lock or the socket's */
	WRITE_ONCE(c->sock->file, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * smc_carrier_lend_file() - let TCP see the application's file
 * @c: carrier
 * @file: file of the application's socket, NULL = none yet
 *
 * No reference is taken: smc_carrier_unshare() comes before the file goes.
 */
void smc_carrier_lend_file(struct smc_carrier *c, struct file *file)
{
	if (READ_ONCE(c->sock->file) != file)
		WRITE_ONCE(c->sock->file, file);
}

/* ---- state ------------------------------------------------------------------- */

/**
 * smc_carrier_ipsec() - do IPsec policies cover what we send on the connection?
 * @c: carrier
 * @dst: its route
 *
 * What the RNIC sends passes by them (RFC 7609 section 5.5). One side's answer is enough for
 * both directions: the peer asks the same about what it sends.
 *
 * Return: true if so.
 */
bool smc_carrier_ipsec(const struct smc_carrier *c, const struct dst_entry *dst)
{
#ifdef CONFIG_XFRM
	const struct sock *sk = c->sock->sk;

	for (unsigned int dir = 0; dir < ARRAY_SIZE(sk->sk_policy); dir++)
		if (rcu_access_pointer(sk->sk_policy[dir]))
			return true;
#endif
	return dst_xfrm(dst);
}

/**
 * smc_carrier_peer_addr() - the address of the peer
 * @c: connecting or connected carrier
 * @peer: set to it, IPv4 as v4-mapped
 */
void smc_carrier_peer_addr(const struct smc_carrier *c, struct in6_addr *peer)
{
	const struct sock *sk = c->sock->sk;

	if (IS_ENABLED(CONFIG_IPV6) && sk->sk_family == AF_INET6)
		*peer = sk->sk_v6_daddr;
	else
		ipv6_addr_set_v4mapped(sk->sk_daddr, peer);
}

/**
 * smc_carrier_readable() - would a read return something now?
 * @c: carrier
 *
 * Return: true for queued bytes, FIN or an error.
 */
bool smc_carrier_readable(const struct smc_carrier *c)
{
	const struct sock *sk = c->sock->sk;

	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
	       !skb_queue_empty_lockless(&sk->sk_receive_queue) ||
	       inet_sk_state_load(sk) == TCP_CLOSE;
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_carrier_learn() - remember what an untouched TCP socket's callbacks are
 *
 * Before the first carrier.
 *
 * Return: 0 or -errno.
 */
int __init smc_carrier_learn(void)
{
	struct socket *sock;
	int rc;

	rc = smc_fault_rc(CARRIER_LEARN, -ENOBUFS,
			  sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &sock));
	if (rc)
		return rc;
	clcsock_save_callbacks(sock->sk, &clcsock_tcp_callbacks);
	sock_release(sock);
	return 0;
}
