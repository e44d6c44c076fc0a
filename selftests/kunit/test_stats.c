// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: counters and fallback reasons of base/stats.c, and their netlink dumps in several
 * messages.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/netlink.h>
#include <linux/smc.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include "../../netlink/internal.h"

#include "suites.h"

#define THREADS		4
#define ROUNDS		20000
#define REASON		0x7f000000

static void stats_add(struct kunit *test)
{
	u64 before[SMC_STAT_MAX];
	int i;

	for (i = 0; i < SMC_STAT_MAX; i++)
		before[i] = smc_stats_get(&init_net, i);
	for (i = 0; i < SMC_STAT_MAX; i++)
		smc_stats_add(&init_net, i, i + (1ULL << 33));
	smc_stats_inc(&init_net, SMC_STAT_TX_CDC);
	for (i = 0; i < SMC_STAT_MAX; i++)
		KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, i) - before[i],
				i + (1ULL << 33) + (i == SMC_STAT_TX_CDC));
}

/* Scripts read counters by name: the meaning of a name must not change. */
static const char *const names[SMC_STAT_MAX] = {
	[SMC_STAT_CLNT_SMC] = "clnt_smc", [SMC_STAT_SRV_SMC] = "srv_smc",
	[SMC_STAT_CLNT_V1] = "clnt_smc_v1", [SMC_STAT_SRV_V1] = "srv_smc_v1",
	[SMC_STAT_CLNT_FBACK] = "clnt_fback", [SMC_STAT_SRV_FBACK] = "srv_fback",
	[SMC_STAT_CLNT_HS_ERR] = "clnt_hs_err", [SMC_STAT_SRV_HS_ERR] = "srv_hs_err",
	[SMC_STAT_HS_CONGESTED] = "hs_congested", [SMC_STAT_HS_LIMITED] = "hs_limited",
	[SMC_STAT_HS_AGAIN] = "hs_again",
	[SMC_STAT_HS_EVICTED] = "hs_evicted", [SMC_STAT_HS_UNRESOLVED] = "hs_unresolved",
	[SMC_STAT_FIRST_CONTACT] = "first_contact", [SMC_STAT_TX_BYTES] = "tx_bytes",
	[SMC_STAT_RX_BYTES] = "rx_bytes", [SMC_STAT_TX_CNT] = "tx_cnt",
	[SMC_STAT_RX_CNT] = "rx_cnt", [SMC_STAT_TX_WRITE_BYTES] = "tx_write_bytes",
	[SMC_STAT_TX_WRITES] = "tx_writes", [SMC_STAT_TX_CDC] = "tx_cdc",
	[SMC_STAT_TX_ZC_BYTES] = "tx_zc_bytes", [SMC_STAT_TX_ZC_COPIED] = "tx_zc_copied",
	[SMC_STAT_RX_LEND_PAGES] = "rx_lend_pages", [SMC_STAT_RX_LEND_COPIED] = "rx_lend_copied",
	[SMC_STAT_RX_CDC] = "rx_cdc", [SMC_STAT_RX_CDC_BAD] = "rx_cdc_bad",
	[SMC_STAT_TX_LLC] = "tx_llc", [SMC_STAT_RX_LLC] = "rx_llc",
	[SMC_STAT_RX_LLC_BAD] = "rx_llc_bad", [SMC_STAT_CLC_BAD] = "clc_bad",
	[SMC_STAT_PEER_END_BAD] = "peer_end_bad",
	[SMC_STAT_TX_NOSLOT] = "tx_noslot", [SMC_STAT_TX_WINDOW_CLOSED] = "tx_window_closed",
	[SMC_STAT_LINK_FAIL] = "link_fail", [SMC_STAT_LGR_TERM] = "lgr_term",
	[SMC_STAT_CONN_ABORT] = "conn_abort", [SMC_STAT_RKEY_CONFIRM] = "rkey_confirm",
	[SMC_STAT_MR_REG] = "mr_reg",
	[SMC_STAT_TX_BUF_ALLOC] = "tx_buf_alloc", [SMC_STAT_RX_BUF_ALLOC] = "rx_buf_alloc",
	[SMC_STAT_TX_BUF_REUSE] = "tx_buf_reuse", [SMC_STAT_RX_BUF_REUSE] = "rx_buf_reuse",
	[SMC_STAT_TX_SMALL] = "tx_small", [SMC_STAT_TX_PEER_SMALL] = "tx_peer_small",
	[SMC_STAT_TX_FULL] = "tx_full", [SMC_STAT_RX_SMALL] = "rx_small",
	[SMC_STAT_RX_FULL] = "rx_full", [SMC_STAT_TX_SENDPAGE] = "tx_sendpage",
	[SMC_STAT_RX_SPLICE] = "rx_splice", [SMC_STAT_TX_URGENT] = "tx_urgent",
	[SMC_STAT_RX_URGENT] = "rx_urgent",
	[SMC_STAT_CORK] = "cork", [SMC_STAT_NODELAY] = "nodelay",
	[SMC_STAT_ELEM_QUARANTINE] = "elem_quarantine",
};

