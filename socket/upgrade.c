// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upgrade of deferred sockets (deferred.h, decision 0021): who may ask, requests of this host and
 * of the peer, what the two ends have agreed, and the end of such a socket.
 *
 * A job prepares what a request needs, or judges one: it may wait for the peer (CONFIRM RKEY), so
 * it is no part of a call, and runs on the queue of the group. There is one at a time for a socket.
 * From smc_conn_upgrade_begin() on the connection has its own life, and its request with it; the
 * socket has a reference, and gets notifications.
 *
 * The work of the socket does what a notification, or the clcsock, leads to and what needs process
 * context. It serves the sockets of all users, and so never waits for the lock of a clcsock, which
 * a call of a program may hold for as long as the program likes.
 */
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/events.h>
#include <smc/base/fault.h>
#include <smc/base/hs_ctrl.h>
#include <smc/base/log.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/rx.h>
#include <smc/conn/tx.h>
#include <smc/handshake/autosmc.h>
#include <smc/handshake/upgradable.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/upgrade.h>
#include <smc/rdma/path.h>
#include <smc/tcp/orphan.h>
#include "cmsg.h"
#include "deferred.h"
#include "fallback.h"
#include "keepalive.h"
#include "stream.h"

/* RST may overtake RDMA WRITEs of the peer, and its A; as RESET_GRACE of a socket in SMC mode. */
#define UPGRADE_GRACE		(HZ / 5)
/*
 * The lock of the clcsock is taken, an urgent byte is not acknowledged, or other bytes are not
 * sent: look again. Each pause is twice the one before: a program may keep the lock for ever.
 */
#define GATE_AGAIN	(HZ / 50)
#define GATE_AGAIN_MAX	(1 * HZ)
/* A reset destroys what TCP has received: the program has this time to read it. */
#define UNREAD_TIME		(2 * HZ)
/* Pauses of a client after a request that led to nothing. */
#define PAUSE_MIN		(1 * HZ)
#define PAUSE_MAX		(300 * HZ)
/*
 * Requests of a connection that the server does not know. The first one may come before the server
 * has taken the connection from TCP.
 */
#define UNKNOWN_TRIES		3
/* An option that excludes SMC looks again whether the peer has decided. */
#define EXCLUDE_POLL		(HZ / 10)
/* Rings and RMBEs are not smaller: programs that both write first rely on TCP's buffers. */
#define RING_MIN		SZ_64K
#define RING_MAX		SZ_1M

static struct workqueue_struct *upgrade_wq;

/* ---- the clcsock --------------------------------------------------------------- */

/* smc_clcsock_events.received: the lock of the TCP socket is held. */
static void upgrade_clcsock_received(void *owner)
{
	struct smc_sock *smc = owner;
	struct smc_deferred *d = smc->deferred;

	smc_clcsock_note_fin(&smc->clcsock);
	spin_lock_bh(&d->lock);
	smc_clcsock_get_received(&smc->clcsock, &d->tcp);
	spin_unlock_bh(&d->lock);
}

/* smc_clcsock_events.changed: any context, TCP's own callback follows. */
static void upgrade_clcsock_changed(void *owner)
{
	struct smc_sock *smc = owner;
	const struct sock *csk = smc->clcsock.sock->sk;
	int err = READ_ONCE(csk->sk_err);

	/* before a reader takes it */
	if (err && inet_sk_state_load(csk) == TCP_CLOSE)
		smc_deferred_note_error(smc, err);
	smc_fallback_pull_error(smc);
	if (READ_ONCE(smc->deferred->conn))
		smc_deferred_queue_work(smc);
}

static const struct smc_clcsock_events upgrade_clcsock_events = {
	.changed = upgrade_clcsock_changed,
	.received = upgrade_clcsock_received,
};

/* Watch the clcsock. Process context; takes its lock. Return false if another one does. */
static bool upgrade_hook(struct smc_sock *smc, bool server)
{
	struct smc_deferred *d = smc->deferred;
	struct sock *csk = smc->clcsock.sock->sk;

	smc_clcsock_note_first(&smc->clcsock, server);
	smc_fallback_detach(smc);
	if (!smc_clcsock_hook(&smc->clcsock, &upgrade_clcsock_events, smc))
		return false;
	lock_sock(csk);
	upgrade_clcsock_received(smc);
	release_sock(csk);
	WRITE_ONCE(d->hooked, true);
	upgrade_clcsock_changed(smc);
	return true;
}

/* ---- counters and events ------------------------------------------------------- */

/* smc_conn_upgrade_ops.llc, %SMC_CONN_UPGRADE_REPORT: from now on the connection uses RDMA. */
static void upgrade_report_change(const struct smc_conn *conn)
{
	struct smc_event_upgrade ev = {
		.lgr_id = conn->lgr->id, .server = conn->role == SMC_SERVER, .path = &conn->path,
		.msecs = jiffies64_to_msecs(jiffies - conn->upgrade->init.began_at),
	};

	smc_event_upgrade(conn->net, &ev);
}

/* Tell listeners why a request has led to nothing. @ends: of its connection; NULL: not known. */
static void upgrade_report_refusal(const struct smc_lgr *lgr, const struct smc_rules_path *ends,
				   const char *reason)
{
	struct smc_event_upgrade ev = {
		.lgr_id = lgr->id, .server = lgr->role == SMC_SERVER, .path = ends,
		.reason = reason,
	};

	if (ends && smc_event_has_listeners(SMC_EVENT_GROUP_CONNS))
		smc_event_upgrade(lgr->net, &ev);
}

/* Count and report a refusal, that of the server at both ends. @ends: as above. */
static void upgrade_note_refusal(const struct smc_lgr *lgr, const struct smc_rules_path *ends,
				 u8 reason)
{
	static const struct {
		enum smc_stat stat;
		const char *text;
	} reasons[SMC_UPGRADE_REASONS] = {
		[SMC_UPGRADE_UNKNOWN]	= { SMC_STAT_UPGRADE_UNKNOWN, "unknown" },
		[SMC_UPGRADE_LATER]	= { SMC_STAT_UPGRADE_LATER, "later" },
		[SMC_UPGRADE_EXCLUDED]	= { SMC_STAT_UPGRADE_EXCLUDED, "excluded" },
		[SMC_UPGRADE_MEMORY]	= { SMC_STAT_UPGRADE_MEMORY, "memory" },
	};
	/* a later version may have others */
	bool known = reason != SMC_UPGRADE_YES && reason < SMC_UPGRADE_REASONS;

	smc_stats_inc(lgr->net, SMC_STAT_UPGRADE_REFUSED);
	if (known)
		smc_stats_inc(lgr->net, reasons[reason].stat);
	upgrade_report_refusal(lgr, ends, known ? reasons[reason].text : "other");
}

/* Count and report a withdrawal, at both ends. @ends: as above. */
static void upgrade_note_withdrawal(const struct smc_lgr *lgr, const struct smc_rules_path *ends)
{
	smc_stats_inc(lgr->net, SMC_STAT_UPGRADE_WITHDRAWN);
	upgrade_report_refusal(lgr, ends, "withdrawn");
}

/* ---- the connection and LLC ---------------------------------------------------- */

/* smc_conn_upgrade_ops.get_tcp */
static void upgrade_read_progress(struct smc_sock *owner, struct smc_conn_tcp *tcp)
{
	smc_deferred_get_tcp(owner, &tcp->rx);
	tcp->acked = smc_clcsock_get_acked(&owner->clcsock, owner->deferred->s);
}

