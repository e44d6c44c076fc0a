// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deferred sockets: what their work, their options and their end do while TCP, the peer and the
 * program go on. The socket, its TCP connection over lo and the connection of the upgrade are real;
 * the RDMA device is a fake, and there is no LLC message.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <smc/conn/conn.h>
#include <smc/conn/upgrade.h>
#include <smc/handshake/upgradable.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/clc_msg.h>
#include <smc/rdma/path.h>
#include <smc/socket/af_smc.h>
#include <smc/socket/sock.h>
#include <smc/tcp/clcsock.h>

#include "../../socket/deferred.h"
#include "../../socket/fallback.h"
#include "../../socket/stream.h"
#include "conn_env.h"
#include "lgr_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)

/**
 * struct life_env - state of one case
 * @c: group with one link, and the connection of the upgrade, with a reference
 * @sock: accepted socket, deferred
 * @smc: the same
 * @theirs: other end of its TCP connection; NULL: it is closed
 */
struct life_env {
	struct conn_env c;
	struct socket *sock;
	struct smc_sock *smc;
	struct socket *theirs;
};

#define life_wait(condition) ({							\
	unsigned long end_ = jiffies + PATIENCE;				\
	bool true_;								\
										\
	while (!(true_ = (condition)) && time_before(jiffies, end_))		\
		usleep_range(1000, 2000);					\
	true_;									\
})

/* ---- the environment ---- */

static struct sock *life_csk(const struct life_env *e)
{
	return e->smc->clcsock.sock->sk;
}

/* As the server's socket after accept(): its peer may ask for an upgrade. */
static void life_begin(struct kunit *test, struct life_env *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct smc_clcsock waiting = {};
	struct socket *csock;

	memset(e, 0, sizeof(*e));
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_SMC, SOCK_STREAM, SMC_PROTO_IPV4,
					       &e->sock), 0);
	e->smc = smc_sk(e->sock->sk);
	KUNIT_ASSERT_EQ(test, smc_clcsock_create(&waiting, &init_net, AF_INET, 1), 0);
	KUNIT_ASSERT_EQ(test, kernel_bind(waiting.sock, (void *)&at, sizeof(at)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(waiting.sock, 1), 0);
	KUNIT_ASSERT_GT(test, kernel_getsockname(waiting.sock, (void *)&at), 0);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &e->theirs), 0);
	KUNIT_ASSERT_EQ(test, kernel_connect(e->theirs, (void *)&at, sizeof(at), 0), 0);
	KUNIT_ASSERT_EQ(test, kernel_accept(waiting.sock, &csock, 0), 0);
	smc_clcsock_release(&waiting, false);
	smc_clcsock_release(&e->smc->clcsock, true);
	e->smc->clcsock.sock = csock;
	set_bit(SMC_SF_SERVER, &e->smc->flags);
	KUNIT_ASSERT_EQ(test, smc_deferred_start(e->smc), 0);
	smc_sock_set_state(e->smc, TCP_ESTABLISHED, 0, 0);
	e->sock->state = SS_CONNECTED;
	smc_fallback_attach(e->smc, e->sock);
}

static void life_get_tcp(struct smc_sock *owner, struct smc_conn_tcp *tcp)
{
	smc_deferred_get_tcp(owner, &tcp->rx);
	tcp->acked = smc_clcsock_get_acked(&owner->clcsock, owner->deferred->s);
}

static void life_llc(struct smc_conn *conn, u32 actions)
{
}

static const struct smc_conn_upgrade_ops life_ops = {
	.get_tcp = life_get_tcp, .llc = life_llc,
};

/* As upgrade_notify() in socket/upgrade.c. */
static void life_notify(struct smc_sock *smc, unsigned int bits)
{
	smc_deferred_adopt(smc);
	smc_deferred_queue_work(smc);
	smc_stream_notify(smc, bits & ~(SMC_CONN_TRY_GATE | SMC_CONN_BROKEN));
}

static const struct smc_conn_events life_events = {
	.get = smc_stream_get, .notify = life_notify,
};

