// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections whose link ends or is held, and the peer's end of a connection. The layers from
 * lgr/ up to conn/ are the real ones; the RDMA device is a fake that may drop completions when a
 * queue pair is flushed.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/uio.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_imm.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/link_pick.h>
#include <smc/tcp/clcsock.h>
#include <smc/tcp/orphan.h>
#include "../../conn/cdc.h"
#include "../../conn/move.h"
#include "../../conn/state.h"
#include "../../conn/timers.h"
#include "../../handshake/internal.h"

#include "conn_env.h"
#include "lgr_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)

/* Delete the second link; without @flush its device drops what had arrived. */
static void conn_env_lose_link(struct kunit *test, struct conn_env *e, bool flush)
{
	struct lgr_env *env = test->priv;

	env->fake->no_flush = !flush;
	smc_lgr_del_link(e->second, SMC_LINK_ADMIN);
	env->fake->no_flush = false;
	KUNIT_EXPECT_PTR_EQ(test, e->conn->link, e->first);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e->conn), SMC_CONN_ACTIVE);
}

/* Let the silence deadline expire now. */
static void conn_expire_silence(struct smc_conn *conn)
{
	spin_lock_bh(&conn->lock);
	if (conn->rx.silence_deadline)
		conn->rx.silence_deadline = jiffies - 1 ?: 1;
	spin_unlock_bh(&conn->lock);
	smc_conn_queue_work(conn);
}

static bool conn_wait_state_change(const struct smc_conn *conn)
{
	unsigned long until = jiffies + PATIENCE;

	while (smc_conn_state(conn) == SMC_CONN_ACTIVE && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return smc_conn_state(conn) != SMC_CONN_ACTIVE;
}

/* The last messages of the peer may be lost: a reader does not wait for ever. */
static void conn_peer_silent(struct kunit *test)
{
	u64 gaps = smc_stats_get(&init_net, SMC_STAT_MOVE_GAP);
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_receive(&e, e.second, 1, 0);
	conn_env_lose_link(test, &e, false);
	/* not at once: the peer has a minute to continue over the other link */
	KUNIT_EXPECT_TRUE(test, e.conn->rx.silence_deadline);
	smc_conn_queue_work(e.conn);
	msleep(50);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	conn_expire_silence(e.conn);
	KUNIT_EXPECT_TRUE(test, conn_wait_state_change(e.conn));
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_MOVE_GAP), gaps + 1);
	conn_env_end(&e);
}

/* Add a third link and lose messages with it. */
static void conn_env_lose_third(struct kunit *test, struct conn_env *e)
{
	struct lgr_env *env = test->priv;
	struct smc_link *third = env_add_link(test, e->lgr);

	env_bring_up(test, third);
	conn_env_receive(e, e->second, 1, 0);
	env->fake->no_flush = true;
	smc_lgr_del_link(third, SMC_LINK_ADMIN);
	env->fake->no_flush = false;
	smc_link_put(third);
	/* the peer was last seen on the second link */
	KUNIT_EXPECT_FALSE(test, e->conn->rx.silence_deadline);
}

/* The peer may have moved from the second to the third link and sent its last messages there. */
static void conn_peer_silent_between(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_CAP_EVERY_MOVE;
	conn_env_lose_third(test, &e);
	conn_env_lose_link(test, &e, true);
	KUNIT_EXPECT_TRUE(test, e.conn->rx.silence_deadline);
	/* it did not */
	conn_env_receive(&e, e.first, 2, 0);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_expire_silence(e.conn);
	msleep(50);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	conn_env_end(&e);
}

static void conn_peer_silent_after_two(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_CAP_EVERY_MOVE;
	conn_env_lose_third(test, &e);
	conn_env_lose_link(test, &e, true);
	conn_expire_silence(e.conn);
	KUNIT_EXPECT_TRUE(test, conn_wait_state_change(e.conn));
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	conn_env_end(&e);
}

/* A peer that has ended the connection sends nothing more. */
static void conn_peer_ended_not_silent(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_CAP_EVERY_MOVE;
	conn_env_lose_third(test, &e);
	conn_env_receive(&e, e.second, 2, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_env_end(&e);
}

/* A message over the other link ends the doubt. */
static void conn_peer_resumed(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_receive(&e, e.second, 1, 0);
	conn_env_lose_link(test, &e, false);
	conn_env_receive(&e, e.first, 2, 0);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_expire_silence(e.conn);
	msleep(50);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	conn_env_end(&e);
}

/* No message can be lost if the device has flushed. */
static void conn_flushed_not_silent(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_lose_link(test, &e, true);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_env_end(&e);
}

static void conn_peer_done(struct kunit *test)
{
	struct lgr_env *env = test->priv;
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE);
	env->fake->no_flush = true;
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	env->fake->no_flush = false;
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_env_end(&e);
}

/* A foreign peer that has got our D may be silent until it answers. */
static void conn_own_end(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_receive(&e, e.second, 1, 0);
	spin_lock_bh(&e.conn->lock);
	e.conn->tx.state |= SMC_CDC_S_DONE;
	spin_unlock_bh(&e.conn->lock);
	conn_env_lose_link(test, &e, false);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_env_end(&e);
}

/* A peer that has sent nothing so far may use any link. */
static void conn_nothing_received(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	smc_failover_rx_init_any(&e.conn->rx.path);
	conn_env_lose_link(test, &e, false);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.silence_deadline);
	conn_env_end(&e);
}

static void conn_env_add_links(struct kunit *test, struct conn_env *e, int n)
{
	while (n--) {
		struct smc_link *link = env_add_link(test, e->lgr);

		env_bring_up(test, link);
		conn_env_add_key(e, link->slot);
		smc_link_put(link);
	}
}

/* Nothing is sent over a held link; what is due is sent when it is released. */
static void conn_link_held(struct kunit *test)
{
	struct conn_env e;
	u32 before;

	conn_env_begin(test, &e);
	before = env_count_sends(e.second);
	smc_link_hold_conns(e.second, true);
	spin_lock_bh(&e.conn->lock);
	smc_tx_send_update_locked(e.conn);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, env_count_sends(e.second), before);
	smc_link_hold_conns(e.second, false);
	KUNIT_EXPECT_EQ(test, env_count_sends(e.second), before + 1);
	/* another link is not held */
	smc_link_hold_conns(e.second, true);
	conn_env_lose_link(test, &e, true);
	KUNIT_EXPECT_GE(test, env_count_sends(e.first), 1);
	conn_env_end(&e);
}

/*
 * The connection is aborted after a failover has rewound the ring, while A waits for the link: what
 * the peer then reports as read must not count as new bytes.
 */
static void conn_abort_rewound(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .cons.off = 700 };
	struct conn_env e;

	conn_env_begin(test, &e);
	spin_lock_bh(&e.conn->lock);
	smc_ring_tx_prepare(&e.conn->tx.ring, 1000);
	smc_tx_push_locked(e.conn, false);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 1);
	smc_link_hold_conns(e.first, true);
	conn_env_lose_link(test, &e, true);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 0);
	smc_conn_abort(e.conn, ECONNABORTED);
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, smc_ring_tx_unsent(&e.conn->tx.ring), 0);
	KUNIT_EXPECT_EQ(test, env_count_sends(e.first), 0);
	smc_link_hold_conns(e.first, false);
	/* the validation and the A */
	KUNIT_EXPECT_EQ(test, env_count_sends(e.first), 2);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.first), 0);
	conn_env_end(&e);
}

/*
 * The link is lost with bytes and the A behind them in flight. They are not written again, so the A
 * over the next link must not announce them: the peer would read what was in their place before.
 */
static void conn_abort_in_flight(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_send(&e, 400);
	env_complete_sends(e.second);
	conn_env_send(&e, 600);
	smc_conn_abort(e.conn, ECONNABORTED);
	env_count_cdc(e.second, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, last.prod.off, 1000);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_PTR_EQ(test, e.conn->link, e.first);
	env_count_cdc(e.first, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, last.prod.off, 400);
	conn_env_end(&e);
}

/* The same with D behind the bytes: the stream does not end where the A says. */
static void conn_abort_done_in_flight(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_send(&e, 400);
	env_complete_sends(e.second);
	conn_env_send(&e, 600);
	smc_conn_shutdown(e.conn, SEND_SHUTDOWN);
	env_count_cdc(e.second, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_DONE);
	smc_conn_abort(e.conn, ECONNABORTED);
	env_count_cdc(e.second, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_DONE | SMC_CDC_S_ABORT);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	env_count_cdc(e.first, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, last.prod.off, 400);
	conn_env_end(&e);
}

/* D was sent, the failover has rewound the ring, and then the connection is aborted. */
static void conn_abort_done_rewound(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_send(&e, 1000);
	smc_conn_shutdown(e.conn, SEND_SHUTDOWN);
	smc_link_hold_conns(e.first, true);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 0);
	smc_conn_abort(e.conn, ECONNABORTED);
	smc_link_hold_conns(e.first, false);
	env_count_cdc(e.first, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, last.prod.off, 0);
	conn_env_end(&e);
}

/* Bytes on both sides of a wrap: an in-tree peer would take the older cursor for a new one. */
static void conn_abort_wrapped_foreign(struct kunit *test)
{
	struct smc_cdc_msg last, msg = { .seq = 1, .cons.off = ENV_RING - 100 };
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = 0;
	conn_env_send(&e, ENV_RING - 100);
	env_complete_sends(e.second);
	conn_env_receive_msg(&e, e.second, &msg);
	conn_env_send(&e, 600);
	smc_conn_abort(e.conn, ECONNABORTED);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	env_count_cdc(e.first, &last);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, last.prod.wrap, 1);
	KUNIT_EXPECT_EQ(test, last.prod.off, 500);
	conn_env_end(&e);
}

/*
 * Two failovers: WRITEs over the link in between repeated 1000 bytes that the peer has, are in
 * flight, and may arrive late.
 */
