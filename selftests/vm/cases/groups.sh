# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# How link groups are created, fill up, are shared, become stale and end: the list of groups on
# both hosts (smcctl linkgroup) and the counters must match the connections of the case. Host $C
# connects and host $S serves unless a case says otherwise.
#
# Two namespaces (virtual time): all cases. Two instances: cases in which one host loses its
# module and the other one does not; there host 2 may have the in-tree family.
#
#   FAULT   y: the module has fault sites
#   EVIL    y: smc_evil_link is available
#   ONLY    cases to run
#   INTREE  y: host 2 has the in-tree family

CASES="at_once:60 both_ways:60 full:90 full_client:60 idle:300 idle_client:120 open:300 out_of_sync:120"
[ -z "$FAULT" ] || CASES="$CASES regions:60 no_keys:60 regions_client:60"
[ -z "$EVIL" ] || CASES="$CASES hostile:120"
[ -z "$ONLY" ] || CASES=$ONLY
[ "$TOPOLOGY" = netns ] || CASES="lost:180 out_of_sync:120"
CASES="$CASES unload:60"
export CASES

S=1
C=2
BYTES=1000	# of one connection each way (CONTACT_BYTES of smc_traffic)

setup()
{
	modprobe -q nf_tables
	setup_net && setup_rxe && load_smc
}

# set_on HOST NAME VALUE: sets a sysctl of net.smc
set_on()
{
	[ "$HOST" != "$1" ] || sysctl -q -w "net.smc.$2=$3" || fail "sysctl $2"
}

# reload: a newly loaded module without any group
reload()
{
	sync_barrier reload || exit 1
	if ours; then
		unload_smc || fail "the module cannot be unloaded"
		load_smc || fail "the module cannot be loaded again"
	fi
	sync_barrier loaded || exit 1
}

# --- the list of groups ---

# conns_of ROLE: number of connections of each group in this role, largest first
conns_of()
{
	/t/smcctl linkgroup | awk -v r="$1" '$2 == r { print $4 }' | sort -rn | tr '\n' ' '
}

ids()
{
	/t/smcctl linkgroup | awk '/^0x/ { print $1 }' | sort | tr '\n' ' '
}

groups_are()
{
	[ "$(conns_of "$1")" = "${2:+$2 }" ]
}

# await_groups ROLE "CONNECTIONS..." [SECONDS]
await_groups()
{
	wait_for "${3:-10}" groups_are "$1" "$2" || {
		/t/smcctl linkgroup
		dmesg | grep 'smc: ' | tail -n 20
		fail "groups as $1 have \"$(conns_of "$1")\" connections, not \"$2\""
	}
}

# expect_groups "CONNECTIONS..." [SECONDS]: one host as server, the other as client, and no others
expect_groups()
{
	if [ "$HOST" = "$S" ]; then
		await_groups server "$1" "$2"
		await_groups client ""
	else
		await_groups client "$1" "$2"
		await_groups server ""
	fi
}

no_fallbacks()
{
	for s_ in clnt_fback srv_fback clnt_hs_err srv_hs_err; do
		expect "$s_" "$(stat_of "$s_")" -eq 0
	done
}

# expect_rdma N: the bytes of N connections went by RDMA since the module was loaded
expect_rdma()
{
	expect "bytes out" "$(stat_of tx_write_bytes)" -ge $((BYTES * $1))
	expect "bytes in" "$(stat_of rx_bytes)" -ge $((BYTES * $1))
	no_fallbacks
}

# --- connections ---

# serve [PORT]: until the end of the case, or until stop_serving
serve()
{
	/t/smc_traffic server --family smc --port "${1:-4430}" --timeout 600000 \
		> "/run/server.${1:-4430}" 2>&1 &
	servers="$servers $!"
	await_server "${1:-4430}"
}

stop_serving()
{
	for p_ in $servers; do
		kill "$p_"
		wait "$p_" 2> /dev/null
	done
	servers=
}

# hold_conns MODE N [PORT]: N connections begun at once, kept until close_conns
hold_conns()
{
	nr_held=$((${nr_held:-0} + 1))
	# shellcheck disable=SC2153 # CASE is set by main.sh
	out_=/run/hold.$CASE.$nr_held
	/t/smc_traffic client --connect "$(peer_addr)" --port "${3:-4430}" --family smc \
		--require "$1" --mode --timeout 600000 "hold:$2" > "$out_" 2>&1 &
	pid_=$!
	held="$held $pid_"
	wait_for 60 grep -qs '^# holding' "$out_" || {
		cat "$out_"
		fail "no $2 connections in mode $1"
	}
	cat "$out_"
}

