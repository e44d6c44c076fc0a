// SPDX-License-Identifier: GPL-2.0-only
/* API cases: sockets, their names, listening and accepting. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api.h"

static int new_socket(struct api_env *e, int flags)
{
	return T_OK(socket(e->proto->domain, SOCK_STREAM | flags, e->proto->protocol));
}

static void socket_flags(struct api_env *e)
{
	int plain = new_socket(e, 0);
	int both = new_socket(e, SOCK_NONBLOCK | SOCK_CLOEXEC);
	socklen_t len = sizeof(int);
	int type = 0;

	T_EQ(fcntl(plain, F_GETFL) & O_NONBLOCK, 0);
	T_EQ(fcntl(plain, F_GETFD) & FD_CLOEXEC, 0);
	T_TRUE(fcntl(both, F_GETFL) & O_NONBLOCK);
	T_TRUE(fcntl(both, F_GETFD) & FD_CLOEXEC);
	T_OK(getsockopt(plain, SOL_SOCKET, SO_TYPE, &type, &len));
	T_EQ(type, SOCK_STREAM);
	T_EQ(api_so_error(plain), 0);
	T_OK(close(plain));
	T_OK(close(both));
}

static void bind_getsockname(struct api_env *e)
{
	int fd = new_socket(e, 0);
	struct tl_addr a = { .len = sizeof(a.ss) };
	socklen_t small = 4;

	/* before bind: the wildcard */
	T_OK(getsockname(fd, &a.sa, &a.len));
	T_EQ(a.sa.sa_family, e->proto->af);
	T_EQ(tl_addr_port(&a), 0);
	T_OK(bind(fd, &e->local.sa, e->local.len));
	memset(&a, 0, sizeof(a));
	a.len = sizeof(a.ss);
	T_OK(getsockname(fd, &a.sa, &a.len));
	T_EQ(a.sa.sa_family, e->proto->af);
	T_EQ(a.len, e->local.len);
	T_TRUE(tl_addr_same_host(&a, &e->local));
	T_TRUE(tl_addr_port(&a) != 0);
	/* a short buffer is filled, the full length reported */
	T_OK(getsockname(fd, &a.sa, &small));
	T_EQ(small, e->local.len);
	T_OK(close(fd));
}

static void names_of_pair(struct api_env *e)
{
	struct tl_addr mine = { .len = sizeof(mine.ss) };
	struct tl_addr peer = { .len = sizeof(peer.ss) };
	struct tl_addr r_mine, r_peer;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(getsockname(fd, &mine.sa, &mine.len));
	T_OK(getpeername(fd, &peer.sa, &peer.len));
	T_OK(r_getname(e, rfd, false, &r_mine));
	T_OK(r_getname(e, rfd, true, &r_peer));
	T_EQ(mine.sa.sa_family, e->proto->af);
	T_EQ(peer.sa.sa_family, e->proto->af);
	T_TRUE(tl_addr_same_host(&mine, &r_peer));
	T_TRUE(tl_addr_same_host(&peer, &r_mine));
	T_EQ(tl_addr_port(&mine), tl_addr_port(&r_peer));
	T_EQ(tl_addr_port(&peer), tl_addr_port(&r_mine));
}

static void bind_before_connect(struct api_env *e)
{
	struct tl_addr at = e->remote, mine = { .len = sizeof(mine.ss) };
	struct tl_addr seen;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = new_socket(e, 0);
	int rfd;

	T_OK(bind(fd, &e->local.sa, e->local.len));
	T_OK(getsockname(fd, &mine.sa, &mine.len));
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	T_OK(r_getname(e, rfd, true, &seen));
	T_EQ(tl_addr_port(&seen), tl_addr_port(&mine));
	api_roundtrip(e, fd, rfd, 11);
}

/* listen() without bind() chooses a port. */
static void listen_unbound(struct api_env *e)
{
	struct tl_addr at = { .len = sizeof(at.ss) };
	struct tl_addr to = e->local;
	int fd = new_socket(e, 0);
	int rfd, cfd;

	T_OK(listen(fd, 4));
	T_OK(getsockname(fd, &at.sa, &at.len));
	T_TRUE(tl_addr_port(&at) != 0);
	tl_addr_set_port(&to, tl_addr_port(&at));
	rfd = T_OK(r_socket(e, e->peer));
	r_later(e, 0);
	r_connect(e, rfd, &to);
	cfd = T_OK(accept(fd, NULL, NULL));
	T_OK(r_join(e));
	api_roundtrip(e, cfd, rfd, 12);
}

