// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which connections begin as TCP and may change over to RDMA, who may ask for it, what a server
 * answers, and what is counted and shown of it: socket/upgrade.c, handshake/upgradable.c. Sockets
 * and LLC are real, and so is TCP, over lo; the RNIC is a fake, which no path over lo leads to.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/base/events.h>
#include <smc/base/host.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/upgrade.h>
#include <smc/handshake/negcache.h>
#include <smc/handshake/upgradable.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/llc/upgrade.h>
#include <smc/proto/clc_msg.h>
#include <smc/proto/link_pick.h>
#include <smc/proto/upgrade_msg.h>
#include <smc/socket/sock.h>
#include <uapi/linux/smc_own.h>

#include "../../conn/failover.h"
#include "../../socket/deferred.h"
#include "event_env.h"
#include "lgr_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)
#define QUIET_MS	100	/* for a work that has nothing to do */
#define THRESHOLD	1000
#define EVENT_ATTRS	8	/* namespace, group, role, four of the ends, reason or time */

/**
 * struct policy_env - state of one case
 * @old_bytes: setting, restored at the end
 * @waiting: listener on @at; NULL: none
 * @at: its address
 * @client: a client; NULL: none
 * @child: the accepted socket; NULL: none
 * @events: listener for events; NULL: none
 */
struct policy_env {
	unsigned int old_bytes;
	struct socket *waiting;
	struct sockaddr_in at;
	struct socket *client;
	struct socket *child;
	struct socket *events;
};

static struct policy_env env;

/* 127.0.0.@host, v4-mapped */
static struct in6_addr policy_addr(u8 host)
{
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK - 1 + host), &addr);
	return addr;
}

static u64 policy_stat(enum smc_stat stat)
{
	return smc_stats_get(&init_net, stat);
}

/* A rule that allows all counts from now on. */
static void policy_add_rule(struct kunit *test)
{
	struct smc_rule rule = { .num = 1, .local.last = U16_MAX, .remote.last = U16_MAX };

	KUNIT_ASSERT_EQ(test, smc_rules_add(&init_net, &rule), 0);
}

static u64 policy_rule_hits(void)
{
	struct smc_rule rule;
	u64 hits = U64_MAX;

	smc_rules_get(&init_net, 1, &rule, &hits);
	return hits;
}

static u16 policy_port(void)
{
	return ntohs(env.at.sin_port);
}

/* A program in the kernel decides about options; those of this object say nothing. */
static void policy_set_hs_ctrl(struct kunit *test, bool on)
{
	struct smc_hs_ctrl *ctrl = on ? kunit_kzalloc(test, 256, GFP_KERNEL) : NULL;

	KUNIT_ASSERT_EQ(test, !ctrl, !on);
	rcu_assign_pointer(smc_settings_get(&init_net)->hs_ctrl, ctrl);
	synchronize_rcu();
}

/* Create a group between 127.0.0.@own and 127.0.0.1, whose peer has @caps. It is ready. */
static struct smc_lgr *policy_group(struct kunit *test, enum smc_role role, u8 own, u32 caps)
{
	struct smc_lgr *lgr = env_alloc_group(test, role, 1);
	struct lgr_env *le = test->priv;
	struct smc_link *link;
	struct smc_path path;
	int i;

	lgr->peer.tcp_addr = policy_addr(1);
	lgr->peer.own_addr = policy_addr(own);
	lgr->peer.caps = caps;
	lgr->caps |= SMC_CAP_UPGRADE;
	fake_ib_path(le->fake, &path);
	KUNIT_ASSERT_EQ(test, smc_lgr_begin(lgr, &path), 0);
	for (i = 0; i < ENV_GROUPS && le->lgrs[i]; i++)
		;
	KUNIT_ASSERT_LT(test, i, ENV_GROUPS);
	le->lgrs[i] = lgr;
	link = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	env_bring_up(test, link);
	smc_link_put(link);
	smc_lgr_set_ready(lgr);
	return lgr;
}

static struct smc_lgr *policy_group_up(struct kunit *test, enum smc_role role)
{
	return policy_group(test, role, 1, SMC_PEER_CAPS_TAG_1 | SMC_CAP_UPGRADE);
}

/* Let a program of @family wait for connections. */
static void policy_listen(struct kunit *test, int family)
{
	env.at = (struct sockaddr_in){ .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, family, SOCK_STREAM, 0, &env.waiting), 0);
	KUNIT_ASSERT_EQ(test, kernel_bind(env.waiting, (void *)&env.at, sizeof(env.at)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(env.waiting, 4), 0);
	KUNIT_ASSERT_GT(test, kernel_getsockname(env.waiting, (void *)&env.at), 0);
}

static void policy_release(struct socket **sock)
{
	if (*sock)
		sock_release(*sock);
	*sock = NULL;
}

/* Create the client, bound to 127.0.0.@bound, 0: not. Return its socket; NULL: plain TCP. */
static struct smc_sock *policy_client(struct kunit *test, int family, u8 bound)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + bound) };

	policy_release(&env.client);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, family, SOCK_STREAM, 0, &env.client), 0);
	if (bound)
		KUNIT_ASSERT_EQ(test, kernel_bind(env.client, (void *)&from, sizeof(from)), 0);
	return family == PF_SMC ? smc_sk(env.client->sk) : NULL;
}

static int policy_connect(void)
{
	return kernel_connect(env.client, (void *)&env.at, sizeof(env.at), 0);
}

/* A listener that clients know as a server which upgrades, and a group that leads there. */
static struct smc_lgr *policy_known_server(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);
	struct smc_lgr *lgr;

	policy_listen(test, AF_INET);
	lgr = policy_group_up(test, SMC_CLIENT);
	smc_upgradable_add(&init_net, &here, policy_port());
	return lgr;
}

/* A client that is deferred: its server is known, and a group leads there. */
static struct smc_sock *policy_deferred_client(struct kunit *test, struct smc_lgr **lgr)
{
	struct smc_sock *smc;

