# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# How connections, devices, namespaces and the module end, and that no end is delayed:
# one instance of User Mode Linux, with virtual time if possible, two namespaces, a newly loaded
# module for each case. /t/smc_ends has the cases for connections.
#
#   ENDS   cases to run (default: all)

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

: "${ENDS:=$(/t/smc_ends) holders netdev_gone device_gone netns_gone netns_gone_many driver_gone}"

CASES="$ENDS"
export CASES
CASE_TIMEOUT=10000	# seconds of guest time
export CASE_TIMEOUT

# Seconds for operations that references of our module must not delay. Without virtual time the time
# mostly depends on the load of the machine: there the limit only proves that the operation ends.
case $(uname -r) in
*-uml-debug)	LIMIT=60 ;;
*)		LIMIT=3 ;;
esac

setup()
{
	setup_ends && [ -n "$TWO" ] || return 1
	modprobe sch_netem && modprobe 8021q
}

# in_ns NAMESPACE COMMAND...
in_ns()
{
	ns_=$1
	shift
	/usr/sbin/ip netns exec "$ns_" "$@"
}

# background NAMESPACE COMMAND...: its process number is in $last and $pids
background()
{
	ns_=$1
	shift
	( exec /usr/sbin/ip netns exec "$ns_" "$@" ) > /run/background 2>&1 &
	last=$!
	pids="$pids $last"
}

ns_stat()
{
	in_ns "$1" sed -n "s/^$2 //p" /proc/net/smc_stat
}

begin()
{
	at "$1"
	# a failed case has not unloaded the module
	[ ! -d /sys/module/smc ] || wait_for 20 unload_smc
	load "" || fail "the module does not load"
	# TEST LINK detects a lost peer soon: polling is slow in virtual time
	for n_ in s c; do
		in_ns "$n_" sysctl -q -w net.smc.smcr_testlink_time=2
	done
	pids=
}

# Programs in the background end with the case.
finish()
{
	for p_ in $pids; do
		kill -KILL "$p_" 2> /dev/null
		wait "$p_" 2> /dev/null
	done
	ip -n c neigh flush dev vethc
	ip -n s neigh flush dev veths
	unload
}

# serve: in namespace s
serve()
{
	background s /t/smc_traffic server --family smc
	server=$last
	wait_for 20 listening || fail "the server does not listen"
}

listening()
{
	in_ns s grep -q ':114E ' /proc/net/tcp
}

# client ADDRESS OPTION...: in namespace c
client()
{
	a_=$1
	shift
	in_ns c /t/smc_traffic client --connect "$a_" --family smc --wait 10 "$@"
}

# start_client NAMESPACE ADDRESS OPTION...: a lasting SMC connection, its process in $last
start_client()
{
	n_=$1
	a_=$2
	shift 2
	before_=$(ns_stat "$n_" clnt_smc)
	background "$n_" /t/smc_traffic client --connect "$a_" --family smc --require smc \
		--timeout 600000 "$@"
	wait_for 20 conns_more_than "$n_" "$before_" || fail "no connection: $(cat /run/background)"
}

conns_more_than()
{
	[ "$(ns_stat "$1" clnt_smc)" -gt "$2" ]
}

