/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Native peers, which run this implementation: how they recognise each other, and what they can do
 * beyond RFC 7609.
 *
 * On the wire: the native tag. It consists of an OUI from the locally administered range
 * (unassigned, and improbable elsewhere) and a version byte. It is sent in
 *   - the vendor area of the Proposal: OUI, then the version as first option, flags as second,
 *     links per group as third;
 *   - the vendor options of the first contact extension: OUI, then the version;
 *   - an Accept of version 1, which has no such area, only in answer to a tagged Proposal: first
 *     byte of the OUI and version, in the two single reserved bytes.
 * The in-tree family sends zeros there and ignores received values.
 *
 * In the module: the peer capabilities, enum smc_peer_cap. The version of the tag selects most of
 * them. Later ones are announced one by one, in the LLC message CAPABILITIES, to peers with the tag
 * (SMC_PEER_CAPS_ANNOUNCED). Code asks for the capability that it needs (smc_peer_can()), never for
 * the version.
 *
 * The tag is not authenticated, any peer can send it. So a capability may select what is tried or
 * shown, but never what is left unchecked.
 */
#ifndef SMC_PROTO_PEER_CAPS_H
#define SMC_PROTO_PEER_CAPS_H

#include <smc/proto/clc_msg.h>
#include <smc/proto/link_set.h>

#define SMC_NATIVE_TAG_OUI0		0xd2
#define SMC_NATIVE_TAG_OUI1		0x53
#define SMC_NATIVE_TAG_OUI2		0x4d

/* The version that we send. Zero means "no tag", a foreign peer. */
#define SMC_NATIVE_TAG_VERSION		1

/*
 * Flag of a Proposal: the GID for version 1 is a RoCE v2 GID, because the client has no other. A
 * foreign server would take it for a RoCE v1 GID.
 */
#define SMC_NATIVE_TAG_V1_OVER_V2	0x01

/*
 * Flag of a Proposal: the client has no second port. If the server has none either, no further link
 * is possible, and it need not create one in order to offer it.
 */
#define SMC_NATIVE_TAG_ONE_PORT		0x02

/*
 * Flag of a Proposal: the client takes the server for a namespace of its own host, and its GIDs are
 * those of smc_lo. Without it they may be the same ones of an RNIC on that netdev.
 */
#define SMC_NATIVE_TAG_INNER		0x04

