// SPDX-License-Identifier: GPL-2.0-only
/* API cases: several processes with one socket, and the effect of their exit. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define SEED	401

/* Run @fn(fd) in a child process after a delay. */
static pid_t child_run(void (*fn)(int fd), int fd, unsigned int delay_ms)
{
	pid_t pid = T_OK(fork());

	if (pid)
		return pid;
	tl_sleep_ms(delay_ms);
	fn(fd);
	_exit(0);
}

static void child_reap(pid_t pid)
{
	int status = -1;

	T_EQ(waitpid(pid, &status, 0), pid);
	T_EQ(status, 0);
}

static void child_sends(int fd)
{
	api_send(fd, SEED, 0, 50000);
}

static void child_receives(int fd)
{
	api_recv(fd, SEED, 0, 50000);
}

static void child_idles(int fd)
{
	(void)fd;
	tl_sleep_ms(300);
}

static void child_shuts_rd(int fd)
{
	T_OK(shutdown(fd, SHUT_RD));
}

static void child_shuts_all(int fd)
{
	T_OK(shutdown(fd, SHUT_RDWR));
}

static void fork_shares(struct api_env *e)
{
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	child_reap(child_run(child_sends, fd, 0));
	T_EQ(r_recv(e, rfd, SEED, 0, 50000), 50000);
	T_EQ(r_send(e, rfd, SEED, 0, 50000), 50000);
	child_reap(child_run(child_receives, fd, 0));
	/* the connection ends with the last descriptor, not with the first */
	pid = child_run(child_idles, fd, 0);
	T_OK(close(fd));
	T_EQ(r_poll(e, rfd, POLLIN, API_QUIET_MS), 0);
	child_reap(pid);
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static void fork_both_directions(struct api_env *e)
{
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	pid = child_run(child_sends, fd, 0);
	T_EQ(r_send(e, rfd, SEED, 0, 50000), 50000);
	api_recv(fd, SEED, 0, 50000);
	T_EQ(r_recv(e, rfd, SEED, 0, 50000), 50000);
	child_reap(pid);
}

static void fork_accepts(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	pid_t pid = T_OK(fork());
	int rfd;

	/* classic server: the child takes the connection, the parent keeps listening */
	if (!pid) {
		int fd = T_OK(accept(lfd, NULL, NULL));

		api_recv(fd, SEED, 0, 1000);
		api_send(fd, SEED + 1, 0, 1000);
		_exit(0);
	}
	rfd = T_OK(r_socket(e, e->peer));
	T_OK(r_connect(e, rfd, &at));
	T_EQ(r_send(e, rfd, SEED, 0, 1000), 1000);
	T_EQ(r_recv(e, rfd, SEED + 1, 0, 1001), 1000);
	child_reap(pid);
}

static void child_serves(int lfd)
{
	int fd;

	while ((fd = accept(lfd, NULL, NULL)) >= 0) {
		api_recv(fd, SEED, 0, 1000);
		api_send(fd, SEED + 1, 0, 1000);
		T_OK(close(fd));
	}
	T_EQ(errno, EINVAL);
}

#define CLIENTS	8

/* All connect, all send: the children may accept them in any order. */
static void served(struct api_env *e, const struct tl_addr *at)
{
	int rfd[CLIENTS];

	for (int i = 0; i < CLIENTS; i++) {
		rfd[i] = T_OK(r_socket(e, e->peer));
		T_OK(r_connect(e, rfd[i], at));
	}
	for (int i = 0; i < CLIENTS; i++)
		T_EQ(r_send(e, rfd[i], SEED, 0, 1000), 1000);
	for (int i = 0; i < CLIENTS; i++) {
		T_EQ(r_recv(e, rfd[i], SEED + 1, 0, 1001), 1000);
		T_OK(r_close(e, rfd[i]));
	}
}

/* Several processes sleep in accept(). None of the connections is lost with one that is killed. */
static void fork_accept_all(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	pid_t pid[4];

	for (int i = 0; i < 4; i++)
		pid[i] = child_run(child_serves, lfd, 0);
	served(e, &at);
	for (int i = 0; i < 2; i++) {
		T_OK(kill(pid[i], SIGKILL));
		T_EQ(waitpid(pid[i], NULL, 0), pid[i]);
		served(e, &at);
	}
	T_OK(shutdown(lfd, SHUT_RDWR));
	child_reap(pid[2]);
	child_reap(pid[3]);
}

static void exit_closes(struct api_env *e)
{
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	pid = child_run(child_idles, fd, 0);
	T_OK(close(fd));
	T_OK(kill(pid, SIGKILL));
	T_EQ(waitpid(pid, NULL, 0), pid);
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static void kill_with_unread(struct api_env *e)
{
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	pid = child_run(child_idles, fd, 0);
	T_OK(close(fd));
	T_OK(kill(pid, SIGKILL));
	T_EQ(waitpid(pid, NULL, 0), pid);
	T_ERR(r_recv_once(e, rfd, 1), ECONNRESET);
}

static void kill_while_blocked(struct api_env *e)
{
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	/* the child blocks in recv() when the signal arrives */
	pid = child_run(child_receives, fd, 0);
	T_OK(close(fd));
	tl_sleep_ms(API_QUIET_MS);
	T_OK(kill(pid, SIGKILL));
	T_EQ(waitpid(pid, NULL, 0), pid);
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static void shutdown_wakes_recv(struct api_env *e)
{
	char c;
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	pid = child_run(child_shuts_rd, fd, 200);
	T_EQ(recv(fd, &c, 1, 0), 0);
	child_reap(pid);
}

static void shutdown_wakes_send(struct api_env *e)
{
	static char buf[1 << 20];
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	api_fill(fd, SEED, 0);
	pid = child_run(child_shuts_all, fd, 200);
	T_ERR(send(fd, buf, sizeof(buf), MSG_NOSIGNAL), EPIPE);
	child_reap(pid);
}

static void shutdown_wakes_accept(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	pid_t pid = child_run(child_shuts_rd, lfd, 200);

	T_ERR(accept(lfd, NULL, NULL), EINVAL);
	child_reap(pid);
}

static void shutdown_wakes_poll(struct api_env *e)
{
	int fd, rfd;
	pid_t pid;

	api_pair(e, &fd, &rfd);
	pid = child_run(child_shuts_all, fd, 200);
	T_EQ(api_poll(fd, POLLIN | POLLRDHUP, API_PATIENCE_MS), POLLIN | POLLRDHUP | POLLHUP);
	child_reap(pid);
}

static void child_takes_fd(int unix_fd)
{
	int fd = tl_recv_fd(unix_fd);

	api_recv(fd, SEED, 0, 20000);
	api_send(fd, SEED + 1, 0, 20000);
	T_OK(close(fd));
}

/* A connected descriptor works after it was passed to another process. */
static void pass_connected(struct api_env *e)
{
	int fd, rfd, sv[2];
	pid_t pid;

	T_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	/* forked before the connection exists: the child gets the descriptor only by the message */
	pid = child_run(child_takes_fd, sv[1], 0);
	api_pair(e, &fd, &rfd);
	T_EQ(tl_send_fd(sv[0], fd), 0);
	T_OK(close(fd));
	T_EQ(r_send(e, rfd, SEED, 0, 20000), 20000);
	T_EQ(r_recv(e, rfd, SEED + 1, 0, 20001), 20000);
	child_reap(pid);
}

/* For a while only the message holds the descriptor. */
static void pass_in_flight(struct api_env *e)
{
	int fd, rfd, sv[2];

	T_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	api_pair(e, &fd, &rfd);
	T_EQ(tl_send_fd(sv[0], fd), 0);
	T_OK(close(fd));
	T_EQ(r_send(e, rfd, SEED, 0, 1000), 1000);
	T_EQ(r_poll(e, rfd, POLLIN, API_QUIET_MS), 0);
	fd = tl_recv_fd(sv[1]);
	api_recv(fd, SEED, 0, 1000);
	api_roundtrip(e, fd, rfd, SEED);
	/* discarded unread, the message closes the connection */
	T_EQ(tl_send_fd(sv[0], fd), 0);
	T_OK(close(fd));
	T_OK(close(sv[0]));
	T_OK(close(sv[1]));
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static void child_takes_listener(int unix_fd)
{
	int lfd = tl_recv_fd(unix_fd);
	int fd = T_OK(accept(lfd, NULL, NULL));

	api_recv(fd, SEED, 0, 1000);
	api_send(fd, SEED + 1, 0, 1000);
}

static void pass_listener(struct api_env *e)
{
	struct tl_addr at;
	int sv[2], lfd, rfd;
	pid_t pid;

	T_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = child_run(child_takes_listener, sv[1], 0);
	lfd = api_listener(e, &at);
	T_EQ(tl_send_fd(sv[0], lfd), 0);
	T_OK(close(lfd));
	rfd = T_OK(r_socket(e, e->peer));
	T_OK(r_connect(e, rfd, &at));
	T_EQ(r_send(e, rfd, SEED, 0, 1000), 1000);
	T_EQ(r_recv(e, rfd, SEED + 1, 0, 1001), 1000);
	child_reap(pid);
}

static void dup_shares(struct api_env *e)
{
	int fd, rfd, copy;

	api_pair(e, &fd, &rfd);
	copy = T_OK(dup(fd));
	T_OK(close(fd));
	api_roundtrip(e, copy, rfd, SEED);
	T_EQ(r_poll(e, rfd, POLLIN, API_QUIET_MS), 0);
	T_OK(close(copy));
	T_EQ(r_recv_once(e, rfd, 1), 0);
}

static const struct api_case cases[] = {
	{ "fork_shares",		fork_shares,		API_F_ROLES },
	{ "fork_both_directions",	fork_both_directions,	API_F_ROLES },
	{ "fork_accepts",		fork_accepts,		0 },
	{ "fork_accept_all",		fork_accept_all,	0 },
	{ "exit_closes",		exit_closes,		API_F_ROLES },
	{ "kill_with_unread",		kill_with_unread,	API_F_ROLES },
	{ "kill_while_blocked",		kill_while_blocked,	API_F_ROLES },
	{ "shutdown_wakes_recv",	shutdown_wakes_recv,	API_F_ROLES },
	{ "shutdown_wakes_send",	shutdown_wakes_send,	API_F_ROLES },
	{ "shutdown_wakes_accept",	shutdown_wakes_accept,	0 },
	{ "shutdown_wakes_poll",	shutdown_wakes_poll,	0 },
	{ "pass_connected",		pass_connected,		API_F_ROLES },
	{ "pass_in_flight",		pass_in_flight,		API_F_ROLES },
	{ "pass_listener",		pass_listener,		0 },
	{ "dup_shares",			dup_shares,		API_F_ROLES },
};

const struct api_group api_process_group = { cases, TL_ARRAY_SIZE(cases) };
