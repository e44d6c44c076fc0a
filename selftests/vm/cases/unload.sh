# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The module is removed while connections are still closing: all sockets are closed, but
# messages and the last bytes are in flight, or the peer does not answer, or has ended.
# The removal must end within its time limit (Documentation/lifetimes.rst), nothing may be left,
# and the module must load again. Our module on both hosts; each case but the first, which is about
# the scripts for it, repeats it ROUNDS times.

: "${ROUNDS:=1}"

# (in User Mode Linux: while nothing can be sent Soft-RoCE of 6.12 sometimes keeps a reference to a queue
# pair, waits 50 s for it and warns, which ends the guest)
silent=silent:120
[ "$BED" != qemu ] || silent=
CASES="in_use:60 killed:120 $silent stalled:120 peer_closed:120 handshakes:120"
export CASES

STREAMS=6
IDLE=30
LIMIT=10	# seconds that removal may take, on a slow machine

setup()
{
	setup_net && setup_rxe || return 1
	modprobe -q sch_netem
	repair
}

# --- programs ---

start_server()
{
	/t/smc_traffic server --family smc --require smc --timeout 60000 > /run/server 2>&1 &
	server=$!
	await_server
}

# client SUBTEST: in the background
client()
{
	/t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc \
		--timeout 60000 "$1" > /run/client 2>&1 &
	clients="$clients $!"
}

start_streams()
{
	i=0
	while [ "$i" -lt "$STREAMS" ]; do
		client "$1"
		i=$((i + 1))
	done
}

start_idle()
{
	rm -f /run/held
	/t/smc_hold --connect "$(peer_addr)" --require smc \
		--run 'touch /run/held; sleep 100' "$IDLE" > /run/hold 2>&1 &
	clients="$clients $!"
	wait_for 60 test -e /run/held || fail "smc_hold: $(cat /run/hold)"
}

flowing()
{
	[ "$(($(stat_of rx_bytes) + $(stat_of tx_bytes)))" -ge $((STREAMS << 18)) ]
}

# impair HOW...: until repair. The qdisc is there before the traffic, and stays: while a new one takes
# its place packets are dropped, and for one dropped packet Soft-RoCE ends a queue pair.
impair()
{
	tc qdisc change dev eth0 root netem limit 100000 "$@" || fail "no netem"
}

repair()
{
	tc qdisc replace dev eth0 root netem limit 100000 || fail "no netem"
}

# The window of the stopped server is full, nothing is written any more.
stalled()
{
	now=$(stat_of tx_write_bytes)
	[ "$now" -gt 0 ] && [ "$now" = "$before" ] && return 0
	before=$now
	usleep 300000
	return 1
}

# --- the module ---

# closing: number of connections that groups still have
closing()
{
	/t/smcctl -j linkgroup | tr -d ' \n\t' | tr , '\n' |
		sed -n 's/.*"connections":\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

remove()
{
	rmmod smc 2> /dev/null
}

centis()
{
	# no leading zeros: the shell would take them for octal
	awk '{ printf "%d", $1 * 100 }' /proc/uptime
}

# expect_closing N: at least
expect_closing()
{
	n=$(closing)
	diag "host $HOST: $n connections closing"
	expect "connections closing" "$n" -ge "$1"
}

timed_unload()
{
	rmmod smc_diag || fail "smc_diag cannot be removed"
	t0=$(centis)
	wait_for 30 remove || {
		cat /proc/modules /proc/net/smc_stat
		fail "the module cannot be removed"
	}
	t1=$(centis)
	diag "host $HOST: removed in $((t1 - t0))0 ms"
	expect "time in 1/100 s" $((t1 - t0)) -le $((LIMIT * 100))
	for k_ in qp mr pd cq; do
		expect "$k_ left" "$(/usr/sbin/rdma resource show "$k_" |
			grep -c 'comm \[smc\]')" -eq 0
	done
	[ ! -e /proc/net/smc_stat ] || fail "/proc/net/smc_stat is left"
}

# rounds FUNCTION: runs it ROUNDS times, each with a newly loaded module
rounds()
{
	r=0
	while [ "$r" -lt "$ROUNDS" ]; do
		r=$((r + 1))
		load_smc || fail "the module does not load"
		clients=
		server=
		before=
		sync_barrier "loaded$r" || exit 1
		[ "$HOST" != 1 ] || start_server
		sync_barrier "up$r" || exit 1
		"$1"
		sync_barrier "unloaded$r" || exit 1
	done
}

# --- the cases ---

unloaded()
{
	/t/unload.sh > /run/said 2>&1
}