	*lgr = policy_known_server(test);
	smc = policy_client(test, PF_SMC, 0);
	KUNIT_ASSERT_EQ(test, policy_connect(), 0);
	KUNIT_ASSERT_EQ(test, smc_sock_mode(smc), SMC_MODE_DEFERRED);
	return smc;
}

static int policy_send(size_t len, int flags, bool named)
{
	static u8 data[THRESHOLD];
	struct kvec vec = { .iov_base = data, .iov_len = len };
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL };

	if (named) {
		msg.msg_name = &env.at;
		msg.msg_namelen = sizeof(env.at);
	}
	return kernel_sendmsg(env.client, &msg, &vec, 1, len);
}

static int policy_init(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);

	memset(&env, 0, sizeof(env));
	env.old_bytes = sn->upgrade_bytes;
	WRITE_ONCE(sn->upgrade_bytes, THRESHOLD);
	return env_init(test);
}

static void policy_exit(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);

	policy_release(&env.events);
	policy_release(&env.client);
	policy_release(&env.child);
	policy_release(&env.waiting);
	smc_upgradable_forget(&init_net, &here, policy_port());
	smc_rules_flush(&init_net);
	RCU_INIT_POINTER(smc_settings_get(&init_net)->hs_ctrl, NULL);
	WRITE_ONCE(smc_settings_get(&init_net)->upgrade_bytes, env.old_bytes);
	env_exit(test);
}

/* ---- servers that are known ---- */

static void upgradable_unknown(struct kunit *test)
{
	struct in6_addr here = policy_addr(1), other = policy_addr(2);
	u32 i;

	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &here, 80));
	smc_upgradable_add(&init_net, &here, 80);
	KUNIT_EXPECT_TRUE(test, smc_upgradable_knows(&init_net, &here, 80));
	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &here, 81));
	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &other, 80));
	for (i = 0; i < 2; i++)
		smc_upgradable_answered(&init_net, &here, 80, true);
	smc_upgradable_answered(&init_net, &here, 80, false);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, smc_upgradable_knows(&init_net, &here, 80));
		smc_upgradable_answered(&init_net, &here, 80, true);
	}
	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &here, 80));
	smc_upgradable_add(&init_net, &here, 80);
	smc_upgradable_forget(&init_net, &other, 80);
	KUNIT_EXPECT_TRUE(test, smc_upgradable_knows(&init_net, &here, 80));
	smc_upgradable_forget(&init_net, &here, 80);
	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &here, 80));
	/* no server has this port, and a free place none */
	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &here, 0));
}

/* A new server takes the place of an older one: the memory does not grow. */
static void upgradable_replaced(struct kunit *test)
{
	struct in6_addr here = policy_addr(1), other = policy_addr(2);
	u32 port;

	smc_upgradable_add(&init_net, &here, 80);
	for (port = 1; port <= U16_MAX && smc_upgradable_knows(&init_net, &here, 80); port++)
		smc_upgradable_add(&init_net, &other, port);
	KUNIT_EXPECT_LE(test, port, U16_MAX);
	KUNIT_EXPECT_TRUE(test, smc_upgradable_knows(&init_net, &other, port - 1));
	for (port = 1; port <= U16_MAX; port++)
		smc_upgradable_forget(&init_net, &other, port);
}

/* ---- clients ---- */

/* Deferral promises only what asking can keep. */
static void defer_only_if_kept(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;
	struct smc_lgr *lgr;

	policy_listen(test, AF_INET);
	smc = policy_client(test, PF_SMC, 0);
	smc_upgradable_add(&init_net, &here, policy_port());
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
	lgr = policy_group_up(test, SMC_CLIENT);
	KUNIT_EXPECT_TRUE(test, smc_deferred_suits(smc, &here, policy_port()));
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port() ^ 1));
	/* full */
	lgr->reserved += SMC_LGR_CONNS_MAX;
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
	lgr->reserved -= SMC_LGR_CONNS_MAX;
	/* bound to the address of the group's first contact, to another one */
	smc = policy_client(test, PF_SMC, 1);
	KUNIT_EXPECT_TRUE(test, smc_deferred_suits(smc, &here, policy_port()));
	smc = policy_client(test, PF_SMC, 2);
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
	smc = policy_client(test, PF_SMC, 0);
	WRITE_ONCE(smc->clcsock.sock->sk->sk_bound_dev_if, 1);
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
	smc = policy_client(test, PF_SMC, 0);
	/* takes no further connections */
	smc_lgr_phase_out(lgr, SMC_LINK_ADMIN);
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
}

/* A BPF program that decides about options is not bypassed. */
static void defer_not_with_hs_ctrl(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;

	policy_known_server(test);
	smc = policy_client(test, PF_SMC, 0);
	KUNIT_EXPECT_TRUE(test, smc_deferred_suits(smc, &here, policy_port()));
	policy_set_hs_ctrl(test, true);
	KUNIT_EXPECT_FALSE(test, smc_deferred_is_on(&init_net));
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
	policy_set_hs_ctrl(test, false);
	KUNIT_EXPECT_TRUE(test, smc_deferred_suits(smc, &here, policy_port()));
	WRITE_ONCE(smc_settings_get(&init_net)->upgrade_bytes, 0);
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
}

/* SMC_OWN_UPGRADE_BYTES of a client: 0 is a rendezvous; it turns nothing on that is off. */
static void defer_as_the_socket_says(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;

	policy_known_server(test);
	smc = policy_client(test, PF_SMC, 0);
	KUNIT_EXPECT_EQ(test, smc->upgrade_bytes, SMC_UPGRADE_BYTES_NET);
	WRITE_ONCE(smc->upgrade_bytes, 0);
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
	WRITE_ONCE(smc->upgrade_bytes, 1);
	KUNIT_EXPECT_TRUE(test, smc_deferred_suits(smc, &here, policy_port()));
	WRITE_ONCE(smc_settings_get(&init_net)->upgrade_bytes, 0);
	KUNIT_EXPECT_FALSE(test, smc_deferred_suits(smc, &here, policy_port()));
}

