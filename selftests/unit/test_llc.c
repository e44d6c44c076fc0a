// SPDX-License-Identifier: GPL-2.0-only
/* LLC messages: captured and constructed bytes, round trips, hostile input. */
#include <smc/proto/llc_msg.h>
#include <smc/proto/peer_caps.h>
#include "unit.h"

#define GID_V1	{ 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x9a, 0x03, 0x9b, 0xff, \
		  0xfe, 0xab, 0xcd, 0xef }
#define GID_V2(n) { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, n, 10 }
#define MAC	{ 0x98, 0x03, 0x9b, 0xab, 0xcd, 0xef }
#define Z4	"00000000"
#define Z8	"0000000000000000"
#define Z16	"00000000000000000000000000000000"
#define Z32	"0000000000000000000000000000000000000000000000000000000000000000"

static const u8 rtoken_raw[] = {
	0, 0, 0x15, 0x7d, 0, 0, 0x16, 0, 0, 0, 0, 0, 0xf0, 0xa6, 0, 0,
};

static const u8 gids_raw[][SMC_GID_LEN] = { GID_V2(1), GID_V2(2) };
static const u8 rkey_raw[] = { 0, 0, 0x15, 0x5d };
static const u8 rkeys_raw[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

#define NEW_LINK \
	.mac = MAC, .gid = GID_V1, .qpn = 0xe6, .link_num = 2, .mtu = 3, \
	.psn = 0x123456

/*
 * The first five are captured from an old kernel, the others are constructed
 * from the description of the format.
 */
static const struct {
	const char *hex;
	struct smc_llc_msg m;
} golden[] = {
	{ "012c0003 98039bab cdeffe80 00000000 00009a03 9bfffeab cdef0001\n"
	  "07000001 00000200 00000000 00000000",
	  { .type = SMC_LLC_CONFIRM_LINK, .version = 1, .confirm_link = {
		.no_eyec = true, .mac = MAC, .gid = GID_V1, .qpn = 263,
		.link_uid = { 0, 1, 0, 0 }, .max_links = 2 } } },
	{ "022c0000 98039bab cdef0000 fe800000 00000000 9a039bff feabcdef"
	  Z16,
	  { .type = SMC_LLC_ADD_LINK, .version = 1, .add_link = {
		.mac = MAC, .gid = GID_V1 } } },
	{ "062c0000 00000015 5d000000 0eef4d00" Z16 Z8 Z4,
	  { .type = SMC_LLC_CONFIRM_RKEY, .version = 1, .confirm_rkey = {
		.rkey = 5469, .vaddr = 0xeef4d0000 } } },
	{ "042c0060" Z32 Z8,
	  { .type = SMC_LLC_DELETE_LINK, .version = 1, .delete_link = {
		.all = true, .orderly = true } } },
	{ "092c0000 01000000 0000155d" Z32,
	  { .type = SMC_LLC_DELETE_RKEY, .version = 1, .delete_rkey = {
		.count = 1, .rkeys = { 1, rkey_raw } } } },
	{ "022c0000 98039bab cdef0000 fe800000 00000000 9a039bff feabcdef\n"
	  "0000e602 03123456" Z8,
	  { .type = SMC_LLC_ADD_LINK, .version = 1, .add_link = {
		NEW_LINK } } },
	{ "022c01c0 98039bab cdef0000 fe800000 00000000 9a039bff feabcdef\n"
	  "0000e602 03123456" Z8,
	  { .type = SMC_LLC_ADD_LINK, .version = 1, .response = true,
	    .add_link = { .rejected = true, .reason = SMC_LLC_REJ_NO_ALT_PATH,
		NEW_LINK } } },
	{ "22580000 98039bab cdef0000 00000000 00000000 0000ffff c0a8010a\n"
	  "0000e602 03123456 00000000 00000000 80000000 00000000 00000000\n"
	  "ffffc0a8 010a0000 00000000 00000100 0000157d 00001600 00000000\n"
	  "f0a60000",
	  { .type = SMC_LLC_ADD_LINK, .version = 2, .add_link = {
		.mac = MAC, .gid = GID_V2(1), .qpn = 0xe6, .link_num = 2,
		.mtu = 3, .psn = 0x123456, .has_ext = true, .direct = true,
		.target_gid = GID_V2(1), .rtokens = { 1, rtoken_raw } } } },
	{ "253c0000" Z16 Z4 "02000000 00000000 00000000 0000ffff c0a8010a\n"
	  "00000000 00000000 0000ffff c0a8020a",
	  { .type = SMC_LLC_REQ_ADD_LINK, .version = 2, .req_add_link = {
		.gids = { 2, gids_raw[0] } } } },
	{ "072c0000" Z32 Z8,
	  { .type = SMC_LLC_TEST_LINK, .version = 1 } },
	/* below: not in the published set */
	{ "212c0083 98039bab cdeffe80 00000000 00009a03 9bfffeab cdef0001\n"
	  "07030102 030402ff 00000000 00000000",
	  { .type = SMC_LLC_CONFIRM_LINK, .version = 2, .response = true,
	    .confirm_link = { .no_eyec = true, .mac = MAC, .gid = GID_V1,
		.qpn = 263, .link_num = 3, .link_uid = { 1, 2, 3, 4 },
		.max_links = 2, .max_conns = 255 } } },
	/* an in-tree rejection: 44 bytes, no reason */
	{ "222c00c0 98039bab cdef0000 fe800000 00000000 9a039bff feabcdef\n"
	  "0000e602 03123456" Z8,
	  { .type = SMC_LLC_ADD_LINK, .version = 2, .response = true,
	    .add_link = { .rejected = true, NEW_LINK } } },
	{ "222c00c2 98039bab cdef0000 fe800000 00000000 9a039bff feabcdef\n"
	  "0000e602 03123456" Z8,
	  { .type = SMC_LLC_ADD_LINK, .version = 2, .response = true,
	    .add_link = { .rejected = true, .reason = SMC_LLC_REJ_MTU,
		NEW_LINK } } },
	{ "032c0080 02030000 00000001 00000002 00000000 00000003 00000004\n"
	  "00000005 00000000 00000006 00000000",
	  { .type = SMC_LLC_ADD_LINK_CONT, .version = 1, .response = true,
	    .add_link_cont = { .link_num = 2, .left = 3,
		.pairs = { { 1, 2, 3 }, { 4, 5, 6 } } } } },
	{ "242c0020 03000100 00000000" Z32,
	  { .type = SMC_LLC_DELETE_LINK, .version = 2, .delete_link = {
		.orderly = true, .link_num = 3,
		.reason = SMC_LLC_DEL_LOST_PATH } } },
	{ "262c00b0 02000015 5d000000 0eef4d00 00\n"
	  "07 00000001 0000000000000002 08 00000003 0000000000000004 00",
	  { .type = SMC_LLC_CONFIRM_RKEY, .version = 2, .response = true,
	    .confirm_rkey = { .negative = true, .retry = true, .rkey = 5469,
		.vaddr = 0xeef4d0000, .others = 2,
		.other = { { 7, 1, 2 }, { 8, 3, 4 } } } } },
	{ "082c0080 03\n"
	  "07 00000001 0000000000000002 08 00000003 0000000000000004\n"
	  "09 00000005 0000000000000006",
	  { .type = SMC_LLC_CONFIRM_RKEY_CONT, .version = 1, .response = true,
	    .confirm_rkey_cont = { .left = 3,
		.other = { { 7, 1, 2 }, { 8, 3, 4 }, { 9, 5, 6 } } } } },
	{ "292c0000 03000000 01020304 05060708 090a0b0c" Z16 Z8,
	  { .type = SMC_LLC_DELETE_RKEY, .version = 2, .delete_rkey = {
		.count = 3, .rkeys = { 3, rkeys_raw } } } },
	{ "092c00a0 03c00000 01020304 05060708 090a0b0c" Z16 Z8,
	  { .type = SMC_LLC_DELETE_RKEY, .version = 1, .response = true,
	    .delete_rkey = { .negative = true, .err = 0xc0, .count = 3,
		.rkeys = { 3, rkeys_raw } } } },
	/* REQUEST ADD LINK refused */
	{ "252c00c1" Z32 Z8,
	  { .type = SMC_LLC_REQ_ADD_LINK, .version = 2, .response = true,
	    .req_add_link = { .rejected = true,
		.reason = SMC_LLC_REJ_NO_ALT_PATH } } },
	{ "272c0080 01020304 05060708 090a0b0c 0d0e0f10" Z16 Z8,
	  { .type = SMC_LLC_TEST_LINK, .version = 2, .response = true,
	    .test_link = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
		15, 16 } } } },
	/* sent by this module: as long as its list of links */
	{ "26450000 04000015 5d000000 0eef4d00 00\n"
	  "07 00000001 0000000000000002 08 00000003 0000000000000004\n"
	  "09 00000005 0000000000000006 ff 00000007 0000000000000008",
	  { .type = SMC_LLC_CONFIRM_RKEY, .version = 2, .confirm_rkey = {
		.rkey = 5469, .vaddr = 0xeef4d0000, .others = 4,
		.other = { { 7, 1, 2 }, { 8, 3, 4 }, { 9, 5, 6 }, { 255, 7, 8 } } } } },
	/* version 1 counts the entries of the continuations, too */
	{ "062c0000 08000015 5d000000 0eef4d00 00\n"
	  "07 00000001 0000000000000002 08 00000003 0000000000000004 00",
	  { .type = SMC_LLC_CONFIRM_RKEY, .version = 1, .confirm_rkey = {
		.rkey = 5469, .vaddr = 0xeef4d0000, .others = 8,
		.other = { { 7, 1, 2 }, { 8, 3, 4 } } } } },
};

