/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SMC socket: struct smc_sock, the accessors of its state, and the table of all sockets.
 * Documentation/decisions/0002-socket-identity-and-state.md has the rules.
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
#include <smc/handshake/autosmc.h>
#include <smc/handshake/handshake.h>
#include <smc/proto/upgrade.h>
#include <smc/tcp/clcsock.h>

struct smc_deferred;
struct smc_listener;
struct smc_peer;
struct smc_stats;

/*
 * UNDECIDED -> TCP, UNDECIDED -> SMC at the end of the handshake, or earlier if SMC is excluded;
 * SMC -> UNDECIDED by connect(AF_UNSPEC). TCP is final.
 *
 * UNDECIDED -> DEFERRED without a handshake: the connection begins as TCP and may change over to
 * RDMA (socket/deferred.h), for which the mode stays. DEFERRED -> TCP if SMC is excluded before the
 * two ends have agreed, and by connect(AF_UNSPEC).
 */
enum smc_mode {
	SMC_MODE_UNDECIDED,
	SMC_MODE_TCP,
	SMC_MODE_SMC,
	SMC_MODE_DEFERRED,
};

/* protocol argument of socket(AF_SMC, ...); also selects one of the two socket tables */
#define SMC_PROTO_IPV4	0
#define SMC_PROTO_IPV6	1

/* smc_sock.upgrade_bytes: that of the namespace */
#define SMC_UPGRADE_BYTES_NET	(-1)

/* bits of smc_sock->flags */
enum smc_sock_flag {
	SMC_SF_HS,		/* a handshake uses the clcsock; cleared exactly once */
	SMC_SF_LISTEN,		/* accept queue in use; changes under the socket lock */
	SMC_SF_SERVER,		/* accepted from a listener */
	SMC_SF_NODELAY,		/* TCP_NODELAY */
	SMC_SF_CORK,		/* TCP_CORK */
	SMC_SF_LIMIT_HS,	/* SOL_SMC SMC_LIMIT_HS */
	SMC_SF_LEND,		/* SOL_SMC SMC_OWN_SPLICE_LEND */
	SMC_SF_TCP_ONLY,	/* the next connections are TCP: smc_sockopt_excludes_smc() */
	SMC_SF_NOTE_DUE,	/* TCP before connect(); the fallback was not made known yet */
	SMC_SF_ERR_REPORTED,	/* conn->err or TCP's was stored in sk_err; under state_lock */
};

/**
 * struct smc_sock - one SMC socket
 * @inet: first, so that inet_sk() is valid
 * @clcsock: clcsock; from create (or the accept work) to release
 * @mode: enum smc_mode; written under @state_lock by store-release
 * @flags: enum smc_sock_flag
 * @state_lock: leaf, BH off: sk_state, sk_shutdown, sk_err, @mode, @conn, @err_copied,
 *	@listener
 * @conn: SMC mode, or DEFERRED from the agreement on: the connection, one reference. Set under
 *	@state_lock, cleared under the socket lock and @state_lock; a reader holds either lock
 * @synced_state: connection state when sk_state, sk_shutdown and sk_err were last derived; -1:
 *	never
 * @err_copied: error that was copied (not moved) from the clcsock, 0: none
 * @disconnects: how often the clcsock was disconnected; changes under the socket lock. A call that
 *	sleeps until the end of a handshake compares it
 * @stats: counters of the namespace; constant
 * @hs: handshake; holds a reference on the socket while SMC_SF_HS is set
 * @own_reason: TCP mode: our diagnosis code of the fallback, 0: none
 * @peer_reason: TCP mode: the peer's diagnosis code, 0: none
 * @link_policy: SOL_SMC SMC_OWN_LINK_POLICY, of this and later connections
 * @balance: SOL_SMC SMC_OWN_BALANCE, of this and later connections
 * @upgrade_bytes: SOL_SMC SMC_OWN_UPGRADE_BYTES, or SMC_UPGRADE_BYTES_NET
 * @began_at: jiffies when the connection became TCP or SMC
 * @began_bytes: TCP mode: bytes that the clcsock had carried then, those of a handshake
 * @autosmc: the connection as AUTOSMC knows it; set before its handshake
 * @listener: listening: accept queue; changes under the socket lock and @state_lock
 * @parent: child in its handshake: the listener, with a reference
 * @entry: in the pending or ready list of the listener
 * @clcsock_work: the clcsock got an error in SMC mode
 * @cork_work: send the bytes that MSG_MORE or TCP_CORK held back
 * @keepalive_work: SO_KEEPALIVE, TCP_USER_TIMEOUT and the ACKs of the clcsock (socket/keepalive.c)
 * @keepalive_probes: keepalive probes without an answer; private to @keepalive_work
 * @keepalive_acked_at: jiffies of the last ACK that @keepalive_work sent on the clcsock; initially
 *	of the start of SMC mode
 * @keepalive_since: jiffies of the last message of the peer before the first of these probes
 * @bucket: entry in the socket table
 * @bucket_num: number in its bucket; increases with each new entry, never reused
 * @deferred: set once, before the mode is DEFERRED for the first time; freed with the socket
 * @inet_destruct: IPPROTO_SMC: destructor of the inet socket, called by ours; AF_SMC: NULL
 */
