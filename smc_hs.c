// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rendezvous over a connected carrier: client and server.
 *
 * One work item per handshake on an unbound queue. It sleeps only on its own wait
 * queue, which the carrier, the LLC layer and smc_hs_cancel() wake; every step has
 * a deadline; no socket lock and no global lock is held. How a step can end is kept
 * out of integers: a step returns HS_GO or HS_END, and at HS_END the result in the
 * context says what the connection becomes.
 *
 * What falls back and what resets: RFC 7609 C.1 - C.7. A local failure, a Decline
 * and an unknown enumerated value fall back while a Decline may still be sent; a
 * CLC time-out and a malformed CLC message reset. First contact deviates: an LLC
 * step that fails or times out is answered with a Decline where both ends can still
 * agree on it (Documentation/rfc-map.rst).
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
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
#include <smc/hs.h>
#include <smc/llc.h>
#include <smc/pnet.h>
#include <smc/policy.h>
#include <smc/proto/marker.h>
#include <smc/stats.h>

/* Deadlines, in jiffies. */
#define T_CLC		(6 * HZ)	/* one CLC message of the peer */
#define T_ACCEPT	(15 * HZ)	/* Accept: in-tree servers serve one client at a time */
#define T_CONFIRM_BUSY	(30 * HZ)	/* Confirm, while the group shows that the peer lives */
#define T_GROUP		(5 * HZ)	/* somebody else's first contact with the same peer */
#define T_CONFIRM_LINK	(4 * HZ)	/* CONFIRM LINK, either side */
#define T_CONFIRM_AGAIN	(HZ * 3 / 2)	/* server: repeat the request once after this */
#define T_ADD_LINK_SRV	(2 * HZ)	/* server: response to the first ADD LINK */
#define T_ADD_LINK_CLNT	(5 * HZ)	/* client: the first ADD LINK, or a Decline */

/* Bounded by the backlogs of listeners; a waiting handshake sleeps. */
#define HS_WORKERS	512

enum hs_next { HS_GO, HS_END };

/**
 * struct hs_ctx - one running handshake
 * @hs: the handshake
 * @net: namespace
 * @sk: the carrier's sock
 * @rx: CLC message being received
 * @head: header of the last complete one
 * @proposal: server: the client's Proposal
 * @accept: server: what was sent; client: what was received
 * @confirm: the other of the two
 * @buf: CLC message being sent
 * @ndev: netdev of the TCP path, reference held
 * @ndev_tracker: for @ndev
 * @path: local RoCE port; owned here while @has_path
 * @has_path: see there
 * @peer: who the group leads to
 * @contact: server: answer of the group registry
 * @creator: server: contact_done() is owed
 * @lgr: group, reference held
 * @link: link, reference held
 * @conn: connection, reference held
 * @first: first contact
 * @reserved: a place in @lgr is reserved and not used up
 * @told: the peer knows our RMBE
 * @fc: LLC first contact is armed
 * @eof: the peer sent FIN while LLC was waited for
 * @option: CLC messages may be exchanged: a fall back needs a Decline
 * @no_hs: TCP itself failed: no handshake began, none is counted
 * @version: version for our Decline
 * @res: how it ends
 */
struct hs_ctx {
	struct smc_hs *hs;
	struct net *net;
	struct sock *sk;
	struct smc_clc_rx rx;
	struct smc_clc_head head;
	struct smc_clc_proposal proposal;
	struct smc_clc_accept accept;
	struct smc_clc_accept confirm;
	u8 buf[SMC_CLC_BUILD_MAX];
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct smc_path path;
	bool has_path;
	struct smc_peer peer;
	struct smc_contact contact;
	bool creator;
	struct smc_lgr *lgr;
	struct smc_link *link;
	struct smc_conn *conn;
	bool first;
	bool reserved;
	bool told;
	bool fc;
	bool eof;
	bool option;
	bool no_hs;
	u8 version;
	struct smc_hs_result res;
};

static struct workqueue_struct *hs_wq;

/* ---- ways to end ------------------------------------------------------------- */

static const char *side(const struct hs_ctx *ctx)
{
	return ctx->hs->server ? "server" : "client";
}

/* The connection dies: it cannot be known what the peer's application would see. */
static enum hs_next fail(struct hs_ctx *ctx, int err, const char *why)
{
	ctx->res.outcome = SMC_HS_FAIL;
	ctx->res.err = err;
	pr_info_ratelimited("%s handshake with %pI6c reset: %s (errno %d)\n", side(ctx),
			    &ctx->peer.gid, why, err);
	return HS_END;
}

