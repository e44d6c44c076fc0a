/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replace an idle AF_SMC socket by a plain TCP socket under the same descriptor.
 */
#ifndef SMC_TOOLS_SWAP_H
#define SMC_TOOLS_SWAP_H

#include <stdbool.h>
#include <sys/socket.h>

/**
 * struct smc_swap_calls - the system calls behind the wrappers
 * @socket: next socket() in the chain of libraries
 * @getsockopt: next getsockopt()
 * @bind: next bind()
 */
struct smc_swap_calls {
	int (*socket)(int domain, int type, int protocol);
	int (*getsockopt)(int fd, int level, int name, void *val, socklen_t *len);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
};

/**
 * smc_swap_to_tcp - put a TCP socket in the place of an idle SMC socket
 * @fd: the descriptor; must not be connected, connecting or listening
 * @domain: AF_INET or AF_INET6
 * @auto_rcvbuf: SO_RCVBUF as smc_run set it, not to be carried over; 0 if it did not
 * @auto_sndbuf: the same for SO_SNDBUF
 * @calls: the real calls
 *
 * Carries over descriptor and file flags, signal owner, the common socket options, the local
 * address and registrations in epoll sets of this process.
 *
 * Return: 0, or -1 with errno. After an error in binding again the descriptor is already a
 * TCP socket, after any other error it is unchanged.
 */
int smc_swap_to_tcp(int fd, int domain, int auto_rcvbuf, int auto_sndbuf,
		    const struct smc_swap_calls *calls);

#endif /* SMC_TOOLS_SWAP_H */
