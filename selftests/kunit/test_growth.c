// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: a ring of full size follows the first one, and that of a stream grows (conn/buffers.c).
 * The group layer is the real one, the RDMA device a fake.
 */
#include <linux/bitmap.h>
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <smc/base/host.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/socket/sock.h>
#include "../../conn/timers.h"
#include "../../socket/stream.h"

#include "fake_ib.h"
#include "lgr_env.h"
#include "suites.h"

#define FIRST		SMC_ELEM_SIZE_FIRST
#define SIZE		16384
#define GROWN		(4 * SIZE)
/* What is in the ring from here on wraps in both rings. */
#define START		(GROWN - 5000)
#define PATIENCE	(5 * HZ)
/* What a program writes. */
#define BYTE		0x5a

/**
 * struct growth_env - state of one case
 * @lgr: group of two links
 * @first: link that stays, with a reference
 * @second: link that the connection uses, with a reference
 * @conn: the connection
 * @small: its ring before it grows
 */
struct growth_env {
	struct smc_lgr *lgr;
	struct smc_link *first;
	struct smc_link *second;
	struct smc_conn *conn;
	struct smc_elem small;
};

/* The byte at a position of the stream. */
static u8 growth_byte(u64 pos)
{
	return pos * 7 + pos / 251;
}

/* Set the positions of an empty ring. */
static void growth_set_pos(struct growth_env *e, u64 pos)
{
	struct smc_ring_tx *ring = &e->conn->tx.ring;

	spin_lock_bh(&e->conn->lock);
	ring->prepared = pos;
	ring->sent = pos;
	ring->sent_max = pos;
	ring->posted = pos;
	ring->completed = pos;
	ring->peer_consumed = pos;
	spin_unlock_bh(&e->conn->lock);
}

/* Write a full ring. */
static void growth_fill(struct kunit *test, struct growth_env *e)
{
	const u32 size = e->conn->tx.ring.size;
	u64 pos = e->conn->tx.ring.prepared;
	u8 *buf = kunit_kzalloc(test, size, GFP_KERNEL);
	struct kvec vec = { .iov_base = buf, .iov_len = size };
	struct iov_iter iter;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < size; i++)
		buf[i] = growth_byte(pos + i);
	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, size);
	KUNIT_ASSERT_EQ(test, smc_tx_write(e->conn, &iter, size, false, false), size);
	KUNIT_EXPECT_EQ(test, smc_tx_get_space(e->conn), 0);
}

/* As growth_connect_size(); @ring: the group has a ring of full size already. */
static void growth_connect_group(struct kunit *test, struct growth_env *e, u32 size, bool ring)
{
	static const struct smc_conn_peer_end peer = {
		.token = 0x77, .size = SIZE, .index = 1, .rkey = 0x22, .addr = 0x2000,
		.first = true,
	};
	struct smc_rtoken *rtoken;
	bool cancel = false;

	e->lgr = env_create_group_up(test, SMC_SERVER, 1);
	e->first = smc_lgr_get_link(e->lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, e->first);
	e->second = env_add_link(test, e->lgr);
	env_bring_up(test, e->second);
	if (ring)
		env_add_ring(test, e->lgr, size);
	e->conn = smc_conn_create(e->lgr, e->second, size, SIZE, false, &cancel);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->conn);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(e->conn, &peer), 0);
	rtoken = smc_rtoken_of(e->lgr, e->conn->tx.claim.rtoken);
	rtoken->rkey[0] = 0x11;
	rtoken->addr[0] = 0x1000;
	rtoken->links |= BIT(0);
	smc_conn_activate(e->conn);
	e->small = e->conn->tx.elem;
}

/* A connection over the second of two links, on which nothing was written; @size: of its ring. */
static void growth_connect_size(struct kunit *test, struct growth_env *e, u32 size)
{
	growth_connect_group(test, e, size, true);
}

static void growth_connect(struct kunit *test, struct growth_env *e)
{
	growth_connect_size(test, e, SIZE);
}

/* The same with a ring of full size, which is full; nothing of that is completed. */
static void growth_begin(struct kunit *test, struct growth_env *e)
{
	struct smc_conn_tx *tx;

	growth_connect(test, e);
	KUNIT_ASSERT_TRUE(test, smc_conn_grow_ring(e->conn, NULL));
	tx = &e->conn->tx;
	e->small = tx->elem;
	growth_set_pos(e, START);
	spin_lock_bh(&e->conn->lock);
	/* so much was sent */
	tx->growth.from = START - 8 * SIZE;
	tx->growth.since = jiffies;
	spin_unlock_bh(&e->conn->lock);
	growth_fill(test, e);
	/* kept back for a foreign peer */
	KUNIT_EXPECT_EQ(test, smc_tx_get_unsent(e->conn), 16);
}

static void growth_put(struct growth_env *e)
{
	smc_conn_put(e->conn);
	smc_link_put(e->second);
	smc_link_put(e->first);
}

static void growth_end(struct growth_env *e)
{
	smc_conn_close(e->conn, true, 0, NULL);
	growth_put(e);
}

/* Also while works change it. */
static enum smc_growth_state growth_state(const struct growth_env *e)
{
	return READ_ONCE(e->conn->tx.growth.state);
}

static bool growth_step(struct growth_env *e)
{
	return smc_conn_grow_ring(e->conn, NULL);
}

static bool growth_wait(const struct growth_env *e, enum smc_growth_state state)
{
	unsigned long until = jiffies + PATIENCE;

	while (growth_state(e) != state && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return growth_state(e) == state;
}

static void growth_until_ready(struct kunit *test, struct growth_env *e)
{
	KUNIT_EXPECT_FALSE(test, growth_step(e));
	KUNIT_EXPECT_TRUE(test, growth_wait(e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, e->conn->tx.growth.elem.size, GROWN);
	KUNIT_EXPECT_PTR_EQ(test, e->conn->tx.elem.region, e->small.region);
}

static void growth_until_changed(struct kunit *test, struct growth_env *e)
{
	growth_until_ready(test, e);
	KUNIT_EXPECT_TRUE(test, growth_step(e));
	KUNIT_EXPECT_EQ(test, growth_state(e), SMC_GROWTH_CHANGED);
	KUNIT_EXPECT_EQ(test, e->conn->tx.ring.size, GROWN);
	KUNIT_EXPECT_EQ(test, smc_tx_get_space(e->conn), GROWN - SIZE);
}

/* Let the work of the connection run once more. */
static void growth_run_work(struct growth_env *e)
{
	smc_conn_queue_work(e->conn);
	flush_delayed_work(&e->conn->work);
}

/* Let the work of the connection give back the ring that the writer did not take in time. */
static void growth_expire_offer(struct kunit *test, struct growth_env *e)
{
	spin_lock_bh(&e->conn->lock);
	e->conn->tx.growth.deadline = jiffies;
	spin_unlock_bh(&e->conn->lock);
	growth_run_work(e);
	KUNIT_EXPECT_EQ(test, growth_state(e), SMC_GROWTH_NONE);
}

static bool growth_small_is_used(const struct growth_env *e)
{
	return test_bit(e->small.index - 1, e->small.region->used);
}

/* Expect that the previous ring is free, and that the next connection finds nothing in it. */
static void growth_expect_given_back(struct kunit *test, const struct growth_env *e)
{
	flush_delayed_work(&e->conn->work);
	KUNIT_EXPECT_FALSE(test, growth_small_is_used(e));
	KUNIT_EXPECT_NULL(test, e->conn->tx.growth.elem.region);
	KUNIT_EXPECT_FALSE(test, memchr_inv(e->small.addr, 0, e->small.size));
}

static void growth_complete(const struct smc_link *link)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);

	fake_ib_complete(qp, qp->nsends, IB_WC_SUCCESS);
}

