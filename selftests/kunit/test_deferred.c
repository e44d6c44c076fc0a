// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of deferred sockets: TCP up to byte S of each direction, then the ring. The socket, TCP
 * over lo and the layers from lgr/ up to conn/ are the real ones. The peer is a kernel socket and
 * CDC messages that the case makes up; the RDMA device and the LLC messages are fakes.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/tcp_states.h>
#include <asm/ioctls.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/conn/tx.h>
#include <smc/conn/upgrade.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include <smc/socket/sock.h>
#include <smc/tcp/clcsock.h>
#include "../../conn/failover.h"
#include "../../socket/deferred.h"
#include "../../socket/fallback.h"
#include "../../socket/sockopt.h"
#include "../../socket/stream.h"

#include "conn_env.h"
#include "lgr_env.h"
#include "suites.h"

#define PATIENCE	(5 * HZ)
#define QUIET_MS	50	/* for a call that has nothing to do */
#define ENV_NUMBER	17	/* of the request */
#define IN_BITS		(EPOLLIN | EPOLLRDNORM)
#define END_BITS	(IN_BITS | EPOLLRDHUP | EPOLLHUP)

/**
 * struct deferred_env - state of one case
 * @e: group of two links, with the connection of the upgrade, once there is one
 * @smc: deferred socket, accepted
 * @sock: its struct socket
 * @theirs: the other end of its TCP connection
 * @seq: number of the last CDC message of the peer
 * @llc: LLC actions so far
 * @deaf: notifications of the connection are lost
 */
struct deferred_env {
	struct conn_env e;
	struct smc_sock *smc;
	struct socket *sock;
	struct socket *theirs;
	u16 seq;
	u32 llc;
	bool deaf;
};

/* The connection has no pointer to the case; one case runs at a time. */
static struct deferred_env *deferred_current;

#define DEFERRED_WAIT(condition) ({						\
	unsigned long end_ = jiffies + PATIENCE;				\
	bool true_;								\
										\
	while (!(true_ = (condition)) && time_before(jiffies, end_))		\
		usleep_range(1000, 2000);					\
	true_;									\
})

/* ---- what socket/upgrade.c does ---- */

static void deferred_env_get_tcp(struct smc_sock *owner, struct smc_conn_tcp *tcp)
{
	smc_deferred_get_tcp(owner, &tcp->rx);
	tcp->acked = smc_clcsock_get_acked(&owner->clcsock, owner->deferred->s);
}

static void deferred_env_llc(struct smc_conn *conn, u32 actions)
{
	/* a connection that leaves with its group, after the case */
	if (deferred_current)
		deferred_current->llc |= actions;
}

static const struct smc_conn_upgrade_ops deferred_env_ops = {
	.get_tcp = deferred_env_get_tcp, .llc = deferred_env_llc,
};

static void deferred_env_notify(struct smc_sock *smc, unsigned int bits)
{
	const unsigned int own = SMC_CONN_TRY_GATE | SMC_CONN_BROKEN;

	if (!deferred_current->deaf && bits & (SMC_CONN_CHANGED | own)) {
		smc_deferred_adopt(smc);
		smc_deferred_queue_work(smc);
	}
	smc_stream_notify(smc, deferred_current->deaf ? 0 : bits & ~own);
}

static const struct smc_conn_events deferred_env_events = {
	.get = smc_stream_get, .notify = deferred_env_notify,
};

/* ---- environment ---- */

static void deferred_env_connect(struct kunit *test, struct deferred_env *d)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct smc_clcsock waiting = {};

	KUNIT_ASSERT_EQ(test, smc_clcsock_create(&waiting, &init_net, AF_INET, 1), 0);
	KUNIT_ASSERT_EQ(test, kernel_bind(waiting.sock, (void *)&at, sizeof(at)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(waiting.sock, 1), 0);
	KUNIT_ASSERT_GT(test, kernel_getsockname(waiting.sock, (void *)&at), 0);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &d->theirs), 0);
	KUNIT_ASSERT_EQ(test, kernel_connect(d->theirs, (void *)&at, sizeof(at), 0), 0);
	KUNIT_ASSERT_EQ(test, kernel_accept(waiting.sock, &d->smc->clcsock.sock, 0), 0);
	smc_clcsock_release(&waiting, false);
}

/* A deferred socket of a server, as after accept(). */
static void deferred_begin(struct kunit *test, struct deferred_env *d)
{
	struct sock *sk;

	memset(d, 0, sizeof(*d));
	deferred_current = d;
	KUNIT_ASSERT_EQ(test, sock_create_lite(PF_INET, SOCK_STREAM, 0, &d->sock), 0);
	sk = smc_sock_alloc(&init_net, d->sock, SMC_PROTO_IPV4, 1);
	KUNIT_ASSERT_NOT_NULL(test, sk);
	sk->sk_rcvtimeo = PATIENCE;
	sk->sk_sndtimeo = PATIENCE;
	d->smc = smc_sk(sk);
	deferred_env_connect(test, d);
	set_bit(SMC_SF_SERVER, &d->smc->flags);
	KUNIT_ASSERT_EQ(test, smc_deferred_start(d->smc), 0);
	smc_fallback_attach(d->smc, d->sock);
}

static void deferred_end(struct deferred_env *d)
{
	struct sock *sk = smc_sock_sk(d->smc);
	struct smc_conn *conn = d->e.conn;

	if (d->smc->clcsock.sock)
		smc_deferred_close(d->smc, true, false);
	smc_clcsock_release(&d->smc->clcsock, true);
	d->sock->sk = NULL;
	sock_put(sk);
	sock_release(d->sock);
	if (d->theirs)
		sock_release(d->theirs);
	if (!conn)
		return;
	flush_delayed_work(&conn->work);
	deferred_current = NULL;
	smc_conn_put(conn);
	smc_link_put(d->e.second);
	smc_link_put(d->e.first);
}

/* Create the connection of a request; the request is under way, or was answered. */
static void deferred_env_ask(struct kunit *test, struct deferred_env *d, enum smc_role role)
{
	static const struct smc_conn_peer_end end = {
		.token = ENV_TOKEN, .size = ENV_RING, .index = 1, .rkey = 0x22, .addr = 0x2000,
		.first = true,
	};
	struct smc_conn_upgrade_init init = { .ops = &deferred_env_ops, .number = ENV_NUMBER };
	struct conn_env *e = &d->e;
	bool cancel = false;

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
	if (role == SMC_CLIENT) {
		smc_failover_rx_init(&e->conn->rx.path, e->second->slot);
	} else {
		KUNIT_ASSERT_EQ(test, smc_conn_set_peer(e->conn, &end), 0);
		conn_env_add_key(e, 0);
	}
	spin_lock_bh(&d->smc->state_lock);
	smc_conn_get(e->conn);
	WRITE_ONCE(d->smc->deferred->conn, e->conn);
	spin_unlock_bh(&d->smc->state_lock);
	smc_conn_attach(e->conn, &deferred_env_events, d->smc);
	KUNIT_ASSERT_EQ(test, smc_conn_upgrade_begin(e->conn), 0);
	flush_delayed_work(&e->conn->work);
}

