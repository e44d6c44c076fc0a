// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: registry, places, link set and the end of groups in two phases (smc_core.c, lgr/),
 * with a fake LLC layer above and a fake device below. Groups are in the initial namespace,
 * which has no others yet: the module was just loaded.
 */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>

#include "../../lgr/internal.h"
#include "lgr_env.h"
#include "suites.h"

#define SOON		(20 * HZ)
#define FENCE_TIME	(10 * HZ)	/* rdma/drain.c */

/* ---- creation ---- */

static void lgr_create(struct kunit *test)
{
	struct smc_lgr *server = env_create_group(test, SMC_SERVER, 1);
	struct smc_lgr *client = env_create_group(test, SMC_CLIENT, 1);
	struct smc_link *link;

	KUNIT_EXPECT_EQ(test, client->id - server->id, 0x100);
	KUNIT_EXPECT_EQ(test, server->reserved, 1);
	KUNIT_EXPECT_EQ(test, server->nconns, 0);
	KUNIT_EXPECT_FALSE(test, server->ready);
	KUNIT_EXPECT_EQ(test, server->slots, 1);
	/* the server assigns the number, the client learns it from the peer */
	link = smc_lgr_get_link(server, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_EXPECT_EQ(test, link->num, 1);
	KUNIT_EXPECT_EQ(test, link->uid, server->id + 1);
	smc_link_put(link);
	link = smc_lgr_get_link(client, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_EXPECT_EQ(test, link->num, 0);
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link_by_num(client, 0));
	smc_link_put(link);
	/* not usable yet */
	KUNIT_EXPECT_NULL(test, smc_lgr_pick_link(server));
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link(server, 1));
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link(server, SMC_LGR_LINKS));
}

static void lgr_create_fails(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct fake_ib *fake = env->fake;
	u32 refs = kref_read(&fake->sdev->ref);
	struct smc_lgr *lgr = env_alloc_group(test, SMC_SERVER, 1);
	struct smc_path path;

	fake->fail_pd = true;
	fake_ib_path(fake, &path);
	KUNIT_EXPECT_EQ(test, smc_lgr_begin(lgr, &path), -ENOMEM);
	KUNIT_EXPECT_NULL(test, path.dev);
	fake->fail_pd = false;
	KUNIT_EXPECT_EQ(test, env->releases, 0);
	smc_lgr_discard(lgr);
	KUNIT_EXPECT_EQ(test, env->releases, 1);
	KUNIT_EXPECT_EQ(test, env_count_groups(), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&fake->sdev->ref), refs);
}

/* The device is removed while the group is created: either side notices. */
static void lgr_create_dead_device(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr;

	env->fake->sdev->dead = true;
	lgr = env_create_group(test, SMC_SERVER, 1);
	KUNIT_EXPECT_TRUE(test, lgr->dead);
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_DEVICE_GONE);
	env_put_group(env, lgr);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
}

/* ---- the end ---- */

static void lgr_terminate(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	u32 refs = kref_read(&env->fake->sdev->ref);
	struct fake_conn *a = env_add_conn(test, lgr), *b = env_add_conn(test, lgr);
	unsigned long begin = jiffies;
	u32 token;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	b->keep = true;
	/* any context */
	local_bh_disable();
	smc_lgr_terminate(lgr, SMC_LINK_PROTOCOL);
	smc_lgr_terminate(lgr, SMC_LINK_QP_ERROR);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, lgr->dead);
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_PROTOCOL);
	KUNIT_EXPECT_EQ(test, smc_lgr_add_conn(lgr, &a->conn, &token), -ECONNABORTED);
	KUNIT_ASSERT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, a->terminated, 1);
	KUNIT_EXPECT_EQ(test, b->terminated, 1);
	KUNIT_EXPECT_EQ(test, b->reason, SMC_LINK_PROTOCOL);
	/* LLC is notified after the connections, while the queue pairs exist */
	KUNIT_EXPECT_EQ(test, env->conns_at_terminated, 2);
	KUNIT_EXPECT_EQ(test, env->qps_at_terminated, 1);
	/* first phase: the verbs objects are destroyed, in spite of references on the group */
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(env));
	/* not before the peer had time to read the last message */
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + HZ / 5));
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link(lgr, 0));
	KUNIT_EXPECT_TRUE(test, env_wait_refs(env, refs - 1));
	KUNIT_EXPECT_EQ(test, env->releases, 0);
	KUNIT_EXPECT_EQ(test, env_count_groups(), 1);
	/* second phase: the memory is freed with the last reference */
	env_put_group(env, lgr);
	msleep(50);
	KUNIT_EXPECT_EQ(test, env->releases, 0);
	fake_conn_remove(b);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
	KUNIT_EXPECT_EQ(test, env->releases, 1);
	KUNIT_EXPECT_EQ(test, env->terminated, 1);
	KUNIT_EXPECT_EQ(test, env->conn_releases, 1);
	fake_conn_put(b);
	fake_conn_put(a);
}

static void lgr_terminate_ok(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group(test, SMC_CLIENT, 1);

	/* SMC_LINK_OK becomes SMC_LINK_ADMIN */
	smc_lgr_terminate(lgr, SMC_LINK_OK);
	KUNIT_EXPECT_TRUE(test, lgr->dead);
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_ADMIN);
	env_put_group(env, lgr);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
}

/* References on a link and a slot may outlive the group. */
static void link_outlives_lgr(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_link *link = smc_lgr_get_link(lgr, 0);
	struct smc_wr_slot *slot;

	KUNIT_ASSERT_NOT_NULL(test, link);
	slot = smc_wr_slot_get(link->qp);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	env_put_group(env, lgr);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true), -ENOTCONN);
	smc_wr_slot_put(slot);
	smc_link_put(link);
}

/* ---- connections ---- */

/* The table keeps the address of a connection and never looks into it. */
static struct smc_conn *conn_address(int i)
{
	static u8 conns[SMC_LGR_CONNS_MAX + 1];

	return (struct smc_conn *)&conns[i];
}

/* Failed expectations allocate, so they must not be under RCU. */
static struct smc_conn *conn_find_rcu(struct smc_lgr *lgr, u32 token)
{
	struct smc_conn *conn;

	rcu_read_lock();
	conn = smc_lgr_find_conn(lgr, token);
	rcu_read_unlock();
	return conn;
}

static void lgr_conn_table(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	u32 *tokens = kunit_kcalloc(test, SMC_LGR_CONNS_MAX, sizeof(*tokens), GFP_KERNEL);
	u32 refs = kref_read(&lgr->ref);
	u32 token, i, j;

	KUNIT_ASSERT_NOT_NULL(test, tokens);
	for (i = 0; i < SMC_LGR_CONNS_MAX; i++) {
		KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(i), &tokens[i]), 0);
		KUNIT_ASSERT_NE(test, tokens[i] & 0xff, 0);
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_NE(test, tokens[i] & 0xff, tokens[j] & 0xff);
	}
	KUNIT_EXPECT_EQ(test, smc_lgr_add_conn(lgr, conn_address(i), &token), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lgr->nconns, SMC_LGR_CONNS_MAX);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 0);
	KUNIT_EXPECT_EQ(test, kref_read(&lgr->ref), refs + SMC_LGR_CONNS_MAX);
	for (i = 0; i < SMC_LGR_CONNS_MAX; i++) {
		KUNIT_EXPECT_PTR_EQ(test, conn_find_rcu(lgr, tokens[i]), conn_address(i));
		/* a late message to the previous owner of the index */
		KUNIT_EXPECT_NULL(test, conn_find_rcu(lgr, tokens[i] ^ 0x100));
		KUNIT_EXPECT_NULL(test, conn_find_rcu(lgr, tokens[i] ^ 0x80000000));
	}
	KUNIT_EXPECT_NULL(test, conn_find_rcu(lgr, 0));
	KUNIT_EXPECT_NULL(test, conn_find_rcu(lgr, 0xffffff00));
	/* unknown token: no effect */
	smc_lgr_del_conn(lgr, tokens[9] ^ 0x100, false);
	KUNIT_EXPECT_EQ(test, lgr->nconns, SMC_LGR_CONNS_MAX);
	smc_lgr_del_conn(lgr, tokens[9], false);
	smc_lgr_del_conn(lgr, tokens[9], false);
	KUNIT_EXPECT_EQ(test, lgr->nconns, SMC_LGR_CONNS_MAX - 1);
	KUNIT_EXPECT_NULL(test, conn_find_rcu(lgr, tokens[9]));
	token = tokens[9];
	KUNIT_EXPECT_EQ(test, smc_lgr_add_conn(lgr, conn_address(9), &tokens[9]), 0);
	KUNIT_EXPECT_EQ(test, token & 0xff, tokens[9] & 0xff);
	for (i = 0; i < SMC_LGR_CONNS_MAX; i++)
		smc_lgr_del_conn(lgr, tokens[i], false);
	KUNIT_EXPECT_EQ(test, lgr->nconns, 0);
	/* plus the one of the idle work */
	KUNIT_EXPECT_EQ(test, kref_read(&lgr->ref), refs + 1);
}