static void stats_names(struct kunit *test)
{
	int i, j;

	for (i = 0; i < SMC_STAT_MAX; i++) {
		KUNIT_ASSERT_NOT_NULL(test, smc_stats_get_name(i));
		KUNIT_EXPECT_TRUE(test, strlen(smc_stats_get_name(i)) > 0);
		if (names[i])
			KUNIT_EXPECT_STREQ(test, smc_stats_get_name(i), names[i]);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, strcmp(smc_stats_get_name(i), smc_stats_get_name(j)),
					0);
	}
	KUNIT_EXPECT_STREQ(test, smc_stats_get_name(SMC_STAT_MAX), "unknown");
}

static int stats_count_thread(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		smc_stats_inc(&init_net, SMC_STAT_RX_CDC);
	complete(arg);
	return 0;
}

/* Concurrent increments are not lost. */
static void stats_parallel(struct kunit *test)
{
	u64 before = smc_stats_get(&init_net, SMC_STAT_RX_CDC);
	struct completion done[THREADS];
	struct task_struct *task;
	int i, started = 0;

	for (i = 0; i < THREADS; i++) {
		init_completion(&done[i]);
		task = kthread_run(stats_count_thread, &done[i], "smc_count%d", i);
		KUNIT_EXPECT_FALSE(test, IS_ERR(task));
		if (IS_ERR(task))
			break;
		started++;
	}
	for (i = 0; i < started; i++)
		wait_for_completion(&done[i]);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_CDC) - before,
			(u64)started * ROUNDS);
}

/* Each size class includes its power of two. */
static void stats_sizes(struct kunit *test)
{
	const enum smc_stats_hist hist = SMC_HIST_RX_BUF;
	u64 before[SMC_STATS_SIZES], beside = smc_stats_get_size(&init_net, SMC_HIST_TX_BUF, 0);
	int i;

	for (i = 0; i < SMC_STATS_SIZES; i++)
		before[i] = smc_stats_get_size(&init_net, hist, i);
	smc_stats_add_size(&init_net, hist, 0);
	smc_stats_add_size(&init_net, hist, 1);
	smc_stats_add_size(&init_net, hist, SIZE_MAX);
	for (i = 0; i < SMC_STATS_SIZES - 1; i++) {
		smc_stats_add_size(&init_net, hist, 8192UL << i);
		smc_stats_add_size(&init_net, hist, (8192UL << i) + 1);
	}
	KUNIT_EXPECT_EQ(test, smc_stats_get_size(&init_net, hist, 0) - before[0], 3);
	for (i = 1; i < SMC_STATS_SIZES; i++)
		KUNIT_EXPECT_EQ(test, smc_stats_get_size(&init_net, hist, i) - before[i], 2);
	KUNIT_EXPECT_EQ(test, smc_stats_get_size(&init_net, SMC_HIST_TX_BUF, 0), beside);
}

/* Counted by type; invalid types, which the wire may contain, are ignored. */
static void stats_msgs(struct kunit *test)
{
	u64 before[SMC_MSGS][SMC_STATS_TYPES];
	int way, type;

	for (way = 0; way < SMC_MSGS; way++)
		for (type = 1; type <= SMC_STATS_TYPES; type++)
			before[way][type - 1] = smc_stats_get_msg(&init_net, way, type);
	for (way = 0; way < SMC_MSGS; way++) {
		smc_stats_add_msg(&init_net, way, 0);
		smc_stats_add_msg(&init_net, way, SMC_STATS_TYPES + 1);
		smc_stats_add_msg(&init_net, way, 255);
		smc_stats_add_msg(&init_net, way, way + 1);
		smc_stats_add_msg(&init_net, way, SMC_STATS_TYPES);
	}
	for (way = 0; way < SMC_MSGS; way++)
		for (type = 1; type <= SMC_STATS_TYPES; type++)
			KUNIT_EXPECT_EQ(test, smc_stats_get_msg(&init_net, way, type) -
					before[way][type - 1],
					(type == way + 1) + (type == SMC_STATS_TYPES));
}