/* Comparing */

static void same_list(const struct smc_llc_list *a,
		      const struct smc_llc_list *b, size_t entry)
{
	CHECK_EQ(a->count, b->count);
	CHECK_EQ(!a->raw, !a->count);
	if (a->count == b->count && a->count)
		CHECK_MEM(a->raw, b->raw, entry * a->count);
}

static void same_add_link(const struct smc_llc_add_link *a,
			  const struct smc_llc_add_link *b)
{
	CHECK_EQ(a->rejected, b->rejected);
	CHECK_EQ(a->reason, b->reason);
	CHECK_MEM(a->mac, b->mac, sizeof(a->mac));
	CHECK_MEM(a->gid, b->gid, sizeof(a->gid));
	CHECK_EQ(a->qpn, b->qpn);
	CHECK_EQ(a->link_num, b->link_num);
	CHECK_EQ(a->mtu, b->mtu);
	CHECK_EQ(a->psn, b->psn);
	CHECK_EQ(a->has_ext, b->has_ext);
	CHECK_EQ(a->direct, b->direct);
	CHECK_MEM(a->target_gid, b->target_gid, sizeof(a->target_gid));
	same_list(&a->rtokens, &b->rtokens, SMC_LLC_RTOKEN_LEN);
}

static void same_confirm_link(const struct smc_llc_confirm_link *a,
			      const struct smc_llc_confirm_link *b)
{
	CHECK_EQ(a->no_eyec, b->no_eyec);
	CHECK_MEM(a->mac, b->mac, sizeof(a->mac));
	CHECK_MEM(a->gid, b->gid, sizeof(a->gid));
	CHECK_EQ(a->qpn, b->qpn);
	CHECK_EQ(a->link_num, b->link_num);
	CHECK_MEM(a->link_uid, b->link_uid, sizeof(a->link_uid));
	CHECK_EQ(a->max_links, b->max_links);
	CHECK_EQ(a->max_conns, b->max_conns);
}

static void same_rkeys(const struct smc_llc_rkey *a,
		       const struct smc_llc_rkey *b, int n)
{
	for (; n; n--, a++, b++) {
		CHECK_EQ(a->link_num, b->link_num);
		CHECK_EQ(a->rkey, b->rkey);
		CHECK_EQ(a->vaddr, b->vaddr);
	}
}

static void same_cont(const struct smc_llc_add_link_cont *a,
		      const struct smc_llc_add_link_cont *b)
{
	int i;

	CHECK_EQ(a->link_num, b->link_num);
	CHECK_EQ(a->left, b->left);
	for (i = 0; i < SMC_LLC_CONT_PAIRS; i++) {
		CHECK_EQ(a->pairs[i].ref_rkey, b->pairs[i].ref_rkey);
		CHECK_EQ(a->pairs[i].rkey, b->pairs[i].rkey);
		CHECK_EQ(a->pairs[i].vaddr, b->pairs[i].vaddr);
	}
}

