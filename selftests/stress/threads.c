// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several threads per socket: at each end of a connection one thread reads, one writes, both asleep
 * in their calls for most of the time, and a third does anything without waiting for it, the end of
 * the connection included. They start with the handshake. Meanwhile the RNICs of either end are
 * removed and come back, one after the other.
 *
 * The order in which threads write to a stream is not known, so each byte names its writer; nor is
 * the order in which threads read, so pieces wait until they continue what was read before. Thus
 * each byte is compared, and after an orderly end none may be missing.
 *
 * The environment gives SEED, STRESS_FOR (seconds), LOSSES (RNICs that are removed at least, 0:
 * none) and PATIENCE (ms, time limit for events that must happen).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "stress.h"

#define PORT		4500
#define CHUNK		(32U << 10)
#define SHORT		8	/* bytes: such a piece may be equal by chance */
#define RCVBUF		16384	/* smallest receive buffer of a connection over TCP */

#define __fallthrough	__attribute__((__fallthrough__))

enum role { READER, WRITER, OTHER, ROLES_NR };

/* How a connection ends; all but the first may lose bytes. */
enum fate { ORDERLY, BOTH_WAYS, CLOSED, RESET, FATES_NR };

static const char * const fate_names[FATES_NR] = { "orderly", "both ways", "close", "reset" };

/**
 * struct piece - bytes that one call has read
 * @next: piece that the same thread read after it
 * @over: number of the call's end among all begins and ends of such calls
 * @by: the call
 * @len: number of bytes
 * @data: the bytes
 */
struct piece {
	struct piece *next;
	u64 over;
	const char *by;
	size_t len;
	u8 data[];
};

/**
 * struct reading - what a thread has read and not yet placed
 * @first: oldest piece
 * @last: newest one
 * @begun: number of the call's begin, as for &struct piece, 0: it is in no call
 */
struct reading {
	struct piece *first;
	struct piece *last;
	u64 begun;
};

/**
 * struct flow - the bytes of one direction
 * @lock: protects the fields for the readers
 * @sent: bytes by writer
 * @got: bytes by writer that were read and compared
 * @read: all bytes that were read
 * @calls: begins and ends of calls that read
 * @of: by reader
 */
struct flow {
	pthread_mutex_t lock;
	atomic_ullong sent[ROLES_NR];
	u64 got[ROLES_NR];
	atomic_ullong read;
	u64 calls;
	struct reading of[ROLES_NR];
};

struct slot;

/**
 * struct task - a thread of an end
 * @slot: its connection
 * @side: its end
 * @role: what it does
 * @state: of its random numbers
 * @thread: its thread
 * @pipe: for splice
 * @narrow: a pipe for one buffer
 * @file: for sendfile
 * @doing: its present operation, for the report of a standstill
 * @chunk: bytes that it reads or writes
 */
struct task {
	struct slot *slot;
	enum ends_where side;
	enum role role;
	u64 state;
	pthread_t thread;
	int pipe[2];
	int narrow[2];
	int file;
	const char *doing;
	u8 chunk[CHUNK];
};

/**
 * struct side - an end of a connection
 * @fd: stays open until all threads have ended, and is O_PATH after a close
 * @shut: it begins to shut down its sending direction
 * @both: ... and the other one
 * @closed: it begins to close, perhaps with a reset
 * @zc_sent: calls with MSG_ZEROCOPY that have sent something
 * @zc_done: such calls that have been reported as finished
 */
struct side {
	int fd;
	atomic_bool shut;
	atomic_bool both;
	atomic_bool closed;
	atomic_long zc_sent;
	atomic_long zc_done;
};

/**
 * struct slot - makes one connection after the other
 * @family: of the client
 * @peer: of the listener
 * @addr: address of the listener
 * @mode: of the connections
 * @listener: its own, so that accept() returns the other end
 * @round: number of the connection
 * @fate: how it ends
 * @ender: the end that begins with it
 * @open: both ends are connected
 * @smc: ... and not by TCP
 * @since: when it was made
 * @side: both ends
 * @flow: by sending end
 * @task: threads of each end
 * @thread: makes the connections
 */
struct slot {
	const char *family;
	const char *peer;
	const char *addr;
	enum tl_mode mode;
	int listener;
	unsigned int round;
	enum fate fate;
	enum ends_where ender;
	atomic_bool open;
	atomic_bool smc;
	atomic_ullong since;
	struct side side[ENDS_NR];
	struct flow flow[ENDS_NR];
	struct task task[ENDS_NR][ROLES_NR];
	pthread_t thread;
};

#define NO_RNIC	"10.0.9.1"	/* in a network without an RNIC: the client declines */

