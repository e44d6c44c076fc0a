// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send and receive CLC messages over the clcsock (RFC 7609 section A.2). Entry point of tcp/.
 *
 * Every SMC socket owns an in-kernel TCP socket, the clcsock (struct smc_clcsock, tcp/clcsock.c).
 * The folder tcp/ has three parts:
 *
 * - tcp/clcsock.c creates, accepts and closes the clcsock. While a handshake runs, or while the
 *   connection uses RDMA, the four callbacks of the TCP socket are hooked: they call
 *   smc_clcsock_events.changed() instead of waking the application.
 * - tcp/option_core.c or tcp/option_own.c puts the SMC option into SYN and SYN-ACK and reports
 *   whether both ends sent it (RFC 7609 section 3.1). Kbuild selects one of them: the first with
 *   CONFIG_SMC, the second where core TCP does not have the option.
 * - This file moves one CLC message (Proposal, Accept, Confirm, Decline) between a buffer and the
 *   TCP byte stream. proto/clc_msg.c builds and parses the messages.
 *
 * A message is received in two steps, first the header and then the rest, and never a byte more.
 * What follows the message stays in the TCP receive queue: the next CLC message, or application
 * data after a Decline.
 *
 * Sending and receiving never sleep on the clcsock's wait queue (MSG_DONTWAIT), because the
 * clcsock shares the wait queue of the application's socket. The handshake has its own wait
 * queue (smc_hs.wait), which changed() wakes.
 *
 * Locks, outermost first: the clcsock's socket lock, its sk_callback_lock, then the spinlocks
 * of tcp/option_own.c. This file takes the socket lock, in smc_clc_rx_is_ready() and inside
 * kernel_sendmsg() and kernel_recvmsg(). No function of this file takes a reference: the
 * caller keeps the clcsock alive.
 */
#include <linux/errno.h>
#include <linux/sched/mm.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/tcp/clc.h>

static void clc_trace_tx(const struct sock *sk, const u8 *buf)
{
	struct smc_clc_head head;

	if (!smc_clc_parse_header(buf, &head))
		trace_smc_clc_tx(sk, head.type, head.version, head.len);
}

/**
 * smc_clc_send() - send one complete CLC message
 * @clcsock: connected TCP socket
 * @buf: message
 * @len: length in bytes
 *
 * Process context. Does not wait for space: a CLC message fits an empty send queue. The trace
 * point is hit before the peer can answer.
 *
 * Return: 0; -EAGAIN if only a part of the message fitted into the send queue (fatal for the
 * handshake, the peer would receive half a message); or the error of the TCP socket.
 */
int smc_clc_send(struct socket *clcsock, const u8 *buf, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct smc_clc_head head;
	unsigned int noreclaim;
	int rc;

	if (trace_smc_clc_tx_enabled())
		clc_trace_tx(clcsock->sk, buf);
	if (smc_fault_hit(SMC_FAULT_LOSE_CLC))
		return 0;
	/*
	 * TCP charges the memory to the socket's cgroup. At the limit, direct reclaim could start
	 * the OOM killer on a process of that cgroup, whose exit may wait for this handshake.
	 */
	noreclaim = memalloc_noreclaim_save();
	rc = smc_fault_rc(CLC_SEND, -ENOBUFS, kernel_sendmsg(clcsock, &msg, &vec, 1, len));
	memalloc_noreclaim_restore(noreclaim);
	if (rc < 0)
		return rc;
	if (rc != len)
		return -EAGAIN;
	if (!smc_clc_parse_header(buf, &head))
		smc_stats_add_msg(sock_net(clcsock->sk), SMC_MSGS_CLC_TX, head.type);
	return 0;
}

/**
 * smc_clc_rx_reset() - prepare to receive the next message
 * @rx: receive state
 *
 * The previous message in @rx->buf is discarded. The caller serialises access to @rx.
 */
void smc_clc_rx_reset(struct smc_clc_rx *rx)
{
	rx->received = 0;
	rx->len = 0;
}

