// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every variant in which one end can end a connection, in every state of the other end, in both
 * roles (RFC 7609 section 4.8). The other end must see what it sees over TCP; each variant runs
 * over TCP, too. And loss of the peer host.
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
#include "steps.h"
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

enum other { READS, WRITES, HALF, LATE, TALKS, CLOSES, OTHER_NR };

static const char * const other_names[OTHER_NR] = {
	"reads", "writes into a closed window", "has shut down", "reads late",
	"sends, then reads late", "closes, too",
};

/**
 * struct seen - results at the other end
 * @first: how the interrupted call ended: 0 = EOF, or errno
 * @second: how the next recv() ends
 * @send: errno with which sending ends at last
 * @bytes: bytes received
 * @broken: some received bytes were wrong
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

/* Send until the error shows. Bytes sent before the peer's end arrived cause none. */
static int send_all(int fd)
{
	static u8 buf[64 << 10];

	while (send(fd, buf, sizeof(buf), MSG_NOSIGNAL) > 0)
		tl_sleep_ms(1);
	return errno;
}

static void observer_run(int fd, enum how how, enum other other, int report)
{
	struct seen seen = { 0 };
	char junk[UNREAD] = "";

	if (how == UNREAD_CLOSE && other != WRITES)
		send(fd, junk, sizeof(junk), 0);
	if (other == HALF)
		shutdown(fd, SHUT_WR);
	if (other == LATE || other == TALKS)
		tl_sleep_ms(2000);
	if (other == TALKS) {
		send(fd, junk, sizeof(junk), MSG_NOSIGNAL);
		tl_sleep_ms(200);
	}
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

/* ---- the end that ends the connection ---- */

static void recv_discard(int fd)
{
	static u8 buf[64 << 10];

	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
}

/* Kill the process that has the only descriptor. */
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

/* Discard the message that holds the only descriptor. */
static void end_by_passing(int fd)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) || tl_send_fd(sv[0], fd))
		ends_die("descriptor in flight");
	close(fd);
	close(sv[0]);
	close(sv[1]);
}

static void end_connection(int fd, enum how how)
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
		recv_discard(fd);
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

/* The mode of SMC sockets in the matrix: unknown if they begin as TCP, and change over. */
static enum tl_mode smc_mode = TL_MODE_SMCR;

static bool field_run(const struct tl_proto *proto, int waiting, enum ends_where ender,
		      enum how how, enum other other, struct seen *seen, u64 *sent)
{
	struct ends_pair p = ends_pair(proto, waiting, PORT + proto->smc,
				       proto->smc ? smc_mode : TL_MODE_TCP);
	int pipes[2], status;
	pid_t pid;

	if (pipe(pipes))
		ends_die("pipe");
	pid = fork();
	if (!pid) {
		close(p.fd[ender]);
		alarm(60);
		observer_run(p.fd[!ender], how, other, pipes[1]);
	}
	close(pipes[1]);
	close(p.fd[!ender]);
	*sent = other == LATE || other == TALKS ? ends_fill(p.fd[ender], SEED) : 0;
	/*
	 * by now the other end sleeps, has filled the ring that we do not read, or is about to
	 * close
	 */
	if (other == WRITES && how != ORDERLY)
		tl_sleep_ms(1500);
	else if (how == UNREAD_CLOSE)
		ends_something(p.fd[ender], POLLIN, 5000);
	tl_sleep_ms(100);
	end_connection(p.fd[ender], how);
	status = read(pipes[0], seen, sizeof(*seen));
	close(pipes[0]);
	waitpid(pid, NULL, 0);
	return status == sizeof(*seen);
}

static const char *seen_text(const struct seen *s)
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
 * The RST of the clcsock may overtake the CDC message on the fabric which shows that the peer has
 * shut down before it aborted: then ECONNRESET replaces EPIPE.
 */
static bool rst_overtook(enum how how, enum other other, const struct seen *is,
			 const struct seen *norm)
{
	return how == SHUT_BOTH && other == WRITES && is->first == ECONNRESET &&
	       norm->first == EPIPE;
}