/* Expect all bytes that are not completed in the ring of the connection. */
static void growth_expect_bytes(struct kunit *test, const struct growth_env *e)
{
	const struct smc_conn_tx *tx = &e->conn->tx;
	const u8 *addr = tx->elem.addr;
	u64 pos, bad = 0;

	KUNIT_EXPECT_LT(test, tx->ring.completed, tx->ring.prepared);
	for (pos = tx->ring.completed; pos < tx->ring.prepared; pos++)
		bad += addr[pos % tx->elem.size] != growth_byte(pos);
	KUNIT_EXPECT_EQ(test, bad, 0);
}

/* Expect that the first WRITE over a link reads the ring of the connection at position @pos. */
static void growth_expect_write(struct kunit *test, const struct growth_env *e,
				const struct smc_link *link, u64 pos)
{
	const struct smc_elem *elem = &e->conn->tx.elem;
	struct fake_ib_wr *wr;
	struct ib_sge sge;
	u32 i = 0;

	do {
		wr = fake_ib_sent(fake_ib_qp(link->qp->qp), i++);
	} while (wr && wr->opcode != IB_WR_RDMA_WRITE);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	smc_elem_prepare_sge(elem, link->slot, pos % elem->size, 1, &sge);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, sge.addr);
	KUNIT_EXPECT_EQ(test, wr->sge[0].lkey, sge.lkey);
}

static void growth_lose_link(struct kunit *test, struct growth_env *e)
{
	smc_lgr_del_link(e->second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_PTR_EQ(test, e->conn->link, e->first);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e->conn), SMC_CONN_ACTIVE);
}

/* The link is lost after the change: all bytes are written again, from the bigger ring. */
static void growth_failover(struct kunit *test)
{
	struct smc_conn_stats stats;
	struct growth_env e;

	growth_begin(test, &e);
	growth_expect_write(test, &e, e.second, START);
	growth_until_changed(test, &e);
	growth_expect_bytes(test, &e);
	growth_lose_link(test, &e);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.completed, START);
	spin_lock_bh(&e.conn->lock);
	smc_tcpinfo_get_stats(e.conn, &stats);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, stats.moves, 1);
	KUNIT_EXPECT_STREQ(test, stats.move_reason, smc_link_reason_str(SMC_LINK_ADMIN));
	KUNIT_EXPECT_EQ(test, stats.tx_queue, stats.tx_bytes - START);
	growth_expect_bytes(test, &e);
	growth_expect_write(test, &e, e.first, START);
	KUNIT_EXPECT_TRUE(test, growth_small_is_used(&e));
	growth_complete(e.first);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	growth_end(&e);
}

/* The link is lost before the change. The bytes are in flight again when they are copied. */
static void growth_failover_ready(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	growth_until_ready(test, &e);
	growth_lose_link(test, &e);
	growth_expect_write(test, &e, e.first, START);
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	growth_expect_bytes(test, &e);
	growth_run_work(&e);
	KUNIT_EXPECT_TRUE(test, growth_small_is_used(&e));
	growth_complete(e.first);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	growth_end(&e);
}

/* A link that does not know the bigger ring: that is given back, and the writer asks again. */
static void growth_link_without(struct kunit *test)
{
	struct smc_region_link *map;
	struct smc_mapping *mapping;
	struct smc_elem bigger;
	struct growth_env e;

	growth_begin(test, &e);
	growth_until_ready(test, &e);
	bigger = e.conn->tx.growth.elem;
	map = &e.conn->tx.growth.elem.region->maps[e.second->slot];
	mapping = rcu_dereference_protected(map->mapping, true);
	RCU_INIT_POINTER(map->mapping, NULL);
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, SIZE);
	KUNIT_EXPECT_FALSE(test, test_bit(bigger.index - 1, bigger.region->used));
	rcu_assign_pointer(map->mapping, mapping);
	msleep(110);
	e.conn->tx.growth.from -= 8 * SIZE;
	growth_until_ready(test, &e);
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	growth_expect_bytes(test, &e);
	growth_end(&e);
}

/* Begin, with a work that takes the bigger ring and waits for the group's mutex, which is held. */
static void growth_begin_blocked(struct kunit *test, struct growth_env *e)
{
	growth_begin(test, e);
	mutex_lock(&e->lgr->mutex);
	KUNIT_EXPECT_FALSE(test, growth_step(e));
	msleep(20);
	KUNIT_EXPECT_EQ(test, growth_state(e), SMC_GROWTH_WANTED);
}

/* The link fails while a work takes the bigger ring. */
static void growth_failover_wanted(struct kunit *test)
{
	struct growth_env e;

	growth_begin_blocked(test, &e);
	smc_link_fail(e.second, SMC_LINK_ADMIN);
	mutex_unlock(&e.lgr->mutex);
	flush_work(&e.conn->tx.growth.work);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_PTR_EQ(test, e.conn->link, e.first);
	KUNIT_EXPECT_NE(test, growth_state(&e), SMC_GROWTH_WANTED);
	/* whether the region could be registered on the failing link or not */
	growth_step(&e);
	growth_expect_bytes(test, &e);
	growth_end(&e);
}

/* The link breaks while a work adds the bigger ring: the stream asks again over the next link. */
static void growth_link_broken(struct kunit *test)
{
	struct growth_env e;

	growth_begin_blocked(test, &e);
	WRITE_ONCE(e.second->qp->broken, true);
	mutex_unlock(&e.lgr->mutex);
	flush_work(&e.conn->tx.growth.work);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	/* not at once */
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	growth_lose_link(test, &e);
	spin_lock_bh(&e.conn->lock);
	e.conn->tx.growth.from = START - 8 * SIZE;
	e.conn->tx.growth.since = jiffies;
	spin_unlock_bh(&e.conn->lock);
	growth_until_changed(test, &e);
	growth_expect_bytes(test, &e);
	growth_end(&e);
}

/* The RNIC may read the previous ring until what was posted from it is completed, and no longer. */
static void growth_gives_back_previous(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	growth_until_changed(test, &e);
	growth_run_work(&e);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_CHANGED);
	KUNIT_EXPECT_TRUE(test, growth_small_is_used(&e));
	/* the writer need not come again */
	growth_complete(e.second);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	growth_expect_given_back(test, &e);
	growth_end(&e);
}

/* The writer does not take the bigger ring: it is given back after a while, and not before. */
static void growth_gives_back_bigger(struct kunit *test)
{
	struct smc_elem bigger;
	struct growth_env e;

	growth_begin(test, &e);
	growth_until_ready(test, &e);
	bigger = e.conn->tx.growth.elem;
	growth_run_work(&e);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_READY);
	growth_expire_offer(test, &e);
	KUNIT_EXPECT_FALSE(test, test_bit(bigger.index - 1, bigger.region->used));
	/* the stream is measured anew */
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	growth_end(&e);
}

/* As much was sent, but not in short time. */
static void growth_slow(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	e.conn->tx.growth.since = jiffies - 2 * HZ;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	growth_end(&e);
}

