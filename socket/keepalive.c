// SPDX-License-Identifier: GPL-2.0-only
/*
 * SO_KEEPALIVE and TCP_USER_TIMEOUT of a connection in SMC mode (RFC 7609 4.5.3). The options are
 * set on the clcsock, where TCP applies them to the TCP connection; this file applies them to the
 * stream. A keepalive probe is a TEST LINK message, sent after the connection and its link were
 * idle for TCP_KEEPIDLE.
 *
 * Also net.smc.carrier_keepalive_time: no data flows over TCP in SMC mode, so send an ACK on the
 * clcsock from time to time, to keep the state of firewalls on the path.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/base/settings.h>
#include <smc/conn/tx.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/socket/sock.h>
#include "keepalive.h"

/* Retry of an ACK after a call of the program had the clcsock locked. */
#define ACK_AGAIN	(1 * HZ)

/**
 * struct keepalive_opts - values of the options, times in jiffies
 * @on: SO_KEEPALIVE
 * @idle: TCP_KEEPIDLE: silence before the first probe
 * @interval: TCP_KEEPINTVL: time between two probes
 * @count: TCP_KEEPCNT: number of unanswered probes that ends the connection
 * @user_timeout: TCP_USER_TIMEOUT, 0: none
 */
struct keepalive_opts {
	bool on;
	unsigned long idle;
	unsigned long interval;
	unsigned int count;
	unsigned long user_timeout;
};

static unsigned long keepalive_user_timeout(const struct smc_sock *smc)
{
	return msecs_to_jiffies(READ_ONCE(inet_csk(smc->clcsock.sock->sk)->icsk_user_timeout));
}

static struct keepalive_opts keepalive_opts_get(const struct smc_sock *smc)
{
	const struct tcp_sock *tp = tcp_sk(smc->clcsock.sock->sk);

	return (struct keepalive_opts){
		.on = sock_flag(&smc->inet.sk, SOCK_KEEPOPEN),
		.idle = keepalive_time_when(tp),
		.interval = keepalive_intvl_when(tp),
		.count = keepalive_probes(tp),
		.user_timeout = keepalive_user_timeout(smc),
	};
}

/* Queue the work to run in @delay jiffies at the latest. */
static void keepalive_check_by(struct smc_sock *smc, struct workqueue_struct *wq,
			       unsigned long delay)
{
	const struct timer_list *timer = &smc->keepalive_work.timer;

	if (!delayed_work_pending(&smc->keepalive_work) ||
	    (timer_pending(timer) && time_after(READ_ONCE(timer->expires), jiffies + delay)))
		mod_delayed_work(wq, &smc->keepalive_work, delay);
}

/*
 * Return true if the peer's RNIC has not acknowledged all bytes; *@since: jiffies of the start of
 * this wait, which does not begin before an acknowledgment is requested.
 */
static bool keepalive_unacked_since(struct smc_conn *conn, unsigned long *since)
{
	lockdep_assert_held(&conn->lock);
	smc_tx_fence_locked(conn);
	*since = conn->tcpinfo.queued_at;
	return !smc_ring_tx_drained(&conn->tx.ring);
}

/* Return jiffies of the peer's last sign of life on the connection or link. */
static unsigned long keepalive_silent_since(const struct smc_conn *conn)
{
	unsigned long own = conn->tcpinfo.peer_seen_at, link = READ_ONCE(conn->link->last_rx);

	lockdep_assert_held(&conn->lock);
	return time_after(link, own) ? link : own;
}

/*
 * Apply TCP's rules for keepalive probes. Return jiffies until the next check, or 0: the peer is
 * dead. *@ask is set if a probe is due.
 */
static unsigned long keepalive_probe(struct smc_sock *smc, struct smc_conn *conn,
				     const struct keepalive_opts *opts, bool *ask)
{
	unsigned long since = keepalive_silent_since(conn), silence = jiffies - since;

	if (smc->keepalive_probes && since != smc->keepalive_since) {
		smc->keepalive_probes = 0;
		conn->keepalive_pending = false;
	}
	if (!smc->keepalive_probes && silence < opts->idle)
		return opts->idle - silence;
	if (opts->user_timeout ? smc->keepalive_probes && silence >= opts->user_timeout :
				 smc->keepalive_probes >= opts->count)
		return 0;
	smc->keepalive_since = since;
	smc->keepalive_probes++;
	/* if the link ends without an answer, the connection ends with ETIMEDOUT */
	conn->keepalive_pending = true;
	*ask = true;
	return opts->interval;
}

