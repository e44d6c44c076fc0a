// SPDX-License-Identifier: GPL-2.0-only
/*
 * SMC mode: recvmsg(), with urgent data (RFC 7609 4.7.6), and splice() from the stream. The bytes
 * come from smc_rx_read() (smc_rx.c), copied, or as pages of the RMBE (SMC_OWN_SPLICE_LEND).
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pipe_fs_i.h>
#include <linux/sched/signal.h>
#include <linux/splice.h>
#include <linux/uio.h>
#include <net/busy_poll.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/rx.h>
#include "cmsg.h"
#include "stream.h"

/* ---- recvmsg ----------------------------------------------------------------- */

static bool recvmsg_woken(struct smc_sock *smc, struct smc_conn *conn,
			  const struct smc_rx_call *call)
{
	const struct sock *sk = smc_sock_sk(smc);

	return smc_rx_get_readable(conn) > call->skip || READ_ONCE(sk->sk_err) ||
	       /* a call with data returns at urgent data, which may not be readable in line */
	       (call->got_some && !call->peek && smc_rx_is_at_mark(conn)) ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
	       READ_ONCE(smc->synced_state) != (int)smc_conn_state(conn);
}

/*
 * SO_BUSY_POLL, net.core.busy_read: look for data for a while before going to sleep. TCP polls its
 * network device. Here the RNIC's interrupt brings the data, on another processor if it is to pay,
 * and what is saved is the wake-up. Drops the socket lock. Returns true if there is something.
 */
static bool recvmsg_busy_poll(struct smc_sock *smc, struct smc_conn *conn,
			      const struct smc_rx_call *call)
{
	struct sock *sk = smc_sock_sk(smc);
	unsigned long start = busy_loop_current_time();
	bool woken;

	sock_owned_by_me(sk);
	release_sock(sk);
	while (!(woken = recvmsg_woken(smc, conn, call)) && !signal_pending(current) &&
	       !sk_busy_loop_timeout(sk, start)) {
		cond_resched();
		cpu_relax();
	}
	lock_sock(sk);
	return woken;
}

