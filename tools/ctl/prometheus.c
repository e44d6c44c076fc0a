// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: statistics in the text format of Prometheus, for node_exporter's textfile collector.
 *
 * Counters are never reset but by loading the module again. Labels have few values: roles,
 * versions, states, devices, and reasons of which the module keeps a bounded number.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

/* Counters of our own module that are worth an alert or a graph */
static const struct {
	const char *counter;
	const char *metric;
	const char *help;
} own_metrics[] = {
	{ "first_contact", "smc_linkgroups_created_total", "Link groups created." },
	{ "lgr_term", "smc_linkgroups_ended_total", "Link groups that ended." },
	{ "link_fail", "smc_link_failures_total", "Links that failed." },
	{ "link_stall", "smc_link_stalls_total",
	  "Links that failed because a request did not finish." },
	{ "link_add", "smc_links_added_total", "Further links that link groups got." },
	{ "conn_move", "smc_link_switches_total",
	  "Connections that went on over another link of their group." },
	{ "tx_again_bytes", "smc_retransmit_bytes_total",
	  "Bytes that were written again over another link." },
	{ "conn_abort", "smc_connection_aborts_total", "Connections that ended abnormally." },
	{ "hs_limited", "smc_handshakes_limited_total",
	  "Handshakes that ended as TCP because too many were under way." },
	{ "hs_congested", "smc_handshakes_congested_total",
	  "Connection requests answered without the SMC option: too many handshakes." },
	{ "tx_window_closed", "smc_window_closed_total",
	  "Times a peer was told that it had closed its window." },
	{ "tx_full", "smc_transmit_buffer_full_total",
	  "Send calls that found the send ring full." },
	{ "mr_reg", "smc_memory_registrations_total", "Memory registrations." },
	{ "hs_reset", "smc_handshakes_reset_total",
	  "Handshakes that ended with the connection reset." },
	{ "wr_posts", "smc_posts_total", "Chains of RDMA requests posted for messages." },
	{ "wr_done", "smc_completions_total", "Completions of them; one may tell of several." },
	{ "wakeups", "smc_wakeups_total", "Times that readers or writers of a socket were told." },
	{ "elem_quarantine", "smc_elements_quarantined_total",
	  "Buffer elements kept out of use because the peer did not confirm the close." },
};

static __u64 number(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return obj && json_object_object_get_ex(obj, key, &val) ? json_object_get_uint64(val) : 0;
}