static void upgrade_send_request(struct smc_conn *conn)
{
	struct smc_upgrade_req *req = &conn->upgrade->req;

	req->elem = &conn->rx.elem;
	req->token = conn->token;
	req->proof = conn->upgrade->init.proof;
	req->hint = conn->upgrade->init.hint;
	smc_conn_get(conn);
	if (!smc_upgrade_ask(conn->lgr, req)) {
		smc_stats_inc(conn->net, SMC_STAT_UPGRADE_ASKED);
		return;
	}
	/* the group is dead, and tells the connection itself */
	smc_conn_put(conn);
}

static void upgrade_send_accept(struct smc_conn *conn)
{
	struct smc_upgrade_req *req = &conn->upgrade->req;
	int rc;

	req->elem = &conn->rx.elem;
	req->token = conn->token;
	smc_conn_get(conn);
	rc = smc_upgrade_answer(conn->lgr, conn->upgrade->init.number, SMC_UPGRADE_YES, req);
	if (!rc)
		return;
	if (rc == -ECANCELED) {
		upgrade_note_withdrawal(conn->lgr, &conn->path);
		smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
	}
	smc_conn_put(conn);
}

/*
 * Server: say no. For all reasons but UNKNOWN the proof was right: the ports of the request are
 * those of a connection between the addresses of the group. An unknown one is what the peer says,
 * as often as it likes: that is counted, and there is no event. It would name no connection, and
 * with those that do it would soon reach the limit per second.
 */
static void upgrade_refuse(struct smc_lgr *lgr, const struct smc_upgrade_msg *msg,
			   enum smc_upgrade_reason reason)
{
	const struct smc_rules_path ends = {
		.local = { .addr = lgr->peer.own_addr, .port = msg->proof.server_port },
		.remote = { .addr = lgr->peer.tcp_addr, .port = msg->proof.client_port },
	};
	const struct smc_rules_path *known = reason == SMC_UPGRADE_UNKNOWN ? NULL : &ends;
	int rc = smc_upgrade_answer(lgr, msg->number, reason, NULL);

	if (!rc)
		upgrade_note_refusal(lgr, known, reason);
	else if (rc == -ECANCELED)
		upgrade_note_withdrawal(lgr, known);
}

/* smc_conn_upgrade_ops.llc */
static void upgrade_llc(struct smc_conn *conn, u32 actions)
{
	struct smc_upgrade_req *req = &conn->upgrade->req;

	if (actions & SMC_UPGRADE_ACT_SEND_REQUEST)
		upgrade_send_request(conn);
	if (actions & SMC_UPGRADE_ACT_SEND_WITHDRAWAL)
		smc_upgrade_withdraw(conn->lgr, req);
	if (actions & SMC_UPGRADE_ACT_SEND_ACCEPT)
		upgrade_send_accept(conn);
	if (actions & SMC_UPGRADE_ACT_FREE_SLOT)
		smc_upgrade_finish(conn->lgr, req);
	if (actions & SMC_CONN_UPGRADE_ABANDON)
		smc_upgrade_abandon(conn->lgr, req);
	if (actions & SMC_CONN_UPGRADE_REPORT)
		upgrade_report_change(conn);
}

static const struct smc_conn_upgrade_ops upgrade_conn_ops = {
	.get_tcp = upgrade_read_progress,
	.llc = upgrade_llc,
};

static struct smc_conn *upgrade_conn_of(struct smc_upgrade_req *req)
{
	return container_of(req, struct smc_conn_upgrade, req)->conn;
}

/*
 * Both: what smc_conn_set_peer() has refused is counted and logged as in a rendezvous. Other errors
 * are not the peer's fault, or its message would not have been parsed.
 */
static void upgrade_note_bad_end(struct smc_lgr *lgr, const struct smc_conn_peer_end *end, int rc)
{
	if (rc != -ENOKEY && rc != -EADDRINUSE)
		return;
	smc_stats_inc(lgr->net, SMC_STAT_PEER_END_BAD);
	smc_log_write(lgr->net, "upgrade with %pI6c: key %08x, element %u, token %08x: %s\n",
		      &lgr->peer.tcp_addr, end->rkey, end->index, end->token,
		      rc == -ENOKEY ? "that RMB was not announced over the group" :
				      "another connection has that RMBE or token");
}

/* smc_upgrade_events.accepted */
static void upgrade_accepted(struct smc_upgrade_req *req, struct smc_link *link,
			     const struct smc_upgrade_msg *msg)
{
	struct smc_conn_peer_end end = {
		.token = msg->token, .size = smc_wire_bsize_to_len(msg->bsize),
		.index = msg->rmbe_idx, .link = link, .rkey = msg->rkey, .addr = msg->vaddr,
	};
	int rc;

	rc = smc_conn_upgrade_take_accept(upgrade_conn_of(req), &end);
	upgrade_note_bad_end(link->lgr, &end, rc);
}

/*
 * Client: the server has said no. One that does not know the connection may know others
 * (upgrade_drop()), and one that has not accepted it yet may say yes later. For all other reasons a
 * rendezvous may get a further group, or tells the reason.
 */
static void upgrade_learn_refusal(const struct smc_conn *conn, u8 reason)
{
	if (reason != SMC_UPGRADE_UNKNOWN && reason != SMC_UPGRADE_LATER)
		smc_upgradable_forget(conn->net, &conn->path.remote.addr, conn->path.remote.port);
}

/* smc_upgrade_events.ended: the reference of the request goes. */
static void upgrade_ended(struct smc_lgr *lgr, struct smc_upgrade_req *req,
			  enum smc_upgrade_outcome outcome)
{
	struct smc_conn *conn = upgrade_conn_of(req);
	bool server = conn->role == SMC_SERVER;

	switch (outcome) {
	case SMC_UPGRADE_OUT_REFUSED:
		upgrade_note_refusal(lgr, &conn->path, req->reason);
		upgrade_learn_refusal(conn, req->reason);
		smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_PEER_REFUSED);
		break;
	case SMC_UPGRADE_OUT_WITHDRAWN:
		upgrade_note_withdrawal(lgr, &conn->path);
		smc_conn_upgrade_step(conn, server ? SMC_UPGRADE_EV_PEER_WITHDRAWAL :
						     SMC_UPGRADE_EV_PEER_WITHDRAWN);
		break;
	case SMC_UPGRADE_OUT_FINISHED:
		if (!server)
			smc_upgradable_answered(lgr->net, &conn->path.remote.addr,
						conn->path.remote.port, false);
		break;
	case SMC_UPGRADE_OUT_ABANDONED:
		break;
	case SMC_UPGRADE_OUT_GROUP:
		/* the connection gets to know when the links are drained */
		break;
	}
	smc_conn_put(conn);
}

/* ---- notifications ------------------------------------------------------------- */

/**
 * smc_deferred_queue_work() - queue the work of a deferred socket
 * @smc: socket; nothing happens without a connection
 *
 * Any context; takes state_lock.
 */
void smc_deferred_queue_work(struct smc_sock *smc)
{
	spin_lock_bh(&smc->state_lock);
	if (smc->deferred->conn)
		mod_delayed_work(upgrade_wq, &smc->deferred->work, 0);
	spin_unlock_bh(&smc->state_lock);
}

static void upgrade_look_again(struct smc_sock *smc, unsigned long delay)
{
	spin_lock_bh(&smc->state_lock);
	if (smc->deferred->conn)
		queue_delayed_work(upgrade_wq, &smc->deferred->work, delay);
	spin_unlock_bh(&smc->state_lock);
}

/**
 * smc_deferred_adopt() - if the two ends have agreed, the connection is the socket's from now on
 * @smc: deferred socket
 *
 * Any context; takes state_lock.
 */
