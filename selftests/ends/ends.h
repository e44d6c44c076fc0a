/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For programs that have both ends of each connection: a namespace for the server ("s",
 * 10.0.0.1) and one for the client ("c"), made by setup_ends() of selftests/vm/guest/ends.sh.
 */
#ifndef SMC_SELFTESTS_ENDS_H
#define SMC_SELFTESTS_ENDS_H

#include "lib/testlib.h"

/* The kernel's name for it, which user space lacks. */
#define ENDS_NO_RETURN	__noreturn__
#define __noreturn	__attribute__((ENDS_NO_RETURN))

#define ENDS_ADDR	"10.0.0.1"

enum ends_where { ENDS_SERVER, ENDS_CLIENT, ENDS_NR };

/**
 * struct ends_pair - both ends of a connection
 * @fd: by &enum ends_where
 */
struct ends_pair {
	int fd[ENDS_NR];
};

/**
 * struct ends_test - a test of such a program; lists of them end with one without a name
 * @name: what it is called by
 * @run: tells by ends_check() and ends_die() what is wrong
 */
struct ends_test {
	const char *name;
	void (*run)(void);
};

/*
 * PROGRAM: the names of all tests; PROGRAM NAME: that one, after @set_up, which may be NULL. Behind
 * the last of @lists is NULL. What main() is to return.
 */
int ends_main(int argc, char **argv, const struct ends_test *const *lists, void (*set_up)(void));
void ends_die(const char *what) __noreturn;
/* A test begins, and is again after each call here, at the client's end. */
void ends_enter(enum ends_where where);
/* A failed check is told and remembered. */
void ends_check(bool ok, const char *fmt, ...) __printf(2, 3);
/* Runs a shell command in the namespace of an end; dies if it fails. */
void ends_run(enum ends_where where, const char *fmt, ...) __printf(2, 3);
/* Writes @text into a file of a folder; dies if that fails. */
void ends_put(const char *folder, const char *file, const char *text);
/* The number in column @column, from 1, of the line of file @path that begins with @name. */
long ends_number(const char *path, const char *name, unsigned int column);
/* The number behind @name in /proc/net/smc_stat there. */
long ends_stat(enum ends_where where, const char *name);
/* Nothing that the client sends arrives any more; it does again. */
void ends_cut_cable(void);
void ends_mend_cable(void);

/* A listener at the server's end, a connection to it that carries bytes over @mode. */
int ends_listen(const struct tl_proto *proto, unsigned int port);
int ends_connect(const struct tl_proto *proto, unsigned int port);
struct ends_pair ends_pair(const struct tl_proto *proto, int waiting, unsigned int port,
			   enum tl_mode mode);
/* Does the client's end carry bytes that way? */
bool ends_over(int fd, const struct tl_proto *proto, enum tl_mode mode);
/* One byte to and fro; false if that does not work. */
bool ends_ping(const struct ends_pair *p);
/* Sends until nobody takes any more; how many bytes, all of stream @seed. */
u64 ends_fill(int fd, u64 seed);
/* Does something happen at @fd within the time? */
bool ends_something(int fd, short events, unsigned int msec);
int ends_error(int fd);

#endif
