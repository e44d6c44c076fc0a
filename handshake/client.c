// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of a client's handshake (RFC 7609 sections 3.5.1 and 3.5.2): check of the TCP
 * connection, Proposal, Accept, first or subsequent contact, Confirm, LLC. Includes the second
 * TCP connection to foreign hosts that only echo the SMC option.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <net/tcp.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/peer_caps.h>
#include <smc/rdma/path.h>
#include "internal.h"

/* TCP has connected or failed: apply the rules, and check that the peer sent the SMC option. */
static enum smc_hs_next client_check_tcp(struct smc_hs_ctx *ctx)
{
	struct smc_clcsock *clcsock = ctx->hs->clcsock;
	struct smc_rules_path path;
	int err;

	if (smc_hs_is_cancelled(ctx))
		return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
	if (smc_clcsock_state(clcsock) == TCP_CLOSE ||
	    smc_clcsock_state(clcsock) == TCP_SYN_SENT) {
		/* the application gets TCP's error; not a failed handshake, so nothing is logged */
		err = -sock_error(ctx->sk);
		ctx->res.outcome = SMC_HS_FAIL;
		ctx->res.err = err ?: ECONNREFUSED;
		ctx->tcp_failed = true;
		return HS_END;
	}
	smc_rules_path(ctx->sk, &path);
	ctx->option_agreed = smc_clcsock_option_agreed(clcsock);
	if (ctx->option_agreed && smc_hs_alloc_msgs(ctx))
		return HS_END;
	if (smc_rules_check_deny(ctx->net, &path, true))
		return smc_hs_decline(ctx, SMC_CLC_DECL_RULE);
	if (!ctx->option_agreed)
		return smc_hs_decline(ctx, SMC_CLC_DECL_PEER_NO_SMC);
	smc_hs_set_host(ctx->hs);
	return HS_GO;
}

/* Offer version 2, if we have a user EID and a RoCE v2 GID. */
static void client_offer_v2(struct smc_hs_ctx *ctx, struct smc_clc_proposal *p)
{
	struct smc_settings *sn = smc_settings_get(ctx->net);

	p->v2_type = SMC_CLC_OFFER_NONE;
	p->v2.eid_count = smc_settings_get_ueids(ctx->net, p->v2.eids);
	if (!p->v2.eid_count || !ctx->gids.v2.mtu)
		return;
	p->v2_type = SMC_CLC_OFFER_R;
	p->has_v2 = true;
	p->v2.release = SMC_CLC_RELEASE_1;
	memcpy(p->v2.gid, ctx->gids.v2.gid.raw, SMC_GID_LEN);
	p->v2.max_conns = READ_ONCE(sn->max_conns);
	p->v2.max_links = min_t(u8, READ_ONCE(sn->max_links), SMC_CLC_LINKS_MAX);
}

/*
 * Offer version 1, if the netdev has an IP prefix. The GID is a RoCE v1 GID if the port has one.
 * A port with RoCE v2 only offers its RoCE v2 GID, which only native peers accept (decision 0006).
 */
static void client_offer_v1(struct smc_hs_ctx *ctx, struct smc_clc_proposal *p)
{
	const struct smc_ib_gid *gid = ctx->gids.v1.mtu ? &ctx->gids.v1 : &ctx->gids.v2;

	/* always set: the server takes our MAC from here also for version 2 */
	memcpy(p->mac, gid->mac, SMC_MAC_LEN);
	p->v1_type = SMC_CLC_OFFER_NONE;
	if (!smc_path_write_prefixes(ctx->ndev, &ctx->saddr, p))
		return;
	p->v1_type = SMC_CLC_OFFER_R;
	memcpy(p->gid, gid->gid.raw, SMC_GID_LEN);
	if (!gid->roce_v1)
		smc_native_tag_set_v1_over_v2(p);
}

/* Send the Proposal, with both versions where possible. Releases the netdev. */
static enum smc_hs_next client_propose(struct smc_hs_ctx *ctx)
{
	struct smc_clc_proposal *p = &ctx->msgs->proposal;
	int rc;

