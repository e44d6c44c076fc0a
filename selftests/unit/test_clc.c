// SPDX-License-Identifier: GPL-2.0-only
/* CLC messages: captured and constructed bytes, headers, round trips, builders. */
#include <smc/proto/clc_msg.h>
#include <smc/proto/peer_caps.h>
#include "clc_vectors.h"
#include "unit.h"

/* Golden bytes */

static void golden_proposals(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(proposals); i++) {
		u8 want[MSG_MAX], buf[MSG_MAX];
		size_t len = unit_hex(proposals[i].hex, want, sizeof(want));
		struct smc_clc_proposal p;

		REQUIRE(!smc_clc_parse_proposal(want, len, &p));
		same_proposal(&p, &proposals[i].p);
		CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NONE);
		CHECK_EQ(smc_clc_build_proposal(&proposals[i].p, buf, len), len);
		CHECK_MEM(buf, want, len);
	}
}

static void golden_accepts(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(accepts); i++) {
		u8 want[MSG_MAX], buf[MSG_MAX];
		size_t len = unit_hex(accepts[i].hex, want, sizeof(want));
		struct smc_clc_accept a;

		REQUIRE(!smc_clc_parse_accept(want, len, &a));
		same_accept(&a, &accepts[i].a);
		CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_NONE);
		CHECK_EQ(smc_clc_build_accept(&accepts[i].a, buf, len), len);
		CHECK_MEM(buf, want, len);
	}
}

static void golden_declines(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(declines); i++) {
		u8 want[MSG_MAX], buf[MSG_MAX];
		size_t len = unit_hex(declines[i].hex, want, sizeof(want));
		struct smc_clc_decline d;

		REQUIRE(!smc_clc_parse_decline(want, len, &d));
		same_decline(&d, &declines[i].d);
		CHECK_EQ(smc_clc_build_decline(&declines[i].d, buf, len), len);
		CHECK_MEM(buf, want, len);
	}
}

/* The header */

static int peek_header(u32 eye, u8 type, u16 len, u8 flags)
{
	struct smc_clc_head head;
	u8 *p = unit_dup((const u8 *)"        ", 8);
	int rc;

	memset(&head, 0x5a, sizeof(head));
	smc_wire_put_be32(p, eye);
	p[4] = type;
	smc_wire_put_be16(p + 5, len);
	p[7] = flags;
	rc = smc_clc_parse_header(p, &head);
	if (rc) {
		CHECK_EQ(head.type, 0x5a);
		CHECK_EQ(head.len, 0x5a5a);
	} else {
		CHECK_EQ(head.type, type);
		CHECK_EQ(head.len, len);
		CHECK_EQ(head.version, flags >> 4);
		CHECK_EQ(head.flags, flags & 15);
		CHECK_EQ(head.smcd, eye == 0xe2d4c3c4);
	}
	free(p);
	return rc;
}

static void header_lengths(void)
{
	static const struct {
		u8 type, flags;
		int min, max;
	} t[] = {
		{ SMC_CLC_PROPOSAL, 0x10, 52, SMC_CLC_MAX_LEN },
		{ SMC_CLC_PROPOSAL, 0x20, 84, SMC_CLC_MAX_LEN },
		{ SMC_CLC_PROPOSAL, 0x30, 84, SMC_CLC_MAX_LEN },
		{ SMC_CLC_ACCEPT, 0x10, 68, 68 },
		{ SMC_CLC_ACCEPT, 0x18, 68, 68 },
		{ SMC_CLC_ACCEPT, 0x28, 108, SMC_CLC_MAX_LEN },
		{ SMC_CLC_ACCEPT, 0x11, 48, SMC_CLC_MAX_LEN },
		{ SMC_CLC_ACCEPT, 0x12, 48, SMC_CLC_MAX_LEN },
		{ SMC_CLC_CONFIRM, 0x10, 68, 68 },
		{ SMC_CLC_CONFIRM, 0x20, 108, SMC_CLC_MAX_LEN },
		{ SMC_CLC_CONFIRM, 0xf0, 108, SMC_CLC_MAX_LEN },
		{ SMC_CLC_DECLINE, 0x10, 28, 28 },
		{ SMC_CLC_DECLINE, 0x20, 44, SMC_CLC_MAX_LEN },
		{ SMC_CLC_DECLINE, 0x38, 44, SMC_CLC_MAX_LEN },
	};
	size_t i;
	int len;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		for (len = 0; len <= 0xffff; len += len < 1100 ? 1 : 997)
			CHECK_EQ(peek_header(0xe2d4c3d9, t[i].type, (u16)len,
					     t[i].flags),
				 len >= t[i].min && len <= t[i].max ?
					 0 : -EPROTO);
}

