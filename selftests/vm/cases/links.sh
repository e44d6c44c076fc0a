# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The links of a group: which are made, which are refused, what becomes of them when ports
# go and come. Two RNICs on each host, rxe0 and rxe1 over eth0 and eth1, subnets 10.0.0.0/24
# and 10.0.1.0/24 (vm.py --links 2). Host 2 connects. Proof: the links of the group as
# netlink tells them on both hosts, our own counters, the packets of each RNIC.
#
#   INTREE    client | server: what the host with the in-tree family is
#   LINKS_OF  names of cases, all by default
#   ONE_SUBNET  y: both networks are in it: in-tree hosts have no second link otherwise

groups=0
all="single:60 symmetric:90 subnet:90 v1:90 many_rmbs:90 client_one:90 server_one:90 one_link:60
	gives_back:120 v1_gives_back:120 returns:120 v1_returns:120 becomes_symmetric:120
	operator:120 group_ends:120 policies:200 many_regions:150 v1_many_regions:150 unload:60"
# (takes 20 minutes where time is not virtual: forgets)
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

# --- what there is ---

# the active ones, one per line
links()
{
	/t/smcctl --json link | tr -d ' \n' | tr '{' '\n' | grep '"state":"active"'
}

count_links()
{
	links | wc -l
}

# links_are N [TYPE]: so many active ones
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

sent_by()
{
	rxe_counter sent_pkts "rxe$1"
}

# --- the course of a case ---

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

# with_group COMMAND...: while host 2 holds a connection to host 1, and for a second time
# after a stream over each link
with_group()
{
	! ours || sysctl -q -w net.smc.smcr_idle_time_client=1 net.smc.smcr_idle_time_server=1
	[ -n "$INTREE" ] || wait_for 20 no_groups || fail "groups are left: $(links)"
	sync_barrier "begin$((groups += 1))" || exit 1
	! ours || cp /proc/net/smc_stat /run/stat
	sent0=$(sent_by 0) sent1=$(sent_by 1 2> /dev/null || echo 0)
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc6 --require smc --timeout 30000 > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal "up$groups"
		sync_wait "held$groups" > /dev/null || exit 1
	else
		sync_wait "up$groups" > /dev/null || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
			"idle:${IDLE:-$((100 * SLOWNESS))}" > /run/idle 2>&1 &
		idle=$!
		wait_for 20 holds || { show; cat /run/idle; fail "no connection"; }
		sync_signal "held$groups"
	fi
	"$@"
	sync_barrier "looked$groups" || exit 1
	if [ "$HOST" = 2 ]; then
		# shellcheck disable=SC2086 # a list of words
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --timeout 30000 \
			${PARALLEL:-parallel:4 stream:4 connects:5} > /run/client 2>&1 ||
			{ cat /run/client; show; fail "traffic"; }
	fi
	sync_barrier "through$groups" || exit 1
	"$@"
	packets0=$(($(sent_by 0) - sent0))
	packets1=$(($(sent_by 1 2> /dev/null || echo 0) - sent1))
	echo "packets: $packets0 $packets1"
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

holds()
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

# Other subnets and no PNET ID: nobody says that the RNICs are on one network.
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
	expect "devices" "$(devices_of_links)" = "rxe0 rxe1 "
}

case_symmetric()
{
	one_pnetid
	with_group two_links
	expect "links added" "$(grown link_add)" -eq 1
	expect "asymmetric ones" "$(grown link_asym)" -eq 0
	expect "groups" "$(grown first_contact)" -le 1
	# the connections are spread over them
	expect "packets of rxe0" "$packets0" -ge 256
	expect "packets of rxe1" "$packets1" -ge 256
	/t/smcctl pnet flush
}

# Without an ID: RNICs whose address is in the subnet of the connection
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

# ADD LINK CONTINUATION tells the keys
case_v1()
{
	one_pnetid
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs stay"
	with_group two_links
	expect "version 1" "$(($(grown clnt_smc_v1) + $(grown srv_smc_v1)))" -ge 1
	expect "links added" "$(grown link_add)" -eq 1
	expect "packets of rxe1" "$packets1" -ge 256
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
	/t/smcctl pnet flush
}

