/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KTAP output for the user-space tests: a plan, one line per case, notes after
 * a '#'. Exit codes follow kselftest: 0 pass, 1 fail, 4 skip.
 */
#ifndef SMC_SELFTESTS_KTAP_H
#define SMC_SELFTESTS_KTAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#define KTAP_PASS	0
#define KTAP_FAIL	1
#define KTAP_SKIP	4

/**
 * struct ktap - running totals of one test program
 * @nr: number of the last result line
 * @failed: number of "not ok" results
 * @skipped: number of skipped results
 * @strict: a skip counts as a failure
 */
struct ktap {
	unsigned int nr;
	unsigned int failed;
	unsigned int skipped;
	bool strict;
};

static inline void ktap_plan(unsigned int planned)
{
	/* stdout of a guest is a pipe, which would be fully buffered until exit */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..%u\n", planned);
}

__printf(1, 2)
static inline void ktap_note(const char *fmt, ...)
{
	va_list ap;

	flockfile(stdout);
	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	funlockfile(stdout);
}

static inline void ktap_result(struct ktap *k, bool ok, const char *name)
{
	k->nr++;
	if (!ok)
		k->failed++;
	printf("%s %u %s\n", ok ? "ok" : "not ok", k->nr, name);
	fflush(stdout);
}

static inline void ktap_skip(struct ktap *k, const char *name, const char *why)
{
	k->nr++;
	k->skipped++;
	if (k->strict)
		k->failed++;
	printf("%s %u %s # SKIP %s\n", k->strict ? "not ok" : "ok", k->nr, name, why);
	fflush(stdout);
}

static inline int ktap_exit_code(const struct ktap *k)
{
	printf("# totals: pass:%u fail:%u skip:%u\n",
	       k->nr - k->failed - (k->strict ? 0 : k->skipped), k->failed, k->skipped);
	fflush(stdout);
	if (k->failed || !k->nr)
		return KTAP_FAIL;
	return k->nr == k->skipped ? KTAP_SKIP : KTAP_PASS;
}

#endif /* SMC_SELFTESTS_KTAP_H */
