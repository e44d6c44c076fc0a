// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three connections with verified bytes between a server and a client of this
 * program, while something in the kernel is made to fail: first contact, one that
 * needs memory of its own, and one with a listener in TCP mode. Each side may only come to
 * an end that an application can cope with: all bytes, or an error it knows, within
 * a time limit. One line tells how it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "lib/testlib.h"

#define CHUNK		(16U << 10)
#define MAX_CONNS	4
#define FIN_LOST_MS	5000
#define MAX_ERRORS	100

/**
 * struct options - the command line
 * @server_ns: network namespace of the server, NULL: the current one
 * @client_ns: of the client
 * @addr: the server's address
 * @port: and port
 * @bytes: of each connection, to and fro
 * @rcvbuf: SO_RCVBUF of the second connection, so that it needs memory of its own
 * @limit: seconds before a side counts as hanging
 * @fail_nth: this allocation fails that one side's own calls make, 0: none
 * @fail_server: that side is the server's accepting thread, not the client
 * @require_smc: nothing but success over SMC is good
 */
struct options {
	const char *server_ns;
	const char *client_ns;
	const char *addr;
	unsigned int port;
	unsigned int bytes;
	int rcvbuf;
	unsigned int limit;
	unsigned int fail_nth;
	bool fail_server;
	bool require_smc;
};

static struct options opt = {
	.addr = "10.0.0.1",
	.port = 4450,
	.bytes = 192 << 10,
	.rcvbuf = 256 << 10,
	.limit = 60,
};

static const struct tl_proto *proto;

/**
 * struct tale - what happened on one side, for its line
 * @text: words "WHAT=HOW"
 * @errors: operations that failed in a way applications know
 * @bad: ... in another way
 * @early_eof: ends of stream before all bytes, to be explained by an error of the peer
 * @lock: for the threads of the server
 */
struct tale {
	char text[512];
	unsigned int errors;
	unsigned int bad;
	unsigned int early_eof;
	pthread_mutex_t lock;
};

static struct tale tale = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __printf(1, 2) tell(const char *fmt, ...)
{
	size_t n = strlen(tale.text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(tale.text + n, sizeof(tale.text) - n, fmt, ap);
	va_end(ap);
}

/* An application expects these of a host that is short of memory or lost its peer. */
static bool known_error(int err)
{
	switch (err) {
	case ENOMEM:
	case ENOBUFS:
	case ENFILE:
	case ECONNRESET:
	case ECONNABORTED:
	case ECONNREFUSED:
	case ETIMEDOUT:
	case EPIPE:
		return true;
	case EFAULT:		/* the kernel counts copies from and to us too */
	case EADDRINUSE:	/* what bind() says when it has no memory for the port */
		return opt.fail_nth;
	default:
		return false;
	}
}

/* @who does @what, result @err (negative errno). */
static void failed(const char *who, const char *what, int err)
{
	pthread_mutex_lock(&tale.lock);
	tell(" %s.%s=%s", who, what, tl_errno_name(-err));
	if (known_error(-err))
		tale.errors++;
	else
		tale.bad++;
	pthread_mutex_unlock(&tale.lock);
}

static void early_eof(const char *who)
{
	pthread_mutex_lock(&tale.lock);
	tell(" %s.recv=EOF", who);
	tale.early_eof++;
	pthread_mutex_unlock(&tale.lock);
}

static void out_of_time(int sig)
{
	static const char text[] = "bad: time limit\n";

	(void)sig;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static void enter(const char *ns)
{
	char path[128];
	int fd;

	if (!ns)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(2);
	}
	close(fd);
}

/* From here on the kernel counts what the calls of this thread allocate (failslab). */
static void fail_nth(void)
{
	char text[16];
	int fd, n;

	n = snprintf(text, sizeof(text), "%u", opt.fail_nth);
	fd = open("/proc/thread-self/fail-nth", O_WRONLY);
	if (fd < 0 || write(fd, text, n) != n) {
		perror("fail-nth");
		exit(2);
	}
	close(fd);
}

/* How many allocations there were, when they were fewer: the walk is over. */
static void tell_rest(void)
{
	char text[16] = "";
	unsigned int left;
	int fd;

	fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 || write(fd, "0", 1) != 1) {
		/* may be the very one that fails */
		if (errno != ENOMEM && errno != EFAULT) {
			perror("fail-nth");
			exit(2);
		}
	}
	if (fd >= 0)
		close(fd);
	left = atoi(text);
	pthread_mutex_lock(&tale.lock);
	if (left)
		tell(" allocations=%u", opt.fail_nth - left);
	pthread_mutex_unlock(&tale.lock);
}

