// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP connection (clcsock) of an SMC socket: effect of its end on the stream, and its owner:
 * filters, marks, users, control groups and their limits treat it like a TCP socket of the same
 * process. Each test runs with a TCP socket, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends/ends.h"

#define PORT		4480
#define USER		1234
#define MARK		7
#define CGROUPS		"/run/cgroups"
#define NO_MEMORY	0x01010000

static const struct tl_proto *smc, *tcp;

static void set_int(int fd, int level, int name, int val)
{
	if (setsockopt(fd, level, name, &val, sizeof(val)))
		ends_die("setsockopt");
}

/* ---- ends of the clcsock ---- */

/* Enable keepalive: first probe after one second, time-out after three more. */
static void keepalive_enable(int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* Apply an nft verdict to the TCP packets that arrive at the server. */
static void server_filter(const char *verdict)
{
	ends_run(ENDS_SERVER, "/usr/sbin/nft add table inet f");
	ends_run(ENDS_SERVER, "/usr/sbin/nft 'add chain inet f in { %s; }'",
		 "type filter hook input priority 0");
	ends_run(ENDS_SERVER, "/usr/sbin/nft add rule inet f in tcp dport %d %s", PORT, verdict);
}

static long timeouts(void)
{
	FILE *f = popen("/usr/sbin/nstat -asz TcpExtTCPAbortOnTimeout | tail -n 1", "r");
	long n = -1;

	if (!f || fscanf(f, "%*s %ld", &n) != 1)
		ends_die("nstat");
	pclose(f);
	return n;
}

/* RFC 7609 section 4.8.2: RST ends the stream on both sides. */
static void reset_test(void)
{
	int waiting = ends_listen(smc, PORT);
	struct ends_pair p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);

	server_filter("reject with tcp reset");
	keepalive_enable(p.fd[ENDS_CLIENT]);
	for (int i = 0; i < ENDS_NR; i++) {
		ends_check(ends_something(p.fd[i], 0, 5000), "end %d gets an event", i);
		ends_check(ends_error(p.fd[i]) == ECONNRESET, "ECONNRESET at %d", i);
	}
}

/* TCP's packets are lost, the link works. */
static void timed_out(void)
{
	int waiting = ends_listen(smc, PORT);
	struct ends_pair p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	struct tl_addr name = { .len = sizeof(name.ss) };
	long written, before = timeouts();
	char c;

	server_filter("drop");
	keepalive_enable(p.fd[ENDS_CLIENT]);
	ends_check(!ends_something(p.fd[ENDS_CLIENT], POLLIN, 10000), "nothing happens");
	ends_check(timeouts() == before + 1, "the clcsock has timed out");
	written = ends_stat(ENDS_CLIENT, "tx_write_bytes");
	for (int i = 0; i < 100; i++)
		ends_check(ends_ping(&p), "the stream continues");
	ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") - written >= 100, "by RDMA");
	ends_check(!getpeername(p.fd[ENDS_CLIENT], &name.sa, &name.len) &&
		   tl_addr_port(&name) == PORT, "getpeername()");
	ends_check(!ends_error(p.fd[ENDS_CLIENT]), "no error");
	close(p.fd[ENDS_CLIENT]);
	ends_check(ends_something(p.fd[ENDS_SERVER], POLLIN, 1000) &&
		   !recv(p.fd[ENDS_SERVER], &c, 1, 0), "EOF in the end");
}

/* All packets are lost: SO_KEEPALIVE detects it, although TEST LINK runs once an hour. */
static void timed_out_dead(void)
{
	struct ends_pair p;
	int waiting;

	for (int i = 0; i < ENDS_NR; i++)
		ends_run(i, "sysctl -q -w net.smc.smcr_testlink_time=3600");
	waiting = ends_listen(smc, PORT);
	p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	keepalive_enable(p.fd[ENDS_CLIENT]);
	ends_cut_cable();
	ends_check(ends_something(p.fd[ENDS_CLIENT], 0, 4000 + 1500), "the end is noticed");
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ETIMEDOUT, "ETIMEDOUT");
}

/* ---- ends of the stream ---- */

#define NO_TCP	0	/* no TCP connection; others: TCP_ESTABLISHED etc. */

/* Return the state of the one TCP connection over @port in the namespace of @where. */
static unsigned int tcp_state(enum ends_where where, unsigned int port)
{
	unsigned int from, to, state, found = NO_TCP;
	char line[256];
	FILE *f;

	ends_enter(where);
	f = fopen("/proc/thread-self/net/tcp", "r");
	ends_enter(ENDS_CLIENT);
	if (!f)
		ends_die("/proc/net/tcp");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*u: %*x:%x %*x:%x %x", &from, &to, &state) == 3 &&
		    (from == port || to == port) && state != TCP_LISTEN)
			found = state;
	fclose(f);
	return found;
}

