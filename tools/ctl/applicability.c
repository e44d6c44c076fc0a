// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: how much of the TCP traffic of this host could use SMC?
 *
 * Connections are summed up by the peer's network and the port of the service. Whether a peer
 * could do its part is not known before it is tried; all that this host knows is.
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
 * struct report - one run
 * @rnics: RoCE ports and PNET IDs
 * @smc: AF_SMC sockets by the text that key_of() makes of their ends
 * @ways: verdict by peer, asked for once
 * @ports: local ports that are listened on
 * @groups: result, by network, port and verdict
 */
struct report {
	struct ctl_rnics rnics;
	struct json_object *smc;
	struct json_object *ways;
	bool ports[65536];
	struct json_object *groups;
};

static const void *plain(const struct in6_addr *addr, int *family)
{
	*family = IN6_IS_ADDR_V4MAPPED(addr) ? AF_INET : AF_INET6;
	return *family == AF_INET ? addr->s6_addr + 12 : addr->s6_addr;
}

static void text_of_addr(const struct in6_addr *addr, char *text, size_t size)
{
	int family;
	const void *ip = plain(addr, &family);

	inet_ntop(family, ip, text, (socklen_t)size);
}

static void key_of(const struct ctl_tcp *sock, char *key, size_t size)
{
	char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];

	text_of_addr(&sock->local, local, sizeof(local));
	text_of_addr(&sock->peer, peer, sizeof(peer));
	snprintf(key, size, "%s %u %s %u", local, sock->local_port, peer, sock->peer_port);
}

static bool parse_addr(const char *text, struct in6_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->s6_addr[10] = 0xff;
	addr->s6_addr[11] = 0xff;
	if (inet_pton(AF_INET, text, addr->s6_addr + 12) == 1)
		return true;
	return inet_pton(AF_INET6, text, addr) == 1;
}

/* AF_SMC sockets under the ends of their TCP connections */
static int read_smc(struct report *r)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct json_object *socks = json_object_new_array();
	struct ctl_tcp sock = { 0 };
	int rc = ctl_sock_read(&all, socks);
	char key[128];
	size_t i;

	for (i = 0; rc == CTL_OK && i < json_object_array_length(socks); i++) {
		struct json_object *s = json_object_array_get_idx(socks, i);

		if (!parse_addr(ctl_text_of(s, "local_addr"), &sock.local) ||
		    !parse_addr(ctl_text_of(s, "peer_addr"), &sock.peer))
			continue;
		sock.local_port = (__u16)atoi(ctl_text_of(s, "local_port"));
		sock.peer_port = (__u16)atoi(ctl_text_of(s, "peer_port"));
		key_of(&sock, key, sizeof(key));
		json_object_object_add(r->smc, key, json_object_get(s));
	}
	json_object_put(socks);
	return rc;
}

static struct json_object *new_way(const char *verdict, __u32 code, const char *detail)
{
	struct json_object *way = json_object_new_object();

	ctl_add_str(way, "verdict", verdict);
	if (code)
		ctl_add_reason(way, "reason", code);
	ctl_add_str(way, "detail", detail);
	return way;
}

/* What this host alone knows about connections to a peer; belongs to @r. */
static struct json_object *way_to(struct report *r, const struct in6_addr *peer)
{
	char ip[INET6_ADDRSTRLEN], text[256];
	struct json_object *way = NULL;
	struct ctl_route route;
	const void *addr;
	int family;
	__u32 code;

	text_of_addr(peer, ip, sizeof(ip));
	if (json_object_object_get_ex(r->ways, ip, &way))
		return way;
	addr = plain(peer, &family);
	if (ctl_route_find(family, addr, &route)) {
		way = new_way("no", 0, "no route");
	} else if (route.local) {
		way = new_way("local", 0, "within this host");
	} else {
		code = ctl_rnics_find(&r->rnics, route.netdev, text, sizeof(text));
		way = new_way(code ? "no" : "possible", code, text);
	}
	json_object_object_add(r->ways, ip, way);
	return way;
}

/* A verdict of a connection that somebody has to json_object_put(). */
static struct json_object *judge(struct report *r, const struct ctl_tcp *sock)
{
	struct json_object *smc = NULL, *fallback = NULL;
	char key[128];
	__u32 code;

