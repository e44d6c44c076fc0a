// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rendezvous: how a handshake ends, its waits, and the steps that client and server share.
 * How a step can end is kept out of integers: a step returns HS_GO or HS_END, and at HS_END the
 * result in the context says what the connection becomes.
 *
 * What falls back and what resets: RFC 7609 C.1 - C.7. A local failure, a Decline
 * and an unknown enumerated value fall back while a Decline may still be sent; a
 * CLC time-out and a malformed CLC message reset. First contact deviates: an LLC
 * step that fails or times out is answered with a Decline where both ends can still
 * agree on it (Documentation/rfc-map.rst).
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/utsname.h>
#include <net/dst.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <rdma/ib_addr.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/handshake/admission.h>
#include <smc/handshake/negcache.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/marker.h>
#include <smc/rdma/path.h>
#include <smc/tcp/clc.h>
#include "internal.h"

/* ---- ways to end ------------------------------------------------------------- */

static const char *hs_side_name(const struct smc_hs_ctx *ctx)
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
	pr_info_ratelimited("%s handshake with %pI6c reset: %s (errno %d)\n", hs_side_name(ctx),
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
	if (!ctx->option_agreed)
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
	ctx->admitted = smc_limit_begin(ctx->net, ctx->hs->server, ctx->hs->host);
	if (ctx->admitted)
		return HS_GO;
	smc_stats_inc(ctx->net, SMC_STAT_HS_LIMITED);
	return smc_hs_decline(ctx, SMC_CLC_DECL_HS_LIMIT);
}

static enum smc_hs_next hs_take_decline(struct smc_hs_ctx *ctx)
{
	struct smc_clc_decline decline;

	if (smc_clc_parse_decline(ctx->rx.buf, ctx->rx.want, &decline))
		return smc_hs_fail(ctx, ECONNRESET, "malformed Decline");
	ctx->res.outcome = SMC_HS_TCP;
	ctx->res.own_reason = SMC_CLC_DECL_PEER;
	ctx->res.peer_reason = decline.diag;
	/* the link was there, and the peer could not use it */
	if (ctx->llc_armed)
		smc_hs_cache_failure(ctx, decline.diag);
	/*
	 * Who declines writes nothing to the RMBE we named, and nobody else knows of it: no
	 * quarantine, or declining would use up a group's memory.
	 */
	ctx->rmbe_announced = false;
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
u32 smc_hs_errno_reason(int err, u32 otherwise)
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
bool smc_hs_is_cancelled(const struct smc_hs_ctx *ctx)
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
enum smc_hs_next smc_hs_fail_clc(struct smc_hs_ctx *ctx, int rc)
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
static int hs_poll_clc(struct smc_hs_ctx *ctx, bool may_close)
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
		smc_hs_fail_clc(ctx, rc);
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

		if (smc_hs_is_cancelled(ctx))
			return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
		rc = hs_poll_clc(ctx, false);
		if (rc < 0)
			return HS_END;
		if (rc > 0)
			break;
		if (left <= 0) {
			ctx->clc_err = -ETIMEDOUT;
			return smc_hs_fail(ctx, ETIMEDOUT, "no answer in time");
		}
		wait_event_idle_timeout(ctx->hs->wait, smc_hs_is_cancelled(ctx) ||
					smc_carrier_readable(ctx->hs->carrier), left);
	}
	if (ctx->head.type == SMC_CLC_DECLINE)
		return hs_take_decline(ctx);
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

		if (smc_hs_is_cancelled(ctx)) {
			smc_hs_fail(ctx, ECONNABORTED, "cancelled");
			return HS_LLC_ENDED;
		}
		bits = smc_llc_fc_bits(ctx->link);
		if (bits & want)
			return HS_LLC_SEEN;
		rc = ctx->eof ? 0 : hs_poll_clc(ctx, true);
		if (rc < 0)
			return HS_LLC_ENDED;
		if (rc > 0) {
			if (ctx->head.type == SMC_CLC_DECLINE)
				hs_take_decline(ctx);
			else
				smc_hs_fail(ctx, ECONNRESET, "unexpected CLC message");
			return HS_LLC_ENDED;
		}
		if (bits & SMC_LLC_FC_BROKEN)
			return HS_LLC_BROKEN;
		if (left <= 0)
			return HS_LLC_TIMEOUT;
		wait_event_idle_timeout(ctx->hs->wait,
					smc_hs_is_cancelled(ctx) ||
					(smc_llc_fc_bits(ctx->link) & (want | SMC_LLC_FC_BROKEN)) ||
					(!ctx->eof && smc_carrier_readable(ctx->hs->carrier)),
					left);
	}
}

/* ---- common steps ------------------------------------------------------------ */

/* Both ends of the TCP path; IPv4 in its mapped form. */
static bool hs_get_addrs(struct smc_hs_ctx *ctx)
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

	if (!hs_get_addrs(ctx))
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
void smc_hs_put_netdev(struct smc_hs_ctx *ctx)
{
	if (ctx->ndev)
		netdev_put(ctx->ndev, &ctx->ndev_tracker);
	ctx->ndev = NULL;
}

