// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upgrade in place, as far as connections are concerned: GO, S and S_ACK in CDC messages, what they
 * lead to, and who gets the memory of a connection that exists beside TCP. The states have tests
 * and a model in user space. The layers from lgr/ up to conn/ are the real ones; the RDMA device,
 * TCP, the socket and the LLC messages are fakes.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/conn/upgrade.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_imm.h>
#include <smc/proto/cdc_msg.h>
#include <smc/tcp/clcsock.h>
#include <smc/tcp/orphan.h>
#include <uapi/linux/smc_own.h>
#include "../../conn/failover.h"
#include "../../conn/state.h"
#include "../../conn/timers.h"

#include "conn_env.h"
#include "event_env.h"
#include "lgr_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)
#define ENV_NUMBER	17		/* of the request */
#define ENV_S		1000		/* bytes that either direction has moved over TCP */

/**
 * struct upgrade_env - state of one case
 * @e: group of two links; its connection is beside TCP and has the second link
 * @tcp: what the connection sees of TCP
 * @bits: all notifications of the owner
 * @llc: LLC actions so far
 * @used: elements in use without the connection, per kind
 */
struct upgrade_env {
	struct conn_env e;
	struct smc_conn_tcp tcp;
	unsigned int bits;
	u32 llc;
	u32 used[SMC_REGION_KINDS];
};

/* The LLC layer has no pointer to the case; one case runs at a time. */
static struct upgrade_env *upgrade_current;

/* The connection passes its owner on and does not look at it. */
static unsigned int upgrade_env_get(struct smc_sock *owner, unsigned int bits)
{
	return bits;
}

static void upgrade_env_notify(struct smc_sock *owner, unsigned int bits)
{
	((struct upgrade_env *)owner)->bits |= bits;
}

static const struct smc_conn_events upgrade_env_events = {
	.get = upgrade_env_get, .notify = upgrade_env_notify,
};

static void upgrade_env_get_tcp(struct smc_sock *owner, struct smc_conn_tcp *tcp)
{
	*tcp = ((struct upgrade_env *)owner)->tcp;
}

static void upgrade_env_llc(struct smc_conn *conn, u32 actions)
{
	/* a connection that leaves with its group, after the case */
	if (upgrade_current)
		upgrade_current->llc |= actions;
}

static const struct smc_conn_upgrade_ops upgrade_env_ops = {
	.get_tcp = upgrade_env_get_tcp, .llc = upgrade_env_llc,
};

static const struct smc_conn_peer_end upgrade_env_end_of_peer = {
	.token = ENV_TOKEN, .size = ENV_RING, .index = 1, .rkey = 0x22, .addr = 0x2000,
	.first = true,
};

static u32 upgrade_env_count_used(struct upgrade_env *u, enum smc_region_kind kind)
{
	struct smc_pool *pool = &u->e.lgr->pool;
	struct smc_region *region;
	u32 n = 0;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(region, &pool->regions[kind], entry)
		n += bitmap_weight(region->used, region->nelem);
	spin_unlock_bh(&pool->lock);
	return n;
}

/* Create the connection; it has asked for nothing. */
static void upgrade_env_create(struct kunit *test, struct upgrade_env *u, enum smc_role role)
{
	struct smc_conn_upgrade_init init = { .ops = &upgrade_env_ops, .number = ENV_NUMBER };
	struct conn_env *e = &u->e;
	bool cancel = false;

	memset(u, 0, sizeof(*u));
	upgrade_current = u;
	u->tcp.rx.received = ENV_S;
	u->tcp.rx.read = ENV_S;
	u->tcp.acked = ENV_S;
	e->lgr = env_create_group_up(test, SMC_SERVER, 1);
	e->lgr->peer.caps = SMC_PEER_CAPS_TAG_1 | SMC_CAP_WRITE_IMM;
	e->first = smc_lgr_get_link(e->lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, e->first);
	e->second = env_add_link(test, e->lgr);
	env_bring_up(test, e->second);
	env_add_ring(test, e->lgr, ENV_RING);
	e->conn = smc_conn_create_upgrade(e->lgr, e->second, ENV_RING, ENV_RING, false, &cancel,
					  &init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->conn);
	e->conn->role = role;
	if (role == SMC_CLIENT)
		smc_failover_rx_init(&e->conn->rx.path, e->second->slot);
	smc_conn_attach(e->conn, &upgrade_env_events, (struct smc_sock *)u);
}

static enum smc_upgrade_agree upgrade_env_agree(struct upgrade_env *u)
{
	struct smc_upgrade states;

	smc_conn_upgrade_get_states(u->e.conn, &states);
	return states.agree;
}

static void upgrade_env_work(struct upgrade_env *u)
{
	smc_conn_queue_work(u->e.conn);
	flush_delayed_work(&u->e.conn->work);
}

static void upgrade_env_set_peer(struct kunit *test, struct upgrade_env *u)
{
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(u->e.conn, &upgrade_env_end_of_peer), 0);
	conn_env_add_key(&u->e, 0);
}

/* Server: the answer was yes. */
static void upgrade_begin_answered(struct kunit *test, struct upgrade_env *u)
{
	upgrade_env_create(test, u, SMC_SERVER);
	upgrade_env_set_peer(test, u);
	KUNIT_ASSERT_EQ(test, smc_conn_upgrade_begin(u->e.conn), 0);
	upgrade_env_work(u);
	KUNIT_EXPECT_EQ(test, u->llc, SMC_UPGRADE_ACT_SEND_ACCEPT);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(u), SMC_UPGRADE_ANSWERED);
}

/* Client: the request is under way. */
static void upgrade_begin_asked(struct kunit *test, struct upgrade_env *u)
{
	upgrade_env_create(test, u, SMC_CLIENT);
	KUNIT_ASSERT_EQ(test, smc_conn_upgrade_begin(u->e.conn), 0);
	upgrade_env_work(u);
	KUNIT_EXPECT_EQ(test, u->llc, SMC_UPGRADE_ACT_SEND_REQUEST);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(u), SMC_UPGRADE_ASKED);
}

static void upgrade_env_accept(struct kunit *test, struct upgrade_env *u)
{
	KUNIT_EXPECT_EQ(test, smc_conn_upgrade_take_accept(u->e.conn, &upgrade_env_end_of_peer), 0);
}

/* The message with number @seq and @ext arrives over the second link. */
static void upgrade_env_receive(struct upgrade_env *u, u16 seq, u8 ext)
{
	struct smc_cdc_msg msg = { .seq = seq, .ext = ext, .s = ext & SMC_CDC_EXT_S ? ENV_S : 0 };

	conn_env_receive_msg(&u->e, u->e.second, &msg);
}

/* Server: GO has come, in message 1; nothing is due. */
static void upgrade_begin_server(struct kunit *test, struct upgrade_env *u)
{
	upgrade_begin_answered(test, u);
	upgrade_env_receive(u, 1, SMC_CDC_EXT_GO);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u->e.conn), SMC_CONN_ACTIVE);
	env_complete_sends(u->e.second);
}

/* Client: GO was posted. */
static void upgrade_begin_client(struct kunit *test, struct upgrade_env *u)
{
	upgrade_begin_asked(test, u);
	upgrade_env_accept(test, u);
	conn_env_add_key(&u->e, 0);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u->e.conn), SMC_CONN_ACTIVE);
}

/* What the last message over @link says about the upgrade. */
static u8 upgrade_env_sent(const struct smc_link *link, u64 *s)
{
	struct smc_cdc_msg last;

	env_count_cdc(link, &last);
	if (s)
		*s = last.s;
	return last.ext & (SMC_CDC_EXT_GO | SMC_CDC_EXT_S | SMC_CDC_EXT_S_ACK);
}

