// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps that the client and the server of a handshake share: place, path to the peer, group,
 * connection, Accept and Confirm, and the first link. Their order is in client.c and server.c.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <smc/base/fault.h>
#include <smc/base/log.h>
#include <smc/base/stats.h>
#include <smc/conn/buffers.h>
#include <smc/conn/conn.h>
#include <smc/conn/rx.h>
#include <smc/handshake/admission.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/peer_caps.h>
#include <smc/rdma/path.h>
#include <smc/tcp/clc.h>
#include "internal.h"

/**
 * smc_hs_alloc_msgs() - allocate the messages of a handshake
 * @ctx: handshake whose two ends have sent the SMC option
 *
 * Without them no Decline can be sent, so the connection is reset if there is no memory.
 *
 * Return: HS_GO or HS_END.
 */
enum smc_hs_next smc_hs_alloc_msgs(struct smc_hs_ctx *ctx)
{
	ctx->msgs = smc_fault_null(HS_CTX, kzalloc(sizeof(*ctx->msgs), GFP_KERNEL));
	return ctx->msgs ? HS_GO : smc_hs_fail(ctx, ENOMEM, "no memory for its messages");
}

/**
 * smc_hs_set_host() - set the ID of the peer host
 * @hs: handshake with a connected clcsock
 */
void smc_hs_set_host(struct smc_hs *hs)
{
	struct in6_addr peer;

	smc_clcsock_peer_addr(hs->clcsock, &peer);
	hs->host = smc_admission_host(&peer);
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
	ctx->admitted = smc_admission_acquire(ctx->net, ctx->hs->server, ctx->hs->host);
	if (ctx->admitted)
		return HS_GO;
	smc_stats_inc(ctx->net, SMC_STAT_HS_LIMITED);
	return smc_hs_decline(ctx, SMC_CLC_DECL_HS_LIMIT);
}

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
 * smc_hs_id_is_own() - check whether a peer ID is that of this host
 * @peer_id: of a Proposal or Accept
 *
 * It can be forged: then smc_lo does not find the queue pair that the peer names (loopback/qp.c).
 * Process context.
 *
 * Return: true if so.
 */
bool smc_hs_id_is_own(const u8 *peer_id)
{
	u8 own[SMC_PEER_ID_LEN];

	smc_ib_get_peer_id(own);
	return !memcmp(peer_id, own, sizeof(own));
}

/**
 * smc_hs_inner_peer() - return the peer's address if the peer may be on this host
 * @ctx: handshake whose addresses are set; server: with the Proposal
 *
 * A client does not know, and offers smc_lo to the address alone; its Proposal tells the server.
 * All GIDs that the Proposal offers are that address: the version may still change.
 *
 * Return: the address, or NULL.
 */
const struct in6_addr *smc_hs_inner_peer(const struct smc_hs_ctx *ctx)
{
	const struct smc_clc_proposal *p;

	if (!ctx->hs->server)
		return &ctx->daddr;
	p = &ctx->msgs->proposal;
	if (!smc_native_tag_inner(p) || !smc_hs_id_is_own(p->peer_id) ||
	    (p->has_v2 && memcmp(p->v2.gid, &ctx->daddr, SMC_GID_LEN)) ||
	    (p->v1_type != SMC_CLC_OFFER_NONE && memcmp(p->gid, &ctx->daddr, SMC_GID_LEN)))
		return NULL;
	return &ctx->daddr;
}

/**
 * smc_hs_find_path() - choose the local RoCE port for the TCP path
 * @ctx: handshake with a connected clcsock; server: with the Proposal
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
	ctx->peer.tcp_addr = ctx->daddr;
	ctx->peer.own_addr = ctx->saddr;
	dst = sk_dst_get(ctx->sk);
	if (!dst)
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_ROUTE);
	/* a netdev that is unregistered leaves dst->dev only after a grace period */
	rcu_read_lock();
	ctx->ndev = READ_ONCE(dst->dev);
	netdev_hold(ctx->ndev, &ctx->ndev_tracker, GFP_ATOMIC);
	rcu_read_unlock();
	ipsec = smc_clcsock_has_ipsec(ctx->hs->clcsock, dst);
	dst_release(dst);
	if (ipsec)
		return smc_hs_decline(ctx, SMC_CLC_DECL_IPSEC);
	reason = smc_path_find(ctx->net, ctx->ndev, &ctx->saddr, smc_hs_inner_peer(ctx),
			       &ctx->path, &ctx->gids);
	if (reason)
		return smc_hs_decline(ctx, reason);
	smc_path_release_device(&ctx->path);
	ctx->parked = true;
	ctx->peer.own_ifindex = ctx->ndev->ifindex;
	ctx->peer.vlan = smc_path_vlan(ctx->ndev);
	ctx->peer.inner = ctx->path.inner;
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
		ctx->has_path = smc_path_reacquire_device(&ctx->path);
	}
	return ctx->has_path;
}

