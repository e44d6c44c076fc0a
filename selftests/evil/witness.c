// SPDX-License-Identifier: GPL-2.0-only
/*
 * The application on the host under attack. It reads from its connections and records how
 * each ends. On a TCP port of its own it answers requests for that record, and requests to
 * connect, send and close. The name of an accepted connection is the TCP port of its client, that
 * of a requested one a number in the request.
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

#define MAX_CONNS	2048
#define NOTICE_MS	60	/* until a thread uses its descriptor no more */
#define THREAD_STACK	(128U << 10)
#define LINE		128

/**
 * struct seen - a connection of the application
 * @fd: socket, -1 when closed
 * @port: name of the connection
 * @r: record
 * @close: the reading thread must stop, because the connection is being closed
 */
struct seen {
	int fd;
	unsigned int port;
	struct el_report r;
	bool close;
};

/**
 * struct attempt - the latest request to connect
 * @p: socket family
 * @to: address
 * @name: name of the connection
 * @busy: the attempt has not ended
 * @o: result
 */
struct attempt {
	const struct tl_proto *p;
	struct tl_addr to;
	unsigned int name;
	bool busy;
	struct el_outcome o;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seen conns[MAX_CONNS];
static unsigned int nr_conns;
static struct attempt attempt;

/* ---- the application ---- */

static void conn_count_bytes(struct seen *c, u64 off, const u8 *buf, size_t len)
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

static int socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

/* Read once from the connection. Returns false if it has failed. */
static bool conn_check(struct seen *c, u64 *off)
{
	u8 buf[4096];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	int err = n < 0 ? errno : 0;

	if (err == EAGAIN || err == EINTR)
		return true;
	/* an error may come after the end of the stream */
	if (!n)
		err = socket_error(c->fd);
	pthread_mutex_lock(&lock);
	if (n > 0) {
		conn_count_bytes(c, *off, buf, n);
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
			more = conn_check(c, &off);
		if (c->r.state == EL_EOF)
			tl_sleep_ms(20);
	}
	return NULL;
}

/* Find a connection by its name. */
static struct seen *conn_find(unsigned int port)
{
	for (unsigned int i = nr_conns; i > 0; i--) {
		if (conns[i - 1].port == port)
			return &conns[i - 1];
	}
	return NULL;
}

/*
 * Add a connection. Returns NULL if there are too many, or if there was one of that name: requests
 * that come before this one is added would be answered with the record of the other one.
 */
static struct seen *conn_add(int fd, unsigned int name)
{
	struct seen *c;
	bool known;