static void deferred_env_flush(struct deferred_env *d)
{
	flush_delayed_work(&d->e.conn->work);
	flush_delayed_work(&d->smc->deferred->work);
}

/* A CDC message of the peer: @ring bytes are in our RMBE since the beginning. */
static void deferred_env_cdc(struct deferred_env *d, u8 ext, u64 s, u32 ring, u8 state)
{
	struct smc_cdc_msg msg = {
		.seq = ++d->seq, .ext = ext, .s = s, .state = state, .prod = { .off = ring },
	};

	conn_env_receive_msg(&d->e, d->e.second, &msg);
}

static void deferred_env_go(struct deferred_env *d)
{
	deferred_env_cdc(d, SMC_CDC_EXT_GO, 0, 0, 0);
	deferred_env_flush(d);
}

static void deferred_env_s(struct deferred_env *d, u64 s, u32 ring)
{
	deferred_env_cdc(d, SMC_CDC_EXT_S, s, ring, 0);
}

/* The two ends have agreed, nobody is inside the gate. */
static void deferred_begin_agreed(struct kunit *test, struct deferred_env *d)
{
	deferred_begin(test, d);
	deferred_env_ask(test, d, SMC_SERVER);
	deferred_env_go(d);
	KUNIT_ASSERT_PTR_EQ(test, d->smc->conn, d->e.conn);
	memset(d->e.conn->rx.elem.addr, 'r', ENV_RING);
}

/* ---- calls ---- */

static u64 deferred_env_received(struct deferred_env *d)
{
	struct smc_upgrade_tcp tcp;

	smc_deferred_get_tcp(d->smc, &tcp);
	return tcp.received;
}

/* The peer sends @len bytes over TCP; all are here afterwards. */
static void deferred_env_peer_sends(struct kunit *test, struct deferred_env *d, u32 len, int flags)
{
	u64 before = deferred_env_received(d);
	struct msghdr msg = { .msg_flags = flags };
	u8 buf[64];
	struct kvec vec = { .iov_base = buf, .iov_len = len };

	KUNIT_ASSERT_LE(test, len, sizeof(buf));
	memset(buf, flags & MSG_OOB ? 'u' : 't', sizeof(buf));
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(d->theirs, &msg, &vec, 1, len), len);
	KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(deferred_env_received(d) == before + len));
}

static int deferred_env_send(struct deferred_env *d, u32 len, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL };
	static const u8 buf[4096];
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = min_t(u32, len, sizeof(buf)) };

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, vec.iov_len);
	return smc_deferred_sendmsg(d->smc, &msg, vec.iov_len);
}

static int deferred_env_recv_msg(struct deferred_env *d, struct msghdr *msg, void *buf, u32 len,
				 int flags)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };

	iov_iter_kvec(&msg->msg_iter, ITER_DEST, &vec, 1, len);
	return smc_deferred_recvmsg(d->smc, msg, len, flags);
}

/* Return what a call gets that does not wait. */
static int deferred_env_recv(struct deferred_env *d, void *buf, u32 len, int flags)
{
	struct msghdr msg = {};

	return deferred_env_recv_msg(d, &msg, buf, len, flags | MSG_DONTWAIT);
}

static __poll_t deferred_env_poll(struct deferred_env *d)
{
	return smc_deferred_poll(d->smc, NULL);
}

/* The peer has sent FIN, or RST, and we know it. */
static bool deferred_env_wait_state(struct deferred_env *d, int state)
{
	return DEFERRED_WAIT(smc_clcsock_state(&d->smc->clcsock) == state);
}

static void deferred_env_peer_resets(struct kunit *test, struct deferred_env *d)
{
	sock_no_linger(d->theirs->sk);
	sock_release(d->theirs);
	d->theirs = NULL;
	KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(d, TCP_CLOSE));
}

/**
 * struct deferred_call - a call that sleeps
 * @d: case
 * @run: what it does
 * @buf: buffer
 * @len: bytes
 * @flags: MSG_*
 * @rc: its result
 * @done: it has returned
 */
struct deferred_call {
	struct deferred_env *d;
	int (*run)(struct deferred_call *call);
	u8 buf[64];
	u32 len;
	int flags;
	int rc;
	struct completion done;
};

static int deferred_call_recv(struct deferred_call *call)
{
	struct msghdr msg = {};

	return deferred_env_recv_msg(call->d, &msg, call->buf, call->len, call->flags);
}

static int deferred_call_thread(void *arg)
{
	struct deferred_call *call = arg;

	call->rc = call->run(call);
	kthread_complete_and_exit(&call->done, 0);
}

/* Begin a call; it sleeps. */
static void deferred_call_begin(struct kunit *test, struct deferred_env *d,
				struct deferred_call *call)
{
	call->d = d;
	init_completion(&call->done);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, kthread_run(deferred_call_thread, call, "smc_kunit"));
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&call->done));
}

/* Each of these calls ends by itself, if it is not woken. */
static int deferred_call_end(struct deferred_call *call)
{
	wait_for_completion(&call->done);
	return call->rc;
}

/* ---- sending: S ---- */

static u64 deferred_env_taken(struct deferred_env *d)
{
	struct sock *csk = d->smc->clcsock.sock->sk;
	u64 taken;

	lock_sock(csk);
	taken = smc_clcsock_get_taken(&d->smc->clcsock);
	release_sock(csk);
	return taken;
}

/* FIN is no byte, whoever closes first; TCP_CLOSE alone does not tell whether it was sent. */
static void deferred_fin(struct kunit *test)
{
	struct deferred_env d;
	int i;

	for (i = 0; i < 3; i++) {
		deferred_begin(test, &d);
		KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 100, 0), 100);
		if (i == 0) {
			KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
			KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE_WAIT));
			KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_WR), 0);
		} else if (i == 1) {
			KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_WR), 0);
			KUNIT_EXPECT_EQ_MSG(test, deferred_env_taken(&d), 100, "FIN was sent");
			KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
		} else {
			deferred_env_peer_resets(test, &d);
		}
		KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE));
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_taken(&d), 100, "row %d", i);
		deferred_end(&d);
	}
}

/* Both programs shut down while the request is undecided, then GO comes: S is what was sent. */
static void deferred_fin_s(struct kunit *test)
{
	struct deferred_env d;

	deferred_begin(test, &d);
	deferred_env_ask(test, &d, SMC_SERVER);
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 7, 0), 7);
	KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_WR), 0);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
	KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE));
	deferred_env_go(&d);
	KUNIT_EXPECT_TRUE(test, d.e.conn->upgrade->tx_known);
	KUNIT_EXPECT_EQ(test, d.e.conn->upgrade->tx_s, 7);
	deferred_end(&d);
}