/* The peer has asked, and the answer was yes. */
static void life_answer(struct kunit *test, struct life_env *e)
{
	static const struct smc_conn_peer_end end = {
		.token = ENV_TOKEN, .size = ENV_RING, .index = 1, .rkey = 0x22, .addr = 0x2000,
		.first = true,
	};
	struct smc_conn_upgrade_init init = { .ops = &life_ops, .number = 9 };
	struct smc_deferred *d = e->smc->deferred;
	struct conn_env *c = &e->c;
	bool cancel = false;

	c->lgr = env_create_group_up(test, SMC_SERVER, 1);
	c->lgr->peer.caps = SMC_PEER_CAPS_TAG_1;
	c->first = smc_lgr_get_link(c->lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, c->first);
	env_add_ring(test, c->lgr, ENV_RING);
	c->conn = smc_conn_create_upgrade(c->lgr, c->first, ENV_RING, ENV_RING, false, &cancel,
					  &init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->conn);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(c->conn, &end), 0);
	spin_lock_bh(&e->smc->state_lock);
	smc_conn_get(c->conn);
	WRITE_ONCE(d->conn, c->conn);
	spin_unlock_bh(&e->smc->state_lock);
	smc_conn_attach(c->conn, &life_events, e->smc);
	KUNIT_ASSERT_EQ(test, smc_conn_upgrade_begin(c->conn), 0);
}

/* Message @seq of the peer. */
static void life_receive(struct life_env *e, u16 seq, u8 ext)
{
	struct smc_cdc_msg msg = { .seq = seq, .ext = ext };

	conn_env_receive_msg(&e->c, e->c.first, &msg);
}

static struct smc_upgrade life_states(const struct life_env *e)
{
	struct smc_upgrade states;

	smc_conn_upgrade_get_states(e->c.conn, &states);
	return states;
}

/* GO comes: both sides have agreed. */
static void life_receive_go(struct kunit *test, struct life_env *e)
{
	life_receive(e, 1, SMC_CDC_EXT_GO);
	KUNIT_ASSERT_EQ(test, life_states(e).agree, SMC_UPGRADE_SMC);
	KUNIT_EXPECT_PTR_EQ(test, e->smc->conn, e->c.conn);
}

/* ... and GO has come. */
static void life_agree(struct kunit *test, struct life_env *e)
{
	life_answer(test, e);
	life_receive_go(test, e);
}

static void life_reset_by_peer(struct kunit *test, struct life_env *e)
{
	sock_no_linger(e->theirs->sk);
	sock_release(e->theirs);
	e->theirs = NULL;
	KUNIT_EXPECT_TRUE(test, life_wait(inet_sk_state_load(life_csk(e)) == TCP_CLOSE));
}

static void life_end(struct life_env *e)
{
	sock_release(e->sock);
	if (e->theirs)
		sock_release(e->theirs);
	if (!e->c.conn)
		return;
	smc_conn_put(e->c.conn);
	smc_link_put(e->c.first);
}

/* ---- mmap() ---- */

/**
 * struct life_mmap - a call of mmap()
 * @work: the call
 * @sock: socket
 * @done: it has returned
 * @rc: its result
 */
struct life_mmap {
	struct work_struct work;
	struct socket *sock;
	bool done;
	int rc;
};

static void life_mmap_work(struct work_struct *work)
{
	struct life_mmap *m = container_of(work, struct life_mmap, work);
	/* what TCP refuses, and only TCP looks at */
	struct vm_area_struct vma = { .vm_flags = VM_WRITE };

	m->rc = smc_sock_ops.mmap(NULL, m->sock, &vma);
	WRITE_ONCE(m->done, true);
}

/* mmap() while another call, which waits for mmap_lock, has both sockets locked. */
static int life_mmap_locked(struct kunit *test, struct life_env *e)
{
	struct life_mmap m = { .sock = e->sock };

	INIT_WORK_ONSTACK(&m.work, life_mmap_work);
	lock_sock(e->sock->sk);
	lock_sock(life_csk(e));
	schedule_work(&m.work);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(m.done)));
	release_sock(life_csk(e));
	release_sock(e->sock->sk);
	flush_work(&m.work);
	destroy_work_on_stack(&m.work);
	return m.rc;
}

