/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the proofs share. cbmc follows every path of a proof for every value of its inputs, and
 * checks each access, shift and signed operation on the way beside what PROVE() states.
 *
 * A proof is a function without arguments; proofs.txt says which files and how many rounds of a
 * loop it needs. Variables that are not set have any value: cbmc takes them for inputs.
 */
#ifndef SMC_PROVE_H
#define SMC_PROVE_H

#include <stdlib.h>
#include <smc/proto/types.h>

/* From here on only runs with this. */
#define GIVEN(cond)	__CPROVER_assume(cond)

/* Holds in every run that gets here. */
#define PROVE(cond)	__CPROVER_assert(cond, #cond)

size_t nondet_size(void);
u64 nondet_u64(void);
u32 nondet_u32(void);
u16 nondet_u16(void);
u8 nondet_u8(void);

/* Any @len bytes, and nothing else: an access beside them is an error. */
static inline u8 *any_bytes(size_t len)
{
	u8 *p = malloc(len);

	GIVEN(p);
	return p;
}

/*
 * For structures: one byte stands for all of them, as its place is any. Cheaper than to compare
 * them in a loop.
 */
static inline size_t any_index(size_t size)
{
	size_t i = nondet_size();

	GIVEN(i < size);
	return i;
}

/* Two arrays have the same bytes. */
#define PROVE_SAME(a, b)							\
	do {									\
		size_t at_ = any_index(sizeof(a));				\
										\
		__CPROVER_assert(((const u8 *)(a))[at_] == ((const u8 *)(b))[at_],	\
				 #a " == " #b);					\
	} while (0)

/* A bool without a value might have another one than 0 and 1. */
static inline bool any_bool(void)
{
	return nondet_u8() & 1;
}

#endif
