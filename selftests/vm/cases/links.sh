# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The links of a group: which links are added, which are rejected, and what happens to them when
# ports go down and up. Two RNICs on each host, rxe0 and rxe1 over eth0 and eth1, subnets
# 10.0.0.0/24 and 10.0.1.0/24 (vm.py --links 2); "named" has a third one, likewise (--links 3).
# Host 2 connects. Checked: the links of the group
# by netlink on both hosts, the counters of our module, the packets of each RNIC.
#
#   INTREE    client | server: the side with the in-tree family
#   LINKS_OF  names of cases, all by default
#   ONE_SUBNET  y: both networks are in one subnet: in-tree hosts have no second link otherwise
#   TIMED     y: virtual time, in which "rings" checks how long writers wait

groups=0
all="single:60 symmetric:90 subnet:90 v1:90 many_rmbs:90 client_one:90 server_one:90 one_link:60
	gives_back:120 v1_gives_back:120 returns:120 v1_returns:120 becomes_symmetric:120
	operator:120 backup:150 backup_socket:150 listener_policy:120 group_ends:120
	many_regions:150 v1_many_regions:150 rings:150 unload:60"
# (In real time a busy machine adds to the latencies that "policies" compares, and "forgets" takes 20
# minutes.)
[ -z "$INTREE" ] || all="intree_symmetric:120 intree_gives_back:120 intree_one:240
	intree_port:240 intree_returns:240 intree_operator:240 intree_group_ends:180 intree_unloads:180"
CASES=${LINKS_OF:-$all}
export CASES

setup()
{
	if [ -n "$ONE_SUBNET" ]; then
		setup_net_same
	else
		setup_net
	fi && setup_rxe && load_smc
}

# --- the present links ---

# links: the active ones, one per line
links()
{
	/t/smcctl --json link | tr -d ' \n' | tr '{' '\n' | grep '"state":"active"'
}

count_links()
{
	links | wc -l
}

# links_are N [TYPE]: there are N active links, the group has that type
links_are()
{
	[ "$(count_links)" = "$1" ] && { [ -z "$2" ] || [ "$(group_type)" = "$2 " ]; }
}

group_type()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"type": *"\(.*\)".*/\1/p' | sort -u | tr '\n' ' '
}

devices_of_links()
{
	links | sed -n 's/.*"device":"\([^"]*\)".*/\1/p' | sort | tr '\n' ' '
}

show()
{
	/t/smcctl link
	/t/smcctl linkgroup
	! ours || grep -v ' 0$' /proc/net/smc_stat
	dmesg | grep 'smc: ' | tail -n 8
}

expect_links()
{
	wait_for "$((10 * SLOWNESS))" links_are "$1" "$2" || {
		show
		fail "$(count_links) links, $(group_type), expected $1, $2"
	}
}

no_groups()
{
	links_are 0 && [ -z "$(group_type)" ]
}

# sent_by N: packets that rxe<N> has sent
sent_by()
{
	rxe_counter sent_pkts "rxe$1"
}

# --- the steps of a case ---

pnet()
{
	/t/smcctl pnet "$@" || fail "pnet $*"
}

one_pnetid()
{
	/t/smcctl pnet flush
	pnet add NET1 netdev eth0 ibdev rxe0
	pnet add NET1 netdev eth1 ibdev rxe1
}

# with_group COMMAND...: runs the command while host 2 holds a connection to host 1, and for a
# second time after traffic over each link; $SERVER_OPTION: of smc_traffic
with_group()
{
	! ours || sysctl -q -w net.smc.smcr_idle_time_client=1 net.smc.smcr_idle_time_server=1
	# a killed stream sends what its ring holds, up to 512 KB, over the slow link
	[ -n "$INTREE" ] || wait_for 60 no_groups || fail "groups are left: $(links)"
	sync_barrier "begin$((groups += 1))" || exit 1
	! ours || cp /proc/net/smc_stat /run/stat
	sent0=$(sent_by 0) sent1=$(sent_by 1 2> /dev/null || echo 0)
	if [ "$HOST" = 1 ]; then
		# shellcheck disable=SC2086 # none, or two words
		/t/smc_traffic server --family smc6 --require smc --timeout 30000 $SERVER_OPTION \
			> /run/server 2>&1 &
		server=$!
		await_server
		sync_signal "up$groups"
		sync_wait "held$groups" > /dev/null || exit 1
	else
		sync_wait "up$groups" > /dev/null || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
			"idle:${IDLE:-$((100 * SLOWNESS))}" > /run/idle 2>&1 &
		idle=$!
		wait_for 20 conn_held || { show; cat /run/idle; fail "no connection"; }
		sync_signal "held$groups"
	fi
	"$@"
	sync_barrier "checked$groups" || exit 1
	if [ "$HOST" = 2 ]; then
		# shellcheck disable=SC2086 # a list of words
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --timeout 30000 \
			${PARALLEL:-parallel:4 stream:4 connects:5} > /run/client 2>&1 ||
			{ cat /run/client; show; fail "traffic"; }
	fi
	sync_barrier "through$groups" || exit 1
	"$@"
	# the case of a host that is ahead may remove links
	sync_barrier "seen$groups" || exit 1
	packets0=$(($(sent_by 0) - sent0))
	packets1=$(($(sent_by 1 2> /dev/null || echo 0) - sent1))
	echo "packets: $packets0 $packets1"
	# before the last connection ends: without connections a group ends, too, after a second
	! ours || terms=$(grown lgr_term)
	if [ "$HOST" = 1 ]; then
		sync_wait "ends$groups" > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
	else
		kill "$idle"
		wait "$idle" 2> /dev/null
		sync_signal "ends$groups"
	fi
}

conn_held()
{
	if ours; then
		[ "$(grown clnt_smc)" -ge 1 ]
	else
		links_are 1 || links_are 2
	fi
}

grown()
{
	echo "$(($(stat_of "$1") - $(awk -v n="$1" '$1 == n { print $2 }' /run/stat)))"
}

# --- ours with ours ---

# Other subnets and no PNET ID: the hosts must not assume that the RNICs are on one network.
case_single()
{
	with_group expect_links 1 single
	expect "links added" "$(grown link_add)" -eq 0
	expect "offers refused" "$(grown link_reject)" -eq 1
	expect "packets of rxe1" "$packets1" -eq 0
}

two_links()
{
	expect_links 2 symmetric
	devices_=$(devices_of_links)
	[ "$devices_" = "rxe0 rxe1 " ] || { show; ! ours || awk '$2 != 0' /proc/net/smc_stat; }
	expect "devices" "$devices_" = "rxe0 rxe1 "
}

