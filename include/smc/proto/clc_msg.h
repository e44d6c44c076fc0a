/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CLC messages: the handshake over the TCP connection (RFC 7609 A.2, extensions of SMC versions 2
 * and 2.1).
 *
 * Receiving: read exactly SMC_CLC_HEAD_LEN bytes, call smc_clc_parse_header(), read head.len bytes
 * in total, call the parser for head.type. Bytes beyond head.len are not part of the message.
 *
 * Parsers return:
 *   0            *out is filled in
 *   -EPROTO      malformed: reset the TCP connection (RFC 7609 C.6)
 *   -EOPNOTSUPP  apparently well formed, but of a version or transport with an unknown layout:
 *                decline with the reason from smc_clc_unsupported_reason() and fall back
 * On error *out is unchanged.
 *
 * Parsers keep unknown values that do not change the layout (the path MTU code, a release, a
 * Proposal version above 2). smc_clc_check_accept() and smc_clc_check_proposal() find those that
 * require a Decline.
 */
#ifndef SMC_PROTO_CLC_MSG_H
#define SMC_PROTO_CLC_MSG_H

#include <smc/proto/types.h>

#define SMC_CLC_HEAD_LEN	8
#define SMC_CLC_TRAILER_LEN	4

/*
 * The longest message accepted. The longest Proposal has 652 bytes (eight entries in each list),
 * the longest known Confirm 292; the rest is room for longer Confirms of unknown implementations.
 */
#define SMC_CLC_MAX_LEN		1024

/* The longest message that the builders make, for sizing send buffers. */
#define SMC_CLC_BUILD_MAX	524

#define SMC_CLC_MAX_PREFIX6	8
#define SMC_CLC_MAX_EIDS	8
#define SMC_CLC_MAX_GIDS	8

/* Fixed lengths. */
#define SMC_CLC_ACCEPT_V1_LEN	68
#define SMC_CLC_ACCEPT_V2_LEN	108
#define SMC_CLC_ACCEPT_FCE_LEN	160
#define SMC_CLC_DECLINE_V1_LEN	28
#define SMC_CLC_DECLINE_V2_LEN	44

enum smc_clc_type {
	SMC_CLC_PROPOSAL	= 1,
	SMC_CLC_ACCEPT		= 2,
	SMC_CLC_CONFIRM		= 3,
	SMC_CLC_DECLINE		= 4,
};

/* Transports that a Proposal offers, for one version; or the chosen transport. */
enum smc_clc_offer {
	SMC_CLC_OFFER_R		= 0,
	SMC_CLC_OFFER_D		= 1,
	SMC_CLC_OFFER_NONE	= 2,
	SMC_CLC_OFFER_BOTH	= 3,
};

/* Path MTU codes of Accept, Confirm and ADD LINK. */
enum smc_mtu {
	SMC_MTU_256	= 1,
	SMC_MTU_512	= 2,
	SMC_MTU_1024	= 3,
	SMC_MTU_2048	= 4,
	SMC_MTU_4096	= 5,
};

/* Operating system code in Decline and in the first contact extension. */
enum smc_clc_os {
	SMC_CLC_OS_ZOS		= 1,
	SMC_CLC_OS_LINUX	= 2,
	SMC_CLC_OS_AIX		= 3,
	SMC_CLC_OS_UNKNOWN	= 15,
};

/* Releases of version 2. Release 1 is called v2.1 and adds the limits of a link group. */
#define SMC_CLC_RELEASE_0	0
#define SMC_CLC_RELEASE_1	1

/*
 * Range of the negotiated limits of a link group in v2.1. Native peers can negotiate more links,
 * see peer_caps.h.
 */
#define SMC_CLC_CONNS_MIN	16
#define SMC_CLC_CONNS_MAX	255
#define SMC_CLC_LINKS_MIN	1
#define SMC_CLC_LINKS_MAX	2

/* Bit of the feature mask: emulated ISM, meaningless for RDMA. */
#define SMC_CLC_FEATURE_EMULATED_ISM	0x0001

