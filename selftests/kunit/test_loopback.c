// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verbs of smc_lo (loopback/): what is written, what waits, what is refused, and how queue
 * pairs end; and which peers are taken for ones on this host. The run makes the devices before it
 * loads the module: one on the lo of a namespace that no other suite uses, and two on further
 * netdevs there, for pairs that reach another device.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <smc/proto/clc_msg.h>
#include <smc/proto/peer_caps.h>
#include "../../handshake/internal.h"
#include "../../loopback/internal.h"
#include "../../rdma/internal.h"

#include "suites.h"

#define DEPTH		3	/* no power of 2 */
#define MSG		64
#define REGION		(2 * PAGE_SIZE)

/**
 * struct lo_end - one end of a pair
 * @dev: its device, with a reference
 * @gid: the first GID of that
 * @pd: protection domain
 * @cq: for both queues
 * @qp: queue pair
 * @mr: region of two pages, which are not in order
 * @sg: its pages
 * @recv: memory for receives
 * @send: memory to send from
 */
struct lo_end {
	struct ib_device *dev;
	union ib_gid gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_mr *mr;
	struct scatterlist sg[2];
	u8 recv[DEPTH][MSG];
	u8 send[REGION + 1];
};

/**
 * struct lo_env - pairs of ends
 * @a: sender in most cases; of lo
 * @b: receiver; likewise
 * @c: as @a, of another netdev, and only where peers_begin() was called
 * @d: as @b, of one more
 */
struct lo_env {
	struct lo_end a;
	struct lo_end b;
	struct lo_end c;
	struct lo_end d;
};

static void lo_env_make_region(struct kunit *test, struct lo_end *end)
{
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, 1);

	KUNIT_ASSERT_NOT_NULL(test, pages);
	sg_init_table(end->sg, 2);
	sg_set_page(&end->sg[0], pages + 1, PAGE_SIZE, 0);
	sg_set_page(&end->sg[1], pages, PAGE_SIZE, 0);
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(end->dev, end->sg, 2, DMA_FROM_DEVICE), 2);
	end->mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, 2);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, end->mr);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(end->mr, end->sg, 2, NULL, PAGE_SIZE), 2);
}

/* @dev: with a reference, which the end takes over; NULL fails the test */
static void lo_env_make_end(struct kunit *test, struct ib_device *dev, struct lo_end *end)
{
	const struct ib_gid_attr *gid;
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 2,
			.max_inline_data = 16,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	KUNIT_ASSERT_NOT_NULL(test, dev);
	end->dev = dev;
	gid = rdma_get_gid_attr(dev, 1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, gid);
	end->gid = gid->gid;
	rdma_put_gid_attr(gid);
	end->pd = ib_alloc_pd(dev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, end->pd);
	end->cq = ib_alloc_cq(dev, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, end->cq);
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ib_create_qp(end->pd, &init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, end->qp);
	/* asked for, and not granted */
	KUNIT_EXPECT_EQ(test, init.cap.max_inline_data, 0);
	KUNIT_ASSERT_EQ(test, smc_qp_modify_to_init(end->qp, 1, IB_ACCESS_REMOTE_WRITE), 0);
	lo_env_make_region(test, end);
}

static struct smc_qp_attr lo_attr(const struct lo_end *end, const struct lo_end *peer)
{
	return (struct smc_qp_attr) {
		.port = 1,
		.sgid = end->gid,
		.dgid = peer->gid,
		.mtu = IB_MTU_4096,
		.hop_limit = 1,
		.peer_qpn = peer->qp->qp_num,
	};
}

static void lo_env_connect(struct kunit *test, struct lo_end *end, struct lo_end *peer)
{
	struct smc_qp_attr attr = lo_attr(end, peer);

	KUNIT_ASSERT_EQ(test, smc_qp_modify_to_rtr(end->dev, end->qp, &attr), 0);
	KUNIT_ASSERT_EQ(test, smc_qp_modify_to_rts(end->qp, &attr), 0);
}

/**
 * struct lo_env_search - search for a device
 * @skip: 0: the device of lo; otherwise that number of those of other netdevs
 * @found: it, with a reference
 */
struct lo_env_search {
	int skip;
	struct ib_device *found;
};

static bool lo_env_try_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	struct lo_env_search *s = arg;
	struct lo_device *lo = container_of(dev->ibdev, struct lo_device, ib);

	if (!dev->inner || lo->outward != !!s->skip || (s->skip && --s->skip))
		return false;
	if (ib_device_try_get(dev->ibdev))
		s->found = dev->ibdev;
	return true;
}

/* Return a device of the namespace that the run has made, or NULL; 0 is that of its lo. */
static struct ib_device *lo_env_find_device(int skip)
{
	struct lo_env_search s = { .skip = skip };

	smc_ib_walk_ports(&init_net, lo_env_try_port, &s);
	return s.found;
}

