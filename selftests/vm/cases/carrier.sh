# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the end of the carrier means for a stream, and whose the carrier is to filters, BPF
# programs and limits of memory: /t/smc_carrier, in one instance of User Mode Linux, with
# virtual time if it can, two namespaces, a fresh module for each test.

#   CARRIER  tests (default: those for which User Mode Linux has the means)

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

: "${CARRIER:=$(/t/smc_carrier | grep -v '^destroyed\|^by_cgroup$')}"

CASES="$CARRIER"
export CASES
CASE_TIMEOUT=10000	# seconds of guest time
export CASE_TIMEOUT

setup()
{
	setup_cable
}

for t_ in $CASES; do
	eval "case_$t_() { cable_case /t/smc_carrier $t_; }"
done
