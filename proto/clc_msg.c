// SPDX-License-Identifier: GPL-2.0-only
/*
 * CLC messages (RFC 7609 A.2, SMC versions 2 and 2.1): parsers, builders and checks.
 *
 * Each parser checks the whole message before it fills the caller's structure: on error the
 * structure is unchanged, and no second copy of it is needed (smc_clc_proposal has about 500
 * bytes).
 */
#include <smc/proto/clc_msg.h>
#include <smc/proto/peer_caps.h>

#define EYE_SMCR	0xe2d4c3d9
#define EYE_SMCD	0xe2d4c3c4

/* Header */
#define OFF_TYPE	4
#define OFF_LEN		5
#define OFF_FLAGS	7
#define OFF_PEER_ID	8

#define FLAG_FIRST	0x08	/* Accept, Confirm */
#define FLAG_SYNC	0x08	/* Decline */
#define FLAG_OFFER	0x03	/* Accept, Confirm: chosen transport, enum smc_clc_offer */

/* Proposal */
#define PROP_GID	16
#define PROP_MAC	32
#define PROP_IP_OFF	38	/* counted from the byte after the field */
#define PROP_BASE	40
#define PROP_AREA	40	/* bytes that version 2 inserts before the prefix area; or more */
#define PROP_V2_OFF	50	/* counted from the byte after the field */
#define PROP_V2_ORIGIN	52
#define PROP_OUI	52
#define PROP_OPT	55

/* Prefix area of a Proposal, relative */
#define PFX_NET		0
#define PFX_LEN		4
#define PFX_COUNT	7
#define PFX_V6		8
#define PFX_ENTRY	17

/* Version 2 extension of a Proposal, relative */
#define EXT_EIDS	0
#define EXT_ISM_GIDS	1
#define EXT_FLAGS	3
#define EXT_D_OFF	6	/* counted from the byte after the field */
#define EXT_GID		8
#define EXT_CONNS	24
#define EXT_LINKS	25
#define EXT_FEATURES	26
#define EXT_BASE	40

/* SMC-D part at the end of that extension */
#define EXT_D_BASE	48
#define EXT_D_ENTRY	10
#define EXT_D_MAX	8

#define PROP_V1_MIN	(PROP_BASE + PFX_V6 + SMC_CLC_TRAILER_LEN)
#define PROP_V2_MIN	(PROP_BASE + PROP_AREA + SMC_CLC_TRAILER_LEN)

/* Accept and Confirm */
#define ACC_GID		16
#define ACC_MAC		32
#define ACC_QPN		38
#define ACC_RKEY	41
#define ACC_INDEX	45
#define ACC_TOKEN	46
#define ACC_SIZE_MTU	50
#define ACC_RSV0	51	/* reserved in the RFC, see peer_caps.h */
#define ACC_VADDR	52
#define ACC_RSV1	60	/* as ACC_RSV0 */
#define ACC_PSN		61
#define ACC_EID		64
#define ACC_FCE		104
#define ACC_GID_COUNT	156
#define ACC_GIDS	160
#define ACC_D_MIN	48	/* shortest SMC-D form */

/* First contact extension, relative */
#define FCE_DIRECT	0
#define FCE_OS_REL	1
#define FCE_HOST	4
#define FCE_CONNS	36
#define FCE_LINKS	37
#define FCE_FEATURES	38
#define FCE_VENDOR	40

/* Decline */
#define DEC_DIAG	16
#define DEC_OS		20
#define DEC_EXTRA	24

static bool clc_msg_is_eyecatcher(const u8 *p)
{
	u32 eye = smc_wire_get_be32(p);

	return eye == EYE_SMCR || eye == EYE_SMCD;
}

static bool clc_msg_is_smcr(const struct smc_clc_head *h)
{
	return !h->smcd && (h->flags & FLAG_OFFER) == SMC_CLC_OFFER_R;
}

static void clc_msg_length_range(const struct smc_clc_head *h, u16 *min, u16 *max)
{
	*max = SMC_CLC_MAX_LEN;
	switch (h->type) {
	case SMC_CLC_PROPOSAL:
		*min = h->version == 1 ? PROP_V1_MIN : PROP_V2_MIN;
		break;
	case SMC_CLC_ACCEPT:
	case SMC_CLC_CONFIRM:
		if (!clc_msg_is_smcr(h)) {
			*min = ACC_D_MIN;
		} else if (h->version == 1) {
			*min = SMC_CLC_ACCEPT_V1_LEN;
			*max = SMC_CLC_ACCEPT_V1_LEN;
		} else {
			*min = SMC_CLC_ACCEPT_V2_LEN;
		}
		break;
	case SMC_CLC_DECLINE:
		if (h->version == 1) {
			*min = SMC_CLC_DECLINE_V1_LEN;
			*max = SMC_CLC_DECLINE_V1_LEN;
		} else {
			*min = SMC_CLC_DECLINE_V2_LEN;
		}
		break;
	default:
		/* Unknown type: an empty range. */
		*min = SMC_CLC_MAX_LEN;
		*max = 0;
	}
}

/**
 * smc_clc_parse_header() - Parse and check the first eight bytes of a message
 * @buf: SMC_CLC_HEAD_LEN bytes
 * @head: filled in on success, untouched otherwise
 *
 * Return: 0, or -EPROTO for a wrong eye catcher, version 0, an unknown type, or a length that no
 * message of this type and version can have. An accepted length is at least SMC_CLC_DECLINE_V1_LEN
 * and at most SMC_CLC_MAX_LEN.
 */
