# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Failover of connections that lose a link of their group (RFC 7609 section 4.6). Two or more
# RNICs on a host (vm.py --links 2), all networks in one subnet. Verified streams and ping-pongs
# run while the link they use is cut at a random moment; each must end without an error.
# Checked: every byte (smc_traffic), the failover counters of our module, and the packets
# of the remaining RNIC.
#
#   INTREE    client, server or nothing: the side with the in-tree family
#   BRIDGE    number of a host with one RNIC, over a bridge of both networks
#   STREAMS, PINGPONGS  number of each (default: 4)
#   MIB       of a stream each way (default: 16)
#   WAYS      scenarios that cut links, one case each (default: see below)
#   BACKS     how often the RNIC is added again in back_2 and stay_2 (default: 1)
#   STALL_FOR seconds that stalled readers do not read (default: 2)
#   DELAY     latency of a packet in ms: in virtual time nothing else takes time
#   NETEM     netem options for every packet in both directions ("loss 0.1%", "delay 1ms reorder 5%")
#   LIMIT     seconds for a case (default: 240)
#   SEED      of the random moments (default: the time)
#   PAGES     y: streams are sent from page cache pages that are then removed from their files, and
#             received by splice() into pipes, which always hold some pages of the RMBEs
#   TRACE     y: trace points are logged and checked; see selftests/bench/failover.py
#   EARLY     microseconds after the connections stand in which the link is cut, instead of a number
#             of bytes: the send rings of streams grow then
#   HOLD      rate of each link until it is cut (default: 40mbit, without NETEM): a slow host has all
#             connections before the first of them ends
#   FLAPS     number of flaps in the scenario "flaps" (default: 4)

: "${FLAPS:=4}" "${STALL_FOR:=2}" "${LIMIT:=240}" "${BACKS:=1}"
: "${STREAMS:=4}" "${PINGPONGS:=4}" "${MIB:=16}" "${PATIENCE:=60000}"
PATIENCE=$((PATIENCE + STALL_FOR * 1000))
[ -z "$DELAY" ] || NETEM="delay ${DELAY}ms"
[ -n "$NETEM" ] || : "${HOLD:=40mbit}"
# links of a group: at most two with an in-tree host
GROUP=$LINKS
[ -z "$INTREE" ] || GROUP=2
: "${WAYS:=removed_2 silent stalled_2 stalled_1}"
CASES=
for w in $WAYS; do
	CASES="$CASES $w:$((LIMIT + STALL_FOR))"
done
CASES="$CASES unload:60"
export CASES

setup()
{
	case $BED.$TOPOLOGY.$WAYS in
	uml*.two.*down_*)
		put_bridges || return 1 ;;
	esac
	setup_net_same
	if [ "$BRIDGE" = "$HOST" ]; then
		bridge_net || return 1
		modprobe -q crc32_generic
		modprobe rdma_rxe && modprobe ib_uverbs && add_rxe 0 br0 &&
			wait_for 10 port_active rxe0 || return 1
	else
		setup_rxe || return 1
	fi
	load_smc && set_upgrade || return 1
	set_write_imm || return 1
	set_pnet_ids
	! ours || sysctl -q -w "net.smc.smcr_max_links_per_lgr=$GROUP" || return 1
	# so that both families detect a silent link
	sysctl -q -w net.smc.smcr_testlink_time=2
}

# Each ethN becomes a bridge above the former one. When the device of the other instance is down, the
# driver between two instances of User Mode Linux tries to send for ever, and nothing else runs.
put_bridges()
{
	modprobe -q bridge
	for l in $(rnics); do
		ip link set "eth$l" name "wire$l" && ip link add "eth$l" type bridge &&
			ip link set "wire$l" master "eth$l" && ip link set "wire$l" up || return 1
	done
}

# Makes one RNIC that both RNICs of the other host can reach.
bridge_net()
{
	modprobe -q bridge
	ip addr flush dev eth0
	ip addr flush dev eth1
	ip link add br0 type bridge || return 1
	ip link set eth0 master br0 && ip link set eth1 master br0 || return 1
	ip link set br0 up
	ip addr add "10.0.0.$HOST/24" dev br0
	ip route del 10.0.0.0/24 dev eth0 2> /dev/null
	ip route del 10.0.0.0/24 dev eth1 2> /dev/null
	wait_for 40 ping -c 1 -W 1 "10.0.0.$(peer)" > /dev/null
}

# rnics: print the numbers of the RNICs
rnics()
{
	seq 0 $((LINKS - 1))
}

# Gives all RNICs the same PNET ID: they are on the same network.
set_pnet_ids()
{
	[ "$BRIDGE" != "$HOST" ] || return 0
	for l in $(rnics); do
		/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || fail "no PNET ID for eth$l"
	done
}

