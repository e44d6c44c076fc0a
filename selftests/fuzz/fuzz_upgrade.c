// SPDX-License-Identifier: GPL-2.0-only
/*
 * UPGRADE messages of any bytes, and what a misbehaving peer does to one end of an upgrade: events
 * in any order, any S, any TCP. An end never goes back from SMC, takes one S only, and never shows
 * a byte of TCP behind it.
 *
 * Input: 44 bytes of a message, then steps of an event and its operand.
 */
#include <smc/proto/upgrade.h>
#include <smc/proto/upgrade_msg.h>
#include "fuzz.h"

static void check_message(const u8 *data, size_t size)
{
	u8 a[SMC_UPGRADE_MSG_LEN], b[SMC_UPGRADE_MSG_LEN];
	struct smc_upgrade_msg m;

	if (smc_upgrade_msg_parse(data, size, &m))
		return;
	FUZZ_ASSERT(smc_upgrade_msg_build(&m, a, sizeof(a)) == SMC_UPGRADE_MSG_LEN);
	FUZZ_ASSERT(!smc_upgrade_msg_parse(a, sizeof(a), &m));
	FUZZ_ASSERT(smc_upgrade_msg_build(&m, b, sizeof(b)) == SMC_UPGRADE_MSG_LEN);
	FUZZ_ASSERT(!memcmp(a, b, sizeof(a)));
}

int fuzz_one_input(const u8 *data, size_t size)
{
	size_t head = size < SMC_UPGRADE_MSG_LEN ? size : SMC_UPGRADE_MSG_LEN;
	struct fuzz_input in = { data + head, size - head };
	struct smc_upgrade_slots slots = { };
	struct smc_upgrade_rx_s s = { };
	struct smc_upgrade_tcp tcp = { };
	struct smc_upgrade up = { };

	check_message(data, head);
	while (in.left) {
		u32 ev = fuzz_take(&in, 1), arg = fuzz_take(&in, 2), act, number;
		struct smc_upgrade was = up;
		struct smc_upgrade_rx_s known = s;
		struct smc_upgrade_news news = {
			.has_s = ev & 0x20, .data = ev & 0x40, .end = ev & 0x80,
			.s = tcp.received + (s16)arg,
		};
		int rc = smc_upgrade_step(&up, (enum smc_upgrade_event)(ev & 0x1f), &act);

		FUZZ_ASSERT(!rc || (!act && !memcmp(&was, &up, sizeof(up))));
		FUZZ_ASSERT(was.agree != SMC_UPGRADE_SMC || up.agree == SMC_UPGRADE_SMC);
		FUZZ_ASSERT(was.tx < SMC_UPGRADE_TX_RING || up.tx >= SMC_UPGRADE_TX_RING);
		rc = smc_upgrade_rx_take(&s, &tcp, up.rx, &news);
		FUZZ_ASSERT(!known.known || s.s == known.s);
		FUZZ_ASSERT(rc != SMC_UPGRADE_S_NEW || s.s >= tcp.received);
		tcp.received += arg & 0xff;
		tcp.fin |= arg == 0x100;
		tcp.read += smc_upgrade_rx_tcp_part(&s, &tcp) & arg;
		FUZZ_ASSERT(!s.known || tcp.read <= s.s);
		number = arg % 64 + 1;
		if (smc_upgrade_slots_take(&slots, number, ev & 1) == SMC_UPGRADE_JUDGE)
			smc_upgrade_slots_note(&slots, number,
					       (enum smc_upgrade_reason)(ev % SMC_UPGRADE_REASONS));
		FUZZ_ASSERT(smc_upgrade_slots_take(&slots, number, false) != SMC_UPGRADE_JUDGE);
	}
	return 0;
}
