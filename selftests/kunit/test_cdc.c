// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages of a connection: which ones are sent, and what received ones do. The units of proto/
 * have tests of their own in user space; these show that the connection uses them.
 */
#include <linux/delay.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>

#include "conn_env.h"
#include "lgr_env.h"
#include "suites.h"

/* Send without a reserve in the peer's RMBE. */
static void cdc_begin(struct kunit *test, struct conn_env *e)
{
	conn_env_begin(test, e);
	e->conn->tx.ring.reserve = 0;
	env_complete_sends(e->second);
}

static void cdc_move(struct conn_env *e)
{
	smc_lgr_del_link(e->second, SMC_LINK_ADMIN);
}

/* The application reads @len bytes. */
static void cdc_read(struct conn_env *e, u32 len)
{
	spin_lock_bh(&e->conn->lock);
	e->conn->rx.ring.consumed += len;
	smc_rx_update_peer_locked(e->conn);
	spin_unlock_bh(&e->conn->lock);
}

/* RFC 7609 section 4.5.1: at once if the peer sees less than half free and gains an eighth. */
static void cdc_update(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = ENV_RING / 2 + 1 }, sent;
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_read(&e, ENV_RING / 8 - 1);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 0);
	cdc_read(&e, 1);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 1);
	KUNIT_EXPECT_EQ(test, sent.cons.off, ENV_RING / 8);
	conn_env_end(&e);
}

/*
 * With B any read pays: soon while there is more to read, at once at its end. B may come after the
 * read, and R asks without B.
 */
static void cdc_update_blocked(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100, .flags = SMC_CDC_F_BLOCKED }, sent;
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_read(&e, 50);
	msleep(50);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 1);
	KUNIT_EXPECT_EQ(test, sent.cons.off, 50);
	cdc_read(&e, 50);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 2);
	KUNIT_EXPECT_EQ(test, sent.cons.off, 100);
	/* no update while the peer has room */
	msg = (struct smc_cdc_msg){ .seq = 2, .prod.off = 200 };
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_read(&e, 100);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 2);
	msg.seq = 3;
	msg.flags = SMC_CDC_F_BLOCKED;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 3);
	KUNIT_EXPECT_EQ(test, sent.cons.off, 200);
	msg = (struct smc_cdc_msg){ .seq = 4, .prod.off = 300 };
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_read(&e, 50);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 3);
	msg.seq = 5;
	msg.flags = SMC_CDC_F_UPDATE_REQ;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 4);
	KUNIT_EXPECT_EQ(test, sent.cons.off, 250);
	conn_env_end(&e);
}

/* B says that bytes wait for room, once; R is in each message until the peer follows to a link. */
static void cdc_flags_sent(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1 }, sent;
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_send(&e, ENV_RING);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, ENV_RING);
	KUNIT_EXPECT_GE(test, env_count_cdc(e.second, &sent), 1);
	KUNIT_EXPECT_EQ(test, sent.flags, 0);
	env_complete_sends(e.second);
	conn_env_send(&e, 100);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 1);
	KUNIT_EXPECT_EQ(test, sent.flags, SMC_CDC_F_BLOCKED);
	conn_env_send(&e, 100);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 1);
	cdc_move(&e);
	KUNIT_EXPECT_GE(test, env_count_cdc(e.first, &sent), 2);
	KUNIT_EXPECT_EQ(test, sent.flags, SMC_CDC_F_BLOCKED | SMC_CDC_F_UPDATE_REQ);
	msg.cons.off = 1000;
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_GE(test, env_count_cdc(e.first, &sent), 3);
	KUNIT_EXPECT_EQ(test, sent.flags, 0);
	conn_env_end(&e);
}

