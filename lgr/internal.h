/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to smc_core.c and lgr/: the registry of groups, and functions that no other folder uses.
 */
#ifndef _SMC_LGR_INTERNAL_H
#define _SMC_LGR_INTERNAL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <smc/lgr/lgr.h>

/**
 * struct smc_core_registry - all groups of the host
 * @lock: guards @groups and smc_lgr.ready; sleeps; never held while waiting for a peer
 * @groups: newest first, terminating ones included
 * @wait: for changes
 * @seq: incremented when waiters should check again
 */
struct smc_core_registry {
	struct mutex lock;
	struct list_head groups;
	wait_queue_head_t wait;
	atomic_t seq;
};

extern struct smc_core_registry smc_core_reg;

static inline void smc_core_reg_changed(void)
{
	atomic_inc(&smc_core_reg.seq);
	wake_up_all(&smc_core_reg.wait);
}

static inline bool smc_core_dead(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->dead);
}

/* smc_core.c */
void smc_core_arm_idle(struct smc_lgr *lgr);
void smc_lgr_idle_cancel(struct smc_lgr *lgr);

/* lgr/links.c */
bool smc_core_has_link(struct smc_lgr *lgr);
bool smc_core_unlink(struct smc_lgr *lgr, struct smc_link *link);
void smc_core_retire_link(struct smc_lgr *lgr, struct smc_link *link);
struct smc_link *smc_core_leaving(struct smc_lgr *lgr, u32 slot);
u8 smc_core_take_num(struct smc_lgr *lgr, u8 num);
void smc_core_tell_group(struct smc_lgr *lgr, u8 cmd, enum smc_link_reason reason);
void smc_core_tell_link_lost(struct smc_link *link, enum smc_link_reason reason);
void smc_core_tell_failover(struct smc_link *link, u32 conns);

/* lgr/conns.c */
bool smc_core_reserve(struct smc_lgr *lgr);

#endif /* _SMC_LGR_INTERNAL_H */
