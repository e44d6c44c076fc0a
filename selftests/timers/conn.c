// SPDX-License-Identifier: GPL-2.0-only
/* smc_timers: deadlines of connections. */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "timers.h"

#define SEED	79	/* stream that fills the peer's ring, which is never read */
#define PLACES	255	/* slots of a group */
#define POLL_ALL (POLLIN | POLLOUT | POLLRDHUP)

/* close() without an answer: the peer may still write, so its element goes into quarantine. */
static void check_unanswered(const char *what, const struct linger *l, u64 want)
{
	struct ends_pair p = tm_pair();
	struct tm_count kept = tm_count(ENDS_CLIENT, "elem_quarantine");
	u64 from;

	tm_arm("LOSE_CDC:1+");
	from = tm_now();
	setsockopt(p.fd[ENDS_CLIENT], SOL_SOCKET, SO_LINGER, l, sizeof(*l));
	close(p.fd[ENDS_CLIENT]);
	tm_changes(what, &kept, from, want, SLACK_MS);
}

static void close_unanswered(void)
{
	check_unanswered("no answer to a close", &(struct linger) { .l_onoff = 0 }, 60 * SECOND);
}

static void abort_unanswered(void)
{
	check_unanswered("no answer to an abort", &(struct linger) { .l_onoff = 1 }, 5 * SECOND);
}

/* A program that does not close after its peer has: the peer's element does not wait for it. */
static void close_unheeded(void)
{
	struct ends_pair p = tm_pair(), other = tm_pair();
	struct tm_count kept = tm_count(ENDS_SERVER, "elem_quarantine"), answers;
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct pollfd poll_fd = { .fd = p.fd[ENDS_CLIENT], .events = POLL_ALL };
	char buf[16];
	u64 from;

	ends_check(send(p.fd[ENDS_SERVER], "bytes", 5, 0) == 5, "send()");
	from = tm_now();
	close(p.fd[ENDS_SERVER]);
	tl_sleep_ms(SECOND);
	answers = tm_count(ENDS_CLIENT, "tx_cdc");
	tm_changes("the answer to a close", &answers, from, 30 * SECOND, SLACK_MS);
	close(other.fd[ENDS_SERVER]);
	tl_sleep_ms(100 * SECOND);
	ends_check(tm_value(&kept) == kept.before, "no element is in quarantine");
	/* as before, and as on TCP */
	ends_check(poll(&poll_fd, 1, 0) == 1 &&
		   poll_fd.revents == (POLLIN | POLLOUT | POLLRDHUP), "poll(): %x",
		   poll_fd.revents);
	ends_check(!getpeername(p.fd[ENDS_CLIENT], (struct sockaddr *)&ss, &len), "getpeername()");
	ends_check(recv(p.fd[ENDS_CLIENT], buf, sizeof(buf), 0) == 5 && !memcmp(buf, "bytes", 5),
		   "bytes that came before");
	ends_check(!recv(p.fd[ENDS_CLIENT], buf, sizeof(buf), 0), "the end of the stream");
	ends_check(send(p.fd[ENDS_CLIENT], "x", 1, MSG_NOSIGNAL) == 1, "one send()");
	ends_check(poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLHUP, "POLLHUP");
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == EPIPE, "EPIPE");
	close(p.fd[ENDS_CLIENT]);
	poll_fd.fd = other.fd[ENDS_CLIENT];
	ends_check(!ends_error(poll_fd.fd), "no error");
	ends_check(!shutdown(poll_fd.fd, SHUT_WR), "shutdown()");
	ends_check(poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLHUP,
		   "both directions have ended");
	close(poll_fd.fd);
}

/* A group full of such connections has slots for new ones. */
static void places_unheeded(void)
{
	struct ends_pair p[PLACES];

	for (int i = 0; i < PLACES; i++)
		p[i] = ends_pair(tm_proto, tm_waiting, TM_PORT, TL_MODE_SMCR);
	for (int i = 0; i < PLACES; i++)
		close(p[i].fd[ENDS_SERVER]);
	tl_sleep_ms(100 * SECOND);
	close(tm_connects("a connection after that", 0, TL_MODE_SMCR, 0));
	for (int i = 0; i < PLACES; i++)
		close(p[i].fd[ENDS_CLIENT]);
}

static void linger_background(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count aborted = tm_count(ENDS_SERVER, "conn_abort");
	u64 from;

	ends_fill(p.fd[ENDS_CLIENT], SEED);
	from = tm_now();
	close(p.fd[ENDS_CLIENT]);
	tm_changes("bytes queued at close()", &aborted, from, 60 * SECOND, SLACK_MS);
}