int smc_clc_parse_header(const u8 *buf, struct smc_clc_head *head)
{
	struct smc_clc_head h = {
		.type = buf[OFF_TYPE],
		.version = buf[OFF_FLAGS] >> 4,
		.flags = buf[OFF_FLAGS] & 0x0f,
		.smcd = smc_wire_get_be32(buf) == EYE_SMCD,
		.len = smc_wire_get_be16(buf + OFF_LEN),
	};
	u16 min, max;

	if (!clc_msg_is_eyecatcher(buf) || !h.version)
		return -EPROTO;
	clc_msg_length_range(&h, &min, &max);
	if (h.len < min || h.len > max)
		return -EPROTO;
	*head = h;
	return 0;
}

/* Check what all messages have in common: header, length and trailing eye catcher. */
static int clc_msg_check_frame(const u8 *buf, size_t len, struct smc_clc_head *h)
{
	if (len < SMC_CLC_HEAD_LEN || smc_clc_parse_header(buf, h))
		return -EPROTO;
	if (len != h->len || !clc_msg_is_eyecatcher(buf + len - SMC_CLC_TRAILER_LEN))
		return -EPROTO;
	return 0;
}

static void clc_msg_put_frame(u8 *buf, size_t len, u8 type, u8 flags)
{
	memset(buf, 0, len);
	smc_wire_put_be32(buf, EYE_SMCR);
	buf[OFF_TYPE] = type;
	smc_wire_put_be16(buf + OFF_LEN, (u16)len);
	buf[OFF_FLAGS] = flags;
	smc_wire_put_be32(buf + len - SMC_CLC_TRAILER_LEN, EYE_SMCR);
}

/* Proposal */

/* Offsets of the variable parts of a Proposal; 0 for a missing part. */
struct clc_msg_layout {
	size_t prefix;
	size_t ext;
};

/*
 * Check the prefix area that starts at @at. Returns its length, or 0 if it is malformed or extends
 * beyond @end.
 */
static size_t clc_msg_check_prefixes(const u8 *buf, size_t at, size_t end)
{
	size_t n, i;

	if (at + PFX_V6 > end)
		return 0;
	n = buf[at + PFX_COUNT];
	if (n > SMC_CLC_MAX_PREFIX6 || buf[at + PFX_LEN] > 32)
		return 0;
	if (at + PFX_V6 + PFX_ENTRY * n > end)
		return 0;
	for (i = 0; i < n; i++)
		if (buf[at + PFX_V6 + PFX_ENTRY * i + 16] > 128)
			return 0;
	return PFX_V6 + PFX_ENTRY * n;
}

/* Same as clc_msg_check_prefixes() for the version 2 extension. */
static size_t clc_msg_check_v2_ext(const u8 *buf, size_t at, size_t end, u8 v2_type)
{
	size_t len, eids, gids, d_off;

	if (at + EXT_BASE > end)
		return 0;
	eids = buf[at + EXT_EIDS];
	gids = buf[at + EXT_ISM_GIDS];
	if (eids > SMC_CLC_MAX_EIDS || gids > EXT_D_MAX)
		return 0;
	len = EXT_BASE + SMC_EID_LEN * eids;
	if (v2_type & SMC_CLC_OFFER_D) {
		d_off = smc_wire_get_be16(buf + at + EXT_D_OFF);
		if (d_off && d_off + EXT_GID != len)
			return 0;
		if (d_off)
			len += EXT_D_BASE + EXT_D_ENTRY * gids;
	}
	return at + len > end ? 0 : len;
}

static bool clc_msg_find_v1_parts(const u8 *buf, size_t end, struct clc_msg_layout *l)
{
	size_t skip = smc_wire_get_be16(buf + PROP_IP_OFF);
	size_t plen;

	if ((buf[OFF_FLAGS] & 0x03) == SMC_CLC_OFFER_NONE)
		return false;
	/* skips the area for future growth (RFC 7609 A.2.2), of whatever size */
	l->prefix = PROP_BASE + skip;
	plen = clc_msg_check_prefixes(buf, l->prefix, end);
	return plen && l->prefix + plen == end;
}

static bool clc_msg_find_v2_parts(const u8 *buf, size_t end, struct clc_msg_layout *l)
{
	u8 v1_type = buf[OFF_FLAGS] & 0x03;
	u8 v2_type = (buf[OFF_FLAGS] >> 2) & 0x03;
	size_t at = PROP_BASE + PROP_AREA;
	size_t n, skip, v2_off;

	if (v1_type != SMC_CLC_OFFER_NONE) {
		/* as in version 1, but what version 2 inserts must be there */
		skip = smc_wire_get_be16(buf + PROP_IP_OFF);
		if (skip < PROP_AREA)
			return false;
		at = PROP_BASE + skip;
		n = clc_msg_check_prefixes(buf, at, end);
		if (!n)
			return false;
		l->prefix = at;
		at += n;
	}
	v2_off = smc_wire_get_be16(buf + PROP_V2_OFF);
	/* Zero: the extension is missing. smc_clc_check_proposal() declines that. */
	if (v2_type != SMC_CLC_OFFER_NONE && v2_off) {
		if (PROP_V2_ORIGIN + v2_off != at)
			return false;
		n = clc_msg_check_v2_ext(buf, at, end, v2_type);
		if (!n)
			return false;
		l->ext = at;
		at += n;
	}
	return at == end;
}