static int lo_init(struct kunit *test)
{
	struct lo_env *env = kzalloc(sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	test->priv = env;
	lo_env_make_end(test, lo_env_find_device(0), &env->a);
	lo_env_make_end(test, lo_env_find_device(0), &env->b);
	return 0;
}

static void lo_env_free_end(struct lo_end *end)
{
	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	if (!IS_ERR_OR_NULL(end->mr)) {
		ib_dereg_mr(end->mr);
		ib_dma_unmap_sg(end->dev, end->sg, 2, DMA_FROM_DEVICE);
		__free_pages(sg_page(&end->sg[1]), 1);
	}
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
	if (end->dev)
		ib_device_put(end->dev);
}

static void lo_exit(struct kunit *test)
{
	struct lo_env *env = test->priv;

	if (!env)
		return;
	lo_env_free_end(&env->a);
	lo_env_free_end(&env->b);
	lo_env_free_end(&env->c);
	lo_env_free_end(&env->d);
	kfree(env);
}

/* ---- requests and completions ---- */

static int lo_post_recv(struct lo_end *end, u32 i)
{
	struct ib_sge sge[2] = {
		{ (uintptr_t)end->recv[i], 10, end->pd->local_dma_lkey },
		{ (uintptr_t)end->recv[i] + 10, MSG - 10, end->pd->local_dma_lkey },
	};
	struct ib_recv_wr wr = { .wr_id = 100 + i, .sg_list = sge, .num_sge = 2 };

	return ib_post_recv(end->qp, &wr, NULL);
}

static int lo_post(struct lo_end *end, u64 id, enum ib_wr_opcode opcode, u32 len, u64 addr, u32 key)
{
	struct ib_sge sge = { (uintptr_t)end->send, len, end->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = id,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
			.ex.imm_data = cpu_to_be32(0x1234),
		},
		.remote_addr = addr,
		.rkey = key,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

static int lo_post_msg(struct lo_end *end, u64 id, u32 len)
{
	memset(end->send, (int)id, len);
	return lo_post(end, id, IB_WR_SEND, len, 0, 0);
}

/* The next completion is that of request @id, with @status. */
static void lo_expect(struct kunit *test, struct lo_end *end, u64 id, enum ib_wc_status status,
		      struct ib_wc *wc)
{
	KUNIT_ASSERT_EQ(test, ib_poll_cq(end->cq, 1, wc), 1);
	KUNIT_EXPECT_EQ(test, wc->wr_id, id);
	KUNIT_EXPECT_EQ(test, wc->status, status);
}

static void lo_expect_none(struct kunit *test, struct lo_end *end)
{
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(test, ib_poll_cq(end->cq, 1, &wc), 0);
}

static void lo_expect_state(struct kunit *test, struct lo_end *end, enum ib_qp_state state)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, ib_query_qp(end->qp, &attr, IB_QP_STATE, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, state);
}

static void lo_register(struct kunit *test, struct lo_end *end, int access)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = 50, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = end->mr,
		.key = end->mr->rkey,
		.access = access,
	};
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, ib_post_send(end->qp, &wr.wr, NULL), 0);
	lo_expect(test, end, 50, IB_WC_SUCCESS, &wc);
}

static void lo_connect_both(struct kunit *test, struct lo_env *env)
{
	lo_env_connect(test, &env->a, &env->b);
	lo_env_connect(test, &env->b, &env->a);
}

/* ---- cases ---- */

/* A WRITE over both pages of a region, and one with an immediate value. */
static void loopback_write(struct kunit *test)
{
	struct lo_env *env = test->priv;
	u8 *first = sg_virt(&env->b.sg[0]), *second = sg_virt(&env->b.sg[1]);
	u64 at = env->b.mr->iova + PAGE_SIZE - 3;
	struct ib_wc wc;

	lo_connect_both(test, env);
	lo_register(test, &env->b, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	memcpy(env->a.send, "abcdef", 6);
	KUNIT_ASSERT_EQ(test, lo_post(&env->a, 1, IB_WR_RDMA_WRITE, 6, at, env->b.mr->rkey), 0);
	lo_expect(test, &env->a, 1, IB_WC_SUCCESS, &wc);
	lo_expect_none(test, &env->b);
	KUNIT_EXPECT_EQ(test, memcmp(first + PAGE_SIZE - 4, "\0abc", 4), 0);
	KUNIT_EXPECT_EQ(test, memcmp(second, "def\0", 4), 0);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	KUNIT_ASSERT_EQ(test, lo_post(&env->a, 2, IB_WR_RDMA_WRITE_WITH_IMM, 5, at,
				      env->b.mr->rkey), 0);
	lo_expect(test, &env->a, 2, IB_WC_SUCCESS, &wc);
	lo_expect(test, &env->b, 100, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 5);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0x1234);
}

/**
 * struct loopback_extent - a WRITE of many bytes
 * @from: offset in two pages of the sender
 * @to: offset in the region
 * @len: bytes
 */
struct loopback_extent {
	u32 from;
	u32 to;
	u32 len;
};

static const struct loopback_extent loopback_extents[] = {
	{ 0, 0, REGION },
	{ 0, 0, REGION - 1 },
	{ 0, 0, PAGE_SIZE + 1 },
	{ 0, 0, PAGE_SIZE - 1 },
	{ 0, PAGE_SIZE, PAGE_SIZE },
	{ 1, 1, PAGE_SIZE },
	{ 1, 1, REGION - 2 },
	{ PAGE_SIZE - 1, PAGE_SIZE - 1, PAGE_SIZE + 1 },
	{ PAGE_SIZE - 1, PAGE_SIZE - 1, PAGE_SIZE },
	{ 1, 0, REGION - 1 },
	{ 0, 1, REGION - 1 },
	{ 8, 0, PAGE_SIZE + 8 },
};

static void loopback_extent_desc(const struct loopback_extent *extent, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes from %u to %u", extent->len, extent->from,
		 extent->to);
}

