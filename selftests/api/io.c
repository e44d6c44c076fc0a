// SPDX-License-Identifier: GPL-2.0-only
/* API cases: moving bytes. */
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api.h"

#define SEED	101

/* Check that received bytes are those at @off of stream SEED. */
static void check_bytes(u64 off, const void *buf, size_t len)
{
	T_EQ(tl_check(SEED, off, buf, len), -1);
}

static void fill_bytes(u64 off, void *buf, size_t len)
{
	tl_fill(SEED, off, buf, len);
}

static void send_recv(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_roundtrip(e, fd, rfd, SEED);
	api_send(fd, SEED, 0, 1);
	T_EQ(r_recv(e, rfd, SEED, 0, 1), 1);
	/* more than any buffer holds: both ends must continue while the other one works */
	r_later(e, 0);
	r_recv(e, rfd, SEED, 0, 3 << 20);
	api_send(fd, SEED, 0, 3 << 20);
	T_EQ(r_join(e), 3 << 20);
	r_later(e, 0);
	r_send(e, rfd, SEED, 0, 3 << 20);
	api_recv(fd, SEED, 0, 3 << 20);
	T_EQ(r_join(e), 3 << 20);
}

static void read_write(struct api_env *e)
{
	char buf[3000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	fill_bytes(0, buf, sizeof(buf));
	T_EQ(write(fd, buf, sizeof(buf)), sizeof(buf));
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	/* a read returns the available bytes and does not wait for the rest */
	T_EQ(read(fd, buf, sizeof(buf)), 100);
	check_bytes(0, buf, 100);
}

static void vectors(struct api_env *e)
{
	char a[1], b[700], c[4096], all[4797];
	struct iovec iov[] = { { a, 1 }, { NULL, 0 }, { b, 700 }, { c, 4096 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 4 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	fill_bytes(0, a, 1);
	fill_bytes(1, b, 700);
	fill_bytes(701, c, 4096);
	T_EQ(writev(fd, iov, 4), 4797);
	T_EQ(r_recv(e, rfd, SEED, 0, 4797), 4797);
	T_EQ(sendmsg(fd, &msg, MSG_NOSIGNAL), 4797);
	T_EQ(r_recv(e, rfd, SEED, 0, 4797), 4797);

	T_EQ(r_send(e, rfd, SEED, 0, 4797), 4797);
	memset(all, 0, sizeof(all));
	memset(c, 0, sizeof(c));
	T_EQ(recvmsg(fd, &msg, MSG_WAITALL), 4797);
	T_EQ(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC | MSG_OOB), 0);
	check_bytes(0, a, 1);
	check_bytes(1, b, 700);
	check_bytes(701, c, 4096);
	T_EQ(r_send(e, rfd, SEED, 0, 701), 701);
	T_EQ(recv(fd, all, 1, MSG_PEEK | MSG_WAITALL), 1);
	while (api_poll(fd, POLLIN, 0) && recv(fd, all, 701, MSG_PEEK) < 701)
		tl_sleep_ms(1);
	T_EQ(readv(fd, iov, 4), 701);
	check_bytes(0, a, 1);
	check_bytes(1, b, 700);
}

/* The address of sendto() and recvfrom() on a connected stream is ignored. */
static void sendto_recvfrom(struct api_env *e)
{
	struct tl_addr from = { .len = sizeof(from.ss) };
	char buf[64];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	fill_bytes(0, buf, sizeof(buf));
	T_EQ(sendto(fd, buf, sizeof(buf), 0, &e->remote.sa, e->remote.len), sizeof(buf));
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	T_EQ(r_send(e, rfd, SEED, 0, 64), 64);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_EQ(recvfrom(fd, buf, sizeof(buf), MSG_WAITALL, &from.sa, &from.len), 64);
	T_EQ(from.len, 0);
	check_bytes(0, buf, 64);
}

static void zero_length(struct api_env *e)
{
	struct iovec iov = { NULL, 0 };
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(send(fd, &c, 0, 0), 0);
	T_EQ(writev(fd, &iov, 1), 0);
	/* an empty recv() waits for data like any other, an empty read() does not */
	T_ERR(recv(fd, &c, 0, MSG_DONTWAIT), EAGAIN);
	T_EQ(read(fd, &c, 0), 0);
	/* the peer sees none of these calls */
	T_EQ(r_poll(e, rfd, POLLIN, API_QUIET_MS), 0);
	api_roundtrip(e, fd, rfd, SEED);
}

static void peek(struct api_env *e)
{
	char buf[2000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_ERR(recv(fd, buf, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
	T_EQ(r_send(e, rfd, SEED, 0, 1000), 1000);
	T_EQ(recv(fd, buf, 1000, MSG_PEEK | MSG_WAITALL), 1000);
	check_bytes(0, buf, 1000);
	T_EQ(recv(fd, buf, 10, MSG_PEEK), 10);
	check_bytes(0, buf, 10);
	T_EQ(recv(fd, buf, 2000, MSG_PEEK), 1000);
	T_EQ(recv(fd, buf, 300, 0), 300);
	check_bytes(0, buf, 300);
	T_EQ(recv(fd, buf, 2000, MSG_PEEK), 700);
	check_bytes(300, buf, 700);
	T_EQ(recv(fd, buf, 2000, 0), 700);
	check_bytes(300, buf, 700);
	T_ERR(recv(fd, buf, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
	/* peeking at the end of the stream does not consume it either */
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(recv(fd, buf, 1, MSG_PEEK), 0);
	T_EQ(recv(fd, buf, 1, 0), 0);
}

static void waitall(struct api_env *e)
{
	static char buf[40000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	/* the first part has arrived, the rest comes later */
	T_EQ(r_send(e, rfd, SEED, 0, 15000), 15000);
	r_later(e, 200);
	r_send(e, rfd, SEED, 15000, 25000);
	T_EQ(recv(fd, buf, 40000, MSG_WAITALL), 40000);
	check_bytes(0, buf, 40000);
	T_EQ(r_join(e), 25000);
	/* MSG_DONTWAIT takes precedence */
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_EQ(recv(fd, buf, 20, MSG_WAITALL | MSG_DONTWAIT), 10);
	/* the end of the stream ends the wait */
	T_EQ(r_send(e, rfd, SEED, 0, 500), 500);
	r_later(e, 200);
	r_shutdown(e, rfd, SHUT_WR);
	T_EQ(recv(fd, buf, 1000, MSG_WAITALL), 500);
	check_bytes(0, buf, 500);
	T_OK(r_join(e));
	T_EQ(recv(fd, buf, 1000, MSG_WAITALL), 0);
}

static void waitall_timeout(struct api_env *e)
{
	char buf[1000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_timeout(fd, SO_RCVTIMEO, 300);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_EQ(recv(fd, buf, 1000, MSG_WAITALL), 100);
	check_bytes(0, buf, 100);
}

static void waitall_interrupted(struct api_env *e)
{
	char buf[1000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	api_catch(SIGALRM, false);
	api_alarm(200);
	T_EQ(recv(fd, buf, 1000, MSG_WAITALL), 100);
	T_EQ(api_caught(), 1);
	check_bytes(0, buf, 100);
}

/* On a stream MSG_TRUNC means: count and discard. */
static void trunc_discards(struct api_env *e)
{
	char buf[1000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 30000), 30000);
	memset(buf, 0x55, sizeof(buf));
	T_EQ(recv(fd, buf, 1000, MSG_TRUNC | MSG_WAITALL), 1000);
	for (size_t i = 0; i < sizeof(buf); i++)
		T_EQ(buf[i], 0x55);
	T_EQ(recv(fd, NULL, 20000, MSG_TRUNC | MSG_WAITALL), 20000);
	api_recv(fd, SEED, 21000, 9000);
	T_ERR(recv(fd, buf, 1, MSG_TRUNC | MSG_DONTWAIT), EAGAIN);
}

static void dontwait(struct api_env *e)
{
	u64 sent;
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_ERR(recv(fd, &c, 1, MSG_DONTWAIT), EAGAIN);
	sent = api_fill(fd, SEED, 0);
	T_TRUE(sent > 0);
	T_ERR(send(fd, &c, 1, MSG_DONTWAIT | MSG_NOSIGNAL), EAGAIN);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	T_TRUE(api_poll(fd, POLLOUT, API_PATIENCE_MS) == POLLOUT);
	/* no byte was lost or doubled at the boundary */
	api_send(fd, SEED, sent, 1000);
	T_EQ(r_recv(e, rfd, SEED, sent, 1000), 1000);
}

static void nonblock(struct api_env *e)
{
	u64 sent;
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(tl_set_nonblock(fd, true));
	T_ERR(read(fd, &c, 1), EAGAIN);
	sent = api_fill(fd, SEED, 0);
	T_ERR(write(fd, &c, 1), EAGAIN);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	T_OK(tl_set_nonblock(fd, false));
	api_roundtrip(e, fd, rfd, SEED);
}

static void recv_blocks(struct api_env *e)
{
	u64 t0 = tl_now_ns();
	char buf[10];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	t0 = tl_now_ns();
	r_later(e, 300);
	r_send(e, rfd, SEED, 0, 10);
	T_EQ(recv(fd, buf, 10, 0), 10);
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	check_bytes(0, buf, 10);
	T_EQ(r_join(e), 10);
}

static void send_blocks(struct api_env *e)
{
	static char buf[1 << 20];
	u64 sent, t0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	sent = api_fill(fd, SEED, 0);
	fill_bytes(sent, buf, sizeof(buf));
	t0 = tl_now_ns();
	r_later(e, 300);
	r_recv(e, rfd, SEED, 0, sent + sizeof(buf));
	/* a blocking send takes everything, however long it lasts */
	T_EQ(send(fd, buf, sizeof(buf), MSG_NOSIGNAL), sizeof(buf));
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	T_EQ(r_join(e), sent + sizeof(buf));
}

static void recv_timeout(struct api_env *e)
{
	u64 t0;
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_timeout(fd, SO_RCVTIMEO, 300);
	t0 = tl_now_ns();
	T_ERR(recv(fd, &c, 1, 0), EAGAIN);
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	T_TRUE(tl_now_ns() - t0 < 5 * TL_NSEC_PER_SEC);
	/* the connection still works */
	api_roundtrip(e, fd, rfd, SEED);
}

static void send_timeout(struct api_env *e)
{
	static char buf[1 << 20];
	u64 sent, t0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_timeout(fd, SO_SNDTIMEO, 300);
	sent = api_fill(fd, SEED, 0);
	t0 = tl_now_ns();
	fill_bytes(sent, buf, sizeof(buf));
	T_ERR(send(fd, buf, sizeof(buf), MSG_NOSIGNAL), EAGAIN);
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	api_roundtrip(e, fd, rfd, SEED);
}

static void recv_interrupted(struct api_env *e)
{
	char buf[10];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_catch(SIGALRM, false);
	api_alarm(200);
	T_ERR(recv(fd, buf, 10, 0), EINTR);
	T_EQ(api_caught(), 1);
	api_catch(SIGALRM, true);
	api_alarm(200);
	r_later(e, 400);
	r_send(e, rfd, SEED, 0, 10);
	T_EQ(recv(fd, buf, 10, 0), 10);
	T_EQ(api_caught(), 1);
	check_bytes(0, buf, 10);
	T_EQ(r_join(e), 10);
}

static void send_interrupted(struct api_env *e)
{
	static char buf[1 << 20];
	u64 sent;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	sent = api_fill(fd, SEED, 0);
	fill_bytes(sent, buf, sizeof(buf));
	api_catch(SIGALRM, false);
	api_alarm(200);
	T_ERR(send(fd, buf, sizeof(buf), MSG_NOSIGNAL), EINTR);
	T_EQ(api_caught(), 1);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	api_roundtrip(e, fd, rfd, SEED);
}

/* A signal during a long send: send() returns the bytes taken, and that many arrive. */
static void send_partial(struct api_env *e)
{
	static char buf[16 << 20];
	long long n;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	fill_bytes(0, buf, sizeof(buf));
	api_catch(SIGALRM, false);
	api_alarm(500);
	n = T_OK(send(fd, buf, sizeof(buf), MSG_NOSIGNAL));
	T_EQ(api_caught(), 1);
	T_TRUE(n > 0 && n < (long long)sizeof(buf));
	T_EQ(r_recv(e, rfd, SEED, 0, n), n);
	T_EQ(r_poll(e, rfd, POLLIN, API_QUIET_MS), 0);
}

static void msg_more(struct api_env *e)
{
	char buf[1000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	fill_bytes(0, buf, 1000);
	T_EQ(send(fd, buf, 400, MSG_MORE), 400);
	T_EQ(send(fd, buf + 400, 600, 0), 600);
	T_EQ(r_recv(e, rfd, SEED, 0, 1000), 1000);
	/* MSG_MORE without a further send must not hold the bytes for ever */
	T_EQ(send(fd, buf, 400, MSG_MORE), 400);
	T_EQ(r_recv(e, rfd, SEED, 0, 400), 400);
}

/* Every length around likely internal sizes. */
static void boundary_lengths(struct api_env *e)
{
	static const size_t base[] = { 1, 44, 64, 256, 1024, 4096, 16384, 65536, 131072 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	for (size_t i = 0; i < TL_ARRAY_SIZE(base); i++) {
		for (int d = -1; d <= 1; d++) {
			size_t n = base[i] + d;

			r_later(e, 0);
			r_recv(e, rfd, SEED, i, n);
			api_send(fd, SEED, i, n);
			T_EQ(r_join(e), n);
			r_later(e, 0);
			r_send(e, rfd, SEED + 1, i, n);
			api_recv(fd, SEED + 1, i, n);
			T_EQ(r_join(e), n);
		}
	}
}

static const struct api_case cases[] = {
	{ "send_recv",		send_recv,		API_F_ROLES },
	{ "read_write",		read_write,		API_F_ROLES },
	{ "vectors",		vectors,		API_F_ROLES },
	{ "sendto_recvfrom",	sendto_recvfrom,	API_F_ROLES },
	{ "zero_length",	zero_length,		API_F_ROLES },
	{ "peek",		peek,			API_F_ROLES },
	{ "waitall",		waitall,		API_F_ROLES },
	{ "waitall_timeout",	waitall_timeout,	0 },
	{ "waitall_interrupted", waitall_interrupted,	0 },
	{ "trunc_discards",	trunc_discards,		API_F_ROLES },
	{ "dontwait",		dontwait,		API_F_ROLES },
	{ "nonblock",		nonblock,		API_F_ROLES },
	{ "recv_blocks",	recv_blocks,		API_F_ROLES },
	{ "send_blocks",	send_blocks,		API_F_ROLES },
	{ "recv_timeout",	recv_timeout,		API_F_ROLES },
	{ "send_timeout",	send_timeout,		API_F_ROLES },
	{ "recv_interrupted",	recv_interrupted,	API_F_ROLES },
	{ "send_interrupted",	send_interrupted,	API_F_ROLES },
	{ "send_partial",	send_partial,		0 },
	{ "msg_more",		msg_more,		API_F_ROLES },
	{ "boundary_lengths",	boundary_lengths,	API_F_ROLES },
};

const struct api_group api_io_group = { cases, TL_ARRAY_SIZE(cases) };
