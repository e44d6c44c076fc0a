// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each deadline of the module, measured on the guest's clock: not before and not after
 * its documented value. Client and server are two namespaces of one kernel, so that
 * virtual time can be had; a module with fault sites makes one of them silent.
 * Documentation/timers.rst has the list.
 */
#include <stdio.h>
#include <string.h>

#include "timers.h"

static const struct tm_test *const parts[] = { tm_hs_tests, tm_conn_tests, tm_group_tests };

/* smc_timers: the names of all tests; smc_timers NAME: one of them */
int main(int argc, char **argv)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(parts); i++) {
		for (const struct tm_test *t = parts[i]; t->name; t++) {
			if (argc < 2) {
				printf("%s\n", t->name);
			} else if (!strcmp(argv[1], t->name)) {
				tm_set_up();
				t->run();
				return !!tm_bad;
			}
		}
	}
	return argc < 2 ? 0 : 2;
}
