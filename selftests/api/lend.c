// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: splice() from a connection that lends its receive memory (SMC_OWN_SPLICE_LEND).
 *
 * A counter, and the amount that the peer can send while the pipe holds pages, show that nothing
 * was copied. Over TCP the option is not set, and the same bytes must come.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "api.h"

#define SEED	1701
#define PIPE	1048576
#define PIECE	((size_t)32768)		/* half of a ring */
#define MUCH	((size_t)3 << 20)	/* more than all rings and buffers hold */
#define OTHERS	10

#ifndef SOL_SMC
#define SOL_SMC	286
#endif

static void splice_lend_enable(int fd)
{
	const int on = 1;

	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, sizeof(on)));
}

/* Create a connection that lends if it can, and an empty pipe. Return whether it lends. */
static bool lending_pair(struct api_env *e, int *fd, int *rfd, int p[2])
{
	api_pair(e, fd, rfd);
	if (e->proto->smc)
		splice_lend_enable(*fd);
	T_OK(pipe2(p, O_CLOEXEC));
	T_OK(fcntl(p[1], F_SETPIPE_SZ, PIPE));
	return api_over_rdma(e, *fd);
}

/* Read a counter of this namespace. */
static unsigned long long counter_read(const char *name)
{
	unsigned long long n, found = 0;
	char line[128], key[64];
	FILE *f = fopen("/proc/net/smc_stat", "r");

	T_TRUE(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %llu", key, &n) == 2 && !strcmp(key, name))
			found = n;
	fclose(f);
	return found;
}

/* Move @len bytes from the socket to the pipe; wait for all of them. */
static void splice_into_pipe(int fd, int to, size_t len)
{
	while (len)
		len -= T_OK(splice(fd, NULL, to, NULL, len, 0));
}

/* Read @len bytes from the pipe and check them. */
static void pipe_check(int from, u64 seed, u64 off, size_t len)
{
	static u8 buf[PIECE];

	while (len) {
		ssize_t n = T_OK(read(from, buf, len < sizeof(buf) ? len : sizeof(buf)));

		T_TRUE(n);
		T_EQ(tl_check(seed, off, buf, n), -1);
		off += n;
		len -= n;
	}
}

/* The peer sends @len bytes; wait until all have arrived. */
static void peer_send_and_wait(struct api_env *e, int fd, int rfd, u64 seed, u64 off, size_t len)
{
	static u8 buf[PIECE];

	T_TRUE(len <= sizeof(buf));
	T_EQ(r_send(e, rfd, seed, off, len), (long long)len);
	for (unsigned int i = 0; recv(fd, buf, len, MSG_PEEK | MSG_DONTWAIT) != (ssize_t)len; i++) {
		T_TRUE(i < API_PATIENCE_MS);
		tl_sleep_ms(1);
	}
}

static void lend_option(struct api_env *e)
{
	int fd, rfd, on = -1;
	socklen_t len = sizeof(on);

	if (!e->proto->smc)
		return;
	api_pair(e, &fd, &rfd);
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, &len));
	T_EQ(on, 0);
	splice_lend_enable(fd);
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, &len));
	T_EQ(on, 1);
	on = 0;
	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, sizeof(on)));
	on = -1;
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, &len));
	T_EQ(on, 0);
	/* set on the socket before connect(), or on the listener */
	api_pair_of(e, splice_lend_enable, &fd, &rfd);
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, &len));
	T_EQ(on, 1);
}

/* A long stream, spliced in pieces of any size. */
static void lend_stream(struct api_env *e)
{
	unsigned long long pages = 0;
	int fd, rfd, p[2];
	size_t off = 0;
	bool rdma;

	rdma = lending_pair(e, &fd, &rfd, p);
	if (rdma)
		pages = counter_read("rx_lend_pages");
	r_later(e, 0);
	r_send(e, rfd, SEED, 0, MUCH);
	while (off < MUCH) {
		ssize_t n = T_OK(splice(fd, NULL, p[1], NULL, MUCH - off, 0));

		T_TRUE(n);
		pipe_check(p[0], SEED, off, n);
		off += n;
	}
	T_EQ(r_join(e), (long long)MUCH);
	/* small pieces may have been copied */
	if (rdma)
		T_TRUE((counter_read("rx_lend_pages") - pages) * sysconf(_SC_PAGESIZE) >= MUCH / 2);
	api_roundtrip(e, fd, rfd, SEED);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(splice(fd, NULL, p[1], NULL, 1, 0), 0);
}

