// SPDX-License-Identifier: GPL-2.0-only
/*
 * Urgent data of a connection; urgent.h describes the protocol.
 *
 * The peer's flags are untrusted: they only affect how bytes that the peer wrote itself are read.
 */
#include <smc/proto/cdc_msg.h>
#include <smc/proto/cursor.h>
#include <smc/proto/urgent.h>

/**
 * smc_urgent_tx_mark() - Mark the last byte in the send ring as urgent
 * @u: writer
 * @prepared: end of the send ring, at least 1
 * @sent_max: furthest position ever announced to the peer
 *
 * An earlier urgent byte that was not announced yet becomes an ordinary byte.
 */
void smc_urgent_tx_mark(struct smc_urgent_tx *u, u64 prepared, u64 sent_max)
{
	if (u->pos && u->pos <= sent_max) {
		u->next = prepared;
		return;
	}
	u->pos = prepared;
	u->flag_due = true;
}

/**
 * smc_urgent_tx_copy_len() - Return how many bytes of a message to copy into the send ring
 * @len: remaining bytes of the message, the last one is urgent
 * @room: free space of the send ring
 *
 * Never leaves the urgent byte alone for the next copy, because it must not be sent alone, see
 * smc_ring_tx_plan().
 *
 * Return: bytes; 0 if @room is 0, or if it is 1 and the message has 2 bytes.
 */
u32 smc_urgent_tx_copy_len(u64 len, u32 room)
{
	if (len <= room)
		return (u32)len;
	return room && len - room == 1 ? room - 1 : room;
}

/**
 * smc_urgent_tx_flags() - Return flags P and U for the next CDC message
 * @u: writer
 * @sent: producer cursor in the message
 * @again: repeat the flags until the byte is consumed
 *
 * The RFC repeats the flags. An in-tree reader takes a repeated P for one more urgent byte and
 * forgets the present one: announce each byte once to such a peer.
 *
 * Return: SMC_CDC_F_* bits.
 */
u8 smc_urgent_tx_flags(struct smc_urgent_tx *u, u64 sent, bool again)
{
	u->flag_due = false;
	if (!u->pos || (u->announced && !again))
		return 0;
	if (sent != u->pos)
		return SMC_CDC_F_URG_PENDING;
	u->announced = true;
	return SMC_CDC_F_URG_PENDING | SMC_CDC_F_URG_PRESENT;
}

/**
 * smc_urgent_tx_rewind() - Repeat the announcement if it may be lost
 * @u: writer
 * @sent: producer cursor that the peer is known to have
 *
 * With a cursor behind the urgent byte the peer has received U, and an in-tree reader must not
 * receive it twice.
 */
void smc_urgent_tx_rewind(struct smc_urgent_tx *u, u64 sent)
{
	u->announced &= sent >= u->pos;
}

/**
 * smc_urgent_rx_weigh_flags() - Find out what flags P and U of a CDC message mean
 * @u: reader
 * @flags: SMC_CDC_F_* bits
 * @produced: position of the producer cursor in the message
 * @consumed: position that the application has read up to
 *
 * A peer that moves to another link repeats its flags: a byte that is already known or consumed
 * does not become urgent again.
 *
 * Return: SMC_URGENT_* bits; with ARRIVED the caller fills in the byte.
 */
unsigned int smc_urgent_rx_weigh_flags(struct smc_urgent_rx *u, u8 flags, u64 produced,
				       u64 consumed)
{
	bool known = smc_urgent_rx_is_present(u) && u->pos == produced;
	unsigned int found;

	if (flags & SMC_CDC_F_URG_PRESENT) {
		if (known || produced <= consumed)
			return 0;
		found = SMC_URGENT_ARRIVED;
		if (u->state != SMC_URGENT_PENDING)
			found |= SMC_URGENT_SIGNAL;
		WRITE_ONCE(u->state, SMC_URGENT_VALID);
		u->pos = produced;
		u->removed = false;
		return found;
	}
	if (flags & SMC_CDC_F_URG_PENDING) {
		/* The writer stops until the present byte is consumed: no new one can follow. */
		if (u->state == SMC_URGENT_PENDING ||
		    (smc_urgent_rx_is_present(u) && consumed < u->pos))
			return 0;
		WRITE_ONCE(u->state, SMC_URGENT_PENDING);
		return SMC_URGENT_SIGNAL;
	}
	if (u->state == SMC_URGENT_PENDING)
		WRITE_ONCE(u->state, SMC_URGENT_NONE);
	return 0;
}

/**
 * smc_urgent_rx_blocks_writer() - Check whether the peer's writer waits for readable bytes to be
 * consumed
 * @u: reader
 * @produced: position of its last producer cursor
 *
 * Return: true if the peer sends no more before that.
 */
bool smc_urgent_rx_blocks_writer(const struct smc_urgent_rx *u, u64 produced)
{
	return smc_urgent_rx_is_present(u) && !u->removed && u->pos == produced;
}

/**
 * smc_urgent_rx_note_passed() - Note that a byte that was taken out has been read in the stream
 * @u: reader
 */
void smc_urgent_rx_note_passed(struct smc_urgent_rx *u)
{
	WRITE_ONCE(u->state, SMC_URGENT_NONE);
}

/**
 * smc_urgent_rx_read_oob() - Read the urgent byte with MSG_OOB
 * @u: reader
 * @peek: MSG_PEEK: keep it
 * @byte: set to the byte
 *
 * Return: 0, -EAGAIN if it has not arrived yet, -EINVAL if there is none.
 */
int smc_urgent_rx_read_oob(struct smc_urgent_rx *u, bool peek, u8 *byte)
{
	if (u->state == SMC_URGENT_PENDING)
		return -EAGAIN;
	if (u->state != SMC_URGENT_VALID)
		return -EINVAL;
	*byte = u->byte;
	if (!peek)
		WRITE_ONCE(u->state, SMC_URGENT_READ);
	return 0;
}
