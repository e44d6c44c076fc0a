// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of a connection. All share its delayed work (conn_work_fn() in conn/conn.c), which checks
 * all deadlines each time it runs, for whatever reason. Functions are named after the event that
 * starts or stops a timer; those named *_expired() and *_due() check one, and queue the work again
 * if its time has not come.
 *
 *   timer            started by                       when it expires
 *   ---------------  -------------------------------  -----------------------------------------
 *   state            a state that waits for the peer  SMC_CONN_EV_TIMEOUT
 *                    or for our application's close
 *   linger           close() with queued bytes        the connection is aborted
 *   last message     CLOSED                           the connection is unregistered
 *   reset            an end that resets the clcsock   RST goes without an answer to our A
 *   consumer update  a read that frees little room    the consumer cursor is sent
 *   lent pages       the peer needs room that is      the pages are polled, later and later
 *                    lent to a reader
 *   probe            a byte out of the reserve        the next byte may go out of it
 *   first ring       there is no ring of full size    it is asked for again
 *   bigger ring      a bigger send ring is there      it is given back
 *   move             an orderly move                  the connection stays on its link
 *   silence          messages may be lost with a link the connection is aborted
 *   speech           an upgrade waits for GO, for     SMC_UPGRADE_EV_TIMEOUT
 *                    its answer, or for S behind FIN
 *   C                C of the peer waits for TCP      it counts; TCP is polled until then
 *
 * State, linger and last message share conn->deadline: one follows the other.
 *
 * Context of all functions: softirq or process; caller holds conn->lock, unless said otherwise.
 */
#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include "timers.h"
#include "upgrade_locked.h"

/* The peer does not answer our C or A: give up after this time (TCP: FIN_WAIT2). */
#define CLOSE_TIMEOUT	(60 * HZ)
#define ABORT_TIMEOUT	(5 * HZ)
/* The peer has closed and our application has not: answer C well before the peer gives up. */
#define ANSWER_TIMEOUT	(30 * HZ)
/*
 * Time for the last message to be acknowledged: a link that fails before could lose it, and the
 * peer would keep what belongs to the connection for CLOSE_TIMEOUT. So it is longer than our RNIC
 * tries (rdma/qp_state.c): then the link fails, and the message goes over another one.
 */
#define LAST_MSG_TIME	(10 * HZ)
/* Our A goes before the RST, which is faster than the bytes before A; a dead link takes long. */
#define RESET_TIME	(HZ / 10)
/* A consumer update that may wait for further reads is sent after this time. */
#define UPDATE_DELAY	max_t(unsigned long, HZ / 1000, 1)
/* Between two polls of lent pages. */
#define LENT_POLL_MIN	max_t(unsigned long, HZ / 1000, 1)
#define LENT_POLL_MAX	(HZ / 10)
/*
 * Between the first two bytes out of the reserve, and between later ones at most; each pause is
 * twice the one before. The bytes are for a foreign peer whose consumer cursor was lost with a link
 * and which does not repeat it: its reader gets the byte and sends the cursor. But as long as the
 * peer itself still sends over the lost link, that answer is lost as well, and the byte is used up.
 * The peer takes up to 40 s to find out (TEST LINK). Once the 16 bytes (FOREIGN_RESERVE) are gone
 * nothing can be sent to it any more, and a stream whose answers were all lost stands still for
 * ever. So the pauses make the bytes last for 92 s, twice that time. With PROBE_MAX of 5 s they
 * would last for 51 s, hardly more than a peer needs that is set up as usual.
 *
 * The limit delays hardly any stream: when the peer has moved, its validation comes, and the next
 * byte goes at once (smc_conn_timer_probe_allowed()). Only an in-tree end that is half closed moves
 * without one, and its stream may wait for the whole pause. An idle connection sends none of these
 * bytes: they are taken from bytes that wait for the window.
 */
#define PROBE_MIN	(HZ / 10)
#define PROBE_MAX	(10 * HZ)
/* A writer that streams takes its bigger ring when the present one is full: in milliseconds. */
#define OFFER_TIME	(5 * HZ)
/* For the peer to acknowledge our last message; the connection sends nothing meanwhile. */
#define MOVE_ACK_TIME	(HZ / 2)
/*
 * For a message of the peer over another link. The peer has to find out by itself that the previous
 * one is gone, which takes up to 40 s.
 */
