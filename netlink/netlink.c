// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: the management interface of the module, used by smcr,
 * smcss and smcctl. This file registers the family, dispatches its commands, and implements those
 * about user EIDs, the system and the handshake limitation. Numbers of commands and attributes are
 * those of the in-tree family (<linux/smc.h>), plus our own from 128 on (<linux/smc_own.h>).
 *
 * Files
 *
 *   netlink/lgr.c dumps link groups and links, dev.c RoCE devices, stats.c statistics and fallback
 *   reasons, rules.c adds, deletes and dumps rules, orders.c adds and deletes links and deletes
 *   groups. netlink/pnet.c is a family of its own (SMC_PNETID), and sock_diag.c a module of its own
 *   (smc_diag.ko), which lists sockets. Events are sent by base/events.c through this family.
 *
 * Namespaces and permissions
 *
 *   Everyone may read about the own namespace. In the initial one CAP_NET_ADMIN sees the groups of
 *   all namespaces. Commands that change something need CAP_NET_ADMIN; for rules, links and groups
 *   that of the user namespace that owns the network namespace is enough. A group can be changed
 *   only from its own namespace.
 *
 * Dumps
 *
 *   A dump takes several calls, each with a new skb. Its position is in cb->args and names an
 *   object (ID of the last group, number of the last device or rule), not an index: objects that
 *   come or go between two calls do not make the dump skip or repeat others. An object that does
 *   not fit into the rest of the skb is removed again and comes first in the next call.
 *
 * Locks and references
 *
 *   Process context throughout. A callback of smc_lgr_for_each() runs under the mutex of the group
 *   registry, with a reference on the group, and takes a reference on each link that it reads.
 *   Callbacks of smc_sock_for_each() run under the spinlock of a bucket. No command waits for the
 *   peer.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/smc.h>
#include <linux/utsname.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include <smc/base/events.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/base/version.h>
#include <smc/netlink/netlink.h>
#include <smc/proto/clc_msg.h>
#include <smc/tcp/option.h>
#include "internal.h"

static struct genl_family nl_family;

static void *nl_put_header(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_put_header(skb, cb, &nl_family, genl_dumpit_info(cb)->op.cmd);
}

/* ---- user EIDs --------------------------------------------------------------- */

static int nl_ueid_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	char entry[SMC_SETTINGS_UEID_LEN + 1] = "";
	u8 ueids[SMC_SETTINGS_UEIDS_MAX][SMC_SETTINGS_UEID_LEN];
	u32 n = smc_settings_get_ueids(sock_net(skb->sk), ueids);
	long i;

	for (i = cb->args[0]; i < n; i++) {
		void *hdr = nl_put_header(skb, cb);

		if (!hdr)
			break;
		memcpy(entry, ueids[i], SMC_SETTINGS_UEID_LEN);
		if (nla_put_string(skb, SMC_NLA_EID_TABLE_ENTRY, entry)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	cb->args[0] = i;
	return skb->len;
}

/* Return the UEID: exactly 32 characters and a NUL, else NULL. */
static const u8 *nl_ueid_attr(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[SMC_NLA_EID_TABLE_ENTRY];

	if (!attr || nla_len(attr) != SMC_SETTINGS_UEID_LEN + 1 ||
	    ((const u8 *)nla_data(attr))[SMC_SETTINGS_UEID_LEN])
		return NULL;
	return nla_data(attr);
}

static int nl_ueid_add(struct sk_buff *skb, struct genl_info *info)
{
	const u8 *ueid = nl_ueid_attr(info);

	return ueid ? smc_settings_add_ueid(genl_info_net(info), ueid) : -EINVAL;
}

static int nl_ueid_remove(struct sk_buff *skb, struct genl_info *info)
{
	const u8 *ueid = nl_ueid_attr(info);

	return ueid ? smc_settings_del_ueid(genl_info_net(info), ueid) : -EINVAL;
}

static int nl_ueid_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_settings_flush_ueids(genl_info_net(info));
	return 0;
}

/* ---- system ------------------------------------------------------------------ */