struct smc_sock {
	struct inet_sock inet;
	struct smc_clcsock clcsock;
	enum smc_mode mode;
	unsigned long flags;
	spinlock_t state_lock; /* socket state; below it only that of @deferred */
	struct smc_conn *conn;
	int synced_state;
	int err_copied;
	unsigned int disconnects;
	struct smc_stats __percpu *stats;
	struct smc_hs hs;
	u32 own_reason;
	u32 peer_reason;
	s8 link_policy;
	s8 balance;
	int upgrade_bytes;
	unsigned long began_at;
	u64 began_bytes;
	struct smc_autosmc_conn autosmc;
	struct smc_listener *listener;
	struct smc_listener *parent;
	struct list_head entry;
	struct delayed_work clcsock_work;
	struct delayed_work cork_work;
	struct delayed_work keepalive_work;
	unsigned int keepalive_probes;
	unsigned long keepalive_acked_at;
	unsigned long keepalive_since;
	struct hlist_node bucket;
	u64 bucket_num;
	struct smc_deferred *deferred;
	void (*inet_destruct)(struct sock *sk);
};

/**
 * struct smc6_sock - SMC socket with IPv6 addresses
 * @smc: first
 * @inet6: last: kernel 6.1 computes its place from the end of the object
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
	return READ_ONCE(smc->clcsock.sock->ops);
}

/* True if the socket has IPv6 addresses, as a socket of AF_SMC or of IPPROTO_SMC. */
static inline bool smc_sock_is_ipv6(const struct sock *sk)
{
	return sk->sk_family == PF_INET6 ||
	       (sk->sk_family == PF_SMC && sk->sk_protocol == SMC_PROTO_IPV6);
}

/* Return the memory cgroup that is charged for the socket, or NULL. Valid as long as @sk. */
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
	/* pairs with smp_store_release(): a reader of the mode sees all that was set up for it */
	return smp_load_acquire(&smc->mode);
}

/* Return whether the clcsock is, or was at the beginning, what programs read from and write to. */
static inline bool smc_sock_begins_as_tcp(const struct smc_sock *smc)
{
	enum smc_mode mode = smc_sock_mode(smc);

	return mode == SMC_MODE_TCP || mode == SMC_MODE_DEFERRED;
}

/*
 * True if the stream goes over RDMA: in SMC mode, and after an upgrade, of which TCP may still
 * carry the bytes before S. In DEFERRED mode a snapshot; once true it stays so while the program
 * uses the socket, but for connect(AF_UNSPEC).
 */
static inline bool smc_sock_is_smc(const struct smc_sock *smc)
{
	enum smc_mode mode = smc_sock_mode(smc);

	return mode == SMC_MODE_SMC || (mode == SMC_MODE_DEFERRED && READ_ONCE(smc->conn));
}

/*
 * True while a handshake uses the clcsock. Once false, all that the handshake of a client has done
 * is seen. That of a child is over before a program knows the child.
 */
static inline bool smc_sock_is_connecting(const struct smc_sock *smc)
{
	/* pairs with clear_bit_unlock() at the end of a handshake */
	return smp_load_acquire(&smc->flags) & BIT(SMC_SF_HS);
}

/*
 * True if the mode is undecided and neither a handshake nor a listener uses the clcsock. Calls on
 * an idle socket go to the clcsock, under the socket lock and without blocking. A handshake ends
 * without the socket lock and sets the mode before it clears the flag, so read the mode last.
 */
static inline bool smc_sock_is_idle(const struct smc_sock *smc)
{
	/* pairs with clear_bit_unlock() at the end of a handshake */
	unsigned long flags = smp_load_acquire(&smc->flags);

	return !(flags & (BIT(SMC_SF_HS) | BIT(SMC_SF_LISTEN))) &&
	       smc_sock_mode(smc) == SMC_MODE_UNDECIDED;
}

/* inet_sk_state_store() is not exported to modules; this one has no trace point. */
static inline void smc_sock_store_state(struct sock *sk, int state)
{
	/* pairs with inet_sk_state_load() of the core and of sock_diag */
	smp_store_release(&sk->sk_state, state);
}

/* Set sk_state, sk_shutdown and sk_err together; @err 0 keeps sk_err. Takes state_lock. */
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

/* Add RCV_SHUTDOWN or SEND_SHUTDOWN bits. Takes state_lock. */
static inline void smc_sock_add_shutdown(struct smc_sock *smc, int how)
{
	struct sock *sk = smc_sock_sk(smc);

	spin_lock_bh(&smc->state_lock);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
	spin_unlock_bh(&smc->state_lock);
}

