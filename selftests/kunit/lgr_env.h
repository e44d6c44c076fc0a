/* SPDX-License-Identifier: GPL-2.0-only */
/* Environment of the group layer in its suites: a fake LLC layer, fake connections. */
#ifndef _SMC_LGR_ENV_H
#define _SMC_LGR_ENV_H

#include <kunit/test.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>

#include "fake_ib.h"

struct smc_upgrade_msg;

#define ENV_GROUPS	(WQ_DFL_ACTIVE / 2 + 8)	/* most of them for llc_hostile_groups */
#define ENV_PEER_QPN	0x123

/**
 * struct lgr_env - the environment of one case
 * @fake: device
 * @second_fake: second device; may be NULL
 * @lgrs: groups on which the case has a reference
 * @allocated: number of groups allocated
 * @link_lost: number of link_lost upcalls
 * @lost_while_linked: the link was still in the set at one of them
 * @llc_held: link_lost upcalls do not return while this is set
 * @terminated: number of terminated upcalls
 * @conns_at_terminated: value of @conns_aborted at the last of them
 * @qps_at_terminated: number of queue pairs at the last of them
 * @conn_releases: number of released upcalls to the connection layer
 * @releases: number of released upcalls
 * @conns_aborted: number of connections notified of the end of their group
 * @messages: number of LLC messages received
 * @cdc: number of CDC messages received
 * @len: length of the last message of either kind
 * @slots_free: number of slots_free upcalls
 * @idle_client: setting, restored at the end
 * @idle_server: setting, restored at the end
 * @host_groups: likewise
 * @mem_max: likewise
 */
struct lgr_env {
	struct fake_ib *fake;
	struct fake_ib *second_fake;
	struct smc_lgr *lgrs[ENV_GROUPS];
	u32 allocated;
	u32 link_lost;
	bool lost_while_linked;
	bool llc_held;
	u32 terminated;
	u32 conns_at_terminated;
	u32 qps_at_terminated;
	u32 conn_releases;
	u32 releases;
	u32 conns_aborted;
	u32 messages;
	u32 cdc;
	u32 len;
	u32 slots_free;
	int idle_client;
	int idle_server;
	unsigned int host_groups;
	unsigned int mem_max;
};

/**
 * struct fake_conn - a connection
 * @conn: what the group layer sees of it: an address
 * @ref: held by the case and by upcalls
 * @lgr: its group
 * @token: its alert token
 * @keep: stay in the token table when the group ends
 * @removed: not in the token table any more
 * @terminated: how often it was met by the walk of a terminated upcall
 * @reason: reason of the last one
 * @link_lost: how often it was met by the walk of a link_lost upcall
 * @lost: link of the last one
 * @lost_unfenced: at one of them, its link or another link out of the set was not fenced
 * @lost_qps: number of queue pairs at the first of them
 * @lost_steps: fake_ib.nsteps at the first of them
 * @lost_at: time of the first of them, in jiffies
 * @lost_in_set: bit per slot: link that had failed and was still in the set, at any of them
 * @rcu: deferred free
 */
struct fake_conn {
	struct smc_conn conn;
	refcount_t ref;
	struct smc_lgr *lgr;
	u32 token;
	bool keep;
	bool removed;
	u32 terminated;
	enum smc_link_reason reason;
	u32 link_lost;
	struct smc_link *lost;
	bool lost_unfenced;
	u32 lost_qps;
	u32 lost_steps;
	unsigned long lost_at;
	unsigned long lost_in_set;
	struct rcu_head rcu;
};

int env_suite_init(struct kunit_suite *suite);
void env_suite_exit(struct kunit_suite *suite);
int env_init(struct kunit *test);
void env_exit(struct kunit *test);

struct smc_peer env_make_peer(u32 no);
struct smc_lgr *env_alloc_group(struct kunit *test, enum smc_role role, u32 peer_no);
struct smc_lgr *env_create_group(struct kunit *test, enum smc_role role, u32 peer_no);
struct smc_lgr *env_create_group_up(struct kunit *test, enum smc_role role, u32 peer_no);
void env_put_group(struct lgr_env *env, struct smc_lgr *lgr);
void env_add_ring(struct kunit *test, struct smc_lgr *lgr, u32 size);
struct smc_link *env_add_link(struct kunit *test, struct smc_lgr *lgr);
void env_bring_up(struct kunit *test, struct smc_link *link);

struct fake_conn *env_add_conn(struct kunit *test, struct smc_lgr *lgr);
void fake_conn_remove(struct fake_conn *conn);
void fake_conn_put(struct fake_conn *conn);

u32 env_count_groups(void);
void env_receive_upgrade(struct smc_link *link, const struct smc_upgrade_msg *msg);
bool env_wait(const u32 *counter, u32 value);
bool env_wait_sleeper(wait_queue_head_t *wq);
bool env_wait_count(u32 n);
bool env_wait_qps(struct lgr_env *env, u32 n);
bool env_wait_no_qp(struct lgr_env *env);
bool env_wait_refs(struct lgr_env *env, u32 n);

#endif
