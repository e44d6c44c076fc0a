/* SPDX-License-Identifier: GPL-2.0-only */
/* Time stamps for SO_TIMESTAMPING: ktime_t in newer kernels, struct timespec64 before. */
#ifndef _SMC_COMPAT_TSTAMP_H
#define _SMC_COMPAT_TSTAMP_H

#include <linux/ktime.h>
#include <linux/socket.h>

/* Set the software time stamp, which is the first of the array. */
static inline void smc_compat_timestamp_set(struct scm_timestamping_internal *tss, ktime_t at)
{
#ifdef SMC_HAVE_KTIME_TSTAMPS
	tss->ts[0] = at;
#else
	tss->ts[0] = ktime_to_timespec64(at);
#endif
}

#endif