static struct slot slots[] = {
	{ .family = "smc", .peer = "smc", .addr = ENDS_ADDR, .mode = TL_MODE_SMCR },
	{ .family = "ipproto", .peer = "smc", .addr = ENDS_ADDR, .mode = TL_MODE_SMCR },
	{ .family = "ipproto6", .peer = "smc", .addr = "::ffff:" ENDS_ADDR, .mode = TL_MODE_SMCR },
	{ .family = "smc", .peer = "ipproto", .addr = ENDS_ADDR, .mode = TL_MODE_SMCR },
	{ .family = "smc6", .peer = "smc", .addr = "::ffff:" ENDS_ADDR, .mode = TL_MODE_SMCR },
	{ .family = "ipproto", .peer = "ipproto", .addr = ENDS_ADDR, .mode = TL_MODE_SMCR },
	/* fallbacks: the peer has no option; the handshake ends with a Decline */
	{ .family = "smc", .peer = "inet", .addr = ENDS_ADDR, .mode = TL_MODE_TCP },
	{ .family = "inet", .peer = "ipproto", .addr = ENDS_ADDR, .mode = TL_MODE_TCP },
	{ .family = "smc", .peer = "smc", .addr = NO_RNIC, .mode = TL_MODE_TCP },
	{ .family = "ipproto", .peer = "ipproto", .addr = NO_RNIC, .mode = TL_MODE_TCP },
};

static unsigned long patience, seed;
static atomic_bool over;
static int dead;		/* stands in for a closed descriptor */
static atomic_ulong by_fate[FATES_NR], calls, declined_in_loss;
static atomic_ullong received[ENDS_NR], received_by_tcp;
static u64 begin;
/* odd while an RNIC is missing; grows */
static atomic_uint losses;

static void report(const struct slot *s)
{
	static const char * const names[ENDS_NR] = { "server", "client" };

	printf("# slot %zu, %s to %s at %s: connection %u, %s, ended by the %s, %s, for %llu ms\n",
	       s - slots, s->family, s->peer, s->addr, s->round, fate_names[s->fate],
	       names[s->ender], s->open ? "open" : "in its handshake",
	       (unsigned long long)((tl_now_ns() - s->since) / TL_NSEC_PER_MSEC));
	for (int i = 0; i < ENDS_NR; i++) {
		const struct flow *f = &s->flow[i];
		const struct side *e = &s->side[i];

		printf("# from the %s: shut %d, both ways %d, closed %d, zero-copy %ld of %ld\n",
		       names[i], e->shut, e->both, e->closed, e->zc_done, e->zc_sent);
		for (int r = 0; r < ROLES_NR; r++)
			printf("#   thread %d: sent %llu, compared %llu; now: %s\n", r,
			       (unsigned long long)f->sent[r], (unsigned long long)f->got[r],
			       s->task[i][r].doing);
		printf("#   read %llu\n", (unsigned long long)f->read);
	}
}

/* Called by any thread: ends the test. */
static void slot_fail(const struct slot *s, const char *what, int err)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&once);
	printf("# failed: %s%s%s; seed %lu\n", what, err ? ": " : "", err ? tl_errno_name(err) : "",
	       seed);
	report(s);
	fflush(stdout);
	_exit(1);
}

static void task_fail(const struct task *t, int err)
{
	char what[100];

	snprintf(what, sizeof(what), "%s by thread %d of end %d", t->doing, t->role, t->side);
	slot_fail(t->slot, what, err);
}

static struct side *own(struct task *t)
{
	return &t->slot->side[t->side];
}

static struct side *other(struct task *t)
{
	return &t->slot->side[!t->side];
}

static u64 task_rnd(struct task *t, u64 below)
{
	return stress_rnd(&t->state, below);
}

/* ---- bytes ---- */

static u64 flow_seed(const struct slot *s, enum ends_where from, enum role writer)
{
	u64 n = s->round * TL_ARRAY_SIZE(slots) + (s - slots);

	return (n * ENDS_NR + from) * ROLES_NR + writer;
}

/* The upper two bits of a byte name its writer, the others depend on its place. */
static void bytes_fill(const struct slot *s, enum ends_where from, enum role writer, u64 at, u8 *to,
		       size_t len)
{
	tl_fill(flow_seed(s, from, writer), at, to, len);
	for (size_t i = 0; i < len; i++)
		to[i] = (to[i] & 0x3f) | writer << 6;
}

/* True if the piece continues what was read before; @got becomes what is read then. */
static bool piece_continues(const struct slot *s, enum ends_where from, const struct piece *p,
			    u64 got[ROLES_NR])
{
	u8 expected[ROLES_NR][64];
	size_t left[ROLES_NR] = { };

	memcpy(got, s->flow[from].got, sizeof(s->flow[from].got));
	for (size_t i = 0; i < p->len; i++) {
		unsigned int w = p->data[i] >> 6;

		if (w >= ROLES_NR)
			return false;
		if (!left[w]) {
			left[w] = sizeof(expected[w]);
			bytes_fill(s, from, w, got[w], expected[w], left[w]);
		}
		if (p->data[i] != expected[w][sizeof(expected[w]) - left[w]])
			return false;
		left[w]--;
		got[w]++;
	}
	return true;
}

