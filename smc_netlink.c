// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_GEN_NETLINK: user EIDs, system information,
 * fallback reasons, link groups, handshake limitation. Commands that change
 * something need CAP_NET_ADMIN. The numbers are those of <linux/smc.h>.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/smc.h>
#include <linux/utsname.h>
#include <net/genetlink.h>
#include <smc/core.h>
#include <smc/fault.h>
#include <smc/netlink.h>
#include <smc/policy.h>
#include <smc/proto/clc_msg.h>
#include <smc/stats.h>

static struct genl_family family;

static void *put_header(struct sk_buff *skb, struct netlink_callback *cb)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family,
			   NLM_F_MULTI, genl_dumpit_info(cb)->op.cmd);
}

/* ---- user EIDs --------------------------------------------------------------- */

static int ueid_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	char entry[SMC_POLICY_UEID_LEN + 1] = "";
	u8 ueids[SMC_POLICY_UEIDS_MAX][SMC_POLICY_UEID_LEN];
	u32 n = smc_policy_ueids(sock_net(skb->sk), ueids);
	long i;

	for (i = cb->args[0]; i < n; i++) {
		void *hdr = put_header(skb, cb);

		if (!hdr)
			break;
		memcpy(entry, ueids[i], SMC_POLICY_UEID_LEN);
		if (nla_put_string(skb, SMC_NLA_EID_TABLE_ENTRY, entry)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	cb->args[0] = i;
	return skb->len;
}

/* The attribute has exactly 32 characters and a NUL. */
static const u8 *ueid_of(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[SMC_NLA_EID_TABLE_ENTRY];

	if (!attr || nla_len(attr) != SMC_POLICY_UEID_LEN + 1)
		return NULL;
	return nla_data(attr);
}

static int ueid_add(struct sk_buff *skb, struct genl_info *info)
{
	const u8 *ueid = ueid_of(info);

	return ueid ? smc_policy_ueid_add(genl_info_net(info), ueid) : -EINVAL;
}

static int ueid_remove(struct sk_buff *skb, struct genl_info *info)
{
	const u8 *ueid = ueid_of(info);

	return ueid ? smc_policy_ueid_del(genl_info_net(info), ueid) : -EINVAL;
}

static int ueid_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_policy_ueid_flush(genl_info_net(info));
	return 0;
}

/* ---- system ------------------------------------------------------------------ */

static int sys_info(struct sk_buff *skb, struct netlink_callback *cb)
{
	char host[SMC_MAX_HOSTNAME_LEN + 1];
	struct nlattr *nest;
	void *hdr;

	if (cb->args[0])
		return skb->len;
	hdr = put_header(skb, cb);
	if (!hdr)
		return -EMSGSIZE;
	strscpy(host, init_utsname()->nodename, sizeof(host));
	nest = nla_nest_start(skb, SMC_GEN_SYS_INFO);
	if (!nest || nla_put_u8(skb, SMC_NLA_SYS_VER, 2) ||
	    nla_put_u8(skb, SMC_NLA_SYS_REL, SMC_CLC_RELEASE_1) ||
	    nla_put_u8(skb, SMC_NLA_SYS_IS_ISM_V2, 0) ||
	    nla_put_u8(skb, SMC_NLA_SYS_IS_SMCR_V2, 1) ||
	    nla_put_string(skb, SMC_NLA_SYS_LOCAL_HOST, host)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	cb->args[0] = 1;
	return skb->len;
}

/* A host without ISM has no SEID: one message without attributes. */
static int seid_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	void *hdr;

	if (cb->args[0])
		return skb->len;
	hdr = put_header(skb, cb);
	if (!hdr)
		return -EMSGSIZE;
	genlmsg_end(skb, hdr);
	cb->args[0] = 1;
	return skb->len;
}

static int seid_change(struct sk_buff *skb, struct genl_info *info)
{
	return -EOPNOTSUPP;
}

/* SMC-D objects, which do not exist here. */
static int nothing_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return skb->len;
}

static int hs_limit_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_net *sn = smc_policy_net(sock_net(skb->sk));
	void *hdr;

	if (cb->args[0])
		return skb->len;
	hdr = put_header(skb, cb);
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

static int hs_limit_enable(struct sk_buff *skb, struct genl_info *info)
{
	WRITE_ONCE(smc_policy_net(genl_info_net(info))->hs_limit, 1);
	return 0;
}

