// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics per namespace: lock-free per-CPU counters, histograms, memory in use, and a table of
 * fallback reasons, which are rare, under a leaf spinlock. This file also holds the trace points.
 */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/u64_stats_sync.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>

/* Instantiate all trace points here: every object that uses one may depend on this one. */
#define CREATE_TRACE_POINTS
#include <smc/base/trace.h>

struct stats_reason {
	u32 reason;
	u64 count;
};

/**
 * struct stats_mem - Memory of one kind; changes with connections and regions only
 * @now: bytes
 * @peak: maximum so far
 */
struct stats_mem {
	atomic64_t now;
	atomic64_t peak;
};

/**
 * struct stats_net - Statistics of one namespace
 * @cpu: counters
 * @mem: memory by kind
 * @lock: protects @fback; leaf, BH off
 * @fback: [0] client side, [1] server side; a slot with count 0 is free
 */
struct stats_net {
	struct smc_stats __percpu *cpu;
	struct stats_mem mem[SMC_MEMS];
	spinlock_t lock;
	struct stats_reason fback[2][SMC_STATS_FBACK_SLOTS];
};

static unsigned int stats_net_id __read_mostly;

static const char *const stat_names[SMC_STAT_MAX] = {
	[SMC_STAT_CLNT_SMC]		= "clnt_smc",
	[SMC_STAT_SRV_SMC]		= "srv_smc",
	[SMC_STAT_CLNT_V1]		= "clnt_smc_v1",
	[SMC_STAT_SRV_V1]		= "srv_smc_v1",
	[SMC_STAT_CLNT_FBACK]		= "clnt_fback",
	[SMC_STAT_SRV_FBACK]		= "srv_fback",
	[SMC_STAT_CLNT_HS_ERR]		= "clnt_hs_err",
	[SMC_STAT_SRV_HS_ERR]		= "srv_hs_err",
	[SMC_STAT_HS_CONGESTED]		= "hs_congested",
	[SMC_STAT_HS_LIMITED]		= "hs_limited",
	[SMC_STAT_HS_AGAIN]		= "hs_again",
	[SMC_STAT_HS_EVICTED]		= "hs_evicted",
	[SMC_STAT_HS_UNRESOLVED]	= "hs_unresolved",
	[SMC_STAT_FIRST_CONTACT]	= "first_contact",
	[SMC_STAT_TX_BYTES]		= "tx_bytes",
	[SMC_STAT_RX_BYTES]		= "rx_bytes",
	[SMC_STAT_TX_CNT]		= "tx_cnt",
	[SMC_STAT_RX_CNT]		= "rx_cnt",
	[SMC_STAT_TX_WRITE_BYTES]	= "tx_write_bytes",
	[SMC_STAT_TX_WRITES]		= "tx_writes",
	[SMC_STAT_TX_ZC_BYTES]		= "tx_zc_bytes",
	[SMC_STAT_TX_ZC_COPIED]		= "tx_zc_copied",
	[SMC_STAT_RX_LEND_PAGES]	= "rx_lend_pages",
	[SMC_STAT_RX_LEND_COPIED]	= "rx_lend_copied",
	[SMC_STAT_TX_CDC]		= "tx_cdc",
	[SMC_STAT_RX_CDC]		= "rx_cdc",
	[SMC_STAT_TX_IMM]		= "tx_imm",
	[SMC_STAT_RX_IMM]		= "rx_imm",
	[SMC_STAT_RX_CDC_BAD]		= "rx_cdc_bad",
	[SMC_STAT_TX_LLC]		= "tx_llc",
	[SMC_STAT_RX_LLC]		= "rx_llc",
	[SMC_STAT_RX_LLC_BAD]		= "rx_llc_bad",
	[SMC_STAT_CLC_BAD]		= "clc_bad",
	[SMC_STAT_PEER_END_BAD]		= "peer_end_bad",
	[SMC_STAT_TX_NOSLOT]		= "tx_noslot",
	[SMC_STAT_TX_WINDOW_CLOSED]	= "tx_window_closed",
	[SMC_STAT_LINK_FAIL]		= "link_fail",
	[SMC_STAT_LINK_STALL]		= "link_stall",
	[SMC_STAT_LINK_ADD]		= "link_add",
	[SMC_STAT_LINK_ASYM]		= "link_asym",
	[SMC_STAT_LINK_ADD_FAIL]	= "link_add_fail",
	[SMC_STAT_LINK_DEL]		= "link_del",
	[SMC_STAT_LINK_REJECT]		= "link_reject",
	[SMC_STAT_LGR_TERM]		= "lgr_term",
	[SMC_STAT_LGR_LIMITED]		= "lgr_limited",
	[SMC_STAT_LGR_EVICTED]		= "lgr_evicted",
	[SMC_STAT_LINK_LEFT]		= "link_left",
	[SMC_STAT_FENCE_LATE]		= "fence_late",
	[SMC_STAT_CONN_MOVE]		= "conn_move",
	[SMC_STAT_CONN_BALANCE]		= "conn_balance",
	[SMC_STAT_CONN_STAY]		= "conn_stay",
	[SMC_STAT_TX_VALIDATION]	= "tx_validation",
	[SMC_STAT_RX_VALIDATION]	= "rx_validation",
	[SMC_STAT_VALIDATION_BAD]	= "validation_bad",
	[SMC_STAT_MOVE_GAP]		= "move_gap",
	[SMC_STAT_TX_AGAIN_BYTES]	= "tx_again_bytes",
	[SMC_STAT_CONN_ABORT]		= "conn_abort",
	[SMC_STAT_RKEY_CONFIRM]		= "rkey_confirm",
	[SMC_STAT_RKEY_DELETE]		= "rkey_delete",
	[SMC_STAT_RKEY_KEPT]		= "rkey_kept",
	[SMC_STAT_REGION_GIVE]		= "region_give",
	[SMC_STAT_MR_REG]		= "mr_reg",
	[SMC_STAT_TX_BUF_ALLOC]		= "tx_buf_alloc",
	[SMC_STAT_RX_BUF_ALLOC]		= "rx_buf_alloc",
	[SMC_STAT_TX_BUF_REUSE]		= "tx_buf_reuse",
	[SMC_STAT_RX_BUF_REUSE]		= "rx_buf_reuse",
	[SMC_STAT_TX_SMALL]		= "tx_small",
	[SMC_STAT_TX_PEER_SMALL]	= "tx_peer_small",
	[SMC_STAT_TX_FULL]		= "tx_full",
	[SMC_STAT_RX_SMALL]		= "rx_small",
	[SMC_STAT_RX_FULL]		= "rx_full",
	[SMC_STAT_TX_SENDPAGE]		= "tx_sendpage",
	[SMC_STAT_RX_SPLICE]		= "rx_splice",
	[SMC_STAT_TX_URGENT]		= "tx_urgent",
	[SMC_STAT_RX_URGENT]		= "rx_urgent",
	[SMC_STAT_CORK]			= "cork",
	[SMC_STAT_NODELAY]		= "nodelay",
	[SMC_STAT_ELEM_QUARANTINE]	= "elem_quarantine",
	[SMC_STAT_HS_RESET]		= "hs_reset",
	[SMC_STAT_CLNT_HS_USECS]	= "clnt_hs_usecs",
	[SMC_STAT_SRV_HS_USECS]		= "srv_hs_usecs",
	[SMC_STAT_WINDOW_USECS]		= "window_usecs",
	[SMC_STAT_WR_POSTS]		= "wr_posts",
	[SMC_STAT_WR_DONE]		= "wr_done",
	[SMC_STAT_WR_PROBES]		= "wr_probes",
	[SMC_STAT_WAKEUPS]		= "wakeups",
	[SMC_STAT_EVENT_LOST]		= "event_lost",
	[SMC_STAT_EVENT_SUPPRESSED]		= "event_untold",
	[SMC_STAT_RMB_BYTES]		= "rmb_bytes",
	[SMC_STAT_RMB_FREED]		= "rmb_freed",
	[SMC_STAT_MEM_LIMITED]		= "mem_limited",
	[SMC_STAT_JOIN_LIMITED]		= "join_limited",
	[SMC_STAT_TX_UPGRADE]		= "tx_upgrade",
	[SMC_STAT_RX_UPGRADE]		= "rx_upgrade",
	[SMC_STAT_RX_UPGRADE_DROP]	= "rx_upgrade_drop",
	[SMC_STAT_UPGRADE_AGAIN]	= "upgrade_again",
	[SMC_STAT_DEFERRED]		= "deferred",
	[SMC_STAT_UPGRADE_ASKED]	= "upgrade_asked",
	[SMC_STAT_UPGRADE_REFUSED]	= "upgrade_refused",
	[SMC_STAT_UPGRADE_UNKNOWN]	= "upgrade_unknown",
	[SMC_STAT_UPGRADE_LATER]	= "upgrade_later",
	[SMC_STAT_UPGRADE_EXCLUDED]	= "upgrade_excluded",
	[SMC_STAT_UPGRADE_MEMORY]	= "upgrade_memory",
	[SMC_STAT_UPGRADE_WITHDRAWN]	= "upgrade_withdrawn",
	[SMC_STAT_UPGRADED]		= "upgraded",
	[SMC_STAT_UPGRADE_TCP_BYTES]	= "upgrade_tcp_bytes",
	[SMC_STAT_AUTOSMC_TCP]		= "autosmc_tcp",
	[SMC_STAT_AUTOSMC_PROBE]	= "autosmc_probe",
};

