// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rendezvous over a connected carrier: its work, its waits, how it ends, and the
 * steps that client and server share. smc_hs_client.c and smc_hs_server.c have the
 * order of the steps.
 *
 * One work item per handshake on an unbound queue, which a server's enters when the
 * Proposal has arrived. It sleeps only on its own wait queue, which the carrier, the
 * LLC layer and smc_hs_cancel() wake; every step has a deadline; no socket lock and no
 * global lock is held. How a step can end is kept out of integers: a step returns HS_GO
 * or HS_END, and at HS_END the result in the context says what the connection becomes.
 *
 * What falls back and what resets: RFC 7609 C.1 - C.7. A local failure, a Decline
 * and an unknown enumerated value fall back while a Decline may still be sent; a
 * CLC time-out and a malformed CLC message reset. First contact deviates: an LLC
 * step that fails or times out is answered with a Decline where both ends can still
 * agree on it (Documentation/rfc-map.rst).
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <net/dst.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <rdma/ib_addr.h>
#include <smc/clc.h>
#include <smc/conn.h>
#include <smc/core.h>
#include <smc/fault.h>
#include <smc/hs_priv.h>
#include <smc/limit.h>
#include <smc/llc.h>
#include <smc/pnet.h>
#include <smc/negcache.h>
#include <smc/policy.h>
#include <smc/proto/marker.h>
#include <smc/stats.h>
#include <smc/trace.h>

/*
 * At most SMC_LIMIT_TOTAL of one side sleep; the others are for those that only hear
 * that they may not. More than that is not to be had everywhere.
 */
#define HS_WORKERS	512

static_assert(HS_WORKERS > SMC_LIMIT_TOTAL);

/* One for each side: servers that do not answer our clients must not hold up our servers. */
static struct workqueue_struct *hs_wq;
static struct workqueue_struct *hs_client_wq;
/* For what never waits. */
static struct workqueue_struct *hs_look_wq;

/* ---- ways to end ------------------------------------------------------------- */

static const char *side(const struct smc_hs_ctx *ctx)
{
	return ctx->hs->server ? "server" : "client";
}

/**
 * smc_hs_fail() - the connection dies
 * @ctx: handshake
 * @err: positive errno for the application
 * @why: for the log
 *
 * For when it cannot be known what the peer's application would see.
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_fail(struct smc_hs_ctx *ctx, int err, const char *why)
{
	ctx->res.outcome = SMC_HS_FAIL;
	ctx->res.err = err;
	pr_info_ratelimited("%s handshake with %pI6c reset: %s (errno %d)\n", side(ctx),
			    &ctx->peer.gid, why, err);
	return HS_END;
}

/**
 * smc_hs_decline() - plain TCP by our decision
 * @ctx: handshake
 * @reason: diagnosis code
 *
 * Tells the peer when it expects a CLC message.
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_decline(struct smc_hs_ctx *ctx, u32 reason)
{
	struct smc_clc_decline decline = {
		.version = ctx->version,
		.out_of_sync = reason == SMC_CLC_DECL_SYNC,
		.diag = reason,
		.os = SMC_CLC_OS_LINUX,
	};
	int rc;

	ctx->res.outcome = SMC_HS_TCP;
	ctx->res.own_reason = reason;
	if (!ctx->option)
		return HS_END;
	smc_ib_peer_id(decline.peer_id);
	rc = smc_clc_build_decline(&decline, ctx->buf, sizeof(ctx->buf));
	if (rc > 0)
		rc = smc_clc_send(ctx->hs->carrier->sock, ctx->buf, rc);
	if (rc < 0)
		return smc_hs_fail(ctx, ECONNRESET, "Decline could not be sent");
	return HS_END;
}

/**
 * smc_hs_set_host() - note who the peer is
 * @hs: handshake with a connected carrier
 */
void smc_hs_set_host(struct smc_hs *hs)
{
	struct in6_addr peer;

	smc_carrier_peer_addr(hs->carrier, &peer);
	hs->host = smc_limit_host(&peer);
}

/**
 * smc_hs_admit() - a place among the handshakes that run at once
 * @ctx: handshake that is about to cost something
 *
 * Return: HS_GO, or HS_END after a Decline.
 */