# The scripts of make load and make unload: smc_diag, with which the sockets of a host can be listed,
# stays as long as smc has users, and comes back where only it is missing.
case_in_use()
{
	load_smc || fail "the module does not load"
	start_server
	for how in '' --removed; do
		# shellcheck disable=SC2086 # an option or nothing
		/t/unload.sh $how > /run/said 2>&1
		status=$?
		[ -n "$how" ] || expect "status of unload.sh" "$status" -eq 1
		[ -z "$how" ] || expect "status of unload.sh $how" "$status" -eq 0
		grep -q "smc_traffic ($server)" /run/said || fail "unload.sh $how: $(cat /run/said)"
		[ -e /sys/module/smc_diag ] || fail "unload.sh $how removes smc_diag, and smc is in use"
	done
	# (of the second one)
	grep -q "'rmmod smc_diag smc'" /run/said || fail "unload.sh --removed names no command: $(cat /run/said)"
	rmmod smc_diag || fail "smc_diag cannot be removed"
	/t/load.sh /ours > /run/said 2>&1 || fail "load.sh: $(cat /run/said)"
	[ -e /sys/module/smc_diag ] || fail "load.sh does not load smc_diag"
	! /t/load.sh /ours > /run/said 2>&1 || fail "load.sh has nothing to load, and does not say so"
	kill_all "$server"
	wait_for 30 unloaded || fail "$(cat /run/said)"
	[ ! -e /sys/module/smc ] || fail "unload.sh leaves smc"
	[ ! -e /sys/module/smc_diag ] || fail "unload.sh leaves smc_diag"
}

# Both ends of streams and of idle connections are killed at once. Nothing gets through meanwhile,
# however long that takes (the links have 8 s); the answers come when the modules are being removed, or
# (killed silent) not at all.
killed()
{
	if [ "$HOST" = 1 ]; then
		sync_wait "flowing$r" > /dev/null || exit 1
	else
		start_idle
		start_streams stream:4000
		wait_for 60 flowing || fail "no traffic"
		sync_signal "flowing$r"
	fi
	impair loss 100%
	sync_barrier "silent$r" || exit 1
	# shellcheck disable=SC2086 # words
	kill_all $server $clients
	expect_closing "$IDLE"
	sync_barrier "closing$r" || exit 1
	[ "$1" = silent ] || repair
	timed_unload
	repair
}

case_killed()
{
	rounds killed
}

silent()
{
	killed silent
}

case_silent()
{
	rounds silent
}

# The client has unsent bytes which the peer does not accept: it lingers.
stall()
{
	if [ "$HOST" = 1 ]; then
		sync_wait "flowing$r" > /dev/null || exit 1
		kill -STOP "$server"
		sync_signal "stopped$r"
		sync_wait "gone$r" > /dev/null || exit 1
		kill_all "$server"
		timed_unload
		return
	fi
	start_streams halfclose:400000
	wait_for 60 flowing || fail "no traffic"
	sync_signal "flowing$r"
	sync_wait "stopped$r" > /dev/null || exit 1
	wait_for 20 stalled || fail "the stopped server still reads"
	# shellcheck disable=SC2086 # words
	kill_all $clients
	expect_closing "$STREAMS"
	timed_unload
	sync_signal "gone$r"
}

case_stalled()
{
	rounds stall
}

# The server's program is stopped, with connections that the client has closed.
peer_closed()
{
	if [ "$HOST" = 1 ]; then
		sync_wait "held$r" > /dev/null || exit 1
		kill -STOP "$server"
		sync_signal "stopped$r"
		sync_wait "gone$r" > /dev/null || exit 1
		kill_all "$server"
		timed_unload
		return
	fi
	start_idle
	sync_signal "held$r"
	sync_wait "stopped$r" > /dev/null || exit 1
	# shellcheck disable=SC2086 # words
	kill_all $clients
	expect_closing "$IDLE"
	timed_unload
	sync_signal "gone$r"
}

case_peer_closed()
{
	rounds peer_closed
}

connected()
{
	# nstat does not show this one
	[ "$(awk '/^Tcp: [0-9]/ { print $10 }' /proc/net/snmp)" -ge 1 ]
}

# The programs are killed during handshakes: their TCP connections exist, and no handshake has ended.
handshakes()
{
	# a handshake takes 2 s at least: it has not ended when a slow host looks
	impair delay 1000ms
	sync_barrier "slow$r" || exit 1
	[ "$HOST" = 1 ] || client burst:60
	wait_for 20 connected || fail "no connection"
	sync_barrier "connected$r" || exit 1
	n_=0
	for s_ in clnt_smc clnt_fback clnt_hs_err srv_smc srv_fback srv_hs_err; do
		n_=$((n_ + $(stat_of "$s_")))
	done
	# shellcheck disable=SC2086 # words
	kill_all $server $clients
	expect "handshakes that have ended" "$n_" -eq 0
	timed_unload
	repair
}

case_handshakes()
{
	rounds handshakes
}