/* A call is inside when the two ends agree; the next one that finds nobody shuts the gate. */
static void deferred_gate_inside(struct kunit *test)
{
	struct deferred_env d;
	struct sock *csk;

	deferred_begin(test, &d);
	csk = d.smc->clcsock.sock->sk;
	deferred_env_ask(test, &d, SMC_SERVER);
	d.smc->deferred->gate = 1;
	deferred_env_go(&d);
	KUNIT_EXPECT_FALSE(test, d.smc->deferred->ring);
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 5, 0), 5);
	KUNIT_EXPECT_FALSE(test, d.smc->deferred->ring);
	KUNIT_EXPECT_EQ(test, d.smc->deferred->gate, 1);
	set_bit(SOCK_NOSPACE, &d.smc->clcsock.sock->flags);
	atomic_set(&csk->sk_zckey, 3);
	d.smc->deferred->gate = 0;
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 4, 0), 4);
	KUNIT_EXPECT_TRUE(test, d.smc->deferred->ring);
	KUNIT_EXPECT_EQ(test, d.e.conn->upgrade->tx_s, 5);
	KUNIT_EXPECT_EQ(test, d.e.conn->tx.ring.prepared, 4);
	KUNIT_EXPECT_FALSE(test, test_bit(SOCK_NOSPACE, &d.smc->clcsock.sock->flags));
	KUNIT_EXPECT_EQ(test, atomic_read(&smc_sock_sk(d.smc)->sk_zckey), 3);
	deferred_end(&d);
}

/* The work shuts the gate of those who do not write, but it waits for nobody. */
static void deferred_gate_locked(struct kunit *test)
{
	struct deferred_env d;
	struct tcp_sock *tp;
	struct sock *csk;

	deferred_begin(test, &d);
	csk = d.smc->clcsock.sock->sk;
	tp = tcp_sk(csk);
	deferred_env_ask(test, &d, SMC_SERVER);
	lock_sock(csk);
	deferred_env_cdc(&d, SMC_CDC_EXT_GO, 0, 0, 0);
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(d.smc->deferred->ring));
	/* an urgent byte is on its way */
	tp->snd_up = tp->snd_una + 1;
	release_sock(csk);
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(d.smc->deferred->ring));
	lock_sock(csk);
	tp->snd_up = tp->snd_una;
	release_sock(csk);
	KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(READ_ONCE(d.smc->deferred->ring)));
	deferred_end(&d);
}

/*
 * The work has left the gate to a call, which finds an urgent byte unacknowledged when it leaves:
 * the work tries again.
 */
static void deferred_gate_urgent(struct kunit *test)
{
	struct deferred_env d;
	struct tcp_sock *tp;
	struct sock *csk;

	deferred_begin(test, &d);
	csk = d.smc->clcsock.sock->sk;
	tp = tcp_sk(csk);
	deferred_env_ask(test, &d, SMC_SERVER);
	d.smc->deferred->gate = 1;
	deferred_env_go(&d);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&d.smc->deferred->work));
	lock_sock(csk);
	tp->snd_up = tp->snd_una + 1;
	release_sock(csk);
	d.smc->deferred->gate = 0;
	/* TCP acknowledges nothing for a call without bytes */
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 0, 0), 0);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(d.smc->deferred->ring));
	lock_sock(csk);
	tp->snd_up = tp->snd_una;
	release_sock(csk);
	KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(READ_ONCE(d.smc->deferred->ring)));
	deferred_end(&d);
}

static bool deferred_space_in_ring;
static u32 deferred_spaces;

static void deferred_space_seen(struct sock *sk)
{
	deferred_space_in_ring = READ_ONCE(smc_sk(sk)->deferred->ring);
	deferred_spaces++;
}

/* Who waits for room of TCP is woken when poll() answers for the ring, and not before only. */
static void deferred_gate_wakes(struct kunit *test)
{
	void (*saved)(struct sock *sk);
	struct deferred_env d;
	struct sock *sk;

	deferred_begin(test, &d);
	sk = smc_sock_sk(d.smc);
	deferred_env_ask(test, &d, SMC_SERVER);
	d.smc->deferred->gate = 1;
	deferred_env_go(&d);
	set_bit(SOCK_NOSPACE, &d.smc->clcsock.sock->flags);
	saved = sk->sk_write_space;
	deferred_spaces = 0;
	sk->sk_write_space = deferred_space_seen;
	d.smc->deferred->gate = 0;
	smc_deferred_queue_work(d.smc);
	deferred_env_flush(&d);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(d.smc->deferred->ring));
	KUNIT_EXPECT_GT(test, deferred_spaces, 0);
	KUNIT_EXPECT_TRUE(test, deferred_space_in_ring);
	KUNIT_EXPECT_FALSE(test, test_bit(SOCK_NOSPACE, &d.smc->clcsock.sock->flags));
	KUNIT_EXPECT_TRUE(test, test_bit(SOCK_NOSPACE, &d.sock->flags));
	sk->sk_write_space = saved;
	deferred_end(&d);
}

static bool deferred_push_locked;
static u32 deferred_pushed;

static void deferred_push_seen(struct sock *sk)
{
	deferred_push_locked = sock_owned_by_user_nocheck(smc_sock_sk(deferred_current->smc));
	deferred_pushed++;
}

/* TCP has a corked tail when a call shuts the gate: no setsockopt() comes between push and undo. */
static void deferred_push(struct kunit *test)
{
	struct deferred_env d;
	struct tcp_sock *tp;
	struct sock *sk;

	deferred_begin(test, &d);
	sk = d.theirs->sk;
	tp = tcp_sk(d.smc->clcsock.sock->sk);
	smc_clcsock_set_cork(&d.smc->clcsock, true);
	deferred_env_ask(test, &d, SMC_SERVER);
	d.smc->deferred->gate = 1;
	deferred_env_go(&d);
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 5, 0), 5);
	KUNIT_EXPECT_TRUE(test, smc_clcsock_has_unsent(&d.smc->clcsock));
	write_lock_bh(&sk->sk_callback_lock);
	deferred_pushed = 0;
	sk->sk_data_ready = deferred_push_seen;
	write_unlock_bh(&sk->sk_callback_lock);
	d.smc->deferred->gate = 0;
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 4, 0), 4);
	KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(READ_ONCE(deferred_pushed)));
	KUNIT_EXPECT_TRUE(test, deferred_push_locked);
	KUNIT_EXPECT_EQ(test, tp->nonagle & (TCP_NAGLE_OFF | TCP_NAGLE_CORK), TCP_NAGLE_CORK);
	KUNIT_EXPECT_FALSE(test, sock_owned_by_user_nocheck(smc_sock_sk(d.smc)));
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = smc_clcsock_tcp_callbacks()->data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	deferred_end(&d);
}

/* ---- receiving ---- */