enum smc_hs_next smc_hs_admit(struct smc_hs_ctx *ctx)
{
	ctx->counted = smc_limit_begin(ctx->net, ctx->hs->server, ctx->hs->host);
	if (ctx->counted)
		return HS_GO;
	smc_stats_inc(ctx->net, SMC_STAT_HS_LIMITED);
	return smc_hs_decline(ctx, SMC_CLC_DECL_HS_LIMIT);
}

static enum smc_hs_next peer_declined(struct smc_hs_ctx *ctx)
{
	struct smc_clc_decline decline;

	if (smc_clc_parse_decline(ctx->rx.buf, ctx->rx.want, &decline))
		return smc_hs_fail(ctx, ECONNRESET, "malformed Decline");
	ctx->res.outcome = SMC_HS_TCP;
	ctx->res.own_reason = SMC_CLC_DECL_PEER;
	ctx->res.peer_reason = decline.diag;
	/* the link was there, and the peer could not use it */
	if (ctx->fc)
		smc_hs_avoid(ctx, decline.diag);
	/*
	 * Who declines writes nothing to the RMBE we named, and nobody else knows of it: no
	 * quarantine, or declining would use up a group's memory.
	 */
	ctx->told = false;
	if (decline.out_of_sync && ctx->lgr && !ctx->first) {
		smc_core_retire(ctx->lgr, SMC_LINK_OUT_OF_SYNC);
		smc_llc_suspect(ctx->net, &ctx->lgr->peer.gid);
	}
	return HS_END;
}

/**
 * smc_hs_reason_of() - what the LLC or memory layer reported, as a diagnosis code
 * @err: -errno
 * @otherwise: for whatever has no code of its own
 *
 * Return: diagnosis code.
 */
u32 smc_hs_reason_of(int err, u32 otherwise)
{
	switch (err) {
	case -ENOMEM:
		return SMC_CLC_DECL_MEM;
	case -EDQUOT:
		return SMC_CLC_DECL_RMB_LIMIT;
	default:
		return otherwise;
	}
}

/* ---- waiting ----------------------------------------------------------------- */

/**
 * smc_hs_stop_asked() - was the handshake cancelled
 * @ctx: handshake
 *
 * Return: true if so.
 */
bool smc_hs_stop_asked(const struct smc_hs_ctx *ctx)
{
	return READ_ONCE(ctx->hs->cancelled);
}

/**
 * smc_hs_clc_error() - the carrier broke or said something the protocol has no place for
 * @ctx: handshake
 * @rc: what smc_clc_recv(), smc_clc_send() or a parser said
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_clc_error(struct smc_hs_ctx *ctx, int rc)
{
	ctx->clc_err = rc;
	switch (rc) {
	case -EPROTO:
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return smc_hs_fail(ctx, ECONNRESET, "not a CLC message");
	case -ENOTCONN:
	case -ECONNRESET:
		return smc_hs_fail(ctx, ECONNRESET, "peer closed the TCP connection");
	default:
		return smc_hs_fail(ctx, -rc, "TCP connection failed");
	}
}

/*
 * Takes a message in if one is there. 1: complete, 0: not yet, -1: ended. With
 * @may_close the peer's FIN is no end: its side of the handshake may be over already
 * and its application gone, while what it sent over the link is still on its way up.
 */
static int poll_clc(struct smc_hs_ctx *ctx, bool may_close)
{
	int rc = smc_clc_recv(ctx->hs->carrier->sock, &ctx->rx);

	if (!rc)
		return 0;
	if (rc == -ENOTCONN && may_close) {
		ctx->eof = true;
		return 0;
	}
	if (rc > 0)
		rc = smc_clc_peek_header(ctx->rx.buf, &ctx->head) ?: 1;
	if (rc < 0) {
		smc_hs_clc_error(ctx, rc);
		return -1;
	}
	return 1;
}

/**
 * smc_hs_await_clc() - wait for the next CLC message
 * @ctx: handshake
 * @type: which
 * @timeout: jiffies
 *
 * A Decline is accepted wherever another message is expected (RFC A.2.5). What has
 * arrived of the message already is in @ctx->rx: it is the caller's to reset.
 *
 * Return: HS_GO when the message is in @ctx->rx.
 */
