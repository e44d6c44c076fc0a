// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control messages of recvmsg() in SMC mode: time stamps and TCP_INQ with the bytes of the stream,
 * and the notifications of the error queue (MSG_ZEROCOPY) in every mode.
 */
#include <linux/errqueue.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net_tstamp.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include <linux/time_types.h>
#include <net/sock.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/socket/sock.h>
#include "cmsg.h"

#include <compat/tstamp.h>

static bool cmsg_inq_enabled(const struct smc_sock *smc)
{
	return tcp_sk(smc->clcsock.sock->sk)->recvmsg_inq;
}

static bool cmsg_tstamp_enabled(const struct sock *sk)
{
	return sock_flag(sk, SOCK_RCVTSTAMP) ||
	       READ_ONCE(sk->sk_tsflags) & SOF_TIMESTAMPING_SOFTWARE;
}

/**
 * smc_cmsg_is_needed() - check whether smc_cmsg_put() has anything to do
 * @smc: socket in SMC mode
 * @msg: message of recvmsg()
 *
 * Return: true if so.
 */
bool smc_cmsg_is_needed(const struct smc_sock *smc, const struct msghdr *msg)
{
	return msg->msg_get_inq || cmsg_inq_enabled(smc) || cmsg_tstamp_enabled(&smc->inet.sk);
}

/* Put the stamp of SO_TIMESTAMP or SO_TIMESTAMPNS, in the layout of the option (_OLD, _NEW). */
static void cmsg_put_tstamp(struct msghdr *msg, const struct sock *sk, ktime_t at)
{
	struct timespec64 ts = ktime_to_timespec64(at);
	bool new = sock_flag(sk, SOCK_TSTAMP_NEW);
	union {
		struct __kernel_timespec ns;
		struct __kernel_old_timespec ns_old;
		struct __kernel_sock_timeval us;
		struct __kernel_old_timeval us_old;
	} v;

	if (sock_flag(sk, SOCK_RCVTSTAMPNS) && new) {
		v.ns = (struct __kernel_timespec){ ts.tv_sec, ts.tv_nsec };
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPNS_NEW, sizeof(v.ns), &v.ns);
	} else if (sock_flag(sk, SOCK_RCVTSTAMPNS)) {
		v.ns_old = (struct __kernel_old_timespec){ ts.tv_sec, ts.tv_nsec };
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPNS_OLD, sizeof(v.ns_old), &v.ns_old);
	} else if (new) {
		v.us = (struct __kernel_sock_timeval){ ts.tv_sec, ts.tv_nsec / NSEC_PER_USEC };
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW, sizeof(v.us), &v.us);
	} else {
		v.us_old = (struct __kernel_old_timeval){ ts.tv_sec, ts.tv_nsec / NSEC_PER_USEC };
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(v.us_old), &v.us_old);
	}
}

/* True if SO_TIMESTAMPING reports software time stamps of received bytes. */
static bool cmsg_reports_software(const struct sock *sk)
{
	u32 flags = READ_ONCE(sk->sk_tsflags);

	if (!(flags & SOF_TIMESTAMPING_SOFTWARE))
		return false;
#ifdef SMC_HAVE_OPT_RX_FILTER
	return flags & SOF_TIMESTAMPING_RX_SOFTWARE || !(flags & SOF_TIMESTAMPING_OPT_RX_FILTER);
#else
	return true;
#endif
}

static void cmsg_put_tstamps(struct msghdr *msg, const struct sock *sk, ktime_t at)
{
	struct scm_timestamping_internal tss = {};

	if (sock_flag(sk, SOCK_RCVTSTAMP))
		cmsg_put_tstamp(msg, sk, at);
	if (!cmsg_reports_software(sk))
		return;
	smc_compat_timestamp_set(&tss, at);
	if (sock_flag(sk, SOCK_TSTAMP_NEW))
		put_cmsg_scm_timestamping64(msg, &tss);
	else
		put_cmsg_scm_timestamping(msg, &tss);
}

/*
 * Return TCP_INQ: readable bytes and @more, or 1 before the end of the stream, so that it gets
 * read.
 */
