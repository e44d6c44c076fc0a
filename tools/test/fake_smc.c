// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake kernel with SMC for tests of libsmc_preload.so, a library preloaded behind it.
 *
 * An SMC socket is a TCP socket whose inode is remembered; SO_DOMAIN and SO_PROTOCOL return the
 * values of a kernel with AF_SMC and IPPROTO_SMC. Settings in the environment:
 *   FAKE_SMC_ERRNO      errno of socket(AF_SMC)
 *   FAKE_IPPROTO_ERRNO  errno of socket(..., IPPROTO_SMC)
 *   FAKE_SMC_LOG        file that gets a line per call
 *   FAKE_SMC_MAXBUF     value of net.core.?mem_max
 *   FAKE_SMC_OLD        the kernel refuses SO_ZEROCOPY to SMC sockets; "own": the module has
 *                       SMC_OWN_ZEROCOPY
 */
#define _GNU_SOURCE
#include "smc_tools.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAKE_AF_SMC 43
#define FAKE_IPPROTO_SMC 256
#define FAKE_SOL_SMC 286
#define FAKE_OWN_ZEROCOPY 129
#define MAX_SOCKETS 4096

int fake_socket(int domain, int type, int protocol) __asm__("socket") SMC_EXPORTED;
int fake_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
	__asm__("accept4") SMC_EXPORTED;
int fake_accept(int fd, struct sockaddr *addr, socklen_t *len) __asm__("accept") SMC_EXPORTED;
int fake_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
	__asm__("getsockopt") SMC_EXPORTED;
int fake_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
	__asm__("setsockopt") SMC_EXPORTED;
int fake_smc_protocol(int fd) __asm__("fake_smc_protocol") SMC_EXPORTED;

/* Inode * 4 + (IPPROTO_SMC) * 2 + (IPv6); an inode is reused only after its socket is gone */
static atomic_ulong known[MAX_SOCKETS];

static void *symbol_find_next(const char *name)
{
	void *sym = dlsym(RTLD_NEXT, name);

	if (!sym)
		abort();
	return sym;
}

static void log_write(const char *fmt, int a, int b, int c)
{
	const char *path = getenv("FAKE_SMC_LOG");
	char line[128];
	int fd, len;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		abort();
	len = snprintf(line, sizeof(line), fmt, a, b, c);
	if (write(fd, line, len) != len)
		abort();
	close(fd);
}

static atomic_ulong *entry_find(int fd, int want_free)
{
	struct stat st;
	size_t i;

	if (fstat(fd, &st))
		return NULL;
	for (i = 0; i < MAX_SOCKETS; i++) {
		unsigned long v = atomic_load(&known[i]);

		if (v / 4 == st.st_ino)
			return &known[i];
	}
	for (i = 0; want_free && i < MAX_SOCKETS; i++) {
		unsigned long none = 0;

		if (atomic_compare_exchange_strong(&known[i], &none, st.st_ino * 4))
			return &known[i];
	}
	return NULL;
}

int fake_smc_protocol(int fd)
{
	atomic_ulong *entry = entry_find(fd, 0);

	/* 0 and 1: AF_SMC; 2 and 3: IPPROTO_SMC. An entry of 0 is free */
	return entry ? (int)(atomic_load(entry) & 3) : -1;
}

static void sock_remember(int fd, int protocol)
{
	atomic_ulong *entry = entry_find(fd, 1);
	struct stat st;

	if (!entry || fstat(fd, &st))
		abort();
	atomic_store(entry, st.st_ino * 4 + (unsigned long)protocol);
}

static void sock_forget(int fd)
{
	atomic_ulong *entry = entry_find(fd, 0);

	if (entry)
		atomic_store(entry, 0);
}

int fake_socket(int domain, int type, int protocol)
{
	int (*real)(int domain, int type, int protocol);
	int ipproto = domain != FAKE_AF_SMC;
	const char *err = getenv(ipproto ? "FAKE_IPPROTO_ERRNO" : "FAKE_SMC_ERRNO");
	int fd, ipv6;

	*(void **)&real = symbol_find_next("socket");
	log_write("socket %d %d %d\n", domain, type, protocol);
	if (ipproto && protocol != FAKE_IPPROTO_SMC) {
		fd = real(domain, type, protocol);
		if (fd >= 0)
			sock_forget(fd);
		return fd;
	}
	if (err) {
		errno = atoi(err);
		return -1;
	}
	ipv6 = ipproto ? domain == AF_INET6 : protocol;
	fd = real(ipv6 ? AF_INET6 : AF_INET, type, IPPROTO_TCP);
	if (fd >= 0)
		sock_remember(fd, ipproto * 2 + ipv6);
	return fd;
}

int fake_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	int (*real)(int fd, struct sockaddr *addr, socklen_t *len, int flags);
	int child;

	*(void **)&real = symbol_find_next("accept4");
	child = real(fd, addr, len, flags);
	if (child >= 0) {
		sock_forget(child);
		if (fake_smc_protocol(fd) >= 0)
			sock_remember(child, fake_smc_protocol(fd));
	}
	return child;
}

int fake_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return fake_accept4(fd, addr, len, 0);
}

int fake_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	int (*real)(int fd, int level, int name, void *val, socklen_t *len);
	int protocol = fake_smc_protocol(fd);
	int rc;

	*(void **)&real = symbol_find_next("getsockopt");
	rc = real(fd, level, name, val, len);
	if (rc || protocol < 0 || level != SOL_SOCKET || *len < sizeof(int))
		return rc;
	if (name == SO_DOMAIN && protocol < 2)
		*(int *)val = FAKE_AF_SMC;
	else if (name == SO_PROTOCOL)
		*(int *)val = protocol < 2 ? protocol : FAKE_IPPROTO_SMC;
	return rc;
}

int fake_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	int (*real)(int fd, int level, int name, const void *val, socklen_t len);
	const char *max = getenv("FAKE_SMC_MAXBUF"), *old = getenv("FAKE_SMC_OLD");
	bool own = level == FAKE_SOL_SMC && name == FAKE_OWN_ZEROCOPY;
	int value;

	*(void **)&real = symbol_find_next("setsockopt");
	if (old && fake_smc_protocol(fd) >= 0 &&
	    (own || (level == SOL_SOCKET && name == SO_ZEROCOPY))) {
		log_write("setsockopt %d %d %d\n", level, name, *(const int *)val);
		if (own && !strcmp(old, "own"))
			return real(fd, SOL_SOCKET, SO_ZEROCOPY, val, len);
		errno = own ? ENOPROTOOPT : EOPNOTSUPP;
		return -1;
	}
	if (level == SOL_SOCKET && len >= sizeof(int)) {
		value = *(const int *)val;
		if (name == SO_RCVBUF || name == SO_SNDBUF || name == SO_RCVBUFFORCE ||
		    name == SO_SNDBUFFORCE)
			log_write("setsockopt %d %d %d\n", fake_smc_protocol(fd) >= 0, name, value);
		if (max && (name == SO_RCVBUFFORCE || name == SO_SNDBUFFORCE)) {
			errno = EPERM;
			return -1;
		}
		if (max && (name == SO_RCVBUF || name == SO_SNDBUF) && value > atoi(max)) {
			value = atoi(max);
			return real(fd, level, name, &value, sizeof(value));
		}
	}
	return real(fd, level, name, val, len);
}