/**
 * smc_hs_take_path() - the device of the path again
 * @ctx: handshake
 *
 * Return: false if it is not there any more.
 */
bool smc_hs_unpark_path(struct smc_hs_ctx *ctx)
{
	if (ctx->parked) {
		ctx->parked = false;
		ctx->has_path = smc_pnet_path_unpark(&ctx->path);
	}
	return ctx->has_path;
}

static void hs_fill_fce(struct smc_clc_fce *fce, const struct smc_peer *peer, bool direct)
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
	hs_fill_fce(&msg->fce, &ctx->peer, link->direct);
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
	ctx->rmbe_announced = true;
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
u32 smc_hs_resolve_next_hop(struct smc_hs_ctx *ctx, bool *direct)
{
	if (!smc_hs_unpark_path(ctx))
		return SMC_CLC_DECL_NO_DEV;
	if (smc_pnet_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, direct))
		return SMC_CLC_DECL_NO_ROUTE;
	/* version 1 knows no gateway */
	if (ctx->peer.version == 1 && !*direct)
		return SMC_CLC_DECL_NOT_DIRECT;
	return 0;
}

/* Of another's? The peer may have seen the end of that one a moment before us. */
static bool hs_try_set_peer(struct smc_hs_ctx *ctx, const struct smc_conn_end *end, int *rc)
{
	*rc = smc_conn_set_peer(ctx->conn, end);
	return *rc != -EADDRINUSE || smc_hs_is_cancelled(ctx);
}

/**
 * smc_hs_take_peer_end() - the peer's RMBE from its Accept or Confirm
 * @ctx: handshake with a connection
 * @msg: message, judged
 *
 * Who sent @msg need not be who the group leads to (decision 0009): what was not told over the
 * group, or belongs to another connection of it, is refused before anything is written.
 *
 * Return: 0 or -errno.
 */
int smc_hs_set_peer_rmbe(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg)
{
	struct smc_conn_end end = {
		.token = msg->token, .size = smc_bsize_to_len(msg->bsize),
		.index = msg->rmbe_idx, .rkey = msg->rkey, .addr = msg->vaddr,
		.first = ctx->first,
	};
	unsigned long deadline = jiffies + T_CLAIM;
	int rc;

	do {
		wait_event_timeout(ctx->lgr->claims.wait, hs_try_set_peer(ctx, &end, &rc), SMC_CORE_POLL);
	} while (rc == -EADDRINUSE && !smc_hs_is_cancelled(ctx) && time_before(jiffies, deadline));
	if (rc != -ENOKEY && rc != -EADDRINUSE)
		return rc;
	smc_stats_inc(ctx->net, SMC_STAT_PEER_END_BAD);
	pr_info_ratelimited("%s handshake with %pI6c: key %08x, element %u, token %08x: %s\n",
			    hs_side_name(ctx), &ctx->peer.carrier, end.rkey, end.index, end.token,
			    rc == -ENOKEY ? "the group was not told of that memory" :
					    "another connection has that memory or token");
	return rc;
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
enum smc_hs_next smc_hs_decline_conn(struct smc_hs_ctx *ctx, int err, u32 otherwise)
{
	if (smc_hs_is_cancelled(ctx))
		return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
	return smc_hs_decline(ctx, smc_hs_errno_reason(err, otherwise));
}

/**
 * smc_hs_ready_link() - first contact: queue pair to RTS, regions registered, LLC armed
 * @ctx: handshake
 * @peer_end: the peer's Accept or Confirm
 *
 * Return: HS_GO, or HS_END after a Decline.
 */
enum smc_hs_next smc_hs_connect_link(struct smc_hs_ctx *ctx,
				   const struct smc_clc_accept *peer_end)
{
	struct smc_link *link = ctx->link;

	link->peer_qpn = peer_end->qpn;
	link->peer_psn = peer_end->psn;
	link->mtu = min(peer_end->mtu, link->path.gid.mtu);
	if (smc_link_connect(link))
		return smc_hs_decline(ctx, SMC_CLC_DECL_LINK_READY);
	if (smc_conn_mem_register(ctx->conn))
		return smc_hs_decline(ctx, SMC_CLC_DECL_BUF_REG);
	smc_llc_fc_begin(link, &ctx->hs->wait);
	ctx->llc_armed = true;
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
void smc_hs_cache_failure(struct smc_hs_ctx *ctx, u32 reason)
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

	if (ctx->llc_armed) {
		smc_llc_fc_end(ctx->link);
		ctx->llc_armed = false;
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
enum smc_hs_next smc_hs_finish_confirm_link(struct smc_hs_ctx *ctx, enum smc_hs_llc w)
{
	switch (w) {
	case HS_LLC_SEEN:
		break;
	case HS_LLC_TIMEOUT:
		smc_hs_cache_failure(ctx, SMC_CLC_DECL_TIMEOUT_CL);
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