/* FIN before the decision is no end: the client may have meant the ring to follow. */
static void deferred_undecided_eof(struct kunit *test)
{
	struct deferred_env d;
	u8 byte;
	int i;

	for (i = 0; i < 3; i++) {
		deferred_begin(test, &d);
		deferred_env_ask(test, &d, SMC_SERVER);
		KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
		KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE_WAIT));
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_poll(&d) & END_BITS, 0, "row %d", i);
		KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_WR), 0);
		KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE));
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_recv(&d, &byte, 1, 0), -EAGAIN, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_poll(&d) & END_BITS, 0, "row %d", i);
		if (i == 0) {
			smc_conn_upgrade_step(d.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
		} else {
			deferred_env_go(&d);
			/* ... behind the bytes of the ring, if there are any */
			deferred_env_cdc(&d, SMC_CDC_EXT_S, 0, i - 1, SMC_CDC_S_DONE);
		}
		deferred_env_flush(&d);
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_poll(&d) & IN_BITS, IN_BITS, "row %d", i);
		if (i == 2)
			KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0), 1);
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_recv(&d, &byte, 1, 0), 0, "row %d", i);
		deferred_end(&d);
	}
}

/* A reader that sleeps meanwhile. */
static void deferred_undecided_sleeper(struct kunit *test)
{
	struct deferred_call call = { .run = deferred_call_recv, .len = 1 };
	struct deferred_env d;

	deferred_begin(test, &d);
	deferred_env_ask(test, &d, SMC_SERVER);
	KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_WR), 0);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
	KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE));
	deferred_call_begin(test, &d, &call);
	smc_conn_upgrade_step(d.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
	KUNIT_EXPECT_EQ(test, deferred_call_end(&call), 0);
	deferred_end(&d);
}

/* A call for no bytes waits for one, in TCP, behind S, and in the ring. */
static void deferred_len0(struct kunit *test)
{
	static const int flags[] = { 0, MSG_PEEK };
	struct deferred_call call;
	struct deferred_env d;
	u8 byte;
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		deferred_begin(test, &d);
		call = (struct deferred_call){ .run = deferred_call_recv, .flags = flags[i] };
		deferred_call_begin(test, &d, &call);
		deferred_env_peer_sends(test, &d, 1, 0);
		KUNIT_EXPECT_EQ_MSG(test, deferred_call_end(&call), 0, "row %d", i);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0), 1);
		KUNIT_EXPECT_EQ(test, byte, 't');
		deferred_end(&d);

		deferred_begin_agreed(test, &d);
		call = (struct deferred_call){ .run = deferred_call_recv, .flags = flags[i] };
		deferred_call_begin(test, &d, &call);
		deferred_env_s(&d, 0, 1);
		KUNIT_EXPECT_EQ_MSG(test, deferred_call_end(&call), 0, "row %d", i);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0), 1);
		KUNIT_EXPECT_EQ(test, byte, 'r');
		deferred_end(&d);
	}
}

/* A reader asleep before S is known gets what the ring has. */
static void deferred_reader_asleep(struct kunit *test)
{
	struct deferred_call call = { .run = deferred_call_recv, .len = 64 };
	struct deferred_env d;

	deferred_begin_agreed(test, &d);
	deferred_call_begin(test, &d, &call);
	deferred_env_s(&d, 0, 10);
	KUNIT_EXPECT_EQ(test, deferred_call_end(&call), 10);
	KUNIT_EXPECT_EQ(test, call.buf[9], 'r');
	deferred_end(&d);
}

/* Bytes of the ring are invisible until TCP has received all before S. */
static void deferred_tail(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	deferred_env_peer_sends(test, &d, 3, 0);
	deferred_env_s(&d, 8, 10);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 3);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -EAGAIN);
	deferred_env_peer_sends(test, &d, 5, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), MSG_PEEK), 15);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 15);
	KUNIT_EXPECT_EQ(test, buf[4], 't');
	KUNIT_EXPECT_EQ(test, buf[5], 'r');
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, 0);
	deferred_end(&d);
}

/* That the two ends have agreed is noticed by a call, which waits for all of its bytes. */
static void deferred_waitall(struct kunit *test)
{
	struct deferred_call call = {
		.run = deferred_call_recv, .len = 10, .flags = MSG_WAITALL,
	};
	struct deferred_env d;

	deferred_begin(test, &d);
	deferred_env_peer_sends(test, &d, 3, 0);
	deferred_env_ask(test, &d, SMC_SERVER);
	d.deaf = true;
	deferred_env_go(&d);
	deferred_env_s(&d, 3, 2);
	KUNIT_EXPECT_NULL(test, d.smc->conn);
	deferred_call_begin(test, &d, &call);
	d.deaf = false;
	deferred_env_cdc(&d, 0, 0, 7, 0);
	KUNIT_EXPECT_EQ(test, deferred_call_end(&call), 10);
	deferred_end(&d);
}

/* A bad end while bytes of TCP are missing: what is there, the error once, then the end. */
static void deferred_tail_lost(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	deferred_env_peer_sends(test, &d, 3, 0);
	deferred_env_s(&d, 8, 0);
	deferred_env_flush(&d);
	/* so that the clcsock is not reset meanwhile */
	d.deaf = true;
	deferred_env_cdc(&d, 0, 0, 0, SMC_CDC_S_ABORT);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 3);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
	d.deaf = false;
	deferred_end(&d);
	/* the same on TCP while nothing is agreed */
	deferred_begin(test, &d);
	deferred_env_ask(test, &d, SMC_SERVER);
	deferred_env_peer_resets(test, &d);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
	deferred_end(&d);
}

/* A reset of the clcsock waits for a reader, for ever if the peer has aborted. */
static void deferred_tail_reset(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];
	int i;

	for (i = 0; i < 2; i++) {
		deferred_begin_agreed(test, &d);
		deferred_env_peer_sends(test, &d, 3, 0);
		deferred_env_s(&d, 8, 0);
		deferred_env_cdc(&d, 0, 0, 0, SMC_CDC_S_ABORT);
		KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(smc_conn_is_broken(d.e.conn)));
		deferred_env_flush(&d);
		/* the peer knows: for as long as the program takes */
		msleep(i ? 3000 : QUIET_MS);
		KUNIT_EXPECT_NE(test, smc_clcsock_state(&d.smc->clcsock), TCP_CLOSE);
		KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 3);
		KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE));
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -ECONNRESET,
				    "row %d", i);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
		deferred_end(&d);
	}
}

/*
 * TCP has all bytes before S, and nobody reads them. This end aborts, and the peer may know by RST
 * alone, which destroys them after a while: neither the bytes of the ring nor the end, which are
 * behind them, are read.
 */
static void deferred_reset_unread(struct kunit *test)
{
	static const struct {
		u32 ring;
		u8 state;
	} rows[] = {
		{ 10, 0 }, { 0, SMC_CDC_S_DONE }, { 10, SMC_CDC_S_DONE },
	};
	struct deferred_env d;
	u8 buf[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		deferred_begin_agreed(test, &d);
		deferred_env_peer_sends(test, &d, 3, 0);
		deferred_env_cdc(&d, SMC_CDC_EXT_S, 3, rows[i].ring, rows[i].state);
		smc_conn_abort(d.e.conn, ECONNABORTED);
		KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(smc_conn_is_broken(d.e.conn)));
		deferred_env_flush(&d);
		KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE));
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -ECONNABORTED,
				    "row %u", i);
		KUNIT_EXPECT_LE(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
		KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & EPOLLIN, EPOLLIN);
		deferred_end(&d);
	}
}

