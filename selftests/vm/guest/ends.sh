# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# For tests with both ends of a connection in one script: one host, one module, and (if the
# kernel supports it) a namespace with a Soft-RoCE device for each end (s and c). Modules are
# loaded again for each test, with fault sites. Sourced by the scripts.
# shellcheck disable=SC2034,SC2154 # variables of the sourcing script

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

# add_end NAMESPACE [X]: a Soft-RoCE device rxeX over vethX (X: default NAMESPACE). The kernel
# makes it in the initial namespace, whatever the namespace of its netdev is.
add_end()
{
	ip netns exec "$1" /usr/sbin/rdma link add "rxe${2:-$1}" type rxe netdev "veth${2:-$1}" &&
		/usr/sbin/rdma dev set "rxe${2:-$1}" netns "$1"
}

# Clears the client's negative cache (peers whose SMC handshakes failed).
forget_bad_peers()
{
	if [ -n "$TWO" ]; then
		ip netns exec c sh -c 'echo 0 > /proc/net/smc_negcache'
	else
		echo 0 > /proc/net/smc_negcache
	fi
}

# bad_peers: number of entries in the client's negative cache
bad_peers()
{
	if [ -n "$TWO" ]; then
		ip netns exec c tail -n +2 /proc/net/smc_negcache
	else
		tail -n +2 /proc/net/smc_negcache
	fi | wc -l
}

# resources: number of verbs objects of each device, without the device's index, in an order that a
# device which comes back does not change
resources()
{
	if [ -n "$TWO" ]; then
		ip netns exec s /usr/sbin/rdma resource show
		ip netns exec c /usr/sbin/rdma resource show
	else
		/usr/sbin/rdma resource show
	fi | sed 's/^[0-9]*: //' | sort
}

# port_up NAMESPACE [X]: the port of rxeX is active
port_up()
{
	ip netns exec "$1" /usr/sbin/rdma link show "rxe${2:-$1}/1" | grep -q ACTIVE
}

# rxe of older kernels works only in the initial namespace: both ends use the same device.
setup_lo()
{
	/usr/sbin/rdma link add rxe0 type rxe netdev lo || return 1
	wait_for 10 port_active rxe0 || return 1
	ENDS="--addr 127.0.0.1"
	TWO=
	export ENDS TWO
	diag "one device for both ends: fault sites on the path to another host are not tested"
}

# load [SITE:N...]: loads the modules, with a fault at the Nth pass of each SITE
load()
{
	insmod /ours/smc.ko ${1:+fault="$*"} || return 1
	insmod /ours/smc_diag.ko || fail "smc_diag does not load"
	# A sixteenth of a small guest is too little for hundreds of connections.
	sysctl -q -w net.smc.smcr_max_mem_kb=0
}

# unload_within SECONDS: nothing holds the modules after so many seconds. If it hangs, the case fails
# at its time limit.
unload_within()
{
	wait_for "$1" unload_smc || fail "$AT: the module cannot be unloaded"
	left_=$(resources | diff /run/resources -) || fail "$AT: left behind: $left_"
	[ ! -e /proc/net/smc_stat ] || fail "$AT: /proc/net/smc_stat is left"
}

# unload: nothing holds them any more
unload()
{
	unload_within 0
}

# run_on_cable PROGRAM TEST: with a newly loaded module, so that no group of the previous test
# exists. Sets $rc to the exit code, writes the output to /run/output, and repairs the cable.
run_on_cable()
{
	at "$2"
	# a failed case has not unloaded the module
	[ ! -d /sys/module/smc ] || wait_for 20 unload_smc
	load "" || fail "the module does not load"
	"$1" "$2" > /run/output
	rc=$?
	cat /run/output
	ip netns exec c /usr/sbin/tc qdisc del dev vethc root 2> /dev/null
	# after a cut, neighbours are resolved again only after a second
	ip -n c neigh flush dev vethc
	ip -n s neigh flush dev veths
}

# cable_case PROGRAM TEST: a case with run_on_cable() that unloads the module and checks for leaks
cable_case()
{
	run_on_cable "$@"
	grep '^#' /run/output | while read -r _ line; do
		diag "$line"
	done
	ip netns exec c /usr/sbin/nft flush ruleset 2> /dev/null
	ip netns exec s /usr/sbin/nft flush ruleset 2> /dev/null
	unload
	[ "$rc" = 0 ] || fail "exit code $rc"
}

# setup_cable: both ends, and netem, which cuts the cable between them
setup_cable()
{
	setup_ends && [ -n "$TWO" ] || return 1
	modprobe sch_netem
}

# cable_cases PROGRAM TEST...: makes each test a case of the script, by cable_case()
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

# at WHAT: sets the test step for messages ($AT), and writes it to the kernel log
at()
{
	AT=$*
	echo "faults: $AT" > /dev/kmsg
}

# log_has SITE: the site's fault was injected since the last at()
log_has()
{
	dmesg | awk -v at="faults: $AT" -v site="smc: fault: $1" '
		index($0, at) { seen = 0 }
		substr($0, length($0) - length(site) + 1) == site { seen = 1 }
		END { exit !seen }'
}

# fired SITE: its fault was injected
fired()
{
	[ "$(awk -v s="$1" '$1 == s { print $4 }' /proc/smc_faults)" != 0 ]
}

# round [--require-smc]: one round of smc_fault; prints its output
round()
{
	# shellcheck disable=SC2086 # a list of options
	/t/smc_fault $ENDS "$@" 2>&1
}

# Faults behind which the next round may be TCP: one end has ended the group, the other end does not know that yet and
# offers the group for the first connection, which the Decline turns into TCP and which tells it.
# Which messages these are depends on when the two ends announce RMBs of the group.
LATE="POST_SEND POST_RECV WC_SEND WC_RECV"

# good_round: a round over SMC, the first one after a failure; after those of LATE it may be the second one
good_round()
{
	# after some of the failures the client offers no SMC to this peer any more
	forget_bad_peers
	! how_=$(round --require-smc) || return 0
	case " $LATE " in
	*" ${AT%%:*} "*) ;;
	*)	fail "$AT: no SMC afterwards: $how_" ;;
	esac
	diag "$AT: the other end does not know yet that the group has ended: $how_"
	usleep 300000
	forget_bad_peers
	how_=$(round --require-smc) || fail "$AT: no SMC in the round after the next: $how_"
}
