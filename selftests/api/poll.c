// SPDX-License-Identifier: GPL-2.0-only
/* API cases: poll, select and epoll. */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "api.h"

#define SEED		201
#define POLL_ALL	(POLLIN | POLLPRI | POLLOUT | POLLRDHUP)
#define EPOLL_ALL	(EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP)
#define EDGES		20
#define EDGE_QUIET_MS	20

static int epoll_with(int fd, u32 events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };
	int ep = T_OK(epoll_create1(EPOLL_CLOEXEC));

	T_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

/* Return the events of the next report, or 0 if none comes in time. */
static int next_event(int ep, int timeout_ms)
{
	struct epoll_event ev[2];
	int n = T_OK(epoll_wait(ep, ev, 2, timeout_ms));

	T_TRUE(n <= 1);
	return n ? (int)ev[0].events : 0;
}

/*
 * Count the reports until @quiet_ms after the first. Never sleeps: a watcher that wakes up late
 * sees two wake-ups in a row as one report.
 */
static int count_events(int ep, unsigned int quiet_ms)
{
	u64 end = tl_now_ns() + API_PATIENCE_MS * 1000000ULL;
	int n = 0;

	while (tl_now_ns() < end) {
		if (!next_event(ep, 0))
			continue;
		if (!n++)
			end = tl_now_ns() + quiet_ms * 1000000ULL;
	}
	return n;
}

static void poll_fresh(struct api_env *e)
{
	int fd = T_OK(socket(e->proto->domain, SOCK_STREAM, e->proto->protocol));

	T_EQ(api_poll(fd, POLL_ALL, 0), POLLOUT | POLLHUP);
	T_OK(bind(fd, &e->local.sa, e->local.len));
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLOUT | POLLHUP);
	T_OK(listen(fd, 1));
	T_EQ(api_poll(fd, POLL_ALL, 0), 0);
}

static void poll_connected(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(api_poll(fd, POLL_ALL, API_PATIENCE_MS), POLLOUT);
	T_EQ(api_poll(fd, POLLIN, API_QUIET_MS), 0);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_EQ(api_poll(fd, POLL_ALL | POLLRDNORM | POLLWRNORM, 0),
	     POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM);
	/* level-triggered: reported until everything is read */
	api_recv(fd, SEED, 0, 99);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT);
	api_recv(fd, SEED, 99, 1);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLOUT);
}

static void poll_wakes(struct api_env *e)
{
	u64 t0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	t0 = tl_now_ns();
	r_later(e, 300);
	r_send(e, rfd, SEED, 0, 1);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_TRUE(tl_now_ns() - t0 >= 250 * TL_NSEC_PER_MSEC);
	T_EQ(r_join(e), 1);
	api_recv(fd, SEED, 0, 1);
	r_later(e, 300);
	r_shutdown(e, rfd, SHUT_WR);
	T_EQ(api_poll(fd, POLLIN | POLLRDHUP, API_PATIENCE_MS), POLLIN | POLLRDHUP);
	T_OK(r_join(e));
}

static void poll_interrupted(struct api_env *e)
{
	struct pollfd p = { .events = POLLIN };
	int rfd;

	api_pair(e, &p.fd, &rfd);
	api_catch(SIGALRM, true);
	api_alarm(200);
	T_ERR(poll(&p, 1, API_PATIENCE_MS), EINTR);
	T_EQ(api_caught(), 1);
}

static void poll_full_and_drained(struct api_env *e)
{
	u64 sent;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	sent = api_fill(fd, SEED, 0);
	T_EQ(api_poll(fd, POLL_ALL, 0), 0);
	/* the reader makes room while poll() sleeps */
	r_later(e, 200);
	r_recv(e, rfd, SEED, 0, sent);
	T_EQ(api_poll(fd, POLLOUT, API_PATIENCE_MS), POLLOUT);
	T_EQ(r_join(e), sent);
}

static void poll_after_peer_shutdown(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(api_poll(fd, POLLRDHUP, API_PATIENCE_MS), POLLRDHUP);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP);
	api_recv(fd, SEED, 0, 10);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP);
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP);
	/* both directions ended: hang-up */
	T_OK(shutdown(fd, SHUT_WR));
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

static void poll_after_own_shutdown(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(shutdown(fd, SHUT_WR));
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLOUT);
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_OK(shutdown(fd, SHUT_RD));
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

