// SPDX-License-Identifier: GPL-2.0-only
/*
 * Immediate values in place of CDC messages; cdc_imm.h describes them.
 */
#include <smc/proto/cdc_imm.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>

/**
 * smc_cdc_imm_merge() - Bring a message that waits up to date with an immediate value
 * @buf: message of SMC_CDC_LEN bytes, no failover validation; changed in place
 * @size: bytes of the RMBE that its producer cursor points into
 * @imm: value that arrived after it over the same link
 *
 * The result is the message that the sender would have sent in place of the value.
 *
 * Return: 0, or -EPROTO if the value leads beyond the RMBE: @buf is unchanged then.
 */
int smc_cdc_imm_merge(u8 *buf, u32 size, u32 imm)
{
	struct smc_cdc_msg msg;
	s32 advance;
	u64 pos;

	/* the size of the peer's RMBE only bounds a cursor that was checked on arrival */
	if (size > SMC_CDC_IMM_RMBE_MAX ||
	    smc_cdc_msg_parse(buf, SMC_CDC_LEN, size, ~0U, &msg) ||
	    msg.flags & SMC_CDC_F_FAILOVER)
		return -EPROTO;
	pos = (u64)msg.prod.wrap * size + msg.prod.off;
	advance = smc_cdc_imm_get_advance(imm, pos);
	/* over one link the sender goes forward only */
	if (advance <= 0 || advance > (s32)size)
		return -EPROTO;
	smc_cursor_from_pos(pos + advance, size, &msg.prod);
	msg.seq++;
	msg.flags &= SMC_CDC_F_BLOCKED;
	/* a value follows only when S is acknowledged; that the peer's S was received stays true */
	msg.ext &= SMC_CDC_EXT_S_ACK;
	msg.ack_seq = 0;
	msg.s = 0;
	smc_cdc_msg_build(&msg, buf, SMC_CDC_LEN);
	return 0;
}