# For a further RMB a connection would wait until the second link is there: the first one is no small one.
two_links_and_rmb()
{
	two_links
	expect "bytes of RMBs" "$(pool rmb_bytes)" -ge $((8 * 65536))
}

case_symmetric()
{
	one_pnetid
	with_group two_links_and_rmb
	expect "links added" "$(grown link_add)" -eq 1
	expect "asymmetric links" "$(grown link_asym)" -eq 0
	expect "groups" "$(grown first_contact)" -le 1
	# the connections are spread over both links
	expect "packets of rxe0" "$packets0" -ge 256
	expect "packets of rxe1" "$packets1" -ge 256
	/t/smcctl pnet flush
}

# Without a PNET ID: RNICs with an address in the subnet of the connection
case_subnet()
{
	ip addr add "10.0.0.1$HOST/24" dev eth1 noprefixroute
	sysctl -q -w net.ipv4.conf.all.arp_ignore=1
	sleep 1
	with_group two_links
	expect "links added" "$(grown link_add)" -eq 1
	ip addr del "10.0.0.1$HOST/24" dev eth1
	sysctl -q -w net.ipv4.conf.all.arp_ignore=0
}

# Version 1: ADD LINK CONTINUATION has the rkeys.
case_v1()
{
	one_pnetid
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs cannot be removed"
	with_group two_links
	expect "version 1" "$(($(grown clnt_smc_v1) + $(grown srv_smc_v1)))" -ge 1
	expect "links added" "$(grown link_add)" -eq 1
	expect "packets of rxe1" "$packets1" -ge 256
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
	/t/smcctl pnet flush
}

# Connections of many sizes: later regions are announced on both links.
case_many_rmbs()
{
	one_pnetid
	PARALLEL="parallel:16 stream:1 burst:30" with_group two_links
	expect "packets of rxe1" "$packets1" -ge 256
	/t/smcctl pnet flush
}

# counter_grown NAME N: by N or more
counter_grown()
{
	[ "$(grown "$1")" -ge "$2" ]
}

