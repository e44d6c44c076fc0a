// SPDX-License-Identifier: GPL-2.0-only
/*
 * SMC mode: the byte stream of a connection as a socket. This file derives sk_state, sk_shutdown
 * and sk_err from the state of the connection, turns its upcalls into wake-ups, watches the clcsock
 * (RFC 7609 4.8.2), and implements poll(), shutdown() and close(). Data is in socket/sendmsg.c and
 * socket/recvmsg.c. Documentation/decisions/0002-socket-identity-and-state.md has the errno table.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/buffers.h>
#include <smc/conn/rx.h>
#include <smc/conn/tx.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/tcp/orphan.h>
#include "cmsg.h"
#include "fallback.h"
#include "keepalive.h"
#include "stream.h"

/* Queued bytes are sent in the background for at most this time after close(). */
#define LINGER_BACKGROUND	(60 * HZ)
/* A lingering close() polls at this interval: a completion does not always wake it. */
#define LINGER_SLICE		(HZ / 10)

/*
 * Delay of the abort after a TCP reset. The RST may overtake the peer's RDMA WRITEs and its CDC
 * message with the abort flag; as on TCP, data sent before a reset is delivered.
 */
#define RESET_GRACE		(HZ / 5)

/* Poll for the lock of the clcsock, which a call of the program holds. */
#define RESET_AGAIN		(HZ / 10)

/* Flush corked data after 200 ms, like TCP. */
#define CORK_TIME		(HZ / 5)

static struct workqueue_struct *stream_wq;

/* ---- state ------------------------------------------------------------------- */

/*
 * Map the state of a connection to a TCP state and the peer's part of sk_shutdown. @own: the
 * current sk_shutdown, @err: the connection ended with an error.
 */
static void stream_derive_state(enum smc_conn_state state, int own, bool err, int *tcp,
				int *shutdown)
{
	bool sent = own & SEND_SHUTDOWN;

	switch (state) {
	case SMC_CONN_INIT:
		*tcp = TCP_SYN_SENT;
		*shutdown = 0;
		return;
	case SMC_CONN_ACTIVE:
		*tcp = sent ? TCP_FIN_WAIT1 : TCP_ESTABLISHED;
		*shutdown = 0;
		return;
	case SMC_CONN_PEERCLOSEWAIT1_D:
	case SMC_CONN_PEERCLOSEWAIT1_C:
		*tcp = TCP_FIN_WAIT2;
		*shutdown = 0;
		return;
	case SMC_CONN_APPCLOSEWAIT1_D:
	case SMC_CONN_APPCLOSEWAIT1_C:
		*tcp = sent ? TCP_LAST_ACK : TCP_CLOSE_WAIT;
		*shutdown = RCV_SHUTDOWN;
		return;
	case SMC_CONN_CLOSED:
		/* the peer has closed and got its answer, the application has not closed yet */
		if (err || sent)
			break;
		*tcp = TCP_CLOSE_WAIT;
		*shutdown = RCV_SHUTDOWN;
		return;
	case SMC_CONN_PEERCLOSEWAIT2_D:
	case SMC_CONN_PEERCLOSEWAIT2_C:
	case SMC_CONN_APPFINCLOSEWAIT:
	case SMC_CONN_APPCLOSEWAIT2_D:
	case SMC_CONN_APPCLOSEWAIT2_C:
	case SMC_CONN_PEERFINCLOSEWAIT:
	case SMC_CONN_PEERABORTWAIT:
	case SMC_CONN_PROCESSABORT:
	case SMC_CONN_STATES:
		break;
	}
	*tcp = TCP_CLOSE;
	*shutdown = SHUTDOWN_MASK;
}

/*
 * True if SOCK_DESTROY closed the clcsock on this host. The peer then gets a TCP reset, and its
 * abort over the link may arrive before our work runs. A socket with a connection has a clcsock.
 */
static bool stream_clcsock_aborted(const struct smc_sock *smc)
{
	lockdep_assert_held(&smc->state_lock);
	return READ_ONCE(smc->clcsock.sock->sk->sk_err) == ECONNABORTED;
}

/**
 * smc_stream_sync() - derive sk_state, sk_shutdown and sk_err from the state of the connection
 * @smc: socket; nothing happens without a connection
 *
 * Any context; takes state_lock. Local shutdown bits stay. The error of the connection is stored in
 * sk_err once.
 */