/* Both directions have ended in good order, and bytes of TCP are missing: they come. */
static void deferred_tail_of_end(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	deferred_env_peer_sends(test, &d, 3, 0);
	KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_WR), 0);
	deferred_env_cdc(&d, SMC_CDC_EXT_S, 8, 0, SMC_CDC_S_DONE);
	KUNIT_EXPECT_EQ(test, smc_conn_state(d.e.conn), SMC_CONN_PEERCLOSEWAIT2_D);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 3);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & END_BITS, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -EAGAIN);
	deferred_env_peer_sends(test, &d, 5, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	deferred_env_flush(&d);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 5);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
	deferred_end(&d);
}

/* SO_RCVLOWAT across S. */
static void deferred_lowat(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	WRITE_ONCE(smc_sock_sk(d.smc)->sk_rcvlowat, 8);
	deferred_env_peer_sends(test, &d, 3, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, 0);
	deferred_env_s(&d, 3, 4);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, 0);
	deferred_env_cdc(&d, 0, 0, 5, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 8);
	deferred_end(&d);
}

/* The last byte of TCP is urgent and not in line: a read passes over it, to the ring. */
static void deferred_urgent_border(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];
	int i;

	/* row 0: ring, 1: nothing behind it, 2: peek, 3: FIN as well */
	for (i = 0; i < 4; i++) {
		u32 ring = i == 1 ? 0 : 10;

		deferred_begin_agreed(test, &d);
		deferred_env_peer_sends(test, &d, 4, 0);
		deferred_env_peer_sends(test, &d, 1, MSG_OOB);
		if (i == 3)
			KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
		if (i == 3)
			KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE_WAIT));
		deferred_env_cdc(&d, SMC_CDC_EXT_S, 5, ring, i == 3 ? SMC_CDC_S_DONE : 0);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 4);
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_poll(&d) & (EPOLLPRI | IN_BITS),
				    EPOLLPRI | (ring ? IN_BITS : 0), "row %d", i);
		if (i == 2)
			KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), MSG_PEEK),
					10);
		KUNIT_EXPECT_EQ_MSG(test, deferred_env_recv(&d, buf, sizeof(buf), 0),
				    ring ? 10 : -EAGAIN, "row %d", i);
		if (i == 3)
			KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
		deferred_end(&d);
	}
}

/*
 * ... to bytes that the peer has sent before a reset, too, and so does the error of TCP, which has
 * passed over the byte.
 */
static void deferred_urgent_abort(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];
	int reset;

	for (reset = 0; reset < 2; reset++) {
		deferred_begin_agreed(test, &d);
		deferred_env_peer_sends(test, &d, 4, 0);
		deferred_env_peer_sends(test, &d, 1, MSG_OOB);
		deferred_env_s(&d, 5, 10);
		deferred_env_flush(&d);
		/* so that the clcsock is not reset meanwhile */
		d.deaf = true;
		if (reset)
			deferred_env_peer_resets(test, &d);
		deferred_env_cdc(&d, 0, 0, 10, SMC_CDC_S_ABORT);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 4);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 10);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), -ECONNRESET);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 0);
		d.deaf = false;
		deferred_end(&d);
	}
}

/* A call for no bytes sleeps until there is a byte that it can wait for: the urgent one is none. */
static void deferred_urgent_no_bytes(struct kunit *test)
{
	struct deferred_call call = { .run = deferred_call_recv };
	struct deferred_env d;

	deferred_begin_agreed(test, &d);
	deferred_env_peer_sends(test, &d, 1, MSG_OOB);
	deferred_call_begin(test, &d, &call);
	deferred_env_s(&d, 1, 10);
	KUNIT_EXPECT_EQ(test, deferred_call_end(&call), 0);
	deferred_end(&d);
}

/* Before the decision it is no byte that a reader gets, and FIN behind it is none either. */
static void deferred_undecided_urgent(struct kunit *test)
{
	struct deferred_env d;
	u8 byte;

	deferred_begin(test, &d);
	deferred_env_ask(test, &d, SMC_SERVER);
	deferred_env_peer_sends(test, &d, 1, MSG_OOB);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(d.theirs, SHUT_WR), 0);
	KUNIT_EXPECT_TRUE(test, deferred_env_wait_state(&d, TCP_CLOSE_WAIT));
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & (EPOLLPRI | END_BITS), EPOLLPRI);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 0, MSG_PEEK), -EAGAIN);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 0, 0), -EAGAIN);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, MSG_PEEK), -EAGAIN);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & END_BITS, 0);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0), -EAGAIN);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & END_BITS, 0);
	smc_conn_upgrade_step(d.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
	deferred_env_flush(&d);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0), 0);
	deferred_end(&d);
}

/* A call that peeks behind the bytes before it goes on to the ring. */
static void deferred_urgent_peek_off(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	if (smc_sockopt_set_peek_off(smc_sock_sk(d.smc), 0) == -EOPNOTSUPP) {
		deferred_end(&d);
		return;
	}
	deferred_env_peer_sends(test, &d, 4, 0);
	deferred_env_peer_sends(test, &d, 1, MSG_OOB);
	deferred_env_s(&d, 5, 10);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), MSG_PEEK), 4);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), MSG_PEEK), 10);
	KUNIT_EXPECT_EQ(test, buf[0], 'r');
	deferred_end(&d);
}

/* In line it is a byte like others; the call that has read up to it ends there. */
static void deferred_urgent_in_line(struct kunit *test)
{
	struct deferred_env d;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	sock_set_flag(d.smc->clcsock.sock->sk, SOCK_URGINLINE);
	sock_set_flag(smc_sock_sk(d.smc), SOCK_URGINLINE);
	deferred_env_peer_sends(test, &d, 4, 0);
	deferred_env_peer_sends(test, &d, 1, MSG_OOB);
	deferred_env_s(&d, 5, 10);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 4);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & IN_BITS, IN_BITS);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, sizeof(buf), 0), 11);
	KUNIT_EXPECT_EQ(test, buf[0], 'u');
	KUNIT_EXPECT_EQ(test, buf[1], 'r');
	deferred_end(&d);
}

