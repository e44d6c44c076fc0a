// SPDX-License-Identifier: GPL-2.0-only
/* sysctl net.smc.*: a view of struct smc_settings in each namespace. */
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <smc/base/fault.h>
#include <smc/base/host.h>
#include <smc/base/hs_ctrl.h>
#include <smc/base/settings.h>
#include <smc/base/sysctl.h>
#include <smc/proto/clc_msg.h>
#include <smc/proto/link_pick.h>
#include <smc/proto/link_set.h>
#include <smc/proto/types.h>

#include <compat/sysctl.h>

static int buf_min = SMC_RMBE_SIZE_MIN;
static int buf_max = INT_MAX / 2;
static int conns_min = SMC_CLC_CONNS_MIN;
static int conns_max = SMC_CLC_CONNS_MAX;
static int links_max = SMC_LINKS_MAX;
static int buf_type_max = SMC_REGION_TYPES - 1;
static int testlink_timeout_max = SMC_SETTINGS_TESTLINK_TIMEOUT_MAX;
static int stall_max = SMC_SETTINGS_STALL_TIME_MAX;
static int link_policy_max = SMC_LINK_POLICIES - 1;
static int wr_min = SMC_SETTINGS_WR_MIN;
static int wr_max = SMC_SETTINGS_WR_MAX;
static int hs_max_max = SMC_SETTINGS_HS_TOTAL;
static int autosmc_time_max = SMC_SETTINGS_AUTOSMC_TIME_MAX;

/* The name of the BPF object that decides about the SMC option. */
static int sysctl_hs_ctrl(smc_compat_ctl_const struct ctl_table *entry, int write, void *buffer,
			  size_t *len, loff_t *pos)
{
	char name[SMC_HS_CTRL_NAME_SIZE];
	struct ctl_table text = { .data = name, .maxlen = sizeof(name) };
	struct net *net = entry->data;
	int rc;

	smc_hs_ctrl_get_name(net, name);
	rc = proc_dostring(&text, write, buffer, len, pos);
	if (rc || !write)
		return rc;
	return smc_hs_ctrl_select(net, name);
}

#define SMC_SETTINGS_DATA(member)	((void *)offsetof(struct smc_settings, member))

/*
 * .data holds offsets into struct smc_settings; each namespace gets a copy with addresses, and with
 * itself for hs_ctrl. Two values are the machine's: other namespaces than the initial one can only
 * read them.
 */
static const struct ctl_table sysctl_template[] = {
	{
		.procname = "enabled",
		.data = SMC_SETTINGS_DATA(enabled),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "autocorking_size",
		.data = SMC_SETTINGS_DATA(autocorking),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "smcr_buf_type",
		.data = SMC_SETTINGS_DATA(region_type),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = &buf_type_max,
	}, {
		.procname = "smcr_testlink_time",
		.data = SMC_SETTINGS_DATA(testlink_time),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
	}, {
		.procname = "smcr_testlink_timeout",
		.data = SMC_SETTINGS_DATA(testlink_timeout),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ONE,
		.extra2 = &testlink_timeout_max,
	}, {
		.procname = "carrier_keepalive_time",
		.data = SMC_SETTINGS_DATA(clcsock_keepalive),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = &stall_max,
	}, {
		.procname = "smcr_stall_time",
		.data = SMC_SETTINGS_DATA(stall_time),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = &stall_max,
	}, {
		.procname = "smcr_buf_idle_time",
		.data = SMC_SETTINGS_DATA(region_idle),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = &stall_max,
	}, {
		.procname = "smcr_idle_time_client",
		.data = SMC_SETTINGS_DATA(idle_client),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
	}, {
		.procname = "smcr_idle_time_server",
		.data = SMC_SETTINGS_DATA(idle_server),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
	}, {
		.procname = "wmem",
		.data = SMC_SETTINGS_DATA(wmem),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = &buf_min,
		.extra2 = &buf_max,
	}, {
		.procname = "rmem",
		.data = SMC_SETTINGS_DATA(rmem),
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = &buf_min,
		.extra2 = &buf_max,
	}, {
		.procname = "smcr_max_links_per_lgr",
		.data = SMC_SETTINGS_DATA(max_links),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ONE,
		.extra2 = &links_max,
	}, {
		.procname = "smcr_max_conns_per_lgr",
		.data = SMC_SETTINGS_DATA(max_conns),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = &conns_min,
		.extra2 = &conns_max,
	}, {
		.procname = "smcr_max_send_wr",
		.data = SMC_SETTINGS_DATA(max_send_wr),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec_minmax,
		.extra1 = &wr_min,
		.extra2 = &wr_max,
	}, {
		.procname = "smcr_max_recv_wr",
		.data = SMC_SETTINGS_DATA(max_recv_wr),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec_minmax,
		.extra1 = &wr_min,
		.extra2 = &wr_max,
	}, {
		.procname = "smcr_max_rmb_kb",
		.data = SMC_SETTINGS_DATA(rmb_max),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "smcr_max_snd_kb",
		.data = SMC_SETTINGS_DATA(snd_max),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "smcr_max_host_kb",
		.data = SMC_SETTINGS_DATA(host_mem),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "smcr_max_host_groups",
		.data = SMC_SETTINGS_DATA(host_groups),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "smcr_max_mem_kb",
		.data = &smc_host_mem_max,
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "smcr_link_policy",
		.data = SMC_SETTINGS_DATA(link_policy),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = &link_policy_max,
	}, {
		.procname = "smcr_balance",
		.data = SMC_SETTINGS_DATA(balance),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "smcr_write_imm",
		.data = SMC_SETTINGS_DATA(write_imm),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "hs_max",
		.data = SMC_SETTINGS_DATA(hs_max),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec_minmax,
		.extra1 = SYSCTL_ONE,
		.extra2 = &hs_max_max,
	}, {
		.procname = "autosmc_bytes",
		.data = SMC_SETTINGS_DATA(autosmc_bytes),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "autosmc_time",
		.data = SMC_SETTINGS_DATA(autosmc_time),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec_minmax,
		.extra1 = SYSCTL_ONE,
		.extra2 = &autosmc_time_max,
	}, {
		.procname = "upgrade_bytes",
		.data = SMC_SETTINGS_DATA(upgrade_bytes),
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = proc_douintvec,
	}, {
		.procname = "netns_inherit",
		.data = &smc_settings_inherit,
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "send_hostname",
		.data = SMC_SETTINGS_DATA(send_hostname),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "limit_smc_hs",
		.data = SMC_SETTINGS_DATA(hs_limit),
		.maxlen = sizeof(u8),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	}, {
		.procname = "hs_ctrl",
		.mode = 0644,
		.proc_handler = sysctl_hs_ctrl,
	},
};

