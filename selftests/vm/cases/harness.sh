# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Test of the harness, with the in-tree family on both hosts: the traffic is
# verified, and the counters of the devices prove that it is RDMA.

CASES="ping sync exec transfer:90 fallback"
export CASES

setup()
{
	setup_net && setup_rxe && load_smc
}

case_ping()
{
	ping -c 2 -W 5 "$(peer_addr)" || fail "no answer"
}

case_sync()
{
	if [ "$HOST" = 1 ]; then
		sync_signal greeting "hello from 1"
		[ "$(sync_wait answer)" = "hello from 2" ] || fail "wrong answer"
	else
		[ "$(sync_wait greeting)" = "hello from 1" ] || fail "wrong greeting"
		sync_signal answer "hello from 2"
	fi
}

case_exec()
{
	[ "$HOST" = 1 ] || return 0
	# shellcheck disable=SC2016 # for the other host's shell
	on_host 2 'test "$HOST" = 2' || fail "on_host 2 does not run there"
	on_host 2 'exit 7'
	expect "exit code" $? -eq 7
}

MIB=4

case_transfer()
{
	tx=$(rxe_counter sent_pkts)
	rx=$(rxe_counter rcvd_pkts)
	exchange 1 smc smc "stream:$MIB"

	# MIB is sent in each direction; an RDMA packet has at most the path MTU.
	min=$((MIB * 1048576 / 4096))
	tx=$(($(rxe_counter sent_pkts) - tx))
	rx=$(($(rxe_counter rcvd_pkts) - rx))
	diag "host $HOST: rxe sent $tx packets, received $rx"
	expect "RDMA packets sent" "$tx" -ge "$min"
	expect "RDMA packets received" "$rx" -ge "$min"
}

# The same check must fail if the bytes go by TCP.
case_fallback()
{
	tx=$(rxe_counter sent_pkts)
	exchange 1 inet tcp "stream:$MIB"
	expect "RDMA packets sent" "$(($(rxe_counter sent_pkts) - tx))" -lt 50
}