# set_netem DEVICE: the netem options of the undisturbed network
set_netem()
{
	tc qdisc del dev "$1" root 2> /dev/null
	# shellcheck disable=SC2086 # a list of words
	[ -z "$NETEM" ] || tc qdisc add dev "$1" root netem $NETEM limit 10000
}

# hold_rate: until lift_rate()
hold_rate()
{
	for l in $(rnics); do
		tc qdisc add dev "eth$l" root netem rate "$HOLD" limit 10000 || fail "eth$l has no rate"
	done
}

# lift_rate: packets that wait keep their turn
lift_rate()
{
	for l in $(rnics); do
		tc qdisc change dev "eth$l" root netem rate 100gbit limit 10000 || fail "eth$l keeps its rate"
	done
}

# random_below N: a random number, from SEED
random_below()
{
	draws=$((${draws:-0} + 1))
	awk -v s="$((SEED + draws * 7919))" -v n="$1" 'BEGIN { srand(s); print int(rand() * n) }'
}

# --- the traffic of a case ---

# start_client TAG SUBTEST
start_client()
{
	require="--require smc"
	# these make a second connection at a time when the RNIC may be removed
	case $1 in
	halfclose | part)
		require= ;;
	esac
	# they begin as TCP, and change over
	[ -z "$UPGRADE_BYTES" ] || require=
	# shellcheck disable=SC2086 # options or nothing
	/t/smc_traffic client --connect 10.0.0.1 --family smc $require --wait 20 $SIDE \
		${PAGES:+--pages} \
		--timeout "$PATIENCE" --seed "$((SEED + started))" "$2" > "/run/client.$1" 2>&1 &
	echo $! > "/run/client.$1.pid"
	started=$((started + 1))
	# in-tree handshakes give up soon on a busy machine
	[ -z "$INTREE" ] || usleep 200000
}

SIDE="${INTREE:+--intree $INTREE}"

# show_ends: links, and what else they could use
show_ends()
{
	/t/smcctl link
	/t/smcctl device
	/t/smcctl pnet
	/usr/sbin/rdma link
	/usr/sbin/rdma resource show qp
	dmesg | grep 'smc: ' | tail -n 8
}

fail_links()
{
	show_ends
	fail "not $GROUP links"
}

start_traffic()
{
	rm -f /run/client.*
	started=0
	start_client first "stream:$MIB"
	wait_for 60 all_links || {
		cat /run/client.first
		fail_links
	}
	while [ "$started" -le "$STREAMS" ]; do
		start_client "stream.$started" "stream:$MIB"
	done
	while [ "$started" -le $((STREAMS + PINGPONGS)) ]; do
		start_client "pingpong.$started" "pingpong:$((MIB * 2))"
	done
	# halfclose: one side sends after the other has finished. It makes a second connection, for
	# which the TCP path must work; and an in-tree server retransmits nothing on a connection
	# whose peer has closed its direction.
	if [ -n "$NO_PATH" ] || [ "$INTREE" = server ]; then
		start_client stream.last "stream:$MIB"
	else
		start_client halfclose "halfclose:$((MIB * 1024))"
	fi
	start_client idle "idle:15"
	# (an in-tree sender announces an urgent byte once, and this may be lost with the link)
	if [ -n "$INTREE" ]; then
		start_client pingpong.last "pingpong:$MIB"
	else
		start_client urgent "urgent:$((MIB * 2))"
	fi
}

# changed_over: connections that began as TCP, and have; an older version does not count them
changed_over()
{
	if [ -n "$UPGRADE_BYTES" ]; then
		grown upgraded
	else
		echo 0
	fi
}

# all_connected: as our module counts, and no handshake is under way: halfclose has a second connection,
# which may be counted in place of one whose TCP path is about to be cut. In-tree handshakes time out
# soon, so with an in-tree host one of the connections may use TCP.
all_connected()
{
	ours || return 0
	all_=$((${rounds:-1} * (STREAMS + PINGPONGS + 4)))
	smc_=$(($(grown clnt_smc) + $(grown srv_smc) + $(changed_over)))
	tcp_=0
	[ -z "$INTREE" ] || tcp_=$(($(grown clnt_fback) + $(grown srv_fback)))
	[ "$tcp_" -le "${rounds:-1}" ] && [ "$((smc_ + tcp_))" -ge "$all_" ] &&
		[ "$(tcp_conns)" -le "$(($(smc_conns) + tcp_))" ]
}

# tcp_conns: TCP connections of the traffic that are established, with or without a handshake that has ended
tcp_conns()
{
	awk '$4 == "01" && ($2 ~ /:114E$/ || $3 ~ /:114E$/)' /proc/net/tcp | wc -l
}

