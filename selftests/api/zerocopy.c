// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: zero-copy sends (MSG_ZEROCOPY, sendfile(), splice(), io_uring).
 *
 * A change of a page before its bytes are sent shows that they were not copied: the peer receives
 * the change. Over RDMA nothing is sent while the reader does not read and the window is full.
 */
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "api.h"
#include "lib/uring.h"

#define SEED	1601
#define PAGES	((size_t)6 << 20)	/* more than the rings of both ends hold */
#define PIECE	((size_t)65536)
#define CHANGED	((size_t)4096)
#define SPARSE	512

#ifndef SOL_SMC
#define SOL_SMC	286
#endif

#define NONE	(-1)	/* no completion is queued */
#define NOBODY	65534

/* newer than the headers */
#define SEND_ZC_REPORT_USAGE_	0x8
#define NOTIF_USAGE_ZC_COPIED_	0x80000000U

/* Kernels that have SO_ZEROCOPY for TCP only need the option of our own level. */
static void zerocopy_on(struct api_env *e, int fd)
{
	const int on = 1;

	if (e->proto->smc && api_kernel_before(6, 7)) {
		T_ERR(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)), EOPNOTSUPP);
		T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, &on, sizeof(on)));
		return;
	}
	T_OK(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)));
}

static int int_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	T_OK(getsockopt(fd, level, name, &val, &len));
	return val;
}

/* Both names of the option, where the kernel has them, return the same value. */
static void check_option(int fd, int want)
{
	T_EQ(int_option(fd, SOL_SMC, SMC_OWN_ZEROCOPY), want);
	T_EQ(int_option(fd, SOL_SOCKET, SO_ZEROCOPY), want);
}

static void own_option_set(int fd)
{
	const int on = 1, bad = 2;

	T_ERR(setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, &bad, sizeof(bad)), EINVAL);
	T_ERR(setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, &on, 1), EINVAL);
	check_option(fd, 0);
	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, &on, sizeof(on)));
	check_option(fd, 1);
}

static u8 *pages_alloc(u64 seed)
{
	u8 *buf = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	T_TRUE(buf != MAP_FAILED);
	tl_fill(seed, 0, buf, PAGES);
	return buf;
}

/*
 * Whether the completions of a connection say what RDMA has copied: not where TCP may have carried
 * the bytes.
 */
static bool reports_rdma(const struct api_env *e, int fd)
{
	return !e->upgrade && api_over_rdma(e, fd);
}

/*
 * Read the next completion: return the first send of its range, put the last one into *@hi. Ranges
 * must be in order. *@copied: over RDMA, whether these sends were copied.
 */
static long long completion_read(struct api_env *e, int fd, u32 *hi, bool *copied)
{
	union {
		struct cmsghdr align;
		char room[256];
	} u;
	struct msghdr m = { .msg_control = &u, .msg_controllen = sizeof(u) };
	struct sock_extended_err ee;
	struct cmsghdr *c;

	if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
		T_EQ(errno, EAGAIN);
		return NONE;
	}
	T_TRUE(m.msg_flags & MSG_ERRQUEUE);
	c = CMSG_FIRSTHDR(&m);
	T_TRUE(c);
	T_TRUE((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR));
	T_EQ(c->cmsg_level, e->local.sa.sa_family == AF_INET6 ? SOL_IPV6 : SOL_IP);
	/* the address behind it has no meaning here */
	T_EQ(c->cmsg_len, CMSG_LEN(sizeof(ee) + (e->local.sa.sa_family == AF_INET6 ?
						 sizeof(struct sockaddr_in6) :
						 sizeof(struct sockaddr_in))));
	memcpy(&ee, CMSG_DATA(c), sizeof(ee));
	T_EQ(ee.ee_errno, 0);
	T_EQ(ee.ee_origin, SO_EE_ORIGIN_ZEROCOPY);
	*hi = ee.ee_data;
	*copied = reports_rdma(e, fd) && ee.ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	return ee.ee_info;
}

/**
 * struct numbers - sends whose pages are free
 * @next: all before this one
 * @early: ranges behind a gap
 * @nr_early: their number
 */
struct numbers {
	u32 next;
	struct { u32 lo, hi; } early[16];
	unsigned int nr_early;
};

/*
 * Completions are in order. If a connection has changed over, the first ones of RDMA may come
 * before the last ones of TCP, which wait for the peer's delayed ACK.
 */