static bool policy_wait_job(const struct smc_deferred *d, unsigned long pause)
{
	unsigned long until = jiffies + PATIENCE;

	while ((READ_ONCE(d->pause) != pause || READ_ONCE(d->busy)) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return READ_ONCE(d->pause) == pause && !READ_ONCE(d->busy);
}

/*
 * No path of lo leads to the group: nothing is sent, pauses grow, and the server is forgotten. A
 * rule counts the connection when it tries for the first time.
 */
static void ask_finds_no_group(struct kunit *test)
{
	u64 asked = policy_stat(SMC_STAT_UPGRADE_ASKED);
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;
	struct smc_lgr *lgr;

	policy_add_rule(test);
	smc = policy_deferred_client(test, &lgr);
	/* TCP counts the SYN, too */
	KUNIT_EXPECT_EQ(test, policy_send(THRESHOLD - 2, 0, false), THRESHOLD - 2);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, 0);
	KUNIT_EXPECT_EQ(test, policy_rule_hits(), 0);
	KUNIT_EXPECT_TRUE(test, smc_upgradable_knows(&init_net, &here, policy_port()));
	KUNIT_EXPECT_EQ(test, policy_send(1, 0, false), 1);
	KUNIT_EXPECT_TRUE(test, policy_wait_job(smc->deferred, HZ));
	KUNIT_EXPECT_FALSE(test, smc_upgradable_knows(&init_net, &here, policy_port()));
	/* in the pause */
	KUNIT_EXPECT_EQ(test, policy_send(1, 0, false), 1);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, HZ);
	WRITE_ONCE(smc->deferred->again, jiffies);
	KUNIT_EXPECT_EQ(test, policy_send(1, 0, false), 1);
	KUNIT_EXPECT_TRUE(test, policy_wait_job(smc->deferred, 2 * HZ));
	KUNIT_EXPECT_EQ(test, policy_rule_hits(), 1);
	/* the pause is over, but a program decides now */
	policy_set_hs_ctrl(test, true);
	WRITE_ONCE(smc->deferred->again, jiffies);
	KUNIT_EXPECT_EQ(test, policy_send(1, 0, false), 1);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, 2 * HZ);
	policy_set_hs_ctrl(test, false);
	/* a direction has ended */
	KUNIT_ASSERT_EQ(test, kernel_accept(env.waiting, &env.child, 0), 0);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(env.child, SHUT_WR), 0);
	msleep(QUIET_MS);
	WRITE_ONCE(smc->deferred->again, jiffies);
	KUNIT_EXPECT_EQ(test, policy_send(1, 0, false), 1);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, 2 * HZ);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_UPGRADE_ASKED), asked);
}

/* ... and after how many bytes it tries: neither the namespace's number, nor never. */
static void ask_as_the_socket_says(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	struct smc_sock *smc;
	struct smc_lgr *lgr;

	smc = policy_deferred_client(test, &lgr);
	WRITE_ONCE(smc->upgrade_bytes, 0);
	KUNIT_EXPECT_EQ(test, policy_send(THRESHOLD, 0, false), THRESHOLD);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, 0);
	WRITE_ONCE(smc->upgrade_bytes, 2 * THRESHOLD);
	KUNIT_EXPECT_EQ(test, policy_send(THRESHOLD - 2, 0, false), THRESHOLD - 2);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, 0);
	/* nobody of the namespace asks */
	WRITE_ONCE(sn->upgrade_bytes, 0);
	KUNIT_EXPECT_EQ(test, policy_send(2, 0, false), 2);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, smc->deferred->pause, 0);
	WRITE_ONCE(sn->upgrade_bytes, THRESHOLD);
	KUNIT_EXPECT_EQ(test, policy_send(1, 0, false), 1);
	KUNIT_EXPECT_TRUE(test, policy_wait_job(smc->deferred, HZ));
}

/* Let the job of a client run over a group, which is up to the route elsewhere. */
static void policy_ask_over(struct kunit *test, struct smc_sock *smc, struct smc_lgr *lgr)
{
	struct smc_deferred *d = smc->deferred;

	KUNIT_ASSERT_EQ(test, smc_upgrade_reserve(lgr), 0);
	smc_lgr_get(lgr);
	d->lgr = lgr;
	WRITE_ONCE(d->busy, true);
	queue_work(lgr->wq, &d->job);
	flush_work(&d->job);
	KUNIT_EXPECT_FALSE(test, d->busy);
}

/* A limit of this host, or a full group: the next connection does a rendezvous. */
static void ask_without_memory(struct kunit *test)
{
	struct smc_settings *sn = smc_settings_get(&init_net);
	u64 asked = policy_stat(SMC_STAT_UPGRADE_ASKED);
	unsigned int rmb_max = sn->rmb_max, host_mem = sn->host_mem;
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;
	struct smc_lgr *lgr;
	int i;

	smc = policy_deferred_client(test, &lgr);
	for (i = 0; i < 6; i++) {
		u32 *nregions = &lgr->pool.nregions[SMC_REGION_RMB];

		smc_upgradable_add(&init_net, &here, policy_port());
		sn->rmb_max = i == 0 ? 1 : rmb_max;		/* -EDQUOT */
		sn->host_mem = i == 1 ? 1 : U32_MAX;		/* -EUSERS */
		smc_host_mem_max = i == 2 ? 1 : 0;		/* -ENOBUFS */
		*nregions += i == 3 ? SMC_POOL_REGIONS_MAX : 0;	/* -ENOSPC */
		lgr->reserved += i == 4 ? SMC_LGR_CONNS_MAX : 0; /* -EBUSY */
		smc->deferred->cancel = i == 5;
		policy_ask_over(test, smc, lgr);
		*nregions -= i == 3 ? SMC_POOL_REGIONS_MAX : 0;
		lgr->reserved -= i == 4 ? SMC_LGR_CONNS_MAX : 0;
		/* given up for another reason: the server stays known */
		KUNIT_EXPECT_EQ_MSG(test, smc_upgradable_knows(&init_net, &here, policy_port()),
				    i == 5, "row %d", i);
	}
	sn->rmb_max = rmb_max;
	sn->host_mem = host_mem;
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_UPGRADE_ASKED), asked);
}

