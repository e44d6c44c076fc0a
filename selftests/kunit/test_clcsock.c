// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resetting a clcsock that its program may be using, clcsocks whose application has closed, look-up
 * of a connection by its ends.
 */
#include <linux/bpf.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <net/tcp.h>
#include <smc/socket/af_smc.h>
#include <smc/socket/sock.h>
#include <smc/tcp/clcsock.h>
#include <smc/tcp/orphan.h>

#include "../../socket/fallback.h"
#include "conn_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)

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

/* ---- hooks ---- */

static const struct smc_clcsock_events no_events;
static const struct smc_clcsock_events clc_events = { .uncork = true };

static bool clcsock_is_corked(const struct clcsock_env *e)
{
	return tcp_sk(e->sk)->nonagle & TCP_NAGLE_CORK;
}

/* The application's TCP_CORK does not apply to CLC messages. */
static void clcsock_cork(struct kunit *test)
{
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	smc_clcsock_set_cork(&e.ours, true);
	KUNIT_EXPECT_TRUE(test, clcsock_is_corked(&e));
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&e.ours, &clc_events, &e));
	KUNIT_EXPECT_FALSE(test, clcsock_is_corked(&e));
	/* the handshake ends, and hooks it for what comes next */
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&e.ours, &no_events, &e));
	KUNIT_EXPECT_TRUE(test, clcsock_is_corked(&e));
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&e.ours, &clc_events, &e));
	smc_clcsock_set_cork(&e.ours, false);
	smc_clcsock_unhook(&e.ours);
	KUNIT_EXPECT_FALSE(test, clcsock_is_corked(&e));
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&e.ours, &clc_events, &e));
	smc_clcsock_set_cork(&e.ours, true);
	KUNIT_EXPECT_FALSE(test, clcsock_is_corked(&e));
	smc_clcsock_unhook(&e.ours);
	KUNIT_EXPECT_TRUE(test, clcsock_is_corked(&e));
	clcsock_env_end(&e);
}

/* Another user has the socket: CLC messages are not corked either. */
static void clcsock_cork_refused(struct kunit *test)
{
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	smc_clcsock_set_cork(&e.ours, true);
	WRITE_ONCE(e.sk->sk_user_data, (void *)&e);
	KUNIT_EXPECT_FALSE(test, smc_clcsock_hook(&e.ours, &clc_events, &e));
	KUNIT_EXPECT_FALSE(test, clcsock_is_corked(&e));
	smc_clcsock_unhook(&e.ours);
	KUNIT_EXPECT_TRUE(test, clcsock_is_corked(&e));
	KUNIT_EXPECT_FALSE(test, smc_clcsock_hook(&e.ours, &clc_events, &e));
	KUNIT_EXPECT_FALSE(test, smc_clcsock_hook(&e.ours, &no_events, &e));
	KUNIT_EXPECT_TRUE(test, clcsock_is_corked(&e));
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(e.sk->sk_user_data), (void *)&e);
	WRITE_ONCE(e.sk->sk_user_data, NULL);
	clcsock_env_end(&e);
}

/* What begins and ends in one round of locks is what begins and ends in two. */
static void clcsock_unhook_share(struct kunit *test)
{
	void (*ready)(struct sock *sk);
	struct clcsock_env e;

	clcsock_env_begin(test, &e);
	ready = e.sk->sk_data_ready;
	smc_clcsock_set_rcvlowat(&e.ours, 100);
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&e.ours, &no_events, &e));
	KUNIT_EXPECT_PTR_NE(test, e.sk->sk_data_ready, ready);
	KUNIT_EXPECT_EQ(test, e.sk->sk_rcvlowat, 1);
	smc_clcsock_unhook_to(&e.ours, e.theirs, NULL);
	KUNIT_EXPECT_FALSE(test, e.ours.hooked);
	KUNIT_EXPECT_PTR_EQ(test, e.sk->sk_data_ready, ready);
	KUNIT_EXPECT_EQ(test, e.sk->sk_rcvlowat, 100);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(e.sk->sk_wq), &e.theirs->wq);
	smc_clcsock_unshare_wq(&e.ours);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(e.sk->sk_wq), &e.ours.sock->wq);
	clcsock_env_end(&e);
}

/* ---- look-up ---- */

static u32 got;

static bool clcsock_get(struct smc_clcsock *c)
{
	got++;
	return true;
}

