/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel log: lines that peers and users can cause, limited per namespace, and together. */
#ifndef _SMC_BASE_LOG_H
#define _SMC_BASE_LOG_H

#include <linux/compiler_attributes.h>
#include <linux/ratelimit_types.h>
#include <linux/types.h>

struct net;
struct user_namespace;

/**
 * struct smc_log_limit - limit of the lines of a namespace, or of several together
 * @rate: the kernel's limit
 * @name: of the namespace or namespaces, for the line that says how many lines are missing
 */
struct smc_log_limit {
	struct ratelimit_state rate;
	char name[32];
};

int smc_log_init(void);
void smc_log_exit(void);
void smc_log_limit_init(struct smc_log_limit *limit, unsigned int inum);
bool smc_log_limit_allows(struct smc_log_limit *limit);
bool smc_log_allows(struct smc_log_limit *limit, const struct user_namespace *owner);
void smc_log_write(struct net *net, const char *fmt, ...) __printf(2, 3);

#endif
