// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock_diag of SMC sockets, for ss and smcss: the dump of all sockets and SOCK_DESTROY. This is the
 * module smc_diag.ko, which needs smc_sock_for_each() of smc.ko and nothing else.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/smc_diag.h>
#include <uapi/linux/smc_own.h>
#include <linux/sock_diag.h>
#include <net/inet_sock.h>
#include <net/netlink.h>
#include <smc/proto/cdc_msg.h>
#include <smc/socket/sock.h>

/**
 * struct diag_dump_state - position of a dump between two calls
 * @protocol: SMC_PROTO_IPV4 or SMC_PROTO_IPV6
 * @pos: position in the table of this protocol
 */
struct diag_dump_state {
	int protocol;
	struct smc_sock_pos pos;
};

/**
 * struct diag_dump - one call of a dump
 * @skb: answer
 * @cb: state of the dump, with struct diag_dump_state
 * @req: request
 * @net_admin: whoever reads it has CAP_NET_ADMIN over the namespace
 */
struct diag_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	const struct smc_diag_req *req;
	bool net_admin;
};

static bool diag_attr_requested(const struct diag_dump *d, int attr)
{
	return d->req->diag_ext & (1 << (attr - 1));
}

/* Fill in the ID of a socket, with the addresses and ports of its clcsock. */
static void diag_fill_id(struct inet_diag_sockid *id, const struct smc_sock_info *info)
{
	const struct sock *csk = info->clcsock;

	sock_diag_save_cookie((struct sock *)info->sk, id->idiag_cookie);
	if (!csk)
		return;
	id->idiag_sport = inet_sk(csk)->inet_sport;
	id->idiag_dport = csk->sk_dport;
	id->idiag_if = csk->sk_bound_dev_if;
#if IS_ENABLED(CONFIG_IPV6)
	if (csk->sk_family == AF_INET6) {
		memcpy(id->idiag_src, &csk->sk_v6_rcv_saddr, sizeof(id->idiag_src));
		memcpy(id->idiag_dst, &csk->sk_v6_daddr, sizeof(id->idiag_dst));
		return;
	}
#endif
	id->idiag_src[0] = csk->sk_rcv_saddr;
	id->idiag_dst[0] = csk->sk_daddr;
}

static void diag_fill_msg(struct smc_diag_msg *msg, const struct smc_sock_info *info,
			  struct user_namespace *user_ns)
{
	struct sock *sk = (struct sock *)info->sk;

	memset(msg, 0, sizeof(*msg));
	msg->diag_family = sk->sk_family;
	msg->diag_state = info->diag_state;
	msg->diag_mode = info->mode == SMC_MODE_TCP ? SMC_DIAG_MODE_FALLBACK_TCP :
						      SMC_DIAG_MODE_SMCR;
	diag_fill_id(&msg->id, info);
	msg->diag_uid = from_kuid_munged(user_ns, sk_uid(sk));
	msg->diag_inode = sock_i_ino(sk);
}

static void diag_fill_cursor(struct smc_diag_cursor *to, const struct smc_cdc_cursor *from)
{
	to->wrap = from->wrap;
	to->count = from->off;
}

/*
 * Messages of the peer name the connection by its alert token. As sequence numbers of TCP, it is
 * not for every user.
 */
static int diag_put_conninfo(const struct diag_dump *d, const struct smc_sock_info *info)
{
	struct smc_diag_conninfo c = {
		.token			= d->net_admin ? info->token : 0,
		.sndbuf_size		= info->sndbuf,
		.rmbe_size		= info->rmbe,
		.peer_rmbe_size		= info->peer_rmbe,
		.rx_prod_flags		= info->rx_blocked ? SMC_CDC_F_BLOCKED : 0,
		.rx_conn_state_flags	= info->rx_flags,
		.tx_prod_flags		= info->tx_blocked ? SMC_CDC_F_BLOCKED : 0,
		.tx_conn_state_flags	= info->tx_flags,
	};

	diag_fill_cursor(&c.rx_prod, &info->rx_prod);
	diag_fill_cursor(&c.rx_cons, &info->rx_cons);
	diag_fill_cursor(&c.tx_prod, &info->tx_prod);
	diag_fill_cursor(&c.tx_cons, &info->tx_cons);
	diag_fill_cursor(&c.tx_prep, &info->tx_prep);
	diag_fill_cursor(&c.tx_sent, &info->tx_sent);
	diag_fill_cursor(&c.tx_fin, &info->tx_fin);
	return nla_put(d->skb, SMC_DIAG_CONNINFO, sizeof(c), &c);
}

