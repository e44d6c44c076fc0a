/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_timers: each deadline of the module, measured on the guest's clock. Both ends run in one
 * program (ends/ends.h).
 */
#ifndef SMC_SELFTESTS_TIMERS_H
#define SMC_SELFTESTS_TIMERS_H

#include "ends/ends.h"

#define TM_PORT		4460
#define JIFFY_MS	10	/* User Mode Linux has no other */
#define SLACK_MS	(6 * JIFFY_MS)	/* the end of a group waits for RCU grace periods */
#define SECOND	1000ULL

extern const struct ends_test tm_hs_tests[];
extern const struct ends_test tm_conn_tests[];
extern const struct ends_test tm_group_tests[];

/**
 * struct tm_count - a number in a /proc file that should change
 * @where: end whose smc_stat it is in, ENDS_NR: arrivals at a fault site
 * @name: name of its line
 * @before: its value when the test began
 */
struct tm_count {
	enum ends_where where;
	const char *name;
	long before;
};

extern const struct tl_proto *tm_proto;
extern int tm_waiting;			/* the listener */

/* Create the listener. */
void tm_set_up(void);

u64 tm_now(void);
/* Return by how many ms the kernel may round up a timer of @ms. */
u64 tm_rounding(u64 ms);
/* @what happened now: check that this is @want ms after @from. */
void tm_happened(const char *what, u64 from, u64 want, u64 slack);
long tm_value(const struct tm_count *c);
struct tm_count tm_count(enum ends_where where, const char *name);
struct tm_count tm_arrivals(const char *site);
/* Wait for the count to change, which must happen @want ms after @from. */
void tm_changes(const char *what, const struct tm_count *c, u64 from, u64 want, u64 slack);

/* Arm fault sites; their counts of arrivals restart. */
void tm_arm(const char *sites);
/* Set net.smc.@name at both ends. */
void tm_sysctl(const char *name, const char *value);

int tm_socket(void);
/* Returns 0 or a negative errno. */
int tm_begin_connect(int fd);
/* connect(), which must end with @err (0: success, with @mode) @want ms after its start. */
int tm_connects(const char *what, int err, enum tl_mode mode, u64 want);
/* Create a connection over SMC, which no fault delays. */
struct ends_pair tm_pair(void);
/* Exchange one byte in each direction: no message is in flight afterwards. */
void tm_ping(const struct ends_pair *p);
/* Wait up to @limit ms for an event at @fd, while @busy is in use. */
bool tm_something(int fd, short events, const struct ends_pair *busy, u64 limit);

#endif
