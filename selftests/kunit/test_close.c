// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a connection ends (RFC 7609 section 4.8): when D, C and A are sent, and what those of the
 * peer do. The table of states has tests of its own in user space; these show what it is fed with
 * and that its actions are carried out.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <net/sock.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include "../../conn/timers.h"

#include "conn_env.h"
#include "lgr_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)

/* The state flags that were sent last over the second link. */
static u8 close_sent_state(const struct conn_env *e)
{
	struct smc_cdc_msg last;

	return env_count_cdc(e->second, &last) ? last.state : 0;
}

static void close_begin(struct kunit *test, struct conn_env *e)
{
	conn_env_begin(test, e);
	e->conn->tx.ring.reserve = 0;
	env_complete_sends(e->second);
}

static void close_run_work(struct conn_env *e)
{
	smc_conn_queue_work(e->conn);
	flush_delayed_work(&e->conn->work);
}

static bool close_wait(const struct conn_env *e, enum smc_conn_state state)
{
	unsigned long until = jiffies + PATIENCE;

	while (smc_conn_state(e->conn) != state && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return smc_conn_state(e->conn) == state;
}

/* D goes with the last byte, not before: bytes wait for room in the peer's RMBE. */
static void close_done_last(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .cons.off = 100 };
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, ENV_RING);
	env_complete_sends(e.second);
	conn_env_send(&e, 100);
	smc_conn_shutdown(e.conn, SEND_SHUTDOWN);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), 0);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, ENV_RING + 100);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_D);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_DONE);
	conn_env_end(&e);
}

/* ... nor while bytes have to be written again over another link. */
static void close_done_repeated(struct kunit *test)
{
	struct smc_cdc_msg last;
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, 100);
	smc_conn_shutdown(e.conn, SEND_SHUTDOWN);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_DONE);
	/* no room for them there */
	smc_link_hold_conns(e.first, true);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	spin_lock_bh(&e.conn->lock);
	e.conn->tx.ring.peer_consumed = 0;
	e.conn->tx.ring.guarded = true;
	e.conn->tx.ring.guard = 0;
	e.conn->tx.ring.peer_size = 50;
	spin_unlock_bh(&e.conn->lock);
	smc_link_hold_conns(e.first, false);
	KUNIT_EXPECT_GE(test, env_count_cdc(e.first, &last), 2);
	KUNIT_EXPECT_EQ(test, last.state, 0);
	spin_lock_bh(&e.conn->lock);
	e.conn->tx.ring.guarded = false;
	e.conn->tx.ring.peer_size = ENV_RING;
	spin_unlock_bh(&e.conn->lock);
	env_complete_sends(e.first);
	env_count_cdc(e.first, &last);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 100);
	KUNIT_EXPECT_EQ(test, last.state, SMC_CDC_S_DONE);
	conn_env_end(&e);
}

/* RFC 7609 section 4.8.1: a direction ends on its own, the other one goes on. */
static void close_one_direction(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct conn_env e;

	close_begin(test, &e);
	smc_conn_shutdown(e.conn, SEND_SHUTDOWN);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_D);
	KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), 10);
	KUNIT_EXPECT_EQ(test, e.conn->err, 0);
	conn_env_end(&e);

	close_begin(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE);
	KUNIT_EXPECT_FALSE(test, smc_conn_peer_has_closed(e.conn));
	conn_env_send(&e, 100);
	KUNIT_EXPECT_EQ(test, e.conn->tx.ring.sent, 100);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_APPCLOSEWAIT1_D);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), 0);
	conn_env_end(&e);
}

/* C is sent when the peer's RNIC has acknowledged all bytes. */
static void close_waits(struct kunit *test)
{
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, 100);
	smc_conn_close(e.conn, false, 60 * HZ, NULL);
	close_run_work(&e);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), 0);
	env_complete_sends(e.second);
	close_run_work(&e);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e) & ~SMC_CDC_S_DONE, SMC_CDC_S_CLOSED);
	conn_env_end(&e);
}

/* ... and A if that takes longer than the application wanted to linger. */
static void close_lingers(struct kunit *test)
{
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, 100);
	smc_conn_close(e.conn, false, HZ / 10, NULL);
	KUNIT_EXPECT_TRUE(test, close_wait(&e, SMC_CONN_PEERABORTWAIT));
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_ABORT);
	conn_env_end(&e);
}

/* A shutdown of both directions is a close, when nothing is unread. */
static void close_shut_both(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct conn_env e;

	close_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	smc_conn_shutdown(e.conn, SHUTDOWN_MASK);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_D);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_DONE);
	spin_lock_bh(&e.conn->lock);
	e.conn->rx.ring.consumed = 10;
	spin_unlock_bh(&e.conn->lock);
	close_run_work(&e);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e) & SMC_CDC_S_CLOSED, SMC_CDC_S_CLOSED);
	conn_env_end(&e);
}

