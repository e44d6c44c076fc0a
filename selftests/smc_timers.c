// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each deadline of the module, measured on the guest's clock: not before and not after
 * its documented value. Client and server are two namespaces of one kernel, so that
 * virtual time can be had; a module with fault sites makes one of them silent.
 * Documentation/timers.rst has the list.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "testlib.h"

#define ADDR		"10.0.0.1"
#define PORT		4460
#define JIFFY_MS	10	/* User Mode Linux has no other */
#define EARLY_MS	JIFFY_MS
#define SLACK_MS	(3 * JIFFY_MS)
#define SECOND		1000ULL

static const struct tl_proto *proto;
static int server_ns, client_ns;	/* files that stand for them */
static int waiting;			/* the listener */
static unsigned int bad;

static void die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(2);
}

static void enter(int ns)
{
	if (setns(ns, CLONE_NEWNET))
		die("setns");
}

/* ---- clock ---- */

static u64 now_ms(void)
{
	return tl_now_ns() / TL_NSEC_PER_MSEC;
}

/*
 * The kernel's timer wheel rounds up: what is 64 jiffies away or more to 8 jiffies, 512
 * to 64 and so on, at most an eighth.
 */
static u64 rounding(u64 ms)
{
	u64 step = JIFFY_MS;

	for (u64 j = ms / JIFFY_MS; j >= 63; j /= 8)
		step *= 8;
	return step;
}

/* @what happened now: was that @want ms after @from? */
static void happened(const char *what, u64 from, u64 want, u64 slack)
{
	u64 is = now_ms() - from;
	bool ok = is + EARLY_MS >= want && is <= want + rounding(want) + slack;

	printf("# %s after %llu.%03llu s, to be %llu.%03llu\n", what,
	       (unsigned long long)is / 1000, (unsigned long long)is % 1000,
	       (unsigned long long)want / 1000, (unsigned long long)want % 1000);
	bad += !ok;
}

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	printf("# not so: %s\n", what);
	bad++;
}

/**
 * struct count - a number in a file of /proc that is to change
 * @ns: namespace whose smc_stat it is in, -1: arrivals of a fault site
 * @name: of the line
 * @before: its value when the test began
 */
struct count {
	int ns;
	const char *name;
	long before;
};

static long value(const struct count *c)
{
	const char *path = c->ns < 0 ? "/proc/smc_faults" : "/proc/thread-self/net/smc_stat";
	char line[128], name[64], when[16];
	long n, found = -1;
	FILE *f;

	if (c->ns >= 0)
		enter(c->ns);
	f = fopen(path, "r");
	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		if ((c->ns < 0 ? sscanf(line, "%63s %15s %ld", name, when, &n) == 3 :
				 sscanf(line, "%63s %ld", name, &n) == 2) &&
		    !strcmp(name, c->name))
			found = n;
	}
	fclose(f);
	enter(client_ns);
	if (found < 0) {
		errno = ENOENT;
		die(c->name);
	}
	return found;
}

static struct count count(int ns, const char *name)
{
	struct count c = { .ns = ns, .name = name };

	c.before = value(&c);
	return c;
}

/* The count changes @want ms after @from. */
static void changes(const char *what, const struct count *c, u64 from, u64 want, u64 slack)
{
	u64 look = from + want - (want > EARLY_MS ? EARLY_MS : want);
	u64 now = now_ms();

	if (now < look)
		tl_sleep_ms(look - now);
	if (look > from && value(c) != c->before) {
		printf("# %s: before its time\n", what);
		bad++;
		return;
	}
	while (value(c) == c->before) {
		if (now_ms() - from > 2 * want + slack + SECOND) {
			printf("# %s: never\n", what);
			bad++;
			return;
		}
		tl_sleep_ms(1);
	}
	happened(what, from, want, slack);
}

/* ---- kernel ---- */

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		die(path);
	close(fd);
}

/* Counting of arrivals begins anew. */
static void arm(const char *sites)
{
	put("/sys/module/smc/parameters/fault", "none");
	put("/sys/module/smc/parameters/fault", sites);
}

