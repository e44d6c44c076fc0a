/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the fuzzers. */
#ifndef SMC_FUZZ_H
#define SMC_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <smc/proto/types.h>

/* The fuzzer reports an abort as a finding, with the input that caused it. */
#define FUZZ_ASSERT(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: not true: %s\n", __FILE__,	\
			__LINE__, #cond);				\
		abort();						\
	}								\
} while (0)

/* What is left of an input. */
struct fuzz_input {
	const u8 *data;
	size_t left;
};

/* Take the next bytes as a number, big-endian; zeros behind the end. */
static inline u32 fuzz_take(struct fuzz_input *in, unsigned int bytes)
{
	u32 v = 0;

	while (bytes--) {
		v = v << 8 | (in->left ? *in->data : 0);
		if (in->left) {
			in->data++;
			in->left--;
		}
	}
	return v;
}

/* The Makefile renames this function to the entry point of libFuzzer. */
int fuzz_one_input(const u8 *data, size_t size);

#endif
