// SPDX-License-Identifier: GPL-2.0-only
/*
 * UPGRADE messages of a group with two links: requests of a client and of a hostile one, answers,
 * withdrawals; what is lost, late, repeated or too much. LLC is real; the layers above are counters
 * here, and the RNIC is a fake.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/llc/upgrade.h>
#include <smc/proto/llc_msg.h>
#include "../../llc/internal.h"

#include "lgr_env.h"
#include "suites.h"

#define WAIT_MAX	(10 * HZ)
#define QUIET_MS	100	/* for a work that has nothing to do */
#define FLOOD		5000
#define TOKEN		0x12345678

/**
 * struct upg_env - what the layers above have seen
 * @requested: number of requests
 * @msg: the last one
 * @answer: what to answer at once; -1: nothing yet
 * @req: for a yes
 * @accepted: number of yeses of the server
 * @accepted_req: request of the last one
 * @yes: the last one
 * @ended: number of ended events
 * @last: request of the last one
 * @outcome: its outcome
 * @rc: of the last smc_upgrade_answer()
 */
struct upg_env {
	u32 requested;
	struct smc_upgrade_msg msg;
	int answer;
	struct smc_upgrade_req *req;
	u32 accepted;
	struct smc_upgrade_req *accepted_req;
	struct smc_upgrade_msg yes;
	u32 ended;
	struct smc_upgrade_req *last;
	enum smc_upgrade_outcome outcome;
	int rc;
};

static struct upg_env seen;

static void upg_requested(struct smc_link *link, const struct smc_upgrade_msg *msg)
{
	seen.msg = *msg;
	if (seen.answer >= 0)
		seen.rc = smc_upgrade_answer(link->lgr, msg->number, seen.answer,
					     seen.answer ? NULL : seen.req);
	WRITE_ONCE(seen.requested, seen.requested + 1);
}

static void upg_accepted(struct smc_upgrade_req *req, struct smc_link *link,
			 const struct smc_upgrade_msg *msg)
{
	seen.accepted_req = req;
	seen.yes = *msg;
	WRITE_ONCE(seen.accepted, seen.accepted + 1);
}

static void upg_ended(struct smc_lgr *lgr, struct smc_upgrade_req *req,
		      enum smc_upgrade_outcome outcome)
{
	seen.last = req;
	seen.outcome = outcome;
	WRITE_ONCE(seen.ended, seen.ended + 1);
}

static const struct smc_upgrade_events upg_events = {
	.requested = upg_requested,
	.accepted = upg_accepted,
	.ended = upg_ended,
};

/**
 * struct upg_pair - a group with two links
 * @lgr: group
 * @links: references
 * @region: an RMB with keys on both
 * @elems: RMBEs
 * @reqs: requests, one for each element
 * @dropped: counter rx_upgrade_drop when the case began
 */
struct upg_pair {
	struct smc_lgr *lgr;
	struct smc_link *links[2];
	struct smc_region *region;
	struct smc_elem elems[SMC_UPGRADE_SLOTS + 1];
	struct smc_upgrade_req reqs[SMC_UPGRADE_SLOTS + 1];
	u64 dropped;
};

static struct upg_pair pair;

static void upg_make_requests(struct upg_pair *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->reqs); i++) {
		p->elems[i] = (struct smc_elem){
			.region = p->region, .index = i + 1, .size = SZ_16K,
		};
		p->reqs[i] = (struct smc_upgrade_req){
			.elem = &p->elems[i],
			.token = TOKEN + i,
			.proof = { .client_port = 1000 + i, .server_port = 80,
				   .client_seq = 7, .server_seq = 9 },
			.hint = 20,
		};
	}
}

static struct upg_pair *upg_begin_caps(struct kunit *test, enum smc_role role, u32 caps)
{
	struct upg_pair *p = &pair;
	u32 i;

