// SPDX-License-Identifier: GPL-2.0-only
/* Assertions and helpers of the API cases. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api.h"

#define UTIL_BUF	(256U << 10)
#define DECLINED_SOCKOPT 0x03060000

static int caught;

long long api_ok(long long ret, const char *expr, const char *fn, int line)
{
	int err = errno;

	if (ret >= 0)
		return ret;
	printf("# %s:%d: %s: %s\n", fn, line, expr, tl_errno_name(err));
	_exit(1);
}

void api_err(long long ret, int want, const char *expr, const char *fn, int line)
{
	int err = errno;

	if (ret == -1 && err == want)
		return;
	if (ret == -1)
		printf("# %s:%d: %s: %s instead of %s\n", fn, line, expr, tl_errno_name(err),
		       tl_errno_name(want));
	else
		printf("# %s:%d: %s: returned %lld instead of %s\n", fn, line, expr, ret,
		       tl_errno_name(want));
	_exit(1);
}

void api_eq(long long got, long long want, const char *expr, const char *fn, int line)
{
	int err = errno;

	if (got == want)
		return;
	printf("# %s:%d: %s: %lld (0x%llx) instead of %lld (0x%llx), errno %s\n", fn, line, expr,
	       got, got, want, want, tl_errno_name(err));
	_exit(1);
}

void api_true(bool ok, const char *expr, const char *fn, int line)
{
	if (ok)
		return;
	printf("# %s:%d: not true: %s\n", fn, line, expr);
	_exit(1);
}

/* Create a listening socket on this side, at a port that the kernel chooses. */
int api_listener(struct api_env *e, struct tl_addr *at)
{
	int fd;

	*at = e->local;
	fd = tl_listen(e->proto, at, 16);
	if (fd < 0)
		errno = -fd;
	T_OK(fd < 0 ? -1 : fd);
	return fd;
}

/* Check that the connection has the required mode. */
void api_check_mode(struct api_env *e, int fd)
{
	struct tl_diag d;
	int err;

	if (e->require == TL_MODE_UNKNOWN)
		return;
	err = tl_diag_get(fd, e->proto, &d);
	if (!err && d.mode == e->require)
		return;
	printf("# the connection is %s, not %s: sock_diag %s, reason %08x, peer %08x\n",
	       tl_mode_name(d.mode), tl_mode_name(e->require), tl_errno_name(-err), d.reason,
	       d.peer_reason);
	_exit(1);
}

/* Check that an option has made the SMC socket TCP. */
void api_check_declined(const struct api_env *e, int fd)
{
	struct tl_diag d;

	if (!e->proto->smc)
		return;
	T_EQ(tl_diag_get(fd, e->proto, &d), 0);
	T_EQ(d.mode, TL_MODE_TCP);
	T_EQ(d.reason, DECLINED_SOCKOPT);
}

/*
 * Before 6.7 the family does not see options of SOL_SOCKET. A listener picks them up in its next
 * call.
 */
void api_reenter(int fd)
{
	socklen_t len = sizeof(int);
	int listening;

	T_OK(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len));
	if (listening)
		T_OK(listen(fd, 16));
}

/*
 * A rendezvous with the listener @lfd of this side, which is over at the end: with @e->upgrade, the
 * agent's next connection to it begins as TCP.
 */
void api_teach_agent(struct api_env *e, int lfd, const struct tl_addr *at)
{
	int rfd = T_OK(r_socket(e, e->peer)), fd;

	r_later(e, 0);
	r_connect(e, rfd, at);
	fd = T_OK(accept(lfd, NULL, NULL));
	T_OK(r_join(e));
	T_OK(r_close(e, rfd));
	T_OK(close(fd));
}

/* ... and of this side with the agent's listener @lfd. */
void api_teach_us(struct api_env *e, int lfd, const struct tl_addr *at)
{
	int fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));

	T_OK(connect(fd, &at->sa, at->len));
	T_OK(r_close(e, T_OK(r_accept(e, lfd))));
	T_OK(close(fd));
}

/**
 * api_pair_of() - a connection between this side and the agent, over a prepared socket
 * @e: environment; its role determines which side connects
 * @prepare: called for the connecting socket, or for the listener; or NULL
 * @fd: this end
 * @rfd: the agent's end
 *
 * The mode is not checked. With @e->upgrade the connection is the second one to its address and
 * port: the client knows by then that the server can continue it over RDMA, and lets it begin as
 * TCP.
 */
void api_pair_of(struct api_env *e, void (*prepare)(int fd), int *fd, int *rfd)
{
	struct tl_addr at;
	int lfd;

	if (e->role == API_PASSIVE) {
		lfd = api_listener(e, &at);
		if (prepare)
			prepare(lfd);
		if (e->upgrade)
			api_teach_agent(e, lfd, &at);
		*rfd = T_OK(r_socket(e, e->peer));
		r_later(e, 0);
		r_connect(e, *rfd, &at);
		*fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
		T_OK(r_join(e));
		T_OK(close(lfd));
		return;
	}
	at = e->remote;
	lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	if (e->upgrade)
		api_teach_us(e, lfd, &at);
	*fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	if (prepare)
		prepare(*fd);
	T_OK(connect(*fd, &at.sa, at.len));
	*rfd = T_OK(r_accept(e, lfd));
	T_OK(r_close(e, lfd));
}

