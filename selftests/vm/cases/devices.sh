# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Which RNIC a connection uses, and what happens to it when devices change. Three RNICs on each
# host, rxe0 to rxe2 over eth0 to eth2, subnets 10.0.0.0/24 to 10.0.2.0/24 (vm.py --links 3).
# Host 2 connects. Checked: the mode of every connection by sock_diag on both sides (--require),
# the packets of the right RNIC and of no other on both hosts, the counters of our module.

CASES="table:120 route:120 pnetid:300 several:180 vlan:180 bond:240 bridge:240 names:120 service_address:180
	rival_routes:180 many_addresses:240 families:120 late:120 address:240 mac:240 mtu:240 mtu_less:240 unload:60"
export CASES

setup()
{
	modprobe -q 8021q
	modprobe -q bonding max_bonds=0
	modprobe -q bridge
	setup_net && setup_rxe && load_smc || return 1
	# more links of a group are tested by links.sh
	sysctl -q -w net.smc.smcr_max_links_per_lgr=1
}

# --- which RNIC ---

# reset: undoes the changes of the previous case
reset()
{
	/t/smcctl pnet flush
	# the previous case may have failed
	ip link set eth1 up
	ip link set eth2 up
	rounds=0
}

before()
{
	cp /proc/net/smc_stat /run/stat
	for i_ in 0 1 2; do
		[ ! -e "/sys/class/infiniband/rxe$i_" ] || rxe_counter sent_pkts "rxe$i_" > "/run/sent.$i_"
	done
}

grown()
{
	echo "$(($(stat_of "$1") - $(awk -v n="$1" '$1 == n { print $2 }' /run/stat)))"
}

# expect_rnic N: rxe<N> and no other has sent the packets since before()
expect_rnic()
{
	for i_ in 0 1 2; do
		[ -e "/sys/class/infiniband/rxe$i_" ] || continue
		n_=$(($(rxe_counter sent_pkts "rxe$i_") - $(cat "/run/sent.$i_")))
		if [ "$i_" = "$1" ]; then
			expect "packets of rxe$i_" "$n_" -ge 256
		else
			# at most a TEST LINK or the end of a group
			expect "packets of rxe$i_" "$n_" -le 16
		fi
	done
}

pnet()
{
	/t/smcctl pnet "$@" || fail "pnet $*"
}

# --- server and client ---

# serve NAME: until the other host signals that the client NAME has ended
serve()
{
	start_server
	sync_signal "up.$1"
	sync_wait "through.$1" 100 > /dev/null
	rc=$?
	stop_server
	[ "$rc" = 0 ] || exit 1
}

start_server()
{
	# shellcheck disable=SC2153 # CASE is set by main.sh
	/t/smc_traffic server --family smc6 --timeout 30000 > "/run/server.$CASE" 2>&1 &
	server=$!
	wait_for 20 listening || fail "the server does not listen"
}

stop_server()
{
	kill "$server"
	wait "$server" 2> /dev/null
}

listening()
{
	grep -q ':114E ' /proc/net/tcp6
}

# client MODE ADDRESS SUBTEST...: its output is in /run/client
client()
{
	mode=$1 to=$2
	shift 2
	/t/smc_traffic client --connect "$to" --family "${family:-smc}" --require "$mode" --mode \
		--timeout 30000 --wait 10 "$@" > /run/client 2>&1
	rc=$?
	cat /run/client
	[ "$rc" = 0 ] || fail "client to $to ended with $rc: $(tail -n 1 /run/client)"
}

# expect_over RNIC ADDRESS: both hosts; one round of connections over rxe<RNIC>
expect_over()
{
	rounds=$((rounds + 1))
	sync_barrier "round$rounds" || exit 1
	before
	if [ "$HOST" = 1 ]; then
		serve "$rounds"
	else
		sync_wait "up.$rounds" > /dev/null || exit 1
		client smc "$2" stream:2 connects:3
		sync_signal "through.$rounds"
	fi
	expect "connections" "$(($(grown srv_smc) + $(grown clnt_smc)))" -ge 4
	expect "written by RDMA" "$(grown tx_write_bytes)" -ge 1048576
	expect_rnic "$1"
}

