/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rendezvous: client and server handshake over a connected carrier
 * (RFC 7609 3.5, C.1-C.7; SMCv2). Rank 11. One work item per handshake, no socket
 * lock, no global lock, one deadline per step, cancelled through smc_hs_cancel().
 */
#ifndef _SMC_HANDSHAKE_HANDSHAKE_H
#define _SMC_HANDSHAKE_HANDSHAKE_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <smc/tcp/clcsock.h>

struct mem_cgroup;
struct smc_conn;
struct smc_hs;
struct smc_hs_ctx;

enum smc_hs_outcome {
	SMC_HS_SMC,		/* @conn is active */
	SMC_HS_TCP,		/* plain TCP from here on; reasons say why */
	SMC_HS_FAIL,		/* the connection is dead; @err */
};

/**
 * struct smc_hs_result - how a handshake ended
 * @outcome: see there
 * @conn: SMC: the connection, one reference for the receiver
 * @err: FAIL: positive errno for the application (ECONNREFUSED, ECONNRESET,
 *	ETIMEDOUT, EHOSTUNREACH, ...)
 * @own_reason: TCP: our diagnosis code, 0 = none
 * @peer_reason: TCP: the code in the peer's Decline, 0 = none
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
 * @carrier: the TCP connection; hooked by smc_hs from start to done
 * @net: namespace
 * @server: role, set by the setup
 * @sndbuf: wanted send ring bytes
 * @rcvbuf: wanted RMBE bytes
 * @memcg: whose limit the connection's memory counts against, NULL = nobody's; lives as
 *	long as @owner
 * @force_tcp: reason to stay TCP decided beforehand (TCP_FASTOPEN, ...), 0 = none
 * @done: called once from the work (process context, no locks) unless the
 *	handshake was cancelled before it started. The callee owns @res->conn. The
 *	smc_hs may be freed from within done's consequences only after @work ended:
 *	owners cancel_work_sync() through smc_hs_cancel() or hold a reference that
 *	done drops.
 * @run: the steps of its side, set by the setup
 * @owner: for @done
 * @host: the peer host, see smc_limit_host(); known once TCP is connected
 * @wait: the work sleeps here; woken by carrier and LLC events and cancel
 * @work: the handshake
 * @first_work: server: looks whether the first message is there, or the time for it over
 * @cancelled: stop as soon as possible; done() is still called (FAIL, ECONNABORTED)
 * @evicted: for its owner: smc_hs_evict() has ended it
 * @deadline: server: jiffies by which the Proposal must be complete
 * @started: bit 0: the work was queued, or never will be; changes under the lock of @wait
 */
struct smc_hs {
	struct smc_carrier *carrier;
	struct net *net;
	bool server;
	u32 sndbuf;
	u32 rcvbuf;
	struct mem_cgroup *memcg;
	u32 force_tcp;
	void (*done)(struct smc_hs *hs, const struct smc_hs_result *res);
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

/* Initialise the private members; role and steps are those of one side. */
void smc_hs_client_setup(struct smc_hs *hs);
void smc_hs_server_setup(struct smc_hs *hs);
/*
 * Client: the carrier's connect() was begun (EINPROGRESS or done); the work waits for
 * ESTABLISHED itself, as long as TCP tries. Server: @hs->carrier is an accepted child
 * whose SYN carried the option; the work is queued when the Proposal has arrived.
 */
void smc_hs_start(struct smc_hs *hs);
/* Any context: asks a running handshake to end; does not wait. */
void smc_hs_cancel(struct smc_hs *hs);
/* Server: has it been started @age jiffies ago, or before? */
bool smc_hs_older(const struct smc_hs *hs, unsigned long age);
/* Server: cancels if there is no whole Proposal yet. Any context. */
bool smc_hs_evict(struct smc_hs *hs);
/* Process context: cancels and waits until done() has returned or will never run. */
void smc_hs_cancel_sync(struct smc_hs *hs);
/* Reason not to try a rendezvous with this address at all, 0 = try. Any context. */
u32 smc_hs_refused(struct net *net, const struct in6_addr *peer);

#endif
