// SPDX-License-Identifier: GPL-2.0-only
/* Upgrade in place: tables, arithmetic of S, records and messages (proto/upgrade_*.c). */
#include "unit.h"

#include <smc/proto/upgrade.h>
#include <smc/proto/upgrade_msg.h>

#define ACT(name)	SMC_UPGRADE_ACT_##name
#define EV(name)	SMC_UPGRADE_EV_##name
#define GIB4		0x100000000ULL

/* ---- tables ---- */

static struct smc_upgrade states(unsigned int agree, unsigned int tx, unsigned int rx)
{
	return (struct smc_upgrade){ (enum smc_upgrade_agree)agree, (enum smc_upgrade_tx)tx,
				     (enum smc_upgrade_rx)rx };
}

static bool is_same(const struct smc_upgrade *a, const struct smc_upgrade *b)
{
	return a->agree == b->agree && a->tx == b->tx && a->rx == b->rx;
}

/* An illegal event changes nothing; a legal one leads to a state that exists. */
static void walk(void)
{
	unsigned int a, t, r, e, legal = 0;

	for (a = 0; a < SMC_UPGRADE_AGREES; a++) {
		for (t = 0; t < SMC_UPGRADE_TXS; t++) {
			for (r = 0; r < SMC_UPGRADE_RXS; r++) {
				for (e = 0; e <= SMC_UPGRADE_EVENTS; e++) {
					struct smc_upgrade was = states(a, t, r), up = was;
					enum smc_upgrade_event ev = (enum smc_upgrade_event)e;
					u32 act = ~0U;
					int rc = smc_upgrade_step(&up, ev, &act);

					CHECK(!(act >> SMC_UPGRADE_ACTIONS));
					CHECK(up.agree < SMC_UPGRADE_AGREES &&
					      up.tx < SMC_UPGRADE_TXS && up.rx < SMC_UPGRADE_RXS);
					if (!rc) {
						legal++;
						continue;
					}
					CHECK(is_same(&was, &up) && !act);
					CHECK_EQ(rc, smc_upgrade_event_is_from_peer(ev) ? -EPROTO :
											  -EINVAL);
				}
			}
		}
	}
	CHECK(legal > 1000);
}

/* From SMC nothing leads back, and S is fixed once. */
static void laws(void)
{
	unsigned int a, t, e;
	u32 act;

	for (e = 0; e < SMC_UPGRADE_EVENTS; e++) {
		for (t = 0; t < SMC_UPGRADE_TXS; t++) {
			struct smc_upgrade up = states(SMC_UPGRADE_SMC, t, SMC_UPGRADE_RX_OPEN);
			bool fixed = t >= SMC_UPGRADE_TX_RING;

			smc_upgrade_step(&up, (enum smc_upgrade_event)e, &act);
			CHECK_EQ(up.agree, SMC_UPGRADE_SMC);
			CHECK(!(act & (ACT(RELEASE) | ACT(QUARANTINE))));
			CHECK(!fixed || up.tx >= SMC_UPGRADE_TX_RING);
			CHECK(!fixed || e != EV(GATE_SHUT) || !act);
		}
		/* every end before SMC frees the element, or leaves it to the group */
		for (a = 0; a < SMC_UPGRADE_AGREES; a++) {
			struct smc_upgrade up = states(a, SMC_UPGRADE_TX_TCP,
						       a == SMC_UPGRADE_ANSWERED ||
						       a == SMC_UPGRADE_FAILED ?
						       SMC_UPGRADE_RX_OPEN : SMC_UPGRADE_RX_TCP);
			bool held = a != SMC_UPGRADE_TCP && a != SMC_UPGRADE_DEAD;

			smc_upgrade_step(&up, (enum smc_upgrade_event)e, &act);
			if (up.agree == SMC_UPGRADE_TCP && held)
				CHECK(act & ACT(RELEASE) && up.rx == SMC_UPGRADE_RX_TCP);
			else if (up.agree == SMC_UPGRADE_DEAD && held)
				CHECK(act & ACT(QUARANTINE) && act & ACT(RESET_TCP));
			else
				CHECK(!(act & (ACT(RELEASE) | ACT(QUARANTINE))));
		}
	}
}