/*
 * Bytes in the pipe do not change while the stream continues for up to one ring. Then the peer must
 * wait; it continues as soon as the pipe is empty.
 */
static void lend_held(struct api_env *e)
{
	int fd, rfd, p[2];
	size_t off = 0;
	bool rdma;

	rdma = lending_pair(e, &fd, &rfd, p);
	peer_send_and_wait(e, fd, rfd, SEED, 0, PIECE);
	splice_into_pipe(fd, p[1], PIECE);
	r_later(e, 0);
	r_send(e, rfd, SEED + 1, 0, MUCH);
	if (rdma) {
		static u8 buf[PIECE];

		while (api_poll(fd, POLLIN, 5 * API_QUIET_MS)) {
			ssize_t n = T_OK(recv(fd, buf, sizeof(buf), 0));

			T_EQ(tl_check(SEED + 1, off, buf, n), -1);
			off += n;
			T_TRUE(off < MUCH);
		}
		/* a ring is 64 KiB, less the held bytes, less what a foreign peer keeps free */
		T_TRUE(off >= PIECE / 2);
	}
	pipe_check(p[0], SEED, 0, PIECE);
	/* no reader runs here, so nothing else would reclaim the pages */
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	api_recv(fd, SEED + 1, off, MUCH - off);
	T_EQ(r_join(e), (long long)MUCH);
	api_roundtrip(e, fd, rfd, SEED);
}

/* sock_diag shows the consumer cursor that the peer has received: lent bytes are not in it. */
static void lend_cursor(struct api_env *e)
{
	struct tl_diag diag;
	int fd, rfd, p[2];

	if (!lending_pair(e, &fd, &rfd, p))
		return;
	peer_send_and_wait(e, fd, rfd, SEED, 0, PIECE);
	splice_into_pipe(fd, p[1], PIECE);
	T_EQ(tl_diag_get(fd, e->proto, &diag), 0);
	T_EQ(diag.tx_cons.wrap, 0);
	T_EQ(diag.tx_cons.off, 0);
	pipe_check(p[0], SEED, 0, PIECE);
	/* a call that reads notices that the pages are back */
	peer_send_and_wait(e, fd, rfd, SEED, 0, 100);
	api_recv(fd, SEED, 0, 100);
	T_EQ(tl_diag_get(fd, e->proto, &diag), 0);
	T_EQ(diag.tx_cons.wrap, 0);
	T_EQ(diag.tx_cons.off, PIECE + 100);
}

/* Return the number of readable bytes once no more arrive; this reclaims no lent page. */
static int bytes_settled(int fd)
{
	int had, n = -1;

	do {
		had = n;
		tl_sleep_ms(2 * API_QUIET_MS);
		T_OK(ioctl(fd, FIONREAD, &n));
	} while (n != had);
	return n;
}

/*
 * One splice() takes the ring to the last byte, and the program makes no other call on this end.
 * The peer still continues when the pipe is empty.
 */
static void lend_full(struct api_env *e)
{
	int fd, rfd, p[2], n;
	size_t off;

	if (!lending_pair(e, &fd, &rfd, p))
		return;
	r_later(e, 0);
	r_send(e, rfd, SEED, 0, MUCH);
	n = bytes_settled(fd);
	off = T_OK(splice(fd, NULL, p[1], NULL, n, 0));
	T_EQ(off, n);
	pipe_check(p[0], SEED, 0, off);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	api_recv(fd, SEED, off, MUCH - off);
	T_EQ(r_join(e), (long long)MUCH);
	api_roundtrip(e, fd, rfd, SEED);
}

