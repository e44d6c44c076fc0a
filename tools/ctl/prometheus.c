// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: statistics in the text format of Prometheus, for node_exporter's textfile collector.
 *
 * Counters are reset only when the module is loaded again. Labels have few values: roles, versions,
 * states, devices, fallback reasons, of which the module keeps a bounded number, and network
 * namespaces, of which a bounded number is read.
 */
#include "smcctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than there are metrics */
#define MAX_FAMILIES 96

static const char up_metric[] = "smc_up";
static const char up_help[] = "Whether the SMC module answered.";

/* Counters of this module, absent from the in-tree one, that are worth an alert or a graph */
static const struct {
	const char *counter;
	const char *metric;
	const char *help;
} counter_metrics[] = {
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
	  "Times a peer was sent the write-blocked flag, as its window was closed." },
	{ "tx_full", "smc_transmit_buffer_full_total",
	  "Send calls that found the send ring full." },
	{ "mr_reg", "smc_memory_registrations_total", "Memory registrations." },
	{ "hs_reset", "smc_handshakes_reset_total",
	  "Handshakes that ended with the connection reset." },
	{ "wr_posts", "smc_posts_total", "Chains of RDMA requests posted for messages." },
	{ "wr_done", "smc_completions_total",
	  "Completions of these chains; one may cover several." },
	{ "wakeups", "smc_wakeups_total", "Times that readers or writers of a socket were woken." },
	{ "mem_limited", "smc_memory_limited_total",
	  "Buffers that were not allocated, because a limit of memory was reached." },
	{ "elem_quarantine", "smc_elements_quarantined_total",
	  "Buffer elements kept out of use because the peer did not confirm the close." },
	{ "autosmc_tcp", "smc_autosmc_tcp_total",
	  "Connections that are TCP because earlier ones were short." },
	{ "autosmc_probe", "smc_autosmc_probes_total",
	  "Connections with which AUTOSMC tried SMC again." },
};

static void head_write(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Write a label; escapes quotes and backslashes in its value. */
static void label_write(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s=\"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void role_write(FILE *out, const char *metric, const char *role, __u64 val)
{
	fprintf(out, "%s{role=\"%s\"} %llu\n", metric, role, (unsigned long long)val);
}

/* Return the sum of a counter over SMC-R and SMC-D. */
static unsigned long long stats_get_sum(struct json_object *stats, const char *key)
{
	return ctl_json_u64(ctl_json_member(stats, "smcr"), key) +
	       ctl_json_u64(ctl_json_member(stats, "smcd"), key);
}

static void traffic_write(FILE *out, struct json_object *stats, const char *metric,
			  const char *help, const char *key)
{
	head_write(out, metric, "counter", help);
	fprintf(out, "%s %llu\n", metric, stats_get_sum(stats, key));
}

static void connections_write(FILE *out, struct json_object *stats)
{
	static const char metric[] = "smc_connections_total";
	static const char * const roles[] = { "client", "server" };
	char key[64];
	int version;
	size_t i;

	head_write(out, metric, "counter", "Connections that were made on SMC.");
	for (i = 0; i < ARRAY_SIZE(roles); i++) {
		for (version = 1; version <= 2; version++) {
			snprintf(key, sizeof(key), "%s_v%d_connections", roles[i], version);
			fprintf(out, "%s{role=\"%s\",version=\"%d\"} %llu\n", metric, roles[i],
				version, stats_get_sum(stats, key));
		}
	}
}

/* The module counts reasons only until its table is full: the rest of the total is "other". */
static void fallbacks_write(FILE *out, struct json_object *stats)
{
	static const char metric[] = "smc_fallbacks_total";
	static const char * const roles[] = { "client", "server" };
	struct json_object *fallbacks = ctl_json_member(stats, "fallbacks");
	struct json_object *reasons = ctl_json_member(fallbacks, "reasons");
	size_t i, r;

	head_write(out, metric, "counter", "Connections that fell back to TCP, by reason.");
	for (r = 0; r < ARRAY_SIZE(roles); r++) {
		__u64 total = ctl_json_u64(fallbacks, roles[r]), sum = 0;

		for (i = 0; i < json_object_array_length(reasons); i++) {
			struct json_object *reason = json_object_array_get_idx(reasons, i);

			if (strcmp(ctl_json_text(reason, "side"), roles[r]))
				continue;
			sum += ctl_json_u64(reason, "count");
			fprintf(out, "%s{role=\"%s\",", metric, roles[r]);
			label_write(out, "reason", ctl_json_text(reason, "reason"));
			fputc(',', out);
			label_write(out, "text", ctl_json_text(reason, "reason_text"));
			fprintf(out, "} %llu\n", (unsigned long long)ctl_json_u64(reason, "count"));
		}
		fprintf(out, "%s{role=\"%s\",reason=\"other\",text=\"\"} %llu\n", metric, roles[r],
			(unsigned long long)(total > sum ? total - sum : 0));
	}
}

static void counters_write(FILE *out, struct json_object *stats)
{
	struct json_object *counters = ctl_json_member(stats, "counters");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counter_metrics); i++) {
		if (!ctl_json_member(counters, counter_metrics[i].counter))
			continue;
		head_write(out, counter_metrics[i].metric, "counter", counter_metrics[i].help);
		fprintf(out, "%s %llu\n", counter_metrics[i].metric,
			(unsigned long long)ctl_json_u64(counters, counter_metrics[i].counter));
	}
}

