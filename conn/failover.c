// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links of a connection (RFC 7609 section 4.6): which one our direction uses, and over which one
 * the peer writes. The two directions move independently.
 *
 * Failover: our direction continues over another link when its link has left the group. By then
 * the queue pair is fenced and drained: no request reads the send ring any more, and every
 * completion is counted. A validation message names what was acknowledged; everything else is
 * written again.
 *
 * Orderly move (decision 0014, native peers only): balance.c chooses connections that move to a
 * link that became usable, from a link that works.
 *
 * The peer's direction: proto/failover.c decides when a message is applied.
 */
#include <linux/math64.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include "cdc.h"
#include "failover.h"
#include "move.h"
#include "timers.h"

/* Return whether the peer's RMB is known on @link, and our send region to its device. */
static bool conn_link_reaches_peer(const struct smc_conn *conn, const struct smc_link *link)
{
	return smc_rtoken_has_link(conn->lgr, conn->tx.claim.rtoken, link->slot) &&
	       smc_region_lkey(conn->tx.elem.region, link->slot);
}

/**
 * smc_conn_reachable_slots() - Find the links over which the peer's RMBE can be written
 * @conn: connection
 *
 * Context: Any but hard interrupt.
 * Return: a bit per slot.
 */
unsigned long smc_conn_reachable_slots(const struct smc_conn *conn)
{
	unsigned long slots = 0;
	struct smc_link *link;

	smc_lgr_for_each_link(conn->lgr, link)
		if (conn_link_reaches_peer(conn, link))
			__set_bit(link->slot, &slots);
	return slots;
}

/* Pick a usable link, preferably one over which the peer's RMBE can be written (@leads). */
static struct smc_link *conn_pick_link(const struct smc_conn *conn, bool *leads)
{
	unsigned long slots = smc_conn_reachable_slots(conn);
	int policy = READ_ONCE(conn->link_policy);
	struct smc_link *link = smc_lgr_pick_conn_link(conn->lgr, slots, NULL, policy);

	*leads = link;
	return link ?: smc_lgr_pick_conn_link(conn->lgr, ~slots, NULL, policy);
}

/* Change the link of our direction; takes over the caller's reference on @link. */
static void conn_change_link(struct smc_conn *conn, struct smc_link *link)
{
	struct smc_link *old = conn->link;

	smc_link_add_conn(link);
	WRITE_ONCE(conn->link, link);
	smc_link_del_conn(old);
}

/* @reason: why the present link is left; SMC_LINK_OK: an orderly move */
static void conn_use_link(struct smc_conn *conn, struct smc_link *link, enum smc_link_reason reason)
{
	trace_smc_conn_move(conn->token, conn->link->uid, link->uid);
	if (smc_peer_can(&conn->lgr->peer, SMC_CAP_MOVE_HISTORY))
		smc_conn_move_record_locked(conn, conn->link->num);
	conn_change_link(conn, link);
	conn->tx.move.resuming = true;
	conn->tx.whole_due = true;
	WRITE_ONCE(conn->tx.waiting, false);
	/* B is announced again over the new link, but it is the same time without a window */
	conn->tx.sent_blocked = false;
	smc_tcpinfo_count_move(conn, reason);
}

/**
 * smc_conn_drop_done_locked() - Send D no more if it would end the stream before its end
 * @conn: connection that is aborted; what was not sent, or may be lost, was given up
 *
 * D stands for the end of all bytes. With A the peer's application would get an end of file in
 * place of ECONNRESET. A peer that has had D keeps it.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_drop_done_locked(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;

	lockdep_assert_held(&conn->lock);
	if (tx->ring.sent == tx->ring.sent_max)
		return;
	tx->state &= ~SMC_CDC_S_DONE;
	tx->state_due &= ~SMC_CDC_S_DONE;
}

/*
 * All is written, or the peer's RMBE may belong to another connection: nothing is written again. An
 * in-tree peer takes a producer cursor that goes back to wrap 0 for a new one, two rings ahead. It
 * gets the cursor that it knows, and perhaps the bytes of the ring before, as from its own family.
 */
