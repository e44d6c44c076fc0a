// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mover: a connection from link to link.
 *
 * Each direction moves on its own. Ours begins again on another link when the one it
 * used has left the group, which happens after its queue pair was fenced and drained:
 * no request of it reads the send ring any more, and every completion has been counted.
 * What was not acknowledged is written again, after a validation message that says what
 * was. The peer's direction is the business of proto/failover.
 */
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/conn/zerocopy.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/proto/link_pick.h>
#include "cdc.h"
#include "failover.h"

/* For the peer to say that it has heard all; meanwhile the connection is silent. */
#define HEARD_TIME	(HZ / 2)
/*
 * For a peer to be heard over another link. It finds out by itself that the one before is gone,
 * which takes up to 40 s.
 */
#define SPEAK_TIME	(60 * HZ)
/* So many leave a link at a time. */
#define LEAVE_MAX	16

/* Is the peer's memory known on @link, and ours to the device? */
static bool conn_link_reaches_peer(const struct smc_conn *conn, const struct smc_link *link)
{
	return smc_core_rtoken_known(conn->lgr, conn->tx.claim.rtoken, link->slot) &&
	       smc_buf_lkey(conn->tx.elem.region, link->slot);
}

/* The links that do, a bit per slot. */
static unsigned long conn_reachable_slots(const struct smc_conn *conn)
{
	unsigned long slots = 0;
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(conn->lgr, slot);
		if (!link)
			continue;
		if (conn_link_reaches_peer(conn, link))
			__set_bit(slot, &slots);
		smc_link_put(link);
	}
	return slots;
}

/* A usable link, rather one that leads to the peer's memory. */
static struct smc_link *conn_pick_link(const struct smc_conn *conn, bool *leads)
{
	unsigned long slots = conn_reachable_slots(conn);
	struct smc_link *link = smc_core_pick_for(conn->lgr, slots, NULL);

	*leads = link;
	return link ?: smc_core_pick_for(conn->lgr, ~slots, NULL);
}

/* The connection counts for @link now, whose reference it takes over. */
static void conn_change_link(struct smc_conn *conn, struct smc_link *link)
{
	struct smc_link *old = conn->link;

	atomic_inc(&link->nconns);
	WRITE_ONCE(conn->link, link);
	atomic_dec(&old->nconns);
	smc_link_put(old);
}

/* What the next validation tells of moves. */
static void conn_record_move(struct smc_conn_tx *tx, u8 left)
{
	memmove(tx->past + 1, tx->past, sizeof(tx->past) - 1);
	tx->past[0] = tx->left;
	tx->past_orderly = (tx->past_orderly << 1 | tx->orderly) & (BIT(SMC_CDC_PAST) - 1);
	tx->left = left;
	tx->moves++;
	tx->orderly = false;
}

static void conn_use_link(struct smc_conn *conn, struct smc_link *link)
{
	trace_smc_conn_move(conn->token, conn->link->uid, link->uid);
	if (conn->lgr->peer.marker)
		conn_record_move(&conn->tx, conn->link->num);
	conn_change_link(conn, link);
	conn->tx.resuming = true;
	conn->tx.leave = SMC_LEAVE_NO;
	conn->tx.waiting = false;
	/* it is told again over the other link */
	conn->tx.told_blocked = false;
	smc_tx_window_locked(conn);
}

/* What the link before may have lost of what we said. */
static void conn_rewind_tx(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;
	u64 sent = tx->ring.sent;

	/* who never said anything has nothing to be validated, but one of our kind counts moves */
	tx->validate = conn->lgr->peer.marker || tx->seq || tx->seq_done || tx->ring.sent_max;
	/* else all is written, or nobody wants it, and the peer's memory may be another's */
	if (smc_conn_state_may_cdc(conn->state)) {
		smc_ring_tx_rewind(&tx->ring);
		smc_urgent_tx_rewind(&tx->urg, tx->ring.sent);
		/* what the peer has read is completed, and no completion will say so */
		smc_zcopy_settle_later_locked(conn);
		smc_tx_probe_locked(conn);
		smc_stats_add(conn->net, SMC_STAT_TX_AGAIN_BYTES, sent - tx->ring.sent);
		smc_ring_rx_force(&conn->rx.ring);
		tx->cons_due = true;
	}
	if (tx->state_unacked)
		tx->state_due |= tx->state;
}

