// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl called as smcss: sockets with the options and columns of that program of smc-tools.
 * Scripts count these columns.
 */
#include "smcctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDR_WIDTH 23

/**
 * struct smcss - command line
 * @listening: only listening sockets
 * @debug: print cursors and buffer sizes
 * @smcd: only sockets of SMC-D
 * @smcr: only sockets of SMC-R, with their link
 * @wide: do not cut addresses
 * @json: print JSON, as smcctl does
 */
struct smcss {
	bool listening;
	bool debug;
	bool smcd;
	bool smcr;
	bool wide;
	bool json;
};

/* Return a member as a number; it may be a string such as "0x80". */
static unsigned long long json_to_num(struct json_object *obj, const char *key)
{
	return obj ? strtoull(ctl_json_text(obj, key), NULL, 0) : 0;
}

static void smcss_print_heading(const struct smcss *s)
{
	static const char * const debug[] = {
		"Shutd", "Token   ", "Sndbuf  ", "Rcvbuf  ", "Peerbuf ", "rxprod-Cursor",
		"rxcons-Cursor", "rxFlags", "txprod-Cursor", "txcons-Cursor", "txFlags",
		"txprep-Cursor", "txsent-Cursor", "txfin-Cursor",
	};
	size_t i;

	printf("%-14s %-5s %-7s %-*s %-*s %-4s Mode", "State", "UID", "Inode", ADDR_WIDTH,
	       "Local Address", ADDR_WIDTH, "Peer Address", "Intf");
	for (i = 0; s->debug && i < ARRAY_SIZE(debug); i++)
		printf(" %s", debug[i]);
	if (s->smcr)
		printf(" %-4s %-15s %-4s %-6s %-40s %s", "Role", "IB-device", "Port", "Linkid",
		       "GID", "Peer-GID");
	/* the module has no SMC-D sockets, so the heading has no rows */
	if (s->smcd)
		printf(" %-16s %-16s %-16s %-16s Linkid", "GID", "Token", "Peer-GID", "Peer-Token");
	putchar('\n');
}

/* Cut the address if it is too long, but never the port, which people and scripts need. */
static void sock_print_addr(const struct smcss *s, struct json_object *sock, const char *end,
			    int width)
{
	char key[16], addr[64], text[80];
	const char *port;
	size_t room;

	snprintf(key, sizeof(key), "%s_addr", end);
	snprintf(addr, sizeof(addr), "%s", ctl_json_text(sock, key));
	snprintf(key, sizeof(key), "%s_port", end);
	port = ctl_json_text(sock, key);
	room = ADDR_WIDTH - strlen(":") - strlen(port);
	if (!s->wide && strlen(addr) > room)
		memcpy(addr + room - strlen(".."), "..", sizeof(".."));
	snprintf(text, sizeof(text), "%s:%s", addr, port);
	printf(" %-*s", width, text);
}

static void conn_print_cursor(struct json_object *conn, const char *key)
{
	struct json_object *cursor = ctl_json_member(conn, key);

	printf(" %04llx:%08llx", json_to_num(cursor, "wrap"), json_to_num(cursor, "count"));
}

static void conn_print_flags(struct json_object *conn, const char *a, const char *b)
{
	printf(" %02llx:%02llx  ", json_to_num(conn, a), json_to_num(conn, b));
}

static void sock_print_debug(struct json_object *sock)
{
	struct json_object *conn = ctl_json_member(sock, "connection");
	unsigned long long shut = json_to_num(sock, "shutdown");

	/* the directions that are shut down */
	printf("  %c-%c", shut & 1 ? 'R' : '<', shut & 2 ? 'W' : '>');
	if (!conn)
		return;
	printf(" %08llx %08llx %08llx %08llx", json_to_num(conn, "token"),
	       json_to_num(conn, "sndbuf_size"), json_to_num(conn, "rmbe_size"),
	       json_to_num(conn, "peer_rmbe_size"));
	conn_print_cursor(conn, "rx_prod");
	conn_print_cursor(conn, "rx_cons");
	conn_print_flags(conn, "rx_prod_flags", "rx_conn_state_flags");
	conn_print_cursor(conn, "tx_prod");
	conn_print_cursor(conn, "tx_cons");
	conn_print_flags(conn, "tx_prod_flags", "tx_conn_state_flags");
	conn_print_cursor(conn, "tx_prep");
	conn_print_cursor(conn, "tx_sent");
	conn_print_cursor(conn, "tx_fin");
}

static void sock_print_link(struct json_object *sock)
{
	struct json_object *link = ctl_json_member(sock, "link");

	if (!link)
		return;
	printf(" %-4s %-15s %02llx   %02llx     %-40s %s",
	       strcmp(ctl_json_text(link, "role"), "server") ? "CLNT" : "SERV",
	       ctl_json_text(link, "device"), json_to_num(link, "port"), json_to_num(link, "id"),
	       ctl_json_text(link, "gid"), ctl_json_text(link, "peer_gid"));
}