void smc_deferred_adopt(struct smc_sock *smc)
{
	struct smc_conn *conn = smc_deferred_conn_get(smc);
	struct smc_upgrade states;

	if (!conn)
		return;
	smc_conn_upgrade_get_states(conn, &states);
	spin_lock_bh(&smc->state_lock);
	if (states.agree == SMC_UPGRADE_SMC && !smc->conn && smc->deferred->conn == conn) {
		smc_conn_get(conn);
		/* a client's was not derived from TCP's */
		smc_sock_store_state(smc_sock_sk(smc), TCP_ESTABLISHED);
		smc_stream_set_conn_locked(smc, conn);
	}
	spin_unlock_bh(&smc->state_lock);
	smc_conn_put(conn);
}

/* smc_conn_events.notify. Any context; the bits are hints. */
static void upgrade_notify(struct smc_sock *smc, unsigned int bits)
{
	const unsigned int own = SMC_CONN_TRY_GATE | SMC_CONN_BROKEN;

	if (bits & (SMC_CONN_CHANGED | SMC_CONN_TRY_GATE))
		smc_deferred_adopt(smc);
	if (bits & (SMC_CONN_CHANGED | own))
		smc_deferred_queue_work(smc);
	smc_stream_notify(smc, bits & ~own);
}

static const struct smc_conn_events upgrade_conn_events = {
	.get	= smc_stream_get,
	.notify	= upgrade_notify,
};

/* ---- the work of the socket ---------------------------------------------------- */

/* Tell the connection what TCP has ended with. Return the jiffies until then; 0: it knows. */
static unsigned long upgrade_tell_error(struct smc_sock *smc, struct smc_conn *conn)
{
	struct smc_deferred *d = smc->deferred;
	unsigned long at, now = jiffies;
	int err;

	spin_lock_bh(&d->lock);
	/* for RST that comes after FIN of the peer TCP has another one */
	err = d->tcp_err == EPIPE ? ECONNRESET : d->tcp_err;
	at = d->tcp_err_at + UPGRADE_GRACE;
	spin_unlock_bh(&d->lock);
	if (!err || d->tcp_err_known)
		return 0;
	if (err == ECONNRESET && READ_ONCE(smc->conn) && time_before(now, at))
		return at - now;
	d->tcp_err_known = true;
	if (err == ECONNRESET)
		smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_TCP_RST);
	else if (err == ECONNABORTED && READ_ONCE(smc->conn))
		smc_conn_abort(conn, err);	/* SOCK_DESTROY */
	else
		smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_TCP_ERROR);
	return 0;
}

/* Set up what belongs to SMC mode, once. */
static void upgrade_set_up(struct smc_sock *smc)
{
	if (smc->deferred->adopted || !READ_ONCE(smc->conn))
		return;
	smc->deferred->adopted = true;
	smc_stream_sync(smc);
	smc_keepalive_options_changed(smc);
	smc_cmsg_options_changed(smc);
}

/* Return whether TCP has bytes that it has not sent once, and will. */
static bool upgrade_holds_back(const struct smc_sock *smc)
{
	return smc_clcsock_state(&smc->clcsock) != TCP_CLOSE &&
	       smc_clcsock_has_unsent(&smc->clcsock);
}

/*
 * Return false if the gate could not be shut, and no call will do it. What Nagle and TCP_CORK hold
 * back goes first, when TCP sends it: the ring must not wait for it, and a push waits for the lock.
 */
static bool upgrade_shut_idle_gate(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	bool shut;

	/* the last call that leaves shuts it */
	if (!READ_ONCE(smc->conn) || READ_ONCE(d->ring) || READ_ONCE(d->gate))
		return true;
	if (!smc_clcsock_try_lock(&smc->clcsock))
		return false;
	shut = !upgrade_holds_back(smc) && smc_deferred_shut_gate_locked(smc);
	smc_clcsock_unlock(&smc->clcsock);
	return shut || READ_ONCE(d->gate);
}

/* Do not ask for a while, twice as long as the last time. */
static void upgrade_postpone(struct smc_deferred *d)
{
	d->pause = clamp_t(unsigned long, 2 * d->pause, PAUSE_MIN, PAUSE_MAX);
	WRITE_ONCE(d->again, jiffies + d->pause);
}

/*
 * Client: note that the server does not know the connection. Return true for the first time: the
 * number of connections decides about the server, not that of requests.
 */
static bool upgrade_note_unknown_locked(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;

	lockdep_assert_held(&smc->state_lock);
	if (++d->unknown >= UNKNOWN_TRIES)
		WRITE_ONCE(d->closed, true);
	return d->unknown == 1;
}

/* The request has led to nothing: the connection ends by itself, and TCP stays. */
static void upgrade_drop(struct smc_sock *smc, struct smc_conn *conn)
{
	struct smc_deferred *d = smc->deferred;
	bool ours, unknown = false;

	smc_conn_detach(conn);
	spin_lock_bh(&smc->state_lock);
	ours = d->conn == conn;
	if (ours) {
		upgrade_postpone(d);
		if (conn->upgrade->req.reason == SMC_UPGRADE_UNKNOWN)
			unknown = upgrade_note_unknown_locked(smc);
		WRITE_ONCE(d->conn, NULL);
	}
	spin_unlock_bh(&smc->state_lock);
	if (unknown)
		smc_upgradable_answered(conn->net, &conn->path.remote.addr,
					conn->path.remote.port, true);
	if (ours)
		smc_conn_put(conn);
	/* a reader for whom FIN decided nothing, an option that waits */
	smc_sock_sk(smc)->sk_state_change(smc_sock_sk(smc));
}

/* The client has broken the protocol, or does not speak: the clcsock is reset. */
static void upgrade_report_dead(struct smc_sock *smc, const struct smc_conn *conn)
{
	struct sock *sk = smc_sock_sk(smc);
	int err = READ_ONCE(conn->err);

	if (!err || test_and_set_bit(SMC_SF_ERR_REPORTED, &smc->flags))
		return;
	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(sk->sk_err, err);
	spin_unlock_bh(&smc->state_lock);
	sk->sk_error_report(sk);
}

/* Return the jiffies until the next look at a clcsock that is @locked, or unread, 0: it is not. */
static unsigned long upgrade_pause(struct smc_deferred *d, bool locked)
{
	if (!locked) {
		d->gate_pause = 0;
		return 0;
	}
	/* a notification may have brought the work before its time */
	if (!d->gate_pause || time_after_eq(jiffies, d->gate_at)) {
		d->gate_pause = clamp_t(unsigned long, 2 * d->gate_pause, GATE_AGAIN,
					GATE_AGAIN_MAX);
		d->gate_at = jiffies + d->gate_pause;
	}
	return max(d->gate_at - jiffies, 1UL);
}

/*
 * Return whether the clcsock is not to be reset yet: poll() may have announced its bytes, and they
 * are returned before the error, as those of the ring are, also after shutdown() of reading. While
 * nothing is agreed the reset tells the peer that it has broken the protocol.
 */
static bool upgrade_reset_waits(struct smc_sock *smc, struct smc_conn *conn)
{
	struct smc_deferred *d = smc->deferred;
	struct smc_upgrade_tcp tcp;

	if (!READ_ONCE(smc->conn) || smc_clcsock_state(&smc->clcsock) == TCP_CLOSE)
		return false;
	if (!d->reset_waits) {
		d->reset_waits = true;
		d->reset_by = jiffies + UNREAD_TIME;
	}
	smc_deferred_get_tcp(smc, &tcp);
	if (tcp.read >= tcp.received)
		return false;
	/* A of the peer: it knows, and waits for nothing */
	if (READ_ONCE(conn->rx.peer_state) & SMC_CDC_S_ABORT)
		return true;
	return time_before(jiffies, d->reset_by);
}