/* The socket, which is there to the end, drops the connection. */
static void upgrade_env_drop(struct upgrade_env *u)
{
	smc_conn_detach(u->e.conn);
	/* a notification may be under way */
	flush_delayed_work(&u->e.conn->work);
	upgrade_current = NULL;
	smc_conn_put(u->e.conn);
	smc_link_put(u->e.second);
	smc_link_put(u->e.first);
}

static void upgrade_env_end(struct upgrade_env *u)
{
	smc_conn_detach(u->e.conn);
	flush_delayed_work(&u->e.conn->work);
	upgrade_current = NULL;
	conn_env_end(&u->e);
}

/* ---- GO ---- */

static void upgrade_go_received(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_INIT);
	u.bits = 0;
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_EQ(test, u.bits & SMC_CONN_TRY_GATE, SMC_CONN_TRY_GATE);
	/* the answer, which says nothing yet */
	KUNIT_EXPECT_EQ(test, env_count_sends(u.e.second), 1);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, NULL), 0);
	KUNIT_EXPECT_EQ(test, u.e.conn->upgrade->deadline, 0);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.llc & SMC_UPGRADE_ACT_FREE_SLOT, SMC_UPGRADE_ACT_FREE_SLOT);
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	upgrade_env_end(&u);
}

/* The client sends GO until the server has answered. */
static void upgrade_go_sent(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_client(test, &u);
	KUNIT_EXPECT_EQ(test, u.bits & SMC_CONN_TRY_GATE, SMC_CONN_TRY_GATE);
	KUNIT_EXPECT_EQ(test, env_count_sends(u.e.second), 1);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, NULL), SMC_CDC_EXT_GO);
	spin_lock_bh(&u.e.conn->lock);
	smc_tx_send_update_locked(u.e.conn);
	spin_unlock_bh(&u.e.conn->lock);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, NULL), SMC_CDC_EXT_GO);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.llc, SMC_UPGRADE_ACT_SEND_REQUEST);
	upgrade_env_receive(&u, 1, 0);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.llc & SMC_UPGRADE_ACT_FREE_SLOT, SMC_UPGRADE_ACT_FREE_SLOT);
	spin_lock_bh(&u.e.conn->lock);
	smc_tx_send_update_locked(u.e.conn);
	spin_unlock_bh(&u.e.conn->lock);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, NULL), 0);
	upgrade_env_end(&u);
}

/* A link takes GO with it: the validation over the other one has none, the next message has. */
static void upgrade_go_lost(struct kunit *test)
{
	u32 i, validations = 0;
	struct fake_ib_wr *wr;
	struct upgrade_env u;
	struct smc_cdc_msg msg;

	upgrade_begin_client(test, &u);
	smc_lgr_del_link(u.e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_PTR_EQ(test, u.e.conn->link, u.e.first);
	KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.first, &msg), 2);
	for (i = 0; (wr = fake_ib_sent(fake_ib_qp(u.e.first->qp->qp), i)); i++) {
		u8 *buf = (u8 *)(uintptr_t)wr->sge[0].addr;

		/* LLC messages are among them */
		if (smc_cdc_msg_parse(buf, wr->sge[0].length, ENV_RING, ENV_RING, &msg) ||
		    !(msg.flags & SMC_CDC_F_FAILOVER))
			continue;
		KUNIT_EXPECT_EQ(test, msg.ext, 0);
		validations++;
	}
	KUNIT_EXPECT_EQ(test, validations, 1);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.first, NULL), SMC_CDC_EXT_GO);
	upgrade_env_end(&u);
}

/* ... and the server takes it there, behind the validation. */
static void upgrade_go_moved(struct kunit *test)
{
	struct smc_cdc_msg msg = { .flags = SMC_CDC_F_FAILOVER, .move_count = 1 };
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	msg.prev_link = u.e.second->num;
	smc_lgr_del_link(u.e.second, SMC_LINK_ADMIN);
	conn_env_receive_msg(&u.e, u.e.first, &msg);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_ANSWERED);
	msg = (struct smc_cdc_msg){ .seq = 2, .ext = SMC_CDC_EXT_GO };
	conn_env_receive_msg(&u.e, u.e.first, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_PTR_EQ(test, u.e.conn->link, u.e.first);
	upgrade_env_end(&u);
}

/* Until GO is posted a client may think better of it, and a link may be lost. */
static void upgrade_go_waits(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_asked(test, &u);
	smc_link_hold_conns(u.e.second, true);
	upgrade_env_accept(test, &u);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_READY);
	KUNIT_EXPECT_EQ(test, env_count_sends(u.e.second), 0);
	smc_link_hold_conns(u.e.second, false);
	flush_delayed_work(&u.e.conn->work);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, NULL), SMC_CDC_EXT_GO);
	upgrade_env_end(&u);

	upgrade_begin_asked(test, &u);
	smc_link_hold_conns(u.e.second, true);
	upgrade_env_accept(test, &u);
	conn_env_add_key(&u.e, 0);
	smc_lgr_del_link(u.e.second, SMC_LINK_ADMIN);
	flush_delayed_work(&u.e.conn->work);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_PTR_EQ(test, u.e.conn->link, u.e.first);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.first, NULL), SMC_CDC_EXT_GO);
	upgrade_env_end(&u);

	upgrade_begin_asked(test, &u);
	smc_link_hold_conns(u.e.second, true);
	upgrade_env_accept(test, &u);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_WITHDRAW);
	smc_link_hold_conns(u.e.second, false);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	KUNIT_EXPECT_EQ(test, env_count_sends(u.e.second), 0);
	KUNIT_EXPECT_EQ(test, u.bits & (SMC_CONN_BROKEN | SMC_CONN_TRY_GATE), 0);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	upgrade_env_drop(&u);
}

/*
 * The link that replaces a lost one has a slot for the validation, but none for GO: a better link
 * that comes up must not be chosen, since the server would take the validated one for lost.
 */
static void upgrade_go_keeps_link(struct kunit *test)
{
	struct smc_wr_slot *taken[64], *slot;
	struct smc_link *third;
	struct upgrade_env u;
	u32 n = 0, spare;

	upgrade_begin_asked(test, &u);
	smc_link_hold_conns(u.e.second, true);
	upgrade_env_accept(test, &u);
	conn_env_add_key(&u.e, 0);
	while (n < ARRAY_SIZE(taken) && (slot = smc_wr_slot_get(u.e.first->qp)))
		taken[n++] = slot;
	KUNIT_ASSERT_GT(test, n, 1);
	KUNIT_ASSERT_LT(test, n, ARRAY_SIZE(taken));
	/* one slot, and the requests that it leaves are not enough for another one */
	spare = u.e.first->qp->wrs;
	u.e.first->qp->wrs = 0;
	smc_wr_slot_put(taken[--n]);
	smc_lgr_del_link(u.e.second, SMC_LINK_ADMIN);
	flush_delayed_work(&u.e.conn->work);
	KUNIT_EXPECT_PTR_EQ(test, u.e.conn->link, u.e.first);
	KUNIT_EXPECT_FALSE(test, u.e.conn->tx.move.validate);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_READY);
	third = env_add_link(test, u.e.lgr);
	env_bring_up(test, third);
	conn_env_add_key(&u.e, third->slot);
	KUNIT_ASSERT_TRUE(test, smc_conn_reachable_slots(u.e.conn) & BIT(third->slot));
	smc_link_get(u.e.first);
	smc_link_add_conn(u.e.first);
	u.e.first->qp->wrs += spare;
	while (n)
		smc_wr_slot_put(taken[--n]);
	upgrade_env_work(&u);
	KUNIT_EXPECT_PTR_EQ(test, u.e.conn->link, u.e.first);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.first, NULL), SMC_CDC_EXT_GO);
	smc_link_del_conn(u.e.first);
	smc_link_put(third);
	upgrade_env_end(&u);
}

