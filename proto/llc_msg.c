// SPDX-License-Identifier: GPL-2.0-only
/*
 * LLC messages (RFC 7609 A.3, SMC version 2): parsers, builders and checks.
 *
 * Version 1 messages have 44 bytes. Version 2 uses the same layouts with another type byte and a
 * 16-bit length, and has four messages that can be longer than 44 bytes.
 */
#include <smc/proto/clc_msg.h>
#include <smc/proto/llc_msg.h>
#include <smc/proto/peer_caps.h>

#define V2_TYPE		0x20	/* added to the type byte by version 2 */

#define OFF_TYPE	0
#define OFF_LEN		1
#define OFF_REASON	2	/* version 1 only; in version 2 part of the length */
#define OFF_FLAGS	3

#define FLAG_RESPONSE	0x80
#define FLAG_REJECTED	0x40	/* ADD LINK, REQUEST ADD LINK */
#define FLAG_ALL	0x40	/* DELETE LINK */
#define FLAG_ORDERLY	0x20	/* DELETE LINK */
#define FLAG_NEGATIVE	0x20	/* CONFIRM RKEY, DELETE RKEY */
#define FLAG_RETRY	0x10	/* CONFIRM RKEY */
#define FLAG_NO_EYEC	0x03	/* CONFIRM LINK; either bit suffices */
#define MASK_REASON	0x0f

/* CONFIRM LINK */
#define CL_MAC		4
#define CL_GID		10
#define CL_QPN		26
#define CL_NUM		29
#define CL_UID		30
#define CL_LINKS	34
#define CL_CONNS	35

/* ADD LINK; known peers have two reserved bytes before the GID, unlike the RFC */
#define AL_MAC		4
#define AL_GID		12
#define AL_QPN		28
#define AL_NUM		31
#define AL_MTU		32
#define AL_PSN		33
#define AL_DIRECT	44
#define AL_TARGET	46
#define AL_COUNT	70

/* ADD LINK CONTINUATION */
#define AC_NUM		4
#define AC_LEFT		5
#define AC_PAIRS	8

/* DELETE LINK */
#define DL_NUM		4
#define DL_REASON	5

/* REQUEST ADD LINK */
#define RL_COUNT	24

/* CONFIRM RKEY and its continuation */
#define CR_OTHERS	4
#define CR_RKEY		5
#define CR_VADDR	9
#define CR_OTHER	17
#define CC_OTHER	5
#define OTHER_LEN	13

/* DELETE RKEY */
#define DR_COUNT	4
#define DR_ERR		5

/* TEST LINK */
#define TL_DATA		4

/* CAPABILITIES */
#define CA_OUI		4
#define CA_BITS		8

/* Check whether a type exists in a version. */
static bool llc_msg_type_exists(u8 type, u8 version)
{
	switch (type) {
	case SMC_LLC_CONFIRM_LINK:
	case SMC_LLC_ADD_LINK:
	case SMC_LLC_DELETE_LINK:
	case SMC_LLC_CONFIRM_RKEY:
	case SMC_LLC_TEST_LINK:
	case SMC_LLC_DELETE_RKEY:
		return version == 1 || version == 2;
	case SMC_LLC_ADD_LINK_CONT:
	case SMC_LLC_CONFIRM_RKEY_CONT:
	case SMC_LLC_CAPS:
		return version == 1;
	case SMC_LLC_REQ_ADD_LINK:
		return version == 2;
	}
	return false;
}

static void llc_msg_split_type(u8 first, u8 *type, u8 *version)
{
	*version = (first & 0xf0) == V2_TYPE ? 2 : 1;
	*type = *version == 2 ? first & 0x0f : first;
}

/**
 * smc_llc_msg_classify() - Classify a message received on a queue pair
 * @first: first byte of the message
 *
 * Return: class of the message.
 */
enum smc_llc_class smc_llc_msg_classify(u8 first)
{
	u8 type, version;

	if (first == SMC_CDC_TYPE)
		return SMC_LLC_CLASS_CDC;
	llc_msg_split_type(first, &type, &version);
	if (llc_msg_type_exists(type, version))
		return SMC_LLC_CLASS_LLC;
	if ((first & 0xc0) == 0x80)
		return SMC_LLC_CLASS_OPTIONAL;
	return SMC_LLC_CLASS_UNKNOWN;
}

/* Entries of lists. A list may be too long to copy it, so entries are accessed in wire form. */

