// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three connections with verified bytes between a server and a client of this
 * program, while fault injection makes the kernel fail: a first contact, a connection
 * that needs a region of its own, and one with a listener in TCP mode. Each side must end
 * in a way that applications can handle: with all bytes, or with an error that they expect,
 * within a time limit. The program prints one line with the result.
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
 * @client_ns: the same for the client
 * @addr: the server's address
 * @port: the server's port; the listener in TCP mode has the next one
 * @bytes: bytes of each connection and direction
 * @rcvbuf: SO_RCVBUF of the second connection, so that it needs a region of its own
 * @limit: seconds after which a side counts as hanging
 * @fail_nth: number of the allocation, in the calls of one side, that fails; 0: none
 * @fail_server: that side is the accepting thread of the server, not the client
 * @require_smc: only success over SMC passes
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
 * struct report - what happened on one side, for the line that is printed
 * @text: "OPERATION=RESULT", separated by spaces
 * @errors: operations that failed with an errno that applications expect
 * @bad: operations that failed in another way
 * @early_eof: ends of stream before all bytes; valid only with an error at the peer
 * @lock: for the threads of the server
 */
struct report {
	char text[512];
	unsigned int errors;
	unsigned int bad;
	unsigned int early_eof;
	pthread_mutex_t lock;
};

static struct report report = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __printf(1, 2) report_add(const char *fmt, ...)
{
	size_t n = strlen(report.text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(report.text + n, sizeof(report.text) - n, fmt, ap);
	va_end(ap);
}

/* Errors that an application expects when a host is out of memory or lost its peer. */
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
	case EFAULT:		/* fail-nth also makes copies from and to user space fail */
	case EADDRINUSE:	/* bind() returns this if it has no memory for the port */
		return opt.fail_nth;
	default:
		return false;
	}
}

/* Operation @what of @label failed with @err (negative errno). */
static void report_failed(const char *label, const char *what, int err)
{
	pthread_mutex_lock(&report.lock);
	report_add(" %s.%s=%s", label, what, tl_errno_name(-err));
	if (known_error(-err))
		report.errors++;
	else
		report.bad++;
	pthread_mutex_unlock(&report.lock);
}

static void report_early_eof(const char *label)
{
	pthread_mutex_lock(&report.lock);
	report_add(" %s.recv=EOF", label);
	report.early_eof++;
	pthread_mutex_unlock(&report.lock);
}

static void alarm_handler(int sig)
{
	static const char text[] = "bad: time limit\n";

	(void)sig;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static void netns_enter(const char *ns)
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

/* From here on the kernel counts the allocations of this thread's calls (failslab). */
static void failslab_start(void)
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

/*
 * Report how many allocations there were if they were fewer than fail_nth. A script that tries
 * one number after the other is then done.
 */
static void report_allocations(void)
{
	char text[16] = "";
	unsigned int left;
	int fd;

	fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 || write(fd, "0", 1) != 1) {
		/* the allocation that fails may be in this call */
		if (errno != ENOMEM && errno != EFAULT) {
			perror("fail-nth");
			exit(2);
		}
	}
	if (fd >= 0)
		close(fd);
	left = atoi(text);
	pthread_mutex_lock(&report.lock);
	if (left)
		report_add(" allocations=%u", opt.fail_nth - left);
	pthread_mutex_unlock(&report.lock);
}

/* Calls on other descriptors than sockets may fail, too, but only once: call them again. */
static bool call_again(bool ok)
{
	static bool before;
	bool second = !ok && opt.fail_server && !before &&
		      (errno == ENOMEM || errno == EAGAIN || errno == EFAULT);

	before |= second;
	return second;
}

/* Send RST rather than FIN: the peer must not take our failure for the end of the stream. */
static void conn_reset(int fd)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

/* ---- server ---- */

/**
 * struct handover - connections from the accepting thread to the echoing threads
 * @lock: protects all members
 * @more: signalled when @put or @over changes
 * @fds: connections
 * @put: number of connections in @fds
 * @got: number of connections that threads have taken
 * @over: no connection will follow
 *
 * The threads start before fault injection begins, so that pthread_create() does not fail.
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

static void handover_put(int fd)
{
	pthread_mutex_lock(&handover.lock);
	if (fd >= 0)
		handover.fds[handover.put++] = fd;
	else
		handover.over = true;
	pthread_cond_broadcast(&handover.more);
	pthread_mutex_unlock(&handover.lock);
}

/* Returns a connection, or -1 if no connection will follow. */
static int handover_take(void)
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

