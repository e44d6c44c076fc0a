// SPDX-License-Identifier: GPL-2.0-only
/* API cases: shutdown, close and reset, as each side sees them. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "api.h"

#define SEED	301

/* Send until the error of the closed peer shows. */
static int send_until_error(int fd, int flags)
{
	char c = 0;

	for (int i = 0; i < 100; i++) {
		if (send(fd, &c, 1, flags) < 0)
			return errno;
		tl_sleep_ms(20);
	}
	return 0;
}

static void shutdown_write(struct api_env *e)
{
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_catch(SIGPIPE, false);
	api_send(fd, SEED, 0, 70000);
	T_OK(shutdown(fd, SHUT_WR));
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(api_caught(), 0);
	T_ERR(send(fd, &c, 1, 0), EPIPE);
	T_EQ(api_caught(), 1);
	T_ERR(write(fd, &c, 1), EPIPE);
	T_EQ(api_caught(), 2);
	T_EQ(r_recv(e, rfd, SEED, 0, 70001), 70000);
	/* the other direction continues */
	T_EQ(r_send(e, rfd, SEED + 1, 0, 50000), 50000);
	api_recv(fd, SEED + 1, 0, 50000);
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(api_so_error(fd), 0);
}

static void shutdown_write_by_peer(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 60000), 60000);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	api_recv(fd, SEED, 0, 60000);
	T_EQ(recv(fd, &c, 1, 0), 0);
	r_later(e, 0);
	r_recv(e, rfd, SEED + 1, 0, 500000);
	api_send(fd, SEED + 1, 0, 500000);
	T_EQ(r_join(e), 500000);
	T_OK(close(fd));
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static void shutdown_read(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_OK(shutdown(fd, SHUT_RD));
	/* what is already here can still be read */
	api_recv(fd, SEED, 0, 10);
	T_EQ(recv(fd, &c, 1, 0), 0);
	/* the peer does not notice */
	api_send(fd, SEED, 0, 100);
	T_EQ(r_recv(e, rfd, SEED, 0, 100), 100);
	T_EQ(r_send(e, rfd, SEED, 0, 5), 5);
}

static void shutdown_both(struct api_env *e)
{
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_send(fd, SEED, 0, 100);
	T_OK(shutdown(fd, SHUT_RDWR));
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(r_recv(e, rfd, SEED, 0, 101), 100);
}

static void shutdown_twice(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(shutdown(fd, SHUT_WR));
	T_OK(shutdown(fd, SHUT_WR));
	T_OK(shutdown(fd, SHUT_RD));
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_OK(r_close(e, rfd));
	T_EQ(recv(fd, &c, 1, 0), 0);
}

static void close_clean(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_send(fd, SEED, 0, 100000);
	T_OK(close(fd));
	/* sent bytes arrive although the sender's descriptor is closed */
	T_EQ(r_recv(e, rfd, SEED, 0, 100001), 100000);
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_OK(r_close(e, rfd));
}

static void close_by_peer(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 40000), 40000);
	T_OK(r_close(e, rfd));
	api_recv(fd, SEED, 0, 40000);
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(api_so_error(fd), 0);
}

static void close_at_once(struct api_env *e)
{
	for (int i = 0; i < 5; i++) {
		int fd, rfd;

		api_pair(e, &fd, &rfd);
		T_OK(close(fd));
		T_EQ(r_recv_once(e, rfd, 1), 0);
		T_OK(r_close(e, rfd));
	}
}

/* close() returns at once; buffered bytes still go out to a peer that reads late. */
static void close_with_queued(struct api_env *e)
{
	u64 sent;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	sent = api_fill(fd, SEED, 0);
	T_OK(close(fd));
	tl_sleep_ms(API_QUIET_MS);
	T_EQ(r_recv(e, rfd, SEED, 0, sent + 1), sent);
}

/* With SO_LINGER close() waits until the peer has everything. */
static void close_lingering(struct api_env *e)
{
	struct linger l = { .l_onoff = 1, .l_linger = 10 };
	u64 sent;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	sent = api_fill(fd, SEED, 0);
	r_later(e, 200);
	r_recv(e, rfd, SEED, 0, sent + 1);
	T_OK(close(fd));
	T_EQ(r_join(e), sent);
}

/* Closing with unread bytes means lost data: the peer is reset. */
static void close_unread(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_OK(close(fd));
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
	T_EQ(r_recv_once(e, rfd, 1), 0);
	T_ERR(r_send(e, rfd, SEED, 0, 1), EPIPE);
}

static void close_unread_by_peer(struct api_env *e)
{
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_send(fd, SEED, 0, 100);
	T_EQ(r_poll(e, rfd, POLLIN, API_PATIENCE_MS), POLLIN);
	T_OK(r_close(e, rfd));
	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
	/* reported once, by the first call */
	T_EQ(api_so_error(fd), ECONNRESET);
	T_EQ(api_so_error(fd), 0);
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
}

