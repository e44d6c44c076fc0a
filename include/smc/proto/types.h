/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Environment of the protocol code in proto/: integer types, field lengths, byte order.
 *
 * proto/ is compiled as part of the kernel module, of the user-space unit tests and of the fuzzers.
 * Wire formats are read and written byte by byte, so that neither the byte order nor the alignment
 * rules of the machine matter, and no packed structures are needed.
 */
#ifndef SMC_PROTO_TYPES_H
#define SMC_PROTO_TYPES_H

#ifdef __KERNEL__

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#else

#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

/* for what other threads of the kernel read without a lock: here is one thread */
#define WRITE_ONCE(x, val)	((x) = (val))

#endif

#define SMC_PEER_ID_LEN		8
#define SMC_GID_LEN		16
#define SMC_MAC_LEN		6
#define SMC_EID_LEN		32
#define SMC_HOSTNAME_LEN	32

/* First byte of a CDC message. */
#define SMC_CDC_TYPE		0xfe
/* Length of LLC v1 and CDC messages, minimum length of LLC v2 messages. */
#define SMC_LINK_MSG_LEN	44

/* Smallest RMBE; each step of the size code in Accept and Confirm doubles it. */
#define SMC_RMBE_SIZE_MIN	16384U

/**
 * smc_wire_bsize_to_len() - Convert the size code of an RMBE to bytes
 * @bsize: code from Accept or Confirm; the wire has only four bits
 *
 * Return: 16 KiB to 512 MiB.
 */
static inline u32 smc_wire_bsize_to_len(u8 bsize)
{
	return SMC_RMBE_SIZE_MIN << (bsize & 0x0f);
}

static inline u16 smc_wire_get_be16(const u8 *p)
{
	return (u16)((p[0] << 8) | p[1]);
}

static inline u32 smc_wire_get_be24(const u8 *p)
{
	return ((u32)p[0] << 16) | ((u32)p[1] << 8) | p[2];
}

static inline u32 smc_wire_get_be32(const u8 *p)
{
	return ((u32)p[0] << 24) | smc_wire_get_be24(p + 1);
}

static inline u64 smc_wire_get_be64(const u8 *p)
{
	return ((u64)smc_wire_get_be32(p) << 32) | smc_wire_get_be32(p + 4);
}

static inline void smc_wire_put_be16(u8 *p, u16 v)
{
	p[0] = (v >> 8) & 0xff;
	p[1] = v & 0xff;
}

static inline void smc_wire_put_be24(u8 *p, u32 v)
{
	p[0] = (v >> 16) & 0xff;
	p[1] = (v >> 8) & 0xff;
	p[2] = v & 0xff;
}

static inline void smc_wire_put_be32(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 24);
	smc_wire_put_be24(p + 1, v);
}

static inline void smc_wire_put_be64(u8 *p, u64 v)
{
	smc_wire_put_be32(p, (u32)(v >> 32));
	smc_wire_put_be32(p + 4, (u32)v);
}

/* For two little-endian fields of LLC v2, see llc_msg.h. */
static inline u16 smc_wire_get_le16(const u8 *p)
{
	return (u16)(p[0] | (p[1] << 8));
}

static inline void smc_wire_put_le16(u8 *p, u16 v)
{
	p[0] = v & 0xff;
	p[1] = (v >> 8) & 0xff;
}

#endif
