# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A network that reorders packets, from the first contact on. RNICs retransmit, while new connections
# need more memory: it is registered on queue pairs with unacknowledged requests. No link may fail.
# Our module on both hosts.

CASES="registered:300 many:900 unload:60"
export CASES

: "${PATIENCE:=200000}"
# rounds of EACH connections, with 1 MiB each way
ROUNDS=3
EACH=4
# connections that begin at once
MANY=64
# Soft-RoCE answers some NAKs only after a timer of a second, which may happen several times in a row
# (Documentation/compat.rst); a case takes a minute or two, and much longer only by a fault
WITHIN=280
MANY_WITHIN=880

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	tc qdisc add dev eth0 root netem delay 1ms reorder 5% limit 10000
}

# client NAME SEED: begins one connection
client()
{
	/t/smc_traffic client --connect "$(peer_addr)" --family smc --mode \
		--wait 10 --timeout "$PATIENCE" --seed "$2" stream:1 > "/run/client.$1" 2>&1 &
	echo $! > "/run/client.$1.pid"
}

# await_smc N: all N connections have transferred their bytes, every one over RDMA
await_smc()
{
	for p in /run/client.*.pid; do
		wait "$(cat "$p")" || {
			cat "${p%.pid}"
			dmesg | grep 'smc: ' | tail
			fail "${p%.pid}: $(grep '^# ' "${p%.pid}" | tail -n 1)"
		}
	done
	diag "$(cat /run/client.*[0-9] | grep -o 'mode tcp.*' | sort | uniq -c)"
	expect "connections over RDMA" "$(cat /run/client.*[0-9] | grep -c ': mode smc')" -eq "$1"
	rm -f /run/client.*
}

# More and more connections, each round with a new region size, all with data in flight.
connections()
{
	for r in $(seq "$ROUNDS"); do
		sysctl -q -w "net.smc.wmem=$((32768 << r))" "net.smc.rmem=$((32768 << r))"
		for c in $(seq "$EACH"); do
			client "$r.$c" "$((10 * r + c))"
		done
		sleep 1
	done
	await_smc $((ROUNDS * EACH))
}

many_connections()
{
	sysctl -q -w net.smc.wmem=32768 net.smc.rmem=32768
	for c in $(seq "$MANY"); do
		client "$c" "$((100 + c))"
	done
	await_smc "$MANY"
}

# transfers SECONDS STEP: host 2 does STEP with a server on host 1
transfers()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" &
		server=$!
		await_server
		sync_signal ready
		sync_wait through "$1" > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
	else
		sync_wait ready > /dev/null || exit 1
		"$2"
		sync_signal through
	fi
	for s_ in link_fail lgr_term conn_abort; do
		expect "$s_" "$(stat_of "$s_")" -eq 0
	done
}

case_registered()
{
	transfers "$WITHIN" connections
	# (the server's sizes do not change)
	least=$((HOST == 1 ? 2 : 2 * ROUNDS))
	seen=$(rxe_counter out_of_seq_request)
	diag "host $HOST: $(stat_of mr_reg) regions registered, $seen packets out of sequence"
	expect "packets out of sequence" "$seen" -ge 20
	expect "regions registered" "$(stat_of mr_reg)" -ge "$least"
	expect "bytes by RDMA WRITE" "$(stat_of tx_write_bytes)" -ge $(((ROUNDS * EACH) << 20))
}

# As many at once need several RMBs on either side, one announced after the other.
case_many()
{
	transfers "$MANY_WITHIN" many_connections
	diag "host $HOST: $(stat_of rkey_confirm) announcements," \
		"$(rxe_counter out_of_seq_request) packets out of sequence"
}

case_unload()
{
	sync_barrier idle || exit 1
	tc qdisc del dev eth0 root
	unload_smc || fail "the module cannot be unloaded"
}
