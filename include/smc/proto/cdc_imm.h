/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Immediate values in place of CDC messages, between native peers that both have
 * SMC_CAP_WRITE_IMM (Documentation/native-extensions.rst).
 *
 * An RDMA WRITE can carry 32 bits to the receiver, which then needs no SEND after it. The bits say
 * which connection has got bytes, and up to where:
 *
 *   31..24  low 8 bits of the receiver's alert token, which is its index in the group
 *   23..0   low 24 bits of the position behind the last byte
 *
 * It means the same as a CDC message with the next sequence number and this producer cursor, in
 * which P, U and R are not set and all else is as in the message before it over the same link.
 *
 * No locks here.
 */
#ifndef SMC_PROTO_CDC_IMM_H
#define SMC_PROTO_CDC_IMM_H

#include <smc/proto/types.h>

#define SMC_CDC_IMM_POS_MASK	0xffffffU

/*
 * The largest RMBE in which 24 bits tell whether a position is up to one ring ahead of another, or
 * up to one ring behind it.
 */
#define SMC_CDC_IMM_RMBE_MAX	0x400000U

/**
 * smc_cdc_imm_build() - Build the immediate value of the last WRITE
 * @token: the receiver's alert token
 * @pos: position behind the last byte written
 *
 * Return: the value.
 */
static inline u32 smc_cdc_imm_build(u32 token, u64 pos)
{
	return token << 24 | ((u32)pos & SMC_CDC_IMM_POS_MASK);
}

/**
 * smc_cdc_imm_get_index() - Return which connection an immediate value concerns
 * @imm: received value
 *
 * Return: low 8 bits of its alert token.
 */
static inline u8 smc_cdc_imm_get_index(u32 imm)
{
	return imm >> 24;
}

/**
 * smc_cdc_imm_get_advance() - Return how far an immediate value moves the producer cursor
 * @imm: received value
 * @produced: position so far; only the low 24 bits count
 *
 * The caller checks it against the room in the RMBE.
 *
 * Return: bytes; 0 or less if the position is not new, as after a failover.
 */
static inline s32 smc_cdc_imm_get_advance(u32 imm, u64 produced)
{
	return (s32)((imm - (u32)produced) << 8) >> 8;
}

int smc_cdc_imm_merge(u8 *buf, u32 size, u32 imm);

#endif
