// SPDX-License-Identifier: GPL-2.0-only
/*
 * Balancing: a further link of a group became usable, and net.smc.smcr_balance, or an option of the
 * socket, lets connections move to it from links that work (orderly moves, decision 0014, native
 * peers only). A delayed work walks over the connections of the group and begins a few moves at a
 * time, until no connection is left that gains by a move. What a connection does then is in
 * failover.c and move.c.
 */
#include <linux/jiffies.h>
#include <smc/base/settings.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/proto/link_pick.h>
#include "balance.h"
#include "failover.h"
#include "move.h"
#include "timers.h"

/* Connections of a group that begin an orderly move in one walk. */
#define BALANCE_MAX	16
#define BALANCE_DELAY	HZ		/* from a new link to the first move */
#define BALANCE_PAUSE	(HZ / 10)	/* between two walks over the connections */
#define BALANCE_WALKS	64		/* limit for each new link */

/**
 * struct balance_walk - state of a walk over the connections of a group
 * @policy: link policy of the namespace
 * @balance: whether connections of the namespace move
 * @round: round of the group
 * @load: connections per link, counting each moving connection for its new link
 * @begun: orderly moves begun in this walk
 */
struct balance_walk {
	enum smc_link_policy policy;
	bool balance;
	u32 round;
	struct smc_link_load load[SMC_LGR_LINKS];
	u32 begun;
};

/* Return whether an orderly move may begin: the connection only transfers data. Lock held. */
static bool conn_may_move(const struct smc_conn *conn, u32 round)
{
	const struct smc_conn_tx *tx = &conn->tx;

	return conn->state == SMC_CONN_ACTIVE && !conn->shut_pending && !conn->close_pending &&
	       tx->peer_size && !tx->stopped && !tx->move.validate &&
	       tx->move.state == SMC_MOVE_IDLE && tx->move.round != round &&
	       smc_link_usable(conn->link);
}

static void conn_begin_move(struct smc_conn *conn, struct balance_walk *b)
{
	int policy = READ_ONCE(conn->link_policy);
	int balance = READ_ONCE(conn->balance);
	struct smc_conn_tx *tx = &conn->tx;
	u32 from = conn->link->slot;
	int to;

	if (!(balance < 0 ? b->balance : balance) || !conn_may_move(conn, b->round))
		return;
	to = smc_link_pick_better(policy < 0 ? b->policy : policy, b->load, SMC_LGR_LINKS, from);
	if (to < 0 || !(smc_conn_reachable_slots(conn) & BIT(to)))
		return;
	b->load[from].conns--;
	b->load[to].conns++;
	b->begun++;
	tx->move.round = b->round;
	tx->move.to = to;
	if (smc_conn_move_step_locked(conn, SMC_MOVE_EV_BEGIN) & SMC_MOVE_ACT_SEND_REQUEST)
		smc_tx_push_locked(conn, false);
}

/* Count connections that are moving for their new link. */
static bool balance_count_conn(struct smc_conn *conn, void *balance)
{
	struct balance_walk *b = balance;

	if (!kref_get_unless_zero(&conn->ref))
		return true;
	spin_lock_bh(&conn->lock);
	if (conn->tx.move.state != SMC_MOVE_IDLE && b->load[conn->link->slot].conns) {
		b->load[conn->link->slot].conns--;
		b->load[conn->tx.move.to].conns++;
	}
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
	return true;
}

static bool balance_try_conn(struct smc_conn *conn, void *balance)
{
	struct balance_walk *b = balance;

	if (!kref_get_unless_zero(&conn->ref))
		return true;
	spin_lock_bh(&conn->lock);
	conn_begin_move(conn, b);
	spin_unlock_bh(&conn->lock);
	smc_conn_put(conn);
	return b->begun < BALANCE_MAX;
}

/*
 * Begin at most BALANCE_MAX moves, as the link policies of the connections prefer, because moving
 * connections send nothing meanwhile. Return whether any move has begun: others may gain by a move,
 * too. Policies that differ come to an end, too: a connection moves once for each new link.
 */
static bool balance_begin_moves(struct smc_lgr *lgr)
{
	struct smc_settings *settings = smc_settings_get(lgr->net);
	struct balance_walk b = { .round = READ_ONCE(lgr->balance.round) };

	if (!smc_peer_can(&lgr->peer, SMC_CAP_ORDERLY_MOVE))
		return false;
	b.balance = READ_ONCE(settings->balance);
	if (!b.balance && !READ_ONCE(lgr->balance.wanted))
		return false;
	b.policy = READ_ONCE(settings->link_policy);
	smc_lgr_get_link_loads(lgr, b.load);
	smc_lgr_walk_conns(lgr, balance_count_conn, &b);
	smc_lgr_walk_conns(lgr, balance_try_conn, &b);
	return b.begun;
}

static void balance_work_fn(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(to_delayed_work(work), struct smc_lgr, balance.work);

	if (READ_ONCE(lgr->dead) || !lgr->balance.walks || !balance_begin_moves(lgr))
		return;
	lgr->balance.walks--;
	queue_delayed_work(smc_conn_wq, &lgr->balance.work, BALANCE_PAUSE);
}

/**
 * smc_balance_start() - Let connections move to a link that became usable
 * @link: link
 *
 * Starts after BALANCE_DELAY: by then the peer can use the link too, and a flapping link has
 * failed again. Does nothing if the setting is off and no connection has wanted it.
 *
 * Context: Process; not concurrently for a group.
 */
void smc_balance_start(struct smc_link *link)
{
	struct smc_balance *balance = &link->lgr->balance;

	if (!READ_ONCE(smc_settings_get(link->lgr->net)->balance) && !READ_ONCE(balance->wanted))
		return;
	if (!balance->round)
		INIT_DELAYED_WORK(&balance->work, balance_work_fn);
	WRITE_ONCE(balance->round, balance->round + 1);
	WRITE_ONCE(balance->walks, BALANCE_WALKS);
	mod_delayed_work(smc_conn_wq, &balance->work, BALANCE_DELAY);
}

/**
 * smc_conn_set_balance() - Say whether a connection moves to links that become usable
 * @conn: connection
 * @balance: 1, 0, or SMC_BALANCE_NET: as net.smc.smcr_balance says then
 *
 * Any context. Holds for links that become usable from now on.
 */
void smc_conn_set_balance(struct smc_conn *conn, int balance)
{
	WRITE_ONCE(conn->balance, balance);
	if (balance > 0)
		WRITE_ONCE(conn->lgr->balance.wanted, true);
}

/**
 * smc_balance_stop() - End what smc_balance_start() has begun
 * @lgr: group that nobody uses any more
 *
 * Context: Process, sleeps.
 */
void smc_balance_stop(struct smc_lgr *lgr)
{
	if (lgr->balance.round)
		cancel_delayed_work_sync(&lgr->balance.work);
}