/**
 * smc_move_first_locked() - client: over which link our direction begins
 * @conn: connection whose handshake is done, conn->lock held; nothing was sent
 *
 * The server has chosen one for its own direction, and so named it. One of our kind lets us
 * begin over any other; others would take that for a failover.
 */
void smc_move_first_locked(struct smc_conn *conn)
{
	struct smc_link *link;

	lockdep_assert_held(&conn->lock);
	if (conn->role != SMC_CLIENT || !conn->lgr->peer.marker || conn->tx.seq)
		return;
	link = smc_core_pick_for(conn->lgr, conn_reachable_slots(conn), conn->link);
	if (link && link != conn->link)
		conn_change_link(conn, link);
	else if (link)
		smc_link_put(link);
}

/**
 * smc_move_locked() - our direction leaves its link
 * @conn: connection behind its handshake, conn->lock held; conn->link is fenced
 *
 * Return: 0, -ENOKEY or -ENETDOWN, see the header.
 */
int smc_move_locked(struct smc_conn *conn)
{
	struct smc_link *link;
	bool leads;

	lockdep_assert_held(&conn->lock);
	link = conn_pick_link(conn, &leads);
	if (!link)
		return -ENETDOWN;
	conn_use_link(conn, link);
	conn_rewind_tx(conn);
	if (!leads)
		return -ENOKEY;
	smc_stats_inc(conn->net, SMC_STAT_CONN_MOVE);
	atomic_inc(&conn->lgr->moves);
	atomic_inc(&link->moves);
	smc_tx_push_locked(conn, false);
	return 0;
}

/**
 * smc_move_leave_locked() - our direction goes to a better link, if it may by now
 * @conn: connection, conn->lock held
 *
 * Whatever becomes of it, what waited can be pushed if it is over. Process context.
 */
void smc_move_leave_locked(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;
	struct smc_link *link;

	lockdep_assert_held(&conn->lock);
	if (!tx->leave)
		return;
	if (tx->leave != SMC_LEAVE_GO && time_before(jiffies, tx->leave_by)) {
		smc_conn_kick_by(conn, tx->leave_by - jiffies);
		return;
	}
	link = tx->leave == SMC_LEAVE_GO ? smc_core_link(conn->lgr, tx->leave_to) : NULL;
	tx->leave = SMC_LEAVE_NO;
	/* a link that has failed meanwhile is left in the other way */
	if (!link || link == conn->link || !smc_link_usable(link) ||
	    !conn_link_reaches_peer(conn, link) || !smc_link_usable(conn->link)) {
		smc_stats_inc(conn->net, SMC_STAT_CONN_STAY);
		if (link)
			smc_link_put(link);
		return;
	}
	conn_use_link(conn, link);
	tx->orderly = true;
	tx->resuming = false;
	tx->validate = true;
	/* something to follow the validation: the peer learns at once where we are */
	tx->cons_due = true;
	smc_stats_inc(conn->net, SMC_STAT_CONN_BALANCE);
	atomic_inc(&link->moves);
}

/**
 * struct balance_walk - a walk over the connections of a group
 * @lgr: group
 * @policy: of its namespace
 * @load: its links, as they will be when those that were begun with have moved
 * @begun: how many
 */
struct balance_walk {
	struct smc_lgr *lgr;
	enum smc_link_policy policy;
	struct smc_link_load load[SMC_CORE_LINKS];
	u32 begun;
};

/* Nothing but the stream itself is going on. conn->lock held. */
static bool conn_may_move(const struct smc_conn *conn)
{
	const struct smc_conn_tx *tx = &conn->tx;

	return conn->state == SMC_CONN_ACTIVE && !conn->shut_pending && !conn->close_pending &&
	       tx->peer_size && !tx->stopped && !tx->validate && !tx->leave &&
	       tx->leave_round != READ_ONCE(conn->lgr->balance_round) &&
	       smc_link_usable(conn->link);
}

