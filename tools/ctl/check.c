// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: would a connection to a host use SMC, and if not, why?
 *
 * First what can be seen from here; then, with a port, one real connection, which carries
 * nothing, and what sock_diag says of it. The peer's part is known from that alone.
 */
#include "path.h"
#include <smc/proto/clc_msg.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECT_SECONDS 30
#define NEGCACHE "/proc/net/smc_negcache"
#define ENABLED "/proc/sys/net/smc/enabled"

/* What becomes of a connection, as far as it is known */
enum verdict {
	VERDICT_COULD,	/* nothing stands against SMC */
	VERDICT_SMC,
	VERDICT_TCP,
	VERDICT_UNKNOWN,
};

/**
 * struct check - one run
 * @opts: command line
 * @steps: what was looked at
 * @addr: peer
 * @ip: its address as text
 * @verdict: so far
 * @code: reason of VERDICT_TCP, 0: another than those of the protocol
 * @peer_code: the peer's
 */
struct check {
	const struct ctl_opts *opts;
	struct json_object *steps;
	struct sockaddr_storage addr;
	char ip[INET6_ADDRSTRLEN];
	enum verdict verdict;
	__u32 code;
	__u32 peer_code;
};

static struct json_object *add_step(struct check *c, const char *name, const char *state,
				    const char *detail)
{
	struct json_object *step = json_object_new_object();

	ctl_add_str(step, "check", name);
	ctl_add_str(step, "state", state);
	ctl_add_str(step, "detail", detail);
	json_object_array_add(c->steps, step);
	return step;
}

/* Something that leaves TCP only */
static void add_no(struct check *c, const char *name, const char *detail, const char *hint)
{
	struct json_object *step = add_step(c, name, "no", detail);

	if (hint)
		ctl_add_str(step, "hint", hint);
	c->verdict = VERDICT_TCP;
}

static void add_code(struct check *c, const char *name, const char *detail, __u32 code)
{
	add_no(c, name, detail, ctl_reason_hint(code));
	c->code = code;
}

static const void *ip_of(const struct check *c)
{
	if (c->addr.ss_family == AF_INET)
		return &((const struct sockaddr_in *)&c->addr)->sin_addr;
	return &((const struct sockaddr_in6 *)&c->addr)->sin6_addr;
}

/* The address as the module keeps it: IPv4 as v4-mapped */
static struct in6_addr mapped(const struct check *c)
{
	struct in6_addr addr = { 0 };

	if (c->addr.ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)&c->addr)->sin6_addr;
	addr.s6_addr[10] = 0xff;
	addr.s6_addr[11] = 0xff;
	memcpy(addr.s6_addr + 12, ip_of(c), 4);
	return addr;
}

