# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# How link groups come, fill up, are shared, go stale and end: the list of groups on both
# hosts (smcctl linkgroup) and the counters must agree with what was done. Host $C connects
# and host $S serves unless a case says otherwise.
#
# Two namespaces (virtual time): all of it. Two instances: what needs a host that loses its
# module while the other one keeps its own; there host 2 may be the in-tree family.
#
#   FAULT   y: the module has fault sites
#   EVIL    y: smc_evil_link is there
#   ONLY    cases
#   INTREE  y: host 2 is the in-tree family

CASES="at_once:60 both_ways:60 full:90 full_client:60 idle:300 idle_client:120 open:300 out_of_sync:120"
[ -z "$FAULT" ] || CASES="$CASES regions:60 no_keys:60 regions_client:60"
[ -z "$EVIL" ] || CASES="$CASES hostile:120"
[ -z "$ONLY" ] || CASES=$ONLY
[ "$TOPOLOGY" = netns ] || CASES="lost:180 out_of_sync:120"
CASES="$CASES unload:60"
export CASES

S=1
C=2
BYTES=1000	# each way, of one connection (CONTACT_BYTES of smc_traffic)

setup()
{
	modprobe -q nf_tables
	setup_net && setup_rxe && load_smc
}

# set_on HOST NAME VALUE: a setting of net.smc
set_on()
{
	[ "$HOST" != "$1" ] || sysctl -q -w "net.smc.$2=$3" || fail "sysctl $2"
}

# fresh: a module that knows no group
fresh()
{
	sync_barrier fresh || exit 1
	if ours; then
		unload_smc || fail "the module does not go"
		load_smc || fail "the module does not come back"
	fi
	sync_barrier loaded || exit 1
}

# --- the list of groups ---

# conns_of ROLE: connections of each group in this role, most first
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

# both_see "CONNECTIONS..." [SECONDS]: one as server, the other as client, and no others
both_see()
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

# carried N: of N connections since the module came, by RDMA
carried()
{
	expect "bytes out" "$(stat_of tx_write_bytes)" -ge $((BYTES * $1))
	expect "bytes in" "$(stat_of rx_bytes)" -ge $((BYTES * $1))
	no_fallbacks
}

# --- connections ---

# serve [PORT]: lasts as long as the case, or until stop_serving
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

# hold MODE N [PORT]: N connections begun at once, kept until let_go
hold()
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
		fail "$2 connections in mode $1: no"
	}
	cat "$out_"
}

# let_go: not one of them has ended by itself
let_go()
{
	for p_ in $held; do
		kill "$p_"
		wait "$p_" || fail "not all lasted: $(grep -h '^# hold: c' "/run/hold.$CASE".*)"
	done
	held=
}

# one MODE [PORT]: a connection with a stream each way, closed
one()
{
	/t/smc_traffic client --connect "$(peer_addr)" --port "${2:-4430}" --family smc \
		--require "$1" --mode burst:1 || fail "not one good connection in mode $1"
}

# step NAME COMMAND...: host $C does it, both go on when it is done
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

# First contacts of one host at once make one group.
case_at_once()
{
	fresh
	[ "$HOST" = 2 ] || serve
	step held hold smc 20
	both_see 20
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	carried 20
	step gone let_go
	both_see 0
}

# First contacts from both hosts at once: a group for each direction.
case_both_ways()
{
	fresh
	serve
	sync_barrier up || exit 1
	hold smc 5
	sync_barrier held || exit 1
	await_groups server 5
	await_groups client 5
	expect "first contacts" "$(stat_of first_contact)" -eq 2
	expect "as client" "$(stat_of clnt_smc)" -eq 5
	expect "as server" "$(stat_of srv_smc)" -eq 5
	carried 10
	sync_barrier seen || exit 1
	let_go
	await_groups server 0
	await_groups client 0
}

# The server's limit: further groups. What has become free serves again.
case_full()
{
	fresh
	set_on 1 smcr_max_conns_per_lgr 16
	[ "$HOST" = 2 ] || serve
	step held hold smc 40
	both_see "16 16 8"
	expect "first contacts" "$(stat_of first_contact)" -eq 3
	ids0=$(ids)
	step gone let_go
	both_see "0 0 0"
	step again hold smc 40
	both_see "16 16 8"
	expect "first contacts" "$(stat_of first_contact)" -eq 3
	expect "the same groups" "$(ids)" = "$ids0"
	carried 80
	step over let_go
}