enum smc_hs_next smc_hs_await_clc(struct smc_hs_ctx *ctx, enum smc_clc_type type,
				  unsigned long timeout)
{
	unsigned long deadline = jiffies + timeout;
	int rc;

	for (;;) {
		long left = deadline - jiffies;

		if (smc_hs_stop_asked(ctx))
			return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
		rc = poll_clc(ctx, false);
		if (rc < 0)
			return HS_END;
		if (rc > 0)
			break;
		if (left <= 0) {
			ctx->clc_err = -ETIMEDOUT;
			return smc_hs_fail(ctx, ETIMEDOUT, "no answer in time");
		}
		wait_event_idle_timeout(ctx->hs->wait, smc_hs_stop_asked(ctx) ||
					smc_carrier_readable(ctx->hs->carrier), left);
	}
	if (ctx->head.type == SMC_CLC_DECLINE)
		return peer_declined(ctx);
	if (ctx->head.type != type) {
		ctx->clc_err = -EPROTO;
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return smc_hs_fail(ctx, ECONNRESET, "unexpected CLC message");
	}
	return HS_GO;
}

/**
 * smc_hs_await_llc() - wait for the LLC layer
 * @ctx: handshake, first contact
 * @want: SMC_LLC_FC_* bits, any of which ends the wait
 * @timeout: jiffies
 *
 * Meanwhile a Decline may come over the carrier: the peer may give up as well.
 *
 * Return: what happened.
 */
enum smc_hs_llc smc_hs_await_llc(struct smc_hs_ctx *ctx, unsigned int want,
				 unsigned long timeout)
{
	unsigned long deadline = jiffies + timeout;
	unsigned int bits;

	for (;;) {
		long left = deadline - jiffies;
		int rc;

		if (smc_hs_stop_asked(ctx)) {
			smc_hs_fail(ctx, ECONNABORTED, "cancelled");
			return HS_LLC_ENDED;
		}
		bits = smc_llc_fc_bits(ctx->link);
		if (bits & want)
			return HS_LLC_SEEN;
		rc = ctx->eof ? 0 : poll_clc(ctx, true);
		if (rc < 0)
			return HS_LLC_ENDED;
		if (rc > 0) {
			if (ctx->head.type == SMC_CLC_DECLINE)
				peer_declined(ctx);
			else
				smc_hs_fail(ctx, ECONNRESET, "unexpected CLC message");
			return HS_LLC_ENDED;
		}
		if (bits & SMC_LLC_FC_BROKEN)
			return HS_LLC_BROKEN;
		if (left <= 0)
			return HS_LLC_TIMEOUT;
		wait_event_idle_timeout(ctx->hs->wait,
					smc_hs_stop_asked(ctx) ||
					(smc_llc_fc_bits(ctx->link) & (want | SMC_LLC_FC_BROKEN)) ||
					(!ctx->eof && smc_carrier_readable(ctx->hs->carrier)),
					left);
	}
}

/* ---- common steps ------------------------------------------------------------ */

/* Both ends of the TCP path; IPv4 in its mapped form. */
static bool carrier_addrs(struct smc_hs_ctx *ctx)
{
	struct sock *sk = ctx->sk;

	if (sk->sk_family == AF_INET ||
	    (sk->sk_family == AF_INET6 && ipv6_addr_v4mapped(&sk->sk_v6_daddr))) {
		ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr, &ctx->saddr);
		ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr, &ctx->daddr);
		return true;
	}
	ctx->saddr = sk->sk_v6_rcv_saddr;
	ctx->daddr = sk->sk_v6_daddr;
	return sk->sk_family == AF_INET6;
}

/**
 * smc_hs_find_path() - local RoCE port for the TCP path
 * @ctx: handshake
 *
 * The netdev stays held until smc_hs_drop_netdev(), the RoCE device does not: a peer
 * that is waited for could else keep somebody from removing it.
 *
 * Return: HS_GO when @ctx->path is set.
 */
enum smc_hs_next smc_hs_find_path(struct smc_hs_ctx *ctx)
{
	struct dst_entry *dst;
	bool ipsec;
	u32 reason;

	if (!carrier_addrs(ctx))
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_DEV);
	ctx->peer.carrier = ctx->daddr;
	dst = sk_dst_get(ctx->sk);
	if (!dst)
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_ROUTE);
	/* a device that goes takes its reference out of the dst, after a grace period */
	rcu_read_lock();
	ctx->ndev = READ_ONCE(dst->dev);
	netdev_hold(ctx->ndev, &ctx->ndev_tracker, GFP_ATOMIC);
	rcu_read_unlock();
	ipsec = smc_carrier_ipsec(ctx->hs->carrier, dst);
	dst_release(dst);
	if (ipsec)
		return smc_hs_decline(ctx, SMC_CLC_DECL_IPSEC);
	reason = smc_pnet_find_path(ctx->net, ctx->ndev, &ctx->saddr, &ctx->path, &ctx->gids);
	if (reason)
		return smc_hs_decline(ctx, reason);
	smc_pnet_path_park(&ctx->path);
	ctx->parked = true;
	ctx->peer.vlan = smc_pnet_vlan(ctx->ndev);
	return HS_GO;
}