/* Wait for data or the end of the stream. Drops the socket lock while asleep. */
static void recvmsg_wait_data(struct smc_sock *smc, struct smc_conn *conn,
			      struct smc_rx_call *call, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = smc_sock_sk(smc);

	sock_owned_by_me(sk);
	/* as on TCP, once, before the first byte, and the time does not count as waited */
	if (sk_can_busy_loop(sk) && !call->got_some && !call->polled) {
		call->polled = true;
		if (recvmsg_busy_poll(smc, conn, call))
			return;
	}
	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	/*
	 * Pairs with skwq_has_sleeper() of sk_data_ready(): bytes are stored, then the queue is
	 * read. They arrive under conn->lock, so the socket lock gives no order here.
	 */
	smp_mb();
	sk_wait_event(sk, timeo, recvmsg_woken(smc, conn, call), &wait);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/**
 * struct recvmsg_state - state of the socket, read before its ring
 * @ended: the peer has ended its direction of the stream
 * @shutdown: sk_shutdown
 * @err: sk_err
 * @state: sk_state
 *
 * In this order data that arrived before the end of the stream is returned before the end.
 */
struct recvmsg_state {
	bool ended;
	int shutdown;
	int err;
	int state;
};

static void recvmsg_read_state(const struct sock *sk, const struct smc_conn *conn,
			       struct recvmsg_state *seen)
{
	/* pairs with conn_report_end() */
	seen->ended = smp_load_acquire(&conn->rx.ended);
	seen->shutdown = READ_ONCE(sk->sk_shutdown);
	/* pairs with smc_stream_sync(): sk_err is stored before sk_shutdown */
	smp_rmb();
	seen->err = READ_ONCE(sk->sk_err);
	seen->state = inet_sk_state_load(sk);
	/* pairs with smc_stream_sync(): who sees the error sees what arrived before it */
	smp_rmb();
}

/* Return the result of a call that found nothing readable, or -EINPROGRESS: it has to wait. */
static int recvmsg_empty_result(struct smc_sock *smc, const struct recvmsg_state *seen, long timeo,
				bool some)
{
	if (some) {
		if (seen->err || seen->shutdown & RCV_SHUTDOWN || seen->state == TCP_CLOSE ||
		    !timeo || signal_pending(current))
			return 0;
		return -EINPROGRESS;
	}
	/* as on TCP, before an error that came later, which is left to writers and SO_ERROR */
	if (seen->ended)
		return 0;
	if (seen->err)
		return sock_error(smc_sock_sk(smc));
	if (seen->shutdown & RCV_SHUTDOWN)
		return 0;
	if (seen->state == TCP_CLOSE)
		return -ENOTCONN;
	if (!timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	return -EINPROGRESS;
}

/*
 * Receive bytes of the stream. @splice: for splice(), which returns what there is, as on TCP;
 * @lend: lend pages to it instead of copying to @msg. Drops the socket lock while asleep.
 */
static int recvmsg_locked(struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg,
			  size_t len, int flags, bool splice, struct splice_pipe_desc *lend)
{
	struct sock *sk = smc_sock_sk(smc);
	bool peek = flags & MSG_PEEK;
	struct smc_rx_call call = {
		.skip = peek ? max(READ_ONCE(sk->sk_peek_off), 0) : 0,
		.peek = peek,
		.lend_to = lend,
	};
	struct iov_iter *to = flags & MSG_TRUNC ? NULL : &msg->msg_iter;
	int copied = 0, target, end;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	struct recvmsg_state seen;
	ssize_t rc;

	sock_owned_by_me(sk);
	len = min_t(size_t, len, INT_MAX);
	target = splice ? 1 : sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	for (;;) {
		if (smc->conn != conn)
			return copied ?: -ENOTCONN;
		smc_stream_sync_if_changed(smc, conn);
		recvmsg_read_state(sk, conn, &seen);
		call.in_line = sock_flag(sk, SOCK_URGINLINE);
		/* SIGURG interrupts a call that has no data yet */
		if (!call.got_some && signal_pending(current) && smc_rx_is_at_mark(conn))
			return timeo ? sock_intr_errno(timeo) : -EAGAIN;
		if (len)
			rc = smc_rx_read(conn, to, len - copied, &call);
		else
			rc = smc_rx_get_readable(conn) ? 0 : -EAGAIN;
		if (rc > 0) {
			copied += rc;
			if (copied < len)
				continue;
			break;
		}
		if (!rc && copied)
			break;	/* next is urgent data */
		if (rc != -EAGAIN && !copied)
			return rc;
		if (rc != -EAGAIN || copied >= target)
			break;
		/* the peer cannot send more until something is consumed */
		if (peek && copied &&
		    (call.skip >= smc_rx_get_max_readable(conn) || smc_rx_does_peer_wait(conn)))
			break;
		end = recvmsg_empty_result(smc, &seen, timeo, copied);
		if (end != -EINPROGRESS) {
			if (!copied)
				copied = end;
			break;
		}
		recvmsg_wait_data(smc, conn, &call, &timeo);
	}
	if (copied > 0 && peek)
		sk_peek_offset_fwd(sk, copied);
	else if (copied > 0)
		sk_peek_offset_bwd(sk, copied);
	/* under the socket lock, so that no other reader consumes bytes */
	if (copied >= 0 && smc_cmsg_is_needed(smc, msg))
		smc_cmsg_put(smc, conn, msg, copied, peek ? call.skip : 0);
	return copied;
}

/* Receive the urgent byte (MSG_OOB). As on TCP, does not wait. */
static int recvmsg_urgent(struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg,
			  size_t len, int flags)
{
	struct sock *sk = smc_sock_sk(smc);
	u8 byte;
	int rc;

	sock_owned_by_me(sk);
	if (sock_flag(sk, SOCK_URGINLINE))
		return -EINVAL;
	smc_stream_sync_if_changed(smc, conn);
	rc = smc_rx_take_urgent(conn, flags & MSG_PEEK, &byte);
	if (rc == -EAGAIN && READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
		return 0;
	if (rc)
		return rc;
	smc_stats_count(conn->stats, SMC_STAT_RX_URGENT, 1);
	msg->msg_flags |= MSG_OOB;
	if (!len) {
		msg->msg_flags |= MSG_TRUNC;
		return 0;
	}
	if (!(flags & MSG_TRUNC) && memcpy_to_msg(msg, &byte, 1))
		return -EFAULT;
	if (!(flags & MSG_PEEK))
		smc_stats_count(conn->stats, SMC_STAT_RX_BYTES, 1);
	return 1;
}

static int recvmsg_receive(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags,
			   bool splice, struct splice_pipe_desc *lend)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn;
	int rc = -ENOTCONN;

	lock_sock(sk);
	conn = smc_stream_conn_get_locked(smc);
	if (conn && flags & MSG_OOB) {
		rc = recvmsg_urgent(smc, conn, msg, len, flags);
	} else if (conn) {
		/* data path 12 */
		rc = recvmsg_locked(smc, conn, msg, len, flags, splice, lend);
		/* not if the caller tries again, by copying or after a wait */
		if (len > conn->rx.ring.size && !(lend && (rc == -EAGAIN || rc == -EOPNOTSUPP)))
			smc_stats_count(conn->stats, SMC_STAT_RX_SMALL, 1);
	}
	if (conn && rc > 0) {
		smc_stats_count_size(conn->stats, SMC_HIST_RX_REQ, rc);
		if (trace_smc_rx_recvmsg_enabled())
			smc_stream_trace(sk, conn, rc, false);
	}
	if (conn)
		smc_conn_put(conn);
	release_sock(sk);
	return rc;
}

/**
 * smc_stream_recvmsg() - recvmsg() in SMC mode
 * @smc: socket in SMC mode
 * @msg: message
 * @len: size of its buffer
 * @flags: MSG_*
 *
 * Takes the socket lock. Waits for SO_RCVTIMEO at most.
 *
 * Return: as recvmsg().
 */
int smc_stream_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags)
{
	smc_stats_count(smc->stats, SMC_STAT_RX_CNT, 1);
	return recvmsg_receive(smc, msg, len, flags, false, NULL);
}

/* ---- splice ------------------------------------------------------------------ */

static void recvmsg_splice_release_page(struct splice_pipe_desc *spd, unsigned int i)
{
	put_page(spd->pages[i]);
}

/* Copy into new pages for the pipe. Return bytes or -errno; the pages are in @spd. */
static ssize_t recvmsg_splice_copy(struct smc_sock *smc, struct splice_pipe_desc *spd, size_t len,
				   int flags)
{
	struct bio_vec vec[PIPE_DEF_BUFFERS];
	struct msghdr msg = {};
	unsigned int n, i;
	ssize_t rc, left;

	for (n = 0; n < spd->nr_pages_max && n * PAGE_SIZE < len; n++) {
		spd->pages[n] = smc_fault_null(SPLICE_PAGE, alloc_page(GFP_KERNEL_ACCOUNT));
		if (!spd->pages[n])
			break;
		vec[n].bv_page = spd->pages[n];
		vec[n].bv_len = PAGE_SIZE;
		vec[n].bv_offset = 0;
	}
	if (!n)
		return -ENOMEM;
	len = min_t(size_t, len, n * PAGE_SIZE);
	iov_iter_bvec(&msg.msg_iter, ITER_DEST, vec, n, len);
	rc = recvmsg_receive(smc, &msg, len, flags, true, NULL);
	left = max_t(ssize_t, rc, 0);
	for (i = 0; i < n; i++) {
		if (!left) {
			put_page(spd->pages[i]);
			continue;
		}
		spd->partial[i].offset = 0;
		spd->partial[i].len = min_t(size_t, left, PAGE_SIZE);
		left -= spd->partial[i].len;
		spd->nr_pages++;
	}
	return rc;
}

/* Lend pages of the RMBE to the pipe, or copy what cannot be lent. Does not wait. */
static ssize_t recvmsg_splice_lend(struct smc_sock *smc, struct splice_pipe_desc *spd, size_t len)
{
	struct msghdr msg = {};
	ssize_t rc = recvmsg_receive(smc, &msg, len, MSG_DONTWAIT, true, spd);

	if (rc != -EOPNOTSUPP)
		return rc;
	rc = recvmsg_splice_copy(smc, spd, len, MSG_DONTWAIT);
	if (rc > 0)
		smc_stats_add(sock_net(smc_sock_sk(smc)), SMC_STAT_RX_LEND_COPIED, rc);
	return rc;
}

/* Wait for readable data. Return 1, or the result of the call. Takes the socket lock. */
static int recvmsg_wait_readable(struct smc_sock *smc, struct smc_rx_call *call, long *timeo)
{
	struct sock *sk = smc_sock_sk(smc);
	struct recvmsg_state seen;
	struct smc_conn *conn;
	int rc = -ENOTCONN;

	lock_sock(sk);
	conn = smc_stream_conn_get_locked(smc);
	while (conn && smc->conn == conn) {
		smc_stream_sync_if_changed(smc, conn);
		recvmsg_read_state(sk, conn, &seen);
		/*
		 * Check for signals before data: at urgent data the read returns for a signal, and
		 * would be tried again for ever.
		 */
		if (*timeo && signal_pending(current))
			rc = sock_intr_errno(*timeo);
		else if (smc_rx_get_readable(conn))
			rc = 1;
		else
			rc = recvmsg_empty_result(smc, &seen, *timeo, false);
		if (rc != -EINPROGRESS)
			break;
		rc = -ENOTCONN;
		recvmsg_wait_data(smc, conn, call, timeo);
	}
	if (conn)
		smc_conn_put(conn);
	release_sock(sk);
	return rc;
}

/*
 * Wait for readable data without the pipe's lock: the peer may wait for lent pages that are in this
 * pipe, and the reader of the pipe needs the lock to free them. The caller has locked every pipe
 * that a socket can be spliced to; sendfile() uses an unlocked one, but does not read from sockets.
 */
static int recvmsg_splice_wait(struct smc_sock *smc, struct pipe_inode_info *pipe,
			       struct smc_rx_call *call, long *timeo)
{
	int rc;

	pipe_unlock(pipe);
	rc = recvmsg_wait_readable(smc, call, timeo);
	pipe_lock(pipe);
	if (rc <= 0 || pipe->readers)
		return rc;
	send_sig(SIGPIPE, current, 0);
	return -EPIPE;
}

/* Return the number of free buffers of the pipe. Bytes that were read cannot be put back. */
static unsigned int recvmsg_pipe_room(const struct pipe_inode_info *pipe)
{
	return pipe->max_usage - min(pipe->max_usage, pipe_occupancy(pipe->head, pipe->tail));
}

/**
 * smc_stream_splice_read() - splice() from the stream into a pipe
 * @smc: socket in SMC mode
 * @pipe: pipe, locked by the caller; unlocked while SMC_OWN_SPLICE_LEND waits for data
 * @len: bytes
 * @nonblock: do not wait
 *
 * Takes the socket lock. SMC_OWN_SPLICE_LEND lends pages of the RMBE; else the bytes are copied.
 *
 * Return: as splice().
 */
ssize_t smc_stream_splice_read(struct smc_sock *smc, struct pipe_inode_info *pipe, size_t len,
			       bool nonblock)
{
	struct page *pages[PIPE_DEF_BUFFERS];
	struct partial_page partial[PIPE_DEF_BUFFERS];
	struct splice_pipe_desc spd = {
		.pages		= pages,
		.partial	= partial,
		.ops		= &nosteal_pipe_buf_ops,
		.spd_release	= recvmsg_splice_release_page,
	};
	struct net *net = sock_net(smc_sock_sk(smc));
	long timeo = sock_rcvtimeo(smc_sock_sk(smc), nonblock);
	struct smc_rx_call wait = {};
	ssize_t rc;

	smc_stats_inc(net, SMC_STAT_RX_SPLICE);
	smc_stats_inc(net, SMC_STAT_RX_CNT);
	if (!len)
		return 0;
	do {
		spd.nr_pages_max = min_t(unsigned int, recvmsg_pipe_room(pipe), PIPE_DEF_BUFFERS);
		if (!spd.nr_pages_max)
			return -EAGAIN;
		if (!test_bit(SMC_SF_LEND, &smc->flags)) {
			rc = recvmsg_splice_copy(smc, &spd, len, nonblock ? MSG_DONTWAIT : 0);
			break;
		}
		rc = recvmsg_splice_lend(smc, &spd, len);
		if (rc == -EAGAIN && timeo)
			rc = recvmsg_splice_wait(smc, pipe, &wait, &timeo);
		else
			break;
	} while (rc > 0);
	return spd.nr_pages ? splice_to_pipe(pipe, &spd) : rc;
}