void smc_stream_sync(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	enum smc_conn_state state;
	int tcp, shutdown, err;

	spin_lock_bh(&smc->state_lock);
	if (!smc->conn)
		goto out;
	state = smc_conn_state(smc->conn);
	err = READ_ONCE(smc->conn->err);
	stream_derive_state(state, sk->sk_shutdown, err, &tcp, &shutdown);
	if ((err == ECONNRESET || err == EPIPE) && stream_clcsock_aborted(smc))
		err = ECONNABORTED;
	/*
	 * An orderly end has no error; store an error once per connection. Who sees the error or
	 * the shutdown sees the bytes that came before the state, also on a third processor: a
	 * write barrier would order only what is stored here.
	 */
	if (err && tcp == TCP_CLOSE && !test_and_set_bit(SMC_SF_ERR_REPORTED, &smc->flags))
		smp_store_release(&sk->sk_err, err);	/* pairs with recvmsg_read_state() */
	/* after the error; pairs with smp_rmb() in recvmsg, and for the error in poll */
	smp_store_release(&sk->sk_shutdown, sk->sk_shutdown | shutdown);
	smc_sock_store_state(sk, tcp);
	WRITE_ONCE(smc->synced_state, state);
out:
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_stream_writable() - check for enough room to report or wake for
 * @conn: connection
 *
 * That is in the send ring, or in what a write finds in place of the first one. Any context, no
 * lock.
 *
 * Return: true if there is enough.
 */
bool smc_stream_writable(const struct smc_conn *conn)
{
	return smc_tx_has_room(conn) || smc_conn_ring_may_be_left(conn);
}

/**
 * smc_stream_trace() - trace the bytes that a call moved
 * @sk: socket
 * @conn: connection of the socket
 * @len: number of bytes
 * @tx: true: sendmsg(); false: recvmsg()
 *
 * Takes conn->lock.
 */
void smc_stream_trace(const struct sock *sk, struct smc_conn *conn, size_t len, bool tx)
{
	const u64 cookie = sock_net(sk)->net_cookie;
	const char *name;

	/* under the lock the connection keeps its link */
	spin_lock_bh(&conn->lock);
	name = conn->link->path.dev->name;
	if (tx)
		trace_smc_tx_sendmsg(sk, cookie, len, name, conn->token);
	else
		trace_smc_rx_recvmsg(sk, cookie, len, name, conn->token);
	spin_unlock_bh(&conn->lock);
}

/* ---- upcalls of the connection ----------------------------------------------- */

/*
 * Return the file's part of a socket if somebody waits for room, or NULL. Under RCU, since
 * sk_socket may go at any time.
 */
static struct socket *stream_get_starved(const struct sock *sk)
{
	struct socket *sock = READ_ONCE(sk->sk_socket);

	smp_mb();	/* pairs with the smp_mb__after_atomic() of sendmsg and poll */
	return sock && test_bit(SOCK_NOSPACE, &sock->flags) ? sock : NULL;
}

/**
 * smc_stream_get() - smc_conn_events.get
 * @smc: socket
 * @bits: SMC_CONN_*
 *
 * As with TCP, sk_write_space() is only called for those who wait for room. BHs are off, so this is
 * an RCU section.
 *
 * Return: see there.
 */
unsigned int smc_stream_get(struct smc_sock *smc, unsigned int bits)
{
	struct sock *sk = smc_sock_sk(smc);

	if (bits == SMC_CONN_WRITABLE && !stream_get_starved(sk))
		return 0;
	sock_hold(sk);
	return bits;
}

/* sk_write_space of a socket in SMC mode. Under RCU. */
static void stream_write_space(struct sock *sk)
{
	struct socket *sock = stream_get_starved(sk);
	struct smc_conn *conn;
	struct socket_wq *wq;
	bool enough;

	if (!sock)
		return;
	conn = smc_sock_conn_get(smc_sk(sk));
	enough = !conn || smc_stream_writable(conn);
	if (conn)
		smc_conn_put(conn);
	if (!enough || !test_and_clear_bit(SOCK_NOSPACE, &sock->flags))
		return;
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	if (wq && wq->fasync_list && !(READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN))
		sock_wake_async(wq, SOCK_WAKE_SPACE, POLL_OUT);
	rcu_read_unlock();
}

/* Send SIGURG to the owner of the file. The lock keeps the file: sock_orphan() takes it. */
static void stream_send_sigurg(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket)
		sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Skip an urgent byte that is next in the stream: without a reader the writer would stop. */
static void stream_skip_urgent(struct smc_sock *smc)
{
	struct smc_conn *conn = smc_sock_conn_get(smc);

	if (!conn)
		return;
	smc_rx_skip_urgent(conn, sock_flag(smc_sock_sk(smc), SOCK_URGINLINE));
	smc_conn_put(conn);
}

/*
 * Let the work reset the clcsock. A socket that closes drops its connection under the lock and then
 * cancels the work.
 */
static void stream_queue_reset(struct smc_sock *smc)
{
	spin_lock_bh(&smc->state_lock);
	if (smc->conn)
		mod_delayed_work(stream_wq, &smc->clcsock_work, 0);
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_stream_notify() - smc_conn_events.notify: signal and wake
 * @smc: socket; the reference of smc_stream_get() is dropped
 * @bits: SMC_CONN_*; hints
 *
 * Any context.
 */
void smc_stream_notify(struct smc_sock *smc, unsigned int bits)
{
	struct sock *sk = smc_sock_sk(smc);

	rcu_read_lock();
	if (bits & SMC_CONN_URGENT)
		stream_send_sigurg(sk);
	if (bits & SMC_CONN_URGENT_BYTE)
		stream_skip_urgent(smc);
	if (bits & SMC_CONN_BROKEN)
		stream_queue_reset(smc);
	if (bits & SMC_CONN_CHANGED) {
		smc_stream_sync(smc);
		/* order as in TCP: io_uring acts on the first wake-up; only an error has a mask */
		sk->sk_state_change(sk);
		if (READ_ONCE(sk->sk_err))
			sk->sk_error_report(sk);
		if (READ_ONCE(sk->sk_shutdown) == SHUTDOWN_MASK)
			sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_HUP);
		else if (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
			sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	}
	if (bits & (SMC_CONN_CHANGED | SMC_CONN_READABLE | SMC_CONN_WRITABLE))
		smc_stats_count(smc->stats, SMC_STAT_WAKEUPS, 1);
	/*
	 * sk_state_change() has woken all sleepers: a second wake-up would be a second edge for
	 * epoll. A user in the kernel that replaced sk_data_ready may rely on this call alone.
	 */
	if (bits & SMC_CONN_READABLE &&
	    (!(bits & SMC_CONN_CHANGED) ||
	     sk->sk_data_ready != smc_clcsock_tcp_callbacks()->data_ready))
		sk->sk_data_ready(sk);
	else if (bits & SMC_CONN_READABLE)
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	if (bits & SMC_CONN_WRITABLE)
		sk->sk_write_space(sk);
	rcu_read_unlock();
	sock_put(sk);
}

static const struct smc_conn_events stream_events = {
	.get	= smc_stream_get,
	.notify	= smc_stream_notify,
};

/* ---- events of the clcsock --------------------------------------------------- */

/*
 * Reset the clcsock after a bad end of the connection, so that the peer learns of it even without
 * RDMA. Or handle an error of the clcsock (RFC 7609 4.8.2): a reset by the peer, after RESET_GRACE,
 * and SOCK_DESTROY on this host abort the connection. A FIN is ignored, as it may overtake data in
 * the fabric. A time-out does not prove that the link is dead, but SO_KEEPALIVE wants to find out
 * whether the peer is alive: test the link.
 */
static void stream_clcsock_work(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, clcsock_work);
	int err = READ_ONCE(smc->clcsock.sock->sk->sk_err);
	struct smc_conn *conn = smc_sock_conn_get(smc);

	if (!conn)
		return;
	if (smc_conn_is_broken(conn)) {
		if (!smc_clcsock_reset(&smc->clcsock))
			queue_delayed_work(stream_wq, &smc->clcsock_work, RESET_AGAIN);
	} else if (err == ECONNRESET || err == ECONNABORTED) {
		smc_conn_abort(conn, err);
	} else {
		smc_test_link_probe_lgr(conn->lgr);
	}
	smc_conn_put(conn);
}

/**
 * smc_stream_flush() - send the bytes that MSG_MORE or TCP_CORK hold back
 * @smc: socket
 *
 * Process context.
 */
void smc_stream_flush(struct smc_sock *smc)
{
	struct smc_conn *conn = smc_sock_conn_get(smc);

	if (!conn)
		return;
	smc_tx_push(conn, false);
	smc_conn_put(conn);
}

static void stream_cork_work(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, cork_work);

	smc_stream_flush(smc);
}

