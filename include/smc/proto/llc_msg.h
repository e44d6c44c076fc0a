/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LLC messages: control of links and of memory registrations, sent over the links themselves (RFC
 * 7609 A.3, and the version 2 forms).
 *
 * The version of a link group decides which forms are used; smc_llc_msg.version is the form of a
 * message, and a receiver drops messages that do not have its group's version.
 *
 * Byte order: two fields of version 2 have no common byte order in practice, the 16-bit length and
 * the number of rtokens in ADD LINK. Documents say network order, the in-tree family uses the order
 * of its machine. The parser therefore ignores both and uses the length from the completion. The
 * builder writes both little-endian: a little-endian in-tree peer needs that for the rtoken count,
 * and any peer that uses the length from the completion accepts it.
 *
 * More than three links: CONFIRM RKEY of version 1 is continued by CONFIRM RKEY CONTINUATION.
 * Version 2 has no such message, since it has no such groups: there CONFIRM RKEY is as long as its
 * list of links, which only groups between two native peers have
 * (Documentation/decisions/0013-more-than-two-links.md).
 */
#ifndef SMC_PROTO_LLC_MSG_H
#define SMC_PROTO_LLC_MSG_H

#include <smc/proto/types.h>

#define SMC_LLC_V1_LEN		SMC_LINK_MSG_LEN
#define SMC_LLC_V2_MAX_LEN	8192

#define SMC_LLC_MAX_RTOKENS	255	/* in one ADD LINK of version 2 */
#define SMC_LLC_MAX_GIDS	255	/* in one REQUEST ADD LINK */
#define SMC_LLC_MAX_RKEYS_V1	8	/* in one DELETE RKEY of version 1 */
#define SMC_LLC_MAX_RKEYS_V2	255	/* in one DELETE RKEY of version 2 */
#define SMC_LLC_MAX_OTHER	8	/* other links of a group */
#define SMC_LLC_CONT_PAIRS	2	/* rtokens in one ADD LINK CONT */
#define SMC_LLC_CONFIRM_RKEY_LINKS	2	/* other links in one CONFIRM RKEY of 44 bytes */
#define SMC_LLC_CONFIRM_RKEY_CONT_LINKS 3	/* other links in one CONFIRM RKEY CONT */

/* Message types; on the wire version 2 adds 0x20. */
enum smc_llc_type {
	SMC_LLC_CONFIRM_LINK		= 1,
	SMC_LLC_ADD_LINK		= 2,
	SMC_LLC_ADD_LINK_CONT		= 3,	/* version 1 only */
	SMC_LLC_DELETE_LINK		= 4,
	SMC_LLC_REQ_ADD_LINK		= 5,	/* version 2 only */
	SMC_LLC_CONFIRM_RKEY		= 6,
	SMC_LLC_TEST_LINK		= 7,
	SMC_LLC_CONFIRM_RKEY_CONT	= 8,	/* version 1 only */
	SMC_LLC_DELETE_RKEY		= 9,
	SMC_LLC_CAPS			= 0xb0,	/* native peers; the same in both versions */
};

/* Places in a table of messages by type, from 1 on. */
#define SMC_LLC_PLACES		10

/**
 * smc_llc_type_to_place() - Return the place of a message type in a table
 * @type: enum smc_llc_type
 *
 * Return: 1..SMC_LLC_PLACES; the number itself but for CAPABILITIES, which has the last place.
 */
static inline u8 smc_llc_type_to_place(u8 type)
{
	return type == SMC_LLC_CAPS ? SMC_LLC_PLACES : type;
}

/* Reasons to reject ADD LINK. */
enum smc_llc_reject {
	SMC_LLC_REJ_NO_ALT_PATH	= 1,
	SMC_LLC_REJ_MTU		= 2,
};