static void conn_env_repeat_bytes(struct kunit *test, struct conn_env *e, u16 caps)
{
	struct smc_cdc_msg msg = { .seq = 1, .cons.off = 1000 };
	struct smc_link *third;

	conn_env_begin(test, e);
	e->lgr->peer.caps = caps;
	e->conn->tx.ring.reserve = 0;
	conn_env_add_links(test, e, 1);
	third = smc_lgr_get_link(e->lgr, 2);
	KUNIT_ASSERT_NOT_NULL(test, third);
	conn_env_send(e, 1000);
	smc_lgr_del_link(e->second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_FALSE(test, e->conn->tx.ring.guarded);
	KUNIT_EXPECT_EQ(test, e->conn->tx.ring.sent, 1000);
	KUNIT_EXPECT_EQ(test, e->conn->tx.ring.completed, 0);
	conn_env_receive_msg(e, third, &msg);
	KUNIT_EXPECT_EQ(test, e->conn->tx.ring.peer_consumed, 1000);
	/* the link that is left */
	smc_link_put(e->second);
	e->second = e->conn->link;
	smc_link_get(e->second);
	smc_lgr_del_link(e->second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_PTR_NE(test, e->conn->link, e->second);
	KUNIT_EXPECT_EQ(test, e->conn->tx.ring.sent, 1000);
	smc_link_put(third);
}

/*
 * Late WRITEs can do harm from position 0 on. New bytes wait until the peer has acknowledged a
 * message over the new link; its older acknowledgments, and those of messages not sent, do not
 * count. It is asked again when it has moved: its answer may be lost.
 */
static void conn_guarded(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 2, .cons.off = 1000, .ext = SMC_CDC_EXT_ACK };
	struct smc_ring_tx *ring;
	struct conn_env e;
	u32 sends;
	u8 buf[SMC_CDC_LEN];

	conn_env_repeat_bytes(test, &e, SMC_CAP_MOVE_HISTORY | SMC_CAP_ORDERLY_MOVE);
	ring = &e.conn->tx.ring;
	KUNIT_EXPECT_TRUE(test, ring->guarded);
	KUNIT_EXPECT_EQ(test, ring->guard, 0);
	KUNIT_EXPECT_EQ(test, smc_ring_tx_window(ring), ENV_RING - 1000);
	/* the validation, and a message that asks: nothing waits for the application */
	KUNIT_EXPECT_GE(test, env_count_sends(e.conn->link), 2);
	env_complete_sends(e.conn->link);
	while (ring->sent != ENV_RING && smc_ring_tx_free_bytes(ring)) {
		conn_env_send(&e, smc_ring_tx_free_bytes(ring));
		env_complete_sends(e.conn->link);
	}
	conn_env_send(&e, smc_ring_tx_free_bytes(ring));
	KUNIT_EXPECT_EQ(test, ring->sent, ENV_RING);
	KUNIT_EXPECT_GE(test, smc_ring_tx_unsent(ring), 1000);

	msg.ack_seq = e.conn->tx.move.left_seq;
	conn_env_receive_msg(&e, e.conn->link, &msg);
	KUNIT_EXPECT_TRUE(test, ring->guarded);
	msg.seq++;
	msg.ack_seq = e.conn->tx.seq + 1;
	conn_env_receive_msg(&e, e.conn->link, &msg);
	KUNIT_EXPECT_TRUE(test, ring->guarded);
	KUNIT_EXPECT_EQ(test, ring->sent, ENV_RING);

	sends = env_count_sends(e.conn->link);
	conn_env_receive_msg(&e, e.conn->link,
			     &(struct smc_cdc_msg){ .flags = SMC_CDC_F_FAILOVER });
	KUNIT_EXPECT_EQ(test, env_count_sends(e.conn->link), sends + 1);
	spin_lock_bh(&e.conn->lock);
	smc_cdc_build(e.conn, buf);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, buf[28] & SMC_CDC_EXT_ACK_REQ, SMC_CDC_EXT_ACK_REQ);

	msg.seq++;
	msg.ack_seq = e.conn->tx.move.left_seq + 1;
	conn_env_receive_msg(&e, e.conn->link, &msg);
	KUNIT_EXPECT_FALSE(test, ring->guarded);
	env_complete_sends(e.conn->link);
	KUNIT_EXPECT_EQ(test, ring->sent, ENV_RING + 1000);
	spin_lock_bh(&e.conn->lock);
	smc_cdc_build(e.conn, buf);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, buf[28], 0);
	conn_env_end(&e);
}

/* The peer's window is closed, and stays so when the link changes: it counts once. */
static void conn_window_closes_once(struct kunit *test)
{
	u64 had = smc_stats_get(&init_net, SMC_STAT_TX_WINDOW_CLOSED);
	struct smc_cdc_msg msg = { .seq = 1, .cons.off = 1000 }, sent;
	struct conn_env e;
	u64 since;

	conn_env_begin(test, &e);
	e.conn->tx.ring.reserve = 0;
	conn_env_send(&e, ENV_RING);
	env_complete_sends(e.second);
	conn_env_send(&e, 100);
	since = e.conn->tx.blocked_at;
	KUNIT_EXPECT_NE(test, since, 0);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_WINDOW_CLOSED), had + 1);
	conn_env_lose_link(test, &e, true);
	env_count_cdc(e.first, &sent);
	KUNIT_EXPECT_EQ(test, sent.flags & SMC_CDC_F_BLOCKED, SMC_CDC_F_BLOCKED);
	KUNIT_EXPECT_EQ(test, e.conn->tx.blocked_at, since);
	KUNIT_EXPECT_EQ(test, e.conn->tcpinfo.closed, 1);
	KUNIT_EXPECT_EQ(test, e.conn->tcpinfo.closed_usecs, 0);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_TX_WINDOW_CLOSED), had + 1);
	usleep_range(1000, 2000);
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, ENV_RING + 100);
	KUNIT_EXPECT_EQ(test, e.conn->tx.blocked_at, 0);
	KUNIT_EXPECT_GE(test, e.conn->tcpinfo.closed_usecs, 1000);
	/* the next time is another one */
	env_complete_sends(e.first);
	conn_env_send(&e, 1000);
	KUNIT_EXPECT_EQ(test, e.conn->tcpinfo.closed, 2);
	conn_env_end(&e);
}

/* A foreign peer fences nothing and acknowledges nothing. */
static void conn_guard_foreign(struct kunit *test)
{
	struct conn_env e;

	conn_env_repeat_bytes(test, &e, 0);
	KUNIT_EXPECT_FALSE(test, e.conn->tx.ring.guarded);
	KUNIT_EXPECT_EQ(test, smc_ring_tx_window(&e.conn->tx.ring), ENV_RING);
	conn_env_end(&e);
}

/* The same, once what was posted before has completed. */
static void conn_env_send_next(struct conn_env *e, u32 len)
{
	env_complete_sends(e->conn->link);
	conn_env_send(e, len);
}

/* Return whether the last post over @link was a WRITE with the immediate value @imm. */
static bool link_has_sent_imm(const struct smc_link *link, u32 imm)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);
	struct fake_ib_wr *wr = qp->nsends ? fake_ib_sent(qp, qp->nsends - 1) : NULL;

	return wr && wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM && wr->imm == imm;
}

/* Return whether it was a message. */
static bool link_has_sent_whole(const struct smc_link *link)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);

	return qp->nsends && fake_ib_sent(qp, qp->nsends - 1)->opcode == IB_WR_SEND;
}

static void conn_imm_sent(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .cons.off = 500 };
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1 | SMC_CAP_WRITE_IMM;
	e.conn->tx.ring.reserve = 0;	/* of a foreign peer */
	/* the first message over a link is a whole one */
	conn_env_send_next(&e, 100);
	KUNIT_EXPECT_TRUE(test, link_has_sent_whole(e.second));
	conn_env_send_next(&e, 50);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.second, ENV_TOKEN << 24 | 150));
	KUNIT_EXPECT_EQ(test, env_count_sends(e.second), 1);
	KUNIT_EXPECT_EQ(test, e.conn->tx.seq, 2);
	/* ... and one that says more than where the bytes end: an update, urgent data, B */
	env_complete_sends(e.second);
	spin_lock_bh(&e.conn->lock);
	e.conn->tx.cons_due = true;
	spin_unlock_bh(&e.conn->lock);
	conn_env_send_next(&e, 10);
	KUNIT_EXPECT_TRUE(test, link_has_sent_whole(e.second));
	conn_env_send_next(&e, 10);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.second, ENV_TOKEN << 24 | 170));
	spin_lock_bh(&e.conn->lock);
	smc_urgent_tx_mark(&e.conn->tx.urg, 180, 170);
	spin_unlock_bh(&e.conn->lock);
	conn_env_send_next(&e, 10);
	KUNIT_EXPECT_TRUE(test, link_has_sent_whole(e.second));
	spin_lock_bh(&e.conn->lock);
	smc_urgent_tx_note_consumed(&e.conn->tx.urg, 180);
	spin_unlock_bh(&e.conn->lock);
	conn_env_send_next(&e, 10);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.second, ENV_TOKEN << 24 | 190));
	conn_env_send_next(&e, ENV_RING - 190);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.second, ENV_TOKEN << 24 | ENV_RING));
	conn_env_send_next(&e, 1);
	KUNIT_EXPECT_TRUE(test, link_has_sent_whole(e.second));
	KUNIT_EXPECT_TRUE(test, e.conn->tx.sent_blocked);
	/* B is on already: the peer has read some, but not enough for what is queued by now */
	env_complete_sends(e.second);
	spin_lock_bh(&e.conn->lock);
	smc_ring_tx_prepare(&e.conn->tx.ring, 1000);
	spin_unlock_bh(&e.conn->lock);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.second, ENV_TOKEN << 24 | (ENV_RING + 500)));
	KUNIT_EXPECT_TRUE(test, e.conn->tx.sent_blocked);
	conn_env_end(&e);
}

