// SPDX-License-Identifier: GPL-2.0-only
/*
 * The socket family AF_SMC: create, connect, release, and the dispatch of each call by mode. This
 * page describes the objects of the whole module.
 *
 * Objects
 *
 *   Socket (struct smc_sock, socket/): the application's socket. Its mode is UNDECIDED before
 *   connect(), during the handshake and while it listens, then TCP or SMC. TCP is left by close()
 *   only, SMC also by connect(AF_UNSPEC). Calls go to socket/fallback.c in TCP mode, to
 *   socket/stream.c, sendmsg.c and recvmsg.c in SMC mode, to socket/accept.c on a listener. With
 *   net.smc.upgrade_bytes the mode may be DEFERRED instead: TCP that may change over to RDMA in
 *   mid-stream (socket/deferred.c, upgrade.c).
 *
 *   clcsock (struct smc_clcsock, tcp/): the in-kernel TCP socket that each SMC socket owns. The
 *   handshake sends CLC messages over it. In TCP mode it transports the stream. In SMC mode it
 *   stays open without data; its reset aborts the connection (RFC 7609 4.8.2).
 *
 *   Handshake (struct smc_hs, handshake/): the CLC exchange of one socket, in one work item. The
 *   result is a connection, plain TCP, or an error.
 *
 *   Connection (struct smc_conn, conn/): one byte stream with its send ring, RMBE, cursors and
 *   close state. It has no struct sock and reports to its socket through smc_conn_events.
 *
 *   Link (struct smc_link, lgr/link.c): one RC queue pair to one RNIC of the peer.
 *
 *   Link group (struct smc_lgr, lgr/): the links to one peer, the regions that hold RMBs and send
 *   rings, the peer's RMBs, and up to 255 connections. llc/ adds, tests and deletes its links.
 *
 * Queues
 *
 *   A listener has the children in their handshake ("pending") and those that wait for accept()
 *   ("ready"). Each layer with work of its own has an unbound work queue: smc_accept takes
 *   children from listening clcsocks, smc_hs runs handshakes, smc_stream handles clcsock errors
 *   and corked data, smc_conn releases connections, smc_core frees groups. LLC exchanges, the
 *   removal of links and the end of a group may wait for the peer, so they run on a queue of the
 *   group. Completions arrive in softirq and go up through const tables of callbacks: queue pair,
 *   link, link group, connection, socket. Such an upcall is a hint: the socket reads the
 *   connection's state again (smc_stream_sync()).
 *
 * Locks, from the outside in (all of them: Documentation/locking.rst)
 *
 *   socket lock; socket lock of the clcsock; sk_callback_lock of the clcsock; mutexes of group
 *   registry, link group, region pool and queue pair; bucket lock of the socket table; conn->lock;
 *   qp->sq_lock. smc_sock.state_lock and smc_listener.lock are leaves. The end of a handshake, the
 *   accept work and upcalls never take the socket lock, so its holder may cancel them and wait.
 *   No lock is held while waiting for the peer.
 *
 * References (all of them: Documentation/lifetimes.rst)
 *
 *   The file, the accept queue, a handshake while SMC_SF_HS is set, and each upcall in progress
 *   hold the socket. The socket owns its clcsock and holds one reference on its connection. The
 *   connection holds its link and its link group. The last sock_put() may come in softirq:
 *   everything that sleeps happens at release.
 *
 * Documentation/decisions/0001-falling-back.md describes the modes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/socket.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/handshake/autosmc.h>
#include <smc/proto/clc_msg.h>
#include <smc/socket/af_smc.h>
#include "socket/accept.h"
#include "socket/cmsg.h"
#include "socket/deferred.h"
#include "socket/fallback.h"
#include "socket/sockopt.h"
#include "socket/stream.h"

/* Bring the clcsock back to TCP_CLOSE and discard its error. Socket lock held. */
static void sock_disconnect_clcsock(struct smc_sock *smc)
{
	sock_owned_by_me(smc_sock_sk(smc));
	WRITE_ONCE(smc->disconnects, smc->disconnects + 1);
	smc_clcsock_disconnect(&smc->clcsock, O_NONBLOCK);
	sock_error(smc->clcsock.sock->sk);
}

/*
 * SMC cannot honour an option: an idle socket, or later connections of a listener, become TCP, and
 * so does a deferred socket whose two ends have not agreed. Return -EAGAIN if its peer has not
 * decided, and the caller does not @wait.
 */
static int sock_exclude_smc(struct smc_sock *smc, bool wait)
{
	struct sock *sk = smc_sock_sk(smc);

	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED &&
	    smc_deferred_exclude(smc, wait) == -EAGAIN)
		return -EAGAIN;
	lock_sock(sk);
	if (smc->listener)
		smc_accept_exclude_smc(smc);
	else if (smc_sock_is_idle(smc))
		smc_fallback_start(smc, SMC_CLC_DECL_SOCKOPT, 0, true);
	release_sock(sk);
	return 0;
}

/*
 * Update the clcsock at the start of a call: the application's file, and on kernels before 6.7 the
 * SOL_SOCKET options. SMC mode needs neither; release() updates the options once more.
 *
 * Return: 0, or -ENOMEM if the clcsock cannot have the socket's filter. connect() and listen()
 * fail then, other calls ignore it and the next call tries again.
 */