/* The module counts this time in microseconds. */
static void window_write(FILE *out, struct json_object *stats)
{
	static const char metric[] = "smc_window_closed_seconds_total";
	struct json_object *counters = ctl_json_member(stats, "counters");
	unsigned long long usecs = ctl_json_u64(counters, "window_usecs");

	if (!ctl_json_member(counters, "window_usecs"))
		return;
	head_write(out, metric, "counter",
		   "Time for which peers kept their windows closed, of those that were opened again.");
	fprintf(out, "%s %llu.%06llu\n", metric, usecs / 1000000, usecs % 1000000);
}

static void buffers_write(FILE *out, struct json_object *stats)
{
	struct json_object *smcr = ctl_json_member(stats, "smcr");

	if (!ctl_json_member(smcr, "rx_buffer_bytes") && !ctl_json_member(smcr, "tx_buffer_bytes"))
		return;
	head_write(out, "smc_buffer_bytes", "gauge", "Memory of buffers in all link groups.");
	fprintf(out, "smc_buffer_bytes{kind=\"rmb\"} %llu\n",
		(unsigned long long)ctl_json_u64(smcr, "rx_buffer_bytes"));
	fprintf(out, "smc_buffer_bytes{kind=\"send\"} %llu\n",
		(unsigned long long)ctl_json_u64(smcr, "tx_buffer_bytes"));
}

static void memory_write(FILE *out, struct json_object *memory, const char *metric)
{
	static const char * const kinds[] = { "send", "rmb_used", "rmb_pooled", "rmb_quarantined" };
	char key[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(key, sizeof(key), "%s_bytes", kinds[i]);
		fprintf(out, "%s{kind=\"%s\"} %llu\n", metric, kinds[i],
			(unsigned long long)ctl_json_u64(memory, key));
	}
}

/* Write a sample for each member of a table, which only this module has. */
static void table_write(FILE *out, struct json_object *table, const char *metric,
			const char *first, const char *second)
{
	if (!table)
		return;
	json_object_object_foreach(table, key, val) {
		fprintf(out, "%s{%s", metric, first);
		label_write(out, second, key);
		fprintf(out, "} %llu\n", (unsigned long long)json_object_get_uint64(val));
	}
}

static void messages_write(FILE *out, struct json_object *stats)
{
	if (!ctl_json_member(stats, "clc_sent"))
		return;
	head_write(out, "smc_clc_messages_total", "counter", "Messages of handshakes, by type.");
	table_write(out, ctl_json_member(stats, "clc_sent"), "smc_clc_messages_total",
		    "direction=\"sent\",", "type");
	table_write(out, ctl_json_member(stats, "clc_received"), "smc_clc_messages_total",
		    "direction=\"received\",", "type");
	head_write(out, "smc_llc_messages_total", "counter",
		   "Messages about links and RMBs, by type.");
	table_write(out, ctl_json_member(stats, "llc_sent"), "smc_llc_messages_total",
		    "direction=\"sent\",", "type");
	table_write(out, ctl_json_member(stats, "llc_received"), "smc_llc_messages_total",
		    "direction=\"received\",", "type");
}

/*
 * Write the histogram of handshake times. The names of the members have the upper limits in
 * microseconds; buckets of Prometheus include all shorter times.
 */
