# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Connections that lose a link of their group and go on over another one (RFC 7609 section
# 4.6). Two RNICs on a host or more (vm.py --links 2), all networks in one subnet. Verified streams
# and ping-pongs run while the link they use is cut at a random moment; each has to end well.
# Proof: every byte is checked by smc_traffic, the failover counters of our module, and what
# the surviving RNIC has sent.
#
#   INTREE    client, server or nothing: who is the in-tree family
#   BRIDGE    number of a host with one RNIC, over a bridge of both networks
#   STREAMS, PINGPONGS  how many of each (default: 4)
#   MIB       of a stream each way (default: 16)
#   WAYS      how links are cut, a case each (default: all below that the bed can)
#   BACKS     how often the RNIC comes back in back_2 and stay_2 (default: 1)
#   STALL_FOR seconds that stalled readers do not read (default: 2)
#   DELAY     ms that a packet takes: in virtual time nothing else takes any
#   NETEM     what every packet goes through in both directions ("loss 0.1%", "delay 1ms reorder 5%")
#   LIMIT     seconds for a case (default: 240)
#   SEED      of the random moments (default: the time)
#   PAGES     y: streams are sent from the pages of files, which are the files' no longer then, and
#             received by pipes, which are lent the RMBEs' pages and always hold some of them
#   TRACE     y: what the trace points say is logged and judged; selftests/bench/failover.py
#   FLAPS     of the way "flaps": how often (default: 4)

: "${FLAPS:=4}" "${STALL_FOR:=2}" "${LIMIT:=240}" "${BACKS:=1}"
: "${STREAMS:=4}" "${PINGPONGS:=4}" "${MIB:=16}" "${PATIENCE:=60000}"
PATIENCE=$((PATIENCE + STALL_FOR * 1000))
[ -z "$DELAY" ] || NETEM="delay ${DELAY}ms"
# of a group: an in-tree host has two
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
	setup_net_same
	if [ "$BRIDGE" = "$HOST" ]; then
		bridge_net || return 1
		modprobe -q crc32_generic
		modprobe rdma_rxe && modprobe ib_uverbs && add_rxe 0 br0 &&
			wait_for 10 port_active rxe0 || return 1
	else
		setup_rxe || return 1
	fi
	load_smc || return 1
	own_pnet
	! ours || sysctl -q -w "net.smc.smcr_max_links_per_lgr=$GROUP" || return 1
	# silence on a link is noticed, by the in-tree family too
	sysctl -q -w net.smc.smcr_testlink_time=2
}

# One RNIC that both RNICs of the other host can reach.
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

# numbers of the RNICs
rnics()
{
	seq 0 $((LINKS - 1))
}

# All RNICs lead to the same network.
own_pnet()
{
	[ "$BRIDGE" != "$HOST" ] || return 0
	for l in $(rnics); do
		/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || fail "no PNET ID for eth$l"
	done
}

# weather DEVICE: what its packets go through when it is well
weather()
{
	tc qdisc del dev "$1" root 2> /dev/null
	# shellcheck disable=SC2086 # a list of words
	[ -z "$NETEM" ] || tc qdisc add dev "$1" root netem $NETEM limit 10000
}

# below N: a random number, from SEED
below()
{
	draws=$((${draws:-0} + 1))
	awk -v s="$((SEED + draws * 7919))" -v n="$1" 'BEGIN { srand(s); print int(rand() * n) }'
}

# --- the traffic of a case ---

# start_client TAG SUBTEST
start_client()
{
	require="--require smc"
	# it makes a second connection when the RNIC on the way may be gone
	case $1 in
	halfclose | part)
		require= ;;
	esac
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

start_traffic()
{
	rm -f /run/client.*
	started=0
	start_client first "stream:$MIB"
	wait_for 60 all_links || {
		cat /run/client.first
		/t/smcctl link
		fail "not $GROUP links: $(/usr/sbin/rdma resource show qp)"
	}
	while [ "$started" -le "$STREAMS" ]; do
		start_client "stream.$started" "stream:$MIB"
	done
	while [ "$started" -le $((STREAMS + PINGPONGS)) ]; do
		start_client "pingpong.$started" "pingpong:$((MIB * 2))"
	done
	# One side sends after the other has finished. It makes a second connection, for which the
	# TCP path has to be there; and an in-tree server repeats nothing of a connection whose peer
	# has ended its direction.
	if [ -n "$NO_PATH" ] || [ "$INTREE" = server ]; then
		start_client stream.last "stream:$MIB"
	else
		start_client halfclose "halfclose:$((MIB * 1024))"
	fi
	start_client idle "idle:15"
	# (an in-tree sender says once that a byte is urgent, and that may be lost with the link)
	if [ -n "$INTREE" ]; then
		start_client pingpong.last "pingpong:$MIB"
	else
		start_client urgent "urgent:$((MIB * 2))"
	fi
}