/* RFC 7609 section 4.5.2: little waits for the completion of what is in flight, or for more. */
static void cdc_small_waits(struct kunit *test)
{
	struct smc_ring_tx *ring;
	struct conn_env e;

	cdc_begin(test, &e);
	ring = &e.conn->tx.ring;
	spin_lock_bh(&e.conn->lock);
	smc_ring_tx_prepare(ring, 100);
	smc_tx_push_locked(e.conn, true);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, ring->sent, 0);
	conn_env_send(&e, 100);
	KUNIT_EXPECT_EQ(test, ring->sent, 200);
	conn_env_send(&e, 100);
	KUNIT_EXPECT_EQ(test, ring->sent, 200);
	env_complete_sends(e.second);
	KUNIT_EXPECT_EQ(test, ring->sent, 300);
	/* half a ring does not wait */
	conn_env_send(&e, ENV_RING / 2);
	KUNIT_EXPECT_EQ(test, ring->sent, 300 + ENV_RING / 2);
	env_complete_sends(e.second);
	/* ... nor does a quarter for more */
	spin_lock_bh(&e.conn->lock);
	smc_ring_tx_prepare(ring, ENV_RING / 4);
	smc_tx_push_locked(e.conn, true);
	spin_unlock_bh(&e.conn->lock);
	KUNIT_EXPECT_EQ(test, ring->sent, 300 + ENV_RING / 2 + ENV_RING / 4);
	conn_env_end(&e);
}

/*
 * RFC 7609 section 4.6.1: the first message over another link names the last one that the peer's
 * RNIC has acknowledged. The bytes of the others follow again.
 */
static void cdc_validation_sent(struct kunit *test)
{
	struct smc_cdc_msg sent;
	struct fake_ib_wr *wr;
	struct conn_env e;
	u16 done;

	cdc_begin(test, &e);
	conn_env_send(&e, 100);
	done = e.conn->tx.seq;
	env_complete_sends(e.second);
	conn_env_send(&e, 200);
	KUNIT_EXPECT_EQ(test, e.conn->tx.seq, done + 1);
	cdc_move(&e);
	wr = fake_ib_sent(fake_ib_qp(e.first->qp->qp), 0);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	KUNIT_ASSERT_EQ(test, wr->opcode, IB_WR_SEND);
	KUNIT_ASSERT_EQ(test, smc_cdc_msg_parse((u8 *)(uintptr_t)wr->sge[0].addr,
						wr->sge[0].length, ENV_RING, ENV_RING, &sent), 0);
	KUNIT_EXPECT_EQ(test, sent.flags, SMC_CDC_F_FAILOVER);
	KUNIT_EXPECT_EQ(test, sent.seq, done);
	wr = fake_ib_sent(fake_ib_qp(e.first->qp->qp), 1);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr->raddr, 0x1000 + 100);
	KUNIT_EXPECT_EQ(test, wr->sge[0].length, 200);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 300);
	conn_env_end(&e);
}

/*
 * Messages without bytes have no completion of their own, but their number must not run away from
 * the last one that is known to have arrived.
 */
static void cdc_validation_number(struct kunit *test)
{
	struct conn_env e;
	u32 i;

	cdc_begin(test, &e);
	for (i = 0; i < 40000; i++) {
		spin_lock_bh(&e.conn->lock);
		smc_tx_send_update_locked(e.conn);
		spin_unlock_bh(&e.conn->lock);
		if (!(i % 8))
			env_complete_sends(e.second);
	}
	env_complete_sends(e.second);
	KUNIT_EXPECT_LE(test, (u16)(e.conn->tx.seq - e.conn->tx.seq_done), 0x7fff);
	conn_env_end(&e);
}

/* Cursors and D are sent again over another link, until the peer's RNIC has acknowledged D. */
static void cdc_resumes(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100 }, sent;
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_read(&e, 50);
	smc_conn_shutdown(e.conn, SEND_SHUTDOWN);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 1);
	KUNIT_EXPECT_EQ(test, sent.state, SMC_CDC_S_DONE);
	cdc_move(&e);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.first, &sent), 2);
	KUNIT_EXPECT_EQ(test, sent.state, SMC_CDC_S_DONE);
	KUNIT_EXPECT_EQ(test, sent.cons.off, 50);
	KUNIT_EXPECT_TRUE(test, e.conn->tx.state_unacked);
	env_complete_sends(e.first);
	KUNIT_EXPECT_FALSE(test, e.conn->tx.state_unacked);
	conn_env_end(&e);
}

