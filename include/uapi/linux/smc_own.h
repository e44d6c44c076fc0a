/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Extensions of the module beyond <linux/smc.h>: socket options, and commands, attributes and
 * multicast groups of the generic netlink family SMC_GEN_NETLINK. Numbers of options, of commands,
 * and of attributes in messages of <linux/smc.h> start at 128; programs written for <linux/smc.h>
 * alone ignore them. Numbers are stable; additions get new numbers.
 */
#ifndef _UAPI_LINUX_SMC_OWN_H
#define _UAPI_LINUX_SMC_OWN_H

/* ---- socket options ---- */

/*
 * SOL_SMC, int: splice() from a connection lends the memory that the peer has written to, without a
 * copy. The peer can write at most one ring beyond the first byte that is still in a pipe or in use
 * after it, so this is for programs that empty their pipe before they wait for more. Accepted
 * sockets inherit it from their listener.
 */
#define SMC_OWN_SPLICE_LEND			128

/*
 * SOL_SMC, int, 0 or 1: same as SO_ZEROCOPY of SOL_SOCKET, which also returns the value set here.
 * For kernels before 6.7, where the core accepts SO_ZEROCOPY for a fixed list of protocols only.
 */
#define SMC_OWN_ZEROCOPY			129

/*
 * SOL_SMC, int: over which link of its group the connection sends: -1, the default, as
 * net.smc.smcr_link_policy says, or a value of that sysctl. Accepted sockets inherit it from their
 * listener.
 */
#define SMC_OWN_LINK_POLICY			130

/*
 * SOL_SMC, int: when a connection that may begin as TCP asks to continue over RDMA: -1, the
 * default, as net.smc.upgrade_bytes says; otherwise after so many bytes, 0: it begins with a
 * rendezvous, and as a server refuses requests. No effect while that sysctl is 0. Accepted sockets
 * inherit it from their listener.
 */
#define SMC_OWN_UPGRADE_BYTES			131

/*
 * SOL_SMC, int: whether the connection moves to a link that is added (again), for what this host
 * sends: -1, the default, as net.smc.smcr_balance says, or a value of that sysctl. Accepted sockets
 * inherit it from their listener.
 */
#define SMC_OWN_BALANCE				132

/* ---- which module this is ---- */

/*
 * Additional attributes in SMC_GEN_SYS_INFO. Other modules lack them, so NAME tells this module
 * from those.
 */
#define SMC_NETLINK_SYS_OWN_NAME		128	/* string, "AF_SMC" */
#define SMC_NETLINK_SYS_OWN_VERSION		129	/* string, of the module */
#define SMC_NETLINK_SYS_OWN_SRCVERSION		130	/* string, as in modinfo; absent: unknown */
#define SMC_NETLINK_SYS_OWN_PROTOCOLS		131	/* string, "1 2.0 2.1": SMC-R versions */
#define SMC_NETLINK_SYS_OWN_TCP_OPTION		132	/* string, "core": of TCP; "own": ours */
#define SMC_NETLINK_SYS_OWN_MAX			132

/* ---- dumps of groups and links ---- */

/* Additional attributes in SMC_GEN_LGR_SMCR; programs for the in-tree family ignore them. */
#define SMC_NETLINK_LGR_R_OWN_LINKS_LOST	128	/* u32 */
#define SMC_NETLINK_LGR_R_OWN_LOSS_REASON	129	/* string, of the last lost link */
#define SMC_NETLINK_LGR_R_OWN_LOSS_AGE		130	/* u64, seconds since then */
#define SMC_NETLINK_LGR_R_OWN_MOVES		131	/* u32 */
#define SMC_NETLINK_LGR_R_OWN_MAX		131

/* Additional attributes in SMC_GEN_LINK_SMCR. */
#define SMC_NETLINK_LINK_OWN_AGE		128	/* u32, seconds since it became usable */
#define SMC_NETLINK_LINK_OWN_MOVES		129	/* u32, connections moved to it */
#define SMC_NETLINK_LINK_OWN_BYTES		130	/* u32, of WRITEs that have not completed */
#define SMC_NETLINK_LINK_OWN_LATENCY		131	/* u32, ns, of a request; 0: unknown */
#define SMC_NETLINK_LINK_OWN_SENDS		132	/* u32, messages that it has room for */
#define SMC_NETLINK_LINK_OWN_RECVS		133	/* u32, receives that are posted at most */
#define SMC_NETLINK_LINK_OWN_MAX		133

