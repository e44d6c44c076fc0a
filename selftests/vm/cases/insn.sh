# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Counts the instructions of TCP, the in-tree family and ours, one after the other, on one host
# with RDMA on lo: both ends of each connection and the RNIC together. For --bed insn, where a
# nanosecond is an instruction; with --module intree, so that the guest keeps that module. JSON
# lines go to the log, for selftests/bench/report.py.
#
#   LABELS   what is measured, in order: tcp, intree, or the name of a folder in /t with a build of
#            the module; upgrade: ours with connections that begin as TCP, and carry too little
#            to ask for RDMA; loopback: ours over smc_lo in place of rxe; foreign: ours without
#            immediate values, as with an in-tree peer
#   ROWS     rows of smc_bench, comma separated; default: all but those that must be named, and the
#            fallback_* of smc_knock ("fallbacks"). In connect_autosmc AUTOSMC makes short
#            connections of ours TCP, and a stream stays SMC; in connect_autosmc_served the server
#            declines them. In connect_upgrade those of ours begin as TCP, and carry too little to
#            change over. These three come last, in this order
#            "scale" is alone: with CONNS connections, and once more with at most 16 of them in a
#            group ("spread")
#   UPGRADE_BYTES  label upgrade: after how many bytes connections change over (default 100000: those of
#            the rows connect_rate and requests stay TCP)
#   MS, COUNT, CONNS   see smc_bench
#   PROFILE  y: print the kernel's symbols, for selftests/bench/profile.py

: "${UPGRADE_BYTES:=100000}"
: "${LABELS:=tcp intree ours}" "${ROWS:=}" "${MS:=100}" "${COUNT:=1000}" "${CONNS:=1,16,256}"

CASES=
for label in $LABELS; do
	CASES="$CASES $label:3000"
	eval "case_$label() { measure $label; }"
done
export CASES

setup()
{
	# Before rdma_rxe, which takes the best CRC that is there when it is loaded.
	modprobe -q crc32_pclmul
	ip link set lo mtu "$MTU"
	setup_net && setup_rxe || return 1
	grep -q '^driver.*crc32-pclmul' /proc/crypto || fail "no accelerated CRC"
	# TCP makes its random numbers at the first connect: millions of instructions.
	/t/smc_knock --serve --family inet --port 4431 &
	server=$!
	await_server 4431
	/t/smc_knock --connect "$(own_addr)" --family inet --port 4431 --label none --row none \
		--over none --count 1 > /dev/null
	kill "$server"
	wait "$server" 2> /dev/null || :
}

# print_symbols LABEL: functions, those of the kernel itself once
print_symbols()
{
	echo "symbols of $1"
	if [ -e /tmp/symbols ]; then
		grep -i ' [tw] .*\[' /proc/kallsyms
	else
		grep -i ' [tw] ' /proc/kallsyms
		: > /tmp/symbols
	fi
	echo "end of symbols"
}

# bench LABEL ROWS OPTION...
bench()
{
	label_=$1
	rows_=$2
	shift 2
	/t/smc_bench --insn --connect "$(own_addr)" --family "$family" ${mode:+--require "$mode"} \
		--label "$label_" --ms "$MS" --count "$COUNT" ${rows_:+--rows "$rows_"} \
		${rnic:+--rnic "$rnic"} "$@" ||
		fail "$label_: smc_bench ended with $?"
}

# declined: connections of clients that the peer has declined
declined()
{
	/t/smcctl -j stats | tr -d ' \n' | tr '{' '\n' |
		sed -n 's/.*"reason":"0x05000000".*"count":\([0-9]*\).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}

# bench_autosmc LABEL ROW: connect_autosmc, or connect_autosmc_served. The stream is opened before
# AUTOSMC has learned.
bench_autosmc()
{
	case $1 in
	tcp|intree)
		bench "$1" "$2"
		return
		;;
	esac
	echo 0 > /proc/net/smc_autosmc
	declined_=$(declined)
	echo 100000 > /proc/sys/net/smc/autosmc_bytes
	before
	bench "$1" "$2" --shorts tcp
	echo 0 > /proc/sys/net/smc/autosmc_bytes
	# both ends are here: the stream, and the eight from which AUTOSMC learns
	expect "handshakes of the client" "$(grown clnt_smc)" -eq 9
	expect "TCP by experience" "$(grown autosmc_tcp)" -eq $((COUNT / 4))
	[ "$2" = connect_autosmc ] || declined_=$((declined_ + COUNT / 4))
	expect "declined by the server" "$(declined)" -eq "$declined_"
	expect "bytes of the stream by RDMA WRITE" "$(grown tx_write_bytes)" -ge 2097152
}

no_group()
{
	[ -z "$(/t/smcctl linkgroup | awk 'NR > 1')" ]
}

# bench_upgrade LABEL: the row connect_upgrade
bench_upgrade()
{
	case $1 in
	tcp|intree)
		bench "$1" connect_upgrade
		return
		;;
	esac
	echo 100000 > /proc/sys/net/smc/upgrade_bytes
	# those that exist have not announced it; the other end of a group is here, too, and goes with it
	for id in $(/t/smcctl linkgroup | awk 'NR > 1 { print $1 }'); do
		/t/smcctl linkgroup del "$id" now || :
	done
	wait_for 20 no_group || fail "a group stays"
	# the first one makes the group, and shows that the server upgrades
	/t/smc_traffic client --connect "$(own_addr)" --family "$family" connects:8 ||
		fail "$1: no connection"
	before
	bench "$1" connect_upgrade --shorts tcp
	echo 0 > /proc/sys/net/smc/upgrade_bytes
	expect "handshakes" "$(($(grown clnt_smc) + $(grown srv_smc)))" -eq 0
	expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
	# both ends are here
	expect "began as TCP" "$(grown deferred)" -eq $((COUNT / 2))
}