/* Receive until @rx holds @end bytes. 1: it does; 0: more to come; or -errno. */
static int clc_rx_fill(struct socket *clcsock, struct smc_clc_rx *rx, u32 end)
{
	while (rx->received < end) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
		struct kvec vec = {
			.iov_base = rx->buf + rx->received,
			.iov_len = end - rx->received,
		};
		int rc;

		rc = smc_fault_rc(CLC_RECV, -ENOMEM,
				  kernel_recvmsg(clcsock, &msg, &vec, 1, vec.iov_len,
						 MSG_DONTWAIT));
		if (rc == -EAGAIN)
			return 0;
		if (rc < 0)
			return rc;
		if (!rc)
			return rx->received ? -ECONNRESET : -ENOTCONN;
		rx->received += rc;
	}
	return 1;
}

/**
 * smc_clc_recv() - receive as much of the current message as has arrived
 * @clcsock: connected TCP socket
 * @rx: receive state; call smc_clc_rx_reset() between messages
 *
 * Process context, does not wait. Reads no byte beyond the message.
 *
 * Return: 1 when @rx->buf holds the complete message of @rx->len bytes; 0 when more bytes have
 * to arrive; -EPROTO when the bytes are no CLC message (wrong eye catcher, impossible length);
 * -ENOTCONN for EOF before the first byte; -ECONNRESET for EOF inside the message; or the error
 * of the TCP socket.
 */
int smc_clc_recv(struct socket *clcsock, struct smc_clc_rx *rx)
{
	struct smc_clc_head head;
	int rc;

	if (!rx->len) {
		rc = clc_rx_fill(clcsock, rx, SMC_CLC_HEAD_LEN);
		if (rc <= 0)
			return rc;
		rc = smc_clc_parse_header(rx->buf, &head);
		if (rc)
			return rc;
		rx->len = head.len;
	}
	rc = clc_rx_fill(clcsock, rx, rx->len);
	if (rc == 1 && !smc_clc_parse_header(rx->buf, &head)) {
		trace_smc_clc_rx(clcsock->sk, head.type, head.version, head.len);
		smc_stats_add_msg(sock_net(clcsock->sk), SMC_MSGS_CLC_RX, head.type);
	}
	return rc;
}

/* Copy up to @len unread bytes without consuming them. Return: number of bytes copied. */
static u32 clc_peek(struct sock *sk, u8 *buf, u32 len)
{
	u32 seq = tcp_sk(sk)->copied_seq, have = 0;
	struct sk_buff *skb;

	sock_owned_by_me(sk);
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 off = seq - TCP_SKB_CB(skb)->seq, n;

		/* read already, but still queued */
		if (off >= skb->len)
			continue;
		n = min(skb->len - off, len - have);
		if (skb_copy_bits(skb, off, buf + have, n))
			break;
		have += n;
		seq += n;
		if (have == len)
			break;
	}
	return have;
}

/**
 * smc_clc_rx_is_ready() - check whether the first message can be received without waiting
 * @sk: clcsock from which nothing has been read yet
 *
 * Process context, takes the socket lock. Reads nothing. MSG_PEEK cannot be used, because it
 * moves the application's SO_PEEK_OFF.
 *
 * Return: true if the message is complete, or cannot be a CLC message, or no more bytes will
 * arrive (error, FIN, closed).
 */
bool smc_clc_rx_is_ready(struct sock *sk)
{
	u8 buf[SMC_CLC_HEAD_LEN];
	struct smc_clc_head head;
	bool whole;

	lock_sock(sk);
	whole = sk->sk_err || sk->sk_shutdown & RCV_SHUTDOWN || sk->sk_state == TCP_CLOSE;
	if (!whole && clc_peek(sk, buf, sizeof(buf)) == sizeof(buf))
		whole = smc_clc_parse_header(buf, &head) || tcp_inq(sk) >= head.len;
	release_sock(sk);
	return whole;
}