/* The pool has elements to spare: no request waits until the server has confirmed a new RMB. */
static void policy_fill_pool(struct kunit *test, struct smc_sock *smc, struct smc_lgr *lgr)
{
	static const struct smc_conn_upgrade_init init;
	struct smc_link *link = smc_lgr_get_link(lgr, 0);
	u32 sndbuf, rcvbuf, size = 64 * 1024;
	struct smc_conn *conn;
	bool cancel = false;

	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_ASSERT_TRUE(test, smc_lgr_reserve_place(lgr));
	smc_sock_get_ring_sizes(smc, &sndbuf, &rcvbuf);
	env_add_ring(test, lgr, smc_elem_round_size(max(sndbuf, size)));
	conn = smc_conn_create_upgrade(lgr, link, max(sndbuf, size), max(rcvbuf, size), false,
				       &cancel, &init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn);
	smc_conn_discard(conn, false);
	smc_link_put(link);
}

/* A client whose request is under way over the group. Return its number; 0: there is none. */
static u32 policy_ask(struct kunit *test, struct smc_sock *smc, struct smc_lgr *lgr)
{
	unsigned long until = jiffies + PATIENCE;
	struct smc_conn *conn;
	u32 number = 0;

	policy_ask_over(test, smc, lgr);
	conn = smc_deferred_conn_get(smc);
	if (!conn)
		return 0;
	while (!(number = READ_ONCE(conn->upgrade->req.number)) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	smc_conn_put(conn);
	return number;
}

/* The yes of the server cannot be used: wait until the withdrawal was sent. */
static void policy_await_withdrawal(struct kunit *test, struct smc_conn *conn)
{
	unsigned long until = jiffies + PATIENCE;
	struct smc_upgrade states;

	do {
		usleep_range(1000, 2000);
		smc_conn_upgrade_get_states(conn, &states);
	} while (states.agree != SMC_UPGRADE_WITHDRAWN && time_before(jiffies, until));
	KUNIT_EXPECT_EQ(test, states.agree, SMC_UPGRADE_WITHDRAWN);
	flush_delayed_work(&conn->work);
}

static void policy_refuse(struct kunit *test, struct smc_sock *smc, struct smc_lgr *lgr,
			  u32 number, u8 reason)
{
	struct smc_upgrade_msg msg = {
		.kind = SMC_UPGRADE_REFUSED, .number = number, .reason = reason,
	};
	struct smc_link *link = smc_lgr_get_link(lgr, 0);
	unsigned long until = jiffies + PATIENCE;

	KUNIT_ASSERT_NOT_NULL(test, link);
	env_receive_upgrade(link, &msg);
	while (READ_ONCE(smc->deferred->conn) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_NULL(test, smc->deferred->conn);
	flush_delayed_work(&smc->deferred->work);
	smc_link_put(link);
}

/*
 * A server that does not know three connections is forgotten, however often they ask. None asks
 * for ever.
 */
static void ask_unknown(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;
	struct smc_lgr *lgr;
	u32 number;
	int i, tries;

	smc = policy_deferred_client(test, &lgr);
	policy_fill_pool(test, smc, lgr);
	for (i = 1; i <= 3; i++) {
		for (tries = 1; tries <= (i < 3 ? 3 : 1); tries++) {
			KUNIT_EXPECT_FALSE(test, smc->deferred->closed);
			number = policy_ask(test, smc, lgr);
			KUNIT_ASSERT_NE(test, number, 0);
			policy_refuse(test, smc, lgr, number, SMC_UPGRADE_UNKNOWN);
		}
		KUNIT_EXPECT_EQ(test, smc->deferred->closed, i < 3);
		KUNIT_EXPECT_EQ_MSG(test, smc_upgradable_knows(&init_net, &here, policy_port()),
				    i < 3, "connection %d", i);
		if (i == 3)
			break;
		smc = policy_client(test, PF_SMC, 0);
		KUNIT_ASSERT_EQ(test, policy_connect(), 0);
		KUNIT_ASSERT_EQ(test, smc_sock_mode(smc), SMC_MODE_DEFERRED);
	}
}

/* A yes that names no RMB of the server, or an RMBE that another connection has. */
static void ask_answered_badly(struct kunit *test)
{
	struct smc_upgrade_msg msg = {
		.kind = SMC_UPGRADE_ACCEPTED, .token = 77, .rkey = 78, .vaddr = 0x10000,
		.rmbe_idx = 3, .bsize = 1,
	};
	/* static: it stays in the list if an assertion ends the case */
	static struct smc_claim claim;
	u64 bad = policy_stat(SMC_STAT_PEER_END_BAD);
	unsigned long until = jiffies + PATIENCE;
	struct smc_conn *conn;
	struct smc_link *link;
	struct smc_sock *smc;
	struct smc_lgr *lgr;
	u32 added;
	int i;

	smc = policy_deferred_client(test, &lgr);
	policy_fill_pool(test, smc, lgr);
	link = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	claim = (struct smc_claim){ .token = msg.token };
	for (i = 1; i <= 2; i++) {
		msg.number = policy_ask(test, smc, lgr);
		KUNIT_ASSERT_NE(test, msg.number, 0);
		env_receive_upgrade(link, &msg);
		while (policy_stat(SMC_STAT_PEER_END_BAD) - bad < i && time_before(jiffies, until))
			usleep_range(1000, 2000);
		KUNIT_EXPECT_EQ_MSG(test, policy_stat(SMC_STAT_PEER_END_BAD) - bad, i, "row %d", i);
		/* which the client has withdrawn */
		conn = smc_deferred_conn_get(smc);
		KUNIT_ASSERT_NOT_NULL(test, conn);
		flush_delayed_work(&conn->work);
		smc_conn_put(conn);
		policy_refuse(test, smc, lgr, msg.number, SMC_UPGRADE_LATER);
		if (i == 2)
			break;
		claim.rtoken = smc_rtoken_add(lgr, link->slot, msg.rkey, msg.vaddr, &added);
		KUNIT_ASSERT_GE(test, claim.rtoken, 0);
		KUNIT_ASSERT_EQ(test, smc_claim_begin(lgr, &claim), 0);
	}
	smc_claim_end(lgr, &claim);
	smc_link_put(link);
}

/* Both ends of the connection are in an event, as @role sees them. */
static void policy_expect_ends(struct kunit *test, const struct env_event *ev,
			       const struct smc_lgr *lgr, enum smc_role role, u16 client_port)
{
	struct in6_addr here = policy_addr(1);
	bool server = role == SMC_SERVER;

	KUNIT_EXPECT_EQ(test, ev->lgr_id, lgr->id);
	KUNIT_EXPECT_EQ(test, ev->role, server);
	KUNIT_EXPECT_TRUE(test, ipv6_addr_equal(&ev->local, &here));
	KUNIT_EXPECT_TRUE(test, ipv6_addr_equal(&ev->peer, &here));
	KUNIT_EXPECT_EQ(test, ev->local_port, server ? policy_port() : client_port);
	KUNIT_EXPECT_EQ(test, ev->peer_port, server ? client_port : policy_port());
}

/* The next event is about a request that has led to nothing, @reason is why. */
static void policy_expect_refused(struct kunit *test, const struct smc_lgr *lgr,
				  enum smc_role role, u16 client_port, const char *reason)
{
	struct env_event ev;

	env_get_event(env.events, PATIENCE, &ev);
	KUNIT_EXPECT_EQ_MSG(test, ev.cmd, SMC_NETLINK_OWN_EV_UPGRADE_REFUSED, "%s", reason);
	KUNIT_EXPECT_STREQ(test, ev.reason, reason);
	KUNIT_EXPECT_EQ(test, ev.attrs, EVENT_ATTRS);
	policy_expect_ends(test, &ev, lgr, role, client_port);
}

/* The events of a client: each reason of the server, its own withdrawal, the change. */
static void ask_is_reported(struct kunit *test)
{
	static const char * const reasons[] = {
		[SMC_UPGRADE_UNKNOWN] = "unknown", [SMC_UPGRADE_LATER] = "later",
		[SMC_UPGRADE_EXCLUDED] = "excluded", [SMC_UPGRADE_MEMORY] = "memory",
		[SMC_UPGRADE_REASONS] = "other",
	};
	struct smc_upgrade_msg msg = {
		.kind = SMC_UPGRADE_ACCEPTED, .token = 77, .rkey = 78, .vaddr = 0x10000,
		.rmbe_idx = 1, .bsize = 1,
	};
	struct env_event ev;
	struct smc_conn *conn;
	struct smc_link *link;
	struct smc_sock *smc;
	struct smc_lgr *lgr;
	u32 number, added;
	u16 port;
	u8 i;

	smc = policy_deferred_client(test, &lgr);
	port = inet_sk(smc->clcsock.sock->sk)->inet_num;
	policy_fill_pool(test, smc, lgr);
	env.events = env_listen_events(test, SMC_NETLINK_OWN_CONNS_NAME);
	for (i = SMC_UPGRADE_UNKNOWN; i <= SMC_UPGRADE_REASONS; i++) {
		number = policy_ask(test, smc, lgr);
		KUNIT_ASSERT_NE(test, number, 0);
		policy_refuse(test, smc, lgr, number, i);
		policy_expect_refused(test, lgr, SMC_CLIENT, port, reasons[i]);
	}
	link = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	/* the yes names no RMB: the client withdraws */
	msg.number = policy_ask(test, smc, lgr);
	KUNIT_ASSERT_NE(test, msg.number, 0);
	env_receive_upgrade(link, &msg);
	msg.kind = SMC_UPGRADE_CONFIRMED;
	conn = smc_deferred_conn_get(smc);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	policy_await_withdrawal(test, conn);
	smc_conn_put(conn);
	env_receive_upgrade(link, &msg);
	policy_expect_refused(test, lgr, SMC_CLIENT, port, "withdrawn");
	flush_delayed_work(&smc->deferred->work);

	KUNIT_ASSERT_GE(test, smc_rtoken_add(lgr, link->slot, msg.rkey, msg.vaddr, &added), 0);
	smc->began_at = jiffies - 5 * HZ;
	msg.kind = SMC_UPGRADE_ACCEPTED;
	msg.number = policy_ask(test, smc, lgr);
	KUNIT_ASSERT_NE(test, msg.number, 0);
	env_receive_upgrade(link, &msg);
	env_get_event(env.events, PATIENCE, &ev);
	KUNIT_EXPECT_EQ(test, ev.cmd, SMC_NETLINK_OWN_EV_CONN_UPGRADED);
	KUNIT_EXPECT_EQ(test, ev.attrs, EVENT_ATTRS);
	KUNIT_EXPECT_STREQ(test, ev.reason, "");
	KUNIT_EXPECT_GE(test, ev.msecs, 5000);
	KUNIT_EXPECT_LT(test, ev.msecs, U32_MAX);
	policy_expect_ends(test, &ev, lgr, SMC_CLIENT, port);
	smc_link_put(link);
}

/* GO goes over the link that the policy of the socket chooses, not that of the namespace. */
static void ask_by_link_policy(struct kunit *test)
{
	static const struct smc_conn_peer_end end = {
		.token = 77, .size = 64 * 1024, .index = 1, .rkey = 78, .addr = 0x10000,
	};
	struct smc_settings *sn = smc_settings_get(&init_net);
	int policy = sn->link_policy;
	struct smc_link *links[2];
	struct smc_conn *conn;
	struct smc_sock *smc;
	struct smc_lgr *lgr;
	u32 number, added;

	smc = policy_deferred_client(test, &lgr);
	lgr->peer.caps |= SMC_CAP_FIRST_LINK;
	links[0] = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, links[0]);
	links[1] = env_add_link(test, lgr);
	links[1]->path.gid.ifindex++;
	env_bring_up(test, links[1]);
	KUNIT_ASSERT_GE(test, smc_rtoken_add(lgr, 0, end.rkey, end.addr, &added), 0);
	KUNIT_ASSERT_EQ(test, smc_rtoken_set_link(lgr, 0, end.rkey, 1, 79, end.addr), 0);
	policy_fill_pool(test, smc, lgr);
	WRITE_ONCE(smc->link_policy, SMC_LINK_FIRST_RNIC);
	number = policy_ask(test, smc, lgr);
	KUNIT_ASSERT_NE(test, number, 0);
	conn = smc_deferred_conn_get(smc);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(conn, &end), 0);
	KUNIT_EXPECT_PTR_EQ(test, conn->link, links[0]);
	/* the other link has the fewest connections */
	WRITE_ONCE(sn->link_policy, SMC_LINK_BY_CONNS);
	atomic_add(2, &links[0]->nconns);
	spin_lock_bh(&conn->lock);
	smc_conn_pick_first_link_locked(conn);
	spin_unlock_bh(&conn->lock);
	KUNIT_EXPECT_PTR_EQ(test, conn->link, links[0]);
	atomic_sub(2, &links[0]->nconns);
	WRITE_ONCE(sn->link_policy, policy);
	smc_conn_put(conn);
	policy_refuse(test, smc, lgr, number, SMC_UPGRADE_LATER);
	smc_link_put(links[1]);
	smc_link_put(links[0]);
}

