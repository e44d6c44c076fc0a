# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The examples for bpftrace, perf and drgn in tools/, run with the programs of Debian: their output for a
# verified connection, for a fallback and for a lost link must match the counters, tracefs and netlink.
# For two hosts with two links each; host 1 runs the programs.

CASES="watched:900 bpftrace perf:120 drgn unload:90"
export CASES

# shellcheck disable=SC1091 # exists in the guest only
. /h/tree.sh

TRACING=/sys/kernel/tracing
OWN=$TRACING/instances/observe

setup()
{
	setup_net_same
	[ -d "$TRACING/events" ] || fail "no trace points in this kernel"
	setup_rxe && load_smc || return 1
	for l in 0 1; do
		/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || return 1
	done
	[ "$HOST" = 2 ] || { mount_tree && mkdir "$TREE/ours" && mount --bind /ours "$TREE/ours"; }
}

two_links()
{
	[ "$(/t/smcctl link | grep -c ' active ')" -ge 2 ]
}

# used_rnic: print the RNIC of the connection
used_rnic()
{
	/t/smcctl link | awk '$3 == "active" && $4 > 0 { print $7; exit }'
}

in_use()
{
	[ -n "$(used_rnic)" ] && [ "$(grown rx_bytes)" -ge 1 ] && [ "$(grown tx_bytes)" -ge 1 ]
}

moved()
{
	[ "$(grown conn_move)" -ge 1 ]
}

# attached PID NUMBER: the process has opened at least NUMBER events, and opens no more
attached()
{
	for f_ in "/proc/$1"/fd/*; do
		readlink "$f_"
	done > /run/fds
	is_=$(grep -c perf_event /run/fds)
	sleep 3
	[ "$is_" -ge "$2" ] && for f_ in "/proc/$1"/fd/*; do
		readlink "$f_"
	done | grep -c perf_event | grep -qx "$is_"
}

# in_hist NAME FILE: number of values in the histogram of that name
in_hist()
{
	awk -v name="@$1:" '
		index($0, name) == 1 { on = 1; next }
		on && /^[[(]/ { sub(/\|.*/, ""); n += $NF; next }
		{ on = 0 }
		END { print n + 0 }' "$2"
}

# packets: sent by both RNICs
packets()
{
	echo $(($(rxe_counter sent_pkts rxe0) + $(rxe_counter sent_pkts rxe1)))
}

# sum_of NAME FILE: the sum of that name
sum_of()
{
	sed -n "s/^@$1: //p" "$2"
}

# exchange_some: a verified connection, and one that falls back as its client has no SMC socket
exchange_some()
{
	exchange 1 smc smc --io block stream:1
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc &
		server=$!
		await_server
		sync_signal plain
		wait "$server" || fail "server ended with $?"
	else
		sync_wait plain || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family inet --wait 10 --quit --io block \
			stream:1 || fail "client ended with $?"
	fi
}

# objects WHEN: what drgn finds in the kernel's memory, and what netlink says
objects()
{
	in_tree drgn -s /ours/smc.ko /t/smc_objects.py > "/run/objects.$1" 2> /run/drgn.said ||
		fail "drgn ended with $?: $(tail -n 3 /run/drgn.said)"
	/t/smcctl link > "/run/links.$1"
	/t/smcctl linkgroup > "/run/groups.$1"
}

# lose_link: the link of a connection is removed
lose_link()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal idle
	else
		sync_wait idle || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
			--quit --timeout 400000 --io block idle:400 > /run/client 2>&1 &
		client=$!
	fi
	wait_for 60 two_links || fail "no second link"
	wait_for 60 in_use || fail "no traffic"
	[ "$HOST" = 2 ] || objects before
	sync_barrier used 300 || exit 1
	if [ "$HOST" = 2 ]; then
		/usr/sbin/rdma link delete "$(used_rnic)" || fail "no RNIC"
		wait_for 30 moved || fail "the connection does not move"
		sync_signal cut
		sync_wait seen 300 || exit 1
		kill "$client"
		wait "$client" || { cat /run/client; fail "client ended with $?"; }
	else
		sync_wait cut || exit 1
		wait_for 30 moved || fail "the connection does not move"
		objects after
		sync_signal seen
		wait "$server" || { cat /run/server; fail "server ended with $?"; }
	fi
}

