// SPDX-License-Identifier: GPL-2.0-only
/* The SMC socket: allocation, identity, the table that observers walk. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
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
#include <smc/conn/tx.h>
#include <smc/lgr/lgr.h>
#include <smc/socket/sock.h>
#include "keepalive.h"

#define SOCK_TABLE_BITS	8
#define SOCK_TABLE_SIZE	BIT(SOCK_TABLE_BITS)

/**
 * struct sock_bucket - one chain of the table
 * @lock: taken in process context only; the observers' callback runs under it
 * @head: struct smc_sock.bucket, the youngest first
 * @made: number of the youngest
 */
struct sock_bucket {
	spinlock_t lock; /* all of it */
	struct hlist_head head;
	u64 made;
};

static struct sock_bucket sock_table[2][SOCK_TABLE_SIZE];

/* ---- protos ------------------------------------------------------------------ */

/**
 * smc_sock_keepalive() - SO_KEEPALIVE where core does not bring the option to us (6.1)
 * @sk: our socket, locked
 * @on: value
 */
void smc_sock_keepalive(struct sock *sk, int on)
{
	struct sock *csk = smc_sk(sk)->carrier.sock->sk;

	lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
	if (csk->sk_prot->keepalive)
		csk->sk_prot->keepalive(csk, on);
	sock_valbool_flag(csk, SOCK_KEEPOPEN, on);
	release_sock(csk);
	smc_keep_changed(smc_sk(sk));
}

static struct proto smc_prot = {
	.name		= "SMC",
	.owner		= THIS_MODULE,
	.keepalive	= smc_sock_keepalive,
	.obj_size	= sizeof(struct smc_sock),
};

static struct proto smc6_prot = {
	.name		= "SMC6",
	.owner		= THIS_MODULE,
	.keepalive	= smc_sock_keepalive,
	.obj_size	= sizeof(struct smc6_sock),
#ifdef SMC_HAVE_IPV6_PINFO_OFFSET
	.ipv6_pinfo_offset = offsetof(struct smc6_sock, inet6),
#endif
};

/* ---- allocation -------------------------------------------------------------- */

/*
 * Any context: the last reference may be the network's. Everything that sleeps was
 * done at release.
 */
static void sock_destruct(struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	WARN_ON_ONCE(smc->conn);
	WARN_ON_ONCE(smc->carrier.sock);
	/* completions of sends that nobody asked for */
	__skb_queue_purge(&sk->sk_error_queue);
	if (!smc->inet_destruct)
		return;
	/* it insists on both; a child may go before anybody has accepted it */
	smc_sock_store_state(sk, TCP_CLOSE);
	sock_set_flag(sk, SOCK_DEAD);
	smc->inet_destruct(sk);
}

/*
 * The carrier's lock is taken under ours, and is a lock of AF_INET or AF_INET6, too. Those
 * of AF_SMC have a class already.
 */
static void sock_set_lock_class(struct sock *sk)
{
	static struct lock_class_key key, slock_key;

	sock_lock_init_class_and_name(sk, "slock-IPPROTO_SMC", &slock_key, "sk_lock-IPPROTO_SMC",
				      &key);
}

/**
 * smc_sock_setup() - our part of a new socket
 * @sk: fresh from sock_init_data(), its family and protocol set
 * @inet_destruct: an inet socket's destructor; NULL for AF_SMC
 */
void smc_sock_setup(struct sock *sk, void (*inet_destruct)(struct sock *sk))
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
	smc->seen = -1;
	INIT_LIST_HEAD(&smc->entry);
	INIT_HLIST_NODE(&smc->bucket);
}

static struct sock *sock_alloc_sk(struct net *net, int family, struct proto *prot, gfp_t gfp, int kern)
{
	return smc_fault_null(SOCK, sk_alloc(net, family, gfp, prot, kern));
}