/**
 * smc_stream_flush_later() - flush the send ring after CORK_TIME
 * @smc: socket in SMC mode, locked; its last bytes were written with MSG_MORE or TCP_CORK
 */
void smc_stream_flush_later(struct smc_sock *smc)
{
	queue_delayed_work(stream_wq, &smc->cork_work, CORK_TIME);
}

/* smc_clcsock_events.changed: softirq or process context. */
static void stream_clcsock_changed(void *owner)
{
	struct smc_sock *smc = owner;
	const struct sock *csk = smc->clcsock.sock->sk;
	int err = READ_ONCE(csk->sk_err);

	if (inet_sk_state_load(csk) == TCP_CLOSE && err)
		queue_delayed_work(stream_wq, &smc->clcsock_work,
				   err == ECONNRESET ? RESET_GRACE : 0);
}

static const struct smc_clcsock_events stream_clcsock_events = {
	.changed = stream_clcsock_changed,
};

/**
 * smc_stream_prepare() - set up what SMC mode needs
 * @smc: undecided socket
 */
void smc_stream_prepare(struct smc_sock *smc)
{
	INIT_DELAYED_WORK(&smc->clcsock_work, stream_clcsock_work);
	INIT_DELAYED_WORK(&smc->cork_work, stream_cork_work);
	smc_keepalive_init(smc);
	smc_sock_sk(smc)->sk_write_space = stream_write_space;
	clear_bit(SMC_SF_ERR_REPORTED, &smc->flags);
}

