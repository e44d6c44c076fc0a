/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics per namespace, per CPU; fallback reasons. Rank 1. */
#ifndef _SMC_BASE_STATS_H
#define _SMC_BASE_STATS_H

#include <linux/types.h>

struct net;

/* One per-CPU u64 each; names appear in Documentation and netlink. */
enum smc_stat {
	SMC_STAT_CLNT_SMC,		/* client handshakes that ended on SMC */
	SMC_STAT_SRV_SMC,
	SMC_STAT_CLNT_V1,		/* those of them that use version 1 */
	SMC_STAT_SRV_V1,
	SMC_STAT_CLNT_FBACK,
	SMC_STAT_SRV_FBACK,
	SMC_STAT_CLNT_HS_ERR,		/* handshakes that killed the connection */
	SMC_STAT_SRV_HS_ERR,
	SMC_STAT_HS_CONGESTED,		/* SYNs answered without the option: too many handshakes */
	SMC_STAT_HS_LIMITED,		/* handshakes that found no place */
	SMC_STAT_HS_AGAIN,		/* second connections, by TCP alone */
	SMC_STAT_HS_EVICTED,		/* silent clients of a host with too many, cut off early */
	SMC_STAT_FIRST_CONTACT,		/* groups created */
	SMC_STAT_TX_BYTES,		/* user bytes taken by sendmsg on SMC */
	SMC_STAT_RX_BYTES,
	SMC_STAT_TX_CNT,		/* sendmsg calls on SMC */
	SMC_STAT_RX_CNT,
	SMC_STAT_TX_WRITE_BYTES,	/* bytes posted as RDMA WRITE */
	SMC_STAT_TX_WRITES,		/* RDMA WRITE requests */
	SMC_STAT_TX_ZC_BYTES,		/* bytes of these that lay in pages of the application */
	SMC_STAT_TX_ZC_COPIED,		/* bytes for which that was asked, and which were copied */
	SMC_STAT_RX_LEND_PAGES,		/* pages of RMBEs put into pipes as they are */
	SMC_STAT_RX_LEND_COPIED,	/* bytes for which that was asked, and which were copied */
	SMC_STAT_TX_CDC,
	SMC_STAT_RX_CDC,
	SMC_STAT_RX_CDC_BAD,		/* dropped: malformed, unknown token, impossible cursor */
	SMC_STAT_TX_LLC,
	SMC_STAT_RX_LLC,
	SMC_STAT_RX_LLC_BAD,
	SMC_STAT_CLC_BAD,		/* malformed CLC messages */
	SMC_STAT_PEER_END_BAD,		/* Accepts, Confirms: memory not told of, or another's */
	SMC_STAT_TX_NOSLOT,		/* pushes that found no send slot */
	SMC_STAT_TX_WINDOW_CLOSED,	/* times the peer was told that its window is closed */
	SMC_STAT_LINK_FAIL,
	SMC_STAT_LINK_STALL,		/* those of them with a request that did not finish */
	SMC_STAT_LINK_ADD,		/* further links that groups got */
	SMC_STAT_LINK_ASYM,		/* those of them that were asymmetric */
	SMC_STAT_LINK_ADD_FAIL,		/* wanted by both sides, and given up */
	SMC_STAT_LINK_DEL,		/* taken out of use by DELETE LINK */
	SMC_STAT_LINK_REJECT,		/* ADD LINK refused, by us or by the peer */
	SMC_STAT_LGR_TERM,
	SMC_STAT_LINK_LEFT,		/* links that connections had to leave */
	SMC_STAT_FENCE_LATE,		/* those of them whose queue pair was not flushed in time */
	SMC_STAT_CONN_MOVE,		/* connections that went on over another link */
	SMC_STAT_CONN_BALANCE,		/* ... that went to a better one, theirs being well */
	SMC_STAT_CONN_STAY,		/* ... that were to, and stayed */
	SMC_STAT_TX_VALIDATION,		/* failover validations sent */
	SMC_STAT_RX_VALIDATION,
	SMC_STAT_VALIDATION_BAD,	/* those that told of lost bytes: connections aborted */
	SMC_STAT_MOVE_GAP,		/* messages lost, no validation: connections aborted */
	SMC_STAT_TX_AGAIN_BYTES,	/* bytes to be written again over another link */
	SMC_STAT_CONN_ABORT,
	SMC_STAT_RKEY_CONFIRM,		/* CONFIRM RKEY requests sent */
	SMC_STAT_RKEY_DELETE,		/* DELETE RKEY requests sent */
	SMC_STAT_RKEY_KEPT,		/* those that the peer refused or did not answer */
	SMC_STAT_REGION_GIVE,		/* idle regions given back */
	SMC_STAT_MR_REG,		/* memory registrations posted */
	SMC_STAT_TX_BUF_ALLOC,		/* send rings that made a new region necessary */
	SMC_STAT_RX_BUF_ALLOC,		/* RMBEs likewise */
	SMC_STAT_TX_BUF_REUSE,		/* send rings taken from the pool */
	SMC_STAT_RX_BUF_REUSE,
	SMC_STAT_TX_SMALL,		/* send calls with more than the send ring holds */
	SMC_STAT_TX_PEER_SMALL,		/* ... than the peer's RMBE holds */
	SMC_STAT_TX_FULL,		/* send calls that found the send ring full */
	SMC_STAT_RX_SMALL,		/* receive calls with more room than the RMBE has */
	SMC_STAT_RX_FULL,		/* times our RMBE was full */
	SMC_STAT_TX_SENDPAGE,		/* send calls with pages: sendfile, splice */
	SMC_STAT_RX_SPLICE,		/* splice calls out of a connection */
	SMC_STAT_TX_URGENT,		/* send calls with MSG_OOB */
	SMC_STAT_RX_URGENT,		/* urgent bytes read with MSG_OOB */
	SMC_STAT_CORK,			/* TCP_CORK set or cleared */
	SMC_STAT_NODELAY,		/* TCP_NODELAY set or cleared */
	SMC_STAT_ELEM_QUARANTINE,
	SMC_STAT_HS_RESET,		/* handshakes that the peer's reset or FIN ended */
	SMC_STAT_CLNT_HS_USECS,		/* microseconds of those that ended on SMC */
	SMC_STAT_SRV_HS_USECS,
	SMC_STAT_WINDOW_USECS,		/* microseconds of closed windows that opened again */
	SMC_STAT_WR_POSTS,		/* chains of requests posted for messages */
	SMC_STAT_WR_DONE,		/* completions of them, one for several of them */
	SMC_STAT_WR_PROBES,		/* requests of no bytes behind those that do not finish */
	SMC_STAT_WAKEUPS,		/* times that readers or writers of a socket were told */
	SMC_STAT_EVENT_LOST,		/* netlink events for which there was no memory */
	SMC_STAT_EVENT_UNTOLD,		/* ... that were not told: too many in a second */
	SMC_STAT_RMB_BYTES,		/* memory of RMBs */
	SMC_STAT_RMB_FREED,		/* of this: freed */
	SMC_STAT_MAX
};

