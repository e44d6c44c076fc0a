// SPDX-License-Identifier: GPL-2.0-only
/* Generic netlink: dumps of the statistics of a namespace and of the reasons for its fallbacks. */
#include <linux/smc.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/clc_msg.h>
#include <smc/proto/llc_msg.h>
#include "internal.h"

/* Number of the padding attribute in all tables. */
#define NL_PAD		0

/*
 * Maximum size of the answer to SMC_NETLINK_GET_STATS, with padding before each number. Programs
 * expect a single message, and the skb of a dump has room for one page at least.
 */
#define NUM_SIZE	(nla_total_size(sizeof(u64)) + nla_total_size(0))
#define TABLE_SIZE(n)	(nla_total_size(0) + (n) * NUM_SIZE)
#define TECH_SIZE	(4 * TABLE_SIZE(SMC_STATS_SIZES) + 2 * TABLE_SIZE(SMC_NLA_STATS_RMB_MAX) + \
			 TABLE_SIZE(SMC_NETLINK_STATS_T_TX_RMB_USAGE -				   \
				    SMC_NLA_STATS_T_CLNT_V1_SUCC + 1))
#define OWN_SIZE	(2 * TABLE_SIZE(SMC_CLC_DECLINE) + 2 * TABLE_SIZE(SMC_LLC_PLACES) +   \
			 2 * TABLE_SIZE(SMC_STATS_TIMES) + 2 * TABLE_SIZE(SMC_MEMS))
#define STATS_SIZE	(nlmsg_total_size(GENL_HDRLEN) + nla_total_size(0) + 2 * TECH_SIZE +	   \
			 2 * NUM_SIZE + OWN_SIZE)
#define STATS_ROOM	SKB_WITH_OVERHEAD(4096)

/**
 * struct nl_stats_memory - memory of the regions of a namespace
 * @net: namespace
 * @bytes: bytes by kind of region
 */
struct nl_stats_memory {
	const struct net *net;
	u64 bytes[SMC_REGION_KINDS];
};

static int nl_stats_sum_memory(struct smc_lgr *lgr, void *arg)
{
	struct nl_stats_memory *mem = arg;
	int kind;

	if (lgr->net != mem->net)
		return 0;
	for (kind = 0; kind < SMC_REGION_KINDS; kind++)
		mem->bytes[kind] += READ_ONCE(lgr->pool.bytes[kind]);
	return 0;
}

/* Put @n numbers as attributes @first, @first + 1, ... */
static int nl_stats_put_numbers(struct sk_buff *skb, int first, const u64 *value, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (nla_put_u64_64bit(skb, first + i, value[i], NL_PAD))
			return -EMSGSIZE;
	return 0;
}

static int nl_stats_put_table(struct sk_buff *skb, int attr, const u64 *value, int n)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || nl_stats_put_numbers(skb, 1, value, n))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int nl_stats_put_sizes(struct sk_buff *skb, struct net *net, int attr,
			      enum smc_stats_hist hist)
{
	u64 value[SMC_STATS_SIZES] = {};
	int i;

	for (i = 0; net && i < SMC_STATS_SIZES; i++)
		value[i] = smc_stats_get_size(net, hist, i);
	return nl_stats_put_table(skb, attr, value, SMC_STATS_SIZES);
}

/* Return a counter. @net NULL: the part about SMC-D, where all counters are 0. */
static u64 nl_stats_get(struct net *net, enum smc_stat stat)
{
	return net ? smc_stats_get(net, stat) : 0;
}

static int nl_stats_put_buffers(struct sk_buff *skb, struct net *net)
{
	const u64 tx[] = {
		nl_stats_get(net, SMC_STAT_TX_PEER_SMALL), nl_stats_get(net, SMC_STAT_TX_SMALL),
		nl_stats_get(net, SMC_STAT_TX_WINDOW_CLOSED), nl_stats_get(net, SMC_STAT_TX_FULL),
		nl_stats_get(net, SMC_STAT_TX_BUF_REUSE), nl_stats_get(net, SMC_STAT_TX_BUF_ALLOC),
		0,	/* downgrades: a connection never gets a smaller ring than requested */
	};
	const u64 rx[] = {
		0, nl_stats_get(net, SMC_STAT_RX_SMALL), 0, nl_stats_get(net, SMC_STAT_RX_FULL),
		nl_stats_get(net, SMC_STAT_RX_BUF_REUSE), nl_stats_get(net, SMC_STAT_RX_BUF_ALLOC),
		0,
	};

	if (nl_stats_put_sizes(skb, net, SMC_NLA_STATS_T_TX_RMB_SIZE, SMC_HIST_TX_BUF) ||
	    nl_stats_put_sizes(skb, net, SMC_NLA_STATS_T_RX_RMB_SIZE, SMC_HIST_RX_BUF) ||
	    nl_stats_put_sizes(skb, net, SMC_NLA_STATS_T_TXPLOAD_SIZE, SMC_HIST_TX_REQ) ||
	    nl_stats_put_sizes(skb, net, SMC_NLA_STATS_T_RXPLOAD_SIZE, SMC_HIST_RX_REQ) ||
	    nl_stats_put_table(skb, SMC_NLA_STATS_T_TX_RMB_STATS, tx, ARRAY_SIZE(tx)) ||
	    nl_stats_put_table(skb, SMC_NLA_STATS_T_RX_RMB_STATS, rx, ARRAY_SIZE(rx)))
		return -EMSGSIZE;
	return 0;
}