static void conn_give_up_tx(struct smc_conn *conn)
{
	struct smc_ring_tx *ring = &conn->tx.ring;
	u64 stays = smc_ring_max(ring->completed, ring->peer_consumed);

	if (!smc_peer_can(&conn->lgr->peer, SMC_CAP_MOVE_HISTORY) && ring->peer_size &&
	    div_u64(stays, ring->peer_size) != div_u64(ring->sent, ring->peer_size))
		return;
	smc_ring_tx_give_up(ring);
	smc_conn_drop_done_locked(conn);
}

/* Prepare to send again what may have been lost with the previous link. */
static void conn_rewind_tx(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;
	u64 sent = tx->ring.sent;

	/* without any message there is nothing to validate, but a native peer counts moves */
	tx->move.validate = smc_peer_can(&conn->lgr->peer, SMC_CAP_MOVE_HISTORY) || tx->seq ||
			    tx->seq_done || tx->ring.sent_max;
	if (smc_conn_state_may_cdc(conn->state)) {
		smc_ring_tx_rewind(&tx->ring, smc_peer_can(&conn->lgr->peer, SMC_CAP_ORDERLY_MOVE));
		tx->move.left_seq = tx->seq;
		smc_urgent_tx_rewind(&tx->urg, tx->ring.sent);
		/* bytes that the peer has read are complete, and no completion follows */
		smc_zerocopy_settle_later_locked(conn);
		smc_conn_timer_probe_allowed(conn);
		smc_stats_add(conn->net, SMC_STAT_TX_AGAIN_BYTES, sent - tx->ring.sent);
		smc_ring_rx_force_update(&conn->rx.ring);
		tx->cons_due = true;
	} else {
		conn_give_up_tx(conn);
	}
	if (!tx->state_unacked)
		return;
	tx->state_due |= tx->state;
	/* the last message has as much time over this link as over the one before */
	if (conn->state == SMC_CONN_CLOSED)
		smc_conn_timer_closed(conn);
}

/**
 * smc_conn_pick_first_link_locked() - Choose the first link of a client's direction
 * @conn: connection whose handshake is complete; no message was sent
 *
 * The Accept names the link that the server has chosen for its own direction. A native server lets
 * the client begin over any other link; a foreign one would take that for a failover. So would any
 * server after a validation: a recorded move stands.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_pick_first_link_locked(struct smc_conn *conn)
{
	struct smc_link *link;

	lockdep_assert_held(&conn->lock);
	if (conn->role != SMC_CLIENT || !smc_peer_can(&conn->lgr->peer, SMC_CAP_FIRST_LINK) ||
	    conn->tx.seq || conn->tx.move.prev)
		return;
	link = smc_lgr_pick_conn_link(conn->lgr, smc_conn_reachable_slots(conn), conn->link,
				      READ_ONCE(conn->link_policy));
	if (link && link != conn->link)
		conn_change_link(conn, link);
	else if (link)
		smc_link_put(link);
}

/**
 * smc_conn_link_is_lost() - Check whether a new connection cannot begin over its link
 * @conn: connection whose peer is set
 *
 * A peer that lost the link before us announces a new RMB over the others alone.
 *
 * Context: Any but hard interrupt.
 * Return: true if so.
 */
bool smc_conn_link_is_lost(const struct smc_conn *conn)
{
	return smc_link_fenced(conn->link) ||
	       !smc_rtoken_has_link(conn->lgr, conn->tx.claim.rtoken, conn->link->slot);
}

/**
 * smc_conn_switch_link_locked() - Fail over: move our direction to another link
 * @conn: connection after its handshake; conn->link is fenced, or nothing was sent over it
 *
 * Context: Caller holds conn->lock.
 * Return: 0 if the connection sends again over another link; -ENOKEY if it can only send messages
 * over the other link, because the peer's RMBE cannot be written there; -ENETDOWN if no other link
 * is usable: nothing has changed.
 */
int smc_conn_switch_link_locked(struct smc_conn *conn)
{
	struct smc_link *link;
	bool leads;

	lockdep_assert_held(&conn->lock);
	link = conn_pick_link(conn, &leads);
	if (!link)
		return -ENETDOWN;
	smc_conn_move_step_locked(conn, SMC_MOVE_EV_LOST);
	conn_use_link(conn, link, atomic_read(&conn->link->reason));
	conn_rewind_tx(conn);
	if (!leads)
		return -ENOKEY;
	smc_stats_inc(conn->net, SMC_STAT_CONN_MOVE);
	smc_link_count_move(link, true);
	smc_tx_push_locked(conn, false);
	return 0;
}

