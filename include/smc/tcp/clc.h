/* SPDX-License-Identifier: GPL-2.0-only */
/* Send and receive one CLC message over the clcsock (RFC 7609 section A.2). */
#ifndef _SMC_TCP_CLC_H
#define _SMC_TCP_CLC_H

#include <linux/net.h>
#include <linux/types.h>
#include <smc/proto/clc_msg.h>

int smc_clc_send(struct socket *clcsock, const u8 *buf, u32 len);

/**
 * struct smc_clc_rx - a CLC message that is being received
 * @buf: the bytes received so far
 * @received: number of bytes in @buf
 * @len: length of the whole message in bytes; 0 until the header is complete
 */
struct smc_clc_rx {
	u8 buf[SMC_CLC_MAX_LEN];
	u32 received;
	u32 len;
};

int smc_clc_recv(struct socket *clcsock, struct smc_clc_rx *rx);
void smc_clc_rx_reset(struct smc_clc_rx *rx);
bool smc_clc_rx_is_ready(struct sock *sk);

#endif