/* Calls that are not the socket's fail too, once: what they do is done at the second try. */
static bool again(bool ok)
{
	static bool before;
	bool second = !ok && opt.fail_server && !before &&
		      (errno == ENOMEM || errno == EAGAIN || errno == EFAULT);

	before |= second;
	return second;
}

/* RST rather than FIN: the peer must not take our failure for the end of the stream. */
static void slam(int fd)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

/* ---- server ---- */

/**
 * struct handover - from the thread that accepts to those that echo
 * @fds: connections
 * @put: how many of them there are
 * @got: how many a thread has taken
 * @over: there will be no more
 *
 * The threads are there before anything is made to fail: starting one must not.
 */
struct handover {
	pthread_mutex_t lock;
	pthread_cond_t more;
	int fds[MAX_CONNS];
	unsigned int put;
	unsigned int got;
	bool over;
};

static struct handover handover = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER,
};

static void hand_over(int fd)
{
	pthread_mutex_lock(&handover.lock);
	if (fd >= 0)
		handover.fds[handover.put++] = fd;
	else
		handover.over = true;
	pthread_cond_broadcast(&handover.more);
	pthread_mutex_unlock(&handover.lock);
}

/* -1: there are no more. */
static int receive_one(void)
{
	int fd = -1;

	pthread_mutex_lock(&handover.lock);
	while (handover.got == handover.put && !handover.over)
		pthread_cond_wait(&handover.more, &handover.lock);
	if (handover.got < handover.put)
		fd = handover.fds[handover.got++];
	pthread_mutex_unlock(&handover.lock);
	return fd;
}

static void *echo(void *arg)
{
	int fd = receive_one();
	char buf[CHUNK];
	ssize_t n;

	if (fd < 0)
		return arg;
	for (;;) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0)
			n = -errno;
		if (n <= 0)
			break;
		n = tl_send_all(fd, buf, n);
		if (n < 0)
			break;
	}
	if (n < 0) {
		failed("server", "echo", n);
		slam(fd);
	} else {
		close(fd);
	}
	return arg;
}

/* One that waits at @opt.port, @plain: in TCP mode, at the next one. */
static int listener(bool plain)
{
	int fd, err, on = 1;
	struct tl_addr at;

	tl_addr_parse(&at, proto, opt.addr, opt.port + plain);
	fd = tl_socket(proto, 0);
	if (fd < 0) {
		failed("server", "socket", fd);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if ((plain && setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &on, sizeof(on))) ||
	    bind(fd, &at.sa, at.len) || listen(fd, 16)) {
		err = -errno;
		failed("server", "listen", err);
		close(fd);
		return -1;
	}
	return fd;
}

/* Takes one connection. Returns false when the server had better end. */
static bool take(int fd)
{
	int c;

	if (handover.put == MAX_CONNS)
		return false;
	c = accept(fd, NULL, NULL);
	if (c < 0) {
		failed("server", "accept", -errno);
		return tale.errors < MAX_ERRORS && !tale.bad;
	}
	hand_over(c);
	return true;
}

static bool await(struct pollfd *p, nfds_t n)
{
	bool ok;

	do
		ok = poll(p, n, -1) > 0;
	while (again(ok));
	return ok;
}

/* Until @stop ends. Returns false if nobody learned from @ready that the listeners are there. */
static bool accept_all(int ready, int stop)
{
	struct pollfd p[3] = { { .events = POLLIN }, { .events = POLLIN },
			       { .fd = stop, .events = POLLIN } };
	bool ok, go = true;
	unsigned int i;

	for (i = 0; i < 2; i++)
		p[i].fd = listener(i);
	do
		ok = write(ready, "r", 1) == 1;
	while (again(ok));
	while (ok && go && await(p, 3) && !p[2].revents)
		for (i = 0; i < 2 && go; i++)
			if (p[i].revents)
				go = take(p[i].fd);
	for (i = 0; i < 2; i++)
		if (p[i].fd >= 0)
			close(p[i].fd);
	return ok;
}

