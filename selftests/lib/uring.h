/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of io_uring that socket tests need; completions are taken one by one. */
#ifndef SMC_SELFTESTS_URING_H
#define SMC_SELFTESTS_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <smc/proto/types.h>

/**
 * struct uring - both queues of a ring
 * @fd: descriptor of the ring
 * @map: memory of both queues, shared with the kernel
 * @map_len: length of @map
 * @sqes: submission queue entries
 * @sqes_len: length of @sqes
 * @par: parameters that the kernel returned
 * @flags: IORING_CQE_F_* of the completion that uring_wait() returned last
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

bool uring_open(struct uring *r);
bool uring_keep(struct uring *r, int fd);
bool uring_drop(struct uring *r);
bool uring_submit(struct uring *r, const struct io_uring_sqe *req);
bool uring_wait(struct uring *r, int msec, u64 *user_data, int *res);
void uring_close(struct uring *r);

#endif
