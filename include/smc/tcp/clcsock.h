/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clcsock: the in-kernel TCP socket of every SMC socket (RFC 7609: "the TCP connection").
 * Creation, SMC option, callbacks, wait queue and file.
 */
#ifndef _SMC_TCP_CLCSOCK_H
#define _SMC_TCP_CLCSOCK_H

#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <smc/tcp/option.h>

struct file;
struct smc_upgrade_tcp;

/**
 * struct smc_clcsock_events - upcall of a hooked clcsock
 * @changed: data, space, error or state changed. Softirq or process context, under the clcsock's
 *	sk_callback_lock (read). May only wake a task or queue work
 * @received: the clcsock carries the stream, and TCP's own callbacks follow each upcall: they wake
 *	the application. Called before @changed when bytes or FIN have come, or the state has
 *	changed, under the lock of the TCP socket as well. NULL: it does not carry it
 * @uncork: CLC messages are sent, to which the application's TCP_CORK does not apply: TCP would
 *	hold back each of them for 200 ms
 */
struct smc_clcsock_events {
	void (*changed)(void *owner);
	void (*received)(void *owner);
	bool uncork;
};

/**
 * struct smc_clcsock_callbacks - the four callbacks of a TCP socket
 * @state_change: see struct sock
 * @data_ready: see struct sock
 * @write_space: see struct sock
 * @error_report: see struct sock
 */
