# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# One host with RDMA on lo: both ends of each connection use the same module, counters and
# resources. For --topology lo.

: "${TRAFFIC:=stream:16 random:4 pingpong:100 connects:100 burst:50 parallel:32 halfclose:256}"

CASES="traffic:240 counters sockets netlink unload:60"
export CASES

setup()
{
	setup_net && setup_rxe && load_smc
}

case_traffic()
{
	tx=$(rxe_counter sent_pkts)
	/t/smc_traffic server --family smc --require smc &
	server=$!
	# shellcheck disable=SC2086 # a list of subtests
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc --wait 10 \
		--quit $TRAFFIC || fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	expect "RDMA packets sent" "$(($(rxe_counter sent_pkts) - tx))" -ge 1000
}

case_counters()
{
	diag "$(tr '\n' ' ' < /proc/net/smc_stat | sed 's/[a-z0-9_]* 0 //g')"
	for s in clnt_fback srv_fback clnt_hs_err srv_hs_err clc_bad; do
		expect "$s" "$(stat_of "$s")" -eq 0
	done
	expect "connections as client" "$(stat_of clnt_smc)" -gt 0
	expect "connections as server" "$(stat_of srv_smc)" -eq "$(stat_of clnt_smc)"
}

# Both ends of an idle connection are listed with all details.
two_sockets_listed()
{
	/t/smcctl -v -j sock > /run/sockets || return 1
	[ "$(grep -c '"rx_prod_flags"' /run/sockets)" = 2 ]
}

case_sockets()
{
	/t/smc_traffic server --family smc --require smc &
	server=$!
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc --wait 10 \
		--quit idle:3 &
	client=$!
	wait_for 10 two_sockets_listed || fail "no two sockets: $(cat /run/sockets)"
	expect "sizes of RMBEs" "$(sed -n 's/.*rmbe_size": *\([0-9]*\).*/\1/p' /run/sockets |
		sort -u | wc -l)" -eq 1
	wait "$client" || fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
}

# Each command of the netlink family, on a host with a link group.
case_netlink()
{
	/t/smc_netlink "$(own_addr)" > /run/netlink
	rc=$?
	cat /run/netlink
	grep '^not ok' /run/netlink | while read -r line; do
		diag "$line"
	done
	[ "$rc" = 0 ] || fail "smc_netlink ended with $rc"
	/t/smcctl -j stats > /run/stats || fail "smcctl stats ended with $?"
	# only the part before the copy of /proc/net/smc_stat
	expect "bytes that smcctl shows" \
		"$(sed -n '/"counters"/q; s/.*"tx_bytes": *\([0-9]*\).*/\1/p' /run/stats |
			sort -n | tail -1)" -eq "$(stat_of tx_bytes)"
	expect "bytes in smcctl's counters" \
		"$(sed -n '/"counters"/,$s/.*"tx_bytes": *\([0-9]*\).*/\1/p' /run/stats)" \
		-eq "$(stat_of tx_bytes)"
}

case_unload()
{
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