static void numbers_add(struct api_env *e, struct numbers *n, u32 lo, u32 hi)
{
	T_TRUE(hi >= lo);
	if (lo != n->next) {
		T_TRUE(e->upgrade);
		T_TRUE(lo > n->next);
		T_TRUE(n->nr_early < TL_ARRAY_SIZE(n->early));
		n->early[n->nr_early].lo = lo;
		n->early[n->nr_early++].hi = hi;
		return;
	}
	n->next = hi + 1;
	for (unsigned int i = 0; i < n->nr_early; i++) {
		if (n->early[i].lo == n->next) {
			lo = n->early[i].lo;
			hi = n->early[i].hi;
			n->early[i] = n->early[--n->nr_early];
			numbers_add(e, n, lo, hi);
			return;
		}
	}
}

/* Wait for all completions up to @limit; over RDMA all must match @want_copied. */
static void completions_wait(struct api_env *e, int fd, struct numbers *done, u32 limit,
			     bool want_copied)
{
	bool copied;
	u32 hi;

	while (done->next < limit) {
		long long lo = completion_read(e, fd, &hi, &copied);

		if (lo == NONE) {
			T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
			continue;
		}
		T_TRUE(hi < limit);
		T_EQ(copied, want_copied && reports_rdma(e, fd));
		numbers_add(e, done, lo, hi);
	}
}

static void zerocopy_sends(struct api_env *e)
{
	static const size_t sizes[] = { 4096, 70001, 2500, 300000, 16384, 5000 };
	struct numbers done = { 0 };
	u32 sends = 0, hi;
	u8 *buf = pages_alloc(SEED);
	bool copied;
	size_t off = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	for (unsigned int i = 0; i < TL_ARRAY_SIZE(sizes); i++) {
		r_later(e, 0);
		r_recv(e, rfd, SEED, off, sizes[i]);
		for (size_t sent = 0; sent < sizes[i]; sends++)
			sent += T_OK(send(fd, buf + off + sent, sizes[i] - sent, MSG_ZEROCOPY));
		T_EQ(r_join(e), sizes[i]);
		off += sizes[i];
	}
	completions_wait(e, fd, &done, sends, false);
	T_EQ(completion_read(e, fd, &hi, &copied), NONE);
	T_EQ(api_poll(fd, POLLOUT, API_PATIENCE_MS), POLLOUT);
	/* too small for zero copy: copied and reported so; completions of many sends are merged */
	for (unsigned int i = 0; i < 20; i++, sends++)
		T_EQ(send(fd, buf + off + i * 100, 100, MSG_ZEROCOPY), 100);
	completions_wait(e, fd, &done, sends, true);
	T_EQ(r_recv(e, rfd, SEED, off, 2000), 2000);
	off += 2000;
	/* mixed with copying sends, from several places */
	for (unsigned int i = 0; i < 40; i++) {
		struct iovec iov[3] = {
			{ buf + off, 1000 }, { buf + off + 1000, 3001 }, { buf + off + 4001, 99 },
		};
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = 3 };

		r_later(e, 0);
		r_recv(e, rfd, SEED, off, 4200);
		T_EQ(sendmsg(fd, &m, MSG_ZEROCOPY), 4100);
		T_EQ(send(fd, buf + off + 4100, 100, 0), 100);
		T_EQ(r_join(e), 4200);
		off += 4200;
		sends++;
	}
	completions_wait(e, fd, &done, sends, false);
	api_roundtrip(e, fd, rfd, SEED);
}

/* A few bytes of many pages pin none of them: all limits count bytes. */
static void zerocopy_sparse(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	struct iovec iov[SPARSE];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = SPARSE };
	struct numbers done = { 0 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	for (unsigned int i = 0; i < SPARSE; i++) {
		iov[i] = (struct iovec){ buf + i * 4096UL, 8 };
		tl_fill(SEED, i * 8, iov[i].iov_base, 8);
	}
	T_EQ(sendmsg(fd, &m, MSG_ZEROCOPY), SPARSE * 8);
	completions_wait(e, fd, &done, 1, true);
	T_EQ(r_recv(e, rfd, SEED, 0, SPARSE * 8), SPARSE * 8);
	api_roundtrip(e, fd, rfd, SEED);
}

