// SPDX-License-Identifier: GPL-2.0-only
/* API cases: a listener's queue, reuse of ports, and reuse of sockets. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"

#define SEED		751
#define BACKLOG		2
#define SOME		20000
#define CORK_MS		200	/* TCP_CORK holds bytes for that long */
#define POLL_ALL	(POLLIN | POLLOUT | POLLRDHUP)

static int new_socket(struct api_env *e, int flags)
{
	return T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC | flags,
			   e->proto->protocol));
}

/* ---- the queue ---- */

/*
 * The queue has room for one connection more than listen() was given; the next connection waits
 * until one is accepted. TCP clients of an SMC listener find the same room a second time, in the
 * queue of the listener's clcsock.
 */
static void backlog(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, BACKLOG));
	/* connections without a rendezvous wait in TCP's accept queue, too */
	bool twice = e->peer->smc && (!e->proto->smc || e->upgrade);
	int room = (BACKLOG + 1) * (twice ? 2 : 1);
	int fd[2 * BACKLOG + 3], rfd[2 * BACKLOG + 3];

	for (int i = 0; i <= room; i++) {
		/*
		 * over RDMA a connection takes its place when the server has finished the CLC
		 * handshake
		 */
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

/* The errno of bind() to @at, with SO_REUSEADDR set to @reuse. */
static int bind_errno(struct api_env *e, const struct tl_addr *at, int reuse, int *bound)
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

static int socket_bind_port(struct api_env *e, struct tl_addr *mine)
{
	int fd = new_socket(e, 0), one = 1;

	*mine = e->local;
	T_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	T_OK(bind(fd, &mine->sa, mine->len));
	T_OK(getsockname(fd, &mine->sa, &mine->len));
	return fd;
}

/* A connection with a known port on this side, after its listener has closed. */
static void pair_with_port(struct api_env *e, struct tl_addr *mine, int *fd, int *rfd)
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
		*fd = socket_bind_port(e, mine);
		T_OK(connect(*fd, &at.sa, at.len));
		*rfd = T_OK(r_accept(e, lfd));
		T_OK(r_close(e, lfd));
	}
	api_check_mode(e, *fd);
	api_roundtrip(e, *fd, *rfd, SEED);
}

/* The end that closes first keeps the port in TIME_WAIT; SO_REUSEADDR may still bind it. */
static void port_closed_first(struct api_env *e)
{
	struct tl_addr mine;
	int fd, rfd, lfd = -1;

	pair_with_port(e, &mine, &fd, &rfd);
	T_OK(close(fd));
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_OK(r_close(e, rfd));
	tl_sleep_ms(API_QUIET_MS);
	T_EQ(bind_errno(e, &mine, 0, NULL), EADDRINUSE);
	T_EQ(bind_errno(e, &mine, 1, &lfd), 0);
	/* as a restarted server does */
	T_OK(listen(lfd, 4));
	rfd = T_OK(r_socket(e, e->peer));
	r_later(e, 0);
	r_connect(e, rfd, &mine);
	fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
	T_OK(r_join(e));
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* If the peer closes first, the port is free after our close. */
static void port_closed_last(struct api_env *e)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * TL_NSEC_PER_MSEC;
	struct tl_addr mine;
	int fd, rfd, err;
	char c;

	pair_with_port(e, &mine, &fd, &rfd);
	T_OK(r_close(e, rfd));
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(bind_errno(e, &mine, 0, NULL), EADDRINUSE);
	T_OK(close(fd));
	while ((err = bind_errno(e, &mine, 0, NULL)) && tl_now_ns() < until)
		tl_sleep_ms(20);
	T_EQ(err, 0);
}

/* A reset keeps no port. */
static void port_reset(struct api_env *e)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * TL_NSEC_PER_MSEC;
	struct linger l = { .l_onoff = 1 };
	struct tl_addr mine;
	int fd, rfd, err;

	pair_with_port(e, &mine, &fd, &rfd);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	T_OK(close(fd));
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
	while ((err = bind_errno(e, &mine, 0, NULL)) && tl_now_ns() < until)
		tl_sleep_ms(20);
	T_EQ(err, 0);
}

/* ---- sockets used once more ---- */

