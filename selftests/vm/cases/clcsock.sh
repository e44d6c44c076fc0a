# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# How the end of the clcsock affects a stream, and to which process filters, BPF programs and
# memory limits attribute the clcsock: /t/smc_clcsock, in one instance of User Mode Linux, with
# virtual time if possible, two namespaces, a newly loaded module for each test.
#
#   CLCSOCK  tests (default: all that work on User Mode Linux)

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

: "${CLCSOCK:=$(/t/smc_clcsock | grep -v '^destroyed\|^by_cgroup$')}"

setup()
{
	setup_cable
}

# shellcheck disable=SC2086,SC2046 # a list of words
cable_cases /t/smc_clcsock $CLCSOCK
