# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Connections within a host over smc_lo, without any RNIC. Every byte is proved by two counters:
# what smc.ko has written by RDMA, and what the device has copied. For --topology lo, one host.

: "${TRAFFIC:=stream:16 random:4 pingpong:100 urgent:20 connects:100 burst:50 parallel:32 halfclose:256 reset:8192}"

CASES="traffic:240 refused other_address namespaces:60 down rule memory:60 removed:60 in_use:60 exclusive:60"
export CASES

CGROUPS=/sys/fs/cgroup
RULE=0x03008001
NO_MEMORY=0x01010000

setup()
{
	setup_net && modprobe ib_uverbs || return 1
	ip link add other0 type dummy && ip addr add 10.9.0.1/24 dev other0 &&
		ip link set other0 up || return 1
	setup_smc_lo && load_smc
}

# lo_counter NAME [DEVICE]
lo_counter()
{
	cat "/sys/class/infiniband/${2:-lo0}/ports/1/hw_counters/$1"
}

# run_in NAMESPACE|- COMMAND...: -: in this one
run_in()
{
	ns_=$1
	shift
	if [ "$ns_" = - ]; then "$@"; else ip netns exec "$ns_" "$@"; fi
}

# talk_over smc|tcp SERVER-NAMESPACE CLIENT-NAMESPACE ADDRESS SUBTEST...: between two programs
talk_over()
{
	mode_=$1 from_=$3 to_=$4
	run_in "$2" /t/smc_traffic server --family smc --require "$mode_" &
	server=$!
	shift 4
	run_in "$from_" /t/smc_traffic client --connect "$to_" --family smc --require "$mode_" \
		--wait 10 --quit "$@" || fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
}

# talk ADDRESS SUBTEST...: in this namespace, all over SMC
talk()
{
	talk_over smc - - "$@"
}

case_traffic()
{
	bytes=$(lo_counter bytes)
	written=$(stat_of tx_write_bytes)
	# shellcheck disable=SC2086 # a list of subtests
	talk "$(own_addr)" $TRAFFIC
	written=$(($(stat_of tx_write_bytes) - written))
	expect "bytes written by RDMA" "$written" -gt 16777216
	# ... and the messages
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -ge "$written"
	for s in clnt_fback srv_fback clnt_hs_err srv_hs_err clc_bad link_fail; do
		expect "$s" "$(stat_of "$s")" -eq 0
	done
	expect "connections as server" "$(stat_of srv_smc)" -eq "$(stat_of clnt_smc)"
	# smcctl knows the device from an RNIC and from Soft-RoCE
	/t/smcctl -j check "$(own_addr)" > /run/check || fail "smcctl check: $(cat /run/check)"
	expect "faster" "$(grep -c '"faster": *true' /run/check)" -eq 1
	expect "why" "$(grep -c '"detail": *".* lo0 is smc_lo"' /run/check)" -eq 1
}

# Only a loopback netdev, and only once.
case_refused()
{
	/usr/sbin/rdma link add lo9 type smc_lo netdev other0 2> /dev/null && fail "made on other0"
	expect "reason" "$(dmesg | grep -c 'smc_lo: other0 is no loopback device')" -eq 1
	/usr/sbin/rdma link add lo9 type smc_lo netdev lo 2> /dev/null && fail "made twice"
	expect "reason" "$(dmesg | grep -c 'smc_lo: lo has a device already: lo0')" -eq 1
	expect "devices" "$(find /sys/class/infiniband -mindepth 1 -maxdepth 1 | wc -l)" -eq 1
}

# The address of another netdev, which is no GID: the route to it is lo, too. And the host's name
# for itself.
case_other_address()
{
	bytes=$(lo_counter bytes)
	talk 10.9.0.1 stream:1 pingpong:5
	talk 127.0.0.1 stream:1
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -ge 2097152
}

# Another namespace has a device of its own, and none of them leads to another namespace: 1 MiB each
# way goes over neither. (Idle groups send messages of their own.)
case_namespaces()
{
	ip netns add two && ip link add veth0 type veth peer name veth1 netns two || exit 1
	ip addr add 10.8.0.1/24 dev veth0
	ip link set veth0 up
	ip -n two addr add 10.8.0.2/24 dev veth1
	ip -n two link set veth1 up
	ip -n two link set lo up
	ip netns exec two /usr/sbin/rdma link add lo2 type smc_lo netdev lo || exit 1
	wait_for 10 port_active lo2 || fail "lo2 is not active"
	zero=$(lo_counter bytes)
	talk_over smc two two 10.8.0.2 stream:1
	expect "bytes of lo2" "$(lo_counter bytes lo2)" -ge 1048576
	expect "bytes of lo0" "$(($(lo_counter bytes) - zero))" -lt 65536
	two=$(lo_counter bytes lo2)
	talk_over tcp - two 10.8.0.1 stream:1
	expect "bytes of lo0 and lo2" \
		"$(($(lo_counter bytes) - zero + $(lo_counter bytes lo2) - two))" -lt 65536
	ip netns del two
	wait_for 20 test ! -e /sys/class/infiniband/lo2 || fail "lo2 survives its namespace"
}