static int resolve(struct check *c, const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list;
	int err = getaddrinfo(host, port, &hints, &list);

	if (err) {
		ctl_fail("%s: %s", host, gai_strerror(err));
		return CTL_FAILURE;
	}
	memcpy(&c->addr, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	inet_ntop(c->addr.ss_family, ip_of(c), c->ip, sizeof(c->ip));
	return CTL_OK;
}

static int check_module(struct check *c)
{
	struct json_object *info = json_object_new_object();
	char text[128];
	int fd, rc;

	rc = ctl_info_read(info);
	if (rc != CTL_OK) {
		add_no(c, "module", "the SMC module does not answer", "modprobe smc");
		json_object_put(info);
		return rc;
	}
	snprintf(text, sizeof(text), "SMC version %s, release %s", ctl_text_of(info, "version"),
		 ctl_text_of(info, "release"));
	add_step(c, "module", "ok", text);
	json_object_put(info);
	fd = socket(CTL_FAMILY_SMC, SOCK_STREAM, 0);
	if (fd >= 0) {
		close(fd);
		add_step(c, "family", "ok", "programs can make AF_SMC sockets");
	} else {
		snprintf(text, sizeof(text), "no AF_SMC socket: %s", strerror(errno));
		add_no(c, "family", text,
		       "A filter of system calls, or another module, forbids it.");
	}
	return CTL_OK;
}

/* Another module than ours does not have this setting. */
static void check_enabled(struct check *c)
{
	FILE *f = fopen(ENABLED, "r");
	int enabled = 1;

	if (!f)
		return;
	if (fscanf(f, "%d", &enabled) == 1 && !enabled)
		add_code(c, "enabled", "net.smc.enabled is 0", SMC_CLC_DECL_CONFIG);
	fclose(f);
}

static int check_ueid(struct check *c)
{
	struct json_object *names = json_object_new_array();
	int rc = ctl_ueid_read(names);
	size_t n = json_object_array_length(names), i;
	char text[SMC_EID_LEN * 8] = "";

	for (i = 0; i < n && strlen(text) + SMC_EID_LEN + 2 < sizeof(text); i++) {
		strcat(text, i ? " " : "");
		strcat(text, json_object_get_string(json_object_array_get_idx(names, i)));
	}
	if (rc == CTL_OK && n)
		add_step(c, "ueid", "ok", text);
	else if (rc == CTL_OK)
		ctl_add_str(add_step(c, "ueid", "note",
				     "none: version 1 alone, within one subnet"), "hint",
			    ctl_reason_hint(SMC_CLC_DECL_NO_UEID));
	json_object_put(names);
	return rc;
}

static int check_path(struct check *c)
{
	struct ctl_rnics rnics;
	struct ctl_route route;
	char text[256];
	__u32 code;
	int rc;

	rc = ctl_route_find(c->addr.ss_family, ip_of(c), &route);
	if (rc) {
		ctl_fail("no route to %s: %s", c->ip, strerror(rc));
		return CTL_FAILURE;
	}
	snprintf(text, sizeof(text), "over %s%s", route.netdev, route.local ? ", this host" :
		 route.gateway ? ", through a gateway (version 2 only)" : "");
	add_step(c, "route", "ok", text);
	rc = ctl_rnics_read(&rnics);
	if (rc == CTL_OK) {
		code = ctl_rnics_find(&rnics, route.netdev, text, sizeof(text));
		if (code)
			add_code(c, "rnic", text, code);
		else
			add_step(c, "rnic", "ok", text);
	}
	ctl_rnics_put(&rnics);
	return rc;
}

/* Is the peer left alone because of earlier failures? */
static void check_negcache(struct check *c)
{
	struct in6_addr want = mapped(c), addr;
	char line[128], ip[INET6_ADDRSTRLEN], text[256];
	FILE *f = fopen(NEGCACHE, "r");
	unsigned int code;
	long left;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%45s %x %ld", ip, &code, &left) != 3 ||
		    inet_pton(AF_INET6, ip, &addr) != 1 || memcmp(&addr, &want, sizeof(addr)))
			continue;
		if (left <= 0)
			continue;	/* the next connection tries again */
		snprintf(text, sizeof(text), "left alone for another %ld s: %s", left,
			 ctl_reason_sentence(code));
		add_code(c, "negcache", text, code);
	}
	fclose(f);
}

static void check_earlier(struct check *c, struct json_object *socks)
{
	struct json_object *last = NULL, *fallback;
	unsigned int smc = 0, tcp = 0;
	char text[256];
	size_t i;

	for (i = 0; i < json_object_array_length(socks); i++) {
		struct json_object *sock = json_object_array_get_idx(socks, i);
		struct in6_addr want = mapped(c), addr = { 0 };
		const char *ip = ctl_text_of(sock, "peer_addr");

		addr.s6_addr[10] = 0xff;
		addr.s6_addr[11] = 0xff;
		if (inet_pton(AF_INET, ip, addr.s6_addr + 12) != 1 &&
		    inet_pton(AF_INET6, ip, &addr) != 1)
			continue;
		if (memcmp(&addr, &want, sizeof(addr)))
			continue;
		if (!strncmp(ctl_text_of(sock, "mode"), "SMC", 3)) {
			smc++;
		} else if (!strcmp(ctl_text_of(sock, "mode"), "TCP")) {
			tcp++;
			last = sock;
		}
	}
	if (!smc && !tcp)
		return;
	snprintf(text, sizeof(text), "%u on SMC, %u fell back", smc, tcp);
	add_step(c, "connections", tcp ? "note" : "ok", text);
	if (last && json_object_object_get_ex(last, "fallback", &fallback)) {
		snprintf(text, sizeof(text), "one of them: %s", ctl_text_of(last, "detail"));
		add_step(c, "fallback", "note", text);
	}
}