static void clc_msg_get_prefixes(const u8 *p, struct smc_clc_proposal *out)
{
	u8 i;

	memcpy(out->v4_net, p + PFX_NET, sizeof(out->v4_net));
	out->v4_len = p[PFX_LEN];
	out->v6_count = p[PFX_COUNT];
	p += PFX_V6;
	for (i = 0; i < out->v6_count; i++, p += PFX_ENTRY) {
		memcpy(out->v6[i].addr, p, sizeof(out->v6[i].addr));
		out->v6[i].len = p[16];
	}
}

static void clc_msg_get_v2_ext(const u8 *p, struct smc_clc_v2_offer *v2)
{
	v2->eid_count = p[EXT_EIDS];
	v2->release = p[EXT_FLAGS] >> 4;
	memcpy(v2->gid, p + EXT_GID, SMC_GID_LEN);
	v2->max_conns = p[EXT_CONNS];
	v2->max_links = p[EXT_LINKS];
	v2->features = smc_wire_get_be16(p + EXT_FEATURES);
	memcpy(v2->eids, p + EXT_BASE, (size_t)SMC_EID_LEN * v2->eid_count);
}

/**
 * smc_clc_parse_proposal() - Parse and check a Proposal
 * @buf: received message
 * @len: bytes received; must equal the length in the header
 * @out: filled in on success, untouched otherwise
 *
 * Return: 0, -EPROTO if malformed, or -EOPNOTSUPP for a version above 2 with an unknown layout; see
 * clc_msg.h for how the caller answers these.
 */
int smc_clc_parse_proposal(const u8 *buf, size_t len,
			   struct smc_clc_proposal *out)
{
	struct clc_msg_layout l = { 0, 0 };
	struct smc_clc_head h;
	size_t end;

	if (clc_msg_check_frame(buf, len, &h) || h.type != SMC_CLC_PROPOSAL)
		return -EPROTO;
	end = len - SMC_CLC_TRAILER_LEN;
	if (h.version == 1) {
		if (!clc_msg_find_v1_parts(buf, end, &l))
			return -EPROTO;
	} else if (!clc_msg_find_v2_parts(buf, end, &l)) {
		/* Later versions may have another layout. */
		return h.version == 2 ? -EPROTO : -EOPNOTSUPP;
	}

	memset(out, 0, sizeof(*out));
	out->version = h.version;
	out->v1_type = h.flags & 0x03;
	out->v2_type = h.version == 1 ? SMC_CLC_OFFER_NONE : h.flags >> 2;
	memcpy(out->peer_id, buf + OFF_PEER_ID, SMC_PEER_ID_LEN);
	memcpy(out->gid, buf + PROP_GID, SMC_GID_LEN);
	memcpy(out->mac, buf + PROP_MAC, SMC_MAC_LEN);
	if (h.version > 1) {
		memcpy(out->vendor_oui, buf + PROP_OUI,
		       sizeof(out->vendor_oui));
		memcpy(out->vendor_opt, buf + PROP_OPT,
		       sizeof(out->vendor_opt));
	}
	if (l.prefix)
		clc_msg_get_prefixes(buf + l.prefix, out);
	if (l.ext) {
		out->has_v2 = true;
		clc_msg_get_v2_ext(buf + l.ext, &out->v2);
	}
	return 0;
}

static bool clc_msg_proposal_is_valid(const struct smc_clc_proposal *in)
{
	bool offers_v2 = in->v2_type == SMC_CLC_OFFER_R;
	u8 i;

	if (in->version != 1 && in->version != 2)
		return false;
	if (in->v1_type != SMC_CLC_OFFER_R && in->v1_type != SMC_CLC_OFFER_NONE)
		return false;
	if (in->v2_type != SMC_CLC_OFFER_R && in->v2_type != SMC_CLC_OFFER_NONE)
		return false;
	/* A Proposal offers something, and version 2 only in a message of version 2. */
	if (in->v1_type == SMC_CLC_OFFER_NONE &&
	    (in->v2_type == SMC_CLC_OFFER_NONE || in->version == 1))
		return false;
	if (in->version == 1 && in->v2_type != SMC_CLC_OFFER_NONE)
		return false;
	if (in->has_v2 != offers_v2)
		return false;
	if (in->has_v2 && (in->v2.eid_count > SMC_CLC_MAX_EIDS ||
			   in->v2.release > 15))
		return false;
	if (in->v6_count > SMC_CLC_MAX_PREFIX6 || in->v4_len > 32)
		return false;
	for (i = 0; i < in->v6_count; i++)
		if (in->v6[i].len > 128)
			return false;
	return true;
}

static void clc_msg_put_prefixes(const struct smc_clc_proposal *in, u8 *p)
{
	u8 i;

	memcpy(p + PFX_NET, in->v4_net, sizeof(in->v4_net));
	p[PFX_LEN] = in->v4_len;
	p[PFX_COUNT] = in->v6_count;
	p += PFX_V6;
	for (i = 0; i < in->v6_count; i++, p += PFX_ENTRY) {
		memcpy(p, in->v6[i].addr, sizeof(in->v6[i].addr));
		p[16] = in->v6[i].len;
	}
}