static void lose(const char *sites)
{
	ends_put("/sys/module/smc/parameters", "fault", sites);
}

/* The stream has ended badly, and its peer gets no message of it: RST tells the peer, in @msec. */
static void check_reset(const char *what, int fd, unsigned int msec)
{
	int err;

	ends_check(ends_something(fd, 0, msec), "%s: an event in %u ms", what, msec);
	err = ends_error(fd);
	ends_check(err == ECONNRESET, "%s: %s", what, tl_errno_name(err));
	lose("none");
}

/* One end gives up and stays open. */
static void unheard_abort(void)
{
	int waiting = ends_listen(smc, PORT);

	for (int i = 0; i < ENDS_NR; i++) {
		struct ends_pair p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);

		set_int(p.fd[i], IPPROTO_TCP, TCP_USER_TIMEOUT, 1000);
		ends_fill(p.fd[i], i);
		lose("LOSE_CDC:1+");
		ends_check(ends_something(p.fd[i], 0, 5000), "end %d gives up", i);
		ends_check(ends_error(p.fd[i]) == ETIMEDOUT, "ETIMEDOUT at %d", i);
		check_reset("given up", p.fd[!i], 1000);
		close(p.fd[i]);
		close(p.fd[!i]);
	}
}

/* One end has closed, and the other one does not answer or does not read. */
static void unheard_close(void)
{
	int waiting = ends_listen(smc, PORT);

	for (int i = 0; i < ENDS_NR * 2; i++) {
		struct ends_pair p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
		enum ends_where ender = i % 2;
		bool full = i / 2;

		if (full)
			ends_fill(p.fd[ender], i);
		lose("LOSE_CDC:1+");
		close(p.fd[ender]);
		ends_check(!ends_something(p.fd[!ender], 0, 55000), "nothing happens");
		ends_check(tcp_state(!ender, PORT) == TCP_ESTABLISHED, "no FIN before the end");
		check_reset(full ? "not read" : "not answered", p.fd[!ender], 10000);
		close(p.fd[!ender]);
	}
}

/* A group ends, and its DELETE LINK is lost. */
static void unheard_group(void)
{
	int waiting = ends_listen(smc, PORT);

	for (int i = 0; i < ENDS_NR; i++) {
		struct ends_pair p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);

		lose("LOSE_LLC:1+ LOSE_CDC:1+");
		ends_run(i, "/t/smcctl linkgroup del $(/t/smcctl -j linkgroup | %s) now",
			 "sed -n 's/.*\"id\": *\"\\(.*\\)\".*/\\1/p' | head -n 1");
		ends_check(ends_something(p.fd[i], 0, 1000), "the group at %d ends", i);
		check_reset("without a group", p.fd[!i], 1000);
		close(p.fd[i]);
		close(p.fd[!i]);
	}
}

/**
 * struct fin_order - TCP states at the end of a connection
 * @half: of the other end when one end has closed, or shut down and closed
 * @first: of the end that has ended first, when both have closed
 * @second: of the other one
 */
struct fin_order {
	unsigned int half, first, second;
};

static struct fin_order fin_order_of(const struct tl_proto *proto, int waiting, unsigned int port,
				     enum ends_where first, bool half)
{
	struct ends_pair p = ends_pair(proto, waiting, port,
				       proto->smc ? TL_MODE_SMCR : TL_MODE_TCP);
	struct fin_order is;

	if (half)
		shutdown(p.fd[first], SHUT_WR);
	else
		close(p.fd[first]);
	/* longer than this module waits for a FIN */
	tl_sleep_ms(3000);
	is.half = tcp_state(!first, port);
	close(p.fd[!first]);
	if (half) {
		tl_sleep_ms(10);
		close(p.fd[first]);
	}
	tl_sleep_ms(500);
	is.first = tcp_state(first, port);
	is.second = tcp_state(!first, port);
	return is;
}

/*
 * RFC 7609 sections 3.5.4, 4.8.1: FIN ends the clcsock when both ends of the stream have closed.
 * TIME_WAIT is where it is with TCP: at the end that has ended first.
 */
static void fin_at_end(void)
{
	for (int i = 0; i < ENDS_NR * 2; i++) {
		/* a port for each: TIME_WAIT stays */
		unsigned int port = PORT + 10 + 2 * i;
		int waiting[] = { ends_listen(tcp, port), ends_listen(smc, port + 1) };
		struct fin_order t = fin_order_of(tcp, waiting[0], port, i % 2, i / 2);
		struct fin_order s = fin_order_of(smc, waiting[1], port + 1, i % 2, i / 2);

		ends_check(s.half == TCP_ESTABLISHED, "%d: no FIN before the end: state %u", i,
			   s.half);
		ends_check(t.first == TCP_TIME_WAIT && t.second == NO_TCP, "%d: TCP: %u, %u", i,
			   t.first, t.second);
		ends_check(s.first == t.first && s.second == t.second,
			   "%d: states at the end: %u, %u, TCP: %u, %u", i, s.first, s.second,
			   t.first, t.second);
		close(waiting[0]);
		close(waiting[1]);
	}
}

