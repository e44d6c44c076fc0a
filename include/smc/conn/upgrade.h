/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection that begins as TCP (decision 0021): it exists beside a socket in TCP mode, in INIT,
 * until the two ends have agreed. proto/upgrade.h has the states; conn/upgrade.c feeds them, and
 * conn/upgrade_act.c carries out their actions.
 *
 * What the owner, the socket, calls, in this order. Names in capitals are events for
 * smc_conn_upgrade_step(). Each function takes conn->lock, and may notify the owner in the caller's
 * context: the caller holds no lock that its smc_conn_events.notify takes. Where no other lock is
 * named none is needed, and where no context is named any will do.
 *
 *   both    smc_conn_create_upgrade(), smc_conn_attach(): process context, sleeps
 *   server  smc_conn_set_peer(): RMBE and token of the request
 *   both    smc_conn_upgrade_begin(). If it fails, or is not reached, smc_conn_discard(); after it
 *           the connection ends by itself, and its owner only detaches and drops its reference
 *   client  smc_conn_upgrade_take_accept() for a yes, PEER_REFUSED or PEER_WITHDRAWN for the other
 *           responses; WITHDRAW if SMC is excluded meanwhile, after smc_upgrade_may_exclude()
 *   server  PEER_WITHDRAWAL
 *   both    SMC_CONN_TRY_GATE: smc_conn_upgrade_shut_gate(), under the lock of the clcsock and the
 *           same hold of it under which the gate was shut and S was read. If a call is inside TCP
 *           the last one that leaves does it
 *
 * and besides, from smc_conn_attach() on:
 *
 *   TCP has received bytes or FIN                smc_conn_upgrade_look()
 *   TCP has ended                                TCP_RST, or TCP_ERROR
 *   shutdown() of writing, after that of TCP     SHUT; smc_conn_shutdown() when the gate is shut
 *   close(), detached, no call inside            smc_conn_upgrade_close_tcp(), after FIN of TCP;
 *                                                smc_conn_close() when the gate is shut
 *
 * A reader that finds FIN asks smc_upgrade_rx_at_end(), with states, S and what TCP has received
 * from one hold of conn->lock: FIN alone is no end of file once something was agreed.
 *
 * What the owner gets are bits of struct smc_conn_events. After SMC_CONN_CHANGED it reads the
 * states again: if the agreement is SMC_UPGRADE_TCP, the connection has ended and the socket stays
 * TCP. SMC_CONN_BROKEN has the meaning that it always has, and in TCP mode too: the owner resets
 * the clcsock.
 */
#ifndef _SMC_CONN_UPGRADE_H
#define _SMC_CONN_UPGRADE_H

#include <linux/types.h>
#include <smc/conn/conn.h>
#include <smc/llc/upgrade.h>
#include <smc/proto/upgrade.h>

/**
 * struct smc_conn_tcp - how far TCP has got
 * @rx: what it has received
 * @acked: bytes of our direction that the peer's TCP has acknowledged
 */
struct smc_conn_tcp {
	struct smc_upgrade_tcp rx;
	u64 acked;
};

/*
 * An action of conn/upgrade.c beside those of the tables: the two ends have agreed, and somebody
 * listens. They do so under conn->lock, on a server in softirq; an event is sent without it.
 */
#define SMC_CONN_UPGRADE_REPORT		0x20000000

/* Actions of smc_conn_upgrade_ops.llc. On a server FREE_SLOT means smc_upgrade_slots_finish(). */
#define SMC_CONN_UPGRADE_LLC	(SMC_UPGRADE_ACT_SEND_REQUEST | SMC_UPGRADE_ACT_SEND_WITHDRAWAL | \
				 SMC_UPGRADE_ACT_SEND_ACCEPT | SMC_UPGRADE_ACT_FREE_SLOT |	\
				 SMC_CONN_UPGRADE_REPORT)

/*
 * Another action of smc_conn_upgrade_ops.llc: the connection is about to go, and nothing that is
 * still to come ends its request: smc_upgrade_abandon().
 */
#define SMC_CONN_UPGRADE_ABANDON	0x40000000

/**
 * struct smc_conn_upgrade_ops - what an upgrade needs from the socket and from LLC
 * @get_tcp: fill in how far TCP has got; under conn->lock, any context: reads without a lock, FIN
 *	before the number of bytes
 * @llc: send messages, free the slot of the request, or send the event; bits of
 *	%SMC_CONN_UPGRADE_LLC, %SMC_CONN_UPGRADE_ABANDON; process context, no lock held. Also
 *	called when the socket is gone
 */