	p->version = 2;
	smc_ib_get_peer_id(p->peer_id);
	smc_native_tag_set_proposal(p);
	smc_native_tag_set_links(p, READ_ONCE(smc_settings_get(ctx->net)->max_links));
	ctx->peer.one_port = !smc_ib_has_second_port(ctx->net);
	if (ctx->peer.one_port)
		smc_native_tag_set_one_port(p);
	if (ctx->path.inner)
		smc_native_tag_set_inner(p);
	client_offer_v2(ctx, p);
	client_offer_v1(ctx, p);
	smc_hs_put_netdev(ctx);
	if (p->v1_type == SMC_CLC_OFFER_NONE && p->v2_type == SMC_CLC_OFFER_NONE)
		return smc_hs_decline(ctx, p->v2.eid_count ? SMC_CLC_DECL_NO_DEV_R :
							     SMC_CLC_DECL_NO_UEID);

	rc = smc_clc_build_proposal(p, ctx->msgs->buf, sizeof(ctx->msgs->buf));
	if (rc < 0)
		return smc_hs_decline(ctx, SMC_CLC_DECL_INTERNAL);
	ctx->began = ktime_get_ns();
	rc = smc_clc_send(ctx->hs->clcsock->sock, ctx->msgs->buf, rc);
	if (rc)
		return smc_hs_fail_clc(ctx, rc);
	return HS_GO;
}

static bool client_offers_eid(const struct smc_hs_ctx *ctx, const u8 *eid)
{
	int i;

	for (i = 0; i < ctx->msgs->proposal.v2.eid_count; i++)
		if (!memcmp(ctx->msgs->proposal.v2.eids[i], eid, SMC_EID_LEN))
			return true;
	return false;
}

/* Check an Accept of version 2 against our offer. 0, or the diagnosis code to decline with. */
static u32 client_check_v2(struct smc_hs_ctx *ctx, const struct smc_clc_accept *a)
{
	const struct smc_clc_v2_offer *offer = &ctx->msgs->proposal.v2;
	u8 links = offer->max_links;

	if (!ctx->msgs->proposal.has_v2)
		return SMC_CLC_DECL_VERSION;
	if (!client_offers_eid(ctx, a->eid))
		return SMC_CLC_DECL_NO_UEID;
	ctx->path.gid = ctx->gids.v2;
	memcpy(ctx->peer.eid, a->eid, SMC_EID_LEN);
	if (!a->first_contact)
		return 0;
	if (a->fce.release > SMC_CLC_RELEASE_1)
		return SMC_CLC_DECL_RELEASE;
	if (a->fce.release && a->fce.max_conns > offer->max_conns)
		return SMC_CLC_DECL_MAX_CONNS;
	if (smc_peer_caps_of_fce(&a->fce) & SMC_CAP_MANY_LINKS)
		links = smc_native_tag_links(&ctx->msgs->proposal);
	if (a->fce.release && (!a->fce.max_links || a->fce.max_links > links))
		return SMC_CLC_DECL_MAX_LINKS;
	return 0;
}

/* Check an Accept of version 1, which negotiates nothing. 0, or the diagnosis code. */
static u32 client_check_v1(struct smc_hs_ctx *ctx, const struct smc_clc_accept *a)
{
	if (ctx->msgs->proposal.v1_type != SMC_CLC_OFFER_R)
		return SMC_CLC_DECL_VERSION;
	ctx->path.gid = ctx->gids.v1.mtu ? ctx->gids.v1 : ctx->gids.v2;
	ctx->peer.caps = smc_peer_caps_of_v1(a);
	/* a foreign peer takes our RoCE v2 GID for a RoCE v1 GID */
	if (!ctx->path.gid.roce_v1 && !smc_peer_can(&ctx->peer, SMC_CAP_V1_OVER_V2))
		return SMC_CLC_DECL_NO_DEV_R;
	return 0;
}

/*
 * Check that the server of a path within the host is on this host. 0, or the diagnosis code. The
 * GID need not be the address of the TCP connection: the group may have begun with another one of
 * the same netdev.
 */
static u32 client_check_inner(const struct smc_hs_ctx *ctx)
{
	const struct in6_addr *gid = (const struct in6_addr *)ctx->peer.gid.raw;

	if (!ctx->path.inner || (smc_hs_id_is_own(ctx->peer.id) && smc_ib_has_inner_gid(gid)))
		return 0;
	return SMC_CLC_DECL_NOT_INNER;
}

