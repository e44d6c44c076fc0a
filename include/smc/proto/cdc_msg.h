/* SPDX-License-Identifier: GPL-2.0-only */
/* CDC messages: cursors and state of one connection, sent next to its data (RFC 7609 A.4). */
#ifndef SMC_PROTO_CDC_MSG_H
#define SMC_PROTO_CDC_MSG_H

#include <smc/proto/types.h>

#define SMC_CDC_LEN		SMC_LINK_MSG_LEN

/* Bits of struct smc_cdc_msg.flags; a message replaces all of them. */
#define SMC_CDC_F_BLOCKED	0x80	/* B: writer blocked */
#define SMC_CDC_F_URG_PENDING	0x40	/* P: urgent data will follow */
#define SMC_CDC_F_URG_PRESENT	0x20	/* U: urgent byte before the cursor */
#define SMC_CDC_F_UPDATE_REQ	0x10	/* R: consumer cursor update requested */
#define SMC_CDC_F_FAILOVER	0x08	/* F: failover validation */
#define SMC_CDC_F_ALL		0xf8

/* Bits of struct smc_cdc_msg.state; once set, a sender repeats them in all later messages. */
#define SMC_CDC_S_DONE		0x80	/* D: sending done */
#define SMC_CDC_S_CLOSED	0x40	/* C: connection closed */
#define SMC_CDC_S_ABORT		0x20	/* A: abnormal close */
#define SMC_CDC_S_ALL		0xe0

/*
 * Bits of struct smc_cdc_msg.ext, an extension of native peers in a byte that the RFC reserves.
 * ORDERLY is defined in failover validations only, the other bits in all other messages only.
 */
#define SMC_CDC_EXT_ORDERLY	0x01	/* orderly move: previous link has nothing in flight */
#define SMC_CDC_EXT_ACK_REQ	0x04	/* request for the number of the last handled message */
#define SMC_CDC_EXT_ACK		0x08	/* the answer: @ack_seq is valid */
#define SMC_CDC_EXT_GO		0x10	/* upgrade: client, until the server answers */
#define SMC_CDC_EXT_S		0x20	/* upgrade: @s is valid; until the peer has sent S_ACK */
#define SMC_CDC_EXT_S_ACK	0x40	/* upgrade: S was received; for ever */
#define SMC_CDC_EXT_ALL		0x7d

/*
 * Earlier moves that a failover validation lists in addition to the last one. A link can fail
 * before any message has arrived over it, and so can the next; a group has at most nine links.
 */
#define SMC_CDC_OLDER_LINKS		7

/**
 * struct smc_cdc_cursor - Ring position in wire form
 * @wrap: number of wraps of the ring, modulo 65536
 * @off: offset in the element, below its size
 */
struct smc_cdc_cursor {
	u16 wrap;
	u32 off;
};

/**
 * struct smc_cdc_msg - One CDC message
 * @seq: sequence number on the connection. In a failover validation the number of the last message
 *	whose SEND completed
 * @token: alert token of the connection, as announced by the receiver
 * @prod: producer cursor: next byte that the sender writes into the *receiver's* RMBE
 * @cons: consumer cursor: next byte that the sender reads from *its own* RMBE
 * @flags: SMC_CDC_F_*
 * @state: SMC_CDC_S_*
 * @prev_link: failover validation: number of the sender's previous link; 0: not given (foreign
 *	peer)
 * @move_count: valid if @prev_link is not 0: number of moves of the sender so far, modulo 256
 * @older_links: valid if @prev_link is not 0: numbers of the links before @prev_link, the latest
 *	first; 0: none
 * @older_orderly: one bit for each entry of @older_links, the lowest for the first: the sender left
 *	that link by an orderly move, as %SMC_CDC_EXT_ORDERLY says for @prev_link
 * @ext: SMC_CDC_EXT_*
 * @ack_seq: valid with SMC_CDC_EXT_ACK: number of the last message that the sender has handled
 * @s: valid with SMC_CDC_EXT_S: byte S of the sender's direction (upgrade.h)
 *
 * A failover validation (F) has only @seq, @token, @prev_link, @move_count, @older_links,
 * @older_orderly and @ext: cursors, other flags and @state are zero after parsing and must be zero
 * for building. @prev_link, @move_count, @older_links, @older_orderly, @ext, @ack_seq and @s are
 * extensions of native peers, in bytes that the RFC reserves.
 */
struct smc_cdc_msg {
	u16 seq;
	u32 token;
	struct smc_cdc_cursor prod;
	struct smc_cdc_cursor cons;
	u8 flags;
	u8 state;
	u8 prev_link;
	u8 move_count;
	u8 older_links[SMC_CDC_OLDER_LINKS];
	u8 older_orderly;
	u8 ext;
	u16 ack_seq;
	u64 s;
};

int smc_cdc_msg_token(const u8 *buf, size_t len, u32 *token);
int smc_cdc_msg_parse(const u8 *buf, size_t len, u32 my_size, u32 peer_size,
		      struct smc_cdc_msg *out);
bool smc_cdc_msg_is_validation(const u8 *buf, size_t len);
int smc_cdc_msg_build(const struct smc_cdc_msg *in, u8 *buf, size_t cap);

#endif