static void test_link_time(const char *seconds)
{
	enter(server_ns);
	put("/proc/sys/net/smc/smcr_testlink_time", seconds);
	enter(client_ns);
	put("/proc/sys/net/smc/smcr_testlink_time", seconds);
}

static void stall_time(const char *seconds)
{
	enter(server_ns);
	put("/proc/sys/net/smc/smcr_stall_time", seconds);
	enter(client_ns);
	put("/proc/sys/net/smc/smcr_stall_time", seconds);
}

/* Nothing that the client sends arrives any more. */
static void cut_cable(void)
{
	if (system("/usr/sbin/tc qdisc add dev vethc root netem loss 100%"))
		die("tc");
}

static void mend_cable(void)
{
	if (system("/usr/sbin/tc qdisc del dev vethc root"))
		die("tc");
}

/* ---- sockets ---- */

static int client_socket(void)
{
	int fd = tl_socket(proto, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

static int begin_connect(int fd)
{
	struct tl_addr to;

	tl_addr_parse(&to, proto, ADDR, PORT);
	return connect(fd, &to.sa, to.len) ? -errno : 0;
}

/* connect() that ends with @err (0: success, over @mode) @want ms after its beginning. */
static int connects(const char *what, int err, enum tl_mode mode, u64 want)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	int fd = client_socket();
	u64 from = now_ms();
	int rc;

	rc = begin_connect(fd);
	happened(what, from, want, SLACK_MS);
	if (rc != -err)
		printf("# %s: connect() gives %s\n", what, tl_errno_name(-rc));
	check(rc == -err, "result of connect()");
	if (!err && (tl_diag_get(fd, proto, &diag) || diag.mode != mode)) {
		printf("# %s: mode %s, %08x/%08x\n", what, tl_mode_name(diag.mode), diag.reason,
		       diag.peer_reason);
		bad++;
	}
	return fd;
}

/**
 * struct pair - both ends of a connection over SMC
 * @client: one end
 * @server: the other
 */
struct pair {
	int client;
	int server;
};

/* One byte to and fro: afterwards nothing is under way. */
static void ping(const struct pair *p)
{
	char c = 'p';

	if (send(p->client, &c, 1, 0) != 1 || recv(p->server, &c, 1, 0) != 1 ||
	    send(p->server, &c, 1, 0) != 1 || recv(p->client, &c, 1, 0) != 1)
		die("ping");
}

static struct pair pair(void)
{
	struct pair p;

	p.client = connects("a good connection", 0, TL_MODE_SMCR, 0);
	p.server = accept(waiting, NULL, NULL);
	if (p.server < 0)
		die("accept");
	ping(&p);
	if (bad)
		exit(1);
	return p;
}

static int fd_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

static enum tl_mode fd_mode(int fd)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };

	tl_diag_get(fd, proto, &diag);
	return diag.mode;
}

/* Something at @fd within @limit ms, while @busy is in use. */
static bool something(int fd, short events, const struct pair *busy, u64 limit)
{
	struct pollfd p = { .fd = fd, .events = events };
	u64 from = now_ms();

	while (now_ms() - from < limit) {
		if (poll(&p, 1, busy ? SECOND : limit))
			return true;
		if (busy)
			ping(busy);
	}
	return false;
}

/* ---- CLC ---- */

static void proposal(void)
{
	arm("LOSE_CLC:1");
	/* the client connects once more then, by TCP alone */
	connects("server: no Proposal", 0, TL_MODE_TCP, 6 * SECOND);
}

static void confirm(void)
{
	arm("LOSE_CLC:2");
	connects("server: no Confirm", 0, TL_MODE_TCP, 6 * SECOND);
}

