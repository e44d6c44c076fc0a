// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of deferred sockets (deferred.h): what TCP carries up to byte S of each direction, then
 * the ring.
 *
 * Sending. A call that enters TCP counts itself at the gate. When the two ends have agreed, whoever
 * enters or leaves while nobody is inside shuts the gate; for a program that writes nothing the
 * work does. Later calls use the ring.
 *
 * Receiving. Our code waits, never the clcsock: a reader asleep in TCP would not notice the ring.
 * It takes what TCP has up to S, and then what the ring has, under the socket lock. Before the two
 * ends have agreed TCP itself decides what a call returns that finds nothing.
 */
#include <linux/errqueue.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/socket.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/time_types.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/tcp_states.h>
#include <asm/ioctls.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/rx.h>
#include <smc/conn/tx.h>
#include "cmsg.h"
#include "deferred.h"
#include "fallback.h"
#include "stream.h"

/* ---- what a reader sees -------------------------------------------------------- */

/**
 * struct deferred_end - what ends a stream of which TCP alone does not decide
 * @err: sk_err
 * @shut: the application has shut down its receiving direction
 * @ended: nothing more comes: the connection, or TCP while nothing is agreed, has ended
 */
struct deferred_end {
	int err;
	bool shut;
	bool ended;
};

/**
 * struct deferred_view - both transports at one moment
 * @conn: connection, with a reference; NULL: there is none
 * @end: read before all others, so that bytes that came before an end are returned before it
 * @tcp: what TCP has received, and the application has read of it
 * @c: states of the upgrade, S; all zero without a connection: plain TCP
 */
struct deferred_view {
	struct smc_conn *conn;
	struct deferred_end end;
	struct smc_upgrade_tcp tcp;
	struct smc_conn_upgrade_view c;
};

/* Nothing is agreed: TCP alone says what a reader gets. */
static bool deferred_tcp_decides(const struct deferred_view *v)
{
	return v->c.states.rx == SMC_UPGRADE_RX_TCP || v->c.states.rx == SMC_UPGRADE_RX_TCP_END;
}

static bool deferred_is_agreed(const struct deferred_view *v)
{
	return v->c.states.agree == SMC_UPGRADE_SMC;
}

/* Take over the error of the connection, or that of TCP while nothing is agreed. */
static void deferred_sync(struct smc_sock *smc, const struct deferred_view *v)
{
	if (!deferred_is_agreed(v)) {
		smc_fallback_pull_error(smc);
		return;
	}
	/* the notification that says so may come later */
	if (!READ_ONCE(smc->conn))
		smc_deferred_adopt(smc);
	smc_stream_sync_if_changed(smc, v->conn);
}

/* Read what ends the stream. The end first: its error has been stored before. */
static void deferred_read_end(struct smc_sock *smc, struct deferred_view *v)
{
	v->end.shut = READ_ONCE(smc->deferred->rcv_shut);
	v->end.ended = deferred_is_agreed(v) ?
		       smc_conn_state_ignores_peer(smc_conn_state(v->conn)) :
		       inet_sk_state_load(smc->clcsock.sock->sk) == TCP_CLOSE;
	deferred_sync(smc, v);
	/* another processor may just take the error over: the lock waits for it */
	spin_lock_bh(&smc->state_lock);
	v->end.err = READ_ONCE(smc_sock_sk(smc)->sk_err);
	spin_unlock_bh(&smc->state_lock);
}

/*
 * First what ends the stream; whose end that is depends on the states, which may change meanwhile:
 * then once more. TCP before the states: a FIN that is there while they say that nothing is agreed
 * was there before any agreement.
 */
static void deferred_look(struct smc_sock *smc, struct deferred_view *v)
{
	bool agreed, decided;

	memset(v, 0, sizeof(*v));
	v->conn = smc_deferred_conn_get(smc);
	if (!v->conn)
		return;
	if (READ_ONCE(smc->conn)) {
		v->c.states.agree = SMC_UPGRADE_SMC;
		v->c.states.rx = SMC_UPGRADE_RX_OPEN;
	}
	do {
		agreed = deferred_is_agreed(v);
		decided = deferred_tcp_decides(v);
		if (!decided)
			deferred_read_end(smc, v);
		smc_deferred_get_tcp(smc, &v->tcp);
		smc_conn_upgrade_get_view(v->conn, &v->c);
	} while (agreed != deferred_is_agreed(v) || decided != deferred_tcp_decides(v));
}

static void deferred_look_end(struct deferred_view *v)
{
	if (v->conn)
		smc_conn_put(v->conn);
	v->conn = NULL;
}

/* TCP has received all bytes before S: those of the ring are visible. */
static bool deferred_sees_ring(const struct deferred_view *v)
{
	return v->conn && smc_upgrade_rx_check_tcp(&v->c.rx_s, &v->tcp) == 1;
}

/* ... and the application has read them. */
static bool deferred_is_at_ring(const struct deferred_view *v)
{
	return deferred_sees_ring(v) && v->tcp.read == v->tcp.received;
}

static u32 deferred_tcp_part(const struct deferred_view *v)
{
	return smc_upgrade_rx_tcp_part(&v->c.rx_s, &v->tcp);
}

/* TCP's urgent byte is next, and not in line: a read passes over it. */
static bool deferred_skips_urgent(const struct smc_sock *smc)
{
	return smc_clcsock_is_at_mark(&smc->clcsock) &&
	       !sock_flag(smc->clcsock.sock->sk, SOCK_URGINLINE);
}

/* Bytes of TCP that a reader can get. */
static u32 deferred_tcp_count(const struct smc_sock *smc, const struct deferred_view *v)
{
	u32 part = deferred_tcp_part(v);

	return part && deferred_skips_urgent(smc) ? part - 1 : part;
}

