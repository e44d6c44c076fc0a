// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls with a wrong type, protocol, address, state, flag or pointer: one row each, with the value
 * and errno of TCP. The rows can also be printed as a table, to compare two families as text.
 */
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define BAD_PTR		((void *)8)
#define BIG_ITEMS	1025

/**
 * struct errno_row - one call that fails, or unexpectedly succeeds
 * @name: stable name
 * @fn: sets up the state, makes the call last, returns its value
 * @ret: expected value
 * @err: expected errno if @ret is -1
 */
struct errno_row {
	const char *name;
	long (*fn)(struct api_env *e);
	long ret;
	int err;
};

static int socket_fresh(struct api_env *e)
{
	return T_OK(socket(e->proto->domain, SOCK_STREAM, e->proto->protocol));
}

static int socket_bound(struct api_env *e)
{
	int fd = socket_fresh(e);

	T_OK(bind(fd, &e->local.sa, e->local.len));
	return fd;
}

static int socket_listening(struct api_env *e)
{
	struct tl_addr at;

	return api_listener(e, &at);
}

static int socket_connected(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	return fd;
}

/* ---- socket ---- */

static long socket_seqpacket(struct api_env *e)
{
	return socket(e->proto->domain, SOCK_SEQPACKET, e->proto->protocol);
}

static long socket_type_invalid(struct api_env *e)
{
	return socket(e->proto->domain, 15, e->proto->protocol);
}

static long socket_protocol_unknown(struct api_env *e)
{
	return socket(e->proto->domain, SOCK_STREAM, 99);
}

static long socketpair_stream(struct api_env *e)
{
	int sv[2];

	return socketpair(e->proto->domain, SOCK_STREAM, e->proto->protocol, sv);
}

/* The clcsock takes no descriptor: with one descriptor left socket() succeeds once, then fails. */
static long socket_last_descriptor(struct api_env *e)
{
	struct rlimit files = { 0, 0 };
	int fd = socket_fresh(e);

	files.rlim_cur = fd + 2;
	files.rlim_max = fd + 2;
	if (setrlimit(RLIMIT_NOFILE, &files) || socket_fresh(e) != fd + 1)
		return -2;
	return socket(e->proto->domain, SOCK_STREAM, e->proto->protocol);
}

/* ---- bind ---- */

static long bind_short(struct api_env *e)
{
	return bind(socket_fresh(e), &e->local.sa, e->proto->af == AF_INET6 ? 20 : 12);
}

static long bind_family(struct api_env *e)
{
	struct tl_addr a = e->local;

	a.sa.sa_family = AF_UNIX;
	return bind(socket_fresh(e), &a.sa, a.len);
}

static long bind_foreign(struct api_env *e)
{
	struct tl_addr a;

	/* documentation prefixes: no host has these addresses */
	T_OK(tl_addr_parse(&a, e->proto, e->proto->af == AF_INET6 ? "2001:db8::1" : "192.0.2.1",
			   0));
	return bind(socket_fresh(e), &a.sa, a.len);
}

static long bind_in_use(struct api_env *e)
{
	struct tl_addr at;

	api_listener(e, &at);
	return bind(socket_fresh(e), &at.sa, at.len);
}

static long bind_twice(struct api_env *e)
{
	return bind(socket_bound(e), &e->local.sa, e->local.len);
}

static long bind_connected(struct api_env *e)
{
	return bind(socket_connected(e), &e->local.sa, e->local.len);
}

static long bind_privileged(struct api_env *e)
{
	struct tl_addr a = e->local;
	int fd = socket_fresh(e);

	tl_addr_set_port(&a, 1);
	if (!geteuid())
		T_OK(setresuid(65534, 65534, 65534));
	return bind(fd, &a.sa, a.len);
}

static long bind_fault(struct api_env *e)
{
	return bind(socket_fresh(e), BAD_PTR, e->local.len);
}

static long bind_long(struct api_env *e)
{
	struct tl_addr a = e->local;

	return bind(socket_fresh(e), &a.sa, sizeof(a.ss));
}

static long bind_too_long(struct api_env *e)
{
	return bind(socket_fresh(e), &e->local.sa, sizeof(struct sockaddr_storage) + 1);
}

/* ---- listen, accept ---- */

static long listen_connected(struct api_env *e)
{
	return listen(socket_connected(e), 1);
}

static long listen_negative(struct api_env *e)
{
	return listen(socket_bound(e), -1);
}

static long accept_fresh(struct api_env *e)
{
	return accept(socket_fresh(e), NULL, NULL);
}

