// SPDX-License-Identifier: GPL-2.0-only
/* SMC mode: the byte stream as a socket. Receiving is in socket/recvmsg.c. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <compat/zcopy.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/rx.h>
#include <smc/conn/tx.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include "cmsg.h"
#include "keepalive.h"
#include "stream.h"
#include "stream_priv.h"

/* Queued bytes are still sent for so long after close(). */
#define LINGER_BACKGROUND	(60 * HZ)
/* A close() that lingers looks again this often: a completion need not wake it. */
#define LINGER_SLICE		(HZ / 10)

/* Less than this is copied: cheaper than references, mappings and gather elements. */
#define ZEROCOPY_MIN	2048

/*
 * The peer's RST comes by another way than what it wrote before and its A, and may be faster. TCP
 * delivers what was sent before a reset.
 */
#define RESET_GRACE		(HZ / 5)

/* A promise of more that is not kept: TCP sends after so long, too. */
#define CORK_TIME		(HZ / 5)

static struct workqueue_struct *stream_wq;

/* ---- state ------------------------------------------------------------------- */

/*
 * What the connection's state means in TCP's terms; @own: our part of sk_shutdown, @err: the
 * connection has ended with an error.
 */
static void stream_derive_state(enum smc_conn_state state, int own, bool err, int *tcp, int *shutdown)
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
		/* the peer has closed and was answered: the application is still to be heard of */
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
 * Who ends the carrier here (SOCK_DESTROY) resets the peer's, and the peer's answer over the link
 * may be faster than our work queue. state_lock held: where there is a connection, there is a
 * carrier.
 */
static bool stream_clcsock_aborted(const struct smc_sock *smc)
{
	return READ_ONCE(smc->carrier.sock->sk->sk_err) == ECONNABORTED;
}

/**
 * smc_stream_sync() - derive sk_state, sk_shutdown and sk_err
 * @smc: socket
 *
 * Any context. The one writer of the three in SMC mode.
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
	/* the cause of an orderly end is nobody's error */
	if (err && tcp == TCP_CLOSE && !test_and_set_bit(SMC_SF_ERR_TOLD, &smc->flags))
		WRITE_ONCE(sk->sk_err, err);
	smp_wmb();	/* pairs with poll: who sees the shutdown sees its cause */
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | shutdown);
	smc_sock_store_state(sk, tcp);
	WRITE_ONCE(smc->seen, state);
out:
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_stream_sync_if_changed() - the same, if there may be something new
 * @smc: socket
 * @conn: its connection
 *
 * Hints may come late; calls look for themselves.
 */
void smc_stream_sync_if_changed(struct smc_sock *smc, const struct smc_conn *conn)
{
	if (READ_ONCE(smc->seen) != (int)smc_conn_state(conn))
		smc_stream_sync(smc);
}

/**
 * smc_stream_conn_get_locked() - as smc_sock_conn_get()
 * @smc: socket, locked: nobody takes the connection away meanwhile
 *
 * Return: connection with a reference, or NULL.
 */
struct smc_conn *smc_stream_conn_get_locked(struct smc_sock *smc)
{
	struct smc_conn *conn = smc->conn;

	if (conn)
		smc_conn_get(conn);
	return conn;
}

/* A third of the ring is worth a wake-up, as in sk_stream_is_writeable(). */
static bool stream_writable(const struct smc_conn *conn)
{
	return smc_tx_space(conn) >= conn->tx.ring.size / 3;
}

/* ---- what the connection tells ----------------------------------------------- */

static void stream_hold(void *owner)
{
	sock_hold(smc_sock_sk(owner));
}

static void stream_put(void *owner)
{
	sock_put(smc_sock_sk(owner));
}

