// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of a server's handshake (RFC 7609 sections 3.5.1 and 3.5.2): Proposal, choice of the
 * version, link group, Accept, Confirm, LLC.
 */
#include <linux/jiffies.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/conn.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/peer_caps.h>
#include <smc/rdma/path.h>
#include "internal.h"

static bool server_is_offered_rdma(u8 type)
{
	return type == SMC_CLC_OFFER_R || type == SMC_CLC_OFFER_BOTH;
}

/* Parse the Proposal. */
static enum smc_hs_next server_take_proposal(struct smc_hs_ctx *ctx)
{
	u32 reason;
	int rc;

	ctx->option_agreed = true;
	ctx->version = ctx->msgs->head.version > 1 ? 2 : 1;
	rc = smc_clc_parse_proposal(ctx->msgs->rx.buf, ctx->msgs->rx.len, &ctx->msgs->proposal);
	if (rc == -EOPNOTSUPP)
		return smc_hs_decline(ctx, smc_clc_unsupported_reason(&ctx->msgs->head));
	if (rc)
		return smc_hs_fail_clc(ctx, -EPROTO);
	reason = smc_clc_check_proposal(&ctx->msgs->proposal);
	return reason ? smc_hs_decline(ctx, reason) : HS_GO;
}

/* Negotiate release and limits, the smaller ones of both sides. 0, or the diagnosis code. */
static u32 server_negotiate_limits(struct smc_hs_ctx *ctx, const struct smc_clc_v2_offer *offer)
{
	u8 links = smc_native_tag_links(&ctx->msgs->proposal) ?:
		   min_t(u8, offer->max_links, SMC_CLC_LINKS_MAX);
	struct smc_settings *sn = smc_settings_get(ctx->net);
	struct smc_peer *peer = &ctx->peer;

	peer->release = min_t(u8, offer->release, SMC_CLC_RELEASE_1);
	if (!peer->release)
		return 0;
	peer->max_conns = min(READ_ONCE(sn->max_conns), offer->max_conns);
	peer->max_links = min(READ_ONCE(sn->max_links), links);
	if (peer->max_conns < SMC_CLC_CONNS_MIN)
		return SMC_CLC_DECL_MAX_CONNS;
	if (peer->max_links < SMC_CLC_LINKS_MIN)
		return SMC_CLC_DECL_MAX_LINKS;
	return 0;
}

/* Check whether version 2 is possible: common EID, RoCE v2 GID. 0, or the diagnosis code. */
static u32 server_check_v2(struct smc_hs_ctx *ctx)
{
	const struct smc_clc_proposal *p = &ctx->msgs->proposal;

	if (!server_is_offered_rdma(p->v2_type))
		return SMC_CLC_DECL_VERSION;
	if (!p->has_v2)
		return SMC_CLC_DECL_NO_V2_EXT;
	if (!smc_settings_match_ueid(ctx->net, p->v2.eids, p->v2.eid_count, ctx->peer.eid))
		return SMC_CLC_DECL_NO_UEID;
	return ctx->gids.v2.mtu ? 0 : SMC_CLC_DECL_NO_DEV_R;
}

/*
 * Check whether version 1 is possible: common IP prefix, and a GID of the RoCE version that the
 * client uses. 0, or the diagnosis code.
 */
static u32 server_check_v1(struct smc_hs_ctx *ctx)
{
	struct smc_clc_proposal *p = &ctx->msgs->proposal;

	if (!server_is_offered_rdma(p->v1_type))
		return SMC_CLC_DECL_VERSION;
	if (!smc_path_match_prefixes(ctx->ndev, &ctx->daddr, p))
		return SMC_CLC_DECL_PREFIX;
	ctx->path.gid = smc_native_tag_v1_over_v2(p) ? ctx->gids.v2 : ctx->gids.v1;
	return ctx->path.gid.mtu ? 0 : SMC_CLC_DECL_NO_DEV_R;
}

