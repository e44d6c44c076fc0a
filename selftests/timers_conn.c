// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_timers: deadlines of connections.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timers.h"

static void close_unanswered(void)
{
	struct tm_pair p = tm_pair();
	struct tm_count kept = tm_count(tm_client, "elem_quarantine");
	u64 from;

	tm_arm("LOSE_CDC:1+");
	from = tm_now();
	close(p.client);
	tm_changes("no answer to a close", &kept, from, 60 * SECOND, SLACK_MS);
}

static void reset_on_close(int fd)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

static void abort_unanswered(void)
{
	struct tm_pair p = tm_pair();
	struct tm_count kept = tm_count(tm_client, "elem_quarantine");
	u64 from;

	tm_arm("LOSE_CDC:1+");
	from = tm_now();
	reset_on_close(p.client);
	tm_changes("no answer to an abort", &kept, from, 5 * SECOND, SLACK_MS);
}

/* More than the peer's ring takes, which nobody reads. */
static void fill(int fd)
{
	static char junk[64 << 10];

	tl_set_nonblock(fd, true);
	while (send(fd, junk, sizeof(junk), MSG_NOSIGNAL) > 0 ||
	       tm_something(fd, POLLOUT, NULL, 100))
		;
	tl_set_nonblock(fd, false);
}

static void linger_background(void)
{
	struct tm_pair p = tm_pair();
	struct tm_count aborted = tm_count(tm_server, "conn_abort");
	u64 from;

	fill(p.client);
	from = tm_now();
	close(p.client);
	tm_changes("bytes queued at close()", &aborted, from, 60 * SECOND, SLACK_MS);
}

static void linger(void)
{
	struct linger l = { .l_onoff = 1, .l_linger = 7 };
	struct tm_pair p = tm_pair();
	u64 from;

	fill(p.client);
	setsockopt(p.client, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	from = tm_now();
	close(p.client);
	tm_happened("close() with SO_LINGER", from, 7 * SECOND, SLACK_MS);
}

static void cork(void)
{
	struct tm_pair p = tm_pair();
	u64 from = tm_now();

	tm_check(send(p.client, "more", 4, MSG_MORE) == 4, "send()");
	tm_something(p.server, POLLIN, NULL, 5 * SECOND);
	tm_happened("MSG_MORE without more", from, 200, SLACK_MS);
}

static void consumer_update(void)
{
	static char buf[4 << 10];
	struct tm_pair p = tm_pair();
	struct tm_count told;
	u64 from;

	/* the peer waits for space; an eighth of the ring it would be told of at once */
	fill(p.client);
	tl_sleep_ms(SECOND);
	told = tm_count(tm_client, "rx_cdc");
	from = tm_now();
	tm_check(recv(p.server, buf, sizeof(buf), 0) == sizeof(buf), "recv()");
	tm_changes("little was read", &told, from, 0, JIFFY_MS);
}

static void ask_keepalive(int fd, int idle, int interval, int probes)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)))
		tm_die("setsockopt");
}