/* A consumer cursor may have been lost with the link: it is sent again though nothing is read. */
static void cdc_resumes_cursor(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100 }, sent;
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_read(&e, 50);
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 0);
	conn_env_send(&e, 10);
	env_complete_sends(e.second);
	cdc_move(&e);
	/* after the validation */
	KUNIT_EXPECT_EQ(test, env_count_cdc(e.first, &sent), 2);
	KUNIT_EXPECT_EQ(test, sent.flags & SMC_CDC_F_FAILOVER, 0);
	KUNIT_EXPECT_EQ(test, sent.cons.off, 50);
	conn_env_end(&e);
}

/* An urgent byte is announced again if the link was lost with it, and D goes with the last byte. */
static void cdc_resumes_urgent(struct kunit *test)
{
	struct smc_cdc_msg sent;
	struct conn_env e;

	cdc_begin(test, &e);
	spin_lock_bh(&e.conn->lock);
	smc_ring_tx_prepare(&e.conn->tx.ring, 100);
	smc_urgent_tx_mark(&e.conn->tx.urg, 100, 0);
	smc_tx_push_locked(e.conn, false);
	spin_unlock_bh(&e.conn->lock);
	env_count_cdc(e.second, &sent);
	KUNIT_EXPECT_EQ(test, sent.flags & SMC_CDC_F_URG_PRESENT, SMC_CDC_F_URG_PRESENT);
	cdc_move(&e);
	env_count_cdc(e.first, &sent);
	KUNIT_EXPECT_EQ(test, sent.prod.off, 100);
	KUNIT_EXPECT_EQ(test, sent.flags & SMC_CDC_F_URG_PRESENT, SMC_CDC_F_URG_PRESENT);
	conn_env_end(&e);
}

/* RFC 7609 section 4.6.1: that connection alone is reset. */
static void cdc_validation_bad(struct kunit *test)
{
	struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2, .rkey = 0x22, .addr = 0x2000,
	};
	struct smc_cdc_msg msg = { .flags = SMC_CDC_F_FAILOVER, .seq = 1 };
	struct smc_conn *other;
	struct conn_env e;

	cdc_begin(test, &e);
	other = conn_env_create_conn(test, &e);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(other, &ask), 0);
	smc_conn_activate(other);
	conn_env_receive(&e, e.second, 1, 0);
	cdc_move(&e);
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	msg.seq = 2;
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, smc_conn_state(other), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(e.lgr->dead));
	smc_conn_close(other, true, 0, NULL);
	smc_conn_put(other);
	conn_env_end(&e);
}

/* A foreign peer moves without a validation: a gap before new bytes is a loss, else it is none. */
static void cdc_gap(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100 };
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_move(&e);
	msg.seq = 3;
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	conn_env_end(&e);

	cdc_begin(test, &e);
	msg.seq = 1;
	conn_env_receive_msg(&e, e.second, &msg);
	cdc_move(&e);
	msg.seq = 3;
	msg.prod.off = 200;
	conn_env_receive_msg(&e, e.first, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 100);
	conn_env_end(&e);
}

/* The same while the link that the peer has left is open: the message waits for its end. */
static void cdc_gap_kept(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100 };
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	msg.seq = 3;
	msg.prod.off = 200;
	rcu_read_lock();
	conn_env_receive_msg(&e, e.first, &msg);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 100);
	KUNIT_EXPECT_EQ(test, atomic_read(&e.second->reason), SMC_LINK_PEER_MOVED);
	cdc_move(&e);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 100);
	conn_env_end(&e);
}

/* A message that is older than the last one has no effect. */
static void cdc_old(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 5, .prod.off = 100 };
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	msg.seq = 4;
	msg.prod.off = 200;
	msg.state = SMC_CDC_S_DONE;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 100);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	/* numbers wrap */
	msg = (struct smc_cdc_msg){ .seq = 0x7fff, .prod.off = 300 };
	conn_env_receive_msg(&e, e.second, &msg);
	msg.seq = 0xfffe;
	conn_env_receive_msg(&e, e.second, &msg);
	msg.seq = 0;
	msg.prod.off = 400;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 400);
	conn_env_end(&e);
}

/**
 * struct cdc_lie - an impossible message
 * @what: description
 * @before: message that comes before it
 * @msg: the message
 */
