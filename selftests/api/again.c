// SPDX-License-Identifier: GPL-2.0-only
/* API cases: places in a listener's queue, ports, and sockets that are used once more. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"

#define SEED		751
#define BACKLOG		2
#define SOME		20000
#define POLL_ALL	(POLLIN | POLLOUT | POLLRDHUP)

static int new_socket(struct api_env *e, int flags)
{
	return T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC | flags,
			   e->proto->protocol));
}

/* ---- the queue ---- */

/*
 * There is room for one more than listen() said; the next one waits until one was taken. Clients of
 * TCP find the same room once more, in the queue of an SMC listener's carrier.
 */
static void backlog(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, BACKLOG));
	int room = (BACKLOG + 1) * (e->peer->smc && !e->proto->smc ? 2 : 1);
	int fd[2 * BACKLOG + 3], rfd[2 * BACKLOG + 3];

	for (int i = 0; i <= room; i++) {
		/* over RDMA a place is taken when their host is through with the rendezvous */
		tl_sleep_ms(2 * API_QUIET_MS);
		fd[i] = new_socket(e, SOCK_NONBLOCK);
		T_ERR(connect(fd[i], &at.sa, at.len), EINPROGRESS);
		if (i < room)
			T_EQ(api_poll(fd[i], POLL_ALL, API_PATIENCE_MS), POLLOUT);
	}
	T_EQ(api_poll(fd[room], POLL_ALL, API_QUIET_MS), 0);
	rfd[0] = T_OK(r_accept(e, lfd));
	T_EQ(api_poll(fd[room], POLL_ALL, API_PATIENCE_MS), POLLOUT);
	for (int i = 0; i <= room; i++) {
		if (i)
			rfd[i] = T_OK(r_accept(e, lfd));
		T_EQ(api_so_error(fd[i]), 0);
		api_check_mode(e, fd[i]);
		T_OK(tl_set_nonblock(fd[i], false));
		api_send(fd[i], SEED, 0, 100);
		T_EQ(r_recv(e, rfd[i], SEED, 0, 100), 100);
	}
}

/* ---- ports ---- */

/* What bind() to the port says, without SO_REUSEADDR or with it. */
static int bind_says(struct api_env *e, const struct tl_addr *at, int reuse, int *bound)
{
	int fd = new_socket(e, 0), err = 0;

	T_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)));
	if (bind(fd, &at->sa, at->len))
		err = errno;
	if (bound && !err)
		*bound = fd;
	else
		T_OK(close(fd));
	return err;
}

static int own_port(struct api_env *e, struct tl_addr *mine)
{
	int fd = new_socket(e, 0), one = 1;

	*mine = e->local;
	T_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	T_OK(bind(fd, &mine->sa, mine->len));
	T_OK(getsockname(fd, &mine->sa, &mine->len));
	return fd;
}

/* A connection of which this side's port is known, and has no listener any more. */
static void pair_at(struct api_env *e, struct tl_addr *mine, int *fd, int *rfd)
{
	struct tl_addr at = e->remote;
	int lfd;

	if (e->role == API_PASSIVE) {
		lfd = api_listener(e, mine);
		*rfd = T_OK(r_socket(e, e->peer));
		r_later(e, 0);
		r_connect(e, *rfd, mine);
		*fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
		T_OK(r_join(e));
		T_OK(close(lfd));
	} else {
		lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
		*fd = own_port(e, mine);
		T_OK(connect(*fd, &at.sa, at.len));
		*rfd = T_OK(r_accept(e, lfd));
		T_OK(r_close(e, lfd));
	}
	api_check_mode(e, *fd);
	api_roundtrip(e, *fd, *rfd, SEED);
}

