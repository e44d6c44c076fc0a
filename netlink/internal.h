/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by netlink/netlink.c, which has the family SMC_GEN_NETLINK, and the files of its dumps. */
#ifndef _SMC_NETLINK_INTERNAL_H
#define _SMC_NETLINK_INTERNAL_H

#include <linux/capability.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <uapi/linux/smc_own.h>

/* Attributes that <linux/smc.h> of 6.1 does not have. */
#define SMC_NETLINK_LGR_R_SNDBUF_ALLOC		12
#define SMC_NETLINK_LGR_R_RMB_ALLOC		13
#define SMC_NETLINK_STATS_T_RX_RMB_USAGE	20
#define SMC_NETLINK_STATS_T_TX_RMB_USAGE	21
#define SMC_NETLINK_LGR_R_V2_MAX_CONNS		2
#define SMC_NETLINK_LGR_R_V2_MAX_LINKS		3

/* netlink/rules.c */
extern const struct nla_policy smc_nl_rule_policy[SMC_NETLINK_RULE_MAX + 1];

int smc_nl_rule_add(struct sk_buff *skb, struct genl_info *info);
int smc_nl_rule_del(struct sk_buff *skb, struct genl_info *info);
int smc_nl_rule_flush(struct sk_buff *skb, struct genl_info *info);

/* netlink/orders.c */
extern const struct nla_policy smc_nl_own_policy[SMC_NETLINK_OWN_MAX + 1];

int smc_nl_order_add_link(struct sk_buff *skb, struct genl_info *info);
int smc_nl_order_del_link(struct sk_buff *skb, struct genl_info *info);
int smc_nl_order_del_lgr(struct sk_buff *skb, struct genl_info *info);

/* Put the header of one message of a dump; NULL: no room. */
static inline void *smc_nl_put_header(struct sk_buff *skb, struct netlink_callback *cb,
				      const struct genl_family *family, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, family,
			   NLM_F_MULTI, cmd);
}

/* Check whether a dump is about the groups of all namespaces: for the administrator of the host. */
static inline bool smc_nl_shows_all(const struct sk_buff *skb, const struct netlink_callback *cb)
{
	return net_eq(sock_net(skb->sk), &init_net) && netlink_capable(cb->skb, CAP_NET_ADMIN);
}

/* Put an unsigned number as NLA_UINT: four bytes if they suffice. 6.1 has no nla_put_uint(). */
static inline int smc_nl_put_uint(struct sk_buff *skb, int attr, u64 value, int pad)
{
	if (value <= U32_MAX)
		return nla_put_u32(skb, attr, value);
	return nla_put_u64_64bit(skb, attr, value, pad);
}

/* netlink/lgr.c, dev.c, stats.c, rules.c: the work of dumpit */
int smc_nl_dump_lgrs(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct genl_family *family);
int smc_nl_dump_links(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family);
int smc_nl_dump_devs(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct genl_family *family);
int smc_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family);
int smc_nl_dump_counters(struct sk_buff *skb, struct netlink_callback *cb,
			 const struct genl_family *family);
int smc_nl_dump_rules(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family);
int smc_nl_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct genl_family *family);

#endif