static int hs_limit_disable(struct sk_buff *skb, struct genl_info *info)
{
	WRITE_ONCE(smc_policy_net(genl_info_net(info))->hs_limit, 0);
	return 0;
}

/* ---- fallback reasons -------------------------------------------------------- */

static int fback_put(struct sk_buff *skb, struct netlink_callback *cb, struct net *net,
		     bool server, u32 reason, u16 count)
{
	struct nlattr *nest;
	void *hdr;

	hdr = put_header(skb, cb);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_GEN_FBACK_STATS);
	if (!nest || nla_put_u8(skb, SMC_NLA_FBACK_STATS_TYPE, server))
		goto cancel;
	if (!cb->args[1] &&
	    (nla_put_u64_64bit(skb, SMC_NLA_FBACK_STATS_SRV_CNT,
			       smc_stats_get(net, SMC_STAT_SRV_FBACK), SMC_NLA_FBACK_STATS_PAD) ||
	     nla_put_u64_64bit(skb, SMC_NLA_FBACK_STATS_CLNT_CNT,
			       smc_stats_get(net, SMC_STAT_CLNT_FBACK), SMC_NLA_FBACK_STATS_PAD)))
		goto cancel;
	if (nla_put_u32(skb, SMC_NLA_FBACK_STATS_RSN_CODE, reason) ||
	    nla_put_u16(skb, SMC_NLA_FBACK_STATS_RSN_CNT, count))
		goto cancel;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	cb->args[1] = 1;
	return 0;
cancel:
	genlmsg_cancel(skb, hdr);
	return -EMSGSIZE;
}

static int fback_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	u32 reason;
	u16 count;
	long i;

	for (i = cb->args[0]; i < 2 * SMC_STATS_FBACK_SLOTS; i++) {
		bool server = i >= SMC_STATS_FBACK_SLOTS;

		if (!smc_stats_fallback_get(net, server, i % SMC_STATS_FBACK_SLOTS, &reason,
					    &count))
			continue;
		if (fback_put(skb, cb, net, server, reason, count))
			break;
	}
	cb->args[0] = i;
	return skb->len;
}

/* ---- link groups ------------------------------------------------------------- */

/**
 * struct lgr_walk - one dump call over all groups
 * @skb: answer
 * @cb: dump state: args[0] = groups dumped so far
 * @at: position of the walk
 */
struct lgr_walk {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	long at;
};

/* @direct: no link of the group goes through an IP gateway; @id: PNET ID of the links. */
static u8 lgr_type(struct smc_lgr *lgr, bool *direct, char id[SMC_PNET_ID_LEN + 1])
{
	struct smc_link *link;
	u8 n = 0;
	u32 slot;

	*direct = true;
	id[0] = '\0';
	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		n += smc_link_usable(link);
		*direct &= link->direct;
		strscpy(id, link->path.pnetid, SMC_PNET_ID_LEN + 1);
		smc_link_put(link);
	}
	return min_t(u8, n, 2);	/* none, single, symmetric */
}