static void handshake_times_write(FILE *out, struct json_object *stats, const char *role)
{
	static const char metric[] = "smc_handshake_seconds";
	struct json_object *counters = ctl_json_member(stats, "counters"), *times;
	unsigned long long sum = 0, usecs;
	char key[64];

	snprintf(key, sizeof(key), "%s_handshake_times", role);
	times = ctl_json_member(stats, key);
	if (!times)
		return;
	json_object_object_foreach(times, name, val) {
		sum += json_object_get_uint64(val);
		if (sscanf(name, "up_to_%llu_us", &usecs) == 1)
			fprintf(out, "%s_bucket{role=\"%s\",le=\"%llu.%06llu\"} %llu\n", metric,
				role, usecs / 1000000, usecs % 1000000, sum);
	}
	usecs = ctl_json_u64(counters, *role == 'c' ? "clnt_hs_usecs" : "srv_hs_usecs");
	fprintf(out, "%s_bucket{role=\"%s\",le=\"+Inf\"} %llu\n", metric, role, sum);
	fprintf(out, "%s_sum{role=\"%s\"} %llu.%06llu\n", metric, role, usecs / 1000000,
		usecs % 1000000);
	fprintf(out, "%s_count{role=\"%s\"} %llu\n", metric, role, sum);
}

static void tables_write(FILE *out, struct json_object *stats)
{
	messages_write(out, stats);
	if (ctl_json_member(stats, "client_handshake_times")) {
		head_write(out, "smc_handshake_seconds", "histogram",
			   "Time that handshakes took which ended on SMC.");
		handshake_times_write(out, stats, "client");
		handshake_times_write(out, stats, "server");
	}
	if (ctl_json_member(stats, "memory")) {
		head_write(out, "smc_memory_bytes", "gauge",
			   "Memory of buffers in this namespace.");
		memory_write(out, ctl_json_member(stats, "memory"), "smc_memory_bytes");
		head_write(out, "smc_memory_peak_bytes", "gauge", "The most there was of it.");
		memory_write(out, ctl_json_member(stats, "memory_peak"), "smc_memory_peak_bytes");
	}
}

/* Limits that are set: 0 is none. Only this module has them. */
static void limits_write(FILE *out)
{
	static const struct {
		const char *path;
		const char *limit;
	} limits[] = {
		{ "/proc/sys/net/smc/smcr_max_mem_kb", "host" },
		{ "/proc/sys/net/smc/smcr_max_rmb_kb", "rmb" },
		{ "/proc/sys/net/smc/smcr_max_snd_kb", "send" },
	};
	unsigned long long kb;
	bool any = false;
	char text[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		ctl_line_read(limits[i].path, text, sizeof(text));
		kb = strtoull(text, NULL, 10);
		if (!kb)
			continue;
		if (!any)
			head_write(out, "smc_memory_limit_bytes", "gauge",
				   "Limits: of all namespaces, and of RMBs and send rings here.");
		any = true;
		fprintf(out, "smc_memory_limit_bytes{limit=\"%s\"} %llu\n", limits[i].limit,
			kb * 1024);
	}
}

static void stats_write(FILE *out, struct json_object *stats)
{
	static const char errors[] = "smc_handshake_errors_total";

	connections_write(out, stats);
	fallbacks_write(out, stats);
	head_write(out, errors, "counter", "Handshakes that ended the connection.");
	role_write(out, errors, "client", ctl_json_u64(stats, "client_handshake_errors"));
	role_write(out, errors, "server", ctl_json_u64(stats, "server_handshake_errors"));
	traffic_write(out, stats, "smc_receive_bytes_total", "Bytes received on SMC.", "rx_bytes");
	traffic_write(out, stats, "smc_transmit_bytes_total", "Bytes sent on SMC.", "tx_bytes");
	traffic_write(out, stats, "smc_receive_requests_total", "Receive calls on SMC.",
		      "rx_requests");
	traffic_write(out, stats, "smc_transmit_requests_total", "Send calls on SMC.",
		      "tx_requests");
	buffers_write(out, stats);
	counters_write(out, stats);
	window_write(out, stats);
	tables_write(out, stats);
	limits_write(out);
}

/* Count the elements of @list with the same @a and @b as element @i; *@first: @i is the first. */
static size_t list_count_same(struct json_object *list, size_t i, const char *a, const char *b,
			      bool *first)
{
	struct json_object *one = json_object_array_get_idx(list, i);
	size_t n = 0, k;

	*first = true;
	for (k = 0; k < json_object_array_length(list); k++) {
		struct json_object *other = json_object_array_get_idx(list, k);

		if (strcmp(ctl_json_text(one, a), ctl_json_text(other, a)) ||
		    (b && strcmp(ctl_json_text(one, b), ctl_json_text(other, b))))
			continue;
		n++;
		if (k < i)
			*first = false;
	}
	return n;
}

