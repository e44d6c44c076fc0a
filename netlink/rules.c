// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: add, delete and dump the rules of a namespace, which say what connections may be
 * SMC (base/rules.c). These commands are not part of the in-tree family.
 */
#include <linux/smc.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/rules.h>
#include "internal.h"

/* U16_MAX does not fit into NLA_POLICY_RANGE(). Not const, for 6.1. */
static struct netlink_range_validation nl_rule_port_range = { .min = 1, .max = U16_MAX };

const struct nla_policy smc_nl_rule_policy[SMC_NETLINK_RULE_MAX + 1] = {
	[SMC_NETLINK_RULE_NUM] = NLA_POLICY_MIN(NLA_U32, 1),
	[SMC_NETLINK_RULE_DENY] = NLA_POLICY_MAX(NLA_U8, 1),
	[SMC_NETLINK_RULE_LOCAL] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[SMC_NETLINK_RULE_LOCAL_LEN] = NLA_POLICY_RANGE(NLA_U8, 1, 128),
	[SMC_NETLINK_RULE_LOCAL_PORT] = NLA_POLICY_FULL_RANGE(NLA_U32, &nl_rule_port_range),
	[SMC_NETLINK_RULE_LOCAL_LAST] = NLA_POLICY_FULL_RANGE(NLA_U32, &nl_rule_port_range),
	[SMC_NETLINK_RULE_REMOTE] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[SMC_NETLINK_RULE_REMOTE_LEN] = NLA_POLICY_RANGE(NLA_U8, 1, 128),
	[SMC_NETLINK_RULE_REMOTE_PORT] = NLA_POLICY_FULL_RANGE(NLA_U32, &nl_rule_port_range),
	[SMC_NETLINK_RULE_REMOTE_LAST] = NLA_POLICY_FULL_RANGE(NLA_U32, &nl_rule_port_range),
	[SMC_NETLINK_RULE_HITS] = { .type = NLA_REJECT },
};

/* Offsets of the four attributes of one end. */
enum { END_ADDR, END_LEN, END_PORT, END_LAST };

static int nl_rule_parse_end(struct genl_info *info, int first, struct smc_rule_end *end)
{
	struct nlattr **attr = &info->attrs[first];

	end->last = U16_MAX;
	if (attr[END_ADDR]) {
		end->plen = attr[END_LEN] ? nla_get_u8(attr[END_LEN]) : 128;
		/* clear the bits beyond the prefix, which would be shown too */
		ipv6_addr_prefix(&end->addr, nla_data(attr[END_ADDR]), end->plen);
	}
	if (attr[END_PORT]) {
		end->port = nla_get_u32(attr[END_PORT]);
		end->last = end->port;
	}
	if (attr[END_LAST])
		end->last = nla_get_u32(attr[END_LAST]);
	if ((attr[END_LEN] && !attr[END_ADDR]) || (attr[END_LAST] && !attr[END_PORT]) ||
	    end->port > end->last) {
		GENL_SET_ERR_MSG(info, "a prefix needs an address, and a range goes upwards");
		return -EINVAL;
	}
	return 0;
}

/**
 * smc_nl_rule_add() - doit of SMC_NETLINK_OWN_ADD_RULE
 * @skb: request
 * @info: parsed request
 *
 * Return: 0 or -errno with a message.
 */
int smc_nl_rule_add(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct smc_rule rule = {};
	int rc;

	if (!attrs[SMC_NETLINK_RULE_DENY]) {
		GENL_SET_ERR_MSG(info, "neither allow nor deny");
		return -EINVAL;
	}
	rule.deny = nla_get_u8(attrs[SMC_NETLINK_RULE_DENY]);
	if (attrs[SMC_NETLINK_RULE_NUM])
		rule.num = nla_get_u32(attrs[SMC_NETLINK_RULE_NUM]);
	rc = nl_rule_parse_end(info, SMC_NETLINK_RULE_LOCAL, &rule.local) ?:
	     nl_rule_parse_end(info, SMC_NETLINK_RULE_REMOTE, &rule.remote) ?:
	     smc_rules_add(genl_info_net(info), &rule);
	if (rc == -EEXIST)
		GENL_SET_ERR_MSG(info, "there is a rule with this number");
	else if (rc == -ENOSPC)
		GENL_SET_ERR_MSG(info, "there are too many rules, or no number behind the last");
	return rc;
}

/**
 * smc_nl_rule_del() - doit of SMC_NETLINK_OWN_DEL_RULE
 * @skb: request
 * @info: parsed request
 *
 * Return: 0 or -errno with a message.
 */
int smc_nl_rule_del(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *num = info->attrs[SMC_NETLINK_RULE_NUM];
	int rc;

	if (!num) {
		GENL_SET_ERR_MSG(info, "no rule is named");
		return -EINVAL;
	}
	rc = smc_rules_del(genl_info_net(info), nla_get_u32(num));
	if (rc)
		GENL_SET_ERR_MSG(info, "there is no rule with this number");
	return rc;
}

/**
 * smc_nl_rule_flush() - doit of SMC_NETLINK_OWN_FLUSH_RULES
 * @skb: request
 * @info: parsed request
 *
 * Return: 0.
 */
int smc_nl_rule_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_rules_flush(genl_info_net(info));
	return 0;
}

static bool nl_rule_put_end(struct sk_buff *skb, int first, const struct smc_rule_end *end)
{
	if (end->plen && (nla_put_in6_addr(skb, first + END_ADDR, &end->addr) ||
			  nla_put_u8(skb, first + END_LEN, end->plen)))
		return false;
	if (!end->port && end->last == U16_MAX)
		return true;
	return !nla_put_u32(skb, first + END_PORT, end->port) &&
	       !nla_put_u32(skb, first + END_LAST, end->last);
}

/**
 * smc_nl_dump_rules() - dumpit of SMC_NETLINK_OWN_GET_RULES
 * @skb: answer
 * @cb: state of the dump: args[0] = number of the last rule, 0: none yet
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_rules(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family)
{
	struct smc_rule rule;
	/* 32 bits, also where long is wider, so that last + 1 does not exceed U32_MAX */
	u32 last = cb->args[0];
	u64 hits;
	void *hdr;

	while (last < U32_MAX && smc_rules_get(sock_net(skb->sk), last + 1, &rule, &hits)) {
		hdr = smc_nl_put_header(skb, cb, family, SMC_NETLINK_OWN_GET_RULES);
		if (!hdr)
			break;
		if (nla_put_u32(skb, SMC_NETLINK_RULE_NUM, rule.num) ||
		    nla_put_u8(skb, SMC_NETLINK_RULE_DENY, rule.deny) ||
		    !nl_rule_put_end(skb, SMC_NETLINK_RULE_LOCAL, &rule.local) ||
		    !nl_rule_put_end(skb, SMC_NETLINK_RULE_REMOTE, &rule.remote) ||
		    nla_put_u64_64bit(skb, SMC_NETLINK_RULE_HITS, hits, SMC_NETLINK_RULE_PAD)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
		last = rule.num;
		cb->args[0] = last;
	}
	return skb->len;
}
