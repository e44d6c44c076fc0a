// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_timers: the clock, the counters, and both ends of connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timers.h"

#define EARLY_MS	JIFFY_MS

const struct tl_proto *tm_proto;
int tm_server, tm_client;
int tm_waiting;
unsigned int tm_bad;

void tm_die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(2);
}

void tm_enter(int ns)
{
	if (setns(ns, CLONE_NEWNET))
		tm_die("setns");
}

/* ---- clock ---- */

u64 tm_now(void)
{
	return tl_now_ns() / TL_NSEC_PER_MSEC;
}

/*
 * The kernel's timer wheel rounds up: what is 64 jiffies away or more to 8 jiffies, 512
 * to 64 and so on, at most an eighth.
 */
u64 tm_rounding(u64 ms)
{
	u64 step = JIFFY_MS;

	for (u64 j = ms / JIFFY_MS; j >= 63; j /= 8)
		step *= 8;
	return step;
}

void tm_happened(const char *what, u64 from, u64 want, u64 slack)
{
	u64 is = tm_now() - from;
	bool ok = is + EARLY_MS >= want && is <= want + tm_rounding(want) + slack;

	printf("# %s after %llu.%03llu s, to be %llu.%03llu\n", what,
	       (unsigned long long)is / 1000, (unsigned long long)is % 1000,
	       (unsigned long long)want / 1000, (unsigned long long)want % 1000);
	tm_bad += !ok;
}

void tm_check(bool ok, const char *what)
{
	if (ok)
		return;
	printf("# not so: %s\n", what);
	tm_bad++;
}

long tm_value(const struct tm_count *c)
{
	const char *path = c->ns < 0 ? "/proc/smc_faults" : "/proc/thread-self/net/smc_stat";
	char line[128], name[64], when[16];
	long n, found = -1;
	FILE *f;

	if (c->ns >= 0)
		tm_enter(c->ns);
	f = fopen(path, "r");
	if (!f)
		tm_die(path);
	while (fgets(line, sizeof(line), f)) {
		if ((c->ns < 0 ? sscanf(line, "%63s %15s %ld", name, when, &n) == 3 :
				 sscanf(line, "%63s %ld", name, &n) == 2) &&
		    !strcmp(name, c->name))
			found = n;
	}
	fclose(f);
	tm_enter(tm_client);
	if (found < 0) {
		errno = ENOENT;
		tm_die(c->name);
	}
	return found;
}

struct tm_count tm_count(int ns, const char *name)
{
	struct tm_count c = { .ns = ns, .name = name };

	c.before = tm_value(&c);
	return c;
}

void tm_changes(const char *what, const struct tm_count *c, u64 from, u64 want, u64 slack)
{
	u64 look = from + want - (want > EARLY_MS ? EARLY_MS : want);
	u64 now = tm_now();

	if (now < look)
		tl_sleep_ms(look - now);
	if (look > from && tm_value(c) != c->before) {
		printf("# %s: before its time\n", what);
		tm_bad++;
		return;
	}
	while (tm_value(c) == c->before) {
		if (tm_now() - from > 2 * want + slack + SECOND) {
			printf("# %s: never\n", what);
			tm_bad++;
			return;
		}
		tl_sleep_ms(1);
	}
	tm_happened(what, from, want, slack);
}

/* ---- kernel ---- */

void tm_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		tm_die(path);
	close(fd);
}

void tm_arm(const char *sites)
{
	tm_put("/sys/module/smc/parameters/fault", "none");
	tm_put("/sys/module/smc/parameters/fault", sites);
}

void tm_test_link_time(const char *seconds)
{
	tm_enter(tm_server);
	tm_put("/proc/sys/net/smc/smcr_testlink_time", seconds);
	tm_enter(tm_client);
	tm_put("/proc/sys/net/smc/smcr_testlink_time", seconds);
}

void tm_stall_time(const char *seconds)
{
	tm_enter(tm_server);
	tm_put("/proc/sys/net/smc/smcr_stall_time", seconds);
	tm_enter(tm_client);
	tm_put("/proc/sys/net/smc/smcr_stall_time", seconds);
}

void tm_cut_cable(void)
{
	if (system("/usr/sbin/tc qdisc add dev vethc root netem loss 100%"))
		tm_die("tc");
}

void tm_mend_cable(void)
{
	if (system("/usr/sbin/tc qdisc del dev vethc root"))
		tm_die("tc");
}

/* ---- sockets ---- */

int tm_socket(void)
{
	int fd = tl_socket(tm_proto, 0);

	if (fd < 0)
		tm_die("socket");
	return fd;
}

int tm_begin_connect(int fd)
{
	struct tl_addr to;

	tl_addr_parse(&to, tm_proto, TM_ADDR, TM_PORT);
	return connect(fd, &to.sa, to.len) ? -errno : 0;
}

int tm_connects(const char *what, int err, enum tl_mode mode, u64 want)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	int fd = tm_socket();
	u64 from = tm_now();
	int rc;

	rc = tm_begin_connect(fd);
	tm_happened(what, from, want, SLACK_MS);
	if (rc != -err)
		printf("# %s: connect() gives %s\n", what, tl_errno_name(-rc));
	tm_check(rc == -err, "result of connect()");
	if (!err && (tl_diag_get(fd, tm_proto, &diag) || diag.mode != mode)) {
		printf("# %s: mode %s, %08x/%08x\n", what, tl_mode_name(diag.mode), diag.reason,
		       diag.peer_reason);
		tm_bad++;
	}
	return fd;
}

void tm_ping(const struct tm_pair *p)
{
	char c = 'p';

	if (send(p->client, &c, 1, 0) != 1 || recv(p->server, &c, 1, 0) != 1 ||
	    send(p->server, &c, 1, 0) != 1 || recv(p->client, &c, 1, 0) != 1)
		tm_die("ping");
}

struct tm_pair tm_pair(void)
{
	struct tm_pair p;

	p.client = tm_connects("a good connection", 0, TL_MODE_SMCR, 0);
	p.server = accept(tm_waiting, NULL, NULL);
	if (p.server < 0)
		tm_die("accept");
	tm_ping(&p);
	if (tm_bad)
		exit(1);
	return p;
}

int tm_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

enum tl_mode tm_mode(int fd)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };

	tl_diag_get(fd, tm_proto, &diag);
	return diag.mode;
}

bool tm_something(int fd, short events, const struct tm_pair *busy, u64 limit)
{
	struct pollfd p = { .fd = fd, .events = events };
	u64 from = tm_now();

	while (tm_now() - from < limit) {
		if (poll(&p, 1, busy ? SECOND : limit))
			return true;
		if (busy)
			tm_ping(busy);
	}
	return false;
}

static int open_ns(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		tm_die(path);
	return fd;
}

void tm_set_up(void)
{
	struct tl_addr at;

	signal(SIGPIPE, SIG_IGN);
	tm_proto = tl_proto_find("smc");
	tm_server = open_ns("s");
	tm_client = open_ns("c");
	tm_enter(tm_server);
	tl_addr_parse(&at, tm_proto, TM_ADDR, TM_PORT);
	tm_waiting = tl_listen(tm_proto, &at, 16);
	if (tm_waiting < 0)
		tm_die("listen");
	tm_enter(tm_client);
}