#define SILENCE_TIME	(60 * HZ)
/* For GO or a withdrawal after a yes, the answer to GO, S of a direction that has ended on TCP. */
#define SPEECH_TIME	(60 * HZ)

/*
 * For TCP to carry all bytes before both S, while C of the peer waits. With ANSWER_TIMEOUT after it
 * the peer, which may wait for CLOSE_TIMEOUT, still gets its answer.
 */
#define TAIL_TIME	(20 * HZ)
#define TAIL_POLL	(HZ / 50)

static void conn_queue_work_in(struct smc_conn *conn, unsigned long delay)
{
	mod_delayed_work(conn->wq, &conn->work, delay);
}

/* Work that is due earlier stays as it is. */
static void conn_queue_work_within(struct smc_conn *conn, unsigned long delay)
{
	const struct timer_list *timer = &conn->work.timer;

	if (!delayed_work_pending(&conn->work) ||
	    (timer_pending(timer) && time_after(READ_ONCE(timer->expires), jiffies + delay)))
		conn_queue_work_in(conn, delay);
}

/* Return whether the time @end has come; if not, the work will run then. */
static bool conn_time_has_come(struct smc_conn *conn, unsigned long end)
{
	if (time_after_eq(jiffies, end))
		return true;
	conn_queue_work_within(conn, end - jiffies);
	return false;
}

/**
 * smc_conn_queue_work() - Run the connection's work now
 * @conn: connection
 *
 * Context: Any, with or without conn->lock.
 */
void smc_conn_queue_work(struct smc_conn *conn)
{
	conn_queue_work_in(conn, 0);
}

/**
 * smc_conn_timer_state_entered() - A state has begun that may last only so long
 * @conn: connection
 * @actions: SMC_CONN_ACT_* of the step into the state
 */
void smc_conn_timer_state_entered(struct smc_conn *conn, u32 actions)
{
	unsigned long timeout = ANSWER_TIMEOUT;

	if (actions & SMC_CONN_ACT_SEND_ABORT)
		timeout = ABORT_TIMEOUT;
	else if (actions & SMC_CONN_ACT_SEND_CLOSE)
		timeout = CLOSE_TIMEOUT;
	conn->deadline_armed = true;
	conn->deadline = jiffies + timeout;
	conn_queue_work_within(conn, timeout);
}

/**
 * smc_conn_timer_state_left() - The state with a time limit has ended
 * @conn: connection
 */
void smc_conn_timer_state_left(struct smc_conn *conn)
{
	conn->deadline_armed = false;
}

/**
 * smc_conn_timer_state_expired() - Check the time limit of the state
 * @conn: connection
 *
 * Return: true, once, if it has passed.
 */
bool smc_conn_timer_state_expired(struct smc_conn *conn)
{
	if (!conn->deadline_armed)
		return false;
	if (time_after_eq(jiffies, conn->deadline)) {
		conn->deadline_armed = false;
		return true;
	}
	conn_queue_work_in(conn, conn->deadline - jiffies);
	return false;
}

/**
 * smc_conn_timer_close_begun() - The application has closed while bytes are queued
 * @conn: connection
 * @linger: jiffies that the bytes have to be sent
 *
 * Replaces ANSWER_TIMEOUT.
 */
void smc_conn_timer_close_begun(struct smc_conn *conn, unsigned long linger)
{
	conn->deadline_armed = false;
	conn->deadline = jiffies + linger;
}

/**
 * smc_conn_timer_linger_expired() - Check the time for queued bytes after a close
 * @conn: connection with such bytes
 *
 * Return: true if it has passed.
 */
bool smc_conn_timer_linger_expired(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->deadline);
}

/**
 * smc_conn_timer_closed() - CLOSED was reached: only the last message has to be acknowledged
 * @conn: connection
 */