/* Reset the clcsock. Return false: later. */
static bool upgrade_reset(struct smc_sock *smc, struct smc_conn *conn)
{
	if (upgrade_reset_waits(smc, conn) || !smc_clcsock_try_lock(&smc->clcsock))
		return false;
	smc_deferred_reset_locked(smc);
	smc_clcsock_unlock(&smc->clcsock);
	return true;
}

static void upgrade_work(struct work_struct *work)
{
	struct smc_deferred *d = container_of(to_delayed_work(work), struct smc_deferred, work);
	struct smc_sock *smc = d->smc;
	struct smc_conn *conn = smc_deferred_conn_get(smc);
	struct smc_upgrade states;
	unsigned long wait;
	bool locked;

	if (!conn)
		return;
	/* first: RST waits for A of a connection that is the socket's */
	smc_deferred_adopt(smc);
	wait = upgrade_tell_error(smc, conn);
	smc_conn_upgrade_look(conn);
	smc_deferred_adopt(smc);
	upgrade_set_up(smc);
	smc_conn_upgrade_get_states(conn, &states);
	if (states.agree == SMC_UPGRADE_DEAD)
		upgrade_report_dead(smc, conn);
	locked = !upgrade_shut_idle_gate(smc);
	if (smc_conn_is_broken(conn) && !upgrade_reset(smc, conn))
		locked = true;
	else if (!READ_ONCE(smc->conn) && READ_ONCE(conn->releasing) &&
		 (states.agree == SMC_UPGRADE_TCP ||
		  (states.agree == SMC_UPGRADE_DEAD && smc_conn_is_broken(conn))))
		upgrade_drop(smc, conn);
	wait = min_not_zero(wait, upgrade_pause(d, locked));
	if (wait)
		upgrade_look_again(smc, wait);
	smc_conn_put(conn);
}

/* ---- jobs: to ask, and to judge ------------------------------------------------ */

/* Take the right to run a job. */
static bool upgrade_begin_job(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	bool begun;

	spin_lock_bh(&smc->state_lock);
	begun = !d->closed && !d->busy && !d->conn && smc->mode == SMC_MODE_DEFERRED;
	if (begun)
		WRITE_ONCE(d->busy, true);
	spin_unlock_bh(&smc->state_lock);
	return begun;
}

static void upgrade_end_job(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;

	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(d->busy, false);
	spin_unlock_bh(&smc->state_lock);
	/* upgrade_quiesce() enters the wait queue, then reads it */
	smp_mb();
	wake_up_var(&d->busy);
}

/* Let the connection belong to the socket, unless that has been closed. */
static bool upgrade_install(struct smc_sock *smc, struct smc_conn *conn)
{
	struct smc_deferred *d = smc->deferred;
	bool ok;

	spin_lock_bh(&smc->state_lock);
	ok = !d->closed;
	if (ok) {
		smc_conn_get(conn);
		WRITE_ONCE(d->conn, conn);
	}
	spin_unlock_bh(&smc->state_lock);
	if (ok)
		smc_conn_attach(conn, &upgrade_conn_events, smc);
	return ok;
}

/* Return whether the connection still carries the stream of an application, both ways. */
static bool upgrade_tcp_is_open(const struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;

	return inet_sk_state_load(csk) == TCP_ESTABLISHED && !READ_ONCE(csk->sk_err) &&
	       !READ_ONCE(csk->sk_shutdown) && smc->inet.sk.sk_socket;
}

/* Sizes of the rings: what the program has set, and what TCP holds now. */
static void upgrade_ring_sizes(const struct smc_sock *smc, u32 *sndbuf, u32 *rcvbuf)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	u32 holds;

	smc_sock_get_ring_sizes(smc, sndbuf, rcvbuf);
	holds = max(READ_ONCE(csk->sk_wmem_queued), 0);
	*sndbuf = max3(*sndbuf, (u32)RING_MIN, min_t(u32, holds, RING_MAX));
	holds = max(atomic_read(&csk->sk_rmem_alloc), 0);
	*rcvbuf = max3(*rcvbuf, (u32)RING_MIN, min_t(u32, holds, RING_MAX));
}

/* Create the connection in a group. Return it, or ERR_PTR. */
static struct smc_conn *upgrade_create_conn(struct smc_sock *smc, struct smc_lgr *lgr,
					    const struct smc_conn_upgrade_init *init)
{
	struct smc_rules_path ends;
	struct smc_link *link;
	struct smc_conn *conn;
	u32 sndbuf, rcvbuf;

	if (!smc_lgr_reserve_place(lgr))
		return ERR_PTR(-EBUSY);
	link = smc_lgr_pick_conn_link(lgr, ~0UL, NULL, READ_ONCE(smc->link_policy));
	if (!link) {
		smc_lgr_unreserve_conn(lgr);
		return ERR_PTR(-ENOLINK);
	}
	upgrade_ring_sizes(smc, &sndbuf, &rcvbuf);
	conn = smc_conn_create_upgrade(lgr, link, sndbuf, rcvbuf, true, &smc->deferred->cancel,
				       init);
	smc_link_put(link);
	if (IS_ERR(conn)) {
		smc_lgr_unreserve_conn(lgr);
		return conn;
	}
	/* for GO; smc_stream_set_conn_locked() copies later values */
	WRITE_ONCE(conn->link_policy, READ_ONCE(smc->link_policy));
	smc_conn_set_balance(conn, READ_ONCE(smc->balance));
	smc_rules_path(smc->clcsock.sock->sk, &ends);
	smc_conn_set_path(conn, &ends);
	if (smc_clcsock_wants_timestamps(&smc->clcsock))
		smc_timestamp_start(conn);
	return conn;
}

/* Begin. The caller's reference is dropped. Return 0, or why the connection is gone. */
static int upgrade_begin(struct smc_sock *smc, struct smc_conn *conn)
{
	int rc = -ECANCELED;

	if (upgrade_install(smc, conn)) {
		/*
		 * Once more: a shutdown() that was earlier has not found the connection. A later
		 * one does, and keeps the gate open until it has made the step SHUT.
		 */
		if (upgrade_tcp_is_open(smc))
			rc = smc_conn_upgrade_begin(conn);
		if (!rc) {
			smc_conn_put(conn);
			/* what TCP has done since the look of smc_conn_upgrade_begin() */
			smc_deferred_queue_work(smc);
			return 0;
		}
		upgrade_drop(smc, conn);
	}
	smc_conn_discard(conn, false);
	return rc;
}

static void upgrade_fill_proof(const struct smc_sock *smc, bool server,
			       struct smc_upgrade_proof *proof)
{
	const struct smc_clcsock *c = &smc->clcsock;
	u16 own = READ_ONCE(inet_sk(c->sock->sk)->inet_num), peer = smc_clcsock_peer_port(c);

	*proof = (struct smc_upgrade_proof){
		.client_port = server ? peer : own,
		.server_port = server ? own : peer,
		.client_seq = server ? c->first_rx : c->first_tx,
		.server_seq = server ? c->first_tx : c->first_rx,
	};
}

/*
 * Find the group of a client's connection: addresses (the server looks at those of the first
 * contact), path and VLAN have to fit. Return ERR_PTR(-ENOENT): there is none, or the connection is
 * not eligible; -EAGAIN: not now.
 */
static struct smc_lgr *upgrade_find_group(struct smc_sock *smc, bool count)
{
	struct net *net = sock_net(smc_sock_sk(smc));
	struct smc_rules_path ends;
	struct smc_path path;
	bool inner = true;
	struct smc_lgr *lgr;
	u16 vlan;
	u32 rc;