int smc_stats_init(void);
void smc_stats_exit(void);

void smc_stats_add(struct net *net, enum smc_stat stat, u64 n);
static inline void smc_stats_inc(struct net *net, enum smc_stat stat)
{
	smc_stats_add(net, stat, 1);
}

u64 smc_stats_get(struct net *net, enum smc_stat stat);

/* Numbers of calls and buffers by size. */
enum smc_stats_hist {
	SMC_HIST_TX_REQ,		/* bytes that a send call took */
	SMC_HIST_RX_REQ,		/* bytes that a receive call gave */
	SMC_HIST_TX_BUF,		/* size of the send ring of a new connection */
	SMC_HIST_RX_BUF,		/* size of its RMBE */
	SMC_HISTS
};

/* Up to 8 KiB, 16 KiB, ... 1 MiB, and above that. */
#define SMC_STATS_SIZES		9

void smc_stats_size(struct net *net, enum smc_stats_hist hist, size_t bytes);
u64 smc_stats_size_get(struct net *net, enum smc_stats_hist hist, unsigned int i);

/* Messages by type, 1 to SMC_STATS_TYPES; that of LLC is without the bit of version 2. */
enum smc_stats_msgs {
	SMC_MSGS_CLC_TX,
	SMC_MSGS_CLC_RX,
	SMC_MSGS_LLC_TX,
	SMC_MSGS_LLC_RX,
	SMC_MSGS
};

#define SMC_STATS_TYPES		9

void smc_stats_msg(struct net *net, enum smc_stats_msgs way, u8 type);
u64 smc_stats_msg_get(struct net *net, enum smc_stats_msgs way, u8 type);

/* Handshakes that ended on SMC by the time they took: up to 64 us, 128 us, ... 1 s, and more. */
#define SMC_STATS_TIMES		16

void smc_stats_handshake(struct net *net, bool server, u64 ns);
u64 smc_stats_handshake_get(struct net *net, bool server, unsigned int i);

/* Memory of a namespace, each as it is now and as it was at most. */
enum smc_stats_mem {
	SMC_MEM_SND,			/* send rings, in use and pooled */
	SMC_MEM_RMB_USED,		/* RMBEs of connections */
	SMC_MEM_RMB_POOLED,		/* RMBEs for others */
	SMC_MEM_RMB_QUARANTINE,		/* RMBEs that a peer may still write into */
	SMC_MEMS
};

void smc_stats_mem(struct net *net, enum smc_stats_mem what, s64 bytes);
u64 smc_stats_mem_now(struct net *net, enum smc_stats_mem what);
u64 smc_stats_mem_peak(struct net *net, enum smc_stats_mem what);

const char *smc_stats_name(enum smc_stat stat);

#define SMC_STATS_FBACK_SLOTS	36

/* One fallback with its reason; @server tells the side. */
void smc_stats_fallback(struct net *net, bool server, u32 reason);
/* Copies slot @i: false when unused. */
bool smc_stats_fallback_get(struct net *net, bool server, int i, u32 *reason, u16 *count);

#endif
