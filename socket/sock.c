// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SMC socket: allocation, protos, the table of all sockets, and /proc/net/smc_holders. The
 * table serves sock_diag. What other parts of the kernel see of an SMC socket:
 * Documentation/decisions/0002-socket-identity-and-state.md.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/bpf.h>
#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/memcontrol.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/link_pick.h>
#include <smc/socket/sock.h>
#include "keepalive.h"

#define SOCK_TABLE_BITS	8
#define SOCK_TABLE_SIZE	BIT(SOCK_TABLE_BITS)

/**
 * struct sock_bucket - one bucket of the socket table
 * @lock: protects the bucket; process context only; the callback of smc_sock_for_each() runs under
 *	it
 * @head: struct smc_sock.bucket, the newest first
 * @last_num: number of the newest entry
 */
struct sock_bucket {
	spinlock_t lock; /* the whole bucket */
	struct hlist_head head;
	u64 last_num;
};

static struct sock_bucket sock_table[2][SOCK_TABLE_SIZE];

/* ---- protos ------------------------------------------------------------------ */

/**
 * smc_sock_set_keepalive() - proto.keepalive: SO_KEEPALIVE set by the core (6.1, bpf_setsockopt())
 * @sk: SMC socket, locked
 * @on: value of the option
 *
 * Passes the option on to the clcsock and to the connection. The core sets SOCK_KEEPOPEN of @sk
 * after this call. A BPF program runs under RCU, so nothing is passed on while the lock of the
 * clcsock is taken.
 */
void smc_sock_set_keepalive(struct sock *sk, int on)
{
	struct smc_clcsock *clcsock = &smc_sk(sk)->clcsock;
	struct sock *csk = clcsock->sock->sk;
	bool in_bpf = has_current_bpf_ctx();

	if (!in_bpf)
		lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
	else if (!smc_clcsock_try_lock(clcsock))
		return;
	if (csk->sk_prot->keepalive)
		csk->sk_prot->keepalive(csk, on);
	sock_valbool_flag(csk, SOCK_KEEPOPEN, on);
	if (in_bpf)
		smc_clcsock_unlock(clcsock);
	else
		release_sock(csk);
	smc_keepalive_options_changed(smc_sk(sk));
}

static struct proto smc_prot = {
	.name		= "SMC",
	.owner		= THIS_MODULE,
	.keepalive	= smc_sock_set_keepalive,
	.obj_size	= sizeof(struct smc_sock),
};

static struct proto smc6_prot = {
	.name		= "SMC6",
	.owner		= THIS_MODULE,
	.keepalive	= smc_sock_set_keepalive,
	.obj_size	= sizeof(struct smc6_sock),
#ifdef SMC_HAVE_IPV6_PINFO_OFFSET
	.ipv6_pinfo_offset = offsetof(struct smc6_sock, inet6),
#endif
};

/* ---- allocation -------------------------------------------------------------- */

/* Any context: an upcall in softirq may drop the last reference. Release did all that sleeps. */
static void sock_destruct(struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	WARN_ON_ONCE(smc->conn);
	WARN_ON_ONCE(smc->clcsock.sock);
	/* MSG_ZEROCOPY completions that the application has not read */
	__skb_queue_purge(&sk->sk_error_queue);
	kfree(smc->deferred);
	if (!smc->inet_destruct)
		return;
	/* inet_sock_destruct() requires both; a child may end before accept() */
	smc_sock_store_state(sk, TCP_CLOSE);
	sock_set_flag(sk, SOCK_DEAD);
	smc->inet_destruct(sk);
}

/*
 * Give a socket of IPPROTO_SMC a lockdep class of its own: the clcsock's lock is taken under it and
 * has the class of the same family. AF_SMC has a class already.
 */
static void sock_set_lock_class(struct sock *sk)
{
	static struct lock_class_key key, slock_key;

	sock_lock_init_class_and_name(sk, "slock-IPPROTO_SMC", &slock_key, "sk_lock-IPPROTO_SMC",
				      &key);
}

/**
 * smc_sock_init_fields() - initialise the SMC part of a new socket
 * @sk: socket after sock_init_data(), family and protocol set
 * @inet_destruct: IPPROTO_SMC: destructor of inet sockets; AF_SMC: NULL
 *
 * The socket has no clcsock yet.
 */