	smc_rules_path(smc->clcsock.sock->sk, &ends);
	do {
		rc = smc_hs_check_eligible(net, &smc->clcsock, inner, &path, &vlan, count);
		if (rc)
			return ERR_PTR(rc == SMC_CLC_DECL_NO_ROUTE ? -EAGAIN : -ENOENT);
		lgr = smc_lgr_find_by_addr(net, &ends.remote.addr, &ends.local.addr, vlan, &path,
					   SMC_CAP_UPGRADE);
		smc_path_put(&path);
		/* the peer may be elsewhere, and have the address of a namespace of this host */
		inner = false;
		count = false;
	} while (!lgr && path.inner);
	/* as one that is full */
	if (lgr && !smc_upgrade_has_slot(lgr)) {
		smc_lgr_put(lgr);
		lgr = NULL;
	}
	return lgr ?: ERR_PTR(-ENOENT);
}

/* Asking cannot keep what deferral promised: the next connection does a rendezvous. */
static void upgrade_forget(const struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct smc_rules_path ends;

	smc_rules_path(csk, &ends);
	smc_upgradable_forget(sock_net(csk), &ends.remote.addr, ends.remote.port);
}

/* Client: choose a group, and reserve a place for a request. Return NULL: nothing is asked. */
static struct smc_lgr *upgrade_choose_group(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	struct smc_lgr *lgr;

	if (!upgrade_tcp_is_open(smc))
		return NULL;
	lgr = upgrade_find_group(smc, !d->counted);
	d->counted = true;
	if (lgr == ERR_PTR(-ENOENT))
		upgrade_forget(smc);
	if (IS_ERR(lgr))
		return NULL;
	if (smc_upgrade_reserve(lgr)) {
		smc_lgr_put(lgr);
		return NULL;
	}
	return lgr;
}

/*
 * Return whether a connection could not be created for want of memory at one of the limits, or of a
 * place: the group is full, or cannot have more RMBs. A rendezvous ends an idle group of the peer
 * host, gets another group, or tells the reason.
 */
static bool upgrade_is_short(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EBUSY:
	case -ENOSPC:
	case -EDQUOT:
	case -EUSERS:
	case -ENOBUFS:
		return true;
	default:
		return false;
	}
}

/* Client: prepare a request and send it. Return false: nothing was asked. */
static bool upgrade_ask(struct smc_sock *smc, struct smc_lgr *lgr)
{
	struct smc_conn_upgrade_init init = {
		.ops = &upgrade_conn_ops, .began_at = smc->began_at,
	};
	struct smc_conn *conn;

	init.hint = ilog2(smc_fallback_count_bytes(smc) | 1);
	upgrade_fill_proof(smc, false, &init.proof);
	conn = upgrade_create_conn(smc, lgr, &init);
	if (!IS_ERR(conn) && !upgrade_begin(smc, conn))
		return true;
	if (IS_ERR(conn) && upgrade_is_short(PTR_ERR(conn)))
		upgrade_forget(smc);
	smc_upgrade_unreserve(lgr);
	return false;
}

/* Server: check what is no question of the proof. */
static enum smc_upgrade_reason upgrade_judge(struct smc_sock *smc, struct smc_lgr *lgr)
{
	struct net *net = sock_net(smc_sock_sk(smc));
	struct smc_path path;
	bool served;
	u16 vlan;
	u32 rc;

	/* the group may be older than a setting that excludes it */
	if (!smc_deferred_is_on_for(smc))
		return SMC_UPGRADE_EXCLUDED;
	if (!upgrade_tcp_is_open(smc))
		return SMC_UPGRADE_LATER;
	/* a rule has counted the connection when it was accepted */
	rc = smc_hs_check_eligible(net, &smc->clcsock, lgr->peer.inner, &path, &vlan, false);
	if (rc == SMC_CLC_DECL_NO_ROUTE)
		return SMC_UPGRADE_LATER;
	if (rc)
		return SMC_UPGRADE_EXCLUDED;
	served = smc_lgr_serves_path(lgr, &path, vlan);
	smc_path_put(&path);
	return served ? SMC_UPGRADE_YES : SMC_UPGRADE_EXCLUDED;
}

/* Server: judge the request, and say yes. Return why not. */
static enum smc_upgrade_reason upgrade_answer(struct smc_sock *smc, struct smc_lgr *lgr,
					      struct smc_link *link,
					      const struct smc_upgrade_msg *msg)
{
	struct smc_conn_upgrade_init init = {
		.ops = &upgrade_conn_ops, .number = msg->number, .began_at = smc->began_at,
	};
	struct smc_conn_peer_end end = {
		.token = msg->token, .size = smc_wire_bsize_to_len(msg->bsize),
		.index = msg->rmbe_idx, .link = link, .rkey = msg->rkey, .addr = msg->vaddr,
	};
	enum smc_upgrade_reason reason = upgrade_judge(smc, lgr);
	struct smc_conn *conn;
	int rc;

	if (reason != SMC_UPGRADE_YES)
		return reason;
	upgrade_fill_proof(smc, true, &init.proof);
	conn = upgrade_create_conn(smc, lgr, &init);
	if (IS_ERR(conn))
		return upgrade_is_short(PTR_ERR(conn)) ? SMC_UPGRADE_MEMORY : SMC_UPGRADE_LATER;
	rc = smc_conn_set_peer(conn, &end);
	if (rc) {
		upgrade_note_bad_end(lgr, &end, rc);
		smc_conn_discard(conn, false);
		return SMC_UPGRADE_LATER;
	}
	return upgrade_begin(smc, conn) ? SMC_UPGRADE_LATER : SMC_UPGRADE_YES;
}

static void upgrade_job_ask(struct smc_sock *smc, struct smc_lgr *lgr)
{
	if (!lgr || !upgrade_ask(smc, lgr))
		upgrade_postpone(smc->deferred);
}

static void upgrade_job_answer(struct smc_sock *smc, struct smc_lgr *lgr)
{
	struct smc_deferred *d = smc->deferred;
	enum smc_upgrade_reason reason = upgrade_answer(smc, lgr, d->link, &d->msg);

	/* a yes was said by upgrade_send_accept() */
	if (reason != SMC_UPGRADE_YES)
		upgrade_refuse(lgr, &d->msg, reason);
	smc_link_put(d->link);
	d->link = NULL;
}

/*
 * For a client it runs twice: on the queue of all sockets until the group is known, then on the
 * group's, since only its own peer may keep it waiting.
 */
static void upgrade_job(struct work_struct *work)
{
	struct smc_deferred *d = container_of(work, struct smc_deferred, job);
	struct smc_sock *smc = d->smc;
	struct smc_lgr *lgr = d->lgr;
	struct mem_cgroup *old;

	if (!lgr) {
		lgr = upgrade_choose_group(smc);
		if (lgr) {
			d->lgr = lgr;
			queue_work(lgr->wq, work);
			return;
		}
	}
	/* connection and rings belong to the program, as those of a handshake */
	old = set_active_memcg(smc_sock_memcg(smc_sock_sk(smc)));
	if (d->link)
		upgrade_job_answer(smc, lgr);
	else
		upgrade_job_ask(smc, lgr);
	set_active_memcg(old);
	d->lgr = NULL;
	/* the socket may be gone after this */
	upgrade_end_job(smc);
	if (lgr)
		smc_lgr_put(lgr);
}

/*
 * Return why the socket cannot judge a request: it is busy, or stays TCP for life, because an
 * option excludes SMC, or the program has mapped what TCP receives (smc_deferred_stop_asking()).
 */
