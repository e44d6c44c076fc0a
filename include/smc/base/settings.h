/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of a namespace: user EIDs (UEIDs) and the values of the sysctls. */
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
struct smc_hs_ctrl;

#define SMC_SETTINGS_UEID_LEN	32
#define SMC_SETTINGS_UEIDS_MAX	4

/*
 * Default and maximum of net.smc.smcr_testlink_timeout. The default is longer than the retries of
 * the queue pair, which either repair the loss of TEST LINK or its answer on a lossy path, or find
 * that the peer is gone.
 */
#define SMC_SETTINGS_TESTLINK_TIMEOUT	8
#define SMC_SETTINGS_TESTLINK_TIMEOUT_MAX	3600

/* Default and maximum of net.smc.smcr_stall_time; also the maximum of the two times below. */
#define SMC_SETTINGS_STALL_TIME	30
#define SMC_SETTINGS_STALL_TIME_MAX	86400

/*
 * Default of net.smc.carrier_keepalive_time: below the idle timeouts of NATs and load balancers in
 * the big clouds.
 */
#define SMC_SETTINGS_CLCSOCK_KEEPALIVE	200

/*
 * Default of net.smc.smcr_buf_idle_time: long enough for bursts of connections, and short compared
 * to the idle time of a link group.
 */
#define SMC_SETTINGS_REGION_IDLE	120

/* Defaults of net.smc.smcr_max_send_wr and smcr_max_recv_wr, and the limits of both. */
#define SMC_SETTINGS_SEND_WR	16
#define SMC_SETTINGS_RECV_WR	48
#define SMC_SETTINGS_WR_MIN	2
#define SMC_SETTINGS_WR_MAX	2048

/* Default and maximum of net.smc.autosmc_time. */
#define SMC_SETTINGS_AUTOSMC_TIME	10
#define SMC_SETTINGS_AUTOSMC_TIME_MAX	3600

/* Values of net.smc.smcr_buf_type, also reported by netlink. The module treats MIXED as PHYS. */
enum smc_region_type {
	SMC_REGION_TYPE_PHYS,
	SMC_REGION_TYPE_VIRT,
	SMC_REGION_TYPE_MIXED,
	SMC_REGION_TYPES
};

/*
 * Default of net.smc.smcr_max_host_groups. A host needs one group for each VLAN, role, version and
 * port, and some more while old ones end.
 */
#define SMC_SETTINGS_HOST_GROUPS	64

/*
 * Default and maximum of net.smc.hs_max; the maximum is also the limit for one side of all
 * namespaces together.
 */
#define SMC_SETTINGS_HS_MAX	256
#define SMC_SETTINGS_HS_TOTAL	448