static int serve(int ready, int stop)
{
	pthread_t threads[MAX_CONNS];
	unsigned int i;
	bool ok;

	enter(opt.server_ns);
	for (i = 0; i < MAX_CONNS; i++)
		if (pthread_create(&threads[i], NULL, echo, NULL))
			return 2;
	if (opt.fail_server)
		fail_nth();
	ok = accept_all(ready, stop);
	if (opt.fail_server)
		tell_rest();
	hand_over(-1);
	for (i = 0; i < MAX_CONNS; i++)
		pthread_join(threads[i], NULL);
	return ok ? 0 : 2;
}

/* ---- client ---- */

static int read_all(int fd, char *buf, ssize_t len)
{
	while (len) {
		ssize_t n = read(fd, buf, len);

		if (n <= 0)
			return n ? -errno : -EIO;
		buf += n;
		len -= n;
	}
	return 0;
}

/* Bytes off .. off + len of stream @seed by splice(), so that pages are needed for them. */
static int spliced(int fd, u64 seed, u64 off, size_t len)
{
	char buf[CHUNK];
	size_t have = 0;
	int pipefd[2];
	int err = 0;

	if (pipe(pipefd))
		return -errno;
	while (have < len && !err) {
		ssize_t n = splice(fd, NULL, pipefd[1], NULL, len - have, 0);

		if (n > 0) {
			err = read_all(pipefd[0], buf, n);
			if (!err && tl_check(seed, off + have, buf, n) >= 0)
				err = -EBADMSG;
			have += n;
		} else {
			err = n ? -errno : 1;
		}
	}
	close(pipefd[0]);
	close(pipefd[1]);
	return err;
}

static int received(int fd, u64 seed, u64 off, size_t len)
{
	char buf[CHUNK];
	ssize_t n = tl_recv_all(fd, buf, len);

	if (n < 0)
		return n;
	if ((size_t)n < len)
		return 1;
	return tl_check(seed, off, buf, len) >= 0 ? -EBADMSG : 0;
}

/* Out of @buf as it lies there, as far as there is memory for that; all of it in any case. */
static int sent_in_place(int fd, const char *buf, size_t len)
{
	const int on = 1;
	ssize_t n = 0;

	if (!setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		n = send(fd, buf, len, MSG_ZEROCOPY | MSG_NOSIGNAL);
	if (n < 0 && errno != ENOBUFS)
		return -errno;
	n = n < 0 ? 0 : n;
	return tl_send_all(fd, buf + n, len - n);
}

/* Sends and takes back @opt.bytes. Returns 0, 1 for an early end, or -errno. */
static int to_and_fro(int fd, u64 seed, const char **what)
{
	char buf[CHUNK];
	int err;
	u64 off;

	for (off = 0; off < opt.bytes; off += CHUNK) {
		tl_fill(seed, off, buf, CHUNK);
		*what = "send";
		err = off ? tl_send_all(fd, buf, CHUNK) : sent_in_place(fd, buf, CHUNK);
		if (err < 0)
			return err;
		*what = "recv";
		err = off ? received(fd, seed, off, CHUNK) : spliced(fd, seed, off, CHUNK);
		if (err)
			return err;
	}
	return 0;
}

static int open_conn(const char *who, unsigned int port, int rcvbuf)
{
	struct tl_addr to;
	int fd;

	fd = tl_socket(proto, 0);
	if (fd < 0) {
		failed(who, "socket", fd);
		return fd;
	}
	if (rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)))
		failed(who, "setsockopt", -errno);
	tl_addr_parse(&to, proto, opt.addr, port);
	if (connect(fd, &to.sa, to.len)) {
		failed(who, "connect", -errno);
		close(fd);
		return -1;
	}
	return fd;
}

/* One connection to the end of its bytes; stays open. Returns its fd or -1. */
static int use_conn(const char *who, unsigned int port, int rcvbuf, enum tl_mode mode)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	const char *what = "";
	int fd, err;

	fd = open_conn(who, port, rcvbuf);
	if (fd < 0)
		return -1;
	err = to_and_fro(fd, port ^ rcvbuf, &what);
	tl_diag_get(fd, proto, &diag);
	if (err > 0)
		early_eof(who);
	else if (err)
		failed(who, what, err);
	if (err) {
		slam(fd);
		return -1;
	}
	tell(" %s=%s", who, tl_mode_name(diag.mode));
	if (opt.require_smc && diag.mode != mode) {
		tell("(%08x/%08x)", diag.reason, diag.peer_reason);
		tale.bad++;
	}
	return fd;
}