/* No completion without the option or without bytes; a failed send has no number. */
static void zerocopy_numbers(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	struct numbers done = { 0 };
	u32 hi;
	bool copied;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(send(fd, buf, 5000, MSG_ZEROCOPY), 5000);
	T_EQ(r_recv(e, rfd, SEED, 0, 5000), 5000);
	T_EQ(completion_read(e, fd, &hi, &copied), NONE);
	zerocopy_on(e, fd);
	T_EQ(send(fd, buf, 0, MSG_ZEROCOPY), 0);
	T_ERR(send(fd, (void *)4096, 5000, MSG_ZEROCOPY), EFAULT);
	T_EQ(send(fd, buf + 5000, 5000, MSG_ZEROCOPY), 5000);
	T_EQ(r_recv(e, rfd, SEED, 5000, 5000), 5000);
	completions_wait(e, fd, &done, 1, false);
	T_OK(shutdown(fd, SHUT_WR));
	T_ERR(send(fd, buf, 5000, MSG_ZEROCOPY | MSG_NOSIGNAL), EPIPE);
	T_EQ(completion_read(e, fd, &hi, &copied), NONE);
}

/* Return whether there is room soon. Not by poll(), which queued completions end at once. */
static bool room_soon(int fd)
{
	for (unsigned int i = 0; i < 5 * API_QUIET_MS / 10; i++) {
		if (api_poll(fd, POLLOUT, 0) & POLLOUT)
			return true;
		usleep(10000);
	}
	return false;
}

/* Send until the socket takes no more. Return the bytes, add the calls to *@sends. */
static size_t send_until_full(int fd, const u8 *buf, int file, u32 *sends)
{
	size_t off = 0;

	T_OK(tl_set_nonblock(fd, true));
	for (;;) {
		off_t at = off;
		ssize_t n;

		T_TRUE(off + PIECE <= PAGES);
		n = file < 0 ? send(fd, buf + off, PIECE, MSG_ZEROCOPY) :
			       sendfile(fd, file, &at, PIECE);
		if (n < 0) {
			T_TRUE(errno == EAGAIN);
			if (!room_soon(fd))
				break;
			continue;
		}
		off += n;
		++*sends;
	}
	T_OK(tl_set_nonblock(fd, false));
	return off;
}

/*
 * The kernel holds pages as long as their bytes may have to be sent. A change of a page until then
 * is sent.
 */
static void zerocopy_held(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	struct numbers done = { 0 };
	u32 sends = 0, hi = 0;
	bool copied;
	long long lo;
	size_t len;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	len = send_until_full(fd, buf, -1, &sends);
	while ((lo = completion_read(e, fd, &hi, &copied)) != NONE)
		numbers_add(e, &done, lo, hi);
	T_TRUE(done.next < sends);
	if (!api_over_rdma(e, fd)) {
		T_EQ(r_recv(e, rfd, SEED, 0, len), len);
		completions_wait(e, fd, &done, sends, false);
		return;
	}
	tl_fill(SEED + 1, 0, buf + len - CHANGED, CHANGED);
	T_EQ(r_recv(e, rfd, SEED, 0, len - CHANGED), len - CHANGED);
	T_EQ(r_recv(e, rfd, SEED + 1, 0, CHANGED), CHANGED);
	completions_wait(e, fd, &done, sends, false);
}

/* No one reads the completions, and the memory is unmapped: the peer receives all bytes. */
static void zerocopy_close(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	u32 sends = 0;
	size_t len;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	len = send_until_full(fd, buf, -1, &sends);
	T_OK(close(fd));
	T_OK(munmap(buf, PAGES));
	T_EQ(r_recv(e, rfd, SEED, 0, len), len);
	T_EQ(r_recv_once(e, rfd, 1), 0);
	/* ... or, after a reset, nothing more */
	buf = pages_alloc(SEED);
	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	send_until_full(fd, buf, -1, &sends);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
			sizeof(struct linger)));
	T_OK(close(fd));
	T_OK(munmap(buf, PAGES));
	T_TRUE(r_poll(e, rfd, POLLHUP, API_PATIENCE_MS) & POLLHUP);
}

/* The peer closes without reading: the pages come back. */
static void zerocopy_reset(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	struct numbers done = { 0 };
	u32 sends = 0, hi = 0;
	bool copied;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	send_until_full(fd, buf, -1, &sends);
	T_OK(r_close(e, rfd));
	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & (POLLERR | POLLHUP));
	for (unsigned int tries = 0; done.next < sends; tries++) {
		long long lo = completion_read(e, fd, &hi, &copied);

		if (lo == NONE) {
			T_TRUE(tries < API_PATIENCE_MS / 10);
			usleep(10000);
			continue;
		}
		numbers_add(e, &done, lo, hi);
	}
}