static void header_refusals(void)
{
	int i;

	CHECK_EQ(peek_header(0xe2d4c3d9, SMC_CLC_DECLINE, 28, 0x10), 0);
	for (i = 0; i < 32; i++)
		CHECK_EQ(peek_header(0xe2d4c3d9 ^ (1U << i), SMC_CLC_DECLINE, 28,
				     0x10), -EPROTO);
	CHECK_EQ(peek_header(0xe2d4c3c4, SMC_CLC_ACCEPT, 48, 0x10), 0);
	for (i = 0; i < 16; i++)
		CHECK_EQ(peek_header(0xe2d4c3d9, SMC_CLC_PROPOSAL, 92, (u8)i),
			 -EPROTO);
	for (i = 0; i < 256; i++)
		CHECK_EQ(peek_header(0xe2d4c3d9, (u8)i, 108, 0x20),
			 i >= 1 && i <= 4 ? 0 : -EPROTO);
	CHECK_EQ(peek_header(0x47455420, '/', 0x2048, 'T'), -EPROTO);
}

/* Round trips of random structures */

static u32 random_u24(void)
{
	return (u32)unit_rand() & 0xffffff;
}

static void random_v2(struct smc_clc_v2_offer *v2)
{
	v2->release = (u8)unit_below(16);
	unit_rand_bytes(v2->gid, sizeof(v2->gid));
	v2->max_conns = (u8)unit_rand();
	v2->max_links = (u8)unit_rand();
	v2->features = (u16)unit_rand();
	v2->eid_count = (u8)unit_below(SMC_CLC_MAX_EIDS + 1);
	unit_rand_bytes(v2->eids, (size_t)v2->eid_count * SMC_EID_LEN);
}

static void random_proposal(struct smc_clc_proposal *p)
{
	u8 i;

	memset(p, 0, sizeof(*p));
	p->version = (u8)(1 + unit_below(2));
	p->has_v2 = p->version == 2 && unit_below(3);
	p->v2_type = p->has_v2 ? SMC_CLC_OFFER_R : SMC_CLC_OFFER_NONE;
	if (p->has_v2) {
		random_v2(&p->v2);
		if (!unit_below(3))
			p->v1_type = SMC_CLC_OFFER_NONE;
	}
	unit_rand_bytes(p->peer_id, sizeof(p->peer_id));
	unit_rand_bytes(p->gid, sizeof(p->gid));
	unit_rand_bytes(p->mac, sizeof(p->mac));
	if (p->version == 2) {
		unit_rand_bytes(p->vendor_oui, sizeof(p->vendor_oui));
		unit_rand_bytes(p->vendor_opt, sizeof(p->vendor_opt));
	}
	if (p->v1_type == SMC_CLC_OFFER_NONE)
		return;
	unit_rand_bytes(p->v4_net, sizeof(p->v4_net));
	p->v4_len = (u8)unit_below(33);
	p->v6_count = (u8)unit_below(SMC_CLC_MAX_PREFIX6 + 1);
	for (i = 0; i < p->v6_count; i++) {
		unit_rand_bytes(p->v6[i].addr, sizeof(p->v6[i].addr));
		p->v6[i].len = (u8)unit_below(129);
	}
}

static void random_accept(struct smc_clc_accept *a)
{
	memset(a, 0, sizeof(*a));
	a->is_confirm = unit_below(2);
	a->version = (u8)(1 + unit_below(2));
	a->first_contact = unit_below(2);
	unit_rand_bytes(a->peer_id, sizeof(a->peer_id));
	unit_rand_bytes(a->gid, sizeof(a->gid));
	unit_rand_bytes(a->mac, sizeof(a->mac));
	a->qpn = random_u24();
	a->rkey = (u32)unit_rand();
	a->rmbe_idx = (u8)(1 + unit_below(255));
	a->token = (u32)unit_rand();
	a->bsize = (u8)unit_below(16);
	a->mtu = (u8)unit_below(16);
	a->vaddr = unit_rand() >> 1;
	a->psn = random_u24();
	if (a->version == 1) {
		unit_rand_bytes(a->reserved, sizeof(a->reserved));
		return;
	}
	unit_rand_bytes(a->eid, sizeof(a->eid));
	if (!a->first_contact)
		return;
	a->fce.direct = unit_below(2);
	a->fce.os = (u8)unit_below(16);
	a->fce.release = (u8)unit_below(16);
	unit_rand_bytes(a->fce.hostname, sizeof(a->fce.hostname));
	a->fce.max_conns = (u8)unit_rand();
	a->fce.max_links = (u8)unit_rand();
	a->fce.features = (u16)unit_rand();
	unit_rand_bytes(a->fce.vendor_opt, sizeof(a->fce.vendor_opt));
	if (!a->is_confirm)
		return;
	a->gid_count = (u8)unit_below(SMC_CLC_MAX_GIDS + 1);
	unit_rand_bytes(a->gids, (size_t)a->gid_count * SMC_GID_LEN);
}