/* Reasons of DELETE LINK; the last two are for responses. */
enum smc_llc_del_reason {
	SMC_LLC_DEL_LOST_PATH		= 0x00010000,
	SMC_LLC_DEL_OPERATOR		= 0x00020000,
	SMC_LLC_DEL_PROGRAM		= 0x00030000,
	SMC_LLC_DEL_PROTOCOL		= 0x00040000,
	SMC_LLC_DEL_ASYMMETRIC		= 0x00050000,
	SMC_LLC_DEL_NO_LINK		= 0x00100000,
	SMC_LLC_DEL_NO_GROUP		= 0x00200000,
};

/* Classes of messages on a queue pair, by their first byte. */
enum smc_llc_class {
	SMC_LLC_CLASS_LLC,	/* LLC message of a known type */
	SMC_LLC_CLASS_CDC,
	SMC_LLC_CLASS_OPTIONAL,	/* unknown, may be dropped */
	SMC_LLC_CLASS_UNKNOWN,	/* unknown, and the sender relies on it */
};

/**
 * struct smc_llc_rtoken - RMB on the link that carries the message, and on a new link
 * @ref_rkey: rkey on the link that carries the message
 * @rkey: rkey on the new link
 * @vaddr: address on the new link
 */
struct smc_llc_rtoken {
	u32 ref_rkey;
	u32 rkey;
	u64 vaddr;
};

/**
 * struct smc_llc_rkey - RMB on one named link
 * @link_num: number of the link
 * @rkey: rkey on that link
 * @vaddr: address on that link
 */
struct smc_llc_rkey {
	u8 link_num;
	u32 rkey;
	u64 vaddr;
};

/**
 * struct smc_llc_list - List that is too long to be copied
 * @count: number of entries
 * @raw: entries in wire form. A parser makes it point into the message, which must outlive it. For
 *	a builder it may point anywhere, also at its place in the output buffer. NULL if @count is 0
 */
struct smc_llc_list {
	u16 count;
	const u8 *raw;
};

/* Bytes of an entry, and offset of the list in its message. */
#define SMC_LLC_RTOKEN_LEN	16
#define SMC_LLC_RTOKENS_OFF	72
#define SMC_LLC_GIDS_OFF	28
#define SMC_LLC_RKEY_LEN	4
#define SMC_LLC_RKEYS_OFF	8

/**
 * struct smc_llc_confirm_link - CONFIRM LINK: prove that a link works
 * @no_eyec: no eye catcher in the sender's RMBEs. This implementation requires it and always sets
 *	it, as all known peers do
 * @mac: sender's
 * @gid: sender's
 * @qpn: sender's
 * @link_num: assigned by the server
 * @link_uid: sender's identifier of the link, opaque
 * @max_links: of the group
 * @max_conns: of the group, v2.1 only
 */
struct smc_llc_confirm_link {
	bool no_eyec;
	u8 mac[SMC_MAC_LEN];
	u8 gid[SMC_GID_LEN];
	u32 qpn;
	u8 link_num;
	u8 link_uid[4];
	u8 max_links;
	u8 max_conns;
};

/**
 * struct smc_llc_add_link - ADD LINK: set up one more link
 * @rejected: in a response: the link is rejected
 * @reason: enum smc_llc_reject, other values possible
 * @mac: sender's, on the new link
 * @gid: sender's, on the new link
 * @qpn: sender's, on the new link; 0 if a version 1 client only requests a link
 * @link_num: of the new link
 * @mtu: enum smc_mtu, other values possible
 * @psn: sender's initial packet sequence number
 * @has_ext: version 2: the fields below are valid; only a rejection lacks them
 * @direct: version 2: the peer is reachable without an IP gateway
 * @target_gid: version 2: no known use
 * @rtokens: version 2: all RMBs of the sender
 */
struct smc_llc_add_link {
	bool rejected;
	u8 reason;
	u8 mac[SMC_MAC_LEN];
	u8 gid[SMC_GID_LEN];
	u32 qpn;
	u8 link_num;
	u8 mtu;
	u32 psn;
	bool has_ext;
	bool direct;
	u8 target_gid[SMC_GID_LEN];
	struct smc_llc_list rtokens;
};

