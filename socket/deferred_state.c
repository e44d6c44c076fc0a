// SPDX-License-Identifier: GPL-2.0-only
/*
 * State of deferred sockets (deferred.h) that their calls (socket/deferred.c), their upgrade
 * (socket/upgrade.c) and TCP mode (socket/fallback.c) share: the connection beside TCP, what TCP
 * has received and how it has ended, and the gate between TCP and the ring.
 */
#include <linux/jiffies.h>
#include <linux/net.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/conn/upgrade.h>
#include <smc/tcp/clcsock.h>
#include "deferred.h"

/**
 * smc_deferred_conn_get() - return the connection of an upgrade
 * @smc: deferred socket
 *
 * Any context; takes state_lock.
 *
 * Return: the connection with a reference, or NULL: no request is under way.
 */
struct smc_conn *smc_deferred_conn_get(struct smc_sock *smc)
{
	struct smc_conn *conn;

	/* most sockets that are deferred never ask */
	if (!READ_ONCE(smc->deferred->conn))
		return NULL;
	spin_lock_bh(&smc->state_lock);
	conn = smc->deferred->conn;
	if (conn)
		smc_conn_get(conn);
	spin_unlock_bh(&smc->state_lock);
	return conn;
}

/**
 * smc_deferred_get_tcp() - return how far TCP has got in the receiving direction
 * @smc: deferred socket whose clcsock is hooked
 * @tcp: filled in
 *
 * Any context; a leaf lock, for a moment.
 */
void smc_deferred_get_tcp(struct smc_sock *smc, struct smc_upgrade_tcp *tcp)
{
	u32 copied = smc_clcsock_get_copied(&smc->clcsock);
	struct smc_deferred *d = smc->deferred;

	/* @copied first: a reset counts bytes as read, after it has set @lost */
	spin_lock_bh(&d->lock);
	*tcp = d->tcp;
	spin_unlock_bh(&d->lock);
	tcp->read = smc_clcsock_get_read(&smc->clcsock, copied, tcp->received);
}

/**
 * smc_deferred_reset_locked() - reset the clcsock, and hide what is behind bytes that this destroys
 * @smc: deferred socket, with the lock of its clcsock
 *
 * Context: Process, or BHs are off; does not sleep.
 */
void smc_deferred_reset_locked(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	struct smc_upgrade_tcp tcp;

	smc_deferred_get_tcp(smc, &tcp);
	if (smc_clcsock_state(&smc->clcsock) != TCP_CLOSE && tcp.read < tcp.received) {
		spin_lock_bh(&d->lock);
		d->tcp.lost = true;
		spin_unlock_bh(&d->lock);
	}
	smc_clcsock_reset_locked(&smc->clcsock);
}

/**
 * smc_deferred_note_error() - note the error with which TCP has ended
 * @smc: deferred socket
 * @err: errno, positive; the first one counts
 *
 * Any context; a leaf lock, for a moment.
 */
void smc_deferred_note_error(struct smc_sock *smc, int err)
{
	struct smc_deferred *d = smc->deferred;

	spin_lock_bh(&d->lock);
	if (!d->tcp_err) {
		WRITE_ONCE(d->tcp_err, err);
		d->tcp_err_at = jiffies;
	}
	spin_unlock_bh(&d->lock);
}

/* ---- the gate ------------------------------------------------------------------ */

/**
 * smc_deferred_gate_enter() - count a call that enters TCP
 * @d: of a deferred socket
 *
 * Any context.
 *
 * Return: false: the gate is shut, the call uses the ring.
 */
bool smc_deferred_gate_enter(struct smc_deferred *d)
{
	u32 old = READ_ONCE(d->gate), next;

	do {
		if (!smc_upgrade_gate_enter(old, &next))
			return false;
	} while (!try_cmpxchg(&d->gate, &old, next));
	return true;
}

/**
 * smc_deferred_gate_leave() - a call has left TCP
 * @d: of a deferred socket; smc_deferred_gate_enter() returned true
 *
 * Any context.
 *
 * Return: whether nobody is inside any more.
 */
bool smc_deferred_gate_leave(struct smc_deferred *d)
{
	u32 old = READ_ONCE(d->gate), next;

	do {
		next = smc_upgrade_gate_leave(old);
	} while (!try_cmpxchg(&d->gate, &old, next));
	return !next;
}

/*
 * Who waits for room of TCP waits for that of the ring from now on, and is woken for it: the
 * connection has woken writers before @ring was set, and poll() may have asked TCP since.
 */
static void deferred_move_starved(struct smc_sock *smc)
{
	struct socket *csock = smc->clcsock.sock->sk->sk_socket;
	struct sock *sk = smc_sock_sk(smc);
	struct socket *sock = READ_ONCE(sk->sk_socket);

	smp_mb();	/* pairs with tcp_poll(), which sets the bit before poll() reads @ring */
	if (sock && csock && test_and_clear_bit(SOCK_NOSPACE, &csock->flags))
		set_bit(SOCK_NOSPACE, &sock->flags);
	rcu_read_lock();
	sk->sk_write_space(sk);
	rcu_read_unlock();
}

/**
 * smc_deferred_shut_gate_locked() - shut the gate, if nobody is inside
 * @smc: deferred socket whose two ends have agreed, with the lock of its clcsock
 *
 * Not while an urgent byte of TCP is unacknowledged: TCP may still announce it.
 *
 * Context: Process, or BHs are off; does not sleep.
 * Return: false: try again later.
 */
bool smc_deferred_shut_gate_locked(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk, *sk = smc_sock_sk(smc);
	struct smc_deferred *d = smc->deferred;
	u32 old = READ_ONCE(d->gate), next;
	struct smc_conn *conn;

	if (old & SMC_UPGRADE_GATE_SHUT)
		return true;
	if (smc_clcsock_is_urgent_unacked(&smc->clcsock))
		return false;
	conn = smc_deferred_conn_get(smc);
	if (!conn)
		return true;
	if (smc_upgrade_gate_shut(old, &next) && try_cmpxchg(&d->gate, &old, next)) {
		d->s = smc_clcsock_get_taken(&smc->clcsock);
		/* the numbers of MSG_ZEROCOPY go on */
		atomic_set(&sk->sk_zckey, atomic_read(&csk->sk_zckey));
		smc_conn_upgrade_shut_gate(conn, d->s);
		/* pairs with deferred_uses_ring() */
		smp_store_release(&d->ring, true);
		deferred_move_starved(smc);
	}
	smc_conn_put(conn);
	return READ_ONCE(d->ring);
}