/*
 * Additional attributes in SMC_GEN_STATS: nested tables with u64 attributes from 1 on; PAD is 0, as
 * in the tables of <linux/smc.h>.
 */
#define SMC_NETLINK_STATS_OWN_CLC_TX		128	/* messages by type: 1 Proposal ... */
#define SMC_NETLINK_STATS_OWN_CLC_RX		129
#define SMC_NETLINK_STATS_OWN_LLC_TX		130	/* 1 CONFIRM LINK ... 10 CAPABILITIES */
#define SMC_NETLINK_STATS_OWN_LLC_RX		131
#define SMC_NETLINK_STATS_OWN_HS_CLNT		132	/* handshakes by time: 1 up to 64 us, */
#define SMC_NETLINK_STATS_OWN_HS_SRV		133	/* 2 to 128 us ... 16 above 1048576 us */
#define SMC_NETLINK_STATS_OWN_MEM_NOW		134	/* bytes: 1 send rings, 2 RMBEs in use, */
#define SMC_NETLINK_STATS_OWN_MEM_PEAK		135	/* 3 pooled, 4 quarantined */
#define SMC_NETLINK_STATS_OWN_MAX		135

/* Additional attribute in SMC_GEN_FBACK_STATS. */
#define SMC_NETLINK_FBACK_STATS_OWN_COUNT	128	/* u64; RSN_CNT stops at 65535 */
#define SMC_NETLINK_FBACK_STATS_OWN_MAX		128

/*
 * Counters by name, all those of /proc/net/smc_stat: one message per counter, so that their number
 * can grow. Names are stable; unknown names come from a newer module.
 */
#define SMC_NETLINK_OWN_GET_COUNTERS		135
#define SMC_NETLINK_COUNTER_NAME		1	/* string */
#define SMC_NETLINK_COUNTER_VALUE		2	/* u64 */
#define SMC_NETLINK_COUNTER_PAD			3
#define SMC_NETLINK_COUNTER_MAX			3

/* ---- sock_diag ---- */

/*
 * A bit of smc_diag_req.diag_ext. It asks for the statistics of each connection over RDMA, which
 * come in one attribute. Bytes count from the start of the connection, times are microseconds if
 * they do not say otherwise.
 */
#define SMC_DIAG_OWN_EXT		0x80
#define SMC_DIAG_OWN_STATS		128	/* nest */
#define SMC_DIAG_STAT_PAD		1
#define SMC_DIAG_STAT_TX_BYTES		2	/* u64, written by the program */
#define SMC_DIAG_STAT_RX_BYTES		3	/* u64, received from the peer */
#define SMC_DIAG_STAT_TX_QUEUE		4	/* u32, bytes not acknowledged yet */
#define SMC_DIAG_STAT_RX_QUEUE		5	/* u32, bytes that the program has not read */
#define SMC_DIAG_STAT_TX_AGAIN		6	/* u64, bytes repeated after a failover */
#define SMC_DIAG_STAT_TX_MSGS		7	/* u32, CDC messages and immediate values */
#define SMC_DIAG_STAT_RX_MSGS		8	/* u32 */
#define SMC_DIAG_STAT_TX_DATA_MSGS	9	/* u32, of these behind data */
#define SMC_DIAG_STAT_RX_DATA_MSGS	10	/* u32 */
#define SMC_DIAG_STAT_RTT		11	/* u32, smoothed; absent: not known yet */
#define SMC_DIAG_STAT_RTT_VAR		12	/* u32, mean deviation; likewise */
#define SMC_DIAG_STAT_RTT_MIN		13	/* u32, likewise */
#define SMC_DIAG_STAT_RATE		14	/* u64, bytes per second, last measured */
#define SMC_DIAG_STAT_CLOSED		15	/* u32, times the peer had no room */
#define SMC_DIAG_STAT_CLOSED_USECS	16	/* u64, and how long, to this moment */
#define SMC_DIAG_STAT_MOVES		17	/* u32, changes of the link */
#define SMC_DIAG_STAT_MOVE_REASON	18	/* string, of the last one; absent: none */
#define SMC_DIAG_STAT_MOVE_AGE		19	/* u64, seconds since the last one */
#define SMC_DIAG_STAT_LAST_SENT		20	/* u32, ms since data was sent */
#define SMC_DIAG_STAT_LAST_RECEIVED	21	/* u32, ms since data was received */
/*
 * Bytes that TCP carried before the connection changed over to RDMA, which are not in TX_BYTES and
 * RX_BYTES. Absent: this direction has not, or the connection began over RDMA.
 */