static struct stats_net *stats_of_net(struct net *net)
{
	return net_generic(net, stats_net_id);
}

/**
 * smc_stats_of() - Return the counters of a namespace
 * @net: namespace
 *
 * Return: for smc_stats_count(); valid as long as the namespace.
 */
struct smc_stats __percpu *smc_stats_of(struct net *net)
{
	return stats_of_net(net)->cpu;
}

/**
 * smc_stats_add_at() - Add to a counter by its place
 * @stats: counters of a namespace
 * @offset: offset of the counter in struct smc_stats
 * @n: amount
 *
 * Any context.
 */
void smc_stats_add_at(struct smc_stats __percpu *stats, size_t offset, u64 n)
{
	struct smc_stats *cpu;
	unsigned long flags;

	if (IS_ENABLED(CONFIG_64BIT)) {
		this_cpu_add(*(u64 __percpu *)((char __percpu *)stats + offset), n);
		return;
	}
	cpu = get_cpu_ptr(stats);
	flags = u64_stats_update_begin_irqsave(&cpu->sync);
	*(u64 *)((char *)cpu + offset) += n;
	u64_stats_update_end_irqrestore(&cpu->sync, flags);
	put_cpu_ptr(stats);
}

static void stats_add_at(struct net *net, size_t offset, u64 n)
{
	smc_stats_add_at(stats_of_net(net)->cpu, offset, n);
}