static void run(struct smc_upgrade *up, enum smc_upgrade_event event, u32 want)
{
	u32 act;

	CHECK_EQ(smc_upgrade_step(up, event, &act), 0);
	if (act != want)
		FAIL("%s: actions %x, not %x", smc_upgrade_event_str(event), act, want);
}

static void client_course(void)
{
	struct smc_upgrade up = { 0 };

	run(&up, EV(ASK), ACT(CLAIM) | ACT(SEND_REQUEST));
	run(&up, EV(PEER_ACCEPTED), ACT(POST_GO));
	run(&up, EV(GO_POSTED), ACT(CONN_UP) | ACT(ARM_TIMER) | ACT(TRY_GATE));
	run(&up, EV(PEER_ACCEPTED), 0);
	run(&up, EV(GATE_SHUT), ACT(SEND_CDC) | ACT(WAKE_WRITERS));
	run(&up, EV(PEER_ACK), ACT(FREE_SLOT) | ACT(CANCEL_TIMER));
	run(&up, EV(PEER_S), ACT(SEND_CDC) | ACT(WAKE_READERS) | ACT(CANCEL_TIMER));
	run(&up, EV(TCP_REACHED), ACT(WAKE_READERS));
	/* TCP still has bytes of ours */
	run(&up, EV(TCP_ERROR), ACT(CONN_ABORT));
	run(&up, EV(TCP_ACKED), ACT(CONN_TAKE_C));
	run(&up, EV(TCP_ACKED), 0);
	run(&up, EV(TCP_ERROR), 0);
	run(&up, EV(TCP_RST), ACT(CONN_RST));
	run(&up, EV(TIMEOUT), 0);
	CHECK_EQ(smc_upgrade_may_exclude(&up), -EOPNOTSUPP);
}

static void server_course(void)
{
	struct smc_upgrade up = { 0 };

	run(&up, EV(ACCEPT), ACT(CLAIM) | ACT(SEND_ACCEPT) | ACT(ARM_TIMER));
	CHECK_EQ(smc_upgrade_may_exclude(&up), -EAGAIN);
	run(&up, EV(FIN), ACT(ARM_TIMER));
	run(&up, EV(CLOSE), 0);
	run(&up, EV(PEER_GO), ACT(CONN_UP) | ACT(SEND_CDC) | ACT(CANCEL_TIMER) | ACT(TRY_GATE));
	run(&up, EV(GATE_SHUT), ACT(CONN_CLOSE) | ACT(SEND_CDC));
	CHECK_EQ(up.tx, SMC_UPGRADE_TX_END);
	CHECK_EQ(up.rx, SMC_UPGRADE_RX_OPEN);
}

/* A client that breaks the protocol before GO: the states of both directions stay. */
static void dead_server(void)
{
	struct smc_upgrade up = { 0 }, was;

	run(&up, EV(ACCEPT), ACT(CLAIM) | ACT(SEND_ACCEPT) | ACT(ARM_TIMER));
	run(&up, EV(VIOLATION), ACT(RESET_TCP) | ACT(QUARANTINE) | ACT(CANCEL_TIMER) |
				ACT(REPORT_RESET));
	was = up;
	run(&up, EV(PEER_GO), 0);
	run(&up, EV(PEER_WITHDRAWAL), 0);
	run(&up, EV(SHUT), 0);
	run(&up, EV(CLOSE), 0);
	run(&up, EV(PEER_GO), 0);
	CHECK(is_same(&was, &up));
}

static void names(void)
{
	unsigned int i;

	for (i = 0; i < SMC_UPGRADE_AGREES; i++)
		CHECK(strcmp(smc_upgrade_agree_str((enum smc_upgrade_agree)i), "?"));
	for (i = 0; i < SMC_UPGRADE_TXS; i++)
		CHECK(strcmp(smc_upgrade_tx_str((enum smc_upgrade_tx)i), "?"));
	for (i = 0; i < SMC_UPGRADE_RXS; i++)
		CHECK(strcmp(smc_upgrade_rx_str((enum smc_upgrade_rx)i), "?"));
	for (i = 0; i < SMC_UPGRADE_EVENTS; i++)
		CHECK(strcmp(smc_upgrade_event_str((enum smc_upgrade_event)i), "?"));
	for (i = 0; i < SMC_UPGRADE_ACTIONS; i++)
		CHECK(strcmp(smc_upgrade_action_str(1u << i), "?"));
	CHECK(!strcmp(smc_upgrade_agree_str(SMC_UPGRADE_AGREES), "?"));
	CHECK(!strcmp(smc_upgrade_tx_str(SMC_UPGRADE_TXS), "?"));
	CHECK(!strcmp(smc_upgrade_rx_str(SMC_UPGRADE_RXS), "?"));
	CHECK(!strcmp(smc_upgrade_event_str(SMC_UPGRADE_EVENTS), "?"));
	CHECK(!strcmp(smc_upgrade_action_str(1u << SMC_UPGRADE_ACTIONS), "?"));
}