KUNIT_ARRAY_PARAM(loopback_extent, loopback_extents, loopback_extent_desc);

/* Whole pages and parts before and behind them: these bytes and no others, in one piece. */
static void loopback_pages(struct kunit *test)
{
	const struct loopback_extent *extent = test->param_value;
	struct lo_env *env = test->priv;
	u8 *from = sg_virt(&env->a.sg[1]), *to = sg_virt(&env->b.sg[1]);
	u32 end = extent->to + extent->len, i;
	struct ib_sge sge = { (uintptr_t)from + extent->from, extent->len, 0 };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
	};
	struct scatterlist sg;

	sge.lkey = env->a.pd->local_dma_lkey;
	for (i = 0; i < REGION; i++)
		from[i] = 1 + i % 255;
	/* in order, so that the region is one piece */
	sg_init_one(&sg, to, REGION);
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(env->b.dev, &sg, 1, DMA_FROM_DEVICE), 1);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(env->b.mr, &sg, 1, NULL, PAGE_SIZE), 1);
	lo_connect_both(test, env);
	lo_register(test, &env->b, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	wr.remote_addr = env->b.mr->iova + extent->to;
	wr.rkey = env->b.mr->rkey;
	KUNIT_ASSERT_EQ(test, ib_post_send(env->a.qp, &wr.wr, NULL), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(to, 0, extent->to));
	KUNIT_EXPECT_EQ(test, memcmp(to + extent->to, from + extent->from, extent->len), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(to + end, 0, REGION - end));
	ib_dma_unmap_sg(env->b.dev, &sg, 1, DMA_FROM_DEVICE);
}

/**
 * struct loopback_lie - a WRITE that must be refused
 * @name: of the row
 * @access: registration of the region; 0: it is not registered
 * @off: offset in it
 * @len: bytes
 * @key: added to its key
 * @own: the key and the address are those of the sender's region
 */
struct loopback_lie {
	const char *name;
	int access;
	s64 off;
	u32 len;
	u32 key;
	bool own;
};

static const struct loopback_lie loopback_lies[] = {
	{ "not registered", 0, 0, 1, 0, false },
	{ "not writable", IB_ACCESS_LOCAL_WRITE, 0, 1, 0, false },
	{ "before", IB_ACCESS_REMOTE_WRITE, -1, 2, 0, false },
	{ "behind", IB_ACCESS_REMOTE_WRITE, REGION, 1, 0, false },
	{ "too long", IB_ACCESS_REMOTE_WRITE, 1, REGION, 0, false },
	{ "longer than the region", IB_ACCESS_REMOTE_WRITE, 0, REGION + 1, 0, false },
	{ "address wraps", IB_ACCESS_REMOTE_WRITE, S64_MIN, 1, 0, false },
	{ "next key", IB_ACCESS_REMOTE_WRITE, 0, 1, 1, false },
	{ "other region", IB_ACCESS_REMOTE_WRITE, 0, 1, 0x100 << 8, false },
	{ "other domain", IB_ACCESS_REMOTE_WRITE, 0, 1, 0, true },
};

static void loopback_lie_desc(const struct loopback_lie *lie, char *desc)
{
	strscpy(desc, lie->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(loopback_lie, loopback_lies, loopback_lie_desc);

/* Nothing is written, both ends fail, and what the victim has posted is flushed. */
static void loopback_refused(struct kunit *test)
{
	const struct loopback_lie *lie = test->param_value;
	struct lo_env *env = test->priv;
	struct ib_mr *mr = lie->own ? env->a.mr : env->b.mr;
	struct ib_wc wc;

	lo_connect_both(test, env);
	if (lie->access) {
		lo_register(test, &env->a, lie->access);
		lo_register(test, &env->b, lie->access);
	}
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	memset(env->a.send, 0x55, sizeof(env->a.send));
	KUNIT_ASSERT_EQ(test, lo_post(&env->a, 1, IB_WR_RDMA_WRITE, lie->len, mr->iova + lie->off,
				      mr->rkey + lie->key), 0);
	lo_expect(test, &env->a, 1, IB_WC_REM_ACCESS_ERR, &wc);
	lo_expect(test, &env->b, 100, IB_WC_WR_FLUSH_ERR, &wc);
	lo_expect_state(test, &env->a, IB_QPS_ERR);
	lo_expect_state(test, &env->b, IB_QPS_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(sg_virt(&env->a.sg[1]), 0, REGION));
	KUNIT_EXPECT_NULL(test, memchr_inv(sg_virt(&env->b.sg[1]), 0, REGION));
}

/* SENDs wait for receives, and arrive in order; a full queue takes no more. */
static void loopback_waits(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;
	u32 i;

	lo_connect_both(test, env);
	for (i = 0; i < DEPTH; i++)
		KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, i, MSG), 0);
	KUNIT_EXPECT_EQ(test, lo_post_msg(&env->a, DEPTH, MSG), -ENOMEM);
	lo_expect_none(test, &env->a);
	for (i = 0; i < DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, i), 0);
		lo_expect(test, &env->a, i, IB_WC_SUCCESS, &wc);
		lo_expect_none(test, &env->a);
		lo_expect(test, &env->b, 100 + i, IB_WC_SUCCESS, &wc);
		KUNIT_EXPECT_EQ(test, wc.byte_len, MSG);
	}
	/* all of them were sent from one place */
	KUNIT_EXPECT_NULL(test, memchr_inv(env->b.recv, DEPTH, sizeof(env->b.recv)));
}