/* The peer's TCP is silent for longer than SO_KEEPALIVE bears. */
static void keepalive_tcp(void)
{
	u64 from;
	int fd;

	tm_arm("IB_GID:1+");
	fd = tm_connects("a connection over TCP", 0, TL_MODE_TCP, 0);
	ask_keepalive(fd, 7200, 10, 3);
	from = tm_now();
	tm_cut_cable();
	tm_something(fd, POLLIN, NULL, 20000 * SECOND);
	tm_happened("SO_KEEPALIVE in TCP mode", from, 7230 * SECOND, SLACK_MS);
	tm_check(tm_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

/* The link is asked, and its own deadline is the shorter one. */
static void keepalive_smc(void)
{
	struct tm_pair p;
	u64 from;

	tm_test_link_time("0");
	p = tm_pair();
	ask_keepalive(p.client, 7200, 10, 3);
	from = tm_now();
	tm_cut_cable();
	tm_something(p.client, POLLIN, NULL, 20000 * SECOND);
	tm_happened("SO_KEEPALIVE in SMC mode", from, 7208 * SECOND, SLACK_MS);
	tm_check(tm_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* What the options allow is less than the link's deadline. */
static void keepalive_quick(void)
{
	struct tm_pair p;
	u64 from;

	tm_test_link_time("0");
	p = tm_pair();
	ask_keepalive(p.client, 10, 1, 3);
	from = tm_now();
	tm_cut_cable();
	tm_something(p.client, POLLIN, NULL, 100 * SECOND);
	/* four timers in a row, each rounded */
	tm_happened("SO_KEEPALIVE, quick", from, 13 * SECOND, SLACK_MS + 3 * 8 * JIFFY_MS);
	tm_check(tm_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* A peer that is there is asked time and again. */
static void keepalive_alive(void)
{
	struct tm_count answers;
	struct tm_pair p;

	tm_test_link_time("0");
	p = tm_pair();
	answers = tm_count(tm_client, "rx_llc");
	ask_keepalive(p.client, 10, 1, 3);
	tm_check(!tm_something(p.client, POLLIN, NULL, 1000 * SECOND), "nothing happens");
	tm_check(tm_value(&answers) >= answers.before + 1000 / 13, "the peer was asked");
	tm_check(tm_value(&answers) <= answers.before + 1000 / 10 + 1, "and not more often");
	tm_ping(&p);
	tm_check(!tm_error(p.client), "no error");
}

/* What else ends the connection meanwhile is no time-out. */
static void keepalive_other_end(void)
{
	struct tm_pair p;

	tm_test_link_time("0");
	p = tm_pair();
	ask_keepalive(p.client, 10, 7, 3);
	tm_cut_cable();
	tm_check(!tm_something(p.client, POLLIN, NULL, 12 * SECOND), "asked and not answered");
	if (system("ip link set vethc down"))
		tm_die("ip link");
	tm_check(tm_something(p.client, POLLIN, NULL, 4 * SECOND),
		 "the port's end is the sooner one");
	tm_check(tm_error(p.client) == ECONNABORTED, "ECONNABORTED");
	if (system("ip link set vethc up"))
		tm_die("ip link");
}

/* Segments that this host's TCP has sent. */
static long segments(void)
{
	char line[512];
	bool names = true;
	long out = -1;
	FILE *f;

	f = fopen("/proc/thread-self/net/snmp", "r");
	if (!f)
		tm_die("snmp");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Tcp:", 4))
			continue;
		if (!names && sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %ld",
				     &out) != 1)
			tm_die("snmp");
		names = false;
	}
	fclose(f);
	return out;
}

static void carrier_time(const char *seconds)
{
	tm_put("/proc/sys/net/smc/carrier_keepalive_time", seconds);
}

/* An idle carrier shows itself, and the peer does not answer. */
static void carrier_shown(void)
{
	struct tm_pair p;
	long before;

	carrier_time("100");
	p = tm_pair();
	tm_ping(&p);
	tl_sleep_ms(SECOND);
	before = segments();
	tm_check(!tm_something(p.client, POLLIN, NULL, 1000 * SECOND), "nothing happens");
	printf("# %ld packets in 1000 s\n", segments() - before);
	tm_check(segments() - before >= 9 && segments() - before <= 10, "a packet every 100 s");
	carrier_time("0");
	tl_sleep_ms(200 * SECOND);
	before = segments();
	tl_sleep_ms(1000 * SECOND);
	tm_check(segments() == before, "without it there is silence");
	tm_ping(&p);
	tm_check(!tm_error(p.client), "no error");
}

static void set_user_timeout(int fd, int ms)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)))
		tm_die("setsockopt");
}

/* Bytes that nobody acknowledges. */
static void user_timeout(void)
{
	struct tm_pair p = tm_pair();
	u64 from;

	set_user_timeout(p.client, 3000);
	tl_sleep_ms(60 * SECOND);
	tm_check(!tm_error(p.client), "silence is no matter");
	tm_cut_cable();
	from = tm_now();
	tm_check(send(p.client, "x", 1, 0) == 1, "send()");
	tm_something(p.client, POLLIN, NULL, 100 * SECOND);
	tm_happened("TCP_USER_TIMEOUT, unacknowledged", from, 3 * SECOND, SLACK_MS);
	tm_check(tm_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* Bytes that cannot go, while the peer is well: a window that stays closed, and one that opens. */
static void user_timeout_window(void)
{
	static char buf[1 << 10];
	struct tm_pair p = tm_pair();
	u64 from;

	set_user_timeout(p.client, 5000);
	fill(p.client);
	for (int i = 0; i < 20; i++) {
		tm_check(recv(p.server, buf, sizeof(buf), 0) == sizeof(buf), "recv()");
		tl_sleep_ms(SECOND);
	}
	tm_check(!tm_error(p.client), "a slow reader is no matter");
	tm_check(recv(p.server, buf, sizeof(buf), 0) == sizeof(buf), "recv()");
	from = tm_now();
	tm_something(p.client, POLLIN, NULL, 100 * SECOND);
	tm_happened("TCP_USER_TIMEOUT, closed window", from, 5 * SECOND, SLACK_MS + 2 * JIFFY_MS);
	tm_check(tm_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

const struct tm_test tm_conn_tests[] = {
	{ "close_unanswered", close_unanswered },
	{ "abort_unanswered", abort_unanswered },
	{ "linger_background", linger_background },
	{ "linger", linger },
	{ "cork", cork },
	{ "consumer_update", consumer_update },
	{ "keepalive_tcp", keepalive_tcp },
	{ "keepalive_smc", keepalive_smc },
	{ "keepalive_quick", keepalive_quick },
	{ "keepalive_alive", keepalive_alive },
	{ "keepalive_other_end", keepalive_other_end },
	{ "carrier_shown", carrier_shown },
	{ "user_timeout", user_timeout },
	{ "user_timeout_window", user_timeout_window },
	{ }
};