static void check_connects(struct api_env *e, int fd)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4)), rfd;

	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* One socket: refused, then timed out, then connected to a listener that exists. */
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
	/* the next connect() reports the failed attempt and ends it */
	T_ERR(connect(fd, &none.sa, none.len), ECONNABORTED);
	T_OK(setsockopt(fd, SOL_TCP, TCP_SYNCNT, &once, sizeof(once)));
	T_ERR(connect(fd, &hole.sa, hole.len), ETIMEDOUT);
	check_connects(e, fd);
}

/* A connection that has ended still returns EISCONN, until connect(AF_UNSPEC) dissolves it. */
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
	check_connects(e, fd);
}

/* shutdown() cancels a pending connect(). */
static void connect_taken_back(struct api_env *e)
{
	struct tl_addr hole;
	int fd = new_socket(e, SOCK_NONBLOCK);

	T_OK(r_blackhole(e, &hole));
	T_ERR(connect(fd, &hole.sa, hole.len), EINPROGRESS);
	T_OK(shutdown(fd, SHUT_WR));
	T_EQ(api_poll(fd, POLL_ALL, 0) & POLLHUP, POLLHUP);
	T_OK(tl_set_nonblock(fd, false));
	check_connects(e, fd);
}

/* ---- while another thread sleeps in connect() ---- */

enum sleeper_call { IN_CONNECT, IN_SEND, IN_RECV };

struct sleeper {
	enum sleeper_call call;
	int fd;
	struct tl_addr to;
	int err;
};

static void *sleeper_run(void *arg)
{
	struct sleeper *s = arg;
	ssize_t rc = -1;
	char c = 0;

	switch (s->call) {
	case IN_CONNECT:
		rc = connect(s->fd, &s->to.sa, s->to.len);
		break;
	case IN_SEND:
		rc = send(s->fd, &c, 1, MSG_NOSIGNAL);
		break;
	case IN_RECV:
		rc = recv(s->fd, &c, 1, 0);
		break;
	}
	s->err = rc < 0 ? errno : 0;
	return NULL;
}

/* This thread alone runs on the processor of the process; @on false: ends that. */
static void run_alone(bool on)
{
	struct sched_param prio = { .sched_priority = on ? 1 : 0 };

	T_OK(sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &prio));
}

/* One processor for all threads: a sleeper that was woken waits until this thread sleeps. */
static void use_one_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(T_OK(sched_getcpu()), &one);
	T_OK(sched_setaffinity(0, sizeof(one), &one));
}

/* Start a thread that sleeps until the socket has connected to @hole, which never happens. */
static pthread_t sleeper_start(struct api_env *e, struct sleeper *s, enum sleeper_call call,
			       const struct tl_addr *hole)
{
	struct tl_addr mine = { .len = sizeof(mine.ss) };
	pthread_t thread;

	s->call = call;
	s->to = *hole;
	s->fd = new_socket(e, 0);
	if (call != IN_CONNECT) {
		T_OK(tl_set_nonblock(s->fd, true));
		T_ERR(connect(s->fd, &hole->sa, hole->len), EINPROGRESS);
		T_OK(tl_set_nonblock(s->fd, false));
	}
	T_EQ(pthread_create(&thread, NULL, sleeper_run, s), 0);
	/* on one processor it sleeps by then */
	tl_sleep_ms(API_QUIET_MS);
	T_OK(getsockname(s->fd, &mine.sa, &mine.len));
	T_TRUE(tl_addr_port(&mine) != 0);
	return thread;
}

/* A sleeper leaves the socket alone that listens when it wakes. */
static void sleeper_then_listens(struct api_env *e)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tl_addr hole, at, name;
	struct sleeper s;
	pthread_t thread;
	int fd, rfd;

	use_one_processor();
	T_OK(r_blackhole(e, &hole));
	for (enum sleeper_call call = IN_CONNECT; call <= IN_RECV; call++) {
		thread = sleeper_start(e, &s, call, &hole);
		run_alone(true);
		T_OK(connect(s.fd, &none, sizeof(none)));
		T_OK(listen(s.fd, 4));
		run_alone(false);
		T_EQ(pthread_join(thread, NULL), 0);
		/* the error of the attempt, which only connect(), and so never listen(), clears */
		T_EQ(s.err, call == IN_SEND ? ECONNRESET : EPIPE);
		name.len = sizeof(name.ss);
		T_OK(getsockname(s.fd, &name.sa, &name.len));
		at = e->local;
		tl_addr_set_port(&at, tl_addr_port(&name));
		rfd = T_OK(r_socket(e, e->peer));
		T_OK(r_connect(e, rfd, &at));
		fd = T_OK(accept(s.fd, NULL, NULL));
		api_roundtrip(e, fd, rfd, SEED);
		T_OK(close(s.fd));
	}
}

