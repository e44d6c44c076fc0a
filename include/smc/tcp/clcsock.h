/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The carrier: the in-kernel TCP socket under every SMC socket (RFC: the TCP
 * connection, elsewhere called clcsock). Creation, SMC TCP option, callbacks,
 * wait queue, borrowed file. Rank 10.
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
 * struct smc_carrier_events - facts about the carrier
 * @changed: data, space, error or state changed; softirq or process context, under
 *	the carrier's sk_callback_lock (read); must only wake or queue
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
 * struct smc_carrier - a carrier and what was replaced in it
 * @sock: TCP socket, NULL when none
 * @events: upward table, NULL = nobody listens
 * @owner: for @events
 * @saved: the TCP socket's own callbacks, while hooked
 * @hooked: the callbacks are ours
 * @rcvlowat: the user's SO_RCVLOWAT, while hooked
 * @option: who sent the SMC option
 *
 * sk_user_data points here while the callbacks are ours; both change together
 * under the carrier's sk_callback_lock.
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

/* Learns TCP's own callbacks; before the first carrier. */
int smc_carrier_learn(void);

/* Creates a TCP socket of @family in the caller's context (cgroup, creds, LSM). */
int smc_carrier_create(struct smc_carrier *c, struct net *net, int family, int kern);
/* An unconnected shell for ops->accept() of @listener in the caller's context. */
int smc_carrier_create_child(struct smc_carrier *child, const struct smc_carrier *listener);
/* Accepts one child of the listening @c without blocking. -EAGAIN when none. */
int smc_carrier_accept(struct smc_carrier *c, struct smc_carrier *child);
/* Closes; the callbacks are restored first. @reset: RST instead of FIN. Sleeps. */
void smc_carrier_release(struct smc_carrier *c, bool reset);

/*
 * Hooks the callbacks, or only changes @events and @owner when they are hooked.
 * False: somebody else (a BPF psock) owns the socket. Process context.
 */
bool smc_carrier_hook(struct smc_carrier *c, const struct smc_carrier_events *events,
		      void *owner);
/* After return no changed() runs and none will. Process context. */
void smc_carrier_unhook(struct smc_carrier *c);
/* SO_RCVLOWAT, which does not hold for messages of ours. The value, or -errno. */
int smc_carrier_set_rcvlowat(struct smc_carrier *c, int val);
/* One packet of no consequence, for firewalls on the way. Process context. */
void smc_carrier_ack(struct smc_carrier *c);
/* What a TCP socket has when nobody replaced anything. */
const struct smc_carrier_callbacks *smc_carrier_defaults(void);

/* Shares @app's wait queue and inode number; unshare gives its own queue back. Sleeps. */
void smc_carrier_share(struct smc_carrier *c, struct socket *app);
void smc_carrier_unshare(struct smc_carrier *c);
/* Lends the application's file, without a reference; smc_carrier_unshare() ends that. */
void smc_carrier_lend_file(struct smc_carrier *c, struct file *file);

/* Ends the TCP connection for @err as a reset would, and drops what was received. */
void smc_carrier_abort(struct smc_carrier *c, int err);
int smc_carrier_again(struct smc_carrier *c);

/* The SYN of the connect() that follows carries the SMC option. Process context. */
static inline void smc_carrier_offer_option(struct smc_carrier *c)
{
	smc_option_offer(&c->option, c->sock->sk);
}

/* The SYN-ACKs of the listen() that follows answer it, unless @gate is shut. */
static inline void smc_carrier_answer_option(struct smc_carrier *c,
					     const struct smc_option_gate *gate)
{
	smc_option_answer(&c->option, c->sock->sk, gate);
}

/* No SYN and no SYN-ACK carries it any more. */
static inline void smc_carrier_withdraw_option(struct smc_carrier *c)
{
	smc_option_withdraw(&c->option, c->sock->sk);
}

/* After TCP's handshake: did both ends send the option? Process context. */
static inline bool smc_carrier_peer_option(const struct smc_carrier *c)
{
	return smc_option_agreed(&c->option, c->sock->sk);
}

/* TCP state and pending error without taking the socket lock. */
static inline int smc_carrier_state(const struct smc_carrier *c)
{
	return inet_sk_state_load(c->sock->sk);
}

/* Does the application want to know when bytes arrive? It may, where core does not tell us. */
static inline bool smc_carrier_stamps(const struct smc_carrier *c)
{
#ifdef SMC_HAVE_CUSTOM_SOCKOPT
	return READ_ONCE(c->sock->sk->sk_flags) & SK_FLAGS_TIMESTAMP;
#else
	return true;
#endif
}

/* Address of the peer, IPv4 as v4-mapped. */
void smc_carrier_peer_addr(const struct smc_carrier *c, struct in6_addr *peer);
/* Must its bytes stay on TCP for the sake of IPsec? @dst: its route. */
bool smc_carrier_ipsec(const struct smc_carrier *c, const struct dst_entry *dst);

/* Bytes queued for reading (or FIN, or error): the handshake looks before it reads. */
bool smc_carrier_readable(const struct smc_carrier *c);

#endif