/**
 * smc_sock_alloc() - allocate and initialise a socket of AF_SMC without a carrier
 * @net: namespace
 * @sock: application's socket
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
	smc_sock_setup(sk, NULL);
	return sk;
}

/**
 * smc_sock_alloc_child() - allocate and initialise a socket that waits for accept()
 * @parent: listener, whose family and protocol it has
 * @gfp: flags
 * @kern: as given to accept()
 *
 * Return: the socket with one reference, or NULL.
 */
struct sock *smc_sock_alloc_child(const struct sock *parent, gfp_t gfp, int kern)
{
	struct sock *sk = sock_alloc_sk(sock_net(parent), parent->sk_family, parent->sk_prot, gfp, kern);

	if (!sk)
		return NULL;
	sock_init_data(NULL, sk);
	sk->sk_protocol = parent->sk_protocol;
	smc_sock_setup(sk, smc_sk(parent)->inet_destruct);
	return sk;
}

/**
 * smc_sock_inherit() - whose socket a child is: that of its listener's owner
 * @sk: child that nobody else knows yet
 * @parent: listener
 *
 * A worker made it, in the root of all cgroups. An ordinary TCP child is a copy of its
 * listener; its carrier is one, too.
 */
void smc_sock_inherit(struct sock *sk, const struct sock *parent)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	struct cgroup *old = sock_cgroup_ptr(&sk->sk_cgrp_data);
	struct cgroup *cgrp = sock_cgroup_ptr((struct sock_cgroup_data *)&parent->sk_cgrp_data);

	/* it may have been removed since: the listener's reference keeps it */
	cgroup_get(cgrp);
	cgroup_bpf_get(cgrp);
	sk->sk_cgrp_data = parent->sk_cgrp_data;
	cgroup_bpf_put(old);
	cgroup_put(old);
#endif
#ifdef CONFIG_MEMCG
	if (!sk->sk_memcg && parent->sk_memcg) {
		css_get(&parent->sk_memcg->css);
		sk->sk_memcg = parent->sk_memcg;
	}
#endif
	sk->sk_uid = parent->sk_uid;
	/* what accept() then makes the label of an inet socket's inode */
	security_sk_clone(parent, sk);
}

/* ---- table ------------------------------------------------------------------- */

static struct sock_bucket *sock_bucket_of(struct smc_sock *smc)
{
	return &sock_table[smc_sock_is_ipv6(smc_sock_sk(smc))][hash_ptr(smc, SOCK_TABLE_BITS)];
}

/**
 * smc_sock_hash() - show the socket to observers
 * @smc: socket with a carrier
 */
void smc_sock_hash(struct smc_sock *smc)
{
	struct sock_bucket *b = sock_bucket_of(smc);
	struct sock *sk = &smc->inet.sk;

	spin_lock(&b->lock);
	if (hlist_unhashed(&smc->bucket)) {
		smc->bucket_num = ++b->made;
		hlist_add_head(&smc->bucket, &b->head);
		/* /proc/net/protocols */
		sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);
	}
	spin_unlock(&b->lock);
}

/**
 * smc_sock_unhash() - hide the socket; on return no observer looks at it
 * @smc: socket
 */
void smc_sock_unhash(struct smc_sock *smc)
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
	if (smc_sock_mode(smc) == SMC_MODE_TCP)
		return inet_sk_state_load(smc->carrier.sock->sk) == TCP_CLOSE ?
		       SMC_DIAG_STATE_CLOSED : SMC_DIAG_STATE_ACTIVE;
	return SMC_DIAG_STATE_INIT;
}

static void sock_info_cursors(struct smc_sock_info *info, const struct smc_ring_tx *tx,
			      const struct smc_ring_rx *rx)
{
	smc_cursor_from_pos(rx->produced, rx->size, &info->rx_prod);
	smc_ring_rx_cursor(rx, &info->tx_cons);
	smc_cursor_from_pos(tx->prepared, tx->size, &info->tx_prep);
	smc_cursor_from_pos(tx->sent, tx->size, &info->tx_sent);
	smc_cursor_from_pos(tx->completed, tx->size, &info->tx_fin);
	/* the peer's element is known once the handshake has told it */
	if (tx->peer_size) {
		smc_cursor_from_pos(tx->peer_consumed, tx->peer_size, &info->rx_cons);
		smc_cursor_from_pos(tx->sent, tx->peer_size, &info->tx_prod);
	}
}