# smc_conns: those over SMC-R that this host has a socket of
smc_conns()
{
	/t/smcctl -j sock | grep -c '"mode": *"SMCR"'
}

# received BYTES: so many since the case began
received()
{
	[ "$(($(rdma_bytes rx) - bytes0))" -ge "$1" ]
}

# await_clients: waits until every client has ended; each must have succeeded
await_clients()
{
	for p_ in /run/client.*.pid; do
		tag_=${p_%.pid}
		wait "$(cat "$p_")" || {
			cat "$tag_"
			/t/smcctl linkgroup
			dmesg | grep 'smc: ' | tail -n 8
			fail "${tag_#/run/client.}: $(grep '^# ' "$tag_" | tail -n 1)"
		}
	done
}

# all_links: there is a group, and each group has the maximum of links
all_links()
{
	/t/smcctl link | awk -v n="$GROUP" '
		NR > 1 { links[$1] += $3 == "active" }
		END { for (g in links) { bad += links[g] < n; k++ } exit bad || !k }'
}

# stall STOP|CONT: stops the programs on host $STALL, so that windows close, or continues them
stall()
{
	[ -n "$STALL" ] || return 0
	if [ "$HOST" != "$STALL" ]; then
		:
	elif [ "$HOST" = 1 ]; then
		kill "-$1" "$server"
	else
		signal_clients "$1"
	fi
	[ "$1" = STOP ] || return 0
	sleep 1
	# connections must use the link that will be cut
	! ours || { on0=$(conns_over rxe0) all0=$((on0 + $(conns_elsewhere))); }
	if [ "$HOST" = 2 ]; then
		sync_signal live "$(live_clients)"
		live0=$(live_clients)
	else
		live0=$(sync_wait live) || exit 1
	fi
	sync_barrier stalled || exit 1
}

# live_clients: number of clients that run. Each has a connection. Ended clients may also have a
# connection, if the peer has not closed it; the module ends such a connection after a while.
live_clients()
{
	n_=0
	for p_ in /run/client.*.pid; do
		[ ! -d "/proc/$(cat "$p_")" ] || n_=$((n_ + 1))
	done
	echo "$n_"
}

# all_moved: all connections have moved to a remaining link
all_moved()
{
	[ "$(conns_elsewhere)" -ge "$live0" ]
}

# The connections move to the other link, and then only TEST LINK is exchanged. No connection may
# be lost, however long the readers are stopped.
wait_stalled()
{
	[ -n "$STALL" ] || return 0
	since_=$(uptime_s)
	if ours; then
		expect "connections on the link that is cut" "$on0" -ge 1
		wait_for "$((20 * SLOWNESS))" all_moved || fail "not all have moved: $(/t/smcctl link)"
		# unacknowledged data is retransmitted first
		[ "$STALL_FOR" -lt 20 ] || sleep 5
		cp /proc/net/smc_stat /run/still
	fi
	# (both sleep instead of polling: polling is slow in virtual time)
	left_=$((STALL_FOR - ($(uptime_s) - since_)))
	[ "$left_" -le 0 ] || sleep "$left_"
	sync_barrier still || exit 1
	diag "host $HOST: stalled for $(($(uptime_s) - since_)) s"
	expect "seconds" "$(($(uptime_s) - since_))" -ge "$((STALL_FOR - 1))"
	! ours || check_stalled
	sync_barrier seen || exit 1
}

# Checks the counters before the readers continue.
check_stalled()
{
	diag "host $HOST: $all0 connections, $on0 of them moved; since then" \
		"$(grown_since_move tx_write_bytes) bytes" \
		"written, LLC messages: $(grown_since_move tx_llc) sent, $(grown_since_move rx_llc) received"
	# idle connections may send little; the streams would send millions
	[ "$STALL_FOR" -lt 20 ] || expect "bytes written" "$(grown_since_move tx_write_bytes)" -le 262144
	expect "LLC messages sent" "$(grown_since_move tx_llc)" -ge "$((STALL_FOR / 4))"
	expect "LLC messages received" "$(grown_since_move rx_llc)" -ge "$((STALL_FOR / 4))"
	expect "connections" "$(conns_elsewhere)" -ge "$live0"
	expect "links lost" "$(grown_since_move link_fail)" -eq 0
	closers=$((all0 - live0))
	expect "connections aborted" "$(grown conn_abort)" -le "$closers"
	[ "$HOST" = 1 ] || expect "clients" "$(live_clients)" -eq "$live0"
	[ "$HOST" = "$STALL" ] || expect "windows closed" "$(grown tx_window_closed)" -ge 1
}