/* The writer of an urgent byte continues when the byte is read and the bytes before it are back. */
static void lend_urgent(struct api_env *e)
{
	int fd, rfd, p[2];
	u8 byte;

	if (!lending_pair(e, &fd, &rfd, p))
		return;
	peer_send_and_wait(e, fd, rfd, SEED, 0, PIECE);
	splice_into_pipe(fd, p[1], PIECE);
	T_EQ(r_send_flags(e, rfd, SEED, PIECE, 1, MSG_OOB), 1);
	/* the writer reports that it waits before the byte is read, and not again afterwards */
	r_later(e, 0);
	r_send(e, rfd, SEED, PIECE + 1, PIECE);
	tl_sleep_ms(2 * API_QUIET_MS);
	T_TRUE(api_poll(fd, POLLPRI, API_PATIENCE_MS) & POLLPRI);
	T_EQ(recv(fd, &byte, 1, MSG_OOB), 1);
	T_EQ(tl_check(SEED, PIECE, &byte, 1), -1);
	T_EQ(api_poll(fd, POLLIN, 2 * API_QUIET_MS), 0);
	pipe_check(p[0], SEED, 0, PIECE);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	api_recv(fd, SEED, PIECE + 1, PIECE);
	T_EQ(r_join(e), (long long)PIECE);
	api_roundtrip(e, fd, rfd, SEED);
}

/*
 * One process fills the pipe and waits where it must, another one empties it. The first must not
 * hold the pipe lock while it waits: the peer needs the bytes in the pipe.
 */
static void lend_two(struct api_env *e)
{
	int fd, rfd, p[2], status;
	pid_t pid;

	lending_pair(e, &fd, &rfd, p);
	r_later(e, 0);
	r_send(e, rfd, SEED, 0, MUCH);
	pid = T_OK(fork());
	if (!pid) {
		for (size_t off = 0; off < MUCH;) {
			ssize_t n = splice(fd, NULL, p[1], NULL, MUCH - off, 0);

			if (n <= 0)
				_exit(1);
			off += n;
		}
		_exit(0);
	}
	/* by now the child waits, with a whole ring in the pipe */
	tl_sleep_ms(5 * API_QUIET_MS);
	pipe_check(p[0], SEED, 0, MUCH);
	T_EQ(waitpid(pid, &status, 0), pid);
	T_EQ(status, 0);
	T_EQ(r_join(e), (long long)MUCH);
	api_roundtrip(e, fd, rfd, SEED);
}

/* Two pipes hold the same pages: both must be empty before the pages are back. */
static void lend_tee(struct api_env *e)
{
	int fd, rfd, p[2], q[2];

	lending_pair(e, &fd, &rfd, p);
	T_OK(pipe2(q, O_CLOEXEC));
	T_OK(fcntl(q[1], F_SETPIPE_SZ, PIPE));
	peer_send_and_wait(e, fd, rfd, SEED, 0, PIECE);
	splice_into_pipe(fd, p[1], PIECE);
	T_EQ(tee(p[0], q[1], PIECE, 0), (long long)PIECE);
	pipe_check(p[0], SEED, 0, PIECE);
	for (unsigned int i = 0; i < 4; i++) {
		T_EQ(r_send(e, rfd, SEED + 1, 0, 8000), 8000);
		api_recv(fd, SEED + 1, 0, 8000);
	}
	pipe_check(q[0], SEED, 0, PIECE);
	r_later(e, 0);
	r_send(e, rfd, SEED, 0, MUCH);
	api_recv(fd, SEED, 0, MUCH);
	T_EQ(r_join(e), (long long)MUCH);
}

/* From one connection to another, as a proxy does. */
static void lend_forward(struct api_env *e)
{
	int fd, rfd, to, rto, p[2];
	size_t off = 0;
	bool rdma;

	rdma = lending_pair(e, &fd, &rfd, p);
	api_pair(e, &to, &rto);
	for (unsigned int i = 0; i < 40; i++) {
		unsigned long long pages = rdma ? counter_read("rx_lend_pages") : 0;

		peer_send_and_wait(e, fd, rfd, SEED, off, PIECE);
		splice_into_pipe(fd, p[1], PIECE);
		if (rdma)
			T_TRUE(counter_read("rx_lend_pages") - pages >=
			       PIECE / sysconf(_SC_PAGESIZE));
		splice_into_pipe(p[0], to, PIECE);
		T_EQ(r_recv(e, rto, SEED, off, PIECE), (long long)PIECE);
		off += PIECE;
	}
	api_roundtrip(e, to, rto, SEED);
	api_roundtrip(e, fd, rfd, SEED);
}

