// SPDX-License-Identifier: GPL-2.0-only
/* The agent of the API tests, and the calls that drive it. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define RPC_MAGIC	0x52504331U
#define RPC_BUF		(256U << 10)

enum rpc_op {
	RPC_SOCKET,
	RPC_LISTEN,
	RPC_CONNECT,
	RPC_ACCEPT,
	RPC_BLACKHOLE,
	RPC_SEND,
	RPC_RECV,
	RPC_RECV_ONCE,
	RPC_SHUTDOWN,
	RPC_CLOSE,
	RPC_LINGER0,
	RPC_POLL,
	RPC_GETNAME,
};

/**
 * struct rpc - a call and, returned in the same form, its result
 * @magic: RPC_MAGIC; also shows that both hosts have the same byte order
 * @op: enum rpc_op
 * @fd: descriptor at the agent
 * @delay_ms: pause before the call
 * @arg: backlog, direction, events, flags ...
 * @timeout_ms: of RPC_POLL
 * @seed: names the byte stream
 * @off: offset in it
 * @len: bytes
 * @proto: family name
 * @addr: address in or out
 * @ret: value the call returned
 * @err: its errno
 * @pad: zero
 */
struct rpc {
	u32 magic;
	u32 op;
	s32 fd;
	u32 delay_ms;
	s32 arg;
	s32 timeout_ms;
	u64 seed;
	u64 off;
	u64 len;
	char proto[16];
	struct tl_addr addr;
	s64 ret;
	s32 err;
	u32 pad;
};

/* ---- agent ---- */

