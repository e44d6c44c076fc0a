# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A network in which packets come in another order, from the first contact on. RNICs repeat what
# was lost to them, while connections come that need further memory: it is registered on queue
# pairs with requests that are not acknowledged. No link may break. Ours on both hosts.

CASES="registered:200 unload:60"
export CASES

: "${PATIENCE:=120000}"
# of so many connections, each with 1 MiB each way
ROUNDS=3
EACH=4
# of which so many may become TCP, since the key of their memory is not confirmed in time: whoever
# adds the region next, after one that has waited in vain, may meet the same wait of Soft-RoCE's
LATE=4

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	tc qdisc add dev eth0 root netem delay 1ms reorder 5% limit 10000
}

# Ever more of them, of sizes that no region has yet, and each with bytes under way.
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
	# (the server's sizes stay the same)
	least=$((HOST == 1 ? 2 : 2 * ROUNDS))
	seen=$(rxe_counter out_of_seq_request)
	diag "host $HOST: $(stat_of mr_reg) regions registered, $seen times packets came too early"
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
	unload_smc || fail "the module does not go"
}