/* Nobody waits for the deadline of a handshake whose listener closes. */
static void listener_closes(void)
{
	int fd = client_socket(), err;
	u64 from;

	arm("LOSE_CLC:1");
	tl_set_nonblock(fd, true);
	check(begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	check(!something(fd, POLLOUT, NULL, SECOND), "the handshake goes on");
	from = now_ms();
	close(waiting);
	happened("close() of the listener", from, 0, SLACK_MS);
	something(fd, POLLOUT, NULL, 60 * SECOND);
	happened("the listener closes", from, 0, SLACK_MS);
	/* it connects once more: to what is left of the listener, or to nobody */
	err = fd_error(fd);
	check(err == ECONNRESET || err == ECONNREFUSED, tl_errno_name(err));
}

/* There was no memory for a child, and nobody else connects. */
static void accept_again(void)
{
	arm("CARRIER_ACCEPT:1");
	connects("a child at the second attempt", 0, TL_MODE_SMCR, 100);
}

static void accept_busy(void)
{
	struct pair busy = pair();
	int fd = client_socket();
	u64 from;

	/* the server itself waits longer as long as the group is in use */
	arm("LOSE_CLC:2");
	tl_set_nonblock(fd, true);
	from = now_ms();
	check(begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	something(fd, POLLOUT, &busy, 60 * SECOND);
	happened("client: no Accept", from, 15 * SECOND, SLACK_MS);
	check(!fd_error(fd) && fd_mode(fd) == TL_MODE_TCP, "TCP");
}

/*
 * A host that no group leads to, whose TCP answers and whose application never does: another
 * connection is in the way. It does not answer the SYN of TCP alone either.
 */
static void stranger(void)
{
	int plain, waits, fd = client_socket();
	struct tl_addr at, to;
	u64 from;

	enter(server_ns);
	tl_addr_parse(&at, proto, ADDR, PORT + 1);
	waits = tl_listen(proto, &at, 0);
	enter(client_ns);
	plain = tl_connect(tl_proto_find("inet"), NULL, &at);
	check(waits >= 0 && plain >= 0, "a connection to be accepted");
	tl_sleep_ms(SECOND);
	tl_set_nonblock(fd, true);
	tl_addr_parse(&to, proto, ADDR, PORT + 1);
	from = now_ms();
	check(connect(fd, &to.sa, to.len) && errno == EINPROGRESS, "connect() in progress");
	something(fd, POLLOUT, NULL, 60 * SECOND);
	happened("client: neither a word nor a SYN-ACK", from, 21 * SECOND,
		 rounding(6 * SECOND) + SLACK_MS);
	check(fd_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

/* The server gives up after 6 s; then nobody answers the SYN of TCP alone. */
static void again(void)
{
	int fd = client_socket();
	u64 from;

	arm("LOSE_CLC:1");
	tl_set_nonblock(fd, true);
	from = now_ms();
	check(begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	tl_sleep_ms(SECOND);
	cut_cable();
	something(fd, POLLOUT, NULL, 60 * SECOND);
	happened("client: no SYN-ACK either", from, 21 * SECOND,
		 rounding(6 * SECOND) + 2 * SLACK_MS);
	check(fd_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

static void confirm_busy(void)
{
	struct pair busy = pair();
	u64 from;
	int fd;

	arm("LOSE_CLC:3");
	from = now_ms();
	fd = connects("client is through", 0, TL_MODE_SMCR, 0);
	something(fd, POLLIN, &busy, 90 * SECOND);
	/* five waits, each of them rounded up */
	happened("server: no Confirm, group in use", from, 30 * SECOND, 5 * rounding(6 * SECOND));
	check(fd_error(fd) != 0, "an error");
}

static void confirm_idle(void)
{
	u64 from;
	int fd;

	pair();
	tl_sleep_ms(SECOND);
	arm("LOSE_CLC:3");
	from = now_ms();
	fd = connects("client is through", 0, TL_MODE_SMCR, 0);
	something(fd, POLLIN, NULL, 90 * SECOND);
	happened("server: no Confirm, group idle", from, 6 * SECOND, SLACK_MS);
	check(fd_error(fd) != 0, "an error");
}

static void group(void)
{
	int fd = client_socket();

	arm("LOSE_CLC:2");
	tl_set_nonblock(fd, true);
	check(begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	tl_sleep_ms(100);
	connects("server: first contact of another", 0, TL_MODE_TCP, 5 * SECOND);
}

/* ---- LLC ---- */

static void confirm_link(void)
{
	arm("LOSE_LLC:2+");
	connects("server: no answer to CONFIRM LINK", 0, TL_MODE_TCP, 4 * SECOND);
}

static void confirm_link_client(void)
{
	arm("LOSE_CLC:3");
	connects("client: no CONFIRM LINK", 0, TL_MODE_TCP, 4 * SECOND);
}

static void confirm_again(void)
{
	arm("LOSE_LLC:1");
	connects("server: CONFIRM LINK again", 0, TL_MODE_SMCR, 1500);
}

/* The server is one of ours, and does not wait for the answer of its like. */
static void add_link(void)
{
	u64 from;

	arm("LOSE_LLC:4");
	from = now_ms();
	connects("client is through", 0, TL_MODE_SMCR, 0);
	check(something(waiting, POLLIN, NULL, 60 * SECOND), "a connection to accept");
	happened("server: no answer to ADD LINK", from, 0, SLACK_MS);
}

static void add_link_client(void)
{
	arm("LOSE_LLC:3+");
	connects("client: no ADD LINK", ETIMEDOUT, TL_MODE_UNKNOWN, 5 * SECOND);
}

static void rkey(void)
{
	int size = 256 << 10, fd;
	u64 from;

	pair();
	arm("LOSE_LLC:2");
	fd = client_socket();
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	from = now_ms();
	check(!begin_connect(fd), "connect()");
	happened("client: no answer to CONFIRM RKEY", from, 2 * SECOND, SLACK_MS);
}

/*
 * One handshake waits for the answer to its CONFIRM RKEY, another one for the region that
 * this is about: neither holds up the listener's end.
 */
static void rkey_cancelled(void)
{
	int size = 256 << 10, fd[2], i;
	u64 from;

	pair();
	setsockopt(waiting, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	arm("LOSE_LLC:1+");
	for (i = 0; i < 2; i++) {
		fd[i] = client_socket();
		tl_set_nonblock(fd[i], true);
		check(begin_connect(fd[i]) == -EINPROGRESS, "connect() in progress");
	}
	check(!something(fd[0], POLLOUT, NULL, SECOND / 2), "the first handshake waits");
	check(!something(fd[1], POLLOUT, NULL, SECOND / 2), "the second handshake waits");
	from = now_ms();
	close(waiting);
	/* one looks every 100 ms */
	happened("close() of the listener", from, 0, 100 + SLACK_MS);
}

static void test_link(void)
{
	struct pair p = pair();
	struct count lost = count(client_ns, "link_fail");
	u64 from = now_ms();

	arm("LOSE_LLC:1+");
	changes("TEST LINK not answered", &lost, from, 38 * SECOND, rounding(8 * SECOND));
	check(something(p.client, POLLIN, NULL, SECOND) && fd_error(p.client) == ECONNABORTED,
	      "ECONNABORTED");
}

static void test_link_hour(void)
{
	struct count lost;
	u64 from;

	test_link_time("3600");
	pair();
	lost = count(client_ns, "link_fail");
	from = now_ms();
	arm("LOSE_LLC:1+");
	changes("TEST LINK after an hour", &lost, from, 3608 * SECOND, rounding(8 * SECOND));
}

/* The answer is lost, again and again, as are the queue pair's first retries. */
static void test_link_lossy(void)
{
	struct count lost;
	struct pair p;

	test_link_time("2");
	p = pair();
	lost = count(client_ns, "link_fail");
	cut_cable();
	tl_sleep_ms(6 * SECOND);
	mend_cable();
	tl_sleep_ms(4 * SECOND);
	check(value(&lost) == lost.before, "the link lives");
	ping(&p);
}

static void quiet_hour(void)
{
	struct pair p = pair();
	struct count lost = count(client_ns, "link_fail");
	struct count ours = count(client_ns, "tx_llc"), theirs = count(server_ns, "tx_llc");
	long sent;

	tl_sleep_ms(3600 * SECOND);
	check(value(&lost) == lost.before, "the link lives");
	/* each probe counts for both ends, and so does its answer */
	sent = value(&ours) - ours.before + value(&theirs) - theirs.before;
	printf("# %ld LLC messages in an hour\n", sent);
	check(sent >= 2 * 119 && sent <= 4 * 120, "a probe every 30 s");
	ping(&p);
}

/* ---- connections ---- */

static void close_unanswered(void)
{
	struct pair p = pair();
	struct count kept = count(client_ns, "elem_quarantine");
	u64 from;

	arm("LOSE_CDC:1+");
	from = now_ms();
	close(p.client);
	changes("no answer to a close", &kept, from, 60 * SECOND, SLACK_MS);
}

static void reset_on_close(int fd)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

static void abort_unanswered(void)
{
	struct pair p = pair();
	struct count kept = count(client_ns, "elem_quarantine");
	u64 from;

	arm("LOSE_CDC:1+");
	from = now_ms();
	reset_on_close(p.client);
	changes("no answer to an abort", &kept, from, 5 * SECOND, SLACK_MS);
}

/* More than the peer's ring takes, which nobody reads. */
static void fill(int fd)
{
	static char junk[64 << 10];

	tl_set_nonblock(fd, true);
	while (send(fd, junk, sizeof(junk), MSG_NOSIGNAL) > 0 || something(fd, POLLOUT, NULL, 100))
		;
	tl_set_nonblock(fd, false);
}

static void linger_background(void)
{
	struct pair p = pair();
	struct count aborted = count(server_ns, "conn_abort");
	u64 from;

	fill(p.client);
	from = now_ms();
	close(p.client);
	changes("bytes queued at close()", &aborted, from, 60 * SECOND, SLACK_MS);
}

static void linger(void)
{
	struct linger l = { .l_onoff = 1, .l_linger = 7 };
	struct pair p = pair();
	u64 from;

	fill(p.client);
	setsockopt(p.client, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	from = now_ms();
	close(p.client);
	happened("close() with SO_LINGER", from, 7 * SECOND, SLACK_MS);
}

static void cork(void)
{
	struct pair p = pair();
	u64 from = now_ms();

	check(send(p.client, "more", 4, MSG_MORE) == 4, "send()");
	something(p.server, POLLIN, NULL, 5 * SECOND);
	happened("MSG_MORE without more", from, 200, SLACK_MS);
}

static void consumer_update(void)
{
	static char buf[4 << 10];
	struct pair p = pair();
	struct count told;
	u64 from;

	/* the peer waits for space; an eighth of the ring it would be told of at once */
	fill(p.client);
	tl_sleep_ms(SECOND);
	told = count(client_ns, "rx_cdc");
	from = now_ms();
	check(recv(p.server, buf, sizeof(buf), 0) == sizeof(buf), "recv()");
	changes("little was read", &told, from, 0, JIFFY_MS);
}

/* ---- groups and devices ---- */

static void end_pair(const struct pair *p)
{
	char c;

	close(p->client);
	recv(p->server, &c, 1, 0);
	close(p->server);
}

static void idle_server(void)
{
	struct pair p = pair();
	struct count ended = count(server_ns, "lgr_term");
	struct count fenced;
	u64 from = now_ms();

	end_pair(&p);
	changes("server: group idle", &ended, from, 600 * SECOND, SLACK_MS);
	fenced = count(-1, "QP_ERR");
	changes("queue pair still there", &fenced, now_ms(), 200, SLACK_MS);
}

static void idle_client(void)
{
	struct count ended;
	struct pair p;
	u64 from;

	test_link_time("0");
	p = pair();
	ended = count(client_ns, "lgr_term");
	from = now_ms();
	end_pair(&p);
	tl_sleep_ms(599 * SECOND);
	arm("LOSE_LLC:1+");	/* the server's farewell */
	changes("client: group idle", &ended, from, 610 * SECOND, SLACK_MS);
}

/* The last words wait for their completion, but not for ever. */
static void last_words(void)
{
	struct count ended, fenced;
	struct pair p;
	u64 from;

	test_link_time("0");
	p = pair();
	ended = count(server_ns, "lgr_term");
	from = now_ms();
	end_pair(&p);
	tl_sleep_ms(599 * SECOND);
	cut_cable();
	arm("LOSE_LLC:1+");
	changes("server: group idle", &ended, from, 600 * SECOND, SLACK_MS);
	fenced = count(-1, "QP_ERR");
	changes("DELETE LINK not acknowledged, parting", &fenced, now_ms(), 500 + 200,
		SLACK_MS);
}

static void registration(void)
{
	arm("LOSE_REG:1");
	connects("client: REG_MR", 0, TL_MODE_TCP, 5 * SECOND);
}

static void retries(void)
{
	struct pair p = pair();
	struct count lost = count(client_ns, "link_fail");
	u64 from;

	cut_cable();
	from = now_ms();
	check(send(p.client, "x", 1, 0) == 1, "send()");
	/* Soft-RoCE's clock begins with the last answer it had */
	changes("the peer's RNIC silent", &lost, from, 7500, 1500);
}

/*
 * Neither end posts receives again: in the end the server's RNIC answers "not ready", for
 * ever. Returns when the client sent what it takes no more.
 */
static u64 no_receives(const struct pair *p)
{
	struct count taken = count(server_ns, "rx_cdc");
	u64 from = now_ms();

	arm("LOSE_RECV:1+");
	for (int i = 0; i < 300; i++) {
		from = now_ms();
		check(send(p->client, "x", 1, 0) == 1, "send()");
		tl_sleep_ms(2 * JIFFY_MS);
		if (value(&taken) == taken.before)
			return from;
		taken.before = value(&taken);
	}
	check(false, "receives run out");
	return from;
}

static void stall(void)
{
	struct count stalls, lost;
	struct pair p;
	u64 from;

	test_link_time("3600");
	stall_time("5");
	p = pair();
	lost = count(client_ns, "link_fail");
	stalls = count(client_ns, "link_stall");
	from = no_receives(&p);
	changes("a request does not finish", &stalls, from, 5 * SECOND, SLACK_MS);
	check(value(&lost) == lost.before + 1, "the link fails once");
	check(something(p.client, POLLIN, NULL, SECOND) && fd_error(p.client) == ECONNABORTED,
	      "ECONNABORTED");
}

/* Without the deadline nobody notices, and with it no link does but one that is stuck. */
static void stall_off(void)
{
	struct count lost;
	struct pair p;

	test_link_time("3600");
	stall_time("0");
	p = pair();
	lost = count(client_ns, "link_fail");
	no_receives(&p);
	tl_sleep_ms(600 * SECOND);
	check(value(&lost) == lost.before, "the link lives");
}

/* A reader that does not read: the window is closed, but nothing is unfinished. */
static void stall_window(void)
{
	static const char zeros[65536];
	struct count lost, full;
	struct pair p;

	stall_time("5");
	p = pair();
	lost = count(client_ns, "link_fail");
	full = count(client_ns, "tx_full");
	tl_set_nonblock(p.client, true);
	for (int i = 0; i < 20; i++) {
		send(p.client, zeros, sizeof(zeros), 0);
		tl_sleep_ms(100);
	}
	check(value(&full) != full.before, "the window is closed");
	tl_sleep_ms(3600 * SECOND);
	check(value(&lost) == lost.before, "the link lives");
}

static void ask_keepalive(int fd, int idle, int interval, int probes)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)))
		die("setsockopt");
}

/* The peer's TCP is silent for longer than SO_KEEPALIVE bears. */
static void keepalive_tcp(void)
{
	u64 from;
	int fd;

	arm("IB_GID:1+");
	fd = connects("a connection over TCP", 0, TL_MODE_TCP, 0);
	ask_keepalive(fd, 7200, 10, 3);
	from = now_ms();
	cut_cable();
	something(fd, POLLIN, NULL, 20000 * SECOND);
	happened("SO_KEEPALIVE in TCP mode", from, 7230 * SECOND, SLACK_MS);
	check(fd_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

/* The link is asked, and its own deadline is the shorter one. */
static void keepalive_smc(void)
{
	struct pair p;
	u64 from;

	test_link_time("0");
	p = pair();
	ask_keepalive(p.client, 7200, 10, 3);
	from = now_ms();
	cut_cable();
	something(p.client, POLLIN, NULL, 20000 * SECOND);
	happened("SO_KEEPALIVE in SMC mode", from, 7208 * SECOND, SLACK_MS);
	check(fd_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* What the options allow is less than the link's deadline. */
static void keepalive_quick(void)
{
	struct pair p;
	u64 from;

	test_link_time("0");
	p = pair();
	ask_keepalive(p.client, 10, 1, 3);
	from = now_ms();
	cut_cable();
	something(p.client, POLLIN, NULL, 100 * SECOND);
	/* four timers in a row, each rounded */
	happened("SO_KEEPALIVE, quick", from, 13 * SECOND, SLACK_MS + 3 * 8 * JIFFY_MS);
	check(fd_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* A peer that is there is asked time and again. */
static void keepalive_alive(void)
{
	struct count answers;
	struct pair p;

	test_link_time("0");
	p = pair();
	answers = count(client_ns, "rx_llc");
	ask_keepalive(p.client, 10, 1, 3);
	check(!something(p.client, POLLIN, NULL, 1000 * SECOND), "nothing happens");
	check(value(&answers) >= answers.before + 1000 / 13, "the peer was asked");
	check(value(&answers) <= answers.before + 1000 / 10 + 1, "and not more often");
	ping(&p);
	check(!fd_error(p.client), "no error");
}

/* What else ends the connection meanwhile is no time-out. */
static void keepalive_other_end(void)
{
	struct pair p;

	test_link_time("0");
	p = pair();
	ask_keepalive(p.client, 10, 7, 3);
	cut_cable();
	check(!something(p.client, POLLIN, NULL, 12 * SECOND), "asked and not answered");
	if (system("ip link set vethc down"))
		die("ip link");
	check(something(p.client, POLLIN, NULL, 4 * SECOND), "the port's end is the sooner one");
	check(fd_error(p.client) == ECONNABORTED, "ECONNABORTED");
	if (system("ip link set vethc up"))
		die("ip link");
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
		die("snmp");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Tcp:", 4))
			continue;
		if (!names && sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %ld",
				     &out) != 1)
			die("snmp");
		names = false;
	}
	fclose(f);
	return out;
}

static void carrier_time(const char *seconds)
{
	put("/proc/sys/net/smc/carrier_keepalive_time", seconds);
}

/* An idle carrier shows itself, and the peer does not answer. */
static void carrier_shown(void)
{
	struct pair p;
	long before;

	carrier_time("100");
	p = pair();
	ping(&p);
	tl_sleep_ms(SECOND);
	before = segments();
	check(!something(p.client, POLLIN, NULL, 1000 * SECOND), "nothing happens");
	printf("# %ld packets in 1000 s\n", segments() - before);
	check(segments() - before >= 9 && segments() - before <= 10, "a packet every 100 s");
	carrier_time("0");
	tl_sleep_ms(200 * SECOND);
	before = segments();
	tl_sleep_ms(1000 * SECOND);
	check(segments() == before, "without it there is silence");
	ping(&p);
	check(!fd_error(p.client), "no error");
}

static void set_user_timeout(int fd, int ms)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)))
		die("setsockopt");
}

/* Bytes that nobody acknowledges. */
static void user_timeout(void)
{
	struct pair p = pair();
	u64 from;

	set_user_timeout(p.client, 3000);
	tl_sleep_ms(60 * SECOND);
	check(!fd_error(p.client), "silence is no matter");
	cut_cable();
	from = now_ms();
	check(send(p.client, "x", 1, 0) == 1, "send()");
	something(p.client, POLLIN, NULL, 100 * SECOND);
	happened("TCP_USER_TIMEOUT, unacknowledged", from, 3 * SECOND, SLACK_MS);
	check(fd_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* Bytes that cannot go, while the peer is well: a window that stays closed, and one that opens. */
static void user_timeout_window(void)
{
	static char buf[1 << 10];
	struct pair p = pair();
	u64 from;

	set_user_timeout(p.client, 5000);
	fill(p.client);
	for (int i = 0; i < 20; i++) {
		check(recv(p.server, buf, sizeof(buf), 0) == sizeof(buf), "recv()");
		tl_sleep_ms(SECOND);
	}
	check(!fd_error(p.client), "a slow reader is no matter");
	check(recv(p.server, buf, sizeof(buf), 0) == sizeof(buf), "recv()");
	from = now_ms();
	something(p.client, POLLIN, NULL, 100 * SECOND);
	happened("TCP_USER_TIMEOUT, closed window", from, 5 * SECOND, SLACK_MS + 2 * JIFFY_MS);
	check(fd_error(p.client) == ETIMEDOUT, "ETIMEDOUT");
}

/* ---- main ---- */

static const struct test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "proposal", proposal },
	{ "confirm", confirm },
	{ "listener_closes", listener_closes },
	{ "accept_again", accept_again },
	{ "accept_busy", accept_busy },
	{ "again", again },
	{ "stranger", stranger },
	{ "confirm_busy", confirm_busy },
	{ "confirm_idle", confirm_idle },
	{ "group", group },
	{ "confirm_link", confirm_link },
	{ "confirm_link_client", confirm_link_client },
	{ "confirm_again", confirm_again },
	{ "add_link", add_link },
	{ "add_link_client", add_link_client },
	{ "rkey", rkey },
	{ "rkey_cancelled", rkey_cancelled },
	{ "registration", registration },
	{ "close_unanswered", close_unanswered },
	{ "abort_unanswered", abort_unanswered },
	{ "linger_background", linger_background },
	{ "linger", linger },
	{ "cork", cork },
	{ "consumer_update", consumer_update },
	{ "test_link", test_link },
	{ "test_link_hour", test_link_hour },
	{ "test_link_lossy", test_link_lossy },
	{ "quiet_hour", quiet_hour },
	{ "idle_server", idle_server },
	{ "idle_client", idle_client },
	{ "last_words", last_words },
	{ "retries", retries },
	{ "stall", stall },
	{ "stall_off", stall_off },
	{ "stall_window", stall_window },
	{ "keepalive_tcp", keepalive_tcp },
	{ "keepalive_smc", keepalive_smc },
	{ "keepalive_quick", keepalive_quick },
	{ "keepalive_alive", keepalive_alive },
	{ "keepalive_other_end", keepalive_other_end },
	{ "carrier_shown", carrier_shown },
	{ "user_timeout", user_timeout },
	{ "user_timeout_window", user_timeout_window },
};

static int open_ns(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

static void set_up(void)
{
	struct tl_addr at;

	signal(SIGPIPE, SIG_IGN);
	proto = tl_proto_find("smc");
	server_ns = open_ns("s");
	client_ns = open_ns("c");
	enter(server_ns);
	tl_addr_parse(&at, proto, ADDR, PORT);
	waiting = tl_listen(proto, &at, 16);
	if (waiting < 0)
		die("listen");
	enter(client_ns);
}

/* smc_timers: the names of all tests; smc_timers NAME: one of them */
int main(int argc, char **argv)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(tests); i++) {
		if (argc < 2) {
			printf("%s\n", tests[i].name);
		} else if (!strcmp(argv[1], tests[i].name)) {
			set_up();
			tests[i].run();
			return !!bad;
		}
	}
	return argc < 2 ? 0 : 2;
}
