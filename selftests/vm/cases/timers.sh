# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Deadlines, measured in guest time: one instance of User Mode Linux with virtual time, a module
# with fault sites, two namespaces. What each test waits for is in Documentation/timers.rst.

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES=$(/t/smc_timers)
export CASES
CASE_TIMEOUT=10000	# seconds of guest time
export CASE_TIMEOUT

setup()
{
	setup_cable
}

for t_ in $CASES; do
	eval "case_$t_() { cable_case /t/smc_timers $t_; }"
done