	key_of(sock, key, sizeof(key));
	if (!json_object_object_get_ex(r->smc, key, &smc))
		return json_object_get(way_to(r, &sock->peer));
	if (!json_object_object_get_ex(smc, "fallback", &fallback))
		return new_way("smc", 0, "uses SMC");
	code = (__u32)strtoul(ctl_text_of(fallback, "peer_reason"), NULL, 16);
	if (!code)
		code = (__u32)strtoul(ctl_text_of(fallback, "reason"), NULL, 16);
	return new_way("fallback", code, smc_clc_reason_str(code));
}

/* The peer's network: 24 bits of an IPv4 address, 64 of another */
static void network_of(const struct in6_addr *peer, char *text, size_t size)
{
	struct in6_addr net = *peer;
	bool v4 = IN6_IS_ADDR_V4MAPPED(peer);
	char ip[INET6_ADDRSTRLEN];

	if (v4)
		net.s6_addr[15] = 0;
	else
		memset(net.s6_addr + 8, 0, 8);
	text_of_addr(&net, ip, sizeof(ip));
	snprintf(text, size, "%s/%d", ip, v4 ? 24 : 64);
}

static void add_to(struct json_object *obj, const char *key, __u64 val)
{
	struct json_object *old = NULL;

	if (json_object_object_get_ex(obj, key, &old))
		val += json_object_get_uint64(old);
	ctl_add_u64(obj, key, val);
}

static void add_sock(struct report *r, const struct ctl_tcp *sock, __u64 sent, __u64 received)
{
	bool server = r->ports[sock->local_port];
	struct json_object *way = judge(r, sock), *group = NULL;
	char network[64], key[512];
	__u16 port = server ? sock->local_port : sock->peer_port;

	network_of(&sock->peer, network, sizeof(network));
	snprintf(key, sizeof(key), "%s %u %d %s %s", network, port, server,
		 ctl_text_of(way, "verdict"), ctl_text_of(way, "detail"));
	if (!json_object_object_get_ex(r->groups, key, &group)) {
		group = json_object_new_object();
		json_object_object_add(r->groups, key, group);
		ctl_add_str(group, "network", network);
		ctl_add_u64(group, "port", port);
		ctl_add_str(group, "role", server ? "server" : "client");
		json_object_object_foreach(way, name, val)
			json_object_object_add(group, name, json_object_get(val));
	}
	add_to(group, "connections", 1);
	add_to(group, "tx_bytes", sent);
	add_to(group, "rx_bytes", received);
	json_object_put(way);
}

static __u64 number(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return json_object_object_get_ex(obj, key, &val) ? json_object_get_uint64(val) : 0;
}

static __u64 bytes_of(struct json_object *group)
{
	return number(group, "tx_bytes") + number(group, "rx_bytes");
}

/* The most bytes first; then as texts, so that the order does not depend on the kernel's. */
static int compare(const void *a, const void *b)
{
	struct json_object *x = *(struct json_object * const *)a;
	struct json_object *y = *(struct json_object * const *)b;

	if (bytes_of(x) != bytes_of(y))
		return bytes_of(x) < bytes_of(y) ? 1 : -1;
	return strcmp(json_object_to_json_string(x), json_object_to_json_string(y));
}

static struct json_object *sum_up(struct json_object *list)
{
	static const char * const verdicts[] = { "smc", "possible", "fallback", "no", "local" };
	struct json_object *sums = json_object_new_object();
	size_t i, v;

	for (v = 0; v < ARRAY_SIZE(verdicts); v++) {
		struct json_object *sum = json_object_new_object();

		json_object_object_add(sums, verdicts[v], sum);
		add_to(sum, "connections", 0);
		add_to(sum, "bytes", 0);
		for (i = 0; i < json_object_array_length(list); i++) {
			struct json_object *g = json_object_array_get_idx(list, i);

			if (strcmp(ctl_text_of(g, "verdict"), verdicts[v]))
				continue;
			add_to(sum, "connections", number(g, "connections"));
			add_to(sum, "bytes", bytes_of(g));
		}
	}
	return sums;
}

