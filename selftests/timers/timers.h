/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_timers: each deadline of the module, measured on the guest's clock. Both ends are those of
 * ends/ends.h.
 */
#ifndef SMC_SELFTESTS_TIMERS_H
#define SMC_SELFTESTS_TIMERS_H

#include "ends/ends.h"

#define TM_PORT		4460
#define JIFFY_MS	10	/* User Mode Linux has no other */
#define SLACK_MS	(6 * JIFFY_MS)	/* a group that ends waits for grace periods first */
#define SECOND	1000ULL

extern const struct ends_test tm_hs_tests[];
extern const struct ends_test tm_conn_tests[];
extern const struct ends_test tm_group_tests[];

/**
 * struct tm_count - a number in a file of /proc that is to change
 * @where: whose smc_stat it is in, ENDS_NR: arrivals at a fault site
 * @name: of the line
 * @before: its value when the test began
 */
struct tm_count {
	enum ends_where where;
	const char *name;
	long before;
};

extern const struct tl_proto *tm_proto;
extern int tm_waiting;			/* the listener */

/* Makes the listener. */
void tm_set_up(void);

u64 tm_now(void);
/* By how much the kernel may round up a timer of so many ms. */
u64 tm_rounding(u64 ms);
/* @what happened now: was that @want ms after @from? */
void tm_happened(const char *what, u64 from, u64 want, u64 slack);
long tm_value(const struct tm_count *c);
struct tm_count tm_count(enum ends_where where, const char *name);
struct tm_count tm_arrivals(const char *site);
/* The count changes @want ms after @from. */
void tm_changes(const char *what, const struct tm_count *c, u64 from, u64 want, u64 slack);

/* Fault sites; counting of arrivals begins anew. */
void tm_arm(const char *sites);
/* net.smc.@name of both ends. */
void tm_sysctl(const char *name, const char *value);

int tm_socket(void);
/* 0 or a negative errno. */
int tm_begin_connect(int fd);
/* connect() that ends with @err (0: success, over @mode) @want ms after its beginning. */
int tm_connects(const char *what, int err, enum tl_mode mode, u64 want);
/* A connection over SMC, which nothing holds up. */
struct ends_pair tm_pair(void);
/* One byte to and fro: afterwards nothing is under way. */
void tm_ping(const struct ends_pair *p);
/* Something at @fd within @limit ms, while @busy is in use. */
bool tm_something(int fd, short events, const struct ends_pair *busy, u64 limit);

#endif
