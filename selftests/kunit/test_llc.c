// SPDX-License-Identifier: GPL-2.0-only
/*
 * LLC of a group with two or three links of which one is lost or deleted: which messages are sent
 * over the other link, and how received messages are handled. What does not wait for a peer that
 * accepts or answers nothing. The layers above the group are real, the RNIC is a fake.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/proto/llc_msg.h>
#include "../../handshake/internal.h"
#include "../../lgr/internal.h"
#include "../../llc/internal.h"

#include "lgr_env.h"
#include "suites.h"

#define WAIT_MAX	(10 * HZ)
#define QUIET_MS	300	/* for works that have nothing to send */
#define PROMPT		(HZ / 10)	/* an answer that no work has to give */
#define SOON		(1 * HZ)	/* a work of a busy host; others wait ten times as long */

/*
 * Groups that keep two works busy each: more works than one queue runs at a time. A debug kernel,
 * where they would take all of the processor by polling, has a few of them.
 */
#define HOSTILE		(IS_ENABLED(CONFIG_KASAN) ? 6 : WQ_DFL_ACTIVE / 2 + 1)

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

/* The group has only the first link yet. @caps: capabilities of the peer */
static void llc_one_begin(struct kunit *test, struct llc_pair *p, enum smc_role role, u32 caps)
{
	memset(p, 0, sizeof(*p));
	p->lgr = env_create_group_up(test, role, 1);
	p->lgr->peer.caps = caps;
	p->first = smc_lgr_get_link(p->lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, p->first);
	/* a client gets the number from the server */
	WRITE_ONCE(p->first->num, 1);
	smc_lgr_set_ready(p->lgr);
}

static void llc_pair_begin(struct kunit *test, struct llc_pair *p, enum smc_role role, u32 caps)
{
	llc_one_begin(test, p, role, caps);
	p->second = env_add_link(test, p->lgr);
	WRITE_ONCE(p->second->num, 2);
	env_bring_up(test, p->second);
	p->num = p->second->num;
	p->failed = smc_stats_get(&init_net, SMC_STAT_LINK_FAIL);
	p->deleted = smc_stats_get(&init_net, SMC_STAT_LINK_DEL);
}

/* Add a usable link with number @num. Return it with a reference. */
static struct smc_link *llc_pair_add_link(struct kunit *test, const struct llc_pair *p, u8 num)
{
	struct smc_link *link = env_add_link(test, p->lgr);

	WRITE_ONCE(link->num, num);
	env_bring_up(test, link);
	return link;
}

/* Add a link with number @num that lacks its confirmation. Return it with a reference. */
static struct smc_link *llc_pair_begin_link(struct kunit *test, const struct llc_pair *p, u8 num)
{
	struct smc_link *link = env_add_link(test, p->lgr);

	WRITE_ONCE(link->num, num);
	fake_ib_gid(&link->peer_gid);
	link->peer_qpn = ENV_PEER_QPN + num;
	KUNIT_ASSERT_EQ(test, smc_link_connect(link), 0);
	return link;
}

static void llc_pair_end(struct llc_pair *p)
{
	if (p->second)
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

/* Count the requests or responses of @type sent over @link; @last is the last of them. */
static u32 llc_link_count_sent(const struct smc_link *link, enum smc_llc_type type, bool response,
			       struct smc_llc_msg *last)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);
	struct fake_ib_wr *wr;
	struct smc_llc_msg msg;
	u32 i, n = 0;

	for (i = 0; (wr = fake_ib_sent(qp, i)); i++) {
		if (wr->opcode != IB_WR_SEND ||
		    smc_llc_msg_parse((u8 *)(uintptr_t)wr->sge[0].addr, wr->sge[0].length, &msg) ||
		    msg.type != type || msg.response != response)
			continue;
		*last = msg;
		n++;
	}
	return n;
}

/* Wait until @n of them were sent, at most @limit jiffies. */
static bool llc_wait_sent_for(const struct smc_link *link, enum smc_llc_type type, bool response,
			      u32 n, unsigned long limit, struct smc_llc_msg *last)
{
	unsigned long until = jiffies + limit;

	while (llc_link_count_sent(link, type, response, last) < n && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return llc_link_count_sent(link, type, response, last) >= n;
}

static bool llc_link_wait_sent(const struct smc_link *link, enum smc_llc_type type, bool response,
			       u32 n, struct smc_llc_msg *last)
{
	return llc_wait_sent_for(link, type, response, n, WAIT_MAX, last);
}

/* DELETE LINK over the link that stays */
static u32 llc_pair_count_sent(const struct llc_pair *p, bool response, struct smc_llc_msg *last)
{
	return llc_link_count_sent(p->first, SMC_LLC_DELETE_LINK, response, last);
}

static bool llc_pair_wait_sent(const struct llc_pair *p, bool response, struct smc_llc_msg *last)
{
	return llc_link_wait_sent(p->first, SMC_LLC_DELETE_LINK, response, 1, last);
}

static enum smc_llc_exchange llc_pair_running(const struct llc_pair *p)
{
	return READ_ONCE(llc_pair_llc(p)->running);
}

/* As if an exchange began or ended. */
static void llc_set_running(struct smc_llc *llc, enum smc_llc_exchange exchange)
{
	spin_lock_bh(&llc->lock);
	llc->running = exchange;
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
}

/* As if an ADD LINK exchange began or ended. */
static void llc_set_adding(struct smc_llc *llc, bool adding)
{
	spin_lock_bh(&llc->lock);
	llc->add.active = adding;
	llc->running = adding ? SMC_LLC_X_ADD_LINK : SMC_LLC_X_IDLE;
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
}

static bool llc_pair_wait_idle(const struct llc_pair *p)
{
	unsigned long until = jiffies + WAIT_MAX;

	while (llc_pair_running(p) != SMC_LLC_X_IDLE && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return llc_pair_running(p) == SMC_LLC_X_IDLE;
}

static bool llc_pair_wait_gone(const struct llc_pair *p, unsigned long limit)
{
	unsigned long until = jiffies + limit;
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

/* The peer sends @msg over @link. */
static void llc_link_receive(struct smc_link *link, const struct smc_llc_msg *msg)
{
	u8 buf[128];
	int len = smc_llc_msg_build(msg, buf, sizeof(buf));

	WARN_ON(len <= 0);
	local_bh_disable();
	rcu_read_lock();
	smc_llc_events.message(link, buf, len);
	rcu_read_unlock();
	local_bh_enable();
}

static void llc_pair_receive(const struct llc_pair *p, const struct smc_llc_msg *msg)
{
	llc_link_receive(p->first, msg);
}

/* The peer sends TEST LINK over @link; its user data begin with @no. */
static void llc_receive_test(struct smc_link *link, u8 no)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_TEST_LINK,
		.version = link->lgr->peer.version,
		.test_link = { .data = { no, 1, 2, 3 } },
	};

	llc_link_receive(link, &msg);
}

/* The peer announces an RMB over @link. */
static void llc_receive_rkey(struct smc_link *link)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_CONFIRM_RKEY,
		.version = link->lgr->peer.version,
		.confirm_rkey = { .rkey = 0x77, .vaddr = 0x1000 },
	};

	llc_link_receive(link, &msg);
}

/* The peer has no receive for what we send over @link: no slot becomes free. */
static void llc_use_up_slots(struct kunit *test, struct smc_link *link)
{
	struct smc_wr_slot *slot;
	int rc = 0;

	while (!rc && (slot = smc_wr_slot_get_llc(link->qp, SMC_WR_MSG_LEN)))
		rc = smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true);
	KUNIT_EXPECT_EQ(test, rc, 0);
}

static void llc_free_slots(struct smc_link *link)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);

	fake_ib_complete(qp, READ_ONCE(qp->nsends), IB_WC_SUCCESS);
}

/* The peer sends DELETE LINK for link @num. */
static void llc_pair_receive_delete(const struct llc_pair *p, bool response, u32 reason)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_DELETE_LINK,
		.version = p->lgr->peer.version,
		.response = response,
		.delete_link = {
			.link_num = p->num, .reason = reason,
			.orderly = reason != SMC_LLC_DEL_LOST_PATH,
		},
	};

	llc_pair_receive(p, &msg);
}

/* The client sends REQUEST ADD LINK over @link. */
static void llc_link_receive_request(struct smc_link *link)
{
	u8 gid[SMC_GID_LEN] = { 0xfe, 0x80 };
	struct smc_llc_msg msg = {
		.type = SMC_LLC_REQ_ADD_LINK,
		.version = link->lgr->peer.version,
		.req_add_link = { .gids = { .raw = gid, .count = 1 } },
	};

	llc_link_receive(link, &msg);
}

static void llc_pair_receive_request(const struct llc_pair *p)
{
	llc_link_receive_request(p->first);
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
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_gone(p, WAIT_MAX));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p->lgr->dead));
	KUNIT_EXPECT_TRUE(test, smc_link_usable(p->first));
}

/* Our end of the link still works: its queue pair has neither failed nor gone. */
static void llc_pair_expect_second_up(struct kunit *test, const struct llc_pair *p)
{
	const struct lgr_env *env = test->priv;

	KUNIT_EXPECT_TRUE(test, smc_link_usable(p->second));
	KUNIT_EXPECT_EQ(test, READ_ONCE(env->fake->nsteps), 0);
}

/* The link fails: a server deletes it at once, a client asks a native server at once to do so. */
static void llc_run_lost(struct kunit *test, enum smc_role role)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, role, SMC_CAP_DELETE_LOST);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_LOST_PATH);
	KUNIT_EXPECT_FALSE(test, msg.delete_link.all);
	KUNIT_EXPECT_FALSE(test, msg.delete_link.orderly);
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

/*
 * Links are lost while another exchange of the server runs: when that is over, DELETE LINK is sent
 * for each in a turn of its own, before any other exchange begins.
 */
static void llc_lost_turn(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct smc_link *third;
	struct smc_llc *llc;
	struct llc_pair p;
	bool overtaken;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc = p.lgr->llc;
	third = llc_pair_add_link(test, &p, 3);
	llc_set_running(llc, SMC_LLC_X_ADD_LINK);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	smc_link_fail(third, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 0);
	spin_lock_bh(&llc->lock);
	llc->running = SMC_LLC_X_IDLE;
	overtaken = smc_recovery_take_turn(llc, SMC_LLC_DO_ADD_LINK);
	llc->recovery.retry = false;	/* no link is added in this case */
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	KUNIT_EXPECT_FALSE(test, overtaken);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_running(&p), SMC_LLC_X_DELETE_LINK);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	llc_pair_receive_delete(&p, true, SMC_LLC_DEL_NO_LINK);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_DELETE_LINK, false, 2, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, 3);
	KUNIT_EXPECT_EQ(test, llc_pair_running(&p), SMC_LLC_X_DELETE_LINK);
	p.num = 3;
	llc_pair_receive_delete(&p, true, SMC_LLC_DEL_NO_LINK);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	smc_link_put(third);
	llc_pair_end(&p);
}