/* A sleeper does not take another connection for the one that it began with. */
static void sleeper_then_connects(struct api_env *e)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tl_addr hole, at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4)), rfd;
	struct sleeper s;
	pthread_t thread;

	use_one_processor();
	T_OK(r_blackhole(e, &hole));
	for (enum sleeper_call call = IN_CONNECT; call <= IN_RECV; call++) {
		thread = sleeper_start(e, &s, call, &hole);
		run_alone(true);
		T_OK(connect(s.fd, &none, sizeof(none)));
		T_OK(tl_set_nonblock(s.fd, true));
		T_ERR(connect(s.fd, &at.sa, at.len), EINPROGRESS);
		run_alone(false);
		T_EQ(pthread_join(thread, NULL), 0);
		T_EQ(s.err, EPIPE);
		T_EQ(api_poll(s.fd, POLLOUT, API_PATIENCE_MS), POLLOUT);
		T_EQ(api_so_error(s.fd), 0);
		T_OK(connect(s.fd, &at.sa, at.len));
		T_OK(tl_set_nonblock(s.fd, false));
		rfd = T_OK(r_accept(e, lfd));
		api_check_mode(e, s.fd);
		/* nothing of the other thread is in the stream */
		api_roundtrip(e, s.fd, rfd, SEED);
		T_OK(close(s.fd));
	}
}

/* A shutdown() before connect() fails but still takes effect: no CLC handshake is possible. */
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

/* ---- both ends at once ---- */

/* Both ends send, then shut down at the same moment. */
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

/* Corked bytes go to a peer that has read everything and closed: its end comes first. */
static void corked_at_close(struct api_env *e)
{
	int fd, rfd, rc, on = 1, off = 0;
	char c = 0;
	u64 sent;

	api_pair(e, &fd, &rfd);
	api_roundtrip(e, fd, rfd, SEED);
	T_OK(setsockopt(fd, SOL_TCP, TCP_CORK, &on, sizeof(on)));
	sent = tl_now_ns();
	T_EQ(send(fd, &c, 1, MSG_NOSIGNAL), 1);
	T_OK(r_close(e, rfd));
	T_EQ(api_poll(fd, POLLIN | POLLRDHUP, API_PATIENCE_MS) & POLLRDHUP, POLLRDHUP);
	rc = recv(fd, &c, 1, 0);
	if (rc < 0 && (e->upgrade || tl_now_ns() - sent >= CORK_MS * TL_NSEC_PER_MSEC)) {
		/*
		 * The peer took so long to close that the cork's time was over before, or the
		 * change to RDMA has ended it: it left a byte unread, and that is a reset.
		 */
		T_ERR(rc, ECONNRESET);
	} else {
		T_EQ(rc, 0);
		/* over RDMA the sender sees before that the peer will not read the byte */
		T_OK(setsockopt(fd, SOL_TCP, TCP_CORK, &off, sizeof(off)));
		T_EQ(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR, POLLERR);
	}
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(recv(fd, &c, 1, 0), 0);
}

/* Bytes that arrived before a reset can be read after it. */
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

/* The server answers without reading the whole request, and closes. */
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
	{ "sleeper_then_listens", sleeper_then_listens, 0 },
	{ "sleeper_then_connects", sleeper_then_connects, 0 },
	{ "shutdown_early",	shutdown_early,		0 },
	{ "shutdown_crossing",	shutdown_crossing,	API_F_ROLES },
	{ "corked_at_close",	corked_at_close,	API_F_ROLES },
	{ "reset_behind_bytes",	reset_behind_bytes,	API_F_ROLES },
	{ "answer_without_reading", answer_without_reading, API_F_ROLES },
};

const struct api_group api_again_group = { cases, TL_ARRAY_SIZE(cases) };