static int agent_listen(struct rpc *c, const struct tl_proto *p)
{
	int fd = tl_listen(p, &c->addr, c->arg);

	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

/*
 * A listener that answers no SYN: a connection of our own fills its queue of one. Always plain TCP,
 * because only there the queue is the kernel's.
 */
static int agent_blackhole(struct rpc *c, const struct tl_proto *p)
{
	struct pollfd pfd = { .events = POLLIN };
	int fd, filler;

	c->arg = 0;
	fd = agent_listen(c, p);
	if (fd < 0)
		return -1;
	filler = tl_connect(p, NULL, &c->addr);
	pfd.fd = fd;
	if (filler >= 0 && poll(&pfd, 1, API_PATIENCE_MS) == 1)
		return fd;
	errno = filler < 0 ? -filler : ETIMEDOUT;
	return -1;
}

static long long agent_send(const struct rpc *c)
{
	static u8 buf[RPC_BUF];
	u64 done = 0;

	while (done < c->len) {
		size_t n = c->len - done < sizeof(buf) ? c->len - done : sizeof(buf);
		ssize_t sent;

		tl_fill(c->seed, c->off + done, buf, n);
		/* flags that concern the last byte belong to the last piece */
		sent = send(c->fd, buf, n, MSG_NOSIGNAL | (done + n == c->len ? c->arg : 0));
		if (sent < 0)
			return done ? (long long)done : -1;
		done += sent;
	}
	return done;
}

static long long agent_recv(const struct rpc *c)
{
	static u8 buf[RPC_BUF];
	u64 done = 0;

	while (done < c->len) {
		size_t want = c->len - done < sizeof(buf) ? c->len - done : sizeof(buf);
		ssize_t n = recv(c->fd, buf, want, 0);

		if (n < 0)
			return -1;
		if (!n)
			break;
		if (tl_check(c->seed, c->off + done, buf, n) >= 0) {
			errno = EBADMSG;
			return -1;
		}
		done += n;
	}
	return done;
}

static long long agent_recv_once(const struct rpc *c)
{
	static u8 buf[RPC_BUF];

	return recv(c->fd, buf, c->len < sizeof(buf) ? c->len : sizeof(buf), 0);
}

static int agent_linger0(const struct rpc *c)
{
	struct linger l = { .l_onoff = 1 };

	return setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

static int agent_poll(const struct rpc *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = c->arg };
	int n = poll(&pfd, 1, c->timeout_ms);

	return n < 0 ? -1 : n ? pfd.revents : 0;
}

static int agent_getname(struct rpc *c)
{
	c->addr.len = sizeof(c->addr.ss);
	return c->arg ? getpeername(c->fd, &c->addr.sa, &c->addr.len) :
			getsockname(c->fd, &c->addr.sa, &c->addr.len);
}

static long long agent_call(struct rpc *c)
{
	const struct tl_proto *p = NULL;

	c->proto[sizeof(c->proto) - 1] = '\0';
	if (*c->proto) {
		p = tl_proto_find(c->proto);
		if (!p) {
			errno = EINVAL;
			return -1;
		}
	}
	switch (c->op) {
	case RPC_SOCKET:
		return p ? socket(p->domain, SOCK_STREAM | SOCK_CLOEXEC, p->protocol) : -1;
	case RPC_LISTEN:
		return p ? agent_listen(c, p) : -1;
	case RPC_BLACKHOLE:
		return p ? agent_blackhole(c, p) : -1;
	case RPC_CONNECT:
		return connect(c->fd, &c->addr.sa, c->addr.len);
	case RPC_ACCEPT:
		return accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
	case RPC_SEND:
		return agent_send(c);
	case RPC_RECV:
		return agent_recv(c);
	case RPC_RECV_ONCE:
		return agent_recv_once(c);
	case RPC_SHUTDOWN:
		return shutdown(c->fd, c->arg);
	case RPC_CLOSE:
		return close(c->fd);
	case RPC_LINGER0:
		return agent_linger0(c);
	case RPC_POLL:
		return agent_poll(c);
	case RPC_GETNAME:
		return agent_getname(c);
	}
	errno = EINVAL;
	return -1;
}

/* One process per control connection: everything that a case leaves open ends with it. */
static void agent_conn(int ctl)
{
	struct rpc c;

	while (tl_recv_all(ctl, &c, sizeof(c)) == sizeof(c) && c.magic == RPC_MAGIC) {
		if (c.fd == ctl)
			break;
		if (c.delay_ms)
			tl_sleep_ms(c.delay_ms);
		errno = 0;
		c.ret = agent_call(&c);
		c.err = errno;
		if (tl_send_all(ctl, &c, sizeof(c)) < 0)
			break;
	}
	_exit(0);
}

/**
 * api_agent_run() - serve control connections for ever
 * @listener: plain TCP listener
 */
void api_agent_run(int listener)
{
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int ctl = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (ctl < 0)
			continue;
		if (!fork()) {
			close(listener);
			agent_conn(ctl);
		}
		close(ctl);
	}
}

/* ---- caller ---- */

static long long reply_read(struct api_env *e, struct rpc *c)
{
	if (tl_recv_all(e->ctl, c, sizeof(*c)) != sizeof(*c) || c->magic != RPC_MAGIC) {
		printf("# the agent is gone\n");
		_exit(2);
	}
	errno = c->err;
	return c->ret;
}

static long long agent_request(struct api_env *e, struct rpc *c, enum rpc_op op, int rfd)
{
	bool later = e->later;

	c->magic = RPC_MAGIC;
	c->op = op;
	c->fd = rfd;
	c->delay_ms = e->delay_ms;
	e->delay_ms = 0;
	e->later = false;
	if (tl_send_all(e->ctl, c, sizeof(*c)) < 0) {
		printf("# the agent is gone\n");
		_exit(2);
	}
	return later ? 0 : reply_read(e, c);
}

/**
 * r_later() - run the next agent call in the background
 * @e: environment
 * @delay_ms: delay before it starts
 *
 * r_join() returns its result; until then no other agent call may be made.
 */
void r_later(struct api_env *e, unsigned int delay_ms)
{
	e->later = true;
	e->delay_ms = delay_ms;
}

