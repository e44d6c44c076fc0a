# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A peer that completes the handshake but whose RNIC cannot be reached: the connection
# falls back, the next ones do not offer SMC, and one tries again after a time. The same
# with peers that echo the TCP option without supporting SMC, and with programs that leave their
# clients. Also tests the setting net.smc.enabled. Host 2 connects, host 1 serves.
#
#   INTREE    set: both hosts have the in-tree family, of which only the times are measured, in the first case

CASES="filtered:60 remembered:60 flushed:60 again:120 probe:240 impatient:240 disabled:60 non_smc:300"
CASES="$CASES leaving:60 unload:60"
[ -z "$INTREE" ] || CASES="filtered:300"
export CASES

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	# nft starts before the on-demand loading of QEMU's kernels is complete
	[ -z "$INTREE" ] || modprobe nf_tables
}

# cached: number of peers in the negative cache
cached()
{
	tail -n +2 /proc/net/smc_negcache | wc -l
}

centis()
{
	sed 's/ .*//; s/\.//' /proc/uptime
}

# connect_client MODE [PORT [FAMILY]]: see connect_once
connect_client()
{
	if [ "$1" = any ]; then
		/t/smc_traffic client --connect "$(peer_addr)" --port "$2" --family "${3:-smc}" --mode \
			connects:1 > /run/client 2>&1
		echo "client ended with $?" >> /run/client
		return 0
	fi
	/t/smc_traffic client --connect "$(peer_addr)" --port "$2" --family "${3:-smc}" --require "$1" connects:1
}

# connect_once MODE [PORT [FAMILY]]: one verified connection whose mode on host 2 must be MODE; sets
# $took there, in 1/100 s. MODE any: whatever happens; /run/client has the client's words and status
connect_once()
{
	port_=${2:-4430}
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family "${3:-smc}" --port "$port_" &
		server=$!
		await_server "$port_"
		sync_signal "ready.$CASE"
		sync_wait "done.$CASE" 200 > /dev/null || exit 1
		kill "$server"
		wait "$server" || :
	else
		sync_wait "ready.$CASE" > /dev/null || exit 1
		took=$(centis)
		connect_client "$1" "$port_" "${3:-smc}" || fail "no connection in mode $1"
		took=$(($(centis) - took))
		sync_signal "done.$CASE"
	fi
}

# filter HOST HOOK: drops received (input) or sent (output) packets of UDP port 4791 on that host
filter()
{
	[ "$HOST" = "$1" ] || return 0
	/usr/sbin/nft -f - << EOF || fail "no filter"
table ip roce {
	chain roce {
		type filter hook $2 priority 0;
		udp dport 4791 counter drop
	}
}
EOF
}

# no_filter HOST: removes the filter
no_filter()
{
	[ "$HOST" != "$1" ] || /usr/sbin/nft delete table ip roce || fail "the filter cannot be removed"
}

# dropped: packets that the filter of this host has dropped
dropped()
{
	/usr/sbin/nft list table ip roce | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p'
}

# For comparison with filtered and again: two connections in a row, with the filter at the server and then at the
# client. What becomes of them, and when, is printed. That a client is in mode smc does not mean that bytes get
# through: its peer may still wait for the link.
measure_intree()
{
	CASE=c.filtered.tcp
	connect_once tcp 4439 inet
	tcp=$took
	for side in 1 2; do
		filter "$side" input
		for round in 1 2; do
			CASE=c.filtered.$side$round
			connect_once any
			[ "$HOST" = 2 ] || continue
			cat /run/client
			diag "in-tree, filter at host $side, connection $round: $took/100 s (TCP $tcp)," \
				"$(sed -n 's/.*: \(mode [a-z]*\).*/\1/p' /run/client | head -1), $(tail -1 /run/client)"
		done
		[ "$HOST" != "$side" ] || expect "dropped packets" "$(dropped)" -gt 0
		no_filter "$side"
	done
}

case_filtered()
{
	if [ -n "$INTREE" ]; then
		measure_intree
		return 0
	fi
	filter 1 input
	connect_once tcp
	[ "$HOST" = 2 ] || return 0
	cat /proc/net/smc_negcache
	expect "peers cached" "$(cached)" -eq 1
	expect "first contacts tried" "$(stat_of first_contact)" -eq 1
	expect "handshakes that failed" "$(stat_of clnt_hs_err)" -eq 0
	expect "1/100 s of the first connection" "$took" -le 1000
	diag "the first connection took $took/100 s"
}