static void llc_msg_get_rtoken(const u8 *p, struct smc_llc_rtoken *out)
{
	out->ref_rkey = smc_wire_get_be32(p);
	out->rkey = smc_wire_get_be32(p + 4);
	out->vaddr = smc_wire_get_be64(p + 8);
}

static void llc_msg_put_rtoken(u8 *p, const struct smc_llc_rtoken *in)
{
	smc_wire_put_be32(p, in->ref_rkey);
	smc_wire_put_be32(p + 4, in->rkey);
	smc_wire_put_be64(p + 8, in->vaddr);
}

/**
 * smc_llc_list_get_rtoken() - Read an entry of the rtokens of ADD LINK
 * @list: the list
 * @i: index, below @list->count
 * @out: filled in
 */
void smc_llc_list_get_rtoken(const struct smc_llc_list *list, u16 i,
			     struct smc_llc_rtoken *out)
{
	llc_msg_get_rtoken(list->raw + (size_t)SMC_LLC_RTOKEN_LEN * i, out);
}

/**
 * smc_llc_list_put_rtoken() - Write an entry of the rtokens of ADD LINK
 * @raw: start of the list
 * @i: index
 * @in: the entry
 */
void smc_llc_list_put_rtoken(u8 *raw, u16 i, const struct smc_llc_rtoken *in)
{
	llc_msg_put_rtoken(raw + (size_t)SMC_LLC_RTOKEN_LEN * i, in);
}

/**
 * smc_llc_list_get_rkey() - Read an entry of the rkeys of DELETE RKEY
 * @list: the list
 * @i: index, below @list->count
 *
 * Return: the rkey.
 */
u32 smc_llc_list_get_rkey(const struct smc_llc_list *list, u16 i)
{
	return smc_wire_get_be32(list->raw + (size_t)SMC_LLC_RKEY_LEN * i);
}

/**
 * smc_llc_list_put_rkey() - Write an entry of the rkeys of DELETE RKEY
 * @raw: start of the list
 * @i: index
 * @rkey: the rkey
 */
void smc_llc_list_put_rkey(u8 *raw, u16 i, u32 rkey)
{
	smc_wire_put_be32(raw + (size_t)SMC_LLC_RKEY_LEN * i, rkey);
}

/**
 * smc_llc_list_get_gid() - Find an entry of the GIDs of REQUEST ADD LINK
 * @list: the list
 * @i: index, below @list->count
 *
 * Return: the GID, inside the list.
 */
const u8 *smc_llc_list_get_gid(const struct smc_llc_list *list, u16 i)
{
	return list->raw + (size_t)SMC_GID_LEN * i;
}

/**
 * smc_llc_list_put_gid() - Write an entry of the GIDs of REQUEST ADD LINK
 * @raw: start of the list
 * @i: index
 * @gid: the GID
 */
void smc_llc_list_put_gid(u8 *raw, u16 i, const u8 *gid)
{
	memcpy(raw + (size_t)SMC_GID_LEN * i, gid, SMC_GID_LEN);
}

static void llc_msg_set_list(struct smc_llc_list *list, const u8 *raw, size_t count)
{
	list->count = (u16)count;
	list->raw = count ? raw : NULL;
}

static void llc_msg_get_link_rkeys(const u8 *p, struct smc_llc_rkey *out, u8 n)
{
	for (; n; n--, p += OTHER_LEN, out++) {
		out->link_num = p[0];
		out->rkey = smc_wire_get_be32(p + 1);
		out->vaddr = smc_wire_get_be64(p + 5);
	}
}

static void llc_msg_put_link_rkeys(u8 *p, const struct smc_llc_rkey *in, u8 n)
{
	for (; n; n--, p += OTHER_LEN, in++) {
		p[0] = in->link_num;
		smc_wire_put_be32(p + 1, in->rkey);
		smc_wire_put_be64(p + 5, in->vaddr);
	}
}

static u8 llc_msg_clamp_count(u8 n, u8 limit)
{
	return n < limit ? n : limit;
}

/* Parsing: check the message, then read it with the function of its type. */

static bool llc_msg_add_link_is_valid(const u8 *buf, size_t len, u8 version)
{
	if (version == 1)
		return true;
	/* A rejection may be short; it then has no extension. */
	if (len < SMC_LLC_RTOKENS_OFF)
		return buf[OFF_FLAGS] & FLAG_REJECTED;
	len -= SMC_LLC_RTOKENS_OFF;
	return len % SMC_LLC_RTOKEN_LEN == 0 &&
	       len / SMC_LLC_RTOKEN_LEN <= SMC_LLC_MAX_RTOKENS;
}

