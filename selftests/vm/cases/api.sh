# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The socket API between two hosts, compared with TCP: smc_api with an agent on host 1.
# One case per pair of families; the plain TCP cases check that TCP passes the same tests here.
# With --topology lo and one host both are there, over smc_lo.
#
#   API       pairs to run (default: all)
#   API_ONLY  parts of the names of smc_api's cases, with commas between them
#   SEED      of the moment in which connections change over, with the pair "deferred" (default: the time)
#
# "deferred" runs by name alone, and first: groups that exist have not announced that they can.
# Entry points: $API

: "${API:=inet inet6 smc smc_mapped smc6 smc_to_inet inet_to_smc
	ipproto ipproto_mapped ipproto6 ipproto_to_inet ipproto_to_smc
	inet_mapped smc_mapped_to_inet smc6_to_inet6 ipproto_mapped_to_inet ipproto6_to_inet6
	smc_declined smc_mapped_declined ipproto_declined ipproto_mapped_declined}"

CASES=
for c in $API; do
	CASES="$CASES $c:400"
done
export CASES

setup()
{
	if [ "$TOPOLOGY" = lo ]; then
		# a device that leads nowhere; and with more, the size of TCP's segments depends on its windows
		ip link add other0 type dummy && ip link set other0 up && ip link set lo mtu 9000 &&
			setup_net && ip addr add 10.0.0.2/24 dev lo && ip addr add fd00::2/64 dev lo nodad &&
			modprobe ib_uverbs && setup_smc_lo && load_smc
	else
		setup_net && setup_rxe && load_smc
	fi
}

# api FAMILY PEER_FAMILY MODE ADDRESS_PREFIX [OPTION]: each host's address is the prefix with its number
api()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_api --agent --family "$2" &
		agent=$!
		[ "$TOPOLOGY" != lo ] || { api_tests "$@"; return; }
		sync_signal ready
		sync_wait over 390 > /dev/null
		rc=$?
		kill "$agent"
		wait "$agent" 2> /dev/null
		return "$rc"
	fi
	sync_wait ready > /dev/null || exit 1
	api_tests "$@"
}

# over: the other host may go on; on a single host the agent ends
over()
{
	if [ "$TOPOLOGY" = lo ]; then
		kill_all "$agent"
	else
		sync_signal over
	fi
}

lo_bytes()
{
	cat /sys/class/infiniband/lo0/ports/1/hw_counters/bytes
}

api_tests()
{
	if [ "$TOPOLOGY" = lo ]; then
		cp /proc/net/smc_stat /run/stat
		copied=$(lo_bytes)
	else
		before
	fi
	# shellcheck disable=SC2086 # an option or nothing
	/t/smc_api --family "$1" --peer-family "$2" ${3:+--require "$3"} --local "${4}2" \
		--remote "${4}1" --control 10.0.0.1 --wait 20 --case-timeout $((60 * SLOWNESS)) \
		--strict $5 ${API_ONLY:+--only "$API_ONLY"} > "/run/api" 2>&1
	rc=$?
	cat /run/api
	over
	grep '^not ok' /run/api | while read -r line; do
		diag "$line"
	done
	[ "$rc" = 0 ] || fail "smc_api ended with $rc"
	[ "$3" != smc ] || [ -n "$API_ONLY" ] || {
		expect "zero copy bytes" "$(grown tx_zc_bytes)" -ge 2097152
		expect "pages lent" "$(grown rx_lend_pages)" -ge 512
		[ "$TOPOLOGY" != lo ] || expect "bytes that the device has copied" \
			$(($(lo_bytes) - copied)) -ge "$(grown tx_write_bytes)"
	}
}

