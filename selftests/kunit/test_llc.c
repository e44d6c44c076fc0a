// SPDX-License-Identifier: GPL-2.0-only
/*
 * LLC of a group with two or three links of which one is lost or deleted: which messages are sent
 * over the other link, and how received messages are handled. The layers above the group are real,
 * the RNIC is a fake.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/proto/llc_msg.h>
#include "../../llc/internal.h"

#include "core_env.h"
#include "suites.h"

#define WAIT_MAX	(10 * HZ)
#define QUIET_MS	300	/* for works that have nothing to send */

/**
 * struct llc_pair - a group with two links
 * @lgr: group
 * @first: link that stays; reference
 * @second: link that is lost or deleted; reference
 * @num: number of the link that received messages are about: @second, unless a case changes it
 * @failed: counter link_fail when the case began
 * @deleted: counter link_del when the case began
 */
struct llc_pair {
	struct smc_lgr *lgr;
	struct smc_link *first;
	struct smc_link *second;
	u8 num;
	u64 failed;
	u64 deleted;
};

static void llc_pair_begin(struct kunit *test, struct llc_pair *p, enum smc_role role, bool marker)
{
	p->lgr = env_create_group_up(test, role, 1);
	p->lgr->peer.marker = marker;
	p->first = smc_lgr_get_link(p->lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, p->first);
	/* a client gets the number from the server */
	WRITE_ONCE(p->first->num, 1);
	p->second = env_add_link(test, p->lgr);
	WRITE_ONCE(p->second->num, 2);
	env_bring_up(test, p->second);
	smc_lgr_set_ready(p->lgr);
	p->num = p->second->num;
	p->failed = smc_stats_get(&init_net, SMC_STAT_LINK_FAIL);
	p->deleted = smc_stats_get(&init_net, SMC_STAT_LINK_DEL);
}

static void llc_pair_end(struct llc_pair *p)
{
	smc_link_put(p->second);
	smc_link_put(p->first);
}

static u64 llc_pair_count_failed(const struct llc_pair *p)
{
	return smc_stats_get(&init_net, SMC_STAT_LINK_FAIL) - p->failed;
}

static u64 llc_pair_count_deleted(const struct llc_pair *p)
{
	return smc_stats_get(&init_net, SMC_STAT_LINK_DEL) - p->deleted;
}

static const struct smc_llc *llc_pair_llc(const struct llc_pair *p)
{
	return p->lgr->llc;
}

/* Count the DELETE LINK requests or responses sent over @first; @last is the last of them. */
static u32 llc_pair_count_sent(const struct llc_pair *p, bool response, struct smc_llc_msg *last)
{
	struct fake_ib_qp *qp = fake_ib_qp(p->first->qp->qp);
	struct fake_ib_wr *wr;
	struct smc_llc_msg msg;
	u32 i, n = 0;

	for (i = 0; (wr = fake_ib_sent(qp, i)); i++) {
		if (wr->opcode != IB_WR_SEND ||
		    smc_llc_msg_parse((u8 *)(uintptr_t)wr->sge[0].addr, wr->sge[0].length, &msg) ||
		    msg.type != SMC_LLC_DELETE_LINK || msg.response != response)
			continue;
		*last = msg;
		n++;
	}
	return n;
}

static bool llc_pair_wait_sent(const struct llc_pair *p, bool response, struct smc_llc_msg *last)
{
	unsigned long until = jiffies + WAIT_MAX;

	while (!llc_pair_count_sent(p, response, last) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return llc_pair_count_sent(p, response, last);
}

static bool llc_pair_wait_gone(const struct llc_pair *p)
{
	unsigned long until = jiffies + WAIT_MAX;
	struct smc_link *link;

	do {
		link = smc_lgr_get_link_by_num(p->lgr, p->num);
		if (!link)
			return true;
		smc_link_put(link);
		usleep_range(1000, 2000);
	} while (time_before(jiffies, until));
	return false;
}

static bool llc_pair_wait_deleted(const struct llc_pair *p)
{
	unsigned long until = jiffies + WAIT_MAX;

	while (!llc_pair_count_deleted(p) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return llc_pair_count_deleted(p);
}

/* The peer sends @msg over @first. */
static void llc_pair_receive(const struct llc_pair *p, const struct smc_llc_msg *msg)
{
	u8 buf[128];
	int len = smc_llc_msg_build(msg, buf, sizeof(buf));

	WARN_ON(len <= 0);
	local_bh_disable();
	rcu_read_lock();
	smc_llc_events.message(p->first, buf, len);
	rcu_read_unlock();
	local_bh_enable();
}

/* The peer sends DELETE LINK for link @num. */
static void llc_pair_receive_delete(const struct llc_pair *p, bool response, u32 reason)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_DELETE_LINK,
		.version = p->lgr->peer.version,
		.response = response,
		.delete_link = { .link_num = p->num, .reason = reason, .orderly = true },
	};

	llc_pair_receive(p, &msg);
}