static u32 deferred_ring_part(const struct deferred_view *v)
{
	return deferred_sees_ring(v) ? (u32)smc_rx_get_readable(v->conn) : 0;
}

/* What TCP has for a reader, FIN and an urgent byte included. */
static u32 deferred_tcp_raw(const struct smc_sock *smc)
{
	const struct tcp_sock *tp = tcp_sk(smc->clcsock.sock->sk);

	return READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
}

/* TCP returns from a read without bytes at once: it has ended, or was shut down. */
static bool deferred_tcp_is_over(const struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;

	return READ_ONCE(csk->sk_err) || READ_ONCE(csk->sk_shutdown) & RCV_SHUTDOWN ||
	       inet_sk_state_load(csk) == TCP_CLOSE;
}

/*
 * Neither FIN nor the end of TCP that follows is the end of the stream, although nothing is agreed:
 * what comes behind it may come through the ring.
 */
static bool deferred_end_is_open(const struct smc_sock *smc, const struct deferred_view *v)
{
	return v->c.states.rx == SMC_UPGRADE_RX_OPEN &&
	       (v->c.states.agree == SMC_UPGRADE_ANSWERED ||
		v->c.states.agree == SMC_UPGRADE_SMC) &&
	       !READ_ONCE(smc->deferred->tcp_err) && !READ_ONCE(smc->deferred->rcv_shut);
}

/* The peer's direction ends here, in good order. */
static bool deferred_is_at_end(const struct deferred_view *v)
{
	return smc_upgrade_rx_at_end(v->c.states.rx, &v->c.rx_s, &v->tcp, deferred_ring_part(v),
				     v->c.ended);
}

/*
 * Nothing follows what can be read now, and that is no good end. A connection that has ended in
 * good order may be waiting for the last bytes of TCP, which may have ended, too.
 */
static bool deferred_is_lost(const struct smc_sock *smc, const struct deferred_view *v)
{
	if (!v->end.ended)
		return false;
	if (deferred_is_agreed(v))
		return !v->c.ended || v->tcp.lost || READ_ONCE(smc->deferred->tcp_err);
	return !deferred_end_is_open(smc, v);
}

/* The same as deferred_tcp_is_over() for a stream that TCP does not decide. */
static bool deferred_stream_is_over(const struct smc_sock *smc, const struct deferred_view *v)
{
	return v->end.err || v->end.shut || deferred_is_at_end(v) || deferred_is_lost(smc, v);
}

/* Bytes that a reader can get: for waits, which end when there are more. */
static u32 deferred_count(const struct smc_sock *smc, const struct deferred_view *v)
{
	return deferred_tcp_decides(v) ? deferred_tcp_raw(smc) :
					 deferred_tcp_part(v) + deferred_ring_part(v);
}

static bool deferred_is_over(const struct smc_sock *smc, const struct deferred_view *v)
{
	return deferred_tcp_decides(v) ? deferred_tcp_is_over(smc) :
					 deferred_stream_is_over(smc, v);
}

static bool deferred_woken(struct smc_sock *smc, u32 had, bool decided)
{
	struct deferred_view v;
	bool woken;
	u32 seen;

	if (smc_sock_mode(smc) != SMC_MODE_DEFERRED)
		return true;
	deferred_look(smc, &v);
	/* not for an urgent byte that is not in line: who has seen nothing gets nothing from it */
	seen = had || deferred_tcp_decides(&v) ?
		       deferred_count(smc, &v) :
		       deferred_tcp_count(smc, &v) + deferred_ring_part(&v);
	woken = seen > had || deferred_is_over(smc, &v) ||
		deferred_tcp_decides(&v) != decided;
	deferred_look_end(&v);
	return woken;
}

/* Wait for more than @had bytes, or for an end. Drops the socket lock while asleep. */
static void deferred_wait(struct smc_sock *smc, u32 had, bool decided, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = smc_sock_sk(smc);

	sock_owned_by_me(sk);
	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	smp_mb();	/* pairs with skwq_has_sleeper(), as in recvmsg_wait_data() */
	sk_wait_event(sk, timeo, deferred_woken(smc, had, decided), &wait);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* ---- the gate ------------------------------------------------------------------ */

/* The two ends have agreed, and nobody may be inside: shut the gate. The program's own call. */
static void deferred_try_gate(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	bool shut;

	lock_sock(csk);
	shut = smc_deferred_shut_gate_locked(smc);
	release_sock(csk);
	/* an urgent byte is unacknowledged, and the work may have found us inside: it polls */
	if (!shut && !READ_ONCE(smc->deferred->gate))
		smc_deferred_queue_work(smc);
	if (!shut || !smc_clcsock_has_unsent(&smc->clcsock))
		return;
	/* keeps setsockopt() away */
	lock_sock(smc_sock_sk(smc));
	smc_clcsock_push(&smc->clcsock);
	release_sock(smc_sock_sk(smc));
}

static bool deferred_gate_is_wanted(const struct smc_sock *smc)
{
	return READ_ONCE(smc->conn) && !READ_ONCE(smc->deferred->ring);
}

/* Return true if the call uses the ring; else it is inside, and calls deferred_leave(). */
static bool deferred_uses_ring(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;

	/* pairs with smc_deferred_shut_gate_locked() */
	if (smp_load_acquire(&d->ring))
		return true;
	if (deferred_gate_is_wanted(smc) && !READ_ONCE(d->gate))
		deferred_try_gate(smc);
	if (smc_deferred_gate_enter(d))
		return false;
	/* it was shut just now: S is fixed when the lock is free */
	lock_sock(smc->clcsock.sock->sk);
	release_sock(smc->clcsock.sock->sk);
	return true;
}

static void deferred_leave(struct smc_sock *smc)
{
	if (smc_deferred_gate_leave(smc->deferred) && deferred_gate_is_wanted(smc))
		deferred_try_gate(smc);
}

/* ---- sending ------------------------------------------------------------------- */

/*
 * A call inside TCP has returned @rc. If that is the error with which TCP has ended, the program
 * knows it: neither TCP nor the connection reports it once more.
 */
static void deferred_note_sent(struct smc_sock *smc, ssize_t rc)
{
	struct sock *csk = smc->clcsock.sock->sk, *sk = smc_sock_sk(smc);
	int err = READ_ONCE(smc->deferred->tcp_err);

	if (rc > 0)
		smc_deferred_note_bytes(smc);
	if (!err || rc != -err)
		return;
	spin_lock_bh(&smc->state_lock);
	/* the other one may have been as fast */
	if (test_and_set_bit(SMC_SF_ERR_REPORTED, &smc->flags))
		cmpxchg(&sk->sk_err, err, 0);
	cmpxchg(&csk->sk_err, err, 0);
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_deferred_sendmsg() - sendmsg() of a deferred socket
 * @smc: socket
 * @msg: message
 * @len: its length
 *
 * Return: as sendmsg(); %SMC_DEFERRED_OVER.
 */
int smc_deferred_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len)
{
	int rc;

	if (deferred_uses_ring(smc))
		return msg->msg_flags & MSG_FASTOPEN ? -EISCONN : smc_stream_sendmsg(smc, msg, len);
	rc = SMC_DEFERRED_OVER;
	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED)
		rc = smc_fallback_sendmsg(smc, msg, len);
	deferred_leave(smc);
	deferred_note_sent(smc, rc);
	return rc;
}

