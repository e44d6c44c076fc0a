// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family SMC_PNETID: the administrator's PNET table. Everyone may read it, changes
 * need CAP_NET_ADMIN. The numbers are those of <linux/smc.h>. As in the in-tree family, a netdev
 * and a RoCE port that were added together are two entries; each answer has all four attributes.
 */
#include <linux/module.h>
#include <linux/smc.h>
#include <net/genetlink.h>
#include <smc/base/fault.h>
#include <smc/netlink/pnet.h>
#include <smc/rdma/pnet_table.h>

/* Name and port that are shown for the kind of device that an entry is not for. */
#define NO_NAME		"n/a"
#define NO_PORT		0xff

#define ENTRY_SIZE	(NLMSG_HDRLEN + GENL_HDRLEN + nla_total_size(SMC_PNET_ID_LEN + 1) + \
			 nla_total_size(IFNAMSIZ) + nla_total_size(IB_DEVICE_NAME_MAX) + \
			 nla_total_size(sizeof(u8)))

static struct genl_family nl_pnet_family;

static int nl_pnet_put_entry(struct sk_buff *skb, u32 portid, u32 seq,
			     const struct smc_pnet_entry *e)
{
	void *hdr = genlmsg_put(skb, portid, seq, &nl_pnet_family, NLM_F_MULTI, SMC_PNETID_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(skb, SMC_PNETID_NAME, e->id) ||
	    nla_put_string(skb, SMC_PNETID_ETHNAME, e->port ? NO_NAME : e->name) ||
	    nla_put_string(skb, SMC_PNETID_IBNAME, e->port ? e->name : NO_NAME) ||
	    nla_put_u8(skb, SMC_PNETID_IBPORT, e->port ?: NO_PORT)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int nl_pnet_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	unsigned long pos = cb->args[0];
	struct smc_pnet_entry e;

	while (smc_pnet_get_next(sock_net(skb->sk), &pos, NULL, &e)) {
		if (nl_pnet_put_entry(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &e))
			break;
		cb->args[0] = pos;
	}
	return skb->len;
}

/* Read the PNET ID of a request. Return 0 or -EINVAL. */
static int nl_pnet_parse_id(struct genl_info *info, char id[SMC_PNET_ID_LEN + 1])
{
	struct nlattr *attr = info->attrs[SMC_PNETID_NAME];

	return attr ? smc_pnet_parse_id(nla_data(attr), id) : -EINVAL;
}

/* Answer with all entries of one ID in one skb, which ends with NLMSG_DONE like a dump. */
static int nl_pnet_get(struct sk_buff *req, struct genl_info *info)
{
	struct net *net = genl_info_net(info);
	char id[SMC_PNET_ID_LEN + 1];
	struct smc_pnet_entry e;
	unsigned long pos = 0;
	struct sk_buff *skb;
	u32 n = 0;
	int rc;

	rc = nl_pnet_parse_id(info, id);
	if (rc)
		return rc;
	while (smc_pnet_get_next(net, &pos, id, &e))
		n++;
	skb = smc_fault_null(PNETID_ANSWER,
			     nlmsg_new(n * ENTRY_SIZE + NLMSG_HDRLEN, GFP_KERNEL));
	if (!skb)
		return -ENOMEM;
	/* n limits the entries to the size of the skb: there may be more by now */
	for (pos = 0; n && smc_pnet_get_next(net, &pos, id, &e); n--)
		if (nl_pnet_put_entry(skb, info->snd_portid, info->snd_seq, &e))
			break;
	if (!nlmsg_put(skb, info->snd_portid, info->snd_seq, NLMSG_DONE, 0, NLM_F_MULTI)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	return genlmsg_reply(skb, info);
}

static const char *nl_pnet_attr_str(struct genl_info *info, int type)
{
	return info->attrs[type] ? nla_data(info->attrs[type]) : NULL;
}

static int nl_pnet_add(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *port = info->attrs[SMC_PNETID_IBPORT];
	char id[SMC_PNET_ID_LEN + 1];
	int rc = nl_pnet_parse_id(info, id);

	if (rc)
		return rc;
	return smc_pnet_add(genl_info_net(info), id,
			    nl_pnet_attr_str(info, SMC_PNETID_ETHNAME),
			    nl_pnet_attr_str(info, SMC_PNETID_IBNAME),
			    port ? nla_get_u8(port) : 1);
}

static int nl_pnet_del(struct sk_buff *skb, struct genl_info *info)
{
	char id[SMC_PNET_ID_LEN + 1];

	return nl_pnet_parse_id(info, id) ?: smc_pnet_del(genl_info_net(info), id);
}

static int nl_pnet_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_pnet_flush(genl_info_net(info));
	return 0;
}

static const struct nla_policy nl_pnet_policy[SMC_PNETID_MAX + 1] = {
	[SMC_PNETID_NAME] = { .type = NLA_NUL_STRING, .len = SMC_PNET_ID_LEN },
	[SMC_PNETID_ETHNAME] = { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[SMC_PNETID_IBNAME] = { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[SMC_PNETID_IBPORT] = { .type = NLA_U8 },
};

/* As in the in-tree family: accept requests with unknown attributes. */
#define LENIENT	(GENL_DONT_VALIDATE_STRICT | GENL_DONT_VALIDATE_DUMP)

static const struct genl_ops nl_pnet_ops[] = {
	{ .cmd = SMC_PNETID_GET, .doit = nl_pnet_get, .dumpit = nl_pnet_dump, .validate = LENIENT },
	{ .cmd = SMC_PNETID_ADD, .doit = nl_pnet_add, .flags = GENL_ADMIN_PERM,
	  .validate = LENIENT },
	{ .cmd = SMC_PNETID_DEL, .doit = nl_pnet_del, .flags = GENL_ADMIN_PERM,
	  .validate = LENIENT },
	{ .cmd = SMC_PNETID_FLUSH, .doit = nl_pnet_flush, .flags = GENL_ADMIN_PERM,
	  .validate = LENIENT },
};

static struct genl_family nl_pnet_family __ro_after_init = {
	.name = SMCR_GENL_FAMILY_NAME,
	.version = SMCR_GENL_FAMILY_VERSION,
	.maxattr = SMC_PNETID_MAX,
	.policy = nl_pnet_policy,
	.netnsok = true,
	.module = THIS_MODULE,
	.ops = nl_pnet_ops,
	.n_ops = ARRAY_SIZE(nl_pnet_ops),
	.resv_start_op = SMC_PNETID_FLUSH + 1,
};

/**
 * smc_nl_pnet_init() - register the family SMC_PNETID
 *
 * Return: 0, -EEXIST when another SMC module has registered it, or -errno.
 */
int __init smc_nl_pnet_init(void)
{
	return smc_fault_rc(GENL_PNETID, -ENOMEM, genl_register_family(&nl_pnet_family));
}

/** smc_nl_pnet_exit() - undo smc_nl_pnet_init() */
void smc_nl_pnet_exit(void)
{
	genl_unregister_family(&nl_pnet_family);
}

MODULE_ALIAS_GENL_FAMILY(SMCR_GENL_FAMILY_NAME);
