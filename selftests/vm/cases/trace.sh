# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Trace points between two hosts with two RNICs each. Trace points that the in-tree family also has
# must have its fields at the same offsets, as the in-tree module reports: hosts first load the
# in-tree module, and ours is in /t. Then the traces of one verified connection, of a lost link and
# of a fallback must be complete and in order, with the values of the counters and of the other host.
#
#   TRACED    the cases (default: all)

CASES="${TRACED:-format filter connection:90 loss:120 fallback:90} unload:60"
export CASES

TRACING=/sys/kernel/tracing

setup()
{
	setup_net_same
	[ -d "$TRACING/events" ] || fail "no trace points in this kernel"
	setup_rxe && load_smc || return 1
	save_format intree
	unload_smc && insmod /t/smc.ko && insmod /t/smc_diag.ko || return 1
	for l in 0 1; do
		/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || return 1
	done
}

# save_format NAME: a file for each trace point of the loaded module, in /run/format/NAME
save_format()
{
	mkdir -p "/run/format/$1"
	for e_ in "$TRACING"/events/smc/*/format; do
		name_=$(basename "$(dirname "$e_")")
		sed -n '/field:[^;]* common_/d; s/^\tfield://p' "$e_" > "/run/format/$1/$name_"
	done
}

case_format()
{
	save_format ours
	known=0
	for f in /run/format/intree/smc*; do
		e=${f##*/}
		[ -s "$f" ] || fail "the in-tree $e has no fields"
		while IFS= read -r line; do
			grep -qxF -- "$line" "/run/format/ours/$e" || fail "$e: no $line"
		done < "$f"
		known=$((known + 1))
	done
	expect "in-tree trace points" "$known" -ge 4
	diag "in-tree trace points: $known, ours: $(find /run/format/ours -type f | wc -l)"
}

# filtered FILTER [EVENT...]: what smc_trace says about a filter that no event takes, and its status
filtered()
{
	/t/smc_trace -f "$@" > /run/filtered 2>&1 &
	filtering=$!
	wait_for 10 ended "$filtering" || { kill "$filtering"; fail "smc_trace -f '$1' waits for events"; }
	wait "$filtering"
	echo "$? $(cat /run/filtered)"
}

ended()
{
	! kill -0 "$1" 2> /dev/null
}

# A filter that no event takes ends at once; one that some take does not, and leaves out the others.
case_filter()
{
	why="a field that they lack, or not its language"
	for f in 'token ==' 'colour == 1' 'token == 1 or'; do
		expect "filter '$f'" "$(filtered "$f")" = "1 smc_trace: none of the events takes the filter '$f': $why"
	done
	expect "a field of other events" "$(filtered 'token == 1' smc_link_state)" = \
		"1 smc_trace: none of the events takes the filter 'token == 1': $why"
	/t/smc_trace -f 'token == 1' > /run/filtered 2>&1 &
	filtering=$!
	wait_for 10 tracing || fail "nothing is traced: $(cat /run/filtered)"
	[ "$(cat "$TRACING"/instances/*/events/smc/smc_link_state/enable)" = 0 ] || fail "an event without the field is traced"
	kill "$filtering"
	wait "$filtering"
	expect "buffers of smc_trace left" "$(find "$TRACING/instances" -mindepth 1 -maxdepth 1 | wc -l)" -eq 0
}

tracing()
{
	[ "$(cat "$TRACING"/instances/*/events/smc/smc_conn_state/enable 2> /dev/null)" = 1 ]
}

# trace_on [EVENT...]: these, or all of them
trace_on()
{
	echo 8192 > "$TRACING/buffer_size_kb"
	echo mono > "$TRACING/trace_clock"
	echo > "$TRACING/trace"
	[ $# -gt 0 ] || set -- .
	for e_ in "$@"; do
		echo 1 > "$TRACING/events/smc/$e_/enable" || fail "no trace point $e_"
	done
}

# copy_trace: writes the trace to /run/trace, one event per line: name, then fields
copy_trace()
{
	sed -n 's/^.* [0-9]*\.[0-9]*: \(smcr*_[a-z_]*\): /\1 /p' "$TRACING/trace" > /run/trace
}

trace_off()
{
	echo 0 > "$TRACING/events/smc/enable"
	copy_trace
	for s_ in "$TRACING"/per_cpu/cpu*/stats; do
		grep -q '^overrun: 0$' "$s_" || fail "traces were lost"
	done
	diag "host $HOST: traced: $(cut -d ' ' -f 1 /run/trace | sort | uniq -c | tr -s ' \n' ' ')"
}

# count EVENT [FIELD=VALUE]: number of such events in /run/trace
count()
{
	grep -c "^$1 .*${2:+$2\\b}" /run/trace
}

# sum EVENT FIELD: sum of the field in /run/trace
sum()
{
	awk -v e="$1" -v f="$2=" '$1 == e {
		for (i = 2; i <= NF; i++)
			if (index($i, f) == 1)
				n += substr($i, length(f) + 1)
	} END { print n + 0 }' /run/trace
}

