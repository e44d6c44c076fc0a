/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rendezvous: client and server handshake over a connected clcsock (RFC 7609 section 3.5,
 * appendix C.1 to C.7; SMC version 2).
 */
#ifndef _SMC_HANDSHAKE_HANDSHAKE_H
#define _SMC_HANDSHAKE_HANDSHAKE_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <smc/proto/clc_msg.h>
#include <smc/tcp/clcsock.h>

struct mem_cgroup;
struct smc_conn;
struct smc_hs;
struct smc_hs_ctx;

/**
 * enum smc_hs_outcome - what a handshake makes of the connection
 * @SMC_HS_SMC: the connection uses RDMA; smc_hs_result.conn is active
 * @SMC_HS_TCP: the connection is plain TCP; the reasons say why
 * @SMC_HS_FAIL: the connection is dead; smc_hs_result.err is the errno
 */
enum smc_hs_outcome {
	SMC_HS_SMC,
	SMC_HS_TCP,
	SMC_HS_FAIL,
};

/**
 * struct smc_hs_result - result of a handshake
 * @outcome: what the connection becomes
 * @conn: SMC_HS_SMC: the connection, with one reference for the receiver of the result
 * @err: SMC_HS_FAIL: positive errno for the application (ECONNREFUSED, ECONNRESET, ETIMEDOUT,
 *	EHOSTUNREACH, ...)
 * @own_reason: SMC_HS_TCP: our diagnosis code, 0 = none
 * @peer_reason: SMC_HS_TCP: the diagnosis code of the peer's Decline, 0 = none
 */
struct smc_hs_result {
	enum smc_hs_outcome outcome;
	struct smc_conn *conn;
	int err;
	u32 own_reason;
	u32 peer_reason;
};

/**
 * struct smc_hs - one handshake, embedded in its socket
 * @clcsock: the TCP connection; hooked from smc_hs_start() on; @done unhooks it, or hooks it again
 * @net: namespace
 * @server: which side we are; set by smc_hs_client_setup() or smc_hs_server_setup()
 * @sndbuf: requested size of the send ring in bytes
 * @rcvbuf: requested size of the RMBE in bytes
 * @link_policy: of the connection, see smc_conn.link_policy
 * @balance: of the connection, see smc_conn_set_balance()
 * @nodename: host name of the task that called connect() or listen(), blank padded; of a listening
 *	socket, too
 * @memcg: cgroup to charge the connection's memory to, NULL = none; lives as long as @owner
 * @force_tcp: server: reason to use TCP that was found beforehand (a rule, AUTOSMC), 0 = none
 * @done: called exactly once, in process context, from @work without locks, or in
 *	smc_hs_run_due() with those of its caller, unless smc_hs_cancel_sync() came before @work
 *	had begun. The callee owns the reference on @conn of the result; that of a client calls
 *	smc_hs_release_clcsock(). The owner holds a reference on its socket until done() drops it,
 *	or waits with smc_hs_cancel_sync() before it frees the smc_hs
 * @due: client: smc_hs_is_due() has become true; from smc_hs_start(), or in any context under the
 *	clcsock's sk_callback_lock
 * @run: runs the steps of this side; set by the setup
 * @owner: for @done
 * @host: ID of the peer host, see smc_admission_host(); set when TCP is connected
 * @wait: @work sleeps here; woken by the clcsock, the LLC layer and smc_hs_cancel()
 * @work: runs the handshake
 * @first_work: server: checks whether the Proposal is complete or @deadline is over
 * @cancelled: end the handshake as soon as possible, with SMC_HS_FAIL and ECONNABORTED
 * @evicted: used by the owner: smc_hs_evict() has cancelled the handshake
 * @deadline: server: time in jiffies by which the Proposal must be complete
 * @started: HS_STARTED: @work was queued, or will never be; changes under the lock of @wait.
 *	HS_RUNS: @work has begun. HS_ATTENDED: the caller of connect() waits. HS_DUE: it has to run
 *	@work, which is not queued
 */
struct smc_hs {
	struct smc_clcsock *clcsock;
	struct net *net;
	bool server;
	u32 sndbuf;
	u32 rcvbuf;
	s8 link_policy;
	s8 balance;
	u8 nodename[SMC_HOSTNAME_LEN];
	struct mem_cgroup *memcg;
	u32 force_tcp;
	void (*done)(struct smc_hs *hs, const struct smc_hs_result *res);
	void (*due)(struct smc_hs *hs);
	void (*run)(struct smc_hs_ctx *ctx);
	void *owner;
	u64 host;
	wait_queue_head_t wait;
	struct work_struct work;
	struct delayed_work first_work;
	bool cancelled;
	bool evicted;
	unsigned long deadline;
	unsigned long started;
};

int smc_hs_init(void);
void smc_hs_exit(void);

void smc_hs_client_setup(struct smc_hs *hs);
void smc_hs_server_setup(struct smc_hs *hs);
void smc_hs_set_nodename(struct smc_hs *hs);
void smc_hs_start(struct smc_hs *hs);
void smc_hs_attend(struct smc_hs *hs);
bool smc_hs_is_due(const struct smc_hs *hs);
bool smc_hs_run_due(struct smc_hs *hs);
void smc_hs_leave(struct smc_hs *hs);
void smc_hs_cancel(struct smc_hs *hs);
void smc_hs_cancel_sync(struct smc_hs *hs);
void smc_hs_release_clcsock(struct smc_hs *hs);
bool smc_hs_is_older(const struct smc_hs *hs, unsigned long age);
bool smc_hs_evict(struct smc_hs *hs);
u32 smc_hs_check_allowed(struct net *net, const struct in6_addr *peer, u16 port);

#endif