	memset(p, 0, sizeof(*p));
	memset(&seen, 0, sizeof(seen));
	p->lgr = env_create_group_up(test, role, 1);
	p->lgr->caps |= caps & SMC_CAP_UPGRADE;
	p->lgr->peer.caps = caps;
	p->links[0] = smc_lgr_get_link(p->lgr, 0);
	p->links[1] = env_add_link(test, p->lgr);
	env_bring_up(test, p->links[1]);
	smc_lgr_set_ready(p->lgr);
	p->region = smc_region_alloc(&p->lgr->pool, SMC_REGION_RMB, SZ_16K, 512, SMC_REGION_NEEDED);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p->region);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, smc_region_map(p->region, p->links[i]->slot,
						     p->links[i]->qp), 0);
		KUNIT_ASSERT_EQ(test, smc_region_register(p->region, p->links[i]->slot), 0);
	}
	upg_make_requests(p);
	seen.req = &p->reqs[0];
	p->dropped = smc_stats_get(&init_net, SMC_STAT_RX_UPGRADE_DROP);
	return p;
}

static struct upg_pair *upg_begin(struct kunit *test, enum smc_role role)
{
	return upg_begin_caps(test, role, SMC_PEER_CAPS_TAG_1 | SMC_CAP_UPGRADE);
}

static void upg_end(struct upg_pair *p)
{
	smc_link_put(p->links[0]);
	smc_link_put(p->links[1]);
}

static u64 upg_count_dropped(const struct upg_pair *p)
{
	return smc_stats_get(&init_net, SMC_STAT_RX_UPGRADE_DROP) - p->dropped;
}

/* Count the messages of a kind with @number that a link has sent; @last is the last of them. */
static u32 upg_link_sent(const struct smc_link *link, u8 kind, u32 number,
			 struct smc_upgrade_msg *last)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);
	struct smc_upgrade_msg msg;
	struct fake_ib_wr *wr;
	u32 i, n = 0;

	for (i = 0; (wr = fake_ib_sent(qp, i)); i++) {
		if (wr->opcode != IB_WR_SEND ||
		    smc_upgrade_msg_parse((u8 *)(uintptr_t)wr->sge[0].addr, wr->sge[0].length,
					  &msg) || msg.kind != kind || msg.number != number)
			continue;
		*last = msg;
		n++;
	}
	return n;
}

static u32 upg_sent(const struct upg_pair *p, u8 kind, u32 number)
{
	struct smc_upgrade_msg msg;

	return upg_link_sent(p->links[0], kind, number, &msg) +
	       upg_link_sent(p->links[1], kind, number, &msg);
}

static bool upg_wait_sent(const struct upg_pair *p, u8 kind, u32 number, u32 n)
{
	unsigned long until = jiffies + WAIT_MAX;

	while (upg_sent(p, kind, number) < n && time_before(jiffies, until))
		usleep_range(1000, 2000);
	/* not more, either */
	msleep(QUIET_MS);
	return upg_sent(p, kind, number) == n;
}

static bool upg_wait(const u32 *counter, u32 value)
{
	unsigned long until = jiffies + WAIT_MAX;

	while (READ_ONCE(*counter) < value && time_before(jiffies, until))
		usleep_range(1000, 2000);
	msleep(QUIET_MS);
	return READ_ONCE(*counter) == value;
}

/* The peer sends a message of any kind. */
static void upg_receive_kind(const struct upg_pair *p, u8 kind, u32 number)
{
	struct smc_upgrade_msg msg = {
		.kind = kind,
		.number = number,
		.reason = kind == SMC_UPGRADE_REFUSED ? SMC_UPGRADE_EXCLUDED : 0,
		.proof = { .client_port = 5, .server_port = 6, .client_seq = 7, .server_seq = 8 },
		.token = 77, .rkey = 78, .vaddr = 79, .rmbe_idx = 3, .bsize = 1, .hint = 16,
	};

	env_receive_upgrade(p->links[0], &msg);
}

static void upg_free_slots(struct smc_link *link)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);

	fake_ib_complete(qp, READ_ONCE(qp->nsends), IB_WC_SUCCESS);
}

