// SPDX-License-Identifier: GPL-2.0-only
/* Verified traffic between two hosts: server role, and client role with KTAP results. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/ktap.h"
#include "traffic.h"

#define DEFAULT_PORT	4430
#define MAX_THREADS	1024
#define THREAD_STACK	(160U << 10)
#define KIB		1024ULL
#define MIB		(1024 * KIB)
#define CONTACT_BYTES	1000		/* in each direction, per connection of "contacts" */

/**
 * struct options - the command line
 * @client: what the client operations need
 * @wsize: bytes of one write, 0 random
 * @io: style of waiting, TRF_IO_NR for all of them
 * @wait_s: how long the client waits for the server to appear
 * @quit: stop the server after the tests
 * @verbose: one line per operation of the server
 * @corrupt: offset of a byte that the server falsifies in each stream, 0 for none
 * @client_intree: the client's SMC is the in-tree one
 * @server_intree: the server's SMC is the in-tree one
 * @settle_ms: pause before each connection of "contacts"
 * @still_ms: longest time without progress of a direction, 0 for any
 * @device: what the server is bound to, NULL for nothing
 * @link_policy: what @client points to, if it was given
 * @balance: likewise
 */
struct options {
	struct trf_client client;
	u32 wsize;
	enum trf_io io;
	unsigned int wait_s;
	bool quit;
	bool verbose;
	u64 corrupt;
	bool client_intree;
	bool server_intree;
	unsigned int settle_ms;
	unsigned int still_ms;
	const char *device;
	int link_policy;
	int balance;
};

static struct options opt = {
	.wsize = 64 * KIB,
	.io = TRF_IO_BLOCK,
	.client = { .timeout_ms = 30000, .seed = 1 },
};

static struct ktap ktap;
static sigset_t stop_signal;		/* ends "hold" and the pause of "idle"; blocked in both */

static u64 next_seed(void)
{
	return __atomic_add_fetch(&opt.client.seed, 1, __ATOMIC_RELAXED);
}

/**
 * struct subtest - one name on the command line
 * @name: its name
 * @run: runs it with the number after the colon, prints one or more results
 * @arg: default for this number
 * @results: number of results, times the styles of waiting if @per_io
 * @per_io: runs once for each style of waiting
 */
struct subtest {
	const char *name;
	void (*run)(unsigned long arg, enum trf_io io, const char *name);
	unsigned long arg;
	unsigned int results;
	bool per_io;
};

static void outcome_report(const struct trf_outcome *out, const char *name)
{
	if (out->err)
		ktap_note("%s: %s", name, out->what);
	ktap_result(&ktap, !out->err, name);
}

static void note_modes(const char *name, const struct trf_outcome *out)
{
	if (out->local.mode == TL_MODE_UNKNOWN)
		return;
	ktap_note("%s: mode %s%s%s, server %s, reasons %08x/%08x", name,
		  tl_mode_name(out->local.mode), *out->local.ibname ? " on " : "",
		  out->local.ibname, tl_mode_name(out->verdict.mode), out->local.reason,
		  out->local.peer_reason);
}

/* Fail an operation that went well but stood still for too long. */
static int check_still(u64 still_ns, struct trf_outcome *out)
{
	if (out->err || !opt.still_ms || still_ns <= opt.still_ms * TL_NSEC_PER_MSEC)
		return out->err;
	return trf_fail(out, -ETIME, "no progress for %llu ms",
			(unsigned long long)(still_ns / TL_NSEC_PER_MSEC));
}