static int sock_enter_call(struct smc_sock *smc, struct socket *sock)
{
	enum smc_mode mode = smc_sock_mode(smc);

	if (mode == SMC_MODE_SMC)
		return 0;
	smc_clcsock_set_file(&smc->clcsock, sock->file);
	/* the peer of a deferred socket does not delay calls: the next one tries again */
	if (mode != SMC_MODE_TCP && smc_sockopt_has_excluded_smc(smc))
		sock_exclude_smc(smc, false);
	return smc_sockopt_push(smc);
}

/* ---- connect ----------------------------------------------------------------- */

/* Result of sock_connect_begin(); no errno. */
#define CONNECT_AS_TCP	1

/*
 * smc_hs.done of a client. Work context. Must not take the socket lock: sock_connect_cancel() waits
 * for this function under it. The mode changes before SMC_SF_HS is cleared, so that
 * smc_sock_is_idle() is never true in between.
 */
static void sock_connect_done(struct smc_hs *hs, const struct smc_hs_result *res)
{
	struct smc_sock *smc = hs->owner;
	struct sock *sk = smc_sock_sk(smc);

	switch (res->outcome) {
	case SMC_HS_SMC:
		smc_deferred_learn(smc);
		smc_stream_start(smc, res->conn);
		break;
	case SMC_HS_TCP:
		smc_fallback_start(smc, res->own_reason, res->peer_reason, false);
		smc_sock_set_state(smc, TCP_ESTABLISHED, 0, 0);
		break;
	case SMC_HS_FAIL:
		smc_clcsock_unhook(&smc->clcsock);
		smc_clcsock_abort(&smc->clcsock, res->err);
		smc_fallback_pull_error(smc);
		smc_sock_set_state(smc, TCP_CLOSE, SHUTDOWN_MASK, 0);
		break;
	}
	smc_hs_release_clcsock(hs);
	/* pairs with smc_sock_is_idle() */
	clear_bit_unlock(SMC_SF_HS, &smc->flags);
	/* a sleeper enters the wait queue, then tests the bit */
	smp_mb__after_atomic();
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	/* the reference of the handshake */
	sock_put(sk);
}

/* smc_hs.due of a client: wake the caller of connect(), who runs the rest of the handshake. */
static void sock_connect_due(struct smc_hs *hs)
{
	struct smc_sock *smc = hs->owner;
	struct sock *sk = smc_sock_sk(smc);

	sk->sk_state_change(sk);
}

/* Start the client handshake; the clcsock's connect() has begun. @attended: the caller waits. */
static void sock_connect_start(struct smc_sock *smc, bool attended)
{
	struct smc_hs *hs = &smc->hs;

	sock_owned_by_me(smc_sock_sk(smc));
	hs->clcsock = &smc->clcsock;
	hs->net = sock_net(smc_sock_sk(smc));
	hs->done = sock_connect_done;
	hs->due = sock_connect_due;
	hs->owner = smc;
	hs->memcg = smc_sock_memcg(smc_sock_sk(smc));
	smc_hs_set_nodename(hs);
	smc_sock_get_ring_sizes(smc, &hs->sndbuf, &hs->rcvbuf);
	hs->link_policy = READ_ONCE(smc->link_policy);
	hs->balance = READ_ONCE(smc->balance);
	smc_hs_client_setup(hs);
	if (attended)
		smc_hs_attend(hs);
	sock_hold(smc_sock_sk(smc));
	smc_sock_set_state(smc, TCP_SYN_SENT, 0, 0);
	set_bit(SMC_SF_HS, &smc->flags);
	smc_hs_start(hs);
}

/* End a running handshake, as TCP ends SYN_SENT. Sleeps. */
static void sock_connect_cancel(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);

	sock_owned_by_me(sk);
	if (!smc_sock_is_connecting(smc))
		return;
	smc_hs_cancel_sync(&smc->hs);
	if (test_and_clear_bit(SMC_SF_HS, &smc->flags)) {
		/* the handshake work never ran, so done() will not */
		smc_clcsock_abort(&smc->clcsock, ECONNRESET);
		smc_fallback_pull_error(smc);
		smc_sock_set_state(smc, TCP_CLOSE, SHUTDOWN_MASK, 0);
		sock_put(sk);
	}
}

/* Read an address of connect(), IPv4 as v4-mapped; zero if it is not valid. Return the port. */
static u16 sock_connect_read_addr(const void *addr, int len, struct in6_addr *peer)
{
	const struct sockaddr_in6 *sin6 = addr;
	const struct sockaddr_in *sin = addr;

	*peer = (struct in6_addr){};
	if (len >= (int)sizeof(*sin) && sin->sin_family == AF_INET) {
		/* INADDR_ANY: TCP connects to a local address */
		if (sin->sin_addr.s_addr)
			ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, peer);
		return ntohs(sin->sin_port);
	}
	if (len >= SIN6_LEN_RFC2133 && sin6->sin6_family == AF_INET6) {
		*peer = sin6->sin6_addr;
		return ntohs(sin6->sin6_port);
	}
	return 0;
}

