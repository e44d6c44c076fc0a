// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP mode: each call goes to the clcsock; the errors of the clcsock go to the SMC socket, from
 * which the core answers SO_ERROR. Documentation/decisions/0001-falling-back.md has the rules.
 *
 * The functions that serve a call are for sockets in TCP mode, without the socket lock, and for
 * idle sockets (smc_sock_is_idle()), under the socket lock and with MSG_DONTWAIT or O_NONBLOCK
 * only.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/splice.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/events.h>
#include <smc/base/rules.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include "deferred.h"
#include "fallback.h"

/* ---- errors ------------------------------------------------------------------ */

/* The error with which the clcsock has ended becomes ours. */
static void fallback_move_error(struct smc_sock *smc, int err)
{
	lockdep_assert_held(&smc->state_lock);
	if (smc->deferred) {
		/* whoever has taken it, the connection has to know that TCP has ended */
		smc_deferred_note_error(smc, err);
		/* an upgrade that has died is reported once */
		if (test_and_set_bit(SMC_SF_ERR_REPORTED, &smc->flags) &&
		    smc->mode == SMC_MODE_DEFERRED)
			return;
	}
	WRITE_ONCE(smc_sock_sk(smc)->sk_err, err);
}

/* Move or copy the error of the clcsock. */
static void fallback_take_error(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	int err;

	lockdep_assert_held(&smc->state_lock);
	if (inet_sk_state_load(csk) == TCP_CLOSE) {
		err = xchg(&csk->sk_err, 0);
		if (err)
			fallback_move_error(smc, err);
		WRITE_ONCE(smc->err_copied, 0);
	} else if (!smc->err_copied) {
		err = READ_ONCE(csk->sk_err);
		if (err)
			WRITE_ONCE(smc_sock_sk(smc)->sk_err, err);
		WRITE_ONCE(smc->err_copied, err);
	}
}

/**
 * smc_fallback_pull_error() - take over the error of the clcsock
 * @smc: socket with a clcsock
 *
 * The core answers SO_ERROR from the SMC socket, once. The error of a closed clcsock is moved. The
 * error of an open one (ICMP with IP_RECVERR) is copied, since it must also wake a reader that
 * sleeps in the clcsock. After an upgrade nothing is taken: the connection says what the error
 * means, and reports it, unless it was moved before. Any context; takes state_lock.
 */
void smc_fallback_pull_error(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);
	int soft;

	soft = READ_ONCE(csk->sk_err_soft);
	if (soft != READ_ONCE(sk->sk_err_soft))
		WRITE_ONCE(sk->sk_err_soft, soft);
	if (!READ_ONCE(csk->sk_err))
		return;
	spin_lock_bh(&smc->state_lock);
	/* a connection is adopted under the same lock */
	if (!smc->conn)
		fallback_take_error(smc);
	spin_unlock_bh(&smc->state_lock);
}

/* Clear a copied error on the other socket, too, after it was read on one of the two. */
static void fallback_sync_error(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);
	int err;

	if (!READ_ONCE(smc->err_copied))
		return;
	spin_lock_bh(&smc->state_lock);
	err = smc->err_copied;
	if (err && !READ_ONCE(sk->sk_err)) {
		cmpxchg(&csk->sk_err, err, 0);
		WRITE_ONCE(smc->err_copied, 0);
	} else if (err && !READ_ONCE(csk->sk_err)) {
		cmpxchg(&sk->sk_err, err, 0);
		WRITE_ONCE(smc->err_copied, 0);
	}
	spin_unlock_bh(&smc->state_lock);
}

/* Return the pending error of the socket and clear it, or @rc if there is none. */
static int fallback_error_or(struct smc_sock *smc, int rc)
{
	int err;

	smc_fallback_pull_error(smc);
	err = sock_error(smc_sock_sk(smc));
	return err ?: rc;
}

/* Show the buffer sizes of the clcsock; write only after a change, to keep the cache line clean. */
static void fallback_copy_bufsizes(struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	const struct sock *sk = smc_sock_sk(smc);

	if (READ_ONCE(csk->sk_sndbuf) != READ_ONCE(sk->sk_sndbuf) ||
	    READ_ONCE(csk->sk_rcvbuf) != READ_ONCE(sk->sk_rcvbuf))
		smc_sock_show_bufsizes(smc);
}

