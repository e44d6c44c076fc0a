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
	setup_ends && [ -n "$TWO" ] || return 1
	modprobe sch_netem
}

# A fresh module, so that no group is left from the test before.
timer()
{
	at "$1"
	load "" || fail "the module does not load"
	/t/smc_timers "$1"
	rc=$?
	ip netns exec c /usr/sbin/tc qdisc del dev vethc root 2> /dev/null
	# a cut cable leaves neighbours that are asked for again only after a second
	ip -n c neigh flush dev vethc
	ip -n s neigh flush dev veths
	unload
	[ "$rc" = 0 ] || fail "exit code $rc"
}

for t_ in $CASES; do
	eval "case_$t_() { timer $t_; }"
done