/* ... and bytes that come then are refused; those before them can be read. */
static void close_refuses(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct conn_env e;

	close_begin(test, &e);
	conn_env_receive_msg(&e, e.second, &msg);
	smc_conn_shutdown(e.conn, SHUTDOWN_MASK);
	msg.seq = 2;
	msg.prod.off = 20;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e) & SMC_CDC_S_ABORT, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNRESET);
	KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), 10);
	conn_env_end(&e);
}

/* A close refuses them, too: a peer that waits for room here may never read what is queued. */
static void close_refuses_bytes(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, 100);
	smc_conn_close(e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_ACTIVE);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e) & SMC_CDC_S_ABORT, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNRESET);
	conn_env_end(&e);
}

/* Bytes that the caller of smc_conn_close() has not seen count as unread. */
static void close_unread(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, 100);
	conn_env_receive_msg(&e, e.second, &msg);
	smc_conn_close(e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e) & SMC_CDC_S_ABORT, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_FALSE(test, e.conn->close_pending);
	conn_env_end(&e);
}

/*
 * After our C bytes of the peer are discarded; nobody reads them, and they are no violation. A
 * native peer learns that they are lost, as by a reset of TCP.
 */
static void close_discards(struct kunit *test)
{
	struct smc_cdc_msg msg = { .seq = 1, .prod.off = 10 };
	struct conn_env e;

	close_begin(test, &e);
	smc_conn_close(e.conn, false, HZ, NULL);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), 0);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_CLOSED);
	conn_env_end(&e);

	close_begin(test, &e);
	e.lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	smc_conn_close(e.conn, false, HZ, NULL);
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERABORTWAIT);
	KUNIT_EXPECT_EQ(test, smc_ring_rx_readable(&e.conn->rx.ring), 0);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e) & SMC_CDC_S_ABORT, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, e.conn->tcp_end, SMC_TCP_END_RST);
	/* it comes from a peer that has not closed, and answers */
	msg.seq = 2;
	msg.state = SMC_CDC_S_ABORT;
	conn_env_receive_msg(&e, e.second, &msg);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_FALSE(test, e.conn->quarantine);
	conn_env_end(&e);
}

/* C of the peer while bytes wait here: they cannot be sent, so A answers (RFC 7609 4.8.1). */
static void close_peer_early(struct kunit *test)
{
	struct conn_env e;

	close_begin(test, &e);
	conn_env_send(&e, ENV_RING);
	env_complete_sends(e.second);
	conn_env_send(&e, 100);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	KUNIT_EXPECT_EQ(test, e.conn->err, EPIPE);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_ABORT);
	conn_env_end(&e);
}

/* A of the peer is ECONNRESET, but EPIPE if the peer had ended its direction in good order. */
static void close_peer_aborts(struct kunit *test)
{
	struct conn_env e;

	close_begin(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNRESET);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_ABORT);
	KUNIT_EXPECT_FALSE(test, e.conn->quarantine);
	conn_env_end(&e);

	close_begin(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE);
	KUNIT_EXPECT_TRUE(test, e.conn->rx.ended);
	KUNIT_EXPECT_EQ(test, e.conn->err, 0);
	conn_env_receive(&e, e.second, 2, SMC_CDC_S_DONE | SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, e.conn->err, EPIPE);
	conn_env_end(&e);
}

/*
 * The last message is repeated over another link until the peer's RNIC has it. @time: seconds until
 * the link is lost; retries of the RNIC take some.
 */
static void close_lose_last(struct kunit *test, unsigned int time)
{
	struct smc_cdc_msg last;
	struct conn_env e;

	close_begin(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_APPCLOSEWAIT1_C);
	smc_conn_close(e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, e.conn->tcp_end, SMC_TCP_END_FIN_SECOND);
	close_run_work(&e);
	ssleep(time);
	KUNIT_EXPECT_FALSE(test, e.conn->unregistered);
	smc_lgr_del_link(e.second, SMC_LINK_ADMIN);
	KUNIT_EXPECT_GE(test, env_count_cdc(e.first, &last), 1);
	KUNIT_EXPECT_EQ(test, last.state & SMC_CDC_S_CLOSED, SMC_CDC_S_CLOSED);
	close_run_work(&e);
	/* the other RNIC retries, too */
	ssleep(time);
	KUNIT_EXPECT_FALSE(test, e.conn->unregistered);
	env_complete_sends(e.first);
	close_run_work(&e);
	KUNIT_EXPECT_TRUE(test, e.conn->unregistered);
	KUNIT_EXPECT_FALSE(test, e.conn->quarantine);
	conn_env_end(&e);
}

static void close_last_message(struct kunit *test)
{
	close_lose_last(test, 0);
}

static void close_last_message_late(struct kunit *test)
{
	close_lose_last(test, 8);
}