/* An index that immediate values may still name is given to no other connection. */
static void lgr_conn_index_kept(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	u32 tokens[3], again, n = 0;
	unsigned long index = 0;
	struct smc_conn *conn;
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(i), &tokens[i]), 0);
	rcu_read_lock();
	conn = smc_lgr_find_conn_by_index(lgr, tokens[1] & 0xff);
	rcu_read_unlock();
	KUNIT_EXPECT_PTR_EQ(test, conn, conn_address(1));
	smc_lgr_del_conn(lgr, tokens[1], true);
	KUNIT_EXPECT_EQ(test, lgr->nkept, 1);
	KUNIT_EXPECT_EQ(test, lgr->nconns, 2);
	rcu_read_lock();
	conn = smc_lgr_find_conn_by_index(lgr, tokens[1] & 0xff);
	rcu_read_unlock();
	KUNIT_EXPECT_NULL(test, conn);
	/* walks pass over it */
	rcu_read_lock();
	while (smc_lgr_next_conn(lgr, &index))
		n++;
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, n, 2);
	/* a token that is gone has no effect */
	smc_lgr_del_conn(lgr, tokens[1], true);
	KUNIT_EXPECT_EQ(test, lgr->nkept, 1);
	KUNIT_EXPECT_EQ(test, smc_lgr_add_conn(lgr, conn_address(1), &again), 0);
	KUNIT_EXPECT_NE(test, again & 0xff, tokens[1] & 0xff);
	/* the others come back */
	smc_lgr_del_conn(lgr, tokens[0], false);
	KUNIT_EXPECT_EQ(test, smc_lgr_add_conn(lgr, conn_address(0), &tokens[1]), 0);
	KUNIT_EXPECT_EQ(test, tokens[1] & 0xff, tokens[0] & 0xff);
	smc_lgr_del_conn(lgr, tokens[1], false);
	smc_lgr_del_conn(lgr, tokens[2], false);
	smc_lgr_del_conn(lgr, again, false);
}

/* Kept indices are no places; with few left the group takes no more connections. */
static void lgr_conn_indices_used_up(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	u32 i, places, token;

	for (i = 0; i < SMC_LGR_CONNS_MAX / 2; i++) {
		KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(0), &token), 0);
		smc_lgr_del_conn(lgr, token, true);
	}
	KUNIT_EXPECT_EQ(test, lgr->phase_out_reason, SMC_LINK_OK);
	mutex_lock(&smc_registry.lock);
	for (places = 0; smc_lgr_reserve_conn(lgr); places++)
		;
	mutex_unlock(&smc_registry.lock);
	KUNIT_EXPECT_EQ(test, places, SMC_LGR_CONNS_MAX - SMC_LGR_CONNS_MAX / 2);
	KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(0), &token), 0);
	smc_lgr_del_conn(lgr, token, true);
	KUNIT_EXPECT_EQ(test, lgr->phase_out_reason, SMC_LINK_IDLE);
	for (i = 1; i < places; i++)
		smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 0);
}

struct conn_walk {
	u32 n;
	u32 stop_at;
	struct smc_conn *last;
};

static bool conn_count_walk(struct smc_conn *conn, void *arg)
{
	struct conn_walk *w = arg;

	w->last = conn;
	return ++w->n != w->stop_at;
}

/* A walk starts where the previous one was ended. */
static void lgr_walk_conns_resumes(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct conn_walk w = { .stop_at = 2 };
	u32 tokens[3];
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(i), &tokens[i]), 0);
	smc_lgr_walk_conns(lgr, conn_count_walk, &w);
	KUNIT_EXPECT_PTR_EQ(test, w.last, conn_address(1));
	w = (struct conn_walk) { .stop_at = 1 };
	smc_lgr_walk_conns(lgr, conn_count_walk, &w);
	KUNIT_EXPECT_PTR_EQ(test, w.last, conn_address(1));
	/* each connection once, wherever the walk starts */
	w = (struct conn_walk) { };
	smc_lgr_walk_conns(lgr, conn_count_walk, &w);
	KUNIT_EXPECT_EQ(test, w.n, 3);
	KUNIT_EXPECT_PTR_EQ(test, w.last, conn_address(0));
	/* the connection at which it ended may be gone */
	smc_lgr_del_conn(lgr, tokens[1], false);
	w = (struct conn_walk) { };
	smc_lgr_walk_conns(lgr, conn_count_walk, &w);
	KUNIT_EXPECT_EQ(test, w.n, 2);
	smc_lgr_del_conn(lgr, tokens[0], false);
	smc_lgr_del_conn(lgr, tokens[2], false);
}

static void lgr_walk_conns(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct fake_conn *a, *b;
	struct conn_walk w = { };

	smc_lgr_walk_conns(lgr, conn_count_walk, &w);
	KUNIT_EXPECT_EQ(test, w.n, 0);
	a = env_add_conn(test, lgr);
	b = env_add_conn(test, lgr);
	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	smc_lgr_walk_conns(lgr, conn_count_walk, &w);
	KUNIT_EXPECT_EQ(test, w.n, 2);
	/* a connection without references is not notified */
	refcount_set(&b->ref, 0);
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, b->terminated, 0);
	refcount_set(&b->ref, 1);
	fake_conn_remove(b);
	fake_conn_put(b);
	fake_conn_put(a);
}

/* ---- server: find the group for a client ---- */

static int contact_begin(struct lgr_env *env, u32 peer_no, unsigned long limit, const bool *cancel,
			 struct smc_contact *out)
{
	struct smc_peer peer = env_make_peer(peer_no);

	return smc_contact_begin(&init_net, &peer, NULL, jiffies + limit, cancel, out);
}

/*
 * ID and GID of a peer, sent from another TCP address, do not match the peer's group or its
 * first contact.
 */
static void contact_other_address(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_peer other = env_make_peer(1);
	struct smc_contact c, s;
	struct smc_lgr *lgr;

	other.tcp_addr.s6_addr[15] ^= 1;
	KUNIT_ASSERT_EQ(test, smc_contact_begin(&init_net, &other, NULL, jiffies + SOON,
						NULL, &s), 0);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NOT_NULL(test, c.entry);
	smc_contact_finish(&s, NULL);
	lgr = env_create_group_up(test, SMC_SERVER, 1);
	smc_contact_finish(&c, lgr);
	KUNIT_ASSERT_EQ(test, smc_contact_begin(&init_net, &other, NULL, jiffies + SOON,
						NULL, &s), 0);
	KUNIT_EXPECT_NULL(test, s.lgr);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_PTR_EQ(test, c.lgr, lgr);
	smc_contact_finish(&s, NULL);
	smc_link_put(c.link);
	smc_lgr_unreserve_conn(lgr);
	smc_lgr_put(lgr);
}

static void contact_first(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_contact first, second, other;
	struct smc_lgr *lgr;
	bool cancel = true;

	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &first), 0);
	KUNIT_EXPECT_NULL(test, first.lgr);
	KUNIT_EXPECT_NOT_NULL(test, first.entry);
	/* handshakes with the same peer wait, others do not */
	KUNIT_EXPECT_EQ(test, contact_begin(env, 1, HZ / 20, NULL, &second), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, contact_begin(env, 1, SOON, &cancel, &second), -ECANCELED);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 2, SOON, NULL, &other), 0);
	KUNIT_EXPECT_NOT_NULL(test, other.entry);
	smc_contact_finish(&other, NULL);
	/* not found before it is ready */
	lgr = env_create_group_up(test, SMC_SERVER, 1);
	KUNIT_EXPECT_EQ(test, contact_begin(env, 1, 0, NULL, &second), -ETIMEDOUT);
	smc_contact_finish(&first, lgr);
	KUNIT_EXPECT_TRUE(test, lgr->ready);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &second), 0);
	KUNIT_EXPECT_PTR_EQ(test, second.lgr, lgr);
	KUNIT_ASSERT_NOT_NULL(test, second.link);
	KUNIT_EXPECT_EQ(test, second.link->slot, 0);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 2);
	smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 1);
	smc_link_put(second.link);
	smc_lgr_put(lgr);
}

/* Any difference between peers leads to a separate group. */
static void contact_same_peer(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_contact c = { };
	struct smc_peer peers[5];
	int i;

	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	smc_contact_finish(&c, lgr);
	for (i = 0; i < ARRAY_SIZE(peers); i++)
		peers[i] = env_make_peer(1);
	peers[0].id[7]++;
	peers[1].gid.raw[15]++;
	peers[2].version = 1;
	peers[3].release = 1;
	peers[4].vlan = 5;
	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		KUNIT_ASSERT_EQ(test, smc_contact_begin(&init_net, &peers[i], NULL, jiffies,
							NULL, &c), 0);
		KUNIT_EXPECT_NULL(test, c.lgr);
		KUNIT_EXPECT_NOT_NULL(test, c.entry);
		smc_contact_finish(&c, NULL);
	}
	/* a client's group is never returned to a server */
	KUNIT_EXPECT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_PTR_EQ(test, c.lgr, lgr);
	smc_link_put(c.link);
	smc_lgr_unreserve_conn(lgr);
	smc_lgr_put(lgr);
	lgr->role = SMC_CLIENT;
	KUNIT_EXPECT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NULL(test, c.lgr);
	smc_contact_finish(&c, NULL);
}

static void contact_no_link(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group(test, SMC_SERVER, 1);
	u32 refs = kref_read(&lgr->ref);
	struct smc_contact c;

	/* ready, but without a usable link */
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	smc_contact_finish(&c, lgr);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NULL(test, c.lgr);
	KUNIT_EXPECT_NULL(test, c.link);
	smc_contact_finish(&c, NULL);
	KUNIT_EXPECT_EQ(test, kref_read(&lgr->ref), refs);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 1);
}