static void linger(void)
{
	struct linger l = { .l_onoff = 1, .l_linger = 7 };
	struct ends_pair p = tm_pair();
	u64 from;

	ends_fill(p.fd[ENDS_CLIENT], SEED);
	setsockopt(p.fd[ENDS_CLIENT], SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	from = tm_now();
	close(p.fd[ENDS_CLIENT]);
	tm_happened("close() with SO_LINGER", from, 7 * SECOND, SLACK_MS);
}

/* A peer that answers neither over RDMA nor over TCP costs the time of SO_LINGER once. */
static void check_linger_dead(const char *what, const char *fault)
{
	struct linger l = { .l_onoff = 1, .l_linger = 3 };
	struct ends_pair p = tm_pair();
	u64 from;

	ends_fill(p.fd[ENDS_CLIENT], SEED);
	setsockopt(p.fd[ENDS_CLIENT], SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	ends_cut_cable();
	tm_arm(fault);
	from = tm_now();
	close(p.fd[ENDS_CLIENT]);
	tm_happened(what, from, l.l_linger * SECOND, SLACK_MS);
	ends_mend_cable();
}

static void linger_dead(void)
{
	check_linger_dead("SO_LINGER, a dead peer", "none");
}

/* Without memory for an orphan close() itself ends the clcsock. */
static void linger_dead_no_memory(void)
{
	check_linger_dead("SO_LINGER, a dead peer, no memory", "ORPHAN:1");
}

static void cork(void)
{
	struct ends_pair p = tm_pair();
	u64 from = tm_now();

	ends_check(send(p.fd[ENDS_CLIENT], "more", 4, MSG_MORE) == 4, "send()");
	ends_something(p.fd[ENDS_SERVER], POLLIN, 5 * SECOND);
	tm_happened("MSG_MORE without more", from, 200, SLACK_MS);
}

static void consumer_update(void)
{
	static char buf[4 << 10];
	struct ends_pair p = tm_pair();
	struct tm_count updates;
	u64 from;

	/* the peer waits for space; an eighth of the ring would be reported at once anyway */
	ends_fill(p.fd[ENDS_CLIENT], SEED);
	tl_sleep_ms(SECOND);
	updates = tm_count(ENDS_CLIENT, "rx_cdc");
	from = tm_now();
	ends_check(recv(p.fd[ENDS_SERVER], buf, sizeof(buf), 0) == sizeof(buf), "recv()");
	tm_changes("little was read", &updates, from, 0, JIFFY_MS);
}

static void keepalive_enable(int fd, int idle, int interval, int probes)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)))
		ends_die("setsockopt");
}

/* The peer's TCP is silent for longer than SO_KEEPALIVE allows. */
static void keepalive_tcp(void)
{
	u64 from;
	int fd;

	tm_arm("IB_GID_MAC:1+");
	fd = tm_connects("a connection over TCP", 0, TL_MODE_TCP, 0);
	keepalive_enable(fd, 7200, 10, 3);
	from = tm_now();
	ends_cut_cable();
	ends_something(fd, POLLIN, 20000 * SECOND);
	tm_happened("SO_KEEPALIVE in TCP mode", from, 7230 * SECOND, SLACK_MS);
	ends_check(ends_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

/* SO_KEEPALIVE tests the link, whose own deadline is shorter. */
static void keepalive_smc(void)
{
	struct ends_pair p;
	u64 from;

	tm_sysctl("smcr_testlink_time", "0");
	p = tm_pair();
	/* not much longer: the rounding of timers must not reach 120 s, the end without the test */
	keepalive_enable(p.fd[ENDS_CLIENT], 60, 20, 3);
	from = tm_now();
	ends_cut_cable();
	ends_something(p.fd[ENDS_CLIENT], POLLIN, 20000 * SECOND);
	tm_happened("SO_KEEPALIVE in SMC mode", from, 68 * SECOND, SLACK_MS);
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ETIMEDOUT, "ETIMEDOUT");
}

/* The options allow less than the link's deadline. */
static void keepalive_quick(void)
{
	struct ends_pair p;
	u64 from;

	tm_sysctl("smcr_testlink_time", "0");
	p = tm_pair();
	keepalive_enable(p.fd[ENDS_CLIENT], 10, 1, 3);
	from = tm_now();
	ends_cut_cable();
	ends_something(p.fd[ENDS_CLIENT], POLLIN, 100 * SECOND);
	/* four timers in a row, each rounded */
	tm_happened("SO_KEEPALIVE, quick", from, 13 * SECOND, SLACK_MS + 3 * 8 * JIFFY_MS);
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ETIMEDOUT, "ETIMEDOUT");
}