/* The counters of the queues wrap, while the queues have no power of 2 as length. */
static void loopback_counters_wrap(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct lo_qp *a = container_of(env->a.qp, struct lo_qp, ib);
	struct lo_qp *b = container_of(env->b.qp, struct lo_qp, ib);
	struct ib_wc wc;
	u32 i;

	a->sq_head = U32_MAX;
	a->sq_tail = U32_MAX;
	b->rq_head = U32_MAX;
	b->rq_tail = U32_MAX;
	lo_connect_both(test, env);
	for (i = 0; i < DEPTH; i++)
		KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, i, 1), 0);
	for (i = 0; i < DEPTH; i++)
		KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, i), 0);
	for (i = 0; i < DEPTH; i++) {
		lo_expect(test, &env->a, i, IB_WC_SUCCESS, &wc);
		lo_expect(test, &env->b, 100 + i, IB_WC_SUCCESS, &wc);
	}
	for (i = 0; i < DEPTH; i++)
		KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, i), 0);
	for (i = 0; i < DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, i, 1), 0);
		lo_expect(test, &env->b, 100 + i, IB_WC_SUCCESS, &wc);
	}
}

/* What is sent before the other end is in RTR waits, too. */
static void loopback_early(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	lo_env_connect(test, &env->a, &env->b);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, MSG), 0);
	lo_expect_none(test, &env->a);
	lo_env_connect(test, &env->b, &env->a);
	lo_expect(test, &env->a, 1, IB_WC_SUCCESS, &wc);
	lo_expect(test, &env->b, 100, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_NULL(test, memchr_inv(env->b.recv[0], 1, MSG));
}

/* A WRITE does not overtake a SEND that waits. */
static void loopback_order(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	lo_connect_both(test, env);
	lo_register(test, &env->b, IB_ACCESS_REMOTE_WRITE);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, MSG), 0);
	KUNIT_ASSERT_EQ(test, lo_post(&env->a, 2, IB_WR_RDMA_WRITE, MSG, env->b.mr->iova,
				      env->b.mr->rkey), 0);
	lo_expect_none(test, &env->a);
	KUNIT_EXPECT_NULL(test, memchr_inv(sg_virt(&env->b.sg[1]), 0, REGION));
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	lo_expect(test, &env->a, 1, IB_WC_SUCCESS, &wc);
	lo_expect(test, &env->a, 2, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_NULL(test, memchr_inv(sg_virt(&env->b.sg[0]), 1, MSG));
}

/* A region that is not registered cannot be sent, either: this end fails alone. */
static void loopback_own_region(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_sge sge = { env->a.mr->iova, 1, env->a.mr->lkey };
	struct ib_send_wr wr = { .wr_id = 1, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc;

	lo_connect_both(test, env);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	KUNIT_ASSERT_EQ(test, ib_post_send(env->a.qp, &wr, NULL), 0);
	lo_expect(test, &env->a, 1, IB_WC_LOC_PROT_ERR, &wc);
	lo_expect_none(test, &env->b);
	lo_expect_state(test, &env->a, IB_QPS_ERR);
	lo_expect_state(test, &env->b, IB_QPS_RTS);
}

/*
 * A message longer than the receive, for which it has waited: both ends fail, and nothing is
 * written behind the receive.
 */
static void loopback_too_long(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	lo_connect_both(test, env);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, MSG + 1), 0);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	lo_expect(test, &env->a, 1, IB_WC_REM_INV_REQ_ERR, &wc);
	lo_expect(test, &env->b, 100, IB_WC_LOC_LEN_ERR, &wc);
	lo_expect_state(test, &env->b, IB_QPS_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(env->b.recv[1], 0, MSG));
}

/* In ERR everything is flushed, what was posted and what is posted then. */
static void loopback_flush(struct kunit *test)
{
	struct ib_qp_attr err = { .qp_state = IB_QPS_ERR };
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	lo_connect_both(test, env);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, 1), 0);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 2, 1), 0);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->a, 0), 0);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(env->a.qp, &err, IB_QP_STATE), 0);
	lo_expect(test, &env->a, 1, IB_WC_WR_FLUSH_ERR, &wc);
	lo_expect(test, &env->a, 2, IB_WC_WR_FLUSH_ERR, &wc);
	lo_expect(test, &env->a, 100, IB_WC_WR_FLUSH_ERR, &wc);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 3, 1), 0);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->a, 1), 0);
	lo_expect(test, &env->a, 3, IB_WC_WR_FLUSH_ERR, &wc);
	lo_expect(test, &env->a, 101, IB_WC_WR_FLUSH_ERR, &wc);
	/* the other end finds it in ERR */
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->b, 4, 1), 0);
	lo_expect(test, &env->b, 4, IB_WC_RETRY_EXC_ERR, &wc);
	lo_expect_state(test, &env->b, IB_QPS_ERR);
}

/* A request that waits fails when the other end is destroyed. */
static void loopback_peer_gone(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	lo_connect_both(test, env);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, 1), 0);
	lo_expect_none(test, &env->a);
	ib_destroy_qp(env->b.qp);
	env->b.qp = NULL;
	lo_expect(test, &env->a, 1, IB_WC_RETRY_EXC_ERR, &wc);
	lo_expect_state(test, &env->a, IB_QPS_ERR);
}

