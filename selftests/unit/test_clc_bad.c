// SPDX-License-Identifier: GPL-2.0-only
/* CLC messages: hostile and damaged input. */
#include <smc/proto/clc_msg.h>
#include "clc_vectors.h"
#include "unit.h"

/* Parse with the parser of the message's type */

static int parse_any(const u8 *buf, size_t len, union any *out)
{
	switch (len > 4 ? buf[4] : 0) {
	case SMC_CLC_PROPOSAL:
		return smc_clc_parse_proposal(buf, len, &out->p);
	case SMC_CLC_DECLINE:
		return smc_clc_parse_decline(buf, len, &out->d);
	default:
		return smc_clc_parse_accept(buf, len, &out->a);
	}
}

static bool is_untouched(const union any *out)
{
	const u8 *p = (const u8 *)out;
	size_t i;

	for (i = 0; i < sizeof(*out); i++)
		if (p[i] != 0x5a)
			return false;
	return true;
}

/* A structure that was accepted and can be built is the same when parsed again. */
static void check_rebuilt(const union any *x, u8 type)
{
	u8 buf[SMC_CLC_BUILD_MAX];
	union any y;
	int len;

	if (type == SMC_CLC_PROPOSAL) {
		len = smc_clc_build_proposal(&x->p, buf, sizeof(buf));
		if (len == -EINVAL) {
			CHECK(x->p.version > 2 ||
			      x->p.v1_type & SMC_CLC_OFFER_D ||
			      x->p.v2_type & SMC_CLC_OFFER_D ||
			      (x->p.v1_type && x->p.v2_type) ||
			      (!x->p.v2_type && !x->p.has_v2));
			return;
		}
		REQUIRE(len > 0);
		REQUIRE(!smc_clc_parse_proposal(buf, (size_t)len, &y.p));
		same_proposal(&y.p, &x->p);
	} else if (type == SMC_CLC_DECLINE) {
		len = smc_clc_build_decline(&x->d, buf, sizeof(buf));
		if (len == -EINVAL) {
			CHECK(x->d.version > 2);
			return;
		}
		REQUIRE(len > 0);
		REQUIRE(!smc_clc_parse_decline(buf, (size_t)len, &y.d));
		same_decline(&y.d, &x->d);
	} else {
		len = smc_clc_build_accept(&x->a, buf, sizeof(buf));
		REQUIRE(len > 0);
		REQUIRE(!smc_clc_parse_accept(buf, (size_t)len, &y.a));
		same_accept(&y.a, &x->a);
	}
}

/* Parse a heap copy, so that the sanitizer sees reads beyond its end. */
static int parse_guarded(const u8 *buf, size_t len)
{
	u8 *p = unit_dup(buf, len);
	union any out;
	int rc;

	memset(&out, 0x5a, sizeof(out));
	rc = parse_any(p, len, &out);
	CHECK(rc == 0 || rc == -EPROTO || rc == -EOPNOTSUPP);
	if (rc)
		CHECK(is_untouched(&out));
	else
		check_rebuilt(&out, buf[4]);
	free(p);
	return rc;
}

static void expect_parse(const u8 *buf, size_t len, int want)
{
	CHECK_EQ(parse_guarded(buf, len), want);
}

/* Changes of one field at a time */

struct change {
	const char *hex;	/* vector */
	int off;		/* from the end if negative */
	const char *bytes;	/* hex to write there */
	int want;
};

