// SPDX-License-Identifier: GPL-2.0-only
/*
 * The application on the host under attack. It reads whatever comes on its connections, notes
 * how each ends, and tells whoever asks on a TCP port of its own, or makes it connect.
 * Connections are named by the port of the client's carrier.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"

#define MAX_CONNS	1024
#define THREAD_STACK	(128U << 10)
#define LINE		128

/**
 * struct seen - a connection of the application
 * @fd: socket, -1 when closed
 * @port: its name
 * @r: what was seen
 * @close: somebody wants it closed
 */
struct seen {
	int fd;
	unsigned int port;
	struct el_report r;
	bool close;
};

/**
 * struct attempt - the latest order to connect
 * @p: family
 * @to: where
 * @busy: nothing has become of it yet
 * @o: what has
 */
struct attempt {
	const struct tl_proto *p;
	struct tl_addr to;
	bool busy;
	struct el_outcome o;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seen conns[MAX_CONNS];
static unsigned int nr_conns;
static struct attempt attempt;

/* ---- the application ---- */

static void judge_bytes(struct seen *c, u64 off, const u8 *buf, size_t len)
{
	u8 want[4096];

	tl_fill(c->port, off, want, len);
	for (size_t i = 0; i < len; i++) {
		if (buf[i] == want[i])
			c->r.good++;
		else if (!buf[i])
			c->r.zero++;
		else
			c->r.alien++;
	}
}

static int so_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

/* One look at the connection; false when there is nothing more to be seen. */
static bool look(struct seen *c, u64 *off)
{
	u8 buf[4096];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	int err = n < 0 ? errno : 0;

	if (err == EAGAIN || err == EINTR)
		return true;
	/* after the end an error may still come */
	if (!n)
		err = so_error(c->fd);
	pthread_mutex_lock(&lock);
	if (n > 0) {
		judge_bytes(c, *off, buf, n);
		*off += n;
	} else if (err) {
		c->r.state = EL_ERROR;
		c->r.err = err;
	} else {
		c->r.state = EL_EOF;
	}
	pthread_mutex_unlock(&lock);
	return !err;
}

static void *conn_thread(void *arg)
{
	struct seen *c = arg;
	bool more = true;
	u64 off = 0;

	while (!__atomic_load_n(&c->close, __ATOMIC_ACQUIRE)) {
		struct pollfd p = { .fd = more ? c->fd : -1, .events = POLLIN };

		poll(&p, 1, 20);
		if (more)
			more = look(c, &off);
		if (c->r.state == EL_EOF)
			tl_sleep_ms(20);
	}
	return NULL;
}

/* One more connection, NULL if there are too many. */
static struct seen *note_conn(int fd, unsigned int name)
{
	struct seen *c;