static int lgr_put_v2(struct sk_buff *skb, const struct smc_peer *peer, bool direct)
{
	char text[SMC_MAX_EID_LEN + 1] = "";
	struct nlattr *nest;

	nest = nla_nest_start(skb, SMC_NLA_LGR_R_V2_COMMON);
	if (!nest || nla_put_u8(skb, SMC_NLA_LGR_V2_VER, peer->version) ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_REL, peer->release) ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_OS, peer->os))
		return -EMSGSIZE;
	memcpy(text, peer->host, SMC_MAX_HOSTNAME_LEN);
	if (nla_put_string(skb, SMC_NLA_LGR_V2_PEER_HOST, text))
		return -EMSGSIZE;
	memcpy(text, peer->eid, SMC_MAX_EID_LEN);
	if (nla_put_string(skb, SMC_NLA_LGR_V2_NEG_EID, text))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	nest = nla_nest_start(skb, SMC_NLA_LGR_R_V2);
	if (!nest || nla_put_u8(skb, SMC_NLA_LGR_R_V2_DIRECT, direct))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int lgr_put(struct smc_lgr *lgr, void *arg)
{
	struct lgr_walk *walk = arg;
	struct sk_buff *skb = walk->skb;
	struct net *net = sock_net(skb->sk);
	struct nlattr *nest;
	bool direct;
	void *hdr;
	char id[SMC_PNET_ID_LEN + 1];
	u8 type;

	/* the first namespace is the whole host's, any other has its own business only */
	if (net != &init_net && net != lgr->net)
		return 0;
	if (READ_ONCE(lgr->dead) || walk->at++ < walk->cb->args[0])
		return 0;
	hdr = put_header(skb, walk->cb);
	if (!hdr)
		return -EMSGSIZE;
	type = lgr_type(lgr, &direct, id);
	nest = nla_nest_start(skb, SMC_GEN_LGR_SMCR);
	if (!nest || nla_put_u32(skb, SMC_NLA_LGR_R_ID, lgr->id) ||
	    nla_put_u32(skb, SMC_NLA_LGR_R_CONNS_NUM, READ_ONCE(lgr->nconns)) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_ROLE, lgr->role) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_TYPE, type) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_BUF_TYPE, 1) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_VLAN_ID, lgr->peer.vlan) ||
	    nla_put_u64_64bit(skb, SMC_NLA_LGR_R_NET_COOKIE, lgr->net_cookie,
			      SMC_NLA_LGR_R_PAD) ||
	    nla_put_string(skb, SMC_NLA_LGR_R_PNETID, id) ||
	    (lgr->peer.version > 1 && lgr_put_v2(skb, &lgr->peer, direct))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	walk->cb->args[0]++;
	return 0;
}

static int lgr_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct lgr_walk walk = { .skb = skb, .cb = cb };

	smc_core_for_each(lgr_put, &walk);
	return skb->len;
}

/* ---- family ------------------------------------------------------------------ */

static const struct nla_policy ueid_policy[SMC_NLA_EID_TABLE_ENTRY + 1] = {
	[SMC_NLA_EID_TABLE_ENTRY] = { .type = NLA_STRING, .len = SMC_POLICY_UEID_LEN + 1 },
};

#define DUMP(c, fn)	{ .cmd = SMC_NETLINK_##c, .dumpit = (fn) }
#define ADMIN(c, fn)	{ .cmd = SMC_NETLINK_##c, .doit = (fn), .flags = GENL_ADMIN_PERM }
#define UEID(c, fn)							\
	{ .cmd = SMC_NETLINK_##c, .doit = (fn), .flags = GENL_ADMIN_PERM,	\
	  .policy = ueid_policy, .maxattr = SMC_NLA_EID_TABLE_ENTRY }

static const struct genl_ops ops[] = {
	DUMP(GET_SYS_INFO, sys_info),
	DUMP(GET_LGR_SMCR, lgr_dump),
	DUMP(GET_LGR_SMCD, nothing_dump),
	DUMP(GET_DEV_SMCD, nothing_dump),
	DUMP(GET_FBACK_STATS, fback_dump),
	DUMP(DUMP_UEID, ueid_dump),
	UEID(ADD_UEID, ueid_add),
	UEID(REMOVE_UEID, ueid_remove),
	ADMIN(FLUSH_UEID, ueid_flush),
	DUMP(DUMP_SEID, seid_dump),
	ADMIN(ENABLE_SEID, seid_change),
	ADMIN(DISABLE_SEID, seid_change),
	DUMP(DUMP_HS_LIMITATION, hs_limit_dump),
	ADMIN(ENABLE_HS_LIMITATION, hs_limit_enable),
	ADMIN(DISABLE_HS_LIMITATION, hs_limit_disable),
};

static struct genl_family family __ro_after_init = {
	.name = SMC_GENL_FAMILY_NAME,
	.version = SMC_GENL_FAMILY_VERSION,
	.netnsok = true,
	.module = THIS_MODULE,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.resv_start_op = SMC_NETLINK_DISABLE_HS_LIMITATION + 1,
};

/**
 * smc_netlink_init() - register the family
 *
 * Return: 0, -EEXIST when another SMC module has it.
 */
int __init smc_netlink_init(void)
{
	return smc_fault_rc(GENL_FAMILY, -ENOMEM, genl_register_family(&family));
}

/**
 * smc_netlink_exit() - undo smc_netlink_init()
 */
void smc_netlink_exit(void)
{
	genl_unregister_family(&family);
}