/* ---- callbacks of the clcsock in TCP mode ------------------------------------ */

/*
 * Take over the error of a clcsock in its callback. The struct socket around its wait queue is the
 * application's, or the clcsock's own. So sk_user_data is not needed and stays free for BPF.
 */
static void fallback_pull_from(struct sock *csk)
{
	struct socket_wq *wq;
	struct sock *sk;

	read_lock_bh(&csk->sk_callback_lock);
	wq = rcu_dereference_raw(csk->sk_wq);
	if (wq) {
		sk = READ_ONCE(container_of(wq, struct socket, wq)->sk);
		if (sk && sk != csk)
			smc_fallback_pull_error(smc_sk(sk));
	}
	read_unlock_bh(&csk->sk_callback_lock);
}

static void fallback_state_change(struct sock *csk)
{
	fallback_pull_from(csk);
	smc_clcsock_tcp_callbacks()->state_change(csk);
}

static void fallback_error_report(struct sock *csk)
{
	fallback_pull_from(csk);
	smc_clcsock_tcp_callbacks()->error_report(csk);
}

/* Let the clcsock pass its errors and SIGIO to the SMC socket. See smc_clcsock_share_wq(). */
static void fallback_set_callbacks_locked(struct sock *csk)
{
	const struct smc_clcsock_callbacks *def = smc_clcsock_tcp_callbacks();

	sock_owned_by_me(csk);
	lockdep_assert_held_write(&csk->sk_callback_lock);
	/* sock_fasync() sets the flag on the SMC socket only; harmless with an empty list */
	sock_set_flag(csk, SOCK_FASYNC);
	if (csk->sk_state_change == def->state_change)
		csk->sk_state_change = fallback_state_change;
	if (csk->sk_error_report == def->error_report)
		csk->sk_error_report = fallback_error_report;
}

/**
 * smc_fallback_attach() - attach the clcsock to the application's struct socket
 * @smc: socket with a clcsock on whose own wait queue nobody sleeps
 * @sock: the application's struct socket, known since create or accept()
 *
 * Shares the wait queue and the file. In TCP mode the clcsock passes its errors and SIGIO to the
 * SMC socket from here on. Process context; takes the lock of the clcsock.
 */
void smc_fallback_attach(struct smc_sock *smc, struct socket *sock)
{
	bool tcp = smc_sock_begins_as_tcp(smc);

	smc_clcsock_share_wq(&smc->clcsock, sock, tcp ? fallback_set_callbacks_locked : NULL);
	if (!tcp)
		return;
	smc_fallback_pull_error(smc);
	fallback_copy_bufsizes(smc);
}

static void fallback_reset_callbacks_locked(struct sock *csk)
{
	const struct smc_clcsock_callbacks *def = smc_clcsock_tcp_callbacks();

	sock_owned_by_me(csk);
	lockdep_assert_held_write(&csk->sk_callback_lock);
	if (csk->sk_state_change == fallback_state_change)
		csk->sk_state_change = def->state_change;
	if (csk->sk_error_report == fallback_error_report)
		csk->sk_error_report = def->error_report;
}

/**
 * smc_fallback_detach() - restore the callbacks of the clcsock
 * @smc: socket with a clcsock
 *
 * Before listen(), since a child copies the callbacks of its listener, and before release, since
 * the TCP connection may outlive the module. Process context; takes the lock of the clcsock if it
 * has callbacks of ours, which no other context sets.
 */
void smc_fallback_detach(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;

	if (READ_ONCE(csk->sk_state_change) != fallback_state_change &&
	    READ_ONCE(csk->sk_error_report) != fallback_error_report)
		return;
	lock_sock(csk);
	write_lock_bh(&csk->sk_callback_lock);
	fallback_reset_callbacks_locked(csk);
	write_unlock_bh(&csk->sk_callback_lock);
	release_sock(csk);
}

/**
 * smc_fallback_leave() - separate the clcsock from the socket, which closes
 * @smc: socket with a clcsock
 *
 * smc_fallback_detach() and smc_clcsock_separate() in one round of locks. Process context.
 */
void smc_fallback_leave(struct smc_sock *smc)
{
	smc_clcsock_separate(&smc->clcsock, fallback_reset_callbacks_locked);
}