void smc_sock_init_fields(struct sock *sk, void (*inet_destruct)(struct sock *sk))
{
	struct smc_sock *smc = smc_sk(sk);

	sk->sk_type = SOCK_STREAM;
	sk->sk_destruct = sock_destruct;
	smc_sock_store_state(sk, TCP_CLOSE);
	smc->inet_destruct = inet_destruct;
	if (inet_destruct)
		sock_set_lock_class(sk);
#if IS_ENABLED(CONFIG_IPV6)
	if (smc_sock_is_ipv6(sk))
		smc->inet.pinet6 = &container_of(smc, struct smc6_sock, smc)->inet6;
#endif
	spin_lock_init(&smc->state_lock);
	smc_clcsock_init_users(&smc->clcsock);
	smc->synced_state = -1;
	smc->link_policy = SMC_LINK_POLICY_NET;
	smc->balance = SMC_BALANCE_NET;
	smc->upgrade_bytes = SMC_UPGRADE_BYTES_NET;
	smc->stats = smc_stats_of(sock_net(sk));
	INIT_LIST_HEAD(&smc->entry);
	INIT_HLIST_NODE(&smc->bucket);
}

static struct sock *sock_alloc_sk(struct net *net, int family, struct proto *prot, gfp_t gfp,
				  int kern)
{
	return smc_fault_null(SOCK, sk_alloc(net, family, gfp, prot, kern));
}

/**
 * smc_sock_alloc() - allocate and initialise a socket of AF_SMC without a clcsock
 * @net: namespace
 * @sock: the application's struct socket
 * @protocol: SMC_PROTO_IPV4 or SMC_PROTO_IPV6
 * @kern: as given to create
 *
 * Return: the socket with one reference, or NULL.
 */
struct sock *smc_sock_alloc(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct proto *prot = protocol == SMC_PROTO_IPV6 ? &smc6_prot : &smc_prot;
	struct sock *sk = sock_alloc_sk(net, PF_SMC, prot, GFP_KERNEL, kern);

	if (!sk)
		return NULL;
	sock_init_data(sock, sk);
	sk->sk_protocol = protocol;
	smc_sock_init_fields(sk, NULL);
	return sk;
}

/**
 * smc_sock_alloc_child() - allocate and initialise a socket for accept(), without a clcsock
 * @parent: listener; the child gets its family, protocol and struct proto
 * @gfp: allocation flags
 * @kern: as given to accept()
 *
 * Return: the socket with one reference, or NULL.
 */
struct sock *smc_sock_alloc_child(const struct sock *parent, gfp_t gfp, int kern)
{
	struct sock *sk = sock_alloc_sk(sock_net(parent), parent->sk_family, parent->sk_prot, gfp,
					kern);

	if (!sk)
		return NULL;
	sock_init_data(NULL, sk);
	sk->sk_protocol = parent->sk_protocol;
	smc_sock_init_fields(sk, smc_sk(parent)->inet_destruct);
	return sk;
}

/**
 * smc_sock_inherit_owner() - give a child the cgroups, the owner and the LSM label of its listener
 * @sk: child, not visible to other contexts yet
 * @parent: listener
 *
 * A TCP child is a copy of its listener, and so is the clcsock of @sk. @sk itself was allocated by
 * a worker, which runs in the root cgroup, or by a caller of accept().
 */
void smc_sock_inherit_owner(struct sock *sk, const struct sock *parent)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	struct cgroup *old = sock_cgroup_ptr(&sk->sk_cgrp_data);
	struct cgroup *cgrp = sock_cgroup_ptr((struct sock_cgroup_data *)&parent->sk_cgrp_data);

	/* cgroup_get() is safe even if the cgroup was removed: the listener has a reference */
	cgroup_get(cgrp);
	cgroup_bpf_get(cgrp);
	sk->sk_cgrp_data = parent->sk_cgrp_data;
	cgroup_bpf_put(old);
	cgroup_put(old);
#endif
#ifdef CONFIG_MEMCG
	if (sk->sk_memcg != parent->sk_memcg) {
		if (parent->sk_memcg)
			css_get(&parent->sk_memcg->css);
		if (sk->sk_memcg)
			css_put(&sk->sk_memcg->css);
		sk->sk_memcg = parent->sk_memcg;
	}
#endif
	sk->sk_uid = parent->sk_uid;
	/* accept() copies this label to the inode of an inet socket */
	security_sk_clone(parent, sk);
}

