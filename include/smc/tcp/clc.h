/* SPDX-License-Identifier: GPL-2.0-only */
/* One CLC message over the TCP carrier (RFC 7609 A.2). Rank 2. */
#ifndef _SMC_TCP_CLC_H
#define _SMC_TCP_CLC_H

#include <linux/net.h>
#include <linux/types.h>
#include <smc/proto/clc_msg.h>

/*
 * Sends @len bytes of a finished message, never blocking on the carrier's own
 * wait queue (MSG_DONTWAIT; CLC messages fit an empty send queue). 0, -EAGAIN when
 * not all of it fitted (treat as fatal), or the carrier's error.
 */
int smc_clc_send(struct socket *carrier, const u8 *buf, u32 len);

/**
 * struct smc_clc_rx - a message being received
 * @buf: bytes so far
 * @have: number of them
 * @want: total length once the header is known, else 0
 */
struct smc_clc_rx {
	u8 buf[SMC_CLC_MAX_LEN];
	u32 have;
	u32 want;
};

/*
 * Reads what the carrier has of the current message, never a byte beyond it.
 * 1: a whole message is in rx->buf[0..want); 0: more to come; -EPROTO: not a CLC
 * message (bad eye catcher, impossible length); -ECONNRESET: EOF in the middle;
 * -ENOTCONN: EOF before the first byte; other: the carrier's error.
 * Call smc_clc_rx_reset() between messages.
 */
int smc_clc_recv(struct socket *carrier, struct smc_clc_rx *rx);
void smc_clc_rx_reset(struct smc_clc_rx *rx);

/* Would smc_clc_recv(), now for the first time, end without waiting for more? */
bool smc_clc_whole(struct sock *sk);

#endif
