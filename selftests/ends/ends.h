/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For programs that run both ends of each connection: one namespace for the server ("s", 10.0.0.1)
 * and one for the client ("c"), set up by setup_ends() of selftests/vm/guest/ends.sh.
 */
#ifndef SMC_SELFTESTS_ENDS_H
#define SMC_SELFTESTS_ENDS_H

#include "lib/testlib.h"

/* The kernel's name for it; user space has none. */
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
 * struct ends_test - one test; a list of tests ends with an entry without a name
 * @name: its name on the command line
 * @run: runs it; reports failures by ends_check() and ends_die()
 */
struct ends_test {
	const char *name;
	void (*run)(void);
};

/*
 * The body of main(); returns its exit status. PROGRAM prints the names of all tests, PROGRAM NAME
 * runs this test, after @set_up, which may be NULL. @lists ends with NULL.
 */
int ends_main(int argc, char **argv, const struct ends_test *const *lists, void (*set_up)(void));
void ends_die(const char *what) __noreturn;
/*
 * Change to the namespace of @where. Tests start, and all functions below return, in the client's.
 */
void ends_enter(enum ends_where where);
/* Print a failed check; the test fails at its end. */
void ends_check(bool ok, const char *fmt, ...) __printf(2, 3);
/* Run a shell command in the namespace of an end; die if it fails. */
void ends_run(enum ends_where where, const char *fmt, ...) __printf(2, 3);
/* Write @text to a file of a folder; die if that fails. */
void ends_put(const char *folder, const char *file, const char *text);
/* Return the number in column @column (first is 1) of the line of @path that begins with @name. */
long ends_number(const char *path, const char *name, unsigned int column);
/* Return the counter @name of /proc/net/smc_stat of that end. */
long ends_stat(enum ends_where where, const char *name);
/* Let connections to servers that are known begin as TCP, and change over after so many bytes. */
void ends_upgrade(unsigned int bytes);
/* Drop all packets that the client sends; deliver them again. */
void ends_cut_cable(void);
void ends_mend_cable(void);

/* A listener in the server's namespace; a connection to it, which must use @mode, if known. */
int ends_listen(const struct tl_proto *proto, unsigned int port);
int ends_connect(const struct tl_proto *proto, unsigned int port);
struct ends_pair ends_pair(const struct tl_proto *proto, int waiting, unsigned int port,
			   enum tl_mode mode);
/* Check whether the client's end uses @mode. */
bool ends_over(int fd, const struct tl_proto *proto, enum tl_mode mode);
/* Exchange one byte in each direction; false on failure. */
bool ends_ping(const struct ends_pair *p);
/* Send bytes of stream @seed until neither end takes more; return their number. */
u64 ends_fill(int fd, u64 seed);
/* Check whether poll() reports something at @fd within the time. */
bool ends_something(int fd, short events, unsigned int msec);
int ends_error(int fd);

#endif
