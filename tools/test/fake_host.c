// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake host for tests of smcctl, a library preloaded into it: everything but netlink. It provides
 * the names of network devices. Settings in the environment:
 *   FAKE_PROC     folder with the files of the module in /proc, and the RNICs and netdevs in
 *                 /sys; its folder pids, if there is one, has the processes
 *   FAKE_NETNS    folder with self, 1, 2, ... for /proc/PID/ns/net, and names for /run/netns. A
 *                 file is a namespace, the word in it what FAKE_NL becomes there; "gone": setns()
 *                 finds that there is none any more; "reaped": open() finds no process any more
 *   FAKE_SETNS    errno of setns()
 *   FAKE_COOKIE   cookie of the namespace, which the groups of fake_netlink.c have: 1 by default
 *   FAKE_FAMILY   AF_SMC sockets exist; they are TCP sockets
 *   FAKE_CONNECT  errno of connect(), 0: success
 *   FAKE_NETDEV   name of all netdevs
 *   FAKE_LO       name of the netdev that is lo otherwise, the one of the port in fake_netlink.c
 *   FAKE_SETTING  errno of writing a setting
 *   FAKE_CLOCK    the clock advances only in nanosleep()
 */
#define _GNU_SOURCE
#include "smc_tools.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NET "/proc/net/"
#define STAT NET "smc_"
#define SYS "/proc/sys/net/smc/"
#define IB "/sys/class/infiniband"
#define NETDEVS "/sys/class/net/"
#define MODULE "/sys/module/smc/"
#define PROC "/proc"
#define NETNS "/run/netns"
#define FAMILY_SMC 43

FILE *fake_fopen(const char *path, const char *mode) __asm__("fopen") SMC_EXPORTED;
int fake_open(const char *path, int flags, ...) __asm__("open") SMC_EXPORTED;
int fake_setns(int fd, int type) __asm__("setns") SMC_EXPORTED;
int fake_scandir(const char *path, struct dirent ***list, int (*want)(const struct dirent *d),
		 int (*compare)(const struct dirent **a, const struct dirent **b))
	__asm__("scandir") SMC_EXPORTED;
DIR *fake_opendir(const char *path) __asm__("opendir") SMC_EXPORTED;
ssize_t fake_readlink(const char *path, char *buf, size_t size) __asm__("readlink") SMC_EXPORTED;
char *fake_indextoname(unsigned int index, char *name) __asm__("if_indextoname") SMC_EXPORTED;
int fake_socket(int domain, int type, int protocol) __asm__("socket") SMC_EXPORTED;
int fake_connect(int fd, const struct sockaddr *addr, socklen_t len)
	__asm__("connect") SMC_EXPORTED;
int fake_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
	__asm__("getsockopt") SMC_EXPORTED;
int fake_clock_gettime(clockid_t clock, struct timespec *now) __asm__("clock_gettime") SMC_EXPORTED;
int fake_nanosleep(const struct timespec *want, struct timespec *left)
	__asm__("nanosleep") SMC_EXPORTED;

static struct timespec fake_now = { .tv_sec = 1000 };

/* Translate a path to FAKE_PROC. Return other paths unchanged. */
static const char *path_translate(const char *path, char *own, size_t size)
{
	static const struct {
		const char *prefix;
		size_t cut;
	} places[] = {
		{ STAT, sizeof(NET) - 1 }, { SYS, sizeof("/proc/sys/") - 1 },
		{ IB, sizeof("/sys/class/") - 1 }, { MODULE, sizeof("/sys/module/") - 1 },
		{ NETDEVS, sizeof("/sys/class/") - 1 },
	};
	const char *dir = getenv("FAKE_PROC");
	size_t i;

	for (i = 0; dir && i < ARRAY_SIZE(places); i++) {
		if (strncmp(path, places[i].prefix, strlen(places[i].prefix)))
			continue;
		snprintf(own, size, "%s/%s", dir, path + places[i].cut);
		return own;
	}
	if (!dir || strncmp(path, PROC, strlen(PROC)) ||
	    (path[strlen(PROC)] && !isdigit((unsigned char)path[strlen(PROC) + 1])))
		return path;
	snprintf(own, size, "%s/pids", dir);
	if (access(own, F_OK))
		return path;
	snprintf(own, size, "%s/pids%s", dir, path + strlen(PROC));
	return own;
}

/* Translate the path of a network namespace to FAKE_NETNS. Return other paths unchanged. */
static const char *path_translate_netns(const char *path, char *own, size_t size)
{
	const char *dir = getenv("FAKE_NETNS");
	char pid[32];

	if (dir && !strncmp(path, NETNS, strlen(NETNS)))
		snprintf(own, size, "%s/names%s", dir, path + strlen(NETNS));
	else if (dir && sscanf(path, PROC "/%31[^/]/ns/net", pid) == 1)
		snprintf(own, size, "%s/%s", dir, pid);
	else
		return path;
	return own;
}