# expect_fallback ADDRESS OWN/PEER: both hosts; falls back before a group is begun, with these reasons at the client
expect_fallback()
{
	rounds=$((rounds + 1))
	sync_barrier "round$rounds" || exit 1
	before
	if [ "$HOST" = 1 ]; then
		serve "$rounds"
		expect "fallbacks" "$(grown srv_fback)" -ge 4
	else
		sync_wait "up.$rounds" > /dev/null || exit 1
		client tcp "$1" connects:3 stream:1
		grep -q "reasons $2" /run/client ||
			fail "reasons $2 not in: $(grep reasons /run/client)"
		sync_signal "through.$rounds"
		expect "fallbacks" "$(grown clnt_fback)" -ge 4
	fi
	expect "groups begun" "$(grown first_contact)" -eq 0
	expect "written by RDMA" "$(grown tx_write_bytes)" -eq 0
}

# --- the table ---

# entries: prints the table, one entry per line: ID netdev ibdev port
entries()
{
	/t/smcctl pnet | tail -n +2 | tr -s ' ' | sed 's/ *$//'
}

table_is()
{
	[ "$(entries)" = "$*" ] || fail "the PNET table is [$(entries)], expected [$*]"
}

case_table()
{
	reset
	table_is ""
	pnet add net1 netdev eth0 ibdev rxe0
	table_is "NET1 eth0 - -
NET1 - rxe0 1"
	/t/smcctl pnet add NET2 netdev eth0 ibdev rxe1 && fail "eth0 has two IDs"
	/t/smcctl pnet add NET1 netdev eth0 ibdev rxe0 && fail "nothing new, and no error"
	/t/smcctl pnet add NET2 netdev eth1 ibdev rxe0 && fail "rxe0 has two IDs"
	# an existing pair with one new entry: the new entry is added
	pnet add NET1 netdev eth0 ibdev rxe1
	table_is "NET1 eth0 - -
NET1 - rxe0 1
NET1 - rxe1 1"
	# devices that do not exist
	pnet add NET3 netdev later0 ibdev later/2
	/t/smcctl pnet add NET4 netdev later0 && fail "later0 has two IDs"
	pnet del NET1
	table_is "NET3 later0 - -
NET3 - later 2"
	/t/smcctl pnet del NET1 && fail "NET1 is there twice"
	# a device with that name is created, then renamed, then removed
	ip link add later0 type dummy || fail "no dummy device"
	ip link set later0 name moved0
	table_is "NET3 moved0 - -
NET3 - later 2"
	ip link del moved0 || fail "the table holds a device"
	ip link add moved0 type dummy
	/t/smcctl pnet add NET4 netdev moved0 && fail "moved0 has lost its ID"
	pnet flush
	table_is ""
	pnet add NET4 netdev moved0
	pnet flush
	ip link del moved0
}

# --- the choice ---

case_route()
{
	reset
	expect_over 0 10.0.0.1
	expect_over 1 10.0.1.1
	expect_over 0 10.0.0.1
}

# group_ids: PNET IDs of the groups, each once
group_ids()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"pnetid": *"\(.*\)".*/\1/p' | sort -u |
		tr '\n' ' '
}

case_pnetid()
{
	reset
	expect_over 0 10.0.0.1
	# there is a group over rxe0: new connections do not use it
	pnet add NET1 netdev eth0 ibdev rxe2
	expect_over 2 10.0.0.1
	group_ids | grep -qw NET1 || fail "PNET IDs of groups: $(group_ids)"
	pnet flush
	pnet add NET1 netdev eth0 ibdev rxe1
	expect_over 1 10.0.0.1
	# an RNIC with an address in the subnet of the connection is preferred
	ip addr add "10.0.0.10$HOST/24" dev eth2 noprefixroute
	pnet add NET1 ibdev rxe2
	expect_over 2 10.0.0.1
	ip addr del "10.0.0.10$HOST/24" dev eth2
	pnet flush
	expect_over 0 10.0.0.1
	# no port has the ID: the ports of netdevs with the ID are used
	pnet add NET2 netdev eth0
	pnet add NET2 netdev eth1
	expect_over 0 10.0.0.1
	pnet flush
	# no RNIC on that network; eth1 is not affected
	pnet add NET3 netdev eth0 ibdev rxe7
	expect_fallback 10.0.0.1 03038001
	expect_over 1 10.0.1.1
	# known to the server only
	[ "$HOST" = 1 ] || pnet flush
	expect_fallback 10.0.0.1 05000000/03038001
	[ "$HOST" = 2 ] || pnet flush
}