/* Plain TCP by our decision; tells the peer when it expects a CLC message. */
static enum hs_next fall_back(struct hs_ctx *ctx, u32 reason)
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
		return fail(ctx, ECONNRESET, "Decline could not be sent");
	return HS_END;
}

static enum hs_next peer_declined(struct hs_ctx *ctx)
{
	struct smc_clc_decline decline;

	if (smc_clc_parse_decline(ctx->rx.buf, ctx->rx.want, &decline))
		return fail(ctx, ECONNRESET, "malformed Decline");
	ctx->res.outcome = SMC_HS_TCP;
	ctx->res.own_reason = SMC_CLC_DECL_PEER;
	ctx->res.peer_reason = decline.diag;
	if (decline.out_of_sync && ctx->lgr)
		smc_core_terminate(ctx->lgr, SMC_LINK_PROTOCOL);
	return HS_END;
}

/* What the LLC or memory layer reported, as a diagnosis code. */
static u32 reason_of(int err, u32 otherwise)
{
	return err == -ENOMEM ? SMC_CLC_DECL_MEM : otherwise;
}

/* ---- waiting ----------------------------------------------------------------- */

static bool stop_asked(const struct hs_ctx *ctx)
{
	return READ_ONCE(ctx->hs->cancelled);
}

/* The carrier broke or said something the protocol has no place for. */
static enum hs_next clc_error(struct hs_ctx *ctx, int rc)
{
	switch (rc) {
	case -EPROTO:
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return fail(ctx, ECONNRESET, "not a CLC message");
	case -ENOTCONN:
	case -ECONNRESET:
		return fail(ctx, ECONNRESET, "peer closed the TCP connection");
	default:
		return fail(ctx, -rc, "TCP connection failed");
	}
}

/*
 * Takes a message in if one is there. 1: complete, 0: not yet, -1: ended. With
 * @may_close the peer's FIN is no end: its side of the handshake may be over already
 * and its application gone, while what it sent over the link is still on its way up.
 */
static int poll_clc(struct hs_ctx *ctx, bool may_close)
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
		clc_error(ctx, rc);
		return -1;
	}
	return 1;
}

/*
 * Waits for the next CLC message. A Decline is accepted wherever another message is
 * expected (RFC A.2.5).
 */
static enum hs_next await_clc(struct hs_ctx *ctx, enum smc_clc_type type, unsigned long timeout)
{
	unsigned long deadline = jiffies + timeout;
	int rc;

	smc_clc_rx_reset(&ctx->rx);
	for (;;) {
		long left = deadline - jiffies;

		if (stop_asked(ctx))
			return fail(ctx, ECONNABORTED, "cancelled");
		rc = poll_clc(ctx, false);
		if (rc < 0)
			return HS_END;
		if (rc > 0)
			break;
		if (left <= 0)
			return fail(ctx, ETIMEDOUT, "no answer in time");
		wait_event_idle_timeout(ctx->hs->wait, stop_asked(ctx) ||
					smc_carrier_readable(ctx->hs->carrier), left);
	}
	if (ctx->head.type == SMC_CLC_DECLINE)
		return peer_declined(ctx);
	if (ctx->head.type != type) {
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return fail(ctx, ECONNRESET, "unexpected CLC message");
	}
	return HS_GO;
}

enum llc_wait { LLC_SEEN, LLC_TIMEOUT, LLC_BROKEN, LLC_ENDED };

/*
 * Waits for first contact bits of the LLC layer, and meanwhile for a Decline on the
 * carrier: the peer may give up as well.
 */
static enum llc_wait await_llc(struct hs_ctx *ctx, unsigned int want, unsigned long timeout)
{
	unsigned long deadline = jiffies + timeout;
	unsigned int bits;