static void accept_address_and_flags(struct api_env *e)
{
	struct tl_addr at, from = { .len = sizeof(from.ss) }, r_mine;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	int fd;

	/* an accepted socket does not inherit the listener's flags */
	T_OK(tl_set_nonblock(lfd, true));
	T_ERR(accept(lfd, NULL, NULL), EAGAIN);
	T_EQ(api_poll(lfd, POLLIN, 0), 0);
	r_later(e, 0);
	r_connect(e, rfd, &at);
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	fd = T_OK(accept(lfd, &from.sa, &from.len));
	T_OK(r_join(e));
	T_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	T_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	T_OK(r_getname(e, rfd, false, &r_mine));
	T_EQ(from.len, e->local.len);
	T_EQ(from.sa.sa_family, e->proto->af);
	T_TRUE(tl_addr_same_host(&from, &r_mine));
	T_EQ(tl_addr_port(&from), tl_addr_port(&r_mine));
	T_OK(close(fd));
	T_OK(r_close(e, rfd));

	rfd = T_OK(r_socket(e, e->peer));
	r_later(e, 0);
	r_connect(e, rfd, &at);
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	fd = T_OK(accept4(lfd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	T_OK(r_join(e));
	T_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
	T_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	T_ERR(recv(fd, &at, 1, 0), EAGAIN);
}

static void accept_blocks(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	u64 t0 = tl_now_ns();
	int fd;

	r_later(e, 300);
	r_connect(e, rfd, &at);
	fd = T_OK(accept(lfd, NULL, NULL));
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	T_OK(r_join(e));
	api_roundtrip(e, fd, rfd, 13);
}

static void accept_timeout(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	u64 t0 = tl_now_ns();

	api_timeout(lfd, SO_RCVTIMEO, 300);
	T_ERR(accept(lfd, NULL, NULL), EAGAIN);
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
}

static void accept_interrupted(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));

	api_catch(SIGALRM, false);
	api_alarm(200);
	T_ERR(accept(lfd, NULL, NULL), EINTR);
	T_EQ(api_caught(), 1);
	/* with SA_RESTART the call continues and gets the connection */
	api_catch(SIGALRM, true);
	api_alarm(200);
	r_later(e, 500);
	r_connect(e, rfd, &at);
	T_OK(accept(lfd, NULL, NULL));
	T_EQ(api_caught(), 1);
	T_OK(r_join(e));
}

static void accept_many(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd[8], fd[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };

	/*
	 * All connect before the first accept(). TCP returns them in the order of connect(). The
	 * server finishes each CLC handshake in work of its own: see socket-api.rst.
	 */
	for (int i = 0; i < 8; i++) {
		rfd[i] = T_OK(r_socket(e, e->peer));
		T_OK(r_connect(e, rfd[i], &at));
	}
	for (int i = 0; i < 8; i++) {
		struct tl_addr from = { .len = sizeof(from.ss) }, r_mine;

		int got = T_OK(accept(lfd, &from.sa, &from.len)), who = 0;

		for (; who < 8; who++) {
			T_OK(r_getname(e, rfd[who], false, &r_mine));
			if (tl_addr_port(&from) == tl_addr_port(&r_mine))
				break;
		}
		T_TRUE(who < 8 && fd[who] < 0);
		fd[who] = got;
		if (e->require == TL_MODE_TCP)
			T_EQ(who, i);
	}
	for (int i = 7; i >= 0; i--)
		api_roundtrip(e, fd[i], rfd[i], 20 + i);
}

static void listen_again(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	int on = 0;
	socklen_t len = sizeof(on);
	int fd;

	T_OK(listen(lfd, 32));
	T_OK(getsockopt(lfd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len));
	T_EQ(on, 1);
	r_later(e, 0);
	r_connect(e, rfd, &at);
	fd = T_OK(accept(lfd, NULL, NULL));
	T_OK(r_join(e));
	/* the listener may close before its child */
	T_OK(close(lfd));
	T_OK(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len));
	T_EQ(on, 0);
	api_roundtrip(e, fd, rfd, 14);
}

/*
 * TCP_DEFER_ACCEPT: TCP reports no connection before its first bytes. The first bytes of an SMC
 * client are its CLC messages, so its connection is reported at the end of the handshake, with
 * application bytes or without.
 */