/* Another growth adds a region: this one does not wait for it, and neither do new connections. */
static void growth_busy(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	KUNIT_ASSERT_TRUE(test, smc_pool_grow_extra_begin(&e.lgr->pool));
	KUNIT_EXPECT_FALSE(test, smc_pool_grow_extra_begin(&e.lgr->pool));
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	KUNIT_EXPECT_TRUE(test, smc_pool_grow_begin(&e.lgr->pool, SMC_REGION_SND, 0));
	smc_pool_grow_end(&e.lgr->pool, SMC_REGION_SND);
	smc_pool_grow_extra_end(&e.lgr->pool);
	growth_end(&e);
}

/* As much is sent again at once, but the next attempt comes after a pause. */
static void growth_busy_again(struct kunit *test)
{
	struct smc_conn_growth *growth;
	struct growth_env e;

	growth_begin(test, &e);
	growth = &e.conn->tx.growth;
	KUNIT_ASSERT_TRUE(test, smc_pool_grow_extra_begin(&e.lgr->pool));
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	smc_pool_grow_extra_end(&e.lgr->pool);
	flush_work(&growth->work);
	growth->from -= 8 * SIZE;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	/* what was sent in the pause does not count */
	KUNIT_EXPECT_EQ(test, growth->from, e.conn->tx.ring.completed);
	msleep(110);
	growth->from -= 8 * SIZE;
	growth_until_ready(test, &e);
	growth_end(&e);
}

/* A ring becomes free while the work waits for the group: it is no ring of a new region. */
static void growth_becomes_free(struct kunit *test)
{
	struct smc_elem elem[2] = {};
	struct growth_env e;
	u64 added, reused;
	u32 i;

	growth_begin(test, &e);
	growth_until_ready(test, &e);
	growth_expire_offer(test, &e);
	for (i = 0; i < ARRAY_SIZE(elem); i++)
		KUNIT_ASSERT_EQ(test, smc_elem_take(&e.lgr->pool, SMC_REGION_SND, GROWN, &elem[i]),
				0);
	added = smc_stats_get(&init_net, SMC_STAT_TX_BUF_ALLOC);
	reused = smc_stats_get(&init_net, SMC_STAT_TX_BUF_REUSE);
	mutex_lock(&e.lgr->mutex);
	e.conn->tx.growth.from -= 8 * SIZE;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	/* the work waits for the mutex */
	msleep(20);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_WANTED);
	smc_elem_free(&e.lgr->pool, &elem[0], false);
	mutex_unlock(&e.lgr->mutex);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_BUF_ALLOC), added);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_BUF_REUSE), reused + 1);
	smc_elem_free(&e.lgr->pool, &elem[1], false);
	growth_end(&e);
}

/* A group of the same host without connections. */
static void growth_create_idle_group(struct kunit *test)
{
	struct smc_lgr *lgr = env_create_group_up(test, SMC_SERVER, 2);

	smc_lgr_set_ready(lgr);
	smc_lgr_unreserve_conn(lgr);
}

/* No memory: the writer does not ask again, and no other group ends for it. */
static void growth_refused(struct kunit *test)
{
	u64 evicted = smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED);
	struct growth_env e;

	growth_begin(test, &e);
	growth_create_idle_group(test);
	/* the environment restores it */
	smc_host_mem_max = 1;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	e.conn->tx.growth.from -= 8 * SIZE;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_DONE);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED), evicted);
	growth_end(&e);
}

/* The same at the limit of send rings: half of it is not free for a bigger one. */
static void growth_refused_snd(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	struct growth_env e;
	u64 bytes;

	growth_begin(test, &e);
	bytes = atomic64_read(&sn->snd_bytes);
	/* there is room for it, but not twice; the environment restores it */
	sn->snd_max = (2 * bytes + 4 * SIZE) >> 10;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	KUNIT_EXPECT_EQ(test, atomic64_read(&sn->snd_bytes), bytes);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited);
	growth_end(&e);
}

/* Leave less than half of the memory, and @bytes at least; the environment restores the limit. */
static void growth_leave_memory(const struct growth_env *e, u64 bytes)
{
	smc_host_mem_max = 8 * (e->lgr->host->bytes + bytes) >> 10;
}

static struct smc_conn *growth_create(const struct growth_env *e, u32 size)
{
	bool cancel = false;

	return smc_conn_create(e->lgr, e->second, size, SIZE, false, &cancel);
}

/* There is no larger ring than that of full size: the writer need not ask at all. */
static void growth_largest(struct kunit *test)
{
	const u32 largest = 512 * 1024;
	struct growth_env e;
	struct smc_conn *conn;

	growth_connect_size(test, &e, largest);
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, largest);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_DONE);
	/* also if it has that ring from the beginning, as where others use most of the memory */
	KUNIT_ASSERT_EQ(test, smc_host_charge(e.lgr->host, 4 * largest, 0), 0);
	growth_leave_memory(&e, 2 * largest);
	conn = growth_create(&e, largest);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->tx.growth.state, SMC_GROWTH_DONE);
	smc_conn_discard(conn, false);
	smc_host_uncharge(e.lgr->host, 4 * largest);
	growth_end(&e);
}

/* ---- those that wait for room ---- */

/**
 * struct growth_waiter - a socket with the connection of a case, and who waits for room in its ring
 * @sock: socket
 * @wait: entry in its wait queue, as that of epoll
 * @woken: number of wake-ups because of room
 * @len: bytes of a call that may wait for room
 * @sent: its result
 * @ended: it has returned
 */
struct growth_waiter {
	struct socket *sock;
	struct wait_queue_entry wait;
	u32 woken;
	size_t len;
	int sent;
	struct completion ended;
};

static int growth_woken(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct growth_waiter *w = container_of(wait, struct growth_waiter, wait);

	if (key_to_poll(key) & EPOLLOUT)
		WRITE_ONCE(w->woken, w->woken + 1);
	return 0;
}

/* Give the connection a socket. */
static void growth_wait_begin(struct kunit *test, struct growth_env *e, struct growth_waiter *w)
{
	memset(w, 0, sizeof(*w));
	w->len = 16;
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_SMC, SOCK_STREAM, SMC_PROTO_IPV4,
					       &w->sock), 0);
	init_completion(&w->ended);
	init_waitqueue_func_entry(&w->wait, growth_woken);
	smc_conn_get(e->conn);
	smc_stream_start(smc_sk(w->sock->sk), e->conn);
}

static void growth_wait_end(struct growth_env *e, struct growth_waiter *w)
{
	smc_conn_abort(e->conn, ECONNRESET);
	/* closes the connection */
	sock_release(w->sock);
	growth_put(e);
}

/* Send @len bytes, as a call of the program. */
static int growth_send(struct growth_waiter *w, size_t len, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL };
	static u8 bytes[SIZE];
	struct kvec vec = { .iov_base = bytes, .iov_len = len };

	memset(bytes, BYTE, sizeof(bytes));
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return smc_stream_sendmsg(smc_sk(w->sock->sk), &msg, len);
}

/*
 * A thread polls, another one writes, and finds that the ring may grow. The peer reads nothing, so
 * no completion tells of room: with edge-triggered epoll nothing else would.
 */
static void growth_wakes_poll(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_begin(test, &e);
	growth_wait_begin(test, &e, &w);
	add_wait_queue(sk_sleep(w.sock->sk), &w.wait);
	KUNIT_EXPECT_FALSE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	growth_until_ready(test, &e);
	KUNIT_EXPECT_EQ(test, w.woken, 0);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), 16);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_CHANGED);
	KUNIT_EXPECT_EQ(test, w.woken, 1);
	KUNIT_EXPECT_TRUE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	remove_wait_queue(sk_sleep(w.sock->sk), &w.wait);
	growth_wait_end(&e, &w);
}

