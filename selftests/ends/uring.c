// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that end while io_uring uses them: a request is pending, and in one case the ring has
 * the only reference, so that a worker of the ring may drop the last one after the process has
 * exited. Both ends must see what they see over TCP.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"
#include "uring.h"
#include "lib/uring.h"

#define PORT	4490
#define SEED	78
#define NOTHING	(-100000)	/* no result of a request */

/* pending request, and owner of the descriptor */
enum what { RECV, RECV_KEPT, POLL, SEND, WHAT_NR };

static const char * const what_names[WHAT_NR] = {
	"recv", "recv, the ring has the descriptor", "poll", "send into a closed window",
};

enum how { PEER_CLOSES, PEER_ABORTS, SHUTDOWN, CANCEL, RING_CLOSED, KILLED, HOW_NR };

static const char * const how_names[HOW_NR] = {
	"the peer closes", "the peer aborts", "shutdown", "cancelled and closed", "ring closed",
	"killed",
};

/**
 * struct seen - result of one attempt
 * @res: result of the pending request, NOTHING if there was none
 * @other: how the peer's recv() ended: 0 = EOF, else errno
 */
struct seen {
	int res;
	int other;
};

/* ---- the end with the ring, in a process of its own ---- */

static struct io_uring_sqe request_make(enum what what, int fd)
{
	static u8 buf[64 << 10];
	struct io_uring_sqe req = { .fd = fd, .user_data = 1 };

	if (what == RECV_KEPT) {
		req.fd = 0;
		req.flags = IOSQE_FIXED_FILE;
	}
	switch (what) {
	case RECV:
	case RECV_KEPT:
		req.opcode = IORING_OP_RECV;
		break;
	case POLL:
		req.opcode = IORING_OP_POLL_ADD;
		req.poll32_events = POLLIN | POLLRDHUP;
		return req;
	case SEND:
	case WHAT_NR:
		req.opcode = IORING_OP_SEND;
		req.msg_flags = MSG_NOSIGNAL;
		break;
	}
	req.addr = (unsigned long)buf;
	req.len = sizeof(buf);
	return req;
}

/* Submit a second request on the same descriptor; wait for the results of both. */
static void request_submit(struct uring *r, struct io_uring_sqe req, struct seen *seen)
{
	u64 who;
	int res;

	req.user_data = 2;
	if (!uring_submit(r, &req))
		ends_die("io_uring");
	for (int i = 0; i < 2; i++) {
		if (!uring_wait(r, 5000, &who, &res))
			break;
		if (who == 1)
			seen->res = res;
		else if (res)
			printf("# result of the second request: %d\n", res);
	}
}

static void end_locally(struct uring *r, struct io_uring_sqe *req, int fd, enum how how,
			struct seen *seen)
{
	struct io_uring_sqe next = { .fd = req->fd, .flags = req->flags };
	u64 who;

	switch (how) {
	case PEER_CLOSES:
	case PEER_ABORTS:
		uring_wait(r, 5000, &who, &seen->res);
		return;
	case SHUTDOWN:
		next.opcode = IORING_OP_SHUTDOWN;
		next.len = SHUT_RDWR;
		request_submit(r, next, seen);
		return;
	case CANCEL:
		next = (struct io_uring_sqe) { .opcode = IORING_OP_ASYNC_CANCEL, .fd = -1 };
		next.addr = req->user_data;
		request_submit(r, next, seen);
		break;
	case RING_CLOSED:
	case KILLED:
	case HOW_NR:
		break;
	}
	if (how == KILLED)
		return;
	if (!(req->flags & IOSQE_FIXED_FILE))
		close(fd);
	else if (how == CANCEL && !uring_drop(r))
		ends_die("IORING_UNREGISTER_FILES");
	if (how == RING_CLOSED)
		uring_close(r);
}