static void upg_use_up_slots(struct kunit *test, struct smc_link *link)
{
	struct smc_wr_slot *slot;
	int rc = 0;

	while (!rc && (slot = smc_wr_slot_get_llc(link->qp, SMC_WR_MSG_LEN)))
		rc = smc_wr_post(slot, SMC_WR_MSG_LEN, NULL, 0, true);
	KUNIT_EXPECT_EQ(test, rc, 0);
}

/* As a client does that has nothing to prepare. */
static int upg_ask(const struct upg_pair *p, struct smc_upgrade_req *req)
{
	int rc = smc_upgrade_reserve(p->lgr);

	return rc ?: smc_upgrade_ask(p->lgr, req);
}

/* ---- server ---- */

/* Not announced, or to a foreign peer: ignored and counted, whatever the peer claims. */
static void upgrade_not_announced(struct kunit *test)
{
	struct upg_pair *p = upg_begin_caps(test, SMC_SERVER, SMC_PEER_CAPS_TAG_1);
	u8 kind;

	KUNIT_EXPECT_FALSE(test, p->lgr->caps & SMC_CAP_UPGRADE);
	p->lgr->peer.caps |= SMC_CAP_UPGRADE;
	for (kind = SMC_UPGRADE_REQUEST; kind <= SMC_UPGRADE_CONFIRMED; kind++)
		upg_receive_kind(p, kind, 8);
	p->lgr->caps |= SMC_CAP_UPGRADE;
	p->lgr->peer.caps = 0;
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, upg_count_dropped(p), 6);
	KUNIT_EXPECT_EQ(test, seen.requested, 0);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REFUSED, 8), 0);
	upg_end(p);
}

/* Nothing above answers requests: UNKNOWN, the same for the same number, nothing for older ones. */
static void upgrade_unknown(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);
	struct smc_upgrade_msg msg;

	smc_upgrade_set_events(NULL);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 16);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REFUSED, 16, 1));
	KUNIT_EXPECT_EQ(test, upg_link_sent(p->links[1], SMC_UPGRADE_REFUSED, 16, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.reason, SMC_UPGRADE_UNKNOWN);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 16);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REFUSED, 16, 2));
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 24);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REFUSED, 24, 1));
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 16);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REFUSED, 8), 0);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_CONFIRMED, 16), 0);
	KUNIT_EXPECT_GE(test, upg_count_dropped(p), 2);
	smc_upgrade_set_events(&upg_events);
	upg_end(p);
}

/* A yes has the keys of the link that carries it, each time; until GO nothing else binds. */
static void upgrade_agreed(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);
	struct smc_upgrade_msg msg;
	int i;

	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 9);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 9, 1));
	KUNIT_EXPECT_EQ(test, seen.requested, 1);
	KUNIT_EXPECT_EQ(test, seen.msg.proof.server_seq, 8);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 9);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 9, 2));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, upg_link_sent(p->links[i], SMC_UPGRADE_ACCEPTED, 9, &msg), 1);
		KUNIT_EXPECT_EQ(test, msg.rkey, smc_region_rkey(p->region, p->links[i]->slot));
		KUNIT_EXPECT_EQ(test, msg.vaddr, smc_region_iova(p->region, p->links[i]->slot));
		KUNIT_EXPECT_EQ(test, msg.token, TOKEN);
		KUNIT_EXPECT_EQ(test, msg.rmbe_idx, 1);
	}
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 17);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.requested, 1);
	/* GO comes: late messages have no effect, and the slot is free */
	smc_upgrade_finish(p->lgr, &p->reqs[0]);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_FINISHED);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 9);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 9);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_ACCEPTED, 9), 2);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_CONFIRMED, 9), 0);
	seen.req = &p->reqs[1];
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 17);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 17, 1));
	KUNIT_EXPECT_EQ(test, seen.requested, 2);
	KUNIT_EXPECT_EQ(test, seen.ended, 1);
	upg_end(p);
}

