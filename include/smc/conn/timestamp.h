/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrival times of received bytes for SO_TIMESTAMP and SO_TIMESTAMPING, see conn/timestamp.c. */
#ifndef _SMC_CONN_TIMESTAMP_H
#define _SMC_CONN_TIMESTAMP_H

#include <linux/ktime.h>
#include <linux/types.h>

struct smc_conn;

/* Arrivals recorded separately; further ones are merged into the last. */
#define SMC_STAMPS	16

/**
 * struct smc_stamp - one arrival
 * @end: stream position behind its last byte
 * @at: time of day
 */
struct smc_stamp {
	u64 end;
	ktime_t at;
};

/**
 * struct smc_stamps - arrivals of unread bytes, and of the last byte read; under conn->lock
 * @on: arrivals are recorded
 * @n: number of entries
 * @from: stream position of the first byte of the first entry
 * @log: entries in order of the stream
 */
struct smc_stamps {
	bool on;
	u8 n;
	u64 from;
	struct smc_stamp log[SMC_STAMPS];
};

void smc_stamp_start(struct smc_conn *conn);
void smc_stamp_arrived_locked(struct smc_conn *conn, u32 had);
ktime_t smc_stamp_of(struct smc_conn *conn, size_t ahead);

#endif