/* The peer's RMBE cannot be written over any link that is left: the client withdraws. */
static void upgrade_go_no_key(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_asked(test, &u);
	smc_link_hold_conns(u.e.second, true);
	upgrade_env_accept(test, &u);
	smc_lgr_del_link(u.e.second, SMC_LINK_ADMIN);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_INIT);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	upgrade_env_drop(&u);
}

static bool upgrade_wait_leave(struct upgrade_env *u)
{
	unsigned long until = jiffies + PATIENCE;

	while (!READ_ONCE(u->e.conn->unregistered) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return READ_ONCE(u->e.conn->unregistered);
}

/* The peer has acknowledged the last message, and is silent for as long as it may be. */
static void upgrade_env_expire(struct upgrade_env *u)
{
	env_complete_sends(u->e.second);
	spin_lock_bh(&u->e.conn->lock);
	if (u->e.conn->deadline_armed)
		u->e.conn->deadline = jiffies - 1;
	spin_unlock_bh(&u->e.conn->lock);
	smc_conn_queue_work(u->e.conn);
}

/* A first message without GO, or one that is impossible: TCP is reset, the RMBE kept. */
static void upgrade_go_missing(struct kunit *test)
{
	static const struct smc_cdc_msg lies[] = {
		{ .seq = 1 },
		{ .seq = 1, .ext = SMC_CDC_EXT_S, .s = ENV_S },
		{ .seq = 1, .state = SMC_CDC_S_ABORT },
		{ .seq = 1, .prod.off = ENV_RING },
		/* names a message that was never here */
		{ .seq = 1, .flags = SMC_CDC_F_FAILOVER },
	};
	struct smc_cdc_msg msg;
	struct upgrade_env u;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		upgrade_begin_answered(test, &u);
		msg = lies[i];
		conn_env_receive_msg(&u.e, u.e.second, &msg);
		KUNIT_EXPECT_EQ_MSG(test, upgrade_env_agree(&u), SMC_UPGRADE_DEAD, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, smc_conn_state(u.e.conn), SMC_CONN_INIT, "row %u", i);
		KUNIT_EXPECT_TRUE_MSG(test, upgrade_wait_leave(&u), "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, u.e.conn->err, ECONNRESET, "row %u", i);
		KUNIT_EXPECT_TRUE_MSG(test, smc_conn_is_broken(u.e.conn), "row %u", i);
		KUNIT_EXPECT_TRUE_MSG(test, u.e.conn->quarantine, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, u.bits & SMC_CONN_BROKEN, SMC_CONN_BROKEN, "row %u", i);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(u.e.lgr->dead));
		upgrade_env_drop(&u);
	}
}

/* A server that sends before GO: the client withdraws, and TCP goes on. */
static void upgrade_server_early(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_asked(test, &u);
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_INIT);
	KUNIT_EXPECT_FALSE(test, u.e.conn->rx.seen);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	upgrade_env_drop(&u);
}

/*
 * TCP has failed at the server, or was given up there, which is known to the application; GO still
 * comes, and is answered by A.
 */
static void upgrade_go_after_failure(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct upgrade_env u;
	int i;

	for (i = 0; i < 3; i++) {
		upgrade_begin_answered(test, &u);
		u.bits = 0;
		if (i == 0)
			smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_ERROR);
		else
			smc_conn_abort(u.e.conn, i == 1 ? ETIMEDOUT : ECONNRESET);
		KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_FAILED);
		KUNIT_EXPECT_EQ(test, u.bits, 0);
		upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
		KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_PEERABORTWAIT);
		KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
		KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.second, &last), 1);
		KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_ABORT);
		upgrade_env_end(&u);
	}

	/* a withdrawal in place of GO: the client may use the element again */
	upgrade_begin_answered(test, &u);
	smc_conn_abort(u.e.conn, ETIMEDOUT);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
	KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
	KUNIT_EXPECT_FALSE(test, u.e.conn->quarantine);
	upgrade_env_drop(&u);
}

/* The application has closed, and the client breaks the protocol: TCP is reset all the same. */
static void upgrade_go_missing_closed(struct kunit *test)
{
	unsigned long until = jiffies + PATIENCE;
	struct smc_clcsock clcsock = {};
	struct smc_orphan *orphan;
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	KUNIT_ASSERT_EQ(test, smc_clcsock_create(&clcsock, &init_net, AF_INET, 1), 0);
	orphan = smc_orphan_create(&clcsock);
	KUNIT_ASSERT_NOT_NULL(test, orphan);
	smc_conn_upgrade_close_tcp(u.e.conn, ENV_S, orphan);
	KUNIT_EXPECT_PTR_EQ(test, u.e.conn->orphan, orphan);
	upgrade_env_receive(&u, 1, 0);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_DEAD);
	while (READ_ONCE(u.e.conn->orphan) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_NULL(test, u.e.conn->orphan);
	KUNIT_EXPECT_EQ(test, u.e.conn->tcp_end, SMC_TCP_END_RST);
	KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
	upgrade_env_drop(&u);
}

/* ---- S ---- */

/* S is in each message until it is acknowledged, and so are values in place of messages. */
static void upgrade_s_sent(struct kunit *test)
{
	struct upgrade_env u;
	u64 s;

	upgrade_begin_server(test, &u);
	u.tcp.acked = 0;
	u.bits = 0;
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, &s), SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, s, ENV_S);
	KUNIT_EXPECT_EQ(test, u.bits, SMC_CONN_WRITABLE);
	/* it is fixed */
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S + 1);
	env_complete_sends(u.e.second);
	conn_env_send(&u.e, 100);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, &s), SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, s, ENV_S);
	env_complete_sends(u.e.second);
	conn_env_send(&u.e, 100);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, &s), SMC_CDC_EXT_S);
	env_complete_sends(u.e.second);
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO | SMC_CDC_EXT_S_ACK);
	conn_env_send(&u.e, 100);
	/* a value: the two last requests are not messages */
	KUNIT_EXPECT_EQ(test, fake_ib_sent(fake_ib_qp(u.e.second->qp->qp), 0)->opcode,
			IB_WR_RDMA_WRITE_WITH_IMM);
	spin_lock_bh(&u.e.conn->lock);
	smc_tx_send_update_locked(u.e.conn);
	spin_unlock_bh(&u.e.conn->lock);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, NULL), 0);
	upgrade_env_end(&u);
}

/* S is lost with its link, or S_ACK is: both are in the message over the next one. */
static void upgrade_s_lost(struct kunit *test)
{
	struct upgrade_env u;
	u64 s;

	upgrade_begin_server(test, &u);
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.second, &s), SMC_CDC_EXT_S | SMC_CDC_EXT_S_ACK);
	smc_lgr_del_link(u.e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, upgrade_env_sent(u.e.first, &s), SMC_CDC_EXT_S | SMC_CDC_EXT_S_ACK);
	KUNIT_EXPECT_EQ(test, s, ENV_S);
	upgrade_env_end(&u);
}

/* Each repetition of S is acknowledged; S_ACK is in all later messages. */
static void upgrade_s_received(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct upgrade_env u;

	upgrade_begin_server(test, &u);
	u.tcp.rx.received = ENV_S - 10;
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, u.e.conn->upgrade->fsm.rx, SMC_UPGRADE_RX_TAIL);
	KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.second, &last), 1);
	KUNIT_EXPECT_EQ(test, last.ext, SMC_CDC_EXT_S_ACK);
	/* the same message, over another link or twice over one */
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.second, &last), 2);
	upgrade_env_receive(&u, 3, SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.second, &last), 3);
	upgrade_env_receive(&u, 4, 0);
	KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.second, &last), 3);
	/* one that is late says nothing */
	upgrade_env_receive(&u, 3, SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, env_count_cdc(u.e.second, &last), 3);
	u.bits = 0;
	u.tcp.rx.received = ENV_S;
	smc_conn_upgrade_look(u.e.conn);
	KUNIT_EXPECT_EQ(test, u.e.conn->upgrade->fsm.rx, SMC_UPGRADE_RX_RING);
	KUNIT_EXPECT_EQ(test, u.bits, SMC_CONN_READABLE);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	upgrade_env_end(&u);
}

