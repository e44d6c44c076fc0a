/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replace an idle SMC socket by a TCP socket under the same descriptor.
 */
#ifndef SMC_TOOLS_SWAP_H
#define SMC_TOOLS_SWAP_H

#include <stdbool.h>
#include <sys/socket.h>

/**
 * struct smc_swap_calls - the calls behind the wrappers of this library
 * @socket: next socket() in the chain of libraries
 * @getsockopt: next getsockopt()
 * @bind: next bind()
 */
struct smc_swap_calls {
	int (*socket)(int domain, int type, int protocol);
	int (*getsockopt)(int fd, int level, int name, void *val, socklen_t *len);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
};

int smc_swap_to_tcp(int fd, int domain, int auto_rcvbuf, int auto_sndbuf,
		    const struct smc_swap_calls *calls);

#endif /* SMC_TOOLS_SWAP_H */