/* Send the netlink event of a fallback. */
static void fallback_send_event(struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	struct smc_event_fallback ev = {
		.server = test_bit(SMC_SF_SERVER, &smc->flags),
		.own_rsn = smc->own_reason, .peer_rsn = smc->peer_reason,
	};
	struct smc_rules_path path;

	if (!smc_event_has_listeners(SMC_EVENT_GROUP_FALLBACKS))
		return;
	smc_rules_path(csk, &path);
	ev.local = path.local.addr;
	ev.local_port = path.local.port;
	ev.peer = path.remote.addr;
	ev.peer_port = path.remote.port;
	smc_event_fallback(sock_net(csk), &ev);
}

/**
 * smc_fallback_count_bytes() - return the bytes that the clcsock has carried, or still will
 * @smc: socket with a clcsock
 *
 * Any context, lockless.
 *
 * Return: bytes of both directions, those of a handshake included.
 */
u64 smc_fallback_count_bytes(const struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	const struct tcp_sock *tp = tcp_sk(csk);
	u64 bytes = READ_ONCE(tp->bytes_acked) + READ_ONCE(tp->bytes_received);

	/* what is not acknowledged; the numbers mean nothing after the end */
	if (inet_sk_state_load(csk) != TCP_CLOSE)
		bytes += READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
	return bytes;
}

/**
 * smc_fallback_has_connected() - check whether TCP has connected a client
 * @smc: client in TCP mode
 *
 * Any context, lockless.
 *
 * Return: true if the connection began, whether it has ended or not; false after
 * connect(AF_UNSPEC), too.
 */
bool smc_fallback_has_connected(const struct smc_sock *smc)
{
	/* includes the SYN */
	return READ_ONCE(tcp_sk(smc->clcsock.sock->sk)->bytes_acked);
}

/**
 * smc_fallback_note() - set, and make known, why a socket uses TCP
 * @smc: socket whose mode becomes TCP, or DEFERRED -> TCP
 * @own_reason: our diagnosis code, 0: none
 * @peer_reason: the peer's diagnosis code, 0: none
 * @count: count the fallback in the statistics
 *
 * Process context, no spinlock held.
 */
void smc_fallback_note(struct smc_sock *smc, u32 own_reason, u32 peer_reason, bool count)
{
	struct sock *sk = smc_sock_sk(smc);

	smc->own_reason = own_reason;
	smc->peer_reason = peer_reason;
	if (count)
		smc_stats_add_fallback(sock_net(sk), test_bit(SMC_SF_SERVER, &smc->flags),
				       own_reason);
	trace_smc_switch_to_fallback(sk, smc->clcsock.sock->sk, sock_net(sk)->net_cookie,
				     own_reason, peer_reason);
	fallback_send_event(smc);
}

static void fallback_begin(struct smc_sock *smc)
{
	smc->began_at = jiffies;
	smc->began_bytes = smc_fallback_count_bytes(smc);
	smc_autosmc_begin(sock_net(smc_sock_sk(smc)), &smc->autosmc, false);
	/* a later connect() of this socket must not send the SMC option */
	smc_clcsock_withdraw_option(&smc->clcsock);
}

/* Change the mode; all that a reader of the mode expects of the clcsock is set up. */
static void fallback_change_mode(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);

	if (sk->sk_socket)
		smc_clcsock_unhook_to(&smc->clcsock, sk->sk_socket, fallback_set_callbacks_locked);
	else
		smc_clcsock_unhook(&smc->clcsock);
	/*
	 * From here on a call of the program may hold the lock of the clcsock as long as it likes,
	 * and the caller, a handshake, must not wait for it.
	 */
	spin_lock_bh(&smc->state_lock);
	/* pairs with smc_sock_mode() */
	smp_store_release(&smc->mode, SMC_MODE_TCP);
	spin_unlock_bh(&smc->state_lock);
	if (sk->sk_socket) {
		smc_fallback_pull_error(smc);
		fallback_copy_bufsizes(smc);
	}
}

/**
 * smc_fallback_start() - change the mode of a socket to TCP, for good
 * @smc: undecided socket; its clcsock may be hooked by a handshake that ends
 * @own_reason: our diagnosis code, 0: none
 * @peer_reason: the peer's diagnosis code, 0: none
 * @count: count the fallback in the statistics (a handshake counts it itself)
 *
 * Process context, no spinlock held. Does not wake sleepers; the caller does.
 */
