/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One running handshake, shared by handshake/handshake.c (work, waits, common steps),
 * handshake/client.c and handshake/server.c. Nobody else includes this.
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

/* Deadlines, in jiffies. */
#define T_CLC		(6 * HZ)	/* one CLC message of the peer */
#define T_ACCEPT	(15 * HZ)	/* Accept: in-tree servers serve one client at a time */
#define T_FOREIGN	(6 * HZ)	/* a word of a host that no group leads to */
#define T_RECONNECT		(15 * HZ)	/* TCP alone, with a peer that has just answered */
#define T_CONFIRM_BUSY	(30 * HZ)	/* Confirm, while the group shows that the peer lives */
#define T_CONTACT		(5 * HZ)	/* somebody else's first contact with the same peer */
#define T_CLAIM		(1 * HZ)	/* until we have seen what ended at the peer before */
#define T_CONFIRM_LINK	(4 * HZ)	/* CONFIRM LINK, either side */
#define T_CONFIRM_RETRY	(HZ * 3 / 2)	/* server: repeat the request once after this */
#define T_ADD_LINK_SRV	(2 * HZ)	/* server: response to the first ADD LINK */
#define T_ADD_LINK_CLNT	(5 * HZ)	/* client: the first ADD LINK, or a Decline */

/* How a step ends; at HS_END the result in the context says what becomes of it all. */
enum smc_hs_next { HS_GO, HS_END };

/* How a wait for the LLC layer ends; HS_LLC_ENDED: the handshake did. */
enum smc_hs_llc { HS_LLC_SEEN, HS_LLC_TIMEOUT, HS_LLC_BROKEN, HS_LLC_ENDED };

/**
 * struct smc_hs_ctx - one running handshake
 * @hs: the handshake
 * @net: namespace
 * @began: ns; client: the Proposal goes, server: it has come
 * @sk: the carrier's sock
 * @rx: CLC message being received
 * @head: header of the last complete one
 * @proposal: server: the client's Proposal
 * @accept: server: what was sent; client: what was received
 * @confirm: the other of the two
 * @buf: CLC message being sent
 * @ndev: netdev of the TCP path, reference held; not while a peer is waited for
 * @ndev_tracker: for @ndev
 * @path: local RoCE port; owned here while @has_path; its GID when the version is known
 * @has_path: see there
 * @parked: @path is ours, but its device may go (smc_pnet_path_park())
 * @gids: what the port has for either version
 * @saddr: local address of the TCP path: IPv6, or IPv4-mapped
 * @daddr: the peer's
 * @peer: who the group leads to
 * @contact: server: answer of the group registry
 * @creator: server: contact_done() is owed
 * @lgr: group, reference held
 * @link: link, reference held
 * @conn: connection, reference held
 * @counted: a place of smc_limit is ours
 * @first: first contact
 * @reserved: a place in @lgr is reserved and not used up
 * @told: the peer knows our RMBE
 * @fc: LLC first contact is armed
 * @eof: the peer sent FIN while LLC was waited for
 * @option: CLC messages may be exchanged: a fall back needs a Decline
 * @clc_err: why no CLC message came, -errno
 * @no_hs: TCP itself failed: no handshake began, none is counted
 * @version: version for our Decline
 * @res: how it ends
 */
struct smc_hs_ctx {
	struct smc_hs *hs;
	struct net *net;
	u64 began;
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
	bool parked;
	struct smc_ib_gids gids;
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
	int clc_err;
	bool tcp_failed;
	u8 version;
	struct smc_hs_result res;
};

/* handshake/steps.c; see the kernel-doc there */
enum smc_hs_next smc_hs_fail(struct smc_hs_ctx *ctx, int err, const char *why);
enum smc_hs_next smc_hs_decline(struct smc_hs_ctx *ctx, u32 reason);
void smc_hs_set_host(struct smc_hs *hs);
enum smc_hs_next smc_hs_admit(struct smc_hs_ctx *ctx);
u32 smc_hs_errno_reason(int err, u32 otherwise);
bool smc_hs_is_cancelled(const struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_fail_clc(struct smc_hs_ctx *ctx, int rc);
enum smc_hs_next smc_hs_await_clc(struct smc_hs_ctx *ctx, enum smc_clc_type type,
				  unsigned long timeout);
enum smc_hs_llc smc_hs_await_llc(struct smc_hs_ctx *ctx, unsigned int want,
				 unsigned long timeout);
enum smc_hs_next smc_hs_find_path(struct smc_hs_ctx *ctx);
void smc_hs_put_netdev(struct smc_hs_ctx *ctx);
bool smc_hs_unpark_path(struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_fill_accept(struct smc_hs_ctx *ctx, struct smc_clc_accept *msg,
				    bool confirm);
int smc_hs_send_accept(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg);
u32 smc_hs_resolve_next_hop(struct smc_hs_ctx *ctx, bool *direct);
int smc_hs_set_peer_rmbe(struct smc_hs_ctx *ctx, const struct smc_clc_accept *msg);
int smc_hs_create_group(struct smc_hs_ctx *ctx, enum smc_role role, bool direct);
int smc_hs_create_conn(struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_decline_conn(struct smc_hs_ctx *ctx, int err, u32 otherwise);
enum smc_hs_next smc_hs_connect_link(struct smc_hs_ctx *ctx,
				   const struct smc_clc_accept *peer_end);
void smc_hs_cache_failure(struct smc_hs_ctx *ctx, u32 reason);
enum smc_hs_next smc_hs_succeed(struct smc_hs_ctx *ctx);
enum smc_hs_next smc_hs_finish_confirm_link(struct smc_hs_ctx *ctx, enum smc_hs_llc w);

/* handshake/handshake.c */
void smc_hs_setup(struct smc_hs *hs, void (*run)(struct smc_hs_ctx *ctx));

#endif