static enum smc_upgrade_reason upgrade_why_not_now(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	bool never;

	spin_lock_bh(&smc->state_lock);
	never = d->closed && !d->conn;
	spin_unlock_bh(&smc->state_lock);
	return never ? SMC_UPGRADE_EXCLUDED : SMC_UPGRADE_LATER;
}

/* smc_upgrade_events.requested */
static void upgrade_requested(struct smc_link *link, const struct smc_upgrade_msg *msg)
{
	enum smc_upgrade_reason reason = SMC_UPGRADE_UNKNOWN;
	struct smc_lgr *lgr = link->lgr;
	struct smc_deferred *d;
	struct smc_sock *smc;

	smc_stats_inc(lgr->net, SMC_STAT_UPGRADE_ASKED);
	smc = smc_sock_find_proven(lgr->net, &lgr->peer, &msg->proof);
	if (smc && upgrade_begin_job(smc)) {
		d = smc->deferred;
		smc_lgr_get(lgr);
		smc_link_get(link);
		d->lgr = lgr;
		d->link = link;
		d->msg = *msg;
		queue_work(lgr->wq, &d->job);
		sock_put(smc_sock_sk(smc));
		return;
	}
	if (smc) {
		reason = upgrade_why_not_now(smc);
		sock_put(smc_sock_sk(smc));
	}
	upgrade_refuse(lgr, msg, reason);
}

static const struct smc_upgrade_events upgrade_llc_events = {
	.requested = upgrade_requested,
	.accepted = upgrade_accepted,
	.ended = upgrade_ended,
};

/* Return the bytes after which a client asks, 0: it does not, as nobody of its namespace does. */
static u32 upgrade_get_threshold(const struct smc_sock *smc)
{
	u32 all = READ_ONCE(smc_settings_get(sock_net(&smc->inet.sk))->upgrade_bytes);
	int own = READ_ONCE(smc->upgrade_bytes);

	return all && own != SMC_UPGRADE_BYTES_NET ? own : all;
}

/**
 * smc_deferred_note_bytes() - TCP has carried bytes of a deferred socket: it may ask
 * @smc: socket
 *
 * In a call of the program: process context, no lock held.
 */
void smc_deferred_note_bytes(struct smc_sock *smc)
{
	struct net *net = sock_net(smc_sock_sk(smc));
	u32 threshold = upgrade_get_threshold(smc);
	struct smc_deferred *d = smc->deferred;

	if (!threshold || test_bit(SMC_SF_SERVER, &smc->flags) || READ_ONCE(d->conn) ||
	    READ_ONCE(d->busy) || READ_ONCE(d->closed) ||
	    time_before(jiffies, READ_ONCE(d->again)) ||
	    smc_fallback_count_bytes(smc) < threshold || !smc_deferred_is_on(net) ||
	    !upgrade_tcp_is_open(smc))
		return;
	if (!upgrade_begin_job(smc))
		return;
	if (READ_ONCE(d->hooked) || upgrade_hook(smc, false)) {
		queue_work(upgrade_wq, &d->job);
		return;
	}
	/* a BPF program uses the clcsock, now and later; TCP's errors are seen as before */
	smc_fallback_attach(smc, smc_sock_sk(smc)->sk_socket);
	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(d->closed, true);
	spin_unlock_bh(&smc->state_lock);
	upgrade_end_job(smc);
}

/* ---- begin and end of a deferred socket ---------------------------------------- */

/**
 * smc_deferred_is_on() - check whether connections of a namespace may begin as TCP
 * @net: namespace
 *
 * Not while a BPF program decides (hs_ctrl): it is asked when SYN or SYN-ACK would get the option,
 * which those of a deferred connection never do.
 *
 * Return: net.smc.upgrade_bytes is set, SMC is not disabled, and no program decides.
 */
bool smc_deferred_is_on(struct net *net)
{
	const struct smc_settings *sn = smc_settings_get(net);

	return READ_ONCE(sn->upgrade_bytes) && READ_ONCE(sn->enabled) &&
	       !smc_hs_ctrl_is_selected(net);
}

/**
 * smc_deferred_is_on_for() - check whether connections of a socket may begin as TCP
 * @smc: socket
 *
 * SMC_OWN_UPGRADE_BYTES may forbid what smc_deferred_is_on() permits, not the reverse: groups
 * announce the capability by the setting of the namespace. Any context.
 *
 * Return: true if so.
 */
bool smc_deferred_is_on_for(const struct smc_sock *smc)
{
	return READ_ONCE(smc->upgrade_bytes) && smc_deferred_is_on(sock_net(&smc->inet.sk));
}

/**
 * smc_deferred_learn() - remember the server of a client whose rendezvous has succeeded
 * @smc: socket at the end of its handshake
 *
 * Later connections, of any socket, may begin as TCP if one with the ends and the path of this one
 * would find a group to continue over. Process context; takes no lock that a program can hold.
 */
void smc_deferred_learn(struct smc_sock *smc)
{
	struct net *net = sock_net(smc_sock_sk(smc));
	struct smc_rules_path ends;
	struct smc_lgr *lgr;

	if (!smc_deferred_is_on(net))
		return;
	lgr = upgrade_find_group(smc, false);
	if (IS_ERR(lgr))
		return;
	smc_lgr_put(lgr);
	smc_rules_path(smc->clcsock.sock->sk, &ends);
	smc_upgradable_add(net, &ends.remote.addr, ends.remote.port);
}

/**
 * smc_deferred_suits() - check whether a connection may begin as TCP
 * @smc: undecided client, before the connect() of the clcsock
 * @peer: address of the server, IPv4 as v4-mapped
 * @port: its TCP port
 *
 * Not if it is bound to a device: its route need not be that of the group. Process context.
 *
 * Return: true if the server is known for it, and a group with a free place lives over which the
 * connection can continue, as far as its ends are known.
 */
bool smc_deferred_suits(struct smc_sock *smc, const struct in6_addr *peer, u16 port)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	struct net *net = sock_net(smc_sock_sk(smc));
	struct smc_rules_path ends;
	struct smc_lgr *lgr;
	bool bound;

	if (!smc_deferred_is_on_for(smc) || READ_ONCE(csk->sk_bound_dev_if) ||
	    !smc_upgradable_knows(net, peer, port))
		return false;
	smc_rules_path(csk, &ends);
	bound = !ipv6_addr_any(&ends.local.addr);
	lgr = smc_lgr_find_by_addr(net, peer, bound ? &ends.local.addr : NULL, 0, NULL,
				   SMC_CAP_UPGRADE);
	if (lgr)
		smc_lgr_put(lgr);
	return lgr;
}

/**
 * smc_deferred_may_be_asked() - check whether the client of a TCP connection may want to upgrade it
 * @smc: child that is accepted: without the SMC option in its SYN, for AUTOSMC also with it
 *
 * Clients without SMC are to stay what they are: fallbacks. A child with SMC_OWN_UPGRADE_BYTES 0
 * may be asked, too: its refusal makes the client's next connection a rendezvous. Process context.
 *
 * Return: true if a group of ours with that client lives, and the client has the capability.
 */
bool smc_deferred_may_be_asked(struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	struct net *net = sock_net(csk);
	struct smc_rules_path ends;

	if (!smc_deferred_is_on(net))
		return false;
	smc_rules_path(csk, &ends);
	return smc_registry_has_client(net, &ends.local.addr, &ends.remote.addr, SMC_CAP_UPGRADE);
}

