// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: what handshake/autosmc.c learns from connections. Times: cases/autosmc.sh. */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/net.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/handshake/autosmc.h>
#include <smc/handshake/negcache.h>
#include <smc/proto/clc_msg.h>
#include <smc/socket/af_smc.h>
#include <smc/socket/sock.h>

#include "suites.h"

#define BYTES		1000
#define AVOIDED_PORT	9	/* nobody listens */

/* A connection, and what its path is at first. */
struct conn {
	struct smc_autosmc_conn conn;
	struct smc_rules_path path;
	bool server;
	kuid_t uid;
};

static bool wants_tcp(struct conn *c)
{
	return smc_autosmc_wants_tcp(&init_net, &c->conn, &c->path, c->server, c->uid);
}

/* @low: the last bits of the address */
static struct conn conn_of(u32 net, u32 low, u16 port, bool server, u32 uid)
{
	struct conn c = { .server = server, .uid = KUIDT_INIT(uid) };

	c.path.remote.addr.s6_addr32[0] = htonl(0xfd000000);
	c.path.remote.addr.s6_addr32[1] = htonl(net);
	c.path.remote.addr.s6_addr32[3] = htonl(low);
	c.path.remote.port = server ? 50000 + uid : port;
	c.path.local.port = server ? port : 50000;
	wants_tcp(&c);
	return c;
}

static void note(const struct conn *c, u64 bytes, u32 seconds, bool smc, int times)
{
	struct smc_autosmc_use use = { .bytes = bytes, .time = seconds * HZ, .smc = smc };

	while (times--)
		smc_autosmc_note(&init_net, &c->conn, &use);
}

static void note_short(const struct conn *c, int times)
{
	note(c, BYTES - 1, SMC_SETTINGS_AUTOSMC_TIME - 1, true, times);
}

static int autosmc_suite_test_init(struct kunit *test)
{
	smc_settings_get(&init_net)->autosmc_bytes = BYTES;
	return 0;
}

static void autosmc_suite_test_exit(struct kunit *test)
{
	smc_autosmc_flush(&init_net);
	smc_settings_get(&init_net)->autosmc_bytes = 0;
}

static void autosmc_run(struct kunit *test)
{
	struct conn key = conn_of(0, 1, 80, false, 0);

	note_short(&key, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	/* those that were there before change nothing */
	note_short(&key, 3);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
}

/* One that is not short, in bytes or time, over SMC or TCP, makes the others begin anew. */
static void autosmc_long(struct kunit *test)
{
	struct conn key = conn_of(0, 2, 80, false, 0);

	note_short(&key, SMC_AUTOSMC_RUN - 1);
	note(&key, BYTES, 0, true, 1);
	note_short(&key, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	note(&key, 1, 0, false, 2 * SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	note(&key, 1, SMC_SETTINGS_AUTOSMC_TIME, false, 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	note(&key, BYTES, 0, false, 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
}

/* Short connections over TCP alone are no experience with SMC. */
static void autosmc_tcp_only(struct kunit *test)
{
	struct conn key = conn_of(0, 3, 80, false, 0);

	note(&key, 1, 0, false, 2 * SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	/* nor beside some over SMC: they may be left from before all was forgotten */
	note_short(&key, SMC_AUTOSMC_RUN - 1);
	note(&key, 1, 0, false, 2);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
}

/* Whose experience it is. */
static void autosmc_keys(struct kunit *test)
{
	struct conn client = conn_of(0, 4, 80, false, 1), server = conn_of(0, 4, 80, true, 1);
	struct conn other[] = {
		conn_of(0, 5, 80, false, 1), conn_of(1, 4, 80, false, 1),
		conn_of(0, 4, 81, false, 1), conn_of(0, 4, 80, false, 2),
		conn_of(0, 5, 80, true, 1), conn_of(1, 4, 80, true, 1), conn_of(0, 4, 81, true, 1),
	};
	struct conn again = conn_of(0, 4, 80, true, 2);
	int i;

	note_short(&client, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&server));
	note_short(&server, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&client));
	/* a server does not know users, and ports of a client are all the same */
	KUNIT_EXPECT_TRUE(test, wants_tcp(&again));
	for (i = 0; i < ARRAY_SIZE(other); i++)
		KUNIT_EXPECT_FALSE_MSG(test, wants_tcp(&other[i]), "key %d", i);
}

/* The memory is of fixed size: what was looked up lately stays, the rest goes. */
static void autosmc_full(struct kunit *test)
{
	struct conn used = conn_of(0, 6, 80, false, 0), unused = conn_of(0, 7, 80, false, 0), c;
	u32 n;

	note_short(&used, SMC_AUTOSMC_RUN);
	note_short(&unused, SMC_AUTOSMC_RUN);
	for (n = 0; n < 10000; n++) {
		c = conn_of(0, 1000 + n, 80, false, 0);
		note_short(&c, 1);
		KUNIT_EXPECT_TRUE(test, wants_tcp(&used));
	}
	KUNIT_EXPECT_FALSE(test, wants_tcp(&unused));
	note_short(&c, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&c));
}

/* Where another setting decides, the connections with that key, and no others, are forgotten. */
static void autosmc_forgotten(struct kunit *test)
{
	struct conn key = conn_of(0, 8, 80, false, 0), other = conn_of(0, 9, 80, false, 0);
	const struct smc_autosmc_conn none = {};

	smc_autosmc_forget(&init_net, &key.conn);
	note_short(&key, SMC_AUTOSMC_RUN);
	note_short(&other, SMC_AUTOSMC_RUN);
	smc_autosmc_forget(&init_net, &none);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	smc_autosmc_forget(&init_net, &key.conn);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	KUNIT_EXPECT_TRUE(test, wants_tcp(&other));
	note_short(&key, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
}

static void autosmc_off(struct kunit *test)
{
	struct conn key = conn_of(0, 7, 80, false, 0);

	smc_settings_get(&init_net)->autosmc_bytes = 0;
	note_short(&key, SMC_AUTOSMC_RUN);
	smc_settings_get(&init_net)->autosmc_bytes = BYTES;
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	smc_settings_get(&init_net)->autosmc_bytes = 0;
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
}

static struct socket *new_socket(struct kunit *test)
{
	struct socket *sock = NULL;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_SMC, SOCK_STREAM, SMC_PROTO_IPV4,
					       &sock), 0);
	return sock;
}

/* connect() finds no server, and the socket is TCP for this reason. */
static void expect_refused(struct kunit *test, struct socket *sock, const struct sockaddr_in *to,
			   u32 reason)
{
	KUNIT_EXPECT_EQ(test, kernel_connect(sock, (void *)to, sizeof(*to), 0), -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc_sk(sock->sk)), SMC_MODE_TCP);
	KUNIT_EXPECT_EQ(test, smc_sk(sock->sk)->own_reason, reason);
}

/* Return a TCP socket that listens at @at. */
static struct socket *listen_at(struct kunit *test, const struct sockaddr_in *at)
{
	struct socket *sock = NULL;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &sock), 0);
	KUNIT_EXPECT_EQ(test, kernel_bind(sock, (void *)at, sizeof(*at)), 0);
	KUNIT_EXPECT_EQ(test, kernel_listen(sock, 1), 0);
	return sock;
}