# close_conns: closes the held connections; none may have ended before
close_conns()
{
	for p_ in $held; do
		kill "$p_"
		wait "$p_" || fail "not all lasted: $(grep -h '^# hold: c' "/run/hold.$CASE".*)"
	done
	held=
}

# run_conn MODE [PORT]: a connection with a stream each way, closed at its end
run_conn()
{
	/t/smc_traffic client --connect "$(peer_addr)" --port "${2:-4430}" --family smc \
		--require "$1" --mode burst:1 || fail "no connection in mode $1"
}

# step NAME COMMAND...: host $C runs the command, both hosts wait for its end
step()
{
	step_=$1
	shift
	if [ "$HOST" = "$C" ]; then
		sync_wait "before.$step_" > /dev/null || exit 1
		"$@"
		sync_signal "after.$step_"
	else
		sync_signal "before.$step_"
		sync_wait "after.$step_" 200 > /dev/null || exit 1
	fi
}

# --- many ---

# Simultaneous first contacts of one host create one group.
case_at_once()
{
	reload
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 20
	expect_groups 20
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	expect_rdma 20
	step gone close_conns
	expect_groups 0
}

# Simultaneous first contacts of both hosts create one group for each direction.
case_both_ways()
{
	reload
	serve
	sync_barrier up || exit 1
	hold_conns smc 5
	sync_barrier held || exit 1
	await_groups server 5
	await_groups client 5
	expect "first contacts" "$(stat_of first_contact)" -eq 2
	expect "as client" "$(stat_of clnt_smc)" -eq 5
	expect "as server" "$(stat_of srv_smc)" -eq 5
	expect_rdma 10
	sync_barrier seen || exit 1
	close_conns
	await_groups server 0
	await_groups client 0
}

# The server's limit of connections per group: more groups are created. Free places are used again.
case_full()
{
	reload
	set_on 1 smcr_max_conns_per_lgr 16
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 40
	expect_groups "16 16 8"
	expect "first contacts" "$(stat_of first_contact)" -eq 3
	ids0=$(ids)
	step gone close_conns
	expect_groups "0 0 0"
	step again hold_conns smc 40
	expect_groups "16 16 8"
	expect "first contacts" "$(stat_of first_contact)" -eq 3
	expect "the same groups" "$(ids)" = "$ids0"
	expect_rdma 80
	step over close_conns
}

# The client's limit applies as well.
case_full_client()
{
	reload
	set_on 2 smcr_max_conns_per_lgr 16
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 20
	expect_groups "16 4"
	expect_rdma 20
	step gone close_conns
}

# --- idle ---

# The server's idle time starts again after each connection.
case_idle()
{
	reload
	set_on 1 smcr_idle_time_server 20
	set_on 2 smcr_idle_time_client 30
	[ "$HOST" = 2 ] || serve
	step first run_conn smc
	expect_groups 0
	ids0=$(ids)
	sleep 17
	step second run_conn smc
	expect_groups 0
	sleep 17
	expect_groups 0 1
	expect "the same group" "$(ids)" = "$ids0"
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	sleep 4
	expect_groups "" 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 1
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	expect_rdma 2
	step third run_conn smc
	expect "first contacts" "$(stat_of first_contact)" -eq 2
}

# The client's idle time, if it is shorter.
case_idle_client()
{
	reload
	set_on 1 smcr_idle_time_server 60
	set_on 2 smcr_idle_time_client 10
	[ "$HOST" = 2 ] || serve
	step first run_conn smc
	expect_groups 0
	sleep 8
	expect_groups 0 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	sleep 4
	expect_groups "" 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 1
	expect_rdma 1
}

# A silent connection keeps its group.
case_open()
{
	reload
	set_on 1 smcr_idle_time_server 5
	set_on 2 smcr_idle_time_client 5
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 1
	sleep 60
	expect_groups 1 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	step gone close_conns
	expect_groups "" 8
	expect_rdma 1
}

# --- stale ---

# mute HOST: drops all packets that it sends or receives
mute()
{
	[ "$HOST" = "$1" ] || return 0
	/usr/sbin/nft -f - << EOF || fail "no filter"
table inet mute {
	chain in {
		type filter hook input priority 0;
		iifname eth0 drop
	}
	chain out {
		type filter hook output priority 0;
		oifname eth0 drop
	}
}
EOF
}