/* In order: our end first, then the peer's. */
static void end_conn(const char *who, int fd, bool plain)
{
	char c;
	ssize_t n;

	if (fd < 0)
		return;
	if (shutdown(fd, SHUT_WR)) {
		if (errno != ENOTCONN || opt.require_smc)
			failed(who, "shutdown", errno == ENOTCONN ? -ECONNRESET : -errno);
		slam(fd);
		return;
	}
	if (opt.fail_nth)
		tl_set_timeouts(fd, FIN_LOST_MS);
	n = recv(fd, &c, 1, 0);
	if (n < 0 && errno == EAGAIN && plain) {
		/* TCP has no other way when there is no memory for its FIN */
		tell(" %s.fin=lost", who);
		slam(fd);
		return;
	}
	if (n > 0)
		failed(who, "more", -EBADMSG);
	else if (n < 0)
		failed(who, "end", -errno);
	close(fd);
}

static void client(void)
{
	int first, second, third;

	enter(opt.client_ns);
	if (opt.fail_nth && !opt.fail_server)
		fail_nth();
	first = use_conn("first", opt.port, 0, TL_MODE_SMCR);
	second = use_conn("second", opt.port, opt.rcvbuf, TL_MODE_SMCR);
	third = use_conn("third", opt.port + 1, 0, TL_MODE_TCP);
	end_conn("third", third, true);
	end_conn("second", second, false);
	end_conn("first", first, false);
	if (opt.fail_nth && !opt.fail_server)
		tell_rest();
}

/* ---- both ---- */

static int options(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "server-ns", required_argument, NULL, 's' },
		{ "client-ns", required_argument, NULL, 'c' },
		{ "addr", required_argument, NULL, 'a' },
		{ "port", required_argument, NULL, 'p' },
		{ "family", required_argument, NULL, 'F' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "limit", required_argument, NULL, 'l' },
		{ "fail-nth", required_argument, NULL, 'n' },
		{ "fail-server", no_argument, NULL, 'f' },
		{ "require-smc", no_argument, NULL, 'r' },
		{}
	};
	int o;

	while ((o = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (o) {
		case 's':
			opt.server_ns = optarg;
			break;
		case 'c':
			opt.client_ns = optarg;
			break;
		case 'a':
			opt.addr = optarg;
			break;
		case 'p':
			opt.port = strtoul(optarg, NULL, 0);
			break;
		case 'F':
			proto = tl_proto_find(optarg);
			if (!proto)
				return -1;
			break;
		case 'b':
			opt.bytes = strtoul(optarg, NULL, 0);
			break;
		case 'l':
			opt.limit = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			opt.fail_nth = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			opt.fail_server = true;
			break;
		case 'r':
			opt.require_smc = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

/* Exit code of the server; its part of the story comes through @from. */
static int server_end(pid_t pid, int from)
{
	struct tale its = { .errors = 0 };
	int status;

	if (read(from, &its, sizeof(its)) == sizeof(its)) {
		tell("%s", its.text);
		tale.errors += its.errors;
		tale.bad += its.bad;
		tale.early_eof += its.early_eof;
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int ready[2], stop[2], story[2];
	char ok = 0;
	pid_t pid;
	int rc;

	proto = tl_proto_find("smc");
	if (options(argc, argv)) {
		fprintf(stderr, "usage: %s [OPTION...], see struct options\n", argv[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (pipe(ready) || pipe(stop) || pipe(story))
		return 2;
	pid = fork();
	if (pid < 0)
		return 2;
	signal(SIGALRM, out_of_time);
	alarm(pid ? opt.limit : opt.limit + 10);
	if (!pid) {
		close(stop[1]);
		rc = serve(ready[1], stop[0]);
		if (write(story[1], &tale, sizeof(tale)) != sizeof(tale))
			rc = 2;
		_exit(rc);
	}
	close(story[1]);
	close(stop[0]);
	close(ready[1]);
	if (read(ready[0], &ok, 1) == 1 && ok == 'r')
		client();
	close(stop[1]);
	rc = server_end(pid, story[0]);
	/* the end of a stream that came too early is an error that nobody saw */
	if (tale.early_eof && !tale.errors)
		tale.bad++;
	if (opt.require_smc && (tale.errors || tale.early_eof))
		tale.bad++;
	printf("%s:%s\n", rc || tale.bad ? "bad" : "good", tale.text);
	return rc ? rc : !!tale.bad;
}
