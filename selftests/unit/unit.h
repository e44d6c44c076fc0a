/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the unit tests of proto/: cases, checks, random numbers, hex.
 * Output is KTAP; the exit status is 0 only if every case passed.
 *
 * A test program is one test_*.c with
 *	static void wraps(void) { CHECK_EQ(1 + 1, 2); }
 *	static const struct unit_case cases[] = { UNIT_CASE(wraps) };
 *	UNIT_MAIN("cursor", cases)
 */
#ifndef SMC_UNIT_H
#define SMC_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <smc/proto/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct unit_case {
	const char *name;
	void (*fn)(void);
};

#define UNIT_CASE(f) { #f, f }

/* Failed checks of the current case; only the first UNIT_PRINT_MAX are printed. */
static unsigned int unit_failed;
static u64 unit_state;
/* REQUIRE() jumps here to end the case. */
static jmp_buf unit_end;

#define UNIT_PRINT_MAX 10

/*
 * The seed is fixed, so that runs are reproducible; UNIT_SEED changes it.
 * Every case starts from the seed, so the cases before do not affect it.
 */
static u64 unit_seed(void)
{
	const char *s = getenv("UNIT_SEED");

	return s ? strtoull(s, NULL, 0) : 0x7609;
}

/* splitmix64 */
static inline u64 unit_rand(void)
{
	u64 z = (unit_state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Return a random number below @n. */
static inline u32 unit_below(u32 n)
{
	return (u32)(unit_rand() % n);
}

static inline void unit_rand_bytes(void *buf, size_t len)
{
	u8 *p = buf;

	while (len--)
		*p++ = (u8)unit_rand();
}

static inline void unit_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (unit_failed++ >= UNIT_PRINT_MAX)
		return;
	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* printf() is never called; it makes the compiler check the arguments. */
#define FAIL(...) do {							\
	if (0)								\
		printf(__VA_ARGS__);					\
	unit_fail(__FILE__, __LINE__, __VA_ARGS__);			\
} while (0)

/* Continue after a failure. */
#define CHECK(cond) do {						\
	if (!(cond))							\
		FAIL("not true: %s", #cond);				\
} while (0)

#define CHECK_EQ(a, b) do {						\
	long long a_ = (long long)(a), b_ = (long long)(b);		\
									\
	if (a_ != b_)							\
		FAIL("%s is %lld (0x%llx), not %lld (0x%llx)", #a, a_,	\
		     (unsigned long long)a_, b_,			\
		     (unsigned long long)b_);				\
} while (0)

/* End the case after a failure, also from a function that the case called. */
#define REQUIRE(cond) do {						\
	if (!(cond)) {							\
		FAIL("not true, case ends here: %s", #cond);		\
		longjmp(unit_end, 1);					\
	}								\
} while (0)

#define CHECK_MEM(a, b, len)						\
	unit_check_mem(__FILE__, __LINE__, #a, a, b, len)

static inline void unit_check_mem(const char *file, int line, const char *what,
				  const void *got, const void *want,
				  size_t len)
{
	const u8 *g = got, *w = want;
	size_t i;

	for (i = 0; i < len; i++) {
		if (g[i] == w[i])
			continue;
		unit_fail(file, line, "%s: byte %zu is %02x, not %02x", what,
			  i, g[i], w[i]);
		return;
	}
}

static inline int unit_nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Convert lower case hex digits to bytes; blanks and line ends are skipped. A
 * typing error in a vector ends the program: the case would test nothing.
 */
static inline size_t unit_hex(const char *s, u8 *buf, size_t cap)
{
	size_t n = 0;

	while (*s) {
		int hi, lo;

		if (*s == ' ' || *s == '\n') {
			s++;
			continue;
		}
		hi = unit_nibble(s[0]);
		lo = hi < 0 ? -1 : unit_nibble(s[1]);
		if (lo < 0 || n >= cap) {
			printf("Bail out! bad hex: %s\n", s);
			exit(2);
		}
		buf[n++] = (u8)(hi << 4 | lo);
		s += 2;
	}
	return n;
}

/*
 * Return a heap copy of exactly @len bytes, so that the sanitizer reports the
 * first byte read beyond the end. The caller frees it.
 */
static inline u8 *unit_dup(const u8 *buf, size_t len)
{
	u8 *p = malloc(len ? len : 1);

	if (!p) {
		printf("Bail out! out of memory\n");
		exit(2);
	}
	memcpy(p, buf, len);
	return p;
}

static inline void unit_run_case(const struct unit_case *c)
{
	unit_failed = 0;
	unit_state = unit_seed();
	if (!setjmp(unit_end))
		c->fn();
}

static inline int unit_run(const char *suite, const struct unit_case *cases,
			   size_t n)
{
	size_t i, bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n");
	printf("# %s, seed 0x%llx\n", suite, (unsigned long long)unit_seed());
	printf("1..%zu\n", n);
	for (i = 0; i < n; i++) {
		unit_run_case(&cases[i]);
		if (unit_failed) {
			bad++;
			printf("# %u failed checks\n", unit_failed);
		}
		printf("%sok %zu %s.%s\n", unit_failed ? "not " : "", i + 1,
		       suite, cases[i].name);
	}
	printf("# %s: %zu passed, %zu failed\n", suite, n - bad, bad);
	return bad ? 1 : 0;
}

#define UNIT_MAIN(suite, list)						\
int main(void)								\
{									\
	exit(unit_run(suite, list,					\
		      sizeof(list) / sizeof(struct unit_case)));	\
}

#endif