static bool llc_msg_delete_rkey_is_valid(const u8 *buf, size_t len, u8 version)
{
	size_t count = buf[DR_COUNT];

	if (!count)
		return false;
	if (version == 1)
		return count <= SMC_LLC_MAX_RKEYS_V1;
	/* Responses of version 2 may lack the list. */
	return (buf[OFF_FLAGS] & FLAG_RESPONSE) ||
	       len >= SMC_LLC_RKEYS_OFF + SMC_LLC_RKEY_LEN * count;
}

/* The message must contain the whole list of other links; bytes after it are padding. */
static bool llc_msg_confirm_rkey_is_valid(const u8 *buf, size_t len, u8 version)
{
	u8 others = buf[CR_OTHERS];

	return others <= SMC_LLC_MAX_OTHER &&
	       len >= CR_OTHER + (size_t)OTHER_LEN * smc_llc_confirm_rkey_inline(version, others);
}

static bool llc_msg_body_is_valid(const u8 *buf, size_t len, u8 type, u8 version)
{
	switch (type) {
	case SMC_LLC_ADD_LINK:
		return llc_msg_add_link_is_valid(buf, len, version);
	case SMC_LLC_REQ_ADD_LINK:
		return len >= SMC_LLC_GIDS_OFF +
			      (size_t)SMC_GID_LEN * buf[RL_COUNT];
	case SMC_LLC_CONFIRM_RKEY:
		return llc_msg_confirm_rkey_is_valid(buf, len, version);
	case SMC_LLC_CONFIRM_RKEY_CONT:
		return buf[CR_OTHERS] <= SMC_LLC_MAX_OTHER;
	case SMC_LLC_DELETE_RKEY:
		return llc_msg_delete_rkey_is_valid(buf, len, version);
	}
	return true;
}

static int llc_msg_check(const u8 *buf, size_t len, u8 *type, u8 *version)
{
	if (len < SMC_LINK_MSG_LEN)
		return -EPROTO;
	switch (smc_llc_msg_classify(buf[OFF_TYPE])) {
	case SMC_LLC_CLASS_LLC:
		break;
	case SMC_LLC_CLASS_CDC:
		return -EPROTO;
	case SMC_LLC_CLASS_OPTIONAL:
		return -ENOMSG;
	case SMC_LLC_CLASS_UNKNOWN:
		return -EOPNOTSUPP;
	}
	llc_msg_split_type(buf[OFF_TYPE], type, version);
	/* somebody else's message, of which only the type and these bytes are known */
	if (*type == SMC_LLC_CAPS && !smc_native_tag_is_oui(buf + CA_OUI))
		return -ENOMSG;
	if (*version == 1) {
		if (len != SMC_LLC_V1_LEN || buf[OFF_LEN] != SMC_LLC_V1_LEN)
			return -EPROTO;
	} else if (len > SMC_LLC_V2_MAX_LEN) {
		return -EPROTO;
	}
	return llc_msg_body_is_valid(buf, len, *type, *version) ? 0 : -EPROTO;
}

static void llc_msg_get_confirm_link(const u8 *buf, struct smc_llc_confirm_link *m)
{
	m->no_eyec = buf[OFF_FLAGS] & FLAG_NO_EYEC;
	memcpy(m->mac, buf + CL_MAC, SMC_MAC_LEN);
	memcpy(m->gid, buf + CL_GID, SMC_GID_LEN);
	m->qpn = smc_wire_get_be24(buf + CL_QPN);
	m->link_num = buf[CL_NUM];
	memcpy(m->link_uid, buf + CL_UID, sizeof(m->link_uid));
	m->max_links = buf[CL_LINKS];
	m->max_conns = buf[CL_CONNS];
}

