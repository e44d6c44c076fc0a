// SPDX-License-Identifier: GPL-2.0-only
/* The SMC option among the options of a TCP header (RFC 7609 A.1). */
#include <smc/proto/tcp_opt.h>

enum {
	KIND_END	= 0,
	KIND_NOP	= 1,
	KIND_MD5	= 19,
	KIND_AO		= 29,
	KIND_FASTOPEN	= 34,
	KIND_EXP	= 254,
};

/* Identifier of Fast Open in its experimental form. */
#define EXP_FASTOPEN	0xf989

/* Classify one complete option of @len bytes. */
static unsigned int tcp_opt_classify(const u8 *opt, size_t len, u32 id)
{
	switch (opt[0]) {
	case KIND_MD5:
	case KIND_AO:
		return SMC_TCP_OPT_F_SIGNED;
	case KIND_FASTOPEN:
		return SMC_TCP_OPT_F_FASTOPEN;
	case KIND_EXP:
		if (len >= SMC_TCP_OPT_LEN && smc_wire_get_be32(opt + 2) == id)
			return SMC_TCP_OPT_F_SMC;
		if (len >= 4 && smc_wire_get_be16(opt + 2) == EXP_FASTOPEN)
			return SMC_TCP_OPT_F_FASTOPEN;
		return 0;
	default:
		return 0;
	}
}

/**
 * smc_tcp_opt_scan() - Scan the options of a TCP header
 * @opts: first byte after the fixed header
 * @len: bytes up to the end of the header
 * @id: identifier to look for: SMC_TCP_OPT_ID, or the one that replaces it
 * @pos: set to the offset of the kind byte of the first match, unchanged without a match
 *
 * The bytes may be a peer's: every length is checked. Any context.
 *
 * Return: bit mask of SMC_TCP_OPT_F_*.
 */
unsigned int smc_tcp_opt_scan(const u8 *opts, size_t len, u32 id, size_t *pos)
{
	unsigned int found = 0, here;
	size_t i = 0, n;

	while (i < len) {
		if (opts[i] == KIND_END)
			return found | SMC_TCP_OPT_F_END;
		if (opts[i] == KIND_NOP) {
			i++;
			continue;
		}
		if (len - i < 2)
			return found | SMC_TCP_OPT_F_BAD;
		n = opts[i + 1];
		if (n < 2 || n > len - i)
			return found | SMC_TCP_OPT_F_BAD;
		here = tcp_opt_classify(opts + i, n, id);
		if (here & SMC_TCP_OPT_F_SMC && !(found & SMC_TCP_OPT_F_SMC))
			*pos = i;
		found |= here;
		i += n;
	}
	return found;
}

/**
 * smc_tcp_opt_build() - Write the option, preceded by two NOPs
 * @p: output, SMC_TCP_OPT_ROOM bytes
 */
void smc_tcp_opt_build(u8 *p)
{
	smc_wire_put_be32(p, SMC_TCP_OPT_WORD);
	smc_wire_put_be32(p + 4, SMC_TCP_OPT_ID);
}
