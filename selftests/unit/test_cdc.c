// SPDX-License-Identifier: GPL-2.0-only
/* CDC messages: captured and constructed bytes, round trips, hostile input. */
#include <smc/proto/cdc_imm.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include "unit.h"

#define SIZE 65536

static const struct {
	const char *hex;
	struct smc_cdc_msg msg;
} golden[] = {
	{ /* captured: first data of a connection */
		"fe2c0001 00000003 00000000 0000000d 00000000 00000000 00000000\n"
		"00000000 00000000 00000000 00000000",
		{ .seq = 1, .token = 3, .prod = { 0, 13 } },
	}, { /* upgrade: GO, S, and the first bytes of the ring */
		"fe2c0001 00000005 00000000 00000014 00000000 00000000 00000000\n"
		"30000000 00000001 00000007 00000000",
		{ .seq = 1, .token = 5, .prod = { 0, 20 }, .ext = SMC_CDC_EXT_GO | SMC_CDC_EXT_S,
		  .s = 0x100000007ULL },
	}, { /* failover validation */
		"fe2c0009 00000005 00000000 00000000 00000000 00000000 08000000\n"
		"00000000 00000000 00000000 00000000",
		{ .seq = 9, .token = 5, .flags = SMC_CDC_F_FAILOVER },
	}, { /* 64 KB written at once: the ring is full */
		"fe2c0001 00000005 00000001 00000000 00000000 00000000 80000000\n"
		"00000000 00000000 00000000 00000000",
		{ .seq = 1, .token = 5, .prod = { 1, 0 },
		  .flags = SMC_CDC_F_BLOCKED },
	}, { /* close */
		"fe2c0007 00000005 00000000 0000000d 00000000 00000014 00400000\n"
		"00000000 00000000 00000000 00000000",
		{ .seq = 7, .token = 5, .prod = { 0, 13 }, .cons = { 0, 20 },
		  .state = SMC_CDC_S_CLOSED },
	},
};

static void check_same(const struct smc_cdc_msg *a, const struct smc_cdc_msg *b)
{
	CHECK_EQ(a->seq, b->seq);
	CHECK_EQ(a->token, b->token);
	CHECK_EQ(a->prod.wrap, b->prod.wrap);
	CHECK_EQ(a->prod.off, b->prod.off);
	CHECK_EQ(a->cons.wrap, b->cons.wrap);
	CHECK_EQ(a->cons.off, b->cons.off);
	CHECK_EQ(a->flags, b->flags);
	CHECK_EQ(a->state, b->state);
	CHECK_EQ(a->ext, b->ext);
	CHECK_EQ(a->s, b->s);
}

static void golden_bytes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 want[64], buf[64];
		size_t len = unit_hex(golden[i].hex, want, sizeof(want));
		struct smc_cdc_msg msg;
		u32 token = 0;

		REQUIRE(!smc_cdc_msg_parse(want, len, SIZE, SIZE, &msg));
		check_same(&msg, &golden[i].msg);
		REQUIRE(!smc_cdc_msg_token(want, len, &token));
		CHECK_EQ(token, golden[i].msg.token);
		CHECK_EQ(smc_cdc_msg_build(&golden[i].msg, buf, sizeof(buf)),
			 SMC_CDC_LEN);
		CHECK_MEM(buf, want, len);
	}
}