/* A peer that lies: @ext, @s, @prod and @state are in message 3, or @imm comes after message 2. */
static const struct {
	const char *what;
	u8 ext2, ext;
	u64 s;
	u32 prod;
	u8 state;
	bool fin;
	u32 imm;
	u64 received;	/* by TCP after that */
} upgrade_lies[] = {
	{ "S below what TCP has received", 0, SMC_CDC_EXT_S, ENV_S - 1 },
	{ "S too far", 0, SMC_CDC_EXT_S, ENV_S + 0x80000000ULL },
	{ "S changed", SMC_CDC_EXT_S, SMC_CDC_EXT_S, ENV_S + 1 },
	{ "S elsewhere than FIN", 0, SMC_CDC_EXT_S, ENV_S + 1, .fin = true },
	{ "bytes before S", 0, 0, .prod = 10 },
	{ "D before S", 0, 0, .state = SMC_CDC_S_DONE },
	{ "C before S", 0, 0, .state = SMC_CDC_S_CLOSED },
	{ "value before S", 0, 0, .imm = 10 },
	{ "bytes of TCP behind S", 0, SMC_CDC_EXT_S, ENV_S, .received = ENV_S + 1 },
};

static void upgrade_s_lies(struct kunit *test)
{
	struct upgrade_env u;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(upgrade_lies); i++) {
		struct smc_cdc_msg msg = {
			.seq = 3, .ext = upgrade_lies[i].ext, .s = upgrade_lies[i].s,
			.prod.off = upgrade_lies[i].prod, .state = upgrade_lies[i].state,
		};

		upgrade_begin_server(test, &u);
		upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO | upgrade_lies[i].ext2);
		KUNIT_EXPECT_EQ_MSG(test, u.e.conn->err, 0, "%s", upgrade_lies[i].what);
		u.tcp.rx.fin = upgrade_lies[i].fin;
		if (upgrade_lies[i].imm)
			smc_conn_lgr_events.imm(u.e.second,
						smc_cdc_imm_build(u.e.conn->token,
								  upgrade_lies[i].imm));
		else
			conn_env_receive_msg(&u.e, u.e.second, &msg);
		if (upgrade_lies[i].received) {
			u.tcp.rx.received = upgrade_lies[i].received;
			smc_conn_upgrade_look(u.e.conn);
		}
		KUNIT_EXPECT_EQ_MSG(test, u.e.conn->err, ECONNABORTED, "%s", upgrade_lies[i].what);
		KUNIT_EXPECT_EQ_MSG(test, u.e.conn->tcp_end, SMC_TCP_END_RST, "%s",
				    upgrade_lies[i].what);
		KUNIT_EXPECT_EQ_MSG(test, u.e.conn->rx.ring.produced, 0, "%s",
				    upgrade_lies[i].what);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(u.e.lgr->dead));
		upgrade_env_end(&u);
	}
}

/* The reader has seen the end of file before the server answered: S has to be the end. */
static void upgrade_s_after_end(struct kunit *test)
{
	struct smc_cdc_msg msg = {
		.seq = 1, .ext = SMC_CDC_EXT_GO | SMC_CDC_EXT_S, .s = ENV_S,
	};
	struct upgrade_env u;
	int i;

	for (i = 0; i < 2; i++) {
		upgrade_env_create(test, &u, SMC_SERVER);
		upgrade_env_set_peer(test, &u);
		/* nobody has looked at TCP since FIN */
		u.tcp.rx.fin = true;
		KUNIT_ASSERT_EQ(test, smc_conn_upgrade_begin(u.e.conn), 0);
		KUNIT_EXPECT_EQ(test, u.bits, SMC_CONN_READABLE);
		msg.state = i ? SMC_CDC_S_DONE : 0;
		conn_env_receive_msg(&u.e, u.e.second, &msg);
		KUNIT_EXPECT_EQ(test, u.e.conn->err, i ? 0 : ECONNABORTED);
		upgrade_env_end(&u);
	}

	/* or before the client posted GO */
	upgrade_begin_asked(test, &u);
	u.tcp.rx.fin = true;
	upgrade_env_accept(test, &u);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_EQ(test, u.e.conn->upgrade->fsm.rx, SMC_UPGRADE_RX_OPEN_END);
	upgrade_env_end(&u);
}

/* FIN alone decides nothing, and the peer's other messages do not stop the clock. */
static void upgrade_s_missing(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_client(test, &u);
	KUNIT_EXPECT_NE(test, u.e.conn->upgrade->deadline, 0);
	u.tcp.rx.fin = true;
	smc_conn_upgrade_look(u.e.conn);
	upgrade_env_receive(&u, 1, 0);
	KUNIT_EXPECT_NE(test, u.e.conn->upgrade->deadline, 0);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	spin_lock_bh(&u.e.conn->lock);
	u.e.conn->upgrade->deadline = jiffies - 1 ?: 1;
	spin_unlock_bh(&u.e.conn->lock);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, ECONNABORTED);
	upgrade_env_end(&u);

	upgrade_begin_client(test, &u);
	u.tcp.rx.fin = true;
	smc_conn_upgrade_look(u.e.conn);
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, u.e.conn->upgrade->deadline, 0);
	upgrade_env_end(&u);
}

/* A does not wait for the bytes before S, which the RST has destroyed. */
static void upgrade_abort_at_once(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 2, .prod.off = 10, .state = SMC_CDC_S_ABORT };
	struct upgrade_env u;

	upgrade_begin_server(test, &u);
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, ECONNRESET);
	KUNIT_EXPECT_EQ(test, u.e.conn->rx.ring.produced, 0);
	upgrade_env_end(&u);
}

/* D comes with A, or before it: the end of file, if TCP has received all bytes before S. */
static void upgrade_abort_with_end(struct kunit *test)
{
	struct smc_cdc_msg end = { .seq = 3, .state = SMC_CDC_S_DONE };
	struct smc_cdc_msg abort = { .seq = 4, .state = SMC_CDC_S_DONE | SMC_CDC_S_ABORT };
	struct upgrade_env u;
	int i;

	for (i = 0; i < 4; i++) {
		upgrade_begin_server(test, &u);
		u.tcp.rx.received = i & 1 ? ENV_S : ENV_S - 1;
		upgrade_env_receive(&u, 2, SMC_CDC_EXT_S);
		if (i & 2)
			conn_env_receive_msg(&u.e, u.e.second, &end);
		conn_env_receive_msg(&u.e, u.e.second, &abort);
		KUNIT_EXPECT_EQ(test, u.e.conn->err, i & 1 ? EPIPE : ECONNRESET);
		KUNIT_EXPECT_EQ(test, u.e.conn->rx.ended, !!(i & 1));
		upgrade_env_end(&u);
	}

	/* the same if TCP has failed */
	upgrade_begin_server(test, &u);
	u.tcp.rx.received = ENV_S - 1;
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_S);
	conn_env_receive_msg(&u.e, u.e.second, &end);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_ERROR);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_FALSE(test, u.e.conn->rx.ended);
	upgrade_env_end(&u);
}

/* ---- ends of a direction ---- */

