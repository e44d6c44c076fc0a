// SPDX-License-Identifier: GPL-2.0-only
/* API cases: connect() that blocks, does not block, fails or is interrupted. */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "api.h"

#define FAST_SEED	223
#define DECLINED_SOCKOPT 0x03060000

#define POLL_ALL	(POLLIN | POLLOUT | POLLRDHUP)

static int new_socket(struct api_env *e, int flags)
{
	return T_OK(socket(e->proto->domain, SOCK_STREAM | flags, e->proto->protocol));
}

/* Return an address of the agent without a listener. */
static struct tl_addr refused_address(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 1));

	T_OK(r_close(e, lfd));
	return at;
}

static void connect_refused(struct api_env *e)
{
	struct tl_addr at = refused_address(e), good = e->remote;
	int fd = new_socket(e, 0);
	int lfd, rfd;

	T_ERR(connect(fd, &at.sa, at.len), ECONNREFUSED);
	/* reported once, by the call itself */
	T_EQ(api_so_error(fd), 0);
	T_ERR(getpeername(fd, &at.sa, &at.len), ENOTCONN);
	/* the socket can be used for another attempt */
	lfd = T_OK(r_listen_at(e, e->peer, &good, 1));
	T_OK(connect(fd, &good.sa, good.len));
	rfd = T_OK(r_accept(e, lfd));
	api_roundtrip(e, fd, rfd, 31);
}

static void connect_refused_nonblock(struct api_env *e)
{
	struct tl_addr at = refused_address(e);
	int fd = new_socket(e, SOCK_NONBLOCK);

	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS),
	     POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	T_EQ(api_so_error(fd), ECONNREFUSED);
	T_EQ(api_so_error(fd), 0);
	T_EQ(recv(fd, &at, 1, 0), 0);
	T_ERR(send(fd, &at, 1, MSG_NOSIGNAL), EPIPE);
}

/* If SO_ERROR is not read, the next connect() reports the error. */
static void connect_refused_second_call(struct api_env *e)
{
	struct tl_addr at = refused_address(e);
	int fd = new_socket(e, SOCK_NONBLOCK);

	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_TRUE(api_poll(fd, POLLOUT, API_PATIENCE_MS) > 0);
	T_ERR(connect(fd, &at.sa, at.len), ECONNREFUSED);
	T_EQ(api_so_error(fd), 0);
}

static void connect_nonblock(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = new_socket(e, SOCK_NONBLOCK);
	int rfd;

	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS), POLLOUT);
	T_EQ(api_so_error(fd), 0);
	/* the first call returns the success, the next one finds a connection */
	T_OK(connect(fd, &at.sa, at.len));
	T_ERR(connect(fd, &at.sa, at.len), EISCONN);
	rfd = T_OK(r_accept(e, lfd));
	T_OK(tl_set_nonblock(fd, false));
	api_roundtrip(e, fd, rfd, 32);
}

/* An epoll set that contains the socket before connect() reports its completion. */
static void connect_nonblock_epoll(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = new_socket(e, SOCK_NONBLOCK);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int ep = T_OK(epoll_create1(0));
	int rfd;

	T_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	T_EQ(epoll_wait(ep, &ev, 1, 0), 1);
	T_EQ(ev.events, EPOLLOUT | EPOLLHUP);
	T_EQ(epoll_wait(ep, &ev, 1, 0), 0);
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_EQ(epoll_wait(ep, &ev, 1, API_PATIENCE_MS), 1);
	T_EQ(ev.events, EPOLLOUT);
	T_EQ(api_so_error(fd), 0);
	rfd = T_OK(r_accept(e, lfd));
	T_EQ(r_send(e, rfd, 33, 0, 100), 100);
	T_EQ(epoll_wait(ep, &ev, 1, API_PATIENCE_MS), 1);
	T_EQ(ev.events, EPOLLIN | EPOLLOUT);
	api_recv(fd, 33, 0, 100);
	T_OK(tl_set_nonblock(fd, false));
	api_roundtrip(e, fd, rfd, 34);
}