static struct json_object *member(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return obj && json_object_object_get_ex(obj, key, &val) ? val : NULL;
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A value of a label: quotes and backslashes cannot stand in it as they are. */
static void put_label(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s=\"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_role(FILE *out, const char *metric, const char *role, __u64 val)
{
	fprintf(out, "%s{role=\"%s\"} %llu\n", metric, role, (unsigned long long)val);
}

static void put_traffic(FILE *out, struct json_object *stats, const char *metric,
			const char *help, const char *key)
{
	head(out, metric, "counter", help);
	fprintf(out, "%s %llu\n", metric,
		(unsigned long long)(number(member(stats, "smcr"), key) +
				     number(member(stats, "smcd"), key)));
}

static void put_connections(FILE *out, struct json_object *stats)
{
	static const char metric[] = "smc_connections_total";
	static const char * const roles[] = { "client", "server" };
	char key[64];
	int version;
	size_t i;

	head(out, metric, "counter", "Connections that were made on SMC.");
	for (i = 0; i < ARRAY_SIZE(roles); i++) {
		for (version = 1; version <= 2; version++) {
			snprintf(key, sizeof(key), "%s_v%d_connections", roles[i], version);
			fprintf(out, "%s{role=\"%s\",version=\"%d\"} %llu\n", metric, roles[i],
				version, (unsigned long long)(number(member(stats, "smcr"), key) +
							      number(member(stats, "smcd"), key)));
		}
	}
}

/* The reasons do not sum up to the total when their table was full. */
static void put_fallbacks(FILE *out, struct json_object *stats)
{
	static const char metric[] = "smc_fallbacks_total";
	static const char * const roles[] = { "client", "server" };
	struct json_object *fallbacks = member(stats, "fallbacks");
	struct json_object *reasons = member(fallbacks, "reasons");
	size_t i, r;

	head(out, metric, "counter", "Connections that fell back to TCP, by reason.");
	for (r = 0; r < ARRAY_SIZE(roles); r++) {
		__u64 total = number(fallbacks, roles[r]), sum = 0;

		for (i = 0; i < json_object_array_length(reasons); i++) {
			struct json_object *reason = json_object_array_get_idx(reasons, i);

			if (strcmp(ctl_text_of(reason, "side"), roles[r]))
				continue;
			sum += number(reason, "count");
			fprintf(out, "%s{role=\"%s\",", metric, roles[r]);
			put_label(out, "reason", ctl_text_of(reason, "reason"));
			fputc(',', out);
			put_label(out, "text", ctl_text_of(reason, "reason_text"));
			fprintf(out, "} %llu\n", (unsigned long long)number(reason, "count"));
		}
		fprintf(out, "%s{role=\"%s\",reason=\"other\",text=\"\"} %llu\n", metric, roles[r],
			(unsigned long long)(total > sum ? total - sum : 0));
	}
}

static void put_own(FILE *out, struct json_object *stats)
{
	struct json_object *counters = member(stats, "counters");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(own_metrics); i++) {
		if (!member(counters, own_metrics[i].counter))
			continue;
		head(out, own_metrics[i].metric, "counter", own_metrics[i].help);
		fprintf(out, "%s %llu\n", own_metrics[i].metric,
			(unsigned long long)number(counters, own_metrics[i].counter));
	}
}

/* What the module counts in microseconds */
static void put_window(FILE *out, struct json_object *stats)
{
	static const char metric[] = "smc_window_closed_seconds_total";
	struct json_object *counters = member(stats, "counters");
	unsigned long long usecs = number(counters, "window_usecs");

	if (!member(counters, "window_usecs"))
		return;
	head(out, metric, "counter",
	     "Time for which peers kept their windows closed, of those that were opened again.");
	fprintf(out, "%s %llu.%06llu\n", metric, usecs / 1000000, usecs % 1000000);
}

static void put_buffers(FILE *out, struct json_object *stats)
{
	struct json_object *smcr = member(stats, "smcr");

	if (!member(smcr, "rx_buffer_bytes") && !member(smcr, "tx_buffer_bytes"))
		return;
	head(out, "smc_buffer_bytes", "gauge", "Memory of buffers in all link groups.");
	fprintf(out, "smc_buffer_bytes{kind=\"rmb\"} %llu\n",
		(unsigned long long)number(smcr, "rx_buffer_bytes"));
	fprintf(out, "smc_buffer_bytes{kind=\"send\"} %llu\n",
		(unsigned long long)number(smcr, "tx_buffer_bytes"));
}

static void put_memory(FILE *out, struct json_object *memory, const char *metric)
{
	static const char * const kinds[] = { "send", "rmb_used", "rmb_pooled", "rmb_quarantined" };
	char key[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(key, sizeof(key), "%s_bytes", kinds[i]);
		fprintf(out, "%s{kind=\"%s\"} %llu\n", metric, kinds[i],
			(unsigned long long)number(memory, key));
	}
}

/* A sample for each member of the tables that the module of this project has */
static void put_table(FILE *out, struct json_object *table, const char *metric,
		      const char *first, const char *second)
{
	if (!table)
		return;
	json_object_object_foreach(table, key, val) {
		fprintf(out, "%s{%s", metric, first);
		put_label(out, second, key);
		fprintf(out, "} %llu\n", (unsigned long long)json_object_get_uint64(val));
	}
}

static void put_messages(FILE *out, struct json_object *stats)
{
	if (!member(stats, "clc_sent"))
		return;
	head(out, "smc_clc_messages_total", "counter", "Messages of handshakes, by type.");
	put_table(out, member(stats, "clc_sent"), "smc_clc_messages_total",
		  "direction=\"sent\",", "type");
	put_table(out, member(stats, "clc_received"), "smc_clc_messages_total",
		  "direction=\"received\",", "type");
	head(out, "smc_llc_messages_total", "counter", "Messages about links and RMBs, by type.");
	put_table(out, member(stats, "llc_sent"), "smc_llc_messages_total",
		  "direction=\"sent\",", "type");
	put_table(out, member(stats, "llc_received"), "smc_llc_messages_total",
		  "direction=\"received\",", "type");
}

/* Times are microseconds in the names of the members, with those below as well here. */
static void put_times(FILE *out, struct json_object *stats, const char *role)
{
	static const char metric[] = "smc_handshake_seconds";
	struct json_object *counters = member(stats, "counters"), *times;
	unsigned long long sum = 0, usecs;
	char key[64];

	snprintf(key, sizeof(key), "%s_handshake_times", role);
	times = member(stats, key);
	if (!times)
		return;
	json_object_object_foreach(times, name, val) {
		sum += json_object_get_uint64(val);
		if (sscanf(name, "up_to_%llu_us", &usecs) == 1)
			fprintf(out, "%s_bucket{role=\"%s\",le=\"%llu.%06llu\"} %llu\n", metric,
				role, usecs / 1000000, usecs % 1000000, sum);
	}
	usecs = number(counters, *role == 'c' ? "clnt_hs_usecs" : "srv_hs_usecs");
	fprintf(out, "%s_bucket{role=\"%s\",le=\"+Inf\"} %llu\n", metric, role, sum);
	fprintf(out, "%s_sum{role=\"%s\"} %llu.%06llu\n", metric, role, usecs / 1000000,
		usecs % 1000000);
	fprintf(out, "%s_count{role=\"%s\"} %llu\n", metric, role, sum);
}

static void put_own_tables(FILE *out, struct json_object *stats)
{
	put_messages(out, stats);
	if (member(stats, "client_handshake_times")) {
		head(out, "smc_handshake_seconds", "histogram",
		     "Time that handshakes took which ended on SMC.");
		put_times(out, stats, "client");
		put_times(out, stats, "server");
	}
	if (member(stats, "memory")) {
		head(out, "smc_memory_bytes", "gauge", "Memory of buffers in this namespace.");
		put_memory(out, member(stats, "memory"), "smc_memory_bytes");
		head(out, "smc_memory_peak_bytes", "gauge", "The most there was of it.");
		put_memory(out, member(stats, "memory_peak"), "smc_memory_peak_bytes");
	}
}

static void put_stats(FILE *out, struct json_object *stats)
{
	static const char errors[] = "smc_handshake_errors_total";

	put_connections(out, stats);
	put_fallbacks(out, stats);
	head(out, errors, "counter", "Handshakes that ended the connection.");
	put_role(out, errors, "client", number(stats, "client_handshake_errors"));
	put_role(out, errors, "server", number(stats, "server_handshake_errors"));
	put_traffic(out, stats, "smc_receive_bytes_total", "Bytes received on SMC.", "rx_bytes");
	put_traffic(out, stats, "smc_transmit_bytes_total", "Bytes sent on SMC.", "tx_bytes");
	put_traffic(out, stats, "smc_receive_requests_total", "Receive calls on SMC.",
		    "rx_requests");
	put_traffic(out, stats, "smc_transmit_requests_total", "Send calls on SMC.",
		    "tx_requests");
	put_buffers(out, stats);
	put_own(out, stats);
	put_window(out, stats);
	put_own_tables(out, stats);
}

/* How many elements of @list have the values of the keys @a and @b that element @i has */
static size_t same_as(struct json_object *list, size_t i, const char *a, const char *b,
		      bool *first)
{
	struct json_object *one = json_object_array_get_idx(list, i);
	size_t n = 0, k;

	*first = true;
	for (k = 0; k < json_object_array_length(list); k++) {
		struct json_object *other = json_object_array_get_idx(list, k);

		if (strcmp(ctl_text_of(one, a), ctl_text_of(other, a)) ||
		    (b && strcmp(ctl_text_of(one, b), ctl_text_of(other, b))))
			continue;
		n++;
		if (k < i)
			*first = false;
	}
	return n;
}

static void put_groups(FILE *out, struct json_object *groups)
{
	static const char * const roles[] = { "client", "server" };
	size_t n, i, r;

	head(out, "smc_linkgroups", "gauge", "Link groups that exist.");
	for (r = 0; r < ARRAY_SIZE(roles); r++) {
		for (n = 0, i = 0; i < json_object_array_length(groups); i++)
			n += !strcmp(ctl_text_of(json_object_array_get_idx(groups, i), "role"),
				     roles[r]);
		put_role(out, "smc_linkgroups", roles[r], n);
	}
}

static void put_links(FILE *out, struct json_object *links)
{
	bool first;
	size_t n, i;

	head(out, "smc_links", "gauge", "Links of all link groups.");
	for (i = 0; i < json_object_array_length(links); i++) {
		struct json_object *link = json_object_array_get_idx(links, i);

		n = same_as(links, i, "state", "device", &first);
		if (!first)
			continue;
		fputs("smc_links{", out);
		put_label(out, "state", ctl_text_of(link, "state"));
		fputc(',', out);
		put_label(out, "device", ctl_text_of(link, "device"));
		fprintf(out, "} %zu\n", n);
	}
}

static void put_sockets(FILE *out, struct json_object *socks)
{
	static const char * const modes[] = { "SMCR", "SMCD", "TCP" };
	static const char * const names[] = { "smcr", "smcd", "tcp" };
	size_t n, i, m;

	head(out, "smc_connections", "gauge",
	     "Connections of AF_SMC sockets by what carries them.");
	for (m = 0; m < ARRAY_SIZE(modes); m++) {
		for (n = 0, i = 0; i < json_object_array_length(socks); i++)
			n += !strcmp(ctl_text_of(json_object_array_get_idx(socks, i), "mode"),
				     modes[m]);
		fprintf(out, "smc_connections{mode=\"%s\"} %zu\n", names[m], n);
	}
}

static void put_build(FILE *out, struct json_object *info)
{
	head(out, "smc_build_info", "gauge", "Versions of the module and of this program.");
	fputs("smc_build_info{", out);
	put_label(out, "version", ctl_text_of(info, "version"));
	fputc(',', out);
	put_label(out, "release", ctl_text_of(info, "release"));
	fputc(',', out);
	put_label(out, "smcctl", SMC_TOOLS_VERSION);
	fputs("} 1\n", out);
}

static int collect(FILE *out)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct json_object *info = json_object_new_object();
	struct json_object *groups = json_object_new_array();
	struct json_object *links = json_object_new_array();
	struct json_object *socks = json_object_new_array();
	struct json_object *stats = ctl_stats_read();
	int rc = CTL_FAILURE;

	if (stats && ctl_info_read(info) == CTL_OK && ctl_linkgroup_read(groups) == CTL_OK)
		rc = ctl_link_read(links);
	head(out, "smc_up", "gauge", "Whether the SMC module answered.");
	fprintf(out, "smc_up %d\n", rc == CTL_OK);
	if (rc == CTL_OK) {
		put_build(out, info);
		put_stats(out, stats);
		put_groups(out, groups);
		put_links(out, links);
		/* Sockets are another module's; without it the rest is still worth having. */
		rc = ctl_sock_read(&all, socks);
		if (rc == CTL_OK)
			put_sockets(out, socks);
	}
	json_object_put(stats);
	json_object_put(info);
	json_object_put(groups);
	json_object_put(links);
	json_object_put(socks);
	return rc;
}

/**
 * ctl_prometheus() - smcctl prometheus [-o FILE]
 * @opts: command line
 *
 * Return: exit status. Also with a failure there is output: that the module does not answer.
 */
int ctl_prometheus(const struct ctl_opts *opts)
{
	if (opts->json) {
		ctl_fail("prometheus has a format of its own, not JSON: smcctl -j stats");
		return CTL_USAGE;
	}
	return opts->output ? ctl_replace_file(opts->output, collect, true) : collect(stdout);
}
