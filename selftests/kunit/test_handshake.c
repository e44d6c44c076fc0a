// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who runs the handshake of a client: a work, or the caller of connect(). When that of a server
 * begins. What a client remembers.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <smc/base/stats.h>
#include <smc/handshake/handshake.h>
#include <smc/handshake/negcache.h>
#include <smc/proto/clc_msg.h>

#include "../../handshake/internal.h"
#include "conn_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)

/**
 * struct hs_env - the handshake of a client with a server that has not sent the SMC option
 * @tcp: its TCP connection
 * @hs: the handshake
 * @due: calls of smc_hs.due
 * @done: calls of smc_hs.done
 * @ended: completed by smc_hs.done
 * @by: the task that called it
 * @res: its result
 */
struct hs_env {
	struct clcsock_env tcp;
	struct smc_hs hs;
	u32 due;
	u32 done;
	struct completion ended;
	struct task_struct *by;
	struct smc_hs_result res;
};

static void hs_env_due(struct smc_hs *hs)
{
	struct hs_env *e = hs->owner;

	e->due++;
}

static void hs_env_done(struct smc_hs *hs, const struct smc_hs_result *res)
{
	struct hs_env *e = hs->owner;

	smc_clcsock_unhook(hs->clcsock);
	smc_hs_release_clcsock(hs);
	e->res = *res;
	e->by = current;
	e->done++;
	complete(&e->ended);
}

/* Begin the handshake; @attended: the test is the caller of connect(). */
static struct hs_env *hs_env_begin(struct kunit *test, bool attended)
{
	struct hs_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	clcsock_env_begin(test, &e->tcp);
	init_completion(&e->ended);
	e->hs.clcsock = &e->tcp.ours;
	e->hs.net = &init_net;
	e->hs.done = hs_env_done;
	e->hs.due = hs_env_due;
	e->hs.owner = e;
	smc_hs_client_setup(&e->hs);
	if (attended)
		smc_hs_attend(&e->hs);
	return e;
}

static void hs_env_end(struct hs_env *e)
{
	smc_hs_cancel_sync(&e->hs);
	clcsock_env_end(&e->tcp);
}

static void hs_env_expect_tcp(struct kunit *test, struct hs_env *e)
{
	KUNIT_EXPECT_EQ(test, e->done, 1);
	KUNIT_EXPECT_EQ(test, e->res.outcome, SMC_HS_TCP);
	KUNIT_EXPECT_EQ(test, e->res.own_reason, SMC_CLC_DECL_PEER_NO_SMC);
	KUNIT_EXPECT_FALSE(test, smc_hs_is_due(&e->hs));
	KUNIT_EXPECT_FALSE(test, e->tcp.ours.hooked);
}

/* The caller runs it, once. */
static void hs_due_runs(struct kunit *test)
{
	u64 fallbacks = smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK);
	struct hs_env *e = hs_env_begin(test, true);

	smc_hs_start(&e->hs);
	KUNIT_EXPECT_EQ(test, e->due, 1);
	KUNIT_EXPECT_TRUE(test, smc_hs_is_due(&e->hs));
	KUNIT_EXPECT_EQ(test, e->done, 0);
	KUNIT_EXPECT_TRUE(test, smc_hs_run_due(&e->hs));
	KUNIT_EXPECT_PTR_EQ(test, e->by, current);
	hs_env_expect_tcp(test, e);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK), fallbacks + 1);
	KUNIT_EXPECT_FALSE(test, smc_hs_run_due(&e->hs));
	smc_hs_leave(&e->hs);
	hs_env_end(e);
	KUNIT_EXPECT_EQ(test, e->done, 1);
}

/* The caller gives up waiting: a work runs it. */
static void hs_due_left(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, true);

	smc_hs_start(&e->hs);
	KUNIT_EXPECT_TRUE(test, smc_hs_is_due(&e->hs));
	smc_hs_leave(&e->hs);
	KUNIT_EXPECT_FALSE(test, smc_hs_run_due(&e->hs));
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e->ended, PATIENCE), 0);
	KUNIT_EXPECT_PTR_NE(test, e->by, current);
	hs_env_expect_tcp(test, e);
	hs_env_end(e);
}

/* It has gone before TCP connected, or has never waited: a work runs it. */
static void hs_due_unattended(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, true);

	smc_hs_leave(&e->hs);
	smc_hs_start(&e->hs);
	KUNIT_EXPECT_EQ(test, e->due, 0);
	KUNIT_EXPECT_FALSE(test, smc_hs_run_due(&e->hs));
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e->ended, PATIENCE), 0);
	hs_env_expect_tcp(test, e);
	hs_env_end(e);
}

