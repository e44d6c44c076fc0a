/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registering a table: with a size since register_net_sysctl_sz() exists; before,
 * an empty entry ends the table.
 */
#ifndef _SMC_COMPAT_SYSCTL_H
#define _SMC_COMPAT_SYSCTL_H

#include <linux/sysctl.h>
#include <net/net_namespace.h>

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