/*
 * A client that uses TCP because of the negative cache is no probe of AUTOSMC. What TCP has refused
 * is no fallback, and no experience, however long the socket lives. A later connect() of the socket
 * that succeeds makes it one.
 */
static void autosmc_avoided(struct kunit *test)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(AVOIDED_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	u64 falls = smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK);
	struct conn key = { .uid = GLOBAL_ROOT_UID };
	struct in6_addr *addr = &key.path.remote.addr;
	struct socket *sock, *server;
	struct smc_sock *smc;

	ipv6_addr_set_v4mapped(to.sin_addr.s_addr, addr);
	key.path.remote.port = AVOIDED_PORT;
	wants_tcp(&key);
	note_short(&key, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	sock = new_socket(test);
	smc = smc_sk(sock->sk);
	expect_refused(test, sock, &to, SMC_CLC_DECL_SHORT);
	KUNIT_EXPECT_EQ(test, smc->autosmc.key.port, AVOIDED_PORT);
	smc->began_at = jiffies - 3600 * HZ;
	sock_release(sock);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));

	smc_negcache_add(&init_net, addr, AVOIDED_PORT, SMC_CLC_DECL_TIMEOUT_CL);
	sock = new_socket(test);
	smc = smc_sk(sock->sk);
	/* as after a first connect() that has failed */
	smc->autosmc = key.conn;
	smc->autosmc.probe = true;
	expect_refused(test, sock, &to, SMC_CLC_DECL_TIMEOUT_CL);
	KUNIT_EXPECT_EQ(test, smc->autosmc.key.port, 0);
	KUNIT_EXPECT_FALSE(test, smc->autosmc.probe);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK), falls);
	server = listen_at(test, &to);
	KUNIT_EXPECT_EQ(test, kernel_connect(sock, (void *)&to, sizeof(to), 0), 0);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_CLNT_FBACK), falls + 1);
	smc_negcache_del(&init_net, addr, AVOIDED_PORT);
	sock_release(sock);
	sock_release(server);
}

static struct kunit_case autosmc_cases[] = {
	KUNIT_CASE(autosmc_run),
	KUNIT_CASE(autosmc_long),
	KUNIT_CASE(autosmc_tcp_only),
	KUNIT_CASE(autosmc_keys),
	KUNIT_CASE(autosmc_full),
	KUNIT_CASE(autosmc_forgotten),
	KUNIT_CASE(autosmc_off),
	KUNIT_CASE(autosmc_avoided),
	{}
};

struct kunit_suite smc_autosmc_suite = {
	.name = "smc_autosmc",
	.init = autosmc_suite_test_init,
	.exit = autosmc_suite_test_exit,
	.test_cases = autosmc_cases,
};