/* SO_PEEK_OFF counts through both; notifications and urgent data do not move it. */
static void deferred_peek_off(struct kunit *test)
{
	struct deferred_env d;
	struct sock *sk;
	u8 buf[32];

	deferred_begin_agreed(test, &d);
	sk = smc_sock_sk(d.smc);
	if (smc_sockopt_set_peek_off(sk, 2) == -EOPNOTSUPP) {
		deferred_end(&d);
		return;
	}
	deferred_env_peer_sends(test, &d, 4, 0);
	deferred_env_s(&d, 4, 4);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, 3, MSG_PEEK), 3);
	KUNIT_EXPECT_EQ(test, buf[1], 't');
	KUNIT_EXPECT_EQ(test, buf[2], 'r');
	KUNIT_EXPECT_EQ(test, sk->sk_peek_off, 5);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, 3, MSG_PEEK), 3);
	KUNIT_EXPECT_EQ(test, sk->sk_peek_off, 8);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, 1, MSG_ERRQUEUE), -EAGAIN);
	KUNIT_EXPECT_EQ(test, sk->sk_peek_off, 8);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, 1, MSG_OOB), -EINVAL);
	KUNIT_EXPECT_EQ(test, sk->sk_peek_off, 8);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, buf, 4, 0), 4);
	KUNIT_EXPECT_EQ(test, sk->sk_peek_off, 4);
	deferred_end(&d);
}

/* Control messages of a call: TCP_INQ, -1: none; a time stamp. */
static void deferred_expect_control(struct kunit *test, struct deferred_env *d, u32 len, int inq)
{
	u8 control[256] __aligned(8), buf[32];
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct msghdr got = { .msg_control = control };
	struct cmsghdr *c;
	int n = -1, stamps = 0;

	KUNIT_EXPECT_EQ(test, deferred_env_recv_msg(d, &msg, buf, len, MSG_DONTWAIT), len);
	got.msg_controllen = sizeof(control) - msg.msg_controllen;
	for_each_cmsghdr(c, &got) {
		if (c->cmsg_level == SOL_TCP && c->cmsg_type == TCP_CM_INQ)
			memcpy(&n, CMSG_DATA(c), sizeof(n));
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMP_OLD)
			stamps++;
	}
	KUNIT_EXPECT_EQ_MSG(test, n, inq, "%u bytes", len);
	KUNIT_EXPECT_EQ_MSG(test, stamps, 1, "%u bytes", len);
	KUNIT_EXPECT_EQ(test, msg.msg_flags & MSG_CTRUNC, 0);
}

static u64 deferred_queue(struct deferred_env *d, unsigned int cmd)
{
	bool known = false;
	int n = smc_deferred_get_queue(d->smc, cmd, &known);

	return known ? n : U64_MAX;
}

/* What is left is the sum of both; the time stamp is that of the last byte. */
static void deferred_inq(struct kunit *test)
{
	struct deferred_env d;
	int one = 1;
	u64 calls;

	deferred_begin_agreed(test, &d);
	KUNIT_ASSERT_EQ(test, smc_sockopt_set(d.smc, d.sock, SOL_SOCKET, SO_TIMESTAMP_OLD,
					      KERNEL_SOCKPTR(&one), sizeof(one), true), 0);
	KUNIT_ASSERT_EQ(test, smc_sockopt_set(d.smc, d.sock, SOL_TCP, TCP_INQ,
					      KERNEL_SOCKPTR(&one), sizeof(one), true), 0);
	/* a work of the core switches time stamps on */
	msleep(QUIET_MS);
	deferred_env_peer_sends(test, &d, 4, 0);
	deferred_expect_control(test, &d, 1, 3);
	deferred_env_s(&d, 4, 5);
	KUNIT_EXPECT_EQ(test, deferred_queue(&d, SIOCINQ), 8);
	KUNIT_EXPECT_EQ(test, deferred_queue(&d, SIOCATMARK), 0);
	calls = smc_stats_get(&init_net, SMC_STAT_RX_CNT);
	deferred_expect_control(test, &d, 2, 6);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_CNT), calls);
	deferred_expect_control(test, &d, 4, 2);
	KUNIT_EXPECT_EQ(test, smc_stats_get(&init_net, SMC_STAT_RX_CNT), calls + 1);
	deferred_expect_control(test, &d, 2, 0);
	deferred_end(&d);
}

/* Before the end of the stream TCP_INQ is 1, but not one more than there is. */
static void deferred_inq_end(struct kunit *test)
{
	struct deferred_env d;
	int one = 1;

	deferred_begin_agreed(test, &d);
	KUNIT_ASSERT_EQ(test, smc_sockopt_set(d.smc, d.sock, SOL_SOCKET, SO_TIMESTAMP_OLD,
					      KERNEL_SOCKPTR(&one), sizeof(one), true), 0);
	KUNIT_ASSERT_EQ(test, smc_sockopt_set(d.smc, d.sock, SOL_TCP, TCP_INQ,
					      KERNEL_SOCKPTR(&one), sizeof(one), true), 0);
	msleep(QUIET_MS);
	deferred_env_peer_sends(test, &d, 4, 0);
	deferred_env_cdc(&d, SMC_CDC_EXT_S, 4, 0, SMC_CDC_S_DONE);
	deferred_expect_control(test, &d, 2, 2);
	deferred_expect_control(test, &d, 2, 1);
	deferred_end(&d);
}

/* ---- errors, exclusion, connect(AF_UNSPEC) ---- */

/* Take the errors that a program gets, for longer than a reset waits. Return how many. */
static u32 deferred_count_errors(struct deferred_env *d, int err)
{
	unsigned long end = jiffies + HZ / 2;
	u32 n = 0, others = 0;
	int rc;

	do {
		rc = sock_error(smc_sock_sk(d->smc));
		n += rc == -err;
		others += rc && rc != -err;
		usleep_range(1000, 2000);
	} while (time_before(jiffies, end));
	return n + 100 * others;
}

/* RST: before GO, when GO was not noticed, and afterwards. The program learns of it once. */
static void deferred_error_once(struct kunit *test)
{
	struct deferred_env d;
	int i;

	for (i = 0; i < 3; i++) {
		deferred_begin(test, &d);
		deferred_env_ask(test, &d, SMC_SERVER);
		d.deaf = i == 1;
		if (i)
			deferred_env_go(&d);
		KUNIT_EXPECT_PTR_EQ(test, d.smc->conn, i == 2 ? d.e.conn : NULL);
		deferred_env_peer_resets(test, &d);
		d.deaf = false;
		if (!i) {
			deferred_env_flush(&d);
			deferred_env_go(&d);
		}
		KUNIT_EXPECT_EQ_MSG(test, deferred_count_errors(&d, ECONNRESET), 1, "row %d", i);
		KUNIT_EXPECT_FALSE(test, smc_conn_state_may_send(smc_conn_state(d.e.conn)));
		deferred_end(&d);
	}
}

/* A writer inside TCP gets the error of TCP: the connection does not report it again. */
static void deferred_error_writer(struct kunit *test)
{
	struct deferred_env d;

	deferred_begin(test, &d);
	deferred_env_ask(test, &d, SMC_SERVER);
	/* so that the gate stays open */
	d.smc->deferred->gate = 1;
	deferred_env_go(&d);
	KUNIT_EXPECT_PTR_EQ(test, d.smc->conn, d.e.conn);
	deferred_env_peer_resets(test, &d);
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 4, MSG_DONTWAIT), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, deferred_count_errors(&d, ECONNRESET), 0);
	KUNIT_EXPECT_FALSE(test, smc_conn_state_may_send(smc_conn_state(d.e.conn)));
	KUNIT_EXPECT_EQ(test, deferred_env_send(&d, 4, MSG_DONTWAIT), -EPIPE);
	d.smc->deferred->gate = 0;
	deferred_end(&d);
}