#ifdef SMC_HAVE_SENDPAGE
/**
 * smc_deferred_sendpage() - sendpage() of a deferred socket
 * @smc: socket
 * @page: page
 * @offset: offset of the first byte in @page
 * @size: bytes
 * @flags: MSG_*
 *
 * Return: as sendpage(); %SMC_DEFERRED_OVER: the caller sends a message instead, whatever the mode
 * is.
 */
ssize_t smc_deferred_sendpage(struct smc_sock *smc, struct page *page, int offset, size_t size,
			      int flags)
{
	ssize_t rc = SMC_DEFERRED_OVER;

	if (deferred_uses_ring(smc))
		return rc;
	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED)
		rc = smc_fallback_sendpage(smc, page, offset, size, flags);
	deferred_leave(smc);
	deferred_note_sent(smc, rc);
	return rc;
}
#endif

/**
 * smc_deferred_splice_eof() - no more pages follow: send what waits for them
 * @smc: deferred socket
 */
void smc_deferred_splice_eof(struct smc_sock *smc)
{
#ifdef SMC_HAVE_SPLICE_EOF
	const struct proto_ops *ops = smc_sock_clcsock_ops(smc);

	/* pairs with smc_deferred_shut_gate_locked() */
	if (smp_load_acquire(&smc->deferred->ring))
		smc_stream_flush(smc);
	else if (ops->splice_eof)
		ops->splice_eof(smc->clcsock.sock);
#endif
}

/* ---- receiving ----------------------------------------------------------------- */

/*
 * What carried the last bytes of a call. Its control messages count, as with TCP those of its last
 * segment.
 */
enum deferred_source {
	DEFERRED_TCP,	/* before the agreement: TCP has put its own */
	DEFERRED_TAIL,	/* TCP, behind which the ring follows */
	DEFERRED_RING,
};

/* Time stamps in two formats, TCP_INQ. */
#define STAMPS_SPACE	(CMSG_SPACE(sizeof(struct __kernel_timespec)) +			\
			 CMSG_SPACE(sizeof(struct scm_timestamping64)) + CMSG_SPACE(sizeof(int)))

/**
 * struct deferred_recv - one call of recvmsg()
 * @msg: the caller's message
 * @len: size of its buffer
 * @flags: MSG_*, without MSG_DONTWAIT and MSG_WAITALL
 * @copied: bytes so far
 * @target: bytes that a call waits for
 * @timeo: jiffies left to wait
 * @ring: state of the part that comes from the ring
 * @from_ring: bytes of it
 * @source: what carried the last bytes
 * @control: control buffer of the message
 * @stamps: control messages of the last bytes of a tail
 * @stamps_len: their length
 */
struct deferred_recv {
	struct msghdr *msg;
	size_t len;
	int flags;
	int copied;
	int target;
	long timeo;
	struct smc_rx_call ring;
	u32 from_ring;
	enum deferred_source source;
	struct {
		void *at;
		size_t left;
	} control;
	u8 stamps[STAMPS_SPACE] __aligned(sizeof(size_t));
	size_t stamps_len;
};

/* Let the control buffer begin at @at, with @left bytes. */
static void deferred_set_control(struct msghdr *msg, void *at, size_t left)
{
	msg->msg_control = at;
	msg->msg_controllen = left;
}

/* Read from TCP without waiting. */
static int deferred_read_tcp(struct smc_sock *smc, struct deferred_recv *call, size_t len)
{
	struct msghdr *msg = call->msg;
	void *at = msg->msg_control;
	size_t left = msg->msg_controllen;
	int rc;

	deferred_set_control(msg, call->control.at, call->control.left);
	rc = smc_fallback_recvmsg(smc, msg, len, call->flags | MSG_DONTWAIT);
	if (rc > 0)
		call->source = DEFERRED_TCP;
	else if (rc || call->copied)
		deferred_set_control(msg, at, left);
	return rc;
}