/**
 * smc_hs_take_accept() - parse and check the Accept, and copy version, ID, GID and MAC of the peer
 * @ctx: client's handshake with a path; the message is in @ctx->msgs->rx
 *
 * Return: HS_GO, or HS_END after a Decline or a failure.
 */
enum smc_hs_next smc_hs_take_accept(struct smc_hs_ctx *ctx)
{
	struct smc_clc_accept *a = &ctx->msgs->accept;
	u32 reason;
	int rc;

	ctx->accept_at = jiffies;
	rc = smc_clc_parse_accept(ctx->msgs->rx.buf, ctx->msgs->rx.len, a);
	if (rc == -EOPNOTSUPP)
		return smc_hs_decline(ctx, smc_clc_unsupported_reason(&ctx->msgs->head));
	if (rc)
		return smc_hs_fail_clc(ctx, -EPROTO);
	ctx->version = a->version;
	ctx->peer.version = a->version;
	reason = smc_clc_check_accept(a);
	if (!reason)
		reason = a->version == 1 ? client_check_v1(ctx, a) : client_check_v2(ctx, a);
	if (reason)
		return smc_hs_decline(ctx, reason);

	ctx->first = a->first_contact;
	memcpy(ctx->peer.id, a->peer_id, SMC_PEER_ID_LEN);
	memcpy(ctx->peer.gid.raw, a->gid, SMC_GID_LEN);
	memcpy(ctx->peer.mac, a->mac, SMC_MAC_LEN);
	reason = client_check_inner(ctx);
	return reason ? smc_hs_decline(ctx, reason) : HS_GO;
}

/* Take over the first contact extension. In version 1 it is zero, which selects the defaults. */
static void client_take_fce(struct smc_hs_ctx *ctx)
{
	const struct smc_clc_fce *fce = &ctx->msgs->accept.fce;

	ctx->peer.release = fce->release;
	ctx->peer.max_conns = fce->release ? fce->max_conns : SMC_CLC_CONNS_MAX;
	ctx->peer.max_links = fce->release ? fce->max_links : SMC_CLC_LINKS_MAX;
	ctx->peer.os = fce->os;
	if (ctx->peer.version > 1)
		ctx->peer.caps = smc_peer_caps_of_fce(fce);
	memcpy(ctx->peer.host, fce->hostname, SMC_HOSTNAME_LEN);
}

/* Take over the server's RMBE. */
static enum smc_hs_next client_take_rmbe(struct smc_hs_ctx *ctx)
{
	int rc = smc_hs_set_peer_rmbe(ctx, &ctx->msgs->accept, NULL);

	if (rc == -ECONNRESET)
		return smc_hs_take_end(ctx);
	return rc ? smc_hs_decline(ctx, SMC_CLC_DECL_RTOKEN) : HS_GO;
}

/* First contact: create group and connection, and connect the link. */
static enum smc_hs_next client_join_first(struct smc_hs_ctx *ctx)
{
	bool direct = true;
	u32 reason;
	int rc;

	client_take_fce(ctx);
	reason = smc_hs_resolve_next_hop(ctx, &direct);
	if (!reason && ctx->peer.version > 1 && direct != ctx->msgs->accept.fce.direct)
		reason = SMC_CLC_DECL_NOT_DIRECT;
	if (reason)
		return smc_hs_decline(ctx, reason);
	smc_test_link_probe_eldest(ctx->net, &ctx->peer.gid);
	rc = smc_hs_create_group(ctx, SMC_CLIENT, direct);
	/* a port that came since the Proposal was reported before this group was there */
	if (!rc && ctx->peer.one_port && smc_ib_has_second_port(ctx->net))
		smc_llc_ports_changed(ctx->lgr);
	if (!rc)
		rc = smc_hs_create_conn(ctx);
	if (rc)
		return smc_hs_decline_conn(ctx, rc, SMC_CLC_DECL_INTERNAL);
	if (client_take_rmbe(ctx))
		return HS_END;
	return smc_hs_connect_link(ctx, &ctx->msgs->accept);
}

/* Subsequent contact: find the group and link that the Accept names, and create the connection. */
static enum smc_hs_next client_join_subsequent(struct smc_hs_ctx *ctx)
{
	struct smc_lgr *lgr;
	int rc;

