// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a CDC message for rings of any two sizes; the first byte of
 * the input selects the sizes.
 */
#include <smc/proto/cdc_msg.h>
#include "fuzz.h"

int fuzz_one_input(const u8 *data, size_t size)
{
	u32 my_size, peer_size, token = 0;
	u8 a[SMC_CDC_LEN], b[SMC_CDC_LEN];
	struct smc_cdc_msg m;

	if (!size)
		return 0;
	my_size = smc_wire_bsize_to_len(data[0] >> 4);
	peer_size = smc_wire_bsize_to_len(data[0]);
	data++;
	size--;
	if (smc_cdc_msg_parse(data, size, my_size, peer_size, &m))
		return 0;
	FUZZ_ASSERT(!smc_cdc_msg_token(data, size, &token));
	FUZZ_ASSERT(token == m.token);
	FUZZ_ASSERT(m.prod.off < my_size && m.cons.off < peer_size);
	FUZZ_ASSERT(smc_cdc_msg_build(&m, a, sizeof(a)) == SMC_CDC_LEN);
	FUZZ_ASSERT(!smc_cdc_msg_parse(a, sizeof(a), my_size, peer_size, &m));
	FUZZ_ASSERT(smc_cdc_msg_build(&m, b, sizeof(b)) == SMC_CDC_LEN);
	FUZZ_ASSERT(!memcmp(a, b, sizeof(a)));
	return 0;
}