/* One field at a time, so that two swapped fields are noticed. */
static void field_places(void)
{
	static const struct {
		struct smc_cdc_msg msg;
		u8 off;
		u8 bytes[4];
		u8 len;
	} t[] = {
		{ { .seq = 0x1234 }, 2, { 0x12, 0x34 }, 2 },
		{ { .token = 0x12345678 }, 4, { 0x12, 0x34, 0x56, 0x78 }, 4 },
		{ { .prod.wrap = 0x1234 }, 10, { 0x12, 0x34 }, 2 },
		{ { .prod.off = 0x12345678 }, 12, { 0x12, 0x34, 0x56, 0x78 }, 4 },
		{ { .cons.wrap = 0x1234 }, 18, { 0x12, 0x34 }, 2 },
		{ { .cons.off = 0x12345678 }, 20, { 0x12, 0x34, 0x56, 0x78 }, 4 },
		{ { .flags = SMC_CDC_F_BLOCKED }, 24, { 0x80 }, 1 },
		{ { .flags = SMC_CDC_F_URG_PENDING }, 24, { 0x40 }, 1 },
		{ { .flags = SMC_CDC_F_URG_PRESENT }, 24, { 0x20 }, 1 },
		{ { .flags = SMC_CDC_F_UPDATE_REQ }, 24, { 0x10 }, 1 },
		{ { .flags = SMC_CDC_F_FAILOVER }, 24, { 0x08 }, 1 },
		{ { .state = SMC_CDC_S_DONE }, 25, { 0x80 }, 1 },
		{ { .state = SMC_CDC_S_CLOSED }, 25, { 0x40 }, 1 },
		{ { .state = SMC_CDC_S_ABORT }, 25, { 0x20 }, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		u8 buf[SMC_CDC_LEN], want[SMC_CDC_LEN] = { 0xfe, 44 };

		memcpy(want + t[i].off, t[i].bytes, t[i].len);
		memset(buf, 0xaa, sizeof(buf));
		CHECK_EQ(smc_cdc_msg_build(&t[i].msg, buf, sizeof(buf)), 44);
		CHECK_MEM(buf, want, sizeof(want));
	}
}

static struct smc_cdc_msg random_msg(u32 my_size, u32 peer_size)
{
	struct smc_cdc_msg m = {
		.seq = (u16)unit_rand(),
		.token = (u32)unit_rand(),
	};
	int i;

	if (!unit_below(8)) {
		m.flags = SMC_CDC_F_FAILOVER;
		m.ext = unit_below(2) * SMC_CDC_EXT_ORDERLY;
		m.prev_link = (u8)unit_rand();
		m.move_count = (u8)unit_rand();
		m.older_orderly = (u8)unit_below(1U << SMC_CDC_OLDER_LINKS);
		for (i = 0; i < SMC_CDC_OLDER_LINKS; i++)
			m.older_links[i] = (u8)unit_rand();
		return m;
	}
	m.ext = (u8)unit_rand() & SMC_CDC_EXT_ALL & ~SMC_CDC_EXT_ORDERLY;
	if (m.ext & SMC_CDC_EXT_S)
		m.s = unit_rand();
	if (m.ext & SMC_CDC_EXT_ACK)
		m.ack_seq = (u16)unit_rand();
	m.prod.wrap = (u16)unit_rand();
	m.prod.off = unit_below(my_size);
	m.cons.wrap = (u16)unit_rand();
	m.cons.off = unit_below(peer_size);
	m.flags = (u8)unit_rand() & SMC_CDC_F_ALL & ~SMC_CDC_F_FAILOVER;
	m.state = (u8)unit_rand() & SMC_CDC_S_ALL;
	return m;
}

static void random_round_trips(void)
{
	int i;

	for (i = 0; i < 20000; i++) {
		u32 my_size = smc_wire_bsize_to_len((u8)unit_below(16));
		u32 peer_size = smc_wire_bsize_to_len((u8)unit_below(16));
		struct smc_cdc_msg in = random_msg(my_size, peer_size), out;
		u8 buf[SMC_CDC_LEN], again[SMC_CDC_LEN];

		REQUIRE(smc_cdc_msg_build(&in, buf, sizeof(buf)) == 44);
		REQUIRE(!smc_cdc_msg_parse(buf, 44, my_size, peer_size, &out));
		check_same(&out, &in);
		REQUIRE(smc_cdc_msg_build(&out, again, sizeof(again)) == 44);
		CHECK_MEM(again, buf, sizeof(buf));
	}
}

static bool untouched(const struct smc_cdc_msg *m)
{
	const u8 *p = (const u8 *)m;
	size_t i;

	for (i = 0; i < sizeof(*m); i++)
		if (p[i] != 0x5a)
			return false;
	return true;
}

static void expect_reject(const u8 *buf, size_t len, u32 my_size, u32 peer_size)
{
	struct smc_cdc_msg out;

	memset(&out, 0x5a, sizeof(out));
	CHECK_EQ(smc_cdc_msg_parse(buf, len, my_size, peer_size, &out),
		 -EPROTO);
	CHECK(untouched(&out));
}

static void wrong_lengths(void)
{
	u8 msg[64] = { 0xfe, 44 };
	struct smc_cdc_msg out;
	size_t len;

	for (len = 0; len <= sizeof(msg); len++) {
		u8 *p = unit_dup(msg, len);
		u32 token = 0x5a5a5a5a;

		if (len == 44) {
			CHECK_EQ(smc_cdc_msg_parse(p, len, SIZE, SIZE, &out), 0);
		} else {
			expect_reject(p, len, SIZE, SIZE);
			CHECK_EQ(smc_cdc_msg_token(p, len, &token), -EPROTO);
			CHECK_EQ(token, 0x5a5a5a5a);
		}
		free(p);
	}
}

static void wrong_headers(void)
{
	u8 msg[44] = { 0xfe, 44 };
	u32 token;
	int v;

	for (v = 0; v < 256; v++) {
		msg[0] = (u8)v;
		if (v != 0xfe) {
			expect_reject(msg, 44, SIZE, SIZE);
			CHECK_EQ(smc_cdc_msg_token(msg, 44, &token), -EPROTO);
		}
		msg[0] = 0xfe;
		msg[1] = (u8)v;
		if (v != 44) {
			expect_reject(msg, 44, SIZE, SIZE);
			CHECK_EQ(smc_cdc_msg_token(msg, 44, &token), -EPROTO);
		}
		msg[1] = 44;
	}
}

/* Our ring bounds the producer cursor, the peer's ring the consumer cursor. */
static void cursor_ranges(void)
{
	const u32 mine = 16384, peer = 65536;
	u8 msg[44] = { 0xfe, 44 };
	struct smc_cdc_msg out;

	smc_wire_put_be32(msg + 12, mine - 1);
	smc_wire_put_be32(msg + 20, peer - 1);
	CHECK_EQ(smc_cdc_msg_parse(msg, 44, mine, peer, &out), 0);
	expect_reject(msg, 44, peer, mine);

	smc_wire_put_be32(msg + 12, mine);
	expect_reject(msg, 44, mine, peer);
	smc_wire_put_be32(msg + 12, 0xffffffff);
	expect_reject(msg, 44, mine, peer);
	smc_wire_put_be32(msg + 12, 0);
	smc_wire_put_be32(msg + 20, peer);
	expect_reject(msg, 44, mine, peer);
	smc_wire_put_be32(msg + 20, 0xffffffff);
	expect_reject(msg, 44, mine, peer);
	smc_wire_put_be32(msg + 20, 0);
	expect_reject(msg, 44, 0, peer);
	expect_reject(msg, 44, mine, 0);
	CHECK_EQ(smc_cdc_msg_parse(msg, 44, 1, 1, &out), 0);
}

/* With F set, the other fields of the message are neither checked nor returned. */
static void failover_has_no_cursors(void)
{
	struct smc_cdc_msg out;
	u8 msg[44];

	memset(msg, 0xff, sizeof(msg));
	msg[0] = 0xfe;
	msg[1] = 44;
	REQUIRE(!smc_cdc_msg_parse(msg, 44, 16384, 16384, &out));
	check_same(&out, &(struct smc_cdc_msg){
		.seq = 0xffff, .token = 0xffffffff,
		.flags = SMC_CDC_F_FAILOVER, .ext = SMC_CDC_EXT_ORDERLY });
}

static void reserved_bits_are_ignored(void)
{
	struct smc_cdc_msg out;
	u8 msg[44];

	memset(msg, 0xff, sizeof(msg));
	msg[0] = 0xfe;
	msg[1] = 44;
	smc_wire_put_be32(msg + 12, 1);
	smc_wire_put_be32(msg + 20, 2);
	msg[24] = 0xff & ~SMC_CDC_F_FAILOVER;
	REQUIRE(!smc_cdc_msg_parse(msg, 44, SIZE, SIZE, &out));
	CHECK_EQ(out.flags, 0xf0);
	CHECK_EQ(out.state, 0xe0);
}

static void builder_refuses(void)
{
	struct smc_cdc_msg m = { .seq = 1 };
	u8 buf[44];
	size_t cap;
	int bit;

	for (cap = 0; cap < 44; cap++) {
		u8 *p = unit_dup(buf, 0);

		CHECK_EQ(smc_cdc_msg_build(&m, p, cap), -ENOSPC);
		free(p);
	}
	for (bit = 1; bit < 0x100; bit <<= 1) {
		m = (struct smc_cdc_msg){ .flags = (u8)bit };
		CHECK_EQ(smc_cdc_msg_build(&m, buf, 44), bit < 8 ? -EINVAL : 44);
		m = (struct smc_cdc_msg){ .state = (u8)bit };
		CHECK_EQ(smc_cdc_msg_build(&m, buf, 44),
			 bit < 0x20 ? -EINVAL : 44);
	}
#define WITH_F(...) do {							\
	m = (struct smc_cdc_msg){ .flags = SMC_CDC_F_FAILOVER };	\
	__VA_ARGS__;							\
	CHECK_EQ(smc_cdc_msg_build(&m, buf, 44), -EINVAL);		\
} while (0)

	WITH_F(m.flags |= SMC_CDC_F_UPDATE_REQ);
	WITH_F(m.state = SMC_CDC_S_ABORT);
	WITH_F(m.prod.wrap = 1);
	WITH_F(m.prod.off = 1);
	WITH_F(m.cons.wrap = 1);
	WITH_F(m.cons.off = 1);
	WITH_F(m.ext = SMC_CDC_EXT_ACK_REQ);
	WITH_F(m.ext = SMC_CDC_EXT_ACK);
	WITH_F(m.ext = SMC_CDC_EXT_GO);
	WITH_F(m.ext = SMC_CDC_EXT_S);
	WITH_F(m.ext = SMC_CDC_EXT_S_ACK);
	WITH_F(m.s = 1);
	WITH_F(m.ack_seq = 1);
	WITH_F(m.older_orderly = 1U << SMC_CDC_OLDER_LINKS);
#undef WITH_F
	/* further fields that only a validation has */
	m = (struct smc_cdc_msg){ .older_orderly = 1 };
	CHECK_EQ(smc_cdc_msg_build(&m, buf, 44), -EINVAL);
	m = (struct smc_cdc_msg){ .older_links[SMC_CDC_OLDER_LINKS - 1] = 1 };
	CHECK_EQ(smc_cdc_msg_build(&m, buf, 44), -EINVAL);
	for (bit = 1; bit < 0x100; bit <<= 1) {
		m = (struct smc_cdc_msg){ .ext = (u8)bit };
		CHECK_EQ(smc_cdc_msg_build(&m, buf, 44),
			 bit & SMC_CDC_EXT_ALL & ~SMC_CDC_EXT_ORDERLY ? 44 : -EINVAL);
	}
	m = (struct smc_cdc_msg){ .s = 1 };
	CHECK_EQ(smc_cdc_msg_build(&m, buf, 44), -EINVAL);
	m = (struct smc_cdc_msg){ .ack_seq = 1 };
	CHECK_EQ(smc_cdc_msg_build(&m, buf, 44), -EINVAL);
}