/* A server that is left alone for its RNIC: no handshake is tried, and its probe is not used up. */
static void defer_leaves_probe(struct kunit *test)
{
	struct in6_addr here = policy_addr(1);
	struct smc_sock *smc;

	policy_known_server(test);
	smc_negcache_add(&init_net, &here, policy_port(), SMC_CLC_DECL_TIMEOUT_CL);
	smc = policy_client(test, PF_SMC, 0);
	KUNIT_EXPECT_EQ(test, policy_connect(), 0);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_DEFERRED);
	smc_negcache_del(&init_net, &here, policy_port());
}

/* connect() has failed: the next connection of the socket, by sendto(), is TCP. */
static void defer_failed_fastopen(struct kunit *test)
{
	struct smc_sock *smc;

	policy_known_server(test);
	policy_release(&env.waiting);
	smc = policy_client(test, PF_SMC, 0);
	KUNIT_EXPECT_EQ(test, policy_connect(), -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_DEFERRED);
	policy_send(1, MSG_FASTOPEN | MSG_DONTWAIT, true);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_TCP);
	KUNIT_EXPECT_EQ(test, smc->own_reason, SMC_CLC_DECL_SOCKOPT);
}

/* ---- what is shown ---- */

/**
 * struct policy_seen - what a walk over all sockets shows of one
 * @smc: the socket
 * @found: it is listed
 * @mode: its mode
 * @deferred: it is shown as deferred
 */