# check_trace PROGRAM: runs awk over /run/trace with the functions value(FIELD) and wrong(WHAT); the
# program sets "ok" at its end
check_trace()
{
	awk '
		function value(name, at) {
			for (at = 2; at <= NF; at++)
				if (index($at, name "=") == 1)
					return substr($at, length(name) + 2)
		}
		function wrong(what) { print what ": " $0; bad = 1 }
		'"$1"'
		END { exit bad || !ok }' /run/trace > /run/checked || {
		head -n 60 /run/trace
		fail "host $HOST: trace: $(head -n 1 /run/checked)"
	}
}

# --- one connection after the other, until its end ---

# All connections are closed.
all_closed()
{
	copy_trace
	[ "$(count smc_conn_state to=14)" -ge "$(count smc_hs_end outcome=0)" ] &&
		[ "$(count smc_conn_state to=1)" -ge 1 ]
}

# The numbers of events and bytes are those of the counters.
check_counts()
{
	expect "bytes sent" "$(sum smc_tx_sendmsg len)" -eq "$(grown tx_bytes)"
	expect "bytes received" "$(sum smc_rx_recvmsg len)" -eq "$(grown rx_bytes)"
	expect "bytes sent, at least" "$(grown tx_bytes)" -ge 1048576
	expect "CDC messages sent" "$(count smc_cdc_tx)" -eq "$(grown tx_cdc)"
	expect "CDC messages received" "$(count smc_cdc_rx)" -eq \
		"$(($(grown rx_cdc) - $(grown rx_cdc_bad)))"
	expect "LLC messages sent" "$(count smc_llc_tx)" -eq "$(grown tx_llc)"
	expect "LLC messages received" "$(count smc_llc_rx)" -eq "$(grown rx_llc)"
	expect "LLC messages received, at least" "$(grown rx_llc)" -ge 2
	expect "handshakes" "$(count smc_hs_end outcome=0)" -eq \
		"$(($(grown clnt_smc) + $(grown srv_smc)))"
	expect "no fallback" "$(count smc_switch_to_fallback)" -eq 0
	expect "no failure" "$(count smc_link_fail)" -eq 0
}

# Proposal, Accept and Confirm of each side are in order; before the end of a first handshake the
# group, the link and the connection are active; messages have consecutive sequence numbers.
check_connection()
{
	# shellcheck disable=SC2016 # a program
	check_trace '
		$1 == "smc_group_state" { group[value("group")] = value("state") }
		$1 == "smc_group_state" && value("state") == 2 { ready++ }
		$1 == "smc_link_state" {
			l = value("link")
			if (l in link && link[l] != value("from"))
				wrong("state of a link")
			link[l] = value("to")
		}
		$1 == "smc_conn_state" {
			t = value("token")
			if (t in conn ? conn[t] != value("from") : value("from") != 0)
				wrong("state of a connection")
			conn[t] = value("to")
		}
		$1 == "smc_clc_tx" { clc[value("clcsk")] = clc[value("clcsk")] "t" value("type") }
		$1 == "smc_clc_rx" { clc[value("clcsk")] = clc[value("clcsk")] "r" value("type") }
		$1 == "smc_hs_end" {
			s = value("clcsk")
			if (clc[s] != (value("server") == 1 ? "r1t2r3" : "t1r2t3"))
				wrong("CLC messages are " clc[s])
			delete clc[s]
			if (value("err") != 0 || value("own_rsn") != "0x00000000")
				wrong("reasons")
			if (conn[value("token")] != 1)
				wrong("the connection is not active")
			if (link[value("link")] != 4)
				wrong("the link is not active")
			if (!ready)
				wrong("no group is ready")
			ended++
		}
		# an immediate value has the number after that of the message before it
		$1 ~ /^smc_imm_[tr]x$/ {
			t = $1
			sub("imm", "cdc", t)
			t = t value("token")
			if (!(t in seq))
				wrong("a value before any message")
			seq[t] = (seq[t] + 1) % 65536
		}
		$1 ~ /^smc_cdc_[tr]x$/ {
			t = $1 value("token")
			if (t in seq && (seq[t] + 1) % 65536 != value("seq"))
				wrong("number after " seq[t])
			seq[t] = value("seq")
			if (link[value("link")] != 4)
				wrong("not over an active link")
		}
		$1 ~ /^smc_(tx_sendmsg|rx_recvmsg)$/ {
			if (!(value("token") in conn))
				wrong("an unknown connection")
			if (value("name") !~ /^rxe[01]$/)
				wrong("not over an RNIC")
		}
		END {
			for (t in conn)
				if (conn[t] != 14)
					wrong("connection " t " ends in " conn[t])
			ok = ended
		}'
}