/* Make one connection with one stream; return it open, or a negative errno. */
static int open_stream(u64 bytes, u32 wsize, enum trf_io io, struct trf_outcome *out)
{
	struct trf_client c = opt.client;
	struct trf_req req;
	int fd = trf_client_connect(&c, out);
	int err;

	if (fd < 0)
		return fd;
	c.seed = next_seed();
	trf_client_req(&c, &req, TRF_STREAM);
	req.io = io;
	req.wsize = wsize;
	req.to_server = bytes;
	req.to_client = bytes;
	err = trf_client_stream(&c, fd, &req, out);
	if (!err)
		err = check_still(out->still_ns, out);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int one_stream(u64 bytes, u32 wsize, enum trf_io io, struct trf_outcome *out)
{
	int fd = open_stream(bytes, wsize, io, out);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void run_stream(unsigned long mib, enum trf_io io, const char *name)
{
	struct trf_outcome out;

	one_stream(mib * MIB, opt.wsize, io, &out);
	note_modes(name, &out);
	if (!out.err)
		ktap_note("%s: %lu MiB each way in %llu ms", name, mib,
			  (unsigned long long)(out.nsec / TL_NSEC_PER_MSEC));
	outcome_report(&out, name);
}

/* Odd lengths, random sizes of writes and reads. */
static void run_random(unsigned long mib, enum trf_io io, const char *name)
{
	struct trf_outcome out;

	one_stream(mib * MIB + 12345, 0, io, &out);
	note_modes(name, &out);
	outcome_report(&out, name);
}

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void run_messages(unsigned long count, u16 flags, const char *name)
{
	static const unsigned int sizes[] = { 1, 2, 44, 45, 1024, 4096, 16384, 65535, 65536 };
	u64 *rtt = calloc(count, sizeof(*rtt));
	struct trf_client c = opt.client;
	struct trf_outcome out;
	int fd = trf_client_connect(&c, &out);
	int err = fd < 0 ? fd : 0;

	if (!rtt)
		err = trf_fail(&out, -ENOMEM, "no memory");
	for (size_t i = 0; !err && i < TL_ARRAY_SIZE(sizes); i++) {
		struct trf_req req;

		/*
		 * An in-tree reader never consumes an urgent byte that comes alone, and blocks its
		 * writer. The same may happen to the last byte of a message that fills the peer's
		 * RMBE, when the window opens.
		 */
		if (flags & TRF_F_URGENT && (sizes[i] == 1 || sizes[i] > 16384) &&
		    (opt.client_intree || opt.server_intree))
			continue;
		c.seed = next_seed();
		trf_client_req(&c, &req, TRF_PINGPONG);
		req.flags |= flags;
		req.to_server = sizes[i];
		req.count = count;
		err = trf_client_pingpong(&c, fd, &req, rtt, &out);
		if (err)
			break;
		qsort(rtt, count, sizeof(*rtt), cmp_u64);
		err = check_still(rtt[count - 1], &out);
		ktap_note("%s: %u bytes: median %llu us", name, sizes[i],
			  (unsigned long long)(rtt[count / 2] / 1000));
	}
	note_modes(name, &out);
	if (fd >= 0)
		close(fd);
	free(rtt);
	outcome_report(&out, name);
}

static void run_pingpong(unsigned long count, enum trf_io io, const char *name)
{
	(void)io;
	run_messages(count, 0, name);
}

/* The last byte of each message is urgent and read out of band. */
static void run_urgent(unsigned long count, enum trf_io io, const char *name)
{
	(void)io;
	run_messages(count, TRF_F_URGENT, name);
}

static void run_connects(unsigned long count, enum trf_io io, const char *name)
{
	struct trf_outcome out = { .err = -EINVAL };
	u64 t0 = tl_now_ns();

	for (unsigned long i = 0; i < count; i++) {
		if (one_stream(1, 1, io, &out)) {
			ktap_note("%s: number %lu of %lu", name, i + 1, count);
			break;
		}
	}
	note_modes(name, &out);
	ktap_note("%s: %lu in %llu ms", name, count,
		  (unsigned long long)((tl_now_ns() - t0) / TL_NSEC_PER_MSEC));
	outcome_report(&out, name);
}

/*
 * Connections that each build a link group: the next one begins only when the group of the last one
 * has ended. The administrator's settings must make groups end soon.
 */
static int await_no_group(unsigned int timeout_ms, struct trf_outcome *out)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;
	int nr;

	for (;;) {
		nr = tl_link_groups();
		if (nr < 0)
			return trf_fail(out, nr, "list of link groups: %s", tl_errno_name(-nr));
		if (!nr)
			return 0;
		if (tl_now_ns() >= until)
			return trf_fail(out, -ETIMEDOUT, "%d link groups do not end", nr);
		tl_sleep_ms(5);
	}
}

static void run_contacts(unsigned long count, enum trf_io io, const char *name)
{
	struct trf_outcome out = { .err = -EINVAL };
	u64 t0 = tl_now_ns();
	unsigned long i;

	for (i = 0; i < count; i++) {
		if (await_no_group(opt.client.timeout_ms, &out))
			break;
		/* our list no longer has the group while DELETE LINK is on its way to the peer */
		tl_sleep_ms(opt.settle_ms);
		if (one_stream(CONTACT_BYTES, CONTACT_BYTES, io, &out))
			break;
	}
	if (i < count)
		ktap_note("%s: number %lu of %lu", name, i + 1, count);
	note_modes(name, &out);
	ktap_note("%s: %lu in %llu ms", name, i,
		  (unsigned long long)((tl_now_ns() - t0) / TL_NSEC_PER_MSEC));
	outcome_report(&out, name);
}

/**
 * struct worker - one thread of a test with many connections
 * @thread: its thread
 * @gate: barrier at which all threads start to connect
 * @bytes: length of its stream
 * @wsize: bytes of one write
 * @io: style of waiting
 * @hold: keep the connection open
 * @fd: the connection, or a negative number
 * @out: result
 */
struct worker {
	pthread_t thread;
	pthread_barrier_t *gate;
	u64 bytes;
	u32 wsize;
	enum trf_io io;
	bool hold;
	int fd;
	struct trf_outcome out;
};

static void *worker_thread(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(w->gate);
	w->fd = open_stream(w->bytes, w->wsize, w->io, &w->out);
	if (w->fd >= 0 && !w->hold)
		close(w->fd);
	return NULL;
}

/*
 * Wait for all workers. Return the number of failures, with one of them in @out. The shortest and
 * longest duration and the longest standstill show starvation.
 */
static unsigned long join_workers(struct worker *workers, unsigned long count, const char *name,
				  struct trf_outcome *out)
{
	u64 still = 0, first = UINT64_MAX, last = 0;
	unsigned long bad = 0;

	for (unsigned long i = 0; i < count; i++) {
		const struct trf_outcome *o = &workers[i].out;

		pthread_join(workers[i].thread, NULL);
		if (o->still_ns > still)
			still = o->still_ns;
		if (!o->err) {
			first = o->nsec < first ? o->nsec : first;
			last = o->nsec > last ? o->nsec : last;
			continue;
		}
		bad++;
		*out = *o;
		ktap_note("%s: connection %lu: %s", name, i, out->what);
	}
	if (last)
		ktap_note("%s: %llu to %llu ms, longest standstill %llu ms", name,
			  (unsigned long long)(first / TL_NSEC_PER_MSEC),
			  (unsigned long long)(last / TL_NSEC_PER_MSEC),
			  (unsigned long long)(still / TL_NSEC_PER_MSEC));
	return bad;
}

/* Hold all connections until SIGTERM or until one of them ends; then close them. */
static void conns_hold(const struct worker *workers, unsigned long count, struct trf_outcome *out)
{
	struct timespec tick = { .tv_nsec = 100 * TL_NSEC_PER_MSEC };
	char byte;

	if (!out->err)
		printf("# holding %lu\n", count);
	fflush(stdout);
	while (!out->err && sigtimedwait(&stop_signal, NULL, &tick) < 0) {
		for (unsigned long i = 0; i < count; i++) {
			ssize_t n = recv(workers[i].fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

			if (!n || (n < 0 && errno != EAGAIN))
				trf_fail(out, n ? -errno : -ENODATA, "connection %lu: %s", i,
					 n ? tl_errno_name(errno) : "end of stream");
		}
	}
	for (unsigned long i = 0; i < count; i++) {
		if (workers[i].fd >= 0)
			close(workers[i].fd);
	}
}

static void run_many(unsigned long count, u64 bytes, enum trf_io io, bool holds, const char *name)
{
	struct worker *workers = calloc(count, sizeof(*workers));
	struct trf_outcome out = { .err = 0 };
	unsigned long started = 0, bad;
	pthread_barrier_t gate;
	pthread_attr_t attr;

	if (!workers || !count || count > MAX_THREADS) {
		trf_fail(&out, -EINVAL, "bad number of connections");
		outcome_report(&out, name);
		free(workers);
		return;
	}
	pthread_barrier_init(&gate, NULL, count);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	for (; started < count; started++) {
		struct worker *w = &workers[started];

		w->gate = &gate;
		w->bytes = bytes;
		w->wsize = opt.wsize;
		w->hold = holds;
		w->io = io == TRF_IO_NR ? (enum trf_io)(started % TRF_IO_NR) : io;
		/* a missing thread would block the others at the barrier for ever */
		if (pthread_create(&w->thread, &attr, worker_thread, w)) {
			printf("Bail out! cannot start thread %lu\n", started);
			exit(KTAP_FAIL);
		}
	}
	bad = join_workers(workers, started, name, &out);
	if (bad)
		ktap_note("%s: %lu of %lu connections failed", name, bad, count);
	else
		out = workers[0].out;
	note_modes(name, &out);
	if (holds)
		conns_hold(workers, count, &out);
	pthread_barrier_destroy(&gate);
	pthread_attr_destroy(&attr);
	free(workers);
	outcome_report(&out, name);
}

static void run_burst(unsigned long count, enum trf_io io, const char *name)
{
	run_many(count, 1000, io, false, name);
}

/* For tests that inspect open connections: runs until SIGTERM. */
static void run_hold(unsigned long count, enum trf_io io, const char *name)
{
	run_many(count, CONTACT_BYTES, io, true, name);
}

static void run_parallel(unsigned long count, enum trf_io io, const char *name)
{
	(void)io;
	/* all styles of waiting at the same time */
	run_many(count, 2 * MIB, TRF_IO_NR, false, name);
}

#define PART_LEN	(100 * KIB)	/* more than the reader's ring; ours takes the rest */

/* A connection that one side closes with unsent bytes. */
struct part {
	struct trf_client c;
	struct trf_req req;
	struct trf_outcome out;
	int fd;
};

static const struct {
	const char *name;
	enum trf_op op;
	unsigned int flags;
} parts[] = {
	{ "client-close",	TRF_PART_CLIENT,	0 },
	{ "client-shutdown",	TRF_PART_CLIENT,	TRF_F_SHUT },
	{ "server-close",	TRF_PART_SERVER,	0 },
	{ "server-shutdown",	TRF_PART_SERVER,	TRF_F_SHUT },
	{ "server-linger",	TRF_PART_SERVER,	TRF_F_LINGER },
	/* must be last: its close() waits until the server reads */
	{ "client-linger",	TRF_PART_CLIENT,	TRF_F_LINGER },
};

static void part_begin(struct part *p, size_t i, unsigned long ms)
{
	int err;

	p->c = opt.client;
	p->fd = trf_client_connect(&p->c, &p->out);
	if (p->fd < 0)
		return;
	p->c.seed = next_seed();
	trf_client_req(&p->c, &p->req, parts[i].op);
	p->req.flags |= parts[i].flags;
	p->req.to_server = PART_LEN;
	p->req.to_client = PART_LEN;
	p->req.count = ms;
	err = trf_req_send(p->fd, &p->req);
	if (!err && p->req.op == TRF_PART_CLIENT)
		err = trf_part(&p->fd, &p->req, trf_seed_to_server(p->req.seed), PART_LEN);
	if (err)
		trf_fail(&p->out, err, "parting: %s", tl_errno_name(-err));
}

static void part_end(struct part *p)
{
	u64 good = 0;
	int err;

	if (p->out.err)
		return;
	if (p->req.op == TRF_PART_CLIENT) {
		err = trf_part_end(&p->fd, &p->req);
		if (err)
			trf_fail(&p->out, err, "the end: %s", tl_errno_name(-err));
		else
			trf_client_parted(&p->c, &p->req, &p->out);
		return;
	}
	err = trf_recv_piece(p->fd, trf_seed_to_client(p->req.seed), 0, PART_LEN, &good);
	if (!err)
		err = trf_expect_eof(p->fd);
	if (err)
		trf_fail(&p->out, err, "%s after %llu bytes", tl_errno_name(-err),
			 (unsigned long long)good);
}

/* All variants at the same time, so that an event between begin and end concerns all of them. */
static void run_part(unsigned long secs, enum trf_io io, const char *name)
{
	struct part p[TL_ARRAY_SIZE(parts)] = { 0 };
	u64 until = tl_now_ns() + secs * TL_NSEC_PER_SEC;
	char full[64];

	(void)io;
	for (size_t i = 0; i < TL_ARRAY_SIZE(parts); i++)
		part_begin(&p[i], i, secs * 1000);
	printf("# all have parted\n");
	part_end(&p[TL_ARRAY_SIZE(parts) - 1]);
	while (tl_now_ns() < until)
		tl_sleep_ms(50);
	for (size_t i = 0; i < TL_ARRAY_SIZE(parts); i++) {
		if (i < TL_ARRAY_SIZE(parts) - 1)
			part_end(&p[i]);
		if (p[i].fd >= 0)
			close(p[i].fd);
		snprintf(full, sizeof(full), "%s-%s", name, parts[i].name);
		note_modes(full, &p[i].out);
		outcome_report(&p[i].out, full);
	}
}

static void run_halfclose(unsigned long kib, enum trf_io io, const char *name)
{
	static const enum trf_op ops[] = { TRF_HALFCLOSE_CLIENT, TRF_HALFCLOSE_SERVER };
	static const char * const who[] = { "client", "server" };

	(void)io;
	for (size_t i = 0; i < TL_ARRAY_SIZE(ops); i++) {
		struct trf_client c = opt.client;
		struct trf_outcome out;
		struct trf_req req;
		char full[64];
		int fd = trf_client_connect(&c, &out);

		if (fd >= 0) {
			c.seed = next_seed();
			trf_client_req(&c, &req, ops[i]);
			req.to_server = kib * KIB + 1;
			req.to_client = kib * KIB + 77;
			trf_client_halfclose(&c, fd, &req, &out);
			close(fd);
		}
		snprintf(full, sizeof(full), "%s-%s", name, who[i]);
		note_modes(full, &out);
		outcome_report(&out, full);
	}
}

/*
 * The in-tree family does not reset for SO_LINGER 0, and its receiver reports a reset as the end of
 * the stream.
 */
static bool reset_may_be_eof(enum trf_op op, bool linger)
{
	bool from_intree = op == TRF_RESET_CLIENT ? opt.client_intree : opt.server_intree;
	bool to_intree = op == TRF_RESET_CLIENT ? opt.server_intree : opt.client_intree;

	return to_intree || (linger && from_intree);
}

static void run_reset(unsigned long bytes, enum trf_io io, const char *name)
{
	static const struct {
		const char *name;
		enum trf_op op;
		u16 flags;
	} ways[] = {
		{ "client-unread", TRF_RESET_CLIENT, 0 },
		{ "client-linger", TRF_RESET_CLIENT, TRF_F_LINGER },
		{ "server-unread", TRF_RESET_SERVER, 0 },
		{ "server-linger", TRF_RESET_SERVER, TRF_F_LINGER },
	};

	(void)io;
	for (size_t i = 0; i < TL_ARRAY_SIZE(ways); i++) {
		bool linger = ways[i].flags & TRF_F_LINGER;
		struct trf_client c = opt.client;
		struct trf_outcome out;
		struct trf_req req;
		char full[64];
		int fd = trf_client_connect(&c, &out);

		if (fd >= 0) {
			c.seed = next_seed();
			trf_client_req(&c, &req, ways[i].op);
			req.flags |= ways[i].flags;
			if (reset_may_be_eof(ways[i].op, linger))
				req.flags |= TRF_F_EOF_OK;
			if (ways[i].op == TRF_RESET_SERVER)
				req.to_server = linger ? 0 : bytes;
			else
				req.to_client = linger ? 1 : bytes;
			trf_client_reset(&c, fd, &req, &out);
		}
		snprintf(full, sizeof(full), "%s-%s", name, ways[i].name);
		outcome_report(&out, full);
	}
}

/* Pause until SIGTERM or for so long; then the connection must work as before. */
static void run_idle(unsigned long seconds, enum trf_io io, const char *name)
{
	struct timespec pause = { .tv_sec = seconds };
	struct trf_client c = opt.client;
	struct trf_outcome out;
	int fd, err = 0;

	/* the server waits for the next request during the pause, without a time-out */
	fd = trf_client_connect(&c, &out);
	for (int round = 0; fd >= 0 && !err && round < 2; round++) {
		struct trf_req req;

		if (round)
			sigtimedwait(&stop_signal, NULL, &pause);
		c.seed = next_seed();
		trf_client_req(&c, &req, TRF_STREAM);
		req.timeout_ms += seconds * 1000;
		req.io = io;
		req.wsize = opt.wsize;
		req.to_server = 256 * KIB;
		req.to_client = 256 * KIB;
		err = trf_client_stream(&c, fd, &req, &out);
	}
	if (fd >= 0)
		close(fd);
	note_modes(name, &out);
	outcome_report(&out, name);
}

static const struct subtest subtests[] = {
	{ "stream",	run_stream,	64,	1, true },
	{ "random",	run_random,	8,	1, true },
	{ "pingpong",	run_pingpong,	50,	1, false },
	{ "urgent",	run_urgent,	20,	1, false },
	{ "connects",	run_connects,	200,	1, false },
	{ "contacts",	run_contacts,	100,	1, false },
	{ "burst",	run_burst,	50,	1, false },
	{ "hold",	run_hold,	1,	1, false },
	{ "parallel",	run_parallel,	32,	1, false },
	{ "halfclose",	run_halfclose,	1024,	2, false },
	{ "part",	run_part,	2,	TL_ARRAY_SIZE(parts), false },
	{ "reset",	run_reset,	8192,	4, false },
	{ "idle",	run_idle,	5,	1, false },
};

/**
 * struct selected - a subtest chosen on the command line
 * @test: the subtest
 * @arg: number given for it
 */
struct selected {
	const struct subtest *test;
	unsigned long arg;
};

static int select_one(const char *word, struct selected *sel)
{
	size_t n = strcspn(word, ":");
	char *end;

	for (size_t i = 0; i < TL_ARRAY_SIZE(subtests); i++) {
		const struct subtest *t = &subtests[i];

		if (strlen(t->name) != n || strncmp(t->name, word, n))
			continue;
		sel->test = t;
		sel->arg = t->arg;
		if (!word[n])
			return 0;
		sel->arg = strtoul(word + n + 1, &end, 0);
		return *end || !sel->arg ? -EINVAL : 0;
	}
	return -EINVAL;
}

static unsigned int results_of(const struct selected *sel)
{
	return sel->test->results * (sel->test->per_io && opt.io == TRF_IO_NR ? TRF_IO_NR : 1);
}

static void run_selected(const struct selected *sel)
{
	enum trf_io first = opt.io == TRF_IO_NR ? TRF_IO_BLOCK : opt.io;
	enum trf_io last = opt.io == TRF_IO_NR && sel->test->per_io ? TRF_IO_NR - 1 : first;

	for (int io = first; io <= (int)last; io++) {
		char name[64];

		if (sel->test->per_io)
			snprintf(name, sizeof(name), "%s-%s", sel->test->name, trf_io_name(io));
		else
			snprintf(name, sizeof(name), "%s", sel->test->name);
		sel->test->run(sel->arg, io, name);
	}
}

static int wait_for_server(void)
{
	u64 until = tl_now_ns() + opt.wait_s * TL_NSEC_PER_SEC;
	struct trf_client c = opt.client;
	struct trf_outcome out;
	int fd;

	c.require = TL_MODE_UNKNOWN;
	do {
		fd = trf_client_connect(&c, &out);
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		tl_sleep_ms(200);
	} while (tl_now_ns() < until);
	ktap_note("no server: %s", out.what);
	return fd;
}

static void quit_server(void)
{
	struct trf_client c = opt.client;
	struct trf_outcome out;
	int fd;

	c.require = TL_MODE_UNKNOWN;
	fd = trf_client_connect(&c, &out);
	if (fd >= 0 && !trf_client_simple(&c, fd, TRF_QUIT, 0, &out))
		ktap_note("server: %llu connections, %llu alien requests, %u failures",
			  (unsigned long long)out.verdict.bytes,
			  (unsigned long long)out.verdict.bad_off, out.verdict.peer_reason);
	else
		ktap_note("server did not quit: %s", out.what);
	if (fd >= 0)
		close(fd);
}

static int client_main(char **words, int nr)
{
	struct selected sel[64];
	unsigned int planned = 0;
	int nr_sel = 0;

	if (!nr || !strcmp(words[0], "all")) {
		for (size_t i = 0; i < TL_ARRAY_SIZE(subtests); i++) {
			/* these need prepared hosts, or a signal to end them */
			if (subtests[i].run != run_contacts && subtests[i].run != run_hold)
				sel[nr_sel++] = (struct selected){ &subtests[i], subtests[i].arg };
		}
		nr = 0;
	}
	for (int i = 0; i < nr && nr_sel < (int)TL_ARRAY_SIZE(sel); i++) {
		if (select_one(words[i], &sel[nr_sel++])) {
			fprintf(stderr, "unknown subtest %s\n", words[i]);
			return 2;
		}
	}
	for (int i = 0; i < nr_sel; i++)
		planned += results_of(&sel[i]);
	ktap_plan(planned);
	sigemptyset(&stop_signal);
	for (int i = 0; i < nr_sel; i++) {
		if (sel[i].test->run == run_hold || sel[i].test->run == run_idle)
			sigaddset(&stop_signal, SIGTERM);
	}
	sigprocmask(SIG_BLOCK, &stop_signal, NULL);
	if (!tl_proto_available(opt.client.proto)) {
		for (unsigned int i = 0; i < planned; i++)
			ktap_skip(&ktap, "traffic", "this kernel has no such family");
		return ktap_exit_code(&ktap);
	}
	if (opt.wait_s && wait_for_server()) {
		printf("Bail out! no server\n");
		return KTAP_FAIL;
	}
	for (int i = 0; i < nr_sel; i++)
		run_selected(&sel[i]);
	if (opt.quit)
		quit_server();
	return ktap_exit_code(&ktap);
}

static int server_main(void)
{
	struct trf_server srv = {
		.proto = opt.client.proto,
		.require = opt.client.require,
		.verbose = opt.verbose,
		.corrupt = opt.corrupt,
	};
	char text[80];
	int fd = tl_listen(srv.proto, &opt.client.from, 1024);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (fd < 0) {
		fprintf(stderr, "listen: %s\n", tl_errno_name(-fd));
		return fd == -EAFNOSUPPORT ? KTAP_SKIP : KTAP_FAIL;
	}
	/* connections inherit it */
	if (opt.client.tos && tl_set_tos(fd, opt.client.tos)) {
		fprintf(stderr, "cannot set --tos\n");
		return KTAP_FAIL;
	}
	if (opt.device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, opt.device,
				     strlen(opt.device))) {
		fprintf(stderr, "cannot set --device\n");
		return KTAP_FAIL;
	}
	if (trf_set_paths(&opt.client, fd)) {
		fprintf(stderr, "cannot set --link-policy or --balance\n");
		return KTAP_FAIL;
	}
	printf("# listening on %s\n", tl_addr_str(&opt.client.from, text, sizeof(text)));
	fprintf(stderr, "accept: %s\n", tl_errno_name(-trf_server_run(&srv, fd)));
	return KTAP_FAIL;
}

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_traffic server [options]\n"
		"       smc_traffic client --connect ADDR [options] [SUBTEST[:N]]...\n"
		"  --family F      smc, smc6, inet or inet6 (default smc)\n"
		"  --bind ADDR     local address\n"
		"  --device NAME   server: SO_BINDTODEVICE\n"
		"  --port N        port of the server (default %u)\n"
		"  --require M     smc or tcp: a connection of any other mode fails\n"
		"  --mode          print the mode of each connection\n"
		"  --io STYLE      block, poll, epoll or all\n"
		"  --wsize N       bytes of one write, or rand\n"
		"  --timeout MS    silence after which an operation has failed\n"
		"  --seed N        first seed\n"
		"  --wait S        client: wait that long for the server\n"
		"  --quit          client: end the server afterwards\n"
		"  --strict        a skip is a failure\n"
		"  --verbose       server: one line for each operation\n"
		"  --intree SIDE   client: client, server or both are the in-tree SMC, which\n"
		"                  reports some resets as an end of the stream\n"
		"  --tos N         IP_TOS or IPV6_TCLASS of each connection\n"
		"  --link-policy N SMC_OWN_LINK_POLICY of each connection\n"
		"  --balance N     SMC_OWN_BALANCE of each connection\n"
		"  --fastopen      client: the first data is sent with the SYN\n"
		"  --still MS      client: a longer time without progress is a failure\n"
		"  --pause MS      client: a pause between its request and its own reset\n"
		"  --peek          client: streams are looked at before they are read, on both sides\n"
		"  --pages         client: streams are sent by sendfile() and received by splice(),\n"
		"                  from lent memory, on both sides\n"
		"  --corrupt OFF   server: falsify one byte of each stream; the client must notice\n"
		"subtests:", DEFAULT_PORT);
	for (size_t i = 0; i < TL_ARRAY_SIZE(subtests); i++)
		fprintf(stderr, " %s:%lu", subtests[i].name, subtests[i].arg);
	fprintf(stderr, "\n");
	exit(2);
}

