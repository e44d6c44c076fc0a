// SPDX-License-Identifier: GPL-2.0-only
/*
 * Urgent data, see urgent.h.
 *
 * The peer may say anything: what it says of a byte decides only how the bytes it has
 * written itself are read.
 */
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include <smc/proto/urgent.h>

/**
 * smc_urgent_tx_mark() - the last byte in the send ring is urgent
 * @u: writer
 * @prepared: end of the send ring, 1 at least
 * @sent_max: furthest position the peer was ever told of
 *
 * Of a byte that the peer has not been told of nothing is left but a byte.
 */
void smc_urgent_tx_mark(struct smc_urgent_tx *u, u64 prepared, u64 sent_max)
{
	if (u->pos && u->pos <= sent_max) {
		u->next = prepared;
		return;
	}
	u->pos = prepared;
	u->due = true;
}

/**
 * smc_urgent_tx_take() - how many bytes of a message with an urgent one to take into the ring
 * @len: those of the message that are left, the last one is urgent
 * @room: how many can be taken
 *
 * All but the last would be on their way before that one: it has company, see
 * smc_ring_tx_plan().
 *
 * Return: bytes; 0 only if @room is 0.
 */
u32 smc_urgent_tx_take(u64 len, u32 room)
{
	if (len <= room)
		return (u32)len;
	return room > 1 && len - room == 1 ? room - 1 : room;
}

/**
 * smc_urgent_tx_stop() - how far may be written
 * @u: writer
 *
 * Return: for smc_ring_tx_plan().
 */
u64 smc_urgent_tx_stop(const struct smc_urgent_tx *u)
{
	return u->pos ? u->pos : SMC_PLAN_NO_STOP;
}

/**
 * smc_urgent_tx_flags() - P and U of the next CDC
 * @u: writer
 * @sent: producer cursor in it
 * @again: say it until the byte was consumed
 *
 * The RFC's flags stand until then. An in-tree reader takes P without news as a further byte
 * to come, and forgets the one that is there: it is told once.
 *
 * Return: SMC_CDC_F_* bits.
 */
u8 smc_urgent_tx_flags(struct smc_urgent_tx *u, u64 sent, bool again)
{
	u->due = false;
	if (!u->pos || (u->told && !again))
		return 0;
	if (sent != u->pos)
		return SMC_CDC_F_URG_PENDING;
	u->told = true;
	return SMC_CDC_F_URG_PENDING | SMC_CDC_F_URG_PRESENT;
}

/**
 * smc_urgent_tx_rewind() - what was said may be lost
 * @u: writer
 * @sent: the producer cursor that the peer is known to have
 *
 * With the cursor behind the byte it has got U: an in-tree reader must not hear it twice.
 */
void smc_urgent_tx_rewind(struct smc_urgent_tx *u, u64 sent)
{
	u->told &= sent >= u->pos;
}

/**
 * smc_urgent_tx_consumed() - the peer has read on
 * @u: writer
 * @consumed: its position
 */
void smc_urgent_tx_consumed(struct smc_urgent_tx *u, u64 consumed)
{
	while (u->pos && consumed >= u->pos) {
		u->pos = u->next;
		u->next = 0;
		u->told = false;
		u->due = u->pos;
	}
}

static bool urgent_rx_is_present(const struct smc_urgent_rx *u)
{
	return u->state == SMC_URGENT_VALID || u->state == SMC_URGENT_READ;
}

/**
 * smc_urgent_rx_told() - take P and U of a CDC over
 * @u: reader
 * @flags: SMC_CDC_F_* bits
 * @produced: position of its producer cursor
 * @consumed: what the application has read
 *
 * A peer that goes to another link repeats what it said: a byte that is known, or was
 * consumed, is not urgent once more.
 *
 * Return: SMC_URGENT_* bits; with ARRIVED the caller fills in the byte.
 */
unsigned int smc_urgent_rx_told(struct smc_urgent_rx *u, u8 flags, u64 produced, u64 consumed)
{
	bool known = urgent_rx_is_present(u) && u->pos == produced;
	unsigned int found;

	if (flags & SMC_CDC_F_URG_PRESENT) {
		if (known || produced <= consumed)
			return 0;
		found = SMC_URGENT_ARRIVED;
		if (u->state != SMC_URGENT_PENDING)
			found |= SMC_URGENT_SIGNAL;
		u->state = SMC_URGENT_VALID;
		u->pos = produced;
		u->hole = false;
		return found;
	}
	if (flags & SMC_CDC_F_URG_PENDING) {
		/* the writer goes on when the last one is consumed, and not before */
		if (u->state == SMC_URGENT_PENDING ||
		    (urgent_rx_is_present(u) && consumed < u->pos))
			return 0;
		u->state = SMC_URGENT_PENDING;
		return SMC_URGENT_SIGNAL;
	}
	if (u->state == SMC_URGENT_PENDING)
		u->state = SMC_URGENT_NONE;
	return 0;
}