static int cmsg_inq(struct smc_conn *conn, bool in_line, size_t more)
{
	size_t n = more + smc_rx_get_readable(conn) + smc_rx_has_held_byte(conn, in_line);

	if (!n && READ_ONCE(conn->rx.peer_state) & (SMC_CDC_S_DONE | SMC_CDC_S_CLOSED))
		return 1;
	return min_t(size_t, n, INT_MAX);
}

/**
 * smc_cmsg_put_inq() - report how much is left for a reader, if an option asks for it
 * @smc: socket, locked
 * @conn: connection of the socket; NULL: its ring is not visible yet
 * @msg: message of the call
 * @more: bytes that TCP has for the reader
 */
void smc_cmsg_put_inq(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg,
		      u32 more)
{
	if (!msg->msg_get_inq && !cmsg_inq_enabled(smc))
		return;
	if (conn)
		msg->msg_inq = cmsg_inq(conn, sock_flag(&smc->inet.sk, SOCK_URGINLINE), more);
	else
		msg->msg_inq = min_t(u32, more, INT_MAX);
	if (cmsg_inq_enabled(smc))
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(msg->msg_inq), &msg->msg_inq);
}

/**
 * smc_cmsg_put_stamps() - put the time stamps of bytes of the ring
 * @smc: socket, locked
 * @conn: connection of the socket
 * @msg: message of the call
 * @ahead: offset of the end of these bytes from the read position (MSG_PEEK)
 */
void smc_cmsg_put_stamps(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg,
			 size_t ahead)
{
	ktime_t at = smc_timestamp_get(conn, ahead);

	if (at)
		cmsg_put_tstamps(msg, &smc->inet.sk, at);
}

/**
 * smc_cmsg_put() - put the control messages of a successful recvmsg()
 * @smc: socket in SMC mode, locked
 * @conn: connection of the socket
 * @msg: message of the call
 * @some: the call returns bytes
 * @ahead: offset of the end of these bytes from the read position (MSG_PEEK)
 *
 * Puts the same messages as TCP.
 */
void smc_cmsg_put(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg, bool some,
		  size_t ahead)
{
	if (some)
		smc_cmsg_put_stamps(smc, conn, msg, ahead);
	smc_cmsg_put_inq(smc, conn, msg, 0);
}

/**
 * smc_cmsg_options_changed() - start to record arrival times if an option needs them
 * @smc: socket in any mode; called after a change of options and at the start of SMC mode
 */
void smc_cmsg_options_changed(struct smc_sock *smc)
{
	struct smc_conn *conn;

	if (!smc_clcsock_wants_timestamps(&smc->clcsock))
		return;
	conn = smc_sock_conn_get(smc);
	if (!conn)
		return;
	smc_timestamp_start(conn);
	smc_conn_put(conn);
}

/**
 * smc_cmsg_recv_errqueue() - recvmsg() with MSG_ERRQUEUE from the error queue of the SMC socket
 * @smc: socket in any mode
 * @msg: message of the call
 * @len: size of its buffer
 *
 * Puts struct sock_extended_err in TCP's layout, with an empty address of the offender.
 *
 * Return: number of bytes, -EAGAIN: the queue is empty, or another error.
 */
int smc_cmsg_recv_errqueue(struct smc_sock *smc, struct msghdr *msg, size_t len)
{
	struct sock *sk = &smc->inet.sk;
	bool v6 = smc_sock_is_ipv6(sk);
	struct {
		struct sock_extended_err ee;
		struct sockaddr_in6 offender;
	} notice = {};
	struct sk_buff *skb;
	int copied, rc;

	skb = sock_dequeue_err_skb(sk);
	if (!skb)
		return -EAGAIN;
	copied = min_t(size_t, skb->len, len);
	if (copied < (int)skb->len)
		msg->msg_flags |= MSG_TRUNC;
	rc = skb_copy_datagram_msg(skb, 0, msg, copied);
	if (!rc) {
		sock_recv_timestamp(msg, sk, skb);
		notice.ee = SKB_EXT_ERR(skb)->ee;
		put_cmsg(msg, v6 ? SOL_IPV6 : SOL_IP, v6 ? IPV6_RECVERR : IP_RECVERR,
			 sizeof(notice.ee) +
			 (v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)), &notice);
		msg->msg_flags |= MSG_ERRQUEUE;
	}
	kfree_skb(skb);
	return rc ?: copied;
}