/**
 * struct smc_settings - Settings of a namespace
 * @lock: protects @ueids, @nueids, @ueid_default; leaf
 * @ueids: blank padded
 * @nueids: number of entries in @ueids
 * @ueid_default: the built-in default UEID is active, until the administrator adds or flushes
 * @wmem: default bytes of a send ring (sysctl wmem)
 * @rmem: default bytes of an RMBE (sysctl rmem)
 * @autocorking: sysctl autocorking_size
 * @region_type: memory of regions of new groups, enum smc_region_type (sysctl smcr_buf_type)
 * @testlink_time: seconds of silence before TEST LINK, 0 = off
 * @testlink_timeout: seconds that a peer has to answer TEST LINK
 * @clcsock_keepalive: seconds after which a clcsock sends a packet in any case, 0 = never
 * @stall_time: seconds that a link has to finish a request, 0 = off
 * @region_idle: seconds that an unused region is kept, 0 = as long as its group
 * @max_send_wr: messages of a link that one completion may report; there is room for four times as
 *	many
 * @max_recv_wr: receives of a link, a quarter of them where they are small
 * @max_links: links per group that we offer, 1..8
 * @max_conns: connections per group that we offer, 16..255
 * @rmb_max: KiB that all RMBs of the namespace may take, 0: no limit
 * @rmb_bytes: bytes that they take
 * @snd_max: KiB that all send rings of the namespace may take, 0: no limit
 * @snd_bytes: bytes that they take
 * @host_groups: groups that one peer host may have, 0: no limit (sysctl smcr_max_host_groups)
 * @host_mem: KiB that the groups with one peer host may take, 0: an eighth of smc_host_mem_max
 * @mem_bytes: bytes of all groups, queue pairs and regions; under the lock of base/host.c
 * @link_policy: how links are chosen for connections, enum smc_link_policy
 * @balance: move connections to links that are added
 * @write_imm: announce to native peers, and use with them, immediate values in place of CDC
 *	messages (sysctl smcr_write_imm)
 * @autosmc_bytes: connections with fewer bytes may be short, 0: AUTOSMC is off
 * @autosmc_time: seconds that a short connection lives at most
 * @upgrade_bytes: bytes after which a connection that began as TCP asks to continue over RDMA, 0:
 *	each one begins with a rendezvous (sysctl upgrade_bytes)
 * @enabled: 0 = new connections are TCP, existing ones are not affected (sysctl enabled)
 * @send_hostname: tell peers the host name (sysctl send_hostname)
 * @hs_limit: initial SMC_LIMIT_HS of new sockets (netlink, sysctl limit_smc_hs)
 * @hs_max: concurrent handshakes of one side (sysctl hs_max)
 * @hs_ctrl: BPF object that decides about the SMC option, or NULL; changes under a lock of
 *	base/hs_ctrl.c, read under RCU (sysctl hs_ctrl)
 * @idle_client: seconds that an idle group is kept, client side (sysctl smcr_idle_time_client)
 * @idle_server: seconds that an idle group is kept, server side (sysctl smcr_idle_time_server)
 * @sysctl: registered table
 * @sysctl_table: memory of the table
 */
struct smc_settings {
	spinlock_t lock;
	u8 ueids[SMC_SETTINGS_UEIDS_MAX][SMC_SETTINGS_UEID_LEN];
	u32 nueids;
	bool ueid_default;
	int wmem;
	int rmem;
	unsigned int autocorking;
	unsigned int region_type;
	int testlink_time;
	int testlink_timeout;
	int clcsock_keepalive;
	int stall_time;
	int region_idle;
	unsigned int max_send_wr;
	unsigned int max_recv_wr;
	unsigned int rmb_max;
	atomic64_t rmb_bytes;
	unsigned int snd_max;
	atomic64_t snd_bytes;
	unsigned int host_groups;
	unsigned int host_mem;
	u64 mem_bytes;
	u8 max_links;
	u8 max_conns;
	u8 link_policy;
	u8 balance;
	u8 write_imm;
	u8 enabled;
	u8 send_hostname;
	u8 hs_limit;
	unsigned int hs_max;
	unsigned int autosmc_bytes;
	unsigned int autosmc_time;
	unsigned int upgrade_bytes;
	struct smc_hs_ctrl __rcu *hs_ctrl;
	int idle_client;
	int idle_server;
	struct ctl_table_header *sysctl;
	struct ctl_table *sysctl_table;
};

/**
 * smc_settings_jiffies() - Convert a time of the settings to jiffies for a timer
 * @secs: seconds, at least 0
 *
 * Return: jiffies, limited to MAX_JIFFY_OFFSET, which matters where long has 32 bits.
 */
static inline unsigned long smc_settings_jiffies(int secs)
{
	return min_t(u64, (u64)secs * HZ, MAX_JIFFY_OFFSET);
}

extern u8 smc_settings_inherit;

int smc_settings_init(void);
void smc_settings_exit(void);
struct smc_settings *smc_settings_get(struct net *net);
bool smc_settings_is_heir(const struct net *net);

u32 smc_settings_get_ueids(struct net *net, u8 out[SMC_SETTINGS_UEIDS_MAX][SMC_SETTINGS_UEID_LEN]);
bool smc_settings_match_ueid(struct net *net, const u8 (*peer)[SMC_SETTINGS_UEID_LEN], u32 n,
			     u8 out[SMC_SETTINGS_UEID_LEN]);
int smc_settings_add_ueid(struct net *net, const u8 *ueid);
int smc_settings_del_ueid(struct net *net, const u8 *ueid);
void smc_settings_flush_ueids(struct net *net);

#endif