/* Pinned pages count against RLIMIT_MEMLOCK until they are released. */
static void zerocopy_memlock(struct api_env *e)
{
	const struct rlimit room = { 65536, 65536 };
	u8 *buf = pages_alloc(SEED);
	size_t off = 0;
	struct numbers done = { 0 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	zerocopy_on(e, fd);
	T_OK(setrlimit(RLIMIT_MEMLOCK, &room));
	T_OK(setresuid(NOBODY, NOBODY, NOBODY));
	T_ERR(send(fd, buf, 70000, MSG_ZEROCOPY), ENOBUFS);
	for (u32 i = 0; i < 10; i++, off += 16384) {
		T_EQ(send(fd, buf + off, 16384, MSG_ZEROCOPY), 16384);
		T_EQ(r_recv(e, rfd, SEED, off, 16384), 16384);
		completions_wait(e, fd, &done, i + 1, false);
	}
	/* the limit does not concern a send that copies */
	r_later(e, 0);
	r_recv(e, rfd, SEED, off, 70000);
	api_send(fd, SEED, off, 70000);
	T_EQ(r_join(e), 70000);
}

/* Return the bytes sent by RDMA from their own pages, in this namespace. */
static unsigned long long counter_zc_bytes(void)
{
	unsigned long long n = 0;
	char line[128];
	FILE *f = fopen("/proc/net/smc_stat", "r");

	T_TRUE(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "tx_zc_bytes %llu", &n) == 1)
			break;
	fclose(f);
	return n;
}

/*
 * One zero-copy send of io_uring has two completions: of the call and of its pages. Over RDMA the
 * second one says whether the bytes were copied, on kernels that report it.
 */
static void send_zc(const struct api_env *e, struct uring *r, int fd, const u8 *buf, size_t len,
		    bool copied)
{
	bool reports = !api_kernel_before(6, 2);
	struct io_uring_sqe req = {
		.opcode = IORING_OP_SEND_ZC,
		.ioprio = reports ? SEND_ZC_REPORT_USAGE_ : 0,
		.fd = fd,
		.addr = (uintptr_t)buf,
		.len = len,
		.msg_flags = MSG_WAITALL,
		.user_data = len,
	};
	int res = -1;
	u64 who = 0;

	T_TRUE(uring_submit(r, &req));
	T_TRUE(uring_wait(r, API_PATIENCE_MS, &who, &res));
	T_EQ(who, len);
	T_EQ(res, len);
	T_TRUE(r->flags & IORING_CQE_F_MORE && !(r->flags & IORING_CQE_F_NOTIF));
	T_TRUE(uring_wait(r, API_PATIENCE_MS, &who, &res));
	T_EQ(who, len);
	T_TRUE(r->flags & IORING_CQE_F_NOTIF);
	if (reports && reports_rdma(e, fd))
		T_EQ(!!((u32)res & NOTIF_USAGE_ZC_COPIED_), copied);
}

static void zerocopy_uring(struct api_env *e)
{
	static const size_t sizes[] = { 4096, 70001, 1 << 20 };
	unsigned long long before = 0;
	u8 *buf = pages_alloc(SEED);
	struct uring r;
	size_t off = 0;
	bool rdma;
	int fd, rfd;

	T_TRUE(uring_open(&r));
	api_pair(e, &fd, &rfd);
	rdma = api_over_rdma(e, fd);
	if (rdma)
		before = counter_zc_bytes();
	for (size_t i = 0; i < TL_ARRAY_SIZE(sizes); i++) {
		r_later(e, 0);
		r_recv(e, rfd, SEED, off, sizes[i]);
		send_zc(e, &r, fd, buf + off, sizes[i], false);
		T_EQ(r_join(e), sizes[i]);
		off += sizes[i];
	}
	/* the rest of a call may be copied if it is less than a page */
	if (rdma)
		T_TRUE(counter_zc_bytes() - before >= off - off / 16);
	/* too small for zero copy */
	before = rdma ? counter_zc_bytes() : 0;
	send_zc(e, &r, fd, buf + off, 100, true);
	T_EQ(r_recv(e, rfd, SEED, off, 100), 100);
	if (rdma)
		T_EQ(counter_zc_bytes(), before);
	uring_close(&r);
	api_roundtrip(e, fd, rfd, SEED);
}

