/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_timers: each deadline of the module, measured on the guest's clock. Client and server are two
 * namespaces of one kernel, a test is, and is again after each call here, in the client's.
 */
#ifndef SMC_SELFTESTS_TIMERS_H
#define SMC_SELFTESTS_TIMERS_H

#include "testlib.h"

#define TM_ADDR		"10.0.0.1"
#define TM_PORT		4460
#define JIFFY_MS	10	/* User Mode Linux has no other */
#define SLACK_MS	(3 * JIFFY_MS)
#define SECOND	1000ULL

/**
 * struct tm_test - a test; lists of them end with one without a name
 * @name: what it is called by
 * @run: tells what is wrong by tm_check() and the like
 */
struct tm_test {
	const char *name;
	void (*run)(void);
};

extern const struct tm_test tm_hs_tests[];
extern const struct tm_test tm_conn_tests[];
extern const struct tm_test tm_group_tests[];

/**
 * struct tm_count - a number in a file of /proc that is to change
 * @ns: namespace whose smc_stat it is in, -1: arrivals of a fault site
 * @name: of the line
 * @before: its value when the test began
 */
struct tm_count {
	int ns;
	const char *name;
	long before;
};

/**
 * struct tm_pair - both ends of a connection over SMC
 * @client: one end
 * @server: the other
 */
struct tm_pair {
	int client;
	int server;
};

extern const struct tl_proto *tm_proto;
extern int tm_server, tm_client;	/* files that stand for the namespaces */
extern int tm_waiting;			/* the listener */
extern unsigned int tm_bad;		/* checks that failed */

/* Namespaces and the listener. */
void tm_set_up(void);
void tm_die(const char *what);
void tm_enter(int ns);

u64 tm_now(void);
/* By how much the kernel may round up a timer of so many ms. */
u64 tm_rounding(u64 ms);
/* @what happened now: was that @want ms after @from? */
void tm_happened(const char *what, u64 from, u64 want, u64 slack);
void tm_check(bool ok, const char *what);
long tm_value(const struct tm_count *c);
struct tm_count tm_count(int ns, const char *name);
/* The count changes @want ms after @from. */
void tm_changes(const char *what, const struct tm_count *c, u64 from, u64 want, u64 slack);

void tm_put(const char *path, const char *text);
/* Fault sites; counting of arrivals begins anew. */
void tm_arm(const char *sites);
/* Sysctls of both namespaces. */
void tm_test_link_time(const char *seconds);
void tm_stall_time(const char *seconds);
/* Nothing that the client sends arrives any more; it does again. */
void tm_cut_cable(void);
void tm_mend_cable(void);

int tm_socket(void);
/* 0 or a negative errno. */
int tm_begin_connect(int fd);
/* connect() that ends with @err (0: success, over @mode) @want ms after its beginning. */
int tm_connects(const char *what, int err, enum tl_mode mode, u64 want);
struct tm_pair tm_pair(void);
/* One byte to and fro: afterwards nothing is under way. */
void tm_ping(const struct tm_pair *p);
int tm_error(int fd);
enum tl_mode tm_mode(int fd);
/* Something at @fd within @limit ms, while @busy is in use. */
bool tm_something(int fd, short events, const struct tm_pair *busy, u64 limit);

#endif