/* Shut down on TCP: S and D are in the same message, the first one with S. */
static void upgrade_shut_on_tcp(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_SHUT);
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO);
	env_complete_sends(u.e.second);
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	KUNIT_EXPECT_GE(test, env_count_cdc(u.e.second, &last), 1);
	KUNIT_EXPECT_EQ(test, last.ext, SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_DONE);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_PEERCLOSEWAIT1_D);
	upgrade_env_end(&u);

	/* shut down while calls are inside TCP: D waits for S, even if no slot was free before */
	upgrade_begin_server(test, &u);
	smc_conn_shutdown(u.e.conn, SHUTDOWN_MASK);
	KUNIT_EXPECT_EQ(test, env_count_sends(u.e.second), 0);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_ACTIVE);
	spin_lock_bh(&u.e.conn->lock);
	u.e.conn->tx.cons_due = true;
	spin_unlock_bh(&u.e.conn->lock);
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	KUNIT_EXPECT_GE(test, env_count_cdc(u.e.second, &last), 1);
	KUNIT_EXPECT_EQ(test, last.ext, SMC_CDC_EXT_S);
	/* no C: the peer's S is not here, so bytes of TCP may be unread */
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_DONE);
	upgrade_env_end(&u);
}

/* Closed on TCP: nobody shuts the gate, S and C follow GO. */
static void upgrade_closed_on_tcp(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	smc_conn_upgrade_close_tcp(u.e.conn, ENV_S, NULL);
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
	KUNIT_EXPECT_GE(test, env_count_cdc(u.e.second, &last), 1);
	KUNIT_EXPECT_EQ(test, last.ext, SMC_CDC_EXT_S | SMC_CDC_EXT_S_ACK);
	KUNIT_EXPECT_EQ(test, last.s, ENV_S);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_CLOSED);
	upgrade_env_end(&u);

	/* the socket did not know yet that GO was posted */
	upgrade_begin_client(test, &u);
	smc_conn_upgrade_close_tcp(u.e.conn, ENV_S, NULL);
	env_count_cdc(u.e.second, &last);
	KUNIT_EXPECT_EQ(test, last.ext, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_CLOSED);
	upgrade_env_end(&u);
}

/* close() after the agreement waits for S, too. */
static void upgrade_closed_at_gate(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct upgrade_env u;

	upgrade_begin_server(test, &u);
	smc_conn_detach(u.e.conn);
	smc_conn_close(u.e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, env_count_sends(u.e.second), 0);
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	KUNIT_EXPECT_GE(test, env_count_cdc(u.e.second, &last), 1);
	KUNIT_EXPECT_EQ(test, last.ext, SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_CLOSED);
	upgrade_env_end(&u);
}

/* The application has closed, with @read bytes of TCP read, and C is sent. */
static void upgrade_begin_closed(struct kunit *test, struct upgrade_env *u, u64 read)
{
	upgrade_begin_server(test, u);
	smc_conn_upgrade_shut_gate(u->e.conn, ENV_S);
	KUNIT_EXPECT_FALSE(test, smc_conn_upgrade_leave_reader(u->e.conn, read));
	smc_conn_detach(u->e.conn);
	smc_conn_close(u->e.conn, false, HZ, NULL);
	env_complete_sends(u->e.second);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u->e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
}

/* S says that bytes come over TCP that nobody will read: A follows C, as a reset does on TCP. */
static void upgrade_closed_unread(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 2, .ext = SMC_CDC_EXT_S, .s = ENV_S }, last;
	struct upgrade_env u;

	upgrade_begin_closed(test, &u, ENV_S);
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	upgrade_env_end(&u);

	upgrade_begin_closed(test, &u, ENV_S - 1);
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_PEERABORTWAIT);
	env_count_cdc(u.e.second, &last);
	KUNIT_EXPECT_EQ(test, last.state & SMC_CDC_S_ABORT, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, u.e.conn->tcp_end, SMC_TCP_END_RST);
	upgrade_env_end(&u);

	/* it is known before: the caller of close() aborts */
	upgrade_begin_server(test, &u);
	u.tcp.rx.received = ENV_S - 1;
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	KUNIT_EXPECT_TRUE(test, smc_conn_upgrade_leave_reader(u.e.conn, ENV_S - 1));
	upgrade_env_end(&u);

	/* S comes between the look and the close, with which it has to end */
	upgrade_begin_server(test, &u);
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	KUNIT_EXPECT_FALSE(test, smc_conn_upgrade_leave_reader(u.e.conn, ENV_S - 1));
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_PEERABORTWAIT);
	smc_conn_detach(u.e.conn);
	smc_conn_close(u.e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_PEERABORTWAIT);
	upgrade_env_end(&u);
}

/* The peer closes while TCP has @tx bytes before our S under way, and @rx before its own S. */
static void upgrade_begin_peer_closed(struct kunit *test, struct upgrade_env *u, u64 tx, u64 rx)
{
	struct smc_cdc_msg msg = {
		.seq = 2, .ext = SMC_CDC_EXT_S, .s = ENV_S, .state = SMC_CDC_S_CLOSED,
	};

	upgrade_begin_server(test, u);
	u->tcp.acked = ENV_S - tx;
	u->tcp.rx.received = ENV_S - rx;
	smc_conn_upgrade_shut_gate(u->e.conn, ENV_S);
	env_complete_sends(u->e.second);
	conn_env_receive_msg(&u->e, u->e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u->e.conn), tx || rx ? SMC_CONN_APPCLOSEWAIT1_D :
								    SMC_CONN_APPCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, u->e.conn->err, 0);
	/* the reader gets the end of file in either case */
	KUNIT_EXPECT_TRUE(test, u->e.conn->rx.ended);
}

/* C of the peer counts as D until TCP has carried what it may have overtaken. */
static void upgrade_peer_closed(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_peer_closed(test, &u, 0, 0);
	upgrade_env_end(&u);

	/* TCP delays the acknowledgment */
	upgrade_begin_peer_closed(test, &u, 1, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_APPCLOSEWAIT1_D);
	u.tcp.acked = ENV_S;
	msleep(100);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_APPCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	upgrade_env_end(&u);

	upgrade_begin_peer_closed(test, &u, 0, 1);
	u.tcp.rx.received = ENV_S;
	smc_conn_upgrade_look(u.e.conn);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_APPCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	upgrade_env_end(&u);

	/* so the peer has closed without reading all: a reset, as on TCP */
	upgrade_begin_peer_closed(test, &u, 1, 0);
	msleep(19 * MSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	msleep(2 * MSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, EPIPE);
	KUNIT_EXPECT_EQ(test, u.e.conn->tcp_end, SMC_TCP_END_RST);
	upgrade_env_end(&u);
}

/* It does not outlast our direction: then C cannot be early, and the peer waits for its answer. */
static void upgrade_peer_closed_first(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_peer_closed(test, &u, 1, 0);
	smc_conn_shutdown(u.e.conn, SEND_SHUTDOWN);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_APPCLOSEWAIT2_C);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	upgrade_env_end(&u);

	upgrade_begin_peer_closed(test, &u, 1, 0);
	smc_conn_detach(u.e.conn);
	smc_conn_close(u.e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, u.e.conn->tcp_end, SMC_TCP_END_FIN_SECOND);
	upgrade_env_end(&u);

	/* TCP fails: A, which the peer, having sent C, does not answer */
	upgrade_begin_peer_closed(test, &u, 1, 0);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_ERROR);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_FALSE(test, u.e.conn->quarantine);
	upgrade_env_end(&u);

	/* the peer's TCP has refused our last bytes */
	upgrade_begin_peer_closed(test, &u, 1, 0);
	smc_conn_shutdown(u.e.conn, SEND_SHUTDOWN);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_APPCLOSEWAIT2_C);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_RST);
	KUNIT_EXPECT_NE(test, u.e.conn->err, 0);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_FALSE(test, u.e.conn->quarantine);
	upgrade_env_end(&u);

	/* it had them: this is the rest of its close */
	upgrade_begin_peer_closed(test, &u, 1, 0);
	smc_conn_shutdown(u.e.conn, SEND_SHUTDOWN);
	u.tcp.acked = ENV_S;
	smc_conn_upgrade_look(u.e.conn);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_RST);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_APPCLOSEWAIT2_C);
	upgrade_env_end(&u);
}

