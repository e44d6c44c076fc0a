// SPDX-License-Identifier: GPL-2.0-only
/* smc_timers: deadlines of groups, of the RNIC, and of work requests that do not complete. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timers.h"

static void end_pair(const struct ends_pair *p)
{
	char c;

	close(p->fd[ENDS_CLIENT]);
	recv(p->fd[ENDS_SERVER], &c, 1, 0);
	close(p->fd[ENDS_SERVER]);
}

static void idle_server(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count ended = tm_count(ENDS_SERVER, "lgr_term");
	struct tm_count fenced;
	u64 from = tm_now();

	end_pair(&p);
	tm_changes("server: group idle", &ended, from, 600 * SECOND, SLACK_MS);
	fenced = tm_arrivals("QP_ERR");
	tm_changes("queue pair still there", &fenced, tm_now(), 200, SLACK_MS);
}

/*
 * The group ends at @where after @want ms without connections; LLC messages of that end are lost.
 */
static void check_idle_end(const char *what, enum ends_where where, bool cut, u64 want)
{
	struct tm_count ended;
	struct ends_pair p;
	u64 from;

	tm_sysctl("smcr_testlink_time", "0");
	p = tm_pair();
	ended = tm_count(where, "lgr_term");
	from = tm_now();
	end_pair(&p);
	tl_sleep_ms(599 * SECOND);
	if (cut)
		ends_cut_cable();
	tm_arm("LOSE_LLC:1+");
	tm_changes(what, &ended, from, want, SLACK_MS);
}

/* The client waits longer than the server, whose DELETE LINK is lost. */
static void idle_client(void)
{
	check_idle_end("client: group idle", ENDS_CLIENT, false, 610 * SECOND);
}

/* The last DELETE LINK waits for its completion, but not for ever. */
static void last_delete_link(void)
{
	struct tm_count fenced;

	check_idle_end("server: group idle", ENDS_SERVER, true, 600 * SECOND);
	fenced = tm_arrivals("QP_ERR");
	tm_changes("DELETE LINK not acknowledged", &fenced, tm_now(), 500 + 200,
		   SLACK_MS);
}

static void registration(void)
{
	tm_arm("LOSE_REG:1");
	tm_connects("client: REG_MR", 0, TL_MODE_TCP, 5 * SECOND);
}