static void random_decline(struct smc_clc_decline *d)
{
	int i;

	memset(d, 0, sizeof(*d));
	d->version = (u8)(1 + unit_below(2));
	d->out_of_sync = unit_below(2);
	unit_rand_bytes(d->peer_id, sizeof(d->peer_id));
	d->diag = (u32)unit_rand();
	if (d->version == 1)
		return;
	d->os = (u8)unit_below(16);
	for (i = 0; i < 4; i++)
		d->extra[i] = (u32)unit_rand();
}

static void random_round_trips(void)
{
	int i;

	for (i = 0; i < 20000 && !unit_failed; i++) {
		u8 buf[SMC_CLC_BUILD_MAX], again[SMC_CLC_BUILD_MAX];
		union any x, y;
		int len;

		random_proposal(&x.p);
		len = smc_clc_build_proposal(&x.p, buf, sizeof(buf));
		REQUIRE(len > 0);
		REQUIRE(!smc_clc_parse_proposal(buf, (size_t)len, &y.p));
		same_proposal(&y.p, &x.p);
		CHECK_EQ(smc_clc_build_proposal(&y.p, again, (size_t)len), len);
		CHECK_MEM(again, buf, (size_t)len);

		random_accept(&x.a);
		len = smc_clc_build_accept(&x.a, buf, sizeof(buf));
		REQUIRE(len > 0);
		REQUIRE(!smc_clc_parse_accept(buf, (size_t)len, &y.a));
		same_accept(&y.a, &x.a);
		CHECK_EQ(smc_clc_build_accept(&y.a, again, (size_t)len), len);
		CHECK_MEM(again, buf, (size_t)len);

		random_decline(&x.d);
		len = smc_clc_build_decline(&x.d, buf, sizeof(buf));
		REQUIRE(len > 0);
		REQUIRE(!smc_clc_parse_decline(buf, (size_t)len, &y.d));
		same_decline(&y.d, &x.d);
		CHECK_EQ(smc_clc_build_decline(&y.d, again, (size_t)len), len);
		CHECK_MEM(again, buf, (size_t)len);
	}
}

/* The largest Proposal has SMC_CLC_BUILD_MAX bytes. */
static void largest_proposal(void)
{
	struct smc_clc_proposal p = { .version = 2, .has_v2 = true,
				      .v6_count = SMC_CLC_MAX_PREFIX6,
				      .v2.eid_count = SMC_CLC_MAX_EIDS };
	u8 buf[SMC_CLC_BUILD_MAX];

	CHECK_EQ(smc_clc_build_proposal(&p, buf, sizeof(buf)),
		 SMC_CLC_BUILD_MAX);
}

/* Input that the builders refuse */

static void no_room(void)
{
	u8 buf[SMC_CLC_BUILD_MAX];
	size_t i, cap, len;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		len = unit_hex(vectors[i], buf, sizeof(buf));
		for (cap = 0; cap < len; cap++) {
			u8 *p = unit_dup(buf, cap);

			if (i < ARRAY_SIZE(proposals))
				CHECK_EQ(smc_clc_build_proposal(&proposals[i].p,
								p, cap),
					 -ENOSPC);
			else if (i < 10)
				CHECK_EQ(smc_clc_build_accept(&accepts[i - 5].a,
							      p, cap), -ENOSPC);
			else
				CHECK_EQ(smc_clc_build_decline(&declines[i - 10].d,
							       p, cap), -ENOSPC);
			CHECK_MEM(p, buf, cap);
			free(p);
		}
	}
}

#define REFUSED_PROPOSAL(base, ...) do {				\
	struct smc_clc_proposal p = proposals[base].p;			\
									\
	__VA_ARGS__;							\
	CHECK_EQ(smc_clc_build_proposal(&p, buf, sizeof(buf)), -EINVAL);	\
} while (0)

#define REFUSED_ACCEPT(base, ...) do {					\
	struct smc_clc_accept a = accepts[base].a;			\
									\
	__VA_ARGS__;							\
	CHECK_EQ(smc_clc_build_accept(&a, buf, sizeof(buf)), -EINVAL);	\
} while (0)

