/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SMC socket: the struct, its state rules, its table. Rank 11.
 * Documentation/decisions/0002-socket-identity-and-state.md is the reference.
 */
#ifndef _SMC_SOCKET_SOCK_H
#define _SMC_SOCKET_SOCK_H

#include <linux/bitops.h>
#include <linux/ipv6.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <smc/conn/conn.h>
#include <smc/handshake/handshake.h>
#include <smc/tcp/clcsock.h>

struct smc_listener;

enum smc_mode {
	SMC_MODE_UNDECIDED,
	SMC_MODE_TCP,
	SMC_MODE_SMC,
};

/* protocol argument of socket(AF_SMC, ...); also which half of the table */
#define SMC_PROTO_IPV4	0
#define SMC_PROTO_IPV6	1

/* bits of smc_sock->flags */
enum smc_sock_flag {
	SMC_SF_HS,		/* a handshake owns the carrier; cleared once */
	SMC_SF_LISTEN,		/* accept queue in use; changes under the socket lock */
	SMC_SF_SERVER,		/* came out of a listener */
	SMC_SF_NODELAY,		/* TCP_NODELAY */
	SMC_SF_CORK,		/* TCP_CORK */
	SMC_SF_LIMIT_HS,	/* SOL_SMC SMC_LIMIT_HS */
	SMC_SF_LEND,		/* SOL_SMC SMC_OWN_SPLICE_LEND */
	SMC_SF_EXCLUDED,	/* connections of this listener are TCP: smc_sockopt_excludes() */
	SMC_SF_ERR_TOLD,	/* conn->err went into sk_err; under state_lock */
};

/**
 * struct smc_sock - one socket of the family
 * @inet: first, so that inet_sk() is valid
 * @carrier: TCP socket; from create (or accept worker) to release
 * @mode: UNDECIDED, TCP, SMC; written under @state_lock by store-release
 * @flags: enum smc_sock_flag
 * @state_lock: leaf, BH off: sk_state, sk_shutdown, sk_err, @mode, @conn, @err_copied,
 *	@listener
 * @conn: SMC mode: the connection, one reference; see decision 0002
 * @seen: conn state when the three were last derived; -1 = never
 * @err_copied: error that was copied (not moved) from the carrier, 0 = none
 * @hs: handshake; the socket holds a reference on itself while SMC_SF_HS is set
 * @own_reason: TCP mode: why, our diagnosis
 * @peer_reason: TCP mode: why, the peer's
 * @listener: listening: accept queue; changes under the socket lock and @state_lock
 * @parent: not yet accepted: the queue it belongs to, for @entry
 * @entry: in parent's pending or ready list
 * @carrier_work: the carrier has ended with an error under a running connection
 * @cork_work: bytes held back by MSG_MORE or TCP_CORK go after all
 * @keep_work: SO_KEEPALIVE and TCP_USER_TIMEOUT (socket/keepalive.c)
 * @keep_asked: questions without an answer; that work's
 * @keep_acked: jiffies of the carrier's last packet that is ours, or of the beginning
 * @keep_since: jiffies of what was heard last before the first of them
 * @bucket: table entry
 * @bucket_num: its place among those of the same chain: the younger, the larger
 * @inet_destruct: IPPROTO_SMC: core's destructor, for what generic code hangs on inet sockets
 */
struct smc_sock {
	struct inet_sock inet;
	struct smc_carrier carrier;
	enum smc_mode mode;
	unsigned long flags;
	spinlock_t state_lock; /* see above */
	struct smc_conn *conn;
	int seen;
	int err_copied;
	struct smc_hs hs;
	u32 own_reason;
	u32 peer_reason;
	struct smc_listener *listener;
	struct smc_listener *parent;
	struct list_head entry;
	struct delayed_work carrier_work;
	struct delayed_work cork_work;
	struct delayed_work keep_work;
	unsigned int keep_asked;
	unsigned long keep_acked;
	unsigned long keep_since;
	struct hlist_node bucket;
	u64 bucket_num;
	void (*inet_destruct)(struct sock *sk);
};

/**
 * struct smc6_sock - the same with room for IPv6
 * @smc: first
 * @inet6: last: 6.1 finds it from the end of the object
 */
struct smc6_sock {
	struct smc_sock smc;
	struct ipv6_pinfo inet6;
};

static inline struct smc_sock *smc_sk(const struct sock *sk)
{
	return container_of((struct sock *)sk, struct smc_sock, inet.sk);
}

static inline struct sock *smc_sock_sk(struct smc_sock *smc)
{
	return &smc->inet.sk;
}

/* Read the clcsock's operations. kTLS and IPV6_ADDRFORM replace them while the socket is in use. */
static inline const struct proto_ops *smc_sock_clcsock_ops(const struct smc_sock *smc)
{
	return READ_ONCE(smc->carrier.sock->ops);
}

/* Whether its addresses are IPv6, by whichever door it came. */
static inline bool smc_sock_is_ipv6(const struct sock *sk)
{
	return sk->sk_family == PF_INET6 ||
	       (sk->sk_family == PF_SMC && sk->sk_protocol == SMC_PROTO_IPV6);
}

/* Whose limit the socket's memory counts against; NULL: nobody's. Lives as long as @sk. */
static inline struct mem_cgroup *smc_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sk->sk_memcg;
#else
	return NULL;
#endif
}

static inline enum smc_mode smc_sock_mode(const struct smc_sock *smc)
{
	/* who sees the mode sees what was set up for it */
	return smp_load_acquire(&smc->mode);
}

static inline bool smc_sock_connecting(const struct smc_sock *smc)
{
	return test_bit(SMC_SF_HS, &smc->flags);
}

/*
 * Undecided with nothing running: the carrier answers, under the socket lock. A handshake ends
 * without that lock, mode first: so the mode is looked at last.
 */
