// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace an idle AF_SMC socket by a plain TCP socket under the same descriptor.
 *
 * socket() does not know the peer yet, so a rule about addresses can only be applied when the
 * program binds, listens or connects. By then it may have set flags and options and may have
 * put the descriptor into an epoll set; all of this is read back from the kernel. Nothing is
 * remembered in the library, hence nothing can be out of date after fork, dup or exec.
 */
#define _GNU_SOURCE
#include "smc_tools.h"
#include "swap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Numbers that the C library's headers of Debian 12 lack */
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif
#define BUF_LOCK_SND 1
#define BUF_LOCK_RCV 2

#define EPOLL_SETS_MAX 64
#define OPT_VALUE_MAX 64

struct sockopt_id {
	int level;
	int name;
};

/* Options a program may have set before bind or connect; the size comes from the kernel. */
static const struct sockopt_id carried_options[] = {
	{ SOL_SOCKET, SO_REUSEADDR },
	{ SOL_SOCKET, SO_REUSEPORT },
	{ SOL_SOCKET, SO_KEEPALIVE },
	{ SOL_SOCKET, SO_OOBINLINE },
	{ SOL_SOCKET, SO_LINGER },
	{ SOL_SOCKET, SO_RCVTIMEO },
	{ SOL_SOCKET, SO_SNDTIMEO },
	{ SOL_SOCKET, SO_RCVLOWAT },
	{ SOL_SOCKET, SO_DONTROUTE },
	{ SOL_SOCKET, SO_PRIORITY },
	{ SOL_SOCKET, SO_MARK },
	{ SOL_SOCKET, SO_TIMESTAMP },
	{ SOL_SOCKET, SO_TIMESTAMPNS },
	{ SOL_SOCKET, SO_BUSY_POLL },
	{ SOL_SOCKET, SO_INCOMING_CPU },
	{ SOL_SOCKET, SO_MAX_PACING_RATE },
	{ SOL_SOCKET, SO_ZEROCOPY },
	{ SOL_SOCKET, SO_BINDTODEVICE },
	{ IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_MAXSEG },
	{ IPPROTO_TCP, TCP_CORK },
	{ IPPROTO_TCP, TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT },
	{ IPPROTO_TCP, TCP_SYNCNT },
	{ IPPROTO_TCP, TCP_LINGER2 },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP },
	{ IPPROTO_TCP, TCP_QUICKACK },
	{ IPPROTO_TCP, TCP_CONGESTION },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT },
	{ IPPROTO_TCP, TCP_FASTOPEN },
	{ IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT },
	{ IPPROTO_TCP, TCP_SAVE_SYN },
	{ IPPROTO_IP, IP_TOS },
	{ IPPROTO_IP, IP_TTL },
	{ IPPROTO_IP, IP_PKTINFO },
	{ IPPROTO_IP, IP_MTU_DISCOVER },
	{ IPPROTO_IP, IP_RECVERR },
	{ IPPROTO_IP, IP_RECVTTL },
	{ IPPROTO_IP, IP_RECVTOS },
	{ IPPROTO_IP, IP_FREEBIND },
	{ IPPROTO_IP, IP_TRANSPARENT },
	{ IPPROTO_IP, IP_MINTTL },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT },
	{ IPPROTO_IP, IP_LOCAL_PORT_RANGE },
};

static const struct sockopt_id carried_options_v6[] = {
	{ IPPROTO_IPV6, IPV6_V6ONLY },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS },
	{ IPPROTO_IPV6, IPV6_TCLASS },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER },
	{ IPPROTO_IPV6, IPV6_RECVERR },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT },
	{ IPPROTO_IPV6, IPV6_DONTFRAG },
	{ IPPROTO_IPV6, IPV6_AUTOFLOWLABEL },
	{ IPPROTO_IPV6, IPV6_ADDR_PREFERENCES },
	{ IPPROTO_IPV6, IPV6_MINHOPCOUNT },
	{ IPPROTO_IPV6, IPV6_FREEBIND },
	{ IPPROTO_IPV6, IPV6_TRANSPARENT },
};

/* One registration of the descriptor in an epoll set of this process */
struct epoll_entry {
	int epfd;
	struct epoll_event ev;
};

static void copy_option(int from, int to, const struct sockopt_id *id,
			const struct smc_swap_calls *calls)
{
	char want[OPT_VALUE_MAX], have[OPT_VALUE_MAX];
	socklen_t want_len = sizeof(want), have_len = sizeof(have);

	memset(want, 0, sizeof(want));
	memset(have, 0, sizeof(have));
	if (calls->getsockopt(from, id->level, id->name, want, &want_len) ||
	    calls->getsockopt(to, id->level, id->name, have, &have_len))
		return;
	/* Setting a default again can need a right that the program does not have. */
	if (want_len == have_len && !memcmp(want, have, want_len))
		return;
	setsockopt(to, id->level, id->name, want, want_len);
}

/*
 * Buffer sizes differ by default between SMC and TCP, and a fixed size switches TCP's automatic
 * tuning off: carry over only what the program itself has fixed.
 */
static void copy_buffer_size(int from, int to, int name, int ignore,
			     const struct smc_swap_calls *calls)
{
	socklen_t len = sizeof(int);
	int size;

	if (calls->getsockopt(from, SOL_SOCKET, name, &size, &len) || size == ignore)
		return;
	/* The kernel doubles the size that is set. */
	size /= 2;
	setsockopt(to, SOL_SOCKET, name, &size, sizeof(size));
}