void smc_fallback_start(struct smc_sock *smc, u32 own_reason, u32 peer_reason, bool count)
{
	fallback_begin(smc);
	smc_fallback_note(smc, own_reason, peer_reason, count);
	fallback_change_mode(smc);
}

/**
 * smc_fallback_start_client() - the same before connect(), of which there will be no handshake
 * @smc: idle socket, locked
 * @reason: our diagnosis code
 *
 * The caller connects the clcsock, then calls smc_fallback_note(): only then the addresses are
 * known. SMC_SF_NOTE_DUE is set until then. Process context.
 */
void smc_fallback_start_client(struct smc_sock *smc, u32 reason)
{
	fallback_begin(smc);
	smc->own_reason = reason;
	smc->peer_reason = 0;
	set_bit(SMC_SF_NOTE_DUE, &smc->flags);
	fallback_change_mode(smc);
}

/* ---- calls ------------------------------------------------------------------- */

/**
 * smc_fallback_connect() - connect() of the clcsock
 * @smc: socket in TCP mode, or idle
 * @addr: address
 * @len: its length
 * @flags: file flags
 *
 * Return: as connect().
 */
int smc_fallback_connect(struct smc_sock *smc, void *addr, int len, int flags)
{
	struct socket *csock = smc->clcsock.sock;
	struct sockaddr *sa = addr;
	int rc;

	if (len >= (int)sizeof(sa->sa_family) && sa->sa_family == AF_UNSPEC)
		return smc_clcsock_disconnect(&smc->clcsock, flags);
	/* as tcp_connect(), which clears sk_err; AF_UNSPEC keeps it */
	if (csock->state == SS_UNCONNECTED && len >= (int)sizeof(sa->sa_family) &&
	    (READ_ONCE(smc_sock_sk(smc)->sk_err) || READ_ONCE(smc->err_copied))) {
		spin_lock_bh(&smc->state_lock);
		WRITE_ONCE(smc_sock_sk(smc)->sk_err, 0);
		WRITE_ONCE(smc->err_copied, 0);
		spin_unlock_bh(&smc->state_lock);
	}
	rc = smc_sock_clcsock_ops(smc)->connect(csock, addr, len, flags);
	if (rc == -ECONNABORTED)
		rc = fallback_error_or(smc, rc);
	return rc;
}

/**
 * smc_fallback_sendmsg() - sendmsg() of the clcsock
 * @smc: socket in TCP mode, or idle
 * @msg: message
 * @len: its length
 *
 * Return: as sendmsg(). Raises SIGPIPE, for EPIPE only.
 */
