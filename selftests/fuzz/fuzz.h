/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzzers share. */
#ifndef SMC_FUZZ_H
#define SMC_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <smc/proto/types.h>

/* The fuzzer reports an abort as a finding, with the input that led to it. */
#define FUZZ_ASSERT(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: not true: %s\n", __FILE__,	\
			__LINE__, #cond);				\
		abort();						\
	}								\
} while (0)

/* The Makefile gives it the name that libFuzzer calls. */
int fuzz_one_input(const u8 *data, size_t size);

#endif