static long accept_bound(struct api_env *e)
{
	return accept(socket_bound(e), NULL, NULL);
}

static long accept_connected(struct api_env *e)
{
	return accept(socket_connected(e), NULL, NULL);
}

static long accept_bad_flags(struct api_env *e)
{
	return accept4(socket_listening(e), NULL, NULL, 0x10000);
}

static long accept_shut_listener(struct api_env *e)
{
	int fd = socket_listening(e);

	T_OK(shutdown(fd, SHUT_RD));
	return accept(fd, NULL, NULL);
}

static int listener_with_pending(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);

	T_OK(r_connect(e, T_OK(r_socket(e, e->peer)), &at));
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	return lfd;
}

static long accept_fault(struct api_env *e)
{
	socklen_t len = sizeof(struct sockaddr_storage);

	return accept(listener_with_pending(e), BAD_PTR, &len);
}

static long accept_negative_length(struct api_env *e)
{
	struct tl_addr a;
	socklen_t len = -1;

	return accept(listener_with_pending(e), &a.sa, &len);
}

/* ---- connect ---- */

static long connect_short(struct api_env *e)
{
	return connect(socket_fresh(e), &e->remote.sa, e->proto->af == AF_INET6 ? 20 : 12);
}

static long connect_tiny(struct api_env *e)
{
	return connect(socket_fresh(e), &e->remote.sa, 1);
}

static long connect_family(struct api_env *e)
{
	struct tl_addr a = e->remote;

	a.sa.sa_family = AF_UNIX;
	return connect(socket_fresh(e), &a.sa, a.len);
}

static long connect_listening(struct api_env *e)
{
	return connect(socket_listening(e), &e->remote.sa, e->remote.len);
}

static long connect_connected(struct api_env *e)
{
	int fd = socket_connected(e);
	struct tl_addr a = { .len = sizeof(a.ss) };

	T_OK(getpeername(fd, &a.sa, &a.len));
	return connect(fd, &a.sa, a.len);
}

static long connect_multicast(struct api_env *e)
{
	struct tl_addr a;

	T_OK(tl_addr_parse(&a, e->proto, e->proto->af == AF_INET6 ? "ff02::1" : "224.0.0.1", 9));
	return connect(socket_fresh(e), &a.sa, a.len);
}

static long connect_broadcast(struct api_env *e)
{
	struct tl_addr a;

	/* IPv6 has no broadcast: the loopback address without a listener stands in, and refuses */
	T_OK(tl_addr_parse(&a, e->proto, e->proto->af == AF_INET6 ? "::1" : "255.255.255.255", 1));
	return connect(socket_fresh(e), &a.sa, a.len);
}

static long connect_fault(struct api_env *e)
{
	return connect(socket_fresh(e), BAD_PTR, e->remote.len);
}

static long connect_nobody(struct api_env *e)
{
	struct tl_addr a = e->remote;
	int fd = socket_fresh(e);
	int lfd = T_OK(r_listen_at(e, e->peer, &a, 1));

	T_OK(r_close(e, lfd));
	return connect(fd, &a.sa, a.len);
}

/* ---- data ---- */

static long send_fresh(struct api_env *e)
{
	return send(socket_fresh(e), "x", 1, MSG_NOSIGNAL);
}

static long send_listening(struct api_env *e)
{
	return send(socket_listening(e), "x", 1, MSG_NOSIGNAL);
}

static long recv_fresh(struct api_env *e)
{
	char c;

	return recv(socket_fresh(e), &c, 1, 0);
}

static long recv_fresh_dontwait(struct api_env *e)
{
	char c;

	return recv(socket_fresh(e), &c, 1, MSG_DONTWAIT);
}

static long recv_listening(struct api_env *e)
{
	char c;

	return recv(socket_listening(e), &c, 1, 0);
}

static long send_fault(struct api_env *e)
{
	return send(socket_connected(e), BAD_PTR, 10, MSG_NOSIGNAL);
}

static long recv_fault(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, 1, 0, 10), 10);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	return recv(fd, BAD_PTR, 10, 0);
}

/* Bytes that a bad pointer left unread are not lost. */
static long recv_after_fault(struct api_env *e)
{
	char buf[10];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, 1, 0, 10), 10);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_ERR(recv(fd, BAD_PTR, 10, 0), EFAULT);
	return recv(fd, buf, 10, MSG_WAITALL);
}

static long recv_oob_none(struct api_env *e)
{
	char c;

	return recv(socket_connected(e), &c, 1, MSG_OOB);
}

static long recv_errqueue_none(struct api_env *e)
{
	char c;

	return recv(socket_connected(e), &c, 1, MSG_ERRQUEUE);
}

