/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics per namespace, per CPU; fallback reasons. Rank 1. */
#ifndef _SMC_STATS_H
#define _SMC_STATS_H

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
	SMC_STAT_HS_EVICTED,		/* silent clients of a host with too many, cut off early */
	SMC_STAT_FIRST_CONTACT,		/* groups created */
	SMC_STAT_TX_BYTES,		/* user bytes taken by sendmsg on SMC */
	SMC_STAT_RX_BYTES,
	SMC_STAT_TX_CNT,		/* sendmsg calls on SMC */
	SMC_STAT_RX_CNT,
	SMC_STAT_TX_WRITE_BYTES,	/* bytes posted as RDMA WRITE */
	SMC_STAT_TX_WRITES,		/* RDMA WRITE requests */
	SMC_STAT_TX_CDC,
	SMC_STAT_RX_CDC,
	SMC_STAT_RX_CDC_BAD,		/* dropped: malformed, unknown token, impossible cursor */
	SMC_STAT_TX_LLC,
	SMC_STAT_RX_LLC,
	SMC_STAT_RX_LLC_BAD,
	SMC_STAT_CLC_BAD,		/* malformed CLC messages */
	SMC_STAT_TX_NOSLOT,		/* pushes that found no send slot */
	SMC_STAT_TX_WINDOW_CLOSED,	/* times the peer was told that its window is closed */
	SMC_STAT_LINK_FAIL,
	SMC_STAT_LGR_TERM,
	SMC_STAT_CONN_ABORT,
	SMC_STAT_RKEY_CONFIRM,		/* CONFIRM RKEY requests sent */
	SMC_STAT_MR_REG,		/* memory registrations posted */
	SMC_STAT_ELEM_REUSE,		/* elements taken from the pool */
	SMC_STAT_ELEM_QUARANTINE,
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
const char *smc_stats_name(enum smc_stat stat);

#define SMC_STATS_FBACK_SLOTS	36

/* One fallback with its reason; @server tells the side. */
void smc_stats_fallback(struct net *net, bool server, u32 reason);
/* Copies slot @i: false when unused. */
bool smc_stats_fallback_get(struct net *net, bool server, int i, u32 *reason, u16 *count);

#endif