# group_ended COUNT: more than COUNT groups have ended. A port event may arrive after a new
# connection.
group_ended()
{
	[ "$(stat_of lgr_term)" -gt "$1" ]
}

# Two RNICs with the same ID: when the port of one goes down the other one is used.
case_several()
{
	reset
	pnet add NET1 netdev eth0 ibdev rxe1
	pnet add NET1 ibdev rxe2
	expect_over 1 10.0.0.1
	terms=$(stat_of lgr_term)
	sync_barrier up || exit 1
	ip link set eth1 down
	sync_barrier down || exit 1
	expect_over 2 10.0.0.1
	wait_for 20 group_ended "$terms" || fail "no group ended"
	ip link set eth2 down
	sync_barrier both_down || exit 1
	expect_fallback 10.0.0.1 03038001
	pnet flush
	ip link set eth1 up
	ip link set eth2 up
	# the IPv6 addresses were removed with the link going down
	wait_for 20 port_active rxe1 || fail "rxe1 stays down"
	wait_for 20 port_active rxe2 || fail "rxe2 stays down"
	expect_over 1 10.0.1.1
}

# A VLAN device uses the RNIC below it, with and without an ID; an ID of the VLAN device counts first.
case_vlan()
{
	reset
	ip link add link eth0 name eth0.5 type vlan id 5 || fail "no VLAN device"
	ip addr add "10.5.0.$HOST/24" dev eth0.5
	ip link set eth0.5 up
	expect_over 0 10.5.0.1
	pnet add NET1 netdev eth0 ibdev rxe1
	expect_over 1 10.5.0.1
	pnet add NET5 netdev eth0.5 ibdev rxe2
	expect_over 2 10.5.0.1
	expect_over 1 10.0.0.1
	pnet flush
	ip link del eth0.5
}

# add_upper DEVICE TYPE OPTION...: makes it the upper device of eth0, with the address of eth0
add_upper()
{
	upper=$1
	shift
	ip addr flush dev eth0
	ip link set eth0 down
	ip link add "$upper" type "$@" || fail "no $upper"
	ip link set eth0 master "$upper" || fail "eth0 cannot be added to $upper"
	ip link set eth0 up
	ip link set "$upper" up
	ip addr add "10.0.0.$HOST/24" dev "$upper"
	wait_for 10 link_detected "$upper" || fail "$upper has no link"
	sync_barrier "upper.$upper" || exit 1
	wait_for 20 ping -c 1 -W 1 "10.0.0.$(peer)" > /dev/null || fail "no path over $upper"
}

link_detected()
{
	[ "$(cat "/sys/class/net/$1/carrier")" = 1 ]
}

# del_upper DEVICE: undoes add_upper
del_upper()
{
	sync_barrier "no_upper.$1" || exit 1
	ip link set eth0 nomaster
	ip link del "$1"
	ip addr flush dev eth0
	ip addr add "10.0.0.$HOST/24" dev eth0
	ip addr add "fd00:0::$HOST/64" dev eth0 nodad
	ip link set eth0 up
	wait_for 20 port_active rxe0 || fail "the port stays down"
	sync_barrier "no_upper2.$1" || exit 1
}

# Without an ID it is unknown whether packets for the RNIC arrive on its port. An ID of the upper
# device counts, else an ID of the devices below it. An RNIC over the upper device needs no ID.
choose_upper()
{
	expect_fallback 10.0.0.1 03038002
	pnet add NET1 netdev eth0 ibdev rxe1
	expect_over 1 10.0.0.1
	pnet add NET2 netdev "$upper" ibdev rxe2
	expect_over 2 10.0.0.1
	pnet flush
	/usr/sbin/rdma link delete rxe0 || fail "rxe0 stays"
	expect_fallback 10.0.0.1 03030000
	add_rxe 0 "$upper" || fail "no rxe0 over $upper"
	wait_for 10 port_active rxe0 || fail "the port stays down"
	expect_over 0 10.0.0.1
	/usr/sbin/rdma link delete rxe0
	add_rxe 0 eth0 || fail "no rxe0 over eth0"
}

case_bond()
{
	reset
	add_upper bond0 bond mode active-backup miimon 100
	choose_upper
	del_upper bond0
}

case_bridge()
{
	reset
	add_upper br0 bridge
	choose_upper
	del_upper br0
}