#define SMC_DIAG_STAT_TCP_TX		22	/* u64 */
#define SMC_DIAG_STAT_TCP_RX		23	/* u64 */
#define SMC_DIAG_STAT_MAX		23

/*
 * A connection whose mode is TCP, but which is no fallback: it began as TCP, and may change over to
 * RDMA. Always there for such a connection; without a value.
 */
#define SMC_DIAG_OWN_DEFERRED		129

/* ---- commands for groups and links ---- */

/* Commands, numbered beyond those of any in-tree family, and their attributes. */
#define SMC_NETLINK_OWN_ADD_LINK		128
#define SMC_NETLINK_OWN_DEL_LINK		129
#define SMC_NETLINK_OWN_DEL_LGR			130
#define SMC_NETLINK_OWN_LGR_ID			1	/* u32, as in SMC_NLA_LGR_R_ID */
#define SMC_NETLINK_OWN_LINK_ID			2	/* u8, as in SMC_NLA_LINK_ID */
#define SMC_NETLINK_OWN_NOW			3	/* flag */
/* ADD_LINK only: the ends of the link; what is absent is not restricted. */
#define SMC_NETLINK_OWN_IB_DEV			4	/* string, RoCE device of this host */
#define SMC_NETLINK_OWN_IB_PORT			5	/* u8, its port; not without IB_DEV */
#define SMC_NETLINK_OWN_PEER_GID		6	/* 16 bytes, GID of the peer's RNIC */
#define SMC_NETLINK_OWN_MAX			6

/* ---- rules ---- */

/* Commands for rules and their attributes, which are not nested. */
#define SMC_NETLINK_OWN_ADD_RULE		131
#define SMC_NETLINK_OWN_DEL_RULE		132
#define SMC_NETLINK_OWN_FLUSH_RULES		133
#define SMC_NETLINK_OWN_GET_RULES		134
#define SMC_NETLINK_RULE_NUM			1	/* u32, position, from 1 on */
#define SMC_NETLINK_RULE_DENY			2	/* u8, 1: stay TCP, 0: may use SMC */
#define SMC_NETLINK_RULE_LOCAL			3	/* IPv6 or v4-mapped; absent: any */
#define SMC_NETLINK_RULE_LOCAL_LEN		4	/* u8, bits of LOCAL, of 128; absent: all */
#define SMC_NETLINK_RULE_LOCAL_PORT		5	/* u32, first port; absent: any */
#define SMC_NETLINK_RULE_LOCAL_LAST		6	/* u32, last port; absent: the first */
#define SMC_NETLINK_RULE_REMOTE			7	/* the peer's, likewise */
#define SMC_NETLINK_RULE_REMOTE_LEN		8
#define SMC_NETLINK_RULE_REMOTE_PORT		9
#define SMC_NETLINK_RULE_REMOTE_LAST		10
#define SMC_NETLINK_RULE_HITS			11	/* u64, connections decided by it */
#define SMC_NETLINK_RULE_PAD			12
#define SMC_NETLINK_RULE_MAX			12

/* ---- events ---- */

/*
 * Multicast groups. Any user may join. A listener receives the events of link groups in its
 * network namespace, and in the initial namespace also those of all other namespaces, which the
 * dumps show to CAP_NET_ADMIN alone; it receives fallbacks of its own namespace only. An event says
 * that something has changed; the dumps say what the state is now.
 *
 * A receive that fails with ENOBUFS means that events were lost. The rate of events is limited per
 * namespace and multicast group, that of refused upgrades apart. The first suppressed event is
 * reported by ENOBUFS, and the next one that is sent under the same limit has the number of
 * suppressed ones in UNTOLD.
 */
#define SMC_NETLINK_OWN_EVENTS_NAME		"events"	/* groups, links, failovers */
#define SMC_NETLINK_OWN_FBACKS_NAME		"fallbacks"
/*
 * Of the own namespace only, as fallbacks: ends of connections over RDMA, and what becomes of those
 * that begin as TCP because of net.smc.upgrade_bytes.
 */
#define SMC_NETLINK_OWN_CONNS_NAME		"connections"

