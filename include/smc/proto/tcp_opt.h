/* SPDX-License-Identifier: GPL-2.0-only */
/* The SMC option among the options of a TCP header (RFC 7609 A.1). */
#ifndef SMC_PROTO_TCP_OPT_H
#define SMC_PROTO_TCP_OPT_H

#include <smc/proto/types.h>

/* A shared experimental option (RFC 6994): kind, length, "SMC" in EBCDIC with high bits. */
#define SMC_TCP_OPT_LEN		6
#define SMC_TCP_OPT_ID		0xe2d4c3d9U
/* Bytes in our packets: two NOPs first, so that the header stays a multiple of 4. */
#define SMC_TCP_OPT_ROOM	8
#define SMC_TCP_OPT_WORD	0x0101fe06U	/* NOP, NOP, kind, length */
/* Length of a TCP header without options, and the maximum. */
#define SMC_TCP_HDR_MIN		20
#define SMC_TCP_HDR_MAX		60

/* Result of smc_tcp_opt_scan(). */
#define SMC_TCP_OPT_F_SMC	0x01	/* SMC option */
#define SMC_TCP_OPT_F_FASTOPEN	0x02	/* TCP Fast Open, own or experimental kind */
#define SMC_TCP_OPT_F_SIGNED	0x04	/* MD5 or AO, which cover the header */
#define SMC_TCP_OPT_F_END	0x08	/* end of list: nothing may be added after it */
#define SMC_TCP_OPT_F_BAD	0x10	/* invalid length; the rest was not scanned */

unsigned int smc_tcp_opt_scan(const u8 *opts, size_t len, u32 id, size_t *pos);

void smc_tcp_opt_build(u8 *p);

/**
 * smc_tcp_opt_set_id() - Replace the identifier of an option
 * @opts: as for smc_tcp_opt_scan()
 * @pos: offset from smc_tcp_opt_scan()
 * @id: new identifier
 */
static inline void smc_tcp_opt_set_id(u8 *opts, size_t pos, u32 id)
{
	smc_wire_put_be32(opts + pos + 2, id);
}

#endif