# The client's limit counts as much.
case_full_client()
{
	fresh
	set_on 2 smcr_max_conns_per_lgr 16
	[ "$HOST" = 2 ] || serve
	step held hold smc 20
	both_see "16 4"
	carried 20
	step gone let_go
}

# --- idle ---

# The server's time, from the last connection's end, begins anew with each use.
case_idle()
{
	fresh
	set_on 1 smcr_idle_time_server 20
	set_on 2 smcr_idle_time_client 30
	[ "$HOST" = 2 ] || serve
	step first one smc
	both_see 0
	ids0=$(ids)
	sleep 17
	step second one smc
	both_see 0
	sleep 17
	both_see 0 1
	expect "the same group" "$(ids)" = "$ids0"
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	sleep 4
	both_see "" 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 1
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	carried 2
	step third one smc
	expect "first contacts" "$(stat_of first_contact)" -eq 2
}

# The client's time, when that is over first.
case_idle_client()
{
	fresh
	set_on 1 smcr_idle_time_server 60
	set_on 2 smcr_idle_time_client 10
	[ "$HOST" = 2 ] || serve
	step first one smc
	both_see 0
	sleep 8
	both_see 0 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	sleep 4
	both_see "" 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 1
	carried 1
}

# A connection that is silent keeps its group.
case_open()
{
	fresh
	set_on 1 smcr_idle_time_server 5
	set_on 2 smcr_idle_time_client 5
	[ "$HOST" = 2 ] || serve
	step held hold smc 1
	sleep 60
	both_see 1 1
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	step gone let_go
	both_see "" 8
	carried 1
}

# --- stale ---

# mute HOST: nothing gets out of it or in
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
	[ "$HOST" != "$1" ] || /usr/sbin/nft delete table inet mute || fail "the filter stays"
}

# reasons OWN [PEER]: those of the connections that are TCP here
reasons()
{
	/t/smcctl sock | grep -i tcp
	/t/smcctl sock | grep -q "($1)${2:+.*($2)}" || fail "not for the reason $*"
}

# The client's group has ended without a word to the server. The next connection is TCP
# and says why, and leaves no old group behind; the one after it is SMC. With the in-tree
# family it is ours that loses the group; the server finds out by a CONFIRM RKEY that is not
# answered, and drops the group when TEST LINK is not answered either.
case_out_of_sync()
{
	[ -z "$INTREE" ] || { S=2 C=1; }
	fresh
	# long enough for the silence to begin before
	idle=$((5 * SLOWNESS))
	# in-tree needs it to get rid of the group, but not before the next connection
	test_link=0
	[ -z "$INTREE" ] || test_link=$((idle + 3 + 4 * SLOWNESS * SLOWNESS))
	set_on "$S" smcr_testlink_time "$test_link"
	set_on "$C" smcr_testlink_time 0
	set_on "$C" smcr_idle_time_client "$idle"
	[ "$HOST" = "$C" ] || serve
	step first one smc
	# in-tree keeps a closed connection for a moment
	both_see 0 30
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
	step tcp hold tcp 1
	if [ "$HOST" = "$C" ] && [ -n "$INTREE" ]; then
		reasons 0x05000000 0x09990003
	elif [ "$HOST" = "$C" ]; then
		reasons 0x04000000
		expect "fallbacks" "$(stat_of clnt_fback)" -eq 1
	elif ours; then
		reasons 0x05000000 0x04000000
		expect "fallbacks" "$(stat_of srv_fback)" -eq 1
	fi
	both_see "" $((test_link ? test_link + 21 : 3))
	if ours; then
		expect "groups ended" "$(stat_of lgr_term)" -eq 1
		expect "resets" "$(($(stat_of clnt_hs_err) + $(stat_of srv_hs_err)))" -eq 0
	fi
	step tcp_over let_go
	step second one smc
	both_see 0 30
	! ours || expect "first contacts" "$(stat_of first_contact)" -eq 2
}

lose_module()
{
	unload_smc || fail "the module does not go"
	load_smc || fail "the module does not come back"
}