unmute()
{
	[ "$HOST" != "$1" ] || /usr/sbin/nft delete table inet mute || fail "the filter cannot be removed"
}

# reasons OWN [PEER]: expects these reasons of a connection that fell back to TCP
reasons()
{
	/t/smcctl sock | grep -i tcp
	/t/smcctl -j sock | tr -d '\n ' |
		grep -q "\"reason\":\"$1\"[^{}]*${2:+\"peer_reason\":\"$2\"}" ||
		fail "no connection with the reasons $*"
}

# The client's group has ended without a message to the server. The next connection falls back
# with the reason for it, and the old group ends; the connection after it uses SMC. With the in-tree
# family our side loses the group; the server detects it by an unanswered CONFIRM RKEY, and
# drops the group when TEST LINK is not answered either.
case_out_of_sync()
{
	[ -z "$INTREE" ] || { S=2 C=1; }
	reload
	# longer than the time until the host is muted
	idle=$((5 * SLOWNESS))
	# in-tree needs TEST LINK to end the group, but only after the next connection
	test_link=0
	[ -z "$INTREE" ] || test_link=$((idle + 3 + 4 * SLOWNESS * SLOWNESS))
	set_on "$S" smcr_testlink_time "$test_link"
	set_on "$C" smcr_testlink_time 0
	set_on "$C" smcr_idle_time_client "$idle"
	[ "$HOST" = "$C" ] || serve
	step first run_conn smc
	# the in-tree module keeps a closed connection for a moment
	expect_groups 0 30
	mute "$C"
	sleep $((idle + 3))
	if [ "$HOST" = "$S" ]; then
		await_groups server 0 1
	else
		await_groups client "" 1
		expect "groups ended" "$(stat_of lgr_term)" -eq 1
	fi
	sync_barrier lost || exit 1
	unmute "$C"
	step tcp hold_conns tcp 1
	if [ "$HOST" = "$C" ] && [ -n "$INTREE" ]; then
		reasons 0x05000000 0x09990003
	elif [ "$HOST" = "$C" ]; then
		reasons 0x04000000
		expect "fallbacks" "$(stat_of clnt_fback)" -eq 1
	elif ours; then
		reasons 0x05000000 0x04000000
		expect "fallbacks" "$(stat_of srv_fback)" -eq 1
	fi
	expect_groups "" $((test_link ? test_link + 21 : 3))
	if ours; then
		expect "groups ended" "$(stat_of lgr_term)" -eq 1
		expect "resets" "$(($(stat_of clnt_hs_err) + $(stat_of srv_hs_err)))" -eq 0
	fi
	step tcp_over close_conns
	step second run_conn smc
	expect_groups 0 30
	! ours || expect "first contacts" "$(stat_of first_contact)" -eq 2
}

reload_module()
{
	unload_smc || fail "the module cannot be unloaded"
	load_smc || fail "the module cannot be loaded again"
}

# Host 2 loses its module without a message to the peer and loads it again, while host 1 has
# connections to it in both roles. These are idle, and TEST LINK is off.
case_lost()
{
	reload
	set_on 1 smcr_testlink_time 0
	serve
	sync_barrier up || exit 1
	hold_conns smc 1
	sync_barrier held || exit 1
	await_groups server 1
	await_groups client 1
	sync_barrier seen || exit 1
	if [ "$HOST" = 2 ]; then
		mute 2
		kill_all "$held" "$servers"
		held=
		servers=
		reload_module
		unmute 2
		serve
		sync_signal back
	else
		sync_wait back 120 > /dev/null || exit 1
		await_groups server 1 1
		await_groups client 1 1
		expect "groups ended" "$(stat_of lgr_term)" -eq 0
	fi
	sync_barrier checked || exit 1
	check_return
}

# New connections of the host that has lost its module.
check_return()
{
	# in-tree clients of version 2 have no peer ID: the server takes them for the old peer
	[ -z "$INTREE" ] || step refused run_conn tcp
	step new hold_conns smc 1
	if [ "$HOST" = 1 ]; then
		# the oldest group is asked, and without an answer for 8 s the other one, unless a queue pair fails before
		await_groups server 1 25
		await_groups client ""
		expect "groups ended" "$(stat_of lgr_term)" -eq 2
		diag "old groups: $(dmesg | sed -n 's/.*smc: group .*: ends: //p' | tail -n 2 |
			tr '\n' ',')"
		wait "${held# }" && fail "a connection of the lost module still exists"
		grep '^# hold' "/run/hold.$CASE.1"
		held=
		hold_conns smc 1
		await_groups client 1
		expect "resets" "$(($(stat_of clnt_hs_err) + $(stat_of srv_hs_err)))" -eq 0
	fi
	sync_barrier over || exit 1
	close_conns
	# the end of the case ends the server of this host
	sync_barrier gone || exit 1
}

