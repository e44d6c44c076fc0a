// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upgrade in place: what a connection that began as TCP (decision 0021) adds to CDC messages, takes
 * from them, and sees of TCP. The states are tables in proto/upgrade_fsm.c, and this file is their
 * only caller. What a step leads to is carried out in upgrade_act.c.
 *
 * The owner may have closed the socket, and is detached then. Nobody reads any more, and nobody
 * would get an error, so what TCP has received, or not delivered, does not matter: the peer learns
 * it from its own TCP.
 */
#include <smc/base/events.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include "timers.h"
#include "upgrade_locked.h"

#define ACT(name)	SMC_UPGRADE_ACT_##name

/* ---- events ------------------------------------------------------------------ */

/**
 * smc_conn_upgrade_feed_locked() - Apply one event to the states of an upgrade
 * @conn: connection with an upgrade
 * @event: event
 * @actions: what it leads to is added
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: as smc_upgrade_step().
 */
int smc_conn_upgrade_feed_locked(struct smc_conn *conn, enum smc_upgrade_event event, u32 *actions)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	enum smc_upgrade_agree from = up->fsm.agree;
	u32 more;
	int rc;

	lockdep_assert_held(&conn->lock);
	rc = smc_upgrade_step(&up->fsm, event, &more);
	if (rc)
		return rc;
	trace_smc_conn_upgrade(conn->token, event, &up->fsm);
	if (from != up->fsm.agree && up->fsm.agree == SMC_UPGRADE_SMC) {
		smc_stats_inc(conn->net, SMC_STAT_UPGRADED);
		if (smc_event_has_listeners(SMC_EVENT_GROUP_CONNS))
			more |= SMC_CONN_UPGRADE_REPORT;
		/* the record of the request is of no use after GO */
		if (conn->role == SMC_SERVER)
			more |= ACT(FREE_SLOT);
	}
	*actions |= more;
	return 0;
}

/* How far TCP has got; without an owner it is as far as it has to be. */
static void upgrade_get_tcp(const struct smc_conn *conn, u64 s, struct smc_conn_tcp *tcp)
{
	*tcp = (struct smc_conn_tcp){
		.rx = { .received = s, .read = s }, .acked = conn->upgrade->tx_s,
	};
	if (conn->owner)
		conn->upgrade->init.ops->get_tcp(conn->owner, tcp);
}

/**
 * smc_conn_upgrade_look_at_tcp_locked() - Turn what TCP has done since the last look into events
 * @conn: connection with an upgrade
 * @actions: what they lead to is added
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: 0; -EPROTO: what TCP carries does not fit S.
 */
int smc_conn_upgrade_look_at_tcp_locked(struct smc_conn *conn, u32 *actions)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	struct smc_conn_tcp tcp;
	int rc = 0;

	lockdep_assert_held(&conn->lock);
	upgrade_get_tcp(conn, up->rx_s.s, &tcp);
	if (tcp.rx.fin && !up->fin) {
		up->fin = true;
		smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_FIN, actions);
	}
	if (up->fsm.rx == SMC_UPGRADE_RX_TAIL || up->fsm.rx == SMC_UPGRADE_RX_RING)
		rc = smc_upgrade_rx_check_tcp(&up->rx_s, &tcp.rx);
	if (rc < 0)
		return rc;
	if (rc && up->fsm.rx == SMC_UPGRADE_RX_TAIL)
		smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_TCP_REACHED, actions);
	if (up->tx_known && tcp.acked >= up->tx_s)
		smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_TCP_ACKED, actions);
	return 0;
}

/* ---- CDC messages ------------------------------------------------------------ */

/* What a message says about the agreement. */
static bool upgrade_take_agreement(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	struct smc_conn_upgrade *up = conn->upgrade;

	if (conn->role == SMC_SERVER && msg->ext & SMC_CDC_EXT_GO &&
	    smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_PEER_GO, &up->actions))
		return false;
	if (up->fsm.agree != SMC_UPGRADE_SMC)
		return false;
	if (conn->role == SMC_CLIENT && !up->answered) {
		up->answered = true;
		smc_conn_upgrade_feed_locked(conn, SMC_UPGRADE_EV_PEER_ACK, &up->actions);
	}
	return true;
}

