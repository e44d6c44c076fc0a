// SPDX-License-Identifier: GPL-2.0-only
/*
 * SO_KEEPALIVE and TCP_USER_TIMEOUT over RDMA (RFC 7609 section 4.5.3). The carrier has the
 * options and does with them what TCP does; here they are for the stream. A connection that
 * was idle for TCP_KEEPIDLE, over a link that was idle as well, has the peer asked by TEST LINK.
 *
 * And net.smc.carrier_keepalive_time: the bytes that would keep the TCP connection in the minds of
 * firewalls go elsewhere, so that the carrier has to show itself.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/base/settings.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/socket/sock.h>
#include "keepalive.h"

/**
 * struct keepalive_opts - what the options say, in jiffies
 * @on: SO_KEEPALIVE
 * @idle: before the first question
 * @again: from one to the next
 * @count: unanswered ones that end the connection
 * @user_timeout: TCP_USER_TIMEOUT, 0: none
 */
struct keepalive_opts {
	bool on;
	unsigned long idle;
	unsigned long again;
	unsigned int count;
	unsigned long user_timeout;
};

static unsigned long keepalive_user_timeout(const struct smc_sock *smc)
{
	return msecs_to_jiffies(READ_ONCE(inet_csk(smc->carrier.sock->sk)->icsk_user_timeout));
}

static struct keepalive_opts keepalive_opts_get(const struct smc_sock *smc)
{
	const struct tcp_sock *tp = tcp_sk(smc->carrier.sock->sk);

	return (struct keepalive_opts){
		.on = sock_flag(&smc->inet.sk, SOCK_KEEPOPEN),
		.idle = keepalive_time_when(tp),
		.again = keepalive_intvl_when(tp),
		.count = keepalive_probes(tp),
		.user_timeout = keepalive_user_timeout(smc),
	};
}

/* Not later than in @delay; a look that is due earlier stays. */
static void keepalive_check_by(struct smc_sock *smc, struct workqueue_struct *wq, unsigned long delay)
{
	const struct timer_list *timer = &smc->keep_work.timer;

	if (!delayed_work_pending(&smc->keep_work) ||
	    (timer_pending(timer) && time_after(READ_ONCE(timer->expires), jiffies + delay)))
		mod_delayed_work(wq, &smc->keep_work, delay);
}

/* Bytes that the peer's RNIC has not acknowledged: since when; conn->lock held. */
static bool keepalive_unacked_since(const struct smc_conn *conn, unsigned long *since)
{
	*since = conn->meter.queued_at;
	return !smc_ring_tx_drained(&conn->tx.ring);
}

/* What was heard of the peer last, over its connection or only its link; conn->lock held. */
static unsigned long keepalive_silent_since(const struct smc_conn *conn)
{
	unsigned long own = conn->meter.heard_at, link = READ_ONCE(conn->link->last_rx);

	return time_after(link, own) ? link : own;
}

/*
 * What TCP does with its probes; conn->lock held. Returns in how many jiffies to look again, 0:
 * the peer is gone. Its RNIC is asked meanwhile if @ask.
 */
static unsigned long keepalive_probe(struct smc_sock *smc, struct smc_conn *conn, const struct keepalive_opts *r,
				     bool *ask)
{
	unsigned long since = keepalive_silent_since(conn), silence = jiffies - since;

	if (smc->keep_asked && since != smc->keep_since) {
		smc->keep_asked = 0;
		conn->asked = false;
	}
	if (!smc->keep_asked && silence < r->idle)
		return r->idle - silence;
	if (r->user_timeout ? smc->keep_asked && silence >= r->user_timeout : smc->keep_asked >= r->count)
		return 0;
	smc->keep_since = since;
	smc->keep_asked++;
	/* should the link end for want of an answer, that is why the connection does */
	conn->asked = true;
	*ask = true;
	return r->again;
}

/* In how many jiffies to look again; 0: the peer is gone. conn->lock held. */
static unsigned long keepalive_check(struct smc_sock *smc, struct smc_conn *conn, const struct keepalive_opts *r,
				     bool *ask)
{
	unsigned long since, age, next = MAX_JIFFY_OFFSET;

	if (!keepalive_unacked_since(conn, &since))
		return r->on ? keepalive_probe(smc, conn, r, ask) : next;
	/* a peer that owes an acknowledgment needs no question */
	smc->keep_asked = 0;
	conn->asked = false;
	if (r->on)
		next = r->idle;
	if (!r->user_timeout)
		return next;
	age = jiffies - since;
	if (age >= r->user_timeout)
		return 0;
	return min(next, r->user_timeout - age);
}

/* In how many jiffies to look again. */
static unsigned long keepalive_ack_clcsock(struct smc_sock *smc)
{
	struct smc_net *sn = smc_policy_net(sock_net(&smc->inet.sk));
	unsigned long gap = READ_ONCE(sn->carrier_keep) * HZ, age = jiffies - smc->keep_acked;

	if (!gap)
		return MAX_JIFFY_OFFSET;
	if (age < gap)
		return gap - age;
	smc_carrier_ack(&smc->carrier);
	smc->keep_acked = jiffies;
	return gap;
}

static void keepalive_work(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, keep_work);
	struct smc_conn *conn = smc_sock_conn_get(smc);
	unsigned long next = MAX_JIFFY_OFFSET;
	struct keepalive_opts r = keepalive_opts_get(smc);
	bool ask = false, open;

	if (!conn)
		return;
	spin_lock_bh(&conn->lock);
	open = smc_conn_state_may_cdc(conn->state);
	if (open)
		next = keepalive_check(smc, conn, &r, &ask);
	spin_unlock_bh(&conn->lock);
	if (ask)
		smc_llc_probe(conn->lgr);
	if (open && next)
		next = min(next, keepalive_ack_clcsock(smc));
	if (!next)
		smc_conn_abort(conn, ETIMEDOUT);
	else if (next != MAX_JIFFY_OFFSET)
		keepalive_check_by(smc, conn->wq, next);
	smc_conn_put(conn);
}

/**
 * smc_keep_init() - SMC mode begins
 * @smc: socket; nobody else sees its connection yet
 */
void smc_keep_init(struct smc_sock *smc)
{
	INIT_DELAYED_WORK(&smc->keep_work, keepalive_work);
	smc->keep_asked = 0;
	smc->keep_acked = jiffies;
}

/**
 * smc_keep_changed() - look at the options
 * @smc: socket; in SMC mode its lock is held, or nobody else can end the mode
 */
void smc_keep_changed(struct smc_sock *smc)
{
	/* old kernels call before they have set SOCK_KEEPOPEN */
	const unsigned long soon = HZ / 10;

	if (smc_sock_mode(smc) == SMC_MODE_SMC && smc->conn)
		keepalive_check_by(smc, smc->conn->wq, soon);
}

/**
 * smc_keep_queued() - bytes were queued
 * @smc: socket in SMC mode with a connection, locked
 */
void smc_keep_queued(struct smc_sock *smc)
{
	unsigned long time = keepalive_user_timeout(smc);

	if (time)
		keepalive_check_by(smc, smc->conn->wq, time);
}

/**
 * smc_keep_end() - SMC mode ends
 * @smc: socket
 */
void smc_keep_end(struct smc_sock *smc)
{
	cancel_delayed_work_sync(&smc->keep_work);
}