/* A withdrawal after the yes unbinds once, and is confirmed each time. */
static void upgrade_withdrawn(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);

	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 8, 1));
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 8, 1));
	KUNIT_EXPECT_EQ(test, seen.ended, 1);
	KUNIT_EXPECT_PTR_EQ(test, seen.last, &p->reqs[0]);
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_WITHDRAWN);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 8, 2));
	smc_upgrade_finish(p->lgr, &p->reqs[0]);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.ended, 1);
	upg_end(p);
}

/* The server has given the client up: a repeated request gets nothing, a withdrawal its answer. */
static void upgrade_abandoned_server(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);

	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 8, 1));
	smc_upgrade_abandon(p->lgr, &p->reqs[0]);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_PTR_EQ(test, seen.last, &p->reqs[0]);
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_ABANDONED);
	seen.req = &p->reqs[1];
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 16);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.requested, 1);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_ACCEPTED, 8), 1);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 8, 1));
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 16);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 16, 1));
	KUNIT_EXPECT_EQ(test, seen.ended, 1);
	upg_end(p);
}

/* A withdrawal that overtakes its request over another link: the request binds nothing. */
static void upgrade_overtaken(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);

	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 10);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 10, 1));
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 10);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 10, 2));
	/* both before the work runs, in either order */
	local_bh_disable();
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 11);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 11);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 12);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 12);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 12, 1));
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_CONFIRMED, 11), 1);
	KUNIT_EXPECT_EQ(test, seen.requested, 0);
	upg_end(p);
}

/* The layers above answer late: repetitions wait, a withdrawal does not. */
static void upgrade_answered_late(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);

	seen.answer = -1;
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 9);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 2));
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 9);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 17);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.requested, 2);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_CONFIRMED, 17), 0);
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 8, 1));
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 8, SMC_UPGRADE_YES, &p->reqs[0]),
			-ECANCELED);
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 9, SMC_UPGRADE_YES, &p->reqs[1]), 0);
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 9, SMC_UPGRADE_LATER, NULL),
			-ECANCELED);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, 9, 1));
	/* the slot takes the next request, which an old answer does not meet */
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 16);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 3));
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 8, SMC_UPGRADE_LATER, NULL), -ECANCELED);
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 16, SMC_UPGRADE_LATER, NULL), 0);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REFUSED, 16, 1));
	KUNIT_EXPECT_EQ(test, seen.ended, 0);
	upg_end(p);
}

/* A client that withdraws and asks anew, while somebody judges: he gets one request at a time. */
static void upgrade_judged_once(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);
	u32 n;

	seen.answer = -1;
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 1));
	for (n = 8; n < 80; n += 8) {
		upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, n);
		KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, n, 1));
		upg_receive_kind(p, SMC_UPGRADE_REQUEST, n + 8);
		msleep(QUIET_MS);
	}
	KUNIT_EXPECT_EQ(test, seen.requested, 1);
	/* its repetition comes when the first one is answered, in vain */
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, n, SMC_UPGRADE_YES, &p->reqs[0]),
			-ECANCELED);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, n);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.requested, 1);
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 8, SMC_UPGRADE_YES, &p->reqs[0]),
			-ECANCELED);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, n);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 2));
	KUNIT_EXPECT_EQ(test, seen.msg.number, n);
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, n, SMC_UPGRADE_YES, &p->reqs[0]), 0);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_ACCEPTED, n, 1));
	KUNIT_EXPECT_EQ(test, seen.ended, 0);
	upg_end(p);
}

/* An answer waits for a send slot, without stopping anything. */
static void upgrade_no_slot(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);

	upg_use_up_slots(test, p->links[0]);
	upg_use_up_slots(test, p->links[1]);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 1));
	upg_receive_kind(p, SMC_UPGRADE_WITHDRAWAL, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_CONFIRMED, 8), 0);
	upg_free_slots(p->links[1]);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_CONFIRMED, 8, 1));
	/* what was owed before is not sent any more */
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_ACCEPTED, 8), 0);
	upg_end(p);
}