static void copy_options(int from, int to, int domain, int auto_rcvbuf, int auto_sndbuf,
			 const struct smc_swap_calls *calls)
{
	socklen_t len = sizeof(int);
	int locks = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(carried_options); i++)
		copy_option(from, to, &carried_options[i], calls);
	if (domain == AF_INET6) {
		for (i = 0; i < ARRAY_SIZE(carried_options_v6); i++)
			copy_option(from, to, &carried_options_v6[i], calls);
	}
	if (calls->getsockopt(from, SOL_SOCKET, SO_BUF_LOCK, &locks, &len))
		return;
	if (locks & BUF_LOCK_RCV)
		copy_buffer_size(from, to, SO_RCVBUF, auto_rcvbuf, calls);
	if (locks & BUF_LOCK_SND)
		copy_buffer_size(from, to, SO_SNDBUF, auto_sndbuf, calls);
}

/* O_NONBLOCK, O_ASYNC and who gets SIGIO and SIGURG belong to the file, not to the number. */
static void copy_file_state(int from, int to)
{
	struct f_owner_ex owner;
	int flags, sig;

	if (fcntl(from, F_GETOWN_EX, &owner) == 0 && owner.pid)
		fcntl(to, F_SETOWN_EX, &owner);
	sig = fcntl(from, F_GETSIG);
	if (sig > 0)
		fcntl(to, F_SETSIG, sig);
	flags = fcntl(from, F_GETFL);
	if (flags >= 0)
		fcntl(to, F_SETFL, flags & (O_NONBLOCK | O_ASYNC));
}

static int epoll_read_entry(int epfd, int fd, struct epoll_entry *entry)
{
	unsigned long long data;
	unsigned int events;
	char path[64], line[256];
	int tfd, found = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epfd);
	info = fopen(path, "re");
	if (!info)
		return 0;
	while (!found && fgets(line, sizeof(line), info)) {
		if (sscanf(line, "tfd: %d events: %x data: %llx", &tfd, &events, &data) != 3)
			continue;
		if (tfd != fd)
			continue;
		entry->epfd = epfd;
		entry->ev.events = events;
		entry->ev.data.u64 = data;
		found = 1;
	}
	fclose(info);
	return found;
}

/* Which epoll sets of this process hold the descriptor? The kernel tells. */
static size_t epoll_find(int fd, struct epoll_entry *entries, size_t max)
{
	struct dirent *ent;
	size_t num = 0;
	DIR *dir;

	dir = opendir("/proc/self/fd");
	if (!dir)
		return 0;
	while (num < max && (ent = readdir(dir))) {
		static const char epoll_name[] = "anon_inode:[eventpoll]";
		char target[sizeof(epoll_name)];
		ssize_t len = readlinkat(dirfd(dir), ent->d_name, target, sizeof(target));

		if (len != sizeof(epoll_name) - 1 || memcmp(target, epoll_name, len))
			continue;
		num += epoll_read_entry(atoi(ent->d_name), fd, &entries[num]);
	}
	closedir(dir);
	return num;
}

static bool has_port(const struct sockaddr_storage *addr)
{
	/* The port is at the same place in both families. */
	return (addr->ss_family == AF_INET || addr->ss_family == AF_INET6) &&
	       ((const struct sockaddr_in6 *)addr)->sin6_port != 0;
}

int smc_swap_to_tcp(int fd, int domain, int auto_rcvbuf, int auto_sndbuf,
		    const struct smc_swap_calls *calls)
{
	struct epoll_entry entries[EPOLL_SETS_MAX];
	struct sockaddr_storage local = { .ss_family = AF_UNSPEC };
	socklen_t local_len = sizeof(local);
	int tcp, fd_flags, saved;
	size_t i, num;

	fd_flags = fcntl(fd, F_GETFD);
	if (fd_flags < 0)
		return -1;
	tcp = calls->socket(domain, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (tcp < 0)
		return -1;
	copy_options(fd, tcp, domain, auto_rcvbuf, auto_sndbuf, calls);
	copy_file_state(fd, tcp);
	if (getsockname(fd, (struct sockaddr *)&local, &local_len))
		local.ss_family = AF_UNSPEC;

	num = epoll_find(fd, entries, EPOLL_SETS_MAX);
	/* Out of the sets first: a duplicate of the descriptor would keep the old entry. */
	for (i = 0; i < num; i++)
		epoll_ctl(entries[i].epfd, EPOLL_CTL_DEL, fd, NULL);
	if (dup3(tcp, fd, fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0) {
		saved = errno;
		for (i = 0; i < num; i++)
			epoll_ctl(entries[i].epfd, EPOLL_CTL_ADD, fd, &entries[i].ev);
		close(tcp);
		errno = saved;
		return -1;
	}
	close(tcp);
	for (i = 0; i < num; i++)
		epoll_ctl(entries[i].epfd, EPOLL_CTL_ADD, fd, &entries[i].ev);
	/* The old socket is closed and its port free; a wildcard without port was never bound. */
	if (has_port(&local) && calls->bind(fd, (struct sockaddr *)&local, local_len))
		return -1;
	return 0;
}
