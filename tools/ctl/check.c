// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: would a connection to a host use SMC, and if not, why?
 *
 * Checks this host first. With a port it then opens one connection, sends no data, and reads the
 * result from sock_diag. Only that connection shows what the peer does.
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
#define AUTOSMC "/proc/net/smc_autosmc"
#define ENABLED "/proc/sys/net/smc/enabled"

/* Whether a connection uses SMC */
enum verdict {
	VERDICT_COULD,	/* nothing on this host prevents SMC */
	VERDICT_SMC,
	VERDICT_DEFERRED,	/* the connection was TCP, and could have changed over */
	VERDICT_TCP,
	VERDICT_UNKNOWN,
};

/**
 * struct check - state of one run
 * @opts: command line
 * @steps: results of the checks, in order
 * @addr: address of the peer
 * @ip: @addr as text
 * @verdict: verdict so far
 * @code: diagnosis code for VERDICT_TCP, 0: no code applies
 * @peer_code: diagnosis code of the peer, 0: none
 * @loaded: the module answers
 * @port: RoCE port for connections with the peer, holds a reference; NULL: none is known
 * @speed: SMC compared with TCP on the path to the peer
 */
struct check {
	const struct ctl_opts *opts;
	struct json_object *steps;
	struct sockaddr_storage addr;
	char ip[INET6_ADDRSTRLEN];
	enum verdict verdict;
	__u32 code;
	__u32 peer_code;
	bool loaded;
	struct json_object *port;
	enum ctl_speed speed;
};

static struct json_object *check_add_step(struct check *c, const char *name, const char *state,
					  const char *detail)
{
	struct json_object *step = json_object_new_object();

	ctl_json_add_str(step, "check", name);
	ctl_json_add_str(step, "state", state);
	ctl_json_add_str(step, "detail", detail);
	json_object_array_add(c->steps, step);
	return step;
}

/* Add the result of a check that rules out SMC. */
static void check_add_failure(struct check *c, const char *name, const char *detail,
			      const char *hint)
{
	struct json_object *step = check_add_step(c, name, "no", detail);

	if (hint && *hint)
		ctl_json_add_str(step, "hint", hint);
	c->verdict = VERDICT_TCP;
}

static void check_add_reason(struct check *c, const char *name, const char *detail, __u32 code)
{
	check_add_failure(c, name, detail, ctl_reason_hint(code));
	c->code = code;
}

static const void *check_get_ip(const struct check *c)
{
	if (c->addr.ss_family == AF_INET)
		return &((const struct sockaddr_in *)&c->addr)->sin_addr;
	return &((const struct sockaddr_in6 *)&c->addr)->sin6_addr;
}

/* Return the TCP port of the peer, 0 if none was given. */
static unsigned int check_get_port(const struct check *c)
{
	if (c->addr.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&c->addr)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)&c->addr)->sin6_port);
}

/* Return the address of the peer as the module prints it, IPv4 as v4-mapped. */
static struct in6_addr check_get_mapped(const struct check *c)
{
	struct in6_addr addr = { 0 };

	if (c->addr.ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)&c->addr)->sin6_addr;
	addr.s6_addr[10] = 0xff;
	addr.s6_addr[11] = 0xff;
	memcpy(addr.s6_addr + 12, check_get_ip(c), 4);
	return addr;
}