static void life_mmap(struct kunit *test)
{
	struct life_env e;

	/* TCP for life */
	life_begin(test, &e);
	KUNIT_EXPECT_EQ(test, life_mmap_locked(test, &e), -EPERM);
	KUNIT_EXPECT_TRUE(test, e.smc->deferred->closed);
	KUNIT_EXPECT_EQ(test, life_mmap_locked(test, &e), -EPERM);
	life_end(&e);

	/* an upgrade is under way, and goes on */
	life_begin(test, &e);
	life_answer(test, &e);
	KUNIT_EXPECT_EQ(test, life_mmap_locked(test, &e), -ENODEV);
	KUNIT_EXPECT_FALSE(test, e.smc->deferred->closed);
	KUNIT_EXPECT_EQ(test, life_states(&e).agree, SMC_UPGRADE_ANSWERED);
	life_end(&e);
}

/* ---- whether it is eligible ---- */

/* An outdated route stays TCP's, which may be about to drop it. */
static void life_route(struct kunit *test)
{
	struct smc_path path = {};
	struct dst_entry *dst;
	struct life_env e;
	struct sock *csk;
	u16 vlan;

	life_begin(test, &e);
	csk = life_csk(&e);
	dst = sk_dst_get(csk);
	KUNIT_ASSERT_NOT_NULL(test, dst);
	KUNIT_EXPECT_NE(test, smc_hs_check_eligible(&init_net, &e.smc->clcsock, true, &path,
						    &vlan, false),
			SMC_CLC_DECL_NO_ROUTE);
	/* as if a route was changed */
	container_of(dst, struct rtable, dst)->rt_genid--;
	KUNIT_EXPECT_EQ(test, smc_hs_check_eligible(&init_net, &e.smc->clcsock, true, &path,
						    &vlan, false),
			SMC_CLC_DECL_NO_ROUTE);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(csk->sk_dst_cache), dst);
	dst_release(dst);
	life_end(&e);
}

/* ---- TCP ends ---- */

/* TCP has carried all bytes before both S: FIN and then RST, for which TCP has another error. */
static void life_rst_after_fin(struct kunit *test)
{
	struct smc_upgrade states;
	struct life_env e;

	life_begin(test, &e);
	life_agree(test, &e);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.smc->deferred->ring)));
	life_receive(&e, 2, SMC_CDC_EXT_S);
	states = life_states(&e);
	KUNIT_EXPECT_TRUE(test, smc_upgrade_tcp_is_empty(&states));
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(e.theirs, SHUT_WR), 0);
	KUNIT_EXPECT_TRUE(test, life_wait(inet_sk_state_load(life_csk(&e)) == TCP_CLOSE_WAIT));
	KUNIT_EXPECT_EQ(test, smc_conn_state(e.c.conn), SMC_CONN_ACTIVE);
	life_reset_by_peer(test, &e);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.c.conn->err)));
	KUNIT_EXPECT_EQ(test, e.c.conn->err, ECONNRESET);
	KUNIT_EXPECT_EQ(test, sock_error(e.sock->sk), -ECONNRESET);
	life_end(&e);
}

/* The same while S of the peer is on its way: it may have sent A, which has a while to come. */
static void life_rst_before_a(struct kunit *test)
{
	struct life_env e;

	life_begin(test, &e);
	life_agree(test, &e);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.smc->deferred->ring)));
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(e.theirs, SHUT_WR), 0);
	KUNIT_EXPECT_TRUE(test, life_wait(inet_sk_state_load(life_csk(&e)) == TCP_CLOSE_WAIT));
	life_reset_by_peer(test, &e);
	msleep(50);
	KUNIT_EXPECT_EQ(test, READ_ONCE(e.c.conn->err), 0);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.c.conn->err)));
	KUNIT_EXPECT_EQ(test, e.c.conn->err, ECONNRESET);
	life_end(&e);
}

/* ---- the gate ---- */

static void life_send_urgent(struct life_env *e)
{
	struct sock *csk = life_csk(e);

	/* as if the byte had not arrived */
	lock_sock(csk);
	tcp_sk(csk)->snd_up = tcp_sk(csk)->snd_una + 1;
	release_sock(csk);
}

/* RST comes instead of the acknowledgment of an urgent byte: nothing is waited for any more. */
static void life_gate_reset(struct kunit *test)
{
	struct life_env e;

	life_begin(test, &e);
	life_send_urgent(&e);
	life_agree(test, &e);
	msleep(100);
	KUNIT_EXPECT_FALSE(test, e.smc->deferred->ring);
	life_reset_by_peer(test, &e);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.c.conn->err)));
	/* twice the longest pause */
	msleep(2500);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&e.smc->deferred->work));
	life_end(&e);
}