# pool KEY: a number of the group: bytes of the regions of a kind, connections
pool()
{
	/t/smcctl --json linkgroup | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

# pools_smaller RMB_BYTES SNDBUF_BYTES: than that
pools_smaller()
{
	[ "$(pool rmb_bytes)" -lt "$1" ] && [ "$(pool sndbuf_bytes)" -lt "$2" ]
}

# await_freed N: waits until N RMBs and N send regions are freed
await_freed()
{
	! ours || wait_for "$((20 * SLOWNESS))" counter_grown rkey_delete "$1" ||
		{ show; fail "RMBs are not freed"; }
	! ours || wait_for 10 counter_grown region_give "$((2 * $1))" ||
		{ show; fail "regions are not freed"; }
}

# Many connections make the pools grow. After they have ended, the regions are freed with
# DELETE RKEY, except one of each kind. The same again after other connections.
grow_and_shrink()
{
	[ -n "$INTREE" ] || two_links
	if [ -n "$emptied" ]; then
		await_freed "$((GROWS + 1))"
		# the group must exist until both hosts have checked it
		sync_barrier "emptied$groups" 60 || exit 1
		return
	fi
	if [ "$HOST" = 2 ]; then
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc \
			${INTREE:+--intree "$INTREE"} "hold:$HOLD" > /run/crowd 2>&1 &
		crowd=$!
	fi
	! ours || wait_for 40 counter_grown rkey_confirm "$GROWS" || { show; fail "few RMBs"; }
	sync_barrier "grown$groups" 60 || exit 1
	! ours || { rmbs=$(pool rmb_bytes) sends=$(pool sndbuf_bytes); }
	[ "$HOST" = 1 ] || { kill "$crowd"; wait "$crowd" 2> /dev/null; }
	await_freed "$GROWS"
	! ours || wait_for 10 pools_smaller "$rmbs" "$sends" || { show; fail "the pools do not shrink"; }
	emptied=y
}

check_regions_freed()
{
	HOLD=45 GROWS=2 emptied=
	if [ -n "$INTREE" ]; then
		HOLD=12 GROWS=1
	else
		one_pnetid
	fi
	! ours || sysctl -q -w net.smc.smcr_buf_idle_time=2
	PARALLEL="parallel:16 stream:4 connects:5" with_group grow_and_shrink
	! ours || sysctl -q -w net.smc.smcr_buf_idle_time=120
	if ours; then
		expect "announced" "$(grown rkey_confirm)" -gt "$GROWS"
		expect "rkeys not deleted" "$(grown rkey_kept)" -eq 0
		expect "malformed LLC messages" "$(grown rx_llc_bad)" -eq 0
		expect "connections aborted" "$(grown conn_abort)" -eq 0
	fi
	/t/smcctl pnet flush
}

case_gives_back()
{
	check_regions_freed
}

case_v1_gives_back()
{
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs cannot be removed"
	check_regions_freed
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
}

# members_are N: so many connections of this host are open
members_are()
{
	test "$(pool connections)" = "$1"
}

# next_act N: on host 2, waits until smc_hold has begun act N
next_act()
{
	[ "$HOST" = 1 ] || wait_for 60 test -e "/run/act.$1" || { show; cat /run/hold; fail "no act $1"; }
	sync_barrier "act$1.$groups" 90 || exit 1
}

# end_act N: lets smc_hold go on
end_act()
{
	sync_barrier "acted$1.$groups" 60 || exit 1
	[ "$HOST" = 1 ] || touch "/run/acted.$1"
}

uptime_cs()
{
	read -r up_ _ < /proc/uptime
	echo "${up_%.*}${up_#*.}"
}

# crowd_has_rings N: nothing is read on thirty connections, and the server has filled an RMBE and a ring
# on each: N rings of full size, the first ring of each of the others
crowd_has_rings()
{
	[ "$(grown tx_bytes)" -ge "$((30 * (65536 + 2048) + $1 * (65536 - 2048)))" ]
}

# There is memory again: each writer asks within its pause, which is no longer than the shortage has lasted.
# The first one adds a region of eight rings; the others come for those very soon.
crowd_gets_rings()
{
	wait_for 20 crowd_has_rings 2 || { show; fail "no writers"; }
	expect "bytes of rings without memory" "$(pool sndbuf_bytes)" -le "$least"
	expect "regions refused" "$(grown mem_limited)" -ge 1
	members_are 31 || fail "connections have ended"
	registered=$(grown mr_reg)
	sysctl -q -w "net.smc.smcr_max_host_kb=$enough"
	begin=$(uptime_cs)
	wait_for 20 crowd_has_rings 30 || { show; fail "writers without rings"; }
	took=$(($(uptime_cs) - begin)) lasted=$((begin - short_since))
	echo "rings for all after $took, without memory for $lasted hundredths of a second"
	[ -z "$TIMED" ] || expect "hundredths of a second" "$took" -le "$((lasted + 50))"
	# 28 rings in four regions, on two links
	expect "registrations" "$(($(grown mr_reg) - registered))" -le 8
}

# Thirty connections on which nothing is sent have their first rings. Then the server writes on all of
# them, while there is no memory for rings of full size but for the two that are there.
silent_and_speaking()
{
	[ -z "$spoken" ] || return 0
	spoken=y
	two_links
	# two rings of full size are there, in any case
	least=$((2 * 65536 + (2 + 8 + 10 + 20) * 2048))
	[ "$HOST" = 1 ] || {
		rm -f /run/act /run/act.* /run/acted.*
		# shellcheck disable=SC2016 # for the shell that smc_hold runs
		/t/smc_hold --connect 10.0.0.1 --family smc --require smc --silent --speak --run \
			'n=$(cat /run/act 2> /dev/null || echo 1); echo $((n + 1)) > /run/act
			touch /run/act.$n; until [ -e /run/acted.$n ]; do sleep 0.1; done' \
			30 30 > /run/hold 2>&1 &
		hold=$!
	}
	next_act 1
	wait_for 20 members_are 31 || { show; fail "connections are missing"; }
	expect "bytes of rings for silent connections" "$(pool sndbuf_bytes)" -le "$least"
	[ "$HOST" = 2 ] || sysctl -q -w net.smc.smcr_max_host_kb=1
	short_since=$(uptime_cs)
	end_act 1
	next_act 2
	[ "$HOST" = 2 ] || crowd_gets_rings
	end_act 2
	[ "$HOST" = 1 ] || wait "$hold" || { cat /run/hold; fail "smc_hold: $?"; }
}

case_rings()
{
	spoken=
	# what the machine has by default depends on its memory, and ended groups may still have some
	enough=65536
	sysctl -q -w "net.smc.smcr_max_host_kb=$enough"
	one_pnetid
	with_group silent_and_speaking
	sysctl -q -w net.smc.smcr_max_host_kb=0
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	/t/smcctl pnet flush
}

# one_rnic HOST: gives host HOST a single RNIC, on a switch with both cables
one_rnic()
{
	# shellcheck disable=SC3043 # busybox has it
	local l_
	sysctl -q -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 \
		net.ipv4.conf.all.rp_filter=2
	if [ "$HOST" != "$1" ]; then
		ip addr add "10.0.0.1$HOST/24" dev eth1 noprefixroute
		ip route add 10.0.0.0/24 dev eth1 src "10.0.0.1$HOST" metric 200
		return
	fi
	ip link add switch type bridge || fail "no bridge"
	for l_ in 0 1; do
		/usr/sbin/rdma link delete "rxe$l_"
		ip addr flush dev "eth$l_"
		ip link set "eth$l_" master switch
		ip link add "nic$l_" type veth peer name "port$l_"
		ip link set "port$l_" master switch up
		ip link set "nic$l_" up
	done
	ip link set switch up
	ip addr add "10.0.0.$HOST/24" dev nic0
	ip addr add "10.0.0.1$HOST/24" dev nic1 noprefixroute
	ip route add 10.0.0.0/24 dev nic1 src "10.0.0.1$HOST" metric 200
	add_rxe 0 nic0 || fail "no rxe0"
	wait_for 10 port_active rxe0 || fail "the port stays down"
}

# second_rnic HOST: adds a second RNIC on host HOST
second_rnic()
{
	[ "$HOST" = "$1" ] || return 0
	add_rxe 1 nic1 || fail "no rxe1"
}

# two_rnics HOST: undoes one_rnic
two_rnics()
{
	# shellcheck disable=SC3043 # busybox has it
	local l_
	sysctl -q -w net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0 \
		net.ipv4.conf.all.rp_filter=0
	if [ "$HOST" != "$1" ]; then
		ip addr del "10.0.0.1$HOST/24" dev eth1
		return
	fi
	for l_ in 0 1; do
		/usr/sbin/rdma link delete "rxe$l_" 2> /dev/null
		ip link del "nic$l_"
		ip link set "eth$l_" nomaster
		ip addr add "10.0.$l_.$HOST/24" dev "eth$l_"
		add_rxe "$l_" "eth$l_" || fail "no rxe$l_"
	done
	ip link del switch
	wait_for 10 port_active rxe0 || fail "the port stays down"
}

# expect_asymmetric HOST: host HOST has one RNIC
expect_asymmetric()
{
	if [ "$HOST" = "$1" ]; then
		expect_links 2 asymmetric-local
		expect "devices" "$(devices_of_links)" = "rxe0 rxe0 "
	else
		expect_links 2 asymmetric-peer
		expect "devices" "$(devices_of_links)" = "rxe0 rxe1 "
	fi
}

# check_one_rnic HOST: a group while host HOST has one RNIC
check_one_rnic()
{
	neighbours=0
	one_rnic "$1"
	new_neighbours
	with_group expect_asymmetric "$1"
	expect "links added" "$(grown link_add)" -eq 1
	expect "asymmetric links" "$(grown link_asym)" -eq 1
	[ "$HOST" = "$1" ] || expect "packets of rxe1" "$packets1" -ge 256
	sync_barrier counted || exit 1
	two_rnics "$1"
	new_neighbours
}

# The peer's addresses have new MAC addresses.
new_neighbours()
{
	sync_barrier "neighbours$((neighbours += 1))" || exit 1
	ip neigh flush all
}

case_client_one()
{
	check_one_rnic 2
}

case_server_one()
{
	check_one_rnic 1
}

# A port goes down and up: the group loses a link and gets it back, at the client's request.
down_and_up()
{
	two_links
	sync_barrier "down$((downs += 1))" || exit 1
	[ "$HOST" = "$where" ] || ip link set eth1 up
	[ "$HOST" != "$where" ] || ip link set eth1 down
	expect_links 1 single
	sync_barrier "up$downs" || exit 1
	ip link set eth1 up
	two_links
}

case_returns()
{
	downs=0
	one_pnetid
	for where in 2 1; do
		with_group down_and_up
		expect "links lost" "$(($(grown link_fail) + $(grown link_del)))" -ge 2
		expect "links added" "$(grown link_add)" -ge 3
	done
	/t/smcctl pnet flush
}

three_rmbs()
{
	[ "$(grown rkey_confirm)" -ge 2 ]
}

# down_and_up while each side has more RMBs than fit into one ADD LINK CONTINUATION: where there are two
# ports the first RMB has 8 elements, each later one as many as there are.
many_rmbs_down_and_up()
{
	two_links
	if [ "$HOST" = 2 ]; then
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc \
			hold:45 > /run/crowd 2>&1 &
		crowd=$!
	fi
	wait_for 30 three_rmbs || { show; fail "few RMBs"; }
	down_and_up
	[ "$HOST" = 1 ] || { kill "$crowd"; wait "$crowd" 2> /dev/null; }
}

case_v1_returns()
{
	downs=10
	where=2
	one_pnetid
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs cannot be removed"
	with_group many_rmbs_down_and_up
	expect "links added" "$(grown link_add)" -ge 3
	expect "links not added" "$(grown link_add_fail)" -eq 0
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
	/t/smcctl pnet flush
}

# The asymmetric link is deleted when it becomes redundant.
now_symmetric()
{
	[ -e /run/symmetric ] || expect_asymmetric 2
	sync_barrier "second$((seconds += 1))" || exit 1
	[ -e /run/symmetric ] || second_rnic 2
	: > /run/symmetric
	expect_links 2 symmetric
}

case_becomes_symmetric()
{
	seconds=0
	one_rnic 2
	neighbours=20
	new_neighbours
	with_group now_symmetric
	expect "links added" "$(grown link_add)" -eq 2
	expect "links deleted" "$(grown link_del)" -eq 1
	sync_barrier counted || exit 1
	two_rnics 2
	new_neighbours
}

# The maximum of one link was negotiated: no link is offered.
case_one_link()
{
	one_pnetid
	[ "$HOST" = 2 ] || sysctl -q -w net.smc.smcr_max_links_per_lgr=1
	with_group expect_links 1 single
	expect "links added" "$(grown link_add)" -eq 0
	expect "offers refused" "$(grown link_reject)" -eq 0
	sysctl -q -w net.smc.smcr_max_links_per_lgr=2
	/t/smcctl pnet flush
}

# --- commands of the operator ---

# group N: identifier of the Nth group
group()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"id": *"\(.*\)".*/\1/p' | sed -n "$1p"
}