	pthread_mutex_lock(&lock);
	c = nr_conns < MAX_CONNS ? &conns[nr_conns] : NULL;
	if (c) {
		*c = (struct seen){ .fd = fd, .port = name };
		c->r.state = EL_LIVE;
		nr_conns++;
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static int serve(int fd, const pthread_attr_t *attr)
{
	struct tl_addr peer = { .len = sizeof(peer.ss) };
	struct seen *c = NULL;
	pthread_t thread;

	if (!getpeername(fd, &peer.sa, &peer.len))
		c = note_conn(fd, tl_addr_port(&peer));
	return c && !pthread_create(&thread, attr, conn_thread, c) ? 0 : -ENOSPC;
}

/* ---- connecting by order ---- */

static void conclude(const struct el_outcome *o)
{
	pthread_mutex_lock(&lock);
	attempt.o = *o;
	attempt.busy = false;
	pthread_mutex_unlock(&lock);
}

/* Makes the connection, and is its reader. */
static void *connect_thread(void *arg)
{
	struct tl_addr own = { .len = sizeof(own.ss) };
	struct el_outcome o = { .err = 0 };
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	struct seen *c = NULL;
	int fd;

	(void)arg;
	tl_forget_bad_peers();
	fd = tl_connect(attempt.p, NULL, &attempt.to);
	if (fd < 0) {
		o.err = -fd;
	} else if (tl_diag_get(fd, attempt.p, &diag) || getsockname(fd, &own.sa, &own.len)) {
		o.err = EBADFD;
	} else {
		o.smc = diag.mode == TL_MODE_SMCR;
		o.reason = diag.reason;
	}
	if (o.smc)
		c = note_conn(fd, el_name_served(tl_addr_port(&own)));
	conclude(&o);
	if (c)
		return conn_thread(c);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Connects, and that is all: whatever comes of it. */
static void *knock_thread(void *arg)
{
	struct tl_addr to = *(struct tl_addr *)arg;
	int fd;

	free(arg);
	tl_forget_bad_peers();
	fd = tl_connect(attempt.p, NULL, &to);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return err;
}

/* 0, or an errno: any number of them. */
static int begin_knock(const char *host, unsigned int port)
{
	struct tl_addr *to = malloc(sizeof(*to));
	int err = to ? EINVAL : ENOMEM;

	if (to && !tl_addr_parse(to, attempt.p, host, port))
		err = start(knock_thread, to);
	if (err)
		free(to);
	return err;
}

/* 0, or an errno: one at a time. */
static int begin_connect(const char *host, unsigned int port)
{
	int err = EBUSY;

	pthread_mutex_lock(&lock);
	if (!attempt.busy) {
		err = tl_addr_parse(&attempt.to, attempt.p, host, port) ? EINVAL : 0;
		attempt.busy = !err;
	}
	pthread_mutex_unlock(&lock);
	if (err)
		return err;
	err = start(connect_thread, NULL);
	if (err)
		conclude(&(struct el_outcome){ .err = err });
	return err;
}

/* ---- answering questions ---- */

/* Ports are used again: the latest one counts. */
static struct seen *find(unsigned int port)
{
	for (unsigned int i = nr_conns; i > 0; i--) {
		if (conns[i - 1].port == port)
			return &conns[i - 1];
	}
	return NULL;
}

static void tell_conn(unsigned int port, u64 bytes, unsigned int timeout_ms, char *out)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;
	struct el_report r;

	for (;;) {
		struct seen *c;

		pthread_mutex_lock(&lock);
		c = find(port);
		r = c ? c->r : (struct el_report){ .state = EL_NONE };
		pthread_mutex_unlock(&lock);
		if (r.state == EL_ERROR || (bytes && r.good + r.zero + r.alien >= bytes) ||
		    tl_now_ns() >= until)
			break;
		tl_sleep_ms(5);
	}
	snprintf(out, LINE, "%d %d %llu %llu %llu\n", r.state, r.err, (unsigned long long)r.good,
		 (unsigned long long)r.zero, (unsigned long long)r.alien);
}

static void tell_outcome(unsigned int timeout_ms, char *out)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;
	struct el_outcome o;
	bool busy;

	for (;;) {
		pthread_mutex_lock(&lock);
		busy = attempt.busy;
		o = attempt.o;
		pthread_mutex_unlock(&lock);
		if (!busy || tl_now_ns() >= until)
			break;
		tl_sleep_ms(5);
	}
	snprintf(out, LINE, "%d %d %u\n", busy ? EINPROGRESS : o.err, o.smc, o.reason);
}

/* What the module holds of one kind of RDMA resource. */
static u64 resources(const char *kind)
{
	char line[4 * LINE];
	u64 n = 0;
	FILE *f;

	snprintf(line, sizeof(line), "/usr/sbin/rdma resource show %s", kind);
	f = popen(line, "re");
	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "comm [smc]");
	if (f)
		pclose(f);
	return n;
}

static u64 counter(const char *name)
{
	FILE *f = fopen("/proc/net/smc_stat", "re");
	unsigned long long value, found = 0;
	char line[LINE], key[LINE];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%127s %llu", key, &value) == 2 && !strcmp(key, name))
			found = value;
	}
	if (f)
		fclose(f);
	return found;
}