# Connections of many sizes: regions that are made later are known on both links
case_many_rmbs()
{
	one_pnetid
	PARALLEL="parallel:16 stream:1 burst:30" with_group two_links
	expect "packets of rxe1" "$packets1" -ge 256
	/t/smcctl pnet flush
}

# stats_grew NAME N
stats_grew()
{
	[ "$(grown "$1")" -ge "$2" ]
}

# pool KEY: bytes that the group has for its connections
pool()
{
	/t/smcctl --json linkgroup | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

smaller()
{
	[ "$(pool rmb_bytes)" -lt "$1" ] && [ "$(pool sndbuf_bytes)" -lt "$2" ]
}

# taken_back N: so many RMBs, and as many send regions
taken_back()
{
	! ours || wait_for "$((20 * SLOWNESS))" stats_grew rkey_delete "$1" ||
		{ show; fail "RMBs stay"; }
	! ours || wait_for 10 stats_grew region_give "$((2 * $1))" ||
		{ show; fail "regions stay"; }
}

# Many connections make the pools grow. When they have gone, so do the regions, by DELETE RKEY,
# but for one of each kind. After other connections the same again.
more_and_less()
{
	[ -n "$INTREE" ] || two_links
	if [ -n "$emptied" ]; then
		taken_back "$((GROWS + 1))"
		# as long as one waits the group has to last
		sync_barrier "emptied$groups" 60 || exit 1
		return
	fi
	if [ "$HOST" = 2 ]; then
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc \
			${INTREE:+--intree "$INTREE"} "hold:$HOLD" > /run/crowd 2>&1 &
		crowd=$!
	fi
	! ours || wait_for 40 stats_grew rkey_confirm "$GROWS" || { show; fail "few RMBs"; }
	sync_barrier "crowded$groups" 60 || exit 1
	! ours || { rmbs=$(pool rmb_bytes) sends=$(pool sndbuf_bytes); }
	[ "$HOST" = 1 ] || { kill "$crowd"; wait "$crowd" 2> /dev/null; }
	taken_back "$GROWS"
	! ours || wait_for 10 smaller "$rmbs" "$sends" || { show; fail "the pools stay"; }
	emptied=y
}

give_back()
{
	HOLD=45 GROWS=2 emptied=
	if [ -n "$INTREE" ]; then
		HOLD=12 GROWS=1
	else
		one_pnetid
	fi
	! ours || sysctl -q -w net.smc.smcr_buf_idle_time=2
	PARALLEL="parallel:16 stream:4 connects:5" with_group more_and_less
	! ours || sysctl -q -w net.smc.smcr_buf_idle_time=120
	if ours; then
		expect "announced" "$(grown rkey_confirm)" -gt "$GROWS"
		expect "not let go" "$(grown rkey_kept)" -eq 0
		expect "malformed LLC messages" "$(grown rx_llc_bad)" -eq 0
		expect "connections aborted" "$(grown conn_abort)" -eq 0
	fi
	/t/smcctl pnet flush
}

case_gives_back()
{
	give_back
}

case_v1_gives_back()
{
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs stay"
	give_back
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
}

# one_rnic HOST: that one has a single RNIC on a switch that both cables go to
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

# second_rnic HOST: that one gets it
second_rnic()
{
	[ "$HOST" = "$1" ] || return 0
	add_rxe 1 nic1 || fail "no rxe1"
}

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

# asymmetric HOST: which has one RNIC
asymmetric()
{
	if [ "$HOST" = "$1" ]; then
		expect_links 2 asymmetric-local
		expect "devices" "$(devices_of_links)" = "rxe0 rxe0 "
	else
		expect_links 2 asymmetric-peer
		expect "devices" "$(devices_of_links)" = "rxe0 rxe1 "
	fi
}

one_side()
{
	neighbours=0
	one_rnic "$1"
	new_neighbours
	with_group asymmetric "$1"
	expect "links added" "$(grown link_add)" -eq 1
	expect "asymmetric ones" "$(grown link_asym)" -eq 1
	[ "$HOST" = "$1" ] || expect "packets of rxe1" "$packets1" -ge 256
	sync_barrier counted || exit 1
	two_rnics "$1"
	new_neighbours
}

# their addresses are at other MACs now
new_neighbours()
{
	sync_barrier "neighbours$((neighbours += 1))" || exit 1
	ip neigh flush all
}

case_client_one()
{
	one_side 2
}

case_server_one()
{
	one_side 1
}

# A port goes and comes: the group loses a link and gets it back, by the client's word
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

# While each side has more RMBs than one ADD LINK CONTINUATION has room for: a pool begins
# with 8 elements, then come 32, then more.
crowd_down_and_up()
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
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs stay"
	with_group crowd_down_and_up
	expect "links added" "$(grown link_add)" -ge 3
	expect "links not added" "$(grown link_add_fail)" -eq 0
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
	/t/smcctl pnet flush
}