# connected: all of them, says the module that counts; in-tree handshakes give up soon, and one of
# the connections may be TCP
connected()
{
	all_=$((STREAMS + PINGPONGS + 4))
	[ -z "$INTREE" ] || all_=$((all_ - 1))
	! ours || [ "$(($(grown clnt_smc) + $(grown srv_smc)))" -ge $((${rounds:-1} * all_)) ]
}

# moved_on BYTES: since the case began
moved_on()
{
	[ "$(($(rdma_bytes rx) - bytes0))" -ge "$1" ]
}

# traffic_ends: every client well, all bytes right
traffic_ends()
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

# all_links: there is a group, and each has as many as it can have
all_links()
{
	/t/smcctl link | awk -v n="$GROUP" '
		NR > 1 { links[$1] += $3 == "active" }
		END { for (g in links) { bad += links[g] < n; k++ } exit bad || !k }'
}

# stall STOP|CONT: with STALL, nobody reads on that host: windows close
stall()
{
	[ -n "$STALL" ] || return 0
	if [ "$HOST" != "$STALL" ]; then
		:
	elif [ "$HOST" = 1 ]; then
		kill "-$1" "$server"
	else
		tell_clients "$1"
	fi
	[ "$1" = STOP ] || return 0
	sleep 1
	# the link that is cut is one that connections use
	! ours || { on0=$(conns_over rxe0) all0=$((on0 + $(conns_elsewhere))); }
	if [ "$HOST" = 2 ]; then
		sync_signal live "$(live_clients)"
		live0=$(live_clients)
	else
		live0=$(sync_wait live) || exit 1
	fi
	sync_barrier stalled || exit 1
}

# Each of them has a connection. Some that have ended may have one, too, which the other side has
# not closed: it does not wait for that for ever.
live_clients()
{
	n_=0
	for p_ in /run/client.*.pid; do
		[ ! -d "/proc/$(cat "$p_")" ] || n_=$((n_ + 1))
	done
	echo "$n_"
}

# all_moved: all connections there were have a link that is left
all_moved()
{
	[ "$(conns_elsewhere)" -ge "$live0" ]
}

# The connections go to the other link, and then nothing happens but TEST LINK. None is lost by
# that, however long it takes.
stand_still()
{
	[ -n "$STALL" ] || return 0
	since_=$(uptime_s)
	if ours; then
		expect "connections on the link that is cut" "$on0" -ge 1
		wait_for "$((20 * SLOWNESS))" all_moved || fail "not all have moved: $(/t/smcctl link)"
		# what was not acknowledged is written once more
		[ "$STALL_FOR" -lt 20 ] || sleep 5
		cp /proc/net/smc_stat /run/still
	fi
	# (both sleep, as a look every moment takes long, where hours are short)
	left_=$((STALL_FOR - ($(uptime_s) - since_)))
	[ "$left_" -le 0 ] || sleep "$left_"
	sync_barrier still || exit 1
	diag "host $HOST: stood still for $(($(uptime_s) - since_)) s"
	expect "seconds" "$(($(uptime_s) - since_))" -ge "$((STALL_FOR - 1))"
	! ours || stood_still
	sync_barrier seen || exit 1
}