static int diag_put_lgrinfo(struct sk_buff *skb, const struct smc_sock_link *link)
{
	struct smc_diag_lgrinfo l = {
		.role = link->role,
		.lnk[0] = {
			.link_id	= link->num,
			.ibport		= link->port,
		},
	};
	struct smc_diag_linkinfo *out = &l.lnk[0];

	strscpy(out->ibname, link->ibname, sizeof(out->ibname));
	snprintf(out->gid, sizeof(out->gid), "%pI6", link->gid);
	snprintf(out->peer_gid, sizeof(out->peer_gid), "%pI6", link->peer_gid);
	return nla_put(skb, SMC_DIAG_LGRINFO, sizeof(l), &l);
}

static int diag_put_times(struct sk_buff *skb, const struct smc_conn_stats *s)
{
	if (s->rtt && (nla_put_u32(skb, SMC_DIAG_STAT_RTT, s->rtt) ||
		       nla_put_u32(skb, SMC_DIAG_STAT_RTT_VAR, s->rttvar) ||
		       nla_put_u32(skb, SMC_DIAG_STAT_RTT_MIN, s->rtt_min)))
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, SMC_DIAG_STAT_RATE, s->rate, SMC_DIAG_STAT_PAD) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_CLOSED, s->closed) ||
	    nla_put_u64_64bit(skb, SMC_DIAG_STAT_CLOSED_USECS, s->closed_usecs,
			      SMC_DIAG_STAT_PAD) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_LAST_SENT, s->last_sent) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_LAST_RECEIVED, s->last_received))
		return -EMSGSIZE;
	return 0;
}

static int diag_put_moves(struct sk_buff *skb, const struct smc_conn_stats *s)
{
	if (nla_put_u32(skb, SMC_DIAG_STAT_MOVES, s->moves))
		return -EMSGSIZE;
	if (s->move_reason &&
	    (nla_put_string(skb, SMC_DIAG_STAT_MOVE_REASON, s->move_reason) ||
	     nla_put_u64_64bit(skb, SMC_DIAG_STAT_MOVE_AGE, s->move_age, SMC_DIAG_STAT_PAD)))
		return -EMSGSIZE;
	return 0;
}

/* What TCP carried of a connection that was upgraded. */
static int diag_put_tcp_bytes(struct sk_buff *skb, const struct smc_conn_stats *s)
{
	if (s->tcp_tx_known &&
	    nla_put_u64_64bit(skb, SMC_DIAG_STAT_TCP_TX, s->tcp_tx, SMC_DIAG_STAT_PAD))
		return -EMSGSIZE;
	if (s->tcp_rx_known &&
	    nla_put_u64_64bit(skb, SMC_DIAG_STAT_TCP_RX, s->tcp_rx, SMC_DIAG_STAT_PAD))
		return -EMSGSIZE;
	return 0;
}

