# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# All groups of a host lose their only link in one second: more netlink events than the limit per
# second. Events beyond the limit are counted, and the next event has their number. For --topology lo
# and virtual time, in which this takes one second on a busy machine as well.

CASES="groups:200 unload:60"
export CASES

ALL=80		# groups: both ends of a connection are on this host
EVENTS_PER_SECOND=128

setup()
{
	setup_net && setup_rxe && load_smc &&
		sysctl -q -w net.smc.smcr_max_conns_per_lgr=16 \
			net.smc.smcr_max_host_groups=0 net.smc.rmem=16384 net.smc.wmem=16384
}

groups_are()
{
	[ "$(/t/smcctl -j linkgroup | grep -c '"role"')" = "$1" ]
}

# hold_conns N: N connections, until the clients are killed. At most 160 of them begin at once: a host
# gets 192 places for handshakes.
hold_conns()
{
	left_=$1
	clients=
	while [ "$left_" -gt 0 ]; do
		n_=$((left_ < 160 ? left_ : 160))
		/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc "hold:$n_" \
			> "/run/client.$left_" 2>&1 &
		clients="$clients $!"
		wait_for 30 grep -q "^# holding $n_\$" "/run/client.$left_" ||
			fail "no $n_ connections: $(cat "/run/client.$left_")"
		left_=$((left_ - n_))
	done
}

# received EVENT: number of such events
received()
{
	grep -c "\"event\":\"$1\"" /run/events
}

group_began()
{
	[ "$(received 'group begin')" -ge 1 ]
}

case_groups()
{
	/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
	server=$!
	await_server
	hold_conns $((ALL * 16 / 2))
	wait_for 100 groups_are $ALL ||
		fail "$(/t/smcctl -j linkgroup | grep -c '"role"') groups"
	# the events of new groups must be in an earlier second
	sleep 3
	/t/smcctl -j monitor > /run/events 2>&1 &
	monitor=$!
	wait_for 10 event_listens || fail "there is no listener: $(cat /run/events)"
	before
	/usr/sbin/rdma link delete rxe0 || fail "no rxe0"
	wait_for 60 groups_are 0 || fail "not all groups end"
	sleep 3
	kill_all "$clients"
	diag "of $ALL groups: received $(received 'link lost') links lost, $(received 'group end') ends," \
		"$(grown event_untold) left out"
	# no event is lost for lack of room or memory; a gap is reported at once
	sent=$(grep -vc '"event":"lost"' /run/events)
	expect "sent" "$sent" -eq $EVENTS_PER_SECOND
	expect "sent and left out" "$((sent + $(grown event_untold)))" -eq $((2 * ALL))
	expect "gaps" "$(grep -c '"event":"lost"' /run/events)" -eq 1
	expect "groups that ended" "$(grown lgr_term)" -eq $ALL
	expect "lost for lack of memory" "$(grown event_lost)" -eq 0
	! grep -q untold /run/events || fail "left out before the first one"
	setup_rxe || fail "no rxe0 again"
	hold_conns 1
	wait_for 30 group_began || fail "no event of a new group"
	sleep 1
	kill_all "$clients" "$server" "$monitor"
	expect "left out, by the next event" \
		"$(sed -n 's/.*"untold":\([0-9]*\).*/\1/p' /run/events)" -eq "$(grown event_untold)"
}

case_unload()
{
	unload_smc || fail "the module cannot be unloaded"
}