/* ---- errors of TCP ---- */

/* They count until TCP has carried all bytes before both S. */
static void upgrade_tcp_error(struct kunit *test)
{
	struct upgrade_env u;
	int i;

	for (i = 0; i < 2; i++) {
		upgrade_begin_server(test, &u);
		u.tcp.acked = 0;
		smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
		upgrade_env_receive(&u, 2, SMC_CDC_EXT_GO | SMC_CDC_EXT_S);
		/* TCP reports no acknowledgment */
		u.tcp.acked = i ? ENV_S : 0;
		smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_ERROR);
		KUNIT_EXPECT_EQ(test, u.e.conn->err, i ? 0 : ECONNABORTED);
		if (i)
			smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_RST);
		KUNIT_EXPECT_EQ(test, u.e.conn->err, i ? ECONNRESET : ECONNABORTED);
		upgrade_env_end(&u);
	}
}

/* ---- a connection of a rendezvous ---- */

/* It sends none of the bits, and ignores those that it gets. */
static void upgrade_none(struct kunit *test)
{
	struct smc_cdc_msg msg = {
		.seq = 1, .ext = SMC_CDC_EXT_GO | SMC_CDC_EXT_S | SMC_CDC_EXT_S_ACK, .s = 5,
		.prod.off = 10,
	}, last;
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 10);
	KUNIT_EXPECT_EQ(test, e.conn->err, 0);
	conn_env_send(&e, 100);
	KUNIT_EXPECT_GE(test, env_count_cdc(e.second, &last), 1);
	KUNIT_EXPECT_EQ(test, last.ext, 0);
	conn_env_end(&e);
}

/* ---- memory ---- */

/* What is in use without the connection, which has one element of each kind. */
static void upgrade_note_used(struct upgrade_env *u)
{
	u32 kind;

	for (kind = 0; kind < SMC_REGION_KINDS; kind++)
		u->used[kind] = upgrade_env_count_used(u, kind) - 1;
}

/*
 * Drop the connection, and expect that its elements are free, but for an RMBE in quarantine; and
 * that they stay with a connection that takes them then.
 */
static void upgrade_expect_freed(struct kunit *test, struct upgrade_env *u, bool quarantine,
				 const char *what)
{
	u64 kept = smc_stats_get(&init_net, SMC_STAT_ELEM_QUARANTINE);
	unsigned long until = jiffies + PATIENCE;
	struct smc_conn *next = NULL;
	bool cancel = false;

	upgrade_env_drop(u);
	while ((upgrade_env_count_used(u, SMC_REGION_SND) != u->used[SMC_REGION_SND] ||
		upgrade_env_count_used(u, SMC_REGION_RMB) !=
		u->used[SMC_REGION_RMB] + quarantine) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ_MSG(test, upgrade_env_count_used(u, SMC_REGION_SND),
			    u->used[SMC_REGION_SND], "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, upgrade_env_count_used(u, SMC_REGION_RMB),
			    u->used[SMC_REGION_RMB] + quarantine, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, smc_stats_get(&init_net, SMC_STAT_ELEM_QUARANTINE),
			    kept + quarantine, "%s", what);
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(&u->e.lgr->rmbe_claims.list), "%s", what);
	if (READ_ONCE(u->e.lgr->dead))
		return;
	next = smc_conn_create(u->e.lgr, u->e.first, ENV_RING, ENV_RING, false, &cancel);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, next);
	msleep(20);
	KUNIT_EXPECT_EQ_MSG(test, upgrade_env_count_used(u, SMC_REGION_SND),
			    u->used[SMC_REGION_SND] + 1, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, upgrade_env_count_used(u, SMC_REGION_RMB),
			    u->used[SMC_REGION_RMB] + quarantine + 1, "%s", what);
	smc_conn_discard(next, false);
}

/* Nothing came of it: the other end did not want, or the client thought better of it. */
static void upgrade_freed_client(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_env_create(test, &u, SMC_CLIENT);
	upgrade_note_used(&u);
	smc_conn_get(u.e.conn);
	smc_conn_discard(u.e.conn, false);
	upgrade_expect_freed(test, &u, false, "not asked");

	upgrade_begin_asked(test, &u);
	upgrade_note_used(&u);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_REFUSED);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_REFUSED);
	KUNIT_EXPECT_EQ(test, u.bits & (SMC_CONN_CHANGED | SMC_CONN_BROKEN), SMC_CONN_CHANGED);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, 0);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.llc & SMC_UPGRADE_ACT_FREE_SLOT, SMC_UPGRADE_ACT_FREE_SLOT);
	upgrade_expect_freed(test, &u, false, "refused");

	/* a yes crosses the withdrawal, and binds nothing */
	upgrade_begin_asked(test, &u);
	upgrade_note_used(&u);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_WITHDRAW);
	upgrade_env_accept(test, &u);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.llc & SMC_CONN_UPGRADE_LLC,
			SMC_UPGRADE_ACT_SEND_REQUEST | SMC_UPGRADE_ACT_SEND_WITHDRAWAL);
	KUNIT_EXPECT_EQ(test, upgrade_env_count_used(&u, SMC_REGION_RMB),
			u.used[SMC_REGION_RMB] + 1);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	upgrade_expect_freed(test, &u, false, "withdrawn");

	/* the socket is gone before the answer */
	upgrade_begin_asked(test, &u);
	upgrade_note_used(&u);
	smc_conn_upgrade_close_tcp(u.e.conn, ENV_S, NULL);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	upgrade_expect_freed(test, &u, false, "closed");
}

/*
 * A connection goes before its request has ended: LLC is notified, and the RMBE is not used again,
 * since the peer may write.
 */
static void upgrade_goes_unanswered(struct kunit *test)
{
	struct upgrade_env u;
	int i;

	for (i = 0; i < 2; i++) {
		upgrade_begin_client(test, &u);
		if (i)
			upgrade_env_receive(&u, 1, 0);
		smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_RST);
		upgrade_env_expire(&u);
		KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
		flush_delayed_work(&u.e.conn->work);
		KUNIT_EXPECT_EQ_MSG(test, u.llc & SMC_CONN_UPGRADE_ABANDON,
				    i ? 0 : SMC_CONN_UPGRADE_ABANDON, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, u.llc & SMC_UPGRADE_ACT_FREE_SLOT,
				    i ? SMC_UPGRADE_ACT_FREE_SLOT : 0, "row %d", i);
		if (!i)
			KUNIT_EXPECT_TRUE(test, u.e.conn->quarantine);
		upgrade_env_drop(&u);
	}
	upgrade_begin_answered(test, &u);
	upgrade_env_receive(&u, 1, 0);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_DEAD);
	KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
	flush_delayed_work(&u.e.conn->work);
	KUNIT_EXPECT_EQ(test, u.llc & SMC_CONN_UPGRADE_ABANDON, SMC_CONN_UPGRADE_ABANDON);
	KUNIT_EXPECT_TRUE(test, u.e.conn->quarantine);
	upgrade_env_drop(&u);
}