static const struct change changes[] = {
	/* header length does not match the received length */
	{ PROP_V1_HEX, 5, "0035", -EPROTO },
	{ PROP_V2_HEX, 5, "009b", -EPROTO },
	/* trailer */
	{ PROP_V1_HEX, -1, "d8", -EPROTO },
	{ PROP_BOTH_HEX, -4, "00000000", -EPROTO },
	{ ACCEPT_V1_HEX, -4, "e3", -EPROTO },
	{ ACCEPT_NEXT_HEX, -4, "00", -EPROTO },
	{ CONFIRM_FIRST_HEX, -2, "00", -EPROTO },
	{ DECLINE_V1_HEX, -1, "00", -EPROTO },
	{ DECLINE_V2_HEX, -1, "00", -EPROTO },
	{ DECLINE_V1_HEX, -1, "c4", 0 },	/* SMC-D's eye catcher */
	/* version 1 Proposal that offers nothing */
	{ PROP_V1_HEX, 7, "12", -EPROTO },
	{ PROP_V1_HEX, 7, "11", 0 },		/* SMC-D: well formed */
	{ PROP_V1_HEX, 7, "1c", 0 },		/* reserved bits */
	/* wrong offset of the prefix area */
	{ PROP_V1_HEX, 38, "0001", -EPROTO },
	{ PROP_V1_HEX, 38, "ffff", -EPROTO },
	{ PROP_AREA_HEX, 38, "0027", -EPROTO },
	{ PROP_AREA_HEX, 38, "0029", -EPROTO },
	{ PROP_AREA_HEX, 38, "0000", -EPROTO },
	{ PROP_AREA_HEX, 38, "ffff", -EPROTO },
	{ PROP_V2_HEX, 38, "ffff", 0 },		/* no prefix area */
	/* prefixes */
	{ PROP_V1_HEX, 44, "21", -EPROTO },
	{ PROP_V1_HEX, 44, "20", 0 },
	{ PROP_V1_HEX, 47, "01", -EPROTO },
	{ PROP_V1_HEX, 47, "ff", -EPROTO },
	{ PROP_V1_IP6_HEX, 47, "00", -EPROTO },
	{ PROP_V1_IP6_HEX, 47, "02", -EPROTO },
	{ PROP_V1_IP6_HEX, 64, "81", -EPROTO },
	{ PROP_AREA_HEX, 87, "09", -EPROTO },
	/* version 2 extension: place, list, presence */
	{ PROP_BOTH_HEX, 50, "0023", -EPROTO },
	{ PROP_BOTH_HEX, 50, "0025", -EPROTO },
	{ PROP_BOTH_HEX, 50, "ffff", -EPROTO },
	{ PROP_BOTH_HEX, 50, "0000", -EPROTO },
	{ PROP_BOTH_HEX, 88, "00", -EPROTO },
	{ PROP_BOTH_HEX, 88, "02", -EPROTO },
	{ PROP_BOTH_HEX, 88, "09", -EPROTO },
	{ PROP_BOTH_HEX, 88, "ff", -EPROTO },
	{ PROP_BOTH_HEX, 89, "09", -EPROTO },
	{ PROP_BOTH_HEX, 89, "08", 0 },		/* ISM GIDs: not read */
	{ PROP_BOTH_HEX, 7, "28", -EPROTO },	/* extension not offered */
	{ PROP_AREA_HEX, 7, "20", 0 },		/* offered, but missing */
	{ PROP_AREA_HEX, 7, "22", -EPROTO },	/* ... and version 1 not offered */
	/* SMC-D's extension: offered, offset zero or not */
	{ PROP_BOTH_HEX, 7, "2c", 0 },
	{ PROP_BOTH_HEX, 94, "0040", 0 },
	/* later versions */
	{ PROP_BOTH_HEX, 7, "30", 0 },
	{ PROP_BOTH_HEX, 7, "f0", 0 },
	/* element */
	{ ACCEPT_V1_HEX, 45, "00", -EPROTO },
	{ ACCEPT_V1_HEX, 45, "ff", 0 },
	{ ACCEPT_V1_HEX, 52, "ffffffffffff0000", 0 },
	{ ACCEPT_V1_HEX, 52, "ffffffffffff0001", -EPROTO },
	{ ACCEPT_NEXT_HEX, 50, "f3", 0 },
	/* transports and versions that were not proposed */
	{ ACCEPT_V1_HEX, 0, "e2d4c3c4", -EOPNOTSUPP },
	{ ACCEPT_V1_HEX, 7, "19", -EOPNOTSUPP },
	{ ACCEPT_V1_HEX, 7, "1a", -EOPNOTSUPP },
	{ ACCEPT_V1_HEX, 7, "1b", -EOPNOTSUPP },
	{ ACCEPT_FIRST_HEX, 7, "38", -EOPNOTSUPP },
	{ CONFIRM_FIRST_HEX, 7, "f8", -EOPNOTSUPP },
	/* enumerated values without influence on the layout */
	{ ACCEPT_V1_HEX, 50, "20", 0 },
	{ ACCEPT_V1_HEX, 50, "2f", 0 },
	{ ACCEPT_FIRST_HEX, 105, "ff", 0 },
	/* first contact without its extension */
	{ ACCEPT_NEXT_HEX, 7, "28", -EPROTO },
	{ ACCEPT_FIRST_HEX, 4, "03", -EPROTO },	/* Confirm, too short */
	/* GID list */
	{ CONFIRM_FIRST_HEX, 156, "00", 0 },
	{ CONFIRM_FIRST_HEX, 156, "02", -EPROTO },
	{ CONFIRM_FIRST_HEX, 156, "ff", -EPROTO },
	/* unexpected trailing fields are ignored */
	{ ACCEPT_FIRST_HEX, 7, "20", 0 },
	{ CONFIRM_FIRST_HEX, 4, "02", 0 },
	/* Declines of any version */
	{ DECLINE_V2_HEX, 7, "30", 0 },
	{ DECLINE_V2_HEX, 7, "f8", 0 },
	{ DECLINE_V2_HEX, 7, "10", -EPROTO },
	{ DECLINE_V1_HEX, 7, "20", -EPROTO },
};

