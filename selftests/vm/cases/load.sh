# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Many clients at once (selftests/load/smc_load.c). Host 1 serves, host 2 has the clients, good
# and bad ones. The bad ones have other addresses, so the server takes them for other hosts.
#
#   LOAD     cases to run, "NAME:TIMEOUT" (default: all but overflow, for virtual time)
#   STORM    connections of the storm
#   WORKERS  clients that make them in parallel
#   PLACES   maximum of simultaneous handshakes during the storm
#   SHARE    percent of the storm that must be SMC
#   CROWD    number of silent, of slow and of malformed clients; other numbers are in proportion

: "${STORM:=1600}" "${WORKERS:=16}" "${PLACES:=8}" "${SHARE:=50}" "${CROWD:=100}"

PATIENCE=$((200 + STORM / 40))	# seconds for the storm
: "${LOAD:=crowd:90 fair:90 unresolved:60 limited:60 closed:60 storm:$PATIENCE}"
CASES="$LOAD unload:60"
export CASES

BAD="10.0.0.21 10.0.0.22 10.0.0.23"

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	[ "$HOST" = 1 ] || for a in $BAD; do
		ip addr add "$a/24" dev eth0
	done
}

# serve PORT [FAMILY]: the server under test, its process in $server
serve()
{
	/t/smc_traffic server --family "${2:-smc}" --port "$1" &
	server=$!
	await_server "$1"
}

# attack CASE PORT [OPTION...]: from all bad addresses; its output goes to the report
attack()
{
	c_=$1
	p_=$2
	shift 2
	# shellcheck disable=SC2046,SC2086 # one option for each address
	/t/smc_load "$c_" --connect "$(peer_addr)" --port "$p_" $(printf -- '--from %s ' $BAD) \
		"$@" > "/run/load.$c_" 2>&1
	rc=$?
	cat "/run/load.$c_"
	grep '^#' "/run/load.$c_" | while read -r _ line; do
		diag "$line"
	done
	return "$rc"
}

# await_attack PORT: host 1 waits while host 2 attacks, and ends the server, which ends all its
# handshakes
await_attack()
{
	sync_signal "ready.$1"
	sync_wait "over.$1" 80 > /dev/null || exit 1
	[ -d "/proc/$server" ] || fail "the server has ended"
	kill "$server"
	wait "$server" 2> /dev/null
}

# run_attack CASE PORT [OPTION...]: host 2 attacks when the server is ready
run_attack()
{
	sync_wait "ready.$2" > /dev/null || exit 1
	attack "$@" || bad=y
	sync_signal "over.$2"
	[ -z "$bad" ] || fail "smc_load $1"
}

# Silent, slow and malformed clients do not delay other connections.
case_crowd()
{
	if [ "$HOST" = 2 ]; then
		run_attack crowd 4430 --crowd "$CROWD"
		return
	fi
	serve 4430
	await_attack 4430
	expect "malformed CLC messages" "$(stat_of clc_bad)" -ge "$CROWD"
	expect "handshakes without a place" "$(stat_of hs_limited)" -eq 0
}

# A host takes its share, then all places are taken, then freed: the second time has the same result.
case_fair()
{
	if [ "$HOST" = 2 ]; then
		run_attack fair 4431 --crowd "$CROWD"
		run_attack fair 4437 --crowd "$CROWD"
		return
	fi
	echo 16 > /proc/sys/net/smc/hs_max
	for p in 4431 4437; do
		limited=$(stat_of hs_limited)
		congested=$(stat_of hs_congested)
		serve "$p"
		await_attack "$p"
		expect "handshakes without a place" "$(stat_of hs_limited)" -eq \
			$((limited + 28 * CROWD / 100 + 7 * CROWD / 100 + 1))
		expect "SYNs answered without the option" "$(stat_of hs_congested)" -gt "$congested"
	done
	echo 256 > /proc/sys/net/smc/hs_max
	cat /proc/net/smc_stat
}

# A client names GIDs that nobody has: only some of them are looked up.
case_unresolved()
{
	if [ "$HOST" = 2 ]; then
		run_attack unresolved 4442
		return
	fi
	serve 4442
	await_attack 4442
	ip neigh show
	# 16 of the first host, and one of the second
	expect "neighbours looked up" "$(ip neigh show | grep -c '^10\.0\.0\.1[0-9][0-9] ')" -eq 17
	expect "GIDs that were not looked up" "$(stat_of hs_unresolved)" -eq 8
}

