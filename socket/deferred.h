/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deferred sockets: the connection begins as TCP and may change over to RDMA in mid-stream (upgrade
 * in place, decision 0021). Their mode is SMC_MODE_DEFERRED before, during and after the change, so
 * no mode changes while a call is inside.
 *
 * socket/deferred.c serves the calls: TCP up to byte S of each direction, then the ring.
 * socket/upgrade.c asks, or is asked, and watches TCP. socket/deferred_state.c has what they share.
 *
 * Locks. A read call holds the socket lock while it takes bytes, from TCP without blocking, and
 * waits without it. A send call holds no lock of ours inside TCP, where it may block; it counts
 * itself at the gate instead. The gate is shut under the lock of the clcsock. Order: socket lock,
 * lock of the clcsock, smc_sock.state_lock or conn->lock; smc_deferred.lock is a leaf.
 */
#ifndef _SMC_SOCKET_DEFERRED_H
#define _SMC_SOCKET_DEFERRED_H

#include <linux/net.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <smc/conn/upgrade.h>
#include <smc/proto/upgrade.h>
#include <smc/proto/upgrade_msg.h>
#include <smc/socket/sock.h>

struct in6_addr;
struct pipe_inode_info;
struct smc_lgr;
struct smc_link;

/*
 * Result of a call for a socket whose mode is TCP meanwhile: the caller looks at the mode again. No
 * call of TCP returns it.
 */
#define SMC_DEFERRED_OVER	(-ECANCELED)

/**
 * struct smc_deferred - what a socket needs beside TCP
 * @smc: the socket
 * @gate: see smc_upgrade_gate_enter(); changed by compare and exchange; shut under the lock of the
 *	clcsock
 * @ring: S of our direction is fixed: send calls use the ring. Set by store-release under the lock
 *	of the clcsock; never cleared
 * @rx_ring: the application has read all bytes before the peer's S; never cleared
 * @rcv_shut: the application has shut down its receiving direction
 * @hooked: the clcsock is hooked, @tcp is valid. Set once by store-release
 * @lock: leaf, BH off: @tcp, @tcp_err, @tcp_err_at
 * @tcp: what TCP has received; @tcp.read is not used
 * @tcp_err: the error with which TCP has ended, 0: none
 * @tcp_err_at: jiffies when it was noticed
 * @tcp_err_known: the connection knows @tcp_err; private to @work
 * @s: S of our direction, while @ring
 * @conn: connection beside TCP or after the agreement, one reference; under smc_sock.state_lock
 * @adopted: smc_sock.conn is @conn, and all is set up for it; private to @work
 * @busy: @job runs, or will; under smc_sock.state_lock
 * @gate_pause: pause of @work, which has to shut the gate or reset the clcsock and could not, in
 *	jiffies, 0: none; private to @work
 * @gate_at: end of @gate_pause, likewise
 * @reset_waits: the clcsock is to be reset, and the program had not read its bytes; likewise
 * @reset_by: jiffies at which it is reset nevertheless
 * @closed: no further @job, connection or @work; under smc_sock.state_lock
 * @cancel: @job shall end soon
 * @work: watches TCP and the agreement
 * @job: prepares a request, or judges one
 * @again: jiffies before which a client does not ask
 * @pause: jiffies of the next pause
 * @unknown: client: requests of which the server has not known the connection; under
 *	smc_sock.state_lock
 * @counted: client: a rule has counted the connection; private to @job
 * @msg: server: request that @job judges
 * @lgr: group of the request, reference held by @job; a client has none before it has chosen one
 * @link: server: the link over which it came, likewise; a client has none
 */
struct smc_deferred {
	struct smc_sock *smc;
	u32 gate;
	bool ring;
	bool rx_ring;
	bool rcv_shut;
	bool hooked;
	spinlock_t lock; /* see above */
	struct smc_upgrade_tcp tcp;
	int tcp_err;
	unsigned long tcp_err_at;
	bool tcp_err_known;
	u64 s;
	struct smc_conn *conn;
	bool adopted;
	bool busy;
	unsigned long gate_pause;
	unsigned long gate_at;
	bool reset_waits;
	unsigned long reset_by;
	bool closed;
	bool cancel;
	struct delayed_work work;
	struct work_struct job;
	unsigned long again;
	unsigned long pause;
	u8 unknown;
	bool counted;
	struct smc_upgrade_msg msg;
	struct smc_lgr *lgr;
	struct smc_link *link;
};

/* socket/deferred_state.c */
struct smc_conn *smc_deferred_conn_get(struct smc_sock *smc);
void smc_deferred_get_tcp(struct smc_sock *smc, struct smc_upgrade_tcp *tcp);
void smc_deferred_reset_locked(struct smc_sock *smc);
void smc_deferred_note_error(struct smc_sock *smc, int err);
bool smc_deferred_gate_enter(struct smc_deferred *d);
bool smc_deferred_gate_leave(struct smc_deferred *d);
bool smc_deferred_shut_gate_locked(struct smc_sock *smc);

/* socket/deferred.c */
int smc_deferred_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len);
#ifdef SMC_HAVE_SENDPAGE
ssize_t smc_deferred_sendpage(struct smc_sock *smc, struct page *page, int offset, size_t size,
			      int flags);
#endif
void smc_deferred_splice_eof(struct smc_sock *smc);
int smc_deferred_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags);
ssize_t smc_deferred_splice_read(struct smc_sock *smc, loff_t *pos, struct pipe_inode_info *pipe,
				 size_t len, unsigned int flags);
__poll_t smc_deferred_poll(struct smc_sock *smc, struct file *file);
int smc_deferred_shutdown(struct smc_sock *smc, int how);
int smc_deferred_get_queue(struct smc_sock *smc, unsigned int cmd, bool *known);

/* socket/upgrade.c */
int smc_deferred_init(void);
void smc_deferred_exit(void);
bool smc_deferred_is_on(struct net *net);
bool smc_deferred_is_on_for(const struct smc_sock *smc);
void smc_deferred_learn(struct smc_sock *smc);
bool smc_deferred_suits(struct smc_sock *smc, const struct in6_addr *peer, u16 port);
bool smc_deferred_may_be_asked(struct smc_sock *smc);
bool smc_deferred_may_replace(struct smc_sock *smc);
int smc_deferred_start(struct smc_sock *smc);
int smc_deferred_exclude(struct smc_sock *smc, bool wait);
void smc_deferred_give_up(struct smc_sock *smc);
bool smc_deferred_stop_asking(struct smc_sock *smc);
void smc_deferred_disconnect(struct smc_sock *smc);
bool smc_deferred_close(struct smc_sock *smc, bool abort, bool wait);
void smc_deferred_note_bytes(struct smc_sock *smc);
void smc_deferred_queue_work(struct smc_sock *smc);
void smc_deferred_adopt(struct smc_sock *smc);

#endif
