# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What programs may rely on when they ask our module by netlink and sock_diag, and requests that
# are none. For --topology lo and one host.
#
#   SEED     of the spoilt requests
#   ROUNDS   how many of them

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
	# they were connections by RDMA whose group the answers were about
	expect_packets 40
}

case_unload()
{
	unload_smc || fail "the module does not go"
}
