# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The interface that programs may rely on in requests by netlink and sock_diag, and invalid
# requests. For --topology lo and one host.
#
#   SEED     of the invalid requests
#   ROUNDS   their number

: "${SEED:=1}" "${ROUNDS:=4000}"

CASES="contract:400 unload:60"
export CASES

setup()
{
	setup_net && setup_rxe && load_smc
}

case_contract()
{
	before
	/t/smc_contract "$(own_addr)" "$SEED" "$ROUNDS" > /run/contract
	rc=$?
	cat /run/contract
	grep '^not ok' /run/contract | while read -r line; do
		diag "$line (seed $SEED)"
	done
	[ "$rc" = 0 ] || fail "smc_contract ended with $rc"
	# the answers were about a group with RDMA connections
	expect_packets 40
}

case_unload()
{
	unload_smc || fail "the module cannot be unloaded"
}