static void same_msg(const struct smc_llc_msg *a, const struct smc_llc_msg *b)
{
	CHECK_EQ(a->type, b->type);
	CHECK_EQ(a->version, b->version);
	CHECK_EQ(a->response, b->response);
	switch (a->type) {
	case SMC_LLC_CONFIRM_LINK:
		same_confirm_link(&a->confirm_link, &b->confirm_link);
		break;
	case SMC_LLC_ADD_LINK:
		same_add_link(&a->add_link, &b->add_link);
		break;
	case SMC_LLC_ADD_LINK_CONT:
		same_cont(&a->add_link_cont, &b->add_link_cont);
		break;
	case SMC_LLC_DELETE_LINK:
		CHECK_EQ(a->delete_link.all, b->delete_link.all);
		CHECK_EQ(a->delete_link.orderly, b->delete_link.orderly);
		CHECK_EQ(a->delete_link.link_num, b->delete_link.link_num);
		CHECK_EQ(a->delete_link.reason, b->delete_link.reason);
		break;
	case SMC_LLC_REQ_ADD_LINK:
		CHECK_EQ(a->req_add_link.rejected, b->req_add_link.rejected);
		CHECK_EQ(a->req_add_link.reason, b->req_add_link.reason);
		same_list(&a->req_add_link.gids, &b->req_add_link.gids,
			  SMC_GID_LEN);
		break;
	case SMC_LLC_CONFIRM_RKEY:
		CHECK_EQ(a->confirm_rkey.negative, b->confirm_rkey.negative);
		CHECK_EQ(a->confirm_rkey.retry, b->confirm_rkey.retry);
		CHECK_EQ(a->confirm_rkey.rkey, b->confirm_rkey.rkey);
		CHECK_EQ(a->confirm_rkey.vaddr, b->confirm_rkey.vaddr);
		CHECK_EQ(a->confirm_rkey.others, b->confirm_rkey.others);
		same_rkeys(a->confirm_rkey.other, b->confirm_rkey.other, SMC_LLC_MAX_OTHER);
		break;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		CHECK_EQ(a->confirm_rkey_cont.negative,
			 b->confirm_rkey_cont.negative);
		CHECK_EQ(a->confirm_rkey_cont.retry,
			 b->confirm_rkey_cont.retry);
		CHECK_EQ(a->confirm_rkey_cont.left, b->confirm_rkey_cont.left);
		same_rkeys(a->confirm_rkey_cont.other,
			   b->confirm_rkey_cont.other, 3);
		break;
	case SMC_LLC_DELETE_RKEY:
		CHECK_EQ(a->delete_rkey.negative, b->delete_rkey.negative);
		CHECK_EQ(a->delete_rkey.err, b->delete_rkey.err);
		CHECK_EQ(a->delete_rkey.count, b->delete_rkey.count);
		same_list(&a->delete_rkey.rkeys, &b->delete_rkey.rkeys,
			  SMC_LLC_RKEY_LEN);
		break;
	case SMC_LLC_TEST_LINK:
		CHECK_MEM(a->test_link.data, b->test_link.data, 16);
		break;
	default:
		FAIL("type %u", a->type);
	}
}

/* Known bytes */

static void golden_bytes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 want[256], buf[256];
		size_t len = unit_hex(golden[i].hex, want, sizeof(want));
		struct smc_llc_msg m;

		if (smc_llc_msg_parse(want, len, &m)) {
			FAIL("message %zu refused", i);
			continue;
		}
		same_msg(&m, &golden[i].m);
		CHECK_EQ(smc_llc_msg_len(&golden[i].m), len);
		memset(buf, 0xaa, sizeof(buf));
		CHECK_EQ(smc_llc_msg_build(&golden[i].m, buf, len), len);
		CHECK_MEM(buf, want, len);
		CHECK_EQ(buf[len], 0xaa);
	}
}

static void list_entries(void)
{
	const struct smc_llc_list toks = { 1, rtoken_raw };
	const struct smc_llc_list keys = { 3, rkeys_raw };
	const struct smc_llc_list gids = { 2, gids_raw[0] };
	struct smc_llc_rtoken t;
	u8 buf[64];

	smc_llc_list_get_rtoken(&toks, 0, &t);
	CHECK_EQ(t.ref_rkey, 0x157d);
	CHECK_EQ(t.rkey, 0x1600);
	CHECK_EQ(t.vaddr, 0xf0a60000);
	memset(buf, 0xaa, sizeof(buf));
	smc_llc_list_put_rtoken(buf, 1, &t);
	CHECK_EQ(buf[15], 0xaa);
	CHECK_MEM(buf + 16, rtoken_raw, 16);
	CHECK_EQ(buf[32], 0xaa);

	CHECK_EQ(smc_llc_list_get_rkey(&keys, 2), 0x090a0b0c);
	smc_llc_list_put_rkey(buf, 1, 0x05060708);
	CHECK_MEM(buf + 4, rkeys_raw + 4, 4);

	CHECK(smc_llc_list_get_gid(&gids, 1) == gids_raw[1]);
	smc_llc_list_put_gid(buf, 1, gids_raw[1]);
	CHECK_MEM(buf + 16, gids_raw[1], 16);
}

/* A list may be written to its place in the buffer before the message is built. */
static void list_in_place(void)
{
	struct smc_llc_msg m = golden[7].m, out;
	u8 buf[256], want[256];
	size_t len = unit_hex(golden[7].hex, want, sizeof(want));

	memset(buf, 0xaa, sizeof(buf));
	memcpy(buf + SMC_LLC_RTOKENS_OFF, rtoken_raw, sizeof(rtoken_raw));
	m.add_link.rtokens.raw = buf + SMC_LLC_RTOKENS_OFF;
	CHECK_EQ(smc_llc_msg_build(&m, buf, sizeof(buf)), len);
	CHECK_MEM(buf, want, len);

	/* overlapping its place */
	memset(buf, 0xaa, sizeof(buf));
	memcpy(buf + SMC_LLC_RTOKENS_OFF - 8, rtoken_raw, sizeof(rtoken_raw));
	m.add_link.rtokens.raw = buf + SMC_LLC_RTOKENS_OFF - 8;
	CHECK_EQ(smc_llc_msg_build(&m, buf, sizeof(buf)), len);
	CHECK_MEM(buf, want, len);

	/* a response built in the buffer of the request */
	REQUIRE(!smc_llc_msg_parse(buf, len, &out));
	out.response = true;
	CHECK_EQ(smc_llc_msg_build(&out, buf, sizeof(buf)), len);
	want[3] = 0x80;
	CHECK_MEM(buf, want, len);
}