/**
 * smc_deferred_may_replace() - check whether connections with this peer may begin as TCP
 * @smc: socket with a connection over RDMA
 *
 * Any context.
 *
 * Return: true if both ends can continue them over RDMA, so that their threshold decides.
 */
bool smc_deferred_may_replace(struct smc_sock *smc)
{
	return smc_deferred_is_on_for(smc) &&
	       smc_peer_can(&smc->conn->lgr->peer, SMC_CAP_UPGRADE);
}

/**
 * smc_deferred_start() - change the mode of a socket to DEFERRED
 * @smc: undecided socket: a client before the connect() of the clcsock, or a child that no program
 *	knows yet
 *
 * Process context.
 *
 * Return: 0; -ENOMEM; -EBUSY: the clcsock has another user. The socket is undecided then.
 */
int smc_deferred_start(struct smc_sock *smc)
{
	bool server = test_bit(SMC_SF_SERVER, &smc->flags);
	struct sock *sk = smc_sock_sk(smc);
	struct smc_deferred *d;
	struct mem_cgroup *old;

	/*
	 * A child comes from a worker that is in no cgroup and serves all listeners. At the limit
	 * of a cgroup it neither waits nor invokes the OOM killer for what can be TCP.
	 */
	old = set_active_memcg(smc_sock_memcg(sk));
	d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	set_active_memcg(old);
	if (!d)
		return -ENOMEM;
	d->smc = smc;
	spin_lock_init(&d->lock);
	INIT_DELAYED_WORK(&d->work, upgrade_work);
	INIT_WORK(&d->job, upgrade_job);
	d->again = jiffies;
	smc_clcsock_withdraw_option(&smc->clcsock);
	smc_stream_prepare(smc);
	smc->deferred = d;
	if (server && !upgrade_hook(smc, true)) {
		smc->deferred = NULL;
		kfree(d);
		return -EBUSY;
	}
	smc->began_at = jiffies;
	smc->began_bytes = 0;
	/* net.smc.upgrade_bytes decides; an earlier connect() may have left its key */
	smc->autosmc = (struct smc_autosmc_conn){};
	smc_stats_inc(sock_net(sk), SMC_STAT_DEFERRED);
	spin_lock_bh(&smc->state_lock);
	/* pairs with smc_sock_mode() */
	smp_store_release(&smc->mode, SMC_MODE_DEFERRED);
	spin_unlock_bh(&smc->state_lock);
	return 0;
}

/* No job begins any more, and one that runs ends soon. */
static void upgrade_stop_jobs(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;

	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(d->closed, true);
	spin_unlock_bh(&smc->state_lock);
	WRITE_ONCE(d->cancel, true);
}

/* ... and none runs. Sleeps. */
static void upgrade_quiesce(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;

	upgrade_stop_jobs(smc);
	wait_var_event(&d->busy, !READ_ONCE(d->busy));
	flush_work(&d->job);
}

/*
 * Take the connection away from the socket, and let the clcsock alone. Nothing of this file runs
 * for the socket afterwards. Return the connection with a reference, or NULL. Sleeps.
 */
static struct smc_conn *upgrade_detach(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	struct smc_conn *conn;

	upgrade_quiesce(smc);
	conn = smc_deferred_conn_get(smc);
	if (conn) {
		smc_conn_detach(conn);
		smc_conn_put(conn);
	}
	/* a notification in progress queues no work without a connection */
	spin_lock_bh(&smc->state_lock);
	conn = d->conn;
	WRITE_ONCE(d->conn, NULL);
	spin_unlock_bh(&smc->state_lock);
	smc_clcsock_unhook(&smc->clcsock);
	/* before the end of what it starts, for a connection that it takes for the socket's */
	cancel_delayed_work_sync(&d->work);
	if (smc->conn)
		smc_conn_put(smc_stream_detach_conn(smc));
	return conn;
}

/* The mode is TCP for good; callers that sleep in ours look at it again. */
static void upgrade_become_tcp(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);

	spin_lock_bh(&smc->state_lock);
	/* pairs with smc_sock_mode() */
	smp_store_release(&smc->mode, SMC_MODE_TCP);
	spin_unlock_bh(&smc->state_lock);
	if (sk->sk_socket)
		smc_fallback_attach(smc, sk->sk_socket);
	sk->sk_state_change(sk);
}

/*
 * Client: withdraw. Server: wait for GO or a withdrawal, if @wait. Return as
 * smc_upgrade_may_exclude().
 */
static int upgrade_await_decision(struct smc_sock *smc, struct smc_conn *conn, bool wait)
{
	struct smc_upgrade states;
	int rc;

	if (conn->role == SMC_CLIENT)
		smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_WITHDRAW);
	for (;;) {
		smc_conn_upgrade_get_states(conn, &states);
		rc = smc_upgrade_may_exclude(&states);
		if (rc != -EAGAIN || !wait)
			return rc;
		if (schedule_timeout_killable(EXCLUDE_POLL) && fatal_signal_pending(current))
			return -EOPNOTSUPP;
	}
}

/*
 * The client has broken the protocol, or does not speak, and the work of the socket, which resets
 * TCP then, has not done it. Waits for the lock of the clcsock.
 */
static void upgrade_reset_dead(struct smc_sock *smc, const struct smc_conn *conn)
{
	struct sock *csk = smc->clcsock.sock->sk;

	if (READ_ONCE(conn->tcp_end) != SMC_TCP_END_RST ||
	    smc_clcsock_state(&smc->clcsock) == TCP_CLOSE)
		return;
	while (!smc_clcsock_reset(&smc->clcsock)) {
		lock_sock(csk);
		release_sock(csk);
	}
	/* else the error of TCP is the one that is reported */
	if (test_bit(SMC_SF_ERR_REPORTED, &smc->flags))
		sock_error(csk);
}

/*
 * No job begins any more, if that can be said without a wait for the peer: a job may wait for it,
 * and a server for GO. Return as smc_upgrade_may_exclude(); after an error nothing has changed.
 */
static int upgrade_try_stop_jobs(struct smc_sock *smc)
{
	struct smc_conn *conn = smc_deferred_conn_get(smc);
	struct smc_deferred *d = smc->deferred;
	struct smc_upgrade states = {};
	int rc;

	if (conn)
		smc_conn_upgrade_get_states(conn, &states);
	rc = smc_upgrade_may_exclude(&states);
	spin_lock_bh(&smc->state_lock);
	if (!rc && (d->busy || (d->conn && d->conn != conn)))
		rc = -EAGAIN;
	if (!rc)
		WRITE_ONCE(d->closed, true);
	spin_unlock_bh(&smc->state_lock);
	if (conn)
		smc_conn_put(conn);
	return rc;
}

/*
 * @reason: why the connection falls back, 0: there is none any more. @wait: as in
 * smc_deferred_exclude().
 */
static int upgrade_exclude(struct smc_sock *smc, u32 reason, bool wait)
{
	struct smc_deferred *d = smc->deferred;
	struct smc_conn *conn;
	int rc = 0;

	if (wait)
		upgrade_stop_jobs(smc);
	else
		rc = upgrade_try_stop_jobs(smc);
	if (rc)
		return rc;
	if (wait_var_event_killable(&d->busy, !READ_ONCE(d->busy)))
		return -EOPNOTSUPP;
	upgrade_quiesce(smc);
	conn = smc_deferred_conn_get(smc);
	if (conn) {
		rc = upgrade_await_decision(smc, conn, wait);
		smc_conn_put(conn);
	}
	if (rc)
		return rc;
	lock_sock(smc_sock_sk(smc));
	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED) {
		conn = upgrade_detach(smc);
		if (conn) {
			upgrade_reset_dead(smc, conn);
			smc_conn_put(conn);
		}
		if (reason)
			smc_fallback_note(smc, reason, 0, true);
		upgrade_become_tcp(smc);
	}
	release_sock(smc_sock_sk(smc));
	return 0;
}