/* The place of @len bytes in a writer's stream, of @end bytes at @all; first of all try @at. */
static const u8 *bytes_find(const u8 *all, u64 end, u64 at, const u8 *bytes, size_t len)
{
	size_t few = len < 2 ? len : 2, many = len < 16 ? len : 16;

	if (at + few <= end && !memcmp(all + at, bytes, few))
		return all + at;
	return memmem(all, end, bytes, many);
}

/* Print from which places of whose streams a piece is. */
static void piece_report(const struct slot *s, enum ends_where from, const struct piece *p)
{
	u64 next[ROLES_NR], end[ROLES_NR];
	u8 *all[ROLES_NR];
	size_t n;

	memcpy(next, s->flow[from].got, sizeof(next));
	for (int w = 0; w < ROLES_NR; w++) {
		/* a call that has not returned has sent up to a chunk more */
		end[w] = s->flow[from].sent[w] + CHUNK;
		all[w] = malloc(end[w]);
		if (!all[w])
			ends_die("no memory");
		bytes_fill(s, from, w, 0, all[w], end[w]);
	}
	for (size_t i = 0; i < p->len; i += n) {
		const u8 *bytes = p->data + i, *found = NULL;
		unsigned int w = *bytes >> 6;
		size_t run = 1;

		while (i + run < p->len && bytes[run] >> 6 == w)
			run++;
		if (w < ROLES_NR)
			found = bytes_find(all[w], end[w], next[w], bytes, run);
		if (!found) {
			n = run < 16 ? run : 16;
			printf("#   %zu bytes: thread %u has not sent them\n", n, w);
			continue;
		}
		for (n = 1; n < run && found + n < all[w] + end[w] && bytes[n] == found[n];)
			n++;
		printf("#   %zu bytes: of thread %u from %td on\n", n, w, found - all[w]);
		next[w] = found - all[w] + n;
	}
	for (int w = 0; w < ROLES_NR; w++)
		free(all[w]);
}

/* No call has read what follows the compared bytes. */
static void flow_fail(const struct slot *s, enum ends_where from)
{
	for (int r = 0; r < ROLES_NR; r++)
		for (const struct piece *p = s->flow[from].of[r].first; p; p = p->next) {
			printf("# thread %d of end %d, %s, %zu bytes:\n", r, !from, p->by, p->len);
			piece_report(s, from, p);
		}
	slot_fail(s, "wrong bytes", 0);
}

/* No other call may have read bytes before this piece without having said so yet. */
static bool piece_is_settled(const struct flow *f, const struct piece *p)
{
	for (int r = 0; r < ROLES_NR; r++)
		if (f->of[r].begun && f->of[r].begun < p->over)
			return false;
	return true;
}

/* Compare pieces as far as their order is known; under the lock. */
static void flow_compare(struct slot *s, enum ends_where from)
{
	struct flow *f = &s->flow[from];
	u64 got[ROLES_NR], then[ROLES_NR];

	for (;;) {
		struct reading *best = NULL;
		bool settled = true, any = false;

		for (int r = 0; r < ROLES_NR; r++) {
			struct piece *p = f->of[r].first;

			if (!p)
				continue;
			any = true;
			if (!piece_is_settled(f, p))
				settled = false;
			/* the longest: a short one may be equal by chance */
			if ((!best || p->len > best->first->len) &&
			    piece_continues(s, from, p, got)) {
				best = &f->of[r];
				memcpy(then, got, sizeof(then));
			}
		}
		if (!any)
			return;
		if (!best) {
			if (settled)
				flow_fail(s, from);
			return;
		}
		if (best->first->len < SHORT && !settled)
			return;
		memcpy(f->got, then, sizeof(then));
		struct piece *p = best->first;

		best->first = p->next;
		if (!best->first)
			best->last = NULL;
		free(p);
	}
}

static void read_begins(struct task *t)
{
	struct flow *f = &t->slot->flow[!t->side];

	pthread_mutex_lock(&f->lock);
	f->of[t->role].begun = ++f->calls;
	pthread_mutex_unlock(&f->lock);
}

/* @n: result of the call, whose bytes are in t->chunk */
static void read_ends(struct task *t, ssize_t n)
{
	struct flow *f = &t->slot->flow[!t->side];
	struct reading *r = &f->of[t->role];
	struct piece *p;

	pthread_mutex_lock(&f->lock);
	r->begun = 0;
	f->calls++;
	if (n > 0) {
		p = malloc(sizeof(*p) + n);
		if (!p)
			ends_die("no memory");
		*p = (struct piece){ .over = f->calls, .by = t->doing, .len = n };
		memcpy(p->data, t->chunk, n);
		if (r->last)
			r->last->next = p;
		else
			r->first = p;
		r->last = p;
		f->read += n;
	}
	flow_compare(t->slot, !t->side);
	pthread_mutex_unlock(&f->lock);
}

static u64 flow_sent(const struct flow *f)
{
	u64 n = 0;

	for (int w = 0; w < ROLES_NR; w++)
		n += f->sent[w];
	return n;
}

