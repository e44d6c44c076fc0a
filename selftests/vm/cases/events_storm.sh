# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# All groups of a host lose their only link in one second: more netlink events than are told in
# one. What is left out is counted, and told with the next event. For --topology lo and virtual
# time, in which that second is one however busy the machine is.

CASES="groups:200 unload:60"
export CASES

ALL=80		# both ends of a connection are here
TOLD_PER_SECOND=128

setup()
{
	setup_net && setup_rxe && load_smc &&
		sysctl -q -w net.smc.smcr_max_conns_per_lgr=16 net.smc.rmem=16384 net.smc.wmem=16384
}

groups_are()
{
	[ "$(/t/smcctl -j linkgroup | grep -c '"role"')" = "$1" ]
}

listens()
{
	# shellcheck disable=SC2016 # a program
	awk '$2 == 16 && $4 != "00000000" { found = 1 } END { exit !found }' /proc/net/netlink
}

# hold N: connections, until it is killed
hold()
{
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc "hold:$1" \
		> /run/client 2>&1 &
	client=$!
}

# heard EVENT: how often
heard()
{
	grep -c "\"event\":\"$1\"" /run/events
}

came_back()
{
	[ "$(heard 'group begin')" -ge 1 ]
}

case_groups()
{
	/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
	server=$!
	await_server
	hold $((ALL * 16 / 2))
	wait_for 100 groups_are $ALL ||
		fail "$(/t/smcctl -j linkgroup | grep -c '"role"') groups: $(cat /run/client)"
	# those that begin are of another second
	sleep 3
	/t/smcctl -j monitor > /run/events 2>&1 &
	monitor=$!
	wait_for 10 listens || fail "nobody listens: $(cat /run/events)"
	before
	/usr/sbin/rdma link delete rxe0 || fail "no rxe0"
	wait_for 60 groups_are 0 || fail "groups stay"
	sleep 3
	kill_all "$client"
	diag "of $ALL groups: heard $(heard 'link lost') links lost, $(heard 'group end') ends," \
		"$(grown event_untold) left out"
	# none of both is lost for want of room or memory; that there is a gap is told at once
	told=$(grep -vc '"event":"lost"' /run/events)
	expect "told" "$told" -eq $TOLD_PER_SECOND
	expect "told and left out" "$((told + $(grown event_untold)))" -eq $((2 * ALL))
	expect "gaps" "$(grep -c '"event":"lost"' /run/events)" -eq 1
	expect "groups that ended" "$(grown lgr_term)" -eq $ALL
	expect "lost for want of memory" "$(grown event_lost)" -eq 0
	! grep -q untold /run/events || fail "left out before the first one"
	setup_rxe || fail "no rxe0 again"
	hold 1
	wait_for 30 came_back || fail "no event of a new group: $(cat /run/client)"
	sleep 1
	kill_all "$client" "$server" "$monitor"
	expect "left out, as the next event says" \
		"$(sed -n 's/.*"untold":\([0-9]*\).*/\1/p' /run/events)" -eq "$(grown event_untold)"
}

case_unload()
{
	unload_smc || fail "the module does not go"
}