/**
 * smc_stream_set_conn_locked() - set the connection of a socket
 * @smc: socket without one
 * @conn: connection; takes over the caller's reference
 *
 * The caller holds state_lock.
 */
void smc_stream_set_conn_locked(struct smc_sock *smc, struct smc_conn *conn)
{
	struct sock *sk = smc_sock_sk(smc);

	lockdep_assert_held(&smc->state_lock);
	WRITE_ONCE(smc->synced_state, -1);
	/* they may have changed during the handshake */
	WRITE_ONCE(conn->link_policy, READ_ONCE(smc->link_policy));
	smc_conn_set_balance(conn, READ_ONCE(smc->balance));
	/* shown by SO_SNDBUF and SO_RCVBUF, which are twice the requested size */
	if (!smc_sock_shows_set_size(smc, SOCK_SNDBUF_LOCK))
		WRITE_ONCE(sk->sk_sndbuf, 2 * conn->tx.want);
	if (!smc_sock_shows_set_size(smc, SOCK_RCVBUF_LOCK))
		WRITE_ONCE(sk->sk_rcvbuf, 2 * conn->rx.ring.size);
	/* in DEFERRED mode it is read without a lock */
	WRITE_ONCE(smc->conn, conn);
}

/**
 * smc_stream_start() - change the mode of a socket to SMC
 * @smc: undecided socket, at the end of its handshake
 * @conn: active connection; takes over the caller's reference
 *
 * Process context, without the socket lock. Does not wake sleepers; the caller does.
 */
void smc_stream_start(struct smc_sock *smc, struct smc_conn *conn)
{
	struct sock *sk = smc_sock_sk(smc);

	smc_stream_prepare(smc);
	spin_lock_bh(&smc->state_lock);
	smc_stream_set_conn_locked(smc, conn);
	smc->began_at = jiffies;
	/* pairs with smc_sock_mode(): a reader of the mode sees the connection */
	smp_store_release(&smc->mode, SMC_MODE_SMC);
	spin_unlock_bh(&smc->state_lock);
	smc_conn_attach(conn, &stream_events, smc);
	/* urgent data may have come before smc_conn_attach() */
	if (smc_rx_has_urgent(conn))
		stream_send_sigurg(sk);
	stream_skip_urgent(smc);
	smc_stream_sync(smc);
	smc_autosmc_begin(sock_net(sk), &smc->autosmc, true);
	if (smc_clcsock_hook(&smc->clcsock, &stream_clcsock_events, smc))
		stream_clcsock_changed(smc);
	if (smc_conn_is_broken(conn))
		stream_queue_reset(smc);
	smc_keepalive_options_changed(smc);
	smc_cmsg_options_changed(smc);
}