/**
 * enum smc_peer_cap - What a peer can do beyond the RFC, or does where the RFC leaves a choice
 * @SMC_CAP_ACCEPT_V1_TAG: Reads the tag in the reserved bytes of an Accept of version 1. The server
 *	sets them only for such a client (smc_hs_fill_accept()).
 * @SMC_CAP_V1_OVER_V2: As server, it answers version 1 over a RoCE v2 GID if the Proposal says that
 *	the client's GID is one. The client declines other servers' Accepts if it has offered such a
 *	GID (client_check_v1(), decision 0006). What a client offers is a flag of its Proposal:
 *	smc_native_tag_v1_over_v2().
 * @SMC_CAP_MANY_LINKS: Negotiates up to SMC_LINKS_MAX links per group, also one, also in version 1:
 *	the limits in Proposal and first contact extension (smc_native_tag_links(),
 *	smc_peer_caps_fce_links_max(), client_check_v2()) and in CONFIRM LINK
 *	(llc_fc_agree_max_links(), decision 0013).
 * @SMC_CAP_ADD_LINK_KEPT: As client, it keeps an ADD LINK that arrives before it waits for it, and
 *	answers when it can. So the server's first contact does not wait for the answer
 *	(add_link_server_release_fc()).
 * @SMC_CAP_RKEY_RETRY: Repeats a CONFIRM RKEY that was refused because it had crossed an ADD LINK
 *	(RFC 7609 section 3.5.5.3.1). From other peers it is accepted (llc_verdict()).
 * @SMC_CAP_LINK_ORDERS: As client of a group from which an operator has removed a link, it requests
 *	one only if its operator orders so. Such a request lifts the limit on the number of links
 *	that its operator has set, not one of the server's operator (smc_recovery_peer_request()).
 * @SMC_CAP_DELETE_WORKING: On DELETE LINK for a link that works, it fences its end before it writes
 *	any byte again. For other peers our end goes first (delete_link_run(), decision 0012).
 * @SMC_CAP_DELETE_LOST: As server, it answers a DELETE LINK for a link that only the client has
 *	lost at once, whatever it still sends over it. Other servers get time to detect the loss
 *	themselves (delete_link_postpone_request(), decision 0012).
 * @SMC_CAP_FIRST_LINK: As client, it begins over any link of the group, and as server it lets the
 *	client do so (conn_alloc(), smc_conn_pick_first_link_locked(), decision 0012).
 * @SMC_CAP_CURSOR_REPEAT: After a failover it sends its consumer cursor again, unasked. For other
 *	peers a part of their RMBE is kept unused, to make them do so (smc_conn_set_peer()).
 * @SMC_CAP_EVERY_MOVE: Sends a failover validation for each move of a connection to another link,
 *	also if the connection is half closed. So its silence after a loss is suspicious
 *	(conn_peer_ended(), conn_peer_may_be_silent(), smc_conn_finish_path_locked()).
 * @SMC_CAP_MOVE_HISTORY: Its validations name the previous links and count the moves, and it reads
 *	that in ours, of which it has to receive every one (conn_use_link(), conn_rewind_tx(),
 *	conn_left_slots(), decision 0012). Peers with MANY_LINKS or FIRST_LINK have it.
 * @SMC_CAP_ORDERLY_MOVE: Takes part in orderly moves: answers the request for its progress, and
 *	says in validations which moves were orderly (balance_begin_moves(), conn_left_slots(),
 *	cdc_apply_orderly_move(), decision 0014). Such peers have MOVE_HISTORY, too.
 * @SMC_CAP_URGENT_REPEAT: Takes the flags P and U of later messages as the RFC defines them, not
 *	for one more urgent byte each (smc_cdc_build()).
 * @SMC_CAP_WRITE_IMM: Announced: takes the immediate value of a WRITE for a CDC message
 *	(smc_cdc_build_imm(), decision 0020).
 * @SMC_CAP_LATE_CLC: Announced: in a subsequent contact it waits for the Accept or Confirm longer
 *	than other peers, so that an RMB can be announced while packets are reordered or lost
 *	(smc_conn_take_buffers(), client_accept_timeout(), server_await_confirm()).
 * @SMC_CAP_UPGRADE: Announced if net.smc.upgrade_bytes is set: takes UPGRADE (upgrade.h,
 *	llc/upgrade.c, decision 0021).
 */
enum smc_peer_cap {
	SMC_CAP_ACCEPT_V1_TAG	= 0x0001,
	SMC_CAP_V1_OVER_V2	= 0x0002,
	SMC_CAP_MANY_LINKS	= 0x0004,
	SMC_CAP_ADD_LINK_KEPT	= 0x0008,
	SMC_CAP_RKEY_RETRY	= 0x0010,
	SMC_CAP_LINK_ORDERS	= 0x0020,
	SMC_CAP_DELETE_WORKING	= 0x0040,
	SMC_CAP_DELETE_LOST	= 0x0080,
	SMC_CAP_FIRST_LINK	= 0x0100,
	SMC_CAP_CURSOR_REPEAT	= 0x0200,
	SMC_CAP_EVERY_MOVE	= 0x0400,
	SMC_CAP_MOVE_HISTORY	= 0x0800,
	SMC_CAP_ORDERLY_MOVE	= 0x1000,
	SMC_CAP_URGENT_REPEAT	= 0x2000,
	SMC_CAP_WRITE_IMM	= 0x10000,
	SMC_CAP_LATE_CLC	= 0x20000,
	SMC_CAP_UPGRADE		= 0x40000,
};

/* What version 1 of the tag means. The set never shrinks: later versions have all of these. */
#define SMC_PEER_CAPS_TAG_1							\
	(SMC_CAP_ACCEPT_V1_TAG | SMC_CAP_V1_OVER_V2 | SMC_CAP_MANY_LINKS |	\
	 SMC_CAP_ADD_LINK_KEPT | SMC_CAP_RKEY_RETRY | SMC_CAP_LINK_ORDERS |	\
	 SMC_CAP_DELETE_WORKING | SMC_CAP_DELETE_LOST | SMC_CAP_FIRST_LINK |	\
	 SMC_CAP_CURSOR_REPEAT | SMC_CAP_EVERY_MOVE | SMC_CAP_MOVE_HISTORY |	\
	 SMC_CAP_ORDERLY_MOVE | SMC_CAP_URGENT_REPEAT)