/* Return the reason why an option or a rule excludes SMC for a client with this path, or 0. */
static u32 sock_connect_refused(struct smc_sock *smc, const struct smc_rules_path *path)
{
	struct net *net = sock_net(smc_sock_sk(smc));

	if (test_bit(SMC_SF_TCP_ONLY, &smc->flags))
		return SMC_CLC_DECL_SOCKOPT;
	return smc_rules_check_deny(net, path, false) ? SMC_CLC_DECL_RULE : 0;
}

/* Return the reason why a client that could begin a rendezvous uses TCP, or 0. */
static u32 sock_connect_declined(struct smc_sock *smc, const struct smc_rules_path *path)
{
	struct net *net = sock_net(smc_sock_sk(smc));
	u32 reason = smc_hs_check_allowed(net, &path->remote.addr, path->remote.port);

	if (reason)
		return reason;
	/* the last one: it may make the caller AUTOSMC's probe */
	return smc_autosmc_wants_tcp(net, &smc->autosmc, path, false, sk_uid(smc_sock_sk(smc))) ?
	       SMC_CLC_DECL_SHORT : 0;
}

/*
 * Begin connect() from SS_UNCONNECTED. @waits: the caller goes on with sock_connect_wait(). Return
 * -EINPROGRESS: a handshake has begun; or an error; or, without a connect() of the clcsock:
 * SMC_DEFERRED_OVER: the connection begins as TCP, or CONNECT_AS_TCP: it is TCP.
 */
static int sock_connect_begin(struct smc_sock *smc, void *addr, int len, bool waits)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_rules_path path;
	u32 force_tcp;
	int rc;

	sock_owned_by_me(sk);
	if (!smc_sock_is_idle(smc) || (inet_sk_state_load(sk) != TCP_CLOSE))
		return -EISCONN;
	if (READ_ONCE(sk->sk_shutdown))
		smc_sock_set_state(smc, TCP_CLOSE, 0, 0);
	/* an earlier connect() may have failed as AUTOSMC's probe */
	smc->autosmc = (struct smc_autosmc_conn){};
	smc_rules_path(smc->clcsock.sock->sk, &path);
	/* the clcsock's connect() checks that the address is valid */
	path.remote.port = sock_connect_read_addr(addr, len, &path.remote.addr);
	force_tcp = sock_connect_refused(smc, &path);
	if (!force_tcp && smc_deferred_suits(smc, &path.remote.addr, path.remote.port) &&
	    !smc_deferred_start(smc))
		return SMC_DEFERRED_OVER;
	/* not before: it may make the caller AUTOSMC's probe, and a deferred one tries nothing */
	if (!force_tcp)
		force_tcp = sock_connect_declined(smc, &path);
	if (force_tcp) {
		smc_fallback_start_client(smc, force_tcp);
		return CONNECT_AS_TCP;
	}
	smc_clcsock_offer_option(&smc->clcsock);
	rc = smc_fallback_connect(smc, addr, len, O_NONBLOCK);
	if (rc && rc != -EINPROGRESS)
		return rc;
	sock_connect_start(smc, waits);
	return -EINPROGRESS;
}

/* True while the handshake runs, and no other thread has disconnected the socket since. */
static bool sock_connect_is_pending(const struct smc_sock *smc, unsigned int disconnects)
{
	return smc_sock_is_connecting(smc) && READ_ONCE(smc->disconnects) == disconnects;
}

/*
 * Wait for the handshake. Drops the socket lock while asleep. @busy: result if @timeo is 0. Returns
 * -EPIPE, as TCP, if another thread has disconnected the socket meanwhile: the socket may listen or
 * connect again, and the caller leaves it alone.
 */
static int sock_connect_wait(struct smc_sock *smc, long timeo, int busy)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	unsigned int disconnects = smc->disconnects;
	struct sock *sk = smc_sock_sk(smc);
	int rc = 0;

	sock_owned_by_me(sk);
	if (!smc_sock_is_connecting(smc))
		return 0;
	add_wait_queue(sk_sleep(sk), &wait);
	while (sock_connect_is_pending(smc, disconnects)) {
		if (smc_hs_run_due(&smc->hs))
			continue;
		rc = busy;
		if (!timeo)
			break;
		rc = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		rc = 0;
		sk_wait_event(sk, &timeo, !sock_connect_is_pending(smc, disconnects) ||
			      smc_hs_is_due(&smc->hs), &wait);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	smc_hs_leave(&smc->hs);
	return smc->disconnects == disconnects ? rc : -EPIPE;
}

/* Return the result of connect() after the handshake. */
static int sock_connect_end(struct socket *sock, void *addr, int len)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	int rc;

	sock_owned_by_me(sk);
	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		/* brings the clcsock's own state to SS_CONNECTED */
		rc = smc_fallback_connect(smc, addr, len, O_NONBLOCK);
		sock->state = smc->clcsock.sock->state;
		return rc;
	case SMC_MODE_SMC:
		smc_stream_sync(smc);
		if (inet_sk_state_load(sk) != TCP_CLOSE) {
			sock->state = SS_CONNECTED;
			return 0;
		}
		rc = sock_error(sk) ?: -ECONNABORTED;
		smc_stream_disconnect(smc);
		break;
	case SMC_MODE_DEFERRED:	/* without a handshake */
	case SMC_MODE_UNDECIDED:
	default:
		rc = sock_error(sk) ?: -ECONNABORTED;
		break;
	}
	sock_disconnect_clcsock(smc);
	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(sk->sk_err, 0);
	WRITE_ONCE(sk->sk_shutdown, 0);
	spin_unlock_bh(&smc->state_lock);
	sock->state = SS_UNCONNECTED;
	return rc;
}