/* ---- table ------------------------------------------------------------------- */

static struct sock_bucket *sock_bucket_of(struct smc_sock *smc)
{
	return &sock_table[smc_sock_is_ipv6(smc_sock_sk(smc))][hash_ptr(smc, SOCK_TABLE_BITS)];
}

/**
 * smc_sock_table_add() - add a socket to the table
 * @smc: socket with a clcsock; added once only
 *
 * Process context.
 */
void smc_sock_table_add(struct smc_sock *smc)
{
	struct sock_bucket *b = sock_bucket_of(smc);
	struct sock *sk = &smc->inet.sk;

	spin_lock(&b->lock);
	if (hlist_unhashed(&smc->bucket)) {
		smc->bucket_num = ++b->last_num;
		hlist_add_head(&smc->bucket, &b->head);
		/* /proc/net/protocols */
		sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);
	}
	spin_unlock(&b->lock);
}

/**
 * smc_sock_table_del() - remove a socket from the table
 * @smc: socket, in the table or not; before its clcsock is released
 *
 * Process context. After return no callback of smc_sock_for_each() uses the socket.
 */
void smc_sock_table_del(struct smc_sock *smc)
{
	struct sock_bucket *b = sock_bucket_of(smc);
	struct sock *sk = &smc->inet.sk;

	spin_lock(&b->lock);
	if (!hlist_unhashed(&smc->bucket)) {
		hlist_del_init(&smc->bucket);
		sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	}
	spin_unlock(&b->lock);
}

static u8 sock_diag_state(struct smc_sock *smc, const struct smc_conn *conn)
{
	if (conn)
		return smc_conn_state_diag(smc_conn_state(conn));
	if (inet_sk_state_load(smc_sock_sk(smc)) == TCP_LISTEN)
		return SMC_DIAG_STATE_LISTEN;
	if (smc_sock_begins_as_tcp(smc))
		return inet_sk_state_load(smc->clcsock.sock->sk) == TCP_CLOSE ?
		       SMC_DIAG_STATE_CLOSED : SMC_DIAG_STATE_ACTIVE;
	return SMC_DIAG_STATE_INIT;
}

/* @sndbuf: size of the send ring, which is smaller at first: the cursors shall not tell. */
static void sock_info_cursors(struct smc_sock_info *info, const struct smc_ring_tx *tx,
			      const struct smc_ring_rx *rx, u32 sndbuf)
{
	smc_cursor_from_pos(rx->produced, rx->size, &info->rx_prod);
	smc_ring_rx_get_cursor(rx, &info->tx_cons);
	smc_cursor_from_pos(tx->prepared, sndbuf, &info->tx_prep);
	smc_cursor_from_pos(tx->sent, sndbuf, &info->tx_sent);
	smc_cursor_from_pos(tx->completed, sndbuf, &info->tx_fin);
	/* 0 until the handshake has received the size of the peer's RMBE */
	if (tx->peer_size) {
		smc_cursor_from_pos(tx->peer_consumed, tx->peer_size, &info->rx_cons);
		smc_cursor_from_pos(tx->sent, tx->peer_size, &info->tx_prod);
	}
}

/* Read everything under one conn->lock, so that the cursors are consistent. */
static void sock_info_conn(struct smc_sock_info *info, struct smc_conn *conn)
{
	struct smc_link *link;

	spin_lock_bh(&conn->lock);
	info->token = conn->token;
	info->sndbuf = conn->tx.want;
	info->rmbe = conn->rx.elem.size;
	info->peer_rmbe = conn->tx.peer_size;
	sock_info_cursors(info, &conn->tx.ring, &conn->rx.ring, info->sndbuf);
	info->rx_flags = conn->rx.peer_state;
	info->tx_flags = conn->tx.state;
	info->tx_blocked = conn->tx.sent_blocked;
	info->rx_blocked = conn->rx.ring.peer_blocked;
	smc_tcpinfo_get_stats(conn, &info->stats);
	info->link.role = conn->role;
	link = conn->link;
	if (link) {
		info->link.valid = true;
		info->link.num = link->num;
		info->link.port = link->path.port;
		memcpy(info->link.gid, link->path.gid.gid.raw, sizeof(info->link.gid));
		memcpy(info->link.peer_gid, link->peer_gid.raw, sizeof(info->link.peer_gid));
		smc_ib_device_name(link->path.dev, info->link.ibname);
	}
	spin_unlock_bh(&conn->lock);
}