/* No completion shows that a request has arrived: the module posts an empty probe behind it. */
static void probe_goes(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count probes = tm_count(ENDS_CLIENT, "wr_probes");
	u64 from;

	ends_cut_cable();
	from = tm_now();
	ends_check(send(p.fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
	tm_changes("a probe", &probes, from, 20, 2 * JIFFY_MS);
}

/* Probes may be lost, too: three of them, each waits twice as long as the one before. */
static void probe_delays(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count probes;
	u64 from;

	ends_cut_cable();
	from = tm_now();
	ends_check(send(p.fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
	/* 20 ms, counted from the end of a jiffy */
	for (int want = 20 + JIFFY_MS, i = 0; i < 3; want *= 2, i++) {
		probes = tm_count(ENDS_CLIENT, "wr_probes");
		tm_changes("a probe", &probes, from, want, 2 * JIFFY_MS);
		from = tm_now();
	}
	probes = tm_count(ENDS_CLIENT, "wr_probes");
	tl_sleep_ms(SECOND);
	ends_check(tm_value(&probes) == probes.before, "no fourth one");
}

/* A queue pair that refuses a probe is unusable: its link fails at once. */
static void probe_refused(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count lost = tm_count(ENDS_CLIENT, "link_fail");
	struct tm_count probes = tm_count(ENDS_CLIENT, "wr_probes");
	u64 from;

	ends_cut_cable();
	tm_arm("POST_PROBE:1");
	from = tm_now();
	ends_check(send(p.fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
	tm_changes("the link", &lost, from, 20, 2 * JIFFY_MS);
	ends_check(tm_value(&probes) == probes.before, "no probe is counted");
}

static void retries(void)
{
	struct ends_pair p = tm_pair();
	struct tm_count lost = tm_count(ENDS_CLIENT, "link_fail");
	struct tm_count probes = tm_count(ENDS_CLIENT, "wr_probes");
	u64 from;

	ends_cut_cable();
	from = tm_now();
	ends_check(send(p.fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
	/* Soft-RoCE's clock starts with the last answer */
	tm_changes("the peer's RNIC silent", &lost, from, 7500, 1500);
	ends_check(tm_value(&probes) - probes.before == 3, "probes");
}

/*
 * Neither end posts receives again: in the end the server's RNIC answers RNR for ever. Return the
 * time at which the client sent the first message that the server does not receive.
 */
static u64 no_receives(const struct ends_pair *p)
{
	struct tm_count taken = tm_count(ENDS_SERVER, "rx_cdc");
	u64 from = tm_now();

	tm_arm("LOSE_RECV:1+");
	for (int i = 0; i < 300; i++) {
		from = tm_now();
		ends_check(send(p->fd[ENDS_CLIENT], "x", 1, 0) == 1, "send()");
		tl_sleep_ms(2 * JIFFY_MS);
		if (tm_value(&taken) == taken.before)
			return from;
		taken.before = tm_value(&taken);
	}
	ends_check(false, "receives are used up");
	return from;
}

static void stall(void)
{
	struct tm_count stalls, lost;
	struct ends_pair p;
	u64 from;

	tm_sysctl("smcr_testlink_time", "3600");
	tm_sysctl("smcr_stall_time", "5");
	tm_sysctl("smcr_write_imm", "0");	/* rx_cdc counts what arrives */
	p = tm_pair();
	lost = tm_count(ENDS_CLIENT, "link_fail");
	stalls = tm_count(ENDS_CLIENT, "link_stall");
	from = no_receives(&p);
	tm_changes("a request does not complete", &stalls, from, 5 * SECOND, SLACK_MS);
	ends_check(tm_value(&lost) == lost.before + 1, "the link fails once");
	ends_check(ends_something(p.fd[ENDS_CLIENT], POLLIN, SECOND) &&
		   ends_error(p.fd[ENDS_CLIENT]) == ECONNABORTED, "ECONNABORTED");
}

/* Without the deadline a stuck link remains undetected; with it only a stuck link fails. */
static void stall_off(void)
{
	struct tm_count lost;
	struct ends_pair p;

	tm_sysctl("smcr_testlink_time", "3600");
	tm_sysctl("smcr_stall_time", "0");
	tm_sysctl("smcr_write_imm", "0");
	p = tm_pair();
	lost = tm_count(ENDS_CLIENT, "link_fail");
	no_receives(&p);
	tl_sleep_ms(600 * SECOND);
	ends_check(tm_value(&lost) == lost.before, "the link remains");
}

/* A reader that does not read: the window is closed, but no request is pending. */
static void stall_window(void)
{
	static const char zeros[65536];
	struct tm_count lost, full;
	struct ends_pair p;

	tm_sysctl("smcr_stall_time", "5");
	p = tm_pair();
	lost = tm_count(ENDS_CLIENT, "link_fail");
	full = tm_count(ENDS_CLIENT, "tx_full");
	tl_set_nonblock(p.fd[ENDS_CLIENT], true);
	for (int i = 0; i < 20; i++) {
		send(p.fd[ENDS_CLIENT], zeros, sizeof(zeros), 0);
		tl_sleep_ms(100);
	}
	ends_check(tm_value(&full) != full.before, "the window is closed");
	tl_sleep_ms(3600 * SECOND);
	ends_check(tm_value(&lost) == lost.before, "the link remains");
}

const struct ends_test tm_group_tests[] = {
	{ "registration", registration },
	{ "idle_server", idle_server },
	{ "idle_client", idle_client },
	{ "last_delete_link", last_delete_link },
	{ "probe", probe_goes },
	{ "probe_delays", probe_delays },
	{ "probe_refused", probe_refused },
	{ "retries", retries },
	{ "stall", stall },
	{ "stall_off", stall_off },
	{ "stall_window", stall_window },
	{ }
};
