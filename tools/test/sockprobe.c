// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test program with TCP sockets: performs the steps in its arguments and prints their results.
 *
 * Each argument is a step, "name,arg,arg". Steps use the current socket; "other" exchanges it with
 * a second one. The first step that fails prints "name: reason" and ends the program with status 1.
 * With "try,name,..." the program prints the failure (except a connect that is refused or in
 * progress, as expected if nothing listens) and continues.
 */
#define _GNU_SOURCE
#include "smc_tools.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 8
#define EPOLL_COOKIE 0x1122334455667788ULL
#define NUM_THREADS 8
#define SOCKETS_PER_THREAD 200

static int cur = -1, other = -1, epfd = -1;
static in_port_t server_port;

struct step {
	const char *name;
	int (*run)(int argc, char **argv);
};

static int sock_get_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int v = -1;

	if (getsockopt(fd, level, name, &v, &len))
		return -errno;
	return v;
}

/*
 * Return the kind of a socket, as the kernel or the fake kernel reports it, bypassing the library:
 * 0 and 1: AF_SMC, 2 and 3: IPPROTO_SMC, -1: not an SMC socket.
 */
static int sock_get_kernel_protocol(int fd)
{
	socklen_t len = sizeof(int);
	int (*fake)(int fd);
	int v = 0, domain = 0;

	*(void **)&fake = dlsym(RTLD_DEFAULT, "fake_smc_protocol");
	if (fake)
		return fake(fd);
	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		return -1;
	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &v, &len))
		return -1;
	if (domain == 43)
		return v;
	return v == 256 ? 2 + (domain == AF_INET6) : -1;
}

/* new,4|6[,nonblock][,cloexec][,proto=N][,dgram] */
static int step_new(int argc, char **argv)
{
	int domain = argc > 1 && !strcmp(argv[1], "6") ? AF_INET6 : AF_INET;
	int type = SOCK_STREAM, flags = 0, protocol = 0, i;

	for (i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "nonblock"))
			flags |= SOCK_NONBLOCK;
		else if (!strcmp(argv[i], "cloexec"))
			flags |= SOCK_CLOEXEC;
		else if (!strcmp(argv[i], "dgram"))
			type = SOCK_DGRAM;
		else if (!strncmp(argv[i], "proto=", 6))
			protocol = atoi(argv[i] + 6);
	}
	errno = 77;
	cur = socket(domain, type | flags, protocol);
	if (cur >= 0 && errno != 77) {
		printf("errno became %d\n", errno);
		return -1;
	}
	return cur < 0 ? -1 : 0;
}

static int step_show(int argc, char **argv)
{
	static const char *const names[] = { "tcp", "smc0", "smc1", "ipproto", "ipproto6" };
	const char *kernel = names[1 + sock_get_kernel_protocol(cur)];

	(void)argc;
	(void)argv;
	printf("%s domain=%d protocol=%d nonblock=%d cloexec=%d\n", kernel,
	       sock_get_option(cur, SOL_SOCKET, SO_DOMAIN),
	       sock_get_option(cur, SOL_SOCKET, SO_PROTOCOL),
	       !!(fcntl(cur, F_GETFL) & O_NONBLOCK), !!(fcntl(cur, F_GETFD) & FD_CLOEXEC));
	return 0;
}

static int step_mode(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts(sock_get_kernel_protocol(cur) >= 0 ? "smc" : "tcp");
	return 0;
}

/* Pass a buffer shorter than an int: the result is cut, the bytes behind it do not change. */
static int step_shortopt(int argc, char **argv)
{
	unsigned char buf[4] = { 0xee, 0xee, 0xee, 0xee };
	socklen_t len = 1;

	(void)argc;
	(void)argv;
	if (getsockopt(cur, SOL_SOCKET, SO_DOMAIN, buf, &len))
		return -1;
	printf("%u %02x%02x%02x%02x\n", len, buf[0], buf[1], buf[2], buf[3]);
	return 0;
}

static socklen_t addr_make(struct sockaddr_storage *ss, const char *text, const char *port)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
	in_port_t n = *port == '@' ? server_port : htons(atoi(port));

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = n;
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		exit(99);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = n;
	return sizeof(*v6);
}

static int step_bind(int argc, char **argv)
{
	struct sockaddr_storage ss;

	return argc < 3 ? -1 : bind(cur, (void *)&ss, addr_make(&ss, argv[1], argv[2]));
}

static int step_connect(int argc, char **argv)
{
	struct sockaddr_storage ss;

	return argc < 3 ? -1 : connect(cur, (void *)&ss, addr_make(&ss, argv[1], argv[2]));
}