/* On a new link, and while an answer of the peer is due there, messages are whole. */
static void conn_imm_new_link(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1 };
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1 | SMC_CAP_WRITE_IMM;
	conn_env_send_next(&e, 100);
	conn_env_send_next(&e, 100);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.second, ENV_TOKEN << 24 | 200));
	conn_env_lose_link(test, &e, true);
	env_complete_sends(e.first);
	conn_env_send_next(&e, 100);
	KUNIT_EXPECT_TRUE(test, link_has_sent_whole(e.first));
	conn_env_receive_msg(&e, e.first, &msg);
	conn_env_send_next(&e, 100);
	KUNIT_EXPECT_TRUE(test, link_has_sent_imm(e.first, ENV_TOKEN << 24 | 400));
	conn_env_end(&e);
}

static void conn_imm_foreign(struct kunit *test)
{
	struct conn_env e;
	int i;

	conn_env_begin(test, &e);
	for (i = 0; i < 4; i++) {
		conn_env_send_next(&e, 100);
		KUNIT_EXPECT_TRUE(test, link_has_sent_whole(e.second));
	}
	conn_env_end(&e);
}

static void conn_env_receive_imm(struct conn_env *e, struct smc_link *link, u32 token, u32 pos)
{
	smc_conn_lgr_events.imm(link, smc_cdc_imm_build(token, pos));
}

static void conn_imm_received(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10, .cons.off = 0 };
	u64 bad = smc_stats_get(&init_net, SMC_STAT_RX_CDC_BAD);
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	conn_env_receive_msg(&e, e.second, &msg);
	conn_env_receive_imm(&e, e.second, e.conn->token, 60);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 60);
	KUNIT_EXPECT_EQ(test, e.conn->rx.seq, 2);
	/* stale, as after a failover of the peer; it counts as a message nevertheless */
	conn_env_receive_imm(&e, e.second, e.conn->token, 30);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 60);
	KUNIT_EXPECT_EQ(test, e.conn->rx.seq, 3);
	conn_env_receive_imm(&e, e.second, e.conn->token, ENV_RING);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, ENV_RING);
	/* no connection has this index */
	conn_env_receive_imm(&e, e.second, e.conn->token + 1, 10);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_CDC_BAD), bad + 1);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	/* more than fits into the RMBE */
	conn_env_receive_imm(&e, e.second, e.conn->token, ENV_RING + 1);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_CDC_BAD), bad + 2);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, ENV_RING);
	conn_env_end(&e);
}

/*
 * The peer moves, and sends for long before our end of its previous link is fenced: more messages
 * than half the number space, then bytes. The last one is applied, and those after it are.
 */
static void conn_parked_long(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct smc_cdc_msg move = { .seq = 1, .flags = SMC_CDC_F_FAILOVER, .move_count = 1 };
	struct conn_env e;
	u32 i;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	move.prev_link = e.second->num;
	conn_env_receive_msg(&e, e.second, &msg);
	local_bh_disable();	/* no work fences the link meanwhile */
	conn_env_receive_msg(&e, e.first, &move);
	KUNIT_EXPECT_EQ(test, atomic_read(&e.second->reason), SMC_LINK_PEER_MOVED);
	while (msg.seq < 39000) {
		msg.seq++;
		conn_env_receive_msg(&e, e.first, &msg);
	}
	for (i = 1; i <= 1000; i++)
		conn_env_receive_imm(&e, e.first, e.conn->token, 10 + i);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 10);
	KUNIT_EXPECT_EQ(test, e.conn->rx.path.nparked, 1);
	local_bh_enable();
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 1010);
	KUNIT_EXPECT_EQ(test, e.conn->rx.seq, 40000);
	/* that link is the present one */
	msg = (struct smc_cdc_msg){ .seq = 40001, .prod.off = 1020 };
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 1020);
	msg = (struct smc_cdc_msg){ .seq = 40002, .prod.off = 1020, .state = SMC_CDC_S_DONE };
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_TRUE(test, e.conn->rx.ended);
	KUNIT_EXPECT_EQ(test, e.conn->err, 0);
	conn_env_end(&e);
}

/*
 * The peer sends @len bytes, the application reads them and answers with as many, @late jiffies
 * after its last answer.
 */
static void conn_env_answer_late(struct conn_env *e, u16 seq, u32 len, unsigned long late)
{
	struct smc_cdc_msg msg = { .seq = seq, .prod.off = e->conn->rx.ring.produced + len };

	conn_env_receive_msg(e, e->second, &msg);
	spin_lock_bh(&e->conn->lock);
	smc_ring_rx_consume(&e->conn->rx.ring, len);
	/* the host may be busy */
	e->conn->tcpinfo.sent_at = jiffies - late;
	spin_unlock_bh(&e->conn->lock);
	conn_env_send(e, len);
}

static void conn_env_answer(struct conn_env *e, u16 seq, u32 len)
{
	conn_env_answer_late(e, seq, len, 0);
}

/* Return whether the last request over @link is signaled. */
static bool link_has_sent_signaled(const struct smc_link *link)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);

	return qp->nsends && fake_ib_sent(qp, qp->nsends - 1)->flags & IB_SEND_SIGNALED;
}

/* Have a conversation in which the last reply, number 4, is quiet. */
static void conn_env_become_quiet(struct kunit *test, struct conn_env *e)
{
	u16 seq;

	e->lgr->peer.caps = SMC_PEER_CAPS_TAG_1 | SMC_CAP_WRITE_IMM;
	for (seq = 1; seq <= 3; seq++) {
		conn_env_answer(e, seq, 10);
		KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e->second));
		env_complete_sends(e->second);
	}
	conn_env_answer(e, seq, 10);
	KUNIT_EXPECT_FALSE(test, link_has_sent_signaled(e->second));
	KUNIT_EXPECT_TRUE(test, e->conn->tx.quiet);
}

static void conn_env_begin_quiet(struct kunit *test, struct conn_env *e)
{
	conn_env_begin(test, e);
	conn_env_become_quiet(test, e);
}

/* What waits for a completion is less than half of the ring that the application knows. */
static void conn_corks(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_send(&e, 9000);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 1);
	conn_env_send(&e, ENV_RING - 9000);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 1);
	env_complete_sends(e.second);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 1);
	conn_env_end(&e);
}

/* The same in the first ring: while a third of that is free, as then the socket is writable. */
static void conn_corks_first(struct kunit *test)
{
	struct conn_env e;

	conn_env_connect(test, &e);
	conn_env_send(&e, 100);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 1);
	conn_env_send(&e, SMC_ELEM_SIZE_FIRST - 100 - SMC_ELEM_SIZE_FIRST / 3);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 1);
	conn_env_send(&e, 1);
	KUNIT_EXPECT_EQ(test, env_count_writes(e.second), 2);
	conn_env_end(&e);
}

/* Replies out of the first ring are quiet until half of it is full. */
static void conn_quiet_first(struct kunit *test)
{
	struct conn_env e;

	conn_env_connect(test, &e);
	conn_env_become_quiet(test, &e);
	conn_env_answer(&e, 5, SMC_ELEM_SIZE_FIRST / 2 - 10);
	KUNIT_EXPECT_TRUE(test, e.conn->tx.quiet);
	conn_env_answer(&e, 6, 1);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	KUNIT_EXPECT_FALSE(test, e.conn->tx.quiet);
	conn_env_end(&e);
}

/* Replies are quiet, as long as they are few bytes; what is no reply completes them. */
static void conn_quiet(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin_quiet(test, &e);
	conn_env_answer(&e, 5, 10);
	KUNIT_EXPECT_TRUE(test, e.conn->tx.quiet);
	KUNIT_EXPECT_EQ(test, e.conn->tx.inflight, 2);
	conn_env_answer(&e, 6, ENV_RING / 8 - 19);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	KUNIT_EXPECT_EQ(test, e.conn->tx.inflight, 3);
	env_complete_sends(e.second);
	KUNIT_EXPECT_EQ(test, e.conn->tx.inflight, 0);
	KUNIT_EXPECT_EQ(test, smc_tx_get_queued(e.conn), 0);
	conn_env_answer(&e, 7, 10);
	KUNIT_EXPECT_TRUE(test, e.conn->tx.quiet);
	/* it does not wait for a completion that is not requested */
	conn_env_send(&e, 10);
	KUNIT_EXPECT_EQ(test, smc_tx_get_unsent(e.conn), 0);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	KUNIT_EXPECT_FALSE(test, e.conn->tx.quiet);
	/* ... but for this one */
	conn_env_send(&e, 10);
	KUNIT_EXPECT_EQ(test, smc_tx_get_unsent(e.conn), 10);
	conn_env_end(&e);
}

/* A reply after a pause is signaled: otherwise each would have a tail probe. */
static void conn_quiet_slow(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin_quiet(test, &e);
	conn_env_answer_late(&e, 5, 10, HZ / 50);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	env_complete_sends(e.second);
	conn_env_answer(&e, 6, 10);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	conn_env_end(&e);
}

/* Who asks for the acknowledgment of a quiet reply gets it. */
static void conn_quiet_asked(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin_quiet(test, &e);
	/* as if a signaled reply had begun to measure the rate */
	e.conn->tcpinfo.since = 1;
	KUNIT_EXPECT_EQ(test, smc_tx_get_queued(e.conn), 10);
	KUNIT_EXPECT_EQ(test, env_count_sends(e.second), 2);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	/* once */
	KUNIT_EXPECT_EQ(test, smc_tx_get_queued(e.conn), 10);
	KUNIT_EXPECT_EQ(test, env_count_sends(e.second), 2);
	env_complete_sends(e.second);
	KUNIT_EXPECT_EQ(test, smc_tx_get_queued(e.conn), 0);
	/* the pause that begins is left out of the rate */
	KUNIT_EXPECT_EQ(test, e.conn->tcpinfo.since, 0);
	conn_env_end(&e);
}

/* A close does not wait for a tail probe. */
static void conn_quiet_closed(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin_quiet(test, &e);
	smc_conn_close(e.conn, false, HZ, NULL);
	KUNIT_EXPECT_TRUE(test, e.conn->close_pending);
	KUNIT_EXPECT_TRUE(test, link_has_sent_signaled(e.second));
	env_complete_sends(e.second);
	KUNIT_EXPECT_FALSE(test, e.conn->close_pending);
	conn_env_end(&e);
}