	for (;;) {
		long left = deadline - jiffies;
		int rc;

		if (stop_asked(ctx)) {
			fail(ctx, ECONNABORTED, "cancelled");
			return LLC_ENDED;
		}
		bits = smc_llc_fc_bits(ctx->link);
		if (bits & want)
			return LLC_SEEN;
		rc = ctx->eof ? 0 : poll_clc(ctx, true);
		if (rc < 0)
			return LLC_ENDED;
		if (rc > 0) {
			if (ctx->head.type == SMC_CLC_DECLINE)
				peer_declined(ctx);
			else
				fail(ctx, ECONNRESET, "unexpected CLC message");
			return LLC_ENDED;
		}
		if (bits & SMC_LLC_FC_BROKEN)
			return LLC_BROKEN;
		if (left <= 0)
			return LLC_TIMEOUT;
		wait_event_idle_timeout(ctx->hs->wait,
					stop_asked(ctx) ||
					(smc_llc_fc_bits(ctx->link) & (want | SMC_LLC_FC_BROKEN)) ||
					(!ctx->eof && smc_carrier_readable(ctx->hs->carrier)),
					left);
	}
}

/* ---- common steps ------------------------------------------------------------ */

static bool carrier_ipv4(struct sock *sk, __be32 *saddr)
{
	if (sk->sk_family == AF_INET ||
	    (sk->sk_family == AF_INET6 && ipv6_addr_v4mapped(&sk->sk_v6_daddr))) {
		*saddr = inet_sk(sk)->inet_saddr;
		return true;
	}
	return false;
}

/* Local RoCE port for the TCP path: by the netdev its route uses. */
static enum hs_next find_path(struct hs_ctx *ctx)
{
	struct dst_entry *dst;
	__be32 saddr;

	if (!carrier_ipv4(ctx->sk, &saddr))
		return fall_back(ctx, SMC_CLC_DECL_NO_DEV);
	dst = sk_dst_get(ctx->sk);
	if (!dst)
		return fall_back(ctx, SMC_CLC_DECL_NO_ROUTE);
	/* a device that goes takes its reference out of the dst, after a grace period */
	rcu_read_lock();
	ctx->ndev = READ_ONCE(dst->dev);
	netdev_hold(ctx->ndev, &ctx->ndev_tracker, GFP_ATOMIC);
	rcu_read_unlock();
	dst_release(dst);
	if (smc_pnet_find_path(ctx->net, ctx->ndev, saddr, &ctx->path))
		return fall_back(ctx, SMC_CLC_DECL_NO_DEV);
	ctx->has_path = true;
	return HS_GO;
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

/* Our end of the connection, for Accept or Confirm. */
static void fill_accept(struct hs_ctx *ctx, struct smc_clc_accept *msg, bool confirm)
{
	const struct smc_elem *elem = &ctx->conn->rx.elem;
	struct smc_link *link = ctx->link;

	memset(msg, 0, sizeof(*msg));
	msg->is_confirm = confirm;
	msg->version = 2;
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
	msg->vaddr = smc_buf_iova(elem->region, link->slot);
	msg->psn = link->psn;
	memcpy(msg->eid, ctx->peer.eid, SMC_EID_LEN);
	if (!ctx->first)
		return;
	fill_fce(&msg->fce, &ctx->peer, link->direct);
	if (confirm) {
		msg->gid_count = 1;
		memcpy(msg->gids[0], link->path.gid.gid.raw, SMC_GID_LEN);
	}
}

static int send_accept(struct hs_ctx *ctx, const struct smc_clc_accept *msg)
{
	int rc = smc_clc_build_accept(msg, ctx->buf, sizeof(ctx->buf));

	if (rc < 0)
		return rc;
	ctx->told = true;
	return smc_clc_send(ctx->hs->carrier->sock, ctx->buf, rc);
}

static int take_peer_end(struct hs_ctx *ctx, const struct smc_clc_accept *msg)
{
	return smc_conn_set_peer(ctx->conn, msg->token, smc_bsize_to_len(msg->bsize),
				 msg->rmbe_idx, msg->rkey, msg->vaddr);
}

/* Creates the group of a first contact with its one link. */
static int create_group(struct hs_ctx *ctx, enum smc_role role, bool direct)
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

static int create_conn(struct hs_ctx *ctx)
{
	struct smc_conn *conn;

	conn = smc_conn_create(ctx->lgr, ctx->link, ctx->hs->sndbuf, ctx->hs->rcvbuf, !ctx->first);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ctx->reserved = false;	/* used up */
	ctx->conn = conn;
	return 0;
}

/* First contact: queue pair to RTS, regions registered, LLC armed. */
static enum hs_next ready_link(struct hs_ctx *ctx, const struct smc_clc_accept *peer_end)
{
	struct smc_link *link = ctx->link;