void smc_conn_timer_closed(struct smc_conn *conn)
{
	conn->deadline = jiffies + LAST_MSG_TIME;
	/* the completion of the last message ends the connection */
	if (conn->tx.state_unacked && !conn->tx.state_due && !conn->tx.stopped)
		conn_queue_work_within(conn, LAST_MSG_TIME);
	else
		conn_queue_work_in(conn, 0);
}

/**
 * smc_conn_timer_last_msg_expired() - Check the time for the last message
 * @conn: connection in CLOSED whose last message is not acknowledged
 *
 * A message that could not even be posted has more time: the link itself will end by then.
 *
 * Return: true if the time has passed.
 */
bool smc_conn_timer_last_msg_expired(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->deadline +
					(conn->tx.state_due ? CLOSE_TIMEOUT : 0));
}

/**
 * smc_conn_timer_reset_due() - The clcsock is to be reset
 * @conn: connection that has ended badly
 */
void smc_conn_timer_reset_due(struct smc_conn *conn)
{
	conn->tcp_end_deadline = jiffies + RESET_TIME;
	conn_queue_work_within(conn, RESET_TIME);
}

/**
 * smc_conn_timer_reset_expired() - Check the time until which the reset waits for our last message
 * @conn: connection whose last message is not acknowledged
 *
 * Return: true if it has passed.
 */
bool smc_conn_timer_reset_expired(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->tcp_end_deadline);
}

/**
 * smc_conn_timer_update_delayed() - A consumer update may wait for further reads
 * @conn: connection
 */
void smc_conn_timer_update_delayed(struct smc_conn *conn)
{
	conn_queue_work_within(conn, UPDATE_DELAY);
}

/**
 * smc_conn_timer_pages_lent() - Pages of the RMBE were lent
 * @conn: connection
 *
 * The next poll will be soon. It is not started before the peer needs the room.
 */
void smc_conn_timer_pages_lent(struct smc_conn *conn)
{
	conn->rx.poll_gap = LENT_POLL_MIN;
}

/**
 * smc_conn_timer_pages_needed() - The peer needs room that is lent
 * @conn: connection
 */
void smc_conn_timer_pages_needed(struct smc_conn *conn)
{
	conn_queue_work_within(conn, conn->rx.poll_gap);
}

/**
 * smc_conn_timer_pages_polled() - Lent pages were polled, and the peer needs more of them
 * @conn: connection
 * @returned: some were returned: poll again soon
 * @timed: the poll was timed: if nothing was returned, poll less often
 */
void smc_conn_timer_pages_polled(struct smc_conn *conn, bool returned, bool timed)
{
	if (returned)
		conn->rx.poll_gap = LENT_POLL_MIN;
	else if (timed)
		conn->rx.poll_gap = min(2 * conn->rx.poll_gap, (unsigned long)LENT_POLL_MAX);
	conn_queue_work_within(conn, conn->rx.poll_gap);
}

/**
 * smc_conn_timer_probe_allowed() - This or the peer's direction has moved to another link
 * @conn: connection
 *
 * The next byte out of the reserve may go at once.
 */
void smc_conn_timer_probe_allowed(struct smc_conn *conn)
{
	conn->tx.probe_at = jiffies;
	conn->tx.probe_gap = PROBE_MIN;
}

/**
 * smc_conn_timer_probe_due() - Check whether a byte may go out of the reserve
 * @conn: connection
 *
 * Return: true if so.
 */
bool smc_conn_timer_probe_due(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->tx.probe_at);
}

/**
 * smc_conn_timer_probe_sent() - A byte out of the reserve was sent
 * @conn: connection
 */
void smc_conn_timer_probe_sent(struct smc_conn *conn)
{
	struct smc_conn_tx *tx = &conn->tx;

	tx->probe_at = jiffies + tx->probe_gap;
	tx->probe_gap = min_t(unsigned long, 2 * tx->probe_gap, PROBE_MAX);
}

/**
 * smc_conn_timer_ring_missing() - There is no ring in place of the first one
 * @conn: connection
 * @pause: jiffies until the next attempt
 */
void smc_conn_timer_ring_missing(struct smc_conn *conn, unsigned long pause)
{
	conn->tx.growth.deadline = jiffies + pause;
	conn_queue_work_within(conn, pause);
}