# SMC_LIMIT_HS, by the sysctl.
case_limited()
{
	if [ "$HOST" = 2 ]; then
		run_attack limited 4432 --crowd "$CROWD"
		run_attack silent 4438
		return
	fi
	echo 1 > /proc/sys/net/smc/limit_smc_hs
	congested=$(stat_of hs_congested)
	serve 4432
	await_attack 4432
	expect "SYNs answered without the option" "$(stat_of hs_congested)" -ge \
		$((congested + 8 * CROWD / 100 + 1))
	serve 4438
	echo 0 > /proc/sys/net/smc/limit_smc_hs
	await_attack 4438
	expect "evicted silent clients" "$(stat_of hs_evicted)" -ge 2
}

# The process ends; closing its listener cancels its handshakes, and waits for nothing else.
case_closed()
{
	if [ "$HOST" = 1 ]; then
		serve 4433
		sync_signal ready
		sync_wait armed 50 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
		sync_signal gone
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	rm -f /run/go
	attack closed 4433 --crowd "$CROWD" --go /run/go &
	load=$!
	wait_for 40 grep -q '^armed' /run/load.closed || fail "no attack"
	sync_signal armed
	sync_wait gone > /dev/null || exit 1
	: > /run/go
	wait "$load" || fail "connections outlive their listener"
}

# As many connections without accept() as with TCP, and none is lost. In virtual time: else a handshake
# may end after the client has begun its next connection, which is counted in addition.
case_overflow()
{
	if [ "$HOST" = 1 ]; then
		sysctl -q -w net.core.somaxconn=8
		serve 4434 inet
		plain=$server
		serve 4435 smc
		kill -STOP "$plain" "$server"
		sync_signal ready
		sync_wait full 60 > /dev/null || exit 1
		kill -CONT "$plain" "$server"
		sync_signal open
		sync_wait over 60 > /dev/null || exit 1
		kill "$plain" "$server"
		wait "$plain" "$server" 2> /dev/null
		sysctl -q -w net.core.somaxconn=4096
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	rm -f /run/go
	pids=
	for f in inet:4434 smc:4435; do
		mkdir -p "/run/${f%:*}"
		/t/smc_load overflow --connect "$(peer_addr)" --port "${f#*:}" --family "${f%:*}" \
			--go /run/go > "/run/${f%:*}/out" &
		pids="$pids $!"
	done
	for f in inet smc; do
		wait_for 40 grep -q '^armed' "/run/$f/out" || fail "$f: no end"
	done
	sync_signal full
	sync_wait open > /dev/null || exit 1
	: > /run/go
	for p in $pids; do
		wait "$p" || lost=y
	done
	sync_signal over
	diag "connected without accept(): TCP $(sed -n 's/^armed //p' /run/inet/out)," \
		"SMC $(sed -n 's/^armed //p' /run/smc/out)"
	cat /run/inet/out /run/smc/out
	[ -z "$lost" ] || fail "connections were lost"
	expect "as many as TCP" "$(sed -n 's/^armed //p' /run/smc/out)" -eq \
		"$(sed -n 's/^armed //p' /run/inet/out)"
}

# Connections use SMC or TCP, depending on free places, but each is served, with the right data.
case_storm()
{
	if [ "$HOST" = 1 ]; then
		before=$(($(stat_of srv_smc) + $(stat_of srv_fback)))
		err=$(stat_of srv_hs_err)
		smc=$(stat_of srv_smc)
		over=$(($(stat_of hs_limited) + $(stat_of hs_congested)))
		echo "$PLACES" > /proc/sys/net/smc/hs_max
		serve 4436
		sync_signal ready
		sync_wait over $((PATIENCE - 10)) > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
		smc=$(($(stat_of srv_smc) - smc))
		diag "$STORM connections in $(sync_wait over) s, $smc of them SMC"
		# each client makes one test connection before
		expect "served" "$(($(stat_of srv_smc) + $(stat_of srv_fback) - before))" -eq \
			$((STORM + WORKERS))
		expect "SMC, of $STORM" "$smc" -gt $((STORM * SHARE / 100))
		expect "over the limit" "$(($(stat_of hs_limited) + $(stat_of hs_congested)))" -gt \
			"$over"
		expect "handshake errors" "$(($(stat_of srv_hs_err) - err))" -eq 0
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	t0=$(uptime_s)
	pids=
	i=0
	while [ "$i" -lt "$WORKERS" ]; do
		/t/smc_traffic client --connect "$(peer_addr)" --port 4436 --family smc \
			--wait 10 "connects:$((STORM / WORKERS))" > "/run/storm.$i" &
		pids="$pids $!"
		i=$((i + 1))
	done
	for p in $pids; do
		wait "$p" || bad=y
	done
	sync_signal over $(($(uptime_s) - t0))
	[ -z "$bad" ] || { cat /run/storm.*; fail "a client failed"; }
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