/* Without free places, the next handshake creates another group. */
static void lgr_places(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_contact c;
	u32 tokens[16];
	int i;

	lgr->peer.max_conns = 16;
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	smc_contact_finish(&c, lgr);
	/* the creator's place counts */
	KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(0), &tokens[0]), 0);
	for (i = 1; i < 16; i++) {
		KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
		KUNIT_ASSERT_PTR_EQ(test, c.lgr, lgr);
		smc_link_put(c.link);
		smc_lgr_put(lgr);
		if (i % 2)
			KUNIT_ASSERT_EQ(test, smc_lgr_add_conn(lgr, conn_address(i), &tokens[i]),
					0);
	}
	KUNIT_EXPECT_EQ(test, lgr->nconns + lgr->reserved, 16);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NULL(test, c.lgr);
	smc_contact_finish(&c, NULL);
	smc_lgr_unreserve_conn(lgr);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_PTR_EQ(test, c.lgr, lgr);
	smc_link_put(c.link);
	smc_lgr_put(lgr);
	/* no place is reserved, but connections exist: not idle */
	while (lgr->reserved)
		smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&lgr->idle_work));
	smc_lgr_del_conn(lgr, tokens[0], false);
	for (i = 1; i < 16; i += 2)
		smc_lgr_del_conn(lgr, tokens[i], false);
}

/* Groups and first contacts of another namespace do not match. */
static void contact_net(struct kunit *test)
{
	struct smc_lgr *server = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_lgr *client = env_create_group_up(test, SMC_CLIENT, 1);
	struct lgr_env *env = test->priv;
	struct smc_contact here, there;
	struct smc_peer peer = env_make_peer(1);
	struct smc_link *link = NULL;
	struct smc_lgr *lgr;
	struct net *other;

	/* compared only */
	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &here), 0);
	KUNIT_EXPECT_EQ(test, smc_contact_begin(other, &peer, NULL, jiffies, NULL, &there), 0);
	KUNIT_EXPECT_NOT_NULL(test, there.entry);
	smc_contact_finish(&there, NULL);
	smc_contact_finish(&here, server);
	smc_lgr_set_ready(client);
	KUNIT_EXPECT_EQ(test, smc_contact_begin(other, &peer, NULL, jiffies, NULL, &there), 0);
	KUNIT_EXPECT_NULL(test, there.lgr);
	smc_contact_finish(&there, NULL);
	lgr = smc_lgr_find_client(other, &peer, ENV_PEER_QPN, jiffies, NULL, &link);
	KUNIT_EXPECT_EQ(test, PTR_ERR(lgr), -ENOENT);
	KUNIT_EXPECT_EQ(test, server->reserved, 1);
	KUNIT_EXPECT_EQ(test, client->reserved, 1);
}

/* A host at its limit of groups gets another one if one of them is idle, which then ends. */
static void registry_host_groups(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct smc_peer peer = env_make_peer(1);
	struct lgr_env *env = test->priv;
	struct smc_lgr *old, *young, *lgr;

	settings->host_groups = 2;
	old = env_create_group_up(test, SMC_SERVER, 1);
	young = env_create_group_up(test, SMC_CLIENT, 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_alloc(&init_net, SMC_SERVER, &peer)), -EMLINK);
	/* idle, but in its first contact */
	smc_lgr_unreserve_conn(old);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_alloc(&init_net, SMC_SERVER, &peer)), -EMLINK);
	smc_lgr_set_ready(old);
	smc_lgr_set_ready(young);
	smc_lgr_unreserve_conn(young);
	/* so many are ending that no other one has to end in vain */
	old->host->lgrs_ending += 2;
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_alloc(&init_net, SMC_SERVER, &peer)), -EMLINK);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(old->dead));
	old->host->lgrs_ending -= 2;
	lgr = smc_lgr_alloc(&init_net, SMC_SERVER, &peer);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, lgr);
	env->allocated++;
	KUNIT_EXPECT_TRUE(test, READ_ONCE(old->dead));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(young->dead));
	smc_lgr_discard(lgr);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, young->host->lgrs, 1);
}

/* Hosts with a group count, during its first contact if wanted, but not after its end. */
static void registry_has_host(struct kunit *test)
{
	struct in6_addr here = env_make_peer(1).tcp_addr, elsewhere = here;
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr;
	struct net *other;
	unsigned long old;

	/* compared only */
	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	elsewhere.s6_addr[15] ^= 1;
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(&init_net, &here, false));
	lgr = env_create_group(test, SMC_CLIENT, 1);
	/* a new link counts as one that has received */
	old = jiffies - 60 * HZ;
	KUNIT_EXPECT_TRUE(test, smc_registry_has_host(&init_net, &here, false));
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(&init_net, &elsewhere, false));
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(other, &here, false));
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(&init_net, &here, true));
	KUNIT_EXPECT_FALSE(test, smc_registry_host_is_busy(&init_net, &here,
							   SMC_CAP_LATE_CLC, old));
	smc_lgr_set_ready(lgr);
	lgr->peer.caps = SMC_CAP_RKEY_RETRY;
	KUNIT_EXPECT_FALSE(test, smc_registry_host_is_busy(&init_net, &here,
							   SMC_CAP_LATE_CLC, old));
	lgr->peer.caps = SMC_CAP_LATE_CLC;
	KUNIT_EXPECT_TRUE(test, smc_registry_host_is_busy(&init_net, &here, SMC_CAP_LATE_CLC, old));
	KUNIT_EXPECT_FALSE(test, smc_registry_host_is_busy(&init_net, &elsewhere,
							   SMC_CAP_LATE_CLC, old));
	KUNIT_EXPECT_FALSE(test, smc_registry_host_is_busy(&init_net, &here, SMC_CAP_LATE_CLC,
							   jiffies + HZ));
	KUNIT_EXPECT_TRUE(test, smc_registry_has_host(&init_net, &here, true));
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(&init_net, &elsewhere, true));
	smc_lgr_terminate(lgr, SMC_LINK_PROTOCOL);
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(&init_net, &here, false));
	KUNIT_EXPECT_FALSE(test, smc_registry_has_host(&init_net, &here, true));
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
}

/*
 * A group for a connection that began as TCP: of a client, ready, with the capability and a free
 * place, alive, of our address.
 */
static void registry_find_by_addr(struct kunit *test)
{
	struct in6_addr here = env_make_peer(1).tcp_addr, elsewhere = here;
	enum smc_peer_cap cap = SMC_CAP_UPGRADE;
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr, *server;
	struct smc_path own, none = {};

	elsewhere.s6_addr[15] ^= 1;
	server = env_create_group_up(test, SMC_SERVER, 2);
	server->peer.caps = cap;
	smc_lgr_set_ready(server);
	lgr = env_create_group_up(test, SMC_CLIENT, 1);
	lgr->peer.caps = cap;
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL, cap));
	smc_lgr_set_ready(lgr);
	KUNIT_EXPECT_PTR_EQ(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL, cap), lgr);
	smc_lgr_put(lgr);
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &elsewhere, NULL, 0, NULL, cap));
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL,
						     SMC_CAP_LATE_CLC));
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, &elsewhere, 0, NULL, cap));
	KUNIT_EXPECT_PTR_EQ(test, smc_lgr_find_by_addr(&init_net, &here, &lgr->peer.own_addr, 0,
						       NULL, cap), lgr);
	smc_lgr_put(lgr);
	lgr->reserved += SMC_LGR_CONNS_MAX;
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL, cap));
	lgr->reserved -= SMC_LGR_CONNS_MAX;
	/* version 2 does not look at the VLAN, version 1 does */
	KUNIT_EXPECT_PTR_EQ(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 7, NULL, cap), lgr);
	smc_lgr_put(lgr);
	lgr->peer.version = 1;
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 7, NULL, cap));
	/* a path of its own port, of another one */
	fake_ib_path(env->fake, &own);
	KUNIT_EXPECT_PTR_EQ(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, &own, cap), lgr);
	smc_lgr_put(lgr);
	smc_path_put(&own);
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, &none, cap));
	/* takes no further connections */
	smc_lgr_phase_out(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL, cap));
	smc_lgr_terminate(lgr, SMC_LINK_PROTOCOL);
	KUNIT_EXPECT_NULL(test, smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL, cap));
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
}

/* Groups end while others look them up without a lock; KASAN and RCU debugging watch. */
static int registry_reader(void *data)
{
	struct in6_addr here = env_make_peer(1).tcp_addr;
	u32 *found = data;
	struct smc_lgr *lgr;

	while (!kthread_should_stop()) {
		lgr = smc_lgr_find_by_addr(&init_net, &here, NULL, 0, NULL, SMC_CAP_UPGRADE);
		if (lgr) {
			WRITE_ONCE(*found, *found + 1);
			smc_lgr_put(lgr);
		}
		smc_registry_host_is_busy(&init_net, &here, SMC_CAP_UPGRADE, jiffies - HZ);
		usleep_range(50, 100);
	}
	return 0;
}

static void registry_read_while_ending(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct task_struct *reader;
	struct smc_lgr *lgr;
	u32 found = 0, before;
	int i;

	reader = kthread_run(registry_reader, &found, "smc_registry_reader");
	KUNIT_ASSERT_FALSE(test, IS_ERR(reader));
	for (i = 0; i < 10; i++) {
		lgr = env_create_group_up(test, SMC_CLIENT, 1);
		lgr->peer.caps = SMC_CAP_UPGRADE;
		before = READ_ONCE(found);
		smc_lgr_set_ready(lgr);
		KUNIT_EXPECT_TRUE(test, env_wait(&found, before + 1));
		smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
		env_put_group(env, lgr);
		KUNIT_EXPECT_TRUE(test, env_wait_count(0));
	}
	kthread_stop(reader);
}

