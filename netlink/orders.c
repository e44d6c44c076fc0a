// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: commands of the administrator about the link groups of a namespace: add a link,
 * delete a link, delete a group. They are not part of the in-tree family. No command waits for the
 * peer: the answer says that the exchange has begun, or why it has not.
 */
#include <linux/smc.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include "internal.h"

const struct nla_policy smc_nl_own_policy[SMC_NETLINK_OWN_MAX + 1] = {
	[SMC_NETLINK_OWN_LGR_ID] = { .type = NLA_U32 },
	[SMC_NETLINK_OWN_LINK_ID] = { .type = NLA_U8 },
	[SMC_NETLINK_OWN_NOW] = { .type = NLA_FLAG },
	[SMC_NETLINK_OWN_IB_DEV] = { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[SMC_NETLINK_OWN_IB_PORT] = NLA_POLICY_MIN(NLA_U8, 1),
	[SMC_NETLINK_OWN_PEER_GID] = NLA_POLICY_EXACT_LEN(sizeof(union ib_gid)),
};

/**
 * struct nl_order_search - search for a link group
 * @net: its namespace
 * @id: its ID
 * @lgr: result: the group, with a reference
 */
struct nl_order_search {
	const struct net *net;
	u32 id;
	struct smc_lgr *lgr;
};

static int nl_order_match_lgr(struct smc_lgr *lgr, void *arg)
{
	struct nl_order_search *s = arg;

	if (lgr->id != s->id || lgr->net != s->net || READ_ONCE(lgr->dead))
		return 0;
	smc_lgr_get(lgr);
	s->lgr = lgr;
	return 1;
}

/* Return the group that the request names, with a reference, or ERR_PTR with a message set. */
static struct smc_lgr *nl_order_get_lgr(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[SMC_NETLINK_OWN_LGR_ID];
	struct nl_order_search s = { .net = genl_info_net(info) };

	if (!attr) {
		GENL_SET_ERR_MSG(info, "no link group is named");
		return ERR_PTR(-EINVAL);
	}
	s.id = nla_get_u32(attr);
	if (smc_lgr_for_each(nl_order_match_lgr, &s))
		return s.lgr;
	GENL_SET_ERR_MSG(info, "there is no such link group in this network namespace");
	return ERR_PTR(-ENOENT);
}

/* Read which ends the link is to have. */
static int nl_order_read_wish(struct genl_info *info, struct smc_link_wish *wish)
{
	struct nlattr *dev = info->attrs[SMC_NETLINK_OWN_IB_DEV];
	struct nlattr *port = info->attrs[SMC_NETLINK_OWN_IB_PORT];
	struct nlattr *gid = info->attrs[SMC_NETLINK_OWN_PEER_GID];

	memset(wish, 0, sizeof(*wish));
	if (dev)
		nla_strscpy(wish->device, dev, sizeof(wish->device));
	if (port)
		wish->port = nla_get_u8(port);
	if (gid)
		nla_memcpy(&wish->gid, gid, sizeof(wish->gid));
	if (dev ? !wish->device[0] : !!port) {
		GENL_SET_ERR_MSG(info, "no RoCE device is named");
		return -EINVAL;
	}
	if (gid && !memchr_inv(&wish->gid, 0, sizeof(wish->gid))) {
		GENL_SET_ERR_MSG(info, "no RNIC of the peer has the address zero");
		return -EINVAL;
	}
	return 0;
}

/**
 * smc_nl_order_add_link() - doit of SMC_NETLINK_OWN_ADD_LINK
 * @skb: request
 * @info: parsed request
 *
 * Starts the ADD LINK exchange (RFC 7609 3.5.5.1). Process context.
 *
 * Return: 0: it is started, else -errno with a message.
 */
int smc_nl_order_add_link(struct sk_buff *skb, struct genl_info *info)
{
	struct smc_link_wish wish;
	struct smc_lgr *lgr;
	int rc;

	rc = nl_order_read_wish(info, &wish);
	if (rc)
		return rc;
	lgr = nl_order_get_lgr(info);
	if (IS_ERR(lgr))
		return PTR_ERR(lgr);
	rc = smc_add_link_order(lgr, &wish);
	smc_lgr_put(lgr);
	switch (rc) {
	case -EAGAIN:
		GENL_SET_ERR_MSG(info, "the first contact of the group is not over");
		break;
	case -ENOSPC:
		GENL_SET_ERR_MSG(info, "the group has as many links as were agreed upon");
		break;
	case -ENODEV:
		if (wish.device[0])
			GENL_SET_ERR_MSG(info, "this network namespace has no such RoCE device");
		else
			GENL_SET_ERR_MSG(info, "no RoCE port of this host leads to a further link");
		break;
	case -ENXIO:
		GENL_SET_ERR_MSG(info, "the RoCE device has no such port");
		break;
	case -EEXIST:
		GENL_SET_ERR_MSG(info, "the group has a link with these ends already");
		break;
	case -EHOSTUNREACH:
		GENL_SET_ERR_MSG(info,
				 "the port is down, of another network, or adds no path");
		break;
	case -ENOENT:
		GENL_SET_ERR_MSG(info, "the link group is about to end");
		break;
	}
	return rc;
}

/**
 * smc_nl_order_del_link() - doit of SMC_NETLINK_OWN_DEL_LINK
 * @skb: request
 * @info: parsed request
 *
 * Starts the DELETE LINK exchange. Process context.
 *
 * Return: 0: it is started, else -errno with a message.
 */
int smc_nl_order_del_link(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *attr = info->attrs[SMC_NETLINK_OWN_LINK_ID];
	struct smc_lgr *lgr;
	int rc;

	if (!attr) {
		GENL_SET_ERR_MSG(info, "no link is named");
		return -EINVAL;
	}
	lgr = nl_order_get_lgr(info);
	if (IS_ERR(lgr))
		return PTR_ERR(lgr);
	rc = smc_delete_link_order(lgr, nla_get_u8(attr));
	smc_lgr_put(lgr);
	switch (rc) {
	case -EAGAIN:
		GENL_SET_ERR_MSG(info, "the first contact of the group is not over");
		break;
	case -ENODEV:
		GENL_SET_ERR_MSG(info, "the group has no such link that can be used");
		break;
	case -EBUSY:
		GENL_SET_ERR_MSG(info, "this is the last link of the group: remove the group");
		break;
	}
	return rc;
}

/**
 * smc_nl_order_del_lgr() - doit of SMC_NETLINK_OWN_DEL_LGR
 * @skb: request
 * @info: parsed request
 *
 * SMC_NETLINK_OWN_NOW ends the group at once and aborts its connections. Without it the group is
 * phased out: it takes no further connections and ends with its last one. Only the server can do
 * that, since the server chooses the group of a new connection. Process context.
 *
 * Return: 0 or -errno with a message.
 */
int smc_nl_order_del_lgr(struct sk_buff *skb, struct genl_info *info)
{
	struct smc_lgr *lgr = nl_order_get_lgr(info);
	int rc = 0;

	if (IS_ERR(lgr))
		return PTR_ERR(lgr);
	if (nla_get_flag(info->attrs[SMC_NETLINK_OWN_NOW])) {
		smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	} else if (lgr->role == SMC_SERVER) {
		smc_lgr_phase_out(lgr, SMC_LINK_ADMIN);
	} else {
		GENL_SET_ERR_MSG(info, "the server ends it, or either side at once");
		rc = -EOPNOTSUPP;
	}
	smc_lgr_put(lgr);
	return rc;
}
