# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Traffic that is checked from outside: vm.py --pcap full captures it, wire.py checks it.
# Run with WIRE=stream (one stream each way), WIRE=connects (subsequent contacts) or WIRE=class (DSCPs,
# over IPv6 with FAMILY=smc6, with a second link with --links 2).

: "${WIRE:=stream}"
CASES="$WIRE:180 counters"
export CASES

MIB=4
CONNECTS=100
: "${FAMILY:=smc}"
SIDE=${INTREE:+--intree $INTREE}

setup()
{
	setup_net && setup_rxe && load_smc && set_upgrade || return 1
	# one network, for a second link
	[ "$LINKS" = 1 ] || {
		/t/smcctl pnet add NET netdev eth0 ibdev rxe0 &&
			/t/smcctl pnet add NET netdev eth1 ibdev rxe1
	}
}

server_addr()
{
	if [ "$FAMILY" = smc6 ]; then
		echo fd00::1
	else
		peer_addr
	fi
}

client()
{
	# shellcheck disable=SC2086 # an option or nothing
	/t/smc_traffic client --connect "$(server_addr)" --family "$FAMILY" --require smc $SIDE "$@" ||
		fail "client ended with $?"
}

# serve_or_run FUNCTION [OPTION]...: host 1 serves with the options, host 2 runs FUNCTION. No --wait
# and no --quit: the capture would include their connections, and the sums must be those of the subtest.
serve_or_run()
{
	run_=$1
	shift
	if [ "$HOST" = 1 ]; then
		# shellcheck disable=SC2086 # an option or nothing
		/t/smc_traffic server --family "$FAMILY" --require smc $SIDE "$@" &
		server=$!
		await_server
		sync_signal ready
		sync_wait over 170 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2>/dev/null
	else
		sync_wait ready || exit 1
		"$run_"
		sync_signal over
	fi
	return 0
}

run_stream()
{
	client "stream:$MIB"
}

case_stream()
{
	serve_or_run run_stream
}

run_connects()
{
	client "connects:$CONNECTS"
}

case_connects()
{
	serve_or_run run_connects
}

# The first connection of a group decides its class, at each end; the second one joins.
run_class()
{
	client --tos 0x28 "stream:$MIB"
	[ "$LINKS" = 1 ] || wait_for 20 second_link || fail "no second link"
	client --tos 0x60 "stream:$MIB"
}

# a TEST LINK comes later: this is CONFIRM LINK
second_link()
{
	[ "$(rxe_counter sent_pkts rxe1)" -gt 0 ]
}

case_class()
{
	# with it, the TOS of a TCP socket has ECN bits; User Mode Linux lacks it
	! modprobe -q tcp_dctcp || sysctl -q -w net.ipv4.tcp_congestion_control=dctcp
	serve_or_run run_class --tos 0xb8
}

# Reports the counters of our module, for comparison with the output of wire.py.
case_counters()
{
	[ -e /proc/net/smc_stat ] || return 0
	for s in tx_bytes rx_bytes tx_write_bytes tx_cdc tx_llc first_contact rkey_confirm rx_buf_alloc \
		elem_quarantine; do
		data "$s" "$(stat_of "$s")"
	done
	expect "fallbacks" "$(($(stat_of clnt_fback) + $(stat_of srv_fback)))" -eq 0
	expect "elements of the RMBs in quarantine" "$(stat_of elem_quarantine)" -eq 0
}