/* The server offers a link; @offer is its ADD LINK. */
static void llc_one_offer(struct kunit *test, struct llc_pair *p, struct smc_llc_msg *offer)
{
	struct smc_llc *llc = p->lgr->llc;

	spin_lock_bh(&llc->lock);
	llc->running = SMC_LLC_X_ADD_LINK;
	smc_add_link_server_begin(llc, p->first, 1);
	spin_unlock_bh(&llc->lock);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p->first, SMC_LLC_ADD_LINK, false, 1, offer));
}

/* The group has one link; over RoCE v1 the fake device need not look up the way to the peer. */
static void llc_one_begin_v1(struct kunit *test, struct llc_pair *p)
{
	llc_one_begin(test, p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	p->first->path.gid.roce_v1 = true;
}

/*
 * The client accepts the offer, with an RNIC of its own that no link uses yet. @spoil changes the
 * answer. Return the answer.
 */
static struct smc_llc_msg llc_one_accept(struct llc_pair *p, const struct smc_llc_msg *offer,
					 void (*spoil)(struct smc_llc_add_link *answer))
{
	struct smc_llc_msg rsp = *offer;

	p->num = offer->add_link.link_num;
	rsp.response = true;
	rsp.add_link.gid[SMC_GID_LEN - 1]++;
	rsp.add_link.mac[SMC_MAC_LEN - 1]++;
	if (spoil)
		spoil(&rsp.add_link);
	llc_pair_receive(p, &rsp);
	return rsp;
}

/*
 * The client accepts with wrong values: the server's exchange ends with DELETE LINK, at once and
 * not when the confirmation is late.
 */
static void llc_check_add_fails(struct kunit *test,
				void (*spoil)(struct smc_llc_add_link *answer))
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin_v1(test, &p);
	llc_one_offer(test, &p, &msg);
	llc_one_accept(&p, &msg, spoil);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 1, SOON,
						  &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_running(&p), SMC_LLC_X_ADD_LINK);
	llc_pair_receive_delete(&p, true, 0);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(&p)->recovery.retry);
	llc_pair_end(&p);
}

static void llc_spoil_num(struct smc_llc_add_link *answer)
{
	answer->link_num++;
}

static void llc_add_fails(struct kunit *test)
{
	llc_check_add_fails(test, llc_spoil_num);
}

static void llc_spoil_mtu(struct smc_llc_add_link *answer)
{
	answer->mtu = 0xf;
}

static void llc_add_fails_mtu(struct kunit *test)
{
	llc_check_add_fails(test, llc_spoil_mtu);
}

static void llc_spoil_qpn(struct smc_llc_add_link *answer)
{
	answer->qpn = 0;
}

static void llc_add_fails_qpn(struct kunit *test)
{
	llc_check_add_fails(test, llc_spoil_qpn);
}

/* The end of the first link, whose port the server offers again. */
static void llc_spoil_gid(struct smc_llc_add_link *answer)
{
	answer->gid[SMC_GID_LEN - 1]--;
	answer->mac[SMC_MAC_LEN - 1]--;
}

static void llc_add_fails_parallel(struct kunit *test)
{
	llc_check_add_fails(test, llc_spoil_gid);
}

/* The server offers a link, the client accepts it, and its confirmation is due. Return the link. */
static struct smc_link *llc_one_unconfirmed(struct kunit *test, struct llc_pair *p,
					    struct smc_llc_msg *answer, struct smc_llc_msg *confirm)
{
	struct smc_link *link;
	struct smc_llc_msg msg;

	llc_one_begin_v1(test, p);
	llc_one_offer(test, p, &msg);
	*answer = llc_one_accept(p, &msg, NULL);
	link = smc_lgr_get_link_by_num(p->lgr, p->num);
	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(link, SMC_LLC_CONFIRM_LINK, false, 1, confirm));
	return link;
}

/* The client has given the link up: the server does so at once, and sends no DELETE LINK. */
static void llc_one_expect_given_up(struct kunit *test, struct llc_pair *p)
{
	struct smc_llc_msg msg;

	KUNIT_EXPECT_TRUE(test, llc_pair_wait_gone(p, SOON));
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(p));
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(p, false, &msg), 0);
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(p)->recovery.retry);
}

/* The client withdraws its answer: RFC 7609 section C.7.1. */
static void llc_add_withdrawn(struct kunit *test)
{
	struct smc_llc_msg answer, confirm;
	struct smc_link *link;
	struct llc_pair p;

	link = llc_one_unconfirmed(test, &p, &answer, &confirm);
	answer.add_link.rejected = true;
	answer.add_link.reason = SMC_LLC_REJ_NO_ALT_PATH;
	answer.add_link.has_ext = false;
	llc_pair_receive(&p, &answer);
	llc_one_expect_given_up(test, &p);
	smc_link_put(link);
	llc_pair_end(&p);
}

/* The client deletes the link that is being added. */
static void llc_add_deleted(struct kunit *test)
{
	struct smc_llc_msg answer, confirm;
	struct smc_link *link;
	struct llc_pair p;

	link = llc_one_unconfirmed(test, &p, &answer, &confirm);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	llc_one_expect_given_up(test, &p);
	smc_link_put(link);
	llc_pair_end(&p);
}

/* The client confirms the link and deletes it before the server has used it. */
static void llc_add_deleted_confirmed(struct kunit *test)
{
	unsigned long until = jiffies + WAIT_MAX;
	u64 added = smc_stats_get(&init_net, SMC_STAT_LINK_ADD);
	struct smc_llc_msg answer, confirm;
	struct smc_link *link;
	struct llc_pair p;

	link = llc_one_unconfirmed(test, &p, &answer, &confirm);
	confirm.response = true;
	memcpy(confirm.confirm_link.gid, answer.add_link.gid, SMC_GID_LEN);
	confirm.confirm_link.qpn = answer.add_link.qpn;
	/* with it held, the server does not use the link before it has handled both messages */
	mutex_lock(&p.lgr->mutex);
	llc_link_receive(link, &confirm);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	while (!READ_ONCE(llc_pair_llc(&p)->add.aborted) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	mutex_unlock(&p.lgr->mutex);
	llc_one_expect_given_up(test, &p);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LINK_ADD), added);
	smc_link_put(link);
	llc_pair_end(&p);
}

/* RFC 7609 section C.7.1: without an answer to its offer the server gives the link up for now. */
static void llc_add_unanswered(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_one_offer(test, &p, &msg);
	p.num = msg.add_link.link_num;
	KUNIT_EXPECT_FALSE(test, llc_pair_wait_gone(&p, SOON));
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(&p)->recovery.retry);
	llc_pair_end(&p);
}

/* rtokens of the new link, before the offer is answered, take no place of the answer. */
static void llc_add_early(struct kunit *test)
{
	struct smc_llc_msg part = { .type = SMC_LLC_ADD_LINK_CONT, .version = 1, .response = true };
	struct smc_llc_msg msg;
	struct llc_event *ev;
	struct llc_pair p;
	bool taken;

	llc_one_begin_v1(test, &p);
	llc_one_offer(test, &p, &msg);
	ev = kzalloc(sizeof(*ev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ev);
	smc_link_get(p.first);
	ev->link = p.first;
	taken = smc_add_link_take_msg(p.lgr->llc, ev, &part);
	KUNIT_EXPECT_FALSE(test, taken);
	if (!taken)
		llc_event_free(ev);
	llc_one_accept(&p, &msg, llc_spoil_num);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 1, SOON,
						  &msg));
	llc_pair_receive_delete(&p, true, 0);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	llc_pair_end(&p);
}

/*
 * First contact of a server with one port; @one_port: its client has said that it has one, too.
 * Return whether the ADD LINK names a link.
 */
static bool llc_first_offer(struct kunit *test, struct llc_pair *p, u8 version, bool one_port)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(wq);
	struct smc_llc_msg msg;

	llc_one_begin(test, p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	p->lgr->peer.version = version;
	p->lgr->peer.one_port = one_port;
	smc_llc_fc_begin(p->first, &wq);
	KUNIT_EXPECT_EQ(test, smc_llc_fc_add_link(p->first), 0);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p->first, SMC_LLC_ADD_LINK, false, 1, &msg));
	/* set when it was sent, which may be a moment later */
	wait_event_timeout(wq, smc_llc_fc_get_bits(p->first) & SMC_LLC_FC_ADD_LINK, WAIT_MAX);
	KUNIT_EXPECT_TRUE(test, smc_llc_fc_get_bits(p->first) & SMC_LLC_FC_ADD_LINK);
	smc_llc_fc_end(p->first);
	KUNIT_EXPECT_EQ(test, msg.add_link.mtu, msg.add_link.qpn ? p->first->path.gid.mtu : 0);
	return msg.add_link.qpn;
}

/* No link is possible if both hosts have one port only: none is created to find that out. */
static void llc_one_port_of(struct kunit *test, u8 version)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	KUNIT_EXPECT_FALSE(test, llc_first_offer(test, &p, version, true));
	KUNIT_EXPECT_EQ(test, hweight_long(p.lgr->slots), 1);
	fake_ib_complete(fake_ib_qp(p.first->qp->qp), 1, IB_WC_SUCCESS);
	msg = (struct smc_llc_msg){
		.type = SMC_LLC_ADD_LINK, .version = p.lgr->peer.version, .response = true,
		.add_link = { .rejected = true, .reason = SMC_LLC_REJ_NO_ALT_PATH },
	};
	llc_pair_receive(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	KUNIT_EXPECT_FALSE(test, llc_pair_llc(&p)->recovery.retry);
	/* the client has got a second port */
	msg = (struct smc_llc_msg){
		.type = version > 1 ? SMC_LLC_REQ_ADD_LINK : SMC_LLC_ADD_LINK, .version = version,
	};
	llc_pair_receive(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, SOON, &msg));
	KUNIT_EXPECT_NE(test, msg.add_link.qpn, 0);
	llc_pair_end(&p);
}

static void llc_one_port(struct kunit *test)
{
	llc_one_port_of(test, 2);
}

static void llc_one_port_v1(struct kunit *test)
{
	llc_one_port_of(test, 1);
}

/* The client may have a second port. */
static void llc_more_ports(struct kunit *test)
{
	struct llc_pair p;

	KUNIT_EXPECT_TRUE(test, llc_first_offer(test, &p, 2, false));
	llc_pair_end(&p);
}

/* The server cannot create the link, so the client rejects the offer: the server tries again. */
static void llc_add_again(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	env->fake->fail_pd = true;
	llc_one_offer(test, &p, &msg);
	env->fake->fail_pd = false;
	KUNIT_EXPECT_EQ(test, msg.add_link.qpn, 0);
	/* a link has one slot for messages of this size */
	fake_ib_complete(fake_ib_qp(p.first->qp->qp), 1, IB_WC_SUCCESS);
	msg.response = true;
	msg.add_link.rejected = true;
	msg.add_link.reason = SMC_LLC_REJ_NO_ALT_PATH;
	msg.add_link.has_ext = false;
	llc_pair_receive(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(&p)->recovery.retry);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_ADD_LINK, false, 1, &msg));
	KUNIT_EXPECT_NE(test, msg.add_link.qpn, 0);
	llc_pair_end(&p);
}