# grown_since_move NAME: increase of a counter since the connections have moved
grown_since_move()
{
	echo "$(($(stat_of "$1") - $(awk -v n="$1" '$1 == n { print $2 }' /run/still)))"
}

# cut HOST COMMAND...: host HOST (0: both) runs the command in the middle of the traffic
cut()
{
	where=$1
	shift
	! ours || before
	[ -z "$HOLD" ] || hold_rate
	bytes0=$(rdma_bytes rx)
	terms0=$(! ours || stat_of lgr_term)
	if [ "$HOST" = 1 ]; then
		# shellcheck disable=SC2086
		/t/smc_traffic server --family smc --timeout "$PATIENCE" $SIDE \
			> /run/server 2>&1 &
		server=$!
		await_server
		sync_signal ready
	else
		sync_wait ready > /dev/null || exit 1
		start_traffic
	fi
	wait_for 60 all_connected || {
		show_ends
		tail -n 2 /run/client.* 2> /dev/null
		! ours || awk '$2 != 0' /proc/net/smc_stat
		fail "not all are connected"
	}
	wait_for 60 all_links || fail_links
	if [ -n "$EARLY" ]; then
		usleep "$(random_below "$EARLY")"
		! ours || expect "connections on the link that is cut" "$(conns_over rxe0)" -ge 1
	else
		wait_for "$((60 * SLOWNESS))" received \
			"$(($(random_below $((STREAMS * MIB / 2))) << 20))" || fail "no traffic"
	fi
	trace_on
	cut0=$(uptime_s)
	sync_barrier flowing 100 || exit 1
	stall STOP
	[ -z "$HOLD" ] || lift_rate
	if [ "$HOST" = "$where" ] || [ "$where" = 0 ]; then
		"$@" || fail "the link cannot be cut"
	fi
	wait_stalled
	stall CONT
	[ ! -e /sys/class/infiniband/rxe1 ] || sent1=$(rxe_counter sent_pkts rxe1)
	if [ "$HOST" = 1 ]; then
		sync_wait through "$((LIMIT + STALL_FOR - 40))" > /dev/null || {
			cat /run/server
			/t/smcctl link
			dmesg | grep 'smc: ' | tail -n 20
			exit 1
		}
		kill "$server"
		wait "$server" 2> /dev/null
	else
		await_clients
		sync_signal through
	fi
	check_results
}

# group_value KEY: a number of the group, as smcctl prints it
group_value()
{
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" /run/groups | sort -n | tail -n 1
}

TRACING=/sys/kernel/tracing

# traced: this host reads the trace; of two hosts with the same kernel only host 1
traced()
{
	[ -n "$TRACE" ] && ours && { [ "$TOPOLOGY" != netns ] || [ "$HOST" = 1 ]; }
}

# trace_on, then trace_off: log the trace points of a case
trace_on()
{
	traced || return 0
	echo mono > "$TRACING/trace_clock"
	echo > "$TRACING/trace"
	for e_ in link_fail fence_begin fence_end conn_move conn_resume; do
		echo 1 > "$TRACING/events/smc/smc_$e_/enable" || fail "no trace points"
	done
}

trace_off()
{
	traced || return 0
	echo 0 > "$TRACING/events/smc/enable"
	sed -n 's/^.* \([0-9]*\.[0-9]*\): smc_/\1 smc_/p' "$TRACING/trace" > /run/trace
	sed '1i TRACE case
		s/^/TRACE /' /run/trace
}

# trace_in_order: a link fails, is fenced, and its connections move; each connection that writes
# again has moved
trace_in_order()
{
	awk '
		function value(name, at) {
			for (at = 3; at <= NF; at++)
				if (index($at, name "=") == 1)
					return substr($at, length(name) + 2)
		}
		function wrong(what) { print what ": " $0; bad = 1 }
		{ link = value("link"); token = value("token"); seen[$2]++ }
		$2 == "smc_link_fail:" && failed[link]++ { wrong("twice") }
		$2 == "smc_fence_begin:" { begun[link] = 1 }
		$2 == "smc_fence_end:" && !begun[link] { wrong("not begun") }
		$2 == "smc_fence_end:" { fenced[link] = 1 }
		$2 == "smc_conn_move:" { to[token] = value("to"); from = value("from") }
		$2 == "smc_conn_move:" && failed[from] && !fenced[from] { wrong("not fenced") }
		$2 == "smc_conn_move:" && failed[from] { left++ }
		$2 == "smc_conn_resume:" && to[token] != link { wrong("not moved") }
		$2 == "smc_conn_resume:" && !value("bytes") { wrong("nothing written") }
		END {
			print seen["smc_link_fail:"] + 0, "failures,", left + 0, "moves from there,",
				seen["smc_conn_resume:"] + 0, "first writes"
			exit bad || !seen["smc_conn_resume:"] || !seen["smc_conn_move:"] ||
				!seen["smc_fence_end:"] || (seen["smc_link_fail:"] && !left)
		}' /run/trace > /run/trace.checked && diag "trace: $(cat /run/trace.checked)"
}

