// SPDX-License-Identifier: GPL-2.0-only
/*
 * SMC mode: sendmsg(). Copies the bytes into the send ring, or sends them from the pages that they
 * lie in (MSG_ZEROCOPY, MSG_SPLICE_PAGES), and waits for space in the ring. The bytes leave with
 * smc_tx_write() and smc_tx_write_pages() (smc_tx.c).
 */
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <compat/zcopy.h>
#include <net/sock.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/buffers.h>
#include <smc/conn/tx.h>
#include "keepalive.h"
#include "stream.h"

/* Fewer bytes are copied: cheaper than page references, mappings and scatter/gather elements. */
#define ZEROCOPY_MIN	2048

/**
 * struct sendmsg_pages - how a call uses the pages of its bytes
 * @uarg: notification when the pages are free; NULL: none
 * @ours: this call holds a reference on @uarg
 * @use: send from the pages instead of copying
 * @copied: some bytes were copied anyway
 */
struct sendmsg_pages {
	struct ubuf_info *uarg;
	bool ours;
	bool use;
	bool copied;
};

/**
 * struct sendmsg_call - one call of sendmsg()
 * @msg: the caller's message
 * @flags: MSG_*
 * @more: more bytes follow soon (MSG_MORE, TCP_CORK)
 * @timeo: jiffies left to wait for space
 * @copied: bytes taken so far
 * @pages: use of pages
 */
struct sendmsg_call {
	struct msghdr *msg;
	int flags;
	bool more;
	long timeo;
	int copied;
	struct sendmsg_pages pages;
};

/* ---- waiting for space ------------------------------------------------------- */

static bool sendmsg_woken(struct smc_sock *smc, const struct smc_conn *conn)
{
	const struct sock *sk = smc_sock_sk(smc);

	return smc_stream_writable(conn) || READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	       READ_ONCE(smc->synced_state) != (int)smc_conn_state(conn);
}

/* Wait for ring space. Drops the socket lock while asleep; the caller holds @conn. */
static int sendmsg_wait_space(struct smc_sock *smc, const struct smc_conn *conn, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = smc_sock_sk(smc);
	int rc = 0;

	sock_owned_by_me(sk);
	add_wait_queue(sk_sleep(sk), &wait);
	for (;;) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/* pairs with stream_write_space(): space is freed, then the bit is read */
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

/* ---- pages ------------------------------------------------------------------- */

/* Decide whether the call sends from pages. Return 0 or -ENOBUFS. */
static int sendmsg_pages_begin(struct sock *sk, const struct msghdr *msg, size_t len, int flags,
			       struct sendmsg_pages *pages)
{
	sock_owned_by_me(sk);
	if (msg->msg_ubuf) {
		pages->uarg = msg->msg_ubuf;	/* the caller holds the reference */
	} else if (flags & MSG_ZEROCOPY && len && sock_flag(sk, SOCK_ZEROCOPY)) {
		pages->uarg = smc_fault_null(ZC_UARG, smc_compat_zerocopy_alloc(sk, len));
		if (!pages->uarg)
			return -ENOBUFS;
		pages->ours = true;
	} else if (!(flags & MSG_SPLICE_PAGES) || !iov_iter_is_bvec(&msg->msg_iter)) {
		return 0;
	}
	/* not MSG_OOB: the number of pages would decide whether the urgent byte comes alone */
	pages->use = len >= ZEROCOPY_MIN && !(flags & MSG_OOB);
	return 0;
}

/*
 * Drop the notification, or mark it as copied. @taken: the call took bytes or succeeded; else it
 * gets no number in the sequence of completions.
 */
static void sendmsg_pages_end(struct sendmsg_pages *pages, bool taken)
{
	if (!pages->uarg)
		return;
	if (pages->ours && !taken) {
		net_zcopy_put_abort(pages->uarg, true);
	} else if (pages->ours) {
		smc_compat_zerocopy_put(NULL, pages->uarg, !pages->copied);
	} else if (pages->copied) {
		net_zcopy_get(pages->uarg);
		smc_compat_zerocopy_put(NULL, pages->uarg, false);
	}
}

/* ---- sendmsg ----------------------------------------------------------------- */

/* True if the connection takes bytes; else sk_stream_error() chooses between sk_err and EPIPE. */
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
	if (len > conn->tx.want)
		smc_stats_count(conn->stats, SMC_STAT_TX_SMALL, 1);
	if (len > conn->tx.peer_size)
		smc_stats_count(conn->stats, SMC_STAT_TX_PEER_SMALL, 1);
	if (flags & MSG_OOB)
		smc_stats_count(conn->stats, SMC_STAT_TX_URGENT, 1);
	if (flags & MSG_SPLICE_PAGES)
		smc_stats_count(conn->stats, SMC_STAT_TX_SENDPAGE, 1);
}