/**
 * struct smc_llc_add_link_cont - ADD LINK CONTINUATION: RMBs of the sender on the new link
 * @link_num: the new link
 * @left: remaining rtokens, including those in this message
 * @pairs: the first min(@left, SMC_LLC_CONT_PAIRS) are valid, others zero
 */
struct smc_llc_add_link_cont {
	u8 link_num;
	u8 left;
	struct smc_llc_rtoken pairs[SMC_LLC_CONT_PAIRS];
};

/**
 * struct smc_llc_delete_link - DELETE LINK: remove one link or all links
 * @all: the whole group
 * @orderly: not because of an error
 * @link_num: number of the link, 0 with @all
 * @reason: enum smc_llc_del_reason, other values possible
 */
struct smc_llc_delete_link {
	bool all;
	bool orderly;
	u8 link_num;
	u32 reason;
};

/**
 * struct smc_llc_req_add_link - REQUEST ADD LINK: a version 2 client requests one more link
 * @rejected: in a response: the request is rejected
 * @reason: enum smc_llc_reject, other values possible
 * @gids: GIDs that the client can use; none in a short response
 */
struct smc_llc_req_add_link {
	bool rejected;
	u8 reason;
	struct smc_llc_list gids;
};

/**
 * struct smc_llc_confirm_rkey - CONFIRM RKEY: announce a new RMB
 * @negative: in a response: refused
 * @retry: in a negative response: repeat when the configuration change is complete
 * @rkey: on the link that carries the message
 * @vaddr: on the link that carries the message
 * @others: number of other links to announce it on, up to SMC_LLC_MAX_OTHER
 * @other: the first smc_llc_confirm_rkey_inline() are valid; the others are zero when parsed and
 *	ignored when building
 */
struct smc_llc_confirm_rkey {
	bool negative;
	bool retry;
	u32 rkey;
	u64 vaddr;
	u8 others;
	struct smc_llc_rkey other[SMC_LLC_MAX_OTHER];
};

/**
 * smc_llc_confirm_rkey_inline() - Return how many other links a CONFIRM RKEY contains itself
 * @version: of the message
 * @others: other links to announce
 *
 * Return: the number; in version 1 the remaining ones follow in CONFIRM RKEY CONT.
 */
static inline u8 smc_llc_confirm_rkey_inline(u8 version, u8 others)
{
	return version == 1 && others > SMC_LLC_CONFIRM_RKEY_LINKS ? SMC_LLC_CONFIRM_RKEY_LINKS
								   : others;
}

/**
 * struct smc_llc_confirm_rkey_cont - CONFIRM RKEY CONTINUATION: more links for a CONFIRM RKEY
 * @negative: as in CONFIRM RKEY
 * @retry: as in CONFIRM RKEY
 * @left: remaining links, including those in this message
 * @other: the first min(@left, SMC_LLC_CONFIRM_RKEY_CONT_LINKS) are valid, others zero
 */
struct smc_llc_confirm_rkey_cont {
	bool negative;
	bool retry;
	u8 left;
	struct smc_llc_rkey other[SMC_LLC_CONFIRM_RKEY_CONT_LINKS];
};

/**
 * struct smc_llc_delete_rkey - DELETE RKEY: withdraw RMBs
 * @negative: in a response: some rkeys were unknown
 * @err: in a response. Version 1: bit mask of unknown rkeys, 0x80 is the first one. Version 2:
 *	number of unknown rkeys
 * @count: number of rkeys, never 0. In a version 2 response it may exceed the room in the message;
 *	@rkeys is empty then
 * @rkeys: rkeys on the link that carries the message
 *
 * For building, @rkeys.count must be @count; or 0 in a version 2 response.
 */
struct smc_llc_delete_rkey {
	bool negative;
	u8 err;
	u8 count;
	struct smc_llc_list rkeys;
};