# packets: sent by both RNICs
packets()
{
	echo $(($(rxe_counter sent_pkts rxe0) + $(rxe_counter sent_pkts rxe1)))
}

case_connection()
{
	before
	packets0=$(packets)
	trace_on
	sync_barrier on || exit 1
	exchange 1 smc smc --io block stream:1
	wait_for 30 all_closed || fail "not all are closed"
	# LLC is idle when the group has its maximum of links
	wait_for 60 two_links || fail "no second link"
	sync_barrier closed || exit 1
	trace_off
	expect "RDMA packets" "$(($(packets) - packets0))" -ge 256
	check_counts
	check_connection
}

# --- a link is lost ---

two_links()
{
	[ "$(/t/smcctl link | grep -c ' active ')" -ge 2 ]
}

# A link has a connection, and bytes were transferred in both directions.
in_use()
{
	[ -n "$(used_rnic)" ] && [ "$(grown rx_bytes)" -ge 1 ] && [ "$(grown tx_bytes)" -ge 1 ]
}

# used_rnic: the RNIC of the connection
used_rnic()
{
	/t/smcctl link | awk '$3 == "active" && $4 > 0 { print $7; exit }'
}

moved()
{
	[ "$(grown conn_move)" -ge 1 ]
}

# During a connection that sends before and after the loss, so that the connection surely exists.
case_loss()
{
	before
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal ready
	else
		sync_wait ready || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --wait 10 \
			--quit --timeout 100000 --io block idle:100 > /run/client 2>&1 &
		client=$!
	fi
	wait_for 60 two_links || fail "no second link"
	wait_for 60 in_use || fail "no traffic"
	trace_on smc_link_fail smcr_link_down smc_link_state smc_fence_begin smc_fence_end \
		smc_conn_move smc_conn_resume
	sync_barrier on || exit 1
	if [ "$HOST" = 2 ]; then
		rnic=$(used_rnic)
		/usr/sbin/rdma link delete "$rnic" || fail "no $rnic"
		sync_signal cut "$rnic"
		wait_for 30 moved || fail "the connection does not move"
		# the client now sends the rest, however long the move took
		kill "$client"
		wait "$client" || { cat /run/client; fail "client ended with $?"; }
	else
		rnic=$(sync_wait cut) || exit 1
		wait "$server" || { cat /run/server; fail "server ended with $?"; }
	fi
	trace_off
	expect "links left" "$(grown link_left)" -ge 1
	check_loss
}

