// SPDX-License-Identifier: GPL-2.0-only
/*
 * Composition root: which part starts in which order, and who hears from whom.
 * Known by nobody.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/smc.h>
#include <net/genetlink.h>
#include <smc/base/events.h>
#include <smc/base/fault.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/sysctl.h>
#include <smc/conn/conn.h>
#include <smc/conn/zerocopy.h>
#include <smc/handshake/admission.h>
#include <smc/handshake/handshake.h>
#include <smc/handshake/negcache.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/netlink/netlink.h>
#include <smc/netlink/pnet.h>
#include <smc/rdma/ib.h>
#include <smc/rdma/pnet_table.h>
#include <smc/socket/af_smc.h>
#include <smc/socket/inet.h>
#include <smc/tcp/option.h>

struct main_subsystem {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
};

static int __init main_ib_init(void)
{
	return smc_ib_init(&smc_core_ib_events);
}

static int __init main_lgr_init(void)
{
	smc_core_set_ctl_events(&smc_llc_events);
	smc_core_set_conn_events(&smc_conn_lgr_events);
	return smc_core_init();
}

/*
 * Lower parts first; link groups after the devices, so that at the end they can still
 * tell their peers. The family comes last, with its second door, and goes first: with it
 * users and peers come in.
 */
static const struct main_subsystem main_subsystems[] = {
#ifdef SMC_FAULT
	{ "fault sites", smc_fault_init, smc_fault_exit },
#endif
	{ "statistics", smc_stats_init, smc_stats_exit },
	{ "events", smc_notify_init, smc_notify_exit },
	{ "PNET table", smc_pnet_table_init, smc_pnet_table_exit },
	{ "settings", smc_policy_init, smc_policy_exit },
	{ "rules", smc_rules_init, smc_rules_exit },
	{ "negative cache", smc_negcache_init, smc_negcache_exit },
	{ "handshake limits", smc_limit_init, smc_limit_exit },
	{ "sysctl", smc_sysctl_init, smc_sysctl_exit },
	{ "zero copy", smc_zcopy_init, smc_zcopy_exit },
	{ "connections", smc_conn_init, smc_conn_exit },
	{ "LLC", smc_llc_init, smc_llc_exit },
	{ "RDMA devices", main_ib_init, smc_ib_exit },
	{ "link groups", main_lgr_init, smc_core_exit },
	{ "handshake", smc_hs_init, smc_hs_exit },
	{ "netlink", smc_netlink_init, smc_netlink_exit },
	{ "PNET table's netlink", smc_netlink_pnet_init, smc_netlink_pnet_exit },
	{ "TCP option", smc_option_init, smc_option_exit },
	{ "socket family", smc_af_init, smc_af_exit },
	{ "IPPROTO_SMC", smc_inet_init, smc_inet_exit },
};

static void main_stop_subsystems(int n)
{
	while (n-- > 0)
		main_subsystems[n].exit();
}

static int __init smc_main_init(void)
{
	int i, rc;

	for (i = 0; i < ARRAY_SIZE(main_subsystems); i++) {
		rc = main_subsystems[i].init();
		if (rc) {
			pr_err("%s could not be started (%d)%s\n", main_subsystems[i].name, rc,
			       rc == -EEXIST ? ": another SMC module is loaded" : "");
			main_stop_subsystems(i);
			return rc;
		}
	}
	return 0;
}

static void __exit smc_main_exit(void)
{
	main_stop_subsystems(ARRAY_SIZE(main_subsystems));
	rcu_barrier();
}

module_init(smc_main_init);
module_exit(smc_main_exit);

MODULE_AUTHOR("the AF_SMC maintainers");
MODULE_DESCRIPTION("SMC socket address family");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
MODULE_ALIAS_NETPROTO(PF_SMC);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 256 /* IPPROTO_SMC */, 1 /* SOCK_STREAM */);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 256 /* IPPROTO_SMC */, 1 /* SOCK_STREAM */);
MODULE_ALIAS_GENL_FAMILY(SMC_GENL_FAMILY_NAME);
