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
u64 smc_urgent_tx_stop_pos(const struct smc_urgent_tx *u);
u8 smc_urgent_tx_flags(struct smc_urgent_tx *u, u64 sent, bool again);
void smc_urgent_tx_rewind(struct smc_urgent_tx *u, u64 sent);
void smc_urgent_tx_note_consumed(struct smc_urgent_tx *u, u64 consumed);

unsigned int smc_urgent_rx_take_flags(struct smc_urgent_rx *u, u8 flags, u64 produced,
				      u64 consumed);
bool smc_urgent_rx_skip(struct smc_urgent_rx *u, u64 consumed, bool in_line);
bool smc_urgent_rx_note_consumed(struct smc_urgent_rx *u, u64 consumed);
u32 smc_urgent_rx_read_len(const struct smc_urgent_rx *u, u64 pos, bool in_line, bool some);
bool smc_urgent_rx_is_next(const struct smc_urgent_rx *u, u64 pos, bool in_line);
bool smc_urgent_rx_is_at_mark(const struct smc_urgent_rx *u, u64 consumed);
bool smc_urgent_rx_blocks_writer(const struct smc_urgent_rx *u, u64 produced);
bool smc_urgent_rx_is_held(const struct smc_urgent_rx *u, u64 consumed, bool in_line);
void smc_urgent_rx_note_passed(struct smc_urgent_rx *u);
int smc_urgent_rx_read_oob(struct smc_urgent_rx *u, bool peek, u8 *byte);

#endif /* SMC_PROTO_URGENT_H */