/* Who closes first keeps the port for a while, but for those who say that they know. */
static void port_closed_first(struct api_env *e)
{
	struct tl_addr mine;
	int fd, rfd, lfd = -1;

	pair_at(e, &mine, &fd, &rfd);
	T_OK(close(fd));
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_OK(r_close(e, rfd));
	tl_sleep_ms(API_QUIET_MS);
	T_EQ(bind_says(e, &mine, 0, NULL), EADDRINUSE);
	T_EQ(bind_says(e, &mine, 1, &lfd), 0);
	/* as a server that was started again */
	T_OK(listen(lfd, 4));
	rfd = T_OK(r_socket(e, e->peer));
	r_later(e, 0);
	r_connect(e, rfd, &mine);
	fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
	T_OK(r_join(e));
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* Whose peer closes first has it back. */
static void port_closed_last(struct api_env *e)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * TL_NSEC_PER_MSEC;
	struct tl_addr mine;
	int fd, rfd, err;
	char c;

	pair_at(e, &mine, &fd, &rfd);
	T_OK(r_close(e, rfd));
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(bind_says(e, &mine, 0, NULL), EADDRINUSE);
	T_OK(close(fd));
	while ((err = bind_says(e, &mine, 0, NULL)) && tl_now_ns() < until)
		tl_sleep_ms(20);
	T_EQ(err, 0);
}

/* A reset leaves nothing behind. */
static void port_reset(struct api_env *e)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * TL_NSEC_PER_MSEC;
	struct linger l = { .l_onoff = 1 };
	struct tl_addr mine;
	int fd, rfd, err;

	pair_at(e, &mine, &fd, &rfd);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	T_OK(close(fd));
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
	while ((err = bind_says(e, &mine, 0, NULL)) && tl_now_ns() < until)
		tl_sleep_ms(20);
	T_EQ(err, 0);
}

/* ---- sockets used once more ---- */

static void connects(struct api_env *e, int fd)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4)), rfd;

	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* Refused, then without an answer, then to somebody who is there. */
static void connect_elsewhere(struct api_env *e)
{
	struct tl_addr none = e->remote, hole;
	int lfd = T_OK(r_listen_at(e, e->peer, &none, 1));
	int fd = new_socket(e, SOCK_NONBLOCK), once = 1;

	T_OK(r_close(e, lfd));
	T_OK(r_blackhole(e, &hole));
	T_ERR(connect(fd, &none.sa, none.len), EINPROGRESS);
	T_TRUE(api_poll(fd, POLLOUT, API_PATIENCE_MS) & POLLERR);
	T_EQ(api_so_error(fd), ECONNREFUSED);
	T_OK(tl_set_nonblock(fd, false));
	/* the connection that failed is over with the next connect(), which says so */
	T_ERR(connect(fd, &none.sa, none.len), ECONNABORTED);
	T_OK(setsockopt(fd, SOL_TCP, TCP_SYNCNT, &once, sizeof(once)));
	T_ERR(connect(fd, &hole.sa, hole.len), ETIMEDOUT);
	connects(e, fd);
}

/* A connection that has ended is one until it is dissolved. */
static void connect_after_end(struct api_env *e)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = new_socket(e, 0), rfd;
	char c;

	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	r_reset(e, rfd);
	T_ERR(recv(fd, &c, 1, 0), ECONNRESET);
	T_ERR(connect(fd, &at.sa, at.len), EISCONN);
	T_OK(connect(fd, &none, sizeof(none)));
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	T_OK(r_close(e, rfd));
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_OK(shutdown(fd, SHUT_WR));
	T_ERR(connect(fd, &at.sa, at.len), EISCONN);
	T_OK(connect(fd, &none, sizeof(none)));
	connects(e, fd);
}

/* shutdown() takes back a connect() that was not answered. */
static void connect_taken_back(struct api_env *e)
{
	struct tl_addr hole;
	int fd = new_socket(e, SOCK_NONBLOCK);

	T_OK(r_blackhole(e, &hole));
	T_ERR(connect(fd, &hole.sa, hole.len), EINPROGRESS);
	T_OK(shutdown(fd, SHUT_WR));
	T_EQ(api_poll(fd, POLL_ALL, 0) & POLLHUP, POLLHUP);
	T_OK(tl_set_nonblock(fd, false));
	connects(e, fd);
}

/* One that comes too early fails, and counts all the same: no rendezvous is possible. */
static void shutdown_early(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = new_socket(e, 0), rfd;
	char c = 0;

	T_ERR(shutdown(fd, SHUT_WR), ENOTCONN);
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	T_TRUE(!api_over_rdma(e, fd));
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	api_recv(fd, SEED, 0, 100);
}

/* ---- both at once ---- */