# link_over RNIC: number of the active link
link_over()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { print $2 }'
}

# refused WORDS ARGUMENT...: smcctl fails and prints these words
refused()
{
	words=$1
	shift
	! /t/smcctl "$@" > /run/output 2>&1 || fail "smcctl $* succeeds"
	grep -q "$words" /run/output || fail "smcctl $*: $(cat /run/output)"
}

# The operator of each host deletes and adds a link; meanwhile the other link has all connections.
operator_commands()
{
	two_links
	refused "no such link group" link add 0x7
	refused "no such link group" linkgroup del 0x7
	refused "no such link that" link del "$(group 1)" 77
	refused "as many links as" link add "$(group 1)"
	[ "$HOST" = 1 ] || refused "the server ends it" linkgroup del "$(group 1)"
	sync_barrier "order$((orders += 1))" || exit 1
	if [ "$HOST" = "$((orders % 2 + 1))" ]; then
		/t/smcctl link del "$(group 1)" "$(link_over rxe1)" || fail "not begun"
	fi
	expect_links 1 single
	# only the operator can add it again: not the recovery of links
	sleep 4
	expect_links 1 single
	# ... not a change of addresses on either host, one after the other
	for h_ in 1 2; do
		[ "$HOST" != "$h_" ] || ip addr add "10.9.0.$HOST/24" dev eth1
		sleep 3
		expect_links 1 single
		[ "$HOST" != "$h_" ] || ip addr del "10.9.0.$HOST/24" dev eth1
		sync_barrier "changed$orders.$h_" || exit 1
	done
	refused "last link" link del "$(group 1)" "$(link_over rxe0)"
	refused "no such link that" link del "$(group 1)" 2
	sync_barrier "one$orders" || exit 1
	# ... and if the server's operator has deleted it, not a request of the peer
	if [ "$orders" = 2 ]; then
		[ "$HOST" = 1 ] || /t/smcctl link add "$(group 1)" || fail "not requested"
		sleep 4
		expect_links 1 single
		dmesg | grep -q 'the peer wants one more link' || [ "$HOST" = 2 ] ||
			fail "the server logs nothing for its operator"
		sync_barrier "asked$orders" || exit 1
	fi
	if [ "$HOST" = "$((orders % 2 + 1))" ]; then
		/t/smcctl link add "$(group 1)" || fail "not begun"
	fi
	two_links
}

case_operator()
{
	one_pnetid
	orders=0
	with_group operator_commands
	expect "links added" "$(grown link_add)" -eq 3
	expect "links deleted" "$(grown link_del)" -eq 2
	expect "links that failed" "$(grown link_fail)" -eq 0
	expect "groups ended" "$terms" -eq 0
	/t/smcctl pnet flush
}

# link_beside RNIC: number of the active link that is not over it
link_beside()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 != d { print $2 }'
}

# order_by HOST ARGUMENT...: the operator of this host orders a link with these ends
order_by()
{
	by_=$1
	shift
	sync_barrier "order$((orders += 1))" || exit 1
	[ "$HOST" != "$by_" ] || /t/smcctl link add "$(group 1)" "$@" || fail "not begun: $*"
}

# remove_by HOST: the operator of this host removes the link that is not over rxe0
remove_by()
{
	sync_barrier "order$((orders += 1))" || exit 1
	[ "$HOST" != "$1" ] || /t/smcctl link del "$(group 1)" "$(link_beside rxe0)" || fail "not begun"
	expect_links 1 single
}

# expect_ends RNIC: the second link is over that one; both hosts have the same
expect_ends()
{
	expect_links 2 symmetric
	expect "devices" "$(devices_of_links)" = "rxe0 $1 "
}

# expect_no_link WORDS HOST: the order is not fulfilled, says the log of that host, and not tried again
expect_no_link()
{
	[ "$HOST" != "$2" ] || wait_for 20 logged "$1" || { show; fail "no line '$1'"; }
	sleep 5
	expect_links 1 single
}

logged()
{
	dmesg | grep -q "$1"
}