/* A time-out of TCP after all that it had to carry means nothing. */
static void deferred_error_moot(struct kunit *test)
{
	struct deferred_env d;

	deferred_begin_agreed(test, &d);
	deferred_env_s(&d, 0, 0);
	smc_conn_upgrade_look(d.e.conn);
	tcp_abort(d.smc->clcsock.sock->sk, ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, deferred_count_errors(&d, ETIMEDOUT), 0);
	KUNIT_EXPECT_EQ(test, smc_conn_state(d.e.conn), SMC_CONN_ACTIVE);
	deferred_end(&d);
}

static void deferred_no_callback(struct sock *sk)
{
}

/*
 * poll() takes the error of TCP before the callback comes that tells of it: the connection has to
 * know nevertheless.
 */
static void deferred_error_taken(struct kunit *test)
{
	struct smc_clcsock_callbacks cb;
	struct deferred_env d;
	struct sock *csk;

	deferred_begin(test, &d);
	csk = d.smc->clcsock.sock->sk;
	deferred_env_ask(test, &d, SMC_SERVER);
	write_lock_bh(&csk->sk_callback_lock);
	cb.state_change = csk->sk_state_change;
	cb.error_report = csk->sk_error_report;
	csk->sk_state_change = deferred_no_callback;
	csk->sk_error_report = deferred_no_callback;
	write_unlock_bh(&csk->sk_callback_lock);
	deferred_env_peer_resets(test, &d);
	KUNIT_EXPECT_EQ(test, deferred_env_poll(&d) & EPOLLERR, EPOLLERR);
	write_lock_bh(&csk->sk_callback_lock);
	csk->sk_state_change = cb.state_change;
	csk->sk_error_report = cb.error_report;
	write_unlock_bh(&csk->sk_callback_lock);
	KUNIT_EXPECT_EQ(test, sock_error(smc_sock_sk(d.smc)), -ECONNRESET);
	lock_sock(csk);
	csk->sk_state_change(csk);
	release_sock(csk);
	deferred_env_flush(&d);
	KUNIT_EXPECT_EQ(test, d.e.conn->upgrade->fsm.agree, SMC_UPGRADE_FAILED);
	deferred_end(&d);
}

static int deferred_call_exclude(struct deferred_call *call)
{
	return smc_deferred_exclude(call->d->smc, true);
}

/* An option that excludes SMC, on a server that waits for the client. */
static void deferred_exclude_server(struct kunit *test)
{
	struct deferred_call call;
	struct deferred_env d;
	u8 byte;
	int i;

	for (i = 0; i < 2; i++) {
		deferred_begin(test, &d);
		deferred_env_ask(test, &d, SMC_SERVER);
		KUNIT_EXPECT_EQ(test, smc_deferred_exclude(d.smc, false), -EAGAIN);
		KUNIT_EXPECT_EQ(test, smc_sock_mode(d.smc), SMC_MODE_DEFERRED);
		KUNIT_EXPECT_FALSE(test, d.smc->deferred->closed);
		KUNIT_EXPECT_FALSE(test, d.smc->deferred->cancel);
		call = (struct deferred_call){ .run = deferred_call_exclude };
		deferred_call_begin(test, &d, &call);
		if (i)
			deferred_env_go(&d);
		else
			smc_conn_upgrade_step(d.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
		KUNIT_EXPECT_EQ(test, deferred_call_end(&call), i ? -EOPNOTSUPP : 0);
		KUNIT_EXPECT_EQ(test, smc_sock_mode(d.smc),
				i ? SMC_MODE_DEFERRED : SMC_MODE_TCP);
		KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0),
				i ? -EAGAIN : SMC_DEFERRED_OVER);
		deferred_end(&d);
	}
	deferred_begin(test, &d);
	/* a request is judged, which goes on */
	WRITE_ONCE(d.smc->deferred->busy, true);
	KUNIT_EXPECT_EQ(test, smc_deferred_exclude(d.smc, false), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, d.smc->deferred->closed);
	KUNIT_EXPECT_FALSE(test, d.smc->deferred->cancel);
	WRITE_ONCE(d.smc->deferred->busy, false);
	/* nothing is under way */
	KUNIT_EXPECT_EQ(test, smc_deferred_exclude(d.smc, false), 0);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(d.smc), SMC_MODE_TCP);
	KUNIT_EXPECT_EQ(test, deferred_env_recv(&d, &byte, 1, 0), SMC_DEFERRED_OVER);
	deferred_end(&d);
}

