// SPDX-License-Identifier: GPL-2.0-only
/*
 * The row "scale": what a round trip, a byte and a connection cost while many connections are
 * open. One thread of this program has all of them, the server has a thread for each.
 *
 *   PREFIX_memory_N	KB of this host for each of N connections, the test programs' share too
 *   PREFIX_trip_N	a byte and its echo, on all N connections at the same time
 *   PREFIX_bytes_N	64 KB in messages of 16 KB and their echoes, on all of them at the same time
 *   PREFIX_connect_N	connect, a byte each way and close, while N connections are open
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

#define MAX_CONNS	20000U
#define MIN_ROUNDS	4U
#define TRIPS		1000U
#define MESSAGES	128U
#define CONNECTS	32U
/* Rounds that are not measured: they warm up, and keep the end of the operation out. */
#define BEFORE		1U
#define AFTER		1U

static int fds[MAX_CONNS];
static unsigned int open_conns;
static u8 message[16 * KIB];

/* Memory that the kernel could give away, in KB. */
static double available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %llu", &kb) != 1)
		;
	if (!kb) {
		fprintf(stderr, "smc_bench: no MemAvailable in /proc/meminfo\n");
		exit(1);
	}
	fclose(f);
	return kb;
}

/* Open connections until there are @count. Each is in use at both ends once a byte was echoed. */
static int open_until(unsigned int count, struct trf_outcome *out)
{
	int err = 0;

	while (!err && open_conns < count) {
		int fd = trf_client_connect(&opt.client, out);

		if (fd < 0)
			return fd;
		send_at_once(fd);
		fds[open_conns++] = fd;
		err = run_one_pingpong(fd, 1, 1, NULL, out);
	}
	return err;
}

/* One look at all sockets of the namespace: one for each connection would take N * N steps. */
static int check_modes(struct trf_outcome *out)
{
	unsigned int found = 0, others = 0;
	int err;

	if (!opt.client.proto->smc || opt.require == TL_MODE_UNKNOWN)
		return 0;
	err = tl_diag_count(opt.require, &found, &others);
	if (err)
		return trf_fail(out, err, "sock_diag: %s", tl_errno_name(-err));
	if (found < open_conns || others)
		return trf_fail(out, -ENOLINK, "%u sockets have mode %s, %u another one", found,
				tl_mode_name(opt.require), others);
	return 0;
}

/* A message on each connection, then an echo on each, @rounds times. */
static int exchange(unsigned int size, unsigned int rounds)
{
	while (rounds--) {
		for (unsigned int i = 0; i < open_conns; i++) {
			ssize_t n = tl_send_all(fds[i], message, size);

			if (n < 0)
				return n;
		}
		for (unsigned int i = 0; i < open_conns; i++) {
			ssize_t n = tl_recv_all(fds[i], message, size);

			if (n != (ssize_t)size)
				return n < 0 ? n : -ECONNABORTED;
		}
	}
	return 0;
}

static int request_all(const struct trf_req *req)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < open_conns; i++)
		err = trf_req_send(fds[i], req);
	return err;
}

static int take_verdicts(const struct trf_req *req)
{
	struct trf_verdict v;

	for (unsigned int i = 0; i < open_conns; i++) {
		int err = trf_verdict_recv(fds[i], &v);

		if (err)
			return err;
		if (v.err || v.bytes != req->to_server * req->count)
			return v.err ? -(int)v.err : -EBADMSG;
	}
	return 0;
}

/* The cost of @unit bytes in messages of @size bytes. */
static int measure_messages(unsigned int size, unsigned int rounds, unsigned int unit,
			    double *value, struct trf_outcome *out)
{
	struct trf_req req;
	int err;
	u64 t0;

	trf_client_req(&opt.client, &req, TRF_PINGPONG);
	req.flags |= TRF_F_NOCHECK;
	req.to_server = size;
	req.count = BEFORE + rounds + AFTER;
	err = request_all(&req);
	if (!err)
		err = exchange(size, BEFORE);
	t0 = measure_begin();
	if (!err)
		err = exchange(size, rounds);
	t0 = measure_end(t0);
	if (!err)
		err = exchange(size, AFTER);
	if (!err)
		err = take_verdicts(&req);
	if (err)
		return trf_fail(out, err, "messages of %u bytes: %s", size, tl_errno_name(-err));
	*value = cost_of(t0, 2.0 * open_conns * rounds * size / unit);
	return 0;
}

