/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The context of a running handshake, its timers, and the functions that the files of handshake/
 * share. Private to handshake/.
 */
#ifndef _SMC_HANDSHAKE_INTERNAL_H
#define _SMC_HANDSHAKE_INTERNAL_H

#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <smc/handshake/handshake.h>
#include <smc/lgr/lgr.h>
#include <smc/rdma/path.h>
#include <smc/tcp/clc.h>

/* Deadlines in jiffies; see "Timers" in Documentation/handshake.rst. */
#define T_CLC		(6 * HZ)	/* one CLC message of the peer */
#define T_ACCEPT	(15 * HZ)	/* Accept: in-tree servers serve one client at a time */
#define T_ACCEPT_BUSY	(30 * HZ)	/* Accept of a native server: it may announce an RMB */
#define T_FOREIGN	(6 * HZ)	/* first byte of a host that no group leads to */
#define T_RECONNECT	(15 * HZ)	/* second TCP connection, without the SMC option */
#define T_CONFIRM_BUSY	(30 * HZ)	/* Confirm: native client, or the group's link receives */
#define T_CONTACT	(5 * HZ)	/* another handshake's first contact with the peer */
#define T_CLAIM		(1 * HZ)	/* end of the connection that has the RMBE or token */
#define T_CLAIM_LONG	(24 * HZ)	/* ... of a native peer, since the Accept */
#define T_CONFIRM_LINK	(4 * HZ)	/* CONFIRM LINK, either side */
#define T_CONFIRM_RETRY	(HZ * 3 / 2)	/* server: repeat the CONFIRM LINK request once */
#define T_ADD_LINK_SRV	(2 * HZ)	/* server: response to the first ADD LINK */
#define T_ADD_LINK_CLNT	(5 * HZ)	/* client: the first ADD LINK, or a Decline */

/**
 * enum smc_hs_next - result of a step
 * @HS_GO: continue with the next step
 * @HS_END: the handshake is over; smc_hs_ctx.res is set
 */
enum smc_hs_next { HS_GO, HS_END };

/**
 * enum smc_hs_llc - result of a wait for the LLC layer
 * @HS_LLC_SEEN: the LLC message has arrived
 * @HS_LLC_TIMEOUT: the time is over
 * @HS_LLC_BROKEN: the link or the group failed
 * @HS_LLC_ENDED: the handshake is over; smc_hs_ctx.res is set
 */
enum smc_hs_llc { HS_LLC_SEEN, HS_LLC_TIMEOUT, HS_LLC_BROKEN, HS_LLC_ENDED };

/**
 * struct smc_hs_msgs - the CLC messages of a handshake
 * @rx: message that is being received
 * @head: header of the last complete message
 * @proposal: the Proposal; client: as sent, server: as received
 * @accept: the Accept; server: as sent, client: as received
 * @confirm: the Confirm; client: as sent, server: as received
 * @buf: message that is being sent
 *
 * Apart from the rest: most of its size, which a client whose server has no SMC does not need.
 */
struct smc_hs_msgs {
	struct smc_clc_rx rx;
	struct smc_clc_head head;
	struct smc_clc_proposal proposal;
	struct smc_clc_accept accept;
	struct smc_clc_accept confirm;
	u8 buf[SMC_CLC_BUILD_MAX];
};

/**
 * struct smc_hs_ctx - a running handshake, on the stack of its work
 * @hs: the handshake
 * @net: namespace
 * @began: start time in ns; client: before the Proposal is sent, server: after it has arrived
 * @sk: TCP socket of the clcsock
 * @msgs: CLC messages; NULL until smc_hs_alloc_msgs()
 * @ndev: netdev of the TCP path, reference held; NULL while the peer is waited for
 * @ndev_tracker: for @ndev
 * @path: local RoCE port; its GID is set when the version is known
 * @has_path: @path holds a reference on its device
 * @parked: @path is set but does not hold its device (smc_path_release_device())
 * @gids: GIDs of the port for version 1 and version 2
 * @v1_gid: server: our GID for version 1, if @has_v1
 * @has_v1: server: version 1 is possible too, over other GIDs than version 2
 * @saddr: our address on the TCP path, IPv4 as v4-mapped
 * @daddr: the peer's address on the TCP path, IPv4 as v4-mapped
 * @peer: peer of the group, as the CLC messages name it
 * @contact: server: result of smc_contact_begin()
 * @creator: server: smc_contact_finish() has to be called
 * @lgr: group, reference held
 * @link: link, reference held
 * @conn: connection, reference held
 * @admitted: smc_admission_release() has to be called
 * @first: first contact
 * @reserved: a place in @lgr is reserved for @conn and not used yet
 * @rmbe_announced: an Accept or Confirm with our RMBE was sent
 * @llc_armed: smc_llc_fc_begin() was called, smc_llc_fc_end() has to be
 * @eof: the peer sent FIN while the handshake waited for LLC
 * @option_agreed: both ends sent the SMC option: a fallback needs a Decline
 * @probe: client: the probe of a server in the negative cache: smc_negcache_end() has to be called
 * @probe_at: jiffies when the probe began
 * @probe_addr: whose, IPv4 as v4-mapped
 * @probe_port: ... TCP port
 * @accept_at: jiffies when the Accept was sent, or had arrived
 * @clc_err: -errno of the CLC exchange, why no CLC message arrived
 * @tcp_failed: TCP did not connect: the handshake did not begin and is not counted
 * @version: version of our Decline
 * @res: result
 */