static void poll_after_reset(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	r_reset(e, rfd);
	/* POLLERR and POLLHUP are reported unrequested */
	T_EQ(api_poll(fd, 0, API_PATIENCE_MS), POLLERR | POLLHUP);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	T_ERR(recv(fd, &c, 1, 0), ECONNRESET);
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

static int do_select(int fd, bool rd, bool wr, bool ex, int timeout_ms)
{
	struct timeval tv = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	fd_set r, w, x;
	int n;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&x);
	if (rd)
		FD_SET(fd, &r);
	if (wr)
		FD_SET(fd, &w);
	if (ex)
		FD_SET(fd, &x);
	n = T_OK(select(fd + 1, &r, &w, &x, &tv));
	if (!n)
		return 0;
	return (FD_ISSET(fd, &r) ? 1 : 0) + (FD_ISSET(fd, &w) ? 2 : 0) +
	       (FD_ISSET(fd, &x) ? 4 : 0);
}

static void select_all(struct api_env *e)
{
	u64 sent;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(do_select(fd, true, true, true, 0), 2);
	T_EQ(do_select(fd, true, false, true, API_QUIET_MS), 0);
	r_later(e, 200);
	r_send(e, rfd, SEED, 0, 5);
	T_EQ(do_select(fd, true, false, true, API_PATIENCE_MS), 1);
	T_EQ(r_join(e), 5);
	api_recv(fd, SEED, 0, 5);
	sent = api_fill(fd, SEED, 0);
	T_EQ(do_select(fd, true, true, true, 0), 0);
	r_later(e, 100);
	r_recv(e, rfd, SEED, 0, sent);
	T_EQ(do_select(fd, false, true, true, API_PATIENCE_MS), 2);
	T_EQ(r_join(e), sent);
	T_OK(r_close(e, rfd));
	T_EQ(do_select(fd, true, false, false, API_PATIENCE_MS), 1);
}

static void epoll_level(struct api_env *e)
{
	int fd, rfd, ep;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLLIN | EPOLLRDHUP);
	T_EQ(next_event(ep, 0), 0);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN);
	T_EQ(next_event(ep, 0), EPOLLIN);
	api_recv(fd, SEED, 0, 50);
	T_EQ(next_event(ep, 0), EPOLLIN);
	api_recv(fd, SEED, 50, 50);
	T_EQ(next_event(ep, API_QUIET_MS), 0);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN | EPOLLRDHUP);
	T_EQ(next_event(ep, 0), EPOLLIN | EPOLLRDHUP);
}

/* The change to RDMA wakes those who wait, once, whatever they wait for. */
static void no_edge(const struct api_env *e, int ep)
{
	static bool changed;
	int events = next_event(ep, API_QUIET_MS);

	if (events && e->upgrade && !changed) {
		changed = true;
		events = next_event(ep, API_QUIET_MS);
	}
	T_EQ(events, 0);
}

static void epoll_edge(struct api_env *e)
{
	int fd, rfd, ep, edges;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLL_ALL | EPOLLET);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLOUT);
	no_edge(e, ep);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN | EPOLLOUT);
	/* once, although nothing was read */
	no_edge(e, ep);
	/* reading causes no report; new data does, even behind old data */
	api_recv(fd, SEED, 0, 40);
	no_edge(e, ep);
	T_EQ(r_send(e, rfd, SEED, 100, 100), 100);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN | EPOLLOUT);
	no_edge(e, ep);
	api_recv(fd, SEED, 40, 160);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	/* TCP wakes for the shutdown and for the data before it, even if there is none */
	edges = count_events(ep, API_QUIET_MS);
	T_TRUE(edges == 1 || (edges == 2 && e->require != TL_MODE_SMCR));
	T_EQ(api_poll(fd, POLL_ALL, 0), POLLIN | POLLOUT | POLLRDHUP);
}

/* One message, one edge, counted by a watcher that never sleeps. */
static void epoll_edge_once(struct api_env *e)
{
	int fd, rfd, ep, i;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLL_ALL | EPOLLET);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLOUT);
	for (i = 0; i < EDGES; i++) {
		r_later(e, 1);
		r_send(e, rfd, SEED, i, 1);
		T_EQ(count_events(ep, EDGE_QUIET_MS), 1);
		T_EQ(r_join(e), 1);
	}
	api_recv(fd, SEED, 0, EDGES);
}