static void defer_accept(struct api_env *e)
{
	int lfd, rfd, fd, seconds = 5;
	struct tl_addr at;

	lfd = api_listener(e, &at);
	if (e->upgrade)
		api_teach_agent(e, lfd, &at);
	T_OK(setsockopt(lfd, SOL_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)));
	rfd = T_OK(r_socket(e, e->peer));
	T_OK(r_connect(e, rfd, &at));
	if (e->require != TL_MODE_SMCR && !e->declined)
		T_EQ(api_poll(lfd, POLLIN, API_QUIET_MS), 0);
	else
		T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_EQ(r_send(e, rfd, 17, 0, 100), 100);
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	fd = T_OK(accept(lfd, NULL, NULL));
	api_check_mode(e, fd);
	api_recv(fd, 17, 0, 100);
	api_roundtrip(e, fd, rfd, 18);
}

/* Return the name of the device that has this address. */
static void device_find(const struct tl_addr *a, char *name)
{
	struct ifaddrs *all, *i;
	struct tl_addr is;

	*name = '\0';
	T_OK(getifaddrs(&all));
	for (i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET &&
				     i->ifa_addr->sa_family != AF_INET6))
			continue;
		memcpy(&is.ss, i->ifa_addr, i->ifa_addr->sa_family == AF_INET ?
					    sizeof(is.in) : sizeof(is.in6));
		if (tl_addr_same_host(&is, a))
			snprintf(name, IFNAMSIZ, "%s", i->ifa_name);
	}
	freeifaddrs(all);
	T_TRUE(*name);
}

static char bound_device[IFNAMSIZ];

static void bind_device(int fd)
{
	char is[IFNAMSIZ];
	socklen_t len = sizeof(is);

	T_OK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, bound_device, strlen(bound_device)));
	T_OK(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, is, &len));
	T_EQ(strcmp(is, bound_device), 0);
}

/* Replace the name of a device by that of another one: lo, if it is not lo itself. */
static void device_replace(char *name, size_t size)
{
	struct if_nameindex *all = if_nameindex(), *other;

	T_TRUE(all);
	for (other = all; other->if_index && !strcmp(other->if_name, name);)
		other++;
	T_TRUE(other->if_index);
	snprintf(name, size, "%s", other->if_name);
	if_freenameindex(all);
}

/* Bound to its own device a socket works as usual; bound to another device it is unreachable. */
static void bind_to_device(struct api_env *e)
{
	struct tl_addr at = e->local;
	int fd, rfd;

	device_find(&e->local, bound_device);
	api_pair_of(e, bind_device, &fd, &rfd);
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, 19);
	device_replace(bound_device, sizeof(bound_device));
	fd = new_socket(e, SOCK_CLOEXEC);
	bind_device(fd);
	T_OK(bind(fd, &at.sa, at.len));
	T_OK(listen(fd, 1));
	T_OK(getsockname(fd, &at.sa, &at.len));
	rfd = T_OK(r_socket(e, e->peer));
	T_ERR(r_connect(e, rfd, &at), ECONNREFUSED);
}

/* Pending connections end with their listener. */
static void listener_closed_with_pending(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));

	T_OK(r_connect(e, rfd, &at));
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_OK(close(lfd));
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
	/* and the address refuses */
	rfd = T_OK(r_socket(e, e->peer));
	T_ERR(r_connect(e, rfd, &at), ECONNREFUSED);
}