/* A request that has waited for a send slot is repeated as soon as others. */
static void upgrade_no_slot_client(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	u32 n;

	upg_use_up_slots(test, p->links[0]);
	upg_use_up_slots(test, p->links[1]);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), 0);
	n = p->reqs[0].number;
	msleep(5000);
	upg_free_slots(p->links[0]);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REQUEST, n, 1));
	msleep(2500);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REQUEST, n), 2);
	upg_end(p);
}

/*
 * A hostile client sends more than anybody can handle: one message per slot is kept, so it is
 * asked about few of them, and the group goes on.
 */
static void upgrade_flood(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);
	struct smc_llc *llc = p->lgr->llc;
	struct smc_llc_msg probe = { .type = SMC_LLC_TEST_LINK, .version = p->lgr->peer.version };
	u8 buf[SMC_LLC_V1_LEN];
	u32 i;

	seen.answer = SMC_UPGRADE_UNKNOWN;
	local_bh_disable();
	for (i = 1; i <= FLOOD; i++)
		upg_receive_kind(p, i & 1 ? SMC_UPGRADE_REQUEST : SMC_UPGRADE_WITHDRAWAL, i);
	local_bh_enable();
	msleep(QUIET_MS);
	KUNIT_EXPECT_LE(test, seen.requested, SMC_UPGRADE_SLOTS);
	KUNIT_EXPECT_GE(test, upg_count_dropped(p), FLOOD - 2 * SMC_UPGRADE_SLOTS);
	KUNIT_EXPECT_EQ(test, READ_ONCE(llc->nqueued), 0);
	for (i = FLOOD; i <= 2 * FLOOD; i++) {
		upg_receive_kind(p, SMC_UPGRADE_REQUEST, i * 3);
		if (i % 500 == 0)
			usleep_range(1000, 2000);
	}
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p->lgr->dead));
	KUNIT_EXPECT_EQ(test, seen.ended, 0);
	/* all send slots are used up by answers that the peer does not take */
	upg_free_slots(p->links[0]);
	KUNIT_ASSERT_GT(test, smc_llc_msg_build(&probe, buf, sizeof(buf)), 0);
	local_bh_disable();
	smc_llc_events.message(p->links[0], buf, sizeof(buf));
	local_bh_enable();
	KUNIT_EXPECT_FALSE(test, READ_ONCE(llc->test_answers[p->links[0]->slot].owed));
	upg_end(p);
}

/* Messages of the other role, and malformed ones. */
static void upgrade_misfits(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);
	u8 buf[SMC_UPGRADE_MSG_LEN + 1] = { SMC_UPGRADE_MSG_TYPE, SMC_UPGRADE_MSG_LEN };
	u64 rx = smc_stats_get(&init_net, SMC_STAT_RX_UPGRADE);

	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, 8);
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, 8);
	upg_receive_kind(p, SMC_UPGRADE_CONFIRMED, 8);
	local_bh_disable();
	/* somebody else's message */
	smc_llc_events.message(p->links[0], buf, SMC_UPGRADE_MSG_LEN);
	smc_native_tag_put_oui(buf + 4);
	smc_llc_events.message(p->links[0], buf, SMC_UPGRADE_MSG_LEN);
	smc_llc_events.message(p->links[0], buf, SMC_UPGRADE_MSG_LEN + 1);
	local_bh_enable();
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_UPGRADE), rx + 5);
	KUNIT_EXPECT_EQ(test, upg_count_dropped(p), 5);
	KUNIT_EXPECT_EQ(test, seen.requested + seen.accepted + seen.ended, 0);
	upg_end(p);
}

/* ---- client ---- */

static void upgrade_not_asked(struct kunit *test)
{
	struct upg_pair *p = upg_begin_caps(test, SMC_CLIENT, SMC_PEER_CAPS_TAG_1);

	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), -EOPNOTSUPP);
	upg_end(p);
	p = upg_begin(test, SMC_SERVER);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), -EOPNOTSUPP);
	upg_end(p);
}