# The asymmetric link goes when it is no longer needed
now_symmetric()
{
	[ -e /run/symmetric ] || asymmetric 2
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

# One link was agreed upon: nothing is offered
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

# --- the operator's word ---

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

# refused WORDS ARGUMENT...: what smcctl says then
refused()
{
	words=$1
	shift
	! /t/smcctl "$@" > /run/said 2>&1 || fail "smcctl $* is done"
	grep -q "$words" /run/said || fail "smcctl $*: $(cat /run/said)"
}

# A link goes and comes by the word of either side; in between the other one does all.
order()
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
	# it comes back by no one's word but the operator's
	sleep 4
	expect_links 1 single
	# ... nor because of what changes on either host, one after the other
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
	# ... and what the server's has removed by no word that a peer says
	if [ "$orders" = 2 ]; then
		[ "$HOST" = 1 ] || /t/smcctl link add "$(group 1)" || fail "not asked for"
		sleep 4
		expect_links 1 single
		dmesg | grep -q 'the peer wants one more link' || [ "$HOST" = 2 ] ||
			fail "the server's operator is told nothing"
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
	with_group order
	expect "links added" "$(grown link_add)" -eq 3
	expect "links deleted" "$(grown link_del)" -eq 2
	expect "links that failed" "$(grown link_fail)" -eq 0
	expect "groups ended" "$(grown lgr_term)" -eq 0
	/t/smcctl pnet flush
}

# by_order WORD [RNIC]: the server's operator says it of the group; both wait for each other
by_order()
{
	sync_barrier "order$((orders += 1))" || exit 1
	[ "$HOST" = 2 ] || /t/smcctl link "$1" "$(group 1)" ${2:+"$(link_over "$2")"} ||
		fail "not begun: $*"
}

# all_kept N: so many connections have a link
all_kept()
{
	[ "$(/t/smcctl link | awk '$3 == "active" { n += $4 } END { print n + 0 }')" -ge "$1" ]
}

# More RMBs than a message tells of, all of them in use, are told for a link that comes (version 1 takes
# several messages for that). Then the other link goes: the connections go on in all of them.
regions_told()
{
	[ -z "$told" ] || return 0
	told=y
	two_links
	by_order del rxe1
	expect_links 1 single
	if [ "$HOST" = 2 ]; then
		for k_ in $(seq "$KEPT"); do
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
				--timeout 60000 "idle:$((100 * SLOWNESS))" > "/run/kept.$k_" 2>&1 &
			echo $! > "/run/kept.$k_.pid"
			usleep 50000
		done
	fi
	wait_for 60 all_kept $((KEPT + 1)) || { show; fail "not all are there"; }
	# four elements of 512 KiB are a region
	expect "bytes of RMBs" "$(pool rmb_bytes)" -ge $((KEPT / 4 << 21))
	sync_barrier kept 60 || exit 1
	confirmed=$(grown rkey_confirm)
	by_order add
	two_links
	by_order del rxe0
	expect_links 1 single
	expect "device" "$(devices_of_links)" = "rxe1 "
	wait_for 20 all_kept $((KEPT + 1)) || { show; fail "not all have moved"; }
	sync_barrier moved || exit 1
	carried=$(sent_by 1)
	go_on 1 "$KEPT"
	sync_barrier said 100 || exit 1
	# in packets of 4 KiB at most
	expect "packets of rxe1" "$(($(sent_by 1) - carried))" -ge $((KEPT * 64))
	expect "RMBs announced since" "$(($(grown rkey_confirm) - confirmed))" -eq 0
	expect "connections moved" "$(grown conn_move)" -ge "$KEPT"
}