long long r_join(struct api_env *e)
{
	struct rpc c;

	return reply_read(e, &c);
}

int r_socket(struct api_env *e, const struct tl_proto *p)
{
	struct rpc c = { 0 };

	snprintf(c.proto, sizeof(c.proto), "%s", p->name);
	return agent_request(e, &c, RPC_SOCKET, -1);
}

int r_listen_at(struct api_env *e, const struct tl_proto *p, struct tl_addr *at, int backlog)
{
	struct rpc c = { .addr = *at, .arg = backlog };
	int ret;

	snprintf(c.proto, sizeof(c.proto), "%s", p->name);
	ret = agent_request(e, &c, RPC_LISTEN, -1);
	*at = c.addr;
	return ret;
}

/**
 * r_blackhole() - an address at the agent whose SYNs stay unanswered
 * @e: environment
 * @at: receives the address
 *
 * Two r_accept() on the result end this: the next SYN retransmission gets through.
 *
 * Return: listener at the agent, or -1.
 */
int r_blackhole(struct api_env *e, struct tl_addr *at)
{
	struct rpc c = { .addr = e->remote };
	int ret;

	snprintf(c.proto, sizeof(c.proto), "%s", e->peer->af == AF_INET6 ? "inet6" : "inet");
	ret = agent_request(e, &c, RPC_BLACKHOLE, -1);
	*at = c.addr;
	return ret;
}

int r_connect(struct api_env *e, int rfd, const struct tl_addr *to)
{
	struct rpc c = { .addr = *to };

	return agent_request(e, &c, RPC_CONNECT, rfd);
}

int r_accept(struct api_env *e, int rfd)
{
	struct rpc c = { 0 };

	return agent_request(e, &c, RPC_ACCEPT, rfd);
}

long long r_send_flags(struct api_env *e, int rfd, u64 seed, u64 off, size_t len, int flags)
{
	struct rpc c = { .seed = seed, .off = off, .len = len, .arg = flags };

	return agent_request(e, &c, RPC_SEND, rfd);
}

long long r_send(struct api_env *e, int rfd, u64 seed, u64 off, size_t len)
{
	return r_send_flags(e, rfd, seed, off, len, 0);
}

/* Receive exactly @len bytes, or up to the end of the stream, and compare them. */
long long r_recv(struct api_env *e, int rfd, u64 seed, u64 off, size_t len)
{
	struct rpc c = { .seed = seed, .off = off, .len = len };

	return agent_request(e, &c, RPC_RECV, rfd);
}

/* One plain recv(). */
long long r_recv_once(struct api_env *e, int rfd, size_t len)
{
	struct rpc c = { .len = len };

	return agent_request(e, &c, RPC_RECV_ONCE, rfd);
}

int r_shutdown(struct api_env *e, int rfd, int how)
{
	struct rpc c = { .arg = how };

	return agent_request(e, &c, RPC_SHUTDOWN, rfd);
}

int r_close(struct api_env *e, int rfd)
{
	struct rpc c = { 0 };

	return agent_request(e, &c, RPC_CLOSE, rfd);
}

int r_linger0(struct api_env *e, int rfd)
{
	struct rpc c = { 0 };

	return agent_request(e, &c, RPC_LINGER0, rfd);
}

int r_poll(struct api_env *e, int rfd, short events, int timeout_ms)
{
	struct rpc c = { .arg = events, .timeout_ms = timeout_ms };

	return agent_request(e, &c, RPC_POLL, rfd);
}

int r_getname(struct api_env *e, int rfd, bool peer, struct tl_addr *out)
{
	struct rpc c = { .arg = peer };
	int ret = agent_request(e, &c, RPC_GETNAME, rfd);

	*out = c.addr;
	return ret;
}

/* The peer resets the connection. */
void r_reset(struct api_env *e, int rfd)
{
	T_OK(r_linger0(e, rfd));
	T_OK(r_close(e, rfd));
}