/* Both have something to say, and say at the same moment that it was all. */
static void shutdown_crossing(struct api_env *e)
{
	int fd, rfd;
	char c;

	for (int i = 0; i < 5; i++) {
		api_pair(e, &fd, &rfd);
		r_later(e, 0);
		r_send(e, rfd, SEED + 1, 0, SOME);
		api_send(fd, SEED, 0, SOME);
		T_EQ(r_join(e), SOME);
		r_later(e, 20);
		r_shutdown(e, rfd, SHUT_WR);
		tl_sleep_ms(20);
		T_OK(shutdown(fd, SHUT_WR));
		T_OK(r_join(e));
		T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS) & POLLERR, 0);
		api_recv(fd, SEED + 1, 0, SOME);
		T_EQ(recv(fd, &c, 1, 0), 0);
		T_EQ(r_recv(e, rfd, SEED, 0, SOME + 1), SOME);
		T_EQ(api_so_error(fd), 0);
		T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS) & (POLLHUP | POLLERR), POLLHUP);
		T_OK(close(fd));
		T_OK(r_close(e, rfd));
	}
}

/* What is corked goes to a peer that has closed, and had read all: its end comes first. */
static void corked_at_close(struct api_env *e)
{
	int fd, rfd, on = 1, off = 0;
	char c = 0;

	api_pair(e, &fd, &rfd);
	api_roundtrip(e, fd, rfd, SEED);
	T_OK(setsockopt(fd, SOL_TCP, TCP_CORK, &on, sizeof(on)));
	T_EQ(send(fd, &c, 1, MSG_NOSIGNAL), 1);
	T_OK(r_close(e, rfd));
	T_EQ(api_poll(fd, POLLIN | POLLRDHUP, API_PATIENCE_MS) & POLLRDHUP, POLLRDHUP);
	if (api_over_rdma(e, fd)) {
		/* that the byte is in vain is known at once */
		T_ERR(recv(fd, &c, 1, 0), EPIPE);
	} else {
		T_EQ(recv(fd, &c, 1, 0), 0);
		T_OK(setsockopt(fd, SOL_TCP, TCP_CORK, &off, sizeof(off)));
		T_EQ(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR, POLLERR);
	}
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(recv(fd, &c, 1, 0), 0);
}

/* Bytes that came before a reset can be read after it. */
static void reset_behind_bytes(struct api_env *e)
{
	int fd, rfd;
	char c;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, SOME), SOME);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	tl_sleep_ms(API_QUIET_MS);
	r_reset(e, rfd);
	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
	api_recv(fd, SEED, 0, SOME);
	T_ERR(recv(fd, &c, 1, 0), ECONNRESET);
	T_EQ(recv(fd, &c, 1, 0), 0);
}

/* An answer of a server that did not read the whole question, and closed. */
static void answer_without_reading(struct api_env *e)
{
	int fd, rfd;
	char c = 0;

	api_pair(e, &fd, &rfd);
	api_send(fd, SEED, 0, SOME);
	T_EQ(r_recv(e, rfd, SEED, 0, 100), 100);
	T_EQ(r_send(e, rfd, SEED + 1, 0, 300), 300);
	T_OK(r_close(e, rfd));
	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
	api_recv(fd, SEED + 1, 0, 300);
	T_ERR(recv(fd, &c, 1, 0), ECONNRESET);
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
}

static const struct api_case cases[] = {
	{ "backlog",		backlog,		0 },
	{ "port_closed_first",	port_closed_first,	API_F_ROLES },
	{ "port_closed_last",	port_closed_last,	API_F_ROLES },
	{ "port_reset",		port_reset,		API_F_ROLES },
	{ "connect_elsewhere",	connect_elsewhere,	0 },
	{ "connect_after_end",	connect_after_end,	0 },
	{ "connect_taken_back",	connect_taken_back,	0 },
	{ "shutdown_early",	shutdown_early,		0 },
	{ "shutdown_crossing",	shutdown_crossing,	API_F_ROLES },
	{ "corked_at_close",	corked_at_close,	API_F_ROLES },
	{ "reset_behind_bytes",	reset_behind_bytes,	API_F_ROLES },
	{ "answer_without_reading", answer_without_reading, API_F_ROLES },
};

const struct api_group api_again_group = { cases, TL_ARRAY_SIZE(cases) };