static inline bool smc_sock_idle(const struct smc_sock *smc)
{
	/* pairs with clear_bit_unlock() at the end of a handshake */
	unsigned long flags = smp_load_acquire(&smc->flags);

	return !(flags & (BIT(SMC_SF_HS) | BIT(SMC_SF_LISTEN))) &&
	       smc_sock_mode(smc) == SMC_MODE_UNDECIDED;
}

/* As core's inet_sk_state_store(), which modules do not get. */
static inline void smc_sock_store_state(struct sock *sk, int state)
{
	/* pairs with inet_sk_state_load() */
	smp_store_release(&sk->sk_state, state);
}

/* Derived state in one step; @err 0 leaves sk_err alone. */
static inline void smc_sock_set_state(struct smc_sock *smc, int state, int shutdown, int err)
{
	struct sock *sk = smc_sock_sk(smc);

	spin_lock_bh(&smc->state_lock);
	if (err)
		WRITE_ONCE(sk->sk_err, err);
	WRITE_ONCE(sk->sk_shutdown, shutdown);
	smc_sock_store_state(sk, state);
	spin_unlock_bh(&smc->state_lock);
}

static inline void smc_sock_add_shutdown(struct smc_sock *smc, int how)
{
	struct sock *sk = smc_sock_sk(smc);

	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
	spin_unlock_bh(&smc->state_lock);
}

/* The connection with a reference, or NULL. */
static inline struct smc_conn *smc_sock_conn_get(struct smc_sock *smc)
{
	struct smc_conn *conn;

	spin_lock_bh(&smc->state_lock);
	conn = smc->conn;
	if (conn)
		smc_conn_get(conn);
	spin_unlock_bh(&smc->state_lock);
	return conn;
}

/**
 * struct smc_sock_link - where a connection runs, for observers
 * @ibname: device
 * @port: its port
 * @num: link number
 * @gid: own GID
 * @peer_gid: the peer's
 * @role: enum smc_role
 * @valid: the rest is filled in
 */
struct smc_sock_link {
	char ibname[64];
	u8 port;
	u8 num;
	u8 gid[16];
	u8 peer_gid[16];
	u8 role;
	bool valid;
};

/**
 * struct smc_sock_info - what an observer may know of a socket
 * @sk: the socket; valid during the walk callback
 * @carrier: TCP socket for addresses and ports; NULL = none
 * @mode: see enum smc_mode
 * @server: came out of a listener
 * @diag_state: state number of sock_diag
 * @own_reason: TCP mode: our diagnosis
 * @peer_reason: TCP mode: the peer's
 * @token: our alert token, 0 = no connection: the rest is empty then
 * @sndbuf: send ring bytes
 * @rmbe: our RMBE bytes
 * @peer_rmbe: the peer's
 * @rx_prod: received producer cursor
 * @rx_cons: received consumer cursor
 * @tx_prod: sent producer cursor
 * @tx_cons: our consumer cursor
 * @tx_prep: send ring: end of what the user has written
 * @tx_sent: send ring: end of what was posted
 * @tx_fin: send ring: end of what is completed
 * @rx_flags: D/C/A of the peer
 * @tx_flags: D/C/A sent
 * @tx_blocked: we told the peer that we are blocked
 * @rx_blocked: the peer told us
 * @link: link in use
 */
struct smc_sock_info {
	const struct sock *sk;
	const struct sock *carrier;
	enum smc_mode mode;
	bool server;
	u8 diag_state;
	u32 own_reason;
	u32 peer_reason;
	u32 token;
	u32 sndbuf;
	u32 rmbe;
	u32 peer_rmbe;
	struct smc_cdc_cursor rx_prod;
	struct smc_cdc_cursor rx_cons;
	struct smc_cdc_cursor tx_prod;
	struct smc_cdc_cursor tx_cons;
	struct smc_cdc_cursor tx_prep;
	struct smc_cdc_cursor tx_sent;
	struct smc_cdc_cursor tx_fin;
	u8 rx_flags;
	u8 tx_flags;
	bool tx_blocked;
	bool rx_blocked;
	struct smc_sock_link link;
};

int smc_sock_init(void);
void smc_sock_exit(void);

/* Our part of a socket that core has just made; no carrier yet. */
void smc_sock_setup(struct sock *sk, void (*inet_destruct)(struct sock *sk));
/* Allocates and initialises a socket of AF_SMC, or one like its listener. No carrier yet. */
struct sock *smc_sock_alloc(struct net *net, struct socket *sock, int protocol, int kern);
struct sock *smc_sock_alloc_child(const struct sock *parent, gfp_t gfp, int kern);
/* For struct proto. */
void smc_sock_keepalive(struct sock *sk, int on);
/* A child takes over its listener's cgroups and owner. */
void smc_sock_inherit(struct sock *sk, const struct sock *parent);
/* Enters the table; the carrier exists. Leaves it; before the carrier goes. */
void smc_sock_hash(struct smc_sock *smc);
void smc_sock_unhash(struct smc_sock *smc);

/**
 * struct smc_sock_pos - a place in the table; zero: its beginning
 * @bucket: chain
 * @first: number of the socket of this chain that comes next, the elder ones follow; 0: all of
 *	them. As wide as those numbers, which are not given twice
 */
struct smc_sock_pos {
	unsigned int bucket;
	u64 first;
};

/*
 * Calls @fn for the sockets of @net (NULL: all) and @protocol from position *@pos on, under a
 * spinlock; a non-zero return stops with *@pos at that socket.
 */
int smc_sock_walk(struct net *net, int protocol, struct smc_sock_pos *pos,
		  int (*fn)(const struct smc_sock_info *info, void *arg), void *arg);

#endif
