/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LLC messages: control of links and of memory registrations, sent over the
 * links themselves (RFC 7609 A.3, and the version 2 forms).
 *
 * The version of a link group decides which forms are used; struct
 * smc_llc_msg.version says which form a message has, and a receiver drops
 * those that are not of its group's version.
 *
 * Byte order. Two fields of version 2 have no common byte order in practice:
 * the 16-bit length and the number of rtokens in ADD LINK. Documents say
 * network order, the in-tree family uses the order of its machine. The parser
 * therefore believes neither: it uses the length of the completion. The
 * builder writes both fields little-endian, which a little-endian in-tree
 * peer needs for the rtoken count, and which any peer that goes by the
 * completion accepts.
 *
 * More than three links. CONFIRM RKEY of version 1 goes on in CONFIRM RKEY CONTINUATION.
 * Version 2 has none, as it knows no such groups: there CONFIRM RKEY is as long as its list
 * of links, which only groups between two of ours have
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
#define SMC_LLC_CRKEY_PAIRS	2	/* other links in one CONFIRM RKEY of 44 bytes */
#define SMC_LLC_CRKEY_CONT_PAIRS 3	/* ... in one CONFIRM RKEY CONT */

/* Version 2 puts 0x20 in front of these. */
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
};

/* Why an ADD LINK is rejected. */
enum smc_llc_reject {
	SMC_LLC_REJ_NO_ALT_PATH	= 1,
	SMC_LLC_REJ_MTU		= 2,
};

/* Why a link is deleted; the last two stand in responses. */
enum smc_llc_del_reason {
	SMC_LLC_DEL_LOST_PATH		= 0x00010000,
	SMC_LLC_DEL_OPERATOR		= 0x00020000,
	SMC_LLC_DEL_PROGRAM		= 0x00030000,
	SMC_LLC_DEL_PROTOCOL		= 0x00040000,
	SMC_LLC_DEL_ASYMMETRIC		= 0x00050000,
	SMC_LLC_DEL_NO_LINK		= 0x00100000,
	SMC_LLC_DEL_NO_GROUP		= 0x00200000,
};

/* What the first byte of a message on a queue pair announces. */
enum smc_llc_class {
	SMC_LLC_CLASS_LLC,	/* an LLC type this code knows */
	SMC_LLC_CLASS_CDC,
	SMC_LLC_CLASS_OPTIONAL,	/* unknown, the sender expects it may be dropped */
	SMC_LLC_CLASS_UNKNOWN,	/* unknown, the sender relies on it */
};

/**
 * struct smc_llc_rtoken - an RMB on the link carrying the message, and on a new one
 * @ref_rkey: its rkey on the link that carries the message
 * @rkey: its rkey on the new link
 * @vaddr: its address on the new link
 */
struct smc_llc_rtoken {
	u32 ref_rkey;
	u32 rkey;
	u64 vaddr;
};

/**
 * struct smc_llc_rkey - an RMB on one named link
 * @link_num: the link
 * @rkey: the RMB's rkey there
 * @vaddr: the RMB's address there
 */
struct smc_llc_rkey {
	u8 link_num;
	u32 rkey;
	u64 vaddr;
};

/**
 * struct smc_llc_list - a list that is too long to be copied around
 * @count: number of entries
 * @raw: entries in wire form. A parser makes it point into the message, so it
 *	is valid as long as that is. For a builder it may point anywhere, also
 *	at its place in the buffer that the message is built in. NULL if
 *	@count is 0
 */
struct smc_llc_list {
	u16 count;
	const u8 *raw;
};

/* Bytes of an entry, and where the list starts in its message. */
#define SMC_LLC_RTOKEN_LEN	16
#define SMC_LLC_RTOKENS_OFF	72
#define SMC_LLC_GIDS_OFF	28
#define SMC_LLC_RKEY_LEN	4
#define SMC_LLC_RKEYS_OFF	8