/* Print the mode, for TCP with the fallback reasons of both sides. */
static void sock_print_mode(struct json_object *sock)
{
	struct json_object *fallback = ctl_json_member(sock, "fallback");

	if (!fallback) {
		printf(" %-4s", ctl_json_text(sock, "mode"));
		return;
	}
	printf(" TCP %s", ctl_json_text(fallback, "reason"));
	if (json_to_num(fallback, "peer_reason"))
		printf("/%s", ctl_json_text(fallback, "peer_reason"));
}

/* A closed socket has no connection; of a TCP connection only the reasons are known. */
static void sock_print_connection(const struct smcss *s, struct json_object *sock)
{
	if (!strcmp(ctl_json_text(sock, "state"), "CLOSED"))
		return;
	sock_print_mode(sock);
	if (s->debug && !ctl_json_member(sock, "fallback"))
		sock_print_debug(sock);
	if (s->smcr)
		sock_print_link(sock);
}

static bool sock_listens(struct json_object *sock)
{
	return !strcmp(ctl_json_text(sock, "state"), "LISTEN");
}

static bool sock_is_wanted(const struct smcss *s, struct json_object *sock)
{
	const char *mode = ctl_json_text(sock, "mode");

	return (!s->listening || sock_listens(sock)) && (!s->smcd || !strcmp(mode, "SMCD")) &&
	       (!s->smcr || !strcmp(mode, "SMCR"));
}

static void sock_print(const struct smcss *s, struct json_object *sock)
{
	const char *state = ctl_json_text(sock, "state");
	bool listens = sock_listens(sock);

	printf("%-14s %05llu %07llu", state, json_to_num(sock, "uid"), json_to_num(sock, "inode"));
	if (strcmp(state, "INIT"))
		sock_print_addr(s, sock, "local", listens ? 0 : ADDR_WIDTH);
	if (strcmp(state, "INIT") && !listens) {
		sock_print_addr(s, sock, "peer", ADDR_WIDTH);
		printf(" %04llx", json_to_num(sock, "ifindex"));
		sock_print_connection(s, sock);
	}
	putchar('\n');
}

static void socks_print(const struct smcss *s, struct json_object *socks)
{
	struct json_object *wanted = json_object_new_array();
	size_t i;

	for (i = 0; i < json_object_array_length(socks); i++) {
		struct json_object *sock = json_object_array_get_idx(socks, i);

		if (sock_is_wanted(s, sock))
			json_object_array_add(wanted, json_object_get(sock));
	}
	if (s->json)
		ctl_json_print(wanted);
	else
		smcss_print_heading(s);
	for (i = 0; !s->json && i < json_object_array_length(wanted); i++)
		sock_print(s, json_object_array_get_idx(wanted, i));
	json_object_put(wanted);
}

static void smcss_print_usage(void)
{
	fputs("Usage: smcss [-adjlDRW]\n"
	      "  -a, --all        also listening and new sockets\n"
	      "  -l, --listening  listening sockets\n"
	      "  -d, --debug      also buffers and cursors\n"
	      "  -D, --smcd       sockets of SMC-D\n"
	      "  -R, --smcr       sockets of SMC-R, with their links\n"
	      "  -W, --wide       do not cut addresses\n"
	      "  -j, --json       JSON, as smcctl -j sock: all members\n"
	      "  -h, --help       this text\n"
	      "  -v, --version    version\n", stdout);
}

/**
 * smcss_main() - smcctl called as smcss
 * @argc: number of arguments
 * @argv: arguments, starting with the name of the program
 *
 * Return: exit status.
 */
int smcss_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' }, { "listening", no_argument, NULL, 'l' },
		{ "debug", no_argument, NULL, 'd' }, { "smcd", no_argument, NULL, 'D' },
		{ "smcr", no_argument, NULL, 'R' }, { "wide", no_argument, NULL, 'W' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct ctl_opts opts = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct smcss s = { 0 };
	struct json_object *socks;
	int c, rc;

	while ((c = getopt_long(argc, argv, "aldDRWjhv", options, NULL)) != -1) {
		switch (c) {
		case 'l':
			s.listening = true;
			opts.all = true;
			break;
		case 'a':
			opts.all = true;
			break;
		case 'd':
			s.debug = true;
			break;
		case 'D':
			s.smcd = true;
			break;
		case 'R':
			s.smcr = true;
			break;
		case 'W':
			s.wide = true;
			break;
		case 'j':
			s.json = true;
			break;
		case 'h':
			smcss_print_usage();
			return CTL_OK;
		case 'v':
			puts("smcss of smcctl " SMC_TOOLS_VERSION);
			return CTL_OK;
		default:
			return CTL_USAGE;
		}
	}
	if (optind < argc) {
		ctl_error("takes no argument '%s', see smcss --help", argv[optind]);
		return CTL_USAGE;
	}
	if (s.listening + s.smcd + s.smcr > 1) {
		ctl_error("only one of the options -l, -D and -R");
		return CTL_USAGE;
	}
	socks = json_object_new_array();
	rc = ctl_sock_read(&opts, socks);
	if (rc == CTL_OK)
		socks_print(&s, socks);
	json_object_put(socks);
	return rc;
}