# Three RNICs on each host, two links: the operator says which.
named_links()
{
	[ -z "$named" ] || { two_links; return; }
	named=y
	expect_links 2 symmetric
	peer_=$(peer)
	refused "these ends already" link add "$(group 1)" peer "10.0.0.$peer_"
	refused "as many links as" link add "$(group 1)" device rxe2 peer "10.0.0.$peer_"
	remove_by 1
	refused "no such RoCE device" link add "$(group 1)" device rxe9
	refused "has no such port" link add "$(group 1)" device rxe1 port 2
	refused "these ends already" link add "$(group 1)" device rxe0 peer "10.0.0.$peer_"
	ip link set eth2 down
	refused "port is down" link add "$(group 1)" device rxe2
	ip link set eth2 up
	wait_for 10 port_active rxe2 || fail "rxe2 stays down"
	sync_barrier refused || exit 1

	# Of the client's RNICs that are free, the one in the subnet of the server's is the best.
	order_by 1 device rxe2
	expect_ends rxe2
	refused "as many links as" link add "$(group 1)" device rxe1 peer "10.0.1.$peer_"
	remove_by 1
	order_by 1 device rxe1 port 1 peer 10.0.1.2
	expect_ends rxe1
	remove_by 1
	# so this one is never the client's choice
	order_by 1 device rxe2 peer 10.0.1.2
	expect_no_link "the peer's end is not the ordered one" 1
	order_by 1 peer 10.0.2.2 device rxe2
	expect_ends rxe2

	# The server offers what it has: one RNIC is free. (Only the client's order counts, because it is the
	# client's operator who has removed the link.)
	remove_by 2
	[ "$HOST" = 2 ] || ip link set eth2 down
	order_by 2 device rxe1 peer 10.0.2.1
	expect_no_link "the server offers another RNIC" 2
	order_by 2 device rxe1 peer 10.0.1.1
	expect_ends rxe1
	[ "$HOST" = 2 ] || ip link set eth2 up
}

case_named()
{
	named='' orders=0
	one_pnetid
	pnet add NET1 netdev eth2 ibdev rxe2
	with_group named_links
	# on the client a link that the server has given up, or one that the client has rejected
	[ "$HOST" = 2 ] || expect "links not added" "$(grown link_add_fail)" -eq 1
	[ "$HOST" = 1 ] || expect "offers rejected" "$(grown link_reject)" -ge 1
	expect "links that failed" "$(grown link_fail)" -eq 0
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$terms" -eq 0
	/t/smcctl pnet flush
}

# link_command COMMAND [RNIC]: the server's operator gives it; the hosts wait for each other
link_command()
{
	sync_barrier "order$((orders += 1))" || exit 1
	[ "$HOST" = 2 ] || /t/smcctl link "$1" "$(group 1)" ${2:+"$(link_over "$2")"} ||
		fail "not begun: $*"
}

# conns_on_links N: at least N connections have a link
conns_on_links()
{
	[ "$(/t/smcctl link | awk '$3 == "active" { n += $4 } END { print n + 0 }')" -ge "$1" ]
}

# A new link is added while more RMBs are in use than fit into one message; all of them are announced
# for it (version 1 needs several messages). Then the other link is deleted: the connections continue
# with all RMBs.
announce_many_rmbs()
{
	[ -z "$announced" ] || return 0
	announced=y
	two_links
	link_command del rxe1
	expect_links 1 single
	if [ "$HOST" = 2 ]; then
		for k_ in $(seq "$KEPT"); do
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
				--timeout 60000 "idle:$((100 * SLOWNESS))" > "/run/kept.$k_" 2>&1 &
			echo $! > "/run/kept.$k_.pid"
			usleep 50000
		done
	fi
	wait_for 60 conns_on_links $((KEPT + 1)) || { show; fail "not all are connected"; }
	# four elements of 512 KiB are a region
	expect "bytes of RMBs" "$(pool rmb_bytes)" -ge $((KEPT / 4 << 21))
	sync_barrier kept 60 || exit 1
	confirmed=$(grown rkey_confirm)
	link_command add
	two_links
	link_command del rxe0
	expect_links 1 single
	expect "device" "$(devices_of_links)" = "rxe1 "
	wait_for 20 conns_on_links $((KEPT + 1)) || { show; fail "not all have moved"; }
	sync_barrier moved || exit 1
	carried=$(sent_by 1)
	finish_conns 1 "$KEPT"
	sync_barrier finished 100 || exit 1
	# in packets of 4 KiB at most
	expect "packets of rxe1" "$(($(sent_by 1) - carried))" -ge $((KEPT * 64))
	expect "RMBs announced since" "$(($(grown rkey_confirm) - confirmed))" -eq 0
	expect "connections moved" "$(grown conn_move)" -ge "$KEPT"
}

many_regions()
{
	one_pnetid
	announced='' orders=0 KEPT=40
	rmem_=$(sysctl -n net.smc.rmem) wmem_=$(sysctl -n net.smc.wmem)
	sysctl -q -w net.smc.rmem=524288 net.smc.wmem=16384
	with_group announce_many_rmbs
	sysctl -q -w "net.smc.rmem=$rmem_" "net.smc.wmem=$wmem_"
	expect "links that failed" "$(grown link_fail)" -eq 0
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$terms" -eq 0
	expect "malformed LLC messages" "$(grown rx_llc_bad)" -eq 0
	/t/smcctl pnet flush
}

case_many_regions()
{
	many_regions
}

case_v1_many_regions()
{
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs cannot be removed"
	many_regions
	expect "version 1" "$(($(grown clnt_smc_v1) + $(grown srv_smc_v1)))" -ge "$KEPT"
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
}

groups_are()
{
	[ "$(/t/smcctl --json linkgroup | grep -c '"id"')" = "$1" ]
}

# counter_is COUNTER N: some counters are incremented after the group has left the list
counter_is()
{
	[ "$(grown "$1")" -eq "$2" ]
}

# A group that is phased out takes no more connections, but keeps its present ones. Then a group that
# ends at once.
end_groups()
{
	[ ! -e /run/end_groups ] || return 0
	: > /run/end_groups
	two_links
	[ "$HOST" = 2 ] || /t/smcctl linkgroup del "$(group 1)" || fail "not begun"
	sync_barrier ending || exit 1
	if [ "$HOST" = 2 ]; then
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
			"idle:$((100 * SLOWNESS))" > /run/second 2>&1 &
		second=$!
	fi
	wait_for 20 groups_are 2 || { show; fail "one group has both"; }
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	sync_barrier both || exit 1
	if [ "$HOST" = 2 ]; then
		kill "$idle"
		wait "$idle" 2> /dev/null
	fi
	wait_for 20 groups_are 1 || { show; fail "the first group does not end"; }
	expect "groups ended" "$(grown lgr_term)" -eq 1
	[ "$(group 1)" != "" ] || fail "no group"
	sync_barrier first || exit 1
	[ "$HOST" = 1 ] || /t/smcctl linkgroup del "$(group 1)" now || fail "not begun"
	wait_for 20 groups_are 0 || { show; fail "the second group does not end"; }
	wait_for 20 counter_is conn_abort 1
	expect "connections aborted" "$(grown conn_abort)" -eq 1
	[ "$HOST" = 1 ] || kill "$second"
}