# What the counters say before anybody reads again.
stood_still()
{
	diag "host $HOST: $all0 connections, $on0 of them moved; since then $(meanwhile tx_write_bytes) bytes" \
		"written, LLC messages: $(meanwhile tx_llc) sent, $(meanwhile rx_llc) received"
	# what is idle may say a word; the streams would have said millions
	[ "$STALL_FOR" -lt 20 ] || expect "bytes written" "$(meanwhile tx_write_bytes)" -le 262144
	expect "LLC messages sent" "$(meanwhile tx_llc)" -ge "$((STALL_FOR / 4))"
	expect "LLC messages received" "$(meanwhile rx_llc)" -ge "$((STALL_FOR / 4))"
	expect "connections" "$(conns_elsewhere)" -ge "$live0"
	expect "links lost" "$(meanwhile link_fail)" -eq 0
	closers=$((all0 - live0))
	expect "connections aborted" "$(grown conn_abort)" -le "$closers"
	[ "$HOST" = 1 ] || expect "clients" "$(live_clients)" -eq "$live0"
	[ "$HOST" = "$STALL" ] || expect "windows closed" "$(grown tx_window_closed)" -ge 1
}

# meanwhile NAME: by how much a counter has grown since the connections have moved
meanwhile()
{
	echo "$(($(stat_of "$1") - $(awk -v n="$1" '$1 == n { print $2 }' /run/still)))"
}

# cut HOST COMMAND...: that host does it in the middle of the traffic
cut()
{
	where=$1
	shift
	! ours || before
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
	wait_for 60 connected || {
		/t/smcctl link
		tail -n 2 /run/client.* 2> /dev/null
		! ours || awk '$2 != 0' /proc/net/smc_stat
		fail "not all are connected"
	}
	wait_for 60 all_links || fail "not $GROUP links: $(/usr/sbin/rdma resource show qp)"
	wait_for 60 moved_on "$(($(below $((STREAMS * MIB / 2))) << 20))" || fail "no traffic"
	trace_on
	cut0=$(uptime_s)
	sync_barrier flowing 100 || exit 1
	stall STOP
	if [ "$HOST" = "$where" ] || [ "$where" = 0 ]; then
		"$@" || fail "the link cannot be cut"
	fi
	stand_still
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
		traffic_ends
		sync_signal through
	fi
	judge
}

# shown KEY: a number of the group
shown()
{
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" /run/groups | sort -n | tail -n 1
}

TRACING=/sys/kernel/tracing

# traced: this host is to look; two that share a kernel see the same
traced()
{
	[ -n "$TRACE" ] && ours && { [ "$TOPOLOGY" != netns ] || [ "$HOST" = 1 ]; }
}

# trace_on, then trace_off: what happens in a case, step by step
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

# trace_in_order: a link fails, is fenced, is left; each connection that writes again has moved
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
		}' /run/trace > /run/trace.judged && diag "trace: $(cat /run/trace.judged)"
}

# What the counters and the trace points say of a case.
judge()
{
	trace_off
	! traced || trace_in_order || fail "trace points: $(cat /run/trace.judged)"
	if ours; then
		diag "host $HOST: $(awk '/^(link_left|conn_move|.*validation.*|tx_again_bytes) /' \
			/proc/net/smc_stat | tr '\n' ' ')"
		expect "links left" "$(grown link_left)" -ge 1
		expect "connections moved" "$(grown conn_move)" -ge 1
		expect "validations sent" "$(grown tx_validation)" -ge 1
		expect "validations that failed" "$(grown validation_bad)" -eq 0
		# those of our kind count them; a link that is lost later may take some along
		[ -n "$INTREE" ] || {
			sync_signal validated "$(grown tx_validation)"
			said_=$(sync_wait validated) || exit 1
			expect "validations received" "$(grown rx_validation)" -ge 1
			expect "validations received" "$(grown rx_validation)" -le "$said_"
		}
		expect "connections aborted" "$(grown conn_abort)" -le "${closers:-0}"
		expect "impossible messages" "$(grown rx_cdc_bad)" -le \
			"$(((STREAMS + PINGPONGS) * (${flaps:+FLAPS} + 1)))"
		expect "groups ended" "$(($(stat_of lgr_term) - terms0))" -eq 0
		[ -z "$PAGES" ] || {
			expect "bytes out of files' pages" "$(grown tx_zc_bytes)" -ge 1048576
			expect "pages lent" "$(grown rx_lend_pages)" -ge 256
		}
		/t/smcctl --json linkgroup > /run/groups
		expect "links lost, as shown" "$(shown links_lost)" -ge 1
		expect "connections moved, as shown" "$(shown moved_connections)" -ge 1
		grep -q '"last_loss": *"[a-zN]' /run/groups || fail "no reason: $(cat /run/groups)"
		# nothing was lost before the cut; both are cut off to whole seconds
		expect "seconds since the last loss" "$(shown last_loss_seconds)" -le \
			"$(($(uptime_s) - cut0 + 1))"
	fi
	# an RNIC that came back counts from zero
	[ ! -e /sys/class/infiniband/rxe1 ] || [ -n "$flaps" ] ||
		expect "packets over rxe1 since" \
			"$(($(rxe_counter sent_pkts rxe1) - ${since1:-$sent1}))" -ge 64
}

