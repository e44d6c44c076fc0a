// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the speed of one family between two hosts; the peer is `smc_traffic server`.
 *
 * Prints one JSON object per measurement.  A script of the machine runs this program
 * alternately for TCP, the in-tree module and ours and passes all lines to
 * report.py.  The data is neither generated nor compared: that would measure
 * the test program.
 *
 * With --insn, the clock of the machine counts instructions (vm.py --bed insn), and each row gives
 * its cost in thousands of instructions: per 64 KB of a stream, per round trip, per connection;
 * with --rnic also the packets that this RDMA device sends for it.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "marks.h"

#define DEFAULT_PORT	4430
#define MAX_ROUNDS	100000U
#define MAX_CONNS	64
#define SIZES_FIRST	12
#define SIZES_LAST	20
#define GROWTH_MS	200
#define RESPONSE	(4U * KIB)	/* bytes of an answer of the row requests */
#define LEARN_CONNS	8	/* so many short connections are enough for AUTOSMC */
#define LEARN_UID	1000
#define QUIET_MS	100	/* the RDMA core renews a counter that is older than 10 ms */
#define QUIET_TRIES	20

struct options opt = {
	.client = { .timeout_ms = 60000, .seed = 1 },
	.conns = "1,16,256",
	.prefix = "scale",
	.target_ms = 1000,
	.count = 200,
	.runs = 1,
};

static unsigned int run_nr;

/**
 * struct row - one line of the table
 * @name: its name
 * @run: measures once; returns 0 with @value filled in, or a negative errno
 * @size: bytes of one write or message
 * @conns: connections at the same time
 * @unit: of the value
 * @higher: a higher value is better
 * @how: of a stream: TRF_F_BULK bits
 */
struct row {
	const char *name;
	int (*run)(const struct row *row, double *value, struct trf_outcome *out);
	unsigned int size;
	unsigned int conns;
	const char *unit;
	bool higher;
	u16 how;
};

static double measured_units;	/* of the last cost */
static u64 measured_packets;	/* between its marks */

/* The cost of @units that took @nsec, in thousands of instructions. */
double cost_of(u64 nsec, double units)
{
	measured_units = units;
	return nsec / 1000.0 / units;
}

/* Return the packets that the RNIC has sent. */
static u64 packets_now(void)
{
	unsigned long long n;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts",
		 opt.rnic);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &n) != 1) {
		fprintf(stderr, "smc_bench: no number in %s\n", path);
		exit(1);
	}
	fclose(f);
	return n;
}

/*
 * Return the packets that the RNIC has sent when it is quiet: those that works send behind what was
 * measured, as the keys of regions added behind a first contact, belong to it. Sleeps, so it is
 * called outside of what is measured.
 */
static u64 packets_sent(void)
{
	u64 n = 0, before;

	if (!opt.rnic)
		return 0;
	/* limited: beside a stream that goes on it is never quiet */
	for (unsigned int i = 0; i < QUIET_TRIES; i++) {
		before = n;
		tl_sleep_ms(QUIET_MS);
		n = packets_now();
		if (n == before)
			break;
	}
	return n;
}

static void mark_begin(void)
{
	measured_packets = packets_sent();
	insn_mark_begin();
}

static void mark_end(void)
{
	insn_mark_end();
	measured_packets = packets_sent() - measured_packets;
}

u64 measure_begin(void)
{
	mark_begin();
	return tl_now_ns();
}

u64 measure_end(u64 begin)
{
	u64 nsec = tl_now_ns() - begin;

	mark_end();
	return nsec;
}

/*
 * Called outside the measured time: a sock_diag dump takes time, and only SMC
 * sockets need it.
 */
int check_mode(int fd, enum tl_mode require, struct trf_outcome *out)
{
	int err = tl_diag_get(fd, opt.client.proto, &out->local);

	if (require == TL_MODE_UNKNOWN)
		return 0;
	if (err)
		return trf_fail(out, err, "sock_diag: %s", tl_errno_name(-err));
	if (out->local.mode != require)
		return trf_fail(out, -ENOLINK, "mode is %s, not %s (reason %08x, peer %08x)",
				tl_mode_name(out->local.mode), tl_mode_name(require),
				out->local.reason, out->local.peer_reason);
	return 0;
}

static int check_conn_mode(int fd, struct trf_outcome *out)
{
	return check_mode(fd, opt.require, out);
}