/**
 * smc_hs_drop_netdev() - the netdev of the TCP path may go
 * @ctx: handshake
 */
void smc_hs_drop_netdev(struct smc_hs_ctx *ctx)
{
	if (ctx->ndev)
		netdev_put(ctx->ndev, &ctx->ndev_tracker);
	ctx->ndev = NULL;
}

/* The device of the path again, if it is still there. */
static bool take_path(struct smc_hs_ctx *ctx)
{
	if (ctx->parked) {
		ctx->parked = false;
		ctx->has_path = smc_pnet_path_unpark(&ctx->path);
	}
	return ctx->has_path;
}

static void fill_fce(struct smc_clc_fce *fce, const struct smc_peer *peer, bool direct)
{
	size_t n = strnlen(init_utsname()->nodename, SMC_HOSTNAME_LEN);

	memset(fce, 0, sizeof(*fce));
	fce->direct = direct;
	fce->os = SMC_CLC_OS_LINUX;
	fce->release = peer->release;
	memset(fce->hostname, ' ', SMC_HOSTNAME_LEN);
	memcpy(fce->hostname, init_utsname()->nodename, n);
	if (peer->release >= SMC_CLC_RELEASE_1) {
		fce->max_conns = peer->max_conns;
		fce->max_links = peer->max_links;
		smc_marker_set_fce(fce);
	}
}

/**
 * smc_hs_fill_accept() - our end of the connection, for Accept or Confirm
 * @ctx: handshake with a connection
 * @msg: result
 * @confirm: a Confirm
 *
 * Return: HS_GO, or HS_END after a Decline: the link has gone, and the keys with it.
 */
enum smc_hs_next smc_hs_fill_accept(struct smc_hs_ctx *ctx, struct smc_clc_accept *msg,
				    bool confirm)
{
	const struct smc_elem *elem = &ctx->conn->rx.elem;
	struct smc_link *link = ctx->link;

	memset(msg, 0, sizeof(*msg));
	msg->is_confirm = confirm;
	msg->version = ctx->peer.version;
	msg->first_contact = ctx->first;
	smc_ib_peer_id(msg->peer_id);
	memcpy(msg->gid, link->path.gid.gid.raw, SMC_GID_LEN);
	memcpy(msg->mac, link->path.gid.mac, SMC_MAC_LEN);
	msg->qpn = link->qp->qpn;
	msg->rkey = smc_buf_rkey(elem->region, link->slot);
	msg->rmbe_idx = elem->index;
	msg->token = ctx->conn->token;
	msg->bsize = smc_buf_size_code(elem->size);
	msg->mtu = confirm ? link->mtu : link->path.gid.mtu;
	/* after the key: while there is an address, that was one */
	msg->vaddr = smc_buf_iova(elem->region, link->slot);
	if (!msg->vaddr || smc_fault_hit(SMC_FAULT_HS_KEYS))
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_LINK);
	msg->psn = link->psn;
	if (msg->version == 1) {
		if (!confirm && ctx->peer.marker)
			smc_marker_set_v1(msg);
		return HS_GO;
	}
	memcpy(msg->eid, ctx->peer.eid, SMC_EID_LEN);
	if (!ctx->first)
		return HS_GO;
	fill_fce(&msg->fce, &ctx->peer, link->direct);
	if (confirm) {
		msg->gid_count = 1;
		memcpy(msg->gids[0], link->path.gid.gid.raw, SMC_GID_LEN);
	}
	return HS_GO;
}

/**
 * smc_hs_send_accept() - send an Accept or Confirm
 * @ctx: handshake
 * @msg: message
 *
 * Return: 0 or -errno. In both cases the peer may know our RMBE.
 */
int smc_hs_send_accept(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg)
{
	int rc = smc_clc_build_accept(msg, ctx->buf, sizeof(ctx->buf));

	if (rc < 0)
		return rc;
	ctx->told = true;
	return smc_clc_send(ctx->hs->carrier->sock, ctx->buf, rc);
}