	lgr = smc_lgr_find_client(ctx->net, &ctx->peer, ctx->msgs->accept.qpn, jiffies + T_CONTACT,
				  &ctx->hs->cancelled, &ctx->link);
	if (!IS_ERR(lgr)) {
		ctx->lgr = lgr;
		ctx->reserved = true;
	}
	if (smc_hs_is_cancelled(ctx))
		return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
	if (lgr == ERR_PTR(-ENOENT)) {
		/* other groups that lead to this GID may be stale too */
		smc_test_link_probe_gid(ctx->net, &ctx->peer.gid);
		return smc_hs_decline(ctx, SMC_CLC_DECL_SYNC);
	}
	/* the group exists: do not report "out of sync", its other connections may be fine */
	if (IS_ERR(lgr))
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_LINK);
	rc = smc_hs_create_conn(ctx);
	if (rc)
		return smc_hs_decline_conn(ctx, rc, SMC_CLC_DECL_BUF_REG);
	return client_take_rmbe(ctx);
}

/* First contact: CONFIRM LINK, then wait for ADD LINK. */
static enum smc_hs_next client_run_llc(struct smc_hs_ctx *ctx)
{
	enum smc_hs_llc w = smc_hs_await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_LINK);

	if (smc_hs_finish_confirm_link(ctx, w))
		return HS_END;
	/* no Decline from here on: with our response the server completes the handshake */
	if (smc_llc_fc_confirm_link(ctx->link))
		return smc_hs_fail(ctx, ECONNRESET, "CONFIRM LINK response could not be sent");
	smc_llc_announce_caps(ctx->link);

	switch (smc_hs_await_llc(ctx, SMC_LLC_FC_ADD_LINK, T_ADD_LINK_CLNT)) {
	case HS_LLC_SEEN:
		break;
	case HS_LLC_TIMEOUT:
		smc_hs_cache_host(ctx, SMC_CLC_DECL_TIMEOUT_AL);
		return smc_hs_fail(ctx, ETIMEDOUT,
				   "neither ADD LINK nor Decline after CONFIRM LINK");
	case HS_LLC_BROKEN:
		/* a server that did not receive our response declines, and both ends use TCP */
		if (!ctx->path.inner)
			smc_hs_cache_host(ctx, SMC_CLC_DECL_LINK_READY);
		smc_hs_await_clc(ctx, SMC_CLC_DECLINE, T_ADD_LINK_CLNT);
		return HS_END;
	case HS_LLC_ENDED:
		return HS_END;
	}
	smc_lgr_set_ready(ctx->lgr);
	return HS_GO;
}

/*
 * Check whether the host does not support SMC, although the host or a middlebox has echoed the TCP
 * option. The server's application has then received our Proposal, and has closed the connection,
 * sent an error message, waited for more, or echoed the bytes (decision 0011).
 */
static bool client_peer_is_foreign(const struct smc_hs_ctx *ctx)
{
	switch (ctx->clc_err) {
	case -EPROTO:
		return !ctx->msgs->rx.len || ctx->msgs->head.type == SMC_CLC_PROPOSAL;
	case -ETIMEDOUT:
	case -ECONNRESET:
	case -ENOTCONN:
		return !ctx->msgs->rx.len;
	default:
		return false;
	}
}

static bool client_tcp_is_decided(struct smc_hs_ctx *ctx)
{
	int state = smc_clcsock_state(ctx->hs->clcsock);

	return state != TCP_SYN_SENT && state != TCP_SYN_RECV;
}

/*
 * Check whether the server will do the same the next time. A listener that goes resets or closes
 * the connections in their handshake too, and is no reason to avoid the next program with that
 * port; so a host to which a group leads is believed to support SMC. Silence costs a deadline each
 * time, whatever the reason is.
 */
static bool client_server_is_foreign(const struct smc_hs_ctx *ctx)
{
	return (ctx->clc_err != -ECONNRESET && ctx->clc_err != -ENOTCONN) ||
	       !smc_registry_has_host(ctx->net, &ctx->daddr, false);
}

/*
 * The server's application has read our Proposal, or the server has gone, so this TCP connection
 * is unusable. Connect again without the SMC option instead of reporting an error.
 */
static enum smc_hs_next client_reconnect(struct smc_hs_ctx *ctx)
{
	struct smc_clcsock *clcsock = ctx->hs->clcsock;
	int rc;