/* FIN follows the bytes, however late they are read. */
static void fin_behind_bytes(void)
{
	for (int i = 0; i < ENDS_NR; i++) {
		/* a port for each: TIME_WAIT stays */
		unsigned int port = PORT + 20 + i, state;
		struct ends_pair p = ends_pair(smc, ends_listen(smc, port), port, TL_MODE_SMCR);
		u64 sent = ends_fill(p.fd[i], i), got = 0;
		static u8 buf[64 << 10];
		ssize_t n;

		close(p.fd[i]);
		tl_sleep_ms(2000);
		state = tcp_state(!i, port);
		ends_check(state == TCP_ESTABLISHED, "no FIN before the last byte: %u", state);
		while ((n = recv(p.fd[!i], buf, sizeof(buf), 0)) > 0) {
			ends_check(tl_check(i, got, buf, n) == -1, "the bytes");
			got += n;
		}
		ends_check(!n && got == sent, "%llu of %llu bytes, %s", (unsigned long long)got,
			   (unsigned long long)sent, n ? tl_errno_name(errno) : "EOF");
		close(p.fd[!i]);
	}
}

/* SOCK_DESTROY of one end: this end gets ECONNABORTED, the other one ECONNRESET. */
static void destroyed(void)
{
	const struct tl_proto *protos[] = { tcp, smc };

	for (int i = 0; i < ENDS_NR * 2; i++) {
		const struct tl_proto *p = protos[i / 2];
		enum ends_where where = i % 2;
		int waiting = ends_listen(p, PORT);
		struct ends_pair pair = ends_pair(p, waiting, PORT,
						  p->smc ? TL_MODE_SMCR : TL_MODE_TCP);
		struct tl_addr name = { .len = sizeof(name.ss) };
		int want[ENDS_NR] = { ECONNRESET, ECONNRESET };

		want[where] = ECONNABORTED;
		getsockname(pair.fd[ENDS_CLIENT], &name.sa, &name.len);
		ends_run(where, "/usr/sbin/ss -K -tn '( sport = :%u or dport = :%u )'",
			 tl_addr_port(&name), tl_addr_port(&name));
		for (int k = 0; k < ENDS_NR; k++) {
			int err;

			ends_check(ends_something(pair.fd[k], 0, 5000), "%s, end %d: gets an event",
				   p->name, k);
			err = ends_error(pair.fd[k]);
			ends_check(err == want[k], "%s, SOCK_DESTROY at %d, end %d: %s", p->name,
				   where, k, tl_errno_name(err));
			close(pair.fd[k]);
		}
		close(waiting);
	}
}

/* Start a process that sleeps in accept() and exits with the errno. */
static pid_t accept_start(int waiting)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(accept(waiting, NULL, NULL) < 0 ? errno : 0);
}

/* Return its exit status, or -1 if it still sleeps. */
static int accept_result(pid_t pid, unsigned int msec)
{
	int status;

	for (unsigned int i = 0; i < msec / 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		tl_sleep_ms(10);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

/**
 * struct destroyed - results of SOCK_DESTROY of a listener
 * @accept: errno of an accept() that slept before
 * @again: errno of a later accept()
 * @events: events of poll()
 * @error: SO_ERROR
 * @queued: SO_ERROR of a connection that waited to be accepted
 * @anew: errno of another listen()
 */
struct destroyed {
	int accept, again, events, error, queued, anew;
};

static struct destroyed destroy_listener(const struct tl_proto *p)
{
	int waiting = ends_listen(p, PORT), idle = ends_listen(p, PORT + 1), fd;
	struct pollfd pfd = { .fd = waiting };
	struct destroyed d;
	pid_t pid;

	fd = ends_connect(p, PORT + 1);
	pid = accept_start(waiting);
	tl_sleep_ms(200);
	ends_run(ENDS_SERVER, "/usr/sbin/ss -K -ltn '( sport = :%u or sport = :%u )'", PORT,
		 PORT + 1);
	d.accept = accept_result(pid, 5000);
	ends_something(fd, 0, 5000);
	d.queued = ends_error(fd);
	close(fd);
	ends_something(idle, 0, 5000);
	tl_set_nonblock(idle, true);
	d.again = accept(idle, NULL, NULL) < 0 ? errno : 0;
	poll(&pfd, 1, 0);
	d.events = pfd.revents;
	d.error = ends_error(waiting);
	/*
	 * listen() succeeds on TCP, but its socket has been shut down and accepts no usable
	 * connection
	 */
	d.anew = listen(waiting, 8) ? errno : 0;
	close(waiting);
	close(idle);
	printf("# %s: accept %s, later %s, poll %x, SO_ERROR %s, queued %s\n", p->name,
	       d.accept < 0 ? "sleeps" : tl_errno_name(d.accept), tl_errno_name(d.again), d.events,
	       tl_errno_name(d.error), tl_errno_name(d.queued));
	return d;
}

/* SOCK_DESTROY of a listener: accept() and poll() return what they return on TCP. */
static void destroyed_listener(void)
{
	struct destroyed t = destroy_listener(tcp), s = destroy_listener(smc);

	ends_check(t.accept == EINVAL && s.accept == EINVAL, "accept() that slept: EINVAL");
	ends_check(t.again == s.again, "accept() afterwards");
	ends_check((t.events & POLLHUP) && t.events == s.events, "the events of poll()");
	ends_check(t.error == ECONNABORTED && t.error == s.error, "SO_ERROR");
	ends_check(t.queued == ECONNRESET && t.queued == s.queued, "a connection not yet accepted");
	ends_check(!t.anew && !s.anew, "listen() once more");
}

/* ---- owner of the clcsock ---- */

/* Return the inode number that /proc/net/tcp shows for a socket with the local port @port. */
static unsigned long shown_inode(enum ends_where where, unsigned int port)
{
	unsigned long inode = 0, found = 0;
	unsigned int at;
	char line[256];
	FILE *f;

	ends_enter(where);
	f = fopen("/proc/self/net/tcp", "r");
	ends_enter(ENDS_CLIENT);
	if (!f)
		ends_die("/proc/self/net/tcp");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %lu", &at,
			   &found) == 2 && at == port)
			inode = found;
	fclose(f);
	return inode;
}

