# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Groups of more than two links. Host 1 has nine RNICs, host 2 eight, all on one switch (one
# cable, a bridge on each host). Host 2 connects. A group grows to eight symmetric links and
# an asymmetric one, for the RNIC without a counterpart, and loses all but one while verified
# streams run. Checked: the links by netlink on both hosts, the counters of our module, the
# packets of each RNIC, and every byte (smc_traffic).
#
#   LINKS_OF  names of cases, all by default
#   MIB       of each stream (default: 48)

: "${MIB:=48}" "${PATIENCE:=60000}"
groups=0
all="grows:120 v1:120 fewer:120 chance:200 pairs:300 cut:400 unload:60"
CASES=${LINKS_OF:-$all}
export CASES

if [ "$HOST" = 1 ]; then
	rnics="0 1 2 3 4 5 6 7 8"
else
	rnics="0 1 2 3 4 5 6 7"
fi

setup()
{
	# shellcheck disable=SC3043 # busybox has it
	local l_
	sysctl -q -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 \
		net.ipv4.conf.all.rp_filter=2
	modprobe -q bridge
	modprobe -q crc32_generic
	modprobe rdma_rxe && modprobe ib_uverbs || return 1
	ip link set lo up
	ip link add switch type bridge && ip link set eth0 master switch || return 1
	ip link set eth0 up
	ip link set switch up
	for l_ in $rnics; do
		ip link add "nic$l_" type veth peer name "port$l_" || return 1
		ip link set "port$l_" master switch up
		ip addr add "10.0.0.$((10 * l_ + HOST))/24" dev "nic$l_" noprefixroute
		ip link set "nic$l_" up
		ip route add 10.0.0.0/24 dev "nic$l_" src "10.0.0.$((10 * l_ + HOST))" \
			metric $((100 + l_))
	done
	in_turn add_rnics || return 1
	wait_for 40 ping -c 1 -W 1 "10.0.0.$(peer)" > /dev/null || return 1
	load_smc || return 1
	sysctl -q -w net.smc.smcr_max_links_per_lgr=8 net.smc.smcr_idle_time_client=1 \
		net.smc.smcr_idle_time_server=1
	for l_ in $rnics; do
		/t/smcctl pnet add NET1 netdev "nic$l_" ibdev "rxe$l_" || return 1
	done
}

# add_rnics: adds the missing RNICs
add_rnics()
{
	# shellcheck disable=SC3043 # busybox has it
	local l_
	for l_ in $rnics; do
		[ -e "/sys/class/infiniband/rxe$l_" ] || {
			add_rxe "$l_" "nic$l_" && wait_for 10 port_active "rxe$l_"
		} || return 1
	done
}

# in_turn COMMAND...: host 1 first: a lookup of a device by its name may fail while the other
# host changes the kernel's list
in_turn()
{
	turns=$((${turns:-0} + 1))
	[ "$HOST" = 1 ] || sync_wait "turn$turns" 60 > /dev/null || return 1
	"$@" || return 1
	[ "$HOST" = 2 ] || sync_signal "turn$turns"
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

group_type()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"type": *"\(.*\)".*/\1/p' | sort -u | tr '\n' ' '
}

# links_are N [TYPE]
links_are()
{
	[ "$(count_links)" = "$1" ] && { [ -z "$2" ] || [ "$(group_type)" = "$2 " ]; }
}

at_most()
{
	[ "$(count_links)" -le "$1" ]
}

# devices_of_links: RNICs with a link, each once
devices_of_links()
{
	links | sed -n 's/.*"device":"\([^"]*\)".*/\1/p' | sort -u
}

no_groups()
{
	links_are 0 && [ -z "$(group_type)" ]
}

show()
{
	/t/smcctl link
	/t/smcctl linkgroup
	grep -v ' 0$' /proc/net/smc_stat
	dmesg | grep 'smc: ' | tail -n 20
}

expect_links()
{
	wait_for "$((30 * SLOWNESS))" links_are "$1" "$2" || {
		show
		fail "$(count_links) links, $(group_type), expected $1, $2"
	}
}

# eight symmetric links and one asymmetric link, whose type depends on the host
expect_eight_and_one()
{
	if [ "$HOST" = 1 ]; then
		expect_links 9 asymmetric-peer
		expect "RNICs in use" "$(devices_of_links | wc -l)" -eq 9
	else
		expect_links 9 asymmetric-local
		expect "RNICs in use" "$(devices_of_links | wc -l)" -eq 8
	fi
	expect "negotiated links" "$(group_value max_links)" = "${AGREED-8}"
}

# group_value KEY: a number of the group, as smcctl prints it
group_value()
{
	/t/smcctl --json linkgroup | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | sort -n |
		tail -n 1
}

# --- the steps of a case ---

