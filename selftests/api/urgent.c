// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: urgent data. Over SMC the writer's next byte follows after the urgent byte was
 * consumed; cases that depend on this moment are not here.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "api.h"

#define SEED	901

static int queue_len(int fd, unsigned long what)
{
	int n = -1;

	T_OK(ioctl(fd, what, &n));
	return n;
}

static u8 byte_at(u64 off)
{
	u8 b;

	tl_fill(SEED, off, &b, 1);
	return b;
}

/* The peer sends @len bytes from @off; the last one is urgent. */
static void urgent_send_and_wait(struct api_env *e, int fd, int rfd, u64 off, size_t len)
{
	T_EQ(r_send_flags(e, rfd, SEED, off, len, MSG_OOB), len);
	T_EQ(api_poll(fd, POLLPRI, API_PATIENCE_MS), POLLPRI);
}

/* Read the available bytes, which must be @want bytes from @off. */
static void read_check(int fd, u64 off, size_t want)
{
	u8 buf[4096];

	T_EQ(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), want);
	T_EQ(tl_check(SEED, off, buf, want), -1);
}

static void urgent_read(int fd, u64 off)
{
	u8 byte = ~byte_at(off);

	T_EQ(recv(fd, &byte, 1, MSG_OOB), 1);
	T_EQ(byte, byte_at(off));
}

static void set_oobinline(int fd)
{
	int on = 1;

	T_OK(setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)));
}

/* A read ends before the urgent byte; the mark stays until the next read. */
static void urgent_mark(struct api_env *e)
{
	int fd, rfd;
	u8 byte;

	api_pair(e, &fd, &rfd);
	T_ERR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	urgent_send_and_wait(e, fd, rfd, 0, 3);
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	T_EQ(queue_len(fd, SIOCINQ), 2);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLIN | POLLPRI);
	read_check(fd, 0, 2);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(queue_len(fd, SIOCINQ), 0);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLPRI);
	urgent_read(fd, 2);
	T_ERR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), 0);
	T_EQ(r_send(e, rfd, SEED, 3, 500), 500);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, API_PATIENCE_MS), POLLIN);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(queue_len(fd, SIOCINQ), 0);
	read_check(fd, 3, 500);
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	T_ERR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
}

/* The urgent byte can be read before the bytes in front of it. */
static void urgent_overtakes(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	urgent_send_and_wait(e, fd, rfd, 0, 1000);
	urgent_read(fd, 999);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLIN);
	T_EQ(queue_len(fd, SIOCINQ), 999);
	read_check(fd, 0, 999);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	/* once more */
	urgent_send_and_wait(e, fd, rfd, 1000, 1);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLPRI);
	urgent_read(fd, 1000);
	urgent_send_and_wait(e, fd, rfd, 1001, 2);
	read_check(fd, 1001, 1);
	urgent_read(fd, 1002);
}

/* The writer continues when the reader reaches the mark, whatever the reader calls next. */
static void urgent_exact(struct api_env *e)
{
	int fd, rfd;
	u8 buf[2];

	api_pair(e, &fd, &rfd);
	urgent_send_and_wait(e, fd, rfd, 0, 3);
	T_EQ(recv(fd, buf, 2, 0), 2);
	T_EQ(api_poll(fd, POLLIN, 0), 0);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(r_send(e, rfd, SEED, 3, 5), 5);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	read_check(fd, 3, 5);
}

/* The urgent byte may arrive before accept(). */
static void urgent_early(struct api_env *e)
{
	int lfd, fd, rfd;
	struct tl_addr at;

	lfd = api_listener(e, &at);
	rfd = T_OK(r_socket(e, e->peer));
	T_OK(r_connect(e, rfd, &at));
	T_EQ(r_send_flags(e, rfd, SEED, 0, 1, MSG_OOB), 1);
	tl_sleep_ms(API_QUIET_MS);
	fd = T_OK(accept(lfd, NULL, NULL));
	api_check_mode(e, fd);
	T_EQ(api_poll(fd, POLLPRI, API_PATIENCE_MS), POLLPRI);
	urgent_read(fd, 0);
	urgent_send_and_wait(e, fd, rfd, 1, 1);
	urgent_read(fd, 1);
}

/*
 * The reader never asks for the urgent byte: the stream continues without it, in both directions.
 */
static void urgent_ignored(struct api_env *e)
{
	int fd, rfd;
	u8 byte;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send_flags(e, rfd, SEED, 0, 300, MSG_OOB), 300);
	r_later(e, 0);
	r_send(e, rfd, SEED, 300, 1 << 20);
	api_recv(fd, SEED, 0, 299);
	api_recv(fd, SEED, 300, 1 << 20);
	T_EQ(r_join(e), 1 << 20);
	T_ERR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
	T_EQ(api_poll(fd, POLLPRI, 0), 0);

	byte = byte_at(0);
	T_EQ(send(fd, &byte, 1, MSG_OOB), 1);
	r_later(e, 0);
	r_recv(e, rfd, SEED, 1, 1 << 20);
	api_send(fd, SEED, 1, 1 << 20);
	T_EQ(r_join(e), 1 << 20);
}

static void urgent_in_line(struct api_env *e)
{
	int fd, rfd;
	u8 byte;

	api_pair(e, &fd, &rfd);
	set_oobinline(fd);
	urgent_send_and_wait(e, fd, rfd, 0, 3);
	T_ERR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLIN | POLLPRI);
	T_EQ(queue_len(fd, SIOCINQ), 3);
	read_check(fd, 0, 2);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(api_poll(fd, POLLIN, 0), POLLIN);
	read_check(fd, 2, 1);
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), 0);
	T_EQ(r_send(e, rfd, SEED, 3, 5), 5);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	read_check(fd, 3, 5);
}