static void *echo_thread(void *arg)
{
	int fd = handover_take();
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
		report_failed("server", "echo", n);
		conn_reset(fd);
	} else {
		close(fd);
	}
	return arg;
}

/* Open a listener on @opt.port; @plain: one in TCP mode, on the next port. */
static int listener_open(bool plain)
{
	int fd, err, on = 1;
	struct tl_addr at;

	tl_addr_parse(&at, proto, opt.addr, opt.port + plain);
	fd = tl_socket(proto, 0);
	if (fd < 0) {
		report_failed("server", "socket", fd);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if ((plain && setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &on, sizeof(on))) ||
	    bind(fd, &at.sa, at.len) || listen(fd, 16)) {
		err = -errno;
		report_failed("server", "listen", err);
		close(fd);
		return -1;
	}
	return fd;
}

/* Accept one connection. Returns false if the server must end. */
static bool conn_accept(int fd)
{
	int c;

	if (handover.put == MAX_CONNS)
		return false;
	c = accept(fd, NULL, NULL);
	if (c < 0) {
		report_failed("server", "accept", -errno);
		return report.errors < MAX_ERRORS && !report.bad;
	}
	handover_put(c);
	return true;
}

static bool poll_wait(struct pollfd *p, nfds_t n)
{
	bool ok;

	do
		ok = poll(p, n, -1) > 0;
	while (call_again(ok));
	return ok;
}

/* Accept until @stop is closed. Returns false if writing to @ready failed. */
static bool accept_all(int ready, int stop)
{
	struct pollfd p[3] = { { .events = POLLIN }, { .events = POLLIN },
			       { .fd = stop, .events = POLLIN } };
	bool ok, go = true;
	unsigned int i;

	for (i = 0; i < 2; i++)
		p[i].fd = listener_open(i);
	do
		ok = write(ready, "r", 1) == 1;
	while (call_again(ok));
	while (ok && go && poll_wait(p, 3) && !p[2].revents)
		for (i = 0; i < 2 && go; i++)
			if (p[i].revents)
				go = conn_accept(p[i].fd);
	for (i = 0; i < 2; i++)
		if (p[i].fd >= 0)
			close(p[i].fd);
	return ok;
}

static int server_run(int ready, int stop)
{
	pthread_t threads[MAX_CONNS];
	unsigned int i;
	bool ok;

	netns_enter(opt.server_ns);
	for (i = 0; i < MAX_CONNS; i++)
		if (pthread_create(&threads[i], NULL, echo_thread, NULL))
			return 2;
	if (opt.fail_server)
		failslab_start();
	ok = accept_all(ready, stop);
	if (opt.fail_server)
		report_allocations();
	handover_put(-1);
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

/* Receive bytes off .. off + len of stream @seed with splice(), which needs pages. */
static int recv_spliced(int fd, u64 seed, u64 off, size_t len)
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

static int recv_checked(int fd, u64 seed, u64 off, size_t len)
{
	char buf[CHUNK];
	ssize_t n = tl_recv_all(fd, buf, len);

	if (n < 0)
		return n;
	if ((size_t)n < len)
		return 1;
	return tl_check(seed, off, buf, len) >= 0 ? -EBADMSG : 0;
}

/* Send @buf, with MSG_ZEROCOPY as far as there is memory for that and the rest copied. */
static int send_zerocopy(int fd, const char *buf, size_t len)
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

/* Send @opt.bytes and receive them back. Returns 0, 1 at an early end of stream, or -errno. */
static int conn_exchange(int fd, u64 seed, const char **what)
{
	char buf[CHUNK];
	int err;
	u64 off;

	for (off = 0; off < opt.bytes; off += CHUNK) {
		tl_fill(seed, off, buf, CHUNK);
		*what = "send";
		err = off ? tl_send_all(fd, buf, CHUNK) : send_zerocopy(fd, buf, CHUNK);
		if (err < 0)
			return err;
		*what = "recv";
		err = off ? recv_checked(fd, seed, off, CHUNK) : recv_spliced(fd, seed, off, CHUNK);
		if (err)
			return err;
	}
	return 0;
}

static int conn_open(const char *label, unsigned int port, int rcvbuf)
{
	struct tl_addr to;
	int fd;

	fd = tl_socket(proto, 0);
	if (fd < 0) {
		report_failed(label, "socket", fd);
		return fd;
	}
	if (rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)))
		report_failed(label, "setsockopt", -errno);
	tl_addr_parse(&to, proto, opt.addr, port);
	if (connect(fd, &to.sa, to.len)) {
		report_failed(label, "connect", -errno);
		close(fd);
		return -1;
	}
	return fd;
}