	link->peer_qpn = peer_end->qpn;
	link->peer_psn = peer_end->psn;
	link->mtu = min(peer_end->mtu, link->path.gid.mtu);
	if (smc_link_connect(link))
		return fall_back(ctx, SMC_CLC_DECL_LINK_READY);
	if (smc_conn_register(ctx->conn))
		return fall_back(ctx, SMC_CLC_DECL_BUF_REG);
	smc_llc_fc_begin(link, &ctx->hs->wait);
	ctx->fc = true;
	return HS_GO;
}

static enum hs_next succeed(struct hs_ctx *ctx)
{
	if (ctx->fc) {
		smc_llc_fc_end(ctx->link);
		ctx->fc = false;
	}
	smc_conn_activate(ctx->conn);
	ctx->res.outcome = SMC_HS_SMC;
	ctx->res.conn = ctx->conn;
	ctx->conn = NULL;
	return HS_END;
}

/* What the wait for CONFIRM LINK brought; both sides may still decline here. */
static enum hs_next confirmed(struct hs_ctx *ctx, enum llc_wait w)
{
	switch (w) {
	case LLC_SEEN:
		break;
	case LLC_TIMEOUT:
		return fall_back(ctx, SMC_CLC_DECL_TIMEOUT_CL);
	case LLC_BROKEN:
		return fall_back(ctx, SMC_CLC_DECL_LINK_READY);
	case LLC_ENDED:
		return HS_END;
	}
	if (smc_llc_fc_bits(ctx->link) & SMC_LLC_FC_EYECATCHER)
		return fall_back(ctx, SMC_CLC_DECL_RMBE_EYEC);
	smc_link_activate(ctx->link);
	return HS_GO;
}

/* ---- client ------------------------------------------------------------------ */

static enum hs_next client_carrier(struct hs_ctx *ctx)
{
	struct smc_carrier *carrier = ctx->hs->carrier;
	int err;

	if (stop_asked(ctx))
		return fail(ctx, ECONNABORTED, "cancelled");
	if (smc_carrier_state(carrier) == TCP_CLOSE ||
	    smc_carrier_state(carrier) == TCP_SYN_SENT) {
		/* TCP itself failed: its error is the application's, without a log line */
		err = -sock_error(ctx->sk);
		ctx->res.outcome = SMC_HS_FAIL;
		ctx->res.err = err ?: ECONNREFUSED;
		ctx->no_hs = true;
		return HS_END;
	}
	if (ctx->hs->force_tcp) {
		ctx->option = smc_carrier_peer_option(carrier);
		return fall_back(ctx, ctx->hs->force_tcp);
	}
	if (!smc_carrier_peer_option(carrier))
		return fall_back(ctx, SMC_CLC_DECL_PEER_NO_SMC);
	ctx->option = true;
	return HS_GO;
}

static enum hs_next client_propose(struct hs_ctx *ctx)
{
	struct smc_clc_proposal *p = &ctx->proposal;
	struct smc_net *sn = smc_policy_net(ctx->net);
	int rc;

	p->version = 2;
	p->v1_type = SMC_CLC_OFFER_NONE;
	p->v2_type = SMC_CLC_OFFER_R;
	smc_ib_peer_id(p->peer_id);
	memcpy(p->mac, ctx->path.gid.mac, SMC_MAC_LEN);
	smc_marker_set_proposal(p);
	p->has_v2 = true;
	p->v2.release = SMC_CLC_RELEASE_1;
	memcpy(p->v2.gid, ctx->path.gid.gid.raw, SMC_GID_LEN);
	p->v2.max_conns = READ_ONCE(sn->max_conns);
	p->v2.max_links = min_t(u8, READ_ONCE(sn->max_links), SMC_CLC_LINKS_MAX);
	p->v2.eid_count = smc_policy_ueids(ctx->net, p->v2.eids);
	if (!p->v2.eid_count)
		return fall_back(ctx, SMC_CLC_DECL_NO_UEID);

	rc = smc_clc_build_proposal(p, ctx->buf, sizeof(ctx->buf));
	if (rc < 0)
		return fall_back(ctx, SMC_CLC_DECL_INTERNAL);
	rc = smc_clc_send(ctx->hs->carrier->sock, ctx->buf, rc);
	if (rc)
		return clc_error(ctx, rc);
	return HS_GO;
}

static bool eid_offered(const struct hs_ctx *ctx, const u8 *eid)
{
	int i;

	for (i = 0; i < ctx->proposal.v2.eid_count; i++)
		if (!memcmp(ctx->proposal.v2.eids[i], eid, SMC_EID_LEN))
			return true;
	return false;
}

/* Judges the Accept and copies what it says about the peer. */
static enum hs_next client_accept(struct hs_ctx *ctx)
{
	struct smc_clc_accept *a = &ctx->accept;
	u32 reason;
	int rc;

