# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Misbehaving peers in the handshake. Host 1 runs our module: its server is attacked, its
# clients connect to a misbehaving server. Host 2 runs the attacks, with our module as well: the
# connections of a good client during an attack must use SMC.
#
#   EVIL_ONLY  part of the names of smc_evil's cases

CASES="selfcheck attacked_server:400 hostile_server:240 good_client:120 unload:60"
export CASES

SERVER_LIMIT=40000	# ms until the server must have ended any handshake
CLIENT_LIMIT=40000	# ms until any connect() must have ended
LATE=25000		# ms until a late answer: longer than each deadline of a client

setup()
{
	setup_net && setup_rxe && load_smc
}

# report FILE: prints it, and reports failed and skipped cases
report()
{
	cat "$1"
	grep -E '^(not ok|ok .*# SKIP)' "$1" | while read -r line; do
		diag "$line"
	done
}

# The attacks would test nothing if the SYN did not offer SMC.
case_selfcheck()
{
	/t/smc_evil selfcheck
}

case_attacked_server()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc &
		server=$!
		await_server
		sync_signal ready
		sync_wait over 390 > /dev/null || exit 1
		[ -d "/proc/$server" ] || fail "the server has ended"
		expect "malformed CLC messages seen" "$(stat_of clc_bad)" -gt 0
		kill "$server"
		wait "$server" 2> /dev/null
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	/t/smc_evil client --connect "$(peer_addr)" --deadline "$SERVER_LIMIT" \
		${EVIL_ONLY:+--only "$EVIL_ONLY"} > /run/evil 2>&1
	rc=$?
	report /run/evil
	sync_signal over
	[ "$rc" = 0 ] || fail "smc_evil client ended with $rc"
}

case_hostile_server()
{
	if [ "$HOST" = 2 ]; then
		/t/smc_evil server --late "$LATE" > /run/evil.server 2>&1 &
		server=$!
		wait_for 30 grep -q 'hostile server on ports' /run/evil.server ||
			fail "the hostile server does not come up"
		sync_signal ready
		sync_wait over 230 > /dev/null || exit 1
		tail -n 20 /run/evil.server
		[ -d "/proc/$server" ] || fail "the hostile server has ended"
		kill "$server"
		wait "$server" 2> /dev/null
		return 0
	fi
	sync_wait ready > /dev/null || exit 1
	/t/smc_evil victim --connect "$(peer_addr)" --deadline "$CLIENT_LIMIT" \
		${EVIL_ONLY:+--only "$EVIL_ONLY"} > /run/victim 2>&1
	rc=$?
	report /run/victim
	sync_signal over
	[ "$rc" = 0 ] || fail "smc_evil victim ended with $rc"
}

# After the attacks good clients of both hosts use SMC. The negative caches of the clients
# are cleared before.
case_good_client()
{
	echo 0 > /proc/net/smc_negcache
	exchange 1 smc smc connects:5 stream:1
	exchange 2 smc smc connects:5 stream:1
}

case_unload()
{
	sync_barrier idle || exit 1
	dmesg | grep 'smc: ' | tail -n 20
	unload_smc || fail "the module cannot be unloaded"
	for k in qp mr pd cq; do
		expect "$k left" "$(/usr/sbin/rdma resource show "$k" |
			grep -c 'comm \[smc\]')" -eq 0
	done
}