	ctx->option_agreed = false;
	rc = smc_clcsock_reconnect(clcsock);
	if (rc && rc != -EINPROGRESS)
		return smc_hs_fail(ctx, -rc, "second TCP connection not started");
	wait_event_idle_timeout(ctx->hs->wait,
				smc_hs_is_cancelled(ctx) || client_tcp_is_decided(ctx),
				T_RECONNECT);
	if (smc_hs_is_cancelled(ctx))
		return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
	if (!client_tcp_is_decided(ctx))
		return smc_hs_fail(ctx, ETIMEDOUT, "second TCP connection timed out");
	if (smc_clcsock_state(clcsock) == TCP_CLOSE) {
		rc = -sock_error(ctx->sk);
		return smc_hs_fail(ctx, rc ?: ECONNREFUSED, "second TCP connection failed");
	}
	if (client_server_is_foreign(ctx))
		smc_hs_cache_port(ctx, SMC_CLC_DECL_PEER_NO_SMC);
	smc_stats_inc(ctx->net, SMC_STAT_HS_AGAIN);
	return smc_hs_decline(ctx, SMC_CLC_DECL_NOT_SMC);
}

static bool client_receives_until(struct smc_hs_ctx *ctx, unsigned long deadline)
{
	return wait_event_idle_timeout(ctx->hs->wait, smc_hs_is_cancelled(ctx) ||
				       smc_clcsock_is_readable(ctx->hs->clcsock),
				       max_t(long, deadline - jiffies, 0));
}

/*
 * Wait for the server's first byte, and return how long to wait for the rest of the Accept. A host
 * that has sent nothing after T_FOREIGN may be a busy server only if a group leads to it, possibly
 * one that another handshake has created meanwhile; it then gets T_ACCEPT. After that a native
 * server may still be announcing an RMB over a group that carries messages (T_ACCEPT_BUSY).
 */
static unsigned long client_accept_timeout(struct smc_hs_ctx *ctx)
{
	unsigned long begin = jiffies, end = begin + T_ACCEPT;

	if (!client_receives_until(ctx, begin + T_FOREIGN) &&
	    !smc_registry_has_host(ctx->net, &ctx->daddr, false))
		return 0;
	if (!client_receives_until(ctx, end) &&
	    smc_registry_host_is_busy(ctx->net, &ctx->daddr, SMC_CAP_LATE_CLC, jiffies - T_CLC))
		end = begin + T_ACCEPT_BUSY;
	return max_t(long, end - jiffies, 0);
}

/* Wait for the Accept. Connect again without the option if the host does not support SMC. */
static enum smc_hs_next client_await_accept(struct smc_hs_ctx *ctx)
{
	if (!smc_hs_await_clc(ctx, SMC_CLC_ACCEPT, client_accept_timeout(ctx)))
		return HS_GO;
	if (ctx->res.outcome != SMC_HS_FAIL || smc_hs_is_cancelled(ctx))
		return HS_END;
	if (client_peer_is_foreign(ctx))
		return client_reconnect(ctx);
	if (ctx->clc_err == -ETIMEDOUT)
		smc_hs_cache_port(ctx, SMC_CLC_DECL_PEER_NO_SMC);
	return HS_END;
}

/* The steps of a client in their order. */
static void client_run(struct smc_hs_ctx *ctx)
{
	if (client_check_tcp(ctx) || smc_hs_admit(ctx) || smc_hs_find_path(ctx) ||
	    smc_hs_begin_probe(ctx) || client_propose(ctx) || client_await_accept(ctx) ||
	    smc_hs_take_accept(ctx))
		return;
	if (ctx->first ? client_join_first(ctx) : client_join_subsequent(ctx))
		return;
	if (smc_hs_fill_accept(ctx, &ctx->msgs->confirm, true))
		return;
	if (smc_hs_send_accept(ctx, &ctx->msgs->confirm)) {
		smc_hs_fail(ctx, ECONNRESET, "Confirm could not be sent");
		return;
	}
	smc_clc_rx_reset(&ctx->msgs->rx);
	if (ctx->first && client_run_llc(ctx))
		return;
	smc_hs_succeed(ctx);
}

/**
 * smc_hs_client_setup() - initialise a client's handshake
 * @hs: handshake, zeroed but for the members that its owner sets
 */
void smc_hs_client_setup(struct smc_hs *hs)
{
	hs->server = false;
	smc_hs_setup(hs, client_run);
}