static int diag_put_stats(struct sk_buff *skb, const struct smc_conn_stats *s)
{
	struct nlattr *nest = nla_nest_start(skb, SMC_DIAG_OWN_STATS);

	if (!nest ||
	    nla_put_u64_64bit(skb, SMC_DIAG_STAT_TX_BYTES, s->tx_bytes, SMC_DIAG_STAT_PAD) ||
	    nla_put_u64_64bit(skb, SMC_DIAG_STAT_RX_BYTES, s->rx_bytes, SMC_DIAG_STAT_PAD) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_TX_QUEUE, s->tx_queue) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_RX_QUEUE, s->rx_queue) ||
	    nla_put_u64_64bit(skb, SMC_DIAG_STAT_TX_AGAIN, s->tx_again, SMC_DIAG_STAT_PAD) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_TX_MSGS, s->tx_msgs) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_RX_MSGS, s->rx_msgs) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_TX_DATA_MSGS, s->tx_data_msgs) ||
	    nla_put_u32(skb, SMC_DIAG_STAT_RX_DATA_MSGS, s->rx_data_msgs) ||
	    diag_put_times(skb, s) || diag_put_moves(skb, s) || diag_put_tcp_bytes(skb, s))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int diag_put_attrs(const struct diag_dump *d, const struct smc_sock_info *info)
{
	struct smc_diag_fallback fback = {
		.reason		= info->own_reason,
		.peer_diagnosis	= info->peer_reason,
	};
	int rc;

	rc = nla_put_u8(d->skb, SMC_DIAG_SHUTDOWN, READ_ONCE(info->sk->sk_shutdown));
	if (!rc)
		rc = nla_put(d->skb, SMC_DIAG_FALLBACK, sizeof(fback), &fback);
	if (!rc && info->deferred)
		rc = nla_put_flag(d->skb, SMC_DIAG_OWN_DEFERRED);
	if (!rc && info->token && diag_attr_requested(d, SMC_DIAG_CONNINFO))
		rc = diag_put_conninfo(d, info);
	if (!rc && info->link.valid && diag_attr_requested(d, SMC_DIAG_LGRINFO))
		rc = diag_put_lgrinfo(d->skb, &info->link);
	if (!rc && info->token && d->req->diag_ext & SMC_DIAG_OWN_EXT)
		rc = diag_put_stats(d->skb, &info->stats);
	return rc;
}

/* Put one socket; called under a spinlock. Non-zero: no room, the socket goes to the next skb. */
static int diag_dump_one(const struct smc_sock_info *info, void *arg)
{
	struct diag_dump *d = arg;
	struct nlmsghdr *nlh;

	nlh = nlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid, d->cb->nlh->nlmsg_seq,
			d->cb->nlh->nlmsg_type, sizeof(struct smc_diag_msg), NLM_F_MULTI);
	if (!nlh)
		return -EMSGSIZE;
	diag_fill_msg(nlmsg_data(nlh), info, sk_user_ns(NETLINK_CB(d->cb->skb).sk));
	if (diag_put_attrs(d, info)) {
		nlmsg_cancel(d->skb, nlh);
		return -EMSGSIZE;
	}
	nlmsg_end(d->skb, nlh);
	return 0;
}

static int diag_dump_sockets(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct diag_dump d = {
		.skb = skb,
		.cb = cb,
		.req = nlmsg_data(cb->nlh),
		/* of who opened the netlink socket, and of this reader; no spinlock is held */
		.net_admin = netlink_net_capable(cb->skb, CAP_NET_ADMIN),
	};
	struct net *net = sock_net(skb->sk);
	struct diag_dump_state state;
	int rc = 0;

	/* a copy: cb->ctx is aligned for long only */
	BUILD_BUG_ON(sizeof(state) > sizeof(cb->ctx));
	memcpy(&state, cb->ctx, sizeof(state));
	for (; state.protocol <= SMC_PROTO_IPV6; state.protocol++) {
		rc = smc_sock_for_each(net, state.protocol, &state.pos, diag_dump_one, &d);
		if (rc)
			break;
		state.pos = (struct smc_sock_pos){};
	}
	memcpy(cb->ctx, &state, sizeof(state));
	/* an error with an empty skb: a socket that never fits must not cause an endless dump */
	return skb->len ?: rc;
}