/* ... and when the other end fails by itself. */
static void loopback_peer_fails(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_sge sge = { (uintptr_t)env->b.send, 1, 0 };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 2, .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = env->a.mr->iova,
		.rkey = env->a.mr->rkey,
	};
	struct ib_wc wc;

	lo_connect_both(test, env);
	lo_register(test, &env->a, IB_ACCESS_REMOTE_WRITE);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, 1), 0);
	lo_expect_none(test, &env->a);
	KUNIT_ASSERT_EQ(test, ib_post_send(env->b.qp, &wr.wr, NULL), 0);
	lo_expect(test, &env->b, 2, IB_WC_LOC_PROT_ERR, &wc);
	lo_expect(test, &env->a, 1, IB_WC_RETRY_EXC_ERR, &wc);
}

/* A third queue pair that names this one does not make the other end wait for ever. */
static void loopback_displaced(struct kunit *test)
{
	struct lo_end *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	KUNIT_ASSERT_NOT_NULL(test, c);
	lo_env_make_end(test, lo_env_find_device(0), c);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->b, 0), 0);
	lo_env_connect(test, &env->a, &env->b);
	lo_env_connect(test, c, &env->b);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->a, 1, 1), 0);
	KUNIT_ASSERT_EQ(test, lo_post_msg(c, 2, 1), 0);
	lo_env_connect(test, &env->b, &env->a);
	lo_expect(test, c, 2, IB_WC_RETRY_EXC_ERR, &wc);
	lo_expect(test, &env->a, 1, IB_WC_SUCCESS, &wc);
	lo_expect(test, &env->b, 100, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, env->b.recv[0][0], 1);
	lo_env_free_end(c);
}

/* ---- queue pairs of two devices ---- */

/* Two more ends, each of a device of its own, whose namespace consents. */
static void peers_begin(struct kunit *test, struct lo_env *env)
{
	lo_env_make_end(test, lo_env_find_device(1), &env->c);
	lo_env_make_end(test, lo_env_find_device(2), &env->d);
	KUNIT_ASSERT_PTR_NE(test, env->c.dev, env->d.dev);
}

static void peers_connect(struct kunit *test, struct lo_env *env)
{
	peers_begin(test, env);
	lo_env_connect(test, &env->c, &env->d);
	lo_env_connect(test, &env->d, &env->c);
}

/* The netdev of a device goes down, or up. */
static void peers_set_up(struct kunit *test, struct lo_end *end, bool up)
{
	struct net_device *ndev = container_of(end->dev, struct lo_device, ib)->ndev;

	rtnl_lock();
	if (up)
		KUNIT_EXPECT_EQ(test, dev_open(ndev, NULL), 0);
	else
		dev_close(ndev);
	rtnl_unlock();
}

/* Messages and WRITEs go from one device to the other; keys are those of the receiving one. */
static void loopback_peers(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	peers_connect(test, env);
	lo_register(test, &env->d, IB_ACCESS_REMOTE_WRITE);
	memcpy(env->c.send, "abc", 3);
	KUNIT_ASSERT_EQ(test, lo_post(&env->c, 1, IB_WR_RDMA_WRITE, 3, env->d.mr->iova,
				      env->d.mr->rkey), 0);
	lo_expect(test, &env->c, 1, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_EQ(test, memcmp(sg_virt(&env->d.sg[0]), "abc", 4), 0);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->d, 2, MSG), 0);
	lo_expect_none(test, &env->d);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->c, 0), 0);
	lo_expect(test, &env->d, 2, IB_WC_SUCCESS, &wc);
	lo_expect(test, &env->c, 100, IB_WC_SUCCESS, &wc);
	KUNIT_EXPECT_NULL(test, memchr_inv(env->c.recv[0], 2, MSG));
}

/* Take a GID of the device that is not of its own netdev: the run has made a VLAN device. */
static void peers_take_vlan_gid(struct kunit *test, const struct lo_end *end,
				struct smc_qp_attr *attr)
{
	const struct net_device *own = container_of(end->dev, struct lo_device, ib)->ndev;
	const struct ib_gid_attr *gid;
	bool found = false;

	for (int i = 0; i < 256 && !found; i++) {
		gid = rdma_get_gid_attr(end->dev, 1, i);
		if (IS_ERR(gid))
			continue;
		found = rcu_access_pointer(gid->ndev) != own &&
			gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
		if (found) {
			attr->sgid = gid->gid;
			attr->sgid_index = i;
		}
		rdma_put_gid_attr(gid);
	}
	KUNIT_ASSERT_TRUE(test, found);
}

/* A queue pair of another device is refused, unless all that stands in lo_qp_may_reach() holds. */
static void loopback_peers_refused(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct smc_qp_attr attr;

	peers_begin(test, env);
	/* the GID of the device of lo, and an own one */
	attr = lo_attr(&env->c, &env->d);
	attr.dgid = env->a.gid;
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	attr.dgid = env->c.gid;
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	/* from lo, and to lo, whose device is for one namespace */
	attr = lo_attr(&env->a, &env->d);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->a.dev, env->a.qp, &attr), -EACCES);
	attr = lo_attr(&env->c, &env->a);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	/* none, and an own one */
	attr = lo_attr(&env->c, &env->d);
	attr.peer_qpn = 0xfffffe;
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	attr = lo_attr(&env->c, &env->c);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	/* the own GID is that of a VLAN device over the netdev */
	attr = lo_attr(&env->c, &env->d);
	peers_take_vlan_gid(test, &env->c, &attr);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	/* the port of either is not active */
	attr = lo_attr(&env->c, &env->d);
	peers_set_up(test, &env->c, false);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	peers_set_up(test, &env->c, true);
	peers_set_up(test, &env->d, false);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	peers_set_up(test, &env->d, true);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), 0);
}