static void clc_msg_put_v2_ext(const struct smc_clc_v2_offer *v2, u8 *p)
{
	p[EXT_EIDS] = v2->eid_count;
	p[EXT_FLAGS] = (u8)(v2->release << 4);
	memcpy(p + EXT_GID, v2->gid, SMC_GID_LEN);
	p[EXT_CONNS] = v2->max_conns;
	p[EXT_LINKS] = v2->max_links;
	smc_wire_put_be16(p + EXT_FEATURES, v2->features);
	memcpy(p + EXT_BASE, v2->eids, (size_t)SMC_EID_LEN * v2->eid_count);
}

/**
 * smc_clc_build_proposal() - Build a Proposal
 * @in: contents; version 1 or 2, SMC-R only
 * @buf: output buffer
 * @cap: bytes of @buf; SMC_CLC_BUILD_MAX always suffices
 *
 * Return: length of the message, -ENOSPC if @cap is too small, or -EINVAL if @in cannot be
 * expressed or must not be sent.
 */
int smc_clc_build_proposal(const struct smc_clc_proposal *in, u8 *buf,
			   size_t cap)
{
	size_t prefix = PROP_BASE, ext, len;
	u8 flags;

	if (!clc_msg_proposal_is_valid(in))
		return -EINVAL;
	if (in->version == 2)
		prefix += PROP_AREA;
	ext = prefix;
	if (in->v1_type != SMC_CLC_OFFER_NONE)
		ext += PFX_V6 + (size_t)PFX_ENTRY * in->v6_count;
	len = ext + SMC_CLC_TRAILER_LEN;
	if (in->has_v2)
		len += EXT_BASE + (size_t)SMC_EID_LEN * in->v2.eid_count;
	if (cap < len)
		return -ENOSPC;

	flags = (u8)(in->version << 4 | in->v1_type);
	if (in->version == 2)
		flags |= (u8)(in->v2_type << 2);
	clc_msg_put_frame(buf, len, SMC_CLC_PROPOSAL, flags);
	memcpy(buf + OFF_PEER_ID, in->peer_id, SMC_PEER_ID_LEN);
	memcpy(buf + PROP_GID, in->gid, SMC_GID_LEN);
	memcpy(buf + PROP_MAC, in->mac, SMC_MAC_LEN);
	if (in->version == 2) {
		memcpy(buf + PROP_OUI, in->vendor_oui, sizeof(in->vendor_oui));
		memcpy(buf + PROP_OPT, in->vendor_opt, sizeof(in->vendor_opt));
	}
	if (in->v1_type != SMC_CLC_OFFER_NONE) {
		smc_wire_put_be16(buf + PROP_IP_OFF, (u16)(prefix - PROP_BASE));
		clc_msg_put_prefixes(in, buf + prefix);
	}
	if (in->has_v2) {
		smc_wire_put_be16(buf + PROP_V2_OFF, (u16)(ext - PROP_V2_ORIGIN));
		clc_msg_put_v2_ext(&in->v2, buf + ext);
	}
	return (int)len;
}

/* Accept and Confirm */

/* The RMBE must exist (indices start at 1) and must not wrap around the address space. */
static bool clc_msg_rmbe_is_valid(u8 idx, u8 bsize, u64 vaddr)
{
	u64 span = (u64)smc_wire_bsize_to_len(bsize) * idx;

	return idx && vaddr + (span - 1) >= vaddr;
}

static int clc_msg_check_accept(const u8 *buf, size_t len, struct smc_clc_head *h)
{
	size_t need;

	if (clc_msg_check_frame(buf, len, h))
		return -EPROTO;
	if (h->type != SMC_CLC_ACCEPT && h->type != SMC_CLC_CONFIRM)
		return -EPROTO;
	if (h->version > 2 || !clc_msg_is_smcr(h))
		return -EOPNOTSUPP;
	if (!clc_msg_rmbe_is_valid(buf[ACC_INDEX], buf[ACC_SIZE_MTU] >> 4,
				   smc_wire_get_be64(buf + ACC_VADDR)))
		return -EPROTO;
	if (h->version == 1 || !(h->flags & FLAG_FIRST))
		return 0;

	/* clc_msg_check_frame() guarantees 108 bytes; check the length of the rest here. */
	need = SMC_CLC_ACCEPT_FCE_LEN;
	if (h->type == SMC_CLC_CONFIRM)
		need = ACC_GIDS + SMC_CLC_TRAILER_LEN;
	if (len < need)
		return -EPROTO;
	if (h->type == SMC_CLC_CONFIRM &&
	    len < need + (size_t)SMC_GID_LEN * buf[ACC_GID_COUNT])
		return -EPROTO;
	return 0;
}

static void clc_msg_get_fce(const u8 *p, struct smc_clc_fce *fce)
{
	fce->direct = p[FCE_DIRECT] & 0x80;
	fce->os = p[FCE_OS_REL] >> 4;
	fce->release = p[FCE_OS_REL] & 0x0f;
	memcpy(fce->hostname, p + FCE_HOST, SMC_HOSTNAME_LEN);
	fce->max_conns = p[FCE_CONNS];
	fce->max_links = p[FCE_LINKS];
	fce->features = smc_wire_get_be16(p + FCE_FEATURES);
	memcpy(fce->vendor_opt, p + FCE_VENDOR, sizeof(fce->vendor_opt));
}

