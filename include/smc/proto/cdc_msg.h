/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CDC messages: cursors and state of one connection, sent beside its data
 * (RFC 7609 A.4).
 */
#ifndef SMC_PROTO_CDC_MSG_H
#define SMC_PROTO_CDC_MSG_H

#include <smc/proto/types.h>

#define SMC_CDC_LEN		SMC_LINK_MSG_LEN

/* struct smc_cdc_msg.flags; a message replaces all of them */
#define SMC_CDC_F_BLOCKED	0x80	/* B: writer blocked */
#define SMC_CDC_F_URG_PENDING	0x40	/* P: urgent data is on its way */
#define SMC_CDC_F_URG_PRESENT	0x20	/* U: urgent byte before the cursor */
#define SMC_CDC_F_UPDATE_REQ	0x10	/* R: consumer cursor update requested */
#define SMC_CDC_F_FAILOVER	0x08	/* F: failover validation, see below */
#define SMC_CDC_F_ALL		0xf8

/* struct smc_cdc_msg.state; a sender repeats what it has once set */
#define SMC_CDC_S_DONE		0x80	/* D: sending done */
#define SMC_CDC_S_CLOSED	0x40	/* C: connection closed */
#define SMC_CDC_S_ABORT		0x20	/* A: abnormal close */
#define SMC_CDC_S_ALL		0xe0

/*
 * struct smc_cdc_msg.more: not of the RFC, between two of our kind, in a byte that the RFC
 * reserves. The first one in a failover validation only, the others in any other message.
 */
#define SMC_CDC_M_ORDERLY	0x01	/* all that was said over the link before was heard */
#define SMC_CDC_M_ASK		0x04	/* how far have you come? */
#define SMC_CDC_M_HEARD		0x08	/* so far: @heard */
#define SMC_CDC_M_ALL		0x0d

/*
 * Moves before the last one that a failover validation tells of. A link can be lost before
 * anything has come over it, and the next one as well: a group has nine links at most.
 */
#define SMC_CDC_PAST		7

/**
 * struct smc_cdc_cursor - position in a ring as it stands in the message
 * @wrap: how often the ring was gone through, modulo 65536
 * @off: offset in the element, below its size
 */
struct smc_cdc_cursor {
	u16 wrap;
	u32 off;
};

/**
 * struct smc_cdc_msg - one CDC message
 * @seq: sequence number on the connection. In a failover validation the
 *	number of the last message whose SEND completed
 * @token: alert token of the connection, as its receiver announced it
 * @prod: producer cursor: next byte the sender writes into the *receiver's*
 *	element
 * @cons: consumer cursor: next byte the sender reads from *its own* element
 * @flags: SMC_CDC_F_*
 * @state: SMC_CDC_S_*
 *
 * @left: number of the link that the sender has left, 0: it does not say. In a
 *	failover validation only, and not of the RFC: it stands in bytes that the
 *	RFC reserves, between two of our kind
 * @move: with @left: how often the sender has moved, modulo 256
 * @past: with @left: numbers of the links that it had left before that one, the last one
 *	first; 0: there was none
 * @past_orderly: a bit for each of @past, the lowest for the first: as %SMC_CDC_M_ORDERLY
 * @more: SMC_CDC_M_*
 * @heard: with SMC_CDC_M_HEARD: number of the last message that the sender has handled
 *
 * A failover validation (F) has only @seq, @token, @left, @move, @past, @past_orderly and @more:
 * cursors, other flags and @state are zero after parsing and must be zero for building.
 */
struct smc_cdc_msg {
	u16 seq;
	u32 token;
	struct smc_cdc_cursor prod;
	struct smc_cdc_cursor cons;
	u8 flags;
	u8 state;
	u8 left;
	u8 move;
	u8 past[SMC_CDC_PAST];
	u8 past_orderly;
	u8 more;
	u16 heard;
};

/**
 * smc_cdc_msg_token() - find out whose message it is
 * @buf: received message
 * @len: its length as the completion tells it
 * @token: set to the alert token on success
 *
 * The ring sizes are only known once the connection is, so the look-up by
 * token comes before smc_cdc_msg_parse().
 *
 * Return: 0, or -EPROTO if this is no CDC message of 44 bytes.
 */
int smc_cdc_msg_token(const u8 *buf, size_t len, u32 *token);

/**
 * smc_cdc_msg_parse() - read and check a message
 * @buf: received message
 * @len: its length as the completion tells it
 * @my_size: bytes of the receiver's own element, bounds the producer cursor
 * @peer_size: bytes of the sender's element, bounds the consumer cursor
 * @out: filled in on success, untouched otherwise
 *
 * Only looks at the message: whether the cursors fit the ones before is a
 * question for the ring.
 *
 * Return: 0, or -EPROTO.
 */
int smc_cdc_msg_parse(const u8 *buf, size_t len, u32 my_size, u32 peer_size,
		      struct smc_cdc_msg *out);

/**
 * smc_cdc_msg_is_validation() - is it a failover validation
 * @buf: received message
 * @len: its length as the completion tells it
 *
 * Return: true if so.
 */
bool smc_cdc_msg_is_validation(const u8 *buf, size_t len);

/**
 * smc_cdc_msg_build() - write a message
 * @in: what it says; the caller guarantees that cursors are in range
 * @buf: where to
 * @cap: room there
 *
 * Return: SMC_CDC_LEN, -ENOSPC, or -EINVAL for undefined flags or for a
 * failover validation with anything else in it.
 */
int smc_cdc_msg_build(const struct smc_cdc_msg *in, u8 *buf, size_t cap);

#endif