/* Every call on a socket whose SYN is unanswered. */
static void connect_pending_state(struct api_env *e)
{
	struct tl_addr at, name = { .len = sizeof(name.ss) };
	int fd = new_socket(e, SOCK_NONBLOCK);
	char c;

	T_OK(r_blackhole(e, &at));
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_ERR(connect(fd, &at.sa, at.len), EALREADY);
	T_EQ(api_poll(fd, POLL_ALL, API_QUIET_MS), 0);
	T_EQ(api_so_error(fd), 0);
	T_ERR(recv(fd, &c, 1, 0), EAGAIN);
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EAGAIN);
	T_ERR(getpeername(fd, &name.sa, &name.len), ENOTCONN);
	T_OK(getsockname(fd, &name.sa, &name.len));
	T_TRUE(tl_addr_port(&name) != 0);
	T_ERR(listen(fd, 1), EINVAL);
	T_OK(close(fd));
}

/* A pending connection completes as soon as the listener has room again. */
static void blackhole_open(struct api_env *e, int hole)
{
	T_OK(r_accept(e, hole));
}

static void connect_pending_completes(struct api_env *e)
{
	struct tl_addr at;
	int hole = T_OK(r_blackhole(e, &at));
	int fd = new_socket(e, SOCK_NONBLOCK);
	int rfd;

	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_EQ(api_poll(fd, POLL_ALL, API_QUIET_MS), 0);
	blackhole_open(e, hole);
	T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS), POLLOUT);
	T_EQ(api_so_error(fd), 0);
	rfd = T_OK(r_accept(e, hole));
	T_OK(tl_set_nonblock(fd, false));
	api_roundtrip(e, fd, rfd, 35);
}

/* EINTR leaves the attempt running. */
static void connect_interrupted(struct api_env *e)
{
	struct tl_addr at;
	int hole = T_OK(r_blackhole(e, &at));
	int fd = new_socket(e, 0);
	int rfd;

	api_catch(SIGALRM, false);
	api_alarm(200);
	T_ERR(connect(fd, &at.sa, at.len), EINTR);
	T_EQ(api_caught(), 1);
	T_OK(tl_set_nonblock(fd, true));
	T_ERR(connect(fd, &at.sa, at.len), EALREADY);
	T_EQ(api_poll(fd, POLL_ALL, 0), 0);
	blackhole_open(e, hole);
	T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS), POLLOUT);
	T_EQ(api_so_error(fd), 0);
	T_OK(connect(fd, &at.sa, at.len));
	T_ERR(connect(fd, &at.sa, at.len), EISCONN);
	rfd = T_OK(r_accept(e, hole));
	T_OK(tl_set_nonblock(fd, false));
	api_roundtrip(e, fd, rfd, 36);
}

/* A second blocking connect() after EINTR waits for the same attempt. */
static void connect_interrupted_again(struct api_env *e)
{
	struct tl_addr at;
	int hole = T_OK(r_blackhole(e, &at));
	int fd = new_socket(e, 0);

	api_catch(SIGALRM, false);
	api_alarm(200);
	T_ERR(connect(fd, &at.sa, at.len), EINTR);
	r_later(e, 200);
	r_accept(e, hole);
	T_OK(connect(fd, &at.sa, at.len));
	T_OK(r_join(e));
	api_roundtrip(e, fd, T_OK(r_accept(e, hole)), 37);
}

static void connect_restarted(struct api_env *e)
{
	struct tl_addr at;
	int hole = T_OK(r_blackhole(e, &at));
	int fd = new_socket(e, 0);

	api_catch(SIGALRM, true);
	api_alarm(200);
	r_later(e, 400);
	r_accept(e, hole);
	T_OK(connect(fd, &at.sa, at.len));
	T_EQ(api_caught(), 1);
	T_OK(r_join(e));
	api_roundtrip(e, fd, T_OK(r_accept(e, hole)), 38);
}