/* RFC 7609 section C.8: ports of this host have changed, so the server does not wait any longer. */
static void llc_add_ports_changed(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	smc_recovery_retry_later(p.lgr->llc);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_ADD_LINK, false, &msg), 0);
	smc_recovery_ports_changed(p.lgr->llc);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, SOON,
						  &msg));
	llc_pair_end(&p);
}

/* A lost link waits for its back-off, whatever runs the recovery work before: DELETE LINK here. */
static void llc_lost_waits(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;
	int i;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	/* a request that was refused is no reason any more */
	p.lgr->peer.max_links = 1;
	llc_link_receive_request(p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_REQ_ADD_LINK, true, 1, &msg));
	p.lgr->peer.max_links = 2;
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	llc_pair_receive_delete(&p, true, 0);
	for (i = 0; i < 20; i++) {
		spin_lock_bh(&p.lgr->llc->lock);
		smc_llc_timer_recovery_due(p.lgr->llc, 0);
		spin_unlock_bh(&p.lgr->llc->lock);
		msleep(100);
	}
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_ADD_LINK, false, &msg), 0);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, 4 * HZ, &msg));
	llc_pair_end(&p);
}

/*
 * The client requests a link while another exchange of the server has the turn; when that is over,
 * there is no place for a link any more: the server says so.
 */
static void llc_asked_turn(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_set_running(p.lgr->llc, SMC_LLC_X_ADD_LINK);
	llc_pair_receive_request(&p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_ADD_LINK, false, &msg), 0);
	p.lgr->peer.max_links = 1;
	llc_set_running(p.lgr->llc, SMC_LLC_X_IDLE);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_REQ_ADD_LINK, true, 1, &msg));
	KUNIT_EXPECT_FALSE(test, smc_recovery_has_requests(p.lgr->llc));
	llc_pair_end(&p);
}

/* Requests over two links: each is refused over the link that carried it. */
static void llc_asked_links(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	p.lgr->peer.max_links = 1;
	llc_link_receive_request(p.second);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.second, SMC_LLC_REQ_ADD_LINK, true, 1, &msg));
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_REQ_ADD_LINK, true, &msg), 0);
	llc_link_receive_request(p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_REQ_ADD_LINK, true, 1, &msg));
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_REQ_ADD_LINK, true, &msg), 1);
	llc_pair_end(&p);
}

/* An offer is the only answer to a request. */
static void llc_asked_offer(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_pair_receive_request(&p);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_ADD_LINK, false, 1, &msg));
	KUNIT_EXPECT_FALSE(test, smc_recovery_has_requests(p.lgr->llc));
	msg.response = true;
	msg.add_link.rejected = true;
	msg.add_link.reason = SMC_LLC_REJ_NO_ALT_PATH;
	msg.add_link.has_ext = false;
	llc_pair_receive(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_REQ_ADD_LINK, true, &msg), 0);
	llc_pair_end(&p);
}

/* A client whose RNIC is free for a further link: links without a known peer use none. */
static void llc_one_begin_client(struct kunit *test, struct llc_pair *p)
{
	llc_one_begin(test, p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	memset(&p->first->peer_gid, 0, sizeof(p->first->peer_gid));
}

/*
 * The client requests a link in place of a lost one, and the server does not answer: the client
 * repeats the request, each time after twice the time and up to a quarter of it more.
 */
static void llc_requests_again(struct kunit *test)
{
	struct smc_llc_msg msg;
	unsigned long period;
	struct llc_pair p;

	llc_one_begin_client(test, &p);
	smc_recovery_retry_later(p.lgr->llc);
	for (period = 3 * HZ; period <= 12 * HZ; period *= 2) {
		KUNIT_EXPECT_FALSE(test, llc_wait_sent_for(p.first, SMC_LLC_REQ_ADD_LINK, false, 1,
							   period - HZ / 10, &msg));
		/* a timer is late by up to an eighth of its time: the wheel's granularity */
		KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_REQ_ADD_LINK, false, 1,
							  period * 5 / 4 * 9 / 8 - period + HZ,
							  &msg));
		/* requests that have completed are not counted any more */
		fake_ib_complete(fake_ib_qp(p.first->qp->qp), 1, IB_WC_SUCCESS);
	}
	llc_pair_end(&p);
}

/* No link is lost, but an RNIC has come: the client requests a link once. */
static void llc_requests_once(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin_client(test, &p);
	smc_recovery_ports_changed(p.lgr->llc);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_REQ_ADD_LINK, false, 1, SOON,
						  &msg));
	fake_ib_complete(fake_ib_qp(p.first->qp->qp), 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, llc_wait_sent_for(p.first, SMC_LLC_REQ_ADD_LINK, false, 1,
						   20 * HZ, &msg));
	llc_pair_end(&p);
}

/**
 * struct llc_announcement - an RMB that a work announces, which waits for the peer
 * @work: the work
 * @lgr: group
 * @link: link that carries the requests
 * @region: the RMB
 * @time: jiffies that it may take
 * @cancel: never set
 * @rc: result
 */
struct llc_announcement {
	struct work_struct work;
	struct smc_lgr *lgr;
	struct smc_link *link;
	struct smc_region *region;
	unsigned long time;
	bool cancel;
	int rc;
};

static void llc_announcement_work(struct work_struct *work)
{
	struct llc_announcement *a = container_of(work, struct llc_announcement, work);

	a->rc = smc_rkey_confirm(a->lgr, a->link, a->region, jiffies + a->time, &a->cancel);
}

/* The peer accepts the RMB that CONFIRM RKEY @msg announces. */
static void llc_pair_accept_rkey(const struct llc_pair *p, const struct smc_llc_msg *msg)
{
	struct smc_llc_msg rsp = *msg;

	rsp.response = true;
	llc_pair_receive(p, &rsp);
}

/* The peer refuses it for the present. */
static void llc_pair_refuse_rkey(const struct llc_pair *p, const struct smc_llc_msg *msg)
{
	struct smc_llc_msg rsp = *msg;

	rsp.response = true;
	rsp.confirm_rkey.negative = true;
	rsp.confirm_rkey.retry = true;
	llc_pair_receive(p, &rsp);
}

/* Make an RMB that has a key on the first link. */
static void llc_announcement_prepare(struct kunit *test, const struct llc_pair *p,
				     struct llc_announcement *a)
{
	memset(a, 0, sizeof(*a));
	a->lgr = p->lgr;
	a->link = p->first;
	a->time = WAIT_MAX;
	a->region = smc_region_alloc(&p->lgr->pool, SMC_REGION_RMB, SZ_16K, 512, SMC_REGION_NEEDED);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a->region);
	KUNIT_ASSERT_EQ(test, smc_region_map(a->region, p->first->slot, p->first->qp), 0);
	KUNIT_ASSERT_EQ(test, smc_region_register(a->region, p->first->slot), 0);
}

static void llc_announcement_start(struct llc_announcement *a)
{
	INIT_WORK_ONSTACK(&a->work, llc_announcement_work);
	schedule_work(&a->work);
}

/* Announce an RMB that has a key on the first link, in the background. */
static void llc_announcement_begin(struct kunit *test, const struct llc_pair *p,
				   struct llc_announcement *a)
{
	llc_announcement_prepare(test, p, a);
	llc_announcement_start(a);
}

/* @n: requests that were sent and are not acknowledged by the peer's RNIC */
static void llc_announcement_end(struct kunit *test, struct llc_announcement *a, u32 n)
{
	struct smc_llc_msg msg;

	flush_work(&a->work);
	destroy_work_on_stack(&a->work);
	KUNIT_EXPECT_EQ(test, a->rc, 0);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(a->link, SMC_LLC_CONFIRM_RKEY, false, &msg), n);
}

static void llc_link_receive_caps(struct smc_link *link, u32 bits)
{
	struct smc_llc_msg msg = { .type = SMC_LLC_CAPS, .version = 1, .caps.bits = bits };

	llc_link_receive(link, &msg);
}

/* Each side says what it can do over each link, and uses what both can. */
static void llc_capabilities(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	KUNIT_EXPECT_EQ(test, p.lgr->caps, SMC_PEER_CAPS_OWN);
	KUNIT_EXPECT_FALSE(test, smc_peer_can(&p.lgr->peer, SMC_CAP_WRITE_IMM));
	smc_llc_announce_caps(p.first);
	smc_llc_announce_caps(p.second);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_CAPS, false, &msg), 1);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_CAPS, false, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.caps.bits, 3);
	/* bits that this host does not know */
	llc_link_receive_caps(p.first, 0xfffffffc);
	KUNIT_EXPECT_EQ(test, p.lgr->peer.caps, SMC_PEER_CAPS_TAG_1);
	llc_link_receive_caps(p.second, 0xffffffff);
	KUNIT_EXPECT_EQ(test, p.lgr->peer.caps, SMC_PEER_CAPS_TAG_1 | SMC_PEER_CAPS_OWN);
	/* none is taken back */
	llc_link_receive_caps(p.first, 0);
	KUNIT_EXPECT_TRUE(test, smc_peer_can(&p.lgr->peer, SMC_CAP_WRITE_IMM));
	llc_pair_end(&p);
}

/* A foreign peer gets no announcement, and has no effect with one. */
static void llc_capabilities_foreign(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, 0);
	smc_llc_announce_caps(p.first);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_CAPS, false, &msg), 0);
	llc_link_receive_caps(p.first, 1);
	KUNIT_EXPECT_EQ(test, p.lgr->peer.caps, 0);
	llc_pair_end(&p);
}

/* net.smc.smcr_write_imm 0: immediate values are not announced, nor used. */
static void llc_capabilities_off(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	struct smc_llc_msg msg;
	struct llc_pair p;

	settings->write_imm = 0;
	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	settings->write_imm = 1;
	smc_llc_announce_caps(p.first);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_CAPS, false, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.caps.bits, 2);
	llc_link_receive_caps(p.first, 3);
	KUNIT_EXPECT_EQ(test, p.lgr->peer.caps, SMC_PEER_CAPS_TAG_1 | SMC_CAP_LATE_CLC);
	llc_pair_end(&p);
}

/*
 * RFC 7609 section 3.5.5.3.1: a link becomes usable while an RMB is announced, so neither of the
 * two exchanges had the key for both: the RMB is announced again, with its key on the new link.
 */
static void llc_rkey_new_link(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_rkey *other;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	p.second = llc_pair_begin_link(test, &p, 2);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 0);
	KUNIT_EXPECT_EQ(test, smc_region_map(a.region, p.second->slot, p.second->qp), 0);
	KUNIT_EXPECT_EQ(test, smc_region_register(a.region, p.second->slot), 0);
	smc_link_activate(p.second);
	llc_pair_accept_rkey(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 2, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.rkey, smc_region_rkey(a.region, p.first->slot));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 1);
	other = &msg.confirm_rkey.other[0];
	KUNIT_EXPECT_EQ(test, other->link_num, 2);
	KUNIT_EXPECT_EQ(test, other->rkey, smc_region_rkey(a.region, p.second->slot));
	KUNIT_EXPECT_EQ(test, other->vaddr, smc_region_iova(a.region, p.second->slot));
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 2);
	llc_pair_end(&p);
}