/**
 * smc_hs_next_hop() - where packets to the peer's GID go
 * @ctx: handshake with path and peer; the peer's MAC becomes that of the first hop, the
 *	path is held from now on
 * @direct: out: no IP gateway on the way
 *
 * Our own neighbour table is a better witness than the peer's message.
 *
 * Return: 0, or the reason to decline.
 */
u32 smc_hs_next_hop(struct smc_hs_ctx *ctx, bool *direct)
{
	if (!take_path(ctx))
		return SMC_CLC_DECL_NO_DEV;
	if (smc_pnet_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, direct))
		return SMC_CLC_DECL_NO_ROUTE;
	/* version 1 knows no gateway */
	if (ctx->peer.version == 1 && !*direct)
		return SMC_CLC_DECL_NOT_DIRECT;
	return 0;
}

/**
 * smc_hs_take_peer_end() - the peer's RMBE from its Accept or Confirm
 * @ctx: handshake with a connection
 * @msg: message, judged
 *
 * Return: 0 or -errno.
 */
int smc_hs_take_peer_end(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg)
{
	return smc_conn_set_peer(ctx->conn, msg->token, smc_bsize_to_len(msg->bsize),
				 msg->rmbe_idx, msg->rkey, msg->vaddr);
}

/**
 * smc_hs_create_group() - the group of a first contact with its one link
 * @ctx: handshake with path and peer; the path is used up
 * @role: ours
 * @direct: no IP gateway on the way
 *
 * Return: 0 or -errno.
 */
int smc_hs_create_group(struct smc_hs_ctx *ctx, enum smc_role role, bool direct)
{
	struct smc_lgr *lgr;

	ctx->has_path = false;	/* the group takes it over, in failure too */
	lgr = smc_core_create(ctx->net, role, &ctx->peer, &ctx->path);
	if (IS_ERR(lgr))
		return PTR_ERR(lgr);
	ctx->lgr = lgr;
	ctx->reserved = true;
	ctx->link = smc_core_link(lgr, 0);
	if (!ctx->link)
		return -ECONNABORTED;
	ctx->link->peer_gid = ctx->peer.gid;
	memcpy(ctx->link->peer_mac, ctx->peer.mac, SMC_MAC_LEN);
	ctx->link->direct = direct;
	smc_stats_inc(ctx->net, SMC_STAT_FIRST_CONTACT);
	return 0;
}

/**
 * smc_hs_create_conn() - the connection, in the place reserved for it
 * @ctx: handshake with group and link
 *
 * Return: 0 or -errno.
 */
int smc_hs_create_conn(struct smc_hs_ctx *ctx)
{
	struct smc_conn *conn;

	conn = smc_conn_create(ctx->lgr, ctx->link, ctx->hs->sndbuf, ctx->hs->rcvbuf, !ctx->first,
			       &ctx->hs->cancelled);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ctx->reserved = false;	/* used up */
	ctx->conn = conn;
	if (smc_carrier_stamps(ctx->hs->carrier))
		smc_stamp_start(conn);
	return 0;
}

/**
 * smc_hs_no_conn() - there is no memory for the connection, or it is not wanted any more
 * @ctx: handshake
 * @err: what smc_hs_create_conn() or smc_hs_create_group() said
 * @otherwise: reason for whatever has none of its own
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_no_conn(struct smc_hs_ctx *ctx, int err, u32 otherwise)
{
	if (smc_hs_stop_asked(ctx))
		return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
	return smc_hs_decline(ctx, smc_hs_reason_of(err, otherwise));
}

/**
 * smc_hs_ready_link() - first contact: queue pair to RTS, regions registered, LLC armed
 * @ctx: handshake
 * @peer_end: the peer's Accept or Confirm
 *
 * Return: HS_GO, or HS_END after a Decline.
 */
enum smc_hs_next smc_hs_ready_link(struct smc_hs_ctx *ctx,
				   const struct smc_clc_accept *peer_end)
{
	struct smc_link *link = ctx->link;

	link->peer_qpn = peer_end->qpn;
	link->peer_psn = peer_end->psn;
	link->mtu = min(peer_end->mtu, link->path.gid.mtu);
	if (smc_link_connect(link))
		return smc_hs_decline(ctx, SMC_CLC_DECL_LINK_READY);
	if (smc_conn_register(ctx->conn))
		return smc_hs_decline(ctx, SMC_CLC_DECL_BUF_REG);
	smc_llc_fc_begin(link, &ctx->hs->wait);
	ctx->fc = true;
	return HS_GO;
}