static void print_report(struct json_object *list, struct json_object *sums)
{
	static const struct ctl_column cols[] = {
		{ "NETWORK", "network" }, { "PORT", "port" }, { "ROLE", "role" },
		{ "CONNS", "connections" }, { "TX-BYTES", "tx_bytes" },
		{ "RX-BYTES", "rx_bytes" }, { "SMC", "verdict" }, { "WHY", "detail" },
	};
	__u64 bytes = 0, conns = 0;

	json_object_object_foreach(sums, key, val) {
		(void)key;
		bytes += number(val, "bytes");
		conns += number(val, "connections");
	}
	ctl_print_table(list, cols, ARRAY_SIZE(cols));
	putchar('\n');
	json_object_object_foreach(sums, verdict, sum) {
		printf("%-9s %5.1f %% of bytes, %5.1f %% of connections\n", verdict,
		       bytes ? 100.0 * (double)number(sum, "bytes") / (double)bytes : 0.0,
		       conns ? 100.0 * (double)number(sum, "connections") / (double)conns : 0.0);
	}
}

/* Sockets by their ends: the number of each in @list */
static struct json_object *index_of(const struct ctl_tcps *list)
{
	struct json_object *index = json_object_new_object();
	char key[128];
	size_t i;

	for (i = 0; i < list->num; i++) {
		if (list->sock[i].listens)
			continue;
		key_of(&list->sock[i], key, sizeof(key));
		ctl_add_u64(index, key, i);
	}
	return index;
}

/* What was there before the time began does not count. */
static void subtract(const struct ctl_tcps *before, struct json_object *index,
		     struct ctl_tcp *sock)
{
	struct json_object *nr = NULL;
	const struct ctl_tcp *b;
	char key[128];

	key_of(sock, key, sizeof(key));
	if (!json_object_object_get_ex(index, key, &nr))
		return;
	b = &before->sock[json_object_get_uint64(nr)];
	/* else it is another connection of the same ports */
	if (b->sent <= sock->sent && b->received <= sock->received) {
		sock->sent -= b->sent;
		sock->received -= b->received;
	}
}

static int measure(struct report *r, unsigned int seconds)
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
	index = index_of(&before);
	for (i = 0; rc == CTL_OK && i < now.num; i++)
		if (now.sock[i].listens)
			r->ports[now.sock[i].local_port] = true;
	for (i = 0; rc == CTL_OK && i < now.num; i++) {
		if (now.sock[i].listens)
			continue;
		subtract(&before, index, &now.sock[i]);
		add_sock(r, &now.sock[i], now.sock[i].sent, now.sock[i].received);
	}
	json_object_put(index);
	ctl_tcp_put(&before);
	ctl_tcp_put(&now);
	return rc;
}

static void show(const struct ctl_opts *opts, struct report *r)
{
	struct json_object *list = json_object_new_array(), *sums, *both;

	json_object_object_foreach(r->groups, key, val) {
		(void)key;
		json_object_array_add(list, json_object_get(val));
	}
	json_object_array_sort(list, compare);
	sums = sum_up(list);
	ctl_note_list(list);
	if (opts->json) {
		both = json_object_new_object();
		json_object_object_add(both, "groups", json_object_get(list));
		json_object_object_add(both, "sums", json_object_get(sums));
		ctl_print_json(both);
		json_object_put(both);
	} else {
		print_report(list, sums);
	}
	json_object_put(list);
	json_object_put(sums);
}

/**
 * ctl_applicability() - smcctl applicability [SECONDS]
 * @opts: command line
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status.
 */
int ctl_applicability(const struct ctl_opts *opts, int argc, char **argv)
{
	static struct report r;
	unsigned long seconds = 0;
	int rc;

	if (argc == 1 && strspn(argv[0], "0123456789") == strlen(argv[0]) && strlen(argv[0]) <= 5)
		seconds = strtoul(argv[0], NULL, 10);
	if (argc > 1 || (argc == 1 && (!seconds || seconds > SECONDS_MAX))) {
		ctl_fail("applicability is followed by SECONDS (1 to 86400), or nothing");
		return CTL_USAGE;
	}
	r.smc = json_object_new_object();
	r.ways = json_object_new_object();
	r.groups = json_object_new_object();
	/* Also without the module: it is a reason to load it, or not to. */
	if (ctl_have_module()) {
		rc = ctl_rnics_read(&r.rnics);
		if (rc == CTL_OK)
			rc = read_smc(&r);
	} else {
		rc = ctl_rnics_read_sysfs(&r.rnics);
	}
	if (rc == CTL_OK)
		rc = measure(&r, (unsigned int)seconds);
	if (rc == CTL_OK)
		show(opts, &r);
	ctl_rnics_put(&r.rnics);
	json_object_put(r.smc);
	json_object_put(r.ways);
	json_object_put(r.groups);
	return rc;
}