/*
 * RFC 7609 section 3.5.5.3.3: DELETE LINK of the server does not wait for the end of CONFIRM RKEY
 * of the client, which the server refuses meanwhile, so the client repeats it.
 */
static void llc_rkey_repeated(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg, rsp;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, true, 1, SOON,
						  &rsp));
	/* nothing is sent again over a link that acknowledges nothing */
	llc_free_slots(p.first);
	llc_pair_expect_one_left(test, &p);
	llc_pair_refuse_rkey(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 1);
	llc_pair_end(&p);
}

/*
 * Packets are lost or reordered: as long as the peer's RNIC has not acknowledged CONFIRM RKEY,
 * nothing is sent again, and the late response counts.
 */
static void llc_rkey_late(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_FALSE(test, llc_wait_sent_for(p.first, SMC_LLC_CONFIRM_RKEY, false, 2,
						   2 * LLC_RSP_TIME, &msg));
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 1);
	llc_pair_end(&p);
}

/* The peer's RNIC has acknowledged CONFIRM RKEY, but there is no response: it is asked again. */
static void llc_rkey_silent(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg;
	struct llc_pair p;
	u32 rkey;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	rkey = msg.confirm_rkey.rkey;
	llc_free_slots(p.first);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_CONFIRM_RKEY, false, 1,
						  LLC_RSP_TIME + SOON, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.rkey, rkey);
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 1);
	llc_pair_end(&p);
}

/* The wait for a late response makes room for an exchange that waits, and goes on after it. */
static void llc_rkey_turn_wanted(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg, req;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 1,
						  LLC_RSP_TIME + SOON, &req));
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	llc_free_slots(p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 1);
	llc_pair_end(&p);
}

/* A peer that never responds costs its connection the time that the caller allows. */
static void llc_rkey_unanswered(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg;
	struct llc_pair p;
	bool never = false;
	unsigned long end;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 1);
	llc_free_slots(p.first);
	end = jiffies + 3 * HZ;
	KUNIT_EXPECT_EQ(test, smc_rkey_confirm(p.lgr, p.first, a.region, end, &never), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, end));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, end + SOON));
	KUNIT_EXPECT_EQ(test, llc_pair_running(&p), SMC_LLC_X_IDLE);
	llc_pair_end(&p);
}

/* Server: CONFIRM RKEY of the client has to be repeated after the exchange that runs. */
static void llc_rkey_refused(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_set_running(p.lgr->llc, SMC_LLC_X_ADD_LINK);
	llc_receive_rkey(p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 1, &msg));
	KUNIT_EXPECT_TRUE(test, msg.confirm_rkey.negative);
	KUNIT_EXPECT_TRUE(test, msg.confirm_rkey.retry);
	llc_set_running(p.lgr->llc, SMC_LLC_X_IDLE);
	llc_receive_rkey(p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 2, &msg));
	KUNIT_EXPECT_FALSE(test, msg.confirm_rkey.negative);
	llc_pair_end(&p);
}

/**
 * struct llc_joining - a connection that a work creates, which waits for the peer
 * @work: the work
 * @lgr: group
 * @link: link of the connection
 * @cancel: set by a case that gives the connection up
 * @conn: result, or ERR_PTR
 */
struct llc_joining {
	struct work_struct work;
	struct smc_lgr *lgr;
	struct smc_link *link;
	bool cancel;
	struct smc_conn *conn;
};

static void llc_joining_work(struct work_struct *work)
{
	struct llc_joining *j = container_of(work, struct llc_joining, work);

	j->conn = smc_conn_create(j->lgr, j->link, SZ_16K, SZ_16K, true, &j->cancel);
}

static void llc_joining_begin(struct llc_joining *j, const struct llc_pair *p,
			      struct smc_link *link)
{
	memset(j, 0, sizeof(*j));
	j->lgr = p->lgr;
	j->link = link;
	INIT_WORK_ONSTACK(&j->work, llc_joining_work);
	schedule_work(&j->work);
}

static void llc_joining_end(struct kunit *test, struct llc_joining *j)
{
	flush_work(&j->work);
	destroy_work_on_stack(&j->work);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, j->conn);
}

/* The connection is not wanted any more. */
static void llc_joining_cancel(struct kunit *test, struct llc_joining *j)
{
	WRITE_ONCE(j->cancel, true);
	flush_work(&j->work);
	destroy_work_on_stack(&j->work);
	KUNIT_ASSERT_PTR_EQ(test, j->conn, ERR_PTR(-ECANCELED));
}

/* Return the only RMB of the group. */
static struct smc_region *llc_pair_rmb(struct kunit *test, const struct llc_pair *p)
{
	struct smc_pool *pool = &p->lgr->pool;

	KUNIT_ASSERT_EQ(test, pool->nregions[SMC_REGION_RMB], 1);
	return list_first_entry(&pool->regions[SMC_REGION_RMB], struct smc_region, entry);
}

/* Fill in the Confirm of a connection over @link. Return the reason of a Decline; 0: none. */
static u32 llc_fill_confirm(struct kunit *test, struct smc_conn *conn, struct smc_link *link)
{
	struct smc_hs_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct smc_clc_accept *confirm = kunit_kzalloc(test, sizeof(*confirm), GFP_KERNEL);
	enum smc_hs_next next;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_NOT_NULL(test, confirm);
	ctx->net = &init_net;
	ctx->lgr = conn->lgr;
	ctx->peer = conn->lgr->peer;
	ctx->link = link;
	ctx->conn = conn;
	next = smc_hs_fill_accept(ctx, confirm, true);
	KUNIT_EXPECT_EQ(test, next == HS_END, ctx->res.own_reason != 0);
	if (next == HS_GO)
		KUNIT_EXPECT_EQ(test, confirm->rkey,
				smc_region_rkey(conn->rx.elem.region, link->slot));
	return ctx->res.own_reason;
}

/*
 * Several connections begin while a link is lost. The RMB that one of them announces has no key
 * there that the peer knows, but it may be mapped. Another connection, which was to begin over the
 * lost link, must not name the RMB by that key: the server would reset it.
 */
static void llc_rkey_lost_link(struct kunit *test)
{
	struct llc_joining first, second;
	struct smc_region *region;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	/* what comes after that has not begun yet */
	KUNIT_EXPECT_TRUE(test, smc_link_record_failure(p.second, SMC_LINK_PORT_DOWN, NULL));
	llc_joining_begin(&first, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 0);
	llc_pair_accept_rkey(&p, &msg);
	llc_joining_end(test, &first);
	llc_joining_begin(&second, &p, p.second);
	llc_joining_end(test, &second);
	region = first.conn->rx.elem.region;
	KUNIT_EXPECT_PTR_EQ(test, second.conn->rx.elem.region, region);
	KUNIT_EXPECT_NE(test, smc_region_rkey(region, p.second->slot), 0);
	KUNIT_EXPECT_EQ(test, llc_fill_confirm(test, first.conn, p.first), 0);
	KUNIT_EXPECT_EQ(test, llc_fill_confirm(test, second.conn, p.second), SMC_CLC_DECL_NO_LINK);
	smc_conn_discard(second.conn, false);
	smc_conn_discard(first.conn, false);
	llc_pair_end(&p);
}

/* The keys of both links are announced: whichever the connection begins over may be named. */
static void llc_rkey_both_links(struct kunit *test)
{
	struct llc_joining first, second;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	llc_joining_begin(&first, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 1);
	llc_pair_accept_rkey(&p, &msg);
	llc_joining_end(test, &first);
	llc_joining_begin(&second, &p, p.second);
	llc_joining_end(test, &second);
	KUNIT_EXPECT_EQ(test, llc_fill_confirm(test, first.conn, p.first), 0);
	/* lost after the announcement: the peer knows which RMB it is */
	KUNIT_EXPECT_TRUE(test, smc_link_record_failure(p.second, SMC_LINK_PORT_DOWN, NULL));
	KUNIT_EXPECT_EQ(test, llc_fill_confirm(test, second.conn, p.second), 0);
	smc_conn_discard(second.conn, false);
	smc_conn_discard(first.conn, false);
	llc_pair_end(&p);
}

/*
 * Client: ADD LINK of the server preempts CONFIRM RKEY, whose response comes before the new link is
 * usable. The server did not know the RMB yet when it got our rtokens for that link.
 */
static void llc_rkey_beside_add(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg;
	struct smc_llc *llc;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	llc = p.lgr->llc;
	p.second = llc_pair_begin_link(test, &p, 2);
	llc_announcement_begin(test, &p, &a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 0);
	KUNIT_EXPECT_EQ(test, smc_region_map(a.region, p.second->slot, p.second->qp), 0);
	llc_set_adding(llc, true);
	llc_pair_accept_rkey(&p, &msg);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc_region_register(a.region, p.second->slot), 0);
	smc_link_activate(p.second);
	llc_set_adding(llc, false);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 2, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 1);
	llc_pair_accept_rkey(&p, &msg);
	llc_announcement_end(test, &a, 2);
	llc_pair_end(&p);
}

