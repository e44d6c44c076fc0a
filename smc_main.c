// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module entry point: starts and stops the subsystems and connects their callback tables.
 *
 * The module implements the socket family AF_SMC (and IPPROTO_SMC) over RDMA, SMC-R of RFC 7609
 * with the extensions of versions 2 and 2.1. Its folders are layers; each one uses only those
 * before it:
 *
 *   proto      message formats and state tables, free of kernel dependencies
 *   base       settings, sysctls, rules, statistics, trace points, events, fault injection
 *   rdma       RNICs, ports, PNET IDs, paths, queue pairs, memory regions (smc_ib.c, smc_wr.c)
 *   tcp        the in-kernel TCP socket (clcsock), CLC transfer, the TCP option (smc_clc.c)
 *   lgr        link groups, links, rtokens (smc_core.c)
 *   llc        control messages of a link group: links and RMBs (smc_llc.c)
 *   conn       connections: CDC messages, data, failover (smc_cdc.c, smc_tx.c, smc_rx.c)
 *   handshake  CLC handshake of client and server, its limits and its negative cache
 *   socket     socket calls, accepting, fallback to TCP (af_smc.c)
 *   netlink    generic netlink: dumps, commands, configuration
 *
 * Upward information passes through const tables of callbacks, which this file connects: RDMA
 * device events reach link groups (smc_lgr_ib_events), link groups report to LLC (smc_llc_events)
 * and to connections (smc_conn_lgr_events).
 *
 * main_subsystems[] is the order of starting; stopping reverses it. A subsystem starts after those
 * it uses. Link groups start after the RDMA devices, so that at the end they are terminated first
 * and can still notify their peers. Netlink and the socket families start last and stop first,
 * because users and peers enter through them. If a start fails, the subsystems started before are
 * stopped again.
 *
 * See Documentation/architecture.rst.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <linux/smc.h>
#include <linux/sysfs.h>
#include <net/genetlink.h>
#include <smc/base/events.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/log.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/sysctl.h>
#include <smc/base/version.h>
#include <smc/conn/conn.h>
#include <smc/conn/zerocopy.h>
#include <smc/handshake/admission.h>
#include <smc/handshake/handshake.h>
#include <smc/handshake/autosmc.h>
#include <smc/handshake/upgradable.h>
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
#include <smc/tcp/orphan.h>

/**
 * struct main_subsystem - One entry of the start order
 * @name: for the log
 * @init: start it; 0 or -errno
 * @exit: undo @init; never called if @init failed
 */
struct main_subsystem {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
};

static int __init main_ib_init(void)
{
	return smc_ib_init(&smc_lgr_ib_events);
}

static int __init main_lgr_init(void)
{
	smc_lgr_set_ctl_events(&smc_llc_events);
	smc_lgr_set_conn_events(&smc_conn_lgr_events);
	return smc_lgr_init();
}

/* In the order of starting. */
static const struct main_subsystem main_subsystems[] = {
#ifdef SMC_FAULT
	{ "fault sites", smc_fault_init, smc_fault_exit },
#endif
	{ "statistics", smc_stats_init, smc_stats_exit },
	{ "log", smc_log_init, smc_log_exit },
	{ "events", smc_event_init, smc_event_exit },
	{ "PNET table", smc_pnet_init, smc_pnet_exit },
	{ "settings", smc_settings_init, smc_settings_exit },
	{ "rules", smc_rules_init, smc_rules_exit },
	{ "negative cache", smc_negcache_init, smc_negcache_exit },
	{ "AUTOSMC", smc_autosmc_init, smc_autosmc_exit },
	{ "servers to upgrade with", smc_upgradable_init, smc_upgradable_exit },
	{ "handshake limits", smc_admission_init, smc_admission_exit },
	{ "hosts", smc_host_init, smc_host_exit },
	{ "sysctl", smc_sysctl_init, smc_sysctl_exit },
	{ "orphans", smc_orphan_init, smc_orphan_exit },
	{ "zero copy", smc_zerocopy_init, smc_zerocopy_exit },
	{ "connections", smc_conn_init, smc_conn_exit },
	{ "RDMA devices", main_ib_init, smc_ib_exit },
	{ "link groups", main_lgr_init, smc_lgr_exit },
	{ "handshake", smc_hs_init, smc_hs_exit },
	{ "netlink", smc_nl_init, smc_nl_exit },
	{ "PNET table's netlink", smc_nl_pnet_init, smc_nl_pnet_exit },
	{ "TCP option", smc_option_init, smc_option_exit },
	{ "socket family", smc_family_init, smc_family_exit },
	{ "IPPROTO_SMC", smc_inet_init, smc_inet_exit },
};

/* Stop the first @n subsystems, the last one first. */
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
	/* Wait for RCU callbacks into the module's text. */
	rcu_barrier();
}

/* ---- /sys/module/smc/parameters: what a running module is, to be read only ---- */

static const char *main_get_name(void)
{
	return SMC_NAME;
}

static const char *main_get_protocols(void)
{
	return SMC_PROTOCOLS;
}

static int main_show(char *buf, const struct kernel_param *kp)
{
	const char *(*get)(void) = kp->arg;

	return sysfs_emit(buf, "%s\n", get());
}

/* insmod and modprobe cannot set them either: the kernel logs an invalid parameter. */
static int main_refuse(const char *val, const struct kernel_param *kp)
{
	return -EINVAL;
}

static const struct kernel_param_ops main_fact = { .set = main_refuse, .get = main_show };

module_param_cb(name, &main_fact, main_get_name, 0444);
MODULE_PARM_DESC(name, "read only: which of the modules called smc this is");
module_param_cb(protocols, &main_fact, main_get_protocols, 0444);
MODULE_PARM_DESC(protocols, "read only: the versions and releases of SMC-R");
module_param_cb(tcp_option, &main_fact, smc_option_get_kind, 0444);
MODULE_PARM_DESC(tcp_option, "read only: core or own: who handles the SMC option of TCP");

module_init(smc_main_init);
module_exit(smc_main_exit);

MODULE_AUTHOR("the AF_SMC maintainers");
MODULE_DESCRIPTION("SMC socket address family");
MODULE_LICENSE("GPL");
MODULE_VERSION(SMC_VERSION);
MODULE_INFO(smc_name, SMC_NAME);
MODULE_ALIAS_NETPROTO(PF_SMC);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 256 /* IPPROTO_SMC */, 1 /* SOCK_STREAM */);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 256 /* IPPROTO_SMC */, 1 /* SOCK_STREAM */);
MODULE_ALIAS_GENL_FAMILY(SMC_GENL_FAMILY_NAME);
