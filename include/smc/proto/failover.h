/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Order of messages when the peer of a connection moves between links (RFC 7609 section 4.6).
 *
 * The peer may move to another link at any time without asking. Following it at once is dangerous
 * for two reasons. RDMA WRITEs over the previous link can still arrive until our end of that link
 * is fenced; until then newer bytes must not be in their place. And messages that arrived over the
 * previous link in time may not be handled yet when a failover validation names the last of them.
 *
 * So messages over another link are parked until the previous link is fenced, which the caller
 * starts at once. When the validation is checked, all messages before it have been handled. Bytes
 * that were new on the previous link are not consumed before they were written, so until then the
 * peer does not write newer ones into their place.
 *
 * That is not true of bytes that were repeated over the previous link: they may be known from an
 * earlier one, and consumed while the repeated WRITEs are in flight. A native peer writes nothing
 * into their place before it knows that its messages over the new link are handled (the guard, see
 * smc_ring_tx_rewind()). A foreign peer does not know this danger.
 *
 * A message repeats the state of the ones before it, so only the latest one of each link is
 * parked. Links are independent of each other: messages of one link may be handled later than those
 * that followed over the next link, and over a link that failed soon nothing may arrive at all. So
 * the validation of a native peer contains the number of the previous link, the number of moves of
 * the connection, and the same for earlier moves. Without these the peer is assumed to come from
 * the last known link, which is right if there are at most two links, as with foreign peers.
 *
 * A foreign peer may also move without a validation: in-tree peers do that for half closed
 * connections. Then only the sequence numbers help: the first message over the new link has to
 * follow the last one over the previous link, otherwise some were lost, and perhaps data with them.
 *
 * A native peer may also leave a working link (orderly move): it first stops sending, asks for the
 * number of the last handled message, and moves when all its messages are acknowledged and its RNIC
 * has nothing in flight. Then there is nothing to wait for, and the previous link is not fenced.
 *
 * The first message of all may come over any link: a peer that has sent nothing has left none.
 *
 * An immediate value (cdc_imm.h) refers to the message before it over the same link. The first
 * message over a link is a whole one, so a value is either applied, or merged into a parked one.
 *
 * No locks here.
 */
#ifndef SMC_PROTO_FAILOVER_H
#define SMC_PROTO_FAILOVER_H

#include <smc/proto/cdc_msg.h>
#include <smc/proto/types.h>

/* Moves that can be pending at a time: a group may lose all links but one at once. */
#define SMC_FAILOVER_PARKED_MAX	8

/* No link: the previous one is fenced, any other one may be the next. */
#define SMC_FAILOVER_NO_SLOT	0xff

/* Moves that a validation lists: the last one and those before it. */
#define SMC_FAILOVER_PREV_LINKS	(1 + SMC_CDC_OLDER_LINKS)

/*
 * Messages that may be sent before the arrival of one is noticed: a part of half the number space.
 */
#define SMC_FAILOVER_SEQ_WINDOW	0x2000

/* Outcomes of a message; -ENOSPC is the bad one. */
enum smc_failover_verdict {
	SMC_FAILOVER_TAKE = 0,	/* handle it now */
	SMC_FAILOVER_PARKED = 1,	/* parked; smc_failover_rx_next() returns it later */
	SMC_FAILOVER_FIRST = 2,	/* handle it now; first one over its link, without a validation */
};

/**
 * struct smc_failover_parked - Parked messages of one link
 * @slot: slot of the link
 * @move: number of the move to it
 * @fenced: the link is fenced; a later link may use its slot
 * @validation: a failover validation is parked
 * @message: another message is parked
 * @validated: a validation has arrived, whether still parked or not
 * @unvalidated: a message arrived before any validation
 * @seq: highest sequence number in a validation
 * @msg_seq: sequence number of @msg
 * @first_seq: sequence number of the first message, if @unvalidated
 * @first: its producer cursor
 * @msg: the latest message
 */
struct smc_failover_parked {
	u8 slot;
	u8 move;
	bool fenced;
	bool validation;
	bool message;
	bool validated;
	bool unvalidated;
	u16 seq;
	u16 msg_seq;
	u16 first_seq;
	struct smc_cdc_cursor first;
	u8 msg[SMC_CDC_LEN];
};

/**
 * struct smc_failover_rx - Link that the peer of a connection sends over
 * @slot: slot of the link whose messages are handled, or SMC_FAILOVER_NO_SLOT
 * @move: number of the move to that link, or of the last move to a fenced link
 * @fresh: no message has arrived over @slot since the peer moved there
 * @begun: a message has arrived
 * @nparked: number of used entries of @parked
 * @parked: links that the peer has moved to since, in that order
 */
struct smc_failover_rx {
	u8 slot;
	u8 move;
	bool fresh;
	bool begun;
	u8 nparked;
	struct smc_failover_parked parked[SMC_FAILOVER_PARKED_MAX];
};

/**
 * struct smc_failover_msg - Parked message that can be handled
 * @slot: slot of the link that it arrived on
 * @validation: it is a failover validation, of which only @seq is valid
 * @seq: its sequence number
 * @unvalidated: no validation preceded the first message over that link
 * @first_seq: sequence number of that first message, if @unvalidated
 * @first: its producer cursor
 * @msg: the message, unless @validation
 */
struct smc_failover_msg {
	u8 slot;
	bool validation;
	u16 seq;
	bool unvalidated;
	u16 first_seq;
	struct smc_cdc_cursor first;
	u8 msg[SMC_CDC_LEN];
};

void smc_failover_rx_init(struct smc_failover_rx *rx, u8 slot);
void smc_failover_rx_init_any(struct smc_failover_rx *rx);
int smc_failover_rx_input(struct smc_failover_rx *rx, u8 slot, const u8 *past, const u8 *buf,
			  const struct smc_cdc_msg *msg, u32 *doubt);
int smc_failover_rx_park_imm(struct smc_failover_rx *rx, u8 slot, u32 size, u32 imm);
void smc_failover_rx_note_fenced(struct smc_failover_rx *rx, u8 slot);
bool smc_failover_rx_next(struct smc_failover_rx *rx, struct smc_failover_msg *out);

bool smc_failover_seq_gap(u16 last, u16 first);
bool smc_failover_seq_due(u16 seq, u16 done);
bool smc_failover_ack_follows(u16 ack, u16 left, u16 last);

/**
 * smc_failover_rx_input_imm() - Decide what to do with a received immediate value
 * @rx: state
 * @slot: slot of the link that it arrived on, which is not fenced yet
 * @size: bytes of our RMBE
 * @imm: the value
 *
 * The caller serialises calls for one connection, and checks that a message has been handled before
 * it takes a value.
 *
 * Return: SMC_FAILOVER_TAKE, SMC_FAILOVER_PARKED, or -EPROTO if no message precedes the value over
 * this link, or if the value does not fit the one that does.
 */
static inline int smc_failover_rx_input_imm(struct smc_failover_rx *rx, u8 slot, u32 size, u32 imm)
{
	if (rx->slot != slot)
		return smc_failover_rx_park_imm(rx, slot, size, imm);
	return rx->fresh ? -EPROTO : SMC_FAILOVER_TAKE;
}

const char *smc_failover_verdict_str(enum smc_failover_verdict verdict);

#endif /* SMC_PROTO_FAILOVER_H */
