# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The KUnit suites of our module (selftests/kunit), which run when it is loaded: one
# case each. For --topology lo, and a module built by build-modules.sh -k.

SUITES="smc_stats smc_log smc_host smc_settings smc_rules smc_wr smc_tail_probe smc_path smc_pnet_table smc_region smc_clcsock smc_link smc_rtoken smc_claim smc_lgr smc_topology smc_zerocopy smc_cdc smc_close smc_conn smc_growth smc_conn_upgrade smc_llc smc_upgrade_policy smc_upgrade smc_upgrade_life smc_negcache smc_handshake smc_admission smc_autosmc smc_deferred smc_loopback"
CASES="complete $SUITES"
export CASES

RESULTS=/sys/kernel/debug/kunit

setup()
{
	setup_net || return 1
	# for smc_loopback; other suites want a host without a device
	ip netns add other && ip -n other link set lo up && setup_smc_lo other || return 1
	modprobe -q dummy
	ip netns exec other sysctl -q -w net.smc.lo_peers=1 || return 1
	for i_ in 1 2; do
		ip -n other link add "in$i_" type dummy && ip -n other link set "in$i_" up &&
			ip netns exec other /usr/sbin/rdma link add "lo$i_" type smc_lo netdev "in$i_" &&
			wait_for 10 port_active "lo$i_" || return 1
	done
	# a GID of lo1 that is not of its netdev
	modprobe -q 8021q
	ip -n other link add link in1 name in1.5 type vlan id 5 &&
		ip -n other addr add 10.5.0.1/24 dev in1.5 && ip -n other link set in1.5 up &&
		wait_for 10 grep -q 0a05:0001 -r /sys/class/infiniband/lo1/ports/1/gids || return 1
	load_smc
}

# There is a case for every suite of the module.
case_complete()
{
	# shellcheck disable=SC2086 # a list of words
	want=$(printf '%s\n' $SUITES | sort)
	have=$(cd "$RESULTS" && printf '%s\n' smc* | sort)
	[ "$want" = "$have" ] || fail "suites of the module: $(echo "$have" | tr '\n' ' ')"
}

# check_suite NAME: all tests passed, and at least one ran
check_suite()
{
	cat "$RESULTS/$1/results" || fail "the suite did not run"
	tests=$(grep -cE '^ +(not )?ok [0-9]' "$RESULTS/$1/results")
	bad=$(sed -nE 's/^ +not ok [0-9]+ -? ?//p' "$RESULTS/$1/results" | tr '\n' ' ')
	diag "$1: $tests tests"
	[ -z "$bad" ] || fail "failed: $bad"
	! grep -q '# SKIP' "$RESULTS/$1/results" || fail "skipped tests"
	expect "tests of $1" "$tests" -ge 1
	grep -qE "^ok [0-9]+ -? ?$1\$" "$RESULTS/$1/results" || fail "no verdict of the suite"
}

for s_ in $SUITES; do
	eval "case_$s_() { check_suite $s_; }"
done