/* ---- poll, shutdown ---------------------------------------------------------- */

/* Return SO_RCVLOWAT, limited to what the peer can send before the application reads. */
static int stream_poll_target(const struct sock *sk, struct smc_conn *conn)
{
	int target = sock_rcvlowat(sk, 0, INT_MAX);

	if (target > 1)
		target = min_t(u32, target, smc_rx_get_max_readable(conn) / 2);
	return max(target, 1);
}

/**
 * smc_stream_poll() - poll() in SMC mode
 * @smc: socket; the caller is on its wait queue
 *
 * Process context; takes state_lock.
 *
 * Return: EPOLL* bits, as tcp_poll().
 */
__poll_t smc_stream_poll(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn = smc_sock_conn_get(smc);
	__poll_t mask = 0;
	int shutdown, target;
	size_t readable;

	if (!conn)
		return EPOLLOUT | EPOLLWRNORM | EPOLLHUP;
	smc_stream_sync_if_changed(smc, conn);
	shutdown = READ_ONCE(sk->sk_shutdown);
	if (shutdown == SHUTDOWN_MASK || inet_sk_state_load(sk) == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	target = stream_poll_target(sk, conn);
	readable = smc_rx_get_readable(conn) +
		   smc_rx_has_held_byte(conn, sock_flag(sk, SOCK_URGINLINE));
	/* fewer bytes suffice if the peer waits until they are read */
	if (readable >= target || (readable && smc_rx_does_peer_wait(conn)))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (smc_rx_has_urgent(conn))
		mask |= EPOLLPRI;
	if (shutdown & SEND_SHUTDOWN || smc_stream_writable(conn) ||
	    !smc_conn_state_may_send(smc_conn_state(conn))) {
		mask |= EPOLLOUT | EPOLLWRNORM;
	} else if (sk->sk_socket) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/* space freed before the bit was set causes no wake-up: check again */
		smp_mb__after_atomic();
		if (smc_stream_writable(conn))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	/* pairs with smc_stream_sync(): sk_err is stored before sk_shutdown */
	smp_rmb();
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	smc_conn_put(conn);
	return mask;
}

/**
 * smc_stream_shutdown() - shutdown() in SMC mode
 * @smc: socket in SMC mode
 * @how: SHUT_*, valid
 *
 * Takes the socket lock. SHUT_WR sends the "sending done" flag after the last byte; SHUT_RDWR
 * closes the connection if nothing is unread (RFC 7609 4.8.1).
 *
 * Return: 0 or -ENOTCONN.
 */
int smc_stream_shutdown(struct smc_sock *smc, int how)
{
	struct sock *sk = smc_sock_sk(smc);
	int bits = how + 1, rc = 0;

	lock_sock(sk);
	if (smc->conn)
		smc_stream_sync(smc);
	if (inet_sk_state_load(sk) == TCP_CLOSE)
		rc = -ENOTCONN;
	smc_sock_add_shutdown(smc, bits);
	if (smc->conn)
		smc_conn_shutdown(smc->conn, bits);
	smc_stream_sync(smc);
	sk->sk_state_change(sk);
	release_sock(sk);
	return rc;
}

/* ---- close ------------------------------------------------------------------- */

/* Wait until all bytes are acknowledged, for SO_LINGER at most. */
static void stream_linger(struct sock *sk, struct smc_conn *conn)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long whole = READ_ONCE(sk->sk_lingertime), left = whole;
	unsigned long begin = jiffies;

	smc_tx_fence(conn);
	add_wait_queue(sk_sleep(sk), &wait);
	while (left > 0 && !smc_conn_is_drained(conn) && !signal_pending(current) &&
	       smc_conn_state_may_cdc(smc_conn_state(conn))) {
		wait_woken(&wait, TASK_INTERRUPTIBLE, min_t(long, left, LINGER_SLICE));
		/* from the start: each slice is rounded up, and the errors would add up */
		left = whole - (long)(jiffies - begin);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
}

/**
 * smc_stream_linger() - wait until all bytes of the ring are acknowledged, for SO_LINGER at most
 * @sk: socket
 * @conn: its connection
 *
 * As inet_release(), not in an exiting process. Process context.
 */
void smc_stream_linger(struct sock *sk, struct smc_conn *conn)
{
	if (sock_flag(sk, SOCK_LINGER) && !(current->flags & PF_EXITING))
		stream_linger(sk, conn);
}

/**
 * smc_stream_detach_conn() - detach the connection from the socket
 * @smc: socket
 *
 * Sleeps.
 *
 * Return: the connection with the socket's reference, or NULL.
 */
struct smc_conn *smc_stream_detach_conn(struct smc_sock *smc)
{
	struct smc_conn *conn = smc->conn;

	if (!conn)
		return NULL;
	smc_conn_detach(conn);
	/* first: a notification in progress queues no work without a connection */
	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(smc->conn, NULL);
	spin_unlock_bh(&smc->state_lock);
	smc_clcsock_unhook(&smc->clcsock);
	cancel_delayed_work_sync(&smc->clcsock_work);
	cancel_delayed_work_sync(&smc->cork_work);
	smc_keepalive_stop(smc);
	return conn;
}

/**
 * smc_stream_end_conn() - close a connection, which takes over the clcsock
 * @smc: socket without other users
 * @conn: its connection, detached
 * @abort: see smc_conn_close()
 *
 * Without memory the caller closes the clcsock, but the time of SO_LINGER is over. Process context.
 */
void smc_stream_end_conn(struct smc_sock *smc, struct smc_conn *conn, bool abort)
{
	struct smc_orphan *orphan;

	smc_fallback_detach(smc);
	orphan = smc_orphan_create(&smc->clcsock);
	if (!orphan)
		sock_reset_flag(smc->clcsock.sock->sk, SOCK_LINGER);
	smc_conn_close(conn, abort, LINGER_BACKGROUND, orphan);
}

/**
 * smc_stream_close() - close the connection of a socket for release
 * @smc: socket without other users; may have no connection
 * @abort: abort in any case (a child that was never accepted)
 * @wait: wait for the time of SO_LINGER
 *
 * Unread data and SO_LINGER with time 0 cause an abort too. Without an abort, queued bytes are sent
 * in the background for at most LINGER_BACKGROUND. The connection takes over the clcsock and ends
 * it when it has ended itself. Process context, no lock held.
 *
 * Return: how the caller ends the clcsock if the socket still has it, since there was no connection
 * or no memory: true: by RST.
 */
bool smc_stream_close(struct smc_sock *smc, bool abort, bool wait)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn = smc->conn;

	if (!conn)
		return abort;
	if (smc_rx_get_readable(conn))
		abort = true;
	if (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)
		abort = true;
	if (!abort) {
		smc_tx_push(conn, false);
		if (wait)
			smc_stream_linger(sk, conn);
	}
	smc_stream_detach_conn(smc);
	smc_stream_end_conn(smc, conn, abort);
	smc_conn_put(conn);
	return abort;
}

