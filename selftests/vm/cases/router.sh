# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Test of the harness: a third host between the two (vm.py --router) drops
# and delays packets, and cuts the link.

CASES="through delay cut"
export CASES

setup()
{
	setup_net
}

case_through()
{
	ping -c 2 -W 5 "$(peer_addr)" || fail "no answer through the third host"
}

# Host 1 adds the delay; host 2 only answers.
case_delay()
{
	[ "$HOST" = 1 ] || return 0
	on_host 3 'modprobe sch_netem; tc qdisc add dev eth1 root netem delay 400ms' ||
		fail "no netem on host 3"
	rtt=$(ping -c 3 -W 5 "$(peer_addr)" | sed -n 's|.*min/avg/max = \([0-9]*\).*|\1|p')
	on_host 3 'tc qdisc del dev eth1 root' || fail "netem cannot be removed"
	expect "delay in ms" "${rtt:-0}" -ge 400
}

case_cut()
{
	[ "$HOST" = 1 ] || return 0
	on_host 3 'ip link set eth1 down' || fail "link stays up"
	! ping -c 1 -W 2 "$(peer_addr)" || fail "an answer over a cut link"
	on_host 3 'ip link set eth1 up' || fail "link stays down"
	wait_for 20 ping -c 1 -W 1 "$(peer_addr)" || fail "the link does not work again"
}
