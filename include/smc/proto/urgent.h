/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Urgent data (RFC 7609 sections 4.7.5 and 4.7.6).
 *
 * One byte of the stream is urgent, the last one of a send with MSG_OOB. From then on the writer
 * sets flag P, and flag U in the CDC message whose producer cursor points behind the byte; then it
 * writes nothing until the peer has consumed the byte. The reader gets the byte out of band or in
 * the stream, and can find its position, the mark. Applications see what TCP shows.
 *
 * Positions are those of cursor.h. No locks here, nothing sleeps or allocates.
 */
#ifndef SMC_PROTO_URGENT_H
#define SMC_PROTO_URGENT_H

#include <smc/proto/cursor.h>
#include <smc/proto/types.h>

/**
 * struct smc_urgent_tx - Urgent state of the writer
 * @pos: position behind the urgent byte that the peer has not consumed, 0 if there is none
 * @next: position behind a later one, 0 if there is none; of several only the last counts, as in
 *	TCP
 * @announced: U was sent for @pos and need not be repeated
 * @flag_due: no CDC message has been built since @pos became the urgent position: send P
 */
struct smc_urgent_tx {
	u64 pos;
	u64 next;
	bool announced;
	bool flag_due;
};

enum smc_urgent_state {
	SMC_URGENT_NONE,
	SMC_URGENT_PENDING,	/* P received: the byte will follow */
	SMC_URGENT_VALID,	/* the byte has arrived and was not read out of band */
	SMC_URGENT_READ,	/* read out of band; the stream has not passed the mark */
};

/**
 * struct smc_urgent_rx - Urgent state of the reader
 * @state: enum smc_urgent_state
 * @pos: position behind the byte; valid in VALID and READ
 * @byte: the byte; filled in by the caller when it arrives
 * @removed: the byte was taken out of the stream: it is consumed, and the mark is where it was
 */
struct smc_urgent_rx {
	enum smc_urgent_state state;
	u64 pos;
	u8 byte;
	bool removed;
};

/* Result of smc_urgent_rx_take_flags(). */
#define SMC_URGENT_SIGNAL	0x1	/* new urgent data: send SIGURG */
#define SMC_URGENT_ARRIVED	0x2	/* the byte before the producer cursor is urgent */

void smc_urgent_tx_mark(struct smc_urgent_tx *u, u64 prepared, u64 sent_max);
u32 smc_urgent_tx_copy_len(u64 len, u32 room);
u8 smc_urgent_tx_flags(struct smc_urgent_tx *u, u64 sent, bool again);
void smc_urgent_tx_rewind(struct smc_urgent_tx *u, u64 sent);

unsigned int smc_urgent_rx_weigh_flags(struct smc_urgent_rx *u, u8 flags, u64 produced,
				       u64 consumed);
bool smc_urgent_rx_blocks_writer(const struct smc_urgent_rx *u, u64 produced);
void smc_urgent_rx_note_passed(struct smc_urgent_rx *u);
int smc_urgent_rx_read_oob(struct smc_urgent_rx *u, bool peek, u8 *byte);

/**
 * smc_urgent_tx_stop_pos() - Return the position that writing must not pass
 * @u: writer
 *
 * Return: value for smc_ring_tx_plan().
 */
static inline u64 smc_urgent_tx_stop_pos(const struct smc_urgent_tx *u)
{
	return u->pos ? u->pos : SMC_PLAN_NO_STOP;
}

/**
 * smc_urgent_tx_note_consumed() - Note that the peer has consumed bytes
 * @u: writer
 * @consumed: position of the peer's consumer cursor
 */
static inline void smc_urgent_tx_note_consumed(struct smc_urgent_tx *u, u64 consumed)
{
	while (u->pos && consumed >= u->pos) {
		u->pos = u->next;
		u->next = 0;
		u->announced = false;
		u->flag_due = u->pos;
	}
}

/**
 * smc_urgent_rx_take_flags() - Take over flags P and U of a CDC message
 * @u: reader
 * @flags: SMC_CDC_F_* bits
 * @produced: position of the producer cursor in the message
 * @consumed: position that the application has read up to
 *
 * Return: as smc_urgent_rx_weigh_flags().
 */
