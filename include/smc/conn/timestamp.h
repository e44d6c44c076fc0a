/* SPDX-License-Identifier: GPL-2.0-only */
/* When received bytes arrived, for SO_TIMESTAMP and its like. Rank 7. */
#ifndef _SMC_CONN_TIMESTAMP_H
#define _SMC_CONN_TIMESTAMP_H

#include <linux/ktime.h>
#include <linux/types.h>

struct smc_conn;

/* Arrivals that are told apart; more of them that nobody has read count as one. */
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
 * struct smc_stamps - arrivals that were not read yet, and the last one that was; under conn->lock
 * @on: they are noted
 * @n: so many
 * @from: stream position where the first one began
 * @log: in order
 */
struct smc_stamps {
	bool on;
	u8 n;
	u64 from;
	struct smc_stamp log[SMC_STAMPS];
};

/* From now on. Takes conn->lock. */
void smc_stamp_start(struct smc_conn *conn);
/* A CDC has announced bytes behind the @had ones; conn->lock held. */
void smc_stamp_arrived_locked(struct smc_conn *conn, u32 had);
/* Of the last byte before the one @ahead of the read position; 0: not noted. Takes conn->lock. */
ktime_t smc_stamp_of(struct smc_conn *conn, size_t ahead);

#endif