/* Our sk_write_space; RCU read side: sk_socket may go at any time. */
static void stream_write_space(struct sock *sk)
{
	struct socket *sock = READ_ONCE(sk->sk_socket);
	struct smc_conn *conn;
	struct socket_wq *wq;
	bool enough;

	smp_mb();	/* pairs with who sets the bit and then looks for space */
	if (!sock || !test_bit(SOCK_NOSPACE, &sock->flags))
		return;
	conn = smc_sock_conn_get(smc_sk(sk));
	enough = !conn || stream_writable(conn);
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

/* SIGURG. The file, whose owner gets it, goes only behind sock_orphan(), which takes this lock. */
static void stream_send_sigurg(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket)
		sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Nobody may be reading: the writer goes on nevertheless. */
static void stream_skip_urgent(struct smc_sock *smc)
{
	struct smc_conn *conn = smc_sock_conn_get(smc);

	if (!conn)
		return;
	smc_rx_skip_urgent(conn, sock_flag(smc_sock_sk(smc), SOCK_URGINLINE));
	smc_conn_put(conn);
}

static void stream_notify(void *owner, unsigned int bits)
{
	struct smc_sock *smc = owner;
	struct sock *sk = smc_sock_sk(smc);

	rcu_read_lock();
	if (bits & SMC_CONN_URGENT)
		stream_send_sigurg(sk);
	if (bits & SMC_CONN_MARK)
		stream_skip_urgent(smc);
	if (bits & SMC_CONN_CHANGED) {
		smc_stream_sync(smc);
		/* in TCP's order: io_uring goes by the first one, and only an error has a mask */
		sk->sk_state_change(sk);
		if (READ_ONCE(sk->sk_err))
			sk->sk_error_report(sk);
		if (READ_ONCE(sk->sk_shutdown) == SHUTDOWN_MASK)
			sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_HUP);
		else if (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
			sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	}
	if (bits & (SMC_CONN_CHANGED | SMC_CONN_READABLE | SMC_CONN_WRITABLE))
		smc_stats_inc(sock_net(sk), SMC_STAT_WAKEUPS);
	/*
	 * A change has woken every sleeper already: a second wake-up would be a second
	 * edge of one event. A consumer in the kernel may look at this callback alone.
	 */
	if (bits & SMC_CONN_READABLE &&
	    (!(bits & SMC_CONN_CHANGED) ||
	     sk->sk_data_ready != smc_carrier_defaults()->data_ready))
		sk->sk_data_ready(sk);
	else if (bits & SMC_CONN_READABLE)
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	if (bits & SMC_CONN_WRITABLE)
		sk->sk_write_space(sk);
	rcu_read_unlock();
}

static const struct smc_conn_events stream_events = {
	.hold	= stream_hold,
	.put	= stream_put,
	.notify	= stream_notify,
};

/* ---- the carrier under a running stream -------------------------------------- */

/*
 * RFC 7609 4.8.2: RST aborts, when the A beside it has had its time (RESET_GRACE), as does who
 * ends the carrier from here (SOCK_DESTROY).
 * FIN may overtake data that is still in the fabric, so it does not count. A time-out
 * of the carrier alone says nothing about the link - but somebody wanted to know
 * whether the peer lives (SO_KEEPALIVE), so the link is asked.
 */
static void stream_clcsock_work(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, carrier_work);
	int err = READ_ONCE(smc->carrier.sock->sk->sk_err);
	struct smc_conn *conn = smc_sock_conn_get(smc);

	if (!conn)
		return;
	if (err == ECONNRESET || err == ECONNABORTED)
		smc_conn_abort(conn, err);
	else
		smc_llc_probe(conn->lgr);
	smc_conn_put(conn);
}

static void stream_cork_work(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, cork_work);

	smc_stream_flush(smc);
}

static void stream_clcsock_changed(void *owner)
{
	struct smc_sock *smc = owner;
	const struct sock *csk = smc->carrier.sock->sk;
	int err = READ_ONCE(csk->sk_err);

	if (inet_sk_state_load(csk) == TCP_CLOSE && err)
		queue_delayed_work(stream_wq, &smc->carrier_work,
				   err == ECONNRESET ? RESET_GRACE : 0);
}