static void not_to_be_built(void)
{
	struct smc_clc_decline d = { .version = 1 };
	u8 buf[MSG_MAX];

	REFUSED_PROPOSAL(0, p.version = 0);
	REFUSED_PROPOSAL(0, p.version = 3);
	REFUSED_PROPOSAL(0, p.v1_type = SMC_CLC_OFFER_NONE);
	REFUSED_PROPOSAL(0, p.v1_type = SMC_CLC_OFFER_D);
	REFUSED_PROPOSAL(0, p.v1_type = 4);
	REFUSED_PROPOSAL(0, p.v2_type = SMC_CLC_OFFER_R; p.has_v2 = true);
	REFUSED_PROPOSAL(0, p.v4_len = 33);
	REFUSED_PROPOSAL(1, p.v6[0].len = 129);
	REFUSED_PROPOSAL(1, p.v6_count = 9);
	REFUSED_PROPOSAL(2, p.v1_type = SMC_CLC_OFFER_NONE);
	REFUSED_PROPOSAL(2, p.has_v2 = true);
	REFUSED_PROPOSAL(3, p.has_v2 = false);
	REFUSED_PROPOSAL(3, p.v2_type = SMC_CLC_OFFER_BOTH);
	REFUSED_PROPOSAL(3, p.v2.eid_count = 9);
	REFUSED_PROPOSAL(3, p.v2.release = 16);

	REFUSED_ACCEPT(0, a.version = 0);
	REFUSED_ACCEPT(0, a.version = 3);
	REFUSED_ACCEPT(0, a.rmbe_idx = 0);
	REFUSED_ACCEPT(0, a.bsize = 16);
	REFUSED_ACCEPT(0, a.mtu = 16);
	REFUSED_ACCEPT(0, a.qpn = 0x1000000);
	REFUSED_ACCEPT(0, a.psn = 0x1000000);
	REFUSED_ACCEPT(0, a.vaddr = ~0ULL - 100);
	REFUSED_ACCEPT(2, a.fce.os = 16);
	REFUSED_ACCEPT(2, a.fce.release = 16);
	REFUSED_ACCEPT(3, a.gid_count = 9);

	d.version = 0;
	CHECK_EQ(smc_clc_build_decline(&d, buf, sizeof(buf)), -EINVAL);
	d.version = 3;
	CHECK_EQ(smc_clc_build_decline(&d, buf, sizeof(buf)), -EINVAL);
	d.version = 2;
	d.os = 16;
	CHECK_EQ(smc_clc_build_decline(&d, buf, sizeof(buf)), -EINVAL);
}

/* Members that the form of the message has no field for are ignored. */
static void absent_parts_are_ignored(void)
{
	struct smc_clc_accept a = accepts[0].a, b;
	u8 buf[MSG_MAX];

	a.fce.os = 99;
	a.gid_count = 99;
	memset(a.eid, 1, sizeof(a.eid));
	REQUIRE(smc_clc_build_accept(&a, buf, sizeof(buf)) == 68);
	REQUIRE(!smc_clc_parse_accept(buf, 68, &b));
	same_accept(&b, &accepts[0].a);
	a = accepts[4].a;
	a.fce.release = 99;
	a.gid_count = 99;
	REQUIRE(smc_clc_build_accept(&a, buf, sizeof(buf)) == 108);
	REQUIRE(!smc_clc_parse_accept(buf, 108, &b));
	same_accept(&b, &accepts[4].a);
}

/* Version 1 with an area to skip, as the RFC allows */
static void v1_with_area(void)
{
	struct smc_clc_proposal p;
	u8 buf[MSG_MAX];
	size_t len = unit_hex(PROP_AREA_HEX, buf, sizeof(buf));

	buf[7] = 0x10;
	memset(buf + 40, 0xee, 40);
	REQUIRE(!smc_clc_parse_proposal(buf, len, &p));
	CHECK_EQ(p.version, 1);
	CHECK_EQ(p.v2_type, SMC_CLC_OFFER_NONE);
	CHECK_EQ(p.v4_len, 24);
	CHECK_EQ(p.vendor_oui[0], 0);
	smc_wire_put_be16(buf + 38, 41);
	CHECK_EQ(smc_clc_parse_proposal(buf, len, &p), -EPROTO);
}

/* Well-formed messages that are declined */

static void proposals_to_decline(void)
{
	struct smc_clc_proposal p = proposals[3].p;

	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NONE);
	p.v2.eid_count = 0;		/* version 1 remains */
	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NONE);
	p.v1_type = SMC_CLC_OFFER_D;
	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NO_UEID);
	p.has_v2 = false;
	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NO_V2_EXT);
	p.v2_type = SMC_CLC_OFFER_D;
	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_MODE);
	p.v1_type = SMC_CLC_OFFER_BOTH;
	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NONE);
}