#define SYSCTL_ENTRIES	ARRAY_SIZE(sysctl_template)

static bool sysctl_is_of_machine(const struct ctl_table *entry)
{
	return entry->data == &smc_host_mem_max || entry->data == &smc_settings_inherit;
}

/* Upgrades in place are for those that the administrator of the machine trusts with them. */
static bool sysctl_is_read_only(const struct net *net, size_t i)
{
	return sysctl_template[i].data == SMC_SETTINGS_DATA(upgrade_bytes) &&
	       net->user_ns != &init_user_ns;
}

static int __net_init sysctl_net_init(struct net *net)
{
	struct smc_settings *sn = smc_settings_get(net);
	struct ctl_table *table;
	size_t i;

	/* One more, empty entry: it ends the table in older kernels. */
	table = smc_fault_null(SYSCTL_TABLE,
			       kcalloc(SYSCTL_ENTRIES + 1, sizeof(*table), GFP_KERNEL));
	if (!table)
		return -ENOMEM;
	memcpy(table, sysctl_template, sizeof(sysctl_template));
	for (i = 0; i < SYSCTL_ENTRIES; i++) {
		if (table[i].proc_handler == sysctl_hs_ctrl)
			table[i].data = net;
		else if (!sysctl_is_of_machine(&table[i]))
			table[i].data = (u8 *)sn + (uintptr_t)sysctl_template[i].data;
		else if (!net_eq(net, &init_net))
			table[i].mode = 0444;
		if (sysctl_is_read_only(net, i))
			table[i].mode = 0444;
	}
	sn->sysctl_table = table;
	sn->sysctl = smc_fault_null(SYSCTL_NET,
				    smc_compat_register_net_sysctl(net, "net/smc", table,
								   SYSCTL_ENTRIES));
	if (!sn->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	smc_hs_ctrl_inherit(net);
	return 0;
}

static void __net_exit sysctl_net_exit(struct net *net)
{
	struct smc_settings *sn = smc_settings_get(net);

	unregister_net_sysctl_table(sn->sysctl);
	kfree(sn->sysctl_table);
	smc_hs_ctrl_select(net, "");
}

static struct pernet_operations sysctl_net_ops = {
	.init = sysctl_net_init,
	.exit = sysctl_net_exit,
};

/**
 * smc_sysctl_init() - Register net.smc in all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_sysctl_init(void)
{
	smc_hs_ctrl_init();
	return smc_fault_rc(SYSCTL_PERNET, -ENOMEM, register_pernet_subsys(&sysctl_net_ops));
}

/**
 * smc_sysctl_exit() - Undo smc_sysctl_init()
 */
void smc_sysctl_exit(void)
{
	unregister_pernet_subsys(&sysctl_net_ops);
}
