// SPDX-License-Identifier: GPL-2.0-only
/* Registration of the suites. They run when the module is loaded, before it is used. */
#include "suites.h"

kunit_test_suites(&smc_stats_suite, &smc_log_suite, &smc_host_suite, &smc_settings_suite,
		  &smc_rules_suite, &smc_wr_suite, &smc_tail_probe_suite, &smc_path_suite,
		  &smc_pnet_table_suite, &smc_region_suite, &smc_clcsock_suite, &smc_link_suite,
		  &smc_rtoken_suite, &smc_claim_suite, &smc_lgr_suite, &smc_topology_suite,
		  &smc_zerocopy_suite, &smc_cdc_suite, &smc_close_suite, &smc_conn_suite,
		  &smc_growth_suite, &smc_conn_upgrade_suite, &smc_llc_suite,
		  &smc_upgrade_policy_suite, &smc_upgrade_suite,
		  &smc_upgrade_life_suite, &smc_negcache_suite, &smc_deferred_suite,
		  &smc_handshake_suite, &smc_admission_suite, &smc_autosmc_suite,
		  &smc_loopback_suite);