# anew: every device as in the beginning, no group left
anew()
{
	sync_barrier "anew.$1" 60 || exit 1
	for l in $(rnics); do
		tc qdisc del dev "eth$l" root 2> /dev/null
		[ "$BRIDGE" != "$HOST" ] || continue
		/usr/sbin/rdma link delete "rxe$l" 2> /dev/null
	done
	# all at once: a group gets a link back as soon as it can
	wait_for 60 no_group || fail "a group stays: $(/usr/sbin/rdma resource show qp)"
	for l in $(rnics); do
		[ "$BRIDGE" != "$HOST" ] || continue
		add_rxe "$l" "eth$l" || fail "no rxe$l"
		wait_for 20 port_active "rxe$l" || fail "rxe$l stays down"
	done
	for l in $(rnics); do
		weather "eth$l" || fail "no netem for eth$l"
	done
	wait_for 60 no_group || fail "a group stays: $(/usr/sbin/rdma resource show qp)"
	sync_barrier "anew2.$1" 90 || exit 1
	: "${SEED:=$(date +%s)}"
	diag "host $HOST: SEED=$SEED"
}

no_group()
{
	[ "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0 ]
}

# --- the ways ---

silence()
{
	tc qdisc replace dev "$1" root netem loss 100%
}

# Host 2 loses the RNIC.
case_removed_2()
{
	anew x
	cut 2 /usr/sbin/rdma link delete rxe0
}

# Host 1 loses it.
case_removed_1()
{
	anew x
	cut 1 /usr/sbin/rdma link delete rxe0
}

# ... while windows are closed: those of the client, those of the server.
case_stalled_2()
{
	anew x
	STALL=2
	cut 1 /usr/sbin/rdma link delete rxe0
}

case_stalled_1()
{
	anew x
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
	anew x
	cut 2 two_in_a_row
	expect "links left" "$(grown link_left)" -ge 2
	expect "packets over rxe2" "$(rxe_counter sent_pkts rxe2)" -ge 256
}

# Nothing gets through in either direction, and nobody says so.
case_silent()
{
	anew x
	NO_PATH=y
	cut 0 silence eth0
	weather eth0
}

# order_del RNIC: the operator wants its link to go
order_del()
{
	/t/smcctl link del "$(group_id)" "$(link_over "$1")"
}

group_id()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"id": *"\(.*\)".*/\1/p' | head -n 1
}

# link_over RNIC: number of the active link
link_over()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { print $2 }'
}

# stays_away: it does not come back, be it that the other end has failed when this one went. (An
# in-tree server offers it again.) A connection that began later may have made a group of its own,
# which has both links: it is about the first one.
stays_away()
{
	ours && [ "$INTREE" != server ] || return 0
	sleep 4
	/t/smcctl link | awk '$3 == "active" { print $1, $7 }' | sort > /run/away
	first_=$(awk 'NR == 1 { print $1 }' /run/away)
	grep -q "^$first_ rxe1\$" /run/away || fail "no link is left: $(cat /run/away)"
	! grep -q "^$first_ rxe0\$" /run/away || fail "the link has come back: $(cat /run/away)"
}

# In order, by the word of the server's operator, then of the client's. Nothing is lost. What is
# still under way may fail when the other end goes first: Documentation/status.rst.
case_ordered_1()
{
	anew x
	cut 1 order_del rxe0
	stays_away
	! ours || expect "links deleted or ended by the peer's deletion" \
		"$(($(grown link_del) + $(grown link_fail)))" -ge 1
}

case_ordered_2()
{
	anew x
	cut 2 order_del rxe0
	stays_away
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

# The RNIC comes back, and with it the link, which new connections use.
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
	anew x
	cut 2 replug
	[ "$HOST" = 1 ] || expect "packets of the RNIC that came" "$(rxe_counter sent_pkts rxe0)" -ge 256
}