/* Any 44 bytes are either refused or survive a round trip. */
static void mutations(void)
{
	size_t g, i;
	int v;

	for (g = 0; g < ARRAY_SIZE(golden); g++) {
		u8 msg[44], again[44];
		struct smc_cdc_msg a, b;

		unit_hex(golden[g].hex, msg, sizeof(msg));
		for (i = 0; i < sizeof(msg); i++) {
			u8 old = msg[i];

			for (v = 0; v < 256; v++) {
				msg[i] = (u8)v;
				if (smc_cdc_msg_parse(msg, 44, SIZE, SIZE, &a))
					continue;
				CHECK(a.prod.off < SIZE && a.cons.off < SIZE);
				REQUIRE(smc_cdc_msg_build(&a, again, 44) == 44);
				REQUIRE(!smc_cdc_msg_parse(again, 44, SIZE,
							   SIZE, &b));
				check_same(&b, &a);
			}
			msg[i] = old;
		}
	}
}

/* ---- immediate values ---- */

static void imm_layout(void)
{
	CHECK_EQ(smc_cdc_imm_build(0x11223344, 0xaabbccddULL), 0x44bbccdd);
	CHECK_EQ(smc_cdc_imm_get_index(0x44bbccdd), 0x44);
	CHECK_EQ(smc_cdc_imm_get_advance(0x44bbccdd, 0xaabbccddULL), 0);
	CHECK_EQ(smc_cdc_imm_get_advance(0x44bbccdd, 0x12bbccd0ULL), 13);
	/* across the end of 24 bits, both ways */
	CHECK_EQ(smc_cdc_imm_get_advance(0xff000005, 0xfffffeULL), 7);
	CHECK_EQ(smc_cdc_imm_get_advance(0xfffffffe, 0x1000005ULL), -7);
	CHECK_EQ(smc_cdc_imm_get_advance(SMC_CDC_IMM_RMBE_MAX, 0), (s32)SMC_CDC_IMM_RMBE_MAX);
	CHECK_EQ(smc_cdc_imm_get_advance(0, SMC_CDC_IMM_RMBE_MAX), -(s32)SMC_CDC_IMM_RMBE_MAX);
}