static long recv_connected_dontwait(struct api_env *e)
{
	char c;

	return recv(socket_connected(e), &c, 1, MSG_DONTWAIT);
}

static long writev_too_many(struct api_env *e)
{
	static struct iovec iov[BIG_ITEMS];

	return writev(socket_connected(e), iov, BIG_ITEMS);
}

static long sendmsg_bad_control(struct api_env *e)
{
	struct iovec iov = { "x", 1 };
	struct cmsghdr h = { .cmsg_len = 1, .cmsg_level = SOL_SOCKET, .cmsg_type = 0x7777 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &h,
		.msg_controllen = sizeof(h),
	};

	return sendmsg(socket_connected(e), &msg, MSG_NOSIGNAL);
}

/* ---- shutdown, names ---- */

static long shutdown_fresh(struct api_env *e)
{
	return shutdown(socket_fresh(e), SHUT_RDWR);
}

static long shutdown_bound(struct api_env *e)
{
	return shutdown(socket_bound(e), SHUT_WR);
}

static long shutdown_listening_write(struct api_env *e)
{
	return shutdown(socket_listening(e), SHUT_WR);
}

static long shutdown_listening_read(struct api_env *e)
{
	return shutdown(socket_listening(e), SHUT_RD);
}

static long shutdown_bad_how(struct api_env *e)
{
	return shutdown(socket_connected(e), 3);
}

static long shutdown_negative_how(struct api_env *e)
{
	return shutdown(socket_connected(e), -1);
}

static long getpeername_fresh(struct api_env *e)
{
	struct tl_addr a = { .len = sizeof(a.ss) };

	return getpeername(socket_fresh(e), &a.sa, &a.len);
}

static long getpeername_listening(struct api_env *e)
{
	struct tl_addr a = { .len = sizeof(a.ss) };

	return getpeername(socket_listening(e), &a.sa, &a.len);
}

static long getsockname_fault(struct api_env *e)
{
	socklen_t len = sizeof(struct sockaddr_storage);

	return getsockname(socket_bound(e), BAD_PTR, &len);
}

static long getsockname_negative(struct api_env *e)
{
	struct tl_addr a;
	socklen_t len = -1;

	return getsockname(socket_bound(e), &a.sa, &len);
}

/* ---- options ---- */

static long setsockopt_unknown(struct api_env *e)
{
	int v = 1;

	return setsockopt(socket_fresh(e), SOL_SOCKET, 9999, &v, sizeof(v));
}

static long setsockopt_short(struct api_env *e)
{
	int v = 1;

	return setsockopt(socket_fresh(e), SOL_SOCKET, SO_KEEPALIVE, &v, 1);
}

static long setsockopt_tcp_unknown(struct api_env *e)
{
	int v = 1;

	return setsockopt(socket_fresh(e), IPPROTO_TCP, 9999, &v, sizeof(v));
}

static long setsockopt_tcp_fault(struct api_env *e)
{
	return setsockopt(socket_fresh(e), IPPROTO_TCP, TCP_NODELAY, BAD_PTR, sizeof(int));
}

static long getsockopt_unknown(struct api_env *e)
{
	int v;
	socklen_t len = sizeof(v);

	return getsockopt(socket_fresh(e), SOL_SOCKET, 9999, &v, &len);
}

static long getsockopt_negative(struct api_env *e)
{
	int v;
	socklen_t len = -1;

	return getsockopt(socket_fresh(e), SOL_SOCKET, SO_ERROR, &v, &len);
}

static long getsockopt_fault(struct api_env *e)
{
	socklen_t len = sizeof(int);

	return getsockopt(socket_fresh(e), SOL_SOCKET, SO_ERROR, BAD_PTR, &len);
}

#define ROW(fn, ret, err)	{ #fn, fn, ret, err }