case_group_ends()
{
	one_pnetid
	rm -f /run/end_groups
	with_group end_groups
	expect "groups ended" "$(grown lgr_term)" -ge 2
	/t/smcctl pnet flush
}

# --- which link a connection uses ---

# conns_on RNIC: number of connections of its link
conns_on()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { print $4 }'
}

conns_are()
{
	[ "$(conns_on rxe0) $(conns_on rxe1)" = "$1 $2" ]
}

# open_conns N: host 2 opens N connections, one after the other; $OPTION: of smc_traffic
open_conns()
{
	if [ "$HOST" = 2 ]; then
		for _ in $(seq "$1"); do
			have=$(($(conns_on rxe0) + $(conns_on rxe1)))
			# shellcheck disable=SC2086 # none, or two words
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc $OPTION \
				--wait 10 "idle:$((200 * SLOWNESS))" > /run/more 2>&1 &
			idles="$idles $!"
			wait_for 20 conns_more_than "$have" || { cat /run/more; fail "no connection"; }
			# smc_traffic opens another connection before it, which ends at once
			sleep 1
		done
	fi
}

conns_more_than()
{
	[ "$(($(conns_on rxe0) + $(conns_on rxe1)))" -gt "$1" ]
}

# conns_grow N0 N1: waits until the connections of rxe0 and rxe1 have grown by that
conns_grow()
{
	on0=$((on0 + $1)) on1=$((on1 + $2))
	wait_for "$((20 * SLOWNESS))" conns_are "$on0" "$on1" ||
		{ show; fail "$(conns_on rxe0) $(conns_on rxe1), expected $on0 $on1"; }
}

# The links have the same number of connections; 2 more are allowed: short-lived ones of smc_traffic.
even()
{
	uneven=$(($(conns_on rxe0) - $(conns_on rxe1)))
	[ "$uneven" -ge -2 ] && [ "$uneven" -le 2 ]
}

expect_even()
{
	wait_for 20 even || { show; fail "$(conns_on rxe0) and $(conns_on rxe1)"; }
}

policy()
{
	sysctl -q -w "net.smc.smcr_link_policy=$1" || fail "no policy $1"
}

# The server assigns each connection to the link with the fewest, whatever the client's policy is.
# The latency of rxe1 is 30 ms.
policies()
{
	[ ! -e /run/policies ] || return 0
	: > /run/policies
	idles=
	two_links
	open_conns 4
	expect_even
	sync_barrier even 100 || exit 1
	[ "$HOST" = 1 ] || { on0=$(conns_on rxe0) on1=$(conns_on rxe1); policy 3; }
	open_conns 6
	sync_barrier latency 100 || exit 1
	[ "$HOST" = 2 ] || expect_even
	[ "$HOST" = 1 ] || { conns_grow 6 0; client_policies; }
	sync_barrier policies 100 || exit 1
}

client_policies()
{
	policy 1
	/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc hold:8 > /run/hold 2>&1 &
	hold=$!
	conns_grow 4 4
	kill "$hold"
	conns_grow -4 -4
	policy 0
	open_conns 3
	conns_grow 0 3
	# the group began over rxe0, which has more connections
	policy 4
	open_conns 2
	conns_grow 2 0
	# a socket goes its own way, both times the other one than those of the namespace
	OPTION="--link-policy 0" open_conns 1
	conns_grow 0 1
	policy 0
	OPTION="--link-policy 4" open_conns 1
	conns_grow 1 0
	open_conns 1
	conns_grow 0 1
	policy 2
	/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc \
		--timeout 60000 stream:500 > /run/bulk 2>&1 &
	idles="$idles $!"
	conns_grow 0 1
	sleep 1
	open_conns 3
	conns_grow 3 0
	# shellcheck disable=SC2086 # numbers
	kill $idles
}

case_policies()
{
	one_pnetid
	rm -f /run/policies
	! sysctl -q -w net.smc.smcr_link_policy=5 2> /dev/null || fail "policy 5 is accepted"
	! sysctl -q -w net.smc.smcr_link_policy=-1 2> /dev/null || fail "policy -1 is accepted"
	expect "policy" "$(sysctl -n net.smc.smcr_link_policy)" -eq 0
	[ "$HOST" = 1 ] || tc qdisc add dev eth1 root netem delay $((30 * SLOWNESS))ms limit 10000
	with_group policies
	[ "$HOST" = 1 ] || tc qdisc del dev eth1 root
	policy 0
	/t/smcctl pnet flush
}

# The listener's policy differs from that of the namespaces, and holds on its host alone.
listener_goes()
{
	[ ! -e /run/policies ] || return 0
	: > /run/policies
	idles=
	two_links
	open_conns 4
	sync_barrier open 100 || exit 1
	if [ "$HOST" = 1 ]; then
		wait_for 20 conns_are 5 0 || { show; fail "$(conns_on rxe0) and $(conns_on rxe1)"; }
	else
		expect_even
	fi
	sync_barrier listener 100 || exit 1
	# shellcheck disable=SC2086 # numbers
	[ "$HOST" = 1 ] || kill $idles
}

case_listener_policy()
{
	one_pnetid
	rm -f /run/policies
	SERVER_OPTION="--link-policy 4"
	with_group listener_goes
	SERVER_OPTION=
	/t/smcctl pnet flush
}

# --- spare links ---

packets_of()
{
	sent_by "$1" 2> /dev/null || echo 0
}

# stream_over RNIC OTHER: the stream is over that RNIC; the other one has a tenth of its packets at most, those
# of TEST LINK and of a move
stream_over()
{
	a_=$(packets_of "$1") b_=$(packets_of "$2")
	sleep 2
	a_=$(($(packets_of "$1") - a_)) b_=$(($(packets_of "$2") - b_))
	[ "$a_" -ge 100 ] && [ "$b_" -le "$((a_ / 10))" ]
}

expect_stream()
{
	wait_for "$((20 * SLOWNESS))" stream_over "$1" "$2" || {
		show
		fail "in two seconds $a_ packets of rxe$1, $b_ of rxe$2"
	}
}

# The RNIC with which the group began has all bytes, of a connection that exists, too: until it is lost, and
# when it is there again.
first_and_spare()
{
	[ -z "$spared" ] || { two_links; return; }
	spared=y
	two_links
	if [ "$HOST" = 2 ]; then
		# shellcheck disable=SC2086 # none, or two words
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc $OPTION \
			--timeout 60000 stream:16000 > /run/bulk 2>&1 &
		bulk=$!
	fi
	expect_stream 0 1
	sync_barrier first 100 || exit 1
	[ "$HOST" = 1 ] || /usr/sbin/rdma link delete rxe0 || fail "rxe0 stays"
	expect_links 1 single
	expect_stream 1 0
	sync_barrier spare 100 || exit 1
	if [ "$HOST" = 2 ]; then
		add_rxe 0 eth0 || fail "no rxe0"
		# its counters begin at zero
		sent0=0
	fi
	two_links
	expect_stream 0 1
	sync_barrier again 100 || exit 1
	[ "$HOST" = 1 ] || { kill "$bulk"; wait "$bulk" 2> /dev/null; }
}