static int run_one_stream(int fd, const struct row *row, u64 bytes, struct trf_outcome *out)
{
	struct trf_req req;

	trf_client_req(&opt.client, &req, TRF_STREAM);
	req.flags |= TRF_F_NOCHECK | row->how;
	req.io = TRF_IO_BLOCK;
	req.wsize = row->size;
	req.to_server = bytes;
	return trf_client_stream(&opt.client, fd, &req, out);
}

/*
 * Short runs warm the connection up; the speed of the second one sets the size of the measured
 * run. The pause lets a work get the bigger send ring that the first one asks for, and covers the
 * time after which a failed attempt is repeated.
 */
static int run_stream(const struct row *row, double *value, struct trf_outcome *out)
{
	u64 bytes = row->size > MIB ? row->size : MIB;
	int fd = trf_client_connect(&opt.client, out);
	int err = fd < 0 ? fd : check_conn_mode(fd, out);

	for (int i = 0; i < 2 && !err; i++) {
		err = run_one_stream(fd, row, bytes, out);
		if (!err && !i)
			tl_sleep_ms(GROWTH_MS);
	}
	if (!err) {
		double per_ms = (double)bytes * TL_NSEC_PER_MSEC / (out->nsec ? out->nsec : 1);

		bytes = per_ms * opt.target_ms;
		bytes -= bytes % row->size;
		if (bytes < row->size)
			bytes = row->size;
		mark_begin();
		err = run_one_stream(fd, row, bytes, out);
		mark_end();
	}
	if (!err)
		*value = opt.insn ? cost_of(out->nsec, (double)bytes / COST_UNIT)
				  : (double)bytes * 1000 / out->nsec;
	if (fd >= 0)
		close(fd);
	return err;
}

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 sum_u64(const u64 *v, unsigned int n)
{
	u64 sum = 0;

	while (n--)
		sum += v[n];
	return sum;
}

int run_one_pingpong(int fd, unsigned int size, unsigned int count, u64 *rtt,
		     struct trf_outcome *out)
{
	struct trf_req req;

	trf_client_req(&opt.client, &req, TRF_PINGPONG);
	req.flags |= TRF_F_NOCHECK;
	req.to_server = size;
	req.count = count;
	return trf_client_pingpong(&opt.client, fd, &req, rtt, out);
}

/* Without it, TCP holds back the message behind a request until the peer's delayed ACK. */
void send_at_once(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int run_pingpong(const struct row *row, double *value, struct trf_outcome *out)
{
	u64 *rtt = calloc(opt.count, sizeof(*rtt));
	int fd = trf_client_connect(&opt.client, out);
	int err = fd < 0 ? fd : check_conn_mode(fd, out);

	if (!rtt && !err)
		err = trf_fail(out, -ENOMEM, "no memory");
	if (!err)
		send_at_once(fd);
	if (!err)
		err = run_one_pingpong(fd, row->size, 20, NULL, out);
	if (!err) {
		mark_begin();
		err = run_one_pingpong(fd, row->size, opt.count, rtt, out);
		mark_end();
	}
	if (!err && opt.insn) {
		*value = cost_of(sum_u64(rtt, opt.count), opt.count);
	} else if (!err) {
		qsort(rtt, opt.count, sizeof(*rtt), cmp_u64);
		*value = rtt[opt.count / 2] / 1000.0;
	}
	if (fd >= 0)
		close(fd);
	free(rtt);
	return err;
}

/**
 * struct worker - one of the connections of a parallel row
 * @thread: its thread
 * @row: row
 * @fd: connection
 * @err: result of the exchange
 * @out: its description
 */
struct worker {
	pthread_t thread;
	const struct row *row;
	int fd;
	int err;
	struct trf_outcome out;
};

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	w->err = run_one_pingpong(w->fd, w->row->size, opt.count, NULL, &w->out);
	return NULL;
}

