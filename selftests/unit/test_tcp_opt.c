// SPDX-License-Identifier: GPL-2.0-only
/* The SMC option among the options of TCP: known headers, round trips, hostile input. */
#include <smc/proto/tcp_opt.h>
#include "unit.h"

#define NOWHERE ((size_t)-1)

static const struct {
	const char *what;
	const char *hex;
	unsigned int found;
	size_t pos;
} golden[] = {
	{ "as in a SYN: MSS, SACK, TS, WS before it",
		"020405b4 0402080a 1c2d3e4f 00000000 01030307 0101fe06 e2d4c3d9",
		SMC_TCP_OPT_F_SMC, 22 },
	{ "a plain SYN", "020405b4 0402080a 1c2d3e4f 00000000 01030307", 0, NOWHERE },
	{ "no options", "", 0, NOWHERE },
	{ "alone", "fe06e2d4c3d9 0101", SMC_TCP_OPT_F_SMC, 0 },
	{ "twice: the first counts", "fe06e2d4c3d9 0101 fe06e2d4c3d9 0101", SMC_TCP_OPT_F_SMC, 0 },
	{ "longer than necessary", "fe08e2d4c3d9 ffff", SMC_TCP_OPT_F_SMC, 0 },
	{ "another experiment", "fe06e2d4c3d8 0101", 0, NOWHERE },
	{ "the other experimental kind", "fd06e2d4c3d9 0101", 0, NOWHERE },
	{ "identifier cut short", "fe05e2d4 c3 010101", 0, NOWHERE },
	{ "inside of another option", "030afe06 e2d4c3d9 0101 0101", 0, NOWHERE },
	{ "behind the end option", "00000000 fe06e2d4 c3d90000", SMC_TCP_OPT_F_END, NOWHERE },
	{ "fast open cookie", "220a0102 03040506 07080101", SMC_TCP_OPT_F_FASTOPEN, NOWHERE },
	{ "fast open request", "22020101", SMC_TCP_OPT_F_FASTOPEN, NOWHERE },
	{ "experimental fast open", "fe04f989", SMC_TCP_OPT_F_FASTOPEN, NOWHERE },
	{ "with fast open", "2202 fe06 e2d4c3d9", SMC_TCP_OPT_F_SMC | SMC_TCP_OPT_F_FASTOPEN, 2 },
	{ "MD5", "1312000102030405 060708090a0b0c0d 0e0f 0101", SMC_TCP_OPT_F_SIGNED, NOWHERE },
	{ "AO", "1d040102", SMC_TCP_OPT_F_SIGNED, NOWHERE },
	{ "length 0", "0200 0101", SMC_TCP_OPT_F_BAD, NOWHERE },
	{ "length 1", "0201 0101", SMC_TCP_OPT_F_BAD, NOWHERE },
	{ "length beyond the end", "01010205", SMC_TCP_OPT_F_BAD, NOWHERE },
	{ "no room for a length", "01010102", SMC_TCP_OPT_F_BAD, NOWHERE },
	{ "SMC option beyond the end", "0101 fe06 e2d4c3", SMC_TCP_OPT_F_BAD, NOWHERE },
	{ "SMC option, then a bad length", "fe06e2d4 c3d9 0209",
		SMC_TCP_OPT_F_SMC | SMC_TCP_OPT_F_BAD, 0 },
};

static void golden_headers(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 buf[SMC_TCP_HDR_MAX];
		size_t len = unit_hex(golden[i].hex, buf, sizeof(buf)), pos = NOWHERE;
		u8 *opts = unit_dup(buf, len);
		unsigned int found = smc_tcp_opt_scan(opts, len, SMC_TCP_OPT_ID, &pos);

		if (found != golden[i].found || pos != golden[i].pos)
			FAIL("%s: found 0x%x at %zd", golden[i].what, found, (ssize_t)pos);
		free(opts);
	}
}

/* An option that was put is found behind any number of NOPs. */
static void put_is_found(void)
{
	u8 buf[SMC_TCP_HDR_MAX - SMC_TCP_HDR_MIN];
	size_t before, pos;

	for (before = 0; before <= sizeof(buf) - SMC_TCP_OPT_ROOM; before += 4) {
		memset(buf, 1, before);
		smc_tcp_opt_build(buf + before);
		pos = NOWHERE;
		CHECK_EQ(smc_tcp_opt_scan(buf, before + SMC_TCP_OPT_ROOM, SMC_TCP_OPT_ID, &pos),
			 SMC_TCP_OPT_F_SMC);
		CHECK_EQ(pos, before + 2);
	}
}

/* With another identifier only that one is found, and no other byte changes. */
static void other_id(void)
{
	const u32 mine = 0x01020304;
	u8 buf[SMC_TCP_OPT_ROOM], was[SMC_TCP_OPT_ROOM];
	size_t pos = NOWHERE;

	smc_tcp_opt_build(buf);
	memcpy(was, buf, sizeof(was));
	REQUIRE(smc_tcp_opt_scan(buf, sizeof(buf), SMC_TCP_OPT_ID, &pos) == SMC_TCP_OPT_F_SMC);
	smc_tcp_opt_set_id(buf, pos, mine);
	CHECK_EQ(smc_tcp_opt_scan(buf, sizeof(buf), SMC_TCP_OPT_ID, &pos), 0);
	CHECK_EQ(smc_tcp_opt_scan(buf, sizeof(buf), mine, &pos), SMC_TCP_OPT_F_SMC);
	smc_tcp_opt_set_id(buf, pos, SMC_TCP_OPT_ID);
	CHECK_MEM(buf, was, sizeof(was));
}

/* Nothing is read or found outside of the header; the sanitizer checks the reads. */
static void random_bytes(void)
{
	unsigned int i, hits = 0;

	for (i = 0; i < 200000; i++) {
		size_t len = unit_below(SMC_TCP_HDR_MAX - SMC_TCP_HDR_MIN + 1), pos = NOWHERE;
		u8 buf[SMC_TCP_HDR_MAX];
		unsigned int found;
		u8 *opts;
		size_t k;

		for (k = 0; k < len; k++)
			buf[k] = unit_below(3) ? unit_below(8) : unit_rand();
		if (len >= SMC_TCP_OPT_ROOM && unit_below(2))
			smc_tcp_opt_build(buf + unit_below(len - SMC_TCP_OPT_ROOM + 1));
		opts = unit_dup(buf, len);
		found = smc_tcp_opt_scan(opts, len, SMC_TCP_OPT_ID, &pos);
		if (found & SMC_TCP_OPT_F_SMC) {
			hits++;
			REQUIRE(len >= SMC_TCP_OPT_LEN && pos <= len - SMC_TCP_OPT_LEN);
			CHECK_EQ(smc_wire_get_be32(opts + pos + 2), SMC_TCP_OPT_ID);
		} else {
			CHECK_EQ(pos, NOWHERE);
		}
		free(opts);
	}
	/* the generator covers headers with the option */
	CHECK(hits > 1000);
}

static const struct unit_case cases[] = {
	UNIT_CASE(golden_headers),
	UNIT_CASE(put_is_found),
	UNIT_CASE(other_id),
	UNIT_CASE(random_bytes),
};

UNIT_MAIN("tcp_opt", cases)
