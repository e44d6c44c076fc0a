// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl under the name smcss: sockets with the options and columns that users of smc-tools
 * know, and whose columns their scripts count.
 */
#include "smcctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDR_WIDTH 23

/**
 * struct smcss - command line
 * @listening: listening sockets alone
 * @debug: cursors and sizes
 * @smcd: sockets of SMC-D alone
 * @smcr: sockets of SMC-R alone, with their link
 * @wide: addresses are not cut
 */
struct smcss {
	bool listening;
	bool debug;
	bool smcd;
	bool smcr;
	bool wide;
};

static struct json_object *member(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return obj && json_object_object_get_ex(obj, key, &val) ? val : NULL;
}

static unsigned long long number(struct json_object *obj, const char *key)
{
	return obj ? strtoull(ctl_text_of(obj, key), NULL, 0) : 0;
}

static void print_heading(const struct smcss *s)
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
	/* of such sockets there are none that could have them */
	if (s->smcd)
		printf(" %-16s %-16s %-16s %-16s Linkid", "GID", "Token", "Peer-GID", "Peer-Token");
	putchar('\n');
}

/* What is cut is the address: people and scripts look for the port. */
static void print_addr(const struct smcss *s, struct json_object *sock, const char *end,
		       int width)
{
	char key[16], addr[64], text[80];
	const char *port;
	size_t room;

	snprintf(key, sizeof(key), "%s_addr", end);
	snprintf(addr, sizeof(addr), "%s", ctl_text_of(sock, key));
	snprintf(key, sizeof(key), "%s_port", end);
	port = ctl_text_of(sock, key);
	room = ADDR_WIDTH - strlen(":") - strlen(port);
	if (!s->wide && strlen(addr) > room)
		memcpy(addr + room - strlen(".."), "..", sizeof(".."));
	snprintf(text, sizeof(text), "%s:%s", addr, port);
	printf(" %-*s", width, text);
}

static void print_cursor(struct json_object *conn, const char *key)
{
	struct json_object *cursor = member(conn, key);

	printf(" %04llx:%08llx", number(cursor, "wrap"), number(cursor, "count"));
}

static void print_flags(struct json_object *conn, const char *a, const char *b)
{
	printf(" %02llx:%02llx  ", number(conn, a), number(conn, b));
}

static void print_debug(struct json_object *sock)
{
	struct json_object *conn = member(sock, "connection");
	unsigned long long shut = number(sock, "shutdown");

	/* the ways that are shut */
	printf("  %c-%c", shut & 1 ? 'R' : '<', shut & 2 ? 'W' : '>');
	if (!conn)
		return;
	printf(" %08llx %08llx %08llx %08llx", number(conn, "token"), number(conn, "sndbuf_size"),
	       number(conn, "rmbe_size"), number(conn, "peer_rmbe_size"));
	print_cursor(conn, "rx_prod");
	print_cursor(conn, "rx_cons");
	print_flags(conn, "rx_prod_flags", "rx_conn_state_flags");
	print_cursor(conn, "tx_prod");
	print_cursor(conn, "tx_cons");
	print_flags(conn, "tx_prod_flags", "tx_conn_state_flags");
	print_cursor(conn, "tx_prep");
	print_cursor(conn, "tx_sent");
	print_cursor(conn, "tx_fin");
}

static void print_link(struct json_object *sock)
{
	struct json_object *link = member(sock, "link");

	if (!link)
		return;
	printf(" %-4s %-15s %02llx   %02llx     %-40s %s",
	       strcmp(ctl_text_of(link, "role"), "server") ? "CLNT" : "SERV",
	       ctl_text_of(link, "device"), number(link, "port"), number(link, "id"),
	       ctl_text_of(link, "gid"), ctl_text_of(link, "peer_gid"));
}

/* The reasons of both sides, as people look them up */
static void print_mode(struct json_object *sock)
{
	struct json_object *fallback = member(sock, "fallback");

	if (!fallback) {
		printf(" %-4s", ctl_text_of(sock, "mode"));
		return;
	}
	printf(" TCP %s", ctl_text_of(fallback, "reason"));
	if (number(fallback, "peer_reason"))
		printf("/%s", ctl_text_of(fallback, "peer_reason"));
}

/* A closed one has none any more, and of TCP nothing else is known. */
static void print_connection(const struct smcss *s, struct json_object *sock)
{
	if (!strcmp(ctl_text_of(sock, "state"), "CLOSED"))
		return;
	print_mode(sock);
	if (s->debug && !member(sock, "fallback"))
		print_debug(sock);
	if (s->smcr)
		print_link(sock);
}

static void print_sock(const struct smcss *s, struct json_object *sock)
{
	const char *state = ctl_text_of(sock, "state"), *mode = ctl_text_of(sock, "mode");
	bool listens = !strcmp(state, "LISTEN");

	if ((s->listening && !listens) || (s->smcd && strcmp(mode, "SMCD")) ||
	    (s->smcr && strcmp(mode, "SMCR")))
		return;
	printf("%-14s %05llu %07llu", state, number(sock, "uid"), number(sock, "inode"));
	if (strcmp(state, "INIT"))
		print_addr(s, sock, "local", listens ? 0 : ADDR_WIDTH);
	if (strcmp(state, "INIT") && !listens) {
		print_addr(s, sock, "peer", ADDR_WIDTH);
		printf(" %04llx", number(sock, "ifindex"));
		print_connection(s, sock);
	}
	putchar('\n');
}

static void usage(FILE *out)
{
	fputs("Usage: smcss [-adlDRW]\n"
	      "  -a, --all        also listening and new sockets\n"
	      "  -l, --listening  listening sockets\n"
	      "  -d, --debug      also buffers and cursors\n"
	      "  -D, --smcd       sockets of SMC-D\n"
	      "  -R, --smcr       sockets of SMC-R, with their links\n"
	      "  -W, --wide       do not cut addresses\n"
	      "  -h, --help       this text\n"
	      "  -v, --version    version\n", out);
}

/**
 * ctl_smcss() - smcctl under the name smcss
 * @argc: number of arguments
 * @argv: arguments, the name of the program first
 *
 * Return: exit status.
 */
int ctl_smcss(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' }, { "listening", no_argument, NULL, 'l' },
		{ "debug", no_argument, NULL, 'd' }, { "smcd", no_argument, NULL, 'D' },
		{ "smcr", no_argument, NULL, 'R' }, { "wide", no_argument, NULL, 'W' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct ctl_opts opts = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct smcss s = { 0 };
	struct json_object *socks;
	size_t i;
	int c, rc;

	while ((c = getopt_long(argc, argv, "aldDRWhv", options, NULL)) != -1) {
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
		case 'h':
			usage(stdout);
			return CTL_OK;
		case 'v':
			puts("smcss of smcctl " SMC_TOOLS_VERSION);
			return CTL_OK;
		default:
			usage(stderr);
			return CTL_USAGE;
		}
	}
	if (optind < argc || (s.smcd && s.smcr) || (s.listening && (s.smcd || s.smcr))) {
		usage(stderr);
		return CTL_USAGE;
	}
	socks = json_object_new_array();
	rc = ctl_sock_read(&opts, socks);
	if (rc == CTL_OK)
		print_heading(&s);
	for (i = 0; rc == CTL_OK && i < json_object_array_length(socks); i++)
		print_sock(&s, json_object_array_get_idx(socks, i));
	json_object_put(socks);
	return rc;
}
