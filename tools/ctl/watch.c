// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: print rates, one line per interval.
 */
#include "smcctl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADING_EVERY 20
#define SECONDS_MIN 0.1
#define SECONDS_MAX 86400.0

/* Rates, in the order of the table and of the JSON output */
enum {
	NEW,		/* connections that use SMC */
	FALLBACKS,
	ERRORS,
	TX_BYTES,
	RX_BYTES,
	TX_REQUESTS,
	RX_REQUESTS,
	RATES,
};

/**
 * struct sample - counters at one time
 * @when: time of the sample, seconds of the monotonic clock
 * @groups: number of link groups
 * @conns: number of connections in the link groups
 * @value: counters
 */
struct sample {
	double when;
	__u64 groups;
	__u64 conns;
	__u64 value[RATES];
};

static void sample_add_tech(struct sample *s, struct json_object *stats, const char *key)
{
	struct json_object *tech = NULL;

	if (!json_object_object_get_ex(stats, key, &tech))
		return;
	s->value[NEW] += ctl_json_u64(tech, "client_v1_connections") +
			 ctl_json_u64(tech, "client_v2_connections") +
			 ctl_json_u64(tech, "server_v1_connections") +
			 ctl_json_u64(tech, "server_v2_connections");
	s->value[TX_BYTES] += ctl_json_u64(tech, "tx_bytes");
	s->value[RX_BYTES] += ctl_json_u64(tech, "rx_bytes");
	s->value[TX_REQUESTS] += ctl_json_u64(tech, "tx_requests");
	s->value[RX_REQUESTS] += ctl_json_u64(tech, "rx_requests");
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int sample_take(struct sample *s)
{
	struct json_object *groups = json_object_new_array(), *fallbacks = NULL, *stats;
	int rc = CTL_FAILURE;
	size_t i;

	memset(s, 0, sizeof(*s));
	s->when = seconds_now();
	stats = ctl_stats_read();
	if (stats)
		rc = ctl_linkgroup_read(groups);
	if (rc == CTL_OK) {
		s->groups = json_object_array_length(groups);
		for (i = 0; i < s->groups; i++)
			s->conns += ctl_json_u64(json_object_array_get_idx(groups, i),
						 "connections");
		sample_add_tech(s, stats, "smcr");
		sample_add_tech(s, stats, "smcd");
		json_object_object_get_ex(stats, "fallbacks", &fallbacks);
		s->value[FALLBACKS] = ctl_json_u64(fallbacks, "client") +
				      ctl_json_u64(fallbacks, "server");
		s->value[ERRORS] = ctl_json_u64(stats, "client_handshake_errors") +
				   ctl_json_u64(stats, "server_handshake_errors");
	}
	json_object_put(stats);
	json_object_put(groups);
	return rc;
}

/* A counter that decreased started from 0: the module was loaded again. */
static double sample_get_rate(const struct sample *from, const struct sample *to, int i)
{
	__u64 base = to->value[i] < from->value[i] ? 0 : from->value[i];
	double seconds = to->when - from->when;

	return seconds > 0 ? (double)(to->value[i] - base) / seconds : 0;
}

static void watch_print_heading(void)
{
	static const char * const titles[] = {
		"GROUPS", "CONNS", "NEW/s", "TCP/s", "ERR/s", "TX-B/s", "RX-B/s", "TX-OP/s",
		"RX-OP/s",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(titles); i++)
		printf("%s%7s", i ? " " : "", titles[i]);
	putchar('\n');
}

static void watch_print_line(const struct sample *from, const struct sample *to)
{
	char text[32];
	int i;

	printf("%7llu %7llu", (unsigned long long)to->groups, (unsigned long long)to->conns);
	for (i = 0; i < RATES; i++)
		printf(" %7s", ctl_number_format(sample_get_rate(from, to, i), text, sizeof(text)));
	putchar('\n');
}

/* Print one object per line, for programs that read the output continuously. */
static void watch_print_json(const struct sample *from, const struct sample *to)
{
	static const char * const keys[RATES] = {
		"connections_per_second", "fallbacks_per_second", "handshake_errors_per_second",
		"tx_bytes_per_second", "rx_bytes_per_second", "tx_requests_per_second",
		"rx_requests_per_second",
	};
	struct json_object *obj = json_object_new_object();
	char text[64];
	int i;

	snprintf(text, sizeof(text), "%.3f", to->when - from->when);
	json_object_object_add(obj, "seconds",
			       json_object_new_double_s(to->when - from->when, text));
	ctl_json_add_u64(obj, "linkgroups", to->groups);
	ctl_json_add_u64(obj, "connections", to->conns);
	for (i = 0; i < RATES; i++) {
		double val = sample_get_rate(from, to, i);

		snprintf(text, sizeof(text), "%.3f", val);
		json_object_object_add(obj, keys[i], json_object_new_double_s(val, text));
	}
	ctl_json_print_line(obj);
	json_object_put(obj);
}

static void watch_pause(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Return false if nobody reads the output any more, or the disk is full. */
static bool watch_flush(void)
{
	return !fflush(stdout) && !ferror(stdout);
}

static int watch_run_by(const struct ctl_opts *opts, enum ctl_watch_by by, double seconds,
			unsigned long count)
{
	struct json_object *before = json_object_new_object(), *now;
	double then = seconds_now(), end;
	int rc = ctl_watch_by_read(before);
	unsigned long n;

	for (n = 0; rc == CTL_OK && (!count || n < count); n++) {
		watch_pause(seconds);
		now = json_object_new_object();
		end = seconds_now();
		rc = ctl_watch_by_read(now);
		if (rc == CTL_OK)
			ctl_watch_by_print(before, now, end - then, by, opts->json);
		json_object_put(before);
		before = now;
		then = end;
		if (!watch_flush())
			break;
	}
	json_object_put(before);
	return rc;
}

static bool watch_parse_args(int argc, char **argv, double *seconds, unsigned long *count)
{
	char *end;

	if (argc > 2)
		return false;
	if (argc > 0) {
		*seconds = strtod(argv[0], &end);
		if (*end || end == argv[0] || !(*seconds >= SECONDS_MIN) ||
		    *seconds > SECONDS_MAX)
			return false;
	}
	if (argc > 1) {
		if (strspn(argv[1], "0123456789") != strlen(argv[1]) || strlen(argv[1]) > 9)
			return false;
		*count = strtoul(argv[1], NULL, 10);
		return *count;
	}
	return true;
}

/**
 * cmd_watch() - smcctl watch [by WHAT] [SECONDS [COUNT]]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status. Without a count it returns only after a failure.
 */
int cmd_watch(const struct ctl_opts *opts, int argc, char **argv)
{
	struct sample before, now;
	unsigned long count = 0, n;
	enum ctl_watch_by by = CTL_WATCH_ALL;
	double seconds = 1;
	int rc;

	if (argc >= 2 && !strcmp(argv[0], "by") && ctl_watch_by_parse(argv[1], &by)) {
		argc -= 2;
		argv += 2;
	}
	if (!watch_parse_args(argc, argv, &seconds, &count)) {
		ctl_error("watch is followed by: %s",
			  "by connection|peer|link, SECONDS (0.1 to 86400) and COUNT, or nothing");
		return CTL_USAGE;
	}
	if (by != CTL_WATCH_ALL)
		return watch_run_by(opts, by, seconds, count);
	rc = sample_take(&before);
	for (n = 0; rc == CTL_OK && (!count || n < count); n++) {
		watch_pause(seconds);
		rc = sample_take(&now);
		if (rc != CTL_OK)
			break;
		if (opts->json)
			watch_print_json(&before, &now);
		else if (n % HEADING_EVERY == 0)
			watch_print_heading();
		if (!opts->json)
			watch_print_line(&before, &now);
		if (!watch_flush())
			break;
		before = now;
	}
	return rc;
}