/*
 * Make known that a client is TCP without a handshake, once: after the first connect() that TCP has
 * not refused at once, which is no fallback after a handshake, either.
 */
static void sock_connect_note(struct smc_sock *smc, int rc)
{
	u32 reason = smc->own_reason;
	struct smc_rules_path path;

	if ((rc && smc_clcsock_state(&smc->clcsock) == TCP_CLOSE) ||
	    !test_and_clear_bit(SMC_SF_NOTE_DUE, &smc->flags))
		return;
	/* both ends are known only now */
	smc_rules_path(smc->clcsock.sock->sk, &path);
	if (smc_rules_check_deny(sock_net(smc_sock_sk(smc)), &path, true))
		reason = SMC_CLC_DECL_RULE;
	smc_fallback_note(smc, reason, 0, true);
	/* the time that a blocking call has waited for TCP is no life of the connection */
	if (!rc)
		smc->began_at = jiffies;
}

static int sock_connect_as_tcp(struct socket *sock, void *addr, int len, int flags)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	int rc = smc_fallback_connect(smc, addr, len, flags);

	sock->state = smc->clcsock.sock->state;
	sock_connect_note(smc, rc);
	return rc;
}

static int sock_connect_tcp(struct socket *sock, void *addr, int len, int flags)
{
	struct smc_sock *smc = smc_sk(sock->sk);

	/* listen() and shutdown() have removed our callbacks */
	if (smc->clcsock.sock->state == SS_UNCONNECTED) {
		smc_fallback_attach(smc, sock);
		/* it is TCP because of an earlier one, and says nothing about AUTOSMC */
		smc->autosmc = (struct smc_autosmc_conn){};
	}
	return sock_connect_as_tcp(sock, addr, len, flags);
}

/* connect(AF_UNSPEC) */
static int sock_disconnect(struct socket *sock, void *addr, int len, int flags)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	bool listened;
	int rc;

	/* in SMC mode too: options that were set meanwhile are for the next connection */
	smc_sockopt_push(smc);
	lock_sock(sk);
	listened = smc->listener;
	WRITE_ONCE(smc->disconnects, smc->disconnects + 1);
	smc_accept_stop(smc);
	sock_connect_cancel(smc);
	if (smc_sock_mode(smc) == SMC_MODE_SMC)
		smc_stream_disconnect(smc);
	else if (smc_sock_mode(smc) == SMC_MODE_DEFERRED)
		smc_deferred_disconnect(smc);
	if (listened)
		smc_fallback_attach(smc, sock);
	rc = smc_fallback_connect(smc, addr, len, flags);
	sock->state = smc->clcsock.sock->state;
	if (smc_sock_mode(smc) == SMC_MODE_UNDECIDED)
		smc_sock_set_state(smc, TCP_CLOSE, 0, 0);
	sk->sk_state_change(sk);
	release_sock(sk);
	return rc;
}

static int smc_sock_connect(struct socket *sock, struct sockaddr_unsized *addr, int len, int flags)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	long timeo;
	int rc;

	if (len < (int)sizeof(addr->sa_family))
		return -EINVAL;
	rc = sock_enter_call(smc, sock);
	if (addr->sa_family == AF_UNSPEC)
		return sock_disconnect(sock, addr, len, flags);
	if (rc)
		return rc;
	/* the connection of a deferred socket has failed: the next one is TCP */
	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED &&
	    smc->clcsock.sock->state == SS_UNCONNECTED)
		smc_deferred_give_up(smc);
	if (smc_sock_begins_as_tcp(smc))
		return sock_connect_tcp(sock, addr, len, flags);

	lock_sock(sk);
	/* a connect() of another thread may have begun as TCP meanwhile: TCP answers this one */
	if (smc_sock_begins_as_tcp(smc)) {
		release_sock(sk);
		return sock_connect_tcp(sock, addr, len, flags);
	}
	timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	rc = -EALREADY;
	switch (sock->state) {
	case SS_CONNECTED:
		rc = -EISCONN;
		goto out;
	case SS_CONNECTING:
		break;
	case SS_UNCONNECTED:
		rc = sock_connect_begin(smc, addr, len, timeo);
		if (rc == SMC_DEFERRED_OVER) {
			release_sock(sk);
			return sock_connect_tcp(sock, addr, len, flags);
		}
		if (rc == CONNECT_AS_TCP) {
			release_sock(sk);
			return sock_connect_as_tcp(sock, addr, len, flags);
		}
		if (rc != -EINPROGRESS)
			goto out;
		sock->state = SS_CONNECTING;
		/* as on TCP, the first non-blocking call always returns EINPROGRESS */
		if (!timeo)
			goto out;
		break;
	default:
		rc = -EINVAL;
		goto out;
	}
	rc = sock_connect_wait(smc, timeo, rc);
	if (!rc)
		rc = sock_connect_end(sock, addr, len);
