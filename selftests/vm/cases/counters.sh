# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The counters must match the operations exactly, to the byte: one instance of User Mode Linux with
# virtual time, a module with fault sites, two namespaces.

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

setup()
{
	setup_cable
}

# shellcheck disable=SC2086,SC2046 # a list of words
cable_cases /t/smc_counters $(/t/smc_counters)
