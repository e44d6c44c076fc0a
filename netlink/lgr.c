// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: dumps of link groups and their links. A namespace sees its own groups, the
 * administrator in the initial one those of the whole host. Groups come from the newest to the
 * oldest; the position of the dump is the ID of the last one.
 */
#include <linux/ktime.h>
#include <linux/smc.h>
#include <net/net_namespace.h>
#include <smc/lgr/lgr.h>
#include "internal.h"

#define GID_TEXT	40

/**
 * struct nl_lgr_walk - one call of a dump
 * @skb: answer
 * @cb: state of the dump: args[0] = args[1] is valid, args[1] = ID of the last group
 * @family: family SMC_GEN_NETLINK
 * @links: dump the links too
 * @all: groups of all namespaces
 */
struct nl_lgr_walk {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	const struct genl_family *family;
	bool links;
	bool all;
};

/* Return a link user ID as shown: four opaque bytes, in the order in which they are sent. */
static u32 nl_link_uid(u32 uid)
{
	return (__force u32)cpu_to_be32(uid);
}

/* Return the ifindex of a link's netdev; 0: that of a group in another namespace. */
static u32 nl_link_ifindex(const struct smc_link *link, const struct net *net)
{
	return net_eq(link->lgr->net, net) ? link->path.gid.ifindex : 0;
}