static void llc_msg_get_add_link(const u8 *buf, size_t len, u8 version,
				 struct smc_llc_add_link *m)
{
	m->rejected = buf[OFF_FLAGS] & FLAG_REJECTED;
	/* The byte is reserved unless rejected, and part of the length in version 2. */
	if (m->rejected)
		m->reason = buf[version == 1 ? OFF_REASON : OFF_FLAGS] &
			    MASK_REASON;
	memcpy(m->mac, buf + AL_MAC, SMC_MAC_LEN);
	memcpy(m->gid, buf + AL_GID, SMC_GID_LEN);
	m->qpn = smc_wire_get_be24(buf + AL_QPN);
	m->link_num = buf[AL_NUM];
	m->mtu = buf[AL_MTU] & 0x0f;
	m->psn = smc_wire_get_be24(buf + AL_PSN);
	if (version == 1 || len < SMC_LLC_RTOKENS_OFF)
		return;
	m->has_ext = true;
	m->direct = buf[AL_DIRECT] & 0x80;
	memcpy(m->target_gid, buf + AL_TARGET, SMC_GID_LEN);
	llc_msg_set_list(&m->rtokens, buf + SMC_LLC_RTOKENS_OFF,
			 (len - SMC_LLC_RTOKENS_OFF) / SMC_LLC_RTOKEN_LEN);
}

static void llc_msg_get_add_link_cont(const u8 *buf, struct smc_llc_add_link_cont *m)
{
	u8 i, n;

	m->link_num = buf[AC_NUM];
	m->left = buf[AC_LEFT];
	n = llc_msg_clamp_count(m->left, SMC_LLC_CONT_PAIRS);
	for (i = 0; i < n; i++)
		llc_msg_get_rtoken(buf + AC_PAIRS + SMC_LLC_RTOKEN_LEN * i,
				   &m->pairs[i]);
}

static void llc_msg_get_delete_link(const u8 *buf, struct smc_llc_delete_link *m)
{
	m->all = buf[OFF_FLAGS] & FLAG_ALL;
	m->orderly = buf[OFF_FLAGS] & FLAG_ORDERLY;
	m->link_num = buf[DL_NUM];
	m->reason = smc_wire_get_be32(buf + DL_REASON);
}

static void llc_msg_get_req_add_link(const u8 *buf, struct smc_llc_req_add_link *m)
{
	m->rejected = buf[OFF_FLAGS] & FLAG_REJECTED;
	if (m->rejected)
		m->reason = buf[OFF_FLAGS] & MASK_REASON;
	llc_msg_set_list(&m->gids, buf + SMC_LLC_GIDS_OFF, buf[RL_COUNT]);
}

static void llc_msg_get_confirm_rkey(const u8 *buf, u8 version, struct smc_llc_confirm_rkey *m)
{
	m->negative = buf[OFF_FLAGS] & FLAG_NEGATIVE;
	m->retry = buf[OFF_FLAGS] & FLAG_RETRY;
	m->others = buf[CR_OTHERS];
	m->rkey = smc_wire_get_be32(buf + CR_RKEY);
	m->vaddr = smc_wire_get_be64(buf + CR_VADDR);
	llc_msg_get_link_rkeys(buf + CR_OTHER, m->other,
			       smc_llc_confirm_rkey_inline(version, m->others));
}

static void llc_msg_get_confirm_rkey_cont(const u8 *buf,
					  struct smc_llc_confirm_rkey_cont *m)
{
	m->negative = buf[OFF_FLAGS] & FLAG_NEGATIVE;
	m->retry = buf[OFF_FLAGS] & FLAG_RETRY;
	m->left = buf[CR_OTHERS];
	llc_msg_get_link_rkeys(buf + CC_OTHER, m->other,
			       llc_msg_clamp_count(m->left, SMC_LLC_CONFIRM_RKEY_CONT_LINKS));
}

static void llc_msg_get_delete_rkey(const u8 *buf, size_t len,
				    struct smc_llc_delete_rkey *m)
{
	m->negative = buf[OFF_FLAGS] & FLAG_NEGATIVE;
	m->count = buf[DR_COUNT];
	m->err = buf[DR_ERR];
	if (len >= SMC_LLC_RKEYS_OFF + (size_t)SMC_LLC_RKEY_LEN * m->count)
		llc_msg_set_list(&m->rkeys, buf + SMC_LLC_RKEYS_OFF, m->count);
}

/**
 * smc_llc_msg_parse() - Parse and check a message
 * @buf: received message
 * @len: its length, from the completion
 * @out: filled in on success, untouched otherwise. Lists point into @buf
 *
 * Any context.
 *
 * Return: 0; -EPROTO if malformed or a CDC message; -ENOMSG for an unknown type that may be
 * dropped; -EOPNOTSUPP for an unknown type that the sender relies on.
 */
