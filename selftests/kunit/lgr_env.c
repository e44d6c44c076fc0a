// SPDX-License-Identifier: GPL-2.0-only
/* Environment of the group layer in its suites, see lgr_env.h. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/upgrade_msg.h>

#include "lgr_env.h"

/* Longer than FENCE_TIME for each link of a group that is lost, should they be fenced in turn. */
#define PATIENCE	(40 * HZ)

/* Upcalls carry no pointer to the case; one case runs at a time. */
static struct lgr_env *current_env;
static bool llc_is_fake;

/* ---- fake LLC layer ---- */

static void fake_llc_message(struct smc_link *link, const u8 *buf, u32 len)
{
	current_env->messages++;
	current_env->len = len;
}

static void fake_llc_slots_free(struct smc_link *link)
{
}

static void fake_llc_link_lost(struct smc_lgr *lgr, struct smc_link *link)
{
	struct smc_link *found = smc_lgr_get_link(lgr, link->slot);

	current_env->lost_while_linked |= found == link;
	if (found)
		smc_link_put(found);
	WRITE_ONCE(current_env->link_lost, current_env->link_lost + 1);
	while (READ_ONCE(current_env->llc_held))
		usleep_range(1000, 2000);
}

static void fake_llc_terminated(struct smc_lgr *lgr)
{
	current_env->conns_at_terminated = current_env->conns_aborted;
	current_env->qps_at_terminated = atomic_read(&current_env->fake->nqp);
	/* after the members above */
	smp_store_release(&current_env->terminated, current_env->terminated + 1);
}

static void fake_llc_released(struct smc_lgr *lgr)
{
	WRITE_ONCE(current_env->releases, current_env->releases + 1);
}

static void fake_llc_ports_changed(struct smc_lgr *lgr)
{
}

static const struct smc_lgr_ctl_events fake_llc_events = {
	.message = fake_llc_message,
	.slots_free = fake_llc_slots_free,
	.link_lost = fake_llc_link_lost,
	.ports_changed = fake_llc_ports_changed,
	.terminated = fake_llc_terminated,
	.released = fake_llc_released,
};

/* ---- fake connections ---- */

static void fake_conn_message(struct smc_link *link, const u8 *buf, u32 len)
{
	current_env->cdc++;
	current_env->len = len;
}

static void fake_conn_slots_free(struct smc_link *link)
{
	current_env->slots_free++;
}

static void fake_conn_link_usable(struct smc_link *link)
{
}

static struct fake_conn *fake_conn_of(struct smc_conn *conn)
{
	return container_of(conn, struct fake_conn, conn);
}

/* The next connection of a group, with a reference; NULL after the last one. */
static struct fake_conn *fake_conn_get_next(struct smc_lgr *lgr, unsigned long *index)
{
	struct smc_conn *conn;

	rcu_read_lock();
	do {
		conn = smc_lgr_next_conn(lgr, index);
	} while (conn && !refcount_inc_not_zero(&fake_conn_of(conn)->ref));
	rcu_read_unlock();
	return conn ? fake_conn_of(conn) : NULL;
}

static void fake_conn_lose_link(struct fake_conn *conn, struct smc_link *link)
{
	struct smc_link *other;
	u32 slot;

	conn->lost = link;
	conn->lost_unfenced |= !smc_link_fenced(link);
	if (!conn->link_lost) {
		conn->lost_qps = atomic_read(&current_env->fake->nqp);
		conn->lost_steps = current_env->fake->nsteps;
		conn->lost_at = jiffies;
	}
	conn->lost_in_set |= READ_ONCE(conn->lgr->failed_slots);
	rcu_read_lock();
	for (slot = 0; slot < SMC_LGR_LINKS; slot++) {
		other = rcu_dereference(conn->lgr->unlinked[slot]);
		conn->lost_unfenced |= other && !smc_link_fenced(other);
	}
	rcu_read_unlock();
	WRITE_ONCE(conn->link_lost, conn->link_lost + 1);
}

static void fake_conn_link_lost(struct smc_link *link)
{
	struct fake_conn *conn;
	unsigned long i = 0;

	while ((conn = fake_conn_get_next(link->lgr, &i))) {
		fake_conn_lose_link(conn, link);
		fake_conn_put(conn);
	}
}

static void fake_conn_terminated(struct smc_lgr *lgr)
{
	struct fake_conn *conn;
	unsigned long i = 0;

	while ((conn = fake_conn_get_next(lgr, &i))) {
		conn->terminated++;
		conn->reason = lgr->reason;
		current_env->conns_aborted++;
		if (!conn->keep)
			fake_conn_remove(conn);
		fake_conn_put(conn);
	}
}

