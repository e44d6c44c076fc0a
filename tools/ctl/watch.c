// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: rates, one line per interval.
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

/* What is counted; the table and the JSON output are in this order. */
enum {
	NEW,		/* connections made on SMC */
	FALLBACKS,
	ERRORS,
	TX_BYTES,
	RX_BYTES,
	TX_REQUESTS,
	RX_REQUESTS,
	RATES,
};

/**
 * struct sample - one look
 * @when: seconds of the monotonic clock
 * @groups: link groups
 * @conns: their connections
 * @value: sums
 */
struct sample {
	double when;
	__u64 groups;
	__u64 conns;
	__u64 value[RATES];
};

static __u64 number(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return json_object_object_get_ex(obj, key, &val) ? json_object_get_uint64(val) : 0;
}

static void add_tech(struct sample *s, struct json_object *stats, const char *key)
{
	struct json_object *tech = NULL;

	if (!json_object_object_get_ex(stats, key, &tech))
		return;
	s->value[NEW] += number(tech, "client_v1_connections") +
			 number(tech, "client_v2_connections") +
			 number(tech, "server_v1_connections") +
			 number(tech, "server_v2_connections");
	s->value[TX_BYTES] += number(tech, "tx_bytes");
	s->value[RX_BYTES] += number(tech, "rx_bytes");
	s->value[TX_REQUESTS] += number(tech, "tx_requests");
	s->value[RX_REQUESTS] += number(tech, "rx_requests");
}

static int take(struct sample *s)
{
	struct json_object *groups = json_object_new_array(), *fallbacks = NULL, *stats;
	struct timespec now;
	int rc = CTL_FAILURE;
	size_t i;

	memset(s, 0, sizeof(*s));
	clock_gettime(CLOCK_MONOTONIC, &now);
	s->when = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	stats = ctl_stats_read();
	if (stats)
		rc = ctl_linkgroup_read(groups);
	if (rc == CTL_OK) {
		s->groups = json_object_array_length(groups);
		for (i = 0; i < s->groups; i++)
			s->conns += number(json_object_array_get_idx(groups, i), "connections");
		add_tech(s, stats, "smcr");
		add_tech(s, stats, "smcd");
		json_object_object_get_ex(stats, "fallbacks", &fallbacks);
		s->value[FALLBACKS] = number(fallbacks, "client") + number(fallbacks, "server");
		s->value[ERRORS] = number(stats, "client_handshake_errors") +
				   number(stats, "server_handshake_errors");
	}
	json_object_put(stats);
	json_object_put(groups);
	return rc;
}

/* A counter that went back began anew: the module was loaded again. */
static double rate(const struct sample *from, const struct sample *to, int i)
{
	__u64 base = to->value[i] < from->value[i] ? 0 : from->value[i];
	double seconds = to->when - from->when;

	return seconds > 0 ? (double)(to->value[i] - base) / seconds : 0;
}

/* Four digits at most: 999, 1.2k, 56M */
static const char *short_number(double val, char *buf, size_t size)
{
	static const char units[] = " kMGTP";
	size_t unit = 0;

	while (val >= 999.5 && unit + 2 < sizeof(units)) {
		val /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(buf, size, val > 0 && val < 9.95 && rint(val) != val ? "%.1f" : "%.0f",
			 val);
	else
		snprintf(buf, size, val < 9.95 ? "%.1f%c" : "%.0f%c", val, units[unit]);
	return buf;
}

static void print_heading(void)
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

static void print_line(const struct sample *from, const struct sample *to)
{
	char text[32];
	int i;

	printf("%7llu %7llu", (unsigned long long)to->groups, (unsigned long long)to->conns);
	for (i = 0; i < RATES; i++)
		printf(" %7s", short_number(rate(from, to, i), text, sizeof(text)));
	putchar('\n');
}

/* One object on one line, for programs that read as it comes */
static void print_line_json(const struct sample *from, const struct sample *to)
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
	ctl_add_u64(obj, "linkgroups", to->groups);
	ctl_add_u64(obj, "connections", to->conns);
	for (i = 0; i < RATES; i++) {
		double val = rate(from, to, i);

		snprintf(text, sizeof(text), "%.3f", val);
		json_object_object_add(obj, keys[i], json_object_new_double_s(val, text));
	}
	puts(json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN));
	json_object_put(obj);
}

static void pause_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static bool parse_args(int argc, char **argv, double *seconds, unsigned long *count)
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
 * ctl_watch() - smcctl watch [SECONDS [COUNT]]
 * @opts: command line
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status; without a count it does not return but for a failure.
 */
int ctl_watch(const struct ctl_opts *opts, int argc, char **argv)
{
	struct sample before, now;
	unsigned long count = 0, n;
	double seconds = 1;
	int rc;

	if (!parse_args(argc, argv, &seconds, &count)) {
		ctl_fail("watch is followed by: SECONDS (0.1 to 86400) and COUNT, or nothing");
		return CTL_USAGE;
	}
	rc = take(&before);
	for (n = 0; rc == CTL_OK && (!count || n < count); n++) {
		pause_for(seconds);
		rc = take(&now);
		if (rc != CTL_OK)
			break;
		if (opts->json)
			print_line_json(&before, &now);
		else if (n % HEADING_EVERY == 0)
			print_heading();
		if (!opts->json)
			print_line(&before, &now);
		/* Whoever reads has gone, or the disk is full. */
		if (fflush(stdout) || ferror(stdout))
			break;
		before = now;
	}
	return rc;
}