static const struct smc_carrier_events stream_clcsock_events = {
	.changed = stream_clcsock_changed,
};

/**
 * smc_stream_enter() - the socket is SMC
 * @smc: undecided socket, handshake over
 * @conn: active connection; the caller's reference is taken over
 *
 * Process context. Wakes nobody.
 */
void smc_stream_enter(struct smc_sock *smc, struct smc_conn *conn)
{
	struct sock *sk = smc_sock_sk(smc);

	INIT_DELAYED_WORK(&smc->carrier_work, stream_clcsock_work);
	INIT_DELAYED_WORK(&smc->cork_work, stream_cork_work);
	smc_keep_init(smc);
	sk->sk_write_space = stream_write_space;
	clear_bit(SMC_SF_ERR_TOLD, &smc->flags);
	spin_lock_bh(&smc->state_lock);
	smc->conn = conn;
	smc->seen = -1;
	/* what SO_SNDBUF and SO_RCVBUF show: core doubles */
	WRITE_ONCE(sk->sk_sndbuf, 2 * conn->tx.ring.size);
	WRITE_ONCE(sk->sk_rcvbuf, 2 * conn->rx.ring.size);
	/* pairs with smc_sock_mode(): who sees SMC sees the connection */
	smp_store_release(&smc->mode, SMC_MODE_SMC);
	spin_unlock_bh(&smc->state_lock);
	smc_conn_attach(conn, &stream_events, smc);
	/* what came before had nobody to be told of it */
	if (smc_rx_urgent(conn))
		stream_send_sigurg(sk);
	stream_skip_urgent(smc);
	smc_stream_sync(smc);
	if (smc_carrier_hook(&smc->carrier, &stream_clcsock_events, smc))
		stream_clcsock_changed(smc);
	smc_keep_changed(smc);
	smc_cmsg_changed(smc);
}

/* ---- sendmsg ----------------------------------------------------------------- */

static bool sendmsg_woken(struct smc_sock *smc, const struct smc_conn *conn)
{
	const struct sock *sk = smc_sock_sk(smc);

	return stream_writable(conn) || READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	       READ_ONCE(smc->seen) != (int)smc_conn_state(conn);
}

/* Socket lock held, dropped while asleep; @conn is kept by the caller. */
static int sendmsg_wait_space(struct smc_sock *smc, const struct smc_conn *conn, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = smc_sock_sk(smc);
	int rc = 0;

	add_wait_queue(sk_sleep(sk), &wait);
	for (;;) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/* pairs with the completion that frees space, then looks at the bit */
		smp_mb__after_atomic();
		if (sendmsg_woken(smc, conn))
			break;
		rc = -EAGAIN;
		if (!*timeo)
			break;
		rc = sock_intr_errno(*timeo);
		if (signal_pending(current))
			break;
		rc = 0;
		sk_wait_event(sk, timeo, sendmsg_woken(smc, conn), &wait);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return rc;
}

/* May more be sent at all? Error and EPIPE are told apart by sk_stream_error(). */
static bool sendmsg_may_send(struct smc_sock *smc, const struct smc_conn *conn)
{
	const struct sock *sk = smc_sock_sk(smc);

	if (!conn)
		return false;
	smc_stream_sync_if_changed(smc, conn);
	return !READ_ONCE(sk->sk_err) && !(READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN);
}

static void sendmsg_count(const struct smc_conn *conn, int flags, size_t len)
{
	if (len > conn->tx.ring.size)
		smc_stats_inc(conn->net, SMC_STAT_TX_SMALL);
	if (len > conn->tx.peer_size)
		smc_stats_inc(conn->net, SMC_STAT_TX_PEER_SMALL);
	if (flags & MSG_OOB)
		smc_stats_inc(conn->net, SMC_STAT_TX_URGENT);
	if (flags & MSG_SPLICE_PAGES)
		smc_stats_inc(conn->net, SMC_STAT_TX_SENDPAGE);
}

