// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP connection under an SMC socket: what becomes of the stream when it ends, and who
 * it belongs to - filters, marks, users, control groups and their limits take it for a TCP
 * socket of the same process. Each is tried with an ordinary TCP socket, too.
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

/* ---- how the carrier ends ---- */

/* After a second of silence, and given up after three more. */
static void ask_keepalive(int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* What becomes of the TCP packets that arrive at the server. */
static void treat(const char *verdict)
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

	treat("reject with tcp reset");
	ask_keepalive(p.fd[ENDS_CLIENT]);
	for (int i = 0; i < ENDS_NR; i++) {
		ends_check(ends_something(p.fd[i], 0, 5000), "end %d is told", i);
		ends_check(ends_error(p.fd[i]) == ECONNRESET, "ECONNRESET at %d", i);
	}
}

/* TCP's packets are lost, the link is well. */
static void timed_out(void)
{
	int waiting = ends_listen(smc, PORT);
	struct ends_pair p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	struct tl_addr name = { .len = sizeof(name.ss) };
	long written, before = timeouts();
	char c;

	treat("drop");
	ask_keepalive(p.fd[ENDS_CLIENT]);
	ends_check(!ends_something(p.fd[ENDS_CLIENT], POLLIN, 10000), "nothing happens");
	ends_check(timeouts() == before + 1, "the carrier has timed out");
	written = ends_stat(ENDS_CLIENT, "tx_write_bytes");
	for (int i = 0; i < 100; i++)
		ends_check(ends_ping(&p), "the stream goes on");
	ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") - written >= 100, "by RDMA");
	ends_check(!getpeername(p.fd[ENDS_CLIENT], &name.sa, &name.len) &&
		   tl_addr_port(&name) == PORT, "getpeername()");
	ends_check(!ends_error(p.fd[ENDS_CLIENT]), "no error");
	close(p.fd[ENDS_CLIENT]);
	ends_check(ends_something(p.fd[ENDS_SERVER], POLLIN, 1000) &&
		   !recv(p.fd[ENDS_SERVER], &c, 1, 0), "EOF in the end");
}

/* Nothing arrives: SO_KEEPALIVE finds out, although TEST LINK has an hour. */
static void timed_out_dead(void)
{
	struct ends_pair p;
	int waiting;

	for (int i = 0; i < ENDS_NR; i++)
		ends_run(i, "sysctl -q -w net.smc.smcr_testlink_time=3600");
	waiting = ends_listen(smc, PORT);
	p = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	ask_keepalive(p.fd[ENDS_CLIENT]);
	ends_cut_cable();
	ends_check(ends_something(p.fd[ENDS_CLIENT], 0, 4000 + 1500), "the end is noticed");
	ends_check(ends_error(p.fd[ENDS_CLIENT]) == ETIMEDOUT, "ETIMEDOUT");
}

/* SOCK_DESTROY of one end: that one hears ECONNABORTED, the other one a reset. */
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

			ends_check(ends_something(pair.fd[k], 0, 5000), "%s, end %d: told of it",
				   p->name, k);
			err = ends_error(pair.fd[k]);
			ends_check(err == want[k], "%s, SOCK_DESTROY at %d, end %d: %s", p->name,
				   where, k, tl_errno_name(err));
			close(pair.fd[k]);
		}
		close(waiting);
	}
}

/* A process that sleeps in accept(); it exits with the errno. */
static pid_t accepting(int waiting)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(accept(waiting, NULL, NULL) < 0 ? errno : 0);
}

/* What it exited with, -1: it still sleeps. */
static int accepted(pid_t pid, unsigned int msec)
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
 * struct destroyed - what becomes of a listener by SOCK_DESTROY
 * @accept: errno of an accept() that sleeps
 * @again: of one that comes later
 * @events: of poll()
 * @error: SO_ERROR
 * @queued: of a connection that waited to be accepted
 * @anew: listen() once more
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
	pid = accepting(waiting);
	tl_sleep_ms(200);
	ends_run(ENDS_SERVER, "/usr/sbin/ss -K -ltn '( sport = :%u or sport = :%u )'", PORT,
		 PORT + 1);
	d.accept = accepted(pid, 5000);
	ends_something(fd, 0, 5000);
	d.queued = ends_error(fd);
	close(fd);
	ends_something(idle, 0, 5000);
	tl_set_nonblock(idle, true);
	d.again = accept(idle, NULL, NULL) < 0 ? errno : 0;
	poll(&pfd, 1, 0);
	d.events = pfd.revents;
	d.error = ends_error(waiting);
	/* what TCP accepts from then on has been shut down, and so is of no use */
	d.anew = listen(waiting, 8) ? errno : 0;
	close(waiting);
	close(idle);
	printf("# %s: accept %s, later %s, poll %x, SO_ERROR %s, queued %s\n", p->name,
	       d.accept < 0 ? "sleeps" : tl_errno_name(d.accept), tl_errno_name(d.again), d.events,
	       tl_errno_name(d.error), tl_errno_name(d.queued));
	return d;
}

/* SOCK_DESTROY of a listener: accept() and poll() tell what TCP's tell. */
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

/* ---- whose it is ---- */

/* Runs @fn in a process of its own, in a control group and as a user; true if it returns so. */
static bool as(const char *cgroup, uid_t uid, bool (*fn)(void *arg), void *arg)
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

static bool connects_marked(void *arg)
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
 * Output filters by user and by mark, of the connecting process and of a listener that has
 * a mark: what they find for SMC they find for TCP.
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
		ends_check(as(NULL, USER, connects_marked, &c[k]), "%s connects", c[k].proto->name);
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

