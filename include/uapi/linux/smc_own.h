/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What the module has beyond <linux/smc.h>: socket options, and commands, attributes and
 * multicast groups of the generic netlink family SMC_GEN_NETLINK. Numbers of attributes that
 * stand beside those of <linux/smc.h>, of commands and of options begin at 128, so that
 * programs that know the others only pass them by. Numbers stay; what comes later gets new
 * ones.
 */
#ifndef _UAPI_LINUX_SMC_OWN_H
#define _UAPI_LINUX_SMC_OWN_H

/* ---- socket options ---- */

/*
 * SOL_SMC, int: splice() out of a connection hands out the memory that the peer has written
 * the bytes to. It can write no more than a ring beyond the first byte that is still in a pipe,
 * or on its way to where it went from there: for programs that empty their pipe before they
 * wait for more. Accepted sockets have it from their listener.
 */
#define SMC_OWN_SPLICE_LEND			128

/*
 * SOL_SMC, int, 0 or 1: the same as SO_ZEROCOPY of SOL_SOCKET, which shows what was set here, too.
 * For kernels before 6.7, where the core refuses that one to all sockets but those of protocols
 * that it knows.
 */
#define SMC_OWN_ZEROCOPY			129

/* ---- in the answers about groups and links ---- */

/* Attributes of our own in SMC_GEN_LGR_SMCR, which programs of the in-tree family pass by. */
#define SMC_NETLINK_LGR_R_OWN_LINKS_LOST	128	/* u32 */
#define SMC_NETLINK_LGR_R_OWN_LOSS_REASON	129	/* string, of the last one */
#define SMC_NETLINK_LGR_R_OWN_LOSS_AGE		130	/* u64, seconds */
#define SMC_NETLINK_LGR_R_OWN_MOVES		131	/* u32 */
#define SMC_NETLINK_LGR_R_OWN_MAX		131

/* ... and in SMC_GEN_LINK_SMCR */
#define SMC_NETLINK_LINK_OWN_AGE		128	/* u32, seconds since it could be used */
#define SMC_NETLINK_LINK_OWN_MOVES		129	/* u32, connections that came from others */
#define SMC_NETLINK_LINK_OWN_BYTES		130	/* u32, of WRITEs that have not completed */
#define SMC_NETLINK_LINK_OWN_LATENCY		131	/* u32, ns, of a request; 0: not known */
#define SMC_NETLINK_LINK_OWN_SENDS		132	/* u32, messages it has room for */
#define SMC_NETLINK_LINK_OWN_RECVS		133	/* u32, receives it keeps posted */
#define SMC_NETLINK_LINK_OWN_MAX		133

/*
 * ... and in SMC_GEN_STATS: tables, each with attributes from 1 on, u64 all of them, PAD of 0 as
 * in the others there.
 */
#define SMC_NETLINK_STATS_OWN_CLC_TX		128	/* messages by type: 1 Proposal ... */
#define SMC_NETLINK_STATS_OWN_CLC_RX		129
#define SMC_NETLINK_STATS_OWN_LLC_TX		130	/* 1 CONFIRM LINK ... 9 DELETE RKEY */
#define SMC_NETLINK_STATS_OWN_LLC_RX		131
#define SMC_NETLINK_STATS_OWN_HS_CLNT		132	/* handshakes by time: 1 up to 64 us, */
#define SMC_NETLINK_STATS_OWN_HS_SRV		133	/* 2 to 128 us ... 16 above 1048576 us */
#define SMC_NETLINK_STATS_OWN_MEM_NOW		134	/* bytes: 1 send rings, 2 RMBEs in use, */
#define SMC_NETLINK_STATS_OWN_MEM_PEAK		135	/* 3 pooled, 4 quarantined */
#define SMC_NETLINK_STATS_OWN_MAX		135

/*
 * Counters by name, all that /proc/net/smc_stat has: a message each, so that there can be more of
 * them. Names stay; those that a program does not know are those of a newer module.
 */
