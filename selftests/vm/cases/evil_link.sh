# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A misbehaving peer on RoCE: host 2 creates link groups with host 1 from user space and
# misuses them. Also on host 2 there is a good client with our module: one connection all
# the time and new ones after each attack, all over SMC. At the end host 1 may have only
# the good client's group, and nothing after the module is unloaded.
#
# With SERVED host 1 connects to a misbehaving server on host 2. This needs four links, three of
# them on one network.
#
#   EVIL_ONLY  part of the names of smc_evil_link's cases
#   SERVED     y: the hostile peer is the server
#   UPGRADE_BYTES  of host 1: it announces UPGRADE, as a server. The good client does not

CASES="attacks:900 good_client:90 unload:60"
export CASES

FOREIGN=10.0.0.66
# queue pairs of the good client's group: two for each link, one of them for registrations
GOOD_QPS=2
[ -z "$SERVED" ] || GOOD_QPS=6

setup()
{
	setup_net && setup_rxe && load_smc && set_write_imm || return 1
	[ "$HOST" = 2 ] || set_upgrade || return 1
	if [ -n "$SERVED" ]; then
		for l in 0 1 2; do
			/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || return 1
		done
		sysctl -q -w net.smc.smcr_max_links_per_lgr=3
	fi
	# detects peers that have ended without a message
	sysctl -q -w net.smc.smcr_testlink_time=3
	# ... and peers that accept no data
	sysctl -q -w net.smc.smcr_stall_time=5
	# connections between native peers are moved to new links
	sysctl -q -w net.smc.smcr_balance=1
}

resources()
{
	/usr/sbin/rdma resource show "$1" | grep -c 'comm \[smc\]'
}

# report FILE: prints it, and reports failed and skipped cases
report()
{
	cat "$1"
	grep -E '^(not ok|ok .*# SKIP)' "$1" | while read -r line; do
		diag "$line"
	done
}

only_good_group()
{
	[ "$(resources qp)" -le "$GOOD_QPS" ]
}

case_attacks()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc &
		server=$!
		/t/smc_evil_link witness > /run/witness 2>&1 &
		witness=$!
		wait_for 20 grep -q 'witness on port' /run/witness || fail "$(cat /run/witness)"
		await_server
		sync_signal ready
		sync_wait over 890 > /dev/null || exit 1
		for p_ in "$server" "$witness"; do
			[ -d "/proc/$p_" ] || fail "a server has ended"
		done
		dmesg | grep 'smc: ' | tail -n 60
		cat /run/witness /proc/net/smc_stat
		wait_for 20 only_good_group ||
			fail "left behind: $(/usr/sbin/rdma resource show qp)"
		kill "$server" "$witness"
		wait "$server" "$witness" 2> /dev/null
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	if [ -n "$SERVED" ]; then
		set -- serve --other "$(own_addr 1)" --third "$(own_addr 2)" \
			--lonely "$(own_addr 3)"
	else
		ip addr add "$FOREIGN/24" dev eth0
		set -- attack --other "$FOREIGN"
	fi
	imms_agreed || set -- "$@" --imms 0
	[ -z "$UPGRADE_BYTES" ] || set -- "$@" --upgrade 1
	/t/smc_evil_link "$@" --connect "$(peer_addr)" --bind "$(own_addr)" \
		${EVIL_ONLY:+--only "$EVIL_ONLY"} > /run/attack 2>&1
	rc=$?
	report /run/attack
	sync_signal over
	[ "$rc" = 0 ] || fail "smc_evil_link ended with $rc"
}

# After the attacks SMC works between the same two hosts.
case_good_client()
{
	before
	exchange 1 smc smc connects:5 stream:1 pingpong:5
	[ -z "$SERVED" ] || {
		echo 0 > /proc/net/smc_negcache
		exchange 2 smc smc connects:5 stream:1
	}
	expect_imms grown
	# (host 1 has got some from the hostile peer, whether it takes them or not)
	imms_agreed || expect "immediate values sent" "$(stat_of tx_imm)" -eq 0
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	for k_ in qp mr pd cq; do
		expect "$k_ left" "$(resources "$k_")" -eq 0
	done
}