/**
 * smc_conn_timer_ring_due() - Check whether it is time for that attempt
 * @conn: connection in the pause
 *
 * Return: true if so.
 */
bool smc_conn_timer_ring_due(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->tx.growth.deadline);
}

/**
 * smc_conn_timer_ring_offered() - A bigger send ring is there for the writer
 * @conn: connection
 */
void smc_conn_timer_ring_offered(struct smc_conn *conn)
{
	conn->tx.growth.deadline = jiffies + OFFER_TIME;
	conn_queue_work_within(conn, OFFER_TIME);
}

/**
 * smc_conn_timer_ring_expired() - Check the time in which the writer takes its bigger ring
 * @conn: connection with such a ring
 *
 * Return: true if it has passed.
 */
bool smc_conn_timer_ring_expired(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->tx.growth.deadline);
}

/**
 * smc_conn_timer_move_begun() - An orderly move has begun
 * @conn: connection
 */
void smc_conn_timer_move_begun(struct smc_conn *conn)
{
	conn->tx.move.deadline = jiffies + MOVE_ACK_TIME;
	conn_queue_work_within(conn, MOVE_ACK_TIME);
}

/**
 * smc_conn_timer_move_expired() - Check the time for the peer's acknowledgment
 * @conn: connection in an orderly move
 *
 * Return: true if it has passed.
 */
bool smc_conn_timer_move_expired(struct smc_conn *conn)
{
	return conn_time_has_come(conn, conn->tx.move.deadline);
}

/* A deadline for which 0 means that there is none; returns true, once, if it has passed. */
static bool conn_deadline_has_passed(struct smc_conn *conn, unsigned long *deadline)
{
	if (!*deadline || !conn_time_has_come(conn, *deadline))
		return false;
	*deadline = 0;
	return true;
}

/**
 * smc_conn_timer_peer_must_speak() - An upgrade waits for the peer
 * @conn: connection with an upgrade
 */
void smc_conn_timer_peer_must_speak(struct smc_conn *conn)
{
	conn->upgrade->deadline = (jiffies + SPEECH_TIME) ?: 1;
	conn_queue_work_within(conn, SPEECH_TIME);
}

/**
 * smc_conn_timer_peer_spoke() - The peer has said what an upgrade waited for
 * @conn: connection with an upgrade
 */
void smc_conn_timer_peer_spoke(struct smc_conn *conn)
{
	conn->upgrade->deadline = 0;
}

/**
 * smc_conn_timer_speech_expired() - Check the time that the peer has for that
 * @conn: connection with an upgrade
 *
 * Return: true, once, if it has passed.
 */
bool smc_conn_timer_speech_expired(struct smc_conn *conn)
{
	return conn_deadline_has_passed(conn, &conn->upgrade->deadline);
}

/**
 * smc_conn_timer_c_waits() - C of the peer waits for TCP
 * @conn: connection with an upgrade
 */
void smc_conn_timer_c_waits(struct smc_conn *conn)
{
	conn->upgrade->c_deadline = jiffies + TAIL_TIME;
	conn_queue_work_within(conn, TAIL_POLL);
}

/**
 * smc_conn_timer_c_expired() - Check the time for which C may wait
 * @conn: connection with an upgrade, after a poll of TCP; the next one follows soon
 *
 * Return: true if it has passed.
 */
bool smc_conn_timer_c_expired(struct smc_conn *conn)
{
	if (time_after_eq(jiffies, conn->upgrade->c_deadline))
		return true;
	conn_queue_work_within(conn, TAIL_POLL);
	return false;
}

/**
 * smc_conn_timer_msgs_lost() - A link may have lost the last messages of the peer
 * @conn: connection
 */
void smc_conn_timer_msgs_lost(struct smc_conn *conn)
{
	conn->rx.silence_deadline = (jiffies + SILENCE_TIME) ?: 1;
	conn_queue_work_within(conn, SILENCE_TIME);
}

/**
 * smc_conn_timer_silence_expired() - Check whether the peer was silent for too long
 * @conn: connection
 *
 * Return: true, once, if so.
 */
bool smc_conn_timer_silence_expired(struct smc_conn *conn)
{
	return conn_deadline_has_passed(conn, &conn->rx.silence_deadline);
}
