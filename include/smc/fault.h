/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault sites: every call of the kernel that may fail, by name, so that a test can
 * make it fail. Only in debug builds (SMC_FAULT=y); elsewhere the compiler drops
 * all of it. Rank 0.
 */
#ifndef _SMC_FAULT_H
#define _SMC_FAULT_H

#include <linux/err.h>
#include <linux/types.h>

/* One for each place in the code. Where a run meets it is said in smc_fault.c. */
enum smc_fault_site {
	/* start of the module */
	SMC_FAULT_STATS_PERNET,
	SMC_FAULT_NOTIFY_PERNET,
	SMC_FAULT_PNETID_PERNET,
	SMC_FAULT_PNETID_NOTIFIER,
	SMC_FAULT_POLICY_PERNET,
	SMC_FAULT_NEGCACHE_PERNET,
	SMC_FAULT_RULES_PERNET,
	SMC_FAULT_LIMIT_PERNET,
	SMC_FAULT_SYSCTL_PERNET,
	SMC_FAULT_CORE_PERNET,
	SMC_FAULT_CONN_WQ,
	SMC_FAULT_LLC_WQ,
	SMC_FAULT_LLC_WAIT_WQ,
	SMC_FAULT_CORE_WQ,
	SMC_FAULT_HS_WQ,
	SMC_FAULT_HS_CLIENT_WQ,
	SMC_FAULT_HS_LOOK_WQ,
	SMC_FAULT_STREAM_WQ,
	SMC_FAULT_ACCEPT_WQ,
	SMC_FAULT_IB_NOTIFIER,
	SMC_FAULT_IB_CLIENT,
	SMC_FAULT_GENL_FAMILY,
	SMC_FAULT_GENL_PNETID,
	SMC_FAULT_PROTO4,
	SMC_FAULT_PROTO6,
	SMC_FAULT_SOCK_PROC,
	SMC_FAULT_CARRIER_LEARN,
	SMC_FAULT_SOCK_FAMILY,
	SMC_FAULT_INET_PROTO4,
	SMC_FAULT_INET_PROTO6,
	SMC_FAULT_INET_PROTOSW6,

	/* a new namespace */
	SMC_FAULT_STATS_PERCPU,
	SMC_FAULT_STATS_PROC,
	SMC_FAULT_NEGCACHE_TABLE,
	SMC_FAULT_NEGCACHE_PROC,
	SMC_FAULT_SYSCTL_TABLE,
	SMC_FAULT_SYSCTL_NET,

	/* a new RDMA device */
	SMC_FAULT_IB_PORT,
	SMC_FAULT_IB_DEVICE,
	SMC_FAULT_IB_PORT_STATE,
	SMC_FAULT_IB_FIRST_GID,
	SMC_FAULT_IB_FIRST_MAC,

	/* the administrator */
	SMC_FAULT_RULE,
	SMC_FAULT_PNETID_ENTRY,
	SMC_FAULT_PNETID_ANSWER,
	SMC_FAULT_NOTIFY_MSG,

	/* sockets */
	SMC_FAULT_SOCK,
	SMC_FAULT_CARRIER,
	SMC_FAULT_LISTENER,
	SMC_FAULT_CARRIER_CHILD,
	SMC_FAULT_CARRIER_ACCEPT,

	/* handshake */
	SMC_FAULT_HS_CTX,
	SMC_FAULT_NEGCACHE_ENTRY,
	SMC_FAULT_NEGCACHE_INSERT,
	SMC_FAULT_CLC_SEND,
	SMC_FAULT_CLC_RECV,
	SMC_FAULT_IB_GID,
	SMC_FAULT_IB_GID_MAC,
	SMC_FAULT_PNET_GID,
	SMC_FAULT_PNET_RESOLVE,

	/* groups and connections */
	SMC_FAULT_CONTACT,
	SMC_FAULT_LGR,
	SMC_FAULT_LGR_RTOKENS,
	SMC_FAULT_LGR_LLC,
	SMC_FAULT_CONN,
	SMC_FAULT_CONN_ENTRY,
	SMC_FAULT_CONN_INDEX,

	/* link and queue pair */
	SMC_FAULT_LINK,
	SMC_FAULT_QP,
	SMC_FAULT_QP_PD,
	SMC_FAULT_QP_CQ,
	SMC_FAULT_QP_CREATE,
	SMC_FAULT_QP_INIT,
	SMC_FAULT_QP_MEM,
	SMC_FAULT_QP_SLOTS,
	SMC_FAULT_QP_RECVS,
	SMC_FAULT_QP_LONG_BUF,
	SMC_FAULT_MEM,
	SMC_FAULT_MEM_MAP,
	SMC_FAULT_QP_GID,
	SMC_FAULT_QP_RTR,
	SMC_FAULT_QP_RTS,
	SMC_FAULT_QP_ERR,
	SMC_FAULT_QP_ERR_AGAIN,
	SMC_FAULT_QP_MARK_SEND,
	SMC_FAULT_QP_MARK_RECV,
	SMC_FAULT_POST_SEND,
	SMC_FAULT_POST_REG,
	SMC_FAULT_POST_RECV,
	SMC_FAULT_WC_SEND,
	SMC_FAULT_WC_REG,
	SMC_FAULT_WC_RECV,

	/* memory regions */
	SMC_FAULT_HS_KEYS,
	SMC_FAULT_REGION,
	SMC_FAULT_REGION_LIMIT,
	SMC_FAULT_REGION_MEM,
	SMC_FAULT_MAPPING,
	SMC_FAULT_MAPPING_DMA,
	SMC_FAULT_SG_TABLE,
	SMC_FAULT_DMA_MAP,
	SMC_FAULT_MR,
	SMC_FAULT_MR_MAP,

	/* LLC */
	SMC_FAULT_LLC_EVENT,
	SMC_FAULT_LLC_SENT,
	SMC_FAULT_LLC_RTOKENS,

	/* stream */
	SMC_FAULT_SPLICE_PAGE,
	SMC_FAULT_ZC_UARG,
	SMC_FAULT_ZC_RUN,
	SMC_FAULT_ZC_PAGES,
	SMC_FAULT_ZC_MAP,

	/* builds with our own TCP option */
	SMC_FAULT_OPTION_PERNET,
	SMC_FAULT_OPTION_HOOKS,
	SMC_FAULT_OPTION_MARK,
	SMC_FAULT_OPTION_ROOM,

	/* what is lost without an error: for tests of deadlines */
	SMC_FAULT_LOSE_CLC,
	SMC_FAULT_LOSE_LLC,
	SMC_FAULT_LOSE_CDC,
	SMC_FAULT_LOSE_REG,
	SMC_FAULT_LOSE_RECV,

	SMC_FAULT_SITES
};

#ifdef SMC_FAULT
bool smc_fault_hit(enum smc_fault_site site);
int smc_fault_init(void);
void smc_fault_exit(void);
#else
static inline bool smc_fault_hit(enum smc_fault_site site)
{
	return false;
}
#endif

/* A call that returns memory, or NULL. */
#define smc_fault_null(site, call) \
	(smc_fault_hit(SMC_FAULT_##site) ? NULL : (call))

/* A call that returns an object, or ERR_PTR(). */
#define smc_fault_ptr(site, err, call) \
	(smc_fault_hit(SMC_FAULT_##site) ? ERR_PTR(err) : (call))

/* Any other call: @bad is what it returns when it fails. */
#define smc_fault_rc(site, bad, call) \
	(smc_fault_hit(SMC_FAULT_##site) ? (bad) : (call))

#endif