/* Capabilities that CAPABILITIES announces, from its lowest bit on, and where they begin. */
#define SMC_PEER_CAPS_ANNOUNCED		(SMC_CAP_WRITE_IMM | SMC_CAP_LATE_CLC | SMC_CAP_UPGRADE)
#define SMC_PEER_CAPS_ANNOUNCED_SHIFT	16

/* Those that this host has. UPGRADE is added to a group by a setting (net.smc.upgrade_bytes). */
#define SMC_PEER_CAPS_OWN		(SMC_CAP_WRITE_IMM | SMC_CAP_LATE_CLC)

/**
 * smc_peer_caps_to_announced() - Return the bits of CAPABILITIES
 * @caps: mask of enum smc_peer_cap that this host has
 *
 * Return: the bits.
 */
static inline u32 smc_peer_caps_to_announced(u32 caps)
{
	return (caps & SMC_PEER_CAPS_ANNOUNCED) >> SMC_PEER_CAPS_ANNOUNCED_SHIFT;
}

/**
 * smc_peer_caps_of_announced() - Return the capabilities that CAPABILITIES announces
 * @bits: its bits; those of later versions are ignored
 *
 * Return: mask of enum smc_peer_cap.
 */
static inline u32 smc_peer_caps_of_announced(u32 bits)
{
	return bits << SMC_PEER_CAPS_ANNOUNCED_SHIFT & SMC_PEER_CAPS_ANNOUNCED;
}

/**
 * smc_peer_caps_of_version() - Return the capabilities that a version of the native tag means
 * @version: version byte of the tag, 0 without a tag
 *
 * A version that we do not know is later than ours, and can do what ours can.
 *
 * Return: mask of enum smc_peer_cap, 0 for a foreign peer.
 */
static inline u32 smc_peer_caps_of_version(u8 version)
{
	return version ? SMC_PEER_CAPS_TAG_1 : 0;
}

static inline void smc_native_tag_put_oui(u8 *p)
{
	p[0] = SMC_NATIVE_TAG_OUI0;
	p[1] = SMC_NATIVE_TAG_OUI1;
	p[2] = SMC_NATIVE_TAG_OUI2;
}

static inline bool smc_native_tag_is_oui(const u8 *p)
{
	return p[0] == SMC_NATIVE_TAG_OUI0 && p[1] == SMC_NATIVE_TAG_OUI1 &&
	       p[2] == SMC_NATIVE_TAG_OUI2;
}

/**
 * smc_native_tag_set_proposal() - Put the tag into a Proposal of version 2
 * @p: Proposal about to be built
 */
static inline void smc_native_tag_set_proposal(struct smc_clc_proposal *p)
{
	memset(p->vendor_opt, 0, sizeof(p->vendor_opt));
	smc_native_tag_put_oui(p->vendor_oui);
	p->vendor_opt[0] = SMC_NATIVE_TAG_VERSION;
}

/**
 * smc_peer_caps_of_proposal() - Return the capabilities of the client that sent a Proposal
 * @p: parsed Proposal
 *
 * Return: mask of enum smc_peer_cap, 0 for a foreign peer.
 */
static inline u32 smc_peer_caps_of_proposal(const struct smc_clc_proposal *p)
{
	return smc_peer_caps_of_version(smc_native_tag_is_oui(p->vendor_oui) ?
					p->vendor_opt[0] : 0);
}

/**
 * smc_native_tag_set_v1_over_v2() - Offer version 1 over RoCE v2
 * @p: tagged Proposal about to be built
 */
static inline void smc_native_tag_set_v1_over_v2(struct smc_clc_proposal *p)
{
	p->vendor_opt[1] |= SMC_NATIVE_TAG_V1_OVER_V2;
}

/**
 * smc_native_tag_v1_over_v2() - Check whether version 1 is offered over RoCE v2
 * @p: parsed Proposal
 *
 * Return: true if so.
 */
static inline bool smc_native_tag_v1_over_v2(const struct smc_clc_proposal *p)
{
	return smc_peer_caps_of_proposal(p) & SMC_CAP_V1_OVER_V2 &&
	       p->vendor_opt[1] & SMC_NATIVE_TAG_V1_OVER_V2;
}

/**
 * smc_native_tag_set_one_port() - Say that this host has no second port
 * @p: tagged Proposal about to be built
 */
static inline void smc_native_tag_set_one_port(struct smc_clc_proposal *p)
{
	p->vendor_opt[1] |= SMC_NATIVE_TAG_ONE_PORT;
}

