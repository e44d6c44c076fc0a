// SPDX-License-Identifier: GPL-2.0-only
/* smc_timers: deadlines of the handshake, of link set-up and of TEST LINK. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timers.h"

/* ---- CLC ---- */

static void proposal(void)
{
	tm_arm("LOSE_CLC:1");
	/* the client connects again then, by TCP alone */
	tm_connects("server: no Proposal", 0, TL_MODE_TCP, 6 * SECOND);
}

static void confirm(void)
{
	tm_arm("LOSE_CLC:2");
	tm_connects("server: no Confirm", 0, TL_MODE_TCP, 6 * SECOND);
}

/* When the listener closes, no end waits for the deadline of its handshakes. */
static void listener_closes(void)
{
	int fd = tm_socket(), err;
	u64 from;

	tm_arm("LOSE_CLC:1");
	tl_set_nonblock(fd, true);
	ends_check(tm_begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	ends_check(!ends_something(fd, POLLOUT, SECOND), "the handshake continues");
	from = tm_now();
	close(tm_waiting);
	tm_happened("close() of the listener", from, 0, SLACK_MS);
	ends_something(fd, POLLOUT, 60 * SECOND);
	tm_happened("the listener closes", from, 0, SLACK_MS);
	/* the client connects again: to the remains of the listener, or to a closed port */
	err = ends_error(fd);
	ends_check(err == ECONNRESET || err == ECONNREFUSED, "%s", tl_errno_name(err));
}

/* No memory for a child socket, and no other client connects. */
static void accept_again(void)
{
	tm_arm("CLCSOCK_ACCEPT:1");
	tm_connects("a child at the second attempt", 0, TL_MODE_SMCR, 100);
}

static void set_cork(int fd, int on)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)))
		ends_die("TCP_CORK");
}

/* The socket is corked: a byte leaves after 200 ms. */
static void check_corked(const char *what, int fd, int peer)
{
	socklen_t len = sizeof(int);
	u64 from = tm_now();
	int on = -1;

	ends_check(!getsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, &len) && on == 1,
		   "%s: TCP_CORK is set", what);
	ends_check(send(fd, "c", 1, 0) == 1, "%s: send()", what);
	ends_check(ends_something(peer, POLLIN, SECOND), "%s: the byte arrives", what);
	tm_happened(what, from, 200, SLACK_MS);
}

/* TCP_CORK of the program holds back no CLC message, and holds back its data afterwards. */
static void check_cork_early(const char *what, const char *fault, enum tl_mode mode)
{
	int fd = tm_socket(), server;
	u64 from;

	set_cork(tm_waiting, 1);
	set_cork(fd, 1);
	tm_arm(fault);
	from = tm_now();
	ends_check(!tm_begin_connect(fd), "%s: connect()", what);
	server = accept(tm_waiting, NULL, NULL);
	tm_happened(what, from, 0, SLACK_MS);
	ends_check(ends_over(fd, tm_proto, mode), "%s: the mode", what);
	check_corked("a byte of the client", fd, server);
	check_corked("a byte of the server", server, fd);
	close(fd);
	close(server);
}

static void cork_early(void)
{
	check_cork_early("corked sockets connect", "none", TL_MODE_SMCR);
}

static void cork_early_tcp(void)
{
	check_cork_early("corked sockets fall back", "CONN:1", TL_MODE_TCP);
}