# check_spare N BALANCE: so many connections of each host begin on the first RNIC; BALANCE: net.smc.smcr_balance;
# $OPTION, $SERVER_OPTION: of smc_traffic
check_spare()
{
	spared=
	one_pnetid
	sysctl -q -w "net.smc.smcr_balance=$2" net.smc.smcr_testlink_time=2
	with_group first_and_spare
	expect "connections moved" "$(grown conn_move)" -ge "$1"
	expect "connections moved back" "$(grown conn_balance)" -ge "$1"
	expect "packets of rxe0" "$packets0" -ge 256
	expect "groups ended" "$terms" -eq 0
	sysctl -q -w net.smc.smcr_balance=0 net.smc.smcr_testlink_time=30
	/t/smcctl pnet flush
}

case_backup()
{
	policy 4
	# the one that is kept open, and the stream
	check_spare 2 1
	policy 0
}

# The same by options of the sockets, while the namespaces are to spread connections and to let them stay, and
# that is what the connection that is kept open does on the client.
case_backup_socket()
{
	OPTION="--link-policy 4 --balance 1" SERVER_OPTION="--link-policy 4 --balance 1"
	check_spare 1 0
	OPTION='' SERVER_OPTION=''
}

# --- in virtual time ---

# lose_and_regain: the second network is silent until both hosts have detected it; sets $took to
# the seconds until the link is added again
lose_and_regain()
{
	sync_barrier "lose$((losses += 1))" || exit 1
	tc qdisc add dev eth1 root netem loss 100% || fail "no silence"
	until_links 1 60
	sync_barrier "lost$losses" || exit 1
	tc qdisc del dev eth1 root
	t0=$(uptime_s)
	until_links 2 500
	took=$(($(uptime_s) - t0))
	echo "loss $losses: added again after $took s"
}

# until_links N SECONDS: polls once a second: polling is slow in virtual time
until_links()
{
	for _ in $(seq "$2"); do
		! links_are "$1" || return 0
		sleep 1
	done
	show
	fail "$(count_links) links, expected $1"
}

# The delay before a link is re-added grows with each loss, and is reset after a long time without
# a loss.
loses_and_forgets()
{
	[ "$losses" = 0 ] || { two_links; return; }
	two_links
	for _ in 1 2 3 4; do
		lose_and_regain
	done
	expect "seconds to the fourth time" "$took" -ge 10
	sleep 1000
	lose_and_regain
	expect "seconds, after a long time without a loss" "$took" -le 8
}

case_forgets()
{
	losses=0
	one_pnetid
	sysctl -q -w net.smc.smcr_testlink_time=2
	IDLE=3000 with_group loses_and_forgets
	expect "links lost" "$(($(grown link_fail) + $(grown link_del)))" -ge 5
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$terms" -eq 0
	sysctl -q -w net.smc.smcr_testlink_time=30
	/t/smcctl pnet flush
}

# --- with the in-tree family: it has as many links as ours ---

case_intree_symmetric()
{
	one_pnetid
	with_group two_links
	! ours || expect "links added" "$(grown link_add)" -eq 1
	expect "packets of rxe1" "$packets1" -ge 16
	/t/smcctl pnet flush
}

case_intree_gives_back()
{
	check_regions_freed
}

# The in-tree host, then ours, has one RNIC.
case_intree_one()
{
	for one in 1 2; do
		one_rnic "$one"
		/t/smcctl pnet flush
		if [ "$HOST" = "$one" ]; then
			pnet add NET1 netdev nic0 ibdev rxe0
		else
			one_pnetid
		fi
		neighbours=$((one * 10))
		new_neighbours
		with_group expect_asymmetric "$one"
		! ours || expect "asymmetric links" "$(grown link_asym)" -eq 1
		two_rnics "$one"
		/t/smcctl pnet flush
		new_neighbours
	done
}

# expect_links_late N: an in-tree server detects the loss by TEST LINK and Soft-RoCE's retries
expect_links_late()
{
	wait_for 60 links_are "$1" || { show; fail "$(count_links) links, expected $1"; }
}

# finish_conns FROM TO: these kept connections send the rest of their data
finish_conns()
{
	[ "$HOST" = 2 ] || return 0
	for k_ in $(seq "$1" "$2"); do
		pid_=$(cat "/run/kept.$k_.pid")
		kill "$pid_"
		wait "$pid_" || { cat "/run/kept.$k_"; show; fail "connection $k_"; }
	done
}

kept_connected()
{
	[ "$(($(grown clnt_smc) + $(grown srv_smc)))" -ge 9 ]
}

# An in-tree host searches a path once, when the port comes up, before the route exists. If it finds
# none, and had offered its first RNIC again before, it does not search again.
nic1_up()
{
	for i_ in 1 2 3 4 5 6; do
		[ "$i_" = 1 ] || { ip link set nic1 down && sleep 1; }
		ip link set nic1 up || fail "nic1 stays down"
		ip route add 10.0.0.0/24 dev nic1 src "10.0.0.1$HOST" metric 200
		! wait_for 10 links_are 2 symmetric || return 0
	done
}

# The in-tree host or we have detected the loss.
one_gone()
{
	[ "$(($(grown link_del) + $(grown link_fail)))" -ge 1 ]
}

# The second port of the in-tree host goes down and up, with eight connections and the one of
# with_group. All send before; four send more while the port is down, and four afterwards. Meanwhile
# the group may have an asymmetric link. (No connection sends when the port goes down: compat.rst
# says what an in-tree host does to data that it sends then.)
port_down_and_up()
{
	[ -z "$came" ] || { two_links; return; }
	came=y
	two_links
	if [ "$HOST" = 2 ]; then
		for k_ in $(seq 8); do
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
				--timeout 60000 "idle:$((200 * SLOWNESS))" > "/run/kept.$k_" 2>&1 &
			echo $! > "/run/kept.$k_.pid"
			usleep 300000
		done
	fi
	! ours || wait_for 40 kept_connected || { show; fail "not all are connected"; }
	! ours || wait_for 20 conns_on_links 9 || { show; fail "not all have a link"; }
	sync_barrier kept 60 || exit 1
	ours || ip link set nic1 down || fail "nic1 stays up"
	! ours || wait_for 60 one_gone || { show; fail "nothing was lost"; }
	! ours || wait_for 20 conns_on_links 9 || { show; fail "not all have moved"; }
	sync_barrier gone 100 || exit 1
	finish_conns 1 4
	sync_barrier half 100 || exit 1
	ours || nic1_up
	wait_for 90 links_are 2 symmetric || { show; fail "the link is not added again"; }
	sync_barrier came 100 || exit 1
	finish_conns 5 8
	sync_barrier finished 100 || exit 1
}