/* Take version 1 and the client's end of it; @ctx->path has our GID for it. */
static void server_use_v1(struct smc_hs_ctx *ctx)
{
	const struct smc_clc_proposal *p = &ctx->msgs->proposal;
	struct smc_peer *peer = &ctx->peer;

	peer->version = 1;
	peer->release = 0;
	peer->max_conns = SMC_CLC_CONNS_MAX;
	peer->max_links = SMC_CLC_LINKS_MAX;
	/* CONFIRM LINK sends the number to the client */
	if (smc_native_tag_links(p))
		peer->max_links = min(READ_ONCE(smc_settings_get(ctx->net)->max_links),
				      smc_native_tag_links(p));
	memset(peer->eid, 0, sizeof(peer->eid));
	memcpy(peer->mac, p->mac, SMC_MAC_LEN);
	memcpy(peer->gid.raw, p->gid, SMC_GID_LEN);
}

/*
 * Check whether version 1 is possible and leads over other GIDs than version 2, so that it may work
 * if there is no path for version 2.
 */
static bool server_has_other_v1(struct smc_hs_ctx *ctx)
{
	const struct smc_clc_proposal *p = &ctx->msgs->proposal;

	if (server_check_v1(ctx))
		return false;
	ctx->v1_gid = ctx->path.gid;
	return memcmp(p->gid, p->v2.gid, SMC_GID_LEN) ||
	       memcmp(&ctx->v1_gid.gid, &ctx->gids.v2.gid, sizeof(ctx->v1_gid.gid));
}

/*
 * Choose the version, 2 before 1. If neither is possible, the Decline has the diagnosis code of
 * the higher version that the client offers.
 */
static enum smc_hs_next server_choose_version(struct smc_hs_ctx *ctx)
{
	const struct smc_clc_proposal *p = &ctx->msgs->proposal;
	struct smc_peer *peer = &ctx->peer;
	u32 reason2, reason1;

	/* an RNIC of ours cannot reach the client's queue pair of smc_lo */
	if (smc_native_tag_inner(p) && !ctx->path.inner)
		return smc_hs_decline(ctx, SMC_CLC_DECL_NOT_INNER);
	memcpy(peer->id, p->peer_id, SMC_PEER_ID_LEN);
	memcpy(peer->mac, p->mac, SMC_MAC_LEN);
	peer->caps = smc_peer_caps_of_proposal(p);
	peer->one_port = smc_native_tag_one_port(p);
	peer->max_conns = SMC_CLC_CONNS_MAX;
	peer->max_links = SMC_CLC_LINKS_MAX;
	reason2 = server_check_v2(ctx);
	if (!reason2) {
		ctx->has_v1 = server_has_other_v1(ctx);
		peer->version = 2;
		ctx->path.gid = ctx->gids.v2;
		memcpy(peer->gid.raw, p->v2.gid, SMC_GID_LEN);
		/* incompatible limits decline: version 1 must not be used to evade them */
		reason2 = server_negotiate_limits(ctx, &p->v2);
		return reason2 ? smc_hs_decline(ctx, reason2) : HS_GO;
	}
	reason1 = server_check_v1(ctx);
	if (reason1)
		return smc_hs_decline(ctx, server_is_offered_rdma(p->v2_type) ? reason2 : reason1);
	server_use_v1(ctx);
	return HS_GO;
}

/* The link of the group was chosen by the policy of the namespace: the socket may have its own. */
static void server_pick_link(struct smc_hs_ctx *ctx)
{
	int policy = ctx->hs->link_policy;
	struct smc_link *link = NULL;

	if (policy >= 0)
		link = smc_lgr_pick_conn_link(ctx->lgr, ~0UL, NULL, policy);
	if (!link)
		return;
	smc_link_put(ctx->link);
	ctx->link = link;
}

/* Find a group for this client with a free place, or become the creator of a new one. */
static int server_begin_contact(struct smc_hs_ctx *ctx, unsigned long deadline)
{
	int rc;

	rc = smc_contact_begin(ctx->net, &ctx->peer, &ctx->path, deadline,
			       &ctx->hs->cancelled, &ctx->contact);
	if (rc)
		return rc;
	ctx->lgr = ctx->contact.lgr;
	ctx->link = ctx->contact.link;
	ctx->reserved = ctx->lgr;
	ctx->first = !ctx->lgr;
	ctx->creator = ctx->first;
	if (ctx->lgr)
		server_pick_link(ctx);
	return 0;
}

