// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens connections to `smc_traffic server` and keeps them open while a command
 * measures their cost: once for each number on the command line. The
 * connections of the smaller numbers stay open.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "traffic/traffic.h"

#define DEFAULT_PORT	4430
#define MAX_CONNS	20000UL

/* Bytes each way of a connection that speaks. */
#define SPEECH		(256 * 1024)

static struct trf_client client = { .timeout_ms = 60000, .seed = 1 };
static bool silent, speak;
static int fds[MAX_CONNS];
static struct trf_req speeches[MAX_CONNS];

/* Open a connection and exchange one byte in each direction on it, unless it is to be silent. */
static int open_conn(struct trf_outcome *out)
{
	struct trf_req req;
	int fd = trf_client_connect(&client, out);
	int err;

	if (fd < 0 || silent)
		return fd;
	client.seed++;
	trf_client_req(&client, &req, TRF_PINGPONG);
	req.to_server = 1;
	req.count = 1;
	err = trf_client_pingpong(&client, fd, &req, NULL, out);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int run_command(const char *command, unsigned long conns)
{
	char text[24];
	int rc;

	snprintf(text, sizeof(text), "%lu", conns);
	if (setenv("CONNS", text, 1))
		return 1;
	rc = system(command);
	if (rc)
		fprintf(stderr, "smc_hold: '%s' ended with status 0x%x\n", command, rc);
	return rc != 0;
}

/* Let the server write on a connection. Nothing is read there before the command has ended. */
static int speak_begin(int fd, struct trf_req *req)
{
	client.seed++;
	trf_client_req(&client, req, TRF_STREAM);
	req->to_server = SPEECH;
	req->to_client = SPEECH;
	return trf_req_send(fd, req);
}

/* All of @open connections speak at once, and as long as the command runs. */
static int speak_and_run(const char *command, unsigned long open)
{
	struct trf_outcome out = { .err = 0 };
	unsigned long n;

	for (n = 0; n < open; n++) {
		if (speak_begin(fds[n], &speeches[n])) {
			fprintf(stderr, "smc_hold: connection %lu: no request\n", n + 1);
			return 1;
		}
	}
	if (run_command(command, open))
		return 1;
	for (n = 0; n < open; n++) {
		if (trf_client_stream_sent(&client, fds[n], &speeches[n], &out)) {
			fprintf(stderr, "smc_hold: connection %lu: %s\n", n + 1, out.what);
			return 1;
		}
	}
	return 0;
}

static int hold_conns(const char *command, char **counts, int nr)
{
	struct trf_outcome out = { .err = 0 };
	unsigned long open = 0;

	for (int i = 0; i < nr; i++) {
		unsigned long want = strtoul(counts[i], NULL, 0);

		if (want < open || want > MAX_CONNS) {
			fprintf(stderr, "smc_hold: %s: numbers must grow, up to %lu\n", counts[i],
				MAX_CONNS);
			return 2;
		}
		for (; open < want; open++) {
			/* they are closed when the process ends */
			fds[open] = open_conn(&out);
			if (fds[open] < 0) {
				fprintf(stderr, "smc_hold: connection %lu: %s\n", open + 1,
					out.what);
				return 1;
			}
		}
		if (speak && i ? speak_and_run(command, open) : run_command(command, open))
			return 1;
	}
	return 0;
}

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_hold --connect ADDR --run COMMAND [options] NUMBER...\n"
		"  --family F    smc, smc6, inet or inet6 (default smc)\n"
		"  --port N      port of the server (default %u)\n"
		"  --require M   smc or tcp: any other mode is an error\n"
		"  --silent      nothing is sent; else a byte each way\n"
		"  --speak       for each NUMBER but the first, the server writes while COMMAND runs; then\n"
		"                both sides get 256 KiB on each connection\n"
		"COMMAND runs with $CONNS connections open, for each NUMBER\n", DEFAULT_PORT);
	exit(2);
}

enum { O_FAMILY = 1, O_CONNECT, O_PORT, O_REQUIRE, O_RUN, O_SILENT, O_SPEAK, O_NR };

static const struct option longopts[] = {
	{ "family",	required_argument, NULL, O_FAMILY },
	{ "connect",	required_argument, NULL, O_CONNECT },
	{ "port",	required_argument, NULL, O_PORT },
	{ "require",	required_argument, NULL, O_REQUIRE },
	{ "run",	required_argument, NULL, O_RUN },
	{ "silent",	no_argument, NULL, O_SILENT },
	{ "speak",	no_argument, NULL, O_SPEAK },
	{ }
};

int main(int argc, char **argv)
{
	struct rlimit files = { .rlim_cur = MAX_CONNS + 64, .rlim_max = MAX_CONNS + 64 };
	const char *val[O_NR] = { NULL };
	unsigned int port;
	int o;

	while ((o = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		if (o >= O_NR)
			bad_usage();
		val[o] = optarg;
		silent |= o == O_SILENT;
		speak |= o == O_SPEAK;
	}
	client.proto = tl_proto_find(val[O_FAMILY] ? val[O_FAMILY] : "smc");
	port = val[O_PORT] ? strtoul(val[O_PORT], NULL, 0) : DEFAULT_PORT;
	if (optind == argc || !val[O_CONNECT] || !val[O_RUN] || !client.proto ||
	    tl_addr_parse(&client.to, client.proto, val[O_CONNECT], port) ||
	    (val[O_REQUIRE] && tl_mode_parse(val[O_REQUIRE], &client.require)))
		bad_usage();
	/* if this fails, connections up to the old limit can still be opened */
	setrlimit(RLIMIT_NOFILE, &files);
	return hold_conns(val[O_RUN], argv + optind, argc - optind);
}