/* The client sends REQUEST ADD LINK. */
static void llc_pair_receive_request(const struct llc_pair *p)
{
	u8 gid[SMC_GID_LEN] = { 0xfe, 0x80 };
	struct smc_llc_msg msg = {
		.type = SMC_LLC_REQ_ADD_LINK,
		.version = p->lgr->peer.version,
		.req_add_link = { .gids = { .raw = gid, .count = 1 } },
	};

	llc_pair_receive(p, &msg);
}

/* Add a usable link with number @num. Return it with a reference. */
static struct smc_link *llc_pair_add_link(struct kunit *test, const struct llc_pair *p, u8 num)
{
	struct smc_link *link = env_add_link(test, p->lgr);

	WRITE_ONCE(link->num, num);
	env_bring_up(test, link);
	return link;
}

static u8 llc_pair_cap(const struct llc_pair *p)
{
	return READ_ONCE(llc_pair_llc(p)->cap.max);
}

static bool llc_pair_wait_cap(const struct llc_pair *p, u8 cap)
{
	unsigned long until = jiffies + WAIT_MAX;

	while (llc_pair_cap(p) != cap && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return llc_pair_cap(p) == cap;
}

static void llc_pair_expect_one_left(struct kunit *test, const struct llc_pair *p)
{
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_gone(p));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p->lgr->dead));
	KUNIT_EXPECT_TRUE(test, smc_link_usable(p->first));
}

/* The link fails: a server deletes it at once, a client asks a native server at once to do so. */
static void llc_run_lost(struct kunit *test, enum smc_role role)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, role, true);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_LOST_PATH);
	KUNIT_EXPECT_FALSE(test, msg.delete_link.all);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 1);
	/* recovery is scheduled */
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(&p)->recovery.armed &&
			  llc_pair_llc(&p)->recovery.retry);
	/* the response of a peer that has lost the link, too, or still has it */
	llc_pair_receive_delete(&p, true, role == SMC_SERVER ? SMC_LLC_DEL_NO_LINK : 0);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 1);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p.lgr->dead));
	llc_pair_end(&p);
}

static void llc_lost_server(struct kunit *test)
{
	llc_run_lost(test, SMC_SERVER);
}

static void llc_lost_client(struct kunit *test)
{
	llc_run_lost(test, SMC_CLIENT);
}

/* A foreign server gets the request later, and not at all if it detects the loss itself. */
static void llc_lost_foreign(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, false);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 0);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->delete.requests[p.second->slot], p.num);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_sent(&p, true, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_NO_LINK);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->delete.requests[p.second->slot], 0);
	llc_pair_end(&p);
}

/* The server deletes the link, and its end may go first: the response comes first, no failure. */
static void llc_deleted_client(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, true);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, true, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, 0);
	smc_link_fail(p.second, SMC_LINK_QP_ERROR);
	llc_pair_expect_one_left(test, &p);
	/* the client waits until its response has been sent */
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_deleted(&p));
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 0);
	KUNIT_EXPECT_EQ(test, llc_pair_count_deleted(&p), 1);
	/* no request for what has been done already */
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 0);
	llc_pair_end(&p);
}