/*
 * Return whether ss names this process and @fd for the TCP socket with the local port @port. It
 * gets the inode number from sock_diag, not from /proc.
 */
static bool ss_names_owner(enum ends_where where, int fd, unsigned int port)
{
	char cmd[64], owner[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "/usr/sbin/ss -Htanp 'sport = :%u'", port);
	snprintf(owner, sizeof(owner), "(\"smc_clcsock\",pid=%d,fd=%d)", getpid(), fd);
	ends_enter(where);
	f = popen(cmd, "r");
	ends_enter(ENDS_CLIENT);
	if (!f)
		ends_die("ss");
	while (fgets(line, sizeof(line), f))
		found |= !!strstr(line, owner);
	ends_check(!pclose(f), "ss ends well");
	return found;
}

static void check_owner(const char *what, enum ends_where where, int fd, unsigned int port)
{
	unsigned long shown = shown_inode(where, port);
	struct stat st;

	if (fstat(fd, &st))
		ends_die("fstat");
	ends_check(shown == st.st_ino, "%s: inode %lu is shown, %lu is the program's", what, shown,
		   (unsigned long)st.st_ino);
	ends_check(ss_names_owner(where, fd, port), "%s: ss -tp names the program", what);
}

/* "ss -tp" and others find the program by the inode number of the TCP socket. */
static void shown_owner(void)
{
	int waiting = ends_listen(smc, PORT), to_tcp = ends_listen(tcp, PORT + 1), fd;
	struct tl_addr name = { .len = sizeof(name.ss) };
	struct ends_pair p;

	check_owner("listener", ENDS_SERVER, waiting, PORT);
	p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	close(waiting);
	check_owner("accepted socket", ENDS_SERVER, p.fd[ENDS_SERVER], PORT);
	getsockname(p.fd[ENDS_CLIENT], &name.sa, &name.len);
	check_owner("connected socket", ENDS_CLIENT, p.fd[ENDS_CLIENT], tl_addr_port(&name));

	fd = ends_connect(smc, PORT + 1);
	ends_check(ends_over(fd, smc, TL_MODE_TCP), "a TCP server: fallback");
	getsockname(fd, &name.sa, &name.len);
	check_owner("socket after a fallback", ENDS_CLIENT, fd, tl_addr_port(&name));
	close(fd);
	close(to_tcp);

	waiting = ends_listen(smc, PORT + 2);
	fd = ends_connect(tcp, PORT + 2);
	p.fd[ENDS_SERVER] = accept(waiting, NULL, NULL);
	close(waiting);
	check_owner("accepted socket of a TCP client", ENDS_SERVER, p.fd[ENDS_SERVER], PORT + 2);
	close(fd);
}

/* Run @fn in a process in a control group and as a user. Return its result. */
static bool run_as(const char *cgroup, uid_t uid, bool (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		if (cgroup)
			ends_put(cgroup, "cgroup.procs", "0");
		if (uid && (setgid(uid) || setuid(uid)))
			ends_die("setuid");
		_exit(!fn(arg));
	}
	waitpid(pid, &status, 0);
	return !status;
}

static void make_cgroup(const char *path)
{
	mkdir(CGROUPS, 0755);
	if (mount("none", CGROUPS, "cgroup2", 0, NULL) && errno != EBUSY)
		ends_die("cgroup2");
	if (mkdir(path, 0755) && errno != EEXIST)
		ends_die(path);
}

