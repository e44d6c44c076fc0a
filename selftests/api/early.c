// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: calls made before the handshake has decided between SMC and TCP, and completed after
 * it.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "lib/uring.h"

#define SEED	733

/* Create a socket whose connect() is in progress. Its calls block. */
static int socket_connecting(struct api_env *e, void (*prepare)(int fd), int *lfd)
{
	struct tl_addr at = e->remote;
	int fd;

	*lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			 e->proto->protocol));
	if (prepare)
		prepare(fd);
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_OK(tl_set_nonblock(fd, false));
	return fd;
}

static void child_check_exit(pid_t pid)
{
	int status = -1;

	T_EQ(waitpid(pid, &status, 0), pid);
	T_EQ(status, 0);
}

/* A reader that blocks before the connection exists. */
static void recv_early(struct api_env *e)
{
	int lfd, fd = socket_connecting(e, NULL, &lfd), rfd;
	pid_t pid = T_OK(fork());

	if (!pid) {
		api_recv(fd, SEED, 0, 1000);
		_exit(0);
	}
	rfd = T_OK(r_accept(e, lfd));
	tl_sleep_ms(API_QUIET_MS);
	T_EQ(r_send(e, rfd, SEED, 0, 1000), 1000);
	child_check_exit(pid);
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* A writer during connect(): its bytes are the first of the stream. */
static void send_early(struct api_env *e)
{
	int lfd, fd = socket_connecting(e, NULL, &lfd), rfd;

	api_send(fd, SEED, 0, 3000);
	rfd = T_OK(r_accept(e, lfd));
	T_EQ(r_recv(e, rfd, SEED, 0, 3000), 3000);
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* ---- options ---- */

static int cork_get(int fd)
{
	socklen_t len = sizeof(int);
	int on = -1;

	T_OK(getsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, &len));
	T_EQ(len, sizeof(on));
	return on;
}

static void cork_set(int fd, int on)
{
	T_OK(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
	T_EQ(cork_get(fd), on);
}

/* TCP_CORK is what the program has set, also while SMC sends messages of its own. */
static void cork_get_early(struct api_env *e)
{
	struct tl_addr at;
	int lfd = T_OK(r_blackhole(e, &at)), fd, rfd;

	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			 e->proto->protocol));
	cork_set(fd, 1);
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_EQ(cork_get(fd), 1);
	cork_set(fd, 0);
	cork_set(fd, 1);
	T_OK(r_accept(e, lfd));
	T_EQ(api_poll(fd, POLLOUT, API_PATIENCE_MS), POLLOUT);
	T_EQ(cork_get(fd), 1);
	cork_set(fd, 0);
	rfd = T_OK(r_accept(e, lfd));
	T_OK(tl_set_nonblock(fd, false));
	api_roundtrip(e, fd, rfd, SEED);
}

/* ---- signals ---- */

static int signal_codes, signal_fd;

static void on_event(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	signal_fd = info->si_fd;
	__atomic_or_fetch(&signal_codes, 1 << info->si_code, __ATOMIC_RELAXED);
}

/* Wait for a signal with @code; return the mask of all codes that came with it. */
static int signal_wait(int fd, int code)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * TL_NSEC_PER_MSEC;
	int got;

	while (!(__atomic_load_n(&signal_codes, __ATOMIC_RELAXED) & 1 << code) &&
	       tl_now_ns() < until)
		tl_sleep_ms(2);
	tl_sleep_ms(API_QUIET_MS);
	got = __atomic_exchange_n(&signal_codes, 0, __ATOMIC_RELAXED);
	T_TRUE(got & 1 << code);
	T_EQ(signal_fd, fd);
	return got;
}

static void socket_set_async(int fd)
{
	struct sigaction sa = { .sa_sigaction = on_event, .sa_flags = SA_SIGINFO | SA_RESTART };

	T_OK(sigaction(SIGRTMIN, &sa, NULL));
	T_OK(fcntl(fd, F_SETOWN, getpid()));
	T_OK(fcntl(fd, F_SETSIG, SIGRTMIN));
	T_OK(fcntl(fd, F_SETFL, T_OK(fcntl(fd, F_GETFL)) | O_ASYNC));
}