static void field_check(const int *waiting, enum ends_where ender, enum how how, enum other other)
{
	const struct tl_proto *tcp = tl_proto_find("inet"), *smc = tl_proto_find("smc");
	const char *who = ender == ENDS_CLIENT ? "client" : "server";
	struct seen norm = { 0 }, is = { 0 };
	bool same;
	u64 sent;

	if (!field_run(tcp, waiting[0], ender, how, other, &norm, &sent) ||
	    !field_run(smc, waiting[1], ender, how, other, &is, &sent)) {
		ends_check(false, "%s, %s, the other %s: no end", who, how_names[how],
			   other_names[other]);
		return;
	}
	same = is.second == norm.second && is.send == norm.send && !is.broken &&
	       (is.first == norm.first || rst_overtook(how, other, &is, &norm));
	ends_check(same, "%s, %s, the other %s: %s, TCP: %s", who, how_names[how],
		   other_names[other], seen_text(&is), seen_text(&norm));
	/* an orderly end loses no byte, however late the reader is */
	if (other == LATE && !is.first)
		ends_check(is.bytes == sent, "%s, %s: %llu of %llu bytes", who, how_names[how],
			   (unsigned long long)is.bytes, (unsigned long long)sent);
}

/* Return the number of fields. */
static int matrix_run(void)
{
	const int waiting[2] = {
		ends_listen(tl_proto_find("inet"), PORT),
		ends_listen(tl_proto_find("smc"), PORT + 1),
	};
	int fields = 0;

	for (int ender = 0; ender < ENDS_NR; ender++)
		for (int how = 0; how < HOW_NR; how++)
			for (int other = 0; other < OTHER_NR; other++, fields++) {
				/* at the byte each way, or at what follows */
				if (smc_mode == TL_MODE_UNKNOWN)
					ends_upgrade(fields % 2 ? 1 : 1 + 1000 * fields);
				field_check(waiting, ender, how, other);
			}
	printf("# %d ends tried\n", fields);
	return fields;
}

static void matrix(void)
{
	int fields = matrix_run();

	ends_check(ends_stat(ENDS_CLIENT, "clnt_smc") == fields, "each of them over SMC");
	ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") >= fields, "by RDMA");
	/* both ends have confirmed each end: no element remains in quarantine */
	for (int i = 0; i < ENDS_NR; i++)
		ends_check(!ends_stat(i, "elem_quarantine"), "%ld elements in quarantine at %d",
			   ends_stat(i, "elem_quarantine"), i);
}

/* The same while connections change over: at some moment before, during or after the end. */
static void matrix_upgrade(void)
{
	long began, changed;
	int fields;

	smc_mode = TL_MODE_UNKNOWN;
	fields = matrix_run();
	began = ends_stat(ENDS_CLIENT, "deferred");
	changed = ends_stat(ENDS_CLIENT, "upgraded");
	printf("# %ld began as TCP, %ld changed over\n", began, changed);
	ends_check(began >= fields / 2 && changed >= fields / 4, "connections that change over");
}

/* ---- loss of the peer host ---- */

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
	/* both ends detect it: RNIC retries or TEST LINK */
	for (int i = 0; i < ENDS_NR; i++) {
		struct ends_pair *left[] = { &idle, &half, &full };

		for (size_t k = 0; k < TL_ARRAY_SIZE(left); k++) {
			int fd = left[k]->fd[i];

			ends_check(ends_something(fd, 0, 60000), "event at end %d of %zu", i, k);
			ends_check(ends_error(fd) == ECONNABORTED, "ECONNABORTED");
		}
		ends_check(ends_stat(i, "conn_abort") - aborted[i] >= 3, "aborts at %d", i);
		ends_check(ends_stat(i, "lgr_term") == 1, "the group at %d has ended", i);
	}
}

/* ---- net.smc.enabled ---- */

/* Off at one end: new connections are TCP, old ones continue until they are closed. */
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
		ends_check(ends_ping(&old), "the old connection continues");
		ends_check(ends_stat(ENDS_CLIENT, "tx_write_bytes") > written, "by RDMA");
		close(old.fd[ENDS_CLIENT]);
		ends_check(ends_something(old.fd[ENDS_SERVER], POLLIN, 1000), "its end arrives");
		ends_check(!ends_error(old.fd[ENDS_SERVER]), "without error");
		close(old.fd[ENDS_SERVER]);
		ends_run(side, "sysctl -q -w net.smc.enabled=1");
		ends_check(ends_ping(&new), "a connection that fell back stays TCP");
		old = ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
		close(old.fd[ENDS_SERVER]);
		close(old.fd[ENDS_CLIENT]);
	}
}

static const struct ends_test tests[] = {
	{ "matrix", matrix },
	{ "matrix_upgrade", matrix_upgrade },
	{ "steps", ends_steps },
	{ "steps_upgrade", ends_steps_upgrade },
	{ "uring", ends_uring },
	{ "gone", gone },
	{ "disabled", disabled },
	{ }
};

/* smc_ends: print the names of all tests; smc_ends NAME: run one of them */
int main(int argc, char **argv)
{
	static const struct ends_test *const lists[] = { tests, NULL };

	return ends_main(argc, argv, lists, NULL);
}