/**
 * struct smc_llc_confirm_link - prove that a link works
 * @no_eyec: no eye catcher in the sender's RMBEs. This implementation
 *	requires it and always sets it, as all peers known do
 * @mac: sender's
 * @gid: sender's
 * @qpn: sender's
 * @link_num: given by the server
 * @link_uid: sender's name for the link, opaque
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
 * struct smc_llc_add_link - set up one more link
 * @rejected: in a response: no
 * @reason: enum smc_llc_reject, other values possible
 * @mac: sender's, on the new link
 * @gid: sender's, on the new link
 * @qpn: sender's, on the new link. 0 if a version 1 client merely asks
 * @link_num: of the new link
 * @mtu: enum smc_mtu, other values possible
 * @psn: sender's initial packet sequence number
 * @has_ext: version 2: the fields below exist. Only a rejection lacks them
 * @direct: version 2: peer is reachable without an IP gateway
 * @target_gid: version 2: of no known use
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
 * struct smc_llc_add_link_cont - RMBs of the sender on the new link
 * @link_num: the new link
 * @left: rtokens still to be told, those in this message included
 * @pairs: the first min(@left, SMC_LLC_CONT_PAIRS) are valid, others zero
 */
struct smc_llc_add_link_cont {
	u8 link_num;
	u8 left;
	struct smc_llc_rtoken pairs[SMC_LLC_CONT_PAIRS];
};

/**
 * struct smc_llc_delete_link - take a link, or all, out of use
 * @all: the whole group
 * @orderly: not because of an error
 * @link_num: which one, 0 with @all
 * @reason: enum smc_llc_del_reason, other values possible
 */
struct smc_llc_delete_link {
	bool all;
	bool orderly;
	u8 link_num;
	u32 reason;
};

/**
 * struct smc_llc_req_add_link - a version 2 client asks for a further link
 * @rejected: in a response: no
 * @reason: enum smc_llc_reject, other values possible
 * @gids: GIDs the client could use; none in a short response
 */
struct smc_llc_req_add_link {
	bool rejected;
	u8 reason;
	struct smc_llc_list gids;
};

/**
 * struct smc_llc_confirm_rkey - announce a new RMB
 * @negative: in a response: refused
 * @retry: in a negative response: try again when the configuration is done
 * @rkey: on the link that carries the message
 * @vaddr: on the link that carries the message
 * @others: number of other links to be told, up to SMC_LLC_MAX_OTHER
 * @other: the first smc_llc_crkey_here() are valid, others zero when parsed and not looked
 *	at when built
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
 * smc_llc_crkey_here() - how many of the other links a CONFIRM RKEY names itself
 * @version: of the message
 * @others: links to be told
 *
 * Return: the number; the others follow in CONFIRM RKEY CONT, in version 1 alone.
 */
static inline u8 smc_llc_crkey_here(u8 version, u8 others)
{
	return version == 1 && others > SMC_LLC_CRKEY_PAIRS ? SMC_LLC_CRKEY_PAIRS : others;
}

/**
 * struct smc_llc_confirm_rkey_cont - more links for a CONFIRM RKEY
 * @negative: as in CONFIRM RKEY
 * @retry: as in CONFIRM RKEY
 * @left: links still to be told, those in this message included
 * @other: the first min(@left, SMC_LLC_CRKEY_CONT_PAIRS) are valid, others zero
 */
struct smc_llc_confirm_rkey_cont {
	bool negative;
	bool retry;
	u8 left;
	struct smc_llc_rkey other[SMC_LLC_CRKEY_CONT_PAIRS];
};

/**
 * struct smc_llc_delete_rkey - RMBs that are no more
 * @negative: in a response: not all were known
 * @err: in a response. Version 1: mask, 0x80 is the first rkey. Version 2:
 *	number of rkeys that were not known
 * @count: number of rkeys, never 0. In a version 2 response this may be more
 *	than the message has room for; @rkeys is empty then
 * @rkeys: as known on the link that carries the message
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
 * struct smc_llc_test_link - is the link alive
 * @data: returned by the peer
 */
struct smc_llc_test_link {
	u8 data[16];
};

/**
 * struct smc_llc_msg - one LLC message
 * @type: enum smc_llc_type, selects the member of the union
 * @version: 1 or 2
 * @response: not a request
 * @confirm_link: for SMC_LLC_CONFIRM_LINK
 * @add_link: for SMC_LLC_ADD_LINK
 * @add_link_cont: for SMC_LLC_ADD_LINK_CONT
 * @delete_link: for SMC_LLC_DELETE_LINK
 * @req_add_link: for SMC_LLC_REQ_ADD_LINK
 * @confirm_rkey: for SMC_LLC_CONFIRM_RKEY
 * @confirm_rkey_cont: for SMC_LLC_CONFIRM_RKEY_CONT
 * @delete_rkey: for SMC_LLC_DELETE_RKEY
 * @test_link: for SMC_LLC_TEST_LINK
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
	};
};

/**
 * smc_llc_classify() - demultiplex what arrives on a queue pair
 * @first: first byte of the message
 *
 * Return: what has to be done with it.
 */