/* What it says about the peer's direction. */
static bool upgrade_take_s(struct smc_conn *conn, const struct smc_cdc_msg *msg)
{
	struct smc_upgrade_news news = {
		.has_s = msg->ext & SMC_CDC_EXT_S,
		.s = msg->s,
		.data = msg->prod.wrap || msg->prod.off,
		.end = msg->state & (SMC_CDC_S_DONE | SMC_CDC_S_CLOSED),
	};
	struct smc_conn_upgrade *up = conn->upgrade;
	enum smc_upgrade_event event;
	struct smc_conn_tcp tcp;
	int rc;

	upgrade_get_tcp(conn, msg->s, &tcp);
	rc = smc_upgrade_rx_take(&up->rx_s, &tcp.rx, up->fsm.rx, &news);
	if (rc < 0)
		return false;
	if (rc == SMC_UPGRADE_S_NONE)
		return true;
	if (rc == SMC_UPGRADE_S_NEW)
		smc_stats_add(conn->net, SMC_STAT_UPGRADE_TCP_BYTES, msg->s);
	event = news.end ? SMC_UPGRADE_EV_PEER_S_END : SMC_UPGRADE_EV_PEER_S;
	return !smc_conn_upgrade_feed_locked(conn, event, &up->actions) &&
	       !smc_conn_upgrade_look_at_tcp_locked(conn, &up->actions);
}

/**
 * smc_conn_upgrade_take_cdc_locked() - Check and take over what a CDC message says about an upgrade
 * @conn: connection with an upgrade
 * @msg: message that is not older than the last one; of an A before S the rest is removed
 *
 * The caller then calls smc_conn_upgrade_act_locked(), whatever this function returns.
 *
 * Context: Caller holds conn->lock.
 * Return: false if the message must not be applied: the peer may not send it.
 */
bool smc_conn_upgrade_take_cdc_locked(struct smc_conn *conn, struct smc_cdc_msg *msg)
{
	struct smc_conn_upgrade *up = conn->upgrade;

	lockdep_assert_held(&conn->lock);
	if (!upgrade_take_agreement(conn, msg))
		return false;
	if (smc_conn_state_ignores_peer(conn->state))
		return true;
	/* the RST that goes with A destroys bytes before S: nothing can be waited for */
	if (msg->state & SMC_CDC_S_ABORT) {
		if (!up->rx_s.known) {
			msg->prod = (struct smc_cdc_cursor){};
			msg->flags = 0;
		}
		return true;
	}
	if (!upgrade_take_s(conn, msg))
		return false;
	if (msg->ext & SMC_CDC_EXT_S_ACK && up->tx_known)
		up->s_acked = true;
	return true;
}

/**
 * smc_conn_upgrade_fill_cdc_locked() - Add what an upgrade has to say to a CDC message
 * @conn: connection with an upgrade
 * @msg: message that is being built; no failover validation
 *
 * A link that is lost may take each message but the last one with it, so each says all that the
 * peer may not know.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_upgrade_fill_cdc_locked(const struct smc_conn *conn, struct smc_cdc_msg *msg)
{
	const struct smc_conn_upgrade *up = conn->upgrade;

	lockdep_assert_held(&conn->lock);
	if (conn->role == SMC_CLIENT && !up->answered)
		msg->ext |= SMC_CDC_EXT_GO;
	if (up->tx_known && !up->s_acked) {
		msg->ext |= SMC_CDC_EXT_S;
		msg->s = up->tx_s;
	}
	if (up->rx_s.known)
		msg->ext |= SMC_CDC_EXT_S_ACK;
}

/* ---- questions of the connection --------------------------------------------- */

/**
 * smc_conn_upgrade_delays_c_locked() - Check whether C of the peer counts as D for now
 * @conn: connection with an upgrade, that has received C
 *
 * C says that the peer reads no more, so it is early if bytes are on the way to it; the reset that
 * follows destroys bytes before the peer's S. But the peer may have read what its TCP acknowledges
 * later. So C waits until TCP has carried all bytes before both S, or until our direction has
 * ended.
 *
 * Context: Caller holds conn->lock.
 * Return: true if so; then smc_conn_apply_peer_state_locked() is called again.
 */
bool smc_conn_upgrade_delays_c_locked(struct smc_conn *conn)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	bool waits = smc_conn_state_may_send(conn->state) && !up->c_waited &&
		     !smc_upgrade_tcp_is_empty(&up->fsm);

	lockdep_assert_held(&conn->lock);
	if (waits && !up->c_waits)
		smc_conn_timer_c_waits(conn);
	up->c_waits = waits;
	return waits;
}

/**
 * smc_conn_upgrade_is_read_locked() - Check whether all bytes before the peer's S were read
 * @conn: connection with an upgrade
 *
 * Context: Caller holds conn->lock.
 * Return: true if so.
 */
bool smc_conn_upgrade_is_read_locked(struct smc_conn *conn)
{
	struct smc_conn_upgrade *up = conn->upgrade;
	struct smc_conn_tcp tcp;

	lockdep_assert_held(&conn->lock);
	upgrade_get_tcp(conn, up->rx_s.s, &tcp);
	return up->rx_s.known && tcp.rx.read == up->rx_s.s;
}
