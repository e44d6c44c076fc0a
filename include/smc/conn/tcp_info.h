/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters and times of a connection for TCP_INFO, see conn/tcp_info.c. */
#ifndef _SMC_CONN_TCP_INFO_H
#define _SMC_CONN_TCP_INFO_H

#include <linux/types.h>

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
};

void smc_tcpinfo_init(struct smc_conn *conn);
void smc_tcpinfo_count_sent(struct smc_conn *conn, u32 bytes);
void smc_tcpinfo_count_received(struct smc_conn *conn, bool bytes);
void smc_tcpinfo_count_acked(struct smc_conn *conn, u64 started, u64 completed_before);
void smc_tcpinfo_fill(const struct smc_conn *conn, struct tcp_info *info);

#endif