/* ---- operations; each returns false if the thread can do nothing more of this kind ---- */

/* A reset: by a close, or, as with TCP, since bytes arrive after SHUT_RDWR. */
static bool may_be_reset(struct task *t, int err)
{
	if (err == EBADF)
		return own(t)->closed;
	return (err == ECONNRESET || err == EPIPE) &&
	       (other(t)->closed || other(t)->both || own(t)->both);
}

static bool sent(struct task *t, ssize_t n, bool sleeps)
{
	int err = errno;

	calls++;
	if (n > 0) {
		t->slot->flow[t->side].sent[t->role] += n;
		return true;
	}
	if (!n || (err == EAGAIN && !sleeps))
		return true;
	if ((err == EPIPE && own(t)->shut) || may_be_reset(t, err))
		return false;
	task_fail(t, err);
	return false;
}

static size_t fill(struct task *t, u8 *to)
{
	size_t len = 1 + task_rnd(t, task_rnd(t, 4) ? 3000 : CHUNK);

	bytes_fill(t->slot, t->side, t->role, t->slot->flow[t->side].sent[t->role], to, len);
	return len;
}

static bool op_send(struct task *t, bool sleeps)
{
	int flags = MSG_NOSIGNAL | (sleeps ? 0 : MSG_DONTWAIT);
	size_t len = fill(t, t->chunk);

	t->doing = "send";
	if (!task_rnd(t, 8))
		flags |= MSG_MORE;
	if (!task_rnd(t, 40))
		flags |= MSG_OOB;
	return sent(t, send(own(t)->fd, t->chunk, len, flags), sleeps);
}

/* The pages keep the bytes after the thread has unmapped them. */
static bool op_zerocopy(struct task *t, bool sleeps)
{
	int flags = MSG_ZEROCOPY | MSG_NOSIGNAL | (sleeps ? 0 : MSG_DONTWAIT), err;
	ssize_t n;
	size_t len;
	u8 *pages;

	t->doing = "send with MSG_ZEROCOPY";
	pages = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		ends_die("mmap");
	len = fill(t, pages);
	n = send(own(t)->fd, pages, len, flags);
	err = errno;
	if (n > 0)
		own(t)->zc_sent++;
	munmap(pages, CHUNK);
	errno = err;
	/* reports that nobody has read yet fill the socket's memory for them */
	return (n < 0 && err == ENOBUFS) || sent(t, n, sleeps);
}

/* From a pipe; what the socket does not take was never sent. */
static bool op_splice_to(struct task *t, bool sleeps)
{
	size_t len = fill(t, t->chunk);
	ssize_t n;
	int err;

	t->doing = "splice to the socket";
	if (write(t->pipe[1], t->chunk, len) != (ssize_t)len)
		ends_die("write to a pipe");
	n = splice(t->pipe[0], NULL, own(t)->fd, NULL, len, sleeps ? 0 : SPLICE_F_NONBLOCK);
	err = errno;
	t->doing = "read from a pipe";
	if (n < (ssize_t)len && read(t->pipe[0], t->chunk, len) < 0)
		ends_die("read from a pipe");
	errno = err;
	return sent(t, n, sleeps);
}

/* Each time other pages of the file: those of the time before may still be on their way. */
static bool op_sendfile(struct task *t, bool sleeps)
{
	size_t len = fill(t, t->chunk);
	off_t at = task_rnd(t, 4096);
	ssize_t n;

	/* sendfile() has no flag: only for who may sleep */
	if (!sleeps)
		return true;
	t->doing = "sendfile";
	if (ftruncate(t->file, 0) || pwrite(t->file, t->chunk, len, at) != (ssize_t)len)
		ends_die("write to a file");
	n = sendfile(own(t)->fd, t->file, &at, len);
	return sent(t, n, sleeps);
}

/* Nothing follows until all that was sent until now has been read: whoever reads must be woken. */
static bool op_await_peer(struct task *t, bool sleeps)
{
	struct flow *f = &t->slot->flow[t->side];
	u64 until = tl_now_ns() + patience * TL_NSEC_PER_MSEC, all = flow_sent(f);

	if (!sleeps)
		return true;
	t->doing = "wait for the reader";
	while (f->read < all && !own(t)->both && !other(t)->both && !own(t)->closed &&
	       !other(t)->closed) {
		if (tl_now_ns() > until)
			slot_fail(t->slot, "bytes do not arrive", 0);
		tl_sleep_ms(1);
	}
	return true;
}

static bool got(struct task *t, ssize_t n, bool sleeps)
{
	int err = errno;

	calls++;
	if (n > 0) {
		received[t->side] += n;
		return true;
	}
	if (!n) {
		if (!own(t)->both && !other(t)->shut && !other(t)->closed)
			slot_fail(t->slot, "the stream ends without a close", 0);
		return false;
	}
	if (err == EAGAIN && !sleeps)
		return true;
	if (!may_be_reset(t, err))
		task_fail(t, err);
	return false;
}

