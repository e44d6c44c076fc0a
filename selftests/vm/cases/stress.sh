# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Many connections at once, with operations at random: /t/smc_stress, in one instance of User Mode
# Linux, two namespaces. SEED (printed), CONNS and STRESS_FOR (seconds) are the program's.

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES="stress:$((${STRESS_FOR:-20} * 2 + 300))"
export CASES

setup()
{
	setup_ends && [ -n "$TWO" ]
}

case_stress()
{
	on_the_cable /t/smc_stress stress
	grep '^#' /run/said | while read -r _ line; do
		diag "$line"
	done
	unload
	[ "$rc" = 0 ] || fail "exit code $rc"
}