# --- RMBs ---

# fail_at SITE:N...: injects a fault, on the host that passes the site first
fail_at()
{
	echo "$1" > /sys/module/smc/parameters/fault
}

fired()
{
	awk -v s="$1" '$1 == s { print $4 }' /proc/smc_faults
}

# A connection needs an RMB of another size, and the group has its maximum of RMBs: the server
# creates another group.
case_regions()
{
	reload
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 1
	expect_groups 1
	set_on 1 rmem 262144
	[ "$HOST" = 2 ] || serve 4431
	[ "$HOST" = 2 ] || fail_at REGION_LIMIT:1
	step further hold_conns smc 1 4431
	expect "limits met" "$(fired REGION_LIMIT)" -eq 1
	expect_groups "1 1"
	expect "first contacts" "$(stat_of first_contact)" -eq 2
	expect_rdma 2
	step gone close_conns
	expect_groups "0 0"
}

# The device has no more rkeys: another group would not help, so none is created.
case_no_keys()
{
	reload
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 1
	expect_groups 1
	set_on 1 rmem 262144
	[ "$HOST" = 2 ] || serve 4431
	[ "$HOST" = 2 ] || fail_at MR:1
	step tcp hold_conns tcp 1 4431
	expect "keys refused" "$(fired MR)" -eq 1
	expect_groups 1
	if [ "$HOST" = 1 ]; then
		reasons 0x01010000
	else
		reasons 0x05000000 0x01010000
	fi
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	step gone close_conns
	expect_groups 0
}

# The client cannot create an RMB: the connection falls back, and the other connection continues.
case_regions_client()
{
	reload
	kept=$(stat_of elem_quarantine)
	[ "$HOST" = 2 ] || serve
	step held hold_conns smc 1
	expect_groups 1
	set_on 2 rmem 262144
	# the first region is a send ring of the server: the one that there was is in use
	[ "$HOST" = 2 ] || fail_at REGION_LIMIT:2
	step tcp hold_conns tcp 1
	expect "limits met" "$(fired REGION_LIMIT)" -eq 1
	expect_groups 1
	if [ "$HOST" = 1 ]; then
		reasons 0x05000000 0x09990003
	else
		reasons 0x09990003
	fi
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	# the server had announced one of its RMBEs; a client that declines does not write there
	expect "RMBEs out of use" "$(stat_of elem_quarantine)" -eq "$kept"
	step gone close_conns
	expect_groups 0
}

# --- a misbehaving peer ---

# Invalid eye catchers; 255 announced RMBs; Declines with "out of synchronization".
case_hostile()
{
	reload
	if [ "$HOST" = 1 ]; then
		serve
		/t/smc_evil_link witness > /run/witness 2>&1 &
		witness=$!
		wait_for 20 grep -q 'witness on port' /run/witness || fail "$(cat /run/witness)"
	fi
	step attack attack
	[ "$HOST" = 2 ] || { kill "$witness"; wait "$witness" 2> /dev/null || :; }
}

attack()
{
	ip addr add 10.0.0.66/24 dev eth0
	/t/smc_evil_link attack --connect "$(peer_addr)" --bind "$(own_addr)" --other 10.0.0.66 \
		--only group_ > /run/attack 2>&1
	rc=$?
	ip addr del 10.0.0.66/24 dev eth0
	cat /run/attack
	grep -E '^(not ok|ok .*# SKIP)' /run/attack | while read -r line_; do
		diag "$line_"
	done
	[ "$rc" = 0 ] || fail "smc_evil_link ended with $rc"
}

# --- the end ---

case_unload()
{
	sync_barrier idle || exit 1
	ours || return 0
	unload_smc || fail "the module cannot be unloaded"
	for k_ in qp mr pd cq; do
		expect "$k_ left" "$(/usr/sbin/rdma resource show "$k_" |
			grep -c 'comm \[smc\]')" -eq 0
	done
}
