/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit suites, registered in suites.c. */
#ifndef _SMC_SUITES_H
#define _SMC_SUITES_H

#include <kunit/test.h>

extern struct kunit_suite smc_buf_suite;
extern struct kunit_suite smc_conn_suite;
extern struct kunit_suite smc_lgr_suite;
extern struct kunit_suite smc_topology_suite;
extern struct kunit_suite smc_rtoken_suite;
extern struct kunit_suite smc_claim_suite;
extern struct kunit_suite smc_link_suite;
extern struct kunit_suite smc_llc_suite;
extern struct kunit_suite smc_settings_suite;
extern struct kunit_suite smc_rules_suite;
extern struct kunit_suite smc_pnet_suite;
extern struct kunit_suite smc_pnet_table_suite;
extern struct kunit_suite smc_stats_suite;
extern struct kunit_suite smc_wr_suite;
extern struct kunit_suite smc_wr_tail_suite;
extern struct kunit_suite smc_zcopy_suite;

#endif