/* A call of the program keeps the clcsock locked: the work looks less and less often. */
static void life_gate_locked(struct kunit *test)
{
	struct smc_deferred *d;
	struct life_env e;

	life_begin(test, &e);
	d = e.smc->deferred;
	/* buffers are taken without a lock of a socket, as everywhere */
	life_answer(test, &e);
	lock_sock(life_csk(&e));
	life_receive_go(test, &e);
	msleep(2000);
	KUNIT_EXPECT_FALSE(test, d->ring);
	KUNIT_EXPECT_GE(test, READ_ONCE(d->gate_pause), HZ / 2);
	release_sock(life_csk(&e));
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(d->ring)));
	KUNIT_EXPECT_TRUE(test, life_wait(!READ_ONCE(d->gate_pause)));
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&d->work));
	life_end(&e);
}

/* TCP_CORK holds a byte back, and the program writes no more: it goes before the gate is shut. */
static void life_gate_corked(struct kunit *test)
{
	struct kvec vec = { .iov_base = "!", .iov_len = 1 };
	struct msghdr msg = {};
	struct life_env e;

	life_begin(test, &e);
	tcp_sock_set_cork(life_csk(&e), true);
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(e.sock, &msg, &vec, 1, 1), 1);
	KUNIT_EXPECT_TRUE(test, smc_clcsock_has_unsent(&e.smc->clcsock));
	life_agree(test, &e);
	msleep(50);
	KUNIT_EXPECT_TRUE(test, smc_clcsock_has_unsent(&e.smc->clcsock));
	KUNIT_EXPECT_FALSE(test, e.smc->deferred->ring);
	KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.smc->deferred->ring)));
	KUNIT_EXPECT_FALSE(test, smc_clcsock_has_unsent(&e.smc->clcsock));
	KUNIT_EXPECT_EQ(test, e.c.conn->upgrade->tx_s, 1);
	life_end(&e);
}

/* ---- options that exclude SMC ---- */

/*
 * The peer has broken the protocol before GO: TCP is reset, whether the work of the socket has seen
 * that or not, and the program gets one error.
 */
static void life_exclude_dead(struct kunit *test)
{
	struct life_env e;
	int seen;

	for (seen = 0; seen < 2; seen++) {
		life_begin(test, &e);
		life_answer(test, &e);
		lock_sock(life_csk(&e));
		smc_conn_upgrade_step(e.c.conn, SMC_UPGRADE_EV_VIOLATION);
		KUNIT_EXPECT_EQ(test, life_states(&e).agree, SMC_UPGRADE_DEAD);
		if (seen)
			msleep(100);
		release_sock(life_csk(&e));
		KUNIT_EXPECT_EQ(test, smc_deferred_exclude(e.smc, true), 0);
		KUNIT_EXPECT_EQ(test, smc_sock_mode(e.smc), SMC_MODE_TCP);
		KUNIT_EXPECT_EQ(test, inet_sk_state_load(life_csk(&e)), TCP_CLOSE);
		KUNIT_EXPECT_TRUE(test, life_wait(READ_ONCE(e.theirs->sk->sk_err) == ECONNRESET));
		KUNIT_EXPECT_EQ_MSG(test, sock_error(e.sock->sk), -ECONNRESET, "seen %d", seen);
		smc_fallback_pull_error(e.smc);
		KUNIT_EXPECT_EQ_MSG(test, sock_error(e.sock->sk), 0, "seen %d", seen);
		life_end(&e);
	}
}

static struct kunit_case life_cases[] = {
	KUNIT_CASE(life_mmap),
	KUNIT_CASE(life_route),
	KUNIT_CASE(life_rst_after_fin),
	KUNIT_CASE(life_rst_before_a),
	KUNIT_CASE_SLOW(life_gate_reset),
	KUNIT_CASE_SLOW(life_gate_locked),
	KUNIT_CASE(life_gate_corked),
	KUNIT_CASE(life_exclude_dead),
	{}
};

struct kunit_suite smc_upgrade_life_suite = {
	.name = "smc_upgrade_life",
	.init = env_init,
	.exit = env_exit,
	.test_cases = life_cases,
};