# The RNIC of the host cannot be reached, so the port makes no difference. The connections are as fast
# as TCP's; virtual time is counted in ticks of 1/100 s.
case_remembered()
{
	tried=$(stat_of first_contact)
	connect_once tcp 4439 inet
	tcp=$took
	CASE=c.remembered.same
	connect_once tcp
	same=$took
	CASE=c.remembered.port
	connect_once tcp 4440
	expect "first contacts tried" "$(stat_of first_contact)" -eq "$tried"
	[ "$HOST" = 2 ] || return 0
	diag "TCP took $tcp/100 s, the second connection $same, with another port $took"
	expect "1/100 s of the second connection" "$same" -le $((tcp + 1))
	expect "1/100 s with another port" "$took" -le $((tcp + 1))
}

case_flushed()
{
	no_filter 1
	[ "$HOST" = 1 ] || echo 0 > /proc/net/smc_negcache
	expect "peers cached" "$(cached)" -eq 0
	connect_once smc
}

# Packets of either direction, dropped by the receiver or by the sender, again and with the
# same peer. Reloading the module ends the old group, so that there is a first contact.
case_again()
{
	for how in "1 output" "2 input" "2 output"; do
		CASE="again.${how#* }${how% *}"
		sync_barrier begin || exit 1
		unload_smc
		load_smc || fail "the module cannot be loaded again"
		# shellcheck disable=SC2086 # two words
		filter $how
		connect_once tcp
		no_filter "${how% *}"
		[ "$HOST" = 1 ] || expect "peers cached, $how" "$(cached)" -eq 1
	done
}

# with_server FAMILY PORT FUNCTION: host 2 calls it while a program of host 1 listens there
with_server()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family "$1" --port "$2" &
		server=$!
		await_server "$2"
		sync_signal "ready.$2"
		sync_wait "done.$2" 200 > /dev/null || exit 1
		kill "$server"
		wait "$server" || :
	else
		sync_wait "ready.$2" > /dev/null || exit 1
		"$3"
		sync_signal "done.$2"
	fi
}

# Connections that say nothing of the RNIC: the port is closed, or its program has no SMC.
no_probes()
{
	sleep 31
	for _ in 1 2 3; do
		! /t/smc_traffic client --connect "$(peer_addr)" --port 4446 --family smc connects:1 > /run/closed 2>&1 ||
			fail "port 4446 is open"
		/t/smc_traffic client --connect "$(peer_addr)" --port 4445 --family smc --require tcp connects:1 ||
			fail "no connection without SMC"
	done
	expect "probes" "$(awk 'NR > 1 && $5' /proc/net/smc_negcache | wc -l)" -eq 0
	expect "peers cached" "$(cached)" -eq 1
}

# The first failure is cached for 30 s; then the first connection that can tries SMC, and removes the entry.
case_probe()
{
	with_server inet 4445 no_probes
	connect_once smc
	expect "peers cached" "$(cached)" -eq 0
}

# A probe whose program gives up before the deadline: the next connections are TCP at once, none of
# them is another probe, until the time of a probe is over.
gives_up()
{
	sleep 31
	timeout -s KILL 2 /t/smc_traffic client --connect "$(peer_addr)" --port 4447 --family smc connects:1 \
		> /run/impatient 2>&1
	expect "end of the program" $? -eq 137
	cat /proc/net/smc_negcache
	expect "seconds left" "$(awk 'NR > 1 { print $3 }' /proc/net/smc_negcache)" -ge 50
	tried=$(stat_of first_contact)
	for _ in 1 2 3; do
		/t/smc_traffic client --connect "$(peer_addr)" --port 4447 --family smc --require tcp connects:1 ||
			fail "no connection over TCP"
	done
	expect "first contacts tried" "$(stat_of first_contact)" -eq "$tried"
}

case_impatient()
{
	sync_barrier begin || exit 1
	unload_smc
	load_smc || fail "the module cannot be loaded again"
	filter 1 input
	connect_once tcp
	with_server smc 4447 gives_up
	no_filter 1
	sleep 60
	CASE=c.impatient.after
	connect_once smc
	expect "peers cached" "$(cached)" -eq 0
}

case_disabled()
{
	sync_barrier begin || exit 1
	[ "$HOST" = 1 ] || echo 0 > /proc/sys/net/smc/enabled
	connect_once tcp
	CASE=c.disabled.server
	[ "$HOST" = 1 ] || echo 1 > /proc/sys/net/smc/enabled
	[ "$HOST" = 2 ] || echo 0 > /proc/sys/net/smc/enabled
	connect_once tcp
	[ "$HOST" = 2 ] || echo 1 > /proc/sys/net/smc/enabled
	CASE=c.disabled.on
	connect_once smc
}

