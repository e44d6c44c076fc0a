// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server's side of the rendezvous (RFC 7609 3.5.1, 3.5.2).
 */
#include <linux/jiffies.h>
#include <smc/conn.h>
#include <smc/core.h>
#include <smc/hs_priv.h>
#include <smc/llc.h>
#include <smc/pnet.h>
#include <smc/policy.h>
#include <smc/proto/marker.h>
#include <smc/stats.h>

/* Judges the Proposal: version 2 with a common EID. */
static enum smc_hs_next server_proposal(struct smc_hs_ctx *ctx)
{
	struct smc_clc_proposal *p = &ctx->proposal;
	struct smc_net *sn = smc_policy_net(ctx->net);
	u32 reason;
	int rc;

	ctx->option = true;
	ctx->version = ctx->head.version > 1 ? 2 : 1;
	rc = smc_clc_parse_proposal(ctx->rx.buf, ctx->rx.want, p);
	if (rc == -EOPNOTSUPP)
		return smc_hs_decline(ctx, smc_clc_unsupported(&ctx->head));
	if (rc)
		return smc_hs_clc_error(ctx, -EPROTO);
	reason = smc_clc_check_proposal(p);
	if (reason)
		return smc_hs_decline(ctx, reason);
	if (!p->has_v2 || (p->v2_type != SMC_CLC_OFFER_R && p->v2_type != SMC_CLC_OFFER_BOTH))
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_DEV_R);
	if (!smc_policy_ueid_match(ctx->net, p->v2.eids, p->v2.eid_count, ctx->peer.eid))
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_UEID);

	memcpy(ctx->peer.id, p->peer_id, SMC_PEER_ID_LEN);
	memcpy(ctx->peer.gid.raw, p->v2.gid, SMC_GID_LEN);
	ctx->peer.version = 2;
	ctx->peer.marker = smc_marker_of_proposal(p);
	ctx->peer.release = min_t(u8, p->v2.release, SMC_CLC_RELEASE_1);
	ctx->peer.max_conns = SMC_CLC_CONNS_MAX;
	ctx->peer.max_links = SMC_CLC_LINKS_MAX;
	if (!ctx->peer.release)
		return HS_GO;
	ctx->peer.max_conns = min(READ_ONCE(sn->max_conns), p->v2.max_conns);
	ctx->peer.max_links = min3(READ_ONCE(sn->max_links), p->v2.max_links,
				   (u8)SMC_CLC_LINKS_MAX);
	if (ctx->peer.max_conns < SMC_CLC_CONNS_MIN)
		return smc_hs_decline(ctx, SMC_CLC_DECL_MAX_CONNS);
	if (ctx->peer.max_links < SMC_CLC_LINKS_MIN)
		return smc_hs_decline(ctx, SMC_CLC_DECL_MAX_LINKS);
	return HS_GO;
}

/* Existing group or first contact, then the connection in it. */
static enum smc_hs_next server_group(struct smc_hs_ctx *ctx)
{
	bool direct = true;
	int rc;

	rc = smc_core_contact_begin(ctx->net, &ctx->peer, jiffies + T_GROUP,
				    &ctx->hs->cancelled, &ctx->contact);
	if (smc_hs_stop_asked(ctx)) {
		ctx->creator = !rc && !ctx->contact.lgr;
		if (!rc && ctx->contact.lgr) {
			ctx->lgr = ctx->contact.lgr;
			ctx->link = ctx->contact.link;
			ctx->reserved = true;
		}
		return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
	}
	if (rc)
		return smc_hs_decline(ctx, smc_hs_reason_of(rc, SMC_CLC_DECL_INTERNAL));
	if (ctx->contact.lgr) {
		ctx->lgr = ctx->contact.lgr;
		ctx->link = ctx->contact.link;
		ctx->reserved = true;
	} else {
		ctx->creator = true;
		ctx->first = true;
		rc = smc_pnet_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, &direct);
		if (rc)
			return smc_hs_decline(ctx, SMC_CLC_DECL_NO_ROUTE);
		rc = smc_hs_create_group(ctx, SMC_SERVER, direct);
		if (rc)
			return smc_hs_decline(ctx, smc_hs_reason_of(rc, SMC_CLC_DECL_INTERNAL));
	}
	rc = smc_hs_create_conn(ctx);
	if (rc)
		return smc_hs_decline(ctx, smc_hs_reason_of(rc, SMC_CLC_DECL_BUF_REG));
	return HS_GO;
}

static enum smc_hs_next server_confirm(struct smc_hs_ctx *ctx)
{
	struct smc_clc_accept *c = &ctx->confirm;
	u32 reason = 0;
	int rc;