/*
 * The version 2 length is written little-endian, and so is the rtoken count;
 * the parser trusts neither.
 */
static void v2_lengths(void)
{
	u8 raw[16 * 255], buf[SMC_LLC_V2_MAX_LEN + 16];
	struct smc_llc_msg m = golden[7].m, out;
	int len;

	unit_rand_bytes(raw, sizeof(raw));
	m.add_link.rtokens.count = 255;
	m.add_link.rtokens.raw = raw;
	len = smc_llc_msg_build(&m, buf, sizeof(buf));
	REQUIRE(len == 72 + 16 * 255);
	CHECK_EQ(buf[1], len & 0xff);
	CHECK_EQ(buf[2], len >> 8);
	CHECK_EQ(buf[70], 255);
	CHECK_EQ(buf[71], 0);

	buf[1] = 0x13;
	buf[2] = 0x37;
	buf[70] = 0;
	buf[71] = 3;
	REQUIRE(!smc_llc_msg_parse(buf, (size_t)len, &out));
	same_msg(&out, &m);
	/* byte 2 is not a reason here */
	CHECK_EQ(out.add_link.reason, 0);

	CHECK_EQ(smc_llc_msg_parse(buf, (size_t)len + 16, &out), -EPROTO);
	CHECK_EQ(smc_llc_msg_parse(buf, (size_t)len - 1, &out), -EPROTO);
	REQUIRE(!smc_llc_msg_parse(buf, (size_t)len - 16, &out));
	CHECK_EQ(out.add_link.rtokens.count, 254);

	/* no message is longer than the receive buffers have to be */
	memset(buf, 0, sizeof(buf));
	buf[0] = 0x27;
	CHECK_EQ(smc_llc_msg_parse(buf, SMC_LLC_V2_MAX_LEN, &out), 0);
	CHECK_EQ(smc_llc_msg_parse(buf, SMC_LLC_V2_MAX_LEN + 1, &out), -EPROTO);
}

/* Types */

static enum smc_llc_class class_of(int v)
{
	int low = v & 15;

	if (v == 0xfe)
		return SMC_LLC_CLASS_CDC;
	if (v >= 1 && v <= 9 && v != 5)
		return SMC_LLC_CLASS_LLC;
	if (v == SMC_LLC_CAPS)
		return SMC_LLC_CLASS_LLC;
	if (v >> 4 == 2 && low >= 1 && low <= 9 && low != 3 && low != 8)
		return SMC_LLC_CLASS_LLC;
	return v >= 0x80 && v < 0xc0 ? SMC_LLC_CLASS_OPTIONAL :
				       SMC_LLC_CLASS_UNKNOWN;
}

static void all_types(void)
{
	int v;

	for (v = 0; v < 256; v++) {
		u8 buf[44] = { (u8)v, 44, 0, 0, 1 };
		struct smc_llc_msg m;
		int rc, want = 0;

		CHECK_EQ(smc_llc_msg_classify((u8)v), class_of(v));
		switch (class_of(v)) {
		case SMC_LLC_CLASS_LLC:
			/* 0x22 needs its extension, CAPABILITIES the OUI, which are not there */
			want = v == 0x22 ? -EPROTO : v == SMC_LLC_CAPS ? -ENOMSG : 0;
			break;
		case SMC_LLC_CLASS_CDC:
			want = -EPROTO;
			break;
		case SMC_LLC_CLASS_OPTIONAL:
			want = -ENOMSG;
			break;
		case SMC_LLC_CLASS_UNKNOWN:
			want = -EOPNOTSUPP;
			break;
		}
		memset(&m, 0x5a, sizeof(m));
		rc = smc_llc_msg_parse(buf, sizeof(buf), &m);
		CHECK_EQ(rc, want);
		CHECK_EQ(m.type, rc ? 0x5a : v & 15);
	}
}

/* Golden bytes of CAPABILITIES: the same in groups of both versions. */
static void capabilities(void)
{
	static const u8 golden[44] = {
		0xb0, 44, 0, 0, 0xd2, 0x53, 0x4d, 0, 0x12, 0x34, 0x56, 0x78
	};
	struct smc_llc_msg in = {
		.type = SMC_LLC_CAPS, .version = 1, .caps.bits = 0x12345678
	}, out;
	u8 buf[44];
	int i;

	CHECK_EQ(smc_llc_msg_build(&in, buf, sizeof(buf)), 44);
	CHECK_MEM(buf, golden, sizeof(buf));
	CHECK_EQ(smc_llc_msg_parse(buf, sizeof(buf), &out), 0);
	CHECK_EQ(out.type, SMC_LLC_CAPS);
	CHECK_EQ(out.caps.bits, 0x12345678);
	in.version = 2;
	CHECK_EQ(smc_llc_msg_build(&in, buf, sizeof(buf)), -EINVAL);
	/* bytes that later versions may use */
	memset(buf + 12, 0xff, sizeof(buf) - 12);
	CHECK_EQ(smc_llc_msg_parse(buf, sizeof(buf), &out), 0);
	/* another OUI: somebody else's message */
	for (i = 4; i < 7; i++) {
		memcpy(buf, golden, sizeof(buf));
		buf[i] ^= 1;
		CHECK_EQ(smc_llc_msg_parse(buf, sizeof(buf), &out), -ENOMSG);
	}
	/* ... of whatever length */
	buf[1] = 43;
	CHECK_EQ(smc_llc_msg_parse(buf, sizeof(buf), &out), -ENOMSG);
	memcpy(buf, golden, sizeof(buf));
	buf[1] = 43;
	CHECK_EQ(smc_llc_msg_parse(buf, sizeof(buf), &out), -EPROTO);
	/* bits of later versions are ignored */
	CHECK_EQ(smc_peer_caps_of_announced(0xffffffff), SMC_PEER_CAPS_ANNOUNCED);
	CHECK_EQ(smc_peer_caps_of_announced(1), SMC_CAP_WRITE_IMM);
	CHECK_EQ(smc_peer_caps_of_announced(2), SMC_CAP_LATE_CLC);
	CHECK_EQ(smc_peer_caps_of_announced(4), SMC_CAP_UPGRADE);
	/* not announced before a socket can do it */
	CHECK_EQ(SMC_PEER_CAPS_OWN & SMC_CAP_UPGRADE, 0);
	CHECK_EQ(smc_peer_caps_to_announced(SMC_CAP_WRITE_IMM | SMC_PEER_CAPS_TAG_1), 1);
}