static int diag_handle_dump(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	struct net *net = sock_net(skb->sk);
	struct netlink_dump_control control = {
		.dump	= diag_dump_sockets,
	};

	if (nlmsg_len(nlh) < sizeof(struct smc_diag_req))
		return -EINVAL;
	if (!(nlh->nlmsg_flags & NLM_F_DUMP))
		return 0;
	return netlink_dump_start(net->diag_nlsk, skb, nlh, &control);
}

/* ---- SOCK_DESTROY ------------------------------------------------------------ */

/**
 * struct diag_search - search for the socket of a request
 * @id: its ID, as shown by the dump
 * @csk: result: struct sock of its clcsock, with a reference
 */
struct diag_search {
	const struct inet_diag_sockid *id;
	struct sock *csk;
};

/* True if @id names the socket. Without a port only the cookie identifies it and is required. */
static bool diag_sock_matches(const struct inet_diag_sockid *id, const struct smc_sock_info *info)
{
	struct inet_diag_sockid is = {};

	diag_fill_id(&is, info);
	if (id->idiag_sport != is.idiag_sport || id->idiag_dport != is.idiag_dport ||
	    id->idiag_if != is.idiag_if ||
	    memcmp(id->idiag_src, is.idiag_src, sizeof(is.idiag_src)) ||
	    memcmp(id->idiag_dst, is.idiag_dst, sizeof(is.idiag_dst)))
		return false;
	if (!is.idiag_sport && id->idiag_cookie[0] == INET_DIAG_NOCOOKIE &&
	    id->idiag_cookie[1] == INET_DIAG_NOCOOKIE)
		return false;
	return !sock_diag_check_cookie((struct sock *)info->sk, id->idiag_cookie);
}

/* Called under a spinlock, so the socket is in the table and its clcsock exists. */
static int diag_take_match(const struct smc_sock_info *info, void *arg)
{
	struct diag_search *s = arg;

	if (!info->clcsock || !diag_sock_matches(s->id, info))
		return 0;
	s->csk = (struct sock *)info->clcsock;
	sock_hold(s->csk);
	return 1;
}

/*
 * SOCK_DESTROY: close the clcsock. That ends the SMC socket too: a connection aborts, a listener
 * stops. The clcsock is in the same namespace, so CAP_NET_ADMIN there is sufficient.
 */
static int diag_handle_destroy(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	const struct smc_diag_req *req = nlmsg_data(nlh);
	struct net *net = sock_net(skb->sk);
	struct diag_search s = { .id = &req->id };
	struct smc_sock_pos pos = {};
	int rc;

	if (nlmsg_len(nlh) < sizeof(*req))
		return -EINVAL;
	if (!netlink_net_capable(skb, CAP_NET_ADMIN))
		return -EPERM;
	if (!smc_sock_for_each(net, SMC_PROTO_IPV4, &pos, diag_take_match, &s)) {
		pos = (struct smc_sock_pos){};
		smc_sock_for_each(net, SMC_PROTO_IPV6, &pos, diag_take_match, &s);
	}
	if (!s.csk)
		return -ENOENT;
	rc = sock_diag_destroy(s.csk, ECONNABORTED);
	sock_put(s.csk);
	return rc;
}

static const struct sock_diag_handler diag_handler = {
#ifdef SMC_HAVE_SOCK_DIAG_OWNER	/* without it a mutex keeps the module */
	.owner		= THIS_MODULE,
#endif
	.family		= AF_SMC,
	.dump		= diag_handle_dump,
	.destroy	= diag_handle_destroy,
};

static int __init smc_diag_init(void)
{
	return sock_diag_register(&diag_handler);
}

static void __exit smc_diag_exit(void)
{
	sock_diag_unregister(&diag_handler);
}

module_init(smc_diag_init);
module_exit(smc_diag_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("SMC socket monitoring via sock_diag");
MODULE_VERSION(SMC_VERSION);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_NETLINK, NETLINK_SOCK_DIAG, 43 /* AF_SMC */);
