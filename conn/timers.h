/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of a connection, see timers.c. */
#ifndef _SMC_CONN_TIMERS_H
#define _SMC_CONN_TIMERS_H

#include <linux/types.h>
#include <smc/conn/conn.h>

extern struct workqueue_struct *smc_conn_wq;	/* conn/conn.c */

void smc_conn_queue_work(struct smc_conn *conn);

void smc_conn_timer_state_entered(struct smc_conn *conn, u32 actions);
void smc_conn_timer_state_left(struct smc_conn *conn);
bool smc_conn_timer_state_expired(struct smc_conn *conn);

void smc_conn_timer_close_begun(struct smc_conn *conn, unsigned long linger);
bool smc_conn_timer_linger_expired(struct smc_conn *conn);

void smc_conn_timer_closed(struct smc_conn *conn);
bool smc_conn_timer_last_msg_expired(struct smc_conn *conn);

void smc_conn_timer_reset_due(struct smc_conn *conn);
bool smc_conn_timer_reset_expired(struct smc_conn *conn);

void smc_conn_timer_update_delayed(struct smc_conn *conn);

void smc_conn_timer_pages_lent(struct smc_conn *conn);
void smc_conn_timer_pages_needed(struct smc_conn *conn);
void smc_conn_timer_pages_polled(struct smc_conn *conn, bool returned, bool timed);

void smc_conn_timer_probe_allowed(struct smc_conn *conn);
bool smc_conn_timer_probe_due(struct smc_conn *conn);
void smc_conn_timer_probe_sent(struct smc_conn *conn);

void smc_conn_timer_ring_missing(struct smc_conn *conn, unsigned long pause);
bool smc_conn_timer_ring_due(struct smc_conn *conn);
void smc_conn_timer_ring_offered(struct smc_conn *conn);
bool smc_conn_timer_ring_expired(struct smc_conn *conn);
void smc_conn_timer_move_begun(struct smc_conn *conn);
bool smc_conn_timer_move_expired(struct smc_conn *conn);

void smc_conn_timer_peer_must_speak(struct smc_conn *conn);
void smc_conn_timer_peer_spoke(struct smc_conn *conn);
bool smc_conn_timer_speech_expired(struct smc_conn *conn);
void smc_conn_timer_c_waits(struct smc_conn *conn);
bool smc_conn_timer_c_expired(struct smc_conn *conn);

void smc_conn_timer_msgs_lost(struct smc_conn *conn);
bool smc_conn_timer_silence_expired(struct smc_conn *conn);

/**
 * smc_conn_timer_peer_seen() - A message of the peer has come: it is not silent
 * @conn: connection
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_conn_timer_peer_seen(struct smc_conn *conn)
{
	conn->rx.silence_deadline = 0;
}

#endif
