/* SPDX-License-Identifier: GPL-2.0-only */
/* Send a bare ACK; newer kernels take its flags as a parameter. */
#ifndef _SMC_COMPAT_TCP_ACK_H
#define _SMC_COMPAT_TCP_ACK_H

#include <net/tcp.h>

/* The caller holds the socket lock. */
static inline void smc_compat_tcp_send_ack(struct sock *sk)
{
#ifdef SMC_HAVE_TCP_ACK_FLAGS
	__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt, 0);
#else
	__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt);
#endif
}

#endif