struct cdc_lie {
	const char *what;
	struct smc_cdc_msg before;
	struct smc_cdc_msg msg;
};

static const struct cdc_lie cdc_lies[] = {
	{ "reads what was not sent", { .seq = 1 }, { .seq = 2, .cons.off = 1 } },
	{ "writes beyond the ring", { .seq = 1 }, { .seq = 2, .prod = { .wrap = 1, .off = 1 } } },
	{ "writes after D", { .seq = 1, .prod.off = 10, .state = SMC_CDC_S_DONE },
	  { .seq = 2, .prod.off = 11, .state = SMC_CDC_S_DONE } },
};

static void cdc_lies_abort(struct kunit *test)
{
	struct smc_cdc_msg msg;
	struct conn_env e;
	int i;

	for (i = 0; i < ARRAY_SIZE(cdc_lies); i++) {
		cdc_begin(test, &e);
		msg = cdc_lies[i].before;
		conn_env_receive_msg(&e, e.second, &msg);
		KUNIT_EXPECT_EQ_MSG(test, e.conn->err, 0, "%s", cdc_lies[i].what);
		msg = cdc_lies[i].msg;
		conn_env_receive_msg(&e, e.second, &msg);
		KUNIT_EXPECT_EQ_MSG(test, e.conn->err, ECONNABORTED, "%s", cdc_lies[i].what);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(e.lgr->dead));
		conn_env_end(&e);
	}
}

/* Before the Confirm the peer may write, but cannot have read anything. */
static void cdc_before_confirm(struct kunit *test)
{
	struct smc_conn_peer_end ask = {
		.token = ENV_TOKEN + 1, .size = ENV_RING, .index = 2, .rkey = 0x22, .addr = 0x2000,
	};
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10, .state = SMC_CDC_S_DONE };
	struct smc_conn *first;
	struct conn_env e;

	cdc_begin(test, &e);
	first = e.conn;
	e.conn = conn_env_create_conn(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_INIT);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 10);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(e.conn, &ask), 0);
	smc_conn_activate(e.conn);
	/* D takes effect now */
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_APPCLOSEWAIT1_D);
	KUNIT_EXPECT_TRUE(test, e.conn->rx.ended);
	smc_conn_close(e.conn, true, 0, NULL);
	smc_conn_put(e.conn);

	e.conn = conn_env_create_conn(test, &e);
	msg = (struct smc_cdc_msg){ .seq = 1, .cons.off = 1 };
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	smc_conn_discard(e.conn, true);

	/* nor write after D, which the state of the connection does not show yet */
	e.conn = conn_env_create_conn(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE);
	msg = (struct smc_cdc_msg){ .seq = 2, .prod.off = 1, .state = SMC_CDC_S_DONE };
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNABORTED);
	smc_conn_discard(e.conn, true);
	e.conn = first;
	conn_env_end(&e);
}

/* Bytes that come after our abort, behind a gap, do not reach the reader. */
static void cdc_after_abort(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100 };
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	smc_conn_abort(e.conn, ECONNABORTED);
	msg.seq = 2;
	msg.prod.off = 200;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.ring.produced, 100);
	KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), 100);
	conn_env_end(&e);
}

/* RFC 7609 section 4.7.5: what follows an urgent byte waits until the peer has read the byte. */
static void cdc_urgent_stops(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .cons.off = 99 };
	struct conn_env e;

	cdc_begin(test, &e);
	spin_lock_bh(&e.conn->lock);
	smc_ring_tx_prepare(&e.conn->tx.ring, 100);
	smc_urgent_tx_mark(&e.conn->tx.urg, 100, 0);
	smc_ring_tx_prepare(&e.conn->tx.ring, 100);
	smc_tx_push_locked(e.conn, false);
	spin_unlock_bh(&e.conn->lock);
	env_complete_sends(e.second);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 100);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 100);
	msg.seq++;
	msg.cons.off = 100;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 200);
	conn_env_end(&e);
}