enum smc_llc_class smc_llc_classify(u8 first);

/**
 * smc_llc_parse() - read and check a message
 * @buf: received message
 * @len: its length as the completion tells it
 * @out: filled in on success, untouched otherwise. Lists point into @buf
 *
 * Return: 0; -EPROTO if malformed or a CDC message; -ENOMSG for an unknown
 * type that may be dropped; -EOPNOTSUPP for an unknown type that should have
 * been understood.
 */
int smc_llc_parse(const u8 *buf, size_t len, struct smc_llc_msg *out);

/**
 * smc_llc_build() - write a message
 * @in: what it says
 * @buf: where to
 * @cap: room there; SMC_LLC_V1_LEN suffices for everything without long lists, and for
 *	CONFIRM RKEY about no more than three links
 *
 * Return: the length, -ENOSPC, or -EINVAL for what cannot be expressed.
 */
int smc_llc_build(const struct smc_llc_msg *in, u8 *buf, size_t cap);

/**
 * smc_llc_len() - bytes that a message needs
 * @in: what it says
 *
 * Return: the length, or -EINVAL as smc_llc_build().
 */
int smc_llc_len(const struct smc_llc_msg *in);

/* Entries of lists: @i must be below the list's count. */
void smc_llc_get_rtoken(const struct smc_llc_list *list, u16 i,
			struct smc_llc_rtoken *out);
void smc_llc_put_rtoken(u8 *raw, u16 i, const struct smc_llc_rtoken *in);
u32 smc_llc_get_rkey(const struct smc_llc_list *list, u16 i);
void smc_llc_put_rkey(u8 *raw, u16 i, u32 rkey);
const u8 *smc_llc_get_gid(const struct smc_llc_list *list, u16 i);
void smc_llc_put_gid(u8 *raw, u16 i, const u8 *gid);

/**
 * smc_llc_mtu_known() - does a path MTU of ADD LINK mean anything?
 * @mtu: from the message
 *
 * Return: true for those of enum smc_mtu.
 */
bool smc_llc_mtu_known(u8 mtu);

/**
 * smc_llc_offer_flaw() - client: may an ADD LINK lead to a link at all?
 * @al: the server's request
 *
 * Return: 0, or the enum smc_llc_reject to answer. A server that has no second link to offer
 * says so by an MTU of 0.
 */
u8 smc_llc_offer_flaw(const struct smc_llc_add_link *al);

/**
 * smc_llc_confirms() - does CONFIRM LINK, or its answer, come from the end that was named before?
 * @cl: the message
 * @link_num: of the link; 0: the message gives it
 * @qpn: queue pair of that end
 * @gid: its GID
 *
 * Whatever else it says of the group is for the receiver to judge.
 *
 * Return: true if so.
 */
bool smc_llc_confirms(const struct smc_llc_confirm_link *cl, u8 link_num, u32 qpn,
		      const u8 gid[SMC_GID_LEN]);

/**
 * struct smc_llc_told - what the peer has told by ADD LINK CONTINUATION
 * @begun: how many rtokens it has
 * @left: how many of them it has still to tell
 */
struct smc_llc_told {
	bool begun;
	u8 left;
};

/**
 * smc_llc_told_more() - take the next ADD LINK CONTINUATION
 * @told: all zero before the first one
 * @cont: the message
 * @link_num: the new link
 *
 * The count goes down with each message, to 0, and stays there: no peer can make the exchange
 * last for ever.
 *
 * Return: how many of @cont->pairs are valid; -EPROTO: another link, or a count that has grown.
 */
int smc_llc_told_more(struct smc_llc_told *told, const struct smc_llc_add_link_cont *cont,
		      u8 link_num);

/* Short text for a type, for people; NULL for unknown ones. */
const char *smc_llc_type_str(u8 type);

#endif