/* A server that reuses link numbers deletes, adds and deletes a link: each deletion counts. */
static void llc_deleted_again(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, true);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, true, &msg));
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, READ_ONCE(llc_pair_llc(&p)->cap.max), 1);
	smc_link_put(p.second);
	p.second = env_add_link(test, p.lgr);
	WRITE_ONCE(p.second->num, p.num);
	env_bring_up(test, p.second);
	smc_add_link_report_result(p.lgr->llc, p.second, 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(llc_pair_llc(&p)->cap.max), 0);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, READ_ONCE(llc_pair_llc(&p)->cap.max), 1);
	llc_pair_end(&p);
}

/* The client lost the link: the server sends DELETE LINK and removes its end when answered. */
static void llc_request_server(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, llc_pair_count_deleted(&p), 1);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 0);
	llc_pair_end(&p);
}

/* Operator's order at a server: its end breaks when the client's goes, before the response. */
static void llc_ordered_server(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	KUNIT_ASSERT_EQ(test, smc_delete_link_order(p.lgr, p.num), 0);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_OPERATOR);
	smc_link_fail(p.second, SMC_LINK_QP_ERROR);
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 0);
	KUNIT_EXPECT_EQ(test, llc_pair_count_deleted(&p), 1);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 1);
	llc_pair_end(&p);
}

/* A link that fails for another reason meanwhile counts as a failure. */
static void llc_ordered_fails(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	KUNIT_ASSERT_EQ(test, smc_delete_link_order(p.lgr, p.num), 0);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 1);
	llc_pair_end(&p);
}

/* The client's operator removes a link, and orders one again. */
static void llc_cap_hint(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	smc_recovery_link_added(p.lgr->llc, p.num);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_cap(&p, 1));
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_deleted(&p));
	llc_pair_receive_request(&p);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_cap(&p, 0));
	llc_pair_end(&p);
}

/* The limit set by the operator of this host is not lifted by a client's request at any time. */
static void llc_cap_held(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	smc_recovery_link_added(p.lgr->llc, p.num);
	KUNIT_ASSERT_EQ(test, smc_delete_link_order(p.lgr, p.num), 0);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	/* request before the deletion begins, and while it runs */
	llc_pair_receive_request(&p);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	llc_pair_receive_request(&p);
	msleep(QUIET_MS);
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_deleted(&p));
	llc_pair_receive_request(&p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	smc_recovery_add_ordered(p.lgr->llc);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 0);
	KUNIT_EXPECT_FALSE(test, llc_pair_llc(&p)->cap.held);
	llc_pair_end(&p);
}

/* Both operators order the removal of the same link: it counts once. */
static void llc_cap_both(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	smc_recovery_link_added(p.lgr->llc, p.num);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	smc_delete_link_schedule(p.lgr->llc, p.second, SMC_LLC_DEL_OPERATOR,
				 LLC_DELETE_BY_OPERATOR);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(&p)->cap.held);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	llc_pair_end(&p);
}

/*
 * A link is added after another one was removed. On a server the exchange may have begun before, so
 * the limit stays; a client takes the link for an order of the server's operator.
 */
static void llc_run_cap_added(struct kunit *test, enum smc_role role, u8 cap)
{
	struct smc_llc_msg msg;
	struct smc_link *link;
	struct llc_pair p;

	llc_pair_begin(test, &p, role, true);
	smc_recovery_link_added(p.lgr->llc, p.num);
	if (role == SMC_SERVER) {
		KUNIT_ASSERT_EQ(test, smc_delete_link_order(p.lgr, p.num), 0);
		KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
		llc_pair_receive_delete(&p, true, 0);
	} else {
		llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	}
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_deleted(&p));
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	link = llc_pair_add_link(test, &p, 3);
	smc_recovery_link_added(p.lgr->llc, 3);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), cap);
	smc_link_put(link);
	llc_pair_end(&p);
}

static void llc_cap_added_server(struct kunit *test)
{
	llc_run_cap_added(test, SMC_SERVER, 1);
}

static void llc_cap_added_client(struct kunit *test)
{
	llc_run_cap_added(test, SMC_CLIENT, 0);
}

