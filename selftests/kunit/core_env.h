/* SPDX-License-Identifier: GPL-2.0-only */
/* What the group layer has around it in its suite: a fake LLC layer, fake connections. */
#ifndef _SMC_CORE_ENV_H
#define _SMC_CORE_ENV_H

#include <kunit/test.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <smc/lgr/lgr.h>

#include "fake_ib.h"

#define ENV_GROUPS	8
#define ENV_PEER_QPN	0x123

/**
 * struct core_env - what one case works with
 * @fake: device
 * @second_fake: another one; may be NULL
 * @lgrs: groups the case has a reference of
 * @init_rc: result of the next init upcalls
 * @inits: init upcalls
 * @link_lost: link_lost upcalls
 * @lost_while_linked: the link was still in the set
 * @llc_held: link_lost upcalls do not return
 * @terminated: terminated upcalls
 * @conns_at_terminated: connections told of it before the last one
 * @qps_at_terminated: queue pairs then
 * @releases: release upcalls
 * @conns_told: connections told of the end
 * @messages: LLC messages told
 * @idle_client: setting to be restored
 * @idle_server: setting to be restored
 */
struct core_env {
	struct fake_ib *fake;
	struct fake_ib *second_fake;
	struct smc_lgr *lgrs[ENV_GROUPS];
	int init_rc;
	u32 inits;
	u32 link_lost;
	bool lost_while_linked;
	bool llc_held;
	u32 terminated;
	u32 conns_at_terminated;
	u32 qps_at_terminated;
	u32 releases;
	u32 conns_told;
	u32 messages;
	int idle_client;
	int idle_server;
};

/**
 * struct fake_conn - a connection
 * @ref: the case's and those of @hold upcalls
 * @lgr: its group
 * @token: its alert token
 * @stays: does not leave the group when that ends
 * @left: has left it
 * @terminated: terminated upcalls
 * @reason: of the last one
 * @link_lost: link_lost upcalls
 * @lost: link of the last one
 * @lost_unfenced: one of them, or another one that was being left, was not fenced
 * @lost_qps: queue pairs at the first of them
 * @lost_known: links known to be lost and still in the set, at any of them, a bit each
 * @rcu: deferred free
 */
struct fake_conn {
	refcount_t ref;
	struct smc_lgr *lgr;
	u32 token;
	bool stays;
	bool left;
	u32 terminated;
	enum smc_link_reason reason;
	u32 link_lost;
	struct smc_link *lost;
	bool lost_unfenced;
	u32 lost_qps;
	unsigned long lost_known;
	struct rcu_head rcu;
};

/* Of the suite, and of a case. */
int env_begin(struct kunit_suite *suite);
void env_end(struct kunit_suite *suite);
int env_init(struct kunit *test);
void env_exit(struct kunit *test);

/* Peer number @no. */
struct smc_peer env_peer(u32 no);
/* A group over the fake device; the case's reference goes with env_drop() or its end. */
struct smc_lgr *env_group(struct kunit *test, enum smc_role role, u32 peer_no);
/* Its first link can carry connections. */
struct smc_lgr *env_group_up(struct kunit *test, enum smc_role role, u32 peer_no);
void env_drop(struct core_env *env, struct smc_lgr *lgr);
/* One more link, in INIT, with a reference. */
struct smc_link *env_add_link(struct kunit *test, struct smc_lgr *lgr);
void env_bring_up(struct kunit *test, struct smc_link *link);

/* A connection of the group; NULL: refused. The case's reference goes with env_conn_put(). */
struct fake_conn *env_conn(struct kunit *test, struct smc_lgr *lgr);
void env_conn_leave(struct fake_conn *conn);
void env_conn_put(struct fake_conn *conn);

/* Groups in the registry. */
u32 env_count(void);
/* Wait a few seconds for a fact: true if it came. */
bool env_wait(const u32 *counter, u32 value);
bool env_wait_count(u32 n);
bool env_wait_qps(struct core_env *env, u32 n);
bool env_wait_no_qp(struct core_env *env);
bool env_wait_refs(struct core_env *env, u32 n);

#endif