static int nl_stats_put_tech(struct sk_buff *skb, struct net *net, int attr)
{
	const u64 v1[] = {
		nl_stats_get(net, SMC_STAT_CLNT_V1), nl_stats_get(net, SMC_STAT_SRV_V1),
	};
	struct nl_stats_memory mem = { .net = net };
	/* attributes from SMC_NLA_STATS_T_CLNT_V1_SUCC on */
	const u64 value[] = {
		v1[0], nl_stats_get(net, SMC_STAT_CLNT_SMC) - v1[0],
		v1[1], nl_stats_get(net, SMC_STAT_SRV_SMC) - v1[1],
		nl_stats_get(net, SMC_STAT_TX_SENDPAGE), nl_stats_get(net, SMC_STAT_RX_SPLICE),
		nl_stats_get(net, SMC_STAT_CORK), nl_stats_get(net, SMC_STAT_NODELAY),
		nl_stats_get(net, SMC_STAT_TX_URGENT) + nl_stats_get(net, SMC_STAT_RX_URGENT),
		nl_stats_get(net, SMC_STAT_RX_BYTES), nl_stats_get(net, SMC_STAT_TX_BYTES),
		nl_stats_get(net, SMC_STAT_RX_CNT), nl_stats_get(net, SMC_STAT_TX_CNT),
	};
	struct nlattr *nest;

	if (net)
		smc_lgr_for_each(nl_stats_sum_memory, &mem);
	nest = nla_nest_start(skb, attr);
	if (!nest || nl_stats_put_buffers(skb, net) ||
	    nl_stats_put_numbers(skb, SMC_NLA_STATS_T_CLNT_V1_SUCC, value, ARRAY_SIZE(value)) ||
	    smc_nl_put_uint(skb, SMC_NETLINK_STATS_T_RX_RMB_USAGE, mem.bytes[SMC_REGION_RMB],
			    NL_PAD) ||
	    smc_nl_put_uint(skb, SMC_NETLINK_STATS_T_TX_RMB_USAGE, mem.bytes[SMC_REGION_SND],
			    NL_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int nl_stats_put_msgs(struct sk_buff *skb, struct net *net, int attr,
			     enum smc_stats_msgs msgs, u8 types)
{
	u64 value[SMC_STATS_TYPES];
	int i;

	for (i = 0; i < types; i++)
		value[i] = smc_stats_get_msg(net, msgs, i + 1);
	return nl_stats_put_table(skb, attr, value, types);
}

static int nl_stats_put_times(struct sk_buff *skb, struct net *net, int attr, bool server)
{
	u64 value[SMC_STATS_TIMES];
	int i;

	for (i = 0; i < SMC_STATS_TIMES; i++)
		value[i] = smc_stats_get_handshake(net, server, i);
	return nl_stats_put_table(skb, attr, value, SMC_STATS_TIMES);
}

static int nl_stats_put_own(struct sk_buff *skb, struct net *net)
{
	u64 now[SMC_MEMS], peak[SMC_MEMS];
	int i;

	for (i = 0; i < SMC_MEMS; i++) {
		now[i] = smc_stats_get_mem(net, i);
		peak[i] = smc_stats_get_mem_peak(net, i);
	}
	/* the attributes are in the order of enum smc_stats_msgs */
	for (i = 0; i < SMC_MSGS; i++)
		if (nl_stats_put_msgs(skb, net, SMC_NETLINK_STATS_OWN_CLC_TX + i, i,
				      i < SMC_MSGS_LLC_TX ? SMC_CLC_DECLINE : SMC_LLC_PLACES))
			return -EMSGSIZE;
	if (nl_stats_put_times(skb, net, SMC_NETLINK_STATS_OWN_HS_CLNT, false) ||
	    nl_stats_put_times(skb, net, SMC_NETLINK_STATS_OWN_HS_SRV, true) ||
	    nl_stats_put_table(skb, SMC_NETLINK_STATS_OWN_MEM_NOW, now, SMC_MEMS) ||
	    nl_stats_put_table(skb, SMC_NETLINK_STATS_OWN_MEM_PEAK, peak, SMC_MEMS))
		return -EMSGSIZE;
	return 0;
}

/**
 * smc_nl_dump_stats() - dumpit of SMC_NETLINK_GET_STATS
 * @skb: answer
 * @cb: state of the dump: args[0] = 1: the message was sent
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct genl_family *family)
{
	struct net *net = sock_net(skb->sk);
	struct nlattr *nest;
	u64 errors[2];
	void *hdr;

	/* add new statistics to SMC_NETLINK_OWN_GET_COUNTERS, or to a new command */
	BUILD_BUG_ON(STATS_SIZE > STATS_ROOM);
	if (cb->args[0])
		return skb->len;
	hdr = smc_nl_put_header(skb, cb, family, SMC_NETLINK_GET_STATS);
	if (!hdr)
		return -EMSGSIZE;
	errors[0] = smc_stats_get(net, SMC_STAT_CLNT_HS_ERR);
	errors[1] = smc_stats_get(net, SMC_STAT_SRV_HS_ERR);
	nest = nla_nest_start(skb, SMC_GEN_STATS);
	if (!nest || nl_stats_put_tech(skb, NULL, SMC_NLA_STATS_SMCD_TECH) ||
	    nl_stats_put_tech(skb, net, SMC_NLA_STATS_SMCR_TECH) ||
	    nl_stats_put_numbers(skb, SMC_NLA_STATS_CLNT_HS_ERR_CNT, errors, ARRAY_SIZE(errors)) ||
	    nl_stats_put_own(skb, net)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	cb->args[0] = 1;
	return skb->len;
}

/**
 * smc_nl_dump_counters() - dumpit of SMC_NETLINK_OWN_GET_COUNTERS
 * @skb: answer
 * @cb: state of the dump: args[0] = next counter
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_counters(struct sk_buff *skb, struct netlink_callback *cb,
			 const struct genl_family *family)
{
	struct net *net = sock_net(skb->sk);
	void *hdr;

	for (; cb->args[0] < SMC_STAT_MAX; cb->args[0]++) {
		hdr = smc_nl_put_header(skb, cb, family, SMC_NETLINK_OWN_GET_COUNTERS);
		if (!hdr)
			break;
		if (nla_put_string(skb, SMC_NETLINK_COUNTER_NAME,
				   smc_stats_get_name(cb->args[0])) ||
		    nla_put_u64_64bit(skb, SMC_NETLINK_COUNTER_VALUE,
				      smc_stats_get(net, cb->args[0]), SMC_NETLINK_COUNTER_PAD)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	return skb->len;
}

/**
 * struct nl_stats_fallback - one reason for fallbacks
 * @net: namespace
 * @server: role of this host
 * @reason: diagnosis code
 * @count: number of fallbacks for this reason
 */
struct nl_stats_fallback {
	struct net *net;
	bool server;
	u32 reason;
	u64 count;
};

/*
 * Put one reason. The first message of a dump has the totals too. The count of <linux/smc.h> has 16
 * bits: it stops at its maximum, because a program would take a wrapped one for a reset.
 */
static int nl_stats_put_fallback(struct sk_buff *skb, struct netlink_callback *cb,
				 const struct genl_family *family,
				 const struct nl_stats_fallback *fback)
{
	const u64 sums[] = {
		smc_stats_get(fback->net, SMC_STAT_SRV_FBACK),
		smc_stats_get(fback->net, SMC_STAT_CLNT_FBACK),
	};
	struct nlattr *nest;
	void *hdr;

	hdr = smc_nl_put_header(skb, cb, family, SMC_NETLINK_GET_FBACK_STATS);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_GEN_FBACK_STATS);
	if (!nest || nla_put_u8(skb, SMC_NLA_FBACK_STATS_TYPE, fback->server) ||
	    (!cb->args[1] && nl_stats_put_numbers(skb, SMC_NLA_FBACK_STATS_SRV_CNT, sums,
						  ARRAY_SIZE(sums))) ||
	    nla_put_u32(skb, SMC_NLA_FBACK_STATS_RSN_CODE, fback->reason) ||
	    nla_put_u16(skb, SMC_NLA_FBACK_STATS_RSN_CNT, min_t(u64, fback->count, U16_MAX)) ||
	    nla_put_u64_64bit(skb, SMC_NETLINK_FBACK_STATS_OWN_COUNT, fback->count, NL_PAD)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	cb->args[1] = 1;
	return 0;
}

/**
 * smc_nl_dump_fallbacks() - dumpit of SMC_NETLINK_GET_FBACK_STATS
 * @skb: answer
 * @cb: state of the dump: args[0] = next slot, args[1] = 1: the totals were sent
 * @family: family SMC_GEN_NETLINK
 *
 * Return: as dumpit.
 */
int smc_nl_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct genl_family *family)
{
	struct nl_stats_fallback fback = { .net = sock_net(skb->sk) };
	long i;

	for (i = cb->args[0]; i < 2 * SMC_STATS_FBACK_SLOTS; i++) {
		fback.server = i >= SMC_STATS_FBACK_SLOTS;
		if (smc_stats_get_fallback(fback.net, fback.server, i % SMC_STATS_FBACK_SLOTS,
					   &fback.reason, &fback.count) &&
		    nl_stats_put_fallback(skb, cb, family, &fback))
			break;
	}
	cb->args[0] = i;
	return skb->len;
}