start()
{
	wait_for 20 no_groups || fail "groups are left: $(links)"
	sync_barrier "begin$((groups += 1))" || exit 1
	before
	for r in $rnics; do
		rxe_counter sent_pkts "rxe$r" > "/run/sent.$r" || fail "no rxe$r"
	done
	terms0=$(stat_of lgr_term)
	rm -f /run/client.*
	started=0
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" \
			> /run/server 2>&1 &
		server=$!
		await_server
		sync_signal "up$groups"
	else
		sync_wait "up$groups" > /dev/null || exit 1
	fi
}

# client SUBTEST [REQUIRE]: from host 2, in the background. A connection that begins while its
# link is removed may fall back to TCP.
client()
{
	[ "$HOST" = 2 ] || return 0
	started=$((started + 1))
	# shellcheck disable=SC2086 # options or nothing
	/t/smc_traffic client --connect 10.0.0.1 --family smc ${2---require smc} --wait 10 \
		--timeout "$PATIENCE" --seed "$started" "$1" > "/run/client.$started" 2>&1 &
	echo $! > "/run/client.$started.pid"
}

# Opens an idle connection, which keeps the group.
hold_group()
{
	[ "$HOST" = 2 ] || return 0
	/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
		idle:500 > /run/held 2>&1 &
	held=$!
}

# await_clients: waits until every client has ended; each must have succeeded
await_clients()
{
	[ "$HOST" = 2 ] || return 0
	for p_ in /run/client.*.pid; do
		wait "$(cat "$p_")" || {
			cat "${p_%.pid}"
			show
			fail "${p_%.pid}: $(grep '^# ' "${p_%.pid}" | tail -n 1)"
		}
	done
}

finish()
{
	sync_barrier "finish$groups" 200 || exit 1
	if [ "$HOST" = 2 ]; then
		kill "$held"
		wait "$held" 2> /dev/null
		sync_signal "ends$groups"
	else
		sync_wait "ends$groups" > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
	fi
	:
}

# sent_by N: packets of an RNIC in this case
sent_by()
{
	echo $(($(rxe_counter sent_pkts "rxe$1") - $(cat "/run/sent.$1")))
}

several_rmbs()
{
	[ "$(grown rkey_confirm)" -ge "$1" ]
}

# Traffic of many connections, more than the first RMB has elements: they are spread over
# the links, and later RMBs are announced on each link.
spread()
{
	client parallel:36
	await_clients
	wait_for 10 several_rmbs 1 || fail "no further RMB was announced"
	sync_barrier "spread$groups" 100 || exit 1
	for r in $rnics; do
		echo "packets of rxe$r: $(sent_by "$r")"
		[ "$(sent_by "$r")" -ge 32 ] || fail "rxe$r has sent $(sent_by "$r") packets"
	done
}

expect_unharmed()
{
	diag "host $HOST: $(awk '/^(link_add|link_asym|link_left|conn_move|rkey_confirm|tx_again_bytes) /' \
		/proc/net/smc_stat | tr '\n' ' ')"
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "validations that failed" "$(grown validation_bad)" -eq 0
	expect "malformed LLC messages" "$(grown rx_llc_bad)" -eq 0
	expect "groups ended" "$(($(stat_of lgr_term) - terms0))" -eq 0
}

# --- cases ---

grow()
{
	start
	hold_group
	expect_eight_and_one
	sync_barrier "grown$groups" || exit 1
	expect "links added" "$(grown link_add)" -ge 8
	expect "asymmetric links" "$(grown link_asym)" -ge 1
	spread
	expect_unharmed
	finish
}

case_grows()
{
	grow
}

# Version 1: CONFIRM LINK negotiates the number of links, continuations have the rkeys.
case_v1()
{
	[ "$HOST" = 1 ] || /t/smcctl ueid flush || fail "the EIDs cannot be removed"
	AGREED=
	grow
	unset AGREED
	expect "version 1" "$(($(grown clnt_smc_v1) + $(grown srv_smc_v1)))" -ge 1
	[ "$HOST" = 1 ] || /t/smcctl ueid add SMCV2-DEFAULT-UEID
}

# The smaller maximum of both hosts applies.
case_fewer()
{
	for max in 1 2 3; do
		wait_for 20 no_groups || fail "groups are left: $(links)"
		[ "$HOST" = $((1 + max % 2)) ] || sysctl -q -w "net.smc.smcr_max_links_per_lgr=$max"
		start
		hold_group
		case $max in
		1)	expect_links 1 single ;;
		2)	expect_links 2 symmetric ;;
		3)	expect_links 4 "asymmetric-$([ "$HOST" = 1 ] && echo peer || echo local)" ;;
		esac
		sleep 2
		expect "links after a while" "$(count_links)" -eq $((max == 3 ? 4 : max))
		expect "negotiated links" "$(group_value max_links)" = "$max"
		sysctl -q -w net.smc.smcr_max_links_per_lgr=8
		finish
	done
}