int smc_llc_msg_parse(const u8 *buf, size_t len, struct smc_llc_msg *out)
{
	u8 type, version;
	int rc;

	rc = llc_msg_check(buf, len, &type, &version);
	if (rc)
		return rc;

	memset(out, 0, sizeof(*out));
	out->type = type;
	out->version = version;
	out->response = buf[OFF_FLAGS] & FLAG_RESPONSE;
	switch (type) {
	case SMC_LLC_CONFIRM_LINK:
		llc_msg_get_confirm_link(buf, &out->confirm_link);
		break;
	case SMC_LLC_ADD_LINK:
		llc_msg_get_add_link(buf, len, version, &out->add_link);
		break;
	case SMC_LLC_ADD_LINK_CONT:
		llc_msg_get_add_link_cont(buf, &out->add_link_cont);
		break;
	case SMC_LLC_DELETE_LINK:
		llc_msg_get_delete_link(buf, &out->delete_link);
		break;
	case SMC_LLC_REQ_ADD_LINK:
		llc_msg_get_req_add_link(buf, &out->req_add_link);
		break;
	case SMC_LLC_CONFIRM_RKEY:
		llc_msg_get_confirm_rkey(buf, version, &out->confirm_rkey);
		break;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		llc_msg_get_confirm_rkey_cont(buf, &out->confirm_rkey_cont);
		break;
	case SMC_LLC_DELETE_RKEY:
		llc_msg_get_delete_rkey(buf, len, &out->delete_rkey);
		break;
	case SMC_LLC_TEST_LINK:
		memcpy(out->test_link.data, buf + TL_DATA,
		       sizeof(out->test_link.data));
		break;
	case SMC_LLC_CAPS:
		out->caps.bits = smc_wire_get_be32(buf + CA_BITS);
		break;
	}
	return 0;
}

/* Building: check the contents, then write them with the function of the type. */

static int llc_msg_add_link_len(const struct smc_llc_add_link *m, u8 version)
{
	if (m->qpn > 0xffffff || m->psn > 0xffffff || m->mtu > 15)
		return -EINVAL;
	if (m->reason > MASK_REASON || (m->reason && !m->rejected))
		return -EINVAL;
	if (!m->has_ext) {
		/* Version 1 never has the extension; in version 2 only rejections lack it. */
		if (m->rtokens.count || (version == 2 && !m->rejected))
			return -EINVAL;
		return SMC_LINK_MSG_LEN;
	}
	if (version == 1 || m->rtokens.count > SMC_LLC_MAX_RTOKENS)
		return -EINVAL;
	return SMC_LLC_RTOKENS_OFF + SMC_LLC_RTOKEN_LEN * m->rtokens.count;
}

static int llc_msg_req_add_link_len(const struct smc_llc_req_add_link *m)
{
	int len = SMC_LLC_GIDS_OFF + SMC_GID_LEN * m->gids.count;

	if (m->reason > MASK_REASON || (m->reason && !m->rejected))
		return -EINVAL;
	if (m->gids.count > SMC_LLC_MAX_GIDS)
		return -EINVAL;
	return len > SMC_LINK_MSG_LEN ? len : SMC_LINK_MSG_LEN;
}

static int llc_msg_confirm_rkey_len(const struct smc_llc_confirm_rkey *m, u8 version)
{
	int len = CR_OTHER + OTHER_LEN * smc_llc_confirm_rkey_inline(version, m->others);

	if (m->others > SMC_LLC_MAX_OTHER)
		return -EINVAL;
	return len > SMC_LINK_MSG_LEN ? len : SMC_LINK_MSG_LEN;
}

static int llc_msg_delete_rkey_len(const struct smc_llc_delete_rkey *m, u8 version,
				   bool response)
{
	int len = SMC_LLC_RKEYS_OFF + SMC_LLC_RKEY_LEN * m->count;

	if (!m->count)
		return -EINVAL;
	if (version == 1 && m->count > SMC_LLC_MAX_RKEYS_V1)
		return -EINVAL;
	if (m->rkeys.count != m->count) {
		if (version == 1 || !response || m->rkeys.count)
			return -EINVAL;
		return SMC_LINK_MSG_LEN;
	}
	return len > SMC_LINK_MSG_LEN ? len : SMC_LINK_MSG_LEN;
}

/**
 * smc_llc_msg_len() - Return the length of a message to build
 * @in: contents
 *
 * Return: bytes, or -EINVAL for contents that cannot be expressed.
 */