/* Each time class includes its power of two in microseconds; the sum is exact. */
static void stats_handshakes(struct kunit *test)
{
	u64 sum = smc_stats_get(&init_net, SMC_STAT_SRV_HS_USECS), want = 0;
	u64 before[SMC_STATS_TIMES], beside = smc_stats_get_handshake(&init_net, false, 0);
	int i;

	for (i = 0; i < SMC_STATS_TIMES; i++)
		before[i] = smc_stats_get_handshake(&init_net, true, i);
	smc_stats_add_handshake(&init_net, true, 999);
	smc_stats_add_handshake(&init_net, true, 1000);
	for (i = 0; i < SMC_STATS_TIMES - 1; i++) {
		smc_stats_add_handshake(&init_net, true, (64000ULL << i) + 999);
		smc_stats_add_handshake(&init_net, true, (64000ULL << i) + 1000);
		want += (128ULL << i) + 1;
	}
	smc_stats_add_handshake(&init_net, true, 3600ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, smc_stats_get_handshake(&init_net, true, 0) - before[0], 3);
	for (i = 1; i < SMC_STATS_TIMES; i++)
		KUNIT_EXPECT_EQ(test, smc_stats_get_handshake(&init_net, true, i) - before[i], 2);
	KUNIT_EXPECT_EQ(test, smc_stats_get_handshake(&init_net, false, 0), beside);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_SRV_HS_USECS) - sum,
			want + 1 + 3600ULL * USEC_PER_SEC);
}

static void stats_memory(struct kunit *test)
{
	const enum smc_stats_mem what = SMC_MEM_RMB_QUARANTINE;
	u64 now = smc_stats_get_mem(&init_net, what), peak;

	smc_stats_mem(&init_net, what, 1LL << 40);
	peak = smc_stats_get_mem_peak(&init_net, what);
	KUNIT_EXPECT_EQ(test, peak, now + (1ULL << 40));
	smc_stats_mem(&init_net, what, -(1LL << 40));
	KUNIT_EXPECT_EQ(test, smc_stats_get_mem(&init_net, what), now);
	KUNIT_EXPECT_EQ(test, smc_stats_get_mem_peak(&init_net, what), peak);
	smc_stats_mem(&init_net, what, 1LL << 39);
	smc_stats_mem(&init_net, what, -(1LL << 39));
	KUNIT_EXPECT_EQ(test, smc_stats_get_mem_peak(&init_net, what), peak);
}

static int stats_find_reason(bool server, u32 wanted, u64 *count)
{
	u32 reason;
	int i;

	for (i = 0; i < SMC_STATS_FBACK_SLOTS; i++)
		if (smc_stats_get_fallback(&init_net, server, i, &reason, count) &&
		    reason == wanted)
			return i;
	return -1;
}

/*
 * Fills the tables of the initial namespace, which has had no handshakes yet because the module was
 * just loaded.
 */
static void stats_fallback(struct kunit *test)
{
	u64 clnt = smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK);
	u64 srv = smc_stats_get(&init_net, SMC_STAT_SRV_FBACK);
	u32 reason;
	u64 count;
	int i;

	KUNIT_ASSERT_FALSE(test, smc_stats_get_fallback(&init_net, false, 0, &reason, &count));
	/* An unused slot has reason 0, but 0 is also a valid reason. */
	smc_stats_add_fallback(&init_net, false, REASON);
	smc_stats_add_fallback(&init_net, false, 0);
	smc_stats_add_fallback(&init_net, false, REASON);
	KUNIT_EXPECT_EQ(test, stats_find_reason(false, REASON, &count), 0);
	KUNIT_EXPECT_EQ(test, count, 2);
	KUNIT_EXPECT_EQ(test, stats_find_reason(false, 0, &count), 1);
	KUNIT_EXPECT_EQ(test, count, 1);
	/* The sides are separate. */
	KUNIT_EXPECT_EQ(test, stats_find_reason(true, REASON, &count), -1);
	smc_stats_add_fallback(&init_net, true, REASON);
	KUNIT_EXPECT_EQ(test, stats_find_reason(true, REASON, &count), 0);
	KUNIT_EXPECT_EQ(test, count, 1);
	/* 36 reasons; later ones are counted in the sum only. */
	for (i = 2; i < SMC_STATS_FBACK_SLOTS + 5; i++)
		smc_stats_add_fallback(&init_net, false, REASON + i);
	KUNIT_EXPECT_EQ(test, stats_find_reason(false, REASON + SMC_STATS_FBACK_SLOTS - 1, &count),
			SMC_STATS_FBACK_SLOTS - 1);
	KUNIT_EXPECT_EQ(test, stats_find_reason(false, REASON + SMC_STATS_FBACK_SLOTS, &count), -1);
	smc_stats_add_fallback(&init_net, false, REASON);
	KUNIT_EXPECT_EQ(test, stats_find_reason(false, REASON, &count), 0);
	KUNIT_EXPECT_EQ(test, count, 3);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK) - clnt,
			3 + SMC_STATS_FBACK_SLOTS + 5 - 2 + 1);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_SRV_FBACK) - srv, 1);
}