static void gate(void)
{
	u32 gate = 0;

	CHECK(smc_upgrade_gate_enter(gate, &gate));
	CHECK(smc_upgrade_gate_enter(gate, &gate));
	CHECK(!smc_upgrade_gate_shut(gate, &gate));
	gate = smc_upgrade_gate_leave(gate);
	CHECK(!smc_upgrade_gate_shut(gate, &gate));
	gate = smc_upgrade_gate_leave(gate);
	CHECK_EQ(gate, 0);
	CHECK(smc_upgrade_gate_shut(gate, &gate));
	CHECK(!smc_upgrade_gate_enter(gate, &gate));
	CHECK(!smc_upgrade_gate_shut(gate, &gate));
}

/* ---- byte S ---- */

static void positions(void)
{
	unsigned int i;

	/* the counter of TCP includes the SYN of a client; FIN is in the sequence number */
	CHECK_EQ(smc_upgrade_tx_s(100, 100, false, 1), 0);
	CHECK_EQ(smc_upgrade_tx_s(100, 101, true, 1), 0);
	CHECK_EQ(smc_upgrade_tx_s(0xfffffff0, 0x10, false, 5), 0x20);
	CHECK_EQ(smc_upgrade_tx_s(7, 7, false, GIB4 + 1), GIB4);
	CHECK_EQ(smc_upgrade_tx_s(7, 6, false, GIB4 - 3), GIB4 - 1);
	CHECK_EQ(smc_upgrade_pos_of_seq(100, 99, 0), 0);
	for (i = 0; i < 100000; i++) {
		u64 pos = unit_rand() >> unit_below(60), near = pos + unit_below(0x7fffffff);
		u32 first = (u32)unit_rand();

		CHECK_EQ(smc_upgrade_pos_of_seq(first, first + (u32)pos, near), pos);
		near = pos > 0x7fffffff ? pos - unit_below(0x7fffffff) : 0;
		if (pos - near < 0x7fffffff)
			CHECK_EQ(smc_upgrade_pos_of_seq(first, first + (u32)pos, near), pos);
	}
}

static int take(struct smc_upgrade_rx_s *rx, u64 received, bool fin, enum smc_upgrade_rx state,
		struct smc_upgrade_news news)
{
	struct smc_upgrade_tcp tcp = { .received = received, .fin = fin };
	struct smc_upgrade_rx_s was = *rx;
	int rc = smc_upgrade_rx_take(rx, &tcp, state, &news);

	if (rc != SMC_UPGRADE_S_NEW)
		CHECK(was.known == rx->known && was.s == rx->s);
	return rc;
}