static void hs_fill_fce(struct smc_clc_fce *fce, const struct smc_hs_ctx *ctx)
{
	const struct smc_peer *peer = &ctx->peer;

	memset(fce, 0, sizeof(*fce));
	fce->direct = ctx->link->direct;
	fce->os = SMC_CLC_OS_LINUX;
	fce->release = peer->release;
	memset(fce->hostname, ' ', SMC_HOSTNAME_LEN);
	if (READ_ONCE(smc_settings_get(ctx->net)->send_hostname))
		memcpy(fce->hostname, ctx->hs->nodename, SMC_HOSTNAME_LEN);
	if (peer->release >= SMC_CLC_RELEASE_1) {
		fce->max_conns = peer->max_conns;
		fce->max_links = peer->max_links;
		smc_native_tag_set_fce(fce);
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
	smc_ib_get_peer_id(msg->peer_id);
	memcpy(msg->gid, link->path.gid.gid.raw, SMC_GID_LEN);
	memcpy(msg->mac, link->path.gid.mac, SMC_MAC_LEN);
	msg->qpn = smc_qp_get_qpn(link->qp);
	msg->rkey = smc_region_rkey(elem->region, link->slot);
	msg->rmbe_idx = elem->index;
	msg->token = ctx->conn->token;
	msg->bsize = smc_elem_encode_size(elem->size);
	msg->mtu = confirm ? link->mtu : link->path.gid.mtu;
	/* read after the rkey: if the address is valid, the rkey was valid too */
	msg->vaddr = smc_region_iova(elem->region, link->slot);
	if (ctx->first)
		smc_region_note_known(elem->region, link->slot);	/* by this message */
	/*
	 * Another connection may have announced the RMB when the link was lost already: without its
	 * key there, by which the peer would not know it.
	 */
	if (!msg->vaddr || !smc_region_is_known(elem->region, link->slot) ||
	    !smc_lgr_slot_is_of(link) || smc_fault_hit(SMC_FAULT_HS_KEYS))
		return smc_hs_decline(ctx, SMC_CLC_DECL_NO_LINK);
	msg->psn = link->psn;
	if (msg->version == 1) {
		if (!confirm && smc_peer_can(&ctx->peer, SMC_CAP_ACCEPT_V1_TAG))
			smc_native_tag_set_v1(msg);
		return HS_GO;
	}
	memcpy(msg->eid, ctx->peer.eid, SMC_EID_LEN);
	if (!ctx->first)
		return HS_GO;
	hs_fill_fce(&msg->fce, ctx);
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
	int rc = smc_clc_build_accept(msg, ctx->msgs->buf, sizeof(ctx->msgs->buf));

	if (rc < 0)
		return rc;
	ctx->rmbe_announced = true;
	if (!msg->is_confirm)
		ctx->accept_at = jiffies;
	return smc_clc_send(ctx->hs->clcsock->sock, ctx->msgs->buf, rc);
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
	bool roce_v1 = ctx->path.gid.roce_v1;
	int rc;

	if (!smc_hs_unpark_path(ctx))
		return SMC_CLC_DECL_NO_DEV;
	/* over RoCE v1 nothing is looked up */
	if (!roce_v1 && !smc_admission_begin_resolve(ctx->net, ctx->hs->host)) {
		smc_stats_inc(ctx->net, SMC_STAT_HS_UNRESOLVED);
		return SMC_CLC_DECL_NO_ROUTE;
	}
	rc = smc_path_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, direct);
	/* without a route there was no look-up either */
	if (!roce_v1)
		smc_admission_end_resolve(ctx->net, ctx->hs->host, rc != -ETIMEDOUT);
	if (rc)
		return SMC_CLC_DECL_NO_ROUTE;
	/* version 1 does not support gateways */
	if (ctx->peer.version == 1 && !*direct)
		return SMC_CLC_DECL_NOT_DIRECT;
	return 0;
}