static int nl_lgr_put_link(struct nl_lgr_walk *walk, const struct smc_link *link)
{
	struct sk_buff *skb = walk->skb;
	char gid[GID_TEXT], peer_gid[GID_TEXT], name[IB_DEVICE_NAME_MAX];
	time64_t since = READ_ONCE(link->usable_since);
	struct nlattr *nest;
	u32 latency;
	u64 bytes;
	void *hdr;

	smc_qp_get_load(link->qp, &bytes, &latency);
	hdr = smc_nl_put_header(skb, walk->cb, walk->family, SMC_NETLINK_GET_LINK_SMCR);
	if (!hdr)
		return -EMSGSIZE;
	smc_ib_device_name(link->path.dev, name);
	snprintf(gid, sizeof(gid), "%pI6", link->path.gid.gid.raw);
	snprintf(peer_gid, sizeof(peer_gid), "%pI6", link->peer_gid.raw);
	nest = nla_nest_start(skb, SMC_GEN_LINK_SMCR);
	if (!nest || nla_put_u8(skb, SMC_NLA_LINK_ID, READ_ONCE(link->num)) ||
	    nla_put_string(skb, SMC_NLA_LINK_IB_DEV, name) ||
	    nla_put_u8(skb, SMC_NLA_LINK_IB_PORT, link->path.port) ||
	    nla_put_string(skb, SMC_NLA_LINK_GID, gid) ||
	    nla_put_string(skb, SMC_NLA_LINK_PEER_GID, peer_gid) ||
	    nla_put_u32(skb, SMC_NLA_LINK_CONN_CNT, atomic_read(&link->nconns)) ||
	    nla_put_u32(skb, SMC_NLA_LINK_NET_DEV, nl_link_ifindex(link, sock_net(skb->sk))) ||
	    nla_put_u32(skb, SMC_NLA_LINK_UID, nl_link_uid(link->uid)) ||
	    nla_put_u32(skb, SMC_NLA_LINK_PEER_UID, nl_link_uid(READ_ONCE(link->peer_uid))) ||
	    nla_put_u32(skb, SMC_NLA_LINK_STATE, smc_link_state_uapi(atomic_read(&link->state))) ||
	    nla_put_u32(skb, SMC_NETLINK_LINK_OWN_MOVES, atomic_read(&link->conns_moved_in)) ||
	    nla_put_u32(skb, SMC_NETLINK_LINK_OWN_BYTES, min_t(u64, bytes, U32_MAX)) ||
	    nla_put_u32(skb, SMC_NETLINK_LINK_OWN_LATENCY, latency) ||
	    nla_put_u32(skb, SMC_NETLINK_LINK_OWN_SENDS, smc_qp_get_nslots(link->qp)) ||
	    nla_put_u32(skb, SMC_NETLINK_LINK_OWN_RECVS, smc_qp_get_nrecvs(link->qp)) ||
	    (since && nla_put_u32(skb, SMC_NETLINK_LINK_OWN_AGE,
				  ktime_get_boottime_seconds() - since)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
}

static int nl_lgr_put_links(struct nl_lgr_walk *walk, struct smc_lgr *lgr)
{
	struct smc_link *link;
	int rc = 0;

	smc_lgr_for_each_link(lgr, link) {
		rc = nl_lgr_put_link(walk, link);
		if (rc) {
			smc_link_put(link);
			break;
		}
	}
	return rc;
}

/* Return the type of a group. @direct: no link uses an IP gateway; @id: PNET ID of the links. */
static u8 nl_lgr_type(struct smc_lgr *lgr, bool *direct, char id[SMC_PNET_ID_LEN + 1])
{
	struct smc_link *link;

	*direct = true;
	id[0] = '\0';
	smc_lgr_for_each_link(lgr, link) {
		*direct &= link->direct;
		strscpy(id, link->path.pnetid, SMC_PNET_ID_LEN + 1);
	}
	return smc_topology_get_type(lgr);
}

static int nl_lgr_put_v2(struct sk_buff *skb, const struct smc_peer *peer, bool direct)
{
	char text[SMC_MAX_EID_LEN + 1] = "";
	struct nlattr *nest;

	nest = nla_nest_start(skb, SMC_NLA_LGR_R_V2_COMMON);
	if (!nest || nla_put_u8(skb, SMC_NLA_LGR_V2_VER, peer->version) ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_REL, peer->release) ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_OS, READ_ONCE(peer->os)))
		return -EMSGSIZE;
	/* may race with a client's CLC message that sets the name: torn text is acceptable */
	data_race(memcpy(text, peer->host, SMC_MAX_HOSTNAME_LEN));
	if (nla_put_string(skb, SMC_NLA_LGR_V2_PEER_HOST, text))
		return -EMSGSIZE;
	memcpy(text, peer->eid, SMC_MAX_EID_LEN);
	if (nla_put_string(skb, SMC_NLA_LGR_V2_NEG_EID, text))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	nest = nla_nest_start(skb, SMC_NLA_LGR_R_V2);
	if (!nest || nla_put_u8(skb, SMC_NLA_LGR_R_V2_DIRECT, direct) ||
	    (peer->release &&
	     (nla_put_u8(skb, SMC_NETLINK_LGR_R_V2_MAX_CONNS, peer->max_conns) ||
	      nla_put_u8(skb, SMC_NETLINK_LGR_R_V2_MAX_LINKS, peer->max_links))))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int nl_lgr_put_loss(struct sk_buff *skb, struct smc_lgr *lgr)
{
	u32 count = atomic_read(&lgr->link_loss.count);

	if (nla_put_u32(skb, SMC_NETLINK_LGR_R_OWN_LINKS_LOST, count) ||
	    nla_put_u32(skb, SMC_NETLINK_LGR_R_OWN_MOVES, atomic_read(&lgr->conn_moves)))
		return -EMSGSIZE;
	if (!count)
		return 0;
	if (nla_put_string(skb, SMC_NETLINK_LGR_R_OWN_LOSS_REASON,
			   smc_link_reason_str(READ_ONCE(lgr->link_loss.reason))) ||
	    nla_put_u64_64bit(skb, SMC_NETLINK_LGR_R_OWN_LOSS_AGE,
			      ktime_get_boottime_seconds() - READ_ONCE(lgr->link_loss.at),
			      SMC_NLA_LGR_R_PAD))
		return -EMSGSIZE;
	return 0;
}

static int nl_lgr_put(struct nl_lgr_walk *walk, struct smc_lgr *lgr)
{
	struct sk_buff *skb = walk->skb;
	char id[SMC_PNET_ID_LEN + 1];
	struct nlattr *nest;
	bool direct;
	void *hdr;
	u8 type;

	hdr = smc_nl_put_header(skb, walk->cb, walk->family, SMC_NETLINK_GET_LGR_SMCR);
	if (!hdr)
		return -EMSGSIZE;
	type = nl_lgr_type(lgr, &direct, id);
	nest = nla_nest_start(skb, SMC_GEN_LGR_SMCR);
	if (!nest || nla_put_u32(skb, SMC_NLA_LGR_R_ID, lgr->id) ||
	    nla_put_u32(skb, SMC_NLA_LGR_R_CONNS_NUM, READ_ONCE(lgr->nconns)) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_ROLE, lgr->role) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_TYPE, type) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_BUF_TYPE, lgr->pool.buf_type) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_VLAN_ID, lgr->peer.vlan) ||
	    nla_put_u64_64bit(skb, SMC_NLA_LGR_R_NET_COOKIE, lgr->net_cookie,
			      SMC_NLA_LGR_R_PAD) ||
	    nla_put_string(skb, SMC_NLA_LGR_R_PNETID, id) ||
	    smc_nl_put_uint(skb, SMC_NETLINK_LGR_R_SNDBUF_ALLOC,
			    READ_ONCE(lgr->pool.bytes[SMC_REGION_SND]), SMC_NLA_LGR_R_PAD) ||
	    smc_nl_put_uint(skb, SMC_NETLINK_LGR_R_RMB_ALLOC,
			    READ_ONCE(lgr->pool.bytes[SMC_REGION_RMB]), SMC_NLA_LGR_R_PAD) ||
	    (lgr->peer.version > 1 && nl_lgr_put_v2(skb, &lgr->peer, direct)) ||
	    nl_lgr_put_loss(skb, lgr))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
}