/*
 * The group has its maximum number of RMBs and no free RMBE. Mark it as out of regions, so that
 * the next search returns another group, and release it.
 */
static void server_skip_group(struct smc_hs_ctx *ctx)
{
	smc_lgr_set_out_of_regions(ctx->lgr);
	smc_lgr_unreserve_conn(ctx->lgr);
	ctx->reserved = false;
	smc_link_put(ctx->link);
	ctx->link = NULL;
	smc_lgr_put(ctx->lgr);
	ctx->lgr = NULL;
}

/* First contact: create the group. 0, or the diagnosis code to decline with. */
static u32 server_create_group(struct smc_hs_ctx *ctx)
{
	bool direct = true;
	u32 reason;
	int rc;

	reason = smc_hs_resolve_next_hop(ctx, &direct);
	if (reason)
		return reason;
	smc_test_link_probe_eldest(ctx->net, &ctx->peer.gid);
	rc = smc_hs_create_group(ctx, SMC_SERVER, direct);
	return rc ? smc_hs_errno_reason(rc, SMC_CLC_DECL_INTERNAL) : 0;
}

/*
 * There is no path for version 2: use version 1 if it leads elsewhere, as in-tree servers do. The
 * contact is given back, because the group to look for is another one.
 */
static bool server_fall_to_v1(struct smc_hs_ctx *ctx, u32 reason)
{
	if (reason != SMC_CLC_DECL_NO_ROUTE || ctx->peer.version != 2 || !ctx->has_v1)
		return false;
	smc_contact_finish(&ctx->contact, NULL);
	ctx->creator = false;
	/* do not hold the device while waiting for another first contact */
	smc_path_release_device(&ctx->path);
	ctx->parked = true;
	ctx->has_path = false;
	ctx->path.gid = ctx->v1_gid;
	server_use_v1(ctx);
	return true;
}

/* Find or create the group, and create the connection in it. */
static enum smc_hs_next server_join_group(struct smc_hs_ctx *ctx)
{
	unsigned long deadline = jiffies + T_CONTACT;
	u32 reason;
	int rc;

	for (;;) {
		rc = server_begin_contact(ctx, deadline);
		if (smc_hs_is_cancelled(ctx))
			return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
		if (rc)
			return smc_hs_decline(ctx, smc_hs_errno_reason(rc, SMC_CLC_DECL_NO_LINK));
		reason = ctx->first ? server_create_group(ctx) : 0;
		if (reason && server_fall_to_v1(ctx, reason))
			continue;
		if (reason)
			return smc_hs_decline(ctx, reason);
		rc = smc_hs_create_conn(ctx);
		if (rc != -ENOSPC || ctx->first)
			break;
		server_skip_group(ctx);
		if (time_after_eq(jiffies, deadline))
			break;
	}
	return rc ? smc_hs_decline_conn(ctx, rc, SMC_CLC_DECL_BUF_REG) : HS_GO;
}

/* Check the Confirm of a first contact against the Accept. 0, or the diagnosis code. */
static u32 server_check_first_confirm(const struct smc_peer *peer, const struct smc_clc_accept *c)
{
	u32 reason = smc_clc_check_accept(c);

	if (reason)
		return reason;
	if (c->fce.release != peer->release)
		return SMC_CLC_DECL_RELEASE;
	if (peer->release && c->fce.max_conns != peer->max_conns)
		return SMC_CLC_DECL_MAX_CONNS;
	if (peer->release && c->fce.max_links != peer->max_links)
		return SMC_CLC_DECL_MAX_LINKS;
	if (memcmp(c->gid, peer->gid.raw, SMC_GID_LEN))
		return SMC_CLC_DECL_LINK_UNKNOWN;
	return 0;
}

/*
 * Check that the Confirm answers the Accept. In version 1 the first contact flag of a Confirm is
 * reserved, and some peers do not set it: it is set here to the real value.
 */