static bool op_recv(struct task *t, bool sleeps)
{
	size_t len = 1 + task_rnd(t, task_rnd(t, 4) ? 3000 : CHUNK);
	ssize_t n;

	t->doing = "recv";
	read_begins(t);
	n = recv(own(t)->fd, t->chunk, len, sleeps ? 0 : MSG_DONTWAIT);
	read_ends(t, n);
	return got(t, n, sleeps);
}

/*
 * TCP's splice() moves what has arrived, gives up the lock of the socket, and goes on while the
 * pipe has room. Another thread can read in between, so that what one call returns has a gap; not
 * if the first bytes fill the pipe. SMC's returns bytes that follow each other.
 */
static bool op_splice_from(struct task *t, bool sleeps)
{
	const int *to = t->slot->smc ? t->pipe : t->narrow;
	size_t len = 1 + task_rnd(t, CHUNK);
	ssize_t n;
	int err;

	t->doing = "splice from the socket";
	read_begins(t);
	n = splice(own(t)->fd, NULL, to[1], NULL, len, sleeps ? 0 : SPLICE_F_NONBLOCK);
	err = errno;
	if (n > 0 && read(to[0], t->chunk, n) != n)
		ends_die("read from a pipe");
	read_ends(t, n);
	errno = err;
	/* TCP's splice() returns 0 before an urgent byte, too: recv() shows an end of the stream */
	return !n || got(t, n, sleeps);
}

/* Another thread may have read what poll() has reported. */
static bool op_poll_recv(struct task *t, bool sleeps)
{
	struct pollfd p = { .fd = own(t)->fd, .events = POLLIN };

	t->doing = "poll for POLLIN";
	if (poll(&p, 1, sleeps ? (int)patience : 0) < 0)
		task_fail(t, errno);
	return op_recv(t, false);
}

static bool op_poll_send(struct task *t, bool sleeps)
{
	struct pollfd p = { .fd = own(t)->fd, .events = POLLOUT };

	t->doing = "poll for POLLOUT";
	if (poll(&p, 1, sleeps ? (int)patience : 0) < 0)
		task_fail(t, errno);
	return op_send(t, false);
}

/* Other threads read meanwhile: only the error is known. */
static bool op_peek(struct task *t, bool sleeps)
{
	ssize_t n;

	t->doing = "peek";
	n = recv(own(t)->fd, t->chunk, 1 + task_rnd(t, CHUNK), MSG_PEEK | MSG_DONTWAIT);
	return n > 0 || got(t, n, false) || !sleeps;
}

/*
 * TCP crawls if its receive buffer has no room for a few segments: the window stays below one, and
 * the other end sends a part of a segment at a time, when its persist timer expires.
 */
static bool op_option(struct task *t, bool sleeps)
{
	int rcvbuf = t->slot->smc ? 0 : RCVBUF;

	(void)sleeps;
	t->doing = "setsockopt";
	if (stress_option(&t->state, own(t)->fd, rcvbuf) && !(errno == EBADF && own(t)->closed))
		task_fail(t, errno);
	calls++;
	return true;
}

static bool op_ask(struct task *t, bool sleeps)
{
	int what[] = { SIOCINQ, SIOCOUTQ, SIOCATMARK }, n;
	struct tcp_info info;
	socklen_t len = sizeof(info);

	(void)sleeps;
	t->doing = "ioctl or getsockopt";
	if (task_rnd(t, 2))
		ioctl(own(t)->fd, what[task_rnd(t, TL_ARRAY_SIZE(what))], &n);
	else
		getsockopt(own(t)->fd, SOL_TCP, TCP_INFO, &info, &len);
	calls++;
	return true;
}

/* Count the sends with MSG_ZEROCOPY whose pages the socket does not need any more. */
static bool op_error_queue(struct task *t, bool sleeps)
{
	u8 control[256];

	(void)sleeps;
	t->doing = "recvmsg from the error queue";
	for (;;) {
		struct msghdr m = { .msg_control = control, .msg_controllen = sizeof(control) };

		if (recvmsg(own(t)->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			if (errno != EAGAIN && !(errno == EBADF && own(t)->closed))
				task_fail(t, errno);
			return true;
		}
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			struct sock_extended_err *e = (void *)CMSG_DATA(c);

			if (e->ee_origin == SO_EE_ORIGIN_ZEROCOPY)
				own(t)->zc_done += e->ee_data - e->ee_info + 1;
		}
	}
}

/* ---- threads ---- */

struct op {
	bool (*run)(struct task *t, bool sleeps);
	unsigned int weight;
};

#define OPS_MAX	16

/* Weights in a hundred. */
static const struct op ops[ROLES_NR][OPS_MAX] = {
	[READER] = {
		{ op_recv, 60 }, { op_splice_from, 15 }, { op_poll_recv, 20 }, { op_peek, 5 },
	},
	[WRITER] = {
		{ op_send, 50 }, { op_zerocopy, 10 }, { op_splice_to, 10 }, { op_sendfile, 5 },
		{ op_poll_send, 15 }, { op_await_peer, 10 },
	},
	[OTHER] = {
		{ op_send, 20 }, { op_zerocopy, 5 }, { op_splice_to, 5 }, { op_recv, 20 },
		{ op_splice_from, 5 }, { op_poll_recv, 5 }, { op_poll_send, 5 }, { op_peek, 5 },
		{ op_option, 15 }, { op_ask, 5 }, { op_error_queue, 10 },
	},
};