# Checks the counters and the trace points of a case.
check_results()
{
	trace_off
	! traced || trace_in_order || fail "trace points: $(cat /run/trace.checked)"
	if ours; then
		diag "host $HOST: $(awk '/^(link_left|conn_move|.*validation.*|tx_again_bytes) /' \
			/proc/net/smc_stat | tr '\n' ' ')"
		expect "links left" "$(grown link_left)" -ge 1
		expect "connections moved" "$(grown conn_move)" -ge 1
		expect "validations sent" "$(grown tx_validation)" -ge 1
		expect "validations that failed" "$(grown validation_bad)" -eq 0
		# An impossible message aborts its connection. But those for a connection that has ended
		# here are counted, too: a peer that has lost our last message with a link moves its
		# end to another one, says so, and repeats its own last message.
		stray_=$(((STREAMS + PINGPONGS) * ${flaps:-0}))
		# our module counts received ones; some may be lost with a link that fails later, others
		# find no connection
		[ -n "$INTREE" ] || {
			sync_signal validated "$(grown tx_validation)"
			sent_=$(sync_wait validated) || exit 1
			expect "validations received" "$(grown rx_validation)" -ge 1
			expect "validations received" "$(grown rx_validation)" -le "$sent_"
			stray_=$((2 * (sent_ - $(grown rx_validation))))
		}
		expect "connections aborted" "$(grown conn_abort)" -le "${closers:-0}"
		expect "messages without a connection" "$(grown rx_cdc_bad)" -le "$stray_"
		expect "groups ended" "$(($(stat_of lgr_term) - terms0))" -eq 0
		expect_imms grown
		[ -z "$PAGES" ] || {
			expect "bytes out of files' pages" "$(grown tx_zc_bytes)" -ge 1048576
			expect "pages lent" "$(grown rx_lend_pages)" -ge 256
		}
		/t/smcctl --json linkgroup > /run/groups
		expect "links lost, as shown" "$(group_value links_lost)" -ge 1
		expect "connections moved, as shown" "$(group_value moved_connections)" -ge 1
		grep -q '"last_loss": *"[A-Za-z]' /run/groups || fail "no reason: $(cat /run/groups)"
		# nothing was lost before the cut; both times are rounded down to seconds
		expect "seconds since the last loss" "$(group_value last_loss_seconds)" -le \
			"$(($(uptime_s) - cut0 + 1))"
	fi
	# the counters of an RNIC that was added again begin at zero
	[ ! -e /sys/class/infiniband/rxe1 ] || [ -n "$flaps" ] ||
		expect "packets over rxe1 since" \
			"$(($(rxe_counter sent_pkts rxe1) - ${since1:-$sent1}))" -ge 64
}

# reset_hosts NAME: makes every device again, and waits until no group is left
reset_hosts()
{
	sync_barrier "reset.$1" 60 || exit 1
	for l in $(rnics); do
		tc qdisc del dev "eth$l" root 2> /dev/null
		[ "$BRIDGE" != "$HOST" ] || continue
		/usr/sbin/rdma link delete "rxe$l" 2> /dev/null
	done
	# all RNICs first: a group re-adds a link as soon as it can
	wait_for 60 no_group || fail "a group stays: $(/usr/sbin/rdma resource show qp)"
	for l in $(rnics); do
		[ "$BRIDGE" != "$HOST" ] || continue
		# a failed case may have left it down
		link_same_up "$l"
		add_rxe "$l" "eth$l" || fail "no rxe$l"
		wait_for 20 port_active "rxe$l" || fail "rxe$l stays down"
	done
	for l in $(rnics); do
		set_netem "eth$l" || fail "no netem for eth$l"
	done
	wait_for 60 no_group || fail "a group stays: $(/usr/sbin/rdma resource show qp)"
	sync_barrier "reset2.$1" 90 || exit 1
	: "${SEED:=$(date +%s)}"
	diag "host $HOST: SEED=$SEED"
}