static void reset_by_linger(struct api_env *e)
{
	struct linger l = { .l_onoff = 1 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	T_OK(close(fd));
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static void reset_seen_by_recv(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(r_linger0(e, rfd));
	/* the reader blocks when the reset arrives */
	r_later(e, 200);
	r_close(e, rfd);
	T_ERR(recv(fd, &c, 1, 0), ECONNRESET);
	T_OK(r_join(e));
	T_EQ(recv(fd, &c, 1, 0), 0);
	T_EQ(api_so_error(fd), 0);
}

static void reset_seen_by_send(struct api_env *e)
{
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	r_reset(e, rfd);
	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
	api_catch(SIGPIPE, false);
	/* the reset itself is no broken pipe, the next call is */
	T_ERR(send(fd, &c, 1, 0), ECONNRESET);
	T_EQ(api_caught(), 0);
	T_ERR(send(fd, &c, 1, 0), EPIPE);
	T_EQ(api_caught(), 1);
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(api_caught(), 1);
}

static void reset_wakes_sender(struct api_env *e)
{
	static char buf[1 << 20];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_fill(fd, SEED, 0);
	T_OK(r_linger0(e, rfd));
	r_later(e, 200);
	r_close(e, rfd);
	T_ERR(send(fd, buf, sizeof(buf), MSG_NOSIGNAL), ECONNRESET);
	T_OK(r_join(e));
	T_ERR(send(fd, buf, 1, MSG_NOSIGNAL), EPIPE);
}

static void reset_names(struct api_env *e)
{
	struct tl_addr name = { .len = sizeof(name.ss) };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	r_reset(e, rfd);
	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
	T_ERR(getpeername(fd, &name.sa, &name.len), ENOTCONN);
	T_ERR(shutdown(fd, SHUT_WR), ENOTCONN);
}

/* A closed peer takes no more bytes: after one round trip send() returns EPIPE. */
static void send_after_peer_close(struct api_env *e)
{
	char c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_OK(r_close(e, rfd));
	T_EQ(recv(fd, &c, 1, 0), 0);
	api_catch(SIGPIPE, false);
	T_EQ(send_until_error(fd, 0), EPIPE);
	T_EQ(api_caught(), 1);
	T_ERR(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	T_EQ(api_caught(), 1);
	T_EQ(recv(fd, &c, 1, 0), 0);
}

/* With SIGPIPE ignored only the errno remains. */
static void sigpipe_ignored(struct api_env *e)
{
	char c = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	signal(SIGPIPE, SIG_IGN);
	T_OK(shutdown(fd, SHUT_WR));
	T_ERR(write(fd, &c, 1), EPIPE);
}

/* Both close at the same moment. */
static void close_crossing(struct api_env *e)
{
	for (int i = 0; i < 5; i++) {
		int fd, rfd;

		api_pair(e, &fd, &rfd);
		r_later(e, 20);
		r_close(e, rfd);
		tl_sleep_ms(20);
		T_OK(close(fd));
		T_OK(r_join(e));
	}
}

static const struct api_case cases[] = {
	{ "shutdown_write",		shutdown_write,			API_F_ROLES },
	{ "shutdown_write_by_peer",	shutdown_write_by_peer,		API_F_ROLES },
	{ "shutdown_read",		shutdown_read,			API_F_ROLES },
	{ "shutdown_both",		shutdown_both,			API_F_ROLES },
	{ "shutdown_twice",		shutdown_twice,			API_F_ROLES },
	{ "close_clean",		close_clean,			API_F_ROLES },
	{ "close_by_peer",		close_by_peer,			API_F_ROLES },
	{ "close_at_once",		close_at_once,			API_F_ROLES },
	{ "close_with_queued",		close_with_queued,		API_F_ROLES },
	{ "close_lingering",		close_lingering,		API_F_ROLES },
	{ "close_unread",		close_unread,			API_F_ROLES },
	{ "close_unread_by_peer",	close_unread_by_peer,		API_F_ROLES },
	{ "reset_by_linger",		reset_by_linger,		API_F_ROLES },
	{ "reset_seen_by_recv",		reset_seen_by_recv,		API_F_ROLES },
	{ "reset_seen_by_send",		reset_seen_by_send,		API_F_ROLES },
	{ "reset_wakes_sender",		reset_wakes_sender,		API_F_ROLES },
	{ "reset_names",		reset_names,			API_F_ROLES },
	{ "send_after_peer_close",	send_after_peer_close,		API_F_ROLES },
	{ "sigpipe_ignored",		sigpipe_ignored,		0 },
	{ "close_crossing",		close_crossing,			API_F_ROLES },
};

const struct api_group api_close_group = { cases, TL_ARRAY_SIZE(cases) };