	rc = smc_clc_parse_accept(ctx->rx.buf, ctx->rx.want, a);
	if (rc == -EOPNOTSUPP)
		return fall_back(ctx, smc_clc_unsupported(&ctx->head));
	if (rc)
		return clc_error(ctx, -EPROTO);
	ctx->version = a->version;
	reason = smc_clc_check_accept(a);
	if (!reason && a->version != 2)
		reason = SMC_CLC_DECL_VERSION;
	if (!reason && !eid_offered(ctx, a->eid))
		reason = SMC_CLC_DECL_NO_UEID;
	if (!reason && a->first_contact && a->fce.release > SMC_CLC_RELEASE_1)
		reason = SMC_CLC_DECL_RELEASE;
	if (!reason && a->first_contact && a->fce.release &&
	    a->fce.max_conns > ctx->proposal.v2.max_conns)
		reason = SMC_CLC_DECL_MAX_CONNS;
	if (!reason && a->first_contact && a->fce.release &&
	    (!a->fce.max_links || a->fce.max_links > ctx->proposal.v2.max_links))
		reason = SMC_CLC_DECL_MAX_LINKS;
	if (reason)
		return fall_back(ctx, reason);

	ctx->first = a->first_contact;
	memcpy(ctx->peer.id, a->peer_id, SMC_PEER_ID_LEN);
	memcpy(ctx->peer.gid.raw, a->gid, SMC_GID_LEN);
	memcpy(ctx->peer.eid, a->eid, SMC_EID_LEN);
	ctx->peer.version = 2;
	return HS_GO;
}

static enum hs_next client_first(struct hs_ctx *ctx)
{
	const struct smc_clc_fce *fce = &ctx->accept.fce;
	bool direct = true;
	int rc;

	ctx->peer.release = fce->release;
	ctx->peer.max_conns = fce->release ? fce->max_conns : SMC_CLC_CONNS_MAX;
	ctx->peer.max_links = fce->release ? fce->max_links : SMC_CLC_LINKS_MAX;
	ctx->peer.os = fce->os;
	ctx->peer.marker = smc_marker_of_fce(fce);
	memcpy(ctx->peer.host, fce->hostname, SMC_HOSTNAME_LEN);
	memcpy(ctx->peer.mac, ctx->accept.mac, SMC_MAC_LEN);
	/* our own neighbour table is a better witness than the peer's message */
	rc = smc_pnet_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, &direct);
	if (rc)
		return fall_back(ctx, SMC_CLC_DECL_NO_ROUTE);
	if (direct != fce->direct)
		return fall_back(ctx, SMC_CLC_DECL_NOT_DIRECT);
	rc = create_group(ctx, SMC_CLIENT, direct);
	if (!rc)
		rc = create_conn(ctx);
	if (rc)
		return fall_back(ctx, reason_of(rc, SMC_CLC_DECL_INTERNAL));
	if (take_peer_end(ctx, &ctx->accept))
		return fall_back(ctx, SMC_CLC_DECL_RTOKEN);
	return ready_link(ctx, &ctx->accept);
}

static enum hs_next client_subsequent(struct hs_ctx *ctx)
{
	int rc;

	ctx->lgr = smc_core_find_client(ctx->net, ctx->peer.id, ctx->accept.qpn, &ctx->peer.gid,
					jiffies + T_GROUP, &ctx->link);
	if (!ctx->lgr)
		return fall_back(ctx, SMC_CLC_DECL_SYNC);
	ctx->reserved = true;
	rc = create_conn(ctx);
	if (rc)
		return fall_back(ctx, reason_of(rc, SMC_CLC_DECL_BUF_REG));
	if (take_peer_end(ctx, &ctx->accept))
		return fall_back(ctx, SMC_CLC_DECL_RTOKEN);
	return HS_GO;
}

