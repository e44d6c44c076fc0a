// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints which protocol a stream socket of AF_INET has, by the call that makes it: socket(2), then
 * IORING_OP_SOCKET. 6 is TCP, 256 IPPROTO_SMC, into which smc_cgroup changes it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/uring.h"

#define PATIENCE_MS	10000

static int by_call(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -errno : fd;
}

/* The kernel makes the socket when it executes the request, and installs it as a descriptor. */
static int by_uring(void)
{
	const struct io_uring_sqe req = {
		.opcode	= IORING_OP_SOCKET,
		.fd	= AF_INET,
		.off	= SOCK_STREAM,
	};
	struct uring r;
	u64 data;
	int fd;

	if (!uring_open(&r) || !uring_submit(&r, &req))
		return -errno;
	if (!uring_wait(&r, PATIENCE_MS, &data, &fd))
		return -ETIMEDOUT;
	uring_close(&r);
	return fd;
}

static int protocol_print(const char *how, int fd)
{
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		fd = -errno;
	if (fd < 0) {
		fprintf(stderr, "smc_uring: %s: %s\n", how, strerror(-fd));
		return 1;
	}
	close(fd);
	printf("%s %d\n", how, protocol);
	return 0;
}

int main(void)
{
	return protocol_print("socket", by_call()) | protocol_print("io_uring", by_uring());
}