	pthread_mutex_lock(&lock);
	known = conn_find(name);
	c = !known && nr_conns < MAX_CONNS ? &conns[nr_conns] : NULL;
	if (c) {
		*c = (struct seen){ .fd = fd, .port = name };
		c->r.state = EL_LIVE;
		nr_conns++;
	}
	pthread_mutex_unlock(&lock);
	if (!c)
		printf("# connection %u: %s\n", name, known ? "name is not new" : "one too many");
	return c;
}

static int conn_start(int fd, const pthread_attr_t *attr)
{
	struct tl_addr peer = { .len = sizeof(peer.ss) };
	struct seen *c = NULL;
	pthread_t thread;

	if (!getpeername(fd, &peer.sa, &peer.len))
		c = conn_add(fd, tl_addr_port(&peer));
	return c && !pthread_create(&thread, attr, conn_thread, c) ? 0 : -ENOSPC;
}

/* ---- connecting on request ---- */

static void attempt_finish(const struct el_outcome *o)
{
	pthread_mutex_lock(&lock);
	attempt.o = *o;
	attempt.busy = false;
	pthread_mutex_unlock(&lock);
}

/* Make the connection, then read from it. */
static void *connect_thread(void *arg)
{
	struct el_outcome o = { .err = 0 };
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	struct seen *c = NULL;
	int fd;

	(void)arg;
	tl_forget_bad_peers();
	fd = tl_connect(attempt.p, NULL, &attempt.to);
	if (fd < 0) {
		o.err = -fd;
	} else if (tl_diag_get(fd, attempt.p, &diag)) {
		o.err = EBADFD;
	} else {
		o.smc = diag.mode == TL_MODE_SMCR;
		o.reason = diag.reason;
	}
	if (o.smc)
		c = conn_add(fd, attempt.name);
	attempt_finish(&o);
	if (c)
		return conn_thread(c);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Connect and close, and ignore the result. */
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

static int thread_start(void *(*fn)(void *), void *arg)
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

/* Start a knock; any number may run at a time. Returns 0 or an errno. */
static int knock_start(const char *host, unsigned int port)
{
	struct tl_addr *to = malloc(sizeof(*to));
	int err = to ? EINVAL : ENOMEM;

	if (to && !tl_addr_parse(to, attempt.p, host, port))
		err = thread_start(knock_thread, to);
	if (err)
		free(to);
	return err;
}

/* Start an attempt; only one may run at a time. Returns 0 or an errno. */
static int attempt_start(const char *host, unsigned int port, unsigned int name)
{
	int err = EBUSY;

	pthread_mutex_lock(&lock);
	if (!attempt.busy) {
		err = tl_addr_parse(&attempt.to, attempt.p, host, port) ? EINVAL : 0;
		attempt.name = name;
		attempt.busy = !err;
	}
	pthread_mutex_unlock(&lock);
	if (err)
		return err;
	err = thread_start(connect_thread, NULL);
	if (err)
		attempt_finish(&(struct el_outcome){ .err = err });
	return err;
}

/* ---- answering requests ---- */

static void answer_conn(unsigned int port, u64 bytes, unsigned int timeout_ms, char *out)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;
	struct el_report r;

	for (;;) {
		struct seen *c;

		pthread_mutex_lock(&lock);
		c = conn_find(port);
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

static void answer_outcome(unsigned int timeout_ms, char *out)
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

/* Count the module's RDMA resources of one kind. */
static u64 resources_count(const char *kind)
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

static u64 counter_read(const char *name)
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

/* Send as many of @bytes as the connection takes at once. */
static long conn_send(unsigned int port, size_t bytes)
{
	struct seen *c = conn_find(port);
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

/* Close a connection. Returns the duration of close() in ms, or a negative errno. */
static long conn_close(unsigned int port)
{
	struct seen *c = conn_find(port);
	u64 t0;

	if (!c || c->fd < 0)
		return -ENOENT;
	__atomic_store_n(&c->close, true, __ATOMIC_RELEASE);
	tl_sleep_ms(NOTICE_MS);
	t0 = tl_now_ns();
	close(c->fd);
	c->fd = -1;
	return (tl_now_ns() - t0) / TL_NSEC_PER_MSEC;
}

/* Close all connections that have failed. Returns how many. */
static unsigned int failed_close(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr_conns; i++) {
		if (conns[i].r.state == EL_ERROR && conns[i].fd >= 0)
			__atomic_store_n(&conns[i].close, true, __ATOMIC_RELEASE);
	}
	tl_sleep_ms(NOTICE_MS);
	for (i = 0; i < nr_conns; i++) {
		if (!conns[i].close || conns[i].fd < 0)
			continue;
		close(conns[i].fd);
		conns[i].fd = -1;
		n++;
	}
	return n;
}

/* Set a sysctl of SMC. Returns the old value, or a negative errno. */
static long sysctl_set(const char *name, long value)
{
	char path[2 * LINE];
	long old = -ENODATA;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/smc/%s", name);
	f = fopen(path, "r+e");
	if (!f)
		return -errno;
	if (fscanf(f, "%ld", &old) == 1) {
		rewind(f);
		fprintf(f, "%ld\n", value);
	}
	return fclose(f) ? -errno : old;
}

static void request_answer(const char *line, char *out)
{
	unsigned int port, nr, timeout_ms;
	unsigned long long bytes;
	char name[LINE];
	long value;

	if (sscanf(line, "conn %u %llu %u", &port, &bytes, &timeout_ms) == 3)
		answer_conn(port, bytes, timeout_ms, out);
	else if (sscanf(line, "connect %127s %u %u", name, &port, &nr) == 3)
		snprintf(out, LINE, "%d\n", attempt_start(name, port, nr));
	else if (sscanf(line, "knock %127s %u", name, &port) == 2)
		snprintf(out, LINE, "%d\n", knock_start(name, port));
	else if (sscanf(line, "outcome %u", &timeout_ms) == 1)
		answer_outcome(timeout_ms, out);
	else if (sscanf(line, "held %127s", name) == 1)
		snprintf(out, LINE, "%llu\n", (unsigned long long)resources_count(name));
	else if (sscanf(line, "stat %127s", name) == 1)
		snprintf(out, LINE, "%llu\n", (unsigned long long)counter_read(name));
	else if (sscanf(line, "set %127s %ld", name, &value) == 2)
		snprintf(out, LINE, "%ld\n", sysctl_set(name, value));
	else if (sscanf(line, "send %u %llu", &port, &bytes) == 2)
		snprintf(out, LINE, "%ld\n", conn_send(port, bytes));
	else if (!strcmp(line, "close failed\n"))
		snprintf(out, LINE, "%u\n", failed_close());
	else if (sscanf(line, "close %u", &port) == 1)
		snprintf(out, LINE, "%ld\n", conn_close(port));
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
			request_answer(line, out);
			if (fputs(out, f) < 0 || fflush(f))
				break;
		}
		if (f)
			fclose(f);
	}
	return NULL;
}

/**
 * el_witness_run() - run the application until an error
 * @p: family of the attacked sockets
 * @host: address to bind, NULL for any
 * @port: port of the attacked sockets; requests come to the next one
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
		if (fd >= 0 && conn_start(fd, &attr))
			close(fd);
	}
}

/* ---- requests to the witness ---- */

int el_witness_connect(const struct evil_target *t, unsigned int port)
{
	struct tl_addr to = t->to;

	tl_addr_set_port(&to, port);
	return tl_connect(t->tcp, NULL, &to);
}

/* Send one line and receive one line. */
static bool witness_request(int witness, char *line)
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
 * el_ask() - get the application's record of a connection
 * @witness: connection to the witness
 * @port: name of the connection
 * @bytes: wait until the application has read so many, or failed; 0: until it failed
 * @timeout_ms: longest wait
 * @r: receives the record
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
	if (!witness_request(witness, line) ||
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

u64 el_counter(int witness, const char *name)
{
	char line[LINE];

	snprintf(line, sizeof(line), "stat %s\n", name);
	return witness_request(witness, line) ? strtoull(line, NULL, 10) : 0;
}

/* Count the module's groups, without those that end. */
u64 el_groups(int witness)
{
	u64 ended = el_counter(witness, "lgr_term");

	return el_counter(witness, "first_contact") - ended;
}

/* Count the module's queue pairs, memory regions, ...; @kind is rdma(8)'s name of them. */
u64 el_resources(int witness, const char *kind)
{
	char line[LINE];

	snprintf(line, sizeof(line), "held %s\n", kind);
	return witness_request(witness, line) ? strtoull(line, NULL, 10) : 0;
}

/**
 * el_order_connect() - make the application connect to us
 * @witness: connection to the witness
 * @at: our listener
 * @name: name of the connection; el_order_outcome() returns the result, for one at a time. 0: the
 *	application ignores the result
 *
 * Does not wait for the connection.
 *
 * Return: 0 or a negative errno.
 */
int el_order_connect(int witness, const struct tl_addr *at, unsigned int name)
{
	char line[LINE], host[INET_ADDRSTRLEN];

	if (!inet_ntop(AF_INET, &at->in.sin_addr, host, sizeof(host)))
		return -errno;
	if (name)
		snprintf(line, sizeof(line), "connect %s %u %u\n", host, tl_addr_port(at), name);
	else
		snprintf(line, sizeof(line), "knock %s %u\n", host, tl_addr_port(at));
	return witness_request(witness, line) ? -(int)strtol(line, NULL, 10) : -EIO;
}

/**
 * el_order_outcome() - get the result of the connection that was ordered
 * @witness: connection to the witness
 * @timeout_ms: longest wait for the result
 * @o: receives the result; error %EINPROGRESS: none yet
 *
 * Return: false if the witness is gone.
 */
bool el_order_outcome(int witness, unsigned int timeout_ms, struct el_outcome *o)
{
	char line[LINE];
	int smc;

	snprintf(line, sizeof(line), "outcome %u\n", timeout_ms);
	if (!witness_request(witness, line) ||
	    sscanf(line, "%d %d %u", &o->err, &smc, &o->reason) != 3) {
		ktap_note("the witness is gone");
		return false;
	}
	o->smc = smc;
	return true;
}

/* Make the application send @bytes. Returns how many it sent at once, or a negative errno. */
long el_order_send(int witness, unsigned int port, size_t bytes)
{
	char line[LINE];

	snprintf(line, sizeof(line), "send %u %zu\n", port, bytes);
	return witness_request(witness, line) ? strtol(line, NULL, 10) : -EIO;
}

/* Make the application close all connections that have failed. Returns how many. */
long el_order_close_failed(int witness)
{
	char line[LINE] = "close failed\n";

	return witness_request(witness, line) ? strtol(line, NULL, 10) : -EIO;
}

/* Set sysctl net.smc.@name on the host under attack. Returns the old value or a negative errno. */
long el_order_set(int witness, const char *name, long value)
{
	char line[LINE];

	snprintf(line, sizeof(line), "set %s %ld\n", name, value);
	return witness_request(witness, line) ? strtol(line, NULL, 10) : -EIO;
}

/* Make the application close. Returns the duration of close() in ms, or a negative errno. */
long el_order_close(int witness, unsigned int port)
{
	char line[LINE];

	snprintf(line, sizeof(line), "close %u\n", port);
	return witness_request(witness, line) ? strtol(line, NULL, 10) : -EIO;
}