static int measure_trips(double *value, struct trf_outcome *out)
{
	unsigned int rounds = TRIPS / open_conns;

	/* a byte each way is a round trip */
	return measure_messages(1, rounds > MIN_ROUNDS ? rounds : MIN_ROUNDS, 2, value, out);
}

static int measure_bytes(double *value, struct trf_outcome *out)
{
	unsigned int rounds = MESSAGES / open_conns;

	return measure_messages(sizeof(message), rounds > MIN_ROUNDS ? rounds : MIN_ROUNDS,
				COST_UNIT, value, out);
}

static int measure_connects(double *value, struct trf_outcome *out)
{
	u64 t0 = measure_begin();
	int err = 0;

	for (unsigned int i = 0; !err && i < CONNECTS; i++) {
		int fd = trf_client_connect(&opt.client, out);

		err = fd < 0 ? fd : run_one_pingpong(fd, 1, 1, NULL, out);
		if (fd >= 0)
			close(fd);
	}
	t0 = measure_end(t0);
	*value = cost_of(t0, CONNECTS);
	return err;
}

/* @unit: NULL for a cost: instructions, or a time. */
static void report(const char *what, double value, const char *unit)
{
	char name[64];
	const struct result res = {
		.name = name,
		.value = value,
		.unit = unit ?: "us",
		.cost = !unit && opt.insn,
		.mode = opt.require,
	};

	snprintf(name, sizeof(name), "%s_%s_%u", opt.prefix, what, open_conns);
	print_result(&res);
}

static int measure_count(unsigned int count, unsigned int *done)
{
	static const struct {
		const char *name;
		int (*run)(double *value, struct trf_outcome *out);
	} parts[] = {
		{ "trip", measure_trips }, { "connect", measure_connects },
		{ "bytes", measure_bytes },
	};
	struct trf_outcome out = { .err = 0 };
	static double before;
	double value;
	int err;

	if (!open_conns)
		before = available();
	err = open_until(count, &out);
	if (!err)
		report("memory", (before - available()) / count, "KB");
	for (size_t i = 0; !err && i < TL_ARRAY_SIZE(parts); i++) {
		err = parts[i].run(&value, &out);
		if (!err)
			err = check_modes(&out);
		if (!err)
			report(parts[i].name, value, NULL);
		++*done;
	}
	if (err)
		fprintf(stderr, "%s, %u of %u connections: %s\n", opt.prefix, open_conns, count,
			out.what);
	return err;
}

/**
 * measure_scale() - measure with each number of connections of the command line
 * @done: is increased by the number of results
 *
 * Return: 0, or not 0 if a measurement failed.
 */
int measure_scale(unsigned int *done)
{
	const struct rlimit files = { .rlim_cur = MAX_CONNS + 64, .rlim_max = MAX_CONNS + 64 };
	const char *p = opt.conns;
	int err = 0;

	/* if this fails, connections up to the old limit can still be opened */
	setrlimit(RLIMIT_NOFILE, &files);
	do {
		char *end;
		unsigned long count = strtoul(p, &end, 10);

		if (count <= open_conns || count > MAX_CONNS || (*end && *end != ',')) {
			fprintf(stderr, "%s: numbers must grow, up to %u\n", opt.conns, MAX_CONNS);
			err = -EINVAL;
			break;
		}
		err = measure_count(count, done);
		p = *end ? end + 1 : NULL;
	} while (!err && p);
	while (open_conns)
		close(fds[--open_conns]);
	return err;
}