/* Handle the control messages. A request to time stamp the bytes fails: no packet is sent. */
static int sendmsg_control(struct sock *sk, struct msghdr *msg)
{
	struct sockcm_cookie cookie;
	int rc;

	if (!msg->msg_controllen)
		return 0;
	sockcm_init(&cookie, sk);
	/* check the flags of the message only: kernels before 6.7 may have set the socket's */
	cookie.tsflags = 0;
	rc = sock_cmsg_send(sk, msg, &cookie);
	if (!rc && cookie.tsflags & SOF_TIMESTAMPING_TX_RECORD_MASK)
		rc = -EOPNOTSUPP;
	return rc;
}

/* Write some bytes, from their pages or by copying. Return as smc_tx_write(). */
static ssize_t sendmsg_write(struct smc_conn *conn, struct sendmsg_call *call)
{
	size_t len = min_t(size_t, msg_data_left(call->msg), INT_MAX - call->copied);
	struct iov_iter *from = &call->msg->msg_iter;
	struct sendmsg_pages *pages = &call->pages;
	ssize_t rc;

	if (pages->use) {
		rc = smc_tx_write_pages(conn, from, len, call->more, pages->uarg);
		if (rc >= 0 || rc == -EAGAIN || rc == -EPIPE)
			return rc;
	}
	rc = smc_tx_write(conn, from, len, call->more, call->flags & MSG_OOB);
	if (rc <= 0)
		return rc;
	if (pages->uarg || pages->use)
		smc_stats_count(conn->stats, SMC_STAT_TX_ZC_COPIED, rc);
	pages->copied = true;
	return rc;
}

/*
 * The peer has closed, so bytes cannot be sent any more. As on TCP, the call succeeds, and the
 * reset comes after it. Return the number of bytes taken, or -EFAULT.
 */
static ssize_t sendmsg_lose(struct smc_conn *conn, struct sendmsg_call *call)
{
	struct iov_iter *from = &call->msg->msg_iter;
	size_t len = min_t(size_t, msg_data_left(call->msg), conn->tx.want);

	len -= fault_in_iov_iter_readable(from, len);
	if (!len)
		return -EFAULT;
	iov_iter_advance(from, len);
	call->pages.copied = true;
	smc_conn_lose_write(conn);
	return len;
}

/* An eighth of a ring is little (smc_tx.c): return true if the first ring is too small for @len. */
static bool sendmsg_leaves_first_ring(const struct smc_conn *conn, size_t len)
{
	return len > SMC_ELEM_SIZE_FIRST / 8 && smc_conn_ring_is_first(conn);
}

/*
 * The ring is full, or the first one: return true if it has grown instead. As with TCP, a size that
 * the program has set is kept, whatever it is and whenever it was set.
 */
static bool sendmsg_grow_ring(struct smc_sock *smc, struct smc_conn *conn)
{
	bool first = smc_conn_ring_is_first(conn);
	struct sock *sk = smc_sock_sk(smc);

	sock_owned_by_me(sk);
	/* set by the core before 6.7, later by smc_sockopt_set(): both with the socket lock held */
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK && !first)
		return false;
	if (!smc_conn_grow_ring(conn, smc_sock_memcg(sk)))
		return false;
	/* before 6.7 the core may just have stored what smc_sockopt_set() has to see */
	if (!first)
		WRITE_ONCE(sk->sk_sndbuf, 2 * conn->tx.want);
	/* others wait for room, too: no completion tells them while the peer's window is closed */
	rcu_read_lock();
	sk->sk_write_space(sk);
	rcu_read_unlock();
	return true;
}