/* The end that has closed first sends the first FIN. */
static void close_first(struct kunit *test)
{
	struct conn_env e;

	close_begin(test, &e);
	smc_conn_close(e.conn, false, HZ, NULL);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_PEERCLOSEWAIT1_C);
	KUNIT_EXPECT_EQ(test, e.conn->tcp_end, SMC_TCP_END_NONE);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.conn), SMC_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, e.conn->tcp_end, SMC_TCP_END_FIN);
	KUNIT_EXPECT_FALSE(test, e.conn->deadline_armed);
	conn_env_end(&e);
}

/* Neither C nor A answers ours: its time is limited, and the RMBE stays out of use (4.4.2). */
static void close_unanswered(struct kunit *test)
{
	static const bool abort[] = { false, true };
	struct conn_env e;
	int i;

	for (i = 0; i < ARRAY_SIZE(abort); i++) {
		close_begin(test, &e);
		smc_conn_close(e.conn, abort[i], HZ, NULL);
		env_complete_sends(e.second);
		KUNIT_EXPECT_TRUE(test, e.conn->deadline_armed);
		KUNIT_EXPECT_FALSE(test, e.conn->quarantine);
		spin_lock_bh(&e.conn->lock);
		e.conn->deadline = jiffies - 1;
		spin_unlock_bh(&e.conn->lock);
		smc_conn_queue_work(e.conn);
		KUNIT_EXPECT_TRUE(test, close_wait(&e, SMC_CONN_CLOSED));
		KUNIT_EXPECT_TRUE(test, e.conn->quarantine);
		conn_env_end(&e);
	}
}

/* RST on the clcsock: A tells the peer. A write after the peer's C gets EPIPE, and A goes out. */
static void close_by_tcp(struct kunit *test)
{
	struct conn_env e;

	close_begin(test, &e);
	smc_conn_abort(e.conn, ECONNRESET);
	KUNIT_EXPECT_EQ(test, e.conn->err, ECONNRESET);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_ABORT);
	conn_env_end(&e);

	close_begin(test, &e);
	conn_env_receive(&e, e.second, 1, SMC_CDC_S_DONE | SMC_CDC_S_CLOSED);
	KUNIT_EXPECT_TRUE(test, smc_conn_peer_has_closed(e.conn));
	smc_conn_lose_write(e.conn);
	KUNIT_EXPECT_EQ(test, e.conn->err, EPIPE);
	KUNIT_EXPECT_EQ(test, close_sent_state(&e), SMC_CDC_S_ABORT);
	conn_env_end(&e);
}

/* A group that ends because the peer is silent is a time-out only for an own keepalive probe. */
static void close_group_lost(struct kunit *test)
{
	static const struct {
		bool probed;
		enum smc_link_reason reason;
		int err;
	} rows[] = {
		{ false, SMC_LINK_TEST_TIMEOUT, ECONNABORTED },
		{ true, SMC_LINK_TEST_TIMEOUT, ETIMEDOUT },
		{ true, SMC_LINK_ADMIN, ECONNABORTED },
	};
	struct conn_env e;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		close_begin(test, &e);
		e.conn->keepalive_pending = rows[i].probed;
		smc_lgr_terminate(e.lgr, rows[i].reason);
		KUNIT_EXPECT_TRUE(test, close_wait(&e, SMC_CONN_CLOSED));
		KUNIT_EXPECT_EQ_MSG(test, e.conn->err, rows[i].err, "row %d", i);
		KUNIT_EXPECT_TRUE(test, e.conn->quarantine);
		conn_env_end(&e);
	}
}

KUNIT_ARRAY_PARAM(conn_env_ring, conn_env_rings, NULL);

static struct kunit_case close_cases[] = {
	KUNIT_CASE(close_done_last),
	KUNIT_CASE_PARAM(close_done_repeated, conn_env_ring_gen_params),
	KUNIT_CASE(close_one_direction),
	KUNIT_CASE(close_waits),
	KUNIT_CASE(close_lingers),
	KUNIT_CASE(close_shut_both),
	KUNIT_CASE(close_refuses),
	KUNIT_CASE(close_refuses_bytes),
	KUNIT_CASE(close_unread),
	KUNIT_CASE(close_discards),
	KUNIT_CASE(close_peer_early),
	KUNIT_CASE(close_peer_aborts),
	KUNIT_CASE(close_last_message),
	KUNIT_CASE_SLOW(close_last_message_late),
	KUNIT_CASE(close_first),
	KUNIT_CASE(close_unanswered),
	KUNIT_CASE(close_by_tcp),
	KUNIT_CASE(close_group_lost),
	{}
};

struct kunit_suite smc_close_suite = {
	.name = "smc_close",
	.init = env_init,
	.exit = env_exit,
	.test_cases = close_cases,
};