/* Wait for DELETE RKEY over the first link, for the RMB with @rkey there, and accept it. */
static void llc_pair_expect_withdrawn(struct kunit *test, const struct llc_pair *p, u32 rkey)
{
	struct smc_pool *pool = &p->lgr->pool;
	unsigned long until = jiffies + WAIT_MAX;
	struct smc_llc_msg msg;

	KUNIT_ASSERT_TRUE(test, llc_link_wait_sent(p->first, SMC_LLC_DELETE_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_rkey.count, 1);
	KUNIT_EXPECT_EQ(test, smc_llc_list_get_rkey(&msg.delete_rkey.rkeys, 0), rkey);
	msg.response = true;
	llc_pair_receive(p, &msg);
	while (READ_ONCE(pool->nregions[SMC_REGION_RMB]) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, pool->nregions[SMC_REGION_RMB], 0);
}

/*
 * The peer has accepted an RMB on one link when the connection ends for which it was announced. It
 * is withdrawn, by a key that the peer knows.
 */
static void llc_rkey_in_vain(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	int idle = settings->region_idle;
	struct smc_region *region;
	struct llc_joining j;
	struct smc_llc_msg msg;
	struct llc_pair p;

	settings->region_idle = 2;
	llc_one_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	p.second = llc_pair_begin_link(test, &p, 2);
	llc_joining_begin(&j, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_set_adding(p.lgr->llc, true);
	llc_pair_accept_rkey(&p, &msg);
	msleep(QUIET_MS);
	llc_joining_cancel(test, &j);
	region = llc_pair_rmb(test, &p);
	KUNIT_EXPECT_TRUE(test, region->withdrawn);
	/* the other link is usable now, and preferred */
	KUNIT_EXPECT_EQ(test, smc_region_register(region, p.second->slot), 0);
	smc_link_activate(p.second);
	atomic_inc(&p.first->nconns);
	llc_free_slots(p.first);
	llc_set_adding(p.lgr->llc, false);
	llc_pair_expect_withdrawn(test, &p, msg.confirm_rkey.rkey);
	atomic_dec(&p.first->nconns);
	settings->region_idle = idle;
	llc_pair_end(&p);
}

/* ... version 1: it has accepted the first message, and not the one with further links. */
static void llc_rkey_in_vain_v1(struct kunit *test)
{
	struct smc_settings *settings = smc_settings_get(&init_net);
	int idle = settings->region_idle, i;
	struct smc_link *others[2];
	struct llc_joining j;
	struct smc_llc_msg msg, cont;
	struct llc_pair p;

	settings->region_idle = 2;
	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	p.lgr->peer.version = 1;
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = llc_pair_add_link(test, &p, 3 + i);
	llc_joining_begin(&j, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.others, 3);
	llc_pair_accept_rkey(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY_CONT, false, 1,
						   &cont));
	llc_joining_cancel(test, &j);
	KUNIT_EXPECT_TRUE(test, llc_pair_rmb(test, &p)->withdrawn);
	llc_free_slots(p.first);
	llc_pair_expect_withdrawn(test, &p, msg.confirm_rkey.rkey);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		smc_link_put(others[i]);
	settings->region_idle = idle;
	llc_pair_end(&p);
}

/*
 * ... the next connection announces it again, on all links: the peer need not know it any more. One
 * that the peer has not accepted is freed at once.
 */
static void llc_rkey_in_vain_again(struct kunit *test)
{
	struct smc_region *region;
	struct llc_joining j;
	struct smc_llc_msg msg;
	struct llc_pair p;
	u32 rkey;

	llc_one_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	llc_joining_begin(&j, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_joining_cancel(test, &j);
	KUNIT_EXPECT_EQ(test, p.lgr->pool.nregions[SMC_REGION_RMB], 0);
	llc_free_slots(p.first);
	llc_joining_begin(&j, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	llc_set_adding(p.lgr->llc, true);
	llc_pair_accept_rkey(&p, &msg);
	msleep(QUIET_MS);
	llc_joining_cancel(test, &j);
	region = llc_pair_rmb(test, &p);
	rkey = msg.confirm_rkey.rkey;
	KUNIT_EXPECT_TRUE(test, smc_region_is_known(region, p.first->slot));
	llc_free_slots(p.first);
	llc_set_adding(p.lgr->llc, false);
	llc_joining_begin(&j, &p, p.first);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.confirm_rkey.rkey, rkey);
	KUNIT_EXPECT_FALSE(test, smc_region_is_known(region, p.first->slot));
	llc_pair_accept_rkey(&p, &msg);
	llc_joining_end(test, &j);
	KUNIT_EXPECT_PTR_EQ(test, j.conn->rx.elem.region, region);
	smc_conn_discard(j.conn, false);
	llc_pair_end(&p);
}

/* The time is over when the peer accepts an RMB that is to be announced once more. */
static void llc_rkey_too_late(struct kunit *test)
{
	struct llc_announcement a;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	p.second = llc_pair_begin_link(test, &p, 2);
	llc_announcement_prepare(test, &p, &a);
	a.time = 0;
	llc_announcement_start(&a);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, smc_region_map(a.region, p.second->slot, p.second->qp), 0);
	KUNIT_EXPECT_EQ(test, smc_region_register(a.region, p.second->slot), 0);
	smc_link_activate(p.second);
	llc_pair_accept_rkey(&p, &msg);
	flush_work(&a.work);
	destroy_work_on_stack(&a.work);
	KUNIT_EXPECT_EQ(test, a.rc, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_CONFIRM_RKEY, false, &msg), 1);
	llc_pair_end(&p);
}

/* Keys of the RMB that the peer announces in the following cases, on the first and second link. */
#define THEIR_KEY	0x77
#define THEIR_ADDR	0x1000
#define THEIR_KEY_2	0x88
#define THEIR_ADDR_2	0x2000

/* The peer announces an RMB with keys on both links, over the first one. */
static void llc_receive_rkeys(const struct llc_pair *p)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_CONFIRM_RKEY,
		.version = p->lgr->peer.version,
		.confirm_rkey = { .rkey = THEIR_KEY, .vaddr = THEIR_ADDR, .others = 1 },
	};

	msg.confirm_rkey.other[0].link_num = p->num;
	msg.confirm_rkey.other[0].rkey = THEIR_KEY_2;
	msg.confirm_rkey.other[0].vaddr = THEIR_ADDR_2;
	llc_link_receive(p->first, &msg);
}

/* Check that the server knows the RMB by its key on the second link, but does not write over it. */
static void llc_pair_expect_named(struct kunit *test, const struct llc_pair *p)
{
	u32 slot = p->second->slot;
	int idx = smc_rtoken_get_known(p->lgr, slot, THEIR_KEY_2, THEIR_ADDR_2);

	KUNIT_ASSERT_GE(test, idx, 0);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_has_link(p->lgr, idx, slot));
	KUNIT_EXPECT_TRUE(test, smc_rtoken_has_link(p->lgr, idx, p->first->slot));
	smc_rtoken_put(p->lgr, idx);
}

/*
 * Server: a link is lost before the client announces an RMB with its key there. The client has not
 * noticed yet, and a Confirm may name the RMB by that key.
 */
static void llc_rkey_of_lost_link(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct smc_link *other;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	/* what comes after that has not begun yet */
	KUNIT_EXPECT_TRUE(test, smc_link_record_failure(p.second, SMC_LINK_PORT_DOWN, NULL));
	llc_receive_rkeys(&p);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 1, &msg));
	KUNIT_EXPECT_FALSE(test, msg.confirm_rkey.negative);
	llc_pair_expect_named(test, &p);
	/* no connection uses the RMB: it is forgotten, and announced after the end of the link */
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(p.lgr, p.first->slot, THEIR_KEY), 0);
	smc_lgr_del_link(p.second, SMC_LINK_PORT_DOWN);
	llc_receive_rkeys(&p);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 2, &msg));
	KUNIT_EXPECT_FALSE(test, msg.confirm_rkey.negative);
	llc_pair_expect_named(test, &p);
	/* another link has the slot: the number means nothing any more */
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(p.lgr, p.first->slot, THEIR_KEY), 0);
	other = llc_pair_add_link(test, &p, 3);
	KUNIT_EXPECT_EQ(test, other->slot, p.second->slot);
	llc_receive_rkeys(&p);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 3, &msg));
	KUNIT_EXPECT_FALSE(test, msg.confirm_rkey.negative);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(p.lgr, other->slot, THEIR_KEY_2, THEIR_ADDR_2),
			-ENOKEY);
	smc_link_put(other);
	llc_pair_end(&p);
}

/*
 * Server: a repeated CONFIRM RKEY comes over a link that is lost now. The client has our response
 * to the first one, and uses the RMB over other links.
 */
static void llc_rkey_again_lost(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct llc_pair p;
	int idx;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_receive_rkeys(&p);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 1, &msg));
	KUNIT_EXPECT_TRUE(test, smc_link_record_failure(p.first, SMC_LINK_PORT_DOWN, NULL));
	llc_receive_rkeys(&p);
	flush_work(&p.lgr->llc->work);
	idx = smc_rtoken_get_known(p.lgr, p.second->slot, THEIR_KEY_2, THEIR_ADDR_2);
	KUNIT_EXPECT_GE(test, idx, 0);
	/* with a connection that writes to it */
	llc_receive_rkeys(&p);
	flush_work(&p.lgr->llc->work);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(p.lgr, p.second->slot, THEIR_KEY_2,
						   THEIR_ADDR_2), idx);
	smc_rtoken_put(p.lgr, idx);
	smc_rtoken_put(p.lgr, idx);
	llc_pair_end(&p);
}

/* ... an RMB that is announced for the first time is not known: the client got no response. */
static void llc_rkey_first_lost(struct kunit *test)
{
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	KUNIT_EXPECT_TRUE(test, smc_link_record_failure(p.first, SMC_LINK_PORT_DOWN, NULL));
	llc_receive_rkeys(&p);
	flush_work(&p.lgr->llc->work);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(p.lgr, p.second->slot, THEIR_KEY_2,
						   THEIR_ADDR_2), -ENOKEY);
	llc_pair_end(&p);
}

/* Server: the link that the client has lost goes at once, DELETE LINK in its turn. */
static void llc_request_deferred(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct smc_llc *llc;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc = p.lgr->llc;
	llc_set_running(llc, SMC_LLC_X_ADD_LINK);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	llc_pair_expect_one_left(test, &p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_running(&p), SMC_LLC_X_ADD_LINK);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 0);
	spin_lock_bh(&llc->lock);
	llc_turn_end(llc);
	spin_unlock_bh(&llc->lock);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	llc_pair_end(&p);
}

/* A foreign server gets the request later, and not at all if it detects the loss itself. */
static void llc_lost_foreign(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1 & ~SMC_CAP_DELETE_LOST);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 0);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->delete.requests[p.second->slot], p.num);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_sent(&p, true, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_NO_LINK);
	KUNIT_EXPECT_FALSE(test, msg.delete_link.orderly);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->delete.requests[p.second->slot], 0);
	llc_pair_end(&p);
}

/* ... and 40 s later, not before: a foreign server has detected the loss by then (decision 0012) */
static void llc_lost_foreign_late(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1 & ~SMC_CAP_DELETE_LOST);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	msleep(39 * MSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 0);
	msleep(2 * MSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, false, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_LOST_PATH);
	KUNIT_EXPECT_EQ(test, llc_pair_llc(&p)->delete.requests[p.second->slot], 0);
	llc_pair_end(&p);
}

/* The server deletes the link, and its end may go first: the response comes first, no failure. */
static void llc_deleted_client(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, true, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, 0);
	KUNIT_EXPECT_TRUE(test, msg.delete_link.orderly);
	llc_pair_expect_second_up(test, &p);
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

/* DELETE LINK comes over the link that it is about: so does the answer (RFC 7609 section 3.3). */
static void llc_deleted_over_itself(struct kunit *test)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_DELETE_LINK,
		.delete_link = { .reason = SMC_LLC_DEL_OPERATOR, .orderly = true },
	};
	unsigned long until = jiffies + WAIT_MAX;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	msg.version = p.lgr->peer.version;
	msg.delete_link.link_num = p.num;
	llc_link_receive(p.second, &msg);
	/* over either link: the second one is removed half a second later */
	while (!llc_pair_count_sent(&p, true, &msg) && time_before(jiffies, until) &&
	       !llc_link_count_sent(p.second, SMC_LLC_DELETE_LINK, true, &msg))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, llc_pair_count_sent(&p, true, &msg), 0);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_DELETE_LINK, true, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	llc_pair_expect_second_up(test, &p);
	llc_free_slots(p.second);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 0);
	llc_pair_end(&p);
}