static void type_texts(void)
{
	int v;

	for (v = 0; v < 256; v++)
		CHECK_EQ(!smc_llc_type_str((u8)v), (v < 1 || v > 9) && v != SMC_LLC_CAPS);
	CHECK(!strcmp(smc_llc_type_str(SMC_LLC_DELETE_RKEY), "DELETE RKEY"));
}

/* Round trips of random structures */

/* Room for the lists of one random message */
struct lists {
	u8 raw[16 * 255];
};

static struct smc_llc_list random_list(struct lists *l, u32 max, u32 entry)
{
	struct smc_llc_list list = { (u16)unit_below(max + 1), NULL };

	unit_rand_bytes(l->raw, (size_t)entry * list.count);
	if (list.count)
		list.raw = l->raw;
	return list;
}

static void random_rkeys(struct smc_llc_rkey *k, u32 n)
{
	for (; n; n--, k++) {
		k->link_num = (u8)unit_rand();
		k->rkey = (u32)unit_rand();
		k->vaddr = unit_rand();
	}
}

static void random_add_link(struct smc_llc_msg *m, struct lists *l)
{
	struct smc_llc_add_link *a = &m->add_link;

	a->rejected = !unit_below(3);
	if (a->rejected)
		a->reason = (u8)unit_below(16);
	unit_rand_bytes(a->mac, sizeof(a->mac));
	unit_rand_bytes(a->gid, sizeof(a->gid));
	a->qpn = unit_below(0x1000000);
	a->link_num = (u8)unit_rand();
	a->mtu = (u8)unit_below(16);
	a->psn = unit_below(0x1000000);
	a->has_ext = m->version == 2 && (!a->rejected || unit_below(2));
	if (!a->has_ext)
		return;
	a->direct = unit_below(2);
	unit_rand_bytes(a->target_gid, sizeof(a->target_gid));
	a->rtokens = random_list(l, SMC_LLC_MAX_RTOKENS, 16);
}

static void random_cont(struct smc_llc_add_link_cont *c)
{
	u32 i;

	c->link_num = (u8)unit_rand();
	c->left = (u8)(unit_below(2) ? unit_below(4) : unit_rand());
	for (i = 0; i < SMC_LLC_CONT_PAIRS && i < c->left; i++) {
		c->pairs[i].ref_rkey = (u32)unit_rand();
		c->pairs[i].rkey = (u32)unit_rand();
		c->pairs[i].vaddr = unit_rand();
	}
}

static void random_delete_rkey(struct smc_llc_msg *m, struct lists *l)
{
	struct smc_llc_delete_rkey *d = &m->delete_rkey;
	u32 max = m->version == 1 ? 8 : 255;

	d->negative = unit_below(2);
	d->err = (u8)unit_rand();
	do {
		d->rkeys = random_list(l, max, 4);
	} while (!d->rkeys.count);
	d->count = (u8)d->rkeys.count;
	/* A version 2 response that leaves out what would not fit */
	if (m->version == 2 && m->response && d->count > 9 && unit_below(2)) {
		d->rkeys.count = 0;
		d->rkeys.raw = NULL;
	}
}

static u32 below_or_same(u32 n, u32 limit)
{
	return n < limit ? n : limit;
}

static void random_body(struct smc_llc_msg *m, struct lists *l)
{
	switch (m->type) {
	case SMC_LLC_CONFIRM_LINK:
		unit_rand_bytes(m->confirm_link.mac, 6);
		unit_rand_bytes(m->confirm_link.gid, 16);
		unit_rand_bytes(m->confirm_link.link_uid, 4);
		m->confirm_link.no_eyec = unit_below(2);
		m->confirm_link.qpn = unit_below(0x1000000);
		m->confirm_link.link_num = (u8)unit_rand();
		m->confirm_link.max_links = (u8)unit_rand();
		m->confirm_link.max_conns = (u8)unit_rand();
		break;
	case SMC_LLC_ADD_LINK:
		random_add_link(m, l);
		break;
	case SMC_LLC_ADD_LINK_CONT:
		random_cont(&m->add_link_cont);
		break;
	case SMC_LLC_DELETE_LINK:
		m->delete_link.all = unit_below(2);
		m->delete_link.orderly = unit_below(2);
		m->delete_link.link_num = (u8)unit_rand();
		m->delete_link.reason = (u32)unit_rand();
		break;
	case SMC_LLC_REQ_ADD_LINK:
		m->req_add_link.rejected = unit_below(2);
		if (m->req_add_link.rejected)
			m->req_add_link.reason = (u8)unit_below(16);
		m->req_add_link.gids = random_list(l, 255, 16);
		break;
	case SMC_LLC_CONFIRM_RKEY:
		m->confirm_rkey.negative = unit_below(2);
		m->confirm_rkey.retry = unit_below(2);
		m->confirm_rkey.rkey = (u32)unit_rand();
		m->confirm_rkey.vaddr = unit_rand();
		m->confirm_rkey.others = (u8)unit_below(9);
		random_rkeys(m->confirm_rkey.other,
			     below_or_same(m->confirm_rkey.others, m->version == 1 ? 2 : 8));
		break;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		m->confirm_rkey_cont.negative = unit_below(2);
		m->confirm_rkey_cont.retry = unit_below(2);
		m->confirm_rkey_cont.left = (u8)unit_below(9);
		random_rkeys(m->confirm_rkey_cont.other,
			     below_or_same(m->confirm_rkey_cont.left, 3));
		break;
	case SMC_LLC_DELETE_RKEY:
		random_delete_rkey(m, l);
		break;
	case SMC_LLC_TEST_LINK:
		unit_rand_bytes(m->test_link.data, 16);
		break;
	}
}

static void random_msg(struct smc_llc_msg *m, struct lists *l)
{
	memset(m, 0, sizeof(*m));
	do {
		m->version = (u8)(1 + unit_below(2));
		m->type = (u8)(1 + unit_below(9));
	} while (smc_llc_msg_classify(m->type | (m->version == 2 ? 0x20 : 0)) !=
		 SMC_LLC_CLASS_LLC);
	m->response = unit_below(2);
	random_body(m, l);
}