# connections NAMESPACE: number of connections of its groups
connections()
{
	in_ns "$1" /t/smcctl -j linkgroup | tr -d ' \n\t' | tr , '\n' |
		sed -n 's/.*"connections":\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

no_connections()
{
	[ "$(connections s)" = 0 ] && [ "$(connections c)" = 0 ]
}

# await_no_conns SECONDS: waits until no connection is left. An end without a message from its peer
# detects the loss by TEST LINK.
await_no_conns()
{
	no_connections && return
	sleep 12
	wait_for "$1" no_connections || fail "connections left: $(connections s), $(connections c)"
}

# --- connections ---

for t_ in $(/t/smc_ends); do
	eval "case_$t_() { run_ends $t_; }"
done

run_ends()
{
	begin "$1"
	/t/smc_ends "$1" > /run/ends
	rc=$?
	cat /run/ends
	grep '^#' /run/ends | while read -r _ line; do
		diag "$line"
	done
	[ "$rc" != 0 ] || await_no_conns 200
	# a case with a silent host has added it
	in_ns c /usr/sbin/tc qdisc del dev vethc root 2> /dev/null
	[ "$rc" = 0 ] || fail "exit code $rc"
	finish
}

# --- the module ---

# expect_holders N WHAT: the module cannot be removed, and N lines list its holders, one of them WHAT
expect_holders()
{
	rmmod smc_diag
	! rmmod smc 2> /dev/null || fail "the module is removed with open sockets: $2"
	insmod /ours/smc_diag.ko
	/t/smcctl holders > /run/holders || fail "smcctl holders"
	cat /run/holders
	expect "holders: $2" "$(grep -c ' smc_traffic\| none' /run/holders)" -eq "$1"
	grep -q "$2" /run/holders || fail "$2 is not listed: $(cat /run/holders)"
}

case_holders()
{
	begin holders
	expect "holders" "$(/t/smcctl holders | grep -c smc_traffic)" -eq 0
	serve
	expect_holders 1 " listen "
	start_client c 10.0.0.1 idle:10000
	expect_holders 3 " smc "
	# with their namespaces
	expect "namespaces" "$(grep smc_traffic /run/holders | awk '{ print $1 }' | sort -u | wc -l)" \
		-eq 2
	finish
}

# --- no end is delayed ---

# new_end NAMESPACE [X]: adds a RoCE device in place of a removed one
new_end()
{
	add_end "$@" || fail "no new device"
	wait_for 10 port_up "$@" || fail "the port of the new device stays down"
}

# half_open [NAMESPACE]: a handshake in which the server waits for the Confirm and the client for the
# Accept
half_open()
{
	# "none" resets the counts of an earlier handshake
	echo "none LOSE_CLC:2" > "$ARM"
	background "${1:-c}" /t/smc_traffic client --connect "${2:-10.0.0.1}" --family smc \
		--timeout 600000 idle:100
	wait_for 20 fired LOSE_CLC || fail "no Accept was lost"
}

# expect_soon WHAT COMMAND...: the command takes at most LIMIT
expect_soon()
{
	w_=$1
	shift
	t0=$(uptime_s)
	"$@" || fail "$w_ failed"
	diag "$w_: $(($(uptime_s) - t0)) s"
	expect "seconds for $w_" $(($(uptime_s) - t0)) -le "$LIMIT"
}

vlans()
{
	for n_ in s c; do
		ip -n "$n_" link add link "veth$n_" name v7 type vlan id 7 || return 1
		ip -n "$n_" link set v7 up
	done
	ip -n s addr add 10.7.0.1/24 dev v7 && ip -n c addr add 10.7.0.2/24 dev v7
}

# The netdev of a connection and of a handshake, at either end.
case_netdev_gone()
{
	begin netdev_gone
	serve
	for side in c s; do
		vlans || fail "no VLAN"
		wait_for 10 client 10.7.0.1 --require smc connects:1 || fail "no SMC over the VLAN"
		start_client c 10.7.0.1 idle:10000
		old=$last
		half_open c 10.7.0.1
		aborts=$(ns_stat "$side" conn_abort)
		expect_soon "ip link del in $side" ip -n "$side" link del v7
		wait_for 5 aborted "$side" "$aborts" || fail "the connection does not end"
		kill -KILL "$old" "$last"
		for n_ in s c; do
			ip -n "$n_" link del v7 2> /dev/null
		done
		await_no_conns 100
		forget_bad_peers
		client 10.0.0.1 --require smc connects:1 || fail "no SMC afterwards"
	done
	finish
}

aborted()
{
	[ "$(ns_stat "$1" conn_abort)" -gt "$2" ]
}

# The RoCE device of a connection and of a handshake, at either end.
case_device_gone()
{
	begin device_gone
	serve
	for side in c s; do
		# in a first contact there is no link yet that could fail
		half_open
		expect_soon "rdma link delete in $side" in_ns "$side" /usr/sbin/rdma link delete "rxe$side"
		kill -KILL "$last"
		new_end "$side"
		forget_bad_peers
		wait_for 100 client 10.0.0.1 --require smc connects:1 || fail "no SMC afterwards"
		start_client c 10.0.0.1 idle:10000
		expect_soon "rdma link delete in $side" in_ns "$side" /usr/sbin/rdma link delete "rxe$side"
		await_no_conns 60
		kill -KILL "$last"
		new_end "$side"
		forget_bad_peers
		wait_for 100 client 10.0.0.1 --require smc connects:1 || fail "no SMC afterwards"
	done
	finish
}

no_netdev()
{
	! ip -n s link show "$1" > /dev/null 2>&1
}

# A namespace with an idle group, a connection that lingers, and a handshake.
case_netns_gone()
{
	begin netns_gone
	serve
	ip netns add x
	ip link add vethxs netns s type veth peer name vethx netns x || fail "no veth"
	ip -n s addr add 10.8.0.1/24 dev vethxs
	ip -n x addr add 10.8.0.2/24 dev vethx
	ip -n s link set vethxs up
	ip -n x link set lo up
	ip -n x link set vethx up
	new_end x
	new_end s xs
	# the server must not close its end; and there must be no traffic, which stops virtual time
	kill -STOP "$server"
	start_client x 10.8.0.1 halfclose:400
	sleep 1
	kill -KILL "$last"
	wait "$last" 2> /dev/null
	expect "connections that linger" "$(connections x)" -eq 1
	half_open x 10.8.0.1
	kill -KILL "$last"
	wait "$last" 2> /dev/null
	ip netns del x
	expect_soon "the end of the namespace" wait_for $((LIMIT + 2)) no_netdev vethxs
	kill -CONT "$server"
	finish
}

# add_leaf N: a namespace xN with a veth pair to s, and an idle group with the server
add_leaf()
{
	ip netns add "x$1"
	ip link add "veths$1" netns s type veth peer name "vethx$1" netns "x$1" || fail "no veth"
	ip -n s addr add "10.8.$1.1/24" dev "veths$1"
	ip -n "x$1" addr add "10.8.$1.2/24" dev "vethx$1"
	ip -n s link set "veths$1" up
	ip -n "x$1" link set lo up
	ip -n "x$1" link set "vethx$1" up
	new_end "x$1"
	new_end s "s$1"
	in_ns "x$1" /t/smc_traffic client --connect "10.8.$1.1" --family smc --require smc --wait 10 \
		connects:1 || fail "no SMC in x$1"
}

delete_leaves()
{
	for i in $LEAVES; do
		ip netns del "x$i"
	done
	for i in $LEAVES; do
		wait_for "$((2 * LIMIT))" no_netdev "veths$i" || return 1
	done
}

# Namespaces that end at the same time, with peers that have gone deaf: each group takes 700 ms, for
# its last message. The kernel ends the first namespace alone and then all others, whose groups must
# not wait for each other.
case_netns_gone_many()
{
	LEAVES="1 2 3 4 5 6 7 8"
	begin netns_gone_many
	serve
	for i in $LEAVES; do
		add_leaf "$i"
	done
	in_ns s /usr/sbin/nft -f - << EOF || fail "no filter"
table ip roce {
	chain roce {
		type filter hook input priority 0;
		udp dport 4791 drop
	}
}
EOF
	expect_soon "the end of many namespaces" delete_leaves
	in_ns s /usr/sbin/nft delete table ip roce
	finish
}

# In kernels with lockdep the driver must not be unloaded before the sockets of its queue pairs,
# which use lock classes of the driver.
driver_off()
{
	case $(uname -r) in
	*-uml-debug)
		for n_ in s c; do
			in_ns "$n_" /usr/sbin/rdma link delete "rxe$n_" || return 1
		done
		;;
	esac
	wait_for "$LIMIT" rmmod rdma_rxe
}

# The driver is unloaded during a connection, and loaded again after the module.
case_driver_gone()
{
	begin driver_gone
	serve
	start_client c 10.0.0.1 idle:10000
	expect_soon "the end of the driver" driver_off
	await_no_conns 10
	kill -KILL "$last"
	modprobe rdma_rxe
	new_end s
	new_end c
	client 10.0.0.1 --require smc connects:1 || fail "no SMC afterwards"
	finish
}