/*
 * Set the peer's end of the connection. Return false to try again: another connection has the
 * RMBE or the token, and the peer may have seen its end shortly before us. It is no use if the
 * peer has given this connection up.
 */
static bool hs_try_set_peer(struct smc_hs_ctx *ctx, const struct smc_conn_peer_end *end, int *rc)
{
	*rc = smc_conn_set_peer(ctx->conn, end);
	if (*rc == -EADDRINUSE && smc_hs_peer_has_ended(ctx))
		*rc = -ECONNRESET;
	return *rc != -EADDRINUSE || smc_hs_is_cancelled(ctx);
}

/*
 * Return until when to wait for the connection that has the RMBE or the token. The peer has handled
 * its end, but its last message may not have taken effect here. It is sent again over another link
 * if the one that carried it fails, which takes an RNIC 7.5 s, and it is kept here until the
 * links that the peer has left are fenced. A native server waits for T_CONFIRM_BUSY, of which we
 * may have spent CONFIRM_LONG. A client waits no more, but keeps a place here: what it has spent
 * before its Confirm counts, too.
 */
static unsigned long hs_claim_deadline(const struct smc_hs_ctx *ctx)
{
	unsigned long soon = jiffies + T_CLAIM, late = ctx->accept_at + T_CLAIM_LONG;

	if (ctx->first || !smc_peer_can(&ctx->lgr->peer, SMC_CAP_LATE_CLC))
		return soon;
	return time_after(late, soon) ? late : soon;
}

/**
 * smc_hs_set_peer_rmbe() - take the peer's RMBE and alert token from its Accept or Confirm
 * @ctx: handshake with a connection
 * @msg: checked message
 * @link: link that the message names; NULL: the handshake's
 *
 * The sender of @msg need not be the peer that the group leads to (decision 0009). So an RMB that
 * was not announced over the group, and an RMBE or token of another connection, are refused
 * before anything is written to them. Waits up to T_CLAIM, or until T_CLAIM_LONG after the Accept,
 * for the other connection to end. Process context.
 *
 * Return: 0 or -errno; -ECONNRESET: the peer has ended the handshake meanwhile.
 */
int smc_hs_set_peer_rmbe(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg,
			 struct smc_link *link)
{
	struct smc_conn_peer_end end = {
		.token = msg->token, .size = smc_wire_bsize_to_len(msg->bsize),
		.index = msg->rmbe_idx, .link = link, .rkey = msg->rkey, .addr = msg->vaddr,
		.first = ctx->first,
	};
	unsigned long deadline = hs_claim_deadline(ctx);
	int rc;

	do {
		wait_event_idle_timeout(ctx->lgr->rmbe_claims.wait,
					hs_try_set_peer(ctx, &end, &rc), SMC_LGR_POLL);
	} while (rc == -EADDRINUSE && !smc_hs_is_cancelled(ctx) && time_before(jiffies, deadline));
	if (rc != -ENOKEY && rc != -EADDRINUSE)
		return rc;
	smc_stats_inc(ctx->net, SMC_STAT_PEER_END_BAD);
	smc_log_write(ctx->net, "%s handshake with %pI6c: key %08x, element %u, token %08x: %s\n",
		      smc_hs_side_name(ctx), &ctx->peer.tcp_addr, end.rkey, end.index, end.token,
		      rc == -ENOKEY ? "that RMB was not announced over the group" :
				      "another connection has that RMBE or token");
	return rc;
}

/* Set up LLC state and first link of a new group; the link takes over @ctx->path. */
static int hs_begin_group(struct smc_hs_ctx *ctx, struct smc_lgr *lgr)
{
	int rc = smc_llc_create(lgr);

	if (rc)
		return rc;
	ctx->has_path = false;	/* taken over, also on failure */
	return smc_lgr_begin(lgr, &ctx->path);
}

/* A new group's packets get the class and the priority of this connection's TCP packets. */
static void hs_set_class(const struct smc_hs_ctx *ctx, struct smc_lgr *lgr)
{
	const struct sock *sk = ctx->sk;
	u8 tos;

	if (ipv6_addr_v4mapped(&ctx->saddr))
		tos = READ_ONCE(inet_sk(sk)->tos);
	else
		tos = READ_ONCE(inet6_sk(sk)->tclass);
	lgr->traffic_class = tos & ~INET_ECN_MASK;	/* the ECN bits are TCP's */
	lgr->priority = READ_ONCE(sk->sk_priority);
}