# named ROW: it is in ROWS
named()
{
	case ",$ROWS," in
	*",$1,"*)	return 0 ;;
	esac
	return 1
}

# serve: a server of the family, in the background
serve()
{
	ulimit -n 20100
	/t/smc_traffic server --family "$family" > /tmp/server 2>&1 &
	server=$!
	await_server
}

stop_server()
{
	kill "$server"
	wait "$server"
}

# bench_scale LABEL: the row scale, and spread, which differs only for SMC
bench_scale()
{
	# else a connect looks through thousands of ports, which are open or in TIME_WAIT
	echo 1024 65535 > /proc/sys/net/ipv4/ip_local_port_range || fail "no more ports"
	bench "$1" scale --conns "$CONNS"
	[ "$1" != tcp ] || return 0
	stop_server
	if ! unload_smc || ! load_smc "$module"; then
		fail "$1 cannot be loaded again"
	fi
	unlimited
	echo 16 > /proc/sys/net/smc/smcr_max_conns_per_lgr || fail "no smaller groups"
	serve
	# one connection is in one group anyway
	bench "$1" scale --conns "${CONNS#1,}" --prefix spread
}

# unlimited: as many groups as the connections need; both ends of all of them are this host
unlimited()
{
	ours || return 0
	echo 0 > /proc/sys/net/smc/smcr_max_host_groups || fail "groups are limited"
	# each idle group sends one in 30 s: with hundreds of them that would count as the connect's
	echo 0 > /proc/sys/net/smc/smcr_testlink_time || fail "TEST LINK stays on"
}

# knock LABEL ROW FAMILY PORT: one row of smc_knock
knock()
{
	/t/smc_knock --insn --connect "$(own_addr)" --label "$1" --row "$2" --family "$3" \
		--port "$4" --over none || fail "$1: $2"
}

# fallbacks LABEL: connections that become TCP, as the server or the client has no SMC socket. For
# TCP both rows are the same.
fallbacks()
{
	/t/smc_knock --serve --family inet --port 4431 &
	plain=$!
	/t/smc_knock --serve --family "$family" --port 4432 &
	mixed=$!
	await_server 4431
	await_server 4432
	knock "$1" fallback_plain_server "$family" 4431
	knock "$1" fallback_plain_client inet 4432
	kill "$plain" "$mixed"
	wait "$plain" "$mixed" 2> /dev/null || :
}

measure()
{
	rnic=rxe0
	module=ours
	case $1 in
	tcp)	family=inet; mode=tcp; rnic= ;;
	intree)
		family=smc; mode=smc; module=intree
		load_smc intree || fail "$1 cannot be loaded"
		;;
	upgrade)
		family=smc; mode=tcp
		ln -sfn /t/ours /ours
		load_smc ours || fail "$1 cannot be loaded"
		echo "$UPGRADE_BYTES" > /proc/sys/net/smc/upgrade_bytes
		# else they change over, and are neither
		[ "$UPGRADE_BYTES" -ge 100000 ] || mode=
		;;
	foreign)
		family=smc; mode=smc
		ln -sfn /t/ours /ours
		load_smc ours || fail "$1 cannot be loaded"
		echo 0 > /proc/sys/net/smc/smcr_write_imm
		;;
	loopback)
		# smc_lo sends no packets
		family=smc; mode=smc; rnic=
		ln -sfn /t/ours /ours
		/usr/sbin/rdma link del rxe0 || fail "rxe0 is not removed"
		setup_smc_lo || fail "no lo0"
		load_smc ours || fail "$1 cannot be loaded"
		;;
	*)
		family=smc; mode=smc
		ln -sfn "/t/$1" /ours
		load_smc ours || fail "$1 cannot be loaded"
		;;
	esac
	serve
	# the first one makes the group, and shows that the server upgrades
	[ "$1" != upgrade ] || {
		/t/smc_traffic client --connect "$(own_addr)" --family "$family" connects:8 ||
			fail "$1: no connection"
		before
	}
	others=
	for row in $(echo "$ROWS" | tr , ' '); do
		case $row in
		connect_autosmc*|connect_upgrade|fallbacks)	;;
		*)						others=$others${others:+,}$row ;;
		esac
	done
	case $others in
	scale)
		[ "$1" = tcp ] || unlimited
		bench_scale "$1"
		;;
	*)	{ [ -z "$others" ] && [ -n "$ROWS" ]; } || bench "$1" "$others" ;;
	esac
	! named connect_autosmc || bench_autosmc "$1" connect_autosmc
	! named connect_autosmc_served || bench_autosmc "$1" connect_autosmc_served
	{ [ -n "$ROWS" ] && ! named fallbacks; } || fallbacks "$1"
	[ "$1" != foreign ] || {
		expect "immediate values" "$(stat_of tx_imm)" -eq 0
		expect "CDC messages" "$(stat_of tx_cdc)" -gt 0
	}
	! named connect_upgrade || bench_upgrade "$1"
	[ "$1" != upgrade ] || {
		expect "deferred" "$(grown deferred)" -ge 2
		[ -n "$mode" ] || expect "changed over" "$(grown upgraded)" -ge 2
		expect "handshakes" "$(($(grown clnt_smc) + $(grown srv_smc)))" -eq 0
		expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
	}
	[ -z "${PROFILE:-}" ] || print_symbols "$1"
	stop_server
	[ "$1" = tcp ] || unload_smc 2> /dev/null || fail "the module of $1 cannot be removed"
}
