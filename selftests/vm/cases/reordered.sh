# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A network that reorders packets, from the first contact on. RNICs retransmit, while new connections
# need more memory: it is registered on queue pairs with unacknowledged requests. No link may fail.
# Our module on both hosts.

CASES="registered:200 unload:60"
export CASES

: "${PATIENCE:=120000}"
# rounds of EACH connections, with 1 MiB each way
ROUNDS=3
EACH=4
# connections that may fall back because the rkey of their memory is not confirmed in time: after one
# timeout the next connection that adds the region may run into the same delay of Soft-RoCE
LATE=4

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	tc qdisc add dev eth0 root netem delay 1ms reorder 5% limit 10000
}

# More and more connections, each round with a new region size, all with data in flight.
connections()
{
	for r in $(seq "$ROUNDS"); do
		sysctl -q -w "net.smc.wmem=$((32768 << r))" "net.smc.rmem=$((32768 << r))"
		for c in $(seq "$EACH"); do
			/t/smc_traffic client --connect "$(peer_addr)" --family smc --mode \
				--wait 10 --timeout "$PATIENCE" --seed "$((10 * r + c))" stream:1 \
				> "/run/client.$r.$c" 2>&1 &
			echo $! > "/run/client.$r.$c.pid"
		done
		sleep 1
	done
	for p in /run/client.*.pid; do
		wait "$(cat "$p")" || {
			cat "${p%.pid}"
			dmesg | grep 'smc: ' | tail
			fail "${p%.pid}: $(grep '^# ' "${p%.pid}" | tail -n 1)"
		}
	done
	diag "$(cat /run/client.*.? | grep -o 'mode tcp.*' | sort | uniq -c)"
	expect "connections over TCP for other reasons" \
		"$(cat /run/client.*.? | grep ': mode tcp' | grep -cv '09990003')" -eq 0
	expect "connections over RDMA" "$(cat /run/client.*.? | grep -c ': mode smc')" -ge $((ROUNDS * EACH - LATE))
}

case_registered()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" &
		server=$!
		await_server
		sync_signal ready
		sync_wait through 190 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
	else
		sync_wait ready > /dev/null || exit 1
		connections
		sync_signal through
	fi
	# (the server's sizes do not change)
	least=$((HOST == 1 ? 2 : 2 * ROUNDS))
	seen=$(rxe_counter out_of_seq_request)
	diag "host $HOST: $(stat_of mr_reg) regions registered, $seen packets out of sequence"
	expect "packets out of sequence" "$seen" -ge 20
	expect "regions registered" "$(stat_of mr_reg)" -ge "$least"
	expect "bytes by RDMA WRITE" "$(stat_of tx_write_bytes)" -ge $(((ROUNDS * EACH - LATE) << 20))
	for s_ in link_fail lgr_term conn_abort; do
		expect "$s_" "$(stat_of "$s_")" -eq 0
	done
}

case_unload()
{
	sync_barrier idle || exit 1
	tc qdisc del dev eth0 root
	unload_smc || fail "the module cannot be unloaded"
}
