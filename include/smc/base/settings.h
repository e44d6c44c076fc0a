/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-namespace settings: UEIDs, buffer defaults, limits. Rank 2. */
#ifndef _SMC_BASE_SETTINGS_H
#define _SMC_BASE_SETTINGS_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct ctl_table;
struct ctl_table_header;
struct net;

#define SMC_POLICY_UEID_LEN	32
#define SMC_POLICY_UEIDS_MAX	4

/*
 * Default of net.smc.smcr_testlink_timeout: longer than the queue pair's own retries, which
 * repair what a lossy path does to TEST LINK and its answer, or find that nobody is there. And
 * its largest value.
 */
#define SMC_POLICY_TESTLINK_TIMEOUT	8
#define SMC_POLICY_TESTLINK_TIMEOUT_MAX	3600

/* Default of net.smc.smcr_stall_time, and its largest value. */
#define SMC_POLICY_STALL	30
/* less than what NATs and load balancers of the big clouds grant */
#define SMC_POLICY_CARRIER_KEEP	200
#define SMC_POLICY_STALL_MAX	86400

/*
 * Default of net.smc.smcr_buf_idle_time. Long enough for what comes in bursts, and short beside
 * the time after which an idle group ends.
 */
#define SMC_POLICY_BUF_IDLE	120

/* Defaults of net.smc.smcr_max_send_wr and smcr_max_recv_wr, and the limits of both. */
#define SMC_POLICY_SEND_WR	16
#define SMC_POLICY_RECV_WR	48
#define SMC_POLICY_WR_MIN	2
#define SMC_POLICY_WR_MAX	2048

/* Values of net.smc.smcr_buf_type, also told by netlink. For the module 2 is as 0. */
enum smc_buf_type { SMC_BUF_TYPE_PHYS, SMC_BUF_TYPE_VIRT, SMC_BUF_TYPE_MIXED, SMC_BUF_TYPES };

/* Default of net.smc.hs_max. */
#define SMC_POLICY_HS_MAX	256

/**
 * struct smc_net - per-namespace settings
 * @lock: guards @ueids, @nueids, @ueid_default; leaf
 * @ueids: blank padded
 * @nueids: number of them
 * @ueid_default: the built-in default UEID stands (until an administrator adds or
 *	flushes)
 * @wmem: default send ring bytes (sysctl net.smc.wmem)
 * @rmem: default RMBE bytes (sysctl net.smc.rmem)
 * @autocorking: sysctl net.smc.autocorking_size
 * @buf_type: memory of regions of new groups, enum smc_buf_type (sysctl smcr_buf_type)
 * @testlink_time: seconds of silence before TEST LINK, 0 = off
 * @testlink_timeout: seconds that a peer has to answer TEST LINK
 * @carrier_keep: seconds after which a carrier sends a packet in any case, 0 = never
 * @stall_time: seconds in which a link has to finish a request, 0 = off
 * @buf_idle: seconds that a region is kept without use, 0 = as long as its group
 * @max_send_wr: messages of a link that one completion may tell of; it has room for
 *	four times as many
 * @max_recv_wr: receives of a link, a quarter of them where they are small
 * @max_links: links per group we offer, 1..8
 * @max_conns: connections per group we offer, 16..255
 * @rmb_max: KiB that all RMBs of the namespace may take, 0: no limit
 * @rmb_bytes: what they take
 * @link_policy: how links are chosen for connections, enum smc_link_policy
 * @balance: connections go to links that come
 * @enabled: sysctl net.smc.enabled: 0 = new connections are TCP, old ones live on
 * @hs_limit: what SMC_LIMIT_HS of a new socket is (netlink, sysctl limit_smc_hs)
 * @hs_max: sysctl net.smc.hs_max: handshakes of one side at once
 * @idle_client: seconds an idle client group is kept (sysctl smcr_idle_time_client)
 * @idle_server: seconds an idle server group is kept (sysctl smcr_idle_time_server)
 * @sysctl: registered table
 * @sysctl_table: its memory
 */
struct smc_net {
	spinlock_t lock;
	u8 ueids[SMC_POLICY_UEIDS_MAX][SMC_POLICY_UEID_LEN];
	u32 nueids;
	bool ueid_default;
	int wmem;
	int rmem;
	unsigned int autocorking;
	unsigned int buf_type;
	int testlink_time;
	int testlink_timeout;
	int carrier_keep;
	int stall_time;
	int buf_idle;
	unsigned int max_send_wr;
	unsigned int max_recv_wr;
	unsigned int rmb_max;
	atomic64_t rmb_bytes;
	u8 max_links;
	u8 max_conns;
	u8 link_policy;
	u8 balance;
	u8 enabled;
	u8 hs_limit;
	unsigned int hs_max;
	int idle_client;
	int idle_server;
	struct ctl_table_header *sysctl;
	struct ctl_table *sysctl_table;
};

/*
 * A time of the settings, in seconds and not below 0, as one for a timer: what that cannot take
 * (where long has 32 bits) is cut.
 */
static inline unsigned long smc_policy_jiffies(int secs)
{
	return min_t(u64, (u64)secs * HZ, MAX_JIFFY_OFFSET);
}

int smc_policy_init(void);
void smc_policy_exit(void);
struct smc_net *smc_policy_net(struct net *net);

/* Copies the active UEIDs (the default one included) into @out; returns the number. */
u32 smc_policy_ueids(struct net *net, u8 out[SMC_POLICY_UEIDS_MAX][SMC_POLICY_UEID_LEN]);
/* First of the @n peer UEIDs that is active here; false if none. */
bool smc_policy_ueid_match(struct net *net, const u8 (*peer)[SMC_POLICY_UEID_LEN], u32 n,
			   u8 out[SMC_POLICY_UEID_LEN]);
/* Administrator: -EINVAL syntax, -EEXIST, -ERANGE full, -ENOENT. @ueid is 32 bytes. */
int smc_policy_ueid_add(struct net *net, const u8 *ueid);
int smc_policy_ueid_del(struct net *net, const u8 *ueid);
void smc_policy_ueid_flush(struct net *net);

#endif
