// SPDX-License-Identifier: GPL-2.0-only
/* Socket families, addresses, verified byte streams and socket helpers of the test programs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "testlib.h"

#define IPPROTO_SMC_	256	/* IPPROTO_SMC; older libc headers lack it */

static const struct tl_proto protos[] = {
	{ "smc",	AF_SMC,		0,		AF_INET,	true },
	{ "smc6",	AF_SMC,		1,		AF_INET6,	true },
	{ "ipproto",	AF_INET,	IPPROTO_SMC_,	AF_INET,	true },
	{ "ipproto6",	AF_INET6,	IPPROTO_SMC_,	AF_INET6,	true },
	{ "inet",	AF_INET,	0,		AF_INET,	false },
	{ "inet6",	AF_INET6,	0,		AF_INET6,	false },
};

/**
 * tl_proto_find() - look up a value of --family
 * @name: smc, smc6, ipproto, ipproto6, inet or inet6
 *
 * Return: the entry, or NULL for any other name.
 */
const struct tl_proto *tl_proto_find(const char *name)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(protos); i++) {
		if (!strcmp(protos[i].name, name))
			return &protos[i];
	}
	return NULL;
}

/**
 * tl_proto_variant() - find the same transport and entry point for an address family
 * @p: entry to start from
 * @af: AF_INET or AF_INET6
 *
 * Return: the entry, never NULL for these two values.
 */
const struct tl_proto *tl_proto_variant(const struct tl_proto *p, int af)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(protos); i++) {
		if (protos[i].smc == p->smc && protos[i].af == af &&
		    !(protos[i].domain == AF_SMC) == !(p->domain == AF_SMC))
			return &protos[i];
	}
	return NULL;
}

/**
 * tl_proto_available() - check whether the kernel has a family
 * @p: family
 *
 * Return: false only if the family or protocol itself is missing; any other error is left for
 * the test to report.
 */
bool tl_proto_available(const struct tl_proto *p)
{
	int fd = socket(p->domain, SOCK_STREAM, p->protocol);

	if (fd < 0)
		return errno != EAFNOSUPPORT && errno != EPROTONOSUPPORT;
	close(fd);
	return true;
}

/**
 * tl_addr_parse() - turn text into an address of a family
 * @a: result
 * @p: family that determines the form; an IPv4 text for an IPv6 family becomes v4-mapped
 * @host: numeric address, also with %interface, or NULL for the wildcard
 * @port: port in host order
 *
 * Return: 0 or -EINVAL.
 */
int tl_addr_parse(struct tl_addr *a, const struct tl_proto *p, const char *host,
		  unsigned int port)
{
	char bare[INET6_ADDRSTRLEN];

	memset(a, 0, sizeof(*a));
	if (p->af == AF_INET) {
		a->len = sizeof(a->in);
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		if (host && inet_pton(AF_INET, host, &a->in.sin_addr) != 1)
			return -EINVAL;
		return 0;
	}
	if (host && strchr(host, '%')) {
		snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, "%"), host);
		a->in6.sin6_scope_id = if_nametoindex(strchr(host, '%') + 1);
		if (!a->in6.sin6_scope_id)
			return -EINVAL;
		host = bare;
	}
	a->len = sizeof(a->in6);
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(port);
	if (!host || inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1)
		return 0;
	if (inet_pton(AF_INET, host, &a->in6.sin6_addr.s6_addr[12]) != 1)
		return -EINVAL;
	memset(&a->in6.sin6_addr.s6_addr[10], 0xff, 2);
	return 0;
}

unsigned int tl_addr_port(const struct tl_addr *a)
{
	/* the port has the same offset in both forms */
	return ntohs(a->in.sin_port);
}

void tl_addr_set_port(struct tl_addr *a, unsigned int port)
{
	a->in.sin_port = htons(port);
}

/* The IPv6 form of either address, so that 10.0.0.1 and ::ffff:10.0.0.1 are one host. */
static void addr_as_v6(const struct tl_addr *a, u8 out[16])
{
	if (a->sa.sa_family == AF_INET6) {
		memcpy(out, &a->in6.sin6_addr, 16);
		return;
	}
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, &a->in.sin_addr, 4);
}

bool tl_addr_same_host(const struct tl_addr *a, const struct tl_addr *b)
{
	u8 x[16], y[16];

	addr_as_v6(a, x);
	addr_as_v6(b, y);
	return !memcmp(x, y, sizeof(x));
}