/* A peer that answers is tested periodically. */
static void keepalive_alive(void)
{
	struct tm_count answers;
	struct ends_pair p;

	tm_sysctl("smcr_testlink_time", "0");
	p = tm_pair();
	answers = tm_count(ENDS_CLIENT, "rx_llc");
	keepalive_enable(p.fd[ENDS_CLIENT], 10, 1, 3);
	ends_check(!ends_something(p.fd[ENDS_CLIENT], POLLIN, 1000 * SECOND), "nothing happens");
	ends_check(tm_value(&answers) >= answers.before + 1000 / 13, "the peer was tested");
	ends_check(tm_value(&answers) <= answers.before + 1000 / 10 + 1, "and not more often");
	tm_ping(&p);
	ends_check(!ends_error(p.fd[ENDS_CLIENT]), "no error");
}

/* Another end of the connection during the test is no time-out. */
static void keepalive_other_end(void)
{
	struct ends_pair p;

	tm_sysctl("smcr_testlink_time", "0");
	p = tm_pair();
	keepalive_enable(p.fd[ENDS_CLIENT], 10, 7, 3);
	ends_cut_cable();
	ends_check(!ends_something(p.fd[ENDS_CLIENT], POLLIN, 12 * SECOND),
		   "tested and not answered");
	ends_run(ENDS_CLIENT, "ip link set vethc down");
	ends_check(ends_something(p.fd[ENDS_CLIENT], POLLIN, 4 * SECOND),
		   "the port goes down first");
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ECONNABORTED, "ECONNABORTED");
	ends_run(ENDS_CLIENT, "ip link set vethc up");
}

/* Return the number of segments that this host's TCP has sent. */
static long tcp_sent(void)
{
	char line[512];
	bool names = true;
	long out = -1;
	FILE *f;

	f = fopen("/proc/thread-self/net/snmp", "r");
	if (!f)
		ends_die("snmp");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Tcp:", 4))
			continue;
		if (!names && sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %ld",
				     &out) != 1)
			ends_die("snmp");
		names = false;
	}
	fclose(f);
	return out;
}

static void clcsock_keepalive_time(const char *seconds)
{
	ends_put("/proc/sys/net/smc", "carrier_keepalive_time", seconds);
}

/* An idle clcsock sends keepalive ACKs; the peer does not answer them. */
static void clcsock_keepalive(void)
{
	struct ends_pair p;
	long before;

	clcsock_keepalive_time("100");
	p = tm_pair();
	tm_ping(&p);
	tl_sleep_ms(SECOND);
	before = tcp_sent();
	ends_check(!ends_something(p.fd[ENDS_CLIENT], POLLIN, 1000 * SECOND), "nothing happens");
	printf("# %ld packets in 1000 s\n", tcp_sent() - before);
	ends_check(tcp_sent() - before >= 9 && tcp_sent() - before <= 10, "a packet every 100 s");
	clcsock_keepalive_time("0");
	tl_sleep_ms(200 * SECOND);
	before = tcp_sent();
	tl_sleep_ms(1000 * SECOND);
	ends_check(tcp_sent() == before, "no packet when it is off");
	tm_ping(&p);
	ends_check(!ends_error(p.fd[ENDS_CLIENT]), "no error");
}

static void set_user_timeout(int fd, int ms)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)))
		ends_die("setsockopt");
}

/* Bytes that the peer does not acknowledge. */
static void user_timeout(void)
{
	struct ends_pair p = tm_pair();
	u64 from;

	set_user_timeout(p.fd[ENDS_CLIENT], 3000);
	tl_sleep_ms(60 * SECOND);
	ends_check(!ends_error(p.fd[ENDS_CLIENT]), "silence is no error");
	ends_cut_cable();
	from = tm_now();
	ends_check(send(p.fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
	ends_something(p.fd[ENDS_CLIENT], POLLIN, 100 * SECOND);
	tm_happened("TCP_USER_TIMEOUT, unacknowledged", from, 3 * SECOND, SLACK_MS);
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ETIMEDOUT, "ETIMEDOUT");
}

/*
 * Bytes that cannot be sent although the peer answers: the window opens slowly, then stays closed.
 */
static void user_timeout_window(void)
{
	static char buf[1 << 10];
	struct ends_pair p = tm_pair();
	u64 from;

	set_user_timeout(p.fd[ENDS_CLIENT], 5000);
	ends_fill(p.fd[ENDS_CLIENT], SEED);
	for (int i = 0; i < 20; i++) {
		ends_check(recv(p.fd[ENDS_SERVER], buf, sizeof(buf), 0) == sizeof(buf), "recv()");
		tl_sleep_ms(SECOND);
	}
	ends_check(!ends_error(p.fd[ENDS_CLIENT]), "a slow reader is no error");
	ends_check(recv(p.fd[ENDS_SERVER], buf, sizeof(buf), 0) == sizeof(buf), "recv()");
	from = tm_now();
	ends_something(p.fd[ENDS_CLIENT], POLLIN, 100 * SECOND);
	tm_happened("TCP_USER_TIMEOUT, closed window", from, 5 * SECOND, SLACK_MS + 2 * JIFFY_MS);
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ETIMEDOUT, "ETIMEDOUT");
}