static int parse_io(const char *name)
{
	for (int io = 0; io < TRF_IO_NR; io++) {
		if (!strcmp(name, trf_io_name(io)))
			return io;
	}
	if (strcmp(name, "all"))
		bad_usage();
	return TRF_IO_NR;
}

static const struct option longopts[] = {
	{ "family",	required_argument, NULL, 'f' },
	{ "bind",	required_argument, NULL, 'b' },
	{ "connect",	required_argument, NULL, 'c' },
	{ "port",	required_argument, NULL, 'p' },
	{ "require",	required_argument, NULL, 'r' },
	{ "mode",	no_argument, NULL, 'm' },
	{ "io",		required_argument, NULL, 'i' },
	{ "wsize",	required_argument, NULL, 'w' },
	{ "timeout",	required_argument, NULL, 't' },
	{ "seed",	required_argument, NULL, 's' },
	{ "wait",	required_argument, NULL, 'W' },
	{ "quit",	no_argument, NULL, 'q' },
	{ "strict",	no_argument, NULL, 'S' },
	{ "verbose",	no_argument, NULL, 'v' },
	{ "corrupt",	required_argument, NULL, 'C' },
	{ "intree",	required_argument, NULL, 'I' },
	{ "settle",	required_argument, NULL, 'T' },
	{ "tos",	required_argument, NULL, 'O' },
	{ "link-policy", required_argument, NULL, 'Y' },
	{ "balance",	required_argument, NULL, 'B' },
	{ "fastopen",	no_argument, NULL, 'F' },
	{ "pages",	no_argument, NULL, 'P' },
	{ "pause",	required_argument, NULL, 'U' },
	{ "peek",	no_argument, NULL, 'K' },
	{ "still",	required_argument, NULL, 'L' },
	{ "device",	required_argument, NULL, 'D' },
	{ }
};