/* A merged message is the one that the sender would have sent, whatever the ring and position. */
static void imm_merges(void)
{
	int i;

	for (i = 0; i < 20000; i++) {
		u32 size = SMC_RMBE_SIZE_MIN << unit_below(9);
		u64 pos = unit_rand() & 0xffffffffffULL, next = pos + 1 + unit_below(size);
		struct smc_cdc_msg msg = {
			.seq = (u16)unit_rand(), .token = (u32)unit_rand(),
			.flags = SMC_CDC_F_BLOCKED | SMC_CDC_F_URG_PENDING, .cons.off = 5,
			.ext = SMC_CDC_EXT_ACK | SMC_CDC_EXT_GO | SMC_CDC_EXT_S | SMC_CDC_EXT_S_ACK,
			.ack_seq = 9, .s = 77,
		}, want = {
			.token = msg.token, .cons.off = 5, .seq = (u16)(msg.seq + 1),
			.flags = SMC_CDC_F_BLOCKED, .ext = SMC_CDC_EXT_S_ACK,
		};
		u8 buf[SMC_CDC_LEN], expected[SMC_CDC_LEN];

		REQUIRE(size <= SMC_CDC_IMM_RMBE_MAX);
		smc_cursor_from_pos(pos, size, &msg.prod);
		smc_cursor_from_pos(next, size, &want.prod);
		smc_cdc_msg_build(&msg, buf, sizeof(buf));
		smc_cdc_msg_build(&want, expected, sizeof(expected));
		CHECK_EQ(smc_cdc_imm_merge(buf, size, smc_cdc_imm_build(msg.token, next)), 0);
		CHECK_MEM(buf, expected, sizeof(buf));
	}
}