struct policy_seen {
	const struct smc_sock *smc;
	bool found;
	enum smc_mode mode;
	bool deferred;
};

static int policy_see(const struct smc_sock_info *info, void *arg)
{
	struct policy_seen *seen = arg;

	if (info->sk != &seen->smc->inet.sk)
		return 0;
	seen->found = true;
	seen->mode = info->mode;
	seen->deferred = info->deferred;
	return 0;
}

static void policy_expect_shown(struct kunit *test, const struct smc_sock *smc, bool deferred)
{
	struct policy_seen seen = { .smc = smc };
	struct smc_sock_pos pos = {};

	smc_sock_for_each(&init_net, SMC_PROTO_IPV4, &pos, policy_see, &seen);
	KUNIT_EXPECT_TRUE(test, seen.found);
	KUNIT_EXPECT_EQ(test, seen.mode, SMC_MODE_TCP);
	KUNIT_EXPECT_EQ(test, seen.deferred, deferred);
}

/* Deferred is no fallback; an option that excludes SMC makes it one, which is counted. */
static void excluded_is_seen(struct kunit *test)
{
	u64 fallbacks = policy_stat(SMC_STAT_CLNT_FBACK), deferred = policy_stat(SMC_STAT_DEFERRED);
	struct smc_sock *smc;
	struct smc_lgr *lgr;

	smc = policy_deferred_client(test, &lgr);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_DEFERRED) - deferred, 1);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_CLNT_FBACK) - fallbacks, 0);
	KUNIT_EXPECT_EQ(test, smc->own_reason, 0);
	policy_expect_shown(test, smc, true);
	KUNIT_EXPECT_EQ(test, smc_deferred_exclude(smc, true), 0);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_TCP);
	KUNIT_EXPECT_EQ(test, smc->own_reason, SMC_CLC_DECL_SOCKOPT);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_CLNT_FBACK) - fallbacks, 1);
	policy_expect_shown(test, smc, false);
	/* once */
	KUNIT_EXPECT_EQ(test, smc_deferred_exclude(smc, true), 0);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_CLNT_FBACK) - fallbacks, 1);
}

/* ---- servers ---- */

/* A plain TCP client connects, and is accepted. Return the child. */
static struct smc_sock *policy_accept(struct kunit *test)
{
	policy_release(&env.child);
	policy_client(test, AF_INET, 1);
	KUNIT_ASSERT_EQ(test, policy_connect(), 0);
	KUNIT_ASSERT_EQ(test, kernel_accept(env.waiting, &env.child, 0), 0);
	return smc_sk(env.child->sk);
}

/* Clients without SMC stay what they are: fallbacks, with their reason. */
static void accept_plain(struct kunit *test)
{
	u64 fallbacks = policy_stat(SMC_STAT_SRV_FBACK), deferred = policy_stat(SMC_STAT_DEFERRED);
	const u32 cap = SMC_CAP_UPGRADE;
	struct smc_sock *smc;
	int i;

	policy_listen(test, PF_SMC);
	for (i = 1; i <= 4; i++) {
		smc = policy_accept(test);
		KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_TCP);
		KUNIT_EXPECT_EQ(test, smc->own_reason, SMC_CLC_DECL_PEER_NO_SMC);
		KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_SRV_FBACK) - fallbacks, i);
		KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_DEFERRED) - deferred, 0);
		/* groups over which no request for the next one can come */
		if (i == 1)
			policy_group(test, SMC_SERVER, 1, SMC_PEER_CAPS_TAG_1);
		else if (i == 2)
			policy_group(test, SMC_SERVER, 2, SMC_PEER_CAPS_TAG_1 | cap);
		else if (i == 3)
			policy_group(test, SMC_CLIENT, 1, SMC_PEER_CAPS_TAG_1 | cap);
	}
	policy_group_up(test, SMC_SERVER);
	smc = policy_accept(test);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_DEFERRED);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_DEFERRED) - deferred, 1);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_SRV_FBACK) - fallbacks, 4);
	policy_set_hs_ctrl(test, true);
	smc = policy_accept(test);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(smc), SMC_MODE_TCP);
	policy_set_hs_ctrl(test, false);
}

