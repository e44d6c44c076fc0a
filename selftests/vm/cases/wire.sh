# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Traffic that is checked from outside: vm.py --pcap full captures it, wire.py checks it.
# Run with WIRE=stream (one stream each way) or WIRE=connects (subsequent contacts).

: "${WIRE:=stream}"
CASES="$WIRE:180 counters"
export CASES

MIB=4
CONNECTS=100
SIDE=${INTREE:+--intree $INTREE}

setup()
{
	setup_net && setup_rxe && load_smc
}

# serve_or_run SUBTEST: host 1 serves, host 2 connects. No --wait and no --quit: the capture
# would include their connections, and the sums must be those of the subtest.
serve_or_run()
{
	if [ "$HOST" = 1 ]; then
		# shellcheck disable=SC2086 # an option or nothing
		/t/smc_traffic server --family smc --require smc $SIDE &
		server=$!
		await_server
		sync_signal ready
		sync_wait over 170 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2>/dev/null
	else
		sync_wait ready || exit 1
		# shellcheck disable=SC2086
		/t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc \
			$SIDE "$1" || fail "client ended with $?"
		sync_signal over
	fi
	return 0
}

case_stream()
{
	serve_or_run "stream:$MIB"
}

case_connects()
{
	serve_or_run "connects:$CONNECTS"
}

# Reports the counters of our module, for comparison with the output of wire.py.
case_counters()
{
	[ -e /proc/net/smc_stat ] || return 0
	for s in tx_bytes rx_bytes tx_write_bytes tx_cdc tx_llc first_contact rkey_confirm; do
		data "$s" "$(stat_of "$s")"
	done
	expect "fallbacks" "$(($(stat_of clnt_fback) + $(stat_of srv_fback)))" -eq 0
}
