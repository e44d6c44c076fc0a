/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plain TCP: each call goes to the carrier, errors and file come along. Rank 11.
 * Documentation/decisions/0001-falling-back.md is the reference.
 *
 * The calls serve sockets in TCP mode without our socket lock, and idle ones
 * (smc_sock_idle()) under it and then with MSG_DONTWAIT or O_NONBLOCK only.
 */
#ifndef _SMC_SOCKET_FALLBACK_H
#define _SMC_SOCKET_FALLBACK_H

#include <linux/net.h>
#include <linux/poll.h>
#include <smc/socket/sock.h>

/*
 * TCP for life. Reasons are kept and, when @count, counted (the handshake counts its
 * own). Process context, no spinlock; the carrier is not hooked.
 */
void smc_fback_enter(struct smc_sock *smc, u32 own_reason, u32 peer_reason, bool count);
/*
 * The application's socket is known (create, accept): wait queue, file and, in TCP
 * mode, error transfer and SIGIO.
 */
void smc_fback_attach(struct smc_sock *smc, struct socket *sock);
/* Before listen(): a child would copy our callbacks. */
void smc_fback_detach(struct smc_sock *smc);
/* Takes the carrier's error over; any context. */
void smc_fback_pull(struct smc_sock *smc);

int smc_fback_connect(struct smc_sock *smc, void *addr, int len, int flags);
int smc_fback_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len);
#ifdef SMC_HAVE_SENDPAGE
ssize_t smc_fback_sendpage(struct smc_sock *smc, struct page *page, int offset, size_t size,
			   int flags);
#endif
int smc_fback_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags);
ssize_t smc_fback_splice_read(struct smc_sock *smc, loff_t *pos, struct pipe_inode_info *pipe,
			      size_t len, unsigned int flags);
__poll_t smc_fback_poll(struct smc_sock *smc, struct file *file);
int smc_fback_shutdown(struct smc_sock *smc, int how);

#endif