static void accept_busy(void)
{
	struct ends_pair busy = tm_pair();
	int fd = tm_socket();
	u64 from;

	tm_arm("LOSE_CLC:2");
	tl_set_nonblock(fd, true);
	from = tm_now();
	ends_check(tm_begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	tm_something(fd, POLLOUT, &busy, 60 * SECOND);
	tm_happened("client: no Accept", from, 30 * SECOND, tm_rounding(24 * SECOND) + SLACK_MS);
	ends_check(!ends_error(fd) && ends_over(fd, tm_proto, TL_MODE_TCP), "TCP");
}

/*
 * A server without a link group to this client, whose TCP answers but whose application never does:
 * another connection occupies its queue. It does not answer the SYN of TCP alone either.
 */
static void unknown_host(void)
{
	int plain, waits, fd = tm_socket();
	struct tl_addr at, to;
	u64 from;

	ends_enter(ENDS_SERVER);
	tl_addr_parse(&at, tm_proto, ENDS_ADDR, TM_PORT + 1);
	waits = tl_listen(tm_proto, &at, 0);
	ends_enter(ENDS_CLIENT);
	plain = tl_connect(tl_proto_find("inet"), NULL, &at);
	ends_check(waits >= 0 && plain >= 0, "a connection to be accepted");
	tl_sleep_ms(SECOND);
	tl_set_nonblock(fd, true);
	tl_addr_parse(&to, tm_proto, ENDS_ADDR, TM_PORT + 1);
	from = tm_now();
	ends_check(connect(fd, &to.sa, to.len) && errno == EINPROGRESS, "connect() in progress");
	ends_something(fd, POLLOUT, 60 * SECOND);
	tm_happened("client: neither a CLC message nor a SYN-ACK", from, 21 * SECOND,
		    tm_rounding(6 * SECOND) + SLACK_MS);
	ends_check(ends_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

/* The server gives up after 6 s; then the SYN of TCP alone stays unanswered. */
static void again(void)
{
	int fd = tm_socket();
	u64 from;

	tm_arm("LOSE_CLC:1");
	tl_set_nonblock(fd, true);
	from = tm_now();
	ends_check(tm_begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	tl_sleep_ms(SECOND);
	ends_cut_cable();
	ends_something(fd, POLLOUT, 60 * SECOND);
	tm_happened("client: no SYN-ACK either", from, 21 * SECOND,
		    tm_rounding(6 * SECOND) + 2 * SLACK_MS);
	ends_check(ends_error(fd) == ETIMEDOUT, "ETIMEDOUT");
}

static void confirm_busy(void)
{
	struct ends_pair busy = tm_pair();
	u64 from;
	int fd;

	tm_arm("LOSE_CLC:3");
	from = tm_now();
	fd = tm_connects("client has connected", 0, TL_MODE_SMCR, 0);
	tm_something(fd, POLLIN, &busy, 90 * SECOND);
	/* five waits, each rounded up */
	tm_happened("server: no Confirm, group in use", from, 30 * SECOND,
		    5 * tm_rounding(6 * SECOND));
	ends_check(ends_error(fd) != 0, "an error");
}

static void confirm_idle(void)
{
	u64 from;
	int fd;

	tm_pair();
	tl_sleep_ms(SECOND);
	tm_arm("LOSE_CLC:3");
	from = tm_now();
	fd = tm_connects("client has connected", 0, TL_MODE_SMCR, 0);
	ends_something(fd, POLLIN, 90 * SECOND);
	/* five waits, each rounded up: the client could be announcing an RMB */
	tm_happened("server: no Confirm, group idle", from, 30 * SECOND,
		    5 * tm_rounding(6 * SECOND));
	ends_check(ends_error(fd) != 0, "an error");
}

static void group(void)
{
	int fd = tm_socket();

	tm_arm("LOSE_CLC:2");
	tl_set_nonblock(fd, true);
	ends_check(tm_begin_connect(fd) == -EINPROGRESS, "connect() in progress");
	tl_sleep_ms(100);
	tm_connects("server: first contact of another", 0, TL_MODE_TCP, 5 * SECOND);
}

/* ---- LLC ---- */

static void confirm_link(void)
{
	tm_arm("LOSE_LLC:2+");
	tm_connects("server: no answer to CONFIRM LINK", 0, TL_MODE_TCP, 4 * SECOND);
}

static void confirm_link_client(void)
{
	tm_arm("LOSE_CLC:3");
	tm_connects("client: no CONFIRM LINK", 0, TL_MODE_TCP, 4 * SECOND);
}

static void confirm_again(void)
{
	tm_arm("LOSE_LLC:1");
	tm_connects("server: CONFIRM LINK again", 0, TL_MODE_SMCR, 1500);
}

/* The server and the client are native peers: the server does not wait for the client's answer. */
static void add_link(void)
{
	struct tm_count answers = tm_count(ENDS_SERVER, "link_reject");
	u64 from;

	/* before it come CONFIRM LINK, its answer, CAPABILITIES of both, and ADD LINK */
	tm_arm("LOSE_LLC:6+");
	from = tm_now();
	tm_connects("client has connected", 0, TL_MODE_SMCR, 0);
	ends_check(ends_something(tm_waiting, POLLIN, 60 * SECOND), "a connection to accept");
	tm_happened("server: no answer to ADD LINK", from, 0, SLACK_MS);
	tl_sleep_ms(SECOND);
	ends_check(tm_value(&answers) == answers.before, "the answer is lost");
}

static void add_link_client(void)
{
	tm_arm("LOSE_LLC:3+");
	tm_connects("client: no ADD LINK", ETIMEDOUT, TL_MODE_UNKNOWN, 5 * SECOND);
}

/* The client needs an RMB, and messages of the announcement are lost: connect() takes @want ms. */
static void check_rkey(const char *what, const char *fault, enum tl_mode mode, u64 want)
{
	int size = 256 << 10, fd;
	u64 from;

	tm_pair();
	tm_arm(fault);
	fd = tm_socket();
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	from = tm_now();
	ends_check(!tm_begin_connect(fd), "connect()");
	/* it looks every 100 ms */
	tm_happened(what, from, want, 100 + SLACK_MS);
	ends_check(ends_over(fd, tm_proto, mode), "the mode");
}

static void rkey(void)
{
	check_rkey("client: CONFIRM RKEY again", "LOSE_LLC:2", TL_MODE_SMCR, 2 * SECOND);
}

static void rkey_silent(void)
{
	check_rkey("client: no answer to CONFIRM RKEY", "LOSE_LLC:2+", TL_MODE_TCP, 22 * SECOND);
}

/*
 * One handshake waits for the answer to its CONFIRM RKEY, another one for the region that this
 * message concerns: neither delays close() of the listener.
 */
static void rkey_cancelled(void)
{
	int size = 256 << 10, fd[2], i;
	u64 from;

	tm_pair();
	setsockopt(tm_waiting, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	tm_arm("LOSE_LLC:1+");
	for (i = 0; i < 2; i++) {
		fd[i] = tm_socket();
		tl_set_nonblock(fd[i], true);
		ends_check(tm_begin_connect(fd[i]) == -EINPROGRESS, "connect() in progress");
	}
	ends_check(!ends_something(fd[0], POLLOUT, SECOND / 2), "the first handshake waits");
	ends_check(!ends_something(fd[1], POLLOUT, SECOND / 2), "the second handshake waits");
	from = tm_now();
	close(tm_waiting);
	/* the handshakes check every 100 ms */
	tm_happened("close() of the listener", from, 0, 100 + SLACK_MS);
}

static void test_link(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count lost = tm_count(ENDS_CLIENT, "link_fail");
	u64 from = tm_now();

	tm_arm("LOSE_LLC:1+");
	tm_changes("TEST LINK not answered", &lost, from, 38 * SECOND, tm_rounding(8 * SECOND));
	ends_check(ends_something(p.fd[ENDS_CLIENT], POLLIN, SECOND) &&
		   ends_error(p.fd[ENDS_CLIENT]) == ECONNABORTED, "ECONNABORTED");
}

static void test_link_hour(void)
{
	struct tm_count lost;
	u64 from;

	tm_sysctl("smcr_testlink_time", "3600");
	tm_pair();
	lost = tm_count(ENDS_CLIENT, "link_fail");
	from = tm_now();
	tm_arm("LOSE_LLC:1+");
	tm_changes("TEST LINK after an hour", &lost, from, 3608 * SECOND, tm_rounding(8 * SECOND));
}

/* TEST LINK after 2 s of silence, with @secs for an answer, stays unanswered. */
static void check_unanswered(const char *what, const char *secs, u64 want)
{
	struct tm_count lost;
	u64 from;

	tm_sysctl("smcr_testlink_time", "2");
	tm_sysctl("smcr_testlink_timeout", secs);
	tm_pair();
	lost = tm_count(ENDS_CLIENT, "link_fail");
	from = tm_now();
	tm_arm("LOSE_LLC:1+");
	tm_changes(what, &lost, from, 2 * SECOND + want, tm_rounding(want) + SLACK_MS);
}

static void test_link_timeout(void)
{
	check_unanswered("TEST LINK not answered, 3 s", "3", 3 * SECOND);
}

static void test_link_patient(void)
{
	check_unanswered("TEST LINK not answered, 20 s", "20", 20 * SECOND);
}

/* The answer is lost repeatedly, as are the queue pair's first retries. */
static void test_link_lossy(void)
{
	struct tm_count lost;
	struct ends_pair p;

	tm_sysctl("smcr_testlink_time", "2");
	p = tm_pair();
	lost = tm_count(ENDS_CLIENT, "link_fail");
	ends_cut_cable();
	tl_sleep_ms(6 * SECOND);
	ends_mend_cable();
	tl_sleep_ms(4 * SECOND);
	ends_check(tm_value(&lost) == lost.before, "the link remains");
	tm_ping(&p);
}

static void quiet_hour(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count lost = tm_count(ENDS_CLIENT, "link_fail");
	struct tm_count ours = tm_count(ENDS_CLIENT, "tx_llc");
	struct tm_count theirs = tm_count(ENDS_SERVER, "tx_llc");
	long sent;

	tl_sleep_ms(3600 * SECOND);
	ends_check(tm_value(&lost) == lost.before, "the link remains");
	/* each probe counts at both ends, and so does its answer */
	sent = tm_value(&ours) - ours.before + tm_value(&theirs) - theirs.before;
	printf("# %ld LLC messages in an hour\n", sent);
	ends_check(sent >= 2 * 119 && sent <= 4 * 120, "a probe every 30 s");
	tm_ping(&p);
}

const struct ends_test tm_hs_tests[] = {
	{ "proposal", proposal },
	{ "confirm", confirm },
	{ "listener_closes", listener_closes },
	{ "accept_again", accept_again },
	{ "cork_early", cork_early },
	{ "cork_early_tcp", cork_early_tcp },
	{ "accept_busy", accept_busy },
	{ "again", again },
	{ "unknown_host", unknown_host },
	{ "confirm_busy", confirm_busy },
	{ "confirm_idle", confirm_idle },
	{ "group", group },
	{ "confirm_link", confirm_link },
	{ "confirm_link_client", confirm_link_client },
	{ "confirm_again", confirm_again },
	{ "add_link", add_link },
	{ "add_link_client", add_link_client },
	{ "rkey", rkey },
	{ "rkey_silent", rkey_silent },
	{ "rkey_cancelled", rkey_cancelled },
	{ "test_link", test_link },
	{ "test_link_hour", test_link_hour },
	{ "test_link_lossy", test_link_lossy },
	{ "test_link_timeout", test_link_timeout },
	{ "test_link_patient", test_link_patient },
	{ "quiet_hour", quiet_hour },
	{ }
};