/*
 * Write all bytes of a call, waiting for space. Return 0 or the error that ended the call;
 * call->copied counts the bytes taken before. Drops the socket lock while asleep.
 */
static int sendmsg_write_all(struct smc_sock *smc, struct smc_conn *conn,
			     struct sendmsg_call *call)
{
	bool full = false;
	ssize_t rc;

	for (;;) {
		if (!sendmsg_may_send(smc, conn) || smc->conn != conn)
			return -EPIPE;
		if (!msg_data_left(call->msg))
			return 0;
		rc = sendmsg_write(conn, call);
		if (rc == -EPIPE && smc_conn_peer_has_closed(conn))
			rc = sendmsg_lose(conn, call);
		if (rc > 0) {
			call->copied += rc;
			smc_keepalive_data_queued(smc);
			if (!msg_data_left(call->msg))
				return 0;
			continue;
		}
		if (rc == -EAGAIN) {
			if (sendmsg_grow_ring(smc, conn))
				continue;
			if (!full && !smc_conn_awaits_ring(conn))
				smc_stats_count(conn->stats, SMC_STAT_TX_FULL, 1);
			full = true;
			smc_tx_push(conn, false);
			rc = sendmsg_wait_space(smc, conn, &call->timeo);
		}
		if (rc) {
			/* bytes written before may wait for the rest, which does not come */
			smc_tx_push(conn, call->more);
			/* prefer the error of an abort that came meanwhile */
			smc_stream_sync(smc);
			return rc;
		}
	}
}

/**
 * smc_stream_sendmsg() - sendmsg() in SMC mode
 * @smc: socket in SMC mode
 * @msg: message
 * @len: its length
 *
 * MSG_OOB: the last byte is urgent (RFC 7609 4.7.5). A short write has no urgent byte; the caller
 * sends the rest with MSG_OOB too. Takes the socket lock; waits for SO_SNDTIMEO at most.
 *
 * Return: bytes taken or an error, as sendmsg(). Raises SIGPIPE.
 */
int smc_stream_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len)
{
	struct sendmsg_call call = { .msg = msg, .flags = msg->msg_flags };
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn;
	int rc;

	/* data path 1 */
	lock_sock(sk);
	call.more = call.flags & MSG_MORE || test_bit(SMC_SF_CORK, &smc->flags);
	smc_stats_count(smc->stats, SMC_STAT_TX_CNT, 1);
	call.timeo = sock_sndtimeo(sk, call.flags & MSG_DONTWAIT);
	sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	rc = sendmsg_control(sk, msg);
	if (!rc)
		rc = sendmsg_pages_begin(sk, msg, len, call.flags, &call.pages);
	if (rc) {
		release_sock(sk);
		return rc;
	}
	/* a reference: connect(AF_UNSPEC) may drop the socket's while this call sleeps */
	conn = smc_stream_conn_get_locked(smc);
	if (conn) {
		sendmsg_count(conn, call.flags, len);
		if (sendmsg_leaves_first_ring(conn, len))
			sendmsg_grow_ring(smc, conn);
	}
	rc = sendmsg_write_all(smc, conn, &call);
	if (call.copied) {
		smc_stats_count_size(smc->stats, SMC_HIST_TX_REQ, call.copied);
		if (trace_smc_tx_sendmsg_enabled())
			smc_stream_trace(sk, conn, call.copied, true);
	}
	if (call.copied && call.more && conn == smc->conn)
		smc_stream_flush_later(smc);
	sendmsg_pages_end(&call.pages, call.copied || !rc);
	if (call.copied)
		rc = call.copied;
	else if (rc)
		rc = sk_stream_error(sk, call.flags, rc);
	release_sock(sk);
	if (conn)
		smc_conn_put(conn);
	return rc;
}