static void rebind_after_close(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int one = 1;

	T_OK(close(lfd));
	lfd = new_socket(e, 0);
	T_OK(setsockopt(lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	T_OK(bind(lfd, &at.sa, at.len));
	T_OK(listen(lfd, 1));
}

/* The peer closes before accept(): the bytes it sent are still delivered. */
static void accept_after_peer_closed(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	char c;
	int fd;

	T_OK(r_connect(e, rfd, &at));
	T_EQ(r_send(e, rfd, 15, 0, 3000), 3000);
	T_OK(r_close(e, rfd));
	fd = T_OK(accept(lfd, NULL, NULL));
	api_recv(fd, 15, 0, 3000);
	T_EQ(recv(fd, &c, 1, 0), 0);
}

/* accept() returns a connection that was reset in the queue; its first call returns the error. */
static void accept_after_peer_reset(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	char c;
	int fd;

	T_OK(r_connect(e, rfd, &at));
	T_EQ(api_poll(lfd, POLLIN, API_PATIENCE_MS), POLLIN);
	r_reset(e, rfd);
	tl_sleep_ms(API_QUIET_MS);
	fd = T_OK(accept(lfd, NULL, NULL));
	T_ERR(recv(fd, &c, 1, 0), ECONNRESET);
	T_EQ(recv(fd, &c, 1, 0), 0);
}

/* A dual-stack listener accepts IPv4 peers under their v4-mapped addresses. */
static void dual_stack_listener(struct api_env *e)
{
	const struct tl_proto *v6 = tl_proto_variant(e->proto, AF_INET6);
	struct tl_addr any, to = e->local, from = { .len = sizeof(from.ss) }, r_mine;
	int lfd, rfd, fd, off = 0;

	T_OK(tl_addr_parse(&any, v6, NULL, 0));
	lfd = T_OK(socket(v6->domain, SOCK_STREAM, v6->protocol));
	T_OK(setsockopt(lfd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)));
	T_OK(bind(lfd, &any.sa, any.len));
	T_OK(listen(lfd, 4));
	T_OK(getsockname(lfd, &any.sa, &any.len));
	tl_addr_set_port(&to, tl_addr_port(&any));
	rfd = T_OK(r_socket(e, e->peer));
	r_later(e, 0);
	r_connect(e, rfd, &to);
	fd = T_OK(accept(lfd, &from.sa, &from.len));
	T_OK(r_join(e));
	T_OK(r_getname(e, rfd, false, &r_mine));
	T_EQ(from.sa.sa_family, AF_INET6);
	T_EQ(from.len, sizeof(struct sockaddr_in6));
	T_TRUE(IN6_IS_ADDR_V4MAPPED(&from.in6.sin6_addr));
	T_TRUE(tl_addr_same_host(&from, &r_mine));
	from.len = sizeof(from.ss);
	T_OK(getsockname(fd, &from.sa, &from.len));
	T_TRUE(IN6_IS_ADDR_V4MAPPED(&from.in6.sin6_addr));
	T_TRUE(tl_addr_same_host(&from, &e->local));
	api_roundtrip(e, fd, rfd, 16);
}

static void v6only_listener(struct api_env *e)
{
	const struct tl_proto *v6 = tl_proto_variant(e->proto, AF_INET6);
	struct tl_addr any, to = e->local;
	int lfd, rfd, on = 1;

	T_OK(tl_addr_parse(&any, v6, NULL, 0));
	lfd = T_OK(socket(v6->domain, SOCK_STREAM, v6->protocol));
	T_OK(setsockopt(lfd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)));
	T_OK(bind(lfd, &any.sa, any.len));
	T_OK(listen(lfd, 4));
	T_OK(getsockname(lfd, &any.sa, &any.len));
	tl_addr_set_port(&to, tl_addr_port(&any));
	rfd = T_OK(r_socket(e, e->peer));
	T_ERR(r_connect(e, rfd, &to), ECONNREFUSED);
}

/* An IPv6 socket reaches an IPv4 peer by its v4-mapped address. */
static void v4_mapped_connect(struct api_env *e)
{
	const struct tl_proto *v6 = tl_proto_variant(e->proto, AF_INET6);
	struct tl_addr at = e->remote, mapped = { .len = sizeof(mapped.in6) };
	struct tl_addr name = { .len = sizeof(name.ss) };
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd, rfd;

	mapped.in6.sin6_family = AF_INET6;
	mapped.in6.sin6_port = at.in.sin_port;
	memset(&mapped.in6.sin6_addr.s6_addr[10], 0xff, 2);
	memcpy(&mapped.in6.sin6_addr.s6_addr[12], &at.in.sin_addr, 4);
	fd = T_OK(socket(v6->domain, SOCK_STREAM, v6->protocol));
	T_OK(connect(fd, &mapped.sa, mapped.len));
	rfd = T_OK(r_accept(e, lfd));
	T_OK(getpeername(fd, &name.sa, &name.len));
	T_EQ(name.sa.sa_family, AF_INET6);
	T_TRUE(tl_addr_same_host(&name, &at));
	name.len = sizeof(name.ss);
	T_OK(getsockname(fd, &name.sa, &name.len));
	T_TRUE(IN6_IS_ADDR_V4MAPPED(&name.in6.sin6_addr));
	api_roundtrip(e, fd, rfd, 17);
}

