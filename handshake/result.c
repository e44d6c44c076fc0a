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
#include <smc/base/log.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/handshake/negcache.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/rdma/ib.h>
#include <smc/tcp/clc.h>
#include "internal.h"

/* A probe that is cancelled earlier says nothing of the path: a working one takes less. */
#define PROBE_CANCEL_TIME	(HZ / 2)

/**
 * smc_hs_side_name() - return the name of our side, for the log
 * @ctx: handshake
 *
 * Return: "server" or "client".
 */
const char *smc_hs_side_name(const struct smc_hs_ctx *ctx)
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
	struct in6_addr peer;

	ctx->res.outcome = SMC_HS_FAIL;
	ctx->res.err = err;
	smc_clcsock_peer_addr(ctx->hs->clcsock, &peer);
	smc_log_write(ctx->net, "%s handshake with %pI6c: reset: %s (errno %d)\n",
		      smc_hs_side_name(ctx), &peer, why, err);
	return HS_END;
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

/**
 * smc_hs_decline() - end the handshake with a fallback to TCP
 * @ctx: handshake
 * @reason: our diagnosis code
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
	smc_ib_get_peer_id(decline.peer_id);
	rc = smc_clc_build_decline(&decline, ctx->msgs->buf, sizeof(ctx->msgs->buf));
	if (rc > 0)
		rc = smc_clc_send(ctx->hs->clcsock->sock, ctx->msgs->buf, rc);
	if (rc < 0)
		return smc_hs_fail(ctx, ECONNRESET, "Decline could not be sent");
	return HS_END;
}

/**
 * smc_hs_errno_reason() - convert an errno of a lower layer to a diagnosis code
 * @err: -errno
 * @otherwise: diagnosis code for errors without a code of their own
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
	case -ENOBUFS:
		return SMC_CLC_DECL_MEM_LIMIT;
	case -EUSERS:
		return SMC_CLC_DECL_HOST_MEM;
	case -EMLINK:
		return SMC_CLC_DECL_HOST_GROUPS;
	default:
		return otherwise;
	}
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
 * smc_hs_cache_late_decline() - remember a server that declined after link setup had begun
 * @ctx: handshake
 * @diag: diagnosis code of the server
 *
 * If it waited for us in vain, or its queue pair broke, the path over the RNIC does not work; other
 * reasons concern the server's program or memory. Over smc_lo only the wait counts: at any step the
 * withdrawal of a consent breaks the link, and what the server then reports differs.
 */
void smc_hs_cache_late_decline(struct smc_hs_ctx *ctx, u32 diag)
{
	if (diag == SMC_CLC_DECL_TIMEOUT_CL || diag == SMC_CLC_DECL_TIMEOUT_AL)
		smc_hs_cache_host(ctx, diag);
	else if (ctx->path.inner)
		return;
	else if (diag == SMC_CLC_DECL_LINK_READY)
		smc_hs_cache_host(ctx, diag);
	else
		smc_hs_cache_port(ctx, diag);
}

/**
 * smc_hs_take_decline() - end the handshake with the Decline that the peer has sent
 * @ctx: handshake; the message is in @ctx->msgs->rx
 *
 * The connection falls back to TCP. If the peer reports "out of sync", it does not have the group
 * of a subsequent contact any more: the group is phased out, and all groups that lead to the
 * peer's GID are tested (RFC 7609 section A.2.5). A malformed Decline resets the connection.
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_take_decline(struct smc_hs_ctx *ctx)
{
	struct smc_clc_decline decline;

	if (smc_clc_parse_decline(ctx->msgs->rx.buf, ctx->msgs->rx.len, &decline))
		return smc_hs_fail(ctx, ECONNRESET, "malformed Decline");
	ctx->res.outcome = SMC_HS_TCP;
	ctx->res.own_reason = SMC_CLC_DECL_PEER;
	ctx->res.peer_reason = decline.diag;
	if (ctx->llc_armed)
		smc_hs_cache_late_decline(ctx, decline.diag);
	/*
	 * A peer that declines does not write to our RMBE, and no other peer has its address. So
	 * the RMBE is not quarantined; otherwise Declines could use up the memory of a group.
	 */
	ctx->rmbe_announced = false;
	if (decline.out_of_sync && ctx->lgr && !ctx->first) {
		smc_lgr_phase_out(ctx->lgr, SMC_LINK_OUT_OF_SYNC);
		smc_test_link_probe_gid(ctx->net, &ctx->lgr->peer.gid);
	}
	return HS_END;
}