static void count_packets(enum ends_where where, const char *name, const char *match)
{
	ends_run(where, "/usr/sbin/nft add table inet own");
	ends_run(where, "/usr/sbin/nft add counter inet own %s", name);
	ends_run(where, "/usr/sbin/nft 'add chain inet own out { %s; }'",
		 "type filter hook output priority 0");
	ends_run(where, "/usr/sbin/nft add rule inet own out %s counter name %s", match, name);
}

static long packets_of(enum ends_where where, const char *name)
{
	char cmd[128], line[128];
	long n = -1;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "/usr/sbin/nft list counter inet own %s", name);
	ends_enter(where);
	f = popen(cmd, "r");
	ends_enter(ENDS_CLIENT);
	if (!f)
		ends_die(cmd);
	while (fgets(line, sizeof(line), f))
		sscanf(line, " packets %ld", &n);
	pclose(f);
	if (n < 0)
		ends_die(cmd);
	return n;
}

struct connection {
	const struct tl_proto *proto;
	enum tl_mode mode;
};

static bool connect_and_check(void *arg)
{
	struct connection *c = arg;
	int fd = tl_socket(c->proto, 0);
	struct tl_diag diag = { .mode = TL_MODE_TCP };
	struct tl_addr to;

	tl_addr_parse(&to, c->proto, ENDS_ADDR, PORT);
	if (connect(fd, &to.sa, to.len))
		return false;
	if (c->proto->smc)
		tl_diag_get(fd, c->proto, &diag);
	return diag.mode == c->mode;
}

/*
 * Output filters by user and by mark, of the connecting process and of a listener with a mark: they
 * match packets of SMC sockets as those of TCP sockets.
 */
static void filtered(void)
{
	static const char * const names[] = { "by_user", "by_mark" };
	struct connection c[] = { { tcp, TL_MODE_TCP }, { smc, TL_MODE_SMCR } };

	char match[64];

	snprintf(match, sizeof(match), "tcp dport %d meta skuid %d", PORT, USER);
	count_packets(ENDS_CLIENT, names[0], match);
	snprintf(match, sizeof(match), "tcp sport %d meta mark %d", PORT, MARK);
	count_packets(ENDS_SERVER, names[1], match);
	for (size_t k = 0; k < TL_ARRAY_SIZE(c); k++) {
		int waiting = ends_listen(c[k].proto, PORT), fd;
		long before[] = {
			packets_of(ENDS_CLIENT, names[0]), packets_of(ENDS_SERVER, names[1]),
		};
		long after[2];

		set_int(waiting, SOL_SOCKET, SO_MARK, MARK);
		ends_check(run_as(NULL, USER, connect_and_check, &c[k]), "%s connects",
			   c[k].proto->name);
		fd = accept(waiting, NULL, NULL);
		after[0] = packets_of(ENDS_CLIENT, names[0]);
		after[1] = packets_of(ENDS_SERVER, names[1]);
		for (int i = 0; i < 2; i++)
			ends_check(after[i] > before[i], "%s: the filter %s finds %ld packets",
				   c[k].proto->name, names[i], after[i] - before[i]);
		close(fd);
		close(waiting);
	}
}

#define SYS_CGROUPS	"/sys/fs/cgroup"	/* where nft searches for them */

/*
 * The same by control group: of the process that connects, and of a process that made a listener
 * and is in another group when it accepts.
 */
static void by_cgroup(void)
{
	static const char * const cgroups[] = { CGROUPS "/connects", CGROUPS "/listens" };
	struct connection c[] = { { tcp, TL_MODE_TCP }, { smc, TL_MODE_SMCR } };
	static const char * const names[] = { "connects", "listens" };

	for (int i = 0; i < 2; i++)
		make_cgroup(cgroups[i]);
	if (mount("none", SYS_CGROUPS, "cgroup2", 0, NULL) && errno != EBUSY)
		ends_die(SYS_CGROUPS);
	count_packets(ENDS_CLIENT, names[0], "tcp dport 4480 socket cgroupv2 level 1 connects");
	count_packets(ENDS_SERVER, names[1], "tcp sport 4480 socket cgroupv2 level 1 listens");
	for (size_t k = 0; k < TL_ARRAY_SIZE(c); k++) {
		long before[] = {
			packets_of(ENDS_CLIENT, names[0]), packets_of(ENDS_SERVER, names[1]),
		};
		int waiting, fd;

		ends_put(cgroups[1], "cgroup.procs", "0");
		waiting = ends_listen(c[k].proto, PORT);
		ends_put(CGROUPS, "cgroup.procs", "0");
		ends_check(run_as(cgroups[0], 0, connect_and_check, &c[k]), "%s connects",
			   c[k].proto->name);
		fd = accept(waiting, NULL, NULL);
		close(fd);
		tl_sleep_ms(100);
		close(waiting);
		ends_check(packets_of(ENDS_CLIENT, names[0]) - before[0] >= 2, "%s: the client's",
			   c[k].proto->name);
		/* a SYN-ACK has no owner yet, a FIN has one */
		ends_check(packets_of(ENDS_SERVER, names[1]) - before[1] >= 1, "%s: the server's",
			   c[k].proto->name);
	}
}