/* Change the link in an orderly move, unless one of the two has failed: then failover does. */
static void conn_change_link_orderly(struct smc_conn *conn)
{
	struct smc_link *link = smc_lgr_get_link(conn->lgr, conn->tx.move.to);
	struct smc_conn_tx *tx = &conn->tx;

	if (!link || link == conn->link || !smc_link_usable(link) ||
	    !conn_link_reaches_peer(conn, link) || !smc_link_usable(conn->link)) {
		smc_stats_inc(conn->net, SMC_STAT_CONN_STAY);
		if (link)
			smc_link_put(link);
		return;
	}
	conn_use_link(conn, link, SMC_LINK_OK);
	tx->move.orderly = true;
	tx->move.resuming = false;
	tx->move.validate = true;
	/* a message after the validation tells the peer at once which link is used */
	tx->cons_due = true;
	smc_stats_inc(conn->net, SMC_STAT_CONN_BALANCE);
	smc_link_count_move(link, false);
}

/**
 * smc_conn_finish_move_locked() - Complete an orderly move, or give it up
 * @conn: connection
 *
 * Called by the connection's work. Changes the link if nothing is outstanding on the old one, gives
 * up if the time is over, else waits on. Afterwards the caller pushes what has waited.
 *
 * Context: Process; caller holds conn->lock.
 */
void smc_conn_finish_move_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->tx.move.state == SMC_MOVE_IDLE)
		return;
	if (smc_conn_move_step_locked(conn, SMC_MOVE_EV_WORK) & SMC_MOVE_ACT_CHANGE_LINK)
		conn_change_link_orderly(conn);
	else if (smc_conn_timer_move_expired(conn))
		smc_conn_move_step_locked(conn, SMC_MOVE_EV_EXPIRED);
}

/* Find the slots of the previous links that a native peer names, as far as they still matter. */
static void conn_left_slots(const struct smc_conn *conn, struct smc_cdc_msg *msg, u8 *slots)
{
	int ago, slot;
	u8 num;

	if (!smc_peer_can(&conn->lgr->peer, SMC_CAP_MOVE_HISTORY))
		msg->prev_link = 0;
	if (!smc_peer_can(&conn->lgr->peer, SMC_CAP_ORDERLY_MOVE)) {
		msg->older_orderly = 0;
		msg->ext = 0;
	}
	for (ago = 0; ago < SMC_FAILOVER_PREV_LINKS; ago++) {
		num = ago ? msg->older_links[ago - 1] : msg->prev_link;
		slot = msg->prev_link && num ? smc_lgr_find_open_slot(conn->lgr, num) : -ENOENT;
		slots[ago] = slot < 0 ? SMC_FAILOVER_NO_SLOT : slot;
	}
}

/*
 * Fail the links that the peer has left. conn->lock is held because a slot may only get another
 * link after the connections that refer to it have been notified of the fence.
 */
static void conn_fail_links(const struct smc_conn *conn, u32 slots)
{
	struct smc_link *link;

	smc_lgr_for_each_link(conn->lgr, link)
		if (slots & BIT(link->slot))
			smc_link_fail(link, SMC_LINK_PEER_MOVED);
}

/**
 * smc_conn_check_path_locked() - Decide whether a received message is applied now
 * @conn: connection
 * @link: link that the message came over
 * @buf: message
 * @len: its length in bytes
 *
 * A message over another link than before is kept until the previous link of the peer is fenced;
 * links that the peer has left are failed here.
 *
 * Context: Caller holds conn->lock.
 * Return: SMC_FAILOVER_TAKE, SMC_FAILOVER_PARKED, -ENOSPC if the peer moves too fast, or -ENODATA
 * if bytes were lost with the previous link.
 */