# api_declined FAMILY ADDRESS_PREFIX: the SYNs agree on SMC, and host 1 declines, since it has no RNIC:
# as server a Proposal, as client instead of sending one
api_declined()
{
	[ "$HOST" != 1 ] || /usr/sbin/rdma link delete rxe0 || fail "no rxe0 to delete"
	sync_barrier deleted || exit 1
	clnt0=$(stat_of clnt_fback)
	srv0=$(stat_of srv_fback)
	( api "$1" "$1" tcp "$2" --declined )
	rc=$?
	# for the next case
	[ "$HOST" != 1 ] || { add_rxe 0 eth0 && wait_for 10 port_active rxe0; } || fail "no rxe0"
	sync_barrier added || exit 1
	[ "$rc" = 0 ] || exit "$rc"
	[ -z "$API_ONLY" ] || return 0
	# most cases connect, many in both roles
	expect "fallbacks as client" "$(($(stat_of clnt_fback) - clnt0))" -ge 100
	expect "fallbacks as server" "$(($(stat_of srv_fback) - srv0))" -ge 100
}

# Connections begin as TCP and change over to RDMA, after a number of bytes that differs from run to run:
# most of them within a case, at some moment. The mode is not required, so it counts what has happened.
case_deferred()
{
	: "${SEED:=$(date +%s)}"
	bytes=$((1 + SEED % 20000))
	diag "SEED=$SEED: upgrade after $bytes bytes"
	echo "$bytes" > /proc/sys/net/smc/upgrade_bytes || fail "upgrade_bytes"
	sync_barrier upgrade || exit 1
	deferred0=$(stat_of deferred)
	upgraded0=$(stat_of upgraded)
	( api smc smc '' 10.0.0. --upgrade )
	rc=$?
	echo 0 > /proc/sys/net/smc/upgrade_bytes
	diag "$(($(stat_of deferred) - deferred0)) began as TCP," \
		"$(($(stat_of upgraded) - upgraded0)) changed over"
	[ "$rc" = 0 ] || exit "$rc"
	[ -z "$API_ONLY" ] || return 0
	expect "connections that began as TCP" "$(($(stat_of deferred) - deferred0))" -ge 100
	expect "connections that changed over" "$(($(stat_of upgraded) - upgraded0))" -ge 20
	expect "malformed CDC" "$(stat_of rx_cdc_bad)" -eq 0
}

case_inet() { api inet inet tcp 10.0.0.; }
case_inet6() { api inet6 inet6 tcp fd00::; }
case_smc() { api smc smc smc 10.0.0.; }
# AF_INET6 style sockets with an IPv4 clcsock
case_smc_mapped() { api smc6 smc6 smc ::ffff:10.0.0.; }
case_smc6() { api smc6 smc6 smc fd00::; }
case_smc_to_inet() { api smc inet tcp 10.0.0.; }
case_inet_to_smc() { api inet smc '' 10.0.0.; }
# the same sockets by the entry point IPPROTO_SMC
case_ipproto() { api ipproto ipproto smc 10.0.0.; }
case_ipproto_mapped() { api ipproto6 ipproto6 smc ::ffff:10.0.0.; }
case_ipproto6() { api ipproto6 ipproto6 smc fd00::; }
case_ipproto_to_inet() { api ipproto inet tcp 10.0.0.; }
case_ipproto_to_smc() { api ipproto smc smc 10.0.0.; }
# fallbacks, with the other kinds of addresses
case_smc_mapped_to_inet() { api smc6 inet6 tcp ::ffff:10.0.0.; }
case_smc6_to_inet6() { api smc6 inet6 tcp fd00::; }
case_ipproto_mapped_to_inet() { api ipproto6 inet6 tcp ::ffff:10.0.0.; }
case_ipproto6_to_inet6() { api ipproto6 inet6 tcp fd00::; }
case_inet_mapped() { api inet6 inet6 tcp ::ffff:10.0.0.; }
# fallbacks after a Decline
case_smc_declined() { api_declined smc 10.0.0.; }
case_smc_mapped_declined() { api_declined smc6 ::ffff:10.0.0.; }
case_ipproto_declined() { api_declined ipproto 10.0.0.; }
case_ipproto_mapped_declined() { api_declined ipproto6 ::ffff:10.0.0.; }