/* A server that reuses link numbers deletes, adds and deletes a link: each deletion counts. */
static void llc_deleted_again(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
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

/* The client has lost the link: the server's end goes at once, and DELETE LINK follows. */
static void llc_request_server(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	llc_pair_expect_one_left(test, &p);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_LOST_PATH);
	llc_pair_receive_delete(&p, true, SMC_LLC_DEL_NO_LINK);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	KUNIT_EXPECT_EQ(test, llc_pair_count_deleted(&p), 1);
	KUNIT_EXPECT_EQ(test, llc_pair_count_failed(&p), 0);
	/* recovery is scheduled */
	KUNIT_EXPECT_TRUE(test, llc_pair_llc(&p)->recovery.armed &&
			  llc_pair_llc(&p)->recovery.retry);
	llc_pair_end(&p);
}

/*
 * The client has lost two links of three. The server does not know of the second one yet when it
 * sends DELETE LINK for the first one over it, and sends that again when it does.
 */
static void llc_request_two_lost(struct kunit *test)
{
	struct smc_link *third;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	third = llc_pair_add_link(test, &p, 3);
	/* the link with the fewest connections carries the exchange */
	smc_link_get(p.first);
	smc_link_add_conn(p.first);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(third, SMC_LLC_DELETE_LINK, false, 1, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	p.num = third->num;
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_LOST_PATH);
	p.num = p.second->num;
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 1, SOON,
						  &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_FALSE(test, smc_link_usable(third));
	llc_pair_expect_one_left(test, &p);
	llc_pair_receive_delete(&p, true, SMC_LLC_DEL_NO_LINK);
	p.num = third->num;
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 2, SOON,
						  &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	llc_pair_expect_one_left(test, &p);
	smc_link_del_conn(p.first);
	smc_link_put(third);
	llc_pair_end(&p);
}

/* RFC 7609 section C.7.1: without the client's answer the server removes its end anyway. */
static void llc_request_unanswered(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_PROGRAM);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_FALSE(test, llc_pair_wait_gone(&p, SOON));
	llc_pair_expect_one_left(test, &p);
	llc_pair_end(&p);
}

/* Operator's order at a server: its end breaks when the client's goes, before the response. */
static void llc_ordered_server(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_CAP_DELETE_WORKING);
	KUNIT_ASSERT_EQ(test, smc_delete_link_order(p.lgr, p.num), 0);
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, msg.delete_link.orderly);
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

	llc_pair_begin(test, &p, SMC_SERVER, SMC_CAP_DELETE_WORKING);
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

	llc_pair_begin(test, &p, SMC_SERVER, SMC_CAP_DELETE_WORKING | SMC_CAP_LINK_ORDERS);
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

/* A foreign client may request links all the time: that does not lift the limit. */
static void llc_cap_foreign(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1 & ~SMC_CAP_LINK_ORDERS);
	smc_recovery_link_added(p.lgr->llc, p.num);
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_cap(&p, 1));
	KUNIT_ASSERT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
	llc_pair_receive_delete(&p, true, 0);
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_deleted(&p));
	llc_pair_receive_request(&p);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	llc_pair_end(&p);
}

/* The limit set by the operator of this host is not lifted by a client's request at any time. */
static void llc_cap_held(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_CAP_DELETE_WORKING | SMC_CAP_LINK_ORDERS);
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
	smc_recovery_add_ordered(p.lgr->llc, &(struct smc_link_wish){});
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 0);
	KUNIT_EXPECT_FALSE(test, llc_pair_llc(&p)->cap.held);
	llc_pair_end(&p);
}

/* ---- orders that name the ends of the link ---- */

/*
 * The operator orders a link over the only RNIC of this host, to an RNIC of the peer whose GID is
 * @further beyond that of the first link.
 */
static struct smc_link_wish llc_pair_order(struct kunit *test, const struct llc_pair *p, u8 further)
{
	struct smc_link_wish wish = { .port = p->first->path.port };

	smc_ib_device_name(p->first->path.dev, wish.device);
	fake_ib_gid(&wish.gid);
	wish.gid.raw[SMC_GID_LEN - 1] += further;
	smc_recovery_add_ordered(p->lgr->llc, &wish);
	return wish;
}

static bool llc_pair_has_wish(const struct llc_pair *p)
{
	return READ_ONCE(llc_pair_llc(p)->recovery.wish.device[0]);
}

static bool llc_pair_wait_no_wish(const struct llc_pair *p, unsigned long limit)
{
	unsigned long until = jiffies + limit;

	while (llc_pair_has_wish(p) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return !llc_pair_has_wish(p);
}

/* Which ends fit, and what is refused at once. */
static void llc_wish_fits(struct kunit *test)
{
	struct smc_link_wish wish = {};
	const struct smc_path *path;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	path = &p.first->path;
	KUNIT_EXPECT_FALSE(test, smc_link_wish_is_set(&wish));
	KUNIT_EXPECT_TRUE(test, smc_link_wish_fits_path(&wish, path));
	KUNIT_EXPECT_FALSE(test, smc_link_wish_is_met(&wish, p.lgr));
	wish = llc_pair_order(test, &p, 0);
	KUNIT_EXPECT_TRUE(test, smc_link_wish_is_set(&wish));
	KUNIT_EXPECT_TRUE(test, smc_link_wish_fits_path(&wish, path));
	KUNIT_EXPECT_TRUE(test, smc_link_wish_is_met(&wish, p.lgr));
	wish.port++;
	KUNIT_EXPECT_FALSE(test, smc_link_wish_fits_path(&wish, path));
	KUNIT_EXPECT_FALSE(test, smc_link_wish_is_met(&wish, p.lgr));
	wish.port = 0;
	KUNIT_EXPECT_TRUE(test, smc_link_wish_fits_path(&wish, path));
	wish.gid.raw[SMC_GID_LEN - 1]++;
	KUNIT_EXPECT_FALSE(test, smc_link_wish_is_met(&wish, p.lgr));
	KUNIT_EXPECT_FALSE(test, smc_link_wish_fits_peer(&wish, p.first->peer_gid.raw));
	KUNIT_EXPECT_TRUE(test, smc_link_wish_fits_peer(&wish, wish.gid.raw));
	/* IPv6 */
	wish.gid.raw[0] = 0xfd;
	KUNIT_EXPECT_FALSE(test, smc_link_wish_fits_path(&wish, path));
	wish.device[0] = 'x';
	KUNIT_EXPECT_FALSE(test, smc_link_wish_fits_port(&wish, path->dev, path->port));
	KUNIT_EXPECT_EQ(test, smc_link_wish_find_port(&wish, &init_net), -ENODEV);
	wish.device[0] = 0;
	KUNIT_EXPECT_TRUE(test, smc_link_wish_is_set(&wish));
	KUNIT_EXPECT_TRUE(test, smc_link_wish_fits_port(&wish, path->dev, path->port));
	KUNIT_EXPECT_EQ(test, smc_link_wish_find_port(&wish, &init_net), 0);
	/* what is refused at once */
	KUNIT_EXPECT_EQ(test, smc_add_link_order(p.lgr, &wish), -EHOSTUNREACH);
	memcpy(&wish.gid, &p.first->peer_gid, sizeof(wish.gid));
	KUNIT_EXPECT_EQ(test, smc_add_link_order(p.lgr, &wish), -EEXIST);
	strscpy(wish.device, "none0", sizeof(wish.device));
	KUNIT_EXPECT_EQ(test, smc_add_link_order(p.lgr, &wish), -ENODEV);
	llc_pair_end(&p);
}

/* The client's end is the one that the server's operator has named. */
static void llc_wish_server(struct kunit *test)
{
	u64 added = smc_stats_get(&init_net, SMC_STAT_LINK_ADD);
	struct smc_llc_msg offer, answer, confirm;
	struct smc_link *link;
	struct llc_pair p;

	llc_one_begin_v1(test, &p);
	/* links were removed: that one end is named does not let in any other link */
	spin_lock_bh(&p.lgr->llc->lock);
	smc_recovery_delete_ordered(p.lgr->llc, 7, LLC_DELETE_BY_OPERATOR);
	spin_unlock_bh(&p.lgr->llc->lock);
	llc_pair_order(test, &p, 1);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, SOON, &offer));
	KUNIT_EXPECT_FALSE(test, llc_pair_has_wish(&p));
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 1);
	answer = llc_one_accept(&p, &offer, NULL);
	link = smc_lgr_get_link_by_num(p.lgr, p.num);
	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_EXPECT_TRUE(test,
			  llc_link_wait_sent(link, SMC_LLC_CONFIRM_LINK, false, 1, &confirm));
	confirm.response = true;
	memcpy(confirm.confirm_link.gid, answer.add_link.gid, SMC_GID_LEN);
	confirm.confirm_link.qpn = answer.add_link.qpn;
	llc_link_receive(link, &confirm);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	KUNIT_EXPECT_TRUE(test, smc_link_usable(link));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_LINK_ADD) - added, 1);
	KUNIT_EXPECT_FALSE(test, smc_link_wish_is_set(&llc_pair_llc(&p)->add.wish));
	KUNIT_EXPECT_EQ(test, llc_pair_cap(&p), 0);
	smc_link_put(link);
	llc_pair_end(&p);
}

/*
 * The client's end is another one: the link is given up, and the order is not tried again. @lost: a
 * link was lost before, which is.
 */
static void llc_check_wish_peer(struct kunit *test, bool lost)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin_v1(test, &p);
	if (lost)
		smc_recovery_retry_later(p.lgr->llc);
	llc_pair_order(test, &p, 2);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, SOON, &msg));
	llc_one_accept(&p, &msg, NULL);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 1, SOON,
						  &msg));
	KUNIT_EXPECT_EQ(test, msg.delete_link.link_num, p.num);
	KUNIT_EXPECT_EQ(test, msg.delete_link.reason, SMC_LLC_DEL_LOST_PATH);
	llc_pair_receive_delete(&p, true, 0);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	llc_pair_expect_one_left(test, &p);
	KUNIT_EXPECT_FALSE(test, llc_pair_has_wish(&p));
	/* those that were sent */
	llc_free_slots(p.first);
	KUNIT_EXPECT_EQ(test, llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, 10 * HZ, &msg),
			lost);
	llc_pair_end(&p);
}

static void llc_wish_other_peer(struct kunit *test)
{
	llc_check_wish_peer(test, false);
}

static void llc_wish_lost(struct kunit *test)
{
	llc_check_wish_peer(test, true);
}

/* The client rejects the offer, which the server would repeat without an order. */
static void llc_wish_rejected(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	memset(&p.first->peer_gid, 0, sizeof(p.first->peer_gid));
	llc_pair_order(test, &p, 1);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, SOON, &msg));
	msg.response = true;
	msg.add_link.rejected = true;
	msg.add_link.reason = SMC_LLC_REJ_NO_ALT_PATH;
	msg.add_link.has_ext = false;
	llc_pair_receive(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_idle(&p));
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, llc_pair_llc(&p)->recovery.retry);
	llc_pair_end(&p);
}