/* Repeated with the same number over another link, with its keys, in growing intervals. */
static void upgrade_repeated(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	u64 again = smc_stats_get(&init_net, SMC_STAT_UPGRADE_AGAIN);
	struct smc_upgrade_msg msg;
	u32 n, i;

	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), 0);
	n = p->reqs[0].number;
	KUNIT_EXPECT_EQ(test, n, SMC_UPGRADE_SLOTS);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REQUEST, n, 1));
	msleep(1500);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REQUEST, n), 1);
	msleep(1000);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, upg_link_sent(p->links[i], SMC_UPGRADE_REQUEST, n, &msg), 1);
		KUNIT_EXPECT_EQ(test, msg.rkey, smc_region_rkey(p->region, p->links[i]->slot));
		KUNIT_EXPECT_EQ(test, msg.vaddr, smc_region_iova(p->region, p->links[i]->slot));
		KUNIT_EXPECT_EQ(test, msg.proof.client_port, 1000);
		KUNIT_EXPECT_EQ(test, msg.hint, 20);
	}
	msleep(3000);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REQUEST, n), 2);
	msleep(1500);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REQUEST, n), 3);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_UPGRADE_AGAIN), again + 2);
	/* the answer ends the repetition; a second one has no effect */
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, n);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.accepted, 1));
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, n);
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, n);
	msleep(10000);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REQUEST, n), 3);
	KUNIT_EXPECT_EQ(test, seen.accepted, 1);
	KUNIT_EXPECT_PTR_EQ(test, seen.accepted_req, &p->reqs[0]);
	KUNIT_EXPECT_EQ(test, seen.yes.rkey, 78);
	KUNIT_EXPECT_EQ(test, upg_count_dropped(p), 2);
	/* the server's first CDC message: the slot is free, and its next number is another one */
	smc_upgrade_finish(p->lgr, &p->reqs[0]);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_FINISHED);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[1]), 0);
	KUNIT_EXPECT_EQ(test, p->reqs[1].number, n + SMC_UPGRADE_SLOTS);
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, n);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.ended, 1);
	upg_end(p);
}

/* At most SMC_UPGRADE_SLOTS at once; a refusal makes room. */
static void upgrade_refused(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	u32 i;

	for (i = 0; i < SMC_UPGRADE_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[i]), 0);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[i]), -EBUSY);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REQUEST, p->reqs[3].number, 1));
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, p->reqs[3].number);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_PTR_EQ(test, seen.last, &p->reqs[3]);
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_REFUSED);
	KUNIT_EXPECT_EQ(test, seen.last->reason, SMC_UPGRADE_EXCLUDED);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[i]), 0);
	KUNIT_EXPECT_EQ(test, p->reqs[i].number, p->reqs[3].number + SMC_UPGRADE_SLOTS);
	/* a request of the peer, which is the server */
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.requested, 0);
	KUNIT_EXPECT_EQ(test, upg_count_dropped(p), 1);
	upg_end(p);
}

/* What is prepared counts: who finds no place has taken nothing for a request yet. */
static void upgrade_reserved(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	u32 i;

	for (i = 0; i < SMC_UPGRADE_SLOTS - 1; i++)
		KUNIT_EXPECT_EQ(test, smc_upgrade_reserve(p->lgr), 0);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), 0);
	KUNIT_EXPECT_EQ(test, smc_upgrade_reserve(p->lgr), -EBUSY);
	smc_upgrade_unreserve(p->lgr);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[1]), 0);
	for (i = 2; i < SMC_UPGRADE_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, smc_upgrade_ask(p->lgr, &p->reqs[i]), 0);
	KUNIT_EXPECT_EQ(test, smc_upgrade_reserve(p->lgr), -EBUSY);
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, p->reqs[0].number);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_EQ(test, smc_upgrade_reserve(p->lgr), 0);
	smc_lgr_terminate(p->lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(test->priv));
	KUNIT_EXPECT_EQ(test, smc_upgrade_ask(p->lgr, &p->reqs[0]), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, smc_upgrade_reserve(p->lgr), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, seen.ended, SMC_UPGRADE_SLOTS);
	upg_end(p);
}

