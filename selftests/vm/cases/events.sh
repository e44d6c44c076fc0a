# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Netlink events, as smcctl monitor prints them: the life of a group between two hosts with two
# RNICs each, fallbacks with the reasons of both sides, and a storm of fallbacks. A listener in the
# initial namespace receives the events of the groups of both hosts, a listener in an unrelated
# namespace receives none. Host 2 connects. Checked against the counters and the other host. Beside
# them the statistics of the connections that have moved.
#
#   EVENTS    the cases (default: all)

WORDS=
CASES="${EVENTS:-life:150 again:150 fallback:60 storm:120 unheard:120} unload:60"
export CASES

RULE=0x03008001
PEER_DECLINED=0x05000000
PEER_NO_SMC=0x03010000
EVENTS_PER_SECOND=64
ENDS_PER_SECOND=256

setup()
{
	setup_net_same && setup_rxe && load_smc || return 1
	ip netns add "elsewhere$HOST" || return 1
	for l in 0 1; do
		/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || return 1
	done
}

# --- listeners: their lines go to /run/NAME.events ---

# listen NAME COMMAND...: starts a monitor with that command as prefix; WORDS follow it
listen()
{
	name_=$1
	shift
	# shellcheck disable=SC2086 # words
	"$@" /t/smcctl -j monitor $WORDS > "/run/$name_.events" 2>&1 &
	listeners="$listeners $!"
	wait_for 10 event_listens "$@" || fail "$name_ does not listen: $(cat "/run/$name_.events")"
}

listen_all()
{
	listeners=
	listen own env
	listen first nsenter -t 1 -n
	listen elsewhere ip netns exec "elsewhere$HOST"
}

# Ends the listeners; none may have ended before.
stop_listening()
{
	for p_ in $listeners; do
		kill "$p_" || fail "a listener has ended: $(tail -n 1 /run/*.events)"
	done
	kill_all "$listeners"
	for f_ in own first elsewhere; do
		diag "host $HOST: $f_ received $(wc -l < "/run/$f_.events") events"
	done
	expect "events in an unrelated namespace" "$(wc -l < /run/elsewhere.events)" -eq 0
}

# values KEY [NAME [EVENT]]: the values of that key in the lines of a listener
values()
{
	grep -- "\"event\":\"${3:-}" "/run/${2:-own}.events" |
		sed -n "s/.*\"$1\":\"*\([^\",}]*\).*/\1/p"
}

# received EVENT [N]: at least N of them (default: 1)
received()
{
	[ "$(values event own "$1" | wc -l)" -ge "${2:-1}" ]
}

on_one_line()
{
	tr '\n' ';'
}

# --- the life of a group ---

two_links_active()
{
	[ "$(/t/smcctl link | grep -c ' active ')" -ge 2 ]
}

two_links()
{
	two_links_active && received 'link up' 2
}

in_use()
{
	[ -n "$(used_rnic)" ] && [ "$(grown rx_bytes)" -ge 1 ] && [ "$(grown tx_bytes)" -ge 1 ]
}

# used_rnic: the RNIC of the connection
used_rnic()
{
	/t/smcctl link | awk '$3 == "active" && $4 > 0 { print $7; exit }'
}

id_of_group()
{
	/t/smcctl -j linkgroup | sed -n 's/.*"id": *"\(0x[^"]*\)".*/\1/p'
}

# groups_of_others COMMAND...: number of groups that smcctl, with that command as prefix, shows in the
# initial namespace, which has none of its own
groups_of_others()
{
	nsenter -t 1 -n "$@" -j linkgroup > /run/seen || fail "no list of groups: $(cat /run/seen)"
	grep -c '"id"' /run/seen
}

# The groups of the hosts are for root there, not for other users.
check_seen()
{
	grep -qs ^nobody: /etc/passwd || echo 'nobody:x:65534:65534::/:/bin/sh' >> /etc/passwd
	expect "groups that root sees" "$(groups_of_others /t/smcctl)" -ge 2
	# start-stop-daemon takes a user that has a name
	expect "groups that a user sees" "$(groups_of_others start-stop-daemon -S -n none_has_this_name \
		-c nobody -a /t/smcctl --)" -eq 0
}