const char *tl_addr_str(const struct tl_addr *a, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (a->sa.sa_family == AF_INET6)
		inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
	snprintf(buf, len, a->sa.sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 tl_addr_port(a));
	return buf;
}

int tl_socket(const struct tl_proto *p, int flags)
{
	int fd = socket(p->domain, SOCK_STREAM | SOCK_CLOEXEC | flags, p->protocol);

	return fd < 0 ? -errno : fd;
}

/**
 * tl_listen() - bind and listen
 * @p: family
 * @at: address; a zero port is replaced with the port that the kernel chose
 * @backlog: for listen()
 *
 * Return: the descriptor or a negative errno.
 */
int tl_listen(const struct tl_proto *p, struct tl_addr *at, int backlog)
{
	int fd = tl_socket(p, 0);
	int one = 1;
	int err;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, &at->sa, at->len) && !listen(fd, backlog) &&
	    !getsockname(fd, &at->sa, &at->len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/**
 * tl_connect() - blocking connect
 * @p: family
 * @from: local address or NULL
 * @to: peer
 *
 * Return: the descriptor or a negative errno.
 */
int tl_connect(const struct tl_proto *p, const struct tl_addr *from, const struct tl_addr *to)
{
	int fd = tl_socket(p, 0);
	int err;

	if (fd < 0)
		return fd;
	if ((!from || !bind(fd, &from->sa, from->len)) && !connect(fd, &to->sa, to->len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int tl_set_timeouts(int fd, unsigned int msec)
{
	struct timeval tv = {
		.tv_sec = msec / 1000,
		.tv_usec = msec % 1000 * 1000,
	};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)))
		return -errno;
	return 0;
}

/**
 * tl_set_tos() - set IP_TOS or IPV6_TCLASS
 * @fd: socket
 * @tos: value
 *
 * Sets both where the socket has both: the address decides which one counts.
 *
 * Return: 0 or a negative errno.
 */
int tl_set_tos(int fd, int tos)
{
	bool v4 = !setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));

	if (!setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos)) || v4)
		return 0;
	return -errno;
}

int tl_set_nonblock(int fd, bool on)
{
	int fl = fcntl(fd, F_GETFL);

	if (fl < 0 || fcntl(fd, F_SETFL, on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK))
		return -errno;
	return 0;
}

/* Returns @len or a negative errno; on an error some of the bytes may have been sent. */
ssize_t tl_send_all(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = send(fd, (const char *)buf + done, len - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += n;
	}
	return done;
}

/* Returns the bytes received, fewer than @len only at end of stream, or a negative errno. */
ssize_t tl_recv_all(int fd, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = recv(fd, (char *)buf + done, len - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += n;
	}
	return done;
}

/**
 * tl_child() - fork a process that answers requests
 * @serve: runs in the child with its end of a socket pair; each byte it reads is a request
 * @arg: for @serve
 *
 * The child ends when the returned descriptor is closed.
 *
 * Return: descriptor for tl_ask(), or a negative errno.
 */
