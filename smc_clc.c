// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CLC message over the TCP carrier.
 *
 * Nothing here sleeps in the carrier: its wait queue belongs to the application.
 * Bytes are taken in two steps, header first, so that what follows the message
 * (the next one, or user data after a Decline) stays in the carrier.
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

	if (!smc_clc_peek_header(buf, &head))
		trace_smc_clc_tx(sk, head.type, head.version, head.len);
}

/**
 * smc_clc_send() - send a finished message
 * @carrier: connected TCP socket
 * @buf: message
 * @len: its length
 *
 * Return: 0, -EAGAIN if not all of it fitted into the send queue (fatal for the
 * handshake: the peer would see half a message), or the carrier's error.
 */
int smc_clc_send(struct socket *clcsock, const u8 *buf, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct smc_clc_head head;
	unsigned int noreclaim;
	int rc;

	/* before the peer can answer */
	if (trace_smc_clc_tx_enabled())
		clc_trace_tx(clcsock->sk, buf);
	if (smc_fault_hit(SMC_FAULT_LOSE_CLC))
		return 0;
	/*
	 * TCP charges the socket's cgroup. At its limit a process of it would be killed for what
	 * is none of its doing, and we wait for its death, which may wait for this handshake.
	 */
	noreclaim = memalloc_noreclaim_save();
	rc = smc_fault_rc(CLC_SEND, -ENOBUFS, kernel_sendmsg(clcsock, &msg, &vec, 1, len));
	memalloc_noreclaim_restore(noreclaim);
	if (rc < 0)
		return rc;
	if (rc != len)
		return -EAGAIN;
	if (!smc_clc_peek_header(buf, &head))
		smc_stats_msg(sock_net(clcsock->sk), SMC_MSGS_CLC_TX, head.type);
	return 0;
}

/**
 * smc_clc_rx_reset() - begin the next message
 * @rx: receive state
 */
void smc_clc_rx_reset(struct smc_clc_rx *rx)
{
	rx->have = 0;
	rx->want = 0;
}

static int clc_rx_fill(struct socket *clcsock, struct smc_clc_rx *rx, u32 end)
{
	while (rx->have < end) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
		struct kvec vec = {
			.iov_base = rx->buf + rx->have,
			.iov_len = end - rx->have,
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
			return rx->have ? -ECONNRESET : -ENOTCONN;
		rx->have += rc;
	}
	return 1;
}

/**
 * smc_clc_recv() - take what has arrived of the current message
 * @carrier: connected TCP socket
 * @rx: receive state
 *
 * Return: 1 when the message is complete, 0 when more has to come, -EPROTO when
 * it cannot be a CLC message, -ENOTCONN for EOF before its first byte,
 * -ECONNRESET for EOF inside, or the carrier's error.
 */
int smc_clc_recv(struct socket *clcsock, struct smc_clc_rx *rx)
{
	struct smc_clc_head head;
	int rc;

	if (!rx->want) {
		rc = clc_rx_fill(clcsock, rx, SMC_CLC_HEAD_LEN);
		if (rc <= 0)
			return rc;
		rc = smc_clc_peek_header(rx->buf, &head);
		if (rc)
			return rc;
		rx->want = head.len;
	}
	rc = clc_rx_fill(clcsock, rx, rx->want);
	if (rc == 1 && !smc_clc_peek_header(rx->buf, &head)) {
		trace_smc_clc_rx(clcsock->sk, head.type, head.version, head.len);
		smc_stats_msg(sock_net(clcsock->sk), SMC_MSGS_CLC_RX, head.type);
	}
	return rc;
}

/* The beginning of what has arrived, without taking it; socket locked. */
static u32 clc_peek(struct sock *sk, u8 *buf, u32 len)
{
	u32 seq = tcp_sk(sk)->copied_seq, have = 0;
	struct sk_buff *skb;

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 off = seq - TCP_SKB_CB(skb)->seq, n;

		/* something that was read already and is still there */
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
 * smc_clc_whole() - can the first message be judged?
 * @sk: carrier, from which nothing was read yet
 *
 * Process context. Not a read with MSG_PEEK: that would move the user's SO_PEEK_OFF.
 *
 * Return: true if all of it is there, or what is there is no CLC message, or nothing
 * more will come.
 */
bool smc_clc_whole(struct sock *sk)
{
	u8 buf[SMC_CLC_HEAD_LEN];
	struct smc_clc_head head;
	bool whole;

	lock_sock(sk);
	whole = sk->sk_err || sk->sk_shutdown & RCV_SHUTDOWN || sk->sk_state == TCP_CLOSE;
	if (!whole && clc_peek(sk, buf, sizeof(buf)) == sizeof(buf))
		whole = smc_clc_peek_header(buf, &head) || tcp_inq(sk) >= head.len;
	release_sock(sk);
	return whole;
}