static bool op_any(struct task *t)
{
	u64 pick = task_rnd(t, 100);

	for (const struct op *o = ops[t->role]; o->run; o++) {
		if (pick < o->weight)
			return o->run(t, t->role != OTHER);
		pick -= o->weight;
	}
	return true;
}

/* The end of the connection, by the third thread of an end, while the others use it. */
static void task_end(struct task *t)
{
	enum fate fate = t->side == t->slot->ender ? t->slot->fate : ORDERLY;
	struct linger l = { .l_onoff = 1 };
	struct side *e = own(t);

	t->doing = fate_names[fate];
	switch (fate) {
	case BOTH_WAYS:
		e->both = true;
		__fallthrough;
	case ORDERLY:
		e->shut = true;
		if (shutdown(e->fd, fate == ORDERLY ? SHUT_WR : SHUT_RDWR) &&
		    !(errno == ENOTCONN && (other(t)->closed || other(t)->both)))
			task_fail(t, errno);
		break;
	case RESET:
		setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
		__fallthrough;
	default:
		e->closed = true;
		/* the number stays in use: other threads have it */
		if (dup3(dead, e->fd, O_CLOEXEC) < 0)
			ends_die("dup3");
		break;
	}
}

static void *task_run(void *arg)
{
	struct task *t = arg;
	unsigned int n = 20 + task_rnd(t, 200);

	if (t->role != OTHER) {
		while (op_any(t))
			;
	} else {
		/* whatever a handshake has not decided yet it decides for these calls */
		while (n || !t->slot->open) {
			op_any(t);
			n -= !!n;
		}
		task_end(t);
	}
	t->doing = "end of the thread";
	return NULL;
}

static void tasks_start(struct slot *s, enum ends_where side)
{
	for (int r = 0; r < ROLES_NR; r++) {
		struct task *t = &s->task[side][r];

		t->state = flow_seed(s, side, r) * 0x9e3779b97f4a7c15ULL + seed;
		if (pthread_create(&t->thread, NULL, task_run, t))
			ends_die("pthread_create");
	}
}

/* ---- connections ---- */

static void socket_prepare(struct slot *s, int fd)
{
	u64 state = seed + flow_seed(s, ENDS_SERVER, 0);
	int size = 16384 << stress_rnd(&state, 4), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	size = RCVBUF << stress_rnd(&state, 3);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	/* so that urgent bytes stay in the stream */
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
	if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		ends_die("SO_ZEROCOPY");
}

static void slot_reset(struct slot *s)
{
	u64 state = seed + ++s->round * 1000003ULL + (s - slots);
	u64 pick = stress_rnd(&state, 100);

	s->fate = pick < 55 ? ORDERLY : pick < 65 ? BOTH_WAYS : pick < 85 ? CLOSED : RESET;
	s->ender = stress_rnd(&state, ENDS_NR);
	s->open = false;
	s->smc = false;
	s->since = tl_now_ns();
	for (int i = 0; i < ENDS_NR; i++) {
		s->side[i] = (struct side){ .fd = -1 };
		for (int r = 0; r < ROLES_NR; r++) {
			s->flow[i].sent[r] = 0;
			s->flow[i].got[r] = 0;
			s->task[i][r].doing = "start";
		}
		s->flow[i].read = 0;
	}
}

/* An orderly end: all is read, and no page of a zero-copy send is in use. */
static void slot_check(struct slot *s)
{
	for (int i = 0; i < ENDS_NR; i++) {
		struct side *e = &s->side[i];
		struct flow *f = &s->flow[i];

		for (int r = 0; r < ROLES_NR; r++) {
			if (f->of[r].first)
				slot_fail(s, "bytes that continue nothing", 0);
			if (f->got[r] > f->sent[r] ||
			    (s->fate == ORDERLY && f->got[r] != f->sent[r]))
				slot_fail(s, "bytes are missing", 0);
		}
		if (s->fate != ORDERLY)
			continue;
		for (u64 until = tl_now_ns() + patience * TL_NSEC_PER_MSEC;;) {
			op_error_queue(&s->task[i][OTHER], false);
			if (e->zc_done == e->zc_sent)
				break;
			if (e->zc_done > e->zc_sent || tl_now_ns() > until)
				slot_fail(s, "wrong number of zero-copy reports", 0);
			tl_sleep_ms(1);
		}
	}
}