static void connect_timeout(struct api_env *e)
{
	struct tl_addr at;
	int fd = new_socket(e, 0);
	u64 t0;

	T_OK(r_blackhole(e, &at));
	api_timeout(fd, SO_SNDTIMEO, 300);
	t0 = tl_now_ns();
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	/* the attempt continues: a second call waits again, and returns EALREADY */
	T_ERR(connect(fd, &at.sa, at.len), EALREADY);
}

/* Bytes that the peer sends right after the handshake are not lost. */
static void connect_then_instant_data(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	int fd;

	T_OK(r_connect(e, rfd, &at));
	T_EQ(r_send(e, rfd, 39, 0, 20000), 20000);
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	fd = T_OK(accept(lfd, NULL, NULL));
	api_recv(fd, 39, 0, 20000);
	api_roundtrip(e, fd, rfd, 40);
}

/* connect(AF_UNSPEC) ends a connection; the socket is usable again. */
static void connect_unspec(struct api_env *e)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tl_addr at = e->remote;
	struct tl_addr name = { .len = sizeof(name.ss) };
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = new_socket(e, 0);
	int rfd;

	T_OK(connect(fd, &none, sizeof(none)));
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	T_OK(connect(fd, &none, sizeof(none)));
	T_ERR(getpeername(fd, &name.sa, &name.len), ENOTCONN);
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	api_roundtrip(e, fd, rfd, 41);
}

/* The connecting call carries bytes, before a CLC handshake is possible: the connection is TCP. */
static void connect_by_send(struct api_env *e)
{
	struct tl_addr at = e->remote;
	struct tl_diag d;
	char buf[100];
	int lfd, fd, rfd;

	lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	tl_fill(FAST_SEED, 0, buf, sizeof(buf));
	T_EQ(sendto(fd, buf, sizeof(buf), MSG_FASTOPEN, &at.sa, at.len), sizeof(buf));
	rfd = T_OK(r_accept(e, lfd));
	T_EQ(r_recv(e, rfd, FAST_SEED, 0, sizeof(buf)), sizeof(buf));
	if (e->proto->smc) {
		T_EQ(tl_diag_get(fd, e->proto, &d), 0);
		T_EQ(d.mode, TL_MODE_TCP);
		T_EQ(d.reason, DECLINED_SOCKOPT);
	}
	api_roundtrip(e, fd, rfd, FAST_SEED);
	/* a connected socket refuses it, SMC or TCP */
	T_ERR(sendto(fd, buf, sizeof(buf), MSG_FASTOPEN, &at.sa, at.len), EISCONN);
	api_pair(e, &fd, &rfd);
	T_ERR(sendto(fd, buf, sizeof(buf), MSG_FASTOPEN, &at.sa, at.len), EISCONN);
	api_roundtrip(e, fd, rfd, FAST_SEED);
}

static const struct api_case cases[] = {
	{ "connect_refused",		connect_refused,		0 },
	{ "connect_refused_nonblock",	connect_refused_nonblock,	0 },
	{ "connect_refused_second_call", connect_refused_second_call,	0 },
	{ "connect_nonblock",		connect_nonblock,		0 },
	{ "connect_nonblock_epoll",	connect_nonblock_epoll,		0 },
	{ "connect_pending_state",	connect_pending_state,		0 },
	{ "connect_pending_completes",	connect_pending_completes,	0 },
	{ "connect_interrupted",	connect_interrupted,		0 },
	{ "connect_interrupted_again",	connect_interrupted_again,	0 },
	{ "connect_restarted",		connect_restarted,		0 },
	{ "connect_timeout",		connect_timeout,		0 },
	{ "connect_then_instant_data",	connect_then_instant_data,	0 },
	{ "connect_unspec",		connect_unspec,			0 },
	{ "connect_by_send",		connect_by_send,		0 },
};

const struct api_group api_connect_group = { cases, TL_ARRAY_SIZE(cases) };