static bool server_confirm_matches(const struct smc_hs_ctx *ctx, struct smc_clc_accept *c)
{
	if (c->version != ctx->peer.version)
		return false;
	if (c->version == 1) {
		c->first_contact = ctx->first;
		return true;
	}
	return c->first_contact == ctx->first && !memcmp(c->eid, ctx->peer.eid, SMC_EID_LEN);
}

/* Take over OS and host name of the client; only the Confirm has them, and the group exists. */
static void server_take_host(struct smc_peer *peer, const struct smc_clc_fce *fce)
{
	WRITE_ONCE(peer->os, fce->os);
	/* informational; readers may see a part of the name */
	data_race(memcpy(peer->host, fce->hostname, SMC_HOSTNAME_LEN));
}

/*
 * Subsequent contact: take over the client's RMBE, which it may name by any link of the group (RFC
 * 7609 section 3.5.2.3). No Decline: the client uses SMC after a subsequent Accept.
 */
static enum smc_hs_next server_take_next_rmbe(struct smc_hs_ctx *ctx,
					      const struct smc_clc_accept *c)
{
	struct smc_peer end = { .version = c->version };
	struct smc_link *link = NULL;
	int rc;

	/* our link may have failed since the Accept: the connection moves after its handshake */
	if (c->qpn != ctx->link->peer_qpn ||
	    memcmp(c->gid, ctx->link->peer_gid.raw, SMC_GID_LEN)) {
		memcpy(end.gid.raw, c->gid, SMC_GID_LEN);
		memcpy(end.mac, c->mac, SMC_MAC_LEN);
		link = smc_lgr_get_named_link(ctx->lgr, c->qpn, &end);
		if (!link) {
			smc_stats_inc(ctx->net, SMC_STAT_PEER_END_BAD);
			return smc_hs_fail(ctx, ECONNRESET, "Confirm names no link of the group");
		}
	}
	rc = smc_hs_set_peer_rmbe(ctx, c, link);
	if (link)
		smc_link_put(link);
	if (rc == -ECONNRESET)
		return smc_hs_take_end(ctx);
	return rc ? smc_hs_fail(ctx, ECONNRESET, "the client's RMBE is refused") : HS_GO;
}

/* Parse and check the Confirm, and take over the client's RMBE. */
static enum smc_hs_next server_take_confirm(struct smc_hs_ctx *ctx)
{
	struct smc_clc_accept *c = &ctx->msgs->confirm;
	u32 reason;
	int rc;

	rc = smc_clc_parse_accept(ctx->msgs->rx.buf, ctx->msgs->rx.len, c);
	if (rc == -EOPNOTSUPP)
		return smc_hs_decline(ctx, smc_clc_unsupported_reason(&ctx->msgs->head));
	if (rc)
		return smc_hs_fail_clc(ctx, -EPROTO);
	if (!server_confirm_matches(ctx, c)) {
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return smc_hs_fail(ctx, ECONNRESET, "Confirm does not answer the Accept");
	}
	if (!ctx->first)
		return server_take_next_rmbe(ctx, c);
	reason = server_check_first_confirm(&ctx->peer, c);
	if (reason)
		return smc_hs_decline(ctx, reason);
	if (c->version > 1)
		server_take_host(&ctx->lgr->peer, &c->fce);
	if (smc_hs_set_peer_rmbe(ctx, c, NULL))
		return smc_hs_decline(ctx, SMC_CLC_DECL_RTOKEN);
	return HS_GO;
}

/* First contact: CONFIRM LINK, repeated once for clients that drop an early one; ADD LINK. */
static enum smc_hs_next server_run_llc(struct smc_hs_ctx *ctx)
{
	enum smc_hs_llc w;