static void conn_begin_move(struct smc_conn *conn, struct balance_walk *b)
{
	struct smc_conn_tx *tx = &conn->tx;
	u32 from = conn->link->slot;
	int to;

	if (!conn_may_move(conn))
		return;
	to = smc_link_better(b->policy, b->load, SMC_CORE_LINKS, from);
	if (to < 0 || !(conn_reachable_slots(conn) & BIT(to)))
		return;
	b->load[from].conns--;
	b->load[to].conns++;
	b->begun++;
	tx->leave_round = b->lgr->balance_round;
	tx->leave_to = to;
	tx->leave_by = jiffies + HEARD_TIME;
	tx->leave = SMC_LEAVE_ASK;
	smc_conn_kick_by(conn, HEARD_TIME);
	smc_tx_push_locked(conn, false);
}

/* Those that are silent already. */
static bool balance_count_conn(void *arg, void *balance)
{
	struct smc_conn *conn = arg;
	struct balance_walk *b = balance;

	if (!kref_get_unless_zero(&conn->ref))
		return true;
	spin_lock_bh(&conn->lock);
	if (conn->tx.leave && b->load[conn->link->slot].conns) {
		b->load[conn->link->slot].conns--;
		b->load[conn->tx.leave_to].conns++;
	}
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
	return true;
}

static bool balance_try_conn(void *arg, void *balance)
{
	struct smc_conn *conn = arg;
	struct balance_walk *b = balance;

	if (!kref_get_unless_zero(&conn->ref))
		return true;
	spin_lock_bh(&conn->lock);
	conn_begin_move(conn, b);
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
	return b->begun < LEAVE_MAX;
}

/**
 * smc_move_balance() - connections go to a link that came, as far as the policy wants it
 * @lgr: group
 *
 * Some at a time: they are silent meanwhile. Process context.
 *
 * Return: true if it has to be called again, a moment later.
 */
bool smc_move_balance(struct smc_lgr *lgr)
{
	struct smc_net *policy = smc_policy_net(lgr->net);
	struct balance_walk b = { .lgr = lgr };

	if (!lgr->peer.marker || !READ_ONCE(policy->balance))
		return false;
	b.policy = READ_ONCE(policy->link_policy);
	smc_core_link_loads(lgr, b.load);
	smc_core_walk_conns(lgr, balance_count_conn, &b);
	smc_core_walk_conns(lgr, balance_try_conn, &b);
	return b.begun;
}

/* Slots of the links a peer of our kind says it has left, of those that are of importance still. */
static void conn_left_slots(const struct smc_conn *conn, struct smc_cdc_msg *msg, u8 *slots)
{
	int ago, slot;
	u8 num;

	if (!conn->lgr->peer.marker) {
		msg->left = 0;
		msg->more = 0;
	}
	for (ago = 0; ago < SMC_FAILOVER_PAST; ago++) {
		num = ago ? msg->past[ago - 1] : msg->left;
		slot = msg->left && num ? smc_core_open_slot(conn->lgr, num) : -ENOENT;
		slots[ago] = slot < 0 ? SMC_FAILOVER_NOWHERE : slot;
	}
}

/*
 * Before a slot named by a connection gets another link, the connection is told that the
 * one it means is fenced; hence conn->lock.
 */
static void conn_fail_links(const struct smc_conn *conn, u32 slots)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = slots & BIT(slot) ? smc_core_link(conn->lgr, slot) : NULL;
		if (!link)
			continue;
		smc_link_fail(link, SMC_LINK_PEER_MOVED);
		smc_link_put(link);
	}
}

/**
 * smc_move_input_locked() - over which link does the peer write
 * @conn: connection, conn->lock held
 * @link: link a message came over
 * @buf: the message
 * @len: its length
 *
 * Return: SMC_FAILOVER_TAKE, SMC_FAILOVER_KEPT, -ENOSPC if the peer moves too fast, or
 * -ENODATA if bytes were lost with the link before.
 */