/**
 * smc_native_tag_one_port() - Check whether the client has said that it has no second port
 * @p: parsed Proposal
 *
 * Return: true if so. Foreign peers, and native ones of earlier versions, never do.
 */
static inline bool smc_native_tag_one_port(const struct smc_clc_proposal *p)
{
	return smc_peer_caps_of_proposal(p) && p->vendor_opt[1] & SMC_NATIVE_TAG_ONE_PORT;
}

/**
 * smc_native_tag_set_inner() - Offer a path within the host
 * @p: tagged Proposal about to be built
 */
static inline void smc_native_tag_set_inner(struct smc_clc_proposal *p)
{
	p->vendor_opt[1] |= SMC_NATIVE_TAG_INNER;
}

/**
 * smc_native_tag_inner() - Check whether the client offers a path within the host
 * @p: parsed Proposal
 *
 * Return: true if so.
 */
static inline bool smc_native_tag_inner(const struct smc_clc_proposal *p)
{
	return smc_peer_caps_of_proposal(p) && p->vendor_opt[1] & SMC_NATIVE_TAG_INNER;
}

/**
 * smc_native_tag_set_links() - Offer a number of links per group
 * @p: tagged Proposal about to be built
 * @links: up to SMC_LINKS_MAX
 *
 * The Proposal's own field is also read by foreign servers, so larger numbers are sent here. The
 * server answers in the first contact extension, where SMC_CAP_MANY_LINKS permits more than
 * SMC_CLC_LINKS_MAX; in version 1 in its CONFIRM LINK.
 */
static inline void smc_native_tag_set_links(struct smc_clc_proposal *p, u8 links)
{
	p->vendor_opt[2] = links;
}

/**
 * smc_native_tag_links() - Return the number of links per group that the client offers
 * @p: parsed Proposal
 *
 * Return: 1..SMC_LINKS_MAX; 0 if not given, as by foreign peers: SMC_CLC_LINKS_MAX then applies.
 */
static inline u8 smc_native_tag_links(const struct smc_clc_proposal *p)
{
	if (!(smc_peer_caps_of_proposal(p) & SMC_CAP_MANY_LINKS))
		return 0;
	return p->vendor_opt[2] < SMC_LINKS_MAX ? p->vendor_opt[2] : SMC_LINKS_MAX;
}

/**
 * smc_native_tag_set_v1() - Put the tag into an Accept of version 1
 * @a: Accept about to be built, in answer to a tagged Proposal
 */
static inline void smc_native_tag_set_v1(struct smc_clc_accept *a)
{
	a->reserved[0] = SMC_NATIVE_TAG_OUI0;
	a->reserved[1] = SMC_NATIVE_TAG_VERSION;
}

/**
 * smc_peer_caps_of_v1() - Return the capabilities of the server that sent an Accept of version 1
 * @a: parsed Accept
 *
 * Return: mask of enum smc_peer_cap, 0 for a foreign peer.
 */
static inline u32 smc_peer_caps_of_v1(const struct smc_clc_accept *a)
{
	return smc_peer_caps_of_version(a->reserved[0] == SMC_NATIVE_TAG_OUI0 ? a->reserved[1] : 0);
}

/**
 * smc_native_tag_set_fce() - Put the tag into a first contact extension
 * @fce: extension about to be built
 */
static inline void smc_native_tag_set_fce(struct smc_clc_fce *fce)
{
	smc_native_tag_put_oui(fce->vendor_opt);
	fce->vendor_opt[3] = SMC_NATIVE_TAG_VERSION;
}

/**
 * smc_peer_caps_of_fce() - Return the capabilities of the sender of a first contact extension
 * @fce: parsed extension; all zero if the message had none
 *
 * Return: mask of enum smc_peer_cap, 0 for a foreign peer.
 */
static inline u32 smc_peer_caps_of_fce(const struct smc_clc_fce *fce)
{
	return smc_peer_caps_of_version(smc_native_tag_is_oui(fce->vendor_opt) ?
					fce->vendor_opt[3] : 0);
}

/**
 * smc_peer_caps_fce_links_max() - Return the largest number of links a first contact extension may
 * have
 * @fce: parsed extension
 *
 * Return: the number.
 */
static inline u8 smc_peer_caps_fce_links_max(const struct smc_clc_fce *fce)
{
	return smc_peer_caps_of_fce(fce) & SMC_CAP_MANY_LINKS ? SMC_LINKS_MAX : SMC_CLC_LINKS_MAX;
}

#endif