# The port of the second link is chosen at random among equal ports: the network of a fixed choice may
# be down. Five times the same of eight ports is one chance in 4096.
case_chance()
{
	sysctl -q -w net.smc.smcr_max_links_per_lgr=2
	seconds=
	while [ "$(echo "$seconds" | wc -w)" -lt 5 ]; do
		start
		hold_group
		expect_links 2
		seconds="$seconds $(devices_of_links | tr '\n' '+')"
		finish
	done
	sysctl -q -w net.smc.smcr_max_links_per_lgr=8
	diag "host $HOST: $seconds"
	expect "choices" "$(echo "$seconds" | tr ' ' '\n' | grep . | sort -u | wc -l)" -ge 2
}

# start_traffic CASE MIB ROUNDS: a complete group with 4 streams of MIB and one ping-pong of ROUNDS,
# which must not end before the last cut: after each cut bytes must be transferred.
start_traffic()
{
	start
	hold_group
	expect_eight_and_one
	sync_barrier "whole_$1" || exit 1
	while [ "$HOST" = 2 ] && [ "$started" -lt 4 ]; do
		client "stream:$2"
	done
	client "pingpong:$3"
	bytes0=$(stat_of rx_bytes)
	wait_for 60 connected 6 || { show; fail "not all are connected"; }
	wait_for 60 received 1048576 || { show; fail "no traffic"; }
	sync_barrier "flowing_$1" 100 || exit 1
}

# Two links fail at once, three times: data that the peer has sent over both is not lost, and the
# connections of one link do not wait for the other.
case_pairs()
{
	start_traffic pairs $((MIB / 3)) 2000
	for r in 7 5 3; do
		bytes0=$(stat_of rx_bytes)
		if [ "$HOST" = 2 ]; then
			ip link set "nic$r" down
			ip link set "nic$((r - 1))" down
		fi
		# RMBs are added meanwhile
		client "parallel:$((64 - 4 * r))" ""
		wait_for 60 at_most "$r" || { show; fail "links are not removed"; }
		wait_for 30 received 65536 || { show; fail "no bytes are transferred"; }
		sync_barrier "pair$r" 100 || exit 1
	done
	await_clients
	sync_barrier ended2 300 || exit 1
	expect "links left" "$(grown link_left)" -ge 6
	expect "connections moved" "$(grown conn_move)" -ge 2
	expect "late fences" "$(grown fence_late)" -eq 0
	expect_unharmed
	finish
	for r in 7 6 5 4 3 2; do
		[ "$HOST" = 1 ] || ip link set "nic$r" up
	done
	[ "$HOST" = 1 ] || for r in 7 6 5 4 3 2; do
		ip route replace 10.0.0.0/24 dev "nic$r" src "10.0.0.$((10 * r + HOST))" \
			metric $((100 + r))
	done
}

# The group loses link after link, until one is left. Host 2 loses its RNICs one by one; then host 1
# all except the one of the last links.
case_cut()
{
	rmem0=$(sysctl -n net.smc.rmem)
	start_traffic cut "$MIB" 4000
	for r in 7 6 5 4 3 2 1; do
		bytes0=$(stat_of rx_bytes)
		[ "$HOST" = 1 ] || /usr/sbin/rdma link delete "rxe$r" || fail "rxe$r cannot be removed"
		# RMBs are added meanwhile, of a new size
		[ $((r % 3)) != 0 ] || {
			sysctl -q -w net.smc.rmem=$((rmem0 << r / 3))
			client "parallel:$((64 - 4 * r))" ""
		}
		wait_for 60 at_most $((r + 1)) || { show; fail "links are not removed"; }
		wait_for 30 received 65536 || { show; fail "no bytes are transferred"; }
		sync_barrier "cut$r" 100 || exit 1
	done
	if [ "$HOST" = 1 ]; then
		last=$(devices_of_links | head -n 1)
		for r in $rnics; do
			[ "rxe$r" = "$last" ] || /usr/sbin/rdma link delete "rxe$r"
		done
	fi
	expect_links 1 single
	bytes0=$(stat_of rx_bytes)
	wait_for 30 received 65536 || { show; fail "no bytes are transferred over the last link"; }
	sync_barrier last 100 || exit 1
	await_clients
	sync_barrier ended 300 || exit 1
	expect "links left" "$(grown link_left)" -ge 8
	# six connections on six links; at most one was on the last link and did not move
	expect "connections moved" "$(grown conn_move)" -ge 5
	expect "validations sent" "$(grown tx_validation)" -ge 5
	# (the server's listener is older than the change of its RMB size)
	[ "$HOST" = 1 ] || expect "RMBs announced" "$(grown rkey_confirm)" -ge 2
	expect_unharmed
	finish
	sysctl -q -w net.smc.rmem="$rmem0"
	in_turn add_rnics || fail "the RNICs cannot be added again"
}

# connected N: N connections of this case use SMC
connected()
{
	[ "$(($(grown clnt_smc) + $(grown srv_smc)))" -ge "$1" ]
}

received()
{
	[ "$(($(stat_of rx_bytes) - bytes0))" -ge "$1" ]
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