# expect_non_smc NAME SECONDS: the first connection to this server of smc_evil falls back after that
# time, the others at once
expect_non_smc()
{
	port=$(/t/smc_evil ports | sed -n "s/^$1 //p")
	echo 0 > /proc/net/smc_negcache
	limit=$2
	for attempts in 1 0; do
		again=$(stat_of hs_again)
		falls=$(stat_of clnt_fback)
		errors=$(stat_of clnt_hs_err)
		t0=$(uptime_s)
		/t/smc_traffic client --connect "$(peer_addr)" --port "$port" --family smc \
			--require tcp connects:3 || fail "$1: no verified bytes"
		seconds=$(($(uptime_s) - t0))
		expect "$1: connected twice" "$(($(stat_of hs_again) - again))" -eq "$attempts"
		expect "$1: fallbacks" "$(($(stat_of clnt_fback) - falls))" -ge 3
		expect "$1: errors" "$(($(stat_of clnt_hs_err) - errors))" -eq 0
		expect "$1: seconds" "$seconds" -ge "$limit"
		expect "$1: seconds" "$seconds" -le $((limit + 3))
		expect "$1: peers cached" "$(cached)" -eq 1
		limit=0
	done
}

# expect_goes NAME: each connection to this server of smc_evil is tried with SMC and falls back at
# once, and nothing is cached: on a host with SMC the listener may just be going
expect_goes()
{
	port=$(/t/smc_evil ports | sed -n "s/^$1 //p")
	echo 0 > /proc/net/smc_negcache
	again=$(stat_of hs_again)
	t0=$(uptime_s)
	/t/smc_traffic client --connect "$(peer_addr)" --port "$port" --family smc \
		--require tcp connects:3 || fail "$1: no verified bytes"
	expect "$1, with a group: connected twice" "$(($(stat_of hs_again) - again))" -eq 3
	expect "$1, with a group: seconds" "$(($(uptime_s) - t0))" -le 3
	expect "$1, with a group: peers cached" "$(cached)" -eq 0
}

# Servers without SMC that receive a Proposal: they answer with an error, close, or do not answer.
case_non_smc()
{
	# an existing group would prove that the host supports SMC
	sync_barrier begin || exit 1
	unload_smc
	load_smc || fail "the module cannot be loaded again"
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --port 4439 &
		good=$!
		await_server 4439
		/t/smc_evil server > /run/evil.server 2>&1 &
		server=$!
		wait_for 30 grep -q 'hostile server on ports' /run/evil.server ||
			fail "the servers of smc_evil do not start"
		sync_signal ready
		sync_wait over 200 > /dev/null || exit 1
		kill "$server" "$good"
		wait "$server" "$good" 2> /dev/null
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	expect_non_smc plain_text 0
	expect_non_smc end_after_proposal 0
	expect_non_smc reset_after_proposal 0
	expect_non_smc silent 6
	# with a group, a silent server may be busy: the client waits longer
	echo 0 > /proc/net/smc_negcache
	/t/smc_traffic client --connect "$(peer_addr)" --port 4439 --family smc --require smc \
		connects:1 || fail "no good connection"
	expect_non_smc silent 15
	# that is one program; the other programs of the host keep SMC, and say nothing about it
	/t/smc_traffic client --connect "$(peer_addr)" --port 4439 --family smc --require smc \
		connects:1 || fail "no SMC with another port of the host"
	expect "peers cached" "$(cached)" -eq 1
	expect_goes end_after_proposal
	expect_goes reset_after_proposal
	sync_signal over
	echo 0 > /proc/net/smc_negcache
}

# left_by_server NAME: a hundred connect() at once, to a server that accepts two and goes. Host 2
# must learn nothing about host 1 from that.
left_by_server()
{
	CASE=c.leaving.$1
	if [ "$HOST" = 1 ]; then
		# the last server's words would end the wait below at once
		: > /run/leave
		/t/smc_load leave --connect "$(own_addr)" --port 4441 > /run/leave &
		server=$!
		wait_for 20 grep -q listening /run/leave || fail "no server: $(cat /run/leave)"
		sync_signal "ready.$CASE"
		wait "$server" || fail "the server: $(cat /run/leave)"
		sync_wait "over.$CASE" 50 > /dev/null || exit 1
		return 0
	fi
	sync_wait "ready.$CASE" > /dev/null || exit 1
	/t/smc_load rush --connect "$(peer_addr)" --port 4441 > /run/rush ||
		fail "not all ended: $(cat /run/rush)"
	diag "$1: $(sed -n 's/^# //p' /run/rush), SMC $(stat_of clnt_smc)," \
		"connected twice $(stat_of hs_again)"
	cat /proc/net/smc_negcache
	sync_signal "over.$CASE"
	expect "$1: peers cached" "$(cached)" -eq 0
}

# Programs of host 1 that end, with clients in their handshake, take SMC from no other program,
# and not from the next one with the same port.
case_leaving()
{
	sync_barrier begin || exit 1
	unload_smc
	load_smc || fail "the module cannot be loaded again"
	left_by_server first
	CASE=c.leaving.other
	connect_once smc
	left_by_server again
	CASE=c.leaving.same
	connect_once smc 4441
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	[ ! -e /proc/net/smc_negcache ] || fail "/proc/net/smc_negcache is left"
}