out:
	release_sock(sk);
	return rc;
}

/* ---- bind, listen, accept, names --------------------------------------------- */

static int smc_sock_bind(struct socket *sock, struct sockaddr_unsized *addr, int len)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	int rc;

	sock_enter_call(smc, sock);
	lock_sock(sock->sk);
	rc = smc_sock_clcsock_ops(smc)->bind(smc->clcsock.sock, addr, len);
	release_sock(sock->sk);
	return rc;
}

static int smc_sock_listen(struct socket *sock, int backlog)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	int rc;

	rc = sock_enter_call(smc, sock);
	if (rc)
		return rc;
	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED && sock->state == SS_UNCONNECTED)
		smc_deferred_give_up(smc);
	lock_sock(sk);
	rc = -EINVAL;
	if (sock->state != SS_UNCONNECTED)
		goto out;
	if (smc_sock_mode(smc) == SMC_MODE_TCP) {
		smc_fallback_detach(smc);
		rc = smc_sock_clcsock_ops(smc)->listen(smc->clcsock.sock, backlog);
		if (!rc)
			smc_sock_set_state(smc, TCP_LISTEN, 0, 0);
	} else if (smc_sock_is_idle(smc) || smc->listener) {
		rc = smc_accept_start(smc, backlog);
	}
out:
	release_sock(sk);
	return rc;
}

static int sock_accept_child(struct socket *sock, struct socket *newsock, int flags, bool kern)
{
	struct smc_sock *smc = smc_sk(sock->sk);

	sock_enter_call(smc, sock);
	if (smc_sock_mode(smc) == SMC_MODE_TCP)
		return smc_accept_tcp(smc, newsock, flags, kern);
	return smc_accept_dequeue(smc, newsock, flags);
}

#ifdef SMC_HAVE_PROTO_ACCEPT_ARG
static int smc_sock_accept(struct socket *sock, struct socket *newsock,
			   struct proto_accept_arg *arg)
{
	return sock_accept_child(sock, newsock, arg->flags, arg->kern);
}
#else
static int smc_sock_accept(struct socket *sock, struct socket *newsock, int flags, bool kern)
{
	return sock_accept_child(sock, newsock, flags, kern);
}
#endif

static int smc_sock_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct smc_sock *smc = smc_sk(sock->sk);

	if (peer && (smc_sock_is_connecting(smc) ||
		     (smc_sock_is_smc(smc) && inet_sk_state_load(sock->sk) == TCP_CLOSE)))
		return -ENOTCONN;
	/* 2 returns the address even if the clcsock timed out: the connection outlives that */
	if (peer && smc_sock_is_smc(smc))
		peer = 2;
	return smc_sock_clcsock_ops(smc)->getname(smc->clcsock.sock, addr, peer);
}

/* ---- data -------------------------------------------------------------------- */

static int smc_sock_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	unsigned int flags = msg->msg_flags;
	int rc;

	sock_enter_call(smc, sock);
again:
	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		rc = smc_fallback_sendmsg(smc, msg, len);
		sock->state = smc->clcsock.sock->state;
		return rc;
	case SMC_MODE_SMC:
		return flags & MSG_FASTOPEN ? -EISCONN : smc_stream_sendmsg(smc, msg, len);
	case SMC_MODE_DEFERRED:
		/* its connect() has failed: this is one of TCP, as on an idle socket */
		if (flags & MSG_FASTOPEN && smc->clcsock.sock->state == SS_UNCONNECTED &&
		    !smc_deferred_exclude(smc, true))
			goto again;
		rc = smc_deferred_sendmsg(smc, msg, len);
		if (rc == SMC_DEFERRED_OVER)
			goto again;
		sock->state = smc->clcsock.sock->state;
		return rc;
	case SMC_MODE_UNDECIDED:
		break;
	}
	lock_sock(sk);
	if (smc_sock_is_connecting(smc)) {
		rc = sock_connect_wait(smc, sock_sndtimeo(sk, flags & MSG_DONTWAIT), -EAGAIN);
		if (rc == -EPIPE)
			rc = sk_stream_error(sk, flags, rc);
		release_sock(sk);
		if (rc)
			return rc;
		goto again;
	}
	if (smc_sock_is_idle(smc) && flags & MSG_FASTOPEN)
		smc_fallback_start(smc, SMC_CLC_DECL_SOCKOPT, 0, true);
	if (smc_sock_mode(smc) != SMC_MODE_UNDECIDED) {
		release_sock(sk);
		goto again;
	}
	/* not connected, or listening: TCP returns the error */
	msg->msg_flags |= MSG_DONTWAIT;
	rc = smc_fallback_sendmsg(smc, msg, len);
	msg->msg_flags = flags;
	release_sock(sk);
	return rc;
}

static int smc_sock_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	int rc;

	sock_enter_call(smc, sock);