	rc = smc_clc_parse_accept(ctx->rx.buf, ctx->rx.want, c);
	if (rc == -EOPNOTSUPP)
		return smc_hs_decline(ctx, smc_clc_unsupported(&ctx->head));
	if (rc)
		return smc_hs_clc_error(ctx, -EPROTO);
	if (c->version != 2 || c->first_contact != ctx->first ||
	    memcmp(c->eid, ctx->peer.eid, SMC_EID_LEN)) {
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return smc_hs_fail(ctx, ECONNRESET, "Confirm does not answer the Accept");
	}
	if (ctx->first) {
		reason = smc_clc_check_accept(c);
		if (!reason && c->fce.release != ctx->peer.release)
			reason = SMC_CLC_DECL_RELEASE;
		if (!reason && ctx->peer.release && c->fce.max_conns != ctx->peer.max_conns)
			reason = SMC_CLC_DECL_MAX_CONNS;
		if (!reason && ctx->peer.release && c->fce.max_links != ctx->peer.max_links)
			reason = SMC_CLC_DECL_MAX_LINKS;
		if (!reason && memcmp(c->gid, ctx->peer.gid.raw, SMC_GID_LEN))
			reason = SMC_CLC_DECL_LINK_UNKNOWN;
		if (reason)
			return smc_hs_decline(ctx, reason);
	}
	if (smc_hs_take_peer_end(ctx, c)) {
		/* after a subsequent Accept nothing may be declined (wire rules) */
		if (ctx->first)
			return smc_hs_decline(ctx, SMC_CLC_DECL_RTOKEN);
		return smc_hs_fail(ctx, ECONNRESET, "the client's RMB cannot be taken");
	}
	return HS_GO;
}

/* CONFIRM LINK, repeated once for clients that drop an early one, then ADD LINK. */
static enum smc_hs_next server_llc(struct smc_hs_ctx *ctx)
{
	enum smc_hs_llc w;

	smc_clc_rx_reset(&ctx->rx);
	if (smc_llc_fc_confirm_link(ctx->link))
		return smc_hs_decline(ctx, SMC_CLC_DECL_LINK_READY);
	w = smc_hs_await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_AGAIN);
	if (w == HS_LLC_TIMEOUT && !smc_llc_fc_confirm_link(ctx->link))
		w = smc_hs_await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_LINK - T_CONFIRM_AGAIN);
	if (smc_hs_confirmed(ctx, w))
		return HS_END;

	/* the client is in: no way back; an unanswered ADD LINK is no failure */
	if (smc_llc_fc_add_link(ctx->link))
		return smc_hs_fail(ctx, ECONNRESET, "ADD LINK could not be sent");
	switch (smc_hs_await_llc(ctx, SMC_LLC_FC_ADD_LINK, T_ADD_LINK_SRV)) {
	case HS_LLC_SEEN:
	case HS_LLC_TIMEOUT:
		break;
	case HS_LLC_BROKEN:
		return smc_hs_fail(ctx, ECONNRESET, "link lost during first contact");
	case HS_LLC_ENDED:
		return HS_END;
	}
	smc_core_contact_done(&ctx->contact, ctx->lgr);
	ctx->creator = false;
	return HS_GO;
}

/*
 * In-tree clients finish one handshake at a time and hold all others back meanwhile,
 * so of many at once the last Confirm takes long. The peer gets the longer time as
 * long as its link shows that it is at work.
 */
static enum smc_hs_next await_confirm(struct smc_hs_ctx *ctx)
{
	unsigned long end = jiffies + T_CONFIRM_BUSY;

	smc_clc_rx_reset(&ctx->rx);
	for (;;) {
		long left = wait_event_idle_timeout(ctx->hs->wait, smc_hs_stop_asked(ctx) ||
				smc_carrier_readable(ctx->hs->carrier), T_CLC);

		if (left || ctx->first || time_after_eq(jiffies, end) ||
		    time_after(jiffies, READ_ONCE(ctx->link->last_rx) + T_CLC))
			break;
	}
	/* whatever is there now is all there will be, but for the rest of one message */
	return smc_hs_await_clc(ctx, SMC_CLC_CONFIRM,
				smc_carrier_readable(ctx->hs->carrier) ? T_CLC : 0);
}

static void server_run(struct smc_hs_ctx *ctx)
{
	struct smc_hs *hs = ctx->hs;
	long left;

	/* the time a silent client took before its first byte counts */
	left = max_t(long, hs->deadline - jiffies, 0);
	ctx->option = true;
	ctx->version = 1;
	if (smc_hs_await_clc(ctx, SMC_CLC_PROPOSAL, left) || server_proposal(ctx))
		return;
	if (hs->force_tcp) {
		smc_hs_decline(ctx, hs->force_tcp);
		return;
	}
	if (smc_hs_find_path(ctx) || server_group(ctx))
		return;
	smc_hs_fill_accept(ctx, &ctx->accept, false);
	if (smc_hs_send_accept(ctx, &ctx->accept)) {
		smc_hs_fail(ctx, ECONNRESET, "Accept could not be sent");
		return;
	}
	if (await_confirm(ctx) || server_confirm(ctx))
		return;
	if (ctx->first && (smc_hs_ready_link(ctx, &ctx->confirm) || server_llc(ctx)))
		return;
	smc_hs_succeed(ctx);
}

/**
 * smc_hs_server_setup() - prepare the server's handshake
 * @hs: handshake, zeroed
 */
void smc_hs_server_setup(struct smc_hs *hs)
{
	hs->server = true;
	smc_hs_setup(hs, server_run);
}