/* The RNIC is gone or renamed when its turn comes: there is neither an offer nor a request. */
static void llc_run_wish_gone(struct kunit *test, enum smc_role role)
{
	struct smc_link_wish wish;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin(test, &p, role, SMC_PEER_CAPS_TAG_1);
	memset(&p.first->peer_gid, 0, sizeof(p.first->peer_gid));
	/* so that the order waits */
	p.lgr->ready = false;
	wish = llc_pair_order(test, &p, 1);
	strscpy(wish.device, "none0", sizeof(wish.device));
	smc_recovery_add_ordered(p.lgr->llc, &wish);
	p.lgr->ready = true;
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_no_wish(&p, 5 * HZ));
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_ADD_LINK, false, &msg), 0);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_REQ_ADD_LINK, false, &msg), 0);
	KUNIT_EXPECT_EQ(test, llc_pair_running(&p), SMC_LLC_X_IDLE);
	llc_pair_end(&p);
}

static void llc_wish_gone_server(struct kunit *test)
{
	llc_run_wish_gone(test, SMC_SERVER);
}

static void llc_wish_gone_client(struct kunit *test)
{
	llc_run_wish_gone(test, SMC_CLIENT);
}

/* Version 1: the server offers a link to the RNIC with GID @gid. */
static void llc_pair_receive_offer(const struct llc_pair *p, const union ib_gid *gid)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_ADD_LINK, .version = 1,
		.add_link = { .qpn = ENV_PEER_QPN, .link_num = 2, .mtu = SMC_MTU_1024 },
	};

	memcpy(msg.add_link.gid, gid, sizeof(*gid));
	llc_pair_receive(p, &msg);
}

/*
 * A client's order: the request names the port, an offer of another RNIC than the order names is
 * rejected, and the order is dropped when it is too old.
 */
static void llc_wish_client(struct kunit *test)
{
	struct smc_link_wish wish;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin_client(test, &p);
	p.lgr->peer.version = 1;
	wish = llc_pair_order(test, &p, 1);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, false, 1, SOON, &msg));
	KUNIT_EXPECT_MEMEQ(test, msg.add_link.gid, p.first->path.gid.gid.raw, SMC_GID_LEN);
	KUNIT_EXPECT_TRUE(test, llc_pair_has_wish(&p));
	KUNIT_EXPECT_FALSE(test, smc_recovery_has_wish(p.lgr->llc));
	wish.gid.raw[SMC_GID_LEN - 1]++;
	llc_pair_receive_offer(&p, &wish.gid);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_ADD_LINK, true, 1, SOON, &msg));
	KUNIT_EXPECT_TRUE(test, msg.add_link.rejected);
	KUNIT_EXPECT_EQ(test, msg.add_link.reason, SMC_LLC_REJ_NO_ALT_PATH);
	KUNIT_EXPECT_TRUE(test, llc_pair_has_wish(&p));
	/* late by an eighth at most: the wheel's granularity */
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_no_wish(&p, 12 * HZ));
	/* the request was not repeated */
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_ADD_LINK, false, &msg), 1);
	llc_pair_end(&p);
}

/* A port that has failed with an RNIC of the server comes after its equals, but before no port. */
static void llc_client_failed_ends(struct kunit *test)
{
	struct smc_ib_device *one, *two;
	u8 gid[SMC_GID_LEN], mac[SMC_MAC_LEN];
	struct smc_llc *llc;
	struct llc_pair p;
	u32 i;

	llc_one_begin_client(test, &p);
	one = fake_ib_create(test)->sdev;
	two = fake_ib_create(test)->sdev;
	llc = p.lgr->llc;
	get_random_bytes(gid, sizeof(gid));
	eth_random_addr(mac);
	llc->add.end.gid = gid;
	llc->add.end.mac = mac;
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(one, 1, llc), 6);
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(two, 1, llc), 6);
	smc_add_link_client_note_failure(llc, one, 1, gid);
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(one, 1, llc), 5);
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(one, 2, llc), 6);
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(two, 1, llc), 6);
	/* another RNIC of the server */
	gid[0]++;
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(one, 1, llc), 6);
	/* a parallel link is refused, whatever failed before */
	get_random_bytes(&p.first->peer_gid, sizeof(p.first->peer_gid));
	memcpy(gid, p.first->peer_gid.raw, sizeof(gid));
	smc_add_link_client_note_failure(llc, p.first->path.dev, p.first->path.port, gid);
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(p.first->path.dev, p.first->path.port,
							    llc), 0);
	/* only the last failures count */
	for (i = 0; i < LLC_FAILED_ENDS; i++)
		smc_add_link_client_note_failure(llc, two, 1 + i, gid);
	for (i = 0; i < LLC_FAILED_ENDS; i++)
		KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(two, 1 + i, llc) % 2, 1);
	smc_add_link_client_note_failure(llc, one, 1, gid);
	KUNIT_EXPECT_EQ(test, smc_add_link_client_rate_port(two, 1, llc) % 2, 0);
	llc->add.end.gid = NULL;
	llc->add.end.mac = NULL;
	llc_pair_end(&p);
}

/* The server refuses the request, or the link is removed by order: the order ends. */
static void llc_wish_refused(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin_client(test, &p);
	llc_pair_order(test, &p, 1);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(p.first, SMC_LLC_REQ_ADD_LINK, false, 1, SOON,
						  &msg));
	KUNIT_ASSERT_EQ(test, msg.req_add_link.gids.count, 1);
	KUNIT_EXPECT_MEMEQ(test, msg.req_add_link.gids.raw, p.first->path.gid.gid.raw, SMC_GID_LEN);
	msg.response = true;
	msg.req_add_link.gids.count = 0;
	llc_pair_receive(&p, &msg);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_no_wish(&p, SOON));
	llc_pair_order(test, &p, 1);
	spin_lock_bh(&p.lgr->llc->lock);
	smc_recovery_delete_ordered(p.lgr->llc, 2, LLC_DELETE_BY_OPERATOR);
	spin_unlock_bh(&p.lgr->llc->lock);
	KUNIT_EXPECT_FALSE(test, llc_pair_has_wish(&p));
	llc_pair_end(&p);
}

/* A client's order is taken back just before its request: none goes out for any port. */
static void llc_wish_taken_back(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_one_begin_client(test, &p);
	smc_add_link_client_request_wish(p.lgr->llc, p.first);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_REQ_ADD_LINK, false, &msg), 0);
	llc_pair_end(&p);
}

/* Both operators order the removal of the same link: it counts once. */
static void llc_cap_both(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
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

	llc_pair_begin(test, &p, role, SMC_PEER_CAPS_TAG_1);
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
	struct lgr_env *env = test->priv;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	smc_recovery_link_added(p.lgr->llc, p.num);
	/* the end of the link takes a while */
	env->fake->no_flush = true;
	llc_pair_receive_delete(&p, false, SMC_LLC_DEL_OPERATOR);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_gone(&p, WAIT_MAX));
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

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
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

/* The same on a server: it is subtracted only once if the deletion has to wait for the turn. */
static void llc_redundant_server(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct smc_link *third;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_CAP_DELETE_WORKING);
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

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1 & ~SMC_CAP_DELETE_WORKING);
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

/* The group ends. @acked: the peer's RNIC acknowledges what is sent over the first link. */
static void llc_run_delete_all(struct kunit *test, bool acked, u64 want)
{
	u64 before = smc_stats_get(&init_net, SMC_STAT_TX_LLC);
	struct fake_ib_qp *qp;
	struct smc_llc_msg msg;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	qp = fake_ib_qp(p.first->qp->qp);
	smc_lgr_terminate(p.lgr, SMC_LINK_ADMIN);
	if (acked) {
		/* the queue pair stays for half a second, and 0.2 s after the last message */
		KUNIT_EXPECT_TRUE(test, llc_pair_wait_sent(&p, false, &msg));
		KUNIT_EXPECT_TRUE(test, msg.delete_link.all);
		fake_ib_complete(qp, qp->nsends, IB_WC_SUCCESS);
	}
	llc_pair_end(&p);
	env_put_group(test->priv, p.lgr);
	KUNIT_EXPECT_TRUE(test, env_wait_count(0));
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_LLC) - before, want);
}

/* DELETE LINK for all links goes over one link after the other until it is acknowledged. */
static void llc_delete_all_lost(struct kunit *test)
{
	llc_run_delete_all(test, false, 2);
}

static void llc_delete_all_acked(struct kunit *test)
{
	llc_run_delete_all(test, true, 1);
}

/* TEST LINK is answered over one link while the exchange of the group waits for another one. */
static void llc_test_link_at_once(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct smc_llc *llc;
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc = p.lgr->llc;
	llc_use_up_slots(test, p.second);
	llc_receive_rkey(p.second);
	while (READ_ONCE(llc->nqueued))
		usleep_range(1000, 2000);
	/* waits for a slot to answer with; a further message has to wait for its turn */
	llc_receive_rkey(p.first);
	llc_receive_test(p.first, 1);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_TEST_LINK, true, 1, PROMPT, &msg));
	KUNIT_EXPECT_EQ(test, msg.test_link.data[0], 1);
	KUNIT_EXPECT_EQ(test, msg.test_link.data[3], 3);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, &msg), 0);
	llc_free_slots(p.second);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(p.first, SMC_LLC_CONFIRM_RKEY, true, 1, &msg));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p.lgr->dead));
	llc_pair_end(&p);
}

/* Without a slot, the answer to the last request is sent when one is free, and nothing waits. */
static void llc_test_link_no_slot(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct llc_pair p;

	llc_pair_begin(test, &p, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);
	llc_use_up_slots(test, p.second);
	llc_receive_test(p.second, 1);
	llc_receive_test(p.second, 2);
	/* the queue of messages does not wait for this */
	llc_receive_rkey(p.first);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_CONFIRM_RKEY, true, 1, SOON, &msg));
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_TEST_LINK, true, &msg), 0);
	llc_free_slots(p.second);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.second, SMC_LLC_TEST_LINK, true, 1, PROMPT, &msg));
	KUNIT_EXPECT_EQ(test, msg.test_link.data[0], 2);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_TEST_LINK, true, &msg), 1);
	/* the next one is answered at once */
	llc_receive_test(p.second, 3);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_TEST_LINK, true, &msg), 2);
	KUNIT_EXPECT_EQ(test, msg.test_link.data[0], 3);
	llc_pair_end(&p);
}

/* An answer that a link still owes is not sent over the next link in its slot. */
static void llc_test_link_next_link(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct llc_pair p;
	u32 slot;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	llc_use_up_slots(test, p.second);
	llc_receive_test(p.second, 1);
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	llc_pair_expect_one_left(test, &p);
	slot = p.second->slot;
	while (test_bit(slot, &p.lgr->slots))
		usleep_range(1000, 2000);
	smc_link_put(p.second);
	p.second = llc_pair_add_link(test, &p, 3);
	KUNIT_EXPECT_EQ(test, p.second->slot, slot);
	llc_use_up_slots(test, p.second);
	llc_free_slots(p.second);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_TEST_LINK, true, &msg), 0);
	llc_receive_test(p.second, 2);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(p.second, SMC_LLC_TEST_LINK, true, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.test_link.data[0], 2);
	llc_pair_end(&p);
}