/**
 * struct sendmsg_pages - how a call's bytes get into the stream
 * @uarg: to be told when the pages are free; NULL: nobody is
 * @ours: a reference on it is this call's
 * @use: from the pages they lie in
 * @copied: some bytes were copied nevertheless
 */
struct sendmsg_pages {
	struct ubuf_info *uarg;
	bool ours;
	bool use;
	bool copied;
};

/* Socket lock held. */
static int sendmsg_pages_begin(struct sock *sk, const struct msghdr *msg, size_t len, int flags,
			       struct sendmsg_pages *pages)
{
	if (msg->msg_ubuf) {
		pages->uarg = msg->msg_ubuf;	/* kept by the caller */
	} else if (flags & MSG_ZEROCOPY && len && sock_flag(sk, SOCK_ZEROCOPY)) {
		pages->uarg = smc_fault_null(ZC_UARG, compat_zerocopy_alloc(sk, len));
		if (!pages->uarg)
			return -ENOBUFS;
		pages->ours = true;
	} else if (!(flags & MSG_SPLICE_PAGES) || !iov_iter_is_bvec(&msg->msg_iter)) {
		return 0;
	}
	/* how many pages there are would decide whether an urgent byte comes alone */
	pages->use = len >= ZEROCOPY_MIN && !(flags & MSG_OOB);
	return 0;
}

/* @taken: else the call has not taken place, and has no number. */
static void sendmsg_pages_end(struct sendmsg_pages *pages, bool taken)
{
	if (!pages->uarg)
		return;
	if (pages->ours && !taken) {
		net_zcopy_put_abort(pages->uarg, true);
	} else if (pages->ours) {
		compat_zerocopy_put(NULL, pages->uarg, !pages->copied);
	} else if (pages->copied) {
		net_zcopy_get(pages->uarg);
		compat_zerocopy_put(NULL, pages->uarg, false);
	}
}

/* As smc_tx_write(). */
static ssize_t sendmsg_write(struct smc_conn *conn, struct iov_iter *from, size_t len, bool more,
			     bool urgent, struct sendmsg_pages *pages)
{
	ssize_t rc;

	if (pages->use) {
		rc = smc_tx_write_pages(conn, from, len, more, pages->uarg);
		if (rc >= 0 || rc == -EAGAIN || rc == -EPIPE)
			return rc;
	}
	rc = smc_tx_write(conn, from, len, more, urgent);
	if (rc <= 0)
		return rc;
	if (pages->uarg || pages->use)
		smc_stats_add(conn->net, SMC_STAT_TX_ZC_COPIED, rc);
	pages->copied = true;
	return rc;
}

/**
 * smc_stream_trace() - a call has taken or given bytes
 * @sk: socket
 * @conn: its connection
 * @len: how many
 * @tx: by sendmsg()
 */
void smc_stream_trace(const struct sock *sk, struct smc_conn *conn, size_t len, bool tx)
{
	const u64 cookie = sock_net(sk)->net_cookie;
	const char *name;

	/* the connection may go to another link, and this one away */
	spin_lock_bh(&conn->lock);
	name = conn->link->path.dev->name;
	if (tx)
		trace_smc_tx_sendmsg(sk, cookie, len, name, conn->token);
	else
		trace_smc_rx_recvmsg(sk, cookie, len, name, conn->token);
	spin_unlock_bh(&conn->lock);
}

/**
 * smc_stream_sendmsg() - sendmsg()
 * @smc: socket in SMC mode
 * @msg: message
 * @len: its length
 *
 * MSG_OOB: the last byte is urgent. If not all were taken none is, and the rest is to be sent
 * in the same way.
 *
 * Return: as sendmsg(); raises SIGPIPE.
 */