no_group()
{
	[ "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0 ]
}

# --- the scenarios ---

# silence DEVICE: drops all its packets
silence()
{
	tc qdisc replace dev "$1" root netem loss 100%
}

# Host 2 loses an RNIC.
case_removed_2()
{
	reset_hosts x
	cut 2 /usr/sbin/rdma link delete rxe0
}

# Host 1 loses an RNIC.
case_removed_1()
{
	reset_hosts x
	cut 1 /usr/sbin/rdma link delete rxe0
}

# An RNIC is lost while windows are closed: those of the client, those of the server.
case_stalled_2()
{
	reset_hosts x
	STALL=2
	cut 1 /usr/sbin/rdma link delete rxe0
}

case_stalled_1()
{
	reset_hosts x
	STALL=1
	cut 2 /usr/sbin/rdma link delete rxe0
}

# Two links in a row, of three: connections that have just moved move again.
two_in_a_row()
{
	/usr/sbin/rdma link delete rxe0 || return 1
	wait_for 20 no_link_over rxe0 || return 1
	/usr/sbin/rdma link delete rxe1
}

case_removed_two()
{
	reset_hosts x
	cut 2 two_in_a_row
	expect "links left" "$(grown link_left)" -ge 2
	expect "packets over rxe2" "$(rxe_counter sent_pkts rxe2)" -ge 256
}

# All packets are dropped in both directions, without any error.
case_silent()
{
	reset_hosts x
	NO_PATH=y
	cut 0 silence eth0
	set_netem eth0
}

# delete_link_over RNIC: the operator deletes its link
delete_link_over()
{
	/t/smcctl link del "$(group_id)" "$(link_over "$1")"
}

# group_id: of the first group
group_id()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"id": *"\(.*\)".*/\1/p' | head -n 1
}

# link_over RNIC: number of the active link
link_over()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { print $2 }'
}

# check_link_stays_removed: the deleted link is not added again, even if the peer's end failed when
# our end was deleted. (An in-tree server offers it again.) A later connection may have created a
# second group with both links: only the first group is checked.
check_link_stays_removed()
{
	ours && [ "$INTREE" != server ] || return 0
	sleep 4
	/t/smcctl link | awk '$3 == "active" { print $1, $7 }' | sort > /run/links
	first_=$(awk 'NR == 1 { print $1 }' /run/links)
	grep -q "^$first_ rxe1\$" /run/links || fail "no link is left: $(cat /run/links)"
	! grep -q "^$first_ rxe0\$" /run/links || fail "the link was added again: $(cat /run/links)"
}

# The operator of the server, then of the client, deletes a link. Nothing is lost. Requests in
# flight may fail if the other end is removed first: Documentation/status.rst.
case_ordered_1()
{
	reset_hosts x
	cut 1 delete_link_over rxe0
	check_link_stays_removed
	! ours || expect "links deleted or ended by the peer's deletion" \
		"$(($(grown link_del) + $(grown link_fail)))" -ge 1
}

case_ordered_2()
{
	reset_hosts x
	cut 2 delete_link_over rxe0
	check_link_stays_removed
	! ours || expect "links deleted or ended by the peer's deletion" \
		"$(($(grown link_del) + $(grown link_fail)))" -ge 1
}

has_link_over()
{
	[ -n "$(link_over "$1")" ]
}

no_link_over()
{
	! has_link_over "$1"
}

# The RNIC is added again, and with it the link, which new connections use.
replug()
{
	/usr/sbin/rdma link delete rxe0 || return 1
	wait_for 20 no_link_over rxe0 || return 1
	add_rxe 0 eth0 || return 1
	wait_for "$((20 * SLOWNESS))" has_link_over rxe0 || return 1
	for late in 1 2; do
		start_client "late.$late" stream:4
	done
}

case_replugged()
{
	reset_hosts x
	cut 2 replug
	[ "$HOST" = 1 ] || expect "packets of the new RNIC" "$(rxe_counter sent_pkts rxe0)" -ge 256
}

# conns_over RNIC: number of connections over its link
conns_over()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { n += $4 } END { print n + 0 }'
}

# conns_elsewhere: number of connections over other links than rxe0's
conns_elsewhere()
{
	/t/smcctl link | awk '$3 == "active" && $7 ~ /^rxe[1-9]/ { n += $4 } END { print n + 0 }'
}

# Connections were moved, and some use rxe0 again. Not by their exact number: some connections end in between.
conns_balanced()
{
	[ "$(grown conn_balance)" -ge "$((balance0 + 2))" ] && [ "$(conns_over rxe0)" -ge 1 ]
}

# signal_clients SIGNAL: to all clients that still run
signal_clients()
{
	for p_ in /run/client.*.pid; do
		kill "-$1" "$(cat "$p_")" 2> /dev/null
	done
}