struct smc_hs_ctx {
	struct smc_hs *hs;
	struct net *net;
	u64 began;
	struct sock *sk;
	struct smc_hs_msgs *msgs;
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct smc_path path;
	bool has_path;
	bool parked;
	struct smc_ib_gids gids;
	struct smc_ib_gid v1_gid;
	bool has_v1;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct smc_peer peer;
	struct smc_contact contact;
	bool creator;
	struct smc_lgr *lgr;
	struct smc_link *link;
	struct smc_conn *conn;
	bool admitted;
	bool first;
	bool reserved;
	bool rmbe_announced;
	bool llc_armed;
	bool eof;
	bool option_agreed;
	bool probe;
	unsigned long probe_at;
	struct in6_addr probe_addr;
	u16 probe_port;
	unsigned long accept_at;
	int clc_err;
	bool tcp_failed;
	u8 version;
	struct smc_hs_result res;
};

static inline bool smc_hs_is_cancelled(const struct smc_hs_ctx *ctx)
{
	return READ_ONCE(ctx->hs->cancelled);
}

/* handshake/result.c */
const char *smc_hs_side_name(const struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_fail(struct smc_hs_ctx *ctx, int err, const char *why);
enum smc_hs_next smc_hs_fail_clc(struct smc_hs_ctx *ctx, int rc);
enum smc_hs_next smc_hs_decline(struct smc_hs_ctx *ctx, u32 reason);
u32 smc_hs_errno_reason(int err, u32 otherwise);
enum smc_hs_next smc_hs_decline_conn(struct smc_hs_ctx *ctx, int err, u32 otherwise);
void smc_hs_cache_late_decline(struct smc_hs_ctx *ctx, u32 diag);
enum smc_hs_next smc_hs_take_decline(struct smc_hs_ctx *ctx);
void smc_hs_cache_port(struct smc_hs_ctx *ctx, u32 reason);
void smc_hs_cache_host(struct smc_hs_ctx *ctx, u32 reason);
enum smc_hs_next smc_hs_begin_probe(struct smc_hs_ctx *ctx);
void smc_hs_end_probe(struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_succeed(struct smc_hs_ctx *ctx);

/* handshake/wait.c */
enum smc_hs_next smc_hs_await_clc(struct smc_hs_ctx *ctx, enum smc_clc_type type,
				  unsigned long timeout);
enum smc_hs_llc smc_hs_await_llc(struct smc_hs_ctx *ctx, unsigned int want,
				 unsigned long timeout);
bool smc_hs_peer_has_ended(const struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_take_end(struct smc_hs_ctx *ctx);

/* handshake/steps.c */
enum smc_hs_next smc_hs_alloc_msgs(struct smc_hs_ctx *ctx);
void smc_hs_set_host(struct smc_hs *hs);
enum smc_hs_next smc_hs_admit(struct smc_hs_ctx *ctx);
bool smc_hs_id_is_own(const u8 *peer_id);
const struct in6_addr *smc_hs_inner_peer(const struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_find_path(struct smc_hs_ctx *ctx);
void smc_hs_put_netdev(struct smc_hs_ctx *ctx);
bool smc_hs_unpark_path(struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_fill_accept(struct smc_hs_ctx *ctx, struct smc_clc_accept *msg,
				    bool confirm);
int smc_hs_send_accept(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg);
u32 smc_hs_resolve_next_hop(struct smc_hs_ctx *ctx, bool *direct);
int smc_hs_set_peer_rmbe(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg,
			 struct smc_link *link);
int smc_hs_create_group(struct smc_hs_ctx *ctx, enum smc_role role, bool direct);
int smc_hs_create_conn(struct smc_hs_ctx *ctx);
u32 smc_hs_broken_reason(const struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_connect_link(struct smc_hs_ctx *ctx,
				     const struct smc_clc_accept *peer_end);
enum smc_hs_next smc_hs_finish_confirm_link(struct smc_hs_ctx *ctx, enum smc_hs_llc w);

/* handshake/client.c */
enum smc_hs_next smc_hs_take_accept(struct smc_hs_ctx *ctx);

/* handshake/handshake.c */
void smc_hs_setup(struct smc_hs *hs, void (*run)(struct smc_hs_ctx *ctx));

#endif