/**
 * smc_clc_parse_accept() - Parse and check an Accept or a Confirm
 * @buf: received message
 * @len: bytes received; must equal the length in the header
 * @out: filled in on success (@out->is_confirm says which of the two), untouched otherwise
 *
 * Return: 0, -EPROTO if malformed, or -EOPNOTSUPP for a version above 2 or for SMC-D.
 */
int smc_clc_parse_accept(const u8 *buf, size_t len, struct smc_clc_accept *out)
{
	struct smc_clc_head h;
	int rc;

	rc = clc_msg_check_accept(buf, len, &h);
	if (rc)
		return rc;

	memset(out, 0, sizeof(*out));
	out->is_confirm = h.type == SMC_CLC_CONFIRM;
	out->version = h.version;
	out->first_contact = h.flags & FLAG_FIRST;
	memcpy(out->peer_id, buf + OFF_PEER_ID, SMC_PEER_ID_LEN);
	memcpy(out->gid, buf + ACC_GID, SMC_GID_LEN);
	memcpy(out->mac, buf + ACC_MAC, SMC_MAC_LEN);
	out->qpn = smc_wire_get_be24(buf + ACC_QPN);
	out->rkey = smc_wire_get_be32(buf + ACC_RKEY);
	out->rmbe_idx = buf[ACC_INDEX];
	out->token = smc_wire_get_be32(buf + ACC_TOKEN);
	out->bsize = buf[ACC_SIZE_MTU] >> 4;
	out->mtu = buf[ACC_SIZE_MTU] & 0x0f;
	out->vaddr = smc_wire_get_be64(buf + ACC_VADDR);
	out->psn = smc_wire_get_be24(buf + ACC_PSN);
	if (h.version == 1) {
		out->reserved[0] = buf[ACC_RSV0];
		out->reserved[1] = buf[ACC_RSV1];
		return 0;
	}

	memcpy(out->eid, buf + ACC_EID, SMC_EID_LEN);
	if (!out->first_contact)
		return 0;
	clc_msg_get_fce(buf + ACC_FCE, &out->fce);
	if (!out->is_confirm)
		return 0;
	out->gid_count = buf[ACC_GID_COUNT];
	if (out->gid_count > SMC_CLC_MAX_GIDS)
		out->gid_count = SMC_CLC_MAX_GIDS;
	memcpy(out->gids, buf + ACC_GIDS, (size_t)SMC_GID_LEN * out->gid_count);
	return 0;
}

static bool clc_msg_accept_is_valid(const struct smc_clc_accept *in)
{
	if (in->version != 1 && in->version != 2)
		return false;
	if (in->bsize > 15 || in->mtu > 15)
		return false;
	if (in->qpn > 0xffffff || in->psn > 0xffffff)
		return false;
	if (!clc_msg_rmbe_is_valid(in->rmbe_idx, in->bsize, in->vaddr))
		return false;
	if (in->version == 1 || !in->first_contact)
		return true;
	if (in->fce.os > 15 || in->fce.release > 15)
		return false;
	return !in->is_confirm || in->gid_count <= SMC_CLC_MAX_GIDS;
}

static size_t clc_msg_accept_len(const struct smc_clc_accept *in)
{
	if (in->version == 1)
		return SMC_CLC_ACCEPT_V1_LEN;
	if (!in->first_contact)
		return SMC_CLC_ACCEPT_V2_LEN;
	if (!in->is_confirm)
		return SMC_CLC_ACCEPT_FCE_LEN;
	return ACC_GIDS + (size_t)SMC_GID_LEN * in->gid_count +
	       SMC_CLC_TRAILER_LEN;
}

static void clc_msg_put_fce(const struct smc_clc_fce *fce, u8 *p)
{
	p[FCE_DIRECT] = fce->direct ? 0x80 : 0;
	p[FCE_OS_REL] = (u8)(fce->os << 4 | fce->release);
	memcpy(p + FCE_HOST, fce->hostname, SMC_HOSTNAME_LEN);
	p[FCE_CONNS] = fce->max_conns;
	p[FCE_LINKS] = fce->max_links;
	smc_wire_put_be16(p + FCE_FEATURES, fce->features);
	memcpy(p + FCE_VENDOR, fce->vendor_opt, sizeof(fce->vendor_opt));
}

/**
 * smc_clc_build_accept() - Build an Accept or a Confirm
 * @in: contents; version 1 or 2, SMC-R only
 * @buf: output buffer
 * @cap: bytes of @buf; SMC_CLC_BUILD_MAX always suffices
 *
 * Return: length of the message, -ENOSPC if @cap is too small, or -EINVAL if @in cannot be
 * expressed or must not be sent.
 */
