// SPDX-License-Identifier: GPL-2.0-only
/* smc_timers: the test bed: clock, counters, fault sites and settings of the kernel. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "timers.h"

#define EARLY_MS	JIFFY_MS
#define NEW_GROUP_MS	100	/* a new group has added the memory of later connections */

const struct tl_proto *tm_proto;
int tm_waiting;

/* ---- clock ---- */

u64 tm_now(void)
{
	return tl_now_ns() / TL_NSEC_PER_MSEC;
}

/*
 * The kernel's timer wheel rounds up: time-outs of 64 jiffies or more to multiples of 8 jiffies, of
 * 512 or more to multiples of 64 and so on, at most by an eighth.
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

	printf("# %s after %llu.%03llu s, expected %llu.%03llu\n", what,
	       (unsigned long long)is / 1000, (unsigned long long)is % 1000,
	       (unsigned long long)want / 1000, (unsigned long long)want % 1000);
	ends_check(ok, "%s in time", what);
}

long tm_value(const struct tm_count *c)
{
	if (c->where == ENDS_NR)
		return ends_number("/proc/smc_faults", c->name, 3);
	return ends_stat(c->where, c->name);
}

struct tm_count tm_count(enum ends_where where, const char *name)
{
	struct tm_count c = { .where = where, .name = name };

	c.before = tm_value(&c);
	return c;
}

struct tm_count tm_arrivals(const char *site)
{
	return tm_count(ENDS_NR, site);
}

void tm_changes(const char *what, const struct tm_count *c, u64 from, u64 want, u64 slack)
{
	u64 look = from + want - (want > EARLY_MS ? EARLY_MS : want);
	u64 now = tm_now();

	if (now < look)
		tl_sleep_ms(look - now);
	if (look > from && tm_value(c) != c->before) {
		ends_check(false, "%s, not too early", what);
		return;
	}
	while (tm_value(c) == c->before) {
		if (tm_now() - from > 2 * want + slack + SECOND) {
			ends_check(false, "%s, at all", what);
			return;
		}
		tl_sleep_ms(1);
	}
	tm_happened(what, from, want, slack);
}

/* ---- kernel ---- */

void tm_arm(const char *sites)
{
	ends_put("/sys/module/smc/parameters", "fault", "none");
	ends_put("/sys/module/smc/parameters", "fault", sites);
}

void tm_sysctl(const char *name, const char *value)
{
	for (int i = 0; i < ENDS_NR; i++) {
		ends_enter(i);
		ends_put("/proc/sys/net/smc", name, value);
	}
	ends_enter(ENDS_CLIENT);
}

/* ---- sockets ---- */

int tm_socket(void)
{
	int fd = tl_socket(tm_proto, 0);

	if (fd < 0)
		ends_die("socket");
	return fd;
}

int tm_begin_connect(int fd)
{
	struct tl_addr to;

	tl_addr_parse(&to, tm_proto, ENDS_ADDR, TM_PORT);
	return connect(fd, &to.sa, to.len) ? -errno : 0;
}

int tm_connects(const char *what, int err, enum tl_mode mode, u64 want)
{
	int fd = tm_socket();
	u64 from = tm_now();
	int rc;

	rc = tm_begin_connect(fd);
	tm_happened(what, from, want, SLACK_MS);
	ends_check(rc == -err, "%s: connect() returns %s", what, rc ? tl_errno_name(-rc) : "0");
	if (!err)
		ends_check(ends_over(fd, tm_proto, mode), "%s: the mode", what);
	return fd;
}

struct ends_pair tm_pair(void)
{
	u64 from = tm_now();
	struct ends_pair p = ends_pair(tm_proto, tm_waiting, TM_PORT, TL_MODE_SMCR);

	tm_happened("a good connection", from, 0, SLACK_MS);
	/* a new group tells its peer of more memory: before the peer is made silent */
	tl_sleep_ms(NEW_GROUP_MS);
	return p;
}

void tm_ping(const struct ends_pair *p)
{
	if (!ends_ping(p))
		ends_die("ping");
}

bool tm_something(int fd, short events, const struct ends_pair *busy, u64 limit)
{
	u64 from = tm_now();

	while (tm_now() - from < limit) {
		if (ends_something(fd, events, SECOND))
			return true;
		tm_ping(busy);
	}
	return false;
}

void tm_set_up(void)
{
	tm_proto = tl_proto_find("smc");
	tm_waiting = ends_listen(tm_proto, TM_PORT);
}