#define TAKE(received, fin, state, ...)						\
	take(&rx, received, fin, SMC_UPGRADE_RX_##state, (struct smc_upgrade_news){ __VA_ARGS__ })

static void hostile_s(void)
{
	struct smc_upgrade_rx_s rx = { 0 };

	/* ring data or an end before S */
	CHECK_EQ(TAKE(5, false, OPEN, .data = true), -EPROTO);
	CHECK_EQ(TAKE(5, false, OPEN, .end = true), -EPROTO);
	CHECK_EQ(TAKE(5, false, OPEN, 0), SMC_UPGRADE_S_NONE);
	/* less than was received, more than TCP can have, not where FIN is */
	CHECK_EQ(TAKE(5, false, OPEN, .has_s = true, .s = 4), -EPROTO);
	CHECK_EQ(TAKE(5, false, OPEN, .has_s = true, .s = 5 + 0x80000000ULL), -EPROTO);
	CHECK_EQ(TAKE(5, false, OPEN, .has_s = true, .s = ~0ULL), -EPROTO);
	CHECK_EQ(TAKE(5, true, OPEN, .has_s = true, .s = 6), -EPROTO);
	/* the reader has seen the end */
	CHECK_EQ(TAKE(5, true, OPEN_END, .has_s = true, .s = 5), -EPROTO);
	CHECK_EQ(TAKE(5, false, OPEN, .has_s = true, .s = 7, .data = true), SMC_UPGRADE_S_NEW);
	CHECK_EQ(rx.s, 7);
	/* never another one */
	CHECK_EQ(TAKE(5, false, TAIL, .has_s = true, .s = 7), SMC_UPGRADE_S_SAME);
	CHECK_EQ(TAKE(5, false, TAIL, .has_s = true, .s = 8), -EPROTO);
	CHECK_EQ(TAKE(5, false, TAIL, .data = true, .end = true), SMC_UPGRADE_S_NONE);
}

static void reading(void)
{
	struct smc_upgrade_rx_s rx = { .s = GIB4 + 10, .known = true };
	struct smc_upgrade_tcp tcp = { .received = GIB4 + 8, .read = GIB4 + 5 };
	u32 ring = 4;

	CHECK_EQ(smc_upgrade_rx_check_tcp(&rx, &tcp), 0);
	CHECK_EQ(smc_upgrade_rx_readable(&rx, &tcp, ring), 3);
	tcp.fin = true;
	CHECK_EQ(smc_upgrade_rx_check_tcp(&rx, &tcp), -EPROTO);
	tcp.received = rx.s;
	CHECK_EQ(smc_upgrade_rx_check_tcp(&rx, &tcp), 1);
	CHECK_EQ(smc_upgrade_rx_readable(&rx, &tcp, ring), 9);
	CHECK_EQ(smc_upgrade_rx_readable(&rx, &tcp, 0xffffffff), 0x7fffffff);
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_RING, &rx, &tcp, 0, true));
	tcp.received++;
	CHECK_EQ(smc_upgrade_rx_check_tcp(&rx, &tcp), -EPROTO);
	CHECK_EQ(smc_upgrade_rx_tcp_part(&rx, &tcp), 5);
	tcp.received = rx.s;
	tcp.read = rx.s;
	CHECK(smc_upgrade_rx_at_end(SMC_UPGRADE_RX_RING, &rx, &tcp, 0, true));
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_RING, &rx, &tcp, 0, false));
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_RING, &rx, &tcp, 1, true));
	/* neither the ring nor the end is seen behind a hole */
	tcp.lost = true;
	CHECK_EQ(smc_upgrade_rx_readable(&rx, &tcp, ring), 0);
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_RING, &rx, &tcp, 0, true));
	tcp.lost = false;
	/* read before the last byte of TCP came, which the state knows */
	tcp.received = rx.s - 1;
	tcp.read = rx.s - 1;
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_RING, &rx, &tcp, 0, true));
	tcp.received = rx.s;
	tcp.read = rx.s;
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_OPEN, &rx, &tcp, 0, true));
	rx.known = false;
	CHECK(!smc_upgrade_rx_at_end(SMC_UPGRADE_RX_OPEN, &rx, &tcp, 0, false));
	CHECK(smc_upgrade_rx_at_end(SMC_UPGRADE_RX_TCP, &rx, &tcp, 0, false));
}

/* ---- requests ---- */