struct smc_conn_upgrade_ops {
	void (*get_tcp)(struct smc_sock *owner, struct smc_conn_tcp *tcp);
	void (*llc)(struct smc_conn *conn, u32 actions);
};

/**
 * struct smc_conn_upgrade_init - what a connection beside TCP is created with
 * @ops: table
 * @number: number of the request
 * @proof: what names the connection in it, and both first sequence numbers
 * @hint: client: logarithm of the bytes that it has moved
 * @began_at: jiffies when it began over TCP
 */
struct smc_conn_upgrade_init {
	const struct smc_conn_upgrade_ops *ops;
	u32 number;
	struct smc_upgrade_proof proof;
	u8 hint;
	unsigned long began_at;
};

/**
 * struct smc_conn_upgrade - state of an upgrade; under conn->lock
 * @init: constant
 * @conn: the connection; constant
 * @req: the request, for the owner: it lives as long as the connection, which the owner holds until
 *	the request has ended
 * @step: apply an event and do what follows; under conn->lock; returns SMC_CONN_* bits for the
 *	owner. Constant
 * @progress: do what is due in the work of the connection; likewise; sets @llc to what that passes
 *	to @init.ops->llc, without the lock. Constant
 * @fsm: states; changed in conn/upgrade.c only
 * @actions: what the CDC message that is being applied leads to
 * @llc_due: actions for @init.ops->llc, which the work of the connection carries out
 * @answered: client: the server has sent a message, so GO need not be repeated
 * @abandoned: LLC gets, or has got, %SMC_CONN_UPGRADE_ABANDON
 * @fin: FIN was noticed
 * @quiet: the error that ends the connection was reported before
 * @tx_known: our S is fixed: @tx_s
 * @s_acked: the peer has sent S_ACK
 * @tx_s: S of our direction
 * @end_known: the application has closed on TCP: @end_s
 * @end_s: bytes that TCP had taken then
 * @c_waits: C of the peer counts as D, because TCP has not carried all bytes before both S
 * @c_waited: it has waited for too long
 * @rx_s: S of the peer's direction
 * @reader_left: the application reads no more: @read_end
 * @read_end: bytes of TCP that it has read then
 * @linger: jiffies that queued bytes have to be sent after close()
 * @deadline: jiffies until which the peer has to say what we wait for; 0: none
 * @c_deadline: jiffies until which C waits, while @c_waits
 */
struct smc_conn_upgrade {
	struct smc_conn_upgrade_init init;
	struct smc_conn *conn;
	struct smc_upgrade_req req;
	unsigned int (*step)(struct smc_conn *conn, enum smc_upgrade_event event);
	unsigned int (*progress)(struct smc_conn *conn, u32 *llc);
	struct smc_upgrade fsm;
	u32 actions;
	u32 llc_due;
	bool answered;
	bool abandoned;
	bool fin;
	bool quiet;
	bool tx_known;
	bool s_acked;
	bool end_known;
	bool c_waits;
	bool c_waited;
	bool reader_left;
	u64 tx_s;
	u64 end_s;
	u64 read_end;
	struct smc_upgrade_rx_s rx_s;
	unsigned long linger;
	unsigned long deadline;
	unsigned long c_deadline;
};

/**
 * struct smc_conn_upgrade_view - what a reader has to know at one moment
 * @states: states
 * @rx_s: S of the peer's direction
 * @ended: the peer's direction of the stream ends behind the bytes of the ring
 */
struct smc_conn_upgrade_view {
	struct smc_upgrade states;
	struct smc_upgrade_rx_s rx_s;
	bool ended;
};

struct smc_conn *smc_conn_create_upgrade(struct smc_lgr *lgr, struct smc_link *link, u32 sndbuf,
					 u32 rcvbuf, bool announce, const bool *cancel,
					 const struct smc_conn_upgrade_init *init);

int smc_conn_upgrade_begin(struct smc_conn *conn);
void smc_conn_upgrade_step(struct smc_conn *conn, enum smc_upgrade_event event);
int smc_conn_upgrade_take_accept(struct smc_conn *conn, const struct smc_conn_peer_end *end);
void smc_conn_upgrade_look(struct smc_conn *conn);
void smc_conn_upgrade_shut_gate(struct smc_conn *conn, u64 s);
bool smc_conn_upgrade_leave_reader(struct smc_conn *conn, u64 read);
void smc_conn_upgrade_close_tcp(struct smc_conn *conn, u64 s, struct smc_orphan *clcsock);
void smc_conn_upgrade_get_states(struct smc_conn *conn, struct smc_upgrade *states);
void smc_conn_upgrade_get_view(struct smc_conn *conn, struct smc_conn_upgrade_view *view);

#endif
