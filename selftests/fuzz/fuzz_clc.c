// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a CLC message. An accepted message has to be within the documented
 * bounds. Building the parsed message, parsing and building again has to give
 * the same bytes.
 */
#include <smc/proto/clc_msg.h>
#include <smc/proto/peer_caps.h>
#include "fuzz.h"

static void check_proposal(const u8 *data, size_t size)
{
	u8 a[SMC_CLC_BUILD_MAX], b[SMC_CLC_BUILD_MAX];
	struct smc_clc_proposal p;
	int len, i;

	if (smc_clc_parse_proposal(data, size, &p))
		return;
	FUZZ_ASSERT(p.version >= 1 && p.version <= 15);
	FUZZ_ASSERT(p.v6_count <= SMC_CLC_MAX_PREFIX6 && p.v4_len <= 32);
	for (i = 0; i < p.v6_count; i++)
		FUZZ_ASSERT(p.v6[i].len <= 128);
	FUZZ_ASSERT(p.v2.eid_count <= SMC_CLC_MAX_EIDS);
	(void)smc_clc_check_proposal(&p);
	(void)smc_peer_caps_of_proposal(&p);
	len = smc_clc_build_proposal(&p, a, sizeof(a));
	/* A peer may offer what this module never sends. */
	if (len == -EINVAL)
		return;
	FUZZ_ASSERT(len > 0 && (size_t)len <= size);
	FUZZ_ASSERT(!smc_clc_parse_proposal(a, (size_t)len, &p));
	FUZZ_ASSERT(smc_clc_build_proposal(&p, b, sizeof(b)) == len);
	FUZZ_ASSERT(!memcmp(a, b, (size_t)len));
}

static void check_accept(const u8 *data, size_t size)
{
	u8 a[SMC_CLC_BUILD_MAX], b[SMC_CLC_BUILD_MAX];
	struct smc_clc_accept x;
	int len;

	if (smc_clc_parse_accept(data, size, &x))
		return;
	FUZZ_ASSERT(x.version == 1 || x.version == 2);
	FUZZ_ASSERT(x.rmbe_idx && x.bsize <= 15 && x.mtu <= 15);
	FUZZ_ASSERT(x.qpn <= 0xffffff && x.psn <= 0xffffff);
	FUZZ_ASSERT(x.gid_count <= SMC_CLC_MAX_GIDS);
	(void)smc_clc_check_accept(&x);
	(void)smc_peer_caps_of_fce(&x.fce);
	len = smc_clc_build_accept(&x, a, sizeof(a));
	FUZZ_ASSERT(len > 0 && (size_t)len <= size);
	FUZZ_ASSERT(!smc_clc_parse_accept(a, (size_t)len, &x));
	FUZZ_ASSERT(smc_clc_build_accept(&x, b, sizeof(b)) == len);
	FUZZ_ASSERT(!memcmp(a, b, (size_t)len));
}

static void check_decline(const u8 *data, size_t size)
{
	u8 a[SMC_CLC_BUILD_MAX], b[SMC_CLC_BUILD_MAX];
	struct smc_clc_decline d;
	int len;

	if (smc_clc_parse_decline(data, size, &d))
		return;
	FUZZ_ASSERT(smc_clc_reason_str(d.diag));
	len = smc_clc_build_decline(&d, a, sizeof(a));
	if (len == -EINVAL) {
		FUZZ_ASSERT(d.version > 2);
		return;
	}
	FUZZ_ASSERT(len > 0 && (size_t)len <= size);
	FUZZ_ASSERT(!smc_clc_parse_decline(a, (size_t)len, &d));
	FUZZ_ASSERT(smc_clc_build_decline(&d, b, sizeof(b)) == len);
	FUZZ_ASSERT(!memcmp(a, b, (size_t)len));
}

static void check_message(const u8 *data, size_t size)
{
	struct smc_clc_head h;

	if (size >= SMC_CLC_HEAD_LEN && !smc_clc_parse_header(data, &h)) {
		FUZZ_ASSERT(h.len >= SMC_CLC_DECLINE_V1_LEN);
		FUZZ_ASSERT(h.len <= SMC_CLC_MAX_LEN);
		FUZZ_ASSERT(smc_clc_unsupported_reason(&h) != SMC_CLC_DECL_NONE);
	}
	check_proposal(data, size);
	check_accept(data, size);
	check_decline(data, size);
}

int fuzz_one_input(const u8 *data, size_t size)
{
	u8 *p;

	check_message(data, size);
	if (size < 12 || size > 0xffff)
		return 0;
	/* Again with a valid frame, which random input seldom has. */
	p = malloc(size);
	FUZZ_ASSERT(p);
	memcpy(p, data, size);
	smc_wire_put_be32(p, 0xe2d4c3d9);
	smc_wire_put_be16(p + 5, (u16)size);
	smc_wire_put_be32(p + size - 4, 0xe2d4c3d9);
	check_message(p, size);
	free(p);
	return 0;
}
