# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Many connections at once, with random operations: /t/smc_stress, in one instance of User Mode
# Linux, two namespaces. The program uses SEED (printed), CONNS, STRESS_FOR (seconds) and PATIENCE.

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES="stress:$((${STRESS_FOR:-20} * 2 + 300))"
export CASES

setup()
{
	setup_ends && [ -n "$TWO" ] &&
		ip -n s addr add fd00::1/64 dev veths nodad &&
		ip -n c addr add fd00::2/64 dev vethc nodad &&
		wait_for 10 has_gid s && wait_for 10 has_gid c
}

# has_gid NAMESPACE: its RNIC has a GID for the IPv6 address
has_gid()
{
	ip netns exec "$1" sh -c \
		"grep -q '^fd00:0000:' /sys/class/infiniband/rxe$1/ports/1/gids/*"
}

case_stress()
{
	cable_case /t/smc_stress stress
}