again:
	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		return smc_fallback_recvmsg(smc, msg, len, flags);
	case SMC_MODE_SMC:
		if (!(flags & MSG_ERRQUEUE))
			return smc_stream_recvmsg(smc, msg, len, flags);
		break;
	case SMC_MODE_DEFERRED:
		rc = smc_deferred_recvmsg(smc, msg, len, flags);
		if (rc == SMC_DEFERRED_OVER)
			goto again;
		return rc;
	case SMC_MODE_UNDECIDED:
		break;
	}
	/* completions of MSG_ZEROCOPY first, then ICMP errors and time stamps of the clcsock */
	if (flags & MSG_ERRQUEUE && !skb_queue_empty_lockless(&sk->sk_error_queue))
		return smc_cmsg_recv_errqueue(smc, msg, len);
	if (flags & MSG_ERRQUEUE)
		return smc_sock_clcsock_ops(smc)->recvmsg(smc->clcsock.sock, msg, len, flags);
	lock_sock(sk);
	if (smc_sock_is_connecting(smc)) {
		rc = sock_connect_wait(smc, sock_rcvtimeo(sk, flags & MSG_DONTWAIT), -EAGAIN);
		release_sock(sk);
		if (rc)
			return rc;
		goto again;
	}
	if (smc_sock_mode(smc) != SMC_MODE_UNDECIDED) {
		release_sock(sk);
		goto again;
	}
	rc = smc_fallback_recvmsg(smc, msg, len, flags | MSG_DONTWAIT);
	release_sock(sk);
	return rc;
}

static ssize_t smc_sock_splice_read(struct socket *sock, loff_t *pos,
				    struct pipe_inode_info *pipe, size_t len, unsigned int flags)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	bool nonblock = sock->file->f_flags & O_NONBLOCK;
	ssize_t rc;

	sock_enter_call(smc, sock);
again:
	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		return smc_fallback_splice_read(smc, pos, pipe, len, flags);
	case SMC_MODE_SMC:
		return smc_stream_splice_read(smc, pipe, len, nonblock);
	case SMC_MODE_DEFERRED:
		rc = smc_deferred_splice_read(smc, pos, pipe, len, flags);
		if (rc == SMC_DEFERRED_OVER)
			goto again;
		return rc;
	case SMC_MODE_UNDECIDED:
		break;
	}
	lock_sock(sk);
	if (smc_sock_is_connecting(smc)) {
		rc = sock_connect_wait(smc, sock_rcvtimeo(sk, nonblock), -EAGAIN);
		release_sock(sk);
		if (rc)
			return rc;
		goto again;
	}
	if (smc_sock_mode(smc) != SMC_MODE_UNDECIDED) {
		release_sock(sk);
		goto again;
	}
	/* in TCP_CLOSE and TCP_LISTEN TCP does not wait */
	rc = smc_fallback_splice_read(smc, pos, pipe, len, flags);
	release_sock(sk);
	return rc;
}

#ifdef SMC_HAVE_SENDPAGE
/* In SMC mode: a send with MSG_SPLICE_PAGES, as newer kernels do it. */
static ssize_t smc_sock_sendpage(struct socket *sock, struct page *page, int offset, size_t size,
				 int flags)
{
	struct bio_vec vec = { .bv_page = page, .bv_offset = offset, .bv_len = size };
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };
	struct smc_sock *smc = smc_sk(sock->sk);
	ssize_t rc;

	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		sock_enter_call(smc, sock);
		rc = smc_fallback_sendpage(smc, page, offset, size, flags);
		sock->state = smc->clcsock.sock->state;
		return rc;
	case SMC_MODE_UNDECIDED:
		return sock_no_sendpage(sock, page, offset, size, flags);
	case SMC_MODE_DEFERRED:
		sock_enter_call(smc, sock);
		rc = smc_deferred_sendpage(smc, page, offset, size, flags);
		if (rc != SMC_DEFERRED_OVER)
			return rc;
		break;
	case SMC_MODE_SMC:
		break;
	}
	if (flags & MSG_SENDPAGE_NOTLAST)
		msg.msg_flags |= MSG_MORE;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, size);
	return smc_sock_sendmsg(sock, &msg, size);
}
#endif

#ifdef SMC_HAVE_SPLICE_EOF
static void smc_sock_splice_eof(struct socket *sock)
{
	struct smc_sock *smc = smc_sk(sock->sk);

	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		if (smc_sock_clcsock_ops(smc)->splice_eof)
			smc_sock_clcsock_ops(smc)->splice_eof(smc->clcsock.sock);
		break;
	case SMC_MODE_SMC:
		smc_stream_flush(smc);
		break;
	case SMC_MODE_DEFERRED:
		smc_deferred_splice_eof(smc);
		break;
	case SMC_MODE_UNDECIDED:
		break;
	}
}
#endif

static __poll_t smc_sock_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	__poll_t mask;

	sock_poll_wait(file, sock, wait);
	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		return smc_fallback_poll(smc, file);
	case SMC_MODE_SMC:
		return smc_stream_poll(smc);
	case SMC_MODE_DEFERRED:
		return smc_deferred_poll(smc, file);
	case SMC_MODE_UNDECIDED:
		break;
	}
	if (test_bit(SMC_SF_LISTEN, &smc->flags))
		return smc_accept_poll(smc);
	if (smc_sock_is_connecting(smc))
		return 0;
	mask = smc_fallback_poll(smc, file);
	/* connect() began meanwhile: the clcsock has handshake messages, no data */
	return smc_sock_is_idle(smc) ? mask : 0;
}