case_life()
{
	sysctl -q -w net.smc.smcr_idle_time_client=1 net.smc.smcr_idle_time_server=1
	before
	listen_all
	WORDS=connections listen conns env
	sync_barrier listening || exit 1
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		traffic=$!
		await_server
		sync_signal ready
	else
		sync_wait ready || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
			--io block idle:15 > /run/client 2>&1 &
		traffic=$!
	fi
	wait_for 60 two_links || fail "no second link: $(values event | on_one_line)"
	wait_for 60 in_use || fail "no traffic"
	group=$(id_of_group)
	check_seen
	sync_barrier on || exit 1
	if [ "$HOST" = 2 ]; then
		rnic=$(used_rnic)
		/t/smcctl link
		/usr/sbin/rdma link delete "$rnic" || fail "no $rnic"
	fi
	moved_since=$(uptime_s)
	wait_for 40 received failover || {
		cat /run/own.events /run/server /run/client
		/t/smcctl link
		grep -v ' 0$' /proc/net/smc_stat
		dmesg | grep 'smc: ' | tail -n 8
		fail "no failover: $(values event | on_one_line)"
	}
	check_move
	if [ "$HOST" = 1 ]; then
		sync_wait through || exit 1
		kill_all "$traffic"
		! grep '^not ok' /run/server || fail "the server complains"
	else
		wait "$traffic" || { cat /run/client; fail "the connection: $?"; }
		sync_signal through
	fi
	wait_for 60 received 'group end' || fail "no end: $(values event | on_one_line)"
	sync_barrier over || exit 1
	sleep 1
	stop_listening
	cat /run/own.events /run/conns.events
	check_life
	check_totals
}

# stats KEY: that statistic of each connection over RDMA
stats()
{
	/t/smcctl -j sock -s | sed -n "s/^ *\"$1\": *\"*\([^\",]*\)\"*,*\$/\1/p"
}

# What the statistics of the connection, which is idle, say of its move
check_move()
{
	expect "moves" "$(stats moves)" -ge 1
	expect "moves, counted" "$(stats moves)" -eq "$(grown conn_move)"
	expect "reason" "$(stats move_reason)" = "$(values why own failover)"
	[ "$HOST" = 1 ] || expect "reason" "$(stats move_reason)" = "device removed"
	expect "age" "$(stats move_age)" -ge 0
	# both clocks show whole seconds
	expect "age" "$(stats move_age)" -le $(($(uptime_s) - moved_since + 1))
}

check_life()
{
	want="group begin;link up;link up;link lost;failover;group end;"
	[ "$(values event | on_one_line)" = "$want" ] || fail "$(values event | on_one_line)"
	expect "groups" "$(values group | sort -u)" = "$group"
	expect "connections over RDMA" "$(grown tx_write_bytes)" -gt 0
	expect "peer" "$(values peer_addr | sort -u)" = "$(peer_addr)"
	expect "links with failover" "$(values event own failover | wc -l)" -eq "$(grown link_left)"
	expect "moved connections" "$(values connections own failover)" -eq "$(grown conn_move)"
	expect "the link" "$(values link own 'link lost')" -eq "$(values link own failover)"
	[ "$(values link own 'link up' | sort -u | wc -l)" = 2 ] || fail "twice the same link"
	for e in 'link lost' failover 'group end'; do
		[ -n "$(values why own "$e")" ] || fail "$e: no reason"
	done
	if [ "$HOST" = 2 ]; then
		expect "the RNIC" "$(values device own 'link lost')" = "$rnic"
		expect "why" "$(values why own 'link lost')" = "device removed"
		expect "role" "$(values role | sort -u)" = client
		expect "moved connections" "$(values connections own failover)" -eq 1
	else
		expect "role" "$(values role | sort -u)" = server
	fi
	# both hosts, distinguished by the namespace and the role
	for r in server client; do
		grep "\"role\":\"$r\"" /run/first.events > /run/whole.events
		[ "$(values event whole | on_one_line)" = "$want" ] ||
			fail "the initial namespace of the $r: $(values event whole | on_one_line)"
	done
	expect "namespaces" "$(values net_cookie first | sort -u | wc -l)" -eq 2
	grep "\"net_cookie\":$(values net_cookie | sort -u)," /run/first.events |
		grep -c "\"group\":\"$group\"" | grep -qx 6 || fail "other events in the initial namespace"
}