static int save_syn(int fd)
{
	socklen_t len = sizeof(int);
	int val = -1;

	T_OK(getsockopt(fd, SOL_TCP, TCP_SAVE_SYN, &val, &len));
	T_EQ(len, sizeof(int));
	return val;
}

/* Make one connection; return the length of its TCP_SAVED_SYN. */
static socklen_t saved_syn_read(struct api_env *e, int lfd, struct tl_addr *at, u8 *buf,
				socklen_t len)
{
	int rfd = T_OK(r_socket(e, e->peer)), fd;
	socklen_t again = len;

	T_OK(r_connect(e, rfd, at));
	fd = T_OK(accept(lfd, NULL, NULL));
	T_EQ(save_syn(fd), save_syn(lfd));
	T_OK(getsockopt(fd, SOL_TCP, TCP_SAVED_SYN, buf, &len));
	/* it can be read once */
	T_OK(getsockopt(fd, SOL_TCP, TCP_SAVED_SYN, buf + len, &again));
	T_EQ(again, 0);
	api_roundtrip(e, fd, rfd, 40);
	return len;
}

/* Others may save the SYNs of a listener, too: the program sees only what it requested itself. */
static void saved_syn(struct api_env *e)
{
	struct tl_addr at;
	unsigned int net;
	u8 syn[2048];
	int lfd = api_listener(e, &at), on = 1, off = 0;
	socklen_t len;

	T_EQ(save_syn(lfd), 0);
	T_EQ(saved_syn_read(e, lfd, &at, syn, 1024), 0);

	T_OK(setsockopt(lfd, SOL_TCP, TCP_SAVE_SYN, &on, sizeof(on)));
	T_EQ(save_syn(lfd), 1);
	len = saved_syn_read(e, lfd, &at, syn, 1024);
	/* a v4-mapped peer of an IPv6 socket sends IPv4 */
	net = syn[0] >> 4 == 6 ? 40 : 20;
	T_TRUE(syn[0] >> 4 == 4 || (syn[0] >> 4 == 6 && e->proto->af == AF_INET6));
	T_TRUE(len >= net + 20);
	T_EQ(syn[net + 2] << 8 | syn[net + 3], tl_addr_port(&at));
	T_EQ(len, net + (syn[net + 12] >> 4) * 4);
	/*
	 * The experimental TCP option of an SMC peer is in the SYN as it was sent, unless the
	 * client has learned by the connection before that this one may begin as TCP.
	 */
	if (e->proto->smc && e->peer->smc && !e->upgrade)
		T_TRUE(memmem(syn, len, "\xfe\x06\xe2\xd4\xc3\xd9", 6));

	T_OK(setsockopt(lfd, SOL_TCP, TCP_SAVE_SYN, &off, sizeof(off)));
	T_EQ(save_syn(lfd), 0);
	T_EQ(saved_syn_read(e, lfd, &at, syn, 1024), 0);
	T_OK(close(lfd));
}

static const struct api_case cases[] = {
	{ "socket_flags",		socket_flags,			0 },
	{ "bind_getsockname",		bind_getsockname,		0 },
	{ "names_of_pair",		names_of_pair,			API_F_ROLES },
	{ "bind_before_connect",	bind_before_connect,		0 },
	{ "listen_unbound",		listen_unbound,			0 },
	{ "accept_address_and_flags",	accept_address_and_flags,	0 },
	{ "accept_blocks",		accept_blocks,			0 },
	{ "accept_timeout",		accept_timeout,			0 },
	{ "accept_interrupted",		accept_interrupted,		0 },
	{ "accept_many",		accept_many,			0 },
	{ "saved_syn",			saved_syn,			0 },
	{ "listen_again",		listen_again,			0 },
	{ "defer_accept",		defer_accept,			0 },
	{ "bind_to_device",		bind_to_device,			API_F_ROLES },
	{ "listener_closed_with_pending", listener_closed_with_pending,	0 },
	{ "rebind_after_close",		rebind_after_close,		0 },
	{ "accept_after_peer_closed",	accept_after_peer_closed,	0 },
	{ "accept_after_peer_reset",	accept_after_peer_reset,	0 },
	{ "dual_stack_listener",	dual_stack_listener,		API_F_V4 },
	{ "v6only_listener",		v6only_listener,		API_F_V4 },
	{ "v4_mapped_connect",		v4_mapped_connect,		API_F_V4 },
};

const struct api_group api_conn_group = { cases, TL_ARRAY_SIZE(cases) };