/* Small amounts, and urgent data, whose writer waits, are copied. */
static void lend_copied(struct api_env *e)
{
	unsigned long long pages = 0, copied = 0;
	int fd, rfd, p[2];
	u8 byte;
	bool rdma;

	rdma = lending_pair(e, &fd, &rfd, p);
	if (rdma) {
		pages = counter_read("rx_lend_pages");
		copied = counter_read("rx_lend_copied");
	}
	peer_send_and_wait(e, fd, rfd, SEED, 0, 100);
	splice_into_pipe(fd, p[1], 100);
	if (!rdma) {
		/* TCP's splice() does not get past urgent data */
		pipe_check(p[0], SEED, 0, 100);
		return;
	}
	T_EQ(r_send_flags(e, rfd, SEED, 100, 9001, MSG_OOB), 9001);
	T_TRUE(api_poll(fd, POLLPRI, API_PATIENCE_MS) & POLLPRI);
	splice_into_pipe(fd, p[1], 9000);
	T_EQ(counter_read("rx_lend_pages"), pages);
	T_EQ(counter_read("rx_lend_copied"), copied + 9100);
	T_EQ(recv(fd, &byte, 1, MSG_OOB), 1);
	T_EQ(tl_check(SEED, 9100, &byte, 1), -1);
	/* the writer does not wait for the pipe */
	peer_send_and_wait(e, fd, rfd, SEED + 1, 0, PIECE);
	splice_into_pipe(fd, p[1], PIECE);
	pipe_check(p[0], SEED, 0, 9100);
	pipe_check(p[0], SEED + 1, 0, PIECE);
	/* an urgent byte behind lent bytes */
	peer_send_and_wait(e, fd, rfd, SEED, 0, 20000);
	splice_into_pipe(fd, p[1], 20000);
	T_EQ(r_send_flags(e, rfd, SEED, 20000, 1, MSG_OOB), 1);
	T_TRUE(api_poll(fd, POLLPRI, API_PATIENCE_MS) & POLLPRI);
	T_EQ(recv(fd, &byte, 1, MSG_OOB), 1);
	pipe_check(p[0], SEED, 0, 20000);
	peer_send_and_wait(e, fd, rfd, SEED, 0, PIECE);
	api_recv(fd, SEED, 0, PIECE);
}

/* An urgent byte was taken out of the stream before SO_OOBINLINE was set: it is not lost. */
static void lend_in_line(struct api_env *e)
{
	const int on = 1;
	int fd, rfd, p[2];

	if (!lending_pair(e, &fd, &rfd, p))
		return;
	T_EQ(r_send_flags(e, rfd, SEED, 0, 1, MSG_OOB), 1);
	T_TRUE(api_poll(fd, POLLPRI, API_PATIENCE_MS) & POLLPRI);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)));
	T_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	T_EQ(splice(fd, NULL, p[1], NULL, PIECE, 0), 1);
	pipe_check(p[0], SEED, 0, 1);
	T_OK(fcntl(fd, F_SETFL, 0));
	api_roundtrip(e, fd, rfd, SEED);
}

/*
 * The connection has ended, by close or reset, and other connections may use its memory: the bytes
 * in the pipe do not change.
 */
static void check_held_after_end(struct api_env *e, bool reset)
{
	int fd, rfd, other, rother, p[2];

	lending_pair(e, &fd, &rfd, p);
	peer_send_and_wait(e, fd, rfd, SEED, 0, PIECE);
	splice_into_pipe(fd, p[1], PIECE);
	if (reset) {
		T_OK(r_linger0(e, rfd));
		T_OK(r_close(e, rfd));
		T_TRUE(api_poll(fd, POLLHUP, API_PATIENCE_MS) & POLLHUP);
		T_OK(close(fd));
	} else {
		T_OK(close(fd));
		T_OK(r_close(e, rfd));
	}
	/* enough connections to use each element of a region */
	for (unsigned int i = 0; i < OTHERS; i++) {
		api_pair(e, &other, &rother);
		r_later(e, 0);
		r_send(e, rother, SEED + 2 + i, 0, 4 * PIECE);
		api_recv(other, SEED + 2 + i, 0, 4 * PIECE);
		T_EQ(r_join(e), 4LL * PIECE);
	}
	pipe_check(p[0], SEED, 0, PIECE);
	/* the elements that came back are usable */
	api_pair(e, &other, &rother);
	api_roundtrip(e, other, rother, SEED);
}