static void sock_info_fill(struct smc_sock_info *info, struct smc_sock *smc)
{
	struct smc_conn *conn = smc_sock_conn_get(smc);

	memset(info, 0, sizeof(*info));
	info->sk = smc_sock_sk(smc);
	info->clcsock = smc->clcsock.sock ? smc->clcsock.sock->sk : NULL;
	info->mode = smc_sock_mode(smc);
	info->deferred = info->mode == SMC_MODE_DEFERRED && !conn;
	if (info->mode == SMC_MODE_DEFERRED)
		info->mode = conn ? SMC_MODE_SMC : SMC_MODE_TCP;
	info->server = test_bit(SMC_SF_SERVER, &smc->flags);
	info->diag_state = sock_diag_state(smc, conn);
	info->own_reason = smc->own_reason;
	info->peer_reason = smc->peer_reason;
	if (conn) {
		sock_info_conn(info, conn);
		smc_conn_put(conn);
	}
}

/**
 * smc_sock_for_each() - call a function for each socket of a namespace and address family
 * @net: namespace; NULL: all
 * @protocol: SMC_PROTO_IPV4 or SMC_PROTO_IPV6; includes the sockets of IPPROTO_SMC
 * @pos: position to start from, all zero for the first call; updated to the socket at which @fn
 *	stopped the walk
 * @fn: called under the spinlock of a bucket; non-zero stops the walk at this socket
 * @arg: passed to @fn
 *
 * Process context. A walk in several calls may miss sockets that are created or released in
 * between; it visits every other socket once.
 *
 * Return: 0 at the end of the table, else what @fn returned.
 */