/* The client's request for its connection arrives; it has sent nothing yet. */
static void policy_request(struct smc_link *link, u32 number, u32 wrong)
{
	const struct tcp_sock *tp = tcp_sk(env.client->sk);
	struct smc_upgrade_msg msg = {
		.kind = SMC_UPGRADE_REQUEST, .number = number,
		.proof = {
			.client_port = inet_sk(env.client->sk)->inet_num,
			.server_port = policy_port(),
			.client_seq = tp->write_seq + wrong, .server_seq = tp->rcv_nxt,
		},
		.token = 77, .rkey = 78, .vaddr = 79, .rmbe_idx = 3, .bsize = 1, .hint = 16,
	};

	env_receive_upgrade(link, &msg);
}

/* Return the reason of the refusal that was sent for @number, or 0. */
static u8 policy_find_refusal(const struct smc_link *link, u32 number)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);
	struct smc_upgrade_msg msg;
	struct fake_ib_wr *wr;
	u32 i;

	for (i = 0; (wr = fake_ib_sent(qp, i)); i++)
		if (wr->opcode == IB_WR_SEND &&
		    !smc_upgrade_msg_parse((u8 *)(uintptr_t)wr->sge[0].addr, wr->sge[0].length,
					   &msg) &&
		    msg.kind == SMC_UPGRADE_REFUSED && msg.number == number)
			return msg.reason;
	return 0;
}

static void policy_expect_refusal(struct kunit *test, const struct smc_link *link, u32 number,
				  u8 reason, enum smc_stat stat, u64 before)
{
	unsigned long until = jiffies + PATIENCE;

	/* counted after it is sent */
	while ((!policy_find_refusal(link, number) || policy_stat(stat) == before) &&
	       time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ_MSG(test, policy_find_refusal(link, number), reason, "request %u", number);
	KUNIT_EXPECT_EQ_MSG(test, policy_stat(stat) - before, 1, "request %u", number);
}

/* Let a client of plain TCP connect, and wait until its child is a deferred socket. */
static void policy_connect_child(struct kunit *test)
{
	u64 deferred = policy_stat(SMC_STAT_DEFERRED);
	unsigned long until = jiffies + PATIENCE;

	policy_client(test, AF_INET, 1);
	KUNIT_ASSERT_EQ(test, policy_connect(), 0);
	while (policy_stat(SMC_STAT_DEFERRED) == deferred && time_before(jiffies, until))
		usleep_range(1000, 2000);
}

/*
 * Requests for a connection that is not accepted, and one that is, but has no path: what the server
 * says, and counts. A setting that came after the group counts more than that the request comes too
 * early.
 */
static void requests_judged(struct kunit *test)
{
	u64 unknown = policy_stat(SMC_STAT_UPGRADE_UNKNOWN);
	u64 later = policy_stat(SMC_STAT_UPGRADE_LATER);
	u64 excluded = policy_stat(SMC_STAT_UPGRADE_EXCLUDED);
	u64 refused = policy_stat(SMC_STAT_UPGRADE_REFUSED);
	u64 asked = policy_stat(SMC_STAT_UPGRADE_ASKED);
	struct smc_link *link;
	struct smc_lgr *lgr;

	policy_listen(test, PF_SMC);
	policy_add_rule(test);
	lgr = policy_group_up(test, SMC_SERVER);
	link = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	policy_connect_child(test);
	policy_request(link, 8, 1);
	policy_expect_refusal(test, link, 8, SMC_UPGRADE_UNKNOWN, SMC_STAT_UPGRADE_UNKNOWN,
			      unknown);
	policy_request(link, 9, 0);
	policy_expect_refusal(test, link, 9, SMC_UPGRADE_LATER, SMC_STAT_UPGRADE_LATER, later);
	policy_set_hs_ctrl(test, true);
	policy_request(link, 10, 0);
	policy_expect_refusal(test, link, 10, SMC_UPGRADE_EXCLUDED, SMC_STAT_UPGRADE_EXCLUDED,
			      excluded);
	policy_set_hs_ctrl(test, false);
	WRITE_ONCE(smc_settings_get(&init_net)->upgrade_bytes, 0);
	policy_request(link, 11, 0);
	policy_expect_refusal(test, link, 11, SMC_UPGRADE_EXCLUDED, SMC_STAT_UPGRADE_EXCLUDED,
			      excluded + 1);
	WRITE_ONCE(smc_settings_get(&init_net)->upgrade_bytes, THRESHOLD);
	KUNIT_EXPECT_EQ(test, policy_rule_hits(), 1);
	KUNIT_ASSERT_EQ(test, kernel_accept(env.waiting, &env.child, 0), 0);
	policy_request(link, 16, 0);
	policy_expect_refusal(test, link, 16, SMC_UPGRADE_EXCLUDED, SMC_STAT_UPGRADE_EXCLUDED,
			      excluded + 2);
	KUNIT_EXPECT_EQ(test, policy_rule_hits(), 1);
	/* another request is judged; and as after mmap(), it stays TCP for life */
	flush_work(&smc_sk(env.child->sk)->deferred->job);
	WRITE_ONCE(smc_sk(env.child->sk)->deferred->busy, true);
	policy_request(link, 24, 0);
	policy_expect_refusal(test, link, 24, SMC_UPGRADE_LATER, SMC_STAT_UPGRADE_LATER, later + 1);
	WRITE_ONCE(smc_sk(env.child->sk)->deferred->busy, false);
	KUNIT_EXPECT_TRUE(test, smc_deferred_stop_asking(smc_sk(env.child->sk)));
	policy_request(link, 32, 0);
	policy_expect_refusal(test, link, 32, SMC_UPGRADE_EXCLUDED, SMC_STAT_UPGRADE_EXCLUDED,
			      excluded + 3);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_UPGRADE_ASKED) - asked, 7);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_UPGRADE_REFUSED) - refused, 7);
	smc_link_put(link);
}