static void lend_close(struct api_env *e)
{
	check_held_after_end(e, false);
}

static void lend_reset(struct api_env *e)
{
	check_held_after_end(e, true);
}

/* Open a connection that lends, and splice one page of it, from offset @off on, into @pipe. */
static void lend_new_page(struct api_env *e, int *fd, int *rfd, int pipe, uint64_t off)
{
	api_pair(e, fd, rfd);
	splice_lend_enable(*fd);
	peer_send_and_wait(e, *fd, *rfd, SEED, off, 4096);
	splice_into_pipe(*fd, pipe, 4096);
}

/*
 * A page in a pipe keeps its element when the connection ends. The number of such elements is
 * limited; at the limit bytes are copied until elements are back.
 */
static void lend_many(struct api_env *e)
{
	unsigned long long copied, pages;
	unsigned int n = 0;
	int fd, rfd, p[2];

	if (!lending_pair(e, &fd, &rfd, p))
		return;
	copied = counter_read("rx_lend_copied");
	do {
		T_TRUE(n < 200);
		lend_new_page(e, &fd, &rfd, p[1], 4096ULL * n);
		T_OK(close(fd));
		T_OK(r_close(e, rfd));
		n++;
	} while (counter_read("rx_lend_copied") == copied);
	T_TRUE(n > 2);
	pipe_check(p[0], SEED, 0, 4096ULL * n);
	/* the end of a connection notices that elements are back */
	api_pair(e, &fd, &rfd);
	api_roundtrip(e, fd, rfd, SEED);
	T_OK(close(fd));
	T_OK(r_close(e, rfd));
	tl_sleep_ms(100);
	pages = counter_read("rx_lend_pages");
	lend_new_page(e, &fd, &rfd, p[1], 0);
	pipe_check(p[0], SEED, 0, 4096);
	T_TRUE(counter_read("rx_lend_pages") > pages);
}

/*
 * The same while the connections exist: when they are closed it is too late to copy. Their pages
 * are back when the pipe is empty, although nobody makes a call for these connections.
 */
static void lend_many_open(struct api_env *e)
{
	unsigned long long copied, pages;
	unsigned int n = 0;
	int fd, rfd, p[2];

	if (!lending_pair(e, &fd, &rfd, p))
		return;
	copied = counter_read("rx_lend_copied");
	do {
		T_TRUE(n < 100);
		lend_new_page(e, &fd, &rfd, p[1], 4096ULL * n);
		n++;
	} while (counter_read("rx_lend_copied") == copied);
	T_TRUE(n > 2);
	pages = counter_read("rx_lend_pages");
	pipe_check(p[0], SEED, 0, 4096ULL * n);
	tl_sleep_ms(200);
	peer_send_and_wait(e, fd, rfd, SEED, 0, 4096);
	splice_into_pipe(fd, p[1], 4096);
	T_TRUE(counter_read("rx_lend_pages") > pages);
	pipe_check(p[0], SEED, 0, 4096);
}

static const struct api_case cases[] = {
	{ "lend_option",	lend_option,		API_F_ROLES },
	{ "lend_stream",	lend_stream,		API_F_ROLES },
	{ "lend_held",		lend_held,		API_F_ROLES },
	{ "lend_cursor",	lend_cursor,		API_F_ROLES },
	{ "lend_full",		lend_full,		API_F_ROLES },
	{ "lend_urgent",	lend_urgent,		0 },
	{ "lend_two",		lend_two,		API_F_ROLES },
	{ "lend_tee",		lend_tee,		0 },
	{ "lend_forward",	lend_forward,		API_F_ROLES },
	{ "lend_in_line",	lend_in_line,		0 },
	{ "lend_copied",	lend_copied,		0 },
	{ "lend_close",		lend_close,		API_F_ROLES },
	{ "lend_reset",		lend_reset,		0 },
	{ "lend_many",		lend_many,		0 },
	{ "lend_many_open",	lend_many_open,		0 },
};

const struct api_group api_lend_group = { cases, TL_ARRAY_SIZE(cases) };