/* The same while the ring may follow. The control messages wait for the end of the call. */
static int deferred_read_tail(struct smc_sock *smc, struct deferred_recv *call, size_t len)
{
	struct msghdr *msg = call->msg;
	unsigned int compat = msg->msg_flags & MSG_CMSG_COMPAT;
	bool user = msg->msg_control_is_user;
	void *at = msg->msg_control;
	size_t left = msg->msg_controllen;
	u8 stamps[STAMPS_SPACE] __aligned(sizeof(size_t));
	int rc;

	if (!smc_cmsg_is_needed(smc, msg)) {
		rc = smc_fallback_recvmsg(smc, msg, len, call->flags | MSG_DONTWAIT);
		goto out;
	}
	msg->msg_flags &= ~MSG_CMSG_COMPAT;
	msg->msg_control_is_user = false;
	deferred_set_control(msg, stamps, sizeof(stamps));
	rc = smc_fallback_recvmsg(smc, msg, len, call->flags | MSG_DONTWAIT);
	if (rc > 0) {
		call->stamps_len = sizeof(stamps) - msg->msg_controllen;
		memcpy(call->stamps, stamps, call->stamps_len);
	}
	msg->msg_flags |= compat;
	msg->msg_control_is_user = user;
	deferred_set_control(msg, at, left);
out:
	if (rc > 0)
		call->source = DEFERRED_TAIL;
	return rc;
}

/* SO_PEEK_OFF counts from the next byte of TCP. */
static int deferred_read_tcp_part(struct smc_sock *smc, struct deferred_recv *call, size_t len)
{
	struct sock *csk = smc->clcsock.sock->sk, *sk = smc_sock_sk(smc);
	int off = READ_ONCE(sk->sk_peek_off), rc;

	WRITE_ONCE(csk->sk_peek_off, off);
	rc = deferred_read_tail(smc, call, len);
	if (off < 0)
		return rc;
	if (rc > 0)
		off = call->flags & MSG_PEEK ? off + rc : max(off - rc, 0);
	WRITE_ONCE(csk->sk_peek_off, off);
	WRITE_ONCE(sk->sk_peek_off, off);
	return rc;
}

/* Read from the ring without waiting. Return as smc_rx_read(). */
static int deferred_read_ring(struct smc_sock *smc, struct smc_conn *conn,
			      struct deferred_recv *call)
{
	struct iov_iter *to = call->flags & MSG_TRUNC ? NULL : &call->msg->msg_iter;
	struct sock *sk = smc_sock_sk(smc);
	int done = 0;
	ssize_t rc;

	call->ring.in_line = sock_flag(sk, SOCK_URGINLINE);
	call->ring.peek = call->flags & MSG_PEEK;
	do {
		rc = smc_rx_read(conn, to, call->len - call->copied - done, &call->ring);
		if (rc > 0)
			done += rc;
	} while (rc > 0 && call->copied + done < call->len);
	if (!done)
		return rc;
	call->source = DEFERRED_RING;
	call->from_ring += done;
	if (call->ring.peek)
		sk_peek_offset_fwd(sk, done);
	else
		sk_peek_offset_bwd(sk, done);
	return done;
}