/* ... and on a client, which withdraws; a sleeping reader looks at the mode again. */
static void deferred_exclude_client(struct kunit *test)
{
	struct deferred_call call = { .run = deferred_call_recv, .len = 1 };
	struct deferred_env d;

	deferred_begin(test, &d);
	deferred_env_ask(test, &d, SMC_CLIENT);
	KUNIT_EXPECT_EQ(test, d.llc, SMC_UPGRADE_ACT_SEND_REQUEST);
	deferred_call_begin(test, &d, &call);
	KUNIT_EXPECT_EQ(test, smc_deferred_exclude(d.smc, false), 0);
	KUNIT_EXPECT_EQ(test, deferred_call_end(&call), SMC_DEFERRED_OVER);
	KUNIT_EXPECT_EQ(test, smc_sock_mode(d.smc), SMC_MODE_TCP);
	flush_delayed_work(&d.e.conn->work);
	KUNIT_EXPECT_EQ(test, d.llc & SMC_UPGRADE_ACT_SEND_WITHDRAWAL,
			SMC_UPGRADE_ACT_SEND_WITHDRAWAL);
	smc_conn_upgrade_step(d.e.conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
	deferred_end(&d);
}

static int deferred_call_send(struct deferred_call *call)
{
	int rc;

	do
		rc = deferred_env_send(call->d, call->len, call->flags);
	while (rc > 0);
	return rc;
}

/* As sock_disconnect(). Return sk_shutdown. */
static int deferred_env_disconnect(struct deferred_env *d)
{
	struct sock *sk = smc_sock_sk(d->smc);
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int shutdown;

	lock_sock(sk);
	smc_deferred_disconnect(d->smc);
	smc_fallback_connect(d->smc, &none, sizeof(none), 0);
	shutdown = sk->sk_shutdown;
	release_sock(sk);
	return shutdown;
}

/*
 * connect(AF_UNSPEC) after the agreement: as in SMC mode a sleeping writer gets ECONNRESET, once,
 * also if TCP has ended before.
 */
static void deferred_disconnect(struct kunit *test)
{
	struct deferred_call writer, reader;
	struct deferred_env d;
	struct sock *sk;
	int i;

	for (i = 0; i < 2; i++) {
		deferred_begin_agreed(test, &d);
		sk = smc_sock_sk(d.smc);
		if (i) {
			deferred_env_s(&d, 0, 0);
			smc_conn_upgrade_look(d.e.conn);
			tcp_abort(d.smc->clcsock.sock->sk, ETIMEDOUT);
			deferred_env_flush(&d);
		}
		KUNIT_EXPECT_EQ(test, inet_sk_state_load(sk), TCP_ESTABLISHED);
		KUNIT_EXPECT_EQ(test, smc_deferred_shutdown(d.smc, SHUT_RD), 0);
		writer = (struct deferred_call){ .run = deferred_call_send, .len = 4096 };
		deferred_call_begin(test, &d, &writer);
		KUNIT_EXPECT_EQ(test, deferred_env_disconnect(&d), 0);
		KUNIT_EXPECT_EQ(test, inet_sk_state_load(sk), TCP_CLOSE);
		KUNIT_EXPECT_EQ_MSG(test, deferred_call_end(&writer), -ECONNRESET, "row %d", i);
		KUNIT_EXPECT_EQ(test, sk->sk_err, 0);
		KUNIT_EXPECT_EQ(test, smc_clcsock_state(&d.smc->clcsock), TCP_CLOSE);
		KUNIT_EXPECT_EQ(test, smc_sock_mode(d.smc), SMC_MODE_TCP);
		deferred_end(&d);
	}
	deferred_begin_agreed(test, &d);
	reader = (struct deferred_call){ .run = deferred_call_recv, .len = 1 };
	deferred_call_begin(test, &d, &reader);
	deferred_env_disconnect(&d);
	KUNIT_EXPECT_EQ(test, deferred_call_end(&reader), SMC_DEFERRED_OVER);
	KUNIT_EXPECT_EQ(test, sock_error(smc_sock_sk(d.smc)), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, sock_error(smc_sock_sk(d.smc)), 0);
	deferred_end(&d);
}

/* ---- close ---- */

/* The TCP socket has ended by FIN: what the peer sends now is answered by RST. */
static void deferred_expect_refused(struct kunit *test, struct deferred_env *d)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = "!", .iov_len = 1 };

	KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(inet_sk_state_load(d->theirs->sk) == TCP_CLOSE_WAIT));
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(d->theirs, &msg, &vec, 1, 1), 1);
	KUNIT_EXPECT_TRUE(test, DEFERRED_WAIT(inet_sk_state_load(d->theirs->sk) == TCP_CLOSE));
}

/*
 * What close() does to TCP: RST if bytes are unread on either side of S, else the orphan has it,
 * but for a client whose request is undecided.
 */
static void deferred_close(struct kunit *test)
{
	static const struct {
		const char *name;
		u32 tcp, ring;
		bool client, linger0, go, abort;
	} rows[] = {
		{ "undecided", .go = false },
		{ "undecided, client", .client = true },
		{ "tail unread", .tcp = 1, .go = true, .abort = true },
		{ "ring unread", .ring = 1, .go = true, .abort = true },
		{ "linger 0", .linger0 = true, .go = true, .abort = true },
		{ "clean", .go = true },
	};
	struct deferred_env d;
	struct smc_conn *conn;
	bool abort;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		deferred_begin(test, &d);
		deferred_env_ask(test, &d, rows[i].client ? SMC_CLIENT : SMC_SERVER);
		conn = d.e.conn;
		if (rows[i].tcp)
			deferred_env_peer_sends(test, &d, rows[i].tcp, 0);
		if (rows[i].go) {
			deferred_env_go(&d);
			deferred_env_s(&d, rows[i].tcp, rows[i].ring);
		}
		if (rows[i].linger0) {
			sock_set_flag(smc_sock_sk(d.smc), SOCK_LINGER);
			smc_sock_sk(d.smc)->sk_lingertime = 0;
		}
		abort = smc_deferred_close(d.smc, false, false);
		KUNIT_EXPECT_EQ_MSG(test, abort, rows[i].abort, "%s", rows[i].name);
		KUNIT_EXPECT_NULL(test, d.smc->conn);
		KUNIT_EXPECT_NULL(test, d.smc->deferred->conn);
		KUNIT_EXPECT_NULL(test, conn->owner);
		/* the connection has the clcsock, and ends it when it is time */
		KUNIT_EXPECT_NULL_MSG(test, d.smc->clcsock.sock, "%s", rows[i].name);
		KUNIT_EXPECT_FALSE(test, delayed_work_pending(&d.smc->deferred->work));
		if (!rows[i].go)
			KUNIT_EXPECT_EQ_MSG(test, !conn->orphan, rows[i].client, "%s",
					    rows[i].name);
		if (rows[i].client) {
			deferred_expect_refused(test, &d);
			smc_conn_upgrade_step(conn, SMC_UPGRADE_EV_PEER_WITHDRAWN);
		}
		deferred_end(&d);
	}
}

static struct kunit_case deferred_cases[] = {
	KUNIT_CASE(deferred_fin),
	KUNIT_CASE(deferred_fin_s),
	KUNIT_CASE(deferred_gate_inside),
	KUNIT_CASE(deferred_gate_locked),
	KUNIT_CASE(deferred_gate_urgent),
	KUNIT_CASE(deferred_gate_wakes),
	KUNIT_CASE(deferred_push),
	KUNIT_CASE(deferred_undecided_eof),
	KUNIT_CASE(deferred_undecided_sleeper),
	KUNIT_CASE(deferred_len0),
	KUNIT_CASE(deferred_reader_asleep),
	KUNIT_CASE(deferred_tail),
	KUNIT_CASE(deferred_waitall),
	KUNIT_CASE(deferred_tail_lost),
	KUNIT_CASE_SLOW(deferred_tail_reset),
	KUNIT_CASE_SLOW(deferred_reset_unread),
	KUNIT_CASE(deferred_tail_of_end),
	KUNIT_CASE(deferred_lowat),
	KUNIT_CASE(deferred_urgent_border),
	KUNIT_CASE(deferred_urgent_abort),
	KUNIT_CASE(deferred_urgent_no_bytes),
	KUNIT_CASE(deferred_undecided_urgent),
	KUNIT_CASE(deferred_urgent_peek_off),
	KUNIT_CASE(deferred_urgent_in_line),
	KUNIT_CASE(deferred_peek_off),
	KUNIT_CASE(deferred_inq),
	KUNIT_CASE(deferred_inq_end),
	KUNIT_CASE_SLOW(deferred_error_once),
	KUNIT_CASE_SLOW(deferred_error_writer),
	KUNIT_CASE(deferred_error_moot),
	KUNIT_CASE(deferred_error_taken),
	KUNIT_CASE(deferred_exclude_server),
	KUNIT_CASE(deferred_exclude_client),
	KUNIT_CASE(deferred_disconnect),
	KUNIT_CASE(deferred_close),
	{}
};

struct kunit_suite smc_deferred_suite = {
	.name = "smc_deferred",
	.init = env_init,
	.exit = env_exit,
	.test_cases = deferred_cases,
};