struct contact_waiter {
	struct lgr_env *env;
	struct completion done;
	struct smc_contact contact;
	unsigned long limit;
	int rc;
};

static int contact_wait_fn(void *arg)
{
	struct contact_waiter *w = arg;

	w->rc = contact_begin(w->env, 1, w->limit, NULL, &w->contact);
	complete(&w->done);
	return 0;
}

static void contact_start_waiter(struct kunit *test, struct contact_waiter *w)
{
	struct task_struct *task;

	w->env = test->priv;
	w->limit = SOON;
	init_completion(&w->done);
	task = kthread_run(contact_wait_fn, w, "smc_waiter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
}

/* Waiting handshakes get the group, or the right to create one, at once. */
static void contact_wait(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_contact first;
	static struct contact_waiter w;
	struct smc_lgr *lgr;

	memset(&w, 0, sizeof(w));
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &first), 0);
	contact_start_waiter(test, &w);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, completion_done(&w.done));
	smc_contact_finish(&first, NULL);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&w.done, SOON));
	KUNIT_EXPECT_EQ(test, w.rc, 0);
	KUNIT_EXPECT_NULL(test, w.contact.lgr);
	KUNIT_EXPECT_NOT_NULL(test, w.contact.entry);
	first = w.contact;

	memset(&w, 0, sizeof(w));
	contact_start_waiter(test, &w);
	lgr = env_create_group_up(test, SMC_SERVER, 1);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, completion_done(&w.done));
	smc_contact_finish(&first, lgr);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&w.done, SOON));
	KUNIT_EXPECT_PTR_EQ(test, w.contact.lgr, lgr);
	smc_link_put(w.contact.link);
	smc_lgr_unreserve_conn(lgr);
	smc_lgr_put(lgr);
}

/* ---- client: the group that an Accept names ---- */

static struct smc_lgr *client_find_lgr(const struct smc_peer *peer, u32 qpn, unsigned long limit,
				       struct smc_link **link)
{
	return smc_lgr_find_client(&init_net, peer, qpn, jiffies + limit, NULL, link);
}

static void lgr_find_client(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_peer peer = env_make_peer(1), other;
	u32 refs = kref_read(&lgr->ref);
	struct smc_link *link = NULL;
	unsigned long begin = jiffies;

	/* waits while the first contact is not finished, with a limit */
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, HZ / 20, &link)),
			-ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + HZ / 20));
	smc_lgr_set_ready(lgr);
	/* the limit is enforced by the server, not by the client */
	lgr->peer.max_conns = 1;
	KUNIT_EXPECT_PTR_EQ(test, client_find_lgr(&peer, ENV_PEER_QPN, 0, &link), lgr);
	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 2);
	smc_lgr_unreserve_conn(lgr);
	smc_lgr_put(lgr);
	smc_link_put(link);
	link = NULL;
	/* no group to wait for */
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN + 1, SOON, &link)),
			-ENOENT);
	other = peer;
	other.gid.raw[15]++;
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&other, ENV_PEER_QPN, SOON, &link)), -ENOENT);
	other = peer;
	other.id[0]++;
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&other, ENV_PEER_QPN, SOON, &link)), -ENOENT);
	other = peer;
	other.version = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&other, ENV_PEER_QPN, SOON, &link)), -ENOENT);
	KUNIT_EXPECT_NULL(test, link);
	KUNIT_EXPECT_EQ(test, kref_read(&lgr->ref), refs);
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, SOON, &link)), -ENOENT);
}

/*
 * Version 1 compares the VLAN, and over RoCE v1 the MAC; version 2 neither. The group on another
 * VLAN is not out of sync, one with another RNIC is.
 */
static void lgr_find_client_network(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *link = NULL;
	struct smc_peer peer = env_make_peer(1), vlan, mac;

	smc_lgr_set_ready(lgr);
	vlan = peer;
	vlan.vlan = lgr->peer.vlan + 1;
	mac = peer;
	memcpy(mac.mac, first->peer_mac, SMC_MAC_LEN);
	mac.mac[5]++;
	for (u8 version = 1; version <= 2; version++) {
		lgr->peer.version = version;
		first->path.gid.roce_v1 = version == 1;
		peer.version = version;
		vlan.version = version;
		mac.version = version;
		memcpy(peer.mac, first->peer_mac, SMC_MAC_LEN);
		memcpy(vlan.mac, first->peer_mac, SMC_MAC_LEN);
		KUNIT_EXPECT_PTR_EQ(test, client_find_lgr(&peer, ENV_PEER_QPN, 0, &link), lgr);
		if (version == 1) {
			KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&vlan, ENV_PEER_QPN, SOON,
								      &link)), -ENOLINK);
			KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&mac, ENV_PEER_QPN, SOON,
								      &link)), -ENOENT);
			continue;
		}
		KUNIT_EXPECT_PTR_EQ(test, client_find_lgr(&vlan, ENV_PEER_QPN, 0, &link), lgr);
		KUNIT_EXPECT_PTR_EQ(test, client_find_lgr(&mac, ENV_PEER_QPN, 0, &link), lgr);
	}
	first->path.gid.roce_v1 = false;
	/* those that were found: one of version 1, three of version 2 */
	KUNIT_EXPECT_EQ(test, lgr->reserved, 5);
	while (lgr->reserved > 1) {
		smc_lgr_unreserve_conn(lgr);
		smc_lgr_put(lgr);
		smc_link_put(first);
	}
	smc_link_put(first);
}

/* Two groups whose messages name the same: one over an RNIC, one over smc_lo on the same netdev. */
static void lgr_find_client_inner(struct kunit *test)
{
	struct smc_lgr *outer = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_lgr *inner = env_create_group_up(test, SMC_CLIENT, 1), *found;
	struct smc_peer peer = env_make_peer(1);
	struct smc_link *link = NULL;

	inner->peer.inner = true;
	smc_lgr_set_ready(outer);
	smc_lgr_set_ready(inner);
	for (int i = 0; i < 2; i++) {
		peer.inner = i;
		found = client_find_lgr(&peer, ENV_PEER_QPN, 0, &link);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, found);
		KUNIT_EXPECT_PTR_EQ(test, found, i ? inner : outer);
		smc_link_put(link);
		smc_lgr_unreserve_conn(found);
		smc_lgr_put(found);
	}
	/* no group to wait for, and none that works but for this connection */
	smc_lgr_terminate(inner, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, SOON, &link)), -ENOENT);
}

/* RFC 7609 section 3.5.2.3: an Accept or Confirm may name any link of the group. */
static void lgr_find_client_second(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second = env_add_link(test, lgr);
	struct smc_peer peer = env_make_peer(1);
	struct smc_link *link = NULL;

	env_bring_up(test, second);
	second->peer_qpn = ENV_PEER_QPN + 1;
	smc_lgr_set_ready(lgr);
	KUNIT_EXPECT_PTR_EQ(test, client_find_lgr(&peer, ENV_PEER_QPN + 1, 0, &link), lgr);
	KUNIT_EXPECT_PTR_EQ(test, link, second);
	if (link) {
		smc_link_put(link);
		smc_lgr_unreserve_conn(lgr);
		smc_lgr_put(lgr);
	}
	link = smc_lgr_get_named_link(lgr, ENV_PEER_QPN, &peer);
	KUNIT_EXPECT_PTR_EQ(test, link, first);
	if (link)
		smc_link_put(link);
	/* queue pairs of two RNICs may have the same number */
	peer.gid.raw[15]++;
	KUNIT_EXPECT_NULL(test, smc_lgr_get_named_link(lgr, ENV_PEER_QPN + 1, &peer));
	smc_link_put(second);
	smc_link_put(first);
}

/*
 * All places of the client's group are taken by connections that the server already counts as
 * closed: the handshake waits for a place.
 */
static void lgr_find_client_full(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_peer peer = env_make_peer(1);
	struct smc_link *link = NULL;
	const bool cancel = true;

	smc_lgr_set_ready(lgr);
	xa_lock_bh(&lgr->conns);
	lgr->reserved = SMC_LGR_CONNS_MAX;
	xa_unlock_bh(&lgr->conns);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, HZ / 20, &link)),
			-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_find_client(&init_net, &peer, ENV_PEER_QPN,
							  jiffies + SOON, &cancel, &link)),
			-ECANCELED);
	KUNIT_EXPECT_NULL(test, link);
	smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_PTR_EQ(test, client_find_lgr(&peer, ENV_PEER_QPN, SOON, &link), lgr);
	KUNIT_ASSERT_NOT_NULL(test, link);
	smc_link_put(link);
	smc_lgr_put(lgr);
	xa_lock_bh(&lgr->conns);
	lgr->reserved = 1;
	xa_unlock_bh(&lgr->conns);
}

/*
 * A server may name a link that has failed at the client only: the group is not out of sync. A
 * queue pair of the same number on another RNIC of the server is not that link.
 */
