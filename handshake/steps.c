// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a handshake ends: as SMC, as TCP after a Decline, or by a reset.
 *
 * RFC 7609 appendix C.1 to C.7 says what falls back and what resets. A local failure, a Decline
 * of the peer and an unknown enumerated value fall back to TCP while a Decline can still be sent;
 * a CLC time-out and a malformed CLC message reset the connection. First contact deviates from
 * the RFC: a failure or time-out of an LLC step is answered with a Decline as long as both ends
 * can still agree on TCP (Documentation/rfc-map.rst, decision 0005).
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

static const char *hs_side_name(const struct smc_hs_ctx *ctx)
{
	return ctx->hs->server ? "server" : "client";
}

/**
 * smc_hs_fail() - end the handshake with a reset of the connection
 * @ctx: handshake
 * @err: positive errno for the application
 * @why: cause, for the log
 *
 * For cases where the two ends cannot agree on TCP any more: the peer's application might read
 * CLC messages, or the peer might use RDMA.
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
 * smc_hs_decline() - end the handshake with a fallback to TCP
 * @ctx: handshake
 * @reason: our diagnosis code, SMC_CLC_DECL_*
 *
 * Sends a Decline (RFC 7609 section A.2.5) if both ends sent the SMC option. If the Decline
 * cannot be sent, the connection is reset. Process context.
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
 * smc_hs_set_host() - set the ID of the peer host
 * @hs: handshake with a connected clcsock
 */
void smc_hs_set_host(struct smc_hs *hs)
{
	struct in6_addr peer;

	smc_carrier_peer_addr(hs->carrier, &peer);
	hs->host = smc_limit_host(&peer);
}

/**
 * smc_hs_admit() - take one of the places for concurrent handshakes
 * @ctx: handshake, before it uses memory or the RNIC
 *
 * The place is given back when the handshake ends (decision 0008).
 *
 * Return: HS_GO, or HS_END after a Decline because no place is free for this peer host.
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
	/* the peer declined after link setup had begun: the path over the RNIC does not work */
	if (ctx->llc_armed)
		smc_hs_cache_failure(ctx, decline.diag);
	/*
	 * A peer that declines does not write to our RMBE, and no other peer has its address. So
	 * the RMBE is not quarantined; otherwise Declines could use up the memory of a group.
	 */
	ctx->rmbe_announced = false;
	if (decline.out_of_sync && ctx->lgr && !ctx->first) {
		smc_core_retire(ctx->lgr, SMC_LINK_OUT_OF_SYNC);
		smc_llc_suspect(ctx->net, &ctx->lgr->peer.gid);
	}
	return HS_END;
}

/**
 * smc_hs_errno_reason() - convert an errno of a lower layer to a diagnosis code
 * @err: -errno
 * @otherwise: diagnosis code for errors without a code of their own
 *
 * Return: diagnosis code, SMC_CLC_DECL_*.
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
 * smc_hs_is_cancelled() - check whether the handshake was cancelled
 * @ctx: handshake
 *
 * Return: true if so.
 */
bool smc_hs_is_cancelled(const struct smc_hs_ctx *ctx)
{
	return READ_ONCE(ctx->hs->cancelled);
}

/**
 * smc_hs_fail_clc() - reset the connection after an error of the CLC exchange
 * @ctx: handshake
 * @rc: -errno of smc_clc_recv(), smc_clc_send() or a parser
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
 * Receive what has arrived of the next message. 1: complete, 0: not yet, -1: the handshake ended.
 * With @may_close the peer's FIN does not end the handshake: the peer may have completed the
 * handshake and its application may have closed already, while its LLC messages have not been
 * processed here yet.
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
 * smc_hs_await_clc() - wait for a CLC message
 * @ctx: handshake
 * @type: expected type
 * @timeout: jiffies
 *
 * A Decline is accepted in place of any other message (RFC 7609 section A.2.5) and ends the
 * handshake. A part of the message may be in @ctx->rx already; the caller calls
 * smc_clc_rx_reset() before the next message. Process context.
 *
 * Return: HS_GO when the message is in @ctx->rx, or HS_END.
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
 * smc_hs_await_llc() - wait for an LLC message of the first contact
 * @ctx: handshake, first contact
 * @want: SMC_LLC_FC_* bits, any of which ends the wait
 * @timeout: jiffies
 *
 * Also handles a Decline that arrives over TCP meanwhile. Process context.
 *
 * Return: HS_LLC_*; at HS_LLC_ENDED @ctx->res is set.
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

/* Set the addresses of both ends of the TCP path, IPv4 as v4-mapped. */
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
 * smc_hs_find_path() - choose the local RoCE port for the TCP path
 * @ctx: handshake with a connected clcsock
 *
 * Declines if IPsec applies to the connection. Holds the netdev until smc_hs_put_netdev(). The
 * RoCE device is not held: otherwise a peer that does not answer could delay its removal.
 *
 * Return: HS_GO when @ctx->path is set, or HS_END after a Decline.
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
	/* a netdev that is unregistered leaves dst->dev only after a grace period */
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
 * smc_hs_put_netdev() - release the netdev of the TCP path
 * @ctx: handshake, with or without the reference
 */
void smc_hs_put_netdev(struct smc_hs_ctx *ctx)
{
	if (ctx->ndev)
		netdev_put(ctx->ndev, &ctx->ndev_tracker);
	ctx->ndev = NULL;
}

