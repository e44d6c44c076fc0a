/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers of the family SMC_GEN_NETLINK, shared by netlink/netlink.c, which has the family,
 * and the files that walk the module's objects. Nobody else includes this.
 */
#ifndef _SMC_NETLINK_INTERNAL_H
#define _SMC_NETLINK_INTERNAL_H

#include <net/genetlink.h>
#include <net/sock.h>
#include <uapi/linux/smc_own.h>

/* Attributes of <linux/smc.h> that came after 6.1. */
#define SMC_NETLINK_LGR_R_SNDBUF_ALLOC		12
#define SMC_NETLINK_LGR_R_RMB_ALLOC		13
#define SMC_NETLINK_STATS_T_RX_RMB_USAGE	20
#define SMC_NETLINK_STATS_T_TX_RMB_USAGE	21
#define SMC_NETLINK_LGR_R_V2_MAX_CONNS		2
#define SMC_NETLINK_LGR_R_V2_MAX_LINKS		3

extern const struct nla_policy smc_netlink_rule_policy[SMC_NETLINK_RULE_MAX + 1];

/* netlink/rules.c */
int smc_netlink_rule_add(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_rule_del(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_rule_flush(struct sk_buff *skb, struct genl_info *info);

extern const struct nla_policy smc_netlink_own_policy[SMC_NETLINK_OWN_MAX + 1];

/* netlink/orders.c */
int smc_netlink_order_add_link(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_order_del_link(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_order_del_lgr(struct sk_buff *skb, struct genl_info *info);

/* The head of one part of a dump; NULL: no room for it. */
static inline void *smc_netlink_put(struct sk_buff *skb, struct netlink_callback *cb,
				    const struct genl_family *family, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, family,
			   NLM_F_MULTI, cmd);
}

/* A number in four bytes where they suffice, as newer kernels write it. */
static inline int smc_netlink_put_uint(struct sk_buff *skb, int attr, u64 value, int pad)
{
	if (value <= U32_MAX)
		return nla_put_u32(skb, attr, value);
	return nla_put_u64_64bit(skb, attr, value, pad);
}

/* One call of a dump each: what dumpit returns. */
int smc_netlink_dump_lgrs(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct genl_family *family);
int smc_netlink_dump_links(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct genl_family *family);
int smc_netlink_dump_devs(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct genl_family *family);
int smc_netlink_dump_stats(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct genl_family *family);
int smc_netlink_dump_counters(struct sk_buff *skb, struct netlink_callback *cb,
			      const struct genl_family *family);
int smc_netlink_dump_rules(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct genl_family *family);
int smc_netlink_dump_fback(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct genl_family *family);

#endif
