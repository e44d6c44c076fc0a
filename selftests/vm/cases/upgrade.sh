# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Upgrade in place (net.smc.upgrade_bytes): connections begin as TCP and change over to RDMA in
# mid-stream, while programs at both ends write, read, peek, wait and close, and compare every byte.
# Host 2 connects, host 1 serves. Which connections changed is counted by the modules of both hosts.
#
#   BYTES     threshold (default: 20000)
#   PATIENCE  ms in which a transfer must make progress
# Entry points: deferred, upgraded

: "${BYTES:=20000}"
: "${PATIENCE:=30000}"

CASES="off:60 taught:60 tcp:60 stream:240 random:240 pingpong:240 urgent:240 parallel:240 first:240 peek:240 pages:240
	halfclose:120 reset:120 connects:120 idle:60 linkdown:120 denied:60 userns:30 unload:60"
export CASES

setup()
{
	setup_net && setup_rxe && load_smc
}

# threshold BYTES: on both hosts
threshold()
{
	echo "$1" > /proc/sys/net/smc/upgrade_bytes || fail "upgrade_bytes"
}

# traffic [OPTION...] SUBTEST...: verified connections, whatever carries them
# shellcheck disable=SC2153 # CASE is set by main.sh
traffic()
{
	turn=$((${turn:-0} + 1))
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" &
		server=$!
		await_server 4430
		sync_signal "up.$CASE.$turn"
		wait "$server" || fail "server ended with $?"
	else
		sync_wait "up.$CASE.$turn" > /dev/null || exit 1
		/t/smc_traffic client --connect "$(peer_addr 0)" --family smc --wait 30 --quit \
			--timeout "$PATIENCE" "$@" || fail "client ended with $?"
	fi
}

# changed MIN [BYTES]: at least so many connections have changed over, and RDMA carried so many bytes
changed()
{
	for s in deferred upgrade_asked upgrade_refused upgrade_withdrawn upgraded upgrade_tcp_bytes; do
		diag "$s +$(grown $s)"
	done
	expect "upgraded" "$(grown upgraded)" -ge "$1"
	expect "bytes by RDMA WRITE" "$(grown tx_write_bytes)" -ge "${2:-1}"
	expect "malformed CDC" "$(grown rx_cdc_bad)" -eq 0
}

# Nobody is asked, and nothing is announced.
case_off()
{
	before
	traffic connects:3
	expect "deferred" "$(grown deferred)" -eq 0
	expect "UPGRADE messages" "$(($(grown tx_upgrade) + $(grown rx_upgrade)))" -eq 0
}

# After a rendezvous with a peer that can, the next connection begins as TCP.
case_taught()
{
	threshold "$BYTES"
	# the old group has not announced it
	forget_groups
	before
	traffic connects:8
	expect "deferred" "$(grown deferred)" -ge 1
}

# forget_groups: the next connection is a first contact
forget_groups()
{
	sync_barrier "forget.$CASE" || exit 1
	if ! unload_smc || ! load_smc; then
		fail "the module cannot be loaded again"
	fi
	threshold "$BYTES"
	sync_barrier "forgot.$CASE" || exit 1
}

# Below the threshold all stay TCP.
case_tcp()
{
	threshold 4000000000
	before
	traffic stream:2 random:1 pingpong:10
	expect "deferred" "$(grown deferred)" -ge 3
	expect "upgraded" "$(grown upgraded)" -eq 0
	threshold "$BYTES"
}

case_stream()
{
	before
	traffic stream:16
	changed 1 8388608
}

case_random()
{
	before
	traffic random:4
	changed 1 1048576
}

case_pingpong()
{
	before
	traffic pingpong:100
	changed 1
}

case_urgent()
{
	before
	traffic urgent:20
	changed 1
}

case_parallel()
{
	before
	traffic parallel:32
	changed 8
}

# A request after the first byte, with each style of waiting: non-blocking ones have edges, too.
case_first()
{
	threshold 1
	before
	traffic --io all stream:2 random:1
	changed 3
	threshold "$BYTES"
}

case_peek()
{
	threshold 1
	before
	traffic --peek --io all stream:2 random:1
	traffic --peek parallel:32
	changed 8
	threshold "$BYTES"
}

case_pages()
{
	before
	traffic --pages stream:8
	changed 1 1048576
}

case_halfclose()
{
	threshold 1
	before
	traffic halfclose:1024
	changed 1
	threshold "$BYTES"
}

case_reset()
{
	threshold 1
	before
	traffic reset:2097152
	changed 1
	threshold "$BYTES"
}

case_connects()
{
	threshold 1
	before
	traffic connects:200
	expect "deferred" "$(grown deferred)" -ge 200
	expect "malformed CDC" "$(grown rx_cdc_bad)" -eq 0
	threshold "$BYTES"
}

case_idle()
{
	threshold 1
	before
	traffic idle:2
	changed 1
	threshold "$BYTES"
}

# The link is lost in the middle of streams: upgraded connections end, and none hangs.
case_linkdown()
{
	before
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" > /run/server 2>&1 &
		server=$!
		await_server 4430
		sync_signal "up.$CASE"
		sync_wait "done.$CASE" 100 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
		return 0
	fi
	sync_wait "up.$CASE" > /dev/null || exit 1
	/t/smc_traffic client --connect "$(peer_addr 0)" --family smc --wait 30 \
		--timeout "$PATIENCE" stream:512 > /run/client 2>&1 &
	client=$!
	wait_for 20 has_upgraded || fail "not upgraded"
	for id in $(/t/smcctl linkgroup | awk 'NR > 1 { print $1 }'); do
		/t/smcctl linkgroup del "$id" now
	done
	wait "$client" && diag "the stream went on"
	diag "$(grep -v "^ok" /run/client | tail -2 | tr "\n" " ")"
	sync_signal "done.$CASE"
}

has_upgraded() { [ "$(grown upgraded)" -gt 0 ]; }

# A rule of the server forbids it: refused, and the stream goes on over TCP.
case_denied()
{
	before
	[ "$HOST" = 2 ] || /t/smcctl policy add deny local-port 4430 || fail "no rule"
	traffic stream:4
	[ "$HOST" = 2 ] || /t/smcctl policy flush
	expect "upgraded" "$(grown upgraded)" -eq 0
	[ "$HOST" = 1 ] || expect "refused" "$(grown upgrade_refused)" -ge 1
}

# Not for namespaces of users.
case_userns()
{
	[ "$HOST" = 1 ] || return 0
	unshare -Urn sh -c 'cat /proc/sys/net/smc/upgrade_bytes; ls -l /proc/sys/net/smc/upgrade_bytes' \
		> /run/userns 2>&1 || { diag "no user namespaces"; return 0; }
	grep -q '^0$' /run/userns || fail "a namespace of a user has inherited it"
	grep -q '^-r--r--r--' /run/userns || fail "a user can turn it on"
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