static u64 stats_sum_at(struct net *net, size_t offset)
{
	struct stats_net *sn = stats_of_net(net);
	u64 all = 0;
	int i;

	for_each_possible_cpu(i) {
		struct smc_stats *cpu = per_cpu_ptr(sn->cpu, i);
		unsigned int start;
		u64 v;

		do {
			start = u64_stats_fetch_begin(&cpu->sync);
			v = READ_ONCE(*(u64 *)((char *)cpu + offset));
		} while (u64_stats_fetch_retry(&cpu->sync, start));
		all += v;
	}
	return all;
}

/**
 * smc_stats_add() - Add to a counter
 * @net: namespace
 * @stat: counter
 * @n: amount
 *
 * Any context.
 */
void smc_stats_add(struct net *net, enum smc_stat stat, u64 n)
{
	stats_add_at(net, offsetof(struct smc_stats, value[stat]), n);
}
EXPORT_SYMBOL_GPL(smc_stats_add);

/**
 * smc_stats_get() - Return the value of a counter
 * @net: namespace
 * @stat: counter
 *
 * Return: sum over all CPUs, a snapshot.
 */
u64 smc_stats_get(struct net *net, enum smc_stat stat)
{
	return stats_sum_at(net, offsetof(struct smc_stats, value[stat]));
}