/* ---- BPF programs of a control group ---- */

/* Load a program that refuses the call. */
static int load_refusal(enum bpf_prog_type type, enum bpf_attach_type attach)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a = {
		.prog_type = type,
		.expected_attach_type = attach,
		.insns = (unsigned long)insns,
		.insn_cnt = TL_ARRAY_SIZE(insns),
		.license = (unsigned long)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));

	if (fd < 0)
		ends_die("BPF_PROG_LOAD");
	return fd;
}

static void hook_set(const char *cgroup, enum bpf_prog_type type, enum bpf_attach_type attach,
		     bool on)
{
	static int prog;
	int dir = open(cgroup, O_RDONLY | O_DIRECTORY);
	union bpf_attr a = { .target_fd = dir, .attach_type = attach };

	if (on)
		prog = load_refusal(type, attach);
	a.attach_bpf_fd = prog;
	if (dir < 0 || syscall(SYS_bpf, on ? BPF_PROG_ATTACH : BPF_PROG_DETACH, &a, sizeof(a)))
		ends_die("BPF program");
	if (!on)
		close(prog);
	close(dir);
}

static bool refused_connect(void *arg)
{
	return ends_connect(arg, PORT) == -EPERM;
}

static bool refused_bind(void *arg)
{
	struct tl_addr at;
	int fd = tl_socket(arg, 0);

	tl_addr_parse(&at, arg, "10.0.0.2", 0);
	return bind(fd, &at.sa, at.len) && errno == EPERM;
}

/*
 * A listener made in a control group: its children belong to this group, whatever the group of the
 * process that accepts them.
 */
static bool refused_option(const struct tl_proto *proto, const char *cgroup)
{
	int waiting, fd, c, on = 1, rc;

	ends_put(cgroup, "cgroup.procs", "0");
	waiting = ends_listen(proto, PORT);
	ends_put(CGROUPS, "cgroup.procs", "0");
	c = ends_connect(proto, PORT);
	fd = accept(waiting, NULL, NULL);
	hook_set(cgroup, BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, true);
	rc = setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ? errno : 0;
	hook_set(cgroup, BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, false);
	close(c);
	close(fd);
	close(waiting);
	return rc == EPERM;
}

static void hooks_test(void)
{
	static const char * const cgroup = CGROUPS "/hooks";
	const struct tl_proto *protos[] = { tcp, smc };

	make_cgroup(cgroup);
	for (size_t k = 0; k < TL_ARRAY_SIZE(protos); k++) {
		struct tl_proto *p = (struct tl_proto *)protos[k];
		int waiting = ends_listen(p, PORT), fd;

		hook_set(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, true);
		ends_check(run_as(cgroup, 0, refused_connect, p), "%s: connect() is refused",
			   p->name);
		fd = ends_connect(p, PORT);
		ends_check(fd >= 0, "%s: not refused outside the group", p->name);
		hook_set(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, false);
		hook_set(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, true);
		ends_check(run_as(cgroup, 0, refused_bind, p), "%s: bind() is refused", p->name);
		hook_set(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, false);
		close(fd);
		close(waiting);
		ends_check(refused_option(p, cgroup), "%s: accepted: the listener's group",
			   p->name);
	}
}

/* ---- limits of a control group ---- */

static long group_value(const char *cgroup, const char *file, const char *name)
{
	char path[128], line[128], is[64];
	long n, found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	f = fopen(path, "r");
	if (!f)
		ends_die(path);
	while (fgets(line, sizeof(line), f)) {
		if (!name)
			found = atol(line);
		else if (sscanf(line, "%63s %ld", is, &n) == 2 && !strcmp(is, name))
			found = n;
	}
	fclose(f);
	return found;
}

static void set_limit(const char *cgroup, long bytes)
{
	char text[32] = "max";

	if (bytes)
		snprintf(text, sizeof(text), "%ld", bytes);
	ends_put(cgroup, "memory.max", text);
}

/* The process that makes a socket is charged for it and its children: echo one byte of each. */
static void echo_serve(void)
{
	int waiting = ends_listen(smc, PORT + 1), fd;
	char c;

	while ((fd = accept(waiting, NULL, NULL)) >= 0) {
		if (recv(fd, &c, 1, 0) == 1)
			send(fd, &c, 1, MSG_NOSIGNAL);
		close(fd);
	}
}