case_down()
{
	ip link set lo down
	grep -q DOWN /sys/class/infiniband/lo0/ports/1/state || fail "the port is not down"
	ip link set lo up
	wait_for 10 port_active lo0 || fail "the port does not come up again"
	talk 10.9.0.1 stream:1
}

# is_reason CODE: a connection was TCP for this reason
is_reason()
{
	/t/smcctl -j stats | grep -q "$1"
}

# only_tcp: the device has copied less than the connection had bytes since $bytes (idle groups send messages)
only_tcp()
{
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -lt 65536
}

# The administrator's rules are about these connections, too.
case_rule()
{
	! is_reason $RULE || fail "$RULE was there before"
	/t/smcctl policy add deny local-port 4430 || fail "no rule"
	bytes=$(lo_counter bytes)
	talk_over tcp - - 10.9.0.1 stream:1
	only_tcp
	is_reason $RULE || fail "not $RULE: $(/t/smcctl stats)"
	/t/smcctl policy flush
	talk 10.9.0.1 stream:1
}

# A server whose cgroup has no room for an RMB: TCP, and nobody is killed.
case_memory()
{
	! is_reason $NO_MEMORY || fail "$NO_MEMORY was there before"
	{ mkdir "$CGROUPS/small" && echo +memory > "$CGROUPS/cgroup.subtree_control"; } || fail "no memory cgroup"
	# of a size that no idle RMB has
	sysctl -q -w net.smc.rmem=524288
	# shellcheck disable=SC2016 # for that shell
	sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$CGROUPS/small" \
		/t/smc_traffic server --family smc &
	server=$!
	await_server
	# from now on the server needs no more memory of its own
	/t/smc_traffic client --connect 10.9.0.1 --family inet parallel:4 || fail "client ended with $?"
	# less than an RMB with an element of that size, beside what is used; memory.current also counts
	# what the processors have charged ahead
	limit=$(($(awk '/^(anon|file|kernel|sock) / { n += $2 } END { print n }' "$CGROUPS/small/memory.stat") + 458752))
	echo "$limit" > "$CGROUPS/small/memory.max"
	bytes=$(lo_counter bytes)
	/t/smc_traffic client --connect 10.9.0.1 --family smc --require tcp connects:2 ||
		fail "client ended with $?"
	only_tcp
	is_reason $NO_MEMORY || fail "not $NO_MEMORY: $(/t/smcctl stats)"
	expect "killed" "$(sed -n 's/^oom_kill //p' "$CGROUPS/small/memory.events")" -eq 0
	# Two connections ask for eight, four, two and one element, or for fewer. The kernel counts each
	# refusal twice: before and after it looked for memory. Page by page it is more than 100 times.
	expect "refusals by the cgroup" "$(sed -n 's/^max //p' "$CGROUPS/small/memory.events")" -le 16
	echo max > "$CGROUPS/small/memory.max"
	/t/smc_traffic client --connect 10.9.0.1 --family smc --require smc --quit stream:1 ||
		fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -ge 2097152
	sysctl -q -w net.smc.rmem=65536
	rmdir "$CGROUPS/small"
}

# streams: the device has copied a MiB since $bytes
streams()
{
	[ "$(lo_counter bytes)" -gt "$((bytes + 1048576))" ]
}

# start_stream: a connection that does not end by itself; pids in $server and $client
start_stream()
{
	bytes=$(lo_counter bytes)
	/t/smc_traffic server --family smc --require smc > /run/server &
	server=$!
	/t/smc_traffic client --connect 10.9.0.1 --family smc --require smc --wait 10 --quit stream:1000000 \
		> /run/client &
	client=$!
	wait_for 10 streams || fail "no stream"
}

# Connections over a device that is removed end with an error; later ones are TCP.
case_removed()
{
	start_stream
	/usr/sbin/rdma link del lo0 || fail "lo0 is not removed"
	wait "$client" && fail "the client's connection survives"
	kill "$server"
	wait "$server"
	expect "connections that ended abnormally" "$(stat_of conn_abort)" -gt 0
	talk_over tcp - - 10.9.0.1 stream:1
}

# smc_lo goes while a connection uses it, and nothing of it is left.
case_in_use()
{
	/usr/sbin/rdma link add lo0 type smc_lo netdev lo && wait_for 10 port_active lo0 || exit 1
	start_stream
	rmmod smc_lo || fail "smc_lo is not removed"
	wait "$client" && fail "the client's connection survives"
	kill "$server"
	wait "$server"
	expect "devices" "$(find /sys/class/infiniband -mindepth 1 -maxdepth 1 | wc -l)" -eq 0
	unload_smc || fail "the module cannot be unloaded"
}

# Namespaces that share no devices: one that has got a device uses it.
case_exclusive()
{
	# namespaces of earlier cases end in the background, and exclude the change
	wait_for 20 /usr/sbin/rdma system set netns exclusive || fail "the mode stays"
	ip netns add own && ip -n own link set lo up &&
		setup_smc_lo own && /usr/sbin/rdma dev set lo0 netns own && load_smc || exit 1
	talk_over smc own own 127.0.0.1 stream:1
	ip netns del own
	unload_smc || fail "the module cannot be unloaded"
	rmmod smc_lo || fail "smc_lo is not removed"
}
