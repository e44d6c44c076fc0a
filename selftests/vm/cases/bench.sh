# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Measures the speed of TCP, the in-tree family, ours and raw verbs, one after the
# other in every round, on one pair of hosts: host 1 serves, host 2 measures. JSON
# lines go to host 2's log, for selftests/bench/report.py. The harness runs with
# --module intree (so that the guest keeps that module); this script loads the module
# of each label.
#
#   LABELS   what is measured, in order: tcp, intree, ours, raw; upgrade: ours with connections that
#            begin as TCP, and carry too little to change over, only rows of short connections;
#            client: ours on host 2, the in-tree family on host 1; server: the other way round
#   ROUNDS   number of rounds; MEMORY  n: no rows mem_* and silent_*
#   MS, COUNT   see smc_bench; rows of short connections have a quarter of COUNT, requests_beside all
#   KNOCKS      number of connections for the median cost of a fallback

: "${LABELS:=tcp intree ours upgrade raw}" "${ROUNDS:=5}" "${MS:=1000}" "${COUNT:=200}"
: "${CASE:=}" "${KNOCKS:=200}"

CASES=
i_=0
while [ "$i_" -lt "$ROUNDS" ]; do
	i_=$((i_ + 1))
	CASES="$CASES round$i_:300"
	eval "case_round$i_() { one_round $i_; }"
done
[ "${MEMORY:-y}" = n ] || CASES="$CASES memory:${LIMIT:-300} silent:${LIMIT:-300}"
export CASES

# numbers of connections that have sent a byte, and of those that have sent nothing
: "${HOLD:=1 32 255}" "${HOLD_SILENT:=32 255}"

setup()
{
	ln -s /t/ours /ours
	# as on real hosts: rdma_rxe takes the best CRC that is there when it is loaded
	modprobe -q crc32_pclmul
	setup_net && setup_rxe || return 1
	case $BED.$(uname -r) in
	# 7.x has no module of this name
	qemu.6.1[.2]*)
		grep -q '^driver.*crc32-pclmul' /proc/crypto || fail "no accelerated CRC" ;;
	esac
	# The objects of the devices before any SMC module is loaded.
	resources > /run/resources
	ping -c 1 -W 5 "$(peer_addr)" > /dev/null
}

# Every other round in reverse order: the position must give no label an advantage.
one_round()
{
	order=
	for label in $LABELS; do
		if [ $(($1 % 2)) = 1 ]; then
			order="$order $label"
		else
			order="$label $order"
		fi
	done
	for label in $order; do
		[ "$HOST" = 1 ] || diag "$label"
		sync_barrier "begin.$label" 120 || exit 1
		case $label in
		raw)		raw ;;
		upgrade)	with_server upgrade speed_upgrade ;;
		*)
			with_server "$label" speed
			fallbacks "$label"
			;;
		esac
	done
}

# --- TCP and SMC ---

# load_label LABEL: load this host's module of it
load_label()
{
	module_=$1
	case $1.$HOST in
	client.2 | server.1 | upgrade.*)	module_=ours ;;
	client.* | server.*)			module_=intree ;;
	esac
	load_smc "$module_" || fail "$module_ cannot be loaded"
	case $module_ in
	ours)	ours ;;
	*)	! ours ;;
	esac || fail "$1: $module_ is not what was loaded"
	[ "$1" != upgrade ] || echo 100000 > /proc/sys/net/smc/upgrade_bytes ||
		fail "connections of $1 cannot begin as TCP"
}