/**
 * smc_hs_unpark_path() - take the reference on the device of the path again
 * @ctx: handshake
 *
 * Return: true if @ctx->path is held, false if there is no path or its device was removed.
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
 * smc_hs_fill_accept() - fill in an Accept or Confirm with our end of the connection
 * @ctx: handshake with a connection
 * @msg: out: the message
 * @confirm: a Confirm, otherwise an Accept
 *
 * Return: HS_GO, or HS_END after a Decline because the link was lost and its rkey with it.
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
	/* read after the rkey: if the address is valid, the rkey was valid too */
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
 * From here on the peer may write to our RMBE, also after an error.
 *
 * Return: 0 or -errno.
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
 * smc_hs_resolve_next_hop() - resolve the MAC of the first hop towards the peer's GID
 * @ctx: handshake with path and peer; @ctx->path is held from now on
 * @direct: out: no IP gateway on the path
 *
 * Sets @ctx->peer.mac from our neighbour table, which is more reliable than the MAC in the peer's
 * message. Process context, sleeps.
 *
 * Return: 0, or the diagnosis code to decline with.
 */
u32 smc_hs_resolve_next_hop(struct smc_hs_ctx *ctx, bool *direct)
{
	if (!smc_hs_unpark_path(ctx))
		return SMC_CLC_DECL_NO_DEV;
	if (smc_pnet_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, direct))
		return SMC_CLC_DECL_NO_ROUTE;
	/* version 1 does not support gateways */
	if (ctx->peer.version == 1 && !*direct)
		return SMC_CLC_DECL_NOT_DIRECT;
	return 0;
}

/*
 * Set the peer's end of the connection. Return false to try again: another connection has the
 * RMBE or the token, and the peer may have seen its end shortly before us.
 */
static bool hs_try_set_peer(struct smc_hs_ctx *ctx, const struct smc_conn_end *end, int *rc)
{
	*rc = smc_conn_set_peer(ctx->conn, end);
	return *rc != -EADDRINUSE || smc_hs_is_cancelled(ctx);
}

/**
 * smc_hs_set_peer_rmbe() - take the peer's RMBE and alert token from its Accept or Confirm
 * @ctx: handshake with a connection
 * @msg: checked message
 *
 * The sender of @msg need not be the peer that the group leads to (decision 0009). So an RMB that
 * was not announced over the group, and an RMBE or token of another connection, are refused
 * before anything is written to them. Waits up to T_CLAIM for the other connection to end.
 * Process context.
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
		wait_event_timeout(ctx->lgr->claims.wait, hs_try_set_peer(ctx, &end, &rc),
				   SMC_CORE_POLL);
	} while (rc == -EADDRINUSE && !smc_hs_is_cancelled(ctx) && time_before(jiffies, deadline));
	if (rc != -ENOKEY && rc != -EADDRINUSE)
		return rc;
	smc_stats_inc(ctx->net, SMC_STAT_PEER_END_BAD);
	pr_info_ratelimited("%s handshake with %pI6c: key %08x, element %u, token %08x: %s\n",
			    hs_side_name(ctx), &ctx->peer.carrier, end.rkey, end.index, end.token,
			    rc == -ENOKEY ? "that RMB was not announced over the group" :
					    "another connection has that RMBE or token");
	return rc;
}

/**
 * smc_hs_create_group() - create the link group of a first contact and its first link
 * @ctx: handshake with path and peer; the group takes over @ctx->path, also on failure
 * @role: our link group role
 * @direct: no IP gateway on the path
 *
 * @ctx holds a reference on the group and on the link afterwards, and a reserved place.
 *
 * Return: 0 or -errno.
 */
int smc_hs_create_group(struct smc_hs_ctx *ctx, enum smc_role role, bool direct)
{
	struct smc_lgr *lgr;

	ctx->has_path = false;	/* the group takes it over, also on failure */
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
 * smc_hs_create_conn() - create the connection in the place reserved for it
 * @ctx: handshake with group and link
 *
 * Process context, may wait for memory. @ctx holds a reference on the connection afterwards.
 *
 * Return: 0 or -errno; -ENOSPC: the group cannot have more RMBs.
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
 * smc_hs_decline_conn() - decline because group or connection could not be created
 * @ctx: handshake
 * @err: -errno of smc_hs_create_conn() or smc_hs_create_group()
 * @otherwise: diagnosis code for errors without a code of their own
 *
 * If the handshake was cancelled, the connection fails instead.
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
 * smc_hs_connect_link() - connect the first link of a new group
 * @ctx: handshake, first contact, with a connection
 * @peer_end: the peer's Accept or Confirm
 *
 * Moves the queue pair to RTS, registers the regions of the connection and starts the LLC
 * exchange of the first contact. Process context, sleeps.
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
 * smc_hs_refused() - check whether a rendezvous may be tried at all
 * @net: namespace
 * @peer: client: address of the server, IPv4 as v4-mapped; server: NULL
 *
 * Any context. See smc_negcache_check() for its side effect.
 *
 * Return: 0 to try, or the diagnosis code for using TCP.
 */
u32 smc_hs_refused(struct net *net, const struct in6_addr *peer)
{
	if (!READ_ONCE(smc_policy_net(net)->enabled))
		return SMC_CLC_DECL_CONFIG;
	return peer ? smc_negcache_check(net, peer) : 0;
}

/**
 * smc_hs_cache_failure() - remember the server in the negative cache
 * @ctx: handshake that ran into a deadline
 * @reason: diagnosis code for the connections that use TCP because of this
 *
 * Does nothing on a server: only the client's application has waited, and one misbehaving
 * program would make the server refuse SMC to all programs of that host. Process context.
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
 * smc_hs_succeed() - end the handshake with SMC
 * @ctx: handshake with a connection
 *
 * Activates the connection and moves the reference on it to the result.
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
 * smc_hs_finish_confirm_link() - evaluate the wait for CONFIRM LINK
 * @ctx: handshake, first contact
 * @w: result of smc_hs_await_llc()
 *
 * Activates the link. Both sides can still decline at this point.
 *
 * Return: HS_GO when the link is confirmed, or HS_END.
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