static void single_changes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];
		u8 buf[MSG_MAX], with[16];
		size_t len = unit_hex(c->hex, buf, sizeof(buf));
		size_t n = unit_hex(c->bytes, with, sizeof(with));
		int rc;

		memcpy(buf + (c->off < 0 ? (int)len + c->off : c->off), with, n);
		rc = parse_guarded(buf, len);
		if (rc != c->want)
			FAIL("%s at %d: %d, not %d", c->bytes, c->off, rc,
			     c->want);
	}
}

/* Each parser accepts its own message type only. */
static void wrong_types(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		u8 buf[MSG_MAX];
		size_t len = unit_hex(vectors[i], buf, sizeof(buf));
		struct smc_clc_proposal p;
		struct smc_clc_accept a;
		struct smc_clc_decline d;

		CHECK_EQ(!smc_clc_parse_proposal(buf, len, &p),
			 buf[4] == SMC_CLC_PROPOSAL);
		CHECK_EQ(!smc_clc_parse_accept(buf, len, &a),
			 buf[4] == SMC_CLC_ACCEPT || buf[4] == SMC_CLC_CONFIRM);
		CHECK_EQ(!smc_clc_parse_decline(buf, len, &d),
			 buf[4] == SMC_CLC_DECLINE);
	}
}

/*
 * Cut at every length: once as it is, once with a header and a trailer that
 * match the new length.
 */
static void truncations(void)
{
	size_t i, len, full;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		u8 buf[MSG_MAX], cut[MSG_MAX];

		full = unit_hex(vectors[i], buf, sizeof(buf));
		for (len = 0; len < full; len++) {
			expect_parse(buf, len, -EPROTO);
			if (len < 12)
				continue;
			memcpy(cut, buf, len);
			smc_wire_put_be16(cut + 5, (u16)len);
			smc_wire_put_be32(cut + len - 4, 0xe2d4c3d9);
			parse_guarded(cut, len);
		}
	}
}

/*
 * Version 2 messages may have trailing fields that this code does not know;
 * Proposals and version 1 messages may not.
 */
static void surplus(void)
{
	size_t i, len, full;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		u8 buf[MSG_MAX];
		bool tolerant;

		full = unit_hex(vectors[i], buf, sizeof(buf));
		REQUIRE(full > 12);
		tolerant = buf[4] != SMC_CLC_PROPOSAL && buf[7] >> 4 == 2;
		memset(buf + full - 4, 0x77, sizeof(buf) - full);
		for (len = full + 1; len <= SMC_CLC_MAX_LEN + 1; len++) {
			u8 eye[4];

			smc_wire_put_be16(buf + 5, (u16)len);
			memcpy(eye, buf + len - 4, 4);
			smc_wire_put_be32(buf + len - 4, 0xe2d4c3d9);
			expect_parse(buf, len, tolerant && len <= SMC_CLC_MAX_LEN ?
						       0 : -EPROTO);
			memcpy(buf + len - 4, eye, 4);
		}
	}
}

/* More GIDs than the structure has room for: the first ones are kept. */
static void long_gid_list(void)
{
	u8 buf[SMC_CLC_MAX_LEN] = { 0 };
	struct smc_clc_accept a;
	size_t len = 160 + 16 * 40 + 4;
	int i;

	unit_hex(CONFIRM_FIRST_HEX, buf, sizeof(buf));
	memset(buf + 160, 0, sizeof(buf) - 160);
	buf[156] = 40;
	for (i = 0; i < 40; i++)
		buf[160 + 16 * i] = (u8)(i + 1);
	smc_wire_put_be16(buf + 5, (u16)len);
	smc_wire_put_be32(buf + len - 4, 0xe2d4c3d9);
	REQUIRE(!smc_clc_parse_accept(buf, len, &a));
	CHECK_EQ(a.gid_count, SMC_CLC_MAX_GIDS);
	for (i = 0; i < SMC_CLC_MAX_GIDS; i++)
		CHECK_EQ(a.gids[i][0], i + 1);
}

