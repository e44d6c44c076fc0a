/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP mode: calls go to the clcsock. */
#ifndef _SMC_SOCKET_FALLBACK_H
#define _SMC_SOCKET_FALLBACK_H

#include <linux/net.h>
#include <linux/poll.h>
#include <smc/socket/sock.h>

u64 smc_fallback_count_bytes(const struct smc_sock *smc);
bool smc_fallback_has_connected(const struct smc_sock *smc);
void smc_fallback_note(struct smc_sock *smc, u32 own_reason, u32 peer_reason, bool count);
void smc_fallback_start(struct smc_sock *smc, u32 own_reason, u32 peer_reason, bool count);
void smc_fallback_start_client(struct smc_sock *smc, u32 reason);
void smc_fallback_attach(struct smc_sock *smc, struct socket *sock);
void smc_fallback_detach(struct smc_sock *smc);
void smc_fallback_leave(struct smc_sock *smc);
void smc_fallback_pull_error(struct smc_sock *smc);

int smc_fallback_connect(struct smc_sock *smc, void *addr, int len, int flags);
int smc_fallback_sendmsg(struct smc_sock *smc, struct msghdr *msg, size_t len);
#ifdef SMC_HAVE_SENDPAGE
ssize_t smc_fallback_sendpage(struct smc_sock *smc, struct page *page, int offset, size_t size,
			      int flags);
#endif
int smc_fallback_recvmsg(struct smc_sock *smc, struct msghdr *msg, size_t len, int flags);
ssize_t smc_fallback_splice_read(struct smc_sock *smc, loff_t *pos, struct pipe_inode_info *pipe,
				 size_t len, unsigned int flags);
__poll_t smc_fallback_poll(struct smc_sock *smc, struct file *file);
int smc_fallback_shutdown(struct smc_sock *smc, int how);

#endif