# with_server LABEL COMMAND: load the module, run the command on host 2 with a
# server on host 1, remove the module
with_server()
{
	case $1 in
	tcp)	family=inet; mode=tcp ;;
	*)	family=smc; mode=smc; load_label "$1" ;;
	esac
	if [ "$HOST" = 1 ]; then
		ulimit -n 20000
		/t/smc_traffic server --family "$family" > /tmp/server 2>&1 &
		server=$!
		await_server
		[ "$1" != upgrade ] || {
			# for speed_beside
			/t/smc_traffic server --family inet --port 4433 > /tmp/plain 2>&1 &
			plain=$!
			await_server 4433
		}
		sync_signal "ready.$1"
		sync_wait "done.$1" 240 > /dev/null || exit 1
		[ "$1" != upgrade ] || {
			kill "$plain"
			wait "$plain" || :
		}
		[ $family = inet ] || wait_for 60 no_sockets || fail "$(/t/smcctl sock)"
		kill "$server"
		wait "$server"
	else
		sync_wait "ready.$1" > /dev/null || exit 1
		"$2" "$1"
		[ $family = inet ] || wait_for 60 no_sockets || fail "$(/t/smcctl sock)"
		sync_signal "done.$1"
	fi
	[ $family = inet ] || unload "$1"
}

# Connections in use, the listening one left out; the first line is a heading.
no_sockets()
{
	[ "$(/t/smcctl sock | wc -l)" -le 1 ]
}

# The client first, when it is idle: an in-tree client waits for ever for its requests
# in flight if the peer's module is removed while connections end.
unload()
{
	sync_barrier "idle.$1" 120 || exit 1
	[ "$HOST" = 2 ] || sync_wait "unloaded.$1" > /dev/null || exit 1
	rmmod smc_diag || fail "smc_diag cannot be removed"
	wait_for 30 remove_smc || fail "the module of $1 cannot be removed"
	sync_signal "unloaded.$1"
}

remove_smc()
{
	rmmod smc 2> /dev/null
}

# speed LABEL [OPTION...]: all rows of smc_bench, or those of the options
speed()
{
	label_=$1
	shift
	/t/smc_bench --connect "$(peer_addr)" --family "$family" --require "$mode" \
		--label "$label_" --ms "$MS" --count "$COUNT" "$@" ||
		fail "$label_: smc_bench ended with $?"
}

# learn LABEL: the first connection makes the group, and shows that the server upgrades
learn()
{
	/t/smc_traffic client --connect "$(peer_addr)" --family "$family" connects:8 ||
		fail "$1: no connection"
}

speed_upgrade()
{
	learn "$1"
	before
	mode=tcp
	speed "$1" --rows connect_rate,connect_latency,requests
	expect "handshakes" "$(grown clnt_smc)" -eq 0
	expect "fallbacks" "$(grown clnt_fback)" -eq 0
	# a quarter of COUNT in each row
	expect "began as TCP" "$(grown deferred)" -eq $((3 * (COUNT / 4)))
	speed_beside "$1"
}

# speed_beside LABEL: the row requests_beside: requests beside a stream that is SMC all the time, to a
# TCP server for the label tcp
speed_beside()
{
	echo 0 > /proc/sys/net/smc/upgrade_bytes
	/t/smc_traffic client --connect "$(peer_addr)" --family "$family" --require smc \
		stream:100000 > /tmp/stream 2>&1 &
	stream=$!
	before
	wait_for 30 stream_has_begun || fail "$1: no stream: $(cat /tmp/stream)"
	echo 100000 > /proc/sys/net/smc/upgrade_bytes
	before
	beside_row "$1"
	expect "began as TCP" "$(grown deferred)" -eq "$COUNT"
	family=inet
	beside_row tcp --port 4433
	family=smc
	kill -0 "$stream" || fail "$1: the stream has ended: $(cat /tmp/stream)"
	expect "bytes of the stream by RDMA WRITE" "$(grown tx_write_bytes)" -ge 1048576
	expect "handshakes" "$(grown clnt_smc)" -eq 0
	kill "$stream"
	wait "$stream" || :
}

stream_has_begun() { [ "$(grown tx_write_bytes)" -ge 1048576 ]; }

# COUNT requests
beside_row()
{
	speed "$@" --rows requests --count $((COUNT * 4)) > /tmp/beside
	sed 's/"requests"/"requests_beside"/' /tmp/beside
}