int smc_llc_msg_len(const struct smc_llc_msg *in)
{
	if (!llc_msg_type_exists(in->type, in->version))
		return -EINVAL;
	switch (in->type) {
	case SMC_LLC_CONFIRM_LINK:
		return in->confirm_link.qpn > 0xffffff ? -EINVAL :
							 SMC_LINK_MSG_LEN;
	case SMC_LLC_ADD_LINK:
		return llc_msg_add_link_len(&in->add_link, in->version);
	case SMC_LLC_REQ_ADD_LINK:
		return llc_msg_req_add_link_len(&in->req_add_link);
	case SMC_LLC_CONFIRM_RKEY:
		return llc_msg_confirm_rkey_len(&in->confirm_rkey, in->version);
	case SMC_LLC_CONFIRM_RKEY_CONT:
		return in->confirm_rkey_cont.left > SMC_LLC_MAX_OTHER ?
			       -EINVAL : SMC_LINK_MSG_LEN;
	case SMC_LLC_DELETE_RKEY:
		return llc_msg_delete_rkey_len(&in->delete_rkey, in->version,
					       in->response);
	}
	return SMC_LINK_MSG_LEN;
}

static void llc_msg_put_confirm_link(u8 *buf, const struct smc_llc_confirm_link *m)
{
	if (m->no_eyec)
		buf[OFF_FLAGS] |= FLAG_NO_EYEC;
	memcpy(buf + CL_MAC, m->mac, SMC_MAC_LEN);
	memcpy(buf + CL_GID, m->gid, SMC_GID_LEN);
	smc_wire_put_be24(buf + CL_QPN, m->qpn);
	buf[CL_NUM] = m->link_num;
	memcpy(buf + CL_UID, m->link_uid, sizeof(m->link_uid));
	buf[CL_LINKS] = m->max_links;
	buf[CL_CONNS] = m->max_conns;
}

static void llc_msg_put_add_link(u8 *buf, u8 version, const struct smc_llc_add_link *m)
{
	if (m->rejected)
		buf[OFF_FLAGS] |= FLAG_REJECTED;
	buf[version == 1 ? OFF_REASON : OFF_FLAGS] |= m->reason;
	memcpy(buf + AL_MAC, m->mac, SMC_MAC_LEN);
	memcpy(buf + AL_GID, m->gid, SMC_GID_LEN);
	smc_wire_put_be24(buf + AL_QPN, m->qpn);
	buf[AL_NUM] = m->link_num;
	buf[AL_MTU] = m->mtu;
	smc_wire_put_be24(buf + AL_PSN, m->psn);
	if (!m->has_ext)
		return;
	buf[AL_DIRECT] = m->direct ? 0x80 : 0;
	memcpy(buf + AL_TARGET, m->target_gid, SMC_GID_LEN);
	smc_wire_put_le16(buf + AL_COUNT, m->rtokens.count);
}

static void llc_msg_put_add_link_cont(u8 *buf, const struct smc_llc_add_link_cont *m)
{
	u8 i, n = llc_msg_clamp_count(m->left, SMC_LLC_CONT_PAIRS);

	buf[AC_NUM] = m->link_num;
	buf[AC_LEFT] = m->left;
	for (i = 0; i < n; i++)
		llc_msg_put_rtoken(buf + AC_PAIRS + SMC_LLC_RTOKEN_LEN * i,
				   &m->pairs[i]);
}

static void llc_msg_put_delete_link(u8 *buf, const struct smc_llc_delete_link *m)
{
	if (m->all)
		buf[OFF_FLAGS] |= FLAG_ALL;
	if (m->orderly)
		buf[OFF_FLAGS] |= FLAG_ORDERLY;
	buf[DL_NUM] = m->link_num;
	smc_wire_put_be32(buf + DL_REASON, m->reason);
}

static void llc_msg_put_req_add_link(u8 *buf, const struct smc_llc_req_add_link *m)
{
	if (m->rejected)
		buf[OFF_FLAGS] |= FLAG_REJECTED;
	buf[OFF_FLAGS] |= m->reason;
	buf[RL_COUNT] = (u8)m->gids.count;
}

static void llc_msg_put_confirm_rkey(u8 *buf, u8 version, const struct smc_llc_confirm_rkey *m)
{
	if (m->negative)
		buf[OFF_FLAGS] |= FLAG_NEGATIVE;
	if (m->retry)
		buf[OFF_FLAGS] |= FLAG_RETRY;
	buf[CR_OTHERS] = m->others;
	smc_wire_put_be32(buf + CR_RKEY, m->rkey);
	smc_wire_put_be64(buf + CR_VADDR, m->vaddr);
	llc_msg_put_link_rkeys(buf + CR_OTHER, m->other,
			       smc_llc_confirm_rkey_inline(version, m->others));
}

