// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many connections at once, both ends of each in this program, and random operations from a seed.
 * Every received byte is compared; an end of the stream without a close is an error.
 *
 * The environment gives CONNS, STRESS_FOR (seconds), SEED, and PATIENCE (ms, time limit for events
 * that must happen).
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

#define PORT		4480
#define CHUNK		(64U << 10)
#define BATCH		16
#define CHILD_RESET	254

/**
 * struct end - one end of a connection
 * @fd: -1 once it is closed
 * @sent: bytes of its stream that were sent
 * @got: bytes that it has received
 * @shut: it has shut down its sending direction
 * @eof: it has reached the end of the other's stream
 * @failed: a call has returned a reset; as on TCP one call does, then comes the end of the stream
 */
struct end {
	int fd;
	u64 sent;
	u64 got;
	bool shut;
	bool eof;
	bool failed;
};

struct conn {
	struct end end[ENDS_NR];
	u64 seed;
};

static u8 chunk[CHUNK];
static struct conn *conns;
static unsigned int nconns, patience;
static int epfd;
static u64 state, received[ENDS_NR];
static unsigned long made, ops, resets;

/**
 * struct entry - an entry point, each with its own listener
 * @family: of both ends
 * @addr: address of the listener, in the server's namespace
 * @listener: descriptor
 * @made: connections made through it
 */
static struct entry {
	const char *family;
	const char *addr;
	int listener;
	unsigned long made;
} entries[] = {
	{ .family = "smc", .addr = ENDS_ADDR },
	{ .family = "ipproto", .addr = ENDS_ADDR },
	{ .family = "smc6", .addr = "fd00::1" },
	{ .family = "ipproto6", .addr = "fd00::1" },
	{ .family = "ipproto6", .addr = "::ffff:" ENDS_ADDR },
};

u64 stress_rnd(u64 *state, u64 below)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % below;
}

static u64 rnd_below(u64 below)
{
	return stress_rnd(&state, below);
}

unsigned long stress_env(const char *name, unsigned long otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : otherwise;
}

static void conn_fail(const struct conn *c, int side, const char *what)
{
	const struct end *e = &c->end[side];

	printf("# connection %zu, end %d: %s: %s, sent %llu, got %llu; other end %d sent %llu\n",
	       (size_t)(c - conns), side, what, tl_errno_name(errno), (unsigned long long)e->sent,
	       (unsigned long long)e->got, c->end[!side].fd,
	       (unsigned long long)c->end[!side].sent);
	exit(1);
}

static u64 stream_seed(const struct conn *c, int side)
{
	return 2 * c->seed + side;
}

static void epoll_watch(struct conn *c, int side)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLRDHUP,
		.data.u64 = 2 * (c - conns) + side,
	};

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, c->end[side].fd, &ev))
		conn_fail(c, side, "epoll_ctl");
}

/* The close of the other end may have been a reset. */
static bool may_fail(struct conn *c, int side)
{
	if (c->end[!side].fd >= 0 || (errno != ECONNRESET && errno != EPIPE))
		return false;
	c->end[side].failed = true;
	return true;
}