/* Any host can begin first contacts from the GID of this peer: they cause few TEST LINK. */
static void llc_test_link_suspected(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct llc_pair p;
	int i;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	msleep(1100);
	smc_test_link_probe_eldest(&init_net, &p.lgr->peer.gid);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_TEST_LINK, false, 1, PROMPT, &msg));
	for (i = 0; i < 50; i++) {
		WRITE_ONCE(p.first->last_rx, jiffies);	/* it was answered */
		WRITE_ONCE(p.second->last_rx, jiffies);
		smc_test_link_probe_eldest(&init_net, &p.lgr->peer.gid);
		msleep(50);
	}
	i = llc_link_count_sent(p.first, SMC_LLC_TEST_LINK, false, &msg);
	KUNIT_EXPECT_GE(test, i, 3);
	KUNIT_EXPECT_LE(test, i, 4);
	llc_pair_end(&p);
}

/* A pair, of which both links were asked, and a younger group of the same peer: return its link. */
static struct smc_link *llc_eldest_begin(struct kunit *test, struct llc_pair *p)
{
	struct smc_llc_msg msg = {};
	struct smc_link *young;
	struct smc_lgr *lgr;

	llc_pair_begin(test, p, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	lgr = env_create_group_up(test, SMC_SERVER, 2);
	lgr->peer.gid = p->lgr->peer.gid;
	lgr->ready = true;
	young = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, young);
	msleep(1100);		/* all of them may be asked at once */
	smc_test_link_probe_eldest(&init_net, &p->lgr->peer.gid);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p->first, SMC_LLC_TEST_LINK, false, 1, PROMPT, &msg));
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p->second, SMC_LLC_TEST_LINK, false, 1, PROMPT, &msg));
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(young, SMC_LLC_TEST_LINK, false, &msg), 0);
	return young;
}

/*
 * A first contact from a GID asks its oldest group alone. When that one does not answer, all others
 * with this GID are asked; groups of other peers never are.
 */
static void llc_test_link_eldest(struct kunit *test)
{
	struct smc_link *young, *alien;
	struct smc_llc_msg msg = {};
	struct smc_lgr *lgr;
	struct llc_pair p;

	lgr = env_create_group_up(test, SMC_SERVER, 3);
	lgr->peer.gid.raw[15] ^= 0xff;
	lgr->ready = true;
	alien = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, alien);
	young = llc_eldest_begin(test, &p);
	/* the port of this host says nothing about the peer */
	smc_link_fail(p.second, SMC_LINK_PORT_DOWN);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(young, SMC_LLC_TEST_LINK, false, &msg), 0);
	smc_link_fail(p.first, SMC_LINK_TEST_TIMEOUT);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(young, SMC_LLC_TEST_LINK, false, 1, SOON, &msg));
	KUNIT_EXPECT_EQ(test, llc_link_count_sent(alien, SMC_LLC_TEST_LINK, false, &msg), 0);
	smc_link_put(young);
	smc_link_put(alien);
	llc_pair_end(&p);
}

/* It lives on over another RNIC of the peer: one of them was reset. */
static void llc_test_link_eldest_link(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct smc_link *young;
	struct llc_pair p;

	young = llc_eldest_begin(test, &p);
	smc_link_fail(p.second, SMC_LINK_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(young, SMC_LLC_TEST_LINK, false, 1, SOON, &msg));
	KUNIT_EXPECT_FALSE(test, smc_lgr_is_dead(p.lgr));
	smc_link_put(young);
	llc_pair_end(&p);
}

/* A group that ends by order leaves no answer: the next oldest one has to give it. */
static void llc_test_link_eldest_ordered(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct smc_link *young;
	struct llc_pair p;

	young = llc_eldest_begin(test, &p);
	smc_lgr_terminate(p.lgr, SMC_LINK_IDLE);
	KUNIT_EXPECT_TRUE(test, llc_link_wait_sent(young, SMC_LLC_TEST_LINK, false, 1, &msg));
	smc_link_put(young);
	llc_pair_end(&p);
}

/* The peer has lost a group, and may have lost any other one. */
static void llc_test_link_out_of_sync(struct kunit *test)
{
	struct smc_llc_msg msg = {};
	struct smc_link *young;
	struct llc_pair p;

	young = llc_eldest_begin(test, &p);
	smc_test_link_probe_gid(&init_net, &p.lgr->peer.gid);
	KUNIT_EXPECT_TRUE(test, llc_wait_sent_for(young, SMC_LLC_TEST_LINK, false, 1, SOON, &msg));
	smc_link_put(young);
	llc_pair_end(&p);
}

/*
 * Many peers let two works of their group wait for a send slot each, which may last 10 s: more
 * works than one queue runs at a time. Meanwhile TEST LINK of another peer is answered, and the
 * exchanges with it make progress.
 */
static void llc_hostile_groups(struct kunit *test)
{
	struct smc_llc_msg msg;
	struct smc_link *link;
	struct smc_lgr *lgr;
	struct llc_pair p;
	u32 i;

	llc_pair_begin(test, &p, SMC_SERVER, SMC_CAP_DELETE_WORKING);
	for (i = 0; i < HOSTILE; i++) {
		lgr = env_create_group_up(test, SMC_CLIENT, 2 + i);
		link = smc_lgr_get_link(lgr, 0);
		KUNIT_ASSERT_NOT_NULL(test, link);
		llc_use_up_slots(test, link);
		llc_receive_rkey(link);
		smc_test_link_probe_lgr(lgr);
		smc_link_put(link);
	}
	msleep(QUIET_MS);

	llc_receive_test(p.first, 1);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_TEST_LINK, true, 1, PROMPT, &msg));
	llc_receive_rkey(p.first);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_CONFIRM_RKEY, true, 1, SOON, &msg));
	KUNIT_EXPECT_EQ(test, smc_delete_link_order(p.lgr, p.num), 0);
	KUNIT_EXPECT_TRUE(test,
			  llc_wait_sent_for(p.first, SMC_LLC_DELETE_LINK, false, 1, SOON, &msg));
	llc_pair_receive_delete(&p, true, 0);
	KUNIT_EXPECT_TRUE(test, llc_pair_wait_gone(&p, SOON));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p.lgr->dead));
	llc_pair_end(&p);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(llc_lost_server),
	KUNIT_CASE(llc_lost_client),
	KUNIT_CASE(llc_lost_foreign),
	KUNIT_CASE_SLOW(llc_lost_foreign_late),
	KUNIT_CASE(llc_lost_turn),
	KUNIT_CASE(llc_add_fails),
	KUNIT_CASE(llc_add_fails_mtu),
	KUNIT_CASE(llc_add_fails_qpn),
	KUNIT_CASE(llc_add_fails_parallel),
	KUNIT_CASE(llc_add_withdrawn),
	KUNIT_CASE(llc_add_deleted),
	KUNIT_CASE(llc_add_deleted_confirmed),
	KUNIT_CASE_SLOW(llc_add_unanswered),
	KUNIT_CASE(llc_add_early),
	KUNIT_CASE(llc_one_port),
	KUNIT_CASE(llc_one_port_v1),
	KUNIT_CASE(llc_more_ports),
	KUNIT_CASE_SLOW(llc_add_again),
	KUNIT_CASE(llc_add_ports_changed),
	KUNIT_CASE_SLOW(llc_lost_waits),
	KUNIT_CASE(llc_asked_turn),
	KUNIT_CASE(llc_asked_links),
	KUNIT_CASE(llc_asked_offer),
	KUNIT_CASE_SLOW(llc_requests_again),
	KUNIT_CASE_SLOW(llc_requests_once),
	KUNIT_CASE(llc_capabilities),
	KUNIT_CASE(llc_capabilities_foreign),
	KUNIT_CASE(llc_capabilities_off),
	KUNIT_CASE(llc_rkey_new_link),
	KUNIT_CASE(llc_rkey_repeated),
	KUNIT_CASE(llc_rkey_late),
	KUNIT_CASE(llc_rkey_silent),
	KUNIT_CASE(llc_rkey_turn_wanted),
	KUNIT_CASE(llc_rkey_unanswered),
	KUNIT_CASE(llc_rkey_refused),
	KUNIT_CASE(llc_rkey_lost_link),
	KUNIT_CASE(llc_rkey_both_links),
	KUNIT_CASE(llc_rkey_beside_add),
	KUNIT_CASE(llc_rkey_in_vain),
	KUNIT_CASE(llc_rkey_in_vain_v1),
	KUNIT_CASE(llc_rkey_in_vain_again),
	KUNIT_CASE(llc_rkey_too_late),
	KUNIT_CASE(llc_rkey_of_lost_link),
	KUNIT_CASE(llc_rkey_again_lost),
	KUNIT_CASE(llc_rkey_first_lost),
	KUNIT_CASE(llc_request_deferred),
	KUNIT_CASE(llc_deleted_client),
	KUNIT_CASE(llc_deleted_over_itself),
	KUNIT_CASE(llc_deleted_again),
	KUNIT_CASE(llc_request_server),
	KUNIT_CASE(llc_request_two_lost),
	KUNIT_CASE_SLOW(llc_request_unanswered),
	KUNIT_CASE(llc_ordered_server),
	KUNIT_CASE(llc_ordered_fails),
	KUNIT_CASE(llc_wish_fits),
	KUNIT_CASE(llc_wish_server),
	KUNIT_CASE_SLOW(llc_wish_other_peer),
	KUNIT_CASE_SLOW(llc_wish_lost),
	KUNIT_CASE(llc_wish_rejected),
	KUNIT_CASE_SLOW(llc_wish_gone_server),
	KUNIT_CASE_SLOW(llc_wish_gone_client),
	KUNIT_CASE_SLOW(llc_wish_client),
	KUNIT_CASE(llc_client_failed_ends),
	KUNIT_CASE(llc_wish_refused),
	KUNIT_CASE(llc_wish_taken_back),
	KUNIT_CASE(llc_cap_hint),
	KUNIT_CASE(llc_cap_foreign),
	KUNIT_CASE(llc_cap_held),
	KUNIT_CASE(llc_cap_both),
	KUNIT_CASE(llc_cap_added_server),
	KUNIT_CASE(llc_cap_added_client),
	KUNIT_CASE(llc_cap_first),
	KUNIT_CASE(llc_redundant_client),
	KUNIT_CASE(llc_redundant_server),
	KUNIT_CASE_SLOW(llc_redundant_stays),
	KUNIT_CASE_SLOW(llc_delete_all_lost),
	KUNIT_CASE(llc_delete_all_acked),
	KUNIT_CASE(llc_test_link_at_once),
	KUNIT_CASE(llc_test_link_no_slot),
	KUNIT_CASE(llc_test_link_next_link),
	KUNIT_CASE_SLOW(llc_test_link_suspected),
	KUNIT_CASE_SLOW(llc_test_link_eldest),
	KUNIT_CASE_SLOW(llc_test_link_eldest_link),
	KUNIT_CASE_SLOW(llc_test_link_eldest_ordered),
	KUNIT_CASE_SLOW(llc_test_link_out_of_sync),
	KUNIT_CASE_SLOW(llc_hostile_groups),
	{}
};

struct kunit_suite smc_llc_suite = {
	.name = "smc_llc",
	.init = env_init,
	.exit = env_exit,
	.test_cases = cases,
};