/*
 * Diagnosis codes of the Declines that this implementation sends.
 *
 * Foreign peers have codes of their own, so a received code stays a plain u32. A reason is never
 * used as an errno, nor an errno as a reason.
 */
enum smc_clc_reason {
	SMC_CLC_DECL_NONE		= 0,
	SMC_CLC_DECL_MEM		= 0x01010000,
	SMC_CLC_DECL_RMB_LIMIT		= 0x01018001,
	SMC_CLC_DECL_MEM_LIMIT		= 0x01018002,
	SMC_CLC_DECL_HOST_MEM		= 0x01018003,
	SMC_CLC_DECL_HOST_GROUPS	= 0x01018004,
	SMC_CLC_DECL_HS_LIMIT		= 0x01020000,
	SMC_CLC_DECL_TIMEOUT_CL		= 0x02010000,
	SMC_CLC_DECL_TIMEOUT_AL		= 0x02020000,
	SMC_CLC_DECL_CONFIG		= 0x03000000,
	SMC_CLC_DECL_RULE		= 0x03008001,
	SMC_CLC_DECL_SHORT		= 0x03008002,
	SMC_CLC_DECL_PEER_NO_SMC	= 0x03010000,
	SMC_CLC_DECL_NOT_SMC		= 0x03018001,
	SMC_CLC_DECL_IPSEC		= 0x03020000,
	SMC_CLC_DECL_NO_DEV		= 0x03030000,
	SMC_CLC_DECL_NO_DEV_D		= 0x03030001,
	SMC_CLC_DECL_NO_DEV_R		= 0x03030002,
	SMC_CLC_DECL_NO_ISM_V2		= 0x03030003,
	SMC_CLC_DECL_NO_V2_EXT		= 0x03030004,
	SMC_CLC_DECL_NO_V2_D_EXT	= 0x03030005,
	SMC_CLC_DECL_NO_SEID		= 0x03030006,
	SMC_CLC_DECL_NO_DEV_D_V2	= 0x03030007,
	SMC_CLC_DECL_NO_UEID		= 0x03030008,
	SMC_CLC_DECL_RELEASE		= 0x03030009,
	SMC_CLC_DECL_MAX_CONNS		= 0x0303000a,
	SMC_CLC_DECL_MAX_LINKS		= 0x0303000b,
	/* numbers from 0x...8001 on are defined by this implementation */
	SMC_CLC_DECL_NO_DEV_PNETID	= 0x03038001,
	SMC_CLC_DECL_DEV_BELOW		= 0x03038002,
	SMC_CLC_DECL_NOT_INNER		= 0x03038003,
	SMC_CLC_DECL_MODE		= 0x03040000,
	SMC_CLC_DECL_RMBE_EYEC		= 0x03050000,
	SMC_CLC_DECL_SOCKOPT		= 0x03060000,
	SMC_CLC_DECL_PREFIX		= 0x03070000,
	SMC_CLC_DECL_VLAN_LOOKUP	= 0x03080000,
	SMC_CLC_DECL_VLAN_ISM		= 0x03090000,
	SMC_CLC_DECL_NO_LINK		= 0x030a0000,
	SMC_CLC_DECL_LINK_UNKNOWN	= 0x030b0000,
	SMC_CLC_DECL_VERSION		= 0x030c0000,
	SMC_CLC_DECL_DMB_LIMIT		= 0x030d0000,
	SMC_CLC_DECL_NO_ROUTE		= 0x030e0000,
	SMC_CLC_DECL_NOT_DIRECT		= 0x030f0000,
	SMC_CLC_DECL_SYNC		= 0x04000000,
	SMC_CLC_DECL_PEER		= 0x05000000,
	SMC_CLC_DECL_INTERNAL		= 0x09990000,
	SMC_CLC_DECL_RTOKEN		= 0x09990001,
	SMC_CLC_DECL_LINK_READY		= 0x09990002,
	SMC_CLC_DECL_BUF_REG		= 0x09990003,
};