# trace_on, then trace_off: record all trace points of the module in a tracefs instance of its own
trace_on()
{
	mkdir "$OWN" || fail "no buffer"
	echo 16384 > "$OWN/buffer_size_kb"
	echo 1 > "$OWN/events/smc/enable"
}

trace_off()
{
	echo 0 > "$OWN/events/smc/enable"
	sed -n 's/^.* [0-9]*\.[0-9]*: \(smcr*_[a-z_]*\): /\1 /p' "$OWN/trace" > /run/trace
	for s_ in "$OWN"/per_cpu/cpu*/stats; do
		grep -q '^overrun: 0$' "$s_" || fail "traces were lost"
	done
	rmdir "$OWN"
}

# traced EVENT [FIELD=VALUE]: number of such events
traced()
{
	grep -c "^$1 .*${2:+$2\\b}" /run/trace
}

# reasons: the codes of fallbacks in the statistics on standard input
reasons()
{
	grep -o '0x[0-9a-f]\{8\}' | sort -u
}

# Runs the programs; the next cases check their output.
case_watched()
{
	before
	packets0=$(packets)
	if [ "$HOST" = 1 ]; then
		# as a simple command, so that $! is its process number
		chroot "$TREE" bpftrace /t/smc_times.bt > /run/times 2>&1 &
		bpftrace=$!
		wait_for 240 attached "$bpftrace" 9 || fail "bpftrace: $(head -n 3 /run/times)"
		chroot "$TREE" perf record -q -a -m 1024 -e 'smc:*' -o /tmp/perf.data > /run/record 2>&1 &
		perf=$!
		wait_for 90 attached "$perf" 17 || fail "perf record: $(head -n 3 /run/record)"
		trace_on
	fi
	sync_barrier on 400 || exit 1
	exchange_some
	sync_barrier some || exit 1
	lose_link
	sync_barrier lost || exit 1
	[ "$HOST" = 1 ] || return 0
	# later events may be recorded by one program only, or by all
	sleep 3
	trace_off
	kill -INT "$bpftrace" "$perf"
	wait "$bpftrace" || fail "bpftrace ended with $?: $(tail -n 3 /run/times)"
	wait "$perf"
	rc=$?
	# perf ends with the status of the signal
	[ "$rc" = 0 ] || [ "$rc" = 130 ] ||
		fail "perf record ended with $rc: $(tail -n 3 /run/record)"
	expect "RDMA packets" "$(($(packets) - packets0))" -ge 256
	for c_ in srv_smc srv_fback conn_move tx_bytes rx_bytes; do
		echo "$c_ $(grown "$c_")"
	done > /run/grown
	cat /run/grown
	# there were no fallbacks before
	/t/smcctl -j stats | reasons > /run/reasons
	expect "SMC connections" "$(grown srv_smc)" -ge 2
	expect "fallbacks" "$(grown srv_fback)" -ge 1
	expect "moved connections" "$(grown conn_move)" -ge 1
}

# counted COUNTER: its increase in that time
counted()
{
	awk -v n="$1" '$1 == n { print $2 }' /run/grown
}

