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

/**
 * struct smc_carrier_events - upcall of a hooked clcsock
 * @changed: data, space, error or state changed. Softirq or process context, under the clcsock's
 *	sk_callback_lock (read). May only wake a task or queue work
 */
struct smc_carrier_events {
	void (*changed)(void *owner);
};

/**
 * struct smc_carrier_callbacks - the four callbacks of a TCP socket
 * @state_change: see struct sock
 * @data_ready: see struct sock
 * @write_space: see struct sock
 * @error_report: see struct sock
 */
struct smc_carrier_callbacks {
	void (*state_change)(struct sock *sk);
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

/**
 * struct smc_carrier - a clcsock and what was replaced in its TCP socket
 * @sock: TCP socket, NULL when there is none
 * @events: table to call while hooked, NULL when not hooked
 * @owner: argument for @events
 * @saved: the TCP socket's own callbacks, while hooked
 * @hooked: the callbacks of the TCP socket are ours
 * @rcvlowat: the application's SO_RCVLOWAT, while hooked
 * @option: state of the SMC option
 *
 * While hooked, sk_user_data of the TCP socket points here. The callbacks and sk_user_data change
 * together under the sk_callback_lock of the TCP socket.
 */
struct smc_carrier {
	struct socket *sock;
	const struct smc_carrier_events *events;
	void *owner;
	struct smc_carrier_callbacks saved;
	bool hooked;
	int rcvlowat;
	struct smc_option option;
};

int smc_carrier_learn(void);
int smc_carrier_create(struct smc_carrier *c, struct net *net, int family, int kern);
int smc_carrier_create_child(struct smc_carrier *child, const struct smc_carrier *listener);
int smc_carrier_accept(struct smc_carrier *c, struct smc_carrier *child);
void smc_carrier_release(struct smc_carrier *c, bool reset);

bool smc_carrier_hook(struct smc_carrier *c, const struct smc_carrier_events *events,
		      void *owner);
void smc_carrier_unhook(struct smc_carrier *c);
int smc_carrier_set_rcvlowat(struct smc_carrier *c, int val);
void smc_carrier_ack(struct smc_carrier *c);
const struct smc_carrier_callbacks *smc_carrier_defaults(void);

void smc_carrier_share(struct smc_carrier *c, struct socket *app);
void smc_carrier_unshare(struct smc_carrier *c);
void smc_carrier_lend_file(struct smc_carrier *c, struct file *file);

void smc_carrier_abort(struct smc_carrier *c, int err);
int smc_carrier_again(struct smc_carrier *c);

void smc_carrier_peer_addr(const struct smc_carrier *c, struct in6_addr *peer);
bool smc_carrier_ipsec(const struct smc_carrier *c, const struct dst_entry *dst);
bool smc_carrier_readable(const struct smc_carrier *c);

/**
 * smc_carrier_offer_option() - send the SMC option in the SYN of the next connect()
 * @c: unconnected clcsock
 *
 * Process context.
 */
static inline void smc_carrier_offer_option(struct smc_carrier *c)
{
	smc_option_offer(&c->option, c->sock->sk);
}

/**
 * smc_carrier_answer_option() - send the SMC option in the SYN-ACKs of the next listen()
 * @c: clcsock that does not listen yet
 * @gate: decides for each SYN whether to answer the option; see smc_option_answer()
 *
 * Process context.
 */
static inline void smc_carrier_answer_option(struct smc_carrier *c,
					     const struct smc_option_gate *gate)
{
	smc_option_answer(&c->option, c->sock->sk, gate);
}

/**
 * smc_carrier_withdraw_option() - stop sending the SMC option in SYN and SYN-ACK
 * @c: clcsock
 *
 * Process context.
 */
static inline void smc_carrier_withdraw_option(struct smc_carrier *c)
{
	smc_option_withdraw(&c->option, c->sock->sk);
}

/**
 * smc_carrier_peer_option() - check whether both ends sent the SMC option
 * @c: clcsock whose TCP handshake is complete
 *
 * Process context.
 *
 * Return: true if the SYN and the SYN-ACK carried the option.
 */
static inline bool smc_carrier_peer_option(const struct smc_carrier *c)
{
	return smc_option_agreed(&c->option, c->sock->sk);
}

/**
 * smc_carrier_state() - return the TCP state without taking the socket lock
 * @c: clcsock
 *
 * Return: TCP_ESTABLISHED etc.
 */
static inline int smc_carrier_state(const struct smc_carrier *c)
{
	return inet_sk_state_load(c->sock->sk);
}

/**
 * smc_carrier_stamps() - check whether the application wants receive timestamps
 * @c: clcsock
 *
 * Return: true if it does. Always true on kernels without SOCK_CUSTOM_SOCKOPT, where the module
 * does not see setsockopt(SO_TIMESTAMP).
 */
static inline bool smc_carrier_stamps(const struct smc_carrier *c)
{
#ifdef SMC_HAVE_CUSTOM_SOCKOPT
	return READ_ONCE(c->sock->sk->sk_flags) & SK_FLAGS_TIMESTAMP;
#else
	return true;
#endif
}

#endif