/* Pages of a file, by sendfile(): as zerocopy_held. */
static void sendfile_held(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	u8 other[CHANGED];
	u32 sends = 0;
	int fd, rfd, file;
	size_t len;

	api_pair(e, &fd, &rfd);
	file = T_OK(memfd_create("smc_api", MFD_CLOEXEC));
	for (size_t n = 0; n < PAGES;)
		n += T_OK(write(file, buf + n, PAGES - n));
	len = send_until_full(fd, buf, file, &sends);
	if (!api_over_rdma(e, fd)) {
		T_OK(close(file));
		T_EQ(r_recv(e, rfd, SEED, 0, len), len);
		return;
	}
	tl_fill(SEED + 1, 0, other, CHANGED);
	T_EQ(pwrite(file, other, CHANGED, len - CHANGED), (ssize_t)CHANGED);
	/* gone from the file, not from the stream */
	T_OK(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGES));
	T_OK(close(file));
	T_EQ(r_recv(e, rfd, SEED, 0, len - CHANGED), len - CHANGED);
	T_EQ(r_recv(e, rfd, SEED + 1, 0, CHANGED), CHANGED);
}

/* Pages of a pipe, in pieces of any size, between copied bytes. */
static void splice_mixed(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	size_t off = 0;
	int fd, rfd, p[2];

	api_pair(e, &fd, &rfd);
	T_OK(pipe2(p, O_CLOEXEC));
	r_later(e, 0);
	r_recv(e, rfd, SEED, 0, (size_t)1 << 20);
	for (unsigned int i = 0; off < (size_t)1 << 20; i++) {
		size_t left = ((size_t)1 << 20) - off;
		size_t n = 1 + (i * 2654435761U >> 8) % (i % 3 ? 700 : 30000);
		struct iovec iov = { buf + off, n < left ? n : left };
		ssize_t got;

		if (i % 2) {
			off += T_OK(send(fd, buf + off, iov.iov_len, 0));
			continue;
		}
		got = T_OK(vmsplice(p[1], &iov, 1, 0));
		while (got) {
			ssize_t moved = T_OK(splice(p[0], NULL, fd, NULL, got, 0));

			got -= moved;
			off += moved;
		}
	}
	T_EQ(r_join(e), 1LL << 20);
	api_roundtrip(e, fd, rfd, SEED);
}

/* The option of our own level: set before the connection or on its listener, and cleared later. */
static void zerocopy_own(struct api_env *e)
{
	u8 *buf = pages_alloc(SEED);
	struct numbers done = { 0 };
	u32 hi;
	int fd, rfd, off = 0;
	bool copied;

	if (!e->proto->smc) {
		fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
		T_ERR(setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, &off, sizeof(off)), ENOPROTOOPT);
		return;
	}
	api_pair_of(e, own_option_set, &fd, &rfd);
	api_check_mode(e, fd);
	check_option(fd, 1);
	T_EQ(send(fd, buf, 5000, MSG_ZEROCOPY), 5000);
	T_EQ(r_recv(e, rfd, SEED, 0, 5000), 5000);
	completions_wait(e, fd, &done, 1, false);
	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, &off, sizeof(off)));
	check_option(fd, 0);
	T_EQ(send(fd, buf + 5000, 5000, MSG_ZEROCOPY), 5000);
	T_EQ(r_recv(e, rfd, SEED, 5000, 5000), 5000);
	T_EQ(api_poll(fd, 0, API_QUIET_MS), 0);
	T_EQ(completion_read(e, fd, &hi, &copied), NONE);
	api_roundtrip(e, fd, rfd, SEED);
}

static const struct api_case cases[] = {
	{ "zerocopy_own",	zerocopy_own,		API_F_ROLES },
	{ "zerocopy_sends",	zerocopy_sends,		API_F_ROLES },
	{ "zerocopy_sparse",	zerocopy_sparse,	0 },
	{ "zerocopy_numbers",	zerocopy_numbers,	0 },
	{ "zerocopy_held",	zerocopy_held,		API_F_ROLES },
	{ "zerocopy_close",	zerocopy_close,		API_F_ROLES },
	{ "zerocopy_reset",	zerocopy_reset,		0 },
	{ "zerocopy_memlock",	zerocopy_memlock,	0 },
	{ "zerocopy_uring",	zerocopy_uring,		API_F_ROLES },
	{ "sendfile_held",	sendfile_held,		API_F_ROLES },
	{ "splice_mixed",	splice_mixed,		API_F_ROLES },
};

const struct api_group api_zerocopy_group = { cases, TL_ARRAY_SIZE(cases) };
