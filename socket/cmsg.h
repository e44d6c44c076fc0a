/* SPDX-License-Identifier: GPL-2.0-only */
/* Control messages of recvmsg() in SMC mode, and notifications of the error queue. */
#ifndef _SMC_SOCKET_CMSG_H
#define _SMC_SOCKET_CMSG_H

#include <linux/ktime.h>

struct msghdr;
struct smc_conn;
struct smc_sock;

bool smc_cmsg_is_needed(const struct smc_sock *smc, const struct msghdr *msg);
void smc_cmsg_put(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg, bool some,
		  size_t ahead);
void smc_cmsg_put_stamps(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg,
			 size_t ahead);
void smc_cmsg_put_inq(const struct smc_sock *smc, struct smc_conn *conn, struct msghdr *msg,
		      u32 more);
int smc_cmsg_recv_errqueue(struct smc_sock *smc, struct msghdr *msg, size_t len);
void smc_cmsg_options_changed(struct smc_sock *smc);

#endif
