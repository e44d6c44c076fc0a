// SPDX-License-Identifier: GPL-2.0-only
/*
 * Order of messages when the peer of a connection moves between links; failover.h describes the
 * rules.
 */
#include <smc/proto/cdc_imm.h>
#include <smc/proto/failover.h>

/**
 * smc_failover_rx_init() - Set up the state of a new connection
 * @rx: state
 * @slot: slot of the link that both sides start with
 */
void smc_failover_rx_init(struct smc_failover_rx *rx, u8 slot)
{
	memset(rx, 0, sizeof(*rx));
	rx->slot = slot;
}

/**
 * smc_failover_rx_init_any() - Set up the state of a new connection whose peer may start with any
 * link
 * @rx: state
 */
void smc_failover_rx_init_any(struct smc_failover_rx *rx)
{
	smc_failover_rx_init(rx, SMC_FAILOVER_NO_SLOT);
	/* The move to the first link has number 0. */
	rx->move = (u8)-1;
}

static struct smc_failover_parked *failover_rx_find_parked(struct smc_failover_rx *rx, u8 slot)
{
	u8 i;

	for (i = 0; i < rx->nparked; i++)
		if (rx->parked[i].slot == slot && !rx->parked[i].fenced)
			return &rx->parked[i];
	return NULL;
}

static void failover_rx_park_msg(struct smc_failover_parked *late, const u8 *buf,
				 const struct smc_cdc_msg *msg)
{
	if (msg->flags & SMC_CDC_F_FAILOVER) {
		if (!late->validation || (s16)(msg->seq - late->seq) > 0)
			late->seq = msg->seq;
		late->validation = true;
		late->validated = true;
		return;
	}
	if (!late->message && !late->validated) {
		late->unvalidated = true;
		late->first_seq = msg->seq;
		late->first = msg->prod;
	}
	if (late->message && (s16)(msg->seq - late->msg_seq) < 0)
		return;
	late->message = true;
	late->msg_seq = msg->seq;
	memcpy(late->msg, buf, SMC_CDC_LEN);
}

/*
 * Insert a link at position @at of the links that the peer has moved to. NULL if there is no room.
 */
static struct smc_failover_parked *failover_rx_add_link(struct smc_failover_rx *rx, u8 at, u8 slot,
							u8 move)
{
	struct smc_failover_parked *late = &rx->parked[at];

	if (rx->nparked == SMC_FAILOVER_PARKED_MAX)
		return NULL;
	memmove(late + 1, late, (rx->nparked - at) * sizeof(*late));
	memset(late, 0, sizeof(*late));
	late->slot = slot;
	late->move = move;
	rx->nparked++;
	return late;
}

/* Record that move number @move led the peer to @slot. False if there is no room. */
static bool failover_rx_order_link(struct smc_failover_rx *rx, u8 slot, u8 move)
{
	struct smc_failover_parked *late;
	u8 at = 0;

	if (rx->slot == slot || failover_rx_find_parked(rx, slot))
		return true;
	if (rx->slot != SMC_FAILOVER_NO_SLOT && (s8)(move - rx->move) < 0) {
		late = failover_rx_add_link(rx, 0, rx->slot, rx->move);
		if (!late)
			return false;
		late->validated = !rx->fresh;
		rx->slot = slot;
		rx->move = move;
		rx->fresh = true;
		return true;
	}
	while (at < rx->nparked && (s8)(move - rx->parked[at].move) > 0)
		at++;
	return failover_rx_add_link(rx, at, slot, move);
}

/* Bit mask of all links but the last one: the peer has moved away from these. */
static u32 failover_rx_left_links(const struct smc_failover_rx *rx)
{
	u32 slots = 0;
	u8 i;

	if (rx->nparked && rx->slot != SMC_FAILOVER_NO_SLOT)
		slots |= 1U << rx->slot;
	for (i = 0; i + 1 < rx->nparked; i++)
		if (!rx->parked[i].fenced)
			slots |= 1U << rx->parked[i].slot;
	return slots;
}

/* Remove the first of the parked links. */
static void failover_rx_pop_link(struct smc_failover_rx *rx)
{
	rx->nparked--;
	memmove(&rx->parked[0], &rx->parked[1], rx->nparked * sizeof(rx->parked[0]));
}

/*
 * Switch to the next link. Without parked links this is @slot: a parked message would have been
 * taken.
 */
static void failover_rx_next_link(struct smc_failover_rx *rx, u8 slot)
{
	if (!rx->nparked) {
		rx->slot = slot;
		rx->fresh = true;
		rx->move++;
		return;
	}
	rx->fresh = !rx->parked[0].validated;
	rx->slot = rx->parked[0].slot;
	rx->move = rx->parked[0].move;
	failover_rx_pop_link(rx);
}