static void llc_msg_put_confirm_rkey_cont(u8 *buf,
					  const struct smc_llc_confirm_rkey_cont *m)
{
	if (m->negative)
		buf[OFF_FLAGS] |= FLAG_NEGATIVE;
	if (m->retry)
		buf[OFF_FLAGS] |= FLAG_RETRY;
	buf[CR_OTHERS] = m->left;
	llc_msg_put_link_rkeys(buf + CC_OTHER, m->other,
			       llc_msg_clamp_count(m->left, SMC_LLC_CONFIRM_RKEY_CONT_LINKS));
}

static void llc_msg_put_delete_rkey(u8 *buf, const struct smc_llc_delete_rkey *m)
{
	if (m->negative)
		buf[OFF_FLAGS] |= FLAG_NEGATIVE;
	buf[DR_COUNT] = m->count;
	buf[DR_ERR] = m->err;
}

/*
 * Put the list into place first: it may be in @buf already, at its place or elsewhere, and clearing
 * the rest must not destroy it. Returns the offset of the list, and its length in @bytes.
 */
static size_t llc_msg_place_list(const struct smc_llc_msg *in, u8 *buf, size_t *bytes)
{
	const struct smc_llc_list *list = NULL;
	size_t off = 0, entry = 0;

	*bytes = 0;
	if (in->type == SMC_LLC_ADD_LINK && in->add_link.has_ext) {
		list = &in->add_link.rtokens;
		off = SMC_LLC_RTOKENS_OFF;
		entry = SMC_LLC_RTOKEN_LEN;
	} else if (in->type == SMC_LLC_REQ_ADD_LINK) {
		list = &in->req_add_link.gids;
		off = SMC_LLC_GIDS_OFF;
		entry = SMC_GID_LEN;
	} else if (in->type == SMC_LLC_DELETE_RKEY) {
		list = &in->delete_rkey.rkeys;
		off = SMC_LLC_RKEYS_OFF;
		entry = SMC_LLC_RKEY_LEN;
	}
	if (list && list->count) {
		*bytes = entry * list->count;
		memmove(buf + off, list->raw, *bytes);
	}
	return off;
}

static void llc_msg_put_header(const struct smc_llc_msg *in, u8 *buf, size_t len)
{
	size_t bytes, off;

	off = llc_msg_place_list(in, buf, &bytes);
	if (bytes) {
		memset(buf, 0, off);
		memset(buf + off + bytes, 0, len - off - bytes);
	} else {
		memset(buf, 0, len);
	}
	if (in->version == 1) {
		buf[OFF_TYPE] = in->type;
		buf[OFF_LEN] = SMC_LLC_V1_LEN;
	} else {
		buf[OFF_TYPE] = V2_TYPE | in->type;
		smc_wire_put_le16(buf + OFF_LEN, (u16)len);
	}
	if (in->response)
		buf[OFF_FLAGS] = FLAG_RESPONSE;
}

/**
 * smc_llc_msg_build() - Build a message
 * @in: contents
 * @buf: output buffer
 * @cap: bytes of @buf; SMC_LLC_V1_LEN suffices for messages without long lists, and for CONFIRM
 *	RKEY with at most three links
 *
 * Return: length of the message, -ENOSPC if @cap is too small, or -EINVAL for contents that cannot
 * be expressed.
 */
int smc_llc_msg_build(const struct smc_llc_msg *in, u8 *buf, size_t cap)
{
	int len = smc_llc_msg_len(in);

	if (len < 0)
		return len;
	if (cap < (size_t)len)
		return -ENOSPC;

	llc_msg_put_header(in, buf, (size_t)len);
	switch (in->type) {
	case SMC_LLC_CONFIRM_LINK:
		llc_msg_put_confirm_link(buf, &in->confirm_link);
		break;
	case SMC_LLC_ADD_LINK:
		llc_msg_put_add_link(buf, in->version, &in->add_link);
		break;
	case SMC_LLC_ADD_LINK_CONT:
		llc_msg_put_add_link_cont(buf, &in->add_link_cont);
		break;
	case SMC_LLC_DELETE_LINK:
		llc_msg_put_delete_link(buf, &in->delete_link);
		break;
	case SMC_LLC_REQ_ADD_LINK:
		llc_msg_put_req_add_link(buf, &in->req_add_link);
		break;
	case SMC_LLC_CONFIRM_RKEY:
		llc_msg_put_confirm_rkey(buf, in->version, &in->confirm_rkey);
		break;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		llc_msg_put_confirm_rkey_cont(buf, &in->confirm_rkey_cont);
		break;
	case SMC_LLC_DELETE_RKEY:
		llc_msg_put_delete_rkey(buf, &in->delete_rkey);
		break;
	case SMC_LLC_TEST_LINK:
		memcpy(buf + TL_DATA, in->test_link.data,
		       sizeof(in->test_link.data));
		break;
	case SMC_LLC_CAPS:
		smc_native_tag_put_oui(buf + CA_OUI);
		smc_wire_put_be32(buf + CA_BITS, in->caps.bits);
		break;
	}
	return len;
}

