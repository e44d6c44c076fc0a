// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every way in which one end of a connection can end it, in every situation that the other
 * end can be in, both roles (RFC 7609 section 4.8). What the other end sees is what it sees
 * over TCP, which is tried beside it. And a peer host that is gone.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"
#include "uring.h"

#define PORT	4470
#define SEED	77
#define UNREAD	100

enum how {
	CLOSE, ORDERLY, SHUT_BOTH, UNREAD_CLOSE, LINGER0, DISCONNECT, KILL, PASSED, HOW_NR
};

static const char * const how_names[HOW_NR] = {
	"close", "shutdown and close", "shutdown of both", "close with unread bytes",
	"SO_LINGER 0", "connect to AF_UNSPEC", "killed", "dropped in flight",
};

enum other { READS, WRITES, HALF, LATE, CLOSES, OTHER_NR };

static const char * const other_names[OTHER_NR] = {
	"reads", "writes into a closed window", "has shut down", "reads late", "closes, too",
};

/**
 * struct seen - what the other end sees
 * @first: how the call ends that the end interrupts: 0 = EOF, or errno
 * @second: how the next recv() ends
 * @send: the errno with which sending ends in the end
 * @bytes: what it has received
 * @broken: some of it was wrong
 */
struct seen {
	int first;
	int second;
	int send;
	u64 bytes;
	bool broken;
};

/* ---- the other end, in a process of its own ---- */

static int recv_all(int fd, struct seen *seen)
{
	static u8 buf[64 << 10];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		seen->broken |= tl_check(SEED, seen->bytes, buf, n) != -1;
		seen->bytes += n;
	}
	return n ? errno : 0;
}

/* What was sent before the news arrived is nobody's error. */
static int send_all(int fd)
{
	static u8 buf[64 << 10];

	while (send(fd, buf, sizeof(buf), MSG_NOSIGNAL) > 0)
		tl_sleep_ms(1);
	return errno;
}

static void observe(int fd, enum how how, enum other other, int report)
{
	struct seen seen = { 0 };
	char junk[UNREAD] = "";

	if (how == UNREAD_CLOSE && other != WRITES)
		send(fd, junk, sizeof(junk), 0);
	if (other == HALF)
		shutdown(fd, SHUT_WR);
	if (other == LATE)
		tl_sleep_ms(2000);
	if (other == CLOSES) {
		tl_sleep_ms(100);
		close(fd);
	} else if (other == WRITES && how != ORDERLY) {
		seen.first = send_all(fd);
		seen.second = recv_all(fd, &seen);
	} else {
		seen.first = recv_all(fd, &seen);
		seen.second = recv_all(fd, &seen);
	}
	if (how != ORDERLY && other != CLOSES)
		seen.send = send_all(fd);
	if (write(report, &seen, sizeof(seen)) != sizeof(seen))
		ends_die("report");
	_exit(0);
}

/* ---- the end that ends it ---- */

static void drain(int fd)
{
	static u8 buf[64 << 10];

	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
}

/* A process has the only descriptor. */
static void end_by_kill(int fd)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A message has it, and nobody will receive that. */
static void end_by_passing(int fd)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) || tl_send_fd(sv[0], fd))
		ends_die("descriptor in flight");
	close(fd);
	close(sv[0]);
	close(sv[1]);
}

static void end_it(int fd, enum how how)
{
	struct linger none = { .l_onoff = 1 };
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };

	switch (how) {
	case KILL:
		end_by_kill(fd);
		return;
	case PASSED:
		end_by_passing(fd);
		return;
	case ORDERLY:
		shutdown(fd, SHUT_WR);
		drain(fd);
		break;
	case SHUT_BOTH:
		shutdown(fd, SHUT_RDWR);
		break;
	case LINGER0:
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		break;
	case DISCONNECT:
		ends_check(!connect(fd, &unspec, sizeof(unspec)), "connect to AF_UNSPEC");
		break;
	case CLOSE:
	case UNREAD_CLOSE:
	case HOW_NR:
		break;
	}
	close(fd);
}