static int step_listen(int argc, char **argv)
{
	struct sockaddr_in6 local;
	socklen_t len = sizeof(local);

	(void)argc;
	(void)argv;
	if (listen(cur, 16) || getsockname(cur, (struct sockaddr *)&local, &len))
		return -1;
	/* sin_port has the same offset */
	server_port = local.sin6_port;
	return 0;
}

static int step_accept(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cur = accept4(cur, NULL, NULL, SOCK_CLOEXEC);
	return cur < 0 ? -1 : 0;
}

/* pairs,N: connections of the current, listening socket, one after the other */
static int step_pairs(int argc, char **argv)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int n, from, to;

	if (argc < 2 || getsockname(cur, (void *)&ss, &len))
		return -1;
	for (n = atoi(argv[1]); n > 0; n--) {
		from = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (from < 0 || connect(from, (void *)&ss, len))
			return -1;
		to = accept4(cur, NULL, NULL, SOCK_CLOEXEC);
		if (to < 0 || close(to) || close(from))
			return -1;
	}
	return 0;
}

static int step_other(int argc, char **argv)
{
	int tmp = cur;

	(void)argc;
	(void)argv;
	cur = other;
	other = tmp;
	return 0;
}

static int step_dup(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cur = dup(cur);
	return cur < 0 ? -1 : 0;
}

/* Keep a duplicate open, continue with the current descriptor. */
static int step_dupkeep(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return dup(cur) < 0 ? -1 : 0;
}

/* close[,fclose|dup2|dup3|close_range|closefrom|vfork]: vfork: by a child, which has it, too */
static int step_close(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "close";
	int null;

	if (!strcmp(how, "close"))
		return close(cur);
	if (!strcmp(how, "fclose"))
		return fclose(fdopen(cur, "r+"));
	if (!strcmp(how, "close_range"))
		return close_range(cur, cur, 0);
	if (!strcmp(how, "closefrom")) {
		closefrom(cur);
		return 0;
	}
	if (!strcmp(how, "vfork")) {
		if (!vfork()) {
			close(cur);
			_exit(0);
		}
		return wait(NULL) < 0;
	}
	null = open("/dev/null", O_RDWR);
	if (!strcmp(how, "dup2"))
		return dup2(null, cur) < 0;
	return strcmp(how, "dup3") || dup3(null, cur, O_CLOEXEC) < 0;
}

/* set,LEVEL,NAME,VALUE */
static int step_set(int argc, char **argv)
{
	int v;

	if (argc < 4)
		return -1;
	v = atoi(argv[3]);
	return setsockopt(cur, atoi(argv[1]), atoi(argv[2]), &v, sizeof(v));
}

static int step_get(int argc, char **argv)
{
	if (argc < 3)
		return -1;
	printf("%d\n", sock_get_option(cur, atoi(argv[1]), atoi(argv[2])));
	return 0;
}