static void epoll_edge_writable(struct api_env *e)
{
	u64 sent;
	int fd, rfd, ep;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLLOUT | EPOLLET);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLOUT);
	T_EQ(next_event(ep, 0), 0);
	sent = api_fill(fd, SEED, 0);
	/* discard a stale report: room may have appeared and gone while filling */
	next_event(ep, 0);
	T_EQ(next_event(ep, API_QUIET_MS), 0);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLOUT);
	api_roundtrip(e, fd, rfd, SEED);
}

static void epoll_edge_reset(struct api_env *e)
{
	int fd, rfd, ep;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
	T_EQ(next_event(ep, 0), 0);
	r_reset(e, rfd);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP);
	T_EQ(api_so_error(fd), ECONNRESET);
}

static void epoll_oneshot(struct api_env *e)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };
	int fd, rfd, ep;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLLIN | EPOLLONESHOT);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN);
	T_EQ(next_event(ep, 0), 0);
	T_EQ(r_send(e, rfd, SEED, 10, 10), 10);
	T_EQ(next_event(ep, API_QUIET_MS), 0);
	T_OK(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev));
	T_EQ(next_event(ep, API_PATIENCE_MS), EPOLLIN);
	api_recv(fd, SEED, 0, 20);
}

static void epoll_listener(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int lt = epoll_with(lfd, EPOLLIN);
	int et = epoll_with(lfd, EPOLLIN | EPOLLET);
	int rfd = T_OK(r_socket(e, e->peer));

	T_EQ(next_event(lt, 0), 0);
	T_EQ(next_event(et, 0), 0);
	T_OK(r_connect(e, rfd, &at));
	T_EQ(next_event(lt, API_PATIENCE_MS), EPOLLIN);
	T_EQ(next_event(et, API_PATIENCE_MS), EPOLLIN);
	T_EQ(next_event(lt, 0), EPOLLIN);
	T_EQ(next_event(et, 0), 0);
	T_OK(accept(lfd, NULL, NULL));
	T_EQ(next_event(lt, 0), 0);
}

/* An epoll set can itself be watched. */
static void epoll_nested(struct api_env *e)
{
	int fd, rfd, inner, outer;

	api_pair(e, &fd, &rfd);
	inner = epoll_with(fd, EPOLLIN);
	outer = epoll_with(inner, EPOLLIN);
	T_EQ(next_event(outer, 0), 0);
	r_later(e, 200);
	r_send(e, rfd, SEED, 0, 10);
	T_EQ(next_event(outer, API_PATIENCE_MS), EPOLLIN);
	T_EQ(next_event(inner, 0), EPOLLIN);
	T_EQ(r_join(e), 10);
}

/* Closing the socket removes it from the set. */
static void epoll_close(struct api_env *e)
{
	int fd, rfd, ep;

	api_pair(e, &fd, &rfd);
	ep = epoll_with(fd, EPOLLIN | EPOLLOUT);
	T_EQ(next_event(ep, 0), EPOLLOUT);
	T_OK(close(fd));
	T_EQ(next_event(ep, API_QUIET_MS), 0);
}

static const struct api_case cases[] = {
	{ "poll_fresh",			poll_fresh,			0 },
	{ "poll_connected",		poll_connected,			API_F_ROLES },
	{ "poll_wakes",			poll_wakes,			API_F_ROLES },
	{ "poll_interrupted",		poll_interrupted,		0 },
	{ "poll_full_and_drained",	poll_full_and_drained,		API_F_ROLES },
	{ "poll_after_peer_shutdown",	poll_after_peer_shutdown,	API_F_ROLES },
	{ "poll_after_own_shutdown",	poll_after_own_shutdown,	API_F_ROLES },
	{ "poll_after_reset",		poll_after_reset,		API_F_ROLES },
	{ "select_all",			select_all,			API_F_ROLES },
	{ "epoll_level",		epoll_level,			API_F_ROLES },
	{ "epoll_edge",			epoll_edge,			API_F_ROLES },
	{ "epoll_edge_once",		epoll_edge_once,		API_F_ROLES },
	{ "epoll_edge_writable",	epoll_edge_writable,		API_F_ROLES },
	{ "epoll_edge_reset",		epoll_edge_reset,		API_F_ROLES },
	{ "epoll_oneshot",		epoll_oneshot,			0 },
	{ "epoll_listener",		epoll_listener,			0 },
	{ "epoll_nested",		epoll_nested,			0 },
	{ "epoll_close",		epoll_close,			0 },
};

const struct api_group api_poll_group = { cases, TL_ARRAY_SIZE(cases) };