static void slot_connect(struct slot *s)
{
	const struct tl_proto *proto = tl_proto_find(s->family);
	unsigned int lost = losses;
	struct tl_diag diag;
	struct tl_addr to;
	int fd;

	tl_addr_parse(&to, proto, s->addr, PORT + (s - slots));
	fd = tl_socket(proto, SOCK_NONBLOCK);
	if (fd < 0)
		ends_die("socket");
	socket_prepare(s, fd);
	if (connect(fd, &to.sa, to.len) && errno != EINPROGRESS)
		ends_die("connect");
	tl_set_nonblock(fd, false);
	s->side[ENDS_CLIENT].fd = fd;
	tasks_start(s, ENDS_CLIENT);
	if (!ends_something(s->listener, POLLIN, patience))
		slot_fail(s, "nothing to accept", 0);
	s->side[ENDS_SERVER].fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	if (s->side[ENDS_SERVER].fd < 0)
		ends_die("accept");
	tasks_start(s, ENDS_SERVER);
	if (!ends_something(fd, POLLOUT | POLLIN, patience))
		slot_fail(s, "does not connect", 0);
	if (tl_diag_get(fd, proto, &diag))
		slot_fail(s, "sock_diag does not list it", 0);
	if (diag.mode != s->mode) {
		printf("# %s: %08x/%08x\n", tl_mode_name(diag.mode), diag.reason,
		       diag.peer_reason);
		/* its handshake may have lost its RNIC */
		if (lost == losses && !(lost & 1))
			slot_fail(s, "wrong mode", 0);
		declined_in_loss++;
	}
	s->smc = diag.mode == TL_MODE_SMCR;
	s->open = true;
	for (int i = 0; i < ENDS_NR; i++)
		for (int r = 0; r < ROLES_NR; r++)
			pthread_join(s->task[i][r].thread, NULL);
	if (diag.mode == TL_MODE_TCP)
		received_by_tcp += s->flow[0].read + s->flow[1].read;
	slot_check(s);
	for (int i = 0; i < ENDS_NR; i++)
		close(s->side[i].fd);
	by_fate[s->fate]++;
}

static void *slot_run(void *arg)
{
	struct slot *s = arg;

	while (!over) {
		slot_reset(s);
		slot_connect(s);
	}
	s->since = 0;
	return NULL;
}

static void slot_open(struct slot *s)
{
	const struct tl_proto *proto = tl_proto_find(s->peer);
	const char *addr = s->addr;
	struct tl_addr at;

	if (proto->af == AF_INET && !strncmp(addr, "::ffff:", 7))
		addr += 7;
	if (tl_addr_parse(&at, proto, addr, PORT + (s - slots)))
		ends_die(addr);
	ends_enter(ENDS_SERVER);
	s->listener = tl_listen(proto, &at, 8);
	ends_enter(ENDS_CLIENT);
	if (s->listener < 0)
		ends_die(s->peer);
	socket_prepare(s, s->listener);
	for (int i = 0; i < ENDS_NR; i++) {
		pthread_mutex_init(&s->flow[i].lock, NULL);
		for (int r = 0; r < ROLES_NR; r++) {
			struct task *t = &s->task[i][r];

			t->slot = s;
			t->side = i;
			t->role = r;
			t->file = memfd_create("bytes", MFD_CLOEXEC);
			if (t->file < 0 || pipe2(t->pipe, O_CLOEXEC) ||
			    pipe2(t->narrow, O_CLOEXEC) ||
			    fcntl(t->narrow[1], F_SETPIPE_SZ, 1) < 0)
				ends_die("pipe");
			fcntl(t->pipe[1], F_SETPIPE_SZ, 4 * CHUNK);
		}
	}
}

/* ---- RNICs that are removed ---- */

#define IN_NS	"/usr/sbin/ip netns exec %s "

/* RNICs with the namespace of their end; names without what precedes them. */
static const struct rnic {
	const char *ns;
	const char *name;
} rnics[] = { { "c", "c" }, { "s", "s2" }, { "s", "s" }, { "c", "c2" } };

/* Waits for a shell command to be true. */
__printf(1, 2)
static void await(const char *fmt, ...)
{
	u64 until = tl_now_ns() + patience * TL_NSEC_PER_MSEC;
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	while (system(cmd)) {
		if (tl_now_ns() > until)
			ends_die(cmd);
		tl_sleep_ms(300);
	}
}

/*
 * Each group has two links, over two RNICs of each end: it survives the next loss. Two links over
 * one RNIC are made while the other one is missing, and stay for a moment after its return; a group
 * in its first contact has one. (There may be a second group: while its RNIC is missing the client
 * makes a first contact over the other one.)
 */
static void await_links(void)
{
	static const char link[] = "NR>1 { n[$1]++; bad+=$3!=\"active\"; bad+=rnic[$1,$7]++ }";
	static const char end[] = "END { for (g in n) bad+=n[g]!=2; exit NR<2 || bad }";

	await("/usr/sbin/ip netns exec c /t/smcctl link | awk '%s %s'", link, end);
	await("/usr/sbin/ip netns exec s /t/smcctl link | awk '%s %s'", link, end);
}