/**
 * smc_hs_refused() - is there a reason not to try at all
 * @net: namespace
 * @peer: client: address of the server, IPv4 as v4-mapped; server: NULL
 *
 * Return: the reason to stay TCP, 0 to try.
 */
u32 smc_hs_refused(struct net *net, const struct in6_addr *peer)
{
	if (!READ_ONCE(smc_policy_net(net)->enabled))
		return SMC_CLC_DECL_CONFIG;
	return peer ? smc_negcache_check(net, peer) : 0;
}

/**
 * smc_hs_avoid() - leave the peer alone for a while
 * @ctx: handshake that ran into a deadline
 * @reason: to be told for the connections that are not tried
 *
 * Only the client remembers: it is the one whose application waited. A server that
 * did would let one bad program speak for all others of its host.
 */
void smc_hs_avoid(struct smc_hs_ctx *ctx, u32 reason)
{
	struct in6_addr peer;

	if (ctx->hs->server)
		return;
	smc_carrier_peer_addr(ctx->hs->carrier, &peer);
	smc_negcache_add(ctx->net, &peer, reason);
}

/**
 * smc_hs_succeed() - the end: SMC
 * @ctx: handshake
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_succeed(struct smc_hs_ctx *ctx)
{
	struct in6_addr peer;

	if (ctx->fc) {
		smc_llc_fc_end(ctx->link);
		ctx->fc = false;
	}
	if (!ctx->hs->server) {
		smc_carrier_peer_addr(ctx->hs->carrier, &peer);
		smc_negcache_del(ctx->net, &peer);
	}
	smc_conn_activate(ctx->conn);
	ctx->res.outcome = SMC_HS_SMC;
	ctx->res.conn = ctx->conn;
	ctx->conn = NULL;
	return HS_END;
}

/**
 * smc_hs_confirmed() - judge what the wait for CONFIRM LINK brought
 * @ctx: handshake
 * @w: result of the wait
 *
 * Both sides may still decline here.
 *
 * Return: HS_GO when the link is confirmed.
 */
enum smc_hs_next smc_hs_confirmed(struct smc_hs_ctx *ctx, enum smc_hs_llc w)
{
	switch (w) {
	case HS_LLC_SEEN:
		break;
	case HS_LLC_TIMEOUT:
		smc_hs_avoid(ctx, SMC_CLC_DECL_TIMEOUT_CL);
		return smc_hs_decline(ctx, SMC_CLC_DECL_TIMEOUT_CL);
	case HS_LLC_BROKEN:
		return smc_hs_decline(ctx, SMC_CLC_DECL_LINK_READY);
	case HS_LLC_ENDED:
		return HS_END;
	}
	if (smc_llc_fc_bits(ctx->link) & SMC_LLC_FC_EYECATCHER)
		return smc_hs_decline(ctx, SMC_CLC_DECL_RMBE_EYEC);
	smc_link_activate(ctx->link);
	smc_core_tell_link_up(ctx->link);
	return HS_GO;
}

/* ---- the work ---------------------------------------------------------------- */

/* Gives back whatever a handshake that did not end on SMC still owns. */
static void undo(struct smc_hs_ctx *ctx)
{
	if (ctx->fc)
		smc_llc_fc_end(ctx->link);
	if (ctx->conn)
		smc_conn_discard(ctx->conn, ctx->told);
	if (ctx->res.outcome != SMC_HS_SMC && ctx->first && ctx->lgr)
		smc_core_terminate(ctx->lgr, SMC_LINK_SETUP_FAILED);
	if (ctx->creator)
		smc_core_contact_done(&ctx->contact, NULL);
	if (ctx->link)
		smc_link_put(ctx->link);
	if (ctx->lgr) {
		if (ctx->reserved)
			smc_core_unreserve(ctx->lgr);
		smc_core_put(ctx->lgr);
	}
	if (take_path(ctx))
		smc_pnet_path_put(&ctx->path);
	smc_hs_drop_netdev(ctx);
	if (ctx->counted)
		smc_limit_end(ctx->net, ctx->hs->server, ctx->hs->host);
}