case_bpftrace()
{
	[ "$HOST" = 1 ] || return 0
	cat /run/times
	expect "handshakes of a server that became SMC" "$(in_hist 'handshake_usecs[1, 0]' /run/times)" \
		-eq "$(counted srv_smc)"
	expect "calls that sent" "$(in_hist sent_bytes /run/times)" -eq "$(traced smc_tx_sendmsg)"
	expect "calls that sent, at least" "$(traced smc_tx_sendmsg)" -ge 10
	expect "bytes sent" "$(sum_of sent /run/times)" -eq "$(counted tx_bytes)"
	expect "bytes received" "$(sum_of received /run/times)" -eq "$(counted rx_bytes)"
	expect "bytes sent, at least" "$(counted tx_bytes)" -ge 1048576
	expect "calls that received" "$(in_hist received_bytes /run/times)" -eq \
		"$(traced smc_rx_recvmsg)"
	expect "fallbacks, each reported" "$(grep -c '^fallback: reason 0x' /run/times)" -eq \
		"$(counted srv_fback)"
	sed -n 's/^fallback: reason \(0x[0-9a-f]*\),.*/\1/p' /run/times | sort -u |
		diff /run/reasons - || fail "other reasons than in the statistics"
	expect "fallbacks, by reason" "$(sed -n 's/^@fallbacks\[.*\]: //p' /run/times |
		awk '{ n += $1 } END { print n + 0 }')" -eq "$(counted srv_fback)"
	expect "resumed connections" "$(in_hist resume_usecs /run/times)" -eq \
		"$(traced smc_conn_resume)"
}

case_perf()
{
	[ "$HOST" = 1 ] || return 0
	in_tree perf script -i /tmp/perf.data -F event,trace > /run/perf 2> /run/perf.said ||
		fail "perf script ended with $?: $(head -n 3 /run/perf.said)"
	sed -n 's/^ *smc:\([a-z_]*\): .*/\1/p' /run/perf | sort | uniq -c > /run/perf.events
	cut -d ' ' -f 1 /run/trace | sort | uniq -c > /run/trace.events
	cat /run/perf.events
	expect "kinds of events" "$(wc -l < /run/trace.events)" -ge 14
	# perf recorded longer than tracefs, and groups add links and send LLC messages on their own
	awk 'NR == FNR { seen[$2] = $1; next }
		$2 ~ /^smc_(llc|link|fence|group)_/ ? seen[$2] < $1 : seen[$2] != $1 {
			print $2 ": " seen[$2] + 0 ", not " $1
			bad = 1
		}
		END { exit bad }' /run/perf.events /run/trace.events ||
		fail "perf has other events than tracefs"
	expect "bytes sent" "$(perf_bytes smc_tx_sendmsg)" -eq "$(counted tx_bytes)"
	expect "bytes received" "$(perf_bytes smc_rx_recvmsg)" -eq "$(counted rx_bytes)"
}

# perf_bytes EVENT: the sum of its lengths
perf_bytes()
{
	sed -n "s/^ *smc:$1:.*len=\([0-9]*\).*/\1/p" /run/perf | awk '{ n += $1 } END { print n + 0 }'
}

# objects_links FILE: the active links in the output of drgn, as "GROUP NUMBER CONNECTIONS"
objects_links()
{
	sed -n 's/^  link \(......\)\(..\): active, .*, \([0-9]*\) connections.*/0x\100 \2 \3/p' "$1"
}

case_drgn()
{
	[ "$HOST" = 1 ] || return 0
	for w_ in before after; do
		cat "/run/objects.$w_"
		objects_links "/run/objects.$w_" | while read -r g_ n_ rest_; do
			echo "$g_ $((0x$n_)) $rest_"
		done | sort > /run/drgn.links
		awk '$3 == "active" { print $1, $2, $4 }' "/run/links.$w_" | sort |
			diff - /run/drgn.links || fail "$w_: other links than netlink has"
	done
	lost=$(awk 'NR == 2 { print $8 }' /run/groups.after)
	expect "links lost" "$lost" -ge 1
	expect "groups that have lost them" \
		"$(grep -c "^group .*: server, ready, .*, $lost links lost, the last at " /run/objects.after)" -eq 1
	used=$(sed -n 's/^  connection .*: active, over \([0-9a-f]*\), .*/\1/p' /run/objects.before)
	now=$(sed -n 's/^  connection .*: active, over \([0-9a-f]*\), .*, [0-9]* moves, the last at .*/\1/p' \
		/run/objects.after)
	expect "link of the connection" "$used" != ""
	expect "link of the moved connection" "$now" != ""
	expect "link of the moved connection" "$now" != "$used"
}

case_unload()
{
	sync_barrier idle || exit 1
	[ "$HOST" = 2 ] || umount -R "$TREE" 2> /dev/null
	unload_smc || fail "the module cannot be unloaded"
}