/* Handle @msg now; FIRST if it is the first one over its link and no validation precedes it. */
static enum smc_failover_verdict failover_rx_take_msg(struct smc_failover_rx *rx,
						      const struct smc_cdc_msg *msg)
{
	bool fresh = rx->fresh;

	rx->fresh = false;
	return fresh && !(msg->flags & SMC_CDC_F_FAILOVER) ? SMC_FAILOVER_FIRST :
							     SMC_FAILOVER_TAKE;
}

/* Check whether the peer left a link by an orderly move. @ago: number of its later moves. */
static bool failover_rx_was_orderly(const struct smc_cdc_msg *msg, u8 ago)
{
	return ago ? msg->older_orderly & 1U << (ago - 1) : msg->ext & SMC_CDC_EXT_ORDERLY;
}

/* Check whether @msg says that the peer left the current link by an orderly move. */
static bool failover_rx_left_orderly(const struct smc_failover_rx *rx,
				     const struct smc_cdc_msg *msg)
{
	u8 ago = msg->move_count - 1 - rx->move;

	if (!msg->prev_link || rx->nparked || rx->slot == SMC_FAILOVER_NO_SLOT)
		return false;
	return ago < SMC_FAILOVER_PREV_LINKS && failover_rx_was_orderly(msg, ago);
}

/*
 * Record the links that the peer has used since the last known move. False if there is no room, or
 * if @msg does not list all of them.
 */
static bool failover_rx_order_older_links(struct smc_failover_rx *rx, u8 slot, const u8 *past,
					  const struct smc_cdc_msg *msg)
{
	u8 ago, move;

	if ((s8)(msg->move_count - rx->move) > SMC_FAILOVER_PREV_LINKS + 1)
		return false;
	for (ago = SMC_FAILOVER_PREV_LINKS; ago--; ) {
		move = msg->move_count - 1 - ago;
		/* Nothing follows over a link that is fenced or was left by an orderly move. */
		if (past[ago] == SMC_FAILOVER_NO_SLOT || past[ago] == slot ||
		    failover_rx_was_orderly(msg, ago))
			continue;
		if (ago && (s8)(move - rx->move) <= 0)
			continue;
		if (!failover_rx_order_link(rx, past[ago], move))
			return false;
	}
	return failover_rx_order_link(rx, slot, msg->move_count);
}

/*
 * Check whether @msg is the first of all. Over which link it comes is the peer's choice (RFC 7609
 * section 2.3): it has sent nothing over the one that the handshake names, so it has not left that.
 */
static bool failover_rx_begins(const struct smc_failover_rx *rx, const struct smc_cdc_msg *msg)
{
	return !rx->begun && rx->slot != SMC_FAILOVER_NO_SLOT && msg->seq == 1 &&
	       !(msg->flags & SMC_CDC_F_FAILOVER);
}

/**
 * smc_failover_rx_input() - Decide what to do with a received message
 * @rx: state
 * @slot: slot of the link that it arrived on, which is not fenced yet
 * @past: slots of the SMC_FAILOVER_PREV_LINKS links that @msg lists as left, the latest first;
 *	SMC_FAILOVER_NO_SLOT for links that are fenced or not listed
 * @buf: the message
 * @msg: the same, parsed; @msg->prev_link, @msg->older_orderly and @msg->ext are 0 from a
 *	peer whose validations do not have them
 * @doubt: set to a bit mask of the slots of links that the peer has left and that the caller has to
 *	fence
 *
 * The caller serialises calls for one connection.
 *
 * Return: enum smc_failover_verdict, or -ENOSPC if too many moves are pending.
 */
int smc_failover_rx_input(struct smc_failover_rx *rx, u8 slot, const u8 *past, const u8 *buf,
			  const struct smc_cdc_msg *msg, u32 *doubt)
{
	struct smc_failover_parked *late;

	*doubt = 0;
	if (failover_rx_begins(rx, msg))
		rx->slot = slot;
	rx->begun = true;
	if (failover_rx_left_orderly(rx, msg))
		rx->slot = SMC_FAILOVER_NO_SLOT;
	if (msg->prev_link && !failover_rx_order_older_links(rx, slot, past, msg))
		return -ENOSPC;
	if (rx->slot == SMC_FAILOVER_NO_SLOT)
		failover_rx_next_link(rx, slot);
	if (rx->slot == slot)
		return failover_rx_take_msg(rx, msg);
	late = failover_rx_find_parked(rx, slot);
	if (!late)
		late = failover_rx_add_link(rx, rx->nparked, slot, rx->move + rx->nparked + 1);
	*doubt = failover_rx_left_links(rx);
	if (!late)
		return -ENOSPC;
	failover_rx_park_msg(late, buf, msg);
	return SMC_FAILOVER_PARKED;
}

