// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile peers in the rendezvous, and the application of their victim.
 *
 *   client     attacks a server: `smc_traffic server --family smc` on the other host
 *   server     accepts SMC clients and sends them wrong answers
 *   victim     runs on the host under test against `smc_evil server`
 *   selfcheck  checks that SYN and SYN-ACK of this program have the SMC option
 *
 * client, server and selfcheck need BPF and root. They use plain TCP sockets, so an
 * SMC module on their host does not matter.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evil.h"
#include "selfcheck.h"
#include "lib/ktap.h"

#define ATTACK_PORT	4430
#define ANSWER_PORT	4500

static int selfcheck_main(void)
{
	struct evil_syns before, after, paused;
	struct ktap k = { 0 };
	int err;

	ktap_plan(4);
	err = evil_selfcheck(&before);
	if (err)
		ktap_note("%s", tl_errno_name(-err));
	ktap_result(&k, !err && !before.syn && !before.syn_ack, "no option before");
	err = evil_option_on();
	if (!err)
		err = evil_selfcheck(&after);
	if (err)
		ktap_note("%s", tl_errno_name(-err));
	ktap_result(&k, !err && after.syn && after.syn_ack, "option in SYN and SYN-ACK");
	ktap_result(&k, !err && !after.other, "option in no other segment");
	err = err ? err : evil_option_pause(true);
	if (!err)
		err = evil_selfcheck(&paused);
	if (!err)
		err = evil_option_pause(false);
	if (err)
		ktap_note("%s", tl_errno_name(-err));
	ktap_result(&k, !err && !paused.syn && !paused.syn_ack, "no option in a pause");
	return ktap_exit_code(&k);
}

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_evil client --connect ADDR [options]\n"
		"       smc_evil server [options]\n"
		"       smc_evil victim --connect ADDR [options]\n"
		"       smc_evil ports\n"
		"       smc_evil selfcheck\n"
		"  --connect ADDR    client: the server to attack; victim: the hostile server\n"
		"  --bind ADDR       server: address to listen on; client: own address\n"
		"  --port N          client: default %u; server, victim: first port, default %u\n"
		"  --family F        client: family of the good client; victim: of its sockets\n"
		"  --deadline MS     limit for a handshake to end (default 12000)\n"
		"  --late MS         server: delay of late answers (default %u)\n"
		"  --silent N        client: number of silent connections (default 100)\n"
		"  --rounds N        client: number of mutated messages (default 100)\n"
		"  --seed N          client: seed of random bytes (default 1)\n"
		"  --jobs N          victim: connections at a time (default 16)\n"
		"  --only TEXT       client, victim: cases whose name contains TEXT\n",
		ATTACK_PORT, ANSWER_PORT, evil_late_ms);
	exit(2);
}

enum {
	O_CONNECT = 1, O_BIND, O_PORT, O_FAMILY, O_DEADLINE, O_LATE, O_SILENT, O_ROUNDS, O_SEED,
	O_ONLY, O_JOBS, O_NR
};

static const struct option longopts[] = {
	{ "connect",	required_argument, NULL, O_CONNECT },
	{ "bind",	required_argument, NULL, O_BIND },
	{ "port",	required_argument, NULL, O_PORT },
	{ "family",	required_argument, NULL, O_FAMILY },
	{ "deadline",	required_argument, NULL, O_DEADLINE },
	{ "late",	required_argument, NULL, O_LATE },
	{ "silent",	required_argument, NULL, O_SILENT },
	{ "rounds",	required_argument, NULL, O_ROUNDS },
	{ "seed",	required_argument, NULL, O_SEED },
	{ "only",	required_argument, NULL, O_ONLY },
	{ "jobs",	required_argument, NULL, O_JOBS },
	{ }
};

static unsigned int opt_uint(const char *text, unsigned int fallback)
{
	return text ? strtoul(text, NULL, 0) : fallback;
}