/* As many of the bytes as the connection takes at once. */
static long send_some(unsigned int port, size_t bytes)
{
	struct seen *c = find(port);
	u8 buf[4096] = { 0x77 };
	long done = 0;

	while (c && (size_t)done < bytes) {
		size_t n = bytes - done < sizeof(buf) ? bytes - done : sizeof(buf);
		ssize_t sent = send(c->fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return done ? done : -errno;
		done += sent;
	}
	return c ? done : -ENOENT;
}

/* How long close() took, in ms. */
static long close_one(unsigned int port)
{
	struct seen *c = find(port);
	u64 t0;

	if (!c || c->fd < 0)
		return -ENOENT;
	__atomic_store_n(&c->close, true, __ATOMIC_RELEASE);
	tl_sleep_ms(60);	/* the thread lets go of the descriptor */
	t0 = tl_now_ns();
	close(c->fd);
	c->fd = -1;
	return (tl_now_ns() - t0) / TL_NSEC_PER_MSEC;
}

static void answer(const char *line, char *out)
{
	unsigned int port, timeout_ms;
	unsigned long long bytes;
	char name[LINE];

	if (sscanf(line, "conn %u %llu %u", &port, &bytes, &timeout_ms) == 3)
		tell_conn(port, bytes, timeout_ms, out);
	else if (sscanf(line, "connect %127s %u", name, &port) == 2)
		snprintf(out, LINE, "%d\n", begin_connect(name, port));
	else if (sscanf(line, "knock %127s %u", name, &port) == 2)
		snprintf(out, LINE, "%d\n", begin_knock(name, port));
	else if (sscanf(line, "outcome %u", &timeout_ms) == 1)
		tell_outcome(timeout_ms, out);
	else if (sscanf(line, "held %127s", name) == 1)
		snprintf(out, LINE, "%llu\n", (unsigned long long)resources(name));
	else if (sscanf(line, "stat %127s", name) == 1)
		snprintf(out, LINE, "%llu\n", (unsigned long long)counter(name));
	else if (sscanf(line, "send %u %llu", &port, &bytes) == 2)
		snprintf(out, LINE, "%ld\n", send_some(port, bytes));
	else if (sscanf(line, "close %u", &port) == 1)
		snprintf(out, LINE, "%ld\n", close_one(port));
	else
		snprintf(out, LINE, "?\n");
}

static void *control_thread(void *arg)
{
	int listener = *(int *)arg;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");
		char line[LINE], out[LINE];

		while (f && fgets(line, sizeof(line), f)) {
			answer(line, out);
			if (fputs(out, f) < 0 || fflush(f))
				break;
		}
		if (f)
			fclose(f);
	}
	return NULL;
}

/**
 * el_witness_run() - be the application, for ever
 * @p: family of the attacked sockets
 * @host: address to bind, NULL for any
 * @port: of the attacked sockets; questions come to the next one
 *
 * Return: a negative errno.
 */
int el_witness_run(const struct tl_proto *p, const char *host, unsigned int port)
{
	const struct tl_proto *tcp = tl_proto_find("inet");
	struct tl_addr at, control_at;
	int listener, control;
	pthread_attr_t attr;
	pthread_t thread;

	if (tl_addr_parse(&at, p, host, port) || tl_addr_parse(&control_at, tcp, host, port + 1))
		return -EINVAL;
	listener = tl_listen(p, &at, 64);
	control = tl_listen(tcp, &control_at, 4);
	attempt.p = p;
	if (listener < 0 || control < 0)
		return listener < 0 ? listener : control;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	if (pthread_create(&thread, &attr, control_thread, &control))
		return -EAGAIN;
	printf("# witness on port %u\n", port);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return -errno;
		if (fd >= 0 && serve(fd, &attr))
			close(fd);
	}
}

/* ---- asking ---- */

int el_witness_connect(const struct evil_target *t, unsigned int port)
{
	struct tl_addr to = t->to;

	tl_addr_set_port(&to, port);
	return tl_connect(t->tcp, NULL, &to);
}