static int check_resolve(struct check *c, const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list;
	int err = getaddrinfo(host, port, &hints, &list);

	if (err) {
		ctl_error("%s: %s", host, gai_strerror(err));
		return CTL_FAILURE;
	}
	memcpy(&c->addr, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	inet_ntop(c->addr.ss_family, check_get_ip(c), c->ip, sizeof(c->ip));
	return CTL_OK;
}

/* Append what the module says of itself, behind a label; another module says less. */
static void module_add_text(char *text, size_t size, const char *label, struct json_object *obj,
			    const char *key)
{
	size_t len = strlen(text);
	const char *value = ctl_json_text(obj, key);

	if (*value)
		snprintf(text + len, size - len, "%s%s", label, value);
}

static void module_format(struct json_object *info, struct json_object *module, char *text,
			  size_t size)
{
	*text = '\0';
	module_add_text(text, size, "", module, "name");
	module_add_text(text, size, " ", module, "version");
	module_add_text(text, size, ", srcversion ", module, "srcversion");
	module_add_text(text, size, ", SMC version ", info, "version");
	module_add_text(text, size, ", release ", info, "release");
	module_add_text(text, size, ", TCP option ", module, "tcp_option");
}

static int check_module(struct check *c)
{
	struct json_object *info = json_object_new_object(), *module, *step;
	const char *warning;
	char text[256];
	int fd, rc;

	if (!ctl_module_is_loaded()) {
		ctl_module_describe(info, false);
		check_add_failure(c, "module", "no SMC module answers",
				  ctl_json_text(info, "warning"));
		json_object_put(info);
		return CTL_OK;
	}
	rc = ctl_info_read(info);
	if (rc != CTL_OK) {
		check_add_step(c, "module", "no", "the SMC module does not answer");
		json_object_put(info);
		return rc;
	}
	c->loaded = true;
	module = ctl_json_member(info, "module");
	warning = module ? ctl_json_text(module, "warning") : "";
	module_format(info, module, text, sizeof(text));
	step = check_add_step(c, "module", *warning ? "note" : "ok", text);
	if (*warning)
		ctl_json_add_str(step, "hint", warning);
	json_object_put(info);
	fd = socket(CTL_FAMILY_SMC, SOCK_STREAM, 0);
	if (fd >= 0) {
		close(fd);
		check_add_step(c, "family", "ok", "programs can make AF_SMC sockets");
	} else {
		snprintf(text, sizeof(text), "no AF_SMC socket: %s", strerror(errno));
		check_add_failure(c, "family", text,
				  "A filter of system calls, or another module, forbids it.");
	}
	return CTL_OK;
}

/* Only this module has this setting, the in-tree module lacks it. */
static void check_enabled(struct check *c)
{
	FILE *f = fopen(ENABLED, "r");
	int enabled = 1;

	if (!f)
		return;
	if (fscanf(f, "%d", &enabled) == 1 && !enabled)
		check_add_reason(c, "enabled", "net.smc.enabled is 0", SMC_CLC_DECL_CONFIG);
	fclose(f);
}

static int check_ueid(struct check *c)
{
	struct json_object *ueids = json_object_new_array();
	int rc = ctl_ueid_read(ueids);
	size_t n = json_object_array_length(ueids), i;
	char text[SMC_EID_LEN * 8] = "";

	for (i = 0; i < n && strlen(text) + SMC_EID_LEN + 2 < sizeof(text); i++) {
		strcat(text, i ? " " : "");
		strcat(text, ctl_json_text(json_object_array_get_idx(ueids, i), "ueid"));
	}
	if (rc == CTL_OK && n)
		check_add_step(c, "ueid", "ok", text);
	else if (rc == CTL_OK)
		ctl_json_add_str(check_add_step(c, "ueid", "note",
						"none: version 1 alone, within one subnet"), "hint",
				 ctl_reason_hint(SMC_CLC_DECL_NO_UEID));
	json_object_put(ueids);
	return rc;
}

/* The first thing to know: is SMC worth it here? This goes before all other steps. */
static void check_add_speed(struct check *c)
{
	static const char * const states[] = {
		[CTL_SPEED_UNKNOWN] = "unknown", [CTL_SPEED_FASTER] = "ok",
		[CTL_SPEED_SLOWER] = "note",
	};
	struct json_object *steps = c->steps;
	size_t n = json_object_array_length(steps), i;
	char text[256];

	c->steps = json_object_new_array();
	if (c->port)
		c->speed = ctl_rnic_expect_speed(c->port, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "not known whether SMC would be faster than TCP: %s",
			 c->loaded ? "no active RNIC is known" : "no SMC module answers");
	check_add_step(c, "speed", states[c->speed], text);
	for (i = 0; i < n; i++)
		json_object_array_add(c->steps,
				      json_object_get(json_object_array_get_idx(steps, i)));
	json_object_put(steps);
}

static int check_path(struct check *c)
{
	struct ctl_rnics rnics;
	struct json_object *port;
	struct ctl_route route;
	char text[256], netdev[IF_NAMESIZE];
	__u32 code;
	int rc;

	rc = ctl_route_find(c->addr.ss_family, check_get_ip(c), &route);
	if (rc) {
		ctl_error("no route to %s: %s", c->ip, strerror(rc));
		return CTL_FAILURE;
	}
	snprintf(text, sizeof(text), "over %s%s", ctl_netdev_clean(netdev, route.netdev),
		 route.local ? ", this host" :
		 route.gateway ? ", through a gateway (version 2 only)" : "");
	check_add_step(c, "route", "ok", text);
	rc = ctl_rnics_read(&rnics);
	if (rc == CTL_OK) {
		code = ctl_rnics_find_port(&rnics, route.netdev, text, sizeof(text),
					   &port);
		if (code)
			check_add_reason(c, "rnic", text, code);
		else
			check_add_step(c, "rnic", "ok", text);
		c->port = json_object_get(port);
	}
	ctl_rnics_put(&rnics);
	return rc;
}

/* Check whether the module avoids SMC with this peer because of earlier failures. */
static void check_negcache(struct check *c)
{
	struct in6_addr want = check_get_mapped(c), addr;
	char line[128], ip[INET6_ADDRSTRLEN], text[256];
	unsigned int code, port, own = check_get_port(c);
	FILE *f = fopen(NEGCACHE, "r");
	long left;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%45s %x %ld %*s %*s %u", ip, &code, &left, &port) != 4 ||
		    inet_pton(AF_INET6, ip, &addr) != 1 || memcmp(&addr, &want, sizeof(addr)))
			continue;
		/* without a port, the entry and the question are about the host */
		if (port && port != own)
			continue;
		if (left <= 0)
			continue;	/* expired: the next connection tries SMC */
		snprintf(text, sizeof(text), "left alone for another %ld s: %s", left,
			 ctl_reason_sentence(code));
		check_add_reason(c, "negcache", text, code);
	}
	fclose(f);
}

