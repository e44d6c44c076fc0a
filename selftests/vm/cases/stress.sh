# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Random operations, in one instance of User Mode Linux, two namespaces: many connections at once, and
# several threads per socket while RNICs are removed. The programs use SEED (printed), CONNS and PATIENCE.
#
#   STRESS_FOR  seconds, for all cases together (default: 20)
#   STRESS      names of cases, all by default
# Entry points: smc ipproto

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

: "${STRESS:=stress threads}"
STRESS_FOR=$((${STRESS_FOR:-20} / $(echo "$STRESS" | wc -w)))
export STRESS_FOR
CASES=
for c in $STRESS; do
	CASES="$CASES $c:$((STRESS_FOR * 2 + 300))"
done
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

# second_rnic NAMESPACE ADDRESS: on the same cable and in the same subnet, as the RNICs of a group must reach
# each other
second_rnic()
{
	# shellcheck disable=SC3043 # busybox has it
	local dev="veth$1"
	ip netns exec "$1" sysctl -q -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 \
		net.ipv4.conf.all.rp_filter=2 &&
	ip -n "$1" link add "${dev}2" link "$dev" type macvlan mode bridge &&
	ip -n "$1" addr add "$2/24" dev "${dev}2" noprefixroute && ip -n "$1" link set "${dev}2" up &&
	ip -n "$1" route add 10.0.0.0/24 dev "${dev}2" src "$2" metric 200 &&
	add_end "$1" "${1}2" && wait_for 10 port_up "$1" "${1}2"
}

# network_without_rnic: one more cable between the namespaces
network_without_rnic()
{
	ip link add veths9 netns s type veth peer name vethc9 netns c &&
	ip -n s addr add 10.0.9.1/24 dev veths9 && ip -n c addr add 10.0.9.2/24 dev vethc9 &&
	ip -n s link set veths9 up && ip -n c link set vethc9 up
}

case_threads()
{
	modprobe macvlan || fail "no macvlan"
	second_rnic s 10.0.0.11 || fail "no second RNIC"
	second_rnic c 10.0.0.12 || fail "no second RNIC"
	network_without_rnic || fail "no network without an RNIC"
	resources > /run/resources
	cable_case /t/smc_stress threads
}