int smc_move_input_locked(struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
			  u32 len)
{
	struct smc_cdc_msg msg;
	u8 past[SMC_FAILOVER_PAST];
	u32 doubt;
	int rc;

	lockdep_assert_held(&conn->lock);
	conn->rx.silence_deadline = 0;
	if (conn->rx.path.slot == link->slot && !conn->rx.path.fresh &&
	    !smc_cdc_msg_is_validation(buf, len))
		return SMC_FAILOVER_TAKE;
	/* what is no message is found to be none in its turn, which is now */
	if (!smc_cdc_parse(conn, buf, len, &msg))
		return SMC_FAILOVER_TAKE;
	conn_left_slots(conn, &msg, past);
	rc = smc_failover_input(&conn->rx.path, link->slot, past, buf, &msg, &doubt);
	conn_fail_links(conn, doubt);
	if (rc == SMC_FAILOVER_FIRST)
		return smc_cdc_gap(conn, msg.seq, &msg.prod) ? -ENODATA : SMC_FAILOVER_TAKE;
	return rc;
}

/* Has the peer said that it is through? */
static bool conn_peer_ended(const struct smc_conn *conn)
{
	/* one of another kind that has ended its direction need not say anything any more */
	u8 over = conn->lgr->peer.marker ? SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT : SMC_CDC_S_ALL;

	return conn->rx.peer_state & over;
}

/* May what is lost have been the last that the peer had to say? */
static bool conn_peer_may_be_silent(const struct smc_conn *conn, const struct smc_link *link)
{
	const struct smc_conn_rx *rx = &conn->rx;

	/* it may have gone on already */
	if (conn_peer_ended(conn) || rx->path.nlate)
		return false;
	/* nor one that has heard of our end: it moves without a word, and may write later */
	if (!conn->lgr->peer.marker && conn->tx.state & SMC_CDC_S_ALL)
		return false;
	/* who has said nothing so far may be on any link */
	return rx->path.slot == link->slot;
}

static void conn_await_peer(struct smc_conn *conn)
{
	conn->rx.silence_deadline = (jiffies + SPEAK_TIME) ?: 1;
	smc_conn_kick_by(conn, SPEAK_TIME);
}

/**
 * smc_move_fenced_locked() - nothing comes over a link any more
 * @conn: connection, conn->lock held
 * @link: the link
 *
 * If the device did not flush, messages that its RNIC has acknowledged may be lost. A peer that
 * goes on over another link says what it takes for heard; one that had ended the connection
 * says nothing any more, and a reader would wait for ever.
 */
void smc_move_fenced_locked(struct smc_conn *conn, const struct smc_link *link)
{
	lockdep_assert_held(&conn->lock);
	if (link->late && conn_peer_may_be_silent(conn, link))
		conn_await_peer(conn);
	else if (link->late)
		conn->rx.msgs_lost = true;
	smc_failover_fenced(&conn->rx.path, link->slot);
}

/**
 * smc_move_caught_up_locked() - all was handled that came over links that are fenced
 * @conn: connection, conn->lock held
 *
 * A link that lost messages may have been one that the peer had gone to, and was not heard of
 * there. That matters when the link goes where it was heard last: it is on another one, and
 * if it does not say so, what it said is lost. One of our kind says of every move; others
 * have no third link.
 */
void smc_move_caught_up_locked(struct smc_conn *conn)
{
	struct smc_conn_rx *rx = &conn->rx;

	lockdep_assert_held(&conn->lock);
	if (!rx->msgs_lost || !rx->seen || rx->path.slot != SMC_FAILOVER_NOWHERE)
		return;
	rx->msgs_lost = false;
	if (conn->lgr->peer.marker && !rx->silence_deadline && !conn_peer_ended(conn))
		conn_await_peer(conn);
}

/**
 * smc_move_unheard_locked() - is the peer silent since messages of it may have been lost?
 * @conn: connection, conn->lock held
 *
 * Process context.
 *
 * Return: true, once, if it has been for too long.
 */
bool smc_move_unheard_locked(struct smc_conn *conn)
{
	struct smc_conn_rx *rx = &conn->rx;

	lockdep_assert_held(&conn->lock);
	if (!rx->silence_deadline || !smc_conn_state_may_cdc(conn->state))
		return false;
	if (time_before(jiffies, rx->silence_deadline)) {
		smc_conn_kick_by(conn, rx->silence_deadline - jiffies);
		return false;
	}
	rx->silence_deadline = 0;
	return true;
}