# conns_over RNIC: that send over its link
conns_over()
{
	/t/smcctl link | awk -v d="$1" '$3 == "active" && $7 == d { n += $4 } END { print n + 0 }'
}

# conns_elsewhere: over other links than rxe0's
conns_elsewhere()
{
	/t/smcctl link | awk '$3 == "active" && $7 ~ /^rxe[1-9]/ { n += $4 } END { print n + 0 }'
}

# The streams go on over both links again. What still runs ends meanwhile: not by the number.
went_back()
{
	[ "$(grown conn_balance)" -ge "$((balance0 + 2))" ] && [ "$(conns_over rxe0)" -ge 1 ]
}

# tell_clients SIGNAL: those that still run
tell_clients()
{
	for p_ in /run/client.*.pid; do
		kill "-$1" "$(cat "$p_")" 2> /dev/null
	done
}

# The RNIC of this host comes back while the streams stand still, so that none has ended.
back_once()
{
	tell_clients STOP
	/usr/sbin/rdma link delete rxe0 || return 1
	wait_for 20 no_link_over rxe0 || return 1
	left0=$(conns_over rxe1) moves0=$(grown conn_move) balance0=$(grown conn_balance)
	add_rxe 0 eth0 || return 1
	wait_for "$((20 * SLOWNESS))" has_link_over rxe0 || return 1
	came0=$(rxe_counter sent_pkts rxe0)
	tell_clients CONT
	if [ "$BALANCE" = 1 ]; then
		wait_for "$((20 * SLOWNESS))" went_back || { /t/smcctl link; return 1; }
		diag "$left0 over one link, $(($(grown conn_balance) - balance0)) went to the other"
	else
		sleep 3
	fi
}

back()
{
	since1=$(rxe_counter sent_pkts rxe1)
	for _ in $(seq "$BACKS"); do
		back_once || return 1
	done
}

# balance 0|1: a link comes back, and connections follow or not
balance()
{
	anew x
	BALANCE=$1
	MIB=$((MIB * 3))
	sysctl -q -w "net.smc.smcr_balance=$1" || fail "no smcr_balance"
	cut 2 back
	sysctl -q -w net.smc.smcr_balance=0
	diag "host $HOST: $(awk '/^conn_(balance|stay) /' /proc/net/smc_stat | tr '\n' ' ')"
}

case_back_2()
{
	expect "the default" "$(sysctl -n net.smc.smcr_balance)" -eq 0
	! sysctl -q -w net.smc.smcr_balance=2 2> /dev/null || fail "there is no 2"
	balance 1
	expect "connections that went back" "$(grown conn_balance)" -ge 2
	[ "$HOST" = 1 ] || expect "packets of the RNIC that came" \
		"$(($(rxe_counter sent_pkts rxe0) - came0))" -ge 256
}

case_stay_2()
{
	balance 0
	expect "connections that went back" "$(grown conn_balance)" -eq 0
	expect "connections that were to" "$(grown conn_stay)" -eq 0
	[ "$HOST" = 1 ] || expect "moves since the link went" "$(($(grown conn_move) - moves0))" -eq 0
}

# The route of setup_net_same went with the link.
up_again()
{
	ip link set eth0 up
	ip route replace 10.0.0.0/24 dev eth0 src "10.0.0.$HOST" metric 100
}

# --- many times, in many ways ---

# draw N: a random number below that, in $drawn
draw()
{
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	drawn=$((SEED / 65536 % $1))
}

# One transfer at least goes on.
flowing()
{
	for p_ in /run/client.[!i]*.pid; do
		[ ! -d "/proc/$(cat "$p_")" ] || return 0
	done
	return 1
}

left_one()
{
	[ "$(stat_of link_left)" -gt "$left0" ] || ! flowing
}


# A link that is lost again and again is tried after HEAL_MAX at the latest, and a quarter of it.
RETURN=400