static void accepts_to_decline(void)
{
	struct smc_clc_accept a = accepts[2].a;
	int mtu, links;

	for (mtu = 0; mtu < 16; mtu++) {
		a.mtu = (u8)mtu;
		CHECK_EQ(smc_clc_check_accept(&a), mtu >= 1 && mtu <= 5 ?
			 SMC_CLC_DECL_NONE : SMC_CLC_DECL_CONFIG);
	}
	a.first_contact = false;
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_NONE);

	a = accepts[2].a;
	a.fce.release = 2;
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_RELEASE);
	a.fce.release = 1;
	a.fce.max_conns = 15;
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_MAX_CONNS);
	a.fce.max_conns = 16;
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_NONE);
	a.fce.max_links = 0;
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_MAX_LINKS);
	a.fce.max_links = 3;
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_MAX_LINKS);
	/* a native peer may have more */
	smc_native_tag_set_fce(&a.fce);
	for (links = 0; links < 256; links++) {
		a.fce.max_links = (u8)links;
		CHECK_EQ(smc_clc_check_accept(&a), links >= 1 && links <= 8 ?
			 SMC_CLC_DECL_NONE : SMC_CLC_DECL_MAX_LINKS);
	}
	a.fce.release = 0;		/* release 0 has no limits */
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_NONE);
	a = accepts[0].a;
	a.fce.release = 9;		/* version 1 has no extension */
	CHECK_EQ(smc_clc_check_accept(&a), SMC_CLC_DECL_NONE);
}

static void unsupported_heads(void)
{
	struct smc_clc_head h = { .type = SMC_CLC_ACCEPT, .version = 3 };

	CHECK_EQ(smc_clc_unsupported_reason(&h), SMC_CLC_DECL_VERSION);
	h.version = 1;
	h.smcd = true;
	CHECK_EQ(smc_clc_unsupported_reason(&h), SMC_CLC_DECL_MODE);
}

static void reason_texts(void)
{
	static const u32 known[] = {
		0, 0x01010000, 0x02010000, 0x02020000, 0x03000000, 0x03010000,
		0x03020000, 0x03030000, 0x03030001, 0x03030002, 0x03030003,
		0x03030004, 0x03030005, 0x03030006, 0x03030007, 0x03030008,
		0x03030009, 0x0303000a, 0x0303000b, 0x03038001, 0x03038002, 0x03038003, 0x03040000,
		0x03050000,
		0x03060000, 0x03070000, 0x03080000, 0x03090000, 0x030a0000,
		0x030b0000, 0x030c0000, 0x030d0000, 0x030e0000, 0x030f0000,
		0x04000000, 0x05000000, 0x09990000, 0x09990001, 0x09990002,
		0x09990003, 0x01020000, 0x03018001, 0x03008001, 0x03008002, 0x01018001,
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const char *s = smc_clc_reason_str(known[i]);

		CHECK(strcmp(s, "unknown reason"));
		for (j = 0; j < i; j++)
			CHECK(strcmp(s, smc_clc_reason_str(known[j])));
	}
	CHECK(!strcmp(smc_clc_reason_str(1), "unknown reason"));
	CHECK(!strcmp(smc_clc_reason_str(0xffffffff), "unknown reason"));
}

/* The native tag is at the place that the header documents; zeros: a foreign peer. */
static void peer_caps(void)
{
	struct smc_clc_proposal p = proposals[4].p, q;
	struct smc_clc_accept a = accepts[2].a, b;
	u8 buf[MSG_MAX];
	int len;

	CHECK_EQ(smc_peer_caps_of_proposal(&p), 0);
	CHECK_EQ(smc_peer_caps_of_fce(&a.fce), 0);
	/* locally administered, not a group address */
	CHECK_EQ(SMC_NATIVE_TAG_OUI0 & 3, 2);

	memset(p.vendor_opt, 0xff, sizeof(p.vendor_opt));
	smc_native_tag_set_proposal(&p);
	len = smc_clc_build_proposal(&p, buf, sizeof(buf));
	REQUIRE(len == 156);
	CHECK_MEM(buf + 52, ((u8[]){ 0xd2, 0x53, 0x4d, 1, 0, 0, 0, 0 }), 8);
	REQUIRE(!smc_clc_parse_proposal(buf, (size_t)len, &q));
	CHECK_EQ(smc_peer_caps_of_proposal(&q), SMC_PEER_CAPS_TAG_1);
	q.vendor_oui[2] ^= 1;
	CHECK_EQ(smc_peer_caps_of_proposal(&q), 0);

	smc_native_tag_set_fce(&a.fce);
	len = smc_clc_build_accept(&a, buf, sizeof(buf));
	REQUIRE(len == 160);
	CHECK_MEM(buf + 144, ((u8[]){ 0xd2, 0x53, 0x4d, 1 }), 4);
	REQUIRE(!smc_clc_parse_accept(buf, (size_t)len, &b));
	CHECK_EQ(smc_peer_caps_of_fce(&b.fce), SMC_PEER_CAPS_TAG_1);
	b.fce.vendor_opt[0] = 0;
	CHECK_EQ(smc_peer_caps_of_fce(&b.fce), 0);
}

/*
 * The tag's version selects the capabilities: none without a tag, today's for ours and for any that
 * is not known yet. Each capability has a bit of its own.
 */
