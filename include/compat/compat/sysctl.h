/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * register_net_sysctl_sz() takes the number of entries; before it existed, an empty entry ended the
 * table. A proc_handler gets a const entry, or one that is not.
 */
#ifndef _SMC_COMPAT_SYSCTL_H
#define _SMC_COMPAT_SYSCTL_H

#include <linux/sysctl.h>
#include <net/net_namespace.h>

#ifdef SMC_HAVE_CONST_CTL_TABLE
#define smc_compat_ctl_const	const
#else
#define smc_compat_ctl_const
#endif

/* Register a table of @entries entries, followed by an empty one. */
static inline struct ctl_table_header *
smc_compat_register_net_sysctl(struct net *net, const char *path, struct ctl_table *table,
			       size_t entries)
{
#ifdef register_net_sysctl
	return register_net_sysctl_sz(net, path, table, entries);
#else
	return register_net_sysctl(net, path, table);
#endif
}

#endif
