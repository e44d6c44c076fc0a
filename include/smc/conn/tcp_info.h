/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters and times of a connection, for TCP_INFO and sock_diag, see conn/tcp_info.c. */
#ifndef _SMC_CONN_TCP_INFO_H
#define _SMC_CONN_TCP_INFO_H

#include <linux/jiffies.h>
#include <linux/types.h>
#include <smc/lgr/link.h>

struct smc_conn;
struct tcp_info;

/**
 * struct smc_tcpinfo - counters and times of one connection; under conn->lock
 * @written: bytes of all WRITEs, including those repeated after a failover
 * @out: CDC messages posted
 * @data_out: CDC messages posted behind WRITEs
 * @delivered: of @data_out, acknowledged by the peer's RNIC
 * @in: CDC messages received
 * @data_in: CDC messages received that announced bytes
 * @queued_at: jiffies when the oldest unacknowledged byte was written, or became the oldest
 * @sent_at: jiffies of the last post of bytes
 * @received_at: jiffies of the last arrival of bytes
 * @peer_seen_at: jiffies of the last acknowledgment or message of the peer
 * @rtt: ns from a post to its acknowledgment, smoothed as on TCP; 0: no sample yet
 * @rttvar: mean deviation of @rtt in ns
 * @rtt_min: smallest sample in ns
 * @since: start of the measurement of @rate in ns; 0: none runs, nothing is in flight
 * @from: stream position acknowledged at @since
 * @rate: bytes per second acknowledged in the last measurement
 * @closed_usecs: time for which the peer had no room, without the present time if it has none
 * @closed: how often the peer had no room
 * @moves: changes of the link of our direction
 * @move_reason: why the last link was left; SMC_LINK_OK: an orderly move
 * @moved_at: seconds since boot of the last change
 * @began_at: 64-bit jiffies at the end of the handshake; 0: not yet
 * @ended_at: the same when the connection left the token table; 0: not yet
 */
struct smc_tcpinfo {
	u64 written;
	u32 out;
	u32 data_out;
	u32 delivered;
	u32 in;
	u32 data_in;
	unsigned long queued_at;
	unsigned long sent_at;
	unsigned long received_at;
	unsigned long peer_seen_at;
	u64 rtt;
	u64 rttvar;
	u64 rtt_min;
	u64 since;
	u64 from;
	u64 rate;
	u64 closed_usecs;
	u32 closed;
	u32 moves;
	enum smc_link_reason move_reason;
	u32 moved_at;
	u64 began_at;
	u64 ended_at;
};

/**
 * struct smc_conn_stats - statistics of a connection at one moment, for sock_diag
 * @tx_bytes: bytes that the program has written
 * @rx_bytes: bytes received
 * @tx_again: bytes of WRITEs that repeated others after a failover
 * @rate: bytes per second acknowledged, when last measured
 * @closed_usecs: time for which the peer had no room
 * @move_age: seconds since the last change of the link
 * @tx_queue: bytes written that the peer's RNIC has not acknowledged
 * @rx_queue: bytes received that the program has not read
 * @tx_msgs: messages and immediate values posted
 * @rx_msgs: messages and immediate values received
 * @tx_data_msgs: of @tx_msgs, behind WRITEs
 * @rx_data_msgs: of @rx_msgs, that announced bytes
 * @rtt: microseconds from a post to its acknowledgment, smoothed; 0: not known
 * @rttvar: mean deviation of @rtt
 * @rtt_min: smallest sample
 * @closed: how often the peer had no room
 * @moves: changes of the link
 * @move_reason: static text, why the last link was left; NULL: there was no move
 * @last_sent: milliseconds since bytes were posted
 * @last_received: milliseconds since bytes arrived
 * @tcp_tx: byte S of our direction: bytes that TCP carried before those of @tx_bytes, if
 *	@tcp_tx_known
 * @tcp_rx: byte S of the peer's direction, if @tcp_rx_known
 * @tcp_tx_known: the connection began as TCP, and this direction has changed over
 * @tcp_rx_known: likewise
 */
struct smc_conn_stats {
	u64 tx_bytes;
	u64 rx_bytes;
	u64 tx_again;
	u64 rate;
	u64 closed_usecs;
	u64 move_age;
	u32 tx_queue;
	u32 rx_queue;
	u32 tx_msgs;
	u32 rx_msgs;
	u32 tx_data_msgs;
	u32 rx_data_msgs;
	u32 rtt;
	u32 rttvar;
	u32 rtt_min;
	u32 closed;
	u32 moves;
	const char *move_reason;
	u32 last_sent;
	u32 last_received;
	u64 tcp_tx;
	u64 tcp_rx;
	bool tcp_tx_known;
	bool tcp_rx_known;
};

void smc_tcpinfo_init(struct smc_conn *conn);
void smc_tcpinfo_count_acked(struct smc_conn *conn, u64 started, u64 completed_before);
void smc_tcpinfo_count_closed(struct smc_conn *conn);
void smc_tcpinfo_count_opened(struct smc_conn *conn, u64 usecs);
void smc_tcpinfo_count_move(struct smc_conn *conn, enum smc_link_reason reason);
void smc_tcpinfo_get_stats(const struct smc_conn *conn, struct smc_conn_stats *stats);
void smc_tcpinfo_note_end(struct smc_conn *conn);
void smc_tcpinfo_report_end(struct smc_conn *conn);
void smc_tcpinfo_fill(const struct smc_conn *conn, struct tcp_info *info);

/* What every message does is inline: as a call it would cost more than what it does. */

/**
 * smc_tcpinfo_count_sent() - Count a posted message
 * @m: of the connection
 * @bytes: bytes of the WRITEs before it
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_tcpinfo_count_sent(struct smc_tcpinfo *m, u32 bytes)
{
	m->out++;
	if (!bytes)
		return;
	m->data_out++;
	m->written += bytes;
	m->sent_at = jiffies;
}

/**
 * smc_tcpinfo_count_received() - Count a received message
 * @m: of the connection
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_tcpinfo_count_received(struct smc_tcpinfo *m)
{
	m->in++;
	m->peer_seen_at = jiffies;
}

/**
 * smc_tcpinfo_count_received_bytes() - Count a received message that announced bytes
 * @m: of the connection
 *
 * Context: Caller holds conn->lock.
 */
static inline void smc_tcpinfo_count_received_bytes(struct smc_tcpinfo *m)
{
	m->data_in++;
	m->received_at = jiffies;
}

#endif
