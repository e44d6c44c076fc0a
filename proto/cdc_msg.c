// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages: wire format and the checks that need nothing but the message
 * and the sizes of the two rings.
 */
#include <smc/proto/cdc_msg.h>

/* Offsets, RFC 7609 figure 41. */
#define OFF_TYPE	0
#define OFF_LEN		1
#define OFF_SEQ		2
#define OFF_TOKEN	4
#define OFF_PROD_WRAP	10
#define OFF_PROD_OFF	12
#define OFF_CONS_WRAP	18
#define OFF_CONS_OFF	20
#define OFF_FLAGS	24
#define OFF_STATE	25

static bool is_cdc(const u8 *buf, size_t len)
{
	return len == SMC_CDC_LEN && buf[OFF_TYPE] == SMC_CDC_TYPE &&
	       buf[OFF_LEN] == SMC_CDC_LEN;
}

int smc_cdc_msg_token(const u8 *buf, size_t len, u32 *token)
{
	if (!is_cdc(buf, len))
		return -EPROTO;
	*token = smc_get_be32(buf + OFF_TOKEN);
	return 0;
}

int smc_cdc_msg_parse(const u8 *buf, size_t len, u32 my_size, u32 peer_size,
		      struct smc_cdc_msg *out)
{
	bool failover;

	if (!is_cdc(buf, len))
		return -EPROTO;
	/* F announces that the cursors mean nothing, so they are not judged. */
	failover = buf[OFF_FLAGS] & SMC_CDC_F_FAILOVER;
	if (!failover && (smc_get_be32(buf + OFF_PROD_OFF) >= my_size ||
			  smc_get_be32(buf + OFF_CONS_OFF) >= peer_size))
		return -EPROTO;

	memset(out, 0, sizeof(*out));
	out->seq = smc_get_be16(buf + OFF_SEQ);
	out->token = smc_get_be32(buf + OFF_TOKEN);
	if (failover) {
		out->flags = SMC_CDC_F_FAILOVER;
		return 0;
	}
	out->prod.wrap = smc_get_be16(buf + OFF_PROD_WRAP);
	out->prod.off = smc_get_be32(buf + OFF_PROD_OFF);
	out->cons.wrap = smc_get_be16(buf + OFF_CONS_WRAP);
	out->cons.off = smc_get_be32(buf + OFF_CONS_OFF);
	out->flags = buf[OFF_FLAGS] & SMC_CDC_F_ALL;
	out->state = buf[OFF_STATE] & SMC_CDC_S_ALL;
	return 0;
}

static bool failover_is_bare(const struct smc_cdc_msg *in)
{
	return in->flags == SMC_CDC_F_FAILOVER && !in->state &&
	       !in->prod.wrap && !in->prod.off &&
	       !in->cons.wrap && !in->cons.off;
}

int smc_cdc_msg_build(const struct smc_cdc_msg *in, u8 *buf, size_t cap)
{
	if ((in->flags & ~SMC_CDC_F_ALL) || (in->state & ~SMC_CDC_S_ALL))
		return -EINVAL;
	if ((in->flags & SMC_CDC_F_FAILOVER) && !failover_is_bare(in))
		return -EINVAL;
	if (cap < SMC_CDC_LEN)
		return -ENOSPC;

	memset(buf, 0, SMC_CDC_LEN);
	buf[OFF_TYPE] = SMC_CDC_TYPE;
	buf[OFF_LEN] = SMC_CDC_LEN;
	smc_put_be16(buf + OFF_SEQ, in->seq);
	smc_put_be32(buf + OFF_TOKEN, in->token);
	smc_put_be16(buf + OFF_PROD_WRAP, in->prod.wrap);
	smc_put_be32(buf + OFF_PROD_OFF, in->prod.off);
	smc_put_be16(buf + OFF_CONS_WRAP, in->cons.wrap);
	smc_put_be32(buf + OFF_CONS_OFF, in->cons.off);
	buf[OFF_FLAGS] = in->flags;
	buf[OFF_STATE] = in->state;
	return SMC_CDC_LEN;
}