int smc_conn_check_path_locked(struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
			       u32 len)
{
	struct smc_cdc_msg msg;
	u8 past[SMC_FAILOVER_PREV_LINKS];
	u32 doubt;
	int rc;

	lockdep_assert_held(&conn->lock);
	smc_conn_timer_peer_seen(conn);
	if (conn->rx.path.slot == link->slot && !conn->rx.path.fresh &&
	    !smc_cdc_msg_is_validation(buf, len))
		return SMC_FAILOVER_TAKE;
	/* malformed: smc_cdc_apply() will reject it */
	if (!smc_cdc_parse(conn, buf, len, &msg))
		return SMC_FAILOVER_TAKE;
	conn_left_slots(conn, &msg, past);
	/* those that take the short way above, and immediate values */
	if (conn->rx.seen)
		conn->rx.path.begun = true;
	rc = smc_failover_rx_input(&conn->rx.path, link->slot, past, buf, &msg, &doubt);
	conn_fail_links(conn, doubt);
	if (rc == SMC_FAILOVER_FIRST)
		return smc_cdc_has_gap(conn, msg.seq, &msg.prod) ? -ENODATA : SMC_FAILOVER_TAKE;
	return rc;
}

/* Return whether the peer has ended the connection, so that it need not send anything more. */
static bool conn_peer_ended(const struct smc_conn *conn)
{
	/* a foreign peer that has ended its direction may be silent from then on */
	u8 over = smc_peer_can(&conn->lgr->peer, SMC_CAP_EVERY_MOVE)
			  ? SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT
			  : SMC_CDC_S_ALL;

	return conn->rx.peer_state & over;
}

/* Return whether messages lost with @link may have been the last ones of the peer. */
static bool conn_peer_may_be_silent(const struct smc_conn *conn, const struct smc_link *link)
{
	const struct smc_conn_rx *rx = &conn->rx;

	/* nothing more is expected, or the peer is on another link already */
	if (conn_peer_ended(conn) || rx->path.nparked)
		return false;
	/* a foreign peer that got our D, C or A moves without a message, and may write later */
	if (!smc_peer_can(&conn->lgr->peer, SMC_CAP_EVERY_MOVE) && conn->tx.state & SMC_CDC_S_ALL)
		return false;
	/* a peer that has sent nothing so far may use any link */
	return rx->path.slot == link->slot;
}

/**
 * smc_conn_fence_path_locked() - A link is fenced: nothing comes over it any more
 * @conn: connection
 * @link: the link
 *
 * If the device did not flush the queue pair, messages that its RNIC has acknowledged may be lost.
 * A peer that continues over another link sends a validation, which detects that. But a peer that
 * had ended the connection sends nothing more, and a reader would wait for ever: so a deadline is
 * set until which a message of the peer must arrive.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_fence_path_locked(struct smc_conn *conn, const struct smc_link *link)
{
	lockdep_assert_held(&conn->lock);
	if (link->flush_timed_out && conn_peer_may_be_silent(conn, link))
		smc_conn_timer_msgs_lost(conn);
	else if (link->flush_timed_out)
		conn->rx.msgs_lost = true;
	smc_failover_rx_note_fenced(&conn->rx.path, link->slot);
}

/**
 * smc_conn_finish_path_locked() - All messages of fenced links are handled
 * @conn: connection
 *
 * The peer may have moved to a link that lost messages before one of them was received there. This
 * matters when the link where the peer was last seen is fenced, too: the peer is then on another
 * link, and if it sends no validation its messages are lost. A native peer sends one for each move;
 * a foreign one has no third link.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_finish_path_locked(struct smc_conn *conn)
{
	struct smc_conn_rx *rx = &conn->rx;

	lockdep_assert_held(&conn->lock);
	if (!rx->msgs_lost || !rx->seen || rx->path.slot != SMC_FAILOVER_NO_SLOT)
		return;
	rx->msgs_lost = false;
	if (smc_peer_can(&conn->lgr->peer, SMC_CAP_EVERY_MOVE) && !rx->silence_deadline &&
	    !conn_peer_ended(conn))
		smc_conn_timer_msgs_lost(conn);
}

/**
 * smc_conn_peer_went_silent_locked() - Check the deadline set by smc_conn_fence_path_locked()
 * @conn: connection
 *
 * Context: Process; caller holds conn->lock.
 * Return: true, once, if the peer has been silent for too long.
 */
bool smc_conn_peer_went_silent_locked(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return smc_conn_state_may_cdc(conn->state) && smc_conn_timer_silence_expired(conn);
}