/* Close the connection, whose peer does not answer, and return the indices that are kept then. */
static u32 conn_env_end_deaf(struct conn_env *e)
{
	unsigned long until = jiffies + PATIENCE;
	struct smc_lgr *lgr = e->lgr;

	smc_conn_get(e->conn);
	smc_conn_close(e->conn, true, 0, NULL);
	env_complete_sends(e->conn->link);
	/* the peer's time is over */
	spin_lock_bh(&e->conn->lock);
	if (e->conn->deadline_armed)
		e->conn->deadline = jiffies - 1;
	spin_unlock_bh(&e->conn->lock);
	smc_conn_queue_work(e->conn);
	smc_conn_put(e->conn);
	smc_conn_put(e->conn);
	smc_link_put(e->second);
	smc_link_put(e->first);
	while (READ_ONCE(lgr->nconns) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return READ_ONCE(lgr->nkept);
}

/* Late values may come for a connection whose end the peer has not confirmed. */
static void conn_imm_index(struct kunit *test)
{
	struct smc_cdc_msg closed = { .seq = 1, .state = SMC_CDC_S_ABORT };
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	KUNIT_EXPECT_EQ(test, conn_env_end_deaf(&e), 1);
	/* ... but not after its A */
	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	conn_env_receive_msg(&e, e.second, &closed);
	KUNIT_EXPECT_EQ(test, conn_env_end_deaf(&e), 0);
	/* ... nor from a foreign peer, nor if we have not announced that we take them */
	conn_env_begin(test, &e);
	KUNIT_EXPECT_EQ(test, conn_env_end_deaf(&e), 0);
	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	e.lgr->caps = 0;
	KUNIT_EXPECT_EQ(test, conn_env_end_deaf(&e), 0);
}

/* A value that comes before any message is a lie. */
static void conn_imm_first(struct kunit *test)
{
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	conn_env_receive_imm(&e, e.second, e.conn->token, 10);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 0);
	conn_env_end(&e);
}

/* The peer has no announcement that we take values: they are counted, and have no effect. */
static void conn_imm_unannounced(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	u64 bad = smc_stats_get(&init_net, SMC_STAT_RX_CDC_BAD);
	u64 got = smc_stats_get(&init_net, SMC_STAT_RX_IMM);
	struct conn_env e;
	int i;

	for (i = 0; i < 2; i++) {
		conn_env_begin(test, &e);
		/* a foreign peer gets no announcement, a native one if the sysctl says so */
		e.lgr->peer.caps = i ? SMC_PEER_CAPS_TAG_1 | SMC_CAP_WRITE_IMM : 0;
		if (i)
			e.lgr->caps &= ~SMC_CAP_WRITE_IMM;
		conn_env_receive_imm(&e, e.second, e.conn->token, 10);
		conn_env_receive_msg(&e, e.second, &msg);
		conn_env_receive_imm(&e, e.second, e.conn->token, 60);
		conn_env_receive_imm(&e, e.second, e.conn->token, ENV_RING + 1);
		KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 10);
		KUNIT_EXPECT_EQ(test, e.conn->rx.seq, 1);
		KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
		conn_env_end(&e);
	}
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_CDC_BAD), bad + 6);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_IMM), got + 6);
}

/* Return whether D has been applied. */
static bool conn_peer_is_done(struct smc_conn *conn)
{
	bool done;

	spin_lock_bh(&conn->lock);
	done = conn->rx.peer_state & SMC_CDC_S_DONE;
	spin_unlock_bh(&conn->lock);
	return done;
}

/*
 * The peer has lost three links in a row, and nothing came over two of them: WRITEs over these may
 * still arrive. All three are fenced before a message over the next link is applied.
 */
static void conn_waits_for_all(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .flags = SMC_CDC_F_FAILOVER, .move_count = 3 };
	struct smc_link *left[3];
	unsigned long until;
	u8 buf[SMC_CDC_LEN];
	struct conn_env e;
	int i;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_CAP_MOVE_HISTORY;
	conn_env_add_links(test, &e, 2);
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		left[i] = smc_lgr_get_link(e.lgr, 1 + i);
		KUNIT_ASSERT_NOT_NULL(test, left[i]);
	}
	KUNIT_ASSERT_PTR_EQ(test, left[0], e.second);
	conn_env_receive(&e, e.second, 1, 0);
	msg.token = e.conn->token;
	msg.prev_link = left[2]->num;
	msg.older_links[0] = left[1]->num;
	msg.older_links[1] = left[0]->num;
	KUNIT_ASSERT_EQ(test, smc_cdc_msg_build(&msg, buf, sizeof(buf)), sizeof(buf));
	rcu_read_lock();
	smc_conn_lgr_events.message(e.first, buf, sizeof(buf));
	rcu_read_unlock();
	conn_env_receive(&e, e.first, 2, SMC_CDC_S_DONE);
	for (i = 0; i < ARRAY_SIZE(left); i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&left[i]->reason), SMC_LINK_PEER_MOVED);
	/* all links are fenced before D is applied */
	until = jiffies + PATIENCE;
	while (!conn_peer_is_done(e.conn) && time_before(jiffies, until)) {
		for (i = 0; i < ARRAY_SIZE(left) && smc_link_fenced(left[i]); i++)
			;
		KUNIT_EXPECT_TRUE(test, i == ARRAY_SIZE(left) || !conn_peer_is_done(e.conn));
		usleep_range(100, 200);
	}
	KUNIT_EXPECT_TRUE(test, conn_peer_is_done(e.conn));
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		KUNIT_EXPECT_TRUE(test, smc_link_fenced(left[i]));
		smc_link_put(left[i]);
	}
	KUNIT_EXPECT_EQ(test, e.conn->err, 0);
	KUNIT_EXPECT_PTR_EQ(test, e.conn->link, e.first);
	conn_env_end(&e);
}

/* A native peer is sent every move, even if nothing was sent before the move. */
static void conn_announces_moves(struct kunit *test)
{
	struct smc_cdc_msg msg;
	u8 nums[2], buf[SMC_CDC_LEN];
	struct conn_env e;
	int i;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_CAP_MOVE_HISTORY;
	conn_env_add_links(test, &e, 2);
	for (i = 0; i < 2; i++) {
		struct smc_link *link = e.conn->link;

		smc_link_get(link);
		nums[i] = link->num;
		smc_lgr_del_link(link, SMC_LINK_ADMIN);
		KUNIT_EXPECT_PTR_NE(test, e.conn->link, link);
		KUNIT_EXPECT_GE(test, env_count_sends(e.conn->link), 2);
		smc_link_put(link);
	}
	spin_lock_bh(&e.conn->lock);
	smc_cdc_build_validation(e.conn, buf);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_ASSERT_EQ(test, smc_cdc_msg_parse(buf, sizeof(buf), ENV_RING, ENV_RING, &msg), 0);
	KUNIT_EXPECT_EQ(test, msg.prev_link, nums[1]);
	KUNIT_EXPECT_EQ(test, msg.older_links[0], nums[0]);
	KUNIT_EXPECT_EQ(test, msg.older_links[1], 0);
	KUNIT_EXPECT_EQ(test, msg.move_count, 2);
	KUNIT_EXPECT_EQ(test, msg.ext | msg.older_orderly, 0);
	conn_env_end(&e);
}

/*
 * The link is lost between Accept and Confirm: the connection begins over another one. The peer may
 * name the RMB by its key on the lost link.
 */
static void conn_peer_end_late(struct kunit *test)
{
	struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2, .rkey = 0x33, .addr = 0x2000,
	};
	struct smc_rtoken *rtoken;
	struct smc_conn *other;
	struct conn_env e;

	conn_env_begin(test, &e);
	rtoken = smc_rtoken_of(e.lgr, e.conn->tx.claim.rtoken);
	other = conn_env_create_conn(test, &e);
	smc_lgr_del_link(e.second, SMC_LINK_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, rtoken->links, BIT(0));
	/* the keys of a lost link may be dropped at any time: an unknown one is no violation */
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -ECONNABORTED);
	ask.rkey = 0x22;
	/* a first contact has no other link */
	ask.first = true;
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, rtoken->refs, 1);
	ask.first = false;
	/* another link has the slot: the key there is one of its own */
	e.lgr->slot_uids[e.second->slot]++;
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -ECONNABORTED);
	e.lgr->slot_uids[e.second->slot]--;
	/* no other link leads to the RMB */
	rtoken->links = 0;
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -ECONNABORTED);
	rtoken->links = BIT(0);
	KUNIT_EXPECT_EQ(test, rtoken->refs, 1);
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	KUNIT_EXPECT_EQ(test, rtoken->refs, 2);
	smc_conn_activate(other);
	KUNIT_EXPECT_PTR_EQ(test, other->link, e.first);
	KUNIT_EXPECT_EQ(test, smc_conn_state(other), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_EQ(test, other->err, 0);
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);
	conn_env_end(&e);
}

/* ... or by its key on a link that works. */
static void conn_peer_end_elsewhere(struct kunit *test)
{
	struct smc_conn_peer_end ask = { .token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2 };
	struct smc_rtoken *rtoken;
	struct smc_conn *other;
	struct conn_env e;

	conn_env_begin(test, &e);
	rtoken = smc_rtoken_of(e.lgr, e.conn->tx.claim.rtoken);
	other = conn_env_create_conn(test, &e);
	smc_lgr_del_link(e.second, SMC_LINK_PORT_DOWN);
	ask.link = e.first;
	ask.rkey = rtoken->rkey[0];
	ask.addr = rtoken->addr[0];
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	KUNIT_EXPECT_EQ(test, rtoken->refs, 2);
	smc_conn_activate(other);
	KUNIT_EXPECT_PTR_EQ(test, other->link, e.first);
	KUNIT_EXPECT_EQ(test, smc_conn_state(other), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_TRUE(test, rtoken->links & BIT(0));
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);
	conn_env_end(&e);
}

