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
#define OFF_LEFT	26	/* these are not of the RFC */
#define OFF_MOVE	27
#define OFF_MORE	28
#define OFF_PAST_ORD	29
#define OFF_HEARD	30
#define OFF_PAST	32	/* SMC_CDC_PAST of them */

#define MORE_OF_F	SMC_CDC_M_ORDERLY
#define PAST_BITS	((1U << SMC_CDC_PAST) - 1)

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
		out->left = buf[OFF_LEFT];
		out->move = buf[OFF_MOVE];
		out->more = buf[OFF_MORE] & MORE_OF_F;
		out->past_orderly = buf[OFF_PAST_ORD] & PAST_BITS;
		memcpy(out->past, buf + OFF_PAST, sizeof(out->past));
		return 0;
	}
	out->prod.wrap = smc_get_be16(buf + OFF_PROD_WRAP);
	out->prod.off = smc_get_be32(buf + OFF_PROD_OFF);
	out->cons.wrap = smc_get_be16(buf + OFF_CONS_WRAP);
	out->cons.off = smc_get_be32(buf + OFF_CONS_OFF);
	out->flags = buf[OFF_FLAGS] & SMC_CDC_F_ALL;
	out->state = buf[OFF_STATE] & SMC_CDC_S_ALL;
	out->more = buf[OFF_MORE] & SMC_CDC_M_ALL & ~MORE_OF_F;
	if (out->more & SMC_CDC_M_HEARD)
		out->heard = smc_get_be16(buf + OFF_HEARD);
	return 0;
}

bool smc_cdc_msg_is_validation(const u8 *buf, size_t len)
{
	return is_cdc(buf, len) && buf[OFF_FLAGS] & SMC_CDC_F_FAILOVER;
}

/* Nothing of what only a failover validation tells. */
static bool tells_no_moves(const struct smc_cdc_msg *in)
{
	u8 i, any = in->left | in->move | in->past_orderly;

	for (i = 0; i < SMC_CDC_PAST; i++)
		any |= in->past[i];
	return !any;
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
	if (!(in->flags & SMC_CDC_F_FAILOVER) && !tells_no_moves(in))
		return -EINVAL;
	if (in->past_orderly & ~PAST_BITS)
		return -EINVAL;
	if (in->more & ~(in->flags & SMC_CDC_F_FAILOVER ? MORE_OF_F : SMC_CDC_M_ALL & ~MORE_OF_F))
		return -EINVAL;
	if (in->heard && !(in->more & SMC_CDC_M_HEARD))
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
	buf[OFF_LEFT] = in->left;
	buf[OFF_MOVE] = in->move;
	buf[OFF_MORE] = in->more;
	buf[OFF_PAST_ORD] = in->past_orderly;
	smc_put_be16(buf + OFF_HEARD, in->heard);
	memcpy(buf + OFF_PAST, in->past, sizeof(in->past));
	return SMC_CDC_LEN;
}