static int growth_blocked_fn(void *arg)
{
	struct growth_waiter *w = arg;

	w->sent = growth_send(w, w->len, 0);
	complete_all(&w->ended);
	return 0;
}

/* A thread sleeps in its call, another one writes, and finds that the ring may grow. */
static void growth_wakes_writer(struct kunit *test)
{
	struct task_struct *task;
	struct growth_waiter w;
	struct growth_env e;

	growth_begin(test, &e);
	growth_wait_begin(test, &e, &w);
	/* the thread itself finds no stream */
	e.conn->tx.growth.since = jiffies - 2 * HZ;
	task = kthread_run(growth_blocked_fn, &w, "smc_blocked");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&w.ended, HZ / 10));
	spin_lock_bh(&e.conn->lock);
	e.conn->tx.growth.from = START - 8 * SIZE;
	spin_unlock_bh(&e.conn->lock);
	growth_until_ready(test, &e);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&w.ended, HZ / 10));
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), 16);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&w.ended, HZ));
	/* an end of the connection wakes it if nothing else did */
	smc_conn_abort(e.conn, ECONNRESET);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&w.ended, PATIENCE));
	KUNIT_EXPECT_EQ(test, w.sent, 16);
	growth_wait_end(&e, &w);
}

/* A new connection adds a region: growth does not wait for it. */
static void growth_beside_connect(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	KUNIT_ASSERT_TRUE(test, smc_pool_grow_begin(&e.lgr->pool, SMC_REGION_SND, 0));
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	smc_pool_grow_end(&e.lgr->pool, SMC_REGION_SND);
	growth_end(&e);
}

/* Terminate the group; the connection ends. */
static void growth_lose_group(struct kunit *test, struct growth_env *e)
{
	unsigned long until = jiffies + PATIENCE;

	smc_lgr_terminate(e->lgr, SMC_LINK_ADMIN);
	while (smc_conn_state(e->conn) == SMC_CONN_ACTIVE && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_NE(test, smc_conn_state(e->conn), SMC_CONN_ACTIVE);
	growth_run_work(e);
	/* env_exit() waits until the group, and with it all regions, are freed */
	growth_end(e);
}

static void growth_group_lost_wanted(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	mutex_lock(&e.lgr->mutex);
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_WANTED);
	smc_lgr_terminate(e.lgr, SMC_LINK_ADMIN);
	mutex_unlock(&e.lgr->mutex);
	growth_lose_group(test, &e);
}

static void growth_group_lost_ready(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	growth_until_ready(test, &e);
	smc_conn_get(e.conn);
	growth_lose_group(test, &e);
	/* too late for the writer */
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	smc_conn_put(e.conn);
}

static void growth_group_lost_changed(struct kunit *test)
{
	struct growth_env e;

	growth_begin(test, &e);
	growth_until_changed(test, &e);
	growth_lose_group(test, &e);
}

/* ---- a new group ---- */

static u32 growth_count_rings(const struct growth_env *e)
{
	return smc_pool_count_elems(&e->lgr->pool, SMC_REGION_SND, SIZE);
}

/* Wait until the group has a ring of full size, and nobody adds one. */
static bool growth_wait_ring(const struct growth_env *e)
{
	unsigned long until = jiffies + PATIENCE;

	while (!smc_pool_has_free(&e->lgr->pool, SMC_REGION_SND, SIZE) &&
	       time_before(jiffies, until))
		usleep_range(1000, 2000);
	return smc_pool_has_free(&e->lgr->pool, SMC_REGION_SND, SIZE);
}

/* The first connection of a group does not wait for a ring of full size, which comes afterwards. */
static void growth_new_group(struct kunit *test)
{
	u64 taken = smc_stats_get(&init_net, SMC_STAT_TX_BUF_ALLOC);
	struct growth_env e;
	u32 rmbes;

	growth_connect_group(test, &e, SIZE, false);
	KUNIT_EXPECT_EQ(test, e.conn->tx.elem.size, FIRST);
	KUNIT_EXPECT_EQ(test, growth_count_rings(&e), 0);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_BUF_ALLOC), taken + 1);
	rmbes = smc_pool_count_elems(&e.lgr->pool, SMC_REGION_RMB, SIZE);
	KUNIT_EXPECT_GE(test, rmbes, SMC_POOL_RMBES_KEPT);
	smc_conn_stock_pool(e.conn, NULL);
	KUNIT_EXPECT_TRUE(test, growth_wait_ring(&e));
	KUNIT_EXPECT_EQ(test, growth_count_rings(&e), 1);
	KUNIT_EXPECT_EQ(test, smc_pool_count_elems(&e.lgr->pool, SMC_REGION_RMB, SIZE), rmbes);
	/* for whoever writes first */
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, e.conn->tx.elem.size, SIZE);
	/* one is enough, also if it is in use; the group stays until this is known */
	smc_conn_stock_pool(e.conn, NULL);
	msleep(100);
	KUNIT_EXPECT_EQ(test, growth_count_rings(&e), 1);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_BUF_ALLOC), taken + 1);
	growth_end(&e);
}

/* A writer that comes before it has its ring added, and no further one comes then. */
static void growth_new_group_writes(struct kunit *test)
{
	struct growth_env e;

	growth_connect_group(test, &e, SIZE, false);
	smc_conn_stock_pool(e.conn, NULL);
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	msleep(100);
	KUNIT_EXPECT_EQ(test, growth_count_rings(&e), 1);
	growth_end(&e);
}

/* While somebody adds a region, or memory is short, nothing is added ahead. */
static void growth_new_group_refused(struct kunit *test)
{
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	struct growth_env e;

	growth_connect_group(test, &e, SIZE, false);
	KUNIT_ASSERT_TRUE(test, smc_pool_grow_begin(&e.lgr->pool, SMC_REGION_SND, 0));
	smc_conn_stock_pool(e.conn, NULL);
	msleep(100);
	KUNIT_EXPECT_EQ(test, growth_count_rings(&e), 0);
	smc_pool_grow_end(&e.lgr->pool, SMC_REGION_SND);
	smc_host_mem_max = 2 * e.lgr->host->bytes >> 10;
	smc_conn_stock_pool(e.conn, NULL);
	msleep(100);
	KUNIT_EXPECT_EQ(test, growth_count_rings(&e), 0);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited);
	growth_end(&e);
}

/* The group ends before: its memory is not added, and the group is freed. */
static void growth_new_group_lost(struct kunit *test)
{
	struct growth_env e;

	growth_connect_group(test, &e, SIZE, false);
	smc_conn_stock_pool(e.conn, NULL);
	growth_lose_group(test, &e);
}

/* ---- the first ring ---- */

/* Count the send rings of full size that are in use. */
static u32 first_count_full(struct growth_env *e)
{
	struct smc_region *region;
	u32 n = 0;

	spin_lock_bh(&e->lgr->pool.lock);
	list_for_each_entry(region, &e->lgr->pool.regions[SMC_REGION_SND], entry)
		if (region->elem_size == SIZE)
			n += bitmap_weight(region->used, region->nelem);
	spin_unlock_bh(&e->lgr->pool.lock);
	return n;
}

/**
 * struct first_taken - all free rings of full size: they are in use elsewhere
 * @elem: the rings
 * @n: how many
 */
