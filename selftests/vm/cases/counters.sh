# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What is counted, against what was done, to the byte: one instance of User Mode Linux with virtual
# time, a module with fault sites, two namespaces.

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES=$(/t/smc_counters)
export CASES
CASE_TIMEOUT=10000	# seconds of guest time
export CASE_TIMEOUT

setup()
{
	setup_cable
}

for t_ in $CASES; do
	eval "case_$t_() { cable_case /t/smc_counters $t_; }"
done