/* Return what a call gets that has found nothing, or -EINPROGRESS: it has to wait. */
static int deferred_empty_result(struct smc_sock *smc, const struct deferred_view *v, long timeo)
{
	/* as on TCP, before an error that came later, which is left to writers and SO_ERROR */
	if (deferred_is_at_end(v))
		return 0;
	if (v->end.err)
		return sock_error(smc_sock_sk(smc));
	if (v->end.shut)
		return 0;
	/* the error was taken before, if it is not the end of TCP in front of a good end */
	if (deferred_is_lost(smc, v))
		return v->c.ended ? -ECONNRESET : 0;
	if (!timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	return -EINPROGRESS;
}

/*
 * Return whether TCP had nothing for a call. It may have passed over an urgent byte, and then says
 * how it has ended: once the two ends have agreed, that is the connection's to report, behind the
 * ring.
 */
static bool deferred_found_nothing(const struct deferred_view *v, int rc)
{
	return !rc || rc == -EAGAIN || (rc < 0 && rc != -EFAULT && deferred_is_agreed(v));
}

/* The position of TCP's reader has moved since the look: it passed over a byte, or was reset. */
static bool deferred_has_read(const struct smc_sock *smc, const struct deferred_view *v)
{
	u32 copied = smc_clcsock_get_copied(&smc->clcsock);

	return smc_clcsock_get_read(&smc->clcsock, copied, v->tcp.received) != v->tcp.read;
}

/*
 * Take what there is, once. Return bytes; 0: the call ends here, at urgent data or the end of the
 * stream; -EAGAIN: nothing; -EINPROGRESS: look again; or an error.
 */
static int deferred_take(struct smc_sock *smc, const struct deferred_view *v,
			 struct deferred_recv *call)
{
	size_t len = call->len - call->copied;
	u32 part;
	int rc;

	if (call->copied && smc_clcsock_is_at_mark(&smc->clcsock))
		return 0;
	if (deferred_tcp_decides(v))
		return deferred_read_tcp(smc, call, len);
	/* a call for no bytes passes over nothing */
	part = call->len ? deferred_tcp_part(v) : deferred_tcp_count(smc, v);
	if (part) {
		rc = deferred_read_tcp_part(smc, call, min_t(size_t, len, part));
		/* it has passed over the urgent byte, and knows nothing of the ring behind it */
		if (deferred_found_nothing(v, rc) &&
		    deferred_has_read(smc, v))
			rc = -EINPROGRESS;
		return rc;
	}
	if (!call->len)
		return deferred_ring_part(v) ? 0 : -EAGAIN;
	if (!deferred_is_at_ring(v))
		return -EAGAIN;
	return deferred_read_ring(smc, v->conn, call);
}

/* Peek at both parts. Return as deferred_take(). */
static int deferred_peek(struct smc_sock *smc, const struct deferred_view *v,
			 struct deferred_recv *call)
{
	u32 off = max(READ_ONCE(smc_sock_sk(smc)->sk_peek_off), 0), part;
	int got = 0, rc = -EAGAIN;

	if (deferred_tcp_decides(v))
		return deferred_read_tcp(smc, call, call->len);
	part = deferred_tcp_part(v);
	if (!call->len)
		return deferred_tcp_count(smc, v) + deferred_ring_part(v) > off ? 0 : -EAGAIN;
	if (off < part && deferred_tcp_count(smc, v)) {
		got = deferred_read_tcp_part(smc, call, min_t(size_t, call->len, part - off));
		/* urgent data ends the call, unless it is the last byte, which TCP passes over */
		if (part - off == 1 && deferred_found_nothing(v, got))
			got = 0;
		else if (got <= 0 || (u32)got < part - off)
			return got;
		call->ring.got_some = got;
	}
	call->copied = got;
	call->ring.skip = off > part ? off - part : 0;
	if (call->copied < call->len && deferred_sees_ring(v))
		rc = deferred_read_ring(smc, v->conn, call);
	call->copied = 0;
	if (rc > 0)
		got += rc;
	return got ?: rc;
}

/* Nothing more can come before something is read: there is nothing to wait for. */
static bool deferred_is_full(const struct deferred_view *v, u32 had)
{
	return deferred_sees_ring(v) &&
	       (smc_rx_get_readable(v->conn) >= smc_rx_get_max_readable(v->conn) ||
		(had && smc_rx_does_peer_wait(v->conn)));
}

/* Return whether a call that peeks has to wait for more: offsets move with each peek. */
static bool deferred_peek_waits(struct smc_sock *smc, const struct deferred_view *v,
				const struct deferred_recv *call, u32 had)
{
	u32 off = max(READ_ONCE(smc_sock_sk(smc)->sk_peek_off), 0);

	return call->timeo && !signal_pending(current) && had < off + call->target &&
	       !deferred_is_over(smc, v) && !deferred_is_full(v, had);
}

/*
 * One look at both transports. Return -EINPROGRESS: go on; else the call ends with this result, if
 * it has no bytes. @had, @decided: for the wait; *@wait is set if the call has to wait.
 */
static int deferred_recv_step(struct smc_sock *smc, struct deferred_recv *call, u32 *had,
			      bool *decided, bool *wait)
{
	bool peek = call->flags & MSG_PEEK;
	struct deferred_view v;
	int rc;

	deferred_look(smc, &v);
	*decided = deferred_tcp_decides(&v);
	*wait = false;
	*had = peek ? deferred_count(smc, &v) : 0;
	if (peek && deferred_peek_waits(smc, &v, call, *had)) {
		*wait = true;
		rc = -EINPROGRESS;
		goto out;
	}
	rc = peek ? deferred_peek(smc, &v, call) : deferred_take(smc, &v, call);
	if (rc > 0) {
		call->copied += rc;
		call->ring.got_some = true;
		/* as on TCP, a call with bytes ends at urgent data; TCP gives all that it has */
		rc = peek || smc_clcsock_is_at_mark(&smc->clcsock) ||
		     (*decided && call->copied >= call->target) ? 0 : -EINPROGRESS;
		goto out;
	}
	if (call->copied) {
		/* what ends a call without bytes ends one that waits for more, too */
		if (rc == -EAGAIN && call->copied < call->target && call->timeo &&
		    !signal_pending(current) && !deferred_is_over(smc, &v)) {
			*wait = true;
			rc = -EINPROGRESS;
		}
		goto out;
	}
	if (*decided && rc == 0 && call->len) {
		/*
		 * FIN, or an error that was moved: the end, unless the two ends have agreed
		 * meanwhile. Then the connection says how it ends.
		 */
		deferred_look_end(&v);
		deferred_look(smc, &v);
		if (!deferred_tcp_decides(&v))
			rc = -EINPROGRESS;
		goto out;
	}
	if (rc != -EAGAIN)
		goto out;
	if (!*decided)
		rc = deferred_empty_result(smc, &v, call->timeo);
	else if (call->timeo)
		rc = signal_pending(current) ? sock_intr_errno(call->timeo) : -EINPROGRESS;
	*wait = rc == -EINPROGRESS;
out:
	deferred_look_end(&v);
	return rc;
}

/* True if only the ring is left for readers, for good. */
static bool deferred_reads_ring(struct smc_sock *smc)
{
	struct deferred_view v;
	bool ring;

	if (READ_ONCE(smc->deferred->rx_ring))
		return true;
	deferred_look(smc, &v);
	ring = v.conn && deferred_is_agreed(&v) && v.c.states.rx == SMC_UPGRADE_RX_RING &&
	       deferred_is_at_ring(&v);
	deferred_look_end(&v);
	if (ring)
		WRITE_ONCE(smc->deferred->rx_ring, true);
	return ring;
}

/* Put the time stamps that TCP has given to the last bytes of a tail. */
static void deferred_put_stamps(struct deferred_recv *call)
{
	struct msghdr stamps = {
		.msg_control = call->stamps, .msg_controllen = call->stamps_len,
	};
	struct cmsghdr *c;

	for_each_cmsghdr(c, &stamps)
		if (c->cmsg_level == SOL_SOCKET)
			put_cmsg(call->msg, c->cmsg_level, c->cmsg_type,
				 (int)(c->cmsg_len - CMSG_LEN(0)), CMSG_DATA(c));
}

/*
 * Put the control messages of a call that succeeds. TCP_INQ is what both transports have; TCP has
 * put its own, @by_tcp.
 */
static void deferred_put_control(struct smc_sock *smc, struct deferred_recv *call, bool by_tcp)
{
	bool peek = call->flags & MSG_PEEK;
	struct msghdr *msg = call->msg;
	struct deferred_view v;
	u32 left;

	if (by_tcp || !smc_cmsg_is_needed(smc, msg))
		return;
	/* an earlier part of the call may have put some */
	deferred_set_control(msg, call->control.at, call->control.left);
	msg->msg_flags &= ~MSG_CTRUNC;
	deferred_look(smc, &v);
	if (call->source == DEFERRED_TAIL)
		deferred_put_stamps(call);
	else if (v.conn && call->copied)
		smc_cmsg_put_stamps(smc, v.conn, msg, peek ? call->ring.skip : 0);
	left = v.conn ? deferred_tcp_part(&v) : 0;
	/* as TCP says, so that the end gets read */
	if (!call->copied && deferred_is_at_end(&v))
		left = 1;
	/* a withdrawal has taken the connection away: TCP has counted */
	if (!v.conn && call->copied)
		left = msg->msg_inq;
	smc_cmsg_put_inq(smc, deferred_sees_ring(&v) ? v.conn : NULL, msg, left);
	deferred_look_end(&v);
}

/* Count what came from the ring, as a call in SMC mode. */
static void deferred_count_ring(struct smc_sock *smc, u32 len)
{
	struct smc_conn *conn;

	if (!len)
		return;
	smc_stats_count(smc->stats, SMC_STAT_RX_CNT, 1);
	smc_stats_count_size(smc->stats, SMC_HIST_RX_REQ, len);
	if (!trace_smc_rx_recvmsg_enabled())
		return;
	conn = smc_sock_conn_get(smc);
	if (!conn)
		return;
	smc_stream_trace(smc_sock_sk(smc), conn, len, false);
	smc_conn_put(conn);
}

static int deferred_recv_locked(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = smc_sock_sk(smc);
	struct deferred_recv call = {
		.msg = msg, .len = min_t(size_t, len, INT_MAX),
		.flags = flags & ~(MSG_DONTWAIT | MSG_WAITALL),
		.target = sock_rcvlowat(sk, flags & MSG_WAITALL, len),
		.timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT),
		.control = { msg->msg_control, msg->msg_controllen },
	};
	bool decided = false, wait;
	u32 had;
	int rc;

	sock_owned_by_me(sk);
	do {
		if (smc_sock_mode(smc) != SMC_MODE_DEFERRED) {
			/* the caller begins again */
			deferred_set_control(msg, call.control.at, call.control.left);
			rc = SMC_DEFERRED_OVER;
			break;
		}
		rc = deferred_recv_step(smc, &call, &had, &decided, &wait);
		if (rc == -EINPROGRESS && wait)
			deferred_wait(smc, had, decided, &call.timeo);
		/* a call for no bytes waits for one */
	} while (rc == -EINPROGRESS && (wait || call.copied < call.len));
	if (!call.copied) {
		/* the end of the stream, too, has TCP_INQ */
		if (!rc)
			deferred_put_control(smc, &call, decided);
		return rc;
	}
	deferred_put_control(smc, &call, call.source == DEFERRED_TCP);
	deferred_count_ring(smc, call.from_ring);
	return call.copied;
}