# Two connections: with the first one, which has no bytes, the client waits for the server.
check_totals()
{
	expect "ends of connections" "$(values event conns | on_one_line)" = \
		"connection end;connection end;"
	expect "errors" "$(values error conns | sum)" -eq 0
	expect "milliseconds" "$(values msecs conns | tail -n 1)" -ge 15000
	expect "moves" "$(values moves conns | sum)" -eq "$(grown conn_move)"
	expect "role" "$(values role conns | sort -u)" = "$(values role own 'group begin')"
	expect "local address" "$(values local_addr conns | sort -u)" = "$(own_addr)"
	expect "address of the peer" "$(values peer_addr conns | sort -u)" = "$(peer_addr)"
	expect "connections of the group" "$(values connections own 'group end')" -eq 2
	expect "its milliseconds" "$(values msecs own 'group end')" -ge "$(values msecs conns | sum)"
	for b_ in tx_bytes rx_bytes; do
		expect "$b_" "$(values "$b_" conns | sum)" -eq "$(grown "$b_")"
		expect "$b_ of the group" "$(values "$b_" own 'group end')" -eq "$(grown "$b_")"
	done
}

# --- what a lost link costs ---

# all_rnics: with those that an earlier case has removed
all_rnics()
{
	for l in 0 1; do
		[ -e "/sys/class/infiniband/rxe$l" ] || add_rxe "$l" "eth$l" || return 1
		wait_for 10 port_active "rxe$l" || return 1
	done
}

streaming()
{
	two_links_active && [ -n "$(used_rnic)" ] && [ "$(grown tx_bytes)" -ge 1048576 ] &&
		[ "$(grown rx_bytes)" -ge 1048576 ]
}

# All of it has been written: the statistics count what was written again, the counter what has to be. Host 2
# knows that its RNIC goes and ends what is under way: it need not write any of it again.
written_again()
{
	[ "$(stats moves | sum)" -ge 1 ] && [ "$(stats tx_again_bytes | sum)" = "$(grown tx_again_bytes)" ] &&
		{ [ "$HOST" = 2 ] || [ "$(grown tx_again_bytes)" -gt 0 ]; }
}

# Both directions are full when host 2 loses an RNIC, so host 1 has bytes under way, and writes them again.
case_again()
{
	all_rnics || fail "no RNIC again"
	before
	for l in 0 1; do
		tc qdisc add dev "eth$l" root netem rate 40mbit limit 10000 || fail "eth$l has no rate"
	done
	sync_barrier slow || exit 1
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		traffic=$!
		await_server
		sync_signal ready
	else
		sync_wait ready || exit 1
		# longer than the test; several, as one may wait for its peer just when the RNIC goes
		traffic=
		for i in 1 2 3 4 5 6 7 8; do
			/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
				--io block stream:10000 > "/run/client.$i" 2>&1 &
			traffic="$traffic $!"
		done
	fi
	wait_for 60 streaming || fail "no stream: $(/t/smcctl link)"
	sync_barrier streaming || exit 1
	[ "$HOST" = 1 ] || /usr/sbin/rdma link delete "$(used_rnic)" || fail "no RNIC"
	wait_for 60 written_again || fail "of $(grown tx_again_bytes) bytes $(stats tx_again_bytes | sum)"
	diag "host $HOST: $(grown tx_again_bytes) bytes again"
	sync_barrier again || exit 1
	kill_all "$traffic"
	for l in 0 1; do
		tc qdisc del dev "eth$l" root
	done
}

# --- fallbacks ---

# connections FAMILY N [MODE]: N connections one after the other, all over TCP, or in that mode
connections()
{
	n_=$((${n_:-0} + 1))
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family "$1" --require "${3:-tcp}" > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal "ready.$n_"
		sync_wait "done.$n_" 60 > /dev/null || exit 1
		kill_all "$server"
		! grep '^not ok' /run/server || fail "the server complains"
	else
		sync_wait "ready.$n_" > /dev/null || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require "${3:-tcp}" "connects:$2" \
			> /run/client 2>&1 || { cat /run/client; fail "no connection"; }
		sync_signal "done.$n_"
	fi
}

fallbacks()
{
	echo "$(($(grown clnt_fback) + $(grown srv_fback)))"
}