static void shut_fd(struct conn *c, int side, bool reset)
{
	struct linger l = { .l_onoff = 1 };

	if (reset)
		setsockopt(c->end[side].fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(c->end[side].fd);
	c->end[side].fd = -1;
}

/* ---- connecting ---- */

static void socket_prepare(int fd)
{
	int size = 16384 << rnd_below(3), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	size = 16384 << rnd_below(2);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	/* so that urgent bytes stay in the stream */
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
}

static unsigned int port_of(int fd, bool peer)
{
	struct tl_addr a = { .len = sizeof(a.ss) };

	if (peer ? getpeername(fd, &a.sa, &a.len) : getsockname(fd, &a.sa, &a.len))
		ends_die("getsockname");
	return tl_addr_port(&a);
}

static void entry_open(struct entry *d)
{
	const struct tl_proto *proto = tl_proto_find(d->family);
	struct tl_addr at;

	if (tl_addr_parse(&at, proto, d->addr, PORT + (d - entries)))
		ends_die(d->addr);
	ends_enter(ENDS_SERVER);
	d->listener = tl_listen(proto, &at, 64);
	ends_enter(ENDS_CLIENT);
	if (d->listener < 0) {
		errno = -d->listener;
		ends_die(d->family);
	}
}

/* Connect all client ends at once; the order of their accepts is not fixed. */
static void connect_some(struct conn *const *which, unsigned int n)
{
	struct entry *d = &entries[rnd_below(TL_ARRAY_SIZE(entries))];
	const struct tl_proto *proto = tl_proto_find(d->family);
	struct tl_diag diag;
	struct tl_addr to;

	tl_addr_parse(&to, proto, d->addr, PORT + (d - entries));
	socket_prepare(d->listener);
	d->made += n;
	for (unsigned int i = 0; i < n; i++) {
		int fd = tl_socket(proto, SOCK_NONBLOCK);

		if (fd < 0)
			ends_die("socket");
		socket_prepare(fd);
		*which[i] = (struct conn){ .seed = ++made };
		which[i]->end[ENDS_CLIENT].fd = fd;
		if (connect(fd, &to.sa, to.len) && errno != EINPROGRESS)
			ends_die("connect");
	}
	for (unsigned int i = 0; i < n; i++) {
		int fd;

		if (!ends_something(d->listener, POLLIN, patience))
			ends_die("nothing to accept");
		fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			ends_die("accept");
		for (unsigned int k = 0; k < n; k++)
			if (port_of(which[k]->end[ENDS_CLIENT].fd, false) == port_of(fd, true))
				which[k]->end[ENDS_SERVER].fd = fd;
	}
	for (unsigned int i = 0; i < n; i++) {
		struct conn *c = which[i];

		if (!c->end[ENDS_SERVER].fd)
			conn_fail(c, ENDS_SERVER, "was not accepted");
		if (!ends_something(c->end[ENDS_CLIENT].fd, POLLOUT, patience) ||
		    ends_error(c->end[ENDS_CLIENT].fd))
			conn_fail(c, ENDS_CLIENT, "does not connect");
		if (tl_diag_get(c->end[ENDS_CLIENT].fd, proto, &diag) ||
		    diag.mode != TL_MODE_SMCR) {
			printf("# %s: %08x/%08x\n", tl_mode_name(diag.mode), diag.reason,
			       diag.peer_reason);
			conn_fail(c, ENDS_CLIENT, "is not SMC");
		}
		epoll_watch(c, ENDS_CLIENT);
		epoll_watch(c, ENDS_SERVER);
	}
}

/* Replace connections with both ends closed by new ones. */
static void conns_refill(void)
{
	struct conn *which[BATCH];
	unsigned int n = 0;

	for (unsigned int i = 0; i < nconns && n < BATCH; i++)
		if (conns[i].end[ENDS_SERVER].fd < 0 && conns[i].end[ENDS_CLIENT].fd < 0)
			which[n++] = &conns[i];
	if (n)
		connect_some(which, n);
}

/* ---- operations ---- */

static size_t any_size(void)
{
	return 1 + rnd_below(rnd_below(4) ? 3000 : CHUNK);
}

static void op_send(struct conn *c, int side)
{
	struct end *e = &c->end[side];
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	size_t len = any_size();
	ssize_t n;

	if (e->shut)
		return;
	if (!rnd_below(8))
		flags |= MSG_MORE;
	if (!rnd_below(32))
		flags |= MSG_OOB;
	tl_fill(stream_seed(c, side), e->sent, chunk, len);
	n = send(e->fd, chunk, len, flags);
	if (n > 0)
		e->sent += n;
	else if (!n || (errno != EAGAIN && !may_fail(c, side)))
		conn_fail(c, side, "send");
}

/* @must: poll has reported POLLIN. */
static void end_receive(struct conn *c, int side, int flags, bool must)
{
	struct end *e = &c->end[side];
	ssize_t n = recv(e->fd, chunk, any_size(), flags);

	if (n < 0 && errno == EAGAIN && !must)
		return;
	if (n < 0 && errno == EINTR && !(flags & MSG_DONTWAIT))
		return;
	if (n < 0 && may_fail(c, side)) {
		resets++;
		shut_fd(c, side, false);
		return;
	}
	if (n < 0)
		conn_fail(c, side, "recv");
	if (!n) {
		if (c->end[!side].fd >= 0 && !c->end[!side].shut)
			conn_fail(c, side, "the stream ends without a close");
		if (e->got != c->end[!side].sent && !e->failed)
			conn_fail(c, side, "the stream ends too early");
		e->eof = true;
		return;
	}
	if (tl_check(stream_seed(c, !side), e->got, chunk, n) != -1)
		conn_fail(c, side, "wrong bytes");
	if (flags & MSG_PEEK)
		return;
	e->got += n;
	received[side] += n;
}

static void op_recv(struct conn *c, int side)
{
	end_receive(c, side, MSG_DONTWAIT, false);
}

static void op_peek(struct conn *c, int side)
{
	end_receive(c, side, MSG_DONTWAIT | MSG_PEEK, false);
}

static void op_poll(struct conn *c, int side)
{
	struct pollfd p = { .fd = c->end[side].fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	if (poll(&p, 1, 0) < 0 && errno != EINTR)
		conn_fail(c, side, "poll");
	if (p.revents & POLLIN && !c->end[side].eof)
		end_receive(c, side, MSG_DONTWAIT, true);
}

static void op_epoll(struct conn *c, int side)
{
	struct epoll_event ev[32];
	int n = epoll_wait(epfd, ev, TL_ARRAY_SIZE(ev), 0);

	if (n < 0 && errno != EINTR)
		conn_fail(c, side, "epoll_wait");
	for (int i = 0; i < n; i++) {
		c = &conns[ev[i].data.u64 / 2];
		side = ev[i].data.u64 % 2;
		if (c->end[side].fd < 0)
			conn_fail(c, side, "an event of a closed descriptor");
		if (ev[i].events & EPOLLIN && !c->end[side].eof)
			end_receive(c, side, MSG_DONTWAIT, true);
	}
}

static void signal_ignore(int sig)
{
	(void)sig;
}

/* A call that sleeps until a signal or bytes arrive. */
static void op_signal(struct conn *c, int side)
{
	struct itimerval it = { .it_value.tv_usec = 1000, .it_interval.tv_usec = 1000 };
	static const struct itimerval off;

	tl_set_nonblock(c->end[side].fd, false);
	setitimer(ITIMER_REAL, &it, NULL);
	end_receive(c, side, 0, false);
	setitimer(ITIMER_REAL, &off, NULL);
	if (c->end[side].fd >= 0)
		tl_set_nonblock(c->end[side].fd, true);
}

static void op_shutdown(struct conn *c, int side)
{
	struct end *e = &c->end[side];

	if (shutdown(e->fd, SHUT_WR) && errno != ENOTCONN)
		conn_fail(c, side, "shutdown");
	e->shut = true;
}

static void op_close(struct conn *c, int side)
{
	shut_fd(c, side, false);
}

static void op_reset(struct conn *c, int side)
{
	shut_fd(c, side, true);
}

int stress_option(u64 *rnd, int fd, int rcvbuf)
{
	static const struct {
		int level;
		int name;
		int values;
	} options[] = {
		{ SOL_TCP, TCP_NODELAY, 2 },
		{ SOL_TCP, TCP_CORK, 2 },
		{ SOL_TCP, TCP_QUICKACK, 2 },
		{ SOL_SOCKET, SO_KEEPALIVE, 2 },
		{ SOL_SOCKET, SO_TIMESTAMP, 2 },
		{ SOL_SOCKET, SO_RCVBUF, 100000 },
		{ SOL_SOCKET, SO_SNDBUF, 100000 },
		{ SOL_SOCKET, SO_PRIORITY, 6 },
	};
	size_t i = stress_rnd(rnd, TL_ARRAY_SIZE(options));
	int val = stress_rnd(rnd, options[i].values);

	if (options[i].level == SOL_SOCKET && options[i].name == SO_RCVBUF && val < rcvbuf)
		val = rcvbuf;
	return setsockopt(fd, options[i].level, options[i].name, &val, sizeof(val));
}

static void op_option(struct conn *c, int side)
{
	if (stress_option(&state, c->end[side].fd, 0))
		conn_fail(c, side, "setsockopt");
}

/* The descriptor is closed, the socket remains. */
static void op_dup(struct conn *c, int side)
{
	int fd = dup(c->end[side].fd);

	if (fd < 0)
		ends_die("dup");
	epoll_ctl(epfd, EPOLL_CTL_DEL, c->end[side].fd, NULL);
	close(c->end[side].fd);
	c->end[side].fd = fd;
	epoll_watch(c, side);
}

/* A child sends, and exits with copies of the parent's descriptors. */
static void op_fork(struct conn *c, int side)
{
	struct end *e = &c->end[side];
	int status;
	pid_t pid;

	if (e->shut)
		return;
	pid = fork();
	if (pid < 0)
		ends_die("fork");
	if (!pid) {
		size_t len = 1 + rnd_below(200);
		ssize_t n;

		tl_fill(stream_seed(c, side), e->sent, chunk, len);
		n = send(e->fd, chunk, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		_exit(n >= 0 ? n : errno == EAGAIN ? 0 : may_fail(c, side) ? CHILD_RESET : 255);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) == 255)
		conn_fail(c, side, "send by a child");
	if (WEXITSTATUS(status) == CHILD_RESET)
		e->failed = true;
	else
		e->sent += WEXITSTATUS(status);
}

/* While it is in a message no process has the descriptor. */
static void op_pass(struct conn *c, int side)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		ends_die("socketpair");
	if (tl_send_fd(sv[0], c->end[side].fd))
		ends_die("sendmsg");
	epoll_ctl(epfd, EPOLL_CTL_DEL, c->end[side].fd, NULL);
	close(c->end[side].fd);
	c->end[side].fd = tl_recv_fd(sv[1]);
	if (c->end[side].fd < 0)
		ends_die("recvmsg");
	close(sv[0]);
	close(sv[1]);
	epoll_watch(c, side);
}

/* Frequency of each operation, in a thousand. */
static const struct {
	void (*run)(struct conn *c, int side);
	unsigned int weight;
} operations[] = {
	{ op_send, 400 }, { op_recv, 300 }, { op_peek, 50 }, { op_poll, 70 }, { op_epoll, 30 },
	{ op_option, 60 }, { op_dup, 25 }, { op_pass, 15 }, { op_fork, 5 }, { op_signal, 10 },
	{ op_shutdown, 15 }, { op_close, 12 }, { op_reset, 8 },
};

static void op_step(void)
{
	struct conn *c = &conns[rnd_below(nconns)];
	u64 pick = rnd_below(1000);
	int side = rnd_below(2);

	if (c->end[side].fd < 0)
		side = !side;
	if (c->end[side].fd < 0) {
		conns_refill();
		return;
	}
	/* both directions have ended: only close() is left */
	if (c->end[side].eof && c->end[side].shut) {
		op_close(c, side);
		return;
	}
	for (size_t i = 0; i < TL_ARRAY_SIZE(operations); i++) {
		if (pick < operations[i].weight) {
			operations[i].run(c, side);
			break;
		}
		pick -= operations[i].weight;
	}
	ops++;
}

/* ---- main test ---- */

/* All sent bytes arrive, and then the end of the stream. */
static void end_drain(struct conn *c, int side)
{
	while (c->end[side].fd >= 0 && !c->end[side].eof) {
		if (!ends_something(c->end[side].fd, POLLIN, patience))
			conn_fail(c, side, "the end of the stream does not come");
		end_receive(c, side, MSG_DONTWAIT, true);
	}
}

static void stress(void)
{
	unsigned long seconds = stress_env("STRESS_FOR", 20);
	struct sigaction sa = { .sa_handler = signal_ignore };
	struct rlimit files = { 8192, 8192 };
	long before[ENDS_NR], rx, aborted;
	u64 until;

	state = stress_env("SEED", time(NULL));
	nconns = stress_env("CONNS", 1000);
	patience = stress_env("PATIENCE", 30000);
	printf("# seed %llu, %u connections, %lu s\n", (unsigned long long)state, nconns, seconds);
	sigaction(SIGALRM, &sa, NULL);
	if (setrlimit(RLIMIT_NOFILE, &files))
		ends_die("setrlimit");
	conns = calloc(nconns, sizeof(*conns));
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (!conns || epfd < 0)
		ends_die("no memory");
	for (unsigned int i = 0; i < nconns; i++)
		for (int side = 0; side < ENDS_NR; side++)
			conns[i].end[side].fd = -1;
	for (size_t i = 0; i < TL_ARRAY_SIZE(entries); i++)
		entry_open(&entries[i]);
	for (int i = 0; i < ENDS_NR; i++)
		before[i] = ends_stat(i, "rx_bytes");
	aborted = ends_stat(ENDS_CLIENT, "conn_abort");
	while (made < nconns)
		conns_refill();
	until = tl_now_ns() + seconds * TL_NSEC_PER_SEC;
	while (tl_now_ns() < until)
		op_step();
	for (unsigned int i = 0; i < nconns; i++)
		for (int side = 0; side < ENDS_NR; side++)
			if (conns[i].end[side].fd >= 0)
				op_shutdown(&conns[i], side);
	for (unsigned int i = 0; i < nconns; i++)
		for (int side = 0; side < ENDS_NR; side++)
			end_drain(&conns[i], side);
	printf("# %lu operations, %lu connections, %lu ends by reset, %ld aborted by the module\n",
	       ops, made, resets, ends_stat(ENDS_CLIENT, "conn_abort") - aborted);
	for (int i = 0; i < ENDS_NR; i++) {
		rx = ends_stat(i, "rx_bytes") - before[i];
		printf("# end %d: %llu bytes, %ld by RDMA\n", i, (unsigned long long)received[i],
		       rx);
		ends_check(rx >= 0 && (u64)rx == received[i], "all bytes came by RDMA");
	}
	for (size_t i = 0; i < TL_ARRAY_SIZE(entries); i++) {
		printf("# %lu connections of %s to %s\n", entries[i].made, entries[i].family,
		       entries[i].addr);
		ends_check(entries[i].made, "connections by each entry point");
	}
	ends_check(received[ENDS_SERVER] && received[ENDS_CLIENT], "bytes were received");
}

int main(int argc, char **argv)
{
	static const struct ends_test tests[] = {
		{ "stress", stress },
		{ }
	};
	static const struct ends_test *const lists[] = { tests, stress_threads_tests, NULL };

	return ends_main(argc, argv, lists, NULL);
}
