// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: how much of the TCP traffic of this host could use SMC?
 *
 * Adds up connections by the peer's network and the port of the service. The verdict covers only
 * this host: whether a peer supports SMC is not known before a connection is tried.
 */
#include "path.h"
#include "tcp.h"
#include <smc/proto/clc_msg.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS_MAX 86400

/**
 * struct report - state of one run
 * @rnics: RoCE ports and PNET IDs
 * @smc: AF_SMC sockets, by sock_format_key()
 * @verdicts: cached verdicts, by address of the peer
 * @ports: true for local ports with a listener
 * @groups: result: sums by network, port, role and verdict
 */
struct report {
	struct ctl_rnics rnics;
	struct json_object *smc;
	struct json_object *verdicts;
	bool ports[65536];
	struct json_object *groups;
};

static const void *addr_unmap(const struct in6_addr *addr, int *family)
{
	*family = IN6_IS_ADDR_V4MAPPED(addr) ? AF_INET : AF_INET6;
	return *family == AF_INET ? addr->s6_addr + 12 : addr->s6_addr;
}

static void addr_format(const struct in6_addr *addr, char *text, size_t size)
{
	int family;
	const void *ip = addr_unmap(addr, &family);

	inet_ntop(family, ip, text, (socklen_t)size);
}

static void sock_format_key(const struct ctl_tcp *sock, char *key, size_t size)
{
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];

	addr_format(&sock->local, local, sizeof(local));
	addr_format(&sock->peer, peer, sizeof(peer));
	snprintf(key, size, "%s %u %s %u", local, sock->local_port, peer, sock->peer_port);
}

static bool addr_parse(const char *text, struct in6_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->s6_addr[10] = 0xff;
	addr->s6_addr[11] = 0xff;
	if (inet_pton(AF_INET, text, addr->s6_addr + 12) == 1)
		return true;
	return inet_pton(AF_INET6, text, addr) == 1;
}

/* Read the AF_SMC sockets into @r->smc. Return an exit status. */
static int report_read_smc(struct report *r)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct json_object *socks = json_object_new_array();
	struct ctl_tcp sock = { 0 };
	int rc = ctl_sock_read(&all, socks);
	char key[128];
	size_t i;

	for (i = 0; rc == CTL_OK && i < json_object_array_length(socks); i++) {
		struct json_object *s = json_object_array_get_idx(socks, i);

		if (!addr_parse(ctl_json_text(s, "local_addr"), &sock.local) ||
		    !addr_parse(ctl_json_text(s, "peer_addr"), &sock.peer))
			continue;
		sock.local_port = (__u16)atoi(ctl_json_text(s, "local_port"));
		sock.peer_port = (__u16)atoi(ctl_json_text(s, "peer_port"));
		sock_format_key(&sock, key, sizeof(key));
		json_object_object_add(r->smc, key, json_object_get(s));
	}
	json_object_put(socks);
	return rc;
}

static struct json_object *verdict_new(const char *verdict, __u32 code, const char *detail)
{
	struct json_object *obj = json_object_new_object();

	ctl_json_add_str(obj, "verdict", verdict);
	if (code)
		ctl_json_add_reason(obj, "reason", code);
	ctl_json_add_str(obj, "detail", detail);
	return obj;
}

/* Return the verdict of this host on connections to a peer; it belongs to @r. */
static struct json_object *report_get_peer_verdict(struct report *r, const struct in6_addr *peer)
{
	char ip[INET6_ADDRSTRLEN], text[256];
	struct json_object *verdict = NULL;
	struct ctl_route route;
	const void *addr;
	int family;
	struct json_object *port;
	__u32 code;

	addr_format(peer, ip, sizeof(ip));
	if (json_object_object_get_ex(r->verdicts, ip, &verdict))
		return verdict;
	addr = addr_unmap(peer, &family);
	if (ctl_route_find(family, addr, &route)) {
		verdict = verdict_new("no", 0, "no route");
	} else if (route.local) {
		verdict = verdict_new("local", 0, "within this host");
	} else {
		code = ctl_rnics_find_port(&r->rnics, route.netdev, text, sizeof(text), &port);
		verdict = verdict_new(code ? "no" : "possible", code, text);
	}
	json_object_object_add(r->verdicts, ip, verdict);
	return verdict;
}

/* Return the verdict of a connection; the caller releases it with json_object_put(). */
static struct json_object *report_get_sock_verdict(struct report *r, const struct ctl_tcp *sock)
{
	struct json_object *smc = NULL, *fallback = NULL;
	char key[128];
	__u32 code;