/* CONFIRM LINK and the ADD LINK phase of the client. */
static enum hs_next client_llc(struct hs_ctx *ctx)
{
	if (confirmed(ctx, await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_LINK)))
		return HS_END;
	/* from here on a Decline of ours could cross the server's success */
	if (smc_llc_fc_confirm_link(ctx->link))
		return fail(ctx, ECONNRESET, "CONFIRM LINK response could not be sent");

	switch (await_llc(ctx, SMC_LLC_FC_ADD_LINK, T_ADD_LINK_CLNT)) {
	case LLC_SEEN:
		break;
	case LLC_TIMEOUT:
		return fail(ctx, ETIMEDOUT, "neither ADD LINK nor Decline after CONFIRM LINK");
	case LLC_BROKEN:
		return fail(ctx, ECONNRESET, "link lost during first contact");
	case LLC_ENDED:
		return HS_END;
	}
	smc_core_ready(ctx->lgr);
	return HS_GO;
}

static void client_run(struct hs_ctx *ctx)
{
	if (client_carrier(ctx) || find_path(ctx) || client_propose(ctx) ||
	    await_clc(ctx, SMC_CLC_ACCEPT, T_ACCEPT) || client_accept(ctx))
		return;
	if (ctx->first ? client_first(ctx) : client_subsequent(ctx))
		return;
	fill_accept(ctx, &ctx->confirm, true);
	if (send_accept(ctx, &ctx->confirm)) {
		fail(ctx, ECONNRESET, "Confirm could not be sent");
		return;
	}
	smc_clc_rx_reset(&ctx->rx);
	if (ctx->first && client_llc(ctx))
		return;
	succeed(ctx);
}

/* ---- server ------------------------------------------------------------------ */

/* Judges the Proposal: version 2 with a common EID. */
static enum hs_next server_proposal(struct hs_ctx *ctx)
{
	struct smc_clc_proposal *p = &ctx->proposal;
	struct smc_net *sn = smc_policy_net(ctx->net);
	u32 reason;
	int rc;

	ctx->option = true;
	ctx->version = ctx->head.version > 1 ? 2 : 1;
	rc = smc_clc_parse_proposal(ctx->rx.buf, ctx->rx.want, p);
	if (rc == -EOPNOTSUPP)
		return fall_back(ctx, smc_clc_unsupported(&ctx->head));
	if (rc)
		return clc_error(ctx, -EPROTO);
	reason = smc_clc_check_proposal(p);
	if (reason)
		return fall_back(ctx, reason);
	if (!p->has_v2 || (p->v2_type != SMC_CLC_OFFER_R && p->v2_type != SMC_CLC_OFFER_BOTH))
		return fall_back(ctx, SMC_CLC_DECL_NO_DEV_R);
	if (!smc_policy_ueid_match(ctx->net, p->v2.eids, p->v2.eid_count, ctx->peer.eid))
		return fall_back(ctx, SMC_CLC_DECL_NO_UEID);

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
		return fall_back(ctx, SMC_CLC_DECL_MAX_CONNS);
	if (ctx->peer.max_links < SMC_CLC_LINKS_MIN)
		return fall_back(ctx, SMC_CLC_DECL_MAX_LINKS);
	return HS_GO;
}

/* Existing group or first contact, then the connection in it. */
static enum hs_next server_group(struct hs_ctx *ctx)
{
	bool direct = true;
	int rc;

	rc = smc_core_contact_begin(ctx->net, &ctx->peer, jiffies + T_GROUP,
				    &ctx->hs->cancelled, &ctx->contact);
	if (stop_asked(ctx)) {
		ctx->creator = !rc && !ctx->contact.lgr;
		if (!rc && ctx->contact.lgr) {
			ctx->lgr = ctx->contact.lgr;
			ctx->link = ctx->contact.link;
			ctx->reserved = true;
		}
		return fail(ctx, ECONNABORTED, "cancelled");
	}
	if (rc)
		return fall_back(ctx, reason_of(rc, SMC_CLC_DECL_INTERNAL));
	if (ctx->contact.lgr) {
		ctx->lgr = ctx->contact.lgr;
		ctx->link = ctx->contact.link;
		ctx->reserved = true;
	} else {
		ctx->creator = true;
		ctx->first = true;
		rc = smc_pnet_resolve(&ctx->path, &ctx->peer.gid, ctx->peer.mac, &direct);
		if (rc)
			return fall_back(ctx, SMC_CLC_DECL_NO_ROUTE);
		rc = create_group(ctx, SMC_SERVER, direct);
		if (rc)
			return fall_back(ctx, reason_of(rc, SMC_CLC_DECL_INTERNAL));
	}
	rc = create_conn(ctx);
	if (rc)
		return fall_back(ctx, reason_of(rc, SMC_CLC_DECL_BUF_REG));
	return HS_GO;
}