/* Beyond the 16 bits of <linux/smc.h>: after a wrap the slot would look unused. */
static void stats_fallback_many(struct kunit *test)
{
	u64 count;
	u32 i;

	for (i = 0; i < U16_MAX + 10; i++)
		smc_stats_add_fallback(&init_net, true, REASON + 1);
	KUNIT_EXPECT_GE(test, stats_find_reason(true, REASON + 1, &count), 0);
	KUNIT_EXPECT_EQ(test, count, U16_MAX + 10);
}

/* ---- dumps in pieces ---- */

#define SMALL		300	/* bytes of an skb that holds only some of the messages */
#define PIECES_MAX	100

static const struct genl_family family = { .id = GENL_MIN_ID, .version = 1 };

/**
 * struct pieces - A dump that is read in pieces
 * @dump: function under test
 * @take: called for each message
 * @cb: state of the dump
 * @nlh: header of the request
 * @request: the request
 */
struct pieces {
	int (*dump)(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct genl_family *family);
	void (*take)(struct kunit *test, const struct nlmsghdr *nlh);
	struct netlink_callback cb;
	struct nlmsghdr nlh;
	struct sk_buff *request;
};

/*
 * Read one piece into an skb with @size bytes of room, as netlink does. Returns the result of the
 * dump.
 */
static int pieces_read_one(struct kunit *test, struct pieces *p, unsigned int size)
{
	struct sk_buff *skb = alloc_skb(size, GFP_KERNEL);
	const struct nlmsghdr *nlh;
	int rc, left;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, skb_tailroom(skb) - size);
	skb->sk = init_net.genl_sock;
	rc = p->dump(skb, &p->cb, &family);
	left = skb->len;
	for (nlh = nlmsg_hdr(skb); nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left))
		p->take(test, nlh);
	KUNIT_EXPECT_EQ(test, left, 0);
	skb->sk = NULL;
	kfree_skb(skb);
	return rc;
}

/* Read all pieces. Returns the number of pieces that were not empty. */
static int pieces_read_all(struct kunit *test, struct pieces *p, unsigned int size)
{
	int n = 0, rc;

	p->request = alloc_skb(0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p->request);
	p->cb.skb = p->request;
	p->cb.nlh = &p->nlh;
	do {
		rc = pieces_read_one(test, p, size);
		n += rc > 0;
	} while (rc > 0 && n < PIECES_MAX);
	KUNIT_EXPECT_EQ(test, rc, 0);
	kfree_skb(p->request);
	return n;
}

static int reported[2][SMC_STATS_FBACK_SLOTS], sums, strange, clamped;

static void pieces_take_fallback(struct kunit *test, const struct nlmsghdr *nlh)
{
	const struct nlattr *nest = nlmsg_find_attr(nlh, GENL_HDRLEN, SMC_GEN_FBACK_STATS);
	const struct nlattr *type, *reason, *count, *own;
	bool server;
	u64 want;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, nest);
	type = nla_find_nested(nest, SMC_NLA_FBACK_STATS_TYPE);
	reason = nla_find_nested(nest, SMC_NLA_FBACK_STATS_RSN_CODE);
	count = nla_find_nested(nest, SMC_NLA_FBACK_STATS_RSN_CNT);
	own = nla_find_nested(nest, SMC_NETLINK_FBACK_STATS_OWN_COUNT);
	KUNIT_ASSERT_TRUE(test, type && reason && count && own);
	sums += !!nla_find_nested(nest, SMC_NLA_FBACK_STATS_SRV_CNT);
	sums += !!nla_find_nested(nest, SMC_NLA_FBACK_STATS_CLNT_CNT);
	server = nla_get_u8(type);
	i = stats_find_reason(server, nla_get_u32(reason), &want);
	if (i < 0 || nla_get_u64(own) != want || nla_get_u16(count) != min_t(u64, want, U16_MAX))
		strange++;
	else
		reported[server][i]++;
	clamped += want > U16_MAX;
}

