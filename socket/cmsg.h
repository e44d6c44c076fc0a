/* SPDX-License-Identifier: GPL-2.0-only */
/* Control messages that come with the bytes of a stream, and notices. Rank 11.01. */
#ifndef _SMC_SOCKET_CMSG_H
#define _SMC_SOCKET_CMSG_H

#include <linux/ktime.h>

struct msghdr;
struct smc_conn;
struct smc_sock;

/* Is smc_cmsg_put() of any use? */
bool smc_cmsg_wanted(const struct smc_sock *smc, const struct msghdr *msg);
/* After a call that has read @some bytes up to @ahead of the read position; socket lock held. */
void smc_cmsg_put(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg, bool some,
		  size_t ahead);
/* MSG_ERRQUEUE: the next notice of our own error queue; any mode. */
int smc_cmsg_notice(struct smc_sock *smc, struct msghdr *msg, size_t len);
/* An option may have asked for time stamps; any mode. */
void smc_cmsg_changed(struct smc_sock *smc);

#endif