int smc_clc_build_accept(const struct smc_clc_accept *in, u8 *buf, size_t cap)
{
	size_t len;

	if (!clc_msg_accept_is_valid(in))
		return -EINVAL;
	len = clc_msg_accept_len(in);
	if (cap < len)
		return -ENOSPC;

	clc_msg_put_frame(buf, len, in->is_confirm ? SMC_CLC_CONFIRM : SMC_CLC_ACCEPT,
			  (u8)(in->version << 4 |
			       (in->first_contact ? FLAG_FIRST : 0)));
	memcpy(buf + OFF_PEER_ID, in->peer_id, SMC_PEER_ID_LEN);
	memcpy(buf + ACC_GID, in->gid, SMC_GID_LEN);
	memcpy(buf + ACC_MAC, in->mac, SMC_MAC_LEN);
	smc_wire_put_be24(buf + ACC_QPN, in->qpn);
	smc_wire_put_be32(buf + ACC_RKEY, in->rkey);
	buf[ACC_INDEX] = in->rmbe_idx;
	smc_wire_put_be32(buf + ACC_TOKEN, in->token);
	buf[ACC_SIZE_MTU] = (u8)(in->bsize << 4 | in->mtu);
	smc_wire_put_be64(buf + ACC_VADDR, in->vaddr);
	smc_wire_put_be24(buf + ACC_PSN, in->psn);
	if (in->version == 1) {
		buf[ACC_RSV0] = in->reserved[0];
		buf[ACC_RSV1] = in->reserved[1];
		return (int)len;
	}

	memcpy(buf + ACC_EID, in->eid, SMC_EID_LEN);
	if (!in->first_contact)
		return (int)len;
	clc_msg_put_fce(&in->fce, buf + ACC_FCE);
	if (in->is_confirm) {
		buf[ACC_GID_COUNT] = in->gid_count;
		memcpy(buf + ACC_GIDS, in->gids,
		       (size_t)SMC_GID_LEN * in->gid_count);
	}
	return (int)len;
}

/* Decline */

/**
 * smc_clc_parse_decline() - Parse and check a Decline
 * @buf: received message
 * @len: bytes received; must equal the length in the header
 * @out: filled in on success, untouched otherwise
 *
 * Return: 0, or -EPROTO if malformed.
 */
int smc_clc_parse_decline(const u8 *buf, size_t len,
			  struct smc_clc_decline *out)
{
	struct smc_clc_head h;
	int i;

	if (clc_msg_check_frame(buf, len, &h) || h.type != SMC_CLC_DECLINE)
		return -EPROTO;

	memset(out, 0, sizeof(*out));
	out->version = h.version;
	out->out_of_sync = h.flags & FLAG_SYNC;
	memcpy(out->peer_id, buf + OFF_PEER_ID, SMC_PEER_ID_LEN);
	out->diag = smc_wire_get_be32(buf + DEC_DIAG);
	if (h.version == 1)
		return 0;
	out->os = buf[DEC_OS] >> 4;
	for (i = 0; i < 4; i++)
		out->extra[i] = smc_wire_get_be32(buf + DEC_EXTRA + 4 * i);
	return 0;
}

/**
 * smc_clc_build_decline() - Build a Decline
 * @in: contents; version 1 or 2
 * @buf: output buffer
 * @cap: bytes of @buf; SMC_CLC_BUILD_MAX always suffices
 *
 * Return: length of the message, -ENOSPC if @cap is too small, or -EINVAL if @in cannot be
 * expressed.
 */
int smc_clc_build_decline(const struct smc_clc_decline *in, u8 *buf,
			  size_t cap)
{
	size_t len;
	int i;

	if ((in->version != 1 && in->version != 2) || in->os > 15)
		return -EINVAL;
	len = in->version == 1 ? SMC_CLC_DECLINE_V1_LEN :
				 SMC_CLC_DECLINE_V2_LEN;
	if (cap < len)
		return -ENOSPC;

	clc_msg_put_frame(buf, len, SMC_CLC_DECLINE,
			  (u8)(in->version << 4 | (in->out_of_sync ? FLAG_SYNC : 0)));
	memcpy(buf + OFF_PEER_ID, in->peer_id, SMC_PEER_ID_LEN);
	smc_wire_put_be32(buf + DEC_DIAG, in->diag);
	if (in->version == 2) {
		buf[DEC_OS] = (u8)(in->os << 4);
		for (i = 0; i < 4; i++)
			smc_wire_put_be32(buf + DEC_EXTRA + 4 * i, in->extra[i]);
	}
	return (int)len;
}

/* IP prefixes of version 1. Addresses have 4 or 16 bytes in network order, lengths are in bits. */

/**
 * smc_clc_prefix_equal() - Compare the first bits of two addresses
 * @a: address
 * @b: address
 * @len: bits to compare, at most 32 (IPv4) or 128 (IPv6)
 *
 * Return: true if they are equal.
 */
bool smc_clc_prefix_equal(const u8 *a, const u8 *b, u8 len)
{
	u8 bytes = len / 8, bits = len % 8;

	if (memcmp(a, b, bytes))
		return false;
	return !bits || !((a[bytes] ^ b[bytes]) >> (8 - bits));
}

/* Copy the first @len bits of @size bytes and clear the others. */
static void clc_msg_copy_prefix(u8 *to, const u8 *from, u8 len, u8 size)
{
	u8 bytes = len / 8, bits = len % 8;

	memset(to, 0, size);
	memcpy(to, from, bytes);
	if (bits)
		to[bytes] = from[bytes] & (u8)(0xff00 >> bits);
}

/**
 * smc_clc_proposal_set_prefix4() - Client: set the IPv4 subnet of a Proposal
 * @p: Proposal that is being filled in
 * @addr: address of the client's interface, 4 bytes
 * @len: its prefix length, at most 32
 */