static int connect_to(const struct check *c, int *fd)
{
	int v6 = c->addr.ss_family == AF_INET6, err = 0, rc;
	struct pollfd poll_fd = { .events = POLLOUT };
	socklen_t len = sizeof(err);

	*fd = socket(CTL_FAMILY_SMC, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, v6);
	if (*fd < 0)
		return errno;
	if (!connect(*fd, (const struct sockaddr *)&c->addr,
		     v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	poll_fd.fd = *fd;
	do {
		rc = poll(&poll_fd, 1, CONNECT_SECONDS * 1000);
	} while (rc < 0 && errno == EINTR);
	if (rc <= 0)
		return rc ? errno : ETIMEDOUT;
	if (getsockopt(*fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return errno;
	return err;
}

static __u32 code_of(struct json_object *sock, const char *key)
{
	struct json_object *fallback = NULL;

	if (!json_object_object_get_ex(sock, "fallback", &fallback))
		return 0;
	return (__u32)strtoul(ctl_text_of(fallback, key), NULL, 16);
}

static void judge(struct check *c, struct json_object *sock)
{
	char text[640];

	if (strcmp(ctl_text_of(sock, "mode"), "TCP")) {
		add_step(c, "peer", "ok", "sent the SMC option and agreed");
		snprintf(text, sizeof(text), "mode %s, %s", ctl_text_of(sock, "mode"),
			 ctl_text_of(sock, "detail"));
		add_step(c, "connection", "ok", text);
		c->verdict = VERDICT_SMC;
		return;
	}
	c->code = code_of(sock, "reason");
	c->peer_code = code_of(sock, "peer_reason");
	if (c->code == SMC_CLC_DECL_PEER_NO_SMC)
		add_step(c, "peer", "no", "did not send the SMC option");
	else if (c->code == SMC_CLC_DECL_PEER)
		add_step(c, "peer", "no", "sent the SMC option, and declined");
	snprintf(text, sizeof(text), "mode TCP: %s", ctl_reason_sentence(c->code));
	add_code(c, "connection", text, c->code);
	if (c->peer_code) {
		snprintf(text, sizeof(text), "the peer says: %s",
			 ctl_reason_sentence(c->peer_code));
		add_no(c, "peer reason", text, ctl_reason_hint(c->peer_code));
	}
}

static int check_connection(struct check *c)
{
	const struct ctl_opts all = { .all = true, .port = -1, .local_port = -1,
				      .peer_port = -1 };
	struct json_object *socks, *sock = NULL;
	char inode[32] = "";
	struct stat st;
	size_t i;
	int fd, rc;

	rc = connect_to(c, &fd);
	if (rc) {
		ctl_fail("cannot connect to %s: %s", c->ip, strerror(rc));
		if (fd >= 0)
			close(fd);
		return CTL_FAILURE;
	}
	if (!fstat(fd, &st))
		snprintf(inode, sizeof(inode), "%lu", (unsigned long)st.st_ino);
	socks = json_object_new_array();
	rc = ctl_sock_read(&all, socks);
	close(fd);
	for (i = 0; rc == CTL_OK && i < json_object_array_length(socks); i++) {
		struct json_object *s = json_object_array_get_idx(socks, i);

		if (!strcmp(ctl_text_of(s, "inode"), inode))
			sock = s;
	}
	if (sock)
		judge(c, sock);
	else if (rc == CTL_OK)
		c->verdict = VERDICT_UNKNOWN;
	if (rc == CTL_OK && !sock)
		ctl_fail("the list of sockets lacks the connection: it ended at once");
	json_object_put(socks);
	return sock ? CTL_OK : CTL_FAILURE;
}

static int run_checks(struct check *c, bool connection)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct json_object *socks;
	int rc = check_module(c);

	if (rc != CTL_OK)
		return rc;
	check_enabled(c);
	rc = check_ueid(c);
	if (rc == CTL_OK)
		rc = check_path(c);
	if (rc != CTL_OK)
		return rc;
	check_negcache(c);
	socks = json_object_new_array();
	rc = ctl_sock_read(&all, socks);
	if (rc == CTL_OK)
		check_earlier(c, socks);
	json_object_put(socks);
	/* A verdict of this host alone stands: the connection would show the same. */
	if (rc == CTL_OK && connection)
		rc = check_connection(c);
	return rc;
}

static void print_check(const struct check *c, const char *host)
{
	static const struct ctl_column cols[] = {
		{ "CHECK", "check" }, { "STATE", "state" }, { "DETAIL", "detail" },
	};
	static const char * const words[] = {
		[VERDICT_COULD] = "From this host nothing stands against SMC",
		[VERDICT_SMC] = "The connection used SMC",
		[VERDICT_TCP] = "TCP is used instead of SMC",
		[VERDICT_UNKNOWN] = "It is not known what would be used",
	};
	size_t n = json_object_array_length(c->steps), i;

	ctl_print_table(c->steps, cols, ARRAY_SIZE(cols));
	printf("\n%s: %s (%s).\n", host, words[c->verdict], c->ip);
	for (i = 0; i < n; i++) {
		const char *hint = ctl_text_of(json_object_array_get_idx(c->steps, i), "hint");

		if (*hint)
			printf("%s: %s\n", ctl_text_of(json_object_array_get_idx(c->steps, i),
						       "check"), hint);
	}
}

static void print_check_json(const struct check *c, const char *host, const char *port)
{
	static const char * const words[] = {
		[VERDICT_COULD] = "possible", [VERDICT_SMC] = "smc", [VERDICT_TCP] = "tcp",
		[VERDICT_UNKNOWN] = "unknown",
	};
	struct json_object *obj = json_object_new_object();

	ctl_add_str(obj, "host", host);
	ctl_add_str(obj, "address", c->ip);
	if (port)
		ctl_add_u64(obj, "port", strtoul(port, NULL, 10));
	ctl_add_str(obj, "verdict", words[c->verdict]);
	if (c->verdict == VERDICT_TCP) {
		ctl_add_reason(obj, "reason", c->code);
		ctl_add_reason(obj, "peer_reason", c->peer_code);
	}
	json_object_object_add(obj, "checks", json_object_get(c->steps));
	ctl_print_json(obj);
	json_object_put(obj);
}

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits <= 5 && !text[digits] && atoi(text) > 0 && atoi(text) < 65536;
}

/**
 * ctl_check() - smcctl check HOST [PORT]
 * @opts: command line
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status; CTL_NOTHING: SMC would not be used, or was not.
 */
int ctl_check(const struct ctl_opts *opts, int argc, char **argv)
{
	const char *port = argc == 2 ? argv[1] : NULL;
	struct check c = { .opts = opts };
	int rc;

	if (argc < 1 || argc > 2 || (port && !is_port(port))) {
		ctl_fail("check is followed by a host, and a port to connect to if you like");
		return CTL_USAGE;
	}
	rc = resolve(&c, argv[0], port);
	if (rc != CTL_OK)
		return rc;
	c.steps = json_object_new_array();
	rc = run_checks(&c, port);
	/* What was found before a failure is worth showing. */
	if (rc != CTL_OK && c.verdict != VERDICT_TCP)
		c.verdict = VERDICT_UNKNOWN;
	if (opts->json)
		print_check_json(&c, argv[0], port);
	else
		print_check(&c, argv[0]);
	json_object_put(c.steps);
	if (rc != CTL_OK)
		return rc;
	return c.verdict == VERDICT_TCP ? CTL_NOTHING : CTL_OK;
}
