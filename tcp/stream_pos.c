// SPDX-License-Identifier: GPL-2.0-only
/*
 * How far TCP has got, as positions in the stream of the application (proto/upgrade.h). Sequence
 * numbers count SYN and FIN; these positions do not. For connections whose first sequence numbers
 * are noted (smc_clcsock_note_first()).
 */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/tcp_states.h>
#include <smc/proto/upgrade.h>
#include <smc/tcp/clcsock.h>

/* Our FIN has a sequence number in these states. In TCP_CLOSE it may have one. */
#define STATES_WITH_FIN	(TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSING | TCPF_LAST_ACK)

/**
 * smc_clcsock_get_received() - return what TCP has received
 * @c: clcsock, locked: FIN is counted before it is noted
 * @tcp: @received and @fin are set; they never go back
 */
void smc_clcsock_get_received(const struct smc_clcsock *c, struct smc_upgrade_tcp *tcp)
{
	const struct sock *sk = c->sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	/* tcp_fin() alone sets it */
	tcp->fin |= sock_flag(sk, SOCK_DONE);
	tcp->received = smc_upgrade_pos_of_seq(c->first_rx, READ_ONCE(tp->rcv_nxt) - tcp->fin,
					       tcp->received);
}

/**
 * smc_clcsock_get_copied() - return the sequence number up to which the application has read
 * @c: clcsock
 *
 * Any context, lockless.
 *
 * Return: the number, for smc_clcsock_get_read().
 */
u32 smc_clcsock_get_copied(const struct smc_clcsock *c)
{
	return READ_ONCE(tcp_sk(c->sock->sk)->copied_seq);
}

/**
 * smc_clcsock_get_read() - return what the application has read
 * @c: clcsock
 * @copied: from smc_clcsock_get_copied()
 * @received: from smc_clcsock_get_received(), not older than @copied
 *
 * Any context, lockless.
 *
 * Return: bytes; a FIN that was read does not count.
 */
u64 smc_clcsock_get_read(const struct smc_clcsock *c, u32 copied, u64 received)
{
	return min(smc_upgrade_pos_of_seq(c->first_rx, copied, received), received);
}

/**
 * smc_clcsock_get_acked() - return what the peer's TCP has acknowledged
 * @c: clcsock
 * @near: a position that is less than 2^31 away
 *
 * Any context, lockless.
 *
 * Return: bytes, or one more if FIN is acknowledged.
 */
u64 smc_clcsock_get_acked(const struct smc_clcsock *c, u64 near)
{
	return smc_upgrade_pos_of_seq(c->first_tx, READ_ONCE(tcp_sk(c->sock->sk)->snd_una), near);
}

static bool stream_pos_has_fin(const struct smc_clcsock *c)
{
	return c->fin_taken || BIT(c->sock->sk->sk_state) & STATES_WITH_FIN;
}

/**
 * smc_clcsock_note_fin() - note whether TCP has taken FIN of our direction
 * @c: clcsock, locked
 *
 * After each change of the state. An orderly end leads to TCP_CLOSE, and so does RST: that state
 * does not tell.
 */
void smc_clcsock_note_fin(struct smc_clcsock *c)
{
	c->fin_taken = stream_pos_has_fin(c);
}

/**
 * smc_clcsock_get_taken() - return what TCP has taken from the application
 * @c: clcsock, locked; smc_clcsock_note_fin() was called after each change of the state
 *
 * Return: bytes, without FIN.
 */
u64 smc_clcsock_get_taken(const struct smc_clcsock *c)
{
	const struct tcp_sock *tp = tcp_sk(c->sock->sk);

	return smc_upgrade_tx_s(c->first_tx, tp->write_seq, stream_pos_has_fin(c),
				tp->bytes_acked);
}

/**
 * smc_clcsock_is_urgent_unacked() - check whether an urgent byte is on its way
 * @c: clcsock, locked
 *
 * Return: true if the peer's TCP has not acknowledged it, and may do so.
 */
bool smc_clcsock_is_urgent_unacked(const struct smc_clcsock *c)
{
	const struct sock *sk = c->sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	return sk->sk_state != TCP_CLOSE && tp->snd_una != tp->snd_up;
}

/**
 * smc_clcsock_has_unsent() - check whether TCP holds bytes back
 * @c: clcsock
 *
 * Any context, lockless.
 *
 * Return: true if it has bytes that were not sent once.
 */
bool smc_clcsock_has_unsent(const struct smc_clcsock *c)
{
	const struct tcp_sock *tp = tcp_sk(c->sock->sk);

	return READ_ONCE(tp->write_seq) != READ_ONCE(tp->snd_nxt);
}

/**
 * smc_clcsock_is_at_mark() - check whether the next byte is TCP's urgent one
 * @c: clcsock
 *
 * Any context, lockless.
 *
 * Return: as SIOCATMARK.
 */
bool smc_clcsock_is_at_mark(const struct smc_clcsock *c)
{
	const struct tcp_sock *tp = tcp_sk(c->sock->sk);

	return READ_ONCE(tp->urg_data) && READ_ONCE(tp->urg_seq) == READ_ONCE(tp->copied_seq);
}

/**
 * smc_clcsock_push() - send what Nagle and TCP_CORK hold back, once
 * @c: clcsock
 *
 * Both apply to later bytes as before. No setsockopt() changes them meanwhile: the caller holds the
 * lock of the SMC socket. Process context, takes the lock of the TCP socket.
 */
void smc_clcsock_push(struct smc_clcsock *c)
{
	struct sock *sk = c->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	u8 held;

	lock_sock(sk);
	held = tp->nonagle & (TCP_NAGLE_OFF | TCP_NAGLE_CORK);
	release_sock(sk);
	if (held & TCP_NAGLE_CORK)
		tcp_sock_set_cork(sk, false);
	tcp_sock_set_nodelay(sk);
	lock_sock(sk);
	if (!(held & TCP_NAGLE_OFF))
		tp->nonagle &= ~TCP_NAGLE_OFF;
	tp->nonagle |= held & TCP_NAGLE_CORK;
	release_sock(sk);
}