/* The urgent byte: the ring's, if it has announced one, else TCP's. */
static int deferred_recv_urgent(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags)
{
	struct smc_conn *conn = smc_sock_conn_get(smc);
	bool ring = false;

	if (conn) {
		spin_lock_bh(&conn->lock);
		ring = conn->rx.urg.state != SMC_URGENT_NONE;
		spin_unlock_bh(&conn->lock);
		smc_conn_put(conn);
	}
	if (ring)
		return smc_stream_recvmsg(smc, msg, len, flags);
	return smc_fallback_recvmsg(smc, msg, len, flags);
}

/* Notifications of TCP first: their numbers of MSG_ZEROCOPY are lower. */
static int deferred_recv_errqueue(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags)
{
	int rc = smc_fallback_recvmsg(smc, msg, len, flags);

	if (rc == -EAGAIN && !skb_queue_empty_lockless(&smc_sock_sk(smc)->sk_error_queue))
		rc = smc_cmsg_recv_errqueue(smc, msg, len);
	return rc;
}

/**
 * smc_deferred_recvmsg() - recvmsg() of a deferred socket
 * @smc: socket
 * @msg: message
 * @len: size of its buffer
 * @flags: MSG_*
 *
 * Takes the socket lock. Waits for SO_RCVTIMEO at most.
 *
 * Return: as recvmsg(); %SMC_DEFERRED_OVER.
 */
int smc_deferred_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags)
{
	int rc;

	if (flags & MSG_ERRQUEUE)
		return deferred_recv_errqueue(smc, msg, len, flags);
	if (flags & MSG_OOB)
		return deferred_recv_urgent(smc, msg, len, flags);
	if (deferred_reads_ring(smc))
		return smc_stream_recvmsg(smc, msg, len, flags);
	lock_sock(smc_sock_sk(smc));
	rc = deferred_recv_locked(smc, msg, len, flags);
	release_sock(smc_sock_sk(smc));
	if (rc > 0)
		smc_deferred_note_bytes(smc);
	return rc;
}

/* Splice from TCP, which has something, or has ended: it does not wait. Socket lock held. */
static ssize_t deferred_splice_tcp(struct smc_sock *smc, const struct deferred_view *v,
				   struct pipe_inode_info *pipe, size_t len, unsigned int flags)
{
	loff_t pos = 0;