static void ring_process(int fd, enum what what, enum how how, int report)
{
	struct io_uring_sqe req = request_make(what, fd);
	struct seen seen = { .res = NOTHING };
	struct uring r;
	u64 who;

	if (!uring_open(&r))
		ends_die("io_uring");
	if (req.flags & IOSQE_FIXED_FILE) {
		if (!uring_keep(&r, fd))
			ends_die("IORING_REGISTER_FILES");
		close(fd);
	}
	if (what == SEND)
		ends_fill(fd, SEED);
	/* an update of the peer's consumer cursor may make room for a byte */
	for (int i = 0; !i || (what == SEND && seen.res > 0); i++) {
		if (i == 10)
			ends_die("the request does not wait");
		seen.res = NOTHING;
		if (!uring_submit(&r, &req))
			ends_die("io_uring");
		uring_wait(&r, 200, &who, &seen.res);
	}
	if (seen.res != NOTHING)
		ends_die("the request has not waited");
	/* report twice: when the request is pending, and when it has ended */
	for (int i = 0; i < 2; i++) {
		if (i)
			end_locally(&r, &req, fd, how, &seen);
		if (write(report, &seen, sizeof(seen)) != sizeof(seen))
			ends_die("report");
	}
	pause();
}

/* ---- the other end ---- */

static int recv_end(int fd)
{
	static u8 buf[64 << 10];
	ssize_t n;

	/* a time-out ends the test: no result takes this long */
	tl_set_timeouts(fd, 20000);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		;
	return n ? errno : 0;
}

static void peer_end(int fd, enum how how)
{
	struct linger none = { .l_onoff = 1 };

	if (how == PEER_ABORTS)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static bool try_one(const struct tl_proto *proto, int waiting, enum ends_where where,
		    enum what what, enum how how, struct seen *seen)
{
	struct ends_pair p = ends_pair(proto, waiting, PORT + proto->smc,
				       proto->smc ? TL_MODE_SMCR : TL_MODE_TCP);
	bool peer = how == PEER_CLOSES || how == PEER_ABORTS;
	int pipes[2], other = p.fd[!where];
	pid_t pid;
	bool ok;

	if (pipe(pipes))
		ends_die("pipe");
	pid = fork();
	if (!pid) {
		close(other);
		alarm(60);
		ring_process(p.fd[where], what, how, pipes[1]);
		_exit(1);
	}
	close(pipes[1]);
	close(p.fd[where]);
	ok = read(pipes[0], seen, sizeof(*seen)) == sizeof(*seen);
	if (peer)
		peer_end(other, how);
	if (how == KILLED)
		kill(pid, SIGKILL);
	else
		ok &= read(pipes[0], seen, sizeof(*seen)) == sizeof(*seen);
	seen->other = peer ? 0 : recv_end(other);
	if (!peer)
		close(other);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
	return ok;
}

void ends_uring(void)
{
	const struct tl_proto *tcp = tl_proto_find("inet"), *smc = tl_proto_find("smc");
	const int waiting[] = { ends_listen(tcp, PORT), ends_listen(smc, PORT + 1) };
	int tried = 0;

	for (int i = 0; i < ENDS_NR * WHAT_NR * HOW_NR; i++, tried++) {
		enum ends_where where = i % ENDS_NR;
		enum what what = i / ENDS_NR % WHAT_NR;
		enum how how = i / ENDS_NR / WHAT_NR;
		struct seen norm = { 0 }, is = { 0 };
		bool ok = try_one(tcp, waiting[0], where, what, how, &norm) &&
			  try_one(smc, waiting[1], where, what, how, &is);

		ends_check(ok && is.res == norm.res && is.other == norm.other,
			   "%s, %s: %s result %d, the other %d; TCP: %d, %d", what_names[what],
			   how_names[how], where == ENDS_CLIENT ? "client" : "server", is.res,
			   is.other, norm.res, norm.other);
	}
	printf("# %d ends tried\n", tried);
	ends_check(ends_stat(ENDS_CLIENT, "clnt_smc") == tried, "each of them over SMC");
	ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") >= tried, "by RDMA");
	for (int i = 0; i < ENDS_NR; i++)
		ends_check(!ends_stat(i, "elem_quarantine"), "%ld elements in quarantine at %d",
			   ends_stat(i, "elem_quarantine"), i);
}