/**
 * smc_failover_rx_park_imm() - Merge an immediate value into the parked message that it refers to
 * @rx: state
 * @slot: slot of the link that it arrived on, not the one whose messages are handled
 * @size: bytes of our RMBE
 * @imm: the value
 *
 * Return: as smc_failover_rx_input_imm().
 */
int smc_failover_rx_park_imm(struct smc_failover_rx *rx, u8 slot, u32 size, u32 imm)
{
	struct smc_failover_parked *late = failover_rx_find_parked(rx, slot);
	int rc;

	if (!late || !late->message)
		return -EPROTO;
	rc = smc_cdc_imm_merge(late->msg, size, imm);
	if (rc)
		return rc;
	late->msg_seq++;
	return SMC_FAILOVER_PARKED;
}

/**
 * smc_failover_rx_note_fenced() - Note that a link is fenced: no message arrives over it any more
 * @rx: state
 * @slot: slot of the link; all its messages have been given to smc_failover_rx_input()
 *
 * The caller then calls smc_failover_rx_next() until it returns false.
 */
void smc_failover_rx_note_fenced(struct smc_failover_rx *rx, u8 slot)
{
	struct smc_failover_parked *late = failover_rx_find_parked(rx, slot);

	if (rx->slot == slot)
		rx->slot = SMC_FAILOVER_NO_SLOT;
	if (late)
		late->fenced = true;
}

/**
 * smc_failover_rx_next() - Return the next parked message that can be handled
 * @rx: state
 * @out: filled in if there is one
 *
 * Return: false if there is none.
 */
bool smc_failover_rx_next(struct smc_failover_rx *rx, struct smc_failover_msg *out)
{
	struct smc_failover_parked *late = &rx->parked[0];

	while (rx->slot == SMC_FAILOVER_NO_SLOT && rx->nparked) {
		out->slot = late->slot;
		if (late->validation) {
			out->validation = true;
			out->seq = late->seq;
			late->validation = false;
			return true;
		}
		if (late->message) {
			out->validation = false;
			out->seq = late->msg_seq;
			out->unvalidated = late->unvalidated;
			out->first_seq = late->first_seq;
			out->first = late->first;
			memcpy(out->msg, late->msg, SMC_CDC_LEN);
			late->message = false;
			late->validated = true;
			return true;
		}
		if (!late->fenced) {
			rx->slot = late->slot;
			rx->fresh = !late->validated;
		}
		rx->move = late->move;
		failover_rx_pop_link(rx);
	}
	return false;
}

/**
 * smc_failover_seq_gap() - Check whether messages were lost with the previous link
 * @last: number of the last handled message, 0 = none
 * @first: number of the first message over another link, without a validation before it
 *
 * Each message repeats the state of the ones before it, so a gap is harmless unless @first
 * announces data: then nothing proves that all of these bytes were written over this link.
 *
 * Return: true if messages are missing.
 */
bool smc_failover_seq_gap(u16 last, u16 first)
{
	return (s16)(first - last) > 1;
}

/**
 * smc_failover_seq_due() - Check whether the arrival of the next message has to be noticed
 * @seq: number of the message that is about to be sent
 * @done: number of the last message known to have arrived
 *
 * Sequence numbers have 16 bits, and the peer compares the one in a validation with the last one
 * that it received: a number that is too old looks like a future one.
 *
 * Return: true if the sender has to request a completion of this message.
 */
bool smc_failover_seq_due(u16 seq, u16 done)
{
	return (u16)(seq - done) >= SMC_FAILOVER_SEQ_WINDOW;
}

/**
 * smc_failover_ack_follows() - Check whether the peer has handled a message over the present link
 * @ack: number of the last message that the peer has handled, as it says
 * @left: number of the last message before the move to the present link
 * @last: number of the last message
 *
 * Any @ack is safe: one that is beyond @last is not accepted.
 *
 * Return: true if @ack is after @left and not after @last.
 */
bool smc_failover_ack_follows(u16 ack, u16 left, u16 last)
{
	return (u16)(last - ack) < (u16)(last - left);
}

/**
 * smc_failover_verdict_str() - Return the name of a verdict, for logs and tests
 * @verdict: outcome of a message
 *
 * Return: constant string.
 */
const char *smc_failover_verdict_str(enum smc_failover_verdict verdict)
{
	switch (verdict) {
	case SMC_FAILOVER_TAKE:
		return "take";
	case SMC_FAILOVER_PARKED:
		return "kept";
	case SMC_FAILOVER_FIRST:
		return "first";
	}
	return "?";
}