static enum hs_next server_confirm(struct hs_ctx *ctx)
{
	struct smc_clc_accept *c = &ctx->confirm;
	u32 reason = 0;
	int rc;

	rc = smc_clc_parse_accept(ctx->rx.buf, ctx->rx.want, c);
	if (rc == -EOPNOTSUPP)
		return fall_back(ctx, smc_clc_unsupported(&ctx->head));
	if (rc)
		return clc_error(ctx, -EPROTO);
	if (c->version != 2 || c->first_contact != ctx->first ||
	    memcmp(c->eid, ctx->peer.eid, SMC_EID_LEN)) {
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return fail(ctx, ECONNRESET, "Confirm does not answer the Accept");
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
			return fall_back(ctx, reason);
	}
	if (take_peer_end(ctx, c)) {
		/* after a subsequent Accept nothing may be declined (wire rules) */
		if (ctx->first)
			return fall_back(ctx, SMC_CLC_DECL_RTOKEN);
		return fail(ctx, ECONNRESET, "the client's RMB cannot be taken");
	}
	return HS_GO;
}

/* CONFIRM LINK, repeated once for clients that drop an early one, then ADD LINK. */
static enum hs_next server_llc(struct hs_ctx *ctx)
{
	enum llc_wait w;

	smc_clc_rx_reset(&ctx->rx);
	if (smc_llc_fc_confirm_link(ctx->link))
		return fall_back(ctx, SMC_CLC_DECL_LINK_READY);
	w = await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_AGAIN);
	if (w == LLC_TIMEOUT && !smc_llc_fc_confirm_link(ctx->link))
		w = await_llc(ctx, SMC_LLC_FC_CONFIRM, T_CONFIRM_LINK - T_CONFIRM_AGAIN);
	if (confirmed(ctx, w))
		return HS_END;

	/* the client is in: no way back; an unanswered ADD LINK is no failure */
	if (smc_llc_fc_add_link(ctx->link))
		return fail(ctx, ECONNRESET, "ADD LINK could not be sent");
	switch (await_llc(ctx, SMC_LLC_FC_ADD_LINK, T_ADD_LINK_SRV)) {
	case LLC_SEEN:
	case LLC_TIMEOUT:
		break;
	case LLC_BROKEN:
		return fail(ctx, ECONNRESET, "link lost during first contact");
	case LLC_ENDED:
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
static enum hs_next await_confirm(struct hs_ctx *ctx)
{
	unsigned long end = jiffies + T_CONFIRM_BUSY;

	smc_clc_rx_reset(&ctx->rx);
	for (;;) {
		long left = wait_event_idle_timeout(ctx->hs->wait, stop_asked(ctx) ||
				smc_carrier_readable(ctx->hs->carrier), T_CLC);

		if (left || ctx->first || time_after_eq(jiffies, end) ||
		    time_after(jiffies, READ_ONCE(ctx->link->last_rx) + T_CLC))
			break;
	}
	/* whatever is there now is all there will be, but for the rest of one message */
	return await_clc(ctx, SMC_CLC_CONFIRM, smc_carrier_readable(ctx->hs->carrier) ? T_CLC : 0);
}

static void server_run(struct hs_ctx *ctx)
{
	struct smc_hs *hs = ctx->hs;
	long left;

	/* the time a silent client took before its first byte counts */
	left = max_t(long, hs->deadline - jiffies, 0);
	ctx->option = true;
	ctx->version = 1;
	if (await_clc(ctx, SMC_CLC_PROPOSAL, left) || server_proposal(ctx))
		return;
	if (hs->force_tcp) {
		fall_back(ctx, hs->force_tcp);
		return;
	}
	if (find_path(ctx) || server_group(ctx))
		return;
	fill_accept(ctx, &ctx->accept, false);
	if (send_accept(ctx, &ctx->accept)) {
		fail(ctx, ECONNRESET, "Accept could not be sent");
		return;
	}
	if (await_confirm(ctx) || server_confirm(ctx))
		return;
	if (ctx->first && (ready_link(ctx, &ctx->confirm) || server_llc(ctx)))
		return;
	succeed(ctx);
}

/* ---- the work ---------------------------------------------------------------- */

/* Gives back whatever a handshake that did not end on SMC still owns. */
static void undo(struct hs_ctx *ctx)
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
	if (ctx->has_path)
		smc_pnet_path_put(&ctx->path);
	if (ctx->ndev)
		netdev_put(ctx->ndev, &ctx->ndev_tracker);
}

