// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: statistics of each connection over RDMA, which the module of this project adds to
 * sock_diag.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

/**
 * ctl_sock_add_stats() - add the statistics of a connection to its socket
 * @sock: the socket
 * @nest: attribute SMC_DIAG_OWN_STATS; NULL: no connection over RDMA, or another module
 */
void ctl_sock_add_stats(struct json_object *sock, const struct nlattr *nest)
{
	static const struct {
		int type;
		const char *key;
	} numbers[] = {
		{ SMC_DIAG_STAT_TX_BYTES, "tx_bytes" },
		{ SMC_DIAG_STAT_RX_BYTES, "rx_bytes" },
		{ SMC_DIAG_STAT_TX_QUEUE, "tx_queue" },
		{ SMC_DIAG_STAT_RX_QUEUE, "rx_queue" },
		{ SMC_DIAG_STAT_TX_AGAIN, "tx_again_bytes" },
		{ SMC_DIAG_STAT_TX_MSGS, "tx_messages" },
		{ SMC_DIAG_STAT_RX_MSGS, "rx_messages" },
		{ SMC_DIAG_STAT_TX_DATA_MSGS, "tx_data_messages" },
		{ SMC_DIAG_STAT_RX_DATA_MSGS, "rx_data_messages" },
		{ SMC_DIAG_STAT_RTT, "rtt_usecs" },
		{ SMC_DIAG_STAT_RTT_VAR, "rtt_var_usecs" },
		{ SMC_DIAG_STAT_RTT_MIN, "rtt_min_usecs" },
		{ SMC_DIAG_STAT_RATE, "bytes_per_second" },
		{ SMC_DIAG_STAT_CLOSED, "closed" },
		{ SMC_DIAG_STAT_CLOSED_USECS, "closed_usecs" },
		{ SMC_DIAG_STAT_MOVES, "moves" },
		{ SMC_DIAG_STAT_MOVE_AGE, "move_age" },
		{ SMC_DIAG_STAT_LAST_SENT, "last_sent_msecs" },
		{ SMC_DIAG_STAT_LAST_RECEIVED, "last_received_msecs" },
		{ SMC_DIAG_STAT_TCP_TX, "tcp_tx_bytes" },
		{ SMC_DIAG_STAT_TCP_RX, "tcp_rx_bytes" },
	};
	const struct nlattr *tb[SMC_DIAG_STAT_MAX + 1] = { NULL };
	struct json_object *stats;
	size_t i;

	if (!nest)
		return;
	ctl_nla_parse_nested(nest, tb, SMC_DIAG_STAT_MAX);
	stats = json_object_new_object();
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		ctl_json_copy_uint(stats, numbers[i].key, tb[numbers[i].type]);
	ctl_json_copy_str(stats, "move_reason", tb[SMC_DIAG_STAT_MOVE_REASON]);
	json_object_object_add(sock, "stats", stats);
}

/* Print a time as 850us, 12ms or 3.4s. */
static const char *usecs_format(__u64 usecs, char *buf, size_t size)
{
	if (usecs < 10000)
		snprintf(buf, size, "%lluus", (unsigned long long)usecs);
	else if (usecs < 10000000)
		snprintf(buf, size, "%llums", (unsigned long long)usecs / 1000);
	else
		snprintf(buf, size, "%llus", (unsigned long long)usecs / 1000000);
	return buf;
}

static void row_add_number(struct json_object *row, struct json_object *stats, const char *key)
{
	char text[32];

	ctl_json_add_str(row, key,
			 ctl_number_format((double)ctl_json_u64(stats, key), text, sizeof(text)));
}

static void row_add_usecs(struct json_object *row, struct json_object *stats, const char *key)
{
	char text[32];

	if (ctl_json_member(stats, key))
		ctl_json_add_str(row, key,
				 usecs_format(ctl_json_u64(stats, key), text, sizeof(text)));
}

/**
 * ctl_sock_stats_print() - print a table of statistics
 * @socks: sockets; those without statistics have a line without numbers
 */
void ctl_sock_stats_print(struct json_object *socks)
{
	static const struct ctl_column cols[] = {
		{ "LOCAL", "local" }, { "PEER", "peer" }, { "TX-B", "tx_bytes" },
		{ "RX-B", "rx_bytes" }, { "TX-Q", "tx_queue" }, { "RX-Q", "rx_queue" },
		{ "RTT", "rtt_usecs" }, { "B/s", "bytes_per_second" }, { "CLOSED", "closed_usecs" },
		{ "MOVES", "moves" },
	};
	/* the addresses, then the numbers */
	const size_t second = 2;
	static const char * const numbers[] = {
		"tx_bytes", "rx_bytes", "tx_queue", "rx_queue", "bytes_per_second", "moves",
	};
	struct json_object *rows = json_object_new_array();
	size_t i, n;

	for (i = 0; i < json_object_array_length(socks); i++) {
		struct json_object *sock = json_object_array_get_idx(socks, i);
		struct json_object *stats = ctl_json_member(sock, "stats");
		struct json_object *row = json_object_new_object();

		json_object_array_add(rows, row);
		ctl_json_add_str(row, "local", ctl_json_text(sock, "local"));
		ctl_json_add_str(row, "peer", ctl_json_text(sock, "peer"));
		for (n = 0; stats && n < ARRAY_SIZE(numbers); n++)
			row_add_number(row, stats, numbers[n]);
		row_add_usecs(row, stats, "rtt_usecs");
		row_add_usecs(row, stats, "closed_usecs");
	}
	ctl_table_print_broken(rows, cols, ARRAY_SIZE(cols), second);
	json_object_put(rows);
}
