/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel log: lines that peers and users can cause, limited per namespace. */
#ifndef _SMC_BASE_LOG_H
#define _SMC_BASE_LOG_H

#include <linux/compiler_attributes.h>
#include <linux/types.h>

struct net;

/**
 * struct smc_log_rate - limit of the lines of a namespace
 * @since: jiffies, start of the present interval
 * @n: lines in it
 * @left_out: lines left out since the last one that was logged
 */
struct smc_log_rate {
	unsigned long since;
	unsigned int n;
	unsigned int left_out;
};

int smc_log_init(void);
void smc_log_exit(void);
bool smc_log_rate_allows(struct smc_log_rate *rate, unsigned long now, unsigned int *left_out);
void smc_log_write(struct net *net, const char *fmt, ...) __printf(2, 3);

#endif