/* Another connection names an RMB not announced, an RMBE in use, then a free one. */
static void conn_peer_end_taken(struct kunit *test)
{
	struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 1, .rkey = 0x33, .addr = 0x2000,
	};
	struct smc_conn *other;
	struct conn_env e;

	conn_env_begin(test, &e);
	other = conn_env_create_conn(test, &e);
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -ENOKEY);
	ask.rkey = 0x22;
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, other->tx.peer_size, 0);
	KUNIT_EXPECT_EQ(test, other->tx.claim.rtoken, -1);
	/* free when the first connection has ended, which the peer may know before us */
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	KUNIT_EXPECT_EQ(test, other->tx.peer_size, ENV_RING);
	/* the handshake fails, and another connection gets the RMBE */
	smc_conn_discard(other, true);
	other = conn_env_create_conn(test, &e);
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	smc_conn_activate(other);
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);
	conn_env_end(&e);
}

/**
 * struct conn_joining - the handshake of a connection for which the peer names an RMBE in use
 * @e: the group, with the connection that has the RMBE
 * @tcp: the TCP connection
 * @hs: the handshake; that of a server, unless a case changes it
 * @ctx: its context
 * @msgs: its messages
 * @msg: the peer's Accept
 */
struct conn_joining {
	struct conn_env e;
	struct clcsock_env tcp;
	struct smc_hs hs;
	struct smc_hs_ctx ctx;
	struct smc_hs_msgs msgs;
	struct smc_clc_accept msg;
};

static struct conn_joining *conn_joining_begin(struct kunit *test, u32 caps)
{
	struct conn_joining *j = kunit_kzalloc(test, sizeof(*j), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, j);
	conn_env_begin(test, &j->e);
	clcsock_env_begin(test, &j->tcp);
	j->e.lgr->peer.caps = caps;
	j->hs.clcsock = &j->tcp.ours;
	j->hs.server = true;
	init_waitqueue_head(&j->hs.wait);
	j->ctx.hs = &j->hs;
	j->ctx.msgs = &j->msgs;
	j->ctx.net = &init_net;
	j->ctx.lgr = j->e.lgr;
	j->ctx.link = j->e.second;
	j->ctx.conn = conn_env_create_conn(test, &j->e);
	j->ctx.accept_at = jiffies;
	j->msg.version = 1;
	j->msg.token = ENV_TOKEN;
	j->msg.bsize = smc_elem_encode_size(ENV_RING);
	j->msg.rmbe_idx = 1;
	j->msg.rkey = 0x22;
	j->msg.vaddr = 0x2000;
	return j;
}

static void conn_joining_end(struct conn_joining *j)
{
	smc_conn_discard(j->ctx.conn, false);
	clcsock_env_end(&j->tcp);
	conn_env_end(&j->e);
}

/*
 * The peer has sent its C over another link than the messages before. We keep it until the link
 * that the peer has left is fenced, which takes our device some time. The peer, which has had our
 * C, gives the RMBE to another connection at once.
 */
static void conn_claim_late(struct kunit *test)
{
	struct conn_joining *j = conn_joining_begin(test, SMC_CAP_LATE_CLC);
	struct lgr_env *env = test->priv;
	unsigned long began = jiffies;

	conn_env_receive(&j->e, j->e.second, 1, 0);
	smc_conn_close(j->e.conn, false, 0, NULL);
	env->fake->no_flush = true;
	conn_env_receive(&j->e, j->e.first, 2, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	KUNIT_EXPECT_EQ(test, smc_conn_state(j->e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), 0);
	KUNIT_EXPECT_EQ(test, smc_conn_state(j->e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, began + 9 * HZ));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, began + 12 * HZ));
	env->fake->no_flush = false;
	conn_joining_end(j);
}

/* The other connection does not end. A foreign peer does not wait long for the answer. */
static void conn_claim_never(struct kunit *test)
{
	struct conn_joining *j = conn_joining_begin(test, 0);
	unsigned long began = jiffies;

	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), -EADDRINUSE);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, began + T_CLAIM));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, began + T_CLAIM + HZ));
	/* a native one does, but what was done before counts */
	j->e.lgr->peer.caps = SMC_CAP_LATE_CLC;
	j->ctx.accept_at = began - 10 * HZ;
	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), -EADDRINUSE);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, began + T_CLAIM_LONG - 10 * HZ));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, began + T_CLAIM_LONG - 9 * HZ));
	/* ... as a server, from when it has sent its Accept */
	KUNIT_EXPECT_EQ(test, smc_hs_send_accept(&j->ctx, &j->msg), 0);
	began = jiffies;
	ssleep(10);
	j->msg.is_confirm = true;
	KUNIT_EXPECT_EQ(test, smc_hs_send_accept(&j->ctx, &j->msg), 0);
	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), -EADDRINUSE);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, began + T_CLAIM_LONG));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, began + T_CLAIM_LONG + HZ));
	/* ... until it is too late */
	began = jiffies;
	j->ctx.accept_at = began - T_CLAIM_LONG;
	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), -EADDRINUSE);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, began + T_CLAIM));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, began + T_CLAIM + HZ));
	conn_joining_end(j);
}

/* The handshake ends @within this time because of what the peer has done over TCP. */
static void conn_joining_expect_end(struct kunit *test, struct conn_joining *j,
				    unsigned long within)
{
	unsigned long began = jiffies;

	j->ctx.accept_at = began;
	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), -ECONNRESET);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, began + within));
}

/* The peer resets the TCP connection: whoever it is, nobody waits for the RMBE any more. */
static void conn_claim_reset(struct kunit *test)
{
	struct conn_joining *j = conn_joining_begin(test, SMC_CAP_LATE_CLC);

	sock_no_linger(j->tcp.theirs->sk);
	sock_release(j->tcp.theirs);
	j->tcp.theirs = NULL;
	conn_joining_expect_end(test, j, HZ / 2);
	j->e.lgr->peer.caps = 0;
	conn_joining_expect_end(test, j, HZ / 2);
	KUNIT_EXPECT_EQ(test, smc_hs_take_end(&j->ctx), HS_END);
	KUNIT_EXPECT_EQ(test, j->ctx.res.outcome, SMC_HS_FAIL);
	KUNIT_EXPECT_EQ(test, j->ctx.res.err, ECONNRESET);
	conn_joining_end(j);
}

/* The peer closes it. A foreign client may have used RDMA before, and have closed in order. */
static void conn_claim_closed(struct kunit *test)
{
	struct conn_joining *j = conn_joining_begin(test, SMC_CAP_LATE_CLC);

	KUNIT_ASSERT_EQ(test, kernel_sock_shutdown(j->tcp.theirs, SHUT_WR), 0);
	conn_joining_expect_end(test, j, HZ / 2);
	j->e.lgr->peer.caps = 0;
	KUNIT_EXPECT_EQ(test, smc_hs_set_peer_rmbe(&j->ctx, &j->msg, NULL), -EADDRINUSE);
	/* a server has not used RDMA before our Confirm */
	j->hs.server = false;
	conn_joining_expect_end(test, j, HZ / 2);
	KUNIT_EXPECT_EQ(test, smc_hs_take_end(&j->ctx), HS_END);
	KUNIT_EXPECT_EQ(test, j->ctx.res.outcome, SMC_HS_FAIL);
	KUNIT_EXPECT_EQ(test, j->ctx.res.err, ECONNRESET);
	conn_joining_end(j);
}

/* The server sends a Decline instead: the connection continues as TCP, without one of ours. */
static void conn_claim_declined(struct kunit *test)
{
	struct conn_joining *j = conn_joining_begin(test, SMC_CAP_LATE_CLC);
	struct smc_clc_decline decline = { .version = 1, .diag = SMC_CLC_DECL_MEM };
	u8 buf[SMC_CLC_BUILD_MAX];
	int len;

	j->hs.server = false;
	len = smc_clc_build_decline(&decline, buf, sizeof(buf));
	KUNIT_ASSERT_GT(test, len, 0);
	KUNIT_ASSERT_EQ(test, smc_clc_send(j->tcp.theirs, buf, len), 0);
	conn_joining_expect_end(test, j, HZ / 2);
	KUNIT_EXPECT_EQ(test, smc_hs_take_end(&j->ctx), HS_END);
	KUNIT_EXPECT_EQ(test, j->ctx.res.outcome, SMC_HS_TCP);
	KUNIT_EXPECT_EQ(test, j->ctx.res.peer_reason, SMC_CLC_DECL_MEM);
	KUNIT_EXPECT_EQ(test, j->ctx.res.own_reason, SMC_CLC_DECL_PEER);
	conn_joining_end(j);
}

/*
 * The peer names its RMB by its key on the other link, and not by one that counts there only. Then
 * by the other link's key again, after it has lost the connection's own link: the connection begins
 * over the other one.
 */
static void conn_peer_end_by_other_link(struct kunit *test)
{
	struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2, .rkey = 0x22, .addr = 0x2000,
	};
	struct smc_rtoken *rtoken;
	struct smc_conn *other;
	struct conn_env e;
	u64 moves;

	conn_env_begin(test, &e);
	rtoken = smc_rtoken_of(e.lgr, e.conn->tx.claim.rtoken);
	KUNIT_ASSERT_NE(test, rtoken->rkey[0], 0x22);
	other = conn_env_create_conn(test, &e);
	ask.link = e.first;
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), -ENOKEY);
	ask.rkey = rtoken->rkey[0];
	ask.addr = rtoken->addr[0];
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	KUNIT_EXPECT_EQ(test, other->tx.claim.rtoken, e.conn->tx.claim.rtoken);
	smc_conn_activate(other);
	KUNIT_EXPECT_PTR_EQ(test, other->link, e.second);
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);

	other = conn_env_create_conn(test, &e);
	rtoken->links &= ~BIT(e.second->slot);
	ask.token++;
	ask.index++;
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	moves = smc_stats_get(&init_net, SMC_STAT_CONN_MOVE);
	smc_conn_activate(other);
	KUNIT_EXPECT_PTR_EQ(test, other->link, e.first);
	KUNIT_EXPECT_EQ(test, smc_conn_state(other), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_CONN_MOVE), moves + 1);
	rtoken->links |= BIT(e.second->slot);
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);
	conn_env_end(&e);
}