/* A client closes: its clcsock waits for no answer, but with the end of the ring once GO is out. */
static void upgrade_closed_client(struct kunit *test)
{
	struct smc_orphan *orphan;
	struct upgrade_env u;
	int i;

	for (i = 0; i < 3; i++) {
		struct smc_clcsock clcsock = {};

		upgrade_begin_asked(test, &u);
		smc_link_hold_conns(u.e.second, i == 1);
		if (i)
			upgrade_env_accept(test, &u);
		KUNIT_ASSERT_EQ(test, smc_clcsock_create(&clcsock, &init_net, AF_INET, 1), 0);
		orphan = smc_orphan_create(&clcsock);
		KUNIT_ASSERT_NOT_NULL(test, orphan);
		smc_conn_upgrade_close_tcp(u.e.conn, ENV_S, orphan);
		KUNIT_EXPECT_EQ_MSG(test, upgrade_env_agree(&u),
				    i == 2 ? SMC_UPGRADE_SMC : SMC_UPGRADE_WITHDRAWN, "row %d", i);
		KUNIT_EXPECT_PTR_EQ_MSG(test, u.e.conn->orphan, i == 2 ? orphan : NULL, "row %d",
					i);
		smc_link_hold_conns(u.e.second, false);
		if (i < 2)
			smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
		upgrade_env_expire(&u);
		KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
		upgrade_env_drop(&u);
	}
}

static void upgrade_freed_server(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	upgrade_note_used(&u);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
	/* the client may use its element in the next request, before this connection is gone */
	KUNIT_EXPECT_TRUE(test, list_empty(&u.e.lgr->rmbe_claims.list));
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
	KUNIT_EXPECT_EQ(test, u.bits & SMC_CONN_BROKEN, 0);
	upgrade_expect_freed(test, &u, false, "withdrawn");

	/* neither GO nor a withdrawal in time */
	upgrade_begin_answered(test, &u);
	upgrade_note_used(&u);
	spin_lock_bh(&u.e.conn->lock);
	u.e.conn->upgrade->deadline = jiffies - 1 ?: 1;
	spin_unlock_bh(&u.e.conn->lock);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_DEAD);
	KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
	KUNIT_EXPECT_EQ(test, u.bits & SMC_CONN_BROKEN, SMC_CONN_BROKEN);
	upgrade_expect_freed(test, &u, true, "silent client");
}

/* After GO the connection ends as any other one. */
static void upgrade_freed_after_go(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 2, .state = SMC_CDC_S_ABORT };
	struct upgrade_env u;
	int i;

	for (i = 0; i < 2; i++) {
		upgrade_begin_server(test, &u);
		upgrade_note_used(&u);
		smc_conn_abort(u.e.conn, ECONNABORTED);
		if (i)
			conn_env_receive_msg(&u.e, u.e.second, &msg);
		upgrade_env_expire(&u);
		KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
		upgrade_expect_freed(test, &u, !i, i ? "peer has ended" : "peer is silent");
	}
}

/* The last message is acknowledged before the work has run that frees the slot of the request. */
static void upgrade_leaves_late(struct kunit *test)
{
	struct smc_cdc_msg msg = {
		.seq = 2, .ext = SMC_CDC_EXT_S, .s = ENV_S, .state = SMC_CDC_S_CLOSED,
	};
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	local_bh_disable();	/* no work runs on this CPU */
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO);
	smc_conn_upgrade_shut_gate(u.e.conn, ENV_S);
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	smc_conn_detach(u.e.conn);
	smc_conn_close(u.e.conn, false, HZ, NULL);
	env_complete_sends(u.e.second);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_FALSE(test, u.e.conn->tx.state_unacked);
	/* the work may have run here, but not without LLC */
	KUNIT_EXPECT_TRUE(test, !READ_ONCE(u.e.conn->unregistered) ||
			  u.llc & SMC_UPGRADE_ACT_FREE_SLOT);
	KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
	KUNIT_EXPECT_EQ(test, u.llc & SMC_UPGRADE_ACT_FREE_SLOT, SMC_UPGRADE_ACT_FREE_SLOT);
	upgrade_env_drop(&u);
}

/* ---- end of the group ---- */

static void upgrade_end_group(struct upgrade_env *u)
{
	smc_lgr_terminate(u->e.lgr, SMC_LINK_ADMIN);
	flush_work(&u->e.lgr->term_work);
}

/* Until GO the end of the group changes nothing for TCP, whatever the state. */
static void upgrade_group_ends(struct kunit *test)
{
	struct upgrade_env u;
	int i;

	for (i = 0; i < 5; i++) {
		if (i < 3)
			upgrade_begin_asked(test, &u);
		else
			upgrade_begin_answered(test, &u);
		upgrade_note_used(&u);
		if (i == 1) {
			smc_link_hold_conns(u.e.second, true);
			upgrade_env_accept(test, &u);
			KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_READY);
		} else if (i == 2) {
			smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_WITHDRAW);
		} else if (i == 4) {
			smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_TCP_ERROR);
		}
		upgrade_end_group(&u);
		KUNIT_EXPECT_EQ_MSG(test, upgrade_env_agree(&u), SMC_UPGRADE_TCP, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, u.e.conn->err, 0, "row %d", i);
		KUNIT_EXPECT_TRUE_MSG(test, upgrade_wait_leave(&u), "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, u.bits & (SMC_CONN_CHANGED | SMC_CONN_BROKEN),
				    SMC_CONN_CHANGED, "row %d", i);
		upgrade_expect_freed(test, &u, false, "group has ended");
	}
}

/* It has ended before the request. */
static void upgrade_group_ended(struct kunit *test)
{
	struct upgrade_env u;

	upgrade_env_create(test, &u, SMC_CLIENT);
	upgrade_note_used(&u);
	upgrade_end_group(&u);
	KUNIT_EXPECT_EQ(test, smc_conn_upgrade_begin(u.e.conn), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_TCP);
	smc_conn_get(u.e.conn);
	smc_conn_discard(u.e.conn, false);
	upgrade_expect_freed(test, &u, false, "group had ended");
}

/* ... and from GO on it is the end of the connection. */
static void upgrade_group_ends_later(struct kunit *test)
{
	struct upgrade_env u;
	int i;

	for (i = 0; i < 2; i++) {
		if (i)
			upgrade_begin_client(test, &u);
		else
			upgrade_begin_server(test, &u);
		upgrade_end_group(&u);
		KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_CLOSED);
		KUNIT_EXPECT_EQ(test, u.e.conn->err, ECONNABORTED);
		KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
		KUNIT_EXPECT_TRUE(test, smc_conn_is_broken(u.e.conn));
		upgrade_env_drop(&u);
	}
}

/*
 * GO is parked, because the server's end of the previous link is not fenced, when the group ends:
 * the client is SMC, so the server must not stay TCP.
 */