static void fake_conn_drained(struct smc_lgr *lgr)
{
}

static void fake_conn_released(struct smc_lgr *lgr)
{
	current_env->conn_releases++;
}

static const struct smc_lgr_conn_events fake_conn_events = {
	.message = fake_conn_message,
	.slots_free = fake_conn_slots_free,
	.link_usable = fake_conn_link_usable,
	.link_lost = fake_conn_link_lost,
	.terminated = fake_conn_terminated,
	.drained = fake_conn_drained,
	.released = fake_conn_released,
};

struct fake_conn *env_add_conn(struct kunit *test, struct smc_lgr *lgr)
{
	struct fake_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	refcount_set(&conn->ref, 1);
	conn->lgr = lgr;
	if (smc_lgr_add_conn(lgr, &conn->conn, &conn->token)) {
		kfree(conn);
		return NULL;
	}
	return conn;
}

void fake_conn_remove(struct fake_conn *conn)
{
	if (conn->removed)
		return;
	conn->removed = true;
	smc_lgr_del_conn(conn->lgr, conn->token, false);
}

void fake_conn_put(struct fake_conn *conn)
{
	if (refcount_dec_and_test(&conn->ref))
		kfree_rcu(conn, rcu);
}

/* ---- groups ---- */

struct smc_peer env_make_peer(u32 no)
{
	struct smc_peer peer = {
		.id = { 1, 2, 3, 4, 5, 6, 7, no },
		.version = 2,
		.max_conns = 255,
		.max_links = 2,
	};

	fake_ib_gid(&peer.gid);
	return peer;
}

/* Allocate a group, which has the LLC state of the layer that is registered. */
struct smc_lgr *env_alloc_group(struct kunit *test, enum smc_role role, u32 peer_no)
{
	struct lgr_env *env = test->priv;
	struct smc_peer peer = env_make_peer(peer_no);
	struct smc_lgr *lgr = smc_lgr_alloc(&init_net, role, &peer);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, lgr);
	if (llc_is_fake)
		env->allocated++;
	else
		KUNIT_ASSERT_EQ(test, smc_llc_create(lgr), 0);
	return lgr;
}

struct smc_lgr *env_create_group(struct kunit *test, enum smc_role role, u32 peer_no)
{
	struct smc_lgr *lgr = env_alloc_group(test, role, peer_no);
	struct lgr_env *env = test->priv;
	struct smc_path path;
	int i;

	fake_ib_path(env->fake, &path);
	KUNIT_ASSERT_EQ(test, smc_lgr_begin(lgr, &path), 0);
	KUNIT_EXPECT_NULL(test, path.dev);
	for (i = 0; i < ENV_GROUPS && env->lgrs[i]; i++)
		;
	KUNIT_ASSERT_LT(test, i, ENV_GROUPS);
	env->lgrs[i] = lgr;
	return lgr;
}

void env_bring_up(struct kunit *test, struct smc_link *link)
{
	fake_ib_gid(&link->peer_gid);
	link->peer_qpn = ENV_PEER_QPN;
	KUNIT_ASSERT_EQ(test, smc_link_connect(link), 0);
	smc_link_activate(link);
	KUNIT_ASSERT_TRUE(test, smc_link_usable(link));
}

struct smc_lgr *env_create_group_up(struct kunit *test, enum smc_role role, u32 peer_no)
{
	struct smc_lgr *lgr = env_create_group(test, role, peer_no);
	struct smc_link *link = smc_lgr_get_link(lgr, 0);

	KUNIT_ASSERT_NOT_NULL(test, link);
	env_bring_up(test, link);
	smc_link_put(link);
	return lgr;
}

/* A send ring of full size, as a group has that is no longer new; none if it has one. */
void env_add_ring(struct kunit *test, struct smc_lgr *lgr, u32 size)
{
	struct smc_region *region;
	struct smc_link *link;

	if (smc_pool_count_elems(&lgr->pool, SMC_REGION_SND, size))
		return;
	region = smc_region_alloc(&lgr->pool, SMC_REGION_SND, size, 512, SMC_REGION_NEEDED);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	mutex_lock(&lgr->mutex);
	smc_lgr_for_each_link(lgr, link)
		KUNIT_EXPECT_EQ(test, smc_region_map(region, link->slot, link->qp), 0);
	mutex_unlock(&lgr->mutex);
	smc_region_publish(&lgr->pool, region);
}