/* A connect() of another thread, or the end of the socket, cancels it before the caller runs it. */
static void hs_due_cancelled(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, true);

	smc_hs_start(&e->hs);
	KUNIT_EXPECT_TRUE(test, smc_hs_is_due(&e->hs));
	smc_hs_cancel_sync(&e->hs);
	KUNIT_EXPECT_FALSE(test, smc_hs_run_due(&e->hs));
	smc_hs_leave(&e->hs);
	flush_work(&e->hs.work);
	KUNIT_EXPECT_EQ(test, e->done, 0);
	KUNIT_EXPECT_FALSE(test, e->tcp.ours.hooked);
	hs_env_end(e);
}

/* Another call uses the clcsock: its end queues the work, as nobody waits for its program. */
static void hs_due_busy(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, true);

	KUNIT_ASSERT_EQ(test, smc_clcsock_begin_call(&e->tcp.ours), 0);
	smc_hs_start(&e->hs);
	KUNIT_EXPECT_TRUE(test, smc_hs_run_due(&e->hs));
	KUNIT_EXPECT_EQ(test, e->done, 0);
	smc_clcsock_end_call(&e->tcp.ours);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e->ended, PATIENCE), 0);
	hs_env_expect_tcp(test, e);
	hs_env_end(e);
}

/* TCP has failed: the work reports it, whoever waits. */
static void hs_due_failed(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, true);

	KUNIT_EXPECT_TRUE(test, smc_clcsock_reset(&e->tcp.ours));
	smc_hs_start(&e->hs);
	KUNIT_EXPECT_EQ(test, e->due, 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e->ended, PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, e->res.outcome, SMC_HS_FAIL);
	hs_env_end(e);
}

/* ---- server ---- */

static struct hs_env *hs_env_begin_server(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, false);

	smc_hs_server_setup(&e->hs);
	return e;
}

/* The peer sends @len bytes. */
static void hs_env_send(struct kunit *test, struct hs_env *e, const void *buf, size_t len)
{
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {};
	unsigned long until = jiffies + PATIENCE;

	KUNIT_EXPECT_EQ(test, kernel_sendmsg(e->tcp.theirs, &msg, &vec, 1, len), len);
	while (!smc_clcsock_is_readable(&e->tcp.ours) && time_before(jiffies, until))
		usleep_range(1000, 2000);
}

/* The peer sends what is no CLC message. */
static void hs_env_send_junk(struct kunit *test, struct hs_env *e)
{
	hs_env_send(test, e, "neither SMCR nor", 16);
}

/* Wait until first_work waits for more bytes, or for the end of T_CLC. */
static bool hs_env_wait_timer(const struct hs_env *e)
{
	unsigned long until = jiffies + PATIENCE;

	while (!timer_pending(&e->hs.first_work.timer) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return timer_pending(&e->hs.first_work.timer);
}

static void hs_env_expect_failed(struct kunit *test, struct hs_env *e, int err)
{
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e->ended, 2 * PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, e->done, 1);
	KUNIT_EXPECT_EQ(test, e->res.outcome, SMC_HS_FAIL);
	KUNIT_EXPECT_EQ(test, e->res.err, err);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&e->hs.first_work));
}

/* Nobody looks before bytes have come. */
static void hs_server_waits(struct kunit *test)
{
	struct hs_env *e = hs_env_begin_server(test);

	smc_hs_start(&e->hs);
	KUNIT_EXPECT_TRUE(test, timer_pending(&e->hs.first_work.timer));
	KUNIT_EXPECT_EQ(test, e->done, 0);
	hs_env_send_junk(test, e);
	hs_env_expect_failed(test, e, ECONNRESET);
	hs_env_end(e);
}

/* They were there before. */
static void hs_server_finds(struct kunit *test)
{
	struct hs_env *e = hs_env_begin_server(test);

	hs_env_send_junk(test, e);
	smc_hs_start(&e->hs);
	/* it looks at once, and does not wait for T_CLC */
	KUNIT_EXPECT_FALSE(test, timer_pending(&e->hs.first_work.timer));
	hs_env_expect_failed(test, e, ECONNRESET);
	hs_env_end(e);
}