# --- the cost of a fallback ---

# Connections that fall back: the peer has no SMC socket, in both roles; the peer has no RNIC, or we
# have none. For TCP all rows are the same.
fallbacks()
{
	family=smc
	if [ "$1" = tcp ]; then
		family=inet
	else
		load_label "$1"
	fi
	if [ "$HOST" = 1 ]; then
		/t/smc_knock --serve --family inet --port 4431 &
		plain=$!
		/t/smc_knock --serve --family "$family" --port 4432 &
		server=$!
		await_server 4431
		await_server 4432
	fi
	sync_barrier "knock.$1" 60 || exit 1
	knock "$1" fallback_plain_server "$family" 4431 none
	knock "$1" fallback_plain_client inet 4432 none
	without_rnic 1 "$1" fallback_server_declines peer
	without_rnic 2 "$1" fallback_client_declines own
	if [ "$HOST" = 1 ]; then
		kill "$plain" "$server"
		wait "$plain" "$server" 2> /dev/null || :
	fi
	[ $family = inet ] || unload "$1"
}

# knock LABEL ROW FAMILY PORT OVER: one row of smc_knock
knock()
{
	if [ "$HOST" = 2 ]; then
		/t/smc_knock --connect "$(peer_addr)" --label "$1" --row "$2" --family "$3" \
			--port "$4" --over "$5" --count "$KNOCKS" || fail "$1: $2"
	fi
	sync_barrier "knocked.$1.$2" 120 || exit 1
}

# without_rnic HOST LABEL ROW OVER: one row while that host has no RNIC
without_rnic()
{
	[ "$HOST" != "$1" ] || /usr/sbin/rdma link del rxe0 || fail "the RNIC cannot be removed"
	sync_barrier "gone.$2.$1" 60 || exit 1
	knock "$2" "$3" "$family" 4432 "$4"
	[ "$HOST" = "$1" ] || return 0
	add_rxe 0 eth0 || fail "the RNIC cannot be added again"
	wait_for 10 port_active rxe0 || fail "the RNIC's port stays down"
}

# --- raw verbs ---

# value LABEL ROW VALUE UNIT BETTER: prints a JSON line
value()
{
	echo "{\"row\": \"$2\", \"label\": \"$1\", \"value\": $3, \"unit\": \"$4\"," \
		"\"better\": \"$5\"}"
}

# perftest PROGRAM ARGUMENT...: server on host 1, client on host 2, whose
# output is in /tmp/perftest. -u: on a busy machine answers may take long.
perftest()
{
	: $((perftest_nr = ${perftest_nr:-0} + 1))
	port=$((18600 + perftest_nr))
	program=$1
	shift
	if [ "$HOST" = 1 ]; then
		"$program" -d rxe0 -x 1 -u 20 -F -p $port "$@" > /tmp/perftest 2>&1 &
		server=$!
		wait_for 30 tcp_listens $port || perftest_fails "$program"
		sync_signal "perf.$perftest_nr"
		wait "$server" || perftest_fails "$program"
	else
		sync_wait "perf.$perftest_nr" > /dev/null || exit 1
		"$program" -d rxe0 -x 1 -u 20 -F -p $port "$@" "$(peer_addr)" > /tmp/perftest 2>&1 ||
			perftest_fails "$program"
	fi
}

perftest_fails()
{
	cat /tmp/perftest
	fail "$1 failed: $(grep -iE 'fail|error|unable|couldn' /tmp/perftest | head -n 1)"
}

# result COLUMN FACTOR: a number from perftest's line of results
result()
{
	awk -v c="$1" -v f="$2" '/^ *[0-9]+ +[0-9]+ / { printf "%.3f\n", $c * f; found = 1 }
		END { exit !found }' /tmp/perftest
}