/*
 * Return whether SO_SNDBUF or SO_RCVBUF (@lock) shows what the program has set, whatever carries
 * the stream: on a connection that began as TCP, where the ring need not have that size.
 */
static inline bool smc_sock_shows_set_size(const struct smc_sock *smc, u8 lock)
{
	return smc->mode == SMC_MODE_DEFERRED && smc->inet.sk.sk_userlocks & lock;
}

/*
 * Show the buffer sizes of the clcsock, which TCP adapts by itself, as SO_SNDBUF and SO_RCVBUF. In
 * SMC mode the socket shows its rings, from smc_stream_start() on: the mode changes under the lock.
 */
static inline void smc_sock_show_bufsizes(struct smc_sock *smc)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);
	bool rings;

	spin_lock_bh(&smc->state_lock);
	rings = smc->mode == SMC_MODE_SMC || smc->conn;
	if (!rings || smc_sock_shows_set_size(smc, SOCK_SNDBUF_LOCK))
		WRITE_ONCE(sk->sk_sndbuf, READ_ONCE(csk->sk_sndbuf));
	if (!rings || smc_sock_shows_set_size(smc, SOCK_RCVBUF_LOCK))
		WRITE_ONCE(sk->sk_rcvbuf, READ_ONCE(csk->sk_rcvbuf));
	spin_unlock_bh(&smc->state_lock);
}

/* Return the connection with a reference, or NULL. Any context; takes state_lock. */
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
 * struct smc_sock_link - the link of a connection, for sock_diag
 * @ibname: name of the RoCE device
 * @port: port of the device
 * @num: link number
 * @gid: own GID
 * @peer_gid: the peer's GID
 * @role: enum smc_role
 * @valid: the connection has a link; else only @role is set
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
 * struct smc_sock_info - snapshot of a socket for smc_sock_for_each()
 * @sk: the socket; valid during the callback
 * @clcsock: the clcsock's struct sock, for addresses and ports; NULL: none
 * @mode: see enum smc_mode; DEFERRED is shown as what carries the stream, TCP or SMC
 * @deferred: @mode is TCP, and the connection may still change over to RDMA: no fallback
 * @server: accepted from a listener
 * @diag_state: state number of sock_diag
 * @own_reason: TCP mode: our diagnosis code
 * @peer_reason: TCP mode: the peer's diagnosis code
 * @token: our alert token; 0: no connection, all following members are 0
 * @sndbuf: bytes of the send ring
 * @rmbe: bytes of our RMBE
 * @peer_rmbe: bytes of the peer's RMBE; 0: not known yet
 * @rx_prod: received producer cursor
 * @rx_cons: received consumer cursor
 * @tx_prod: sent producer cursor
 * @tx_cons: our consumer cursor
 * @tx_prep: send ring: end of the bytes that the application has written
 * @tx_sent: send ring: end of the bytes that were posted
 * @tx_fin: send ring: end of the bytes that are completed
 * @rx_flags: connection state flags received (SMC_CDC_S_*)
 * @tx_flags: connection state flags sent
 * @tx_blocked: our last CDC message had the writer blocked flag
 * @rx_blocked: the peer's last CDC message had it
 * @link: link in use
 * @stats: statistics of the connection
 */
struct smc_sock_info {
	const struct sock *sk;
	const struct sock *clcsock;
	enum smc_mode mode;
	bool deferred;
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
	struct smc_conn_stats stats;
};

int smc_sock_init(void);
void smc_sock_exit(void);

void smc_sock_init_fields(struct sock *sk, void (*inet_destruct)(struct sock *sk));
struct sock *smc_sock_alloc(struct net *net, struct socket *sock, int protocol, int kern);
struct sock *smc_sock_alloc_child(const struct sock *parent, gfp_t gfp, int kern);
void smc_sock_set_keepalive(struct sock *sk, int on);
void smc_sock_inherit_owner(struct sock *sk, const struct sock *parent);
void smc_sock_table_add(struct smc_sock *smc);
void smc_sock_table_del(struct smc_sock *smc);
void smc_sock_get_ring_sizes(const struct smc_sock *smc, u32 *sndbuf, u32 *rcvbuf);
struct smc_sock *smc_sock_find_proven(struct net *net, const struct smc_peer *peer,
				      const struct smc_upgrade_proof *proof);

/**
 * struct smc_sock_pos - position of smc_sock_for_each() in the table; all zero: the beginning
 * @bucket: index of the bucket
 * @first: smc_sock.bucket_num of the next socket in this bucket, older ones follow; 0: the whole
 *	bucket
 */
struct smc_sock_pos {
	unsigned int bucket;
	u64 first;
};

int smc_sock_for_each(struct net *net, int protocol, struct smc_sock_pos *pos,
		      int (*fn)(const struct smc_sock_info *info, void *arg), void *arg);

#endif
