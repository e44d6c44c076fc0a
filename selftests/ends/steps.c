// SPDX-License-Identifier: GPL-2.0-only
/*
 * What calls return, one after the other, when the peer has ended its side: the course of events as
 * on TCP, not only its end. Each course runs over TCP and over SMC, with time for packets between
 * the steps; the results must be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ends.h"
#include "steps.h"
#include "lib/uring.h"

#define PORT	4500
#define UNREAD	10
#define THRESHOLDS 13	/* bytes: each way, unread ones in both directions, and some of a course */
#define SETTLE	400	/* ms between two steps: a reset over the clcsock alone takes 300 */

/* What the peer does. */
enum end {
	CLOSE, SHUT_WRITE, SHUT_READ, SHUT_BOTH, WRITE_CLOSE, BOTH_CLOSE, WRITE_READ, RESET,
	UNREAD_CLOSE, UNREAD_BOTH, END_NR
};

static const char * const end_names[END_NR] = {
	"close", "shutdown to write", "shutdown to read", "shutdown of both",
	"shutdown to write, close", "shutdown of both, close", "shutdown to write, then to read",
	"SO_LINGER 0", "close with unread bytes", "shutdown of both with unread bytes",
};

/*
 * Courses of steps: s send, S send with SIGPIPE, m sendmsg, 0 send of no bytes, p splice from a
 * pipe, u send by io_uring, U poll by io_uring, r recv, k peek, v splice into a pipe, o poll,
 * e SO_ERROR; shutdown: W to write, R to read, B of both.
 */
static const char * const courses[] = {
	"osoeosorro", "ssssoer", "rsrrsrr", "omoomoe", "opopoep", "uoUuoUeu", "UsUeUsU",
	"vsvvsvo", "0s0s0eo", "orrroeo", "krkrsko", "WorroesorB", "Borroesor", "RorsorseoW",
	"sWoeroe", "SoSoSoe",
};

static sig_atomic_t signals;

static void count_signal(int sig)
{
	signals += sig == SIGPIPE;
}

/**
 * struct course - results of one course of steps
 * @text: the steps with their results
 * @len: length of @text
 */
struct course {
	char text[512];
	size_t len;
};

static void __printf(2, 3) course_add(struct course *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	c->len += vsnprintf(c->text + c->len, sizeof(c->text) - c->len, fmt, ap);
	va_end(ap);
	if (c->len >= sizeof(c->text))
		ends_die("text of a course");
}

/* @rc: result of a call that has set errno if it is negative */
static void course_add_result(struct course *c, const char *what, ssize_t rc)
{
	if (rc < 0)
		course_add(c, " %s:%s", what, tl_errno_name(errno));
	else
		course_add(c, " %s:%zd", what, rc);
}

static void course_add_mask(struct course *c, const char *what, unsigned int mask)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} bits[] = {
		{ POLLIN, "IN" }, { POLLOUT, "OUT" }, { POLLRDHUP, "RDHUP" }, { POLLHUP, "HUP" },
		{ POLLERR, "ERR" }, { POLLPRI, "PRI" },
	};

	course_add(c, " %s:", what);
	for (size_t i = 0; i < TL_ARRAY_SIZE(bits); i++)
		if (mask & bits[i].bit)
			course_add(c, "%s|", bits[i].name);
}

/* ---- steps ---- */

static struct uring ring;

static int uring_result(const struct io_uring_sqe *req)
{
	int res = -ETIME;
	u64 who;

	if (!uring_submit(&ring, req))
		ends_die("io_uring");
	uring_wait(&ring, 1000, &who, &res);
	errno = -res;
	return res;
}

static int step_uring_send(int fd)
{
	static char buf[3] = "abc";

	return uring_result(&(struct io_uring_sqe) {
		.opcode = IORING_OP_SEND, .fd = fd, .addr = (unsigned long)buf, .len = sizeof(buf),
		.msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT,
	});
}

static int step_uring_poll(int fd)
{
	return uring_result(&(struct io_uring_sqe) {
		.opcode = IORING_OP_POLL_ADD, .fd = fd,
		.poll32_events = POLLIN | POLLOUT | POLLRDHUP | POLLPRI,
	});
}

static ssize_t step_splice(int fd, bool out)
{
	int pipes[2], err;
	ssize_t n;

	if (pipe2(pipes, O_NONBLOCK) || write(pipes[1], "pip", 3) != 3)
		ends_die("pipe");
	if (out)
		n = splice(pipes[0], NULL, fd, NULL, 3, SPLICE_F_NONBLOCK);
	else
		n = splice(fd, NULL, pipes[1], NULL, 3, SPLICE_F_NONBLOCK);
	err = errno;
	close(pipes[0]);
	close(pipes[1]);
	errno = err;
	return n;
}

