/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SMC_SELFTESTS_STRESS_H
#define SMC_SELFTESTS_STRESS_H

#include "ends/ends.h"

/* The number in the environment variable @name, or @otherwise. */
unsigned long stress_env(const char *name, unsigned long otherwise);
/* Steele and Vigna's splitmix64: the same @state gives the same numbers again. */
u64 stress_rnd(u64 *state, u64 below);
/*
 * Set an option at random, one that changes no byte of the stream; SO_RCVBUF is @rcvbuf at least.
 * 0 or -1 with errno.
 */
int stress_option(u64 *state, int fd, int rcvbuf);

extern const struct ends_test stress_threads_tests[];

#endif
