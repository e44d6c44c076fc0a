/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers of the family SMC_GEN_NETLINK, shared by smc_netlink.c, which has the family,
 * and the files that walk the module's objects. Nobody else includes this.
 */
#ifndef _SMC_NETLINK_PRIV_H
#define _SMC_NETLINK_PRIV_H

#include <net/genetlink.h>
#include <net/sock.h>

/* Attributes of <linux/smc.h> that came after 6.1. */
#define SMC_NETLINK_LGR_R_SNDBUF_ALLOC		12
#define SMC_NETLINK_LGR_R_RMB_ALLOC		13
#define SMC_NETLINK_STATS_T_RX_RMB_USAGE	20
#define SMC_NETLINK_STATS_T_TX_RMB_USAGE	21
#define SMC_NETLINK_LGR_R_V2_MAX_CONNS		2
#define SMC_NETLINK_LGR_R_V2_MAX_LINKS		3

/* Attributes of our own in SMC_GEN_LGR_SMCR, which programs of the in-tree family pass by. */
#define SMC_NETLINK_LGR_R_OWN_LINKS_LOST	128	/* u32 */
#define SMC_NETLINK_LGR_R_OWN_LOSS_REASON	129	/* string, of the last one */
#define SMC_NETLINK_LGR_R_OWN_LOSS_AGE		130	/* u64, seconds */
#define SMC_NETLINK_LGR_R_OWN_MOVES		131	/* u32 */

/* ... and in SMC_GEN_LINK_SMCR */
#define SMC_NETLINK_LINK_OWN_AGE		128	/* u32, seconds since it could be used */
#define SMC_NETLINK_LINK_OWN_MOVES		129	/* u32, connections that came from others */
#define SMC_NETLINK_LINK_OWN_BYTES		130	/* u32, of WRITEs that have not completed */
#define SMC_NETLINK_LINK_OWN_LATENCY		131	/* u32, ns, of a request; 0: not known */
#define SMC_NETLINK_LINK_OWN_SENDS		132	/* u32, messages it has room for */
#define SMC_NETLINK_LINK_OWN_RECVS		133	/* u32, receives it keeps posted */

/* Commands of our own, numbered beyond those of any in-tree family, and their attributes. */
#define SMC_NETLINK_OWN_ADD_LINK		128
#define SMC_NETLINK_OWN_DEL_LINK		129
#define SMC_NETLINK_OWN_DEL_LGR			130
#define SMC_NETLINK_OWN_LGR_ID			1	/* u32, as SMC_NLA_LGR_R_ID tells it */
#define SMC_NETLINK_OWN_LINK_ID			2	/* u8, as SMC_NLA_LINK_ID tells it */
#define SMC_NETLINK_OWN_NOW			3	/* flag */
#define SMC_NETLINK_OWN_MAX			3

/* ... and those about the rules, with attributes of their own. A rule is told flat. */
#define SMC_NETLINK_OWN_ADD_RULE		131
#define SMC_NETLINK_OWN_DEL_RULE		132
#define SMC_NETLINK_OWN_FLUSH_RULES		133
#define SMC_NETLINK_OWN_GET_RULES		134
#define SMC_NETLINK_RULE_NUM			1	/* u32, its place, from 1 on */
#define SMC_NETLINK_RULE_DENY			2	/* u8, 1: stay TCP, 0: may be SMC */
#define SMC_NETLINK_RULE_LOCAL			3	/* IPv6 or v4-mapped; absent: any */
#define SMC_NETLINK_RULE_LOCAL_LEN		4	/* u8, bits of it, of 128; absent: all */
#define SMC_NETLINK_RULE_LOCAL_PORT		5	/* u32, the first; absent: any */
#define SMC_NETLINK_RULE_LOCAL_LAST		6	/* u32, the last; absent: the first */
#define SMC_NETLINK_RULE_REMOTE			7	/* likewise, the peer's */
#define SMC_NETLINK_RULE_REMOTE_LEN		8
#define SMC_NETLINK_RULE_REMOTE_PORT		9
#define SMC_NETLINK_RULE_REMOTE_LAST		10
#define SMC_NETLINK_RULE_HITS			11	/* u64, connections that it decided */
#define SMC_NETLINK_RULE_PAD			12
#define SMC_NETLINK_RULE_MAX			12

extern const struct nla_policy smc_netlink_rule_policy[SMC_NETLINK_RULE_MAX + 1];

/* smc_netlink_rules.c */
int smc_netlink_rule_add(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_rule_del(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_rule_flush(struct sk_buff *skb, struct genl_info *info);

extern const struct nla_policy smc_netlink_own_policy[SMC_NETLINK_OWN_MAX + 1];

/* smc_netlink_order.c */
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
int smc_netlink_dump_rules(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct genl_family *family);
int smc_netlink_dump_fback(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct genl_family *family);

#endif
