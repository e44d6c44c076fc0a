// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.smc.lo_peers: whether the administrator of a network namespace allows connections to other
 * namespaces of this host over smc_lo. Off in each new namespace, whatever the others have: bytes
 * that are copied pass no filter, so each has to say it itself.
 */
#include <linux/netdevice.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "internal.h"

#include <compat/sysctl.h>

static unsigned int lo_net_id;
static void (*lo_net_changed)(struct net *net);

/**
 * struct lo_net - a namespace
 * @net: itself
 * @peers: net.smc.lo_peers
 * @sysctl: the registration of @table
 * @table: one entry, and an empty one, which ends the table in older kernels
 */
struct lo_net {
	struct net *net;
	u8 peers;
	struct ctl_table_header *sysctl;
	struct ctl_table table[2];
};

static int lo_net_sysctl(smc_compat_ctl_const struct ctl_table *entry, int write, void *buffer,
			 size_t *len, loff_t *pos)
{
	struct lo_net *ln = container_of((u8 *)entry->data, struct lo_net, peers);
	int rc = proc_dou8vec_minmax(entry, write, buffer, len, pos);

	if (!rc && write)
		lo_net_changed(ln->net);
	return rc;
}

static const struct ctl_table lo_net_template = {
	.procname = "lo_peers",
	.maxlen = sizeof(u8),
	.mode = 0644,
	.proc_handler = lo_net_sysctl,
	.extra1 = SYSCTL_ZERO,
	.extra2 = SYSCTL_ONE,
};

static int __net_init lo_net_init(struct net *net)
{
	struct lo_net *ln = net_generic(net, lo_net_id);

	ln->net = net;
	ln->table[0] = lo_net_template;
	ln->table[0].data = &ln->peers;
	ln->sysctl = smc_compat_register_net_sysctl(net, "net/smc", ln->table, 1);
	return ln->sysctl ? 0 : -ENOMEM;
}

static void __net_exit lo_net_exit(struct net *net)
{
	struct lo_net *ln = net_generic(net, lo_net_id);

	unregister_net_sysctl_table(ln->sysctl);
}

static struct pernet_operations lo_net_ops = {
	.init = lo_net_init,
	.exit = lo_net_exit,
	.id = &lo_net_id,
	.size = sizeof(struct lo_net),
};

/**
 * lo_consent_init() - Register net.smc.lo_peers in all namespaces
 * @changed: called after each change, without locks, before the write to the sysctl returns
 *
 * Return: 0 or -errno.
 */
int __init lo_consent_init(void (*changed)(struct net *net))
{
	lo_net_changed = changed;
	return register_pernet_subsys(&lo_net_ops);
}

/**
 * lo_consent_exit() - Undo lo_consent_init()
 */
void lo_consent_exit(void)
{
	unregister_pernet_subsys(&lo_net_ops);
}

/**
 * lo_consent_given() - Check whether a namespace allows connections to others
 * @net: namespace
 *
 * Any context.
 *
 * Return: net.smc.lo_peers of @net.
 */
bool lo_consent_given(const struct net *net)
{
	const struct lo_net *ln = net_generic(net, lo_net_id);

	return READ_ONCE(ln->peers);
}