static void count(const struct smc_hs_ctx *ctx)
{
	bool server = ctx->hs->server;
	const struct smc_hs_result *res = &ctx->res;

	switch (res->outcome) {
	case SMC_HS_SMC:
		smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_SMC : SMC_STAT_CLNT_SMC);
		if (ctx->peer.version == 1)
			smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_V1 : SMC_STAT_CLNT_V1);
		smc_stats_handshake(ctx->net, server, ktime_get_ns() - ctx->began);
		break;
	case SMC_HS_TCP:
		smc_stats_fallback(ctx->net, server, res->own_reason);
		break;
	case SMC_HS_FAIL:
		if (!ctx->no_hs && res->err == ECONNRESET)
			smc_stats_inc(ctx->net, SMC_STAT_HS_RESET);
		if (!ctx->no_hs)
			smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_HS_ERR :
							    SMC_STAT_CLNT_HS_ERR);
		break;
	}
}

static void trace_end(const struct smc_hs_ctx *ctx)
{
	const struct smc_hs_result *res = &ctx->res;
	bool smc = res->outcome == SMC_HS_SMC;

	trace_smc_hs_end(ctx->sk, ctx->hs->server, res->outcome, res->err, res->own_reason,
			 res->peer_reason, smc ? res->conn->token : 0,
			 smc ? ctx->link->uid : 0);
}

static void hs_work(struct work_struct *work)
{
	struct smc_hs *hs = container_of(work, struct smc_hs, work);
	struct smc_hs_result none = { .outcome = SMC_HS_FAIL, .err = ENOMEM };
	struct mem_cgroup *old;
	struct smc_hs_result res;
	struct smc_hs_ctx *ctx;

	/* before anything that can end in done(): the timer would outlive the owner */
	cancel_delayed_work_sync(&hs->first_work);
	ctx = smc_fault_null(HS_CTX, kzalloc(sizeof(*ctx), GFP_KERNEL));
	if (!ctx) {
		smc_carrier_unhook(hs->carrier);
		hs->done(hs, &none);
		return;
	}
	ctx->hs = hs;
	ctx->net = hs->net;
	ctx->began = ktime_get_ns();
	ctx->sk = hs->carrier->sock->sk;
	ctx->version = 1;
	old = set_active_memcg(hs->memcg);
	hs->run(ctx);
	set_active_memcg(old);
	count(ctx);
	if (trace_smc_hs_end_enabled())
		trace_end(ctx);
	undo(ctx);
	res = ctx->res;
	kfree(ctx);
	smc_carrier_unhook(hs->carrier);
	/* the owner may free hs as soon as done() has dropped its reference */
	hs->done(hs, &res);
}

/*
 * Once: true for the first caller. Under the lock, so that who comes second finds the
 * work queued and can flush it.
 */
static bool claim(struct smc_hs *hs, bool queue)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&hs->wait.lock, flags);
	first = !test_and_set_bit(0, &hs->started);
	if (first && queue)
		queue_work(hs->server ? hs_wq : hs_client_wq, &hs->work);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	return first;
}

static void start(struct smc_hs *hs)
{
	claim(hs, true);
}

/* Have first_work look, unless the work is queued: then nobody may queue that any more. */
static void look(struct smc_hs *hs)
{
	unsigned long flags;

	spin_lock_irqsave(&hs->wait.lock, flags);
	if (!test_bit(0, &hs->started))
		mod_delayed_work(hs_look_wq, &hs->first_work, 0);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
}

/* Carrier callback; softirq or process context: only wakes or queues. */
static void carrier_changed(void *owner)
{
	struct smc_hs *hs = owner;
	int state;

	if (test_bit(0, &hs->started)) {
		wake_up(&hs->wait);
		return;
	}
	if (hs->server) {
		if (smc_carrier_readable(hs->carrier))
			look(hs);
		return;
	}
	state = smc_carrier_state(hs->carrier);
	if (state != TCP_SYN_SENT && state != TCP_SYN_RECV)
		start(hs);
}

static const struct smc_carrier_events carrier_events = {
	.changed = carrier_changed,
};

/*
 * So a client that says nothing, or drips, costs no worker that waits for it. When its
 * time is over the work finds that.
 */
static void first_look(struct work_struct *work)
{
	struct smc_hs *hs = container_of(to_delayed_work(work), struct smc_hs, first_work);
	long left = hs->deadline - jiffies;

	if (left <= 0 || smc_clc_whole(hs->carrier->sock->sk))
		start(hs);
	else
		queue_delayed_work(hs_look_wq, &hs->first_work, left);
}