/* ---- one field of the matrix ---- */

static bool try(const struct tl_proto *proto, int waiting, enum ends_where ender, enum how how,
		enum other other, struct seen *seen, u64 *sent)
{
	struct ends_pair p = ends_pair(proto, waiting, PORT + proto->smc,
				       proto->smc ? TL_MODE_SMCR : TL_MODE_TCP);
	int pipes[2], status;
	pid_t pid;

	if (pipe(pipes))
		ends_die("pipe");
	pid = fork();
	if (!pid) {
		close(p.fd[ender]);
		alarm(60);
		observe(p.fd[!ender], how, other, pipes[1]);
	}
	close(pipes[1]);
	close(p.fd[!ender]);
	*sent = other == LATE ? ends_fill(p.fd[ender], SEED) : 0;
	/* it sleeps now, or has filled what we do not read, or is about to close */
	if (other == WRITES && how != ORDERLY)
		tl_sleep_ms(1500);
	else if (how == UNREAD_CLOSE)
		ends_something(p.fd[ender], POLLIN, 5000);
	tl_sleep_ms(100);
	end_it(p.fd[ender], how);
	status = read(pipes[0], seen, sizeof(*seen));
	close(pipes[0]);
	waitpid(pid, NULL, 0);
	return status == sizeof(*seen);
}

static const char *text(const struct seen *s)
{
	static char buf[2][96];
	static int turn;

	turn = !turn;
	snprintf(buf[turn], sizeof(buf[turn]), "%s, %s, send %s%s",
		 s->first ? tl_errno_name(s->first) : "EOF",
		 s->second ? tl_errno_name(s->second) : "EOF",
		 s->send ? tl_errno_name(s->send) : "-", s->broken ? ", wrong bytes" : "");
	return buf[turn];
}

/*
 * The RST of the carrier may overtake what the fabric carries, and so the word that the
 * peer has shut down before it aborted: a broken pipe then is a reset.
 */
static bool overtaken(enum how how, enum other other, const struct seen *is,
		      const struct seen *norm)
{
	return how == SHUT_BOTH && other == WRITES && is->first == ECONNRESET &&
	       norm->first == EPIPE;
}

static void field(const int *waiting, enum ends_where ender, enum how how, enum other other)
{
	const struct tl_proto *tcp = tl_proto_find("inet"), *smc = tl_proto_find("smc");
	const char *who = ender == ENDS_CLIENT ? "client" : "server";
	struct seen norm = { 0 }, is = { 0 };
	bool same;
	u64 sent;

	if (!try(tcp, waiting[0], ender, how, other, &norm, &sent) ||
	    !try(smc, waiting[1], ender, how, other, &is, &sent)) {
		ends_check(false, "%s, %s, the other %s: no end", who, how_names[how],
			   other_names[other]);
		return;
	}
	same = is.second == norm.second && is.send == norm.send && !is.broken &&
	       (is.first == norm.first || overtaken(how, other, &is, &norm));
	ends_check(same, "%s, %s, the other %s: %s, TCP: %s", who, how_names[how],
		   other_names[other], text(&is), text(&norm));
	/* an orderly end loses nothing, however late the reader is */
	if (other == LATE && !is.first)
		ends_check(is.bytes == sent, "%s, %s: %llu of %llu bytes", who, how_names[how],
			   (unsigned long long)is.bytes, (unsigned long long)sent);
}

static void matrix(void)
{
	const int waiting[2] = {
		ends_listen(tl_proto_find("inet"), PORT),
		ends_listen(tl_proto_find("smc"), PORT + 1),
	};
	int fields = 0;

	for (int ender = 0; ender < ENDS_NR; ender++)
		for (int how = 0; how < HOW_NR; how++)
			for (int other = 0; other < OTHER_NR; other++, fields++)
				field(waiting, ender, how, other);
	printf("# %d ends tried\n", fields);
	ends_check(ends_stat(ENDS_CLIENT, "clnt_smc") == fields, "each of them over SMC");
	ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") >= fields, "by RDMA");
	/* both sides have confirmed each end: no element stays out of use */
	for (int i = 0; i < ENDS_NR; i++)
		ends_check(!ends_stat(i, "elem_quarantine"), "%ld elements in quarantine at %d",
			   ends_stat(i, "elem_quarantine"), i);
}