	sock_format_key(sock, key, sizeof(key));
	if (!json_object_object_get_ex(r->smc, key, &smc))
		return json_object_get(report_get_peer_verdict(r, &sock->peer));
	/* TCP so far, and its bytes are those of TCP */
	if (ctl_json_member(smc, "deferred"))
		return verdict_new("possible", 0, "deferred: may change over to SMC");
	if (!json_object_object_get_ex(smc, "fallback", &fallback))
		return verdict_new("smc", 0, "uses SMC");
	code = (__u32)strtoul(ctl_json_text(fallback, "peer_reason"), NULL, 16);
	if (!code)
		code = (__u32)strtoul(ctl_json_text(fallback, "reason"), NULL, 16);
	/* nothing is at fault: AUTOSMC of one of the hosts does without SMC here */
	return verdict_new(code == SMC_CLC_DECL_SHORT ? "short" : "fallback", code,
			   smc_clc_reason_str(code));
}

/* Format the network of a peer: 24 bits of an IPv4 address, 64 bits of an IPv6 address. */
static void addr_format_network(const struct in6_addr *peer, char *text, size_t size)
{
	struct in6_addr net = *peer;
	bool v4 = IN6_IS_ADDR_V4MAPPED(peer);
	char ip[INET6_ADDRSTRLEN];

	if (v4)
		net.s6_addr[15] = 0;
	else
		memset(net.s6_addr + 8, 0, 8);
	addr_format(&net, ip, sizeof(ip));
	snprintf(text, size, "%s/%d", ip, v4 ? 24 : 64);
}

static void sum_add(struct json_object *obj, const char *key, __u64 val)
{
	struct json_object *old = NULL;

	if (json_object_object_get_ex(obj, key, &old))
		val += json_object_get_uint64(old);
	ctl_json_add_u64(obj, key, val);
}

static void report_add_sock(struct report *r, const struct ctl_tcp *sock, __u64 sent,
			    __u64 received)
{
	bool server = r->ports[sock->local_port];
	struct json_object *verdict = report_get_sock_verdict(r, sock), *group = NULL;
	char network[64], key[512];
	__u16 port = server ? sock->local_port : sock->peer_port;

	addr_format_network(&sock->peer, network, sizeof(network));
	snprintf(key, sizeof(key), "%s %u %d %s %s", network, port, server,
		 ctl_json_text(verdict, "verdict"), ctl_json_text(verdict, "detail"));
	if (!json_object_object_get_ex(r->groups, key, &group)) {
		group = json_object_new_object();
		json_object_object_add(r->groups, key, group);
		ctl_json_add_str(group, "network", network);
		ctl_json_add_u64(group, "port", port);
		ctl_json_add_str(group, "role", server ? "server" : "client");
		json_object_object_foreach(verdict, name, val)
			json_object_object_add(group, name, json_object_get(val));
	}
	sum_add(group, "connections", 1);
	sum_add(group, "tx_bytes", sent);
	sum_add(group, "rx_bytes", received);
	json_object_put(verdict);
}

static __u64 group_get_bytes(struct json_object *group)
{
	return ctl_json_u64(group, "tx_bytes") + ctl_json_u64(group, "rx_bytes");
}

/* Most bytes first, then by text, so that the order does not depend on the kernel. */
static int group_compare(const void *a, const void *b)
{
	struct json_object *x = *(struct json_object * const *)a;
	struct json_object *y = *(struct json_object * const *)b;

	if (group_get_bytes(x) != group_get_bytes(y))
		return group_get_bytes(x) < group_get_bytes(y) ? 1 : -1;
	return strcmp(json_object_to_json_string(x), json_object_to_json_string(y));
}

static struct json_object *groups_sum_up(struct json_object *list)
{
	static const char * const verdicts[] = {
		"smc", "possible", "short", "fallback", "no", "local"
	};
	struct json_object *sums = json_object_new_object();
	size_t i, v;

	for (v = 0; v < ARRAY_SIZE(verdicts); v++) {
		struct json_object *sum = json_object_new_object();

		json_object_object_add(sums, verdicts[v], sum);
		sum_add(sum, "connections", 0);
		sum_add(sum, "bytes", 0);
		for (i = 0; i < json_object_array_length(list); i++) {
			struct json_object *g = json_object_array_get_idx(list, i);

			if (strcmp(ctl_json_text(g, "verdict"), verdicts[v]))
				continue;
			sum_add(sum, "connections", ctl_json_u64(g, "connections"));
			sum_add(sum, "bytes", group_get_bytes(g));
		}
	}
	return sums;
}

static void report_print_text(struct json_object *list, struct json_object *sums)
{
	static const struct ctl_column cols[] = {
		{ "NETWORK", "network" }, { "PORT", "port" }, { "ROLE", "role" },
		{ "CONNS", "connections" }, { "TX-BYTES", "tx_bytes" },
		{ "RX-BYTES", "rx_bytes" }, { "SMC", "verdict" }, { "WHY", "detail" },
	};
	__u64 bytes = 0, conns = 0;

	json_object_object_foreach(sums, key, val) {
		(void)key;
		bytes += ctl_json_u64(val, "bytes");
		conns += ctl_json_u64(val, "connections");
	}
	ctl_table_print(list, cols, ARRAY_SIZE(cols));
	putchar('\n');
	json_object_object_foreach(sums, verdict, sum) {
		__u64 b = ctl_json_u64(sum, "bytes"), c = ctl_json_u64(sum, "connections");

		printf("%-9s %5.1f %% of bytes, %5.1f %% of connections\n", verdict,
		       bytes ? 100.0 * (double)b / (double)bytes : 0.0,
		       conns ? 100.0 * (double)c / (double)conns : 0.0);
	}
}