/*
 * The events of a server: none of a connection that it does not know, whose ports are what the peer
 * says.
 */
static void requests_reported(struct kunit *test)
{
	u64 unknown = policy_stat(SMC_STAT_UPGRADE_UNKNOWN);
	u64 later = policy_stat(SMC_STAT_UPGRADE_LATER);
	u64 excluded = policy_stat(SMC_STAT_UPGRADE_EXCLUDED);
	struct smc_link *link;
	struct smc_lgr *lgr;
	u16 port;

	policy_listen(test, PF_SMC);
	lgr = policy_group_up(test, SMC_SERVER);
	link = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	policy_connect_child(test);
	port = inet_sk(env.client->sk)->inet_num;
	env.events = env_listen_events(test, SMC_NETLINK_OWN_CONNS_NAME);
	policy_request(link, 8, 1);
	policy_expect_refusal(test, link, 8, SMC_UPGRADE_UNKNOWN, SMC_STAT_UPGRADE_UNKNOWN,
			      unknown);
	policy_request(link, 9, 0);
	policy_expect_refusal(test, link, 9, SMC_UPGRADE_LATER, SMC_STAT_UPGRADE_LATER, later);
	/* the first event */
	policy_expect_refused(test, lgr, SMC_SERVER, port, "later");
	KUNIT_ASSERT_EQ(test, kernel_accept(env.waiting, &env.child, 0), 0);
	policy_request(link, 16, 0);
	policy_expect_refusal(test, link, 16, SMC_UPGRADE_EXCLUDED, SMC_STAT_UPGRADE_EXCLUDED,
			      excluded);
	policy_expect_refused(test, lgr, SMC_SERVER, port, "excluded");
	/* by the socket, without a job */
	KUNIT_EXPECT_TRUE(test, smc_deferred_stop_asking(smc_sk(env.child->sk)));
	policy_request(link, 24, 0);
	policy_expect_refused(test, lgr, SMC_SERVER, port, "excluded");
	smc_link_put(link);
}

/* However many requests a peer makes in vain: other events of connections are not suppressed. */
static void requests_limited(struct kunit *test)
{
	const struct smc_rules_path ends = {
		.local = { policy_addr(1), 1 }, .remote = { policy_addr(2), 2 },
	};
	struct smc_event_upgrade refusal = { .path = &ends, .reason = "later" };
	struct smc_event_upgrade change = { .path = &ends };
	u64 suppressed = policy_stat(SMC_STAT_EVENT_SUPPRESSED);
	struct env_event ev;
	int i, refused = -1;

	env.events = env_listen_events(test, SMC_NETLINK_OWN_CONNS_NAME);
	for (i = 0; i < 1000; i++)
		smc_event_upgrade(&init_net, &refusal);
	smc_event_upgrade(&init_net, &change);
	do {
		env_get_event(env.events, HZ, &ev);
		refused++;
	} while (ev.cmd == SMC_NETLINK_OWN_EV_UPGRADE_REFUSED);
	KUNIT_EXPECT_EQ(test, ev.cmd, SMC_NETLINK_OWN_EV_CONN_UPGRADED);
	KUNIT_EXPECT_EQ(test, policy_stat(SMC_STAT_EVENT_SUPPRESSED) - suppressed, 1000 - refused);
}

/* SMC_OWN_UPGRADE_BYTES of a listener: its children refuse for good, or ask for patience. */
static void requests_refused_by_socket(struct kunit *test)
{
	u64 excluded = policy_stat(SMC_STAT_UPGRADE_EXCLUDED);
	u64 later = policy_stat(SMC_STAT_UPGRADE_LATER);
	struct smc_link *link;
	struct smc_lgr *lgr;

	policy_listen(test, PF_SMC);
	WRITE_ONCE(smc_sk(env.waiting->sk)->upgrade_bytes, 0);
	lgr = policy_group_up(test, SMC_SERVER);
	link = smc_lgr_get_link(lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, link);
	policy_connect_child(test);
	policy_request(link, 8, 0);
	policy_expect_refusal(test, link, 8, SMC_UPGRADE_EXCLUDED, SMC_STAT_UPGRADE_EXCLUDED,
			      excluded);
	WRITE_ONCE(smc_sk(env.waiting->sk)->upgrade_bytes, 1);
	policy_connect_child(test);
	policy_request(link, 9, 0);
	policy_expect_refusal(test, link, 9, SMC_UPGRADE_LATER, SMC_STAT_UPGRADE_LATER, later);
	smc_link_put(link);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(upgradable_unknown),
	KUNIT_CASE(upgradable_replaced),
	KUNIT_CASE(defer_only_if_kept),
	KUNIT_CASE(defer_not_with_hs_ctrl),
	KUNIT_CASE(defer_as_the_socket_says),
	KUNIT_CASE(ask_finds_no_group),
	KUNIT_CASE(ask_as_the_socket_says),
	KUNIT_CASE(ask_without_memory),
	KUNIT_CASE(ask_unknown),
	KUNIT_CASE(ask_answered_badly),
	KUNIT_CASE(ask_is_reported),
	KUNIT_CASE(ask_by_link_policy),
	KUNIT_CASE(defer_leaves_probe),
	KUNIT_CASE(defer_failed_fastopen),
	KUNIT_CASE(excluded_is_seen),
	KUNIT_CASE(accept_plain),
	KUNIT_CASE(requests_judged),
	KUNIT_CASE(requests_reported),
	KUNIT_CASE(requests_limited),
	KUNIT_CASE(requests_refused_by_socket),
	{}
};

/* The table of requests is the real one: before smc_upgrade, which replaces it. */
struct kunit_suite smc_upgrade_policy_suite = {
	.name = "smc_upgrade_policy",
	.init = policy_init,
	.exit = policy_exit,
	.test_cases = policy_cases,
};