static int smc_sock_shutdown(struct socket *sock, int how)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	struct sock *sk = sock->sk;
	int rc;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	sock_enter_call(smc, sock);
	switch (smc_sock_mode(smc)) {
	case SMC_MODE_TCP:
		rc = smc_fallback_shutdown(smc, how);
		sock->state = smc->clcsock.sock->state;
		return rc;
	case SMC_MODE_SMC:
		return smc_stream_shutdown(smc, how);
	case SMC_MODE_DEFERRED:
		rc = smc_deferred_shutdown(smc, how);
		if (rc == SMC_DEFERRED_OVER)
			return smc_sock_shutdown(sock, how);
		sock->state = smc->clcsock.sock->state;
		return rc;
	case SMC_MODE_UNDECIDED:
		break;
	}
	lock_sock(sk);
	rc = 0;
	if (smc->listener) {
		if (how == SHUT_WR)
			goto out;
		/* another party has closed the clcsock: ENOTCONN; else smc_accept_stop() does */
		if (smc_clcsock_state(&smc->clcsock) != TCP_LISTEN)
			rc = smc_fallback_shutdown(smc, how);
		smc_accept_stop(smc);
		smc_accept_make_idle(smc);
	} else if (smc_sock_is_connecting(smc)) {
		sock_connect_cancel(smc);
		if (smc_sock_mode(smc) == SMC_MODE_UNDECIDED) {
			sock_disconnect_clcsock(smc);
			smc_sock_set_state(smc, TCP_CLOSE, 0, ECONNRESET);
			sock->state = SS_UNCONNECTED;
		}
	} else if (smc_sock_mode(smc) == SMC_MODE_UNDECIDED) {
		rc = smc_fallback_shutdown(smc, how);
		/* TCP keeps the shutdown for the next connection: no handshake is possible */
		set_bit(SMC_SF_TCP_ONLY, &smc->flags);
	}
	sk->sk_state_change(sk);
out:
	release_sock(sk);
	/* the handshake succeeded before it was cancelled */
	if (smc_sock_mode(smc) != SMC_MODE_UNDECIDED)
		return smc_sock_shutdown(sock, how);
	return rc;
}

/* ---- options, ioctl, others -------------------------------------------------- */

static int smc_sock_setsockopt(struct socket *sock, int level, int name, sockptr_t val,
			       unsigned int len)
{
	bool nonblock = sock->file && sock->file->f_flags & O_NONBLOCK;
	struct smc_sock *smc = smc_sk(sock->sk);
	u8 copy[SMC_SOCKOPT_COPY] = {};
	bool copied;
	int rc;

	copied = smc_sockopt_copy(level, name, copy, &val, len);
	if (smc_sockopt_excludes_smc(level, name, val, len) && sock_exclude_smc(smc, !nonblock))
		return -EAGAIN;
	rc = smc_sockopt_set(smc, sock, level, name, val, len, copied);
	if (!rc && level == SOL_SMC)
		smc_accept_sync_flags(smc);
	return rc;
}

static int smc_sock_getsockopt(struct socket *sock, int level, int name, char __user *val,
			       int __user *len)
{
	return smc_sockopt_get(smc_sk(sock->sk), level, name, val, len);
}

static int smc_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return smc_sockopt_ioctl(smc_sk(sock->sk), cmd, arg);
}

#ifdef CONFIG_COMPAT
static int smc_sock_compat_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct smc_sock *smc = smc_sk(sock->sk);

	if (!smc_sock_clcsock_ops(smc)->compat_ioctl)
		return -ENOIOCTLCMD;
	return smc_sock_clcsock_ops(smc)->compat_ioctl(smc->clcsock.sock, cmd, arg);
}
#endif

/* Packets exist on the clcsock only. */
static int smc_sock_gettstamp(struct socket *sock, void __user *stamp, bool timeval, bool time32)
{
	return sock_gettstamp(smc_sk(sock->sk)->clcsock.sock, stamp, timeval, time32);
}

static int smc_sock_mmap(struct file *file, struct socket *sock, struct vm_area_struct *vma)
{
	struct smc_sock *smc = smc_sk(sock->sk);
	enum smc_mode mode = smc_sock_mode(smc);

	/*
	 * For TCP_ZEROCOPY_RECEIVE. The caller holds mmap_lock, and a page fault of recv() waits
	 * for that with both sockets locked: neither this nor TCP's mmap() takes a socket lock.
	 */
	if (mode != SMC_MODE_TCP &&
	    (mode != SMC_MODE_DEFERRED || !smc_deferred_stop_asking(smc)))
		return sock_no_mmap(file, sock, vma);
	return smc_sock_clcsock_ops(smc)->mmap(file, smc->clcsock.sock, vma);
}

/* ---- create, release --------------------------------------------------------- */