# Adds the RNIC of this host again while the streams are stopped, so that none has ended.
replace_rnic_once()
{
	signal_clients STOP
	/usr/sbin/rdma link delete rxe0 || return 1
	wait_for 20 no_link_over rxe0 || return 1
	left0=$(conns_over rxe1) moves0=$(grown conn_move) balance0=$(grown conn_balance)
	add_rxe 0 eth0 || return 1
	wait_for "$((20 * SLOWNESS))" has_link_over rxe0 || return 1
	came0=$(rxe_counter sent_pkts rxe0)
	signal_clients CONT
	if [ "$BALANCE" = 1 ]; then
		wait_for "$((20 * SLOWNESS))" conns_balanced || { /t/smcctl link; return 1; }
		diag "$left0 over one link, $(($(grown conn_balance) - balance0)) moved to the other"
	else
		sleep 3
	fi
}

replace_rnic()
{
	since1=$(rxe_counter sent_pkts rxe1)
	for _ in $(seq "$BACKS"); do
		replace_rnic_once || return 1
	done
}

# cut_and_balance 0|1: a link is added again, and connections are moved to it or not
cut_and_balance()
{
	reset_hosts x
	BALANCE=$1
	MIB=$((MIB * 3))
	sysctl -q -w "net.smc.smcr_balance=$1" || fail "no smcr_balance"
	cut 2 replace_rnic
	sysctl -q -w net.smc.smcr_balance=0
	diag "host $HOST: $(awk '/^conn_(balance|stay) /' /proc/net/smc_stat | tr '\n' ' ')"
}

case_back_2()
{
	expect "the default" "$(sysctl -n net.smc.smcr_balance)" -eq 0
	! sysctl -q -w net.smc.smcr_balance=2 2> /dev/null || fail "smcr_balance accepts 2"
	cut_and_balance 1
	expect "connections moved back" "$(grown conn_balance)" -ge 2
	[ "$HOST" = 1 ] || expect "packets of the new RNIC" \
		"$(($(rxe_counter sent_pkts rxe0) - came0))" -ge 256
}

case_stay_2()
{
	cut_and_balance 0
	expect "connections moved back" "$(grown conn_balance)" -eq 0
	expect "connections that did not move" "$(grown conn_stay)" -eq 0
	[ "$HOST" = 1 ] || expect "moves since the link was lost" "$(($(grown conn_move) - moves0))" -eq 0
}

# --- many random failures ---

# draw N: sets $drawn to a random number below N
draw()
{
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	drawn=$((SEED / 65536 % $1))
}

# At least one transfer is not finished.
transfers_run()
{
	for p_ in /run/client.[!i]*.pid; do
		[ ! -d "/proc/$(cat "$p_")" ] || return 0
	done
	return 1
}

# flap_mark: a number that the flap $how of link $l makes grow: links that connections had to leave,
# packets that were lost, or NAKs for packets that came out of order
flap_mark()
{
	case $how in
	removed | down | silent)
		stat_of link_left ;;
	hushed | lossy)
		tc -s qdisc show dev "eth$l" | awk '/^ Sent/ { sub(",", "", $7); print $7; exit }' ;;
	reordered)
		rxe_counter rcvd_seq_err "rxe$l" ;;
	esac
}

flap_felt()
{
	[ "$(flap_mark)" -gt "$mark0" ]
}

felt_or_over()
{
	flap_felt || ! transfers_run
}

# s: a link that is lost repeatedly is re-added after at most 300 s (llc/recovery.c), plus a quarter
RETURN=400

# flap: one of the links is cut or disturbed for a while
flap()
{
	wait_for "$RETURN" all_links || return 1
	# the other host has all links some moments later
	sleep 1
	transfers_run || return 0
	draw "$LINKS"
	l=$drawn
	# in every other flap the link fails: no mere disturbance
	draw "$((flaps % 2 ? 5 : 3))"
	# "hushed": the silence ends before a host detects it
	case $drawn in
	0) how=removed ;;
	1) how=down ;;
	2) draw 2; how=$([ "$drawn" = 0 ] && echo hushed || echo silent) ;;
	3) how=lossy ;;
	4) how=reordered ;;
	esac
	mark0=$(flap_mark)
	case $how in
	removed)
		/usr/sbin/rdma link delete "rxe$l" ;;
	down)
		ip link set "eth$l" down ;;
	silent | hushed)
		silence "eth$l" ;;
	lossy)
		tc qdisc replace dev "eth$l" root netem loss 1% ;;
	reordered)
		tc qdisc replace dev "eth$l" root netem delay 1ms reorder 5% ;;
	esac || return 1
	wait_for 60 felt_or_over || return 1
	draw 1500
	usleep "$((drawn * 1000))"
	# transfers that ended before they met it do not count
	if flap_felt; then
		flaps=$((flaps + 1))
		case $how in removed | down | silent) cuts=$((cuts + 1)) ;; esac
	fi
	echo "$(uptime_s) s: $how $l, $mark0 became $(flap_mark)"
	undo_flap || return 1
}