/**
 * smc_stats_add_size() - Count a call or a buffer by its size
 * @net: namespace
 * @hist: histogram
 * @bytes: size
 *
 * Any context.
 */
void smc_stats_add_size(struct net *net, enum smc_stats_hist hist, size_t bytes)
{
	smc_stats_count_size(smc_stats_of(net), hist, bytes);
}

/**
 * smc_stats_get_size() - Return a value of a size histogram
 * @net: namespace
 * @hist: histogram
 * @i: size class: up to 8 KiB << @i; the last one has no limit
 *
 * Return: the number, a snapshot.
 */
u64 smc_stats_get_size(struct net *net, enum smc_stats_hist hist, unsigned int i)
{
	return stats_sum_at(net, offsetof(struct smc_stats, sizes[hist][i]));
}

/**
 * smc_stats_add_msg() - Count a message by its type
 * @net: namespace
 * @way: protocol and direction
 * @type: message type; other types than 1 to SMC_STATS_TYPES are not counted
 *
 * Any context.
 */
void smc_stats_add_msg(struct net *net, enum smc_stats_msgs way, u8 type)
{
	if (type && type <= SMC_STATS_TYPES)
		stats_add_at(net, offsetof(struct smc_stats, msgs[way][type - 1]), 1);
}

/**
 * smc_stats_get_msg() - Return the number of messages of a type
 * @net: namespace
 * @way: protocol and direction
 * @type: 1 to SMC_STATS_TYPES
 *
 * Return: the number, a snapshot.
 */
u64 smc_stats_get_msg(struct net *net, enum smc_stats_msgs way, u8 type)
{
	return stats_sum_at(net, offsetof(struct smc_stats, msgs[way][type - 1]));
}

/**
 * smc_stats_add_handshake() - Count a handshake that ended on SMC by its duration
 * @net: namespace
 * @server: side
 * @ns: duration in nanoseconds
 *
 * Any context.
 */
void smc_stats_add_handshake(struct net *net, bool server, u64 ns)
{
	u64 us = div_u64(ns, NSEC_PER_USEC);
	unsigned int i = 0;

	if (us > 64)
		i = min_t(unsigned int, ilog2(us - 1) - ilog2(64) + 1, SMC_STATS_TIMES - 1);
	stats_add_at(net, offsetof(struct smc_stats, times[server][i]), 1);
	smc_stats_add(net, server ? SMC_STAT_SRV_HS_USECS : SMC_STAT_CLNT_HS_USECS, us);
}

/**
 * smc_stats_get_handshake() - Return a value of the histogram of handshake durations
 * @net: namespace
 * @server: side
 * @i: time class: up to 64 us << @i; the last one has no limit
 *
 * Return: the number, a snapshot.
 */
u64 smc_stats_get_handshake(struct net *net, bool server, unsigned int i)
{
	return stats_sum_at(net, offsetof(struct smc_stats, times[server][i]));
}

/**
 * smc_stats_mem() - Account for memory
 * @net: namespace
 * @what: kind
 * @bytes: bytes added; negative: removed
 *
 * Any context.
 */
void smc_stats_mem(struct net *net, enum smc_stats_mem what, s64 bytes)
{
	struct stats_mem *mem = &stats_of_net(net)->mem[what];
	s64 now = atomic64_add_return(bytes, &mem->now);
	s64 peak = atomic64_read(&mem->peak);

	while (now > peak && !atomic64_try_cmpxchg(&mem->peak, &peak, now))
		;
}

/**
 * smc_stats_get_mem() - Return the memory in use
 * @net: namespace
 * @what: kind
 *
 * Return: bytes.
 */
u64 smc_stats_get_mem(struct net *net, enum smc_stats_mem what)
{
	return atomic64_read(&stats_of_net(net)->mem[what].now);
}