void smc_clc_proposal_set_prefix4(struct smc_clc_proposal *p, const u8 *addr, u8 len)
{
	clc_msg_copy_prefix(p->v4_net, addr, len, sizeof(p->v4_net));
	p->v4_len = len;
}

/**
 * smc_clc_proposal_add_prefix6() - Client: add an IPv6 prefix to a Proposal
 * @p: Proposal that is being filled in
 * @addr: address of the client's interface, 16 bytes
 * @len: its prefix length, at most 128; 0 adds nothing
 *
 * Adds a prefix only once.
 *
 * Return: false if the list is full.
 */
bool smc_clc_proposal_add_prefix6(struct smc_clc_proposal *p, const u8 *addr, u8 len)
{
	struct smc_clc_prefix6 *entry;

	if (!len || smc_clc_proposal_match_prefix6(p, addr, len))
		return true;
	if (p->v6_count == SMC_CLC_MAX_PREFIX6)
		return false;
	entry = &p->v6[p->v6_count++];
	clc_msg_copy_prefix(entry->addr, addr, len, sizeof(entry->addr));
	entry->len = len;
	return true;
}

/**
 * smc_clc_proposal_match_prefix4() - Server: check whether an interface is in the client's IPv4
 * subnet
 * @p: Proposal
 * @addr: address of the interface, 4 bytes
 * @len: its prefix length, at most 32
 * @client: the client's address on the TCP connection, 4 bytes
 *
 * Accepts two readings of the field: the network address, which all known peers send, and the
 * subnet mask, which the RFC describes.
 *
 * Return: true if it is.
 */
bool smc_clc_proposal_match_prefix4(const struct smc_clc_proposal *p, const u8 *addr, u8 len,
				    const u8 *client)
{
	static const u8 ones[4] = { 0xff, 0xff, 0xff, 0xff };
	u8 mask[4];

	if (!len || p->v4_len != len)
		return false;
	if (smc_clc_prefix_equal(p->v4_net, addr, len))
		return true;
	/* The RFC, read literally, has the client send the mask; no subnet equals a mask. */
	clc_msg_copy_prefix(mask, ones, len, sizeof(mask));
	return !memcmp(p->v4_net, mask, sizeof(mask)) &&
	       smc_clc_prefix_equal(client, addr, len);
}

/**
 * smc_clc_proposal_match_prefix6() - Server: check whether a prefix is among the client's IPv6
 * prefixes
 * @p: Proposal
 * @addr: address of the interface, 16 bytes
 * @len: its prefix length, at most 128; 0 never matches
 *
 * Return: true if it is.
 */
bool smc_clc_proposal_match_prefix6(const struct smc_clc_proposal *p, const u8 *addr, u8 len)
{
	u8 i;

	for (i = 0; len && i < p->v6_count; i++)
		if (p->v6[i].len == len && smc_clc_prefix_equal(p->v6[i].addr, addr, len))
			return true;
	return false;
}

/* Well-formed messages that must be declined */

/**
 * smc_clc_unsupported_reason() - Return the reason to decline after -EOPNOTSUPP of a parser
 * @head: header of the message
 *
 * Return: the reason, never SMC_CLC_DECL_NONE.
 */
enum smc_clc_reason smc_clc_unsupported_reason(const struct smc_clc_head *head)
{
	if (head->version > 2)
		return SMC_CLC_DECL_VERSION;
	return SMC_CLC_DECL_MODE;
}

static bool clc_msg_offers_smcr(u8 type)
{
	return type == SMC_CLC_OFFER_R || type == SMC_CLC_OFFER_BOTH;
}

/**
 * smc_clc_check_proposal() - Check whether a Proposal offers SMC-R
 * @p: from smc_clc_parse_proposal()
 *
 * Return: SMC_CLC_DECL_NONE if @p offers SMC-R in version 1, or in version 2 with an extension that
 * lists at least one EID; else the reason to decline.
 */
enum smc_clc_reason smc_clc_check_proposal(const struct smc_clc_proposal *p)
{
	if (clc_msg_offers_smcr(p->v1_type))
		return SMC_CLC_DECL_NONE;
	if (!clc_msg_offers_smcr(p->v2_type))
		return SMC_CLC_DECL_MODE;
	if (!p->has_v2)
		return SMC_CLC_DECL_NO_V2_EXT;
	return p->v2.eid_count ? SMC_CLC_DECL_NONE : SMC_CLC_DECL_NO_UEID;
}

/**
 * smc_clc_check_accept() - Check the enumerated values and limits of an Accept or a Confirm
 * @a: from smc_clc_parse_accept()
 *
 * Does not compare with the Proposal: the caller has to find a known release or limit that was not
 * offered.
 *
 * Return: SMC_CLC_DECL_NONE or the reason to decline.
 */
enum smc_clc_reason smc_clc_check_accept(const struct smc_clc_accept *a)
{
	/* Subsequent contact: the queue pair exists, the MTU code is not used. */
	if (!a->first_contact)
		return SMC_CLC_DECL_NONE;
	if (a->mtu < SMC_MTU_256 || a->mtu > SMC_MTU_4096)
		return SMC_CLC_DECL_CONFIG;
	if (a->version == 1)
		return SMC_CLC_DECL_NONE;
	if (a->fce.release > SMC_CLC_RELEASE_1)
		return SMC_CLC_DECL_RELEASE;
	if (a->fce.release == SMC_CLC_RELEASE_0)
		return SMC_CLC_DECL_NONE;
	if (a->fce.max_conns < SMC_CLC_CONNS_MIN)
		return SMC_CLC_DECL_MAX_CONNS;
	if (a->fce.max_links < SMC_CLC_LINKS_MIN ||
	    a->fce.max_links > smc_peer_caps_fce_links_max(&a->fce))
		return SMC_CLC_DECL_MAX_LINKS;
	return SMC_CLC_DECL_NONE;
}