/* Tell users which module this is. The kernel has read srcversion from the module's file. */
static int nl_sys_info_put_own(struct sk_buff *skb)
{
	const char *src = THIS_MODULE->srcversion;

	return nla_put_string(skb, SMC_NETLINK_SYS_OWN_NAME, SMC_NAME) ||
	       nla_put_string(skb, SMC_NETLINK_SYS_OWN_VERSION, SMC_VERSION) ||
	       (src && nla_put_string(skb, SMC_NETLINK_SYS_OWN_SRCVERSION, src)) ||
	       nla_put_string(skb, SMC_NETLINK_SYS_OWN_PROTOCOLS, SMC_PROTOCOLS) ||
	       nla_put_string(skb, SMC_NETLINK_SYS_OWN_TCP_OPTION,
			      smc_option_get_kind()) ?
	       -EMSGSIZE : 0;
}

static int nl_sys_info_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	char host[SMC_MAX_HOSTNAME_LEN + 1];
	struct nlattr *nest;
	void *hdr;

	if (cb->args[0])
		return skb->len;
	hdr = nl_put_header(skb, cb);
	if (!hdr)
		return -EMSGSIZE;
	/* the name that sockets of the caller send to peers */
	strscpy(host, utsname()->nodename, sizeof(host));
	nest = nla_nest_start(skb, SMC_GEN_SYS_INFO);
	if (!nest || nla_put_u8(skb, SMC_NLA_SYS_VER, 2) ||
	    nla_put_u8(skb, SMC_NLA_SYS_REL, SMC_CLC_RELEASE_1) ||
	    nla_put_u8(skb, SMC_NLA_SYS_IS_ISM_V2, 0) ||
	    nla_put_u8(skb, SMC_NLA_SYS_IS_SMCR_V2, 1) ||
	    nla_put_string(skb, SMC_NLA_SYS_LOCAL_HOST, host) || nl_sys_info_put_own(skb)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	cb->args[0] = 1;
	return skb->len;
}

/* The SEID is the EID of ISM (SMC-D), which does not exist here: one message without attributes. */
static int nl_seid_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	void *hdr;

	if (cb->args[0])
		return skb->len;
	hdr = nl_put_header(skb, cb);
	if (!hdr)
		return -EMSGSIZE;
	genlmsg_end(skb, hdr);
	cb->args[0] = 1;
	return skb->len;
}

static int nl_seid_change(struct sk_buff *skb, struct genl_info *info)
{
	return -EOPNOTSUPP;
}

/* Objects of SMC-D, of which there are none. */
static int nl_empty_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return skb->len;
}

static int nl_hs_limit_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_settings *sn = smc_settings_get(sock_net(skb->sk));
	void *hdr;

	if (cb->args[0])
		return skb->len;
	hdr = nl_put_header(skb, cb);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u8(skb, SMC_NLA_HS_LIMITATION_ENABLED, READ_ONCE(sn->hs_limit))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	cb->args[0] = 1;
	return skb->len;
}

static int nl_hs_limit_enable(struct sk_buff *skb, struct genl_info *info)
{
	WRITE_ONCE(smc_settings_get(genl_info_net(info))->hs_limit, 1);
	return 0;
}

static int nl_hs_limit_disable(struct sk_buff *skb, struct genl_info *info)
{
	WRITE_ONCE(smc_settings_get(genl_info_net(info))->hs_limit, 0);
	return 0;
}

/* ---- dumps of other files ---------------------------------------------------- */

static int nl_lgr_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_lgrs(skb, cb, &nl_family);
}

static int nl_link_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_links(skb, cb, &nl_family);
}

static int nl_dev_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_devs(skb, cb, &nl_family);
}

static int nl_stats_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_stats(skb, cb, &nl_family);
}

static int nl_counters_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_counters(skb, cb, &nl_family);
}

static int nl_fallback_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_fallbacks(skb, cb, &nl_family);
}

static int nl_rules_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_nl_dump_rules(skb, cb, &nl_family);
}

/* ---- family ------------------------------------------------------------------ */

static const struct nla_policy nl_ueid_policy[SMC_NLA_EID_TABLE_ENTRY + 1] = {
	[SMC_NLA_EID_TABLE_ENTRY] = { .type = NLA_STRING, .len = SMC_SETTINGS_UEID_LEN + 1 },
};

static const struct genl_multicast_group nl_mcgrps[SMC_EVENT_GROUPS] = {
	[SMC_EVENT_GROUP_EVENTS] = { .name = SMC_NETLINK_OWN_EVENTS_NAME },
	[SMC_EVENT_GROUP_FALLBACKS] = { .name = SMC_NETLINK_OWN_FBACKS_NAME },
	[SMC_EVENT_GROUP_CONNS] = { .name = SMC_NETLINK_OWN_CONNS_NAME },
};