struct first_taken {
	struct smc_elem elem[8];
	u32 n;
};

/* A connection and its socket; no ring of full size is free. */
static void first_begin_short(struct kunit *test, struct growth_env *e, struct growth_waiter *w,
			      struct first_taken *taken)
{
	growth_connect(test, e);
	growth_wait_begin(test, e, w);
	for (taken->n = 0; taken->n < ARRAY_SIZE(taken->elem); taken->n++)
		if (smc_elem_take(&e->lgr->pool, SMC_REGION_SND, SIZE, &taken->elem[taken->n]))
			break;
	KUNIT_ASSERT_GT(test, taken->n, 0);
	KUNIT_ASSERT_LT(test, taken->n, ARRAY_SIZE(taken->elem));
}

/*
 * Let the work wait for the group during calls of this thread. A lock class of its own: the module
 * never takes the lock of a socket within this mutex.
 */
static void first_hold_group(struct smc_lgr *lgr)
{
	mutex_lock_nested(&lgr->mutex, SINGLE_DEPTH_NESTING);
}

/*
 * Fill the first ring. The work that adds a bigger one waits for the group until the call is over:
 * a call that is interrupted for so long would go on in the bigger one.
 */
static void first_fill(struct kunit *test, struct growth_env *e, struct growth_waiter *w)
{
	first_hold_group(e->lgr);
	KUNIT_EXPECT_EQ(test, growth_send(w, SIZE, MSG_DONTWAIT), FIRST);
	mutex_unlock(&e->lgr->mutex);
}

/* Fill the first ring while there is no memory, until the growth pauses. */
static void first_fill_paused(struct kunit *test, struct growth_env *e, struct growth_waiter *w)
{
	/* the environment restores it */
	smc_host_mem_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(w, SIZE, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_TRUE(test, growth_wait(e, SMC_GROWTH_PAUSED));
}

static void first_end_short(struct growth_env *e, struct growth_waiter *w,
			    struct first_taken *taken)
{
	while (taken->n)
		smc_elem_free(&e->lgr->pool, &taken->elem[--taken->n], false);
	growth_wait_end(e, w);
}

/* Expect that the bytes of the stream up to @end, but for those completed, are in the ring. */
static void first_expect_bytes(struct kunit *test, const struct growth_env *e, u32 end)
{
	const struct smc_conn_tx *tx = &e->conn->tx;
	u32 from = tx->ring.completed;

	KUNIT_EXPECT_EQ(test, tx->ring.prepared, end);
	KUNIT_EXPECT_FALSE(test, memchr_inv(tx->elem.addr + from, BYTE, end - from));
}

/* Connections that are idle or write little hold no ring of full size. The next write takes it. */
static void first_stays_small(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, FIRST);
	/* the program is not concerned */
	KUNIT_EXPECT_EQ(test, w.sock->sk->sk_sndbuf, 2 * SIZE);
	KUNIT_EXPECT_EQ(test, growth_send(&w, FIRST / 8, MSG_DONTWAIT), FIRST / 8);
	KUNIT_EXPECT_EQ(test, first_count_full(&e), 0);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE / 2, MSG_DONTWAIT), SIZE / 2);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, SIZE);
	KUNIT_EXPECT_EQ(test, first_count_full(&e), 1);
	first_expect_bytes(test, &e, FIRST / 8 + SIZE / 2);
	growth_wait_end(&e, &w);
}

/* Many small writes: the first ring is full, and no completion has come. No call waits for room. */
static void first_fills_up(struct kunit *test)
{
	u64 full = smc_stats_get(&init_net, SMC_STAT_TX_FULL);
	struct growth_waiter w;
	struct growth_env e;
	u32 i;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	for (i = 0; i < 2 * FIRST; i += 16)
		KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), 16);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, SIZE);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_FULL), full);
	first_expect_bytes(test, &e, 2 * FIRST);
	growth_wait_end(&e, &w);
}

/* Return how many send rings are counted, of regions that were there or new. */
static u64 first_count_rings(void)
{
	return smc_stats_get(&init_net, SMC_STAT_TX_BUF_ALLOC) +
	       smc_stats_get(&init_net, SMC_STAT_TX_BUF_REUSE);
}

/* A connection has one ring, by the counters, until it sends a stream; whoever makes it. */
static void first_is_counted(struct kunit *test)
{
	u64 rings = first_count_rings();
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	KUNIT_EXPECT_EQ(test, first_count_rings(), rings + 1);
	KUNIT_EXPECT_EQ(test, growth_send(&w, FIRST, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, first_count_rings(), rings + 1);
	growth_complete(e.second);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	e.conn->tx.growth.from -= 8 * SIZE;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, first_count_rings(), rings + 2);
	first_end_short(&e, &w, &taken);
}

/* A program polls before it writes little: a third of the first ring is more than what is free. */
static void first_polled(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;
	u32 i;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	for (i = 0; i < 2 * FIRST; i += FIRST / 8) {
		KUNIT_EXPECT_TRUE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
		KUNIT_EXPECT_EQ(test, growth_send(&w, FIRST / 8, MSG_DONTWAIT), FIRST / 8);
	}
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, SIZE);
	first_expect_bytes(test, &e, 2 * FIRST);
	growth_wait_end(&e, &w);
}

/* A program has set the size: that is the one it gets, and no other. */
static void first_size_is_set(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	/* as the core does before 6.7: what it stored is not passed on yet */
	w.sock->sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	w.sock->sk->sk_sndbuf = 3 * SIZE;
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), SIZE);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, SIZE);
	KUNIT_EXPECT_EQ(test, w.sock->sk->sk_sndbuf, 3 * SIZE);
	e.conn->tx.growth.from -= 8 * SIZE;
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), -EAGAIN);
	KUNIT_EXPECT_NE(test, growth_state(&e), SMC_GROWTH_WANTED);
	growth_wait_end(&e, &w);
}

/* The link is lost when the ring has been changed: the bytes are written again from the new one. */
static void first_failover(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 100, MSG_DONTWAIT), 100);
	growth_expect_write(test, &e, e.second, 0);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 1000, MSG_DONTWAIT), 1000);
	KUNIT_EXPECT_TRUE(test, growth_small_is_used(&e));
	growth_lose_link(test, &e);
	growth_expect_write(test, &e, e.first, 0);
	first_expect_bytes(test, &e, 1100);
	growth_wait_end(&e, &w);
}

/* What is in the first ring wraps there and in the next one: it is written again from that. */
static void first_wraps(struct kunit *test)
{
	const u64 start = SIZE - 1000;
	struct growth_env e;

	growth_connect(test, &e);
	growth_set_pos(&e, start);
	growth_fill(test, &e);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, FIRST);
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, SIZE);
	growth_expect_bytes(test, &e);
	growth_lose_link(test, &e);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.completed, start);
	growth_expect_write(test, &e, e.first, start);
	growth_expect_bytes(test, &e);
	growth_end(&e);
}

/* The first ring goes back when nothing reads it any more, without the bytes of the program. */
static void first_given_back(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 100, MSG_DONTWAIT), 100);
	KUNIT_EXPECT_TRUE(test, memchr_inv(e.small.addr, 0, FIRST));
	KUNIT_EXPECT_EQ(test, growth_send(&w, 1000, MSG_DONTWAIT), 1000);
	growth_run_work(&e);
	KUNIT_EXPECT_TRUE(test, growth_small_is_used(&e));
	growth_complete(e.second);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	growth_expect_given_back(test, &e);
	growth_wait_end(&e, &w);
}

