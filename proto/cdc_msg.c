// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDC messages (RFC 7609 A.4): parse, check and build their 44 bytes.
 *
 * A check here needs the message and the sizes of the two elements only. Whether a cursor fits the
 * ones before it is checked by the rings (cursor.c).
 */
#include <smc/proto/cdc_msg.h>

/* Offsets, RFC 7609 figure 41. Bytes from 26 on are reserved there and used by native peers. */
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
#define OFF_PREV_LINK	26
#define OFF_MOVE_COUNT	27
#define OFF_EXT	28
#define OFF_OLDER_ORDERLY	29
#define OFF_ACK_SEQ	30
#define OFF_OLDER_LINKS	32	/* SMC_CDC_OLDER_LINKS bytes */
#define OFF_S		32	/* not in a validation */

/* Extension flags that a failover validation may have, and those of any other message. */
#define MORE_IN_VALIDATION	SMC_CDC_EXT_ORDERLY
#define MORE_ELSEWHERE		(SMC_CDC_EXT_ALL & ~MORE_IN_VALIDATION)
#define OLDER_LINKS_MASK	((1U << SMC_CDC_OLDER_LINKS) - 1)

static bool cdc_msg_has_header(const u8 *buf, size_t len)
{
	return len == SMC_CDC_LEN && buf[OFF_TYPE] == SMC_CDC_TYPE &&
	       buf[OFF_LEN] == SMC_CDC_LEN;
}

/**
 * smc_cdc_msg_token() - Return the alert token of a message
 * @buf: received message
 * @len: its length, from the completion
 * @token: set to the alert token on success
 *
 * The receiver looks up the connection by token first, because smc_cdc_msg_parse() needs the sizes
 * of the connection's rings. Any context.
 *
 * Return: 0, or -EPROTO if this is no CDC message of 44 bytes.
 */
int smc_cdc_msg_token(const u8 *buf, size_t len, u32 *token)
{
	if (!cdc_msg_has_header(buf, len))
		return -EPROTO;
	*token = smc_wire_get_be32(buf + OFF_TOKEN);
	return 0;
}

/**
 * smc_cdc_msg_parse() - Parse and check a message
 * @buf: received message
 * @len: its length, from the completion
 * @my_size: bytes of the receiver's own RMBE, bounds the producer cursor
 * @peer_size: bytes of the sender's RMBE, bounds the consumer cursor
 * @out: filled in on success, untouched otherwise
 *
 * Checks the message alone; smc_ring_tx_take_cursor() and smc_ring_rx_take_cursor() check whether
 * the cursors fit the ones before. Any context.
 *
 * Return: 0, or -EPROTO.
 */
int smc_cdc_msg_parse(const u8 *buf, size_t len, u32 my_size, u32 peer_size,
		      struct smc_cdc_msg *out)
{
	bool failover;

	if (!cdc_msg_has_header(buf, len))
		return -EPROTO;
	/* Cursors are undefined in a failover validation: do not check them. */
	failover = buf[OFF_FLAGS] & SMC_CDC_F_FAILOVER;
	if (!failover && (smc_wire_get_be32(buf + OFF_PROD_OFF) >= my_size ||
			  smc_wire_get_be32(buf + OFF_CONS_OFF) >= peer_size))
		return -EPROTO;

	memset(out, 0, sizeof(*out));
	out->seq = smc_wire_get_be16(buf + OFF_SEQ);
	out->token = smc_wire_get_be32(buf + OFF_TOKEN);
	if (failover) {
		out->flags = SMC_CDC_F_FAILOVER;
		out->prev_link = buf[OFF_PREV_LINK];
		out->move_count = buf[OFF_MOVE_COUNT];
		out->ext = buf[OFF_EXT] & MORE_IN_VALIDATION;
		out->older_orderly = buf[OFF_OLDER_ORDERLY] & OLDER_LINKS_MASK;
		memcpy(out->older_links, buf + OFF_OLDER_LINKS, sizeof(out->older_links));
		return 0;
	}
	out->prod.wrap = smc_wire_get_be16(buf + OFF_PROD_WRAP);
	out->prod.off = smc_wire_get_be32(buf + OFF_PROD_OFF);
	out->cons.wrap = smc_wire_get_be16(buf + OFF_CONS_WRAP);
	out->cons.off = smc_wire_get_be32(buf + OFF_CONS_OFF);
	out->flags = buf[OFF_FLAGS] & SMC_CDC_F_ALL;
	out->state = buf[OFF_STATE] & SMC_CDC_S_ALL;
	out->ext = buf[OFF_EXT] & MORE_ELSEWHERE;
	if (out->ext & SMC_CDC_EXT_ACK)
		out->ack_seq = smc_wire_get_be16(buf + OFF_ACK_SEQ);
	if (out->ext & SMC_CDC_EXT_S)
		out->s = smc_wire_get_be64(buf + OFF_S);
	return 0;
}