/* Exchange one byte; return the state of the connection. */
static struct tl_diag echo_exchange(void)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	int fd = -ECONNREFUSED;
	char c = 'e';

	for (int i = 0; i < 50 && fd == -ECONNREFUSED; i++) {
		tl_sleep_ms(20);
		fd = ends_connect(smc, PORT + 1);
	}
	ends_check(fd >= 0 && send(fd, &c, 1, 0) == 1 && recv(fd, &c, 1, 0) == 1, "an echo");
	tl_diag_get(fd, smc, &diag);
	close(fd);
	return diag;
}

/*
 * At its memory limit a group's connections are TCP and no process is killed; without the limit SMC
 * buffers are charged to the group.
 */
static void memory_test(void)
{
	static const char * const cgroup = CGROUPS "/memory";
	struct tl_diag diag;
	long charged;
	pid_t pid;

	make_cgroup(cgroup);
	ends_put(CGROUPS, "cgroup.subtree_control", "+memory");
	ends_run(ENDS_SERVER, "sysctl -q -w net.smc.rmem=524288");
	pid = fork();
	if (!pid) {
		ends_put(cgroup, "cgroup.procs", "0");
		echo_serve();
		_exit(1);
	}
	tl_sleep_ms(500);
	/* too little for an RMBE of 512 KiB, even if the kernel reclaims some */
	set_limit(cgroup, group_value(cgroup, "memory.current", NULL) + (192 << 10));
	diag = echo_exchange();
	ends_check(diag.mode == TL_MODE_TCP && diag.peer_reason == NO_MEMORY,
		   "TCP for lack of memory: %s %08x/%08x", tl_mode_name(diag.mode), diag.reason,
		   diag.peer_reason);
	ends_check(!group_value(cgroup, "memory.events", "oom_kill"), "no process is killed");
	charged = group_value(cgroup, "memory.current", NULL);
	set_limit(cgroup, 0);
	diag = echo_exchange();
	ends_check(diag.mode == TL_MODE_SMCR, "SMC without a limit: %08x/%08x", diag.reason,
		   diag.peer_reason);
	charged = group_value(cgroup, "memory.current", NULL) - charged;
	printf("# %ld KiB charged\n", charged >> 10);
	/* an element of 512 KiB; the kernel charges 64 pages at a time, some of them before */
	ends_check(charged >= 256 << 10, "RMBs are charged");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define RING_CHUNK	65536
#define RING_CHUNKS	128

/* Answer a byte with a stream. */
static void ring_serve(void)
{
	int fd = accept(ends_listen(smc, PORT + 4), NULL, NULL);
	static char chunk[RING_CHUNK];

	if (recv(fd, chunk, 1, 0) != 1)
		return;
	for (int i = 0; i < RING_CHUNKS; i++)
		if (send(fd, chunk, RING_CHUNK, 0) != RING_CHUNK)
			return;
	pause();
}

/* The bigger send ring of a stream is charged to its group, though a kernel thread takes it. */
static void ring_memory_test(void)
{
	static const char * const cgroup = CGROUPS "/ring";
	static char chunk[RING_CHUNK];
	int fd = -ECONNREFUSED;
	long charged, got = 0;
	ssize_t n = 1;
	pid_t pid;

	make_cgroup(cgroup);
	ends_put(CGROUPS, "cgroup.subtree_control", "+memory");
	pid = fork();
	if (!pid) {
		ends_put(cgroup, "cgroup.procs", "0");
		ring_serve();
		_exit(1);
	}
	for (int i = 0; i < 50 && fd == -ECONNREFUSED; i++) {
		tl_sleep_ms(20);
		fd = ends_connect(smc, PORT + 4);
	}
	ends_check(fd >= 0, "a connection");
	tl_sleep_ms(500);
	charged = group_value(cgroup, "memory.current", NULL);
	ends_check(send(fd, chunk, 1, 0) == 1, "a byte");
	while (got < (long)RING_CHUNK * RING_CHUNKS && n > 0) {
		n = recv(fd, chunk, RING_CHUNK, 0);
		got += n;
	}
	ends_check(got == (long)RING_CHUNK * RING_CHUNKS, "a stream: %ld", got);
	charged = group_value(cgroup, "memory.current", NULL) - charged;
	printf("# %ld KiB charged\n", charged >> 10);
	/* a region of two rings of 256 KiB */
	ends_check(charged >= 448 << 10, "the ring is charged");
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * A listener at the limit of its group: its children are charged all the same. They are many more
 * than the kernel charges in advance for each CPU.
 */
static void children_test(void)
{
	static const char * const cgroup = CGROUPS "/children";
	int ready[2], fd[400], waiting;
	long slab;
	pid_t pid;
	char c;

	make_cgroup(cgroup);
	ends_put(CGROUPS, "cgroup.subtree_control", "+memory");
	if (pipe(ready))
		ends_die("pipe");
	pid = fork();
	if (!pid) {
		ends_put(cgroup, "cgroup.procs", "0");
		waiting = ends_listen(smc, PORT + 3);
		if (listen(waiting, TL_ARRAY_SIZE(fd)) || write(ready[1], "l", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	ends_check(read(ready[0], &c, 1) == 1, "a listener");
	set_limit(cgroup, group_value(cgroup, "memory.current", NULL));
	slab = group_value(cgroup, "memory.stat", "slab");
	for (size_t i = 0; i < TL_ARRAY_SIZE(fd); i++) {
		fd[i] = ends_connect(smc, PORT + 3);
		ends_check(fd[i] >= 0, "connection %zu", i);
	}
	tl_sleep_ms(500);
	slab = group_value(cgroup, "memory.stat", "slab") - slab;
	printf("# %ld KiB charged for %zu children\n", slab >> 10, TL_ARRAY_SIZE(fd));
	ends_check(slab >= (long)TL_ARRAY_SIZE(fd) << 10, "a KiB or more for each child");
	ends_check(!group_value(cgroup, "memory.events", "oom_kill"), "no process is killed");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < TL_ARRAY_SIZE(fd); i++)
		close(fd[i]);
	close(ready[0]);
	close(ready[1]);
}

/* A listener in the group. Its children are accepted late, and never read. */
static void accept_unread(const struct tl_proto *p, int ready)
{
	int waiting = ends_listen(p, PORT + 2);
	char c = 'l';

	if (waiting < 0 || write(ready, &c, 1) != 1)
		_exit(1);
	tl_sleep_ms(1000);
	while (accept(waiting, NULL, NULL) >= 0)
		;
	_exit(1);
}

/* Return the KiB of TCP memory charged to the group for connections that are never read. */
static long received_kib(const struct tl_proto *p, const char *cgroup)
{
	long kib;
	int ready[2], fd[4];
	pid_t pid;
	char c;

	if (pipe(ready))
		ends_die("pipe");
	pid = fork();
	if (!pid) {
		ends_put(cgroup, "cgroup.procs", "0");
		accept_unread(p, ready[1]);
	}
	ends_check(read(ready[0], &c, 1) == 1, "%s: a listener", p->name);
	for (size_t i = 0; i < TL_ARRAY_SIZE(fd); i++) {
		fd[i] = ends_connect(tcp, PORT + 2);
		ends_check(fd[i] >= 0 && ends_fill(fd[i], i) > 65536, "%s: bytes", p->name);
	}
	tl_sleep_ms(2000);
	for (size_t i = 0; i < TL_ARRAY_SIZE(fd); i++)
		ends_fill(fd[i], i);
	kib = group_value(cgroup, "memory.stat", "sock") >> 10;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < TL_ARRAY_SIZE(fd); i++)
		close(fd[i]);
	close(ready[0]);
	close(ready[1]);
	return kib;
}

/* Bytes received over TCP are charged to the group, and uncharged in the end. */
static void received_test(void)
{
	static const char * const cgroup = CGROUPS "/received";
	long of_tcp, of_smc, left = -1;

	make_cgroup(cgroup);
	ends_put(CGROUPS, "cgroup.subtree_control", "+memory");
	of_tcp = received_kib(tcp, cgroup);
	of_smc = received_kib(smc, cgroup);
	printf("# %ld KiB charged with TCP sockets, %ld with SMC sockets\n", of_tcp, of_smc);
	ends_check(of_tcp >= 64, "TCP charges");
	ends_check(of_smc >= of_tcp / 2, "SMC charges as well");
	/* statistics are updated every other second */
	for (int i = 0; i < 100 && left; i++) {
		left = group_value(cgroup, "memory.stat", "sock");
		tl_sleep_ms(100);
	}
	ends_check(!left, "%ld bytes remain", left);
}

static const struct ends_test tests[] = {
	{ "reset", reset_test },
	{ "timed_out", timed_out },
	{ "timed_out_dead", timed_out_dead },
	{ "unheard_abort", unheard_abort },
	{ "unheard_close", unheard_close },
	{ "unheard_group", unheard_group },
	{ "fin_at_end", fin_at_end },
	{ "fin_behind_bytes", fin_behind_bytes },
	{ "destroyed", destroyed },
	{ "destroyed_listener", destroyed_listener },
	{ "by_cgroup", by_cgroup },
	{ "shown_owner", shown_owner },
	{ "filtered", filtered },
	{ "hooks", hooks_test },
	{ "memory", memory_test },
	{ "ring_memory", ring_memory_test },
	{ "children", children_test },
	{ "received", received_test },
	{ }
};

/* smc_clcsock: print the names of all tests; smc_clcsock NAME: run one of them */
int main(int argc, char **argv)
{
	static const struct ends_test *const lists[] = { tests, NULL };

	smc = tl_proto_find("smc");
	tcp = tl_proto_find("inet");
	return ends_main(argc, argv, lists, NULL);
}