/* A client lowers the limit before the link ends, which may trigger recovery. */
static void llc_cap_first(struct kunit *test)
{
	struct core_env *env = test->priv;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, true);
	smc_recovery_link_added(p.lgr->llc, p.num);
	/* the end of the link takes a while */
	env->fake->no_flush = true;
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_gone(&p));
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	KUNIT_EXPECT_FALSE(test, smc_link_fenced(p.second));
	env->fake->no_flush = false;
	llc_pair_end(&p);
}

/* A redundant asymmetric link that is deleted does not count for the operator's limit. */
static void llc_redundant_client(struct kunit *test)
{
	struct smc_link *third;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, true);
	third = llc_pair_add_link(test, &p, 3);
	smc_recovery_link_added(p.lgr->llc, 3);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->cap.most, 3);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_ASYMMETRIC);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->cap.most, 2);
	p.num = 3;
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	smc_link_put(third);
	llc_pair_end(&p);
}

static void llc_set_running(struct smc_llc *llc, enum smc_llc_exchange exchange)
{
	spin_lock_bh(&llc->lock);
	llc->running = exchange;
	spin_unlock_bh(&llc->lock);
}

/* The same on a server: it is subtracted only once if the deletion has to wait for the turn. */
static void llc_redundant_server(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct smc_link *third;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, true);
	llc_set_running(p.lgr->llc, SMC_LLC_X_RKEY);
	third = llc_pair_add_link(test, &p, 3);
	smc_recovery_link_added(p.lgr->llc, 3);
	smc_delete_link_schedule(p.lgr->llc, third, SMC_LLC_DEL_ASYMMETRIC, LLC_DELETE_UNORDERED);
	smc_delete_link_schedule(p.lgr->llc, third, SMC_LLC_DEL_ASYMMETRIC, LLC_DELETE_UNORDERED);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->cap.most, 2);
	llc_set_running(p.lgr->llc, SMC_LLC_X_IDLE);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, 3);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_ASYMMETRIC);
	p.num = 3;
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->cap.most, 2);
	smc_link_put(third);
	llc_pair_end(&p);
}

/*
 * With a foreign peer a link is quiesced before it is removed. If another link is lost meanwhile,
 * this link is not redundant any more, and stays.
 */
static void llc_redundant_stays(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct smc_link *third;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, false);
	third = llc_pair_add_link(test, &p, 3);
	/* keep the link from getting quiet */
	WRITE_ONCE(third->last_cdc, jiffies + WAIT_MAX);
	smc_delete_link_schedule(p.lgr->llc, third, SMC_LLC_DEL_ASYMMETRIC, LLC_DELETE_UNORDERED);
	while (!smc_link_conns_held(third))
		usleep_range(1000, 2000);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	msleep(1000 + QUIET_MS);
	KUNIT_EXPECT_TRUE(test, smc_link_usable(third));
	KUNIT_EXPECT_FALSE(test, smc_link_conns_held(third));
	KUNIT_EXPECT_EQ(test, llc_pair_count_deleted(&p), 0);
	/* only for the lost link */
	KUNIT_ASSERT_LE(test, llc_pair_count_sent(&p, false, &msg), 1);
	if (llc_pair_count_sent(&p, false, &msg))
		KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	smc_link_put(third);
	llc_pair_end(&p);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(llc_lost_server),
	KUNIT_CASE(llc_lost_client),
	KUNIT_CASE(llc_lost_foreign),
	KUNIT_CASE(llc_deleted_client),
	KUNIT_CASE(llc_deleted_again),
	KUNIT_CASE(llc_request_server),
	KUNIT_CASE(llc_ordered_server),
	KUNIT_CASE(llc_ordered_fails),
	KUNIT_CASE(llc_cap_hint),
	KUNIT_CASE(llc_cap_held),
	KUNIT_CASE(llc_cap_both),
	KUNIT_CASE(llc_cap_added_server),
	KUNIT_CASE(llc_cap_added_client),
	KUNIT_CASE(llc_cap_first),
	KUNIT_CASE(llc_redundant_client),
	KUNIT_CASE(llc_redundant_server),
	KUNIT_CASE_SLOW(llc_redundant_stays),
	{}
};

struct kunit_suite smc_llc_suite = {
	.name = "smc_llc",
	.init = env_init,
	.exit = env_exit,
	.test_cases = cases,
};
