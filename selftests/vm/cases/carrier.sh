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

setup()
{
	setup_cable
}

# shellcheck disable=SC2086,SC2046 # a list of words
cable_cases /t/smc_carrier $CARRIER