/* SO_OOBINLINE may be set after the byte has arrived, as by servers that set it after accept(). */
static void urgent_in_line_late(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	urgent_send_and_wait(e, fd, rfd, 0, 1);
	set_oobinline(fd);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
	T_EQ(queue_len(fd, SIOCINQ), 1);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLIN | POLLPRI);
	read_check(fd, 0, 1);
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), 0);
	T_EQ(r_send(e, rfd, SEED, 1, 5), 5);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	read_check(fd, 1, 5);
}

/* The writer waits while fewer than SO_RCVLOWAT bytes are available: the reader must still wake. */
static void urgent_lowat(struct api_env *e)
{
	int fd, rfd, low = 1000;

	api_pair(e, &fd, &rfd);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)));
	T_EQ(r_send_flags(e, rfd, SEED, 0, 100, MSG_OOB), 100);
	T_EQ(r_send(e, rfd, SEED, 100, 5000), 5000);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	read_check(fd, 0, 99);
	api_recv(fd, SEED, 100, 5000);
}

static void urgent_peek(struct api_env *e)
{
	int fd, rfd;
	u8 buf[16];

	api_pair(e, &fd, &rfd);
	urgent_send_and_wait(e, fd, rfd, 0, 4);
	T_EQ(recv(fd, buf, sizeof(buf), MSG_PEEK), 3);
	T_EQ(tl_check(SEED, 0, buf, 3), -1);
	T_EQ(recv(fd, buf, sizeof(buf), MSG_PEEK | MSG_OOB), 1);
	T_EQ(buf[0], byte_at(3));
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	T_EQ(api_poll(fd, POLLIN | POLLPRI, 0), POLLIN | POLLPRI);
	urgent_read(fd, 3);
	read_check(fd, 0, 3);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
}

/* MSG_WAITALL does not wait past the mark. */
static void urgent_waitall(struct api_env *e)
{
	int fd, rfd;
	u8 buf[64];

	api_pair(e, &fd, &rfd);
	r_later(e, 200);
	r_send_flags(e, rfd, SEED, 0, 30, MSG_OOB);
	T_EQ(recv(fd, buf, sizeof(buf), MSG_WAITALL), 29);
	T_EQ(r_join(e), 30);
	T_EQ(tl_check(SEED, 0, buf, 29), -1);
	T_EQ(queue_len(fd, SIOCATMARK), 1);
}

static void urgent_flags(struct api_env *e)
{
	u8 buf[4];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	urgent_send_and_wait(e, fd, rfd, 0, 1);
	T_EQ(recv(fd, buf, 0, MSG_OOB | MSG_PEEK), 0);
	T_EQ(recvmsg(fd, &msg, MSG_OOB), 1);
	T_EQ(msg.msg_flags & (MSG_OOB | MSG_TRUNC), MSG_OOB);
	T_EQ(buf[0], byte_at(0));
}

/* The owner of the descriptor receives SIGURG for each urgent byte, once. */
static void urgent_signal(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_catch(SIGURG, true);
	T_OK(fcntl(fd, F_SETOWN, getpid()));
	T_EQ(api_caught(), 0);
	for (int i = 1; i <= 3; i++) {
		T_EQ(r_send_flags(e, rfd, SEED, i - 1, 1, MSG_OOB), 1);
		for (int ms = 0; ms < API_PATIENCE_MS && api_caught() < i; ms++)
			tl_sleep_ms(1);
		while (api_poll(fd, POLLPRI, 10) != POLLPRI)
			;
		urgent_read(fd, i - 1);
		T_EQ(api_caught(), i);
	}
	T_EQ(r_send(e, rfd, SEED, 3, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	read_check(fd, 3, 100);
	T_EQ(api_caught(), 3);
}

/* An epoll set that watches for nothing else. */
static void urgent_epoll(struct api_env *e)
{
	struct epoll_event ev = { .events = EPOLLPRI | EPOLLET }, got;
	int fd, rfd, ep = T_OK(epoll_create1(EPOLL_CLOEXEC));

	api_pair(e, &fd, &rfd);
	T_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	T_EQ(epoll_wait(ep, &got, 1, 0), 0);
	r_later(e, 200);
	r_send_flags(e, rfd, SEED, 0, 1, MSG_OOB);
	T_EQ(epoll_wait(ep, &got, 1, API_PATIENCE_MS), 1);
	T_EQ(got.events, EPOLLPRI);
	T_EQ(r_join(e), 1);
	urgent_read(fd, 0);
	T_EQ(epoll_wait(ep, &got, 1, 0), 0);
}

static const struct api_case cases[] = {
	{ "urgent_mark",	urgent_mark,		API_F_ROLES },
	{ "urgent_overtakes",	urgent_overtakes,	API_F_ROLES },
	{ "urgent_exact",	urgent_exact,		API_F_ROLES },
	{ "urgent_early",	urgent_early,		0 },
	{ "urgent_ignored",	urgent_ignored,		API_F_ROLES },
	{ "urgent_in_line",	urgent_in_line,		API_F_ROLES },
	{ "urgent_in_line_late", urgent_in_line_late,	API_F_ROLES },
	{ "urgent_lowat",	urgent_lowat,		0 },
	{ "urgent_peek",	urgent_peek,		0 },
	{ "urgent_waitall",	urgent_waitall,		0 },
	{ "urgent_flags",	urgent_flags,		0 },
	{ "urgent_signal",	urgent_signal,		API_F_ROLES },
	{ "urgent_epoll",	urgent_epoll,		0 },
};

const struct api_group api_urgent_group = { cases, TL_ARRAY_SIZE(cases) };