int smc_sock_for_each(struct net *net, int protocol, struct smc_sock_pos *pos,
		      int (*fn)(const struct smc_sock_info *info, void *arg), void *arg)
{
	struct smc_sock_info info;
	struct smc_sock *smc;
	int rc = 0;

	for (; pos->bucket < SOCK_TABLE_SIZE; pos->bucket++, pos->first = 0) {
		struct sock_bucket *b = &sock_table[protocol == SMC_PROTO_IPV6][pos->bucket];

		spin_lock(&b->lock);
		hlist_for_each_entry(smc, &b->head, bucket) {
			if ((pos->first && smc->bucket_num > pos->first) ||
			    (net && !net_eq(sock_net(smc_sock_sk(smc)), net)))
				continue;
			sock_info_fill(&info, smc);
			rc = fn(&info, arg);
			if (rc) {
				/* continue with this socket: the list is sorted, newest first */
				pos->first = smc->bucket_num;
				break;
			}
		}
		spin_unlock(&b->lock);
		if (rc)
			return rc;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(smc_sock_for_each);

/* ---- connections that a client wants to continue over a group ------------------ */

static bool sock_get_deferred_server(struct smc_clcsock *c)
{
	struct smc_sock *smc = container_of(c, struct smc_sock, clcsock);

	/* the owner is another one during a handshake, and after close() */
	if (c->owner != smc || smc_sock_mode(smc) != SMC_MODE_DEFERRED || !c->first_known ||
	    !test_bit(SMC_SF_SERVER, &smc->flags))
		return false;
	sock_hold(smc_sock_sk(smc));
	return true;
}

/**
 * smc_sock_find_proven() - find the server's socket that an UPGRADE request names
 * @net: namespace of the group
 * @peer: the group's peer: addresses and netdev
 * @proof: ports and first sequence numbers, from the request
 *
 * Finds hooked clcsocks whose first sequence numbers are noted. The caller gives the same answer
 * for each reason to find none. Process context, takes no lock that a program can hold.
 *
 * Return: a deferred socket of a server for which the proof is right, with a reference on its sock,
 * or NULL.
 */
struct smc_sock *smc_sock_find_proven(struct net *net, const struct smc_peer *peer,
				      const struct smc_upgrade_proof *proof)
{
	struct smc_clcsock_ends ends = {
		.own = peer->own_addr, .peer = peer->tcp_addr,
		.own_port = proof->server_port, .peer_port = proof->client_port,
		.ifindex = peer->own_ifindex,
	};
	struct smc_clcsock *c = smc_clcsock_find(net, &ends, sock_get_deferred_server);
	struct smc_upgrade_proof ours = *proof;
	struct smc_sock *smc;

	if (!c)
		return NULL;
	smc = container_of(c, struct smc_sock, clcsock);
	ours.client_seq = c->first_rx;
	ours.server_seq = c->first_tx;
	if (smc_upgrade_proof_matches(&ours, proof))
		return smc;
	sock_put(smc_sock_sk(smc));
	return NULL;
}

/* ---- rings -------------------------------------------------------------------- */

/**
 * smc_sock_get_ring_sizes() - return the ring sizes of a connection to come
 * @smc: socket with a clcsock
 * @sndbuf: result: bytes of the send ring, from SO_SNDBUF or net.smc.wmem
 * @rcvbuf: result: bytes of the RMBE, from SO_RCVBUF or net.smc.rmem
 */
void smc_sock_get_ring_sizes(const struct smc_sock *smc, u32 *sndbuf, u32 *rcvbuf)
{
	const struct sock *csk = smc->clcsock.sock->sk;
	const struct smc_settings *sn = smc_settings_get(sock_net(csk));

	/* the core stores twice the requested size */
	*sndbuf = csk->sk_userlocks & SOCK_SNDBUF_LOCK ? READ_ONCE(csk->sk_sndbuf) / 2 :
							 READ_ONCE(sn->wmem);
	*rcvbuf = csk->sk_userlocks & SOCK_RCVBUF_LOCK ? READ_ONCE(csk->sk_rcvbuf) / 2 :
							 READ_ONCE(sn->rmem);
}

/* ---- /proc/net/smc_holders --------------------------------------------------- */

static const char *sock_mode_name(const struct smc_sock_info *info)
{
	if (info->diag_state == SMC_DIAG_STATE_LISTEN)
		return "listen";
	switch (info->mode) {
	case SMC_MODE_DEFERRED:	/* shown as what it is now */
	case SMC_MODE_TCP:
		return "tcp";
	case SMC_MODE_SMC:
		return "smc";
	case SMC_MODE_UNDECIDED:
		break;
	}
	return "undecided";
}

static int sock_show_holder(const struct smc_sock_info *info, void *arg)
{
	struct sock *sk = (struct sock *)info->sk;
	struct seq_file *m = arg;

	seq_printf(m, "%u %lu %u %s\n", sock_net(sk)->ns.inum, (unsigned long)sock_i_ino(sk),
		   from_kuid_munged(seq_user_ns(m), sk_uid(sk)), sock_mode_name(info));
	return 0;
}

/*
 * List the sockets of all namespaces: each one holds the module, and an administrator cannot enter
 * every namespace to find them.
 */
static int sock_show_holders(struct seq_file *m, void *v)
{
	struct smc_sock_pos pos4 = {}, pos6 = {};

	seq_puts(m, "netns inode uid mode\n");
	smc_sock_for_each(NULL, SMC_PROTO_IPV4, &pos4, sock_show_holder, m);
	smc_sock_for_each(NULL, SMC_PROTO_IPV6, &pos6, sock_show_holder, m);
	return 0;
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_sock_init() - initialise the table, register the protos and /proc/net/smc_holders
 *
 * Return: 0 or -errno.
 */
int __init smc_sock_init(void)
{
	unsigned int i;
	int rc;

	for (i = 0; i < SOCK_TABLE_SIZE; i++) {
		spin_lock_init(&sock_table[0][i].lock);
		spin_lock_init(&sock_table[1][i].lock);
	}
	rc = smc_fault_rc(PROTO4, -ENOBUFS, proto_register(&smc_prot, 1));
	if (rc)
		return rc;
	rc = smc_fault_rc(PROTO6, -ENOBUFS, proto_register(&smc6_prot, 1));
	if (rc)
		goto out_proto;
	if (!smc_fault_null(SOCK_PROC, proc_create_single("smc_holders", 0400, init_net.proc_net,
							  sock_show_holders)) &&
	    IS_ENABLED(CONFIG_PROC_FS)) {
		rc = -ENOMEM;
		goto out_proto6;
	}
	return 0;
out_proto6:
	proto_unregister(&smc6_prot);
out_proto:
	proto_unregister(&smc_prot);
	return rc;
}

/** smc_sock_exit() - undo smc_sock_init(); no socket is left */
void smc_sock_exit(void)
{
	remove_proc_entry("smc_holders", init_net.proc_net);
	proto_unregister(&smc6_prot);
	proto_unregister(&smc_prot);
}