static int peers_count_linked(const struct lo_end *end)
{
	return atomic_read(&container_of(end->dev, struct lo_device, ib)->linked);
}

static void peers_expect_linked(struct kunit *test, const struct lo_env *env, int c, int d)
{
	KUNIT_EXPECT_EQ(test, peers_count_linked(&env->a), 0);
	KUNIT_EXPECT_EQ(test, peers_count_linked(&env->c), c);
	KUNIT_EXPECT_EQ(test, peers_count_linked(&env->d), d);
}

/* When one port goes down, both ends fail, also what waits; a pair of one device goes on. */
static void loopback_peers_cut_off(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct ib_wc wc;

	lo_connect_both(test, env);
	peers_connect(test, env);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->c, 1, 1), 0);
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->c, 0), 0);
	peers_set_up(test, &env->d, false);
	lo_expect(test, &env->c, 1, IB_WC_WR_FLUSH_ERR, &wc);
	lo_expect(test, &env->c, 100, IB_WC_WR_FLUSH_ERR, &wc);
	lo_expect_state(test, &env->c, IB_QPS_ERR);
	lo_expect_state(test, &env->d, IB_QPS_ERR);
	lo_expect_state(test, &env->a, IB_QPS_RTS);
	peers_expect_linked(test, env, 0, 0);
	/* it was not for a while only */
	peers_set_up(test, &env->d, true);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->d, 2, 1), 0);
	lo_expect(test, &env->d, 2, IB_WC_WR_FLUSH_ERR, &wc);
}

/*
 * Queue pairs with an end on another device are counted, from RTR until they leave it in any way.
 * Without one, a port that goes down does not look at all queue pairs of the host.
 */
static void loopback_peers_linked(struct kunit *test)
{
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET }, err = { .qp_state = IB_QPS_ERR };
	struct lo_env *env = test->priv;
	struct smc_qp_attr attr;
	atomic_t *linked;

	lo_connect_both(test, env);
	peers_begin(test, env);
	peers_expect_linked(test, env, 0, 0);
	attr = lo_attr(&env->c, &env->d);
	peers_set_up(test, &env->d, false);
	KUNIT_EXPECT_EQ(test, smc_qp_modify_to_rtr(env->c.dev, env->c.qp, &attr), -EACCES);
	peers_set_up(test, &env->d, true);
	peers_expect_linked(test, env, 0, 0);
	lo_env_connect(test, &env->c, &env->d);
	peers_expect_linked(test, env, 1, 0);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(env->c.qp, &reset, IB_QP_STATE), 0);
	peers_expect_linked(test, env, 0, 0);
	KUNIT_ASSERT_EQ(test, smc_qp_modify_to_init(env->c.qp, 1, IB_ACCESS_REMOTE_WRITE), 0);
	lo_env_connect(test, &env->c, &env->d);
	lo_env_connect(test, &env->d, &env->c);
	peers_expect_linked(test, env, 1, 1);
	/* as if there was none: nobody looks */
	linked = &container_of(env->c.dev, struct lo_device, ib)->linked;
	atomic_dec(linked);
	peers_set_up(test, &env->c, false);
	atomic_inc(linked);
	lo_expect_state(test, &env->c, IB_QPS_RTS);
	peers_set_up(test, &env->c, true);
	/* ERR by order, and again; the other end notices, and is destroyed */
	for (int i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, ib_modify_qp(env->c.qp, &err, IB_QP_STATE), 0);
		peers_expect_linked(test, env, 0, 1);
	}
	ib_destroy_qp(env->d.qp);
	env->d.qp = NULL;
	peers_expect_linked(test, env, 0, 0);
}

/*
 * The number of the other end belongs to a queue pair of another device meanwhile: one end notices,
 * the one that sends, or the one that receives.
 */
static void loopback_peers_renumbered(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct lo_qp *b = container_of(env->b.qp, struct lo_qp, ib);
	struct lo_qp *d;
	struct ib_wc wc;

	lo_connect_both(test, env);
	peers_connect(test, env);
	d = container_of(env->d.qp, struct lo_qp, ib);
	b->dest_dev = container_of(env->c.dev, struct lo_device, ib)->num;
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->a, 0), 0);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->b, 1, 1), 0);
	lo_expect(test, &env->b, 1, IB_WC_RETRY_EXC_ERR, &wc);
	d->dest_dev = container_of(env->a.dev, struct lo_device, ib)->num;
	KUNIT_ASSERT_EQ(test, lo_post_recv(&env->d, 0), 0);
	KUNIT_ASSERT_EQ(test, lo_post_msg(&env->c, 2, 1), 0);
	lo_expect(test, &env->c, 2, IB_WC_RETRY_EXC_ERR, &wc);
}

/**
 * struct peers_events - events of a device
 * @handler: of the RDMA core
 * @count: how many there were
 * @last: the last one
 */
struct peers_events {
	struct ib_event_handler handler;
	int count;
	enum ib_event_type last;
};

static void peers_take_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct peers_events *events = container_of(handler, struct peers_events, handler);

	events->count++;
	events->last = event->event;
}