struct smc_link *env_add_link(struct kunit *test, struct smc_lgr *lgr)
{
	struct lgr_env *env = test->priv;
	struct smc_path path;
	struct smc_link *link;

	fake_ib_path(env->fake, &path);
	link = smc_lgr_add_link(lgr, &path, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, link);
	return link;
}

void env_put_group(struct lgr_env *env, struct smc_lgr *lgr)
{
	int i;

	for (i = 0; i < ENV_GROUPS; i++)
		if (env->lgrs[i] == lgr)
			env->lgrs[i] = NULL;
	smc_lgr_put(lgr);
}

/* Hand a message about an upgrade to LLC, as the completion of a receive does. */
void env_receive_upgrade(struct smc_link *link, const struct smc_upgrade_msg *msg)
{
	u8 buf[SMC_UPGRADE_MSG_LEN];

	WARN_ON(smc_upgrade_msg_build(msg, buf, sizeof(buf)) < 0);
	local_bh_disable();
	rcu_read_lock();
	smc_llc_events.message(link, buf, sizeof(buf));
	rcu_read_unlock();
	local_bh_enable();
}

/* ---- waiting ---- */

static int env_count_group(struct smc_lgr *lgr, void *arg)
{
	(*(u32 *)arg)++;
	return 0;
}

/* Does not count groups that are being freed; env_wait_count() checks releases too. */
u32 env_count_groups(void)
{
	u32 n = 0;

	smc_lgr_for_each(env_count_group, &n);
	return n;
}

#define WAIT_FOR(condition) ({							\
	unsigned long end_ = jiffies + PATIENCE;				\
	bool true_;								\
										\
	while (!(true_ = (condition)) && time_before(jiffies, end_))		\
		usleep_range(1000, 2000);					\
	true_;									\
})

bool env_wait(const u32 *counter, u32 value)
{
	return WAIT_FOR(smp_load_acquire(counter) >= value);	/* see fake_llc_terminated() */
}

bool env_wait_sleeper(wait_queue_head_t *wq)
{
	return WAIT_FOR(wq_has_sleeper(wq));
}

bool env_wait_count(u32 n)
{
	return WAIT_FOR(env_count_groups() == n &&
			(!llc_is_fake || current_env->allocated - current_env->releases == n));
}

bool env_wait_qps(struct lgr_env *env, u32 n)
{
	return WAIT_FOR(atomic_read(&env->fake->nqp) == n);
}

bool env_wait_no_qp(struct lgr_env *env)
{
	return env_wait_qps(env, 0);
}

bool env_wait_refs(struct lgr_env *env, u32 n)
{
	return WAIT_FOR(kref_read(&env->fake->sdev->ref) == n);
}

/* ---- suite and case ---- */

int env_suite_init(struct kunit_suite *suite)
{
	llc_is_fake = true;
	smc_lgr_set_ctl_events(&fake_llc_events);
	smc_lgr_set_conn_events(&fake_conn_events);
	return 0;
}

void env_suite_exit(struct kunit_suite *suite)
{
	llc_is_fake = false;
	smc_lgr_set_ctl_events(&smc_llc_events);
	smc_lgr_set_conn_events(&smc_conn_lgr_events);
}

int env_init(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct lgr_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->idle_client = settings->idle_client;
	env->idle_server = settings->idle_server;
	env->host_groups = settings->host_groups;
	settings->host_groups = 0;
	env->mem_max = smc_host_mem_max;
	smc_host_mem_max = 0;
	env->fake = fake_ib_create(test);
	current_env = env;
	test->priv = env;
	return 0;
}

/* Terminate the remaining groups of the case; no others may exist. */
void env_exit(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct lgr_env *env = test->priv;
	int i;

	if (!env)
		return;
	for (i = 0; i < ENV_GROUPS; i++) {
		if (!env->lgrs[i])
			continue;
		smc_lgr_terminate(env->lgrs[i], SMC_LINK_ADMIN);
		env_put_group(env, env->lgrs[i]);
	}
	settings->idle_client = env->idle_client;
	settings->idle_server = env->idle_server;
	settings->host_groups = env->host_groups;
	settings->snd_max = 0;
	smc_host_mem_max = env->mem_max;
	/* smc_lgr_net_exit() waits without limit, so stop here if a group is left */
	KUNIT_ASSERT_TRUE(test, env_wait_count(0));
	KUNIT_EXPECT_EQ(test, env->allocated, env->releases);
	smc_lgr_net_exit(&init_net);
	fake_ib_destroy(test, env->fake);
	fake_ib_destroy(test, env->second_fake);
}