/* The first part of a message is no message. The whole one is, though not a valid one. */
static void hs_server_pieces(struct kunit *test)
{
	static const u8 msg[52] = { 0xe2, 0xd4, 0xc3, 0xd9, SMC_CLC_PROPOSAL, 0, 52, 0x10 };
	struct hs_env *e = hs_env_begin_server(test);

	hs_env_send(test, e, msg, 20);
	smc_hs_start(&e->hs);
	KUNIT_EXPECT_TRUE(test, hs_env_wait_timer(e));
	KUNIT_EXPECT_EQ(test, e->done, 0);
	hs_env_send(test, e, msg + 20, sizeof(msg) - 20);
	hs_env_expect_failed(test, e, ECONNRESET);
	hs_env_end(e);
}

/* The peer ends the connection, and has sent nothing. */
static void hs_server_fin(struct kunit *test)
{
	struct hs_env *e = hs_env_begin_server(test);

	smc_hs_start(&e->hs);
	KUNIT_EXPECT_TRUE(test, timer_pending(&e->hs.first_work.timer));
	/* its time is not what ends it */
	WRITE_ONCE(e->hs.deadline, jiffies + 10 * PATIENCE);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(e->tcp.theirs, SHUT_WR), 0);
	hs_env_expect_failed(test, e, ECONNRESET);
	hs_env_end(e);
}

/* None come: it ends after T_CLC, 6 s. */
static void hs_server_silent(struct kunit *test)
{
	struct hs_env *e = hs_env_begin_server(test);

	smc_hs_start(&e->hs);
	hs_env_expect_failed(test, e, ETIMEDOUT);
	hs_env_end(e);
}

/* It is cancelled before its work has begun. */
static void hs_server_cancelled(struct kunit *test)
{
	struct hs_env *e = hs_env_begin_server(test);

	smc_hs_start(&e->hs);
	smc_hs_cancel_sync(&e->hs);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&e->hs.first_work));
	KUNIT_EXPECT_FALSE(test, e->tcp.ours.hooked);
	hs_env_send_junk(test, e);
	flush_work(&e->hs.work);
	KUNIT_EXPECT_EQ(test, e->done, 0);
	hs_env_end(e);
}

/* ---- what a client remembers ---- */

static const u32 late_reasons[] = {
	SMC_CLC_DECL_NOT_INNER, SMC_CLC_DECL_LINK_READY, SMC_CLC_DECL_BUF_REG, SMC_CLC_DECL_RTOKEN,
	SMC_CLC_DECL_MEM, SMC_CLC_DECL_TIMEOUT_CL, SMC_CLC_DECL_TIMEOUT_AL,
};

/*
 * The server declines late. Over smc_lo that is remembered only if it has waited: it is a matter of
 * settings, whatever the server was about when its end broke. Over an RNIC it always is.
 */
static void hs_late_decline(struct kunit *test)
{
	struct hs_env *e = hs_env_begin(test, true);
	struct smc_hs_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct in6_addr peer;
	bool waited;
	u16 port;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->hs = &e->hs;
	ctx->net = &init_net;
	smc_clcsock_peer_addr(&e->tcp.ours, &peer);
	port = smc_clcsock_peer_port(&e->tcp.ours);
	for (int i = 0; i < 2 * ARRAY_SIZE(late_reasons); i++) {
		u32 reason = late_reasons[i / 2];

		waited = reason == SMC_CLC_DECL_TIMEOUT_CL || reason == SMC_CLC_DECL_TIMEOUT_AL;
		ctx->path.inner = i % 2;
		smc_hs_cache_late_decline(ctx, reason);
		KUNIT_EXPECT_EQ_MSG(test, smc_negcache_check(&init_net, &peer, port),
				    i % 2 && !waited ? 0 : reason, "reason %x", reason);
		smc_negcache_del(&init_net, &peer, port);
	}
	hs_env_end(e);
}

static struct kunit_case hs_cases[] = {
	KUNIT_CASE(hs_due_runs),
	KUNIT_CASE(hs_due_left),
	KUNIT_CASE(hs_due_unattended),
	KUNIT_CASE(hs_due_cancelled),
	KUNIT_CASE(hs_due_busy),
	KUNIT_CASE(hs_due_failed),
	KUNIT_CASE(hs_server_waits),
	KUNIT_CASE(hs_server_finds),
	KUNIT_CASE(hs_server_pieces),
	KUNIT_CASE(hs_server_fin),
	KUNIT_CASE_SLOW(hs_server_silent),
	KUNIT_CASE(hs_server_cancelled),
	KUNIT_CASE(hs_late_decline),
	{}
};

struct kunit_suite smc_handshake_suite = {
	.name = "smc_handshake",
	.test_cases = hs_cases,
};