/* P and U belong to the cursor in their message: one that was repeated says nothing new. */
static void cdc_urgent_stale(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 100 };
	struct conn_env e;

	cdc_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	msg.seq = 2;
	msg.prod.off = 50;
	msg.flags = SMC_CDC_F_URG_PENDING | SMC_CDC_F_URG_PRESENT;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.urg.state, SMC_URGENT_NONE);
	msg.seq = 3;
	msg.prod.off = 101;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->rx.urg.state, SMC_URGENT_VALID);
	KUNIT_EXPECT_EQ(test, e.conn->rx.urg.pos, 101);
	conn_env_end(&e);
}

/*
 * An urgent byte is taken out of the stream when it is next, and the writer gets the cursor at
 * once; in line it is read like the others. recv() with MSG_OOB gets it at any time, once.
 */
static void cdc_urgent_read(struct kunit *test)
{
	struct smc_cdc_msg msg, sent;
	struct smc_rx_call call;
	struct conn_env e;
	u8 byte = 0;
	int i;

	for (i = 0; i < 2; i++) {
		cdc_begin(test, &e);
		((u8 *)e.conn->rx.elem.addr)[99] = 0xa5;
		msg = (struct smc_cdc_msg){
			.seq = 1, .prod.off = 100,
			.flags = SMC_CDC_F_URG_PENDING | SMC_CDC_F_URG_PRESENT,
		};
		conn_env_receive_msg(&e, e.second, &msg);
		KUNIT_EXPECT_TRUE(test, smc_rx_has_urgent(e.conn));
		call = (struct smc_rx_call){ .in_line = i };
		KUNIT_EXPECT_EQ(test, smc_rx_read(e.conn, NULL, 50, &call), 50);
		smc_rx_skip_urgent(e.conn, i);
		KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), 50);
		KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 0);
		call = (struct smc_rx_call){ .in_line = i };
		KUNIT_EXPECT_EQ(test, smc_rx_read(e.conn, NULL, 49, &call), 49);
		smc_rx_skip_urgent(e.conn, i);
		KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), i ? 1 : 0);
		if (i) {
			call = (struct smc_rx_call){ .in_line = true };
			KUNIT_EXPECT_EQ(test, smc_rx_read(e.conn, NULL, 1, &call), 1);
		}
		KUNIT_EXPECT_EQ(test, env_count_cdc(e.second, &sent), 1);
		KUNIT_EXPECT_EQ(test, sent.cons.off, 100);
		if (!i) {
			KUNIT_EXPECT_EQ(test, smc_rx_take_urgent(e.conn, true, &byte), 0);
			KUNIT_EXPECT_EQ(test, smc_rx_take_urgent(e.conn, false, &byte), 0);
			KUNIT_EXPECT_EQ(test, byte, 0xa5);
			KUNIT_EXPECT_NE(test, smc_rx_take_urgent(e.conn, false, &byte), 0);
		}
		conn_env_end(&e);
	}
}

KUNIT_ARRAY_PARAM(conn_env_ring, conn_env_rings, NULL);

static struct kunit_case cdc_cases[] = {
	KUNIT_CASE(cdc_update),
	KUNIT_CASE(cdc_update_blocked),
	KUNIT_CASE(cdc_flags_sent),
	KUNIT_CASE(cdc_small_waits),
	KUNIT_CASE(cdc_validation_sent),
	KUNIT_CASE(cdc_validation_number),
	KUNIT_CASE(cdc_validation_bad),
	KUNIT_CASE_PARAM(cdc_resumes, conn_env_ring_gen_params),
	KUNIT_CASE(cdc_resumes_cursor),
	KUNIT_CASE_PARAM(cdc_resumes_urgent, conn_env_ring_gen_params),
	KUNIT_CASE(cdc_gap),
	KUNIT_CASE(cdc_gap_kept),
	KUNIT_CASE(cdc_old),
	KUNIT_CASE(cdc_lies_abort),
	KUNIT_CASE(cdc_before_confirm),
	KUNIT_CASE(cdc_after_abort),
	KUNIT_CASE_PARAM(cdc_urgent_stops, conn_env_ring_gen_params),
	KUNIT_CASE(cdc_urgent_stale),
	KUNIT_CASE(cdc_urgent_read),
	{}
};

struct kunit_suite smc_cdc_suite = {
	.name = "smc_cdc",
	.init = env_init,
	.exit = env_exit,
	.test_cases = cdc_cases,
};