/* ---- a peer host that is gone ---- */

static void gone(void)
{
	const struct tl_proto *smc = tl_proto_find("smc");
	int waiting = ends_listen(smc, PORT);
	struct ends_pair idle = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	struct ends_pair half = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	struct ends_pair full = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	struct ends_pair closed = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
	long aborted[ENDS_NR];

	ends_fill(full.fd[ENDS_CLIENT], SEED);
	shutdown(half.fd[ENDS_CLIENT], SHUT_WR);
	tl_sleep_ms(100);
	for (int i = 0; i < ENDS_NR; i++)
		aborted[i] = ends_stat(i, "conn_abort");
	ends_cut_cable();
	close(closed.fd[ENDS_CLIENT]);
	/* both ends notice by themselves: RNIC retries or TEST LINK */
	for (int i = 0; i < ENDS_NR; i++) {
		struct ends_pair *left[] = { &idle, &half, &full };

		for (size_t k = 0; k < TL_ARRAY_SIZE(left); k++) {
			int fd = left[k]->fd[i];

			ends_check(ends_something(fd, 0, 60000), "end %d of %zu is told", i, k);
			ends_check(ends_error(fd) == ECONNABORTED, "ECONNABORTED");
		}
		ends_check(ends_stat(i, "conn_abort") - aborted[i] >= 3, "aborts at %d", i);
		ends_check(ends_stat(i, "lgr_term") == 1, "the group at %d has ended", i);
	}
}

/* ---- net.smc.enabled ---- */

/* Off at one end: new connections are TCP, old ones live on until they are closed. */
static void disabled(void)
{
	const struct tl_proto *smc = tl_proto_find("smc");
	int waiting = ends_listen(smc, PORT);

	for (int side = 0; side < ENDS_NR; side++) {
		struct ends_pair old = ends_pair(smc, waiting, PORT, TL_MODE_SMCR), new;
		long written, falls = ends_stat(ENDS_CLIENT, "clnt_fback");
		struct tl_diag diag = { .reason = 0 };

		ends_run(side, "sysctl -q -w net.smc.enabled=0");
		new = ends_pair(smc, waiting, PORT, TL_MODE_TCP);
		ends_enter(side);
		tl_diag_get(new.fd[side], smc, &diag);
		ends_enter(ENDS_CLIENT);
		ends_check(diag.reason == 0x03000000, "the reason, at %d: %08x", side, diag.reason);
		ends_check(ends_stat(ENDS_CLIENT, "clnt_fback") == falls + 1, "a fallback");
		written = ends_stat(ENDS_CLIENT, "tx_write_bytes");
		ends_check(ends_ping(&old), "the old connection lives on");
		ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") > written, "by RDMA");
		close(old.fd[ENDS_CLIENT]);
		ends_check(ends_something(old.fd[ENDS_SERVER], POLLIN, 1000), "its end arrives");
		ends_check(!ends_error(old.fd[ENDS_SERVER]), "without error");
		close(old.fd[ENDS_SERVER]);
		ends_run(side, "sysctl -q -w net.smc.enabled=1");
		ends_check(ends_ping(&new), "what fell back stays TCP");
		old = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
		close(old.fd[ENDS_SERVER]);
		close(old.fd[ENDS_CLIENT]);
	}
}

static const struct ends_test tests[] = {
	{ "matrix", matrix },
	{ "uring", ends_uring },
	{ "gone", gone },
	{ "disabled", disabled },
	{ }
};

/* smc_ends: the names of all tests; smc_ends NAME: one of them */
int main(int argc, char **argv)
{
	static const struct ends_test *const lists[] = { tests, NULL };

	return ends_main(argc, argv, lists, NULL);
}