/* The group ends during a handshake: an RMBE claimed after that is released with the connection. */
static void conn_peer_end_after_group(struct kunit *test)
{
	struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2, .rkey = 0x22, .addr = 0x2000,
	};
	unsigned long until = jiffies + PATIENCE;
	struct smc_conn *other;
	struct conn_env e;

	conn_env_begin(test, &e);
	other = conn_env_create_conn(test, &e);
	spin_lock_bh(&other->lock);
	smc_conn_lose_group_locked(other);
	spin_unlock_bh(&other->lock);
	KUNIT_EXPECT_EQ(test, smc_conn_state(other), SMC_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	KUNIT_EXPECT_FALSE(test, list_is_singular(&e.lgr->rmbe_claims.list));
	smc_conn_discard(other, true);
	/* the connection is freed in a worker */
	while (!list_is_singular(&e.lgr->rmbe_claims.list) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&e.lgr->rmbe_claims.list));
	conn_env_end(&e);
}

/*
 * The bytes kept back for a foreign peer are sent with such pauses that some are left when the peer
 * has found out that its link is lost: 40 s, and half as much for one that is slower.
 */
static void conn_reserve_lasts(struct kunit *test)
{
	bool due[3] = { };
	struct smc_conn_tx *tx;
	unsigned long lasts = 0;
	struct conn_env e;
	u32 i;

	conn_env_begin(test, &e);
	tx = &e.conn->tx;
	KUNIT_EXPECT_EQ(test, tx->ring.reserve, 16);
	spin_lock_bh(&e.conn->lock);
	smc_conn_timer_probe_allowed(e.conn);
	due[0] = smc_conn_timer_probe_due(e.conn);
	for (i = 1; i < tx->ring.reserve; i++) {
		lasts += tx->probe_gap;
		smc_conn_timer_probe_sent(e.conn);
		due[1] |= smc_conn_timer_probe_due(e.conn);
	}
	/* the peer has moved: the next byte goes at once */
	smc_conn_timer_probe_allowed(e.conn);
	due[2] = smc_conn_timer_probe_due(e.conn);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_TRUE(test, due[0]);
	KUNIT_EXPECT_FALSE(test, due[1]);
	KUNIT_EXPECT_TRUE(test, due[2]);
	KUNIT_EXPECT_GE(test, lasts, 60 * HZ);
	conn_env_end(&e);
}

static bool conn_wait_move(const struct smc_conn *a, const struct smc_conn *b)
{
	unsigned long until = jiffies + PATIENCE;

	while (READ_ONCE(a->tx.move.state) == SMC_MOVE_IDLE &&
	       READ_ONCE(b->tx.move.state) == SMC_MOVE_IDLE && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return (READ_ONCE(a->tx.move.state) == SMC_MOVE_IDLE) !=
	       (READ_ONCE(b->tx.move.state) == SMC_MOVE_IDLE);
}

/*
 * A link became usable: of two connections over another one, one begins to move. The group can end
 * while a walk is due.
 */
static void conn_balance(struct kunit *test)
{
	static const struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2, .rkey = 0x22, .addr = 0x2000,
	};
	struct smc_settings *settings = smc_settings_get(&init_net);
	u8 policy = settings->link_policy, balance = settings->balance;
	struct smc_conn *other;
	struct conn_env e;

	conn_env_begin(test, &e);
	e.lgr->peer.caps = SMC_CAP_ORDERLY_MOVE;
	other = conn_env_create_conn(test, &e);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	smc_conn_activate(other);
	settings->link_policy = SMC_LINK_BY_CONNS;
	/* the administrator does not want it */
	settings->balance = 0;
	smc_link_notify_usable(e.first);
	KUNIT_EXPECT_EQ(test, e.lgr->balance.round, 0);
	settings->balance = 1;
	smc_link_notify_usable(e.first);
	KUNIT_EXPECT_TRUE(test, conn_wait_move(e.conn, other));
	smc_link_notify_usable(e.first);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&e.lgr->balance.work));
	settings->link_policy = policy;
	settings->balance = balance;
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);
	conn_env_end(&e);
}

#define BALANCE_CONNS	36

/**
 * struct balance_env - connections over the second link, and what the settings were
 * @e: group; its connection is @conn[0]
 * @conn: the connections
 * @n: their number
 * @policy: link policy
 * @balance: whether connections are moved
 */
struct balance_env {
	struct conn_env e;
	struct smc_conn *conn[BALANCE_CONNS];
	u32 n;
	u8 policy;
	u8 balance;
};

static struct balance_env *balance_begin(struct kunit *test, u32 n)
{
	struct smc_conn_peer_end ask = { .size = ENV_RING, .rkey = 0x22, .addr = 0x2000 };
	struct balance_env *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct smc_settings *settings = smc_settings_get(&init_net);

	KUNIT_ASSERT_NOT_NULL(test, b);
	conn_env_begin(test, &b->e);
	b->e.lgr->peer.caps = SMC_CAP_ORDERLY_MOVE;
	b->policy = settings->link_policy;
	b->balance = settings->balance;
	settings->link_policy = SMC_LINK_BY_CONNS;
	settings->balance = 1;
	b->conn[b->n++] = b->e.conn;
	while (b->n < n) {
		b->conn[b->n] = conn_env_create_conn(test, &b->e);
		ask.token = ENV_TOKEN + b->n;
		ask.index = b->n + 1;
		KUNIT_ASSERT_EQ(test, smc_conn_set_peer(b->conn[b->n], &ask), 0);
		smc_conn_activate(b->conn[b->n++]);
	}
	return b;
}

static u32 balance_count_moving(const struct balance_env *b)
{
	u32 i, n = 0;

	for (i = 0; i < b->n; i++)
		n += READ_ONCE(b->conn[i]->tx.move.state) != SMC_MOVE_IDLE;
	return n;
}

static void balance_end(struct balance_env *b)
{
	struct smc_settings *settings = smc_settings_get(&init_net);

	settings->link_policy = b->policy;
	settings->balance = b->balance;
	while (b->n > 1) {
		smc_conn_close(b->conn[--b->n], true, 0, NULL);
		smc_conn_put(b->conn[b->n]);
	}
	conn_env_end(&b->e);
}

/* Nothing moves at once: the peer may not know yet that the link works. */
static void conn_balance_delay(struct kunit *test)
{
	struct balance_env *b = balance_begin(test, 2);

	smc_link_notify_usable(b->e.first);
	msleep(800);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	msleep(300);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 1);
	balance_end(b);
}

/* Nor with a foreign peer, nor when turned off, nor over a link that does not lead to its RMB. */
static void conn_balance_not(struct kunit *test)
{
	struct balance_env *b = balance_begin(test, 2);
	struct smc_rtoken *rtoken = smc_rtoken_of(b->e.lgr, b->e.conn->tx.claim.rtoken);

	b->e.lgr->peer.caps = 0;
	smc_link_notify_usable(b->e.first);
	msleep(1200);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	b->e.lgr->peer.caps = SMC_CAP_ORDERLY_MOVE;

	smc_link_notify_usable(b->e.first);
	smc_settings_get(&init_net)->balance = 0;
	msleep(1200);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	smc_settings_get(&init_net)->balance = 1;

	smc_conn_set_balance(b->conn[0], 0);
	smc_conn_set_balance(b->conn[1], 0);
	smc_link_notify_usable(b->e.first);
	msleep(1200);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	smc_conn_set_balance(b->conn[0], SMC_BALANCE_NET);
	smc_conn_set_balance(b->conn[1], SMC_BALANCE_NET);

	rtoken->links &= ~BIT(0);
	smc_link_notify_usable(b->e.first);
	msleep(1200);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	rtoken->links |= BIT(0);

	/* connections that end stay, too */
	smc_conn_shutdown(b->conn[0], SEND_SHUTDOWN);
	smc_conn_shutdown(b->conn[1], SEND_SHUTDOWN);
	smc_link_notify_usable(b->e.first);
	msleep(1200);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	balance_end(b);
}

/*
 * At most 16 move at a time, half of all in the end, and each once for a link: here the peer
 * answers none of them. Another link, or the same one again, is another reason.
 */
static void conn_balance_many(struct kunit *test)
{
	struct balance_env *b = balance_begin(test, BALANCE_CONNS);
	bool was_tried[BALANCE_CONNS];
	u32 i, tried = 0, again = 0;

	smc_link_notify_usable(b->e.first);
	msleep(1050);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 16);
	msleep(100);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), BALANCE_CONNS / 2);
	msleep(3000);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	for (i = 0; i < b->n; i++) {
		was_tried[i] = b->conn[i]->tx.move.round == 1;
		tried += was_tried[i];
	}
	KUNIT_EXPECT_EQ(test, tried, BALANCE_CONNS / 2);
	smc_link_notify_usable(b->e.first);
	msleep(1150);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), BALANCE_CONNS / 2);
	/* the walk begins with those that it tried before */
	for (i = 0; i < b->n; i++)
		again += was_tried[i] && READ_ONCE(b->conn[i]->tx.move.state) != SMC_MOVE_IDLE;
	KUNIT_EXPECT_GT(test, again, 0);
	balance_end(b);
}

/* The link over the RNIC with which the group began is back: no connection stays on a spare one. */
static void conn_balance_spare(struct kunit *test)
{
	struct balance_env *b = balance_begin(test, 2);

	smc_settings_get(&init_net)->link_policy = SMC_LINK_FIRST_RNIC;
	b->e.second->path.gid.ifindex++;
	smc_link_notify_usable(b->e.first);
	msleep(1150);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 2);
	balance_end(b);
}

/* In a namespace that lets connections stay, one moves whose socket wants it, and no other. */
static void conn_balance_option(struct kunit *test)
{
	struct balance_env *b = balance_begin(test, 4);

	smc_settings_get(&init_net)->balance = 0;
	smc_conn_set_balance(b->conn[2], 1);
	smc_link_notify_usable(b->e.first);
	msleep(1150);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 1);
	KUNIT_EXPECT_NE(test, READ_ONCE(b->conn[2]->tx.move.state), SMC_MOVE_IDLE);
	balance_end(b);
}