/* Wait until a device has reported all changes, and everybody has got the report. */
static void peers_await_reports(struct kunit *test, struct lo_device *lo)
{
	for (int i = 0; i < 1000 && READ_ONCE(lo->changed); i++)
		msleep(20);
	KUNIT_ASSERT_FALSE(test, READ_ONCE(lo->changed));
	flush_workqueue(ib_wq);
}

/*
 * A port that flaps is not reported each time, but in the end as it is. Each time the work runs: it
 * may have begun before the change, so that no delay that the change asks for has held it up.
 */
static void loopback_peers_flap(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct peers_events events = { };
	enum ib_port_state state;
	struct lo_device *lo;
	unsigned long began;

	peers_begin(test, env);
	lo = container_of(env->c.dev, struct lo_device, ib);
	peers_await_reports(test, lo);
	INIT_IB_EVENT_HANDLER(&events.handler, env->c.dev, peers_take_event);
	ib_register_event_handler(&events.handler);
	began = jiffies;
	rtnl_lock();
	for (int i = 0; i < 100; i++) {
		if (i % 2)
			netif_carrier_on(lo->ndev);
		else
			netif_carrier_off(lo->ndev);
		netdev_state_change(lo->ndev);
		lo->report.work.func(&lo->report.work);
	}
	rtnl_unlock();
	peers_await_reports(test, lo);
	ib_unregister_event_handler(&events.handler);
	KUNIT_EXPECT_GT(test, events.count, 0);
	/* all reports were between these two times */
	KUNIT_EXPECT_LE(test, events.count, (lo->reported_at - began) / (HZ / 20) + 1);
	KUNIT_EXPECT_EQ(test, events.last, IB_EVENT_PORT_ACTIVE);
	KUNIT_ASSERT_EQ(test, ib_get_cached_port_state(env->c.dev, 1, &state), 0);
	KUNIT_EXPECT_EQ(test, state, IB_PORT_ACTIVE);
}

/* A report that is so long ago that the clock has turned over holds nothing up. */
static void loopback_peers_old_report(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct lo_device *lo;

	peers_begin(test, env);
	lo = container_of(env->c.dev, struct lo_device, ib);
	peers_await_reports(test, lo);
	lo->reported_at = jiffies + LONG_MAX / 2;
	peers_set_up(test, &env->c, false);
	peers_await_reports(test, lo);
	peers_set_up(test, &env->c, true);
	peers_await_reports(test, lo);
}

/*
 * The host is not named after the netdev of a container, also where there is no RNIC: then it takes
 * a name for good.
 */
static void loopback_peers_id(struct kunit *test)
{
	struct lo_env *env = test->priv;
	u8 id[8] __aligned(4), again[8];

	peers_begin(test, env);
	smc_ib_get_peer_id(id);
	smc_ib_get_peer_id(again);
	KUNIT_EXPECT_TRUE(test, is_valid_ether_addr(id + 2) && is_local_ether_addr(id + 2));
	KUNIT_EXPECT_MEMEQ(test, id, again, sizeof(id));
	for (int i = 0; i < 2; i++) {
		const struct ib_device *dev = i ? env->c.dev : env->d.dev;
		const struct lo_device *lo = container_of(dev, struct lo_device, ib);

		KUNIT_EXPECT_FALSE(test, is_zero_ether_addr(lo->ndev->dev_addr));
		KUNIT_EXPECT_FALSE(test, ether_addr_equal_unaligned(id + 2, lo->ndev->dev_addr));
	}
}

/* ---- who is taken for a peer on this host ---- */