static void random_round_trips(void)
{
	static u8 buf[SMC_LLC_V2_MAX_LEN], again[SMC_LLC_V2_MAX_LEN];
	static struct lists l;
	int i, len;

	for (i = 0; i < 30000 && !unit_failed; i++) {
		struct smc_llc_msg in, out;

		random_msg(&in, &l);
		len = smc_llc_msg_build(&in, buf, sizeof(buf));
		REQUIRE(len >= 44);
		CHECK_EQ(smc_llc_msg_len(&in), len);
		REQUIRE(!smc_llc_msg_parse(buf, (size_t)len, &out));
		same_msg(&out, &in);
		CHECK_EQ(smc_llc_msg_build(&out, again, (size_t)len), len);
		CHECK_MEM(again, buf, (size_t)len);
	}
}

/* Hostile input */

/* Parse a heap copy that the sanitizer guards; if accepted, it can be built and parsed again. */
static int parse_guarded(const u8 *buf, size_t len)
{
	static u8 again[SMC_LLC_V2_MAX_LEN];
	struct smc_llc_msg m, n;
	u8 *p = unit_dup(buf, len);
	const u8 *raw = (const u8 *)&m;
	size_t i;
	int rc, built;

	memset(&m, 0x5a, sizeof(m));
	rc = smc_llc_msg_parse(p, len, &m);
	if (rc) {
		CHECK(rc == -EPROTO || rc == -ENOMSG || rc == -EOPNOTSUPP);
		for (i = 0; i < sizeof(m) && raw[i] == 0x5a; i++)
			;
		CHECK_EQ(i, sizeof(m));
	} else {
		built = smc_llc_msg_build(&m, again, sizeof(again));
		if (built < 44 || smc_llc_msg_parse(again, (size_t)built, &n))
			FAIL("type %u accepted, but not again", m.type);
		else
			same_msg(&n, &m);
	}
	free(p);
	return rc;
}

static void truncations(void)
{
	size_t i, len, full;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 buf[256] = { 0 };

		full = unit_hex(golden[i].hex, buf, sizeof(buf));
		for (len = 0; len < full + 64; len++) {
			int rc = parse_guarded(buf, len);

			if (len < 44)
				CHECK_EQ(rc, -EPROTO);
			else if (golden[i].m.version == 1)
				CHECK_EQ(rc, len == 44 ? 0 : -EPROTO);
		}
	}
}

static void mutations(void)
{
	size_t i, off, len;
	int v;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 buf[256];

		len = unit_hex(golden[i].hex, buf, sizeof(buf));
		for (off = 0; off < len; off++) {
			u8 old = buf[off];

			for (v = 0; v < 256; v++) {
				buf[off] = (u8)v;
				parse_guarded(buf, len);
			}
			buf[off] = old;
		}
	}
}

static void random_noise(void)
{
	static const u8 firsts[] = { 1, 2, 3, 4, 6, 7, 8, 9, 0x21, 0x22, 0x24,
				     0x25, 0x26, 0x27, 0x29 };
	int i;

	for (i = 0; i < 100000; i++) {
		u8 buf[600];
		size_t len = 44;

		unit_rand_bytes(buf, sizeof(buf));
		buf[0] = firsts[unit_below(sizeof(firsts))];
		buf[1] = 44;
		if (buf[0] > 0x20)
			len += unit_below(sizeof(buf) - 43);
		if (buf[0] == 0x22)
			len -= (len - 72) % 16;
		if (unit_below(2))
			buf[4] &= 15;
		if (unit_below(2))
			buf[24] &= 31;
		parse_guarded(buf, len);
	}
}

/* Changes of one byte at a time */
static void single_changes(void)
{
	static const struct {
		int msg, off;
		u8 value;
		int want;
	} t[] = {
		{ 0, 1, 43, -EPROTO },		/* version 1 length byte */
		{ 0, 1, 45, -EPROTO },
		{ 0, 1, 0, -EPROTO },
		{ 10, 1, 0, 0 },		/* ignored in version 2 */
		{ 0, 0, 0x81, -ENOMSG },
		{ 0, 0, 0x41, -EOPNOTSUPP },
		{ 0, 0, 0x0a, -EOPNOTSUPP },
		{ 0, 0, 0x2f, -EOPNOTSUPP },
		{ 0, 0, 0xfe, -EPROTO },
		{ 11, 3, 0x80, -EPROTO },	/* short, but no rejection */
		{ 11, 3, 0x40, 0 },
		{ 8, 24, 1, 0 },		/* fewer GIDs than fit */
		{ 8, 24, 3, -EPROTO },
		{ 8, 24, 255, -EPROTO },
		{ 2, 4, 8, 0 },			/* links in CONFIRM RKEY */
		{ 2, 4, 9, -EPROTO },
		{ 16, 4, 8, 0 },
		{ 16, 4, 9, -EPROTO },
		{ 15, 4, 0, 0 },		/* ... of version 2: all in the message */
		{ 15, 4, 3, -EPROTO },
		{ 15, 4, 8, -EPROTO },
		{ 21, 4, 0, 0 },
		{ 21, 4, 3, 0 },
		{ 21, 4, 5, -EPROTO },
		{ 21, 4, 8, -EPROTO },
		{ 21, 4, 9, -EPROTO },
		{ 21, 4, 255, -EPROTO },
		{ 21, 0, 0x06, -EPROTO },	/* version 1 has no long messages */
		{ 4, 4, 0, -EPROTO },		/* rkeys in DELETE RKEY */
		{ 4, 4, 8, 0 },
		{ 4, 4, 9, -EPROTO },
		{ 17, 4, 0, -EPROTO },
		{ 17, 4, 9, 0 },
		{ 17, 4, 10, -EPROTO },
		{ 17, 4, 255, -EPROTO },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		u8 buf[256];
		size_t len = unit_hex(golden[t[i].msg].hex, buf, sizeof(buf));
		int rc;

		buf[t[i].off] = t[i].value;
		rc = parse_guarded(buf, len);
		if (rc != t[i].want)
			FAIL("message %d, byte %d = %u: %d, not %d", t[i].msg,
			     t[i].off, t[i].value, rc, t[i].want);
	}
}

