// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace an idle SMC socket by a TCP socket under the same descriptor.
 *
 * The peer is not known in socket(), so a rule about addresses is applied when the program calls
 * bind(), listen() or connect(). By then the program may have set flags and options, and may have
 * added the descriptor to an epoll set. All of this is read back from the kernel: the library keeps
 * no state that fork, dup or exec could make stale.
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

/* Options that the C library headers of Debian 12 lack */
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

/* Options a program may set before bind() or connect(); the kernel returns their sizes */
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

static void option_copy(int from, int to, const struct sockopt_id *id,
			const struct smc_swap_calls *calls)
{
	char want[OPT_VALUE_MAX], have[OPT_VALUE_MAX];
	socklen_t want_len = sizeof(want), have_len = sizeof(have);

	memset(want, 0, sizeof(want));
	memset(have, 0, sizeof(have));
	if (calls->getsockopt(from, id->level, id->name, want, &want_len) ||
	    calls->getsockopt(to, id->level, id->name, have, &have_len))
		return;
	/* setting even a default value can need a privilege that the program lacks */
	if (want_len == have_len && !memcmp(want, have, want_len))
		return;
	setsockopt(to, id->level, id->name, want, want_len);
}

/*
 * Copy a buffer size unless it is @ignore. The defaults of SMC and TCP differ, and a fixed size
 * turns off the automatic tuning of TCP: so copy only a size that the program itself has set.
 */
static void buffer_size_copy(int from, int to, int name, int ignore,
			     const struct smc_swap_calls *calls)
{
	socklen_t len = sizeof(int);
	int size;

	if (calls->getsockopt(from, SOL_SOCKET, name, &size, &len) || size == ignore)
		return;
	/* the kernel doubles the size that is set */
	size /= 2;
	setsockopt(to, SOL_SOCKET, name, &size, sizeof(size));
}

static void options_copy(int from, int to, int domain, int auto_rcvbuf, int auto_sndbuf,
			 const struct smc_swap_calls *calls)
{
	socklen_t len = sizeof(int);
	int locks = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(carried_options); i++)
		option_copy(from, to, &carried_options[i], calls);
	if (domain == AF_INET6) {
		for (i = 0; i < ARRAY_SIZE(carried_options_v6); i++)
			option_copy(from, to, &carried_options_v6[i], calls);
	}
	if (calls->getsockopt(from, SOL_SOCKET, SO_BUF_LOCK, &locks, &len))
		return;
	if (locks & BUF_LOCK_RCV)
		buffer_size_copy(from, to, SO_RCVBUF, auto_rcvbuf, calls);
	if (locks & BUF_LOCK_SND)
		buffer_size_copy(from, to, SO_SNDBUF, auto_sndbuf, calls);
}

/* Copy O_NONBLOCK, O_ASYNC and the owner of SIGIO and SIGURG, which belong to the open file. */
static void file_state_copy(int from, int to)
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

static int epoll_entry_read(int epfd, int fd, struct epoll_entry *entry)
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

/* Find the epoll sets of this process that contain a descriptor. Return their number. */
static size_t epoll_entries_find(int fd, struct epoll_entry *entries, size_t max)
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
		num += epoll_entry_read(atoi(ent->d_name), fd, &entries[num]);
	}
	closedir(dir);
	return num;
}

static bool addr_has_port(const struct sockaddr_storage *addr)
{
	/* sin_port and sin6_port have the same offset */
	return (addr->ss_family == AF_INET || addr->ss_family == AF_INET6) &&
	       ((const struct sockaddr_in6 *)addr)->sin6_port != 0;
}

/**
 * smc_swap_to_tcp() - replace an idle SMC socket by a TCP socket
 * @fd: descriptor; the socket must not be connected, connecting or listening
 * @domain: AF_INET or AF_INET6
 * @auto_rcvbuf: SO_RCVBUF as set by smc_run, which is not copied; 0: smc_run has not set it
 * @auto_sndbuf: SO_SNDBUF as set by smc_run, which is not copied; 0: smc_run has not set it
 * @calls: the calls behind the wrappers
 *
 * Copies descriptor and file flags, the owner of signals, the common socket options and the local
 * address, and registers the new socket in the epoll sets of this process that had the old one.
 *
 * Return: 0, or -1 with errno. After an error of bind() the descriptor is a TCP socket, after any
 * other error it is unchanged.
 */
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
	options_copy(fd, tcp, domain, auto_rcvbuf, auto_sndbuf, calls);
	file_state_copy(fd, tcp);
	if (getsockname(fd, (struct sockaddr *)&local, &local_len))
		local.ss_family = AF_UNSPEC;

	num = epoll_entries_find(fd, entries, EPOLL_SETS_MAX);
	/* remove the old entries first: a duplicate of the descriptor would keep them alive */
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
	/* the old socket is closed, its port is free; without a port it was not bound */
	if (addr_has_port(&local) && calls->bind(fd, (struct sockaddr *)&local, local_len))
		return -1;
	return 0;
}