undo_flap()
{
	case $how in
	removed)
		add_rxe "$l" "eth$l" ;;
	down)
		link_same_up "$l" ;;
	*)
		set_netem "eth$l" ;;
	esac
}

# Too few flaps, or by chance no connection had to move.
few_flaps()
{
	[ "$flaps" -lt "$FLAPS" ] || [ "$(grown conn_move)" -lt 1 ]
}

# Starts transfers again until there were $FLAPS flaps during transfers.
run_flaps()
{
	rounds=1
	while :; do
		while few_flaps && transfers_run; do
			flap || return 1
		done
		few_flaps || break
		await_clients
		wait_for "$RETURN" all_links || return 1
		rounds=$((rounds + 1))
		start_traffic
		wait_for 60 all_connected || return 1
	done
	wait_for "$RETURN" all_links
}

case_flaps()
{
	reset_hosts x
	NO_PATH=y
	flaps=0
	cuts=0
	cut 2 run_flaps
	[ "$HOST" = 2 ] || return 0
	diag "$flaps flaps, in $cuts of them the link failed, $rounds rounds"
	expect "flaps" "$flaps" -ge "$FLAPS"
	# all but those that came before the client knew that the server can
	[ -z "$UPGRADE_BYTES" ] || expect "changed over" "$(changed_over)" -ge "$STREAMS"
}

# writes_since: bytes that this host has written since all connections were closed
writes_since()
{
	echo "$(($(stat_of tx_write_bytes) - parted0))"
}

# cut_closing HOST: host HOST loses an RNIC after both sides have closed connections, or one
# direction of them, with more unsent bytes than the peer's window: the peer does not read for a
# while. Then the peer must read all bytes and the end of the stream.
cut_closing()
{
	reset_hosts x
	before
	terms0=$(stat_of lgr_term)
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal ready
		sync_wait parted > /dev/null || exit 1
	else
		sync_wait ready > /dev/null || exit 1
		rm -f /run/client.*
		started=0
		start_client idle "idle:$((20 * SLOWNESS))"
		wait_for 60 all_links || fail_links
		# less than the 60 s that a closed connection has for what it holds
		start_client part "part:$((15 + 5 * SLOWNESS))"
		wait_for 60 grep -q 'all have parted' /run/client.part ||
			fail "not all are closed: $(cat /run/client.part)"
		/t/smcctl link
		sync_signal parted
	fi
	# the server has written as well after that time
	sleep 2
	expect "connections by RDMA" "$(($(grown clnt_smc) + $(grown srv_smc)))" -ge 7
	parted0=$(stat_of tx_write_bytes)
	moves0=$(grown conn_move)
	on0=$(conns_over rxe0)
	sync_barrier closing || exit 1
	expect "connections on the link that is cut" "$on0" -ge 2
	[ "$HOST" != "$1" ] || /usr/sbin/rdma link delete rxe0 || fail "no rxe0"
	wait_for "$((20 * SLOWNESS))" no_link_over rxe0 || fail "the link stays: $(/t/smcctl link)"
	sync_barrier cut || exit 1
	written0=$(writes_since)
	if [ "$HOST" = 1 ]; then
		sync_wait through "$((LIMIT - 40))" > /dev/null || { cat /run/server; exit 1; }
		kill "$server"
		wait "$server" 2> /dev/null
	else
		await_clients
		sync_signal through
	fi
	diag "host $HOST: $on0 connections over rxe0, $written0 bytes written before the other side read," \
		"$(writes_since) in all"
	# data in flight may be retransmitted, but there was no window for more
	expect "bytes written after the cut" "$(($(writes_since) - written0))" -ge $((3 * 32768))
	expect "connections moved" "$(($(grown conn_move) - moves0))" -ge 1
	expect "validations that failed" "$(grown validation_bad)" -eq 0
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$(($(stat_of lgr_term) - terms0))" -eq 0
	expect_imms grown
}

case_closing_1()
{
	cut_closing 1
}

case_closing_2()
{
	cut_closing 2
}

case_down_2()
{
	reset_hosts x
	NO_PATH=y
	cut 2 ip link set eth0 down
	[ "$HOST" = 1 ] || link_same_up 0
}

case_down_1()
{
	reset_hosts x
	NO_PATH=y
	cut 1 ip link set eth0 down
	[ "$HOST" = 2 ] || link_same_up 0
}

case_unload()
{
	sync_barrier idle || exit 1
	! ours || unload_smc || fail "the module cannot be unloaded"
	! ours || expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