static void peer_caps_versions(void)
{
	static const u32 all[] = {
		SMC_CAP_ACCEPT_V1_TAG, SMC_CAP_V1_OVER_V2, SMC_CAP_MANY_LINKS,
		SMC_CAP_ADD_LINK_KEPT, SMC_CAP_RKEY_RETRY, SMC_CAP_LINK_ORDERS,
		SMC_CAP_DELETE_WORKING, SMC_CAP_DELETE_LOST, SMC_CAP_FIRST_LINK,
		SMC_CAP_CURSOR_REPEAT, SMC_CAP_EVERY_MOVE, SMC_CAP_MOVE_HISTORY,
		SMC_CAP_ORDERLY_MOVE, SMC_CAP_URGENT_REPEAT,
	};
	u32 seen = 0, caps;
	size_t i;
	int version;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		CHECK(all[i] && !(all[i] & (all[i] - 1)));
		CHECK_EQ(seen & all[i], 0);
		seen |= all[i];
	}
	CHECK_EQ(SMC_PEER_CAPS_TAG_1, seen);
	CHECK_EQ(smc_peer_caps_of_version(0), 0);
	CHECK_EQ(smc_peer_caps_of_version(SMC_NATIVE_TAG_VERSION), seen);
	for (version = 1; version < 256; version++) {
		caps = smc_peer_caps_of_version((u8)version);
		CHECK_EQ(caps & seen, seen);
		/* as the header promises */
		if (caps & (SMC_CAP_MANY_LINKS | SMC_CAP_FIRST_LINK | SMC_CAP_ORDERLY_MOVE))
			CHECK(caps & SMC_CAP_MOVE_HISTORY);
	}
}

/* Any version in any message; any other OUI is a foreign peer's, whatever its version byte is. */
static void peer_caps_wire(void)
{
	struct smc_clc_proposal p = proposals[4].p;
	struct smc_clc_accept v1 = accepts[0].a, v2 = accepts[2].a;
	int version, bit;
	u32 caps;

	for (version = 0; version < 256; version++) {
		caps = smc_peer_caps_of_version((u8)version);
		smc_native_tag_set_proposal(&p);
		smc_native_tag_set_v1_over_v2(&p);
		smc_native_tag_set_one_port(&p);
		smc_native_tag_set_inner(&p);
		smc_native_tag_set_links(&p, 3);
		smc_native_tag_set_fce(&v2.fce);
		smc_native_tag_set_v1(&v1);
		p.vendor_opt[0] = (u8)version;
		v2.fce.vendor_opt[3] = (u8)version;
		v1.reserved[1] = (u8)version;
		CHECK_EQ(smc_peer_caps_of_proposal(&p), caps);
		CHECK_EQ(smc_peer_caps_of_fce(&v2.fce), caps);
		CHECK_EQ(smc_peer_caps_of_v1(&v1), caps);
		CHECK_EQ(smc_native_tag_v1_over_v2(&p), version > 0);
		CHECK_EQ(smc_native_tag_one_port(&p), version > 0);
		CHECK_EQ(smc_native_tag_inner(&p), version > 0);
		CHECK_EQ(smc_native_tag_links(&p), version ? 3 : 0);
		CHECK_EQ(smc_peer_caps_fce_links_max(&v2.fce), version ? 8 : 2);
		for (bit = 0; bit < 24; bit++) {
			u8 flip = (u8)(1 << bit % 8);

			p.vendor_oui[bit / 8] ^= flip;
			v2.fce.vendor_opt[bit / 8] ^= flip;
			v1.reserved[0] ^= flip;
			CHECK_EQ(smc_peer_caps_of_proposal(&p), 0);
			CHECK_EQ(smc_peer_caps_of_fce(&v2.fce), 0);
			CHECK_EQ(smc_peer_caps_of_v1(&v1), 0);
			CHECK(!smc_native_tag_v1_over_v2(&p));
			CHECK(!smc_native_tag_one_port(&p));
			CHECK(!smc_native_tag_inner(&p));
			CHECK_EQ(smc_native_tag_links(&p), 0);
			CHECK_EQ(smc_peer_caps_fce_links_max(&v2.fce), 2);
			p.vendor_oui[bit / 8] ^= flip;
			v2.fce.vendor_opt[bit / 8] ^= flip;
			v1.reserved[0] ^= flip;
		}
	}
}