int tl_child(void (*serve)(int fd, void *arg), void *arg)
{
	int sv[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return -errno;
	pid = fork();
	if (pid) {
		int err = pid < 0 ? -errno : sv[0];

		close(sv[1]);
		if (pid < 0)
			close(sv[0]);
		return err;
	}
	close(sv[0]);
	serve(sv[1], arg);
	_exit(0);
}

/**
 * tl_ask() - send a request to a child and wait for its answer
 * @child: from tl_child()
 * @answer: receives the answer
 * @len: length of every answer
 *
 * Return: 0, or -EPIPE if the child is gone.
 */
int tl_ask(int child, void *answer, size_t len)
{
	if (tl_send_all(child, "?", 1) == 1 && tl_recv_all(child, answer, len) == (ssize_t)len)
		return 0;
	return -EPIPE;
}

union fd_room {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Send @fd over a Unix socket; the caller's copy stays open. Returns 0 or a negative errno. */
int tl_send_fd(int to, int fd)
{
	union fd_room ctl = {
		.head = {
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &ctl, .msg_controllen = sizeof(ctl),
	};

	memcpy(CMSG_DATA(&ctl.head), &fd, sizeof(fd));
	return sendmsg(to, &msg, 0) == 1 ? 0 : -errno;
}

/* Receive a descriptor from a Unix socket. Returns it, or a negative errno if there is none. */
int tl_recv_fd(int from)
{
	union fd_room ctl;
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &ctl, .msg_controllen = sizeof(ctl),
	};
	int fd;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	if (msg.msg_controllen < CMSG_LEN(sizeof(int)) || ctl.head.cmsg_type != SCM_RIGHTS)
		return -ENODATA;
	memcpy(&fd, CMSG_DATA(&ctl.head), sizeof(fd));
	return fd;
}

u64 tl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * TL_NSEC_PER_SEC + ts.tv_nsec;
}

void tl_sleep_ms(unsigned int msec)
{
	struct timespec ts = {
		.tv_sec = msec / 1000,
		.tv_nsec = msec % 1000 * 1000000L,
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* A 64-bit finaliser: adjacent inputs give unrelated outputs. */
u64 tl_mix(u64 x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	return x;
}

/* Word number @i of stream @seed, without its predecessors. */
static u64 stream_word(u64 seed, u64 i)
{
	return tl_mix(seed + (i + 1) * 0x9e3779b97f4a7c15ULL);
}

/**
 * tl_fill() - generate a piece of a pseudo-random stream
 * @seed: names the stream
 * @off: offset of the piece in it
 * @buf: destination
 * @len: bytes
 */
void tl_fill(u64 seed, u64 off, void *buf, size_t len)
{
	u8 *p = buf;

	while (len) {
		u64 w = stream_word(seed, off / 8);
		size_t skip = off % 8;
		size_t n = 8 - skip < len ? 8 - skip : len;

		memcpy(p, (u8 *)&w + skip, n);
		p += n;
		off += n;
		len -= n;
	}
}

/**
 * tl_check() - compare received bytes with a pseudo-random stream
 * @seed: names the stream
 * @off: offset of the piece in it
 * @buf: received bytes
 * @len: their number
 *
 * Return: -1 if all bytes match, otherwise the index of the first wrong byte.
 */
ssize_t tl_check(u64 seed, u64 off, const void *buf, size_t len)
{
	const u8 *p = buf;
	size_t done = 0;

	while (done < len) {
		u64 w = stream_word(seed, (off + done) / 8);
		size_t skip = (off + done) % 8;
		size_t n = 8 - skip < len - done ? 8 - skip : len - done;

		if (memcmp(p + done, (u8 *)&w + skip, n)) {
			while (p[done] == ((u8 *)&w)[skip]) {
				done++;
				skip++;
			}
			return done;
		}
		done += n;
	}
	return -1;
}

/*
 * Symbolic name of an errno. Tables of two families are compared as text, and the texts of
 * strerror() differ between C libraries.
 */
const char *tl_errno_name(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {
#define E(x) { x, #x }
		E(EPERM), E(ENOENT), E(EINTR), E(EIO), E(EBADF), E(EAGAIN), E(ENOMEM), E(EACCES),
		E(ENFILE),
		E(EFAULT), E(EBUSY), E(ENODEV), E(EINVAL), E(ENOTTY), E(EPIPE), E(EDOM),
		E(ENOTSOCK), E(EDESTADDRREQ), E(EMSGSIZE), E(EPROTOTYPE), E(ENOPROTOOPT),
		E(EPROTONOSUPPORT), E(ESOCKTNOSUPPORT), E(EOPNOTSUPP), E(EPFNOSUPPORT),
		E(EAFNOSUPPORT), E(EADDRINUSE), E(EADDRNOTAVAIL), E(ENETDOWN), E(ENETUNREACH),
		E(ENETRESET), E(ECONNABORTED), E(ECONNRESET), E(ENOBUFS), E(EISCONN),
		E(ENOTCONN), E(ESHUTDOWN), E(ETIMEDOUT), E(ECONNREFUSED), E(EHOSTDOWN),
		E(EHOSTUNREACH), E(EALREADY), E(EINPROGRESS), E(EPROTO), E(EBADMSG), E(ENOMSG),
		E(ESTALE), E(ENOLINK), E(EBADE), E(ENOTUNIQ), E(ESRCH),
#undef E
	};
	static __thread char other[16];

	if (!err)
		return "0";
	for (size_t i = 0; i < TL_ARRAY_SIZE(names); i++) {
		if (names[i].err == err)
			return names[i].name;
	}
	snprintf(other, sizeof(other), "errno-%d", err);
	return other;
}

/* Clear the module's negative cache, so that clients try SMC with every peer again. */
void tl_forget_bad_peers(void)
{
	int fd = open("/proc/net/smc_negcache", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1)
		perror("smc_negcache");
	close(fd);
}