int smc_fallback_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len)
{
	struct sock *sk = smc_sock_sk(smc);
	unsigned int flags = msg->msg_flags;
	int rc;

	fallback_sync_error(smc);
	smc_fallback_pull_error(smc);
	rc = sock_error(sk);
	if (!rc) {
		/* Raise SIGPIPE below: TCP may report EPIPE only because its error was moved. */
		msg->msg_flags |= MSG_NOSIGNAL;
		rc = smc_sock_clcsock_ops(smc)->sendmsg(smc->clcsock.sock, msg, len);
		msg->msg_flags = flags;
		if (rc == -EPIPE)
			rc = fallback_error_or(smc, rc);
	}
	if (rc == -EPIPE && !(flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	fallback_copy_bufsizes(smc);
	return rc;
}

#ifdef SMC_HAVE_SENDPAGE
/**
 * smc_fallback_sendpage() - sendpage() of the clcsock
 * @smc: socket in TCP mode
 * @page: page
 * @offset: offset of the first byte in @page
 * @size: bytes
 * @flags: MSG_*
 *
 * Not implemented with sendmsg(): kTLS handles MSG_SENDPAGE_NOTLAST in sendpage() only.
 *
 * Return: as sendmsg(). Raises SIGPIPE, for EPIPE only.
 */
ssize_t smc_fallback_sendpage(struct smc_sock *smc, struct page *page, int offset, size_t size,
			      int flags)
{
	ssize_t rc;

	fallback_sync_error(smc);
	smc_fallback_pull_error(smc);
	rc = sock_error(smc_sock_sk(smc));
	if (!rc) {
		rc = smc_sock_clcsock_ops(smc)->sendpage(smc->clcsock.sock, page, offset, size,
							 flags | MSG_NOSIGNAL);
		if (rc == -EPIPE)
			rc = fallback_error_or(smc, rc);
	}
	if (rc == -EPIPE && !(flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	fallback_copy_bufsizes(smc);
	return rc;
}
#endif

/*
 * True if TCP may have returned @rc only because its error was moved to the SMC socket. After an
 * upgrade the error there is the connection's, and bytes of the ring may come before it.
 */
static bool fallback_error_hidden(const struct smc_sock *smc, ssize_t rc)
{
	if (rc != -ENOTCONN && rc != -EAGAIN &&
	    (rc || sock_flag(smc->clcsock.sock->sk, SOCK_DONE)))
		return false;
	return !READ_ONCE(smc->conn);
}

/**
 * smc_fallback_recvmsg() - recvmsg() of the clcsock
 * @smc: socket in TCP mode, or idle
 * @msg: message
 * @len: size of its buffer
 * @flags: MSG_*
 *
 * Return: as recvmsg().
 */
int smc_fallback_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = smc_sock_sk(smc);
	int rc, peek_off;

	fallback_sync_error(smc);
	rc = smc_sock_clcsock_ops(smc)->recvmsg(smc->clcsock.sock, msg, len, flags);
	/*
	 * getsockopt() reads ours; write only after a change, to keep the cache line clean. Errors
	 * and urgent data do not move it, and once a ring carries the stream the clcsock's is old.
	 */
	peek_off = READ_ONCE(smc->clcsock.sock->sk->sk_peek_off);
	if (!(flags & (MSG_ERRQUEUE | MSG_OOB)) && READ_ONCE(sk->sk_peek_off) != peek_off)
		WRITE_ONCE(sk->sk_peek_off, peek_off);
	if (len && !(flags & MSG_ERRQUEUE) && fallback_error_hidden(smc, rc))
		rc = fallback_error_or(smc, rc);
	fallback_copy_bufsizes(smc);
	return rc;
}

/**
 * smc_fallback_splice_read() - splice() from the clcsock
 * @smc: socket in TCP mode, or idle
 * @pos: file position
 * @pipe: pipe, locked by the caller
 * @len: bytes
 * @flags: SPLICE_F_*
 *
 * Return: as splice().
 */
ssize_t smc_fallback_splice_read(struct smc_sock *smc, loff_t *pos, struct pipe_inode_info *pipe,
				 size_t len, unsigned int flags)
{
	ssize_t rc;

	fallback_sync_error(smc);
	rc = smc_sock_clcsock_ops(smc)->splice_read(smc->clcsock.sock, pos, pipe, len, flags);
	if (len && fallback_error_hidden(smc, rc))
		rc = fallback_error_or(smc, rc);
	fallback_copy_bufsizes(smc);
	return rc;
}

/**
 * smc_fallback_poll() - poll() of the clcsock
 * @smc: socket in TCP mode, or idle; the caller is on its wait queue, which the clcsock shares
 * @file: the application's file
 *
 * Without the socket lock in both cases.
 *
 * Return: EPOLL* bits.
 */
__poll_t smc_fallback_poll(struct smc_sock *smc, struct file *file)
{
	__poll_t mask;

	fallback_sync_error(smc);
	mask = smc_sock_clcsock_ops(smc)->poll(file, smc->clcsock.sock, NULL);
	/* after poll(): an error that the mask reports must be available by SO_ERROR */
	smc_fallback_pull_error(smc);
	if (READ_ONCE(smc_sock_sk(smc)->sk_err))
		mask |= EPOLLERR;
	fallback_copy_bufsizes(smc);
	return mask;
}

/**
 * smc_fallback_shutdown() - shutdown() of the clcsock
 * @smc: socket in TCP mode, or undecided
 * @how: SHUT_*
 *
 * Return: as shutdown().
 */
int smc_fallback_shutdown(struct smc_sock *smc, int how)
{
	return smc_sock_clcsock_ops(smc)->shutdown(smc->clcsock.sock, how);
}