/* A withdrawal is repeated until it is confirmed; a yes that is late binds nothing. */
static void upgrade_client_withdraws(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	u32 n;

	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), 0);
	n = p->reqs[0].number;
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REQUEST, n, 1));
	smc_upgrade_withdraw(p->lgr, &p->reqs[0]);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_WITHDRAWAL, n, 1));
	smc_upgrade_withdraw(p->lgr, &p->reqs[0]);
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, n);
	msleep(2500);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_WITHDRAWAL, n), 2);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_REQUEST, n), 1);
	KUNIT_EXPECT_EQ(test, seen.accepted + seen.ended, 0);
	upg_receive_kind(p, SMC_UPGRADE_CONFIRMED, n);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 1));
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_WITHDRAWN);
	msleep(10000);
	KUNIT_EXPECT_EQ(test, upg_sent(p, SMC_UPGRADE_WITHDRAWAL, n), 2);
	/* after a yes, before GO */
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[1]), 0);
	n = p->reqs[1].number;
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, n);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.accepted, 1));
	smc_upgrade_withdraw(p->lgr, &p->reqs[1]);
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_WITHDRAWAL, n, 1));
	upg_receive_kind(p, SMC_UPGRADE_CONFIRMED, n);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, 2));
	upg_end(p);
}

/* A connection goes before the server has answered GO: the slot is lost, and no other one. */
static void upgrade_abandoned(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	u32 i;

	for (i = 0; i < SMC_UPGRADE_SLOTS; i++) {
		KUNIT_EXPECT_TRUE(test, smc_upgrade_has_slot(p->lgr));
		KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[i]), 0);
		KUNIT_EXPECT_EQ(test, p->reqs[i].number % SMC_UPGRADE_SLOTS, i);
		upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, p->reqs[i].number);
		KUNIT_EXPECT_TRUE(test, upg_wait(&seen.accepted, i + 1));
		smc_upgrade_abandon(p->lgr, &p->reqs[i]);
		KUNIT_EXPECT_TRUE(test, upg_wait(&seen.ended, i + 1));
		KUNIT_EXPECT_PTR_EQ(test, seen.last, &p->reqs[i]);
		KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_ABANDONED);
		/* once */
		smc_upgrade_abandon(p->lgr, &p->reqs[i]);
		smc_upgrade_finish(p->lgr, &p->reqs[i]);
	}
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, p->reqs[0].number);
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, p->reqs[1].number);
	KUNIT_EXPECT_FALSE(test, smc_upgrade_has_slot(p->lgr));
	KUNIT_EXPECT_EQ(test, smc_upgrade_reserve(p->lgr), -EBUSY);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.ended, SMC_UPGRADE_SLOTS);
	smc_lgr_terminate(p->lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(test->priv));
	KUNIT_EXPECT_EQ(test, seen.ended, SMC_UPGRADE_SLOTS);
	upg_end(p);
}

/* A link is lost: what it may have had is sent over the other one at once. */
static void upgrade_link_lost(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	struct smc_upgrade_msg msg;
	u32 n;

	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[0]), 0);
	n = p->reqs[0].number;
	KUNIT_EXPECT_TRUE(test, upg_wait_sent(p, SMC_UPGRADE_REQUEST, n, 1));
	/* the first message went over the second link */
	KUNIT_EXPECT_EQ(test, upg_link_sent(p->links[1], SMC_UPGRADE_REQUEST, n, &msg), 1);
	smc_link_fail(p->links[1], SMC_LINK_PORT_DOWN);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, upg_link_sent(p->links[0], SMC_UPGRADE_REQUEST, n, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.rkey, smc_region_rkey(p->region, p->links[0]->slot));
	upg_end(p);
}

