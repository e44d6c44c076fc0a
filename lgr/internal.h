/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to smc_core.c and lgr/: the registry of groups, and functions that no other folder uses.
 */
#ifndef _SMC_LGR_INTERNAL_H
#define _SMC_LGR_INTERNAL_H

#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/wait.h>
#include <net/netns/hash.h>
#include <smc/lgr/lgr.h>

#define SMC_REGISTRY_BITS	8

/**
 * struct smc_lgr_registry - all groups of the host
 * @lock: guards @groups, @by_addr and smc_lgr.ready; sleeps; never held while waiting for a peer
 * @groups: newest first, terminating ones included
 * @by_addr: the same by the address of the TCP peer; RCU readers. A group is freed after a grace
 *	period
 * @wait: for changes
 * @seq: incremented when waiters should check again
 */
struct smc_lgr_registry {
	struct mutex lock;
	struct list_head groups;
	struct hlist_head by_addr[BIT(SMC_REGISTRY_BITS)];
	wait_queue_head_t wait;
	atomic_t seq;
};

extern struct smc_lgr_registry smc_registry;

/* Return the list in which groups with a peer at this address are. */
static inline struct hlist_head *smc_registry_by_addr(const struct net *net,
						      const struct in6_addr *addr)
{
	u32 key = jhash2((__force const u32 *)addr->s6_addr32, ARRAY_SIZE(addr->s6_addr32),
			 net_hash_mix(net));

	return &smc_registry.by_addr[hash_32(key, SMC_REGISTRY_BITS)];
}

static inline void smc_registry_wake(void)
{
	atomic_inc(&smc_registry.seq);
	wake_up_all(&smc_registry.wait);
}

static inline bool smc_lgr_is_dead(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->dead);
}

/* smc_core.c */
void smc_lgr_idle_arm(struct smc_lgr *lgr);
void smc_lgr_idle_cancel(struct smc_lgr *lgr);

/* lgr/link.c */
struct smc_link *smc_link_create(struct smc_lgr *lgr, u32 slot, struct smc_path *path,
				 const struct smc_wr_events *events);
bool smc_link_record_failure(struct smc_link *link, enum smc_link_reason reason, void *caller);

/* lgr/links.c */
bool smc_lgr_has_link(struct smc_lgr *lgr);
bool smc_lgr_unlink(struct smc_lgr *lgr, struct smc_link *link);
void smc_lgr_shutdown_link(struct smc_lgr *lgr, struct smc_link *link);
struct smc_link *smc_lgr_unlinked_link(struct smc_lgr *lgr, u32 slot);
u8 smc_lgr_take_link_num(struct smc_lgr *lgr, u8 num);
void smc_lgr_report(struct smc_lgr *lgr, u8 cmd, enum smc_link_reason reason);
void smc_link_report_lost(struct smc_link *link, enum smc_link_reason reason);
void smc_link_report_failover(struct smc_link *link, u32 conns);

/* lgr/conns.c */
bool smc_lgr_has_place(struct smc_lgr *lgr);
bool smc_lgr_reserve_conn(struct smc_lgr *lgr);

/**
 * smc_link_may_recv() - check whether a message is accepted in the present state of a link
 * @link: link
 * @cdc: it is a CDC message
 *
 * A failed link still accepts CDC until it is fenced: when the peer moves on to another link, it
 * relies on what our RNIC has acknowledged. LLC messages concern the link itself and are dropped.
 *
 * Return: true if so.
 */
static inline bool smc_link_may_recv(const struct smc_link *link, bool cdc)
{
	enum smc_link_state state = atomic_read(&link->state);

	return smc_link_state_may_recv(state) || (cdc && state == SMC_LINK_DRAINING);
}

#endif /* _SMC_LGR_INTERNAL_H */