/* All connections exchange messages at once. A round trip of each one warms it up. */
static int run_parallel(const struct row *row, double *value, struct trf_outcome *out)
{
	static struct worker workers[MAX_CONNS];
	unsigned int n, started = 0;
	int err = 0;
	u64 t0;

	for (n = 0; n < row->conns && !err; n++) {
		workers[n].row = row;
		workers[n].fd = trf_client_connect(&opt.client, out);
		err = workers[n].fd < 0 ? workers[n].fd : check_conn_mode(workers[n].fd, out);
		if (!err)
			send_at_once(workers[n].fd);
		if (!err)
			err = run_one_pingpong(workers[n].fd, row->size, 1, NULL, out);
	}
	t0 = measure_begin();
	for (; started < row->conns && !err; started++)
		err = -pthread_create(&workers[started].thread, NULL, worker_main,
				      &workers[started]);
	for (unsigned int i = 0; i < started; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].err && !err) {
			err = workers[i].err;
			*out = workers[i].out;
		}
	}
	t0 = measure_end(t0);
	*value = opt.insn ? cost_of(t0, (double)row->conns * opt.count)
			  : (double)row->conns * opt.count * TL_NSEC_PER_SEC / t0;
	while (n--)
		if (workers[n].fd >= 0)
			close(workers[n].fd);
	return err;
}

/* What a short connection carries: one byte each way, or a request and a response (exchange). */
typedef int (*use_fn)(int fd, const struct row *row, struct trf_outcome *out);

static int exchange_byte(int fd, const struct row *row, struct trf_outcome *out)
{
	return run_one_pingpong(fd, row->size, 1, NULL, out);
}

/* A response of this size, behind which the server closes: HTTP with "Connection: close". */
static int exchange_request(int fd, const struct row *row, struct trf_outcome *out)
{
	static u8 response[RESPONSE];
	struct trf_req req;
	ssize_t n;
	int err;

	trf_client_req(&opt.client, &req, TRF_PART_SERVER);
	req.to_client = row->size;
	err = trf_req_send(fd, &req);
	if (err)
		return trf_fail(out, err, "request: %s", tl_errno_name(-err));
	n = tl_recv_all(fd, response, row->size);
	if (n != (ssize_t)row->size)
		return trf_fail(out, n < 0 ? n : -ECONNABORTED, "response: %zd bytes of %u", n,
				row->size);
	err = trf_expect_eof(fd);
	return err ? trf_fail(out, err, "end: %s", tl_errno_name(-err)) : 0;
}

/* Connect, use the connection, close; repeat. Leave the last one open, in *@fd. */
static int make_connects(const struct row *row, use_fn use, unsigned int count, int *fd,
			 struct trf_outcome *out)
{
	int err = 0;

	*fd = -1;
	for (unsigned int i = 0; !err && i < count; i++) {
		if (*fd >= 0)
			close(*fd);
		*fd = trf_client_connect(&opt.client, out);
		err = *fd < 0 ? *fd : use(*fd, row, out);
	}
	return err;
}

static int measure_connects(const struct row *row, use_fn use, enum tl_mode require,
			    double *value, struct trf_outcome *out)
{
	unsigned int count = opt.count > 4 ? opt.count / 4 : 1;
	u64 t0 = measure_begin();
	int fd, err = make_connects(row, use, count, &fd, out);

	t0 = measure_end(t0);
	*value = opt.insn ? cost_of(t0, count) : (double)count * TL_NSEC_PER_SEC / t0;
	if (!err)
		err = check_mode(fd, require, out);
	if (fd >= 0)
		close(fd);
	return err;
}

static int run_connect_rate(const struct row *row, double *value, struct trf_outcome *out)
{
	return measure_connects(row, exchange_byte, opt.require, value, out);
}

/* connect() alone, without what goes on behind its return. */
static int run_connect_latency(const struct row *row, double *value, struct trf_outcome *out)
{
	unsigned int count = opt.count > 4 ? opt.count / 4 : 1;
	u64 nsec = 0;
	int err = 0;

	mark_begin();
	for (unsigned int i = 0; !err && i < count; i++) {
		u64 t0 = tl_now_ns();
		int fd = trf_client_connect(&opt.client, out);

		nsec += tl_now_ns() - t0;
		err = fd < 0 ? fd : exchange_byte(fd, row, out);
		if (!err)
			err = check_conn_mode(fd, out);
		if (fd >= 0)
			close(fd);
	}
	mark_end();
	*value = opt.insn ? cost_of(nsec, count) : (double)nsec / count / 1000;
	return err;
}

static int run_requests(const struct row *row, double *value, struct trf_outcome *out)
{
	return measure_connects(row, exchange_request, opt.require, value, out);
}

/* As connect_rate, of connections that begin as TCP, and carry too little to change over. */
static int run_connect_upgrade(const struct row *row, double *value, struct trf_outcome *out)
{
	return measure_connects(row, exchange_byte, opt.shorts, value, out);
}

