/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Environment of the suites of connections: a group of two links with one connection. The layers
 * from lgr/ up to conn/ are the real ones; the RDMA device is a fake.
 */
#ifndef _SMC_CONN_ENV_H
#define _SMC_CONN_ENV_H

#include <kunit/test.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/cdc_msg.h>
#include <smc/tcp/clcsock.h>

#include "lgr_env.h"

#define ENV_RING	16384	/* bytes of both rings */
#define ENV_TOKEN	0x77	/* the alert token of the peer */

/**
 * struct conn_env - state of one case
 * @lgr: group of two links
 * @first: link that stays, with a reference
 * @second: link that the connection uses, with a reference
 * @conn: the connection
 */
struct conn_env {
	struct smc_lgr *lgr;
	struct smc_link *first;
	struct smc_link *second;
	struct smc_conn *conn;
};

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

void conn_env_add_key(struct conn_env *e, u32 slot);
struct smc_conn *conn_env_create_conn(struct kunit *test, struct conn_env *e);
/* conn_env_begin() without its ring of full size */
void conn_env_connect(struct kunit *test, struct conn_env *e);
/* parameters of cases that run with a ring of full size and with the first one */
extern const bool conn_env_rings[2];
void conn_env_begin(struct kunit *test, struct conn_env *e);
void conn_env_end(struct conn_env *e);
void conn_env_receive_msg(struct conn_env *e, struct smc_link *link, struct smc_cdc_msg *msg);
void conn_env_receive(struct conn_env *e, struct smc_link *link, u16 seq, u8 state);
u32 env_count_sends(const struct smc_link *link);
u32 env_count_writes(const struct smc_link *link);
u32 env_count_cdc(const struct smc_link *link, struct smc_cdc_msg *last);
void env_complete_sends(const struct smc_link *link);
void conn_env_send(struct conn_env *e, u32 len);
void clcsock_env_begin(struct kunit *test, struct clcsock_env *e);
void clcsock_env_end(struct clcsock_env *e);

#endif