# --- changes ---

# Connections and groups do not depend on names; entries of the table follow renamed devices.
case_names()
{
	reset
	expect_over 0 10.0.0.1
	pnet add NET1 netdev eth0 ibdev rxe0
	pnet add NET2 ibdev ib9
	ip link set eth0 name lan0 || fail "eth0 cannot be renamed"
	/usr/sbin/rdma dev set rxe0 name ib0 || fail "rxe0 cannot be renamed"
	table_is "NET1 lan0 - -
NET1 - ib0 1
NET2 - ib9 1"
	sync_barrier renamed || exit 1
	before
	sent=$(rxe_counter sent_pkts ib0)
	if [ "$HOST" = 1 ]; then
		serve renamed
		expect "new groups" "$(grown first_contact)" -eq 0
	else
		sync_wait up.renamed > /dev/null || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc idle:8 \
			> /run/idle 2>&1 &
		wait_for 10 device_shown ib0 || fail "smcctl sock: $(/t/smcctl sock)"
		client smc 10.0.0.1 stream:2
		sync_signal through.renamed
		expect "new groups" "$(grown first_contact)" -eq 0
	fi
	expect "packets of ib0" "$(($(rxe_counter sent_pkts ib0) - sent))" -ge 256
	/usr/sbin/rdma dev set ib0 name rxe0
	ip link set lan0 name eth0
	table_is "NET1 eth0 - -
NET1 - rxe0 1
NET2 - ib9 1"
	pnet flush
	expect_over 0 10.0.0.1
}

device_shown()
{
	/t/smcctl sock | grep -q "SMCR.* on $1 port 1"
}

# Service addresses are often on lo: no GID has them. The best GID of the route's netdev is used.
case_service_address()
{
	reset
	family=smc
	for net in 192.0.2 2001:db8:; do
		case $net in
		*:) near=fd00:0: bits=128 family=smc6 ;;
		*) near=10.0.0 bits=32 ;;
		esac
		dot=.
		[ $bits = 32 ] || dot=:
		ip addr add "$net$dot$HOST/$bits" dev lo || fail "no service address"
		ip route add "$net$dot$((3 - HOST))/$bits" via "$near$dot$((3 - HOST))" \
			|| fail "no route"
		# the server's address is one, then the client's is one as well
		expect_over 0 "$net${dot}1"
		ip route replace "$net$dot$((3 - HOST))/$bits" via "$near$dot$((3 - HOST))" \
			src "$net$dot$HOST" || fail "no route with a source address"
		expect_over 0 "$net${dot}1"
		ip route del "$net$dot$((3 - HOST))/$bits"
		ip addr del "$net$dot$HOST/$bits" dev lo
	done
	family=smc
}

# Two routes lead to a service address, over one RNIC each: the RNIC of the better one is used, by
# each connection anew.
case_rival_routes()
{
	reset
	family=smc
	other=$((3 - HOST))
	ip addr add "192.0.2.$HOST/32" dev lo || fail "no service address"
	for l_ in 0 1; do
		ip route add "192.0.2.$other/32" via "10.0.$l_.$other" metric $((10 + l_)) \
			src "192.0.2.$HOST" || fail "no route"
	done
	expect_over 0 192.0.2.1
	ip route del "192.0.2.$other/32" via "10.0.0.$other" metric 10
	expect_over 1 192.0.2.1
	ip route add "192.0.2.$other/32" via "10.0.0.$other" metric 10 src "192.0.2.$HOST"
	expect_over 0 192.0.2.1
	ip route flush 192.0.2.0/24
	ip addr del "192.0.2.$HOST/32" dev lo
}