/* The in-tree response to a long DELETE RKEY counts more rkeys than it lists. */
static void short_delete_rkey_response(void)
{
	u8 buf[44] = { 0x29, 44, 0, 0xa0, 200, 7 };
	struct smc_llc_msg m;

	REQUIRE(!smc_llc_msg_parse(buf, sizeof(buf), &m));
	CHECK_EQ(m.delete_rkey.count, 200);
	CHECK_EQ(m.delete_rkey.err, 7);
	CHECK_EQ(m.delete_rkey.rkeys.count, 0);
	CHECK(!m.delete_rkey.rkeys.raw);
}

/* For each number of links: all of them, or as many as fit, and no further byte. */
static void confirm_rkey_lengths(void)
{
	u8 buf[SMC_LLC_V2_MAX_LEN], version, n;
	struct smc_llc_msg m, out;

	for (version = 1; version <= 2; version++) {
		for (n = 0; n <= SMC_LLC_MAX_OTHER; n++) {
			u8 here = n > 2 && version == 1 ? 2 : n;
			int len = here <= 2 ? 44 : 17 + 13 * here;

			m = golden[2].m;
			m.version = version;
			m.confirm_rkey.others = n;
			random_rkeys(m.confirm_rkey.other, SMC_LLC_MAX_OTHER);
			CHECK_EQ(smc_llc_confirm_rkey_inline(version, n), here);
			CHECK_EQ(smc_llc_msg_build(&m, buf, sizeof(buf)), len);
			REQUIRE(!smc_llc_msg_parse(buf, (size_t)len, &out));
			same_rkeys(out.confirm_rkey.other, m.confirm_rkey.other, here);
			CHECK_EQ(out.confirm_rkey.others, n);
			CHECK_EQ(smc_llc_msg_parse(buf, (size_t)len - 1, &out), -EPROTO);
			CHECK_EQ(smc_llc_msg_parse(buf, (size_t)len + 13, &out),
				 version == 1 ? -EPROTO : 0);
		}
	}
}

/* Either bit means that there is no eye catcher. */
static void eye_catcher_bits(void)
{
	u8 buf[44] = { 1, 44 };
	struct smc_llc_msg m;
	int bits;

	for (bits = 0; bits < 4; bits++) {
		buf[3] = (u8)bits;
		REQUIRE(!smc_llc_msg_parse(buf, sizeof(buf), &m));
		CHECK_EQ(m.confirm_link.no_eyec, bits != 0);
	}
}

static void reserved_bits_are_ignored(void)
{
	struct smc_llc_msg m;
	u8 buf[44];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		if (golden[i].m.version == 2 && golden[i].m.type != 7)
			continue;
		memset(buf, 0xff, sizeof(buf));
		buf[0] = (u8)(golden[i].m.type |
			      (golden[i].m.version == 2 ? 0x20 : 0));
		buf[1] = 44;
		buf[4] = 1;
		CHECK_EQ(smc_llc_msg_parse(buf, sizeof(buf), &m), 0);
		CHECK_EQ(parse_guarded(buf, sizeof(buf)), 0);
	}
	/* byte 2 of ADD LINK is a reason only in a rejection */
	memset(buf, 0, sizeof(buf));
	buf[0] = 2;
	buf[1] = 44;
	buf[2] = 0xff;
	REQUIRE(!smc_llc_msg_parse(buf, sizeof(buf), &m));
	CHECK_EQ(m.add_link.reason, 0);
	buf[3] = 0xc0;
	REQUIRE(!smc_llc_msg_parse(buf, sizeof(buf), &m));
	CHECK_EQ(m.add_link.reason, 15);
}

/* Builders */

static void no_room(void)
{
	size_t i, cap, len;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 buf[256];

		len = unit_hex(golden[i].hex, buf, sizeof(buf));
		memset(buf, 0x5a, sizeof(buf));
		for (cap = 0; cap < len; cap++) {
			u8 *p = unit_dup(buf, cap);

			CHECK_EQ(smc_llc_msg_build(&golden[i].m, p, cap), -ENOSPC);
			CHECK_MEM(p, buf, cap);
			free(p);
		}
	}
}

#define REFUSED(base, ...) do {						\
	struct smc_llc_msg m = golden[base].m;				\
									\
	__VA_ARGS__;							\
	CHECK_EQ(smc_llc_msg_build(&m, buf, sizeof(buf)), -EINVAL);		\
	CHECK_EQ(smc_llc_msg_len(&m), -EINVAL);				\
} while (0)

static void not_to_be_built(void)
{
	u8 buf[SMC_LLC_V2_MAX_LEN];

	REFUSED(0, m.type = 0);
	REFUSED(0, m.type = 10);
	REFUSED(0, m.version = 0);
	REFUSED(0, m.version = 3);
	REFUSED(13, m.version = 2);		/* ADD LINK CONT */
	REFUSED(16, m.version = 2);		/* CONFIRM RKEY CONT */
	REFUSED(8, m.version = 1);		/* REQUEST ADD LINK */
	REFUSED(0, m.confirm_link.qpn = 0x1000000);
	REFUSED(5, m.add_link.qpn = 0x1000000);
	REFUSED(5, m.add_link.psn = 0x1000000);
	REFUSED(5, m.add_link.mtu = 16);
	REFUSED(5, m.add_link.reason = 1);
	REFUSED(6, m.add_link.reason = 16);
	REFUSED(5, m.add_link.has_ext = true);
	REFUSED(5, m.add_link.rtokens.count = 1);
	REFUSED(7, m.add_link.has_ext = false);
	REFUSED(7, m.add_link.has_ext = false; m.add_link.rtokens.count = 0);
	REFUSED(7, m.add_link.rtokens.count = 256);
	REFUSED(8, m.req_add_link.gids.count = 256);
	REFUSED(8, m.req_add_link.reason = 1);
	REFUSED(19, m.req_add_link.reason = 16);
	REFUSED(2, m.confirm_rkey.others = 9);
	REFUSED(21, m.confirm_rkey.others = 9);
	REFUSED(16, m.confirm_rkey_cont.left = 9);
	REFUSED(4, m.delete_rkey.count = 0; m.delete_rkey.rkeys.count = 0);
	REFUSED(4, m.delete_rkey.count = 9; m.delete_rkey.rkeys.count = 9);
	REFUSED(4, m.delete_rkey.rkeys.count = 0);
	REFUSED(17, m.delete_rkey.rkeys.count = 0);
	REFUSED(17, m.response = true; m.delete_rkey.rkeys.count = 2);
	REFUSED(18, m.delete_rkey.rkeys.count = 0);
}