static bool upgrade_is_agreed(struct smc_conn *conn)
{
	struct smc_upgrade states;

	smc_conn_upgrade_get_states(conn, &states);
	return states.agree == SMC_UPGRADE_SMC;
}

/**
 * smc_deferred_exclude() - SMC cannot honour an option: make a deferred socket TCP
 * @smc: deferred socket
 * @wait: wait for the peer
 *
 * From now on it is a fallback. A server that has said yes can do it when the client has decided,
 * which takes a minute at most. Process context, no lock held.
 *
 * Return: 0; -EOPNOTSUPP: the two ends have agreed; -EAGAIN: the client has not decided.
 */
int smc_deferred_exclude(struct smc_sock *smc, bool wait)
{
	return upgrade_exclude(smc, SMC_CLC_DECL_SOCKOPT, wait);
}

/**
 * smc_deferred_give_up() - make a deferred socket TCP whose connect() has failed
 * @smc: deferred socket without a connection
 *
 * Process context, no lock held.
 */
void smc_deferred_give_up(struct smc_sock *smc)
{
	upgrade_exclude(smc, SMC_CLC_DECL_NONE, true);
}

/**
 * smc_deferred_stop_asking() - let a deferred socket stay TCP, without a wait
 * @smc: deferred socket
 *
 * Any context; takes state_lock only.
 *
 * Return: true: no upgrade will begin; false: one is under way, or has been.
 */
bool smc_deferred_stop_asking(struct smc_sock *smc)
{
	struct smc_deferred *d = smc->deferred;
	bool idle;

	spin_lock_bh(&smc->state_lock);
	idle = !d->conn && !d->busy && !smc->conn;
	if (idle)
		WRITE_ONCE(d->closed, true);
	spin_unlock_bh(&smc->state_lock);
	return idle;
}

/**
 * smc_deferred_disconnect() - connect(AF_UNSPEC): abort what there is over RDMA
 * @smc: deferred socket, locked; TCP afterwards
 *
 * The caller disconnects the clcsock, which reports the error unless the two ends have agreed: then
 * it may have ended long ago, and this function does both.
 */
void smc_deferred_disconnect(struct smc_sock *smc)
{
	struct sock *sk = smc_sock_sk(smc);
	bool agreed = false;
	struct smc_conn *conn;

	sock_owned_by_me(sk);
	conn = upgrade_detach(smc);
	if (conn) {
		agreed = upgrade_is_agreed(conn);
		smc_conn_close(conn, true, 0, NULL);
		smc_conn_put(conn);
	}
	if (agreed) {
		/* as smc_stream_disconnect(), before sleepers wake */
		smc_sock_set_state(smc, TCP_CLOSE, 0, ECONNRESET);
		smc_clcsock_disconnect(&smc->clcsock, O_NONBLOCK);
		sock_error(smc->clcsock.sock->sk);
	}
	upgrade_become_tcp(smc);
	if (agreed)
		sk->sk_error_report(sk);
}

/* The program reads no more. Return whether bytes are unread: close() is an abort. */
static bool upgrade_leave_reader(struct smc_sock *smc, struct smc_conn *conn)
{
	struct smc_upgrade_tcp tcp;
	bool expected;

	smc_deferred_get_tcp(smc, &tcp);
	expected = smc_conn_upgrade_leave_reader(conn, tcp.read);
	return expected || tcp.received > tcp.read || smc_rx_get_readable(conn);
}

static bool upgrade_fin_is_unacked(const struct sock *csk)
{
	return BIT(inet_sk_state_load(csk)) & (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK);
}

/* Wait until the peer's TCP has acknowledged all bytes and FIN, for SO_LINGER at most. */
static void upgrade_linger(struct sock *csk)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long left = READ_ONCE(csk->sk_lingertime);

	add_wait_queue(sk_sleep(csk), &wait);
	while (left > 0 && upgrade_fin_is_unacked(csk) && !signal_pending(current))
		left = wait_woken(&wait, TASK_INTERRUPTIBLE, left);
	remove_wait_queue(sk_sleep(csk), &wait);
}

/* Send FIN, and wait for its acknowledgment if SO_LINGER says so. Return what TCP has taken. */
static u64 upgrade_finish_tcp(struct smc_sock *smc, bool wait)
{
	struct sock *csk = smc->clcsock.sock->sk;
	u64 s;

	lock_sock(csk);
	s = smc_clcsock_get_taken(&smc->clcsock);
	release_sock(csk);
	kernel_sock_shutdown(smc->clcsock.sock, SHUT_WR);
	if (wait && sock_flag(csk, SOCK_LINGER) && !(current->flags & PF_EXITING))
		upgrade_linger(csk);
	return s;
}

/*
 * Close while TCP has our direction. The connection takes over the clcsock, unless it is reset or
 * nothing was agreed. Return as smc_deferred_close().
 */
static bool upgrade_close_tcp(struct smc_sock *smc, struct smc_conn *conn, bool abort, bool wait)
{
	struct smc_orphan *orphan = NULL;
	u64 s = 0;

	/* nothing was agreed, or the client has broken the protocol */
	if (READ_ONCE(conn->releasing))
		return abort || READ_ONCE(conn->tcp_end) == SMC_TCP_END_RST;
	if (!abort) {
		s = upgrade_finish_tcp(smc, wait);
		smc_fallback_detach(smc);
		orphan = smc_orphan_create(&smc->clcsock);
	}
	if (orphan)
		smc_conn_upgrade_close_tcp(conn, s, orphan);
	else
		smc_conn_close(conn, true, 0, NULL);
	return !orphan;
}

/**
 * smc_deferred_close() - close a deferred socket, or one that was, for release
 * @smc: socket without other users
 * @abort: abort in any case (a child that was never accepted)
 * @wait: wait for the time of SO_LINGER
 *
 * Process context, no lock held.
 *
 * Return: how the caller ends the clcsock if the socket still has it: true: by RST.
 */
bool smc_deferred_close(struct smc_sock *smc, bool abort, bool wait)
{
	struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn;

	upgrade_quiesce(smc);
	conn = smc_deferred_conn_get(smc);
	if (conn) {
		if (upgrade_leave_reader(smc, conn) ||
		    (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime))
			abort = true;
		if (!abort && READ_ONCE(smc->deferred->ring)) {
			smc_tx_push(conn, false);
			if (wait)
				smc_stream_linger(sk, conn);
		}
		smc_conn_put(conn);
	}
	conn = upgrade_detach(smc);
	if (!conn)
		return abort;
	if (READ_ONCE(smc->deferred->ring))
		smc_stream_end_conn(smc, conn, abort);
	else
		abort = upgrade_close_tcp(smc, conn, abort, wait);
	smc_conn_put(conn);
	return abort;
}

/* ---- module -------------------------------------------------------------------- */

/**
 * smc_deferred_init() - create the work queue, and take the requests of peers
 *
 * Before the first group exists.
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_deferred_init(void)
{
	upgrade_wq = smc_fault_null(UPGRADE_WQ, alloc_workqueue("smc_upgrade", WQ_UNBOUND, 0));
	if (!upgrade_wq)
		return -ENOMEM;
	smc_upgrade_set_events(&upgrade_llc_events);
	return 0;
}

/** smc_deferred_exit() - destroy the work queue; no socket is left, but requests may be */
void smc_deferred_exit(void)
{
	destroy_workqueue(upgrade_wq);
}