/* Return an object with the index in @list of each connection, by sock_format_key(). */
static struct json_object *socks_index(const struct ctl_tcps *list)
{
	struct json_object *index = json_object_new_object();
	char key[128];
	size_t i;

	for (i = 0; i < list->num; i++) {
		if (list->sock[i].listens)
			continue;
		sock_format_key(&list->sock[i], key, sizeof(key));
		ctl_json_add_u64(index, key, i);
	}
	return index;
}

/* Subtract the bytes that were counted before the measurement. */
static void sock_subtract(const struct ctl_tcps *before, struct json_object *index,
			  struct ctl_tcp *sock)
{
	struct json_object *nr = NULL;
	const struct ctl_tcp *b;
	char key[128];

	sock_format_key(sock, key, sizeof(key));
	if (!json_object_object_get_ex(index, key, &nr))
		return;
	b = &before->sock[json_object_get_uint64(nr)];
	/* else it is a new connection with the same ports */
	if (b->sent <= sock->sent && b->received <= sock->received) {
		sock->sent -= b->sent;
		sock->received -= b->received;
	}
}

static int report_measure(struct report *r, unsigned int seconds)
{
	const struct timespec wait = { .tv_sec = seconds };
	struct ctl_tcps before = { 0 }, now = { 0 };
	struct json_object *index;
	int rc = CTL_OK;
	size_t i;

	if (seconds) {
		rc = ctl_tcp_read(&before);
		if (rc == CTL_OK)
			nanosleep(&wait, NULL);
	}
	if (rc == CTL_OK)
		rc = ctl_tcp_read(&now);
	index = socks_index(&before);
	for (i = 0; rc == CTL_OK && i < now.num; i++)
		if (now.sock[i].listens)
			r->ports[now.sock[i].local_port] = true;
	for (i = 0; rc == CTL_OK && i < now.num; i++) {
		if (now.sock[i].listens)
			continue;
		sock_subtract(&before, index, &now.sock[i]);
		report_add_sock(r, &now.sock[i], now.sock[i].sent, now.sock[i].received);
	}
	json_object_put(index);
	ctl_tcp_put(&before);
	ctl_tcp_put(&now);
	return rc;
}

static void report_print(const struct ctl_opts *opts, struct report *r)
{
	struct json_object *list = json_object_new_array(), *sums, *both;

	json_object_object_foreach(r->groups, key, val) {
		(void)key;
		json_object_array_add(list, json_object_get(val));
	}
	json_object_array_sort(list, group_compare);
	sums = groups_sum_up(list);
	ctl_list_note(list);
	if (opts->json) {
		both = json_object_new_object();
		json_object_object_add(both, "groups", json_object_get(list));
		json_object_object_add(both, "sums", json_object_get(sums));
		ctl_json_print(both);
		json_object_put(both);
	} else {
		report_print_text(list, sums);
	}
	json_object_put(list);
	json_object_put(sums);
}

/**
 * cmd_applicability() - smcctl applicability [show] [SECONDS]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_applicability(const struct ctl_opts *opts, int argc, char **argv)
{
	static struct report r;
	unsigned long seconds = 0;
	int rc;

	if (argc && !strcmp(argv[0], "show")) {
		argc--;
		argv++;
	}
	if (argc == 1 && strspn(argv[0], "0123456789") == strlen(argv[0]) && strlen(argv[0]) <= 5)
		seconds = strtoul(argv[0], NULL, 10);
	if (argc > 1 || (argc == 1 && (!seconds || seconds > SECONDS_MAX))) {
		ctl_error("applicability is followed by show and SECONDS (1 to 86400), or nothing");
		return CTL_USAGE;
	}
	r.smc = json_object_new_object();
	r.verdicts = json_object_new_object();
	r.groups = json_object_new_object();
	/* also works without the module, to decide whether to load it */
	if (ctl_module_is_loaded()) {
		rc = ctl_rnics_read(&r.rnics);
		if (rc == CTL_OK)
			rc = report_read_smc(&r);
	} else {
		rc = ctl_rnics_read_sysfs(&r.rnics);
	}
	if (rc == CTL_OK)
		rc = report_measure(&r, (unsigned int)seconds);
	if (rc == CTL_OK)
		report_print(opts, &r);
	ctl_rnics_put(&r.rnics);
	json_object_put(r.smc);
	json_object_put(r.verdicts);
	json_object_put(r.groups);
	return rc;
}