# Host 2 loses power, so to say, and comes back, while host 1 has connections to it in both
# roles. Nobody uses those, and TEST LINK is off.
case_lost()
{
	fresh
	set_on 1 smcr_testlink_time 0
	serve
	sync_barrier up || exit 1
	hold smc 1
	sync_barrier held || exit 1
	await_groups server 1
	await_groups client 1
	sync_barrier seen || exit 1
	if [ "$HOST" = 2 ]; then
		mute 2
		kill_all "$held" "$servers"
		held=
		servers=
		lose_module
		unmute 2
		serve
		sync_signal back
	else
		sync_wait back 120 > /dev/null || exit 1
		await_groups server 1 1
		await_groups client 1 1
		expect "groups ended" "$(stat_of lgr_term)" -eq 0
	fi
	sync_barrier looked || exit 1
	comes_back
}

comes_back()
{
	# in-tree clients of version 2 have no peer ID: they are who they were before
	[ -z "$INTREE" ] || step refused one tcp
	step new hold smc 1
	if [ "$HOST" = 1 ]; then
		await_groups server 1 15
		await_groups client ""
		expect "groups ended" "$(stat_of lgr_term)" -eq 2
		diag "old groups: $(dmesg | sed -n 's/.*smc: group .*: ends: //p' | tail -n 2 |
			tr '\n' ',')"
		wait "${held# }" && fail "a connection to a host that is gone has lasted"
		grep '^# hold' "/run/hold.$CASE.1"
		held=
		hold smc 1
		await_groups client 1
		expect "resets" "$(($(stat_of clnt_hs_err) + $(stat_of srv_hs_err)))" -eq 0
	fi
	sync_barrier over || exit 1
	let_go
	# the end of the case is that of the other one's server
	sync_barrier gone || exit 1
}

# --- RMBs ---

# fail_at SITE:N...: the host that comes by first
fail_at()
{
	echo "$1" > /sys/module/smc/parameters/fault
}

fired()
{
	awk -v s="$1" '$1 == s { print $4 }' /proc/smc_faults
}

# A connection wants an RMB of another size, and the group has as many as it may have: the
# server makes a further group.
case_regions()
{
	fresh
	[ "$HOST" = 2 ] || serve
	step held hold smc 1
	both_see 1
	set_on 1 rmem 262144
	[ "$HOST" = 2 ] || serve 4431
	[ "$HOST" = 2 ] || fail_at REGION_LIMIT:1
	step further hold smc 1 4431
	expect "limits met" "$(fired REGION_LIMIT)" -eq 1
	both_see "1 1"
	expect "first contacts" "$(stat_of first_contact)" -eq 2
	carried 2
	step gone let_go
	both_see "0 0"
}

# The device has no more keys: that is not the group's fault, and no other one is made.
case_no_keys()
{
	fresh
	[ "$HOST" = 2 ] || serve
	step held hold smc 1
	both_see 1
	set_on 1 rmem 262144
	[ "$HOST" = 2 ] || serve 4431
	[ "$HOST" = 2 ] || fail_at MR:1
	step tcp hold tcp 1 4431
	expect "keys refused" "$(fired MR)" -eq 1
	both_see 1
	if [ "$HOST" = 1 ]; then
		reasons 0x01010000
	else
		reasons 0x05000000 0x01010000
	fi
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	step gone let_go
	both_see 0
}

# The client cannot make one: TCP, and its other connection lives.
case_regions_client()
{
	fresh
	kept=$(stat_of elem_quarantine)
	[ "$HOST" = 2 ] || serve
	step held hold smc 1
	both_see 1
	set_on 2 rmem 262144
	[ "$HOST" = 2 ] || fail_at REGION_LIMIT:1
	step tcp hold tcp 1
	expect "limits met" "$(fired REGION_LIMIT)" -eq 1
	both_see 1
	if [ "$HOST" = 1 ]; then
		reasons 0x05000000 0x09990003
	else
		reasons 0x09990003
	fi
	expect "groups ended" "$(stat_of lgr_term)" -eq 0
	# the server had named one of its RMBEs; who declines does not write there
	expect "RMBEs out of use" "$(stat_of elem_quarantine)" -eq "$kept"
	step gone let_go
	both_see 0
}

# --- a peer that does not mean well ---

# It wants eye catchers; it announces 255 RMBs; it says that it knows of no group.
case_hostile()
{
	fresh
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
	/t/smc_evil_link attack --connect "$(peer_addr)" --bind "$(own_addr)" --stranger 10.0.0.66 \
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
	unload_smc || fail "the module does not go"
	for k_ in qp mr pd cq; do
		expect "$k_ left" "$(/usr/sbin/rdma resource show "$k_" |
			grep -c 'comm \[smc\]')" -eq 0
	done
}