static void records(void)
{
	struct smc_upgrade_slots s = { };
	u32 n = 8;

	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_JUDGE);
	smc_upgrade_slots_note(&s, n, SMC_UPGRADE_YES);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_REPEAT_YES);
	/* a client does not use the slot before GO or its withdrawal */
	CHECK_EQ(smc_upgrade_slots_take(&s, n + 8, false), SMC_UPGRADE_DROP);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, true), SMC_UPGRADE_UNBIND);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, true), SMC_UPGRADE_REPLY_WITHDRAWN);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_REPLY_WITHDRAWN);
	/* the request of this withdrawal is late, or lost */
	CHECK_EQ(smc_upgrade_slots_take(&s, n + 8, true), SMC_UPGRADE_REPLY_WITHDRAWN);
	CHECK_EQ(smc_upgrade_slots_take(&s, n + 8, false), SMC_UPGRADE_REPLY_WITHDRAWN);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_DROP);
	n += 16;
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_JUDGE);
	smc_upgrade_slots_note(&s, n, SMC_UPGRADE_MEMORY);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_REPEAT_NO);
	CHECK_EQ(s.reason[0], SMC_UPGRADE_MEMORY);
	n += 8;
	smc_upgrade_slots_note(&s, n, SMC_UPGRADE_YES);
	smc_upgrade_slots_finish(&s, n - 8);
	CHECK_EQ(s.record[0], SMC_UPGRADE_REC_BOUND);
	smc_upgrade_slots_finish(&s, n);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_DROP);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, true), SMC_UPGRADE_DROP);
	/* numbers wrap, without 0 */
	s.number[0] = 0xfffffff8;
	n = smc_upgrade_number_next(0xfffffff8);
	CHECK_EQ(n, 8);
	CHECK_EQ(smc_upgrade_slots_take(&s, n, false), SMC_UPGRADE_JUDGE);
	CHECK_EQ(smc_upgrade_slots_take(&s, 0xfffffff0, false), SMC_UPGRADE_DROP);
}

static void proofs(void)
{
	struct smc_upgrade_proof a = { 1, 2, 3, 4 }, b = a;

	CHECK(smc_upgrade_proof_matches(&a, &b));
	b.client_port++;
	CHECK(!smc_upgrade_proof_matches(&a, &b));
	b = a;
	b.server_port++;
	CHECK(!smc_upgrade_proof_matches(&a, &b));
	b = a;
	b.client_seq++;
	CHECK(!smc_upgrade_proof_matches(&a, &b));
	b = a;
	b.server_seq++;
	CHECK(!smc_upgrade_proof_matches(&a, &b));
}

/* ---- messages ---- */

static const struct {
	const char *hex;
	struct smc_upgrade_msg msg;
} golden[] = {
	{
		"b12c0000 d2534d14 00000010 9c400050 11223344 55667788\n"
		"00000102 000a0b0c 0102030405060708 03020000",
		{ .kind = SMC_UPGRADE_REQUEST, .number = 16,
		  .proof = { 40000, 80, 0x11223344, 0x55667788 }, .token = 0x102,
		  .rkey = 0xa0b0c, .vaddr = 0x0102030405060708ULL, .rmbe_idx = 3, .bsize = 2,
		  .hint = 20 },
	}, {
		"b12c0080 d2534d00 00000010 00000000 00000000 00000000\n"
		"00000103 000a0b0d 0102030405060709 04050000",
		{ .kind = SMC_UPGRADE_ACCEPTED, .number = 16, .token = 0x103, .rkey = 0xa0b0d,
		  .vaddr = 0x0102030405060709ULL, .rmbe_idx = 4, .bsize = 5 },
	}, {
		"b12c02a0 d2534d00 00000010 00000000 00000000 00000000\n"
		"00000000 00000000 0000000000000000 00000000",
		{ .kind = SMC_UPGRADE_REFUSED, .number = 16, .reason = SMC_UPGRADE_LATER },
	}, {
		"b12c0040 d2534d00 00000010 00000000 00000000 00000000\n"
		"00000000 00000000 0000000000000000 00000000",
		{ .kind = SMC_UPGRADE_WITHDRAWAL, .number = 16 },
	}, {
		"b12c00c0 d2534d00 00000010 00000000 00000000 00000000\n"
		"00000000 00000000 0000000000000000 00000000",
		{ .kind = SMC_UPGRADE_CONFIRMED, .number = 16 },
	},
};

static void check_same(const struct smc_upgrade_msg *a, const struct smc_upgrade_msg *b)
{
	CHECK_EQ(a->kind, b->kind);
	CHECK_EQ(a->number, b->number);
	CHECK_EQ(a->reason, b->reason);
	CHECK(smc_upgrade_proof_matches(&a->proof, &b->proof));
	CHECK_EQ(a->token, b->token);
	CHECK_EQ(a->rkey, b->rkey);
	CHECK_EQ(a->vaddr, b->vaddr);
	CHECK_EQ(a->rmbe_idx, b->rmbe_idx);
	CHECK_EQ(a->bsize, b->bsize);
	CHECK_EQ(a->hint, b->hint);
}