/* Check whether connections with this port of the peer are TCP because they are short. */
static void check_autosmc(struct check *c)
{
	struct in6_addr want = check_get_mapped(c), addr;
	char line[128], ip[INET6_ADDRSTRLEN], side[16], text[256];
	unsigned int port, uid, own = check_get_port(c);
	FILE *f = fopen(AUTOSMC, "r");
	long left;

	if (!f)
		return;
	while (own && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%45s %u %15s %u %*u %ld", ip, &port, side, &uid, &left) != 5 ||
		    inet_pton(AF_INET6, ip, &addr) != 1 || memcmp(&addr, &want, sizeof(addr)) ||
		    port != own || strcmp(side, "client") || left <= 0)
			continue;
		snprintf(text, sizeof(text), "connections of uid %u are TCP for another %ld s: %s",
			 uid, left, ctl_reason_sentence(SMC_CLC_DECL_SHORT));
		if (uid == geteuid())
			check_add_reason(c, "autosmc", text, SMC_CLC_DECL_SHORT);
		else
			check_add_step(c, "autosmc", "note", text);
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
		struct in6_addr want = check_get_mapped(c), addr = { 0 };
		const char *ip = ctl_json_text(sock, "peer_addr");

		addr.s6_addr[10] = 0xff;
		addr.s6_addr[11] = 0xff;
		if (inet_pton(AF_INET, ip, addr.s6_addr + 12) != 1 &&
		    inet_pton(AF_INET6, ip, &addr) != 1)
			continue;
		if (memcmp(&addr, &want, sizeof(addr)))
			continue;
		if (!strncmp(ctl_json_text(sock, "mode"), "SMC", 3)) {
			smc++;
		} else if (!strcmp(ctl_json_text(sock, "mode"), "TCP") &&
			   !ctl_json_member(sock, "deferred")) {
			tcp++;
			last = sock;
		}
	}
	if (!smc && !tcp)
		return;
	snprintf(text, sizeof(text), "%u on SMC, %u fell back", smc, tcp);
	check_add_step(c, "connections", tcp ? "note" : "ok", text);
	if (last && json_object_object_get_ex(last, "fallback", &fallback)) {
		snprintf(text, sizeof(text), "one of them: %s", ctl_json_text(last, "detail"));
		check_add_step(c, "fallback", "note", text);
	}
}