/**
 * smc_urgent_rx_skip() - has the stream come to a byte that is not in line?
 * @u: reader
 * @consumed: what the application has read
 * @in_line: it wants the byte in the stream (SO_OOBINLINE)
 *
 * The byte is kept, and the writer is not to wait for an application that does not ask for
 * it.
 *
 * Return: true if the caller has to consume one byte now.
 */
bool smc_urgent_rx_skip(struct smc_urgent_rx *u, u64 consumed, bool in_line)
{
	if (in_line || !urgent_rx_is_present(u) || u->hole || consumed != u->pos - 1)
		return false;
	u->hole = true;
	return true;
}

/**
 * smc_urgent_rx_consumed() - the application has read on
 * @u: reader
 * @consumed: its position
 *
 * Return: true if an urgent byte was among what was read, for which the writer waits.
 */
bool smc_urgent_rx_consumed(struct smc_urgent_rx *u, u64 consumed)
{
	if (!urgent_rx_is_present(u) || consumed < u->pos + u->hole)
		return false;
	u->state = SMC_URGENT_NONE;
	return !u->hole;
}

/**
 * smc_urgent_rx_at_mark() - is the next byte the first one behind urgent data?
 * @u: reader
 * @consumed: what the application has read
 *
 * Return: what SIOCATMARK says.
 */
bool smc_urgent_rx_at_mark(const struct smc_urgent_rx *u, u64 consumed)
{
	return urgent_rx_is_present(u) && consumed == u->pos - !u->hole;
}

/**
 * smc_urgent_rx_in_way() - is the next byte one that is left out?
 * @u: reader
 * @pos: position of the next byte, ahead of what was consumed if it is only looked at
 * @in_line: see smc_urgent_rx_skip()
 *
 * Return: true if it is.
 */
bool smc_urgent_rx_in_way(const struct smc_urgent_rx *u, u64 pos, bool in_line)
{
	return urgent_rx_is_present(u) && !u->hole && !in_line && pos == u->pos - 1;
}

/**
 * smc_urgent_rx_room() - how many bytes may be read at once
 * @u: reader
 * @pos: position of the first
 * @in_line: see smc_urgent_rx_skip()
 * @some: the call has read something before: it ends at the mark
 *
 * Return: bytes, 0 at the end of a call.
 */
u32 smc_urgent_rx_room(const struct smc_urgent_rx *u, u64 pos, bool in_line, bool some)
{
	u64 mark = u->pos - !u->hole;

	if (!urgent_rx_is_present(u) || pos > mark)
		return ~(u32)0;
	if (pos < mark)
		return mark - pos < ~(u32)0 ? (u32)(mark - pos) : ~(u32)0;
	return some || smc_urgent_rx_in_way(u, pos, in_line) ? 0 : ~(u32)0;
}

/**
 * smc_urgent_rx_stops() - does the writer wait for bytes that are here to be consumed?
 * @u: reader
 * @produced: position of its last producer cursor
 *
 * Return: true if no more will come before that.
 */
bool smc_urgent_rx_stops(const struct smc_urgent_rx *u, u64 produced)
{
	return urgent_rx_is_present(u) && !u->hole && u->pos == produced;
}

/**
 * smc_urgent_rx_held() - was the next byte taken out of the stream, and is wanted in it?
 * @u: reader
 * @consumed: what the application has read
 * @in_line: see smc_urgent_rx_skip(); an application may decide late
 *
 * Return: true if it is.
 */
bool smc_urgent_rx_held(const struct smc_urgent_rx *u, u64 consumed, bool in_line)
{
	return in_line && urgent_rx_is_present(u) && u->hole && consumed == u->pos;
}

/**
 * smc_urgent_rx_passed() - a byte that was held has been read in line
 * @u: reader
 */
void smc_urgent_rx_passed(struct smc_urgent_rx *u)
{
	u->state = SMC_URGENT_NONE;
}

/**
 * smc_urgent_rx_take() - the byte for recv() with MSG_OOB
 * @u: reader
 * @peek: it stays
 * @byte: set to it
 *
 * Return: 0, -EAGAIN if it is on its way, -EINVAL if there is none.
 */
int smc_urgent_rx_take(struct smc_urgent_rx *u, bool peek, u8 *byte)
{
	if (u->state == SMC_URGENT_PENDING)
		return -EAGAIN;
	if (u->state != SMC_URGENT_VALID)
		return -EINVAL;
	*byte = u->byte;
	if (!peek)
		u->state = SMC_URGENT_READ;
	return 0;
}