/**
 * struct smc_clc_head - First eight bytes of a message
 * @type: enum smc_clc_type
 * @version: 1 .. 15
 * @flags: low four bits of byte 7; their meaning depends on @type
 * @smcd: the eye catcher is that of SMC-D
 * @len: bytes of the whole message
 */
struct smc_clc_head {
	u8 type;
	u8 version;
	u8 flags;
	bool smcd;
	u16 len;
};

/**
 * struct smc_clc_prefix6 - One IPv6 prefix of the client's interface
 * @addr: prefix, host bits zero
 * @len: significant bits, at most 128
 */
struct smc_clc_prefix6 {
	u8 addr[16];
	u8 len;
};

/**
 * struct smc_clc_v2_offer - Version 2 extension of a Proposal
 * @release: highest release of the client; the server answers with the smaller of the two
 * @gid: RoCEv2 GID of the client's preferred port
 * @max_conns: v2.1: connections per link group, else 0
 * @max_links: v2.1: links per link group, else 0
 * @features: v2.1: feature mask, else 0
 * @eid_count: number of valid entries in @eids
 * @eids: user EIDs, blank padded
 */
struct smc_clc_v2_offer {
	u8 release;
	u8 gid[SMC_GID_LEN];
	u8 max_conns;
	u8 max_links;
	u16 features;
	u8 eid_count;
	u8 eids[SMC_CLC_MAX_EIDS][SMC_EID_LEN];
};

/**
 * struct smc_clc_proposal - Proposal: a client offers SMC
 * @version: 1: the form of the RFC; 2 and above: with the 40 byte area. A parser keeps a version
 *	above 2; the server answers with version 2
 * @v1_type: enum smc_clc_offer, offered with version 1
 * @v2_type: enum smc_clc_offer, offered with version 2
 * @peer_id: the client's; all zero from some peers that offer only version 2
 * @gid: RoCEv1 GID of the preferred port; zero as @peer_id
 * @mac: MAC of the preferred port; zero as @peer_id
 * @vendor_oui: v2.1, zero when unused, see peer_caps.h
 * @vendor_opt: v2.1, zero when unused, see peer_caps.h
 * @v4_net: network address of the client's interface, all zero for IPv6. Valid only if @v1_type is
 *	not SMC_CLC_OFFER_NONE
 * @v4_len: prefix length of @v4_net
 * @v6_count: number of valid entries in @v6
 * @v6: IPv6 prefixes of the client's interface
 * @has_v2: @v2 is valid; false in some Proposals that offer version 2
 * @v2: version 2 extension
 *
 * Parsers check the parts that concern SMC-D and drop them. About 500 bytes: too large for most
 * kernel stacks.
 */
struct smc_clc_proposal {
	u8 version;
	u8 v1_type;
	u8 v2_type;
	u8 peer_id[SMC_PEER_ID_LEN];
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];
	u8 vendor_oui[3];
	u8 vendor_opt[5];
	u8 v4_net[4];
	u8 v4_len;
	u8 v6_count;
	struct smc_clc_prefix6 v6[SMC_CLC_MAX_PREFIX6];
	bool has_v2;
	struct smc_clc_v2_offer v2;
};

/**
 * struct smc_clc_fce - First contact extension of Accept and Confirm, version 2
 * @direct: the sender reaches the peer without an IP gateway
 * @os: enum smc_clc_os
 * @release: the negotiated release
 * @hostname: blank padded, informational
 * @max_conns: v2.1: negotiated connections per link group, else 0
 * @max_links: v2.1: negotiated links per link group, else 0
 * @features: v2.1: negotiated features, else 0
 * @vendor_opt: v2.1, zero when unused, see peer_caps.h
 */
struct smc_clc_fce {
	bool direct;
	u8 os;
	u8 release;
	u8 hostname[SMC_HOSTNAME_LEN];
	u8 max_conns;
	u8 max_links;
	u16 features;
	u8 vendor_opt[4];
};