static int check_connect(const struct check *c, int *fd)
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

static __u32 sock_get_reason(struct json_object *sock, const char *key)
{
	struct json_object *fallback = NULL;

	if (!json_object_object_get_ex(sock, "fallback", &fallback))
		return 0;
	return (__u32)strtoul(ctl_json_text(fallback, key), NULL, 16);
}

static void check_evaluate(struct check *c, struct json_object *sock)
{
	bool deferred = ctl_json_member(sock, "deferred");
	char text[640];

	if (strcmp(ctl_json_text(sock, "mode"), "TCP") || deferred) {
		check_add_step(c, "peer", "ok", "sent the SMC option and agreed");
		snprintf(text, sizeof(text), "mode %s, %s", ctl_json_text(sock, "mode"),
			 ctl_json_text(sock, "detail"));
		check_add_step(c, "connection", deferred ? "note" : "ok", text);
		c->verdict = deferred ? VERDICT_DEFERRED : VERDICT_SMC;
		return;
	}
	c->code = sock_get_reason(sock, "reason");
	c->peer_code = sock_get_reason(sock, "peer_reason");
	if (c->code == SMC_CLC_DECL_PEER_NO_SMC)
		check_add_step(c, "peer", "no", "did not send the SMC option");
	else if (c->code == SMC_CLC_DECL_PEER)
		check_add_step(c, "peer", "no", "sent the SMC option, and declined");
	snprintf(text, sizeof(text), "mode TCP: %s", ctl_reason_sentence(c->code));
	check_add_reason(c, "connection", text, c->code);
	if (c->peer_code) {
		snprintf(text, sizeof(text), "the peer reported: %s",
			 ctl_reason_sentence(c->peer_code));
		check_add_failure(c, "peer reason", text, ctl_reason_hint(c->peer_code));
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

	rc = check_connect(c, &fd);
	if (rc) {
		ctl_error("cannot connect to %s: %s", c->ip, strerror(rc));
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

		if (!strcmp(ctl_json_text(s, "inode"), inode))
			sock = s;
	}
	if (sock)
		check_evaluate(c, sock);
	else if (rc == CTL_OK)
		c->verdict = VERDICT_UNKNOWN;
	if (rc == CTL_OK && !sock)
		ctl_error("the list of sockets lacks the connection: it ended at once");
	json_object_put(socks);
	return sock ? CTL_OK : CTL_FAILURE;
}

static int check_run_steps(struct check *c, bool connection)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct json_object *socks;
	int rc = check_module(c);

	/* without a module or its sockets nothing else matters */
	if (rc != CTL_OK || c->verdict == VERDICT_TCP)
		return rc;
	check_enabled(c);
	rc = check_ueid(c);
	if (rc == CTL_OK)
		rc = check_path(c);
	if (rc != CTL_OK)
		return rc;
	check_negcache(c);
	check_autosmc(c);
	socks = json_object_new_array();
	rc = ctl_sock_read(&all, socks);
	if (rc == CTL_OK)
		check_earlier(c, socks);
	json_object_put(socks);
	/* only the connection shows what the peer does */
	if (rc == CTL_OK && connection)
		rc = check_connection(c);
	return rc;
}