static void upgrade_group_ends_behind_go(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 2, .ext = SMC_CDC_EXT_GO };
	unsigned long until = jiffies + PATIENCE;
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	smc_failover_rx_init(&u.e.conn->rx.path, u.e.second->slot);
	/* no link is fenced meanwhile */
	mutex_lock(&u.e.lgr->failover_mutex);
	conn_env_receive_msg(&u.e, u.e.first, &msg);
	KUNIT_EXPECT_EQ(test, u.e.conn->rx.path.nparked, 1);
	smc_lgr_terminate(u.e.lgr, SMC_LINK_ADMIN);
	while (!READ_ONCE(u.e.conn->tx.stopped) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(u.e.conn->tx.stopped));
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_ANSWERED);
	mutex_unlock(&u.e.lgr->failover_mutex);
	flush_work(&u.e.lgr->term_work);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_SMC);
	KUNIT_EXPECT_EQ(test, smc_conn_state(u.e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, u.e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_TRUE(test, upgrade_wait_leave(&u));
	KUNIT_EXPECT_TRUE(test, smc_conn_is_broken(u.e.conn));
	upgrade_env_drop(&u);
}

/* ---- requests ---- */

/* A yes that does not fit, or cannot be true: nobody sends it again, so the client withdraws. */
static void upgrade_accept_unusable(struct kunit *test)
{
	struct smc_conn_peer_end end = upgrade_env_end_of_peer;
	struct smc_conn *other;
	struct upgrade_env u;

	upgrade_begin_asked(test, &u);
	other = conn_env_create_conn(test, &u.e);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(other, &end), 0);
	KUNIT_EXPECT_EQ(test, smc_conn_upgrade_take_accept(u.e.conn, &end), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	/* late */
	end.token++;
	end.index++;
	KUNIT_EXPECT_EQ(test, smc_conn_upgrade_take_accept(u.e.conn, &end), 0);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	smc_conn_discard(other, false);
	upgrade_env_drop(&u);

	upgrade_begin_asked(test, &u);
	end.index = 0;
	KUNIT_EXPECT_EQ(test, smc_conn_upgrade_take_accept(u.e.conn, &end), -EPROTO);
	KUNIT_EXPECT_EQ(test, upgrade_env_agree(&u), SMC_UPGRADE_WITHDRAWN);
	smc_conn_upgrade_step(u.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	upgrade_env_drop(&u);
}

/* What statistics say about a direction that has changed over; -1: it has not. */
static void upgrade_expect_tcp_bytes(struct kunit *test, struct upgrade_env *u, s64 tx, s64 rx)
{
	struct smc_conn_stats stats;

	spin_lock_bh(&u->e.conn->lock);
	smc_tcpinfo_get_stats(u->e.conn, &stats);
	spin_unlock_bh(&u->e.conn->lock);
	KUNIT_EXPECT_EQ(test, stats.tcp_tx_known ? (s64)stats.tcp_tx : -1, tx);
	KUNIT_EXPECT_EQ(test, stats.tcp_rx_known ? (s64)stats.tcp_rx : -1, rx);
}

/* Agreement and S are counted, whether a socket still looks or not, and once. */
static void upgrade_counted(struct kunit *test)
{
	u64 upgraded = smc_stats_get(&init_net, SMC_STAT_UPGRADED);
	u64 bytes = smc_stats_get(&init_net, SMC_STAT_UPGRADE_TCP_BYTES);
	struct upgrade_env u;

	upgrade_begin_answered(test, &u);
	smc_conn_detach(u.e.conn);
	upgrade_env_receive(&u, 1, SMC_CDC_EXT_GO);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_UPGRADED) - upgraded, 1);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_UPGRADE_TCP_BYTES) - bytes, 0);
	upgrade_expect_tcp_bytes(test, &u, -1, -1);
	upgrade_env_receive(&u, 2, SMC_CDC_EXT_S);
	upgrade_expect_tcp_bytes(test, &u, -1, ENV_S);
	upgrade_env_receive(&u, 3, SMC_CDC_EXT_S);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_UPGRADE_TCP_BYTES) - bytes, ENV_S);
	smc_conn_upgrade_shut_gate(u.e.conn, 7);
	smc_conn_upgrade_shut_gate(u.e.conn, 7);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_UPGRADE_TCP_BYTES) - bytes,
			ENV_S + 7);
	upgrade_expect_tcp_bytes(test, &u, 7, ENV_S);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_UPGRADED) - upgraded, 1);
	upgrade_env_end(&u);
}

/* Let a connection of @role change over. */
static void upgrade_begin_changed(struct kunit *test, struct upgrade_env *u, enum smc_role role)
{
	if (role == SMC_SERVER)
		upgrade_begin_server(test, u);
	else
		upgrade_begin_client(test, u);
	upgrade_env_work(u);
}

/* The agreement is reported once, without conn->lock, and only if somebody listens. */
static void upgrade_reported(struct kunit *test)
{
	struct upgrade_env u;
	struct socket *sock;
	enum smc_role role;
	int i;

	for (i = 0; i < 4; i++) {
		role = i & 1 ? SMC_SERVER : SMC_CLIENT;
		sock = i & 2 ? env_listen_events(test, SMC_NETLINK_OWN_CONNS_NAME) : NULL;
		upgrade_begin_changed(test, &u, role);
		KUNIT_EXPECT_EQ_MSG(test, !!(u.llc & SMC_CONN_UPGRADE_REPORT), !!sock, "row %d", i);
		u.llc = 0;
		upgrade_env_receive(&u, 2, SMC_CDC_EXT_S | (i & 1 ? SMC_CDC_EXT_GO : 0));
		upgrade_env_work(&u);
		KUNIT_EXPECT_EQ(test, u.llc & SMC_CONN_UPGRADE_REPORT, 0);
		if (sock)
			env_end_events(sock);
		upgrade_env_end(&u);
	}
}

/* Also that of a connection which ends with it: the program has closed, and the peer aborts. */
static void upgrade_reported_at_end(struct kunit *test)
{
	struct smc_cdc_msg msg = {
		.seq = 1, .ext = SMC_CDC_EXT_GO, .state = SMC_CDC_S_ABORT,
	};
	struct upgrade_env u;
	struct socket *sock;

	sock = env_listen_events(test, SMC_NETLINK_OWN_CONNS_NAME);
	upgrade_begin_answered(test, &u);
	smc_conn_detach(u.e.conn);
	conn_env_receive_msg(&u.e, u.e.second, &msg);
	env_complete_sends(u.e.second);
	upgrade_env_work(&u);
	KUNIT_EXPECT_EQ(test, u.llc & SMC_CONN_UPGRADE_REPORT, SMC_CONN_UPGRADE_REPORT);
	env_end_events(sock);
	upgrade_env_end(&u);
}

static struct kunit_case upgrade_cases[] = {
	KUNIT_CASE(upgrade_counted),
	KUNIT_CASE(upgrade_reported),
	KUNIT_CASE(upgrade_reported_at_end),
	KUNIT_CASE(upgrade_go_received),
	KUNIT_CASE(upgrade_go_sent),
	KUNIT_CASE(upgrade_go_lost),
	KUNIT_CASE(upgrade_go_moved),
	KUNIT_CASE(upgrade_go_waits),
	KUNIT_CASE(upgrade_go_keeps_link),
	KUNIT_CASE(upgrade_go_no_key),
	KUNIT_CASE(upgrade_go_missing),
	KUNIT_CASE(upgrade_server_early),
	KUNIT_CASE(upgrade_go_after_failure),
	KUNIT_CASE(upgrade_go_missing_closed),
	KUNIT_CASE(upgrade_s_sent),
	KUNIT_CASE(upgrade_s_lost),
	KUNIT_CASE(upgrade_s_received),
	KUNIT_CASE(upgrade_s_lies),
	KUNIT_CASE(upgrade_s_after_end),
	KUNIT_CASE(upgrade_s_missing),
	KUNIT_CASE(upgrade_abort_at_once),
	KUNIT_CASE(upgrade_abort_with_end),
	KUNIT_CASE(upgrade_shut_on_tcp),
	KUNIT_CASE(upgrade_closed_on_tcp),
	KUNIT_CASE(upgrade_closed_client),
	KUNIT_CASE(upgrade_goes_unanswered),
	KUNIT_CASE(upgrade_closed_at_gate),
	KUNIT_CASE(upgrade_closed_unread),
	KUNIT_CASE_SLOW(upgrade_peer_closed),
	KUNIT_CASE(upgrade_peer_closed_first),
	KUNIT_CASE(upgrade_tcp_error),
	KUNIT_CASE(upgrade_none),
	KUNIT_CASE(upgrade_freed_client),
	KUNIT_CASE(upgrade_freed_server),
	KUNIT_CASE(upgrade_freed_after_go),
	KUNIT_CASE(upgrade_leaves_late),
	KUNIT_CASE_SLOW(upgrade_group_ends),
	KUNIT_CASE_SLOW(upgrade_group_ended),
	KUNIT_CASE_SLOW(upgrade_group_ends_later),
	KUNIT_CASE_SLOW(upgrade_group_ends_behind_go),
	KUNIT_CASE(upgrade_accept_unusable),
	{}
};

struct kunit_suite smc_conn_upgrade_suite = {
	.name = "smc_conn_upgrade",
	.init = env_init,
	.exit = env_exit,
	.test_cases = upgrade_cases,
};
