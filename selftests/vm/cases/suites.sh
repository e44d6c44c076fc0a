# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Tests of others: CPython's own tests of its modules for the network, unmodified, as Debian packages them
# (libpython3.11-testsuite). Each module runs once with TCP and once by smc_run, within one host over
# smc_lo: the same tests must pass, fail and be skipped. For --topology lo, one host.
#
#   SUITES   modules to run (default: all below)
# Entry points: ipproto

: "${SUITES:=socket httpservers asyncore}"
CASES=notices:120
for s_ in $SUITES; do
	CASES="$CASES $s_:400"
done
export CASES

# shellcheck disable=SC1091 # exists in the guest only
. /h/tree.sh

setup()
{
	setup_net && modprobe ib_uverbs && setup_smc_lo && load_smc && mount_tree || return 1
	# the name that the tests bind to
	echo "127.0.0.1 localhost" > "$TREE/etc/hosts"
}

# results FILE COMMAND...: of a module's tests
results()
{
	out_=$1
	shift
	in_tree "$@" > "$out_" 2> /run/said
	rc=$?
	cat /run/said
	[ "$rc" = 0 ] || fail "$*: status $rc"
	echo "$*: $(cut -d ' ' -f 1 "$out_" | sort | uniq -c | tr '\n' ' ')"
}

# equal: the two runs have the same results
equal()
{
	diff -U 0 /run/tcp /run/smc > /run/changed && return
	grep '^[-+][a-z]' /run/changed | while read -r line; do
		diag "$line"
	done
	fail "not the results of TCP (-)"
}

# by_smc CONNECTIONS: at least so many since the counters were kept, on both sides
by_smc()
{
	connected_=$(($(stat_of clnt_smc) - clnt0))
	accepted_=$(($(stat_of srv_smc) - srv0))
	echo "SMC connections: $connected_, accepted: $accepted_," \
		"fallbacks: $(($(stat_of clnt_fback) - fback0))"
	expect "SMC connections" "$connected_" -ge "$1"
	expect "SMC connections accepted" "$accepted_" -ge "$1"
}

counters()
{
	clnt0=$(stat_of clnt_smc)
	srv0=$(stat_of srv_smc)
	fback0=$(stat_of clnt_fback)
}

# suite MODULE TESTS CONNECTIONS: at least so many tests that pass, and connections over RDMA
suite()
{
	results /run/tcp python3 /t/suite.py "test.test_$1"
	expect "tests that pass" "$(grep -c '^ok ' /run/tcp)" -ge "$2"
	counters
	results /run/smc /t/smc_run python3 /t/suite.py "test.test_$1"
	by_smc "$3"
	equal
}

# The checks detect a run without SMC, and one test with another result.
case_notices()
{
	results /run/tcp python3 /t/suite.py test.test_asyncore
	counters
	results /run/smc python3 /t/suite.py test.test_asyncore
	# shellcheck disable=SC2317 # it is reached
	! (ctl() { :; }; by_smc 1) || fail "connections by TCP passed"
	equal
	{ echo 'failed another'; cat /run/tcp; } > /run/smc
	# shellcheck disable=SC2317
	! (ctl() { :; }; equal) || fail "another result passed"
}

case_socket() { suite socket 200 100; }
case_asyncore() { suite asyncore 10 10; }
case_httpservers() { suite httpservers 10 10; }
