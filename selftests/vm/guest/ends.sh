# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# For tests in which one script has both ends of a connection: one host, one module, and where the
# kernel can a namespace with a Soft-RoCE device for each end (s and c). Modules are loaded anew
# for each test, with fault sites. Sourced by the scripts.
# shellcheck disable=SC2034,SC2154 # variables of the sourcing side

ARM=/sys/module/smc/parameters/fault

setup_ends()
{
	modprobe -q crc32_generic
	# each namespace has RDMA devices of its own
	modprobe ib_core netns_mode=0 && modprobe rdma_rxe && modprobe ib_uverbs || return 1
	for m_ in smc smc_diag; do
		for d_ in $(modinfo -F depends "/ours/$m_.ko" | tr , ' '); do
			[ "$d_" = smc ] || modprobe "$d_" || return 1
		done
	done
	ip link set lo up
	setup_two || setup_lo || return 1
	resources > /run/resources
}

# Two namespaces with a Soft-RoCE device each: kernels since 7.
setup_two()
{
	case $(uname -r) in
	[1-6].*)	return 1 ;;
	esac
	modprobe veth
	mkdir -p /run/netns
	ip netns add s && ip netns add c &&
	ip link add veths netns s type veth peer name vethc netns c || return 1
	ip -n s addr add 10.0.0.1/24 dev veths && ip -n c addr add 10.0.0.2/24 dev vethc || return 1
	for n_ in s c; do
		ip -n "$n_" link set lo up
		ip -n "$n_" link set "veth$n_" up
		add_end "$n_" || return 1
	done
	wait_for 10 port_up s && wait_for 10 port_up c || return 1
	ENDS="--server-ns s --client-ns c --addr 10.0.0.1"
	TWO=y
	export ENDS TWO
}

# add_end NAMESPACE [X]: a Soft-RoCE device rxeX over vethX, X being the namespace's name if
# not told; made in the first namespace whatever its netdev is in
add_end()
{
	ip netns exec "$1" /usr/sbin/rdma link add "rxe${2:-$1}" type rxe netdev "veth${2:-$1}" &&
		/usr/sbin/rdma dev set "rxe${2:-$1}" netns "$1"
}

# What the client's end remembers of the other one.
forget_bad_peers()
{
	if [ -n "$TWO" ]; then
		ip netns exec c sh -c 'echo 0 > /proc/net/smc_negcache'
	else
		echo 0 > /proc/net/smc_negcache
	fi
}

# bad_peers: how many it remembers
bad_peers()
{
	if [ -n "$TWO" ]; then
		ip netns exec c tail -n +2 /proc/net/smc_negcache
	else
		tail -n +2 /proc/net/smc_negcache
	fi | wc -l
}

# resources: how many verbs objects each device has, whichever number the device has
resources()
{
	if [ -n "$TWO" ]; then
		ip netns exec s /usr/sbin/rdma resource show
		ip netns exec c /usr/sbin/rdma resource show
	else
		/usr/sbin/rdma resource show
	fi | sed 's/^[0-9]*: //'
}

# port_up NAMESPACE [X]
port_up()
{
	ip netns exec "$1" /usr/sbin/rdma link show "rxe${2:-$1}/1" | grep -q ACTIVE
}

# rxe of older kernels knows only the first namespace: both ends have one device.
setup_lo()
{
	/usr/sbin/rdma link add rxe0 type rxe netdev lo || return 1
	wait_for 10 port_active rxe0 || return 1
	ENDS="--addr 127.0.0.1"
	TWO=
	export ENDS TWO
	diag "one device for both ends: sites on the way to another host are not walked"
}

# load [SITE:N...]
load()
{
	insmod /ours/smc.ko ${1:+fault="$*"} || return 1
	insmod /ours/smc_diag.ko || fail "smc_diag does not load"
}

# unload: a module that hangs here is found by the time limit of the case
unload()
{
	unload_smc || fail "$AT: the module does not go"
	left_=$(resources | diff /run/resources -) || fail "$AT: left behind: $left_"
	[ ! -e /proc/net/smc_stat ] || fail "$AT: /proc/net/smc_stat is left"
}

# on_the_cable PROGRAM TEST: with a fresh module, so that no group is left from the test before.
# Leaves its exit code in $rc, what it said in /run/said, and the cable as it was.
on_the_cable()
{
	at "$2"
	# a case that failed has left its own
	[ ! -d /sys/module/smc ] || wait_for 20 unload_smc
	load "" || fail "the module does not load"
	"$1" "$2" > /run/said
	rc=$?
	cat /run/said
	ip netns exec c /usr/sbin/tc qdisc del dev vethc root 2> /dev/null
	# a cut cable leaves neighbours that are asked for again only after a second
	ip -n c neigh flush dev vethc
	ip -n s neigh flush dev veths
}

# cable_case PROGRAM TEST: that as a case, of which nothing is left
cable_case()
{
	on_the_cable "$@"
	grep '^#' /run/said | while read -r _ line; do
		diag "$line"
	done
	ip netns exec c /usr/sbin/nft flush ruleset 2> /dev/null
	ip netns exec s /usr/sbin/nft flush ruleset 2> /dev/null
	unload
	[ "$rc" = 0 ] || fail "exit code $rc"
}

# setup_cable: both ends, and what cuts the cable between them
setup_cable()
{
	setup_ends && [ -n "$TWO" ] || return 1
	modprobe sch_netem
}

# cable_cases PROGRAM TEST...: the script is these, by that function
cable_cases()
{
	program_=$1
	shift
	CASES=$*
	CASE_TIMEOUT=10000	# seconds of guest time
	export CASES CASE_TIMEOUT
	for t_ in $CASES; do
		eval "case_$t_() { cable_case $program_ $t_; }"
	done
}

# at WHAT: for messages, here and in the kernel log
at()
{
	AT=$*
	echo "faults: $AT" > /dev/kmsg
}

# log_has SITE: it fired since the last at()
log_has()
{
	dmesg | awk -v at="faults: $AT" -v site="smc: fault: $1" '
		index($0, at) { seen = 0 }
		substr($0, length($0) - length(site) + 1) == site { seen = 1 }
		END { exit !seen }'
}

fired()
{
	[ "$(awk -v s="$1" '$1 == s { print $4 }' /proc/smc_faults)" != 0 ]
}

# round [--require-smc]: prints how it was
round()
{
	# shellcheck disable=SC2086 # a list of options
	/t/smc_fault $ENDS "$@" 2>&1
}

# good_round: over SMC; the first ones after a failure may meet what is left of a group
good_round()
{
	tries_=0
	# a client leaves the other end alone after some of the failures
	forget_bad_peers
	until how_=$(round --require-smc); do
		tries_=$((tries_ + 1))
		[ "$tries_" -lt 3 ] || fail "$AT: no SMC afterwards: $how_"
		usleep 300000
	done
	[ "$tries_" = 0 ] || echo "$AT: SMC again at try $((tries_ + 1))"
}