/* Read the cookie of the network namespace that this program is in. Linux before 5.14 has none. */
static bool cookie_read(__u64 *cookie)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*cookie);
	bool ok = fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool groups_have(struct json_object *groups, const char *id)
{
	size_t i;

	for (i = 0; i < json_object_array_length(groups); i++)
		if (!strcmp(ctl_json_text(json_object_array_get_idx(groups, i), "id"), id))
			return true;
	return false;
}

/*
 * Remove groups of other network namespaces, and their links: this module lists them in the first
 * namespace, the in-tree one in each, and the sum over all namespaces would have them twice.
 */
static void others_remove(struct json_object *groups, struct json_object *links)
{
	struct json_object *one;
	__u64 cookie;
	size_t i;

	if (!cookie_read(&cookie))
		return;
	for (i = json_object_array_length(groups); i-- > 0;) {
		one = json_object_array_get_idx(groups, i);
		if (ctl_json_member(one, "net_cookie") &&
		    ctl_json_u64(one, "net_cookie") != cookie)
			json_object_array_del_idx(groups, i, 1);
	}
	for (i = json_object_array_length(links); i-- > 0;) {
		one = json_object_array_get_idx(links, i);
		if (!groups_have(groups, ctl_json_text(one, "group")))
			json_object_array_del_idx(links, i, 1);
	}
}

static void groups_write(FILE *out, struct json_object *groups)
{
	static const char * const roles[] = { "client", "server" };
	size_t n, i, r;

	head_write(out, "smc_linkgroups", "gauge", "Link groups that exist.");
	for (r = 0; r < ARRAY_SIZE(roles); r++) {
		for (n = 0, i = 0; i < json_object_array_length(groups); i++)
			n += !strcmp(ctl_json_text(json_object_array_get_idx(groups, i), "role"),
				     roles[r]);
		role_write(out, "smc_linkgroups", roles[r], n);
	}
}

static void links_write(FILE *out, struct json_object *links)
{
	bool first;
	size_t n, i;

	head_write(out, "smc_links", "gauge", "Links of all link groups.");
	for (i = 0; i < json_object_array_length(links); i++) {
		struct json_object *link = json_object_array_get_idx(links, i);

		n = list_count_same(links, i, "state", "device", &first);
		if (!first)
			continue;
		fputs("smc_links{", out);
		label_write(out, "state", ctl_json_text(link, "state"));
		fputc(',', out);
		label_write(out, "device", ctl_json_text(link, "device"));
		fprintf(out, "} %zu\n", n);
	}
}

static void sockets_write(FILE *out, struct json_object *socks)
{
	static const char * const modes[] = { "SMCR", "SMCD", "TCP" };
	static const char * const names[] = { "smcr", "smcd", "tcp" };
	size_t n, i, m;

	head_write(out, "smc_connections", "gauge",
		   "Connections of AF_SMC sockets by what carries them.");
	for (m = 0; m < ARRAY_SIZE(modes); m++) {
		for (n = 0, i = 0; i < json_object_array_length(socks); i++)
			n += !strcmp(ctl_json_text(json_object_array_get_idx(socks, i), "mode"),
				     modes[m]);
		fprintf(out, "smc_connections{mode=\"%s\"} %zu\n", names[m], n);
	}
}

static void build_write(FILE *out, struct json_object *info)
{
	static const char * const labels[][2] = {
		{ "module", "name" }, { "module_version", "version" },
		{ "srcversion", "srcversion" }, { "protocols", "protocols" },
		{ "tcp_option", "tcp_option" },
	};
	struct json_object *module = ctl_json_member(info, "module");
	size_t i;

	head_write(out, "smc_build_info", "gauge", "Versions of the module and of this program.");
	fputs("smc_build_info{", out);
	label_write(out, "version", ctl_json_text(info, "version"));
	fputc(',', out);
	label_write(out, "release", ctl_json_text(info, "release"));
	fputc(',', out);
	label_write(out, "smcctl", SMC_TOOLS_VERSION);
	for (i = 0; module && i < ARRAY_SIZE(labels); i++) {
		fputc(',', out);
		label_write(out, labels[i][0], ctl_json_text(module, labels[i][1]));
	}
	fputs("} 1\n", out);
	head_write(out, "smc_module_warning", "gauge",
		   "Whether another module runs than should: see smcctl info.");
	fprintf(out, "smc_module_warning %d\n", module && *ctl_json_text(module, "warning"));
}