/* Commands in the messages; the kernel does not accept them. */
#define SMC_NETLINK_OWN_EV_LGR_BEGIN		160	/* created by a first contact */
#define SMC_NETLINK_OWN_EV_LGR_END		161	/* group ended; REASON */
#define SMC_NETLINK_OWN_EV_LINK_UP		162	/* connections may use the link */
#define SMC_NETLINK_OWN_EV_LINK_LOST		163	/* link failed or removed; REASON */
#define SMC_NETLINK_OWN_EV_FAILOVER		164	/* connections moved; CONNS, REASON */
#define SMC_NETLINK_OWN_EV_FBACK		165	/* socket uses TCP until it is closed */
#define SMC_NETLINK_OWN_EV_CONN_END		166	/* connection ended, with its totals */
#define SMC_NETLINK_OWN_EV_CONN_UPGRADED	167	/* TCP so far, RDMA from now on; MSECS */
/* A request to upgrade has led to nothing, the connection stays TCP; REASON */
#define SMC_NETLINK_OWN_EV_UPGRADE_REFUSED	168

/*
 * Attributes, not nested. Events of groups have those up to REASON; links and failovers, too. The
 * end of a group has also MSECS, and of its connections that ended before CONNS, TX_BYTES and
 * RX_BYTES.
 */
#define SMC_NETLINK_EV_PAD			1
#define SMC_NETLINK_EV_NET_COOKIE		2	/* u64, of the namespace */
#define SMC_NETLINK_EV_LGR_ID			3	/* u32, as SMC_NLA_LGR_R_ID */
#define SMC_NETLINK_EV_ROLE			4	/* u8, 1: server; also in fallbacks */
#define SMC_NETLINK_EV_PEER			5	/* IPv6 or v4-mapped; also in fallbacks */
#define SMC_NETLINK_EV_REASON			6	/* string, of an end, a loss, a refusal */
/* Links and failovers only. */
#define SMC_NETLINK_EV_LINK_ID			7	/* u8, as SMC_NLA_LINK_ID */
#define SMC_NETLINK_EV_IB_DEV			8	/* string */
#define SMC_NETLINK_EV_IB_PORT			9	/* u8 */
#define SMC_NETLINK_EV_CONNS			10	/* u32, failover: connections moved */
/* Fallbacks; addresses and ports also in events of connections. */
#define SMC_NETLINK_EV_OWN_RSN			11	/* u32, our diagnosis code */
#define SMC_NETLINK_EV_PEER_RSN			12	/* u32, the peer's; 0: none */
#define SMC_NETLINK_EV_LOCAL			13	/* IPv6 or v4-mapped */
#define SMC_NETLINK_EV_LOCAL_PORT		14	/* u16 */
#define SMC_NETLINK_EV_PEER_PORT		15	/* u16 */
/* All events. */
#define SMC_NETLINK_EV_UNTOLD			16	/* u32, events suppressed before this one */
/*
 * Ends of connections. Events of connections have LGR_ID, ROLE, and addresses and ports, too.
 * Values as in SMC_DIAG_OWN_STATS.
 */
#define SMC_NETLINK_EV_ERROR			17	/* u32, errno; 0: both sides have closed */
#define SMC_NETLINK_EV_MSECS			18	/* u64, since it began; see below */
#define SMC_NETLINK_EV_TX_BYTES			19	/* u64 */
#define SMC_NETLINK_EV_RX_BYTES			20	/* u64 */
#define SMC_NETLINK_EV_TX_AGAIN			21	/* u64 */
#define SMC_NETLINK_EV_TX_MSGS			22	/* u32 */
#define SMC_NETLINK_EV_RX_MSGS			23	/* u32 */
#define SMC_NETLINK_EV_RTT			24	/* u32; absent: not known */
#define SMC_NETLINK_EV_RTT_MIN			25	/* u32; likewise */
#define SMC_NETLINK_EV_CLOSED_USECS		26	/* u64 */
#define SMC_NETLINK_EV_MOVES			27	/* u32 */
#define SMC_NETLINK_EV_MAX			27

/*
 * MSECS of an upgraded connection is the time since it began over TCP: since connect() of a client,
 * or since a server has taken it from TCP. REASON of a refusal: the server says "unknown": it does
 * not know the connection; "later": not now; "excluded": a setting, a rule or the path; "memory":
 * or no place in the group; "other": a reason of a later version. Or the client has withdrawn the
 * request: "withdrawn". Both ends send the event, but a server none for a connection that it does
 * not know.
 */

#endif