static bool clcsock_refuse(struct smc_clcsock *c)
{
	return false;
}

static struct smc_clcsock_ends clcsock_env_ends(const struct clcsock_env *e)
{
	const struct inet_sock *inet = inet_sk(e->sk);
	struct smc_clcsock_ends ends = {
		.own_port = ntohs(inet->inet_sport), .peer_port = ntohs(inet->inet_dport),
		.ifindex = LOOPBACK_IFINDEX,
	};

	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &ends.own);
	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &ends.peer);
	return ends;
}

/* Only a hooked clcsock, by all of its ends, if the owner agrees. */
static void clcsock_find(struct kunit *test)
{
	struct smc_clcsock_ends ends, wrong;
	struct clcsock_env e;
	struct net *other;

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	/* compared only, but for the table */
	other->ipv4.tcp_death_row.hashinfo = init_net.ipv4.tcp_death_row.hashinfo;
	clcsock_env_begin(test, &e);
	ends = clcsock_env_ends(&e);
	got = 0;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &ends, clcsock_get));
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&e.ours, &no_events, &e));
	KUNIT_EXPECT_PTR_EQ(test, smc_clcsock_find(&init_net, &ends, clcsock_get), &e.ours);
	KUNIT_EXPECT_EQ(test, got, 1);
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &ends, clcsock_refuse));
	/* bound, as the child of a listener that is, or of a link-local address */
	WRITE_ONCE(e.sk->sk_bound_dev_if, LOOPBACK_IFINDEX);
	KUNIT_EXPECT_PTR_EQ(test, smc_clcsock_find(&init_net, &ends, clcsock_get), &e.ours);
	KUNIT_EXPECT_EQ(test, got, 2);
	wrong = ends;
	wrong.ifindex++;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &wrong, clcsock_get));
	WRITE_ONCE(e.sk->sk_bound_dev_if, 0);
	KUNIT_EXPECT_PTR_EQ(test, smc_clcsock_find(&init_net, &wrong, clcsock_get), &e.ours);
	got = 1;
	wrong = ends;
	wrong.own_port++;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &wrong, clcsock_get));
	wrong = ends;
	wrong.peer_port++;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &wrong, clcsock_get));
	wrong = ends;
	wrong.peer.s6_addr[15]++;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &wrong, clcsock_get));
	/* the same address as IPv6, of which there is no such connection */
	wrong = ends;
	wrong.own = in6addr_loopback;
	wrong.peer = in6addr_loopback;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &wrong, clcsock_get));
	/* it has no netdevs */
	wrong = ends;
	wrong.ifindex = 0;
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(other, &wrong, clcsock_get));
	/* the other end is not hooked; somebody else may use its sk_user_data as we use ours */
	write_lock_bh(&e.theirs->sk->sk_callback_lock);
	WRITE_ONCE(e.theirs->sk->sk_user_data, (void *)((uintptr_t)&e.ours | SK_USER_DATA_NOCOPY));
	write_unlock_bh(&e.theirs->sk->sk_callback_lock);
	wrong = (struct smc_clcsock_ends){ .own = ends.peer, .peer = ends.own,
					   .own_port = ends.peer_port, .peer_port = ends.own_port };
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &wrong, clcsock_get));
	WRITE_ONCE(e.theirs->sk->sk_user_data, NULL);
	KUNIT_EXPECT_EQ(test, got, 1);
	smc_clcsock_unhook(&e.ours);
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &ends, clcsock_get));
	clcsock_env_end(&e);
	KUNIT_EXPECT_NULL(test, smc_clcsock_find(&init_net, &ends, clcsock_get));
}

static void clcsock_send(struct kunit *test, struct socket *from, struct socket *to, u32 len)
{
	void *buf = kunit_kzalloc(test, len, GFP_KERNEL);
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {};
	u32 done = 0;
	int n = 1;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(from, &msg, &vec, 1, len), len);
	while (n > 0 && done < len) {
		vec = (struct kvec){ .iov_base = buf, .iov_len = len - done };
		memset(&msg, 0, sizeof(msg));
		n = kernel_recvmsg(to, &msg, &vec, 1, len - done, 0);
		done += max(n, 0);
	}
	KUNIT_EXPECT_EQ(test, done, len);
}