/* ---- the end of the group ---- */

/* Each request ends once, whatever it waits for; nothing is sent or asked any more. */
static void upgrade_group_ends(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_CLIENT);
	struct lgr_env *env = test->priv;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[i]), 0);
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, p->reqs[1].number);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.accepted, 1));
	smc_upgrade_withdraw(p->lgr, &p->reqs[2]);
	local_bh_disable();
	upg_receive_kind(p, SMC_UPGRADE_ACCEPTED, p->reqs[3].number);
	smc_lgr_terminate(p->lgr, SMC_LINK_ADMIN);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(env));
	KUNIT_EXPECT_EQ(test, seen.ended, 4);
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_GROUP);
	KUNIT_EXPECT_EQ(test, upg_ask(p, &p->reqs[4]), -ECONNABORTED);
	upg_receive_kind(p, SMC_UPGRADE_REFUSED, p->reqs[0].number);
	smc_upgrade_withdraw(p->lgr, &p->reqs[0]);
	smc_upgrade_finish(p->lgr, &p->reqs[1]);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.ended, 4);
	upg_end(p);
}

static void upgrade_group_ends_server(struct kunit *test)
{
	struct upg_pair *p = upg_begin(test, SMC_SERVER);
	struct lgr_env *env = test->priv;

	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 8);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 1));
	seen.answer = -1;
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 9);
	KUNIT_EXPECT_TRUE(test, upg_wait(&seen.requested, 2));
	smc_lgr_terminate(p->lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait_no_qp(env));
	KUNIT_EXPECT_EQ(test, seen.ended, 1);
	KUNIT_EXPECT_PTR_EQ(test, seen.last, &p->reqs[0]);
	KUNIT_EXPECT_EQ(test, seen.outcome, SMC_UPGRADE_OUT_GROUP);
	KUNIT_EXPECT_EQ(test, smc_upgrade_answer(p->lgr, 9, SMC_UPGRADE_YES, &p->reqs[1]),
			-ECONNABORTED);
	upg_receive_kind(p, SMC_UPGRADE_REQUEST, 10);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, seen.requested, 2);
	upg_end(p);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(upgrade_not_announced),
	KUNIT_CASE(upgrade_unknown),
	KUNIT_CASE(upgrade_agreed),
	KUNIT_CASE(upgrade_withdrawn),
	KUNIT_CASE(upgrade_abandoned_server),
	KUNIT_CASE(upgrade_overtaken),
	KUNIT_CASE(upgrade_answered_late),
	KUNIT_CASE_SLOW(upgrade_judged_once),
	KUNIT_CASE(upgrade_no_slot),
	KUNIT_CASE_SLOW(upgrade_no_slot_client),
	KUNIT_CASE(upgrade_flood),
	KUNIT_CASE(upgrade_misfits),
	KUNIT_CASE(upgrade_not_asked),
	KUNIT_CASE_SLOW(upgrade_repeated),
	KUNIT_CASE(upgrade_refused),
	KUNIT_CASE(upgrade_reserved),
	KUNIT_CASE_SLOW(upgrade_client_withdraws),
	KUNIT_CASE_SLOW(upgrade_abandoned),
	KUNIT_CASE(upgrade_link_lost),
	KUNIT_CASE(upgrade_group_ends),
	KUNIT_CASE(upgrade_group_ends_server),
	{}
};

static const struct smc_upgrade_events *upg_module_events;

static int upgrade_suite_init(struct kunit_suite *suite)
{
	upg_module_events = smc_upgrade_set_events(&upg_events);
	return 0;
}

static void upgrade_suite_exit(struct kunit_suite *suite)
{
	smc_upgrade_set_events(upg_module_events);
}

struct kunit_suite smc_upgrade_suite = {
	.name = "smc_upgrade",
	.suite_init = upgrade_suite_init,
	.suite_exit = upgrade_suite_exit,
	.init = env_init,
	.exit = env_exit,
	.test_cases = cases,
};
