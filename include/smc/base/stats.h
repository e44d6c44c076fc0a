/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics per namespace. */
#ifndef _SMC_BASE_STATS_H
#define _SMC_BASE_STATS_H

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

struct net;

/* Counters, one u64 per CPU each; the names are part of Documentation and netlink. */
enum smc_stat {
	SMC_STAT_CLNT_SMC,		/* client handshakes that ended on SMC */
	SMC_STAT_SRV_SMC,
	SMC_STAT_CLNT_V1,		/* of these: use version 1 */
	SMC_STAT_SRV_V1,
	SMC_STAT_CLNT_FBACK,
	SMC_STAT_SRV_FBACK,
	SMC_STAT_CLNT_HS_ERR,		/* handshakes that ended the connection */
	SMC_STAT_SRV_HS_ERR,
	SMC_STAT_HS_CONGESTED,		/* SYNs answered without the option: too many handshakes */
	SMC_STAT_HS_LIMITED,		/* handshakes beyond a limit of admission */
	SMC_STAT_HS_AGAIN,		/* second attempts to connect, with TCP only */
	SMC_STAT_HS_EVICTED,		/* silent clients of a host with too many, ended early */
	SMC_STAT_HS_UNRESOLVED,		/* GIDs not resolved: the host had named too many */
	SMC_STAT_FIRST_CONTACT,		/* groups created */
	SMC_STAT_TX_BYTES,		/* user bytes taken by sendmsg on SMC */
	SMC_STAT_RX_BYTES,
	SMC_STAT_TX_CNT,		/* sendmsg calls on SMC */
	SMC_STAT_RX_CNT,
	SMC_STAT_TX_WRITE_BYTES,	/* bytes posted as RDMA WRITE */
	SMC_STAT_TX_WRITES,		/* RDMA WRITE requests */
	SMC_STAT_TX_ZC_BYTES,		/* bytes of these sent from pages of the application */
	SMC_STAT_TX_ZC_COPIED,		/* bytes copied although zero copy was requested */
	SMC_STAT_RX_LEND_PAGES,		/* pages of RMBEs lent to pipes */
	SMC_STAT_RX_LEND_COPIED,	/* bytes copied to pipes although lending was requested */
	SMC_STAT_TX_CDC,
	SMC_STAT_RX_CDC,
	SMC_STAT_TX_IMM,		/* immediate values in place of CDC messages */
	SMC_STAT_RX_IMM,
	SMC_STAT_RX_CDC_BAD,		/* malformed, unknown token, impossible, not announced */
	SMC_STAT_TX_LLC,
	SMC_STAT_RX_LLC,
	SMC_STAT_RX_LLC_BAD,
	SMC_STAT_CLC_BAD,		/* malformed CLC messages */
	SMC_STAT_PEER_END_BAD,		/* peer's end: rkey unknown, RMBE or token in use */
	SMC_STAT_TX_NOSLOT,		/* attempts to send without a free send slot */
	SMC_STAT_TX_WINDOW_CLOSED,	/* times that flag B was sent: window closed */
	SMC_STAT_LINK_FAIL,
	SMC_STAT_LINK_STALL,		/* of these: a request did not finish in time */
	SMC_STAT_LINK_ADD,		/* links added to groups, without the first one */
	SMC_STAT_LINK_ASYM,		/* of these: asymmetric */
	SMC_STAT_LINK_ADD_FAIL,		/* accepted by both sides, then given up */
	SMC_STAT_LINK_DEL,		/* removed by DELETE LINK */
	SMC_STAT_LINK_REJECT,		/* ADD LINK rejected by either side */
	SMC_STAT_LGR_TERM,
	SMC_STAT_LGR_LIMITED,		/* not created: the peer host has too many groups */
	SMC_STAT_LGR_EVICTED,		/* idle ones ended early to make room for their host */
	SMC_STAT_LINK_LEFT,		/* links fenced after they were established */
	SMC_STAT_FENCE_LATE,		/* of these: queue pair not flushed in time */
	SMC_STAT_CONN_MOVE,		/* connections moved by failover */
	SMC_STAT_CONN_BALANCE,		/* orderly moves to a better link */
	SMC_STAT_CONN_STAY,		/* orderly moves given up */
	SMC_STAT_TX_VALIDATION,		/* failover validations sent */
	SMC_STAT_RX_VALIDATION,
	SMC_STAT_VALIDATION_BAD,	/* of these: bytes were lost, connection aborted */
	SMC_STAT_MOVE_GAP,		/* messages lost, no validation: connection aborted */
	SMC_STAT_TX_AGAIN_BYTES,	/* bytes to write again over another link */
	SMC_STAT_CONN_ABORT,
	SMC_STAT_RKEY_CONFIRM,		/* CONFIRM RKEY requests sent */
	SMC_STAT_RKEY_DELETE,		/* DELETE RKEY requests sent */
	SMC_STAT_RKEY_KEPT,		/* of these: refused or not answered by the peer */
	SMC_STAT_REGION_GIVE,		/* idle regions freed */
	SMC_STAT_MR_REG,		/* memory registrations posted */
	SMC_STAT_TX_BUF_ALLOC,		/* send rings that needed a new region */
	SMC_STAT_RX_BUF_ALLOC,		/* RMBEs likewise */
	SMC_STAT_TX_BUF_REUSE,		/* send rings taken from the pool */
	SMC_STAT_RX_BUF_REUSE,
	SMC_STAT_TX_SMALL,		/* send calls with more bytes than the send ring holds */
	SMC_STAT_TX_PEER_SMALL,		/* send calls with more bytes than the peer's RMBE holds */
	SMC_STAT_TX_FULL,		/* send calls with a full send ring */
	SMC_STAT_RX_SMALL,		/* receive calls for more bytes than the RMBE holds */
	SMC_STAT_RX_FULL,		/* times our RMBE was full */
	SMC_STAT_TX_SENDPAGE,		/* send calls with pages: sendfile, splice */
	SMC_STAT_RX_SPLICE,		/* splice() calls that read a connection */
	SMC_STAT_TX_URGENT,		/* send calls with MSG_OOB */
	SMC_STAT_RX_URGENT,		/* urgent bytes read with MSG_OOB */
	SMC_STAT_CORK,			/* TCP_CORK set or cleared */
	SMC_STAT_NODELAY,		/* TCP_NODELAY set or cleared */
	SMC_STAT_ELEM_QUARANTINE,
	SMC_STAT_HS_RESET,		/* handshakes ended by the peer's reset or FIN */
	SMC_STAT_CLNT_HS_USECS,		/* microseconds of handshakes that ended on SMC */
	SMC_STAT_SRV_HS_USECS,
	SMC_STAT_WINDOW_USECS,		/* microseconds of closed windows that opened again */
	SMC_STAT_WR_POSTS,		/* chains of requests posted for messages */
	SMC_STAT_WR_DONE,		/* their completions, one for several chains */
	SMC_STAT_WR_PROBES,		/* empty requests posted behind unfinished ones */
	SMC_STAT_WAKEUPS,		/* wakeups of readers or writers of a socket */
	SMC_STAT_EVENT_LOST,		/* netlink events lost for lack of memory */
	SMC_STAT_EVENT_SUPPRESSED,	/* netlink events suppressed by the rate limit */
	SMC_STAT_RMB_BYTES,		/* bytes of all RMBs allocated so far */
	SMC_STAT_RMB_FREED,		/* of these: freed */
	SMC_STAT_MEM_LIMITED,		/* regions not allocated: a limit of memory is reached */
	SMC_STAT_JOIN_LIMITED,		/* groups not joined: too many unproven connections */
	SMC_STAT_TX_UPGRADE,		/* UPGRADE messages sent */
	SMC_STAT_RX_UPGRADE,		/* UPGRADE messages received */
	SMC_STAT_RX_UPGRADE_DROP,	/* of these: malformed, not announced, late, too many */
	SMC_STAT_UPGRADE_AGAIN,		/* UPGRADE messages sent again: no answer for a while */
	SMC_STAT_DEFERRED,		/* connections that began as TCP and may change over */
	SMC_STAT_UPGRADE_ASKED,		/* requests sent by clients, received by servers */
	SMC_STAT_UPGRADE_REFUSED,	/* of these: the server said no; at both ends */
	SMC_STAT_UPGRADE_UNKNOWN,	/* of these: it does not know the connection */
	SMC_STAT_UPGRADE_LATER,		/* ... not now */
	SMC_STAT_UPGRADE_EXCLUDED,	/* ... an option, rule or path */
	SMC_STAT_UPGRADE_MEMORY,	/* ... no memory, or no place in the group */
	SMC_STAT_UPGRADE_WITHDRAWN,	/* requests withdrawn before GO */
	SMC_STAT_UPGRADED,		/* connections that changed over to RDMA */
	SMC_STAT_UPGRADE_TCP_BYTES,	/* bytes before S of each direction of them */
	SMC_STAT_AUTOSMC_TCP,		/* connections that AUTOSMC made TCP: others were short */
	SMC_STAT_AUTOSMC_PROBE,		/* connections with which it tried SMC again */
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

/* Histograms of sizes. */
enum smc_stats_hist {
	SMC_HIST_TX_REQ,		/* bytes accepted by a send call */
	SMC_HIST_RX_REQ,		/* bytes returned by a receive call */
	SMC_HIST_TX_BUF,		/* size of the send ring of a new connection */
	SMC_HIST_RX_BUF,		/* size of its RMBE */
	SMC_HISTS
};

/* Size classes: up to 8 KiB, 16 KiB, ... 1 MiB, and above. */
#define SMC_STATS_SIZES		9

void smc_stats_add_size(struct net *net, enum smc_stats_hist hist, size_t bytes);
u64 smc_stats_get_size(struct net *net, enum smc_stats_hist hist, unsigned int i);

/* Messages by type, 1 to SMC_STATS_TYPES; types of LLC are counted without the bit of version 2. */
enum smc_stats_msgs {
	SMC_MSGS_CLC_TX,
	SMC_MSGS_CLC_RX,
	SMC_MSGS_LLC_TX,
	SMC_MSGS_LLC_RX,
	SMC_MSGS
};

#define SMC_STATS_TYPES		10

void smc_stats_add_msg(struct net *net, enum smc_stats_msgs way, u8 type);
u64 smc_stats_get_msg(struct net *net, enum smc_stats_msgs way, u8 type);

/* Durations of handshakes that ended on SMC: up to 64 us, 128 us, ... 1 s, and above. */
#define SMC_STATS_TIMES		16

void smc_stats_add_handshake(struct net *net, bool server, u64 ns);
u64 smc_stats_get_handshake(struct net *net, bool server, unsigned int i);

/* Memory of a namespace, by kind. */
enum smc_stats_mem {
	SMC_MEM_SND,			/* send rings, in use and pooled */
	SMC_MEM_RMB_USED,		/* RMBEs of connections */
	SMC_MEM_RMB_POOLED,		/* free RMBEs */
	SMC_MEM_RMB_QUARANTINE,		/* RMBEs that a peer may still write to */
	SMC_MEMS
};

void smc_stats_mem(struct net *net, enum smc_stats_mem what, s64 bytes);
u64 smc_stats_get_mem(struct net *net, enum smc_stats_mem what);
u64 smc_stats_get_mem_peak(struct net *net, enum smc_stats_mem what);

const char *smc_stats_get_name(enum smc_stat stat);

/**
 * struct smc_stats - counters of one namespace on one CPU
 * @value: by enum smc_stat
 * @sizes: histograms of sizes
 * @msgs: messages by type
 * @times: histograms of handshake durations, client and server
 * @sync: for readers on 32-bit hosts
 */
struct smc_stats {
	u64 value[SMC_STAT_MAX];
	u64 sizes[SMC_HISTS][SMC_STATS_SIZES];
	u64 msgs[SMC_MSGS][SMC_STATS_TYPES];
	u64 times[2][SMC_STATS_TIMES];
	struct u64_stats_sync sync;
};

struct smc_stats __percpu *smc_stats_of(struct net *net);
void smc_stats_add_at(struct smc_stats __percpu *stats, size_t offset, u64 n);

/**
 * smc_stats_count() - Add to a counter, where it has to be quick
 * @stats: from smc_stats_of(); valid as long as the namespace
 * @stat: counter
 * @n: amount
 *
 * Any context.
 */
static inline void smc_stats_count(struct smc_stats __percpu *stats, enum smc_stat stat, u64 n)
{
	if (IS_ENABLED(CONFIG_64BIT))
		this_cpu_add(stats->value[stat], n);
	else
		smc_stats_add_at(stats, offsetof(struct smc_stats, value[stat]), n);
}

/* Return the size class of @bytes. */
static inline unsigned int smc_stats_size_class(size_t bytes)
{
	if (bytes <= SZ_8K)
		return 0;
	return min_t(unsigned int, ilog2(bytes - 1) - ilog2(SZ_8K) + 1, SMC_STATS_SIZES - 1);
}

/**
 * smc_stats_count_size() - Count a call by its size, where it has to be quick
 * @stats: from smc_stats_of()
 * @hist: histogram
 * @bytes: size
 *
 * Any context.
 */
static inline void smc_stats_count_size(struct smc_stats __percpu *stats, enum smc_stats_hist hist,
					size_t bytes)
{
	unsigned int i = smc_stats_size_class(bytes);

	if (IS_ENABLED(CONFIG_64BIT))
		this_cpu_inc(stats->sizes[hist][i]);
	else
		smc_stats_add_at(stats, offsetof(struct smc_stats, sizes[hist][i]), 1);
}

/* Fallback reasons per side; later ones are only part of the sum. */
#define SMC_STATS_FBACK_SLOTS	36

void smc_stats_add_fallback(struct net *net, bool server, u32 reason);
bool smc_stats_get_fallback(struct net *net, bool server, int i, u32 *reason, u64 *count);

#endif
