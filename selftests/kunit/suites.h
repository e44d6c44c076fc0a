/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit suites, registered in suites.c. */
#ifndef _SMC_SUITES_H
#define _SMC_SUITES_H

#include <kunit/test.h>

extern struct kunit_suite smc_admission_suite;
extern struct kunit_suite smc_autosmc_suite;
extern struct kunit_suite smc_clcsock_suite;
extern struct kunit_suite smc_close_suite;
extern struct kunit_suite smc_deferred_suite;
extern struct kunit_suite smc_handshake_suite;
extern struct kunit_suite smc_host_suite;
extern struct kunit_suite smc_region_suite;
extern struct kunit_suite smc_cdc_suite;
extern struct kunit_suite smc_conn_suite;
extern struct kunit_suite smc_conn_upgrade_suite;
extern struct kunit_suite smc_growth_suite;
extern struct kunit_suite smc_lgr_suite;
extern struct kunit_suite smc_topology_suite;
extern struct kunit_suite smc_rtoken_suite;
extern struct kunit_suite smc_claim_suite;
extern struct kunit_suite smc_link_suite;
extern struct kunit_suite smc_llc_suite;
extern struct kunit_suite smc_log_suite;
extern struct kunit_suite smc_loopback_suite;
extern struct kunit_suite smc_settings_suite;
extern struct kunit_suite smc_rules_suite;
extern struct kunit_suite smc_negcache_suite;
extern struct kunit_suite smc_path_suite;
extern struct kunit_suite smc_pnet_table_suite;
extern struct kunit_suite smc_stats_suite;
extern struct kunit_suite smc_wr_suite;
extern struct kunit_suite smc_tail_probe_suite;
extern struct kunit_suite smc_upgrade_policy_suite;
extern struct kunit_suite smc_upgrade_suite;
extern struct kunit_suite smc_upgrade_life_suite;
extern struct kunit_suite smc_zerocopy_suite;

#endif