/**
 * struct smc_clc_accept - Accept or Confirm for SMC-R
 * @is_confirm: Confirm, else Accept
 * @version: 1 or 2
 * @first_contact: a link group has to be created. Known clients also set it in a Confirm; a version
 *	2 Confirm needs it to announce @fce and @gids
 * @peer_id: sender's
 * @gid: sender's, of the link
 * @mac: sender's, of the link
 * @qpn: sender's queue pair, 24 bits
 * @rkey: of the RMB, on the link
 * @rmbe_idx: index of the RMBE in the RMB, from 1 on; a parser never delivers 0
 * @token: alert token, opaque, for CDC messages of this connection
 * @bsize: code of the RMBE size, see smc_wire_bsize_to_len(); all 16 values are valid
 * @mtu: enum smc_mtu, may be an unknown code
 * @vaddr: address of the RMB, not of the RMBE. The parser has checked that the RMBE does not wrap
 *	around the address space
 * @psn: initial packet sequence number of the sender, 24 bits
 * @reserved: version 1: the two single bytes that the RFC leaves unused, zero from foreign peers,
 *	see peer_caps.h
 * @eid: version 2: the EID that the server chose
 * @fce: version 2 first contact only
 * @gid_count: version 2 first contact Confirm only: entries in @gids
 * @gids: GIDs that the client can use for links. A parser keeps the first SMC_CLC_MAX_GIDS
 *
 * Fields that a form does not have are zero after parsing and ignored when building.
 */
struct smc_clc_accept {
	bool is_confirm;
	u8 version;
	bool first_contact;
	u8 peer_id[SMC_PEER_ID_LEN];
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];
	u32 qpn;
	u32 rkey;
	u8 rmbe_idx;
	u32 token;
	u8 bsize;
	u8 mtu;
	u64 vaddr;
	u32 psn;
	u8 reserved[2];
	u8 eid[SMC_EID_LEN];
	struct smc_clc_fce fce;
	u8 gid_count;
	u8 gids[SMC_CLC_MAX_GIDS][SMC_GID_LEN];
};

/**
 * struct smc_clc_decline - Decline: no SMC for this connection
 * @version: of the message; above 1 the long form
 * @out_of_sync: the sender has lost the link group that the peer uses
 * @peer_id: informational: may be zero or junk
 * @diag: reason; enum smc_clc_reason or a code of a foreign peer
 * @os: long form: enum smc_clc_os
 * @extra: long form: further codes
 */
struct smc_clc_decline {
	u8 version;
	bool out_of_sync;
	u8 peer_id[SMC_PEER_ID_LEN];
	u32 diag;
	u8 os;
	u32 extra[4];
};

int smc_clc_parse_header(const u8 *buf, struct smc_clc_head *head);
int smc_clc_parse_proposal(const u8 *buf, size_t len,
			   struct smc_clc_proposal *out);
int smc_clc_parse_accept(const u8 *buf, size_t len,
			 struct smc_clc_accept *out);
int smc_clc_parse_decline(const u8 *buf, size_t len,
			  struct smc_clc_decline *out);

int smc_clc_build_proposal(const struct smc_clc_proposal *in, u8 *buf,
			   size_t cap);
int smc_clc_build_accept(const struct smc_clc_accept *in, u8 *buf, size_t cap);
int smc_clc_build_decline(const struct smc_clc_decline *in, u8 *buf,
			  size_t cap);

bool smc_clc_prefix_equal(const u8 *a, const u8 *b, u8 len);
void smc_clc_proposal_set_prefix4(struct smc_clc_proposal *p, const u8 *addr, u8 len);
bool smc_clc_proposal_add_prefix6(struct smc_clc_proposal *p, const u8 *addr, u8 len);
bool smc_clc_proposal_match_prefix4(const struct smc_clc_proposal *p, const u8 *addr, u8 len,
				    const u8 *client);
bool smc_clc_proposal_match_prefix6(const struct smc_clc_proposal *p, const u8 *addr, u8 len);

enum smc_clc_reason smc_clc_unsupported_reason(const struct smc_clc_head *head);
enum smc_clc_reason smc_clc_check_proposal(const struct smc_clc_proposal *p);
enum smc_clc_reason smc_clc_check_accept(const struct smc_clc_accept *a);
const char *smc_clc_reason_str(u32 reason);

#endif