/*
 * Each reason once, even in small pieces, and the sums in the first message only. One count, of
 * stats_fallback_many(), is beyond the 16 bits of <linux/smc.h>.
 */
static void stats_fallback_pieces(struct kunit *test)
{
	struct pieces p = { .dump = smc_nl_dump_fallbacks, .take = pieces_take_fallback };
	int server, i, used = 0;
	u32 reason;
	u64 count;

	memset(reported, 0, sizeof(reported));
	sums = 0;
	strange = 0;
	clamped = 0;
	KUNIT_EXPECT_GT(test, pieces_read_all(test, &p, SMALL), 5);
	KUNIT_EXPECT_EQ(test, sums, 2);
	KUNIT_EXPECT_EQ(test, strange, 0);
	KUNIT_EXPECT_EQ(test, clamped, 1);
	for (server = 0; server < 2; server++) {
		for (i = 0; i < SMC_STATS_FBACK_SLOTS; i++) {
			bool there = smc_stats_get_fallback(&init_net, server, i, &reason, &count);

			KUNIT_EXPECT_EQ(test, reported[server][i], there);
			used += there;
		}
	}
	KUNIT_EXPECT_GT(test, used, SMC_STATS_FBACK_SLOTS);
}

static int counters;

static void pieces_take_counter(struct kunit *test, const struct nlmsghdr *nlh)
{
	const struct nlattr *name = nlmsg_find_attr(nlh, GENL_HDRLEN, SMC_NETLINK_COUNTER_NAME);
	const struct nlattr *value = nlmsg_find_attr(nlh, GENL_HDRLEN, SMC_NETLINK_COUNTER_VALUE);

	KUNIT_ASSERT_TRUE(test, name && value && counters < SMC_STAT_MAX);
	KUNIT_EXPECT_STREQ(test, nla_data(name), smc_stats_get_name(counters));
	KUNIT_EXPECT_EQ(test, nla_get_u64(value), smc_stats_get(&init_net, counters));
	counters++;
}

static void stats_counter_pieces(struct kunit *test)
{
	struct pieces p = { .dump = smc_nl_dump_counters, .take = pieces_take_counter };

	counters = 0;
	KUNIT_EXPECT_GT(test, pieces_read_all(test, &p, SMALL), 5);
	KUNIT_EXPECT_EQ(test, counters, SMC_STAT_MAX);
}

static void pieces_take_stats(struct kunit *test, const struct nlmsghdr *nlh)
{
	const struct nlattr *nest = nlmsg_find_attr(nlh, GENL_HDRLEN, SMC_GEN_STATS);

	KUNIT_ASSERT_NOT_NULL(test, nest);
	KUNIT_EXPECT_NOT_NULL(test, nla_find_nested(nest, SMC_NETLINK_STATS_OWN_MEM_PEAK));
	counters++;
}

/* One message fits in the smallest skb that netlink uses on any machine. */
static void stats_message(struct kunit *test)
{
	struct pieces p = { .dump = smc_nl_dump_stats, .take = pieces_take_stats };

	counters = 0;
	KUNIT_EXPECT_EQ(test, pieces_read_all(test, &p, SKB_WITH_OVERHEAD(4096)), 1);
	KUNIT_EXPECT_EQ(test, counters, 1);
}

static struct kunit_case stats_cases[] = {
	KUNIT_CASE(stats_add),
	KUNIT_CASE(stats_names),
	KUNIT_CASE(stats_parallel),
	KUNIT_CASE(stats_sizes),
	KUNIT_CASE(stats_msgs),
	KUNIT_CASE(stats_handshakes),
	KUNIT_CASE(stats_memory),
	KUNIT_CASE(stats_fallback),
	KUNIT_CASE(stats_fallback_many),
	KUNIT_CASE(stats_fallback_pieces),
	KUNIT_CASE(stats_counter_pieces),
	KUNIT_CASE(stats_message),
	{ }
};

struct kunit_suite smc_stats_suite = {
	.name = "smc_stats",
	.test_cases = stats_cases,
};