many_regions()
{
	one_pnetid
	told='' orders=0 KEPT=40
	rmem_=$(sysctl -n net.smc.rmem) wmem_=$(sysctl -n net.smc.wmem)
	sysctl -q -w net.smc.rmem=524288 net.smc.wmem=16384
	with_group regions_told
	sysctl -q -w "net.smc.rmem=$rmem_" "net.smc.wmem=$wmem_"
	expect "links that failed" "$(grown link_fail)" -eq 0
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$(grown lgr_term)" -eq 0
	expect "malformed LLC messages" "$(grown rx_llc_bad)" -eq 0
	/t/smcctl pnet flush
}

case_many_regions()
{
	many_regions
}

case_v1_many_regions()
{
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs stay"
	many_regions
	expect "version 1" "$(($(grown clnt_smc_v1) + $(grown srv_smc_v1)))" -ge "$KEPT"
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
}

groups_are()
{
	[ "$(/t/smcctl --json linkgroup | grep -c '"id"')" = "$1" ]
}

# counted COUNTER N: what follows a group's end does so after the group has gone from the list
counted()
{
	[ "$(grown "$1")" -eq "$2" ]
}

# A group that is to end takes no more connections, but keeps those it has; or ends at once.
let_end()
{
	[ ! -e /run/let ] || return 0
	: > /run/let
	two_links
	[ "$HOST" = 2 ] || /t/smcctl linkgroup del "$(group 1)" || fail "not begun"
	sync_barrier told || exit 1
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
	wait_for 20 groups_are 1 || { show; fail "the first group stays"; }
	expect "groups ended" "$(grown lgr_term)" -eq 1
	[ "$(group 1)" != "" ] || fail "no group"
	sync_barrier first || exit 1
	[ "$HOST" = 1 ] || /t/smcctl linkgroup del "$(group 1)" now || fail "not begun"
	wait_for 20 groups_are 0 || { show; fail "the second group stays"; }
	wait_for 20 counted conn_abort 1
	expect "connections aborted" "$(grown conn_abort)" -eq 1
	[ "$HOST" = 1 ] || kill "$second"
}

case_group_ends()
{
	one_pnetid
	rm -f /run/let
	with_group let_end
	expect "groups ended" "$(grown lgr_term)" -ge 2
	/t/smcctl pnet flush
}

# --- which link a connection sends over ---

# conns_on RNIC: connections of the link over it
conns_on()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { print $4 }'
}

conns_are()
{
	[ "$(conns_on rxe0) $(conns_on rxe1)" = "$1 $2" ]
}

# more N: host 2 makes so many connections, one after the other
more()
{
	if [ "$HOST" = 2 ]; then
		for _ in $(seq "$1"); do
			have=$(($(conns_on rxe0) + $(conns_on rxe1)))
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc \
				--wait 10 "idle:$((200 * SLOWNESS))" > /run/more 2>&1 &
			idles="$idles $!"
			wait_for 20 has_more "$have" || { cat /run/more; fail "no connection"; }
			# a further one, that ends at once, comes first
			sleep 1
		done
	fi
}

has_more()
{
	[ "$(($(conns_on rxe0) + $(conns_on rxe1)))" -gt "$1" ]
}

# conns_grow N0 N1: by so many since the last time
conns_grow()
{
	on0=$((on0 + $1)) on1=$((on1 + $2))
	wait_for "$((20 * SLOWNESS))" conns_are "$on0" "$on1" ||
		{ show; fail "$(conns_on rxe0) $(conns_on rxe1), expected $on0 $on1"; }
}

# As even as the further connections, which end at some time, let it be.
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

# The server keeps to the fewest connections, whatever the client does. What goes over rxe1
# takes 30 ms.
policies()
{
	[ ! -e /run/policies ] || return 0
	: > /run/policies
	idles=
	two_links
	more 4
	expect_even
	sync_barrier even 100 || exit 1
	[ "$HOST" = 1 ] || { on0=$(conns_on rxe0) on1=$(conns_on rxe1); policy 3; }
	more 6
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
	more 3
	conns_grow 0 3
	policy 2
	/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc \
		--timeout 60000 stream:500 > /run/bulk 2>&1 &
	idles="$idles $!"
	conns_grow 0 1
	sleep 1
	more 3
	conns_grow 3 0
	# shellcheck disable=SC2086 # numbers
	kill $idles
}