	smc_clc_rx_reset(&ctx->msgs->rx);
	if (smc_llc_fc_confirm_link(ctx->link))
		return smc_hs_decline(ctx, smc_hs_broken_reason(ctx));
	w = smc_hs_await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_RETRY);
	if (w == HS_LLC_TIMEOUT && !smc_llc_fc_confirm_link(ctx->link))
		w = smc_hs_await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_LINK - T_CONFIRM_RETRY);
	if (smc_hs_finish_confirm_link(ctx, w))
		return HS_END;

	/* the client uses SMC now, so no Decline; an unanswered ADD LINK is no failure */
	if (smc_llc_fc_add_link(ctx->link))
		return smc_hs_fail(ctx, ECONNRESET, "ADD LINK could not be sent");
	smc_llc_announce_caps(ctx->link);
	switch (smc_hs_await_llc(ctx, SMC_LLC_FC_ADD_LINK, T_ADD_LINK_SRV)) {
	case HS_LLC_SEEN:
	case HS_LLC_TIMEOUT:
		break;
	case HS_LLC_BROKEN:
		return smc_hs_fail(ctx, ECONNRESET, "link lost during first contact");
	case HS_LLC_ENDED:
		return HS_END;
	}
	smc_contact_finish(&ctx->contact, ctx->lgr);
	ctx->creator = false;
	return HS_GO;
}

/*
 * Wait for the Confirm. In-tree clients complete one handshake at a time, so with many
 * concurrent handshakes the last Confirm takes long. In a subsequent contact the wait is extended
 * to T_CONFIRM_BUSY as long as messages arrive over the group's link. A native client may announce
 * an RMB before, over a link that carries nothing while packets are repeated.
 */
static enum smc_hs_next server_await_confirm(struct smc_hs_ctx *ctx)
{
	bool patient = !ctx->first && smc_peer_can(&ctx->lgr->peer, SMC_CAP_LATE_CLC);
	unsigned long end = jiffies + T_CONFIRM_BUSY;

	smc_clc_rx_reset(&ctx->msgs->rx);
	for (;;) {
		long left = wait_event_idle_timeout(ctx->hs->wait, smc_hs_is_cancelled(ctx) ||
				smc_clcsock_is_readable(ctx->hs->clcsock), T_CLC);

		if (left || ctx->first || time_after_eq(jiffies, end) ||
		    (!patient && time_after(jiffies, READ_ONCE(ctx->link->last_rx) + T_CLC)))
			break;
	}
	/* wait only for the rest of a message that has begun to arrive */
	return smc_hs_await_clc(ctx, SMC_CLC_CONFIRM,
				smc_clcsock_is_readable(ctx->hs->clcsock) ? T_CLC : 0);
}

/* The steps of a server in their order. */
static void server_run(struct smc_hs_ctx *ctx)
{
	struct smc_hs *hs = ctx->hs;
	long left;

	/* T_CLC began when the child was accepted */
	left = max_t(long, hs->deadline - jiffies, 0);
	ctx->option_agreed = true;
	if (smc_hs_alloc_msgs(ctx))
		return;
	if (smc_hs_await_clc(ctx, SMC_CLC_PROPOSAL, left) || server_take_proposal(ctx))
		return;
	if (hs->force_tcp) {
		smc_hs_decline(ctx, hs->force_tcp);
		return;
	}
	if (smc_hs_admit(ctx) || smc_hs_find_path(ctx) || server_choose_version(ctx))
		return;
	smc_hs_put_netdev(ctx);
	if (server_join_group(ctx))
		return;
	if (smc_hs_fill_accept(ctx, &ctx->msgs->accept, false))
		return;
	if (smc_hs_send_accept(ctx, &ctx->msgs->accept)) {
		smc_hs_fail(ctx, ECONNRESET, "Accept could not be sent");
		return;
	}
	if (server_await_confirm(ctx) || server_take_confirm(ctx))
		return;
	if (ctx->first && (smc_hs_connect_link(ctx, &ctx->msgs->confirm) || server_run_llc(ctx)))
		return;
	smc_hs_succeed(ctx);
}

/**
 * smc_hs_server_setup() - initialise a server's handshake
 * @hs: handshake with an accepted clcsock, zeroed but for the members that its owner sets
 */
void smc_hs_server_setup(struct smc_hs *hs)
{
	hs->server = true;
	smc_hs_set_host(hs);
	smc_hs_setup(hs, server_run);
}