/* A handshake without a connection. */
static struct smc_hs_ctx *peers_begin_hs(struct kunit *test, bool server)
{
	struct smc_hs_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->hs = kunit_kzalloc(test, sizeof(*ctx->hs), GFP_KERNEL);
	ctx->msgs = kunit_kzalloc(test, sizeof(*ctx->msgs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctx->hs);
	KUNIT_ASSERT_NOT_NULL(test, ctx->msgs);
	ctx->hs->server = server;
	ctx->net = &init_net;
	return ctx;
}

/* Make the Proposal one that a server may follow. */
static void peers_fill_proposal(struct smc_hs_ctx *ctx)
{
	struct smc_clc_proposal *p = &ctx->msgs->proposal;

	memset(p, 0, sizeof(*p));
	smc_native_tag_set_proposal(p);
	smc_native_tag_set_inner(p);
	smc_ib_get_peer_id(p->peer_id);
	p->has_v2 = true;
	memcpy(p->v2.gid, &ctx->daddr, SMC_GID_LEN);
	p->v1_type = SMC_CLC_OFFER_R;
	memcpy(p->gid, &ctx->daddr, SMC_GID_LEN);
}

/* A server looks for smc_lo only if all of the Proposal says that the client is on this host. */
static void loopback_peers_proposal(struct kunit *test)
{
	struct smc_hs_ctx *ctx = peers_begin_hs(test, true);
	struct smc_clc_proposal *p = &ctx->msgs->proposal;

	ipv6_addr_set_v4mapped(htonl(0x0a070002), &ctx->daddr);
	peers_fill_proposal(ctx);
	KUNIT_EXPECT_PTR_EQ(test, smc_hs_inner_peer(ctx), &ctx->daddr);
	/* the flag alone is missing, or the tag */
	smc_native_tag_set_proposal(p);
	KUNIT_EXPECT_NULL(test, smc_hs_inner_peer(ctx));
	peers_fill_proposal(ctx);
	p->vendor_oui[0] ^= 1;
	KUNIT_EXPECT_NULL(test, smc_hs_inner_peer(ctx));
	/* each byte of the peer ID */
	for (int i = 0; i < SMC_PEER_ID_LEN; i++) {
		peers_fill_proposal(ctx);
		p->peer_id[i] ^= 1;
		KUNIT_EXPECT_NULL(test, smc_hs_inner_peer(ctx));
	}
	/* the GID of one version is another address: that counts if the version is offered */
	peers_fill_proposal(ctx);
	p->v2.gid[15] ^= 1;
	KUNIT_EXPECT_NULL(test, smc_hs_inner_peer(ctx));
	p->has_v2 = false;
	KUNIT_EXPECT_PTR_EQ(test, smc_hs_inner_peer(ctx), &ctx->daddr);
	peers_fill_proposal(ctx);
	p->gid[15] ^= 1;
	KUNIT_EXPECT_NULL(test, smc_hs_inner_peer(ctx));
	p->v1_type = SMC_CLC_OFFER_NONE;
	KUNIT_EXPECT_PTR_EQ(test, smc_hs_inner_peer(ctx), &ctx->daddr);
}

/* The server answers with this end, under its peer ID changed by @id. Return why it is declined. */
static u32 peers_take_accept(struct kunit *test, bool inner, const union ib_gid *gid, u8 id)
{
	struct smc_hs_ctx *ctx = peers_begin_hs(test, false);
	struct smc_clc_accept a = {
		.version = 1, .qpn = 2, .rkey = 3, .rmbe_idx = 1, .token = 4, .vaddr = PAGE_SIZE,
	};
	struct smc_clc_rx *rx = &ctx->msgs->rx;
	int len;

	smc_ib_get_peer_id(a.peer_id);
	a.peer_id[0] ^= id;
	memcpy(a.gid, gid->raw, sizeof(a.gid));
	len = smc_clc_build_accept(&a, rx->buf, sizeof(rx->buf));
	KUNIT_ASSERT_GT(test, len, 0);
	rx->len = len;
	ctx->msgs->proposal.v1_type = SMC_CLC_OFFER_R;
	ctx->gids.v1.mtu = IB_MTU_1024;
	ctx->gids.v1.roce_v1 = true;
	ctx->path.inner = inner;
	KUNIT_EXPECT_EQ(test, smc_hs_take_accept(ctx), ctx->res.own_reason ? HS_END : HS_GO);
	return ctx->res.own_reason;
}

/* A client believes an Accept over smc_lo only from this host, with a GID of such a device. */
static void loopback_peers_accept(struct kunit *test)
{
	struct lo_env *env = test->priv;
	struct lo_device *lo;
	union ib_gid other;

	peers_begin(test, env);
	lo = container_of(env->c.dev, struct lo_device, ib);
	peers_await_reports(test, lo);
	other = env->c.gid;
	other.raw[15] ^= 1;
	KUNIT_EXPECT_EQ(test, peers_take_accept(test, true, &env->c.gid, 0), 0);
	KUNIT_EXPECT_EQ(test, peers_take_accept(test, true, &env->c.gid, 1),
			SMC_CLC_DECL_NOT_INNER);
	KUNIT_EXPECT_EQ(test, peers_take_accept(test, true, &other, 0), SMC_CLC_DECL_NOT_INNER);
	/* over an RNIC it may be any */
	KUNIT_EXPECT_EQ(test, peers_take_accept(test, false, &other, 1), 0);
	/* its namespace does not consent any more */
	peers_set_up(test, &env->c, false);
	peers_await_reports(test, lo);
	KUNIT_EXPECT_EQ(test, peers_take_accept(test, true, &env->c.gid, 0),
			SMC_CLC_DECL_NOT_INNER);
	peers_set_up(test, &env->c, true);
}

static struct kunit_case loopback_cases[] = {
	KUNIT_CASE(loopback_write),
	KUNIT_CASE_PARAM(loopback_pages, loopback_extent_gen_params),
	KUNIT_CASE_PARAM(loopback_refused, loopback_lie_gen_params),
	KUNIT_CASE(loopback_waits),
	KUNIT_CASE(loopback_counters_wrap),
	KUNIT_CASE(loopback_early),
	KUNIT_CASE(loopback_order),
	KUNIT_CASE(loopback_own_region),
	KUNIT_CASE(loopback_too_long),
	KUNIT_CASE(loopback_flush),
	KUNIT_CASE(loopback_peer_gone),
	KUNIT_CASE(loopback_peer_fails),
	KUNIT_CASE(loopback_displaced),
	KUNIT_CASE(loopback_peers),
	KUNIT_CASE(loopback_peers_refused),
	KUNIT_CASE(loopback_peers_cut_off),
	KUNIT_CASE(loopback_peers_linked),
	KUNIT_CASE(loopback_peers_renumbered),
	KUNIT_CASE(loopback_peers_flap),
	KUNIT_CASE(loopback_peers_old_report),
	KUNIT_CASE(loopback_peers_id),
	KUNIT_CASE(loopback_peers_proposal),
	KUNIT_CASE(loopback_peers_accept),
	{ }
};

struct kunit_suite smc_loopback_suite = {
	.name = "smc_loopback",
	.init = lo_init,
	.exit = lo_exit,
	.test_cases = loopback_cases,
};