/* Receive a byte that arrives in 50 ms. Returns how often the reader has slept. */
static long count_sleeps(const struct ends_pair *p, int busy_poll_us)
{
	struct rusage before, after;
	char c;

	if (setsockopt(p->fd[ENDS_SERVER], SOL_SOCKET, SO_BUSY_POLL, &busy_poll_us,
		       sizeof(busy_poll_us)))
		ends_die("SO_BUSY_POLL");
	tm_ping(p);
	ends_run(ENDS_CLIENT, "/usr/sbin/tc qdisc add dev vethc root netem delay 50ms");
	ends_check(send(p->fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
	getrusage(RUSAGE_THREAD, &before);
	ends_check(recv(p->fd[ENDS_SERVER], &c, 1, 0) == 1, "recv()");
	getrusage(RUSAGE_THREAD, &after);
	ends_mend_cable();
	return after.ru_nvcsw - before.ru_nvcsw;
}

/* A reader with SO_BUSY_POLL sleeps only when that time is over. */
static void busy_poll(void)
{
	struct ends_pair p = tm_pair();

	ends_check(count_sleeps(&p, 0), "without the option it does not sleep");
	ends_check(!count_sleeps(&p, 200000), "it sleeps before its 200 ms are over");
	ends_check(count_sleeps(&p, 20000), "it does not sleep after its 20 ms");
}

static void ignore_signal(int sig)
{
	(void)sig;
}

/* A signal ends the polling. */
static void busy_poll_signal(void)
{
	struct itimerval alarm_50_ms = { .it_value.tv_usec = 50000 };
	struct sigaction sa = { .sa_handler = ignore_signal };
	struct ends_pair p = tm_pair();
	int forever_us = INT_MAX;
	struct rusage before, after;
	u64 from;
	char c;

	if (sigaction(SIGALRM, &sa, NULL) ||
	    setsockopt(p.fd[ENDS_SERVER], SOL_SOCKET, SO_BUSY_POLL, &forever_us,
		       sizeof(forever_us)))
		ends_die("SO_BUSY_POLL");
	from = tm_now();
	setitimer(ITIMER_REAL, &alarm_50_ms, NULL);
	getrusage(RUSAGE_THREAD, &before);
	ends_check(recv(p.fd[ENDS_SERVER], &c, 1, 0) < 0 && errno == EINTR, "EINTR");
	getrusage(RUSAGE_THREAD, &after);
	tm_happened("a signal", from, 50, SLACK_MS);
	ends_check(after.ru_nvcsw == before.ru_nvcsw, "it sleeps");
}

const struct ends_test tm_conn_tests[] = {
	{ "close_unanswered", close_unanswered },
	{ "abort_unanswered", abort_unanswered },
	{ "close_unheeded", close_unheeded },
	{ "places_unheeded", places_unheeded },
	{ "linger_background", linger_background },
	{ "linger", linger },
	{ "linger_dead", linger_dead },
	{ "linger_dead_no_memory", linger_dead_no_memory },
	{ "cork", cork },
	{ "consumer_update", consumer_update },
	{ "keepalive_tcp", keepalive_tcp },
	{ "keepalive_smc", keepalive_smc },
	{ "keepalive_quick", keepalive_quick },
	{ "keepalive_alive", keepalive_alive },
	{ "keepalive_other_end", keepalive_other_end },
	{ "clcsock_keepalive", clcsock_keepalive },
	{ "busy_poll", busy_poll },
	{ "busy_poll_signal", busy_poll_signal },
	{ "user_timeout", user_timeout },
	{ "user_timeout_window", user_timeout_window },
	{ }
};