/* A connection whose peer did not answer in time stays; the next walk takes others. */
static void conn_balance_once(struct kunit *test)
{
	struct balance_env *b = balance_begin(test, BALANCE_CONNS);
	bool expired[BALANCE_CONNS] = { };
	u32 i, again = 0;

	smc_link_notify_usable(b->e.first);
	msleep(1050);
	for (i = 0; i < b->n; i++) {
		spin_lock_bh(&b->conn[i]->lock);
		expired[i] = b->conn[i]->tx.move.state != SMC_MOVE_IDLE;
		if (expired[i])
			smc_conn_move_step_locked(b->conn[i], SMC_MOVE_EV_EXPIRED);
		spin_unlock_bh(&b->conn[i]->lock);
	}
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, balance_count_moving(b), 16);
	for (i = 0; i < b->n; i++)
		again += expired[i] && READ_ONCE(b->conn[i]->tx.move.state) != SMC_MOVE_IDLE;
	KUNIT_EXPECT_EQ(test, again, 0);
	balance_end(b);
}

/**
 * struct conn_owner - owner of a connection
 * @broken: number of notifications with SMC_CONN_BROKEN
 * @at: jiffies of the first of them
 */
struct conn_owner {
	u32 broken;
	unsigned long at;
};

/* The connection passes its owner on and does not look at it. */
static struct smc_sock *conn_owner_sock(struct conn_owner *owner)
{
	return (struct smc_sock *)owner;
}

static unsigned int conn_owner_get(struct smc_sock *sock, unsigned int bits)
{
	return bits;
}

static void conn_owner_notify(struct smc_sock *sock, unsigned int bits)
{
	struct conn_owner *owner = (struct conn_owner *)sock;

	if (!(bits & SMC_CONN_BROKEN))
		return;
	if (!owner->broken)
		owner->at = jiffies;
	WRITE_ONCE(owner->broken, owner->broken + 1);
}

static const struct smc_conn_events conn_owner_events = {
	.get = conn_owner_get, .notify = conn_owner_notify,
};

static void conn_env_end_owned(struct conn_env *e)
{
	smc_conn_detach(e->conn);
	/* a notification may be under way */
	flush_delayed_work(&e->conn->work);
	conn_env_end(e);
}

/* RFC 7609 section 4.8.2: the clcsock is reset when the peer's RNIC has our A. */
static void conn_reset_behind_abort(struct kunit *test)
{
	struct conn_owner owner = {};
	struct conn_env e;

	conn_env_begin(test, &e);
	smc_conn_attach(e.conn, &conn_owner_events, conn_owner_sock(&owner));
	smc_conn_abort(e.conn, ETIMEDOUT);
	spin_lock_bh(&e.conn->lock);
	/* not because of its time limit */
	e.conn->tcp_end_deadline = jiffies + 10 * PATIENCE;
	spin_unlock_bh(&e.conn->lock);
	smc_conn_queue_work(e.conn);
	msleep(50);
	KUNIT_EXPECT_EQ(test, READ_ONCE(owner.broken), 0);
	KUNIT_EXPECT_FALSE(test, smc_conn_is_broken(e.conn));
	env_complete_sends(e.second);
	KUNIT_EXPECT_TRUE(test, env_wait(&owner.broken, 1));
	KUNIT_EXPECT_TRUE(test, smc_conn_is_broken(e.conn));
	conn_env_end_owned(&e);
	KUNIT_EXPECT_EQ(test, owner.broken, 1);
}

/* The RNIC does not take it: the reset does not wait for it for long. */
static void conn_reset_unacked(struct kunit *test)
{
	struct conn_owner owner = {};
	unsigned long from;
	struct conn_env e;

	conn_env_begin(test, &e);
	smc_conn_attach(e.conn, &conn_owner_events, conn_owner_sock(&owner));
	from = jiffies;
	smc_conn_abort(e.conn, ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, env_wait(&owner.broken, 1));
	KUNIT_EXPECT_GE(test, owner.at - from, HZ / 10);
	conn_env_end_owned(&e);
}

/* RFC 7609 section 4.8.3: without a group nothing can be sent, so the reset comes at once. */
static void conn_reset_without_group(struct kunit *test)
{
	struct conn_owner owner = {};
	struct conn_env e;

	conn_env_begin(test, &e);
	smc_conn_attach(e.conn, &conn_owner_events, conn_owner_sock(&owner));
	smc_lgr_terminate(e.lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_TRUE(test, env_wait(&owner.broken, 1));
	conn_env_end_owned(&e);
}

/* A RST of the peer is its cause: none is due. */
static void conn_reset_by_peer(struct kunit *test)
{
	struct conn_owner owner = {};
	struct conn_env e;

	conn_env_begin(test, &e);
	smc_conn_attach(e.conn, &conn_owner_events, conn_owner_sock(&owner));
	smc_conn_abort(e.conn, ECONNRESET);
	env_complete_sends(e.second);
	msleep(200);
	KUNIT_EXPECT_EQ(test, owner.broken, 0);
	conn_env_end_owned(&e);
}

/* RFC 7609 sections 3.5.4, 4.8.1: the clcsock ends when both ends have closed and know it. */
static void conn_ends_clcsock(struct kunit *test)
{
	unsigned long until = jiffies + PATIENCE;
	struct smc_clcsock clcsock = {};
	struct smc_orphan *orphan;
	struct conn_env e;
	struct sock *sk;

	conn_env_begin(test, &e);
	KUNIT_ASSERT_EQ(test, smc_clcsock_create(&clcsock, &init_net, AF_INET, 1), 0);
	sk = clcsock.sock->sk;
	sock_hold(sk);
	orphan = smc_orphan_create(&clcsock);
	KUNIT_ASSERT_NOT_NULL(test, orphan);
	smc_conn_close(e.conn, false, HZ, orphan);
	env_complete_sends(e.second);
	msleep(50);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	KUNIT_EXPECT_PTR_EQ(test, e.conn->orphan, orphan);
	KUNIT_EXPECT_FALSE(test, sock_flag(sk, SOCK_DEAD));
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	while (!sock_flag(sk, SOCK_DEAD) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, sock_flag(sk, SOCK_DEAD));
	KUNIT_EXPECT_NULL(test, e.conn->orphan);
	sock_put(sk);
	conn_env_end(&e);
}

/* ---- connections of an address that did not make the group ---- */

static const struct smc_rules_path proof_path = {
	.remote = { .addr = { .s6_addr = { [10] = 0xff, 0xff, 10, 0, 0, 9 } } },
};

static void conn_env_begin_unproven(struct kunit *test, struct conn_env *e, struct smc_conn *conn)
{
	KUNIT_ASSERT_TRUE(test, smc_proof_begin(e->lgr, &proof_path.remote.addr));
	smc_conn_set_path(conn, &proof_path);
	KUNIT_ASSERT_TRUE(test, conn->rx.unproven);
}

/* The first message of the group's peer proves the address, for other connections, too. */
static void conn_proof_by_message(struct kunit *test)
{
	struct smc_rules_path known = {};
	struct smc_conn *other;
	struct conn_env e;

	conn_env_begin(test, &e);
	other = conn_env_create_conn(test, &e);
	known.remote.addr = e.lgr->peer.tcp_addr;
	smc_conn_set_path(other, &known);
	KUNIT_EXPECT_FALSE(test, other->rx.unproven);
	conn_env_begin_unproven(test, &e, other);
	conn_env_begin_unproven(test, &e, e.conn);
	KUNIT_EXPECT_EQ(test, e.lgr->proofs.nopen, 2);
	conn_env_receive(&e, e.second, 1, 0);
	KUNIT_EXPECT_FALSE(test, e.conn->rx.unproven);
	KUNIT_EXPECT_EQ(test, e.lgr->proofs.nopen, 0);
	KUNIT_ASSERT_EQ(test, e.lgr->proofs.nproven, 1);
	KUNIT_EXPECT_TRUE(test, ipv6_addr_equal(&e.lgr->proofs.proven[0], &proof_path.remote.addr));
	smc_conn_discard(other, true);
	conn_env_end(&e);
}

/* A message that aborts the connection proves nothing. */
static void conn_proof_bad_message(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod = { .off = ENV_RING + 1 } };
	struct conn_env e;

	conn_env_begin(test, &e);
	conn_env_begin_unproven(test, &e, e.conn);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_TRUE(test, e.conn->rx.unproven);
	KUNIT_EXPECT_EQ(test, e.lgr->proofs.nopen, 1);
	KUNIT_EXPECT_EQ(test, e.lgr->proofs.nproven, 0);
	conn_env_end(&e);
}

/* Without a proof only a connection in quarantine counts after its end. */
static void conn_proof_quarantine(struct kunit *test)
{
	u64 before = smc_stats_get(&init_net, SMC_STAT_ELEM_QUARANTINE);
	unsigned long until = jiffies + PATIENCE;
	struct workqueue_struct *wq;
	struct smc_conn *conn;
	struct conn_env e;

	conn_env_begin(test, &e);
	wq = e.conn->wq;
	conn = conn_env_create_conn(test, &e);
	conn_env_begin_unproven(test, &e, conn);
	smc_conn_discard(conn, true);
	conn = conn_env_create_conn(test, &e);
	conn_env_begin_unproven(test, &e, conn);
	smc_conn_discard(conn, false);
	while ((smc_stats_get(&init_net, SMC_STAT_ELEM_QUARANTINE) == before ||
		READ_ONCE(e.lgr->proofs.nopen) > 1) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_ELEM_QUARANTINE), before + 1);
	KUNIT_EXPECT_EQ(test, e.lgr->proofs.nopen, 1);
	conn_env_end(&e);
}