# flap: one of the links is cut or disturbed for a while
flap()
{
	wait_for "$RETURN" all_links || return 1
	# for the other host it is, too, some moments later
	sleep 1
	flowing || return 0
	draw "$LINKS"
	l=$drawn
	# every other one is no mere disturbance
	draw "$((flaps % 2 ? 5 : 3))"
	left0=$(stat_of link_left)
	case $drawn in
	0)	how=removed
		/usr/sbin/rdma link delete "rxe$l" || return 1 ;;
	1)	how=down
		ip link set "eth$l" down || return 1 ;;
	2)	how=silent
		silence "eth$l" || return 1 ;;
	3)	how=lossy
		tc qdisc replace dev "eth$l" root netem loss 1% || return 1 ;;
	4)	how=reordered
		tc qdisc replace dev "eth$l" root netem delay 1ms reorder 5% || return 1 ;;
	esac
	# silence that ends before anybody has noticed is one of the ways
	draw 2
	[ "$how$drawn" != silent0 ] || how=hushed
	case $how in
	removed | down | silent)
		wait_for 60 left_one || return 1
		cuts=$((cuts + 1)) ;;
	esac
	draw 1500
	usleep "$((drawn * 1000))"
	mended || return 1
	flaps=$((flaps + 1))
	echo "$(uptime_s) s: $how $l, links left: $(($(stat_of link_left) - left0))"
}

mended()
{
	case $how in
	removed)
		add_rxe "$l" "eth$l" ;;
	down)
		ip link set "eth$l" up
		n_=$l
		[ "$l" != 0 ] || n_=
		ip route replace 10.0.0.0/24 dev "eth$l" src "10.0.0.$n_$HOST" \
			metric $((100 + 100 * l)) ;;
	*)
		weather "eth$l" ;;
	esac
}

# Chance may have had it that nobody had to move.
few_flaps()
{
	[ "$flaps" -lt "$FLAPS" ] || [ "$(grown conn_move)" -lt 1 ]
}

# Transfers begin anew until there were $FLAPS flaps under them.
flaps()
{
	rounds=1
	while :; do
		while few_flaps && flowing; do
			flap || return 1
		done
		few_flaps || break
		traffic_ends
		wait_for "$RETURN" all_links || return 1
		rounds=$((rounds + 1))
		start_traffic
		wait_for 60 connected || return 1
	done
	wait_for "$RETURN" all_links
}

case_flaps()
{
	anew x
	NO_PATH=y
	flaps=0
	cuts=0
	cut 2 flaps
	[ "$HOST" = 2 ] || return 0
	diag "$flaps flaps, $cuts of them to the end, $rounds rounds"
	expect "flaps" "$flaps" -ge "$FLAPS"
}

# writes_since: bytes that our side has written since all have parted
writes_since()
{
	echo "$(($(stat_of tx_write_bytes) - parted0))"
}

# closing HOST: it loses an RNIC while connections of both sides have been closed, or one direction of
# them, with bytes that the other side has no room for: it does not read for a while. Then it reads
# all of them, and the end of the stream.
closing()
{
	anew x
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
		wait_for 60 all_links || fail "not $GROUP links: $(/t/smcctl link)"
		start_client part "part:$((20 * SLOWNESS))"
		wait_for 60 grep -q 'all have parted' /run/client.part ||
			fail "they do not part: $(cat /run/client.part)"
		/t/smcctl link
		sync_signal parted
	fi
	# the server's side has written by then, too
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
		traffic_ends
		sync_signal through
	fi
	diag "host $HOST: $on0 connections over rxe0, $written0 bytes written before the other side read," \
		"$(writes_since) in all"
	# what was on its way may go once more, but nobody had room
	expect "bytes written after the cut" "$(($(writes_since) - written0))" -ge $((3 * 32768))
	expect "connections moved" "$(($(grown conn_move) - moves0))" -ge 1
	expect "validations that failed" "$(grown validation_bad)" -eq 0
	expect "connections aborted" "$(grown conn_abort)" -eq 0
	expect "groups ended" "$(($(stat_of lgr_term) - terms0))" -eq 0
}

case_closing_1()
{
	closing 1
}

case_closing_2()
{
	closing 2
}

case_down_2()
{
	anew x
	NO_PATH=y
	cut 2 ip link set eth0 down
	[ "$HOST" = 1 ] || up_again
}

case_down_1()
{
	anew x
	NO_PATH=y
	cut 1 ip link set eth0 down
	[ "$HOST" = 2 ] || up_again
}

case_unload()
{
	sync_barrier idle || exit 1
	! ours || unload_smc || fail "the module does not go"
	! ours || expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