static void parse_simple(int o)
{
	switch (o) {
	case 'r':
		if (tl_mode_parse(optarg, &opt.client.require))
			bad_usage();
		break;
	case 'm':
		opt.client.show_mode = true;
		break;
	case 'i':
		opt.io = parse_io(optarg);
		break;
	case 'w':
		opt.wsize = strcmp(optarg, "rand") ? strtoul(optarg, NULL, 0) : 0;
		if (opt.wsize > TRF_WSIZE_MAX)
			bad_usage();
		break;
	case 't':
		opt.client.timeout_ms = strtoul(optarg, NULL, 0);
		break;
	case 's':
		opt.client.seed = strtoull(optarg, NULL, 0) << 20;
		break;
	case 'W':
		opt.wait_s = strtoul(optarg, NULL, 0);
		break;
	case 'P':
		opt.client.pages = true;
		break;
	case 'U':
		opt.client.pause_ms = strtoul(optarg, NULL, 0);
		break;
	case 'K':
		opt.client.peek = true;
		break;
	case 'L':
		opt.still_ms = strtoul(optarg, NULL, 0);
		break;
	case 'q':
		opt.quit = true;
		break;
	case 'S':
		ktap.strict = true;
		break;
	case 'v':
		opt.verbose = true;
		break;
	case 'I':
		opt.client_intree = !strcmp(optarg, "client") || !strcmp(optarg, "both");
		opt.server_intree = !strcmp(optarg, "server") || !strcmp(optarg, "both");
		if (!opt.client_intree && !opt.server_intree)
			bad_usage();
		break;
	case 'T':
		opt.settle_ms = strtoul(optarg, NULL, 0);
		break;
	case 'O':
		opt.client.tos = strtoul(optarg, NULL, 0);
		break;
	case 'Y':
		opt.link_policy = strtol(optarg, NULL, 0);
		opt.client.link_policy = &opt.link_policy;
		break;
	case 'B':
		opt.balance = strtol(optarg, NULL, 0);
		opt.client.balance = &opt.balance;
		break;
	case 'F':
		opt.client.fastopen = true;
		break;
	case 'D':
		opt.device = optarg;
		break;
	case 'C':
		opt.corrupt = strtoull(optarg, NULL, 0);
		break;
	default:
		bad_usage();
	}
}

