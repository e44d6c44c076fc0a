// SPDX-License-Identifier: GPL-2.0-only
/* io_uring without its library: see uring.h. */
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uring.h"

#define ENTRIES		8

/* A number that the kernel reads or writes. */
static u32 *word(struct uring *r, u32 off)
{
	return (u32 *)(r->map + off);
}

static u32 load(struct uring *r, u32 off)
{
	return __atomic_load_n(word(r, off), __ATOMIC_ACQUIRE);
}

static void store(struct uring *r, u32 off, u32 val)
{
	__atomic_store_n(word(r, off), val, __ATOMIC_RELEASE);
}

static void *share(int fd, size_t len, u64 off)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);
}

bool uring_open(struct uring *r)
{
	const struct io_sqring_offsets *sq = &r->par.sq_off;
	const struct io_cqring_offsets *cq = &r->par.cq_off;
	size_t sq_len, cq_len;

	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, ENTRIES, &r->par);
	if (r->fd < 0)
		return false;
	/* one piece of memory for both queues: kernels since 5.4 */
	sq_len = sq->array + r->par.sq_entries * sizeof(u32);
	cq_len = cq->cqes + r->par.cq_entries * sizeof(struct io_uring_cqe);
	r->map_len = sq_len > cq_len ? sq_len : cq_len;
	r->sqes_len = r->par.sq_entries * sizeof(*r->sqes);
	r->map = share(r->fd, r->map_len, IORING_OFF_SQ_RING);
	r->sqes = share(r->fd, r->sqes_len, IORING_OFF_SQES);
	return r->map != MAP_FAILED && (void *)r->sqes != MAP_FAILED;
}

bool uring_keep(struct uring *r, int fd)
{
	return !syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, &fd, 1);
}

bool uring_drop(struct uring *r)
{
	return !syscall(SYS_io_uring_register, r->fd, IORING_UNREGISTER_FILES, NULL, 0);
}

bool uring_submit(struct uring *r, const struct io_uring_sqe *req)
{
	const struct io_sqring_offsets *sq = &r->par.sq_off;
	u32 tail = load(r, sq->tail);
	u32 slot = tail & load(r, sq->ring_mask);

	r->sqes[slot] = *req;
	word(r, sq->array)[slot] = slot;
	store(r, sq->tail, tail + 1);
	return syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0) == 1;
}

bool uring_wait(struct uring *r, int msec, u64 *who, int *res)
{
	const struct io_cqring_offsets *cq = &r->par.cq_off;
	u32 head = load(r, cq->head);
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	const struct io_uring_cqe *cqe;

	if (head == load(r, cq->tail) && poll(&p, 1, msec) <= 0)
		return false;
	if (head == load(r, cq->tail))
		return false;
	cqe = (struct io_uring_cqe *)(r->map + cq->cqes) + (head & load(r, cq->ring_mask));
	*who = cqe->user_data;
	*res = cqe->res;
	r->flags = cqe->flags;
	store(r, cq->head, head + 1);
	return true;
}

void uring_close(struct uring *r)
{
	munmap(r->sqes, r->sqes_len);
	munmap(r->map, r->map_len);
	close(r->fd);
}