	if (deferred_tcp_decides(v)) {
		if (!smc_clcsock_is_readable(&smc->clcsock))
			return -EAGAIN;
		return smc_fallback_splice_read(smc, &pos, pipe, len, flags);
	}
	len = min_t(size_t, len, deferred_tcp_part(v));
	if (!len || skb_queue_empty_lockless(&smc->clcsock.sock->sk->sk_receive_queue))
		return -EAGAIN;
	return smc_fallback_splice_read(smc, &pos, pipe, len, flags);
}

/* One look at TCP. Return -EINPROGRESS: wait; -ERANGE: the ring is next; else the result. */
static ssize_t deferred_splice_step(struct smc_sock *smc, struct pipe_inode_info *pipe, size_t len,
				    unsigned int flags, long timeo, bool *decided)
{
	struct deferred_view v;
	ssize_t rc = -ERANGE;

	deferred_look(smc, &v);
	*decided = deferred_tcp_decides(&v);
	if (deferred_is_at_ring(&v) && READ_ONCE(smc->conn))
		goto out;
	rc = deferred_splice_tcp(smc, &v, pipe, len, flags);
	if (*decided && !rc) {
		deferred_look_end(&v);
		deferred_look(smc, &v);
		/* the wait ends at once: it is decided otherwise now */
		if (!deferred_tcp_decides(&v))
			rc = -EINPROGRESS;
	}
	if (rc != -EAGAIN)
		goto out;
	/* the pipe may be full: then TCP has bytes */
	if (*decided && deferred_tcp_raw(smc) && smc_clcsock_is_readable(&smc->clcsock))
		goto out;
	if (!*decided)
		rc = deferred_empty_result(smc, &v, timeo);
	else if (timeo)
		rc = signal_pending(current) ? sock_intr_errno(timeo) : -EINPROGRESS;
out:
	deferred_look_end(&v);
	return rc;
}

/**
 * smc_deferred_splice_read() - splice() from a deferred socket
 * @smc: socket
 * @pos: file position
 * @pipe: pipe, locked by the caller
 * @len: bytes
 * @flags: SPLICE_F_*
 *
 * Return: as splice(); %SMC_DEFERRED_OVER.
 */
ssize_t smc_deferred_splice_read(struct smc_sock *smc, loff_t *pos, struct pipe_inode_info *pipe,
				 size_t len, unsigned int flags)
{
	bool nonblock = smc->clcsock.sock->file &&
			smc->clcsock.sock->file->f_flags & O_NONBLOCK;
	struct sock *sk = smc_sock_sk(smc);
	long timeo = sock_rcvtimeo(sk, nonblock);
	bool decided;
	ssize_t rc;

	if (!len)
		return 0;
	lock_sock(sk);
	for (;;) {
		rc = SMC_DEFERRED_OVER;
		if (smc_sock_mode(smc) != SMC_MODE_DEFERRED)
			break;
		rc = deferred_splice_step(smc, pipe, len, flags, timeo, &decided);
		if (rc != -EINPROGRESS)
			break;
		deferred_wait(smc, 0, decided, &timeo);
	}
	release_sock(sk);
	if (rc == -ERANGE)
		return smc_stream_splice_read(smc, pipe, len, nonblock);
	if (rc > 0)
		smc_deferred_note_bytes(smc);
	return rc;
}

/* ---- poll, shutdown, queues ---------------------------------------------------- */

#define POLL_IN_BITS	(EPOLLIN | EPOLLRDNORM)
#define POLL_OUT_BITS	(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

/* Return whether TCP alone has enough for SO_RCVLOWAT, which is 1 on a hooked clcsock. */
static bool deferred_tcp_suffices(const struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	int target = sock_rcvlowat(&smc->inet.sk, 0, INT_MAX);

	if (deferred_skips_urgent(smc))
		target++;
	return tcp_epollin_ready(csk, target);
}

/* Before the agreement. @mask: of TCP, read before @v */
static __poll_t deferred_poll_tcp(struct smc_sock *smc, const struct deferred_view *v,
				  __poll_t mask)
{
	if (deferred_end_is_open(smc, v)) {
		mask &= ~(EPOLLRDHUP | EPOLLHUP);
		/* TCP counts FIN like a byte, and also behind an urgent one */
		if (!deferred_tcp_count(smc, v))
			mask &= ~POLL_IN_BITS;
	}
	if (mask & POLL_IN_BITS && !(mask & EPOLLRDHUP) && !(mask & EPOLLHUP) &&
	    !deferred_tcp_suffices(smc))
		mask &= ~POLL_IN_BITS;
	return mask;
}

/* Bits of the receiving direction after the agreement. @mask: those of the ring */
static __poll_t deferred_poll_rx(struct smc_sock *smc, const struct deferred_view *v, __poll_t mask)
{
	u32 target = sock_rcvlowat(smc_sock_sk(smc), 0, INT_MAX), max;
	u32 part = deferred_tcp_count(smc, v);
	__poll_t in;

	/* what is left can be read, then comes the error */
	if (deferred_is_lost(smc, v))
		return mask | (part ? POLL_IN_BITS : 0);
	if (deferred_is_at_ring(v))
		return mask;
	if (deferred_sees_ring(v)) {
		max = part + smc_rx_get_max_readable(v->conn) / 2;
		in = part + deferred_ring_part(v) >= min(target, max) ? POLL_IN_BITS : 0;
		return mask | in;
	}
	/* bytes of TCP are missing: what the ring says comes later */
	mask &= ~(POLL_IN_BITS | EPOLLRDHUP | EPOLLHUP);
	if (READ_ONCE(smc->deferred->rcv_shut) || v->c.states.rx == SMC_UPGRADE_RX_OPEN_END)
		mask |= POLL_IN_BITS | EPOLLRDHUP;
	if (part >= target || (part && deferred_tcp_suffices(smc)))
		mask |= POLL_IN_BITS;
	return mask;
}