# gids: number of entries in the GID table of rxe0, and of those in use
gids()
{
	find /sys/class/infiniband/rxe0/ports/1/gids -type f | wc -l
	cat /sys/class/infiniband/rxe0/ports/1/gids/* 2> /dev/null |
		grep -vc '^0000:0000:0000:0000:0000:0000:0000:0000$'
}

# has_gid HEX: rxe0 has a GID that ends with it
has_gid()
{
	grep -q "$1\$" /sys/class/infiniband/rxe0/ports/1/gids/* 2> /dev/null
}

# The netdev has more addresses than the GID table has room for: one without a GID can be used.
case_many_addresses()
{
	reset
	family=smc
	# shellcheck disable=SC2046 # two numbers
	set -- $(gids)
	size=$1
	expect "entries of the GID table" "$size" -ge 16
	i=0
	while [ $i -lt "$size" ]; do
		echo "addr add 172.16.$((i / 250)).$((i % 250 + 1))/32 dev eth0"
		i=$((i + 1))
	done > /run/addrs
	/usr/sbin/ip -batch /run/addrs || fail "no $size addresses"
	wait_for 60 table_full || fail "the GID table has room: $(gids | tr '\n' ' ')"
	ip addr add "192.0.2.$HOST/32" dev eth0 || fail "no service address"
	ip route add "192.0.2.$((3 - HOST))/32" via "10.0.0.$((3 - HOST))" src "192.0.2.$HOST" ||
		fail "no route"
	expect_over 0 192.0.2.1
	has_gid "c000:020$HOST" && fail "192.0.2.$HOST has a GID"
	ip route flush 192.0.2.0/24
	ip addr del "192.0.2.$HOST/32" dev eth0
	sed -i 's/^addr add/addr del/' /run/addrs
	/usr/sbin/ip -batch /run/addrs || fail "the addresses stay"
}

table_full()
{
	# shellcheck disable=SC2046 # two numbers
	set -- $(gids)
	[ "$1" -eq "$2" ]
}

# GIDs of the other family, or of the link only, lead to no service address.
case_families()
{
	reset
	ip addr del "fd00:0::$HOST/64" dev eth0
	ip addr add "fe80::$HOST/64" dev eth0 nodad
	ip addr add "2001:db8::$HOST/128" dev lo nodad || fail "no service address"
	ip route add "2001:db8::$((3 - HOST))/128" via "fe80::$((3 - HOST))" dev eth0 \
		src "2001:db8::$HOST" || fail "no route"
	family=smc6
	expect_fallback 2001:db8::1 03030000
	family=smc
	ip route del "2001:db8::$((3 - HOST))/128"
	ip addr del "2001:db8::$HOST/128" dev lo
	ip addr del "fe80::$HOST/64" dev eth0
	ip addr add "fd00:0::$HOST/64" dev eth0 nodad
	expect_over 0 10.0.0.1
}

# An RNIC is added after the listener.
case_late()
{
	reset
	[ "$HOST" = 2 ] || /usr/sbin/rdma link delete rxe0 || fail "rxe0 stays"
	sync_barrier gone || exit 1
	before
	if [ "$HOST" = 1 ]; then
		start_server
		sync_signal up
		sync_wait tcp > /dev/null || exit 1
		add_rxe 0 eth0 || fail "no rxe0"
		wait_for 10 port_active rxe0 || fail "rxe0 stays down"
		echo 0 > /run/sent.0
		sync_signal added
		sync_wait through > /dev/null || exit 1
		stop_server
		expect "fallbacks" "$(grown srv_fback)" -ge 3
	else
		sync_wait up > /dev/null || exit 1
		client tcp 10.0.0.1 connects:3
		grep -q "reasons 05000000/03030000" /run/client || fail "$(grep reasons /run/client)"
		sync_signal tcp
		sync_wait added > /dev/null || exit 1
		client smc 10.0.0.1 stream:2
		sync_signal through
	fi
	expect_rnic 0
}

# expect_abort COMMAND...: host 1 runs it while there is a connection, which must end on both hosts,
# within 10 s on host 1. (A server cannot notify a client of version 2 of the reason.)
expect_abort()
{
	sync_barrier begin || exit 1
	before
	if [ "$HOST" = 1 ]; then
		start_server
		sync_signal up
		sync_wait there > /dev/null || exit 1
		"$@" || fail "$*"
		wait_for 10 aborted || fail "the connection does not end"
		sync_signal changed
		sync_wait ended 120 > /dev/null || exit 1
		stop_server
	else
		sysctl -q -w net.smc.smcr_testlink_time=2
		sync_wait up > /dev/null || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc idle:100 \
			> /run/idle 2>&1 &
		wait_for 10 one_conn || fail "no connection: $(cat /run/idle)"
		sync_signal there
		sync_wait changed > /dev/null || exit 1
		wait_for 90 aborted || fail "the connection does not end"
		sync_signal ended
		sysctl -q -w net.smc.smcr_testlink_time=30
	fi
	wait_for 20 group_ended "$(awk '$1 == "lgr_term" { print $2 }' /run/stat)" ||
		fail "no group ended"
	# later connections must create a new group
	first=$(stat_of first_contact)
}

aborted()
{
	[ "$(grown conn_abort)" -ge 1 ]
}

one_conn()
{
	[ "$(grown clnt_smc)" -ge 1 ]
}

new_address()
{
	ip addr del 10.0.0.1/24 dev eth0 && ip addr add 10.0.0.101/24 dev eth0
}

# The address of a group is removed: the group ends; the new address gets a new group.
case_address()
{
	reset
	expect_over 0 10.0.0.1
	expect_abort new_address
	expect_over 0 10.0.0.101
	expect "new groups" "$(($(stat_of first_contact) - first))" -ge 1
	if [ "$HOST" = 1 ]; then
		ip addr del 10.0.0.101/24 dev eth0
		ip addr add 10.0.0.1/24 dev eth0
	fi
	expect_over 0 10.0.0.1
}

new_mac()
{
	ip link set eth0 address "$1"
}

# The peer's queue pair sends to the old MAC.
case_mac()
{
	reset
	mac=$(cat /sys/class/net/eth0/address)
	expect_over 0 10.0.0.1
	expect_abort new_mac 52:54:00:00:77:01
	# otherwise TCP needs long to detect the new MAC
	ip neigh flush dev eth0
	expect_over 0 10.0.0.1
	expect "new groups" "$(($(stat_of first_contact) - first))" -ge 1
	[ "$HOST" = 2 ] || new_mac "$mac"
	sync_barrier back || exit 1
	ip neigh flush dev eth0
}

# set_mtu HOST1 HOST2: sets the MTUs, with new RNICs, so that no old group is left
set_mtu()
{
	/usr/sbin/rdma link delete rxe0
	if [ "$HOST" = 1 ]; then
		ip link set eth0 mtu "$1"
	else
		ip link set eth0 mtu "$2"
	fi || fail "the MTU cannot be set"
	add_rxe 0 eth0 || fail "no rxe0"
	wait_for 10 port_active rxe0 || fail "rxe0 stays down"
}

# count_packets: sets $n to the packets that rxe0 sends for 2 MiB each way
count_packets()
{
	expect_over 0 10.0.0.1
	n=$(($(rxe_counter sent_pkts rxe0) - $(cat /run/sent.0)))
}

# The path MTU is the smaller one of both ends: 4096 if both support it, else 1024.
case_mtu()
{
	reset
	old=$(cat /sys/class/net/eth0/mtu)
	set_mtu 9000 9000
	count_packets
	big=$n
	expect "packets at 9000" "$big" -lt 2048
	set_mtu 9000 1500
	count_packets
	expect "packets at 9000 and 1500" "$n" -ge 2048
	set_mtu 1500 9000
	count_packets
	expect "packets at 1500 and 9000" "$n" -ge 2048
	set_mtu "$old" "$old"
	expect_over 0 10.0.0.1
}

less_mtu()
{
	ip link set eth0 mtu 1500
}

# The MTU becomes smaller than the path MTU of a connection: the connection ends at once, not only with
# the next large packet, and a new group has the smaller path MTU. A larger MTU changes nothing.
case_mtu_less()
{
	reset
	old=$(cat /sys/class/net/eth0/mtu)
	set_mtu 9000 9000
	expect_over 0 10.0.0.1
	# the log of group ends is limited to ten in 5 s, and there may have been ten
	sleep 6
	expect_abort less_mtu
	[ "$HOST" = 2 ] || dmesg | tail -n 30 | grep -q "MTU became too small" ||
		fail "no reason in the log: $(dmesg | grep 'smc: ' | tail -n 3)"
	count_packets
	expect "packets at 1500" "$n" -ge 2048
	expect "new groups" "$(($(stat_of first_contact) - first))" -ge 1
	first=$(stat_of first_contact)
	[ "$HOST" = 2 ] || ip link set eth0 mtu 9000
	sleep 1
	expect_over 0 10.0.0.1
	expect "new groups" "$(($(stat_of first_contact) - first))" -eq 0
	set_mtu "$old" "$old"
	expect_over 0 10.0.0.1
}

case_unload()
{
	sync_barrier idle || exit 1
	pnet add NET1 netdev eth0 ibdev rxe0
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
