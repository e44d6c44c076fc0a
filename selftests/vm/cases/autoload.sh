# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The module as it is installed on a host: nobody loads it, the kernel does when a program asks for
# it, by each door and by each interface. One host with RDMA on lo. Booted with ipv6.disable=1 there
# are no doors of IPv6, and the others are as good as ever.

CASES="smc:60 ipproto:60 smc6:60 ipproto6:60 genl:60 diag:60 nobody:60"
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

# loaded MODULE: that is ours
loaded()
{
	[ -d "/sys/module/$1" ] || fail "$1 is not loaded"
	ours || fail "another $1 is loaded"
}

# let_go: for the next one
let_go()
{
	unload_smc || fail "the module does not go"
	gone || fail "the module is left"
}

# traffic FAMILY ADDRESS: the server's socket is what asks for the module
traffic()
{
	gone || fail "there is a module already"
	/t/smc_traffic server --family "$1" --require smc &
	server=$!
	wait_for 20 tcp_listens 4430 || fail "no server listens"
	loaded smc
	# nobody has asked for this one
	[ ! -d /sys/module/smc_diag ] || fail "smc_diag is loaded"
	tx=$(rdma_bytes tx)
	sent=$(rxe_counter sent_pkts)
	/t/smc_traffic client --connect "$2" --family "$1" --require smc --wait 10 --quit stream:1 ||
		fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	expect "bytes by RDMA" "$(($(rdma_bytes tx) - tx))" -ge 1048576
	expect "packets" "$(($(rxe_counter sent_pkts) - sent))" -ge 256
	let_go
}

# refused FAMILY ERRNO_NAME: what TCP's socket says, too
refused()
{
	for f_ in "$1" inet6; do
		! /t/smc_traffic server --family "$f_" > /run/said 2>&1 ||
			fail "$f_ goes without IPv6"
		cat /run/said
		grep -qw "$2" /run/said || fail "$f_: $(cat /run/said), not $2"
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

# either FAMILY: with IPv6, or refused for want of it
either()
{
	if no_ipv6; then
		refused "$1" EAFNOSUPPORT
		[ ! -d /sys/module/smc ] || let_go
	else
		traffic "$1" "fd00::$HOST"
	fi
}

case_smc6()
{
	either smc6
}

case_ipproto6()
{
	either ipproto6
}

# The generic netlink family, as the administrator.
case_genl()
{
	gone || fail "there is a module already"
	/t/smcctl ueid || fail "smcctl ueid"
	loaded smc
	let_go
}

# sock_diag of AF_SMC: the kernel asks for the other module once there is this one
case_diag()
{
	gone || fail "there is a module already"
	! /t/smcctl sock || fail "sockets of a family that is not there"
	gone || fail "a look at sockets has loaded a module"
	/t/smc_traffic server --family smc &
	server=$!
	wait_for 20 tcp_listens 4430 || fail "no server listens"
	/t/smcctl sock -a > /run/said || fail "smcctl sock"
	cat /run/said
	grep -q 4430 /run/said || fail "the listener is not shown"
	loaded smc_diag
	kill_all "$server"
	let_go
}

# As without the module: nothing asks for it, and TCP does not need it.
case_nobody()
{
	/t/smc_traffic server --family inet &
	server=$!
	/t/smc_traffic client --connect "$(own_addr)" --family inet --wait 10 --quit stream:1 ||
		fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	gone || fail "TCP has loaded the module"
}