static int smc_sock_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc;

	if (!sk)
		return 0;
	smc = smc_sk(sk);
	/* SO_LINGER and others, on kernels that set options without calling the family */
	smc_sockopt_push(smc);
	/* TCP mode is final: there is no listener then, nor a handshake that could be cancelled */
	if (smc_sock_mode(smc) != SMC_MODE_TCP || smc_sock_is_connecting(smc)) {
		lock_sock(sk);
		smc_accept_stop(smc);
		sock_connect_cancel(smc);
		release_sock(sk);
	}
	smc_accept_release_transport(smc, false);
	smc_sock_store_state(sk, TCP_CLOSE);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

/* The operations do not check the family of their socket: IPPROTO_SMC uses them too. */
const struct proto_ops smc_sock_ops = {
	.family		= PF_SMC,
	.owner		= THIS_MODULE,
	.release	= smc_sock_release,
	.bind		= smc_sock_bind,
	.connect	= smc_sock_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= smc_sock_accept,
	.getname	= smc_sock_getname,
	.poll		= smc_sock_poll,
	.ioctl		= smc_sock_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= smc_sock_compat_ioctl,
#endif
	.gettstamp	= smc_sock_gettstamp,
	.listen		= smc_sock_listen,
	.shutdown	= smc_sock_shutdown,
	.setsockopt	= smc_sock_setsockopt,
	.getsockopt	= smc_sock_getsockopt,
	.sendmsg	= smc_sock_sendmsg,
	.recvmsg	= smc_sock_recvmsg,
	.mmap		= smc_sock_mmap,
#ifdef SMC_HAVE_SENDPAGE
	.sendpage	= smc_sock_sendpage,
#endif
	.splice_read	= smc_sock_splice_read,
#ifdef SMC_HAVE_SPLICE_EOF
	.splice_eof	= smc_sock_splice_eof,
#endif
	.set_rcvlowat	= smc_sockopt_set_rcvlowat,
	.set_peek_off	= smc_sockopt_set_peek_off,
};

/**
 * smc_sock_create_clcsock() - create the clcsock of a new socket and add the socket to the table
 * @smc: socket of AF_SMC or IPPROTO_SMC, with a struct socket, after smc_sock_init_fields()
 * @kern: as given to create
 *
 * Process context, the caller of socket(). In error the caller frees the socket.
 *
 * Return: 0 or the errno of socket(2).
 */
int smc_sock_create_clcsock(struct smc_sock *smc, int kern)
{
	struct sock *sk = smc_sock_sk(smc);
	struct socket *sock = sk->sk_socket;
	struct net *net = sock_net(sk);
	int rc;

	rc = smc_clcsock_create(&smc->clcsock, net, smc_sock_is_ipv6(sk) ? PF_INET6 : PF_INET,
				kern);
	if (rc)
		return rc;
	smc_clcsock_share_first(&smc->clcsock, sock);
	smc_sockopt_mirror(smc);
	assign_bit(SMC_SF_LIMIT_HS, &smc->flags, READ_ONCE(smc_settings_get(net)->hs_limit));
#ifdef SMC_HAVE_CUSTOM_SOCKOPT
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
#endif
	/* zero copy sends of io_uring */
	set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	smc_sock_table_add(smc);
	return 0;
}

static int smc_sock_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct sock *sk;
	int rc;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != SMC_PROTO_IPV4 && protocol != SMC_PROTO_IPV6)
		return -EPROTONOSUPPORT;
	sock->ops = &smc_sock_ops;
	sock->state = SS_UNCONNECTED;
	sk = smc_sock_alloc(net, sock, protocol, kern);
	if (!sk)
		return -ENOBUFS;
	rc = smc_sock_create_clcsock(smc_sk(sk), kern);
	if (rc) {
		sock_orphan(sk);
		sock->sk = NULL;
		sock_put(sk);
	}
	return rc;
}

static const struct net_proto_family smc_sock_family = {
	.family	= PF_SMC,
	.owner	= THIS_MODULE,
	.create	= smc_sock_create,
};

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_family_init() - set up the socket table and the work queues, then register the family
 *
 * Return: 0, -EEXIST when another module serves the family, or -errno.
 */
int __init smc_family_init(void)
{
	int rc;

	rc = smc_sock_init();
	if (rc)
		return rc;
	rc = smc_stream_init();
	if (rc)
		goto out_sock;
	rc = smc_deferred_init();
	if (rc)
		goto out_stream;
	rc = smc_accept_init();
	if (rc)
		goto out_deferred;
	rc = smc_clcsock_init();
	if (rc)
		goto out_accept;
	rc = smc_fault_rc(SOCK_FAMILY, -ENOBUFS, sock_register(&smc_sock_family));
	if (rc)
		goto out_accept;
	return 0;
out_accept:
	smc_accept_exit();
out_deferred:
	smc_deferred_exit();
out_stream:
	smc_stream_exit();
out_sock:
	smc_sock_exit();
	return rc;
}

/** smc_family_exit() - undo smc_family_init(); no socket is left, since each holds the module */
void smc_family_exit(void)
{
	sock_unregister(PF_SMC);
	/* a softirq may still run a callback of a released clcsock */
	synchronize_net();
	smc_accept_exit();
	smc_deferred_exit();
	smc_stream_exit();
	smc_sock_exit();
}