static int check_run(struct check *c, bool connection)
{
	int rc = check_run_steps(c, connection);

	check_add_speed(c);
	json_object_put(c->port);
	return rc;
}

static void check_print(const struct check *c, const char *host)
{
	static const struct ctl_column cols[] = {
		{ "CHECK", "check" }, { "STATE", "state" }, { "DETAIL", "detail" },
	};
	static const char * const words[] = {
		[VERDICT_COULD] = "From this host nothing stands against SMC",
		[VERDICT_SMC] = "The connection used SMC",
		[VERDICT_DEFERRED] = "The connection was TCP, and may change over to SMC",
		[VERDICT_TCP] = "TCP is used instead of SMC",
		[VERDICT_UNKNOWN] = "It is not known what would be used",
	};
	size_t n = json_object_array_length(c->steps), i;
	char text[128];
	int at;

	ctl_table_print(c->steps, cols, ARRAY_SIZE(cols));
	putchar('\n');
	at = printf("%s: ", host);
	snprintf(text, sizeof(text), "%s (%s).", words[c->verdict], c->ip);
	ctl_text_print(text, at, 2);
	for (i = 0; i < n; i++) {
		struct json_object *step = json_object_array_get_idx(c->steps, i);

		if (!*ctl_json_text(step, "hint"))
			continue;
		at = printf("%s: ", ctl_json_text(step, "check"));
		ctl_text_print(ctl_json_text(step, "hint"), at, 2);
	}
}

static void check_print_json(const struct check *c, const char *host, const char *port)
{
	static const char * const words[] = {
		[VERDICT_COULD] = "possible", [VERDICT_SMC] = "smc",
		[VERDICT_DEFERRED] = "deferred", [VERDICT_TCP] = "tcp",
		[VERDICT_UNKNOWN] = "unknown",
	};
	struct json_object *obj = json_object_new_object();

	ctl_json_add_str(obj, "host", host);
	ctl_json_add_str(obj, "address", c->ip);
	if (port)
		ctl_json_add_u64(obj, "port", strtoul(port, NULL, 10));
	ctl_json_add_str(obj, "verdict", words[c->verdict]);
	if (c->speed != CTL_SPEED_UNKNOWN)
		json_object_object_add(obj, "faster",
				       json_object_new_boolean(c->speed == CTL_SPEED_FASTER));
	if (c->verdict == VERDICT_TCP) {
		ctl_json_add_reason(obj, "reason", c->code);
		ctl_json_add_reason(obj, "peer_reason", c->peer_code);
	}
	json_object_object_add(obj, "checks", json_object_get(c->steps));
	ctl_json_print(obj);
	json_object_put(obj);
}

static bool port_is_valid(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits <= 5 && !text[digits] && atoi(text) > 0 && atoi(text) < 65536;
}

/**
 * cmd_check() - smcctl check HOST [PORT]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status; CTL_NOTHING: a connection would use TCP, or did use TCP.
 */
int cmd_check(const struct ctl_opts *opts, int argc, char **argv)
{
	const char *port = argc == 2 ? argv[1] : NULL;
	struct check c = { .opts = opts };
	int rc;

	if (argc < 1 || argc > 2 || (port && !port_is_valid(port))) {
		ctl_error("check is followed by a host, and a port to connect to if you like");
		return CTL_USAGE;
	}
	rc = check_resolve(&c, argv[0], port);
	if (rc != CTL_OK)
		return rc;
	c.steps = json_object_new_array();
	rc = check_run(&c, port);
	/* print also what was found before a failure */
	if (rc != CTL_OK)
		c.verdict = VERDICT_UNKNOWN;
	if (opts->json)
		check_print_json(&c, argv[0], port);
	else
		check_print(&c, argv[0]);
	json_object_put(c.steps);
	if (rc != CTL_OK)
		return rc;
	return c.verdict == VERDICT_TCP ? CTL_NOTHING : CTL_OK;
}