static void count(const struct hs_ctx *ctx)
{
	bool server = ctx->hs->server;
	const struct smc_hs_result *res = &ctx->res;

	switch (res->outcome) {
	case SMC_HS_SMC:
		smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_SMC : SMC_STAT_CLNT_SMC);
		break;
	case SMC_HS_TCP:
		smc_stats_fallback(ctx->net, server, res->own_reason);
		break;
	case SMC_HS_FAIL:
		if (!ctx->no_hs)
			smc_stats_inc(ctx->net, server ? SMC_STAT_SRV_HS_ERR :
							    SMC_STAT_CLNT_HS_ERR);
		break;
	}
}

static void hs_work(struct work_struct *work)
{
	struct smc_hs *hs = container_of(work, struct smc_hs, work);
	struct smc_hs_result none = { .outcome = SMC_HS_FAIL, .err = ENOMEM };
	struct smc_hs_result res;
	struct hs_ctx *ctx;

	/* before anything that can end in done(): the timer would outlive the owner */
	cancel_delayed_work_sync(&hs->deadline_work);
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx) {
		smc_carrier_unhook(hs->carrier);
		hs->done(hs, &none);
		return;
	}
	ctx->hs = hs;
	ctx->net = hs->net;
	ctx->sk = hs->carrier->sock->sk;
	ctx->version = 1;
	if (hs->server)
		server_run(ctx);
	else
		client_run(ctx);
	count(ctx);
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
		queue_work(hs_wq, &hs->work);
	spin_unlock_irqrestore(&hs->wait.lock, flags);
	return first;
}

static void start(struct smc_hs *hs)
{
	claim(hs, true);
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
	state = smc_carrier_state(hs->carrier);
	if (hs->server ? smc_carrier_readable(hs->carrier) || state == TCP_CLOSE :
			 state != TCP_SYN_SENT && state != TCP_SYN_RECV)
		start(hs);
}

static const struct smc_carrier_events carrier_events = {
	.changed = carrier_changed,
};

/* A client that never sends its Proposal: the work finds nothing and times out. */
static void deadline_expired(struct work_struct *work)
{
	start(container_of(to_delayed_work(work), struct smc_hs, deadline_work));
}

/**
 * smc_hs_setup() - initialise the private members
 * @hs: handshake, zeroed
 */
void smc_hs_setup(struct smc_hs *hs)
{
	init_waitqueue_head(&hs->wait);
	INIT_WORK(&hs->work, hs_work);
	INIT_DELAYED_WORK(&hs->deadline_work, deadline_expired);
	hs->cancelled = false;
	hs->started = 0;
}

/**
 * smc_hs_start_client() - begin the client's handshake
 * @hs: set up, carrier connecting or connected
 *
 * Process context. The work is queued once TCP has decided, so a connect() into
 * the void costs no worker.
 */
void smc_hs_start_client(struct smc_hs *hs)
{
	smc_carrier_hook(hs->carrier, &carrier_events, hs);
	carrier_changed(hs);
}

/**
 * smc_hs_start_server() - begin the server's handshake
 * @hs: set up, carrier accepted
 *
 * Process context. The work is queued when the first bytes arrive; a silent client
 * costs no worker and ends at the deadline.
 */
void smc_hs_start_server(struct smc_hs *hs)
{
	hs->deadline = jiffies + T_CLC;
	queue_delayed_work(hs_wq, &hs->deadline_work, T_CLC);
	smc_carrier_hook(hs->carrier, &carrier_events, hs);
	carrier_changed(hs);
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
	cancel_delayed_work_sync(&hs->deadline_work);
	if (!claim(hs, false)) {
		wake_up(&hs->wait);
		flush_work(&hs->work);
	} else if (hs->carrier && hs->carrier->sock) {
		smc_carrier_unhook(hs->carrier);
	}
}

/**
 * smc_hs_init() - create the work queue
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_hs_init(void)
{
	hs_wq = alloc_workqueue("smc_hs", WQ_UNBOUND | WQ_HIGHPRI, HS_WORKERS);
	return hs_wq ? 0 : -ENOMEM;
}

/**
 * smc_hs_exit() - undo smc_hs_init(); no handshake is left
 */
void smc_hs_exit(void)
{
	destroy_workqueue(hs_wq);
}