/**
 * smc_clc_reason_str() - Return a short text for a diagnosis code
 * @reason: any diagnosis code, also a peer's
 *
 * Return: a constant string, "unknown reason" for codes without a text.
 */
const char *smc_clc_reason_str(u32 reason)
{
	switch ((enum smc_clc_reason)reason) {
	case SMC_CLC_DECL_NONE:
		return "none";
	case SMC_CLC_DECL_MEM:
		return "out of memory";
	case SMC_CLC_DECL_RMB_LIMIT:
		return "the limit of memory for RMBs or send rings is reached";
	case SMC_CLC_DECL_MEM_LIMIT:
		return "the limit of memory for all connections is reached";
	case SMC_CLC_DECL_HOST_MEM:
		return "the connections with this host have their share of memory";
	case SMC_CLC_DECL_HOST_GROUPS:
		return "this host has too many link groups";
	case SMC_CLC_DECL_HS_LIMIT:
		return "too many handshakes at once";
	case SMC_CLC_DECL_TIMEOUT_CL:
		return "timeout waiting for CONFIRM LINK";
	case SMC_CLC_DECL_TIMEOUT_AL:
		return "timeout waiting for ADD LINK";
	case SMC_CLC_DECL_CONFIG:
		return "configuration error";
	case SMC_CLC_DECL_RULE:
		return "a rule of the administrator";
	case SMC_CLC_DECL_SHORT:
		return "connections like this one are short";
	case SMC_CLC_DECL_PEER_NO_SMC:
		return "peer did not indicate SMC";
	case SMC_CLC_DECL_NOT_SMC:
		return "peer sent the SMC option, but does not speak SMC";
	case SMC_CLC_DECL_IPSEC:
		return "IPsec in use";
	case SMC_CLC_DECL_NO_DEV:
		return "no SMC device";
	case SMC_CLC_DECL_NO_DEV_D:
		return "no SMC-D device";
	case SMC_CLC_DECL_NO_DEV_R:
		return "no SMC-R device";
	case SMC_CLC_DECL_NO_ISM_V2:
		return "no hardware for ISMv2";
	case SMC_CLC_DECL_NO_V2_EXT:
		return "version 2 extension missing";
	case SMC_CLC_DECL_NO_V2_D_EXT:
		return "SMC-Dv2 extension missing";
	case SMC_CLC_DECL_NO_SEID:
		return "no system EID from peer";
	case SMC_CLC_DECL_NO_DEV_D_V2:
		return "no SMC-Dv2 device";
	case SMC_CLC_DECL_NO_UEID:
		return "no user EID from peer";
	case SMC_CLC_DECL_RELEASE:
		return "no common release";
	case SMC_CLC_DECL_MAX_CONNS:
		return "no common limit of connections";
	case SMC_CLC_DECL_MAX_LINKS:
		return "no common limit of links";
	case SMC_CLC_DECL_NO_DEV_PNETID:
		return "no RoCE port with the connection's PNET ID";
	case SMC_CLC_DECL_DEV_BELOW:
		return "RoCE device is below a bond or bridge, PNET ID needed";
	case SMC_CLC_DECL_NOT_INNER:
		return "smc_lo leads to consenting namespaces of this host only";
	case SMC_CLC_DECL_MODE:
		return "no common transport";
	case SMC_CLC_DECL_RMBE_EYEC:
		return "peer wants eye catchers in RMBEs";
	case SMC_CLC_DECL_SOCKOPT:
		return "socket option not supported with SMC";
	case SMC_CLC_DECL_PREFIX:
		return "not in one IP subnet";
	case SMC_CLC_DECL_VLAN_LOOKUP:
		return "VLAN look-up failed";
	case SMC_CLC_DECL_VLAN_ISM:
		return "VLAN not usable on ISM device";
	case SMC_CLC_DECL_NO_LINK:
		return "no active link in link group";
	case SMC_CLC_DECL_LINK_UNKNOWN:
		return "link named by server not found";
	case SMC_CLC_DECL_VERSION:
		return "no common SMC version";
	case SMC_CLC_DECL_DMB_LIMIT:
		return "SMC-D buffers used up";
	case SMC_CLC_DECL_NO_ROUTE:
		return "no route to the peer's RoCE address";
	case SMC_CLC_DECL_NOT_DIRECT:
		return "peers disagree about an IP gateway between them";
	case SMC_CLC_DECL_SYNC:
		return "link groups out of synchronisation";
	case SMC_CLC_DECL_PEER:
		return "declined by peer";
	case SMC_CLC_DECL_INTERNAL:
		return "internal error";
	case SMC_CLC_DECL_RTOKEN:
		return "handling of the peer's rtoken failed";
	case SMC_CLC_DECL_LINK_READY:
		return "queue pair could not be made ready";
	case SMC_CLC_DECL_BUF_REG:
		return "registration of a buffer failed";
	}
	return "unknown reason";
}