/* Number of links that a client announces: values above 8 count as 8. */
static void peer_caps_links(void)
{
	struct smc_clc_proposal p = proposals[4].p, q;
	u8 buf[MSG_MAX];
	int len, n;

	smc_native_tag_set_links(&p, 8);
	CHECK_EQ(smc_native_tag_links(&p), 0);	/* foreign peer */
	for (n = 0; n < 256; n++) {
		smc_native_tag_set_proposal(&p);
		CHECK_EQ(smc_native_tag_links(&p), 0);
		smc_native_tag_set_links(&p, (u8)n);
		len = smc_clc_build_proposal(&p, buf, sizeof(buf));
		REQUIRE(len == 156);
		CHECK_EQ(buf[57], n);
		REQUIRE(!smc_clc_parse_proposal(buf, (size_t)len, &q));
		CHECK_EQ(smc_native_tag_links(&q), n < 8 ? n : 8);
	}
	CHECK_EQ(smc_peer_caps_fce_links_max(&accepts[2].a.fce), 2);
}

/* Each flag of the Proposal is a bit of its own, and none is set by itself. */
static void peer_caps_flags(void)
{
	struct smc_clc_proposal p = proposals[4].p, q;
	u8 buf[MSG_MAX];
	int len, flags;

	for (flags = 0; flags < 8; flags++) {
		smc_native_tag_set_proposal(&p);
		if (flags & SMC_NATIVE_TAG_V1_OVER_V2)
			smc_native_tag_set_v1_over_v2(&p);
		if (flags & SMC_NATIVE_TAG_ONE_PORT)
			smc_native_tag_set_one_port(&p);
		if (flags & SMC_NATIVE_TAG_INNER)
			smc_native_tag_set_inner(&p);
		len = smc_clc_build_proposal(&p, buf, sizeof(buf));
		REQUIRE(len == 156);
		CHECK_EQ(buf[56], flags);
		REQUIRE(!smc_clc_parse_proposal(buf, (size_t)len, &q));
		CHECK_EQ(smc_native_tag_v1_over_v2(&q), flags & 1);
		CHECK_EQ(smc_native_tag_one_port(&q), flags >> 1 & 1);
		CHECK_EQ(smc_native_tag_inner(&q), flags >> 2);
		/* later flags change nothing */
		q.vendor_opt[1] |= 0xf8;
		CHECK_EQ(smc_native_tag_v1_over_v2(&q), flags & 1);
		CHECK_EQ(smc_native_tag_one_port(&q), flags >> 1 & 1);
		CHECK_EQ(smc_native_tag_inner(&q), flags >> 2);
	}
}

/* Version 1: two reserved bytes of the Accept, and a flag in the Proposal. */
static void peer_caps_v1(void)
{
	struct smc_clc_proposal p = proposals[2].p, q;
	struct smc_clc_accept a = accepts[0].a, b;
	u8 buf[MSG_MAX], plain[MSG_MAX];
	int len;

	CHECK_EQ(smc_peer_caps_of_v1(&a), 0);
	CHECK_EQ(unit_hex(ACCEPT_V1_HEX, plain, sizeof(plain)), 68);
	smc_native_tag_set_v1(&a);
	len = smc_clc_build_accept(&a, buf, sizeof(buf));
	REQUIRE(len == 68);
	CHECK_EQ(buf[51], 0xd2);
	CHECK_EQ(buf[60], SMC_NATIVE_TAG_VERSION);
	REQUIRE(!smc_clc_parse_accept(buf, (size_t)len, &b));
	CHECK_EQ(smc_peer_caps_of_v1(&b), SMC_PEER_CAPS_TAG_1);
	buf[51] = 0;
	buf[60] = 0;
	CHECK_MEM(buf, plain, 68);	/* nothing else differs */

	/* the flag of a foreign peer is ignored */
	smc_native_tag_set_v1_over_v2(&p);
	CHECK(!smc_native_tag_v1_over_v2(&p));
	smc_native_tag_set_proposal(&p);
	CHECK(!smc_native_tag_v1_over_v2(&p));
	smc_native_tag_set_v1_over_v2(&p);
	len = smc_clc_build_proposal(&p, buf, sizeof(buf));
	REQUIRE(len == 92);
	CHECK_MEM(buf + 52, ((u8[]){ 0xd2, 0x53, 0x4d, 1, 1, 0, 0, 0 }), 8);
	REQUIRE(!smc_clc_parse_proposal(buf, (size_t)len, &q));
	CHECK(smc_native_tag_v1_over_v2(&q));
}

/* IP prefixes */

