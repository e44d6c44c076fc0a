// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the cost of a short connection: connect(), one byte each way, close().
 * For connections of SMC sockets that fall back to TCP.
 *
 *   smc_knock --serve [--family F] [--port N]
 *   smc_knock --connect ADDR --row NAME [--family F] [--port N] [--label L] [--count N]
 *	[--over none|own|peer] [--insn]
 *
 * One connection at a time. Prints one JSON object for report.py: the median. --over is the
 * reason why the connections must use TCP: the peer does not offer SMC (none), our Decline
 * (own) or the peer's (peer). Any other mode or reason is an error. --insn: the clock of the
 * machine counts instructions (vm.py --bed insn): a thousand nanoseconds are a thousand of these.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/testlib.h"
#include "marks.h"

#define DEFAULT_PORT	4431
#define DEFAULT_COUNT	200
#define MAX_COUNT	100000U
#define WARM_UP		5U
#define TIMEOUT_MS	60000
#define DECL_NO_SMC	0x03010000U

static const struct tl_proto *proto;
static struct tl_addr addr;
static const char *row, *label, *over;
static bool insn;

static int print_error(const char *what, int err)
{
	fprintf(stderr, "smc_knock: %s: %s: %s\n", row ? row : "server", what, tl_errno_name(-err));
	return 1;
}

static int serve_echo(void)
{
	int waiting = tl_listen(proto, &addr, 128);
	char c;

	if (waiting < 0)
		return print_error("listen", waiting);
	for (;;) {
		int fd = accept(waiting, NULL, NULL);

		if (fd < 0)
			return print_error("accept", -errno);
		if (recv(fd, &c, 1, 0) == 1)
			send(fd, &c, 1, MSG_NOSIGNAL);
		close(fd);
	}
}

/* Return the descriptor of a connection on which one byte was echoed, or a negative errno. */
static int connect_echo(void)
{
	int fd = tl_connect(proto, NULL, &addr);
	char c = 'k';
	int err;

	if (fd < 0)
		return fd;
	err = tl_set_timeouts(fd, TIMEOUT_MS);
	if (!err && send(fd, &c, 1, MSG_NOSIGNAL) != 1)
		err = -errno;
	if (!err && recv(fd, &c, 1, 0) != 1)
		err = errno ? -errno : -ECONNRESET;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Return true if the connection uses TCP for the right reason. Outside the measured time. */
static bool check_mode(int fd)
{
	struct tl_diag d = { .mode = TL_MODE_UNKNOWN };
	bool ok;

	if (!proto->smc || !over)
		return true;
	tl_diag_get(fd, proto, &d);
	ok = d.mode == TL_MODE_TCP;
	if (!strcmp(over, "none"))
		ok = ok && d.reason == DECL_NO_SMC;
	else if (!strcmp(over, "peer"))
		ok = ok && d.peer_reason;
	else
		ok = ok && d.reason && d.reason != DECL_NO_SMC && !d.peer_reason;
	if (!ok)
		fprintf(stderr, "smc_knock: %s: %s, reason %08x, peer's %08x\n", row,
			tl_mode_name(d.mode), d.reason, d.peer_reason);
	return ok;
}

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int measure_conns(unsigned int count)
{
	u64 *took = calloc(count, sizeof(*took));
	bool ok = took;

	/* with what comes before and behind the measured time: little, compared with the rest */
	if (insn)
		insn_mark_begin();
	for (unsigned int i = 0; ok && i < count + WARM_UP; i++) {
		u64 t0 = tl_now_ns(), t1;
		int fd = connect_echo();

		if (fd < 0) {
			print_error("connection", fd);
			ok = false;
			break;
		}
		t1 = tl_now_ns();
		if (i == 0 || i == count + WARM_UP - 1)
			ok = check_mode(fd);
		t0 += tl_now_ns() - t1;
		close(fd);
		if (i >= WARM_UP)
			took[i - WARM_UP] = tl_now_ns() - t0;
	}
	if (insn)
		insn_mark_end();
	if (ok) {
		qsort(took, count, sizeof(*took), cmp_u64);
		printf("{\"row\": \"%s\", \"label\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", ",
		       row, label, took[count / 2] / 1000.0, insn ? "kinsn" : "us");
		printf("\"better\": \"lower\", \"units\": %u}\n", count + WARM_UP);
	}
	free(took);
	return !ok;
}

static void bad_usage(void)
{
	fprintf(stderr, "usage: smc_knock --serve | --connect ADDR --row NAME\n"
		"	[--family F] [--port N] [--label L] [--count N]\n"
		"	[--over none|own|peer] [--insn]\n");
	exit(2);
}

enum {
	O_SERVE = 1, O_CONNECT, O_FAMILY, O_PORT, O_LABEL, O_ROW, O_COUNT, O_OVER, O_INSN, O_NR
};

static const struct option longopts[] = {
	{ "serve",	no_argument,	   NULL, O_SERVE },
	{ "connect",	required_argument, NULL, O_CONNECT },
	{ "family",	required_argument, NULL, O_FAMILY },
	{ "port",	required_argument, NULL, O_PORT },
	{ "label",	required_argument, NULL, O_LABEL },
	{ "row",	required_argument, NULL, O_ROW },
	{ "count",	required_argument, NULL, O_COUNT },
	{ "over",	required_argument, NULL, O_OVER },
	{ "insn",	no_argument,	   NULL, O_INSN },
	{ }
};

int main(int argc, char **argv)
{
	unsigned int port = DEFAULT_PORT, count = DEFAULT_COUNT;
	const char *val[O_NR] = { NULL };
	int o;

	while ((o = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		if (o >= O_NR)
			bad_usage();
		val[o] = optarg ? optarg : "";
	}
	proto = tl_proto_find(val[O_FAMILY] ? val[O_FAMILY] : "smc");
	if (val[O_PORT])
		port = strtoul(val[O_PORT], NULL, 0);
	if (val[O_COUNT])
		count = strtoul(val[O_COUNT], NULL, 0);
	row = val[O_ROW];
	over = val[O_OVER];
	insn = val[O_INSN];
	if (optind != argc || !proto || !count || count > MAX_COUNT ||
	    !val[O_SERVE] == !val[O_CONNECT] || (val[O_CONNECT] && !row) ||
	    (over && strcmp(over, "none") && strcmp(over, "own") && strcmp(over, "peer")) ||
	    tl_addr_parse(&addr, proto, val[O_CONNECT] ? val[O_CONNECT] : "0.0.0.0", port))
		bad_usage();
	label = val[O_LABEL] ? val[O_LABEL] : proto->name;
	return val[O_SERVE] ? serve_echo() : measure_conns(count);
}