static void lgr_find_client_link_failed(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second, *link = NULL;
	struct smc_peer peer = env_make_peer(1), other = peer;
	struct lgr_env *env = test->priv;
	struct smc_path path;

	fake_ib_path(env->fake, &path);
	second = smc_lgr_add_link(lgr, &path, 2);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	env_bring_up(test, second);
	second->peer_qpn = ENV_PEER_QPN + 1;
	other.gid.raw[15]++;
	smc_lgr_set_ready(lgr);
	local_bh_disable();
	smc_link_fail(first, SMC_LINK_PORT_DOWN);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, SOON, &link)), -ENOLINK);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&other, ENV_PEER_QPN, SOON, &link)), -ENOENT);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->link_lost, 1));
	flush_work(&lgr->removal_work);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, SOON, &link)), -ENOLINK);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&other, ENV_PEER_QPN, SOON, &link)), -ENOENT);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN + 2, SOON, &link)),
			-ENOENT);
	KUNIT_EXPECT_NULL(test, link);
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, PTR_ERR(client_find_lgr(&peer, ENV_PEER_QPN, SOON, &link)), -ENOENT);
	smc_link_put(first);
	smc_link_put(second);
}

/* ---- client: servers that name a group from another address ---- */

/* Address number @no of host number @host. */
static struct in6_addr proof_addr(u8 host, u8 no)
{
	struct in6_addr addr = { .s6_addr = { 0x20, 0x01, 0x0d, 0xb8, [7] = host, [15] = no } };

	return addr;
}

/* Let a server with that address name the group, and give the place back, but not the entry. */
static long proof_join(struct smc_lgr *lgr, struct in6_addr addr)
{
	struct smc_peer peer = lgr->peer;
	struct smc_link *link = NULL;
	struct smc_lgr *found;

	peer.tcp_addr = addr;
	found = client_find_lgr(&peer, ENV_PEER_QPN, 0, &link);
	if (IS_ERR(found))
		return PTR_ERR(found);
	smc_link_put(link);
	smc_lgr_unreserve_conn(found);
	smc_lgr_put(found);
	return found == lgr ? 0 : -EINVAL;
}

/* A client's group whose place for the first contact stays reserved. */
static struct smc_lgr *proof_create_group(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);

	lgr->peer.tcp_addr = proof_addr(1, 1);
	smc_lgr_set_ready(lgr);
	return lgr;
}

/* Eight unproven connections of a host, sixteen of all; none of the first contact's address. */
static void lgr_proof_limit(struct kunit *test)
{
	u64 limited = smc_stats_get(&init_net, SMC_STAT_JOIN_LIMITED);
	struct smc_lgr *lgr = proof_create_group(test);
	u32 refs = kref_read(&lgr->ref), i;
	struct in6_addr addr;

	for (i = 0; i < SMC_PROOF_OPEN_HOST; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(2, i)), 0);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_JOIN_LIMITED), limited);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(2, i)), -ENOLINK);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_JOIN_LIMITED), limited + 20);
	KUNIT_EXPECT_EQ(test, kref_read(&lgr->ref), refs);
	KUNIT_EXPECT_EQ(test, lgr->reserved, 1);
	/* a neighbour of the peer is another host, too */
	for (i = 2; i < SMC_PROOF_OPEN_HOST + 2; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(1, i)), 0);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(1, i)), -ENOLINK);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(3, 1)), -ENOLINK);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(1, 1)), 0);
	/* one that ended in order makes room for one */
	addr = proof_addr(2, 1);
	smc_proof_drop(lgr, &addr);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(3, 1)), 0);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(3, 1)), -ENOLINK);
	/* the group is the same for others */
	addr = lgr->peer.tcp_addr;
	smc_proof_drop(lgr, &addr);
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, SMC_PROOF_OPEN);
}

/* A group without a free place for the connection keeps no entry. */
static void lgr_proof_full(struct kunit *test)
{
	struct smc_lgr *lgr = proof_create_group(test);
	u32 i;

	xa_lock_bh(&lgr->conns);
	lgr->reserved = SMC_LGR_CONNS_MAX;
	xa_unlock_bh(&lgr->conns);
	for (i = 0; i < 2 * SMC_PROOF_OPEN; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(2, 1)), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, 0);
	xa_lock_bh(&lgr->conns);
	lgr->reserved = 1;
	xa_unlock_bh(&lgr->conns);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(2, 1)), 0);
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, 1);
}

/* A proven address has no limit; eight of them are remembered. */
static void lgr_proof_addresses(struct kunit *test)
{
	struct smc_lgr *lgr = proof_create_group(test);
	struct in6_addr addr = proof_addr(2, 1);
	u32 i;

	for (i = 0; i < SMC_PROOF_OPEN_HOST - 1; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, addr), 0);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(2, 2)), 0);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, addr), -ENOLINK);
	KUNIT_EXPECT_FALSE(test, smc_proof_is_given(lgr, &addr));
	KUNIT_EXPECT_TRUE(test, smc_proof_is_given(lgr, &lgr->peer.tcp_addr));
	/* concerns all connections of the address, and no other */
	smc_proof_complete(lgr, &addr);
	KUNIT_EXPECT_TRUE(test, smc_proof_is_given(lgr, &addr));
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, 1);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, addr), 0);
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, 1);
	/* the one that was proven longest ago goes */
	for (i = 0; i < SMC_PROOF_ADDRS; i++) {
		addr = proof_addr(10 + i, 1);
		smc_proof_complete(lgr, &addr);
		addr = proof_addr(2, 1);
		if (i < SMC_PROOF_ADDRS / 2)
			smc_proof_complete(lgr, &addr);
	}
	KUNIT_EXPECT_EQ(test, lgr->proofs.nproven, SMC_PROOF_ADDRS);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(2, 1)), 0);
	for (i = 1; i < SMC_PROOF_ADDRS; i++)
		KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(10 + i, 1)), 0);
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, 1);
	KUNIT_EXPECT_EQ(test, proof_join(lgr, proof_addr(10, 1)), 0);
	KUNIT_EXPECT_EQ(test, lgr->proofs.nopen, 2);
}

/* ---- the link set ---- */

static void lgr_add_link(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_link *links[SMC_LGR_LINKS], *link;
	struct smc_path path;
	struct lgr_env *env = test->priv;
	int i;

	for (i = 1; i < SMC_LGR_LINKS; i++) {
		links[i] = env_add_link(test, lgr);
		KUNIT_EXPECT_EQ(test, links[i]->slot, i);
		KUNIT_EXPECT_EQ(test, links[i]->num, i + 1);
		KUNIT_EXPECT_EQ(test, links[i]->uid, lgr->id + i + 1);
		link = smc_lgr_get_link_by_num(lgr, i + 1);
		KUNIT_EXPECT_PTR_EQ(test, link, links[i]);
		smc_link_put(link);
	}
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_add_link(lgr, &path, 0)), -ENOSPC);
	KUNIT_EXPECT_NULL(test, path.dev);
	/* the slot of a link that was shut down is free */
	smc_lgr_del_link(links[4], SMC_LINK_ADMIN);
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link(lgr, 4));
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link_by_num(lgr, 5));
	smc_link_put(links[4]);
	links[4] = env_add_link(test, lgr);
	KUNIT_EXPECT_EQ(test, links[4]->slot, 4);
	KUNIT_EXPECT_EQ(test, links[4]->num, 10);
	for (i = 1; i < SMC_LGR_LINKS; i++)
		smc_link_put(links[i]);
}

/* Link numbers have 8 bits; after wrapping, 0 and numbers in use are skipped. */
static void lgr_link_numbers(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	static const u8 wanted[] = { 254, 255, 2, 3 };
	struct smc_link *link;
	int i;

	lgr->next_link_num = 254;
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		link = env_add_link(test, lgr);
		KUNIT_EXPECT_EQ(test, link->num, wanted[i]);
		smc_link_put(link);
	}
}

static void lgr_pick_link(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second, *link;

	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_EXPECT_NULL(test, smc_lgr_pick_other_link(lgr, first));
	second = env_add_link(test, lgr);
	/* not usable yet */
	KUNIT_EXPECT_NULL(test, smc_lgr_pick_other_link(lgr, first));
	env_bring_up(test, second);
	link = smc_lgr_pick_other_link(lgr, first);
	KUNIT_EXPECT_PTR_EQ(test, link, second);
	smc_link_put(link);
	atomic_set(&first->nconns, 3);
	atomic_set(&second->nconns, 2);
	link = smc_lgr_pick_link(lgr);
	KUNIT_EXPECT_PTR_EQ(test, link, second);
	smc_link_put(link);
	atomic_set(&second->nconns, 4);
	link = smc_lgr_pick_link(lgr);
	KUNIT_EXPECT_PTR_EQ(test, link, first);
	smc_link_put(link);
	atomic_set(&first->nconns, 0);
	atomic_set(&second->nconns, 0);
	smc_link_put(second);
	smc_link_put(first);
}

/* Existing regions are mapped for a new link; if that fails, the link is removed. */
static void lgr_add_link_fails(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	u32 refs = kref_read(&env->fake->sdev->ref);
	struct smc_region *region;
	struct smc_link *link;
	struct smc_path path;
	int i;

	for (i = 0; i < 2; i++) {
		region = smc_region_alloc(&lgr->pool, SMC_REGION_RMB, 16384, 512,
					  SMC_REGION_NEEDED);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
		smc_region_publish(&lgr->pool, region);
	}
	env->fake->fail_mr_after = 1;
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_add_link(lgr, &path, 0)), -ENOMEM);
	env->fake->fail_mr_after = -1;
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nmr), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nqp), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&env->fake->sdev->ref), refs);
	env->fake->fail_cq = true;
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_add_link(lgr, &path, 0)), -ENOMEM);
	env->fake->fail_cq = false;
	env->fake->sdev->dead = true;
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_add_link(lgr, &path, 0)), -ENODEV);
	env->fake->sdev->dead = false;
	KUNIT_EXPECT_EQ(test, lgr->slots, 1);
	KUNIT_EXPECT_EQ(test, kref_read(&env->fake->sdev->ref), refs);
	/* a link that failed in setup is not reported */
	KUNIT_EXPECT_EQ(test, env->link_lost, 0);
	link = env_add_link(test, lgr);
	KUNIT_EXPECT_EQ(test, link->slot, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nmr), 2);
	smc_link_put(link);
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_add_link(lgr, &path, 0)), -ECONNABORTED);
}