/* Our address on the route to the target, found by connecting a UDP socket. */
static int own_address(const struct evil_target *t, struct tl_addr *out)
{
	int fd = socket(t->to.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	memset(out, 0, sizeof(*out));
	out->len = sizeof(out->ss);
	if (fd < 0 || connect(fd, &t->to.sa, t->to.len) ||
	    getsockname(fd, &out->sa, &out->len))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static int client_main(const char * const val[], const struct tl_proto *good)
{
	const struct tl_proto *tcp = tl_proto_find(good->af == AF_INET6 ? "inet6" : "inet");
	struct evil_target t = {
		.tcp = tcp,
		.good = good,
		.deadline_ms = opt_uint(val[O_DEADLINE], 12000),
		.silent = opt_uint(val[O_SILENT], 100),
		.rounds = opt_uint(val[O_ROUNDS], 100),
		.seed = opt_uint(val[O_SEED], 1),
		.only = val[O_ONLY],
	};
	int health, err;

	if (!val[O_CONNECT] ||
	    tl_addr_parse(&t.to, tcp, val[O_CONNECT], opt_uint(val[O_PORT], ATTACK_PORT)))
		bad_usage();
	if (val[O_BIND] ? tl_addr_parse(&t.local, tcp, val[O_BIND], 0) :
			  own_address(&t, &t.local))
		bad_usage();
	if (!tl_proto_available(good)) {
		printf("KTAP version 1\n1..0 # SKIP this kernel has no family %s\n", good->name);
		return KTAP_SKIP;
	}
	health = evil_health_start(&t);
	err = health < 0 ? health : evil_option_on();
	if (err) {
		printf("Bail out! cannot set the SMC option: %s\n", tl_errno_name(-err));
		return KTAP_FAIL;
	}
	return evil_client_run(&t, health);
}

static int server_main(const char * const val[], const struct tl_proto *p)
{
	const struct tl_proto *tcp = tl_proto_find(p->af == AF_INET6 ? "inet6" : "inet");
	int err = evil_option_on();

	setvbuf(stdout, NULL, _IOLBF, 0);
	evil_late_ms = opt_uint(val[O_LATE], evil_late_ms);
	if (!err)
		err = evil_server_run(tcp, val[O_BIND], opt_uint(val[O_PORT], ANSWER_PORT));
	fprintf(stderr, "server: %s\n", tl_errno_name(-err));
	return KTAP_FAIL;
}

/* Print the port of each behaviour of the server. */
static int ports_main(const char * const val[])
{
	for (unsigned int i = 0; i < evil_nr_answers; i++)
		printf("%s %u\n", evil_answers[i].name, opt_uint(val[O_PORT], ANSWER_PORT) + i);
	return 0;
}

int main(int argc, char **argv)
{
	const char *val[O_NR] = { NULL };
	const struct tl_proto *p;
	int o;

	if (argc < 2)
		bad_usage();
	while ((o = getopt_long(argc - 1, argv + 1, "", longopts, NULL)) != -1) {
		if (o >= O_NR)
			bad_usage();
		val[o] = optarg ? optarg : "";
	}
	p = tl_proto_find(val[O_FAMILY] ? val[O_FAMILY] : "smc");
	if (optind != argc - 1 || !p)
		bad_usage();
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(argv[1], "client"))
		return client_main(val, p);
	if (!strcmp(argv[1], "server"))
		return server_main(val, p);
	if (!strcmp(argv[1], "victim") && val[O_CONNECT])
		return evil_victim_run(p, val[O_CONNECT], opt_uint(val[O_PORT], ANSWER_PORT),
				       opt_uint(val[O_DEADLINE], 12000), opt_uint(val[O_JOBS], 16),
				       val[O_ONLY]);
	if (!strcmp(argv[1], "ports"))
		return ports_main(val);
	if (!strcmp(argv[1], "selfcheck"))
		return selfcheck_main();
	bad_usage();
	return 2;
}
