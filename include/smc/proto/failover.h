/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Over which link the peer of a connection writes (RFC 7609 section 4.6).
 *
 * The peer may go on over another link at any time, and does not ask. Two things make
 * it dangerous to follow it at once. WRITEs over the link it left may still come, until
 * our end of that link is fenced: by then they must not meet newer bytes at their
 * place. And messages that came over it in time may not have been looked at yet, when
 * a failover validation asks for the last of them.
 *
 * So what comes over another link is put aside until the link before is fenced, which
 * is to be done at once. Nobody learns meanwhile that those bytes were read, so the
 * peer cannot write over them; and when the validation is looked at, all that came
 * before it has been.
 *
 * A message says all that the ones before it said, so of each link only the latest is
 * kept. Links are independent of each other: what came over one may be looked at later
 * than what followed over the next one, and over a link that was soon lost nothing may come
 * at all. So a validation of our kind says which link was left, how often the connection has
 * moved, and the same of the moves before. Without that, the peer is taken to come
 * from where it was seen last, which is right where there are no more than two links, as
 * with peers of other kinds.
 *
 * A peer of another kind may also go on without a validation, as in-tree peers do with
 * connections that are half closed. Then the numbers of its messages are all there is: the
 * first one over the other link has to follow the last one over the link before, or some were
 * lost, and with them perhaps bytes.
 *
 * A peer of our kind may also leave a link that is well. It first stops, asks how far
 * we have come, and goes when we have said that nothing is left to be heard, and its RNIC
 * that nothing is under way. Then there is nothing to wait for, and the link stays.
 * Nothing here locks.
 */
#ifndef SMC_PROTO_FAILOVER_H
#define SMC_PROTO_FAILOVER_H

#include <smc/proto/cdc_msg.h>
#include <smc/proto/types.h>

/* Moves that may be under way at a time: a group may lose all links but one at once. */
#define SMC_FAILOVER_LATE	8

/* No link: the one before is fenced, any other may be the next. */
#define SMC_FAILOVER_NOWHERE	0xff

/* Moves that a validation tells of: the last one, and those before it. */
#define SMC_FAILOVER_PAST	(1 + SMC_CDC_PAST)

/* Messages that may go before the arrival of one is noticed: a part of half their numbers. */
#define SMC_FAILOVER_SEQ_OLD	0x2000

/* Outcomes of a message; the bad one is -ENOSPC. */
enum smc_failover_verdict {
	SMC_FAILOVER_TAKE = 0,	/* to be handled now */
	SMC_FAILOVER_KEPT = 1,	/* put aside; smc_failover_next() gives it back */
	SMC_FAILOVER_FIRST = 2,	/* now; the first over its link, and no validation came before */
};

/**
 * struct smc_failover_late - what came over one link before it was that link's turn
 * @slot: slot of the link
 * @move: number of the move to it
 * @fenced: the link is fenced already: a later one may have its slot
 * @validation: a failover validation came
 * @message: another message came
 * @proven: a validation came, whether it is still here or not
 * @unproven: a message came before any validation
 * @seq: sequence number in the validation, the highest one
 * @msg_seq: sequence number of the message kept
 * @first_seq: of the first one, if @unproven
 * @first: its producer cursor
 * @msg: the latest message
 */
struct smc_failover_late {
	u8 slot;
	u8 move;
	bool fenced;
	bool validation;
	bool message;
	bool proven;
	bool unproven;
	u16 seq;
	u16 msg_seq;
	u16 first_seq;
	struct smc_cdc_cursor first;
	u8 msg[SMC_CDC_LEN];
};

/**
 * struct smc_failover_rx - where the peer writes
 * @slot: slot of the link whose messages are handled, or SMC_FAILOVER_NOWHERE
 * @move: number of the move to it, or of the last one to a link that is fenced
 * @fresh: the peer went to @slot, and nothing has come over it
 * @nlate: how many of @late are in use
 * @late: links the peer has gone to since, in that order
 */
struct smc_failover_rx {
	u8 slot;
	u8 move;
	bool fresh;
	u8 nlate;
	struct smc_failover_late late[SMC_FAILOVER_LATE];
};

/**
 * struct smc_failover_msg - a message whose turn has come
 * @slot: slot of the link it came over
 * @validation: a failover validation, of which only @seq counts
 * @seq: its sequence number
 * @unproven: no validation came before the first message over that link
 * @first_seq: the number of that one, if @unproven
 * @first: its producer cursor
 * @msg: otherwise: the message
 */
struct smc_failover_msg {
	u8 slot;
	bool validation;
	u16 seq;
	bool unproven;
	u16 first_seq;
	struct smc_cdc_cursor first;
	u8 msg[SMC_CDC_LEN];
};

void smc_failover_init(struct smc_failover_rx *rx, u8 slot);
void smc_failover_init_any(struct smc_failover_rx *rx);
int smc_failover_input(struct smc_failover_rx *rx, u8 slot, const u8 *past, const u8 *buf,
		       const struct smc_cdc_msg *msg, u32 *doubt);
void smc_failover_fenced(struct smc_failover_rx *rx, u8 slot);
bool smc_failover_next(struct smc_failover_rx *rx, struct smc_failover_msg *out);

bool smc_failover_gap(u16 last, u16 first);
bool smc_failover_seq_due(u16 seq, u16 done);

const char *smc_failover_verdict_str(enum smc_failover_verdict verdict);

#endif /* SMC_PROTO_FAILOVER_H */