/* Groups and queue pairs are charged to the host of the peer, and given back with them. */
static void lgr_charged(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second;
	struct lgr_env *env = test->priv;
	u64 bytes = lgr->host->bytes;
	struct smc_path path;

	KUNIT_EXPECT_GE(test, first->charged, smc_qp_get_bytes(first->qp));
	KUNIT_EXPECT_GE(test, bytes, first->charged + sizeof(*lgr));
	second = env_add_link(test, lgr);
	KUNIT_EXPECT_EQ(test, lgr->host->bytes, bytes + second->charged);

	smc_host_mem_max = 1;
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_add_link(lgr, &path, 0)), -EUSERS);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nqp), 2);
	KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_alloc(&init_net, SMC_SERVER, &lgr->peer)), -EUSERS);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited + 2);
	smc_host_mem_max = 0;

	smc_lgr_del_link(second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, lgr->host->bytes, bytes);
	smc_link_put(first);
	smc_link_put(second);
}

/* A host at its limit of memory: what an idle group has is for its next first contact. */
static void lgr_limited_evicts(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1), *idle[2], *next;
	u64 evicted = smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED);
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct lgr_env *env = test->priv;
	unsigned int kb = settings->host_mem;
	struct smc_path path;
	int i;

	for (i = 0; i < 2; i++) {
		idle[i] = env_create_group_up(test, SMC_SERVER, 2 + i);
		smc_lgr_set_ready(idle[i]);
		smc_lgr_unreserve_conn(idle[i]);
	}
	/* no memory for a group: the oldest idle one ends, and no other one meanwhile */
	smc_host_mem_max = 1;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(smc_lgr_alloc(&init_net, SMC_SERVER, &lgr->peer)),
				-EUSERS);
	smc_host_mem_max = 0;
	KUNIT_EXPECT_TRUE(test, smc_lgr_is_dead(idle[0]));
	KUNIT_EXPECT_FALSE(test, smc_lgr_is_dead(idle[1]));
	/* it gives back what it has but for the memory of the group, which a program keeps */
	flush_work(&idle[0]->term_work);
	idle[0]->dead_at -= SOON;
	/* enough for a group, but not for its queue pair */
	next = env_alloc_group(test, SMC_SERVER, 4);
	settings->host_mem = next->host->bytes / 1024 + 1;
	fake_ib_path(env->fake, &path);
	KUNIT_EXPECT_EQ(test, smc_lgr_begin(next, &path), -EUSERS);
	settings->host_mem = kb;
	smc_lgr_discard(next);
	KUNIT_EXPECT_TRUE(test, smc_lgr_is_dead(idle[1]));
	KUNIT_EXPECT_FALSE(test, smc_lgr_is_dead(lgr));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED), evicted + 2);
}

/* A group that a program keeps from being freed does not keep its host from ending another one. */
static void lgr_limited_kept(struct kunit *test)
{
	struct smc_lgr *kept = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_lgr *idle = env_create_group_up(test, SMC_SERVER, 2);

	smc_lgr_set_ready(idle);
	smc_lgr_unreserve_conn(idle);
	smc_lgr_terminate(kept, SMC_LINK_ADMIN);
	/* no limit */
	smc_lgr_evict_for_memory(idle->host, -ENOMEM);
	/* its memory is free soon */
	smc_lgr_evict_for_memory(idle->host, -EUSERS);
	KUNIT_EXPECT_FALSE(test, smc_lgr_is_dead(idle));
	kept->dead_at -= SOON;
	smc_lgr_evict_for_memory(idle->host, -ENOMEM);
	KUNIT_EXPECT_FALSE(test, smc_lgr_is_dead(idle));
	smc_lgr_evict_for_memory(idle->host, -EUSERS);
	KUNIT_EXPECT_TRUE(test, smc_lgr_is_dead(idle));
}

static void lgr_link_fails(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second = env_add_link(test, lgr);
	u64 failures = smc_stats_get(&init_net, SMC_STAT_LINK_FAIL);
	u32 added;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	env_bring_up(test, second);
	smc_rtoken_add(lgr, 0, 1, 1, &added);
	smc_rtoken_add(lgr, 1, 1, 1, &added);
	local_bh_disable();
	smc_link_fail(first, SMC_LINK_PORT_DOWN);
	local_bh_enable();
	KUNIT_ASSERT_TRUE(test, env_wait(&env->link_lost, 1));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LINK_FAIL), failures + 1);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, 1));
	KUNIT_EXPECT_TRUE(test, env_wait_qps(env, 1));
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	KUNIT_EXPECT_EQ(test, conn->terminated, 0);
	KUNIT_EXPECT_PTR_EQ(test, conn->lost, first);
	KUNIT_EXPECT_FALSE(test, conn->lost_unfenced);
	/* it was out of the set before the notification */
	KUNIT_EXPECT_FALSE(test, env->lost_while_linked);
	KUNIT_EXPECT_NULL(test, smc_lgr_get_link(lgr, 0));
	flush_work(&lgr->removal_work);
	KUNIT_EXPECT_EQ(test, lgr->slots, 2);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, 0)->used);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, 1)->used);
	smc_link_put(first);
	/* the other link is the last one */
	smc_link_fail(second, SMC_LINK_GID_CHANGED);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_GID_CHANGED);
	KUNIT_EXPECT_EQ(test, env->link_lost, 1);
	KUNIT_EXPECT_EQ(test, conn->terminated, 1);
	smc_link_put(second);
	fake_conn_put(conn);
}

/*
 * Several links fail at once: all of them are fenced, and none is destroyed, before the first
 * connection is notified and before the peer is. While LLC notifies the peer, a further link may
 * fail.
 */
static void lgr_links_fail(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	struct smc_link *links[4];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	links[0] = smc_lgr_get_link(lgr, 0);
	for (i = 1; i < ARRAY_SIZE(links); i++) {
		links[i] = env_add_link(test, lgr);
		env_bring_up(test, links[i]);
	}
	env->llc_held = true;
	mutex_lock(&lgr->failover_mutex);	/* keep the work waiting until both have failed */
	smc_link_fail(links[2], SMC_LINK_PORT_DOWN);
	smc_link_fail(links[0], SMC_LINK_QP_ERROR);
	mutex_unlock(&lgr->failover_mutex);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, 2));
	KUNIT_EXPECT_TRUE(test, env_wait(&env->link_lost, 1));
	KUNIT_EXPECT_FALSE(test, conn->lost_unfenced);
	KUNIT_EXPECT_EQ(test, conn->lost_in_set, 0);
	KUNIT_EXPECT_EQ(test, conn->lost_qps, ARRAY_SIZE(links));
	KUNIT_EXPECT_FALSE(test, env->lost_while_linked);
	KUNIT_EXPECT_EQ(test, env->link_lost, 1);
	/* its connections move before LLC has reported the other two */
	smc_link_fail(links[1], SMC_LINK_PORT_DOWN);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, 3));
	KUNIT_EXPECT_PTR_EQ(test, conn->lost, links[1]);
	KUNIT_EXPECT_EQ(test, env->link_lost, 1);
	WRITE_ONCE(env->llc_held, false);
	KUNIT_EXPECT_TRUE(test, env_wait_qps(env, 1));
	KUNIT_EXPECT_EQ(test, env->link_lost, 3);
	flush_work(&lgr->removal_work);
	KUNIT_EXPECT_EQ(test, lgr->slots, BIT(3));
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	/* the end of the group waits for links that are being removed */
	env->llc_held = true;
	smc_link_put(links[0]);
	links[0] = env_add_link(test, lgr);
	env_bring_up(test, links[0]);
	smc_link_fail(links[3], SMC_LINK_PORT_DOWN);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->link_lost, 4));
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nqp), 2);
	WRITE_ONCE(env->llc_held, false);
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(env));
	for (i = 0; i < ARRAY_SIZE(links); i++)
		smc_link_put(links[i]);
	fake_conn_put(conn);
}

/* A link that is not usable yet does not keep the group alive. */
static void lgr_last_link_fails(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second = env_add_link(test, lgr);

	smc_link_fail(first, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_EQ(test, env->link_lost, 0);
	smc_link_put(second);
	smc_link_put(first);
	env_put_group(env, lgr);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
}

static void lgr_del_link(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	struct smc_link *second = env_add_link(test, lgr);
	u64 failures = smc_stats_get(&init_net, SMC_STAT_LINK_FAIL);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	env_bring_up(test, second);
	smc_lgr_del_link(second, SMC_LINK_PEER_DELETED);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LINK_FAIL), failures);
	KUNIT_EXPECT_EQ(test, conn->link_lost, 1);
	KUNIT_EXPECT_FALSE(test, conn->lost_unfenced);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->reason), SMC_LINK_PEER_DELETED);
	/* its number is unknown now, that of the first link is not */
	KUNIT_EXPECT_LT(test, smc_lgr_find_open_slot(lgr, second->num), 0);
	KUNIT_EXPECT_EQ(test, smc_lgr_find_open_slot(lgr, 1), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nqp), 1);
	/* LLC is the caller, so it is not notified */
	KUNIT_EXPECT_EQ(test, env->link_lost, 0);
	smc_lgr_del_link(second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, conn->link_lost, 1);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_link_put(second);
	fake_conn_remove(conn);
	fake_conn_put(conn);
}