/**
 * api_pair() - a connection between this side and the agent
 * @e: environment; its role determines which side connects
 * @fd: this end
 * @rfd: the agent's end
 */
void api_pair(struct api_env *e, int *fd, int *rfd)
{
	api_pair_of(e, NULL, fd, rfd);
	api_check_mode(e, *fd);
}

/* Check for an older kernel, which handles some calls without the family, or for TCP only. */
bool api_kernel_before(int major, int minor)
{
	struct utsname u;
	int a = 0, b = 0;

	T_OK(uname(&u));
	if (sscanf(u.release, "%d.%d", &a, &b) != 2)
		T_TRUE(false);
	return a < major || (a == major && b < minor);
}

/* Check whether the connection moves its bytes by RDMA. */
bool api_over_rdma(const struct api_env *e, int fd)
{
	struct tl_diag d;

	return !tl_diag_get(fd, e->proto, &d) && d.mode == TL_MODE_SMCR;
}

/* Wait for one of @events. Return the events that poll() reports, 0 after the timeout. */
int api_poll(int fd, short events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n = poll(&p, 1, timeout_ms);

	return n < 0 ? -1 : n ? p.revents : 0;
}

void api_send(int fd, u64 seed, u64 off, size_t len)
{
	static u8 buf[UTIL_BUF];

	while (len) {
		size_t n = len < sizeof(buf) ? len : sizeof(buf);
		ssize_t sent;

		tl_fill(seed, off, buf, n);
		sent = T_OK(send(fd, buf, n, MSG_NOSIGNAL));
		off += sent;
		len -= sent;
	}
}

void api_recv(int fd, u64 seed, u64 off, size_t len)
{
	static u8 buf[UTIL_BUF];

	while (len) {
		size_t n = len < sizeof(buf) ? len : sizeof(buf);
		ssize_t got = T_OK(recv(fd, buf, n, 0));

		T_TRUE(got > 0);
		T_EQ(tl_check(seed, off, buf, got), -1);
		off += got;
		len -= got;
	}
}

/**
 * api_fill() - send until neither end takes more
 * @fd: connected socket whose peer does not read
 * @seed: number of the stream
 * @off: offset of the first byte
 *
 * Buffers may grow while acknowledgements arrive, and TCP's receiver finds more room when a probe
 * of its closed window arrives (200 ms, then 400 ms later), so a refusal counts only when it lasts.
 *
 * Return: bytes sent.
 */
u64 api_fill(int fd, u64 seed, u64 off)
{
	static u8 buf[UTIL_BUF];
	u64 start = off;
	int refused = 0;

	while (refused < 16) {
		ssize_t n;

		tl_fill(seed, off, buf, sizeof(buf));
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			off += n;
			refused = 0;
			continue;
		}
		T_ERR(n, EAGAIN);
		refused++;
		tl_sleep_ms(50);
	}
	return off - start;
}

int api_so_error(int fd)
{
	int err = -1;
	socklen_t len = sizeof(err);

	T_OK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
	return err;
}

/* @opt is SO_RCVTIMEO or SO_SNDTIMEO. */
void api_timeout(int fd, int opt, unsigned int msec)
{
	struct timeval tv = { .tv_sec = msec / 1000, .tv_usec = msec % 1000 * 1000 };

	T_OK(setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)));
}

static void on_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
}

/* Count deliveries of @sig from now on. */
void api_catch(int sig, bool restart)
{
	struct sigaction sa = {
		.sa_handler = on_signal,
		.sa_flags = restart ? SA_RESTART : 0,
	};

	__atomic_store_n(&caught, 0, __ATOMIC_RELAXED);
	T_OK(sigaction(sig, &sa, NULL));
}

int api_caught(void)
{
	return __atomic_load_n(&caught, __ATOMIC_RELAXED);
}

/* Raise SIGALRM after @msec. */
void api_alarm(unsigned int msec)
{
	struct itimerval it = {
		.it_value = { .tv_sec = msec / 1000, .tv_usec = msec % 1000 * 1000 },
	};

	T_OK(setitimer(ITIMER_REAL, &it, NULL));
}

/* Check that bytes arrive unchanged in both directions. */
void api_roundtrip(struct api_env *e, int fd, int rfd, u64 seed)
{
	api_send(fd, seed, 0, 5000);
	T_EQ(r_recv(e, rfd, seed, 0, 5000), 5000);
	T_EQ(r_send(e, rfd, seed + 1, 0, 5000), 5000);
	api_recv(fd, seed + 1, 0, 5000);
}