case_policies()
{
	one_pnetid
	rm -f /run/policies
	! sysctl -q -w net.smc.smcr_link_policy=4 2> /dev/null || fail "there is no policy 4"
	! sysctl -q -w net.smc.smcr_link_policy=-1 2> /dev/null || fail "nor -1"
	expect "policy" "$(sysctl -n net.smc.smcr_link_policy)" -eq 0
	[ "$HOST" = 1 ] || tc qdisc add dev eth1 root netem delay $((30 * SLOWNESS))ms limit 10000
	with_group policies
	[ "$HOST" = 1 ] || tc qdisc del dev eth1 root
	policy 0
	/t/smcctl pnet flush
}

# --- in virtual time ---

# lose_and_regain: the second network is silent until both hosts have noticed; in $took, how
# long it then takes until the link is back
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
	echo "number $losses was back after $took s"
}

# until_links N SECONDS: with few looks, for they take long where time is virtual
until_links()
{
	for _ in $(seq "$2"); do
		! links_are "$1" || return 0
		sleep 1
	done
	show
	fail "$(count_links) links, expected $1"
}

# A link that is lost over and over again comes back later and later; not so when all was well
# for a long time.
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
	expect "seconds, after a long time" "$took" -le 8
}

case_forgets()
{
	losses=0
	one_pnetid
	sysctl -q -w net.smc.smcr_testlink_time=2
	IDLE=3000 with_group loses_and_forgets
	expect "links lost" "$(($(grown link_fail) + $(grown link_del)))" -ge 5
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$(grown lgr_term)" -eq 0
	sysctl -q -w net.smc.smcr_testlink_time=30
	/t/smcctl pnet flush
}

# --- with the in-tree family: its links are as many as ours ---

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
	give_back
}

# Its host, then ours, has one RNIC
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
		with_group asymmetric "$one"
		! ours || expect "asymmetric links" "$(grown link_asym)" -eq 1
		two_rnics "$one"
		/t/smcctl pnet flush
		new_neighbours
	done
}

# expect_links_late N: an in-tree server finds out by TEST LINK and Soft-RoCE's retries
expect_links_late()
{
	wait_for 60 links_are "$1" || { show; fail "$(count_links) links, expected $1"; }
}

# go_on FROM TO: those of the connections that were kept say the rest
go_on()
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

# An in-tree host looks for a way once, when the port comes up, which is before the route does. If it found
# none then, and had offered its first RNIC once more by itself before, it does not look again.
nic1_up()
{
	for i_ in 1 2 3 4 5 6; do
		[ "$i_" = 1 ] || { ip link set nic1 down && sleep 1; }
		ip link set nic1 up || fail "nic1 stays down"
		ip route add 10.0.0.0/24 dev nic1 src "10.0.0.1$HOST" metric 200
		! wait_for 10 links_are 2 symmetric || return 0
	done
}

# The in-tree host notices first, or we do.
one_gone()
{
	[ "$(($(grown link_del) + $(grown link_fail)))" -ge 1 ]
}

# The second port of the in-tree host goes down and comes up, under eight connections and the one
# of with_group. They say something before; four say more while it is down, and four afterwards.
# Meanwhile the group may have an asymmetric link. (They are silent when it goes: see compat.rst for what an in-tree host does to what it sends then.)
port_goes_and_comes()
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
	! ours || wait_for 20 all_kept 9 || { show; fail "not all are there"; }
	sync_barrier kept 60 || exit 1
	ours || ip link set nic1 down || fail "nic1 stays up"
	! ours || wait_for 60 one_gone || { show; fail "nothing was lost"; }
	! ours || wait_for 20 all_kept 9 || { show; fail "not all have moved"; }
	sync_barrier gone 100 || exit 1
	go_on 1 4
	sync_barrier half 100 || exit 1
	ours || nic1_up
	wait_for 90 links_are 2 symmetric || { show; fail "the link does not come back"; }
	sync_barrier came 100 || exit 1
	go_on 5 8
	sync_barrier said 100 || exit 1
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
	with_group port_goes_and_comes
	sysctl -q -w net.smc.smcr_testlink_time=30
	expect "packets of rxe1" "$packets1" -ge 16
	if ours; then
		expect "links lost" "$(($(grown link_fail) + $(grown link_del)))" -ge 1
		expect "links added" "$(grown link_add)" -ge 2
		expect "connections moved" "$(grown conn_move)" -ge 1
		expect "bytes over RDMA" "$(grown tx_write_bytes)" -ge $((9 * 262144))
		expect "connections aborted" "$(grown conn_abort)" -eq 0
		expect "groups ended" "$(grown lgr_term)" -eq 0
	fi
	two_rnics "$one"
	/t/smcctl pnet flush
	new_neighbours
}

