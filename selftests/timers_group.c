// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_timers: deadlines of groups, of the RNIC, and of requests that do not end.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timers.h"

static void end_pair(const struct tm_pair *p)
{
	char c;

	close(p->client);
	recv(p->server, &c, 1, 0);
	close(p->server);
}

static void idle_server(void)
{
	struct tm_pair p = tm_pair();
	struct tm_count ended = tm_count(tm_server, "lgr_term");
	struct tm_count fenced;
	u64 from = tm_now();

	end_pair(&p);
	tm_changes("server: group idle", &ended, from, 600 * SECOND, SLACK_MS);
	fenced = tm_count(-1, "QP_ERR");
	tm_changes("queue pair still there", &fenced, tm_now(), 200, SLACK_MS);
}

static void idle_client(void)
{
	struct tm_count ended;
	struct tm_pair p;
	u64 from;

	tm_test_link_time("0");
	p = tm_pair();
	ended = tm_count(tm_client, "lgr_term");
	from = tm_now();
	end_pair(&p);
	tl_sleep_ms(599 * SECOND);
	tm_arm("LOSE_LLC:1+");	/* the server's farewell */
	tm_changes("client: group idle", &ended, from, 610 * SECOND, SLACK_MS);
}

/* The last words wait for their completion, but not for ever. */
static void last_words(void)
{
	struct tm_count ended, fenced;
	struct tm_pair p;
	u64 from;

	tm_test_link_time("0");
	p = tm_pair();
	ended = tm_count(tm_server, "lgr_term");
	from = tm_now();
	end_pair(&p);
	tl_sleep_ms(599 * SECOND);
	tm_cut_cable();
	tm_arm("LOSE_LLC:1+");
	tm_changes("server: group idle", &ended, from, 600 * SECOND, SLACK_MS);
	fenced = tm_count(-1, "QP_ERR");
	tm_changes("DELETE LINK not acknowledged, parting", &fenced, tm_now(), 500 + 200,
		   SLACK_MS);
}

static void registration(void)
{
	tm_arm("LOSE_REG:1");
	tm_connects("client: REG_MR", 0, TL_MODE_TCP, 5 * SECOND);
}

static void retries(void)
{
	struct tm_pair p = tm_pair();
	struct tm_count lost = tm_count(tm_client, "link_fail");
	u64 from;

	tm_cut_cable();
	from = tm_now();
	tm_check(send(p.client, "x", 1, 0) == 1, "send()");
	/* Soft-RoCE's clock begins with the last answer it had */
	tm_changes("the peer's RNIC silent", &lost, from, 7500, 1500);
}

/*
 * Neither end posts receives again: in the end the server's RNIC answers "not ready", for
 * ever. Returns when the client sent what it takes no more.
 */
static u64 no_receives(const struct tm_pair *p)
{
	struct tm_count taken = tm_count(tm_server, "rx_cdc");
	u64 from = tm_now();

	tm_arm("LOSE_RECV:1+");
	for (int i = 0; i < 300; i++) {
		from = tm_now();
		tm_check(send(p->client, "x", 1, 0) == 1, "send()");
		tl_sleep_ms(2 * JIFFY_MS);
		if (tm_value(&taken) == taken.before)
			return from;
		taken.before = tm_value(&taken);
	}
	tm_check(false, "receives run out");
	return from;
}

static void stall(void)
{
	struct tm_count stalls, lost;
	struct tm_pair p;
	u64 from;

	tm_test_link_time("3600");
	tm_stall_time("5");
	p = tm_pair();
	lost = tm_count(tm_client, "link_fail");
	stalls = tm_count(tm_client, "link_stall");
	from = no_receives(&p);
	tm_changes("a request does not finish", &stalls, from, 5 * SECOND, SLACK_MS);
	tm_check(tm_value(&lost) == lost.before + 1, "the link fails once");
	tm_check(tm_something(p.client, POLLIN, NULL, SECOND) && tm_error(p.client) == ECONNABORTED,
		 "ECONNABORTED");
}

/* Without the deadline nobody notices, and with it no link does but one that is stuck. */
static void stall_off(void)
{
	struct tm_count lost;
	struct tm_pair p;

	tm_test_link_time("3600");
	tm_stall_time("0");
	p = tm_pair();
	lost = tm_count(tm_client, "link_fail");
	no_receives(&p);
	tl_sleep_ms(600 * SECOND);
	tm_check(tm_value(&lost) == lost.before, "the link lives");
}

/* A reader that does not read: the window is closed, but nothing is unfinished. */
static void stall_window(void)
{
	static const char zeros[65536];
	struct tm_count lost, full;
	struct tm_pair p;

	tm_stall_time("5");
	p = tm_pair();
	lost = tm_count(tm_client, "link_fail");
	full = tm_count(tm_client, "tx_full");
	tl_set_nonblock(p.client, true);
	for (int i = 0; i < 20; i++) {
		send(p.client, zeros, sizeof(zeros), 0);
		tl_sleep_ms(100);
	}
	tm_check(tm_value(&full) != full.before, "the window is closed");
	tl_sleep_ms(3600 * SECOND);
	tm_check(tm_value(&lost) == lost.before, "the link lives");
}

const struct tm_test tm_group_tests[] = {
	{ "registration", registration },
	{ "idle_server", idle_server },
	{ "idle_client", idle_client },
	{ "last_words", last_words },
	{ "retries", retries },
	{ "stall", stall },
	{ "stall_off", stall_off },
	{ "stall_window", stall_window },
	{ }
};
