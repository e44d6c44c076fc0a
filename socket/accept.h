/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Listening: children of the carrier go through their handshakes to the accept
 * queue. Rank 12.
 */
#ifndef _SMC_SOCKET_ACCEPT_H
#define _SMC_SOCKET_ACCEPT_H

#include <linux/net.h>
#include <linux/poll.h>
#include <smc/socket/sock.h>

int smc_accept_init(void);
void smc_accept_exit(void);

/* listen() of an undecided socket; socket lock held. Again: only the backlog. */
int smc_accept_listen(struct smc_sock *smc, int backlog);
/* Ends listening: handshakes cancelled, children closed with a reset; socket lock held. */
void smc_accept_stop(struct smc_sock *smc);
void smc_accept_end(struct smc_sock *smc);
/* SMC_LIMIT_HS has been set, listening or not. */
void smc_accept_flags(struct smc_sock *smc);
/* An option was set that SMC cannot honour: from now on connections are TCP. */
void smc_accept_exclude(struct smc_sock *smc);
/* accept(): waits as the socket says. */
int smc_accept_dequeue(struct smc_sock *smc, struct socket *newsock, int flags);
/* accept() on a listener in TCP mode, in the caller's context. */
int smc_accept_tcp(struct smc_sock *smc, struct socket *newsock, int flags, bool kern);
__poll_t smc_accept_poll(struct smc_sock *smc);

/* Releases a socket's transport at the end of its life; shared with release(). */
void smc_accept_child_free(struct smc_sock *smc, bool reset);

#endif