/* A break after smc_link_expect_removal() is not counted as a failure; other reasons are. */
static void link_removal_expected(struct kunit *test)
{
	static const enum smc_link_reason reasons[] = {
		SMC_LINK_QP_ERROR, SMC_LINK_PEER_MOVED, SMC_LINK_PORT_DOWN,
	};
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	u64 failures = smc_stats_get(&init_net, SMC_STAT_LINK_FAIL);
	struct smc_link *link;
	u32 notified = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		link = env_add_link(test, lgr);
		env_bring_up(test, link);
		smc_link_expect_removal(link, SMC_LINK_ADMIN);
		smc_link_fail(link, reasons[i]);
		KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, ++notified));
		KUNIT_EXPECT_TRUE(test, env_wait_qps(env, 1));
		KUNIT_EXPECT_EQ(test, atomic_read(&link->reason),
				reasons[i] == SMC_LINK_PORT_DOWN ? reasons[i] : SMC_LINK_ADMIN);
		smc_link_put(link);
	}
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LINK_FAIL), failures + 1);
	/* removal cancelled, then a failure */
	link = env_add_link(test, lgr);
	env_bring_up(test, link);
	smc_link_expect_removal(link, SMC_LINK_ADMIN);
	smc_link_expect_removal(link, SMC_LINK_OK);
	smc_link_fail(link, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, ++notified));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LINK_FAIL), failures + 2);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_link_put(link);
	fake_conn_remove(conn);
	fake_conn_put(conn);
}

/* The device does not flush: the fence times out, connections are notified, the link is removed. */
static void link_fence_timeout(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	struct smc_link *second = env_add_link(test, lgr);
	u64 late = smc_stats_get(&init_net, SMC_STAT_FENCE_LATE);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	env_bring_up(test, second);
	env->fake->no_flush = true;
	smc_lgr_del_link(second, SMC_LINK_ADMIN);
	env->fake->no_flush = false;
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_FENCE_LATE), late + 1);
	KUNIT_EXPECT_EQ(test, conn->link_lost, 1);
	KUNIT_EXPECT_FALSE(test, conn->lost_unfenced);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->nqp), 1);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_link_put(second);
	fake_conn_remove(conn);
	fake_conn_put(conn);
}

/* Make the device keep what is posted, and forget which queue pairs have changed so far. */
static void fence_stop_flush(struct lgr_env *env)
{
	env->fake->no_flush = true;
	env->fake->nsteps = 0;
}

/* Check that @n queue pairs have entered ERR before the first one was destroyed. */
static void fence_expect_together(struct kunit *test, u32 n)
{
	struct lgr_env *env = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, env->fake->nsteps, 2 * n);
	for (i = 0; i < 2 * n; i++)
		KUNIT_EXPECT_EQ(test, env->fake->steps[i].change,
				i < n ? FAKE_IB_QP_ERR : FAKE_IB_QP_DESTROYED);
}

/*
 * @lost links fail together, and their device does not flush: all are in ERR before one is waited
 * for, so that connections wait for one FENCE_TIME.
 */
static void fence_links_together(struct kunit *test, u32 lost)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	u64 late = smc_stats_get(&init_net, SMC_STAT_FENCE_LATE);
	struct smc_link *links[4];
	unsigned long begin;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_LT(test, lost, ARRAY_SIZE(links));
	links[0] = smc_lgr_get_link(lgr, 0);
	for (i = 1; i <= lost; i++) {
		links[i] = env_add_link(test, lgr);
		env_bring_up(test, links[i]);
	}
	fence_stop_flush(env);
	begin = jiffies;
	mutex_lock(&lgr->failover_mutex);	/* keep the work waiting until all have failed */
	for (i = 0; i < lost; i++)
		smc_link_fail(links[i], SMC_LINK_PORT_DOWN);
	mutex_unlock(&lgr->failover_mutex);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, lost));
	env->fake->no_flush = false;
	fence_expect_together(test, lost);
	KUNIT_EXPECT_EQ(test, conn->lost_steps, 2 * lost);
	KUNIT_EXPECT_FALSE(test, conn->lost_unfenced);
	KUNIT_EXPECT_TRUE(test, time_after_eq(conn->lost_at, begin + FENCE_TIME));
	KUNIT_EXPECT_TRUE(test, time_before(conn->lost_at, begin + 2 * FENCE_TIME));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_FENCE_LATE), late + lost);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	for (i = 0; i <= lost; i++)
		smc_link_put(links[i]);
	fake_conn_remove(conn);
	fake_conn_put(conn);
}

static void lgr_two_fences(struct kunit *test)
{
	fence_links_together(test, 2);
}

static void lgr_three_fences(struct kunit *test)
{
	fence_links_together(test, 3);
}

/*
 * One more link fails while a fence waits: its fence begins at once, and the connections wait
 * for both.
 */
static void lgr_fence_further_link(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second = env_add_link(test, lgr);
	struct smc_link *third = env_add_link(test, lgr);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);
	unsigned long begin;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	env_bring_up(test, second);
	env_bring_up(test, third);
	fence_stop_flush(env);
	smc_link_fail(first, SMC_LINK_PORT_DOWN);
	KUNIT_ASSERT_TRUE(test, env_wait(&env->fake->nsteps, 1));
	msleep(2000);
	begin = jiffies;
	smc_link_fail(second, SMC_LINK_PORT_DOWN);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->link_lost, 2));
	env->fake->no_flush = false;
	KUNIT_ASSERT_EQ(test, conn->lost_steps, 4);
	fence_expect_together(test, 2);
	KUNIT_EXPECT_TRUE(test, time_before(env->fake->steps[1].at, begin + HZ));
	/* the second one has its full time */
	KUNIT_EXPECT_TRUE(test, time_after_eq(env->fake->steps[3].at, begin + FENCE_TIME));
	KUNIT_EXPECT_FALSE(test, conn->lost_unfenced);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_link_put(first);
	smc_link_put(second);
	smc_link_put(third);
	fake_conn_remove(conn);
	fake_conn_put(conn);
}

/* The second of two links is lost while the first is fenced: the connections end at once. */
static void lgr_fence_last_link(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_link *first = smc_lgr_get_link(lgr, 0), *second = env_add_link(test, lgr);
	struct lgr_env *env = test->priv;
	struct fake_conn *conn = env_add_conn(test, lgr);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	env_bring_up(test, second);
	fence_stop_flush(env);
	smc_link_fail(first, SMC_LINK_PORT_DOWN);
	KUNIT_ASSERT_TRUE(test, env_wait(&env->fake->nsteps, 1));
	/* a work that still looked for a usable link would name the reason of the first one */
	KUNIT_ASSERT_TRUE(test, env_wait_sleeper(&lgr->fence_wait));
	smc_link_fail(second, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, env_wait(&conn->terminated, 1));
	KUNIT_EXPECT_EQ(test, conn->reason, SMC_LINK_QP_ERROR);
	/* the first fence has not ended */
	KUNIT_EXPECT_EQ(test, conn->link_lost, 0);
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(env));
	env->fake->no_flush = false;
	fence_expect_together(test, 2);
	smc_link_put(first);
	smc_link_put(second);
	fake_conn_put(conn);
}

/* A group ends: its links are fenced together, and with a link that was lost before. */
static void lgr_term_fences(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct lgr_env *env = test->priv;
	unsigned long begin = jiffies;
	struct smc_link *links[3];
	u32 i;

	links[0] = smc_lgr_get_link(lgr, 0);
	for (i = 1; i < ARRAY_SIZE(links); i++) {
		links[i] = env_add_link(test, lgr);
		env_bring_up(test, links[i]);
	}
	fence_stop_flush(env);
	smc_link_fail(links[1], SMC_LINK_PORT_DOWN);
	KUNIT_ASSERT_TRUE(test, env_wait(&env->fake->nsteps, 1));
	smc_lgr_terminate(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->fake->nsteps, 2 * ARRAY_SIZE(links)));
	env->fake->no_flush = false;
	fence_expect_together(test, ARRAY_SIZE(links));
	KUNIT_EXPECT_TRUE(test, time_before(env->fake->steps[5].at, begin + 2 * FENCE_TIME));
	for (i = 0; i < ARRAY_SIZE(links); i++)
		smc_link_put(links[i]);
}

/* ---- devices ---- */

static void lgr_device_events(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct fake_ib *other = fake_ib_create(test);
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);

	env->second_fake = other;
	smc_lgr_ib_events.device_gone(other->sdev);
	smc_lgr_ib_events.port_inactive(env->fake->sdev, 2);
	smc_lgr_ib_events.port_active(env->fake->sdev, 1);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_lgr_ib_events.port_inactive(env->fake->sdev, 1);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_PORT_DOWN);

	lgr = env_create_group_up(test, SMC_CLIENT, 2);
	/* its netdev is gone, and the GID with it */
	smc_lgr_ib_events.gid_changed(env->fake->sdev, 1);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 2));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_GID_CHANGED);

	lgr = env_create_group_up(test, SMC_CLIENT, 3);
	smc_lgr_ib_events.device_gone(env->fake->sdev);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 3));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_DEVICE_GONE);
	/* the device is released although the case has references on the groups */
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(env));
	KUNIT_EXPECT_TRUE(test, env_wait_refs(env, 1));
}

