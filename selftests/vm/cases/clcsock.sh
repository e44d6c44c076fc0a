# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the end of the clcsock means for a stream, and to which process filters, BPF
# programs and limits of memory attribute the clcsock: /t/smc_clcsock, in one instance of User Mode Linux, with
# virtual time if it can, two namespaces, a fresh module for each test.

#   CLCSOCK  tests (default: those for which User Mode Linux has the means)

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

: "${CLCSOCK:=$(/t/smc_clcsock | grep -v '^destroyed\|^by_cgroup$')}"

setup()
{
	setup_cable
}

# shellcheck disable=SC2086,SC2046 # a list of words
cable_cases /t/smc_clcsock $CLCSOCK