/* Open a connection and exchange all bytes. Returns its fd, which stays open, or -1. */
static int conn_use(const char *label, unsigned int port, int rcvbuf, enum tl_mode mode)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	const char *what = "";
	int fd, err;

	fd = conn_open(label, port, rcvbuf);
	if (fd < 0)
		return -1;
	err = conn_exchange(fd, port ^ rcvbuf, &what);
	tl_diag_get(fd, proto, &diag);
	if (err > 0)
		report_early_eof(label);
	else if (err)
		report_failed(label, what, err);
	if (err) {
		conn_reset(fd);
		return -1;
	}
	report_add(" %s=%s", label, tl_mode_name(diag.mode));
	if (opt.require_smc && diag.mode != mode) {
		report_add("(%08x/%08x)", diag.reason, diag.peer_reason);
		report.bad++;
	}
	return fd;
}

/* Close a connection in order: shut down our direction, then wait for the peer's end. */
static void conn_end(const char *label, int fd, bool plain)
{
	char c;
	ssize_t n;

	if (fd < 0)
		return;
	if (shutdown(fd, SHUT_WR)) {
		if (errno != ENOTCONN || opt.require_smc)
			report_failed(label, "shutdown", errno == ENOTCONN ? -ECONNRESET : -errno);
		conn_reset(fd);
		return;
	}
	if (opt.fail_nth)
		tl_set_timeouts(fd, FIN_LOST_MS);
	n = recv(fd, &c, 1, 0);
	if (n < 0 && errno == EAGAIN && plain) {
		/* TCP drops the FIN if there is no memory for it */
		report_add(" %s.fin=lost", label);
		conn_reset(fd);
		return;
	}
	if (n > 0)
		report_failed(label, "more", -EBADMSG);
	else if (n < 0)
		report_failed(label, "end", -errno);
	close(fd);
}

static void client_run(void)
{
	int first, second, third;

	netns_enter(opt.client_ns);
	if (opt.fail_nth && !opt.fail_server)
		failslab_start();
	first = conn_use("first", opt.port, 0, TL_MODE_SMCR);
	second = conn_use("second", opt.port, opt.rcvbuf, TL_MODE_SMCR);
	third = conn_use("third", opt.port + 1, 0, TL_MODE_TCP);
	conn_end("third", third, true);
	conn_end("second", second, false);
	conn_end("first", first, false);
	if (opt.fail_nth && !opt.fail_server)
		report_allocations();
}

/* ---- both ---- */

static int options_parse(int argc, char **argv)
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

/* Returns the exit code of the server. Adds the server's report, read from @from, to ours. */
static int server_wait(pid_t pid, int from)
{
	struct report theirs = { .errors = 0 };
	int status;

	if (read(from, &theirs, sizeof(theirs)) == sizeof(theirs)) {
		report_add("%s", theirs.text);
		report.errors += theirs.errors;
		report.bad += theirs.bad;
		report.early_eof += theirs.early_eof;
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int ready[2], stop[2], report_pipe[2];
	char ok = 0;
	pid_t pid;
	int rc;

	proto = tl_proto_find("smc");
	if (options_parse(argc, argv)) {
		fprintf(stderr, "usage: %s [OPTION...], see struct options\n", argv[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (pipe(ready) || pipe(stop) || pipe(report_pipe))
		return 2;
	pid = fork();
	if (pid < 0)
		return 2;
	signal(SIGALRM, alarm_handler);
	alarm(pid ? opt.limit : opt.limit + 10);
	if (!pid) {
		close(stop[1]);
		rc = server_run(ready[1], stop[0]);
		if (write(report_pipe[1], &report, sizeof(report)) != sizeof(report))
			rc = 2;
		_exit(rc);
	}
	close(report_pipe[1]);
	close(stop[0]);
	close(ready[1]);
	if (read(ready[0], &ok, 1) == 1 && ok == 'r')
		client_run();
	close(stop[1]);
	rc = server_wait(pid, report_pipe[0]);
	/* an early end of stream without an error at either side is lost data */
	if (report.early_eof && !report.errors)
		report.bad++;
	if (opt.require_smc && (report.errors || report.early_eof))
		report.bad++;
	printf("%s:%s\n", rc || report.bad ? "bad" : "good", report.text);
	return rc ? rc : !!report.bad;
}