/* Bytes pass over a stream, and it has the mode that is required. */
static int check_stream(int fd, struct trf_outcome *out)
{
	static const struct row writes = { .size = 64 * KIB };
	int err = run_one_stream(fd, &writes, MIB, out);

	return err ?: check_conn_mode(fd, out);
}

/* Short connections from which AUTOSMC learns; @apart: each of another user. */
static int teach(const struct row *row, bool apart, struct trf_outcome *out)
{
	int fd, err = 0;

	for (unsigned int i = 0; !err && i < LEARN_CONNS; i++) {
		if (apart && seteuid(LEARN_UID + i))
			return trf_fail(out, -errno, "seteuid: %s", tl_errno_name(errno));
		err = make_connects(row, exchange_byte, 1, &fd, out);
		if (fd >= 0)
			close(fd);
		if (apart && seteuid(0) && !err)
			err = trf_fail(out, -errno, "seteuid: %s", tl_errno_name(errno));
	}
	/* the server closes its ends, and learns, too */
	tl_sleep_ms(GROWTH_MS);
	return err;
}

/*
 * As connect_rate, to a server that a stream is open to. Some connections come before, from which
 * AUTOSMC learns, where it is on: the others have another mode then.
 */
static int measure_beside_stream(const struct row *row, bool apart, double *value,
				 struct trf_outcome *out)
{
	struct trf_outcome after = { .err = 0 };
	int stream = trf_client_connect(&opt.client, out);
	int err = stream < 0 ? stream : check_stream(stream, out);

	if (!err)
		err = teach(row, apart, out);
	if (!err)
		err = measure_connects(row, exchange_byte, opt.shorts, value, out);
	if (!err) {
		err = check_stream(stream, &after);
		if (err)
			*out = after;
	}
	if (stream >= 0)
		close(stream);
	return err;
}

/* The client learns. */
static int run_connect_autosmc(const struct row *row, double *value, struct trf_outcome *out)
{
	return measure_beside_stream(row, false, value, out);
}

/* Only the server learns: it does not know users, for each of which a client learns anew. */
static int run_connect_served(const struct row *row, double *value, struct trf_outcome *out)
{
	return measure_beside_stream(row, true, value, out);
}

/* Measures connect() alone. Valid only while no link group to the server exists. */
static int run_first_contact(const struct row *row, double *value, struct trf_outcome *out)
{
	u64 t0 = measure_begin();
	int fd = trf_client_connect(&opt.client, out);
	int err = fd < 0 ? fd : 0;

	t0 = measure_end(t0);
	*value = opt.insn ? cost_of(t0, 1) : (double)t0 / TL_NSEC_PER_MSEC;
	if (!err)
		err = check_conn_mode(fd, out);
	if (!err)
		err = run_one_pingpong(fd, row->size, 1, NULL, out);
	if (fd >= 0)
		close(fd);
	return err;
}

/* first_contact must come first: any other row would create the link group. */
static const struct row rows[] = {
	{ "first_contact",	run_first_contact,	1,		1,	"ms",	false, 0 },
	{ "stream_1k",		run_stream,		KIB,		1,	"MB/s",	true, 0 },
	{ "stream_64k",		run_stream,		64 * KIB,	1,	"MB/s",	true, 0 },
	{ "stream_1m",		run_stream,		MIB,		1,	"MB/s",	true, 0 },
	{ "sendfile_64k",	run_stream,		64 * KIB,	1,	"MB/s",	true,
	  TRF_F_SENDFILE },
	{ "zerocopy_64k",	run_stream,		64 * KIB,	1,	"MB/s",	true,
	  TRF_F_ZEROCOPY },
	{ "splice_64k",		run_stream,		64 * KIB,	1,	"MB/s",	true,
	  TRF_F_SPLICE },
	{ "splice_lend_64k",	run_stream,		64 * KIB,	1,	"MB/s",	true,
	  TRF_F_SPLICE | TRF_F_LEND },
	{ "pingpong_1",		run_pingpong,		1,		1,	"us",	false, 0 },
	{ "pingpong_1k",	run_pingpong,		KIB,		1,	"us",	false, 0 },
	{ "parallel_16",	run_parallel,		KIB,		16,	"1/s",	true, 0 },
	{ "parallel_64",	run_parallel,		KIB,		64,	"1/s",	true, 0 },
	{ "connect_rate",	run_connect_rate,	1,		1,	"1/s",	true, 0 },
	{ "connect_latency",	run_connect_latency,	1,		1,	"us",	false, 0 },
	{ "requests",		run_requests,		RESPONSE,	1,	"1/s",	true, 0 },
};