/**
 * smc_hs_setup() - initialise the private members
 * @hs: handshake, zeroed
 * @run: the steps of its side
 *
 * For smc_hs_client.c and smc_hs_server.c.
 */
void smc_hs_setup(struct smc_hs *hs, void (*run)(struct smc_hs_ctx *ctx))
{
	hs->run = run;
	init_waitqueue_head(&hs->wait);
	INIT_WORK(&hs->work, hs_work);
	INIT_DELAYED_WORK(&hs->first_work, first_look);
	hs->cancelled = false;
	hs->started = 0;
}

/**
 * smc_hs_start() - begin a handshake
 * @hs: set up, carrier connecting or connected (client), or accepted (server)
 *
 * Process context. The work of a client is queued once TCP has decided, so a
 * connect() into the void costs no worker. That of a server is queued when the Proposal
 * has arrived: a silent client costs no worker either, and ends at the deadline.
 */
void smc_hs_start(struct smc_hs *hs)
{
	if (!hs->server) {
		smc_carrier_hook(hs->carrier, &carrier_events, hs);
		carrier_changed(hs);
		return;
	}
	hs->deadline = jiffies + T_CLC;
	smc_carrier_hook(hs->carrier, &carrier_events, hs);
	/* a reset may have ended it already, and the carrier is then gone: look at @hs alone */
	look(hs);
}

/**
 * smc_hs_cancel() - ask a handshake to end
 * @hs: started handshake
 *
 * Any context; done() follows, unless it has run already.
 */
void smc_hs_cancel(struct smc_hs *hs)
{
	WRITE_ONCE(hs->cancelled, true);
	start(hs);
	wake_up(&hs->wait);
}

/**
 * smc_hs_cancel_sync() - end a handshake and wait
 * @hs: set up, started or not
 *
 * Process context, not from done(). On return done() has returned or never runs.
 */
void smc_hs_cancel_sync(struct smc_hs *hs)
{
	WRITE_ONCE(hs->cancelled, true);
	if (!claim(hs, false)) {
		wake_up(&hs->wait);
		flush_work(&hs->work);
		return;
	}
	/* nobody queues it any more */
	cancel_delayed_work_sync(&hs->first_work);
	if (hs->carrier && hs->carrier->sock)
		smc_carrier_unhook(hs->carrier);
}

/**
 * smc_hs_older() - how long has a server been waiting for the Proposal
 * @hs: started handshake of a server
 * @age: jiffies
 *
 * Return: true if for @age or longer.
 */
bool smc_hs_older(const struct smc_hs *hs, unsigned long age)
{
	return time_after_eq(jiffies, READ_ONCE(hs->deadline) - T_CLC + age);
}

/**
 * smc_hs_evict() - end a handshake whose Proposal is overdue
 * @hs: started handshake of a server
 *
 * Any context. One that has just begun goes on.
 *
 * Return: true if it ends for that.
 */
bool smc_hs_evict(struct smc_hs *hs)
{
	unsigned long flags;
	bool evict;

	spin_lock_irqsave(&hs->wait.lock, flags);
	evict = !test_and_set_bit(0, &hs->started);
	if (evict) {
		WRITE_ONCE(hs->cancelled, true);
		queue_work(hs_wq, &hs->work);
	}
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	return evict;
}

static void free_queues(void)
{
	if (hs_look_wq)
		destroy_workqueue(hs_look_wq);
	if (hs_client_wq)
		destroy_workqueue(hs_client_wq);
	if (hs_wq)
		destroy_workqueue(hs_wq);
}

/**
 * smc_hs_init() - create the work queues
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_hs_init(void)
{
	const unsigned int flags = WQ_UNBOUND | WQ_HIGHPRI;
	/* some kernels divide them among the nodes */
	int n = min_t(int, HS_WORKERS * num_possible_nodes(), WQ_MAX_ACTIVE);

	hs_wq = smc_fault_null(HS_WQ, alloc_workqueue("smc_hs", flags, n));
	hs_client_wq = smc_fault_null(HS_CLIENT_WQ, alloc_workqueue("smc_hs_client", flags, n));
	hs_look_wq = smc_fault_null(HS_LOOK_WQ, alloc_workqueue("smc_hs_look", flags, 0));
	if (hs_wq && hs_client_wq && hs_look_wq)
		return 0;
	free_queues();
	return -ENOMEM;
}

/**
 * smc_hs_exit() - undo smc_hs_init(); no handshake is left
 */
void smc_hs_exit(void)
{
	free_queues();
}