int smc_stream_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len)
{
	struct sock *sk = smc_sock_sk(smc);
	int flags = msg->msg_flags, copied = 0, err = 0;
	struct sendmsg_pages pages = { };
	struct sockcm_cookie cookie;
	struct smc_conn *conn;
	ssize_t rc;
	bool more, full = false;
	long timeo;

	/* data path 1 */
	lock_sock(sk);
	more = flags & MSG_MORE || test_bit(SMC_SF_CORK, &smc->flags);
	smc_stats_inc(sock_net(sk), SMC_STAT_TX_CNT);
	timeo = sock_sndtimeo(sk, flags & MSG_DONTWAIT);
	sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	if (msg->msg_controllen) {
		sockcm_init(&cookie, sk);
		/* what the message asks for; the socket's flags do nothing (kernels before 6.7) */
		cookie.tsflags = 0;
		err = sock_cmsg_send(sk, msg, &cookie);
		/* too late, as for SO_TIMESTAMPING: bytes have no packet that could be stamped */
		if (!err && cookie.tsflags & SOF_TIMESTAMPING_TX_RECORD_MASK)
			err = -EOPNOTSUPP;
		if (err) {
			release_sock(sk);
			return err;
		}
	}
	err = sendmsg_pages_begin(sk, msg, len, flags, &pages);
	if (err) {
		release_sock(sk);
		return err;
	}
	/* a disconnect by another thread drops the socket's reference while we sleep */
	conn = smc_stream_conn_get_locked(smc);
	if (conn)
		sendmsg_count(conn, flags, len);
	for (;;) {
		if (!sendmsg_may_send(smc, conn) || smc->conn != conn) {
			err = -EPIPE;
			break;
		}
		if (!msg_data_left(msg))
			break;
		rc = sendmsg_write(conn, &msg->msg_iter,
				   min_t(size_t, msg_data_left(msg), INT_MAX - copied), more,
				   flags & MSG_OOB, &pages);
		if (rc > 0) {
			copied += rc;
			smc_keep_queued(smc);
			continue;
		}
		if (rc == -EAGAIN) {
			if (!full)
				smc_stats_inc(conn->net, SMC_STAT_TX_FULL);
			full = true;
			smc_tx_push(conn, false);
			rc = sendmsg_wait_space(smc, conn, &timeo);
		}
		if (rc) {
			/* what was copied before was promised company */
			smc_tx_push(conn, more);
			/* an abort since has its own error */
			smc_stream_sync(smc);
			err = rc;
			break;
		}
	}
	if (copied) {
		smc_stats_size(sock_net(sk), SMC_HIST_TX_REQ, copied);
		if (trace_smc_tx_sendmsg_enabled())
			smc_stream_trace(sk, conn, copied, true);
	}
	if (copied && more && conn == smc->conn)
		queue_delayed_work(stream_wq, &smc->cork_work, CORK_TIME);
	sendmsg_pages_end(&pages, copied || !err);
	if (err && !copied)
		copied = sk_stream_error(sk, flags, err);
	release_sock(sk);
	if (conn)
		smc_conn_put(conn);
	return copied;
}

/**
 * smc_stream_flush() - what waited for more goes now
 * @smc: socket in SMC mode
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

/* ---- poll, shutdown ---------------------------------------------------------- */

/* SO_RCVLOWAT, but not so much that the peer could not send it before anything is read. */
static int stream_poll_target(const struct sock *sk, struct smc_conn *conn)
{
	int target = sock_rcvlowat(sk, 0, INT_MAX);

	if (target > 1)
		target = min_t(u32, target, smc_rx_reach(conn) / 2);
	return max(target, 1);
}

/**
 * smc_stream_poll() - event mask in SMC mode
 * @smc: socket; the caller has put itself on its wait queue
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
	readable = smc_rx_readable(conn) + smc_rx_held(conn, sock_flag(sk, SOCK_URGINLINE));
	/* less than was asked for is enough if no more comes before it was read */
	if (readable >= target || (readable && smc_rx_peer_waits(conn)))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (smc_rx_urgent(conn))
		mask |= EPOLLPRI;
	if (shutdown & SEND_SHUTDOWN || stream_writable(conn) ||
	    !smc_conn_state_may_send(smc_conn_state(conn))) {
		mask |= EPOLLOUT | EPOLLWRNORM;
	} else if (sk->sk_socket) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/* space that came before the bit was seen wakes nobody */
		smp_mb__after_atomic();
		if (stream_writable(conn))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	/* an error is stored before the shutdown that was read above */
	smp_rmb();
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	smc_conn_put(conn);
	return mask;
}