/* Nothing reads it when it is left: it goes back at once. */
static void first_given_back_at_once(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 100, MSG_DONTWAIT), 100);
	growth_complete(e.second);
	KUNIT_EXPECT_EQ(test, smc_tx_get_queued(e.conn), 0);
	KUNIT_EXPECT_TRUE(test, smc_conn_grow_ring(e.conn, NULL));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	growth_expect_given_back(test, &e);
	growth_wait_end(&e, &w);
}

/* What idle connections hold counts against the limits, and nothing else. */
static void first_limits(struct kunit *test)
{
	struct smc_conn *conn[7];
	struct growth_env e;
	u64 bytes;
	u32 i;

	growth_connect(test, &e);
	bytes = e.lgr->host->bytes;
	/* the first RMB has eight RMBEs */
	for (i = 0; i < ARRAY_SIZE(conn); i++) {
		conn[i] = growth_create(&e, SIZE);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn[i]);
	}
	KUNIT_EXPECT_LE(test, e.lgr->host->bytes, bytes + 8 * FIRST);
	KUNIT_EXPECT_EQ(test, first_count_full(&e), 0);
	for (i = 0; i < ARRAY_SIZE(conn); i++)
		smc_conn_discard(conn[i], false);
	growth_end(&e);
}

/*
 * Less than half of the memory is left, although enough for more first rings: who comes gets a ring
 * of full size while there is one, or is TCP.
 */
static void first_not_when_short(struct kunit *test)
{
	struct smc_conn *conn;
	struct growth_env e;

	growth_connect(test, &e);
	KUNIT_EXPECT_EQ(test, e.conn->tx.elem.size, FIRST);
	growth_leave_memory(&e, SIZE / 2);
	conn = growth_create(&e, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->tx.elem.size, SIZE);
	KUNIT_EXPECT_EQ(test, conn->tx.growth.state, SMC_GROWTH_NONE);
	KUNIT_EXPECT_EQ(test, PTR_ERR(growth_create(&e, SIZE)), -EUSERS);
	smc_conn_discard(conn, false);
	growth_end(&e);
}

/*
 * More than half of the memory is in use: a stream does not get a bigger ring, but any connection
 * one of full size, if it has to be allocated, too.
 */
static void first_is_no_extra(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	/* a stream on the first ring takes no more than that, either */
	e.conn->tx.growth.from -= 8 * SIZE;
	growth_leave_memory(&e, 5 * SIZE);
	KUNIT_EXPECT_EQ(test, growth_send(&w, FIRST, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, e.conn->tx.growth.elem.size, SIZE);
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	growth_complete(e.second);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	flush_delayed_work(&e.conn->work);
	e.conn->tx.growth.from -= 8 * SIZE;
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	first_end_short(&e, &w, &taken);
}

/* No small ring is to be had, although there is memory: a connection keeps the one of full size. */
static void first_none_to_be_had(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct fake_ib *fake = env->fake;
	const int per_page = PAGE_SIZE / FIRST;
	struct smc_conn **conns;
	struct growth_env e;
	bool cancel = false;
	int i;

	conns = kunit_kcalloc(test, per_page, sizeof(*conns), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, conns);
	growth_connect(test, &e);
	for (i = 0; i < per_page; i++) {
		/* the page of small rings is full, the regions of the others are not */
		if (i == per_page - 1)
			fake->fail_mr_after = 0;
		conns[i] = smc_conn_create(e.lgr, e.second, SIZE, SIZE, false, &cancel);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conns[i]);
		KUNIT_EXPECT_EQ(test, conns[i]->tx.elem.size, i == per_page - 1 ? SIZE : FIRST);
	}
	fake->fail_mr_after = -1;
	for (i = 0; i < per_page; i++)
		smc_conn_discard(conns[i], false);
	growth_end(&e);
}

/* Wait until so many attempts or more have failed. */
static bool first_wait_failed(const struct growth_env *e, u8 n)
{
	unsigned long until = jiffies + PATIENCE;

	while (READ_ONCE(e->conn->tx.growth.failed) < n && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return READ_ONCE(e->conn->tx.growth.failed) >= n;
}

/* The end of the pause, or of the last one. */
static unsigned long first_get_deadline(const struct growth_env *e)
{
	unsigned long deadline;

	spin_lock_bh(&e->conn->lock);
	deadline = e->conn->tx.growth.deadline;
	spin_unlock_bh(&e->conn->lock);
	return deadline;
}

/*
 * No memory: the writer goes on with the first ring, and waits for room as always. When there is
 * memory, it is woken, although the peer reads nothing: no completion does that.
 */
static void first_without_memory(struct kunit *test)
{
	u64 limited = smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED);
	unsigned long begin = jiffies;
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	/* the environment restores it */
	smc_host_mem_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), -EAGAIN);
	add_wait_queue(sk_sleep(w.sock->sk), &w.wait);
	KUNIT_EXPECT_FALSE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	/* it is tried again after 100, 200, 400 ms, but one writer without memory counts once */
	KUNIT_EXPECT_TRUE(test, first_wait_failed(&e, 3));
	KUNIT_EXPECT_TRUE(test, time_after_eq(first_get_deadline(&e), begin + 7 * HZ / 10));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MEM_LIMITED), limited + 1);
	KUNIT_EXPECT_EQ(test, w.woken, 0);
	smc_host_mem_max = 0;
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, e.conn->tx.growth.failed, 0);
	flush_work(&e.conn->tx.growth.work);
	KUNIT_EXPECT_EQ(test, w.woken, 1);
	KUNIT_EXPECT_TRUE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	remove_wait_queue(sk_sleep(w.sock->sk), &w.wait);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), SIZE - FIRST);
	first_expect_bytes(test, &e, SIZE);
	first_end_short(&e, &w, &taken);
}

/* At the limit of send rings it is the same, and who comes then is TCP. */
static void first_without_memory_snd(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	/* the environment restores it */
	sn->snd_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, first_wait_failed(&e, 2));
	KUNIT_EXPECT_EQ(test, PTR_ERR(growth_create(&e, SIZE)), -EDQUOT);
	sn->snd_max = 0;
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), SIZE - FIRST);
	first_expect_bytes(test, &e, SIZE);
	first_end_short(&e, &w, &taken);
}

/* The same at half of that limit: who comes keeps a ring of full size while there is one. */
static void first_not_when_short_snd(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct growth_env e;
	struct smc_conn *conn;

	growth_connect(test, &e);
	KUNIT_EXPECT_EQ(test, e.conn->tx.elem.size, FIRST);
	/* the environment restores it */
	sn->snd_max = (2 * atomic64_read(&sn->snd_bytes) - 1) >> 10;
	conn = growth_create(&e, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->tx.elem.size, SIZE);
	smc_conn_discard(conn, false);
	growth_end(&e);
}

/* Bytes that wait for more would leave too little room for them: they wait no longer. */
static void first_corked(struct kunit *test)
{
	const int flags = MSG_DONTWAIT | MSG_MORE;
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	smc_host_mem_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(&w, 1300, flags), 1300);
	KUNIT_EXPECT_EQ(test, smc_tx_get_unsent(e.conn), 1300);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_PAUSED));
	KUNIT_EXPECT_TRUE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 200, flags), 200);
	KUNIT_EXPECT_EQ(test, smc_tx_get_unsent(e.conn), 0);
	KUNIT_EXPECT_FALSE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	growth_complete(e.second);
	KUNIT_EXPECT_TRUE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	first_end_short(&e, &w, &taken);
}