/* Give back the buffers of a new connection, full of bytes, and count how many are zero then. */
static void conn_give_full(struct kunit *test, struct smc_conn *conn, u32 *ring, u32 *rmbe)
{
	u8 *tx = conn->tx.elem.addr, *rx = conn->rx.elem.addr;

	memset(tx, 0x66, SMC_ELEM_SIZE_FIRST);
	memset(rx, 0x77, ENV_RING);
	smc_conn_give_buffers(conn);
	KUNIT_EXPECT_NULL(test, conn->tx.elem.region);
	KUNIT_EXPECT_NULL(test, conn->rx.elem.region);
	for (*ring = 0; *ring < SMC_ELEM_SIZE_FIRST && !tx[*ring]; (*ring)++)
		;
	for (*rmbe = 0; *rmbe < ENV_RING && !rx[*rmbe]; (*rmbe)++)
		;
	/* nothing behind is zeroed, and for the other cases all is zero again */
	KUNIT_EXPECT_FALSE(test, memchr_inv(tx + *ring, 0x66, SMC_ELEM_SIZE_FIRST - *ring));
	KUNIT_EXPECT_FALSE(test, memchr_inv(rx + *rmbe, 0x77, ENV_RING - *rmbe));
	memset(tx, 0, SMC_ELEM_SIZE_FIRST);
	memset(rx, 0, ENV_RING);
	smc_conn_discard(conn, false);
}

/* The ring is zeroed as far as the writer went, the RMBE as far as an orderly peer announced it. */
static void conn_zeroes_used(struct kunit *test)
{
	static const struct {
		u64 reach, produced;
		u8 peer_state, state, due;
		bool stopped;
		u32 ring, rmbe;
	} rows[] = {
		{ 100, 200, SMC_CDC_S_CLOSED, SMC_CDC_S_CLOSED, 0, false, 100, 200 },
		{ 0, 0, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED, SMC_CDC_S_CLOSED, 0, false, 0, 0 },
		/* around the ring */
		{ ENV_RING + 5, 2 * ENV_RING, SMC_CDC_S_CLOSED, SMC_CDC_S_CLOSED, 0, false,
		  SMC_ELEM_SIZE_FIRST, ENV_RING },
		/* the peer may have written what it did not announce */
		{ 100, 200, SMC_CDC_S_DONE, SMC_CDC_S_CLOSED, 0, false, 100, ENV_RING },
		{ 100, 200, SMC_CDC_S_CLOSED | SMC_CDC_S_ABORT, 0, 0, false, 100, ENV_RING },
		/* its last cursors were not taken over */
		{ 100, 200, SMC_CDC_S_CLOSED, SMC_CDC_S_ABORT, 0, false, 100, ENV_RING },
		{ 100, 200, SMC_CDC_S_CLOSED, 0, SMC_CDC_S_ABORT, false, 100, ENV_RING },
		{ 100, 200, SMC_CDC_S_CLOSED, SMC_CDC_S_CLOSED, 0, true, 100, ENV_RING },
	};
	struct smc_conn *conn;
	struct conn_env e;
	u32 i, ring, rmbe;

	conn_env_begin(test, &e);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		conn = conn_env_create_conn(test, &e);
		conn->tx.reach = rows[i].reach;
		conn->rx.ring.produced = rows[i].produced;
		conn->rx.peer_state = rows[i].peer_state;
		conn->tx.state = rows[i].state;
		conn->tx.state_due = rows[i].due;
		conn->tx.stopped = rows[i].stopped;
		conn_give_full(test, conn, &ring, &rmbe);
		KUNIT_EXPECT_EQ_MSG(test, ring, rows[i].ring, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rmbe, rows[i].rmbe, "row %u", i);
	}
	conn_env_end(&e);
}

/*
 * Two bytes of a message are left, the second one urgent, and the ring has room for one: they wait
 * together, for as much room as wakes a writer.
 */
static void conn_urgent_in_pairs(struct kunit *test)
{
	u8 bytes[2] = { 1, 2 };
	struct kvec vec = { .iov_base = bytes, .iov_len = 2 };
	struct smc_ring_tx *ring;
	struct iov_iter from;
	struct conn_env e;

	conn_env_begin(test, &e);
	ring = &e.conn->tx.ring;
	conn_env_send(&e, ring->size - 1);
	KUNIT_EXPECT_EQ(test, smc_tx_get_space(e.conn), 1);
	iov_iter_kvec(&from, ITER_SOURCE, &vec, 1, 2);
	KUNIT_EXPECT_EQ(test, smc_tx_write(e.conn, &from, 2, false, true), -EAGAIN);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&from), 2);
	KUNIT_EXPECT_EQ(test, ring->prepared, ring->size - 1);
	/* the caller sleeps, and is woken */
	KUNIT_EXPECT_FALSE(test, smc_tx_has_room(e.conn));
	env_complete_sends(e.second);
	KUNIT_EXPECT_TRUE(test, smc_tx_has_room(e.conn));
	KUNIT_EXPECT_EQ(test, smc_tx_write(e.conn, &from, 2, false, true), 2);
	KUNIT_EXPECT_EQ(test, e.conn->tx.urg.pos, ring->prepared);
	conn_env_end(&e);
}

/* What a writer may have touched counts, also if it took fewer bytes in the end. */
static void conn_notes_reach(struct kunit *test)
{
	struct conn_env e;
	struct iov_iter from;
	struct kvec vec;
	u8 bytes[100];

	memset(bytes, 0x33, sizeof(bytes));
	vec = (struct kvec){ .iov_base = bytes, .iov_len = sizeof(bytes) };
	conn_env_begin(test, &e);
	iov_iter_kvec(&from, ITER_SOURCE, &vec, 1, 40);
	/* 40 of the 100 bytes are there */
	KUNIT_EXPECT_EQ(test, smc_tx_write(e.conn, &from, 100, false, false), 40);
	KUNIT_EXPECT_EQ(test, e.conn->tx.reach, 100);
	iov_iter_kvec(&from, ITER_SOURCE, &vec, 1, 20);
	KUNIT_EXPECT_EQ(test, smc_tx_write(e.conn, &from, 20, false, false), 20);
	KUNIT_EXPECT_EQ(test, e.conn->tx.reach, 100);
	conn_env_end(&e);
}

KUNIT_ARRAY_PARAM(conn_env_ring, conn_env_rings, NULL);

static struct kunit_case conn_cases[] = {
	KUNIT_CASE_SLOW(conn_peer_silent),
	KUNIT_CASE_SLOW(conn_peer_silent_between),
	KUNIT_CASE_SLOW(conn_peer_silent_after_two),
	KUNIT_CASE(conn_announces_moves),
	KUNIT_CASE(conn_waits_for_all),
	KUNIT_CASE_SLOW(conn_peer_ended_not_silent),
	KUNIT_CASE_SLOW(conn_peer_resumed),
	KUNIT_CASE(conn_flushed_not_silent),
	KUNIT_CASE_SLOW(conn_peer_done),
	KUNIT_CASE_SLOW(conn_own_end),
	KUNIT_CASE_SLOW(conn_nothing_received),
	KUNIT_CASE(conn_link_held),
	KUNIT_CASE(conn_peer_end_late),
	KUNIT_CASE(conn_peer_end_elsewhere),
	KUNIT_CASE(conn_peer_end_taken),
	KUNIT_CASE_SLOW(conn_claim_late),
	KUNIT_CASE_SLOW(conn_claim_never),
	KUNIT_CASE(conn_claim_reset),
	KUNIT_CASE(conn_claim_closed),
	KUNIT_CASE(conn_claim_declined),
	KUNIT_CASE(conn_peer_end_by_other_link),
	KUNIT_CASE(conn_peer_end_after_group),
	KUNIT_CASE_PARAM(conn_abort_rewound, conn_env_ring_gen_params),
	KUNIT_CASE_PARAM(conn_abort_in_flight, conn_env_ring_gen_params),
	KUNIT_CASE(conn_abort_done_in_flight),
	KUNIT_CASE(conn_abort_done_rewound),
	KUNIT_CASE(conn_abort_wrapped_foreign),
	KUNIT_CASE_PARAM(conn_guarded, conn_env_ring_gen_params),
	KUNIT_CASE(conn_guard_foreign),
	KUNIT_CASE(conn_window_closes_once),
	KUNIT_CASE(conn_imm_sent),
	KUNIT_CASE(conn_corks),
	KUNIT_CASE(conn_corks_first),
	KUNIT_CASE(conn_quiet),
	KUNIT_CASE(conn_quiet_first),
	KUNIT_CASE(conn_quiet_slow),
	KUNIT_CASE(conn_quiet_asked),
	KUNIT_CASE(conn_quiet_closed),
	KUNIT_CASE(conn_imm_new_link),
	KUNIT_CASE(conn_imm_foreign),
	KUNIT_CASE(conn_imm_received),
	KUNIT_CASE(conn_parked_long),
	KUNIT_CASE(conn_imm_first),
	KUNIT_CASE(conn_imm_unannounced),
	KUNIT_CASE(conn_imm_index),
	KUNIT_CASE(conn_zeroes_used),
	KUNIT_CASE(conn_notes_reach),
	KUNIT_CASE_PARAM(conn_urgent_in_pairs, conn_env_ring_gen_params),
	KUNIT_CASE(conn_reserve_lasts),
	KUNIT_CASE_SLOW(conn_balance),
	KUNIT_CASE_SLOW(conn_balance_delay),
	KUNIT_CASE_SLOW(conn_balance_not),
	KUNIT_CASE_SLOW(conn_balance_many),
	KUNIT_CASE_SLOW(conn_balance_once),
	KUNIT_CASE_SLOW(conn_balance_spare),
	KUNIT_CASE_SLOW(conn_balance_option),
	KUNIT_CASE(conn_reset_behind_abort),
	KUNIT_CASE(conn_reset_unacked),
	KUNIT_CASE(conn_reset_without_group),
	KUNIT_CASE(conn_reset_by_peer),
	KUNIT_CASE(conn_ends_clcsock),
	KUNIT_CASE(conn_proof_by_message),
	KUNIT_CASE(conn_proof_bad_message),
	KUNIT_CASE(conn_proof_quarantine),
	{}
};

struct kunit_suite smc_conn_suite = {
	.name = "smc_conn",
	.init = env_init,
	.exit = env_exit,
	.test_cases = conn_cases,
};