/**
 * smc_stream_disconnect() - abort the connection and make the socket undecided again
 * @smc: socket in SMC mode, locked
 *
 * For connect(AF_UNSPEC) and a connect() that failed late. As on TCP, the peer sees a reset. The
 * caller disconnects the clcsock.
 */
void smc_stream_disconnect(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn = smc_stream_detach_conn(smc);

	sock_owned_by_me(sk);
	if (conn) {
		smc_conn_close(conn, true, 0, NULL);
		smc_conn_put(conn);
	}
	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(sk->sk_err, ECONNRESET);
	WRITE_ONCE(sk->sk_shutdown, 0);
	smc_sock_store_state(sk, TCP_CLOSE);
	/* pairs with smc_sock_mode() */
	smp_store_release(&smc->mode, SMC_MODE_UNDECIDED);
	spin_unlock_bh(&smc->state_lock);
	/* those that the program has set, for the next connection */
	smc_sock_show_bufsizes(smc);
	sk->sk_error_report(sk);
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_stream_init() - create the work queue
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_stream_init(void)
{
	stream_wq = smc_fault_null(STREAM_WQ, alloc_workqueue("smc_stream", WQ_UNBOUND, 0));
	return stream_wq ? 0 : -ENOMEM;
}

/** smc_stream_exit() - destroy the work queue; no socket is left */
void smc_stream_exit(void)
{
	destroy_workqueue(stream_wq);
}
