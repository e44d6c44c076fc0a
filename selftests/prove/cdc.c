// SPDX-License-Identifier: GPL-2.0-only
/* CDC messages and the immediate values in their place: any bytes, any value, any RMBE. */
#include <smc/proto/cdc_imm.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include "prove.h"

#define VALIDATION_EXT	SMC_CDC_EXT_ORDERLY

/* A receive buffer may have more room than a message. */
static u8 *any_message(size_t *len)
{
	*len = nondet_size();
	GIVEN(*len <= 2 * SMC_CDC_LEN);
	return any_bytes(*len);
}

void cdc_parse(void)
{
	size_t len, i = any_index(sizeof(struct smc_cdc_msg));
	u32 my_size = nondet_u32(), peer_size = nondet_u32(), token;
	struct smc_cdc_msg m, before = m;
	u8 *buf = any_message(&len);
	int rc = smc_cdc_msg_parse(buf, len, my_size, peer_size, &m);

	PROVE(!rc || rc == -EPROTO);
	if (rc) {
		PROVE(((u8 *)&m)[i] == ((u8 *)&before)[i]);
		PROVE(!smc_cdc_msg_is_validation(buf, len));
		return;
	}
	PROVE(len == SMC_CDC_LEN);
	PROVE(!smc_cdc_msg_token(buf, len, &token) && token == m.token);
	PROVE(smc_cdc_msg_is_validation(buf, len) == !!(m.flags & SMC_CDC_F_FAILOVER));
	PROVE(!(m.flags & ~SMC_CDC_F_ALL) && !(m.state & ~SMC_CDC_S_ALL));
	if (m.flags & SMC_CDC_F_FAILOVER) {
		PROVE(m.flags == SMC_CDC_F_FAILOVER && !m.state && !(m.ext & ~VALIDATION_EXT));
		PROVE(!m.prod.off && !m.cons.off && !(m.older_orderly >> SMC_CDC_OLDER_LINKS));
		return;
	}
	PROVE(m.prod.off < my_size && m.cons.off < peer_size);
	PROVE(!m.prev_link && !m.move_count && !m.older_orderly && !(m.ext & VALIDATION_EXT));
	PROVE(!(m.ext & ~SMC_CDC_EXT_ALL));
}

void cdc_build(void)
{
	struct smc_cdc_msg m, n;
	size_t cap;
	u8 *buf = any_message(&cap);
	int len = smc_cdc_msg_build(&m, buf, cap);

	PROVE(len == -EINVAL || len == -ENOSPC || len == SMC_CDC_LEN);
	if (len < 0)
		return;
	PROVE(cap >= SMC_CDC_LEN);
	/* the sizes are the caller's promise */
	GIVEN(m.prod.off < ~0U && m.cons.off < ~0U);
	PROVE(!smc_cdc_msg_parse(buf, len, ~0U, ~0U, &n));
	PROVE(n.seq == m.seq && n.token == m.token && n.flags == m.flags && n.state == m.state);
	PROVE(n.prod.wrap == m.prod.wrap && n.prod.off == m.prod.off);
	PROVE(n.cons.wrap == m.cons.wrap && n.cons.off == m.cons.off);
	PROVE(n.prev_link == m.prev_link && n.move_count == m.move_count);
	PROVE_SAME(n.older_links, m.older_links);
	PROVE(n.older_orderly == m.older_orderly);
	PROVE(n.ext == m.ext && n.ack_seq == m.ack_seq && n.s == m.s);
}

static u32 any_imm_ring(void)
{
	u32 size = smc_wire_bsize_to_len(nondet_u8());

	GIVEN(size <= SMC_CDC_IMM_RMBE_MAX);
	return size;
}

/* A value says exactly how far its sender has got, from one ring behind to one ring ahead. */
void imm_advance(void)
{
	u32 token = nondet_u32(), size = any_imm_ring(), imm;
	u64 known = nondet_u64(), pos = nondet_u64();

	GIVEN(known <= ~0ULL - size && (pos > known ? pos - known : known - pos) <= size);
	imm = smc_cdc_imm_build(token, pos);
	PROVE(smc_cdc_imm_get_index(imm) == (u8)token);
	PROVE(smc_cdc_imm_get_advance(imm, known) == (s64)(pos - known));
}

void imm_merge(void)
{
	u32 imm = nondet_u32(), size = any_bool() ? any_imm_ring() : nondet_u32();
	u8 buf[SMC_CDC_LEN], before[SMC_CDC_LEN];
	size_t i = any_index(SMC_CDC_LEN);
	struct smc_cdc_msg m, n;
	u64 pos, next;
	int rc;

	/* no ring has another size, but for those that no value is used for */
	GIVEN(smc_ring_size_is_valid(size) || size > SMC_CDC_IMM_RMBE_MAX);
	before[i] = buf[i];
	rc = smc_cdc_msg_parse(buf, SMC_CDC_LEN, size, ~0U, &m);
	if (smc_cdc_imm_merge(buf, size, imm)) {
		PROVE(buf[i] == before[i]);
		return;
	}
	PROVE(!rc && size <= SMC_CDC_IMM_RMBE_MAX && !(m.flags & SMC_CDC_F_FAILOVER));
	PROVE(!smc_cdc_msg_parse(buf, SMC_CDC_LEN, size, ~0U, &n));
	PROVE(n.token == m.token && n.seq == (u16)(m.seq + 1) && n.state == m.state);
	PROVE(n.cons.wrap == m.cons.wrap && n.cons.off == m.cons.off);
	pos = (u64)m.prod.wrap * size + m.prod.off;
	next = (u64)n.prod.wrap * size + n.prod.off;
	/* forward, not by more than the ring, and to where the value says */
	next = (next - pos) & (((u64)size << 16) - 1);
	PROVE(next >= 1 && next <= size);
	PROVE(((pos + next) & SMC_CDC_IMM_POS_MASK) == (imm & SMC_CDC_IMM_POS_MASK));
}