/* Commands without attributes reject attribute 1, as those of the in-tree family do. */
static const struct nla_policy nl_no_attr_policy[] = {
	[1] = { .type = NLA_REJECT },
};

#define DUMP(c, fn)	{ .cmd = SMC_NETLINK_##c, .dumpit = (fn) }
#define ADMIN(c, fn)	{ .cmd = SMC_NETLINK_##c, .doit = (fn), .flags = GENL_ADMIN_PERM }
#define ORDER(c, fn)							\
	{ .cmd = SMC_NETLINK_OWN_##c, .doit = (fn), .flags = GENL_UNS_ADMIN_PERM,	\
	  .policy = smc_nl_own_policy, .maxattr = SMC_NETLINK_OWN_MAX }
#define RULE(c, fn)							\
	{ .cmd = SMC_NETLINK_OWN_##c, .doit = (fn), .flags = GENL_UNS_ADMIN_PERM,	\
	  .policy = smc_nl_rule_policy, .maxattr = SMC_NETLINK_RULE_MAX }
#define UEID(c, fn)							\
	{ .cmd = SMC_NETLINK_##c, .doit = (fn), .flags = GENL_ADMIN_PERM,	\
	  .policy = nl_ueid_policy, .maxattr = SMC_NLA_EID_TABLE_ENTRY }

static const struct genl_ops nl_ops[] = {
	DUMP(GET_SYS_INFO, nl_sys_info_dump),
	DUMP(GET_LGR_SMCR, nl_lgr_dump),
	DUMP(GET_LINK_SMCR, nl_link_dump),
	DUMP(GET_LGR_SMCD, nl_empty_dump),
	DUMP(GET_DEV_SMCD, nl_empty_dump),
	DUMP(GET_DEV_SMCR, nl_dev_dump),
	DUMP(GET_STATS, nl_stats_dump),
	DUMP(GET_FBACK_STATS, nl_fallback_dump),
	DUMP(DUMP_UEID, nl_ueid_dump),
	UEID(ADD_UEID, nl_ueid_add),
	UEID(REMOVE_UEID, nl_ueid_remove),
	ADMIN(FLUSH_UEID, nl_ueid_flush),
	DUMP(DUMP_SEID, nl_seid_dump),
	ADMIN(ENABLE_SEID, nl_seid_change),
	ADMIN(DISABLE_SEID, nl_seid_change),
	DUMP(DUMP_HS_LIMITATION, nl_hs_limit_dump),
	ADMIN(ENABLE_HS_LIMITATION, nl_hs_limit_enable),
	ADMIN(DISABLE_HS_LIMITATION, nl_hs_limit_disable),
	ORDER(ADD_LINK, smc_nl_order_add_link),
	ORDER(DEL_LINK, smc_nl_order_del_link),
	ORDER(DEL_LGR, smc_nl_order_del_lgr),
	RULE(ADD_RULE, smc_nl_rule_add),
	RULE(DEL_RULE, smc_nl_rule_del),
	RULE(FLUSH_RULES, smc_nl_rule_flush),
	DUMP(OWN_GET_RULES, nl_rules_dump),
	DUMP(OWN_GET_COUNTERS, nl_counters_dump),
};

static struct genl_family nl_family __ro_after_init = {
	.name = SMC_GENL_FAMILY_NAME,
	.version = SMC_GENL_FAMILY_VERSION,
	.maxattr = ARRAY_SIZE(nl_no_attr_policy) - 1,
	.policy = nl_no_attr_policy,
	.netnsok = true,
	.module = THIS_MODULE,
	.ops = nl_ops,
	.n_ops = ARRAY_SIZE(nl_ops),
	.mcgrps = nl_mcgrps,
	.n_mcgrps = ARRAY_SIZE(nl_mcgrps),
	.resv_start_op = SMC_NETLINK_DISABLE_HS_LIMITATION + 1,
};

/**
 * smc_nl_init() - register the family SMC_GEN_NETLINK and allow events
 *
 * Return: 0, -EEXIST when another SMC module has registered it, or -errno.
 */
int __init smc_nl_init(void)
{
	int rc = smc_fault_rc(GENL_FAMILY, -ENOMEM, genl_register_family(&nl_family));

	if (!rc)
		smc_event_enable(&nl_family);
	return rc;
}

/** smc_nl_exit() - undo smc_nl_init() */
void smc_nl_exit(void)
{
	smc_event_disable();
	genl_unregister_family(&nl_family);
}
