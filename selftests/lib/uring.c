// SPDX-License-Identifier: GPL-2.0-only
/* io_uring without liburing, see uring.h. */
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uring.h"

#define ENTRIES		8

/* A word of the shared memory, which the kernel reads or writes. */
static u32 *uring_word(struct uring *r, u32 off)
{
	return (u32 *)(r->map + off);
}

static u32 uring_load(struct uring *r, u32 off)
{
	return __atomic_load_n(uring_word(r, off), __ATOMIC_ACQUIRE);
}

static void uring_store(struct uring *r, u32 off, u32 val)
{
	__atomic_store_n(uring_word(r, off), val, __ATOMIC_RELEASE);
}

static void *uring_map(int fd, size_t len, u64 off)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);
}

/**
 * uring_open() - set up a ring
 * @r: ring
 *
 * Return: true, or false with errno set.
 */
bool uring_open(struct uring *r)
{
	const struct io_sqring_offsets *sq = &r->par.sq_off;
	const struct io_cqring_offsets *cq = &r->par.cq_off;
	size_t sq_len, cq_len;

	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, ENTRIES, &r->par);
	if (r->fd < 0)
		return false;
	/* both queues are in one mapping (IORING_FEAT_SINGLE_MMAP, kernels since 5.4) */
	sq_len = sq->array + r->par.sq_entries * sizeof(u32);
	cq_len = cq->cqes + r->par.cq_entries * sizeof(struct io_uring_cqe);
	r->map_len = sq_len > cq_len ? sq_len : cq_len;
	r->sqes_len = r->par.sq_entries * sizeof(*r->sqes);
	r->map = uring_map(r->fd, r->map_len, IORING_OFF_SQ_RING);
	r->sqes = uring_map(r->fd, r->sqes_len, IORING_OFF_SQES);
	return r->map != MAP_FAILED && (void *)r->sqes != MAP_FAILED;
}

/**
 * uring_keep() - register a descriptor with the ring, as fixed file 0
 * @r: ring
 * @fd: descriptor
 *
 * Return: true, or false with errno set.
 */
bool uring_keep(struct uring *r, int fd)
{
	return !syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, &fd, 1);
}

/**
 * uring_drop() - unregister the fixed file
 * @r: ring
 *
 * Return: true, or false with errno set.
 */
bool uring_drop(struct uring *r)
{
	return !syscall(SYS_io_uring_register, r->fd, IORING_UNREGISTER_FILES, NULL, 0);
}

/**
 * uring_submit() - submit one request
 * @r: ring
 * @req: request, copied
 *
 * Return: true, or false with errno set.
 */
bool uring_submit(struct uring *r, const struct io_uring_sqe *req)
{
	const struct io_sqring_offsets *sq = &r->par.sq_off;
	u32 tail = uring_load(r, sq->tail);
	u32 slot = tail & uring_load(r, sq->ring_mask);

	r->sqes[slot] = *req;
	uring_word(r, sq->array)[slot] = slot;
	uring_store(r, sq->tail, tail + 1);
	return syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0) == 1;
}

/**
 * uring_wait() - wait for the next completion
 * @r: ring; its @flags are set from the completion
 * @msec: longest wait
 * @user_data: receives user_data of the request
 * @res: receives its result
 *
 * Return: true, or false if no completion came in time.
 */
bool uring_wait(struct uring *r, int msec, u64 *user_data, int *res)
{
	const struct io_cqring_offsets *cq = &r->par.cq_off;
	u32 head = uring_load(r, cq->head);
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	const struct io_uring_cqe *cqe;

	if (head == uring_load(r, cq->tail) && poll(&p, 1, msec) <= 0)
		return false;
	if (head == uring_load(r, cq->tail))
		return false;
	cqe = (struct io_uring_cqe *)(r->map + cq->cqes) + (head & uring_load(r, cq->ring_mask));
	*user_data = cqe->user_data;
	*res = cqe->res;
	r->flags = cqe->flags;
	uring_store(r, cq->head, head + 1);
	return true;
}

void uring_close(struct uring *r)
{
	munmap(r->sqes, r->sqes_len);
	munmap(r->map, r->map_len);
	close(r->fd);
}
