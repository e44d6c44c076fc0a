// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: print rates of connections over RDMA, summed by connection, peer or link.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

/* Members of "stats" whose rates are printed, and their names in the JSON output */
static const struct {
	const char *key;
	const char *rate;
} counters[] = {
	{ "tx_bytes", "tx_bytes_per_second" },
	{ "rx_bytes", "rx_bytes_per_second" },
	{ "tx_data_messages", "tx_messages_per_second" },
	{ "rx_data_messages", "rx_messages_per_second" },
	/* microseconds without room at the peer */
	{ "closed_usecs", "closed_usecs_per_second" },
	{ "moves", "moves_per_second" },
};

/* Name a connection so that one that begins later with the same addresses has another name. */
static void conn_name(struct json_object *sock, char *name, size_t size)
{
	snprintf(name, size, "%s %s %s", ctl_json_text(sock, "local"), ctl_json_text(sock, "peer"),
		 ctl_json_text(sock, "inode"));
}

/* Name what the counters of a connection are added to. */
static void sum_name(struct json_object *sock, enum ctl_watch_by by, char *name, size_t size)
{
	struct json_object *link = ctl_json_member(sock, "link");

	switch (by) {
	case CTL_WATCH_BY_PEER:
		snprintf(name, size, "%s", ctl_json_text(sock, "peer_addr"));
		break;
	case CTL_WATCH_BY_LINK:
		if (link)
			snprintf(name, size, "%s/%s %s link %s", ctl_json_text(link, "device"),
				 ctl_json_text(link, "port"), ctl_json_text(link, "peer_gid"),
				 ctl_json_text(link, "id"));
		else
			snprintf(name, size, "no link");
		break;
	default:
		snprintf(name, size, "%s %s", ctl_json_text(sock, "local"),
			 ctl_json_text(sock, "peer"));
	}
}

/**
 * ctl_watch_by_parse() - find a kind of sums by its name
 * @word: "connection", "peer" or "link", or a beginning
 * @by: result
 *
 * Return: false if there is none.
 */
bool ctl_watch_by_parse(const char *word, enum ctl_watch_by *by)
{
	static const char * const names[] = {
		[CTL_WATCH_BY_CONNECTION] = "connection", [CTL_WATCH_BY_PEER] = "peer",
		[CTL_WATCH_BY_LINK] = "link",
	};
	char full[16];
	size_t i;

	if (!ctl_word_complete(word, "connection peer link", full, sizeof(full)))
		return false;
	for (i = CTL_WATCH_BY_CONNECTION; i < ARRAY_SIZE(names); i++)
		if (!strcmp(full, names[i]))
			*by = i;
	return true;
}

/**
 * ctl_watch_by_read() - read the counters of all connections
 * @conns: object; each connection becomes a member
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_watch_by_read(struct json_object *conns)
{
	const struct ctl_opts opts = { .port = -1, .local_port = -1, .peer_port = -1,
				       .stats = true };
	struct json_object *socks = json_object_new_array();
	int rc = ctl_sock_read(&opts, socks);
	char name[256];
	size_t i;

	for (i = 0; rc == CTL_OK && i < json_object_array_length(socks); i++) {
		struct json_object *sock = json_object_array_get_idx(socks, i);

		if (!ctl_json_member(sock, "stats"))
			continue;
		conn_name(sock, name, sizeof(name));
		json_object_object_add(conns, name, json_object_get(sock));
	}
	json_object_put(socks);
	return rc;
}

/* Add what a connection has done since @old, NULL: since it began, to the sums. */
static void conn_add(struct json_object *sums, struct json_object *now, struct json_object *old,
		     enum ctl_watch_by by)
{
	struct json_object *stats = ctl_json_member(now, "stats"), *sum;
	struct json_object *before = ctl_json_member(old, "stats");
	char name[256];
	size_t i;

	sum_name(now, by, name, sizeof(name));
	sum = ctl_json_member(sums, name);
	if (!sum) {
		sum = json_object_new_object();
		json_object_object_add(sums, name, sum);
	}
	ctl_json_add_u64(sum, "connections", ctl_json_u64(sum, "connections") + 1);
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		__u64 val = ctl_json_u64(stats, counters[i].key);
		__u64 base = ctl_json_u64(before, counters[i].key);

		ctl_json_add_u64(sum, counters[i].key, ctl_json_u64(sum, counters[i].key) +
				 (val > base ? val - base : 0));
	}
}

static void sums_print(struct json_object *sums, double seconds, const char *title)
{
	size_t i;
	int at;

	printf("%7s", "CONNS");
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		static const char * const titles[] = {
			"TX-B/s", "RX-B/s", "TX-MSG/s", "RX-MSG/s", "CLOSED", "MOVES/s",
		};

		printf(" %8s", titles[i]);
	}
	printf("  %s\n", title);
	json_object_object_foreach(sums, name, sum) {
		char text[32];

		at = printf("%7llu", (unsigned long long)ctl_json_u64(sum, "connections"));
		for (i = 0; i < ARRAY_SIZE(counters); i++) {
			double rate = (double)ctl_json_u64(sum, counters[i].key) / seconds;

			if (!strcmp(counters[i].key, "closed_usecs"))
				/* of the time of all its connections */
				snprintf(text, sizeof(text), "%.0f%%", rate / 10000 /
					 (double)ctl_json_u64(sum, "connections"));
			else
				ctl_number_format(rate, text, sizeof(text));
			at += printf(" %8s", text);
		}
		ctl_cell_print(name, 2, at + 2, 0);
	}
}

static void sums_print_json(struct json_object *sums, double seconds, const char *title)
{
	struct json_object *line = json_object_new_object();
	struct json_object *list = json_object_new_array();
	char text[64];
	size_t i;

	snprintf(text, sizeof(text), "%.3f", seconds);
	json_object_object_add(line, "seconds", json_object_new_double_s(seconds, text));
	json_object_object_foreach(sums, name, sum) {
		struct json_object *out = json_object_new_object();

		json_object_array_add(list, out);
		ctl_json_add_str(out, title, name);
		ctl_json_add_u64(out, "connections", ctl_json_u64(sum, "connections"));
		for (i = 0; i < ARRAY_SIZE(counters); i++) {
			double rate = (double)ctl_json_u64(sum, counters[i].key) / seconds;

			snprintf(text, sizeof(text), "%.3f", rate);
			json_object_object_add(out, counters[i].rate,
					       json_object_new_double_s(rate, text));
		}
	}
	json_object_object_add(line, "rates", list);
	ctl_json_print_line(line);
	json_object_put(line);
}

/**
 * ctl_watch_by_print() - print the rates between two readings
 * @from: first reading
 * @to: second reading
 * @seconds: time between them
 * @by: what is summed
 * @json: print a line of JSON
 */
void ctl_watch_by_print(struct json_object *from, struct json_object *to, double seconds,
			enum ctl_watch_by by, bool json)
{
	static const char * const titles[][2] = {
		[CTL_WATCH_BY_CONNECTION] = { "CONNECTION", "connection" },
		[CTL_WATCH_BY_PEER] = { "PEER", "peer" },
		[CTL_WATCH_BY_LINK] = { "LINK", "link" },
	};
	struct json_object *sums = json_object_new_object();

	json_object_object_foreach(to, name, sock)
		conn_add(sums, sock, ctl_json_member(from, name), by);
	if (json)
		sums_print_json(sums, seconds, titles[by][1]);
	else
		sums_print(sums, seconds, titles[by][0]);
	json_object_put(sums);
}