/* Everything below conn->lock in one piece, so that the positions fit together. */
static void sock_info_conn(struct smc_sock_info *info, struct smc_conn *conn)
{
	struct smc_link *link;

	spin_lock_bh(&conn->lock);
	info->token = conn->token;
	info->sndbuf = conn->tx.elem.size;
	info->rmbe = conn->rx.elem.size;
	info->peer_rmbe = conn->tx.peer_size;
	sock_info_cursors(info, &conn->tx.ring, &conn->rx.ring);
	info->rx_flags = conn->rx.peer_state;
	info->tx_flags = conn->tx.state;
	info->tx_blocked = conn->tx.told_blocked;
	info->rx_blocked = conn->rx.ring.peer_blocked;
	info->link.role = conn->role;
	link = conn->link;
	if (link) {
		info->link.valid = true;
		info->link.num = link->num;
		info->link.port = link->path.port;
		memcpy(info->link.gid, link->path.gid.gid.raw, sizeof(info->link.gid));
		memcpy(info->link.peer_gid, link->peer_gid.raw, sizeof(info->link.peer_gid));
		smc_ib_name(link->path.dev, info->link.ibname);
	}
	spin_unlock_bh(&conn->lock);
}

static void sock_info_fill(struct smc_sock_info *info, struct smc_sock *smc)
{
	struct smc_conn *conn = smc_sock_conn_get(smc);

	memset(info, 0, sizeof(*info));
	info->sk = smc_sock_sk(smc);
	info->carrier = smc->carrier.sock ? smc->carrier.sock->sk : NULL;
	info->mode = smc_sock_mode(smc);
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
 * smc_sock_walk() - visit the sockets of a namespace and address family
 * @net: namespace, NULL: all
 * @protocol: SMC_PROTO_IPV4 or SMC_PROTO_IPV6; those of IPPROTO_SMC are among them
 * @pos: where to begin (all zero at first); where it stopped afterwards
 * @fn: called under a spinlock; non-zero stops at this socket
 * @arg: for @fn
 *
 * Sockets that come or go between two calls may be missed; those that stay are seen once.
 *
 * Return: 0 at the end, else what @fn returned.
 */
int smc_sock_walk(struct net *net, int protocol, struct smc_sock_pos *pos,
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
				/* from this one on: those before it are younger */
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
EXPORT_SYMBOL_GPL(smc_sock_walk);

/* ---- who holds the module ---- */

static const char *sock_mode_name(const struct smc_sock_info *info)
{
	if (info->diag_state == SMC_DIAG_STATE_LISTEN)
		return "listen";
	switch (info->mode) {
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
 * Every socket keeps the module from being removed, whatever its namespace, and nobody
 * can enter all of these to ask for theirs.
 */
static int sock_show_holders(struct seq_file *m, void *v)
{
	struct smc_sock_pos pos4 = {}, pos6 = {};

	seq_puts(m, "netns inode uid mode\n");
	smc_sock_walk(NULL, SMC_PROTO_IPV4, &pos4, sock_show_holder, m);
	smc_sock_walk(NULL, SMC_PROTO_IPV6, &pos6, sock_show_holder, m);
	return 0;
}

/* ---- module ------------------------------------------------------------------ */

/**
 * smc_sock_init() - register the protos
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

/** smc_sock_exit() - unregister the protos; no socket is left */
void smc_sock_exit(void)
{
	remove_proc_entry("smc_holders", init_net.proc_net);
	proto_unregister(&smc6_prot);
	proto_unregister(&smc_prot);
}
