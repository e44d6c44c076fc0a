// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each deadline of the module, measured on the guest's clock: neither before nor after its
 * documented value. Client and server are two namespaces of one kernel, so that virtual time is
 * possible; fault sites in the module make one of them silent. Documentation/timers.rst has the
 * list.
 */
#include <stddef.h>

#include "timers.h"

/* smc_timers: print the names of all tests; smc_timers NAME: run one of them */
int main(int argc, char **argv)
{
	static const struct ends_test *const lists[] = {
		tm_hs_tests, tm_conn_tests, tm_group_tests, NULL,
	};

	return ends_main(argc, argv, lists, tm_set_up);
}
