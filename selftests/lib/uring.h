/* SPDX-License-Identifier: GPL-2.0-only */
/* As much of io_uring as a test of sockets needs; requests end one by one. */
#ifndef SMC_SELFTESTS_URING_H
#define SMC_SELFTESTS_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <smc/proto/types.h>

/**
 * struct uring - both queues of a ring
 * @fd: its descriptor
 * @map: the memory that it shares with the kernel
 * @map_len: length of @map
 * @sqes: requests
 * @sqes_len: length of @sqes
 * @par: what the kernel said about it
 * @flags: IORING_CQE_F_* of the completion that was last told of
 */
struct uring {
	int fd;
	u8 *map;
	size_t map_len;
	struct io_uring_sqe *sqes;
	size_t sqes_len;
	struct io_uring_params par;
	u32 flags;
};

/* All of them: false, and errno, if that does not work. */
bool uring_open(struct uring *r);
/* The ring keeps the descriptor as its number 0. */
bool uring_keep(struct uring *r, int fd);
/* The ring gives up what it keeps. */
bool uring_drop(struct uring *r);
bool uring_submit(struct uring *r, const struct io_uring_sqe *req);
/* Whichever request ends first, but no longer than that: its user_data and its result. */
bool uring_wait(struct uring *r, int msec, u64 *who, int *res);
void uring_close(struct uring *r);

#endif
