/* SPDX-License-Identifier: GPL-2.0-only */
/* What a connection measures of itself, for TCP_INFO. Rank 7. */
#ifndef _SMC_CONN_TCP_INFO_H
#define _SMC_CONN_TCP_INFO_H

#include <linux/types.h>

struct smc_conn;
struct tcp_info;

/**
 * struct smc_meter - counts and times of one connection; under conn->lock
 * @written: bytes of all WRITEs, those that were done again after a failover included
 * @out: CDC messages posted
 * @data_out: those that bytes went before
 * @delivered: and which the peer's RNIC has acknowledged
 * @in: CDC messages received
 * @data_in: those that announced bytes
 * @queued_at: jiffies since when the oldest byte that is not acknowledged has waited, or
 *	since when it has been the oldest
 * @sent_at: jiffies of the last post of bytes
 * @received_at: jiffies of the last arrival of bytes
 * @heard_at: jiffies of the last acknowledgment or message
 * @rtt: ns from a post to its acknowledgment, smoothed as TCP does; 0: no sample yet
 * @rttvar: how far samples are off, smoothed
 * @rtt_min: the smallest sample
 * @since: ns; when the measurement of @rate began; 0: nothing was under way
 * @from: stream position that was acknowledged then
 * @rate: bytes per second that were acknowledged lately
 */
struct smc_meter {
	u64 written;
	u32 out;
	u32 data_out;
	u32 delivered;
	u32 in;
	u32 data_in;
	unsigned long queued_at;
	unsigned long sent_at;
	unsigned long received_at;
	unsigned long heard_at;
	u64 rtt;
	u64 rttvar;
	u64 rtt_min;
	u64 since;
	u64 from;
	u64 rate;
};

/* All with conn->lock held, but for the first. */
void smc_meter_init(struct smc_conn *conn);
/* A message was posted, behind so many bytes. */
void smc_meter_out(struct smc_conn *conn, u32 bytes);
/* One came. */
void smc_meter_in(struct smc_conn *conn, bool bytes);
/* One of which the completion was wanted was acknowledged; posted at @started, ns. */
void smc_meter_done(struct smc_conn *conn, u64 started, u64 completed_before);
/* What TCP_INFO says of a connection, over what stands in @info. */
void smc_meter_tcp_info(const struct smc_conn *conn, struct tcp_info *info);

#endif