check_loss()
{
	# shellcheck disable=SC2016 # a program
	check_trace '
		{ l = value("link"); t = value("token") }
		$1 == "smc_link_fail" { failed[l]++ }
		$1 == "smc_link_fail" && value("reason") == 0 { wrong("no reason") }
		$1 == "smc_link_state" && value("to") == 6 && failed[l] && value("from") == 4 { out[l] = 1 }
		$1 == "smcr_link_down" {
			down++
			if (failed[l] != 1 || !out[l])
				wrong("has not failed once")
			if (value("state") != 1)
				wrong("state")
			if (value("name") != "'"$rnic"'")
				wrong("not the RNIC that was removed")
			lost = l
		}
		$1 == "smc_fence_begin" && l == lost { begun = 1 }
		$1 == "smc_fence_end" && l == lost {
			if (!begun || value("rc") != 0)
				wrong("fence")
			fenced = 1
		}
		$1 == "smc_conn_move" && value("from") == lost {
			if (!fenced)
				wrong("before the fence")
			to[t] = value("to")
		}
		$1 == "smc_conn_resume" && t in to && to[t] == l && value("bytes") > 0 { again++ }
		$1 == "smc_link_state" && l == lost && value("to") == 7 { dead = fenced }
		END {
			print down + 0, "lost,", again + 0, "went on, gone:", dead + 0
			# the server may have sent over the other link before
			ok = down == 1 && (again || '"$HOST"' == 1) && dead
		}'
	diag "host $HOST: $(cat /run/checked)"
}

# --- a fallback ---

no_group()
{
	[ "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0 ]
}

group_gone()
{
	copy_trace
	[ "$(count smc_group_state state=5)" -ge 1 ]
}

NO_DEVICE=0x03038001	# no RNIC with the PNET ID
PEER_DECLINED=0x05000000

# The server's host loses its RNICs: the group ends, and the server declines.
case_fallback()
{
	/t/smc_trace -m > /run/shown 2>&1 &
	shown=$!
	trace_on
	sync_barrier on || exit 1
	[ "$HOST" = 2 ] || for l in 0 1; do
		/usr/sbin/rdma link delete "rxe$l" || fail "no rxe$l"
	done
	wait_for 40 no_group || fail "a group does not end"
	wait_for 20 group_gone || fail "the end of the group is not in the trace"
	sync_barrier gone || exit 1
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc &
		server=$!
		await_server
		sync_signal ready
		wait "$server" || fail "server ended with $?"
		own=$NO_DEVICE peer=0x00000000 clc=r1t4
	else
		sync_wait ready || exit 1
		/t/smc_traffic client --connect 10.0.0.1 --family smc --require tcp --wait 10 \
			--quit --io block stream:1 || fail "client ended with $?"
		own=$PEER_DECLINED peer=$NO_DEVICE clc=t1r4
	fi
	trace_off
	kill "$shown"
	wait "$shown" || { cat /run/shown; fail "smc_trace ended with $?"; }
	expect "fallbacks, as smc_trace shows" "$(grep -c ': smc_switch_to_fallback: ' /run/shown)" -eq \
		"$(count smc_switch_to_fallback)"
	expect "buffers of smc_trace left" "$(find "$TRACING/instances" -mindepth 1 -maxdepth 1 | wc -l)" -eq 0
	expect "fallbacks" "$(count smc_switch_to_fallback)" -ge 1
	expect "bytes over SMC" "$(sum smc_tx_sendmsg len)" -eq 0
	# shellcheck disable=SC2016 # a program
	check_trace '
		$1 == "smc_group_state" {
			g = value("group")
			if (value("state") == 5 && state[g] != 4)
				wrong("gone before its end")
			if (value("state") == 4 && '"$HOST"' == 1 && value("reason") != 3)
				wrong("not for its device")
			state[g] = value("state")
		}
		{ s = value("clcsk") }
		$1 == "smc_clc_tx" { clc[s] = clc[s] "t" value("type") }
		$1 == "smc_clc_rx" { clc[s] = clc[s] "r" value("type") }
		$1 == "smc_hs_end" {
			if (value("outcome") != 1 || value("token") != "00000000")
				wrong("outcome")
			if (value("own_rsn") != "'$own'" || value("peer_rsn") != "'$peer'")
				wrong("reasons")
			ended[s] = 1
		}
		$1 == "smc_switch_to_fallback" && !ended[s]-- { wrong("no handshake before") }
		$1 == "smc_switch_to_fallback" {
			if (value("fallback_rsn") != "'$own'" || value("peer_rsn") != "'$peer'")
				wrong("reasons")
			fell++
			full += clc[s] == "'$clc'"
			delete clc[s]
		}
		END {
			print fell + 0, "fell back,", full + 0, "by a Decline"
			ok = full
		}'
	diag "host $HOST: $(cat /run/checked)"
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	[ ! -e "$TRACING/events/smc" ] || fail "trace points are left"
}