static const struct errno_row rows[] = {
	ROW(socket_seqpacket,		-1, ESOCKTNOSUPPORT),
	ROW(socket_type_invalid,	-1, EINVAL),
	ROW(socket_protocol_unknown,	-1, EPROTONOSUPPORT),
	ROW(socketpair_stream,		-1, EOPNOTSUPP),
	ROW(socket_last_descriptor,	-1, EMFILE),
	ROW(bind_short,			-1, EINVAL),
	ROW(bind_family,		-1, EAFNOSUPPORT),
	ROW(bind_foreign,		-1, EADDRNOTAVAIL),
	ROW(bind_in_use,		-1, EADDRINUSE),
	ROW(bind_twice,			-1, EINVAL),
	ROW(bind_connected,		-1, EINVAL),
	ROW(bind_privileged,		-1, EACCES),
	ROW(bind_fault,			-1, EFAULT),
	ROW(bind_long,			0, 0),
	ROW(bind_too_long,		-1, EINVAL),
	ROW(listen_connected,		-1, EINVAL),
	ROW(listen_negative,		0, 0),
	ROW(accept_fresh,		-1, EINVAL),
	ROW(accept_bound,		-1, EINVAL),
	ROW(accept_connected,		-1, EINVAL),
	ROW(accept_bad_flags,		-1, EINVAL),
	ROW(accept_shut_listener,	-1, EINVAL),
	ROW(accept_fault,		-1, EFAULT),
	ROW(accept_negative_length,	-1, EINVAL),
	ROW(connect_short,		-1, EINVAL),
	ROW(connect_tiny,		-1, EINVAL),
	ROW(connect_family,		-1, EAFNOSUPPORT),
	ROW(connect_listening,		-1, EISCONN),
	ROW(connect_connected,		-1, EISCONN),
	ROW(connect_multicast,		-1, ENETUNREACH),
	ROW(connect_broadcast,		-1, ENETUNREACH),
	ROW(connect_fault,		-1, EFAULT),
	ROW(connect_nobody,		-1, ECONNREFUSED),
	ROW(send_fresh,			-1, EPIPE),
	ROW(send_listening,		-1, EPIPE),
	ROW(recv_fresh,			-1, ENOTCONN),
	ROW(recv_fresh_dontwait,	-1, ENOTCONN),
	ROW(recv_listening,		-1, ENOTCONN),
	ROW(send_fault,			-1, EFAULT),
	ROW(recv_fault,			-1, EFAULT),
	ROW(recv_after_fault,		10, 0),
	ROW(recv_oob_none,		-1, EINVAL),
	ROW(recv_errqueue_none,		-1, EAGAIN),
	ROW(recv_connected_dontwait,	-1, EAGAIN),
	ROW(writev_too_many,		-1, EINVAL),
	ROW(sendmsg_bad_control,	-1, EINVAL),
	ROW(shutdown_fresh,		-1, ENOTCONN),
	ROW(shutdown_bound,		-1, ENOTCONN),
	ROW(shutdown_listening_write,	0, 0),
	ROW(shutdown_listening_read,	0, 0),
	ROW(shutdown_bad_how,		-1, EINVAL),
	ROW(shutdown_negative_how,	-1, EINVAL),
	ROW(getpeername_fresh,		-1, ENOTCONN),
	ROW(getpeername_listening,	-1, ENOTCONN),
	ROW(getsockname_fault,		-1, EFAULT),
	ROW(getsockname_negative,	-1, EINVAL),
	ROW(setsockopt_unknown,		-1, ENOPROTOOPT),
	ROW(setsockopt_short,		-1, EINVAL),
	ROW(setsockopt_tcp_unknown,	-1, ENOPROTOOPT),
	ROW(setsockopt_tcp_fault,	-1, EFAULT),
	ROW(getsockopt_unknown,		-1, ENOPROTOOPT),
	ROW(getsockopt_negative,	-1, EINVAL),
	ROW(getsockopt_fault,		-1, EFAULT),
};

/* A row may drop its privileges or fail in its set-up: it runs in a process of its own. */
static bool run_row(struct api_env *e, const struct errno_row *row, bool print)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		long ret = row->fn(e);
		int err = ret == -1 ? errno : 0;

		if (print)
			printf("%s %ld %s\n", row->name, ret, tl_errno_name(err));
		else if (ret != row->ret || err != row->err)
			printf("# %s: %ld %s instead of %ld %s\n", row->name, ret,
			       tl_errno_name(err), row->ret, tl_errno_name(row->err));
		fflush(stdout);
		_exit(ret != row->ret || err != row->err);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

static void errno_rows(struct api_env *e)
{
	unsigned int bad = 0;

	for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++) {
		/* these rows differ by nature: IPv6 has no broadcast, and it routes multicast */
		if (e->proto->af == AF_INET6 &&
		    (rows[i].fn == connect_broadcast || rows[i].fn == connect_multicast))
			continue;
		bad += !run_row(e, &rows[i], false);
	}
	T_EQ(bad, 0);
}

/**
 * api_errno_table() - print value and errno of every row
 * @e: environment
 */
void api_errno_table(struct api_env *e)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(rows); i++)
		run_row(e, &rows[i], true);
}

static const struct api_case cases[] = {
	{ "errno_rows", errno_rows, 0 },
};

const struct api_group api_errno_group = { cases, TL_ARRAY_SIZE(cases) };