#define SYS_CGROUPS	"/sys/fs/cgroup"	/* where nft looks for them */

/*
 * The same by control group: of the process that connects, and of one that made a listener and
 * is of another group when it accepts.
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
		ends_check(as(cgroups[0], 0, connects_marked, &c[k]), "%s connects",
			   c[k].proto->name);
		fd = accept(waiting, NULL, NULL);
		close(fd);
		tl_sleep_ms(100);
		close(waiting);
		ends_check(packets_of(ENDS_CLIENT, names[0]) - before[0] >= 2, "%s: the client's",
			   c[k].proto->name);
		/* a SYN-ACK has no owner yet, a FIN has */
		ends_check(packets_of(ENDS_SERVER, names[1]) - before[1] >= 1, "%s: the server's",
			   c[k].proto->name);
	}
}

/* ---- BPF programs of a control group ---- */

/* A program that says no. */
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

static void refuse(const char *cgroup, enum bpf_prog_type type, enum bpf_attach_type attach,
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
 * A listener made in a control group: its children are of that group, wherever the process
 * is that accepts them.
 */
static bool refused_option(const struct tl_proto *proto, const char *cgroup)
{
	int waiting, fd, c, on = 1, rc;

	ends_put(cgroup, "cgroup.procs", "0");
	waiting = ends_listen(proto, PORT);
	ends_put(CGROUPS, "cgroup.procs", "0");
	c = ends_connect(proto, PORT);
	fd = accept(waiting, NULL, NULL);
	refuse(cgroup, BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, true);
	rc = setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ? errno : 0;
	refuse(cgroup, BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, false);
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

		refuse(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, true);
		ends_check(as(cgroup, 0, refused_connect, p), "%s: connect() is refused", p->name);
		fd = ends_connect(p, PORT);
		ends_check(fd >= 0, "%s: outside it is not", p->name);
		refuse(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, false);
		refuse(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, true);
		ends_check(as(cgroup, 0, refused_bind, p), "%s: bind() is refused", p->name);
		refuse(cgroup, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, false);
		close(fd);
		close(waiting);
		ends_check(refused_option(p, cgroup), "%s: accepted ones are the listener's",
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

/* Whoever makes a socket is charged for it and its children. */
static void serve(void)
{
	int waiting = ends_listen(smc, PORT + 1), fd;
	char c;

	while ((fd = accept(waiting, NULL, NULL)) >= 0) {
		if (recv(fd, &c, 1, 0) == 1)
			send(fd, &c, 1, MSG_NOSIGNAL);
		close(fd);
	}
}

/* One byte to and fro; what the connection was. */
static struct tl_diag exchange(void)
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

/* At its limit a group's connections are TCP and nobody is killed; else it is charged. */
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
		serve();
		_exit(1);
	}
	tl_sleep_ms(500);
	set_limit(cgroup, group_value(cgroup, "memory.current", NULL) + (384 << 10));
	diag = exchange();
	ends_check(diag.mode == TL_MODE_TCP && diag.peer_reason == NO_MEMORY,
		   "TCP for want of memory: %s %08x/%08x", tl_mode_name(diag.mode), diag.reason,
		   diag.peer_reason);
	ends_check(!group_value(cgroup, "memory.events", "oom_kill"), "nobody is killed");
	charged = group_value(cgroup, "memory.current", NULL);
	set_limit(cgroup, 0);
	diag = exchange();
	ends_check(diag.mode == TL_MODE_SMCR, "SMC without a limit: %08x/%08x", diag.reason,
		   diag.peer_reason);
	charged = group_value(cgroup, "memory.current", NULL) - charged;
	printf("# %ld KiB charged\n", charged >> 10);
	/* four elements of 512 KiB; the attempt before may still have some of its own */
	ends_check(charged >= 1536 << 10, "RMBs and rings are charged");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A listener of the group, whose children are accepted only later, and never read. */
static void hoard(const struct tl_proto *p, int tell)
{
	int waiting = ends_listen(p, PORT + 2);
	char c = 'l';

	if (waiting < 0 || write(tell, &c, 1) != 1)
		_exit(1);
	tl_sleep_ms(1000);
	while (accept(waiting, NULL, NULL) >= 0)
		;
	_exit(1);
}

/* KiB of TCP's memory that the group has of connections whose bytes nobody reads. */
static long received_kib(const struct tl_proto *p, const char *cgroup)
{
	long kib;
	int told[2], fd[4];
	pid_t pid;
	char c;

	if (pipe(told))
		ends_die("pipe");
	pid = fork();
	if (!pid) {
		ends_put(cgroup, "cgroup.procs", "0");
		hoard(p, told[1]);
	}
	ends_check(read(told[0], &c, 1) == 1, "%s: a listener", p->name);
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
	close(told[0]);
	close(told[1]);
	return kib;
}

/* What a group's connections over TCP have received is the group's, in the end nothing. */
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
	ends_check(of_smc >= of_tcp / 2, "and so do we");
	/* statistics are gathered every other second */
	for (int i = 0; i < 100 && left; i++) {
		left = group_value(cgroup, "memory.stat", "sock");
		tl_sleep_ms(100);
	}
	ends_check(!left, "%ld bytes stay", left);
}

static const struct ends_test tests[] = {
	{ "reset", reset_test },
	{ "timed_out", timed_out },
	{ "timed_out_dead", timed_out_dead },
	{ "destroyed", destroyed },
	{ "destroyed_listener", destroyed_listener },
	{ "by_cgroup", by_cgroup },
	{ "filtered", filtered },
	{ "hooks", hooks_test },
	{ "memory", memory_test },
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
