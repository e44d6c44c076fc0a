# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# First contacts, one after the other: our idle groups end at once, so every
# connection must create a group, with CONFIRM LINK and ADD LINK. None may fall back,
# although in-tree clients can receive CONFIRM LINK only after their CLC Confirm.
# Host 1 has our module, host 2 either module.
#
#   AS_SERVER   contacts with our server (default 100)
#   AS_CLIENT   contacts by our client (default 10)

: "${AS_SERVER:=100}" "${AS_CLIENT:=10}"

CASES="as_server:480 as_client:120 unload:60"
export CASES

BYTES=1000	# of one connection each way (CONTACT_BYTES of smc_traffic)

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	ours || return 0
	# If the client ends the group directly after its last close message, an in-tree server
	# waits for ever for the completion of its own one: our client waits before it ends the group.
	sysctl -q -w net.smc.smcr_idle_time_client=1 net.smc.smcr_idle_time_server=0
}

# save_counters: of this host's module before a case: fallbacks, payload in and out
save_counters()
{
	if ours; then
		fback0=$(($(stat_of clnt_fback) + $(stat_of srv_fback)))
		first0=$(stat_of first_contact)
		conns0=$(($(stat_of clnt_smc) + $(stat_of srv_smc)))
		errors0=$(($(stat_of clnt_hs_err) + $(stat_of srv_hs_err)))
		tx0=$(stat_of tx_write_bytes)
		rx0=$(stat_of rx_bytes)
	else
		fback0=$(($(intree_stat fallbacks client) + $(intree_stat fallbacks server)))
		conns0=$(intree_conns)
		tx0=$(intree_stat smcr tx_bytes)
		rx0=$(intree_stat smcr rx_bytes)
	fi
	sent0=$(rxe_counter sent_pkts)
}

intree_conns()
{
	echo $(($(intree_stat smcr client_v2_connections) +
		$(intree_stat smcr server_v2_connections)))
}

# check_counters CONTACTS: each was a first contact, and its bytes went by RDMA
check_counters()
{
	if ours; then
		expect "fallbacks" \
			"$(($(stat_of clnt_fback) + $(stat_of srv_fback) - fback0))" -eq 0
		expect "first contacts" "$(($(stat_of first_contact) - first0))" -eq "$1"
		expect "connections" \
			"$(($(stat_of clnt_smc) + $(stat_of srv_smc) - conns0))" -eq "$1"
		expect "failed handshakes" \
			"$(($(stat_of clnt_hs_err) + $(stat_of srv_hs_err) - errors0))" -eq 0
		tx=$(($(stat_of tx_write_bytes) - tx0))
		rx=$(($(stat_of rx_bytes) - rx0))
	else
		expect "fallbacks in-tree" "$(($(intree_stat fallbacks client) +
			$(intree_stat fallbacks server) - fback0))" -eq 0
		expect "connections in-tree" "$(($(intree_conns) - conns0))" -eq "$1"
		tx=$(($(intree_stat smcr tx_bytes) - tx0))
		rx=$(($(intree_stat smcr rx_bytes) - rx0))
	fi
	diag "host $HOST: $1 contacts, $tx bytes out and $rx bytes in by RDMA"
	expect "bytes out" "$tx" -ge $((BYTES * $1))
	expect "bytes in" "$rx" -ge $((BYTES * $1))
	# CONFIRM LINK, ADD LINK, WRITE and CDC of every contact
	expect "RoCE packets" "$(($(rxe_counter sent_pkts) - sent0))" -ge $((4 * $1))
}

# contacts SERVER COUNT: without --wait and --quit, which make connections that would count too
contacts()
{
	save_counters
	if [ "$HOST" = "$1" ]; then
		/t/smc_traffic server --family smc --require smc &
		server=$!
		await_server
		sync_signal ready
		sync_wait over 470 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2>/dev/null
	else
		sync_wait ready > /dev/null || exit 1
		settle=0
		ours && settle=300
		/t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc \
			--settle "$settle" "contacts:$2" || {
			dmesg | grep 'smc: ' | tail -n 20
			fail "client ended with $?"
		}
		sync_signal over
	fi
	check_counters "$2"
}

case_as_server()
{
	contacts 1 "$AS_SERVER"
}

case_as_client()
{
	contacts 2 "$AS_CLIENT"
}

case_unload()
{
	sync_barrier idle || exit 1
	# unloading the in-tree module is not tested
	ours || return 0
	unload_smc || fail "the module cannot be unloaded"
	for k_ in qp mr pd cq; do
		expect "$k_ left" "$(/usr/sbin/rdma resource show "$k_" |
			grep -c 'comm \[smc\]')" -eq 0
	done
}