static inline unsigned int smc_urgent_rx_take_flags(struct smc_urgent_rx *u, u8 flags, u64 produced,
						    u64 consumed)
{
	/* nothing is announced, and nothing was */
	if (!(flags & (SMC_CDC_F_URG_PRESENT | SMC_CDC_F_URG_PENDING)) &&
	    u->state != SMC_URGENT_PENDING)
		return 0;
	return smc_urgent_rx_weigh_flags(u, flags, produced, consumed);
}

static inline bool smc_urgent_rx_is_present(const struct smc_urgent_rx *u)
{
	return u->state == SMC_URGENT_VALID || u->state == SMC_URGENT_READ;
}

/**
 * smc_urgent_rx_skip() - Take an out-of-band byte out of the stream if it is next
 * @u: reader
 * @consumed: position that the application has read up to
 * @in_line: SO_OOBINLINE: the application reads the byte in the stream
 *
 * The byte is kept for MSG_OOB. The peer's writer must not wait for an application that never reads
 * it.
 *
 * Return: true if the caller has to consume one byte now.
 */
static inline bool smc_urgent_rx_skip(struct smc_urgent_rx *u, u64 consumed, bool in_line)
{
	if (in_line || !smc_urgent_rx_is_present(u) || u->removed || consumed != u->pos - 1)
		return false;
	u->removed = true;
	return true;
}

/**
 * smc_urgent_rx_note_consumed() - Note that the application has read bytes
 * @u: reader
 * @consumed: position that it has read up to
 *
 * Return: true if an urgent byte was among them, for which the peer's writer waits.
 */
static inline bool smc_urgent_rx_note_consumed(struct smc_urgent_rx *u, u64 consumed)
{
	if (!smc_urgent_rx_is_present(u) || consumed < u->pos + u->removed)
		return false;
	WRITE_ONCE(u->state, SMC_URGENT_NONE);
	return !u->removed;
}

/**
 * smc_urgent_rx_is_next() - Check whether the next byte is an urgent one to be skipped
 * @u: reader
 * @pos: position of the next byte; beyond the consumed bytes for MSG_PEEK
 * @in_line: see smc_urgent_rx_skip()
 *
 * Return: true if so.
 */
static inline bool smc_urgent_rx_is_next(const struct smc_urgent_rx *u, u64 pos, bool in_line)
{
	return smc_urgent_rx_is_present(u) && !u->removed && !in_line && pos == u->pos - 1;
}

/**
 * smc_urgent_rx_read_len() - Return how many bytes may be read at once
 * @u: reader
 * @pos: position of the first byte
 * @in_line: see smc_urgent_rx_skip()
 * @some: the receive call has read bytes before: it ends at the mark
 *
 * Return: bytes, 0 if the call has to end.
 */
static inline u32 smc_urgent_rx_read_len(const struct smc_urgent_rx *u, u64 pos, bool in_line,
					 bool some)
{
	u64 mark = u->pos - !u->removed;

	if (!smc_urgent_rx_is_present(u) || pos > mark)
		return ~(u32)0;
	if (pos < mark)
		return mark - pos < ~(u32)0 ? (u32)(mark - pos) : ~(u32)0;
	return some || smc_urgent_rx_is_next(u, pos, in_line) ? 0 : ~(u32)0;
}

/**
 * smc_urgent_rx_is_held() - Check whether the next byte was taken out and is now wanted in the
 * stream
 * @u: reader
 * @consumed: position that the application has read up to
 * @in_line: see smc_urgent_rx_skip(); an application may set it late
 *
 * Return: true if so.
 */
static inline bool smc_urgent_rx_is_held(const struct smc_urgent_rx *u, u64 consumed, bool in_line)
{
	return in_line && smc_urgent_rx_is_present(u) && u->removed && consumed == u->pos;
}

/**
 * smc_urgent_rx_is_at_mark() - Check whether the stream is at the urgent mark (SIOCATMARK)
 * @u: reader
 * @consumed: position that the application has read up to
 *
 * Return: true if the next byte is the urgent one, or the first one after an urgent byte that was
 * taken out of the stream.
 */
static inline bool smc_urgent_rx_is_at_mark(const struct smc_urgent_rx *u, u64 consumed)
{
	return smc_urgent_rx_is_present(u) && consumed == u->pos - !u->removed;
}

#endif /* SMC_PROTO_URGENT_H */