/**
 * smc_cdc_msg_is_validation() - Check whether a message is a failover validation
 * @buf: received message
 * @len: its length, from the completion
 *
 * Return: true if it is a CDC message with flag F.
 */
bool smc_cdc_msg_is_validation(const u8 *buf, size_t len)
{
	return cdc_msg_has_header(buf, len) && buf[OFF_FLAGS] & SMC_CDC_F_FAILOVER;
}

/* Return true if no field that describes moves is set: only a failover validation has them. */
static bool cdc_msg_has_no_moves(const struct smc_cdc_msg *in)
{
	u8 i, any = in->prev_link | in->move_count | in->older_orderly;

	for (i = 0; i < SMC_CDC_OLDER_LINKS; i++)
		any |= in->older_links[i];
	return !any;
}

static bool cdc_msg_is_bare_validation(const struct smc_cdc_msg *in)
{
	return in->flags == SMC_CDC_F_FAILOVER && !in->state &&
	       !in->prod.wrap && !in->prod.off &&
	       !in->cons.wrap && !in->cons.off;
}

/**
 * smc_cdc_msg_build() - Build a message
 * @in: contents; the caller guarantees that cursors are in range
 * @buf: output buffer
 * @cap: bytes of @buf
 *
 * Return: SMC_CDC_LEN, -ENOSPC if @cap is too small, or -EINVAL for undefined flags or for fields
 * that this kind of message (failover validation or other) does not have.
 */
int smc_cdc_msg_build(const struct smc_cdc_msg *in, u8 *buf, size_t cap)
{
	if ((in->flags & ~SMC_CDC_F_ALL) || (in->state & ~SMC_CDC_S_ALL))
		return -EINVAL;
	if ((in->flags & SMC_CDC_F_FAILOVER) && !cdc_msg_is_bare_validation(in))
		return -EINVAL;
	if (!(in->flags & SMC_CDC_F_FAILOVER) && !cdc_msg_has_no_moves(in))
		return -EINVAL;
	if (in->older_orderly & ~OLDER_LINKS_MASK)
		return -EINVAL;
	if (in->ext & ~(in->flags & SMC_CDC_F_FAILOVER ? MORE_IN_VALIDATION : MORE_ELSEWHERE))
		return -EINVAL;
	if ((in->ack_seq && !(in->ext & SMC_CDC_EXT_ACK)) || (in->s && !(in->ext & SMC_CDC_EXT_S)))
		return -EINVAL;
	if (cap < SMC_CDC_LEN)
		return -ENOSPC;

	memset(buf, 0, SMC_CDC_LEN);
	buf[OFF_TYPE] = SMC_CDC_TYPE;
	buf[OFF_LEN] = SMC_CDC_LEN;
	smc_wire_put_be16(buf + OFF_SEQ, in->seq);
	smc_wire_put_be32(buf + OFF_TOKEN, in->token);
	smc_wire_put_be16(buf + OFF_PROD_WRAP, in->prod.wrap);
	smc_wire_put_be32(buf + OFF_PROD_OFF, in->prod.off);
	smc_wire_put_be16(buf + OFF_CONS_WRAP, in->cons.wrap);
	smc_wire_put_be32(buf + OFF_CONS_OFF, in->cons.off);
	buf[OFF_FLAGS] = in->flags;
	buf[OFF_STATE] = in->state;
	buf[OFF_PREV_LINK] = in->prev_link;
	buf[OFF_MOVE_COUNT] = in->move_count;
	buf[OFF_EXT] = in->ext;
	buf[OFF_OLDER_ORDERLY] = in->older_orderly;
	smc_wire_put_be16(buf + OFF_ACK_SEQ, in->ack_seq);
	if (in->flags & SMC_CDC_F_FAILOVER)
		memcpy(buf + OFF_OLDER_LINKS, in->older_links, sizeof(in->older_links));
	else
		smc_wire_put_be64(buf + OFF_S, in->s);
	return SMC_CDC_LEN;
}
