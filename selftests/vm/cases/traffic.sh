# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Verified traffic between two hosts, each subtest of smc_traffic is a case. That the bytes
# went by RDMA is checked by the mode of every connection (sock_diag on both sides,
# --require), the counters of the modules, and the RNICs' counters.
#
#   TRAFFIC   subtests NAME[:N] (default: all, 64 MiB each way)
#   INTREE    client, server or nothing: the side with the in-tree family
#   FAMILY    of our sockets, smc_traffic's --family (default: smc)
#   PATIENCE  ms in which a transfer must make progress (default: smc_traffic's own)
#   STILL     in virtual time: longest standstill in ms
# Entry points: $FAMILY

: "${FAMILY:=smc}"
: "${TRAFFIC:=stream:64 random:8 pingpong:50 urgent:20 connects:200 burst:50 parallel:32 halfclose:1024 reset:8192 idle:3}"

CASES=
for t in $TRAFFIC; do
	CASES="$CASES ${t%%:*}:240"
done
CASES="$CASES pages:120 crossed:120 counters unload:60"
export CASES

setup()
{
	setup_net && setup_rxe && load_smc && set_write_imm && set_upgrade
}

# arg_of NAME: the subtest with its argument, from TRAFFIC
arg_of()
{
	for t in $TRAFFIC; do
		[ "${t%%:*}" != "$1" ] || echo "$t"
	done
}

# traffic NAME: host 1 serves, host 2 connects
traffic()
{
	# shellcheck disable=SC2086 # an option or nothing
	exchange 1 "$FAMILY" smc ${STILL:+--still $STILL} "$(arg_of "$1")"
}

SIDE="${INTREE:+--intree $INTREE} ${PATIENCE:+--timeout $PATIENCE}"

# expect_moved WHAT BEFORE NOW: the counter has grown by the stream's bytes or more
expect_moved()
{
	expect "$1" "$(($3 - $2))" -ge "$bytes"
}

# A verified stream each way: the counters of both modules and both RNICs must include it.
case_stream()
{
	mib=$(arg_of stream)
	bytes=$((${mib#*:} * 1048576))
	sent=$(rxe_counter sent_pkts)
	rcvd=$(rxe_counter rcvd_pkts)
	tx=$(rdma_bytes tx)
	rx=$(rdma_bytes rx)
	! ours || writes=$(stat_of tx_write_bytes)

	traffic stream

	expect_moved "SMC-R bytes sent" "$tx" "$(rdma_bytes tx)"
	expect_moved "SMC-R bytes received" "$rx" "$(rdma_bytes rx)"
	! ours ||
		expect_moved "bytes by RDMA WRITE" "$writes" "$(stat_of tx_write_bytes)"
	# each packet has at most 4096 bytes of the stream
	expect "RoCE packets sent" "$(($(rxe_counter sent_pkts) - sent))" -ge $((bytes / 4096))
	expect "RoCE packets received" "$(($(rxe_counter rcvd_pkts) - rcvd))" -ge \
		$((bytes / 4096))
	diag "host $HOST ($MODULE): ${mib#*:} MiB each way, SMC-R bytes" \
		"+$(($(rdma_bytes tx) - tx)) sent, +$(($(rdma_bytes rx) - rx)) received"
}

case_random() { traffic random; }
case_pingpong() { traffic pingpong; }
case_urgent() { traffic urgent; }
case_connects() { traffic connects; }
case_burst() { traffic burst; }
case_parallel() { traffic parallel; }
case_halfclose() { traffic halfclose; }
case_reset() { traffic reset; }
case_idle() { traffic idle; }

# Zero copy from the pages of files, and into pipes, which get pages of our RMBE, with any peer.
case_pages()
{
	! ours || before
	exchange 1 "$FAMILY" smc --pages stream:4
	ours || return 0
	expect "bytes out of files' pages" "$(grown tx_zc_bytes)" -ge 2097152
	# half of them, whose size differs by architecture (smaps is missing in some kernels, all with 4 KiB)
	page=$(awk '/^KernelPageSize/ { print $2; exit }' /proc/self/smaps 2> /dev/null)
	expect "pages lent" "$(grown rx_lend_pages)" -ge "$((2048 / ${page:-4}))"
}

# Both hosts connect to each other at once: two groups of opposite roles.
case_crossed()
{
	# shellcheck disable=SC2086
	/t/smc_traffic server --family "$FAMILY" --require smc --port 4431 $SIDE &
	server=$!
	await_server 4431
	sync_barrier up || exit 1
	# shellcheck disable=SC2086
	/t/smc_traffic client --connect "$(peer_addr)" --port 4431 --family "$FAMILY" \
		--require smc --wait 10 $SIDE connects:20 stream:2 || fail "client ended with $?"
	sync_barrier finished 100 || exit 1
	kill "$server"
	wait "$server" 2>/dev/null
	:
}

# The counters of our module for the whole run.
case_counters()
{
	[ -e /proc/net/smc_stat ] || return 0
	diag "$(tr '\n' ' ' < /proc/net/smc_stat | sed 's/[a-z0-9_]* 0 //g')"
	expect "fallbacks as client" "$(stat_of clnt_fback)" -eq 0
	expect "fallbacks as server" "$(stat_of srv_fback)" -eq 0
	expect "handshake errors as client" "$(stat_of clnt_hs_err)" -eq 0
	expect "handshake errors as server" "$(stat_of srv_hs_err)" -eq 0
	expect "connections" "$(($(stat_of clnt_smc) + $(stat_of srv_smc)))" -gt 0
	# aborted connections leave a few bytes unwritten
	expect "written by RDMA, of $(stat_of tx_bytes)" \
		"$(($(stat_of tx_write_bytes) / 99))" -ge "$(($(stat_of tx_bytes) / 100))"
	# with UPGRADE_BYTES the peer is foreign: nothing is begun as TCP for its sake, and it is asked nothing
	[ "$MODULE" != ours ] || expect "upgrades" \
		"$(($(stat_of deferred) + $(stat_of upgrade_asked) + $(stat_of tx_upgrade)))" -eq 0
	expect "malformed CDC" "$(stat_of rx_cdc_bad)" -eq 0
	expect "malformed LLC" "$(stat_of rx_llc_bad)" -eq 0
	expect "malformed CLC" "$(stat_of clc_bad)" -eq 0
	expect_imms stat_of
	expect "invalid ends of peers" "$(stat_of peer_end_bad)" -eq 0
}

case_unload()
{
	sync_barrier idle || exit 1
	# unloading the in-tree module is not tested
	[ -e /proc/net/smc_stat ] || return 0
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