# The client declines, as its port is known only after the SYN. Each side has its own reason.
case_fallback()
{
	[ "$HOST" = 1 ] || /t/smcctl policy add deny local-port 1024-65535 || fail "no rule"
	before
	listen_all
	sync_barrier listening || exit 1
	connections smc 3
	sleep 1
	stop_listening
	[ "$HOST" = 1 ] || /t/smcctl policy flush
	cat /run/own.events
	expect "fallbacks" "$(values event own fallback | wc -l)" -eq "$(fallbacks)"
	expect "fallbacks, at least" "$(fallbacks)" -ge 3
	expect "... received in the initial namespace" "$(values event first fallback | wc -l)" -eq 0
	expect "peer" "$(values peer_addr | sort -u)" = "$(peer_addr)"
	expect "own address" "$(values local_addr | sort -u)" = "$(own_addr)"
	if [ "$HOST" = 1 ]; then
		expect "role" "$(values role | sort -u)" = server
		expect "own reason" "$(values reason | sort -u)" = $PEER_DECLINED
		expect "peer's reason" "$(values peer_reason | sort -u)" = $RULE
		expect "own port" "$(values local_port | sort -u)" -eq 4430
		sync_signal ports "$(values peer_port | sort | on_one_line)"
	else
		expect "role" "$(values role | sort -u)" = client
		expect "own reason" "$(values reason | sort -u)" = $RULE
		expect "peer's reason" "$(values peer_reason | sort -u)" = 0x00000000
		expect "peer's port" "$(values peer_port | sort -u)" -eq 4430
		ports=$(sync_wait ports) || exit 1
		expect "own ports" "$(values local_port | sort | on_one_line)" = "$ports"
	fi
}

sum()
{
	awk '{ n += $1 } END { print n + 0 }'
}

# Without a listener no events are queued. With a listener there is a limit per second; the number of
# events beyond it is reported in the next event.
case_storm()
{
	STORM=400
	connections inet $((2 * EVENTS_PER_SECOND))
	before
	listen_all
	sync_barrier listening || exit 1
	began=$(uptime_s)
	connections inet $STORM
	took=$(($(uptime_s) - began + 2))
	sleep 2
	connections inet 1
	sleep 1
	stop_listening
	if [ "$HOST" = 2 ]; then
		sent=$(values event own fallback | wc -l)
		left_out=$(values untold | sum)
		diag "of $(fallbacks) fallbacks in $took s, sent: $sent, left out: $left_out"
		expect "fallbacks, at least" "$(fallbacks)" -gt $STORM
		expect "sent and left out" "$((sent + left_out))" -eq "$(fallbacks)"
		expect "sent" "$sent" -le $(((took + 1) * EVENTS_PER_SECOND + 1))
		expect "sent, at least" "$sent" -ge $EVENTS_PER_SECOND
		expect "gaps reported at once" "$(values event own lost | wc -l)" -ge 1
		! head -n 1 /run/own.events | grep -q untold ||
			fail "events without a listener were counted: $(head -n 1 /run/own.events)"
		expect "reason" "$(values reason | sort -u)" = $PEER_NO_SMC
		expect "lost for lack of memory" "$(grown event_lost)" -eq 0
	fi
}

# Ends of connections are events only while somebody listens: more of them in a second than may be sent are
# neither sent later nor counted as left out.
case_unheard()
{
	before
	many=$((2 * ENDS_PER_SECOND))
	began=$(uptime_s)
	connections smc $many smc
	diag "host $HOST: $many ends in at most $(($(uptime_s) - began + 1)) s"
	wait_for 30 no_conns_in_groups || fail "connections stay"
	# they are freed soon afterwards
	sleep 2
	listeners=
	WORDS=connections listen conns env
	sync_barrier listening || exit 1
	connections smc 1 smc
	sleep 2
	for p_ in $listeners; do
		kill "$p_" || fail "the listener has ended: $(cat /run/conns.events)"
	done
	kill_all "$listeners"
	cat /run/conns.events
	expect "connections" "$(($(grown clnt_smc) + $(grown srv_smc)))" -gt "$many"
	expect "events" "$(values event conns | on_one_line)" = "connection end;"
	! grep -q untold /run/conns.events || fail "ends without a listener were counted"
	for c_ in event_untold event_lost; do
		expect "$c_" "$(grown "$c_")" -eq 0
	done
}

# A listener does not pin the module, and its socket is notified when the module is unloaded.
case_unload()
{
	listeners=
	listen own env
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	# shellcheck disable=SC2086 # one number, behind a blank
	wait $listeners
	expect "status of the listener" $? -eq 1
	grep -q 'has been unloaded' /run/own.events || fail "$(cat /run/own.events)"
}