case_intree_port()
{
	came=
	neighbours=30
	one=1
	[ "$INTREE" = server ] || one=2
	one_rnic "$one"
	second_rnic "$one"
	new_neighbours
	/t/smcctl pnet flush
	if ours; then
		one_pnetid
	else
		pnet add NET1 netdev nic0 ibdev rxe0
		pnet add NET1 netdev nic1 ibdev rxe1
	fi
	sysctl -q -w net.smc.smcr_testlink_time=2
	with_group port_down_and_up
	sysctl -q -w net.smc.smcr_testlink_time=30
	expect "packets of rxe1" "$packets1" -ge 16
	if ours; then
		expect "links lost" "$(($(grown link_fail) + $(grown link_del)))" -ge 1
		expect "links added" "$(grown link_add)" -ge 2
		expect "connections moved" "$(grown conn_move)" -ge 1
		expect "bytes over RDMA" "$(grown tx_write_bytes)" -ge $((9 * 262144))
		expect "connections aborted" "$(grown conn_abort)" -eq 0
		expect "groups ended" "$terms" -eq 0
	fi
	two_rnics "$one"
	/t/smcctl pnet flush
	new_neighbours
}

# Our second RNIC is removed and added again, and with it the link.
replace_rnic()
{
	if [ -n "$came" ]; then
		two_links
		return
	fi
	came=y
	two_links
	! ours || /usr/sbin/rdma link delete rxe1 || fail "rxe1 stays"
	expect_links_late 1
	sync_barrier gone 100 || exit 1
	if ours; then
		add_rxe 1 eth1 || fail "no rxe1"
		# its counters begin at zero
		sent1=0
	fi
	expect_links_late 2
	sync_barrier came 100 || exit 1
	two_links
}

case_intree_returns()
{
	came=
	one_pnetid
	sysctl -q -w net.smc.smcr_testlink_time=2
	with_group replace_rnic
	sysctl -q -w net.smc.smcr_testlink_time=30
	# the connections made since use it
	expect "packets of rxe1" "$packets1" -ge 256
	if ours; then
		expect "links lost" "$(grown link_fail)" -eq 1
		expect "links added" "$(grown link_add)" -ge 1
		expect "connections aborted" "$(grown conn_abort)" -eq 0
		expect "groups ended" "$terms" -eq 0
	fi
	/t/smcctl pnet flush
}

# Our operator deletes one link and adds it again. (An in-tree server that has lost a link offers it
# by itself.)
intree_commands()
{
	[ -z "$ordered" ] || { two_links; return; }
	ordered=y
	two_links
	sync_barrier both || exit 1
	! ours || /t/smcctl link del "$(group 1)" "$(link_over rxe1)" || fail "not begun"
	! ours || wait_for 20 one_deleted || { show; fail "the link is not deleted"; }
	if [ "$INTREE" = client ]; then
		expect_links_late 1
		sync_barrier gone 100 || exit 1
	fi
	! ours || /t/smcctl link add "$(group 1)" || echo "the link was added already"
	expect_links_late 2
	sync_barrier back || exit 1
}

one_deleted()
{
	[ "$(grown link_del)" -ge 1 ]
}

case_intree_operator()
{
	ordered=
	one_pnetid
	with_group intree_commands
	expect "packets of rxe1" "$packets1" -ge 256
	if ours; then
		expect "links added" "$(grown link_add)" -ge 1
		expect "links that failed" "$(grown link_fail)" -eq 0
		expect "connections aborted" "$(grown conn_abort)" -eq 0
		expect "groups ended" "$terms" -eq 0
	fi
	/t/smcctl pnet flush
}

# Our operator ends a group: phased out, which only the server can do, and at once.
intree_end()
{
	[ -z "$ended" ] || return 0
	ended=y
	two_links
	sync_barrier both || exit 1
	if [ "$INTREE" = client ]; then
		! ours || /t/smcctl linkgroup del "$(group 1)" || fail "not begun"
		sync_barrier ending || exit 1
		if [ "$HOST" = 2 ]; then
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
				"idle:$((100 * SLOWNESS))" > /run/second 2>&1 &
			second=$!
		fi
		wait_for 20 groups_are 2 || { show; fail "one group has both"; }
		! ours || expect "connections aborted" "$(grown conn_abort)" -eq 0
		sync_barrier second || exit 1
		[ "$HOST" = 1 ] || { kill "$idle"; wait "$idle" 2> /dev/null; }
		wait_for 20 groups_are 1 || { show; fail "the first group does not end"; }
		sync_barrier first || exit 1
	fi
	! ours || /t/smcctl linkgroup del "$(group 1)" now || fail "not begun"
	wait_for 20 groups_are 0 || { show; fail "the group does not end"; }
	! ours || wait_for 20 counter_is conn_abort 1
	! ours || expect "connections aborted" "$(grown conn_abort)" -eq 1
	[ -z "$second" ] || kill "$second"
}

case_intree_group_ends()
{
	ended=
	second=
	one_pnetid
	with_group intree_end
	! ours || expect "groups ended" "$(grown lgr_term)" -ge 1
	/t/smcctl pnet flush
}

# ended_since COUNT N: N groups have ended since lgr_term was COUNT; see counter_is()
ended_since()
{
	[ "$(($(stat_of lgr_term) - $1))" -eq "$2" ]
}

# The in-tree module is unloaded, and announces the end of its group.
case_intree_unloads()
{
	one_pnetid
	with_group two_links
	! ours || { wait_for 20 groups_are 1 || fail "no group"; terms=$(stat_of lgr_term); }
	sync_barrier loaded || exit 1
	ours || unload_smc || fail "the in-tree module cannot be unloaded"
	if ours; then
		wait_for 20 groups_are 0 || { show; fail "the group does not end"; }
		wait_for 20 ended_since "$terms" 1
		expect "groups ended" "$(($(stat_of lgr_term) - terms))" -eq 1
	fi
	sync_barrier unloaded || exit 1
	ours || load_smc || fail "the in-tree module cannot be loaded again"
	/t/smcctl pnet flush
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