/* From a Proposal that offers SMC-D as well, the SMC-R part is taken. */
static void smcd_extension(void)
{
	u8 buf[MSG_MAX];
	struct smc_clc_proposal p;
	size_t len = 164 + 48 + 10 * 2;

	unit_hex(PROP_BOTH_HEX, buf, sizeof(buf));
	buf[7] = 0x2f;			/* both, in both versions */
	buf[89] = 2;			/* ISM GIDs */
	smc_wire_put_be16(buf + 94, 32 + 32);
	memset(buf + 160, 0x33, len - 164);
	smc_wire_put_be16(buf + 5, (u16)len);
	smc_wire_put_be32(buf + len - 4, 0xe2d4c3d9);
	REQUIRE(!smc_clc_parse_proposal(buf, len, &p));
	CHECK_EQ(p.v1_type, SMC_CLC_OFFER_BOTH);
	CHECK_EQ(p.v2_type, SMC_CLC_OFFER_BOTH);
	same_v2(&p.v2, &proposals[3].p.v2);
	CHECK_EQ(smc_clc_check_proposal(&p), SMC_CLC_DECL_NONE);
	CHECK_EQ(smc_clc_build_proposal(&p, buf, sizeof(buf)), -EINVAL);

	unit_hex(PROP_BOTH_HEX, buf, sizeof(buf));
	buf[7] = 0x2f;
	buf[89] = 2;
	memset(buf + 160, 0x33, len - 164);
	smc_wire_put_be16(buf + 5, (u16)len);
	smc_wire_put_be32(buf + len - 4, 0xe2d4c3d9);
	smc_wire_put_be16(buf + 94, 64);
	expect_parse(buf, len, 0);
	smc_wire_put_be16(buf + 94, 63);	/* wrong offset */
	expect_parse(buf, len, -EPROTO);
	smc_wire_put_be16(buf + 94, 64);
	buf[89] = 3;			/* list longer than the message */
	expect_parse(buf, len, -EPROTO);
	buf[89] = 9;			/* longer than any valid list */
	expect_parse(buf, len, -EPROTO);
}

/*
 * The area for future growth before the prefixes (RFC 7609 A.2.2) is skipped, up to the length of a
 * message, and what is in it does not matter.
 */
static void growth_areas(void)
{
	static const struct {
		const char *hex;
		size_t area;	/* bytes that the vector has */
		int proposal;
	} bases[] = { { PROP_V1_HEX, 0, 0 }, { PROP_AREA_HEX, 40, 2 }, { PROP_BOTH_HEX, 40, 3 } };
	size_t i, more;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		u8 from[MSG_MAX], buf[2 * MSG_MAX];
		size_t full = unit_hex(bases[i].hex, from, sizeof(from));
		size_t at = 40 + bases[i].area;

		for (more = 0; full + more <= SMC_CLC_MAX_LEN + 1; more++) {
			bool fits = full + more <= SMC_CLC_MAX_LEN;
			struct smc_clc_proposal p;
			struct smc_clc_head h;

			memcpy(buf, from, at);
			memset(buf + at, 0x77, more);
			memcpy(buf + at + more, from + at, full - at);
			smc_wire_put_be16(buf + 5, (u16)(full + more));
			smc_wire_put_be16(buf + 38, (u16)(bases[i].area + more));
			if (proposals[bases[i].proposal].p.has_v2)
				smc_wire_put_be16(buf + 50, (u16)(0x24 + more));
			CHECK_EQ(smc_clc_parse_header(buf, &h), fits ? 0 : -EPROTO);
			CHECK_EQ(smc_clc_parse_proposal(buf, full + more, &p), fits ? 0 : -EPROTO);
			if (fits)
				same_proposal(&p, &proposals[bases[i].proposal].p);
		}
		/* an area that the message does not have */
		smc_wire_put_be16(from + 38, (u16)(bases[i].area + 1));
		expect_parse(from, full, -EPROTO);
	}
}

/* Every single byte, every value. */
static void mutations(void)
{
	size_t i, off, len;
	int v;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		u8 buf[MSG_MAX];

		len = unit_hex(vectors[i], buf, sizeof(buf));
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

/* A few bytes at once, and noise behind a good header. */
static void random_damage(void)
{
	int i, n;

	for (i = 0; i < 100000; i++) {
		u8 buf[MSG_MAX];
		size_t len = unit_hex(vectors[unit_below(ARRAY_SIZE(vectors))],
				      buf, sizeof(buf));

		if (unit_below(4)) {
			for (n = (int)unit_below(6); n >= 0; n--)
				buf[4 + unit_below((u32)len - 8)] =
					(u8)unit_rand();
		} else {
			unit_rand_bytes(buf + 8, len - 12);
		}
		smc_wire_put_be16(buf + 5, (u16)len);
		parse_guarded(buf, len);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(single_changes),
	UNIT_CASE(wrong_types),
	UNIT_CASE(truncations),
	UNIT_CASE(surplus),
	UNIT_CASE(growth_areas),
	UNIT_CASE(long_gid_list),
	UNIT_CASE(smcd_extension),
	UNIT_CASE(mutations),
	UNIT_CASE(random_damage),
};

UNIT_MAIN("clc_bad", cases)