/*
 * Each end loses each RNIC in turn, as soon as groups have two links again. From the first
 * namespace, in which the kernel makes an RNIC.
 */
static void *losses_run(void *arg)
{
	if (setns(*(int *)arg, CLONE_NEWNET))
		ends_die("setns");
	for (unsigned int i = 0; !over; i++) {
		const struct rnic *r = &rnics[i % TL_ARRAY_SIZE(rnics)];

		await_links();
		losses++;
		printf("# %llu ms: rxe%s is removed\n",
		       (unsigned long long)((tl_now_ns() - begin) / TL_NSEC_PER_MSEC), r->name);
		await(IN_NS "/usr/sbin/rdma link delete rxe%s", r->ns, r->name);
		tl_sleep_ms(200);
		await(IN_NS "/usr/sbin/rdma link add rxe%s type rxe netdev veth%s",
		      r->ns, r->name, r->name);
		await("/usr/sbin/rdma dev set rxe%s netns %s", r->name, r->ns);
		await(IN_NS "/usr/sbin/rdma link show rxe%s/1 | grep -q ACTIVE", r->ns,
		      r->name);
		losses++;
	}
	return NULL;
}

/* ---- main test ---- */

/*
 * A connection lives for seconds at most, plus what the loss of a link takes. On a busy machine the
 * test lasts longer, until @wanted RNICs have been removed.
 */
static void await_end(unsigned long seconds, unsigned long wanted)
{
	u64 until = begin + seconds * TL_NSEC_PER_SEC, limit = 2 * patience * TL_NSEC_PER_MSEC;
	bool busy;

	do {
		tl_sleep_ms(100);
		if (tl_now_ns() > until && losses >= 2 * wanted)
			over = true;
		busy = false;
		for (size_t i = 0; i < TL_ARRAY_SIZE(slots); i++) {
			u64 since = slots[i].since;

			busy |= since;
			if (since && tl_now_ns() > since + limit)
				slot_fail(&slots[i], "a connection does not end", 0);
		}
	} while (busy);
}

static void threads(void)
{
	unsigned long seconds = stress_env("STRESS_FOR", 10), lose = stress_env("LOSSES", 2);
	long before[ENDS_NR], moved;
	u64 by_rdma = 0;
	pthread_t loser;
	int first;

	seed = stress_env("SEED", time(NULL));
	patience = stress_env("PATIENCE", 30000);
	printf("# seed %lu, %zu connections at a time, %lu s\n", seed, TL_ARRAY_SIZE(slots),
	       seconds);
	first = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	dead = open("/", O_PATH | O_CLOEXEC);
	if (first < 0 || dead < 0)
		ends_die("open");
	for (int i = 0; i < ENDS_NR; i++)
		before[i] = ends_stat(i, "rx_bytes");
	moved = ends_stat(ENDS_CLIENT, "conn_move");
	begin = tl_now_ns();
	for (size_t i = 0; i < TL_ARRAY_SIZE(rnics); i++)
		await(IN_NS "/t/smcctl pnet add NET netdev veth%s ibdev rxe%s",
		      rnics[i].ns, rnics[i].name, rnics[i].name);
	for (size_t i = 0; i < TL_ARRAY_SIZE(slots); i++)
		slot_open(&slots[i]);
	for (size_t i = 0; i < TL_ARRAY_SIZE(slots); i++) {
		slots[i].since = tl_now_ns();
		if (pthread_create(&slots[i].thread, NULL, slot_run, &slots[i]))
			ends_die("pthread_create");
	}
	if (lose && pthread_create(&loser, NULL, losses_run, &first))
		ends_die("pthread_create");
	await_end(seconds, lose);
	for (size_t i = 0; i < TL_ARRAY_SIZE(slots); i++)
		pthread_join(slots[i].thread, NULL);
	if (lose)
		pthread_join(loser, NULL);
	moved = ends_stat(ENDS_CLIENT, "conn_move") - moved;
	printf("# %lu calls, %u RNICs removed, %ld connections moved, %lu handshakes fell back\n",
	       calls, losses / 2, moved, declined_in_loss);
	for (int i = 0; i < FATES_NR; i++) {
		printf("# %lu connections ended by %s\n", by_fate[i], fate_names[i]);
		ends_check(by_fate[i], "connections that end by %s", fate_names[i]);
	}
	for (int i = 0; i < ENDS_NR; i++)
		by_rdma += ends_stat(i, "rx_bytes") - before[i];
	printf("# %llu bytes by RDMA, %llu by TCP\n", (unsigned long long)by_rdma,
	       (unsigned long long)received_by_tcp);
	ends_check(by_rdma == received[0] + received[1] - received_by_tcp,
		   "all other bytes came by RDMA: %llu",
		   (unsigned long long)(received[0] + received[1]));
	ends_check(by_rdma && received_by_tcp, "bytes by RDMA and by TCP");
	ends_check(!lose || (losses && moved), "connections lost their link");
}

const struct ends_test stress_threads_tests[] = {
	{ "threads", threads },
	{ }
};