/* Only if it is named: the caller turns AUTOSMC on before. */
static const struct row row_autosmc = {
	"connect_autosmc",	run_connect_autosmc,	1,		1,	"1/s",	true, 0
};

static const struct row row_served = {
	"connect_autosmc_served", run_connect_served,	1,		1,	"1/s",	true, 0
};

/* ... or upgrade in place, and has had connections that teach which server can. */
static const struct row row_upgrade = {
	"connect_upgrade",	run_connect_upgrade,	1,		1,	"1/s",	true, 0
};

static bool row_is_named(const char *name)
{
	size_t n = strlen(name);
	const char *p = opt.rows;

	while (p) {
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return true;
		p = strchr(p, ',');
		if (p)
			p++;
	}
	return false;
}

static bool row_is_chosen(const struct row *row)
{
	return !opt.rows || row_is_named(row->name);
}

void print_result(const struct result *res)
{
	printf("{\"row\": \"%s\", \"label\": \"%s\", ", res->name, opt.label);
	printf("\"family\": \"%s\", \"mode\": \"%s\", ", opt.client.proto->name,
	       tl_mode_name(res->mode));
	printf("\"value\": %.3f, \"unit\": \"%s\", ", res->value,
	       res->cost ? "kinsn" : res->unit);
	if (res->cost)
		printf("\"units\": %.3f, ", measured_units);
	if (res->cost && opt.rnic)
		printf("\"packets\": %.4f, ", measured_packets / measured_units);
	printf("\"better\": \"%s\", \"run\": %u}\n",
	       res->higher && !res->cost ? "higher" : "lower", run_nr);
	fflush(stdout);
}

static int measure_row(const struct row *row)
{
	struct result res = { .name = row->name, .unit = row->unit, .higher = row->higher,
			      .cost = opt.insn };
	struct trf_outcome out = { .err = 0 };
	int err = row->run(row, &res.value, &out);

	if (err) {
		fprintf(stderr, "%s: %s\n", row->name, out.what);
		return err;
	}
	res.mode = out.local.mode;
	print_result(&res);
	return 0;
}

/*
 * The row "sizes", only if it is named: writes around each power of two, where sizes that do not
 * fit into something show.
 */
static int measure_sizes(unsigned int *done)
{
	char name[32];
	struct row row = { name, run_stream, 0, 1, "MB/s", true, 0 };
	int err = 0;

	for (unsigned int k = SIZES_FIRST; k <= SIZES_LAST; k++) {
		for (int off = -1; off <= 1; off++, ++*done) {
			row.size = (1U << k) + off;
			snprintf(name, sizeof(name), "size_%u", row.size);
			err |= measure_row(&row);
		}
	}
	return err;
}

/* Rows alternate, so that a slow minute of the machine does not affect a single row. */
static int measure_all(void)
{
	unsigned int done = 0;
	int err = 0;

	for (run_nr = 1; run_nr <= opt.runs; run_nr++) {
		for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++) {
			if (!row_is_chosen(&rows[i]))
				continue;
			/* in later runs the link group exists */
			if (rows[i].run == run_first_contact && run_nr > 1)
				continue;
			done++;
			if (measure_row(&rows[i]))
				err = 1;
		}
		if (row_is_named("sizes"))
			err |= measure_sizes(&done);
		if (row_is_named("scale"))
			err |= !!measure_scale(&done);
		if (row_is_named(row_autosmc.name)) {
			done++;
			err |= !!measure_row(&row_autosmc);
		}
		if (row_is_named(row_served.name)) {
			done++;
			err |= !!measure_row(&row_served);
		}
		if (row_is_named(row_upgrade.name)) {
			done++;
			err |= !!measure_row(&row_upgrade);
		}
	}
	if (!done)
		fprintf(stderr, "no such row\n");
	return err || !done;
}

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_bench --connect ADDR [options]\n"
		"  --family F    smc, smc6, inet or inet6 (default smc)\n"
		"  --port N      port of the server (default %u)\n"
		"  --bind ADDR   local address\n"
		"  --label L     name in the output (default: the family)\n"
		"  --rows A,B    only these rows\n"
		"  --require M   smc or tcp: any other mode is an error\n"
		"  --shorts M    of short connections of connect_autosmc*, connect_upgrade\n"
		"                (default: --require)\n"
		"  --ms N        length of one stream measurement (default %u)\n"
		"  --count N     messages of a ping-pong, four times the connects (default %u)\n"
		"  --runs N      measurements of each row (default %u)\n"
		"  --conns A,B   of the row scale: numbers of connections (default %s)\n"
		"  --prefix P    ... and what the names of its results begin with (default %s)\n"
		"  --insn        the clock counts instructions: print costs\n"
		"  --rnic NAME   with --insn: count the packets that this RDMA device sends\n"
		"rows:", DEFAULT_PORT, opt.target_ms, opt.count, opt.runs, opt.conns,
		opt.prefix);
	for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++)
		fprintf(stderr, " %s", rows[i].name);
	fprintf(stderr, " sizes scale %s %s %s\n", row_autosmc.name, row_served.name,
		row_upgrade.name);
	exit(2);
}

