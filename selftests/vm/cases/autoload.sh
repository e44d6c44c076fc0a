# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The module as it is installed on a host: the kernel loads it on demand, when a program uses one of
# its socket types or interfaces. One host with RDMA on lo. With ipv6.disable=1 the IPv6 socket types
# fail, and the others work.
# Entry points: smc ipproto

CASES="smc:60 ipproto:60 smc6:60 ipproto6:60 genl:60 diag:60 tcp_only:60"
export CASES

setup()
{
	to_=/lib/modules/$(uname -r)/updates
	mkdir -p "$to_" && cp /ours/smc.ko /ours/smc_diag.ko "$to_" &&
		/usr/sbin/depmod -a && setup_net && setup_rxe && gone
}

gone()
{
	[ ! -d /sys/module/smc ] && [ ! -d /sys/module/smc_diag ]
}

no_ipv6()
{
	[ ! -e /proc/net/if_inet6 ]
}

# expect_loaded MODULE: it is loaded, and it is ours
expect_loaded()
{
	[ -d "/sys/module/$1" ] || fail "$1 is not loaded"
	ours || fail "another $1 is loaded"
}

# unload: for the next case
unload()
{
	unload_smc || fail "the module cannot be unloaded"
	gone || fail "the module is still loaded"
}

# traffic FAMILY ADDRESS: the server's socket() loads the module
traffic()
{
	gone || fail "a module is loaded already"
	/t/smc_traffic server --family "$1" --require smc &
	server=$!
	wait_for 20 tcp_listens 4430 || fail "no server listens"
	expect_loaded smc
	# no program has used sock_diag
	[ ! -d /sys/module/smc_diag ] || fail "smc_diag is loaded"
	tx=$(rdma_bytes tx)
	sent=$(rxe_counter sent_pkts)
	/t/smc_traffic client --connect "$2" --family "$1" --require smc --wait 10 --quit stream:1 ||
		fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	expect "bytes by RDMA" "$(($(rdma_bytes tx) - tx))" -ge 1048576
	expect "packets" "$(($(rxe_counter sent_pkts) - sent))" -ge 256
	unload
}

# refused FAMILY ERRNO_NAME: socket() fails with the same error as for TCP
refused()
{
	for f_ in "$1" inet6; do
		! /t/smc_traffic server --family "$f_" > /run/output 2>&1 ||
			fail "$f_ works without IPv6"
		cat /run/output
		grep -qw "$2" /run/output || fail "$f_: $(cat /run/output), not $2"
	done
}

case_smc()
{
	traffic smc "$(own_addr)"
}

case_ipproto()
{
	traffic ipproto "$(own_addr)"
}

# traffic_or_refused FAMILY: traffic, or without IPv6 an error
traffic_or_refused()
{
	if no_ipv6; then
		refused "$1" EAFNOSUPPORT
		[ ! -d /sys/module/smc ] || unload
	else
		traffic "$1" "fd00::$HOST"
	fi
}

case_smc6()
{
	traffic_or_refused smc6
}

case_ipproto6()
{
	traffic_or_refused ipproto6
}

# By the generic netlink family, as root.
case_genl()
{
	gone || fail "a module is loaded already"
	/t/smcctl ueid || fail "smcctl ueid"
	expect_loaded smc
	unload
}

# By sock_diag of AF_SMC: the kernel loads smc_diag only if smc is loaded
case_diag()
{
	gone || fail "a module is loaded already"
	! /t/smcctl sock || fail "sockets of an unknown family are listed"
	gone || fail "listing sockets has loaded a module"
	/t/smc_traffic server --family smc &
	server=$!
	wait_for 20 tcp_listens 4430 || fail "no server listens"
	/t/smcctl sock -a > /run/output || fail "smcctl sock"
	cat /run/output
	grep -q 4430 /run/output || fail "the listener is not listed"
	expect_loaded smc_diag
	kill_all "$server"
	unload
}

# TCP traffic does not load the module.
case_tcp_only()
{
	/t/smc_traffic server --family inet &
	server=$!
	/t/smc_traffic client --connect "$(own_addr)" --family inet --wait 10 --quit stream:1 ||
		fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	gone || fail "TCP has loaded the module"
}