/* Return jiffies until the next check of the stream, or 0: the peer is dead. */
static unsigned long keepalive_check(struct smc_sock *smc, struct smc_conn *conn,
				     const struct keepalive_opts *opts, bool *ask)
{
	unsigned long since, age, next = MAX_JIFFY_OFFSET;

	if (!keepalive_unacked_since(conn, &since))
		return opts->on ? keepalive_probe(smc, conn, opts, ask) : next;
	/* no probe while an acknowledgment of the peer's RNIC is due */
	smc->keepalive_probes = 0;
	conn->keepalive_pending = false;
	if (opts->on)
		next = opts->idle;
	if (!opts->user_timeout)
		return next;
	age = jiffies - since;
	if (age >= opts->user_timeout)
		return 0;
	return min(next, opts->user_timeout - age);
}

/* Send an ACK on the clcsock if it is due. Return the jiffies until the next one. */
static unsigned long keepalive_ack_clcsock(struct smc_sock *smc)
{
	struct smc_settings *sn = smc_settings_get(sock_net(&smc->inet.sk));
	unsigned long gap = READ_ONCE(sn->clcsock_keepalive) * HZ,
		      age = jiffies - smc->keepalive_acked_at;

	if (!gap)
		return MAX_JIFFY_OFFSET;
	if (age < gap)
		return gap - age;
	if (!smc_clcsock_try_send_ack(&smc->clcsock))
		return ACK_AGAIN;
	smc->keepalive_acked_at = jiffies;
	return gap;
}

static void keepalive_work(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, keepalive_work);
	struct smc_conn *conn = smc_sock_conn_get(smc);
	unsigned long next = MAX_JIFFY_OFFSET;
	struct keepalive_opts opts = keepalive_opts_get(smc);
	bool ask = false, open;

	if (!conn)
		return;
	spin_lock_bh(&conn->lock);
	open = smc_conn_state_may_cdc(conn->state);
	if (open)
		next = keepalive_check(smc, conn, &opts, &ask);
	spin_unlock_bh(&conn->lock);
	if (ask)
		smc_test_link_probe_lgr(conn->lgr);
	if (open && next)
		next = min(next, keepalive_ack_clcsock(smc));
	if (!next)
		smc_conn_abort(conn, ETIMEDOUT);
	else if (next != MAX_JIFFY_OFFSET)
		keepalive_check_by(smc, conn->wq, next);
	smc_conn_put(conn);
}

/**
 * smc_keepalive_init() - initialise keepalive at the start of SMC mode
 * @smc: socket; its connection is not visible to other contexts yet
 */
void smc_keepalive_init(struct smc_sock *smc)
{
	INIT_DELAYED_WORK(&smc->keepalive_work, keepalive_work);
	smc->keepalive_probes = 0;
	smc->keepalive_acked_at = jiffies;
}

/**
 * smc_keepalive_options_changed() - check soon, after a change of options or at the start of SMC
 * mode
 * @smc: socket; in SMC mode its lock is held, or no other context can end the mode
 */
void smc_keepalive_options_changed(struct smc_sock *smc)
{
	/* not at once: kernel 6.1 calls proto.keepalive before it sets SOCK_KEEPOPEN */
	const unsigned long soon = HZ / 10;

	if (smc_sock_is_smc(smc) && smc->conn)
		keepalive_check_by(smc, smc->conn->wq, soon);
}

/**
 * smc_keepalive_start_user_timeout() - start the clock of TCP_USER_TIMEOUT, if it is set
 * @smc: socket in SMC mode with a connection, locked
 */
void smc_keepalive_start_user_timeout(struct smc_sock *smc)
{
	unsigned long time = keepalive_user_timeout(smc);

	if (time)
		keepalive_check_by(smc, smc->conn->wq, time);
}

/**
 * smc_keepalive_stop() - stop keepalive at the end of SMC mode
 * @smc: socket; smc_keepalive_options_changed() and smc_keepalive_data_queued() are not called any
 *	more
 *
 * Sleeps.
 */
void smc_keepalive_stop(struct smc_sock *smc)
{
	cancel_delayed_work_sync(&smc->keepalive_work);
}