/**
 * smc_deferred_poll() - poll() of a deferred socket
 * @smc: socket; the caller is on its wait queue, which the clcsock shares
 * @file: the application's file
 *
 * Return: EPOLL* bits.
 */
__poll_t smc_deferred_poll(struct smc_sock *smc, struct file *file)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	struct smc_deferred *d = smc->deferred;
	__poll_t tcp = 0, mask;
	struct deferred_view v;
	bool ring;

	/* pairs with smc_deferred_shut_gate_locked() */
	ring = smp_load_acquire(&d->ring);
	if (ring && deferred_reads_ring(smc)) {
		mask = smc_stream_poll(smc);
		goto out_tcp;
	}
	deferred_look(smc, &v);
	if (!READ_ONCE(smc->conn) || !deferred_is_agreed(&v)) {
		deferred_look_end(&v);
		mask = smc_fallback_poll(smc, file);
		/* FIN that it has seen may decide nothing */
		deferred_look(smc, &v);
		mask = deferred_poll_tcp(smc, &v, mask);
		deferred_look_end(&v);
		/* as below */
		if (smp_load_acquire(&d->ring))
			mask |= smc_stream_poll(smc) & POLL_OUT_BITS;
		return mask;
	}
	if (!ring)
		tcp = smc_sock_clcsock_ops(smc)->poll(file, smc->clcsock.sock, NULL);
	mask = smc_stream_poll(smc);
	/* TCP wakes nobody for room when the gate is shut; pairs with deferred_move_starved() */
	if (!ring && !smp_load_acquire(&d->ring))
		mask = (mask & ~POLL_OUT_BITS) | (tcp & POLL_OUT_BITS);
	mask = deferred_poll_rx(smc, &v, mask);
	deferred_look_end(&v);
out_tcp:
	if (READ_ONCE(tcp_sk(csk)->urg_data) & TCP_URG_VALID)
		mask |= EPOLLPRI;
	/* notifications of MSG_ZEROCOPY */
	if (!skb_queue_empty_lockless(&csk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

/* Shut down TCP, and say so to the connection. The call is inside. */
static int deferred_shutdown_tcp(struct smc_sock *smc, int how)
{
	int bits = how + 1, rc = smc_fallback_shutdown(smc, how);
	struct smc_conn *conn;

	if (rc)
		return rc;
	smc_sock_add_shutdown(smc, bits);
	conn = smc_deferred_conn_get(smc);
	if (!conn)
		return 0;
	if (bits & SEND_SHUTDOWN)
		smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_SHUT);
	/* after the agreement the connection closes when both directions are shut */
	if (bits & RCV_SHUTDOWN && READ_ONCE(smc->conn))
		smc_conn_shutdown(conn, RCV_SHUTDOWN);
	smc_conn_put(conn);
	return 0;
}

/**
 * smc_deferred_shutdown() - shutdown() of a deferred socket
 * @smc: socket
 * @how: SHUT_*, valid
 *
 * Return: as shutdown(); %SMC_DEFERRED_OVER.
 */
int smc_deferred_shutdown(struct smc_sock *smc, int how)
{
	struct sock *sk = smc_sock_sk(smc);
	int rc = SMC_DEFERRED_OVER;

	if ((how + 1) & RCV_SHUTDOWN)
		WRITE_ONCE(smc->deferred->rcv_shut, true);
	if (deferred_uses_ring(smc))
		return smc_stream_shutdown(smc, how);
	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED)
		rc = deferred_shutdown_tcp(smc, how);
	deferred_leave(smc);
	/* a reader that waits for the ring */
	sk->sk_state_change(sk);
	return rc;
}

/**
 * smc_deferred_get_queue() - answer an ioctl about queues with the sum of both transports
 * @smc: deferred socket whose two ends have agreed
 * @cmd: command
 * @known: set to whether it is one of these
 *
 * Return: the answer.
 */
int smc_deferred_get_queue(struct smc_sock *smc, unsigned int cmd, bool *known)
{
	struct sock *csk = smc->clcsock.sock->sk;
	const struct tcp_sock *tp = tcp_sk(csk);
	bool in_line = sock_flag(smc_sock_sk(smc), SOCK_URGINLINE);
	/* a reset moves one end of the queue only */
	bool ended = inet_sk_state_load(csk) == TCP_CLOSE;
	struct deferred_view v;
	u64 n = 0;

	*known = true;
	deferred_look(smc, &v);
	switch (cmd) {
	case SIOCINQ:
		n = tcp_inq(csk);
		/* urgent data ends the count */
		if (v.conn && n >= deferred_tcp_part(&v) && deferred_sees_ring(&v))
			n = deferred_tcp_part(&v) + smc_rx_get_inq(v.conn, in_line);
		break;
	case SIOCOUTQ:
		n = ended ? 0 : READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
		n += v.conn ? smc_tx_get_queued(v.conn) : 0;
		break;
	case SIOCOUTQNSD:
		n = ended ? 0 : READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
		n += v.conn ? smc_tx_get_unsent(v.conn) : 0;
		break;
	case SIOCATMARK:
		n = smc_clcsock_is_at_mark(&smc->clcsock) ||
		    (deferred_is_at_ring(&v) && smc_rx_is_at_mark(v.conn));
		break;
	default:
		*known = false;
		break;
	}
	deferred_look_end(&v);
	return min_t(u64, n, INT_MAX);
}