enum {
	O_FAMILY = 1, O_CONNECT, O_PORT, O_BIND, O_LABEL, O_ROWS, O_REQUIRE, O_SHORTS, O_MS,
	O_COUNT, O_RUNS, O_CONNS, O_PREFIX, O_INSN, O_RNIC, O_NR
};

static const struct option longopts[] = {
	{ "family",	required_argument, NULL, O_FAMILY },
	{ "connect",	required_argument, NULL, O_CONNECT },
	{ "port",	required_argument, NULL, O_PORT },
	{ "bind",	required_argument, NULL, O_BIND },
	{ "label",	required_argument, NULL, O_LABEL },
	{ "rows",	required_argument, NULL, O_ROWS },
	{ "require",	required_argument, NULL, O_REQUIRE },
	{ "shorts",	required_argument, NULL, O_SHORTS },
	{ "ms",		required_argument, NULL, O_MS },
	{ "count",	required_argument, NULL, O_COUNT },
	{ "runs",	required_argument, NULL, O_RUNS },
	{ "conns",	required_argument, NULL, O_CONNS },
	{ "prefix",	required_argument, NULL, O_PREFIX },
	{ "insn",	no_argument,	   NULL, O_INSN },
	{ "rnic",	required_argument, NULL, O_RNIC },
	{ }
};

static unsigned int parse_number(const char *text, unsigned int fallback)
{
	return text ? strtoul(text, NULL, 0) : fallback;
}

int main(int argc, char **argv)
{
	const char *val[O_NR] = { NULL };
	unsigned int port;
	int o;

	while ((o = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		if (o >= O_NR)
			bad_usage();
		val[o] = optarg ? optarg : "";
	}
	opt.client.proto = tl_proto_find(val[O_FAMILY] ? val[O_FAMILY] : "smc");
	port = parse_number(val[O_PORT], DEFAULT_PORT);
	if (optind != argc || !val[O_CONNECT] || !opt.client.proto ||
	    tl_addr_parse(&opt.client.to, opt.client.proto, val[O_CONNECT], port) ||
	    (val[O_BIND] && tl_addr_parse(&opt.client.from, opt.client.proto, val[O_BIND], 0)) ||
	    (val[O_REQUIRE] && tl_mode_parse(val[O_REQUIRE], &opt.require)) ||
	    (val[O_SHORTS] && tl_mode_parse(val[O_SHORTS], &opt.shorts)))
		bad_usage();
	if (!val[O_SHORTS])
		opt.shorts = opt.require;
	opt.label = val[O_LABEL] ? val[O_LABEL] : opt.client.proto->name;
	opt.rows = val[O_ROWS];
	if (val[O_CONNS])
		opt.conns = val[O_CONNS];
	if (val[O_PREFIX])
		opt.prefix = val[O_PREFIX];
	opt.insn = val[O_INSN];
	opt.rnic = val[O_RNIC];
	opt.target_ms = parse_number(val[O_MS], opt.target_ms);
	opt.count = parse_number(val[O_COUNT], opt.count);
	opt.runs = parse_number(val[O_RUNS], opt.runs);
	if (!opt.target_ms || !opt.count || opt.count > MAX_ROUNDS || !opt.runs)
		bad_usage();
	signal(SIGPIPE, SIG_IGN);
	return measure_all();
}