static void golden_bytes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u8 want[64], buf[64];
		size_t len = unit_hex(golden[i].hex, want, sizeof(want));
		struct smc_upgrade_msg msg;

		CHECK_EQ(len, SMC_UPGRADE_MSG_LEN);
		REQUIRE(!smc_upgrade_msg_parse(want, len, &msg));
		check_same(&msg, &golden[i].msg);
		CHECK_EQ(smc_upgrade_msg_build(&golden[i].msg, buf, sizeof(buf)),
			 SMC_UPGRADE_MSG_LEN);
		CHECK_MEM(buf, want, len);
		CHECK_EQ(smc_upgrade_msg_build(&golden[i].msg, buf, len - 1), -ENOSPC);
	}
}

static void expect(u8 *buf, size_t len, int want)
{
	u8 *p = unit_dup(buf, len);
	struct smc_upgrade_msg out;

	memset(&out, 0x5a, sizeof(out));
	CHECK_EQ(smc_upgrade_msg_parse(p, len, &out), want);
	CHECK(out.kind == 0x5a || !want);
	free(p);
}

static void with(size_t off, u8 value, int want)
{
	u8 buf[64];
	size_t len = unit_hex(golden[0].hex, buf, sizeof(buf));

	buf[off] = value;
	expect(buf, len, want);
}

static void refused(void)
{
	struct smc_upgrade_msg m = golden[0].msg;
	u8 buf[64];
	size_t len, i;

	unit_hex(golden[0].hex, buf, sizeof(buf));
	for (len = 0; len <= sizeof(buf); len++)
		expect(buf, len, len == 44 ? 0 : -EPROTO);
	with(0, 0xb0, -ENOMSG);
	for (i = 4; i < 7; i++)
		with(i, 0, -ENOMSG);
	with(1, 45, -EPROTO);
	with(2, 1, -EPROTO);		/* a reason in a request */
	with(3, 0x20, -EPROTO);		/* flags of no kind */
	with(3, 0x60, -EPROTO);
	with(3, 0xe0, -EPROTO);
	with(3, 0x1f, 0);		/* unknown flags */
	with(3, 0xa0, -EPROTO);		/* refused without a reason */
	with(7, 64, -EPROTO);
	with(11, 0, -EPROTO);		/* number 0 */
	with(40, 0, -EPROTO);		/* RMBE 0 */
	with(41, 16, -EPROTO);
	with(42, 0xff, 0);		/* reserved */
	m.kind = 5;
	CHECK_EQ(smc_upgrade_msg_build(&m, buf, sizeof(buf)), -EINVAL);
	m = golden[0].msg;
	m.proof.server_port = 0;
	CHECK_EQ(smc_upgrade_msg_build(&m, buf, sizeof(buf)), -EINVAL);
}

/* Whatever the bytes are: refused, or the same again. */
static void mutations(void)
{
	unsigned int i, n, good = 0;

	for (i = 0; i < 200000; i++) {
		u8 buf[64], again[64];
		struct smc_upgrade_msg a, b;

		unit_hex(golden[unit_below(ARRAY_SIZE(golden))].hex, buf, sizeof(buf));
		for (n = unit_below(4); n; n--)
			buf[unit_below(44)] ^= (u8)(1 << unit_below(8));
		if (smc_upgrade_msg_parse(buf, 44, &a))
			continue;
		good++;
		REQUIRE(smc_upgrade_msg_build(&a, again, sizeof(again)) == 44);
		REQUIRE(!smc_upgrade_msg_parse(again, 44, &b));
		check_same(&a, &b);
	}
	CHECK(good > 10000);
}

static const struct unit_case cases[] = {
	UNIT_CASE(walk),
	UNIT_CASE(laws),
	UNIT_CASE(client_course),
	UNIT_CASE(server_course),
	UNIT_CASE(dead_server),
	UNIT_CASE(names),
	UNIT_CASE(gate),
	UNIT_CASE(positions),
	UNIT_CASE(hostile_s),
	UNIT_CASE(reading),
	UNIT_CASE(records),
	UNIT_CASE(proofs),
	UNIT_CASE(golden_bytes),
	UNIT_CASE(refused),
	UNIT_CASE(mutations),
};

UNIT_MAIN("upgrade", cases)