/**
 * smc_hs_cache_port() - remember the server's address and port in the negative cache
 * @ctx: handshake that ran into a deadline, or whose server does not speak SMC
 * @reason: diagnosis code for the connections that use TCP because of this
 *
 * For failures that the server's program may have caused. Does nothing on a server: only the
 * client's application has waited, and one misbehaving program would make the server refuse SMC
 * to all programs of that host. Process context.
 */
void smc_hs_cache_port(struct smc_hs_ctx *ctx, u32 reason)
{
	struct smc_clcsock *clcsock = ctx->hs->clcsock;
	struct in6_addr peer;

	if (ctx->hs->server)
		return;
	smc_clcsock_peer_addr(clcsock, &peer);
	smc_negcache_add(ctx->net, &peer, smc_clcsock_peer_port(clcsock), reason);
}

/**
 * smc_hs_cache_host() - remember the server's host in the negative cache
 * @ctx: handshake that failed because nothing came over the RNIC
 * @reason: diagnosis code for the connections that use TCP because of this
 *
 * Only the port is remembered if another group works: then the RNIC can be reached, or several
 * hosts share the address. Does nothing on a server, see smc_hs_cache_port(). Process context.
 */
void smc_hs_cache_host(struct smc_hs_ctx *ctx, u32 reason)
{
	struct in6_addr peer;

	if (ctx->hs->server)
		return;
	smc_clcsock_peer_addr(ctx->hs->clcsock, &peer);
	if (smc_registry_has_host(ctx->net, &peer, true))
		smc_hs_cache_port(ctx, reason);
	else
		smc_negcache_add(ctx->net, &peer, 0, reason);
}

/**
 * smc_hs_begin_probe() - client: the Proposal is about to be sent
 * @ctx: handshake
 *
 * Process context.
 *
 * Return: HS_GO.
 */
enum smc_hs_next smc_hs_begin_probe(struct smc_hs_ctx *ctx)
{
	/* kept: a second TCP connection that fails has no port any more */
	smc_clcsock_peer_addr(ctx->hs->clcsock, &ctx->probe_addr);
	ctx->probe_port = smc_clcsock_peer_port(ctx->hs->clcsock);
	ctx->probe_at = jiffies;
	ctx->probe = smc_negcache_begin(ctx->net, &ctx->probe_addr, ctx->probe_port);
	return HS_GO;
}

/**
 * smc_hs_end_probe() - undo smc_hs_begin_probe(), after the result was recorded
 * @ctx: handshake
 *
 * Process context.
 */
void smc_hs_end_probe(struct smc_hs_ctx *ctx)
{
	bool again;

	if (!ctx->probe)
		return;
	/*
	 * A program that gives up has not waited for the deadline, but long enough to suspect the
	 * path: if all do so, each of their connections would be a probe without a result.
	 */
	again = !smc_hs_is_cancelled(ctx) ||
		time_before(jiffies, ctx->probe_at + PROBE_CANCEL_TIME);
	smc_negcache_end(ctx->net, &ctx->probe_addr, ctx->probe_port, again);
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
		smc_clcsock_peer_addr(ctx->hs->clcsock, &peer);
		smc_negcache_del(ctx->net, &peer, smc_clcsock_peer_port(ctx->hs->clcsock));
	}
	smc_conn_activate(ctx->conn);
	ctx->res.outcome = SMC_HS_SMC;
	ctx->res.conn = ctx->conn;
	ctx->conn = NULL;
	return HS_END;
}

/**
 * smc_hs_check_allowed() - check whether a rendezvous may be tried at all
 * @net: namespace
 * @peer: client: address of the server, IPv4 as v4-mapped; server: NULL
 * @port: client: TCP port of the server
 *
 * Any context.
 *
 * Return: 0 to try, or the diagnosis code for using TCP.
 */
u32 smc_hs_check_allowed(struct net *net, const struct in6_addr *peer, u16 port)
{
	if (!READ_ONCE(smc_settings_get(net)->enabled))
		return SMC_CLC_DECL_CONFIG;
	return peer ? smc_negcache_check(net, peer, port) : 0;
}
