// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user whose memory never arrives: many threads of one process sleep in system calls that read or
 * write a page which a userfaultfd withholds, while they hold the locks of their sockets. Then work
 * for these sockets is queued. The script of the case checks that other users do not notice.
 * Documentation/locking.rst lists the calls.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/userfaultfd.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/testlib.h"

#define USER		1001
#define MAX		512
#define PATIENCE_MS	60000	/* until all calls sleep, and until their work is queued */
#define STACK		(256 << 10)
#define RING		16384

static void die(const char *what)
{
	fprintf(stderr, "smc_user: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- pages that never arrive ---- */

static int faults;		/* the userfaultfd */
static char *pages;
static size_t page_size;

/* Withhold @n pages. As root: only then the faults of system calls are held. */
static void pages_withhold(unsigned int n)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	page_size = sysconf(_SC_PAGESIZE);
	faults = syscall(__NR_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		die("userfaultfd");
	pages = mmap(NULL, n * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (pages == MAP_FAILED)
		die("mmap");
	reg.range.start = (unsigned long)pages;
	reg.range.len = n * page_size;
	if (ioctl(faults, UFFDIO_REGISTER, &reg))
		die("UFFDIO_REGISTER");
}

static char *page_of(unsigned int i)
{
	return pages + i * page_size;
}

/* Wait until @n calls have touched their pages; they get no answer. */
static void pages_await(unsigned int n)
{
	struct pollfd p = { .fd = faults, .events = POLLIN };
	struct uffd_msg msg;

	for (unsigned int i = 0; i < n; i++) {
		if (poll(&p, 1, PATIENCE_MS) != 1) {
			fprintf(stderr, "smc_user: only %u of %u calls sleep\n", i, n);
			exit(1);
		}
		if (read(faults, &msg, sizeof(msg)) != sizeof(msg) ||
		    msg.event != UFFD_EVENT_PAGEFAULT)
			die("read of the userfaultfd");
	}
}

/* ---- calls that sleep ---- */

/* Not SO_ATTACH_FILTER, whose nested pointer is the same: some kernels want a capability for it. */
enum call { CALL_REUSEPORT, CALL_LONG, CALL_SEND, CALL_RECV };

struct sleeper {
	enum call call;
	unsigned int i;
	int fd;
	struct tl_addr at;
	pthread_t thread;
	ssize_t rc;
};

static bool returning;	/* the pages arrive in the end */

static struct sleeper sleepers[MAX];

/* Never returns, if all is well and not returning. */
static void *sleeper_run(void *arg)
{
	struct sleeper *s = arg;
	struct sock_fprog prog = { .len = 1, .filter = (void *)page_of(s->i) };
	ssize_t rc = -1;

	switch (s->call) {
	case CALL_LONG:
		rc = setsockopt(s->fd, SOL_TCP, TCP_NODELAY, page_of(s->i), 1000);
		break;
	case CALL_REUSEPORT:
		rc = setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog));
		break;
	case CALL_SEND:
		rc = send(s->fd, page_of(s->i), 100, MSG_NOSIGNAL);
		break;
	case CALL_RECV:
		rc = recv(s->fd, page_of(s->i), 100, 0);
		break;
	}
	s->rc = rc;
	if (returning)
		return NULL;
	fprintf(stderr, "smc_user: call %d of thread %u returns %zd, %s\n", s->call, s->i, rc,
		strerror(errno));
	return NULL;
}

static void sleeper_start(unsigned int i, enum call call)
{
	pthread_attr_t attr;

	sleepers[i].call = call;
	sleepers[i].i = i;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	errno = pthread_create(&sleepers[i].thread, &attr, sleeper_run, &sleepers[i]);
	if (errno)
		die("pthread_create");
	pthread_attr_destroy(&attr);
}

/*
 * ---- places where a work may find the lock of a clcsock taken ----
 *
 * Not the handshake of a client: while a call holds the lock, TCP keeps the SYN-ACK in its backlog
 * and no handshake begins, and while a handshake runs the call waits (KUnit suite smc_clcsock).
 */

static const struct tl_proto *smc, *tcp;
static const char *server;
static unsigned int server_port;

static int listener(const struct tl_proto *p, struct tl_addr *at, int backlog)
{
	int fd;

	tl_addr_parse(at, p, "127.0.0.1", 0);
	fd = tl_listen(p, at, backlog);
	if (fd < 0) {
		errno = -fd;
		die("listen");
	}
	return fd;
}

static int smc_socket(void)
{
	int size = RING / 2, fd = tl_socket(smc, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		die("socket");
	return fd;
}

static void begin_connect(const struct tl_addr *to)
{
	int fd = tl_socket(tcp, SOCK_NONBLOCK);

	if (fd < 0 || (connect(fd, &to->sa, to->len) && errno != EINPROGRESS))
		die("connect");
}

/* Listeners whose program sleeps in setsockopt(), each with a client. */
static void place_accept(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		sleepers[i].fd = listener(smc, &sleepers[i].at, 16);
		sleeper_start(i, i % 2 ? CALL_LONG : CALL_REUSEPORT);
	}
	pages_await(n);
	for (unsigned int i = 0; i < n; i++)
		begin_connect(&sleepers[i].at);
}

static int smc_connection(const struct tl_addr *to)
{
	int fd = smc_socket();
	struct tl_diag d;

	if (connect(fd, &to->sa, to->len))
		die("connect to the server");
	if (tl_diag_get(fd, smc, &d) || d.mode != TL_MODE_SMCR) {
		fprintf(stderr, "smc_user: a connection is not SMC\n");
		exit(1);
	}
	return fd;
}

/* Connections over RDMA: their works send ACKs on the clcsock, and close it. */
static void place_conn(unsigned int n)
{
	struct tl_addr to;
	int one = 1;

	tl_addr_parse(&to, smc, server, server_port);
	for (unsigned int i = 0; i < n; i++) {
		sleepers[i].fd = smc_connection(&to);
		if (setsockopt(sleepers[i].fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) ||
		    setsockopt(sleepers[i].fd, SOL_TCP, TCP_KEEPIDLE, &one, sizeof(one)))
			die("SO_KEEPALIVE");
		sleeper_start(i, i % 2 ? CALL_SEND : CALL_REUSEPORT);
	}
	pages_await(n);
	/* one round of the works at least, see the case */
	tl_sleep_ms(3000);
}

/* Connections that fell back. */
static void place_fallen(unsigned int n)
{
	char some[100] = "";
	struct tl_addr at;
	int waiting = listener(tcp, &at, MAX), peer;

	for (unsigned int i = 0; i < n; i++) {
		bool reads = i % 2;

		sleepers[i].fd = smc_socket();
		if (connect(sleepers[i].fd, &at.sa, at.len))
			die("connect");
		peer = accept(waiting, NULL, NULL);
		if (peer < 0 || (reads && send(peer, some, sizeof(some), 0) != sizeof(some)))
			die("a peer");
		sleeper_start(i, reads ? CALL_RECV : CALL_SEND);
	}
	pages_await(n);
}

/*
 * The peer closes while send() copies from a page that arrives later. As on TCP the bytes are lost,
 * the call does not know, and the next one fails. SERVER is an address of this host, and
 * leads to it over RDMA.
 */
static void place_late(unsigned int n)
{
	int waiting, peers[MAX];
	struct tl_addr at;

	returning = true;
	tl_addr_parse(&at, smc, server, server_port);
	waiting = tl_listen(smc, &at, 16);
	if (waiting < 0)
		die("listen");
	for (unsigned int i = 0; i < n; i++) {
		sleepers[i].fd = smc_connection(&at);
		peers[i] = accept(waiting, NULL, NULL);
		if (peers[i] < 0)
			die("accept");
		sleeper_start(i, CALL_SEND);
	}
	pages_await(n);
	for (unsigned int i = 0; i < n; i++)
		close(peers[i]);
	tl_sleep_ms(1000);
	for (unsigned int i = 0; i < n; i++) {
		struct uffdio_zeropage zero = {
			.range = { (unsigned long)page_of(i), page_size },
		};

		if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
			die("UFFDIO_ZEROPAGE");
		pthread_join(sleepers[i].thread, NULL);
		tl_sleep_ms(100);
		if (sleepers[i].rc != 100 || send(sleepers[i].fd, "x", 1, MSG_NOSIGNAL) != -1 ||
		    errno != EPIPE) {
			fprintf(stderr, "smc_user: first send() %zd, the next one: %s\n",
				sleepers[i].rc, strerror(errno));
			exit(1);
		}
	}
}

static const struct {
	const char *name;
	void (*run)(unsigned int n);
} places[] = {
	{ "accept", place_accept },
	{ "conn", place_conn },
	{ "fallen", place_fallen },
	{ "late", place_late },
};

/* Become an ordinary user, who may have enough descriptors. */
static void user_become(void)
{
	struct rlimit files = { .rlim_cur = 4 * MAX, .rlim_max = 4 * MAX };

	if (setrlimit(RLIMIT_NOFILE, &files) || setgroups(0, NULL) || setgid(USER) || setuid(USER))
		die("the user");
}

/* smc_user PLACE NUMBER [SERVER PORT]: prints "stuck" when all is set up, then sleeps */
int main(int argc, char **argv)
{
	unsigned int n = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	if (argc > 4) {
		server = argv[3];
		server_port = strtoul(argv[4], NULL, 0);
	}
	smc = tl_proto_find("smc");
	tcp = tl_proto_find("inet");
	for (size_t i = 0; n && n <= MAX && i < TL_ARRAY_SIZE(places); i++) {
		if (strcmp(places[i].name, argv[1]))
			continue;
		pages_withhold(n);
		user_become();
		places[i].run(n);
		printf("stuck\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	fprintf(stderr, "usage: smc_user accept|conn|fallen|late 1..%u [SERVER PORT]\n", MAX);
	return 2;
}
