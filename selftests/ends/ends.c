// SPDX-License-Identifier: GPL-2.0-only
/* Both ends of a connection in one program: see ends.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ends.h"

static const char * const names[ENDS_NR] = { "s", "c" };
static int namespaces[ENDS_NR];
static unsigned int bad;

void ends_die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(2);
}

void ends_enter(enum ends_where where)
{
	if (setns(namespaces[where], CLONE_NEWNET))
		ends_die("setns");
}

static void open_ends(void)
{
	char path[64];

	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < ENDS_NR; i++) {
		snprintf(path, sizeof(path), "/run/netns/%s", names[i]);
		namespaces[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (namespaces[i] < 0)
			ends_die(path);
	}
	ends_enter(ENDS_CLIENT);
}

void ends_check(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return;
	printf("# failed: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	bad++;
}

int ends_main(int argc, char **argv, const struct ends_test *const *lists, void (*set_up)(void))
{
	for (; *lists; lists++) {
		for (const struct ends_test *t = *lists; t->name; t++) {
			if (argc < 2) {
				printf("%s\n", t->name);
			} else if (!strcmp(argv[1], t->name)) {
				open_ends();
				if (set_up)
					set_up();
				t->run();
				return !!bad;
			}
		}
	}
	return argc < 2 ? 0 : 2;
}

void ends_run(enum ends_where where, const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	ends_enter(where);
	if (system(cmd))
		ends_die(cmd);
	ends_enter(ENDS_CLIENT);
}

void ends_put(const char *folder, const char *file, const char *text)
{
	size_t n = strlen(text);
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		ends_die(path);
	close(fd);
}

long ends_number(const char *path, const char *name, unsigned int column)
{
	char line[128], *at, *word;
	long found = -1;
	FILE *f;

	f = fopen(path, "r");
	if (!f)
		ends_die(path);
	while (fgets(line, sizeof(line), f)) {
		word = strtok_r(line, " \t\n", &at);
		if (!word || strcmp(word, name))
			continue;
		for (unsigned int i = 1; i < column && word; i++)
			word = strtok_r(NULL, " \t\n", &at);
		if (word)
			found = atol(word);
	}
	fclose(f);
	if (found < 0) {
		errno = ENOENT;
		ends_die(name);
	}
	return found;
}

long ends_stat(enum ends_where where, const char *name)
{
	long n;

	ends_enter(where);
	n = ends_number("/proc/thread-self/net/smc_stat", name, 2);
	ends_enter(ENDS_CLIENT);
	return n;
}

void ends_upgrade(unsigned int bytes)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", bytes);
	for (int i = 0; i < ENDS_NR; i++) {
		ends_enter(i);
		ends_put("/proc/sys/net/smc", "upgrade_bytes", text);
	}
	ends_enter(ENDS_CLIENT);
}

void ends_cut_cable(void)
{
	ends_run(ENDS_CLIENT, "/usr/sbin/tc qdisc add dev vethc root netem loss 100%%");
}

void ends_mend_cable(void)
{
	ends_run(ENDS_CLIENT, "/usr/sbin/tc qdisc del dev vethc root");
}

int ends_listen(const struct tl_proto *proto, unsigned int port)
{
	struct tl_addr at;
	int fd;

	tl_addr_parse(&at, proto, ENDS_ADDR, port);
	ends_enter(ENDS_SERVER);
	fd = tl_listen(proto, &at, 64);
	ends_enter(ENDS_CLIENT);
	if (fd < 0)
		ends_die("listen");
	return fd;
}

int ends_connect(const struct tl_proto *proto, unsigned int port)
{
	struct tl_addr to;

	tl_addr_parse(&to, proto, ENDS_ADDR, port);
	return tl_connect(proto, NULL, &to);
}

bool ends_over(int fd, const struct tl_proto *proto, enum tl_mode mode)
{
	struct tl_diag diag = { .mode = proto->smc ? TL_MODE_UNKNOWN : TL_MODE_TCP };

	if (proto->smc)
		tl_diag_get(fd, proto, &diag);
	if (diag.mode != mode)
		printf("# mode %s, not %s: %08x/%08x\n", tl_mode_name(diag.mode),
		       tl_mode_name(mode), diag.reason, diag.peer_reason);
	return diag.mode == mode;
}

struct ends_pair ends_pair(const struct tl_proto *proto, int waiting, unsigned int port,
			   enum tl_mode mode)
{
	struct ends_pair p;

	p.fd[ENDS_CLIENT] = ends_connect(proto, port);
	if (p.fd[ENDS_CLIENT] < 0) {
		errno = -p.fd[ENDS_CLIENT];
		ends_die("connect");
	}
	p.fd[ENDS_SERVER] = accept4(waiting, NULL, NULL, SOCK_CLOEXEC);
	if (p.fd[ENDS_SERVER] < 0)
		ends_die("accept");
	if (mode != TL_MODE_UNKNOWN && !ends_over(p.fd[ENDS_CLIENT], proto, mode))
		exit(1);
	if (!ends_ping(&p))
		ends_die("ping");
	return p;
}

bool ends_ping(const struct ends_pair *p)
{
	char c = 'p';

	return send(p->fd[ENDS_CLIENT], &c, 1, MSG_NOSIGNAL) == 1 &&
	       recv(p->fd[ENDS_SERVER], &c, 1, 0) == 1 &&
	       send(p->fd[ENDS_SERVER], &c, 1, MSG_NOSIGNAL) == 1 &&
	       recv(p->fd[ENDS_CLIENT], &c, 1, 0) == 1;
}

bool ends_something(int fd, short events, unsigned int msec)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, msec) > 0;
}

u64 ends_fill(int fd, u64 seed)
{
	static u8 buf[64 << 10];
	u64 off = 0;
	ssize_t n;

	/* a probe of TCP's closed window may find more room */
	do {
		tl_fill(seed, off, buf, sizeof(buf));
		n = send(fd, buf, sizeof(buf), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			off += n;
	} while (n > 0 || ends_something(fd, POLLOUT, 500));
	return off;
}

int ends_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}