/* Checks of the receiver */

/* Five of the 16 codes of the path MTU are valid; the flaw is the reason of the rejection. */
static void offers_with_flaws(void)
{
	const struct smc_llc_add_link good = { .qpn = 0x4711, .link_num = 2, .mtu = 3 };
	struct smc_llc_msg m, sent = { .type = SMC_LLC_ADD_LINK, .version = 1 };
	struct smc_llc_add_link al;
	u8 buf[44];
	unsigned int mtu;

	for (mtu = 0; mtu < 16; mtu++) {
		/* through the wire format, which has four bits for it */
		sent.add_link = good;
		sent.add_link.mtu = (u8)mtu;
		CHECK_EQ(smc_llc_msg_build(&sent, buf, sizeof(buf)), 44);
		REQUIRE(!smc_llc_msg_parse(buf, sizeof(buf), &m));
		CHECK_EQ(smc_llc_mtu_is_known(m.add_link.mtu), mtu >= 1 && mtu <= 5);
		CHECK_EQ(smc_llc_add_link_check(&m.add_link),
			 mtu >= 1 && mtu <= 5 ? 0 : SMC_LLC_REJ_MTU);
	}
	CHECK(!smc_llc_mtu_is_known(255));
	al = good;
	al.qpn = 0;
	CHECK_EQ(smc_llc_add_link_check(&al), SMC_LLC_REJ_NO_ALT_PATH);
	al = good;
	al.link_num = 0;
	CHECK_EQ(smc_llc_add_link_check(&al), SMC_LLC_REJ_NO_ALT_PATH);
	al = good;
	al.rejected = true;
	CHECK_EQ(smc_llc_add_link_check(&al), SMC_LLC_REJ_NO_ALT_PATH);
	/* a server without a second link to offer */
	memset(&al, 0, sizeof(al));
	CHECK_EQ(smc_llc_add_link_check(&al), SMC_LLC_REJ_MTU);
}

/* CONFIRM LINK has to match the new link in its number, queue pair and GID. */
static void confirm_link_matches(void)
{
	static const u8 gid[SMC_GID_LEN] = { 0xfe, 0x80, [15] = 7 };
	struct smc_llc_confirm_link cl = { .qpn = 0x4711, .link_num = 2 };
	unsigned int i;

	memcpy(cl.gid, gid, sizeof(gid));
	CHECK(smc_llc_confirm_link_matches(&cl, 2, 0x4711, gid));
	CHECK(smc_llc_confirm_link_matches(&cl, 0, 0x4711, gid));
	CHECK(!smc_llc_confirm_link_matches(&cl, 3, 0x4711, gid));
	CHECK(!smc_llc_confirm_link_matches(&cl, 2, 0x4712, gid));
	for (i = 0; i < SMC_GID_LEN; i++) {
		cl.gid[i] ^= 0x80;
		CHECK(!smc_llc_confirm_link_matches(&cl, 2, 0x4711, gid));
		cl.gid[i] ^= 0x80;
	}
	cl.link_num = 0;
	CHECK(!smc_llc_confirm_link_matches(&cl, 0, 0x4711, gid));
	CHECK(!smc_llc_confirm_link_matches(&cl, 2, 0x4711, gid));
}

static int cont_take(struct smc_llc_cont_state *state, u8 left)
{
	const struct smc_llc_add_link_cont cont = { .link_num = 2, .left = left };

	return smc_llc_cont_take(state, &cont, 2);
}

/* Counts of ADD LINK CONTINUATION: down by two with each message, then none. */
static void continuation_counts(void)
{
	struct smc_llc_add_link_cont other = { .link_num = 3, .left = 1 };
	struct smc_llc_cont_state t = {};
	unsigned int left, first, next, n;

	CHECK_EQ(cont_take(&t, 5), 2);
	CHECK_EQ(t.left, 3);
	/* the count has grown, or did not go down */
	CHECK_EQ(cont_take(&t, 4), -EPROTO);
	CHECK_EQ(cont_take(&t, 5), -EPROTO);
	CHECK_EQ(cont_take(&t, 255), -EPROTO);
	/* about another link */
	CHECK_EQ(smc_llc_cont_take(&t, &other, 2), -EPROTO);
	/* the errors changed nothing */
	CHECK_EQ(t.left, 3);
	CHECK_EQ(cont_take(&t, 3), 2);
	CHECK_EQ(cont_take(&t, 1), 1);
	CHECK_EQ(t.left, 0);
	CHECK_EQ(cont_take(&t, 1), -EPROTO);
	CHECK_EQ(cont_take(&t, 0), 0);

	/* any two counts: the exchange ends, and no more pairs than one message has are taken */
	for (first = 0; first < 256; first++) {
		for (next = 0; next < 256; next++) {
			memset(&t, 0, sizeof(t));
			n = (unsigned int)cont_take(&t, (u8)first);
			CHECK(n <= SMC_LLC_CONT_PAIRS && n + t.left == first);
			left = t.left;
			CHECK_EQ(cont_take(&t, (u8)next) < 0, next > left);
			if (next > left)
				break;
			CHECK(!t.left || t.left < left);
		}
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(golden_bytes),
	UNIT_CASE(list_entries),
	UNIT_CASE(list_in_place),
	UNIT_CASE(v2_lengths),
	UNIT_CASE(all_types),
	UNIT_CASE(capabilities),
	UNIT_CASE(type_texts),
	UNIT_CASE(random_round_trips),
	UNIT_CASE(truncations),
	UNIT_CASE(mutations),
	UNIT_CASE(random_noise),
	UNIT_CASE(single_changes),
	UNIT_CASE(short_delete_rkey_response),
	UNIT_CASE(confirm_rkey_lengths),
	UNIT_CASE(eye_catcher_bits),
	UNIT_CASE(reserved_bits_are_ignored),
	UNIT_CASE(no_room),
	UNIT_CASE(not_to_be_built),
	UNIT_CASE(offers_with_flaws),
	UNIT_CASE(confirm_link_matches),
	UNIT_CASE(continuation_counts),
};

UNIT_MAIN("llc", cases)