/**
 * smc_hs_create_group() - create the link group of a first contact and its first link
 * @ctx: handshake with path and peer; the link takes over @ctx->path
 * @role: our link group role
 * @direct: no IP gateway on the path
 *
 * @ctx holds a reference on the group and on the link afterwards, and a reserved place.
 *
 * Return: 0 or -errno; -EMLINK: the host of the peer has too many groups; -EUSERS, -ENOBUFS: a
 * limit of memory, see smc_host_charge().
 */
int smc_hs_create_group(struct smc_hs_ctx *ctx, enum smc_role role, bool direct)
{
	struct smc_lgr *lgr = smc_lgr_alloc(ctx->net, role, &ctx->peer);
	int rc;

	if (IS_ERR(lgr))
		return PTR_ERR(lgr);
	hs_set_class(ctx, lgr);
	rc = hs_begin_group(ctx, lgr);
	if (rc) {
		smc_lgr_discard(lgr);
		return rc;
	}
	ctx->lgr = lgr;
	ctx->reserved = true;
	ctx->link = smc_lgr_get_link(lgr, 0);
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
 * At a limit of memory, an idle group of the peer host ends, if there is one.
 *
 * Return: 0 or -errno; -ENOSPC: the group cannot have more RMBs; -EDQUOT, -EUSERS, -ENOBUFS: a
 * limit of memory.
 */
int smc_hs_create_conn(struct smc_hs_ctx *ctx)
{
	struct smc_rules_path path;
	struct smc_conn *conn;

	conn = smc_conn_create(ctx->lgr, ctx->link, ctx->hs->sndbuf, ctx->hs->rcvbuf, !ctx->first,
			       &ctx->hs->cancelled);
	if (IS_ERR(conn)) {
		/* for the next connection */
		smc_lgr_evict_for_memory(ctx->lgr->host, PTR_ERR(conn));
		return PTR_ERR(conn);
	}
	ctx->reserved = false;	/* used up */
	ctx->conn = conn;
	conn->link_policy = ctx->hs->link_policy;
	smc_conn_set_balance(conn, ctx->hs->balance);
	smc_rules_path(ctx->sk, &path);
	smc_conn_set_path(conn, &path);
	if (smc_clcsock_wants_timestamps(ctx->hs->clcsock))
		smc_timestamp_start(conn);
	return 0;
}

/**
 * smc_hs_broken_reason() - return why to decline, now that the link is broken
 * @ctx: handshake, first contact
 *
 * Over smc_lo either namespace has withdrawn its consent since the path was chosen, or a netdev has
 * gone down: no failure of an RNIC, which clients would remember.
 *
 * Return: diagnosis code.
 */
u32 smc_hs_broken_reason(const struct smc_hs_ctx *ctx)
{
	return ctx->path.inner ? SMC_CLC_DECL_NOT_INNER : SMC_CLC_DECL_LINK_READY;
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
	int rc;

	link->peer_qpn = peer_end->qpn;
	link->peer_psn = peer_end->psn;
	link->mtu = min(peer_end->mtu, link->path.gid.mtu);
	rc = smc_link_connect(link);
	if (rc)
		return smc_hs_decline(ctx, rc == -EACCES || smc_link_is_ending(link) ?
					   smc_hs_broken_reason(ctx) : SMC_CLC_DECL_LINK_READY);
	if (smc_conn_register_buffers(ctx->conn))
		return smc_hs_decline(ctx, SMC_CLC_DECL_BUF_REG);
	smc_llc_fc_begin(link, &ctx->hs->wait);
	ctx->llc_armed = true;
	return HS_GO;
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
		smc_hs_cache_host(ctx, SMC_CLC_DECL_TIMEOUT_CL);
		return smc_hs_decline(ctx, SMC_CLC_DECL_TIMEOUT_CL);
	case HS_LLC_BROKEN:
		return smc_hs_decline(ctx, smc_hs_broken_reason(ctx));
	case HS_LLC_ENDED:
		return HS_END;
	}
	if (smc_llc_fc_get_bits(ctx->link) & SMC_LLC_FC_EYECATCHER)
		return smc_hs_decline(ctx, SMC_CLC_DECL_RMBE_EYEC);
	smc_link_activate(ctx->link);
	smc_link_report_up(ctx->link);
	return HS_GO;
}
