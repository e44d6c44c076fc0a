// SPDX-License-Identifier: GPL-2.0-only
/* Environment of the suites of connections, see conn_env.h. */
#include <linux/in.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include <smc/tcp/clcsock.h>

#include "conn_env.h"

/* Make the peer's RMB known over the link in @slot, too. */
void conn_env_add_key(struct conn_env *e, u32 slot)
{
	struct smc_rtoken *rtoken = smc_rtoken_of(e->lgr, e->conn->tx.claim.rtoken);

	rtoken->rkey[slot] = 0x11 + slot;
	rtoken->addr[slot] = 0x1000;
	rtoken->links |= BIT(slot);
}

/* Create a connection over the second link; the peer's end is not set. */
struct smc_conn *conn_env_create_conn(struct kunit *test, struct conn_env *e)
{
	struct smc_conn *conn;
	bool cancel = false;

	env_add_ring(test, e->lgr, ENV_RING);
	conn = smc_conn_create(e->lgr, e->second, ENV_RING, ENV_RING, false, &cancel);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn);
	return conn;
}

void conn_env_connect(struct kunit *test, struct conn_env *e)
{
	static const struct smc_conn_peer_end first = {
		.token = ENV_TOKEN, .size = ENV_RING, .index = 1, .rkey = 0x22, .addr = 0x2000,
		.first = true,
	};

	e->lgr = env_create_group_up(test, SMC_SERVER, 1);
	e->first = smc_lgr_get_link(e->lgr, 0);
	KUNIT_ASSERT_NOT_NULL(test, e->first);
	e->second = env_add_link(test, e->lgr);
	env_bring_up(test, e->second);
	e->conn = conn_env_create_conn(test, e);
	KUNIT_ASSERT_EQ(test, smc_conn_set_peer(e->conn, &first), 0);
	/* the same RMB of the peer over the first link */
	conn_env_add_key(e, 0);
	smc_conn_activate(e->conn);
}

const bool conn_env_rings[2] = { false, true };

void conn_env_begin(struct kunit *test, struct conn_env *e)
{
	const bool *first = test->param_value;

	conn_env_connect(test, e);
	if (first && *first)
		return;
	KUNIT_ASSERT_TRUE(test, smc_conn_grow_ring(e->conn, NULL));
}

void conn_env_end(struct conn_env *e)
{
	smc_conn_close(e->conn, true, 0, NULL);
	smc_conn_put(e->conn);
	smc_link_put(e->second);
	smc_link_put(e->first);
}

void conn_env_receive_msg(struct conn_env *e, struct smc_link *link, struct smc_cdc_msg *msg)
{
	u8 buf[SMC_CDC_LEN];

	msg->token = e->conn->token;
	smc_cdc_msg_build(msg, buf, sizeof(buf));
	smc_conn_lgr_events.message(link, buf, sizeof(buf));
}

/* Receive the peer's message number @seq over @link. */
void conn_env_receive(struct conn_env *e, struct smc_link *link, u16 seq, u8 state)
{
	struct smc_cdc_msg msg = { .seq = seq, .state = state };

	conn_env_receive_msg(e, link, &msg);
}

u32 env_count_sends(const struct smc_link *link)
{
	return fake_ib_qp(link->qp->qp)->nsends;
}

u32 env_count_writes(const struct smc_link *link)
{
	struct fake_ib_wr *wr;
	u32 i, n = 0;

	for (i = 0; (wr = fake_ib_sent(fake_ib_qp(link->qp->qp), i)); i++)
		n += wr->opcode == IB_WR_RDMA_WRITE;
	return n;
}

/* Count the messages sent over @link since the last completion; @last is the last of them. */
u32 env_count_cdc(const struct smc_link *link, struct smc_cdc_msg *last)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);
	struct fake_ib_wr *wr;
	u32 i, n = 0;

	memset(last, 0, sizeof(*last));
	for (i = 0; (wr = fake_ib_sent(qp, i)); i++)
		if (wr->opcode == IB_WR_SEND &&
		    !smc_cdc_msg_parse((u8 *)(uintptr_t)wr->sge[0].addr, wr->sge[0].length,
				       ENV_RING, ENV_RING, last))
			n++;
	return n;
}

void env_complete_sends(const struct smc_link *link)
{
	struct fake_ib_qp *qp = fake_ib_qp(link->qp->qp);

	fake_ib_complete(qp, qp->nsends, IB_WC_SUCCESS);
}

/* Queue @len bytes and post what may go. */
void conn_env_send(struct conn_env *e, u32 len)
{
	spin_lock_bh(&e->conn->lock);
	smc_ring_tx_prepare(&e->conn->tx.ring, len);
	smc_tx_push_locked(e->conn, false);
	spin_unlock_bh(&e->conn->lock);
}

void clcsock_env_begin(struct kunit *test, struct clcsock_env *e)
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

void clcsock_env_end(struct clcsock_env *e)
{
	smc_clcsock_release(&e->ours, true);
	if (e->theirs)
		sock_release(e->theirs);
	sock_put(e->sk);
}