static int report_write(FILE *out)
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
	head_write(out, up_metric, "gauge", up_help);
	fprintf(out, "%s %d\n", up_metric, rc == CTL_OK);
	if (rc == CTL_OK) {
		others_remove(groups, links);
		build_write(out, info);
		stats_write(out, stats);
		groups_write(out, groups);
		links_write(out, links);
		/* sockets come from smc_diag; without it the rest is still useful */
		rc = ctl_sock_read(&all, socks);
		if (rc == CTL_OK)
			sockets_write(out, socks);
	}
	json_object_put(stats);
	json_object_put(info);
	json_object_put(groups);
	json_object_put(links);
	json_object_put(socks);
	return rc;
}

/**
 * struct merged - reports of several namespaces, metric by metric, as the format demands
 * @num: number of metrics
 * @families: the metrics in the order in which they were met first: @name, and in @out the lines
 * @label: namespace whose report is merged now
 * @num_netns: namespaces that were read
 */
struct merged {
	size_t num;
	struct {
		char name[64];
		char *text;
		size_t size;
		FILE *out;
	} families[MAX_FAMILIES];
	const char *label;
	unsigned int num_netns;
};

/* Return the lines of a metric; a new metric gets the line @help. */
static FILE *merged_find(struct merged *m, const char *name, const char *help)
{
	size_t i;

	for (i = 0; i < m->num; i++)
		if (!strcmp(m->families[i].name, name))
			return m->families[i].out;
	if (m->num == MAX_FAMILIES)
		abort();
	snprintf(m->families[i].name, sizeof(m->families[i].name), "%s", name);
	m->families[i].out = open_memstream(&m->families[i].text, &m->families[i].size);
	if (!m->families[i].out)
		abort();
	m->num++;
	fputs(help, m->families[i].out);
	return m->families[i].out;
}

/* Write a sample with the label of its namespace before the others. */
static void sample_write(FILE *out, const char *line, const char *netns)
{
	size_t len = strcspn(line, "{ ");

	fprintf(out, "%.*s{", (int)len, line);
	label_write(out, "netns", netns);
	if (line[len] == '{')
		fprintf(out, ",%s", line + len + 1);
	else
		fprintf(out, "}%s", line + len);
}

static void report_merge(struct merged *m, FILE *report)
{
	char *line = NULL, name[64];
	FILE *out = NULL;
	bool fresh = false;
	size_t size = 0;

	while (getline(&line, &size, report) > 0) {
		if (sscanf(line, "# HELP %63s", name) == 1) {
			size_t before = m->num;

			out = merged_find(m, name, line);
			fresh = m->num > before;
		} else if (*line == '#') {
			if (fresh)
				fputs(line, out);
		} else if (out) {
			sample_write(out, line, m->label);
		}
	}
	free(line);
}

/* Read the namespace that this program is in now. */
static int netns_merge(const char *label, void *data)
{
	struct merged *m = data;
	char *text = NULL;
	size_t size = 0;
	FILE *report;
	int rc;

	report = open_memstream(&text, &size);
	if (!report)
		abort();
	rc = report_write(report);
	fclose(report);
	report = fmemopen(text, size, "r");
	if (!report)
		abort();
	m->label = label;
	m->num_netns++;
	report_merge(m, report);
	fclose(report);
	free(text);
	return rc;
}

static int all_write(FILE *out)
{
	struct merged m = { 0 };
	unsigned int left_out;
	size_t i;
	int rc;

	rc = ctl_netns_for_each(netns_merge, &m, &left_out);
	for (i = 0; i < m.num; i++) {
		fclose(m.families[i].out);
		fputs(m.families[i].text, out);
		free(m.families[i].text);
	}
	if (!m.num) {
		head_write(out, up_metric, "gauge", up_help);
		fprintf(out, "%s 0\n", up_metric);
	}
	head_write(out, "smc_netns", "gauge", "Network namespaces that were read.");
	fprintf(out, "smc_netns %u\n", m.num_netns);
	head_write(out, "smc_netns_incomplete", "gauge",
		   "Whether there are more network namespaces than are read.");
	fprintf(out, "smc_netns_incomplete %d\n", left_out > 0);
	return rc;
}

/**
 * cmd_prometheus() - smcctl prometheus [-o FILE] [-n all]
 * @opts: command line
 *
 * Writes smc_up also if the module does not answer.
 *
 * Return: exit status.
 */
int cmd_prometheus(const struct ctl_opts *opts)
{
	int (*writer)(FILE *out) = opts->netns ? all_write : report_write;

	return opts->output ? ctl_file_replace(opts->output, writer, true) : writer(stdout);
}