/**
 * smc_stream_shutdown() - shutdown()
 * @smc: socket in SMC mode
 * @how: SHUT_*, checked
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
	if (smc->conn && bits & SEND_SHUTDOWN) {
		smc_tx_push(smc->conn, false);
		smc_conn_shutdown(smc->conn);
	}
	smc_stream_sync(smc);
	sk->sk_state_change(sk);
	release_sock(sk);
	return rc;
}

/* ---- close ------------------------------------------------------------------- */

static void stream_linger(struct sock *sk, const struct smc_conn *conn)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long whole = READ_ONCE(sk->sk_lingertime), left = whole;
	unsigned long begin = jiffies;

	add_wait_queue(sk_sleep(sk), &wait);
	while (left > 0 && !smc_conn_drained(conn) && !signal_pending(current) &&
	       smc_conn_state_may_cdc(smc_conn_state(conn))) {
		wait_woken(&wait, TASK_INTERRUPTIBLE, min_t(long, left, LINGER_SLICE));
		/* each slice is rounded up: that must not add up */
		left = whole - (long)(jiffies - begin);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* Takes the connection away from the socket; NULL if it had none. */
static struct smc_conn *stream_detach_conn(struct smc_sock *smc)
{
	struct smc_conn *conn = smc->conn;

	if (!conn)
		return NULL;
	smc_carrier_unhook(&smc->carrier);
	cancel_delayed_work_sync(&smc->carrier_work);
	cancel_delayed_work_sync(&smc->cork_work);
	smc_keep_end(smc);
	smc_conn_detach(conn);
	spin_lock_bh(&smc->state_lock);
	smc->conn = NULL;
	spin_unlock_bh(&smc->state_lock);
	return conn;
}

/**
 * smc_stream_close() - close the connection for release()
 * @smc: socket that nobody else uses any more
 * @abort: whatever waits to be sent or read (nobody ever accepted it)
 * @wait: honour SO_LINGER with a time
 *
 * Process context, no lock held.
 *
 * Return: true after an abort (also: unread data, SO_LINGER 0): reset the carrier too.
 */
bool smc_stream_close(struct smc_sock *smc, bool abort, bool wait)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn = smc->conn;

	if (!conn)
		return abort;
	if (smc_rx_readable(conn))
		abort = true;
	if (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)
		abort = true;
	if (!abort) {
		smc_tx_push(conn, false);
		/* inet_release() does not linger for an exiting process either */
		if (wait && sock_flag(sk, SOCK_LINGER) && !(current->flags & PF_EXITING))
			stream_linger(sk, conn);
	}
	stream_detach_conn(smc);
	smc_conn_close(conn, abort, LINGER_BACKGROUND);
	smc_conn_put(conn);
	return abort;
}

/**
 * smc_stream_disconnect() - connect(AF_UNSPEC)
 * @smc: socket in SMC mode, locked
 *
 * As on TCP the peer sees a reset, and the socket may be used again.
 */
void smc_stream_disconnect(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn = stream_detach_conn(smc);

	if (conn) {
		smc_conn_close(conn, true, 0);
		smc_conn_put(conn);
	}
	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(sk->sk_err, ECONNRESET);
	WRITE_ONCE(sk->sk_shutdown, 0);
	smc_sock_store_state(sk, TCP_CLOSE);
	/* pairs with smc_sock_mode() */
	smp_store_release(&smc->mode, SMC_MODE_UNDECIDED);
	spin_unlock_bh(&smc->state_lock);
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