/* O_ASYNC on a new socket: each signal reports an event of the stream, none the CLC handshake. */
static void sigio_early(struct api_env *e)
{
	int lfd, fd = socket_connecting(e, socket_set_async, &lfd), rfd;
	u64 sent;

	rfd = T_OK(r_accept(e, lfd));
	T_EQ(signal_wait(fd, POLL_OUT), 1 << POLL_OUT);
	api_check_mode(e, fd);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(signal_wait(fd, POLL_IN), 1 << POLL_IN);
	sent = api_fill(fd, SEED, 0);
	__atomic_store_n(&signal_codes, 0, __ATOMIC_RELAXED);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	T_EQ(signal_wait(fd, POLL_OUT), 1 << POLL_OUT);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(signal_wait(fd, POLL_IN), 1 << POLL_IN);
}

/* ---- io_uring ---- */

/* Take completions of request @want until one reports @event. */
static u32 uring_wait_event(struct uring *r, u64 want, u32 event)
{
	u32 all = 0;
	u64 who;
	int res;

	while (!(all & event)) {
		T_TRUE(uring_wait(r, API_PATIENCE_MS, &who, &res));
		T_EQ(who, want);
		T_TRUE(res > 0);
		T_TRUE(r->flags & IORING_CQE_F_MORE);
		all |= res;
	}
	return all;
}

/* A multishot poll, armed while the socket is new, stays armed. */
static void uring_poll_early(struct api_env *e)
{
	struct io_uring_sqe req = {
		.opcode = IORING_OP_POLL_ADD, .len = IORING_POLL_ADD_MULTI, .user_data = 7,
		.poll32_events = POLLIN | POLLOUT | POLLRDHUP,
	};
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 16)), fd, rfd;
	struct uring r;

	T_TRUE(uring_open(&r));
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			 e->proto->protocol));
	req.fd = fd;
	T_TRUE(uring_submit(&r, &req));
	T_EQ(uring_wait_event(&r, 7, POLLHUP), POLLOUT | POLLHUP);
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	rfd = T_OK(r_accept(e, lfd));
	T_EQ(uring_wait_event(&r, 7, POLLOUT), POLLOUT);
	api_check_mode(e, fd);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	uring_wait_event(&r, 7, POLLIN);
	api_recv(fd, SEED, 0, 100);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	uring_wait_event(&r, 7, POLLRDHUP);
	uring_close(&r);
}

/* A receive and a send, submitted while connect() is in progress. */
static void uring_calls_early(struct api_env *e)
{
	static char out[4000], in[3000];
	struct io_uring_sqe recv_req = {
		.opcode = IORING_OP_RECV, .addr = (uintptr_t)in, .len = sizeof(in),
		.msg_flags = MSG_WAITALL, .user_data = 1,
	};
	struct io_uring_sqe send_req = {
		.opcode = IORING_OP_SEND, .addr = (uintptr_t)out, .len = sizeof(out),
		.msg_flags = MSG_WAITALL, .user_data = 2,
	};
	struct uring r;
	int lfd, fd, rfd, res = 0;
	u64 who = 0;

	T_TRUE(uring_open(&r));
	tl_fill(SEED, 0, out, sizeof(out));
	fd = socket_connecting(e, NULL, &lfd);
	recv_req.fd = fd;
	send_req.fd = fd;
	T_TRUE(uring_submit(&r, &recv_req));
	T_TRUE(uring_submit(&r, &send_req));
	rfd = T_OK(r_accept(e, lfd));
	T_TRUE(uring_wait(&r, API_PATIENCE_MS, &who, &res));
	T_EQ(who, 2);
	T_EQ(res, sizeof(out));
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(out)), sizeof(out));
	T_EQ(r_send(e, rfd, SEED, 0, sizeof(in)), sizeof(in));
	T_TRUE(uring_wait(&r, API_PATIENCE_MS, &who, &res));
	T_EQ(who, 1);
	T_EQ(res, sizeof(in));
	T_EQ(tl_check(SEED, 0, in, sizeof(in)), -1);
	api_check_mode(e, fd);
	uring_close(&r);
}

static const struct api_case cases[] = {
	{ "recv_early",		recv_early,		0 },
	{ "send_early",		send_early,		0 },
	{ "cork_get_early",		cork_get_early,		0 },
	{ "sigio_early",	sigio_early,		0 },
	{ "uring_poll_early",	uring_poll_early,	0 },
	{ "uring_calls_early",	uring_calls_early,	0 },
};

const struct api_group api_early_group = { cases, TL_ARRAY_SIZE(cases) };