# Our second RNIC goes and comes back, and with it the link.
rnic_goes_and_comes()
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
		# its counters begin anew
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
	with_group rnic_goes_and_comes
	sysctl -q -w net.smc.smcr_testlink_time=30
	# the connections made since use it
	expect "packets of rxe1" "$packets1" -ge 256
	if ours; then
		expect "links lost" "$(grown link_fail)" -eq 1
		expect "links added" "$(grown link_add)" -ge 1
		expect "connections aborted" "$(grown conn_abort)" -eq 0
		expect "groups ended" "$(grown lgr_term)" -eq 0
	fi
	/t/smcctl pnet flush
}

# One link goes by our operator's word, and comes by it. (An in-tree server, which has lost one,
# offers it by itself.)
intree_order()
{
	[ -z "$ordered" ] || { two_links; return; }
	ordered=y
	two_links
	sync_barrier both || exit 1
	! ours || /t/smcctl link del "$(group 1)" "$(link_over rxe1)" || fail "not begun"
	! ours || wait_for 20 one_deleted || { show; fail "it stays"; }
	if [ "$INTREE" = client ]; then
		expect_links_late 1
		sync_barrier gone 100 || exit 1
	fi
	! ours || /t/smcctl link add "$(group 1)" || echo "it is back already"
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
	with_group intree_order
	expect "packets of rxe1" "$packets1" -ge 256
	if ours; then
		expect "links added" "$(grown link_add)" -ge 1
		expect "links that failed" "$(grown link_fail)" -eq 0
		expect "connections aborted" "$(grown conn_abort)" -eq 0
		expect "groups ended" "$(grown lgr_term)" -eq 0
	fi
	/t/smcctl pnet flush
}

# A group ends by our word: in order, which is for the server to say, and at once.
intree_end()
{
	[ -z "$ended" ] || return 0
	ended=y
	two_links
	sync_barrier both || exit 1
	if [ "$INTREE" = client ]; then
		! ours || /t/smcctl linkgroup del "$(group 1)" || fail "not begun"
		sync_barrier told || exit 1
		if [ "$HOST" = 2 ]; then
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
				"idle:$((100 * SLOWNESS))" > /run/second 2>&1 &
			second=$!
		fi
		wait_for 20 groups_are 2 || { show; fail "one group has both"; }
		! ours || expect "connections aborted" "$(grown conn_abort)" -eq 0
		sync_barrier second || exit 1
		[ "$HOST" = 1 ] || { kill "$idle"; wait "$idle" 2> /dev/null; }
		wait_for 20 groups_are 1 || { show; fail "the first group stays"; }
		sync_barrier first || exit 1
	fi
	! ours || /t/smcctl linkgroup del "$(group 1)" now || fail "not begun"
	wait_for 20 groups_are 0 || { show; fail "the group stays"; }
	! ours || wait_for 20 counted conn_abort 1
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

# ended_since COUNT N: as counted()
ended_since()
{
	[ "$(($(stat_of lgr_term) - $1))" -eq "$2" ]
}

# The in-tree module goes, and says to its group that it ends.
case_intree_unloads()
{
	one_pnetid
	with_group two_links
	! ours || { wait_for 20 groups_are 1 || fail "no group"; terms=$(stat_of lgr_term); }
	sync_barrier loaded || exit 1
	ours || unload_smc || fail "the in-tree module does not go"
	if ours; then
		wait_for 20 groups_are 0 || { show; fail "the group stays"; }
		wait_for 20 ended_since "$terms" 1
		expect "groups ended" "$(($(stat_of lgr_term) - terms))" -eq 1
	fi
	sync_barrier unloaded || exit 1
	ours || load_smc || fail "it does not come back"
	/t/smcctl pnet flush
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module does not go"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