static void clcsock_expect_first(struct kunit *test, struct clcsock_env *e, u32 tx, u32 rx)
{
	struct smc_clcsock theirs = { .sock = e->theirs };

	smc_clcsock_note_first(&e->ours, false);
	smc_clcsock_note_first(&theirs, true);
	KUNIT_EXPECT_EQ(test, e->ours.first_tx, tx);
	KUNIT_EXPECT_EQ(test, e->ours.first_rx, rx);
	KUNIT_EXPECT_EQ(test, theirs.first_rx, tx);
	KUNIT_EXPECT_EQ(test, theirs.first_tx, rx);
}

/* Both ends name the same first bytes, before bytes have moved, after that, and after FIN. */
static void clcsock_first_bytes(struct kunit *test)
{
	struct clcsock_env e;
	u32 tx, rx;

	clcsock_env_begin(test, &e);
	/* no byte was sent: the next one is the first */
	tx = tcp_sk(e.sk)->write_seq;
	rx = tcp_sk(e.theirs->sk)->write_seq;
	clcsock_expect_first(test, &e, tx, rx);
	clcsock_send(test, e.ours.sock, e.theirs, 10000);
	clcsock_send(test, e.theirs, e.ours.sock, 1);
	clcsock_expect_first(test, &e, tx, rx);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(e.ours.sock, SHUT_WR), 0);
	clcsock_send(test, e.theirs, e.ours.sock, 20000);
	KUNIT_EXPECT_TRUE(test, clcsock_wait_state(e.theirs->sk, TCP_CLOSE_WAIT));
	clcsock_expect_first(test, &e, tx, rx);
	clcsock_env_end(&e);
}

/* connect(AF_UNSPEC): what named the connection does not name the next one. */
static void clcsock_first_forgotten(struct kunit *test)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct smc_sock *smc;
	struct clcsock_env e;
	struct sock *sk;

	clcsock_env_begin(test, &e);
	sk = smc_sock_alloc(&init_net, NULL, SMC_PROTO_IPV4, 1);
	KUNIT_ASSERT_NOT_NULL(test, sk);
	smc = smc_sk(sk);
	swap(smc->clcsock.sock, e.ours.sock);
	smc_clcsock_note_first(&smc->clcsock, false);
	KUNIT_EXPECT_TRUE(test, smc->clcsock.first_known);
	KUNIT_EXPECT_EQ(test, smc_fallback_connect(smc, &none, sizeof(none), 0), 0);
	KUNIT_EXPECT_FALSE(test, smc->clcsock.first_known);
	KUNIT_EXPECT_EQ(test, inet_sk_state_load(e.sk), TCP_CLOSE);
	swap(smc->clcsock.sock, e.ours.sock);
	sock_put(sk);
	clcsock_env_end(&e);
}

