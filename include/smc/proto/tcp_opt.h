/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SMC option among the options of a TCP header (RFC 7609 A.1). The bytes may be
 * a peer's: every length is checked.
 */
#ifndef SMC_PROTO_TCP_OPT_H
#define SMC_PROTO_TCP_OPT_H

#include <smc/proto/types.h>

/* A shared experimental option (RFC 6994): kind, length, "SMC" in EBCDIC with high bits. */
#define SMC_TCP_OPT_LEN		6
#define SMC_TCP_OPT_ID		0xe2d4c3d9U
/* In our packets: behind two NOPs, so that the header stays a multiple of 4. */
#define SMC_TCP_OPT_ROOM	8
#define SMC_TCP_OPT_WORD	0x0101fe06U	/* NOP, NOP, kind, length */
/* A TCP header without and with all its options. */
#define SMC_TCP_HDR_MIN		20
#define SMC_TCP_HDR_MAX		60

/* What smc_tcp_opt_scan() found. */
#define SMC_TCP_OPT_F_SMC	0x01	/* the option itself */
#define SMC_TCP_OPT_F_FASTOPEN	0x02	/* TCP Fast Open, own or experimental kind */
#define SMC_TCP_OPT_F_SIGNED	0x04	/* MD5 or AO: they cover the header */
#define SMC_TCP_OPT_F_END	0x08	/* end of list: nothing may be added behind it */
#define SMC_TCP_OPT_F_BAD	0x10	/* a length that cannot be; the rest was not read */

/**
 * smc_tcp_opt_scan() - look through the options
 * @opts: first byte behind the fixed header
 * @len: bytes up to the end of the header
 * @id: identifier to look for: SMC_TCP_OPT_ID, or what stands in its place
 * @pos: where the kind byte of the first match is; unchanged without one
 *
 * Return: SMC_TCP_OPT_F_* together.
 */
unsigned int smc_tcp_opt_scan(const u8 *opts, size_t len, u32 id, size_t *pos);

/**
 * smc_tcp_opt_put() - write the option with its NOPs
 * @p: room for SMC_TCP_OPT_ROOM bytes
 */
void smc_tcp_opt_put(u8 *p);

/**
 * smc_tcp_opt_set_id() - write another identifier into an option
 * @opts: as for smc_tcp_opt_scan()
 * @pos: what that returned
 * @id: new identifier
 */
static inline void smc_tcp_opt_set_id(u8 *opts, size_t pos, u32 id)
{
	smc_put_be32(opts + pos + 2, id);
}

#endif