/**
 * smc_stats_get_mem_peak() - Return the maximum of the memory in use
 * @net: namespace
 * @what: kind
 *
 * Return: bytes.
 */
u64 smc_stats_get_mem_peak(struct net *net, enum smc_stats_mem what)
{
	return atomic64_read(&stats_of_net(net)->mem[what].peak);
}

/**
 * smc_stats_get_name() - Return the stable name of a counter
 * @stat: counter
 *
 * Return: a constant string.
 */
const char *smc_stats_get_name(enum smc_stat stat)
{
	return stat < SMC_STAT_MAX ? stat_names[stat] : "unknown";
}

/**
 * smc_stats_add_fallback() - Count a fallback by reason
 * @net: namespace
 * @server: side
 * @reason: diagnosis code, our own or the peer's
 *
 * If no slot is free for @reason, only the sum counts it. Any context but hardirq.
 */
void smc_stats_add_fallback(struct net *net, bool server, u32 reason)
{
	struct stats_net *sn = stats_of_net(net);
	struct stats_reason *f = sn->fback[server];
	int i;

	smc_stats_inc(net, server ? SMC_STAT_SRV_FBACK : SMC_STAT_CLNT_FBACK);
	spin_lock_bh(&sn->lock);
	for (i = 0; i < SMC_STATS_FBACK_SLOTS; i++) {
		if (f[i].count && f[i].reason != reason)
			continue;
		f[i].reason = reason;
		f[i].count++;
		break;
	}
	spin_unlock_bh(&sn->lock);
}

/**
 * smc_stats_get_fallback() - Read a slot of the table of fallback reasons
 * @net: namespace
 * @server: side
 * @i: slot, 0 .. SMC_STATS_FBACK_SLOTS - 1
 * @reason: filled in
 * @count: filled in
 *
 * Return: false if the slot is unused.
 */
bool smc_stats_get_fallback(struct net *net, bool server, int i, u32 *reason, u64 *count)
{
	struct stats_net *sn = stats_of_net(net);
	bool used;

	spin_lock_bh(&sn->lock);
	*reason = sn->fback[server][i].reason;
	*count = sn->fback[server][i].count;
	used = *count;
	spin_unlock_bh(&sn->lock);
	return used;
}

/* /proc/net/smc_stat: a line "name value" per counter, for scripts and tests. */
static int stats_show(struct seq_file *seq, void *v)
{
	struct net *net = seq_file_single_net(seq);
	enum smc_stat i;

	for (i = 0; i < SMC_STAT_MAX; i++)
		seq_printf(seq, "%s %llu\n", smc_stats_get_name(i), smc_stats_get(net, i));
	return 0;
}

static int __net_init stats_net_init(struct net *net)
{
	struct stats_net *sn = stats_of_net(net);
	int i;

	spin_lock_init(&sn->lock);
	sn->cpu = smc_fault_null(STATS_PERCPU, alloc_percpu(struct smc_stats));
	if (!sn->cpu)
		return -ENOMEM;
	for_each_possible_cpu(i)
		u64_stats_init(&per_cpu_ptr(sn->cpu, i)->sync);
	if (!smc_fault_null(STATS_PROC, proc_create_net_single("smc_stat", 0444, net->proc_net,
							       stats_show, NULL)) &&
	    IS_ENABLED(CONFIG_PROC_FS)) {
		free_percpu(sn->cpu);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit stats_net_exit(struct net *net)
{
	remove_proc_entry("smc_stat", net->proc_net);
	free_percpu(stats_of_net(net)->cpu);
}

static struct pernet_operations stats_net_ops = {
	.init = stats_net_init,
	.exit = stats_net_exit,
	.id = &stats_net_id,
	.size = sizeof(struct stats_net),
};

/**
 * smc_stats_init() - Set up the statistics of all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_stats_init(void)
{
	return smc_fault_rc(STATS_PERNET, -ENOMEM, register_pernet_subsys(&stats_net_ops));
}

/**
 * smc_stats_exit() - Undo smc_stats_init()
 */
void smc_stats_exit(void)
{
	unregister_pernet_subsys(&stats_net_ops);
}