/**
 * smc_llc_mtu_is_known() - Check the path MTU code of ADD LINK
 * @mtu: from the message
 *
 * Return: true for a value of enum smc_mtu.
 */
bool smc_llc_mtu_is_known(u8 mtu)
{
	return mtu >= SMC_MTU_256 && mtu <= SMC_MTU_4096;
}

/**
 * smc_llc_add_link_check() - Client: check whether an ADD LINK can lead to a link
 * @al: the server's request
 *
 * A server without a second link to offer sends an MTU code of 0.
 *
 * Return: 0, or enum smc_llc_reject to answer with.
 */
u8 smc_llc_add_link_check(const struct smc_llc_add_link *al)
{
	if (!smc_llc_mtu_is_known(al->mtu))
		return SMC_LLC_REJ_MTU;
	return al->rejected || !al->link_num || !al->qpn ? SMC_LLC_REJ_NO_ALT_PATH : 0;
}

/**
 * smc_llc_confirm_link_matches() - Check whether CONFIRM LINK comes from the expected end of a link
 * @cl: the request or response
 * @link_num: number of the link; 0: the message assigns it
 * @qpn: queue pair of that end
 * @gid: its GID
 *
 * The caller checks the limits of the group in the message.
 *
 * Return: true if so.
 */
bool smc_llc_confirm_link_matches(const struct smc_llc_confirm_link *cl, u8 link_num, u32 qpn,
				  const u8 gid[SMC_GID_LEN])
{
	return cl->link_num && (!link_num || cl->link_num == link_num) && cl->qpn == qpn &&
	       !memcmp(cl->gid, gid, SMC_GID_LEN);
}

/**
 * smc_llc_cont_take() - Take the next ADD LINK CONTINUATION of the peer
 * @state: state of the exchange, all zero before the first message
 * @cont: the message
 * @link_num: number of the new link
 *
 * The count of remaining rtokens must not grow from message to message, so that no peer can extend
 * the exchange forever.
 *
 * Return: number of valid entries of @cont->pairs; -EPROTO for another link or a count that has
 * grown.
 */
int smc_llc_cont_take(struct smc_llc_cont_state *state, const struct smc_llc_add_link_cont *cont,
		      u8 link_num)
{
	u8 n = llc_msg_clamp_count(cont->left, SMC_LLC_CONT_PAIRS);

	if (cont->link_num != link_num || (state->started && cont->left > state->left))
		return -EPROTO;
	state->started = true;
	state->left = (u8)(cont->left - n);
	return n;
}

/**
 * smc_llc_type_str() - Return a short text for a message type
 * @type: enum smc_llc_type, without the bit of version 2
 *
 * Return: constant string, NULL for an unknown type.
 */
const char *smc_llc_type_str(u8 type)
{
	switch ((enum smc_llc_type)type) {
	case SMC_LLC_CONFIRM_LINK:
		return "CONFIRM LINK";
	case SMC_LLC_ADD_LINK:
		return "ADD LINK";
	case SMC_LLC_ADD_LINK_CONT:
		return "ADD LINK CONTINUATION";
	case SMC_LLC_DELETE_LINK:
		return "DELETE LINK";
	case SMC_LLC_REQ_ADD_LINK:
		return "REQUEST ADD LINK";
	case SMC_LLC_CONFIRM_RKEY:
		return "CONFIRM RKEY";
	case SMC_LLC_TEST_LINK:
		return "TEST LINK";
	case SMC_LLC_CONFIRM_RKEY_CONT:
		return "CONFIRM RKEY CONTINUATION";
	case SMC_LLC_DELETE_RKEY:
		return "DELETE RKEY";
	case SMC_LLC_CAPS:
		return "CAPABILITIES";
	}
	return NULL;
}
