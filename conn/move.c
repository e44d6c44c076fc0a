// SPDX-License-Identifier: GPL-2.0-only
/*
 * State of an orderly move (proto/move_fsm.c, decision 0014), and the record of all changes of the
 * link that the next failover validation sends to a native peer.
 *
 * How an orderly move runs: balance.c chooses a connection and a link: BEGIN. smc_tx_push_locked()
 * sends the request for an acknowledgment: SENT. From then on nothing else is posted, until
 * tx_send_done() has seen the last completion, DRAINED, and the peer's acknowledgment has come,
 * ACKED, in either order. Then the connection's work changes the link:
 * smc_conn_finish_move_locked() (failover.c).
 */
#include <smc/base/stats.h>
#include "move.h"
#include "timers.h"

/**
 * smc_conn_move_step_locked() - Apply one event to the state of an orderly move
 * @conn: connection
 * @event: event
 *
 * Carries out all actions but SMC_MOVE_ACT_SEND_REQUEST and SMC_MOVE_ACT_CHANGE_LINK, which are
 * left to the callers for which they can occur.
 *
 * Context: Softirq or process; caller holds conn->lock.
 * Return: SMC_MOVE_ACT_*.
 */
u32 smc_conn_move_step_locked(struct smc_conn *conn, enum smc_move_event event)
{
	u32 actions;

	lockdep_assert_held(&conn->lock);
	WARN_ON_ONCE(smc_move_fsm_step(&conn->tx.move.state, event, &actions));
	if (actions & SMC_MOVE_ACT_ARM_TIMER)
		smc_conn_timer_move_begun(conn);
	if (actions & SMC_MOVE_ACT_QUEUE_WORK)
		smc_conn_queue_work(conn);
	if (actions & SMC_MOVE_ACT_COUNT_STAY)
		smc_stats_inc(conn->net, SMC_STAT_CONN_STAY);
	if (actions & SMC_MOVE_ACT_ALLOW_RETRY)
		conn->tx.move.round--;
	return actions;
}

/**
 * smc_conn_move_record_locked() - Record a change of the link of our direction
 * @conn: connection to a native peer
 * @prev: number of the link that it has left
 *
 * The next validation names the latest links, because earlier validations may be lost with a link.
 * The caller sets conn->tx.move.orderly if this was no failover.
 *
 * Context: Caller holds conn->lock.
 */
void smc_conn_move_record_locked(struct smc_conn *conn, u8 prev)
{
	struct smc_conn_tx_move *move = &conn->tx.move;

	lockdep_assert_held(&conn->lock);
	memmove(move->past + 1, move->past, sizeof(move->past) - 1);
	move->past[0] = move->prev;
	move->past_orderly =
		(move->past_orderly << 1 | move->orderly) & (BIT(SMC_CDC_OLDER_LINKS) - 1);
	move->prev = prev;
	move->count++;
	move->orderly = false;
}