/* Dump one group with all of its links, or leave it to the next call if there is no room. */
static int nl_lgr_dump_one(struct smc_lgr *lgr, void *arg)
{
	struct nl_lgr_walk *walk = arg;
	const struct net *net = sock_net(walk->skb->sk);
	long *last = walk->cb->args;
	void *mark = skb_tail_pointer(walk->skb);
	int rc;

	if ((!walk->all && !net_eq(net, lgr->net)) || READ_ONCE(lgr->dead))
		return 0;
	if (last[0] && (s32)(lgr->id - (u32)last[1]) >= 0)
		return 0;
	rc = nl_lgr_put(walk, lgr);
	if (!rc && walk->links)
		rc = nl_lgr_put_links(walk, lgr);
	if (rc) {
		nlmsg_trim(walk->skb, mark);
		return rc;
	}
	last[0] = 1;
	last[1] = lgr->id;
	return 0;
}

static int nl_lgr_walk_all(struct nl_lgr_walk *walk)
{
	int rc;

	walk->all = smc_nl_shows_all(walk->skb, walk->cb);
	rc = smc_lgr_for_each(nl_lgr_dump_one, walk);
	return walk->skb->len ?: rc;
}

/**
 * smc_nl_dump_lgrs() - dumpit of SMC_NETLINK_GET_LGR_SMCR
 * @skb: answer
 * @cb: state of the dump, see struct nl_lgr_walk
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_lgrs(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct genl_family *family)
{
	struct nl_lgr_walk walk = { .skb = skb, .cb = cb, .family = family };

	return nl_lgr_walk_all(&walk);
}

/**
 * smc_nl_dump_links() - dumpit of SMC_NETLINK_GET_LINK_SMCR: each group, then its links
 * @skb: answer
 * @cb: state of the dump, see struct nl_lgr_walk
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_links(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family)
{
	struct nl_lgr_walk walk = { .skb = skb, .cb = cb, .family = family, .links = true };

	return nl_lgr_walk_all(&walk);
}