static void imm_refused(void)
{
	struct smc_cdc_msg msg = { .seq = 1, .token = 2, .prod.off = 100 };
	u8 buf[SMC_CDC_LEN], same[SMC_CDC_LEN];

	smc_cdc_msg_build(&msg, buf, sizeof(buf));
	memcpy(same, buf, sizeof(same));
	/* no progress, backwards, beyond the RMBE, an RMBE that is too large */
	CHECK_EQ(smc_cdc_imm_merge(buf, 16384, 100), -EPROTO);
	CHECK_EQ(smc_cdc_imm_merge(buf, 16384, 99), -EPROTO);
	CHECK_EQ(smc_cdc_imm_merge(buf, 16384, 100 + 16385), -EPROTO);
	CHECK_EQ(smc_cdc_imm_merge(buf, SMC_CDC_IMM_RMBE_MAX * 2, 101), -EPROTO);
	CHECK_MEM(buf, same, sizeof(buf));
	CHECK_EQ(smc_cdc_imm_merge(buf, 16384, 100 + 16384), 0);
	memset(&msg, 0, sizeof(msg));
	msg.flags = SMC_CDC_F_FAILOVER;
	smc_cdc_msg_build(&msg, buf, sizeof(buf));
	CHECK_EQ(smc_cdc_imm_merge(buf, 16384, 1), -EPROTO);
}

static const struct unit_case cases[] = {
	UNIT_CASE(golden_bytes),
	UNIT_CASE(field_places),
	UNIT_CASE(random_round_trips),
	UNIT_CASE(wrong_lengths),
	UNIT_CASE(wrong_headers),
	UNIT_CASE(cursor_ranges),
	UNIT_CASE(failover_has_no_cursors),
	UNIT_CASE(reserved_bits_are_ignored),
	UNIT_CASE(builder_refuses),
	UNIT_CASE(mutations),
	UNIT_CASE(imm_layout),
	UNIT_CASE(imm_merges),
	UNIT_CASE(imm_refused),
};

UNIT_MAIN("cdc", cases)