/* One line there, one line back. */
static bool ask(int witness, char *line)
{
	size_t len = 0;

	if (tl_send_all(witness, line, strlen(line)) < 0)
		return false;
	while (len < LINE - 1 && recv(witness, line + len, 1, 0) == 1) {
		if (line[len++] == '\n') {
			line[len] = '\0';
			return true;
		}
	}
	return false;
}

/**
 * el_ask() - what has the application seen?
 * @witness: connection to it
 * @port: which connection
 * @bytes: ask again until it has read so many, 0: until it has an error
 * @timeout_ms: at most so long
 * @r: answer
 *
 * Return: false if the witness is gone.
 */
bool el_ask(int witness, unsigned int port, u64 bytes, unsigned int timeout_ms,
	    struct el_report *r)
{
	unsigned long long good, zero, alien;
	char line[LINE];
	int state;

	snprintf(line, sizeof(line), "conn %u %llu %u\n", port, (unsigned long long)bytes,
		 timeout_ms);
	if (!ask(witness, line) ||
	    sscanf(line, "%d %d %llu %llu %llu", &state, &r->err, &good, &zero, &alien) != 5) {
		ktap_note("the witness is gone");
		return false;
	}
	r->state = state;
	r->good = good;
	r->zero = zero;
	r->alien = alien;
	return true;
}

u64 el_stat(int witness, const char *name)
{
	char line[LINE];

	snprintf(line, sizeof(line), "stat %s\n", name);
	return ask(witness, line) ? strtoull(line, NULL, 10) : 0;
}

/* How many queue pairs, memory regions, ... its module has: @kind as rdma(8) calls them. */
u64 el_held(int witness, const char *kind)
{
	char line[LINE];

	snprintf(line, sizeof(line), "held %s\n", kind);
	return ask(witness, line) ? strtoull(line, NULL, 10) : 0;
}

/**
 * el_tell_connect() - the application is to connect to us
 * @witness: connection to it
 * @at: our listener
 * @knock: whatever comes of it; else el_outcome() tells, for one at a time
 *
 * It begins at once.
 *
 * Return: 0 or a negative errno.
 */
int el_tell_connect(int witness, const struct tl_addr *at, bool knock)
{
	char line[LINE], host[INET_ADDRSTRLEN];

	if (!inet_ntop(AF_INET, &at->in.sin_addr, host, sizeof(host)))
		return -errno;
	snprintf(line, sizeof(line), "%s %s %u\n", knock ? "knock" : "connect", host,
		 tl_addr_port(at));
	return ask(witness, line) ? -(int)strtol(line, NULL, 10) : -EIO;
}

/**
 * el_outcome() - what has become of the connection that was ordered?
 * @witness: connection to it
 * @timeout_ms: wait so long for an end
 * @o: result; %EINPROGRESS: none yet
 *
 * Return: false if the witness is gone.
 */
bool el_outcome(int witness, unsigned int timeout_ms, struct el_outcome *o)
{
	char line[LINE];
	int smc;

	snprintf(line, sizeof(line), "outcome %u\n", timeout_ms);
	if (!ask(witness, line) || sscanf(line, "%d %d %u", &o->err, &smc, &o->reason) != 3) {
		ktap_note("the witness is gone");
		return false;
	}
	o->smc = smc;
	return true;
}

/* How many of @bytes the application could send at once, or its negative errno. */
long el_tell_send(int witness, unsigned int port, size_t bytes)
{
	char line[LINE];

	snprintf(line, sizeof(line), "send %u %zu\n", port, bytes);
	return ask(witness, line) ? strtol(line, NULL, 10) : -EIO;
}

/* How many ms the application's close() took, or a negative errno. */
long el_tell_close(int witness, unsigned int port)
{
	char line[LINE];

	snprintf(line, sizeof(line), "close %u\n", port);
	return ask(witness, line) ? strtol(line, NULL, 10) : -EIO;
}