static ssize_t step_sendmsg(int fd)
{
	struct iovec iov[] = { { "one", 3 }, { "two", 3 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static unsigned int step_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP | POLLPRI };

	poll(&p, 1, 0);
	return p.revents;
}

static void step_run(struct course *c, int fd, char step)
{
	char buf[4] = "data";
	int res;

	signals = 0;
	switch (step) {
	case 's':
		course_add_result(c, "send", send(fd, buf, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
		break;
	case 'S':
		course_add_result(c, "send", send(fd, buf, 1, MSG_DONTWAIT));
		break;
	case '0':
		course_add_result(c, "none", send(fd, buf, 0, MSG_NOSIGNAL | MSG_DONTWAIT));
		break;
	case 'm':
		course_add_result(c, "sendmsg", step_sendmsg(fd));
		break;
	case 'p':
		course_add_result(c, "splice", step_splice(fd, true));
		break;
	case 'u':
		course_add_result(c, "uring", step_uring_send(fd));
		break;
	case 'U':
		res = step_uring_poll(fd);
		if (res < 0)
			course_add_result(c, "uring-poll", res);
		else
			course_add_mask(c, "uring-poll", res);
		break;
	case 'r':
		course_add_result(c, "recv", recv(fd, buf, sizeof(buf), MSG_DONTWAIT));
		break;
	case 'k':
		course_add_result(c, "peek", recv(fd, buf, 1, MSG_DONTWAIT | MSG_PEEK));
		break;
	case 'v':
		course_add_result(c, "read", step_splice(fd, false));
		break;
	case 'o':
		course_add_mask(c, "poll", step_poll(fd));
		break;
	case 'e':
		course_add(c, " error:%s", tl_errno_name(ends_error(fd)));
		break;
	case 'W':
		course_add_result(c, "WR", shutdown(fd, SHUT_WR));
		break;
	case 'R':
		course_add_result(c, "RD", shutdown(fd, SHUT_RD));
		break;
	case 'B':
		course_add_result(c, "RDWR", shutdown(fd, SHUT_RDWR));
		break;
	}
	if (signals)
		course_add(c, "+SIGPIPE");
}

/* ---- the peer ---- */

static void peer_end(int fd, enum end end)
{
	struct linger none = { .l_onoff = 1 };

	switch (end) {
	case CLOSE:
	case UNREAD_CLOSE:
		close(fd);
		break;
	case SHUT_WRITE:
		shutdown(fd, SHUT_WR);
		break;
	case SHUT_READ:
		shutdown(fd, SHUT_RD);
		break;
	case SHUT_BOTH:
	case UNREAD_BOTH:
		shutdown(fd, SHUT_RDWR);
		break;
	case WRITE_CLOSE:
		shutdown(fd, SHUT_WR);
		close(fd);
		break;
	case BOTH_CLOSE:
		shutdown(fd, SHUT_RDWR);
		close(fd);
		break;
	case WRITE_READ:
		shutdown(fd, SHUT_WR);
		shutdown(fd, SHUT_RD);
		break;
	case RESET:
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		close(fd);
		break;
	case END_NR:
		break;
	}
}

static bool peer_is_open(enum end end)
{
	return end == SHUT_WRITE || end == SHUT_READ || end == SHUT_BOTH || end == WRITE_READ ||
	       end == UNREAD_BOTH;
}

/* ---- courses ---- */

/* @smc: the mode of SMC sockets */
static void course_run(struct course *c, const struct tl_proto *proto, enum tl_mode smc,
		       int waiting, enum ends_where where, enum end end, bool unread,
		       const char *steps)
{
	struct ends_pair p = ends_pair(proto, waiting, PORT + proto->smc,
				       proto->smc ? smc : TL_MODE_TCP);
	int fd = p.fd[where], peer = p.fd[!where];
	char bytes[UNREAD] = "unread";

	c->len = 0;
	if (unread)
		ends_check(send(peer, bytes, UNREAD, 0) == UNREAD, "send()");
	if (end == UNREAD_CLOSE || end == UNREAD_BOTH)
		ends_check(send(fd, bytes, UNREAD, 0) == UNREAD, "send()");
	tl_set_nonblock(fd, true);
	tl_sleep_ms(SETTLE);
	peer_end(peer, end);
	for (; *steps; steps++) {
		tl_sleep_ms(SETTLE);
		step_run(c, fd, *steps);
	}
	/* what the peer sees of it, if it still has its socket */
	if (peer_is_open(end)) {
		course_add(c, ", peer:");
		for (steps = "oesrro"; *steps; steps++) {
			tl_sleep_ms(SETTLE);
			step_run(c, peer, *steps);
		}
		close(peer);
	}
	close(fd);
	tl_sleep_ms(SETTLE);
}

/* @upgrade: connections begin as TCP, and change over during the courses */
static void run_all(bool upgrade)
{
	const struct tl_proto *protos[] = { tl_proto_find("inet"), tl_proto_find("smc") };
	int waiting[] = { ends_listen(protos[0], PORT), ends_listen(protos[1], PORT + 1) };
	struct sigaction act = { .sa_handler = count_signal };
	unsigned int n = 0, same = 0;
	static struct course is[2];

	sigaction(SIGPIPE, &act, NULL);
	if (!uring_open(&ring))
		ends_die("io_uring");
	for (int i = 0; i < END_NR * 2; i++) {
		for (size_t k = 0; k < TL_ARRAY_SIZE(courses); k++) {
			enum end end = i / 2;

			/* at the byte each way, the bytes before the end, or those of the course */
			if (upgrade)
				ends_upgrade(1 + n % THRESHOLDS);
			/* either end in either role, in turns */
			for (int s = 0; s < 2; s++)
				course_run(&is[s], protos[s], upgrade ? TL_MODE_UNKNOWN :
					   TL_MODE_SMCR, waiting[s], (k + end) % 2, end,
					   i % 2, courses[k]);
			n++;
			if (!strcmp(is[0].text, is[1].text)) {
				same++;
				continue;
			}
			ends_check(false, "%s%s, %s:", end_names[end],
				   i % 2 ? ", bytes to read" : "", courses[k]);
			printf("#   SMC%s\n#   TCP%s\n", is[1].text, is[0].text);
		}
	}
	printf("# %u of %u courses as on TCP\n", same, n);
	uring_close(&ring);
}

void ends_steps(void)
{
	run_all(false);
}

void ends_steps_upgrade(void)
{
	long began, changed;

	run_all(true);
	began = ends_stat(ENDS_CLIENT, "deferred");
	changed = ends_stat(ENDS_CLIENT, "upgraded");
	printf("# %ld began as TCP, %ld changed over\n", began, changed);
	ends_check(began >= 200 && changed >= 100, "connections that change over");
}