raw()
{
	modprobe rdma_ucm
	# Bandwidth: size and number of WRITEs. perftest counts 2^20 bytes as MB.
	for row in "1k 1024 4000" "64k 65536 400" "1m 1048576 30"; do
		# shellcheck disable=SC2086 # words of a row
		set -- $row
		perftest ib_write_bw -s "$2" -n "$3"
		[ "$HOST" = 1 ] && continue
		v=$(result 4 1.048576) || perftest_fails ib_write_bw
		value raw "stream_$1" "$v" MB/s higher
	done
	# Latency: perftest reports half of the round trip; "typical" is the median.
	for row in "1 1" "1k 1024"; do
		# shellcheck disable=SC2086
		set -- $row
		perftest ib_write_lat -s "$2" -n "$COUNT"
		[ "$HOST" = 1 ] && continue
		v=$(result 5 2) || perftest_fails ib_write_lat
		value raw "pingpong_$1" "$v" us lower
	done
}

# --- memory ---

# each_with_server COMMAND: for each module, loaded anew, and TCP
each_with_server()
{
	for label in $LABELS; do
		[ "$label" != raw ] || continue
		[ "$HOST" = 1 ] || diag "$1 of $label"
		sync_barrier "begin.$label" 120 || exit 1
		with_server "$label" "$1"
	done
}

case_memory()
{
	each_with_server memory
}

# A case of its own, as signals have their names once in each.
case_silent()
{
	each_with_server silent
}

# "pd N", "cq N", "qp N", "mr N" and the bytes of the regions
resources()
{
	/usr/sbin/rdma resource show rxe0 | tr -s ' ' '\n' | awk '
		/^(pd|cq|qp|mr)$/ { name = $1; next }
		name { print name, $1 + 0; name = "" }'
	/usr/sbin/rdma -d resource show mr | tr -s ' ' '\n' | awk '
		$1 == "mrlen" { getline; sum += $1 }
		END { printf "region_kb %.0f\n", sum / 1024 }'
}

memory_state()
{
	# wait for memory that is freed late, and drop caches
	sleep 2
	echo 3 > /proc/sys/vm/drop_caches
	sleep 1
	resources
	awk '$1 == "Slab:" { print "slab_kb", $2 }' /proc/meminfo
	# free pages include those in per-CPU lists: many megabytes
	awk '$1 == "MemFree:" { free = $2 }
	     $1 == "count:" { free += 4 * $2 }
	     END { print "used_kb", -free }' /proc/meminfo /proc/zoneinfo
}

# hold LABEL ROW OPTIONS: the rows ROW_N_* with N connections open
hold()
{
	label_=$1 row_=$2
	shift 2
	[ "$label_" != upgrade ] || {
		# the group is no part of what its connections take
		learn "$label_"
		mode=tcp
	}
	# baseline: devices without any module, memory without connections
	memory_state > /run/memory
	cat /run/resources >> /run/memory
	/t/smc_hold --connect "$(peer_addr)" --family "$family" --require "$mode" \
		--run ". /h/lib.sh; . $SCRIPT; memory_of $label_ $row_" "$@" ||
		fail "$label_: smc_hold ended with $?"
}

memory()
{
	# shellcheck disable=SC2086 # numbers
	hold "$1" mem $HOLD
}

silent()
{
	# shellcheck disable=SC2086 # numbers
	hold "$1" silent --silent $HOLD_SILENT
}

# memory_of LABEL ROW: the difference to /run/memory as JSON lines
# Run by smc_hold, with $CONNS connections open.
memory_of()
{
	memory_state > /run/memory.now
	# of two lines with the same name, the later one counts (see memory())
	awk -v label="$1" -v row="$2" -v conns="$CONNS" '
		NR == FNR { before[$1] = $2; next }
		{
			unit = $1 ~ /_kb$/ ? "KB" : "count"
			printf "{\"row\": \"%s_%s_%s\", \"label\": \"%s\", \"value\": %d, ",
				row, conns, $1, label, $2 - before[$1]
			printf "\"unit\": \"%s\", \"better\": \"lower\"}\n", unit
		}' /run/memory /run/memory.now
}