/* ---- idle groups ---- */

static void lgr_idle(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_contact c;

	settings->idle_server = 600;
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	smc_contact_finish(&c, lgr);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&lgr->idle_work));
	/* the last place is given back: idle from now on */
	smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&lgr->idle_work));
	/* a new connection cancels the idle timer */
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_ASSERT_PTR_EQ(test, c.lgr, lgr);
	smc_link_put(c.link);
	smc_lgr_put(lgr);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&lgr->idle_work));
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	settings->idle_server = 0;
	smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_IDLE);
	env_put_group(env, lgr);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
}

/* A group that is phased out takes no more connections and ends with the last one. */
static void lgr_phase_out(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct fake_conn *conn = env_add_conn(test, lgr);
	struct smc_contact c;

	settings->idle_server = 600;
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	smc_contact_finish(&c, lgr);
	smc_lgr_phase_out(lgr, SMC_LINK_OUT_OF_SYNC);
	KUNIT_EXPECT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NULL(test, c.lgr);
	smc_contact_finish(&c, NULL);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	fake_conn_remove(conn);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_OUT_OF_SYNC);
	fake_conn_put(conn);

	/* at once if it has none */
	lgr = env_create_group_up(test, SMC_SERVER, 2);
	smc_lgr_unreserve_conn(lgr);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_lgr_phase_out(lgr, SMC_LINK_ADMIN);
	smc_lgr_phase_out(lgr, SMC_LINK_OUT_OF_SYNC);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 2));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_ADMIN);
}

/* A group without room for an RMB, of its own or of the peer's, is skipped. */
static void lgr_out_of_regions(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_contact c;
	u32 added;
	int i;

	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	smc_contact_finish(&c, lgr);
	smc_lgr_set_out_of_regions(lgr);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NULL(test, c.lgr);
	smc_contact_finish(&c, NULL);
	smc_lgr_set_regions_available(lgr);
	/* known RMBs without references can be replaced */
	for (i = 0; i < SMC_LGR_RTOKENS; i++)
		KUNIT_EXPECT_EQ(test, smc_rtoken_add(lgr, 0, 1 + i, 1, &added), i);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_ASSERT_PTR_EQ(test, c.lgr, lgr);
	smc_link_put(c.link);
	smc_lgr_unreserve_conn(lgr);
	smc_lgr_put(lgr);
	for (i = 0; i < SMC_LGR_RTOKENS; i++) {
		KUNIT_EXPECT_TRUE(test, smc_rtoken_has_room(lgr));
		KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, 1 + i, 1), i);
	}
	KUNIT_EXPECT_FALSE(test, smc_rtoken_has_room(lgr));
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_EXPECT_NULL(test, c.lgr);
	smc_contact_finish(&c, NULL);
	smc_rtoken_put(lgr, 7);
	KUNIT_ASSERT_EQ(test, contact_begin(env, 1, SOON, NULL, &c), 0);
	KUNIT_ASSERT_PTR_EQ(test, c.lgr, lgr);
	smc_link_put(c.link);
	smc_lgr_unreserve_conn(lgr);
	smc_lgr_put(lgr);
}

/* Client groups have their own idle time; it starts after the last connection. */
static void lgr_idle_client(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_CLIENT, 1);
	struct fake_conn *a = env_add_conn(test, lgr), *b = env_add_conn(test, lgr);

	settings->idle_server = 600;
	settings->idle_client = 0;
	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	fake_conn_remove(a);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	fake_conn_remove(b);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_IDLE);
	fake_conn_put(a);
	fake_conn_put(b);
}

/* The idle timer expires just after a connection was added. */
static void lgr_idle_expires_late(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct fake_conn *conn;

	settings->idle_server = 600;
	smc_lgr_unreserve_conn(lgr);
	conn = env_add_conn(test, lgr);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_TRUE(test, delayed_work_pending(&lgr->idle_work));
	flush_delayed_work(&lgr->idle_work);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	KUNIT_EXPECT_EQ(test, conn->terminated, 0);
	fake_conn_remove(conn);
	fake_conn_put(conn);
}

/* ---- namespace exit ---- */

static int lgr_net_exit_fn(void *arg)
{
	smc_lgr_net_exit(&init_net);
	complete(arg);
	return 0;
}

/* Waits for connections, but not for groups of other namespaces. */
static void lgr_net_exit(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct fake_conn *conn = env_add_conn(test, lgr);
	static struct completion done;
	struct task_struct *task;
	struct net *other;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	conn->keep = true;
	/* compared only */
	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	smc_lgr_net_exit(other);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	init_completion(&done);
	task = kthread_run(lgr_net_exit_fn, &done, "smc_net_exit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_NET_EXIT);
	env_put_group(env, lgr);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&done, HZ / 5));
	fake_conn_remove(conn);
	fake_conn_put(conn);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&done, SOON));
	KUNIT_EXPECT_EQ(test, env_count_groups(), 0);
}

/* All groups of the namespace end, and the caller does not wait for their connections. */
static void lgr_net_begin_exit(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 1);
	struct fake_conn *conn = env_add_conn(test, lgr);
	struct net *other;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	conn->keep = true;
	/* compared only */
	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	smc_lgr_net_begin_exit(other);
	KUNIT_EXPECT_FALSE(test, lgr->dead);
	smc_lgr_net_begin_exit(&init_net);
	KUNIT_EXPECT_TRUE(test, env_wait(&env->terminated, 1));
	KUNIT_EXPECT_EQ(test, lgr->reason, SMC_LINK_NET_EXIT);
	env_put_group(env, lgr);
	KUNIT_EXPECT_EQ(test, env_count_groups(), 1);
	fake_conn_remove(conn);
	fake_conn_put(conn);
	smc_lgr_net_exit(&init_net);
	KUNIT_EXPECT_EQ(test, env_count_groups(), 0);
}

static struct kunit_case lgr_cases[] = {
	KUNIT_CASE(lgr_create),
	KUNIT_CASE(lgr_create_fails),
	KUNIT_CASE(lgr_create_dead_device),
	KUNIT_CASE(lgr_terminate),
	KUNIT_CASE(lgr_terminate_ok),
	KUNIT_CASE(link_outlives_lgr),
	KUNIT_CASE(lgr_conn_table),
	KUNIT_CASE(lgr_conn_index_kept),
	KUNIT_CASE(lgr_conn_indices_used_up),
	KUNIT_CASE(lgr_walk_conns),
	KUNIT_CASE(lgr_walk_conns_resumes),
	KUNIT_CASE(contact_first),
	KUNIT_CASE(contact_other_address),
	KUNIT_CASE(contact_same_peer),
	KUNIT_CASE(contact_no_link),
	KUNIT_CASE(contact_net),
	KUNIT_CASE(registry_host_groups),
	KUNIT_CASE(registry_has_host),
	KUNIT_CASE(registry_find_by_addr),
	KUNIT_CASE_SLOW(registry_read_while_ending),
	KUNIT_CASE(lgr_places),
	KUNIT_CASE(contact_wait),
	KUNIT_CASE(lgr_find_client),
	KUNIT_CASE(lgr_find_client_network),
	KUNIT_CASE(lgr_find_client_inner),
	KUNIT_CASE(lgr_find_client_second),
	KUNIT_CASE(lgr_find_client_full),
	KUNIT_CASE(lgr_find_client_link_failed),
	KUNIT_CASE(lgr_proof_limit),
	KUNIT_CASE(lgr_proof_full),
	KUNIT_CASE(lgr_proof_addresses),
	KUNIT_CASE(lgr_add_link),
	KUNIT_CASE(lgr_link_numbers),
	KUNIT_CASE(lgr_pick_link),
	KUNIT_CASE(lgr_add_link_fails),
	KUNIT_CASE(lgr_charged),
	KUNIT_CASE(lgr_limited_evicts),
	KUNIT_CASE(lgr_limited_kept),
	KUNIT_CASE(lgr_link_fails),
	KUNIT_CASE(lgr_links_fail),
	KUNIT_CASE(lgr_last_link_fails),
	KUNIT_CASE(link_removal_expected),
	KUNIT_CASE_SLOW(link_fence_timeout),
	KUNIT_CASE_SLOW(lgr_two_fences),
	KUNIT_CASE_SLOW(lgr_three_fences),
	KUNIT_CASE_SLOW(lgr_fence_further_link),
	KUNIT_CASE_SLOW(lgr_fence_last_link),
	KUNIT_CASE_SLOW(lgr_term_fences),
	KUNIT_CASE(lgr_del_link),
	KUNIT_CASE(lgr_device_events),
	KUNIT_CASE(lgr_idle),
	KUNIT_CASE(lgr_phase_out),
	KUNIT_CASE(lgr_out_of_regions),
	KUNIT_CASE(lgr_idle_client),
	KUNIT_CASE(lgr_idle_expires_late),
	KUNIT_CASE(lgr_net_exit),
	KUNIT_CASE(lgr_net_begin_exit),
	{ }
};

struct kunit_suite smc_lgr_suite = {
	.name = "smc_lgr",
	.suite_init = env_suite_init,
	.suite_exit = env_suite_exit,
	.init = env_init,
	.exit = env_exit,
	.test_cases = lgr_cases,
};