/* What a group without connections has is for a writer without memory. */
static void first_evicts(struct kunit *test)
{
	u64 evicted = smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED);
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	growth_create_idle_group(test);
	first_fill_paused(test, &e, &w);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED), evicted + 1);
	first_end_short(&e, &w, &taken);
}

/* The same at the limit of send rings. */
static void first_evicts_snd(struct kunit *test)
{
	u64 evicted = smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED);
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	growth_create_idle_group(test);
	/* the environment restores it */
	sn->snd_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_PAUSED));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LGR_EVICTED), evicted + 1);
	sn->snd_max = 0;
	first_end_short(&e, &w, &taken);
}

/* The program comes so late that the ring was given back: the socket stays writable. */
static void first_offer_expires(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	first_fill(test, &e, &w);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	growth_expire_offer(test, &e);
	KUNIT_EXPECT_TRUE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), SIZE - FIRST);
	first_expect_bytes(test, &e, SIZE);
	first_end_short(&e, &w, &taken);
}

/* The same for a thread that sleeps in its call: others may use the socket meanwhile. */
static void first_writer_sleeps(struct kunit *test)
{
	struct first_taken taken;
	struct task_struct *task;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	smc_host_mem_max = 1;
	w.len = SIZE;
	task = kthread_run(growth_blocked_fn, &w, "smc_blocked");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&w.ended, HZ / 4));
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.prepared, FIRST);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), -EAGAIN);
	smc_host_mem_max = 0;
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&w.ended, PATIENCE));
	/* an end of the connection wakes it if nothing else did */
	smc_conn_abort(e.conn, ECONNRESET);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&w.ended, PATIENCE));
	KUNIT_EXPECT_EQ(test, w.sent, SIZE);
	first_end_short(&e, &w, &taken);
}

/* While a region is being made, however long that takes, a call goes on with what it has. */
static void first_does_not_wait(struct kunit *test)
{
	struct first_taken taken;
	struct task_struct *task;
	struct growth_waiter w;
	struct growth_env e;
	bool ended;

	first_begin_short(test, &e, &w, &taken);
	w.len = FIRST;
	mutex_lock(&e.lgr->mutex);
	task = kthread_run(growth_blocked_fn, &w, "smc_blocked");
	ended = !IS_ERR(task) && wait_for_completion_timeout(&w.ended, PATIENCE);
	mutex_unlock(&e.lgr->mutex);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	KUNIT_EXPECT_TRUE(test, ended);
	wait_for_completion(&w.ended);
	KUNIT_EXPECT_EQ(test, w.sent, FIRST);
	first_end_short(&e, &w, &taken);
}

/* There is room when an attempt fails: nobody waits, and the next write asks again. */
static void first_asks_again(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	smc_host_mem_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(&w, 1000, MSG_DONTWAIT), 1000);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	growth_complete(e.second);
	smc_host_mem_max = 0;
	first_fill(test, &e, &w);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	first_expect_bytes(test, &e, 1000 + FIRST);
	first_end_short(&e, &w, &taken);
}

/* A ring becomes free in a pause: the next write takes it at once. */
static void first_becomes_free(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	first_fill_paused(test, &e, &w);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), -EAGAIN);
	smc_elem_free(&e.lgr->pool, &taken.elem[--taken.n], false);
	KUNIT_EXPECT_EQ(test, growth_send(&w, 16, MSG_DONTWAIT), 16);
	first_expect_bytes(test, &e, FIRST + 16);
	first_end_short(&e, &w, &taken);
}

/* The same if nobody writes: who polls is woken at the end of the pause. */
static void first_becomes_free_polled(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	first_fill_paused(test, &e, &w);
	add_wait_queue(sk_sleep(w.sock->sk), &w.wait);
	KUNIT_EXPECT_FALSE(test, smc_stream_poll(smc_sk(w.sock->sk)) & EPOLLOUT);
	smc_elem_free(&e.lgr->pool, &taken.elem[--taken.n], false);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	flush_delayed_work(&e.conn->work);
	KUNIT_EXPECT_EQ(test, w.woken, 1);
	remove_wait_queue(sk_sleep(w.sock->sk), &w.wait);
	first_end_short(&e, &w, &taken);
}

/* Another work adds a region: the next attempt comes very soon, and it is no failure. */
static void first_busy(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	KUNIT_ASSERT_TRUE(test, smc_pool_grow_extra_begin(&e.lgr->pool));
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_PAUSED));
	KUNIT_EXPECT_TRUE(test, time_before_eq(first_get_deadline(&e), jiffies + HZ / 100 + 1));
	KUNIT_EXPECT_EQ(test, e.conn->tx.growth.failed, 0);
	smc_pool_grow_extra_end(&e.lgr->pool);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	first_end_short(&e, &w, &taken);
}

/* The link breaks while the work waits for the group: that is no lack of memory. */
static void first_link_broken(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	first_hold_group(e.lgr);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	WRITE_ONCE(e.second->qp->broken, true);
	mutex_unlock(&e.lgr->mutex);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_PAUSED));
	KUNIT_EXPECT_EQ(test, e.conn->tx.growth.failed, 0);
	WRITE_ONCE(e.second->qp->broken, false);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	first_end_short(&e, &w, &taken);
}

/* A ring becomes free while the work waits for the group: no region is added. */
static void first_becomes_free_wanted(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;
	u32 regions;

	first_begin_short(test, &e, &w, &taken);
	regions = e.lgr->pool.nregions[SMC_REGION_SND];
	first_hold_group(e.lgr);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	/* the work waits for the mutex */
	msleep(20);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_WANTED);
	smc_elem_free(&e.lgr->pool, &taken.elem[--taken.n], false);
	mutex_unlock(&e.lgr->mutex);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, e.lgr->pool.nregions[SMC_REGION_SND], regions);
	first_end_short(&e, &w, &taken);
}

/* The program has shut its direction down, but the window is closed: no work goes on for it. */
static void first_shut(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	growth_set_pos(&e, SIZE);
	e.conn->tx.ring.peer_consumed = 0;
	first_fill_paused(test, &e, &w);
	KUNIT_EXPECT_EQ(test, smc_stream_shutdown(smc_sk(w.sock->sk), SHUT_WR), 0);
	KUNIT_EXPECT_TRUE(test, e.conn->shut_pending);
	smc_host_mem_max = 0;
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	msleep(300);
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_EQ(test, first_count_full(&e), taken.n);
	first_end_short(&e, &w, &taken);
}

/* What is written after that fails, and takes no ring. */
static void first_shut_before(struct kunit *test)
{
	struct growth_waiter w;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	KUNIT_EXPECT_EQ(test, smc_stream_shutdown(smc_sk(w.sock->sk), SHUT_WR), 0);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), -EPIPE);
	KUNIT_EXPECT_FALSE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, growth_state(&e), SMC_GROWTH_NONE);
	KUNIT_EXPECT_EQ(test, first_count_full(&e), 0);
	growth_wait_end(&e, &w);
}

/* The connection ends while it waits for memory: that holds it only until the next attempt. */
static void first_ends_waiting(struct kunit *test)
{
	struct first_taken taken;
	struct growth_waiter w;
	struct growth_env e;

	first_begin_short(test, &e, &w, &taken);
	smc_host_mem_max = 1;
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	smc_conn_abort(e.conn, ECONNRESET);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_NONE));
	first_end_short(&e, &w, &taken);
}