struct smc_clcsock_callbacks {
	void (*state_change)(struct sock *sk);
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

/**
 * struct smc_clcsock_users - who may lock the TCP socket: calls of the program, or a work
 * @lock: protects the other members; BH off. Under it only @retry runs, which queues a work
 * @calls: calls that may sleep on the program's memory while they hold the lock of the TCP socket
 * @working: a work is at it, and such calls wait; wait_var_event() sleeps on this member
 * @wanted: a work was refused; the last call runs @retry
 * @retry: queues the refused work again; NULL: no work may begin
 * @arg: for @retry
 */
struct smc_clcsock_users {
	spinlock_t lock; /* see above */
	unsigned int calls;
	bool working;
	bool wanted;
	void (*retry)(void *arg);
	void *arg;
};

/**
 * struct smc_clcsock - a clcsock and what was replaced in its TCP socket
 * @sock: TCP socket, NULL when there is none
 * @events: table to call while hooked, NULL when not hooked
 * @owner: argument for @events
 * @saved: the TCP socket's own callbacks, while hooked
 * @hooked: the callbacks of the TCP socket are ours
 * @rcvlowat: the application's SO_RCVLOWAT, while hooked
 * @cork: the application's TCP_CORK; changes under the lock of the TCP socket
 * @uncorked: smc_clcsock_events.uncork: the TCP socket is not corked; changes under its lock
 * @option: state of the SMC option
 * @first_known: the next two are valid; set once for a connection, before it is hooked
 * @first_tx: sequence number of the first byte that TCP sends
 * @first_rx: of the first byte that it receives
 * @fin_taken: see smc_clcsock_note_fin(); under the lock of the TCP socket
 * @users: keeps works of the module from waiting for the lock of the TCP socket
 *
 * While hooked, sk_user_data of the TCP socket points here. The callbacks and sk_user_data change
 * together under the sk_callback_lock of the TCP socket.
 */
struct smc_clcsock {
	struct socket *sock;
	const struct smc_clcsock_events *events;
	void *owner;
	struct smc_clcsock_callbacks saved;
	bool hooked;
	int rcvlowat;
	bool cork;
	bool uncorked;
	struct smc_option option;
	bool first_known;
	u32 first_tx;
	u32 first_rx;
	bool fin_taken;
	struct smc_clcsock_users users;
};

/**
 * struct smc_clcsock_ends - the ends of a TCP connection
 * @own: our address, IPv4 as v4-mapped
 * @peer: address of the peer, likewise
 * @own_port: our port
 * @peer_port: port of the peer
 * @ifindex: netdev over which packets of the peer come
 */
struct smc_clcsock_ends {
	struct in6_addr own;
	struct in6_addr peer;
	u16 own_port;
	u16 peer_port;
	int ifindex;
};

int smc_clcsock_init(void);
void smc_clcsock_init_users(struct smc_clcsock *c);
int smc_clcsock_create(struct smc_clcsock *c, struct net *net, int family, int kern);
int smc_clcsock_create_child(struct smc_clcsock *child, const struct smc_clcsock *listener);
bool smc_clcsock_has_child(const struct smc_clcsock *c);
int smc_clcsock_accept(struct smc_clcsock *c, struct smc_clcsock *child);
void smc_clcsock_release(struct smc_clcsock *c, bool reset);
void smc_clcsock_hand_over(struct smc_clcsock *from, struct smc_clcsock *to);
bool smc_clcsock_pin_net(struct smc_clcsock *c);
bool smc_clcsock_reset(struct smc_clcsock *c);
void smc_clcsock_reset_locked(struct smc_clcsock *c);

bool smc_clcsock_hook(struct smc_clcsock *c, const struct smc_clcsock_events *events,
		      void *owner);
void smc_clcsock_unhook(struct smc_clcsock *c);
void smc_clcsock_unhook_to(struct smc_clcsock *c, struct socket *app,
			   void (*also)(struct sock *sk));
int smc_clcsock_set_rcvlowat(struct smc_clcsock *c, int val);
void smc_clcsock_set_cork(struct smc_clcsock *c, bool on);
bool smc_clcsock_try_send_ack(struct smc_clcsock *c);
const struct smc_clcsock_callbacks *smc_clcsock_tcp_callbacks(void);

int smc_clcsock_begin_call(struct smc_clcsock *c);
void smc_clcsock_end_call(struct smc_clcsock *c);
void smc_clcsock_allow_work(struct smc_clcsock *c, void (*retry)(void *arg), void *arg);
void smc_clcsock_forbid_work(struct smc_clcsock *c);
bool smc_clcsock_begin_work(struct smc_clcsock *c);
void smc_clcsock_end_work(struct smc_clcsock *c);
void smc_clcsock_end_last_work(struct smc_clcsock *c);

void smc_clcsock_separate(struct smc_clcsock *c, void (*also)(struct sock *sk));
void smc_clcsock_share_first(struct smc_clcsock *c, struct socket *app);
void smc_clcsock_share_wq(struct smc_clcsock *c, struct socket *app, void (*also)(struct sock *sk));
void smc_clcsock_unshare_wq(struct smc_clcsock *c);
void smc_clcsock_set_file(struct smc_clcsock *c, struct file *file);

void smc_clcsock_abort(struct smc_clcsock *c, int err);
int smc_clcsock_disconnect(struct smc_clcsock *c, int flags);
int smc_clcsock_reconnect(struct smc_clcsock *c);

void smc_clcsock_note_first(struct smc_clcsock *c, bool server);
bool smc_clcsock_try_lock(struct smc_clcsock *c);
void smc_clcsock_unlock(struct smc_clcsock *c);
struct smc_clcsock *smc_clcsock_find(struct net *net, const struct smc_clcsock_ends *ends,
				     bool (*get)(struct smc_clcsock *c));

void smc_clcsock_peer_addr(const struct smc_clcsock *c, struct in6_addr *peer);
u16 smc_clcsock_peer_port(const struct smc_clcsock *c);
bool smc_clcsock_has_ipsec(const struct smc_clcsock *c, const struct dst_entry *dst);
bool smc_clcsock_sk_is_readable(const struct sock *sk);

/* tcp/stream_pos.c */
void smc_clcsock_get_received(const struct smc_clcsock *c, struct smc_upgrade_tcp *tcp);
u32 smc_clcsock_get_copied(const struct smc_clcsock *c);
u64 smc_clcsock_get_read(const struct smc_clcsock *c, u32 copied, u64 received);
u64 smc_clcsock_get_acked(const struct smc_clcsock *c, u64 near);
void smc_clcsock_note_fin(struct smc_clcsock *c);
u64 smc_clcsock_get_taken(const struct smc_clcsock *c);
bool smc_clcsock_is_urgent_unacked(const struct smc_clcsock *c);
bool smc_clcsock_has_unsent(const struct smc_clcsock *c);
bool smc_clcsock_is_at_mark(const struct smc_clcsock *c);
void smc_clcsock_push(struct smc_clcsock *c);

/**
 * smc_clcsock_offer_option() - send the SMC option in the SYN of the next connect()
 * @c: unconnected clcsock
 *
 * Process context.
 */
static inline void smc_clcsock_offer_option(struct smc_clcsock *c)
{
	smc_option_offer(&c->option, c->sock->sk);
}

/**
 * smc_clcsock_answer_option() - send the SMC option in the SYN-ACKs of the next listen()
 * @c: clcsock that does not listen yet
 * @gate: decides for each SYN whether to answer the option; see smc_option_answer()
 *
 * Process context.
 */
static inline void smc_clcsock_answer_option(struct smc_clcsock *c,
					     const struct smc_option_gate *gate)
{
	smc_option_answer(&c->option, c->sock->sk, gate);
}

/**
 * smc_clcsock_withdraw_option() - stop sending the SMC option in SYN and SYN-ACK
 * @c: clcsock
 *
 * Process context.
 */
static inline void smc_clcsock_withdraw_option(struct smc_clcsock *c)
{
	smc_option_withdraw(&c->option, c->sock->sk);
}

/**
 * smc_clcsock_option_agreed() - check whether both ends sent the SMC option
 * @c: clcsock whose TCP handshake is complete
 *
 * Process context.
 *
 * Return: true if the SYN and the SYN-ACK carried the option.
 */
static inline bool smc_clcsock_option_agreed(const struct smc_clcsock *c)
{
	return smc_option_is_agreed(&c->option, c->sock->sk);
}

/**
 * smc_clcsock_option_seems_agreed() - check the same without a lock
 * @c: clcsock whose TCP handshake is complete
 *
 * Any context. May be false for a moment after TCP has connected, unless TCP itself calls.
 *
 * Return: true if the SYN and the SYN-ACK carried the option.
 */
static inline bool smc_clcsock_option_seems_agreed(const struct smc_clcsock *c)
{
	return smc_option_seems_agreed(&c->option, c->sock->sk);
}

/**
 * smc_clcsock_is_readable() - check whether a read would return without waiting
 * @c: clcsock
 *
 * Return: as smc_clcsock_sk_is_readable().
 */
static inline bool smc_clcsock_is_readable(const struct smc_clcsock *c)
{
	return smc_clcsock_sk_is_readable(c->sock->sk);
}

/**
 * smc_clcsock_state() - return the TCP state without taking the socket lock
 * @c: clcsock
 *
 * Return: TCP_ESTABLISHED etc.
 */
static inline int smc_clcsock_state(const struct smc_clcsock *c)
{
	return inet_sk_state_load(c->sock->sk);
}

/**
 * smc_clcsock_wants_timestamps() - check whether the application wants receive timestamps
 * @c: clcsock
 *
 * Return: true if it does. Always true on kernels without SOCK_CUSTOM_SOCKOPT, where the module
 * does not see setsockopt(SO_TIMESTAMP).
 */
static inline bool smc_clcsock_wants_timestamps(const struct smc_clcsock *c)
{
#ifdef SMC_HAVE_CUSTOM_SOCKOPT
	return READ_ONCE(c->sock->sk->sk_flags) & SK_FLAGS_TIMESTAMP;
#else
	return true;
#endif
}

#endif