static int step_timeout(int argc, char **argv)
{
	struct timeval tv = { .tv_sec = argc > 1 ? atoi(argv[1]) : 0 };

	return setsockopt(cur, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static int step_gettimeout(int argc, char **argv)
{
	struct timeval tv;
	socklen_t len = sizeof(tv);

	(void)argc;
	(void)argv;
	if (getsockopt(cur, SOL_SOCKET, SO_RCVTIMEO, &tv, &len))
		return -1;
	printf("%ld\n", (long)tv.tv_sec);
	return 0;
}

static int step_epoll(int argc, char **argv)
{
	struct epoll_event ev = { .events = EPOLLOUT, .data.u64 = EPOLL_COOKIE };

	(void)argc;
	(void)argv;
	epfd = epoll_create1(EPOLL_CLOEXEC);
	return epfd < 0 ? -1 : epoll_ctl(epfd, EPOLL_CTL_ADD, cur, &ev);
}

static int step_wait(int argc, char **argv)
{
	struct epoll_event ev = { 0 };
	int n = epoll_wait(epfd, &ev, 1, 3000);

	(void)argc;
	(void)argv;
	if (n < 0)
		return -1;
	printf("%d writable=%d cookie=%d\n", n, ev.events == EPOLLOUT,
	       ev.data.u64 == EPOLL_COOKIE);
	return 0;
}

static int step_localport(int argc, char **argv)
{
	struct sockaddr_in6 local;
	socklen_t len = sizeof(local);

	(void)argc;
	(void)argv;
	if (getsockname(cur, (struct sockaddr *)&local, &len))
		return -1;
	printf("%d\n", ntohs(local.sin6_port));
	return 0;
}

/* keepport: remember the local port; keepport,check: compare with the remembered port */
static in_port_t kept_port;

static int step_keepport(int argc, char **argv)
{
	struct sockaddr_in6 local;
	socklen_t len = sizeof(local);

	(void)argv;
	if (getsockname(cur, (struct sockaddr *)&local, &len))
		return -1;
	if (argc > 1)
		puts(kept_port && kept_port == local.sin6_port ? "same port" : "port changed");
	kept_port = local.sin6_port;
	return 0;
}

static int step_send(int argc, char **argv)
{
	if (argc < 2)
		return -1;
	return send(cur, argv[1], strlen(argv[1]), 0) == (ssize_t)strlen(argv[1]) ? 0 : -1;
}

static int step_recv(int argc, char **argv)
{
	char buf[256];
	ssize_t n = recv(cur, buf, sizeof(buf), 0);

	(void)argc;
	(void)argv;
	if (n < 0)
		return -1;
	printf("%.*s\n", (int)n, buf);
	return 0;
}

/* Continue in the child; the parent returns its exit status. */
static int step_fork(int argc, char **argv)
{
	int status;
	pid_t pid;

	(void)argc;
	(void)argv;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		return 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
}

static void *thread_open_sockets(void *arg)
{
	int i, *bad = arg;

	for (i = 0; i < SOCKETS_PER_THREAD; i++) {
		int fd = socket(i & 1 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
		int want = i & 1 ? AF_INET6 : AF_INET;

		if (fd < 0 || sock_get_option(fd, SOL_SOCKET, SO_DOMAIN) != want)
			(*bad)++;
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

static int step_threads(int argc, char **argv)
{
	pthread_t threads[NUM_THREADS];
	int bad[NUM_THREADS] = { 0 };
	int i, sum = 0;

	(void)argc;
	(void)argv;
	for (i = 0; i < NUM_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, thread_open_sockets, &bad[i]))
			return -1;
	}
	for (i = 0; i < NUM_THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += bad[i];
	}
	printf("%d bad\n", sum);
	return 0;
}

/* Like a daemon, reopen descriptor 2 as a file, which must not get messages. */
static int step_stderr_to(int argc, char **argv)
{
	int fd;

	if (argc < 2)
		return -1;
	close(STDERR_FILENO);
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return fd == STDERR_FILENO ? 0 : -1;
}

/* file,PATH: waits until the file exists, one minute at most */
static int step_file(int argc, char **argv)
{
	int i;

	fflush(stdout);
	for (i = 0; argc > 1 && i < 600; i++) {
		if (access(argv[1], F_OK) == 0)
			return 0;
		usleep(100000);
	}
	return -1;
}

/* maxfiles,N: at most N descriptors from now on */
static int step_maxfiles(int argc, char **argv)
{
	struct rlimit limit = { 0 };

	if (argc < 2)
		return -1;
	limit.rlim_cur = atoi(argv[1]);
	limit.rlim_max = limit.rlim_cur;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

static const struct step steps[] = {
	{ "new", step_new }, { "show", step_show }, { "mode", step_mode },
	{ "shortopt", step_shortopt }, { "bind", step_bind }, { "connect", step_connect },
	{ "listen", step_listen }, { "accept", step_accept }, { "other", step_other },
	{ "pairs", step_pairs },
	{ "dup", step_dup }, { "dupkeep", step_dupkeep },
	{ "close", step_close }, { "set", step_set }, { "get", step_get },
	{ "timeout", step_timeout }, { "gettimeout", step_gettimeout },
	{ "epoll", step_epoll }, { "wait", step_wait }, { "localport", step_localport },
	{ "keepport", step_keepport }, { "send", step_send }, { "recv", step_recv },
	{ "fork", step_fork }, { "threads", step_threads }, { "stderr", step_stderr_to },
	{ "maxfiles", step_maxfiles }, { "file", step_file },
};

static int step_run(char *text)
{
	bool may_fail = !strncmp(text, "try,", 4);
	char *argv[MAX_ARGS];
	int argc = 0;
	size_t i;

	if (may_fail)
		text += 4;
	while (argc < MAX_ARGS && (argv[argc] = strsep(&text, ",")))
		argc++;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		if (strcmp(steps[i].name, argv[0]))
			continue;
		if (steps[i].run(argc, argv) == 0)
			return 0;
		if (!may_fail || (errno != ECONNREFUSED && errno != EINPROGRESS))
			printf("%s: %s\n", argv[0], strerror(errno));
		return may_fail ? 0 : 1;
	}
	printf("no step %s\n", argv[0]);
	return 99;
}

int main(int argc, char **argv)
{
	int i, rc = 0;

	for (i = 1; i < argc && !rc; i++)
		rc = step_run(argv[i]);
	return rc;
}