static void same_prefixes(void)
{
	static const u8 a[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
	u8 b[16];
	int len, bit;

	for (bit = 0; bit < 128; bit++) {
		memcpy(b, a, sizeof(b));
		b[bit / 8] ^= (u8)(0x80 >> bit % 8);
		for (len = 0; len <= 128; len++)
			CHECK_EQ(smc_clc_prefix_equal(a, b, (u8)len), len <= bit);
	}
}

static void prefixes4(void)
{
	static const u8 own[4] = { 192, 168, 1, 77 }, client[4] = { 192, 168, 1, 10 };
	static const u8 other[4] = { 192, 168, 2, 10 };
	struct smc_clc_proposal p;
	u8 buf[MSG_MAX];
	size_t len = unit_hex(PROP_AREA_HEX, buf, sizeof(buf));

	REQUIRE(!smc_clc_parse_proposal(buf, len, &p));
	CHECK(smc_clc_proposal_match_prefix4(&p, own, 24, client));
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 25, client));
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 23, client));
	CHECK(!smc_clc_proposal_match_prefix4(&p, other, 24, client));

	memset(&p, 0, sizeof(p));
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 0, client));
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 24, client));
	smc_clc_proposal_set_prefix4(&p, client, 24);
	CHECK_MEM(p.v4_net, ((u8[]){ 192, 168, 1, 0 }), 4);
	CHECK_EQ(p.v4_len, 24);
	smc_clc_proposal_set_prefix4(&p, client, 21);
	CHECK_MEM(p.v4_net, ((u8[]){ 192, 168, 0, 0 }), 4);
	CHECK(smc_clc_proposal_match_prefix4(&p, other, 21, client));
	smc_clc_proposal_set_prefix4(&p, client, 32);
	CHECK_MEM(p.v4_net, client, 4);
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 32, client));

	/* the mask itself: the client's address decides */
	memcpy(p.v4_net, ((u8[]){ 255, 255, 248, 0 }), 4);
	p.v4_len = 21;
	CHECK(smc_clc_proposal_match_prefix4(&p, own, 21, client));
	CHECK(smc_clc_proposal_match_prefix4(&p, own, 21, other));
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 21, ((u8[]){ 192, 168, 8, 1 })));
	p.v4_len = 22;
	CHECK(!smc_clc_proposal_match_prefix4(&p, own, 22, client));
}

static void prefixes6(void)
{
	static const u8 masked[16] = { 0xfd, [7] = 0x70 };
	u8 addr[16] = { 0xfd, [7] = 0x7f, [15] = 9 };
	struct smc_clc_proposal p = { .v6_count = 0 };
	u8 i;

	CHECK(!smc_clc_proposal_match_prefix6(&p, addr, 64));
	CHECK(smc_clc_proposal_add_prefix6(&p, addr, 0));	/* matches everything: left out */
	CHECK_EQ(p.v6_count, 0);
	CHECK(smc_clc_proposal_add_prefix6(&p, addr, 60));
	CHECK_EQ(p.v6_count, 1);
	CHECK_EQ(p.v6[0].len, 60);
	CHECK_MEM(p.v6[0].addr, masked, 16);
	CHECK(smc_clc_proposal_match_prefix6(&p, addr, 60));
	CHECK(!smc_clc_proposal_match_prefix6(&p, addr, 64));
	CHECK(!smc_clc_proposal_match_prefix6(&p, addr, 0));
	addr[15] = 10;
	CHECK(smc_clc_proposal_add_prefix6(&p, addr, 60));	/* present already */
	CHECK_EQ(p.v6_count, 1);
	for (i = 1; i < SMC_CLC_MAX_PREFIX6; i++) {
		addr[3] = i;
		CHECK(smc_clc_proposal_add_prefix6(&p, addr, 128));
	}
	CHECK_EQ(p.v6_count, SMC_CLC_MAX_PREFIX6);
	CHECK(smc_clc_proposal_add_prefix6(&p, addr, 128));
	CHECK_MEM(p.v6[7].addr, addr, 16);
	addr[3] = 200;
	CHECK(!smc_clc_proposal_add_prefix6(&p, addr, 128));	/* no room */
	CHECK_EQ(p.v6_count, SMC_CLC_MAX_PREFIX6);
	CHECK(!smc_clc_proposal_match_prefix6(&p, addr, 128));
}

static const struct unit_case cases[] = {
	UNIT_CASE(golden_proposals),
	UNIT_CASE(golden_accepts),
	UNIT_CASE(golden_declines),
	UNIT_CASE(header_lengths),
	UNIT_CASE(header_refusals),
	UNIT_CASE(random_round_trips),
	UNIT_CASE(largest_proposal),
	UNIT_CASE(no_room),
	UNIT_CASE(not_to_be_built),
	UNIT_CASE(absent_parts_are_ignored),
	UNIT_CASE(v1_with_area),
	UNIT_CASE(proposals_to_decline),
	UNIT_CASE(accepts_to_decline),
	UNIT_CASE(unsupported_heads),
	UNIT_CASE(reason_texts),
	UNIT_CASE(peer_caps),
	UNIT_CASE(peer_caps_versions),
	UNIT_CASE(peer_caps_wire),
	UNIT_CASE(peer_caps_links),
	UNIT_CASE(peer_caps_flags),
	UNIT_CASE(peer_caps_v1),
	UNIT_CASE(same_prefixes),
	UNIT_CASE(prefixes4),
	UNIT_CASE(prefixes6),
};

UNIT_MAIN("clc", cases)