#define SMC_NETLINK_OWN_GET_COUNTERS		135
#define SMC_NETLINK_COUNTER_NAME		1	/* string */
#define SMC_NETLINK_COUNTER_VALUE		2	/* u64 */
#define SMC_NETLINK_COUNTER_PAD			3
#define SMC_NETLINK_COUNTER_MAX			3

/* ---- orders ---- */

/* Commands of our own, numbered beyond those of any in-tree family, and their attributes. */
#define SMC_NETLINK_OWN_ADD_LINK		128
#define SMC_NETLINK_OWN_DEL_LINK		129
#define SMC_NETLINK_OWN_DEL_LGR			130
#define SMC_NETLINK_OWN_LGR_ID			1	/* u32, as SMC_NLA_LGR_R_ID tells it */
#define SMC_NETLINK_OWN_LINK_ID			2	/* u8, as SMC_NLA_LINK_ID tells it */
#define SMC_NETLINK_OWN_NOW			3	/* flag */
#define SMC_NETLINK_OWN_MAX			3

/* ---- rules ---- */

/* Commands and attributes about the rules; a rule is told flat. */
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

/* ---- events ---- */

/*
 * Multicast groups. Everybody may join: what they tell is what the dumps tell. A listener
 * hears of the groups of its network namespace, one in the first namespace of those of all
 * others, too, as it does in the dumps; of fallbacks it hears in their namespace only. An
 * event says that it is time to look again: what is true now the dumps tell. A receive that
 * fails with ENOBUFS says that events were lost. A namespace tells of so many per second and
 * multicast group: when it leaves one out that is such a loss, once until the next one that
 * it tells, which says in UNTOLD how many there were.
 */
#define SMC_NETLINK_OWN_EVENTS_NAME		"events"	/* groups, links, failovers */
#define SMC_NETLINK_OWN_FBACKS_NAME		"fallbacks"

/* Commands in the messages; nobody sends them to the kernel. */
#define SMC_NETLINK_OWN_EV_LGR_BEGIN		160	/* a first contact has begun it */
#define SMC_NETLINK_OWN_EV_LGR_END		161	/* why is in REASON */
#define SMC_NETLINK_OWN_EV_LINK_UP		162	/* connections may use it */
#define SMC_NETLINK_OWN_EV_LINK_LOST		163	/* they may not any more; REASON */
#define SMC_NETLINK_OWN_EV_FAILOVER		164	/* they have left it; CONNS, REASON */
#define SMC_NETLINK_OWN_EV_FBACK		165	/* a socket is TCP for life */

/* Attributes, flat. The first six of groups; up to REASON of links and failovers as well. */
#define SMC_NETLINK_EV_PAD			1
#define SMC_NETLINK_EV_NET_COOKIE		2	/* u64, of the namespace */
#define SMC_NETLINK_EV_LGR_ID			3	/* u32, as SMC_NLA_LGR_R_ID */
#define SMC_NETLINK_EV_ROLE			4	/* u8, 1: server; of fallbacks, too */
#define SMC_NETLINK_EV_PEER			5	/* IPv6 or v4-mapped; of fallbacks, too */
#define SMC_NETLINK_EV_REASON			6	/* string, of an end or a loss */
#define SMC_NETLINK_EV_LINK_ID			7	/* u8, as SMC_NLA_LINK_ID */
#define SMC_NETLINK_EV_IB_DEV			8	/* string */
#define SMC_NETLINK_EV_IB_PORT			9	/* u8 */
#define SMC_NETLINK_EV_CONNS			10	/* u32, those that go on over other links */
/* ... and of fallbacks */
#define SMC_NETLINK_EV_OWN_RSN			11	/* u32, our diagnosis code */
#define SMC_NETLINK_EV_PEER_RSN			12	/* u32, the peer's; 0: it gave none */
#define SMC_NETLINK_EV_LOCAL			13	/* IPv6 or v4-mapped */
#define SMC_NETLINK_EV_LOCAL_PORT		14	/* u16 */
#define SMC_NETLINK_EV_PEER_PORT		15	/* u16 */
#define SMC_NETLINK_EV_UNTOLD			16	/* u32, events left out just before it */
#define SMC_NETLINK_EV_MAX			16

#endif