int main(int argc, char **argv)
{
	const char *family = "smc", *bind_to = NULL, *connect_to = NULL;
	unsigned int port = DEFAULT_PORT;
	bool server;
	int o;

	if (argc < 2 || (strcmp(argv[1], "server") && strcmp(argv[1], "client")))
		bad_usage();
	server = !strcmp(argv[1], "server");
	while ((o = getopt_long(argc - 1, argv + 1, "", longopts, NULL)) != -1) {
		if (o == 'f')
			family = optarg;
		else if (o == 'b')
			bind_to = optarg;
		else if (o == 'c')
			connect_to = optarg;
		else if (o == 'p')
			port = strtoul(optarg, NULL, 0);
		else
			parse_simple(o);
	}
	opt.client.proto = tl_proto_find(family);
	if (!opt.client.proto || !opt.client.timeout_ms || server == !!connect_to)
		bad_usage();
	if ((server || bind_to) &&
	    tl_addr_parse(&opt.client.from, opt.client.proto, bind_to, server ? port : 0))
		bad_usage();
	if (connect_to && tl_addr_parse(&opt.client.to, opt.client.proto, connect_to, port))
		bad_usage();
	signal(SIGPIPE, SIG_IGN);
	return server ? server_main() : client_main(argv + 1 + optind, argc - 1 - optind);
}