/* What a client's request names: a deferred SMC socket, with the right proof. */
static void sock_find_proven(struct kunit *test)
{
	struct smc_upgrade_proof proof, wrong;
	struct smc_clcsock_ends ends;
	struct smc_peer peer = {};
	struct smc_sock *smc;
	struct clcsock_env e;
	struct sock *sk;
	u32 refs;

	clcsock_env_begin(test, &e);
	ends = clcsock_env_ends(&e);
	peer.own_addr = ends.own;
	peer.tcp_addr = ends.peer;
	peer.own_ifindex = LOOPBACK_IFINDEX;
	sk = smc_sock_alloc(&init_net, NULL, SMC_PROTO_IPV4, 1);
	KUNIT_ASSERT_NOT_NULL(test, sk);
	smc = smc_sk(sk);
	swap(smc->clcsock.sock, e.ours.sock);
	smc_clcsock_note_first(&smc->clcsock, false);
	/* the socket serves as the server's */
	proof = (struct smc_upgrade_proof){
		.client_port = ends.peer_port, .server_port = ends.own_port,
		.client_seq = smc->clcsock.first_rx, .server_seq = smc->clcsock.first_tx,
	};
	WRITE_ONCE(smc->mode, SMC_MODE_DEFERRED);
	set_bit(SMC_SF_SERVER, &smc->flags);
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	KUNIT_ASSERT_TRUE(test, smc_clcsock_hook(&smc->clcsock, &no_events, smc));
	/* no socket of our client, which has asked itself */
	clear_bit(SMC_SF_SERVER, &smc->flags);
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	set_bit(SMC_SF_SERVER, &smc->flags);
	refs = refcount_read(&sk->sk_refcnt);
	KUNIT_EXPECT_PTR_EQ(test, smc_sock_find_proven(&init_net, &peer, &proof), smc);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), refs + 1);
	sock_put(sk);
	/* bound to the netdev of the group's first contact, or to another one */
	WRITE_ONCE(e.sk->sk_bound_dev_if, LOOPBACK_IFINDEX);
	KUNIT_EXPECT_PTR_EQ(test, smc_sock_find_proven(&init_net, &peer, &proof), smc);
	sock_put(sk);
	WRITE_ONCE(e.sk->sk_bound_dev_if, LOOPBACK_IFINDEX + 1);
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	WRITE_ONCE(e.sk->sk_bound_dev_if, 0);
	wrong = proof;
	wrong.client_seq++;
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &wrong));
	wrong = proof;
	wrong.server_seq--;
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &wrong));
	WRITE_ONCE(smc->mode, SMC_MODE_SMC);
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	WRITE_ONCE(smc->mode, SMC_MODE_TCP);
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	WRITE_ONCE(smc->mode, SMC_MODE_DEFERRED);
	smc->clcsock.first_known = false;
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	smc->clcsock.first_known = true;
	/* a handshake, or what is left after close(), owns the clcsock */
	KUNIT_EXPECT_TRUE(test, smc_clcsock_hook(&smc->clcsock, &no_events, &smc->hs));
	KUNIT_EXPECT_NULL(test, smc_sock_find_proven(&init_net, &peer, &proof));
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), refs);
	smc_clcsock_unhook(&smc->clcsock);
	swap(smc->clcsock.sock, e.ours.sock);
	sock_put(sk);
	clcsock_env_end(&e);
}

/*
 * bpf_setsockopt() in a program of BPF_CGROUP_SETSOCKOPT runs under RCU, with the lock of the SMC
 * socket: it does not wait for that of the clcsock.
 */
static void clcsock_bpf_options(struct kunit *test)
{
	struct bpf_run_ctx program = {}, *before;
	struct socket *sock;
	struct sock *sk, *csk;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_SMC, SOCK_STREAM, SMC_PROTO_IPV4,
					       &sock), 0);
	sk = sock->sk;
	csk = smc_sk(sk)->clcsock.sock->sk;
	lock_sock(sk);
	before = bpf_set_run_ctx(&program);
	sk->sk_prot->keepalive(sk, 1);
	KUNIT_EXPECT_TRUE(test, sock_flag(csk, SOCK_KEEPOPEN));
	KUNIT_EXPECT_FALSE(test, sock_owned_by_user_nocheck(csk));
	KUNIT_EXPECT_EQ(test, sock->ops->set_rcvlowat(sk, 100), -EOPNOTSUPP);
	lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
	sk->sk_prot->keepalive(sk, 0);
	KUNIT_EXPECT_TRUE(test, sock_flag(csk, SOCK_KEEPOPEN));
	release_sock(csk);
	bpf_reset_run_ctx(before);
	sk->sk_prot->keepalive(sk, 0);
	KUNIT_EXPECT_FALSE(test, sock_flag(csk, SOCK_KEEPOPEN));
	KUNIT_EXPECT_EQ(test, sock->ops->set_rcvlowat(sk, 100), 0);
	release_sock(sk);
	sock_release(sock);
}

static struct kunit_case clcsock_cases[] = {
	KUNIT_CASE(clcsock_reset_busy),
	KUNIT_CASE(clcsock_reset_names),
	KUNIT_CASE(clcsock_orphan_second),
	KUNIT_CASE_SLOW(clcsock_orphan_not_forever),
	KUNIT_CASE(clcsock_orphan_reset),
	KUNIT_CASE(clcsock_cork),
	KUNIT_CASE(clcsock_cork_refused),
	KUNIT_CASE(clcsock_unhook_share),
	KUNIT_CASE(clcsock_find),
	KUNIT_CASE(clcsock_first_bytes),
	KUNIT_CASE(clcsock_first_forgotten),
	KUNIT_CASE(sock_find_proven),
	KUNIT_CASE(clcsock_bpf_options),
	{}
};

struct kunit_suite smc_clcsock_suite = {
	.name = "smc_clcsock",
	.test_cases = clcsock_cases,
};