/**
 * struct smc_llc_test_link - TEST LINK: check that the link works
 * @data: returned by the peer
 */
struct smc_llc_test_link {
	u8 data[16];
};

/**
 * struct smc_llc_caps - CAPABILITIES: what the sender can do beyond the native tag
 * @bits: smc_peer_caps_to_announced()
 *
 * An extension of native peers, in the range of types that RFC 7609 A.3 lets others ignore. It has
 * no response, and its form is that of version 1 in any group. The native tag's OUI is in it: with
 * another one it is somebody else's message.
 */
struct smc_llc_caps {
	u32 bits;
};

/**
 * struct smc_llc_msg - One LLC message
 * @type: enum smc_llc_type, selects the member of the union
 * @version: 1 or 2
 * @response: response, else request
 * @confirm_link: for SMC_LLC_CONFIRM_LINK
 * @add_link: for SMC_LLC_ADD_LINK
 * @add_link_cont: for SMC_LLC_ADD_LINK_CONT
 * @delete_link: for SMC_LLC_DELETE_LINK
 * @req_add_link: for SMC_LLC_REQ_ADD_LINK
 * @confirm_rkey: for SMC_LLC_CONFIRM_RKEY
 * @confirm_rkey_cont: for SMC_LLC_CONFIRM_RKEY_CONT
 * @delete_rkey: for SMC_LLC_DELETE_RKEY
 * @test_link: for SMC_LLC_TEST_LINK
 * @caps: for SMC_LLC_CAPS
 */
struct smc_llc_msg {
	u8 type;
	u8 version;
	bool response;
	union {
		struct smc_llc_confirm_link confirm_link;
		struct smc_llc_add_link add_link;
		struct smc_llc_add_link_cont add_link_cont;
		struct smc_llc_delete_link delete_link;
		struct smc_llc_req_add_link req_add_link;
		struct smc_llc_confirm_rkey confirm_rkey;
		struct smc_llc_confirm_rkey_cont confirm_rkey_cont;
		struct smc_llc_delete_rkey delete_rkey;
		struct smc_llc_test_link test_link;
		struct smc_llc_caps caps;
	};
};

enum smc_llc_class smc_llc_msg_classify(u8 first);
int smc_llc_msg_parse(const u8 *buf, size_t len, struct smc_llc_msg *out);
int smc_llc_msg_build(const struct smc_llc_msg *in, u8 *buf, size_t cap);
int smc_llc_msg_len(const struct smc_llc_msg *in);

void smc_llc_list_get_rtoken(const struct smc_llc_list *list, u16 i,
			     struct smc_llc_rtoken *out);
void smc_llc_list_put_rtoken(u8 *raw, u16 i, const struct smc_llc_rtoken *in);
u32 smc_llc_list_get_rkey(const struct smc_llc_list *list, u16 i);
void smc_llc_list_put_rkey(u8 *raw, u16 i, u32 rkey);
const u8 *smc_llc_list_get_gid(const struct smc_llc_list *list, u16 i);
void smc_llc_list_put_gid(u8 *raw, u16 i, const u8 *gid);

bool smc_llc_mtu_is_known(u8 mtu);
u8 smc_llc_add_link_check(const struct smc_llc_add_link *al);
bool smc_llc_confirm_link_matches(const struct smc_llc_confirm_link *cl, u8 link_num, u32 qpn,
				  const u8 gid[SMC_GID_LEN]);

/**
 * struct smc_llc_cont_state - Receiver's state of the ADD LINK CONTINUATION messages of the peer
 * @started: the first message has arrived, @left is valid
 * @left: rtokens that the peer still has to send
 */
struct smc_llc_cont_state {
	bool started;
	u8 left;
};

int smc_llc_cont_take(struct smc_llc_cont_state *state, const struct smc_llc_add_link_cont *cont,
		      u8 link_num);
const char *smc_llc_type_str(u8 type);

#endif