/* A link that does not know the ring that is offered: the writer does not see it for ever. */
static void first_link_without(struct kunit *test)
{
	struct smc_region_link *map;
	struct smc_mapping *mapping;
	struct growth_waiter w;
	struct smc_elem full;
	struct growth_env e;

	growth_connect(test, &e);
	growth_wait_begin(test, &e, &w);
	KUNIT_ASSERT_EQ(test, smc_elem_take(&e.lgr->pool, SMC_REGION_SND, SIZE, &full), 0);
	map = &full.region->maps[e.second->slot];
	mapping = rcu_dereference_protected(map->mapping, true);
	smc_elem_free(&e.lgr->pool, &full, false);
	RCU_INIT_POINTER(map->mapping, NULL);
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), FIRST);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.size, FIRST);
	KUNIT_EXPECT_FALSE(test, smc_stream_writable(e.conn));
	rcu_assign_pointer(map->mapping, mapping);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_READY));
	KUNIT_EXPECT_EQ(test, growth_send(&w, SIZE, MSG_DONTWAIT), SIZE - FIRST);
	first_expect_bytes(test, &e, SIZE);
	growth_wait_end(&e, &w);
}

/* Pages are sent from a ring of full size only, and copied as long as there is none. */
static void first_copies_pages(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct bio_vec vec = { .bv_page = page, .bv_len = PAGE_SIZE };
	struct iov_iter iter;
	struct growth_env e;

	KUNIT_ASSERT_NOT_NULL(test, page);
	growth_connect(test, &e);
	iov_iter_bvec(&iter, ITER_SOURCE, &vec, 1, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, smc_tx_write_pages(e.conn, &iter, PAGE_SIZE, false, NULL),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, growth_step(&e));
	KUNIT_EXPECT_EQ(test, smc_tx_write_pages(e.conn, &iter, PAGE_SIZE, false, NULL),
			PAGE_SIZE);
	growth_end(&e);
	put_page(page);
}

/*
 * The ring of a stream of pages grows, too. Bytes in the ring are copied, bytes in pages stay
 * there: after the loss of the link both are posted again from where they are.
 */
static void growth_pages(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct bio_vec vec = { .bv_page = page, .bv_len = PAGE_SIZE };
	u8 *buf = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	struct kvec bytes = { .iov_base = buf, .iov_len = SIZE - PAGE_SIZE };
	const struct fake_ib_wr *wr;
	struct iov_iter iter;
	struct growth_env e;
	u64 pos, bad = 0;
	u32 i, at = 0;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	growth_connect(test, &e);
	KUNIT_ASSERT_TRUE(test, growth_step(&e));
	e.small = e.conn->tx.elem;
	growth_set_pos(&e, START);
	e.conn->tx.growth.from = START - 8 * SIZE;
	e.conn->tx.growth.since = jiffies;
	for (i = 0; i < bytes.iov_len; i++)
		buf[i] = growth_byte(START + i);
	iov_iter_kvec(&iter, ITER_SOURCE, &bytes, 1, bytes.iov_len);
	KUNIT_ASSERT_EQ(test, smc_tx_write(e.conn, &iter, bytes.iov_len, false, false),
			bytes.iov_len);
	iov_iter_bvec(&iter, ITER_SOURCE, &vec, 1, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, smc_tx_write_pages(e.conn, &iter, PAGE_SIZE, false, NULL),
			PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	growth_until_changed(test, &e);
	for (pos = START; pos < START + bytes.iov_len; pos++)
		bad += ((u8 *)e.conn->tx.elem.addr)[pos % GROWN] != growth_byte(pos);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);

	growth_lose_link(test, &e);
	growth_expect_write(test, &e, e.first, START);
	i = 0;
	do {
		wr = fake_ib_sent(fake_ib_qp(e.first->qp->qp), i++);
		if (wr && wr->opcode == IB_WR_RDMA_WRITE &&
		    wr->sge[0].addr == (uintptr_t)page_address(page))
			at = wr->sge[0].length;
	} while (wr);
	/* all but what is kept back for a foreign peer */
	KUNIT_EXPECT_EQ(test, at, PAGE_SIZE - 16);
	growth_complete(e.first);
	KUNIT_EXPECT_TRUE(test, growth_wait(&e, SMC_GROWTH_DONE));
	growth_end(&e);
	put_page(page);
}

static struct kunit_case growth_cases[] = {
	KUNIT_CASE(growth_failover),
	KUNIT_CASE(growth_failover_ready),
	KUNIT_CASE(growth_failover_wanted),
	KUNIT_CASE(growth_link_broken),
	KUNIT_CASE(growth_link_without),
	KUNIT_CASE(growth_gives_back_previous),
	KUNIT_CASE(growth_gives_back_bigger),
	KUNIT_CASE(growth_slow),
	KUNIT_CASE(growth_busy),
	KUNIT_CASE(growth_busy_again),
	KUNIT_CASE(growth_becomes_free),
	KUNIT_CASE(growth_refused),
	KUNIT_CASE(growth_refused_snd),
	KUNIT_CASE(growth_largest),
	KUNIT_CASE(growth_pages),
	KUNIT_CASE(growth_wakes_poll),
	KUNIT_CASE(growth_wakes_writer),
	KUNIT_CASE(growth_beside_connect),
	KUNIT_CASE(growth_group_lost_wanted),
	KUNIT_CASE(growth_group_lost_ready),
	KUNIT_CASE(growth_group_lost_changed),
	KUNIT_CASE(growth_new_group),
	KUNIT_CASE(growth_new_group_writes),
	KUNIT_CASE(growth_new_group_refused),
	KUNIT_CASE(growth_new_group_lost),
	KUNIT_CASE(first_stays_small),
	KUNIT_CASE(first_fills_up),
	KUNIT_CASE(first_is_counted),
	KUNIT_CASE(first_polled),
	KUNIT_CASE(first_size_is_set),
	KUNIT_CASE(first_failover),
	KUNIT_CASE(first_wraps),
	KUNIT_CASE(first_given_back),
	KUNIT_CASE(first_given_back_at_once),
	KUNIT_CASE(first_limits),
	KUNIT_CASE(first_not_when_short),
	KUNIT_CASE(first_is_no_extra),
	KUNIT_CASE(first_none_to_be_had),
	KUNIT_CASE(first_without_memory),
	KUNIT_CASE(first_without_memory_snd),
	KUNIT_CASE(first_not_when_short_snd),
	KUNIT_CASE(first_corked),
	KUNIT_CASE(first_evicts),
	KUNIT_CASE(first_evicts_snd),
	KUNIT_CASE(first_offer_expires),
	KUNIT_CASE(first_writer_sleeps),
	KUNIT_CASE(first_does_not_wait),
	KUNIT_CASE(first_asks_again),
	KUNIT_CASE(first_becomes_free),
	KUNIT_CASE(first_becomes_free_polled),
	KUNIT_CASE(first_becomes_free_wanted),
	KUNIT_CASE(first_busy),
	KUNIT_CASE(first_link_broken),
	KUNIT_CASE(first_shut),
	KUNIT_CASE(first_shut_before),
	KUNIT_CASE(first_ends_waiting),
	KUNIT_CASE(first_link_without),
	KUNIT_CASE(first_copies_pages),
	{}
};

struct kunit_suite smc_growth_suite = {
	.name = "smc_growth",
	.init = env_init,
	.exit = env_exit,
	.test_cases = growth_cases,
};
