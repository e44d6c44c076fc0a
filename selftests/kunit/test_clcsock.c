// SPDX-License-Identifier: GPL-2.0-only
/* Resetting a clcsock that its program may be using, and clcsocks whose application has closed. */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/tcp/clcsock.h>
#include <smc/tcp/orphan.h>

#include "suites.h"

#define PATIENCE	(5 * HZ)

/**
 * struct clcsock_env - a TCP connection over lo
 * @ours: one end
 * @theirs: the other one
 * @sk: socket of @ours, with a reference: it is valid after @ours is released
 */
struct clcsock_env {
	struct smc_clcsock ours;
	struct socket *theirs;
	struct sock *sk;
};

static void clcsock_env_begin(struct kunit *test, struct clcsock_env *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct socket *waiting;

	memset(e, 0, sizeof(*e));
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &waiting), 0);
	KUNIT_ASSERT_EQ(test, kernel_bind(waiting, (void *)&at, sizeof(at)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(waiting, 1), 0);
	KUNIT_ASSERT_GT(test, kernel_getsockname(waiting, (void *)&at), 0);
	KUNIT_ASSERT_EQ(test, smc_clcsock_create(&e->ours, &init_net, AF_INET, 1), 0);
	KUNIT_ASSERT_EQ(test, kernel_connect(e->ours.sock, (void *)&at, sizeof(at), 0), 0);
	KUNIT_ASSERT_EQ(test, kernel_accept(waiting, &e->theirs, 0), 0);
	sock_release(waiting);
	e->sk = e->ours.sock->sk;
	sock_hold(e->sk);
}

static void clcsock_env_end(struct clcsock_env *e)
{
	smc_clcsock_release(&e->ours, true);
	if (e->theirs)
		sock_release(e->theirs);
	sock_put(e->sk);
}

static bool clcsock_wait_state(const struct sock *sk, int state)
{
	unsigned long until = jiffies + PATIENCE;

	while (inet_sk_state_load(sk) != state && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return inet_sk_state_load(sk) == state;
}

/* A call of the program holds the lock: nobody waits for it. */
static void clcsock_reset_busy(struct kunit *test)
{
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	lock_sock(e.sk);
	KUNIT_EXPECT_FALSE(test, smc_clcsock_reset(&e.ours));
	KUNIT_EXPECT_EQ(test, smc_clcsock_state(&e.ours), TCP_ESTABLISHED);
	release_sock(e.sk);
	KUNIT_EXPECT_TRUE(test, smc_clcsock_reset(&e.ours));
	KUNIT_EXPECT_EQ(test, smc_clcsock_state(&e.ours), TCP_CLOSE);
	KUNIT_EXPECT_TRUE(test, clcsock_wait_state(e.theirs->sk, TCP_CLOSE));
	KUNIT_EXPECT_EQ(test, e.theirs->sk->sk_err, ECONNRESET);
	/* once more: nothing happens */
	KUNIT_EXPECT_TRUE(test, smc_clcsock_reset(&e.ours));
	clcsock_env_end(&e);
}

/* As after a RST of the peer, the addresses stay; connect() to another address works. */
static void clcsock_reset_names(struct kunit *test)
{
	struct sockaddr_in none = { .sin_family = AF_UNSPEC };
	struct clcsock_env e;
	struct inet_sock *inet;
	__be16 sport, dport;
	__be32 saddr;

	clcsock_env_begin(test, &e);
	inet = inet_sk(e.sk);
	sport = inet->inet_sport;
	dport = inet->inet_dport;
	saddr = inet->inet_saddr;
	KUNIT_EXPECT_TRUE(test, smc_clcsock_reset(&e.ours));
	KUNIT_EXPECT_EQ(test, inet->inet_sport, sport);
	KUNIT_EXPECT_EQ(test, inet->inet_dport, dport);
	KUNIT_EXPECT_EQ(test, inet->inet_saddr, saddr);
	KUNIT_EXPECT_EQ(test, kernel_connect(e.ours.sock, (void *)&none, sizeof(none), 0), 0);
	KUNIT_EXPECT_EQ(test, inet->inet_dport, 0);
	KUNIT_EXPECT_EQ(test, inet->inet_saddr, 0);
	clcsock_env_end(&e);
}

/* The peer has closed first: its FIN goes before ours. */
static void clcsock_orphan_second(struct kunit *test)
{
	struct smc_orphan *orphan;
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	orphan = smc_orphan_create(&e.ours);
	KUNIT_ASSERT_NOT_NULL(test, orphan);
	KUNIT_EXPECT_NULL(test, e.ours.sock);
	smc_orphan_end(orphan, SMC_TCP_END_FIN_SECOND);
	msleep(200);
	KUNIT_EXPECT_EQ(test, inet_sk_state_load(e.sk), TCP_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, inet_sk_state_load(e.theirs->sk), TCP_ESTABLISHED);
	sock_release(e.theirs);
	e.theirs = NULL;
	/* from LAST_ACK; TIME_WAIT is theirs */
	KUNIT_EXPECT_TRUE(test, clcsock_wait_state(e.sk, TCP_CLOSE));
	clcsock_env_end(&e);
}

/* It does not send FIN: ours goes nevertheless. */
static void clcsock_orphan_not_forever(struct kunit *test)
{
	struct smc_orphan *orphan;
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	orphan = smc_orphan_create(&e.ours);
	KUNIT_ASSERT_NOT_NULL(test, orphan);
	smc_orphan_end(orphan, SMC_TCP_END_FIN_SECOND);
	KUNIT_EXPECT_TRUE(test, clcsock_wait_state(e.theirs->sk, TCP_CLOSE_WAIT));
	clcsock_env_end(&e);
}

static void clcsock_orphan_reset(struct kunit *test)
{
	struct smc_orphan *orphan;
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	orphan = smc_orphan_create(&e.ours);
	KUNIT_ASSERT_NOT_NULL(test, orphan);
	smc_orphan_end(orphan, SMC_TCP_END_RST);
	KUNIT_EXPECT_TRUE(test, clcsock_wait_state(e.theirs->sk, TCP_CLOSE));
	KUNIT_EXPECT_EQ(test, e.theirs->sk->sk_err, ECONNRESET);
	clcsock_env_end(&e);
}

static struct kunit_case clcsock_cases[] = {
	KUNIT_CASE(clcsock_reset_busy),
	KUNIT_CASE(clcsock_reset_names),
	KUNIT_CASE(clcsock_orphan_second),
	KUNIT_CASE_SLOW(clcsock_orphan_not_forever),
	KUNIT_CASE(clcsock_orphan_reset),
	{}
};

struct kunit_suite smc_clcsock_suite = {
	.name = "smc_clcsock",
	.test_cases = clcsock_cases,
};