int fake_open(const char *path, int flags, ...)
{
	int (*real)(const char *path, int flags, ...);
	char own[4096], word[8] = "";
	va_list args;
	int mode = 0;
	int fd;

	*(void **)&real = dlsym(RTLD_NEXT, "open");
	if (flags & O_CREAT) {
		va_start(args, flags);
		mode = va_arg(args, int);
		va_end(args);
	}
	fd = real(path_translate_netns(path, own, sizeof(own)), flags, mode);
	if (fd < 0 || path_translate_netns(path, own, sizeof(own)) == path ||
	    pread(fd, word, sizeof(word) - 1, 0) < 0 || strncmp(word, "reaped", 6))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

int fake_scandir(const char *path, struct dirent ***list, int (*want)(const struct dirent *d),
		 int (*compare)(const struct dirent **a, const struct dirent **b))
{
	int (*real)(const char *path, struct dirent ***list, int (*want)(const struct dirent *d),
		    int (*compare)(const struct dirent **a, const struct dirent **b));
	char own[4096];

	*(void **)&real = dlsym(RTLD_NEXT, "scandir");
	return real(path_translate_netns(path, own, sizeof(own)), list, want, compare);
}

int fake_setns(int fd, int type)
{
	int (*real)(int fd, int type);
	const char *err = getenv("FAKE_SETNS");
	char kind[32];
	ssize_t n;

	*(void **)&real = dlsym(RTLD_NEXT, "setns");
	if (!getenv("FAKE_NETNS"))
		return real(fd, type);
	errno = err ? atoi(err) : 0;
	if (errno)
		return -1;
	n = pread(fd, kind, sizeof(kind) - 1, 0);
	kind[n > 0 ? n : 0] = '\0';
	kind[strcspn(kind, "\n")] = '\0';
	errno = EINVAL;
	if (!*kind || !strcmp(kind, "gone"))
		return -1;
	return setenv("FAKE_NL", kind, 1);
}

int fake_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	int (*real)(int fd, int level, int name, void *val, socklen_t *len);
	const char *text = getenv("FAKE_COOKIE");
	__u64 cookie = text ? strtoull(text, NULL, 10) : 1;

	*(void **)&real = dlsym(RTLD_NEXT, "getsockopt");
	if (level != SOL_SOCKET || name != SO_NETNS_COOKIE || *len != sizeof(cookie))
		return real(fd, level, name, val, len);
	memcpy(val, &cookie, sizeof(cookie));
	return 0;
}

ssize_t fake_readlink(const char *path, char *buf, size_t size)
{
	ssize_t (*real)(const char *path, char *buf, size_t size);
	char own[4096];

	*(void **)&real = dlsym(RTLD_NEXT, "readlink");
	return real(path_translate(path, own, sizeof(own)), buf, size);
}

static ssize_t setting_refuse(void *cookie, const char *buf, size_t size)
{
	(void)cookie;
	(void)buf;
	(void)size;
	errno = atoi(getenv("FAKE_SETTING"));
	return 0;
}

FILE *fake_fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode);
	bool set = !strncmp(path, SYS, strlen(SYS)) && *mode == 'r' && mode[1] == '+';
	char own[4096];
	FILE *f;

	*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	if (set && getenv("FAKE_SETTING"))
		return fopencookie(NULL, "w", (cookie_io_functions_t){ .write = setting_refuse });
	f = real(path_translate(path, own, sizeof(own)), mode);
	/* a value that is written is all of the new one */
	if (f && set && ftruncate(fileno(f), 0)) {
		fclose(f);
		return NULL;
	}
	return f;
}

DIR *fake_opendir(const char *path)
{
	DIR *(*real)(const char *path);
	char own[4096];

	*(void **)&real = dlsym(RTLD_NEXT, "opendir");
	return real(path_translate(path, own, sizeof(own)));
}

char *fake_indextoname(unsigned int index, char *name)
{
	static const char * const names[] = { [1] = "lo", [7] = "eth7", [8] = "eth0" };
	const char *own;

	if (index < ARRAY_SIZE(names) && names[index]) {
		own = index == 1 ? getenv("FAKE_LO") : NULL;
		if (!own)
			own = getenv("FAKE_NETDEV");
		snprintf(name, IF_NAMESIZE, "%s", own ? own : names[index]);
		return name;
	}
	errno = ENXIO;
	return NULL;
}

int fake_socket(int domain, int type, int protocol)
{
	int (*real)(int domain, int type, int protocol);

	*(void **)&real = dlsym(RTLD_NEXT, "socket");
	if (domain != FAMILY_SMC || !getenv("FAKE_FAMILY"))
		return real(domain, type, protocol);
	return real(protocol ? AF_INET6 : AF_INET, type, 0);
}

int fake_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int (*real)(int fd, const struct sockaddr *addr, socklen_t len);
	const char *err = getenv("FAKE_CONNECT");

	*(void **)&real = dlsym(RTLD_NEXT, "connect");
	if (!err || addr->sa_family == AF_UNIX)
		return real(fd, addr, len);
	errno = atoi(err);
	return errno ? -1 : 0;
}

int fake_clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*real)(clockid_t clock, struct timespec *now);

	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	if (!getenv("FAKE_CLOCK"))
		return real(clock, now);
	*now = fake_now;
	return 0;
}

int fake_nanosleep(const struct timespec *want, struct timespec *left)
{
	int (*real)(const struct timespec *want, struct timespec *left);

	*(void **)&real = dlsym(RTLD_NEXT, "nanosleep");
	if (!getenv("FAKE_CLOCK"))
		return real(want, left);
	fake_now.tv_sec += want->tv_sec;
	fake_now.tv_nsec += want->tv_nsec;
	fake_now.tv_sec += fake_now.tv_nsec / 1000000000;
	fake_now.tv_nsec %= 1000000000;
	return 0;
}
